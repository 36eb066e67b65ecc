"""Sweeps on one machine: their rows, the command, figures and reports."""

import os
import signal
import subprocess
import threading
import time

import polars as pl
import pytest
from conftest import COMMAND
from sweep_cases import PLACE, results, short_trace, write_plan

import flashraid as fr
from flashraid import machine
from flashraid.sweeping import dataset, job, local, plan, resolved, view
from flashraid.sweeping.where import Where


@pytest.fixture
def trace(tmp_path):
    return short_trace(tmp_path)


# ---- runs ----


def test_rows_are_the_results_of_runs_and_of_comparisons(trace):
    schemes = ["raid0", "raid5", "ppc"]
    found = fr.sweep({"fixed": {"trace": trace, **PLACE}, "grid": {"scheme": schemes}}, jobs=1)
    expected = fr.compare(trace, schemes=schemes, capacity=False, engine=False, **PLACE).to_frame()
    frame = found.to_frame()
    assert frame["scheme"].to_list() == schemes
    assert frame["status"].to_list() == ["done"] * 3
    for column in expected.columns:
        assert frame[column].to_list() == expected[column].to_list(), column
    alone = fr.sweep({"fixed": {"trace": trace, "scheme": "raid5", **PLACE}}, jobs=1).to_frame()
    expected = fr.run(trace, scheme="raid5", engine=False, **PLACE).to_frame()
    for column in expected.columns:
        assert alone[column].to_list() == expected[column].to_list(), column


def test_what_differs_in_scheme_and_parameters_has_the_same_space(trace):
    said = {
        "fixed": {"trace": trace, **PLACE},
        "grid": {"scheme": ["raid0", "raid5"]},
        "when": [{"if": {"scheme": "raid5"}, "grid": {"update": ["rmw", "rcw"]}}],
    }
    frame = fr.sweep(said, jobs=1).to_frame()
    assert frame["update"].to_list() == [None, "rmw", "rcw"]
    assert frame["config.run.space_bytes"].n_unique() == 1
    assert frame["config.run.fill_bytes"].n_unique() == 1


def test_a_run_is_named_by_all_that_decides_it(trace, tmp_path, monkeypatch):
    def names(**changed):
        said = {"fixed": {"trace": trace, "scheme": "raid5", **PLACE, **changed}, "grid": {"speed": [1, 2]}}
        return [each.job.run for each in resolved.resolve(plan.made(said))]

    first = names()
    assert len(set(first)) == 2
    assert names() == first
    elsewhere = tmp_path / "elsewhere" / "trace.csv"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes((tmp_path / "trace.csv").read_bytes())
    assert names(trace=str(elsewhere)) == first, "its content counts, not its place"
    other = elsewhere.rename(tmp_path / "ssdsim.csv")
    assert not set(names(trace=str(other))) & set(first), "and its name, which may decide the format"
    assert not set(names(seed=2, precondition="random:0.1")) & set(first)
    monkeypatch.setattr(resolved._native, "__version__", "0.0.1")
    assert not set(names()) & set(first)


def test_processes_and_threads_make_the_same_rows(trace):
    said = {"fixed": {"trace": trace, **PLACE}, "grid": {"scheme": ["raid0", "raid5"], "queue_depth": [1, 2, 4]}}
    serially, together = (results(fr.sweep(said, jobs=jobs).to_frame()) for jobs in (1, 2))
    assert serially.equals(together)


def test_each_seed_of_a_profile_has_requests_of_its_own():
    fixed = {"trace": "profile:ppc-osdb", "device": "ssd1", "scheme": "raid0", "limit": 500, "fit": "wrap"}
    frame = fr.sweep({"fixed": fixed, "grid": {"seed": [1, 2, 3]}}, jobs=1).to_frame()
    assert frame["workload.sha256"].n_unique() == 3
    others = {"device": "ssd1", "schemes": "raid0", "limit": 500, "fit": "wrap", "capacity": False}
    seeds = fr.compare("profile:ppc-osdb", seeds=3, **others)
    assert frame["simulated_ns"].to_list() == [each.simulated_ns for each in seeds.results]
    fixed |= {"profile.streams.0.weight": 1}
    changed = fr.sweep({"fixed": fixed, "grid": {"profile.requests": [100, 200]}}, jobs=1).to_frame()
    assert changed["workload.requests"].to_list() == [100, 200]
    assert changed["profile.streams.0.weight"].to_list() == ["1", "1"]
    assert frame["profile.seed"].to_list() == [None, "1", "2"]
    # The seed is the profile's alone, as nothing else is random: the same run by another name.
    assert set(frame["config.run.seed"]) == {1}
    plain = {key: value for key, value in fixed.items() if key != "profile.streams.0.weight"}
    assert fr.sweep({"fixed": plain, "grid": {"profile.seed": [1]}}, jobs=1).to_frame()["run"].item() == frame["run"][1]
    assert all(changed["workload.reads"] / changed["workload.requests"] < 0.3)


