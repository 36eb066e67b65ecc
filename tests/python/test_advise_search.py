"""How the advisor searches: as well as if it tried everything, within its budget, its memory and its time."""

import json

import polars as pl
import pytest
from advice_cases import DEVICE, SOME, asked, bursts
from conftest import PROVE, ROOT, long, write_trace
from hypothesis import given, settings
from hypothesis import strategies as st

import flashraid as fr
from flashraid import advisor, profile_text
from flashraid.advising import candidates, changes, choice, excerpts, forecast, front
from flashraid.advising import runs as runs_of_search
from flashraid.sweeping import dataset, job, local

SHARED = [
    ROOT.parent / "shared" / "traces" / name
    for name in ("msps-dtrs-300s.ssdsim-us.trace.xz", "pcmark-56088.disksim-ms.trace.xz")
]
TRACES = [ROOT / "samples" / f"{name}-transactions.csv.gz" for name in ("pgbench", "sqlite", "postmark")]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write_trace(tmp_path_factory.mktemp("trace"), bursts(2000))


def points_of_rounds(monkeypatch):
    """The points of each round of a search that is done from now on."""
    done = {}

    class Recording(advisor.Runs):
        def __call__(self, name, points):
            done[name] = points
            return super().__call__(name, points)

    monkeypatch.setattr(advisor, "Runs", Recording)
    return done


@pytest.mark.parametrize("has_excerpts", [False, True])
def test_a_changed_workload_is_what_its_name_says(monkeypatch, has_excerpts):
    """Each change with the points of its runs, and what all of them have in common.

    The mix of a profile is not changed in an excerpt of what it was.
    """
    if has_excerpts:
        monkeypatch.setattr(excerpts, "MOST_OPERATIONS", 0)
        monkeypatch.setattr(excerpts, "FEWEST_REQUESTS", 100)
    done = points_of_rounds(monkeypatch)
    asked = {"device": "tiny", "fit": "wrap", "limit": 300, "jobs": 1, "seeds": 1, "fill": 0.5}
    found = fr.advise("profile:cr5m-uniform", schemes=["raid0", "raid1"], **asked)  # both are on the front
    plain = done["other runs" if has_excerpts else "final"][0]
    assert all(each.choice for each in found.changes), "there is something to choose from"
    changed = {
        each.what: {
            key: value for key, value in done[each.what][0].items() if plain.get(key) != value and key != "scheme"
        }
        for each in found.changes
    }
    space = plain["space_bytes"]
    assert changed.pop("half the load") == {"speed": 0.5}
    assert changed.pop("twice the load") == {"speed": 2.0}
    assert changed.pop("90% of the space filled") == {"fill_bytes": int(0.9 * space) // 65536 * 65536}
    for what, factor in (("half the weight of writes", 0.5), ("twice the weight of writes", 2)):
        ops = changed.pop(what)["profile.streams.0.ops"]
        assert ops["write"] == factor * plain.get("profile.streams.0.ops", {"write": 1})["write"]
        assert {point["trace"] for point in done[what]} == {"profile:cr5m-uniform"}
        of_failing = {int(point["limit"]) for point in done[what] if "fail" in point}
        assert of_failing == {96 if has_excerpts else 300}
    assert not changed


@pytest.mark.parametrize("has_excerpts", [False, True])
def test_a_change_does_again_what_it_changes_and_no_more(trace, monkeypatch, has_excerpts):
    """A closed loop knows no arrivals; a rebuild of what a fuller drive stores is no other one, and takes longest."""
    if has_excerpts:
        monkeypatch.setattr(excerpts, "MOST_OPERATIONS", 0)
    done = points_of_rounds(monkeypatch)
    asked = {**DEVICE, "schemes": ["raid0", "raid1"], "seeds": 1, "limit": 1200, "buffer_bytes": 1 << 18}
    found = fr.advise(trace, **asked)
    runs_of = {each.what: [forecast.kind_of(point) for point in done[each.what]] for each in found.changes}
    of_load, of_fill = ["open", "failing"] * 2, ["open", "closed"] * 2
    assert runs_of == {
        "half the load": of_load,
        "twice the load": of_load,
        "90% of the space filled": of_fill,
        "no data buffer": ["open", "closed", "failing"] * 2,
        "the data buffer in NVRAM": ["open", "closed", "failing"] * 2,
    }
    points = [point for each in found.changes for point in done[each.what]]
    failing = [point for point in points if "fail" in point]
    stored = next(iter(done["other runs" if has_excerpts else "final"]))["fill_bytes"]
    assert {point["trace"] == str(trace) for point in points if "fail" not in point} == {True}
    assert {point["trace"] == str(trace) for point in failing} == {not has_excerpts}
    assert {point["fill_bytes"] for point in failing} == {int(stored / 27) // 65536 * 65536 if has_excerpts else stored}
    assert not any(point["verify"] for point in failing), "what it loses was known before"


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=3))
@settings(deadline=None)
def test_writes_weigh_more_across_streams(tmp_path_factory, streams):
    path = tmp_path_factory.mktemp("profile") / "p.toml"
    text = "".join(
        f"[[streams]]\nweight = {w / 10}\nops = {{ write = {a / 10}, read = {b / 10} }}\n" for w, a, b in streams
    )
    path.write_text(text)
    shares = [w / sum(each for each, *_ in streams) for w, *_ in streams]
    writes = [share * a / (a + b) for share, (_, a, b) in zip(shares, streams, strict=True)]
    reads = [share * b / (a + b) for share, (_, a, b) in zip(shares, streams, strict=True)]
    whole = 2 * sum(writes) + sum(reads)
    changed = profile_text.with_writes_weighing(str(path), 2.0)
    total = sum(each["weight"] for each in changed.values())
    for number in range(len(streams)):
        each = changed[str(number)]
        share = each["weight"] / total
        weights = each["ops"]
        assert share * weights["write"] / sum(weights.values()) == pytest.approx(2 * writes[number] / whole)
        assert share * weights["read"] / sum(weights.values()) == pytest.approx(reads[number] / whole)
        # More decimals are refused.
        assert all(float(f"{weight:.9f}") == weight for weight in (each["weight"], *weights.values()))


