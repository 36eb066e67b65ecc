"""Cases whose figure follows from a formula: unloaded times, an M/D/1 queue, bandwidth, greedy collection."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from reference import closed_forms, gc_policies, greedy_wa, queueing
from validation.cases import PAGE_BYTES, Case, Figure, Runner, Section, Setup, Workload

# ---- unloaded times ----

# A request every millisecond never meets another.
SINGLE_READS = Workload("single-reads", requests=1000, space_pages=100_000, interval_ns=1_000_000, read_share=1.0)
SINGLE_WRITES = Workload("single-writes", requests=1000, space_pages=100_000, interval_ns=1_000_000)
FILLED = Setup("filled", {"fill": 0.1})
PROGRAM_END = Setup("program-end", {"write_completes": "program_end"})
DATA_IN = Setup("data-in", {"write_completes": "data_in"})
SSD1 = closed_forms.Flash()


def single(kind: str, workload: Workload, setup: Setup, expected: int, formula: str) -> list[Case]:
    """Least and greatest response time of requests that never meet."""

    def of(bound: str) -> Callable[[Runner], Figure]:
        return lambda runner: Figure(runner.run(workload, setup).latency[kind][bound])

    return [
        Case(f"{kind}, {bound}", workload.name, setup, expected, "ns", 0, 0.0, formula, of(bound))
        for bound in ("min", "max")
    ]


UNLOADED = Section(
    "Unloaded times",
    """\
One page on an idle device. SSDsim 2.1 measures the same read, and the same write when it completes at data-in.""",
    (
        *single("read", SINGLE_READS, FILLED, closed_forms.unloaded_read_ns(SSD1), "command + array read + data out"),
        *single("write", SINGLE_WRITES, DATA_IN, closed_forms.unloaded_write_ns(SSD1, False), "command + data in"),
        *single("write", SINGLE_WRITES, PROGRAM_END, closed_forms.unloaded_write_ns(SSD1, True), "the same + program"),
    ),
    workloads=(SINGLE_READS, SINGLE_WRITES),
)

# ---- M/D/1 ----

ONE_PLANE = {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1}
ONE_DIE = Setup("one-die", {**ONE_PLANE, "blocks_per_plane": 512, "gc_threshold": 0.05, "fill": 1})
SERVICE_NS = closed_forms.unloaded_read_ns(SSD1)


def md1(load: float, requests: int) -> Case:
    """Mean waiting time over 20 seeds; the load is that of the interval in whole nanoseconds."""
    interval_ns = round(SERVICE_NS / load)
    first = Workload("poisson-reads", requests, 29_000, interval_ns, read_share=1.0, arrivals="poisson")

    def measure(runner: Runner) -> Figure:
        results = (runner.run_once(replace(first, seed=seed), ONE_DIE) for seed in range(1, queueing.SEEDS + 1))
        return Figure(*queueing.mean_and_half_width([result.latency.read.mean - SERVICE_NS for result in results]))

    name = f"waiting time at load {load}"
    workload = f"{requests:,} reads, every {interval_ns:,} ns on average, seeds 1 to {queueing.SEEDS}"
    expected = queueing.md1_waiting_ns(SERVICE_NS / interval_ns, SERVICE_NS)
    return Case(name, workload, ONE_DIE, expected, "ns", 0, 0.01, "Pollaczek-Khinchine", measure, quick=False)


MD1 = Section(
    "M/D/1 queue",
    """\
Poisson reads of single pages on one die: nothing overlaps, so a read is served for 122,575 ns and waits ρS / (2 (1 −
ρ)) on average. The interval of 95 % over 20 seeds must contain the formula, and its half-width be at most 1 %.""",
    (md1(0.3, 1_000_000), md1(0.6, 1_000_000), md1(0.9, 2_000_000)),
)

# ---- bandwidth ----

# Each request writes as many pages to every channel and unit, so that chance leaves none of them idle.
LARGE_WRITES = Workload("large-writes", 6400, space_pages=1 << 20, interval_ns=0, min_pages=64, max_pages=64)


def bandwidth(name: str, setup: Setup, units_per_channel: int) -> Case:
    """Bytes programmed a second with 64 large requests outstanding."""

    def measure(runner: Runner) -> Figure:
        result = runner.run(LARGE_WRITES, setup)
        bytes_per_second = result.bandwidth.write_bytes_per_second
        assert bytes_per_second is not None, "nothing was written"
        return Figure(bytes_per_second / 1e6)

    flash = closed_forms.Flash(units_per_channel=units_per_channel)
    expected = closed_forms.program_bytes_per_second(flash) / 1e6
    source = "the smaller of the bounds of bus and array"
    return Case(name, LARGE_WRITES.name, setup, expected, "MB/s", 3, 0.01, source, measure)


CLOSED = {"queue_depth": 64}
FEW = {**CLOSED, "chips_per_channel": 1, "blocks_per_plane": 8192}
DIES = {"lun": "die"}
TWO_CHIPS = {**CLOSED, "chips_per_channel": 2, "static_order": "WPD", "blocks_per_plane": 8192}
BANDWIDTH = Section(
    "Program bandwidth at saturation",
    """\
