"""Jobs on a Dask cluster: one of this machine's cores, made for the sweep, or one that is there.

A worker has the memory that it may use as a resource, and each job needs some of it, so that the scheduler gives a
worker no job that does not fit. Few more jobs are submitted than there are threads: what the scheduler costs does not
grow with the sweep, and what it loses when it dies is little.
"""

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Literal

from distributed import Client, Future, LocalCluster, Scheduler, SchedulerPlugin, WorkerPlugin, get_worker
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker
from distributed.worker import Worker

from .. import _native, machine
from .._native import DefectError, InputError
from .job import FAILED, GONE, Absent, Job, do, forget, line, row_of
from .serial import Then

MEMORY = "flashraid_memory"
# Jobs that are submitted for each thread, so that a worker that has ended one finds the next.
AHEAD = 3
STEP_SECONDS = 0.2
# So long a scheduler may be away, and so long a cluster may have no worker, before a sweep gives up.
PATIENCE_SECONDS = 120.0
CONNECT_SECONDS = 10.0
CHUNK_BYTES = 8 << 20  # of a trace that is sent

# What became of a job on a worker, and what is to be said of it. Errors are values, as Dask does not carry all of them.
Outcome = tuple[Literal["row", "absent", "failed", "stopped"], str]
Done = Future[Outcome]
# Which traces were sent to which workers, and the number of the last job that was submitted before.
Sent = dict[tuple[str, str], int]


class Lost(Exception):
    """The scheduler is away."""


# What a worker has for which nothing limits memory.
UNLIMITED = 1 << 62


class OfScheduler(SchedulerPlugin):
    """Tells the scheduler how much memory each worker may use, before it gives it the first job."""

    name = "flashraid"
    idempotent = True

    def __init__(self, share: int | None) -> None:
        """`share` is the memory of each worker; by default what Dask limits it to."""
        self._share = share

    async def start(self, scheduler: Scheduler) -> None:
        """The plugin has come to the scheduler."""
        for worker in scheduler.workers:
            self.add_worker(scheduler, worker)

    def add_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """A worker has come. What has these resources is not told again, as that would forget what is in use."""
        state = scheduler.workers[worker]
        if MEMORY not in state.resources:
            scheduler.add_resources(worker, {MEMORY: self._share or state.memory_limit or UNLIMITED})


class OfWorker(WorkerPlugin):
    """Tells a worker the same."""

    name = "flashraid"
    idempotent = True

    def __init__(self, share: int | None) -> None:
        self._share = share

    def setup(self, worker: Worker) -> None:
        """The plugin has come to a worker, or a worker with it."""
        limit = self._share or worker.memory_manager.memory_limit or UNLIMITED
        if MEMORY not in worker.state.total_resources:
            worker.state.total_resources[MEMORY] = worker.state.available_resources[MEMORY] = limit


def _work(job: Job) -> Outcome:
    """The job, done by a thread of a worker; stopped if nobody wants it any more."""
    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    try:
        return "row", do(job, is_wanted, int(worker.state.total_resources[MEMORY]))
    except Absent:
        return "absent", worker.address
    except KeyboardInterrupt:
        return "stopped", ""
    except DefectError as error:
        return "failed", f"defect of flashraid: {error}"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"


