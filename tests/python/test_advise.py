"""The answers of the advisor: that they are right, keep to what is asked, and can be done again."""

import hashlib
import itertools
import json
import shlex

import polars as pl
import pytest
from advice_cases import DEVICE, SOME, bursts
from conftest import long, write_trace

import flashraid as fr
from flashraid import advisor, intervals
from flashraid.advising import runs as advising_runs
from flashraid.sweeping import dataset, job


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


@long
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


@long
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


def test_only_what_a_dataset_had_before_is_read_from_it(trace, tmp_path, monkeypatch):
    """Reading all of it in each round took most of the time of a short trace."""
    times_read = []
    plain = advising_runs.read
    monkeypatch.setattr(advising_runs, "read", lambda path: times_read.append(path) or plain(path))
    asked = {"schemes": ["raid1", "raid5"], "seeds": 1, "limit": 300, "out": tmp_path / "out"} | DEVICE
    found = fr.advise(trace, **asked)
    assert not times_read
    again = fr.advise(trace, **asked)
    assert times_read
    assert again.to_frame().equals(found.to_frame())
    assert again.sentences == found.sentences


def test_what_is_still_to_be_protected_counts_as_lost(trace):
    """A write that is acknowledged with its first copy: the failure that the scheme survives may lose it."""
    window = "acknowledged writes of which one copy is not yet programmed"
    asked = {
        "schemes": ["sirf1"],
        "vary": {"completes": ["all_copies", "first_copy"]},
        "seeds": 1,
        "limit": 300,
    } | DEVICE
    found = fr.advise(trace, survives="chip", **asked)
    outs = {each.candidate.name: each.out for each in found.tried}
    early = {name for name in outs if "first_copy" in name}
    assert {outs[name] for name in early} == {f"survives chip: it does, but for {window}"}
    assert found.front
    assert not early & {each.tried.candidate.name for each in found.front}
    of_early = fr.advise(trace, **asked | {"vary": {"completes": ["first_copy"]}})
    assert f"A failure that it survives still loses {window}." in of_early.sentences


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
        "survives_failures",
    ]


def test_the_best_is_first_and_protected(advice):
    assert advice.recommended == advice.front[0].tried.candidate
    assert [each.score for each in advice.front] == sorted(each.score for each in advice.front)
    assert all(each.tried.values["survives_chip"].mean == 1 for each in advice.front)
    assert advice.sentences[0] == f"Recommended: {advice.recommended.name}."


@long
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
