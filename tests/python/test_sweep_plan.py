"""What the plan of a sweep comes to."""

import statistics
from collections import Counter

import pytest

import flashraid as fr
from flashraid.sweeping import plan, sampling


def points(**tables):
    return plan.made({"fixed": {"trace": "t"}} | tables).points


def test_a_grid_has_every_combination_and_its_last_axis_changes_fastest():
    found = plan.made({"fixed": {"trace": "t"}, "grid": {"scheme": ["raid0", "raid5"], "seed": {"from": 1, "to": 3}}})
    assert [(each["scheme"], each["seed"]) for each in found.points] == [
        (scheme, seed) for scheme in ("raid0", "raid5") for seed in (1, 2, 3)
    ]
    assert found.axes == ("scheme", "seed")


def test_lists_samples_and_grids_are_crossed():
    found = points(
        list=[{"queue_depth": 1}, {"queue_depth": 8, "warmup": 10}],
        sample={"points": 3, "fill": {"from": 0.1, "to": 0.9}},
        grid={"scheme": ["raid0", "raid5"]},
    )
    assert len(found) == 2 * 3 * 2
    assert Counter(each["queue_depth"] for each in found) == {1: 6, 8: 6}
    assert all(("warmup" in each) == (each["queue_depth"] == 8) for each in found)
    assert len({each["fill"] for each in found}) == 3


def test_conditions_extend_and_skip_points():
    found = points(
        grid={"scheme": ["raid0", "raid5", "ppc"], "fill": [0.1, 0.5]},
        when=[
            {"if": {"scheme": ["raid5", "ppc"]}, "grid": {"parity_in_response": [True, False]}},
            {"if": {"scheme": "raid5", "parity_in_response": False}, "fixed": {"seed": 9}},
        ],
        skip=[{"scheme": "ppc", "fill": [0.5]}, {"scheme": "raid0", "fill": 0.1}],
    )
    assert [(each["scheme"], each["fill"], each.get("parity_in_response"), each.get("seed")) for each in found] == [
        ("raid0", 0.5, None, None),
        ("raid5", 0.1, True, None),
        ("raid5", 0.1, False, 9),
        ("raid5", 0.5, True, None),
        ("raid5", 0.5, False, 9),
        ("ppc", 0.1, True, None),
        ("ppc", 0.1, False, None),
    ]


def test_true_is_not_1():
    found = plan.made({"fixed": {"trace": "t"}, "grid": {"drain": [1, True]}})
    assert found.axes == ("drain",)
    assert [each["drain"] for each in points(grid={"drain": [1, True, 2]}, skip=[{"drain": [1, 2]}])] == [True]


def test_values_of_ranges():
    values = lambda **said: sampling.values("axis", said)  # noqa: E731
    assert values(**{"from": 1, "to": 4}) == [1, 2, 3, 4]
    assert values(**{"from": 2, "to": 9, "step": 3}) == [2, 5, 8]
    assert values(**{"from": 0.1, "to": 0.3, "step": 0.1}) == [0.1, 0.2, 0.3]
    assert values(**{"from": 1.0, "to": 2.0, "points": 3}) == [1.0, 1.5, 2.0]
    assert values(**{"from": 1, "to": 1000, "points": 4, "scale": "log"}) == [1, 10, 100, 1000]
    assert values(**{"from": 1, "to": 3, "points": 9}) == [1, 2, 3]


