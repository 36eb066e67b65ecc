"""Targets of data: a file that appears complete or not at all, or standard output."""

import sys
from types import TracebackType

from ..files import NewFile


class Target:
    """A file that is checked at the start and written at the end; `-` is standard output, None discards."""

    def __init__(self, path: str | None, option: str = "--json") -> None:
        self.path = path
        self._file = None if path is None or path == "-" else NewFile(path, option)

    def write(self, text: str) -> None:
        """Writes the whole text."""
        if self.path == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
        elif self._file is not None:
            self._file.write(text)

    def __enter__(self) -> "Target":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.discard()
