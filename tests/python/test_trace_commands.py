"""Converting, slicing and anonymising traces, what the reader reports, and traces as frames."""

import gzip
import json
import signal
import subprocess
import time

import polars as pl
import pytest
from conftest import COMMAND, HEADER, PAGE, SAMPLE, write_trace, writes

import flashraid as fr

SSDSIM = "5000 7 0 8 0\n6000 3 0 8 1\n4000 7 16 8 1\n"


def test_convert_to_other_formats_and_back(command):
    done = command("trace", "convert", SAMPLE, "-o", "a.ssdsim.trace.zst", "--on-error", "skip", "--limit", "3000")
    assert done.stdout == ""
    assert "3,000 requests of pgbench-transactions.csv.gz" in " ".join(done.stderr.split())
    command("trace", "convert", "a.ssdsim.trace.zst", "-o", "b.csv.gz")
    one, two = (command("trace", "convert", name, "-o", "-").stdout for name in ("a.ssdsim.trace.zst", "b.csv.gz"))
    assert one == two == gzip.decompress((command.folder / "b.csv.gz").read_bytes()).decode()
    info = [fr.trace_info(command.folder / name).to_dict() for name in ("a.ssdsim.trace.zst", "b.csv.gz")]
    for each in info:
        for key in ("name", "sha256", "format", "time_unit"):
            del each[key]
    assert info[0] == info[1]
    report = fr.convert(SAMPLE, command.folder / "c.ssdsim", on_error="skip", limit=3000)
    assert report.written + report.unwritable == 3000 == report.requests
    assert f"left out: {report.unwritable:,} requests that ssdsim cannot hold" in " ".join(done.stderr.split())


def test_compressed_files_are_the_same_each_time(command):
    for ending in ("csv.gz", "csv.zst", "csv.xz"):
        command("trace", "convert", SAMPLE, "-o", f"a.{ending}", "--limit", "1000")
        time.sleep(0.01)
        command("trace", "convert", SAMPLE, "-o", f"b.{ending}", "--limit", "1000")
        assert (command.folder / f"a.{ending}").read_bytes() == (command.folder / f"b.{ending}").read_bytes()


def test_slices(command, tmp_path):
    trace = write_trace(tmp_path, writes(100))  # one a millisecond, page after page

    def lines(*arguments):
        done = command("trace", "convert", trace, "-o", "-", *arguments)
        return [line.split(",")[:4] for line in done.stdout.splitlines()[1:]], " ".join(done.stderr.split())

    rows, report = lines("--from-time", "10ms", "--to-time", "0.02s")
    assert [int(row[0]) for row in rows] == list(range(10_000, 20_000, 1000))
    assert "left out: 10 requests that arrive before --from-time" in report
    rows, _ = lines("--from-time", "10ms", "--rebase-time", "--limit", "2")
    assert [row[0] for row in rows] == ["0", "1000"]
    rows, report = lines("--address", "6KiB..20KiB", "--rebase-address")
    assert [int(row[2]) for row in rows] == [2048, 2048 + PAGE, 2048 + 2 * PAGE]
    assert "1 requests that lie partly outside" in report
    assert "96 requests that lie outside" in report
    assert len(lines("--skip", "97")[0]) == 3
    assert len(lines("--address", "..8KiB")[0]) == 2
    report = fr.convert(trace, tmp_path / "part.csv", from_ns=10**7, to_bytes=20 * PAGE, skip=2, limit=5)
    assert (report.written, report.left_out.time, report.left_out.skipped) == (5, 10, 2)


