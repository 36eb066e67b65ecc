"""The Python package: results, comparisons, the simulation, errors, the interpreter's lock, and the stub."""

import ast
import copy
import gzip
import inspect
import itertools
import multiprocessing
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import polars
import pytest
from conftest import LONG_REQUESTS, PAGE, ROOT, SAMPLE, write_trace, writes

import flashraid as fr
from flashraid import _native, comparing, replay
from flashraid.comparison import Comparison

READ_NS, WRITE_NS = 122_575, 302_575  # ssd1, idle: 7 x 25 + 20,000 + 4096 x 25, and 7 x 25 + 4096 x 25 + 200,000


@pytest.fixture(scope="module")
def result():
    return fr.run(SAMPLE, device="ssd1", scheme="raid5", limit=2000, fill=0.1)


def test_result_members_are_attributes(result):
    data = result.to_dict()
    assert result.latency.read.p99_9 == data["latency_ns"]["read"]["p99_9"] > READ_NS
    assert result.latency_ns.read.mean == result["latency_ns"]["read"]["mean"]
    assert result.flash_ops.programs.parity == data["flash_ops"]["programs"]["parity"]
    assert result.members[0].state == "healthy"
    assert (result.status, result.warnings, result.partial) == (0, [], False)
    with pytest.raises(AttributeError, match=r"this result has no buffer: docs/result\.md says when it is present"):
        result.buffer  # noqa: B018
    with pytest.raises(AttributeError, match="unknown member latncy; the nearest is latency; there are schema, "):
        result.latncy  # noqa: B018
    with pytest.raises(AttributeError, match="unknown member raed; the nearest is read"):
        _ = result.latency.raed
    data["latency_ns"]["read"]["p50"] = 0
    assert result.latency.read.p50 > 0
    assert "requests" in dir(result)


def members(result):
    return result.to_dict(), result.json, result.warnings, result.status, result.files


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda of, at=at: pickle.loads(pickle.dumps(of, at)) for at in range(pickle.HIGHEST_PROTOCOL + 1)),
    ],
)
def test_results_can_be_copied_and_pickled(result, duplicate):
    stepwise = fr.Simulation(device="tiny", scheme="raid0").result()
    for original in (result, stepwise):
        again = duplicate(original)
        assert (again, type(again), members(again)) == (original, fr.Result, members(original))
        assert again.latency.read.p50 == original.latency.read.p50
    part = duplicate(result.latency)
    assert part == result.latency
    assert part.read.p50 == result.latency.read.p50
    # Names of Python's protocols are no members, whatever an object holds.
    with pytest.raises(AttributeError, match="__missing__"):
        _ = part.__missing__


def test_results_come_back_from_other_processes(result):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(
            fr.run, [SAMPLE], {"device": "tiny", "scheme": "raid0", "limit": 100, "fit": "wrap", "engine": False}
        )
    assert found == fr.run(SAMPLE, device="tiny", scheme="raid0", limit=100, fit="wrap", engine=False)


def test_result_as_a_frame(result):
    frame = result.to_frame()
    assert frame.height == 1
    row = frame.row(0, named=True)
    assert row["latency_ns.read.p99_9"] == result.latency.read.p99_9
    assert (row["scheme"], row["config.scheme.update"]) == ("raid5", "fewest")


def test_comparison(tmp_path):
    comparison = fr.compare(SAMPLE, device="ssd1", schemes=["raid0", "raid5"], limit=2000, fill=0.1, update="rmw")
    frame = comparison.to_frame()
    assert frame["scheme"].to_list() == ["raid0", "raid5"]
    assert frame["config.scheme.update"].to_list() == [None, "rmw"]
    assert frame["capacity.space_bytes"].n_unique() == 1
    assert frame["capacity.redundancy_share"].to_list()[0] == 0 < frame["capacity.redundancy_share"].to_list()[1]
    assert frame["protects"].to_list() == ["none", "member"]
    assert frame["capacity.table_bytes"].to_list() == frame["capacity.tables.page_map"].to_list()
    assert [result.scheme for result in comparison.results] == ["raid0", "raid5"]
    comparison.plot().savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


