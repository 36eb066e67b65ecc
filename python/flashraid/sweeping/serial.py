"""Jobs one after the other, in this process."""

from collections.abc import Callable, Iterable

from .. import machine
from .job import FAILED, GONE, Absent, Job, do, forget, line, place_of_work, row_of

# Told of each row, as a line.
Then = Callable[[str], None]


def do_all(jobs: Iterable[Job], then: Then, go_on: Callable[[], bool]) -> None:
    """Does the jobs. Raises KeyboardInterrupt when `go_on` says no."""
    most_bytes = machine.free_bytes()
    try:
        for job in jobs:
            if not go_on():
                raise KeyboardInterrupt
            try:
                then(do(job, go_on, most_bytes))
            except Absent:
                then(line(row_of(job, FAILED, GONE), place_of_work(), 0.0))
    finally:
        forget()
