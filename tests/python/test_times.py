"""A trace at another time gives the same result, and outputs say when to the nanosecond, up to 292 years."""

import csv
import gzip
import itertools
import json

import pytest
from conftest import PROVE, SAMPLE, write_trace

import flashraid as fr

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
# Also where numbers of 47, 48 and 53 bits of nanoseconds end, amid the trace.
MOVES_US = [
    40 * HOUR_US,
    2**47 // 1000 - 20_000,
    2**48 // 1000 - 20_000,
    7 * DAY_US,
    30 * DAY_US,
    2**53 // 1000 - 20_000,
    200 * 365 * DAY_US,
]
LATEST_NS = 2**63 - 1
SETTINGS = {
    "device": "tiny",
    "fit": "wrap",
    "fill": 0.5,
    "warmup": 1,  # what comes before the first request is not measured
    "verify": True,
    "spare_chips": 1,
    "over_provisioning": 0.3,
}
CASES = [
    ("raid0", {}),
    ("raid5", {"fail": ["chip:1.0@request:100"], "rebuild": "dor"}),
    ("raid5", {"nvram_buffer_bytes": 65536, "mapping": "dftl", "cmt_entries": 64}),
    ("raid1", {"fail": ["channel:2@request:50"], "buffer_bytes": 65536}),
    ("cr5m", {"chips_per_channel": 3, "fail": ["block:1.0.0.0.3@request:100"]}),
    ("ppc", {}),
]


def rows(count=300):
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as file:
        found = list(csv.reader(file))[1 : count + 1]
    return [(int(row[0]), row[1], int(row[2]), int(row[3])) for row in found]


def moved_back(result, move_ns):
    """What a result says, with times from the move on; without what names the run."""
    found = json.loads(json.dumps(result.to_dict()))
    found.pop("engine")
    for key in ("name", "sha256"):
        found["workload"].pop(key)
    events = found["faults"] + [failed for rebuild in found["rebuild"] for failed in rebuild["failed"]]
    for event in events:
        event["at_ns"] -= move_ns
    for rebuild in found["rebuild"]:
        for key in ("started_ns", "ended_ns", "finished_ns"):
            if rebuild[key] is not None:
                rebuild[key] -= move_ns
    return found


def table(path, move_ns):
    """A table of an output with its times from the move on."""
    times = ("arrival_ns", "start_ns", "end_ns")
    with open(path, encoding="utf-8") as file:
        return [
            {key: int(value) - move_ns if key in times else value for key, value in row.items()}
            for row in csv.DictReader(file)
        ]


def run(folder, scheme, settings, move_us):
    trace = write_trace(folder, [(ts + move_us, *rest) for ts, *rest in rows()], f"{move_us}.csv")
    log, series = folder / "log.csv", folder / "series.csv"
    result = fr.run(trace, scheme=scheme, latency_log=log, series=series, **SETTINGS, **settings)
    move_ns = 1000 * move_us
    return moved_back(result, move_ns), table(log, move_ns), table(series, move_ns)


# The test of the engine moves every scheme (crates/sim/tests/suite/shift.rs).
# This one is of the package: one case, and all where there is time.
@pytest.mark.parametrize(("scheme", "settings"), CASES if PROVE else CASES[-1:])
def test_a_trace_at_another_time_gives_the_same_result(tmp_path, scheme, settings):
    expected = run(tmp_path, scheme, settings, 0)
    assert expected[0]["requests"]["completed"] == len(expected[1]) > 250
    for move_us in MOVES_US:
        for found, wanted in zip(run(tmp_path, scheme, settings, move_us), expected, strict=True):
            assert found == wanted, move_us


def test_writes_at_40_hours_take_what_they_take_at_once(command, tmp_path):
    """The trace that took 281,474,977,115 us, verified, with status 0."""
    start_us = 40 * HOUR_US
    latencies = []
    for move_us in (0, start_us):
        first = [(move_us, "W", offset, 4096) for offset in (0, 65536, 131072)]
        trace = write_trace(tmp_path, [*first, (move_us + 10_000_000, "W", 262144, 4096)], f"{move_us}.csv")
        done = command("run", trace, "--device", "ssd1", "--scheme", "raid5", "--verify", "--json", "-", "--quiet")
        latencies.append(json.loads(done.stdout)["latency_ns"])
    assert latencies[0] == latencies[1]
    assert latencies[0]["write"]["max"] < 1_000_000


def test_tables_keep_times_that_no_double_can_hold(tmp_path):
    odd_ns = 2**62 + 1
    trace = tmp_path / "odd.ssdsim"
    trace.write_text(f"{odd_ns} 0 0 8 0\n{odd_ns + 2} 0 8 8 0\n")
    for ending in ("csv", "parquet"):
        result = fr.run(trace, device="tiny", scheme="raid0", warmup=1, latency_log=tmp_path / f"log.{ending}")
        frame = result.frame("latency_log")
        assert frame["arrival_ns"].to_list() == [odd_ns + 2]
        assert frame["latency_ns"].to_list() == [302_575]
        assert frame["end_ns"].to_list() == [odd_ns + 2 + 302_575]
    sim = fr.Simulation(device="tiny", scheme="raid0")
    sim.submit("write", 0, 4096, arrival_ns=odd_ns)
    sim.finish()
    assert [done.completed_ns for done in sim.take_completions()] == [odd_ns + 302_575]
    assert json.loads(json.dumps(sim.result().to_dict()))["simulated_ns"] == odd_ns + 302_575


