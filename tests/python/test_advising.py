"""What the advisor is made of, without any run: candidates, fronts, the search, musts, and what it says."""

import dataclasses
import json
import random

import pytest
from conftest import SCHEMES, write_trace
from hypothesis import given, settings
from hypothesis import strategies as st

import flashraid as fr
from flashraid.advising import candidates, choice, excerpts, forecast, front, objectives, search
from flashraid.quantities import SIZE, TIME
from flashraid.sweeping import job

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


# ---- the search ----


EXCERPTS = {run: excerpts.Excerpt("excerpt.csv", 3000 if run == objectives.OPEN else 1000) for run in objectives.RUNS}


class Told:
    """Runs that are not done: each candidate with a cost of its own, which seeds change a little, and excerpts more."""

    def __init__(self, count=60):
        self.candidates = [candidates.Candidate("raid5", (("k", str(number)),)) for number in range(count)]
        self.rounds = []

    def __call__(self, name, points):
        self.rounds.append((name, list(points)))
        return [self.row(point) for point in points]

    def row(self, point):
        own = random.Random(f"{point['k']}").lognormvariate(0, 0.3)
        run = (
            objectives.FAILING if "fail" in point else objectives.CLOSED if "queue_depth" in point else objectives.OPEN
        )
        is_excerpt = point["trace"] == "excerpt.csv"
        seed = point.get("seed", 1) if run != objectives.CLOSED else 1
        chance = random.Random(f"{point['k']} {is_excerpt} {seed}")
        figures = {}
        for at, each in enumerate(objectives.objectives("p99", has_failure=True)):
            better = own if at % 2 else 1 / own
            figures[each.column] = 1000 * better * chance.lognormvariate(0, 0.2 if is_excerpt else 0.01)
        operations = {objectives.OPEN: 2700, objectives.CLOSED: 2700, objectives.FAILING: 8100}[run]
        share = EXCERPTS[run].requests / 27_000 if is_excerpt else 1
        name = f"{point['k']} {run} {is_excerpt} {seed}"
        done = {"status": "done", "reason": "", "run": name, "latency_ns.read.count": 1, "latency_ns.write.count": 1}
        return figures | done | {"flash_ops.reads.total": round(operations * share)}

    def search(self, seeds, random_runs, of=EXCERPTS):
        tried = [search.Tried(each) for each in self.candidates]
        workload = search.Workload({"trace": "t"}, 27_000, "chip:0.0", seeds, of, random_runs)
        return search.Search(tried, objectives.objectives("p99", has_failure=True), [], workload, self)


def test_fewer_and_fewer_candidates_do_more_and_longer_runs():
    told, all_of_it = Told(), Told()
    random_runs = (objectives.OPEN, objectives.FAILING)
    found = told.search(3, random_runs)
    finalists = found.run()
    whole = all_of_it.search(3, random_runs, of={})
    assert len(whole.run()) == 60
    assert [name for name, _ in all_of_it.rounds] == ["final"]
    assert whole.cost == 60 * (3 * 2700 + 2700 + 3 * 8100), "seeds that change nothing are one run"
    assert 0.17 * whole.cost < found.cost <= search.BUDGET * whole.cost
    names = [name for name, _ in told.rounds]
    assert names[:4] == ["excerpts", "trace", "other runs", "final"]
    assert set(names[4:]) <= {"trace", "other runs", "final"}, "what is left of the budget"
    every, trace, others, final = (
        {point["k"] for name, points in told.rounds for point in points if name == of} for of in names[:4]
    )
    assert final < others < trace < every
    for name, points in told.rounds:
        assert {point["seed"] for point in points} == ({1, 2, 3} if name == "final" else {1})
    for each in found.tried:
        is_final, own = each in finalists, dict(each.candidate.settings)["k"]
        assert is_final == (own in final)
        counts = {run: len(rows) for run, rows in each.rows.items()}
        assert counts == ({"open": 3, "closed": 1, "failing": 3} if is_final else dict.fromkeys(objectives.RUNS, 1))
        done = objectives.RUNS if own in others else (objectives.OPEN,) if own in trace else ()
        assert set(each.whole) == set(done)
        assert each.out.endswith("" if is_final else ": others are as good or nearly so")
        assert (each.out == "") == is_final
        assert each.estimates == {"open": 2700, "closed": 2700, "failing": 8100}
        # What is known over all of the trace counts, not the excerpt.
        excerpts_alone = [told.row({"k": own, "trace": "excerpt.csv"}), told.row({"k": own, "trace": "t"})]
        read_tail = each.values["read_tail"].mean
        assert (read_tail == excerpts_alone[0]["latency_ns.read.p99"]) == (own not in trace)


