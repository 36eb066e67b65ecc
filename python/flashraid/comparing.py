"""Replaying a trace under several schemes, side by side, to compare them."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from threading import Lock
from typing import Any, NamedTuple, Protocol, Unpack

from . import _native, machine
from ._native import InputError
from .chance import Chance, Variant, chance_of
from .comparison import Comparison
from .files import can_be_read_again, must_be_read_again, scratch_folder
from .interrupts import Interrupts
from .outputs import OpenOutputs, Outputs
from .profile_text import repetition
from .replay import INTERRUPTED, VIOLATION, Interrupted, RunArguments, doubts, run_pairs
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
from .sizes import check_range

# The closed loop that measures a scheme's capacity: its queue depth, and the most requests that it replays.
QUEUE_DEPTH = 32
MOST_REQUESTS = 100_000

MOST_SEEDS = 1000

# After so long at the latest Ctrl-C is looked for.
STEP_SECONDS = 0.2


class Watch(Protocol):
    """Told of the progress of one run, in a thread of its own; it stops the run by returning False."""

    def __call__(self, stage: str, count: int, share: float | None) -> object:
        """So far it is."""

    def end(self) -> None:
        """The run has ended."""


# Called before each run with its name and what gives its complete configuration; returns what watches the run, or None
# if it is not to begin.
Begin = Callable[[str, Callable[[], dict[str, Any]]], Watch | None]


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
        together = _Together(interrupts, progress, plan.runs)
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


class _Together:
    """One progress function for all runs of a comparison."""

    def __init__(self, interrupts: Interrupts, progress: Progress | None, runs: int) -> None:
        self._interrupts, self._progress = interrupts, progress
        self._shares: list[float] = []
        self._runs = runs
        self._lock = Lock()

    def begin(self, _name: str, _configured: Callable[[], dict[str, Any]]) -> Watch | None:
        """The watch of another run."""
        if self._interrupts.came:
            return None
        with self._lock:
            self._shares.append(0.0)
            return _Part(self, len(self._shares) - 1)

    def tell(self, run: int, stage: str, count: int, share: float | None) -> object:
        """Tells of one run, with the share of all."""
        with self._lock:
            self._shares[run] = share or self._shares[run]
            if self._interrupts.came:
                return False
            return self._progress is None or self._progress(stage, count, min(1.0, sum(self._shares) / self._runs))

    def end(self, run: int) -> None:
        """The run has ended."""
        self._shares[run] = 1.0


class _Part(NamedTuple):
    """The watch of a run among others."""

    together: _Together
    run: int

    def __call__(self, stage: str, count: int, share: float | None) -> object:
        return self.together.tell(self.run, stage, count, share)

    def end(self) -> None:
        self.together.end(self.run)


# The result of a run that may not have begun.
Done = Future[Result | None]


class _Run(NamedTuple):
    """A run of a comparison."""

    name: str
    scheme: str
    trace: str
    settings: Pairs
    outputs: OpenOutputs
    engine: bool
    device: "_Device"  # with which it begins
    seed: int | None = None  # if there are several


class _Device:
    """The device with which several runs of a scheme begin: prepared by the first, and gone after the last."""

    def __init__(self, runs: int) -> None:
        self._left = runs
        self._is_shared = runs > 1
        self._lock = Lock()
        self._prepared: _native.Prepared | None = None
        self._preparation: str | None = None  # what it was prepared for

    @contextmanager
    def lent(self, plan: Plan, run: _Run, go_on: Callable[..., bool]) -> Iterator[_native.Prepared | None]:
        """The prepared device; None for a run that prepares its own."""
        place = (plan.device, run.scheme, plan.config, run.settings)
        preparation = _native.preparation(*place) if self._is_shared else None
        try:
            with self._lock:
                if preparation and self._prepared is None:
                    self._preparation, self._prepared = preparation, _native.Prepared(*place, go_on)
                prepared = self._prepared if preparation == self._preparation else None
            yield prepared
        finally:
            with self._lock:
                self._left -= 1
                if not self._left:
                    self._prepared = None


@dataclass
class _Scheme:
    """The runs of a scheme, and what becomes of them."""

    name: str
    share: Share
    runs: list[_Run]  # as they were asked for
    repeats: list[_Run]  # others, with which they are repeated
    measured: list[Done] = field(default_factory=list)
    repeated: list[Done] = field(default_factory=list)
    loops: list[Done] = field(default_factory=list)  # that of the run as it was asked for first

    @property
    def results(self) -> list[Result]:
        """Those of the runs as they were asked for, up to the first that did not end."""
        return _ended(self.measured)

    @property
    def again(self) -> list[Result]:
        """Those of the repeats."""
        return _ended(self.repeated)


def _ended(runs: Sequence[Done]) -> list[Result]:
    found: list[Result] = []
    for each in runs:
        if each.cancelled() or (result := each.result()) is None:
            break
        found.append(result)
    return found


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
        side_by_side = _SideBySide(plan, begin, machine.at_once(needed_bytes, plan.jobs))
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
    device = _Device(len(chance.asked) + len(chance.new) if chance.new else 1)

    def run(variant: Variant, outputs: OpenOutputs) -> _Run:
        called = name if variant.seed is None else f"{name}, seed {variant.seed}"
        settings = variant.of(share.settings)
        return _Run(called, name, _trace(plan, variant, folder), settings, outputs, plan.engine, device, variant.seed)

    runs, repeats = [run(each, outputs) for each in chance.asked], [run(each, no_files) for each in chance.new]
    if len(runs) > 1:  # refuses a seed that is too large before the first run
        configuration(plan.device, name, plan.config, runs[-1].settings)
    return _Scheme(name, share, runs, repeats)


def _trace(plan: Plan, variant: Variant, folder: str) -> str:
    """What it replays."""
    return repetition(plan.trace, variant.number, folder) if variant.is_drawn and variant.number else plan.trace


def _then_loops(
    plan: Plan, scheme: _Scheme, no_files: OpenOutputs, folder: str, side_by_side: "_SideBySide", result: Result
) -> None:
    """The closed loops of a scheme follow its first run, on which their settings depend."""
    if not plan.has_loops:
        return
    variants = [replace(plan.chance.asked[0], jitter_ns=0), *plan.chance.loops]
    device = _Device(len(variants))
    for each in variants:
        name = f"{scheme.name}, closed loop" + (f" {len(scheme.loops) + 1}" if scheme.loops else "")
        settings = each.of(_closed_loop(scheme.share.settings, result))
        run = _Run(name, scheme.name, _trace(plan, each, folder), settings, no_files, False, device, each.seed)
        scheme.loops.append(side_by_side.do(run))


class _SideBySide:
    """Does runs on several cores, until one is interrupted or fails."""

    def __init__(self, plan: Plan, begin: Begin, jobs: int) -> None:
        self._plan, self._begin = plan, begin
        self._pool = ThreadPoolExecutor(jobs)
        self._then: dict[Done, Callable[[Result], None]] = {}
        self._all: list[tuple[Done, OpenOutputs]] = []
        self._kept = 0
        self._is_stopped = False

    def do(self, run: _Run, then: Callable[[Result], None] = lambda result: None) -> Done:
        """Does the run when there is a core for it; what is to be done then with its result is done by `wait`."""
        future = self._pool.submit(self._do, run)
        self._all.append((future, run.outputs))
        self._then[future] = then
        return future

    def _do(self, run: _Run) -> Result | None:
        plan = self._plan
        watch = self._begin(run.name, lambda: configuration(plan.device, run.scheme, plan.config, run.settings))
        if watch is None or self._is_stopped:
            return None

        def watched(stage: str, count: int, share: float | None) -> bool:
            return not self._is_stopped and watch(stage, count, share) is not False

        try:
            with run.device.lent(plan, run, watched) as device:
                place = (run.trace, plan.device, run.scheme, plan.config)
                result = run_pairs(*place, run.engine, watched, run.settings, run.outputs, device)
        finally:
            watch.end()
        # At once, as the next run begins before `wait` looks.
        self._is_stopped |= result.status == INTERRUPTED
        return result

    def wait(self) -> None:
        """Waits for all runs, or for those under way if one is interrupted. Raises what a run has raised."""
        while self._then and not self._is_stopped:
            done, _ = wait(self._then, STEP_SECONDS, FIRST_COMPLETED)
            # In the order of the runs, as `done` has none.
            for future in [each for each in self._then if each in done]:
                then = self._then.pop(future)
                result = None if future.exception() else future.result()
                if result is None or result.status == INTERRUPTED:
                    self.stop()
                elif not self._is_stopped:
                    then(result)
            self._keep()
        if self._is_stopped:
            self.stop()
            self._keep()
        for future, _ in self._all:
            if not future.cancelled():
                future.result()

    def _keep(self) -> None:
        """Keeps the files of runs that have ended, up to the first that has not: no result behind that is shown."""
        for future, outputs in self._all[self._kept :]:
            if not future.done() or future.cancelled() or future.exception():
                return
            result = future.result()
            if result is None or result.status == INTERRUPTED:
                return
            outputs.keep()
            self._kept += 1

    def stop(self) -> None:
        """Those under way end soon, others never begin."""
        self._is_stopped = True
        self._pool.shutdown(cancel_futures=True)


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


def _with_notes(result: Result, scheme: _Scheme, run: _Run) -> Result:
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
            found = list(takewhile(lambda each: not each.partial, _ended(scheme.loops)))
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
