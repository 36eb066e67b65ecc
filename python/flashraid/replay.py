"""Replaying a trace under one scheme, or under several to compare them."""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Unpack

from . import _native
from ._native import InputError
from .comparison import Comparison
from .files import can_be_read_again, must_be_read_again
from .interrupts import Interrupts
from .outputs import OpenOutputs, OutputArguments, Outputs
from .profile_text import repetition
from .result import Result
from .setting_types import Settings
from .settings import (
    Pairs,
    Path,
    Share,
    bare,
    check_flags,
    check_progress,
    check_texts,
    configuration,
    device_and_config,
    for_each,
    given,
    pairs,
    path_text,
    possible,
    texts,
)
from .sizes import check_numbers

# Called about ten times a second with the stage (counting, preconditioning, replaying, ageing, verifying), the pages or
# requests done, or SSDs worn out, and the share of the trace or of the ageing that they are; returning False stops the
# run.
Progress = Callable[[str, int, float | None], object]

VIOLATION = 1
INTERRUPTED = 130

# The closed loop that measures a scheme's capacity: its queue depth, and the most requests that it replays.
QUEUE_DEPTH = 32
MOST_REQUESTS = 100_000

MOST_SEEDS = 1000


class RunArguments(Settings, OutputArguments, total=False):
    """Settings, and what is written beside the result."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or the progress function ended a run early. `result` is the partial Result or Comparison.

    If Ctrl-C came after the simulation, while files were being completed, they are complete, and `partial` of the
    result is False.
    """

    def __init__(self, result: Result | Comparison) -> None:
        super().__init__("interrupted")
        self.result = result


