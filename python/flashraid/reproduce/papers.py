"""The papers as data: what is run, what is claimed, why a claim fails. Read strictly, so that a typing error shows."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from .. import documents
from .._native import InputError
from ..settings import known_name
from . import things
from .metrics import METRICS

FOLDER = Path(__file__).parent / "papers"
FILES = ("experiments", "claims", "explanations")
JUDGED = ("exact", "ordering", "trend", "range")
# Of a value the trace is lost: it is listed, and its sign compared. What a profile was fitted to have confirms nothing.
KINDS = (*JUDGED, "value", "fitted")
JUDGES = (
    "above",
    "below",
    "between",
    "highest",
    "lowest",
    "rises",
    "falls",
    "jumps",
    "flat",
    "levels_off",
    "near",
    "cells",
)
RELATIONS = ("reduction", "increase", "ratio")
MARKS = ("bars", "stack", "line", "points")
AXES = ("configurations", "workloads", "points", "metrics")

# What a workload is called that only the folder of `--traces` has, and its trace until that is found there.
ORIGINAL = "original:"

# Settings laid over others: keys of docs/configuration.md, `device`, `scheme` and `trace`; `profile`, which changes the
# profile that is the trace; and tables named after a configuration, workload or point, which are for its runs alone.
Overlay = Mapping[str, Any]
# Names of one axis; a list among them stands for one figure, made of those named.
Names = Sequence[str | Sequence[str]]
Record = TypeVar("Record")


@dataclass(frozen=True)
class Drawing:
    """What a figure of an experiment shows: which axis of the experiment is where, and which names along each.

    What is not given is chosen by drawings.py. An axis with several names is x, the series, the panels (`facet`), or
    one that the figures are means over.
    """

    name: str = ""  # tells several of an experiment apart
    where: str = ""  # as of the experiment, as is the title
    title: str = ""
    metric: str | Sequence[str] = ""  # the experiment's first
    of: Sequence[str] = ()  # configurations
    against: str = ""  # as of a claim
    relation: str = "reduction"
    workloads: Sequence[str] = ()
    points: Sequence[str] = ()
    mark: str = ""
    x: str = ""
    series: str = ""
    facet: str = ""
    mean_over: str = ""
    x_title: str = ""
    y_title: str = ""
    scale: str = "linear"  # of y
    labels: Mapping[str, str] = field(default_factory=dict)  # what the figure calls a metric


@dataclass(frozen=True)
class Experiment:
    """Every configuration under every workload at every point, and what is measured of each run.

    With `repeats`, each is run once for every one of them, and a figure is the mean of what these runs measure.
    """

    name: str
    where: str
    title: str
    configurations: Mapping[str, Overlay]
    workloads: Mapping[str, Overlay]
    points: Mapping[str, Overlay]
    metrics: Sequence[str]
    about: str = ""
    repeats: Mapping[str, Overlay] = field(default_factory=lambda: {"": {}})
    is_quick: bool = False  # cheap enough for `make test`
    figure: Sequence[Drawing] = ()

    def axis(self, name: str) -> list[str]:
        """The names along an axis."""
        return list(getattr(self, name))


@dataclass(frozen=True)
class Claim:
    """What a paper says of an experiment, and how that is judged (judgements.py)."""

    id: str
    where: str
    statement: str
    kind: str
    experiment: str
    metric: str | Sequence[str]
    of: str | Sequence[str]  # configurations
    judge: str
    against: str = ""  # the figures are percent of this configuration's,
    relation: str = "reduction"  # by how much they are less; or "increase", or "ratio"
    workloads: Names = ()  # all without it
    points: Names = ()
    group: str = "mean"  # what a list among the names stands for; or "max", "min"
    along: str = "points"  # the axis of a judge that looks along one
    lines: str = "every"  # how many must hold; or "most"
    item: str = ""  # of highest, lowest, levels_off
    value: Any = None
    minimum: float | None = None
    maximum: float | None = None
    tolerance: str = "sign"  # of near and cells; or "factor two", "magnitude" (a factor of ten), "exact"
    is_headline: bool = False
    conclusion: str = ""  # of a headline: what to believe, and why

    @property
    def is_judged(self) -> bool:
        """Whether it can hold or fail; else it is a figure to be compared."""
        return self.kind in JUDGED


@dataclass(frozen=True)
class Variant:
    """Another reading of the rules or another workload, under which experiments are measured as well.

    It was declared before it was run. `change` is laid over the settings of every run; `workloads` replace those of
    the experiments.
    """

    name: str
    about: str
    experiments: Sequence[str]
    change: Overlay = field(default_factory=dict)
    workloads: Sequence[str] = ()

    @property
    def is_of_workload(self) -> bool:
        """Whether it changes what the hosts ask."""
        return bool(self.workloads) or changes_workload(self.change)

    def adapted(self, claim: Claim, experiment: "Experiment") -> Claim | None:
        """The claim as it is judged under the variant; None if it names workloads that the variant does not have."""
        if claim.experiment not in self.experiments:
            return None
        if not self.workloads:
            return claim
        if claim.judge == "cells" or claim.along == "workloads":
            return None
        if not claim.workloads:
            return claim
        is_of_all = [sorted(each) for each in claim.workloads] == [sorted(experiment.workloads)]
        return replace(claim, workloads=[list(self.workloads)]) if is_of_all else None


@dataclass(frozen=True)
class Explanation:
    """Why claims fail: a mechanism, and changes of one thing that show it. A change that is a name is a variant's.

    Without changes it is a conjecture, which nothing shows.
    """

    name: str
    claims: Sequence[str]
    mechanism: str
    changes: Sequence[Overlay | str] = ()


@dataclass(frozen=True)
class Bound:
    """A published number that the paper itself excludes, and the bound that follows from its rules or other figures."""

    claim: str
    derivation: str
    published: float
    at_most: float
    by: str = "its own rules"  # or another figure of the paper, and what is assumed

    def is_of(self, claim: Claim) -> bool:
        """Whether it excludes what a claim says: its value, or the least of its range."""
        return self.claim == claim.id and self.published in (claim.value, claim.minimum)


@dataclass(frozen=True)
class Original:
    """A recording that is no part of flashraid, and how it is known in a folder of traces.

    If it has the name of a workload, it takes the place of its profile. As `original:NAME` it is a workload itself.
    """

    files: Sequence[str]  # names of its file, or of its folder, without endings
    source: str  # who publishes it
    table: Mapping[str, float] = field(default_factory=dict)  # what the paper says of it, by key of `trace info --json`
    intervals_ns: Mapping[str, int] = field(default_factory=dict)  # its times between arrivals, by quantile (p20)
    settings: Overlay = field(default_factory=dict)  # of its runs
    sha256: Sequence[str] = ()  # of the one file that it is, packed and unpacked, if any other is another trace
    members: int = 0  # how many traces its folder has, NAME/01 and so on in the order of their names; 0 if it is a file
    members_like: str = ""  # the name of one of them, without endings; the others' differ from it in numbers
    part: str = ""  # how long a part of a volume's recording it is, as in "12h"

    def names(self, name: str) -> list[str]:
        """The workloads that the original of this name is."""
        digits = len(str(self.members))
        numbers = [f"/{number:0{digits}}" for number in range(1, self.members + 1)] if self.members else [""]
        return [f"{ORIGINAL}{name}{number}" for number in numbers]


@dataclass(frozen=True)
class Paper:
    """One paper: its experiments, claims and explanations."""

    name: str
    title: str
    about: str
    settings: Overlay
    workloads: Mapping[str, Overlay]
    experiments: Mapping[str, Experiment]
    claims: Sequence[Claim]
    explanations: Sequence[Explanation]
    variants: Sequence[Variant] = ()
    bounds: Sequence[Bound] = ()
    originals: Mapping[str, Original] = field(default_factory=dict)
    conclusion: str = ""  # whom to believe, in a paragraph
    quick_share: float = 0.1  # how much of each trace is replayed for quick figures
    # Experiments without figures on traces of a user's folder, and these traces: nothing is measured or said of them.
    unmeasured: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def quick(self) -> "Paper":
        """The paper with one repeat of each experiment, the middle one."""
        middle = {name: list(each.repeats.items())[len(each.repeats) // 2] for name, each in self.experiments.items()}
        experiments = {name: replace(each, repeats=dict([middle[name]])) for name, each in self.experiments.items()}
        return replace(self, experiments=experiments)

    def part(self, experiments: Collection[str]) -> "Paper":
        """The paper with only these experiments and what is said of them."""
        claims = [claim for claim in self.claims if claim.experiment in experiments]
        ids = {claim.id for claim in claims}
        explanations = [each for each in self.explanations if ids & set(each.claims)]
        own = {name: experiment for name, experiment in self.experiments.items() if name in experiments}
        variants = [
            replace(each, experiments=[name for name in each.experiments if name in experiments])
            for each in self.variants
            if set(each.experiments) & set(experiments)
        ]
        bounds = [each for each in self.bounds if each.claim in ids]
        return replace(
            self, experiments=own, claims=claims, explanations=explanations, variants=variants, bounds=bounds
        )

    def under(self, variant: Variant, experiment: str) -> Experiment:
        """An experiment as a variant has it."""
        found = self.experiments[experiment]
        own = {each: self.workloads[each] for each in variant.workloads}
        return replace(found, workloads=own) if own else found

    def without(self, experiment: str) -> "Paper":
        """The paper without one experiment."""
        return self.part([name for name in self.experiments if name != experiment])

    def with_workloads(self, experiment: str, names: Collection[str]) -> "Paper":
        """The paper with these workloads of an experiment alone, and without what is said of others or of all.

        Of a table the rows of others are left out.
        """
        found = self.experiments[experiment]
        if set(names) >= set(found.workloads):
            return self
        if not names:
            return self.without(experiment)
        own = {name: overlay for name, overlay in found.workloads.items() if name in names}
        claims = []
        for claim in self.claims:
            if claim.experiment == experiment and claim.judge == "cells":
                claim = replace(claim, value={name: row for name, row in claim.value.items() if name in own})
            is_of_own = claim.value != {} and workloads_of(claim, found) <= set(own)
            if claim.experiment != experiment or is_of_own:
                claims.append(claim)
        experiments = dict(self.experiments) | {experiment: replace(found, workloads=own)}
        return replace(self, experiments=experiments, claims=claims).part(list(experiments))


def names() -> list[str]:
    """The papers there are."""
    return sorted(path.parent.name for path in FOLDER.glob("*/experiments.toml"))


def names_of(paper: Paper) -> set[str]:
    """Its configurations, workloads, points and repeats, also the workloads of variants."""
    return names_run(paper) | set(paper.workloads)


def names_run(paper: Paper) -> set[str]:
    """Those of its experiments."""
    parts = ((each.configurations, each.workloads, each.points, each.repeats) for each in paper.experiments.values())
    return {name for each in parts for part in each for name in part}


def find(name: str) -> Paper:
    """The paper, or the part of it, that `PAPER` or `PAPER.EXPERIMENT` names."""
    paper_name, _, experiment = name.partition(".")
    paper = load(FOLDER / known_name("paper", paper_name, names()))
    if "." not in name:
        return paper
    return paper.part([known_name(f"experiment of {paper_name}", experiment, paper.experiments)])


def changes_workload(change: Overlay) -> bool:
    """Whether a change is one of what the hosts ask, and not of the device or the scheme."""
    return any(key in ("profile", "trace", "speed") for key in _keys(change))


def load(folder: Path) -> Paper:
    """Reads a paper's files; raises InputError that says where they are wrong."""
    name, (head, claims, explanations) = folder.name, (read_tables(folder / f"{each}.toml") for each in FILES)
    where = f"papers/{name}"
    workloads = head.setdefault("workloads", {})
    originals = {
        key: record(Original, table, f"{where}: original {key}") for key, table in head.pop("originals", {}).items()
    }
    for key, original in originals.items():
        for each in original.names(key):
            workloads[each] = {"trace": each, **original.settings}
    repeats, experiments = head.pop("repeats", {}), {}
    for table in head.pop("experiment", []):
        table["workloads"] = _workloads(_members(table.get("workloads", []), originals), workloads, where)
        if "repeats" in table:
            table["repeats"] = repeats[known_name(f"{where}: repeats", table["repeats"], repeats)]
        table["figure"] = [
            record(Drawing, each, f"{where}: figure of {table.get('name')}") for each in table.get("figure", [])
        ]
        experiment = record(Experiment, table, where)
        for metric in experiment.metrics:
            known_name(f"{where}: metric", metric, METRICS)
        for drawing in experiment.figure:
            _check_drawing(drawing, experiment, where)
        _unique([each.name for each in experiment.figure], f"{where}: {experiment.name}: figure")
        experiments[experiment.name] = experiment
    variants = [record(Variant, table, where) for table in head.pop("variant", [])]
    variants = [replace(each, workloads=_members(each.workloads, originals)) for each in variants]
    for variant in variants:
        _workloads(variant.workloads, workloads, where)
        for each in variant.experiments:
            known_name(f"{where}: variant {variant.name}: experiment", each, experiments)
    _unique([each.name for each in variants], f"{where}: variant")
    used = {name for experiment in experiments.values() for name in experiment.workloads}
    used |= {name for variant in variants for name in variant.workloads}
    of_profiles = [name for name in workloads if not name.startswith(ORIGINAL)]
    for key, original in originals.items():
        if not used & set(original.names(key)):
            known_name(f"{where}: original of workload", key, of_profiles)
    found = [record(Claim, table, f"{where}/claims.toml") for table in claims.get("claim", [])]
    for claim in found:
        check(claim, experiments, where)
    ids = [claim.id for claim in found]
    _unique(ids, f"{where}: claim")
    fixed = explanations.get("fixed", {})
    reasons = [
        record(Explanation, table, f"{where}/explanations.toml") for table in explanations.get("explanation", [])
    ]
    for reason in reasons:
        about = [found[ids.index(known_name(f"{where}: claim", each, ids))] for each in reason.claims]
        fitting = [
            variant.name
            for variant in variants
            if all(variant.adapted(claim, experiments[claim.experiment]) for claim in about)
        ]
        for change in reason.changes:
            said = f"{where}: explanation {reason.name}:"
            if isinstance(change, str):
                known_name(f"{said} variant of these claims", change, fitting)
                variant = variants[[each.name for each in variants].index(change)]
                if variant.workloads:
                    raise InputError(f"{said} variant {change}: one thing at a time is allowed: it has other workloads")
                change = variant.change
            things.check(change, fixed, {key: each.table for key, each in originals.items()}, said)
    _unique([each for reason in reasons for each in reason.claims], f"{where}: explanation of claim")
    bounds = [record(Bound, table, f"{where}/explanations.toml") for table in explanations.get("bound", [])]
    for bound in bounds:
        known_name(f"{where}: bound of claim", bound.claim, ids)
    rest = {
        "name": name,
        "experiments": experiments,
        "claims": found,
        "explanations": reasons,
        "variants": variants,
        "bounds": bounds,
        "originals": originals,
    }
    return record(Paper, head | rest, f"{where}/experiments.toml")


