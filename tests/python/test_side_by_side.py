"""Runs of a comparison side by side: what there is at the end, however many are under way at the same time."""

import json
import os
import signal
import time
from concurrent.futures import wait as futures_wait
from pathlib import Path
from threading import Barrier, Event, Thread, main_thread

import pytest
from conftest import fill, long, write_trace, writes

import flashraid as fr
from flashraid import _native, comparing, machine, profile_text, side_by_side
from flashraid.command import compare
from flashraid.command.progress import Progress
from flashraid.interrupts import Interrupts
from flashraid.outputs import Outputs

DEVICE = {"device": "tiny", "fill": 0.5}
ONCE = {**DEVICE, "seeds": 1}
OPTIONS = ["--device", "tiny", "--fill", "0.5"]


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path, [(at * 900, "R" if at % 3 else "W", at % 50 * 4096, 8192) for at in range(300)])


def interrupted_in_run(number, monkeypatch):
    """Ctrl-C comes at the end of this run."""
    done, run_pairs = [], side_by_side.run_pairs

    def run(*arguments):
        done.append(run_pairs(*arguments))
        if len(done) == number:
            signal.pthread_kill(main_thread().ident, signal.SIGINT)
            time.sleep(2 * side_by_side.STEP_SECONDS)  # so that it has come
        return done[-1]

    monkeypatch.setattr(side_by_side, "run_pairs", run)


def test_an_interruption_of_the_closed_loop_keeps_the_results(monkeypatch, trace):
    interrupted_in_run(3, monkeypatch)
    with pytest.raises(fr.Interrupted) as stopped:
        fr.compare(trace, schemes="raid0,raid5", jobs=1, **ONCE)
    comparison = stopped.value.result
    assert [each.partial for each in comparison.results] == [False, False]
    assert [each.scheme for each in comparison.capacity] == ["raid0"]
    assert comparison.partial
    monkeypatch.undo()
    assert not fr.compare(trace, schemes="raid0,raid5", **ONCE).partial


def test_an_interruption_keeps_what_comes_before_the_first_run_that_did_not_end(monkeypatch, trace):
    interrupted_in_run(2, monkeypatch)
    with pytest.raises(fr.Interrupted) as stopped:
        fr.compare(trace, schemes="raid0,raid1,raid4,raid5", jobs=1, **ONCE)
    assert [each.scheme for each in stopped.value.result.results] == ["raid0", "raid1"]
    assert stopped.value.result.capacity == []


def test_side_by_side_is_as_one_by_one(trace, tmp_path):
    settings = {"schemes": "raid0,raid1,raid4,raid5", "engine": False, **DEVICE}
    texts = []
    for jobs in (1, 2, 4, None):
        series = tmp_path / f"{jobs}.csv"
        texts.append([fr.compare(trace, jobs=jobs, series=series, **settings).json])
        texts[-1] += [(tmp_path / f"{jobs}-{name}.csv").read_text() for name in settings["schemes"].split(",")]
    assert all(each == texts[0] for each in texts)
    seeds = [
        fr.compare("profile:cr5m-uniform", jobs=jobs, limit=200, seeds=3, fit="wrap", **settings) for jobs in (1, 3)
    ]
    assert seeds[0].json == seeds[1].json


def test_a_profile_that_runs_may_be_reading_is_not_written_again(tmp_path):
    """The runs of all schemes with a seed, and their closed loops, read one file."""
    path = profile_text.repetition("profile:cr5m-uniform", 1, str(tmp_path))
    Path(path).write_text("read")
    assert profile_text.repetition("profile:cr5m-uniform", 1, str(tmp_path)) == path
    assert Path(path).read_text() == "read"


def test_runs_are_side_by_side(monkeypatch, trace):
    """Each of two waits until the other has begun."""
    meet, run_pairs = Barrier(2), side_by_side.run_pairs

    def run(*arguments):
        meet.wait(timeout=30)
        return run_pairs(*arguments)

    monkeypatch.setattr(side_by_side, "run_pairs", run)
    assert len(fr.compare(trace, schemes="raid0,raid5", jobs=2, capacity=False, **ONCE).results) == 2


def test_closed_loops_are_in_the_order_of_the_schemes(monkeypatch, trace):
    """However those runs are listed that are found to have ended."""
    done, run_pairs = [], side_by_side.run_pairs

    def run(*arguments):
        done.append(arguments[2])
        return run_pairs(*arguments)

    def backwards(futures, *_):
        ended, others = futures_wait(futures)
        return [each for each in reversed(futures) if each in ended], others

    monkeypatch.setattr(side_by_side, "run_pairs", run)
    monkeypatch.setattr(side_by_side, "wait", backwards)
    schemes = ["raid0", "raid1", "raid4", "raid5"]
    fr.compare(trace, schemes=schemes, jobs=1, **ONCE)
    assert done == 2 * schemes


