"""What may be asked of the advisor, and what each option limits."""

import pytest
from advice_cases import DEVICE, asked, bursts
from conftest import long, write_trace

import flashraid as fr
from flashraid import advisor
from flashraid.advising import candidates, search
from flashraid.quantities import SIZE, TIME
from flashraid.sweeping import dataset


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write_trace(tmp_path_factory.mktemp("trace"), bursts(2000))


@pytest.mark.parametrize(
    ("survives", "devices", "fault", "column"),
    [
        ("member", 1, "channel:0", "survives.member"),
        ("chip", 1, "chip:0.0", "survives.chip"),
        ("channel", 1, "channel:0", "survives.channel"),
        ("member", 4, "device:0", "survives.member"),
        ("device", 4, "device:0", "survives.device"),
        ("chip", 4, "device:0/chip:0.0", "survives.chip"),
        ("channel", 4, "device:0/channel:0", "survives.channel"),
    ],
)
def test_what_must_be_survived_is_what_fails(trace, survives, devices, fault, column):
    question = asked(trace, [("devices", str(devices))], survives=survives)
    assert (question.fault, question.musts[0].column) == (fault, column)
    workload = search.Workload({}, 1, question.fault, 1)
    if survives != "member":
        assert search.Search([], [], [], workload, lambda name, points: [])._label == column
        return
    # What a member is depends on the candidate.
    must = question.musts[0]
    row = {"config.array.devices": devices, "config.device.member": "chip"}
    assert must.why_not({**row, "survives.chip": devices == 1, "survives.device": devices > 1}) is None
    assert must.why_not({**row, "survives.chip": devices > 1, "survives.device": devices == 1})


def test_two_failures_at_once_ask_for_two_parities(trace):
    must = asked(trace, survives_failures=2).musts[0]
    assert [must.why_not({"survives_failures": count}) is None for count in (0, 1, 2, 3)] == [False, False, True, True]
    assert must.why_not({"survives_failures": 1}) == "survives_failures 2: it does not"
    assert must.why_not({"survives_failures": 2, "survives.but": "a window"}) == (
        "survives_failures 2: it does, but for a window"
    )


def test_two_parities_count_as_protection(trace):
    found = fr.advise(
        trace, schemes=["raid5", "raid6"], survives_failures=2, seeds=1, device="tiny", channels=5, fill=0.4, fit="wrap"
    )
    assert found.recommended.scheme == "raid6"
    assert [each.tried.values["survives_failures"].mean for each in found.front] == [2.0] * len(found.front)
    outs = {each.candidate.scheme: each.out for each in found.tried}
    assert outs["raid5"] == "survives_failures 2: it does not"


@long
def test_drive_writes_a_day_are_those_of_a_warranty(trace):
    """Two a day for five years are 3,650; of 7,300 for 1,000 erases a candidate with 500 has as many."""
    must = asked(trace, [("pe_limit", "500")], min_dwpd=2.0).musts[0]
    assert must.text == "min_dwpd 2 over 5 years"
    row = {"lifetime.full_drive_writes_per_1000_cycles": 7300.0, "config.device.pe_limit": 500}
    assert must.why_not(row) is None
    assert must.why_not(row | {"config.device.pe_limit": 499})
    assert must.why_not(row | {"lifetime.full_drive_writes_per_1000_cycles": 7299.0})
    half = must.why_not(row | {"lifetime.full_drive_writes_per_1000_cycles": 3650.0})
    assert half == "min_dwpd 2 over 5 years: it has 1.00 drive writes a day"
    must = asked(trace, [("pe_limit", "500")], min_dwpd=2.0, years=2.5).musts[0]
    assert must.why_not(row | {"lifetime.full_drive_writes_per_1000_cycles": 3650.0}) is None
    assert must.why_not(row | {"lifetime.full_drive_writes_per_1000_cycles": 3649.0})
    common = {"schemes": ["raid1", "raid5"], "seeds": 1, "min_dwpd": 0.1, **DEVICE}
    found = fr.advise(trace, pe_limit=1000, **common)
    assert found.front
    column = "lifetime.full_drive_writes_per_1000_cycles"
    assert all(each.rows["open"][0][column] >= 182.5 for each in (member.tried for member in found.front))
    shown = found.to_frame().select("dwpd").to_series().to_list()
    assert shown == [pytest.approx(each.tried.rows["open"][0][column] / 1825) for each in found.front]
    assert found.cells()[0][-1] == "drive writes a day"
    # Each candidate has its own limit.
    varied = fr.advise(trace, devices=4, pe_limit=2, vary={"pe_limit": ["2", "1000"]}, **common)
    assert varied.front
    assert all("pe_limit=1000" in each.tried.candidate.name for each in varied.front)


