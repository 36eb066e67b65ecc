"""Replaying a trace under one scheme."""

import json
import warnings
from typing import Unpack

from . import _native
from .comparison import Comparison
from .interrupts import Interrupts
from .outputs import OpenOutputs, OutputArguments, Outputs
from .result import Result
from .setting_types import Settings
from .settings import (
    Pairs,
    Path,
    Progress,
    check_flags,
    check_progress,
    check_texts,
    device_and_config,
    drive_file,
    given,
    pairs,
    path_text,
)

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

    `trace` is a file, plain or compressed, a TOML profile, or `profile:NAME`. `device` is a preset or a TOML file,
    `scheme` the name of a redundancy scheme, `config` a TOML file or the JSON of a result; `settings` are those of
    docs/configuration.md and override both. Without `engine` the result omits the run time and memory of the simulator,
    and equal runs give equal results, byte for byte. `progress(stage, count, share)` is called about ten times a second
    and stops the run by returning False: `stage` is a word, `count` the requests or pages done, `share` the share of
    the work that they are, or None. Raises InputError, or Interrupted with the partial result.

    The keyword arguments `latency_log`, `operation_log` and `series` (.csv or .parquet), `hdr_log` and `timeline`
    (.json) name additional files to write, with `series_interval="250us"` and `timeline_window="1.5s..1.6s"`;
    `fio=True` provides `Result.fio_json`. See docs/outputs.md. `save_drive` names the file in which to save the drive
    as the run leaves it; `drive` is such a file, with which the run begins, and `device` and `scheme` may be left out
    (docs/drives.md).
    """
    outputs, others = Outputs.split(settings)
    trace, (device, config) = path_text(trace, "trace"), device_and_config(device, config)
    check_texts(**given(scheme=scheme))
    check_flags(engine=engine)
    check_progress(progress)
    own = pairs(others, scheme)
    outputs.check(trace=trace, device=device, config=config, drive=drive_file(own))
    found = doubts(trace, device, scheme, config, own)
    for text in found:
        warnings.warn(text, stacklevel=2)
    with outputs.open() as opened, Interrupts() as interrupts:
        watched = _watched(interrupts, progress)
        result = run_pairs(trace, device, scheme, config, engine, watched, own, opened)
        opened.keep()
        if interrupts.came and result.status != VIOLATION:
            result.status = INTERRUPTED
    for text in result.warnings:
        if text not in found:
            warnings.warn(text, stacklevel=2)
    if result.status == INTERRUPTED or interrupts.came:
        raise Interrupted(result)
    return result


def doubts(trace: str, device: str | None, scheme: str | None, config: str | None, settings: Pairs) -> list[str]:
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
    prepared: _native.Prepared | None = None,
) -> Result:
    """`run` with settings as pairs and open files, which it completes. The result is partial if interrupted.

    It begins with a clone of the `prepared` device, if there is one.
    """
    with outputs.messages():
        found = _native.run(trace, device, scheme, config, settings, outputs.pairs, engine, progress, prepared)
    return Result(*found, outputs.complete())
