"""The results of a sweep in a folder: a Parquet dataset with one row a run, and a journal of what is not in it yet.

Each row is appended to the journal as soon as it is there, so that whatever stops a sweep costs only the runs in
flight. Now and then, and at the end, the journal becomes a file of the dataset. A crash in between leaves a row in
both; who reads takes each run once, the last row of it.

The name of a file has the digest of its content, and a line of the journal that of its own, so that no damage changes
a figure in silence. What is no Parquet file begins with what other readers of datasets leave out: `_` or a dot.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._native import InputError
from ..causes import cause
from ..files import LOCK, NewFile, remove_dead_parts
from ..parquet import read_parquet
from .job import FAILED, HEAD, PROVENANCE

if TYPE_CHECKING:
    import polars

JOURNAL = "_journal.jsonl"
# The journal of version 0.1, whose lines and files have no digests.
OLD_JOURNAL = "journal.jsonl"
PART = re.compile(r"part-(?P<number>\d{6,})(-(?P<digest>[0-9a-f]{32}))?\.parquet")
LINE = re.compile(r'(?P<head>\{.*), "digest": "(?P<digest>[0-9a-f]{32})"\}\n')
# Rows of the journal that become a file, and of the files that these become at the end.
ROWS_AT_ONCE, ROWS_OF_FILE = 1000, 20_000


class Dataset:
    """The folder of a sweep, opened by the only process that writes to it."""

    def __init__(self, path: str) -> None:
        """Opens or makes the folder. Raises InputError if that cannot be, or if another sweep is at work there."""
        self.path = Path(path)
        try:
            is_new = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            is_of_sweep = any((self.path / name).exists() for name in (LOCK, JOURNAL))
            if not is_new and not is_of_sweep and any(self.path.iterdir()):
                raise InputError(f"{path}: holds other files: allowed is a new folder, or that of a sweep")
            self._undo = ExitStack()
            with self._undo as opened:
                self._lock()
                remove_dead_parts(path)
                self._cut()
                self._journal = opened.enter_context(open(self.path / JOURNAL, "ab", 0))  # noqa: SIM115
                self._take_over()
                self._rows = sum(1 for _ in journal(self.path))
                self._statuses: dict[str, str] = {row["run"]: row["status"] for row in self._heads()}
                self._undo = opened.pop_all()
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {cause(error)}") from None

    def _lock(self) -> None:
        """Holds the folder. A link is not followed, and nothing is written."""
        path = self.path / LOCK
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except OSError as error:
            why = "is a link" if error.errno == errno.ELOOP else f"cannot be written: {cause(error)}"
            raise InputError(f"{path}: {why}: allowed is the file that a sweep makes") from None
        self._undo.callback(os.close, lock)
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            raise InputError(f"{path}: is no regular file: allowed is the file that a sweep makes")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.path}: another sweep is at work there") from None

    def _take_over(self) -> None:
        """The rows of an old journal go on in the new one."""
        rows = list(_old_journal(self.path))
        if rows:
            self._append("".join(_signed(json.dumps(row)) for row in rows).encode())
        (self.path / OLD_JOURNAL).unlink(missing_ok=True)

    def _cut(self) -> None:
        """Removes a last line that was never written to its end."""
        with suppress(FileNotFoundError), open(self.path / JOURNAL, "rb+") as file:
            data = file.read()
            file.truncate(data.rfind(b"\n") + 1)

    def _heads(self) -> Iterator[dict[str, Any]]:
        for part in parts(self.path):
            yield from read_part(part).select("run", "status").iter_rows(named=True)
        yield from journal(self.path)

    def is_finished(self, run: str) -> bool:
        """Whether the run has a row, unless it failed for a reason that may be gone by now."""
        return self._statuses.get(run, FAILED) != FAILED

    def add(self, line: str) -> str | None:
        """Adds a row. Returns its status; None if the run was finished before: then it changes nothing."""
        head = json.loads(line)
        if self.is_finished(head["run"]):
            return None
        self._append(_signed(line).encode())
        self._statuses[head["run"]] = head["status"]
        self._rows += 1
        if self._rows >= ROWS_AT_ONCE:
            self._become_file()
        status: str = head["status"]
        return status

    def _append(self, data: bytes) -> None:
        """All of it or nothing."""
        end = os.fstat(self._journal.fileno()).st_size
        try:
            if self._journal.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._journal.truncate(end)
            raise self._failure(error) from None

    def _become_file(self) -> None:
        """Makes a file of the journal."""
        rows = list(journal(self.path))
        if not rows:
            return
        _write(frame_of(rows), self.path, max(map(_number, parts(self.path)), default=0) + 1)
        self._journal.truncate(0)
        self._rows = 0

    def tidy(self, order: Iterable[str]) -> None:
        """Brings all rows into as few files as possible: with the same columns, each run once, in this order first."""
        self._become_file()
        old = parts(self.path)
        whole = read(self.path)
        if whole.is_empty():
            return
        import polars

        place = {run: at for at, run in enumerate(order)}
        at = polars.Series([place.get(run, len(place)) for run in whole["run"]])
        whole = whole.with_columns(at.alias("_at")).sort("_at", "run").drop("_at")
        if len(old) == 1 and _digest_in(old[0]) and read_part(old[0]).equals(whole):
            return
        for number, piece in enumerate(whole.iter_slices(ROWS_OF_FILE), max(map(_number, old)) + 1):
            _write(piece, self.path, number)
        for part in old:
            part.unlink()

    def __enter__(self) -> "Dataset":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def _failure(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: cannot be written: {cause(error)}; what was finished is kept")


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _signed(line: str) -> str:
    """A line of the journal: the row, with the digest of its text as the last key."""
    head = line.removesuffix("}")
    return f'{head}, "digest": "{_digest(head.encode())}"}}\n'


def _number(part: Path) -> int:
    found = PART.fullmatch(part.name)
    return int(found["number"]) if found else 0


def _digest_in(part: Path) -> str | None:
    """The digest that the name of a file has."""
    found = PART.fullmatch(part.name)
    return found and found["digest"]


def _write(frame: "polars.DataFrame", folder: Path, number: int) -> None:
    content = BytesIO()
    frame.write_parquet(content)
    data = content.getvalue()
    file = NewFile(folder / f"part-{number:06}-{_digest(data)}.parquet", "out")
    try:
        with open(file.temporary, "wb") as written:
            written.write(data)
            written.flush()
            os.fsync(written.fileno())
        file.keep()
    except OSError as error:
        raise file.failure(error) from None
    finally:
        file.discard()


def parts(path: Path) -> list[Path]:
    """The files of a dataset, the oldest first."""
    return sorted((each for each in path.glob("part-*.parquet") if PART.fullmatch(each.name)), key=_number)


def read_part(path: Path) -> "polars.DataFrame":
    """A file of a dataset. Raises InputError if it is damaged."""
    import polars

    remedy = "remove it, and its runs are done again"
    try:
        data = path.read_bytes()
        digest = _digest_in(path)
        if digest is not None and _digest(data) != digest:
            raise InputError(f"{path}: damaged (the digest in its name is of another content): {remedy}")
        frame = read_parquet(BytesIO(data))
        frame.select(*HEAD)
    except (OSError, polars.exceptions.PolarsError) as error:
        raise InputError(f"{path}: damaged ({cause(error)}): {remedy}") from None
    return frame


def journal(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of the journal."""
    yield from _old_journal(path)
    for line, where in _lines(path / JOURNAL):
        found = LINE.fullmatch(line)
        if found is None or _digest(found["head"].encode()) != found["digest"]:
            raise _damaged(where)
        yield _row_of(f"{found['head']}}}", where)