def test_no_more_is_replayed_than_the_user_allows(trace):
    for question, requests in ((asked(trace, [("limit", "300")]), 300), (asked(trace), 2000)):
        assert advisor.counts_of(question, advisor.info_of(question))["requests"] == requests


def test_a_full_drive_can_be_asked_about(trace):
    """Of a run over all of the trace nothing is rounded: no more than the capacity can be filled."""
    found = fr.advise(trace, schemes=["raid1"], seeds=1, limit=300, **{**DEVICE, "fill": 1})
    assert found.front
    fills = {row["config.run.fill_bytes"] for each in found.front for of in each.tried.rows.values() for row in of}
    assert len(fills) == 1


@long
def test_a_setting_that_one_scheme_alone_can_have_is_no_wrong_question(trace):
    mirrored = DEVICE | {"chips_per_channel": 2, "fill": 0.1}
    found = fr.advise(trace, schemes=["cr5m"], seeds=1, limit=100, rebuild="mcr", **mirrored)
    assert {each.candidate.scheme for each in found.tried} == {"cr5m"}
    with pytest.raises(fr.InputError, match="rebuild = mcr"):
        fr.advise(trace, schemes=["raid5"], seeds=1, rebuild="mcr", **DEVICE)


def test_no_capacity_is_asked_for_with_none(trace):
    for nothing in (0, 0.0, "0", "0%"):
        assert asked(trace, min_capacity=nothing).musts[0].most is None
    assert asked(trace, min_capacity="40%").musts[0].most == asked(trace, min_capacity=0.4).musts[0].most == 2.5
    for bad in (True, 1.1, -0.1, float("nan"), "", "7.", "101%", "0.5 %", [0.5]):
        with pytest.raises(fr.InputError, match=r"min_capacity .*: allowed is a share from 0 to 1, or from 0% to 100%"):
            asked(trace, min_capacity=bad)


