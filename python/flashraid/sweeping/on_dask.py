"""Jobs on a Dask cluster: one of this machine's cores, made for the sweep, or one that is there.

A worker has the memory that it may use as a resource, and each job needs some of it, so that the scheduler gives a
worker no job that does not fit. Few more jobs are submitted than there are threads: what the scheduler costs does not
grow with the sweep, and what it loses when it dies is little.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from distributed import Client, Future, LocalCluster, WorkerPlugin, get_worker
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker
from distributed.worker import Worker

from .. import _native, machine
from .._native import DefectError, InputError
from .job import FAILED, Absent, Job, do, line, row_of
from .serial import Then

MEMORY = "flashraid_memory"
# Jobs that are submitted for each thread, so that a worker that has ended one finds the next.
AHEAD = 3
STEP_SECONDS = 0.2
# So long a scheduler may be away, and so long a cluster may have no worker, before a sweep gives up.
PATIENCE_SECONDS = 120.0
CHUNK_BYTES = 8 << 20  # of a trace that is sent

# A job's row to come.
Done = Future[str]


class Lost(Exception):
    """The scheduler is away."""


class Share(WorkerPlugin):
    """Tells the scheduler how much memory a worker may use, also of workers that come later."""

    name = "flashraid"
    idempotent = True

    def __init__(self, share: int | None) -> None:
        """`share` is the memory of each worker; by default what Dask limits it to, else what is free."""
        self._share = share

    async def setup(self, worker: Worker) -> None:
        """The worker has come."""
        limit = self._share or worker.memory_manager.memory_limit or machine.free_bytes() or 1 << 62
        worker.flashraid_bytes = limit  # type: ignore[attr-defined]  # where `_work` finds it
        await worker.set_resources(**{MEMORY: limit})


def _work(job: Job) -> str:
    """The job, done by a thread of a worker; stopped if nobody wants it any more."""
    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    return do(job, is_wanted, getattr(worker, "flashraid_bytes", None))


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
    under_way: dict[str, Job] = field(default_factory=dict)

    def step(self) -> None:
        """Looks whether to go on."""
        if not self.go_on(self.progress):
            raise KeyboardInterrupt

    def give_back(self) -> None:
        """What is under way is to be done again."""
        self.jobs.extendleft(reversed(self.under_way.values()))
        self.under_way.clear()

    def fail(self, job: Job, reason: str) -> None:
        """The job has no result."""
        self.under_way.pop(job.run, None)
        self.then(line(row_of(job.run, job.source.name, FAILED, reason), "", 0.0))


def do_all(
    jobs: Sequence[Job], then: Then, go_on: Callable[[Progress], bool], scheduler: str | None, threads: int
) -> None:
    """Does the jobs on the cluster of `scheduler`, else with so many threads of this machine.

    `go_on` is asked all the time; KeyboardInterrupt is raised when it says no. Raises InputError if the cluster cannot
    be used, or is away for too long: what was done until then has been told.
    """
    sweep = _Sweep(deque(jobs), then, go_on)
    if scheduler is None:
        with _local(threads) as cluster, Client(cluster) as client:
            _do_with(client, sweep, machine.free_bytes())
        return
    away_since = None
    while sweep.jobs:
        try:
            with Client(scheduler, timeout=10) as client:
                away_since = None
                _do_with(client, sweep, None)
        except (Lost, OSError, CommClosedError, TimeoutError) as error:
            away_since = away_since or time.monotonic()
            sweep.give_back()
            sweep.progress.waits_for = "the scheduler"
            sweep.step()
            if time.monotonic() - away_since > PATIENCE_SECONDS:
                raise _away(scheduler, error) from None
            time.sleep(STEP_SECONDS)
        except ValueError as error:
            raise InputError(f"scheduler {scheduler}: {error}") from None


def _away(scheduler: str, error: Exception) -> InputError:
    why = "" if isinstance(error, Lost) else f" ({error})"
    return InputError(f"scheduler {scheduler}: no answer for {PATIENCE_SECONDS:.0f} s{why}; what was finished is kept")


@contextmanager
def _local(threads: int) -> Iterator[LocalCluster]:
    """A cluster of this machine: a process with a thread for each run, which shares its memory and prepared devices.

    What jobs say of their memory counts, not what Dask measures.
    """
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=threads,
        processes=True,
        memory_limit=0,
        dashboard_address=":0",
        silence_logs=50,
    )
    try:
        yield cluster
    finally:
        cluster.close(timeout=5)


def _do_with(client: Client, sweep: _Sweep, share: int | None) -> None:
    """Does what is left, as long as the scheduler is there; else raises Lost."""
    client.register_plugin(Share(share))
    sweep.progress.dashboard = _dashboard(client)
    ended: Queue[Done] = Queue()
    absent: set[tuple[str, str]] = set()  # what was sent to which machine
    cluster = _Cluster(client)
    try:
        while sweep.jobs or sweep.under_way:
            cluster.look(sweep)
            while sweep.jobs and len(sweep.under_way) < AHEAD * max(1, cluster.threads):
                job = sweep.jobs.popleft()
                if cluster.is_too_small(job):
                    sweep.fail(job, cluster.too_small(job))
                    continue
                sweep.under_way[job.run] = job
                future = client.submit(
                    _work, job, key=f"flashraid-{job.run}", pure=False, resources={MEMORY: job.needed_bytes}
                )
                future.add_done_callback(ended.put)
            _collect(client, sweep, ended, absent)
            sweep.step()
    except KeyboardInterrupt:
        with suppress(Exception):
            client.cancel([f"flashraid-{run}" for run in sweep.under_way], force=True)
        raise


def _dashboard(client: Client) -> str:
    """The address of the dashboard, which needs Bokeh."""
    return client.dashboard_link or "" if find_spec("bokeh") else ""


class _Cluster:
    """What a cluster has, looked at now and then."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._looked = self._had_workers = time.monotonic()
        self.threads = 0
        self._largest: float = 0
        self._is_known = False
        self._checked: set[str] = set()

    def look(self, sweep: _Sweep) -> None:
        """Raises Lost if the scheduler is away, InputError if there is no worker for too long."""
        if self._client.status != "running":
            raise Lost
        now = time.monotonic()
        if self._is_known and now - self._looked < 5 * STEP_SECONDS:
            return
        self._looked = now
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        info = workers.values()
        self.threads = sum(each["nthreads"] for each in info)
        self._largest = max((each["resources"].get(MEMORY, 0) for each in info), default=0)
        self._is_known = bool(info) and self._largest > 0
        sweep.progress.workers = len(info)
        sweep.progress.waits_for = "" if info else "workers"
        if info:
            self._had_workers = now
            self._check_versions([each for each in workers if each not in self._checked])
        elif now - self._had_workers > PATIENCE_SECONDS:
            address = self._client.scheduler.address
            raise InputError(f"scheduler {address}: no worker for {PATIENCE_SECONDS:.0f} s; what was finished is kept")

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
        return self._is_known and job.needed_bytes > self._largest

    def too_small(self, job: Job) -> str:
        """Why it does not."""
        return f"needs {job.needed_bytes >> 20:,} MiB of memory; the largest worker has {int(self._largest) >> 20:,}"


