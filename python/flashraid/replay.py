"""Replaying a trace under one scheme, or under several to compare them."""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Unpack

from . import _native
from .comparison import Comparison
from .files import must_be_read_again
from .interrupts import Interrupts
from .outputs import OpenOutputs, OutputArguments, Outputs
from .result import Result
from .setting_types import Settings
from .settings import (
    Pairs,
    Path,
    check_flags,
    check_progress,
    check_texts,
    device_and_config,
    for_each,
    given,
    pairs,
    path_text,
    texts,
)

# Called about ten times a second with the stage (counting, preconditioning, replaying, ageing, verifying), the pages or
# requests done, or SSDs worn out, and the share of the trace or of the ageing that they are; returning False stops the
# run.
Progress = Callable[[str, int, float | None], object]

VIOLATION = 1
INTERRUPTED = 130


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

    `device` is a preset or a TOML file, `config` a TOML file or the JSON of a result; `settings` are those of
    docs/configuration.md and override both. Without `engine` the result omits the run time and memory of the simulator,
    and equal runs give equal results, byte for byte. Raises InputError, or Interrupted with the partial result.

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
    for text in _doubts(trace, device, scheme, config, own):
        warnings.warn(text, stacklevel=2)
    with outputs.open() as opened, Interrupts() as interrupts:
        watched = _watched(interrupts, progress)
        result = run_pairs(trace, device, scheme, config, engine, watched, own, opened)
        if interrupts.came and result.status != VIOLATION:
            result.status = INTERRUPTED
    for text in result.warnings:
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
    **settings: Unpack[RunArguments],
) -> Comparison:
    """Replays a trace under each of the schemes, with the same device, logical space and filled bytes.

    The logical space is `space_bytes` if given, else the smallest capacity of the schemes. The other arguments are
    those of `run`; a scheme parameter applies to the schemes that have it. `schemes` may be a comma-separated string.
    The files of `run` are written for each scheme, with its name before the ending: series-raid5.parquet.
    """
    names = texts("schemes", [name.strip() for name in schemes.split(",")] if isinstance(schemes, str) else schemes)
    check_flags(engine=engine)
    check_progress(progress)
    outputs, others = Outputs.split(settings)
    trace, (device, config) = path_text(trace, "trace"), device_and_config(device, config)
    outputs.check(schemes=names, trace=trace, device=device, config=config)
    own = for_each(device, names, config, pairs(others))[0]
    for text in _doubts(trace, device, names[0], config, own.settings):
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
            pairs(others),
            outputs,
            lambda scheme: not interrupts.came,
        )
        if interrupts.came and comparison.results[-1].status != VIOLATION:
            comparison.results[-1].status = INTERRUPTED
    for result in comparison.results:
        for text in result.warnings:
            warnings.warn(f"{result.scheme}: {text}", stacklevel=2)
    if comparison.status == INTERRUPTED or interrupts.came:
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


def compare_pairs(
    trace: str,
    device: str | None,
    schemes: Sequence[str],
    config: str | None,
    engine: bool,
    progress: Progress | None,
    settings: Pairs,
    outputs: Outputs,
    begin: Callable[[str], bool] = lambda scheme: True,
) -> Comparison:
    """`compare` with settings as pairs; calls `begin` before each run. Returns the results, partial if interrupted."""
    if len(schemes) > 1:
        must_be_read_again(trace, "a comparison replays the trace under each scheme")
    results: list[Result] = []
    shares = for_each(device, schemes, config, settings)
    with ExitStack() as exit_stack:
        # All files are created before the first run.
        opened = [exit_stack.enter_context(outputs.of_scheme(scheme).open()) for scheme in schemes]
        for scheme, own, files in zip(schemes, shares, opened, strict=True):
            if not begin(scheme):
                break
            results.append(run_pairs(trace, device, scheme, config, engine, progress, own.settings, files))
            results[-1].warnings[:0] = own.notes
            if results[-1].status == INTERRUPTED:
                break
    if not results:
        raise KeyboardInterrupt
    return Comparison(results)
