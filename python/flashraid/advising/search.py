"""The search: all candidates on an excerpt of the trace, then the finalists on all of it.

The cost of a run is the number of its flash operations, which no machine changes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..quantities import Kind
from ..sizes import parse_time
from ..sweeping.plan import Plan, Point
from .candidates import Candidate
from .forecast import Observed, forecast
from .front import cover, difference, distance, front
from .objectives import CLOSED, FAILING, OPEN, Objective, Value, value_of

# The share of the trace that is in the excerpt, as so many pieces: one alone could be of another phase than the rest.
EXCERPT = 1 / 27
PIECES = 8
FEWEST_REQUESTS = 1000  # of an excerpt
# The most that a search may cost, as a share of an exhaustive one with one seed.
BUDGET = 0.19
# Within such a tolerance a candidate stands for another one in the excerpt: the least one that the budget allows.
TOLERANCES = (
    0.0,
    0.002,
    0.005,
    0.01,
    0.015,
    0.02,
    0.025,
    0.03,
    0.035,
    0.04,
    0.05,
    0.06,
    0.07,
    0.1,
    0.15,
    0.2,
    0.3,
    0.5,
)
UNIT_BYTES = 1 << 16  # of a fill: a multiple of every page size
MOST_CLOSED = 100_000
QUEUE_DEPTH = 32

Rows = Sequence[Mapping[str, Any]]
Seeds = Sequence[int | None]
# A column of no row: what a candidate survives of that which is a member under its own settings.
OF_MEMBER = "survives.member"
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
    is_measured: bool = False  # else it follows from the configuration
    thousandths: str = ""  # a column: the figure is for each thousand of it
    otherwise: float = 0.0  # so many if the column has none

    def why_not(self, row: Mapping[str, Any], *, is_excerpt: bool = False) -> str | None:
        """What is wrong with a row; None if nothing is. What an excerpt measures may be twice as bad."""
        figure = row.get(self.column)
        if self.column == OF_MEMBER:
            is_array = int(row.get("config.array.devices") or 1) > 1
            figure = row.get("survives.device" if is_array else f"survives.{row.get('config.device.member')}")
        if figure is None:
            return f"{self.text}: there is no such figure"
        value = float(figure)
        if self.thousandths:
            value *= (float(row[self.thousandths]) or self.otherwise) / 1000
        slack = 2.0 if is_excerpt and self.is_measured else 1.0
        is_too_low = self.least is not None and value * slack < self.least
        if is_too_low or (self.most is not None and value > self.most * slack):
            return f"{self.text}: it has {self.kind.text(value)}" if self.kind else f"{self.text}: it does not"
        return None


@dataclass
class Tried:
    """A candidate, and what is known of it."""

    candidate: Candidate
    out: str = ""  # why it is no finalist
    cost: int = 0  # flash operations of its last runs, with one seed
    estimate: float = 0.0  # the same over all of the trace, as the excerpt tells it
    short: list[float] = field(default_factory=list)  # its costs in the excerpt
    values: dict[str, Value] = field(default_factory=dict)  # by objective, of its last runs
    rows: dict[str, Rows] = field(default_factory=dict)  # of its last runs, by run
    is_final: bool = False  # whether these were over all of the trace

    def take(self, rows: Mapping[str, Rows], objectives: Sequence[Objective]) -> None:
        """Takes the figures of its runs."""
        self.rows = dict(rows)
        self.values = {each.name: value_of(each, rows[each.run]) for each in objectives if each.run in rows}

    def costs(self, objectives: Sequence[Objective]) -> list[float]:
        """Its figures as costs."""
        return [each.cost(self.values[each.name].mean) for each in objectives]


@dataclass(frozen=True)
class Excerpt:
    """A part of the trace, in a file of its own."""

    path: str
    requests: int


# How excerpts are read, whatever the trace was.
AS_WRITTEN = {"format": "flashraid", "time_unit": "auto", "device_filter": "all"}


@dataclass(frozen=True)
class Workload:
    """What is replayed, and what all runs have in common."""

    fixed: Mapping[str, Any]  # trace, device, settings
    requests: int
    fault: str | None  # what is failed, without the time
    seeds: int
    excerpt: Excerpt | None = None  # none of a trace that is too short for one

    def point(self, candidate: Candidate, run: str, seed: int | None = None, excerpt: Excerpt | None = None) -> Point:
        """The point of a run of a candidate, over all of the trace or over the excerpt.

        What a rebuild costs depends on how much is stored, so that of an excerpt a run with a failure has as small a
        share of that, and does not read everything back.
        """
        point = {**self.fixed, **candidate.point}
        share = 1.0
        if excerpt:
            share = excerpt.requests / self.requests
            point |= {"trace": excerpt.path, "limit": 0, **AS_WRITTEN}
        elif run == CLOSED and self.requests > MOST_CLOSED:
            share = MOST_CLOSED / self.requests
            point["limit"] = MOST_CLOSED
        if share < 1 and (warmup := str(point.get("warmup", ""))):
            scaled = round(share * (int(warmup) if warmup.isdecimal() else parse_time("warmup", warmup)))
            point["warmup"] = str(scaled) if warmup.isdecimal() else f"{scaled}ns"
        if run == CLOSED:
            point |= {"queue_depth": QUEUE_DEPTH}
            point.pop("speed", None)  # a closed loop has its own
        elif run == FAILING:
            point |= {"fail": f"{self.fault}@50%", "verify": excerpt is None}
            if excerpt and "fill_bytes" in point:
                point["fill_bytes"] = max(1, int(share * point["fill_bytes"]) // UNIT_BYTES) * UNIT_BYTES
        if seed is not None:
            point["seed"] = seed
        return point

    def times_as_long(self, run: str) -> float:
        """How many times as many requests a run over all of the trace has as one over the excerpt."""
        requests = min(self.requests, MOST_CLOSED) if run == CLOSED else self.requests
        return requests / self.excerpt.requests if self.excerpt else 1.0


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
        if self.workload.excerpt:
            near = self._preliminaries()
        self._final("final", self._in())
        self._further(near)
        return self._in()

    def _preliminaries(self) -> list[Tried]:
        """Replays the excerpt under all candidates and keeps the finalists. Returns those that are near them."""
        self._round("excerpt", self.workload.excerpt)
        for each in self.tried:
            each.estimate = sum(
                sum(map(operations_of, rows)) * self.workload.times_as_long(run) for run, rows in each.rows.items()
            )
        left = self._in()
        for each in left:
            each.short = each.costs(self.objectives)
        kept: list[int] = []
        for tolerance in TOLERANCES:
            kept = cover([each.short for each in left], tolerance)
            if sum(left[at].estimate for at in kept) <= self._budget_left:
                break
        finalists = {id(left[at]) for at in kept}
        near = [each for each in left if id(each) not in finalists]
        for each in near:
            each.out = f"excerpt: another one is as good within {tolerance:.1%}"
        return near

    @property
    def scale(self) -> float:
        """How many times what the excerpt says the finalists cost; 1 without an excerpt."""
        done = [each for each in self.tried if each.estimate and each.is_final]
        return sum(each.cost for each in done) / sum(each.estimate for each in done) if done else 1.0

    @property
    def _budget_left(self) -> float:
        """What may still be spent, if all candidates cost as many times what the excerpt says as the finalists do."""
        return BUDGET * self.scale * sum(each.estimate for each in self.tried) - self.spent

    def _further(self, near: list[Tried]) -> None:
        """Makes more of them finalists, one by one, as long as the budget allows: the one that is forecast to be
        farthest from all that are known.
        """
        while near and (known := [each for each in self.tried if each.is_final]):
            whole = [each.costs(self.objectives) for each in known]
            observed = [Observed(each.candidate, each.short, costs) for each, costs in zip(known, whole, strict=True)]
            forecasts = [forecast(each.candidate, each.short, observed) for each in near]
            at_front = set(front([*whole, *forecasts]))
            worse = [min(distance(other, own) for other in whole) for own in forecasts]
            other = [min(difference(one, own) for one in whole) for own in forecasts]
            at = max(range(len(near)), key=lambda at: (len(whole) + at in at_front, worse[at], other[at]))
            if self.scale * near[at].estimate > self._budget_left or other[at] == 0:
                break
            chosen = near.pop(at)
            chosen.out = ""
            self._final("final, further", [chosen])

    def look_again(self, name: str) -> None:
        """Replays all of the trace under all candidates once."""
        self._round(name, None)

    def _in(self) -> list[Tried]:
        return [each for each in self.tried if not each.out]

    def _round(self, name: str, excerpt: Excerpt | None) -> None:
        """Replays the trace or the excerpt under all candidates that are left."""
        left = self._in()
        self._take(left, name, [None], excerpt)
        for each in left:
            each.out = self._why_out(each.rows, is_excerpt=excerpt is not None)

    def _take(self, tried: Sequence[Tried], name: str, seeds: Seeds, excerpt: Excerpt | None = None) -> None:
        """Does the runs of candidates, and takes their figures: of each run one for each seed."""
        for each, rows in zip(tried, self._rows(tried, name, seeds, excerpt), strict=True):
            each.take(rows, self.objectives)
            each.cost = sum(operations_of(of[0]) for of in rows.values())
            self.spent += each.cost
            # Seeds that change nothing are one run.
            done = {row.get("run"): row for of in rows.values() for row in of}
            self.cost += sum(map(operations_of, done.values()))

    def _rows(
        self, tried: Sequence[Tried], name: str, seeds: Seeds, excerpt: Excerpt | None
    ) -> Iterator[dict[str, Rows]]:
        runs = (OPEN, CLOSED, FAILING) if self.workload.fault else (OPEN, CLOSED)
        points = [
            self.workload.point(each.candidate, run, seed, excerpt) for each in tried for run in runs for seed in seeds
        ]
        rows = iter(self.do(name, points) if points else [])
        for _ in tried:
            yield {run: [next(rows) for _ in seeds] for run in runs}

    def _why_out(self, rows: Mapping[str, Rows], *, is_excerpt: bool = False) -> str:
        """Why a candidate cannot be: a run of it failed, or it lacks what it must have.

        With a failure only what is said to survive it must serve all requests.
        """
        for run, of in rows.items():
            for row in of:
                is_whole = row["status"] in ("done", "violation")
                if not is_whole and (run != FAILING or row.get(self._label) or row["status"] != "unserved"):
                    return f"{row['status']}: {row['reason'] or row.get('warnings') or 'requests failed'}"
                for must in self.musts:
                    if must.run == run and (why := must.why_not(row, is_excerpt=is_excerpt)):
                        return f"excerpt: {why}" if is_excerpt and must.is_measured else why
        return ""

    @property
    def _label(self) -> str:
        """The column that says whether a candidate survives the fault: of `device:0/chip:1.2` that of a chip."""
        return f"survives.{(self.workload.fault or '').rpartition('/')[2].partition(':')[0]}"

    def _final(self, name: str, finalists: Sequence[Tried]) -> None:
        """Replays all of the trace under the finalists, with several seeds."""
        self._take(finalists, name, range(1, self.workload.seeds + 1))
        for each in finalists:
            each.is_final = True
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
