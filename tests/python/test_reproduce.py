"""Claims of papers: judged as they say, on data read strictly, by a command that says what is wrong with its input."""

import json
from dataclasses import replace

import pytest

import flashraid as fr
from flashraid.reproduce import changes, judgements, page
from flashraid.reproduce.found import Outcome, from_tree, tree
from flashraid.reproduce.outcome import Reproduction
from flashraid.reproduce.papers import Claim, Experiment, Explanation, Paper
from flashraid.reproduce.runner import Runner
from flashraid.reproduce.runs import Cell, run_of

EXPERIMENT = Experiment(
    name="e",
    where="Figure 0",
    title="made up",
    configurations={"old": {"scheme": "raid0"}, "new": {"scheme": "raid5"}},
    workloads={"a": {}, "b": {}},
    points={"1": {}, "2": {}, "3": {}},
    metrics=("mean", "write_mean"),
)
# The mean of old is 100 everywhere; that of new by workload and point.
NEW = {"a": (90.0, 80.0, 70.0), "b": (99.0, 101.0, 95.0)}


def figures(new=NEW, metric="mean"):
    found = {}
    for workload, row in new.items():
        for point, value in zip(EXPERIMENT.points, row, strict=True):
            found["new", workload, point, metric] = [value]
            found["old", workload, point, metric] = [100.0]
    return found


def judged(of="new", values=NEW, **claim):
    given = {"id": "c", "where": "", "statement": "", "kind": "trend", "experiment": "e", "metric": "mean", "of": of}
    return judgements.judge(Claim(**given | claim), EXPERIMENT, figures(values))


REPEATED = replace(EXPERIMENT, repeats={"30 %": {}, "70 %": {}}, metrics=("rebuild_mean",))


def judged_of_repeats(values, requests, **claim):
    """The verdict on the rebuild's response time at point 1, by workload: reductions and requests of each repeat."""
    found = {}
    for workload, repeats in values.items():
        for configuration, figure in (("new", [100.0 - each for each in repeats]), ("old", [100.0] * len(repeats))):
            found[configuration, workload, "1", "rebuild_mean"] = figure
            found[configuration, workload, "1", "rebuild_requests"] = requests[workload]
    given = {"id": "c", "where": "", "statement": "", "kind": "trend", "experiment": "e", "metric": "rebuild_mean"}
    given |= {"of": "new", "against": "old", "points": ["1"], "judge": "above", "value": 0.0}
    return judgements.judge(Claim(**given | claim), REPEATED, found)


def test_repeats_are_judged_by_their_mean_and_show_their_spread():
    many = {"a": [200.0, 200.0], "b": [200.0, 200.0]}
    verdict = judged_of_repeats({"a": [-1.0, 5.0], "b": [4.0, 8.0]}, many, value=1.0)
    assert (verdict.holds, verdict.found, verdict.at) == (True, 2.0, "a")
    assert verdict.note == "2 of 2 hold, spread 6, 3 of 4 repeats alone hold, mean 4, 2 to 6"
    assert not judged_of_repeats({"a": [-3.0, 5.0], "b": [4.0, 8.0]}, many, value=1.0).holds


