"""The search of the advisor without any run: rounds, budget, excerpts, what is left, and what is asked of a run."""

import dataclasses
import random

import pytest
from conftest import long, write_trace

import flashraid as fr
from flashraid.advising import candidates, changes, choice, excerpts, forecast, objectives, search
from flashraid.quantities import SIZE, TIME
from flashraid.sweeping import job

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


def test_an_excerpt_that_misses_a_limit_by_little_rules_nothing_out():
    """One whose excerpt has 1.5 of what all of the trace has 1, beside one that has 1 in both and is worse."""
    told = Told()
    plain, best, other = told.row, "0", "33"
    found = told.search(3, objectives.RUNS)
    costs = [each.column for each in found.objectives]

    def row(point):
        limited = {best: 1.5 if point["trace"] == "excerpt.csv" else 1, other: 1}.get(point["k"], 3)
        worse = {column: 1000 * (1.3 if at % 2 else 1 / 1.3) for at, column in enumerate(costs)}
        better = dict.fromkeys(costs, 1000.0)
        return plain(point) | {best: better, other: worse}.get(point["k"], {}) | {"limited": limited}

    told.row = row
    found.musts.append(search.Must("limit", "open", "limited", most=1, kind=TIME, is_measured=True))
    assert best in [dict(each.candidate.settings)["k"] for each in found.run()]


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


# ---- excerpts, and what is left ----


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


@long
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("seeds", "random_runs"), [(3, objectives.RUNS), (3, ()), (1, objectives.RUNS)])
@pytest.mark.parametrize("has_excerpts", [True, False])
def test_what_is_told_to_be_left_is_all_rounds_within_a_factor_of_one_and_a_half(
    threads, seeds, random_runs, has_excerpts
):
    """From a tenth of the first round on, with two changes of the workload at the end."""
    timed = Timed(threads)
    found = timed.search(seeds, random_runs, **({} if has_excerpts else {"of": {}}))
    changed = {
        "twice the load": forecast.ChangedRuns((objectives.OPEN, objectives.FAILING)),
        "the data buffer in NVRAM": forecast.ChangedRuns(objectives.RUNS),
    }
    timed.forecast = forecast.Forecast(found, threads, list(changed.values()), candidates_of_change=4)
    best = found.run()[:4]
    for name, change in changed.items():
        workload = dataclasses.replace(found.workload, fixed={"trace": name})
        again = [search.Tried(each.candidate) for each in best]
        search.Search(again, found.objectives, [], workload, timed).look_again(name, change.runs)
    late_enough = [(name, share, whole) for name, share, whole in timed.told if name != "excerpts" or share > 0.1]
    assert late_enough
    for name, share, whole in late_enough:
        assert timed.seconds / 1.5 <= whole <= timed.seconds * 1.5, (name, share, whole, timed.seconds)


@pytest.mark.parametrize(("seeds", "expected"), [(3, 2.0), (1, 9.0)])
def test_what_one_run_takes_to_read_everything_back_is_not_expected_of_those_with_other_seeds(seeds, expected):
    found = Told().search(seeds, objectives.RUNS)
    told = forecast.Forecast(found, 1, [], 4)
    told.begin("excerpts")
    failing = {"k": "1", "trace": "excerpt.csv", "fail": "chip:0.0@50%", "verify": False}
    for kind in ({}, {"queue_depth": 32}, failing):
        row = found.do("excerpts", [{"k": "1", "trace": "excerpt.csv"} | kind])[0]
        told.take({"k": "1"} | kind, row | {job.SECONDS: 1.0, job.REPLAY_SECONDS: 0.5})
    told.begin("other runs")
    row = found.do("other runs", [failing | {"trace": "t"}])[0]
    told.take(failing | {"verify": True}, row | {job.SECONDS: 9.0, job.REPLAY_SECONDS: 8.0})
    told.begin("final")
    if seeds > 1:
        told.take(failing, row | {job.SECONDS: 2.0, job.REPLAY_SECONDS: 1.0})
    assert told._seconds(objectives.FAILING) == expected


def test_a_run_over_all_of_the_trace_takes_as_long_to_prepare_as_others_of_that_size():
    """An excerpt of a run with a failure is on a smaller drive, which is filled sooner."""
    found = Told().search(3, objectives.RUNS)
    told = forecast.Forecast(found, 1, [], 4)
    told.begin("excerpts")
    for run, seconds, replay in ((objectives.OPEN, 3.0, 1.0), (objectives.FAILING, 0.6, 0.5)):
        point = found.workload.point(found.tried[0].candidate, run, 1, is_excerpt=True)
        row = found.do("excerpts", [point])[0]
        told.take(point, row | {job.SECONDS: seconds, job.REPLAY_SECONDS: replay})
    of_excerpt = EXCERPTS[objectives.FAILING].requests / 27_000
    assert told._seconds(objectives.FAILING) == pytest.approx(2.0 + 0.5 / of_excerpt, rel=0.01)


