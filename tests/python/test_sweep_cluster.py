"""Sweeps on clusters of real processes: workers die, the scheduler is restarted, traces are sent, memory is short, and
others who have no flashraid use the same cluster.
"""

import contextlib
import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future
from pathlib import Path

import pytest
from conftest import COMMAND, PROVE, long, write_trace
from distributed import Client
from sweep_cases import results, write_plan

import flashraid as fr
from flashraid.sweeping import dataset, elsewhere, on_dask
from flashraid.sweeping.where import Where

# Otherwise Dask's pages are open to the network.
PRIVATE = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]


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

    def start_scheduler(self, **environment):
        arguments = ["--host", "127.0.0.1", "--port", self.port, *PRIVATE]
        self.scheduler = self.start("scheduler", *arguments, **environment)

    def start_worker(self, *arguments, **environment):
        fixed = [self.address, "--nthreads", 1, "--host", "127.0.0.1", *PRIVATE, "--no-nanny"]
        fixed += ["--local-directory", self.folder]
        return self.start("worker", *fixed, *arguments, **environment)

    def foreign(self):
        """The environment of a process that has no flashraid."""
        (self.folder / "sitecustomize.py").write_text(
            "import sys\n"
            "class Hidden:\n"
            "    def find_spec(self, name, *_):\n"
            "        if name.partition('.')[0] == 'flashraid':\n"
            "            raise ModuleNotFoundError(\"No module named 'flashraid'\", name=name)\n"
            "sys.meta_path.insert(0, Hidden())\n"
        )
        return {"PYTHONPATH": str(self.folder)}

    def stop(self):
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
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


@long
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


@long
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


@long
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


@long
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


