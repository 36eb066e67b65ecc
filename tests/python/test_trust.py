"""Faults that users met in other simulators, and that are not here. Each test names one."""

import json
import time

import pytest
from conftest import HEADER, OF_ARRAYS, PAGE, PROVE, SAMPLE, SCHEMES, write_device, write_trace, writes

import flashraid as fr

READ_NS, WRITE_NS = 122_575, 302_575  # ssd1 and the small device, idle


def device_for(tmp_path, scheme):
    """A small device that suits the scheme: some keep a chip of each channel for copies, some need an array."""
    if scheme not in OF_ARRAYS:
        return write_device(tmp_path, chips_per_channel=2)
    path = write_device(tmp_path, channels=1, chips_per_channel=2)
    path.write_text(path.read_text() + "[array]\ndevices = 4\nspare_devices = 1\n")
    return path


def overwrites(tmp_path, device, scheme, requests=4000, **settings):
    """Random overwrites of a full device, so that collection is always at work."""
    trace = tmp_path / "overwrites.csv"
    space = fr.Simulation(device=device, scheme=scheme).space_bytes
    fr.synth(trace, requests=requests, space_bytes=space // PAGE * PAGE, interval_ns=2_000_000)
    return fr.run(trace, device=device, scheme=scheme, fill=1, **settings)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_request_is_lost_under_collection(tmp_path, scheme):
    """MQSim: 60 of a million requests never finish once collection starts, and the exit status is 0."""
    result = overwrites(tmp_path, device_for(tmp_path, scheme), scheme, verify=True)
    assert result.flash_ops.erases.gc > 0
    requests = result.requests
    assert (requests.completed, requests.failed.no_space, requests.unfinished) == (4000, 0, 0)
    assert (result.status, result.verify.mismatches, result.verify.pages_lost) == (0, 0, 0)


def test_copyback_collection_works(tmp_path):
    """MQSim: copyback collection crashes with a segmentation fault."""
    device = write_device(tmp_path, copyback="true", planes_per_die=2)
    result = overwrites(tmp_path, device, "raid5", verify=True)
    assert result.flash_ops.programs.gc > 0
    assert (result.requests.completed, result.verify.mismatches) == (4000, 0)


def test_preconditioning_works_with_any_trace(tmp_path, device):
    """MQSim: preconditioning dies with an unhandled distribution for uniformly random traces."""
    result = overwrites(tmp_path, device, "raid5", requests=100, precondition="random:3")
    assert result.precondition.overwritten_bytes > 0
    assert result.precondition.write_amplification > 1
    assert result.requests.completed == 100


def test_dies_of_a_chip_overlap(tmp_path):
    """MQSim: two dies of one chip never work at the same time."""
    device = write_device(tmp_path, channels=1, dies_per_chip=2)
    sim = fr.Simulation(device=device, scheme="raid0")
    sim.submit_many(["write", "write"], [0, PAGE], [PAGE, PAGE], [0, 0])
    sim.finish()
    # The second transfer follows the first on the bus; the programs overlap.
    assert [completed.completed_ns for completed in sim.take_completions()] == [WRITE_NS, WRITE_NS + 102_575]


@pytest.mark.parametrize(("ps_per_byte", "transfer_ns"), [(2_500, 10_240), (833, 3_412)])
def test_bus_speed_is_not_rounded_to_whole_nanoseconds(tmp_path, ps_per_byte, transfer_ns):
    """MQSim: 400 MT/s is simulated as 500, and every rate above 1000 MT/s as infinite."""
    device = write_device(tmp_path, bus_ps_per_byte=ps_per_byte)
    sim = fr.Simulation(device=device, scheme="raid0")
    sim.submit("write", 0, PAGE)
    sim.finish()
    assert sim.take_completions()[0].completed_ns - 200_175 in (transfer_ns, transfer_ns - 1, transfer_ns + 1)


@pytest.mark.parametrize("where", ["table", "file", "--set", "option"])
def test_misspelt_key_is_refused(command, tmp_path, where):
    """MQSim: a misspelt tag of the configuration is ignored without a word."""
    config = tmp_path / "c.toml"
    config.write_text("[device]\ngc_treshold = 0.2\n" if where == "file" else "[devise]\ngc_threshold = 0.2\n")
    more = {"--set": ["--set", "gc_treshold=0.2"], "option": ["--gc-threshold", "0.2"]}.get(where, ["--config", config])
    done = command("run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", *more, status=2)
    assert done.stderr.startswith("error: ")
    assert where != "file" or ":2:1: unknown key gc_treshold; the nearest is gc_threshold" in done.stderr


def test_missing_trace_is_a_failure(command):
    """MQSim: a missing trace prints an error, and the exit status is 0."""
    command("run", "missing.csv", "--device", "ssd1", "--scheme", "raid5", status=2)


def test_success_is_status_0_and_nothing_is_asked(command, device, tmp_path):
    """SSDsim: exit status 1 on success, the trace's name asked on standard input. MQSim: waits for a key at the end."""
    command("run", write_trace(tmp_path, writes(10)), "--device", device, "--scheme", "raid5")


def test_files_are_named_by_the_user_only(command, device, tmp_path):
    """SSDsim: fixed names of outputs, so one run for each folder."""
    command("run", write_trace(tmp_path, writes(10)), "--device", device, "--scheme", "raid5")
    assert list(command.folder.iterdir()) == []


OPS = ["R", "W", "D", "F"]


@pytest.mark.parametrize(
    ("scheme", "op"),
    [
        (scheme, op)
        for at, scheme in enumerate(SCHEMES)
        for op in (OPS if PROVE or scheme == "raid5" else [OPS[at % 4]])
    ],
)
def test_traces_of_one_kind(command, tmp_path, op, scheme):
    """SSDsim: a write-only trace ends in a division by zero, after the whole simulation. MQSim: -nan in the results."""
    trace = write_trace(tmp_path, [(i * 1000, op, *((0, 0) if op == "F" else (i * PAGE, PAGE))) for i in range(50)])
    arguments = ["run", trace, "--device", device_for(tmp_path, scheme), "--scheme", scheme, "--json", "r.json"]
    command(*arguments)  # the table too
    result = json.loads((command.folder / "r.json").read_text(), parse_constant=pytest.fail)
    assert result["requests"]["completed"] == 50


def test_last_line_without_newline_counts(tmp_path, device):
    """SSDsim: the last line is silently dropped without a final newline."""
    for end in ("", "\n"):
        trace = write_trace(tmp_path, writes(7), end=end)
        assert fr.trace_info(trace).writes == 7
        assert fr.run(trace, device=device, scheme="raid0").requests.completed == 7


def test_trace_ends_while_requests_are_in_flight(tmp_path, device):
    """SSDsim: an endless loop at the end of the trace whenever something is in flight."""
    trace = write_trace(tmp_path, writes(100, gap_us=0))
    began = time.monotonic()
    result = fr.run(trace, device=device, scheme="raid5")
    assert result.requests.completed == 100
    assert time.monotonic() - began < 10


def test_write_waits_for_its_program():
    """SSDsim: 102.6 us for a write whose program takes 200 us, whatever one would like."""
    sim = fr.Simulation(device="ssd1", scheme="raid0")
    sim.submit("write", 0, PAGE)
    sim.finish()
    sim.submit("read", 0, PAGE)
    sim.finish()
    assert [completed.completed_ns for completed in sim.take_completions()] == [WRITE_NS, WRITE_NS + READ_NS]
    early = fr.Simulation(device="ssd1", scheme="raid0", write_completes="data_in")
    early.submit("write", 0, PAGE)
    early.finish()
    assert early.take_completions()[0].completed_ns == WRITE_NS - 200_000


def test_no_limit_of_the_queue_that_nobody_asked_for(tmp_path, device):
    """SSDsim: an open-loop trace is silently throttled to five requests."""
    sim = fr.Simulation(device=device, scheme="raid0")
    sim.submit_many(["write"] * 1000, [i % 1000 * PAGE for i in range(1000)], [PAGE] * 1000, [0] * 1000)
    assert sim.outstanding == 1000
    trace = write_trace(tmp_path, writes(100, gap_us=1000))
    assert fr.run(trace, device=device, scheme="raid0").config.run.queue_depth == 0
    closed = fr.run(trace, device=device, scheme="raid0", queue_depth=1)
    assert closed.latency.write.min == closed.latency.write.max == WRITE_NS
    assert closed.simulated_ns == 100 * WRITE_NS


def test_address_beyond_the_space_is_refused_or_counted(command, device, tmp_path):
    """SSDsim: addresses are wrapped modulo the capacity without notice."""
    space = fr.Simulation(device=device, scheme="raid5").space_bytes
    rows = [(0, "W", 0, PAGE), (1000, "W", space - PAGE, 2 * PAGE), (2000, "W", 3 * space, PAGE)]
    arguments = ["run", write_trace(tmp_path, rows), "--device", device, "--scheme", "raid5"]
    done = command(*arguments, status=2)
    assert "request 2" in done.stderr
    assert str(space) in done.stderr
    result = json.loads(command(*arguments, "--fit", "wrap", "--verify", "--json").stdout)
    assert (result["workload"]["wrapped"], result["requests"]["completed"]) == (2, 3)
    assert result["verify"]["mismatches"] == 0


def test_counts_cover_the_whole_device(tmp_path):
    """SSDsim: statistics of the first chip of each channel only, beside totals of all."""
    device = write_device(tmp_path, chips_per_channel=2, dies_per_chip=2)
    result = overwrites(tmp_path, device, "raid5")
    for action in ("reads", "programs", "erases"):
        total = result.flash_ops[action].total
        assert sum(result.flash_ops[action][cause] for cause in result.flash_ops[action]) == 2 * total
        assert sum(member[action] for member in result.members) == total > 0
    blocks = 4 * 2 * 2 * 32
    assert result.wear.erase_mean * blocks == pytest.approx(result.flash_ops.erases.total)


def test_requests_spread_over_the_device(tmp_path, device):
    """FlashSim: its page FTL maps every read to page 0 and every write to page 1."""
    rows = [*writes(64), *((100_000 + ts, "R", offset, size) for ts, _, offset, size in writes(64))]
    result = fr.run(write_trace(tmp_path, rows), device=device, scheme="raid0", verify=True)
    assert [(member.reads, member.programs) for member in result.members] == [(16, 16)] * 4
    assert (result.verify.reads_checked, result.verify.mismatches) == (64, 0)


def test_small_writes_of_raid5_read_first(tmp_path, device):
    """SRSim: a small RAID-5 write programs data and parity and reads nothing."""
    result = fr.run(write_trace(tmp_path, writes(10)), device=device, scheme="raid5", fill=1)
    assert result.flash_ops.reads.pre_read == 20
    assert result.flash_ops.programs.parity == 10


def test_deviation_of_equal_values_is_zero(tmp_path, device):
    """SimpleSSD: a deviation of 548,594 where minimum, maximum and mean are the same."""
    latency = fr.run(write_trace(tmp_path, writes(10)), device=device, scheme="raid0").latency.write
    assert (latency.min, latency.max, latency.mean, latency.stddev) == (WRITE_NS, WRITE_NS, WRITE_NS, 0)
    assert WRITE_NS * 0.999 < latency.p50 <= latency.p99_99 <= WRITE_NS


def test_late_first_arrival_is_no_latency(tmp_path, device):
    """MQSim: replay shifts arrival times twice."""
    trace = write_trace(tmp_path, [(5_000_000, "W", 0, PAGE), (6_000_000, "W", PAGE, PAGE)])
    result = fr.run(trace, device=device, scheme="raid0")
    assert result.latency.write.max == WRITE_NS
    assert result.simulated_ns == 6_000_000_000 + WRITE_NS


def test_equal_runs_are_byte_equal(tmp_path, device):
    """YY and its kind: results depend on the clock or on memory that was never set."""
    results = {overwrites(tmp_path, device, "raid5", engine=False, verify=True).json for _ in range(3)}
    assert len(results) == 1


def test_configuration_is_echoed_and_complete():
    """SSDsim: settings are parsed and never read again, and nothing says which ones a run had."""
    config = fr.run(SAMPLE, device="ssd1", scheme="raid5", limit=10, fill=1).config
    for table, key in [("device", "gc_threshold"), ("host", "unwritten"), ("run", "speed"), ("scheme", "update")]:
        assert key in config[table]


def test_errors_end_the_program(command, device, tmp_path):
    """SSDsim: errors end in an endless loop or wait for a key."""
    trace = tmp_path / "bad.csv"
    trace.write_text(HEADER + "0,W,0,4096,,\n10,W,0,abc,,\n")
    done = command("run", trace, "--device", device, "--scheme", "raid5", status=2)
    assert f"{trace}:3:8" in done.stderr


def test_idle_days_cost_nothing_and_change_nothing(tmp_path, device):
    """A trace of a week has idle hours: a request after any of them takes as long as ever."""
    hours = [0, 1, 39, 40, 79, 168, 1000, 20000]
    rows = [f"{hour * 3600 * 10**6},{op},0,4096,," for hour in hours for op in "W"]
    trace = tmp_path / "week.csv"
    trace.write_text("ts_us,op,offset,size,flags,latency_us\n" + "\n".join(rows) + "\n")
    latency = fr.run(trace, device="tiny", scheme="raid0").latency.write
    assert latency.min == latency.max == 302_575


def test_a_warmup_of_everything_says_so(tmp_path):
    with pytest.warns(UserWarning, match="nothing was measured"):
        result = fr.run(SAMPLE, device="ssd1", scheme="raid0", limit=100, warmup="200")
    assert result.workload.warmup_requests == 100
    assert result.flash_ops.programs.total == 0


def test_a_stopped_preparation_is_partial():
    with pytest.raises(fr.Interrupted) as stopped:
        fr.run(SAMPLE, device="ssd1", scheme="raid0", fill=0.01, precondition="random:3", progress=lambda *_: False)
    result = stopped.value.result
    assert result.partial
    assert result.workload.requests == 0