def run(
    trace: Path,
    *,
    device: Path | None = None,
    scheme: str | None = None,
    config: Path | None = None,
    engine: bool = True,
    progress: Progress | None = None,
    **settings: Unpack[RunArguments],
) -> Result:
    """Replays a trace on a device under a scheme.

    `trace` is a file, plain or compressed, a TOML profile, or `profile:NAME`. `device` is a preset or a TOML file,
    `scheme` the name of a redundancy scheme, `config` a TOML file or the JSON of a result; `settings` are those of
    docs/configuration.md and override both. Without `engine` the result omits the run time and memory of the simulator,
    and equal runs give equal results, byte for byte. `progress(stage, count, share)` is called about ten times a second
    and stops the run by returning False: `stage` is a word, `count` the requests or pages done, `share` the share of
    the work that they are, or None. Raises InputError, or Interrupted with the partial result.

    The keyword arguments `latency_log`, `operation_log` and `series` (.csv or .parquet), `hdr_log` and `timeline`
    (.json) name additional files to write, with `series_interval="250us"` and `timeline_window="1.5s..1.6s"`;
    `fio=True` provides `Result.fio_json`. See docs/outputs.md.
    """
    outputs, others = Outputs.split(settings)
    trace, (device, config) = path_text(trace, "trace"), device_and_config(device, config)
    check_texts(**given(scheme=scheme))
    check_flags(engine=engine)
    check_progress(progress)
    outputs.check(trace=trace, device=device, config=config)
    own = pairs(others, scheme)
    doubts = _doubts(trace, device, scheme, config, own)
    for text in doubts:
        warnings.warn(text, stacklevel=2)
    with outputs.open() as opened, Interrupts() as interrupts:
        watched = _watched(interrupts, progress)
        result = run_pairs(trace, device, scheme, config, engine, watched, own, opened)
        if interrupts.came and result.status != VIOLATION:
            result.status = INTERRUPTED
    for text in result.warnings:
        if text not in doubts:
            warnings.warn(text, stacklevel=2)
    if result.status == INTERRUPTED or interrupts.came:
        raise Interrupted(result)
    return result


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
    """
    names = texts("schemes", [name.strip() for name in schemes.split(",")] if isinstance(schemes, str) else schemes)
    check_flags(engine=engine, capacity=capacity)
    check_progress(progress)
    outputs, others = Outputs.split(settings)
    check_seeds(seeds, outputs)
    trace, (device, config) = path_text(trace, "trace"), device_and_config(device, config)
    refused: dict[str, str] = {}
    if names == ["all"]:
        names, refused = possible(device, config, pairs(others))
    outputs.check(schemes=names, trace=trace, device=device, config=config)
    shares = for_each(device, names, config, pairs(others))
    doubts = _doubts(trace, device, names[0], config, shares[0].settings)
    for text in doubts:
        warnings.warn(text, stacklevel=2)
    with Interrupts() as interrupts:
        watched = _watched(interrupts, progress)
        comparison = compare_pairs(
            trace,
            device,
            names,
            config,
            engine,
            watched,
            shares,
            outputs,
            lambda *what: not interrupts.came,
            seeds,
            capacity,
        )
        comparison.left_out = refused
        if interrupts.came and comparison.results[-1].status != VIOLATION:
            comparison.results[-1].status = INTERRUPTED
    said = [f"{names[0]}: {text}" for text in doubts]
    for text in comparison.warnings:
        if text not in said:
            warnings.warn(text, stacklevel=2)
    if comparison.partial or comparison.status == INTERRUPTED or interrupts.came:
        raise Interrupted(comparison)
    return comparison


def _doubts(trace: str, device: str | None, scheme: str | None, config: str | None, settings: Pairs) -> list[str]:
    """Warnings about likely mistakes, found before the run; a trace that can be read only once is not checked."""
    found = _native.sanity(trace, device, scheme, config, settings)
    return [] if found is None else json.loads(found)["warnings"]


def _watched(interrupts: Interrupts, progress: Progress | None) -> Progress:
    """A progress function that Ctrl-C stops as well."""
    return lambda *told: not interrupts.came and (progress is None or progress(*told))


def run_pairs(
    trace: str,
    device: str | None,
    scheme: str | None,
    config: str | None,
    engine: bool,
    progress: Progress | None,
    settings: Pairs,
    outputs: OpenOutputs,
) -> Result:
    """`run` with settings as pairs and open files. Returns the result, which is partial if interrupted."""
    with outputs.messages():
        found = _native.run(trace, device, scheme, config, settings, outputs.pairs, engine, progress)
    return Result(*found, outputs.finish())


def check_seeds(seeds: int, outputs: Outputs) -> None:
    """Refuses a number of seeds out of range, and other outputs than the results, which are of one run."""
    check_numbers(seeds=seeds)
    if not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"{outputs.label('seeds')} {seeds}: allowed is a whole number from 1 to {MOST_SEEDS}")
    others = [*outputs.files, *outputs.times, *(["fio"] if outputs.fio else [])]
    if seeds > 1 and others:
        raise InputError(f"{outputs.label(others[0])}: is of one run: allowed without {outputs.label('seeds')}")


def compare_pairs(
    trace: str,
    device: str | None,
    schemes: Sequence[str],
    config: str | None,
    engine: bool,
    progress: Progress | None,
    shares: Sequence[Share],
    outputs: Outputs,
    begin: Callable[[str, str, Pairs], bool],
    seeds: int = 1,
    capacity: bool = True,
) -> Comparison:
    """`compare` with the settings of each scheme as `for_each` gives them.

    Calls `begin` before each run with what to call it, its scheme, and its settings. Returns the results, partial if
    interrupted.
    """
    if len(schemes) > 1:
        must_be_read_again(trace, "a comparison replays the trace under each scheme")
    if seeds > 1:
        must_be_read_again(trace, "the trace is replayed with each seed")
    from tempfile import TemporaryDirectory

    results: list[Result] = []
    with ExitStack() as exit_stack:
        # All files are created before the first run.
        opened = [exit_stack.enter_context(outputs.of_scheme(scheme).open()) for scheme in schemes]
        folder = exit_stack.enter_context(TemporaryDirectory(prefix="flashraid-"))
        for scheme, own, files in zip(schemes, shares, opened, strict=True):
            for number, (seed, settings_of_seed) in enumerate(_of_seeds(device, scheme, config, own.settings, seeds)):
                if not begin(scheme if seed is None else f"{scheme}, seed {seed}", scheme, settings_of_seed):
                    return _interrupted(results, seeds)
                is_other = number > 0 and results[0].workload.format == "profile"
                replayed = repetition(trace, number, folder) if is_other else trace
                result = run_pairs(replayed, device, scheme, config, engine, progress, settings_of_seed, files)
                # Nobody asked for this very seed; notes below the table say what depends on it.
                idle = f"seed = {seed}: had no effect"
                result.warnings = own.notes + [text for text in result.warnings if not text.startswith(idle)]
                results.append(result)
                if results[-1].status == INTERRUPTED:
                    return _interrupted(results, seeds)
    found: list[dict[str, Any]] = []
    if capacity and can_be_read_again(trace):
        for scheme, own, result in zip(schemes, shares, results[::seeds], strict=True):
            closed = result
            if result.config.run.queue_depth == 0:
                again = _closed_loop(own.settings, result)
                if not begin(f"{scheme}, closed loop", scheme, again):
                    return _interrupted(results, seeds, found)
                with Outputs({}).open() as nothing:
                    closed = run_pairs(trace, device, scheme, config, False, progress, again, nothing)
            if closed.partial:
                return _interrupted(results, seeds, found)
            rates = {key: closed.bandwidth[key] for key in RATES}
            depth, requests = closed.config.run.queue_depth, closed.workload.requests
            found.append({"scheme": scheme, "queue_depth": depth, "requests": requests, **rates})
    return Comparison(results, found, seeds)


RATES = ("requests_per_second", "read_bytes_per_second", "write_bytes_per_second")
# Settings that the closed loop does without, with the values that say so.
WITHOUT = {"fail": "", "replace": "", "until": "end", "verify": "false", "verify_every": "0", "drain": "false"}


def _closed_loop(settings: Pairs, result: Result) -> Pairs:
    """The settings of a run again, in a closed loop, without faults and checks, and of a part of a long trace."""
    warmup = result.workload.warmup_requests
    loop = {"queue_depth": str(QUEUE_DEPTH), "warmup": str(warmup), "speed": "1"} | WITHOUT
    if result.workload.requests > MOST_REQUESTS:
        loop["limit"] = str(warmup + MOST_REQUESTS)
    dropped = {*loop, "rebuild"}
    return [(key, value) for key, value in settings if bare(key) not in dropped] + list(loop.items())


def _of_seeds(
    device: str | None, scheme: str, config: str | None, settings: Pairs, seeds: int
) -> list[tuple[int | None, Pairs]]:
    """The settings for each seed, with the seed; one seed is the one that the settings have, and is not named."""
    if seeds == 1:
        return [(None, settings)]
    first = configuration(device, scheme, config, settings)["config"]["run"]["seed"]
    others = [(key, value) for key, value in settings if bare(key) != "seed"]
    found: list[tuple[int | None, Pairs]] = [
        (seed, [*others, ("seed", str(seed))]) for seed in range(first, first + seeds)
    ]
    configuration(device, scheme, config, found[-1][1])  # refuses a seed that is too large before the first run
    return found


def _interrupted(results: list[Result], seeds: int, capacity: Sequence[dict[str, Any]] = ()) -> Comparison:
    if not results:
        raise KeyboardInterrupt
    return Comparison(results, capacity, seeds, partial=True)