def _collect(client: Client, sweep: _Sweep, ended: "Queue[Done]", sent: set[tuple[str, str]]) -> None:
    """Takes the results of jobs that have ended, after waiting a little for one."""
    futures = []
    with suppress(Empty):
        futures.append(ended.get(timeout=STEP_SECONDS))
        while True:
            futures.append(ended.get_nowait())
    done = [future for future in futures if future.status == "finished"]
    for future, text in zip(done, _gathered(client, done), strict=True):
        if text is None:  # a worker died with its result: it is done again
            future.add_done_callback(ended.put)
            continue
        sweep.under_way.pop(_run_of(future), None)
        sweep.then(text)
    for future in futures:
        if future.status == "finished":
            continue
        job = sweep.under_way.get(_run_of(future))
        if job is None:
            continue
        if future.status != "error":  # cancelled or lost with the scheduler
            raise Lost
        _failed(client, sweep, job, future.exception(), sent)


def _gathered(client: Client, done: list[Done]) -> list[str | None]:
    """The results of jobs; None for one that is not there any more."""
    found = client.gather(done, errors="skip") if done else []
    if len(found) == len(done):
        return list(found)
    return [next(iter(client.gather([future], errors="skip")), None) for future in done]


def _run_of(future: Done) -> str:
    return str(future.key).removeprefix("flashraid-")


def _failed(client: Client, sweep: _Sweep, job: Job, error: BaseException, sent: set[tuple[str, str]]) -> None:
    """A job ended with an error: its trace was not there, or it took its workers with it."""
    if isinstance(error, Absent):
        _send(client, job, sent)
        del sweep.under_way[job.run]
        sweep.jobs.append(job)
    elif isinstance(error, KilledWorker):
        sweep.fail(job, "the processes of several workers died while they did this run")
    elif isinstance(error, KeyboardInterrupt):
        raise Lost
    elif isinstance(error, DefectError):
        sweep.fail(job, f"defect of flashraid: {error}")
    else:
        sweep.fail(job, f"{type(error).__name__}: {error}")


def _send(client: Client, job: Job, sent: set[tuple[str, str]]) -> None:
    """Sends the trace to one worker of each machine that does not have it yet."""
    machines: dict[str, str] = {}
    for address, each in client.scheduler_info(n_workers=-1)["workers"].items():
        machines.setdefault(each["host"], address)
    paths: dict[str, Any] = client.run(_sent_path, job, workers=list(machines.values()))
    for host, address in machines.items():
        if (host, job.source.sha256) in sent:
            continue
        sent.add((host, job.source.sha256))
        with open(job.source.path, "rb") as file:
            for at in range(0, job.source.size, CHUNK_BYTES):
                data = file.read(CHUNK_BYTES)
                client.run(_receive, paths[address], at, data, job.source.size, workers=[address])
