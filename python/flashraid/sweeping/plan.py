"""The plan of a sweep: which runs it consists of. docs/sweeps.md describes its file."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from .. import _native
from .._native import InputError
from ..documents import read_toml
from ..keys import renamed, said_at
from ..settings import bare, check_texts, known_name, parameters_of
from . import sampling

# What a point names beside settings. Keys of a profile begin with the prefix.
PLACES = ("trace", "device", "scheme", "config")
PROFILE = "profile."
MOST_POINTS = 1_000_000

# What a run is made with: a value for each key.
Point = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """A plan. `points` has what each run is made with, in order; `axes` are the keys in which they differ."""

    points: tuple[Point, ...]
    axes: tuple[str, ...]
    text: str  # JSON of what was said
    where: str  # what messages call it


def read(path: str) -> Plan:
    """The plan of a TOML file. Paths in it are relative to the directory that the command is called in."""
    return made(read_toml(path), path)


def made(said: Mapping[str, Any], where: str = "plan") -> Plan:
    """The plan that a dict describes, with the tables of the file as keys."""
    _check_texts(where, said)
    for key in said:
        known_name(f"{where}: table", key, ("fixed", "grid", "sample", "list", "when", "skip"))
    fixed = _table(where, said, "fixed")
    check_keys(f"{where}: fixed", fixed)
    points = [fixed]
    for part in (_listed(where, said), _sampled(where, said), _grid(f"{where}: grid", _table(where, said, "grid"))):
        points = [_joined(where, point, more) for point in points for more in part]
        _check_count(where, points)
    for number, when in enumerate(_tables(where, said, "when"), 1):
        points = list(_extended(f"{where}: when {number}", points, when))
        _check_count(where, points)
    skips = _tables(where, said, "skip")
    for number, skip in enumerate(skips, 1):
        check_keys(f"{where}: skip {number}", skip)
        if not skip:
            raise InputError(f"{where}: skip {number}: allowed is a table with at least one key")
        if not any(_matches(point, skip) for point in points):
            raise InputError(f"{where}: skip {number}: no point matches it")
    points = [point for point in points if not any(_matches(point, skip) for skip in skips)]
    if not points:
        raise InputError(f"{where}: there is nothing to run: every point is skipped")
    if any("trace" not in point for point in points):
        raise InputError(f"{where}: no trace: give one in fixed, or an axis of them")
    text = json.dumps(said, sort_keys=True, default=str)
    return Plan(tuple(points), _axes(points), text, where)


def _check_texts(where: str, said: Any) -> None:
    """Refuses keys and texts that no file could have."""
    if isinstance(said, Mapping):
        for key, value in said.items():
            check_texts(**{f"{where}: key": key})
            _check_texts(f"{where}: {key}", value)
    elif isinstance(said, list | tuple):
        for value in said:
            _check_texts(where, value)
    elif isinstance(said, str):
        check_texts(**{where: said})


def check_keys(where: str, keys: Iterable[str]) -> None:
    """Refuses keys that are neither settings nor parameters of schemes, nor of a profile or one of its streams."""
    for key in keys:
        if not re.fullmatch(r"profile\.(streams\.\d+\.)?[^.]+", key) or key == f"{PROFILE}streams":
            known_name(f"{where}: key", key, _known())


@cache
def _known() -> tuple[str, ...]:
    settings = [(each["table"], each["key"]) for each in json.loads(_native.settings())]
    parameters = [("scheme", name) for name in parameters_of()]
    named = [(table, key) for table, key in settings + parameters if key != "name"]
    return (*PLACES, *(key for _, key in named), *(f"{table}.{key}" for table, key in named))


def _table(where: str, said: Mapping[str, Any], name: str) -> Point:
    """A table of the plan, with each key in one word: `profile.streams.0.weight`, `device.channels`."""
    found = said.get(name, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{where}: {name}: allowed is a table")
    return _once(f"{where}: {name}", _flat(found))


def _once(where: str, pairs: Iterable[tuple[str, Any]]) -> Point:
    """The keys without the names of their tables, each once."""
    point: Point = {}
    for key, value in pairs:
        name = key if key.startswith(PROFILE) or key in PLACES else renamed(key, bare(key))
        if name in point:
            raise InputError(
                f"{said_at(where, key)}: {name} is given twice: allowed is once, with its table or without"
            )
        point[name] = value
    return point


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Its keys: those of a table of settings, of a profile or of one of its streams with that of the table before."""
    tables = {each["table"] for each in json.loads(_native.settings())}
    for key, value in table.items():
        if key == "profile" and isinstance(value, Mapping):
            yield from _of_profile(value)
        elif key in tables and isinstance(value, Mapping):
            yield from ((renamed(name, f"{key}.{name}"), each) for name, each in value.items())
        else:
            yield key, value


