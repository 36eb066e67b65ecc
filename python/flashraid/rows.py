"""The rows of a comparison, before the results are known: the name, the place of the figure, and how it is written."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .evidence import PEAK_TO_MEAN
from .quantities import (
    COUNT,
    HUNDREDTHS,
    MB_PER_SECOND,
    PER_SECOND,
    PER_SECOND_OF_ARRIVALS,
    SHARE,
    SIZE,
    THOUSANDTHS,
    TIME,
    YEARS,
    Kind,
)

WORDS = None


@dataclass(frozen=True)
class Row:
    """A row before the results are known. It is left out where no result has its figure."""

    name: str
    path: str
    kind: Kind | None
    better: Literal["low", "high"] | None = None
    is_needed: bool = True
    """Whether it says something where every scheme has 0."""
    note: str = ""
    unless: str = ""
    """The path of a figure that says the same, and leaves the row out."""

    @property
    def is_latency(self) -> bool:
        """Whether its figure is one of latencies, which are all 0 without requests."""
        return "latency_ns." in self.path or self.path.startswith(AROUND)

    @property
    def is_price(self) -> bool:
        """Whether its figure follows from scheme and device, whatever was replayed."""
        return self.path.startswith("capacity.") and self.path not in (OVER_PROVISIONING, USABLE)

    @property
    def scales(self) -> bool:
        """Whether its figure is a time that is as much shorter as the drive is smaller."""
        is_of_events = self.path.startswith(("rebuild.", "replacements.")) and not self.is_latency
        return self.is_lifetime or is_of_events

    @property
    def is_lifetime(self) -> bool:
        """Whether its figure is a time, and so depends on the load as well as on the flash."""
        return self.path.startswith(LIFETIME)


CAPACITY = Row("capacity, closed loop", "requests_per_second", PER_SECOND, "high")
BUSIEST = Row("busiest load", "workload.busiest_load", HUNDREDTHS)
BACKLOG = Row("growth of the longest wait", "workload.backlog_growth", PER_SECOND_OF_ARRIVALS, is_needed=False)
AMPLIFICATION, COLLECTIONS = "write_amplification", "collection.collections"
LIFETIME, DRIVE_WRITES = "lifetime.years", "lifetime.full_drive_writes"
OVER_PROVISIONING = "capacity.effective_over_provisioning"
USABLE = "capacity.usable_over_provisioning"
AROUND = "latency_around_rebuilds_ns"
OWN_CAPACITY = "of the user capacity of the scheme itself: one that offers less counts more of them for the same bytes"
WORN = "until the mean block is worn out, if this load goes on and write amplification stays what it was in this run"


def _latencies(kind: str, called: str = "") -> tuple[Row, ...]:
    names = {"mean": "mean", "p50": "p50", "p99": "p99", "p99_9": "p99.9"}
    return tuple(
        Row(f"{called or kind} latency {name}", f"latency_ns.{kind}.{key}", TIME, "low") for key, name in names.items()
    )


def _event(event: str, first: str, ended: str) -> Iterator[Row]:
    name = event.removesuffix("s")
    yield Row(first, f"{event}.0.{ended}", TIME, "low", note=f"of the first {name}, as are latencies during it")
    for key, shown in {"mean": "mean", "p99_9": "p99.9", "max": "max"}.items():
        better: Literal["low"] | None = None if key == "max" else "low"  # a maximum is one request
        yield Row(f"{shown} during the {name}", f"{event}.0.latency_ns.{key}", TIME, better)


def _around() -> Iterator[Row]:
    for kind in ("read", "write"):
        for phase in ("before", "during", "after"):
            yield Row(f"{kind} latency p99 {phase} them", f"{AROUND}.{phase}.{kind}.p99", TIME)


def _parts() -> Iterator[Row]:
    for part in ("host", "redundancy", "gc", "metadata"):
        yield Row(f"of which {part}", f"write_amplification_by.{part}", THOUSANDTHS, is_needed=False)
    for part in ("rebuild", "retry", "migration", "warmup", "failed", "drain"):
        yield Row(f"apart from it: {part}", f"write_amplification_by.{part}", THOUSANDTHS, is_needed=False)


SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    (
        "price",
        (
            Row("user capacity", "capacity.user_bytes", SIZE, "high"),
            Row("redundancy overhead", "capacity.redundancy_share", SHARE, "low"),
            Row("flash bytes per user byte", "capacity.raw_per_user_byte", THOUSANDTHS, "low"),
            Row("DRAM of mapping tables", "capacity.table_bytes", SIZE, "low"),
            Row("NVRAM", "capacity.nvram_bytes", SIZE, "low"),
            Row("effective over-provisioning", OVER_PROVISIONING, SHARE),
            Row("spare that GC can use", USABLE, SHARE),
        ),
    ),
    (
        "protection",
        (
            Row("survives the loss of", "survives.text", WORDS),
            Row("exposed pages, mean", "window.mean_pages", HUNDREDTHS),
            Row("exposed pages, at most", "window.peak_pages", COUNT),
            Row("time with exposed pages", "window.exposed_ns", TIME),
        ),
    ),
    (
        "load",
        (
            Row("offered load", "workload.offered_load", HUNDREDTHS),
            BUSIEST,
            BACKLOG,
            Row("throughput", "bandwidth.requests_per_second", PER_SECOND),
            Row("read", "bandwidth.read_bytes_per_second", MB_PER_SECOND),
            Row("written", "bandwidth.write_bytes_per_second", MB_PER_SECOND),
            CAPACITY,
        ),
    ),
    ("read latency", _latencies("read")),
    ("write latency", _latencies("write")),
    ("flush latency", _latencies("flush")),
    ("discard latency", _latencies("trim", "discard")),
    ("rebuild", tuple(_event("rebuild", "window of vulnerability", "window_of_vulnerability_ns"))),
    ("replacement", tuple(_event("replacements", "time of replacement", "duration_ns"))),
    ("around rebuilds and replacements", tuple(_around())),
    (
        "flash",
        (
            Row("programs per host page", "pages_per_host_page", THOUSANDTHS, "low"),
            Row("write amplification", AMPLIFICATION, THOUSANDTHS, "low"),
            *_parts(),
            Row("GC runs", COLLECTIONS, COUNT),
            Row("pre-reads", "flash_ops.reads.pre_read", COUNT),
            Row("commit reads", "flash_ops.reads.commit", COUNT, is_needed=False),
            Row("parity programs", "flash_ops.programs.parity", COUNT),
            Row("commit programs", "flash_ops.programs.commit", COUNT, is_needed=False),
            Row("GC programs", "flash_ops.programs.gc", COUNT),
        ),
    ),
    (
        "wear",
        (
            Row("erases", "flash_ops.erases.total", COUNT, "low"),
            Row("mean erases of a block", "wear.erase_mean", HUNDREDTHS, "low", is_needed=False),
            Row("drive writes until worn out", DRIVE_WRITES, COUNT, note=OWN_CAPACITY),
            Row("lifetime", LIFETIME, YEARS, "high", note=WORN),
            Row(
                "drive writes per 1,000 P/E cycles",
                f"{DRIVE_WRITES}_per_1000_cycles",
                COUNT,
                note=OWN_CAPACITY,
                unless=DRIVE_WRITES,
            ),
            Row(
                "lifetime per 1,000 P/E cycles",
                f"{LIFETIME}_per_1000_cycles",
                YEARS,
                "high",
                note=WORN,
                unless=LIFETIME,
            ),
            Row("busiest member, to the mean", PEAK_TO_MEAN, HUNDREDTHS, "low"),
        ),
    ),
    (
        "failures",
        (
            Row("failed for lack of space", "requests.failed.no_space", COUNT, is_needed=False),
            Row("failed for lost data", "requests.failed.lost", COUNT, is_needed=False),
            Row("refused", "requests.failed.refused", COUNT, is_needed=False),
            Row("unfinished", "requests.unfinished", COUNT, is_needed=False),
            Row("host pages lost", "losses.host_pages", COUNT, is_needed=False),
            Row("mismatches", "verify.mismatches", COUNT),
            Row("lost in further failures", "verify.pages_lost", COUNT),
        ),
    ),
)