def test_an_order_is_told_apart_by_more_than_its_repeats_differ_in_most_cases():
    many, three = {name: [200.0, 200.0] for name in "abc"}, ["a", "b", "c"]
    clear, noisy, small = [4.0, 8.0], [1.0, 5.0], [0.9, 0.9]
    verdict = judged_of_repeats({"a": clear, "b": clear, "c": noisy}, many, workloads=three)
    assert (verdict.holds, verdict.is_level, verdict.found) == (True, False, 3.0)
    assert verdict.note.startswith("3 of 3 hold, 2 told apart, spread 4")
    for rest in (noisy, small):
        verdict = judged_of_repeats({"a": clear, "b": rest, "c": rest}, many, workloads=three)
        assert (verdict.holds, verdict.is_level) == (False, True)
    # By 0.9 of the 1.0 that it needs; by 3.0 of 4.0.
    assert judged_of_repeats({"a": small}, many, workloads=["a"]).lack == pytest.approx(0.1)
    assert judged_of_repeats({"a": noisy}, many, workloads=["a"]).lack == pytest.approx(1.0)
    assert not judged_of_repeats({"a": [-0.1, -0.1]}, many, workloads=["a"]).is_level  # it fails
    # By less than its repeats differ it does not, unless another case fails by more.
    for least, is_level in ([-0.3, 0.1], True), ([-0.3, -0.2], False):
        verdict = judged_of_repeats({"a": least, "b": clear}, many, workloads=["a", "b"])
        assert (verdict.holds, verdict.is_level) == (False, is_level)
    assert not judged_of_repeats({"a": [-0.3, 0.1], "b": [-5.0, -4.0]}, many, workloads=["a", "b"]).is_level
    # Repeats that differ, but all by as much, tell it apart.
    found = {("x", "a", "1", "rebuild_mean"): [100.0, 300.0], ("y", "a", "1", "rebuild_mean"): [110.0, 330.0]}
    found |= {(name, "a", "1", "rebuild_requests"): [400.0, 400.0] for name in "xy"}
    given = {"along": "configurations", "item": "x", "workloads": ["a"], "points": ["1"]}
    claim = Claim("c", "", "", "ordering", "e", "rebuild_mean", ["x", "y"], "lowest", **given)
    assert judgements.judge(claim, REPEATED, found).holds


def test_a_trend_is_told_apart_in_every_line():
    def rises(last, **claim):
        values = {"a": (100.0, 100.0, 102.0), "b": (100.0, 100.0, last)}
        return judged(judge="rises", values=values, **claim)

    assert rises(101.1).holds
    verdict = rises(100.9)
    assert (verdict.holds, verdict.is_level) == (False, True)
    assert verdict.lack == pytest.approx(0.1)
    assert verdict.note.startswith("2 of 2 hold, 1 told apart")
    outcome = Outcome(Claim("c", "", "", "trend", "e", "mean", "new", "rises"), verdict, {}, None, ())
    assert outcome.word == "undecided"


def test_a_gain_that_shrinks_is_a_gain_to_begin_with():
    shrinking = {"judge": "falls", "against": "old", "workloads": ["a"]}
    assert judged(**shrinking, values={"a": (90.0, 95.0, 110.0)}).holds
    verdict = judged(**shrinking, values={"a": (101.0, 105.0, 110.0)})
    assert (verdict.holds, verdict.lack) == (False, pytest.approx(1.0))
    assert verdict.note == "-1.0 to -10.0, no gain"


def test_nothing_agrees_with_what_was_divided_by_zero():
    found = figures(NEW) | {("old", "a", "1", "mean"): [0.0]}
    given = {"against": "old", "relation": "increase", "workloads": ["a"], "points": ["1"]}
    for judge, kind in (("near", "value"), ("above", "ordering")):
        claim = Claim("c", "", "", kind, "e", "mean", "new", judge, value=0.0, **given)
        verdict = judgements.judge(claim, EXPERIMENT, found)
        assert (verdict.holds, verdict.found) == (False, float("inf"))


def test_relations_are_those_of_each_repeat():
    found = {}
    for key, values in (("new", [50.0, 300.0]), ("old", [100.0, 400.0])):
        found[key, "a", "1", "rebuild_mean"] = values
        found[key, "a", "1", "rebuild_requests"] = [400.0, 400.0]
    claim = Claim(
        "c",
        "",
        "",
        "trend",
        "e",
        "rebuild_mean",
        "new",
        "above",
        against="old",
        value=0.0,
        workloads=["a"],
        points=["1"],
    )
    assert judgements.judge(claim, REPEATED, found).found == 37.5  # not 30, which the sums give


FEW, MANY = [149.0, 150.0], [150.0, 150.0]  # of two repeats together