def test_a_search_keeps_to_its_memory_unless_the_user_says_how_many_runs_there_are(trace, monkeypatch):
    """Contents of so large a drive are not compared, which is said; one run at a time, each with its own drive."""
    beside, made = [], []

    def do(each, *rest):
        beside.append(1)
        assert len(beside) == 1
        made.append(each)
        row = job.done_or_failed(each, *rest)
        beside.pop()
        return row

    monkeypatch.setattr(local, "done_or_failed", do)
    asked = {**DEVICE, "schemes": ["raid1", "raid5"], "seeds": 1, "limit": 300}
    choice, _ = candidates.candidates("tiny", None, ["raid1", "raid5"], [("fill", "0.5")], {})
    of_one_run = max(each["memory_bytes"] for each in choice.values())
    monkeypatch.setattr(runs_of_search, "MOST_BYTES", of_one_run)
    monkeypatch.setattr(advisor, "MOST_BYTES", of_one_run)
    found = fr.advise(trace, **{**asked, "jobs": None})
    assert not any(each.preparation for each in made)
    verified = [json.loads(each.config)["config"]["run"]["verify"] for each in made]
    assert not any(verified)
    said = "contents after the failure were not compared"
    assert any(said in text for text in found.sentences)
    monkeypatch.setattr(advisor, "MOST_BYTES", of_one_run - 1)
    with pytest.raises(fr.InputError, match=r"a run on this device takes .* of memory: allowed is .* with jobs = 1"):
        fr.advise(trace, **{**asked, "jobs": None})
    made.clear()
    found = fr.advise(trace, **asked)
    assert any(each.preparation for each in made)
    assert any(json.loads(each.config)["config"]["run"]["verify"] for each in made)
    assert not any(said in text for text in found.sentences)


def test_a_short_trace_on_a_large_drive_has_excerpts_and_is_no_slower_than_a_longer_one(tmp_path, monkeypatch):
    """The cost is that of the rebuild, whatever the trace is; what is all of the trace is done once."""
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)
    monkeypatch.setattr(excerpts, "MOST_OPERATIONS", 0)  # as on a drive that stores far more than this one
    trace = write_trace(tmp_path, bursts(2000))
    costs, told = {}, []
    for limit in (400, 1200):
        asked = {**DEVICE, "schemes": ["raid1", "raid5"], "seeds": 1, "limit": limit}
        found = fr.advise(trace, progress=lambda *said: told.append((limit, *said)), **asked)  # noqa: B023
        costs[limit] = found.cost
        assert found.recommended
        of_all = sum(each.whole["open"] + each.whole["closed"] for each in found.tried)
        assert limit > 1000 or of_all, "excerpts that are all of the trace are runs over all of it"
    assert [next(name for limit, name, _ in told if limit == each) for each in costs] == ["excerpts"] * 2
    assert costs[400] <= costs[1200]
    # What is left is told of all rounds.
    assert any(name == "excerpts" and (status.later_seconds or 0) > 0 for _, name, status in told)


