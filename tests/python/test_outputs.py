"""Outputs beside the result: files by command and library, their forms, what is refused, what trouble leaves behind."""

import csv
import json
import re
import resource
import signal
import subprocess
import time

import polars
import pytest
from conftest import COMMAND, LONG_REQUESTS, ROOT, SAMPLE, write_trace

import flashraid as fr

RUN = ["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--limit", "3000", "--fill", "0.05", "--quiet"]
SETTINGS = {"device": "ssd1", "limit": 3000, "fill": 0.05, "engine": False}
FILES = [
    "--log-latency",
    "l.parquet",
    "--log-operations",
    "o.parquet",
    "--series",
    "s.parquet",
    "--hdr-log",
    "h.hlog",
    "--timeline",
    "t.json",
]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_all_files_by_command_equal_in_equal_runs_and_beside_an_equal_result(command):
    plain = command(*RUN, "--no-engine", "--json", "-").stdout
    first = command(*RUN, "--no-engine", *FILES, "--json", "-").stdout
    files = {
        name: (command.folder / name).read_bytes()
        for name in ["l.parquet", "o.parquet", "s.parquet", "h.hlog", "t.json"]
    }
    assert names(command.folder) == sorted(files)
    second = command(*RUN, "--no-engine", *FILES, "--json", "-").stdout
    assert plain == first == second
    assert files == {name: (command.folder / name).read_bytes() for name in files}


def test_parquet_and_csv_have_the_same_typed_rows(tmp_path):
    paths = {
        form: {name: tmp_path / f"{name}.{form}" for name in ("latency_log", "operation_log", "series")}
        for form in ("csv", "parquet")
    }
    results = {form: fr.run(SAMPLE, scheme="raid5", **SETTINGS, **paths[form]) for form in paths}
    for name in ("latency_log", "operation_log", "series"):
        frame = results["csv"].frame(name)
        assert frame.equals(results["parquet"].frame(name))
        assert frame.equals(polars.read_parquet(paths["parquet"][name]))
        with paths["csv"][name].open() as file:
            assert frame.columns == next(csv.reader(file))
    requests = results["csv"].frame("latency_log")
    assert requests.schema["op"] == polars.String
    assert requests.schema["failed"] == polars.Boolean
    assert all(requests.schema[name] == polars.Int64 for name in requests.columns if name.endswith("_ns"))
    series = results["csv"].frame("series")
    assert all(series.schema[name] == polars.Float64 for name in series.columns if name.endswith("_busy"))
    assert series.schema["member0_queue"] == polars.Int64
    latency = results["csv"].latency.write
    writes = requests.filter(polars.col("op") == "write")["latency_ns"]
    assert (writes.len(), writes.max()) == (latency.count, latency.max)
    assert writes.mean() == pytest.approx(latency.mean)
    assert series["write_requests"].sum() == latency.count
    assert results["csv"].files == {name: str(path) for name, path in paths["csv"].items()}


def test_a_frame_that_was_not_written_is_refused(tmp_path):
    result = fr.run(SAMPLE, scheme="raid0", **SETTINGS, series=tmp_path / "s.csv")
    with pytest.raises(fr.InputError, match=r"latency_log: allowed is a table that this run wrote \(series\)"):
        result.frame("latency_log")
    with pytest.raises(fr.InputError, match="fio=True"):
        result.fio_json  # noqa: B018


def test_fio_json_goes_where_json_goes(command):
    shown = command(*RUN, "--output-format", "fio-json").stdout
    command(*RUN, "--output-format", "fio-json", "--json", "f.json")
    assert shown == (command.folder / "f.json").read_text()
    job = json.loads(shown)["jobs"][0]
    result = fr.run(SAMPLE, scheme="raid5", fio=True, **SETTINGS)
    assert json.loads(result.fio_json)["jobs"][0] == job
    assert job["write"]["clat_ns"]["percentile"]["99.000000"] == result.latency.write.p99
    assert job["write"]["iops"] == pytest.approx(result.latency.write.count * 1e9 / result.bandwidth.span_ns)
    # What fio-plot reads of a job, with the types that it needs.
    options = job["job options"]
    assert (int(options["iodepth"]), int(options["numjobs"]), options["rw"]) == (1, 1, "randrw")
    assert float(job["read"]["iops_stddev"]) >= 0


