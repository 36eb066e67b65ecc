"""What candidates are judged by: figures of their runs, and which values are better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..evidence import is_sparse, known_tail, why_unfinished, why_void, words_of
from ..intervals import mean_and_half_width
from ..quantities import COUNT, PER_SECOND, SIZE, THOUSANDTHS, TIME, YEARS, Kind

# The runs of a candidate: the trace as it is, in a closed loop, and with a failure in its middle.
RUNS = OPEN, CLOSED, FAILING = "open", "closed", "failing"
# Bytes of memory below which two candidates are alike: what a controller has anyway.
FREE_BYTES = 64 << 10


@dataclass(frozen=True)
class Objective:
    """A figure: the run and the column that it is of, how it is called and written, and what it belongs to."""

    name: str
    title: str
    run: str
    column: str
    kind: Kind
    subject: str
    is_high_better: bool = False

    def cost(self, value: float | None) -> float:
        """The value as something to be kept low, on a scale in which ratios count; nothing is the worst."""
        if value is None:
            return float("inf")
        if self.kind is SIZE and not self.is_high_better:
            return value + FREE_BYTES
        return 1 / value if self.is_high_better and value else value or (float("inf") if self.is_high_better else 1e-9)

    @property
    def is_measured(self) -> bool:
        """Whether runs measure it; else it follows from the configuration."""
        return self.subject not in ("capacity", "memory", "protection")

    @property
    def better(self) -> str:
        """Which values are better."""
        return "high" if self.is_high_better else "low"


# The quantiles of latencies that can be compared, from the highest down.
TAILS = ("p99_99", "p99_9", "p99", "p90", "p50")
# Requests of each kind, of which there are enough for any quantile; a flush is rare.
MANY = {"read": 1 << 40, "write": 1 << 40}


def tail_of(kind: str, tail: str, counts: Mapping[str, int]) -> str:
    """The quantile of a kind of requests that is compared: the one asked for, or the next lower one that so many
    requests tell.
    """
    lower = TAILS[TAILS.index(tail) :]
    return known_tail([counts.get(kind, 0)], lower) or lower[-1]


def objectives(tail: str, has_failure: bool, counts: Mapping[str, int] = MANY) -> list[Objective]:
    """All objectives, latencies at this quantile (`p99`) or a lower one that is known of so many requests of each kind;
    that of flushes if there are any, and those of rebuilds if a failure is injected.
    """
    kinds = ["read", "write", *(["flush"] if counts.get("flush") else [])]
    found = [_latency(kind, tail_of(kind, tail, counts)) for kind in kinds]
    found += [
        Objective("throughput", "throughput", CLOSED, "bandwidth.requests_per_second", PER_SECOND, "throughput", True),
        Objective("write_amplification", "write amplification", OPEN, "write_amplification", THOUSANDTHS, "endurance"),
        Objective("capacity", "usable capacity", OPEN, "capacity.user_bytes", SIZE, "capacity", True),
        Objective("nvram", "NVRAM", OPEN, "capacity.nvram_bytes", SIZE, "memory"),
        Objective("dram", "DRAM", OPEN, "capacity.table_bytes", SIZE, "memory"),
    ]
    found += [
        Objective(f"survives_{part}", f"survives a {part}", OPEN, f"survives.{part}", COUNT, "protection", True)
        for part in ("chip", "channel", "device")
    ]
    found.append(
        Objective(
            "survives_failures", "failures survived at once", OPEN, "survives_failures", COUNT, "protection", True
        )
    )
    if has_failure:
        found += [
            Objective("rebuild", "rebuild", FAILING, "rebuild.0.window_of_vulnerability_ns", TIME, "rebuild"),
            Objective(
                "rebuild_tail", f"{words_of(tail)} in rebuild", FAILING, f"rebuild.0.latency_ns.{tail}", TIME, "rebuild"
            ),
        ]
    return found


def _latency(kind: str, tail: str) -> Objective:
    return Objective(f"{kind}_tail", f"{kind} {words_of(tail)}", OPEN, f"latency_ns.{kind}.{tail}", TIME, "latency")


WRITES_A_DAY = Kind((("drive writes a day", 1),))
# Shown beside the objectives if asked for (`--min-dwpd`): it takes a limit of erases, and a time that they are to last.
DWPD = Objective(
    "dwpd",
    "drive writes a day",
    OPEN,
    "lifetime.full_drive_writes_per_1000_cycles",
    Kind(),
    "endurance",
    is_high_better=True,
)
# Shown beside the objectives, of which it follows: years until the flash is worn out at this load.
LIFETIME = Objective("lifetime", "lifetime", OPEN, "lifetime.years", YEARS, "endurance", True)


@dataclass(frozen=True)
class Value:
    """A figure with its 95 % interval over the seeds: the mean, and half the interval's width."""

    mean: float | None
    half_width: float = 0.0
    each: tuple[float, ...] = ()
    is_sparse: bool = False
    """Whether it is a quantile, mean or rate of too few requests, or leaves out parities that are not written yet."""
    void: str = ""
    """Why it says nothing of the flash."""


def value_of(objective: Objective, rows: Sequence[Mapping[str, Any]]) -> Value:
    """The figure of an objective over the seeds of a candidate; none if a run lacks it."""
    kind = objective.column.rpartition(".")[0]
    if any(row.get(f"{kind}.count") == 0 for row in rows):  # latencies of no requests are none
        return Value(None)
    known = [row.get(objective.column) for row in rows]
    found = [float(value) for value in known if value is not None]
    if not found or len(found) < len(known):
        return Value(None)
    are_few = any(is_sparse(row.get, objective.column) for row in rows)
    if objective.subject == "endurance":
        are_few = any(why_unfinished(row.get) for row in rows)
    void = next((why for row in rows if (why := why_void(row.get, objective.column))), "")
    return Value(*mean_and_half_width(found), tuple(found), are_few, void)


def judged(objectives: Sequence[Objective], values: Sequence[Mapping[str, Value]]) -> list[Objective]:
    """The objectives that tell candidates with these values apart: without quantiles that are not known of all of them,
    and without figures that say nothing of the flash of any.
    """
    found = []
    for each in objectives:
        own = [of[each.name] for of in values if each.name in of]
        is_void = bool(own) and all(value.void for value in own)
        if not is_void and not any(value.is_sparse for value in own):
            found.append(each)
    return found
