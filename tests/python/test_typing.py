"""What type checkers know of results and settings: right uses pass, wrong ones are refused, each on its line."""

import re

import pytest
from conftest import ROOT

import flashraid as fr
from flashraid import result_types

RIGHT = """
from typing import Literal, assert_type

import flashraid as fr
from flashraid.result_types import Drain, LatencyFigures, Rebuild, Verified, Window

result = fr.run(
    "trace.csv",
    device="ssd1",
    scheme="raid5",
    progress=lambda stage, count, share: True,
    fill="50%",
    page_bytes="16KiB",
    channels=8,
    gc_policy="windowed:8",
    wear_leveling="static",
    update="rmw",
    parity_cache_bytes=65536,
    alpha=0.5,
    rebuild="dor",
    warmup=100,
    verify=None,
    fail=["chip:0.1@50%"],
    series="series.parquet",
    fio=True,
)
assert_type(result, fr.Result)
assert_type(result.latency.read, LatencyFigures)
assert_type(result.latency.read.p99_9, int)
assert_type(result.latency_ns.write.mean, float)
assert_type(result.write_amplification, float | None)
assert_type(result.write_amplification_by.drain, float | None)
assert_type(result.window, Window | None)
assert_type(result.drain, Drain)
assert_type(result.rebuild, list[Rebuild])
assert_type(result.members[0].state, Literal["healthy", "degraded", "failed"])
assert_type(result.workload.ignored["comments"], int)
assert_type(result.config.device.page_bytes, int)
assert_type(result.config.scheme.update, Literal["fewest", "rmw", "rcw", "bpu", "adaptive"])

settings: fr.Settings = {"fill": 0.5, "page_bytes": "16KiB"}
assert_type(fr.run("trace.csv", **settings, scheme="raid0"), fr.Result)

comparison = fr.compare("trace.csv", device="ssd1", schemes=["raid0", "raid5"], queue_depth=8, fit="wrap")
assert_type(comparison, fr.Comparison)
assert_type(comparison.results[0].bandwidth.requests_per_second, float | None)

simulation = fr.Simulation(device="tiny", scheme="cr5m", verify=True, mw_limit=1.2)
assert_type(simulation.result().losses.host_pages, int)
assert_type(simulation.verify(), Verified)
assert_type(simulation.verify().pages_lost, int)
print(fr.trace_info("trace.csv").requests)
"""

WRONG = """
import flashraid as fr

result = fr.run("trace.csv", device="ssd1", scheme="raid5")
print(result.latency.raed)
print(result.latency.read.p999)
print(result.write_amplification / 2)
print(result.members.state)
print(result.capacity.nvram.write_buffer)
print(fr.Simulation(device="tiny", scheme="raid5").verify().pages_lots)
fr.run("trace.csv", wear_leveling="dynamik")
fr.run("trace.csv", gc_treshold=0.1)
fr.run("trace.csv", channels="8")
fr.run("trace.csv", format="spc1")
fr.run("trace.csv", serie="series.csv")
fr.compare("trace.csv", schemes="raid0", fit="wrapp")
fr.compare("trace.csv", schemes="raid0", updat="rmw")
fr.Simulation(device="tiny", scheme="raid5", buffer_byte=4096)
fr.Simulation(device="tiny", scheme="raid5", mapping="block")
fr.Simulation(device="tiny", scheme="raid5", queue_depth=8)
settings: fr.Settings = {"fil": 0.5}
"""
FIRST_WRONG = 5  # the line


def test_right_uses_pass_and_wrong_ones_are_refused(tmp_path):
    from mypy import api

    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(WRONG)
    # With the options of `make test`, so that what that found of the package counts.
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    said, trouble, _ = api.run([*options, str(right), str(wrong)])
    assert not trouble
    refused = re.findall(r"(?m)^(?:.*/)?(\w+)\.py:(\d+): error", said)
    lines = range(FIRST_WRONG, len(WRONG.splitlines()) + 1)
    assert sorted({(file, int(line)) for file, line in refused}) == [("wrong", line) for line in lines], said


@pytest.mark.filterwarnings("ignore")
def test_the_declared_attributes_are_there():
    result = fr.run(ROOT / "tests/golden/trace.csv", device="tiny", scheme="raid5", fit="wrap")
    optional = {
        "precondition",
        "buffer",
        "mapping",
        "guard",
        "verify",
        "drain",
        "devices",
        "wear_outs",
        "latency_around_rebuilds_ns",
        "replacements",
        "links",
        "host_side",
        "ldpc",
        "flash_units",
        "padded_units",
        "suspensions",
        "slc",
    }
    assert set(result_types.RunResult.__annotations__) == set(result) | optional
    for name, kind in result_types.RunResult.__annotations__.items():
        of = getattr(result_types, kind, None)
        if of is not None and name in result:
            assert set(of.__annotations__) >= set(result[name]), name
