"""The register of the papers' claims: complete, decided by what exists, computed by its rules, and shown as it is."""

import json
import os
import re
import shutil
import tomllib
from collections import Counter
from dataclasses import replace
from itertools import chain, combinations
from statistics import fmean

import pytest
from conftest import ROOT

import flashraid as fr
from flashraid import _native
from flashraid.command import reproduce
from flashraid.command import run as run_command
from flashraid.reproduce import papers, register
from flashraid.reproduce.outcome import Reproduction, recorded
from flashraid.reproduce.papers import Bound, Claim, Experiment, Explanation, Paper
from flashraid.reproduce.register import (
    BY_RULE,
    CAUSE_KNOWN,
    CAUSE_UNKNOWN,
    CONTRADICTED,
    COPIED,
    FITTED,
    OUT_OF_REACH,
    REPRODUCED,
    SAME_DIRECTION,
    UNDECIDED,
)

PAGES = ROOT / "docs" / "papers"
LISTED = ROOT.parent / "shared" / "papers" / "claims.toml"
COUNTS = {"adaptive": 103, "cr5m": 121, "hotswap": 45, "ppc": 60, "sirf1": 119}
# Statements that the list of published claims lacks, or has as a part of another one.
BEYOND_THE_LIST = {
    "adaptive": {"fig8.adaptive.least", "fig12.adaptive.best"},
    "cr5m": {
        *("fig8.most.write.heavy", "fig8.least.read.heavy", "fig9a.fin2.most", "fig9a.atto.least", "fig10a.no.gc"),
        *("fig9b.exchange.least", "fig9c.radius.most", "fig12a.build.worst", "fig12a.exchange.best"),
        *("fig12b.fin2.most", "fig14a.s16.best", "fig14a.s64.worst", "fig14b.s4.most"),
        *("s41.dftl.tables", "s41.dftl.lookup"),
    },
    "hotswap": {
        *("alg1.trigger", "alg1.limits"),
        *("alg1.end", "alg1.next", "alg2.write", "alg2.others", "alg3.low", "s5.idle", "s5.idle.gc", "s5.old.no.gc"),
        *("s62.cold.data", "s62.cold.parity", "s7.parallel", "s7.both.copies"),
        *("s8.array", "s8.times", "s8.reserve", "s8.stripe", "s8.requests", "s81.reads"),
    },
    "ppc": {"fig11.ppc.half"},
    "sirf1": {
        *("gc.inside", "gc.no.penalty", "text.gc.capacity", "fig6.fin1"),
        *("tables.write.penalty", "tables.reads.gain", "tables.reads.tp1.most"),
    },
}
# Claims of ours alone: of what a profile was fitted to have, of a part of another claim, and on other drives, other
# workloads and recordings, as of experiments that no paper has.
OURS = {
    "adaptive": ("table3.order", "tableA2.reject", "tableA2.range", "fig7.adaptive.lower", "idle.", "whole."),
    "cr5m": ("exchange.",),
    "hotswap": ("redistribution.", "capacity.", "recordings."),
    "ppc": ("hot.",),
    "sirf1": ("gc.groups.alike",),
}
# What of the list is of another unit here.
PERCENT = ["ppc.fig10.nopc.norm", "ppc.fig10.fpc.norm", "ppc.fig10.ppc.norm", "ppc.fig10.cappc.norm"]


@pytest.fixture(scope="module")
def found():
    return register.all_findings(PAGES)


@pytest.fixture(scope="module")
def listed():
    if not LISTED.exists():
        pytest.skip("the list of published claims (../shared/papers/claims.toml) is not there")
    return {claim["id"]: claim for claim in tomllib.loads(LISTED.read_text())["claim"]}


@pytest.fixture(scope="module")
def figures():
    """Figures of the JSON by experiment, configuration, workload, point and metric."""
    return {name: json.loads((PAGES / f"{name}.json").read_text()) for name in COUNTS}


# ---- complete


