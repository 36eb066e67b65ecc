"""The result of a run."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ._native import InputError
from .outputs import ENDINGS, TABLES, read_table
from .result_types import Latencies, RunResult

if TYPE_CHECKING:
    import polars


class Result(RunResult):
    """What one run gave: the JSON result, its members as attributes (`result.latency.read.p99_9`, in nanoseconds).

    docs/result.md explains every member.

    `json` is the text that the command writes, `warnings` what is likely to surprise in it, `status` the command's exit
    status: 0 done, 1 verification found a violation, 3 requests failed for lack of space or were left unfinished (those
    that failed because failures took their data leave it at 0), 130 stopped before the end.
    `files` names what was written beside the result, by output (`latency_log`, `series`, `hdr_log`, `timeline`).
    """

    def __init__(
        self,
        json_text: str,
        fio_json: str | None,
        warnings: list[str],
        status: int,
        files: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(json.loads(json_text))
        self.json = json_text
        self._fio_json = fio_json
        self.warnings = warnings
        self.status = status
        self.files = files

    @property
    def fio_json(self) -> str:
        """The result in the form of fio's JSON, of a run with `fio=True`."""
        if self._fio_json is None:
            raise InputError("fio_json: this run did not ask for it; allowed is with fio=True")
        return self._fio_json

    def frame(self, output: str) -> "polars.DataFrame":
        """The table that the run wrote as `latency_log`, `operation_log` or `series`."""
        if output not in self.files or ENDINGS.get(output) != TABLES:
            tables = [name for name in self.files if ENDINGS[name] == TABLES]
            raise InputError(f"{output}: allowed is a table that this run wrote ({', '.join(tables) or 'none'})")
        return read_table(self.files[output])

    @property
    def latency(self) -> Latencies:
        """Latencies by kind of request, in nanoseconds (`latency_ns` of the JSON)."""
        return self.latency_ns

    def to_frame(self) -> "polars.DataFrame":
        """One row; a column for each member, `latency_ns.read.p99_9`. Lists (members, channels, dies) are left out."""
        import polars

        return polars.DataFrame([dict(_flat(self._data))])

    def __repr__(self) -> str:
        requests = self.workload.requests
        return f"<Result: {self.scheme} on {self.device}, {requests} requests, status {self.status}>"


def _flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            yield prefix + key, value
