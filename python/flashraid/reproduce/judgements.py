"""Judging a claim on figures: by how much it holds or fails, and which figure decides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import isfinite
from typing import NamedTuple

from ..quantities import rounded
from .metrics import METRICS
from .papers import AXES, Claim, Experiment, Names, selection

# A figure by configuration, workload, point and metric: what each repeat measured.
Key = tuple[str, str, str, str]
Figures = Mapping[Key, Sequence[float]]
Line = list[tuple[str, float]]  # figures along an axis, with their names there

# Less than one percent (of percentages: one point) counts as level: no trace is known so well.
LEVEL = 1.0
# Means and percentiles of fewer requests decide nothing.
FEWEST_REQUESTS = 300
# Of the same order of magnitude are figures of which neither is so many times as large as the other.
MAGNITUDE = 10

GROUPS: dict[str, Callable[[Sequence[float]], float]] = {"mean": lambda values: _mean(values), "max": max, "min": min}


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds. `found` is the figure that decides, `lack` how far it is from holding (0 if it holds)."""

    holds: bool
    found: float
    at: str  # the names of that figure, but for those that all have in common
    unit: str
    lack: float
    note: str = ""
    is_undecided: bool = False  # too few requests are behind the figures
    margin: float | None = (
        None  # of an order or a trend: how far apart the figures are, in percent, beyond what is level
    )
    is_level: bool = False  # an order or a trend, but the figures cannot be told apart
    spread: float = 0.0  # of its figure over the repeats

    def text(self) -> str:
        """The figure as people read it."""
        decimals = 2 if 0 < abs(self.found) < 1 else 1
        number = f"{self.found:,.{decimals}f}" if self.unit in ("%", "us") else rounded(self.found, 6)
        number = f"{number} {self.unit}".rstrip()
        return f"{number}{f' ({self.at})' if self.at else ''}{f'; {self.note}' if self.note else ''}"


def is_moved(before: Verdict, after: Verdict) -> bool:
    """Whether a change moves a figure at least half way to where its claim holds.

    An order or a trend has to move by more than what is level: a smaller step shows no cause.
    """
    least = LEVEL if before.margin is not None else 0.0
    return after.lack < before.lack / 2 and before.lack - after.lack >= least


class Figure(NamedTuple):
    """What a claim compares: one value for each repeat."""

    values: Sequence[float]
    few: int  # of how many of its cells the requests are too few, all repeats together
    is_undecided: bool  # because of them

    @property
    def mean(self) -> float:
        """The mean over the repeats, which is what is judged."""
        return _mean(self.values)

    @property
    def spread(self) -> float:
        """The difference of the largest and the least."""
        return max(self.values) - min(self.values)


def judge(claim: Claim, experiment: Experiment, figures: Figures) -> Verdict:
    """The verdict on a claim, given the figures of its experiment.

    Cells of too few requests do not count, nor do lines with such a cell; if nothing else is left, the claim is
    undecided. An order or a trend has to differ by more than what is level, and than its repeats do among themselves:
    a trend in all lines that have to hold, an order in most of them. What fails by less than its repeats differ is
    not told apart either.
    """
    grid = Grid(claim, experiment, figures)
    if claim.judge == "cells":
        return _cells(claim, grid)
    lines = grid.lines(claim.along)
    if grid.is_bounded:
        lines = [(name, [cell]) for name, line in lines for cell in line]
    few = sum(figure.few for _, line in lines for _, figure in line)
    decided = [each for each in lines if not any(figure.is_undecided for _, figure in each[1])]
    is_undecided = not decided
    verdicts, singles = [], []
    for name, line in decided or lines:
        verdict = JUDGES[claim.judge](claim, [(label, figure.mean) for label, figure in line], grid.unit)
        verdict = _told_apart(verdict, _margins(claim, line, grid.unit))
        spread = max(figure.spread for _, figure in line)
        note = f"spread {rounded(spread, 3)}" if len(experiment.repeats) > 1 else ""
        at, note = _join(name, verdict.at), _join(verdict.note, note)
        verdicts.append(replace(verdict, at=at, note=note, spread=spread))
        if grid.is_bounded and len(experiment.repeats) > 1:
            label, figure = line[0]
            singles += [JUDGES[claim.judge](claim, [(label, value)], grid.unit).holds for value in figure.values]
    needed = _needed(verdicts, claim.lines)
    found = replace(needed[-1], lack=max(needed[-1].lack, 0.0))
    each = f"{sum(singles)} of {len(singles)} repeats alone hold" if singles and decided else ""
    means = [figure.mean for _, line in decided for _, figure in line] if grid.is_bounded and len(decided) > 1 else []
    mean, least, most = (rounded(pick(means), 3) if means else "" for pick in (_mean, min, max))
    overall = f"mean {mean}, {least} to {most}" if means else ""
    holding = sum(verdict.holds for verdict in verdicts)
    apart = sum(verdict.holds and not verdict.is_level and (verdict.margin or 0) >= 0 for verdict in verdicts)
    is_trend = claim.judge in ("rises", "falls", "levels_off")
    if found.holds:
        is_level = apart < _enough(verdicts, claim.lines if is_trend else "most")
    else:
        is_level = all(verdict.is_level for verdict in needed if not verdict.holds)
    count = f"{holding} of {len(verdicts)} hold" if decided and len(lines) > 1 else ""
    told = f"{apart} told apart" if count and apart < holding else "not told apart" if is_level else ""
    return replace(
        found,
        holds=found.holds and not is_undecided and not is_level,
        note=_join(count, told, _undecided(few, is_undecided), found.note, each, overall),
        lack=max(found.lack, -(found.margin or 0)) if is_level and found.holds else found.lack,
        is_undecided=is_undecided,
        is_level=is_level and not is_undecided,
    )


