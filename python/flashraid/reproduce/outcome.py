"""From a paper to its outcome: which runs it needs, what they measured, what the claims come to."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._native import InputError
from .judgements import Key, Verdict, judge
from .papers import AXES, Claim, Experiment, Explanation, Names, Overlay, Paper, find, selection
from .runs import Cell, Runner, Watch, missing_traces, run_of

# Figures by experiment and change: "" is none, else the explanation's name and the number of its change.
Measured = dict[tuple[str, str], dict[Key, float]]


@dataclass(frozen=True)
class Trial:
    """A claim under one change of its explanation."""

    change: Overlay
    verdict: Verdict


@dataclass(frozen=True)
class Outcome:
    """What a claim comes to; if it fails and has an explanation, what the changes make of it."""

    claim: Claim
    verdict: Verdict
    explanation: Explanation | None
    trials: Sequence[Trial]

    @property
    def word(self) -> str:
        """The outcome in a word or two."""
        if self.claim.is_judged:
            return "holds" if self.verdict.holds else "fails"
        if not self.verdict.holds:
            return "value differs"
        return "signs agree" if self.claim.tolerance == "sign" else "value agrees"

    @property
    def is_explained(self) -> bool:
        """Whether a change moves the figure at least half way; a changed workload must make the claim hold."""
        if self.explanation is None:
            return False
        enough = 0.0 if self.explanation.is_of_workload else self.verdict.lack / 2
        return any(trial.verdict.holds or trial.verdict.lack < enough for trial in self.trials)


@dataclass(frozen=True)
class Reproduction:
    """A paper, what was measured for it, and what its claims come to."""

    paper: Paper
    measured: Measured
    outcomes: Sequence[Outcome]

    @classmethod
    def of(cls, paper: Paper, measured: Measured) -> "Reproduction":
        """Judges the claims."""
        reasons = {claim: each for each in paper.explanations for claim in each.claims}
        outcomes = []
        for claim in paper.claims:
            experiment = paper.experiments[claim.experiment]
            verdict, reason = judge(claim, experiment, measured[claim.experiment, ""]), reasons.get(claim.id)
            trials = [
                Trial(change, judge(claim, experiment, measured[claim.experiment, name]))
                for name, change in (changes_of(reason) if reason else ())
            ]
            outcomes.append(Outcome(claim, verdict, reason, trials))
        return cls(paper, measured, outcomes)

    def to_dict(self) -> dict[str, Any]:
        """What there is, as JSON can hold it."""
        claims = [
            {
                "id": f"{self.paper.name}.{each.claim.id}",
                "kind": each.claim.kind,
                "where": each.claim.where,
                "statement": each.claim.statement,
                "outcome": each.word,
                "found": each.verdict.found,
                "unit": each.verdict.unit,
                "at": each.verdict.at,
                "lack": each.verdict.lack,
                "note": each.verdict.note,
                "explained": each.is_explained,
            }
            for each in self.outcomes
        ]
        return {"schema": 1, "paper": self.paper.name, "claims": claims, "figures": tree(self.measured)}


def reproduce(
    name: str,
    *,
    change: Overlay | None = None,
    watch: Watch = lambda done, count: True,
    most_requests: int | None = None,
) -> Reproduction:
    """Runs the experiments of `PAPER` or `PAPER.EXPERIMENT` and judges the claims.

    An experiment whose traces are not there is left out, unless it is the one asked for. `change` is laid over the
    settings of every run, and no explanation is tried then. `watch` is told how many runs are done and how many there
    are; if it returns False, KeyboardInterrupt is raised. With `most_requests`, of each trace no more is replayed: then
    everything runs, and no figure means anything.
    """
    paper = find(name)
    for experiment in paper.experiments.values():
        if missing := missing_traces(experiment):
            if "." in name:
                raise InputError(f"{name}: the trace {missing[0]} is not there; it comes with a checkout")
            paper = paper.without(experiment.name)
    return Reproduction.of(*measure(paper, change, watch, most_requests))


def measure(
    paper: Paper,
    change: Overlay | None = None,
    watch: Watch = lambda done, count: True,
    most_requests: int | None = None,
) -> tuple[Paper, Measured]:
    """Runs what the paper's claims need: the paper (without explanations under a change) and its figures."""
    if change:
        paper = replace(paper, explanations=())
    runner = Runner(watch, most_requests)
    wanted = [
        (where, cell, run_of(paper, experiment, cell, laid))
        for where, experiment, cell, laid in needs(paper, change or {})
    ]
    runner.measure((run, paper.experiments[name].metrics) for (name, _), _, run in wanted)
    measured: Measured = {}
    for where, cell, run in wanted:
        for metric, figure in runner.figures(run, paper.experiments[where[0]].metrics).items():
            measured.setdefault(where, {})[cell.configuration, cell.workload, cell.point, metric] = figure
    return paper, measured


def needs(paper: Paper, change: Overlay) -> Iterator[tuple[tuple[str, str], Experiment, Cell, Overlay]]:
    """Every cell to be measured, and the change under which: all of the experiments, and those of explained claims."""
    for experiment in paper.experiments.values():
        for cell in _cells(experiment, list(experiment.configurations), (), ()):
            yield (experiment.name, ""), experiment, cell, change
    claims = {claim.id: claim for claim in paper.claims}
    for reason in paper.explanations:
        for name, changed in changes_of(reason):
            found: dict[tuple[str, Cell], None] = {}
            for claim in (claims[each] for each in reason.claims if each in claims):
                of, workloads, points, _ = selection(claim)
                experiment = paper.experiments[claim.experiment]
                configurations = [str(each) for each in of] + [claim.against] * bool(claim.against)
                found |= dict.fromkeys(
                    (experiment.name, cell) for cell in _cells(experiment, configurations, workloads, points)
                )
            for experiment_name, cell in found:
                yield (experiment_name, name), paper.experiments[experiment_name], cell, changed


def changes_of(reason: Explanation) -> list[tuple[str, Overlay]]:
    """The changes of an explanation, each with its name."""
    return [(f"{reason.name} {number}", change) for number, change in enumerate(reason.changes, 1)]


def _cells(experiment: Experiment, configurations: Sequence[str], workloads: Names, points: Names) -> list[Cell]:
    flat = [
        [label for each in names or experiment.axis(axis) for label in ([each] if isinstance(each, str) else each)]
        for names, axis in ((configurations, AXES[0]), (workloads, AXES[1]), (points, AXES[2]))
    ]
    return [Cell(*each) for each in dict.fromkeys((a, b, c) for a in flat[0] for b in flat[1] for c in flat[2])]


def tree(measured: Measured) -> dict[str, Any]:
    """The figures as nested objects: experiment (and change), configuration, workload, point, metric."""
    found: dict[str, Any] = {}
    for (experiment, change), figures in measured.items():
        top = found.setdefault(f"{experiment}, {change}" if change else experiment, {})
        for (configuration, workload, point, metric), figure in figures.items():
            top.setdefault(configuration, {}).setdefault(workload, {}).setdefault(point, {})[metric] = figure
    return found


def from_tree(found: Mapping[str, Any]) -> Measured:
    """The figures that `tree` made objects of."""
    return {
        (name.partition(", ")[0], name.partition(", ")[2]): {
            (configuration, workload, point, metric): figure
            for configuration, of_workload in top.items()
            for workload, of_point in of_workload.items()
            for point, of_metric in of_point.items()
            for metric, figure in of_metric.items()
        }
        for name, top in found.items()
    }


def recorded(text: str) -> Measured:
    """The figures of a file that `--write` made."""
    return from_tree(json.loads(text))
