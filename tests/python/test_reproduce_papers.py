"""The papers as they lie there: their own traces, their data, their pages, the bounds that they imply."""

import re
from dataclasses import replace

import pytest
from conftest import PROVE, ROOT
from test_reproduce import EXPERIMENT

import flashraid as fr
from flashraid.reproduce import page, papers
from flashraid.reproduce.originals import with_originals
from flashraid.reproduce.outcome import Reproduction, measure, of_record, recorded
from flashraid.reproduce.papers import Claim, Explanation, Original, Paper, Variant
from flashraid.reproduce.runner import Runner
from flashraid.reproduce.runs import missing_traces
from reference import paper_bounds

# ---- the paper's own traces

HEAD = "ts_us,op,offset,size\n"


@pytest.fixture
def traced():
    original = Original(["Fin", "fin_1"], "somewhere", {"requests": 4, "write_share": 0.5, "mean_bytes": 4096})
    experiment = replace(EXPERIMENT, workloads={"a": {"trace": "profile:x"}, "b": {"trace": "profile:y"}})
    variants = [
        Variant("bursts", "", ["e"], {"a": {"profile": {"seed": 1}}}),
        Variant("data-in", "", ["e"], {"write_completes": "data_in"}),
        Variant("bursts of b", "", ["e"], {"b": {"profile": {"seed": 1}}}),
        Variant("sooner", "", ["e"], {"a": {"speed": 2}}),
    ]
    reason = Explanation("x", [], "", [{"profile": {"seed": 1}}, {"seed": 1}, "data-in"])
    experiments = {"e": experiment}
    return Paper("p", "", "", {}, experiment.workloads, experiments, [], [reason], variants, originals={"a": original})


def write_trace(path, writes=2, reads=2, size=4096):
    lines = [f"{number},{'W' if number < writes else 'R'},0,{size}\n" for number in range(writes + reads)]
    path.write_text(HEAD + "".join(lines))


def test_a_trace_of_the_paper_takes_the_place_of_its_profile(tmp_path, traced):
    write_trace(tmp_path / "FIN.v2.csv")
    (tmp_path / "other.csv").write_text("")
    there = with_originals(traced, str(tmp_path))
    found, path = there.paper, str(tmp_path / "FIN.v2.csv")
    assert found.experiments["e"].workloads == {"a": {"trace": path}, "b": {"trace": "profile:y"}}
    assert there.notes == [f"a is {path}"]
    # What changes the profile that is gone cannot be tried.
    assert [each.name for each in found.variants] == ["data-in", "bursts of b", "sooner"]
    assert found.explanations[0].changes == [{"seed": 1}, "data-in"]


def test_figures_in_which_papers_differ_are_noted(tmp_path, traced):
    for size, differences in ((4300, []), (4302, ["a: mean_bytes is 4,302; the paper has 4,096"])):
        write_trace(tmp_path / "fin_1.csv", size=size)
        assert with_originals(traced, str(tmp_path)).notes[1:] == differences


def test_a_trace_that_is_not_the_papers_is_refused(tmp_path, traced):
    with pytest.raises(fr.InputError, match=r"it has none of the traces of p: allowed are Fin, with any ending"):
        with_originals(traced, str(tmp_path))
    with pytest.raises(fr.InputError, match="no such directory"):
        with_originals(traced, str(tmp_path / "none"))
    write_trace(tmp_path / "fin.csv", writes=3, reads=1)
    with pytest.raises(fr.InputError, match=r"not the trace of a: write_share is 0.75; the paper has 0.5"):
        with_originals(traced, str(tmp_path))
    write_trace(tmp_path / "fin.csv", writes=3, reads=3)
    with pytest.raises(fr.InputError, match=r"not the trace of a: requests is 6; the paper has 4"):
        with_originals(traced, str(tmp_path))
    write_trace(tmp_path / "Fin_1.csv")
    with pytest.raises(fr.InputError, match=r"Fin_1.csv and fin.csv could both be Fin: allowed is one"):
        with_originals(traced, str(tmp_path))


def test_of_a_table_the_rows_of_traces_that_are_there_stay():
    rows = {"a": {"1": 5.0}, "b": {"1": 6.0}}
    tables = {"of-a": {"a": rows["a"]}, "of-b": {"b": rows["b"]}, "of-both": rows}
    claims = [Claim(id, "", "", "value", "e", "mean", "new", "cells", value=value) for id, value in tables.items()]
    paper = Paper("p", "", "", {}, {}, {"e": EXPERIMENT}, claims, [])
    assert paper.with_workloads("e", ["a", "b"]).claims == claims
    left = paper.with_workloads("e", ["a"]).claims
    assert [(claim.id, claim.value) for claim in left] == [("of-a", {"a": {"1": 5.0}}), ("of-both", {"a": {"1": 5.0}})]


