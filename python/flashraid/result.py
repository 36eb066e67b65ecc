"""Results: JSON objects whose members are attributes."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars


class Record:
    """A read-only JSON object. Members are attributes and items; objects inside are records too."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = dict(data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._data:
            near = difflib.get_close_matches(name, self._data, 1)
            hint = f"; the nearest is {near[0]}" if near else ""
            raise AttributeError(f"there is no {name}{hint}; there are {', '.join(self._data)}")
        return _view(self._data[name])

    def __getitem__(self, name: str) -> Any:
        return _view(self._data[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content may be large

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data!r})"

    def to_dict(self) -> dict[str, Any]:
        """The object as plain dicts, lists, numbers and strings; a copy."""
        return _plain(self._data)  # type: ignore[no-any-return]


def _view(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    return [_view(item) for item in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


class Result(Record):
    """What one run gave: the JSON result, its members as attributes (`result.latency.read.p99_9`, in nanoseconds).

    `json` is the text that the command writes, `warnings` what is likely to surprise in it, `status` the command's exit
    status: 0 done, 1 verification found a violation, 3 requests failed or unfinished, 130 stopped before the end.
    """

    def __init__(self, json_text: str, warnings: list[str], status: int) -> None:
        super().__init__(json.loads(json_text))
        self.json = json_text
        self.warnings = warnings
        self.status = status

    @property
    def latency(self) -> Record:
        """Latencies by kind of request, in nanoseconds (`latency_ns` of the JSON)."""
        return self.latency_ns  # type: ignore[no-any-return]

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