def test_seeds_put_the_arrivals_of_a_trace_off(trace):
    """By at most a microsecond, so that intervals say what is chance; not if that is set, nor in a closed loop."""
    asked = {"schemes": ["raid1"], "limit": 300, **DEVICE}
    one = fr.advise(trace, seeds=1, **asked)
    three = fr.advise(trace, seeds=3, **asked)
    still = fr.advise(trace, seeds=3, jitter_ns=0, **asked)
    own = fr.advise(trace, seeds=3, jitter_ns="2us", **asked)
    assert one.cost == still.cost < three.cost
    rows = [each.front[0].tried.rows for each in (one, three, still, own)]
    assert [len(each["open"]) for each in rows] == [1, 3, 1, 3]
    assert [len(each["closed"]) for each in rows] == [1, 1, 1, 1]
    assert [{row["config.run.jitter_ns"] for row in each["open"]} for each in rows] == [{0}, {1000}, {0}, {2000}]
    assert {row["config.run.jitter_ns"] for each in rows for row in each["closed"]} == {0}
    assert len({row["latency_ns.read.total"] for row in rows[1]["open"]}) == 3
    assert "jitter_ns=1000" in three.command(three.recommended)
    assert three.command(three.recommended).endswith("--seeds 3")
    assert "--seeds" not in three.command(three.recommended, "closed")
    assert not any("nothing is random" in text for text in three.sentences)
    assert any("nothing is random" in text for text in still.sentences)


@pytest.mark.parametrize("settings", [{"precondition": "random:0.3"}, {}])
def test_seeds_of_a_profile_and_of_a_used_drive_change_every_run(settings):
    asked = {"device": "tiny", "fit": "wrap", "limit": 300, "jobs": 1, "seeds": 2, "schemes": ["raid1"], **settings}
    found = fr.advise("profile:cr5m-uniform", **asked)
    for rows in found.front[0].tried.rows.values():
        assert len({row["run"] for row in rows}) == 2
        assert {row["config.run.jitter_ns"] for row in rows} == {0}


def test_seeds_change_every_run_if_any_candidate_is_prepared_at_random(trace):
    question = asked(trace, seeds=3, vary={"precondition": ["none", "random:0.3"]})
    choice, _ = candidates.candidates("tiny", None, ["raid1"], [], {"precondition": ["none", "random:0.3"]})
    assert advisor.random_runs(question, choice, {}) == ("open", "closed", "failing")
    plain, _ = candidates.candidates("tiny", None, ["raid1"], [], {})
    assert advisor.random_runs(question, plain, {"jitter_ns": 1000}) == ("open", "failing")
    assert advisor.random_runs(question, plain, {"jitter_ns": 0}) == ()


def exhaustive(monkeypatch, *arguments, **keywords):
    """The same question with every candidate as a finalist."""
    with monkeypatch.context() as changed:
        changed.setattr(advisor, "excerpts_of", lambda *_: {})
        changed.setattr(changes, "MOST_CHANGED", 1)
        return fr.advise(*arguments, **keywords)


def missed(found, whole, tolerance=0.05):
    """The members of the whole front of which none is found that is, in everything, within so much of it or not told
    apart from it.
    """

    def is_as_good(own, member, objective):
        one, other = own.values[objective.name], member.values[objective.name]
        costs = [[objective.cost(each.mean)] for each in (one, other)]
        return front.covers(*costs, tolerance) or choice.is_alike(one, other)

    def stands_for(own, member):
        return all(is_as_good(own.tried, member.tried, objective) for objective in whole.objectives)

    missing = (each for each in whole.front if not any(stands_for(own, each) for own in found.front))
    return [each.tried.candidate.name for each in missing]


