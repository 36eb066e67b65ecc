"""Which files of a crate or package need which, and the circles among them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from rust_shape import plain

Needs = dict[Path, set[Path]]


def files_of(source: Path) -> list[Path]:
    return sorted(path for path in source.glob("**/*.rs") if path.stem != "tests")


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
    text = re.sub(r"\bpub\([^)]*\)", "pub", plain(path.read_text()))
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


def python_imports(package: Path) -> Needs:
    """The files of a Python package and which others each needs, also inside functions and for types alone.

    What is compiled is a file by its stub.
    """
    files = {module_name(path, package): path for path in sorted([*package.glob("**/*.py"), *package.glob("**/*.pyi")])}
    return {path: set(_needed(path, module, files)) - {path} for module, path in files.items()}


def module_name(path: Path, package: Path) -> str:
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _needed(path: Path, module: str, files: dict[str, Path]) -> Iterator[Path]:
    own = module.split(".") if path.stem == "__init__" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(own[: len(own) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (start, node.module) if part)
            names = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in files else base for alias in node.names]
        else:
            continue
        yield from (files[name] for name in names if name in files)


def circles(needs: Needs) -> list[set[Path]]:
    """The sets of files that all need each other, directly or not (Tarjan's strongly connected components)."""
    found: list[set[Path]] = []
    number: dict[Path, int] = {}
    lowest: dict[Path, int] = {}
    stack: list[Path] = []

    def visit(path: Path) -> None:
        number[path] = lowest[path] = len(number)
        stack.append(path)
        for other in sorted(needs[path]):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[path] = min(lowest[path], lowest[other])
        if lowest[path] == number[path]:
            at = stack.index(path)
            if len(members := set(stack[at:])) > 1:
                found.append(members)
            del stack[at:]

    for path in sorted(needs):
        if path not in number:
            visit(path)
    return found