def test_a_parameter_applies_to_the_schemes_that_have_it_and_equal_runs_are_one(trace, tmp_path):
    said = {
        "fixed": {"trace": trace, **PLACE},
        "grid": {"scheme": ["raid0", "raid5"], "update": ["rmw", "rcw"], "seed": [1, 2]},
    }
    out = tmp_path / "d"
    found = fr.sweep(said, out=out, jobs=1)
    frame = found.to_frame()
    # Nothing is random, so that the seed changes nothing.
    assert frame["update"].to_list() == [None] * 4 + ["rmw", "rmw", "rcw", "rcw"]
    assert frame["run"].n_unique() == 3
    assert dataset.read(out).height == 3
    assert found.counts() == {"done": 3}
    assert [line.runs for line in found.lines()] == [1, 1, 1], "a run is one, however many points come to it"


def test_points_that_cannot_be_are_rows_with_the_reason(trace):
    said = {"fixed": {"trace": trace, "device": "tiny"}, "grid": {"scheme": ["raid5", "raid9"], "fill": [0.5, 7]}}
    found = fr.sweep(said, jobs=1)
    assert found.to_frame()["status"].to_list() == ["done", "refused", "refused", "refused"]
    assert found.status == 3
    assert "raid9" in found.failed["reason"][1]
    assert "fill = 7" in found.failed["reason"][0]
    with pytest.raises(fr.InputError, match=r"no point can be run; the first: .*raid9"):
        fr.sweep({"fixed": {"trace": trace, "device": "tiny", "scheme": "raid9"}}, jobs=1)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("trace", "profile:nope", "nope"),
        ("profile.requets", 5, "requets"),
        ("profile.streams.0.weights", 5, "weights"),
        ("profile.streams.0.weight", -1, "weight"),
        ("profile.streams.9.weight", 1, r"profile.streams.9: allowed is 0 to"),
    ],
)
def test_what_no_profile_has_is_refused_with_the_plan(key, value, text):
    point = {"trace": "profile:ppc-osdb", "device": "ssd1", "scheme": "raid5"}
    with pytest.raises(fr.InputError, match=text):
        resolved.resolve(plan.made({"fixed": point | {key: value}}))


def test_a_run_that_is_refused_when_it_begins_is_a_row(tmp_path, trace):
    broken = tmp_path / "broken.csv"
    broken.write_text((tmp_path / "trace.csv").read_text() + "900000000,X,0,4096,,\n")
    said = {"fixed": {"device": "tiny", "scheme": "raid5"}, "grid": {"trace": [str(broken), trace]}}
    frame = fr.sweep(said, jobs=1).to_frame()
    assert frame["status"].to_list() == ["refused", "done"]
    assert "broken.csv" in frame["reason"][0]


def test_runs_on_one_device_prepare_it_once(trace, monkeypatch):
    made = []
    native = job._native.Prepared
    monkeypatch.setattr(job._native, "Prepared", lambda *arguments: made.append(1) or native(*arguments))
    monkeypatch.setattr(job, "_devices", job._Devices())
    said = {
        "fixed": {"trace": trace, "scheme": "raid5", **PLACE},
        "grid": {"speed": [1, 2, 3], "fail": ["", "chip:0.0@50%"]},
    }
    frame = fr.sweep(said, jobs=1).to_frame()
    assert len(made) == 1
    assert not job._devices._kept, "nothing is kept when the sweep has ended"
    for row in frame.iter_rows(named=True):
        expected = fr.run(trace, scheme="raid5", speed=row["speed"], fail=row["fail"] or None, engine=False, **PLACE)
        assert row["simulated_ns"] == expected.simulated_ns
        assert row["latency_ns.write.p99"] == expected.latency.write.p99