def test_a_run_that_fails_ends_all(tmp_path):
    """The error is that of the first scheme that has one, whichever comes first."""
    trace = write_trace(tmp_path, [(at * 900, "W", at * 4096, 4096) for at in range(2000)])
    trace.write_text(trace.read_text() + "nonsense\n")
    for jobs in (1, 2):
        with pytest.raises(fr.InputError, match="nonsense"):
            fr.compare(trace, schemes="raid0,raid5", jobs=jobs, series=tmp_path / "s.csv", fit="wrap", **ONCE)
        assert [path.name for path in tmp_path.iterdir()] == [trace.name]


def test_progress_is_that_of_all_runs(long_trace):
    told = []
    settings = {"schemes": "raid0,raid5", "fit": "wrap", **ONCE}
    fr.compare(long_trace, progress=lambda *of: told.append(of) or True, limit=50_000, **settings)
    shares = [share for _, _, share in told]
    assert shares
    assert all(0 <= share <= 1 for share in shares)
    assert shares == sorted(shares)
    with pytest.raises(fr.Interrupted) as stopped:
        fr.compare(long_trace, progress=lambda *of: False, **settings)
    assert stopped.value.result.partial


def test_jobs_out_of_range_are_refused(command, trace):
    for jobs in (0, -1, 1025, True, "2"):
        with pytest.raises(fr.InputError, match=rf"^jobs {jobs!r}: allowed is a whole number from 1 to 1024"):
            fr.compare(trace, schemes="raid0", jobs=jobs, **ONCE)
    line = [trace, *OPTIONS, "--quiet", "--jobs"]
    for jobs in (0, -1, 1025):
        refused = command("compare", *line, jobs, "--schemes", "raid0", status=2).stderr
        assert refused == f"error: --jobs {jobs}: allowed is a whole number from 1 to 1024\n"
    refused = command("run", *line, "2", "--scheme", "raid0", status=2).stderr
    assert refused == "error: --jobs: one run is the work of one core: allowed with --seeds\n"
    assert command("run", *line, "2", "--scheme", "raid0", "--seeds", "2").stdout


@pytest.mark.parametrize(
    ("free", "jobs", "expected"),
    [
        (None, None, 4),
        (None, 2, 2),
        (None, 9, 5),
        (50, None, 1),  # at least one, whether it fits or not
        (100, None, 2),
        (109, None, 2),
        (110, None, 3),
        (10_000, None, 4),
    ],
)
def test_fewer_runs_at_once_where_memory_is_short(monkeypatch, free, jobs, expected):
    monkeypatch.setattr(machine, "cores", lambda: 4)
    monkeypatch.setattr(machine, "free_bytes", lambda: free)
    assert machine.at_once([10, 60, 10, 40, 10], jobs) == expected


@pytest.mark.parametrize(
    ("membership", "top", "limit_name", "used_name"),
    [
        ("0::/slice/job\n", ".", "memory.max", "memory.current"),
        (
            "7:cpu:/elsewhere\n5:hugetlb,memory:/slice/job\n0::/other\n",
            "memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
        ),
    ],
)
def test_free_memory_is_what_the_system_or_a_group_has_left(
    monkeypatch, tmp_path, membership, top, limit_name, used_name
):
    memory, groups, member = tmp_path / "meminfo", tmp_path / "groups", tmp_path / "cgroup"
    memory.write_text("MemTotal:  900 kB\nMemAvailable:     500 kB\n")
    member.write_text(membership)
    for name, path in (("MEMORY", memory), ("GROUPS", groups), ("MEMBERSHIP", member)):
        monkeypatch.setattr(machine, name, path)
    assert machine.free_bytes() == 500 * 1024

    def limited(group, limit, used):
        group = groups / top / group
        group.mkdir(parents=True, exist_ok=True)
        (group / limit_name).write_text(f"{limit}\n")
        (group / used_name).write_text(f"{used}\n")

    for limit, expected in [("max", 500 * 1024), (2**63 - 4096, 500 * 1024), (3000, 2000), (900, 0)]:
        if limit != "max" or top == ".":
            limited("slice/job", limit, 1000)
            assert machine.free_bytes() == expected
    limited("slice/job", 9000, 1000)
    limited("slice", 9000, 4000)
    assert machine.free_bytes() == 5000
    limited(".", 9000, 6000)
    assert machine.free_bytes() == 3000
    limited("slice/another", 100, 100)
    assert machine.free_bytes() == 3000
    monkeypatch.setattr(machine, "MEMORY", tmp_path / "none")
    assert machine.free_bytes() == 3000


