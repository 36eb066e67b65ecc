"""Cases of a drive of TLC beside MQSim: types of pages, planes together, suspension, and the write cache.

`benches/peers.py --mqsim-tlc PROGRAM` has MQSim replay the same requests, and compares its figures with those here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from reference.nand_model import Request
from validation.cases import Case, Figure, Runner, Section, Setup, responses_ns

PAGE_BYTES = 16_384
CHANNELS, CHIPS, DIES, PLANES = 8, 2, 1, 4
STRIDE = CHANNELS * CHIPS * DIES * PLANES  # page p is in plane p mod 64
PAGES_PER_BLOCK = 384
US, MS = 1_000, 1_000_000

# ---- types of pages

TYPES = LOWER, MIDDLE, UPPER = "lower", "middle", "upper"


def our_type(page: int) -> str:
    """Type of a page by its number in the block: each type in turn."""
    return TYPES[page % 3]


def mqsim_type(page: int) -> str:
    """The same in MQSim: six lower and two middle pages, then two of each type in turn."""
    if page < 8:
        return LOWER if page < 6 else MIDDLE
    return TYPES[(page - 8) // 2 % 3]


# ---- what is replayed


class Step(NamedTuple):
    """A request, what is measured with it, and the page whose type decides, by its number in the block."""

    request: Request
    kind: str
    page: int


@dataclass(frozen=True)
class Replay:
    """Requests, and how both simulators are set up for them."""

    name: str
    steps: tuple[Step, ...] = field(repr=False)
    setup: Setup
    mqsim: Mapping[str, object] = field(default_factory=dict, hash=False)  # parameters beside those of `MQSIM`


def read(at_ns: int, first_page: int, pages: int, kind: str, page: int) -> Step:
    """A read, as a step."""
    return Step(Request(at_ns, True, first_page, pages), kind, page)


def write(at_ns: int, first_page: int, pages: int, kind: str, page: int) -> Step:
    """A write, as a step."""
    return Step(Request(at_ns, False, first_page, pages), kind, page)


# MQSim's drive, beside what benches/peers.py writes: the preset `tlc` with four planes in place of two dies of two,
# as MQSim's chips do one thing at a time. Its transfer rates are whole ns for two bytes; its host link takes no time.
MQSIM = {
    "PCIe_Lane_Bandwidth": "100000.0",
    "Enable_ResponseTime_Logging": "true",
    "ResponseTime_Logging_Period_Length": 1,
    "Flash_Technology": "TLC",
    "Page_Read_Latency_LSB": 56_500,
    "Page_Read_Latency_CSB": 77_500,
    "Page_Read_Latency_MSB": 106_000,
    "Page_Program_Latency_LSB": 820_500,
    "Page_Program_Latency_CSB": 2_225_000,
    "Page_Program_Latency_MSB": 5_734_000,
    "Block_Erase_Latency": 3_000_000,
    "Flash_Channel_Count": CHANNELS,
    "Chip_No_Per_Channel": CHIPS,
    "Die_No_Per_Chip": DIES,
    "Plane_No_Per_Die": PLANES,
    "Block_No_Per_Plane": 512,
    "Page_No_Per_Block": PAGES_PER_BLOCK,
    "Page_Capacity": PAGE_BYTES,
    "Channel_Transfer_Rate": 1000,
}
DRIVE = {"dies_per_chip": DIES, "planes_per_die": PLANES, "allocation": "static", "bus_ps_per_byte": 1000}
ONE = {**DRIVE, "read_command_ns": 290, "program_command_ns": 361}
# MQSim's commands for four planes take 2,240 and 2,809 ns; here each page has a command.
TOGETHER = {**DRIVE, "read_command_ns": 560, "program_command_ns": 702, "multi_plane": True}
# MQSim serves one read in a suspension, goes on in no time, and adds a command of 95 ns to `Suspend_Program_Time`.
SUSPENDING = {
    **ONE,
    "suspend": "program",
    "suspend_min_ns": 0,
    "suspend_ns": 100_095,
    "resume_ns": 0,
    "suspend_reads": 1,
}
SETTLED = 20  # pages of a plane in which MQSim has two turns of its types behind the first eight pages

SINGLE = Replay(
    "single pages",
    (
        *(write(10 * MS * at, at, 1, "program", at // STRIDE) for at in range(STRIDE * SETTLED)),
        *(read(20_000 * MS + MS * at, at, 1, "read", at // STRIDE) for at in range(STRIDE * SETTLED)),
    ),
    Setup("tlc", ONE, device="tlc"),
)


def behind(at_ns: int, step: Step) -> tuple[Step, Step]:
    """A read that keeps the die busy, and 10 us later this step."""
    request = step.request._replace(arrival_ns=at_ns + 10 * US)
    return read(at_ns, 0, 1, "first", 0), step._replace(request=request)


FOUR_PLANES = Replay(
    "four planes",
    (
        write(0, 0, PLANES, "program on an idle die", 0),
        *(
            step
            for page in range(1, SETTLED)
            for step in behind(20 * MS * page, write(0, PLANES * page, PLANES, "program", page))
        ),
        *(
            step
            for page in range(SETTLED)
            for step in behind(1_000 * MS + MS * page, read(0, PLANES * page, PLANES, "read", page))
        ),
    ),
    Setup("tlc-planes-one-die", {**TOGETHER, "channels": 1, "chips_per_channel": 1}, device="tlc"),
    {"Flash_Channel_Count": 1, "Chip_No_Per_Channel": 1},
)
BLOCKS = Replay(
    "blocks",
    (
        *(write(page, STRIDE * page, STRIDE, "programs", page) for page in range(PAGES_PER_BLOCK)),
        *(read(2_000 * MS + page, STRIDE * page, STRIDE, "reads", page) for page in range(PAGES_PER_BLOCK)),
    ),
    Setup("tlc-planes", TOGETHER, device="tlc"),
)


def interrupted(reads: int) -> tuple[Step, ...]:
    """Programs of the pages of one plane; 300 us after the arrival of each but the first come reads of the first."""
    steps = [write(0, 0, 1, "", 0)]
    for page in range(1, SETTLED):
        at_ns = 50 * MS * page
        steps.append(write(at_ns, STRIDE * page, 1, "program", page))
        steps += (read(at_ns + 300 * US + number, 0, 1, f"read {number + 1}", page) for number in range(reads))
    return tuple(steps)


WAITING = Replay("read behind program", interrupted(1), SINGLE.setup)
SUSPENDED = Replay(
    "reads suspend program",
    interrupted(2),
    Setup("tlc-suspend", SUSPENDING, device="tlc"),
    {
        "CMD_Suspension_Support": "PROGRAM",
        "Suspend_Program_Time": 100_000,
        "Preferred_suspend_write_time_for_read": 100_000,
    },
)
CACHED = Replay(
    "cache",
    tuple(
        step
        for page in range(SETTLED)
        for step in (
            write(50 * MS * page, page, 1, "write", 0),
            read(50 * MS * page + 200 * US, page, 1, "read before the program ends", 0),
            read(50 * MS * page + 20 * MS, page, 1, "read afterwards", 0),
        )
    ),
    # A page takes 13 + 13 ns and 8,192 times 1.25 ns for two bytes.
    Setup("tlc-cache", {**ONE, "buffer_bytes": 268_435_456, "buffer_ns": 10_266}, device="tlc"),
    {
        "Device_Level_Data_Caching_Mode": "WRITE_CACHE",
        "Data_Cache_DRAM_Row_Size": PAGE_BYTES,
        "Data_Cache_DRAM_Data_Rate": 800,
    },
)
REPLAYS = (SINGLE, FOUR_PLANES, BLOCKS, WAITING, SUSPENDED, CACHED)

# ---- what is measured


@dataclass(frozen=True)
class Row:
    """A figure of a replay: the mean response time of steps of a kind, or the time from the first to the last end."""

    name: str
    replay: Replay
    kind: str
    page_type: str | None  # of which pages; None: of all
    mqsim_ns: int
    source: str  # how MQSim's figure is composed
    tolerance: float | None = 0.005
    is_mean: bool = True

    def figure_ns(self, responses: Sequence[int], type_of: Callable[[int], str]) -> float:
        """The figure, given the response times of all steps and the types of pages."""
        wanted = [
            (step.request.arrival_ns, response)
            for step, response in zip(self.replay.steps, responses, strict=True)
            if step.kind == self.kind and self.page_type in (None, type_of(step.page))
        ]
        if self.is_mean:
            return sum(response for _, response in wanted) / len(wanted)
        return max(start + response for start, response in wanted) - min(start for start, _ in wanted)

    def case(self) -> Case:
        """The row of docs/validation.md."""

        def measure(_runner: Runner) -> Figure:
            return Figure(self.figure_ns(engine_ns(self.replay), our_type))

        source = f"MQSim{', repaired' if self.replay is SUSPENDED else ''}: {self.source}"
        return Case(
            self.name,
            self.replay.name,
            self.replay.setup,
            self.mqsim_ns,
            "ns",
            0,
            self.tolerance,
            source,
            measure,
        )


@cache
def engine_ns(replay: Replay) -> list[int]:
    """The engine's response times."""
    return responses_ns([step.request for step in replay.steps], replay.setup, PAGE_BYTES)


