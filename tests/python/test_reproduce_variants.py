"""Variants of papers' experiments, and the command that tries them: what it prints, what it refuses."""

from dataclasses import replace

import pytest
from test_reproduce import EXPERIMENT, figures

from flashraid.reproduce import page, papers
from flashraid.reproduce.judgements import Verdict
from flashraid.reproduce.outcome import Outcome, Reproduction, needs
from flashraid.reproduce.papers import Claim, Explanation, Paper, Variant

CLAIM = Claim("c", "", "", "trend", "e", "mean", "new", "above", against="old", value=0.0)

RECORDED = Variant("recordings", "", ["e"], workloads=["r", "s"])


def test_a_claim_of_all_workloads_is_judged_on_those_of_a_variant():
    claim = Claim("c", "", "", "trend", "e", "mean", "new", "above", against="old", value=0.0)
    assert RECORDED.adapted(claim, EXPERIMENT) is claim
    of_all = replace(claim, workloads=[["b", "a"]])
    assert RECORDED.adapted(of_all, EXPERIMENT) == replace(claim, workloads=[["r", "s"]])
    assert RECORDED.adapted(replace(claim, workloads=["a"]), EXPERIMENT) is None
    assert RECORDED.adapted(replace(claim, workloads=["a", "b"]), EXPERIMENT) is None
    assert RECORDED.adapted(replace(claim, along="workloads"), EXPERIMENT) is None
    assert RECORDED.adapted(replace(claim, judge="cells"), EXPERIMENT) is None
    assert RECORDED.adapted(replace(claim, experiment="f"), EXPERIMENT) is None
    same_workloads = Variant("readings", "", ["e"], {"seed": 2})
    assert same_workloads.adapted(replace(claim, workloads=["a"]), EXPERIMENT) is not None


def test_a_variant_is_judged_on_its_own_figures_and_can_explain():
    claim = Claim("c", "", "", "trend", "e", "mean", "new", "above", against="old", value=0.0)
    workloads = {"a": {}, "b": {}, "r": {}, "s": {}}
    reason = Explanation("x", ["c"], "", ["recordings"])
    paper = Paper("p", "", "", {}, workloads, {"e": EXPERIMENT}, [claim], [reason], [RECORDED])
    figures_of_variant = figures({"r": (99.0, 98.0, 97.0), "s": (99.0, 98.0, 97.0)})
    measured = {("e", ""): figures(), ("e", "recordings"): figures_of_variant}
    (outcome,) = Reproduction.of(paper, measured).outcomes
    assert (outcome.word, outcome.variants["recordings"].holds, outcome.is_explained) == ("fails", True, True)
    wanted = {(where, cell.workload) for where, _, cell, _ in needs(paper, {})}
    both = {(("e", ""), each) for each in "ab"} | {(("e", "recordings"), each) for each in "rs"}
    assert wanted == both
    # Without the variant the explanation has nothing to show.
    (outcome,) = Reproduction.of(replace(paper, variants=[]), {("e", ""): figures()}).outcomes
    assert not outcome.is_explained


def test_every_variant_of_a_paper_has_an_effect_on_a_claim():
    for name in papers.names():
        paper = papers.find(name)
        for variant in paper.variants:
            about = [each for each in paper.claims if variant.adapted(each, paper.experiments[each.experiment])]
            assert about, variant.name


def outcome(holds, tolerance="", kind="trend"):
    claim = replace(CLAIM, kind=kind, tolerance=tolerance or "sign")
    return Outcome(claim, Verdict(holds, 0.0, "", "%", 0.0), {}, None, ())


@pytest.mark.parametrize(
    ("near", "signs", "others", "text"),
    [
        (2, 3, 1, "Of 6 values, {}, 2 are within a factor of two and 3 more have the paper's sign."),
        (1, 1, 0, "Of 2 values, {}, 1 is within a factor of two and 1 more has the paper's sign."),
        (0, 1, 0, "Of 1 value, {}, 1 has the paper's sign."),
        (3, 0, 0, "Of 3 values, {}, 3 are within a factor of two."),
        (0, 0, 2, "Of 2 values, {}, none agrees."),
    ],
)
def test_values_are_counted_by_what_their_tolerance_asks(near, signs, others, text):
    values = [outcome(True, "factor two", "value")] * near + [outcome(True, "sign", "value")] * signs
    values += [outcome(False, "sign", "value")] * others
    why = "which cannot be tested exactly because traces are lost or configurations not given"
    assert page.counted([outcome(True), *values]).endswith("unexplained. " + text.format(why))


def test_no_values_are_not_counted():
    assert page.counted([outcome(True)]).endswith("0 are unexplained.")


# ---- input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "nonsense"], "paper nonsense: there is none; there are adaptive, cr5m, hotswap, ppc, sirf1"),
        (
            ["reproduce", "cr5"],
            "paper cr5: there is none; the nearest is cr5m; there are adaptive, cr5m, hotswap, ppc, sirf1",
        ),
        (["reproduce", "cr5m.figure9b"], "experiment of cr5m figure9b: there is none; the nearest is figure9;"),
        (["reproduce", "cr5m.figure10b", "--set", "x"], "--set x: allowed is KEY=VALUE"),
        (
            ["reproduce", "cr5m.figure1", "--set", "gc_tresh=1"],
            "unknown key gc_tresh; the nearest is gc_threshold",
        ),
        (["reproduce", "cr5m.figure10b", "--write", "."], "--write: a page covers a whole paper as it is"),
        (["reproduce", "--json", "-"], "these options need a paper"),
        (
            ["reproduce", "cr5m.figure8", "--variant", "data_in"],
            "variant of cr5m data_in: there is none; the nearest is data-in;",
        ),
        (
            ["reproduce", "cr5m.figure8", "--variant", "data-in", "--set", "seed=1"],
            "--variant: a change of settings is tried alone",
        ),
        # Nothing is measured.
        (
            ["reproduce", "ppc.figure3", "--set", "warmup=1"],
            "ppc.figure3, raid0, eight-pages, 4 x 2: no request was measured: all fall into the warm-up (warmup = 1)",
        ),
        (
            ["reproduce", "ppc.updates", "--set", "profile.streams.4.ops={ read = 1 }"],
            "4+1: cell_us cannot be measured: nothing that it is relative to came about",
        ),
        (["reproduce", "cr5m.figure8", "--traces", "nowhere"], "--traces nowhere: no such directory"),
        (["reproduce", "hotswap.shares", "--traces", "."], "the paper's workloads are synthetic"),
    ],
)
def test_bad_input_is_one_line(command, arguments, message):
    done = command(*arguments, "--quiet", status=2)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
