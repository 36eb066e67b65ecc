"""Recordings as people have them: each command reads them by their content, and by what the user says of them."""

import gzip
import json
import struct

import pytest
from conftest import ROOT

import flashraid as fr

SAMPLES = ROOT / "samples" / "formats"
ON_TINY = ("--device", "tiny", "--scheme", "raid5", "--fit", "compact", "--no-engine")
COLUMNS = "time:s,pid,comm,op,sector,sectors"

BIOSNOOP = """\
TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)
0.000004    supervise      1950   xvda1   W 13092560   4096       0.74
2.003931    xfsaild/md0    456    xvdb    W 62901513   512        0.25
2.004204    kworker/0:3    26040  xvdb    R 41950344   65536      0.34
"""
PERF = """\
kworker/4:1H    533 [004] 543348.164815:   block:block_rq_issue: 259,0 RM 4096 () 2564656 + 8 [kworker/4:1H]
          dd  25337 [001] 543348.165050:   block:block_rq_issue: 259,0 R 131072 () 3191272 + 256 [dd]
"""


def blktrace(cpu, first_ns):
    """Records of a processor: 50 writes of 4 KiB, each queued, issued and completed."""
    write = 1 << 17
    records = (
        struct.pack(
            "<IIQQIIIIIHH",
            0x65617407,
            3 * at + step,
            first_ns + 1000 * (20 * at + step),
            at * 8,
            4096,
            action | write,
            1,
            8 << 20,
            cpu,
            0,
            0,
        )
        for at in range(50)
        for step, action in enumerate((1, 7, 8))
    )
    return b"".join(records)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # Issued at 4 - 740, 2,003,681 and 2,003,864 us.
        (BIOSNOOP, ("biosnoop", 1, 2, 65536, 4608, [0, 2_004_417_000, 2_004_600_000])),
        (PERF, ("tracefs", 2, 0, 135_168, 0, [0, 235_000])),
    ],
    ids=["biosnoop", "perf script"],
)
def test_what_tools_print_is_read_by_what_it_is(command, content, expected):
    (command.folder / "recorded.txt").write_text(content)
    result = json.loads(command("run", "recorded.txt", *ON_TINY, "--json").stdout)["workload"]
    figures = (result["format"], result["reads"], result["writes"], result["bytes_read"], result["bytes_written"])
    times = fr.read_trace(command.folder / "recorded.txt")["arrival_ns"].to_list()
    assert (*figures, times) == expected
    assert json.loads(command("trace", "info", "recorded.txt", "--json").stdout)["format"] == expected[0]


def test_blktrace_of_all_processors(command):
    for cpu in (0, 1):
        (command.folder / f"sda.blktrace.{cpu}").write_bytes(blktrace(cpu, 10_000 * cpu))
    times = fr.read_trace(command.folder / "sda.blktrace.0")["arrival_ns"].to_list()
    assert times == [1000 + 10_000 * at for at in range(100)]
    done = command("run", "sda.blktrace.0", *ON_TINY, "--json")
    workload = json.loads(done.stdout)["workload"]
    assert (workload["format"], workload["writes"], workload["bytes_written"]) == ("blktrace", 100, 100 * 4096)
    assert "sda.blktrace.1 is merged with it by time" in " ".join(done.stderr.split())
    assert workload["sha256"] == fr.trace_info(command.folder / "sda.blktrace.1").sha256
    (command.folder / "sda.blktrace.0.gz").write_bytes(gzip.compress((command.folder / "sda.blktrace.0").read_bytes()))
    (command.folder / "sda.blktrace.0").unlink()
    packed = fr.trace_info(command.folder / "sda.blktrace.1")
    assert (packed.requests, packed.warnings) == (
        100,
        [
            "sda.blktrace.1 is one of several files of a recording, and sda.blktrace.0.gz is merged with it by time",
        ],
    )
    alone = command("run", "-", *ON_TINY, "--json", input=blktrace(0, 0))
    assert json.loads(alone.stdout)["workload"]["writes"] == 50


