"""The search: all candidates on a short piece of the trace, fewer and fewer on longer ones, the finalists on all of it.

The cost of a run is the number of its flash operations, which no machine changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..quantities import Kind
from ..sizes import parse_time
from ..sweeping.plan import Plan, Point
from .candidates import Candidate
from .front import cover, difference, distance
from .objectives import CLOSED, FAILING, OPEN, Objective, Value, value_of

# The share of the trace that each round replays, and the tolerance within which a candidate then stands for another.
ROUNDS = ((1 / 27, 0.03), (1 / 9, 0.05))
# Of the cost of an exhaustive search with one seed, as the first round tells it: what is left of it after the finals
# goes to those of the last round that differ most from the finalists.
BUDGET = 0.19
FEWEST_REQUESTS = 1000
UNIT_BYTES = 1 << 16  # of a fill: a multiple of every page size
MOST_CLOSED = 100_000
QUEUE_DEPTH = 32

Rows = Sequence[Mapping[str, Any]]
Seeds = Sequence[int | None]
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
    kind: Kind | None = None  # how the figure is written; None for a property

    def why_not(self, row: Mapping[str, Any]) -> str | None:
        """What is wrong with a row; None if nothing is."""
        value = row.get(self.column)
        if value is None:
            return f"{self.text}: there is no such figure"
        is_too_low = self.least is not None and float(value) < self.least
        if is_too_low or (self.most is not None and float(value) > self.most):
            return f"{self.text}: it has {self.kind.text(float(value))}" if self.kind else f"{self.text}: it does not"
        return None


@dataclass
class Tried:
    """A candidate, and what is known of it."""

    candidate: Candidate
    out: str = ""  # why it is no finalist
    cost: int = 0  # flash operations of its runs in the last round, with one seed
    estimate: float = 0.0  # the same over all of the trace, as the first round tells it; 0 without rounds
    short: list[float] = field(default_factory=list)  # its costs in the last round before the finals
    values: dict[str, Value] = field(default_factory=dict)  # by objective, of the last round
    rows: dict[str, Rows] = field(default_factory=dict)  # of the last round, by run

    def take(self, rows: Mapping[str, Rows], objectives: Sequence[Objective]) -> None:
        """Takes the figures of its runs."""
        self.rows = dict(rows)
        self.values = {each.name: value_of(each, rows[each.run]) for each in objectives if each.run in rows}

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

    def point(self, candidate: Candidate, run: str, share: float, seed: int | None = None) -> Point:
        """The point of a run of a candidate, over so large a share of the trace.

        What a rebuild costs depends on how much is stored, so that a run with a failure has as small a share of that.
        """
        point = {**self.fixed, **candidate.point}
        requests = (
            self.requests if share == 1 else max(min(FEWEST_REQUESTS, self.requests), round(share * self.requests))
        )
        if share < 1 and (warmup := str(point.get("warmup", ""))):
            scaled = round(share * (int(warmup) if warmup.isdecimal() else parse_time("warmup", warmup)))
            point["warmup"] = str(scaled) if warmup.isdecimal() else f"{scaled}ns"
        if run == CLOSED:
            point |= {"queue_depth": QUEUE_DEPTH}
            point.pop("speed", None)  # a closed loop has its own
            requests = min(requests, MOST_CLOSED)
        elif run == FAILING:
            point |= {"fail": f"{self.fault}@50%", "verify": True}
            if "fill_bytes" in point:
                point["fill_bytes"] = max(1, round(share * point["fill_bytes"] / UNIT_BYTES)) * UNIT_BYTES
        if seed is not None:
            point["seed"] = seed
        return point if requests == self.requests else point | {"limit": requests}


@dataclass
class Search:
    """The search and what it has found."""

    tried: list[Tried]
    objectives: list[Objective]
    musts: list[Must]
    workload: Workload
    do: DoRuns
    cost: int = 0  # flash operations of all runs
    spent: int = 0  # the same, of each final run with one seed alone

    def run(self) -> list[Tried]:
        """Returns the finalists, each with all its figures."""
        near: list[Tried] = []
        for number, (share, tolerance) in enumerate(ROUNDS, 1):
            if share * self.workload.requests < FEWEST_REQUESTS:
                continue
            self._round(f"round {number}", self._runs(), share)
            for each in self._in():
                each.estimate = each.estimate or each.cost / share
                each.short = each.costs(self.objectives)
            near = self._keep(tolerance, f"round {number}: another one is as good within {tolerance:.0%}")
        finalists = self._in()
        self._final("final", finalists)
        if near:
            more = self._farthest(finalists, near)
            for each in more:
                each.out = ""
            self._final("final, further", more)
        return self._in()

    def _farthest(self, finalists: Sequence[Tried], near: list[Tried]) -> list[Tried]:
        """Those of the last round that differ most from the finalists, as many as the budget has room for."""
        scale = sum(each.cost for each in finalists) / max(1.0, sum(each.estimate for each in finalists))
        whole = scale * sum(each.estimate for each in self.tried)
        left = BUDGET * whole - self.spent
        chosen: list[Tried] = []
        while near:
            known = [each.short for each in [*finalists, *chosen]]
            worse = [min(distance(other, each.short) for other in known) for each in near]
            other = [min(difference(one, each.short) for one in known) for each in near]
            at = max(range(len(near)), key=lambda at: (worse[at], other[at]))
            left -= scale * near[at].estimate
            if left < 0 or other[at] == 0:
                break
            chosen.append(near.pop(at))
        return chosen

    def look_again(self, name: str) -> None:
        """Replays all of the trace under all candidates once."""
        self._round(name, self._runs(), 1)

    def _runs(self) -> Sequence[str]:
        return (OPEN, CLOSED, FAILING) if self.workload.fault else (OPEN, CLOSED)

    def _in(self) -> list[Tried]:
        return [each for each in self.tried if not each.out]

    def _round(self, name: str, runs: Sequence[str], share: float) -> None:
        """Replays so much of the trace under all candidates that are left."""
        left = self._in()
        self._take(left, name, runs, share, [None])
        for each in left:
            each.out = self._why_out(each.rows)

    def _take(self, tried: Sequence[Tried], name: str, runs: Sequence[str], share: float, seeds: Seeds) -> None:
        """Does runs of candidates, and takes their figures: of each run one for each seed."""
        found = self._rows(tried, name, runs, share, seeds)
        for each, rows in zip(tried, found, strict=True):
            each.take(rows, self.objectives)
            operations = sum(operations_of(row) for of in rows.values() for row in of)
            each.cost = operations // len(seeds)
            self.cost += operations
            self.spent += each.cost

    def _rows(
        self, tried: Sequence[Tried], name: str, runs: Sequence[str], share: float, seeds: Seeds
    ) -> list[dict[str, Rows]]:
        points = [
            self.workload.point(each.candidate, run, share, seed) for each in tried for run in runs for seed in seeds
        ]
        rows = self.do(name, points) if points else []
        of_run = [rows[at : at + len(seeds)] for at in range(0, len(rows), len(seeds))]
        return [dict(zip(runs, of_run[at : at + len(runs)], strict=True)) for at in range(0, len(of_run), len(runs))]

    def _why_out(self, rows: Mapping[str, Rows]) -> str:
        """Why a candidate cannot be: a run of it failed, or it lacks what it must have.

        With a failure only what is said to survive it must serve all requests.
        """
        for run, of in rows.items():
            for row in of:
                is_whole = row["status"] in ("done", "violation")
                if not is_whole and (run != FAILING or row.get(self._label) or row["status"] != "unserved"):
                    return f"{row['status']}: {row['reason'] or row.get('warnings') or 'requests failed'}"
                for must in self.musts:
                    if must.run == run and (why := must.why_not(row)):
                        return why
        return ""

    @property
    def _label(self) -> str:
        """The column that says whether a candidate survives the fault."""
        return f"survives.{(self.workload.fault or '').partition(':')[0]}"

    def _keep(self, tolerance: float, why: str) -> list[Tried]:
        """Keeps what covers the front. Returns the others."""
        left = self._in()
        kept = set(cover([each.costs(self.objectives) for each in left], tolerance))
        for at, each in enumerate(left):
            if at not in kept:
                each.out = why
        return [each for at, each in enumerate(left) if at not in kept]

    def _final(self, name: str, finalists: Sequence[Tried]) -> None:
        """Replays all of the trace under the finalists, with several seeds."""
        self._take(finalists, name, self._runs(), 1, range(1, self.workload.seeds + 1))
        for each in finalists:
            each.out = self._why_false(each.rows) or self._why_out(each.rows)

    def _why_false(self, rows: Mapping[str, Rows]) -> str:
        """Why a finalist does not do what its label says: it lost data by a failure that it is said to survive."""
        for row in rows.get(FAILING, []):
            lost = sum(int(row.get(column) or 0) for column in ("losses.host_pages", "verify.mismatches"))
            if row.get(self._label) and (lost or row["status"] == "violation"):
                return f"is said to survive {self.workload.fault}, and lost {lost:,} pages by it"
        return ""


def operations_of(row: Mapping[str, Any]) -> int:
    """The flash operations of a run."""
    return sum(int(row.get(f"flash_ops.{action}.total") or 0) for action in ("reads", "programs", "erases"))


def plan_of(points: Sequence[Point]) -> Plan:
    """The points as the plan of a sweep."""
    return Plan(tuple(points), (), "", "advice")
