"""What the advisor is made of, without any run: fronts, candidates, doubts, and what it says."""

import dataclasses
import json

import pytest
from conftest import SCHEMES
from hypothesis import given, settings
from hypothesis import strategies as st

import flashraid as fr
from flashraid.advising import candidates, choice, endurance, front, objectives, search

# ---- fronts ----

COSTS = st.lists(st.lists(st.integers(1, 4), min_size=3, max_size=3), min_size=1, max_size=9)


@given(COSTS)
@settings(deadline=None)
def test_a_front_is_what_nothing_dominates(costs):
    found = front.front(costs)
    for at, own in enumerate(costs):
        is_beaten = any(
            all(a <= b for a, b in zip(other, own, strict=True)) and list(other) != list(own) for other in costs
        )
        is_first = costs.index(own) == at
        assert (at in found) == (not is_beaten and is_first)


@given(COSTS, st.sampled_from([0.0, 0.3, 1.0]))
@settings(deadline=None)
def test_a_cover_covers_the_front_and_is_a_part_of_it(costs, tolerance):
    found = front.cover(costs, tolerance)
    whole = front.front(costs)
    assert set(found) <= set(whole)
    for at in whole:
        assert any(all(a <= b * (1 + tolerance) for a, b in zip(costs[each], costs[at], strict=True)) for each in found)
    if tolerance == 0:
        assert found == whole


def test_how_far_from_the_front_is_what_the_worst_dominating_one_is_least_better_in():
    costs = [[4.0, 4.0, 1.0], [8.0, 16.0, 1.0], [32.0, 2.0, 1.0], [8.0, 32.0, 2.0]]
    found = [front.shortfall(own, costs, [0, 1]) for own in costs]
    assert found == [0, 1, 0, 1]
    assert front.shortfall([16.0, 16.0, 1.0], costs, [0, 1]) == 2, "the first dominates by two doublings in both"
    assert front.shortfall([16.0, 16.0, 0.5], costs, [0, 1]) == 0, "what is not measured is better"


@given(COSTS, st.integers(1, 9))
@settings(deadline=None)
def test_what_is_selected_fits_a_budget_and_covers_what_it_can(costs, budget):
    found = front.select(costs, [0, 1], [1] * len(costs), budget)
    assert found == sorted(set(found))
    whole = front.front(costs)
    if len(whole) <= budget:
        assert set(whole) <= set(found)
        assert len(found) == min(budget, len(costs))
    else:
        widest = front.cover(costs, front.TOLERANCES[-1])
        assert len(found) <= max(budget, len(widest))


def test_a_budget_is_for_the_nearest_after_the_front():
    costs = [[1.0, 8.0], [8.0, 1.0], [2.0, 16.0], [64.0, 64.0], [8.0, 1.1]]
    assert front.select(costs, [0, 1], [1, 1, 1, 1, 1], 3) == [0, 1, 4], "equal in one, and so not behind"
    assert front.select(costs, [0, 1], [1, 1, 1, 1, 1], 4) == [0, 1, 2, 4]
    assert front.select(costs, [0, 1], [1, 1, 5, 1, 1], 4) == [0, 1, 4], "the next one does not fit"
    assert front.select(costs[:2], [0, 1], [1, 1], 0) == [0, 1], "nothing covers both"


# ---- candidates ----


def of_device(device="tiny", schemes=None, vary=(), settings=()):
    return candidates.candidates(device, None, schemes, list(settings), dict(vary))


def test_each_parameter_is_tried_alone():
    found, refused = of_device(schemes=["raid5"])
    words = {each["name"]: each for each in json.loads(fr._native.schemes("raid5"))[0]["parameters"]}
    changed = [each.settings for each in found]
    assert changed[0] == ()
    assert all(len(each) == 1 for each in changed[1:])
    assert {value for ((key, value),) in changed[1:] if key == "update"} == set(words["update"]["choices"]) - {"fewest"}
    # What needs another parameter changes nothing alone.
    assert not any(key == "tie" for ((key, _),) in changed[1:])
    assert not refused