def test_compare_writes_a_file_and_a_fio_job_for_each_scheme(command):
    arguments = ["compare", *RUN[1:4], "--schemes", "raid0,raid5", *RUN[6:], "--series", "s.csv"]
    document = json.loads(command(*arguments, "--output-format", "fio-json").stdout)
    assert [(job["jobname"], job["groupid"]) for job in document["jobs"]] == [("raid0", 0), ("raid5", 1)]
    assert len(document["disk_util"]) == 2
    assert names(command.folder) == ["s-raid0.csv", "s-raid5.csv"]
    each = fr.compare(SAMPLE, schemes="raid0,raid5", fio=True, **SETTINGS, series=command.folder / "s.csv")
    assert json.loads(each.fio_json)["jobs"] == document["jobs"]
    assert [result.frame("series")["flash_programs_redundancy"].sum() > 0 for result in each.results] == [False, True]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--log-latency", "l.txt"], "--log-latency: l.txt: allowed is a name that ends in .csv or .parquet"),
        (["--timeline", "t.csv"], "--timeline: t.csv: allowed is a name that ends in .json"),
        (["--series", "none/s.csv"], "none/s.csv: cannot be written: No such file or directory"),
        (["--hdr-log", "."], "--hdr-log: .: allowed is the name of a file"),
        (["--hdr-log", "-"], "--hdr-log: -: allowed is the name of a file"),
        (["--series", "s.csv", "--log-latency", "./s.csv"], "--log-latency and --series are both s.csv"),
        (["--series", "s.csv", "--json", "s.csv"], "--json and --series are both s.csv"),
        (["--timeline", "t.json", "--timeline-window", "2s..1s"], "--timeline-window = 2s..1s: allowed is START..END"),
        (["--timeline", "t.json", "--timeline-window", "1..2"], "--timeline-window = 1..2: allowed is START..END"),
        (["--timeline-window", "1s..2s"], "--timeline-window without a timeline"),
        (
            ["--series", "s.csv", "--series-interval", "10ns"],
            "--series-interval = 10ns: allowed is a time from 1us up to 9223372036s (292 years) in whole",
        ),
        (["--series-interval", "10ms"], "--series-interval without an output that has intervals"),
        (["--output-format", "xml"], "--output-format xml: allowed is flashraid or fio-json"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_and_leaves_nothing(command, options, expected):
    done = command(*RUN, *options, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {expected}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert names(command.folder) == []


def test_the_trace_is_never_an_output(command):
    trace = write_trace(command.folder, [(0, "W", 0, 4096)])
    before = trace.read_text()
    for verb in (["run", "--scheme", "raid0"], ["compare", "--schemes", "raid0"]):
        # `compare` would write trace-raid0.csv, which is another file.
        arguments = [verb[0], trace, "--device", "ssd1", *verb[1:], "--quiet", "--series", trace]
        command(*arguments, status=2 if verb[0] == "run" else 0)
        assert trace.read_text() == before
    with pytest.raises(fr.InputError, match="trace and series are both"):
        fr.run(trace, device="ssd1", scheme="raid0", series=trace)


def test_an_error_in_the_middle_leaves_old_files_and_no_others(command):
    trace = write_trace(command.folder, [(0, "W", 0, 4096), (5, "W", 0, "nothing")])
    (command.folder / "s.csv").write_text("old")
    command("run", trace, "--device", "ssd1", "--scheme", "raid0", "--series", "s.csv", "--hdr-log", "h", status=2)
    assert names(command.folder) == ["s.csv", "trace.csv"]
    assert (command.folder / "s.csv").read_text() == "old"


def test_a_full_disk_is_one_line_and_leaves_nothing(command):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = command(*RUN, "--log-latency", "l.csv", "--series", "s.csv", status=2, preexec_fn=small_files)
    assert done.stderr.startswith("error: --log-latency cannot be written: File too large")
    assert done.stderr.count("\n") == 1
    assert names(command.folder) == []


def test_interrupted_runs_write_what_there_is(tmp_path, long_trace):
    line = ["run", long_trace, "--device", "ssd1", "--scheme", "raid5", "--json", "r.json", *FILES]
    process = subprocess.Popen([COMMAND, *map(str, line)], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (files := list(tmp_path.glob(".t.json.*.part"))) or files[0].stat().st_size == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert names(tmp_path) == ["h.hlog", "l.parquet", "o.parquet", "r.json", "s.parquet", "t.json"]
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["partial"]
    requests = polars.read_parquet(tmp_path / "l.parquet")
    assert 0 < requests.height == result["requests"]["completed"] < LONG_REQUESTS
    series = polars.read_parquet(tmp_path / "s.parquet")
    assert series["length_ns"].sum() == result["simulated_ns"]
    assert series.select(polars.sum_horizontal("read_requests", "write_requests").sum()).item() == requests.height
    assert json.loads((tmp_path / "t.json").read_text())["otherData"]["partial"] is True


def test_the_library_writes_files_before_it_says_interrupted(tmp_path, long_trace):
    with pytest.raises(fr.Interrupted) as caught:
        fr.run(
            long_trace,
            device="ssd1",
            scheme="raid0",
            progress=lambda stage, count, share: stage != "replaying",
            latency_log=tmp_path / "l.csv",
        )
    result = caught.value.result
    assert result.frame("latency_log").height == result.requests.completed
    assert names(tmp_path) == ["l.csv"]


def test_an_interrupted_comparison_leaves_files_of_what_ran(tmp_path, long_trace):
    with pytest.raises(fr.Interrupted):
        fr.compare(
            long_trace,
            device="ssd1",
            schemes=["raid0", "raid5"],
            jobs=1,
            progress=lambda stage, count, share: stage != "replaying",
            series=tmp_path / "s.csv",
        )
    assert names(tmp_path) == ["s-raid0.csv"]


def test_every_column_is_explained(tmp_path):
    files = {name: tmp_path / f"{name}.csv" for name in ("latency_log", "operation_log", "series")}
    result = fr.run(SAMPLE, scheme="raid5", **SETTINGS, **files)
    text = (ROOT / "docs" / "outputs.md").read_text()
    for output in files:
        for column in result.frame(output).columns:
            general = re.sub(
                r"^(member|bus)\d+_", lambda found: {"member": "memberM_", "bus": "busC_"}[found[1]], column
            )
            assert f"`{general}`" in text, column


def test_outputs_and_averages_begin_with_the_first_arrival(tmp_path):
    def found(start_us):
        path = tmp_path / f"at-{start_us}.csv"
        rows = [f"{start_us + index * 1000},W,{index * 12288},4096" for index in range(200)]
        path.write_text("\n".join(["ts_us,op,offset,size", *rows]) + "\n")
        files = {"series": tmp_path / f"s-{start_us}.csv", "timeline": tmp_path / f"t-{start_us}.json"}
        result = fr.run(
            path, device="tiny", scheme="fra", fill=0.5, engine=False, fio=True, series_interval="3ms", **files
        )
        fio = json.loads(result.fio_json)
        del fio["jobs"][0]["job options"], fio["jobs"][0]["jobname"]
        timeline = json.loads(files["timeline"].read_text())
        events = [
            event | {"ts": round(event["ts"] - start_us, 3)} for event in timeline["traceEvents"] if "ts" in event
        ]
        window = [timeline["otherData"][f"window_{end}_ns"] - start_us * 1000 for end in ("start", "end")]
        series = result.frame("series").with_columns(polars.col("start_ns") - start_us * 1000)
        members = [member["busy_fraction"] for member in result.to_dict()["members"]]
        return series, window, events, result.to_dict()["window"], members, fio["jobs"], fio["disk_util"][0]["util"]

    # The second is a time of day in 2026: 1.79e15 us are a whole number of intervals of 3 ms.
    early, late = found(0), found(1_790_000_001_000_000 // 3000 * 3000)
    assert early[0].equals(late[0])
    assert early[1] == late[1] == [0, 100_000_000]
    assert len(early[2]) == len(late[2]) > 100
    assert early[3:] == late[3:]
    assert early[3]["mean_pages"] > 0.1
    assert early[6] > 10


def test_a_series_begins_in_the_interval_of_the_first_arrival_or_of_a_failure_before(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("ts_us,op,offset,size\n5000250,W,0,4096\n5000900,W,4096,4096\n")
    settings = {"device": "tiny", "scheme": "raid1", "fill": 0.5, "series": tmp_path / "s.csv"}
    result = fr.run(path, **settings)
    series = result.frame("series")
    assert series["start_ns"].to_list() == [5_000_000_000]
    assert series["write_requests"].sum() == 2
    result = fr.run(path, fail="block:0.0.0.0.1@0.25s", **settings)
    series = result.frame("series")
    assert series["start_ns"][0] == 200_000_000
    assert series["flash_programs_recovery"].sum() == result.to_dict()["flash_ops"]["programs"]["rebuild"] > 0
    # The repair before the first arrival is in no average.
    assert all(member["busy_fraction"] <= 1 for member in result.to_dict()["members"])


def test_a_series_of_too_many_rows_is_refused_before_they_are_written(command):
    (command.folder / "gap.csv").write_text("ts_us,op,offset,size\n0,W,0,4096\n604800000000,W,4096,4096\n")
    line = ["run", "gap.csv", "--device", "tiny", "--scheme", "raid0", "--quiet", "--series", "s.csv"]
    done = command(*line, "--series-interval", "1us", status=2)
    assert done.stderr.startswith(
        "error: --series-interval = 1000ns: the series would have more than 10000000 rows by 604800000000000 ns"
    ), done.stderr
    assert "allowed is a longer interval" in done.stderr
    assert names(command.folder) == ["gap.csv"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("scheme", "are_copies"), [("raid1", True), ("raid5", False)])
def test_only_copies_are_logged_as_mirrored(tmp_path, scheme, are_copies):
    """Not a write of a stripe whose parity is lost, which reserves a page for it."""
    log = tmp_path / "log.csv"
    trace = ROOT / "tests" / "golden" / "trace.csv"
    fail = ["channel:1@30%", "channel:2@60%"]
    result = fr.run(trace, device="tiny", scheme=scheme, fill=0.9, fit="wrap", fail=fail, latency_log=log)
    writes = result.frame("latency_log").filter(op="write", failed=False)
    assert set(writes["method"]) >= ({"mirrored"} if are_copies else {"none", "rmw"})
    assert ("mirrored" in set(writes["method"])) == are_copies
    assert result.parity_updates.mirrored == 0
