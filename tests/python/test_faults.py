"""Faults: said on the command line, in files and in Python; injected when they should be; refused in one line."""

import json

import pytest
from conftest import PAGE, write_trace, writes

import flashraid as fr

# What the trace is otherwise told is said by other tests.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

BASE = {"device": "tiny", "scheme": "raid5", "fill": 0.5}


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path, writes(100))


def injected(result):
    return [(fault.fault, fault.when, fault.at_ns, fault.request) for fault in result.faults]


def test_each_fault_at_its_time(trace):
    fail = ["page:lpn=1@50%", "page:lpn=2@request:7", "page:lpn=3@2500us", "page:lpn=4@100%", "program:1@0s"]
    result = fr.run(trace, **BASE, fail=fail)
    assert injected(result) == [
        ("program:1", "0s", 0, 0),
        ("page:lpn=3", "2500us", 2_500_000, 3),
        ("page:lpn=2", "request:7", 6_000_000, 7),
        ("page:lpn=1", "50%", 49_000_000, 50),
        ("page:lpn=4", "100%", 99_000_000, 100),
    ]
    assert result.config.run.fail == fail
    limited = fr.run(trace, **BASE, fail=["page:lpn=1@50%"], limit=20)
    assert injected(limited) == [("page:lpn=1", "50%", 9_000_000, 10)]


def test_a_time_after_the_last_arrival(trace):
    result = fr.run(trace, **BASE, fail=["page:lpn=1@99010us", "page:lpn=2@10s"])
    assert injected(result) == [("page:lpn=1", "99010us", 99_010_000, 100)]
    assert result.warnings == ["fail = page:lpn=2@10s: the run ended before the fault could be injected"]


def test_closed_loop(trace):
    result = fr.run(trace, **BASE, queue_depth=1, fail=["page:lpn=1@1ms", "page:lpn=2@request:60"])
    (first, second) = result.faults
    assert (first.at_ns, second.request) == (1_000_000, 60)
    assert 1_000_000 < second.at_ns < 60_000_000


def test_events(tmp_path):
    collecting = write_trace(tmp_path, writes(400, gap_us=10))
    small = {"blocks_per_plane": 12, "pages_per_block": 8, "over_provisioning": 0.3, "space_bytes": 32 * PAGE}
    result = fr.run(collecting, device="tiny", scheme="raid5", fit="wrap", fail=["page:lpn=1@collection"], **small)
    (fault,) = result.faults
    assert 0 < fault.at_ns < result.simulated_ns
    assert result.flash_ops.erases.gc > 0
    plain = fr.run(collecting, device="tiny", scheme="raid5", fit="wrap", fail=["page:lpn=1@commit"], **small)
    assert plain.faults == []
    assert plain.warnings[-1] == "fail = page:lpn=1@commit: the run ended before the fault could be injected"


@pytest.mark.parametrize("percent", [0, 50, 100])
def test_when_a_rebuild_has_come_so_far(tmp_path, percent):
    """Of a drive that is hardly filled it passes most stripes in one instant."""
    trace = write_trace(tmp_path, writes(300, gap_us=500))
    fail = ["chip:1.0@10ms", f"page:lpn=1@rebuild:{percent}%"]
    result = fr.run(trace, device="tiny", scheme="raid5", fill=0.05, spare_chips=1, rebuild="sor", fail=fail)
    (chip, page), rebuild = result.faults, result.rebuild[0]
    assert chip.at_ns < page.at_ns <= rebuild.ended_ns if percent else page.at_ns >= chip.at_ns
    assert not any("did not happen" in text for text in result.warnings)


def test_nothing_is_rebuilt(trace):
    what = r"fail = page:lpn=1@rebuild:10%: nothing is rebuilt \(rebuild = none\): allowed is another moment"
    with pytest.raises(fr.InputError, match=what):
        fr.run(trace, device="tiny", scheme="raid5", rebuild="none", fail=["chip:1.0@1ms", "page:lpn=1@rebuild:10%"])


def test_in_a_file_and_again_from_the_result(trace, tmp_path):
    config = tmp_path / "faults.toml"
    config.write_text('[run]\nfill = 0.5\nfail = ["page:lpn=1@50%", "page:lpn=2@request:7"]\n')
    first = fr.run(trace, device="tiny", scheme="raid5", config=config, engine=False)
    result = tmp_path / "result.json"
    result.write_text(first.json)
    assert len(first.faults) == 2
    assert fr.run(trace, config=result, engine=False).json == first.json