Writes of 64 pages, 64 of them outstanding at any time. A channel's bus takes a page every 102,575 ns; a LUN
every 302,575 ns, its transfer included.""",
    (
        bandwidth("bus-bound, 8 dies a channel", Setup("eight-dies", {**CLOSED, **DIES}), 8),
        bandwidth("bus-bound, 3 dies a channel", Setup("three-dies", {**FEW, **DIES, "dies_per_chip": 3}), 3),
        bandwidth("array-bound, 2 dies a channel", Setup("two-dies", {**FEW, **DIES}), 2),
        bandwidth(
            "array-bound, 2 chips a channel, static", Setup("two-chips", {**TWO_CHIPS, "allocation": "static"}), 2
        ),
        bandwidth("array-bound, 1 die a channel", Setup("single-die", {**FEW, "dies_per_chip": 1}), 1),
    ),
    workloads=(LARGE_WRITES,),
)

# ---- greedy collection ----

BLOCKS, PAGES_PER_BLOCK = 4096, 64
# Blocks that are never victims: one erased block that `gc_reserve_blocks` = 2 keeps for moves, the block open for the
# host, and the block open for moves.
NOT_TAKING_PART = 3
OVERWRITES = 2_000_000


def one_plane(name: str, blocks: int, logical_pages: int, settings: Mapping[str, Any]) -> Setup:
    """One plane that is overwritten until collection is steady; GC starts when the host has no block left."""
    shared = {
        **ONE_PLANE,
        "blocks_per_plane": blocks,
        "over_provisioning": 0.01,  # no bound: `space_bytes` is the logical space
        "space_bytes": logical_pages * PAGE_BYTES,
        "gc_threshold": NOT_TAKING_PART / blocks,
        "gc_reserve_blocks": 2,
        "gc_blocking_scope": "none",
        "precondition": "random:10",  # fills the space, and overwrites until collection is steady
        "queue_depth": 1,
    }
    return Setup(name, shared | dict(settings))


def programs_per_write(runner: Runner, setup: Setup, logical_pages: int) -> float:
    """Programs for each page that the host overwrites."""
    result = runner.run_once(Workload("overwrites", OVERWRITES, logical_pages, interval_ns=0), setup)
    programs = result.flash_ops.programs
    if not result.precondition.steady or programs.total != programs.host + programs.gc:
        raise AssertionError(f"{setup.name}: {result.precondition}, {programs}")
    return programs.total / programs.host


def greedy(utilisation: float) -> list[Case]:
    """Programs for each host write: of the engine, and of a Monte Carlo run of the rules."""
    taking_part = BLOCKS - NOT_TAKING_PART
    logical_pages = math.floor(utilisation * taking_part * PAGES_PER_BLOCK)
    setup = one_plane(f"greedy-{utilisation}", BLOCKS, logical_pages, {})

    def measure(runner: Runner) -> Figure:
        return Figure(programs_per_write(runner, setup, logical_pages))

    def simulate(runner: Runner) -> Figure:
        blocks = BLOCKS if runner.most_requests is None else BLOCKS // 64
        return Figure(greedy_wa.simulate(utilisation, separate_streams=True, blocks=blocks))

    expected = greedy_wa.mean_field(logical_pages / taking_part / PAGES_PER_BLOCK, PAGES_PER_BLOCK)
    source = "mean field of greedy collection (Van Houdt 2013, Desnoyers 2014; derived in tests/reference/greedy_wa.py)"
    name = f"write amplification at utilisation {utilisation}"
    workload = f"{OVERWRITES:,} overwrites of {logical_pages:,} pages"
    rules = "the same rules, no engine"
    return [
        Case(name, workload, setup, expected, "", 4, 0.03, source, measure, quick=False),
        Case(f"{name}, Monte Carlo", rules, None, expected, "", 4, 0.03, source, simulate, quick=False),
    ]


GREEDY = Section(
    "Write amplification of greedy GC",
    """\
