"""Files that appear complete or not at all."""

import os
import stat
from collections.abc import Mapping

from ._native import InputError
from .settings import Path, path_text

# The file that the name - stands for where something is read.
STANDARD_INPUT = "/dev/stdin"

# Most bytes of a file's own name that its temporary name repeats: with what is added it stays below 255.
MOST_NAME_BYTES = 200


class NewFile:
    """An output file: checked immediately, and written under a temporary name in the same directory until complete."""

    def __init__(self, path: Path, option: str) -> None:
        """`option` names the option or argument in messages about invalid names."""
        self.path = path_text(path, option)
        if not self.path:
            raise InputError(f"{option}: empty name: allowed is the name of a file")
        self._real = os.path.realpath(self.path)  # a link stays, and what it points at is replaced
        self._temporaries: list[str] = []
        self._mode = 0o666
        try:
            if os.path.exists(self._real):
                self._mode = stat.S_IMODE(os.stat(self._real).st_mode)
            is_special = os.path.exists(self._real) and not os.path.isfile(self._real)
            if is_special or self.path.endswith(os.sep):
                raise InputError(f"{self.path}: allowed is the name of a regular file")
            if os.path.exists(self._real) and not os.access(self._real, os.W_OK):
                raise InputError(f"{self.path}: cannot be written")
            self.temporary = self.another_temporary()
            if os.path.exists(self._real):
                os.chmod(self.temporary, self._mode)
        except OSError as error:
            raise self.failure(error) from None

    def another_temporary(self) -> str:
        """Creates an empty file in the same directory with a unique name; `discard` removes it."""
        folder, name = os.path.split(self._real)
        start = os.fsencode(name)[:MOST_NAME_BYTES].decode(errors="ignore")
        temporary = os.path.join(folder, f".{start}.{os.urandom(8).hex()}.part")
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._mode))
        self._temporaries.append(temporary)
        return temporary

    def is_written(self) -> bool:
        """Whether anything was written."""
        return os.path.getsize(self.temporary) > 0

    def failure(self, error: OSError) -> InputError:
        """The error for a file that cannot be written."""
        return InputError(f"{self.path}: cannot be written: {error.strerror or error}")

    def write(self, content: str | bytes) -> None:
        """Writes all of it, texts in UTF-8, and keeps the file."""
        try:
            with open(self.temporary, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise self.failure(error) from None
        self.keep()

    def keep(self) -> None:
        """Gives the complete file its final name."""
        try:
            os.replace(self.temporary, self._real)
        except OSError as error:
            raise self.failure(error) from None
        self._temporaries.remove(self.temporary)

    def discard(self) -> None:
        """Removes the temporary file."""
        while self._temporaries:
            os.unlink(self._temporaries.pop())


def can_be_read_again(trace: str) -> bool:
    """Whether a trace is not a pipe, which can be read only once."""
    path = STANDARD_INPUT if trace == "-" else trace
    return not os.path.exists(path) or os.path.isfile(path)


def must_be_read_again(trace: str, why: str) -> None:
    """Refuses a trace that can be read only once, for work that needs a second pass; `why` names the work."""
    if not can_be_read_again(trace):
        raise InputError(f"{trace}: a pipe can be read only once, and {why}; expected a file")


def refuse_same(inputs: Mapping[str, Path | None], outputs: Mapping[str, Path | None]) -> None:
    """Refuses an output that would replace an input or another output; paths are keyed by option or argument."""
    read = {option: STANDARD_INPUT if path == "-" else path for option, path in inputs.items() if path is not None}
    seen = {os.path.realpath(path): option for option, path in read.items()}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        real = os.path.realpath(path)
        if real in seen:
            raise InputError(f"{seen[real]} and {option} are both {os.fspath(path)}: allowed are different files")
        seen[real] = option
