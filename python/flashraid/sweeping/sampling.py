"""Values of an axis: lists, ranges, and samples of ranges."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._native import InputError
from ..settings import known_name

METHODS = ("latin-hypercube", "random")
SCALES = ("linear", "log")
MOST_VALUES = 1_000_000  # of an axis


@dataclass(frozen=True)
class Range:
    """Numbers from `start` to `end`, both included: whole ones, unless one of the ends is none."""

    start: float
    end: float
    is_log: bool
    is_whole: bool

    def at(self, share: float) -> int | float:
        """The number so far up the range; 0 is the start, 1 the end."""
        if self.is_log:
            value = self.start * (self.end / self.start) ** share
        else:
            value = self.start + share * (self.end - self.start)
        return self._inside(value)

    def of_interval(self, share: float) -> int | float:
        """The same where each whole number has an interval of the same length, so that all are equally likely."""
        if not self.is_whole or self.is_log:
            return self.at(share)
        return self._inside(math.floor(self.start + share * (self.end - self.start + 1)))

    def _inside(self, value: float) -> int | float:
        if value <= self.start or value >= self.end:
            return self._end(self.start if value <= self.start else self.end)
        # Rounded to what a person would write, so that the same number is the same text everywhere.
        return round(value) if self.is_whole else min(max(float(f"{value:.6g}"), self.start), self.end)

    def _end(self, value: float) -> int | float:
        return round(value) if self.is_whole else float(value)


def range_of(where: str, said: Mapping[str, Any], others: Sequence[str] = ()) -> Range:
    """The range that a table describes; `others` are keys that it may have beside `from`, `to` and `scale`."""
    for key in said:
        known_name(f"{where}: key", key, ("from", "to", "scale", *others))
    for key in ("from", "to"):
        if type(said.get(key)) not in (int, float) or not math.isfinite(said[key]):
            raise InputError(f"{where}: {key} = {said.get(key, 'nothing')}: a range has numbers from and to")
    start, end, scale = said["from"], said["to"], said.get("scale", "linear")
    if start > end:
        raise InputError(f"{where}: from {start} to {end}: allowed is a range that ascends")
    known_name(f"{where}: scale", str(scale), SCALES)
    if scale == "log" and start <= 0:
        raise InputError(f"{where}: from {start}: a range with scale = log begins above 0")
    return Range(start, end, scale == "log", type(start) is int and type(end) is int)


def values(where: str, said: Any) -> list[Any]:
    """The values of an axis of a grid: those of a list, or numbers of a range, by `step` or so many `points`."""
    if isinstance(said, Mapping):
        found = _of_range(where, said)
    elif isinstance(said, list | tuple):
        found = list(said)
    else:
        raise InputError(f"{where} = {said}: allowed is a list of values, or a range as in {{ from = 1, to = 8 }}")
    if not found:
        raise InputError(f"{where}: an axis has at least one value")
    seen = set()
    for value in found:
        if repr(value) in seen:
            raise InputError(f"{where}: {value} is listed twice: allowed is once")
        seen.add(repr(value))
    return found


def _of_range(where: str, said: Mapping[str, Any]) -> list[Any]:
    found = range_of(where, said, ("step", "points"))
    if "step" in said and "points" in said:
        raise InputError(f"{where}: allowed is step or points, not both")
    if "points" in said:
        points = said["points"]
        if type(points) is not int or not 2 <= points <= MOST_VALUES:
            raise InputError(f"{where}: points = {points}: allowed is a whole number from 2 to {MOST_VALUES}")
        return list(dict.fromkeys(found.at(at / (points - 1)) for at in range(points)))
    if found.is_log:
        raise InputError(f"{where}: a range with scale = log needs points")
    if "step" not in said and not found.is_whole:
        raise InputError(f"{where}: a range of numbers that are not whole needs step or points")
    step = said.get("step", 1)
    if type(step) not in (int, float) or not 0 < step < math.inf:
        raise InputError(f"{where}: step = {step}: allowed is a number above 0")
    if (found.end - found.start) / step >= MOST_VALUES:
        raise InputError(f"{where}: step = {step}: allowed are at most {MOST_VALUES} values")
    count = math.floor((found.end - found.start) / step + 1e-9) + 1
    is_whole = found.is_whole and type(step) is int
    steps = (found.start + at * step for at in range(count))
    return [round(value) if is_whole else float(f"{value:.12g}") for value in steps]


def sample(where: str, method: str, points: int, seed: int, axes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """So many points, each with a value for every axis: of a list one value, of a range a number.

    `random` draws each value by itself. `latin-hypercube` cuts each range into as many intervals as there are points
    and draws one number of each interval, so that a few points cover every axis evenly.
    """
    generator = random.Random(seed)
    drawn: dict[str, list[Any]] = {}
    for key, said in axes.items():
        name = f"{where}.{key}"
        place = range_of(name, said) if isinstance(said, Mapping) else values(name, said)
        shares = [generator.random() for _ in range(points)]
        if method == "latin-hypercube":
            order = list(range(points))
            generator.shuffle(order)
            shares = [(interval + share) / points for interval, share in zip(order, shares, strict=True)]
        if isinstance(place, Range):
            drawn[key] = [place.of_interval(share) for share in shares]
        else:
            drawn[key] = [place[min(int(share * len(place)), len(place) - 1)] for share in shares]
    return [{key: of[at] for key, of in drawn.items()} for at in range(points)]
