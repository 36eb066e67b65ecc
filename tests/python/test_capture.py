"""`flashraid trace capture`: the kernel's text turned into rows, bad use, and real captures where they can be made."""

import fcntl
import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from conftest import COMMAND, HEADER, ROOT

import flashraid.capture as recording
import flashraid.command
from flashraid import InputError
from flashraid.capture import conversion, kernel

EVENTS = """\
# tracer: nop
          mkfs-100     [000] ..... 10.000000: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [mkfs]
         swapp-0       [001] ..s.. 10.000040: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
         swapp-0       [001] ..s.. 10.000041: block_rq_complete: 7,0 WS () 0 + 0 be,0,4 [0]
 kworker/0:1H-44       [000] ..... 10.000100: block_rq_issue: 7,0 DS 4096 () 0 + 8388608 be,0,4 [kworker/0:1H]
         swapp-0       [001] ..s.. 10.000110: block_rq_complete: 7,0 DS () 0 + 8388608 be,0,4 [0]
 a [b]: 1.5: c-7       [000] ..... 10.000200: block_rq_issue: 7,0 NS 65536 () 128 + 128 be,0,4 [a [b]: 1.5: c]
         swapp-0       [001] ..s.. 10.000230: block_rq_complete: 7,0 NS () 128 + 128 be,0,4 [0]
        sqlite-8       [000] ..... 10.000300: block_rq_issue: 7,0 WS 4096 () 800 + 8 [sqlite]
        sqlite-8       [000] ..... 10.000301: block_rq_issue: 7,0 WS 4096 () 800 + 8 [sqlite]
        sqlite-8       [000] ..... 10.000320: block_rq_issue: 7,0 RASM 8192 () 16 + 16 be,0,4 [sqlite]
         swapp-0       [001] ..s.. 10.000330: block_rq_complete: 7,0 RASM () 16 + 16 be,0,4 [-5]
         swapp-0       [001] ..s.. 10.000350: block_rq_complete: 7,0 WS () 800 + 8 [0]
        sqlite-8       [000] ..... 10.000360: block_rq_issue: 7,0 FWFSM 4096 () 900 + 8 be,0,4 [sqlite]
         swapp-0       [001] ..s.. 10.000390: block_rq_complete: 7,0 WS () 800 + 8 [0]
CPU:1 [LOST 17 EVENTS]
         swapp-0       [001] ..s.. 10.000400: block_rq_complete: 7,0 W () 5000 + 8 be,0,4 [0]
        sqlite-8       [000] ..... 10.000400: block_rq_issue: 7,0 WSU 4096 () 904 + 8 be,0,4 [sqlite]
        sqlite-8       [001] ..... 10.000395: block_rq_issue: 7,0 R 512 (28 00 00 01) 1 + 1 be,0,4 [sqlite]
        sqlite-8       [000] ..... 10.000410: block_rq_issue: 7,0 ZR 0 () 0 + 0 be,0,4 [sqlite]
        sqlite-8       [000] ..... 10.000411: block_rq_issue: 7,0 N 0 (12 00) 0 + 0 be,0,4 [sqlite]
        sqlite-8       [000] ..... 10.000420: block_rq_issue: 7,0 DES 4096 () 912 + 8 be,0,4 [sqlite]
         swapp-0       [001] ..s.. 10.000430: block_rq_complete: 7,0 FWFSM () 900 + 8 be,0,4 [0]
         swapp-0       [001] ..s.. 10.000440: block_rq_complete: 7,0 R () 1 + 1 be,0,4 [0]
         swapp-0       [001] ..s.. 10.000450: block_rq_complete: 7,0 DES () 912 + 8 be,0,4 [0]
        sqlite-8       [000] ..... 10.000460: block_rq_insert: 7,0 R 512 () 1 + 1 be,0,4 [sqlite]

"""

# Issue minus 10 s; two equal writes complete in their order; the write of 904 is never seen to complete.
ROWS = """\
0,F,0,0,,40
100,D,0,4294967296,S,10
200,Z,65536,65536,S,30
300,W,409600,4096,S,50
301,W,409600,4096,S,89
320,R,8192,8192,ASM,10
360,W,460800,4096,PUSM,70
395,R,512,512,,45
400,W,462848,4096,S,
420,D,466944,4096,S,30
"""