def test_a_cell_of_too_few_requests_does_not_count():
    verdict = judged_of_repeats({"a": [90.0, 70.0], "b": [1.0, 3.0]}, {"a": FEW, "b": MANY})
    assert (verdict.holds, verdict.is_undecided, verdict.found, verdict.at) == (True, False, 2.0, "b")
    assert verdict.note == "1 of 1 hold, 1 undecided, spread 2, 2 of 2 repeats alone hold"
    assert not judged_of_repeats({"a": [1.0, 1.0], "b": [-1.0, -1.0]}, {"a": FEW, "b": MANY}).holds
    # Of what is left one is not the most.
    most = {"lines": "most", "value": 2.0}
    assert not judged_of_repeats({"a": [9.0, 9.0], "b": [1.0, 1.0]}, {"a": FEW, "b": MANY}, **most).holds
    # Nor does it count in a mean over workloads.
    verdict = judged_of_repeats({"a": [90.0, 70.0], "b": [1.0, 3.0]}, {"a": FEW, "b": MANY}, workloads=[["a", "b"]])
    assert (verdict.found, verdict.note) == (2.0, "1 undecided, spread 2, 2 of 2 repeats alone hold")


def test_a_claim_is_undecided_if_no_cell_is_left():
    values = {"a": [1.0, 1.0], "b": [-1.0, -1.0]}
    for workloads in ([], [["a", "b"]]):
        verdict = judged_of_repeats(values, {"a": FEW, "b": FEW}, workloads=workloads)
        assert (verdict.holds, verdict.is_undecided) == (False, True)
        assert verdict.note == "fewer than 300 requests, spread 0"


def test_a_trend_with_an_undecided_point_is_undecided():
    falling = {"against": "", "judge": "falls", "along": "workloads"}
    values = {"a": [1.0, 1.0], "b": [30.0, 30.0]}
    assert judged_of_repeats(values, {"a": MANY, "b": MANY}, **falling).holds
    for few in ("a", "b"):
        verdict = judged_of_repeats(values, {"a": MANY, "b": MANY, few: FEW}, **falling)
        assert (verdict.holds, verdict.is_undecided) == (False, True)
    # Also if the point is a mean, of which other cells would be left.
    means = falling | {"workloads": ["a", ["a", "b"]]}
    assert judged_of_repeats(values, {"a": FEW, "b": MANY}, **means).is_undecided


def test_an_undecided_cell_of_a_table_does_not_count():
    table = {"judge": "cells", "kind": "value", "value": {"a": {"1": 5.0}, "b": {"1": 5.0}}}
    values = {"a": [-5.0, -5.0], "b": [5.0, 5.0]}
    verdict = judged_of_repeats(values, {"a": FEW, "b": MANY}, **table)
    assert verdict.holds
    assert verdict.note == "1 of 1 have the paper's sign, 1 is within a factor of two, 1 undecided"
    assert judged_of_repeats(values, {"a": FEW, "b": FEW}, **table).is_undecided


@pytest.mark.parametrize("few", [("new", "a"), ("old", "b")])
def test_a_relation_is_undecided_if_either_figure_is(few):
    found = {}
    for configuration, workload in (("new", "a"), ("new", "b"), ("old", "a"), ("old", "b")):
        found[configuration, workload, "1", "rebuild_mean"] = [50.0 if configuration == "new" else 100.0] * 2
        found[configuration, workload, "1", "rebuild_requests"] = [
            149.0 if (configuration, workload) == few else 150.0,
            150.0,
        ]
    given = {"id": "c", "where": "", "statement": "", "kind": "trend", "experiment": "e", "metric": "rebuild_mean"}
    given |= {"of": "new", "against": "old", "points": ["1"]}
    flat = Claim(**given, judge="flat", value=1.0, along="workloads")
    assert judgements.judge(flat, REPEATED, found).is_undecided
    mean = Claim(**given, judge="above", value=0.0, workloads=[["a", "b"]])
    assert judgements.judge(mean, REPEATED, found).note.startswith("1 undecided")
    cells = Claim(**given, judge="cells", value={"a": {"1": 50.0}, "b": {"1": 50.0}})
    assert judgements.judge(cells, REPEATED, found).note.endswith("1 undecided")


