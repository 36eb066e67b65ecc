"""The series of intervals that a run writes (docs/outputs.md)."""

import os
from typing import TYPE_CHECKING, Any, Union

from ._native import InputError
from .causes import cause
from .figures import Figure, of_series
from .figures.drawn import Drawn
from .html_table import html_table
from .outputs import is_table, read_table
from .settings import Path, path_text

if TYPE_CHECKING:
    import polars


class Series(Drawn):
    """A run over simulated time: a row for each interval.

        fr.Series("series.parquet").plot("write-amplification-over-time")

    `source` is a file that a run wrote as its series (.csv or .parquet), or a frame of its columns, which
    docs/outputs.md explains. `name` says what it is of; by default it is the name of the file. Raises InputError if
    `source` is no such table.
    """

    def __init__(self, source: Union[Path, "polars.DataFrame"], name: str = "") -> None:
        import polars

        if isinstance(source, polars.DataFrame):
            self._frame = source
        else:
            path = path_text(source, "series")
            self._frame, name = _read(path), name or os.path.basename(path)
        self.name = name
        for column in ("start_ns", "length_ns"):
            if column not in self._frame.columns:
                raise InputError(
                    f"series {name}: no column {column}: allowed is a table that a run wrote as its series"
                )

    def to_frame(self) -> "polars.DataFrame":
        """All intervals, with the columns of docs/outputs.md."""
        return self._frame

    def figures(self) -> list[Figure]:
        """What `plot` and `chart` draw, as data (docs/figures.md). Long series are merged to fewer points."""
        return of_series.figures(self._frame)

    def _repr_html_(self) -> str:
        frame = self._frame
        end_ns = (frame["start_ns"] + frame["length_ns"]).max()
        counts = [name for name in frame.columns if name.endswith("_requests") and name != "outstanding_requests"]
        rows = [
            ["intervals", f"{len(frame):,}"],
            ["simulated time", f"{_seconds(frame['start_ns'].min())} to {_seconds(end_ns)} s"],
            *([name.replace("_", " "), f"{frame[name].sum():,}"] for name in counts if frame[name].sum()),
        ]
        figures = ", ".join(each.name for each in self.figures())
        return html_table(f"Series of {self.name}", ["", ""], rows, f"Figures: {figures}")

    def __repr__(self) -> str:
        return f"<Series: {self.name}, {len(self._frame):,} intervals>"


def _read(path: str) -> "polars.DataFrame":
    import polars

    if not is_table(path):
        raise InputError(f"series {path}: allowed is a name that ends in .csv or .parquet")
    try:
        return read_table(path)
    except (OSError, polars.exceptions.PolarsError) as error:
        raise InputError(f"series {path}: cannot be read: {cause(error)}") from None


def _seconds(ns: Any) -> str:
    return f"{(ns or 0) / 1e9:,.3f}"
