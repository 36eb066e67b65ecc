"""The cache of runs: what is found again, what is done anew, and that nothing done is lost or in the way."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import write_device, write_trace, writes

from flashraid import kept
from flashraid.reproduce import cache, runner
from flashraid.reproduce.cache import Cache
from flashraid.reproduce.outcome import measure
from flashraid.reproduce.papers import Experiment, Paper
from flashraid.reproduce.runner import Runner
from flashraid.reproduce.runs import Run, reduced

COUNT = 5


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A paper of five runs, with a cache of its own."""
    monkeypatch.setenv("FLASHRAID_CACHE", str(tmp_path / "cache"))
    return paper_in(tmp_path)


def paper_in(folder, requests=20, **settings):
    trace, device = folder / "trace.csv", write_device(folder)
    if not trace.exists() or requests != 20:
        write_trace(folder, writes(requests))
    experiment = Experiment(
        "e",
        "",
        "",
        configurations={"x": {"scheme": "raid5", "device": str(device)}},
        workloads={"w": {"trace": str(trace)}},
        points={str(limit): {"limit": limit} for limit in range(10, 10 + COUNT)},
        metrics=("mean", "parity_writes"),
    )
    return Paper("p", "", "", settings, experiment.workloads, {"e": experiment}, [], [])


@pytest.fixture
def calls(monkeypatch):
    """The runs that the engine is asked for."""
    asked = []
    run = runner._native.run

    def counted(*arguments):
        asked.append(arguments)
        return run(*arguments)

    monkeypatch.setattr(runner._native, "run", counted)
    return asked


def measured(paper, watch=lambda status: True):
    return measure(paper, Runner(watch, Cache()))


def entries():
    return sorted(path for path in (kept.folder() / "reproduce" / kept.build()).iterdir())


def test_what_was_measured_before_is_not_run_again(paper, calls):
    first = measured(paper)
    assert len(calls) == len(entries()) == COUNT
    states = []
    assert measured(paper, states.append) == first == measure(paper, Runner(lambda status: True))
    assert len(calls) == 2 * COUNT  # of which the last was without the cache
    assert [(state.done, state.kept, state.share) for state in states] == [(COUNT, COUNT, 1.0)]


def test_another_metric_of_the_same_runs_needs_none(paper, calls):
    measured(paper)
    (experiment,) = paper.experiments.values()
    object.__setattr__(experiment, "metrics", ("write_mean",))
    assert all(key[3] == "write_mean" for key in measured(paper)["e", ""])
    assert len(calls) == COUNT


def test_whatever_determines_a_run_makes_it_another(paper, calls, tmp_path, monkeypatch):
    measured(paper)
    for name, change in {
        "a setting": lambda: paper_in(tmp_path, fill=0.5),
        "the content of the trace": lambda: paper_in(tmp_path, requests=30),
        "the content of the device": lambda: (write_device(tmp_path).write_text(_slower(tmp_path)), paper)[1],
        "the engine": lambda: (monkeypatch.setattr(cache, "build", lambda: "another"), paper)[1],
    }.items():
        calls.clear()
        changed = change()
        measured(changed)
        assert len(calls) == COUNT, name
        measured(changed)
        assert len(calls) == COUNT, name


def test_an_engine_of_the_same_version_is_another_if_it_was_built_anew(tmp_path, monkeypatch):
    first = kept.build.__wrapped__()
    (tmp_path / "engine").write_text("another")
    monkeypatch.setattr(cache._native, "__file__", str(tmp_path / "engine"))
    assert kept.build.__wrapped__() != first


def _slower(folder):
    return write_device(folder).read_text().replace("program_ns = 200000", "program_ns = 300000")