@pytest.mark.parametrize("rows", [[(0, "W", 0, PAGE)], [(0, "R", 0, PAGE)]])
def test_comparison_of_any_kind_of_trace_can_be_plotted(tmp_path, device, rows):
    trace = write_trace(tmp_path, rows)
    fr.compare(trace, device=device, schemes=["raid0", "raid5"], fill=1).plot().savefig(tmp_path / "plot.svg")


def test_keyword_settings(result):
    assert result.config.run.fill == 0.1
    same = fr.run(SAMPLE, device="ssd1", scheme="raid5", limit=2000, fill=0.1, seed=None, verify=True)
    assert same.config.run.verify is True
    assert same.verify.mismatches == same.verify.pages_lost == 0
    assert same.latency == result.latency
    with pytest.raises(fr.InputError, match="unknown key fil_bytes; the nearest is fill_bytes"):
        fr.run(SAMPLE, device="ssd1", scheme="raid5", fil_bytes=0)
    with pytest.raises(fr.InputError, match="no scheme"):
        fr.run(SAMPLE, device="ssd1")
    with pytest.raises(fr.InputError, match="at least one"):
        fr.compare(SAMPLE, device="ssd1", schemes=[])


def test_warnings_are_python_warnings():
    with pytest.warns(UserWarning, match="offered load"):
        result = fr.run(SAMPLE, device="ssd1", scheme="raid5", limit=2000, fill=0.1, speed=1000)
    assert "offered load" in result.warnings[0]


def test_what_a_warm_up_leaves_under_way_is_warned_of(tmp_path):
    for gap_us, queue_depth, is_warned in [(20, 0, True), (2000, 0, False), (20, 8, False)]:
        trace = write_trace(tmp_path, writes(200, gap_us=gap_us))
        result = fr.run(trace, device="tiny", scheme="ppc", warmup=100, queue_depth=queue_depth)
        assert any("warm-up requests outstanding" in text for text in result.warnings) == is_warned


def test_a_closed_loop_that_the_memory_takes_in_is_said_so(tmp_path):
    trace = write_trace(tmp_path, writes(400))
    units = {"mapping_unit_bytes": 1024, "power_loss_protection": True}
    for depth, staging, warmup, is_warned in ((8, 2**20, 0, True), (0, 2**20, 0, False), (8, 2**20, 300, False)):
        given = {**units, "staging_bytes": staging, "queue_depth": depth, "warmup": warmup}
        result = fr.run(trace, device="tiny", scheme="raid0", fit="wrap", **given)
        said = [
            text for text in result.warnings if "the memory of the drive takes in 992 of the 1600 mapping units" in text
        ]
        assert bool(said) == is_warned, (depth, staging, result.warnings)


def test_errors_are_one_family():
    assert issubclass(fr.InputError, fr.FlashraidError)
    assert issubclass(fr.DefectError, fr.FlashraidError)
    assert not issubclass(fr.InputError, fr.DefectError)
    assert fr.InputError.__module__ == "flashraid"


def test_lock_is_released_while_a_trace_is_replayed(long_trace):
    replayed = {"device": "ssd1", "scheme": "raid5", "limit": 1_000_000}
    thread = threading.Thread(target=fr.run, args=[long_trace], kwargs=replayed)
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 100  # with the lock held there would be one for each call of progress, ten a second


def test_progress_and_stopping(long_trace):
    calls = []

    def stop_at_third_share(*call):
        """The share grows with each block that is read; a busy machine takes longer for one than from call to call."""
        calls.append(call)
        return len({share for _, _, share in calls}) < 3

    with pytest.raises(fr.Interrupted) as stopped:
        fr.run(long_trace, device="ssd1", scheme="raid5", progress=stop_at_third_share)
    stages, requests, shares = zip(*calls, strict=True)
    assert set(stages) == {"replaying"}
    assert list(requests) == sorted(set(requests))
    assert 0 < requests[0] < requests[-1] < LONG_REQUESTS
    assert list(shares) == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1
    assert stopped.value.result.partial
    assert stopped.value.result.workload.requests == requests[-1]
    assert isinstance(stopped.value, KeyboardInterrupt)
    with pytest.raises(fr.Interrupted) as stopped:
        fr.compare(long_trace, device="ssd1", schemes=["raid5", "raid0"], progress=lambda *call: False)
    assert [result.partial for result in stopped.value.result.results] == [True]
    # What had no effect up to then might have had some later.
    with pytest.raises(fr.Interrupted) as stopped:
        fr.run(long_trace, device="ssd1", scheme="raid5", rebuild_window=4, progress=lambda *call: False)
    assert stopped.value.result.partial
    assert not [text for text in stopped.value.result.warnings if "no effect" in text]
    with pytest.raises(ZeroDivisionError):
        fr.run(long_trace, device="ssd1", scheme="raid5", progress=lambda *call: 1 / 0)


