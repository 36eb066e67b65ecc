"""The figures of an experiment, as its paper draws them: our numbers, and as marks those that the paper states.

What stands where is said by `[[experiment.figure]]` in the paper's experiments.toml; what it leaves open is chosen
here. Numbers of the paper are those of its claims.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any

from .._native import InputError
from ..figures import Axis, Figure
from .found import Found
from .judgements import Figures, Grid, related
from .metrics import METRICS
from .papers import AXES, Claim, Drawing, Experiment, Names, selection

if TYPE_CHECKING:
    from ..figures.model import Mark

# What one name along an axis is called.
COLUMNS = dict(zip(AXES, ("configuration", "workload", "point", "metric"), strict=True))
# What a figure over all names of the x axis is called, by how a claim makes it.
SUMMARIES = {"mean": "mean", "max": "most", "min": "least"}
VALUE = "value"
DECIMALS = 4
Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """A drawing with everything decided."""

    drawing: Drawing
    experiment: Experiment
    labels: Mapping[str, Sequence[str]]  # what is shown of each axis of the experiment
    x: str
    series: str
    facet: str
    over: Sequence[str]  # axes of which a figure is the mean
    mark: "Mark"

    @property
    def shown(self) -> list[str]:
        """The axes that are seen."""
        return [axis for axis in (self.facet, self.series, self.x) if axis]

    def called(self, name: str) -> str:
        """What the figure calls a name."""
        return self.drawing.labels.get(name, name)

    @property
    def unit(self) -> str:
        """The unit of the figures."""
        return "%" if self.drawing.against else METRICS[self.labels["metrics"][0]].unit

    @property
    def quantity(self) -> str:
        """What the figures are, without the unit."""
        metrics, title = self.labels["metrics"], self.drawing.y_title
        if title and not title.startswith("%"):
            return title.partition(" (")[0]
        return METRICS[metrics[0]].about if len(metrics) == 1 else " and ".join(map(self.called, metrics))


def plans(experiment: Experiment) -> list[Plan]:
    """What the figures of an experiment show; raises InputError if an axis has no place."""
    return [_plan(each, experiment) for each in experiment.figure or (Drawing(),)]


def _plan(drawing: Drawing, experiment: Experiment) -> Plan:
    given = drawing.metric or experiment.metrics[0]
    labels = {
        "configurations": list(drawing.of) or [each for each in experiment.configurations if each != drawing.against],
        "workloads": list(drawing.workloads or experiment.workloads),
        "points": list(drawing.points or experiment.points),
        "metrics": [given] if isinstance(given, str) else list(given),
    }
    several = [axis for axis in AXES if len(labels[axis]) > 1]
    free = [axis for axis in several if axis not in (drawing.x, drawing.series, drawing.facet, drawing.mean_over)]

    def choose(given: str, *wanted: str) -> str:
        found = given or next((axis for axis in wanted if axis in free), "")
        if found in free:
            free.remove(found)
        return found

    x = choose(drawing.x, "points", "workloads", "configurations") or "workloads"
    series = choose(drawing.series, "metrics", "configurations")
    facet = choose(drawing.facet, "configurations", "workloads", "points")
    if free:
        raise InputError(f"figure {drawing.name} of {experiment.name}: {free[0]} have no place in it")
    mark: Any = drawing.mark or ("line" if x == "points" else "bars")
    over = [axis for axis in several if axis == drawing.mean_over]
    return Plan(drawing, experiment, labels, x, series, facet, over, mark)


def name_of(found: Found, plan: Plan) -> str:
    """The name of the figure's files."""
    return "-".join(filter(None, (found.paper.name, plan.experiment.name, plan.drawing.name)))


def rows(found: Found, plan: Plan) -> tuple[list[Row], list[Row]]:
    """Ours, and what the paper states: a row for each mark."""
    stated = list(_stated(found, plan))
    known = found.measured[plan.experiment.name, ""]
    names = {axis: [(plan.called(each), [each]) for each in plan.labels[axis]] for axis in plan.shown}
    groups = dict.fromkeys(claim.group for claim, row in stated if row[COLUMNS[plan.x]] == SUMMARIES[claim.group])
    ours = list(_ours(plan, known, names, "mean"))
    for group in groups:
        ours += _ours(plan, known, names | {plan.x: [(SUMMARIES[group], plan.labels[plan.x])]}, group)
    return ours, [row for _, row in stated]


