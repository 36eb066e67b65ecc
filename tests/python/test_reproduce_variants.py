"""Variants of papers' experiments, and the command that tries them: what it prints, what it refuses."""

import json
from dataclasses import replace

import pytest
from conftest import PROVE, ROOT
from test_reproduce import EXPERIMENT, NEW, figures

import flashraid as fr
from flashraid.command import claims
from flashraid.command import run as run_command
from flashraid.reproduce import page, papers, runs
from flashraid.reproduce.found import Outcome
from flashraid.reproduce.judgements import Verdict
from flashraid.reproduce.outcome import Reproduction, needs, recorded, with_variants
from flashraid.reproduce.papers import Bound, Claim, Explanation, Paper, Variant
from flashraid.reproduce.runs import Cell

CLAIM = Claim("c", "", "", "trend", "e", "mean", "new", "above", against="old", value=0.0)


RECORDED = Variant("recordings", "", ["e"], workloads=["r", "s"])


def test_a_claim_of_all_workloads_is_judged_on_those_of_a_variant():
    assert RECORDED.adapted(CLAIM, EXPERIMENT) is CLAIM
    of_all = replace(CLAIM, workloads=[["b", "a"]])
    assert RECORDED.adapted(of_all, EXPERIMENT) == replace(CLAIM, workloads=[["r", "s"]])
    assert RECORDED.adapted(replace(CLAIM, workloads=["a"]), EXPERIMENT) is None
    assert RECORDED.adapted(replace(CLAIM, workloads=["a", "b"]), EXPERIMENT) is None
    assert RECORDED.adapted(replace(CLAIM, along="workloads"), EXPERIMENT) is None
    assert RECORDED.adapted(replace(CLAIM, judge="cells"), EXPERIMENT) is None
    assert RECORDED.adapted(replace(CLAIM, experiment="f"), EXPERIMENT) is None
    same_workloads = Variant("readings", "", ["e"], {"seed": 2})
    assert same_workloads.adapted(replace(CLAIM, workloads=["a"]), EXPERIMENT) is not None


def test_a_variant_is_judged_on_its_own_figures_and_can_explain():
    workloads = {"a": {}, "b": {}, "r": {}, "s": {}}
    reason = Explanation("x", ["c"], "", ["recordings"])
    paper = Paper("p", "", "", {}, workloads, {"e": EXPERIMENT}, [CLAIM], [reason], [RECORDED])
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


def test_a_variant_of_other_workloads_explains_only_if_the_claim_holds_under_it():
    before, after = ({"a": NEW["a"], "b": (99.0, each, 95.0)} for each in (104.0, 101.9))
    near = {("e", ""): figures(before), ("e", "v"): figures(after)}
    for variant, is_explained in (
        (Variant("v", "", ["e"], {"seed": 2}), True),
        (Variant("v", "", ["e"], {"speed": 2}), False),
        (Variant("v", "", ["e"], workloads=["a", "b"]), False),
    ):
        paper = Paper(
            "p",
            "",
            "",
            {},
            {"a": {}, "b": {}},
            {"e": EXPERIMENT},
            [CLAIM],
            [Explanation("x", ["c"], "", ["v"])],
            [variant],
        )
        (outcome,) = Reproduction.of(paper, near).outcomes
        assert outcome.is_explained is is_explained, variant


def test_an_explanation_is_measured_on_all_that_its_claims_compare():
    claim = Claim(
        "c", "", "", "trend", "e", "mean", "new", "above", against="old", value=0.0, workloads=["a"], points=["2"]
    )
    paper = Paper("p", "", "", {}, {}, {"e": EXPERIMENT}, [claim], [Explanation("r", ["c"], "", [{"seed": 2}])])
    wanted = {cell for where, _, cell, _ in needs(paper, {}) if where == ("e", "r 1")}
    assert wanted == {Cell("new", "a", "2"), Cell("old", "a", "2")}


def test_which_variants_are_tried():
    workloads = {"a": {}, "b": {}, "r": {"trace": "nowhere.csv"}}
    variants = [Variant("data-in", "", ["e"]), Variant("recordings", "", ["e"], workloads=["r"])]
    reason = Explanation("x", [], "", ["recordings", {"seed": 2}])
    paper = Paper("p", "", "", {}, workloads, {"e": EXPERIMENT}, [], [reason], variants)
    for wanted, found in (([], ["recordings"]), (["data-in"], ["data-in", "recordings"])):
        assert [each.name for each in with_variants(paper, wanted).variants] == found