@long
def test_a_run_that_kills_its_workers_is_a_row(cluster, trace, tmp_path):
    """As one for which the system has no memory: each worker that begins it is killed."""
    preload = tmp_path / "deadly.py"
    preload.write_text(
        "import os\nfrom flashraid.sweeping import elsewhere\n"
        "def do(job, *rest, done=elsewhere.done_or_failed):\n"
        "    if '\"queue_depth\": 2' in job.config:\n        os.kill(os.getpid(), 9)\n    return done(job, *rest)\n"
        "elsewhere.done_or_failed = do\n"
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


def test_a_scheduler_that_stays_away_is_an_error(monkeypatch):
    """It answered once, and never again."""
    answers = iter([None])

    class Link:
        def __init__(self, *_):
            pass

        def __enter__(self):
            if next(answers, "none") is not None:
                raise OSError("connection refused")
            return self

        def __exit__(self, *_):
            pass

    def lose(*_):
        raise on_dask.Lost

    monkeypatch.setattr(on_dask, "_Link", Link)
    monkeypatch.setattr(on_dask, "_do_with", lose)
    monkeypatch.setattr(on_dask, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(on_dask, "STEP_SECONDS", 0.02)
    deadline = time.monotonic() + 10

    def go_on(_):
        assert time.monotonic() < deadline
        return True

    sweep = on_dask._Sweep(deque([None]), lambda _: None, go_on)
    with pytest.raises(fr.InputError, match="no answer for 0 s"):
        on_dask._do_all(Where("tcp://gone:1"), sweep)


def test_a_worker_whose_memory_another_sweep_took_back_is_equipped_again():
    asked = []

    class Link:
        client = None

        def begin(self, call):
            asked.append(call.args)
            return Future()

    cluster = on_dask._Cluster(Link())
    cluster._bytes = {"kept": 1, "lost": 1, "gone": 1}
    cluster._meet({each: {"resources": has} for each, has in (("kept", {on_dask.MEMORY: 1}), ("lost", {}))})
    assert asked == [("lost",)]
    assert set(cluster._bytes) == {"kept", "lost"}


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


# ---- a cluster that others use too ----


@long
def test_a_cluster_of_others_is_left_as_it_was_found(tmp_path, trace):
    """Neither its scheduler nor its first worker has flashraid; both live on, and so does one that joins afterwards."""
    cluster = Cluster(tmp_path)
    try:
        cluster.start_scheduler(**cluster.foreign())
        foreign = cluster.start_worker(**cluster.foreign())
        wait_for(lambda: _workers(cluster) == 1)
        began = time.monotonic()
        with pytest.raises(
            fr.InputError, match=r"worker tcp://\S+ has no flashraid \(No module named .*\): allowed is "
        ):
            fr.sweep(plan(trace, 1), scheduler=cluster.address)
        assert PROVE or time.monotonic() - began < 10
        cluster.start_worker()
        wait_for(lambda: _workers(cluster) == 2)
        seen = []
        found = fr.sweep(plan(trace, 3), scheduler=cluster.address, progress=seen.append)
        assert found.status == 0
        assert found.to_frame()["provenance.worker"].n_unique() == 1
        assert {each.workers for each in seen} == {0, 1}
        notes = {note for each in seen for note in each.notes}
        assert [("has no flashraid" in note, note.endswith("it gets no run")) for note in notes] == [(True, True)]
        new = cluster.start_worker(**cluster.foreign())
        wait_for(lambda: _workers(cluster) == 3)
        assert _traces(cluster) == []
        with Client(cluster.address) as client:
            workers = list(client.scheduler_info(n_workers=-1)["workers"])
            done = [client.submit(lambda: 41 + 1, workers=[each], pure=False) for each in workers]
            assert client.gather(done) == [42, 42, 42]
        assert (foreign.poll(), new.poll()) == (None, None)
    finally:
        cluster.stop()


def _traces(cluster):
    """What a sweep has left on the scheduler: plugins, resources of workers, tasks."""
    with Client(cluster.address) as client:
        return client.run_on_scheduler(
            lambda dask_scheduler: [
                *(name for name in dask_scheduler.plugins if "flashraid" in name),
                *(name for name, plugin in dask_scheduler.worker_plugins.items() if b"flashraid" in plugin),
                *dask_scheduler.resources,
                *(f"{each.address}: {name}" for each in dask_scheduler.workers.values() for name in each.resources),
                *map(str, dask_scheduler.tasks),
            ]
        )


@long
def test_an_interrupt_ends_the_command_within_seconds_whatever_it_waits_for(cluster, tmp_path, long_trace):
    path = write_plan(tmp_path, long_trace, "fit = 'wrap'")

    def interrupt(before=lambda: None):
        """Begins, waits until it is at work, and interrupts."""
        line = [COMMAND, "sweep", path, "--scheduler", cluster.address, "--quiet"]
        begun = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: _clients(begun.pid, cluster.port))
        time.sleep(0.5)
        before()
        began = time.monotonic()
        begun.send_signal(signal.SIGTERM)
        _, said = begun.communicate(timeout=60)
        assert time.monotonic() - began < 5
        assert begun.returncode == 130
        assert said.endswith(kept)  # also if it was ended by force
        return said

    kept = "interrupted: what was finished is kept; the same command goes on\n"
    assert interrupt() == kept, "without a worker"
    worker = cluster.start_worker()
    wait_for(lambda: _workers(cluster) == 1)
    assert interrupt() == kept, "in a run"
    wait_for(lambda: _traces(cluster) == [])
    worker.send_signal(signal.SIGSTOP)
    assert interrupt() == kept, "for the answer of a worker"
    worker.send_signal(signal.SIGCONT)
    interrupt(lambda: cluster.scheduler.send_signal(signal.SIGSTOP))
    cluster.scheduler.send_signal(signal.SIGCONT)


# ---- certificates ----


def _certificates(folder):
    """A certificate of an authority, and one that it has signed, with its key."""

    def openssl(*arguments):
        line = ["openssl", *map(str, arguments)]
        subprocess.run(line, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)

    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(*new, "-x509", "-days", 2, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", "/CN=node", "-keyout", "node.key", "-out", "node.csr")
    openssl(
        *("x509", "-req", "-days", 2, "-in", "node.csr", "-CA", "ca.pem", "-CAkey", "ca.key"),
        *("-CAcreateserial", "-out", "node.pem"),
    )
    return {"tls_ca": folder / "ca.pem", "tls_cert": folder / "node.pem", "tls_key": folder / "node.key"}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed: no certificates can be made")
def test_a_cluster_with_certificates(tmp_path, trace, monkeypatch, command):
    files = _certificates(tmp_path)
    cluster = Cluster(tmp_path)
    cluster.address = cluster.address.replace("tcp://", "tls://")
    of_dask = ["--tls-ca-file", files["tls_ca"], "--tls-cert", files["tls_cert"], "--tls-key", files["tls_key"]]
    try:
        own = ["--host", "127.0.0.1", "--port", cluster.port, "--protocol", "tls"]
        cluster.start("scheduler", *own, *PRIVATE, *of_dask)
        cluster.start_worker(*of_dask)
        assert not differences(
            fr.sweep(plan(trace, 1), scheduler=cluster.address, **files).to_frame(),
            fr.sweep(plan(trace, 1), jobs=1).to_frame(),
        )
        # Who has none is not let in, and hears why.
        monkeypatch.setattr(on_dask, "CONNECT_SECONDS", 1.0)
        for address in (cluster.address, cluster.address.replace("tls://", "tcp://")):
            with pytest.raises(fr.InputError, match=r"scheduler t(ls|cp)://127\.0\.0\.1:\d+: .{8}"):
                fr.sweep(plan(trace, 1), scheduler=address)
    finally:
        cluster.stop()
    path, other = write_plan(tmp_path, trace), tmp_path / "plan.toml"
    options = [f"--{key.replace('_', '-')}={value}" for key, value in files.items()]
    for line, said in (
        (["--jobs", "2", *options], "--tls-ca: allowed with --scheduler"),
        (["--scheduler", "tls://x:1", *options[1:]], "--tls-ca: needed with --tls-cert"),
        (["--scheduler", "tcp://x:1", *options], "'tcp://x:1': allowed with --tls-ca is tls://host:8786"),
        (["--scheduler", "tls://x:1", *options, f"--tls-ca={other}"], f"--tls-ca {other}: no certificate in PEM ("),
        (
            ["--scheduler", "tls://x:1", *options, f"--tls-key={tmp_path}/ca.key"],
            "node.pem without a password in PEM (",
        ),
        (["--scheduler", "tls://x:1", *options, "--tls-key=gone"], "--tls-key gone: cannot be read: No such file"),
    ):
        assert said in command("sweep", path, *line, status=2).stderr


def _clients(process, port):
    """Whether the process has a connection to a port of this machine."""
    for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
        _, _, remote, state, *_, number = line.split()[:10]
        if remote == f"0100007F:{port:04X}" and state == "01" and number in _sockets(process):
            return True
    return False


def _sockets(process):
    links = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(link))
    return {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:")}


def test_a_trace_that_is_sent_in_pieces_is_there_when_it_is_whole(tmp_path):
    """Also where an earlier attempt has left more than it is."""
    target = tmp_path / "traces" / "t.csv"
    target.parent.mkdir()
    target.with_name(".t.csv.part").write_bytes(b"x" * 99)
    content = bytes(range(10))
    for at in range(0, len(content), 4):
        assert not target.exists()
        elsewhere.receive(str(target), at, content[at : at + 4], len(content))
    assert target.read_bytes() == content
    assert [each.name for each in target.parent.iterdir()] == ["t.csv"]
