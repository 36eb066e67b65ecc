"""What a data sheet measures: each line with its requests, its depth and the state of the drive."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any, NamedTuple

from ..profile_text import toml
from ..settings import Pairs
from ..sizes import unit_bytes_of

KIB = 1024
SEQUENTIAL_BYTES, RANDOM_BYTES = 128 * KIB, 4 * KIB
SEQUENTIAL_DEPTH = 32
DEPTHS = SINGLE, DEEP = 1, 256
# Share of reads in the mixed line.
MIXED_READS = 0.7
# Measured requests of a line, at most; and with --quick.
SEQUENTIAL_REQUESTS, RANDOM_REQUESTS = 20_000, 100_000
QUICK = 10
# Requests before those that are measured, for each of these, where GC is to be under way.
WARMUP_SHARE = 0.1
# And what is written before: so often what the memory of the drive holds, and the spare of a block of each plane. A
# drive has both to itself when it has been prepared.
WARMUP_FILLS = 2
# And what is written while it is measured: so often what that memory holds, as GC for what it still holds at the end
# counts.
MEASURED_FILLS = 100
# What is written of a fresh drive: with more, GC might start. Random writes of a mapping unit also program parities.
FRESH_SEQUENTIAL, FRESH_RANDOM = 0.5, 0.25
# The least drive: the sequential requests that are under way at a time fit into what is written of it.
LEAST_BYTES = int(SEQUENTIAL_DEPTH * SEQUENTIAL_BYTES / FRESH_SEQUENTIAL)


class Drive(NamedTuple):
    """What a measurement depends on: of a drive of which a slice is simulated, that of the slice."""

    slices: int
    user_bytes: int
    unit_bytes: int  # of a mapping unit
    staging_bytes: int  # of the memory in which units wait for their program
    spare_bytes: int  # beyond the user's, of a block of each plane

    @classmethod
    def of(cls, user_bytes: int, device: Mapping[str, Any], ssds: int) -> "Drive":
        """Of the device of a configuration, of which the host gets so many bytes of what is simulated."""
        slices = device["slice"]
        dies = prod(device[key] for key in ("channels", "chips_per_channel", "dies_per_chip"))
        planes = ssds * dies // slices * device["planes_per_die"]
        block_bytes = device["pages_per_block"] * device["page_bytes"]
        spare_share = max(1 - user_bytes / (planes * device["blocks_per_plane"] * block_bytes), 0)
        return cls(
            slices,
            user_bytes,
            unit_bytes_of(device),
            device["staging_bytes"] // slices,
            int(planes * block_bytes * spare_share),
        )


class State(Enum):
    """What the drive has been through before the first request."""

    ERASED = "erased"
    FILLED = "filled"  # written once, in order
    STEADY = "steady"  # then overwritten at random until GC is steady

    @property
    def settings(self) -> Pairs:
        """The settings that bring the drive into it."""
        fill = [] if self is State.ERASED else [("fill", "1")]
        return fill + ([("precondition", "steady")] if self is State.STEADY else [])


class Latency(Enum):
    """The latencies of a line of random requests: keys of the result."""

    MEAN = "mean"
    P50 = "p50"
    P99 = "p99"
    P99_9 = "p99_9"
    P99_99 = "p99_99"


@dataclass(frozen=True)
class Measurement:
    """A line of the sheet, and the run that measures it."""

    name: str
    title: str
    read_share: float
    queue_depth: int
    state: State
    is_sequential: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes of each request."""
        return SEQUENTIAL_BYTES if self.is_sequential else RANDOM_BYTES

    @property
    def is_steady(self) -> bool:
        """Whether GC is steady."""
        return self.state is State.STEADY

    @property
    def figures(self) -> Mapping[str, str]:
        """The names of its figures, by where the result has them."""
        if self.is_sequential:
            kind = "read" if self.read_share else "write"
            return {f"bandwidth.{kind}_bytes_per_second": f"{self.name}_mb_s"}
        latencies = {f"latency_ns.all.{each.value}": f"{self.name}_{each.value}_ns" for each in Latency}
        return {"bandwidth.requests_per_second": f"{self.name}_iops"} | latencies

    def is_of(self, drive: Drive) -> bool:
        """Whether it can be measured: each slice has as many requests under way."""
        return self.queue_depth % drive.slices == 0

    def requests(self, drive: Drive, is_quick: bool) -> int:
        """How many requests are measured."""
        is_fresh = self.state is State.ERASED
        if self.is_sequential:  # nothing is read or written twice
            room = int(drive.user_bytes // SEQUENTIAL_BYTES * (FRESH_SEQUENTIAL if is_fresh else 1))
            return min(SEQUENTIAL_REQUESTS // (QUICK if is_quick else 1), room)
        most = RANDOM_REQUESTS // (QUICK if is_quick else 1)
        if is_fresh:
            return min(most, int(drive.user_bytes // drive.unit_bytes * FRESH_RANDOM))
        fills = MEASURED_FILLS // (QUICK if is_quick else 1) * drive.staging_bytes
        return max(most, self.to_write(fills)) if self.is_steady else most

    def to_write(self, size_bytes: int) -> int:
        """How many requests write so many bytes; none if no request writes."""
        write_share = 1 - self.read_share
        return int(size_bytes / self.size_bytes / write_share) if write_share else 0

    def warmup(self, drive: Drive, requests: int) -> int:
        """How many requests come before the measured ones."""
        if not self.is_steady:
            return 0
        return max(
            int(requests * WARMUP_SHARE), self.to_write(WARMUP_FILLS * (drive.staging_bytes + drive.spare_bytes))
        )

    def profile(self, drive: Drive, requests: int, seed: int) -> str:
        """The profile of all requests, as TOML."""
        ops = {op: share for op, share in (("read", self.read_share), ("write", 1 - self.read_share)) if share}
        stream = {
            "ops": {op: round(share, 9) for op, share in ops.items()},
            "sizes": {"law": "fixed", "bytes": self.size_bytes},
            "addresses": {"law": "sequential" if self.is_sequential else "uniform"},
            "align_bytes": self.size_bytes,
        }
        profile = {
            "about": self.title,
            "requests": requests + self.warmup(drive, requests),
            "space_bytes": drive.user_bytes // self.size_bytes * self.size_bytes,
            "seed": seed,
            # Of no effect in a closed loop.
            "arrivals": {"law": "fixed", "interval_ns": 1},
            "streams": [stream],
        }
        return "".join(f"{key} = {toml(value)}\n" for key, value in profile.items())

    def settings(self, drive: Drive, requests: int) -> Pairs:
        """The settings of its run, beside those of the drive."""
        warmup = self.warmup(drive, requests)
        return [
            *self.state.settings,
            ("queue_depth", str(self.queue_depth // drive.slices)),
            *([("warmup", str(warmup))] if warmup else []),
        ]


def _random(kind: str, depth: int, is_steady: bool) -> Measurement:
    fresh, state = State.FILLED if kind == "read" else State.ERASED, "steady" if is_steady else "fresh"
    return Measurement(
        f"random_{kind}_qd{depth}_{state}",
        f"random {kind}, depth {depth}, {state}",
        1.0 if kind == "read" else 0.0,
        depth,
        State.STEADY if is_steady else fresh,
    )


def _measurements() -> Iterator[Measurement]:
    for kind, state in (("read", State.FILLED), ("write", State.ERASED)):
        title = f"sequential {kind}, depth {SEQUENTIAL_DEPTH}"
        read_share = 1.0 if kind == "read" else 0.0
        yield Measurement(f"sequential_{kind}", title, read_share, SEQUENTIAL_DEPTH, state, is_sequential=True)
    for is_steady in (False, True):
        for kind in ("read", "write"):
            for depth in DEPTHS:
                yield _random(kind, depth, is_steady)
    name, title = f"mixed_qd{DEEP}_steady", f"mixed {MIXED_READS:.0%} reads, depth {DEEP}, steady"
    yield Measurement(name, title, MIXED_READS, DEEP, State.STEADY)


MEASUREMENTS = tuple(_measurements())
# The line whose write amplification the endurance rests on.
WORN_BY = next(each for each in MEASUREMENTS if each.name == f"random_write_qd{DEEP}_steady")
