"""What the benches say and write, and what they refuse; how fast everything is they measure themselves."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import flashraid as fr
import peers
import run

HISTORY = """\
release,rustc,random_read_ns,raid0 a,ppc a400,accepts
first,1.95.0,172,5000,
best,1.96.0,172,1000,2000,
other,1.95.0,172,4000,9000,
last,1.96.0,172,1100,1900,
"""


@pytest.fixture
def history(monkeypatch, tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(HISTORY)
    monkeypatch.setattr(run, "HISTORY", path)
    monkeypatch.setattr(run, "compiler", lambda: "1.96.0")
    return path


def test_counts_are_compared_with_the_least_of_the_same_compiler(history):
    assert run.least_instructions() == {"raid0 a": (1000, "best"), "ppc a400": (1900, "last")}
    run.refuse_growth({"raid0 a": 1030, "ppc a400": 1957, "raid5 a400": 1e6})
    with pytest.raises(run.WrongCount, match=r"^raid0 a \(of best\): more instructions than the least by over 3%"):
        run.refuse_growth({"raid0 a": 1031, "ppc a400": 1000})


def test_lines_before_one_that_accepts_more_bind_no_more(history):
    run.record("waits", "it does more", {"random_read_ns": 172, "instructions_per_request": {"raid0 a": 1200}})
    assert run.least_instructions() == {"raid0 a": (1200, "waits")}
    run.record("faster", "", {"random_read_ns": 172, "instructions_per_request": {"raid0 a": 1150, "ppc a400": 2500}})
    assert run.least_instructions() == {"raid0 a": (1150, "faster"), "ppc a400": (2500, "faster")}


def test_a_line_is_added_to_the_history_or_nothing_is(history):
    report = {"random_read_ns": 150.4, "instructions_per_request": {"raid0 a": 999.7}}
    run.record("new", "", report)
    lines = list(csv.DictReader(history.read_text().splitlines()))
    assert len(lines) == 5
    line = {
        "release": "new",
        "rustc": "1.96.0",
        "random_read_ns": "150",
        "raid0 a": "1000",
        "ppc a400": "",
        "accepts": "",
    }
    assert lines[-1] == line
    before = history.read_text()
    with pytest.raises(ValueError, match="unknown"):
        run.record("newer", "", report | {"instructions_per_request": {"unknown": 1}})
    assert history.read_text() == before


def test_counts_alone_are_written_too(monkeypatch, history, tmp_path):
    monkeypatch.setattr(run, "build", lambda *_: None)
    monkeypatch.setattr(run, "instructions", lambda case, _: 1234.5)
    monkeypatch.setattr(run.shutil, "which", lambda _: "valgrind")
    written = tmp_path / "counts.json"
    monkeypatch.setattr(sys, "argv", ["run.py", "--instructions", "--quick", "--json", str(written)])
    assert run.main() == 0
    expected = {"raid0 a": 1234.5, "ppc a400": 1234.5}
    assert json.loads(written.read_text()) == {"version": fr.__version__, "instructions_per_request": expected}
    # Too many are written before they are refused.
    monkeypatch.setattr(sys, "argv", ["run.py", "--instructions", "--json", str(written)])
    with pytest.raises(run.WrongCount, match="raid0 a"):
        run.main()
    assert json.loads(written.read_text())["instructions_per_request"].keys() > expected.keys()


def refused(bench, *arguments, **environment):
    """The last line that a bench prints when it refuses something."""
    line = [sys.executable, str(ROOT / "benches" / bench), *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, env=os.environ | environment, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_what_run_refuses(tmp_path):
    for name in ("valgrind", "rustc"):
        (tmp_path / name).symlink_to("/bin/true")
    path = {"PATH": str(tmp_path)}
    told = refused("run.py", "--quick", "--record", "x", **path)
    assert told.endswith("error: --record: a line holds figures of all the work: allowed without --quick")
    told = refused("run.py", "--json", tmp_path / "none" / "x", **path)
    assert told.startswith(f"error: {tmp_path}/none/x: cannot be written: ")
    told = refused("run.py", "--instructions", "--quick", **path)
    assert told == "error: cargo: there is none in PATH: needed is Rust's toolchain"
    (tmp_path / "valgrind").unlink()
    told = refused("run.py", "--instructions", "--json", tmp_path / "x", **path)
    assert told.endswith("error: --json: nothing is counted without valgrind")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no simulator: allowed is at least one of --mqsim, --ssdsim, --mqsim-tlc"),
        (["--mqsim", "/bin/true", "--pairs", "0"], "--pairs 0: allowed is 1 or more"),
        (["--mqsim", "/"], "--mqsim /: allowed is a program"),
    ],
)
def test_what_peers_refuses(arguments, says):
    assert refused("peers.py", *arguments).endswith(f"error: {says}")


@pytest.mark.parametrize(
    ("simulator", "program", "says"),
    [
        (peers.mqsim, "/bin/true", "^MQSim: it wrote no workload_scenario_1.xml: is the program MQSim"),
        (peers.mqsim, "/bin/false", "^/bin/false: exit status 1, not 0: it says nothing"),
        (peers.mqsim, "trace", "trace: cannot be run: Exec format error"),
        (lambda _, program, __: peers.compare_tlc(program), "/bin/true", r"^MQSim: it wrote no workload\.IO_Flow"),
        (peers.ssdsim, "/bin/false", "^SSDsim: it wrote no statistic10.dat: is the program SSDsim"),
        (peers.ssdsim, "/bin/true", "^/bin/true: exit status 0, not 1: it says nothing"),
    ],
)
def test_programs_that_are_no_such_simulators(monkeypatch, tmp_path, simulator, program, says):
    trace = tmp_path / "trace"
    trace.write_text("0 0 0 8 0\n")
    trace.chmod(0o755)
    monkeypatch.setattr(peers, "trace", lambda *_: trace)
    with pytest.raises(run.WrongCount, match=says):
        simulator("a", tmp_path / Path(program), tmp_path)
