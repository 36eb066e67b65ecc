"""Jobs on the cores of this machine: threads of this process, as the engine needs no lock of Python. They share memory
and prepared devices, and nothing listens on any port.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event

from .. import machine
from .job import GONE, Absent, Job, done_or_failed, drop, failed, forget

# Told of each row, as a line.
Then = Callable[[str], None]
GoOn = Callable[[], bool]
STEP_SECONDS = 0.2


def do_all(jobs: Sequence[Job], then: Then, go_on: GoOn, threads: int, most_bytes: int | None = None) -> None:
    """Does the jobs, so many at a time. Raises KeyboardInterrupt when `go_on`, which is asked all the time, says no.

    They may take as much memory as is free, or as `most_bytes` says: then each that needs more for a device that is
    kept for others, and one that it copies, prepares its own. A device is given up after the last job that begins
    with it.
    """
    free_bytes = machine.free_bytes()
    if most_bytes is None:
        most_bytes = free_bytes
    else:
        most = most_bytes = min(most_bytes, free_bytes or most_bytes)
        jobs = [replace(job, preparation="") if job.needed_bytes > most else job for job in jobs]
    users = Counter(job.preparation for job in jobs)

    def ended(job: Job, row: str) -> None:
        users[job.preparation] -= 1
        if job.preparation and not users[job.preparation]:
            drop(job.preparation)
        then(row)

    try:
        if threads == 1 or len(jobs) == 1:
            for job in jobs:
                if not go_on():
                    raise KeyboardInterrupt
                ended(job, _row(job, go_on, most_bytes))
        else:
            _side_by_side(deque(jobs), ended, go_on, threads, most_bytes)
    finally:
        forget()


def _side_by_side(
    left: deque[Job], ended: Callable[[Job, str], None], go_on: GoOn, threads: int, most_bytes: int | None
) -> None:
    """The same on several cores; a job begins when there is memory for it beside the others."""
    under_way: dict[Future[str], Job] = {}
    is_stopped = Event()

    def is_wanted() -> bool:
        return not is_stopped.is_set()

    def is_next() -> bool:
        """Whether there is a core and memory for another job."""
        if not left or len(under_way) >= threads:
            return False
        needed_bytes = sum(job.needed_bytes for job in (*under_way.values(), left[0]))
        return not under_way or most_bytes is None or needed_bytes <= most_bytes

    with ThreadPoolExecutor(threads) as pool:
        try:
            while left or under_way:
                while is_next():
                    job = left.popleft()
                    under_way[pool.submit(_row, job, is_wanted, most_bytes)] = job
                if not go_on():
                    raise KeyboardInterrupt
                for future in wait(under_way, STEP_SECONDS, FIRST_COMPLETED).done:
                    ended(under_way.pop(future), future.result())
        finally:
            is_stopped.set()  # those under way end at their next question


def _row(job: Job, go_on: GoOn, most_bytes: int | None) -> str:
    """The row of a job."""
    try:
        return done_or_failed(job, go_on, most_bytes)
    except Absent:
        return failed(job, GONE)
