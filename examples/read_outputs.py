"""The outputs of a run as frames: what made the slowest writes slow, and which causes flash was busy for.

    python examples/read_outputs.py

The bundled recording of SQLite. docs/outputs.md explains every column.
"""

import tempfile
from pathlib import Path

import polars as pl

import flashraid as fr

trace = Path(__file__).parents[1] / "samples" / "sqlite-transactions.csv.gz"
with tempfile.TemporaryDirectory() as folder:
    result = fr.run(
        trace,
        device="ssd1",
        scheme="raid5",
        fill=0.4,
        latency_log=Path(folder) / "requests.parquet",
        operation_log=Path(folder) / "operations.parquet",
        series=Path(folder) / "series.parquet",
    )
    requests, operations, series = (result.frame(name) for name in ("latency_log", "operation_log", "series"))

pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True)
slowest = requests.filter(pl.col("op") == "write").sort("latency_ns", descending=True).head(3)
print("slowest writes", slowest.select("request", "latency_ns", "method"), sep="\n")

waited = operations.join(slowest.select("request"), on="request").with_columns(
    queued_ns=pl.col("start_ns") - pl.col("submitted_ns"), busy_ns=pl.col("end_ns") - pl.col("start_ns")
)
print("their page operations", waited.group_by("action", "cause").agg(
    pl.len(), pl.col("queued_ns").mean(), pl.col("busy_ns").mean()
).sort("action", "cause"), sep="\n")  # fmt: skip

busiest = series.sort("write_requests", descending=True).head(3)
print("busiest intervals", busiest.select("start_ns", "write_requests", "write_p99_ns", "die_max_busy"), sep="\n")
