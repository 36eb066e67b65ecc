"""What an experiment's cell comes to: a run of the engine, with its trace and settings."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from .. import documents
from .._native import InputError
from ..profile_text import PREFIX, changed, text_of
from ..settings import text_of as setting_text
from .originals import TABLE_SPEED, figures_of
from .papers import FOLDER, Experiment, Overlay, Paper, names_of, needs_original

# Of shorter traces, and of fewer requests, figures say nothing.
FEWEST_REQUESTS = 2000


@dataclass(frozen=True)
class Run:
    """One run of the engine. `profile` is the text of a changed profile, or empty if `trace` is read as it is.

    `where` is a place where it is needed, for messages; runs that differ in nothing else are the same.
    """

    trace: str
    profile: str
    device: str
    scheme: str
    settings: tuple[tuple[str, str], ...]
    where: str = field(compare=False)


@dataclass(frozen=True)
class Cell:
    """A figure's place in an experiment."""

    configuration: str
    workload: str
    point: str
    repeat: str = ""


def run_of(paper: Paper, experiment: Experiment, cell: Cell, change: Overlay) -> Run:
    """The run of a cell: settings of paper, configuration, workload, point and repeat, then the change's."""
    gathered: dict[str, Any] = {}
    patch: dict[str, Any] = {}
    overlays = (
        paper.settings,
        experiment.configurations[cell.configuration],
        experiment.workloads[cell.workload],
        experiment.points[cell.point],
        experiment.repeats[cell.repeat],
        change,
    )
    others = names_of(paper) - set(vars(cell).values())
    for overlay in overlays:
        _lay(gathered, patch, overlay, cell, others)
    trace, device, scheme = (gathered.pop(key) for key in ("trace", "device", "scheme"))
    if patch and not trace.startswith(PREFIX):
        raise InputError(f"profile: {trace} is none, and cannot be changed")
    profile = changed(trace, patch) if patch else ""
    if (table_speed := gathered.pop(TABLE_SPEED, None)) is not None:
        with suppress(ValueError):  # the engine says what is allowed
            gathered["speed"] = table_speed * float(gathered.get("speed", 1))
    settings = tuple(sorted((key, setting_text(value)) for key, value in gathered.items()))
    where = f"{paper.name}.{experiment.name}, " + ", ".join(filter(None, vars(cell).values()))
    return Run(trace, profile, device, scheme, settings, where)


def _lay(
    gathered: dict[str, Any], patch: dict[str, Any], overlay: Overlay, cell: Cell, others: Collection[str]
) -> None:
    for key, value in overlay.items():
        if key == "profile":
            streams = dict(patch.get("streams", {}))
            for number, members in value.get("streams", {}).items():
                streams[number] = streams.get(number, {}) | members
            patch |= value | ({"streams": streams} if streams else {})
        elif key in vars(cell).values():
            _lay(gathered, patch, value, cell, others)
        elif key not in others:
            gathered[key] = value


def trace_path(trace: str) -> str:
    """Where a trace is: profiles come along, files lie beside the folder of the papers."""
    return trace if trace.startswith(PREFIX) else str(FOLDER.resolve().parent / trace)


def missing_traces(workloads: Iterable[Overlay]) -> list[str]:
    """The traces of workloads that are not there, each with its whole path; but for those of a user's folder."""
    traces = [str(each["trace"]) for each in workloads if "trace" in each and not needs_original(each)]
    files = [os.path.normpath(trace_path(each)) for each in traces if not each.startswith(PREFIX)]
    return [each for each in files if not os.path.exists(each)]


def requests_of(run: Run) -> int:
    """How many requests a run replays."""
    if run.profile or run.trace.startswith(PREFIX):
        count = int(documents.toml(run.profile or text_of(run.trace), run.trace)["requests"])
    else:
        count = int(figures_of(trace_path(run.trace), dict(run.settings).get("format", "auto"))["requests"])
    limit = int(dict(run.settings).get("limit", "0"))
    return min(count, limit) if limit else count


def entire(run: Run) -> Run:
    """The run with all requests of its trace."""
    return replace(run, settings=tuple(each for each in run.settings if each[0] != "limit"))


def reduced(run: Run, share: float) -> Run:
    """The run with so large a share of its requests, the first ones; but not with too few, and with all of few."""
    if share == 1:
        return run
    count = requests_of(run)
    limit = max(round(share * count), min(count, FEWEST_REQUESTS))
    if limit == count:
        return run
    settings = dict(run.settings) | {"limit": str(limit)}
    if settings.get("warmup", "").isdecimal():
        settings["warmup"] = str(int(settings["warmup"]) * limit // count)
    return replace(run, settings=tuple(sorted(settings.items())))
