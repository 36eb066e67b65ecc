"""From a paper to its outcome: which runs it needs, what they measured, what the claims come to."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from .. import documents
from .._native import InputError
from ..figures import Figure
from ..figures.drawn import Drawn
from ..html_table import html_table
from ..settings import Path, known_name
from . import changes, drawings, page
from .cache import Cache
from .found import ORIGINALS, Found, Measured, Outcome, Trial, from_tree, tree
from .judgements import Key, judge
from .metrics import with_requests
from .originals import original_of, with_originals
from .papers import (
    AXES,
    ORIGINAL,
    Experiment,
    Explanation,
    Names,
    Overlay,
    Paper,
    changes_workload,
    find,
    needs_original,
    selection,
)
from .runner import Runner, Watch
from .runs import Cell, entire, missing_traces, reduced, run_of

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, repr=False)
class Reproduction(Found, Drawn):
    """A paper, what was measured for it, and what its claims come to.

    Of a part of a paper `paper` is that part. In a notebook it shows itself as a table of the claims.
    """

    @classmethod
    def of(
        cls, paper: Paper, measured: Measured, originals: Mapping[str, Mapping[str, Any]] | None = None
    ) -> "Reproduction":
        """Judges the claims, but for those on traces of a user's folder on which nothing was measured."""
        paper = measured_part(paper, measured)
        reasons = {claim: each for each in paper.explanations for claim in each.claims}
        is_workload = {each.name: each.is_of_workload for each in paper.variants}
        outcomes = []
        for claim in paper.claims:
            experiment, reason = paper.experiments[claim.experiment], reasons.get(claim.id)
            verdict = judge(claim, experiment, measured[claim.experiment, ""])
            variants = {
                each.name: judge(adapted, paper.under(each, claim.experiment), measured[claim.experiment, each.name])
                for each in paper.variants
                if (adapted := each.adapted(claim, experiment))
            }
            trials = []
            for name, change in changes_of(reason) if reason else ():
                if not isinstance(change, str):
                    under = judge(claim, experiment, measured[claim.experiment, name])
                    trials.append(Trial(change, under, changes_workload(change)))
                elif name in variants:  # else it was not asked for, or its traces are missing
                    trials.append(Trial(change, variants[name], is_workload[name]))
            outcomes.append(Outcome(claim, verdict, variants, reason, trials))
        return cls(paper, measured, outcomes, originals=originals or {}, name=paper.name)

    def figures(self) -> list[Figure]:
        """The figures of all experiments as the paper draws them, each with its numbers and those that the paper states
        (docs/reproduce.md). `plot` and `chart` draw them.
        """
        return drawings.of_paper(self)

    def to_frame(self) -> "polars.DataFrame":
        """One row for each claim, with the members of `claims` in `to_dict` but for the variants, and with what is
        asked of our figures.
        """
        import polars

        rows = [
            {key: value for key, value in claim.items() if key != "variants"} | {"asked": page.asked(each.claim)}
            for claim, each in zip(self.to_dict()["claims"], self.outcomes, strict=True)
        ]
        return polars.DataFrame(rows, infer_schema_length=None)

    def report(self, path: Path) -> None:
        """Writes claims and figures to one HTML file (docs/report.md). Raises InputError if that cannot be."""
        from .report import of_reproduction

        of_reproduction(self, path)

    def _repr_html_(self) -> str:
        caption = f"{self.paper.title}{' (quick figures)' if self.is_quick else ''}"
        rows = [page.claim_row(each) for each in self.outcomes]
        return html_table(caption, page.CLAIM_HEAD, rows, page.counted(self.outcomes))

    def __repr__(self) -> str:
        return f"<Reproduction: {self.name}, {len(self.outcomes)} claims>"

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
                "variants": {
                    name: {"outcome": each.word_of(verdict), "found": verdict.found, "note": verdict.note}
                    for name, verdict in each.variants.items()
                },
            }
            for each in self.outcomes
        ]
        head = {"schema": 2, "paper": self.paper.name, "quick": self.is_quick, "changed": self.changed}
        return head | {"claims": claims, "figures": tree(self.measured), "originals": dict(self.originals)}


