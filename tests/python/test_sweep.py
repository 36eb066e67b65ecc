"""Sweeps on one machine: what a plan comes to, its rows, and what a dataset keeps."""

import json
import os
import resource
import signal
import statistics
import subprocess
import time
from collections import Counter
from functools import partial

import polars as pl
import pytest
from conftest import COMMAND, write_trace

import flashraid as fr
from flashraid.sweeping import dataset, job, plan, resolved, sampling, serial, view

PLACE = {"device": "tiny", "fill": 0.5}


@pytest.fixture
def trace(tmp_path):
    rows = [(at * 900, "R" if at % 3 else "W", at % 50 * 4096, 8192) for at in range(300)]
    return str(write_trace(tmp_path, rows))


def points(**tables):
    return plan.made({"fixed": {"trace": "t"}} | tables).points


def results(frame):
    """A frame without what tells where and when a run was done."""
    return frame.select(pl.exclude("^provenance\\..*$"))


# ---- plans ----


def test_a_grid_has_every_combination_and_its_last_axis_changes_fastest():
    found = plan.made({"fixed": {"trace": "t"}, "grid": {"scheme": ["raid0", "raid5"], "seed": {"from": 1, "to": 3}}})
    assert [(each["scheme"], each["seed"]) for each in found.points] == [
        (scheme, seed) for scheme in ("raid0", "raid5") for seed in (1, 2, 3)
    ]
    assert found.axes == ("scheme", "seed")


def test_lists_samples_and_grids_are_crossed():
    found = points(
        list=[{"queue_depth": 1}, {"queue_depth": 8, "warmup": 10}],
        sample={"points": 3, "fill": {"from": 0.1, "to": 0.9}},
        grid={"scheme": ["raid0", "raid5"]},
    )
    assert len(found) == 2 * 3 * 2
    assert Counter(each["queue_depth"] for each in found) == {1: 6, 8: 6}
    assert all(("warmup" in each) == (each["queue_depth"] == 8) for each in found)
    assert len({each["fill"] for each in found}) == 3


def test_conditions_extend_and_skip_points():
    found = points(
        grid={"scheme": ["raid0", "raid5", "ppc"], "fill": [0.1, 0.5]},
        when=[
            {"if": {"scheme": ["raid5", "ppc"]}, "grid": {"parity_in_response": [True, False]}},
            {"if": {"scheme": "raid5", "parity_in_response": False}, "fixed": {"seed": 9}},
        ],
        skip=[{"scheme": "ppc", "fill": [0.5]}, {"scheme": "raid0", "fill": 0.1}],
    )
    assert [(each["scheme"], each["fill"], each.get("parity_in_response"), each.get("seed")) for each in found] == [
        ("raid0", 0.5, None, None),
        ("raid5", 0.1, True, None),
        ("raid5", 0.1, False, 9),
        ("raid5", 0.5, True, None),
        ("raid5", 0.5, False, 9),
        ("ppc", 0.1, True, None),
        ("ppc", 0.1, False, None),
    ]


def test_values_of_ranges():
    values = lambda **said: sampling.values("axis", said)  # noqa: E731
    assert values(**{"from": 1, "to": 4}) == [1, 2, 3, 4]
    assert values(**{"from": 2, "to": 9, "step": 3}) == [2, 5, 8]
    assert values(**{"from": 0.1, "to": 0.3, "step": 0.1}) == [0.1, 0.2, 0.3]
    assert values(**{"from": 1.0, "to": 2.0, "points": 3}) == [1.0, 1.5, 2.0]
    assert values(**{"from": 1, "to": 1000, "points": 4, "scale": "log"}) == [1, 10, 100, 1000]
    assert values(**{"from": 1, "to": 3, "points": 9}) == [1, 2, 3]


