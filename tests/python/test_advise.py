"""The answers of the advisor: that they are right, keep to what is asked, and are as good as an exhaustive search's."""

import hashlib
import itertools
import json
import shlex

import polars as pl
import pytest
from conftest import PROVE, ROOT, write_trace
from hypothesis import given, settings
from hypothesis import strategies as st

import flashraid as fr
from flashraid import advisor, intervals, profile_text
from flashraid.advising import candidates, changes, excerpts, front, search
from flashraid.advising import runs as runs_of_search
from flashraid.quantities import SIZE, TIME
from flashraid.sweeping import dataset, job, local

DEVICE = {"device": "tiny", "fill": 0.5, "fit": "wrap", "jobs": 1}
SOME = ["raid0", "raid1", "raid5", "ppc"]
SHARED = [
    ROOT.parent / "shared" / "traces" / name
    for name in ("msps-dtrs-300s.ssdsim-us.trace.xz", "pcmark-56088.disksim-ms.trace.xz")
]
TRACES = [ROOT / "samples" / f"{name}-transactions.csv.gz" for name in ("pgbench", "sqlite", "postmark")]


def bursts(count):
    """Bursts of reads and writes of different sizes, on a few places again and again."""
    return [
        (at // 4 * 6000 + at % 4, "R" if at % 5 < 2 else "W", (at * at % 977) * 4096, (1 + at % 3) * 4096)
        for at in range(count)
    ]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write_trace(tmp_path_factory.mktemp("trace"), bursts(2000))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The dataset with the runs of `advice`."""
    return tmp_path_factory.mktemp("advice") / "runs"


@pytest.fixture(scope="module")
def advice(trace, runs):
    return fr.advise(trace, survives="chip", schemes=SOME, seeds=2, precondition="random:0.3", out=runs, **DEVICE)


# ---- answers ----


def test_what_must_be_is_kept_to(trace, tmp_path):
    common = {"schemes": SOME, "seeds": 1, "out": tmp_path / "out", **DEVICE}  # where each finds the runs of the first
    read_p99, write_p99 = "latency_ns.read.p99", "latency_ns.write.p99"  # of which limits are, whatever is ranked

    def front_of(found):
        own = [each.tried.rows["open"][0] for each in found.front]
        return [row | of for row, of in zip(found.to_frame().to_dicts(), own, strict=True)]

    plain = front_of(fr.advise(trace, **common))
    assert {row["scheme"] for row in plain} == set(SOME), "each is on the front, as none has what all others have"
    reads, writes, capacities = (sorted(row[name] for row in plain) for name in (read_p99, write_p99, "capacity"))
    limits = [
        ({"survives": "chip"}, lambda row: row["survives_chip"] == 1),
        ({"max_nvram": "1KiB"}, lambda row: row["nvram"] <= 1024),
        ({"max_p99_read": f"{int(reads[-1]) - 1}ns"}, lambda row: row[read_p99] < reads[-1]),
        ({"max_p99_write": f"{int(writes[-1]) - 1}ns"}, lambda row: row[write_p99] < writes[-1]),
        ({"min_capacity": 0.6}, lambda row: row["capacity"] > capacities[0]),
        ({"min_capacity": "60%"}, lambda row: row["capacity"] > capacities[0]),
    ]
    for asked, holds in limits:
        found = fr.advise(trace, **asked, **common)
        rows = front_of(found)
        assert rows
        assert all(map(holds, rows)), asked
        assert not all(map(holds, plain)), "the limit leaves something out"
        assert any(str(next(iter(asked.values()))) in each.out for each in found.tried)


def test_a_configuration_file_says_how_much_is_replayed_and_how_fast(trace, tmp_path):
    (tmp_path / "c.toml").write_text("[run]\nlimit = 300\nspeed = 3.0\n")
    out = tmp_path / "runs"
    fr.advise(trace, config=tmp_path / "c.toml", schemes=["raid1", "raid5"], seeds=1, out=out, **DEVICE)
    frame = dataset.read(out).filter(pl.col("config.run.queue_depth") == 0)
    assert set(frame["workload.requests"]) == {300}
    assert set(frame["config.run.speed"]) == {3.0, 1.5, 6.0}, "as it is, and half and twice as fast"


def test_nothing_is_recommended_if_nothing_has_what_is_asked(trace, command):
    line = ["advise", trace, "--device", "tiny", "--fill", "0.5", "--fit", "wrap", "--schemes", "raid0", "--jobs", "1"]
    done = command(*line, "--survives", "chip", status=3)
    assert "Nothing is recommended: no candidate has all that is asked for." in done.stdout
    assert "raid0: --survives chip: it does not" in done.stderr


def test_a_mislabelled_scheme_is_not_recommended(trace, monkeypatch):
    """One that says it survives a chip, and loses data by it."""

    class Lying(advisor.Runs):
        def __call__(self, name, points):
            rows = super().__call__(name, points)
            return [{**row, "survives.chip": True} if row.get("scheme") == "raid0" else row for row in rows]

    monkeypatch.setattr(advisor, "Runs", Lying)
    found = fr.advise(trace, schemes=["raid0", "raid1"], survives="chip", seeds=1, **DEVICE)
    assert found.recommended.scheme == "raid1"
    assert all(each.tried.candidate.scheme != "raid0" for each in found.front)
    why = next(each.out for each in found.tried if each.candidate.scheme == "raid0")
    assert why.startswith("is said to survive chip:0.0, and lost ")


def test_figures_are_those_of_the_commands(advice, command):
    """Of every objective, from the file that the command writes; and half the width of its interval."""
    frame = advice.to_frame()
    for row, member in zip(frame.head(2).iter_rows(named=True), advice.front, strict=False):
        found = {each.name: [] for each in advice.objectives}
        for seed, run in itertools.product((1, 2), ("open", "closed", "failing")):
            *line, option, seeds = shlex.split(advice.command(member.tried.candidate, run))[1:]
            assert (option, seeds) == ("--seeds", "2")
            result = json.loads(command(*line, "--seed", seed, "--json", "-", "--quiet").stdout)
            columns = dict(job.figures_of(result))
            for each in advice.objectives:
                if each.run == run:
                    found[each.name].append(columns.get(each.column))
        for name, values in found.items():
            expected = (
                (None, 0.0) if None in values else intervals.mean_and_half_width([float(value) for value in values])
            )
            assert row[name] == (expected[0] if expected[0] is None else pytest.approx(expected[0], rel=1e-12)), name
            assert row[f"{name}_half_width"] == pytest.approx(expected[1]), name
        assert row["command"] == advice.command(member.tried.candidate)
    columns = {each.name: (each.run, each.column) for each in advice.objectives}
    assert columns["read_tail"] == ("open", "latency_ns.read.p90"), "800 reads: eight are beyond p99"
    assert columns["write_tail"] == ("open", "latency_ns.write.p99")
    assert columns["throughput"] == ("closed", "bandwidth.requests_per_second")
    assert columns["rebuild_tail"] == ("failing", "rebuild.0.latency_ns.p99")
    assert [each.name for each in advice.objectives if each.is_high_better] == [
        "throughput",
        "capacity",
        "survives_chip",
        "survives_channel",
        "survives_device",
    ]


def test_the_best_is_first_and_protected(advice):
    assert advice.recommended == advice.front[0].tried.candidate
    assert [each.score for each in advice.front] == sorted(each.score for each in advice.front)
    assert all(each.tried.values["survives_chip"].mean == 1 for each in advice.front)
    assert advice.sentences[0] == f"Recommended: {advice.recommended.name}."


def test_unprotected_schemes_come_last_and_preferences_count(trace):
    found = fr.advise(trace, schemes=["raid0", "raid1", "raid5"], seeds=1, **DEVICE)
    assert found.front[-1].tried.candidate.scheme == "raid0"
    preferring = fr.advise(trace, schemes=["raid0", "raid1", "raid5"], seeds=1, prefer=["capacity"], **DEVICE)
    of = {each.tried.candidate.name: each for each in found.front}
    for each in preferring.front:
        before = of[each.tried.candidate.name]
        assert each.regrets == before.regrets
        count = len(each.regrets)
        expected = (before.score * count + each.regrets["capacity"]) / (count + 1)
        assert each.score == pytest.approx(expected)


def test_the_choice_under_another_load_is_said(advice):
    whats = [each.what for each in advice.changes]
    assert whats[:2] == ["half the load", "twice the load"]
    said = " ".join(advice.sentences)
    for each in advice.changes:
        assert each.what in said
        assert each.choice in {member.tried.candidate.name for member in advice.front}


def test_a_changed_workload_is_what_its_name_says(monkeypatch):
    """Each change with the points of its runs, and what all of them have in common."""
    done = {}

    class Recording(advisor.Runs):
        def __call__(self, name, points):
            done[name] = points
            return super().__call__(name, points)

    monkeypatch.setattr(advisor, "Runs", Recording)
    asked = {"device": "tiny", "fit": "wrap", "limit": 300, "jobs": 1, "seeds": 1, "fill": 0.5}
    found = fr.advise("profile:cr5m-uniform", schemes=["raid0", "raid1"], **asked)  # both are on the front
    plain = done["final"][0]
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
        before = done["final"][0].get("profile.streams.0.ops", {"write": 1})
        assert ops["write"] == factor * before["write"]
    assert not changed


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=3))
@settings(deadline=None)
def test_writes_weigh_more_across_streams(tmp_path_factory, streams):
    path = tmp_path_factory.mktemp("profile") / "p.toml"
    path.write_text("".join(f"[[streams]]\nweight = {w}\nops = {{ write = {a}, read = {b} }}\n" for w, a, b in streams))
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
    monkeypatch.setattr(runs_of_search, "MOST_BYTES", 1)
    monkeypatch.setattr(advisor, "MOST_BYTES", 1)
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)
    asked = {**DEVICE, "schemes": ["raid1", "raid5"], "seeds": 1, "limit": 300}
    found = fr.advise(trace, **{**asked, "jobs": None})
    assert not any(each.preparation for each in made)
    verified = [json.loads(each.config)["config"]["run"]["verify"] for each in made]
    assert not any(verified)
    said = "contents after the failure were not compared"
    assert any(said in text for text in found.sentences)
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


# ---- against an exhaustive search ----


def exhaustive(monkeypatch, *arguments, **keywords):
    """The same question with every candidate as a finalist."""
    with monkeypatch.context() as changed:
        changed.setattr(advisor, "excerpts_of", lambda *_: {})
        changed.setattr(changes, "MOST_CHANGED", 1)
        return fr.advise(*arguments, **keywords)


def missed(found, whole, tolerance=0.05):
    """The members of the whole front of which none is found that is within so much of it in everything."""
    costs = [each.tried.costs(whole.objectives) for each in found.front]
    return [
        each.tried.candidate.name
        for each in whole.front
        if not any(front.covers(own, each.tried.costs(whole.objectives), tolerance) for own in costs)
    ]


def test_few_candidates_are_searched_as_all_of_them_are(tmp_path, monkeypatch):
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)
    trace = write_trace(tmp_path, bursts(27_000))
    found = fr.advise(trace, schemes=SOME, seeds=2, **DEVICE)
    whole = exhaustive(monkeypatch, trace, schemes=SOME, seeds=2, **DEVICE)
    assert len(found.front) < len(whole.front)
    assert not missed(found, whole)
    assert found.cost <= 0.2 * whole.cost


def test_what_is_out_after_the_excerpt_is_no_finalist(tmp_path, monkeypatch):
    """One that lacks what it must have is out after the excerpt, and has no part in how the budget is spent."""
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)
    trace = write_trace(tmp_path, bursts(27_000))
    found = fr.advise(trace, schemes=SOME, survives="chip", seeds=1, **DEVICE)
    assert next(each.out for each in found.tried if each.candidate.scheme == "raid0") == "survives chip: it does not"
    assert all(each.tried.candidate.scheme != "raid0" for each in found.front)


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
    assert not missed(found, whole)


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


def asked(trace, settings=(), **more):
    musts = ("max_p99_read", "max_p99_write", "max_p99_flush", "min_capacity", "max_nvram")
    nothing = dict.fromkeys(("schemes", "survives", *musts))
    nothing |= {"min_dwpd": None, "years": None, "fault": None, "vary": {}, "prefer": [], "tail": "p99", "seeds": 1}
    return advisor.asked(str(trace), "tiny", None, list(settings), **nothing | more)


@pytest.mark.parametrize(
    ("survives", "devices", "fault", "column"),
    [
        ("member", 1, "channel:0", "survives.member"),
        ("chip", 1, "chip:0.0", "survives.chip"),
        ("channel", 1, "channel:0", "survives.channel"),
        ("member", 4, "device:0", "survives.member"),
        ("device", 4, "device:0", "survives.device"),
        ("chip", 4, "device:0/chip:0.0", "survives.chip"),
        ("channel", 4, "device:0/channel:0", "survives.channel"),
    ],
)
def test_what_must_be_survived_is_what_fails(trace, survives, devices, fault, column):
    question = asked(trace, [("devices", str(devices))], survives=survives)
    assert (question.fault, question.musts[0].column) == (fault, column)
    workload = search.Workload({}, 1, question.fault, 1)
    if survives != "member":
        assert search.Search([], [], [], workload, lambda name, points: [])._label == column
        return
    # What a member is depends on the candidate.
    must = question.musts[0]
    row = {"config.array.devices": devices, "config.device.member": "chip"}
    assert must.why_not({**row, "survives.chip": devices == 1, "survives.device": devices > 1}) is None
    assert must.why_not({**row, "survives.chip": devices > 1, "survives.device": devices == 1})


def test_drive_writes_a_day_are_those_of_a_warranty(trace):
    """Two a day for five years are 3,650; of 7,300 for 1,000 erases a candidate with 500 has as many."""
    must = asked(trace, [("pe_limit", "500")], min_dwpd=2.0).musts[0]
    assert must.text == "min_dwpd 2 over 5 years"
    row = {"lifetime.full_drive_writes_per_1000_cycles": 7300.0, "config.device.pe_limit": 500}
    assert must.why_not(row) is None
    assert must.why_not(row | {"config.device.pe_limit": 499})
    assert must.why_not(row | {"lifetime.full_drive_writes_per_1000_cycles": 7299.0})
    half = must.why_not(row | {"lifetime.full_drive_writes_per_1000_cycles": 3650.0})
    assert half == "min_dwpd 2 over 5 years: it has 1.00 drive writes a day"
    must = asked(trace, [("pe_limit", "500")], min_dwpd=2.0, years=2.5).musts[0]
    assert must.why_not(row | {"lifetime.full_drive_writes_per_1000_cycles": 3650.0}) is None
    assert must.why_not(row | {"lifetime.full_drive_writes_per_1000_cycles": 3649.0})
    common = {"schemes": ["raid1", "raid5"], "seeds": 1, "min_dwpd": 0.1, **DEVICE}
    found = fr.advise(trace, pe_limit=1000, **common)
    assert found.front
    column = "lifetime.full_drive_writes_per_1000_cycles"
    assert all(each.rows["open"][0][column] >= 182.5 for each in (member.tried for member in found.front))
    shown = found.to_frame().select("dwpd").to_series().to_list()
    assert shown == [pytest.approx(each.tried.rows["open"][0][column] / 1825) for each in found.front]
    assert found.cells()[0][-1] == "drive writes a day"
    # Each candidate has its own limit.
    varied = fr.advise(trace, devices=4, pe_limit=2, vary={"pe_limit": ["2", "1000"]}, **common)
    assert varied.front
    assert all("pe_limit=1000" in each.tried.candidate.name for each in varied.front)


def test_no_more_is_replayed_than_the_user_allows(trace):
    assert advisor.counts_of(asked(trace, [("limit", "300")]))["requests"] == 300
    assert advisor.counts_of(asked(trace))["requests"] == 2000


def test_a_full_drive_can_be_asked_about(trace):
    """Of a run over all of the trace nothing is rounded: no more than the capacity can be filled."""
    found = fr.advise(trace, schemes=["raid1"], seeds=1, limit=300, **{**DEVICE, "fill": 1})
    assert found.front
    fills = {row["config.run.fill_bytes"] for each in found.front for of in each.tried.rows.values() for row in of}
    assert len(fills) == 1


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


def test_what_a_configuration_file_says_is_in_runs_and_commands(trace, tmp_path, command):
    config = tmp_path / "c.toml"
    config.write_text("[run]\nlimit = 300\nwarmup = 30\njitter_ns = 3000\n")
    found = fr.advise(trace, config=config, schemes=["raid1"], seeds=2, **DEVICE)
    for run, rows in found.front[0].tried.rows.items():
        assert {row["workload.warmup_requests"] for row in rows} == {30}
        assert {row["config.run.jitter_ns"] for row in rows} == {3000}
        assert len({row["run"] for row in rows}) == len(rows) == (1 if run == "closed" else 2)
    config.write_text(config.read_text() + "seed = 7\n")
    other = fr.advise(trace, config=config, schemes=["raid1"], seeds=2, **DEVICE)
    assert other.front[0].tried.values == found.front[0].tried.values, "seeds are 1 and 2"
    line = shlex.split(other.command(found.recommended))[1:]
    again = json.loads(command(*line, "--json", "-", "--quiet").stdout)["results"]
    tails = [each["latency_ns"]["read"]["p90"] for each in again]  # of 108 reads, one is beyond p99
    assert found.front[0].tried.values["read_tail"].each == tuple(map(float, tails))


def test_commands_have_what_the_candidate_can_have(trace, command):
    """Settings hold for the candidates that have them; a command with one that has no effect would be refused."""
    settings = {"update": "rcw", "pe_limit": 3000, "rebuild": "none"}
    found = fr.advise(trace, schemes=["raid1", "raid5"], seeds=2, limit=300, **DEVICE, **settings)
    for each in found.front:
        for run in ("open", "closed", "failing"):
            line = shlex.split(found.command(each.tried.candidate, run))[1:]
            assert ("--set=update=rcw" in line) == (each.tried.candidate.scheme == "raid5")
            command(*line, "--quiet")


def test_a_setting_that_one_scheme_alone_can_have_is_no_wrong_question(trace, monkeypatch):
    monkeypatch.setattr(changes, "MOST_CHANGED", 1)  # other workloads take minutes on so large a drive
    place = DEVICE | {"device": "ssd1", "fill": 0.001}
    found = fr.advise(trace, schemes=["cr5m"], seeds=1, limit=100, rebuild="mcr", **place)
    assert {each.candidate.scheme for each in found.tried} == {"cr5m"}
    with pytest.raises(fr.InputError, match="rebuild = mcr"):
        fr.advise(trace, schemes=["raid5"], seeds=1, rebuild="mcr", **DEVICE)


def test_no_capacity_is_asked_for_with_none(trace):
    for nothing in (0, 0.0, "0", "0%"):
        assert asked(trace, min_capacity=nothing).musts[0].most is None
    assert asked(trace, min_capacity="40%").musts[0].most == asked(trace, min_capacity=0.4).musts[0].most == 2.5
    for bad in (True, 1.1, -0.1, float("nan"), "", "7.", "101%", "0.5 %", [0.5]):
        with pytest.raises(fr.InputError, match=r"min_capacity .*: allowed is a share from 0 to 1, or from 0% to 100%"):
            asked(trace, min_capacity=bad)


def test_parameters_that_are_set_hold_for_the_schemes_that_have_them(trace, tmp_path):
    out = tmp_path / "runs"
    found = fr.advise(trace, schemes=["raid1", "raid5"], layout="left_symmetric", seeds=1, out=out, **DEVICE)
    assert {each.candidate.scheme for each in found.tried} == {"raid1", "raid5"}
    assert len(dataset.parts(out)) == 1
    assert not list(dataset.journal(out))
    rows = dataset.read(out)
    assert set(rows.filter(scheme="raid5")["config.scheme.layout"]) == {"left_symmetric"}
    with pytest.raises(fr.InputError, match="layout: not allowed here: no scheme to choose from has it"):
        fr.advise(trace, schemes=["raid1"], layout="left_symmetric", **DEVICE)


# ---- the command ----


def test_the_command_shows_the_front_and_the_choice(trace, command):
    line = ["advise", trace, "--device", "tiny", "--fill", "0.5", "--fit", "wrap", "--schemes", "raid1,raid5"]
    done = command(*line, "--jobs", "1", "--seeds", "1")
    assert "the Pareto front, the recommended one first" in done.stdout
    assert "Recommended: raid" in done.stdout
    again = done.stdout.partition("Run it again, as it is, in a closed loop, and with a failure:")[2].split("\n")
    assert [command(*shlex.split(line)[1:]).returncode for line in again if line] == [0, 0, 0]


def test_the_answer_as_json(trace, command, advice, runs, tmp_path):
    file = tmp_path / "answer.json"
    line = ["advise", trace, "--device", "tiny", "--fill", "0.5", "--fit", "wrap", "--jobs", "1"]
    asked = ["--seeds", "2", "--survives", "chip", "--precondition", "random:0.3", "--schemes", ",".join(SOME)]
    command(*line, *asked, "--out", runs, "--json", file)
    own = json.loads(file.read_text(), parse_constant=pytest.fail)
    library = json.loads(advice.json)
    assert own.keys() == library.keys()
    for key in ("runs", "figures", "score", "distances", "settings"):
        assert [member[key] for member in own["front"]] == [member[key] for member in library["front"]]
    assert own["question"]["musts"] == ["--survives chip"]
    assert own["question"]["sha256"] == hashlib.sha256(trace.read_bytes()).hexdigest()
    assert own["recommended"] == advice.recommended.name
    assert own["runner_up"] == advice.runner_up.name
    assert own["out"]["raid0"] == "--survives chip: it does not"
    frame = advice.to_frame().to_dicts()
    for row, member in zip(frame, library["front"], strict=True):
        assert member["commands"]["open"] == row["command"]
        assert {name: figure["mean"] for name, figure in member["figures"].items()} == {
            name: row[name] for name in member["figures"]
        }
        assert [len(runs) for runs in member["runs"].values()] == [2, 2, 2]
    shown = command(*line, "--seeds", "1", "--max-nvram", "0", "--schemes", "ppc", "--json", status=3)
    none = json.loads(shown.stdout)
    assert none["front"] == []
    assert none["recommended"] is none["runner_up"] is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--json", "no/such/folder/x.json"], "no/such/folder/x.json: cannot be written"),
        (["--json", "own.html", "--report", "own.html"], "--report"),
        (["--survives", "plane"], "--survives plane: there is none; there are member, chip, channel, device"),
        (["--max-p99-read", "5"], "--max-p99-read 5: allowed is a time"),
        (["--max-nvram", "x"], "--max-nvram x: allowed is a whole number of bytes"),
        (["--min-capacity", "70"], "--min-capacity 70: allowed is a share from 0 to 1, or from 0% to 100%"),
        (["--min-capacity", "101%"], "--min-capacity 101%: allowed is a share from 0 to 1, or from 0% to 100%"),
        (["--min-capacity", "much"], "--min-capacity much: allowed is a share from 0 to 1, or from 0% to 100%"),
        (["--min-dwpd", "1"], "--min-dwpd: the device has no limit of erases"),
        (["--years", "3"], "--years 3.0: allowed with --min-dwpd"),
        (["--min-dwpd", "1", "--years", "0"], "--years 0.0: allowed is a number above 0"),
        (["--prefer", "speed"], "--prefer speed: there is none"),
        (["--tail", "p98"], "--tail p98: there is none; the nearest is p9"),
        (["--vary", "gc_threshold"], "--vary gc_threshold: allowed is KEY=A,B,..."),
        (["--schemes", "raid7"], "scheme raid7: there is none"),
        (["--set", "verify=true"], "verify: not allowed here: the advisor sets it itself"),
        (["--survives", "device"], "--survives device: the device is a single SSD"),
        (["--fault", "chip:9.9"], "fail = chip:9.9@50%"),
        (["--vary", "seed=1,2"], "seed: not allowed here"),
        (["--vary", "speed=1,2"], "--vary speed: not allowed: all candidates have the same"),
        (["--vary", "jitter_ns=1,2"], "--vary jitter_ns: not allowed: all candidates have the same"),
        (["--vary", "devices=1,4"], "--vary devices: not allowed: all candidates have the same"),
        (["--vary", "read_ns=1us", "--vary", "read_ns=2us"], "--vary read_ns: given twice"),
        (["--vary", "gc_threshold=2,3"], "no candidate is left: gc_threshold = 2: allowed is"),
        (["--vary", "cmt_entries=512,1024"], "no candidate is left: cmt_entries: nothing changes with it here"),
        (["--min-dwpd", "nan"], "--min-dwpd nan: allowed is a number from 0"),
        (["--min-capacity", "-1"], "--min-capacity -1: allowed is a share from 0 to 1, or from 0% to 100%"),
        (["--fault", ""], "--fault : allowed is what fails, as chip:0.0, without a time"),
        (["--fault", "chip:0.0@50%"], "--fault chip:0.0@50%: allowed is what fails, as chip:0.0, without a time"),
        (["--vary", "gc_threshold=0.1,2"], "no scheme can have gc_threshold = 2: gc_threshold = 2: allowed is"),
        (["--jobs", "1", "--scheduler", "tcp://127.0.0.1:1"], "--jobs: a cluster has its own number of threads"),
        (["--scheduler", "nowhere"], "--scheduler 'nowhere': allowed is an address, as tcp://host:8786"),
        (["--out", ""], "--out: empty name: allowed is the name of a folder"),
        (["--seeds", "0"], "--seeds 0: allowed is a whole number from 1"),
    ],
)
def test_wrong_questions_are_refused(arguments, text, trace, command):
    done = command("advise", trace, "--device", "tiny", *arguments, status=2)
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "value", "column"),
    [
        ("--max-p99-read", "1ns", "read p99"),
        ("--max-p99-write", "1ns", "write p99"),
        ("--max-nvram", "0", "NVRAM"),
        ("--min-capacity", "1", "usable"),
    ],
)
def test_each_option_limits_what_it_names(option, value, column, trace, advice, command):
    line = ["advise", trace, "--device", "tiny", "--fill", "0.5", "--fit", "wrap", "--limit", "300", "--jobs", "1"]
    done = command(*line, "--schemes", "ppc", "--seeds", "1", option, value, status=3)
    said = next(line for line in done.stderr.splitlines() if line.startswith("warning: ppc: "))
    assert f"{option} {value}: it has " in said
    # What it has is the figure of that name.
    has = said.rpartition("it has ")[2]
    row = fr.run(trace, device="tiny", scheme="ppc", fill=0.5, fit="wrap", limit=300, space_bytes=_space(trace))
    expected = {
        "read p99": TIME.text(row.latency.read.p99),
        "write p99": TIME.text(row.latency.write.p99),
        "NVRAM": SIZE.text(row.capacity.nvram_bytes),
        "usable": advisor.RAW.text(row.capacity.raw_per_user_byte),
    }
    assert has == expected[column]


def _space(trace):
    """The logical space that all candidates of ppc have."""
    own, _ = candidates.candidates("tiny", None, ["ppc"], [("fill", "0.5")], {})
    return advisor.fixed_of(asked(trace, [("fill", "0.5")]), own)["space_bytes"]


def test_figures_and_report_show_the_front(advice, tmp_path):
    figures = {figure.name: figure for figure in advice.figures()}
    distances = figures["distances"].frame
    first = advice.front[0]
    assert dict(distances.filter(candidate=first.tried.candidate.name).select("subject", "doublings").iter_rows()) == (
        first.regrets
    )
    points = figures["front-write-amplification-read-tail"].frame
    assert points.height == len(advice.front)
    assert points["write_amplification"].to_list() == advice.to_frame()["write_amplification"].to_list()
    advice.report(tmp_path / "a.html")
    html = (tmp_path / "a.html").read_text()
    assert f"Advice: {advice.recommended.name}" in html
    assert all(each.tried.candidate.name in html for each in advice.front)
