"""What candidates are judged by: figures of their runs, and which values are better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


def objectives(tail: str, has_failure: bool) -> list[Objective]:
    """All objectives, latencies at this quantile (`p99`); those of rebuilds if a failure is injected."""
    found = [
        Objective("read_tail", f"read {_words(tail)}", OPEN, f"latency_ns.read.{tail}", TIME, "latency"),
        Objective("write_tail", f"write {_words(tail)}", OPEN, f"latency_ns.write.{tail}", TIME, "latency"),
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
    if has_failure:
        found += [
            Objective("rebuild", "rebuild", FAILING, "rebuild.0.window_of_vulnerability_ns", TIME, "rebuild"),
            Objective(
                "rebuild_tail", f"{_words(tail)} in rebuild", FAILING, f"rebuild.0.latency_ns.{tail}", TIME, "rebuild"
            ),
        ]
    return found


def _words(tail: str) -> str:
    return tail.replace("_", ".")


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


def value_of(objective: Objective, rows: Sequence[Mapping[str, Any]]) -> Value:
    """The figure of an objective over the seeds of a candidate; none if a run lacks it."""
    kind = objective.column.rpartition(".")[0]
    if any(row.get(f"{kind}.count") == 0 for row in rows):  # latencies of no requests are none
        return Value(None)
    known = [row.get(objective.column) for row in rows]
    found = [float(value) for value in known if value is not None]
    if not found or len(found) < len(known):
        return Value(None)
    return Value(*mean_and_half_width(found), tuple(found))
