"""Files that appear complete or not at all."""

import os
import stat

from ._native import InputError
from .settings import Path


class NewFile:
    """A file to be written: checked at once, under another name in the same folder until it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        self._real = os.path.realpath(path)  # a link stays, and what it points at is replaced
        folder, name = os.path.split(self._real)
        try:
            is_special = os.path.exists(self._real) and not stat.S_ISREG(os.stat(self._real).st_mode)
            if os.path.isdir(self._real) or is_special:
                raise InputError(f"{self.path}: allowed is the name of a regular file")
            if os.path.exists(self._real) and not os.access(self._real, os.W_OK):
                raise InputError(f"{self.path}: cannot be written")
            self.temporary = os.path.join(folder, f".{name}.{os.getpid()}.part")
            os.close(os.open(self.temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from None
        self._is_kept = False

    def keep(self) -> None:
        """It is complete: it takes its name."""
        os.replace(self.temporary, self._real)
        self._is_kept = True

    def discard(self) -> None:
        """Removes it unless it was kept."""
        if not self._is_kept:
            os.unlink(self.temporary)
            self._is_kept = True


def refuse_same(paths: dict[str, Path | None]) -> None:
    """Refuses one file under two names of options."""
    seen: dict[str, str] = {}
    for option, path in paths.items():
        if path is None or path == "-":
            continue
        real = os.path.realpath(path)
        if real in seen:
            raise InputError(f"{seen[real]} and {option} are both {os.fspath(path)}: allowed is a file for each")
        seen[real] = option
