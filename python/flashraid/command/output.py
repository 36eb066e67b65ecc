"""Where data goes: a file that appears complete or not at all, or standard output."""

import os
import stat
import sys
from types import TracebackType

from .._native import InputError


class Target:
    """A file to be written at the end, checked at the start; `-` is standard output, None nothing at all.

    Text goes to a temporary file in the same folder, which takes the target's name when it is complete.
    """

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._temporary: str | None = None
        if path is None or path == "-":
            return
        real = os.path.realpath(path)  # a link stays, and what it points at is replaced
        folder, name = os.path.split(real)
        try:
            is_special = os.path.exists(real) and not stat.S_ISREG(os.stat(real).st_mode)
            if os.path.isdir(real) or is_special:
                raise InputError(f"{path}: allowed is the name of a regular file, or - for standard output")
            if os.path.exists(real) and not os.access(real, os.W_OK):
                raise InputError(f"{path}: cannot be written")
            self._real = real
            self._temporary = os.path.join(folder, f".{name}.{os.getpid()}.part")
            self._descriptor = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            self._temporary = None
            raise InputError(f"{path}: cannot be written: {error.strerror}") from None

    def write(self, text: str) -> None:
        """Writes all of it."""
        if self.path == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
        elif self._temporary is not None:
            with os.fdopen(self._descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.replace(self._temporary, self._real)
            self._temporary = None

    def __enter__(self) -> "Target":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._temporary is not None:
            os.unlink(self._temporary)