FULL = {"fill": "1"}
OVERWRITTEN = {
    "fill": "1",
    "precondition": "random:1",
    "over_provisioning": "0.3",
    "gc_threshold": "0.02",
    "blocks_per_plane": "512",
}
SMALL_BLOCKS = {"blocks_per_plane": "16384", "pages_per_block": "1"}
FLASH_MAP = {"mapping": "dftl", "cmt_entries": "1000000"}


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        ("raid5", FULL),
        pytest.param("raid5", FULL | {"verify": "true"}, marks=long),
        ("raid5", OVERWRITTEN | FLASH_MAP),
        ("raid5", OVERWRITTEN | SMALL_BLOCKS),
        pytest.param("fra", OVERWRITTEN | {"blocks_per_plane": "1024"}, marks=long),
        pytest.param("fra", OVERWRITTEN | {"channels": "3"}, marks=long),
        pytest.param("ppc", OVERWRITTEN | {"blocks_per_plane": "2048"}, marks=long),
        pytest.param("ppc", OVERWRITTEN | SMALL_BLOCKS, marks=long),
        pytest.param("ppc", OVERWRITTEN | {"verify": "true"}, marks=long),
        ("cr5m", OVERWRITTEN),
    ],
)
def test_a_run_takes_no_more_memory_than_is_said(command, tmp_path, scheme, settings):
    """Of a full device, whose scheme has something to remember of each stripe; and not much more is said."""
    trace = write_trace(tmp_path, writes(5))
    line = ["run", trace, "--device", "ssd1", "--scheme", scheme, "--quiet", "--json", "-"]
    line += [f"--set={key}={value}" for key, value in settings.items()]
    taken = json.loads(command(*line, env=os.environ).stdout)["engine"]["peak_rss_bytes"]
    said = json.loads(_native.configuration("ssd1", scheme, None, list(settings.items())))["memory_bytes"]
    assert said / 3 < taken < said


@pytest.mark.parametrize(
    ("settings", "is_pipe", "expected"),
    [
        ({}, False, 4),
        ({"capacity": False}, False, 2),
        ({"settings": [("queue_depth", "4")]}, False, 2),
        ({"seeds": None}, False, 24),
        ({"seeds": None, "capacity": False}, False, 12),
        ({"seeds": None, "settings": [("jitter_ns", "5")]}, False, 22),
        ({"seeds": 3}, False, 8),
        ({"schemes": ["raid5"]}, True, 1),
    ],
)
def test_the_number_of_runs_is_known_before_the_first(monkeypatch, trace, tmp_path, settings, is_pipe, expected):
    """To the command, which counts those that have ended, and to a progress function."""
    runs = []

    class Counted(Progress):
        def __exit__(self, *error):
            runs.append((self.ended, self.runs))
            super().__exit__(*error)

    def plan():
        """A new one, as a pipe is read once."""
        path = trace
        if is_pipe:
            path = tmp_path / f"pipe-{len(runs)}"
            os.mkfifo(path)
            Thread(target=fill, args=[path, trace.read_bytes()], daemon=True).start()
        some = {"schemes": ["raid0", "raid5"], "settings": [], "seeds": 1, "capacity": True} | settings
        some["settings"] = [*some["settings"], ("fill", "0.5")]
        return comparing.planned(str(path), "tiny", None, outputs=Outputs({}), engine=False, jobs=1, **some)

    monkeypatch.setattr(compare, "Progress", Counted)
    planned = plan()
    assert planned.runs == expected
    assert compare.compare_as_planned(planned, "-", quiet=True) == 0
    assert runs == [(expected, expected)]

    planned = plan()
    told = []
    together = side_by_side.Together(Interrupts(), lambda *of: told.append(of[2]) or True, planned.runs)

    def begin(name, configured):
        watch = together.begin(name, configured)
        watch("replaying", 1, 1.0)
        return watch

    comparing.compare_planned(planned, begin)
    assert told == pytest.approx([(at + 1) / expected for at in range(expected)])


def test_each_seed_has_one_run_and_each_scheme_one_closed_loop(monkeypatch, trace):
    done, run_pairs = [], side_by_side.run_pairs

    def run(*arguments):
        done.append((arguments[2], dict(arguments[6]).get("queue_depth")))
        return run_pairs(*arguments)

    monkeypatch.setattr(side_by_side, "run_pairs", run)
    fr.compare(trace, schemes="raid0,raid5", seeds=3, jobs=2, **DEVICE)
    expected = [(scheme, depth) for scheme in ("raid0", "raid5") for depth in (None, None, None, "32")]
    assert sorted(done, key=str) == sorted(expected, key=str)


