"""The walls between the parts of the code: no circles among files, and no type that does everything.

Each limit has a table of what is still beyond it, with today's figure. A figure that has become smaller has to be made
so there: the tables only shrink.
"""

from pathlib import Path

import pytest
from conftest import ROOT
from imports import circles, files_of, imports, python_imports
from rust_shape import Shape, plain, shapes

CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/src"))
MOST_METHODS = 100  # of a type, those of traits among them
MOST_FIELDS = 24  # of a type with methods that change it
MOST_METHODS_OF_A_TRAIT = 15
MOST_FILES = 8  # with `impl` blocks of one type: no import shows that such files may touch all that it has

# Files in each circle.
CIRCLES: dict[str, list[int]] = {}
PYTHON_CIRCLES: list[int] = []
METHODS: dict[str, int] = {}
FIELDS: dict[str, int] = {}
METHODS_OF_TRAITS: dict[str, int] = {}
FILES: dict[str, int] = {}


def sizes(paths: list[set[Path]]) -> list[int]:
    return sorted(len(members) for members in paths)


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_files_of_a_crate_form_no_circle(crate: Path) -> None:
    found = circles(imports(crate / "src"))
    assert sizes(found) == CIRCLES.get(crate.name, []), found


def test_files_of_the_package_form_no_circle() -> None:
    found = circles(python_imports(ROOT / "python/flashraid"))
    assert sizes(found) == PYTHON_CIRCLES, found


@pytest.fixture(scope="module")
def types() -> dict[str, Shape]:
    """Every type and trait, as `crate::Name`."""
    of_crates = {crate.name: shapes(files_of(crate / "src")) for crate in CRATES}
    return {f"{crate}::{name}": shape for crate, found in of_crates.items() for name, shape in found.items()}


def test_no_type_has_too_many_methods(types: dict[str, Shape]) -> None:
    found = {name: shape.methods + shape.implemented for name, shape in types.items() if not shape.is_trait}
    assert {name: count for name, count in found.items() if count > MOST_METHODS} == METHODS
    assert len(found) > 400


def test_no_working_type_has_too_many_fields(types: dict[str, Shape]) -> None:
    found = {name: shape.fields for name, shape in types.items() if shape.is_working}
    assert {name: count for name, count in found.items() if count > MOST_FIELDS} == FIELDS
    assert len(found) > 100


def test_no_trait_has_too_many_methods(types: dict[str, Shape]) -> None:
    found = {name: shape.methods for name, shape in types.items() if shape.is_trait}
    assert {name: count for name, count in found.items() if count > MOST_METHODS_OF_A_TRAIT} == METHODS_OF_TRAITS
    assert len(found) > 15


def test_no_type_is_spread_over_many_files(types: dict[str, Shape]) -> None:
    found = {name: len(shape.files) for name, shape in types.items()}
    assert {name: count for name, count in found.items() if count > MOST_FILES} == FILES


SAMPLE = """
/// A brace: {
pub struct Drive<'a, T: Fn(u32) -> u32> where T: Clone {
    pub(crate) a: Vec<(u32, fn(x: u32))>,
    /// Of `}`.
    #[serde(default)]
    b: BTreeMap<u64, Box<dyn Fn(&'a str) -> u32>>, c: [u32; 4],
}
struct Pair(u32, u32);
impl<'a, T: Fn(u32) -> u32 + Clone> Drive<'a, T> {
    pub fn look(&self) -> char { fn inner() {} '{' }
    fn change<F: FnMut(&mut u32)>(&mut self, text: &str) { self.b = "fn no() {}"; }
}
impl<T> fmt::Display for self::Pair where T: Into<u32> {
    fn fmt(&self, f: &mut Formatter) -> Result { r#"fn "no"() }"# }
}
pub trait Reads: Sized {
    type Item;
    fn first(&self) -> u32;
    fn second(&self) -> u32 { fn inner() {} 2 }
}
#[cfg(test)]
mod tests {
    impl super::Pair { fn of_tests() {} }
}
"""