def _of_profile(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if key != "streams" or not isinstance(value, Mapping):
            yield renamed(key, f"{PROFILE}{key}"), value
            continue
        for number, stream in value.items():
            if isinstance(stream, Mapping):
                yield from ((renamed(name, f"{PROFILE}streams.{number}.{name}"), each) for name, each in stream.items())
            else:
                yield renamed(number, f"{PROFILE}streams.{number}"), stream


def _tables(where: str, said: Mapping[str, Any], name: str) -> list[Point]:
    """A list of tables."""
    found = said.get(name, [])
    if not (isinstance(found, list | tuple) and all(isinstance(each, Mapping) for each in found)):
        raise InputError(f"{where}: {name}: allowed are tables, each under [[{name}]]")
    return [dict(each) if name == "when" else _once(f"{where}: {name}", _flat(each)) for each in found]


def _listed(where: str, said: Mapping[str, Any]) -> list[Point]:
    found = _tables(where, said, "list")
    for number, each in enumerate(found, 1):
        check_keys(f"{where}: list {number}", each)
    return found or [{}]


def _sampled(where: str, said: Mapping[str, Any]) -> list[Point]:
    table = _table(where, said, "sample")
    if not table:
        return [{}]
    place = f"{where}: sample"
    method = table.pop("method", sampling.METHODS[0])
    known_name(f"{place}: method", str(method), sampling.METHODS)
    points, seed = table.pop("points", None), table.pop("seed", 1)
    if type(points) is not int or not 1 <= points <= MOST_POINTS:
        raise InputError(f"{place}: points = {points}: allowed is a whole number from 1 to {MOST_POINTS}")
    if type(seed) is not int or seed < 0:
        raise InputError(f"{place}: seed = {seed}: allowed is a whole number from 0 (a seed axis belongs into grid)")
    check_keys(place, table)
    if not table:
        raise InputError(f"{place}: there is no axis: allowed are keys with a range or a list")
    return sampling.sample(place, method, points, seed, table)


def _grid(where: str, table: Point) -> list[Point]:
    """Every combination of the values of its axes; the last axis changes fastest."""
    check_keys(where, table)
    values = [sampling.values(said_at(f"{where}.{key}", key), said) for key, said in table.items()]
    count = 1
    for each in values:
        count *= len(each)
        if count > MOST_POINTS:
            raise InputError(f"{where}: more than {MOST_POINTS} points")
    return [dict(zip(table, combination, strict=True)) for combination in product(*values)]


def _extended(where: str, points: Iterable[Point], when: Point) -> Iterator[Point]:
    """The points, those that a condition meets with more of their own."""
    for key in when:
        known_name(f"{where}: key", key, ("if", "fixed", "grid"))
    condition = _table(where, when, "if")
    check_keys(f"{where}: if", condition)
    if not condition:
        raise InputError(f"{where}: no if: allowed is a table of keys with the values that it is for")
    fixed = _table(where, when, "fixed")
    check_keys(f"{where}: fixed", fixed)
    more = _grid(f"{where}: grid", _table(where, when, "grid"))
    is_met = False
    for point in points:
        if _matches(point, condition):
            is_met = True
            for each in more:
                yield _joined(where, point, fixed | each)
        else:
            yield point
    if not is_met:
        raise InputError(f"{where}: no point meets its if")


def _matches(point: Point, condition: Point) -> bool:
    """Whether a point has for each key the value, or one of the values."""
    return all(key in point and _is_meant(point[key], wanted) for key, wanted in condition.items())


def _is_meant(value: object, wanted: object) -> bool:
    several = wanted if isinstance(wanted, list | tuple) else ()
    return any(_are_equal(value, each) for each in (wanted, *several))


def _are_equal(one: object, other: object) -> bool:
    """Whether two values are the same setting: `true` is not 1, which Python takes it for."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _joined(where: str, point: Point, more: Point) -> Point:
    """Both together; no key twice."""
    for key in more:
        if key in point:
            raise InputError(
                f"{said_at(where, key)}: {key} is given twice: allowed is one of fixed, grid, sample, list and when"
            )
    return point | more


def _check_count(where: str, points: list[Point]) -> None:
    if len(points) > MOST_POINTS:
        raise InputError(f"{where}: more than {MOST_POINTS} points")


def _axes(points: list[Point]) -> tuple[str, ...]:
    """The keys in which points differ, in the order in which they first appear."""
    first: Point = {}
    counts: dict[str, int] = {}
    differing = set()
    for point in points:
        for key, value in point.items():
            counts[key] = counts.get(key, 0) + 1
            if not _are_equal(first.setdefault(key, value), value):
                differing.add(key)
    return tuple(key for key in first if key in differing or counts[key] < len(points))
