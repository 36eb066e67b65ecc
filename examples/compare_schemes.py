"""Which scheme for this workload? Several schemes under one trace, side by side.

    python examples/compare_schemes.py [TRACE]

Without a TRACE it replays the bundled recording of PostgreSQL (pgbench).
"""

import sys
from pathlib import Path

import polars as pl

import flashraid as fr

trace = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "samples" / "pgbench-transactions.csv.gz"
comparison = fr.compare(trace, device="ssd1", schemes=["raid0", "raid1", "raid5", "cr5m"], fill=0.4, capacity=False)

table = comparison.to_frame().select(
    "scheme",
    (pl.col("capacity.user_bytes") / 2**30).round(1).alias("user GiB"),
    (pl.col("latency_ns.read.p99") / 1e3).round(0).alias("read p99, us"),
    (pl.col("latency_ns.write.p99") / 1e3).round(0).alias("write p99, us"),
    pl.col("write_amplification").round(3),
    pl.col("survives.text").alias("survives"),
)
with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
    print(table)