def _ours(
    plan: Plan, known: Figures, names: Mapping[str, Sequence[tuple[str, Sequence[str]]]], group: str
) -> Iterator[Row]:
    for place in product(*names.values()):
        labels = dict(plan.labels) | {axis: own for axis, (_, own) in zip(names, place, strict=True)}
        value = Grid(_claim(plan, labels, group), plan.experiment, known).only().mean
        if isfinite(value):
            yield {COLUMNS[axis]: called for axis, (called, _) in zip(names, place, strict=True)} | {VALUE: value}


def _claim(plan: Plan, labels: Mapping[str, Sequence[str]], group: str) -> Claim:
    """One figure as claims name it: a list of names on each axis."""
    of, workloads, points, metrics = ([list(labels[axis])] for axis in AXES)
    return Claim(
        "",
        "",
        "",
        "value",
        plan.experiment.name,
        metrics,  # type: ignore[arg-type]  # a list among the names stands for one figure
        of,  # type: ignore[arg-type]
        "near",
        against=plan.drawing.against,
        relation=plan.drawing.relation,
        workloads=workloads,
        points=points,
        group=group,
    )


def _stated(found: Found, plan: Plan) -> Iterator[tuple[Claim, Row]]:
    """The numbers that claims state of what the figure shows, each with its place."""
    drawing = plan.drawing
    if plan.mark == "stack":  # a mark among parts that lie upon each other has no height of its own
        return
    for claim in (each for each in found.paper.claims if each.experiment == plan.experiment.name):
        if claim.judge not in ("near", "cells") or claim.against != drawing.against:
            continue
        for place, value in _values(plan, claim):
            row = _placed(plan, claim, place)
            if row is not None:
                if drawing.against:
                    # A reduction is its own inverse in each relation.
                    value = related(related(value, claim.relation), drawing.relation)
                yield claim, row | {VALUE: value}


def _values(plan: Plan, claim: Claim) -> Iterator[tuple[dict[str, Sequence[str]], float]]:
    """The numbers of a claim, each with its names on the axes."""
    of, workloads, points, metrics = selection(claim)
    if claim.judge == "near":
        axes = zip(AXES, (of, workloads, points, metrics), strict=True)
        for place in product(*(_listed(plan, axis, names) for axis, names in axes)):
            yield dict(zip(AXES, place, strict=True)), float(claim.value)
    else:
        for workload, row in claim.value.items():
            for point, value in row.items():
                names: list[Sequence[str]] = [[str(of[0])], [workload], [point], [str(metrics[0])]]
                yield dict(zip(AXES, names, strict=True)), float(value)


def _listed(plan: Plan, axis: str, names: Names) -> list[tuple[str, ...]]:
    """The names of a claim along an axis, those of one figure together. What holds for each also does for the mean."""
    if not names:
        every = plan.experiment.axis(axis)
        return [tuple(every)] if axis in plan.over else [(each,) for each in every]
    return [(each,) if isinstance(each, str) else tuple(each) for each in names]


def _placed(plan: Plan, claim: Claim, place: Mapping[str, Sequence[str]]) -> Row | None:
    """Where a number of a claim is in the figure; None if it is of something else."""
    row: Row = {}
    for axis, names in place.items():
        shown = plan.labels[axis]
        is_all = len(names) > 1 and sorted(names) == sorted(shown)
        if len(names) == 1 and names[0] in shown and (axis in plan.shown or len(shown) == 1):
            called = plan.called(names[0])
        elif is_all and axis == plan.x and plan.mark == "bars":
            called = SUMMARIES[claim.group]
        elif is_all and axis in plan.over and (claim.group == "mean" or len(place[plan.x]) > 1):
            called = ""
        else:
            return None
        if axis in plan.shown:
            row[COLUMNS[axis]] = called
    return row