def test_runs_on_one_device_follow_each_other(trace, monkeypatch):
    made = []
    native = job._native.Prepared
    monkeypatch.setattr(job._native, "Prepared", lambda *arguments: made.append(1) or native(*arguments))
    monkeypatch.setattr(local.machine, "free_bytes", lambda: 0)
    fixed = {"trace": trace, "scheme": "raid5", "device": "tiny"}
    said = {"fixed": fixed, "grid": {"speed": [1, 2, 3], "fill": [0.2, 0.5]}}
    frame = fr.sweep(said, jobs=1).to_frame()
    # Without memory for two, each is prepared once all the same; rows are in the order of the plan.
    assert len(made) == 2
    assert frame["speed"].to_list() == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_device_is_given_up_after_the_last_run_on_it(trace, monkeypatch, threads):
    devices = job._Devices()
    monkeypatch.setattr(job, "_devices", devices)
    seen = []
    fixed = {"trace": trace, "scheme": "raid5", "device": "tiny"}
    said = {"fixed": fixed, "grid": {"speed": [1, 2, 3], "fill": [0.2, 0.3, 0.4, 0.5]}}
    fr.sweep(said, jobs=threads, progress=lambda _: seen.append(len(devices._kept)))
    assert max(seen) <= threads, "there is memory for all"


def test_a_device_that_cannot_be_prepared_is_tried_by_each(trace, tmp_path):
    fixed = {"trace": trace, "scheme": "raid5", "device": "tiny", "fill": 0.5}
    jobs = list(resolved.jobs_of(resolved.resolve(plan.made({"fixed": fixed, "grid": {"speed": [1, 2]}}))))
    broken = tmp_path / "config.json"
    broken.write_text("{}")
    devices = job._Devices()
    for each in jobs:
        with pytest.raises(fr.InputError), devices.lent(each, str(broken), lambda *_: True, None):
            pass
    assert not devices._kept
    assert devices._needed_bytes == 0


def test_prepared_devices_are_given_up_for_want_of_memory(trace):
    said = {
        "fixed": {"trace": trace, "scheme": "raid5", "device": "tiny"},
        "grid": {"fill": [0.1, 0.2], "speed": [1, 2]},
    }
    jobs = list(resolved.jobs_of(resolved.resolve(plan.made(said))))
    assert len({each.preparation for each in jobs}) == 2
    assert all(each.needed_bytes == 2 * each.memory_bytes for each in jobs)
    for most, kept in ((None, 2), (3 * jobs[0].memory_bytes, 2), (2 * jobs[0].memory_bytes, 1)):
        devices = job._Devices()
        for each in jobs:
            path = f"{os.path.dirname(trace)}/config.json"
            with open(path, "w") as file:
                file.write(each.config)
            with devices.lent(each, path, lambda *_: True, most) as device:
                assert device is not None
        assert len(devices._kept) == kept
        assert devices._needed_bytes == 0


@pytest.mark.parametrize(("free", "most"), [(None, 2), (0, 1), (3, 1), (4, 2)])
def test_a_run_begins_when_there_is_memory_beside_the_others(trace, monkeypatch, free, most):
    """Each needs twice what a run takes, as it copies a device that is kept; one alone is always tried."""
    said = {"fixed": {"trace": trace, "scheme": "raid5", **PLACE}, "grid": {"speed": [1, 2, 3, 4]}}
    jobs = list(resolved.jobs_of(resolved.resolve(plan.made(said))))
    assert all(each.preparation and each.needed_bytes == 2 * each.memory_bytes for each in jobs)
    monkeypatch.setattr(local.machine, "free_bytes", lambda: free and free * jobs[0].memory_bytes)
    beside, seen, lock = [], [], threading.Lock()

    def do(each, *_):
        with lock:
            beside.append(each)
            seen.append(len(beside))
        time.sleep(0.02)
        with lock:
            beside.remove(each)
        return job.failed(each, "")

    monkeypatch.setattr(local, "done_or_failed", do)
    rows = []
    local.do_all(jobs, rows.append, lambda: True, threads=2)
    assert (len(rows), max(seen)) == (4, most)


