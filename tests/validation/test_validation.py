"""The validation cases hold, docs/validation.md says what they give now, and both checks can fail."""

import hashlib
import os
from collections import Counter
from dataclasses import replace

import pytest

from reference import closed_forms, host_model, nand_model
from reference.host_model import HostSide
from validation import document, peers, recordings, tlc
from validation.cases import Figure, Runner

PROVE = os.environ.get("FLASHRAID_PROVE") == "1"
QUICK = [case for case in document.CASES if case.quick]
STALE = "docs/validation.md is stale: run make validate"
LONG = [case for case in document.CASES if not case.quick]


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return Runner(tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="module")
def text():
    return document.PATH.read_text(encoding="utf-8")


def check(case, runner):
    figure = case.figure(runner)
    assert case.holds(figure), f"{case.name}: {figure}, expected {case.expected}, tolerance {case.tolerance}"
    return figure


@pytest.mark.parametrize("case", QUICK, ids=document.key)
def test_quick_case(case, runner, text):
    figure = check(case, runner)
    assert document.row(case, figure) in text, STALE


@pytest.mark.parametrize("case", LONG, ids=document.key)
def test_long_case(case, runner, tmp_path):
    """Under prove; else only that it runs, with few requests."""
    if PROVE:
        check(case, runner)
    else:
        case.figure(Runner(tmp_path, most_requests=500))


def test_document_is_what_make_validate_would_write(text):
    """With the figures that it records; those of quick cases are measured again by `test_quick_case`."""
    figures = {document.key(case): Figure(0.0) for case in document.CASES} | document.recorded(text)
    assert text == document.render(figures), STALE


def test_document_records_every_figure():
    """What is read back from the document gives the document again; a digit changed in a figure is seen."""
    figures = {document.key(case): Figure(case.expected * 1.001, None) for case in document.CASES}
    figures[document.key(LONG[0])] = Figure(1234.0, 5.0)
    text = document.render(figures)
    assert len(document.recorded(text)) == len(document.CASES) == len({document.key(case) for case in document.CASES})
    assert document.render(document.recorded(text)) == document.render(document.recorded(document.render(figures)))
    stale = text.replace("± 5", "± 6")
    assert stale != text
    assert document.recorded(stale)[document.key(LONG[0])] == Figure(1234.0, 6.0)


def test_a_figure_beyond_its_tolerance_does_not_hold():
    case = replace(QUICK[0], expected=100.0, tolerance=0.01)
    assert case.holds(Figure(100.9))
    assert case.holds(Figure(99.1))
    assert not case.holds(Figure(101.1))
    assert not case.holds(Figure(98.9))
    assert not replace(case, tolerance=0.0).holds(Figure(100.001))
    assert replace(case, tolerance=None).holds(Figure(500.0))
    assert case.holds(Figure(100.5, 0.6))
    assert not case.holds(Figure(100.5, 0.4))  # the interval does not contain what is expected
    assert not case.holds(Figure(100.5, 1.1))  # the interval is too wide


def test_a_workload_that_is_not_the_published_one_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="workload a: the trace's SHA-256 is"):
        replace(peers.A, requests=10).write(tmp_path / "a")


@pytest.mark.parametrize("setup", [peers.SSDSIM_STATIC, peers.SSDSIM_STATIC_END], ids=lambda setup: setup.name)
@pytest.mark.parametrize("requests", [nand_model.random_writes, nand_model.random_mix])
def test_every_response_is_that_of_the_independent_model(requests, setup):
    """The first requests of (a) and of (b), each to the nanosecond; the model shares no code with the engine."""
    wanted = list(requests(20_000 if PROVE else 5_000))
    program_end = setup.settings["write_completes"] == "program_end"
    assert recordings.engine_ns(wanted, setup) == nand_model.responses_ns(wanted, closed_forms.Flash(), program_end)


def test_what_mqsim_takes_for_a_block_of_tlc_is_the_sum_that_the_document_names():
    pages = Counter(map(tlc.mqsim_type, range(tlc.PAGES_PER_BLOCK)))
    assert pages == {tlc.LOWER: 132, tlc.MIDDLE: 128, tlc.UPPER: 124}
    assert Counter(map(tlc.our_type, range(tlc.PAGES_PER_BLOCK))) == dict.fromkeys(tlc.TYPES, 128)
    program_ns = dict(zip(tlc.TYPES, (820_500, 2_225_000, 5_734_000), strict=True))
    read_ns = dict(zip(tlc.TYPES, (56_500, 77_500, 106_000), strict=True))
    transfer_ns = 2_809 + 4 * 16_384
    programs, reads = (row.mqsim_ns for row in tlc.ROWS if row.replay == tlc.BLOCKS)
    assert programs == 385 * transfer_ns + sum(program_ns[of] * count for of, count in pages.items()) + 3
    assert reads == 384 * (2_240 + 20 + 8 * 16_384) + sum(read_ns[of] * count for of, count in pages.items()) + 3