def test_the_latest_time(tmp_path):
    sim = fr.Simulation(device="tiny", scheme="raid5")
    sim.submit("write", 0, 4096, arrival_ns=LATEST_NS - 302_575)
    sim.finish()
    assert sim.now_ns == LATEST_NS
    for refused in (
        lambda: sim.submit("write", 0, 4096, arrival_ns=LATEST_NS + 1),
        lambda: sim.advance_until(LATEST_NS + 1),
    ):
        with pytest.raises(fr.InputError, match=r"9223372036854775807 \(292 years\)"):
            refused()
    sim.submit("write", 0, 4096)
    with pytest.raises(fr.InputError, match=r"after the latest simulated time of 9223372036854775807 ns \(292 years\)"):
        sim.finish()


def test_a_speed_beyond_the_latest_time_is_refused(command, tmp_path):
    trace = write_trace(tmp_path, [(0, "W", 0, 4096), (10_000_000, "W", 0, 4096)])
    options = ("--device", "tiny", "--scheme", "raid0", "--quiet")
    done = command("run", trace, *options, "--speed", "1e-9", status=2)
    assert "request 2, recorded at 10000000000 ns, arrives after the latest simulated time of" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    # Ten seconds become 8e18 ns, or 253 years.
    slow = command("run", trace, *options, "--speed", "0.00000000125", "--warmup", "1", "--json", "-")
    assert json.loads(slow.stdout)["simulated_ns"] == 302_575


# ---- jitter ----


def arrivals(result, path):
    """When the requests came, in the order of the trace."""
    found = {row["request"]: int(row["arrival_ns"]) for row in table(path, 0)}
    assert len(found) == result.requests.completed
    return [found[str(number)] for number in range(len(found))]


@pytest.mark.parametrize("settings", [{}, {"fit": "compact"}, {"speed": 2.5}], ids=str)
def test_arrivals_are_put_off_by_at_most_the_jitter(tmp_path, settings):
    """And the replay is that of a trace that has them."""
    settings = SETTINGS | {"warmup": 0} | settings
    pages = [(ts, op if op == "R" else "W", offset % (32 << 20) // 4096 * 4096, 4096) for ts, op, offset, _ in rows()]
    trace, log = write_trace(tmp_path, pages), tmp_path / "log.csv"
    came = {}
    for seed in (4, 5):
        result = fr.run(trace, scheme="raid5", jitter_ns="3ms", seed=seed, latency_log=log, **settings)
        came[seed] = arrivals(result, log)
    speed = settings.pop("speed", 1)
    recorded = [int(1000 * ts / speed) for ts, *_ in pages]
    delays = [own - plain for own, plain in zip(came[5], recorded, strict=True)]
    assert came[5] == sorted(came[5])
    assert min(delays) >= 0
    assert 2_000_000 < max(delays) <= 3_000_000
    assert len(set(delays)) > 100
    assert came[4] != came[5]
    name = tmp_path / "put-off.csv"
    write_trace(tmp_path, [(own / 1000, *rest) for own, (_, *rest) in zip(came[5], pages, strict=True)], name)
    same = fr.run(name, scheme="raid5", **settings)
    assert same.latency == result.latency
    assert same.flash_ops == result.flash_ops
    assert same.simulated_ns == result.simulated_ns
    again = fr.run(trace, scheme="raid5", jitter_ns=3_000_000, seed=5, engine=False, speed=speed, **settings)
    assert again.latency == result.latency


def test_seeds_without_jitter_change_nothing_and_say_so(tmp_path):
    trace = write_trace(tmp_path, rows())
    with pytest.warns(UserWarning, match=r"nothing in the run is random \(precondition = none, jitter_ns = 0\)"):
        fr.run(trace, scheme="raid5", seed=5, **SETTINGS)


def test_a_jitter_puts_submissions_of_a_closed_loop_off(tmp_path):
    """One after the other: of requests that take no time, each is submitted half the jitter later on average."""
    trace, log = write_trace(tmp_path, [(0, "R", at * 4096, 4096) for at in range(400)]), tmp_path / "log.csv"
    closed = {"scheme": "raid0", "device": "tiny", "queue_depth": 1}  # nothing is written, and a read is of nothing
    still = fr.run(trace, engine=False, **closed)
    runs = [fr.run(trace, engine=False, jitter_ns="1ms", seed=seed, latency_log=log, **closed) for seed in (1, 2, 1)]
    assert runs[0].to_dict() == runs[2].to_dict() != runs[1].to_dict()
    came = arrivals(runs[2], log)
    assert came == sorted(came)
    gaps = [after - before for before, after in itertools.pairwise(came)]
    assert max(gaps) <= 1_000_000 + still.latency.read.max
    assert 400_000 < sum(gaps) / len(gaps) - still.latency.read.mean < 600_000


def test_a_jitter_beyond_the_latest_time_is_refused(command, tmp_path):
    trace = write_trace(tmp_path, [(LATEST_NS // 1000 - at, "W", 0, 4096) for at in (3_000_000, 2_000_000)])
    line = ["run", trace, "--device", "tiny", "--scheme", "raid0"]
    assert command(*line, "--jitter", "1s").returncode == 0
    done = command(*line, "--jitter", "1000s", status=2)
    assert "arrives after the latest simulated time of 9223372036854775807 ns (292 years)" in done.stderr