def test_a_bound_holds_only_if_it_does_for_every_figure():
    verdict = judged(against="old", judge="above", value=-1.5)
    assert (verdict.holds, verdict.lack, verdict.at) == (True, 0, "b, 2")
    verdict = judged(against="old", judge="above", value=0.0)
    assert not verdict.holds
    assert verdict.found == pytest.approx(-1)
    assert verdict.lack == pytest.approx(1)
    assert not judged(against="old", judge="above", value=30.0, workloads=["a"], points=["3"]).holds  # strictly
    assert judged(judge="below", value=101.5).holds
    assert not judged(judge="below", value=101.0).holds


def test_most_lines_are_enough_where_the_claim_says_so():
    assert judged(judge="falls", lines="every").holds is False
    assert judged(judge="falls", lines="every", workloads=["a"]).holds
    three = {"judge": "between", "maximum": 98.0, "points": ["1"]}
    assert not judged(**three, lines="most").holds  # one of two
    assert judged(judge="below", value=96.0, points=["2", "3"], lines="most").holds  # three of four


def test_ranges_include_their_ends():
    assert judged(judge="between", minimum=70.0, maximum=101.0).holds
    verdict = judged(judge="between", minimum=75.0, maximum=101.0)
    assert (verdict.holds, verdict.found, verdict.lack, verdict.at) == (False, 70.0, 5.0, "a, 3")


def test_extremes_along_each_axis():
    assert judged(judge="lowest", item="3").holds
    assert not judged(judge="highest", item="2").holds  # of a it is 1
    assert judged(judge="highest", item="2", workloads=["b"]).holds
    assert judged(judge="lowest", item="a", along="workloads").holds
    verdict = judged(judge="lowest", of=["old", "new"], item="new", along="configurations")
    assert (verdict.holds, verdict.lack, verdict.at) == (False, 1.0, "b, 2, new")


def test_steps_back_below_one_percent_are_level_and_a_trend_must_get_somewhere():
    assert judged(judge="falls", workloads=["a"]).holds
    assert not judged(judge="rises", workloads=["a"]).holds
    assert judged(judge="falls", workloads=["a"], values={"a": (100.0, 101.0, 70.0)}).holds
    assert judged(judge="falls", workloads=["a"], values={"a": (100.0, 101.1, 70.0)}).lack == pytest.approx(0.1)
    assert judged(judge="falls", workloads=["b"]).lack == pytest.approx(200 / 99 - 1)
    # In percent of the first: 0.8 %, not the 1.6 % of the point before.
    assert judged(judge="falls", workloads=["a"], values={"a": (100.0, 50.0, 50.8)}).holds
    assert not judged(judge="falls", workloads=["a"], values={"a": (100.0, 50.0, 51.1)}).holds
    assert not judged(judge="falls", workloads=["a"], values={"a": (5.0, 5.0, 5.0)}).holds
    assert judged(judge="jumps", value=9.0, workloads=["a"], values={"a": (100.0, 90.0, 110.0)}).holds
    assert not judged(judge="jumps", value=10.1, workloads=["a"], values={"a": (100.0, 90.0, 110.0)}).holds


def test_flat_and_leveling_off():
    assert judged(judge="flat", value=7.0, workloads=["b"]).holds
    assert not judged(judge="flat", value=6.0, workloads=["b"]).holds
    assert judged(judge="levels_off", item="2", value=1.0, values={"a": (90.0, 80.0, 79.9)}, workloads=["a"]).holds
    early = judged(judge="levels_off", item="2", value=1.0, values={"a": (80.0, 80.0, 79.9)}, workloads=["a"])
    assert (early.holds, early.found, early.lack) == (False, 0.0, 1.0)
    # A line that gains nowhere does not say where it levels off; one that gains elsewhere does.
    assert (early.is_level, early.note) == (True, "not told apart, no step gains more than 1 %")
    late = judged(judge="levels_off", item="2", value=1.0, values={"a": (80.0, 80.0, 70.0)}, workloads=["a"])
    assert (late.holds, late.is_level) == (False, False)
    assert not judged(judge="levels_off", item="2", value=1.0, values={"a": (90.0, 80.0, 70.0)}, workloads=["a"]).holds
    assert judged(judge="flat", value=0.0, workloads=["a"], values={"a": (0.0, 0.0, 0.0)}).holds
    assert not judged(judge="flat", value=99.0, workloads=["a"], values={"a": (0.0, 0.0, 1.0)}).holds