SUSPENSIONS = [
    nand_model.Suspension(min_ns=50_000, suspend_ns=20_000, resume_ns=10_000, most_times=8, most_reads=8),
    nand_model.Suspension(min_ns=0, suspend_ns=0, resume_ns=0, most_times=1, most_reads=1),
    nand_model.Suspension(min_ns=100_000, suspend_ns=30_000, resume_ns=5_000, most_times=2, most_reads=2),
]


@pytest.mark.parametrize("setup", [peers.SSDSIM_STATIC, peers.SSDSIM_STATIC_END], ids=lambda setup: setup.name)
@pytest.mark.parametrize("suspension", SUSPENSIONS)
@pytest.mark.parametrize("gap_ns", [80_000, 150_000])
def test_every_response_with_suspended_programs_is_that_of_the_independent_model(gap_ns, suspension, setup):
    """Mixed requests at two loads, each to the nanosecond (docs/spec/modern.md, 8.3)."""
    wanted = list(nand_model.random_mix(20_000 if PROVE else 2_000, gap_ns))
    given = {
        "suspend": "program",
        "suspend_min_ns": suspension.min_ns,
        "suspend_ns": suspension.suspend_ns,
        "resume_ns": suspension.resume_ns,
        "suspend_limit": suspension.most_times,
        "suspend_reads": suspension.most_reads,
    }
    suspending = replace(setup, settings={**setup.settings, **given, "scheduling": "read_first"})
    program_end = setup.settings["write_completes"] == "program_end"
    flash = closed_forms.Flash()
    expected = nand_model.responses_ns(wanted, flash, program_end, suspension=suspension)
    assert expected != nand_model.responses_ns(wanted, flash, program_end)
    assert recordings.engine_ns(wanted, suspending) == expected


HOST_SIDES = [
    HostSide(command_ns=1_110, unit_ns=460, read_latency_ns=21_500, write_latency_ns=4_000),
    HostSide(write_ps_per_byte=20_011, read_ps_per_byte=9_973, command_ns=997),
    HostSide(10_007, 20_011, 5_003, 11_003, 21_517, 300_007),
]


@pytest.mark.parametrize("setup", [peers.SSDSIM_STATIC, peers.SSDSIM_STATIC_END], ids=lambda setup: setup.name)
@pytest.mark.parametrize("side", HOST_SIDES)
def test_every_response_through_the_host_side_is_that_of_the_independent_model(side, setup):
    """Mixed requests at a load that queues in each stage, each to the nanosecond (docs/spec/modern.md, 8.8)."""
    wanted = list(nand_model.random_mix(20_000 if PROVE else 3_000, 80_000))
    given = {"command_ns": side.command_ns, "unit_ns": side.unit_ns}
    given |= {"host_write_ps_per_byte": side.write_ps_per_byte, "host_read_ps_per_byte": side.read_ps_per_byte}
    given |= {"read_latency_ns": side.read_latency_ns, "write_latency_ns": side.write_latency_ns}
    with_side = replace(setup, settings={**setup.settings, **given})

    def flash(requests):
        program_end = setup.settings["write_completes"] == "program_end"
        return nand_model.completions(requests, closed_forms.Flash(), program_end)

    expected = host_model.responses_ns(wanted, side, flash)
    assert recordings.engine_ns(wanted, with_side) == expected


@pytest.mark.parametrize("recording", recordings.ALL, ids=lambda recording: recording.name)
def test_every_response_on_recordings_is_that_of_the_independent_model(recording, tmp_path):
    """The first 6,000 requests, of which some write a page again too soon; `test_long_case` has all requests."""
    wanted = Runner(tmp_path, most_requests=6_000).requests(recording)
    expected = nand_model.responses_ns(wanted, closed_forms.Flash(), program_end=False)
    assert recordings.engine_ns(wanted, peers.SSDSIM_STATIC) == expected


@pytest.mark.parametrize(
    ("recording", "requests"), [case for case in recordings.SSDSIM_DIGESTS if PROVE or case[1] <= 5_000]
)
def test_every_response_of_ssdsim_is_that_of_the_independent_model_with_its_rules(recording, requests, tmp_path):
    """Each to the nanosecond, by a digest of SSDsim's."""
    wanted = Runner(tmp_path, most_requests=requests).requests(recording)
    responses = nand_model.responses_ns(wanted, closed_forms.Flash(), program_end=False, rules=nand_model.SSDSIM)
    reads, writes = (iter(times) for times in responses)
    lines = [
        f"{request.arrival_ns} {request.first_page * 8} {request.pages * 8} {int(request.is_read)} "
        f"{next(reads if request.is_read else writes)}\n"
        for request in wanted
    ]
    digest = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
    assert digest.startswith(recordings.SSDSIM_DIGESTS[recording, requests])
