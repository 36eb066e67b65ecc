"""Figures of sweeps: each main figure over an axis, with a line for each combination of the others; and of advice."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..advising.choice import Ranked
from ..advising.objectives import Objective
from ..sweeping.view import FIGURES, Line, axes_of
from ..sweeping.view import Figure as Measured
from .model import Axis, Figure
from .of_results import MOST_SERIES

# Values of an axis from which on it is drawn as lines.
FEWEST_OF_LINE = 3


def of_sweep(all_axes: Sequence[str], lines: Sequence[Line]) -> list[Figure]:
    """The figures of a sweep over these axes; none of one without axes, or without results."""
    axes = axes_of(all_axes)
    if not axes:
        return []
    at = _best_axis(axes, lines)
    return [
        figure
        for number, measured in enumerate(FIGURES)
        if (figure := _over(axes, at, lines, number, measured)) is not None
    ]


def _best_axis(axes: Sequence[str], lines: Sequence[Line]) -> int:
    """The axis along which to draw: the numbers with the most values, else the last axis; one that all points have."""

    def values(at: int) -> int:
        found = {line.values[at] for line in lines}
        return len(found) if all(isinstance(value, int | float) for value in found) else 0

    common = [at for at in range(len(axes)) if all(line.values[at] is not None for line in lines)] or range(len(axes))
    best = max(common, key=values)
    return best if values(best) >= FEWEST_OF_LINE else common[-1]


def _over(axes: Sequence[str], at: int, lines: Sequence[Line], number: int, measured: Measured) -> Figure | None:
    import polars

    name = measured.name
    unit, one = measured.kind.unit([mean for line in lines if (mean := line.means[number]) is not None])
    rows = []
    for line in lines:
        mean = line.means[number]
        if mean is None or line.values[at] is None:
            continue
        others = [str(value) for place, value in enumerate(line.values) if place != at and value is not None]
        series = ", ".join(others) or "all"
        rows.append({axes[at]: line.values[at], "series": series, "value": mean / one})
    if len({row["value"] for row in rows}) < 2:
        return None
    is_line = all(isinstance(row[axes[at]], int | float) for row in rows)
    has_panels = len({row["series"] for row in rows}) > MOST_SERIES
    if not is_line:
        rows = [{**row, axes[at]: str(row[axes[at]])} for row in rows]
    else:
        rows.sort(key=lambda row: row[axes[at]])
    others_named = " and ".join(axis for place, axis in enumerate(axes) if place != at)
    about = f"{name} over {axes[at]}" + (f", for each {others_named}" if others_named else "")
    return Figure(
        name.replace(" ", "-"),
        f"{name[:1].upper()}{name[1:]}",
        f"{about}. With several seeds it is their mean.",
        "line" if is_line else "bars",
        polars.DataFrame(rows),
        Axis(axes[at], axes[at], "linear" if is_line else "category"),
        Axis("value", f"{name} ({unit})" if unit else name),
        series="" if has_panels else "series",
        facet="series" if has_panels else "",
    )


def of_advice(members: Sequence[Ranked], objectives: Sequence[Objective]) -> list[Figure]:
    """The figures of an answer: the distances of the front from the best, and the front in pairs of figures."""
    return [figure for figure in (_distances(members), *_pairs(members, objectives)) if figure is not None]


MOST_DRAWN = 12  # members of the front


def _distances(members: Sequence[Ranked]) -> Figure | None:
    import polars

    rows = [
        {"candidate": each.tried.candidate.name, "subject": subject, "doublings": regret}
        for each in members[:MOST_DRAWN]
        for subject, regret in each.regrets.items()
    ]
    if not any(row["doublings"] for row in rows):
        return None
    return Figure(
        "distances",
        "Distance from the best of the front",
        "For each member of the front, the best first, how many doublings its figures are from the best ones, by "
        "subject. Shorter is better.",
        "stack",
        polars.DataFrame(rows),
        Axis("candidate", "candidate", "category"),
        Axis("doublings", "doublings from the best"),
        series="subject",
    )


# Figures that are drawn over each other.
PAIRS = (
    ("write_amplification", "read_tail"),
    ("capacity", "write_tail"),
    ("nvram", "throughput"),
    ("rebuild", "rebuild_tail"),
)


def _pairs(members: Sequence[Ranked], objectives: Sequence[Objective]) -> Iterator[Figure | None]:
    import polars

    of = {objective.name: objective for objective in objectives}
    for names in PAIRS:
        pair = [of[name] for name in names if name in of]
        rows: list[dict[str, Any]] = []
        for each in members:
            values = [each.tried.values[objective.name].mean for objective in pair]
            if len(values) == 2 and None not in values:
                rows.append({"scheme": each.tried.candidate.scheme, **dict(zip(names, values, strict=True))})
        if len(rows) < 2:
            continue
        x, y = (_scaled(objective, rows) for objective in pair)
        one, other = pair
        yield Figure(
            f"front-{one.name}-{other.name}".replace("_", "-"),
            f"The front: {other.title} over {one.title}",
            f"Each point is a member of the Pareto front. Better are {_better(one)} {one.title} and {_better(other)} "
            f"{other.title}.",
            "points",
            polars.DataFrame(rows),
            x,
            y,
            series="scheme",
        )


def _scaled(objective: Objective, rows: list[dict[str, Any]]) -> Axis:
    """The axis of a figure, in the unit that suits the values, to which they are brought."""
    unit, one = objective.kind.unit([row[objective.name] for row in rows])
    for row in rows:
        row[objective.name] /= one
    return Axis(objective.name, f"{objective.title} ({unit})" if unit else objective.title)


def _better(objective: Objective) -> str:
    return "higher" if objective.is_high_better else "lower"
