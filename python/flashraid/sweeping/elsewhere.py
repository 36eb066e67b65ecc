"""What other processes of a Dask cluster do for a sweep.

Nothing stays there: no plugin, which would end every worker of others that has no flashraid. What `for_all` makes is
sent by value and imports nothing, so that it can be asked of any worker and of the scheduler, whatever they have. The
rest is done by workers that have said that they have this version.
"""

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from distributed import get_worker

from .job import Absent, Job, done_or_failed

# The resource of a worker that is the memory of its runs.
MEMORY = "flashraid_memory"
# What a worker has for which nothing limits memory.
UNLIMITED = 1 << 62

# What became of a job on a worker: its row, the worker that lacks the trace, or nothing.
Outcome = tuple[Literal["row", "absent", "stopped"], str]


@dataclass(frozen=True)
class ForAll:
    """Functions that can be sent to whatever belongs to a cluster."""

    look: Callable[..., Any]
    """On a worker: its version of flashraid and the memory of its runs, which it is told; why it has none, and -1."""
    give: Callable[..., Any]
    """On the scheduler: a worker has so much memory, if nobody has said so yet."""
    take_back: Callable[..., Any]
    """On the scheduler: no worker has such memory any more, unless a run of another sweep needs it."""
    work: Callable[..., Any]
    """On a worker: does a packed job."""
    tidy: Callable[..., Any]
    """On a worker: gives up what it keeps for further runs, as soon as no run uses it."""


def for_all() -> ForAll:
    """Makes them. They are functions in a function and name nothing of this module: so they are sent by value."""
    name, unlimited = MEMORY, UNLIMITED

    def look(version: str, dask_worker: Any) -> tuple[str, int]:
        try:
            from flashraid import _native
        except Exception as error:
            return f"no flashraid ({error or type(error).__name__})", -1
        if _native.__version__ != version:
            return f"flashraid {_native.__version__}", -1
        state = dask_worker.state
        if name not in state.total_resources:
            limit = dask_worker.memory_manager.memory_limit or unlimited
            state.total_resources[name] = state.available_resources[name] = limit
        return version, int(state.total_resources[name])

    def give(worker: str, limit: int, dask_scheduler: Any) -> None:
        state = dask_scheduler.workers.get(worker)
        if state is None or name in state.resources:
            return
        # Not by `add_resources`, which forgets what others use of theirs.
        state.resources[name], state.used_resources[name] = limit, 0
        dask_scheduler.resources.setdefault(name, {})[worker] = limit
        waiting = dask_scheduler.bulk_schedule_unrunnable_after_adding_worker(state)
        dask_scheduler.transitions(waiting, "flashraid-memory")

    async def take_back(seconds: float, dask_scheduler: Any) -> None:
        from asyncio import sleep
        from time import monotonic

        ended, deadline = ("released", "memory", "erred", "forgotten"), monotonic() + seconds
        tasks = dask_scheduler.tasks
        while any(name in (each.resource_restrictions or ()) for each in tasks.values() if each.state not in ended):
            if monotonic() > deadline:
                return
            await sleep(0.02)
        for worker in dask_scheduler.resources.pop(name, {}):
            if state := dask_scheduler.workers.get(worker):
                state.resources.pop(name, None)
                state.used_resources.pop(name, None)

    def work(packed: bytes) -> Any:
        from flashraid.sweeping import elsewhere

        return elsewhere.work(packed)

    async def tidy(seconds: float) -> None:
        from asyncio import sleep
        from time import monotonic

        from flashraid.sweeping import job

        deadline = monotonic() + seconds
        while not job.forget() and monotonic() < deadline:
            await sleep(0.05)

    return ForAll(look, give, take_back, work, tidy)


def packed(job: Job) -> bytes:
    """A job as the scheduler passes it on, without a look at it."""
    return pickle.dumps(job)


def work(packed: bytes) -> Outcome:
    """The job, done by a thread of a worker; stopped if nobody wants it any more."""
    job: Job = pickle.loads(packed)
    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    try:
        return "row", done_or_failed(job, is_wanted, int(worker.state.total_resources[MEMORY]))
    except Absent:
        return "absent", worker.address
    except KeyboardInterrupt:
        return "stopped", ""


def receive(path: str, at: int, data: bytes, size: int) -> None:
    """Takes a piece of a trace in; the last one makes it a file."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    with open(temporary, "wb" if at == 0 else "r+b") as file:
        file.seek(at)
        file.write(data)
    if at + len(data) == size:
        os.replace(temporary, target)


def sent_path(job: Job) -> str:
    """Where a worker looks for a trace that was sent to it."""
    return str(job.source.sent)