def test_a_latin_hypercube_has_one_number_of_each_interval():
    speeds = {"from": 0.5, "to": 8.0, "scale": "log"}
    axes = {"fill": {"from": 0.2, "to": 0.8}, "speed": speeds, "seed": {"from": 1, "to": 40}}
    found = sampling.sample("sample", "latin-hypercube", 40, 7, axes)
    assert found == sampling.sample("sample", "latin-hypercube", 40, 7, axes)
    assert found != sampling.sample("sample", "latin-hypercube", 40, 8, axes)
    fills = sorted(each["fill"] for each in found)
    assert [int((fill - 0.2) / 0.6 * 40) for fill in fills] == list(range(40))
    assert sorted(each["seed"] for each in found) == list(range(1, 41))
    assert sum(each["speed"] < 2 for each in found) == 20  # half of the octaves
    # The axes are independent: the order of one says nothing of that of another.
    for one, other in (("fill", "seed"), ("fill", "speed"), ("speed", "seed")):
        assert abs(statistics.correlation(*([each[axis] for each in found] for axis in (one, other)))) < 0.5
    # Without the intervals some are hit twice.
    drawn = sampling.sample("sample", "random", 40, 7, axes)
    assert len({int((each["fill"] - 0.2) / 0.6 * 40) for each in drawn}) < 40
    chosen = sampling.sample("sample", "latin-hypercube", 40, 7, {"scheme": ["a", "b", "c", "d"]})
    assert Counter(each["scheme"] for each in chosen) == dict.fromkeys("abcd", 10)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"gird": {}}, "plan: table gird: there is none; the nearest is grid"),
        (
            {"fixed": {"trace": "t", "gc_treshold": 1}},
            "plan: fixed: key gc_treshold: there is none; the nearest is gc_thres",
        ),
        ({"grid": {"seed": []}}, "plan: grid.seed: an axis has at least one value"),
        ({"grid": {"seed": 3}}, "plan: grid.seed = 3: allowed is a list of values, or a range"),
        ({"grid": {"seed": [1, 1]}}, "plan: grid.seed: 1 is listed twice"),
        ({"grid": {"fill": {"from": 0.5, "to": 0.1, "points": 3}}}, "from 0.5 to 0.1: allowed is a range that ascends"),
        ({"grid": {"fill": {"from": 0.1, "to": 0.5}}}, "needs step or points"),
        ({"grid": {"fill": {"from": 0.1, "to": 0.5, "stop": 1}}}, "key stop: there is none; the nearest is step"),
        ({"grid": {"speed": {"from": 0, "to": 8, "points": 3, "scale": "log"}}}, "begins above 0"),
        ({"fixed": {"trace": "t", "fill": 1}, "grid": {"fill": [0.5]}}, "plan: fill is given twice"),
        ({"fixed": {"trace": "t", "run.fill": 1}, "grid": {"fill": [0.5]}}, "plan: fill is given twice"),
        ({"sample": {"points": 0, "fill": [0.1]}}, "plan: sample: points = 0: allowed is a whole number from 1"),
        ({"sample": {"points": 3}}, "plan: sample: there is no axis"),
        ({"sample": {"points": 3, "method": "sobol", "fill": [0.1]}}, "method sobol: there is none; there are latin-"),
        ({"sample": {"points": 3, "seed": {"from": 1, "to": 3}}}, "a seed axis belongs into grid"),
        ({"when": [{"if": {"scheme": "raid5"}, "grid": {"seed": [1]}}]}, "plan: when 1: no point meets its if"),
        ({"when": [{"grid": {"seed": [1]}}]}, "plan: when 1: no if"),
        ({"skip": [{"trace": "t"}]}, "there is nothing to run: every point is skipped"),
        ({"skip": [{"scheme": "riad0"}]}, "plan: skip 1: no point matches it"),
        ({"grid": {"speed": [1], "run.speed": [2]}}, "plan: grid: speed is given twice"),
        ({"grid": {"profile": {"streams": [1, 2]}}}, "key profile.streams: there is none"),
        ({"grid": {"profile": {"streams": {"0": [1, 2]}}}}, "key profile.streams.0: there is none"),
        ({"skip": [{}]}, "plan: skip 1: allowed is a table with at least one key"),
        ({"grid": 3}, "plan: grid: allowed is a table"),
        ({"list": {"seed": 1}}, "plan: list: allowed are tables, each under"),
        ({"fixed": {}}, "plan: no trace: give one in fixed, or an axis of them"),
        ({"grid": {"seed": {"from": 1, "to": 2000}, "limit": {"from": 1, "to": 2000}}}, "more than 1000000 points"),
    ],
)
def test_a_wrong_plan_is_refused_in_a_line(said, text):
    """One that can be read: a key is named with the nearest, not with all that there are."""
    with pytest.raises(fr.InputError) as error:
        plan.made({"fixed": {"trace": "t"}} | said)
    assert text in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


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
    monkeypatch.setattr(serial.machine, "free_bytes", lambda: 0)
    fixed = {"trace": trace, "scheme": "raid5", "device": "tiny"}
    said = {"fixed": fixed, "grid": {"speed": [1, 2, 3], "fill": [0.2, 0.5]}}
    frame = fr.sweep(said, jobs=1).to_frame()
    # Without memory for two, each is prepared once all the same; rows are in the order of the plan.
    assert len(made) == 2
    assert frame["speed"].to_list() == [1, 1, 2, 2, 3, 3]


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


