"""Files that a run writes in addition to its result; docs/outputs.md explains every file and column."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypedDict, cast

from . import _native
from ._native import InputError
from .causes import cause
from .extras import need
from .files import NewFile, refuse_same
from .parquet import read_parquet
from .settings import Pairs, Path, check_flags, check_texts, path_text, utf8_path

if TYPE_CHECKING:
    import polars

TABLES = (".csv", ".parquet")
# Outputs that are files, and the endings that their names may have; None for any.
ENDINGS = {
    "latency_log": TABLES,
    "operation_log": TABLES,
    "series": TABLES,
    "hdr_log": None,
    "timeline": (".json",),
    "save_drive": None,
}
# Outputs that are options of these files: times as text.
TIMES = ("series_interval", "timeline_window")

# Columns of tables are whole numbers but for these.
TEXTS = ("op", "method", "failure", "action", "cause", "kind", "version")
TRUTHS = ("failed",)
REALS = ("_age", "_busy", "_mean_ns", "write_amplification")


class OutputArguments(TypedDict, total=False):
    """What a run writes in addition to its result, as keyword arguments."""

    latency_log: Path | None
    """A row for each request: .csv or .parquet."""

    operation_log: Path | None
    """A row for each page operation and erase: .csv or .parquet."""

    series: Path | None
    """A row for each interval of simulated time: .csv or .parquet."""

    series_interval: str | None
    """Length of the intervals, as in 250us. Default: 100ms."""

    hdr_log: Path | None
    """Histograms of latencies over time, as HdrHistogram's tools read them."""

    timeline: Path | None
    """Activity of every bus and die over time, for Perfetto: .json."""

    timeline_window: str | None
    """The simulated time that the timeline shows, as in 1.5s..1.6s. Default: 100 ms from the first measured arrival."""

    save_drive: Path | None
    """The drive as the run leaves it, for `drive` of another run (docs/drives.md)."""

    fio: bool
    """Whether to make `Result.fio_json`. Default: false."""


@dataclass(frozen=True)
class Outputs:
    """Tables of requests, page operations and intervals, a histogram log, a timeline, and fio's JSON."""

    arguments: OutputArguments
    # What messages call these and the inputs, where it is not the argument's name.
    labels: Mapping[str, str] = field(default_factory=dict)
    # What is made of the results: a report, and a folder of figures.
    report: Path | None = None
    figures: Path | None = None

    @classmethod
    def split(cls, keywords: Mapping[str, Any]) -> tuple["Outputs", dict[str, Any]]:
        """Splits keyword arguments into outputs and others."""
        own = {key: value for key, value in keywords.items() if key in OutputArguments.__annotations__}
        return cls(cast(OutputArguments, own)), {key: value for key, value in keywords.items() if key not in own}

    @property
    def files(self) -> dict[str, Path]:
        """The files by output."""
        return self._given(ENDINGS)

    @property
    def times(self) -> dict[str, str]:
        """The times by output."""
        return self._given(TIMES)

    @property
    def fio(self) -> bool:
        """Whether to make the result in fio's JSON format."""
        return self.arguments.get("fio", False)

    def _given(self, names: Iterable[str]) -> dict[str, Any]:
        arguments = cast(Mapping[str, Any], self.arguments)
        return {name: arguments[name] for name in names if arguments.get(name) is not None}

    def of_scheme(self, scheme: str) -> "Outputs":
        """The outputs of one scheme of a comparison: file names contain the scheme's name."""
        paths = {name: PurePath(path) for name, path in self.files.items()}
        own: Any = {name: path.with_stem(f"{path.stem}-{scheme}") for name, path in paths.items()}
        return replace(self, arguments={**self.arguments, **own})

    def label(self, name: str) -> str:
        """The name of an argument in messages."""
        return self.labels.get(name, name)

    def check(self, json: str | None = None, schemes: Sequence[str] = (), **inputs: Path | None) -> None:
        """Refuses invalid file names, and files that would replace each other or one of `inputs`."""
        check_flags(fio=self.fio)
        check_texts(**self.times)
        for name, path in self.files.items():
            text = utf8_path(path, self.label(name)) or ""
            if text == "-" or not PurePath(text).name or text.endswith(os.sep):
                raise InputError(f"{self.label(name)}: {text or 'empty name'}: allowed is the name of a file")
            allowed = ENDINGS[name]
            if allowed is not None and _ending(text) not in allowed:
                endings = " or ".join(allowed)
                raise InputError(f"{self.label(name)}: {text}: allowed is a name that ends in {endings}")
        check_report(self.report, self.label("report"))
        check_folder(self.figures, self.label("figures"))
        for scheme in schemes:
            _native.schemes(scheme)  # before it becomes part of a name
        of_schemes = {f" of {scheme}": self.of_scheme(scheme) for scheme in schemes} or {"": self}
        written = {
            self.label(name) + scheme: path for scheme, own in of_schemes.items() for name, path in own.files.items()
        }
        utf8_path(inputs.get("device"), self.label("device"))
        read = {self.label(name): path for name, path in inputs.items() if path is not None and os.path.exists(path)}
        made = {self.label("report"): self.report, self.label("figures"): self.figures}
        refuse_same(read, {self.label("json"): json, **written, **made})

    @property
    def are_drawn(self) -> bool:
        """Whether a report or figures are made of the results."""
        return self.report is not None or self.figures is not None

    def open(self) -> "OpenOutputs":
        """Creates the files under temporary names; `check` must have passed."""
        return OpenOutputs(self)