def test_after_the_first_point_only_what_follows_is_asked():
    def of_first(*values):
        return judged(judge="levels_off", item="1", value=1.0, values={"a": values}, workloads=["a"])

    level = of_first(80.0, 80.0, 79.6)
    assert (level.holds, level.is_level, level.at) == (False, True, "the largest step after 1")
    assert level.found == pytest.approx(0.5, abs=0.01)
    gains = of_first(80.0, 80.0, 79.0)
    assert (gains.holds, gains.is_level) == (False, False)


def test_a_list_among_the_names_is_one_figure():
    assert judged(judge="near", against="old", workloads=["a"], points=[["1", "2", "3"]], value=20.0).found == 20
    assert judged(judge="near", points=[["1", "3"]], group="max", workloads=["a"], value=90.0, tolerance="exact").holds
    assert judged(judge="falls", workloads=[["a", "b"]], points=[["1", "2"], "3"]).holds


def test_a_table_is_compared_by_orders_of_magnitude_where_its_claim_says_so():
    table = {"judge": "cells", "kind": "value", "against": "old", "tolerance": "magnitude"}
    verdict = judged(**table, value={"a": {"1": 10.0, "2": 199.0, "3": 31.0}})
    assert (verdict.holds, verdict.note) == (True, "3 of 3 are within a factor of ten, 2 are within a factor of two")
    verdict = judged(**table, value={"a": {"1": 101.0, "2": 20.0}})
    assert (verdict.holds, verdict.lack) == (False, 1)
    table["tolerance"] = "factor two"
    assert judged(**table, value={"a": {"1": 10.0, "2": 20.0}}).note == "2 of 2 are within a factor of two"
    # A size has no sign that could be another one.
    verdict = judged(judge="cells", kind="value", tolerance="factor two", value={"a": {"1": 1.24}})
    assert (verdict.holds, verdict.found, verdict.unit, verdict.note) == (
        False,
        0,
        "figures",
        "0 of 1 are within a factor of two",
    )


@pytest.mark.parametrize(
    ("paper", "tolerance", "holds"),
    [
        (20, "sign", True),
        (-20, "sign", False),
        (11, "factor two", True),
        (9, "factor two", False),
        (200, "magnitude", True),
        (201, "magnitude", False),
        (2, "magnitude", True),
        (1.9, "magnitude", False),
        (-20, "magnitude", False),
        (20, "exact", True),
    ],
)
def test_values_are_compared_as_far_as_they_can_be(paper, tolerance, holds):
    value = {"value": paper, "tolerance": tolerance, "workloads": ["a"], "points": ["2"]}
    assert judged(judge="near", against="old", kind="value", **value).holds is holds


@pytest.mark.parametrize(("figure", "paper", "agrees"), [(99.1, 5.0, False), (99.1, 0.9, True), (98.9, 5.0, True)])
def test_a_level_difference_has_no_sign(figure, paper, agrees):
    values = {"a": (figure, 100.0, 100.0)}
    given = {"against": "old", "value": paper, "workloads": ["a"], "points": ["1"]}
    assert judged(judge="near", kind="value", values=values, **given).holds is agrees
    assert judged(judge="near", kind="value", values=values, **(given | {"relation": "ratio"})).holds  # a size


def test_what_was_fitted_is_not_counted():
    claim = Claim("c", "", "", "fitted", "e", "mean", "new", "lowest", workloads=["a"], item="3")
    outcome = Outcome(claim, judgements.judge(claim, EXPERIMENT, figures(NEW)), {}, None, ())
    assert outcome.word == "as fitted"
    assert page.counted([outcome]).startswith("0 of 0 claims")
    assert "value" not in page.counted([outcome])