def test_devices(command):
    (command.folder / "a.ssdsim").write_text(SSDSIM)
    done = command("trace", "convert", "a.ssdsim", "-o", "b.ssdsim")
    assert (command.folder / "b.ssdsim").read_text() == "4000 7 16 8 1\n5000 7 0 8 0\n6000 3 0 8 1\n"
    report = " ".join(done.stderr.split())
    assert "ssdsim keeps them apart" in report
    assert "out-of-order records: 1 requests" in report
    done = command("trace", "convert", "a.ssdsim", "-o", "b.csv")
    report = " ".join(done.stderr.split())
    assert "flashraid has no devices: their address spaces are placed one after the other" in report
    assert "3: 1 request up to 4.0 KiB, placed at 1.0 MiB" in report
    assert "5,W,0,4096,," in (command.folder / "b.csv").read_text()
    assert "6,R,1048576,4096,," in (command.folder / "b.csv").read_text()
    command("trace", "convert", "a.ssdsim", "-o", "c.csv", "--device-filter", "3")
    assert (command.folder / "c.csv").read_text() == HEADER + "6,R,0,4096,,\n"
    assert command("trace", "convert", "a.ssdsim", "-o", "d.csv", "--quiet").stderr == ""


def test_anonymise(command):
    done = command("trace", "anonymise", SAMPLE, "-o", "a.csv.gz", "--seed", "5")
    assert "address regions" in done.stderr
    command("trace", "anonymise", SAMPLE, "-o", "b.csv.gz", "--seed", "5")
    command("trace", "anonymise", SAMPLE, "-o", "c.csv.gz", "--seed", "6")
    one, two, three = ((command.folder / f"{name}.csv.gz").read_bytes() for name in "abc")
    assert one == two != three
    before, after = (fr.trace_info(path).to_dict() for path in (SAMPLE, command.folder / "a.csv.gz"))
    for each in (before, after):
        for key in ("name", "sha256", "max_address_bytes", "device_list"):
            del each[key]
    assert before == after
    before, after = (fr.read_trace(path) for path in (SAMPLE, command.folder / "a.csv.gz"))
    assert not before["offset_bytes"].equals(after["offset_bytes"])
    assert "--seed" in command("trace", "anonymise", SAMPLE, "-o", "d.csv", status=2).stderr
    report = fr.anonymise(SAMPLE, command.folder / "e.csv", seed=1, limit=500)
    assert (report.written, report.requests) == (500, 500)