@pytest.mark.parametrize(("seeds", "random_runs"), [(1, objectives.RUNS), (3, ())])
def test_without_chance_the_budget_is_for_runs_with_one_seed(seeds, random_runs):
    told = Told()
    found = told.search(seeds, random_runs)
    finalists = found.run()
    assert {name for name, _ in told.rounds} == {"excerpts", "trace", "other runs"}
    assert {len(rows) for each in finalists for rows in each.rows.values()} == {1}
    assert 0.17 * 60 * 13_500 < found.cost <= search.BUDGET * 60 * 13_500
    others = {point["k"] for name, points in told.rounds for point in points if name == "other runs"}
    assert {dict(each.candidate.settings)["k"] for each in finalists} == others


def test_nothing_is_said_to_do_only_if_everything_was_tried():
    """What has the limit is not among those that the excerpts tell."""
    told = Told()
    plain = told.row
    told.row = lambda point: plain(point) | ({"limited": 1} if point["k"] == best else {"limited": 2})
    must = search.Must("limit", "open", "limited", most=1, kind=TIME, is_measured=True)
    for best in ("none", "0", "33", "59"):
        found = told.search(3, objectives.RUNS)
        found.musts.append(must)
        assert [dict(each.candidate.settings)["k"] for each in found.run()] == ([] if best == "none" else [best])
        assert best != "none" or all(objectives.OPEN in each.whole for each in found.tried)


def test_runs_that_cost_more_than_their_excerpts_tell_are_accounted_for():
    """All runs over all of the trace cost three times as much: as many candidates get them as if excerpts said so."""
    plain, dear = Told(), Told()
    row = dear.row

    def tripled(point):
        found = row(point)
        return (
            found
            if point["trace"] == "excerpt.csv"
            else found | {"flash_ops.reads.total": 3 * found["flash_ops.reads.total"]}
        )

    dear.row = tripled
    found = dear.search(3, objectives.RUNS)
    found.run()
    whole = 3 * 60 * 3 * 13_500
    assert found.scale(*objectives.RUNS) == 3
    assert 0.15 * whole < found.cost <= search.BUDGET * whole
    assert plain.search(3, objectives.RUNS).scale(*objectives.RUNS) == 1


def test_what_is_known_of_a_cost_counts_and_else_what_others_tell():
    """All of the trace costs one candidate five times what its excerpt tells, and the others just that."""
    told = Told()
    row = told.row

    def dear(point):
        found = row(point)
        times = 5 if point["trace"] == "t" and point["k"] == "7" else 1
        return found | {"flash_ops.reads.total": times * found["flash_ops.reads.total"]}

    told.row = dear
    found = told.search(3, objectives.RUNS)
    found.run()
    known = [each for each in found.tried if objectives.OPEN in each.whole]
    times = {dict(each.candidate.settings)["k"]: found._price(each, objectives.OPEN) / 2700 for each in known}
    assert times == {name: 5 if name == "7" else 1 for name in times}
    scale = sum(times.values()) / len(times)
    assert found.scale(objectives.OPEN) == pytest.approx(scale)
    unknown = next(each for each in found.tried if objectives.OPEN not in each.whole)
    assert found._price(unknown, objectives.OPEN) == pytest.approx(scale * 2700)


def test_what_fails_with_one_seed_gets_no_more_runs():
    told = Told()
    plain = told.row
    failing = []

    def fails(point):
        row = plain(point)
        if point["trace"] == "t" and not failing:
            failing.append(point["k"])
        return (
            row | {"status": "failed", "reason": "worn out"} if point["trace"] == "t" and point["k"] in failing else row
        )

    told.row = fails
    found = told.search(3, objectives.RUNS)
    finalists = found.run()
    failed = [each for each in found.tried if each.out == "failed: worn out"]
    assert [dict(each.candidate.settings)["k"] for each in failed] == failing
    assert failed[0] not in finalists
    assert set(failed[0].whole) == {"open"}


