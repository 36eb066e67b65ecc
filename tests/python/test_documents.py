"""Links between documents lead somewhere, and the glossary is in order."""

import re
import tomllib

import pytest
from conftest import ROOT

import flashraid as fr

DOCUMENTS = sorted(
    path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("samples/*.md")] if path.is_file()
)
# `make docs` draws these; `test_reproduce_figures.py` compares their names.
DRAWN = ROOT / "docs/papers/figures"


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as hosting sites make them."""
    headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```", "", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    text = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", path.read_text())
    for target in re.findall(r"\]\(([^()\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        if linked.parent == DRAWN:
            continue
        assert linked.exists(), f"{path.name}: {target}"
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked.read_text()), f"{path.name}: {target}"


def test_the_glossary_is_in_alphabetical_order():
    terms = re.findall(r"(?m)^- \*\*(.*?)\*\*", (ROOT / "docs/glossary.md").read_text())
    assert len(terms) > 80
    # Of `rebuild, `rebuild` (cause)` the first name counts.
    names = [re.split(r",? [(`]", term)[0].strip("`").lower().replace("-", " ") for term in terms]
    assert names == sorted(names)


def test_the_version_is_the_same_everywhere_and_its_sections_are_dated():
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    sections = re.findall(r"(?m)^## (.*)$", (ROOT / "CHANGELOG.md").read_text())
    sections = sections[sections[0] == "Unreleased" :]
    dated = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", section).groups() for section in sections]
    assert dated[0][0] == version == fr.__version__
    assert dated == sorted(dated, reverse=True)
    citation = dict(re.findall(r"(?m)^([a-z-]+): (\S+)$", (ROOT / "CITATION.cff").read_text()))
    assert (citation["version"], citation["date-released"]) == dated[0]