def test_the_reader_reports(command):
    (command.folder / "a.ssdsim").write_text(SSDSIM + "8000 3 0 x 1\n9000 3 1 8 1\n")
    options = ["a.ssdsim", "--on-error", "skip", "--capacity", "8KiB", "--json", "-"]
    info = json.loads(command("trace", "info", *options).stdout)
    assert (info["format"], info["time_unit"], info["skipped"], info["out_of_order"]) == ("ssdsim", "ns", 1, 1)
    assert info["faults"][0].startswith("a.ssdsim:4:10: ")
    assert info["ignored"] == {}
    assert (info["capacity_bytes"], info["beyond_capacity"]) == (8192, 3)
    devices = [(each["name"], each["requests"], each["base_bytes"], each["end_bytes"]) for each in info["device_list"]]
    assert devices == [("7", 2, 0, 3 * PAGE), ("3", 2, 1 << 20, PAGE + 512)]
    table = " ".join(command("trace", "info", *options[:5]).stdout.split())
    for text in (
        "read as ssdsim, times in ns",
        "unreadable, skipped 1 lines or records",
        "a.ssdsim:4:10: ",
        "out-of-order records 1 requests",
        "beyond 8.0 KiB 3 requests",
        "3: 2 requests up to 4.5 KiB, placed at 1.0 MiB",
    ):
        assert text in table, text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["info", SAMPLE, "--page-bytes", "0"], "page_bytes = 0: allowed is a power of two from 512 to 1048576"),
        (["info", SAMPLE, "--capacity", "big"], "--capacity big: allowed is a whole number of bytes"),
        (["info", "no-such-file"], "no-such-file: No such file"),
        (["info", SAMPLE, "--page-byte", "1"], "the nearest is --page-bytes"),
        (
            ["convert", SAMPLE, "-o", "x.dat"],
            "x.dat: the file name implies no format to write; expected --to flashraid",
        ),
        (["convert", SAMPLE, "-o", "x.csv", "--to", "ssdsin"], "(nearest: 'ssdsim')"),
        (["convert", SAMPLE, "-o", "x.csv", "--to", "msr"], "traces cannot be written as 'msr'"),
        (
            ["convert", SAMPLE, "-o", "x.csv", "--from-time", "5"],
            "--from-time 5: allowed is a time up to 9223372036s (292 years), in whole nanoseconds with a unit (ns, us,",
        ),
        (
            ["convert", SAMPLE, "-o", "x.csv", "--to-time", "2562048h"],
            "allowed is a time up to 9223372036s (292 years)",
        ),
        (["convert", SAMPLE, "-o", "x.csv", "--to-time", "0s"], "allowed is a start before the end"),
        (["convert", SAMPLE, "-o", "x.csv", "--from-time", "999h"], "expected a part of the trace with at least one"),
        (["convert", SAMPLE, "-o", "x.csv", "--address", "5"], "--address 5: allowed is START..END"),
        (["convert", SAMPLE, "-o", "x.csv", "--rebase-address"], "allowed only with an --address that has a start"),
        (["convert", SAMPLE, "-o", "x.ssdsim"], "cannot be written as 'ssdsim': it is a"),
        (["convert", SAMPLE, "-o", "."], ".: the file name implies no format to write"),
        (["convert", SAMPLE, "-o", "none/x.csv"], "none/x.csv: No such file or directory"),
        (["convert", SAMPLE, "-o", "/dev/null", "--to", "flashraid"], "/dev/null: not a regular file"),
        (
            ["anonymise", "/dev/null", "-o", "x.csv", "--seed", "1"],
            "/dev/null: a pipe can be read only once, and anonymising reads a trace twice; expected a file",
        ),
        (["anonymise", SAMPLE, "-o", "x.csv", "--seed", "-1"], "allowed is 0 or more"),
    ],
)
def test_refusals_are_one_line(command, arguments, text):
    done = command("trace", *arguments, status=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert text in done.stderr
    assert list(command.folder.iterdir()) == []


def test_interrupted_writing_leaves_nothing(tmp_path, long_trace):
    here = tmp_path / "here"
    here.mkdir()
    for arguments in (
        ["convert", str(long_trace), "-o", "out.csv.xz"],
        ["anonymise", str(long_trace), "-o", "out.csv.xz", "--seed", "1"],
        ["synth", "-o", "out.csv.xz", "--requests", "30000000", "--space", "1GiB", "--interval-ns", "1000"],
        ["info", str(long_trace), "--page-bytes", "512"],
    ):
        process = subprocess.Popen(
            [str(COMMAND), "trace", *arguments], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        begun = time.monotonic()
        while not (list(here.iterdir()) if "out.csv.xz" in arguments else time.monotonic() > begun + 0.8):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < begun + 60
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout) == (130, ""), stderr
        assert "interrupted" in stderr
        assert list(here.iterdir()) == []


def test_progress_stops_the_library(tmp_path):
    seen = []

    def progress(stage, count, share):
        seen.append((stage, count, share))
        return False

    with pytest.raises(KeyboardInterrupt):
        fr.convert(SAMPLE, tmp_path / "x.csv", progress=progress)
    assert seen[-1][0] == "converting"
    assert list(tmp_path.iterdir()) == []


def test_frames(command):
    (command.folder / "a.ssdsim").write_text(SSDSIM)
    frame = fr.read_trace(command.folder / "a.ssdsim")
    assert frame.to_dict(as_series=False) == {
        "arrival_ns": [4000, 5000, 6000],
        "op": ["read", "write", "read"],
        "offset_bytes": [16 * 512, 0, 0],
        "size_bytes": [PAGE] * 3,
        "device": ["7", "7", "3"],
        "stream": [0, 0, 0],
    }
    sample, info = fr.read_trace(SAMPLE), fr.trace_info(SAMPLE)
    assert sample.height == info.requests
    assert sample.filter(pl.col("op") == "write")["size_bytes"].sum() == info.bytes_written
    assert sample["arrival_ns"].is_sorted()
    assert fr.read_trace(SAMPLE, limit=10).equals(sample.head(10))
    with pytest.raises(fr.InputError, match="allowed is stop, skip"):
        fr.read_trace(SAMPLE, on_error="x")


def test_info_shows_the_busiest_devices_each_on_a_row(command):
    rows = "".join(f"{time} {time} 0 8 0\n" for time in range(10)) + "10 9 8 8 1\n10 9 16 8 1\n11 4 0 8 1\n"
    (command.folder / "a.ssdsim").write_text(rows)
    lines = command("trace", "info", "a.ssdsim").stdout.splitlines()
    start = next(index for index, line in enumerate(lines) if line.strip().startswith("devices"))
    assert lines[start].split() == ["devices", "10,", "the", "busiest", "of", "them"]
    assert [line.split(":")[0].strip() for line in lines[start + 1 : start + 9]] == list("94012356")
    assert "9: 3 requests up to 12.0 KiB, placed at 9.0 MiB, 33.3% writes, mean size 4.0 KiB" in lines[start + 1]
    assert "0: 1 request up to 4.0 KiB" in lines[start + 3]
    assert max(map(len, lines)) <= 140
    assert all(line == line.rstrip() for line in lines)
    info = fr.trace_info(command.folder / "a.ssdsim")
    assert [each["name"] for each in info.device_list] == list("0123456789")
    assert (info.device_list[9]["write_share"], info.device_list[9]["mean_bytes"]) == (1 / 3, 4096)
    (command.folder / "b.ssdsim").write_text("0 0 0 8 0\n")
    assert "1 write\n" in command("trace", "info", "b.ssdsim").stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["anonymise", SAMPLE, "-o", "a.csv", "--seed", str(2**64)], "--seed"),
        (["convert", SAMPLE, "-o", "a.csv", "--skip", str(2**64)], "--skip"),
        (["convert", SAMPLE, "-o", "a.csv", "--to-time", "1000000000000h"], "--to-time 1000000000000h: allowed is"),
        (["convert", SAMPLE, "-o", "a.csv", "--address", "0..99999999TiB"], "--address 99999999TiB: allowed is"),
        (["convert", SAMPLE, "-o", "a.csv", "--from-time", "5s", "--to-time", "3s"], "--from-time to --to-time in ns"),
        (["convert", SAMPLE, "-o", "a.csv", "--to", "nonsense"], "as 'nonsense'; expected flashraid or ssdsim or"),
        (["convert", SAMPLE, "-o", "hm_0.trace"], "the file name implies no format to write"),
        (["info", SAMPLE, "--page-bytes", "3000"], "page_bytes = 3000: allowed is a power of two"),
    ],
)
def test_numbers_and_names_that_are_refused(command, arguments, text):
    done = command("trace", *arguments, status=2)
    assert text in done.stderr
    assert "int too big" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_numbers_that_python_refuses(tmp_path):
    for key, value in (("from_ns", -1), ("limit", "3"), ("to_bytes", 2**64), ("skip", 1.5)):
        with pytest.raises(fr.InputError, match=f"{key} = .*: allowed is a whole number from 0 to"):
            fr.convert(SAMPLE, tmp_path / "a.csv", **{key: value})
    with pytest.raises(fr.InputError, match="seed = -1: allowed"):
        fr.anonymise(SAMPLE, tmp_path / "a.csv", seed=-1)
    with pytest.raises(fr.InputError, match=r"page_bytes = 1\.5: allowed"):
        fr.trace_info(SAMPLE, page_bytes=1.5)


def test_a_device_that_is_not_there_is_said(command):
    (command.folder / "a.ssdsim").write_text(SSDSIM)
    for arguments in (["info", "a.ssdsim"], ["convert", "a.ssdsim", "-o", "b.csv"]):
        done = command("trace", *arguments, "--device-filter", "7,8")
        assert "warning: --device-filter: the part of the trace that was read has no requests of 8" in done.stderr
        assert "--device-filter" not in command("trace", *arguments, "--device-filter", "7").stderr


def test_an_interrupt_while_a_pipe_is_silent(command):
    with subprocess.Popen(
        [str(COMMAND), "trace", "info", "/dev/stdin"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        time.sleep(2)
        run.send_signal(signal.SIGINT)
        assert run.wait(20) == 130
        assert b"Interrupted system call" not in run.stderr.read()
