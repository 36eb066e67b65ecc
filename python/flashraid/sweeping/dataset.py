"""The results of a sweep in a folder: a Parquet dataset with one row a run, and a journal of what is not in it yet.

Each row is appended to the journal as soon as it is there, so that whatever stops a sweep costs only the runs in
flight. Now and then, and at the end, the journal becomes a file of the dataset. A crash in between leaves a row in
both; who reads takes each run once, the last row of it.
"""

import errno
import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._native import InputError
from ..files import NewFile
from .job import FAILED, HEAD, PROVENANCE

if TYPE_CHECKING:
    import polars

JOURNAL, LOCK = "journal.jsonl", ".lock"
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
            if not is_new and not (self.path / LOCK).exists() and any(self.path.iterdir()):
                raise InputError(f"{path}: holds other files: allowed is a new folder, or that of a sweep")
            self._lock = open(self.path / LOCK, "w")  # noqa: SIM115 - as long as the dataset
            self._locked()
            self._cut()
            self._journal = open(self.path / JOURNAL, "ab", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
        self._rows = sum(1 for _ in journal(self.path))
        self._statuses: dict[str, str] = {row["run"]: row["status"] for row in self._heads()}

    def _locked(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.path}: another sweep is at work there") from None

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
        self._append(f"{line}\n".encode())
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
        number = max((int(part.stem.removeprefix("part-")) for part in parts(self.path)), default=0) + 1
        _write(frame_of(rows), self.path / f"part-{number:06}.parquet")
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
        first = max(int(part.stem.removeprefix("part-")) for part in old) + 1
        if len(old) == 1 and read_part(old[0]).equals(whole):
            return
        for number, piece in enumerate(whole.iter_slices(ROWS_OF_FILE), first):
            _write(piece, self.path / f"part-{number:06}.parquet")
        for part in old:
            part.unlink()

    def __enter__(self) -> "Dataset":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()
        self._lock.close()

    def _failure(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: cannot be written: {error.strerror or error}; what was finished is kept")


def _write(frame: "polars.DataFrame", path: Path) -> None:
    file = NewFile(path, "out")
    try:
        frame.write_parquet(file.temporary)
        with open(file.temporary, "rb") as written:
            os.fsync(written.fileno())
        file.keep()
    except OSError as error:
        raise file.failure(error) from None
    finally:
        file.discard()


def parts(path: Path) -> list[Path]:
    """The files of a dataset, the oldest first."""
    return sorted(each for each in path.glob("part-*.parquet") if re.fullmatch(r"part-\d{6,}", each.stem))


def read_part(path: Path) -> "polars.DataFrame":
    """A file of a dataset. Raises InputError if it is damaged."""
    import polars

    try:
        frame = polars.read_parquet(path)
        frame.select(*HEAD)
    except (OSError, polars.exceptions.PolarsError) as error:
        why = str(error).partition("\n")[0]
        raise InputError(f"{path}: damaged ({why}): remove it, and its runs are done again") from None
    return frame


def journal(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of the journal."""
    try:
        with open(path / JOURNAL, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):
                    yield _row_of(line, f"{path / JOURNAL}, line {number}")
    except FileNotFoundError:
        return


def _row_of(line: str, where: str) -> dict[str, Any]:
    try:
        row: dict[str, Any] = json.loads(line)
        if all(isinstance(row[key], str) for key in HEAD):
            return row
    except (ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{where}: damaged: remove the line, and its run is done again")


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
