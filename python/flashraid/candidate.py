"""A scheme of a comparison with its results: the figures of a row, and why they may say less than they seem to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import evidence
from .compared import Results
from .intervals import mean_of
from .record import Record
from .rows import AMPLIFICATION, CAPACITY, DRIVE_WRITES, OVER_PROVISIONING, USABLE, Row

# What parities that are not written yet would change.
OF_PROGRAMS = (AMPLIFICATION, "pages_per_host_page", DRIVE_WRITES, f"{DRIVE_WRITES}_per_1000_cycles")
OVERLOADED = "overloaded: latency grows with the length of the trace"
INTERRUPTED = "interrupted"
OVERLONG = "overloaded: the device takes longer than the trace, and so writes less in a day"
OWN_LOAD = "lifetime at the load that the scheme itself allows: in a closed loop, a faster one writes more in a day"
UNEVEN = (
    1.1  # of the programs of the busiest member, to the mean: from there on a lifetime of the mean is not that of all
)
MIRROR_CHIPS = "counts blocks of mirror chips, which take only copies: GC of the other chips cannot use them"
NO_COLLECTION = "no GC ran"
UNPROTECTED = "in a closed loop redundancy may not be written until the end, as the device is never idle"
WITHOUT_SUCCESS = (
    "requests.failed.no_space",
    "requests.failed.lost",
    "requests.failed.refused",
    "requests.unfinished",
)


def value_at(result: Record, path: str) -> Any:
    """What stands at a path of the JSON, where a number stands for a place in a list; None if there is nothing."""
    value: Any = result
    for name in path.split("."):
        if isinstance(value, list):
            value = value[int(name)] if int(name) < len(value) else None
            continue
        if not isinstance(value, Record) or name not in value:
            return None
        value = value[name]
    return value


def has_collected(result: Record) -> bool:
    """Whether GC moved pages or ended a run."""
    return any(value_at(result, f"collection.{key}") for key in ("collections", "copies"))


def look_at(result: Record) -> evidence.Look:
    """Looks up the figures of a result."""
    return lambda path: value_at(result, path)


@dataclass(frozen=True)
class Candidate:
    """A scheme with its results."""

    first: Record
    """The run as it was asked for, with the first seed."""
    results: tuple[Record, ...]
    """The runs whose figures are shown: the repeats, or those of each seed."""
    capacity: Record | None

    @property
    def name(self) -> str:
        """The scheme, and whether its results are of a part."""
        scheme: str = self.first["scheme"]
        return f"{scheme} (partial)" if self.is_partial else scheme

    @property
    def is_partial(self) -> bool:
        """Whether a run of it was interrupted."""
        return any(each["partial"] for each in self.results)

    @property
    def is_repeated(self) -> bool:
        """Whether its runs tell what chance changes."""
        return evidence.is_repeated([look_at(each) for each in self.results])

    @property
    def is_protected(self) -> bool:
        """Whether it survives any failure."""
        return any(value is True for value in self.first["survives"].to_dict().values())

    def doubt_of(self, row: Row) -> str:
        """Why a figure is not to be compared with those of others; empty if it is."""
        if row is CAPACITY:
            # The closed loop has the requests of the run.
            return UNPROTECTED if self.first["window"] is not None else self._first_of(evidence.why_no_flash)
        if row.is_lifetime:
            if any(value_at(each, "config.run.queue_depth") for each in self.results):
                return OWN_LOAD
            why = self._doubt(OVERLONG)
            if why:
                return f"lifetime at another load than that of the trace: {why}"
            return self._first_of(evidence.why_unfinished)
        if row.path in (OVER_PROVISIONING, USABLE):
            return MIRROR_CHIPS if value_at(self.first, "config.device.mirror_chips") else ""
        if row.is_latency:
            return self._doubt(OVERLOADED)
        if self.is_partial and row.better and not row.is_price:
            return INTERRUPTED
        return self._first_of(evidence.why_unfinished) if row.path in OF_PROGRAMS else ""

    def _first_of(self, why: Callable[[evidence.Look], str]) -> str:
        """What is to be said of the runs: of the first of which there is something to say."""
        return next((text for each in self.results if (text := why(look_at(each)))), "")

    def _doubt(self, overloaded: str) -> str:
        """Why a figure that depends on time is not to be compared, with what an overload means for it."""
        failed = max(sum(value_at(each, path) or 0 for path in WITHOUT_SUCCESS) for each in self.results)
        reasons = [INTERRUPTED] if self.is_partial else []
        reasons += [overloaded] if any(is_overloaded(each) for each in self.results) else []
        reasons += [f"requests without success, which it leaves out: {failed:,}"] if failed else []
        return "; ".join(reasons)

    def why_void(self, row: Row) -> str:
        """Why the figure says nothing of the flash; empty if it does."""
        return self._first_of(lambda look: evidence.why_void(look, row.path))

    def is_sparse(self, row: Row) -> bool:
        """Whether the row's figure is one of too few requests."""
        if row is CAPACITY:
            return self.capacity is not None and evidence.are_few(self.capacity["requests"], "rate")
        if not (row.is_latency or row.better):
            return False
        return any(evidence.is_sparse(look_at(each), row.path) for each in self.results)

    @property
    def unevenness(self) -> float:
        """How many times faster than the mean the busiest member wears out; 1 if it is hardly faster, or not known."""
        if any(evidence.is_sparse(look_at(each), evidence.PEAK_TO_MEAN) for each in self.results):
            return 1.0
        peaks = [value_at(each, evidence.PEAK_TO_MEAN) for each in self.results]
        peak = mean_of([each or 1 for each in peaks])
        return peak if peak > UNEVEN else 1.0

    def values(self, row: Row) -> list[Any]:
        """The row's figure in each result; None where there is none, or where nothing was measured."""
        if row is CAPACITY:
            found = [] if self.capacity is None else value_at(self.capacity, "repeats") or [self.capacity]
            return [each[row.path] for each in found] or [None]
        counted = f"{row.path.rpartition('.')[0]}.count"
        return [
            None if row.is_latency and not value_at(each, counted) else value_at(each, row.path)
            for each in self.results
        ]


def is_overloaded(result: Record) -> bool:
    """Whether the device cannot keep up with the arrivals, so that latencies depend on the length of the trace."""
    return evidence.is_overloaded(look_at(result))


def candidates(comparison: Results) -> list[Candidate]:
    """The schemes of a comparison, in its order."""
    groups = [
        tuple(comparison.results[at : at + comparison.seeds])
        for at in range(0, len(comparison.results), comparison.seeds)
    ]
    repeats = [*map(tuple, comparison.repeats), *([()] * len(groups))]
    rates = [*comparison.capacity, *([None] * len(groups))]
    return [
        Candidate(group[0], again or group, capacity)
        for group, again, capacity in zip(groups, repeats, rates, strict=False)
    ]


def tail_of(kind: str, found: Sequence[Candidate], among: Sequence[str]) -> str | None:
    """The path of the highest of these quantiles that is known of a kind of requests under all schemes that have it."""
    results = [result for each in found if not each.is_partial for result in each.results]
    counts = [count for result in results if (count := value_at(result, f"latency_ns.{kind}.count"))]
    name = evidence.known_tail(counts, among)
    return name and f"latency_ns.{kind}.{name}"


def listed(names: Sequence[str]) -> str:
    """A list in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
