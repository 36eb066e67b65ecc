"""How the code is laid out.

No file is too long to read at once, and only a scheme's own file names it. `test_walls.py` looks at circles and types.
"""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT
from imports import files_of

from flashraid import _native

CRATES = ROOT / "crates"
MOST_LINES = 600


def test_no_file_is_too_long_to_read_at_once():
    lengths = {path: len(path.read_text().splitlines()) for source in CRATES.glob("*/src") for path in files_of(source)}
    too_long = {str(path.relative_to(CRATES)): lines for path, lines in lengths.items() if lines > MOST_LINES}
    assert not too_long


SCHEME_FILES = "crates/redundancy/src/schemes/"
LISTED = json.loads(_native.schemes(None))
NAMES = {scheme["name"] for scheme in LISTED}
PARAMETERS = {parameter["name"] for scheme in LISTED for parameter in scheme["parameters"]}
WORDS = {word for scheme in LISTED for parameter in scheme["parameters"] for word in parameter["choices"] or []}
# `read` is also what a host does.
AMBIGUOUS = {"read"}
# Commands and settings that users copy need some scheme.
EXAMPLES = {("crates/sim/src/config/reference.rs", "raid5"), ("python/flashraid/command/capture.py", "raid5")}


def texts_of(path: str, source: str) -> list[str]:
    """The texts in a file's code: no comments, no documentation, no tests."""
    if path.endswith(".py"):
        tree = ast.parse(source)
        documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        documentation = {id(node.body[0].value) for node in documented if isinstance(node.body[0], ast.Expr)}
        constants = [
            node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documentation
        ]
        return [node.value for node in constants if isinstance(node.value, str)]
    source = source.split("\n#[cfg(test)]\nmod tests")[0].replace("'\"'", "").replace("'\\\"'", "")
    return re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"(?m)^\s*//.*$|\s//\s.*$", "", source))


def names_in(text: str) -> set[str]:
    """Schemes that a text names. What is also a word of a parameter may be that."""
    return {name for name in NAMES - WORDS if re.search(rf"(?<![\w-]){name}(?![\w-])", text)}


def foreign_names(path: str, source: str) -> set[str]:
    """Schemes and parameters of schemes that a file names and does not define."""
    defined = set(re.findall(r'\bname: "([^"]*)"', source)) if path.startswith("crates/redundancy/") else set()
    found = set(re.findall(r"\bschemes::([a-z]\w*)::", source)) if not path.startswith(SCHEME_FILES) else set()
    for text in texts_of(path, source):
        found |= {text} & (NAMES - WORDS | PARAMETERS - AMBIGUOUS)
        if not path.startswith(SCHEME_FILES):  # where a sentence may compare it with others
            found |= names_in(text)
            found |= {name for name in PARAMETERS if re.search(rf"(?<!\w){name} ?= ?(?!=)", text)}
    return found - defined - {name for example, name in EXAMPLES if example == path}


def test_only_its_own_file_names_a_scheme_or_its_parameters():
    """Code asks a scheme's entry in the registry what it needs to know: a list of names would lack the next scheme."""
    rust = [path for source in CRATES.glob("*/src") for path in files_of(source) if "testing" not in path.parts]
    # Papers name what they measured; types are generated from the registry.
    python = [path for path in (ROOT / "python").glob("**/*.py") if "papers" not in path.parent.parts]
    python += (ROOT / "docs/make").glob("*.py")
    python = [path for path in python if not path.name.endswith("_types.py")]
    paths = {str(path.relative_to(ROOT)): path for path in [*rust, *python]}
    # What the field calls schemes and figures leads to names here, if they exist where it is asked.
    del paths["crates/vocabulary/src/names.rs"]
    named = {path: foreign_names(path, file.read_text()) for path, file in paths.items()}
    assert not {path: names for path, names in named.items() if names}
    assert len(NAMES) > 10
    assert len(paths) > 200


def generic_prose(path: str, text: str) -> str:
    """What a generated document says whatever the scheme: without examples and what comes from entries of schemes."""
    if path.endswith(".py"):
        return re.sub(r'(?s)"""Of [^:]*:\s.*?"""', "", text)
    names = "|".join(NAMES)
    of_entries = rf"`name` \|  \| required|`\w+` \| `(?:{names})`(?:, `(?:{names})`)*"
    return re.sub(rf"(?ms)^```.*?^```$|^\| (?:{of_entries}) \|[^\n]*", "", text)


# Documentation comments of product code end up here.
DOCUMENTS = ["docs/result.md", "docs/configuration.md", "python/flashraid/setting_types.py"]


