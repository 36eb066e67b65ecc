"""Age of each SSD of an array over time, under uneven and even parity, until the first SSDs are worn out or replaced.

    python examples/ageing.py docs/ageing.svg

Random updates of single pages on five SSDs whose blocks endure 20 erases, so that it takes seconds (synthetic). With
uneven parity (diff-raid) the SSDs reach their limit one after the other; with even parity (raid5) nearly together; hot
swapping replaces each before it does. Source of the limit: SPEC 5.3.
"""

import argparse
import tempfile
from pathlib import Path

import polars as pl
from matplotlib import rcParams
from matplotlib.figure import Figure

import flashraid as fr

# Text stays text, and the same figures make the same file.
rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "ageing"})

SCHEMES = {
    "diff-raid": "diff-raid: 80 % of the parity on SSD 0",
    "raid5": "raid5: even parity",
    "hotswap": "hotswap: replaced at 90 % of the limit",
}
SETTINGS = {"device": "array-5x", "fill": 1, "pe_limit": 20, "rebuild": "none"}


def ages(scheme: str, worn: int, limit: int, folder: Path) -> pl.DataFrame:
    """Age of each SSD at the end of each interval: time in seconds, then a column for each SSD."""
    path = folder / f"{scheme}.parquet"
    spares = {} if scheme == "hotswap" else {"spare_devices": 0}
    fr.run(
        "profile:hotswap-random",
        scheme=scheme,
        limit=limit,
        until=f"worn:{worn}" if limit == 0 else "end",
        series=path,
        series_interval="20s",
        **SETTINGS,
        **spares,
    )
    series = pl.read_parquet(path)
    devices = [name for name in series.columns if name.startswith("device") and name.endswith("_age")]
    seconds = ((pl.col("start_ns") + pl.col("length_ns")) / 1e9).alias("seconds")
    return series.select(seconds, *(pl.col(name).alias(f"SSD {name[6:-4]}") for name in devices))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path, help="SVG or PNG file to write")
    parser.add_argument("--csv", type=Path, help="file for the figures behind the picture")
    parser.add_argument("--limit", type=int, default=0, help="only so many requests, to see that it runs")
    given = parser.parse_args()
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, len(SCHEMES), sharey=True)
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for axis, (scheme, title) in zip(axes, SCHEMES.items(), strict=True):
            table = ages(scheme, 4 if scheme == "hotswap" else 2, given.limit, Path(folder))
            tables.append(table.select(pl.lit(scheme).alias("scheme"), pl.all()))
            for name in table.columns[1:]:
                axis.plot(table["seconds"], 100 * table[name], label=name, linewidth=1.5)
            axis.set(title=title, xlabel="simulated time, s")
            axis.grid(alpha=0.3)
            axis.legend(fontsize="small", loc="upper left")
    axes[0].set(ylabel="age, % of the P/E limit", ylim=(0, 105))
    figure.savefig(given.picture, metadata={"Date": None} if given.picture.suffix == ".svg" else None)
    if given.csv is not None:
        pl.concat(tables, how="diagonal").write_csv(given.csv)


if __name__ == "__main__":
    main()