def converted(text):
    output = io.StringIO()
    counts = conversion.convert(io.StringIO(text), output)
    assert output.getvalue().startswith(HEADER)
    return output.getvalue().removeprefix(HEADER), counts


def test_rows_of_every_kind():
    rows, counts = converted(EVENTS)
    assert rows == ROWS
    assert counts.requests == {"F": 1, "D": 2, "Z": 1, "W": 4, "R": 2}
    assert counts.span_us == 420
    assert (counts.without_completion, counts.without_issue, counts.failed) == (1, 1, 1)
    assert (counts.skipped, counts.lost_events, counts.other_lines) == (2, 17, 1)


def test_nothing_to_convert():
    rows, counts = converted("")
    assert rows == ""
    assert counts == conversion.Counts()


def test_garbage_is_counted_and_ends_nothing():
    whole, cut_short = EVENTS[: EVENTS.index("()")] + "() 0 + 0 none,0,0 [mkfs]\n", EVENTS[: EVENTS.index("()")]
    rows, counts = converted("\x00\x07garbage\nblock_rq_issue: 7,0\n" + whole + cut_short)
    assert rows == "0,F,0,0,,\n"
    assert counts.other_lines == 3


def test_a_request_without_completion_holds_no_memory(monkeypatch):
    monkeypatch.setattr(conversion, "WINDOW", 10)
    issue = "x-1 [000] ..... {}.000000: block_rq_issue: 7,0 W 4096 () {} + 8 be,0,4 [x]\n"
    complete = "x-1 [000] ..... {}.000005: block_rq_complete: 7,0 W () {} + 8 be,0,4 [0]\n"
    longest = 0

    class Output(io.StringIO):
        def write(self, text):
            nonlocal longest
            longest = max(longest, reading - self.getvalue().count("\n"))
            return super().write(text)

    def lines():
        nonlocal reading
        yield issue.format(1, 0)
        for reading in range(2, 1000):
            yield issue.format(reading, 8 * reading)
            yield complete.format(reading, 8 * reading)

    reading, output = 0, Output()
    counts = conversion.convert(lines(), output)
    assert counts.requests.total() == 999
    assert counts.without_completion == 1
    assert longest <= 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dir", "w", "-o", "trace.txt", "--", "true"], "trace.txt: allowed is a name that ends in .csv or .csv.gz"),
        (["--dir", "w", "-o", "trace.csv.xz", "--", "true"], "allowed is a name that ends in .csv or .csv.gz"),
        (["--dir", "w", "-o", ".csv", "--", "true"], "allowed is a name that ends in .csv or .csv.gz"),
        (["--dir", "w", "-o", "old.csv", "--", "true"], "old.csv: exists already; allowed is a new name"),
        (["--dir", "w", "-o", "text.csv.gz", "--", "true"], "text.tracefs.txt.gz: exists already"),
        (["--dir", "w", "-o", "no/trace.csv", "--", "true"], "no: no such directory, or it is not writable"),
        (["--dir", "w", "-o", "trace.csv", "--", "./nosuch"], "./nosuch: no such command"),
        (["--dir", "w", "-o", "trace.csv"], "missing argument '-- COMMAND'"),
        (["--dir", "w", "-o", "trace.csv", "--"], "missing argument '-- COMMAND'"),
        (["-o", "trace.csv", "--", "true"], "missing option '--dir'"),
        (["--dir", "old.csv", "-o", "trace.csv", "--", "true"], "--dir old.csv: not a directory"),
        (["--dir", ".", "-o", "trace.csv", "--", "true"], "--dir .: not empty; allowed is an empty or a new directory"),
        (["--dir", "w", "-o", "trace.csv", "--size", "15MiB", "--", "true"], "at least 16MiB"),
        (["--dir", "w", "-o", "trace.csv", "--size", "20000001", "--", "true"], "multiples of 4096 bytes"),
        (["--dir", "w", "-o", "trace.csv", "--size", "big", "--", "true"], "--size big: allowed is"),
    ],
)
def test_bad_use_is_refused_in_one_line(command, arguments, words):
    for name in ("old.csv", "text.tracefs.txt.gz"):
        (command.folder / name).touch()
    done = command("trace", "capture", *arguments, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert sorted(os.listdir(command.folder)) == ["old.csv", "text.tracefs.txt.gz"]


def test_a_machine_that_lacks_something_is_refused(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(InputError, match="run it as root"):
        kernel.check_machine()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "exists", lambda path: path != "/dev/loop-control")
        with pytest.raises(InputError, match="no loop devices"):
            kernel.check_machine()
    monkeypatch.setattr(os.path, "exists", lambda path: True)
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "isdir", lambda path: False)
        with pytest.raises(InputError, match="no tracefs"):
            kernel.check_machine()
    monkeypatch.setattr(os.path, "isdir", lambda path: True)
    monkeypatch.setattr(kernel.shutil, "which", lambda tool, path: None if tool == "mkfs.ext4" else tool)
    with pytest.raises(InputError, match=r"mkfs.ext4 is missing: install the package e2fsprogs"):
        kernel.check_machine()


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({}, 0, ""),
        ({"status": 7}, 2, "error: job: ended with status 7; the trace is kept\n"),
        ({"status": -9}, 2, "error: job: ended with signal SIGKILL; the trace is kept\n"),
        ({"lost": 1234}, 2, "error: t.csv: incomplete: the kernel lost 1,234 events\n"),
        ({"left": True}, 0, "warning: processes of the command still use its file system"),
        ({"counts": conversion.Counts(failed=5)}, 0, "warning: requests that failed on this machine: 5\n"),
    ],
)
def test_what_the_command_says_of_a_capture(monkeypatch, capsys, changes, status, words):
    facts = {"status": 0, "counts": conversion.Counts(), "lost": 0, "left": False} | changes
    captured = recording.Capture(Path("t.csv"), Path("t.tracefs.txt"), **facts)
    monkeypatch.setattr(recording, "capture", lambda *arguments, **options: captured)
    line = ["trace", "capture", "--dir", "w", "-o", "t.csv", "--", "job"]
    assert flashraid.command.run(line) == status
    printed = capsys.readouterr()
    assert printed.out.startswith("t.csv: 0 requests in 0.0 s")
    assert printed.err.startswith(words)
    assert printed.err.count("\n") == bool(words)


