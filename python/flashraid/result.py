"""The result of a run."""

from . import notebook
from .compared import Compared
from .figures import Figure, of_results
from .figures.drawn import Drawn
from .measured import Measured
from .settings import Path


class Result(Measured, Drawn):
    """The result of a run: the JSON object, with members as attributes (`result.latency.read.p99_9`, in nanoseconds).

    docs/result.md explains every member.

    `json` is the text that the command writes, `warnings` lists what is likely to mislead in it, and `status` is the
    command's exit status: 0 done, 1 verification found a violation, 3 requests failed for lack of space or were left
    unfinished, or the drive could not be saved, 130 stopped before the end. Requests that failed because injected
    faults lost their data leave it at 0. `files` names the additional files by output (`latency_log`, `series`,
    `hdr_log`, `timeline`, `save_drive`).
    """

    def figures(self) -> list[Figure]:
        """What `plot` and `chart` draw, as data (docs/figures.md). Those over time are the figures of `series`."""
        return of_results.figures([self])

    def report(self, path: Path, title: str = "") -> None:
        """Writes a report of the result to the file `path` (.html), as docs/report.md describes it.

        `title` replaces the heading, which names trace, scheme and device. Charts over time need a run with `series=`.
        Raises InputError if the file cannot be written.
        """
        from .report.of_results import of_comparison

        of_comparison(Compared([self]), path, title)

    def _repr_html_(self) -> str:
        return notebook.of_result(self)

    def __repr__(self) -> str:
        requests = self.workload.requests
        return f"<Result: {self.scheme} on {self.device}, {requests} requests, status {self.status}>"