def _receive(path: str, at: int, data: bytes, size: int) -> None:
    """Takes a piece of a trace in; the last one makes it a file."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    with open(temporary, "wb" if at == 0 else "r+b") as file:
        file.seek(at)
        file.write(data)
    if at + len(data) == size:
        os.replace(temporary, target)


def _sent_path(job: Job) -> str:
    """Where a worker looks for a trace that was sent to it."""
    return str(job.source.sent)


def _version() -> str:
    return _native.__version__


@dataclass
class Progress:
    """What a cluster is doing."""

    workers: int = 0
    dashboard: str = ""
    waits_for: str = ""  # what is away


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
        self.then(line(row_of(job, FAILED, reason), "", 0.0))


class Workers:
    """A cluster for one list of jobs after another."""

    def __init__(self, scheduler: str | None, threads: int) -> None:
        """The cluster of `scheduler`; else so many threads of this process, made when there are jobs."""
        self._scheduler, self._threads = scheduler, threads
        self._exit = ExitStack()
        self._local: Client | None = None

    def close(self) -> None:
        """Ends what was made."""
        self._exit.close()

    def do_all(self, jobs: Sequence[Job], then: Then, go_on: Callable[[Progress], bool]) -> None:
        """Does the jobs. `go_on` is asked all the time; KeyboardInterrupt is raised when it says no.

        Raises InputError if the cluster cannot be used, or is away for too long: what was done until then has been
        told.
        """
        sweep = _Sweep(deque(jobs), then, go_on)
        if self._scheduler is None:
            _do_with(self._client(), sweep, machine.free_bytes())
        else:
            with _quiet():
                _do_with_scheduler(self._scheduler, sweep)

    def _client(self) -> Client:
        """A cluster in this process, with a thread for each run, as the engine needs no lock of Python: they share
        memory and prepared devices. What jobs say of their memory counts, not what Dask measures.
        """
        if self._local is None:
            cluster = LocalCluster(
                n_workers=1,
                threads_per_worker=self._threads,
                processes=False,
                memory_limit=0,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            )
            self._exit.callback(cluster.close, timeout=5)
            self._local = self._exit.enter_context(_Connected(cluster, set_as_default=False))
        return self._local


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


class _Connected(Client):
    """A client that closes itself if it cannot connect.

    Dask leaves that to the garbage collector, which may do it in any thread: also in one that another client has just
    started and waits for, with the lock in its hand that closing needs. Both then wait for ever.
    """

    def start(self, **kwargs: Any) -> None:
        try:
            super().start(**kwargs)
        except BaseException:
            self.close()
            raise


def _do_with_scheduler(scheduler: str, sweep: _Sweep) -> None:
    """Does the jobs, and waits if the scheduler is away."""
    away_since, has_answered = None, False
    while sweep.jobs:
        try:
            with _Connected(scheduler, timeout=CONNECT_SECONDS, set_as_default=False) as client:
                away_since, has_answered = None, True
                _do_with(client, sweep, None)
        except (Lost, OSError, CommClosedError, TimeoutError) as error:
            away_since = away_since or time.monotonic()
            sweep.give_back()
            sweep.progress.waits_for = "the scheduler"
            sweep.step()
            if not has_answered:
                raise _away(scheduler, error, CONNECT_SECONDS) from None
            if time.monotonic() - away_since > PATIENCE_SECONDS:
                raise _away(scheduler, error, PATIENCE_SECONDS) from None
            time.sleep(STEP_SECONDS)
        except ValueError as error:
            raise InputError(f"scheduler {scheduler}: {error}") from None


def _away(scheduler: str, error: Exception, seconds: float) -> InputError:
    why = "" if isinstance(error, Lost) else f" ({error})"
    return InputError(f"scheduler {scheduler}: no answer for {seconds:.0f} s{why}; what was finished is kept")


def _do_with(client: Client, sweep: _Sweep, share: int | None) -> None:
    """Does what is left, as long as the scheduler is there; else raises Lost."""
    client.register_plugin(OfWorker(share))
    client.register_plugin(OfScheduler(share))
    sweep.progress.dashboard = _dashboard(client)
    ended: Queue[Done] = Queue()
    sent: Sent = {}
    cluster = _Cluster(client)
    try:
        while sweep.jobs or sweep.under_way:
            cluster.look(sweep)
            # Only what fits is submitted: the scheduler would keep the rest until a worker comes that is large enough.
            while cluster.is_known and sweep.jobs and len(sweep.under_way) < AHEAD * cluster.threads:
                job = sweep.jobs.popleft()
                if cluster.is_too_small(job):
                    sweep.fail(job, cluster.too_small(job))
                    continue
                key = sweep.begin(job)
                future = client.submit(_work, job, key=key, pure=False, resources={MEMORY: job.needed_bytes})
                future.add_done_callback(ended.put)
            _collect(client, sweep, ended, sent)
            sweep.step()
        client.run(forget, on_error="return")
    except KeyboardInterrupt:
        with suppress(Exception):
            client.cancel(list(sweep.under_way), force=True)
        raise


def _dashboard(client: Client) -> str:
    """The address of the dashboard, which needs Bokeh."""
    return client.dashboard_link or "" if find_spec("bokeh") else ""


class _Cluster:
    """What a cluster has, looked at now and then."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._looked = self._had_workers = self._all_fitted = time.monotonic()
        self.threads = 0
        self._largest: float = 0
        self.is_known = False  # whether there are workers of which the memory is known
        self._checked: set[str] = set()

    def look(self, sweep: _Sweep) -> None:
        """Raises Lost if the scheduler is away, InputError if there is no worker for too long."""
        if self._client.status != "running":
            raise Lost
        now = time.monotonic()
        if self.is_known and now - self._looked < 5 * STEP_SECONDS:
            return
        self._looked = now
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        info = workers.values()
        self.threads = sum(each["nthreads"] for each in info)
        self._largest = max((each["resources"].get(MEMORY, 0) for each in info), default=0)
        self.is_known = bool(info) and self._largest > 0
        sweep.progress.workers = len(info)
        sweep.progress.waits_for = "" if info else "workers"
        if info:
            self._had_workers = now
            self._check_versions([each for each in workers if each not in self._checked])
        elif now - self._had_workers > PATIENCE_SECONDS:
            address = self._client.scheduler.address
            raise InputError(f"scheduler {address}: no worker for {PATIENCE_SECONDS:.0f} s; what was finished is kept")
        self._give_up_what_fits_no_more(sweep, now)

    def _give_up_what_fits_no_more(self, sweep: _Sweep, now: float) -> None:
        """What was submitted to a worker that has gone for too long, and fits no other one, has no result."""
        lost = {key: job for key, job in sweep.under_way.items() if self.is_too_small(job)}
        if not lost:
            self._all_fitted = now
        elif now - self._all_fitted > PATIENCE_SECONDS:
            for key, job in lost.items():
                del sweep.under_way[key]
                sweep.fail(job, self.too_small(job))
            self._client.cancel(list(lost), force=True)

    def _check_versions(self, workers: list[str]) -> None:
        """All workers must have this version, as results are those of one."""
        versions = self._client.run(_version, workers=workers, on_error="return") if workers else {}
        for worker, version in versions.items():
            if version == _native.__version__:
                self._checked.add(worker)
            elif not isinstance(version, OSError):  # one that has just gone
                has = f"flashraid {version}" if isinstance(version, str) else f"no flashraid ({version})"
                raise InputError(f"worker {worker} has {has}: allowed is {_native.__version__}, as here")

    def is_too_small(self, job: Job) -> bool:
        """Whether the job fits no worker."""
        return self.is_known and job.needed_bytes > self._largest

    def too_small(self, job: Job) -> str:
        """Why it does not."""
        return f"needs {job.needed_bytes >> 20:,} MiB of memory; the largest worker has {int(self._largest) >> 20:,}"