def by_type(name: str, replay: Replay, kind: str, mqsim_ns: tuple[int, int, int], source: str) -> list[Row]:
    """A row for each type of page."""
    return [
        Row(f"{name}, {page_type} page", replay, kind, page_type, figure, source)
        for page_type, figure in zip(TYPES, mqsim_ns, strict=True)
    ]


ROWS = (
    *by_type("program", SINGLE, "program", (837_245, 2_241_745, 5_750_745), "361 + 16,384 + tPROG"),
    *by_type("read", SINGLE, "read", (73_194, 94_194, 122_694), "290 + tR + 20 + 16,384"),
    *by_type(
        "program of four planes",
        FOUR_PLANES,
        "program",
        (952_039, 2_356_539, 5_865_539),
        "63,194 of the first read + 2,809 + 4 x 16,384 + tPROG",
    ),
    *by_type(
        "read of four planes",
        FOUR_PLANES,
        "read",
        (187_490, 208_490, 236_990),
        "63,194 of the first read + 2,240 + tR + 20 + 4 x 16,384",
    ),
    Row(
        "program of four planes, idle die",
        FOUR_PLANES,
        "program on an idle die",
        None,
        888_845,
        "2,809 + 4 x 16,384 + tPROG",
        None,
    ),
    Row(
        "programs of a block of each plane",
        BLOCKS,
        "programs",
        None,
        1_130_434_828,
        "384 x (2,809 + 4 x 16,384) + sum of tPROG, one transfer, and 3 of the link",
        0.03,
        is_mean=False,
    ),
    Row(
        "reads of a block of each plane",
        BLOCKS,
        "reads",
        None,
        81_721_491,
        "384 x (2,240 + 20 + 8 x 16,384) + sum of tR, and 3 of the link",
        None,
        is_mean=False,
    ),
    *by_type(
        "read behind a program",
        WAITING,
        "read 1",
        (610_439, 2_014_939, 5_523_939),
        "rest of the program + a read",
    ),
    Row("read that suspends a program", SUSPENDED, "read 1", None, 173_289, "95 + 100,000 + a read"),
    Row("the next read", SUSPENDED, "read 2", None, 346_577, "twice that"),
    *by_type(
        "program that two reads suspend",
        SUSPENDED,
        "program",
        (1_183_823, 2_588_323, 6_097_323),
        "the program + twice that",
    ),
    Row("write into the cache", CACHED, "write", None, 10_266, "13 + 13 + 8,192 x 1.25"),
    Row("read out of the cache", CACHED, "read before the program ends", None, 10_266, "13 + 13 + 8,192 x 1.25"),
    Row("read 20 ms later", CACHED, "read afterwards", None, 73_194, "a read of flash", None),
)