def test_what_is_lost_in_an_excerpt_rules_nothing_out():
    """A scheme that writes redundancy later may lose more where little is stored; all of the trace decides."""
    told = Told()
    plain = told.row
    told.row = lambda point: (
        plain(point)
        | {
            "survives.chip": True,
            "losses.host_pages": 3 if point["trace"] == "excerpt.csv" or point["k"] == "7" else 0,
        }
    )
    found = told.search(3, objectives.RUNS)
    assert found.run()
    lost = [each for each in found.tried if "lost 3 pages" in each.out]
    assert [dict(each.candidate.settings)["k"] for each in lost] in (["7"], [])
    alone = Told(8)
    alone.row = told.row
    found = alone.search(3, objectives.RUNS, of={})
    found.run()
    assert [each.out for each in found.tried if each.out] == ["is said to survive chip:0.0, and lost 3 pages by it"]


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
        ({"scale": 2.0}, "all of the trace costs 2.0 times what its excerpt told"),
        (
            {"count": 5000, "tail": "p99_9"},
            "the trace is too short: 5,000 reads, of which 5 are beyond p99.9: p99 is compared.",
        ),
        ({"load": 0.01}, "the load is too low to matter: the busiest part is in use for 1.0% of the time."),
        ({"load": 0.95}, "raid5 cannot keep up with the trace: latencies grow with its length."),
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


# ---- excerpts ----


@pytest.mark.parametrize(
    ("requests", "stored", "expected"),
    [
        (27_000, 0, {"open": 3000, "closed": 3000, "failing": 1000}),
        (20_000, 0, {"open": 2216, "closed": 2216, "failing": 1000}),
        (14_285, 0, {}),
        (2000, 28_666, {}),
        (2000, 28_667, {"open": 1000, "closed": 1000, "failing": 1000}),
        (1000, 50_000_000, {"open": 1000, "closed": 1000, "failing": 1000}),
        (5, 50_000_000, {"open": 5, "closed": 5, "failing": 5}),
    ],
)
def test_a_trace_has_excerpts_unless_it_is_quicker_to_replay_all_of_it(tmp_path, requests, stored, expected):
    """A rebuild of much that is stored takes long, whatever the trace is."""
    trace = write_trace(tmp_path, [(at * 300, "W", at % 500 * 4096, 4096) for at in range(requests)])
    found = excerpts.excerpts_of(str(trace), [], requests, stored, str(tmp_path))
    assert {each.is_all for each in found.values()} <= {requests <= 1000}
    assert all((each.path == str(trace)) == each.is_all for each in found.values())
    assert {run: each.requests for run, each in found.items()} == expected
    assert {run: fr.trace_info(each.path)["requests"] for run, each in found.items()} == expected


FIXED_SECONDS = {objectives.OPEN: 0.3, objectives.CLOSED: 0.2, objectives.FAILING: 0.5}


class Timed(Told):
    """Runs that take time: some for each, by kind, and some for each operation; with what is told of what is left."""

    def __init__(self, threads, **more):
        super().__init__(**more)
        self.threads, self.seconds, self.told, self.forecast = threads, 0.0, [], None
        self.known = set()

    def row(self, point):
        row = super().row(point)
        return row | {"run": f"{row['run']} {point['trace']}"}

    def __call__(self, name, points):
        rows, began, done = [self.row(point) for point in points], self.seconds, {}
        self.forecast.begin(name)
        left = {row["run"] for row in rows} - self.known
        for point, row in zip(points, rows, strict=True):
            if row["run"] in left - done.keys():
                kind = forecast.kind_of(point)
                replay = row["flash_ops.reads.total"] * 2e-4
                fixed = FIXED_SECONDS[kind] * (
                    1 / 27 if kind == objectives.FAILING and "excerpt" in point["trace"] else 1
                )
                self.forecast.take(point, row | {job.SECONDS: fixed + replay, job.REPLAY_SECONDS: replay})
                self.seconds += (fixed + replay) / self.threads
                done[row["run"]] = True
                share = len(done) / len(left)
                later = self.forecast.later(self.seconds - began, share)
                if later is not None:
                    whole = began + (self.seconds - began) / share + later
                    self.told.append((name, share, whole))
        self.known |= left
        return rows


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("seeds", "random_runs"), [(3, objectives.RUNS), (3, ()), (1, objectives.RUNS)])
@pytest.mark.parametrize("has_excerpts", [True, False])
def test_what_is_told_to_be_left_is_all_rounds_within_a_factor_of_one_and_a_half(
    threads, seeds, random_runs, has_excerpts
):
    """From a tenth of the first round on, with two changes of the workload at the end."""
    timed = Timed(threads)
    found = timed.search(seeds, random_runs, **({} if has_excerpts else {"of": {}}))
    timed.forecast = forecast.Forecast(found, threads, changes=2, candidates_of_change=4)
    best = found.run()[:4]
    for name in ("half the load", "twice the load"):
        workload = dataclasses.replace(found.workload, fixed={"trace": name})
        again = [search.Tried(each.candidate) for each in best]
        search.Search(again, found.objectives, [], workload, timed).look_again(name)
    late_enough = [(name, share, whole) for name, share, whole in timed.told if name != "excerpts" or share > 0.1]
    assert late_enough
    for name, share, whole in late_enough:
        assert timed.seconds / 1.5 <= whole <= timed.seconds * 1.5, (name, share, whole, timed.seconds)


