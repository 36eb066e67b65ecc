"""Calibrating the thresholds of `bpu`."""

import json

import pytest

import flashraid as fr
from flashraid.calibration import CANDIDATES, thresholds_of

DEFAULTS = thresholds_of("bpu")

SETTINGS = {"device": "tiny", "fill": 0.5, "fit": "wrap", "limit": 2000, "speed": 20}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("calibrate") / "trace.csv"
    fr.synth(path, requests=3000, space_bytes=64 << 20, interval_ns=60_000, read_share=0.3, seed=4)
    return path


def total_ns(trace, **thresholds):
    return fr.run(trace, scheme="bpu", engine=False, **SETTINGS, **thresholds).latency.all.total


def test_no_single_threshold_is_better_than_what_is_found(trace):
    found = fr.calibrate(trace, **SETTINGS)
    assert set(found.thresholds) == set(DEFAULTS)
    assert found.total_ns == total_ns(trace, **found.thresholds)
    assert found.default_total_ns == total_ns(trace, **DEFAULTS) == total_ns(trace)
    assert found.total_ns < found.default_total_ns
    for name, default in DEFAULTS.items():
        for value in (default, *CANDIDATES):
            assert total_ns(trace, **{**found.thresholds, name: value}) >= found.total_ns, f"{name} = {value}"
    assert found.runs > len(DEFAULTS) * (len(CANDIDATES) - 1)


def test_what_is_given_is_not_varied(trace):
    given = {"bpu_theta_load": 8, "bpu_d1": 0, "bpu_d2": 1, "bpu_theta_2": 0}
    found = fr.calibrate(trace, **SETTINGS, **given)
    assert {name: found.thresholds[name] for name in given} == given
    assert found.runs <= 1 + len(CANDIDATES)
    assert found.total_ns == total_ns(trace, **found.thresholds)


def test_the_command_prints_settings_that_a_run_takes(command, trace):
    options = [str(trace), "--device", "tiny", "--fill", "0.5", "--set", "limit=300", "--set", "bpu_d1=1", "--quiet"]
    shown = command("calibrate", *options).stdout
    assert "a stand-in for BPU, calibrated in" in shown
    assert "default thresholds" in shown
    found = json.loads(command("calibrate", *options, "--json", "-").stdout)
    assert found["total_ns"] <= found["default_total_ns"]
    assert found["thresholds"]["bpu_d1"] == 1
    line = shown.strip().splitlines()[-1].split()
    assert line == [part for name, value in found["thresholds"].items() for part in ("--set", f"{name}={value}")]
    command("run", *options[:4], options[4], "--scheme", "bpu", *line, "--quiet")


def test_bad_input_is_one_line(command, trace):
    refused = command("calibrate", str(trace), "--device", "tiny", "--set", "fil=1", status=2).stderr
    assert refused.count("\n") == 1
    assert "unknown key fil" in refused
    assert "no such" in command("calibrate", "nothing.csv", "--device", "tiny", status=2).stderr.lower()
    before = trace.read_bytes()
    same = command("calibrate", str(trace), "--device", "tiny", "--json", str(trace), status=2).stderr
    assert "allowed are different files" in same
    assert trace.read_bytes() == before
