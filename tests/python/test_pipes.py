"""Traces from standard input and pipes: read where one pass is enough, else refused in one line."""

import gzip
import json
import lzma
import os
import signal
import subprocess
import threading
import time

import pytest
from conftest import COMMAND, HEADER, PAGE, SAMPLE, write_trace, writes

import flashraid as fr

ARGUMENTS = ["--device", "tiny", "--scheme", "raid5", "--json", "-", "--no-engine", "--quiet"]
ONCE = "a pipe can be read only once, and "


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path, writes(200))


def result_of(done):
    found = json.loads(done.stdout)
    return {key: value for key, value in found.items() if key != "workload"}, found["workload"] | {"name": ""}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["plain", "gzip", "xz"])
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_a_trace_as_any(command, trace, pack, name):
    wanted, work = result_of(command("run", trace, *ARGUMENTS))
    found, piped = result_of(command("run", name, *ARGUMENTS, input=pack(trace.read_bytes())))
    assert found == wanted
    assert piped | {"sha256": ""} == work | {"sha256": ""}
    assert piped["sha256"] == fr.trace_info(trace).sha256 or pack is not bytes


def test_a_named_pipe(trace, tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(trace.read_bytes()))
    writer.start()
    found = fr.run(pipe, device="tiny", scheme="raid5", engine=False)
    writer.join()
    assert found.latency == fr.run(trace, device="tiny", scheme="raid5", engine=False).latency


def test_a_pipe_that_hands_over_little_at_a_time(tmp_path):
    """What a format is recognized by, compression included, may come in pieces."""
    text = HEADER + "".join(f"{number},W,{number * PAGE},{PAGE},,\n" for number in range(50))
    for data in (text.encode(), gzip.compress(text.encode())):
        pipe = tmp_path / f"pipe-{len(data)}"
        os.mkfifo(pipe)

        def write(pipe=pipe, data=data):
            with open(pipe, "wb", buffering=0) as file:
                for start in range(0, len(data), 3):
                    file.write(data[start : start + 3])
                    time.sleep(0.0005)

        writer = threading.Thread(target=write)
        writer.start()
        assert fr.trace_info(pipe).requests == 50
        writer.join()


def test_a_file_as_standard_input_can_be_read_twice(trace, tmp_path):
    """It is no pipe, so faults at a share of the trace are possible."""
    with open(trace, "rb") as file:
        line = [str(COMMAND), "run", "-", *ARGUMENTS, "--fail", "page:lpn=1@50%"]
        done = subprocess.run(line, stdin=file, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["faults"][0]["request"] == 100
    with open(trace, "rb") as file:
        line = [str(COMMAND), "trace", "convert", "-", "-o", str(trace)]
        done = subprocess.run(line, stdin=file, capture_output=True, check=False, text=True, timeout=60)
    assert (done.returncode, "the same file as the trace" in done.stderr) == (2, True)


def test_what_needs_two_passes_is_refused_in_a_line(trace, command):
    data = trace.read_text()
    where = ["--device", "tiny"]
    for arguments, text, says in [
        (
            ["run", "-", *where, "--scheme", "raid5", "--fail", "page:lpn=1@50%"],
            data,
            "a share of the trace needs a trace",
        ),
        (
            ["compare", "-", *where, "--schemes", "raid0,raid5"],
            data,
            ONCE + "a comparison replays the trace under each scheme",
        ),
        (["trace", "anonymise", "-", "-o", "x.csv", "--seed", "1"], data, ONCE + "anonymising reads a trace twice"),
    ]:
        done = command(*arguments, input=text, status=2)
        assert done.stderr.count("\n") == 1
        assert says in done.stderr
        assert done.stdout == ""


def test_several_devices_in_a_pipe_lie_as_those_of_a_file(command):
    """All of a pipe is read before the first request is replayed, so that the extents are known."""
    rows = [f"{9 - number // 10} {number % 3} {number * 1000} 8 1\n" for number in range(90)]
    (command.folder / "three.ssdsim").write_text("".join(rows))
    for limit in ("0", "50"):
        piped, file = (
            json.loads(
                command("trace", "info", name, "--format", "ssdsim", "--limit", limit, "--json", "-", **given).stdout
            )
            for name, given in (("-", {"input": "".join(rows)}), ("three.ssdsim", {}))
        )
        assert piped | {"name": ""} == file | {"name": ""}
        assert [each["base_bytes"] > 0 for each in piped["device_list"]] == [False, True, True]


def test_what_one_pass_is_enough_for(trace, command):
    for arguments in (
        ["trace", "info", "-", "--quiet"],
        ["trace", "convert", "-", "-o", "out.csv"],
        ["compare", "-", "--device", "tiny", "--schemes", "raid0"],
        ["run", "-", "--device", "tiny", "--scheme", "raid5", "--warmup", "20", "--fail", "page:lpn=1@request:7"],
    ):
        command(*arguments, input=trace.read_bytes())
    assert fr.read_trace(command.folder / "out.csv").equals(fr.read_trace(trace))


def test_an_unknown_format_on_standard_input(command):
    assert "expected --format" in command("trace", "info", "-", input="0 0 0 8 1\n", status=2).stderr
    assert "flashraid's own has ts_us" in command("trace", "info", "-", input="a,b,c\n1,2,3\n", status=2).stderr


@pytest.mark.parametrize("what", ["trace", "config", "device", "output"])
def test_no_number_of_an_operating_system_error(command, tmp_path, what):
    missing = tmp_path / "missing" / "x.csv"
    arguments = {
        "trace": ["run", missing, "--device", "tiny", "--scheme", "raid5"],
        "config": ["run", SAMPLE, "--config", missing, "--device", "tiny", "--scheme", "raid5"],
        "device": ["run", SAMPLE, "--device", f"{missing}.toml", "--scheme", "raid5"],
        "output": ["trace", "convert", SAMPLE, "-o", missing],
    }[what]
    done = command(*arguments, status=2)
    assert "No such file or directory" in done.stderr
    assert "os error" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("closed", [{"stdout"}, {"stderr"}, {"stdout", "stderr"}])
def test_a_reader_that_has_gone_leaves_nothing_half_written(trace, tmp_path, closed):
    """The command ends as others do then, by SIGPIPE, once it has something to say; half-written files are removed."""
    reading, writing = os.pipe()
    os.close(reading)
    targets = {name: writing if name in closed else subprocess.DEVNULL for name in ("stdout", "stderr")}
    line = [
        str(COMMAND),
        "run",
        str(trace),
        "--device",
        "tiny",
        "--scheme",
        "fra",
        "--verify",
        "--fail",
        "channel:0@50%",
    ]
    before = set(tmp_path.iterdir())
    line += ["--json", str(tmp_path / "r.json"), "--series", str(tmp_path / "s.csv")]
    done = subprocess.run(line, **targets, check=False, timeout=60)
    os.close(writing)
    assert done.returncode == -signal.SIGPIPE
    assert not any(path.name.startswith(".") for path in set(tmp_path.iterdir()) - before)
