"""What a sweep keeps: finished runs, whatever happens."""

import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial

import polars as pl
import pytest
from conftest import COMMAND, ROOT, write_trace
from sweep_cases import PLACE, results, short_trace, write_plan

import flashraid as fr
from flashraid import files, kept
from flashraid.series import _read
from flashraid.sweeping import dataset, job, local, resolved


@pytest.fixture
def trace(tmp_path):
    return short_trace(tmp_path)


def small(trace):
    return {
        "fixed": {"trace": trace, "space_bytes": 1 << 22, **PLACE},
        "grid": {"scheme": ["raid0", "raid5"], "queue_depth": [1, 2]},
    }


def test_finished_runs_are_not_done_again(trace, tmp_path, monkeypatch):
    out = tmp_path / "dataset"
    first = fr.sweep(small(trace), out=out, jobs=1).to_frame()
    monkeypatch.setattr(local, "done_or_failed", lambda *_: pytest.fail("a finished run is done again"))
    again = fr.sweep(small(trace), out=out, jobs=1).to_frame()
    assert again.equals(first)
    monkeypatch.undo()
    more = small(trace) | {"grid": {"scheme": ["raid5", "raid1"], "queue_depth": [2, 1]}}
    done = []
    monkeypatch.setattr(local, "done_or_failed", lambda each, *rest: done.append(each) or job.do(each, *rest))
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


def test_a_recording_of_several_files_is_told_by_all_of_them(tmp_path):
    """The files of the other CPUs are read with the one that is named."""
    for cpu in range(2):
        (tmp_path / f"sda.blktrace.{cpu}").write_bytes((ROOT / f"samples/formats/example.blktrace.{cpu}").read_bytes())
    (tmp_path / "sdb.blktrace.1").write_bytes(b"another recording")
    (tmp_path / "sda.blktrace.1.gz").write_bytes(b"the same CPU's, which is not read")
    first, second = (tmp_path / f"sda.blktrace.{cpu}" for cpu in range(2))
    plan = {"fixed": {"trace": str(first), "scheme": "raid5", "fit": "wrap", **PLACE}}

    def run():
        return fr.sweep(plan, out=tmp_path / "dataset", jobs=1).to_frame().row(0, named=True)

    both = run()
    assert job.contents_beside(str(first)) == (("sda.blktrace.1", kept.content(str(second))),)
    assert not job.contents_beside(str(tmp_path / "sda.blktrace"))
    assert run()["run"] == both["run"]
    source = job.Source(
        first.name, str(first), "", kept.content(str(first)), first.stat().st_size, job.contents_beside(str(first))
    )
    assert source.is_at(str(first))
    second.write_bytes(second.read_bytes() * 2)
    assert not source.is_at(str(first))
    changed = run()
    assert changed["run"] != both["run"]
    assert changed["workload.requests"] > both["workload.requests"]
    second.unlink()
    packed = tmp_path / "sda.blktrace.1.gz"
    assert job.contents_beside(str(first)) == ((packed.name, kept.content(str(packed))),)


def test_what_a_closed_loop_says_of_a_recording_is_not_said_again():
    assert job.told_once(["80 requests; times", "", "80 requests", "80 requests; times", "7 lost"]) == [
        "80 requests; times",
        "7 lost",
    ]


def test_a_row_that_was_cut_off_is_done_again(trace, tmp_path):
    out = tmp_path / "dataset"
    expected = results(fr.sweep(small(trace), out=out, jobs=1).to_frame())
    # As a crash leaves it: nothing but the journal, and its last line not whole.
    rows = [json.dumps(row) for row in dataset.read(out).to_dicts()]
    for part in dataset.parts(out):
        part.unlink()
    (out / dataset.JOURNAL).write_text("".join(map(dataset._signed, rows))[:-20])
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
        ("_journal.jsonl", "not json\n", r"_journal\.jsonl, line 1: damaged: remove the line"),
        ("_journal.jsonl", '{"run": 3}\n', r"_journal\.jsonl, line 1: damaged: remove the line"),
        ("journal.jsonl", "not json\n", r"/journal\.jsonl, line 1: damaged: remove the line"),
        ("journal.jsonl", '{"run": 3}\n', r"/journal\.jsonl, line 1: damaged: remove the line"),
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
    (out / dataset.JOURNAL).write_text("".join(dataset._signed(json.dumps(row)) for row in rows.to_dicts()))
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


