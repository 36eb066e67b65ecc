"""What is said of a precondition before it begins, and while it lasts."""

import math
import re
import warnings

import pytest
from conftest import PAGE, write_device, write_trace, writes

import flashraid as fr
from flashraid.command.progress import Rounds
from flashraid.settings import configuration, pairs


@pytest.mark.parametrize("fill", [{}, {"fill": 0.63}, {"fill_bytes": 1001 * PAGE}])
@pytest.mark.parametrize("precondition", ["steady", "random:0.7"])
@pytest.mark.parametrize("units", [{}, {"mapping_unit_bytes": PAGE // 4}])
def test_rounds_are_those_of_the_engine(tmp_path, fill, precondition, units):
    device = str(write_device(tmp_path, over_provisioning=0.3, **units))
    # What takes planes to other phases comes after the rounds.
    settings = {**fill, "precondition": precondition} | ({"gc_phases": "aligned"} if precondition == "steady" else {})
    rounds = Rounds.of(configuration(device, "raid5", None, pairs(settings)))
    result = fr.run(write_trace(tmp_path, writes(3)), device=device, scheme="raid5", **settings)
    count = result.precondition.overwritten_bytes // units.get("mapping_unit_bytes", PAGE)
    if precondition == "steady":
        assert result.precondition.steady
        assert count % rounds.units == 0
        assert 5 * rounds.units <= count <= rounds.most_units
    elif not result.precondition.steady:
        assert count == rounds.most_units


@pytest.mark.parametrize(
    ("rounds", "count", "seconds", "text"),
    [
        (Rounds(100, 8000), 0, 0, "0 of 100 pages of round 1 (of 5 to 80) overwritten"),
        (Rounds(100, 8000), 250, 10, "50 of 100 pages of round 3 (of 5 to 80) overwritten, at least 10 s left"),
        (Rounds(100, 8000), 720, 72, "20 of 100 pages of round 8 (of 5 to 80) overwritten, at least 8 s left"),
        (
            Rounds(100, 250, "mapping units"),
            50,
            5,
            "50 of 100 mapping units of round 1 (of 3) overwritten, at least 20 s left",
        ),
        (Rounds(100, 250), 200, 20, "0 of 100 pages of round 3 (of 3) overwritten, at least 5 s left"),
    ],
)
def test_how_far_it_is(rounds, count, seconds, text):
    assert rounds.text(count, seconds) == f"precondition: {text}"


def test_progress_is_told_from_the_engines_pages(tmp_path, command):
    told = []
    device = write_device(tmp_path, blocks_per_plane=2048, over_provisioning=0.3)
    arguments = {"device": device, "scheme": "raid0", "precondition": "random:1"}
    fr.run(write_trace(tmp_path, writes(3)), progress=lambda *of: told.append(of) or True, **arguments)
    counts = [count for stage, count, _ in told if stage == "preconditioning"]
    rounds = Rounds.of(configuration(str(device), "raid0", None, [("precondition", "random:1")]))
    assert counts[0] == 0
    assert math.ceil(rounds.most_units / rounds.units) in (4, 5)
    assert all(count <= rounds.most_units for count in counts)


PATHOLOGICAL = {"device": "tiny", "scheme": "raid5", "fill": 0.9, "gc_threshold": 0.3}


def test_settings_that_mislead_are_said_once_and_before_the_run(tmp_path, command):
    trace = write_trace(tmp_path, writes(20))
    options = ["--device", "tiny", "--fill", "0.9", "--set", "gc_threshold=0.3"]
    lines = command("run", trace, "--scheme", "raid5", *options).stderr.splitlines()
    said = [
        at for at, line in enumerate(lines) if line.startswith("warning: gc_threshold = 0.3: GC starts below 30.0 %")
    ]
    assert said == [1], lines
    lines = command("compare", trace, "--schemes", "raid5", *options, "--no-capacity").stderr.splitlines()
    assert [line for line in lines if "gc_threshold" in line] == [line for line in lines[1:2] if "gc_threshold" in line]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fr.run(trace, **PATHOLOGICAL)
        fr.compare(trace, **{**PATHOLOGICAL, "scheme": None, "schemes": "raid5"}, capacity=False)
    assert sum("gc_threshold" in str(each.message) for each in caught) == 2
    assert any("gc_threshold" in text for text in result.warnings)


def test_a_precondition_fills_an_empty_device(tmp_path):
    trace = write_trace(tmp_path, writes(20))
    settings = {"device": "tiny", "scheme": "raid0", "gc_threshold": 0.3}
    assert not fr.sanity(trace, **settings).warnings
    [warning] = fr.sanity(trace, **settings, precondition="steady").warnings
    assert "the fill leaves 10.0 %" in warning


def test_a_run_that_lives_off_free_space_is_told(tmp_path, command):
    device = str(write_device(tmp_path, over_provisioning=0.3))
    options = ["--device", device, "--scheme", "raid0", "--fill", "1", "--precondition", "steady", "--fit", "wrap"]
    told = r"^warning: GC erased only 0 pages while 3 were programmed: write amplification, 1\.00 against "
    assert re.search(told, command("run", write_trace(tmp_path, writes(3)), *options).stderr, re.MULTILINE)
    many = [(at * 10_000, "W", at * 7919 % 1000 * PAGE, PAGE) for at in range(4000)]
    assert "GC erased" not in command("run", write_trace(tmp_path, many, "many.csv"), *options).stderr
