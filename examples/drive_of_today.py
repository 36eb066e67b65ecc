"""What GC makes of a drive of today: from fresh to steady, tails, and write amplification by spare space.

    python examples/drive_of_today.py docs/drives-of-today.svg

A part of `nvme-2026`, two of its dies with smaller blocks, so that it takes a minute: 4-KiB requests at random
addresses.
"""

import argparse
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator

import flashraid as fr

# Text stays text, and the same figures make the same file.
rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "drive-of-today"})

# GC begins at 4 of 128 blocks; a block has 48 program units of 48 mapping units.
PART = {"channels": 2, "blocks_per_plane": 128, "pages_per_block": 576, "gc_threshold": 0.03125}
DRIVE = {"device": "nvme-2026", "scheme": "raid0", "progress": None, **PART}
USER_UNITS = 514_000
PACES = {"gc_pace = block": {"gc_pace": "block"}, "gc_pace = debt": {}}
# Reads beside 4 MB/s of writes, or nothing but writes, of which 256 are always outstanding.
READS, WRITES = ("read", "read = 1, write = 1", 0), ("write", "write = 1", 256)
TAILS = {
    "reads, suspend = none": (READS, {"suspend": "none"}),
    "reads, suspend = both": (READS, {}),
    "writes, gc_pace = block": (WRITES, {"gc_pace": "block"}),
    "writes, gc_pace = debt": (WRITES, {}),
}
QUANTILES = {"p50": "50", "p95": "95", "p99": "99", "p99_9": "99.9", "p99_99": "99.99"}
# One die with small blocks, of which GC takes many: 256 mapping units, each a flash page.
SMALL = {
    "channels": 1,
    "pages_per_block": 256,
    "blocks_per_plane": 256,
    "page_bytes": 4096,
    "mapping_unit_bytes": 0,
    "program_pages": 1,
    "read_pages": 1,
    "gc_threshold": 0.012,
}
SPARES = [0.07, 0.1, 0.126, 0.16, 0.2, 0.25]
POLICIES = ["greedy", "fifo", "d:2", "cost_benefit"]


def profile(folder: Path, ops: str, requests: int, mean_ns: int = 1000, units: int = USER_UNITS) -> Path:
    """Requests of 4 KiB at uniform addresses of so many units, by default all of the drive."""
    path = folder / "requests.toml"
    path.write_text(
        f"""about = "random requests of 4 KiB"
requests = {requests}
space_bytes = {units * 4096}
arrivals = {{ law = "poisson", mean_ns = {mean_ns} }}
[[streams]]
ops = {{ {ops} }}
sizes = {{ law = "fixed", bytes = 4096 }}
addresses = {{ law = "uniform" }}
align_bytes = 4096
"""
    )
    return path


def from_fresh_to_steady(axis: Axes, requests: int, folder: Path) -> Iterator[dict[str, object]]:
    """Rate of random writes at depth 256 over what was written since the drive was erased."""
    for name, settings in PACES.items():
        series = folder / "series.parquet"
        trace = profile(folder, "write = 1", requests)
        fr.run(trace, queue_depth=256, series=series, series_interval="1s", **DRIVE, **settings)
        table = pl.read_parquet(series)
        rates = table["write_requests"] / (table["length_ns"] / 1e9)
        written = table["write_requests"].cum_sum() / USER_UNITS
        axis.plot(written[:-1], rates[:-1] / 1000, label=name, linewidth=1.2)
        for x, y in zip(written, rates, strict=True):
            yield {"panel": "fresh to steady", "line": name, "x": x, "y": y}
    axis.set(title="random writes, depth 256", xlabel="drive writes", ylabel="1,000 writes/s", ylim=0)


def tails(axis: Axes, requests: int, folder: Path) -> Iterator[dict[str, object]]:
    """Latency by quantile on a drive in steady state: of reads beside some writes, and of writes in a full queue."""
    for name, ((kind, ops, depth), settings) in TAILS.items():
        trace = profile(folder, ops, requests, 500_000)
        load = {"queue_depth": depth, "warmup": requests // 4, "fill": 1, "precondition": "direct"}
        latency = getattr(fr.run(trace, **load, **DRIVE, **settings).latency, kind)
        values = [getattr(latency, quantile) / 1e6 for quantile in QUANTILES]
        axis.plot(range(len(values)), values, label=name, marker="o", markersize=3, linewidth=1.2)
        for quantile, value in zip(QUANTILES, values, strict=True):
            yield {"panel": "tails", "line": name, "x": quantile, "y": value}
    axis.set(title="latencies, steady", xlabel="quantile, %", ylabel="latency, ms", yscale="log", ylim=(0.05, 30_000))
    axis.xaxis.set_major_locator(FixedLocator(range(len(QUANTILES))))
    axis.xaxis.set_major_formatter(FixedFormatter(list(QUANTILES.values())))


def amplification(fill: float) -> float:
    """Closed form of FIFO: 1 / (1 - e^-T), where (1 - e^-T) / T is the fill."""
    low, high = 0.0, 1 / fill
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - math.exp(-middle)) / middle > fill else (low, middle)
    return 1 / (1 - math.exp(-high))


def amplification_by_spare(axis: Axes, precondition: str, folder: Path) -> Iterator[dict[str, object]]:
    """Write amplification of random writes in steady state, by over-provisioning and victim rule."""
    blocks = SMALL["blocks_per_plane"]
    kept = SMALL["gc_threshold"] * blocks
    for policy in POLICIES:
        values = []
        for spare in SPARES:
            units = int((1 - spare) * blocks * SMALL["pages_per_block"])
            trace = profile(folder, "write = 1", 1000, units=units)
            given = {**DRIVE, **SMALL, "over_provisioning": spare, "gc_policy": policy, "fill": 1}
            result = fr.run(trace, precondition=precondition, fit="wrap", **given)
            values.append(result.precondition.write_amplification)
            yield {"panel": "amplification", "line": policy, "x": spare, "y": values[-1]}
        axis.plot([100 * spare for spare in SPARES], values, label=policy, marker="o", markersize=3, linewidth=0)
    spares = [SPARES[0] + (SPARES[-1] - SPARES[0]) * step / 60 for step in range(61)]
    closed = [amplification((1 - spare) / (1 - kept / blocks)) for spare in spares]
    axis.plot([100 * spare for spare in spares], closed, label="FIFO, closed form", color="0.4", linewidth=1)
    axis.set(title="steady random writes", xlabel="over-provisioning, %", ylabel="write amplification", ylim=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path, help="SVG or PNG file to write")
    parser.add_argument("--csv", type=Path, help="file for the figures behind the picture")
    parser.add_argument("--limit", type=int, default=0, help="only so many requests, to see that it runs")
    given = parser.parse_args()
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots(1, 3)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rows += from_fresh_to_steady(axes[0], given.limit or 4 * USER_UNITS, Path(folder))
        rows += tails(axes[1], given.limit or 200_000, Path(folder))
        rows += amplification_by_spare(axes[2], "random:0.1" if given.limit else "steady", Path(folder))
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small", loc="upper left" if axis is axes[1] else "upper right")
    figure.savefig(given.picture, metadata={"Date": None} if given.picture.suffix == ".svg" else None)
    if given.csv is not None:
        pl.DataFrame([{**row, "x": str(row["x"])} for row in rows]).write_csv(given.csv)


if __name__ == "__main__":
    main()