def test_inputs_are_counted_in_no_register(found):
    counted = {
        name: sum(not each.line.is_input and each.category != FITTED for each in of_paper)
        for name, of_paper in found.items()
    }
    assert counted == COUNTS
    for name, of_paper in found.items():
        inputs = [each for each in of_paper if each.line.is_input]
        assert inputs, name
        assert register.summary({name: of_paper}) == register.summary({name: [e for e in of_paper if e not in inputs]})
        # They are shown all the same.
        _, _, shown = register.render({name: of_paper}).partition(f"Inputs of {name}, which are no claims:")
        assert shown.count("\n| `") == len(inputs)


def test_what_a_drive_was_chosen_by_is_no_claim(found):
    fitted = {each.line.id for of_paper in found.values() for each in of_paper if each.category == FITTED}
    assert "fig8.bursty.slow" in fitted
    for name, of_paper in found.items():
        paper = papers.find(name)
        kinds = {claim.id: claim.kind for claim in paper.claims}
        for each in of_paper:
            decided = [kinds[claim.id] for claim in register.claims_of(each.line, paper) if claim.id in kinds]
            assert (each.category == FITTED) == ("fitted" in decided), each.line.id


def test_the_register_is_the_list(found, listed):
    for name, of_paper in found.items():
        ours = {id for each in of_paper for id in (each.line.id, *each.line.also)}
        theirs = {each.removeprefix(f"{name}.") for each in listed if each.startswith(f"{name}.")}
        assert (theirs - ours, ours - theirs) == (set(), BEYOND_THE_LIST[name]), name


def test_no_claim_of_a_page_is_left_out():
    """What fails on a page has its line: a register could flatter by what it leaves out."""
    for name in COUNTS:
        paper = papers.find(name)
        decided = {claim.id for line in register.lines(paper) for claim in register.claims_of(line, paper)}
        left_out = {claim.id for claim in paper.claims} - decided
        assert {each for each in left_out if not each.startswith(OURS.get(name, ()))} == set(), name


def test_every_paper_says_what_it_fixes():
    known = {setting["key"] for setting in json.loads(_native.settings())}
    known |= {"parity_shares", "redistribute", "mw_limit", "evicts_locked", "spares_recent"}  # of schemes
    for name in COUNTS:
        fixed = papers.read_tables(papers.FOLDER / name / "explanations.toml")["fixed"]
        assert fixed.keys() <= known, name


def test_numbers_are_those_of_the_list(found, listed):
    """A value that is judged as one is the published one, and inputs have the published figure in their words."""
    compared = 0
    beyond = {f"{name}.{id}" for name, ids in BEYOND_THE_LIST.items() for id in ids}
    for name, of_paper in found.items():
        paper = papers.find(name)
        for each in of_paper:
            if f"{name}.{each.line.id}" in beyond:
                continue
            claim = listed[f"{name}.{each.line.id}"]
            deciding = register.claims_of(each.line, paper)
            if claim["kind"] != "value" or len(deciding) != 1 or deciding[0].is_judged:
                continue
            published = claim["value"] * (100 if f"{name}.{each.line.id}" in PERCENT else 1)
            assert deciding[0].value == pytest.approx(published), each.line.id
            compared += 1
    assert compared > 140
    for each in (each for of_paper in found.values() for each in of_paper if each.line.id.startswith("table")):
        if each.category == COPIED and not each.line.id.startswith(("table4", "tableA2", "table3.order")):
            paper = next(name for name in COUNTS if each in found[name])
            value = listed[f"{paper}.{each.line.id}"]["value"]
            assert f"{value:,.10g}" in each.statement, each.line.id


# ---- decided by what exists


def test_tests_that_decide_exist(found):
    tested = [test for of_paper in found.values() for each in of_paper for test in each.line.tests]
    assert len(tested) > 60
    for each in tested:
        file, _, test = each.partition(" ")
        function = "def" if file.endswith(".py") else "fn"
        assert re.search(rf"^ *{function} {test}\(", (ROOT / file).read_text(), re.MULTILINE), each


