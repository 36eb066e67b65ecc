"""The NAND timing of SPEC 0.4 as a plain event simulation: page reads and programs under static placement.

One bus a channel; `units_per_channel` array resources a channel (the chips if they are serial, the dies if they are
parallel), each doing one operation at a time. A read puts its command on the bus, then the array reads for `read_ns`
with the bus free, then the unit keeps its register until the data have gone over the bus. A program puts command and
data on the bus at once, then the array programs. A unit does not begin a program while a read waits for it. Page p is
on channel p mod channels; inside a channel planes vary fastest, then units, then the dies of a unit. No collection, no
buffer. With `Suspension` a read that meets a program suspends it (docs/spec/modern.md, 8.3).

That leaves open who gets a free bus, and when a page operation is queued: `Rules` has the engine's answers and those
of SSDsim 2.1.

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
    """A page operation that could use the bus now."""

    kind: str  # "command" of a read, "data_out" of a read, "program"
    unit: int
    die: int  # in its unit
    op: int  # running number of the page operation
    queued: int  # running number of its queueing: lower waits longer
    turn: int  # how many units after the one that used the bus last


# A rule that shares out the bus: the choice with the smallest key gets it.
Arbitration = Callable[[Choice], tuple[int, ...]]
PRIORITY = {"command": 0, "data_out": 1, "program": 2}


def in_turn(choice: Choice) -> tuple[int, ...]:
    """Read commands, then data-outs, then programs; each round robin over the units, and the oldest of a unit."""
    return PRIORITY[choice.kind], choice.turn, choice.queued


def programs_by_number(choice: Choice) -> tuple[int, ...]:
    """The same, but of the programs that of the lowest unit, there of the lowest die, and there the oldest."""
    if choice.kind == "program":
        return PRIORITY[choice.kind], choice.unit, choice.die, choice.queued
    return in_turn(choice)


def by_number(choice: Choice) -> tuple[int, ...]:
    """The same for data-outs too; of the read commands the oldest."""
    if choice.kind == "command":
        return PRIORITY[choice.kind], choice.queued
    return PRIORITY[choice.kind], choice.unit, choice.die, choice.queued


@dataclass(frozen=True)
class Rules:
    """What simulators with this timing do differently."""

    arbitration: Arbitration
    # The pages of a request come at once, and before the buses that are free in that instant choose. Else these choose
    # first, and again after each page.
    pages_at_once: bool
    # A program is queued when the former program of its page has ended. Else at its arrival.
    pages_in_order: bool
    # How long a read takes if a read of its page waits already, until the data-out of that begins; None: it waits too.
    shared_read_ns: int | None


ENGINE = Rules(in_turn, pages_at_once=False, pages_in_order=True, shared_read_ns=None)
SSDSIM = Rules(by_number, pages_at_once=True, pages_in_order=False, shared_read_ns=1000)


class Suspension(NamedTuple):
    """Programs that reads suspend."""

    min_ns: int  # how long the array runs before, since it started or went on
    suspend_ns: int
    resume_ns: int
    most_times: int  # for one program
    most_reads: int  # each time


class _PageOp(NamedTuple):
    request: int
    is_read: bool
    page: int
    channel: int
    unit: int
    die: int


@dataclass
class _Program:
    """The program that a unit is at."""

    op: int
    started_ns: int  # when the array started, or went on
    ends_ns: int
    times: int = 0  # how often it was suspended
    is_asked: bool = False  # it will be, as soon as it may
    rest_ns: int | None = None  # while it is suspended
    reads: int = 0  # begun since it was suspended


@dataclass
class _Channel:
    units: int
    dies: int
    reads: list[deque[int]] = field(init=False)  # page operations that wait, for each unit
    programs: list[list[deque[int]]] = field(init=False)  # for each unit and die
    ready: list[int | None] = field(init=False)  # read whose data wait in the register
    idle: list[bool] = field(init=False)
    programming: list[_Program | None] = field(init=False)
    paused: list[bool] = field(init=False)  # suspended, and free for a read
    bus_idle: bool = True
    last_unit: int = -1

    def __post_init__(self) -> None:
        self.reads = [deque() for _ in range(self.units)]
        self.programs = [[deque() for _ in range(self.dies)] for _ in range(self.units)]
        self.ready = [None] * self.units
        self.idle = [True] * self.units
        self.programming = [None] * self.units
        self.paused = [False] * self.units

    def choices(self, queued: list[int]) -> Iterator[Choice]:
        for unit in range(self.units):
            turn = (unit - self.last_unit - 1) % self.units
            data = self.ready[unit]
            if data is not None:
                yield Choice("data_out", unit, 0, data, queued[data], turn)
            elif (self.idle[unit] or self.paused[unit]) and self.reads[unit]:
                op = self.reads[unit][0]
                yield Choice("command", unit, 0, op, queued[op], turn)
            elif self.idle[unit]:
                for die, programs in enumerate(self.programs[unit]):
                    if programs:
                        yield Choice("program", unit, die, programs[0], queued[programs[0]], turn)


def responses_ns(
    requests: Iterable[Request],
    flash: Flash,
    program_end: bool = True,
    rules: Rules = ENGINE,
    suspension: Suspension | None = None,
) -> tuple[list[int], list[int]]:
    """Response times of the reads and of the writes, in the order of arrival; `requests` come in this order.

    A write completes at the end of the array's program, or else (`program_end` false) at the end of the data transfer.
    """
    arrivals: list[Request] = list(requests)
    completed = completions(arrivals, flash, program_end, rules, suspension)
    reads: list[int] = []
    writes: list[int] = []
    for request, (time, _) in zip(arrivals, completed, strict=True):
        (reads if request.is_read else writes).append(time - request.arrival_ns)
    return reads, writes


def completions(
    arrivals: list[Request],
    flash: Flash,
    program_end: bool = True,
    rules: Rules = ENGINE,
    suspension: Suspension | None = None,
) -> list[tuple[int, int]]:
    """When each request completes, and the number of the unit that is the last to be done with it: units that are done
    in one instant are so in the order of their numbers, channel by channel.
    """
    page_ops: list[_PageOp] = []
    coming: deque[tuple[int, list[int]]] = deque()  # when, and the page operations that come then at once
    for number, request in enumerate(arrivals):
        first = len(page_ops)
        for page in range(request.first_page, request.first_page + request.pages):
            row = page // flash.channels // flash.planes_per_die
            unit, die = row % flash.units_per_channel, row // flash.units_per_channel % flash.dies_per_unit
            page_ops.append(_PageOp(number, request.is_read, page, page % flash.channels, unit, die))
        ops = list(range(first, len(page_ops)))
        batches = [ops] if rules.pages_at_once else [[op] for op in ops]
        coming.extend((request.arrival_ns, batch) for batch in batches)
    completed = [(0, 0)] * len(arrivals)
    channels = [_Channel(flash.units_per_channel, flash.dies_per_unit) for _ in range(flash.channels)]
    queued = [0] * len(page_ops)
    queueings = 0
    programs_of: dict[int, deque[int]] = {}  # programs of a page that have come and not ended
    being_read: set[int] = set()  # pages of reads whose data-out has not begun
    # (time, running number, what, page operation). "bus" and "array" free bus and unit; "sensed": data in the register.
    events: list[tuple[int, int, str, int]] = []
    running = 0

    def at(time: int, what: str, op: int) -> None:
        nonlocal running
        running += 1
        heapq.heappush(events, (time, running, what, op))

    def queue(op: int, now: int) -> None:
        nonlocal queueings
        queueings += 1
        queued[op] = queueings
        of = page_ops[op]
        channel = channels[of.channel]
        (channel.reads[of.unit] if of.is_read else channel.programs[of.unit][of.die]).append(op)
        program = channel.programming[of.unit]
        if of.is_read and program is not None:
            ask(program, now)

    def ask(program: _Program, now: int) -> None:
        if suspension is None or program.is_asked or program.rest_ns is not None:
            return
        may_ns = max(now, program.started_ns + suspension.min_ns)
        if program.times < suspension.most_times and may_ns < program.ends_ns:
            program.is_asked = True
            at(may_ns, "suspend", program.op)

    def go_on(channel: _Channel, unit: int, now: int) -> None:
        """The unit of a suspended program can read, or goes on."""
        program = channel.programming[unit]
        assert suspension is not None
        assert program is not None
        assert program.rest_ns is not None
        channel.paused[unit] = bool(channel.reads[unit]) and program.reads < suspension.most_reads
        if not channel.paused[unit]:
            program.started_ns = now + suspension.resume_ns
            program.ends_ns = program.started_ns + program.rest_ns
            program.rest_ns, program.is_asked = None, False
            at(program.ends_ns, "programmed", program.op)
            if channel.reads[unit]:
                ask(program, now)

    def come(op: int, now: int) -> None:
        page = page_ops[op].page
        if page_ops[op].is_read and rules.shared_read_ns is not None and page in being_read:
            complete(op, now + rules.shared_read_ns)
            return
        if page_ops[op].is_read:
            being_read.add(page)
        elif rules.pages_in_order:
            programs_of.setdefault(page, deque()).append(op)
            if programs_of[page][0] != op:
                return
        queue(op, now)

    def end(op: int, now: int) -> None:
        if page_ops[op].is_read or not rules.pages_in_order:
            return
        programs = programs_of[page_ops[op].page]
        programs.popleft()
        if programs:
            queue(programs[0], now)
        else:
            del programs_of[page_ops[op].page]

    def complete(op: int, time: int) -> None:
        of = page_ops[op]
        completed[of.request] = max(completed[of.request], (time, of.channel * flash.units_per_channel + of.unit))

    while events or coming:
        now = min(waiting[0][0] for waiting in (events, coming) if waiting)
        touched = set()
        while events and events[0][0] == now:  # everything that ends now, before anything new starts
            _, _, what, op = heapq.heappop(events)
            channel, unit = channels[page_ops[op].channel], page_ops[op].unit
            touched.add(page_ops[op].channel)
            if what == "bus":
                channel.bus_idle = True
            elif what == "array":
                if channel.programming[unit] is None:
                    channel.idle[unit] = True
                else:
                    go_on(channel, unit, now)
                end(op, now)
            elif what == "sensed":
                channel.ready[unit] = op
            elif (program := channel.programming[unit]) is None or program.op != op:
                continue  # it has ended
            elif what == "suspend":
                assert suspension is not None
                program.rest_ns, program.reads, program.times = program.ends_ns - now, 0, program.times + 1
                at(now + suspension.suspend_ns, "suspended", op)
            elif what == "suspended":
                go_on(channel, unit, now)
            elif program.rest_ns is None and program.ends_ns == now:
                channel.programming[unit] = None
                channel.idle[unit] = True
                if program_end:
                    complete(op, now)
                end(op, now)
        if coming and coming[0][0] == now and (rules.pages_at_once or not touched):
            for op in coming.popleft()[1]:
                come(op, now)
                touched.add(page_ops[op].channel)
        for number in sorted(touched):
            channel = channels[number]
            best = min(channel.choices(queued), key=rules.arbitration, default=None) if channel.bus_idle else None
            if best is None:
                continue
            op, unit = best.op, best.unit
            channel.bus_idle, channel.idle[unit], channel.last_unit = False, False, unit
            if best.kind == "command":
                if (program := channel.programming[unit]) is not None:
                    channel.paused[unit] = False
                    program.reads += 1
                channel.reads[unit].popleft()
                at(now + flash.command_ns, "bus", op)
                at(now + flash.command_ns + flash.read_ns, "sensed", op)
            elif best.kind == "data_out":
                channel.ready[unit] = None
                being_read.discard(page_ops[op].page)
                done = now + flash.transfer_ns
                at(done, "bus", op)
                at(done, "array", op)
                complete(op, done)
            else:
                channel.programs[unit][best.die].popleft()
                done = now + flash.command_ns + flash.transfer_ns
                at(done, "bus", op)
                at(done + flash.program_ns, "programmed", op)
                channel.programming[unit] = _Program(op, done, done + flash.program_ns)
                if not program_end:
                    complete(op, done)
    return completed


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
