"""How the code is laid out: no file is too long to read at once, and imports between files form no circle."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

CRATES = ROOT / "crates"
MOST_LINES = 600


def files_of(source: Path) -> list[Path]:
    return sorted(path for path in source.glob("**/*.rs") if path.stem not in ("tests", "testing"))


def code(path: Path) -> str:
    """Without comments, and without the tests that come last in a file."""
    text = path.read_text().split("\n#[cfg(test)]\nmod tests")[0]
    return re.sub(r"//[^\n]*", "", text)


def expanded(tree: str) -> Iterator[str]:
    """The paths of a use tree: `a::{b, c::d}` names `a::b` and `a::c::d`."""
    prefix, brace, rest = tree.partition("{")
    if not brace:
        yield tree.split(" as ")[0].strip()
        return
    depth, start = 0, 0
    inner = rest.rstrip().removesuffix("}")
    for at, letter in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if inner[start:at].strip():
                yield from (prefix.strip() + path for path in expanded(inner[start:at].strip()))
            start = at + 1


def named(path: Path) -> Iterator[str]:
    """Paths in this crate that a file names, in `use` or in its code.

    What it only hands on (`pub use`) it does not need itself, nor the module to which it shows it (`pub(in PATH)`).
    """
    text = re.sub(r"\bpub\([^)]*\)", "pub", code(path))
    text = re.sub(r"\bpub use [^;]*;", "", text)
    own = [f"self::{module}" for module in re.findall(r"\bmod (\w+);", text)]
    for tree in re.findall(r"\buse ([^;]*);", text):
        for name in expanded(" ".join(tree.split())):
            if name.startswith(("crate::", "super::")):
                yield name
            elif (local := f"self::{name.removeprefix('self::')}").startswith(tuple(own)):
                yield local
    yield from re.findall(r"\b(?:crate|super)::[A-Za-z_:]+", re.sub(r"\buse [^;]*;", "", text))


def module_of(path: Path, source: Path) -> list[str]:
    parts = list(path.relative_to(source).with_suffix("").parts)
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def imports(source: Path) -> dict[Path, set[Path]]:
    """The files of a crate, and which others each needs."""
    files = {tuple(module_of(path, source)): path for path in files_of(source)}
    needs: dict[Path, set[Path]] = {path: set() for path in files.values()}
    for module, path in files.items():
        for name in named(path):
            parts = name.split("::")
            if parts[0] == "crate":
                place: list[str] = []
            else:
                ups = [part for part in parts if part == "super"]
                place = list(module)[: len(module) - len(ups)]
            for part in parts:
                if part in ("crate", "super", "self"):
                    continue
                if (*place, part) not in files:
                    break
                place.append(part)
            target = files[tuple(place)]
            if target != path:
                needs[path].add(target)
    return needs


def circle(needs: dict[Path, set[Path]]) -> list[Path]:
    """Files that need each other round about, if there are any."""
    done: set[Path] = set()

    def visit(path: Path, way: list[Path]) -> list[Path]:
        if path in way:
            return way[way.index(path) :]
        if path in done:
            return []
        for other in sorted(needs[path]):
            if found := visit(other, [*way, path]):
                return found
        done.add(path)
        return []

    return next((found for path in sorted(needs) if (found := visit(path, []))), [])


def test_no_file_is_too_long_to_read_at_once():
    lengths = {path: len(path.read_text().splitlines()) for source in CRATES.glob("*/src") for path in files_of(source)}
    too_long = {str(path.relative_to(CRATES)): lines for path, lines in lengths.items() if lines > MOST_LINES}
    assert not too_long


@pytest.mark.parametrize("crate", ["flash", "sim"])
def test_imports_form_no_circle(crate):
    found = circle(imports(CRATES / crate / "src"))
    assert not found, " -> ".join(str(path.relative_to(CRATES)) for path in found)


@pytest.mark.parametrize(
    ("table_of_contents", "other", "expected"),
    [
        ("mod a;\nmod b;\npub use a::A;\npub use b::B;\n", "use super::A;\n", []),
        ("mod a;\nmod b;\n", "use super::a::{self, A};\n", ["a.rs", "b.rs"]),
        ("mod a;\nmod b;\n", "fn f() -> crate::m::a::A {}\n", ["a.rs", "b.rs"]),
        ("mod a;\nmod b;\n", "// crate::m::a::A\n#[cfg(test)]\nmod tests {\n    use super::a::A;\n}\n", []),
        ("mod a;\nmod b;\nuse b::B;\nstruct C;\n", "use super::C;\n", ["mod.rs", "b.rs"]),
        ("mod a;\nmod b;\nuse b::B;\nstruct C;\n", "pub(in crate::m) struct B;\n", []),
    ],
)
def test_a_circle_is_noticed(tmp_path, table_of_contents, other, expected):
    folder = tmp_path / "m"
    folder.mkdir()
    for path, text in [
        (tmp_path / "lib.rs", "mod m;\n"),
        (folder / "mod.rs", table_of_contents),
        (folder / "a.rs", "use crate::m::{\n    b::B,\n};\npub struct A;\n"),
        (folder / "b.rs", other),
    ]:
        path.write_text(text)
    assert {path.name for path in circle(imports(tmp_path))} == set(expected)


def test_the_citation_names_this_version() -> None:
    version = re.search(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text())
    assert version
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text()