def _margins(claim: Claim, line: Sequence[tuple[str, Figure]], unit: str) -> list[float]:
    """How far apart the figures of a line are in each repeat; nothing if the claim is none about a difference."""
    repeats = zip(*(figure.values for _, figure in line), strict=True)
    labels = [label for label, _ in line]
    alone = (JUDGES[claim.judge](claim, list(zip(labels, values, strict=True)), unit) for values in repeats)
    return [verdict.margin for verdict in alone if verdict.margin is not None]


def _told_apart(verdict: Verdict, margins: Sequence[float]) -> Verdict:
    """The verdict on a line with its margin beyond what is level: 1 %, or the spread of the margin over the repeats.

    A line that fails by less than that spread cannot be told from one that holds.
    """
    if verdict.margin is None:
        return verdict
    spread = max(margins) - min(margins)
    is_level = not verdict.holds and verdict.lack < spread
    return replace(verdict, margin=verdict.margin - max(LEVEL, spread), is_level=is_level)


def _undecided(few: int, is_undecided: bool) -> str:
    return f"fewer than {FEWEST_REQUESTS} requests" if is_undecided else f"{few} undecided" if few else ""


def _needed(verdicts: list[Verdict], lines: str) -> list[Verdict]:
    """The lines that have to hold, the best ones of all if most are enough, and of them the worst at the end."""
    return sorted(verdicts, key=lambda each: (each.lack, not each.holds))[: _enough(verdicts, lines)]


def _enough(verdicts: Sequence[Verdict], lines: str) -> int:
    return len(verdicts) // 2 + 1 if lines == "most" else len(verdicts)


def _join(*names: str) -> str:
    return ", ".join(name for name in names if name)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


class Grid:
    """The figures that a claim looks at, by its names on each axis; a list of names stands for one figure."""

    def __init__(self, claim: Claim, experiment: Experiment, figures: Figures) -> None:
        self.claim = claim
        self.axes = [self._used(names, experiment, axis) for names, axis in zip(selection(claim), AXES, strict=True)]
        self.unit = "%" if claim.against else METRICS[self.axes[3][0][0]].unit
        self.is_bounded = claim.judge in ("above", "below", "between", "near")  # each figure is judged by itself
        self._figures = figures

    @staticmethod
    def _used(names: Names, experiment: Experiment, axis: str) -> list[list[str]]:
        return [[each] if isinstance(each, str) else list(each) for each in names or experiment.axis(axis)]

    def lines(self, along: str) -> list[tuple[str, list[tuple[str, Figure]]]]:
        """The lines along an axis, each with the names that it has on the others."""
        axis = AXES.index(along)
        found = []
        places = [range(len(labels)) if number != axis else range(1) for number, labels in enumerate(self.axes)]
        for where in product(*places):
            line = [
                (self._label(axis, place), self._figure([*where[:axis], place, *where[axis + 1 :]]))
                for place in range(len(self.axes[axis]))
            ]
            labels = [
                self._label(number, place)
                for number, place in enumerate(where)
                if number != axis and len(self.axes[number]) > 1
            ]
            found.append((_join(*labels), line))
        return found

    def cells(self) -> list[tuple[str, str, float, Figure]]:
        """Of a claim that is a table: workload, point, the paper's figure, ours."""
        of, metric = self.axes[0][0][0], self.axes[3][0][0]
        return [
            (workload, point, paper, self._cell((of, workload, point, metric)))
            for workload, row in self.claim.value.items()
            for point, paper in row.items()
        ]

    def only(self) -> Figure:
        """The figure of a claim that has one name, or one list of names, on each axis."""
        return self._figure([0, 0, 0, 0])

    def _label(self, axis: int, place: int) -> str:
        labels = self.axes[axis][place]
        if len(labels) == 1:
            return labels[0] if len(self.axes[axis]) > 1 else ""
        return f"{self.claim.group} " + (
            f"of {' '.join(labels)}" if len(self.axes[axis]) > 1 else f"over {len(labels)}"
        )

    def _figure(self, where: Sequence[int]) -> Figure:
        of, workloads, points, metrics = (self.axes[axis][place] for axis, place in enumerate(where))
        cells = [self._cell(key) for key in product(of, workloads, points, metrics)]
        decided = [cell for cell in cells if not cell.is_undecided]
        few = len(cells) - len(decided)
        # Along a line a figure must not be made of other cells than its neighbours.
        counted = (decided if self.is_bounded else []) or cells
        values = [GROUPS[self.claim.group](repeat) for repeat in zip(*(cell.values for cell in counted), strict=True)]
        return Figure(values, few, few > 0 and counted is cells)

    def _cell(self, key: Key) -> Figure:
        if not self.claim.against:
            return self._of_cell(self._figures[key], self._requests(key))
        base = self.claim.against, *key[1:]
        values = [self._related(old, new) for old, new in zip(self._figures[base], self._figures[key], strict=True)]
        return self._of_cell(values, min(self._requests(base), self._requests(key)))

    @staticmethod
    def _of_cell(values: Sequence[float], requests: float) -> Figure:
        return Figure(values, int(requests < FEWEST_REQUESTS), requests < FEWEST_REQUESTS)

    def _related(self, base: float, own: float) -> float:
        if not base:
            base, own = (1.0, 1.0) if own == base else (1.0, float("inf"))
        return related(100 * (base - own) / base, self.claim.relation)  # exactly 0 if they are equal

    def _requests(self, key: Key) -> float:
        """Of how many requests a figure is made, in all repeats together; no limit if it is none of requests."""
        requests = METRICS[key[3]].requests
        return sum(self._figures[*key[:3], requests]) if requests else float("inf")