def test_a_table_counts_signs():
    verdict = judged(judge="cells", against="old", kind="value", value={"a": {"1": 15.0, "3": 5.0}, "b": {"2": 3.0}})
    assert (verdict.found, verdict.lack) == (2, 1)
    assert verdict.note == "2 of 3 have the paper's sign, 1 is within a factor of two"


def reproduction(changed, before=None, **explanation):
    claim = Claim("c", "", "", "trend", "e", "mean", "new", "above", against="old", value=0.0)
    given = {"name": "r", "claims": ["c"], "mechanism": "", "changes": [{"seed": 2}]}
    paper = Paper("p", "", "", {}, {}, {"e": EXPERIMENT}, [claim], [Explanation(**given | explanation)])
    found = Reproduction.of(paper, {("e", ""): figures(before or NEW), ("e", "r 1"): figures(changed)})
    return found.outcomes[0]


def test_an_explanation_counts_if_it_moves_the_figure_half_way():
    def of(before, after):
        return reproduction(*({"a": NEW["a"], "b": (99.0, each, 95.0)} for each in (after, before)))

    assert of(104.0, 101.99).is_explained
    assert not of(104.0, 102.01).is_explained
    assert of(101.5, 100.49).is_explained
    assert not of(101.4, 100.49).is_explained  # half way, but by less than what is level
    assert of(100.4, 98.9).is_explained  # it holds


def test_what_is_undecided_explains_nothing_and_is_counted_apart():
    claim = Claim("c", "", "", "trend", "e", "rebuild_mean", "new", "above", against="old", value=0.0, points=["1"])
    experiment = replace(REPEATED, repeats={"": {}}, workloads={"a": {}})

    def measured(new, requests):
        keys = [(configuration, "a", "1") for configuration in ("new", "old")]
        values = {(*key, "rebuild_mean"): [value] for key, value in zip(keys, (new, 100.0), strict=True)}
        return values | {(*key, "rebuild_requests"): [requests] for key in keys}

    reason = Explanation("r", ["c"], "", [{"seed": 2}])
    paper = Paper("p", "", "", {}, {}, {"e": experiment}, [claim], [reason])
    for requests, is_explained in ((300.0, True), (299.0, False)):
        (outcome,) = Reproduction.of(
            paper, {("e", ""): measured(102.0, 300.0), ("e", "r 1"): measured(99.0, requests)}
        ).outcomes
        assert (outcome.word, outcome.is_explained) == ("fails", is_explained)
    few = judgements.judge(claim, experiment, measured(99.0, 299.0))
    value = Outcome(replace(claim, kind="value"), few, {}, None, ())
    said = page.counted([outcome, replace(value, claim=claim), value])
    assert said.startswith("0 of 2 claims of the classes exact, ordering, trend and range hold, 1 fail, 1 is undecided")


def test_another_workload_counts_only_if_the_claim_holds_under_it():
    sweep = {"changes": [{"profile": {"seed": 2}}]}
    assert not reproduction({"a": NEW["a"], "b": (99.0, 100.4, 95.0)}, **sweep).is_explained
    assert reproduction({"a": NEW["a"], "b": (99.0, 99.9, 95.0)}, **sweep).is_explained


def test_settings_of_a_run_are_laid_over_each_other():
    experiment = Experiment(
        name="e",
        where="",
        title="",
        configurations={"x": {"scheme": "raid0", "seed": 1}, "y": {"scheme": "raid5"}},
        workloads={"w": {"trace": "profile:cr5m-uniform", "seed": 2}},
        points={"p": {"device": "tiny", "y": {"update": "rmw"}, "profile": {"streams": {"0": {"ops": {"write": 1}}}}}},
        metrics=("mean",),
    )
    paper = Paper("p", "", "", {"seed": 0, "unwritten": "prefill"}, experiment.workloads, {"e": experiment}, [], [])
    x, y = (run_of(paper, experiment, Cell(name, "w", "p"), {"profile": {"requests": 10}}) for name in "xy")
    assert x.settings == (("seed", "2"), ("unwritten", "prefill"))
    assert y.settings == (("seed", "2"), ("unwritten", "prefill"), ("update", "rmw"))
    assert "requests = 10\n" in x.profile
    assert 'ops = { write = 1 }, sizes = { law = "uniform"' in x.profile
    assert run_of(paper, experiment, Cell("x", "w", "p"), {"x": {"seed": 3}}).settings[0] == ("seed", "3")
    # Of a stream what is not named stays.
    aligned = run_of(paper, experiment, Cell("x", "w", "p"), {"profile": {"streams": {"0": {"align_bytes": 8192}}}})
    assert "ops = { write = 1 }" in aligned.profile
    assert "align_bytes = 8192" in aligned.profile
    reads = run_of(paper, experiment, Cell("x", "w", "p"), {"profile": {"streams": {"0": {"ops": {"read": 1}}}}})
    assert "ops = { read = 1 }" in reads.profile