Uniformly random overwrites of single pages on one plane of 4096 blocks of 64 pages under one FTL instance; GC
starts below three blocks of free pages. Utilisation is the share of valid pages in the blocks that can be victims:
4093, as the block open for the host, the block open for moves and the one erased block that `gc_reserve_blocks` = 2
reserves for moves never are. (Counting one block more or less changes the formula by 0.05, 0.09 and 0.19 % at 0.7, 0.8
and 0.9.)""",
    (*greedy(0.7), *greedy(0.8), *greedy(0.9)),
)

# ---- other policies ----

# Smaller than the plane above, as the models look at all of its blocks for each victim.
FEW_BLOCKS, UTILISATION = 1024, 0.877


def policy(
    value: str, pages_per_block: int, expected: Callable[[float], float], source: str, utilisation: float = UTILISATION
) -> Case:
    """Programs for each host write under a policy; `expected` of the utilisation of the blocks that take part."""
    taking_part = (FEW_BLOCKS - NOT_TAKING_PART) * pages_per_block
    logical_pages = math.floor(utilisation * taking_part)
    settings = {"gc_policy": value, "pages_per_block": pages_per_block}
    setup = one_plane(f"{value}-{utilisation}-{pages_per_block}", FEW_BLOCKS, logical_pages, settings)

    def measure(runner: Runner) -> Figure:
        return Figure(programs_per_write(runner, setup, logical_pages))

    name = f"{value}, utilisation {utilisation}, {pages_per_block} pages in a block"
    workload = f"{OVERWRITES:,} overwrites of {logical_pages:,} pages"
    figure = expected(logical_pages / taking_part)
    return Case(name, workload, setup, figure, "", 4, 0.03, source, measure, quick=False)


def beside_model(value: str, rule: gc_policies.Rule) -> Case:
    """The same, over what a model with nothing but the rule has."""
    pages_per_block = PAGES_PER_BLOCK
    logical_pages = math.floor(UTILISATION * (FEW_BLOCKS - NOT_TAKING_PART) * pages_per_block)
    setup = one_plane(f"{value}-{UTILISATION}-{pages_per_block}", FEW_BLOCKS, logical_pages, {"gc_policy": value})

    def measure(runner: Runner) -> Figure:
        blocks = FEW_BLOCKS if runner.most_requests is None else FEW_BLOCKS // 16
        model = gc_policies.simulate(rule, UTILISATION, blocks, pages_per_block)
        return Figure(programs_per_write(runner, setup, logical_pages) / model)

    name = f"{value} over its model, utilisation {UTILISATION}, {pages_per_block} pages in a block"
    workload = f"{OVERWRITES:,} overwrites of {logical_pages:,} pages"
    source = "the rule alone, looking at all blocks (tests/reference/gc_policies.py)"
    return Case(name, workload, setup, 1.0, "", 4, 0.03, source, measure, quick=False)


OF_FIFO = "fixed point (Desnoyers 2014, section 4; tests/reference/greedy_wa.py)"
OF_DRAWS = "fixed point of d-choices (Van Houdt 2013; derived in tests/reference/gc_policies.py)"
WINDOW = FEW_BLOCKS // 8
POLICIES = Section(
    "Write amplification of other GC policies",
    """\
The same on a plane of 1024 blocks, by `gc_policy`. Draws are tried with small blocks, in which they matter most. Blocks
without garbage are not drawn, as the paper's are: with those, one draw would give 8.13. (One block more that takes part
changes FIFO's figure at 0.877 by 0.66 %. In the models the block that the host has just filled does.)""",
    (
        *(policy("fifo", 64, greedy_wa.fifo, OF_FIFO, utilisation) for utilisation in (0.8, UTILISATION)),
        *(
            policy(f"d:{draws}", 16, partial(gc_policies.d_choices, pages_per_block=16, draws=draws), OF_DRAWS)
            for draws in (1, 2, 4, 10)
        ),
        beside_model(f"windowed:{WINDOW}", gc_policies.windowed(WINDOW)),
        beside_model("cost_benefit", gc_policies.cost_benefit),
    ),
)
