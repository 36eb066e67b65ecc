"""Replaying a trace under several schemes, side by side, to compare them."""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, Protocol, Unpack

from . import _native, machine
from ._native import InputError
from .comparison import Comparison
from .files import can_be_read_again, must_be_read_again, scratch_folder
from .interrupts import Interrupts
from .outputs import OpenOutputs, Outputs
from .profile_text import repetition
from .replay import INTERRUPTED, VIOLATION, Interrupted, Progress, RunArguments, doubts, run_pairs
from .result import Result
from .settings import (
    Pairs,
    Path,
    Share,
    bare,
    check_flags,
    check_progress,
    configuration,
    device_and_config,
    drive_file,
    for_each,
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
MOST_JOBS = 1024

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
    seeds: int
    capacity: bool
    jobs: int | None
    needed_bytes: Sequence[int]  # the memory of a run of each scheme
    has_loops: bool  # whether the capacity of each scheme takes another replay, in a closed loop

    @property
    def runs(self) -> int:
        """How many there will be, if none is interrupted or fails."""
        return len(self.schemes) * (self.seeds + self.has_loops)


def planned(
    trace: str,
    device: str | None,
    config: str | None,
    schemes: Sequence[str],
    settings: Pairs,
    outputs: Outputs,
    *,
    engine: bool,
    seeds: int,
    capacity: bool,
    jobs: int | None,
    json_target: str | None = None,
) -> Plan:
    """Checks what was asked for, and completes it. "all" stands for every scheme that the device can have."""
    check_range(outputs.label("seeds"), seeds, 1, MOST_SEEDS)
    if jobs is not None:
        check_range(outputs.label("jobs"), jobs, 1, MOST_JOBS)
    others = [*outputs.files, *outputs.times, *(["fio"] if outputs.fio else [])]
    if seeds > 1 and others:
        raise InputError(f"{outputs.label(others[0])}: is of one run: allowed without {outputs.label('seeds')}")
    if (drive := drive_file(settings)) is not None:
        label = outputs.label("drive")
        raise InputError(f"{label} {drive}: a drive has one scheme and one past: allowed is one run, with one seed")
    left_out: dict[str, str] = {}
    if list(schemes) == ["all"]:
        schemes, left_out = possible(device, config, settings)
    outputs.check(json_target, schemes, trace=trace, device=device, config=config)
    shares = for_each(device, schemes, config, settings)
    details = [
        configuration(device, scheme, config, share.settings) for scheme, share in zip(schemes, shares, strict=True)
    ]
    needed_bytes = [detail["memory_bytes"] for detail in details]
    is_closed = details[0]["config"]["run"]["queue_depth"] != 0
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
        seeds,
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
    seeds: int = 1,
    capacity: bool = True,
    jobs: int | None = None,
    **settings: Unpack[RunArguments],
) -> Comparison:
    """Replays a trace under each of the schemes, with the same device, logical space and filled bytes.

    The logical space is `space_bytes` if given, else the smallest capacity of the schemes. The other arguments are
    those of `run`; a scheme parameter applies to the schemes that have it. `schemes` may be a comma-separated string,
    or "all" for every scheme that the device can have; a warning names each of the others, with the reason.
    The files of `run` are written for each scheme, with its name before the ending: series-raid5.parquet.

    With `seeds`, each scheme is run with so many seeds from `seed` on, and `results` has a result for each; no files
    are written then. The seed of a profile increases as well, so that each seed has its own requests, the same for all
    schemes; a recorded trace stays the same. With `capacity`, `Comparison.capacity` tells how many requests per second
    each scheme completes in a closed loop, which takes a second replay of the trace (docs/compare.md).

    So many runs as `jobs` says, by default as many as there are cores, are under way at the same time, or fewer if
    there is not enough memory for them: results are the same. `progress` is called for one run at a time, with the
    stage and the count of that run, and the share of all runs.
    """
    names = texts("schemes", [name.strip() for name in schemes.split(",")] if isinstance(schemes, str) else schemes)
    check_flags(engine=engine, capacity=capacity)
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


class _Run(NamedTuple):
    """A run of a comparison."""

    name: str
    scheme: str
    trace: str
    settings: Pairs
    outputs: OpenOutputs
    engine: bool
    seed: int | None = None  # if there are several


def compare_planned(plan: Plan, begin: Begin) -> Comparison:
    """Does all runs, and returns the results: partial, up to the first run that was interrupted."""
    if len(plan.schemes) > 1:
        must_be_read_again(plan.trace, "a comparison replays the trace under each scheme")
    if plan.seeds > 1:
        must_be_read_again(plan.trace, "the trace is replayed with each seed")
    with ExitStack() as undo:
        # All files are created before the first run.
        opened = [undo.enter_context(plan.outputs.of_scheme(scheme).open()) for scheme in plan.schemes]
        runs = _runs(plan, opened, undo.enter_context(scratch_folder()))
        no_files = undo.enter_context(Outputs({}).open())
        # A seed changes nothing of the memory.
        needed_bytes = [needed for needed in plan.needed_bytes for _ in range(plan.seeds)]
        side_by_side = _SideBySide(plan, begin, machine.at_once(needed_bytes, plan.jobs))
        undo.callback(side_by_side.stop)
        loops: dict[int, Done] = {}

        def ended(at: int, result: Result) -> None:
            """The closed loop of a scheme follows its first run, on which its settings depend."""
            scheme, of_seed = divmod(at, plan.seeds)
            if plan.has_loops and of_seed == 0:
                name, again = plan.schemes[scheme], _closed_loop(plan.shares[scheme].settings, result)
                loop = _Run(f"{name}, closed loop", name, plan.trace, again, no_files, False)
                loops[scheme] = side_by_side.do(loop)

        measured = [side_by_side.do(run, partial(ended, at)) for at, run in enumerate(runs)]
        side_by_side.wait()
        return _comparison(plan, runs, measured, loops)


