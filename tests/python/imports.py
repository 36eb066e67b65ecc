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

    What it hands on (`pub use`) it needs only if it uses that itself; nor does it need the module to which it shows
    something (`pub(in PATH)`).
    """
    text = re.sub(r"\bpub\([^)]*\)", "pub", plain(path.read_text()))
    code = re.sub(r"\b(?:use [^;]*|mod \w+);", "", text)
    own = set(re.findall(r"\bmod (\w+);", text))
    used = re.findall(r"(?<![\w:])[a-z_]\w*::[A-Za-z_:]+", code)
    for hands_on, tree in re.findall(r"\b(pub )?use ([^;]*);", text):
        names = expanded(" ".join(tree.split()))
        used += [name for name in names if not hands_on or re.search(rf"\b{name.rpartition('::')[2]}\b", code)]
    for name in used:
        first, *rest = name.removeprefix("self::").split("::")
        if first in ("crate", "super"):
            yield name
        elif first in own:
            yield "::".join(("self", first, *rest))


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

    What is compiled is a file by its stub. An import also runs the `__init__.py` of each package in which the module
    lies, unless the importing file lies there, too, so that it has begun already.
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
        for name in names:
            parts = name.split(".")
            runs = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
            begun = {".".join(own[:end]) for end in range(1, len(own) + 1)} - {name}
            yield from (files[module] for module in runs - begun if module in files)


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