def check_report(path: Path | None, label: str) -> None:
    """Refuses what cannot be the name of a report, and a report where what draws its charts is not installed."""
    if path is None:
        return
    if _ending(path_text(path, label)) != ".html":
        raise InputError(f"{label}: {os.fspath(path) or 'empty name'}: allowed is a name that ends in .html")
    need("plot", label)


def check_folder(path: Path | None, label: str) -> None:
    """Refuses what cannot be the name of a folder for figures, and figures where what draws them is not installed."""
    if path is None:
        return
    if path_text(path, label) in ("", "-") or (os.path.exists(path) and not os.path.isdir(path)):
        raise InputError(f"{label}: {os.fspath(path) or 'empty name'}: allowed is the name of a folder")
    need("plot", label)


def is_table(path: Path) -> bool:
    """Whether the name is that of a table of a run."""
    return _ending(path) in TABLES


def _ending(path: Path) -> str:
    return PurePath(path).suffix.lower()


class OpenOutputs:
    """The outputs of a running simulation: those that are complete get their names by `keep`, others are removed."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._files: dict[str, NewFile] = {}
        self._complete: dict[str, NewFile] = {}
        self._tables: dict[str, str] = {}  # CSV on its way to Parquet
        with ExitStack() as undo:
            for name, path in outputs.files.items():
                self._files[name] = file = NewFile(path, outputs.label(name))
                undo.callback(file.discard)
                if _ending(path) == ".parquet":
                    with self._said_of(name):
                        self._tables[name] = file.another_temporary()
            self._undo = undo.pop_all()

    @property
    def pairs(self) -> Pairs:
        """The outputs as the engine takes them."""
        written = {name: file.temporary for name, file in self._files.items()} | self._tables
        return [*(written | self._outputs.times).items(), *([("fio", "true")] if self._outputs.fio else [])]

    def complete(self) -> dict[str, str]:
        """Completes the files after the engine has written everything. Returns what `keep` calls them, by output."""
        for name, table in self._tables.items():
            with self._said_of(name):
                _to_parquet(table, self._files[name].temporary)
        # A run that is stopped leaves no drive, and neither does one that ends with a part that has failed.
        self._complete = {name: file for name, file in self._files.items() if name != "save_drive" or file.is_written()}
        return {name: file.path for name, file in self._complete.items()}

    def keep(self) -> None:
        """Gives the complete files their names."""
        for file in self._complete.values():
            file.keep()

    @contextmanager
    def _said_of(self, name: str) -> Iterator[None]:
        """Turns file errors into one line."""
        import polars

        try:
            yield
        except (OSError, polars.exceptions.PolarsError) as error:
            raise InputError(f"{self._outputs.label(name)} cannot be written: {cause(error)}") from None

    @contextmanager
    def messages(self) -> Iterator[None]:
        """Renames the argument at the start of the engine's message to the name that the user used."""
        try:
            yield
        except InputError as error:
            found = re.match(r"(\w+)(?= = |: | cannot be written: | without )", str(error))
            if found is None or found[1] not in self._outputs.labels:
                raise
            raise InputError(self._outputs.labels[found[1]] + str(error)[found.end() :]) from None

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
    """Converts in pieces, so that memory does not grow with the table."""
    import polars

    polars.scan_csv(table, schema=_schema(table), glob=False).sink_parquet(target)


def read_table(path: str) -> "polars.DataFrame":
    """A table of requests, page operations or intervals as a frame."""
    import polars

    if _ending(path) == ".parquet":
        return read_parquet(path)
    return polars.read_csv(path, schema=_schema(path), glob=False)