def test_a_copy_without_hidden_files_goes_on(trace, tmp_path):
    """As `cp out/* copy` makes it."""
    out, copy = tmp_path / "out", tmp_path / "copy"
    done = fr.sweep(small(trace), out=out, jobs=1)
    shutil.copytree(out, copy, ignore=shutil.ignore_patterns(".*"))
    again = fr.sweep(small(trace), out=copy, jobs=1)
    assert again.to_frame().equals(done.to_frame())


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


# ---- damage, and what others read ----


def flipped(data, bit):
    """The same with one bit changed."""
    found = bytearray(data)
    found[bit // 8] ^= 1 << bit % 8
    return bytes(found)


def read_or_said(read):
    """What is read, or what is said instead."""
    try:
        return read(), ""
    except fr.InputError as error:
        return None, str(error)


def test_no_changed_bit_changes_a_figure_in_silence(trace, tmp_path):
    """Of a file of the dataset, and of its journal: each damage is named, or nothing but a row is missing."""
    out = tmp_path / "dataset"
    fr.sweep(small(trace), out=out, jobs=1)
    (part,) = dataset.parts(out)
    whole, rows = part.read_bytes(), dataset.read(out)
    for bit in random.Random(1).sample(range(8 * len(whole)), 600):
        part.write_bytes(flipped(whole, bit))
        with pytest.raises(fr.InputError, match=r"part-\d+-[0-9a-f]+\.parquet: damaged \(the digest in its name"):
            dataset.read(out)
    part.unlink()
    kept, journal = rows.to_dicts(), out / dataset.JOURNAL
    whole = "".join(dataset._signed(json.dumps(row)) for row in kept).encode()
    journal.write_bytes(whole)
    assert list(dataset.journal(out)) == kept
    for bit in random.Random(2).sample(range(8 * len(whole)), 150):
        journal.write_bytes(flipped(whole, bit))
        found, said = read_or_said(lambda: list(dataset.journal(out)))
        # Without its end the last line is one that was never written to its end.
        assert found == kept[:-1] or "damaged: remove the line" in said


def test_a_damaged_file_without_a_digest_is_one_clear_line(trace, tmp_path, capfd):
    """As those of version 0.1, and tables of other outputs: Polars panics at some of these footers."""
    out = tmp_path / "dataset"
    fr.sweep({"fixed": {"trace": trace, "scheme": "raid5", **PLACE}}, out=out, jobs=1)
    (part,) = dataset.parts(out)
    old = part.rename(out / "part-000001.parquet")
    whole = old.read_bytes()
    assert dataset.read(out).height == 1
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    failed = 0
    for bit in random.Random(3).sample(range(8 * (len(whole) - footer), 8 * len(whole)), 100):
        old.write_bytes(flipped(whole, bit))
        found, said = read_or_said(lambda: dataset.read(out))
        if found is None:
            failed += 1
            assert re.search(r"part-000001\.parquet: damaged \(.+\): remove it", said)
            assert "\n" not in said
    assert failed > 10
    assert capfd.readouterr().err == ""


def test_a_panic_of_polars_is_an_error_as_others(tmp_path, monkeypatch):
    def panic(*_, **__):
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(pl, "read_parquet", panic)
    (tmp_path / "part-000001.parquet").write_text("")
    with pytest.raises(fr.InputError, match=r"part-000001\.parquet: damaged \(not a whole Parquet file\)"):
        dataset.read(tmp_path)
    series = tmp_path / "series.parquet"
    series.write_text("")
    with pytest.raises(fr.InputError, match=r"series\.parquet: cannot be read: not a whole Parquet file"):
        _read(str(series))


def test_readers_of_datasets_take_the_folder_as_one(trace, tmp_path):
    """Arrow, and with it pandas, Dask and Spark, leave out what begins with a dot or _."""
    out = tmp_path / "dataset"
    fr.sweep(small(trace), out=out, jobs=1)
    with dataset.Dataset(str(out)) as kept:
        kept.add(json.dumps({**dict.fromkeys(dataset.HEAD, "x"), "run": "y"}))
        names = {each.name for each in out.iterdir()}
    others = {name for name in names if not name.endswith(".parquet")}
    assert others == {"_journal.jsonl", ".lock"}
    assert pl.read_parquet(out / "part-*.parquet").height == 4
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert len(pandas.read_parquet(out)) == 4


def test_a_dataset_of_version_0_1_goes_on(trace, tmp_path):
    """Its journal has another name, and neither that nor its files have digests."""
    out = tmp_path / "dataset"
    expected = fr.sweep(small(trace), out=out, jobs=1).to_frame()
    rows = dataset.read(out)
    for part in dataset.parts(out):
        part.unlink()
    rows.head(3).write_parquet(out / "part-000001.parquet")
    (out / "journal.jsonl").write_text(json.dumps(rows.row(3, named=True)) + "\n" + '{"run": "cut')
    (out / dataset.JOURNAL).unlink()
    assert dataset.read(out).height == 4
    seen = []
    frame = fr.sweep(small(trace), out=out, jobs=1, progress=seen.append).to_frame()
    assert seen[0].kept == 4
    assert results(frame).equals(results(expected))
    assert sorted(each.suffix for each in out.iterdir()) == ["", ".jsonl", ".parquet"]
    assert not (out / "journal.jsonl").exists()
    assert all(map(dataset._digest_in, dataset.parts(out)))


def test_a_whole_dataset_of_version_0_1_gets_its_digests(trace, tmp_path):
    """Nothing is left to do but that."""
    out = tmp_path / "dataset"
    fr.sweep(small(trace), out=out, jobs=1)
    rows = dataset.read(out)
    for path in (*dataset.parts(out), out / dataset.JOURNAL):
        path.unlink()
    rows.write_parquet(out / "part-000001.parquet")
    seen = []
    fr.sweep(small(trace), out=out, jobs=1, progress=seen.append)
    assert seen[0].kept == 4
    assert dataset.read(out).equals(rows)
    assert all(map(dataset._digest_in, dataset.parts(out)))


def test_the_lock_is_neither_a_link_nor_written(trace, tmp_path):
    out, other = tmp_path / "dataset", tmp_path / "thesis.tex"
    fr.sweep(small(trace), out=out, jobs=1)
    other.write_text("three years of work")
    lock = out / ".lock"
    lock.write_text("somebody's note")
    assert fr.sweep(small(trace), out=out, jobs=1).status == 0
    assert lock.read_text() == "somebody's note"
    lock.unlink()
    for make, why in ((lambda: lock.symlink_to(other), "is a link"), (lambda: os.mkfifo(lock), "no regular file")):
        make()
        with pytest.raises(fr.InputError, match=rf"\.lock: (is )?{why}"):
            fr.sweep(small(trace), out=out, jobs=1)
        lock.unlink()
    assert other.read_text() == "three years of work"


# ---- what a killed process leaves ----


def test_parts_that_nobody_writes_any_more_are_removed(tmp_path):
    mine = files.NewFile(tmp_path / "mine.csv", "out")
    kept = {mine.temporary, str(tmp_path / ".mine.csv.part"), str(tmp_path / "a.0123456789abcdef.part")}
    dead = [".x.csv.0123456789abcdef.part", ".part-000001.parquet.fedcba9876543210.part", ".t.csv.77-0.part"]
    for path in (*dead, ".mine.csv.part", "a.0123456789abcdef.part", ".link.csv.0123456789abcdef.part"):
        (tmp_path / path).touch()
    link = tmp_path / ".link.csv.0123456789abcdef.part"
    link.unlink()
    link.symlink_to(tmp_path / "elsewhere")
    files.remove_dead_parts.cache_clear()
    other = files.NewFile(tmp_path / "other.csv", "out")
    assert {str(each) for each in tmp_path.iterdir()} == kept | {other.temporary, str(link)}
    other.write("whole")
    mine.discard()
    assert (tmp_path / "other.csv").read_text() == "whole"
    assert not files.left_behind & kept


def test_a_trace_that_is_being_written_is_not_taken_for_dead(tmp_path):
    target = tmp_path / "long.csv"
    seen = []

    def look(stage, count, share):
        files.remove_dead_parts.cache_clear()
        files.remove_dead_parts(str(tmp_path))
        seen.extend(each.name for each in tmp_path.iterdir())
        return True

    fr.synth(target, requests=200_000, space_bytes=1 << 30, interval_ns=1000, progress=look)
    assert any(files.PART.fullmatch(name) for name in seen)
    assert [each.name for each in tmp_path.iterdir()] == ["long.csv"]


def test_folders_that_nobody_uses_any_more_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = (
        "import os, sys\nfrom flashraid.files import scratch_folder\n"
        "with scratch_folder() as folder:\n    print(folder, flush=True)\n    os.kill(os.getpid(), 9)\n"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    killed = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    left = killed.stdout.strip()
    (tmp_path / "flashraid-of-others").mkdir()
    assert os.path.isdir(left)
    files._remove_dead_folders.cache_clear()
    with files.scratch_folder() as own:
        assert not os.path.exists(left)
        files._remove_dead_folders.cache_clear()
        with files.scratch_folder():
            assert os.path.isdir(own), "that is in use"
    assert [each.name for each in tmp_path.iterdir()] == ["flashraid-of-others"]