def test_the_key_is_of_content_and_not_of_order_or_place(tmp_path):
    settings = [("a", "1"), ("b", "2")]
    key = cache.key("profile:x", "", "ssd1", "raid5", settings)
    assert key == cache.key("profile:x", "", "ssd1", "raid5", settings[::-1])
    others = [
        cache.key("profile:y", "", "ssd1", "raid5", settings),
        cache.key("profile:x", "requests = 1", "ssd1", "raid5", settings),
        cache.key("profile:x", "requests = 2", "ssd1", "raid5", settings),
        cache.key("profile:x", "", "ssd2", "raid5", settings),
        cache.key("profile:x", "", "ssd1", "raid0", settings),
        cache.key("profile:x", "", "ssd1", "raid5", settings[:1]),
    ]
    assert len({key, *others}) == 7
    for name in ("one", "two"):
        (tmp_path / name).write_text("the same")
    one, two = (cache.key(str(tmp_path / name), "", "ssd1", "raid5", []) for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("ended", range(COUNT))
def test_an_interrupted_reproduction_goes_on_where_it_stopped(paper, calls, ended):
    with pytest.raises(KeyboardInterrupt):
        measured(paper, lambda status: status.done < ended)
    kept = len(entries())
    assert ended <= kept <= COUNT
    calls.clear()
    found = measured(paper)
    assert len(calls) == COUNT - kept
    assert found == measure(paper, Runner(lambda status: True))


SCRIPT = """
import os, signal, sys
from pathlib import Path
from test_reproduce_cache import measured, paper_in

def watch(status):
    if 0 < int(sys.argv[2]) <= status.done:
        os.kill(os.getpid(), signal.SIGKILL)
    return True

print(len(measured(paper_in(Path(sys.argv[1])), watch)))
"""


def process(folder, killed_after):
    line = [sys.executable, "-c", SCRIPT, str(folder), str(killed_after)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE)


def test_what_a_killed_process_did_is_kept_and_two_at_once_do_not_disturb_each_other(paper, calls, tmp_path):
    killed = process(tmp_path, 2)
    assert killed.wait(60) == -signal.SIGKILL
    assert 2 <= len([path for path in entries() if not path.name.startswith(".")]) <= COUNT
    both = [process(tmp_path, -1) for _ in range(2)]
    assert [each.communicate(timeout=60)[0] for each in both] == [b"1\n"] * 2
    measured(paper)
    assert not calls


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-9], lambda data: b"1 2\nno", lambda data: b"x"]
)
def test_a_damaged_entry_is_measured_again(paper, calls, damage):
    found = measured(paper)
    first = entries()[0]
    whole = first.read_bytes()
    first.write_bytes(damage(whole))
    calls.clear()
    assert measured(paper) == found
    assert len(calls) == 1
    assert first.read_bytes().partition(b"\n")[2] == whole.partition(b"\n")[2]


def test_of_the_builds_those_used_last_stay(paper, monkeypatch):
    for number in range(cache.BUILDS + 2):
        monkeypatch.setattr(cache, "build", lambda number=number: f"build-{number}")
        measured(paper)
        os.utime(kept.folder() / "reproduce" / f"build-{number}", (number, number))
    monkeypatch.setattr(cache, "build", lambda: "build-0")  # which was used long ago
    Cache()
    left = {path.name for path in (kept.folder() / "reproduce").iterdir()}
    assert left == {"build-0", *(f"build-{cache.BUILDS + 1 - back}" for back in range(cache.BUILDS - 1))}


def test_what_runs_took_under_another_build_tells_how_long_they_will_take(paper, monkeypatch):
    states = []
    measured(paper, states.append)
    assert states[0].seconds_left is None
    # How many runs end between two states depends on the machine.
    shares = [state.share for state in states]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1] == 1.0
    for path in entries():
        _, _, rest = path.read_bytes().partition(b"\n")
        path.write_bytes(b"30.0 10\n" + rest)
    monkeypatch.setattr(cache, "build", lambda: "another")
    later = []
    measured(paper, later.append)
    assert later[0].seconds_left == pytest.approx(30 * COUNT / os.cpu_count())


def test_requests_of_the_warm_up_took_time_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHRAID_CACHE", str(tmp_path / "cache"))
    measured(paper_in(tmp_path, warmup=8))
    heads = [path.read_bytes().partition(b"\n")[0] for path in entries()]
    assert sorted(int(head.split()[1]) for head in heads) == list(range(10, 10 + COUNT))


