"""A device that falls behind its arrivals while its buses and dies are hardly used, and what only looks like it."""

import json

import pytest
from conftest import write_trace

import flashraid as fr
from flashraid import candidate, evidence, summary

# Updates of one page come one after the other, as each holds the lock of its stripe.
HOT = {"device": "tiny", "scheme": "raid5", "fill": 0.5, "chips_per_channel": 4, "engine": False}
BEHIND = "the device falls behind the trace: the longest wait grows by {} s for each second of arrivals"


def hot(count, gap_us):
    return [(at * gap_us, "W", 0, 4096) for at in range(count)]


def test_a_bottleneck_in_locks_is_an_overload(tmp_path):
    alone = fr.run(write_trace(tmp_path, hot(2, 10_000)), **HOT).latency.write.max
    with pytest.warns(UserWarning, match=BEHIND.format("0.42")):
        result = fr.run(write_trace(tmp_path, hot(600, 300)), **HOT)
    # A queue with one server: 600 updates take 600 times as long as one, for arrivals every 300 us.
    assert result.bandwidth.span_ns == pytest.approx(600 * alone, rel=0.01)
    assert result.workload.backlog_growth == pytest.approx(alone / 300_000 - 1, rel=0.01)
    assert result.workload.busiest_load < 0.4
    assert result.workload.overloaded


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        (hot(600, 450), {}),  # just slow enough
        (hot(600, 300), {"queue_depth": 4}),
        # A burst at the end, which takes as long as all before it, and one that is all there is.
        ([(at * 2000, "W", at % 300 * 4096, 4096) for at in range(150)] + [(298_100, "W", 0, 4096)] * 700, {}),
        ([(0, "W", 0, 4096)] * 300, {}),
        # A short trace of requests side by side that take longer than it lasts.
        ([(at * 10, "W", at * 4096, 4096) for at in range(4)], {}),
        ([(0, "R", 0, 4096)], {}),
    ],
)  # fmt: skip
def test_what_keeps_up_is_none(tmp_path, rows, more):
    result = fr.run(write_trace(tmp_path, rows), **HOT, **more)
    assert not result.workload.backlog_growth
    assert not result.workload.overloaded
    assert not any("behind" in text or "cannot keep up" in text for text in result.warnings if rows[-1][0])


@pytest.mark.parametrize(
    ("count", "gap_us", "said"), [(1000, 385, r"0\.1\d s"), (5000, 415, r"2\d\.\d\d ms"), (600, 424.5, r"1\.\d\d ms")]
)
def test_of_regular_requests_a_small_overload_is_one(tmp_path, count, gap_us, said):
    alone = fr.run(write_trace(tmp_path, hot(2, 10_000)), **HOT).latency.write.max
    growth = alone / (gap_us * 1000) - 1
    with pytest.warns(UserWarning, match=rf"the longest wait grows by {said} for each second"):
        result = fr.run(write_trace(tmp_path, hot(count, gap_us)), **HOT)
    assert 0 < growth < 4 / count**0.5, "which of random arrivals would be chance"
    assert result.workload.backlog_growth == pytest.approx(growth, rel=0.01)


def test_a_device_in_use_nearly_all_the_time_keeps_up(tmp_path):
    rows = [(at * 28, "W", at * 4096, 4096) for at in range(3000)]
    result = fr.run(write_trace(tmp_path, rows), device="ssd1", scheme="raid0", fill=0.3)
    assert 0.9 < result.workload.busiest_load < 1
    assert result.latency.write.max == result.latency.write.p50, "no request waits"
    assert (result.workload.backlog_growth, result.warnings) == (0, [])
    assert not evidence.is_overloaded(candidate.look_at(result))


@pytest.mark.parametrize(("count", "queue_depth", "is_one"), [(99, 0, False), (100, 0, True), (100, 4, False)])
def test_more_than_can_be_served_is_an_overload_from_a_hundred_requests_on(tmp_path, count, queue_depth, is_one):
    # The last one comes when the others still wait, and waits less than they do.
    rows = [(0, "W", at * 4096, 4096) for at in range(count - 1)] + [(1000, "W", 0, 4096)]
    result = fr.run(write_trace(tmp_path, rows), **HOT, queue_depth=queue_depth)
    assert (result.workload.busiest_load > 1) is (queue_depth == 0)
    assert not result.workload.backlog_growth
    assert result.workload.overloaded is is_one
    assert any("cannot keep up" in text for text in result.warnings) is is_one


def test_every_command_says_so(command, tmp_path):
    # A write of raid0 takes 303 us, so that it keeps up.
    behind = BEHIND.format("0.37")
    trace = write_trace(tmp_path, hot(600, 310))
    place = ["--device", "tiny", "--fill", "0.5", "--set", "chips_per_channel=4"]
    assert behind in command("run", trace, *place, "--scheme", "raid5").stderr
    line = ["compare", trace, *place, "--schemes", "raid0,raid5", "--seeds", "1", "--no-capacity"]
    done = command(*line, "--json", "c.json")
    assert f"warning: raid5: {behind}" in done.stderr
    done = command(*line)
    assert "! raid5: overloaded: latency grows with the length of the trace" in done.stdout
    plan = f'[fixed]\ntrace = "{trace}"\ndevice = "tiny"\nfill = 0.5\nchips_per_channel = 4\n'
    (command.folder / "plan.toml").write_text(f'{plan}[grid]\nscheme = ["raid0", "raid5"]\n')
    swept = command("sweep", "plan.toml", "--jobs", "1").stdout
    assert "! 1 point: the device cannot keep up: latencies depend on the length of the trace" in swept
    # Also of a file: the report knows no warnings.
    loaded = fr.load(command.folder / "c.json")
    assert [each.mark for section in summary.table(loaded) for line in section.lines
            if line.path == "latency_ns.write.p99" for each in line.cells] == ["~", "!"]  # fmt: skip
    old = json.loads((command.folder / "c.json").read_text())
    for result in old["results"]:
        result["version"] = "0.1.0"
        del result["workload"]["backlog_growth"], result["workload"]["overloaded"]
    (command.folder / "old.json").write_text(json.dumps(old))
    assert summary.table(fr.load(command.folder / "old.json"))
