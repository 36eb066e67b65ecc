"""Figures of a data sheet: rates as bars, and the latencies of random requests."""

from collections.abc import Mapping, Sequence

from ..result_types import RunResult
from ..sheets.measurements import DEPTHS, Measurement
from .model import Axis, Figure
from .of_results import LATENCY, distribution

Lines = Sequence[tuple[Measurement, RunResult]]
KINDS = {1.0: "read", 0.0: "write"}


def of_sheet(lines: Lines, values: Mapping[str, float | None]) -> list[Figure]:
    """The figures of a sheet with these lines and figures."""
    found = [_sequential(lines, values)]
    found += [_random(lines, values, depth) for depth in DEPTHS]
    found += [_latencies(lines, values, depth) for depth in DEPTHS]
    return [figure for figure in found if figure is not None]


def _sequential(lines: Lines, values: Mapping[str, float | None]) -> Figure | None:
    import polars

    rows = [
        {"requests": KINDS[of.read_share], "mb_s": value}
        for of, _ in lines
        if of.is_sequential and (value := values[f"{of.name}_mb_s"]) is not None
    ]
    if not rows:
        return None
    return Figure(
        "sequential",
        "Sequential requests of 128 KiB",
        "Bytes that the host reads and writes in a second. Higher is better.",
        "bars",
        polars.DataFrame(rows),
        Axis("requests", "requests", "category"),
        Axis("mb_s", "MB/s"),
    )


def _random(lines: Lines, values: Mapping[str, float | None], depth: int) -> Figure | None:
    import polars

    rows = [
        {"requests": _kind(of), "drive": _drive(of), "iops": value}
        for of, _ in lines
        if _is_random(of, depth) and (value := values[f"{of.name}_iops"]) is not None
    ]
    if not rows:
        return None
    return Figure(
        f"random-qd{depth}",
        f"Random requests of 4 KiB at depth {depth}",
        "Requests a second of a fresh drive, and of one whose GC is steady. Higher is better.",
        "bars",
        polars.DataFrame(rows),
        Axis("requests", "requests", "category"),
        Axis("iops", "requests/s"),
        series="drive",
    )


def _latencies(lines: Lines, values: Mapping[str, float | None], depth: int) -> Figure | None:
    import polars

    rows = [
        {"line": f"{_kind(of)}, {_drive(of)}", "quantile": quantile, "latency_us": latency_ns / 1000}
        for of, result in lines
        if _is_random(of, depth) and values[f"{of.name}_mean_ns"] is not None
        for quantile, latency_ns in distribution(result.latency_ns.all)
    ]
    if not rows:
        return None
    return Figure(
        f"latency-qd{depth}",
        f"Latency of random requests of 4 KiB at depth {depth}",
        "The share of requests that took at most so long. Above each mark of the axis is a tenth of those above the "
        "one before; the maximum is at the right edge. Lower is better.",
        "line",
        polars.DataFrame(rows),
        Axis("quantile", "share of requests", "tail"),
        LATENCY,
        series="line",
    )


def _is_random(of: Measurement, depth: int) -> bool:
    return not of.is_sequential and of.queue_depth == depth


def _kind(of: Measurement) -> str:
    return KINDS.get(of.read_share, f"{of.read_share:.0%} read")


def _drive(of: Measurement) -> str:
    return "steady" if of.is_steady else "fresh"