@pytest.mark.parametrize(
    "name", ["example.biosnoop.txt", "example.perf.txt", "example.blktrace.0", "example_lat.1.log"]
)
def test_conversion_to_iolog_and_back_changes_nothing_but_parts_of_microseconds(command, name):
    command("trace", "convert", SAMPLES / name, "-o", "a.iolog")
    command("trace", "convert", "a.iolog", "-o", "b.iolog")
    paths = (SAMPLES / name, command.folder / "a.iolog", command.folder / "b.iolog")
    recorded, once, twice = (fr.read_trace(path).drop("device") for path in paths)
    whole = recorded.with_columns(arrival_ns=recorded["arrival_ns"] // 1000 * 1000)
    assert whole.equals(once)
    assert once.equals(twice)


def test_columns_in_every_command(command):
    """The same requests in each command, and again from the result."""
    text = "".join(f"{at * 0.001:.6f}\t{'RW'[at % 2]}\t{at * 16}\t8\n" for at in range(60))
    (command.folder / "own.txt").write_text(text)
    reading = ("--columns", "time:s,op,sector,sectors")
    info = json.loads(command("trace", "info", "own.txt", *reading, "--json").stdout)
    assert (info["format"], info["requests"], info["time_unit"]) == ("columns", 60, "s")
    done = command("run", "own.txt", *ON_TINY, *reading, "--json", "first.json")
    said = " ".join(done.stderr.split())
    assert "assumed that tabs separate the columns" in said
    assert "assumed that a sector has 512 bytes" in said
    done = command("run", "own.txt", "--config", "first.json", "--no-engine", "--json", "second.json")
    assert (command.folder / "first.json").read_bytes() == (command.folder / "second.json").read_bytes()
    first = json.loads((command.folder / "first.json").read_text())
    assert (first["workload"]["bytes_read"], first["config"]["run"]["columns"]) == (
        30 * 4096,
        "time:s,op,sector,sectors",
    )
    in_python = fr.run(
        command.folder / "own.txt", device="tiny", scheme="raid5", fit="compact", columns=reading[1], sector_bytes=4096
    )
    assert in_python.workload.bytes_read == 30 * 32768
    compared = json.loads(
        command(
            "compare",
            "own.txt",
            "--device",
            "tiny",
            "--schemes",
            "raid0,raid5",
            *reading,
            "--separator",
            "tab",
            "--json",
        ).stdout
    )
    assert {result["workload"]["requests"] for result in compared["results"]} == {60}
    command("trace", "convert", "own.txt", *reading, "-o", "own.iolog")
    assert (
        fr.read_trace(command.folder / "own.iolog")
        .drop("device")
        .equals(fr.read_trace(command.folder / "own.txt", columns=reading[1]).drop("device"))
    )
    fixed = {"trace": str(command.folder / "own.txt"), "device": "tiny", "columns": reading[1]}
    tables = [
        "grid = { scheme = ['raid0', 'raid5'] }",
        "[fixed]",
        *(f"{key} = '{each}'" for key, each in fixed.items()),
    ]
    (command.folder / "plan.toml").write_text("\n".join(tables))
    assert fr.sweep(command.folder / "plan.toml", jobs=1).to_frame()["workload.requests"].to_list() == [60, 60]


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        (
            "example.columns.txt",
            ("--columns", "time:s,comm,op"),
            "time:s,op,sector,sectors,-: no column of addresses (offset, sector or lba)",
        ),
        (
            "example.columns.txt",
            ("--columns", "time:s,op,offset,size"),
            "the first line has fields: 6 by comma, 6 by blank; expected 4",
        ),
        (
            "example.columns.txt",
            ("--columns", COLUMNS, "--format", "msr"),
            "--columns is for texts of no format, and this is read as msr",
        ),
        ("example.iosnoop.txt", ("--action", "Q"), "no column of the time in the queue, which --action Q needs"),
        ("example.nvme.txt", ("--sector-bytes", "0"), "sector_bytes = 0: allowed is auto, or 1 to 1048576"),
        (
            "example.nvme.txt",
            ("--format", "tracefs"),
            "no request in the file, but 6 nvme_setup_cmd events (--format nvme)",
        ),
    ],
)
def test_refusals_are_one_line(command, name, arguments, text):
    for start in (("trace", "info"), ("run",)):
        more = ON_TINY if start == ("run",) else ()
        done = command(*start, SAMPLES / name, *more, *arguments, status=2)
        assert text in " ".join(done.stderr.split())
        assert done.stderr.count("\n") == 1


def test_binary_recordings_of_other_tools_are_named(command):
    (command.folder / "perf.data").write_bytes(b"PERFILE2" + bytes(200))
    (command.folder / "trace.dat").write_bytes(b"\x17\x08\x44tracing6\x00" + bytes(200))
    assert "expected the text of perf script" in command("trace", "info", "perf.data", status=2).stderr
    assert "expected the text of trace-cmd report" in command("trace", "info", "trace.dat", status=2).stderr
