"""Jobs one after the other, in this process."""

from collections.abc import Callable, Iterable

from .. import machine
from .job import Job, do, forget

# Told of each row, as a line.
Then = Callable[[str], None]


def do_all(jobs: Iterable[Job], then: Then, go_on: Callable[[], bool]) -> None:
    """Does the jobs. Raises KeyboardInterrupt when `go_on` says no."""
    most_bytes = machine.free_bytes()
    try:
        for job in jobs:
            if not go_on():
                raise KeyboardInterrupt
            then(do(job, go_on, most_bytes))
    finally:
        forget()