@pytest.mark.skipif(not PROVE, reason="half a minute: in make prove")
def test_few_candidates_are_searched_as_all_of_them_are(tmp_path, monkeypatch):
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)
    trace = write_trace(tmp_path, bursts(27_000))
    found = fr.advise(trace, schemes=SOME, seeds=2, **DEVICE)
    whole = exhaustive(monkeypatch, trace, schemes=SOME, seeds=2, **DEVICE)
    assert len(found.front) < len(whole.front)
    assert not missed(found, whole)
    # Few have the budget of sixty.
    assert found.cost <= 0.2 * 60 / len(found.tried) * whole.cost < 0.5 * whole.cost


@long
def test_what_is_out_after_the_excerpt_is_no_finalist(tmp_path, monkeypatch):
    """One that lacks what it must have is out after the excerpt, and has no part in how the budget is spent."""
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)
    trace = write_trace(tmp_path, bursts(27_000))
    found = fr.advise(trace, schemes=SOME, survives="chip", seeds=1, **DEVICE)
    assert next(each.out for each in found.tried if each.candidate.scheme == "raid0") == "survives chip: it does not"
    assert all(each.tried.candidate.scheme != "raid0" for each in found.front)


def test_nothing_is_left_only_if_all_of_the_trace_says_so(tmp_path, monkeypatch):
    """A burst at the start is a large part of an excerpt, and too little of the trace for its p99."""
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)
    monkeypatch.setattr(excerpts, "MOST_OPERATIONS", 0)
    rows = [(0, "W", at * 4096, 4096) for at in range(60)]
    rows += [(at * 1000, "W", at % 500 * 4096, 4096) for at in range(1, 8000)]
    asked = {**DEVICE, "schemes": ["raid1", "raid5"], "seeds": 1}
    found = fr.advise(write_trace(tmp_path, rows), **asked, max_p99_write="1ms")
    assert found.recommended
    assert not fr.advise(write_trace(tmp_path, rows), **asked, max_p99_write="1us").recommended


# What docs/advisor.md says is missed. Under this overload its rebuild takes 6.0 % less time than that of the nearest
# that is found, while its writes wait three times as long; excerpts, in which rebuilds differ by 0.1 %, cannot tell.
MISSED = {"pcmark-56088": ["ca-ppc evicts_locked=yes"]}


@pytest.mark.skipif(not PROVE, reason="minutes for each trace: in make prove")
@pytest.mark.parametrize("trace", [*TRACES, *SHARED], ids=lambda path: path.name.partition(".")[0])
def test_the_front_is_that_of_an_exhaustive_search_at_a_fifth_of_its_cost(trace, monkeypatch):
    if not trace.exists():
        pytest.skip(f"there is no {trace}")
    asked = {"device": "ssd1", "fill": 0.1, "limit": 30_000, "jobs": 2} | ({"fit": "wrap"} if trace in SHARED else {})
    with monkeypatch.context() as changed:
        changed.setattr(changes, "MOST_CHANGED", 1)
        found = fr.advise(trace, **asked)
    whole = exhaustive(monkeypatch, trace, **asked)
    assert found.cost <= 0.2 * whole.cost
    assert missed(found, whole) == MISSED.get(trace.name.partition(".")[0], [])


@long
def test_excerpts_have_pieces_of_all_of_the_trace(tmp_path, monkeypatch):
    """Reads come only in the last third of this one: what is judged by the first requests does not know them."""
    rows = [(at * 300, "R" if at > 18_000 else "W", at * 7 % 500 * 4096, 4096) for at in range(27_000)]
    trace = write_trace(tmp_path, rows)
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)
    out = tmp_path / "runs"
    told = []
    asked = {"schemes": ["raid1", "raid5"], "seeds": 1, "out": out, **DEVICE}
    fr.advise(trace, progress=lambda name, status: told.append(name), **asked)
    assert list(dict.fromkeys(told)) == ["excerpts", "trace", "other runs"]
    is_short = pl.col("trace").str.contains("excerpt-")
    is_failing = pl.col("rebuild.0.pages").is_not_null()
    frame = dataset.read(out)
    assert set(frame.filter(~is_short)["workload.requests"]) == {27_000}
    for runs, count in ((is_short & ~is_failing, 3000), (is_short & is_failing, 1000)):
        assert set(frame.filter(runs)["workload.requests"]) == {count}
        assert set(frame.filter(runs)["workload.reads"]) == {count // 4}, "two of eight pieces"
