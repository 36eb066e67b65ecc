"""The papers as data: what is run, what is claimed, why a claim fails. Read strictly, so that a typing error shows."""

import difflib
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from .._native import InputError
from .metrics import METRICS

FOLDER = Path(__file__).parent / "papers"
FILES = ("experiments", "claims", "explanations")
KINDS = ("exact", "ordering", "trend", "range", "value")
JUDGED = KINDS[:-1]  # of a value the trace is lost: it is listed, and its sign compared
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
AXES = ("configurations", "workloads", "points", "metrics")

# Settings laid over others: keys of docs/configuration.md, `device`, `scheme` and `trace`; `profile`, which changes the
# profile that is the trace; and tables named after a configuration, workload or point, which are for its runs alone.
Overlay = Mapping[str, Any]
# Names of one axis; a list among them stands for one figure, made of those named.
Names = Sequence[str | Sequence[str]]
Record = TypeVar("Record")


@dataclass(frozen=True)
class Experiment:
    """Every configuration under every workload at every point, and what is measured of each run."""

    name: str
    where: str
    title: str
    configurations: Mapping[str, Overlay]
    workloads: Mapping[str, Overlay]
    points: Mapping[str, Overlay]
    metrics: Sequence[str]
    about: str = ""
    is_quick: bool = False  # cheap enough for `make test`

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
    slack: float = 0.0  # percent of steps back that count as level
    tolerance: str = "sign"  # of near and cells; or "factor two", "exact"
    is_headline: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether it can hold or fail; else it is a figure to be compared."""
        return self.kind in JUDGED


@dataclass(frozen=True)
class Explanation:
    """Why claims fail: a mechanism, and changes of one thing that show it."""

    name: str
    claims: Sequence[str]
    mechanism: str
    changes: Sequence[Overlay]

    @property
    def is_of_workload(self) -> bool:
        """Whether it changes the workload, so that it counts only if a sweep makes the claim hold."""
        return any(key in ("profile", "trace", "speed") for change in self.changes for key in _keys(change))


@dataclass(frozen=True)
class Paper:
    """One paper: its experiments, claims and explanations."""

    name: str
    title: str
    about: str
    settings: Overlay
    experiments: Mapping[str, Experiment]
    claims: Sequence[Claim]
    explanations: Sequence[Explanation]

    def part(self, experiments: Collection[str]) -> "Paper":
        """The paper with only these experiments and what is said of them."""
        claims = [claim for claim in self.claims if claim.experiment in experiments]
        ids = {claim.id for claim in claims}
        explanations = [each for each in self.explanations if ids & set(each.claims)]
        own = {name: experiment for name, experiment in self.experiments.items() if name in experiments}
        return replace(self, experiments=own, claims=claims, explanations=explanations)

    def without(self, experiment: str) -> "Paper":
        """The paper without one experiment."""
        return self.part([name for name in self.experiments if name != experiment])


def names() -> list[str]:
    """The papers there are."""
    return sorted(path.parent.name for path in FOLDER.glob("*/experiments.toml"))


def names_of(paper: Paper) -> set[str]:
    """Its configurations, workloads and points."""
    axes = AXES[:3]
    return {each for experiment in paper.experiments.values() for axis in axes for each in experiment.axis(axis)}


def find(name: str) -> Paper:
    """The paper, or the part of it, that `PAPER` or `PAPER.EXPERIMENT` names."""
    paper_name, _, experiment = name.partition(".")
    paper = load(FOLDER / _known("paper", paper_name, names()))
    if "." not in name:
        return paper
    return paper.part([_known(f"experiment of {paper_name}", experiment, paper.experiments)])


def load(folder: Path) -> Paper:
    """Reads a paper's files; raises InputError that says where they are wrong."""
    name, (head, claims, explanations) = folder.name, (_read(folder / f"{each}.toml") for each in FILES)
    where = f"papers/{name}"
    workloads = head.pop("workloads", {})
    experiments = {}
    for table in head.pop("experiment", []):
        own = [_known(f"{where}: workload", each, workloads) for each in table.get("workloads", [])]
        experiment = _record(Experiment, table | {"workloads": {each: workloads[each] for each in own}}, where)
        for metric in experiment.metrics:
            _known(f"{where}: metric", metric, METRICS)
        experiments[experiment.name] = experiment
    found = [_record(Claim, table, f"{where}/claims.toml") for table in claims.get("claim", [])]
    for claim in found:
        _check(claim, experiments, where)
    _unique([claim.id for claim in found], f"{where}: claim")
    reasons = [
        _record(Explanation, table, f"{where}/explanations.toml") for table in explanations.get("explanation", [])
    ]
    for reason in reasons:
        for each in reason.claims:
            _known(f"{where}: claim", each, [claim.id for claim in found])
    _unique([each for reason in reasons for each in reason.claims], f"{where}: explanation of claim")
    rest = {"name": name, "experiments": experiments, "claims": found, "explanations": reasons}
    return _record(Paper, head | rest, f"{where}/experiments.toml")


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    with path.open("rb") as file:
        try:
            return tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"papers/{path.parent.name}/{path.name}: {error}") from None


def _record(kind: type[Record], table: Mapping[str, Any], where: str) -> Record:
    """The dataclass of a table whose keys are its fields."""
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    name = table.get("id", table.get("name", ""))
    for key in table:
        _known(f"{where}: {name}: key", key, known)
    for field in known.values():
        if field.default is MISSING and field.name not in table:
            raise InputError(f"{where}: {name}: {field.name} is missing")
    return kind(**table)


def _check(claim: Claim, experiments: Mapping[str, Experiment], where: str) -> None:
    where = f"{where}: claim {claim.id}:"
    experiment = experiments[_known(f"{where} experiment", claim.experiment, experiments)]
    _known(f"{where} kind", claim.kind, KINDS)
    _known(f"{where} judge", claim.judge, JUDGES)
    _known(f"{where} along", claim.along, AXES)
    _known(f"{where} group", claim.group, ("mean", "max", "min"))
    _known(f"{where} lines", claim.lines, ("every", "most"))
    _known(f"{where} relation", claim.relation, ("reduction", "increase", "ratio"))
    _known(f"{where} tolerance", claim.tolerance, ("sign", "factor two", "exact"))
    for axis, used in zip(AXES, selection(claim), strict=True):
        for each in used:
            for label in [each] if isinstance(each, str) else each:
                _known(f"{where} {axis}", label, experiment.axis(axis))
    if claim.against:
        _known(f"{where} against", claim.against, experiment.configurations)


def selection(claim: Claim) -> tuple[Names, Names, Names, Names]:
    """The names that a claim looks at, by axis; nothing stands for all."""
    listed = [[each] if isinstance(each, str) else each for each in (claim.of, claim.metric)]
    return listed[0], claim.workloads, claim.points, listed[1]


def _keys(overlay: Overlay) -> Iterator[str]:
    """The keys of an overlay and of the tables in it."""
    for key, value in overlay.items():
        yield key
        yield from _keys(value) if isinstance(value, Mapping) else ()


def _unique(keys: Sequence[str], what: str) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"{what} {key} stands there twice")


def _known(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; the nearest is {near[0]}" if near else ""
        raise InputError(f"{what} {name}: there is none{hint}; there are {', '.join(known)}")
    return name