def test_a_trace_arrives_piece_by_piece(tmp_path):
    from flashraid.sweeping import elsewhere

    whole, path = bytes(range(256)) * 4, tmp_path / "folder" / "trace.csv"
    for at in range(0, len(whole), 400):
        assert not path.exists()
        elsewhere.receive(str(path), at, whole[at : at + 400], len(whole))
    assert path.read_bytes() == whole
    assert [each.name for each in path.parent.iterdir()] == ["trace.csv"]


def test_of_several_rebuilds_the_first_one_has_columns():
    found = dict(job.figures_of({"rebuild": [{"x": 1}, {"x": 2}], "replacements": [{"y": 3}, {"y": 4}]}))
    assert {key: value for key, value in found.items() if ".0." in key} == {"rebuild.0.x": 1, "replacements.0.y": 3}


def test_the_exit_status_is_that_of_the_worst_run(trace, tmp_path):
    found = fr.sweep({"fixed": {"trace": trace, **PLACE}, "grid": {"scheme": ["raid0", "raid5"]}}, jobs=1)
    for statuses, is_partial, expected in (
        (["done", "done"], False, 0),
        (["done", "unserved"], False, 3),
        (["done", "failed"], False, 3),
        (["done", "done"], True, 130),
        (["unserved", "violation"], True, 1),
    ):
        rows = found._rows.with_columns(pl.Series("status", statuses))
        assert fr.Sweep(found.plan, found._resolved, rows, None, partial=is_partial).status == expected


# ---- the command ----


def test_the_command_shows_a_line_for_each_point(trace, tmp_path, command):
    path = write_plan(tmp_path, trace)
    done = command("sweep", path, "--jobs", "1")
    assert done.returncode == 0
    assert "plan.sweep: 6 runs: 6 done" in done.stdout
    frame = dataset.read(tmp_path / "plan.sweep")
    for row in frame.iter_rows(named=True):
        scheme, depth = row["scheme"], row["config.run.queue_depth"]
        amplification = f"{row['write_amplification']:.3f}"
        lines = [line for line in done.stdout.splitlines() if line.split()[:2] == [scheme, str(depth)]]
        assert len(lines) == 1
        assert amplification in lines[0]
    again = command("sweep", path, "--jobs", "1")
    assert again.stdout == done.stdout


def test_a_dry_run_does_nothing(trace, tmp_path, command):
    done = command("sweep", write_plan(tmp_path, trace), "--dry-run")
    assert "6 points, 6 runs, each of at most" in done.stdout
    done = command("sweep", write_plan(tmp_path, trace, schemes=("raid5", "raid9")), "--dry-run")
    assert "6 points, 3 of them refused, 3 runs, each of at most" in done.stdout
    assert not (tmp_path / "plan.sweep").exists()


def test_seeds_are_one_line_with_intervals(tmp_path, command):
    path = tmp_path / "seeds.toml"
    path.write_text(
        '[fixed]\ntrace = "profile:ppc-osdb"\ndevice = "ssd1"\nfit = "wrap"\nlimit = 400\n'
        '[grid]\nscheme = ["raid0", "raid5"]\nseed = { from = 1, to = 3 }\n'
    )
    done = command("sweep", path, "--jobs", "1")
    lines = [line for line in done.stdout.splitlines() if line.split()[:1] in (["raid0"], ["raid5"])]
    assert len(lines) == 2
    assert all("±" in line and line.split()[-1] == "3" for line in lines)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["{plan}", "--jobs", "0"], "--jobs"),
        (["{plan}", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"], "--jobs: a cluster has its own number"),
        (["missing.toml"], "missing.toml: cannot be read: No such file or directory"),
        (["-"], "--out: needed for a plan from standard input"),
        (["{plan}", "--dry-run", "--report", "x.html"], "--report: not allowed with --dry-run"),
    ],
)
def test_wrong_options_are_refused(arguments, text, trace, tmp_path, command):
    path = write_plan(tmp_path, trace)
    line = [each.format(plan=path) for each in arguments]
    done = command("sweep", *line, status=2, input=path.read_text())
    assert text in done.stderr
    assert not (tmp_path / "plan.sweep").exists()


