"""The NAND timing of SPEC 0.4 as a plain event simulation: page reads and programs under static placement.

One bus a channel; `units_per_channel` array resources a channel (the chips if they are serial, the dies if they are
parallel), each doing one operation at a time. A read puts its command on the bus, then the array reads for `read_ns`
with the bus free, then the unit keeps its register until the data have gone over the bus. A program puts command and
data on the bus at once, then the array programs. Reads go before programs in a unit; else first come first served.
Page p is on channel p mod channels, unit (p div channels) mod units. No collection, no buffer.

Slow on purpose: it walks over all units of a channel for every choice, and shares nothing with the engine.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reference.closed_forms import Flash


class Request(NamedTuple):
    """A host request of whole pages."""

    arrival_ns: int
    is_read: bool
    first_page: int
    pages: int


class Choice(NamedTuple):
    """A unit that could use the bus now."""

    kind: str  # "command" of a read, "data_out" of a read, "program"
    unit: int
    arrived: int  # running number of the page operation: lower arrived earlier
    turn: int  # how many units after the one that used the bus last


# A rule that shares out the bus: the choice with the smallest key gets it.
Arbitration = Callable[[Choice], tuple[int, int]]
PRIORITY = {"command": 0, "data_out": 1, "program": 2}


def round_robin(choice: Choice) -> tuple[int, int]:
    """Read commands, then data-outs, then programs; each round robin over the units."""
    return PRIORITY[choice.kind], choice.turn


def commands_in_order(choice: Choice) -> tuple[int, int]:
    """The same, but read commands in the order of arrival, as SSDsim 2.1 sends them."""
    return PRIORITY[choice.kind], choice.arrived if choice.kind == "command" else choice.turn


@dataclass
class _Channel:
    units: int
    reads: list[deque[int]] = field(init=False)  # page operations that wait, for each unit
    programs: list[deque[int]] = field(init=False)
    ready: list[int | None] = field(init=False)  # read whose data wait in the register
    idle: list[bool] = field(init=False)
    bus_idle: bool = True
    last_unit: int = -1

    def __post_init__(self) -> None:
        self.reads = [deque() for _ in range(self.units)]
        self.programs = [deque() for _ in range(self.units)]
        self.ready = [None] * self.units
        self.idle = [True] * self.units

    def choices(self) -> Iterator[Choice]:
        for unit in range(self.units):
            turn = (unit - self.last_unit - 1) % self.units
            data = self.ready[unit]
            if data is not None:
                yield Choice("data_out", unit, data, turn)
            elif self.idle[unit] and self.reads[unit]:
                yield Choice("command", unit, self.reads[unit][0], turn)
            elif self.idle[unit] and self.programs[unit]:
                yield Choice("program", unit, self.programs[unit][0], turn)


def responses_ns(
    requests: Iterable[Request], flash: Flash, program_end: bool = True, arbitration: Arbitration = round_robin
) -> tuple[list[int], list[int]]:
    """Response times of the reads and of the writes, in the order of arrival; `requests` come in this order.

    A write completes at the end of the array's program, or else (`program_end` false) at the end of the data transfer.
    """
    page_ops: list[tuple[int, bool, int, int, int]] = []  # arrival, is_read, channel, unit, request
    arrivals: list[Request] = list(requests)
    for number, request in enumerate(arrivals):
        for page in range(request.first_page, request.first_page + request.pages):
            channel_number, unit = page % flash.channels, page // flash.channels % flash.units_per_channel
            page_ops.append((request.arrival_ns, request.is_read, channel_number, unit, number))
    completed = [0] * len(arrivals)
    channels = [_Channel(flash.units_per_channel) for _ in range(flash.channels)]
    # (time, running number, channel, unit, what). "bus" and "array" free bus and unit; "sensed": data in the register.
    events: list[tuple[int, int, int, int, str]] = []
    running = 0

    def at(time: int, channel: int, unit: int, what: str) -> None:
        nonlocal running
        running += 1
        heapq.heappush(events, (time, running, channel, unit, what))

    def finish(op: int, time: int) -> None:
        completed[page_ops[op][4]] = max(completed[page_ops[op][4]], time)

    sensing: dict[tuple[int, int], int] = {}
    next_op = 0
    while events or next_op < len(page_ops):
        now = events[0][0] if events else page_ops[next_op][0]
        if next_op < len(page_ops):
            now = min(now, page_ops[next_op][0])
        touched = set()
        while events and events[0][0] == now:  # everything that happens now, before anything new starts
            _, _, number, unit, what = heapq.heappop(events)
            channel = channels[number]
            touched.add(number)
            if what == "bus":
                channel.bus_idle = True
            elif what == "array":
                channel.idle[unit] = True
            else:
                channel.ready[unit] = sensing[number, unit]
        while next_op < len(page_ops) and page_ops[next_op][0] == now:
            _, is_read, number, unit, _ = page_ops[next_op]
            (channels[number].reads if is_read else channels[number].programs)[unit].append(next_op)
            touched.add(number)
            next_op += 1
        for number in sorted(touched):
            channel = channels[number]
            best = min(channel.choices(), key=arbitration, default=None) if channel.bus_idle else None
            if best is None:
                continue
            unit = best.unit
            channel.bus_idle, channel.idle[unit], channel.last_unit = False, False, unit
            if best.kind == "command":
                sensing[number, unit] = channel.reads[unit].popleft()
                at(now + flash.command_ns, number, unit, "bus")
                at(now + flash.command_ns + flash.read_ns, number, unit, "sensed")
            elif best.kind == "data_out":
                channel.ready[unit] = None
                end = now + flash.transfer_ns
                at(end, number, unit, "bus")
                at(end, number, unit, "array")
                finish(best.arrived, end)
            else:
                op = channel.programs[unit].popleft()
                end = now + flash.command_ns + flash.transfer_ns
                at(end, number, unit, "bus")
                at(end + flash.program_ns, number, unit, "array")
                finish(op, end + (flash.program_ns if program_end else 0))
    reads: list[int] = []
    writes: list[int] = []
    for request, end in zip(arrivals, completed, strict=True):
        (reads if request.is_read else writes).append(end - request.arrival_ns)
    return reads, writes


def _splitmix64(seed: int) -> Iterator[int]:
    mask = (1 << 64) - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        yield z ^ z >> 31


def random_writes(count: int, gap_ns: int = 100_000, space_pages: int = 4_194_304) -> Iterator[Request]:
    """Workload (a): single-page writes at uniform addresses, one every `gap_ns`; splitmix64 with seed 1."""
    draw = _splitmix64(1)
    for i in range(count):
        yield Request(i * gap_ns, False, next(draw) % space_pages, 1)


def random_mix(count: int, gap_ns: int = 100_000, space_pages: int = 4_194_304) -> Iterator[Request]:
    """Workload (b): 70 % reads, 1 to 4 pages at uniform addresses, one every `gap_ns`; splitmix64 with seed 2."""
    draw = _splitmix64(2)
    for i in range(count):
        is_read = next(draw) % 10 < 7
        pages = 1 + next(draw) % 4
        yield Request(i * gap_ns, is_read, next(draw) % (space_pages - 3), pages)