def test_jobs_say_what_they_need_with_the_device_that_they_copy(trace, monkeypatch):
    """A cluster is told that, and a dry run shows the most."""
    from flashraid.sweeping import on_dask

    told = []
    submit = on_dask.Client.submit

    def recording(client, work, each, **more):
        told.append((each, more["resources"]))
        return submit(client, work, each, **more)

    monkeypatch.setattr(on_dask.Client, "submit", recording)
    said = {"fixed": {"trace": trace, "scheme": "raid5", **PLACE}, "grid": {"speed": [1, 2]}}
    assert fr.sweep(said, jobs=2).status == 0
    assert len(told) == 2
    for each, resources in told:
        assert each.preparation
        assert resources == {on_dask.MEMORY: 2 * each.memory_bytes}


def test_a_trace_arrives_piece_by_piece(tmp_path):
    from flashraid.sweeping import on_dask

    whole, path = bytes(range(256)) * 4, tmp_path / "folder" / "trace.csv"
    for at in range(0, len(whole), 400):
        assert not path.exists()
        on_dask._receive(str(path), at, whole[at : at + 400], len(whole))
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


# ---- datasets ----


def small(trace):
    return {
        "fixed": {"trace": trace, "space_bytes": 1 << 22, **PLACE},
        "grid": {"scheme": ["raid0", "raid5"], "queue_depth": [1, 2]},
    }


def test_finished_runs_are_not_done_again(trace, tmp_path, monkeypatch):
    out = tmp_path / "dataset"
    first = fr.sweep(small(trace), out=out, jobs=1).to_frame()
    monkeypatch.setattr(serial, "do", lambda *_: pytest.fail("a finished run is done again"))
    again = fr.sweep(small(trace), out=out, jobs=1).to_frame()
    assert again.equals(first)
    monkeypatch.undo()
    more = small(trace) | {"grid": {"scheme": ["raid5", "raid1"], "queue_depth": [2, 1]}}
    done = []
    monkeypatch.setattr(serial, "do", lambda each, *rest: done.append(each) or job.do(each, *rest))
    frame = fr.sweep(more, out=out, jobs=1).to_frame()
    assert [json.loads(each.config)["config"]["scheme"]["name"] for each in done] == ["raid1"] * 2
    assert frame.height == 4
    assert dataset.read(out).height == 6
    assert len(dataset.parts(out)) == 1


