"""What the tests of sweeps have in common."""

import json

import polars as pl
from conftest import write_trace

PLACE = {"device": "tiny", "fill": 0.5}


def short_trace(folder):
    rows = [(at * 900, "R" if at % 3 else "W", at % 50 * 4096, 8192) for at in range(300)]
    return str(write_trace(folder, rows))


def results(frame):
    """A frame without what tells where and when a run was done."""
    return frame.select(pl.exclude("^provenance\\..*$"))


def write_plan(folder, trace, extra="", schemes=("raid0", "raid5")):
    path = folder / "plan.toml"
    path.write_text(
        f'[fixed]\ntrace = "{trace}"\ndevice = "tiny"\nfill = 0.5\n{extra}\n'
        f"[grid]\nscheme = {json.dumps(schemes)}\nqueue_depth = [1, 2, 4]\n"
    )
    return path