# ---- musts and runs ----


def test_an_excerpt_rules_out_only_what_is_twice_as_bad():
    column = "latency_ns.read.p99"
    must = search.Must("max_p99_read 500us", "open", column, most=500_000, kind=TIME, is_measured=True)
    assert must.why_not({column: 500_000}) is None
    assert must.why_not({column: 500_001}) == "max_p99_read 500us: it has 500 us"
    assert must.why_not({column: 1_000_000}, is_excerpt=True) is None
    assert must.why_not({column: 1_000_001}, is_excerpt=True)
    lasts = search.Must("min_dwpd 1", "open", "lifetime", least=100, kind=TIME, is_measured=True)
    assert [lasts.why_not({"lifetime": value}) is None for value in (100, 99)] == [True, False]
    assert [lasts.why_not({"lifetime": value}, is_excerpt=True) is None for value in (50, 49)] == [True, False]
    known = search.Must("max_nvram 64KiB", "open", "capacity.nvram_bytes", most=65_536, kind=SIZE)
    assert known.why_not({"capacity.nvram_bytes": 65_537}, is_excerpt=True)


def test_shorter_runs_have_a_shorter_warm_up(monkeypatch):
    monkeypatch.setattr(search, "MOST_CLOSED", 9000)
    short = {run: excerpts.Excerpt("excerpt.csv", 1000) for run in objectives.RUNS}
    fixed = {"trace": "t", "warmup": "2700", "fill_bytes": 27 << 20, "speed": 2.0, "limit": 27_000}
    candidate = candidates.Candidate("raid5", (("update", "rmw"),))
    for warmup, units in (("2700", ""), ("2700ns", "ns")):
        workload = search.Workload({**fixed, "warmup": warmup}, 27_000, "chip:0.0", 3, short)
        points = {
            (run, not is_excerpt): workload.point(candidate, run, is_excerpt=is_excerpt)
            for run in objectives.RUNS
            for is_excerpt in (False, True)
        }
        assert points["open", True] == {**fixed, "warmup": warmup, "scheme": "raid5", "update": "rmw"}
        closed = points["closed", True]
        assert (closed["limit"], closed["warmup"], closed["queue_depth"]) == (9000, f"900{units}", 32)
        assert "speed" not in closed
        assert points["failing", True]["fill_bytes"] == 27 << 20
        for run in ("open", "closed", "failing"):
            point = points[run, False]
            assert (point["trace"], point["format"], point["limit"]) == ("excerpt.csv", "flashraid", 0)
            assert point["warmup"] == f"100{units}"
            assert point["fill_bytes"] == (1 << 20 if run == "failing" else 27 << 20)
        assert [points["failing", whole]["verify"] for whole in (True, False)] == [True, False]
        assert points["failing", True]["fail"] == "chip:0.0@50%"
        assert [workload.times_as_long(run) for run in ("open", "closed", "failing")] == [27, 9, 27]


# ---- figures and words ----


def test_a_figure_that_a_seed_lacks_is_none():
    objective = objectives.objectives("p99", has_failure=False)[3]
    assert objectives.value_of(objective, [{objective.column: 1.0}, {objective.column: 3.0}]).mean == 2.0
    assert objectives.value_of(objective, [{objective.column: 1.0}, {objective.column: None}]) == objectives.Value(None)
    tail = objectives.objectives("p99", has_failure=False)[0]
    rows = [{tail.column: 5, "latency_ns.read.count": 1}, {tail.column: 0, "latency_ns.read.count": 0}]
    assert objectives.value_of(tail, rows) == objectives.Value(None)


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