def test_another_trace_under_the_same_name_is_another_run(trace, tmp_path):
    out = tmp_path / "dataset"
    first = fr.sweep(small(trace), out=out, jobs=1).to_frame()
    write_trace(tmp_path, [(at * 900, "W", at % 50 * 4096, 8192) for at in range(300)])
    second = fr.sweep(small(trace), out=out, jobs=1).to_frame()
    assert not set(first["run"]) & set(second["run"])
    assert dataset.read(out).height == 8


def test_a_row_that_was_cut_off_is_done_again(trace, tmp_path):
    out = tmp_path / "dataset"
    expected = results(fr.sweep(small(trace), out=out, jobs=1).to_frame())
    # As a crash leaves it: nothing but the journal, and its last line not whole.
    rows = [json.dumps(row) for row in dataset.read(out).to_dicts()]
    for part in dataset.parts(out):
        part.unlink()
    (out / dataset.JOURNAL).write_text("\n".join(rows)[:-20])
    assert dataset.read(out).height == 3
    seen = []
    frame = fr.sweep(small(trace), out=out, jobs=1, progress=seen.append).to_frame()
    assert (seen[0].kept, seen[-1].done, seen[-1].runs) == (3, 4, 4)
    assert results(frame).select(expected.columns).equals(expected)


def test_a_damaged_dataset_is_named(trace, tmp_path):
    out = tmp_path / "dataset"
    fr.sweep(small(trace), out=out, jobs=1)
    (out / "part-foo.parquet").write_text("of somebody else")
    for name, text, said in (
        ("part-000099.parquet", "garbage", r"part-000099\.parquet: damaged \(.*remove it, and its runs are done again"),
        ("journal.jsonl", "not json\n", r"journal\.jsonl, line 1: damaged: remove the line"),
        ("journal.jsonl", '{"run": 3}\n', r"journal\.jsonl, line 1: damaged: remove the line"),
    ):
        before = (out / name).read_bytes() if (out / name).exists() else None
        (out / name).write_text(text)
        with pytest.raises(fr.InputError, match=said):
            fr.sweep(small(trace), out=out, jobs=1)
        (out / name).unlink() if before is None else (out / name).write_bytes(before)
    assert fr.sweep(small(trace), out=out, jobs=1).status == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trace_that_is_gone_fails_its_runs(tmp_path, jobs):
    path = write_trace(tmp_path, [(at, "W", at * 4096, 4096) for at in range(9)], "gone.csv")
    out = tmp_path / "dataset"

    def remove(status):
        path.unlink(missing_ok=True)

    found = fr.sweep(small(str(path)), out=out, jobs=jobs, progress=remove)
    assert found.to_frame()["status"].to_list() == ["failed"] * 4
    assert set(found.failed["reason"]) == {job.GONE}

    def exchange(status):
        write_trace(tmp_path, [(at, "R", at * 4096, 4096) for at in range(9)], "gone.csv")

    write_trace(tmp_path, [(at, "W", at * 4096, 4096) for at in range(9)], "gone.csv")
    found = fr.sweep(small(str(path)), jobs=jobs, progress=exchange)
    assert set(found.failed["reason"]) == {job.GONE}, "as long, but another one"
    write_trace(tmp_path, [(at, "W", at * 4096, 4096) for at in range(9)], "gone.csv")
    assert fr.sweep(small(str(path)), out=out, jobs=jobs).status == 0


def test_a_drive_may_lie_anywhere(trace, tmp_path):
    drive = tmp_path / "a@b" / "c.drive"
    drive.parent.mkdir()
    fr.run(trace, device="tiny", scheme="raid5", fill=0.5, save_drive=drive)
    assert fr.sweep({"fixed": {"trace": trace, "drive": str(drive)}}, jobs=1).status == 0