def test_a_part_of_a_paper_has_what_is_said_of_it():
    claims = [Claim(each, "", "", "trend", each, "mean", "new", "rises") for each in "ef"]
    variants = [Variant("both", "", ["e", "f"]), Variant("other", "", ["f"])]
    bounds = [Bound(each, "", 2.0, 1.0) for each in "ef"]
    experiments = {each: replace(EXPERIMENT, name=each) for each in "ef"}
    part = Paper("p", "", "", {}, {}, experiments, claims, [], variants, bounds).part(["e"])
    assert [(each.name, each.experiments) for each in part.variants] == [("both", ["e"])]
    assert [each.claim for each in part.bounds] == ["e"]


def test_every_variant_of_a_paper_has_an_effect_on_a_claim():
    for name in papers.names():
        paper = papers.find(name)
        for variant in paper.variants:
            about = [each for each in paper.claims if variant.adapted(each, paper.experiments[each.experiment])]
            assert about, variant.name


def words(paper, measured):
    return {each.claim.id: page.outcome_word(each) for each in Reproduction.of(paper, measured).outcomes}


def test_the_word_of_a_claim_does_not_depend_on_the_variants_that_are_asked_for():
    for name in papers.names():
        measured = recorded((ROOT / "docs" / "papers" / f"{name}.json").read_text(encoding="utf-8"))
        paper = papers.find(name)
        assert words(with_variants(paper, []), measured) == words(paper, measured)
        for variant in paper.variants if PROVE else paper.variants[:1]:
            assert words(with_variants(paper, [variant.name]), measured) == words(paper, measured)
    # Those that explain a claim are tried, whatever is asked for.
    of_set = with_variants(papers.find("ppc.hot-set"), ["no-commands"])
    assert [each.name for each in of_set.variants] == ["rmw", "no-commands"]


def test_variants_that_are_asked_for_are_printed(command):
    done = command("reproduce", "ppc.updates", "--variant", "rmw", "--json", "updates.json", "--quiet")
    _, _, under = done.stdout.partition("\nvariant rmw\n")
    claims = json.loads((command.folder / "updates.json").read_text())["claims"]
    assert claims
    for claim in claims:
        (line,) = (line for line in under.splitlines() if claim["id"].partition(".")[2] in line.split())
        assert claim["variants"]["rmw"]["outcome"] in line
        assert line.endswith(claim["variants"]["rmw"]["note"])
    # What explains a claim is tried, but not printed.
    assert "variant" not in command("reproduce", "ppc.updates", "--quiet").stdout


def test_tables_of_variants(capsys):
    claim = replace(CLAIM, workloads=["a"])
    workloads = {"a": {}, "b": {}, "r": {}, "s": {}}
    variants = [Variant("seeds", "", ["e"], {"seed": 2}), RECORDED, Variant("others", "", ["e"], {"seed": 3})]
    paper = Paper("p", "title", "", {}, workloads, {"e": EXPERIMENT}, [claim], [], variants)
    of_recordings = figures({"r": (1.0, 1.0, 1.0), "s": (1.0, 1.0, 1.0)})
    better = figures({"a": (50.0, 40.0, 30.0), "b": (1.0, 1.0, 1.0)})
    measured = {
        ("e", ""): figures(),
        ("e", "seeds"): better,
        ("e", "others"): better,
        ("e", "recordings"): of_recordings,
    }
    found = replace(Reproduction.of(paper, measured), asked=["seeds", "recordings"])
    claims.show_reproduction(found)
    text = capsys.readouterr().out
    assert "50.0 % (1); 3 of 3 hold, mean 60, 50 to 70" in text.partition("variant seeds\n")[2]
    assert text.endswith("variant recordings: no claim is of its workloads\n")
    assert "others" not in text


