"""Runs beside each other on several cores, until one is interrupted or fails."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple, Protocol

from . import _native
from .interrupts import Interrupts
from .outputs import OpenOutputs
from .replay import INTERRUPTED, run_pairs
from .result import Result
from .settings import Pairs, Progress, configuration

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


class Together:
    """One progress function for all runs."""

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

    together: Together
    run: int

    def __call__(self, stage: str, count: int, share: float | None) -> object:
        return self.together.tell(self.run, stage, count, share)

    def end(self) -> None:
        self.together.end(self.run)


# The result of a run that may not have begun.
Done = Future[Result | None]


class Place(NamedTuple):
    """Where all runs are: the device and the configuration file."""

    device: str | None
    config: str | None


class Run(NamedTuple):
    """A run among others."""

    name: str
    scheme: str
    trace: str
    settings: Pairs
    outputs: OpenOutputs
    engine: bool
    device: "SharedDevice"  # with which it begins
    seed: int | None = None  # if there are several


class SharedDevice:
    """The device with which several runs of a scheme begin: prepared by the first, and gone after the last."""

    def __init__(self, runs: int) -> None:
        self._left = runs
        self._is_shared = runs > 1
        self._lock = Lock()
        self._prepared: _native.Prepared | None = None
        self._preparation: str | None = None  # what it was prepared for

    @contextmanager
    def lent(self, place: Place, run: Run, go_on: Callable[..., bool]) -> Iterator[_native.Prepared | None]:
        """The prepared device; None for a run that prepares its own."""
        asked = (place.device, run.scheme, place.config, run.settings)
        preparation = _native.preparation(*asked) if self._is_shared else None
        try:
            with self._lock:
                if preparation and self._prepared is None:
                    self._preparation, self._prepared = preparation, _native.Prepared(*asked, go_on)
                prepared = self._prepared if preparation == self._preparation else None
            yield prepared
        finally:
            with self._lock:
                self._left -= 1
                if not self._left:
                    self._prepared = None


def ended(runs: Sequence[Done]) -> list[Result]:
    """The results up to the first run that did not end."""
    found: list[Result] = []
    for each in runs:
        if each.cancelled() or (result := each.result()) is None:
            break
        found.append(result)
    return found


class SideBySide:
    """Does runs on several cores, until one is interrupted or fails."""

    def __init__(self, place: Place, begin: Begin, jobs: int) -> None:
        self._place, self._begin = place, begin
        self._pool = ThreadPoolExecutor(jobs)
        self._then: dict[Done, Callable[[Result], None]] = {}
        self._all: list[tuple[Done, OpenOutputs]] = []
        self._kept = 0
        self._is_stopped = False

    def do(self, run: Run, then: Callable[[Result], None] = lambda result: None) -> Done:
        """Does the run when there is a core for it; what is to be done then with its result is done by `wait`."""
        future = self._pool.submit(self._do, run)
        self._all.append((future, run.outputs))
        self._then[future] = then
        return future

    def _do(self, run: Run) -> Result | None:
        device, config = self._place
        watch = self._begin(run.name, lambda: configuration(device, run.scheme, config, run.settings))
        if watch is None or self._is_stopped:
            return None

        def watched(stage: str, count: int, share: float | None) -> bool:
            return not self._is_stopped and watch(stage, count, share) is not False

        try:
            with run.device.lent(self._place, run, watched) as prepared:
                asked = (run.trace, device, run.scheme, config)
                result = run_pairs(*asked, run.engine, watched, run.settings, run.outputs, prepared)
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