def test_a_drive_that_is_not_there_may_be_there_the_next_time(trace, tmp_path, monkeypatch):
    drive, out = tmp_path / "a.drive", tmp_path / "dataset"
    fr.run(trace, device="tiny", scheme="raid5", fill=0.5, save_drive=drive)
    monkeypatch.chdir(tmp_path)
    said = {"fixed": {"trace": trace, "drive": "a.drive"}, "grid": {"speed": [1, 2]}}
    moved = tmp_path / "b.drive"

    def move(status):
        if drive.exists():
            drive.rename(moved)

    found = fr.sweep(said, out=out, jobs=1, progress=move)
    assert found.to_frame()["status"].to_list() == ["failed"] * 2
    moved.rename(drive)
    frame = fr.sweep(said, out=out, jobs=1).to_frame()
    assert frame["status"].to_list() == ["done"] * 2
    assert frame["simulated_ns"][1] == fr.run(trace, drive=drive, speed=2).simulated_ns


def test_a_crash_between_file_and_journal_leaves_each_run_once(trace, tmp_path):
    out = tmp_path / "dataset"
    fr.sweep(small(trace), out=out, jobs=1)
    rows = dataset.read(out)
    (out / dataset.JOURNAL).write_text("".join(json.dumps(row) + "\n" for row in rows.to_dicts()))
    assert dataset.read(out).height == 4
    fr.sweep(small(trace), out=out, jobs=1)
    assert pl.read_parquet(dataset.parts(out)).height == 4