def test_without_a_place_for_it_the_work_is_done_and_the_reason_told(paper, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLASHRAID_CACHE", str(tmp_path / "file"))
    kept = Cache()
    assert measure(paper, Runner(lambda status: True, kept)) == measure(paper, Runner(lambda status: True))
    assert kept.problem.startswith(f"{tmp_path / 'file' / 'reproduce'}: ")


def test_what_cannot_be_kept_leaves_nothing(paper, monkeypatch):
    def full(self):
        raise cache._native.InputError("No space left on device")

    monkeypatch.setattr(cache.NewFile, "keep", full)
    kept = Cache()
    measure(paper, Runner(lambda status: True, kept))
    assert "No space left on device" in kept.problem
    assert entries() == []


def test_a_build_that_is_used_is_not_the_one_used_longest_ago(paper):
    measured(paper)
    own = kept.folder() / "reproduce" / kept.build()
    os.utime(own, (1, 1))
    Cache()
    assert own.stat().st_mtime > 10**9


def test_where_the_cache_is(monkeypatch):
    monkeypatch.setattr(kept.sys, "platform", "linux")
    monkeypatch.setenv("FLASHRAID_CACHE", "/here")
    assert kept.folder() == Path("/here")
    monkeypatch.delenv("FLASHRAID_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    assert kept.folder() == Path("/there/flashraid")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert kept.folder() == Path.home() / ".cache" / "flashraid"


# ---- quick figures


def run_with(**settings):
    return Run("profile:cr5m-uniform", "", "ssd1", "raid5", tuple(sorted(settings.items())), "")


@pytest.mark.parametrize(
    ("settings", "share", "limit", "warmup"),
    [
        ({}, 0.1, "10000", None),  # the profile has 100,000
        ({"limit": "40000", "warmup": "4000"}, 0.1, "4000", "400"),
        ({"limit": "40000", "warmup": "1s"}, 0.5, "20000", "1s"),
        ({"limit": "10000", "warmup": "1000"}, 0.1, "2000", "200"),  # not fewer than that
        ({"limit": "1500", "warmup": "100"}, 0.1, "1500", "100"),
        ({"limit": "40000", "warmup": "4000"}, 1.0, "40000", "4000"),
    ],
)
def test_quick_figures_are_of_the_first_part_of_a_trace(settings, share, limit, warmup):
    found = dict(reduced(run_with(**settings), share).settings)
    assert (found.get("limit"), found.get("warmup")) == (limit, warmup)


def test_quick_figures_are_judged_and_labelled(command):
    done = command("reproduce", "ppc.updates", "--quick")
    assert done.stdout.count("Quick figures") == 2
    assert "s23.reads: holds\n" in done.stdout
    again = command("reproduce", "ppc.updates", "--quick")
    assert again.stdout == done.stdout
    assert again.stderr == "ppc.updates: 10 runs, 10 of them done before\n"
    anew = command("reproduce", "ppc.updates", "--quick", "--no-cache")
    assert anew.stdout == done.stdout
    assert "done before" not in anew.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["cr5m", "--quick", "--write", "."],
            "--quick: its figures are of a part of each trace: allowed",
        ),
        (["all", "--json", "-"], "reproduce: all papers at once: allowed without --set,"),
        (["--quick", "--set", "seed=1"], "reproduce: all papers at once: allowed without --set,"),
        (["cr5m", "--from", "x.json", "--quick"], "--from: it runs nothing: allowed without"),
        (["cr5m", "--from", "x.json"], "x.json: cannot be read: No such file or directory"),
        (["cr5m", "--smoke", "--json", "-"], "--smoke: its figures mean nothing: allowed without"),
    ],
)
def test_what_cannot_be_combined_is_refused(command, arguments, message):
    done = command("reproduce", *arguments, status=2)
    assert message in done.stderr
    assert (done.stdout, len(done.stderr.splitlines())) == ("", 1)