def related(less: float, relation: str) -> float:
    """A reduction in percent as what a claim speaks of. Of an increase it makes the reduction again."""
    return {"reduction": less, "increase": -less, "ratio": 100 - less}[relation]


def _bounded(claim: Claim, line: Line, unit: str) -> Verdict:
    """`above` and `below` a value, or `between` a minimum and a maximum, which are allowed themselves."""
    value = line[0][1]
    if claim.judge == "between":
        lack = max(
            float("-inf") if claim.minimum is None else claim.minimum - value,
            float("-inf") if claim.maximum is None else value - claim.maximum,
        )
        return Verdict(lack <= 0, value, line[0][0], unit, lack)
    lack = claim.value - value if claim.judge == "above" else value - claim.value
    is_order = unit == "%" and claim.value == 0
    return Verdict(lack < 0 and isfinite(value), value, line[0][0], unit, lack, margin=-lack if is_order else None)


def _near(claim: Claim, line: Line, unit: str) -> Verdict:
    value = line[0][1]
    is_near, note = _compared(value, claim, claim.value)
    return Verdict(is_near, value, line[0][0], unit, abs(value - claim.value), note)


def _compared(ours: float, claim: Claim, paper: float) -> tuple[bool, str]:
    if claim.tolerance == "exact":
        return ours == paper, ""
    if not isfinite(ours):
        return False, "not a number"
    if is_difference(claim) and is_level(ours, paper):
        return False, "level"
    same_sign = (ours > 0) == (paper > 0) or paper == 0
    within = same_sign and is_within(2, ours, paper)
    is_of_its_order = same_sign and is_within(MAGNITUDE, ours, paper)
    note = "within a factor of two" if within else "same sign" if same_sign else "other sign"
    if claim.tolerance == "magnitude" and is_of_its_order and not within:
        note = "within a factor of ten"
    return {"factor two": within, "magnitude": is_of_its_order}.get(claim.tolerance, same_sign), note


def is_within(factor: float, ours: float, paper: float) -> bool:
    """Whether a figure is at most so many times as large as the paper's, or as small, whatever the signs."""
    return abs(paper) / factor <= abs(ours) <= factor * abs(paper)


def is_difference(claim: Claim) -> bool:
    """Whether its figures have a sign: those that say by how much one configuration is more or less than another."""
    return bool(claim.against) and claim.relation != "ratio"


def is_level(ours: float, paper: float) -> bool:
    """Whether a difference is too small to have a direction, where that of the paper has one."""
    return abs(ours) < LEVEL <= abs(paper)


def _extreme(claim: Claim, line: Line, unit: str) -> Verdict:
    """`highest` or `lowest` along the axis is the item."""
    sign = 1 if claim.judge == "highest" else -1
    own = next(value for label, value in line if label == claim.item)
    label, best = max(((label, value) for label, value in line if label != claim.item), key=lambda each: sign * each[1])
    lack = _percent(sign * (best - own), best, unit)
    return Verdict(lack < 0, own, claim.item, unit, lack, f"next is {label} with {best:,.1f}", margin=-lack)