def test_every_line_has_words(found):
    for of_paper in found.values():
        for each in of_paper:
            assert each.where, each.line.id
            assert each.statement, each.line.id
            assert each.category in (*register.CATEGORIES, FITTED) or (each.line.input and each.category == COPIED)
            assert (each.category == OUT_OF_REACH) == bool(each.reason)
            assert (each.category in (CAUSE_KNOWN, BY_RULE, CONTRADICTED, FITTED)) <= bool(each.because)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"fig8.mins" = {}', "fig8.mins: judged_by fig8.mins: there is none; the nearest is fig8.min"),
        ('"fig8.all.cases" = { judged_by = "fig8.min", tested_by = "a b" }', "allowed is one of judged_by, figure"),
        ('x = { judged_by = "fig8.cells" }', "cell: needed with a claim that is a table"),
        ('x = { judged_by = "fig8.min", cell = ["fin2", "SSD1"] }', "cell: needed with a claim that is a table"),
        ('x = { judged_by = "fig8.cells", cell = ["fin9", "SSD1"] }', "cell fin9: there is none; the nearest is fin2"),
        ('x = { judged_by = "fig8.cells", cell = ["fin2", "SSD2"] }', "cell SSD2: there is none; the nearest is SSD1"),
        ('x = { judged_by = ["fig8.ssd2.mean", "fig8.ssd1.mean"] }', "one value at most is allowed"),
        (
            'x = { judged_by = "fig8.min" }\ny = { judged_by = "fig8.min" }',
            "y: the figure of fig8.min decides x already",
        ),
        (
            'x = { where = "a", statement = "b", tested_by = "f t" }\n'
            'y = { where = "a", statement = "b", tested_by = ["f s", "f t"] }',
            "y: test f t decides x already, and no statement counts twice",
        ),
        (
            '"fig8.ssd1.mean" = {}\nx = { where = "a", statement = "The introduction has 16 %.", figure = { '
            'experiment = "figure8", metric = "mean", of = "cr5m", against = "raid5", points = ["SSD1"], value = 16.0, '
            'workloads = [["fin2", "build", "exchange", "radius", "atto"]] } }',
            "x: the figure of x decides fig8.ssd1.mean already",
        ),
        (
            'x = { judged_by = "fig8.ssd1.mean", statement = "It gains the most." }',
            "x: the most: an order, which no value",
        ),
        ('x = { judged_by = "fig8.ssd1.mean", statement = "SSD1 is its best case." }', "its best: an order, which no"),
        ('x = { input = true, statement = "b" }', "where or statement is missing"),
        ('x = { out_of_reach = "lazy", where = "a", statement = "b" }', "out_of_reach lazy: there is none"),
        ('x = { out_of_reach = "authors", where = "a" }', "where or statement is missing"),
        ('x = { judged_by = "fig8.min", cause = "fig8" }', "cause fig8: there is none"),
        ('x = { judgd_by = "fig8.min" }', "key judgd_by: there is none; the nearest is judged_by"),
        (
            'x = { where = "a", statement = "b", figure = { experiment = "figure8", metric = "mean", of = "cr5x" } }',
            "configurations cr5x: there is none; the nearest is cr5m",
        ),
        ("x = 1", "papers/cr5m/register.toml: x: allowed is a table"),
        ("x = {", "papers/cr5m/register.toml:1:6: unclosed inline table"),
    ],
)
def test_mistakes_are_told(tmp_path, monkeypatch, line, message):
    (tmp_path / "cr5m").mkdir()
    (tmp_path / "cr5m" / "register.toml").write_text(line + "\n")
    monkeypatch.setattr(register, "FOLDER", tmp_path)
    with pytest.raises(fr.InputError, match=re.escape(message)):
        register.lines(papers.find("cr5m"))


# ---- computed by its rules