def test_a_latin_hypercube_has_one_number_of_each_interval():
    speeds = {"from": 0.5, "to": 8.0, "scale": "log"}
    axes = {"fill": {"from": 0.2, "to": 0.8}, "speed": speeds, "seed": {"from": 1, "to": 40}}
    found = sampling.sample("sample", "latin-hypercube", 40, 7, axes)
    assert found == sampling.sample("sample", "latin-hypercube", 40, 7, axes)
    assert found != sampling.sample("sample", "latin-hypercube", 40, 8, axes)
    fills = sorted(each["fill"] for each in found)
    assert [int((fill - 0.2) / 0.6 * 40) for fill in fills] == list(range(40))
    assert sorted(each["seed"] for each in found) == list(range(1, 41))
    assert sum(each["speed"] < 2 for each in found) == 20  # half of the octaves
    # The axes are independent: the order of one says nothing of that of another.
    for one, other in (("fill", "seed"), ("fill", "speed"), ("speed", "seed")):
        assert abs(statistics.correlation(*([each[axis] for each in found] for axis in (one, other)))) < 0.5
    # Without the intervals some are hit twice.
    drawn = sampling.sample("sample", "random", 40, 7, axes)
    assert len({int((each["fill"] - 0.2) / 0.6 * 40) for each in drawn}) < 40
    chosen = sampling.sample("sample", "latin-hypercube", 40, 7, {"scheme": ["a", "b", "c", "d"]})
    assert Counter(each["scheme"] for each in chosen) == dict.fromkeys("abcd", 10)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"gird": {}}, "plan: table gird: there is none; the nearest is grid"),
        (
            {"fixed": {"trace": "t", "gc_treshold": 1}},
            "plan: fixed: key gc_treshold: there is none; the nearest is gc_thres",
        ),
        ({"grid": {"seed": []}}, "plan: grid.seed: an axis has at least one value"),
        ({"grid": {"seed": 3}}, "plan: grid.seed = 3: allowed is a list of values, or a range"),
        ({"grid": {"seed": [1, 1]}}, "plan: grid.seed: 1 is listed twice"),
        ({"grid": {"fill": {"from": 0.5, "to": 0.1, "points": 3}}}, "from 0.5 to 0.1: allowed is a range that ascends"),
        ({"grid": {"fill": {"from": 0.1, "to": 0.5}}}, "needs step or points"),
        ({"grid": {"fill": {"from": 0.1, "to": 0.5, "stop": 1}}}, "key stop: there is none; the nearest is step"),
        ({"grid": {"speed": {"from": 0, "to": 8, "points": 3, "scale": "log"}}}, "begins above 0"),
        ({"fixed": {"trace": "t", "fill": 1}, "grid": {"fill": [0.5]}}, "plan: fill is given twice"),
        ({"fixed": {"trace": "t", "run.fill": 1}, "grid": {"fill": [0.5]}}, "plan: fill is given twice"),
        ({"sample": {"points": 0, "fill": [0.1]}}, "plan: sample: points = 0: allowed is a whole number from 1"),
        ({"sample": {"points": 3}}, "plan: sample: there is no axis"),
        ({"sample": {"points": 3, "method": "sobol", "fill": [0.1]}}, "method sobol: there is none; there are latin-"),
        ({"sample": {"points": 3, "seed": {"from": 1, "to": 3}}}, "a seed axis belongs into grid"),
        ({"when": [{"if": {"scheme": "raid5"}, "grid": {"seed": [1]}}]}, "plan: when 1: no point meets its if"),
        ({"when": [{"grid": {"seed": [1]}}]}, "plan: when 1: no if"),
        ({"skip": [{"trace": "t"}]}, "there is nothing to run: every point is skipped"),
        ({"skip": [{"scheme": "riad0"}]}, "plan: skip 1: no point matches it"),
        ({"grid": {"speed": [1], "run.speed": [2]}}, "plan: grid: speed is given twice"),
        ({"grid": {"profile": {"streams": [1, 2]}}}, "key profile.streams: there is none"),
        ({"grid": {"profile": {"streams": {"0": [1, 2]}}}}, "key profile.streams.0: there is none"),
        ({"skip": [{}]}, "plan: skip 1: allowed is a table with at least one key"),
        ({"grid": 3}, "plan: grid: allowed is a table"),
        ({"list": {"seed": 1}}, "plan: list: allowed are tables, each under"),
        ({"fixed": {}}, "plan: no trace: give one in fixed, or an axis of them"),
        ({"grid": {"seed": {"from": 1, "to": 2000}, "limit": {"from": 1, "to": 2000}}}, "more than 1000000 points"),
    ],
)
def test_a_wrong_plan_is_refused_in_a_line(said, text):
    """One that can be read: a key is named with the nearest, not with all that there are."""
    with pytest.raises(fr.InputError) as error:
        plan.made({"fixed": {"trace": "t"}} | said)
    assert text in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