def test_a_progress_function_that_returns_nothing_only_listens(long_trace, tmp_path):
    told = []
    replayed = {"device": "ssd1", "limit": 300_000, "progress": lambda *call: told.append(call)}
    assert not fr.run(long_trace, scheme="raid5", **replayed).partial
    assert not fr.compare(long_trace, schemes=["raid0", "raid5"], jobs=2, capacity=False, **replayed).partial
    assert fr.trace_info(long_trace, progress=lambda *call: told.append(call))["requests"] == LONG_REQUESTS
    made = tmp_path / "made.csv"
    laws = {"requests": 1_000_000, "space_bytes": 1 << 30, "interval_ns": 1000}
    fr.synth(made, **laws, progress=lambda *call: told.append(call))
    assert {stage for stage, _, _ in told} == {"replaying", "reading", "writing"}


def test_a_run_that_checks_all_that_is_stored_is_stopped_between_two_checks(long_trace):
    """A check takes as long as many requests."""
    with pytest.raises(fr.Interrupted) as stopped:
        fr.run(
            long_trace,
            device="tiny",
            scheme="raid5",
            fill=0.9,
            fit="wrap",
            limit=1000,
            verify=True,
            verify_every=1,
            progress=lambda *call: call[0] != "replaying",
        )
    assert 0 < stopped.value.result.workload.requests < 1000