def test_ctrl_c_ends_a_sweep_with_130(tmp_path, long_trace):
    path = write_plan(tmp_path, long_trace, "fit = 'wrap'")
    line = [COMMAND, "sweep", path, "--jobs", "2", "--quiet"]
    begun = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "plan.sweep" / dataset.JOURNAL).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    begun.send_signal(signal.SIGINT)
    _, said = begun.communicate(timeout=60)
    assert begun.returncode == 130
    # On a machine that is busy with much else it may be ended by force, without its table.
    assert said == "interrupted: what was finished is kept; the same command goes on\n"


# ---- figures and reports ----


def test_cells_have_mean_and_interval_in_one_unit():
    means = [None] * len(view.FIGURES)
    half_widths = [0.0] * len(view.FIGURES)
    at = next(at for at, figure in enumerate(view.FIGURES) if figure.column == "latency_ns.write.p99")
    means[at], half_widths[at] = 2_500_000.0, 300_000.0
    heads, cells = view.cells(
        [view.Line((), "done", 3, tuple(means), tuple(half_widths), (False,) * len(means), False)]
    )
    assert (heads, cells) == (["write p99 (ms)"], [["2.50 ±0.30"]])


def test_figures_show_means_over_the_axis_with_the_most_numbers(trace):
    said = {"fixed": {"trace": trace, **PLACE}, "grid": {"scheme": ["raid0", "raid5"], "queue_depth": [1, 2, 4]}}
    found = fr.sweep(said, jobs=1)
    figures = {figure.name: figure for figure in found.figures()}
    figure = figures["throughput"]
    assert (figure.mark, figure.x.column, figure.series) == ("line", "queue_depth", "series")
    frame = found.to_frame()
    for row in figure.frame.iter_rows(named=True):
        expected = frame.filter(scheme=row["series"], queue_depth=row["queue_depth"])["bandwidth.requests_per_second"]
        assert row["value"] == expected[0]
    tail = figures["write-p99"]
    assert tail.y.title == "write p99 (us)"
    for row in tail.frame.iter_rows(named=True):
        expected = frame.filter(scheme=row["series"], queue_depth=row["queue_depth"])["latency_ns.write.p99"]
        assert row["value"] * 1000 == pytest.approx(expected[0])
    # One that is the same everywhere shows nothing.
    assert "lifetime" not in figures
    assert found.plot("throughput").axes
    words = fr.sweep({"fixed": {"trace": trace, **PLACE}, "grid": {"scheme": ["raid0", "raid5"]}}, jobs=1)
    assert {figure.mark for figure in words.figures()} == {"bars"}
    # raid0 has no axis of updates: they are drawn over the schemes.
    said = {"fixed": {"trace": trace, **PLACE}, "grid": {"scheme": ["raid0", "raid5"], "update": ["rmw", "rcw"]}}
    for figure in fr.sweep(said, jobs=1).figures():
        assert figure.x.column == "scheme"
        assert set(figure.frame["scheme"]) == {"raid0", "raid5"}
    one = fr.sweep({"fixed": {"trace": trace, "scheme": "raid0", **PLACE}}, jobs=1)
    assert one.figures() == []


def test_a_report_has_points_charts_and_troubles(trace, tmp_path, command):
    path = tmp_path / "plan.toml"
    path.write_text(
        f'[fixed]\ntrace = "{trace}"\ndevice = "tiny"\n[grid]\nscheme = ["raid0", "raid5"]\nfill = [0.1, 0.5, 7.0]\n'
    )
    done = command("sweep", path, "--jobs", "1", "--report", tmp_path / "r.html", status=3)
    assert done.stderr.count("refused: ") == 1
    html = (tmp_path / "r.html").read_text()
    for text in ("4 runs: 4 done; 2 points refused.", "fill = 7.0", "Points", "Charts", "Busiest load"):
        assert text in html


def test_a_sweep_has_as_many_runs_at_once_as_there_are_cores_unless_the_user_says(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: 7)
    assert [Where(jobs).threads for jobs in (None, 1, 9)] == [7, 1, 9]
