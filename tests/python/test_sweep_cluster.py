"""Sweeps on clusters of real processes: workers die, the scheduler is restarted, traces are sent, memory is short."""

import gc
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import PROVE, write_trace
from distributed import Client
from sweep_cases import results

import flashraid as fr
from flashraid.sweeping import dataset, on_dask

DASK = [sys.executable, "-m"]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Cluster:
    """A scheduler and workers, each a process that can be killed."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes = []
        self.scheduler = None

    def start(self, name, *arguments, **environment):
        line = [sys.executable, "-m", f"distributed.cli.dask_{name}", *map(str, arguments)]
        log = open(self.folder / f"{name}-{len(self.processes)}.log", "w")  # noqa: SIM115
        begun = subprocess.Popen(line, cwd=self.folder, env=os.environ | environment, stdout=log, stderr=log)
        self.processes.append(begun)
        return begun

    def start_scheduler(self):
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", self.port, "--no-dashboard")

    def start_worker(self, *arguments, **environment):
        fixed = [self.address, "--nthreads", 1, "--no-dashboard", "--no-nanny", "--local-directory", self.folder]
        return self.start("worker", *fixed, *arguments, **environment)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    made.start_scheduler()
    yield made
    made.stop()


@pytest.fixture
def trace(tmp_path):
    rows = [(at * 400, "R" if at % 3 else "W", at % 50 * 4096, 8192) for at in range(300)]
    return str(write_trace(tmp_path, rows))


def differences(frame, other):
    """The columns in which two frames differ."""
    one, two = results(frame), results(other)
    if different := set(one.columns) ^ set(two.columns):
        return different
    return {column for column in one.columns if one[column].to_list() != two[column].to_list()}


def plan(trace, depths=6, **fixed):
    fixed = {"trace": str(trace), "device": "tiny", "fill": 0.5, "fit": "wrap", **fixed}
    return {"fixed": fixed, "grid": {"scheme": ["raid0", "raid5"], "queue_depth": {"from": 1, "to": depths}}}


def in_background(work):
    """Calls it in a thread; returns what waits for its value."""
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def end():
        thread.join(120)
        assert found, "it does not end"
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    return end


def wait_for(what, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.02)
    return found


def test_a_cluster_makes_the_rows_of_this_process_and_gets_the_traces(cluster, trace, tmp_path):
    """One worker finds the trace at its path, another one has to be sent it; prepared devices are shared by runs."""
    cluster.start_worker()
    elsewhere = tmp_path / "elsewhere"
    cluster.start_worker(
        "--preload", Path(__file__).with_name("without_shared_paths.py"), FLASHRAID_CACHE=str(elsewhere)
    )
    frame = fr.sweep(plan(trace), scheduler=cluster.address).to_frame()
    assert not differences(frame, fr.sweep(plan(trace), jobs=1).to_frame())
    assert frame["provenance.worker"].n_unique() == 2
    sent = [path for path in elsewhere.glob("traces/*/*")]
    assert [path.read_bytes() for path in sent] == [Path(trace).read_bytes()]
    assert sent[0].parent.name == frame["workload.sha256"][0]


def test_a_killed_worker_costs_what_it_had_in_flight(cluster, tmp_path, long_trace):
    first, second = cluster.start_worker(), cluster.start_worker()
    out, said = tmp_path / "dataset", plan(long_trace, 3, limit=80_000)
    end = in_background(lambda: fr.sweep(said, out=out, scheduler=cluster.address))
    wait_for(lambda: list(dataset.journal(out)))
    first.kill()
    frame = end().to_frame()
    assert frame["status"].to_list() == ["done"] * 6
    assert second.poll() is None
    assert dataset.read(out).height == 6
    assert not differences(frame, fr.sweep(said, jobs=2).to_frame())


def test_a_restarted_scheduler_goes_on_with_what_is_left(cluster, tmp_path, long_trace):
    worker = cluster.start_worker()
    out, said = tmp_path / "dataset", plan(long_trace, 3, limit=80_000)
    seen = []
    end = in_background(lambda: fr.sweep(said, out=out, scheduler=cluster.address, progress=seen.append))
    kept = wait_for(lambda: list(dataset.journal(out)))
    cluster.scheduler.kill()
    worker.kill()
    wait_for(lambda: seen[-1].waits_for)
    cluster.start_scheduler()
    wait_for(lambda: seen[-1].waits_for == "workers")
    cluster.start_worker()
    frame = end().to_frame()
    assert frame["status"].to_list() == ["done"] * 6
    rows = {row["run"]: row for row in frame.to_dicts()}
    assert all(rows[row["run"]]["provenance.ended"] == row["provenance.ended"] for row in kept)
    assert {each.waits_for for each in seen} == {"", "the scheduler", "workers"}
    assert not differences(frame, fr.sweep(said, jobs=2).to_frame())


def test_no_worker_starts_a_run_that_does_not_fit(cluster, trace, tmp_path):
    out = tmp_path / "dataset"
    said = {"fixed": {"trace": trace, "scheme": "raid0", "fit": "wrap"}, "grid": {"device": ["tiny", "ssd1"]}}
    # Also if it begins before there is a worker.
    seen = []
    end = in_background(lambda: fr.sweep(said, out=out, scheduler=cluster.address, progress=seen.append))
    wait_for(lambda: seen and seen[-1].waits_for == "workers")
    cluster.start_worker("--memory-limit", "150MB")
    frame = end().to_frame()
    assert frame["status"].to_list() == ["done", "failed"]
    assert "MiB of memory; the largest worker has 143" in frame["reason"][1]
    # With more memory it is done; what was done is not done again.
    cluster.start_worker("--memory-limit", "2GB")
    wait_for(lambda: _workers(cluster) == 2)
    again = fr.sweep(said, out=out, scheduler=cluster.address).to_frame()
    assert again["status"].to_list() == ["done", "done"]
    assert again["provenance.ended"][0] == frame["provenance.ended"][0]
    assert dataset.read(out).height == 2


def test_a_run_whose_only_large_worker_has_gone_is_a_row(cluster, long_trace, monkeypatch):
    monkeypatch.setattr(on_dask, "PATIENCE_SECONDS", 2.0)
    cluster.start_worker("--memory-limit", "150MB")
    large = cluster.start_worker("--memory-limit", "2GB")
    wait_for(lambda: _workers(cluster) == 2)
    fixed = {"trace": str(long_trace), "scheme": "raid0", "fit": "wrap"}
    said = {"fixed": fixed, "list": [{"device": "ssd1"}, {"device": "tiny", "limit": 1000}]}
    seen = []
    end = in_background(lambda: fr.sweep(said, scheduler=cluster.address, progress=seen.append))
    wait_for(lambda: seen and seen[-1].done == 1)
    large.kill()
    found = end()
    assert found.to_frame()["status"].to_list() == ["failed", "done"]
    assert "MiB of memory; the largest worker has 143" in found.failed["reason"][0]


def test_a_run_that_kills_its_workers_is_a_row(cluster, trace, tmp_path):
    """As one for which the system has no memory: each worker that begins it is killed."""
    preload = tmp_path / "deadly.py"
    preload.write_text(
        "import os\nfrom flashraid.sweeping import on_dask\n"
        "def do(job, *rest, done=on_dask.do):\n"
        "    if '\"queue_depth\": 2' in job.config:\n        os.kill(os.getpid(), 9)\n    return done(job, *rest)\n"
        "on_dask.do = do\n"
    )
    for _ in range(6):
        cluster.start_worker("--preload", preload)
    wait_for(lambda: _workers(cluster) == 6)
    fixed = {"trace": trace, "device": "tiny", "scheme": "raid0", "fit": "wrap"}
    said = {"fixed": fixed, "grid": {"queue_depth": [1, 2, 3]}}
    found = fr.sweep(said, scheduler=cluster.address)
    assert found.to_frame()["status"].to_list() == ["done", "failed", "done"]
    assert "workers died" in found.failed["reason"][0]


def _workers(cluster):
    with Client(cluster.address) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])


def test_workers_of_another_version_are_refused(cluster, trace, tmp_path):
    preload = tmp_path / "older.py"
    preload.write_text("from flashraid import _native\n_native.__version__ = '0.0.1'\n")
    cluster.start_worker("--preload", preload)
    with pytest.raises(fr.InputError, match=r"has flashraid 0\.0\.1: allowed is "):
        fr.sweep(plan(trace, 1), scheduler=cluster.address)


@pytest.mark.parametrize(
    ("address", "text"), [("tcp://127.0.0.1:1", "no answer for"), ("ftp://x:1", "scheduler ftp://x:1: ")]
)
def test_a_scheduler_that_is_not_there_is_an_error(trace, monkeypatch, address, text):
    monkeypatch.setattr(on_dask, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(on_dask, "CONNECT_SECONDS", 0.5)
    with pytest.raises(fr.InputError, match=text):
        fr.sweep(plan(trace, 1), scheduler=address)
    # Nothing is left that the garbage collector would close, perhaps in a thread that cannot.
    left = [each for each in gc.get_objects() if isinstance(each, Client)]
    assert all(each.status in ("closed", "newly-created") for each in left)


def test_what_is_stopped_stops_on_the_workers_too(cluster, tmp_path, long_trace):
    cluster.start_worker()
    # Recovery that is checked again and again takes minutes.
    fixed = {"trace": str(long_trace), "device": "ssd1", "scheme": "raid5", "fit": "wrap"}
    said = {"fixed": {**fixed, "verify": True, "verify_every": 10}}
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fr.sweep(said, scheduler=cluster.address, progress=lambda status: time.monotonic() - begun < 3)
    short = plan(write_trace(tmp_path, [(0, "W", 0, 4096)], "short.csv"), 1)
    # The only thread is free again long before the run would have ended.
    begun = time.monotonic()
    assert fr.sweep(short, scheduler=cluster.address).status == 0
    if not PROVE:
        assert time.monotonic() - begun < 20