@pytest.fixture
def as_from_a_terminal():
    """Ctrl-C interrupts, whether or not what started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("status", "told"), [(0, 130), (1, 1), (3, 130)])
def test_an_interrupt_does_not_hide_a_violation(monkeypatch, as_from_a_terminal, status, told):
    def interrupted(made):
        def simulate(*arguments):
            signal.raise_signal(signal.SIGINT)
            return made

        return simulate

    result = SimpleNamespace(status=status, warnings=[], scheme="raid5")
    monkeypatch.setattr(replay, "run_pairs", interrupted(result))
    with pytest.raises(fr.Interrupted) as stopped:
        fr.run(SAMPLE, device="ssd1", scheme="raid5")
    assert stopped.value.result.status == told
    results = [
        SimpleNamespace(status=0, warnings=[], scheme="raid0"),
        SimpleNamespace(**{**vars(result), "status": status}),
    ]
    monkeypatch.setattr(comparing, "compare_planned", interrupted(Comparison(results)))
    with pytest.raises(fr.Interrupted) as stopped:
        fr.compare(SAMPLE, device="ssd1", schemes="raid0,raid5")
    assert [result.status for result in stopped.value.result.results] == [0, told]


# The simulation.


def test_simulation_step_by_step():
    sim = fr.Simulation(device="ssd1", scheme="raid0", verify=True)
    assert (sim.now_ns, sim.outstanding, sim.next_event_time()) == (0, 0, None)
    assert sim.submit("write", 0, PAGE) == 0
    assert sim.outstanding == 1
    assert 0 < sim.next_event_time() <= WRITE_NS
    sim.advance_until(WRITE_NS - 1)
    assert sim.take_completions() == []
    sim.advance_until(WRITE_NS)
    assert sim.take_completions() == [fr.Completion(0, "write", 0, WRITE_NS, latency_ns=WRITE_NS, ok=True)]
    assert sim.take_completions() == []
    assert sim.submit("read", 0, PAGE, arrival_ns=1_000_000) == 1
    assert sim.now_ns == 1_000_000
    sim.finish()
    assert sim.take_completions()[0].completed_ns == 1_000_000 + READ_NS
    assert sim.verify().mismatches == 0
    result = sim.result()
    assert (result.requests.completed, result.verify.reads_checked) == (2, 1)
    assert result.latency.read.max == READ_NS


def test_simulation_of_every_operation():
    sim = fr.Simulation(device="tiny", scheme="raid5", fill=0.5, verify=True)
    for op in ("read", "write", "trim", "write_zeroes"):
        sim.submit(op, 3 * PAGE + 512, 5 * PAGE)
    sim.submit("flush", 0, 0)
    sim.finish()
    work = sim.result().workload
    assert (work.reads, work.writes, work.trims, work.flushes) == (1, 1, 2, 1)
    assert sim.verify().pages_lost == 0


def test_simulation_of_columns():
    numpy = pytest.importorskip("numpy")
    count = 10_000
    one, many = fr.Simulation(device="ssd1", scheme="raid5"), fr.Simulation(device="ssd1", scheme="raid5")
    for i in range(count):
        one.submit("write", i * PAGE, PAGE, arrival_ns=i * 1000)
    offsets, times = numpy.arange(count) * PAGE, numpy.arange(count, dtype=numpy.uint64) * 1000
    ids = many.submit_many(["write"] * count, offsets, [PAGE] * count, times)
    assert ids == list(range(count))
    one.finish()
    many.finish()
    assert one.take_completions() == many.take_completions()
    assert one.result().json == many.result().json
    assert many.submit_many([], [], [], []) == []


def test_columns_are_called_the_same_wherever_requests_stand(tmp_path):
    trace, log = (
        write_trace(tmp_path, [(0, "W", 0, PAGE), (500, "R", 0, PAGE), (900, "D", 0, PAGE)]),
        tmp_path / "l.csv",
    )
    requests = fr.read_trace(trace).drop("device")
    logged = fr.run(trace, device="ssd1", scheme="raid0", latency_log=log).frame("latency_log")
    sim = fr.Simulation(device="ssd1", scheme="raid0")
    assert sim.submit_many(**requests.to_dict()) == [0, 1, 2]
    sim.finish()
    completed = polars.DataFrame(sorted(sim.take_completions()))
    shared = ["op", "arrival_ns", "latency_ns"]
    assert completed.select(shared).rows() == logged.sort("request").select(shared).rows()
    columns = ["op", "offset_bytes", "size_bytes", "arrival_ns"]
    assert requests.select(columns).cast({"op": polars.String}).rows() == logged.sort("request").select(columns).rows()


def test_simulation_refuses_what_cannot_be():
    sim = fr.Simulation(device="tiny", scheme="raid5")
    sim.advance_until(1000)
    end = sim.space_bytes
    for arguments, says in {
        ("write", end, PAGE): f"the end of the logical space, {end} bytes",
        ("write", 2**64 - 1, PAGE): "the logical space",
        ("write", 0, 0): "a size of 0 bytes",
        ("flush", 0, PAGE): "a flush of",
        ("wirte", 0, PAGE): "allowed is read, write, trim, write_zeroes, flush",
        ("write", 0, PAGE, 999): r"allowed is 1000 \(now\) or later",
    }.items():
        with pytest.raises(fr.InputError, match=says):
            sim.submit(*arguments)
    assert sim.outstanding == 0
    with pytest.raises(fr.InputError, match="the same number in each"):
        sim.submit_many(["write"], [0], [PAGE], [])
    with pytest.raises(fr.InputError, match="the logical space"):
        sim.submit_many(["write"] * 2, [0, end], [PAGE] * 2, [2000] * 2)
    assert sim.outstanding == 1
    with pytest.raises(fr.InputError, match="verify=True"):
        sim.verify()
    with pytest.raises(fr.InputError, match="unknown key"):
        fr.Simulation(device="tiny", scheme="raid5", fil=1)


@pytest.mark.parametrize("setting", [{"limit": 3}, {"queue_depth": 4}, {"speed": 2}, {"warmup": "1s"}, {"fit": "wrap"}])
def test_simulation_refuses_what_is_about_a_trace(setting):
    with pytest.raises(fr.InputError, match="not allowed for a Simulation, which replays no trace"):
        fr.Simulation(device="tiny", scheme="raid5", **setting)


def test_simulation_is_the_engine_of_run(tmp_path):
    rows = writes(200, gap_us=200)
    run = fr.run(write_trace(tmp_path, rows), device="tiny", scheme="raid5", engine=False)
    sim = fr.Simulation(device="tiny", scheme="raid5")
    for ts_us, _, offset, size in rows:
        sim.submit("write", offset, size, arrival_ns=ts_us * 1000)
    sim.finish()
    assert sim.result().latency == run.latency
    assert sim.result().flash_ops == run.flash_ops


def test_simulation_in_two_threads():
    sim = fr.Simulation(device="ssd1", scheme="raid5")

    def submit_some():
        for i in range(500):
            sim.submit("write", i * PAGE, PAGE)

    threads = [threading.Thread(target=submit_some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sim.finish()
    assert sorted(completed.id for completed in sim.take_completions()) == list(range(2000))


def test_trace_info():
    info = fr.trace_info(SAMPLE)
    assert (info.requests, info.reads, info.writes, info.trims, info.flushes) == (100_000, 35_162, 48_490, 8, 16_340)
    assert fr.trace_info(SAMPLE, limit=10).requests == 10
    with gzip.open(SAMPLE, "rt") as rows:
        times_us = [int(row.split(",")[0]) for row in itertools.islice(rows, 1, None)]
    gaps_us = [after - before for before, after in itertools.pairwise(times_us)]
    pauses_us = [gap_us for gap_us in gaps_us if gap_us >= 1000]
    bursts = info.burstiness.bursts
    assert bursts.count == len(pauses_us) + 1
    assert bursts.mean_requests == pytest.approx(100_000 / bursts.count)
    assert bursts.mean_pause_ns == pytest.approx(1000 * sum(pauses_us) / len(pauses_us))
    assert bursts.mean_gap_ns == pytest.approx(1000 * (sum(gaps_us) - sum(pauses_us)) / (100_000 - bursts.count))
    with pytest.raises(fr.InputError, match="unknown trace format"):
        fr.trace_info(SAMPLE, format="x")


# The stub.


def test_stub_and_module_agree():
    stub = ast.parse((ROOT / "python" / "flashraid" / "_native.pyi").read_text())
    named = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert set(named) | {"__version__"} == {name for name in dir(_native) if name == "__version__" or name[0] != "_"}
    for name, node in named.items():
        if isinstance(node, ast.FunctionDef):
            assert parameters(node) == list(inspect.signature(getattr(_native, name)).parameters), name
    methods = {node.name: node for node in named["Simulation"].body if isinstance(node, ast.FunctionDef)}
    public = {name for name in vars(_native.Simulation) if not name.startswith("_")}
    assert set(methods) - {"__new__"} == public
    for name, node in methods.items():
        member = getattr(_native.Simulation, name)
        if callable(member) and name != "__new__":
            assert parameters(node) == list(inspect.signature(member).parameters), name


def parameters(node):
    return [argument.arg for argument in node.args.args]


def test_importing_is_light():
    """The command starts fast: nothing that only some commands need is imported with the package."""
    heavy = ("polars", "matplotlib", "altair", "vl_convert", "jinja2", "numpy", "flashraid.reproduce.outcome")
    for module, others in (("flashraid", ("click", "rich", "flashraid.replay")), ("flashraid.command.replay", ())):
        code = f"import sys, {module}; print([name for name in {heavy + others} if name in sys.modules])"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_package_shows_its_public_names_alone():
    assert dir(fr) == sorted(fr.__all__)
    assert all(hasattr(fr, name) for name in fr.__all__)


def test_what_is_imported_late_is_there():
    code = (
        "import flashraid as fr; from flashraid.reproduce import outcome; "
        "print(fr.Reproduction is outcome.Reproduction, callable(fr.reproduce), hasattr(fr, 'nothing'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True False\n"


def test_no_warning_where_there_is_nothing_to_say(tmp_path, device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fr.run(write_trace(tmp_path, writes(10)), device=device, scheme="raid5")


@pytest.mark.parametrize(
    ("statuses", "gravest"),
    [((0, 0), 0), ((0, 3), 3), ((3, 130), 130), ((130, 3), 130), ((130, 1), 1), ((1, 3), 1), ((3, 0, 130, 1), 1)],
)
def test_a_comparison_ends_as_its_gravest_result(statuses, gravest):
    results = [SimpleNamespace(status=status) for status in statuses]
    assert Comparison(results).status == gravest
