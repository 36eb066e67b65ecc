"""A sweep over two parameters, collected in one frame: write amplification by scheme and by how full the device is.

    python examples/sweep.py

Uniformly random writes of single pages (synthetic) on the small preset, until GC has run for a while.
"""

import tempfile
from pathlib import Path

import polars as pl

import flashraid as fr

frames = []
with tempfile.TemporaryDirectory() as folder:
    trace = Path(folder) / "random.csv"
    for space_bytes in (16 << 20, 32 << 20, 48 << 20, 56 << 20):
        fr.synth(trace, requests=20_000, space_bytes=space_bytes, interval_ns=4_000_000)
        for scheme in ("raid0", "raid5"):
            result = fr.run(trace, device="tiny", scheme=scheme, space_bytes=space_bytes, fill=1)
            frames.append(result.to_frame())

sweep = pl.concat(frames, how="diagonal_relaxed").with_columns(full=pl.col("capacity.space_bytes") / (128 << 20))
table = sweep.pivot("scheme", index="full", values="write_amplification")
with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
    print("write amplification, by the share of the flash that the logical space has", table, sep="\n")
