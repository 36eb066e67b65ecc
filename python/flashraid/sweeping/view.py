"""What a sweep found, for people: a row for each point, or one for all its seeds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..evidence import SPARSE, is_overloaded, is_sparse
from ..intervals import mean_and_half_width
from ..quantities import HUNDREDTHS, PER_SECOND, THOUSANDTHS, TIME, YEARS, Kind, with_interval
from ..scaled import scale_of
from .job import DONE

if TYPE_CHECKING:
    import polars

SEED = "seed"


@dataclass(frozen=True)
class Figure:
    """A figure of a run: its column, how it is called, how it is written, and which values are better, if any are."""

    column: str
    name: str
    kind: Kind
    better: str = ""

    def of(self, row: Mapping[str, Any]) -> float | None:
        """The figure of a run; latencies without requests are none."""
        kind, is_latency, _ = self.column.rpartition(".p99")
        value: float | None = row.get(self.column)
        return None if is_latency and not row.get(f"{kind}.count") else value


FIGURES = (
    Figure("bandwidth.requests_per_second", "throughput", PER_SECOND, "high"),
    Figure("workload.busiest_load", "busiest load", HUNDREDTHS),
    Figure("latency_ns.read.p99", "read p99", TIME, "low"),
    Figure("latency_ns.write.p99", "write p99", TIME, "low"),
    Figure("latency_ns.flush.p99", "flush p99", TIME, "low"),
    Figure("write_amplification", "write amplification", THOUSANDTHS, "low"),
    Figure("lifetime.years", "lifetime", YEARS, "high"),
)
LIFETIME = next(at for at, figure in enumerate(FIGURES) if figure.column == "lifetime.years")


@dataclass(frozen=True)
class Line:
    """A point, or all points that differ in the seed alone: its values of the axes, and each figure's mean."""

    values: tuple[Any, ...]
    status: str  # of the first that is not done
    runs: int
    means: tuple[float | None, ...]
    half_widths: tuple[float, ...]  # of the 95 % intervals; 0 for one run
    sparse: tuple[bool, ...]  # whether a figure is of too few requests
    is_overloaded: bool  # whether a run cannot keep up, so that its latencies depend on the length of the trace
    scale: str = ""  # how its drives were made smaller, if they were


def axes_of(axes: Sequence[str]) -> tuple[str, ...]:
    """The axes that a line has: without the seed."""
    return tuple(axis for axis in axes if axis != SEED)


def lines(frame: "polars.DataFrame", axes: Sequence[str]) -> list[Line]:
    """The lines of a sweep's frame, in its order."""
    own = axes_of(axes)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        groups.setdefault(tuple(row[axis] for axis in own), []).append(row)
    return [_line(values, rows) for values, rows in groups.items()]


def _line(values: tuple[Any, ...], rows: list[dict[str, Any]]) -> Line:
    status = next((row["status"] for row in rows if row["status"] != DONE), DONE)
    runs = {row["run"]: row for row in rows}.values()
    means: list[float | None] = []
    half_widths = []
    for figure in FIGURES:
        known = [value for row in runs if (value := figure.of(row)) is not None]
        mean, half_width = mean_and_half_width(known) if known else (None, 0.0)
        means.append(mean)
        half_widths.append(half_width)
    sparse = [any(is_sparse(row.get, figure.column) for row in runs) for figure in FIGURES]
    is_behind = any(is_overloaded(row.get) for row in runs)
    scales = (scale_of(row.get("capacity.share_of_preset"), row.get("device") or "") for row in runs)
    scale = next(filter(None, scales), "")
    return Line(values, status, len(runs), tuple(means), tuple(half_widths), tuple(sparse), is_behind, scale)


def notes(found: Sequence[Line]) -> list[str]:
    """What is to be known to read the cells."""
    said = []
    if over := sum(line.is_overloaded for line in found):
        points = "1 point" if over == 1 else f"{over:,} points"
        said.append(f"! {points}: the device cannot keep up: latencies depend on the length of the trace")
    living = [line for line in found if line.means[LIFETIME] is not None]
    for scale, count in Counter(line.scale for line in living if line.scale).items():
        points = "" if count == len(living) else " of 1 point" if count == 1 else f" of {count:,} points"
        said.append(f"lifetime{points}: {scale}")
    shown = [line.means[at] is not None for line in found for at, few in enumerate(line.sparse) if few]
    return said + ([f"~ of too few requests: {SPARSE}"] if any(shown) else [])


def cells(found: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """The heads of the figures, each with the unit of its column, and the cells of each line."""
    heads, columns = [], []
    for at, figure in enumerate(FIGURES):
        known = [line.means[at] for line in found]
        if all(value is None for value in known):
            continue
        unit, one = figure.kind.unit([value for value in known if value is not None])
        heads.append(f"{figure.name} ({unit})" if unit else figure.name)
        columns.append([_cell(line, at, one, figure.kind) for line in found])
    return heads, [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in found]


def _cell(line: Line, at: int, one: float, kind: Kind) -> str:
    mean, half_width = line.means[at], line.half_widths[at]
    if mean is None:
        return "-"
    is_marked = line.is_overloaded and FIGURES[at].column.startswith("latency_ns.")
    mark = "!" if is_marked else "~" if line.sparse[at] else ""
    return with_interval(mean / one, half_width / one, kind.decimals) + mark
