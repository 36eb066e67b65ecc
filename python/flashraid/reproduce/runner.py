"""Does runs of the engine: each distinct one once, on all cores, and none that is kept from before."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from .. import _native, machine
from .._native import DefectError, InputError
from ..files import scratch_folder
from ..settings import with_effect
from .cache import Cache, Cost, Entry, key
from .metrics import measured
from .originals import without_options
from .runs import Run, entire, requests_of, trace_path

STEP_SECONDS = 0.2
# What a request takes where nothing is known of this machine.
SECONDS_PER_REQUEST = 5e-6
# For the smoke test. The device and its state take most of the time of a short run, and a warm-up all of its requests.
SMOKE = {
    "blocks_per_plane": "256",
    "log_blocks": "8",
    "space_bytes": "0",
    "fit": "wrap",
    "fill": "0.001",
    "fill_bytes": "0",
    "precondition": "none",
    "warmup": "0",
}


@dataclass(frozen=True)
class Status:
    """How far a reproduction is."""

    done: int  # runs, also those kept from before
    count: int
    kept: int  # runs that were kept from before, and are not done again
    share: float  # of the work that there was at the start, by what runs took before or else by their requests
    seconds_left: float | None  # None if nothing is known yet


# Asked now and then; returning False stops everything.
Watch = Callable[[Status], object]


class Runner:
    """Does runs, each once, and keeps what was measured of them."""

    def __init__(self, watch: Watch, cache: Cache | None = None, most_requests: int | None = None) -> None:
        """With `most_requests`, of each trace no more is replayed, and runs that differ in values alone are done once:
        whether all kinds of runs end, for figures that mean nothing.
        """
        self._watch = watch
        self._cache = cache
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

    def figures(self, run: Run, names: Sequence[str]) -> dict[str, float]:
        """What was measured of a run, by metric."""
        figures = self._figures[run]
        return {name: figures[name] for name in names}

    def _do_all(self, missing: Mapping[Run, Mapping[str, None]]) -> None:
        left = {run: tuple(lacking) for run, lacking in missing.items() if not self._is_kept(run, lacking)}
        kept = len(missing) - len(left)
        work, is_known = self._work(left)
        whole, begun = sum(work.values()), time.monotonic()

        def go_on(pending: Iterable[Run]) -> None:
            pending = list(pending)
            to_do = sum(work[run] for run in pending)
            passed, share = time.monotonic() - begun, 1 - to_do / whole if whole else 1.0
            seconds: float | None
            if len(pending) < len(left):
                seconds = passed * to_do / (whole - to_do)
            else:
                seconds = whole / machine.cores() if is_known or not left else None
            status = Status(len(missing) - len(pending), len(missing), kept, share, seconds)
            if self._watch(status) is False:
                raise KeyboardInterrupt

        go_on(left)
        with scratch_folder() as folder, ThreadPoolExecutor(machine.cores()) as pool:
            futures: dict[Future[dict[str, float]], Run] = {}
            try:
                # The longest first, so that no core waits at the end for one that began late.
                for number, run in enumerate(sorted(left, key=work.__getitem__, reverse=True)):
                    path = Path(folder) / f"profile-{number}.toml"
                    futures[pool.submit(self._do, run, left[run], path)] = run
                pending = set(futures)
                while pending:
                    done, pending = wait(pending, STEP_SECONDS, FIRST_COMPLETED)
                    for future in done:
                        self._figures.setdefault(futures[future], {}).update(future.result())
                    go_on(futures[each] for each in pending)
            finally:
                self._is_stopped = True  # those under way end at their next question, others never begin
                pool.shutdown(cancel_futures=True)
                self._is_stopped = False

    def _is_kept(self, run: Run, lacking: Iterable[str]) -> bool:
        """Whether the run's result is there from before; then its figures are."""
        entry = self._cache.get(_name(run)) if self._cache else None
        if entry is None:
            return False
        self._figures.setdefault(run, {}).update(_measured(run, json.loads(entry.text), lacking))
        return True

    def _work(self, left: Iterable[Run]) -> tuple[dict[Run, float], bool]:
        """What each run is likely to take, in seconds of a core, and whether that is known of this machine."""
        left = list(left)
        if self._most_requests is not None:
            return dict.fromkeys(left, 1.0), False
        costs = {run: cost for run in left if self._cache and (cost := self._cache.cost(_name(run)))}
        requests = sum(each.requests for each in costs.values())
        rate = sum(each.seconds for each in costs.values()) / requests if requests else SECONDS_PER_REQUEST
        return {run: costs[run].seconds if run in costs else requests_of(run) * rate for run in left}, bool(costs)

    def _do(self, run: Run, names: tuple[str, ...], path: Path) -> dict[str, float]:
        """One run. Every request must complete: an experiment is no test of a full drive."""
        if run.profile:
            path.write_text(run.profile, encoding="utf-8")
        trace = str(path) if run.profile else trace_path(run.trace)
        settings = dict(run.settings)
        if self._most_requests is not None:
            settings["limit"] = str(self._most_requests)
            settings |= SMOKE
        go_on = lambda stage, count, share: not self._is_stopped  # noqa: E731
        pairs = with_effect(run.device, run.scheme, list(settings.items()))
        begun = time.thread_time()
        try:
            text, _, _, status = _native.run(trace, run.device, run.scheme, None, pairs, [], False, go_on)
        except InputError as error:
            raise InputError(without_options(str(error))) from None
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
        figures = _measured(run, result, names)
        if self._cache:
            # All that were replayed, as `requests_of` counts them.
            requests = result["workload"]["requests"] + result["workload"]["warmup_requests"]
            cost = Cost(time.thread_time() - begun, requests)
            self._cache.put(_name(run), Entry(cost, text))
        return figures


def _measured(run: Run, result: Mapping[str, object], names: Iterable[str]) -> dict[str, float]:
    try:
        return measured(result, tuple(names), lambda _: requests_of(entire(run)))
    except InputError as error:
        raise InputError(f"{run.where}: {error}") from None


def _name(run: Run) -> str:
    """What the run is called in the cache."""
    return key(trace_path(run.trace), run.profile, run.device, run.scheme, run.settings)