def test_on_the_command_line(command, trace):
    options = ["--device", "tiny", "--scheme", "raid5", "--fill", "0.5", "--json", "-", "--no-engine"]
    fails = ["--fail", "page:lpn=1@50%", "--fail", "page:lpn=2@request:7"]
    result = json.loads(command("run", trace, *options, *fails).stdout)
    assert [fault["request"] for fault in result["faults"]] == [7, 50]
    assert command("run", trace, *options, "--fail", "chip:9.0@50%", status=2).stderr == (
        "error: fail = chip:9.0@50%: channel 9: the device has channels 0 to 3\n"
    )


def test_a_pipe_has_no_share(command, trace):
    with open(trace) as text:
        rows = text.read()
    arguments = ["run", "/dev/stdin", "--format", "flashraid", "--device", "tiny", "--scheme", "raid5"]
    done = command(*arguments, "--fail", "page:lpn=1@50%", status=2, input=rows)
    assert done.stderr.splitlines()[-1] == (
        "error: fail = page:lpn=1@50%: a share of the trace needs a trace that can be read twice: allowed is a time "
        "or request:N"
    )
    assert "injected" not in done.stdout


def test_step_by_step():
    sim = fr.Simulation(**BASE, fail=["page:lpn=1@request:2", "page:lpn=2@3ms"])
    sim.submit("write", 0, PAGE)
    sim.submit("write", 0, PAGE, arrival_ns=1_000_000)
    sim.advance_until(2_000_000)
    assert injected(sim.result()) == [("page:lpn=1", "request:2", 1_000_000, 2)]
    sim.fail("page:lpn=5")
    sim.advance_until(4_000_000)
    assert injected(sim.result())[1:] == [("page:lpn=5", "now", 2_000_000, 2), ("page:lpn=2", "3ms", 3_000_000, 2)]
    for refused, why in [
        ("page:lpn=x", "page:lpn=x: allowed is page:lpn= and a whole number"),
        ("chip:0.7", "chip:0.7: chip 7: each channel has chip 0 only"),
        ("ship:0.7", "unknown ship; the nearest is chip; there are "),
    ]:
        with pytest.raises(fr.InputError) as error:
            sim.fail(refused)
        assert str(error.value).startswith(why)


def test_methods_name_their_parts():
    calls = [
        ("fail_member", (2,), "member:2"),
        ("fail_channel", (3,), "channel:3"),
        ("fail_chip", (0, 0), "chip:0.0"),
        ("fail_die", (0, 0, 0), "die:0.0.0"),
        ("fail_plane", (0, 0, 0, 1), "plane:0.0.0.1"),
        ("fail_block", (0, 0, 0, 1, 7), "block:0.0.0.1.7"),
        ("fail_page", (9,), "page:lpn=9"),
    ]
    for method, numbers, fault in calls:
        sim = fr.Simulation(**BASE)
        getattr(sim, method)(*numbers)
        assert [each.fault for each in sim.result().faults] == [fault]


def test_torture_on_the_command_line(command):
    done = command("torture", "--scheme", "raid1,raid5", status=2).stderr
    assert done.startswith("error: unknown scheme raid1,raid5; the nearest is raid1; there are ")
    assert command("torture", "--scheme", "raid0", status=2).stderr == (
        "error: raid0 is not declared to survive any failure, so there is nothing to test\n"
    )
    for kills, allowed in [("0", "allowed is 1 or more"), ("many", "allowed is a whole number")]:
        refused = command("torture", "--kills", kills, status=2).stderr
        assert refused == f"error: invalid value for '--kills': {allowed}\n"
    report = json.loads(command("torture", "--scheme", "raid5", "--kills", "100", "--quiet", "--json", "-").stdout)
    (found,) = report["schemes"]
    assert (found["scheme"], found["kills"], found["violation"]) == ("raid5", 100, None)
    assert found["states"]["collection"] > 10
    table = command("torture", "--scheme", "all", "--kills", "25", "--second").stdout
    listed = json.loads(command("schemes", "--json", "-").stdout)
    protecting = [scheme["name"] for scheme in listed if scheme["protects"] != "none"]
    assert all(word in table for word in (*protecting, "rebuild_50", "pages, all of them in its declared window"))
