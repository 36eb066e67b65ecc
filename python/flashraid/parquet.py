"""Parquet files, whatever is in them: Polars panics at some that are damaged, and prints that on standard error."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

_lock = Lock()


def read_parquet(source: str | BytesIO) -> "polars.DataFrame":
    """A file, or its content, as a frame. Raises OSError or PolarsError if it is none."""
    import polars

    try:
        with _silence():
            return polars.read_parquet(source, glob=False)
    except polars.exceptions.PanicException:
        raise polars.exceptions.ComputeError("not a whole Parquet file") from None


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing is printed on standard error, by whatever this process is made of."""
    with _lock:
        kept = None
        with suppress(OSError):  # there is none
            kept = os.dup(2)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
        try:
            yield
        finally:
            if kept is not None:
                os.dup2(kept, 2)
                os.close(kept)