def test_shapes_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "drive.rs"
    source.write_text(SAMPLE)
    found = shapes([source])
    drive, pair, reads = found["Drive"], found["Pair"], found["Reads"]
    assert (drive.fields, drive.methods, drive.implemented, drive.is_working, drive.files) == (3, 2, 0, True, {source})
    assert (pair.fields, pair.methods, pair.implemented, pair.is_working, pair.files) == (0, 0, 1, False, set())
    assert (reads.is_trait, reads.methods) == (True, 2)
    assert "no" not in plain(SAMPLE)


@pytest.mark.parametrize(
    ("table_of_contents", "other", "expected"),
    [
        ("mod a;\nmod b;\npub use a::A;\npub use b::B;\n", "use super::A;\n", []),
        ("mod a;\nmod b;\n", "use super::a::{self, A};\n", ["a.rs", "b.rs"]),
        ("mod a;\nmod b;\n", "fn f() -> crate::m::a::A {}\n", ["a.rs", "b.rs"]),
        ("mod a;\nmod b;\n", "// crate::m::a::A\n#[cfg(test)]\nmod tests {\n    use super::a::A;\n}\n", []),
        ("mod a;\nmod b;\nuse b::B;\nstruct C;\n", "use super::C;\n", ["mod.rs", "b.rs"]),
        ("mod a;\nmod b;\nuse b::B;\nstruct C;\n", "pub(in crate::m) struct B;\n", []),
        # Paths that begin with a module of the file's own.
        ("mod a;\nmod b;\nstruct C;\nfn f() -> b::B {}\n", "use super::C;\n", ["mod.rs", "b.rs"]),
        ("mod a;\nmod b;\nstruct C;\nfn f(b: &self::b::B) {}\n", "fn f() -> super::C {}\n", ["mod.rs", "b.rs"]),
        ("mod a;\nmod b;\nstruct C;\nfn f() -> std::b::B {}\n", "use super::C;\n", []),
        # What a file hands on and uses itself.
        ("mod a;\nmod b;\npub use b::{B, D};\nstruct C(B);\n", "use super::C;\n", ["mod.rs", "b.rs"]),
        ("mod a;\nmod b;\npub use b::{B, D};\nstruct C;\n", "use super::C;\n", []),
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
    assert [{path.name for path in members} for members in circles(imports(tmp_path))] == (
        [set(expected)] if expected else []
    )


@pytest.mark.parametrize(
    ("text", "is_circle"),
    [
        ("from package import b\n", True),
        ("from .b import thing\n", True),
        ("def f():\n    import package.b\n", True),
        ("if TYPE_CHECKING:\n    from . import b\n", True),
        ("from package.other import b\n", False),
        ('"""from . import b"""\n', False),
    ],
)
def test_a_circle_of_python_is_noticed(tmp_path: Path, text: str, is_circle: bool) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text(text)
    (package / "b.py").write_text("from package.a import other\n")
    assert sizes(circles(python_imports(package))) == ([2] if is_circle else [])


@pytest.mark.parametrize(
    ("path", "text", "is_circle"),
    [
        ("a.py", "from package.sub.c import thing\n", True),
        ("a.py", "from .sub import c\n", True),
        ("a.py", "import package.sub.c\n", True),
        ("sub/c.py", "from ..a import thing\n", False),
        ("sub/c.py", "from . import d\nfrom .d import thing\n", False),
    ],
)
def test_an_import_runs_the_packages_of_the_module(tmp_path: Path, path: str, text: str, is_circle: bool) -> None:
    package = tmp_path / "package"
    (package / "sub").mkdir(parents=True)
    for name, content in [
        ("__init__.py", "from . import a\n"),
        ("a.py", ""),
        ("sub/__init__.py", "from ..a import other\nfrom .c import thing\n"),
        ("sub/c.py", ""),
        ("sub/d.py", ""),
    ]:
        (package / name).write_text(text if name == path else content)
    assert bool(circles(python_imports(package))) == is_circle