def test_many_rows_become_files_on_the_way(trace, tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(dataset, "ROWS_OF_FILE", 4)
    seen = []
    out = tmp_path / "dataset"
    said = {"fixed": {"trace": trace, **PLACE}, "grid": {"scheme": ["raid5", "raid0"], "queue_depth": [1, 2, 3, 4, 5]}}
    frame = fr.sweep(said, out=out, jobs=1, progress=lambda _: seen.append(len(dataset.parts(out)))).to_frame()
    assert max(seen) == 3
    assert [pl.read_parquet(part).height for part in dataset.parts(out)] == [4, 4, 2]
    # The files are in the order of the plan, with the same columns, so that any reader takes them together.
    assert pl.read_parquet(dataset.parts(out))["run"].to_list() == frame["run"].to_list()


def test_a_dataset_is_read_while_its_journal_becomes_a_file(trace, tmp_path, monkeypatch):
    out = tmp_path / "dataset"
    rows = fr.sweep(small(trace), jobs=1).to_frame().select(*dataset.HEAD).to_dicts()
    with dataset.Dataset(str(out)) as kept:
        for row in rows:
            kept.add(json.dumps(row))
        for name in ("parts", "journal"):
            real = getattr(dataset, name)

            def racing(path, name=name, real=real):
                monkeypatch.setattr(dataset, name, real)
                found = list(real(path))
                kept._become_file()
                return found

            monkeypatch.setattr(dataset, name, racing)
            assert dataset.read(out).height == len(rows), name
            kept.add(json.dumps(rows[0] | {"run": f"another {name}"}))
            rows.append({})


def test_columns_of_numbers_stay_numbers():
    frame = dataset.frame_of([{"run": "a", "x": 1, "y": None, "z": "1"}, {"run": "b", "x": 0.5, "w": True, "z": 2}])
    assert frame["x"].to_list() == [1.0, 0.5]
    assert frame["w"].to_list() == [None, True]
    assert frame["z"].to_list() == ["1", "2"]


def test_stopping_keeps_what_was_finished(trace, tmp_path):
    out = tmp_path / "dataset"
    with pytest.raises(KeyboardInterrupt):
        fr.sweep(small(trace), out=out, jobs=1, progress=lambda status: status.done < 2)
    assert dataset.read(out).height == 2
    seen = []
    fr.sweep(small(trace), out=out, jobs=1, progress=seen.append)
    assert seen[0].kept == 2


def test_a_long_plan_can_be_stopped(trace, tmp_path, monkeypatch):
    monkeypatch.setattr(resolved, "POINTS_AT_ONCE", 2)
    seen = []
    with pytest.raises(KeyboardInterrupt):
        fr.sweep(small(trace), out=tmp_path / "out", jobs=1, progress=lambda status: seen.append(status) or False)
    assert [each.waits_for for each in seen] == ["its plan"]
    assert not (tmp_path / "out").exists()


def test_two_sweeps_do_not_write_to_one_folder(trace, tmp_path):
    out = tmp_path / "dataset"
    with dataset.Dataset(str(out)), pytest.raises(fr.InputError, match="another sweep is at work there"):
        fr.sweep(small(trace), out=out, jobs=1)
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.tex").write_text("")
    with pytest.raises(fr.InputError, match="holds other files"):
        fr.sweep(small(trace), out=other, jobs=1)
    assert [each.name for each in other.iterdir()] == ["thesis.tex"]


def write_plan(folder, trace, extra="", schemes=("raid0", "raid5")):
    path = folder / "plan.toml"
    path.write_text(
        f'[fixed]\ntrace = "{trace}"\ndevice = "tiny"\nfill = 0.5\n{extra}\n'
        f"[grid]\nscheme = {json.dumps(schemes)}\nqueue_depth = [1, 2, 4]\n"
    )
    return path


def test_a_full_disk_loses_nothing_that_was_finished(trace, tmp_path):
    path = write_plan(tmp_path, trace)
    line = [COMMAND, "sweep", path, "--jobs", "1", "--quiet"]
    # Files may not grow beyond two rows and a half: the system answers as if the disk were full.
    one = fr.sweep({"fixed": {"trace": trace, "scheme": "raid5", **PLACE}}, jobs=1)
    most = int(2.5 * len(json.dumps(one.to_frame().to_dicts()[0])))
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    full = subprocess.run(line, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert full.returncode == 2
    assert "plan.sweep: cannot be written: " in full.stderr
    assert "what was finished is kept" in full.stderr
    assert len(full.stderr.splitlines()) == 1
    kept = list(dataset.journal(tmp_path / "plan.sweep"))
    assert len(kept) == 2
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    frame = dataset.read(tmp_path / "plan.sweep")
    assert frame.height == 6
    assert [each["provenance.ended"] for each in kept] == frame.head(2)["provenance.ended"].to_list()


def test_a_killed_sweep_goes_on_where_it_was(tmp_path, long_trace):
    path = write_plan(tmp_path, long_trace, "fit = 'wrap'\nlimit = 60000")
    out = tmp_path / "plan.sweep"
    line = [COMMAND, "sweep", path, "--jobs", "1", "--quiet"]
    first = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(dataset.journal(out)) and time.monotonic() < deadline:
        time.sleep(0.01)
    first.kill()
    first.wait()
    kept = {row["run"]: row for row in dataset.journal(out)}
    assert 1 <= len(kept) < 6
    assert subprocess.run(line, stdout=subprocess.DEVNULL, check=False).returncode == 0
    rows = {row["run"]: row for row in dataset.read(out).to_dicts()}
    assert len(rows) == 6
    assert all(rows[run]["provenance.ended"] == row["provenance.ended"] for run, row in kept.items())
    fresh = fr.sweep(path, jobs=1).to_frame()
    for row in fresh.to_dicts():
        assert {key: rows[row["run"]][key] for key in row if key.startswith("latency_ns")} == {
            key: value for key, value in row.items() if key.startswith("latency_ns")
        }


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
    time.sleep(4)
    begun.send_signal(signal.SIGINT)
    _, said = begun.communicate(timeout=60)
    assert begun.returncode == 130
    assert said == "interrupted: what was finished is kept; the same command goes on\n"


# ---- figures and reports ----


def test_cells_have_mean_and_interval_in_one_unit():
    means = [None] * len(view.FIGURES)
    half_widths = [0.0] * len(view.FIGURES)
    at = next(at for at, figure in enumerate(view.FIGURES) if figure.column == "latency_ns.write.p99")
    means[at], half_widths[at] = 2_500_000.0, 300_000.0
    heads, cells = view.cells([view.Line((), "done", 3, tuple(means), tuple(half_widths))])
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
