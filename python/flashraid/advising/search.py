"""The search: fewer and fewer candidates do more and longer runs, and the finalists all of them with several seeds.

The cost of a run is the number of its flash operations, which no machine changes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..quantities import Kind
from ..sizes import parse_time
from ..sweeping.plan import PROFILE, Plan, Point
from .candidates import Candidate
from .excerpts import AS_WRITTEN, LONG_REQUESTS, SHARES, Excerpt
from .front import select
from .objectives import CLOSED, FAILING, OPEN, RUNS, Objective, Value, value_of

# The most that a search may cost, as a share of an exhaustive one with as many seeds.
BUDGET = 0.197
# Fewer candidates may cost as much as so many, at most all of it: a fifth of what few cost is few runs.
FEWEST_CANDIDATES = 60
# Of what the excerpts leave of it: for the trace as it is, and for the other runs of fewer candidates; the rest is for
# the other seeds of the finalists.
FOR_TRACE, FOR_OTHERS = 0.2, 0.35
# The same for the trace as it is, if there are no other seeds.
FOR_TRACE_ALONE = 0.3
NEARLY = "others are as good or nearly so"  # why one is out that may be in again
OF_EXCERPT = "excerpt: "  # what an excerpt has shown, which all of the trace may refute
UNIT_BYTES = 1 << 16  # of a fill: a multiple of every page size
MOST_CLOSED = 100_000
QUEUE_DEPTH = 32

Rows = Sequence[Mapping[str, Any]]
Seeds = Mapping[str, int]  # how many seeds each run has, by run
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
    days: float = 1.0  # the figure is that of so many days, and what is asked for that of one

    def figure(self, row: Mapping[str, Any]) -> float | None:
        """What a row has of it; None if there is no such figure."""
        figure = row.get(self.column)
        if self.column == OF_MEMBER:
            is_array = int(row.get("config.array.devices") or 1) > 1
            figure = row.get("survives.device" if is_array else f"survives.{row.get('config.device.member')}")
        if figure is None:
            return None
        thousands = (float(row[self.thousandths]) or self.otherwise) / 1000 if self.thousandths else 1.0
        return float(figure) * thousands / self.days

    def why_not(self, row: Mapping[str, Any], *, is_excerpt: bool = False) -> str | None:
        """What is wrong with a row; None if nothing is. What an excerpt measures may be twice as bad."""
        value = self.figure(row)
        if value is None:
            return f"{self.text}: there is no such figure"
        slack = 2.0 if is_excerpt and self.is_measured else 1.0
        is_too_low = self.least is not None and value * slack < self.least
        if is_too_low or (self.most is not None and value > self.most * slack):
            return f"{self.text}: it has {self.kind.text(value)}" if self.kind else f"{self.text}: it does not"
        if self.column.startswith("survives") and (but := row.get("survives.but")):
            return f"{self.text}: it does, but for {but}"
        return None


@dataclass
class Tried:
    """A candidate, and what is known of it."""

    candidate: Candidate
    out: str = ""  # why it is no finalist
    estimates: dict[str, float] = field(default_factory=dict)  # flash operations of each run, as its excerpt tells them
    of_request: float = 0.0  # flash operations for each request
    whole: dict[str, float] = field(default_factory=dict)  # the same of those that were done over all of the trace
    values: dict[str, Value] = field(default_factory=dict)  # by objective, as well as it is known
    rows: dict[str, Rows] = field(default_factory=dict)  # the last ones of each run

    def take(self, rows: Mapping[str, Rows], objectives: Sequence[Objective]) -> None:
        """Takes the figures of runs."""
        self.rows |= rows
        self.values |= {each.name: value_of(each, rows[each.run]) for each in objectives if each.run in rows}

    @property
    def survives_but(self) -> str:
        """What a failure loses that it survives; empty if nothing."""
        rows = next(iter(self.rows.values()), [])
        return next((row["survives.but"] for row in rows if row.get("survives.but")), "")

    def done(self, run: str) -> int:
        """With how many seeds a run was done over all of the trace."""
        return len(self.rows[run]) if run in self.whole else 0

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
    excerpts: Mapping[str, Excerpt] = field(default_factory=dict)  # by run; none of a trace that is too short for them
    random: Sequence[str] = RUNS  # the runs that another seed changes
    is_verified: bool = True  # whether the first run with a failure reads everything back and compares it

    @property
    def runs(self) -> Sequence[str]:
        """The runs of each candidate."""
        return RUNS if self.fault else (OPEN, CLOSED)

    @property
    def once(self) -> Seeds:
        """One seed for each run."""
        return dict.fromkeys(self.runs, 1)

    @property
    def every_seed(self) -> Seeds:
        """All seeds for each run: one alone if others would do the same again."""
        return {run: self.seeds if run in self.random else 1 for run in self.runs}

    def point(self, candidate: Candidate, run: str, seed: int | None = None, *, is_excerpt: bool = False) -> Point:
        """The point of a run of a candidate, over all of the trace or over an excerpt.

        What a rebuild costs depends on how much is stored, so that a run with a failure has a small share of that for
        an excerpt. Everything is read back once for each candidate, with the first seed.
        """
        point = {**self.fixed, **candidate.point}
        share = 1.0
        if is_excerpt and not self.excerpts[run].is_all:
            excerpt = self.excerpts[run]
            share = excerpt.requests / self.requests
            if any(key.startswith(PROFILE) for key in point):
                point["limit"] = excerpt.requests  # the excerpt is of the profile as it was
            else:
                point |= {"trace": excerpt.path, "limit": 0, **AS_WRITTEN}
        elif run == CLOSED and self.requests > MOST_CLOSED:
            share = MOST_CLOSED / self.requests
            point["limit"] = MOST_CLOSED
        if share < 1 and (warmup := str(point.get("warmup", ""))):
            scaled = round(share * (int(warmup) if warmup.isdecimal() else parse_time("warmup", warmup)))
            point["warmup"] = str(scaled) if warmup.isdecimal() else f"{scaled}ns"
        if run == CLOSED:
            point |= {"queue_depth": QUEUE_DEPTH}
            for key in ("speed", "jitter_ns"):  # a closed loop has arrivals of its own
                point.pop(key, None)
            if int(point.get("device_queue_depth", 0)) >= QUEUE_DEPTH:  # and never so many requests
                for key in ("device_queue_depth", "queues", "fetch"):
                    point.pop(key, None)
        elif run == FAILING:
            is_first = seed in (None, 1)
            point |= {"fail": f"{self.fault}@50%", "verify": self.is_verified and is_first and not is_excerpt}
            if is_excerpt and "fill_bytes" in point:
                stored = int(SHARES[FAILING] * point["fill_bytes"])
                point["fill_bytes"] = max(1, stored // UNIT_BYTES) * UNIT_BYTES
        if seed is not None:
            point["seed"] = seed
        return point

    def is_part(self, run: str) -> bool:
        """Whether a run over its excerpt is another one than that over all of the trace."""
        return run == FAILING or not self.excerpts[run].is_all

    def times_as_long(self, run: str) -> float:
        """How many times as many requests a run over all of the trace has as one over its excerpt."""
        requests = min(self.requests, MOST_CLOSED) if run == CLOSED else self.requests
        return requests / self.excerpts[run].requests


@dataclass
class Search:
    """The search and what it has found."""

    tried: list[Tried]
    objectives: list[Objective]
    musts: list[Must]
    workload: Workload
    do: DoRuns
    _done: dict[str, int] = field(default_factory=dict)  # the flash operations of each run, by its name

    def run(self) -> list[Tried]:
        """Returns the finalists, each with all its figures."""
        if self.workload.excerpts:
            self._replay("excerpts", self.workload.once, excerpts=RUNS)
            for each in self.tried:
                self._estimate(each)
            self._narrow()
            self._take_back()
            self._narrow()  # with what the steps have left of the budget
            if not self._in():
                self._take_back(has_nothing=True)  # which is said only if it is certain
                self._replay("trace", {OPEN: 1})
        self._replay("final", self.workload.every_seed)
        return self._in()

    def _estimate(self, tried: Tried) -> None:
        """What the excerpts tell of the runs of a candidate: a longer trace has more requests, and more that is stored
        has more to be rebuilt.
        """
        excerpts, found = self.workload.excerpts, {run: operations_of(rows[0]) for run, rows in tried.rows.items()}
        tried.of_request = found.get(OPEN, 0) / max(1, excerpts[OPEN].requests)
        for run, operations in found.items():
            rebuilt = max(0.0, operations - tried.of_request * excerpts[run].requests) if run == FAILING else 0.0
            served = operations - rebuilt
            tried.estimates[run] = served * self.workload.times_as_long(run) + rebuilt / SHARES[FAILING]
            if not self.workload.is_part(run):
                tried.whole[run] = operations

    def _narrow(self) -> None:
        """Gives fewer and fewer candidates more runs over all of the trace, until the budget is spent."""
        once, every_seed, budget = self.workload.once, self.workload.every_seed, self.budget_left
        is_random = every_seed != once
        trace, others = {OPEN: 1}, {run: 1 for run in once if run != OPEN}
        self._select("excerpts", trace, budget * (FOR_TRACE if is_random else FOR_TRACE_ALONE))
        self._replay("trace", trace)
        self._select("trace", others, budget * FOR_OTHERS if is_random else self.budget_left)
        self._replay("other runs", others)
        if is_random:
            self._select("one seed", every_seed, self.budget_left)
            self._replay("final", every_seed)

    def _select(self, known: str, seeds: Seeds, budget: float) -> None:
        """Leaves those that by what is known of them are worth more runs, of each so many seeds, for a budget."""
        left = self._in()
        costs = [each.costs(self.objectives) for each in left]
        measured = [at for at, each in enumerate(self.objectives) if each.is_measured]
        prices = [
            sum(self._price(each, run) * max(0, count - each.done(run)) for run, count in seeds.items())
            for each in left
        ]
        selected = set(select(costs, measured, prices, budget))
        # Some are selected whatever they cost; once there are finalists, no more is spent than there is.
        has_finalists = any(self._is_final(each) for each in self.tried)
        if has_finalists and sum(prices[at] for at in selected) > budget:
            selected = {at for at in selected if not prices[at]}
        for at, each in enumerate(left):
            if at not in selected and not self._is_final(each):
                each.out = f"{known}: {NEARLY}"

    def _take_back(self, *, has_nothing: bool = False) -> None:
        """Those are in again that are out because others are as good or nearly so; and those of which an excerpt alone
        has shown that they cannot be, if nothing is left.
        """
        for each in self.tried:
            if each.out.endswith(NEARLY) or (has_nothing and each.out.startswith(OF_EXCERPT)):
                each.out = ""

    def _is_final(self, tried: Tried) -> bool:
        return all(tried.done(run) >= count for run, count in self.workload.every_seed.items())

    def _price(self, tried: Tried, run: str) -> float:
        """The flash operations of a run of a candidate over all of the trace, as well as they are known."""
        return tried.whole.get(run) or self.scale(run) * tried.estimates[run]

    def scale(self, *runs: str) -> float:
        """How many times what their excerpts tell runs over all of the trace cost; 1 as long as none is known."""
        known = [(each, run) for each in self.tried for run in runs if run in each.whole and run in each.estimates]
        told = sum(each.estimates[run] for each, run in known)
        return sum(each.whole[run] for each, run in known) / told if told else 1.0

    @property
    def cost(self) -> int:
        """The flash operations of all runs so far."""
        return sum(self._done.values())

    @property
    def share(self) -> float:
        """The most that this search may cost, as a share of an exhaustive one."""
        return min(1.0, BUDGET * max(1.0, FEWEST_CANDIDATES / len(self.tried)))

    @property
    def budget_left(self) -> float:
        """What may still be spent: for a short trace as much as for a long one, so that no more is missed."""
        seeds = self.workload.every_seed
        of_all = sum(self._price(each, run) * seeds[run] for each in self.tried for run in each.estimates)
        more = max(0, LONG_REQUESTS - self.workload.requests) * sum(seeds.values())
        return self.share * (of_all + more * sum(each.of_request for each in self.tried)) - self.cost

    def look_again(self, name: str, runs: Collection[str]) -> None:
        """Does these runs of all candidates once: over all of the trace, and over its excerpt, if there is one, with a
        failure, as such a run costs far more than the others.
        """
        self._replay(name, dict.fromkeys(runs, 1), excerpts=(FAILING,) if self.workload.excerpts else ())

    def _in(self) -> list[Tried]:
        return [each for each in self.tried if not each.out]

    def _replay(self, name: str, seeds: Seeds, *, excerpts: Collection[str] = ()) -> None:
        """Does these runs of the candidates that are left and have not done them, some of them over their excerpts, and
        says which cannot be.
        """
        left = [each for each in self._in() if any(each.done(run) < count for run, count in seeds.items())]
        points = [
            self.workload.point(each.candidate, run, 1 + number, is_excerpt=run in excerpts)
            for each in left
            for run, count in seeds.items()
            for number in range(count)
        ]
        found = iter(self.do(name, points) if points else [])
        for each in left:
            rows = {run: [next(found) for _ in range(count)] for run, count in seeds.items()}
            each.take(rows, self.objectives)
            self._done |= {row["run"]: operations_of(row) for of in rows.values() for row in of if "run" in row}
            whole = {run: of for run, of in rows.items() if run not in excerpts}
            each.whole |= {run: operations_of(of[0]) for run, of in whole.items()}
            parts = {run for run in rows if run in excerpts and self.workload.is_part(run)}
            each.out = self._why_false(whole) or self._why_out(rows, parts)

    def _why_out(self, rows: Mapping[str, Rows], parts: Collection[str]) -> str:
        """Why a candidate cannot be: a run of it failed, or it lacks what it must have.

        Some of the runs are over a part of the trace. With a failure only what is said to survive it must serve all
        requests.
        """
        for run, of in rows.items():
            for row in of:
                is_whole = row["status"] in ("done", "violation")
                if not is_whole and (run != FAILING or row.get(self._label) or row["status"] != "unserved"):
                    return f"{row['status']}: {row['reason'] or row.get('warnings') or 'requests failed'}"
                for must in self.musts:
                    if must.run == run and (why := must.why_not(row, is_excerpt=run in parts)):
                        return f"{OF_EXCERPT}{why}" if run in parts and must.is_measured else why
        return ""

    @property
    def _label(self) -> str:
        """The column that says whether a candidate survives the fault: of `device:0/chip:1.2` that of a chip."""
        return f"survives.{(self.workload.fault or '').rpartition('/')[2].partition(':')[0]}"

    def _why_false(self, rows: Mapping[str, Rows]) -> str:
        """Why a candidate does not do what its label says: it lost data by a failure that it is said to survive."""
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