def test_quick_figures_are_those_of_the_middle_repeat():
    repeats = {"10 %": {"seed": 1}, "50 %": {"seed": 2}, "90 %": {"seed": 3}}
    experiments = {"once": EXPERIMENT, "thrice": replace(EXPERIMENT, name="thrice", repeats=repeats)}
    quick = Paper("p", "", "", {}, {}, experiments, [], []).quick()
    assert {name: each.repeats for name, each in quick.experiments.items()} == {
        "once": {"": {}},
        "thrice": {"50 %": {"seed": 2}},
    }


EXPERIMENTS = (
    'title = ""\nabout = ""\n[settings]\n[workloads]\nw = {}\n'
    '[[experiment]]\nname = "e"\nwhere = ""\ntitle = ""\nworkloads = ["w"]\nmetrics = ["mean"]\n'
    "configurations = { x = {} }\npoints = { p = {} }\n"
)
EXPLANATION = '[[explanation]]\nname = "x"\nclaims = ["c"]\nmechanism = ""\nchanges = ["v"]'
CLAIM = '[[claim]]\nid = "c"\nwhere = ""\nstatement = ""\nkind = "trend"\nexperiment = "e"\nof = "x"\nmetric = "mean"\n'


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        (
            'judge = "rises"\npoint = ["p"]',
            r"papers/p/claims\.toml:\d+:1: c: key point: there is none; the nearest is points;",
        ),
        ("", "papers/p/claims.toml: c: judge is missing"),
        ('judge = "rise"', "papers/p: claim c: judge rise: there is none; the nearest is rises;"),
        ('judge = "rises"\npoints = ["q"]', "papers/p: claim c: points q: there is none; there are p"),
        ('judge = "rises"\nagainst = "y"', "papers/p: claim c: against y: there is none; there are x"),
        ('judge = "rises"\n' + CLAIM + 'judge = "falls"', "papers/p: claim c stands there twice"),
        ("judge = ", r"papers/p/claims\.toml:\d+:\d+: [^;]*;?"),
        ('judge = "rises"\nslack = 1.0', r"papers/p/claims\.toml:\d+:1: c: key slack: there is none;"),
    ],
)
def test_data_with_an_error_is_refused_with_its_place(tmp_path, claims, message):
    folder = tmp_path / "p"
    folder.mkdir()
    folder.joinpath("experiments.toml").write_text(EXPERIMENTS)
    folder.joinpath("claims.toml").write_text(CLAIM + claims)
    with pytest.raises(fr.InputError, match=message if message[-1] in ";?" else re.escape(message)):
        papers.load(folder)


@pytest.mark.parametrize(
    ("variant", "explanations", "message"),
    [
        (
            'experiments = ["f"]\nchange = { seed = 1 }',
            "",
            "papers/p: variant v: experiment f: there is none; there are e",
        ),
        (
            'experiments = ["e"]\nworkloads = ["u"]',
            "",
            "papers/p: workload u: there is none; there are w",
        ),
        (
            "experiments = []",
            EXPLANATION,
            "papers/p: explanation x: variant of these claims v: there is none",
        ),
        *(
            (f'experiments = ["e"]\n{change}', f"{fixed}{EXPLANATION}", f"papers/p: explanation x: {message}")
            for change, fixed, message in (
                ("", "", "one thing at a time is allowed: it changes nothing"),
                (
                    "change = { fill = 0.5, fit = 'wrap' }",
                    "",
                    "one thing at a time is allowed: it changes fill and fit",
                ),
                ('workloads = ["w"]', "", "variant v: one thing at a time is allowed: it has other workloads"),
                ("change = { x = { program_ns = 1 } }", "[fixed]\nprogram_ns = 2\n", "program_ns = 1: the paper has 2"),
                ("change = { ldpc = 'none' }", "[fixed]\nldpc = ['a', 'b']\n", "ldpc = none: the paper has a or b"),
            )
        ),
        (
            "experiments = []",
            '[[bound]]\nclaim = "d"\nderivation = ""\npublished = 2.0\nat_most = 1.0',
            "papers/p: bound of claim d: there is none; there are c",
        ),
    ],
)
def test_variants_explanations_and_bounds_name_what_there_is(tmp_path, variant, explanations, message):
    folder = tmp_path / "p"
    folder.mkdir()
    folder.joinpath("experiments.toml").write_text(f'{EXPERIMENTS}[[variant]]\nname = "v"\nabout = ""\n{variant}\n')
    folder.joinpath("claims.toml").write_text(CLAIM + 'judge = "rises"')
    folder.joinpath("explanations.toml").write_text(explanations)
    with pytest.raises(fr.InputError, match=re.escape(message)):
        papers.load(folder)


def test_the_papers_and_their_experiments_are_listed(command):
    text = command("reproduce").stdout
    assert "cr5m.figure8" in text
    assert "sirf1.pairs" in text


