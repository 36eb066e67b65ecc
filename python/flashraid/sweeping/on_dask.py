"""Jobs on a Dask cluster that is there.

A worker has the memory that it may use as a resource, and each job needs some of it, so that the scheduler gives a
worker no job that does not fit; workers without this version of flashraid have none, and get no job. Few more jobs are
submitted than there are threads: what the scheduler costs does not grow with the sweep, and what it loses when it dies
is little. The cluster may be that of others: what they have stays as it is (elsewhere.py).
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from queue import Empty, Queue
from typing import Any, TypeVar, cast

from distributed import Client, Future, Security
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from .. import _native
from .._native import InputError
from ..causes import cause
from .elsewhere import MEMORY, Outcome, for_all, packed, receive, sent_path
from .job import GONE, NOT_SENT, Job, failed
from .local import STEP_SECONDS, Then
from .where import Where

# Jobs that are submitted for each thread, so that a worker that has ended one finds the next.
AHEAD = 3
# So long a scheduler may be away, and so long a cluster may have no worker, before a sweep gives up.
PATIENCE_SECONDS = 120.0
CONNECT_SECONDS = 10.0
# So long an answer may take: that of a worker that has to import first, or that receives a piece of a trace.
ANSWER_SECONDS = 60.0
# So long it may take to leave a cluster as it was.
LEAVE_SECONDS = 2.0
CHUNK_BYTES = 8 << 20  # of a trace that is sent

T = TypeVar("T")
Done = Future[Outcome]
# Which traces were sent to which workers, and the number of the last job that was submitted before.
Sent = dict[tuple[str, str], int]


class Lost(Exception):
    """The scheduler is away."""


@dataclass
class Progress:
    """What a cluster is doing."""

    workers: int = 0
    dashboard: str = ""
    waits_for: str = ""  # what is away
    notes: tuple[str, ...] = ()  # why workers get no run


@dataclass
class _Sweep:
    """Jobs to do, and those that are on their way."""

    jobs: deque[Job]
    then: Then
    go_on: Callable[[Progress], bool]
    progress: Progress = field(default_factory=Progress)
    under_way: dict[str, Job] = field(default_factory=dict)  # by the key of their task
    submitted: int = 0

    def step(self) -> None:
        """Looks whether to go on."""
        if not self.go_on(self.progress):
            raise KeyboardInterrupt

    def give_back(self) -> None:
        """What is under way is to be done again."""
        self.jobs.extendleft(reversed(self.under_way.values()))
        self.under_way.clear()

    def begin(self, job: Job) -> str:
        """The job is under way. Returns a key for its task, another one for each attempt."""
        self.submitted += 1
        key = f"flashraid-{job.run[:16]}-{self.submitted}"
        self.under_way[key] = job
        return key

    def fail(self, job: Job, reason: str) -> None:
        """The job has no result."""
        self.then(failed(job, reason))


class _Link:
    """A connection to a scheduler. Dask's part of it is one thread's; whoever waits for an answer looks now and then
    whether to go on, and does not wait for ever.
    """

    client: Client

    def __init__(self, where: Where, step: Callable[[], None]) -> None:
        self._where, self._step = where, step
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="flashraid-cluster", daemon=True)

    def __enter__(self) -> "_Link":
        self._thread.start()
        try:
            self.client = self.ask(self._connected, 2 * CONNECT_SECONDS)
        except BaseException:
            self._end()
            raise
        return self

    async def _connected(self) -> Client:
        tls = self._where.tls
        keys = {} if tls is None else {"tls_ca_file": tls.ca, "tls_client_cert": tls.cert, "tls_client_key": tls.key}
        security = Security(require_encryption=True, **keys) if keys else None
        client = Client(
            self._where.scheduler,
            timeout=CONNECT_SECONDS,
            security=security,
            asynchronous=True,
            set_as_default=False,
        )
        try:
            return cast(Client, await client)
        except BaseException:
            # Dask leaves that to the garbage collector.
            await client.close(timeout=1)
            raise

    def begin(self, call: Callable[[], Awaitable[T]]) -> "futures.Future[T]":
        """Asks something of the cluster."""

        async def answer() -> T:
            return await call()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop)

    def ask(self, call: Callable[[], Awaitable[T]], seconds: float, *, is_urgent: bool = False) -> T:
        """The answer of the cluster; Lost if there is none for so long. What is urgent is waited for in any case."""
        future = self.begin(call)
        deadline = time.monotonic() + seconds
        try:
            while not futures.wait([future], STEP_SECONDS).done:
                if time.monotonic() > deadline:
                    raise Lost(f"no answer for {seconds:.0f} s")
                if not is_urgent:
                    self._step()
            return future.result()
        except futures.CancelledError:
            raise Lost("the connection was closed") from None
        finally:
            future.cancel()

    def __exit__(self, *error: object) -> None:
        with suppress(Exception):
            self.ask(lambda: self.client.close(timeout=1), 1.5, is_urgent=True)
        self._end()

    def _end(self) -> None:
        """Ends the thread, with all that is still waited for."""

        def cancel() -> None:
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.call_later(0.05, self._loop.stop)

        self._loop.call_soon_threadsafe(cancel)
        self._thread.join(1)
        if not self._thread.is_alive():
            self._loop.close()


def do_all(where: Where, jobs: Sequence[Job], then: Then, go_on: Callable[[Progress], bool]) -> None:
    """Does the jobs. `go_on` is asked all the time; KeyboardInterrupt is raised when it says no.

    Raises InputError if the cluster cannot be used, or is away for too long: what was done until then has been told.
    """
    with _quiet():
        _do_all(where, _Sweep(deque(jobs), then, go_on))


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask says nothing of connections that are lost: the sweep does."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _do_all(where: Where, sweep: _Sweep) -> None:
    """Does the jobs, and waits if the scheduler is away."""
    away_since, has_answered = None, False
    while sweep.jobs:
        try:
            with _Link(where, sweep.step) as link:
                away_since, has_answered = None, True
                _do_with(link, sweep)
        except (Lost, OSError, CommClosedError, TimeoutError) as error:
            away_since = away_since or time.monotonic()
            sweep.give_back()
            sweep.progress.waits_for = "the scheduler"
            sweep.step()
            if not has_answered:
                raise _away(where, error, CONNECT_SECONDS) from None
            if time.monotonic() - away_since > PATIENCE_SECONDS:
                raise _away(where, error, PATIENCE_SECONDS) from None
            time.sleep(STEP_SECONDS)
        except (ValueError, TypeError, RuntimeError) as error:  # of the address, or of its certificates
            raise InputError(f"scheduler {where.scheduler}: {cause(error)}") from None


def _away(where: Where, error: Exception, seconds: float) -> InputError:
    why = f"no answer for {seconds:.0f} s ({cause(error)})"
    return InputError(f"scheduler {where.scheduler}: {why}; what was finished is kept")


def _do_with(link: _Link, sweep: _Sweep) -> None:
    """Does what is left, as long as the scheduler is there; else raises Lost."""
    client, of_all = link.client, for_all()
    sweep.progress.dashboard = _dashboard(client)
    ended: Queue[Done] = Queue()
    sent: Sent = {}
    kept: dict[str, Done] = {}  # as Dask does what somebody holds
    cluster = _Cluster(link)

    async def submit(jobs: Sequence[tuple[str, Job]]) -> None:
        for key, job in jobs:
            resources = {MEMORY: job.needed_bytes}
            future = client.submit(of_all.work, packed(job), key=key, pure=False, resources=resources)
            future.add_done_callback(ended.put)
            kept[key] = future

    try:
        while sweep.jobs or sweep.under_way:
            cluster.look(sweep)
            # Only what fits is submitted: the scheduler would keep the rest until a worker comes that is large enough.
            begun: list[tuple[str, Job]] = []
            while cluster.is_known and sweep.jobs and len(sweep.under_way) < AHEAD * cluster.threads:
                job = sweep.jobs.popleft()
                if cluster.is_too_small(job):
                    sweep.fail(job, cluster.too_small(job))
                else:
                    begun.append((sweep.begin(job), job))
            if begun:
                link.ask(partial(submit, begun), ANSWER_SECONDS)
            _collect(link, sweep, ended, sent)
            for key in [key for key in kept if key not in sweep.under_way]:
                del kept[key]
            sweep.step()
    finally:
        left = list(kept.values())
        kept.clear()
        with suppress(Exception):  # a cluster that is gone has nothing to be left
            link.ask(lambda: cluster.leave(left), LEAVE_SECONDS + 0.5, is_urgent=True)


def _dashboard(client: Client) -> str:
    """The address of the dashboard, which needs Bokeh."""
    return client.dashboard_link or "" if find_spec("bokeh") else ""


class _Cluster:
    """What a cluster has, looked at now and then."""

    def __init__(self, link: _Link) -> None:
        self._link, self._client = link, link.client
        self._looked = self._had_workers = self._all_fitted = time.monotonic()
        self.threads = 0
        self._asked: dict[str, futures.Future[str]] = {}
        self._bytes: dict[str, int] = {}  # of the workers that can do runs
        self._refused: dict[str, str] = {}  # why others cannot

    @property
    def is_known(self) -> bool:
        """Whether there are workers that can do runs."""
        return bool(self._bytes)

    def look(self, sweep: _Sweep) -> None:
        """Raises Lost if the scheduler is away, InputError if there is no worker for too long, or none that can."""
        if self._client.status != "running":
            raise Lost("the connection was closed")
        now = time.monotonic()
        if self.is_known and now - self._looked < 5 * STEP_SECONDS:
            return
        self._looked = now
        found = self._link.ask(lambda: self._client.scheduler.identity(), ANSWER_SECONDS)["workers"]
        self._meet(found)
        self.threads = sum(found[each]["nthreads"] for each in self._bytes)
        sweep.progress.workers = len(self._bytes)
        sweep.progress.waits_for = "" if self._bytes else "workers"
        sweep.progress.notes = tuple(f"{why}; it gets no run" for why in self._refused.values())
        if self._bytes:
            self._had_workers = now
        elif self._refused and not self._asked:
            raise InputError(next(iter(self._refused.values())))
        elif now - self._had_workers > PATIENCE_SECONDS:
            address = self._client.scheduler.address
            raise InputError(f"scheduler {address}: no worker for {PATIENCE_SECONDS:.0f} s; what was finished is kept")
        self._give_up_what_fits_no_more(sweep, now)

    def _meet(self, found: dict[str, Any]) -> None:
        """Asks workers that are new what they have, and takes what has been answered."""
        for known in (self._asked, self._bytes, self._refused):
            for gone in [each for each in known if each not in found]:
                del known[gone]
        for address, worker in found.items():
            # Another sweep that has ended may have taken back what a worker has.
            is_met = address in self._refused or (address in self._bytes and MEMORY in worker["resources"])
            if not is_met and address not in self._asked:
                self._asked[address] = self._link.begin(partial(self._equip, address))
        for address, future in list(self._asked.items()):
            if future.done():
                del self._asked[address]
                if not future.cancelled() and not future.exception() and (why := future.result()):
                    self._refused[address] = f"worker {address} {why}"

    async def _equip(self, address: str) -> str:
        """Gives a worker its memory if it has this version, as results are those of one; else says why not."""
        of_all, version = for_all(), _native.__version__
        allowed = f"allowed is {version}, as here"
        asked = self._client.run(of_all.look, version, workers=[address], on_error="return")
        try:
            answer = (await asyncio.wait_for(asked, ANSWER_SECONDS)).get(address)
        except TimeoutError:
            return f"gives no answer for {ANSWER_SECONDS:.0f} s"
        if not isinstance(answer, tuple):
            is_gone = answer is None or isinstance(answer, OSError)  # and asked again if it comes back
            return "" if is_gone else f"has no flashraid ({cause(answer)}): {allowed}"
        has, limit = answer
        if limit < 0:
            return f"has {has}: {allowed}"
        await self._client.run_on_scheduler(of_all.give, address, limit)
        self._bytes[address] = limit
        return ""

    async def leave(self, left: list[Done]) -> None:
        """Leaves the cluster as it was found; nobody wants what is left."""
        of_all, workers, run = for_all(), list(self._bytes), self._client.run
        if left:
            await self._client.cancel(left, force=True)
        await asyncio.gather(
            self._client.run_on_scheduler(of_all.take_back, LEAVE_SECONDS),
            *([run(of_all.tidy, LEAVE_SECONDS, workers=workers, on_error="ignore")] if workers else []),
            return_exceptions=True,
        )

    def _give_up_what_fits_no_more(self, sweep: _Sweep, now: float) -> None:
        """What was submitted to a worker that has gone for too long, and fits no other one, has no result."""
        lost = {key: job for key, job in sweep.under_way.items() if self.is_too_small(job)}
        if not lost:
            self._all_fitted = now
        elif now - self._all_fitted > PATIENCE_SECONDS:
            for key, job in lost.items():
                del sweep.under_way[key]
                sweep.fail(job, self.too_small(job))

    @property
    def _largest(self) -> int:
        return max(self._bytes.values(), default=0)

    def is_too_small(self, job: Job) -> bool:
        """Whether the job fits no worker."""
        return self.is_known and job.needed_bytes > self._largest

    def too_small(self, job: Job) -> str:
        """Why it does not."""
        return f"needs {job.needed_bytes >> 20:,} MiB of memory; the largest worker has {self._largest >> 20:,}"


def _collect(link: _Link, sweep: _Sweep, ended: "Queue[Done]", sent: Sent) -> None:
    """Takes the results of jobs that have ended, after waiting a little for one."""
    found = []
    with suppress(Empty):
        found.append(ended.get(timeout=STEP_SECONDS))
        while True:
            found.append(ended.get_nowait())
    found = [future for future in found if future.key in sweep.under_way]  # but for what was given up
    done = [future for future in found if future.status == "finished"]
    for future, outcome in zip(done, _gathered(link, done), strict=True):
        if outcome is None:  # a worker died with its result: it is done again
            future.add_done_callback(ended.put)
        else:
            _take(link, sweep, str(future.key), outcome, sent)
    for future in found:
        if future.status == "error":
            job = sweep.under_way.pop(str(future.key))
            error = link.ask(future.exception, ANSWER_SECONDS)
            is_deadly = isinstance(error, KilledWorker)
            sweep.fail(job, "the processes of several workers died in this run" if is_deadly else cause(error))
        elif future.status != "finished":  # cancelled or lost with the scheduler
            raise Lost("the scheduler has forgotten its tasks")


def _gathered(link: _Link, done: list[Done]) -> list[Outcome | None]:
    """The results of jobs; None for one that is not there any more."""
    if not done:
        return []
    gather = partial(link.client.gather, errors="skip")
    found = link.ask(partial(gather, done), ANSWER_SECONDS)
    if len(found) == len(done):
        return list(found)
    return [next(iter(link.ask(partial(gather, [future]), ANSWER_SECONDS)), None) for future in done]


def _take(link: _Link, sweep: _Sweep, key: str, outcome: Outcome, sent: Sent) -> None:
    """Does what follows from a job's outcome."""
    job, number = sweep.under_way.pop(key), int(key.rpartition("-")[2])
    kind, text = outcome
    if kind == "row":
        sweep.then(text)
    elif kind == "stopped":
        sweep.jobs.appendleft(job)
    else:
        if not job.source.is_at(job.source.path):
            sweep.fail(job, GONE)
            return
        if job.source.others:
            sweep.fail(job, NOT_SENT)
            return
        what = (text, job.source.sha256)
        if number > sent.setdefault(what, number):
            sweep.fail(job, f"worker {text} could not keep the trace")
            return
        if sent[what] == number:
            # A worker that has gone or has no room shows by the next job that does not find the trace there.
            with suppress(OSError, KeyError, ValueError):
                _send(link, job, text)
            sent[what] = sweep.submitted
        sweep.jobs.appendleft(job)


def _send(link: _Link, job: Job, worker: str) -> None:
    """Sends the trace to a worker, which keeps it for all of its machine."""
    run = partial(link.client.run, workers=[worker])
    path = link.ask(partial(run, sent_path, job), ANSWER_SECONDS)[worker]
    with open(job.source.path, "rb") as file:
        for at in range(0, job.source.size, CHUNK_BYTES):
            piece = partial(run, receive, path, at, file.read(CHUNK_BYTES), job.source.size)
            link.ask(piece, ANSWER_SECONDS)