@pytest.mark.parametrize(
    ("ours", "paper", "has_sign", "category"),
    [
        (11.0, 10.0, True, REPRODUCED),
        (9.0, 10.0, False, REPRODUCED),
        (-9.0, -10.0, True, REPRODUCED),
        (0.0, 0.0, False, REPRODUCED),
        (11.1, 10.0, True, SAME_DIRECTION),
        (30.0, 10.0, True, SAME_DIRECTION),
        (30.1, 10.0, True, CAUSE_UNKNOWN),  # another one by far
        (13.4, 40.0, True, SAME_DIRECTION),
        (13.3, 40.0, True, CAUSE_UNKNOWN),
        (-4.0, -10.0, True, SAME_DIRECTION),
        (0.9, 2.0, True, CAUSE_UNKNOWN),  # level
        (0.2, 0.4, True, SAME_DIRECTION),  # so is the paper's
        (-11.0, 10.0, True, CAUSE_UNKNOWN),
        (0.1, 0.0, True, CAUSE_UNKNOWN),
        (20.0, 10.0, False, SAME_DIRECTION),
        (5.0, 10.0, False, SAME_DIRECTION),
        (20.1, 10.0, False, CAUSE_UNKNOWN),
        (4.9, 10.0, False, CAUSE_UNKNOWN),
        (float("inf"), 10.0, True, CAUSE_UNKNOWN),
        (float("nan"), 10.0, False, CAUSE_UNKNOWN),
    ],
)
def test_values_are_compared_by_difference_or_by_size(ours, paper, has_sign, category):
    assert register.compared(ours, paper, has_sign=has_sign) == category


def test_ten_claims_computed_by_hand(found, figures):
    by_id = {f"{name}.{each.line.id}": each for name, of_paper in found.items() for each in of_paper}

    def of(paper, experiment, configuration, workload, point, metric):
        figure = figures[paper][experiment][configuration][workload][point][metric]
        return fmean(figure if isinstance(figure, list) else [figure])

    def gain(paper, experiment, base, own, *where):
        old, new = of(paper, experiment, base, *where), of(paper, experiment, own, *where)
        return 100 * (old - new) / old

    # Cells of a table: within 10 %, with the sign alone, within three times as much, with the other sign.
    assert gain("sirf1", "pairs", "plain", "mirrored", "build", "TP3", "mean") == pytest.approx(11.4, rel=0.1)
    assert by_id["sirf1.table6.build.tp3.dmrt"].category == REPRODUCED
    assert by_id["sirf1.table7.build.tp5.dmrt"].category == CONTRADICTED  # the same pair, for which it has 9.5 %
    assert 1 < gain("sirf1", "pairs", "plain", "mirrored", "tpc-c", "TP2", "read_mean") < 0.9 * 39.8
    assert by_id["sirf1.table6.tpc-c.tp2.dmrrt"].category == CAUSE_KNOWN
    assert 48.6 / 3 < gain("sirf1", "pairs", "plain", "mirrored", "exchange", "TP1", "read_mean") < 0.9 * 48.6
    assert by_id["sirf1.table6.exchange.tp1.dmrrt"].category == SAME_DIRECTION
    assert gain("sirf1", "pairs", "plain", "mirrored", "fin1", "TP1", "write_mean") > 0
    assert by_id["sirf1.table6.fin1.tp1.dmwrt"].category == CAUSE_UNKNOWN
    # A share: more than twice the paper's 16.4 %; and one within a factor of two of 36.5 %.
    assert of("cr5m", "figure9", "cr5m", "exchange", "SSD1", "mirror_ratio") > 2 * 16.4
    assert by_id["cr5m.fig9c.exchange"].category == CAUSE_UNKNOWN
    assert 36.5 / 2 < of("cr5m", "figure13", "mcr", "synthetic", "90 %", "copied_share") < 0.9 * 36.5
    assert by_id["cr5m.fig13c.w90"].category == SAME_DIRECTION
    # A figure of its own, of five repeats: 0.6 % longer, where the paper has 2.5 %, but the repeats differ by more.
    longer = -gain("cr5m", "figure14", "dor", "mcr", "synthetic", "64 KiB", "rebuild_mean")
    assert 0 < longer < 1
    assert by_id["cr5m.fig14a.s64"].category == UNDECIDED
    # An order over all of a figure.
    drives = [
        (workload, drive)
        for workload in ("fin2", "build", "exchange", "radius", "atto")
        for drive in ("SSD1", "SSD2", "SSD3")
    ]
    gains = [gain("cr5m", "figure8", "raid5", "cr5m", *each, "mean") for each in drives]
    assert min(gains) < 0 < max(gains)
    assert all(gain("cr5m", "figure8, exchange-bursts", "raid5", "cr5m", *each, "mean") > 0 for each in drives)
    assert by_id["cr5m.fig8.all.cases"].category == CAUSE_KNOWN
    # The best gain of three, the worst seed of three: 41.5 % for the paper's 39 %.
    best = [
        max(
            gain("hotswap", "figure4", "online", "hot-swap-gc", f"random-{seed}", point, "replacement_mean")
            for point in ("2 ms", "3 ms", "4.2 ms")
        )
        for seed in (1, 2, 3)
    ]
    assert all(each == pytest.approx(39, rel=0.1) for each in best)
    assert by_id["hotswap.abstract.rt.max"].category == REPRODUCED
    # A ratio of bandwidths, as the mean of four.
    ratios = [
        100
        * of("ppc", "figure10", "ppc", workload, "closed loop", "bandwidth")
        / of("ppc", "figure10", "raid0", workload, "closed loop", "bandwidth")
        for workload in ("osdb", "financial", "iozone", "postmark")
    ]
    assert fmean(ratios) == pytest.approx(68, rel=0.1)
    # It is as near as that, and counts for nothing: the workloads were made while somebody looked at it.
    assert by_id["ppc.fig10.ppc.norm"].category == FITTED
    # Two claims decide together: one holds, the other fails, and nothing explains it.
    outcomes = by_id["ppc.fig16a.financial"]
    assert (outcomes.category, outcomes.asked.count(";")) == (CAUSE_UNKNOWN, 1)