def test_sizes_are_tried_around_the_default():
    found, _ = of_device(schemes=["ppc"])
    sizes = [int(value) for each in found for key, value in each.settings if key == "parity_cache_bytes"]
    assert sizes == [16384, 65536, 131072]


def test_more_settings_are_varied_together():
    plain, _ = of_device(schemes=["raid0", "raid1"])
    found, _ = of_device(schemes=["raid0", "raid1"], vary={"gc_threshold": ["0.05", "0.1"], "read_ns": ["1us", "2us"]})
    assert len(found) == 4 * len(plain)
    assert len({each.name for each in found}) == len(found)


def test_schemes_that_cannot_be_had_say_why():
    found, refused = of_device()
    assert set(SCHEMES) == {each.scheme for each in found} | set(refused)
    assert "hotswap" in refused
    assert "allowed is devices above 1" in refused["hotswap"]
    with pytest.raises(fr.InputError, match="scheme raid9: there is none; the nearest is raid"):
        of_device(schemes=["raid9"])


def test_what_the_user_sets_is_not_varied():
    found, _ = candidates.candidates("tiny", None, ["raid5"], [("update", "rcw")], {})
    assert not any(key == "update" for each in found for key, _ in each.settings)
    assert len(found) > 1


# ---- doubts ----


def tried(count=1000, load=0.5, gc=1, each=(1.0, 2.0), rebuild=1):
    failing = {"rebuild.0.latency_ns.count": 9, "rebuild.0.window_of_vulnerability_ns": rebuild}
    row = {"latency_ns.read.count": count, "workload.busiest_load": load, "collection.collections": gc}
    value = objectives.Value(1.5, 0.1, each)
    return search.Tried(
        candidates.Candidate("raid5"), values={"read_tail": value}, rows={"open": [row], "failing": [failing]}
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, None),
        ({"count": 500}, "the trace is too short: 500 reads, of which 5 are beyond p99: p90 is compared."),
        ({"count": 999}, "the trace is too short: 999 reads, of which 9 are beyond p99: p90 is compared."),
        ({"count": 19}, "the trace is too short: 19 reads, of which 0 are beyond p99: their latency is not compared."),
        ({"count": 0}, "no request is measured"),
        ({"scale": 2.0}, "all of the trace costs 2.0 times what its excerpt told: the search may"),
        (
            {"count": 5000, "tail": "p99_9"},
            "the trace is too short: 5,000 reads, of which 5 are beyond p99.9: p99 is compared.",
        ),
        ({"load": 0.01}, "the load is too low to matter: the busiest part is in use for 1.0% of the time."),
        ({"load": 1.05}, "raid5 cannot keep up with the trace: latencies grow with its length."),
        ({"gc": 0}, "no GC ran"),
        ({"rebuild": None}, "the rebuild of raid5 does not end"),
        ({"each": (1.5, 1.5)}, "nothing is random in these runs"),
    ],
)
def test_doubts(given, text):
    given = dict(given)
    tail, scale = given.pop("tail", "p99"), given.pop("scale", 1.0)
    found = choice.doubts([tried(**given)], tail, 2, scale)
    assert len(found) == (text is not None)
    assert not found or text in found[0]


def test_one_seed_tells_no_chance():
    assert choice.doubts([tried(each=(1.5,))], "p99", 1) == [
        "each run was done once, which does not tell a difference from chance (--seeds 3)."
    ]
    assert "nothing is random" in choice.doubts([tried(each=(1.5,))], "p99", 3)[0]


def test_a_difference_within_the_intervals_is_none():
    value = objectives.Value
    assert choice.is_alike(value(100.0), value(100.9))
    assert not choice.is_alike(value(100.0), value(102.0))
    assert choice.is_alike(value(100.0, 9, (95.0, 105.0)), value(103.0, 9, (109.0, 97.0)))
    assert not choice.is_alike(value(100.0, 9, (95.0, 105.0)), value(110.0, 9, (105.0, 115.0)))
    assert choice.is_alike(value(None), value(None))
    assert not choice.is_alike(value(None), value(1.0))


