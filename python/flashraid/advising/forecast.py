"""How long a search is likely to take: all of its rounds, by what the runs that are done have taken."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..sweeping.job import REPLAY_SECONDS, SECONDS
from .excerpts import LONG_REQUESTS, SHARES
from .objectives import CLOSED, FAILING, OPEN
from .search import Search, operations_of

# Of a search whose budget its excerpts have spent, so many candidates do all runs all the same.
FEWEST_FINALISTS = 6


@dataclass
class _Taken:
    """What runs of one kind took."""

    runs: int = 0
    operations: float = 0.0
    seconds: float = 0.0
    replay_seconds: float = 0.0

    @property
    def each_operations(self) -> float:
        return self.operations / self.runs

    @property
    def fixed_seconds(self) -> float:
        """What each took beside its requests: to prepare or copy a drive, and to read the trace."""
        return (self.seconds - self.replay_seconds) / self.runs


@dataclass(frozen=True)
class ChangedRuns:
    """What a round does that tries some of the front under another load, fill or buffer."""

    runs: Collection[str]
    times_stored: float = 1.0  # how many times as much is stored as the question says


def kind_of(point: Mapping[str, Any]) -> str:
    """Which run of a candidate a point is."""
    return FAILING if point.get("fail") else CLOSED if "queue_depth" in point else OPEN


@dataclass
class Forecast:
    """What is left of a search, told while it is at work."""

    search: Search
    threads: int
    changes: Sequence[ChangedRuns]  # rounds after the search, in their order
    candidates_of_change: int
    _whole: dict[str, _Taken] = field(default_factory=lambda: defaultdict(_Taken))
    _parts: dict[str, _Taken] = field(default_factory=lambda: defaultdict(_Taken))
    _round: str = ""
    _budget: float = 0.0  # seconds that the search may take from the beginning of this round on

    def begin(self, name: str) -> None:
        """A round begins."""
        self._round = name
        if name not in ROUNDS:
            self.changes = self.changes[1:]
        elif name != EXCERPTS:
            self._budget = self._of_operations(max(0.0, self.search.budget_left))

    def take(self, point: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        """A run of this round is done."""
        if self._round not in ROUNDS:
            return
        run = kind_of(point)
        if point.get("verify") and run in self._parts and self.search.workload.every_seed[run] > 1:
            return  # it reads everything back, and most of those to come do not
        is_part = self._round == EXCERPTS and self.search.workload.is_part(run)
        taken = (self._parts if is_part else self._whole)[run]
        seconds = float(row.get(SECONDS) or 0.0)
        taken.runs += 1
        taken.operations += operations_of(row)
        taken.seconds += seconds
        taken.replay_seconds += float(row.get(REPLAY_SECONDS) or seconds)

    def later(self, elapsed: float, share: float) -> float | None:
        """How many seconds all that follows this round is likely to take, of which so large a share is done after so
        many seconds; None as long as that cannot be told.
        """
        workload = self.search.workload
        if any(run not in self._whole and run not in self._parts for run in workload.runs) or not share:
            return None
        changes = self.candidates_of_change * sum(map(self._of_change, self.changes)) / self.threads
        if not workload.excerpts or self._round not in ROUNDS:
            return changes
        if self._round == EXCERPTS:
            return self._after_excerpts() + changes
        return max(0.0, self._budget - elapsed / share) + changes

    def _of_change(self, change: ChangedRuns) -> float:
        """The seconds of the runs of a candidate under a change."""
        found = 0.0
        for run in change.runs:
            if run == FAILING and FAILING in self._parts:
                found += self._parts[run].seconds / self._parts[run].runs
            else:
                found += self._seconds(run) + (change.times_stored - 1) * self._filling_seconds
        return found

    @property
    def _filling_seconds(self) -> float:
        """What it takes to store what is stored: drives of excerpts with a failure store a share of it."""
        if FAILING not in self._parts:
            return 0.0  # which is little where there are no excerpts
        whole, part = self._like.fixed_seconds, self._parts[FAILING].fixed_seconds
        return max(0.0, whole - part) / (1 - SHARES[FAILING])

    @property
    def _like(self) -> _Taken:
        """Runs whose drives store all that is stored."""
        return self._parts[OPEN] if OPEN in self._parts else self._whole[OPEN]

    def _after_excerpts(self) -> float:
        """The rounds that spend the budget; some candidates do all runs whatever it is."""
        workload, count = self.search.workload, len(self.search.tried)
        seeds = workload.every_seed
        of_all = sum(self._operations(run) * seeds[run] for run in seeds)
        of_request = self._operations(OPEN) / max(1, workload.requests)
        of_all += max(0, LONG_REQUESTS - workload.requests) * of_request * sum(seeds.values())
        spent = sum((self._parts if run in self._parts else self._whole)[run].each_operations for run in seeds)
        budget = self._of_operations(max(0.0, count * (self.search.share * of_all - spent)))
        fewest = min(count, FEWEST_FINALISTS) * sum(self._seconds(run) * seeds[run] for run in seeds) / self.threads
        return max(budget, fewest)

    def _of_operations(self, operations: float) -> float:
        """How many seconds runs over all of the trace take that need so many flash operations."""
        seeds = self.search.workload.every_seed
        if any(run not in self._whole and run not in self._parts for run in seeds):
            return 0.0
        of_all = sum(self._operations(run) * seeds[run] for run in seeds)
        seconds = sum(self._seconds(run) * seeds[run] for run in seeds)
        return operations * seconds / of_all / self.threads if of_all else 0.0

    def _operations(self, run: str) -> float:
        """The flash operations of a run over all of the trace."""
        if run in self._whole:
            return self._whole[run].each_operations
        part, workload = self._parts[run].each_operations, self.search.workload
        if run != FAILING:
            return part * workload.times_as_long(run)
        served = self._operations(OPEN) / max(1, workload.requests) * workload.excerpts[run].requests
        rebuilt = max(0.0, part - served)
        return (part - rebuilt) * workload.times_as_long(run) + rebuilt / SHARES[FAILING]

    def _seconds(self, run: str) -> float:
        """The seconds of a run over all of the trace."""
        if run in self._whole:
            return self._whole[run].seconds / self._whole[run].runs
        part = self._parts[run]
        each = part.replay_seconds / part.operations if part.operations else 0.0
        return self._like.fixed_seconds + each * self._operations(run)


# The rounds of a search, as `Search` names them; others try its answer under another load.
EXCERPTS = "excerpts"
ROUNDS = (EXCERPTS, "trace", "other runs", "final")
