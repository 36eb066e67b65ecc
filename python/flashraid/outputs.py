"""What a run writes beside its result: docs/outputs.md explains every file and column."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._native import InputError
from .files import NewFile, refuse_same
from .settings import Pairs, Path

if TYPE_CHECKING:
    import polars

TABLES = (".csv", ".parquet")
# Outputs that are files, and the endings that their names may have; None for any.
ENDINGS = {"latency_log": TABLES, "series": TABLES, "hdr_log": None, "timeline": (".json",)}

# Columns of tables are whole numbers but for these.
TEXTS = ("op", "method")
TRUTHS = ("failed",)
REALS = ("_busy", "_mean_ns", "write_amplification")


@dataclass(frozen=True)
class Outputs:
    """What to write: a table of requests, a table of intervals, a log of histograms, a timeline; and fio's JSON."""

    latency_log: Path | None = None
    series: Path | None = None
    series_interval: str | None = None
    hdr_log: Path | None = None
    timeline: Path | None = None
    timeline_window: str | None = None
    fio: bool = False

    @classmethod
    def split(cls, keywords: Mapping[str, Any]) -> tuple["Outputs", dict[str, Any]]:
        """Outputs among keyword arguments, and the others."""
        own = {field.name for field in fields(cls)}
        given = {key: value for key, value in keywords.items() if key in own}
        return cls(**given), {key: value for key, value in keywords.items() if key not in own}

    @property
    def files(self) -> dict[str, Path | None]:
        """The files by output."""
        return {name: getattr(self, name) for name in ENDINGS}

    def of_scheme(self, scheme: str) -> "Outputs":
        """The same for one scheme of several: its name is put into the names of the files."""
        given = {name: PurePath(path) for name, path in self.files.items() if path is not None}
        own: dict[str, Any] = {name: path.with_stem(f"{path.stem}-{scheme}") for name, path in given.items()}
        return replace(self, **own)

    def open(self, **inputs: Path | None) -> "OpenOutputs":
        """Checks every file and creates them under other names. `inputs` are files that must not be replaced."""
        return OpenOutputs(self, inputs)


NO_OUTPUTS = Outputs()


class OpenOutputs:
    """Outputs of a run under way: kept by `finish`, else removed."""

    def __init__(self, outputs: Outputs, inputs: Mapping[str, Path | None]) -> None:
        refuse_same({**inputs, **outputs.files})
        self._outputs = outputs
        self._files: dict[str, NewFile] = {}
        self._tables: dict[str, NewFile] = {}  # CSV on its way to Parquet
        with ExitStack() as undo:
            for name, path in outputs.files.items():
                if path is None:
                    continue
                if path == "-":
                    raise InputError(f"{name}: -: allowed is the name of a file")
                allowed, ending = ENDINGS[name], PurePath(path).suffix
                if allowed is not None and ending not in allowed:
                    endings = " or ".join(allowed)
                    raise InputError(f"{name}: {os.fspath(path)}: allowed is a name that ends in {endings}")
                self._files[name] = NewFile(path)
                undo.callback(self._files[name].discard)
                if ending == ".parquet":
                    self._tables[name] = NewFile(PurePath(path).with_name(f".{PurePath(path).name}.csv"))
                    undo.callback(self._tables[name].discard)
            self._undo = undo.pop_all()

    @property
    def pairs(self) -> Pairs:
        """What the engine is told."""
        written = {**self._files, **self._tables}
        options = {"series_interval": self._outputs.series_interval, "timeline_window": self._outputs.timeline_window}
        pairs = [(name, file.temporary) for name, file in written.items()]
        pairs += [(key, str(value)) for key, value in options.items() if value is not None]
        return pairs + ([("fio", "true")] if self._outputs.fio else [])

    def finish(self) -> dict[str, str]:
        """The engine has written everything. Returns the files by output."""
        for name, table in self._tables.items():
            _to_parquet(table.temporary, self._files[name].temporary)
        for file in self._files.values():
            file.keep()
        return {name: file.path for name, file in self._files.items()}

    def __enter__(self) -> "OpenOutputs":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()


def _schema(path: str) -> dict[str, Any]:
    import polars

    with open(path, encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split(",")

    def kind(name: str) -> Any:
        if name in TEXTS:
            return polars.String
        if name in TRUTHS:
            return polars.Boolean
        return polars.Float64 if name.endswith(REALS) else polars.Int64

    return {name: kind(name) for name in names if name}


def _to_parquet(table: str, target: str) -> None:
    """A piece at a time, so that memory does not grow with the table."""
    import polars

    polars.scan_csv(table, schema=_schema(table)).sink_parquet(target)


def read_table(path: str) -> "polars.DataFrame":
    """A table of requests or intervals as a frame."""
    import polars

    return polars.read_parquet(path) if path.endswith(".parquet") else polars.read_csv(path, schema=_schema(path))
