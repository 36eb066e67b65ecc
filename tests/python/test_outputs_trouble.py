"""Outputs in trouble: names that cannot be, files that would be lost, interruptions at every moment, full disks."""

import fcntl
import json
import os
import pty
import resource
import signal
import stat
import subprocess
import sys
import termios
import time
from threading import current_thread, main_thread

import polars
import pytest
from conftest import COMMAND, PROVE, ROOT, SAMPLE, write_device, write_trace, writes

import flashraid as fr
from flashraid import outputs as outputs_module
from flashraid.side_by_side import STEP_SECONDS

RUN = ["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--limit", "3000", "--fill", "0.05", "--quiet"]
SETTINGS = {"device": "ssd1", "limit": 3000, "fill": 0.05, "engine": False}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("options", [["--json", "t.csv"], ["--series", "t.csv", "--json", "t-raid0.csv"]])
def test_a_comparison_never_replaces_its_trace_or_its_own_files(command, options):
    trace = write_trace(command.folder, writes(10), "t.csv")
    before = trace.read_text()
    line = ["compare", "t.csv", "--device", "ssd1", "--schemes", "raid0", "--quiet", *options]
    assert "are both t" in command(*line, status=2).stderr
    assert names(command.folder) == ["t.csv"]
    assert trace.read_text() == before


@pytest.mark.parametrize("verb", [["run", "--scheme", "raid0"], ["compare", "--schemes", "raid0"]])
@pytest.mark.parametrize("option", ["--device", "--config"])
def test_device_and_configuration_are_never_outputs(command, verb, option):
    trace = write_trace(command.folder, writes(10))
    own = write_device(command.folder)
    before = own.read_text()
    for output in ("--json", "--hdr-log"):
        target = own if output == "--json" or verb[0] == "run" else None
        if target is not None:
            done = command(*verb, trace, option, own, output, target, status=2)
            assert done.stderr == f"error: {option} and {output} are both {target}: allowed are different files\n"
    assert own.read_text() == before
    assert len(names(command.folder)) == 2
    with pytest.raises(fr.InputError, match="config and hdr_log are both"):
        fr.run(trace, config=own, scheme="raid0", hdr_log=own)


@pytest.mark.parametrize("name", ["a[1].parquet", "a?.parquet", "a*.parquet", "a[1].csv", "[a]*.CSV"])
def test_names_are_names_and_no_patterns(tmp_path, name):
    result = fr.run(SAMPLE, scheme="raid0", **SETTINGS, latency_log=tmp_path / name)
    assert names(tmp_path) == [name]
    assert result.frame("latency_log").height == result.requests.completed > 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--hdr-log", "new/"], "--hdr-log: new/: allowed is the name of a file"),
        (["--hdr-log", ""], "--hdr-log: empty name: allowed is the name of a file"),
        (["--json", ""], "--json: empty name: allowed is the name of a file"),
        (["--json", "new/"], "new/: allowed is the name of a regular file"),
        (["--series", b"s\xff.csv"], r"--series = 's\udcff.csv': allowed is a name in UTF-8"),
        (["--device", b"\xff.toml"], r"--device = '\udcff.toml': allowed is a name in UTF-8"),
        (["--series", "a.csv.gz"], "--series: a.csv.gz: allowed is a name that ends in .csv or .parquet"),
        (["--series", "s" * 300 + ".csv"], "s" * 300 + ".csv: cannot be written: File name too long"),
    ],
)
def test_impossible_names_are_refused_in_one_line(command, options, expected):
    line = [*RUN, *map(os.fsdecode, options)]
    if "--device" in options:
        line[line.index("ssd1") - 1 : line.index("ssd1") + 1] = []
    done = command(*line, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {expected}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert names(command.folder) == []


@pytest.mark.parametrize("path", ["a\0.csv", b"a.csv", 5, "a\udcff.csv"])
def test_impossible_paths_are_input_errors(tmp_path, path):
    with pytest.raises(fr.InputError, match=r"series = .* allowed is"):
        fr.run(SAMPLE, scheme="raid0", **SETTINGS, series=path)
    if path != "a\udcff.csv":
        with pytest.raises(fr.InputError, match=r"trace = .* allowed is"):
            fr.run(path, scheme="raid0", **SETTINGS)
        with pytest.raises(fr.InputError, match=r"config = .* allowed is"):
            fr.run(SAMPLE, scheme="raid0", config=path, **SETTINGS)


def test_long_names_and_upper_case_endings(tmp_path):
    name = "s" * 245 + ".Parquet"
    result = fr.run(SAMPLE, scheme="raid0", **SETTINGS, series=tmp_path / name)
    assert names(tmp_path) == [name]
    assert result.frame("series").equals(polars.read_parquet(tmp_path / name))


def test_a_replaced_file_keeps_its_mode(command):
    for name in ("s.csv", "s.parquet", "r.json"):
        (command.folder / name).write_text("old")
        (command.folder / name).chmod(0o600)
    command(
        *RUN, "--series", "s.csv", "--log-latency", "s.parquet", "--json", "r.json", "--hdr-log", "new", umask=0o022
    )
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in command.folder.iterdir()}
    assert modes == {"s.csv": 0o600, "s.parquet": 0o600, "r.json": 0o600, "new": 0o644}


