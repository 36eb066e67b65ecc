"""Replaying a trace under several schemes, side by side, to compare them."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any, Unpack

from . import machine
from ._native import InputError
from .chance import Chance, Variant, chance_of
from .comparison import Comparison
from .files import can_be_read_again, must_be_read_again, scratch_folder
from .interrupts import Interrupts
from .outputs import OpenOutputs, Outputs
from .profile_text import repetition
from .replay import INTERRUPTED, VIOLATION, Interrupted, RunArguments, doubts
from .result import Result
from .settings import (
    EQUAL,
    SPACE,
    Pairs,
    Path,
    Progress,
    Share,
    bare,
    check_flags,
    check_progress,
    check_texts,
    configuration,
    device_and_config,
    drive_file,
    for_each,
    known_name,
    pairs,
    path_text,
    possible,
    texts,
)
from .side_by_side import Begin, Done, Place, Run, SharedDevice, SideBySide, Together, ended
from .sizes import check_range

# The closed loop that measures a scheme's capacity: its queue depth, and the most requests that it replays.
QUEUE_DEPTH = 32
MOST_REQUESTS = 100_000

MOST_SEEDS = 1000


@dataclass(frozen=True)
class Plan:
    """A comparison that can begin: what is replayed, how, and under which schemes."""

    trace: str
    device: str | None
    config: str | None
    schemes: Sequence[str]
    shares: Sequence[Share]  # the settings of each scheme
    left_out: Mapping[str, str]  # schemes that the device cannot have, and why
    outputs: Outputs
    engine: bool
    chance: Chance  # how often each run is done
    capacity: bool
    jobs: int | None
    needed_bytes: Sequence[int]  # the memory of a run of each scheme
    has_loops: bool  # whether the capacity of each scheme takes another replay, in a closed loop

    @property
    def seeds(self) -> int:
        """With how many seeds each run was asked for."""
        return len(self.chance.asked)

    @property
    def runs(self) -> int:
        """How many there will be, if none is interrupted or fails."""
        loops = 1 + len(self.chance.loops) if self.has_loops else 0
        return len(self.schemes) * (self.seeds + len(self.chance.new) + loops)


def planned(
    trace: str,
    device: str | None,
    config: str | None,
    schemes: Sequence[str],
    settings: Pairs,
    outputs: Outputs,
    *,
    engine: bool,
    seeds: int | None,
    capacity: bool,
    jobs: int | None,
    json_target: str | None = None,
    equal: str = SPACE,
) -> Plan:
    """Checks what was asked for, and completes it. "all" stands for every scheme that the device can have.

    Without `seeds`, each run is repeated if that is little work (`chance`).
    """
    if seeds is not None:
        check_range(outputs.label("seeds"), seeds, 1, MOST_SEEDS)
    if jobs is not None:
        check_range(outputs.label("jobs"), jobs, 1, machine.MOST_JOBS)
    others = [*outputs.files, *outputs.times, *(["fio"] if outputs.fio else [])]
    if seeds not in (None, 1) and others:
        raise InputError(f"{outputs.label(others[0])}: is of one run: allowed without {outputs.label('seeds')}")
    if (drive := drive_file(settings)) is not None:
        label = outputs.label("drive")
        raise InputError(f"{label} {drive}: a drive has one scheme and one past: allowed is one run, with one seed")
    left_out: dict[str, str] = {}
    if list(schemes) == ["all"]:
        schemes, left_out = possible(device, config, settings)
    outputs.check(json_target, schemes, trace=trace, device=device, config=config)
    known_name(outputs.label("equal"), equal, EQUAL)
    shares = for_each(device, schemes, config, settings, equal)
    details = [
        configuration(device, scheme, config, share.settings) for scheme, share in zip(schemes, shares, strict=True)
    ]
    needed_bytes = [detail["memory_bytes"] for detail in details]
    run = details[0]["config"]["run"]
    is_closed = run["queue_depth"] != 0
    chance = chance_of(trace, (device, schemes[0], config), shares[0].settings, run, len(schemes), seeds)
    has_loops = capacity and not is_closed and can_be_read_again(trace)
    return Plan(
        trace,
        device,
        config,
        schemes,
        shares,
        left_out,
        outputs,
        engine,
        chance,
        capacity,
        jobs,
        needed_bytes,
        has_loops,
    )


def compare(
    trace: Path,
    *,
    device: Path | None = None,
    schemes: Iterable[str] | str,
    config: Path | None = None,
    engine: bool = True,
    progress: Progress | None = None,
    seeds: int | None = None,
    capacity: bool = True,
    equal: str = SPACE,
    jobs: int | None = None,
    **settings: Unpack[RunArguments],
) -> Comparison:
    """Replays a trace under each of the schemes, with the same device, logical space and filled bytes.

    The logical space is `space_bytes` if given, else the smallest capacity of the schemes. With `equal="fill"` each
    scheme has its own capacity as its logical space instead, of which the same share is filled. The other arguments are
    those of `run`; a scheme parameter applies to the schemes that have it. `schemes` may be a comma-separated string,
    or "all" for every scheme that the device can have; a warning names each of the others, with the reason.
    The files of `run` are written for each scheme, with its name before the ending: series-raid5.parquet.

    A short trace is replayed five more times under each scheme, with other requests of a profile, or with arrivals that
    are put off by up to a microsecond: `Comparison.repeats` has these results, and tables show their means and
    intervals. With `seeds`, each scheme is run with so many seeds from `seed` on instead, and `results` has a result
    for each; no files are written then. The seed of a profile increases as well, so that each seed has its own
    requests, the same for all schemes; a recorded trace stays the same without `jitter_ns`. With `capacity`,
    `Comparison.capacity` tells how many requests per second each scheme completes in a closed loop, which takes a
    second replay of the trace (docs/compare.md).

    So many runs as `jobs` says, by default as many as there are cores, are under way at the same time, or fewer if
    there is not enough memory for them: results are the same. `progress` is called for one run at a time, with the
    stage and the count of that run, and the share of all runs.
    """
    names = texts("schemes", [name.strip() for name in schemes.split(",")] if isinstance(schemes, str) else schemes)
    check_flags(engine=engine, capacity=capacity)
    check_texts(equal=equal)
    check_progress(progress)
    outputs, others = Outputs.split(settings)
    trace, (device, config) = path_text(trace, "trace"), device_and_config(device, config)
    plan = planned(
        trace,
        device,
        config,
        names,
        pairs(others),
        outputs,
        engine=engine,
        seeds=seeds,
        capacity=capacity,
        equal=equal,
        jobs=jobs,
    )
    first = plan.schemes[0]
    found = doubts(trace, device, first, config, plan.shares[0].settings)
    for text in found:
        warnings.warn(text, stacklevel=2)
    with Interrupts() as interrupts:
        together = Together(interrupts, progress, plan.runs)
        comparison = compare_planned(plan, together.begin)
        if interrupts.came and comparison.results[-1].status != VIOLATION:
            comparison.results[-1].status = INTERRUPTED
    said = [f"{first}: {text}" for text in found]
    for text in comparison.warnings:
        if text not in said:
            warnings.warn(text, stacklevel=2)
    if comparison.partial or comparison.status == INTERRUPTED or interrupts.came:
        raise Interrupted(comparison)
    return comparison


@dataclass
class _Scheme:
    """The runs of a scheme, and what becomes of them."""

    name: str
    share: Share
    runs: list[Run]  # as they were asked for
    repeats: list[Run]  # others, with which they are repeated
    measured: list[Done] = field(default_factory=list)
    repeated: list[Done] = field(default_factory=list)
    loops: list[Done] = field(default_factory=list)  # that of the run as it was asked for first

    @property
    def results(self) -> list[Result]:
        """Those of the runs as they were asked for, up to the first that did not end."""
        return ended(self.measured)

    @property
    def again(self) -> list[Result]:
        """Those of the repeats."""
        return ended(self.repeated)


def compare_planned(plan: Plan, begin: Begin) -> Comparison:
    """Does all runs, and returns the results: partial, up to the first run that was interrupted."""
    if len(plan.schemes) > 1:
        must_be_read_again(plan.trace, "a comparison replays the trace under each scheme")
    with ExitStack() as undo:
        # All files are created before the first run.
        opened = [undo.enter_context(plan.outputs.of_scheme(scheme).open()) for scheme in plan.schemes]
        no_files = undo.enter_context(Outputs({}).open())
        folder = undo.enter_context(scratch_folder())
        schemes = [_scheme(plan, at, outputs, no_files, folder) for at, outputs in enumerate(opened)]
        # A seed changes nothing of the memory; beside a device that runs share, each has one of its own.
        copies = 2 if plan.chance.new else 1
        needed_bytes = [
            copies * needed
            for needed, each in zip(plan.needed_bytes, schemes, strict=True)
            for _ in [*each.runs, *each.repeats]
        ]
        side_by_side = SideBySide(Place(plan.device, plan.config), begin, machine.at_once(needed_bytes, plan.jobs))
        undo.callback(side_by_side.stop)
        for each in schemes:
            first, *others = each.runs
            loops = partial(_then_loops, plan, each, no_files, folder, side_by_side)
            each.measured = [side_by_side.do(first, loops), *map(side_by_side.do, others)]
            each.repeated = list(map(side_by_side.do, each.repeats))
        side_by_side.wait()
        return _comparison(plan, schemes)


def _scheme(plan: Plan, at: int, outputs: OpenOutputs, no_files: OpenOutputs, folder: str) -> _Scheme:
    """The runs of a scheme."""
    name, share, chance = plan.schemes[at], plan.shares[at], plan.chance
    device = SharedDevice(len(chance.asked) + len(chance.new) if chance.new else 1)

    def run(variant: Variant, outputs: OpenOutputs) -> Run:
        called = name if variant.seed is None else f"{name}, seed {variant.seed}"
        settings = variant.of(share.settings)
        return Run(called, name, _trace(plan, variant, folder), settings, outputs, plan.engine, device, variant.seed)

    runs, repeats = [run(each, outputs) for each in chance.asked], [run(each, no_files) for each in chance.new]
    if len(runs) > 1:  # refuses a seed that is too large before the first run
        configuration(plan.device, name, plan.config, runs[-1].settings)
    return _Scheme(name, share, runs, repeats)


def _trace(plan: Plan, variant: Variant, folder: str) -> str:
    """What it replays."""
    return repetition(plan.trace, variant.number, folder) if variant.is_drawn and variant.number else plan.trace


def _then_loops(
    plan: Plan, scheme: _Scheme, no_files: OpenOutputs, folder: str, side_by_side: SideBySide, result: Result
) -> None:
    """The closed loops of a scheme follow its first run, on which their settings depend."""
    if not plan.has_loops:
        return
    variants = [replace(plan.chance.asked[0], jitter_ns=0), *plan.chance.loops]
    device = SharedDevice(len(variants))
    for each in variants:
        name = f"{scheme.name}, closed loop" + (f" {len(scheme.loops) + 1}" if scheme.loops else "")
        settings = each.of(_closed_loop(scheme.share.settings, result))
        run = Run(name, scheme.name, _trace(plan, each, folder), settings, no_files, False, device, each.seed)
        scheme.loops.append(side_by_side.do(run))


def _comparison(plan: Plan, schemes: Sequence[_Scheme]) -> Comparison:
    """What there is, up to the first run that did not end."""
    results: list[Result] = []
    repeats: list[list[Result]] = []
    is_partial = False
    for scheme in schemes:
        found = [_with_notes(each, scheme, run) for each, run in zip(scheme.results, scheme.runs, strict=False)]
        stopped = next((at for at, each in enumerate(found) if each.status == INTERRUPTED), None)
        if stopped is not None:
            scheme.runs[stopped].outputs.keep()
            found = found[: stopped + 1]
        results += found
        is_partial = stopped is not None or len(found) < len(scheme.runs)
        if is_partial:
            break
        if plan.chance.repeats:
            again = list(takewhile(lambda each: each.status != INTERRUPTED, scheme.again))
            repeats.append([*(found if plan.chance.has_first else []), *again])
            is_partial = len(again) < len(scheme.repeats)
            if is_partial:
                break
    if not results:
        raise KeyboardInterrupt
    capacity: list[dict[str, Any]] = []
    if plan.capacity and not is_partial and can_be_read_again(plan.trace):
        capacity = list(_capacities(plan, schemes))
        is_partial = len(capacity) < len(schemes)
    comparison = Comparison(results, capacity, plan.seeds, repeats=repeats, partial=is_partial)
    comparison.left_out, comparison.why_once = plan.left_out, plan.chance.why_once
    return comparison


def _with_notes(result: Result, scheme: _Scheme, run: Run) -> Result:
    # Nobody asked for this very seed; notes below the table say what depends on it.
    idle = f"seed = {run.seed}: had no effect"
    own = [text for text in result.warnings if not text.startswith(idle)]
    result.warnings = scheme.share.notes + own
    return result


def _capacities(plan: Plan, schemes: Sequence[_Scheme]) -> Iterator[dict[str, Any]]:
    """How much each scheme serves in a closed loop, up to the first of which that is not known."""
    chance = plan.chance
    for scheme in schemes:
        if plan.has_loops:
            found = list(takewhile(lambda each: not each.partial, ended(scheme.loops)))
            if len(found) < 1 + len(chance.loops):
                return
            judging = found[1:] if chance.has_jitter else found
        else:
            found = scheme.results
            judging = [*(found if chance.has_first or not chance.repeats else []), *scheme.again]
        more = {"repeats": [_rates(each) for each in judging]} if chance.judging else {}
        yield {"scheme": scheme.name, "queue_depth": found[0].config.run.queue_depth, **_rates(found[0]), **more}


def _rates(result: Result) -> dict[str, Any]:
    return {"requests": result.workload.requests, **{key: result.bandwidth[key] for key in RATES}}


RATES = ("requests_per_second", "read_bytes_per_second", "write_bytes_per_second")
# Settings that the closed loop does without, with the values that say so.
WITHOUT = {"fail": "", "replace": "", "until": "end", "verify": "false", "verify_every": "0", "drain": "false"}


def _closed_loop(settings: Pairs, result: Result) -> Pairs:
    """The settings of a run again, in a closed loop, without faults and checks, and of a part of a long trace."""
    warmup = result.workload.warmup_requests
    loop = {"queue_depth": str(QUEUE_DEPTH), "warmup": str(warmup), "speed": "1"} | WITHOUT
    dropped = {"rebuild"}
    if result.config.host.device_queue_depth >= QUEUE_DEPTH:
        loop["device_queue_depth"] = "0"  # there are never so many requests
        dropped |= {"queues", "fetch"}
    if result.workload.requests > MOST_REQUESTS:
        loop["limit"] = str(warmup + MOST_REQUESTS)
    dropped |= set(loop)
    return [(key, value) for key, value in settings if bare(key) not in dropped] + list(loop.items())