def test_too_few_requests_leave_a_claim_undecided():
    measured = recorded((PAGES / "cr5m.json").read_text())
    figures = measured["figure14", ""]
    few = {key: [1] * len(values) if key[3] == "rebuild_requests" else values for key, values in figures.items()}
    found = register.findings(Reproduction.of(papers.find("cr5m"), measured | {("figure14", ""): few}))
    (undecided,) = (each for each in found if each.line.id == "fig14a.s16")
    assert (undecided.category, undecided.because) == (UNDECIDED, "too few requests")


def test_what_cannot_be_told_apart_is_not_reproduced(found):
    """Reads of semi-hybrid RAID after two replacements are 0.03 % faster at one point of six."""
    (after,) = (each for each in found["hotswap"] if each.line.id == "fig6.after2")
    assert (after.category, after.because) == (UNDECIDED, "not told apart")
    # Lower alphas save 0.3 % of the operations under Iozone, and under Postmark they cost more: what fails stays so.
    by_id = {each.line.id: each for each in found["ppc"]}
    assert by_id["fig12.alpha.best"].category == CAUSE_UNKNOWN
    # Many times as many as BPU's stand-in is not 56 % more.
    (adjusted,) = (each for each in found["adaptive"] if each.line.id == "fig6.adjusted")
    assert adjusted.category == CAUSE_UNKNOWN


def test_a_cause_counts_only_if_its_changes_show_it():
    measured = recorded((PAGES / "sirf1.json").read_text())
    without = {where: measured[where[0], ""] if where[1].endswith("bursts") else of for where, of in measured.items()}
    for figures, category in (measured, CAUSE_KNOWN), (without, CAUSE_UNKNOWN):
        found = register.findings(Reproduction.of(papers.find("sirf1"), figures))
        (cell,) = (each for each in found if each.line.id == "table6.tpc-c.tp2.dmrt")
        assert cell.category == category


