"""What the Rust sources look like from outside: types, their fields and methods, and the files in which these stand."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# What hides braces: comments, texts, characters (but no lifetimes).
HIDDEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:[^"\\]|\\.)*"|b?'(?:\\.[^']*|[^'\\])'""", re.DOTALL
)
TESTS = re.compile(r"\n#\[cfg\(test\)\]\n(?:#\[[^\n]*\]\n)*mod tests\b.*", re.DOTALL)


def plain(text: str) -> str:
    """A source without comments, texts, and the tests that come last."""
    return TESTS.sub("\n", HIDDEN.sub(lambda found: '""' if found[0].lstrip("b").startswith(('"', "r")) else "", text))


BRACE = re.compile(r"[{}]")


def block(text: str, start: int) -> str:
    """What stands between the brace at or behind `start` and the one that closes it."""
    depth, first = 0, len(text)
    for brace in BRACE.finditer(text, start):
        first = min(first, brace.end())
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[first : brace.start()]
    return text[first:]


def top_level(text: str) -> str:
    """A block without what stands in its inner braces."""
    depth, at, kept = 0, 0, []
    for brace in BRACE.finditer(text):
        if depth == 0:
            kept.append(text[at : brace.start()])
        depth += 1 if brace[0] == "{" else -1
        at = brace.end()
    return "".join([*kept, text[at:]])


def without_generics(text: str) -> str:
    """A head without what stands in angle brackets; an arrow is none."""
    text = text.replace("->", "  ")
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text


@dataclass
class Shape:
    """A struct, an enum or a trait of one crate."""

    fields: int = 0
    methods: int = 0  # its own, and for a trait those that it asks for or gives
    implemented: int = 0  # of traits, for it
    is_working: bool = False  # it has methods that change it
    is_trait: bool = False
    files: set[Path] = field(default_factory=set)  # with `impl` blocks of its own


FUNCTION = re.compile(r"\bfn \w+")


def shapes(paths: list[Path]) -> dict[str, Shape]:
    """Those of a crate, by name: two of one name in different modules are taken for one."""
    found: dict[str, Shape] = defaultdict(Shape)
    for path in paths:
        text = plain(path.read_text())
        for head in re.finditer(r"\bstruct (\w+)[^;{]*\{", text):
            fields = re.findall(
                r"(?:^|,)\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?\w+:(?!:)", _fields(text, head.start())
            )
            found[head[1]].fields = len(fields)
        for head in re.finditer(r"\btrait (\w+)[^;{]*\{", text):
            found[head[1]].is_trait = True
            found[head[1]].methods = len(FUNCTION.findall(top_level(block(text, head.start()))))
        for head in re.finditer(r"(?m)^\s*(?:unsafe )?impl\b([^;{]*)\{", text):
            shape = found[_type_of(head[1])]
            functions = list(_functions(block(text, head.start(1))))
            shape.is_working |= any(re.match(r"[^(]*\(\s*&(?:'\w+ )?mut self\b", function) for function in functions)
            if re.search(r"\bfor\b", without_generics(head[1])):
                shape.implemented += len(functions)
            else:
                shape.methods += len(functions)
                shape.files.add(path)
    return dict(found)


def _fields(text: str, start: int) -> str:
    """The inside of a struct, with nothing inside the types of its fields."""
    inside = without_generics(top_level(block(text, start)))
    return re.sub(r"\([^()]*\)|\[[^\[\]]*\]", lambda found: "" if found[0].startswith("(") else found[0], inside)


def _type_of(head: str) -> str:
    """The type that an `impl` is of: `<T> Trait<T> for a::Type<T> where ...` is of `Type`."""
    words: list[str] = re.findall(r"\w+", without_generics(head).partition(" where ")[0].rpartition(" for ")[2])
    return words[-1]


def _functions(inside: str) -> Iterator[str]:
    """The heads of the functions of an `impl` block, from the name on."""
    outside = top_level(inside)
    for found in FUNCTION.finditer(outside):
        yield without_generics(outside[found.start() : found.start() + 400])