# The result of a run that may not have begun.
Done = Future[Result | None]


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
            result = run_pairs(
                run.trace, plan.device, run.scheme, plan.config, run.engine, watched, run.settings, run.outputs
            )
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


def _runs(plan: Plan, opened: Sequence[OpenOutputs], folder: str) -> list[_Run]:
    """The runs, scheme by scheme and seed by seed."""
    runs = []
    is_profile = plan.seeds > 1 and _is_profile(plan)
    for scheme, share, outputs in zip(plan.schemes, plan.shares, opened, strict=True):
        for number, (seed, settings) in enumerate(_of_seeds(plan, scheme, share.settings)):
            name = scheme if seed is None else f"{scheme}, seed {seed}"
            trace = repetition(plan.trace, number, folder) if is_profile and number > 0 else plan.trace
            runs.append(_Run(name, scheme, trace, settings, outputs, plan.engine, seed))
    return runs


def _is_profile(plan: Plan) -> bool:
    found = _native.sanity(plan.trace, plan.device, plan.schemes[0], plan.config, plan.shares[0].settings)
    return found is not None and json.loads(found)["format"] == "profile"


def _comparison(plan: Plan, runs: Sequence[_Run], measured: Sequence[Done], loops: Mapping[int, Done]) -> Comparison:
    """What there is, up to the first run that did not end."""
    results: list[Result] = []
    for at, (run, future) in enumerate(zip(runs, measured, strict=True)):
        result = None if future.cancelled() else future.result()
        if result is None:
            break
        # Nobody asked for this very seed; notes below the table say what depends on it.
        idle = f"seed = {run.seed}: had no effect"
        own = [text for text in result.warnings if not text.startswith(idle)]
        result.warnings = plan.shares[at // plan.seeds].notes + own
        results.append(result)
        if result.status == INTERRUPTED:
            run.outputs.keep()
            break
    if not results:
        raise KeyboardInterrupt
    found: list[dict[str, Any]] = []
    is_partial = len(results) < len(measured) or results[-1].status == INTERRUPTED
    if plan.capacity and not is_partial and can_be_read_again(plan.trace):
        for scheme, result in enumerate(results[:: plan.seeds]):
            closed: Result | None = result
            if plan.has_loops:
                loop = loops.get(scheme)
                closed = None if loop is None or loop.cancelled() else loop.result()
            if closed is None or closed.partial:
                is_partial = True
                break
            rates = {key: closed.bandwidth[key] for key in RATES}
            depth, requests = closed.config.run.queue_depth, closed.workload.requests
            found.append({"scheme": plan.schemes[scheme], "queue_depth": depth, "requests": requests, **rates})
    comparison = Comparison(results, found, plan.seeds, partial=is_partial)
    comparison.left_out = plan.left_out
    return comparison


RATES = ("requests_per_second", "read_bytes_per_second", "write_bytes_per_second")
# Settings that the closed loop does without, with the values that say so.
WITHOUT = {"fail": "", "replace": "", "until": "end", "verify": "false", "verify_every": "0", "drain": "false"}


def _closed_loop(settings: Pairs, result: Result) -> Pairs:
    """The settings of a run again, in a closed loop, without faults and checks, and of a part of a long trace."""
    warmup = result.workload.warmup_requests
    loop = {"queue_depth": str(QUEUE_DEPTH), "warmup": str(warmup), "speed": "1", "jitter_ns": "0"} | WITHOUT
    if result.workload.requests > MOST_REQUESTS:
        loop["limit"] = str(warmup + MOST_REQUESTS)
    dropped = {*loop, "rebuild"}
    return [(key, value) for key, value in settings if bare(key) not in dropped] + list(loop.items())


def _of_seeds(plan: Plan, scheme: str, settings: Pairs) -> list[tuple[int | None, Pairs]]:
    """The settings for each seed, with the seed; one seed is the one that the settings have, and is not named."""
    if plan.seeds == 1:
        return [(None, settings)]
    first = configuration(plan.device, scheme, plan.config, settings)["config"]["run"]["seed"]
    others = [(key, value) for key, value in settings if bare(key) != "seed"]
    found: list[tuple[int | None, Pairs]] = [
        (seed, [*others, ("seed", str(seed))]) for seed in range(first, first + plan.seeds)
    ]
    # Refuses a seed that is too large before the first run.
    configuration(plan.device, scheme, plan.config, found[-1][1])
    return found
