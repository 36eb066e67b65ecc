"""A sweep in Python: write amplification by scheme and by how full the device is, with 95 % intervals over seeds.

    python examples/sweep.py

The plan is that of examples/sweep.toml: uniformly random writes (synthetic) on the small preset, until GC has run.
"""

from pathlib import Path

import polars as pl

import flashraid as fr

found = fr.sweep(Path(__file__).with_suffix(".toml"))
table = (
    found.to_frame()
    .group_by("space_bytes", "scheme", maintain_order=True)
    .agg(pl.col("write_amplification").mean())
    .pivot("scheme", index="space_bytes", values="write_amplification")
)
with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
    print("write amplification, by the logical space", table, sep="\n")
