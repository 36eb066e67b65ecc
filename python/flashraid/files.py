"""Files that appear complete or not at all, and what is left of those that a killed process was writing."""

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache

from ._native import InputError
from .causes import cause
from .interrupts import left_behind
from .settings import Path, path_text

# The file that the name - stands for where something is read.
STANDARD_INPUT = "/dev/stdin"

# Most bytes of a file's own name that its temporary name repeats: with what is added it stays below 255.
MOST_NAME_BYTES = 200
# Files under temporary names: of this package, of the engine, and of a capture.
PART = re.compile(r"\..+\.([0-9a-f]{16}|[0-9]+-[0-9]+|[0-9]+)\.part")
SCRATCH = "flashraid-"  # what folders in the temporary directory begin with
LOCK = ".lock"


class NewFile:
    """An output file: checked immediately, and written under a temporary name in the same directory until complete."""

    def __init__(self, path: Path, option: str) -> None:
        """`option` names the option or argument in messages about invalid names."""
        self.path = path_text(path, option)
        if not self.path:
            raise InputError(f"{option}: empty name: allowed is the name of a file")
        self._real = os.path.realpath(self.path)  # a link stays, and what it points at is replaced
        self._temporaries: dict[str, int] = {}  # each with a descriptor that holds it
        self._mode = 0o666
        try:
            if os.path.exists(self._real):
                self._mode = stat.S_IMODE(os.stat(self._real).st_mode)
            is_special = os.path.exists(self._real) and not os.path.isfile(self._real)
            if is_special or self.path.endswith(os.sep):
                raise InputError(f"{self.path}: allowed is the name of a regular file")
            if os.path.exists(self._real) and not os.access(self._real, os.W_OK):
                raise InputError(f"{self.path}: cannot be written")
            remove_dead_parts(os.path.dirname(self._real))
            self.temporary = self.another_temporary()
            if os.path.exists(self._real):
                os.chmod(self.temporary, self._mode)
        except OSError as error:
            raise self.failure(error) from None

    def another_temporary(self) -> str:
        """Creates an empty file in the same directory with a unique name; `discard` removes it."""
        folder, name = os.path.split(self._real)
        start = os.fsencode(name)[:MOST_NAME_BYTES].decode(errors="ignore")
        while True:
            temporary = os.path.join(folder, f".{start}.{os.urandom(8).hex()}.part")
            held = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, self._mode)
            self._temporaries[temporary] = held
            left_behind.add(temporary)
            if _hold(held):
                return temporary
            self._forget(temporary)

    def _forget(self, temporary: str) -> None:
        """The file has its name, or is gone."""
        os.close(self._temporaries.pop(temporary))
        left_behind.discard(temporary)

    def is_written(self) -> bool:
        """Whether anything was written."""
        return os.path.getsize(self.temporary) > 0

    def failure(self, error: OSError) -> InputError:
        """The error for a file that cannot be written."""
        return InputError(f"{self.path}: cannot be written: {cause(error)}")

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
        self._forget(self.temporary)

    def discard(self) -> None:
        """Removes the temporary file."""
        for temporary in list(self._temporaries):
            os.unlink(temporary)
            self._forget(temporary)


def _hold(descriptor: int) -> bool:
    """Whether a new file is held, so that nobody takes it for what a killed process left; False if it is being removed.

    Where files cannot be held, as on some network file systems, nothing is removed either.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return os.fstat(descriptor).st_nlink > 0


def _opened_if_dead(path: str) -> int | None:
    """A descriptor that holds a file which nobody else does; None if somebody does, or nobody can tell."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_uid == os.geteuid():
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


@cache
def remove_dead_parts(folder: str) -> None:
    """Removes what killed processes were writing in a folder: files that nobody holds. Once is enough."""
    with suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if PART.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                descriptor = _opened_if_dead(entry.path)
                if descriptor is not None:
                    with suppress(OSError):
                        os.unlink(entry.path)
                    os.close(descriptor)


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A folder in the temporary directory, gone afterwards; first those go that killed processes left there."""
    _remove_dead_folders(tempfile.gettempdir())
    while True:
        folder = tempfile.mkdtemp(prefix=SCRATCH)
        left_behind.add(folder)
        try:
            held = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            continue
        if _hold(held):
            break
        os.close(held)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)
        left_behind.discard(folder)


@cache
def _remove_dead_folders(place: str) -> None:
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            is_ours = entry.name.startswith(SCRATCH) and entry.is_dir(follow_symlinks=False)
            if is_ours and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                descriptor = _opened_if_dead(os.path.join(entry.path, LOCK))
                if descriptor is not None:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(descriptor)


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
