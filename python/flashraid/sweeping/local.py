"""Jobs on the cores of this machine: threads of this process, as the engine needs no lock of Python. They share memory
and prepared devices, and nothing listens on any port.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event

from .. import machine
from .job import GONE, Absent, Job, done_or_failed, failed, forget

# Told of each row, as a line.
Then = Callable[[str], None]
GoOn = Callable[[], bool]
STEP_SECONDS = 0.2


def do_all(jobs: Sequence[Job], then: Then, go_on: GoOn, threads: int, most_bytes: int | None = None) -> None:
    """Does the jobs, so many at a time. Raises KeyboardInterrupt when `go_on`, which is asked all the time, says no.

    They may take as much memory as is free, or as `most_bytes` says: then each that needs more for a device that is
    kept for others, and one that it copies, prepares its own.
    """
    free_bytes = machine.free_bytes()
    if most_bytes is None:
        most_bytes = free_bytes
    else:
        most = most_bytes = min(most_bytes, free_bytes or most_bytes)
        jobs = [replace(job, preparation="") if job.needed_bytes > most else job for job in jobs]
    try:
        if threads == 1 or len(jobs) == 1:
            for job in jobs:
                if not go_on():
                    raise KeyboardInterrupt
                then(_row(job, go_on, most_bytes))
        else:
            _side_by_side(deque(jobs), then, go_on, threads, most_bytes)
    finally:
        forget()


def _side_by_side(left: deque[Job], then: Then, go_on: GoOn, threads: int, most_bytes: int | None) -> None:
    """The same on several cores; a job begins when there is memory for it beside the others."""
    under_way: dict[Future[str], int] = {}
    is_stopped = Event()

    def is_wanted() -> bool:
        return not is_stopped.is_set()

    def is_next() -> bool:
        """Whether there is a core and memory for another job."""
        if not left or len(under_way) >= threads:
            return False
        return not under_way or most_bytes is None or sum(under_way.values()) + left[0].needed_bytes <= most_bytes

    with ThreadPoolExecutor(threads) as pool:
        try:
            while left or under_way:
                while is_next():
                    job = left.popleft()
                    under_way[pool.submit(_row, job, is_wanted, most_bytes)] = job.needed_bytes
                if not go_on():
                    raise KeyboardInterrupt
                for future in wait(under_way, STEP_SECONDS, FIRST_COMPLETED).done:
                    del under_way[future]
                    then(future.result())
        finally:
            is_stopped.set()  # those under way end at their next question


def _row(job: Job, go_on: GoOn, most_bytes: int | None) -> str:
    """The row of a job."""
    try:
        return done_or_failed(job, go_on, most_bytes)
    except Absent:
        return failed(job, GONE)