@pytest.fixture
def category_of(tmp_path, monkeypatch):
    """What the only line of a made-up paper comes to."""
    (tmp_path / "p").mkdir()
    monkeypatch.setattr(register, "FOLDER", tmp_path)

    def find(line, paper, measured):
        monkeypatch.setattr(register, "find", lambda name: paper)
        (tmp_path / "p" / "register.toml").write_text(f'"c" = {line}\n')
        (found,) = register.findings(Reproduction.of(paper, measured))
        return found.category

    return find


@pytest.fixture
def finding_of(category_of):
    """What a line comes to in a small paper of the configurations `old` and `new`, whose mean is 100 under `old`."""

    def find(line, new, changed=None, changes=(), judged=None, requests=1000.0, **paper):
        """`new` are its means in every repeat, `changed` one under the change of the explanation of claim `d`.

        The claims are values of 30 %, or what `judged` says; under the change the means are of so many `requests`.
        """
        repeats = {str(number): {} for number in range(len(new))}
        experiment = Experiment("e", "", "", {"old": {}, "new": {}}, {"w": {}, "v": {}}, {"1": {}}, ["rebuild_mean"])
        experiment = replace(experiment, repeats=repeats)
        value = {"kind": "value", "experiment": "e", "metric": "rebuild_mean", "of": "new", "against": "old"}
        value |= {"judge": "near", "value": 30.0} | (judged or {})
        known = [Claim(id, "W", "S.", **value, workloads=[of]) for id, of in (("c", "w"), ("d", "v"))]
        reason = Explanation("x", ["d"], "", changes)
        whole = Paper("p", "", "", {}, {}, {"e": experiment}, known, [reason] if changes else [], **paper)
        measured = {("e", ""): {}, ("e", "x 1"): {}}
        for change, workload, mean in (("", "w", new), ("", "v", [95.0]), ("x 1", "w", changed), ("x 1", "v", [70.0])):
            for name, values in (("old", [100.0]), ("new", mean)) if mean else ():
                figures = values * (len(new) // len(values))
                measured["e", change][name, workload, "1", "rebuild_mean"] = figures
                of = [requests if change else 1000.0] * len(new)
                measured["e", change][name, workload, "1", "rebuild_requests"] = of
        return category_of(line, whole, measured)

    return find


def test_a_cause_counts_only_where_it_moves_the_figure_itself(finding_of):
    """30 % are the paper's, 5 % ours: a cause that another claim has is none unless it moves these 5 % as well."""
    cause, fill, speed = '{ cause = "d" }', [{"fill": 0.5}], [{"speed": 2}]
    assert finding_of(cause, [95.0]) == CAUSE_UNKNOWN
    for changed, change, category in (
        ([95.0], fill, CAUSE_UNKNOWN),
        ([91.0], fill, CAUSE_UNKNOWN),
        ([82.0], fill, CAUSE_KNOWN),  # half way, and within a factor of three
        ([50.0], speed, CAUSE_KNOWN),
        ([91.0], speed, CAUSE_UNKNOWN),
        (None, fill, CAUSE_UNKNOWN),  # not measured
    ):
        assert finding_of(cause, [95.0], changed, change) == category, changed
    assert finding_of("{}", [95.0], [82.0], fill) == CAUSE_UNKNOWN  # the line does not name it
    # As far on too few requests.
    for requests, category in (300.0, CAUSE_KNOWN), (299.0, CAUSE_UNKNOWN):
        assert finding_of(cause, [95.0], [82.0], fill, requests=requests) == category


def test_a_value_of_some_magnitude_agrees_by_the_same_rule_before_and_under_a_change(finding_of):
    """30 us are the paper's: within three times as much is the same direction, and 82 us are not half way from 95."""
    magnitude = {"against": "", "tolerance": "magnitude"}
    assert finding_of("{}", [82.0], judged=magnitude) == SAME_DIRECTION
    assert finding_of("{}", [95.0], judged=magnitude) == CAUSE_UNKNOWN
    for judged, category in (magnitude, CAUSE_KNOWN), ({"against": ""}, CAUSE_UNKNOWN):
        assert finding_of('{ cause = "d" }', [95.0], [82.0], [{"fill": 0.5}], judged) == category


def test_of_several_claims_the_gravest_decides(category_of):
    """Each of two outcomes, whichever is named first. Of reductions: what is asked, ours, ours under a change."""
    above = {"kind": "ordering", "judge": "above", "value": 0.0}
    decided = {
        CAUSE_UNKNOWN: (above, -5.0, -5.0),
        CAUSE_KNOWN: (above, -5.0, 5.0),
        CONTRADICTED: (above, -5.0, -5.0),
        UNDECIDED: (above, 0.5, 0.5),
        FITTED: (above | {"kind": "fitted"}, 5.0, 5.0),
        SAME_DIRECTION: ({"kind": "value", "judge": "near", "value": 10.0}, 5.0, 5.0),
        REPRODUCED: (above, 5.0, 5.0),
    }
    workloads = {each: {} for each in decided}
    experiment = Experiment("e", "", "", {"old": {}, "new": {}}, workloads, {"1": {}}, ["mean"])
    given = {"experiment": "e", "metric": "mean", "of": "new", "against": "old"}
    claims = [Claim(each, "W", "S.", **given, **asked, workloads=[each]) for each, (asked, *_) in decided.items()]
    reason, bound = Explanation("x", [CAUSE_KNOWN], "", [{"fill": 0.5}]), Bound(CONTRADICTED, "", 0.0, -1.0)
    paper = Paper("p", "", "", {}, {}, {"e": experiment}, claims, [reason], bounds=[bound])
    measured = {("e", ""): {}, ("e", "x 1"): {}}
    for each, (_, *ours) in decided.items():
        for figures, less in zip(measured.values(), ours, strict=True):
            figures |= {("old", each, "1", "mean"): [100.0], ("new", each, "1", "mean"): [100.0 - less]}
    for graver, other in combinations(decided, 2):
        for named in (graver, other), (other, graver):
            assert category_of(f"{{ judged_by = {json.dumps(named)} }}", paper, measured) == graver, named


def test_a_cause_moves_a_judged_claim_more_than_half_way(finding_of):
    """From 1 % towards the 10 % that are asked for."""
    judged = {"kind": "range", "judge": "above", "value": 10.0}
    for changed, category in (([95.0], CAUSE_UNKNOWN), ([94.0], CAUSE_KNOWN), ([89.0], CAUSE_KNOWN)):
        assert finding_of('{ cause = "d" }', [99.0], changed, [{"fill": 0.5}], judged) == category, changed
    assert finding_of('{ cause = "d" }', [99.0], [94.0], [{"speed": 2}], judged) == CAUSE_UNKNOWN


def test_a_value_is_undecided_where_its_repeats_differ_by_more(finding_of):
    assert finding_of("{}", [105.0, 75.0, 105.0]) == UNDECIDED  # 5 %, of -5 to 25 %
    assert finding_of("{}", [95.0, 96.0, 94.0]) == CAUSE_UNKNOWN
    assert finding_of("{}", [95.0]) == CAUSE_UNKNOWN


def test_what_cannot_fail_and_what_the_paper_contradicts_are_not_reproduced(finding_of):
    for new, plain, ruled in ([70.0], REPRODUCED, BY_RULE), ([80.0], SAME_DIRECTION, SAME_DIRECTION):
        assert finding_of("{}", new) == plain
        assert finding_of('{ by_rule = "It has no other way." }', new) == ruled
        assert finding_of('{ contradicted = "Its Table 1 has 20 %." }', new) == CONTRADICTED
    arithmetic = '{ where = "W", statement = "Two and two are four.", by_rule = "4" }'
    assert finding_of(arithmetic, [70.0]) == BY_RULE


def test_a_number_that_the_paper_itself_excludes_is_contradicted(finding_of):
    of_own, of_other, of_another = Bound("c", "", 30.0, 10.0), Bound("d", "", 30.0, 10.0), Bound("c", "", 31.0, 10.0)
    for new in [80.0], [95.0], [105.0]:
        assert finding_of("{}", new, bounds=[of_own]) == CONTRADICTED
        assert finding_of("{}", new, bounds=[of_other, of_another]) != CONTRADICTED
    assert finding_of("{}", [70.0], bounds=[of_own]) == REPRODUCED  # what we find is possible
    # Of a range its least.
    judged = {"kind": "range", "judge": "between", "value": None, "minimum": 30.0, "maximum": 31.0}
    for bound, category in (of_own, CONTRADICTED), (of_another, CAUSE_UNKNOWN):
        assert finding_of("{}", [95.0], judged=judged, bounds=[bound]) == category


# ---- shown as it is


def test_categories_add_up(found):
    for of_paper in [*found.values(), list(chain(*found.values()))]:
        table = register.summary({"x": of_paper}).splitlines()
        claims, tried, *counts = map(int, table[2].strip("| ").split(" | ")[1:])
        of_paper = [each for each in of_paper if not each.line.is_input and each.category != FITTED]
        assert claims == sum(counts) == len(of_paper)
        assert tried == sum(counts[:-2])
        assert counts == [Counter(each.category for each in of_paper)[each] for each in register.CATEGORIES]


def test_documents_are_up_to_date():
    for path, text in register.documents(PAGES).items():
        if os.environ.get("FLASHRAID_BLESS"):
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path}: FLASHRAID_BLESS=1 writes it anew"