def test_members_that_differ_in_nothing_are_shown_once():
    wanted = objectives.objectives("p99", has_failure=False)
    order = []
    for name, read_tail in (("a", 100.0), ("b", 100.9), ("c", 102.0), ("d", 101.5)):
        values = {each.name: objectives.Value(read_tail if each.name == "read_tail" else 1.0) for each in wanted}
        order.append(choice.Ranked(search.Tried(candidates.Candidate(name), values=values), {}, 0.0))
    found = choice.distinct(order, wanted)
    assert [each.tried.candidate.name for each in found] == ["a", "c"]
    assert [each.tried.out for each in order] == [
        "",
        "a is like it in everything that was measured",
        "",
        "c is like it in everything that was measured",
    ]


# ---- figures and words ----


def test_a_figure_that_a_seed_lacks_is_none():
    objective = objectives.objectives("p99", has_failure=False)[3]
    assert objectives.value_of(objective, [{objective.column: 1.0}, {objective.column: 3.0}]).mean == 2.0
    assert objectives.value_of(objective, [{objective.column: 1.0}, {objective.column: None}]) == objectives.Value(None)
    tail = objectives.objectives("p99", has_failure=False)[0]
    rows = [{tail.column: 5, "latency_ns.read.count": 1}, {tail.column: 0, "latency_ns.read.count": 0}]
    assert objectives.value_of(tail, rows) == objectives.Value(None)
    musts = [endurance.must_endure(str, 1.0, 2.0, 500.0, is_varied=True)]
    column = objectives.DWPD.column
    rows = [{column: drive_writes, "config.device.pe_limit": limit} for drive_writes, limit in ((730, 1000), (4380, 0))]
    found = endurance.endured(objectives.DWPD, musts, rows)
    assert (found.mean, found.each) == (2.0, (1.0, 3.0)), "without a limit of its own it has that of the device"
    for lacking in ([], [*rows, {column: None}]):
        assert endurance.endured(objectives.DWPD, musts, lacking) == objectives.Value(None)


def test_each_objective_is_the_figure_of_its_name():
    found = objectives.objectives("p99_9", has_failure=True)
    assert {each.name: (each.run, each.column, each.is_high_better) for each in [*found, objectives.LIFETIME]} == {
        "read_tail": ("open", "latency_ns.read.p99_9", False),
        "write_tail": ("open", "latency_ns.write.p99_9", False),
        "throughput": ("closed", "bandwidth.requests_per_second", True),
        "write_amplification": ("open", "write_amplification", False),
        "capacity": ("open", "capacity.user_bytes", True),
        "nvram": ("open", "capacity.nvram_bytes", False),
        "dram": ("open", "capacity.table_bytes", False),
        "survives_chip": ("open", "survives.chip", True),
        "survives_channel": ("open", "survives.channel", True),
        "survives_device": ("open", "survives.device", True),
        "survives_failures": ("open", "survives_failures", True),
        "rebuild": ("failing", "rebuild.0.window_of_vulnerability_ns", False),
        "rebuild_tail": ("failing", "rebuild.0.latency_ns.p99_9", False),
        "lifetime": ("open", "lifetime.years", True),
    }
    assert [each.name for each in found if not each.is_measured] == [
        "capacity",
        "nvram",
        "dram",
        "survives_chip",
        "survives_channel",
        "survives_device",
        "survives_failures",
    ]


def test_a_latency_is_compared_at_a_quantile_that_is_known():
    found = objectives.objectives("p99", False, {"read": 5000, "write": 500, "flush": 30})
    latencies = {each.name: (each.column, each.title) for each in found if each.subject == "latency"}
    assert latencies == {
        "read_tail": ("latency_ns.read.p99", "read p99"),
        "write_tail": ("latency_ns.write.p90", "write p90"),
        "flush_tail": ("latency_ns.flush.p50", "flush p50"),
    }
    found = objectives.objectives("p99_9", False, {"read": 9_999, "write": 10_000, "flush": 0})
    assert [each.column for each in found[:2]] == ["latency_ns.read.p99", "latency_ns.write.p99_9"]
    assert all(each.name != "flush_tail" for each in found)