@pytest.mark.parametrize("path", DOCUMENTS)
def test_generated_documents_describe_schemes_by_capability(path):
    text = (ROOT / path).read_text()
    prose = generic_prose(path, text)
    assert not names_in(prose)
    assert len(prose) > len(text) / 2


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.md", "| `window` | object | Null but under `fra`. |\n- `auto`: all planes for raid0.\n", {"fra", "raid0"}),
        ("a.md", '```toml\nname = "raid5"\n```\nAs in raid4.\n```\nfra\n```\n', {"raid4"}),
        (
            "a.md",
            "| `name` |  | required | `raid0`, `raid1` | Name. |\n| `alpha` | `ca-ppc` | `0` | any | As in ppc. |\n",
            set(),
        ),
        ("a.py", '"""Of raid5, fra: Better\n    than raid0.\n    """\n\n    """All planes for raid1."""\n', {"raid1"}),
    ],
)
def test_a_name_in_prose_is_noticed(path, text, expected):
    assert names_in(generic_prose(path, text)) == expected


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("crates/sim/src/a.rs", 'if name == "raid1" {}', {"raid1"}),
        ("crates/sim/src/a.rs", '// "raid1"\nlet a = x; // "raid1"', set()),
        ("crates/sim/src/a.rs", 'const A: &str = "of raid1 and fra";', {"raid1", "fra"}),
        ("crates/sim/src/a.rs", 'const A: &str = "ppc-4p1, ppc_update";', set()),
        ("crates/sim/src/a.rs", 'parameters.get("alpha"); format!("alpha = {a}"); "read"', {"alpha"}),
        ("crates/sim/src/a.rs", "use flashraid_redundancy::schemes::raid5::Raid5;", {"raid5"}),
        ("crates/sim/src/a.rs", 'fn f() {}\n#[cfg(test)]\nmod tests {\n    const A: &str = "raid1";\n}\n', set()),
        (SCHEME_FILES + "raid1.rs", 'name: "raid1", about: "unlike raid0"', set()),
        (SCHEME_FILES + "raid1.rs", 'name: "raid1", build: over("raid0")', {"raid0"}),
        (
            "python/flashraid/a.py",
            '"""raid1"""\n\ndef f(x):\n    """Of raid1."""\n    return x == "raid1"\n',
            {"raid1"},
        ),
        ("python/flashraid/a.py", '"""raid1"""\n\ndef f(x):\n    """Of raid1."""\n', set()),
    ],
)
def test_a_name_is_noticed(path, source, expected):
    assert foreign_names(path, source) == expected


# Where every test and every other suite on the machine meets, or the folder in which the test was started.
SHARED_PLACES = re.compile(
    r"CARGO_TARGET_TMP[D]IR|\btemp_dir\(|\bgettempdir\(|[\"']/tmp\b|\bfs::(?:write|create_dir\w*)\(\s*\"|\bFile::create\(\s*\""
)
# What is one on the machine, the kernel's tracepoints, is locked there by a file that all know.
MEETING_PLACES = {"tests/python/test_capture.py": 1}


def shared_places(text: str) -> int:
    """How often a text names a place that tests share. Comments may."""
    return len(SHARED_PLACES.findall(re.sub(r"(?m)^\s*(?://|#).*$", "", text)))


def code_of_tests(path: Path) -> str:
    """Of a crate's sources what stands behind `#[cfg(test)]`: the product may have files where it wants."""
    text = path.read_text()
    return text.partition("#[cfg(test)]")[2] if "src" in path.relative_to(ROOT).parts else text


def test_no_test_has_files_where_others_have_theirs():
    """Else two suites side by side falsify each other.

    Rust has `own_folder`, from which others of its helpers are made, and `tempfile`; Python `tmp_path` and `tempfile`.
    """
    sources = [path for folder in ("crates", "fuzz/checks") for path in (ROOT / folder).rglob("*.rs")]
    for folder in ("tests", "benches", "mutation", "docs/make", "examples", "profiles"):
        sources += (ROOT / folder).rglob("*.py")
    counts = {str(path.relative_to(ROOT)): shared_places(code_of_tests(path)) for path in sources}
    assert {path: count for path, count in counts.items() if count} == MEETING_PLACES
    assert len(counts) > 400


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('let path = Path::new(env!("CARGO_TARGET_TMP" "DIR")).join("again.json");'.replace('" "', ""), 1),
        ("let path = std::env::temp_" + "dir().join(name);", 1),
        ("place = Path(tempfile.gettemp" + 'dir()) / "x"', 1),
        ('open("/' + 'tmp/x", "w"); fs::write(\n    "' + 'x.csv", text)', 2),
        ("let folder = own_folder(); fs::write(&path, text); tempfile::tempdir()", 0),
        ("// temp_" + "dir() would be one for all", 0),
    ],
)
def test_a_shared_place_is_noticed(text, expected):
    assert shared_places(text) == expected


def test_the_citation_names_this_version() -> None:
    version = re.search(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text())
    assert version
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text()


def test_fuzz_targets_are_built_from_what_the_product_is():
    """The workspace of the fuzz targets has a lock file of its own, which nothing but `make fuzz` reads."""

    def locked(path):
        return tomllib.loads((ROOT / path).read_text())["package"]

    versions = {}
    for package in locked("Cargo.lock"):
        versions.setdefault(package["name"], set()).add(package["version"])
    fuzzed = {package["name"]: package for package in locked("fuzz/Cargo.lock")}
    assert not [
        name for name, package in fuzzed.items() if package["version"] not in versions.get(name, package["version"])
    ]
    for crate in ("sim", "workload", "vocabulary"):
        manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
        needed = {name for name, given in manifest["dependencies"].items() if "optional" not in given}
        assert needed <= set(fuzzed[manifest["package"]["name"]]["dependencies"]), crate
