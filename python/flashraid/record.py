"""JSON objects whose members are attributes."""

import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _native


class Record:
    """A read-only JSON object. Members are attributes and items; objects inside are records too."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = dict(data)

    # Type checkers must not see it: to them a record has the attributes that its class declares.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # also asked for by copy and pickle, before `_data` exists
                raise AttributeError(name)
            if name not in self._data and name in _declared(type(self)):
                raise AttributeError(f"this result has no {name}: docs/result.md says when it is present")
            if name not in self._data:
                near = _native.meant(name, [known for known in dir(self) if known[0] != "_"])
                hint = f"; the nearest is {near[0]}" if near else ""
                raise AttributeError(f"unknown member {name}{hint}; there are {', '.join(self._data)}")
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


if TYPE_CHECKING:

    class OpenRecord(Record):
        """A record of which no class declares the attributes: type checkers take any."""

        def __getattr__(self, name: str) -> Any: ...

    class Counts(Record):
        """Whole numbers by name, where the names are not known beforehand: items, not attributes."""

        def __getitem__(self, name: str) -> int: ...

else:
    OpenRecord = Counts = Record


def _declared(record: type) -> set[str]:
    """The members that the class of a record and its bases declare, present or not."""
    return {name for base in record.__mro__ for name in inspect.get_annotations(base)}


def _view(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    return [_view(item) for item in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of a JSON object with its path, as `latency_ns.read.p99_9`, without lists."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            yield prefix + key, value