def _old_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a journal of version 0.1."""
    for line, where in _lines(path / OLD_JOURNAL):
        yield _row_of(line, where)


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The whole lines of a journal, each with what messages call it."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):
                    yield line, f"{path}, line {number}"
    except FileNotFoundError:
        return


def _damaged(where: str) -> InputError:
    return InputError(f"{where}: damaged: remove the line, and its run is done again")


def _row_of(line: str, where: str) -> dict[str, Any]:
    try:
        row: dict[str, Any] = json.loads(line)
        if all(isinstance(row[key], str) for key in HEAD):
            return row
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise _damaged(where)


def frame_of(rows: list[dict[str, Any]]) -> "polars.DataFrame":
    """Rows as a frame with every column that one of them has."""
    import polars

    columns = {key: None for row in rows for key in row}
    return polars.DataFrame([_column(key, [row.get(key) for row in rows]) for key in columns])


def _column(key: str, values: list[Any]) -> "polars.Series":
    """A column of numbers, truths or texts; of what is mixed otherwise the texts."""
    import polars

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    return polars.Series(key, values)


def read(path: Path) -> "polars.DataFrame":
    """All rows of a dataset and its journal, also while a sweep is at work: each run once, the last row of it."""
    import polars

    rows = list(journal(path))  # before the files, as what leaves it is in one of them
    found = [read_part(part) for part in parts(path)]
    if rows:
        found.append(frame_of(rows))
    if not found:
        return polars.DataFrame()
    whole = polars.concat(found, how="diagonal_relaxed").unique("run", keep="last", maintain_order=True)
    # The order of columns does not tell in which order runs ended.
    figures = sorted(column for column in whole.columns if column not in HEAD and not column.startswith(PROVENANCE))
    return whole.select(*HEAD, *figures, *(each for each in whole.columns if each.startswith(PROVENANCE)))