def _collect(client: Client, sweep: _Sweep, ended: "Queue[Done]", sent: Sent) -> None:
    """Takes the results of jobs that have ended, after waiting a little for one."""
    futures = []
    with suppress(Empty):
        futures.append(ended.get(timeout=STEP_SECONDS))
        while True:
            futures.append(ended.get_nowait())
    futures = [future for future in futures if future.key in sweep.under_way]  # but for what was given up
    done = [future for future in futures if future.status == "finished"]
    for future, outcome in zip(done, _gathered(client, done), strict=True):
        if outcome is None:  # a worker died with its result: it is done again
            future.add_done_callback(ended.put)
        else:
            _take(client, sweep, str(future.key), outcome, sent)
    for future in futures:
        if future.status == "error":
            job = sweep.under_way.pop(str(future.key))
            error = future.exception()
            why = "the processes of several workers died in this run" if isinstance(error, KilledWorker) else str(error)
            sweep.fail(job, why)
        elif future.status != "finished":  # cancelled or lost with the scheduler
            raise Lost


def _gathered(client: Client, done: list[Done]) -> list[Outcome | None]:
    """The results of jobs; None for one that is not there any more."""
    found = client.gather(done, errors="skip") if done else []
    if len(found) == len(done):
        return list(found)
    return [next(iter(client.gather([future], errors="skip")), None) for future in done]


def _take(client: Client, sweep: _Sweep, key: str, outcome: Outcome, sent: Sent) -> None:
    """Does what follows from a job's outcome."""
    job, number = sweep.under_way.pop(key), int(key.rpartition("-")[2])
    kind, text = outcome
    if kind == "row":
        sweep.then(text)
    elif kind == "failed":
        sweep.fail(job, text)
    elif kind == "stopped":
        sweep.jobs.appendleft(job)
    else:
        if not job.source.is_at(job.source.path):
            sweep.fail(job, GONE)
            return
        what = (text, job.source.sha256)
        if number > sent.setdefault(what, number):
            sweep.fail(job, f"worker {text} could not keep the trace")
            return
        if sent[what] == number:
            # A worker that has gone or has no room shows by the next job that does not find the trace there.
            with suppress(OSError, KeyError, ValueError):
                _send(client, job, text)
            sent[what] = sweep.submitted
        sweep.jobs.appendleft(job)


def _send(client: Client, job: Job, worker: str) -> None:
    """Sends the trace to a worker, which keeps it for all of its machine."""
    path: str = client.run(_sent_path, job, workers=[worker])[worker]
    with open(job.source.path, "rb") as file:
        for at in range(0, job.source.size, CHUNK_BYTES):
            client.run(_receive, path, at, file.read(CHUNK_BYTES), job.source.size, workers=[worker])
