"""The table of a comparison: rows with their figures, differences from the first scheme, and the best values.

Every number is a figure of the JSON, found by its path and written by its kind; of repeated runs it is the mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .candidate import NO_COLLECTION, Candidate, candidates, has_collected, is_overloaded, listed, value_at
from .compared import Results
from .evidence import differ
from .intervals import is_apart, mean_and_half_width, mean_of
from .quantities import COUNT, HUNDREDTHS, decimals_of, difference, number, with_interval
from .record import Record
from .rows import BUSIEST, CAPACITY, COLLECTIONS, SECTIONS, WORDS, Row
from .scaled import of_scaled


@dataclass(frozen=True)
class Cell:
    """What a row says of one scheme."""

    value: float | None
    """The figure in the unit of the JSON, with several seeds its mean. None for words and for an undefined figure."""
    half_width: float
    """Half the width of its 95 % interval in the unit of the JSON; 0 with one seed."""
    text: str
    """The figure in the unit of its line, with several seeds with half the width of its interval; `-` if undefined."""
    relative: str = ""
    """The difference from the first scheme; empty where it says nothing."""
    is_best: bool = False
    """Whether it is the best of the row, equal to it within 1 %, or not told apart from it by the runs."""
    note: str = ""
    """Why the figure is not to be compared with the others."""
    is_sparse: bool = False
    """Whether it is a quantile, mean or rate of too few requests, which is never ranked."""
    values: tuple[float, ...] = ()
    """The figure with each seed, in the unit of the JSON; empty for words and for an undefined figure."""

    @property
    def mark(self) -> str:
        """The sign behind the figure."""
        return "!" if self.note else "~" if self.is_sparse else "*" if self.is_best else " "

    @property
    def is_fit(self) -> bool:
        """Whether it can be ranked."""
        return self.value is not None and not self.note and not self.is_sparse


@dataclass(frozen=True)
class Line:
    """A row: a cell for each scheme."""

    name: str
    unit: str
    path: str
    """Where its figures stand in the JSON: in each result, or for the closed loop in each element of `capacity`."""
    better: Literal["low", "high"] | None
    """Which figures are better, if any are."""
    cells: tuple[Cell, ...]
    note: str = ""
    """What its figures hold for."""
    is_judged: bool = False
    """Whether the runs tell a difference between its figures from chance: only then is one the best."""

    @property
    def head(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Section:
    """Lines of one subject."""

    title: str
    lines: tuple[Line, ...]


def table(comparison: Results) -> list[Section]:
    """What the results of a comparison say, without the rows that say nothing of any scheme."""
    found = candidates(comparison)
    sections = [(title, [_line(row, found, not comparison.differences) for row in rows]) for title, rows in SECTIONS]
    full = [Section(title, tuple(line for line in lines if line)) for title, lines in sections]
    return [section for section in full if section.lines]


def _line(row: Row, found: Sequence[Candidate], are_comparable: bool) -> Line | None:
    values = [each.values(row) for each in found]
    known = [value for each in values for value in each if value is not None]
    is_said = any(value_at(result, row.unless) is not None for each in found for result in each.results)
    if not known or not (row.is_needed or any(known)) or is_said:
        return None
    if row is BUSIEST and not any(is_overloaded(result) for each in found for result in each.results):
        return None
    if row.kind is WORDS:
        return Line(row.name, "", row.path, None, tuple(_survived(each.first) for each in found), row.note)
    unit, one = row.kind.unit(known)
    notes = [each.doubt_of(row) for each in found]
    defined = {at: each for at, each in enumerate(values) if None not in each}
    # What reached no flash under any scheme tells nothing; what did so under some tells them from the others.
    voids = {at: found[at].why_void(row) for at in defined}
    if all(voids.values()):
        notes = [note or voids.get(at, "") for at, note in enumerate(notes)]
    sparse = {at for at in defined if found[at].is_sparse(row)}
    merits = {at: each for at, each in defined.items() if not notes[at] and at not in sparse}
    if row.is_lifetime:
        # The device ends with its busiest member: a higher mean is no merit if that one wears out earlier.
        uneven = {at: found[at].unevenness for at in merits if found[at].unevenness > 1}
        merits = {at: [value / uneven.get(at, 1) for value in each] for at, each in merits.items()}
        for at, times in uneven.items():
            faster = f"{HUNDREDTHS.text(times)} times faster than the mean"
            notes[at] = f"its busiest member wears out {faster}, which the lifetime describes"
    is_judged = are_comparable and _is_judged(row, found)
    best = best_of(row.better, merits) if is_judged else set()
    cells = []
    for at, note in enumerate(notes):
        if at not in defined:
            cells.append(Cell(None, 0, "-"))
            continue
        mean, half_width = mean_and_half_width(values[at])
        # What an interrupted run has counted is that of a part of the trace.
        is_whole = row.is_price or not (found[at].is_partial or found[0].is_partial)
        is_related = are_comparable and 0 in defined and is_whole and not sparse & {0, at}
        relative = difference(mean, mean_of(values[0])) if is_related and is_apart(values[at], values[0]) else ""
        if row.path == COLLECTIONS and mean == 0:
            text = "none ended" if any(map(has_collected, found[at].results)) else NO_COLLECTION
        else:
            text = _text(row, (mean, half_width), one)
        is_best = at in best and not note and not found[at].is_partial
        is_few = at in sparse and not note
        cells.append(Cell(mean, half_width, text, relative, is_best, note, is_few, tuple(values[at])))
    note = _closed_loop(found) if row is CAPACITY else row.note
    if row.scales and (scaled := of_scaled(found[0].first)):
        note = "; ".join(text for text in (note, scaled) if text)
    return Line(row.name, unit, row.path, row.better, tuple(cells), note, is_judged)


def _is_judged(row: Row, found: Sequence[Candidate]) -> bool:
    """Whether a difference between the schemes is told from chance: what follows from the configuration is exact, and
    what a run measures needs runs that were repeated.
    """
    if row is CAPACITY:
        return all(len(each.values(row)) > 1 for each in found)
    return row.is_price or all(each.is_repeated or each.is_partial for each in found)


def _survived(result: Record) -> Cell:
    text, but = (value_at(result, f"survives.{key}") for key in ("text", "but"))
    return Cell(None, 0, text.removesuffix(f", but for {but}"), note=f"all but {but}" if but else "")


def _text(row: Row, spread: tuple[float, float], one: float) -> str:
    """A mean, and half the width of its interval."""
    assert row.kind is not None
    mean, half = (value / one for value in spread)
    decimals = row.kind.decimals
    if decimals is None or (mean != int(mean) and row.kind is COUNT):
        decimals = decimals_of(number(mean, None))
    return with_interval(mean, half, decimals)


def best_of(better: str | None, values: Mapping[int, Sequence[float]]) -> set[int]:
    """The best ones, given the figures of each with each seed, and those equal to them; none if all are, or if there
    are not two.
    """
    if better is None or len(values) < 2:
        return set()
    optimum = (min if better == "low" else max)(values.values(), key=mean_of)
    best = {at for at, each in values.items() if not differ(each, optimum)}
    return set() if len(best) == len(values) else best


def _closed_loop(found: Sequence[Candidate]) -> str:
    first = next(each.capacity for each in found if each.capacity)
    missing = without_capacity(found)
    unknown = f"; interrupted before that of {listed(missing)} was measured" if missing else ""
    return f"{first['requests']:,} requests, {first['queue_depth']:,} of them outstanding at any time{unknown}"


def without_capacity(found: Sequence[Candidate]) -> list[str]:
    """The schemes whose capacity is not known, as the comparison was interrupted; while there is one, none is best."""
    return [each.name for each in found if each.capacity is None]