def reproduction(
    name: str,
    *,
    change: Overlay | None,
    variants: Collection[str],
    traces: str | None,
    quick: bool,
    cache: bool,
    watch: Watch,
    whole: bool = False,
    paper_speed: bool = False,
    keeps_profiles: bool = False,
    most_requests: int | None = None,
    tell: Callable[[str], object] = lambda note: None,
) -> Reproduction:
    """`flashraid.reproduce` with checked arguments, watched run by run. `tell` gets notes as soon as they are known.

    With `keeps_profiles`, `traces` are for experiments and variants that name them, and take the place of no profile.
    With `most_requests`, of each trace no more is replayed: then everything runs, and no figure means anything.
    """
    if whole and quick:
        raise InputError("whole and quick contradict each other: give one of them")
    if paper_speed and traces is None:
        raise InputError("the paper's speed is that of its traces: give the folder of traces, too")
    paper = find(name)
    named = named_variants(paper, name, variants)
    asked = [each.name for each in paper.variants] if "all" in variants else named
    notes: list[str] = []
    originals: Mapping[str, Mapping[str, Any]] = {}
    if traces is not None:
        there_is = with_originals(paper, traces, at_paper_speed=paper_speed, keeps_profiles=keeps_profiles)
        paper, notes, originals = there_is.paper, list(there_is.notes), there_is.provenance()
    for note in notes:
        tell(note)
    there = [each.name for each in paper.variants]
    for each in named:
        if each not in there:
            raise InputError(f"variant {each}: it changes a profile that one of the traces replaces")
    paper = replace(paper, explanations=(), variants=()) if change else with_variants(paper, asked)
    paper, left_out = at_hand(paper, [name, *named])
    paper = paper.quick() if quick else paper
    kept = Cache() if cache and most_requests is None else None
    runner = Runner(watch, kept, most_requests)
    share = None if whole else paper.quick_share if quick else 1.0
    found = Reproduction.of(paper, measure(paper, runner, change, share), originals)
    if kept and kept.problem:
        notes.append(f"nothing was kept for another time: {kept.problem}")
        tell(notes[-1])
    return replace(
        found,
        notes=notes,
        asked=asked,
        left_out=left_out,
        name=name,
        is_quick=quick,
        changed=list(changes.texts(change or {})),
        traces=traces or "",
        is_whole=whole,
        is_at_paper_speed=paper_speed,
    )


def named_variants(paper: Paper, name: str, wanted: Collection[str]) -> list[str]:
    """The variants that were named one by one, of what `name` is; raises InputError if there is no such variant."""
    known = [each.name for each in paper.variants]
    if wanted and not known:
        raise InputError(f"{name} has no variants")
    return [known_name(f"variant of {name}", each, [*known, "all"]) for each in dict.fromkeys(wanted) if each != "all"]


def with_variants(paper: Paper, wanted: Collection[str]) -> Paper:
    """The paper with these variants and those of its explanations, so that no outcome depends on what is wanted."""
    cited = {each for reason in paper.explanations for each in reason.changes if isinstance(each, str)}
    return replace(paper, variants=[each for each in paper.variants if each.name in cited | set(wanted)])


def at_hand(paper: Paper, named: Collection[str]) -> tuple[Paper, list[str]]:
    """The paper without what lacks traces, and what that is; raises InputError if one of these was named."""
    paper, unfound = _without_unfound(paper, named)
    experiments, variants = lacking(paper)
    missing = [(f"{paper.name}.{each}", trace) for each, trace in experiments.items()]
    missing += [(f"variant {each}", trace) for each, trace in variants.items()]
    for what, trace in missing:
        if what.removeprefix("variant ") in named:
            hint = "put it there (samples/ comes with a checkout)"
            raise InputError(f"{what}: the trace {trace} is missing: {hint}, or leave {what} out")
    for each in experiments:
        paper = paper.without(each)
    paper = replace(paper, variants=[each for each in paper.variants if each.name not in variants])
    return paper, [*experiments, *(f"variant {each}" for each in variants), *unfound]