@pytest.mark.parametrize("program", ["pgbench", "postmark", "sqlite"])
def test_excerpts_are_as_their_description_says(program):
    path = ROOT / f"samples/{program}-transactions.csv.gz"
    readme = (ROOT / "samples/README.md").read_text()
    assert f"`{hashlib.sha256(path.read_bytes()).hexdigest()}` | `{path.name}`" in readme
    requests, seconds, *kinds = next(line for line in readme.splitlines() if f"| `{path.name}` |" in line).split(" | ")[
        2:
    ]
    rows = [line.split(",") for line in unpacked(path).splitlines()[1:]]
    assert requests == f"{len(rows):,}"
    assert seconds == f"{int(rows[-1][0]) / 1e6:.1f}"
    assert rows[0][0] == "0"
    for op, kind in zip("RWFD", kinds, strict=True):
        sizes = [int(row[3]) for row in rows if row[1] == op]
        described = kind.removesuffix(" |")
        assert described in (f"{len(sizes):,}", f"{len(sizes):,} ({sum(sizes):,} bytes)")


# Real captures.


def missing():
    """Why this machine cannot capture, or nothing."""
    if sys.platform != "linux":
        return "captures need Linux"
    try:
        kernel.check_machine()
        with kernel.tracefs() as tracing:
            return "" if (tracing / "events/block/block_rq_issue").is_dir() else "the kernel has no block tracepoints"
    except InputError as error:
        return str(error)


needs_kernel = pytest.mark.skipif(bool(MISSING := missing()), reason=MISSING)

WORK = """
import os
assert os.getcwd() == os.environ["CAPTURE_DIR"]
for i in range(50):
    with open("data", "ab") as file:
        file.write(os.urandom(5000))
        os.fsync(file.fileno())
os.remove("data")
open("other", "wb").write(bytes(1 << 20))
"""


@pytest.fixture
def capture(tmp_path):
    """Runs a capture on a small device in an empty folder; afterwards the machine must be as it was before."""
    with open(Path(tempfile.gettempdir()) / "flashraid-test-captures.lock", "w") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX)  # tests in other processes look at the same machine
        yield from captures(tmp_path)