def test_documents_follow_the_figures(tmp_path):
    """A figure that changes a category changes page and tables; what is not between the marks stays."""
    folder = tmp_path / "docs" / "papers"
    shutil.copytree(PAGES, folder)
    shutil.copy(ROOT / "README.md", tmp_path)
    changed = json.loads((folder / "sirf1.json").read_text())
    changed["pairs"]["mirrored"]["build"]["TP5"]["mean"] *= 2
    (folder / "sirf1.json").write_text(json.dumps(changed))
    before = {path: path.read_text() for path in (folder / "claims.md", folder / "README.md", tmp_path / "README.md")}
    assert run_command(["reproduce", "--summary", str(folder)]) == 0
    for path, old in before.items():
        fresh = path.read_text()
        assert fresh != old
        if path.name == "README.md":
            parts = [re.split("<!-- (?:end of )?claims -->", text) for text in (fresh, old)]
            assert (parts[0][0], parts[0][2]) == (parts[1][0], parts[1][2])


def test_a_summary_that_cannot_be_made_is_refused(tmp_path, capsys):
    folder = tmp_path / "docs" / "papers"
    shutil.copytree(PAGES, folder)
    (folder / "claims.md").unlink()
    for change, message in (
        (lambda: None, f"{tmp_path / 'README.md'}: No such file or directory"),
        (lambda: (folder / "README.md").write_text("no marks"), "lacks the line <!-- claims --> or"),
        (lambda: (folder / "ppc.json").unlink(), f"{folder / 'ppc.json'}: No such file or directory"),
    ):
        change()
        assert run_command(["reproduce", "--summary", str(folder)]) == 2
        assert message in capsys.readouterr().err
    assert run_command(["reproduce", "cr5m", "--summary", str(folder)]) == 2
    assert "--summary: it runs nothing: allowed alone" in capsys.readouterr().err
    assert not (folder / "claims.md").exists()


def test_a_summary_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "docs" / "papers"
    shutil.copytree(PAGES, folder)
    shutil.copy(ROOT / "README.md", tmp_path)
    before = sorted(tmp_path.rglob("*"))
    new_file = reproduce.NewFile

    def fails(path, option):
        if path == tmp_path / "README.md":
            raise fr.InputError(f"{path}: cannot be written")
        return new_file(path, option)

    monkeypatch.setattr(reproduce, "NewFile", fails)
    assert run_command(["reproduce", "--summary", str(folder)]) == 2
    assert "README.md: cannot be written" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
