"""Devices, traces and the installed command, for all tests of the package."""

import contextlib
import copy
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import flashraid as fr
from flashraid import _native
from flashraid.comparison import Comparison
from flashraid.result import Result

# What is started in the background ignores some signals (`nohup`, `&` in a script), and so would all that it starts.
# A handler is not inherited: the commands under test start as from a terminal. That of Ctrl-C is the usual one, as some
# tests interrupt themselves.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)

# Screens are as wide as tests say. The library that pytest loads to edit lines sets this where Python does not see it.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
SAMPLE = ROOT / "samples" / "pgbench-transactions.csv.gz"
COMMAND = Path(sys.executable).with_name("flashraid")
PROVE = os.environ.get("FLASHRAID_PROVE") == "1"
long = pytest.mark.skipif(not PROVE, reason="seconds: in make prove (FLASHRAID_PROVE=1)")
HEADER = "ts_us,op,offset,size,flags,latency_us\n"
PAGE = 4096
LONG_REQUESTS = 3_000_000
# Schemes over SSDs of an array alone, and every scheme of the registry.
OF_ARRAYS = [scheme["name"] for scheme in json.loads(_native.schemes(None)) if scheme["protects"] == "device"]
SCHEMES = [scheme["name"] for scheme in json.loads(_native.schemes(None))]

DEVICE = {
    "name": '"small"',
    "channels": 4,
    "chips_per_channel": 1,
    "dies_per_chip": 1,
    "planes_per_die": 1,
    "blocks_per_plane": 32,
    "pages_per_block": 16,
    "page_bytes": PAGE,
    "read_ns": 20_000,
    "program_ns": 200_000,
    "erase_ns": 1_500_000,
    "bus_ps_per_byte": 25_000,
    "read_command_ns": 175,
    "program_command_ns": 175,
    "erase_command_ns": 125,
    "over_provisioning": 0.15,
}


def some_of(every, first, of):
    """All for a proof; else one in `of`, from the `first` on. Tests that look at the same list begin elsewhere."""
    return list(every) if PROVE else list(every)[first::of]


def golden_results():
    """Settings and result of each golden case, by its name."""
    with gzip.open(GOLDEN / "results.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {case["case"]: (case["settings"], case["result"]) for case in map(json.loads, lines)}


def write_device(folder, **changes):
    """A device file: 4 channels of 512 pages, with changes."""
    settings = DEVICE | changes
    path = folder / f"device-{abs(hash(tuple(settings.items())))}.toml"
    path.write_text("[device]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()))
    return path


def write_trace(folder, rows, name="trace.csv", end="\n"):
    """A trace in our own format of rows (ts_us, op, offset, size)."""
    path = folder / name
    path.write_text(HEADER + "\n".join(f"{ts},{op},{offset},{size},," for ts, op, offset, size in rows) + end)
    return path


def writes(count, gap_us=1000):
    return [(i * gap_us, "W", i * PAGE, PAGE) for i in range(count)]


@pytest.fixture
def device(tmp_path):
    return write_device(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Tests neither find what was measured before nor leave anything in the user's cache."""
    os.environ["FLASHRAID_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def long_trace(tmp_path_factory):
    """A trace that is still being replayed after a second; for interruptions."""
    path = tmp_path_factory.mktemp("long") / "long.csv"
    fr.synth(path, requests=LONG_REQUESTS, space_bytes=1 << 30, interval_ns=400_000)
    return path


def fill(pipe, data):
    """Writes to a pipe until nobody reads any more, and closes it."""
    with contextlib.suppress(BrokenPipeError), open(pipe, "wb") as file:
        file.write(data)


@pytest.fixture(scope="session")
def preloaded(own_cache):
    """Calls the command in a folder without loading it anew (preloaded.py)."""
    ours, theirs = socket.socketpair()
    line = [sys.executable, Path(__file__).with_name("preloaded.py"), str(theirs.fileno())]
    server = subprocess.Popen(line, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()
    ours.settimeout(120)

    def call(arguments, folder, input=b""):
        reading, writing = os.pipe()
        threading.Thread(target=fill, args=[writing, input.encode() if isinstance(input, str) else input]).start()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(reading) as pipe:
            message = {"arguments": arguments, "folder": str(folder), "environment": dict(os.environ)}
            socket.send_fds(ours, [json.dumps(message).encode()], [pipe.fileno(), out.fileno(), errors.fileno()])
            status = json.loads(ours.recv(64))
            texts = [file.seek(0) or file.read().decode() for file in (out, errors)]
        return subprocess.CompletedProcess(["flashraid", *arguments], status, *texts)

    yield call
    ours.close()
    server.wait()


@pytest.fixture
def command(tmp_path, preloaded):
    """Runs the command in an empty folder, with a pipe as its standard input that brings `input`.

    With other options of `subprocess.run` it is the installed command that runs, started anew.
    """
    folder = tmp_path / "here"
    folder.mkdir()

    def run(*arguments, status=0, input=b"", **options):
        arguments = list(map(str, arguments))
        if options:
            line = [str(COMMAND), *arguments]
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120, **options)
        else:
            done = preloaded(arguments, folder, input)
        assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done

    run.folder = folder
    return run


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    rows = [(at * 2000, "R" if at % 2 else "W", at * 4096, 4096) for at in range(40)]
    trace = write_trace(tmp_path_factory.mktemp("base"), rows)
    data = fr.run(trace, device="tiny", scheme="raid5", fill=0.5, engine=False).to_dict()
    for kind in ("read", "write"):
        data["latency_ns"][kind]["count"] = 100_000  # enough for each quantile
    data["config"]["run"]["jitter_ns"] = 1000
    data["workload"]["requests"] = 200_000
    data["flash_ops"]["programs"]["total"] = 200_000
    return data


@pytest.fixture
def compared(base):
    """A comparison of results that differ from a real one in what is given of each, by path. Without seeds each was
    repeated twice, with the same figures.
    """

    def make(*changes, repeats=2, **keywords):
        results = []
        for each in changes:
            data = copy.deepcopy(base)
            for path, value in each.items():
                *above, last = path.split(".")
                at = data
                for name in above:
                    at = at.setdefault(name, {})
                at[last] = value
            results.append(Result(json.dumps(data), None, [], 0, {}))
        again = [] if "seeds" in keywords else [[each] * repeats for each in results if repeats]
        if "capacity" in keywords:
            keywords["capacity"] = [rate | {"repeats": [rate] * 2} for rate in keywords["capacity"]]
        return Comparison(results, repeats=again, **keywords)

    return make
