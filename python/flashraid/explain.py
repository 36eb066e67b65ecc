"""What settings, keys of results, columns, figures, schemes and terms mean, by the engine's schema and docs/."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from . import _native
from ._native import InputError

NEAREST = 3


@dataclass(frozen=True)
class Explanation:
    """One meaning of a name."""

    names: tuple[str, ...]  # those of one meaning: `latency_ns.read.p99`, `latency_ns.write.p99`
    kind: str
    about: str
    facts: Mapping[str, str] = field(default_factory=dict)  # unit, default, allowed values and so on
    words: Mapping[str, str] = field(default_factory=dict)  # what each value means
    aliases: tuple[str, ...] = ()


def explain(key: str) -> list[Explanation]:
    """Every meaning of a name, whole or as the last part of a longer one.

    Names are those of settings (`gc_threshold`, `device.gc_threshold`), keys of results (`latency_ns.read.p99`,
    `members[].busy_fraction`), columns of outputs, figures, schemes and their parameters (`update`, `raid5.update`),
    experiments of papers (`cr5m.figure8`), and terms of the glossary. Raises InputError with the nearest names if there
    is none.
    """
    if not key.strip():
        raise InputError("the name to explain is empty: allowed is one as in: flashraid explain gc_threshold")
    name = _folded(re.sub(r"\[\d+\]|\.\d+(?=\.|$)", "[]", key.strip().removeprefix("config.")))
    if found := _index().get(name):
        return [_merged(group) for group in _alike(_narrowed(each, name) for each in found)]
    known = {_folded(last): last for last in (each.rpartition(".")[2] for each in names())}
    near = _native.meant(name.rpartition(".")[2], list(known.values()))[:NEAREST]
    hint = f"the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near)}" if near else "see docs/glossary.md"
    raise InputError(f"nothing is called {key}; {hint}")


@cache
def names() -> list[str]:
    """Every name that is explained, and the last part of each."""
    whole = {name for each in _all() for name in (*each.names, *each.aliases)}
    return sorted(whole | {name.rpartition(".")[2] for name in whole})


def _folded(name: str) -> str:
    """A name as its other spellings: full_stripe, full-stripe, Full stripe; memberM_queue, member3_queue."""
    numbered = re.sub(r"(?<=[a-z]{3})([A-Z]|\d+)(?=_)", "#", name)
    return re.sub(r"[-_ ]+", " ", numbered.casefold())


def _narrowed(of: Explanation, name: str) -> Explanation:
    """The explanation with those of its names that were meant."""
    meant = tuple(each for each in of.names if _folded(each) == name or _folded(each).endswith(f".{name}"))
    return of if not meant else Explanation(meant, of.kind, of.about, of.facts, of.words)


def _alike(found: Iterator[Explanation]) -> list[list[Explanation]]:
    """Explanations grouped by what they say."""
    groups: dict[tuple[str, str, str], list[Explanation]] = {}
    for each in found:
        groups.setdefault((each.kind.partition(" of ")[0], each.about, str(each.facts)), []).append(each)
    return list(groups.values())


def _merged(group: list[Explanation]) -> Explanation:
    first = group[0]
    kinds = list(dict.fromkeys(each.kind for each in group))
    kind = ", ".join([kinds[0], *(each.rpartition(" of ")[2] for each in kinds[1:])])
    return Explanation(
        tuple(dict.fromkeys(name for each in group for name in each.names)), kind, first.about, first.facts, first.words
    )


@cache
def _index() -> dict[str, list[Explanation]]:
    """Explanations by their names and by what follows a dot in them."""
    found: dict[str, list[Explanation]] = {}
    for each in _all():
        for name in map(_folded, each.names + each.aliases):
            parts = name.split(".")
            for start in range(len(parts)):
                called = found.setdefault(".".join(parts[start:]), [])
                if not any(other is each for other in called):
                    called.append(each)
    return found


@cache
def _all() -> list[Explanation]:
    return [*_settings(), *_schemes(), *_keys(), *_columns(), *_figures(), *_experiments(), *_terms()]


def _settings() -> Iterator[Explanation]:
    for of in json.loads(_native.settings()):
        words = {word["name"]: word["about"] for word in of["words"]}
        yield Explanation((f"{of['table']}.{of['key']}",), "setting", of["about"], _facts(of), words)


def _schemes() -> Iterator[Explanation]:
    for scheme in json.loads(_native.schemes(None)):
        facts = {"survives": scheme["survives"], "more": f"flashraid schemes {scheme['name']}"}
        yield Explanation((scheme["name"],), "scheme", f"{scheme['title']}: {scheme['about']}", facts)
        for of in scheme["parameters"]:
            whole = f"{scheme['name']}.{of['name']}"
            kind = f"parameter of {scheme['name']}"
            yield Explanation((f"scheme.{of['name']}",), kind, of["about"], _facts(of), aliases=(whole,))


def _facts(of: Mapping[str, Any]) -> dict[str, str]:
    default = "required" if of["default"] is None else of["default"] or "none"
    found = {"unit": of["unit"], "default": default, "allowed": of["allowed"], "has effect with": of["needs"] or ""}
    return {name: value for name, value in found.items() if value}


def _keys() -> Iterator[Explanation]:
    """The keys of a result, from its JSON Schema."""
    schema = json.loads(_text("result.schema.json"))
    kinds = schema.pop("$defs")

    def walk(node: dict[str, Any], path: str, unit: str) -> Iterator[Explanation]:
        for kind in (node, *node.get("anyOf", ())):
            kind = kinds[kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
            for key, member in kind.get("properties", {}).items():
                if path or key != "config":  # of which the settings tell
                    yield from explained(member, f"{path}.{key}" if path else key, unit)
            if isinstance(kind.get("items"), dict):
                yield from walk(kind["items"], f"{path}[]", unit)

    def explained(node: dict[str, Any], path: str, unit: str) -> Iterator[Explanation]:
        own = node.get("unit", unit)
        facts = {"unit": own} if own else {}
        if "enum" in node:
            facts["values"] = ", ".join(map(str, node["enum"]))
        yield Explanation((path,), "key of a result", " ".join(node["description"].split()), facts)
        yield from walk(node, path, own)

    yield from walk(schema, "", "")


def _columns() -> Iterator[Explanation]:
    """The columns of tables, from docs/outputs.md."""
    for section, names, (unit, meaning) in _rows("outputs.md", "column"):
        yield Explanation(names, f"column of the {section.lower()}", meaning, {"unit": unit} if unit else {})


def _figures() -> Iterator[Explanation]:
    """The figures of results and series, from docs/figures.md."""
    for section, names, (shows,) in _rows("figures.md", "name"):
        yield Explanation(names, section.lower().replace("figures", "figure"), shows)


def _experiments() -> Iterator[Explanation]:
    """The experiments of papers."""
    from .reproduce import papers

    for paper in map(papers.find, papers.names()):
        for name, of in paper.experiments.items():
            whole = f"{paper.name}.{name}"
            about = f"{of.where}: {of.title}. {' '.join(of.about.split())}".strip()
            yield Explanation((whole,), f"experiment of {paper.title}", about, {"more": f"flashraid reproduce {whole}"})


def _rows(document: str, head: str) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """The rows of the document's tables whose first column has this head: section, names, and the other cells."""
    section = kind = ""
    for line in _text("docs", document).splitlines():
        cells = [_plain(cell.strip()) for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif not line.startswith("|"):
            kind = ""
        elif not kind:
            kind = cells[0]
        elif kind == head and not cells[0].startswith("-"):
            yield section, tuple(re.findall(r"`([^`]+)`", cells[0])), cells[1:]


def _terms() -> Iterator[Explanation]:
    """The terms of the glossary. Each is also found by the keys that it names."""
    for entry in re.split(r"(?m)^- (?=\*\*)", _text("docs", "glossary.md"))[1:]:
        found = re.fullmatch(r"\*\*(.*?)\*\*(?: \((.*?)\))?: (.*)", " ".join(entry.split()))
        if found is None:
            raise ValueError(f"glossary: {entry}")
        term, keys, about = found.groups()
        parts = [part.strip("` ") for part in re.split(r", | \(|\)", term) if part.strip("` ")]
        aliases = [part for part in parts if part != "cause"] + re.findall(r"`([^` ]+)`", keys or "")
        yield Explanation((term.replace("`", ""),), "term", _plain(about), aliases=tuple(aliases))


def _plain(markdown: str) -> str:
    """Without the addresses of links, except that a document is named."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)


def _text(*path: str) -> str:
    return resources.files(__package__).joinpath(*path).read_text(encoding="utf-8")