def about(plan: Plan, ours: Sequence[Row], stated: Sequence[Row]) -> str:
    """What the figure shows, in words, with the range of each series: also the text for who cannot see it."""
    drawing, experiment = plan.drawing, plan.experiment
    of = f", in percent {_less(drawing)}" if drawing.against else f" ({plan.unit})" * bool(plan.unit)
    parts = [f"{plan.quantity[:1].upper()}{plan.quantity[1:]}{of} by {drawing.x_title or COLUMNS[plan.x]}"]
    if plan.facet:
        parts.append(f"a panel for each of {', '.join(map(plan.called, plan.labels[plan.facet]))}")
    means = [f"of {len(plan.labels[axis])} {axis}" for axis in plan.over]
    means += [f"of {len(experiment.repeats)} repeats"] * (len(experiment.repeats) > 1)
    text = ", ".join([*parts, *(f"means {each}" for each in means)]) + ". "
    ranges: dict[str, list[float]] = {}
    for row in ours:
        ranges.setdefault(row[COLUMNS[plan.series]] if plan.series else "ours", []).append(row[VALUE])
    text += "; ".join(f"{name}: {_number(min(of))} to {_number(max(of))}" for name, of in ranges.items()) + "."
    return text + (" Diamonds: what the paper states." if stated else "")


def _less(drawing: Drawing) -> str:
    return {"reduction": "less than", "increase": "more than", "ratio": "of"}[drawing.relation] + f" {drawing.against}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def figure(found: Found, plan: Plan) -> Figure:
    """The figure with its numbers."""
    import polars

    drawing = plan.drawing
    ours, stated = rows(found, plan)
    columns = [*(COLUMNS[axis] for axis in plan.shown), VALUE]
    own, of_paper = (polars.DataFrame(each, {name: _type(name) for name in columns}) for each in (ours, stated))
    unit = f" ({plan.unit})" if plan.unit else ""
    y_title = drawing.y_title or (f"% {_less(drawing)}" if drawing.against else f"{plan.quantity}{unit}")
    title = f"{drawing.where or plan.experiment.where}: {drawing.title or plan.experiment.title}"
    return Figure(
        name=name_of(found, plan),
        title=f"{title} (quick figures)" if found.is_quick else title,
        about=about(plan, ours, stated),
        mark=plan.mark,
        frame=own,
        x=Axis(COLUMNS[plan.x], drawing.x_title or COLUMNS[plan.x], "category"),
        y=Axis(VALUE, y_title, "log" if drawing.scale == "log" else "linear"),
        series=COLUMNS[plan.series] if plan.series else "",
        facet=COLUMNS[plan.facet] if plan.facet else "",
        stated=of_paper if stated else None,
    )


def _type(column: str) -> Any:
    import polars

    return polars.Float64 if column == VALUE else polars.String


def of_experiment(found: Found, experiment: Experiment) -> list[Figure]:
    """The figures of an experiment."""
    return [figure(found, plan) for plan in plans(experiment)]


def of_paper(found: Found) -> list[Figure]:
    """The figures of all experiments of a paper."""
    return [each for experiment in found.paper.experiments.values() for each in of_experiment(found, experiment)]


def numbers(drawn: Figure) -> str:
    """What a figure shows as CSV: a line for each mark."""
    return str(drawn.table().write_csv(float_precision=DECIMALS))


def svg(drawn: Figure) -> str:
    """The figure as SVG, with its title and its numbers inside for who cannot see it, and for tests."""
    from ..figures import printed

    file = io.StringIO()
    printed.figure(drawn).savefig(file, format="svg", metadata={"Date": None})
    head, opening, rest = file.getvalue().partition("<svg ")
    attributes, end, rest = rest.partition(">")
    words = f"\n <title>{escape(drawn.title)}</title>\n <desc>{escape(numbers(drawn))}</desc>"
    return f'{head}{opening}role="img" {attributes}{end}{words}{rest}'