def test_temporary_files_lie_beside_what_a_link_points_at(tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "big").mkdir()
    (tmp_path / "links" / "s.parquet").symlink_to(tmp_path / "big" / "s.parquet")
    seen = set()

    def look(*told):
        seen.update(path for folder in ("links", "big") for path in (tmp_path / folder).iterdir())
        return True

    settings = SETTINGS | {"fill": 0.2, "precondition": "random:0.1"}
    fr.run(SAMPLE, scheme="raid0", **settings, series=tmp_path / "links" / "s.parquet", progress=look)
    assert {path.parent.name for path in seen if path.name.endswith(".part")} == {"big"}
    assert names(tmp_path / "big") == ["s.parquet"]
    assert (tmp_path / "links" / "s.parquet").is_symlink()


def test_what_a_killed_run_left_is_in_nobodys_way(tmp_path):
    (tmp_path / f".s.csv.{os.getpid()}.part").touch()
    fr.run(SAMPLE, scheme="raid0", **SETTINGS, series=tmp_path / "s.csv")
    assert (tmp_path / "s.csv").exists()


def test_a_disk_that_is_full_when_parquet_is_made(command):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))

    # One interval: less CSV than Parquet.
    done = command(*RUN, "--series", "s.parquet", "--series-interval", "10000s", status=2, preexec_fn=small_files)
    assert done.stderr.startswith("error: --series cannot be written: "), done.stderr
    assert done.stderr.count("\n") == 1
    assert names(command.folder) == []


def test_a_disk_that_is_full_for_the_result_names_it(command):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))

    done = command(*RUN, "--json", "r.json", status=2, preexec_fn=small_files)
    assert done.stderr == "error: r.json: cannot be written: File too large\n"
    assert names(command.folder) == []


def test_interrupted_in_the_warm_up(tmp_path, long_trace):
    with pytest.raises(fr.Interrupted) as caught:
        fr.run(
            long_trace,
            device="ssd1",
            scheme="raid0",
            warmup="10000000",
            progress=lambda *told: False,
            series=tmp_path / "s.parquet",
        )
    result = caught.value.result
    assert (result.status, result.partial) == (130, True)
    assert result.requests.completed == result.workload.requests == 0 < result.workload.warmup_requests
    assert any("stopped during the warm-up" in text for text in result.warnings)
    assert polars.read_parquet(tmp_path / "s.parquet")["write_requests"].sum() == 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_interrupted_in_the_precondition(tmp_path, form):
    with pytest.raises(fr.Interrupted) as caught:
        fr.run(
            SAMPLE,
            scheme="raid0",
            **SETTINGS,
            precondition="random:4",
            progress=lambda *told: False,
            series=tmp_path / f"s.{form}",
            latency_log=tmp_path / f"l.{form}",
        )
    result = caught.value.result
    assert result.partial
    for name, column in (("series", "write_requests"), ("latency_log", "latency_ns")):
        assert result.frame(name).height == 0
        assert column in result.frame(name).columns