def test_a_variant_whose_traces_are_missing_is_refused_or_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "FOLDER", tmp_path / "papers")
    assert run_command(["reproduce", "ppc.figure10", "--variant", "recordings", "--quiet"]) == 2
    text = capsys.readouterr()
    first = tmp_path / "samples" / "pgbench-transactions.csv.gz"
    assert text.err.startswith(f"error: variant recordings: the trace {first} is missing: put it there")
    assert (text.out, text.err.count("\n")) == ("", 1)
    assert run_command(["reproduce", "ppc", "--write", str(tmp_path), "--quiet"]) == 2
    text = capsys.readouterr().err
    missing = "recordings, recordings-long, recordings-4x"
    assert text == f"error: --write: the traces of {missing} are missing; a page needs them\n"
    assert run_command(["reproduce", "hotswap.recordings", "--quiet"]) == 2
    assert "error: hotswap.recordings: the trace " in capsys.readouterr().err
    # Those that nobody named are left out, and the user is told.
    for arguments in (["--smoke"], ["--smoke", "--variant", "all"]):
        assert run_command(["reproduce", "ppc.figure10", "--quiet", *arguments]) == 0
        left_out = "left out, as the traces are missing: variant recordings, variant recordings-4x\n"
        assert capsys.readouterr().err == left_out
    assert run_command(["reproduce", "ppc.figure3", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_variant_of_a_profile_that_a_trace_replaces_is_refused(tmp_path):
    (tmp_path / "osdb.csv").write_text("ts_us,op,offset,size\n0,W,0,4096\n")
    with pytest.raises(fr.InputError, match="variant server-bursts: it changes a profile that one of the traces"):
        fr.reproduce("ppc.figure10", variants=["server-bursts"], traces=str(tmp_path))


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
    counts = {"factor two": near, "sign": signs}
    assert counted_values(counts, others) == text


def test_orders_of_magnitude_are_no_factors_of_two():
    assert counted_values({"magnitude": 1}, 1) == "Of 2 values, {}, 1 is within a factor of ten."
    three = "1 is within a factor of two, 2 more are within a factor of ten and 3 more have the paper's sign."
    assert counted_values({"factor two": 1, "magnitude": 2, "sign": 3}, 0) == "Of 6 values, {}, " + three


def counted_values(counts, others):
    values = [outcome(True, tolerance, "value") for tolerance, count in counts.items() for _ in range(count)]
    values += [outcome(False, "sign", "value")] * others
    why = "which cannot be tested exactly because traces are lost or configurations not given"
    return page.counted([outcome(True), *values]).partition("0 are undecided. ")[2].replace(why, "{}")


def test_no_values_are_not_counted():
    assert page.counted([outcome(True)]).endswith("hold, 0 fail, 0 are undecided.")
    assert page.counted([outcome(False)]).endswith("of those that fail, 1 is unexplained.")


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
        (["reproduce", "cr5m", "--write", ".", "--variant", "all"], "--write: a page has its experiments as they are"),
        (["reproduce", "cr5m", "--write", ".", "--whole"], "--write: a page has its experiments as they are"),
        (["reproduce", "--json", "-"], "these options need a paper"),
        (
            ["reproduce", "cr5m.figure8", "--variant", "program_end"],
            "variant of cr5m.figure8 program_end: there is none; the nearest is program-end;",
        ),
        (
            ["reproduce", "cr5m.figure8", "--variant", "rulings", "--set", "seed=1"],
            "--variant and --set cannot be combined",
        ),
        # A variant of another experiment of the paper.
        (
            ["reproduce", "cr5m.figure1", "--variant", "dies", "--quick"],
            "variant of cr5m.figure1 dies: there is none; there are rulings, exchange-bursts, exchange-slice,",
        ),
        (
            ["reproduce", "ppc.hot-set", "--variant", "server-bursts"],
            "variant of ppc.hot-set server-bursts: there is none; there are rmw, commit-first, no-commands, all",
        ),
        (
            ["reproduce", "ppc.hot-set", "--variant", "server-bursts", "--quick"],
            "variant of ppc.hot-set server-bursts: there is none; there are rmw, commit-first, no-commands, all",
        ),
        (["reproduce", "ppc.figure3", "--variant", "rmw", "--quick"], "ppc.figure3 has no variants"),
        # Names of which settings are changed.
        (
            ["reproduce", "ppc.updates", "--set", "nopc.partial_writes=read"],
            "--set nopc.partial_writes=read: nopc: there is none; the nearest is no-pc; there are 4+1, ca-ppc, fpc, "
            "no-pc, pages, ppc, raid0, stripes, profile, device, array, scheme, host, run",
        ),
        (["reproduce", "ppc.updates", "--set", "page.profile.seed=2"], "page: there is none; the nearest is pages;"),
        (["reproduce", "ppc.updates", "--set", "profil.requests=9"], "profil: there is none; the nearest is profile;"),
        (["reproduce", "ppc.updates", "--set", "pages.ppc.seed=2"], "ppc: there is none; there are profile, device,"),
        # A workload that the experiment does not have.
        (["reproduce", "ppc.updates", "--set", "osdb.seed=2"], "osdb: there is none; there are 4+1, ca-ppc,"),
        # Nothing is measured.
        (
            ["reproduce", "ppc.figure3", "--set", "warmup=1"],
            "ppc.figure3, raid0, eight-pages, 4 x 2: no request was measured: all fall into the warm-up (warmup = 1)",
        ),
        (
            ["reproduce", "ppc.updates", "--set", "profile.streams.4.ops={ read = 1 }"],
            "4+1: cell_us cannot be measured: what it is relative to is 0",
        ),
        (["reproduce", "cr5m.figure8", "--traces", "nowhere"], "traces nowhere: no such directory"),
        (["reproduce", "hotswap.shares", "--traces", "."], "none of its workloads is a recording that can be had"),
    ],
)
def test_bad_input_is_one_line(command, arguments, message):
    done = command(*arguments, "--quiet", status=2)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