def captures(tmp_path):
    before = state(tmp_path)
    line = [str(COMMAND), "trace", "capture", "--dir", "work", "--size", "64MiB"]

    def run(*arguments, status=0):
        done = subprocess.run(
            [*line, *arguments], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == status, done.stderr
        return done

    run.folder, run.line = tmp_path, line
    yield run
    assert state(tmp_path) == before
    assert not (tmp_path / "work").exists()


def state(folder):
    """Mounts below a folder, loop devices of its files (which the kernel may free a moment late), tracefs instances."""
    for _ in range(50):
        loops = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
        loops = [path for path in loops if path.startswith(str(folder))]
        if not loops:
            break
        time.sleep(0.1)
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(folder) in line]
    with kernel.tracefs() as tracing:
        return loops, mounts, sorted(os.listdir(tracing / "instances"))


def unpacked(path):
    return gzip.decompress(path.read_bytes()).decode()


@needs_kernel
def test_a_real_capture_replays(capture):
    done = capture("--evict", "-o", "trace.csv.gz", "--", sys.executable, "-c", WORK)
    assert done.stderr == ""
    assert sorted(os.listdir(capture.folder)) == ["trace.csv.gz", "trace.tracefs.txt.gz"]
    rows = [line.split(",") for line in unpacked(capture.folder / "trace.csv.gz").splitlines()[1:]]
    assert f"{len(rows):,} requests" in done.stdout
    written = sum(int(size) for _, op, _, size, _, _ in rows if op == "W")
    assert sum(op == "F" for _, op, *_ in rows) >= 50  # one of each fsync at least
    assert written >= 50 * 8192 + (1 << 20)
    assert all(int(offset) + int(size) <= 64 << 20 for _, _, offset, size, _, _ in rows)
    assert [int(row[0]) for row in rows] == sorted(int(row[0]) for row in rows)
    assert all(row[5] for row in rows)
    assert unpacked(capture.folder / "trace.tracefs.txt.gz").count("block_rq_issue") == len(rows)

    run = [str(COMMAND), "run", "trace.csv.gz", "--device", "ssd1", "--scheme", "raid5", "--verify", "--json"]
    result = json.loads(subprocess.run(run, cwd=capture.folder, capture_output=True, check=True).stdout)
    assert result["requests"]["completed"] == len(rows)
    assert result["verify"]["mismatches"] == 0
    assert result["workload"]["bytes_written"] == written


@needs_kernel
def test_the_command_may_fail_and_the_trace_is_kept(capture):
    done = capture("-o", "trace.csv", "--", "sh", "-c", "echo said; exit 3", status=2)
    assert done.stdout.startswith("said\ntrace.csv: ")
    assert done.stderr == "error: sh: ended with status 3; the trace is kept\n"
    assert sorted(os.listdir(capture.folder)) == ["trace.csv", "trace.tracefs.txt"]


@needs_kernel
def test_processes_that_stay_do_not_keep_the_device(capture, monkeypatch):
    monkeypatch.setattr(kernel, "UNMOUNT_SECONDS", 0.2)
    line = ["sh", "-c", "sleep 1 & touch file"]
    captured = recording.capture(
        capture.folder / "work", capture.folder / "trace.csv", line, size_bytes=64 << 20, evicting=False
    )
    assert captured.left
    assert (captured.status, captured.lost) == (0, 0)
    assert captured.counts.requests["W"] > 0


@needs_kernel
def test_the_command_gets_its_own_options(capture):
    assert capture("-o", "trace.csv", "--", "echo", "--json", "-o").stdout.startswith("--json -o\n")


@needs_kernel
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing(capture, number):
    # What the command has started, and what ignores the interrupt, ends with it.
    line = [*capture.line, "-o", "trace.csv", "--", "sh", "-c", "trap '' INT HUP; touch begun; sleep 50 & sleep 51"]
    process = subprocess.Popen(
        line, cwd=capture.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 30
    while not (capture.folder / "work/mnt/begun").exists():
        assert time.monotonic() < end
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(number)
    assert process.communicate(timeout=30) == ("", "interrupted: no trace was written\n")
    assert process.returncode == 130
    assert os.listdir(capture.folder) == []


@needs_kernel
def test_a_device_that_cannot_be_made_leaves_nothing(capture):
    done = capture("--size", "8000000TiB", "-o", "trace.csv", "--", "true", status=2)
    assert "no space for a device of 8796093022208000000 bytes" in done.stderr
    assert os.listdir(capture.folder) == []
