"""Figures of a series of intervals (docs/outputs.md) over simulated time. docs/figures.md lists them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..result_types import RunResult
from .model import Axis, Figure, Rule
from .of_results import LATENCY

if TYPE_CHECKING:
    import polars

MOST_ROWS = 400
# Columns of quantiles and maxima of latencies.
QUANTILE = r"_(p\d+(_\d+)?|max)_ns$"
# With more members than this, the busiest, the mean and the least busy stand for them.
MOST_MEMBERS = 8
# Around a rebuild, as a share of its time.
MARGIN = 0.1

# With more vertical rules than this, one sees nothing else.
MOST_RULES = 40
RULES = "Vertical lines mark failures and the ends of rebuilds"

TIME = Axis("time_s", "simulated time (s)")
BUSY = Axis("busy_percent", "busy time (%)")
MERGED = f" Intervals are merged to at most {MOST_ROWS} points"
HIGHEST = ", which show the highest of their quantiles"
# Intervals that wrote less than this share of the mean have no write amplification, whose divisor is near 0 there.
LEAST_WRITTEN = 0.05
FEW_WRITTEN = f" Intervals that wrote less than {LEAST_WRITTEN:.0%} of the mean have no value.".replace("%", " %")
# A last interval shorter than this share of the others is left out.
LEAST_LENGTH = 0.5
SHORT = " The last interval, which is short, is left out."


def reduced(frame: "polars.DataFrame", most: int = MOST_ROWS) -> "polars.DataFrame":
    """The series in at most `most` rows, each of several whole intervals.

    Counts add up; mean latencies weigh by requests, shares of time by length, and write amplification by bytes written;
    of maxima and quantiles, which cannot be merged, it is the maximum; of states at the end, the last.
    """
    import polars

    many = -(-len(frame) // most)
    if many <= 1:
        return frame
    row = polars.int_range(polars.len()) // many
    return frame.group_by(row.alias("row"), maintain_order=True).agg(map(_merged, frame.columns)).drop("row")


def _merged(name: str) -> "polars.Expr":
    """How a column of several intervals becomes one."""
    import polars

    column = polars.col(name)
    if name == "start_ns":
        return column.first()
    if name == "write_amplification":
        return _weighed(name, "bytes_written")
    if found := re.fullmatch(r"(\w+)_mean_ns", name):
        return _weighed(name, f"{found[1]}_requests")
    if re.search(QUANTILE, name) or name.endswith("_max_busy"):
        return column.max()
    if name.endswith("_busy"):
        return _weighed(name, "length_ns")
    if re.search(r"_age$|_share$|free_blocks$|_queue$", name) or name == "outstanding_requests":
        return column.last()
    return column.sum()


def _weighed(name: str, weight: str) -> "polars.Expr":
    """The mean of what is not null."""
    import polars

    weights = polars.col(weight).filter(polars.col(name).is_not_null())
    total = weights.sum()
    return polars.when(total > 0).then((polars.col(name).drop_nulls() * weights).sum() / total).alias(name)


def events(result: RunResult) -> list[Rule]:
    """Failures, and the ends of rebuilds, as vertical rules."""
    ends = [rebuild.ended_ns for rebuild in result.rebuild if rebuild.ended_ns is not None]
    return [
        *(Rule(fault.at_ns / 1e9, f"{fault.fault} fails") for fault in result.faults),
        *(Rule(ended_ns / 1e9, "rebuild ends") for ended_ns in ends),
    ]


def marked(figure: Figure, rules: Sequence[Rule]) -> Figure:
    """The figure with those of the rules that are within its time, at most `MOST_RULES`."""
    times = figure.frame[figure.x.column].to_list()
    start, end = min(times), max(times)
    margin = MARGIN * (end - start)
    in_order = sorted(dict.fromkeys(rules), key=lambda rule: rule.at)
    within = tuple(rule for rule in in_order if start - margin <= rule.at <= end + margin)
    if not within:
        return figure
    shown = "" if len(within) <= MOST_RULES else f" (the first {MOST_RULES} of {len(within)})"
    return replace(figure, rules=within[:MOST_RULES], about=f"{figure.about} {RULES}{shown}.")


def figures(frame: "polars.DataFrame") -> list[Figure]:
    """The figures of the series, without those that would show nothing."""
    return [figure for figure in _all(frame) if figure is not None]


def _all(frame: "polars.DataFrame") -> Iterator[Figure | None]:
    for kind in ("read", "write"):
        yield _lines(
            frame,
            f"{kind}-latency-over-time",
            f"Latency of {kind}s over time",
            f"Mean and 99th percentile of the latency of the {kind}s that completed in each interval.",
            {"mean": f"{kind}_mean_ns", "p99": f"{kind}_p99_ns"},
            LATENCY,
            1e-3,
        )
    yield _lines(
        frame,
        "outstanding-requests",
        "Outstanding requests",
        "Requests that had arrived and were not completed, at the end of each interval. The number grows without bound "
        "where the device is overloaded.",
        {"": "outstanding_requests"},
        Axis("requests", "outstanding requests"),
        at_end=True,
    )
    yield _lines(
        frame,
        "write-amplification-over-time",
        "Write amplification over time",
        "Bytes programmed in each interval, without rebuilds, retries and migrations, for each byte that the writes "
        "completed in it wrote." + FEW_WRITTEN,
        {"": "write_amplification"},
        Axis("ratio", "bytes per byte written"),
        divisor="bytes_written",
    )
    yield _lines(
        frame,
        "free-blocks",
        "Free blocks",
        "Erased blocks of all planes together, at the end of each interval.",
        {"": "free_blocks"},
        Axis("blocks", "erased blocks"),
        at_end=True,
    )
    yield _lines(
        frame,
        "fewest-free-blocks",
        "Free blocks of the fullest plane",
        "Erased blocks of the plane with the fewest, at the end of each interval. GC starts plane by plane.",
        {"": "plane_min_free_blocks"},
        Axis("blocks", "erased blocks"),
        at_end=True,
    )
    loads = {"mean": "mean_busy", "busiest": "max_busy"}
    yield _lines(
        frame,
        "load-over-time",
        "Load of buses and dies",
        "Busy time in each interval, as the mean of all and of the busiest.",
        {f"{part}, {name}": f"{part}_{column}" for part in ("bus", "die") for name, column in loads.items()},
        BUSY,
        100,
    )
    yield _members(frame)
    yield from _rebuild(frame)


def _members(frame: "polars.DataFrame") -> Figure | None:
    """Busy time of each member, or of three that stand for them."""
    import polars

    columns = {found[1]: name for name in frame.columns if (found := re.fullmatch(r"member(\d+)_busy", name))}
    if not columns:
        return None
    series = {f"member {number}": name for number, name in columns.items()}
    if len(columns) > MOST_MEMBERS:
        of_all = list(columns.values())
        frame = frame.with_columns(
            polars.max_horizontal(of_all).alias("members_max_busy"),
            polars.mean_horizontal(of_all).alias("members_mean_busy"),
            polars.min_horizontal(of_all).alias("members_min_busy"),
        )
        series = {"busiest": "members_max_busy", "mean": "members_mean_busy", "least busy": "members_min_busy"}
    about = "Mean share of each interval for which the dies of a member were busy."
    return _lines(frame, "member-busy-over-time", "Busy time of members over time", about, series, BUSY, 100)


def _rebuild(frame: "polars.DataFrame") -> Iterator[Figure | None]:
    """Progress of rebuilds, and the latency that requests felt meanwhile."""
    import polars

    if "rebuilt_pages" not in frame.columns or not frame["rebuilt_pages"].sum():
        return
    rebuilt = polars.col("rebuilt_pages")
    at = frame.with_row_index().filter(rebuilt > 0)["index"]
    first, last = int(at[0]), int(at[-1])
    margin = max(2, round(MARGIN * (last - first)))
    start = max(0, first - margin)
    part = frame.slice(start, last + margin - start + 1)
    yield _lines(
        part.with_columns(rebuilt_share=rebuilt.cum_sum() / rebuilt.sum()),
        "rebuild-progress",
        "Progress of the rebuild",
        "Share of the pages restored by rebuilds that were restored by then.",
        {"": "rebuilt_share"},
        Axis("rebuilt_percent", "pages restored (%)"),
        100,
        at_end=True,
    )
    yield _lines(
        part,
        "rebuild-latency-over-time",
        "Latency around the rebuild",
        "Mean and 99th percentile of latencies while the rebuild ran, and shortly before and after it.",
        {f"{kind}s, {name}": f"{kind}_{name}_ns" for kind in ("read", "write") for name in ("mean", "p99")},
        LATENCY,
        1e-3,
    )


def _merging(columns: Iterable[str]) -> str:
    """What points of several intervals show."""
    return MERGED + (HIGHEST if any(re.search(QUANTILE, name) for name in columns) else "") + "."


def _lines(
    frame: "polars.DataFrame",
    name: str,
    title: str,
    about: str,
    columns: Mapping[str, str],
    y: Axis,
    factor: float = 1,
    at_end: bool = False,
    divisor: str = "",
) -> Figure | None:
    """A line for each column, named by its key, at the middle of the intervals or at their end; None if all are 0.

    `divisor` is the column that the others were divided by: where it is small, they have no value.
    """
    import polars

    present = {label: column for label, column in columns.items() if column in frame.columns}
    present = {label: column for label, column in present.items() if frame[column].null_count() < len(frame)}
    if not any(frame[column].sum() for column in present.values()):
        return None
    # Where nothing is measured at either end (no requests while a rebuild ends), the figure ends.
    known = frame.with_row_index().filter(polars.any_horizontal(polars.col(present.values()).is_not_null()))["index"]
    frame = frame.slice(known[0], known[-1] - known[0] + 1)
    points = reduced(frame)
    about += _merging(present.values()) if len(points) < len(frame) else ""
    # A state at the end of an interval is one whatever its length; a mean over a short one is a spike.
    if not at_end and len(points) > 2 and points["length_ns"][-1] < LEAST_LENGTH * points["length_ns"][-2]:
        points, about = points.head(-1), about + SHORT
    if divisor in points.columns:
        is_enough = polars.col(divisor) >= LEAST_WRITTEN * polars.col(divisor).mean()
        points = points.with_columns(polars.when(is_enough).then(column) for column in present.values())
    length = polars.col("length_ns") if at_end else polars.col("length_ns") / 2
    time = ((polars.col("start_ns") + length) / 1e9).alias(TIME.column)
    parts = [
        points.select(time, polars.lit(label).alias("series"), (polars.col(column) * factor).alias(y.column))
        for label, column in present.items()
    ]
    rows = polars.concat(parts)
    is_single = list(columns) == [""]
    return Figure(
        name,
        title,
        about,
        "line",
        rows.drop("series") if is_single else rows,
        TIME,
        y,
        "" if is_single else "series",
    )
