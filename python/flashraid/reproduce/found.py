"""What was found for a paper: what was measured, and what each claim comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .judgements import Key, Verdict, is_moved
from .papers import Claim, Explanation, Overlay, Paper

# Figures by experiment and change, of each repeat: "" is no change, else a variant's name, or an explanation's and the
# number of its change.
Measured = dict[tuple[str, str], dict[Key, list[float]]]
# What stands beside the experiments in the file of their figures.
ORIGINALS = "originals"


@dataclass(frozen=True)
class Trial:
    """A claim under one change of its explanation."""

    change: Overlay | str
    verdict: Verdict
    is_of_workload: bool


@dataclass(frozen=True)
class Outcome:
    """What a claim comes to, also under variants; if it fails and has an explanation, what the changes make of it."""

    claim: Claim
    verdict: Verdict
    variants: Mapping[str, Verdict]
    explanation: Explanation | None
    trials: Sequence[Trial]

    @property
    def word(self) -> str:
        """The outcome in a word or two."""
        return self.word_of(self.verdict)

    def word_of(self, verdict: Verdict) -> str:
        """The outcome that a verdict stands for."""
        if verdict.is_undecided or verdict.is_level:
            return "undecided"
        if self.claim.kind == "fitted":
            return "as fitted" if verdict.holds else "not as fitted"
        if self.claim.is_judged:
            return "holds" if verdict.holds else "fails"
        if not verdict.holds:
            return "value differs"
        return "signs agree" if self.claim.tolerance == "sign" else "value agrees"

    @property
    def is_explained(self) -> bool:
        """Whether a change moves the figure at least half way; a changed workload must make the claim hold."""
        return any(
            trial.verdict.holds or (is_moved(self.verdict, trial.verdict) and not trial.is_of_workload)
            for trial in self.trials
            if not trial.verdict.is_undecided
        )


@dataclass(frozen=True, repr=False)
class Found:
    """A paper, what was measured for it, and what its claims come to: what pages, figures and reports are made of.

    Of a part of a paper `paper` is that part.
    """

    paper: Paper
    measured: Measured
    outcomes: Sequence[Outcome]
    notes: Sequence[str] = ()  # which traces of the paper were replayed, and in what they differ from its tables
    asked: Sequence[str] = ()  # variants that were asked for; others were tried for explanations
    left_out: Sequence[str] = ()  # experiments and variants whose traces are missing
    # Traces of a user's folder, by the name of the original: file, SHA-256, speed, version of flashraid, figures.
    originals: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = ""  # PAPER or PAPER.EXPERIMENT
    is_quick: bool = False  # a part of each trace was replayed
    changed: Sequence[str] = ()  # settings of every run that were changed, as KEY=VALUE
    traces: str = ""  # the folder of the paper's own traces
    is_whole: bool = False  # settings that limit the requests of a trace did not count
    is_at_paper_speed: bool = False  # the paper's traces were as fast as in its tables


def tree(measured: Measured) -> dict[str, Any]:
    """The figures as nested objects: experiment (and change), configuration, workload, point, metric."""
    found: dict[str, Any] = {}
    for (experiment, change), figures in measured.items():
        top = found.setdefault(f"{experiment}, {change}" if change else experiment, {})
        for (configuration, workload, point, metric), values in figures.items():
            figure = values[0] if len(values) == 1 else values
            top.setdefault(configuration, {}).setdefault(workload, {}).setdefault(point, {})[metric] = figure
    return found


def from_tree(found: Mapping[str, Any]) -> Measured:
    """The figures that `tree` made objects of."""
    return {
        (name.partition(", ")[0], name.partition(", ")[2]): {
            (configuration, workload, point, metric): figure if isinstance(figure, list) else [figure]
            for configuration, of_workload in top.items()
            for workload, of_point in of_workload.items()
            for point, of_metric in of_point.items()
            for metric, figure in of_metric.items()
        }
        for name, top in found.items()
        if name != ORIGINALS
    }