def test_the_run_of_each_seed_needs_its_memory(monkeypatch, trace):
    asked = []
    monkeypatch.setattr(machine, "at_once", lambda needed, jobs: asked.append((needed, jobs)) or 1)
    fr.compare(trace, schemes="raid0,raid5", seeds=3, jobs=5, capacity=False, **DEVICE)
    said = [
        json.loads(_native.configuration("tiny", scheme, None, [("fill", "0.5")]))["memory_bytes"]
        for scheme in ("raid0", "raid5")
    ]
    assert asked == [([said[0]] * 3 + [said[1]] * 3, 5)]


def test_notes_are_of_their_scheme_for_each_seed(trace):
    with pytest.warns(UserWarning, match="parity_in_response"):
        found = fr.compare(
            trace, schemes="raid0,raid5,raid1", seeds=2, parity_in_response=False, capacity=False, **DEVICE
        )
    noted = [any("parity_in_response" in text for text in result.warnings) for result in found.results]
    assert list(zip([result.scheme for result in found.results], noted, strict=True)) == [
        ("raid0", True),
        ("raid0", True),
        ("raid5", False),
        ("raid5", False),
        ("raid1", True),
        ("raid1", True),
    ]


def test_the_share_of_all_runs_does_not_fall_where_a_stage_has_none():
    told = []
    together = side_by_side.Together(Interrupts(), lambda *of: told.append(of) or True, 2)
    watch = together.begin("raid5", dict)
    watch("replaying", 1, 0.5)
    watch("verifying", 1, None)
    assert told == [("replaying", 1, 0.25), ("verifying", 1, 0.25)]


def test_the_error_is_that_of_the_first_scheme(monkeypatch, trace):
    """Not that of the run that fails first."""
    has_failed = Event()

    def run(_trace, _device, scheme, *_):
        if scheme == "raid0":
            has_failed.wait(timeout=30)
        has_failed.set()
        raise fr.InputError(scheme)

    monkeypatch.setattr(side_by_side, "run_pairs", run)
    with pytest.raises(fr.InputError, match="raid0"):
        fr.compare(trace, schemes="raid0,raid5", jobs=2, **ONCE)


def test_an_error_stops_the_runs_under_way(monkeypatch, trace):
    is_running = Event()

    def run(_trace, _device, scheme, _config, _engine, watched, *_):
        if scheme == "raid5":
            is_running.wait(timeout=30)
            raise fr.InputError(scheme)
        is_running.set()
        until = time.monotonic() + 30
        while watched("replaying", 1, 0.1) and time.monotonic() < until:
            time.sleep(0.01)
        assert time.monotonic() < until
        raise fr.InputError("stopped")

    monkeypatch.setattr(side_by_side, "run_pairs", run)
    with pytest.raises(fr.InputError, match="stopped"):
        fr.compare(trace, schemes="raid0,raid5", jobs=2, **ONCE)


def written(folder):
    return sorted(path.name for path in folder.glob("series*"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_interruption_leaves_the_files_of_the_results_alone(monkeypatch, trace, long_trace, tmp_path, ending):
    """Of the runs that ended before, and of the first that did not; none of a run behind it, even if that has ended."""
    run_pairs, has_ended = side_by_side.run_pairs, {scheme: Event() for scheme in ("raid0", "raid5")}

    def run(*arguments):
        scheme = arguments[2]
        if scheme in has_ended:
            done = run_pairs(*arguments)
            has_ended[scheme].set()
            return done
        assert all(event.wait(timeout=60) for event in has_ended.values())
        signal.pthread_kill(main_thread().ident, signal.SIGINT)
        return run_pairs(str(long_trace), *arguments[1:])

    monkeypatch.setattr(side_by_side, "run_pairs", run)
    settings = {"jobs": 3, "fit": "wrap", "capacity": False, "series": tmp_path / f"series.{ending}", **ONCE}
    with pytest.raises(fr.Interrupted) as stopped:
        fr.compare(trace, schemes="raid0,raid1,raid5", **settings)
    results = stopped.value.result.results
    assert [(each.scheme, each.partial) for each in results] == [("raid0", False), ("raid1", True)]
    assert written(tmp_path) == [f"series-raid0.{ending}", f"series-raid1.{ending}"]
    assert [each.files for each in results] == [{"series": str(tmp_path / name)} for name in written(tmp_path)]


def test_an_error_leaves_the_files_of_the_schemes_before(monkeypatch, trace, tmp_path):
    run_pairs = side_by_side.run_pairs

    def run(*arguments):
        if arguments[2] == "raid1":
            raise fr.InputError("of raid1")
        return run_pairs(*arguments)

    monkeypatch.setattr(side_by_side, "run_pairs", run)
    with pytest.raises(fr.InputError, match="of raid1"):
        fr.compare(trace, schemes="raid0,raid1", jobs=1, series=tmp_path / "series.csv", **ONCE)
    assert written(tmp_path) == ["series-raid0.csv"]