def _without_unfound(paper: Paper, named: Collection[str]) -> tuple[Paper, list[str]]:
    """The same for traces that only a user's folder has: of an experiment what lacks them, of variants all."""
    left_out = []
    for name, experiment in paper.experiments.items():
        unfound = [each for each, overlay in experiment.workloads.items() if needs_original(overlay)]
        if unfound:
            rest = [each for each in experiment.workloads if each not in unfound]
            if not rest and f"{paper.name}.{name}" in named:
                raise InputError(_needs(f"{paper.name}.{name}", paper, unfound))
            paper = paper.with_workloads(name, rest)
            which = ", ".join(dict.fromkeys(map(original_of, unfound)))
            left_out.append(f"{name} on {which}" if rest else name)
    for variant in paper.variants:
        unfound = [each for each in variant.workloads if needs_original(paper.workloads[each])]
        if unfound:
            if variant.name in named:
                raise InputError(_needs(f"variant {variant.name}", paper, unfound))
            left_out.append(f"variant {variant.name}")
    there = [each for each in paper.variants if f"variant {each.name}" not in left_out]
    return replace(paper, variants=there), [f"{each} (needs --traces DIR)" for each in left_out]


def _needs(what: str, paper: Paper, unfound: Sequence[str]) -> str:
    originals = [paper.originals[each] for each in dict.fromkeys(map(original_of, unfound))]
    which = "; ".join(f"{each.files[0]}, {each.source}" for each in originals)
    return f"{what}: it needs traces that are no part of flashraid, a folder with them as --traces DIR: {which}"


def measured_part(paper: Paper, measured: Measured) -> Paper:
    """The paper without the traces of a user's folder on which not all of its figures were measured."""
    known = [each.name for each in paper.variants]
    lacking: dict[str, dict[str, None]] = {}
    without = set()
    for (name, change), experiment, cell, _ in needs(paper, {}):
        if cell.workload.startswith(ORIGINAL) and not _is_measured(measured.get((name, change), {}), experiment, cell):
            if change in known:
                without.add(change)
            else:
                lacking.setdefault(name, {})[cell.workload] = None
    unmeasured = dict(paper.unmeasured)
    for name, workloads in lacking.items():
        unmeasured[name] = list(dict.fromkeys(map(original_of, workloads)))
        paper = paper.with_workloads(
            name, [each for each in paper.experiments[name].workloads if each not in workloads]
        )
    there = [each for each in paper.variants if each.name not in without]
    return replace(paper, variants=there, unmeasured=unmeasured)


def _is_measured(figures: Mapping[Key, Sequence[float]], experiment: Experiment, cell: Cell) -> bool:
    places = ((cell.configuration, cell.workload, cell.point, each) for each in with_requests(experiment.metrics))
    return all(len(figures.get(place, ())) == len(experiment.repeats) for place in places)


def lacking(paper: Paper) -> tuple[dict[str, str], dict[str, str]]:
    """The experiments and the variants of which traces are missing, each with the first of them."""
    experiments = {name: missing_traces(each.workloads.values()) for name, each in paper.experiments.items()}
    variants = {each.name: missing_traces(paper.workloads[name] for name in each.workloads) for each in paper.variants}
    first, second = ({name: missing[0] for name, missing in of.items() if missing} for of in (experiments, variants))
    return first, second


def measure(paper: Paper, runner: Runner, change: Overlay | None = None, share: float | None = 1.0) -> Measured:
    """Runs what the paper's claims need under a change, on so large a share of each trace, and measures it.

    A share of None stands for all of each trace, whatever the settings limit it to.
    """
    wanted = []
    for where, experiment, cell, laid in needs(paper, change or {}):
        run = run_of(paper, experiment, cell, laid)
        part = entire(run) if share is None else reduced(run, share)
        wanted.append((where, cell, part, with_requests(experiment.metrics)))
    runner.measure((run, metrics) for _, _, run, metrics in wanted)
    measured: Measured = {}
    for where, cell, run, metrics in wanted:
        for metric, figure in runner.figures(run, metrics).items():
            key = cell.configuration, cell.workload, cell.point, metric
            measured.setdefault(where, {}).setdefault(key, []).append(figure)
    return measured