def test_changes_of_the_workload_take_as_long_as_their_runs_and_what_else_they_store():
    """An open run takes 2.7 s to fill the drive and 2.7 s for the trace, one with a failure 0.1 s to fill a 27th."""
    told = Told(1)
    found = told.search(1, objectives.RUNS)

    def later(*changes, threads=2):
        left = forecast.Forecast(found, threads, changes, candidates_of_change=4)
        left.begin("excerpts")
        for run, fixed in ((objectives.OPEN, 2.7), (objectives.CLOSED, 2.7), (objectives.FAILING, 0.1)):
            point = found.workload.point(told.candidates[0], run, 1, is_excerpt=True)
            row = told.row(point)
            replay = row["flash_ops.reads.total"] / 1000
            left.take(point, row | {job.SECONDS: fixed + replay, job.REPLAY_SECONDS: replay})
        return left.later(1.0, 0.5)

    def of(*runs, **more):
        return forecast.ChangedRuns(runs, **more)

    alone = later()
    assert later(of(objectives.OPEN)) - alone == pytest.approx(2 * 5.4)
    assert later(of(objectives.OPEN, times_stored=3)) - alone == pytest.approx(2 * (5.4 + 2 * 2.7))
    assert later(of(objectives.OPEN, times_stored=0.5)) - alone == pytest.approx(2 * (5.4 - 2.7 / 2))
    # A run with a failure is that of an excerpt, whatever is stored.
    assert later(of(objectives.FAILING, times_stored=3)) - alone == pytest.approx(2 * 0.4)
    assert later(of(objectives.OPEN), of(objectives.FAILING)) - alone == pytest.approx(2 * 5.8)
    assert later(of(objectives.OPEN), threads=4) - later(threads=4) == pytest.approx(5.4)


# ---- another workload ----


def test_reasons_for_another_choice_are_figures_that_the_change_changes():
    """What follows from the configuration counts as well: the other candidate may be on the front for that alone."""
    told = Told(2)
    plain = told.row

    def row(point):
        is_first = point["k"] == "0"
        slow = 4.0 if {"speed", "fill_bytes"} & set(point) else 1.0
        return plain(point) | {
            **{each.column: 1e6 for each in objectives.objectives("p99", has_failure=True)},
            **dict.fromkeys(("latency_ns.read.count", "latency_ns.write.count", "rebuild.0.latency_ns.count"), 10_000),
            "latency_ns.read.p99": slow * 1e6 if is_first else 2e6,
            "bandwidth.requests_per_second": 1000.0 if is_first else 900.0,
            "rebuild.0.window_of_vulnerability_ns": 1e9 if is_first else 1.1e9,
            "capacity.user_bytes": 1 << 30 if is_first else 2 << 30,
        }

    told.row = row
    found = told.search(1, objectives.RUNS)
    for each in found.tried:
        points = {run: found.workload.point(each.candidate, run, 1, is_excerpt=False) for run in objectives.RUNS}
        each.take({run: [told.row(point)] for run, point in points.items()}, found.objectives)
    order = [choice.Ranked(each, {}, 0.0) for each in found.tried]
    known = {"twice the load": {"speed": 2.0}, "90% of the space filled": {"fill_bytes": 9}}
    of_load, of_fill = changes.changes_of(order, found, known, ())
    assert {of_load.choice, of_fill.choice} == {found.tried[1].candidate.name}
    better = (
        ", which is better in read p99 2.00 ms against 4.00 ms; usable capacity 2.00 GiB against 1.00 GiB, and worse "
    )
    assert of_load.why == f"{better}in rebuild of an excerpt 1.10 s against 1.00 s"
    assert of_fill.why == f"{better}in throughput 900 requests/s against 1,000 requests/s"


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
    fixed |= {"device_queue_depth": 32, "queues": 2, "fetch": 2}  # as many as the closed loop has outstanding
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
        assert not {"speed", "device_queue_depth", "queues", "fetch"} & set(closed)
        assert points["failing", True]["fill_bytes"] == 27 << 20
        for run in ("open", "closed", "failing"):
            point = points[run, False]
            assert (point["trace"], point["format"], point["limit"]) == ("excerpt.csv", "flashraid", 0)
            assert point["warmup"] == f"100{units}"
            assert point["fill_bytes"] == (1 << 20 if run == "failing" else 27 << 20)
        assert [points["failing", whole]["verify"] for whole in (True, False)] == [True, False]
        assert points["failing", True]["fail"] == "chip:0.0@50%"
        assert [workload.times_as_long(run) for run in ("open", "closed", "failing")] == [27, 9, 27]