def test_every_claim_of_a_paper_has_what_its_judge_needs():
    for name in papers.names():
        paper = papers.find(name)
        for claim in paper.claims:
            assert (claim.judge in ("highest", "lowest", "levels_off")) == bool(claim.item), claim.id
            assert (claim.judge == "between") == (claim.minimum is not None or claim.maximum is not None), claim.id
            needs_value = claim.judge in ("above", "below", "near", "cells", "flat", "jumps", "levels_off")
            assert needs_value == (claim.value is not None), claim.id
        assert any(claim.is_headline for claim in paper.claims)
        assert paper.conclusion
        for claim in paper.claims:
            assert bool(claim.conclusion) == claim.is_headline, claim.id


# ---- the pages of docs/papers

PAGES = ROOT / "docs" / "papers"


def recorded_reproduction(name):
    return of_record(papers.find(name), (PAGES / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", papers.names())
def test_a_page_is_what_its_figures_and_claims_come_to(name):
    found = recorded_reproduction(name)
    stale = f"docs/papers/{name} is stale: run make papers"
    assert (PAGES / f"{name}.md").read_text(encoding="utf-8") == page.render(found), stale
    assert (PAGES / f"{name}.json").read_text(encoding="utf-8") == page.figures_json(found), stale


@pytest.mark.skipif(not PROVE, reason="make prove: `make test` runs the same experiments by `make papers QUICK=1`")
@pytest.mark.parametrize("name", papers.names())
def test_figures_of_a_page_are_measured_again(name):
    """Those of the quick experiments; `make papers` measures all and writes the pages."""
    paper = papers.find(name)
    for experiment in list(paper.experiments.values()):
        if not experiment.is_quick or missing_traces(experiment.workloads.values()):
            paper = paper.without(experiment.name)
    paper = replace(paper, explanations=(), variants=())
    if not paper.experiments:
        pytest.skip("its quick experiments need traces that are not there")
    measured = measure(paper, Runner(lambda status: True))
    known = recorded((PAGES / f"{name}.json").read_text(encoding="utf-8"))
    assert measured == {key: known[key] for key in measured}, f"docs/papers/{name} is stale: run make papers"


def test_a_row_is_left_out_only_if_all_its_figures_are_zero():
    experiment = replace(EXPERIMENT, workloads={"a": {}}, points={"1": {}}, metrics=("mean",))
    paper = Paper("p", "", "", {}, {}, {"e": experiment}, [], [])
    measured = {("old", "a", "1", "mean"): [0.0, 0.0], ("new", "a", "1", "mean"): [0.0, 2.0]}
    text = page.render(Reproduction.of(paper, {("e", ""): measured}))
    assert "| a | new | 1.00 ± 1.41 |" in text
    assert "| a | old |" not in text


def test_another_figure_makes_another_page():
    name = "cr5m"
    found = recorded_reproduction(name)
    figures = found.measured["figure10b", ""]
    key = next(key for key in figures if key[3] == "mean")
    changed = found.measured | {("figure10b", ""): figures | {key: [figures[key][0] + 1]}}
    assert page.render(Reproduction.of(found.paper, changed)) != page.render(found)


COST = paper_bounds.copy_cost(0.115, 0.459)
BOUNDS = {
    "cr5m.fig9a.cells": paper_bounds.most_mirrored(1.1, 3),
    "cr5m.s312.mw.share": paper_bounds.most_mirrored(1.1, 7),
    "cr5m.fig13b.cells": paper_bounds.rebuild_gain(0.365, COST),
    "cr5m.fig13b.mean": paper_bounds.rebuild_gain(0.365, COST),
    "cr5m.fig14b.mean": paper_bounds.rebuild_gain(0.246, COST),
    "cr5m.fig14b.cells": paper_bounds.rebuild_gain(0.246, COST),
    "cr5m.fig14c.cells": paper_bounds.partial_stripe_shares(3, 31)[1],
    "ppc.abstract.vs.fpc": 100 * (paper_bounds.chip_us(0.3, 1.8) / paper_bounds.chip_us(0.3, 0.8) - 1),
}


def test_bounds_are_those_that_the_published_rules_imply():
    found = {f"{name}.{bound.claim}": bound for name in papers.names() for bound in papers.find(name).bounds}
    assert found.keys() == BOUNDS.keys()
    for name, bound in found.items():
        assert bound.at_most == pytest.approx(BOUNDS[name], abs=0.1), name
        assert bound.published > bound.at_most, name


def test_what_the_derivations_cite():
    shares = [paper_bounds.partial_stripe_shares(3, most)[0] for most in (1, 3, 7, 15, 31)]
    assert [round(each) for each in shares] == [100, 83, 46, 24, 12]
    assert pytest.approx(0.775, abs=0.001) == COST
    assert paper_bounds.copy_cost(0.159, 0.365) == pytest.approx(0.62, abs=0.01)
    assert paper_bounds.copy_cost(0.226, 0.246) == pytest.approx(0.25, abs=0.01)
