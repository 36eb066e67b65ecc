"""The search: all candidates on a short piece of the trace, fewer and fewer on longer ones, the finalists on all of it.

The cost of a run is the number of its flash operations, which no machine changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..sweeping.plan import Plan, Point
from .candidates import Candidate
from .front import cover
from .objectives import CLOSED, FAILING, OPEN, Objective, Value, value_of

# The share of the trace that each round replays, and the tolerance within which a candidate stands for another: the
# shorter the piece, the less its figures tell, and the closer they must be.
ROUNDS = ((1 / 27, 0.01), (1 / 9, 0.02))
TOLERANCE = 0.03  # of the finalists
FEWEST_REQUESTS = 1000
MOST_CLOSED = 100_000
QUEUE_DEPTH = 32

Rows = Sequence[Mapping[str, Any]]
# Does the runs of points, all of one round; returns the row of each, in order.
DoRuns = Callable[[str, Sequence[Point]], Rows]


@dataclass(frozen=True)
class Must:
    """What a candidate must have: a column of its runs, and the least or the most of it."""

    text: str  # as the user said it
    run: str
    column: str
    least: float | None = None
    most: float | None = None

    def why_not(self, row: Mapping[str, Any]) -> str | None:
        """What is wrong with a row; None if nothing is."""
        value = row.get(self.column)
        if value is None:
            return f"{self.text}: there is no such figure"
        is_too_low = self.least is not None and float(value) < self.least
        if is_too_low or (self.most is not None and float(value) > self.most):
            return f"{self.text}: it has {value}"
        return None


@dataclass
class Tried:
    """A candidate, and what is known of it."""

    candidate: Candidate
    out: str = ""  # why it is no finalist
    round: int = 0  # the last one that it was in
    values: dict[str, Value] = field(default_factory=dict)  # by objective, of the last round
    rows: dict[str, Rows] = field(default_factory=dict)  # by run, of the finalists

    def costs(self, objectives: Sequence[Objective]) -> list[float]:
        """Its figures as costs."""
        return [each.cost(self.values[each.name].mean) for each in objectives]


@dataclass(frozen=True)
class Workload:
    """What is replayed, and what all runs have in common."""

    fixed: Mapping[str, Any]  # trace, device, settings
    requests: int
    fault: str | None  # what is failed, without the time
    seeds: int

    def point(self, candidate: Candidate, run: str, requests: int, seed: int | None = None) -> Point:
        """The point of a run of a candidate, over so many requests."""
        point = {**self.fixed, **candidate.point}
        if run == CLOSED:
            point |= {"queue_depth": QUEUE_DEPTH}
            requests = min(requests, MOST_CLOSED)
        elif run == FAILING:
            point |= {"fail": f"{self.fault}@50%", "verify": True}
        if seed is not None:
            point["seed"] = seed
        return point if requests >= self.requests else point | {"limit": requests}


@dataclass
class Search:
    """The search and what it has found."""

    tried: list[Tried]
    objectives: list[Objective]
    musts: list[Must]
    workload: Workload
    do: DoRuns
    cost: int = 0  # flash operations of all runs

    def run(self) -> list[Tried]:
        """Returns the finalists, each with all its figures."""
        quick = [each for each in self.objectives if each.run != FAILING]
        for number, (share, tolerance) in enumerate(ROUNDS, 1):
            requests = max(FEWEST_REQUESTS, round(share * self.workload.requests))
            if requests >= self.workload.requests:
                continue
            self._round(number, quick, requests)
            self._keep(quick, tolerance, f"round {number}: another one is as good within {tolerance:.0%}")
        finalists = self._in()
        self._final(finalists)
        return self._in()

    def _in(self) -> list[Tried]:
        return [each for each in self.tried if not each.out]

    def _round(self, number: int, objectives: Sequence[Objective], requests: int) -> None:
        """Replays a piece of the trace under all candidates that are left."""
        left = self._in()
        rows = {run: self._rows(f"round {number}", left, run, requests) for run in (OPEN, CLOSED)}
        for at, each in enumerate(left):
            each.round = number
            own = {run: [of[at]] for run, of in rows.items()}
            each.out = self._why_out(own)
            each.values = {objective.name: value_of(objective, own[objective.run]) for objective in objectives}

    def _rows(self, name: str, tried: Sequence[Tried], run: str, requests: int, seeds: int | None = None) -> Rows:
        """The rows of a run of all these candidates; with several seeds one after the other."""
        numbers: list[int | None] = [None] if seeds is None else list(range(1, seeds + 1))
        points = [self.workload.point(each.candidate, run, requests, seed) for each in tried for seed in numbers]
        rows = self.do(name, points)
        counted = ("flash_ops.reads.total", "flash_ops.programs.total", "flash_ops.erases.total")
        self.cost += sum(int(row.get(column) or 0) for row in rows for column in counted)
        return rows

    def _why_out(self, rows: Mapping[str, Rows]) -> str:
        """Why a candidate cannot be: a run of it failed, or it lacks what it must have."""
        for run, of in rows.items():
            for row in of:
                if row["status"] not in ("done", "violation"):
                    return f"{row['status']}: {row['reason'] or row.get('warnings') or 'requests failed'}"
                for must in self.musts:
                    if must.run == run and (why := must.why_not(row)):
                        return why
        return ""

    def _keep(self, objectives: Sequence[Objective], tolerance: float, why: str) -> None:
        """Keeps what covers the front."""
        left = self._in()
        kept = set(cover([each.costs(objectives) for each in left], tolerance))
        for at, each in enumerate(left):
            if at not in kept:
                each.out = why

    def _final(self, finalists: Sequence[Tried]) -> None:
        """Replays all of the trace under the finalists, with several seeds, in a closed loop, and with a failure."""
        seeds, last = self.workload.seeds, len(ROUNDS) + 1
        runs = [OPEN, CLOSED, *([FAILING] if self.workload.fault else [])]
        found = {run: self._rows("final", finalists, run, self.workload.requests, seeds) for run in runs}
        for at, each in enumerate(finalists):
            each.round = last
            each.rows = {run: of[at * seeds : (at + 1) * seeds] for run, of in found.items()}
            each.values = {
                objective.name: value_of(objective, each.rows[objective.run]) for objective in self.objectives
            }
            each.out = self._why_out({run: each.rows[run] for run in (OPEN, CLOSED)}) or _why_false(
                each, self.workload.fault
            )


def _why_false(tried: Tried, fault: str | None) -> str:
    """Why a finalist does not do what its label says: it lost data by a failure that it is said to survive."""
    part = (fault or "").partition(":")[0]
    for row in tried.rows.get(FAILING, []):
        lost = sum(int(row.get(column) or 0) for column in ("losses.host_pages", "verify.mismatches"))
        if row.get(f"survives.{part}") and (lost or row["status"] == "violation"):
            return f"is said to survive {fault}, and lost {lost:,} pages by it"
    return ""


def plan_of(points: Sequence[Point]) -> Plan:
    """The points as the plan of a sweep."""
    return Plan(tuple(points), (), "", "advice")
