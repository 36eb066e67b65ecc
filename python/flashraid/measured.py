"""What a run has measured: its result as data. `result` adds how that is shown."""

import json
from typing import TYPE_CHECKING

from ._native import InputError
from .outputs import ENDINGS, TABLES, read_table
from .record import flat
from .result_types import Latencies, RunResult
from .series import Series

if TYPE_CHECKING:
    import polars


class Measured(RunResult):
    """The result of a run as data."""

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