def listed(parameters: Mapping[str, object]) -> str:
    """Parameters of MQSim, as text."""
    return ", ".join(f"{key} {value}" for key, value in parameters.items())


SECTION = Section(
    "Response times of MQSim on a drive of TLC",
    f"""\
Mean response times in ns, and the time from the first arrival to the last completion of programs and reads of a block,
on 8 channels x 2 chips x 4 planes x 512 blocks x 384 pages of 16 KiB, page mapping, no GC, and no buffer but in the
rows that name the cache. Requests are those of `tests/validation/tlc.py`:

- single pages: 20 pages of each plane are written, one every 10 ms, then read, one every ms.
- four planes: on one die, 4 pages are written or read 10 us after a read of one page has come to it; before all others
  4 pages are written to the idle die.
- blocks: 384 writes of 64 pages, at once; when they are done, reads of the same.
- read behind program, reads suspend program: a page is written every 50 ms, and 300 us after each write the first page
  of the same plane is read, once or twice.
- cache: a page is written every 50 ms, and read 200 us and 20 ms later.

MQSim ran with the configuration that `benches/peers.py` writes for it but for: {listed(MQSIM)}; for four planes
{listed(FOUR_PLANES.mqsim)}; for reads suspend program {listed(SUSPENDED.mqsim)}; for cache {listed(CACHED.mqsim)}.
The MQSim was changed to print ns, and its suspension repaired, as *Suspension* below says. `benches/peers.py
--mqsim-tlc PROGRAM` has such a build replay all of this, and compares.""",
    tuple(row.case() for row in ROWS),
    after="""\
- *Types of pages.* `Flash_Chip::Get_command_execution_latency` takes pages 0 to 5 of a block as lower and 6 and 7 as
  middle ones, then two of each type in turn; here each type is in turn from the first page on. A row has the pages that
  are of its type in the simulator. Of the 384 pages of a block 132, 128 and 124 are of the three types in MQSim, here
  128 of each: so its programs of a block take 1.8 % less. MQSim's array reads take 20 ns more than they are told
  (`_RBSignalDelayRead`).
- *Four planes.* Both simulators need pages with the same number in their blocks. MQSim's
  `TSU_Base::issue_command_to_chip` looks for them in all of a chip's queue, here they must wait one behind the other.
  An idle die begins the first page of a request at once here, and the others together when that is done; MQSim
  schedules when all pages of the request are queued. Where work waits, as in the other rows, that makes no difference.
- *Reads of a block.* In MQSim a free channel takes data out before it sends a command
  (`NVM_PHY_ONFI_NVDDR2::Execute_simulator_event`), here it sends commands of reads first, so that one chip senses while
  the other's data are on the bus. In MQSim each chip waits until the data of both are out.
- *Suspension.* MQSim as it is never suspends, whatever `CMD_Suspension_Support` says: in `service_read_transaction`
  of its schedulers the case of a program that can be suspended falls through to the one that gives up, so that reads
  wait as in the rows before. Repaired, that case ends, and the constructors hand the arguments of `TSU_Base` over in
  their order; `NVM_PHY_ONFI_NVDDR2` marks each suspended chip as such (it does so only while a transfer is on),
  resumes the die that was suspended and no other, and counts it as active; without that neither the program ends nor
  what its chip does later. Then the settings of `tlc-suspend` give its times. MQSim demands that
  `Preferred_suspend_write_time_for_read` of the program is left, where `suspend_min_ns` is what must have passed, and
  resumes after each read, in no time. It erases only under GC: erases that are suspended are not compared.
- *Cache.* MQSim begins to program a page as soon as it has been written, and drops it from the cache with the end of
  the program (`write_to_destage_buffer` and `handle_transaction_serviced_signal_from_PHY` of
  `Data_Cache_Manager_Flash_Advanced`).
  Here a page stays, and is not programmed, until the buffer is as full as `destage_high_water` says or a flush comes;
  what has left is not cached either. A request of several pages is one access to MQSim's DRAM, which serves one at a
  time; `buffer_ns` is the time of each page, and pages are accessed side by side.""",
)
