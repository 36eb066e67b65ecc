"""The result of a run."""

import json
from typing import TYPE_CHECKING

from . import notebook
from ._native import InputError
from .figures.drawn import Drawn
from .outputs import ENDINGS, TABLES, read_table
from .record import flat
from .result_types import Latencies, RunResult
from .series import Series
from .settings import Path

if TYPE_CHECKING:
    import polars

    from .figures import Figure


class Result(RunResult, Drawn):
    """The result of a run: the JSON object, with members as attributes (`result.latency.read.p99_9`, in nanoseconds).

    docs/result.md explains every member.

    `json` is the text that the command writes, `warnings` lists what is likely to mislead in it, and `status` is the
    command's exit status: 0 done, 1 verification found a violation, 3 requests failed for lack of space or were left
    unfinished, or the drive could not be saved, 130 stopped before the end. Requests that failed because injected
    faults lost their data leave it at 0. `files` names the additional files by output (`latency_log`, `series`,
    `hdr_log`, `timeline`, `save_drive`).
    """

    def __init__(
        self,
        json_text: str,
        fio_json: str | None,
        warnings: list[str],
        status: int,
        files: dict[str, str],
    ) -> None:
        super().__init__(json.loads(json_text))
        self.json = json_text
        self._fio_json = fio_json
        self.warnings = warnings
        self.status = status
        self.files = files

    @property
    def fio_json(self) -> str:
        """The result in fio's JSON format; needs a run with `fio=True`."""
        if self._fio_json is None:
            raise InputError("fio_json: allowed only after a run with fio=True")
        return self._fio_json

    def frame(self, output: str) -> "polars.DataFrame":
        """The table that the run wrote as `latency_log`, `operation_log` or `series`."""
        if output not in self.files or ENDINGS.get(output) != TABLES:
            tables = [name for name in self.files if ENDINGS[name] == TABLES]
            raise InputError(f"{output}: allowed is a table that this run wrote ({', '.join(tables) or 'none'})")
        return read_table(self.files[output])

    @property
    def series(self) -> Series:
        """The series of intervals; needs a run with `series=`."""
        return Series(self.frame("series"), f"{self.scheme} on {self.device}")

    @property
    def latency(self) -> Latencies:
        """Latencies by kind of request, in nanoseconds (`latency_ns` of the JSON)."""
        return self.latency_ns

    def to_frame(self) -> "polars.DataFrame":
        """One row with a column for each value, as `latency_ns.read.p99_9`, without lists (members, channels, dies)."""
        import polars

        return polars.DataFrame([dict(flat(self._data))])

    def figures(self) -> "list[Figure]":
        """What `plot` and `chart` draw, as data (docs/figures.md). Those over time are the figures of `series`."""
        from .figures import of_results

        return of_results.figures([self])

    def report(self, path: Path, title: str = "") -> None:
        """Writes a report of the result to the file `path` (.html), as docs/report.md describes it.

        `title` replaces the heading, which names trace, scheme and device. Charts over time need a run with `series=`.
        Raises InputError if the file cannot be written.
        """
        from . import report
        from .comparison import Comparison

        report.of_comparison(Comparison([self]), path, title)

    def _repr_html_(self) -> str:
        return notebook.of_result(self)

    def __repr__(self) -> str:
        requests = self.workload.requests
        return f"<Result: {self.scheme} on {self.device}, {requests} requests, status {self.status}>"