def _percent(difference: float, of: float, unit: str) -> float:
    """A difference in percent, so that a change of all figures alike does not pass for a mechanism."""
    return difference if unit == "%" or not of else 100 * difference / abs(of)


def _monotone(claim: Claim, line: Line, unit: str) -> Verdict:
    """`rises` or `falls` from the first to the last, with no step back of more than what is level.

    A gain that grows or shrinks has to be one where it is largest.
    """
    sign = 1 if claim.judge == "rises" else -1
    first, last = line[0][1], line[-1][1]
    back, label = max(
        (_percent(sign * (before - after), first, unit), at) for (_, before), (at, after) in pairwise(line)
    )
    whole = _percent(last - first, first, unit)
    largest = max(first, last) if is_difference(claim) else float("inf")
    holds = back <= LEVEL and sign * whole > 0 and largest > 0
    note = f"{first:,.1f} to {last:,.1f}" + f", back by {back:,.2f} % at {label}" * (back > LEVEL)
    note += ", no gain" * (largest <= 0)
    return Verdict(holds, whole, "", "%", max(back - LEVEL, -sign * whole, -largest), note, margin=sign * whole)


def _jumps(claim: Claim, line: Line, unit: str) -> Verdict:
    """The last exceeds the first by more percent than the value."""
    rise = 100 * (line[-1][1] / line[0][1] - 1) if line[0][1] else float("inf")
    return Verdict(rise > claim.value, rise, f"{line[0][0]} to {line[-1][0]}", "%", claim.value - rise)


def _flat(claim: Claim, line: Line, unit: str) -> Verdict:
    """The highest exceeds the lowest by no more percent than the value."""
    (low_at, low), (high_at, high) = (pick(line, key=lambda each: each[1]) for pick in (min, max))
    spread = 100 * (high / low - 1) if low else float("inf") if high else 0.0
    return Verdict(spread <= claim.value, spread, f"{low_at} to {high_at}", "%", spread - claim.value)


def _levels_off(claim: Claim, line: Line, unit: str) -> Verdict:
    """The item is the first after which no step improves (lowers) the figure by more percent than the value.

    Of the first point of a sweep only the steps after it are asked, as the paper's sweep begins there, too. A line of
    which no step gains anything does not say where it levels off.
    """
    gains = [100 * (before / after - 1) for (_, before), (_, after) in pairwise(line)]
    place = [label for label, _ in line].index(claim.item)
    into, after = gains[place - 1] if place else float("inf"), max(gains[place:], default=0.0)
    is_into = claim.value - into >= after - claim.value
    found, at = (into, f"the step to {claim.item}") if is_into else (after, f"the largest step after {claim.item}")
    lack = max(claim.value - into, after - claim.value)
    last = max((number for number, gain in enumerate(gains, 1) if gain > claim.value), default=0)
    note = f"levels off at {line[last][0]}" if last else f"no step gains more than {claim.value:g} %"
    return Verdict(lack < 0, found, at, "%", lack, note, is_level=not last)


# Of a table's figures, what those do that agree, by tolerance.
AGREEING = {
    "sign": "have the paper's sign",
    "factor two": "are within a factor of two",
    "magnitude": "are within a factor of ten",
    "exact": "are equal",
}


def _cells(claim: Claim, grid: Grid) -> Verdict:
    """A table of the paper: how many figures agree as far as the claim's tolerance asks, and how many are within a
    factor of two.
    """
    cells = grid.cells()
    decided = [each for each in cells if not each[3].is_undecided]
    compared = [_compared(ours.mean, grid.claim, paper) for _, _, paper, ours in decided or cells]
    agreeing = sum(agrees for agrees, _ in compared)
    near = sum(note == "within a factor of two" for _, note in compared)
    texts = [f"{agreeing} of {len(compared)} {AGREEING[claim.tolerance]}"]
    if claim.tolerance != "factor two":
        texts.append(f"{near} {'is' if near == 1 else 'are'} within a factor of two")
    note = _join(*texts, _undecided(len(cells) - len(decided), not decided))
    holds = bool(decided) and agreeing == len(compared)
    plural = "" if agreeing == 1 else "s"
    return Verdict(holds, agreeing, "", f"figure{plural}", len(compared) - agreeing, note, not decided)


JUDGES: dict[str, Callable[[Claim, Line, str], Verdict]] = {
    "above": _bounded,
    "below": _bounded,
    "between": _bounded,
    "near": _near,
    "highest": _extreme,
    "lowest": _extreme,
    "rises": _monotone,
    "falls": _monotone,
    "jumps": _jumps,
    "flat": _flat,
    "levels_off": _levels_off,
}
