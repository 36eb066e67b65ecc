"""Every citation of the specification (docs/spec) names a section and a rule that exist."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A section, and the rule in it that is meant: item, ruling or step N, or a letter.
RULE = r"(?: \()?,? ?(?:items?|rulings?|steps?) (?P<item>\d+)| ?\((?P<letter>[a-e])\)| (?P<bare>[a-e])(?=[,;.): ])"
CITATION = re.compile(rf"(?P<section>\d\.\d+)(?:{RULE})?")
FURTHER = re.compile(r"(?: \([^()\n]*\))?(?:,| and| to) (?=\d\.\d)")


def sections() -> dict[str, str]:
    """The text of each section, by its number."""
    texts = {}
    for file in sorted((ROOT / "docs/spec").glob("*.md")):
        for part in re.split(r"(?m)^## (?=\d)", file.read_text())[1:]:
            number, text = part.split(" ", 1)
            assert number not in texts, f"{file.name}: {number} stands twice"
            texts[number] = text
    return texts


def cited(text: str) -> list[tuple[str, str | None, str | None]]:
    """What a text cites: section, item, letter. Lists such as `SPEC 4.2, 4.4` count whole."""
    found = []
    for start in re.finditer(r"\bSPEC (?=\d\.\d)", text):
        at = start.end()
        while match := CITATION.match(text, at):
            found.append((match["section"], match["item"], match["letter"] or match["bare"]))
            following = FURTHER.match(text, match.end())
            if not following:
                break
            at = following.end()
    return found


def problems(text: str, known: dict[str, str]) -> list[str]:
    """Citations of what does not exist."""
    missing = []
    for section, item, letter in cited(text):
        if section not in known:
            missing.append(f"SPEC {section}: no such section")
        elif item and not re.search(rf"(?m)^{item}\. ", known[section]):
            missing.append(f"SPEC {section}: no item {item}")
        elif letter and f"- ({letter}) " not in known[section]:
            missing.append(f"SPEC {section}: no rule ({letter})")
    return missing


def test_citations_name_what_exists() -> None:
    known = sections()
    git = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in git.stdout.split("\n") if name.endswith((".rs", ".py", ".md", ".toml"))]
    texts = {name: (ROOT / name).read_text() for name in names if (ROOT / name).is_file()}
    texts.pop("tests/python/test_spec.py")
    assert {name: missing for name, text in texts.items() if (missing := problems(text, known))} == {}
    assert sum(len(cited(text)) for text in texts.values()) > 400, "they are found at all"
    # The specification's own references leave out the word.
    for name, text in texts.items():
        if name.startswith("docs/spec/"):
            assert set(re.findall(r"\bsections? (\d\.\d+)", text)) <= set(known), name


def test_what_is_missing_is_found() -> None:
    known = {"0.1": "Rules\n\n- (a) one\n", "4.9": "Rulings\n\n1. one\n2. two\n"}
    right = "SPEC 0.1 (a), 4.9 item 2 and 4.9 ruling 1 (SPEC 0.1 a): SPEC 4.9, 0.1; a device of 3.5 GB"
    assert (problems(right, known), len(cited(right))) == ([], 6)
    assert problems("SPEC 4.9 item 3, SPEC 0.1 (b), SPEC 0.2 and SPEC 4.9, 5.1", known) == [
        "SPEC 4.9: no item 3",
        "SPEC 0.1: no rule (b)",
        "SPEC 0.2: no such section",
        "SPEC 5.1: no such section",
    ]


def test_every_file_is_in_the_table() -> None:
    files = {file.name for file in (ROOT / "docs/spec").glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\((\w+\.md)\)", (ROOT / "docs/spec/README.md").read_text())) == files