def _members(names: Iterable[str], originals: Mapping[str, Original]) -> list[str]:
    """Names of workloads, with the traces of a folder in its place."""
    found: list[str] = []
    for name in names:
        key = name.removeprefix(ORIGINAL)
        found += originals[key].names(key) if name != key and key in originals else [name]
    return found


def _workloads(names: Iterable[str], workloads: Mapping[str, Overlay], where: str) -> dict[str, Overlay]:
    return {each: workloads[known_name(f"{where}: workload", each, workloads)] for each in names}


def read_tables(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    return documents.toml(path.read_text(encoding="utf-8"), f"papers/{path.parent.name}/{path.name}")


def record(kind: type[Record], table: Mapping[str, Any], where: str) -> Record:
    """The dataclass of a table whose keys are its fields."""
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    name = table.get("id", table.get("name", ""))
    for key in table:
        known_name(f"{where}: {name}: key", key, known)
    for each in known.values():
        if each.default is MISSING and each.default_factory is MISSING and each.name not in table:
            raise InputError(f"{where}: {name}: {each.name} is missing")
    return kind(**table)


def _check_drawing(drawing: Drawing, experiment: Experiment, where: str) -> None:
    where = f"{where}: figure {drawing.name} of {experiment.name}:".replace("figure  of", "figure of")
    known_name(f"{where} mark", drawing.mark, ("", *MARKS))
    known_name(f"{where} scale", drawing.scale, ("linear", "log"))
    if drawing.scale == "log" and drawing.mark not in ("line", "points"):
        raise InputError(f"{where} scale log: bars have no length on it: allowed with mark = line or points")
    known_name(f"{where} relation", drawing.relation, RELATIONS)
    known_name(f"{where} against", drawing.against, ("", *experiment.configurations))
    for key in ("x", "series", "facet", "mean_over"):
        known_name(f"{where} {key}", getattr(drawing, key), ("", *AXES))
    metrics = [drawing.metric] if isinstance(drawing.metric, str) else drawing.metric
    used = drawing.of, drawing.workloads, drawing.points, [each for each in metrics if each]
    for axis, labels in zip(AXES, used, strict=True):
        for label in labels:
            known_name(f"{where} {axis}", label, experiment.axis(axis))


def check(claim: Claim, experiments: Mapping[str, Experiment], where: str) -> None:
    where = f"{where}: claim {claim.id}:"
    experiment = experiments[known_name(f"{where} experiment", claim.experiment, experiments)]
    known_name(f"{where} kind", claim.kind, KINDS)
    known_name(f"{where} judge", claim.judge, JUDGES)
    known_name(f"{where} along", claim.along, AXES)
    known_name(f"{where} group", claim.group, ("mean", "max", "min"))
    known_name(f"{where} lines", claim.lines, ("every", "most"))
    known_name(f"{where} relation", claim.relation, RELATIONS)
    known_name(f"{where} tolerance", claim.tolerance, ("sign", "factor two", "magnitude", "exact"))
    for axis, used in zip(AXES, selection(claim), strict=True):
        for each in used:
            for label in [each] if isinstance(each, str) else each:
                known_name(f"{where} {axis}", label, experiment.axis(axis))
    if claim.against:
        known_name(f"{where} against", claim.against, experiment.configurations)


def selection(claim: Claim) -> tuple[Names, Names, Names, Names]:
    """The names that a claim looks at, by axis; nothing stands for all."""
    listed = [[each] if isinstance(each, str) else each for each in (claim.of, claim.metric)]
    return listed[0], claim.workloads, claim.points, listed[1]


def workloads_of(claim: Claim, experiment: Experiment) -> set[str]:
    """The workloads that a claim looks at, one by one."""
    if claim.judge == "cells":
        return set(claim.value)
    names = claim.workloads or experiment.axis("workloads")
    return {label for each in names for label in ([each] if isinstance(each, str) else each)}


def needs_original(overlay: Overlay) -> bool:
    """Whether a workload is one that was not found in a folder of traces."""
    return str(overlay.get("trace", "")).startswith(ORIGINAL)


def _keys(overlay: Overlay) -> Iterator[str]:
    """The keys of an overlay and of the tables in it."""
    for key, value in overlay.items():
        yield key
        yield from _keys(value) if isinstance(value, Mapping) else ()


def _unique(keys: Sequence[str], what: str) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"{what} {key} stands there twice")
