"""Runs of the engine: what an experiment's cell comes to, each distinct run done once, on all cores."""

import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _native
from .._native import DefectError, InputError
from ..profile_text import PREFIX, changed
from ..settings import with_effect
from .metrics import measured
from .papers import FOLDER, Experiment, Overlay, Paper, names_of

# Asked now and then, with how many runs are done and how many there are; returning False stops everything.
Watch = Callable[[int, int], object]
STEP_SECONDS = 0.2
# The state of the device takes most of the time of a short run, and a warm-up would take all of its requests.
QUICK_STATE = {"fill": "0.001", "fill_bytes": "0", "precondition": "none", "warmup": "0"}


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
    settings = tuple(sorted((key, _text(value)) for key, value in gathered.items()))
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


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Runner:
    """Does runs, each once, and keeps what was measured of them."""

    def __init__(self, watch: Watch, most_requests: int | None = None) -> None:
        """With `most_requests`, of each trace no more is replayed, and runs that differ in values alone are done once:
        whether all kinds of runs end, for figures that mean nothing.
        """
        self._watch = watch
        self._most_requests = most_requests
        self._figures: dict[Run, dict[str, float]] = {}
        self._is_stopped = False

    def measure(self, wanted: Iterable[tuple[Run, Sequence[str]]]) -> None:
        """Does the runs that were not yet done. Raises KeyboardInterrupt if the watch returns False."""
        missing: dict[Run, dict[str, None]] = {}
        for run, names in wanted:
            if not self._figures.get(run, {}).keys() >= set(names):
                missing.setdefault(run, {}).update(dict.fromkeys(names))
        if self._most_requests is None:
            self._do_all(missing)
        else:
            # One run stands for all that set the same keys of the same scheme, and of which the same is measured.
            alike: dict[object, list[Run]] = {}
            for run, lacking in missing.items():
                kind = run.scheme, bool(run.profile), tuple(key for key, _ in run.settings), tuple(lacking)
                alike.setdefault(kind, []).append(run)
            self._do_all({first: missing[first] for first, *_ in alike.values()})
            for first, *others in alike.values():
                self._figures.update(dict.fromkeys(others, self._figures[first]))

    def _do_all(self, missing: Mapping[Run, Mapping[str, None]]) -> None:
        with tempfile.TemporaryDirectory(prefix="flashraid-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
            futures: dict[Future[dict[str, float]], Run] = {}
            try:
                for number, (run, lacking) in enumerate(missing.items()):
                    path = Path(folder) / f"profile-{number}.toml"
                    futures[pool.submit(self._do, run, tuple(lacking), path)] = run
                pending = set(futures)
                while pending:
                    done, pending = wait(pending, STEP_SECONDS, FIRST_COMPLETED)
                    for future in done:
                        self._figures.setdefault(futures[future], {}).update(future.result())
                    if self._watch(len(missing) - len(pending), len(missing)) is False:
                        raise KeyboardInterrupt
            finally:
                self._is_stopped = True  # those under way end at their next question, others never begin
                pool.shutdown(cancel_futures=True)
                self._is_stopped = False

    def figures(self, run: Run, names: Sequence[str]) -> dict[str, float]:
        """What was measured of a run, by metric."""
        figures = self._figures[run]
        return {name: figures[name] for name in names}

    def _do(self, run: Run, names: tuple[str, ...], path: Path) -> dict[str, float]:
        """One run. Every request must complete: an experiment is no test of a full drive."""
        if run.profile:
            path.write_text(run.profile, encoding="utf-8")
        trace = str(path) if run.profile else trace_path(run.trace)
        settings = dict(run.settings)
        if self._most_requests is not None:
            settings["limit"] = str(self._most_requests)
            settings |= QUICK_STATE
        go_on = lambda stage, count, share: not self._is_stopped  # noqa: E731
        pairs = with_effect(run.device, run.scheme, list(settings.items()))
        text, _, _, status = _native.run(trace, run.device, run.scheme, None, pairs, [], False, go_on)
        if self._is_stopped:
            raise KeyboardInterrupt
        result = json.loads(text)
        if status != 0 or result["requests"]["completed"] != result["workload"]["requests"]:
            raise DefectError(f"{run.where}: {result['requests']}, status {status}")
        if not result["requests"]["completed"]:
            # Figures of nothing must not pass for figures of 0.
            warmup = settings.get("warmup", "0")
            why = "the trace has none" if warmup == "0" else f"all fall into the warm-up (warmup = {warmup})"
            raise InputError(f"{run.where}: no request was measured: {why}")
        try:
            return measured(result, names)
        except InputError as error:
            raise InputError(f"{run.where}: {error}") from None


def trace_path(trace: str) -> str:
    """Where a trace is: profiles come along, files lie beside the folder of the papers."""
    return trace if trace.startswith(PREFIX) else str(FOLDER.resolve().parent / trace)


def missing_traces(workloads: Iterable[Overlay]) -> list[str]:
    """The traces of workloads that are not there, each with its whole path."""
    traces = [str(each["trace"]) for each in workloads if "trace" in each]
    files = [os.path.normpath(trace_path(each)) for each in traces if not each.startswith(PREFIX)]
    return [each for each in files if not os.path.exists(each)]