def test_what_is_no_evidence_decides_nothing():
    wanted = [each for each in objectives.objectives("p99", has_failure=True) if each.subject != "protection"]

    def member(name, **figures):
        values = {each.name: figures.get(each.name, objectives.Value(1e6)) for each in wanted}
        return search.Tried(candidates.Candidate(name), values=values)

    value = objectives.Value
    few = [member("a", rebuild_tail=value(9e6, is_sparse=True)), member("b", rebuild_tail=value(1e6))]
    assert "rebuild_tail" not in {each.name for each in objectives.judged(wanted, [each.values for each in few])}
    assert len(choice.distinct(choice.ranked(few, wanted), wanted)) == 1, "they differ in nothing that is known"
    void = [member(name, write_tail=value(at, void="answered by the buffer")) for name, at in (("a", 1e3), ("b", 2e3))]
    assert "write_tail" not in {each.name for each in objectives.judged(wanted, [each.values for each in void])}
    one = [void[0], member("c", write_tail=value(2e6))]
    assert "write_tail" in {each.name for each in objectives.judged(wanted, [each.values for each in one])}
    text = choice.text_of(wanted[0], value(2e6, is_sparse=True))
    assert text == "2.00~ ms"


def test_another_choice_says_in_what_it_is_better():
    order = [choice.Ranked(search.Tried(candidates.Candidate("a"), values={}), {}, 0.0)]
    whys = {"no data buffer": ", which is better in flush p99 1.00 ms against 2.00 ms"}
    said = choice.sentences(order, [], {"no data buffer": "b"}, [], whys)
    assert (
        said[-1] == "With no data buffer, b would be recommended, which is better in flush p99 1.00 ms against 2.00 ms."
    )


def test_a_front_of_one_is_the_best_of_nothing():
    first = choice.Ranked(search.Tried(candidates.Candidate("a")), {"latency": 0.0, "memory": 1.0}, 0.5)
    second = choice.Ranked(search.Tried(candidates.Candidate("b")), {"latency": 1.0, "memory": 0.0}, 0.5)
    assert "It is the best of the front, or as good, in latency." in choice.sentences([first, second], [], {}, [])
    alone = dataclasses.replace(first, regrets={"latency": 0.0, "memory": 0.0})
    said = choice.sentences([alone], [], {}, [])
    assert said[-1] == "The front has no other member."
    assert not any("best" in text for text in said)


def test_an_interval_has_the_unit_of_its_figure():
    read_tail = objectives.objectives("p99", has_failure=False)[0]
    assert choice.text_of(read_tail, objectives.Value(2e6, 5e4)) == "2.00 ±0.05 ms"
    assert choice.text_of(read_tail, objectives.Value(None)) == "-"


def test_memory_that_a_controller_has_anyway_makes_no_difference():
    nvram = next(each for each in objectives.objectives("p99", has_failure=False) if each.name == "nvram")
    assert [nvram.cost(value) for value in (0.0, 65536.0)] == [65536.0, 131072.0]


def test_the_runner_up_is_better_and_worse_where_it_is():
    wanted = [each for each in objectives.objectives("p99", has_failure=False) if each.subject != "protection"]

    def member(name, score, **figures):
        values = {each.name: objectives.Value(figures.get(each.name, 1e6)) for each in wanted}
        return choice.Ranked(search.Tried(candidates.Candidate(name), values=values), {}, score)

    first = member("a", 0.1, read_tail=2e6, throughput=2000.0)
    second = member("b", 0.2, read_tail=1e6, throughput=1000.0)
    said = choice.sentences([first, second], wanted, {"half the load": "b", "twice the load": "a"}, ["it is short."])
    assert said[-4:] == [
        "Runner-up: b, which is better in read p99 1.00 ms against 2.00 ms, and worse in throughput 1,000 requests/s "
        "against 2,000 requests/s.",
        "With half the load, b would be recommended.",
        "The choice stays the same with twice the load.",
        "But: it is short.",
    ]