@pytest.fixture
def ctrl_c():
    """Ctrl-C as Python starts with it, also where the tests were started with it ignored (in the background)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_files_are_completed_loses_nothing(tmp_path, monkeypatch):
    convert = outputs_module._to_parquet

    def interrupted(table, target):
        signal.pthread_kill(main_thread().ident, signal.SIGINT)
        if current_thread() is not main_thread():
            time.sleep(2 * STEP_SECONDS)  # so that it has come
        convert(table, target)

    monkeypatch.setattr(outputs_module, "_to_parquet", interrupted)
    with pytest.raises(fr.Interrupted) as caught:
        fr.run(SAMPLE, scheme="raid0", **SETTINGS, series=tmp_path / "s.parquet", latency_log=tmp_path / "l.parquet")
    result = caught.value.result
    assert (result.status, result.partial) == (130, False)
    assert result.frame("latency_log").height == result.requests.completed
    assert names(tmp_path) == ["l.parquet", "s.parquet"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(fr.Interrupted) as caught:
        fr.compare(SAMPLE, schemes=["raid0", "raid5"], jobs=1, **SETTINGS, latency_log=tmp_path / "c.parquet")
    assert [result.scheme for result in caught.value.result.results] == ["raid0"]
    assert caught.value.result.status == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_a_run_in_order(tmp_path, long_trace, number):
    files = ["--log-latency", "l.parquet", "--timeline", "t.json", "--json", "r.json"]
    line = [COMMAND, "run", str(long_trace), "--device", "ssd1", "--scheme", "raid5", *files]
    process = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (parts := list(tmp_path.glob(".t.json.*.part"))) or parts[0].stat().st_size == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted: the results are partial\n" in errors
    assert names(tmp_path) == ["l.parquet", "r.json", "t.json"]
    assert json.loads((tmp_path / "r.json").read_text())["partial"]


def test_commands_under_test_hear_signals_however_the_tests_were_started():
    def ignore():
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    heard = "from signal import *; print(getsignal(SIGINT) is default_int_handler, getsignal(SIGHUP) is SIG_DFL)"
    tests = f"import conftest, subprocess, sys; subprocess.run([sys.executable, '-c', {heard!r}])"
    line = [sys.executable, "-c", tests]
    done = subprocess.run(line, cwd=ROOT / "tests" / "python", preexec_fn=ignore, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True True\n", "")


def test_a_terminal_that_goes_away_takes_no_results_with_it(tmp_path, long_trace):
    near, far = pty.openpty()

    def own_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    line = [COMMAND, "run", str(long_trace), "--device", "ssd1", "--scheme", "raid5", "--series", "s.parquet"]
    terminal = {"stdin": far, "stdout": far, "stderr": far, "start_new_session": True, "preexec_fn": own_terminal}
    process = subprocess.Popen([*line, "--json", "r.json"], cwd=tmp_path, **terminal)
    os.close(far)
    shown = b""
    while b"0:00:0" not in shown:  # the bar's clock
        shown += os.read(near, 4096)
    os.close(near)
    process.wait(timeout=60)
    assert names(tmp_path) == ["r.json", "s.parquet"]
    assert json.loads((tmp_path / "r.json").read_text())["partial"]


def test_a_trace_under_way_is_removed_by_sigterm(tmp_path):
    line = ["trace", "synth", "-o", "t.csv.xz", "--requests", "50000000", "--space", "1GiB", "--interval-ns", "1000"]
    process = subprocess.Popen([COMMAND, *line], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not names(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert names(tmp_path) == []


def test_schemes_that_are_no_part_of_a_name(tmp_path):
    with pytest.raises(fr.InputError, match="a/b"):
        fr.compare(SAMPLE, schemes=["a/b"], **SETTINGS, series=tmp_path / "s.csv")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["click", "flashraid.command.tables", "rich.table"])
def test_signals_while_the_command_is_being_loaded_and_before_and_after_its_run(tmp_path, number, module):
    # The signal comes with the first import of a module; that of the last one is in the making of tables.
    program = f"""
import signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "{module}":
            try:
                signal.raise_signal({int(number)})
            except KeyboardInterrupt:
                if name == "rich.table":
                    raise
from flashraid.command import main
sys.meta_path.insert(0, Finder())
main()
"""
    line = [sys.executable, "-c", program, "schemes"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_schemes_may_come_one_by_one(tmp_path):
    compared = fr.compare(SAMPLE, schemes=(name for name in ["raid0", "raid5"]), **SETTINGS, series=tmp_path / "s.csv")
    assert [result.scheme for result in compared.results] == ["raid0", "raid5"]
    assert names(tmp_path) == ["s-raid0.csv", "s-raid5.csv"]


def test_messages_name_options_in_the_command_and_arguments_in_python(command):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = command(*RUN, "--log-latency", "l.csv", status=2, preexec_fn=small_files)
    assert done.stderr == "error: --log-latency cannot be written: File too large\n"
    done = command(*RUN, "--timeline-window", "1s..2s", status=2)
    assert done.stderr == "error: --timeline-window without a timeline: allowed only with timeline\n"
    with pytest.raises(fr.InputError, match=r"^timeline_window without a timeline"):
        fr.run(SAMPLE, scheme="raid0", **SETTINGS, timeline_window="1s..2s")


@pytest.mark.skipif(not PROVE, reason="make prove: a million events")
def test_a_truncated_timeline_shows_what_was_over_by_then_and_says_so(tmp_path):
    trace = tmp_path / "long.csv"
    fr.synth(trace, requests=12_000, space_bytes=64 << 20, interval_ns=1_000_000, min_pages=16, max_pages=32)
    with pytest.warns(UserWarning, match="requests in flight at .* and all later events are left out"):
        result = fr.run(
            trace,
            device="tiny",
            scheme="raid5",
            timeline=tmp_path / "t.json",
            timeline_window="..",
            latency_log=tmp_path / "l.parquet",
        )
    timeline = json.loads((tmp_path / "t.json").read_text())
    end_ns = timeline["otherData"]["truncated_ns"]
    events = [event for event in timeline["traceEvents"] if event["ph"] != "M"]
    assert len(timeline["traceEvents"]) <= 1_000_000
    requests = result.frame("latency_log")
    answered = requests.filter(polars.col("end_ns") < end_ns)["request"].to_list()
    shown = {int(event["id"]) for event in events if event["ph"] == "e"}
    assert 0 < len(answered) < requests.height
    assert shown >= set(answered)
    begun = set(
        requests.filter(polars.col("end_ns") >= end_ns, polars.col("arrival_ns") <= end_ns)["request"].to_list()
    )
    named = {event["args"]["request"] for event in events if event["ph"] == "X" and "request" in event["args"]}
    assert named - shown <= begun


def test_one_request_is_one_request(command):
    trace = write_trace(command.folder, writes(1))
    shown = command("run", trace, "--device", "tiny", "--scheme", "raid0", "--quiet").stdout
    assert "trace.csv, 1 request\n" in shown
    assert "1 request\n" in command("trace", "info", trace, "--quiet").stdout