def needs(paper: Paper, change: Overlay) -> Iterator[tuple[tuple[str, str], Experiment, Cell, Overlay]]:
    """Every cell to be measured, and the change under which: of all experiments, of variants, of explained claims."""
    for experiment in paper.experiments.values():
        for cell in _cells(experiment, list(experiment.configurations), (), ()):
            yield (experiment.name, ""), experiment, cell, change
    for variant in paper.variants:
        for name in variant.experiments:
            experiment = paper.under(variant, name)
            for cell in _cells(experiment, list(experiment.configurations), (), ()):
                yield (name, variant.name), experiment, cell, variant.change
    claims = {claim.id: claim for claim in paper.claims}
    for reason in paper.explanations:
        for name, changed in changes_of(reason):
            if isinstance(changed, str):
                continue
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


def changes_of(reason: Explanation) -> list[tuple[str, Overlay | str]]:
    """The changes of an explanation, each with its name; that of a variant is its own."""
    return [
        (change if isinstance(change, str) else f"{reason.name} {number}", change)
        for number, change in enumerate(reason.changes, 1)
    ]


def _cells(experiment: Experiment, configurations: Sequence[str], workloads: Names, points: Names) -> list[Cell]:
    flat = [
        [label for each in names or experiment.axis(axis) for label in ([each] if isinstance(each, str) else each)]
        for names, axis in ((configurations, AXES[0]), (workloads, AXES[1]), (points, AXES[2]))
    ]
    places = dict.fromkeys(product(*flat))
    return [Cell(a, b, c, repeat) for a, b, c in places for repeat in experiment.repeats]


def recorded(text: str) -> Measured:
    """The figures of a file that `--write` made."""
    return from_tree(json.loads(text))


def of_record(paper: Paper, text: str) -> Reproduction:
    """What a paper's claims come to by the figures of such a file."""
    return Reproduction.of(paper, recorded(text), json.loads(text).get(ORIGINALS, {}))


def with_record(found: Reproduction, text: str) -> Reproduction:
    """A reproduction of all variants, with what an older file has measured on traces that this one did not have."""
    older = {name: each for name, each in json.loads(text).get(ORIGINALS, {}).items() if name not in found.originals}
    measured = {where: dict(figures) for where, figures in found.measured.items()}
    for where, figures in recorded(text).items():
        for key, values in figures.items():
            if key[1].removeprefix(ORIGINAL) in older and key[1].startswith(ORIGINAL):
                measured.setdefault(where, {})[key] = values
    again = Reproduction.of(find(found.name), measured, {**older, **found.originals})
    ordered: Measured = {}  # as if all had been measured at once
    for where, experiment, cell, _ in needs(again.paper, {}):
        for metric in with_requests(experiment.metrics):
            key = cell.configuration, cell.workload, cell.point, metric
            ordered.setdefault(where, {})[key] = measured[where][key]
    return replace(found, paper=again.paper, outcomes=again.outcomes, measured=ordered, originals=again.originals)


def from_file(name: str, path: str) -> Reproduction:
    """The claims of `PAPER` or `PAPER.EXPERIMENT`, with all variants, by the figures of a file that `--write` made.

    Raises InputError if the file is none, or lacks a figure.
    """
    found = documents.read_json(path)
    try:
        measured = from_tree(found)
        originals = dict(found.get(ORIGINALS, {}))
    except (ValueError, AttributeError):
        raise InputError(f"{path}: not the figures of a paper, as --write leaves them beside its page") from None
    paper = measured_part(find(name), measured)
    for where, experiment, cell, _ in needs(paper, {}):
        for metric in with_requests(experiment.metrics):
            place = cell.configuration, cell.workload, cell.point, metric
            if len(measured.get(where, {}).get(place, ())) != len(experiment.repeats):
                lacking = ", ".join(filter(None, (*where, *place)))
                raise InputError(f"{path}: it lacks the figures of {paper.name}: {lacking}; they must be measured")
    wanted = {where for where, _, _, _ in needs(paper, {})}
    own = {where: figures for where, figures in measured.items() if where in wanted}
    asked = [each.name for each in paper.variants]
    return replace(Reproduction.of(paper, own, originals), asked=asked, name=name)