def test_parameters_that_are_set_hold_for_the_schemes_that_have_them(trace, tmp_path):
    out = tmp_path / "runs"
    found = fr.advise(trace, schemes=["raid1", "raid5"], layout="left_symmetric", seeds=1, out=out, **DEVICE)
    assert {each.candidate.scheme for each in found.tried} == {"raid1", "raid5"}
    assert len(dataset.parts(out)) == 1
    assert not list(dataset.journal(out))
    rows = dataset.read(out)
    assert set(rows.filter(scheme="raid5")["config.scheme.layout"]) == {"left_symmetric"}
    with pytest.raises(fr.InputError, match="layout: not allowed here: no scheme to choose from has it"):
        fr.advise(trace, schemes=["raid1"], layout="left_symmetric", **DEVICE)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--json", "no/such/folder/x.json"], "no/such/folder/x.json: cannot be written"),
        (["--json", "own.html", "--report", "own.html"], "--report"),
        (["--survives", "plane"], "--survives plane: there is none; there are member, chip, channel, device"),
        (["--survives-failures", "0"], "--survives-failures 0: allowed is a whole number from 1 to 64"),
        (["--max-p99-read", "5"], "--max-p99-read 5: allowed is a time"),
        (["--max-nvram", "x"], "--max-nvram x: allowed is a whole number of bytes"),
        (["--min-capacity", "70"], "--min-capacity 70: allowed is a share from 0 to 1, or from 0% to 100%"),
        (["--min-capacity", "101%"], "--min-capacity 101%: allowed is a share from 0 to 1, or from 0% to 100%"),
        (["--min-capacity", "much"], "--min-capacity much: allowed is a share from 0 to 1, or from 0% to 100%"),
        (["--min-dwpd", "1"], "--min-dwpd: the device has no limit of erases"),
        (["--years", "3"], "--years 3.0: allowed with --min-dwpd"),
        (["--min-dwpd", "1", "--years", "0"], "--years 0.0: allowed is a number above 0"),
        (["--prefer", "speed"], "--prefer speed: there is none"),
        (["--tail", "p98"], "--tail p98: there is none; the nearest is p9"),
        (["--vary", "gc_threshold"], "--vary gc_threshold: allowed is KEY=A,B,..."),
        (["--schemes", "raid7"], "scheme raid7: there is none"),
        (["--set", "verify=true"], "verify: not allowed here: the advisor sets it itself"),
        (["--survives", "device"], "--survives device: the device is a single SSD"),
        (["--fault", "chip:9.9"], "fail = chip:9.9@50%"),
        (["--vary", "seed=1,2"], "seed: not allowed here"),
        (["--vary", "speed=1,2"], "--vary speed: not allowed: all candidates have the same"),
        (["--vary", "jitter_ns=1,2"], "--vary jitter_ns: not allowed: all candidates have the same"),
        (["--vary", "devices=1,4"], "--vary devices: not allowed: all candidates have the same"),
        (["--vary", "read_ns=1us", "--vary", "read_ns=2us"], "--vary read_ns: given twice"),
        (["--vary", "gc_threshold=2,3"], "no candidate is left: gc_threshold = 2: allowed is"),
        (
            ["--vary", "cmt_entries=512,1024"],
            "no candidate is left: cmt_entries = 512: has no effect here: allowed with",
        ),
        (["--min-dwpd", "nan"], "--min-dwpd nan: allowed is a number from 0"),
        (["--min-capacity", "-1"], "--min-capacity -1: allowed is a share from 0 to 1, or from 0% to 100%"),
        (["--fault", ""], "--fault : allowed is what fails, as chip:0.0, without a time"),
        (["--fault", "chip:0.0@50%"], "--fault chip:0.0@50%: allowed is what fails, as chip:0.0, without a time"),
        (["--vary", "gc_threshold=0.1,2"], "no scheme can have gc_threshold = 2: gc_threshold = 2: allowed is"),
        (["--jobs", "1", "--scheduler", "tcp://127.0.0.1:1"], "--jobs: a cluster has its own number of threads"),
        (["--scheduler", "nowhere"], "--scheduler 'nowhere': allowed is an address, as tcp://host:8786"),
        (["--out", ""], "--out: empty name: allowed is the name of a folder"),
        (["--seeds", "0"], "--seeds 0: allowed is a whole number from 1"),
        (["--set", "space_bytes=1048576"], "trace.csv: requests end at byte "),
        (
            ["--schemes", "raid0,raid5", "--set", "space_bytes=1048576", "--set", "limit=1000"],
            "trace.csv: requests end at byte ",
        ),
    ],
)
def test_wrong_questions_are_refused(arguments, text, trace, command):
    done = command("advise", trace, "--device", "tiny", *arguments, status=2)
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "value", "column"),
    [
        ("--max-p99-read", "1ns", "read p99"),
        ("--max-p99-write", "1ns", "write p99"),
        ("--max-nvram", "0", "NVRAM"),
        ("--min-capacity", "1", "usable"),
    ],
)
def test_each_option_limits_what_it_names(option, value, column, trace, command):
    line = ["advise", trace, "--device", "tiny", "--fill", "0.5", "--fit", "wrap", "--limit", "300", "--jobs", "1"]
    done = command(*line, "--schemes", "ppc", "--seeds", "1", option, value, status=3)
    said = next(line for line in done.stderr.splitlines() if line.startswith("warning: ppc: "))
    assert f"{option} {value}: it has " in said
    # What it has is the figure of that name.
    has = said.rpartition("it has ")[2]
    row = fr.run(trace, device="tiny", scheme="ppc", fill=0.5, fit="wrap", limit=300, space_bytes=_space(trace))
    expected = {
        "read p99": TIME.text(row.latency.read.p99),
        "write p99": TIME.text(row.latency.write.p99),
        "NVRAM": SIZE.text(row.capacity.nvram_bytes),
        "usable": advisor.RAW.text(row.capacity.raw_per_user_byte),
    }
    assert has == expected[column]


def _space(trace):
    """The logical space that all candidates of ppc have."""
    own, _ = candidates.candidates("tiny", None, ["ppc"], [("fill", "0.5")], {})
    return advisor.fixed_of(asked(trace, [("fill", "0.5")]), own)["space_bytes"]