def test_settings_of_a_repeat_are_laid_over_those_of_its_point():
    experiment = replace(
        EXPERIMENT,
        workloads={"a": {"trace": "profile:cr5m-uniform", "device": "tiny"}},
        points={"1": {"seed": 1, "fill": 0.5, "late": {"fill": 0.7}}},
        repeats={"early": {"seed": 2}, "late": {"seed": 3}},
    )
    paper = Paper("p", "", "", {}, experiment.workloads, {"e": experiment}, [], [])
    early, late = (run_of(paper, experiment, Cell("new", "a", "1", each), {}).settings for each in experiment.repeats)
    assert (early, late) == ((("fill", "0.5"), ("seed", "2")), (("fill", "0.7"), ("seed", "3")))


def test_runs_are_measured_once_and_a_changed_profile_is_another_run(monkeypatch):
    experiment = Experiment(
        name="e",
        where="",
        title="",
        configurations={"x": {"scheme": "raid0"}},
        workloads={"w": {"trace": "profile:cr5m-uniform", "limit": 100}},
        points={"p": {"device": "ssd1"}},
        metrics=("mean", "parity_writes"),
    )
    paper = Paper("p", "", "", {}, experiment.workloads, {"e": experiment}, [], [])
    plain = run_of(paper, experiment, Cell("x", "w", "p"), {})
    reads = run_of(paper, experiment, Cell("x", "w", "p"), {"profile": {"streams": {"0": {"ops": {"read": 1}}}}})
    done = []
    runner = Runner(lambda status: done.append((status.done, status.count)))
    runner.measure([(plain, ["mean"]), (plain, ["parity_writes", "mean"]), (reads, ["mean"])])
    assert done[-1] == (2, 2)
    assert runner.figures(plain, ["parity_writes"]) == {"parity_writes": 0}
    runner.measure([(plain, ["mean"])])
    assert done[-1] == (0, 0)
    with pytest.warns(UserWarning, match="pages never written"):
        result = fr.run("profile:cr5m-uniform", device="ssd1", scheme="raid0", limit=100)
    assert runner.figures(plain, ["mean"]) == {"mean": round(result.latency.all.mean / 1000, 3)}
    assert runner.figures(reads, ["mean"])["mean"] < runner.figures(plain, ["mean"])["mean"]
    with pytest.raises(KeyboardInterrupt):
        Runner(lambda status: False).measure([(plain, ["mean"])])


@pytest.mark.parametrize(
    "change",
    [
        {"bus_ps_per_byte": 2500, "gc_blocking_scope": "chip"},
        {"cr5m": {"mw_limit": 0.5}, "profile": {"streams": {"1": {"ops": {"read": 1, "write": 9}}}, "requests": 5}},
    ],
)
def test_a_change_is_written_as_it_is_read(change):
    assert changes.parsed(list(changes.texts(change)), {"cr5m", "raid5"}) == change


def test_figures_come_back_from_the_objects_that_hold_them():
    measured = {("e", ""): figures(), ("e", "r 1"): figures({"a": (1.0, 2.0, 3.0)})}
    measured["e", "v"] = {key: [*values, 4.0] for key, values in measured["e", ""].items()}
    assert from_tree(json.loads(json.dumps(tree(measured)))) == measured
