"""Comparisons: the capacity in a closed loop, and several seeds."""

import json
import re

import pytest
from conftest import write_trace

import flashraid as fr
from flashraid import chance, comparing, side_by_side, summary
from flashraid.report.again import commands

DEVICE = {"device": "tiny", "fill": 0.5}
OPTIONS = ["--device", "tiny", "--fill", "0.5"]
RATES = ("requests_per_second", "read_bytes_per_second", "write_bytes_per_second")


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path, [(at * 900, "R" if at % 3 else "W", at % 50 * 4096, 8192) for at in range(300)])


def closed(trace, scheme, **settings):
    """The rates of a run in a closed loop."""
    result = fr.run(trace, scheme=scheme, queue_depth=32, **settings)
    return {key: result.bandwidth[key] for key in RATES}


def rates(comparison):
    return [{key: each[key] for key in RATES} for each in comparison.capacity]


def test_capacity_is_what_a_run_in_a_closed_loop_completes(command, trace):
    line = ["compare", trace, *OPTIONS, "--schemes", "raid0,raid5", "--json", "-"]
    done = json.loads(command(*line).stdout)
    space = done["results"][0]["capacity"]["space_bytes"]
    fill_bytes = done["results"][0]["capacity"]["filled_bytes"]
    for each, scheme in zip(done["capacity"], ("raid0", "raid5"), strict=True):
        expected = closed(trace, scheme, device="tiny", space_bytes=space, fill_bytes=fill_bytes)
        assert {key: each[key] for key in each if key != "repeats"} == {
            "scheme": scheme,
            "queue_depth": 32,
            "requests": 300,
            **expected,
        }
        jitter = {"jitter_ns": "1us", "seed": 3}
        again = closed(trace, scheme, device="tiny", space_bytes=space, fill_bytes=fill_bytes, **jitter)
        assert each["repeats"][2] == {"requests": 300, **again}
        assert len(each["repeats"]) == 5
    assert [each["config"]["run"]["queue_depth"] for each in done["results"]] == [0, 0]
    assert "capacity" not in json.loads(command(*line, "--no-capacity").stdout)
    shown = command(*line[:-2]).stdout
    repeats = [each["requests_per_second"] for each in done["capacity"][0]["repeats"]]
    first = re.search(r"^ capacity, closed loop \(requests/s\) +([\d,]+)( ±\d+)?\* ", shown, re.MULTILINE).group(1)
    assert abs(float(first.replace(",", "")) - sum(repeats) / 5) < 1
    assert "capacity, closed loop: 300 requests, 32 of them outstanding at any time" in shown


def test_capacity_is_of_what_the_drive_takes_at_a_time(trace):
    plain = rates(fr.compare(trace, schemes="raid5", **DEVICE))
    # As many as the loop has outstanding, or more, are no limit to it.
    for depth in (32, 100):
        assert rates(fr.compare(trace, schemes="raid5", device_queue_depth=depth, **DEVICE)) == plain
        queues = {"device_queue_depth": depth, "queues": 2, "fetch": 2}
        with pytest.warns(UserWarning, match="no request overtook another one in the host"):
            assert rates(fr.compare(trace, schemes="raid5", **queues, **DEVICE)) == plain
    few = fr.compare(trace, schemes="raid5", device_queue_depth=2, **DEVICE)
    assert rates(few) == [
        closed(
            trace,
            "raid5",
            device_queue_depth=2,
            space_bytes=few.results[0].capacity.space_bytes,
            fill_bytes=few.results[0].capacity.filled_bytes,
            device="tiny",
        )
    ]
    assert rates(few)[0]["requests_per_second"] < plain[0]["requests_per_second"]


def test_warnings_before_the_runs_name_their_scheme(command, trace):
    line = ["compare", trace, "--device", "tiny", "--schemes", "raid0,raid5", "--steady", "--set", "gc_threshold=0.3"]
    told = command(*line, "--no-capacity", "--seeds", "1").stderr
    starts = [line.partition("gc_threshold")[0] for line in told.splitlines() if "gc_threshold = 0.3: " in line]
    assert starts[0] == "warning: raid0: "
    assert all(start.endswith(": ") and start != "warning: " for start in starts)
    # Nothing is said twice.
    assert len(set(starts)) == len(starts)


def test_capacity_is_measured_without_faults_and_checks(trace, tmp_path):
    plain = fr.compare(trace, schemes="raid5", **DEVICE)
    settings = {
        "fail": "chip:1.0@50%",
        "rebuild": "sor",
        "verify": True,
        "verify_every": 50,
        "speed": 2.0,
        "drain": True,
    }
    assert rates(fr.compare(trace, schemes="raid5", **DEVICE, **settings)) == rates(plain)
    config = tmp_path / "config.toml"
    config.write_text(
        '[run]\nspeed = 2.0\nfail = "chip:1.0@50%"\nverify = true\nverify_every = 50\n[host]\nrebuild = "sor"\n'
    )
    assert rates(fr.compare(trace, schemes="raid5", config=config, **DEVICE)) == rates(plain)


def test_capacity_of_a_long_trace_is_that_of_its_beginning(trace, monkeypatch):
    monkeypatch.setattr(comparing, "MOST_REQUESTS", 100)
    found = fr.compare(trace, schemes="raid5", warmup="20", **DEVICE)
    assert found.capacity[0].requests == 100
    assert rates(found) == [closed(trace, "raid5", warmup="20", limit=120, **DEVICE)]
    timed = fr.compare(trace, schemes="raid5", warmup="18ms", **DEVICE)
    assert timed.results[0].workload.warmup_requests == 20
    assert rates(timed) == rates(found)


def test_capacity_of_a_closed_loop_is_that_of_the_run(trace):
    found = fr.compare(trace, schemes="raid5", queue_depth=4, **DEVICE)
    assert found.capacity[0].queue_depth == 4
    assert rates(found) == [{key: found.results[0].bandwidth[key] for key in RATES}]


def test_capacity_of_several_seeds_is_that_of_the_first():
    settings = DEVICE | {"schemes": "raid0,raid5", "queue_depth": 4, "limit": 60, "fit": "wrap", "seeds": 2}
    found = fr.compare("profile:cr5m-uniform", **settings)
    each = [{key: result.bandwidth[key] for key in RATES} for result in found.results]
    assert each[0] != each[1]
    assert rates(found) == [each[0], each[2]]


def test_seeds_are_runs_with_these_seeds(command, trace):
    line = ["compare", trace, "--device", "tiny", "--set", "blocks_per_plane=16", "--set", "pages_per_block=16"]
    line += [
        "--schemes",
        "raid0,raid5",
        "--steady",
        "--set",
        "over_provisioning=0.3",
        "--seed",
        "7",
        "--no-engine",
        "--quiet",
    ]
    done = json.loads(command(*line, "--seeds", "2", "--json", "-").stdout)
    assert (done["seeds"], len(done["capacity"])) == (2, 2)
    assert [(each["scheme"], each["seed"]) for each in done["results"]] == [
        ("raid0", 7),
        ("raid0", 8),
        ("raid5", 7),
        ("raid5", 8),
    ]
    for at, seed in enumerate(("7", "8")):
        single = json.loads(command(*line, "--seed", seed, "--no-capacity", "--json", "-").stdout)
        assert single == {"schema": done["schema"], "results": done["results"][at::2]}
    means = [sum(each["write_amplification"] for each in done["results"][at : at + 2]) / 2 for at in (0, 2)]
    shown = command(*line, "--seeds", "2", "--no-capacity").stdout
    figures = re.search(r"^ write amplification +([\d.]+) ±[\d.]+\*? +([\d.]+) ±", shown, re.MULTILINE).groups()
    for figure, mean in zip(figures, means, strict=True):
        assert float(figure) == pytest.approx(mean, abs=0.501 * 10 ** -len(figure.partition(".")[2]))


def test_a_jitter_differs_from_seed_to_seed(command, trace):
    line = ["compare", trace, "--schemes", "raid0,raid5", *OPTIONS, "--no-engine", "--quiet", "--seeds", "2"]
    still, put_off = (json.loads(command(*line, *more, "--json", "-").stdout) for more in ([], ["--jitter", "1ms"]))
    totals = [each["latency_ns"]["all"]["total"] for each in put_off["results"]]
    assert len(set(totals)) == 4
    # That of the run as it was asked for has no jitter; its repeats have one that does not slow them down.
    for one, other in zip(put_off["capacity"], still["capacity"], strict=True):
        repeats = one.pop("repeats")
        assert one == other
        assert all(
            each["requests_per_second"] == pytest.approx(one["requests_per_second"], rel=0.02) for each in repeats
        )


def test_seeds_of_a_run(command, trace, tmp_path):
    line = ["run", trace, *OPTIONS, "--no-engine", "--quiet"]
    done = json.loads(command(*line, "--scheme", "raid5", "--seeds", "2", "--json", "-").stdout)
    assert (done["seeds"], [each["seed"] for each in done["results"]]) == (2, [1, 2])
    config = tmp_path / "config.toml"
    config.write_text('[scheme]\nname = "raid5"\n')
    for where in (["--config", config], ["--set", "scheme.name=raid5"]):
        assert json.loads(command(*line, *where, "--seeds", "2", "--json", "-").stdout) == done
    shown = command(*line, "--scheme", "raid5", "--seeds", "2").stdout
    assert "No figure depends on the seed: the runs of 2 seeds are equal." in shown
    shown = command(*line, "--scheme", "raid5", "--seeds", "2", "--jitter", "1ms").stdout
    assert "All seeds replay the same trace, with arrivals that the seed puts off (--jitter)." in " ".join(
        shown.split()
    )
    once = json.loads(command(*line, "--scheme", "raid5", "--seeds", "1", "--json", "-").stdout)
    assert once == json.loads(command(*line, "--scheme", "raid5", "--json", "-").stdout)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--seeds", "0"], "--seeds 0: allowed is a whole number from 1 to 1000"),
        (["--seeds", "-1"], "--seeds -1: allowed is a whole number from 1 to 1000"),
        (["--seeds", "1001"], "--seeds 1001: allowed is a whole number from 1 to 1000"),
        (["--seeds", "2", "--series", "s.csv"], "--series: is of one run: allowed without --seeds"),
        (["--seeds", "2", "--output-format", "fio-json"], "--output-format: is of one run: allowed without --seeds"),
        (
            ["--seeds", "2", "--seed", str(2**63 - 1)],
            f"seed = {2**63}: allowed is a whole number from 0 to {2**63 - 1} (2^63 - 1)",
        ),
    ],
)
@pytest.mark.parametrize("verb", [["run", "--scheme"], ["compare", "--schemes"]])
def test_seeds_that_are_refused(command, trace, verb, options, says):
    done = command(verb[0], trace, *OPTIONS, verb[1], "raid5", "--json", "r.json", *options, status=2)
    assert done.stderr.splitlines()[-1] == f"error: {says}"
    assert list(command.folder.iterdir()) == []


def test_a_pipe_has_no_second_replay(command, trace, tmp_path):
    done = command("compare", "-", *OPTIONS, "--schemes", "raid5", "--json", "-", input=trace.read_text())
    assert "capacity" not in json.loads(done.stdout)
    told = command("run", "-", *OPTIONS, "--scheme", "raid5", "--seeds", "2", status=2, input=trace.read_text()).stderr
    assert "a pipe can be read only once, and the trace is replayed with each seed" in told


PROFILE = """\
about = "Uniform writes, an 🐏 among them"
requests = 60
space_bytes = 1048576
seed = 4
arrivals = { law = "poisson", mean_ns = 200000 }

[[streams]]
ops = { read = 1, write = 2 }
"""


@pytest.mark.parametrize(
    ("trace", "seed", "settings"), [("profile:cr5m-uniform", 0, {"fit": "wrap"}), ("mine.toml", 4, {})]
)
def test_each_seed_has_its_own_requests_of_a_profile(command, tmp_path, monkeypatch, trace, seed, settings):
    (tmp_path / "mine.toml").write_text(PROFILE)
    monkeypatch.chdir(tmp_path)
    settings = {"engine": False, "limit": 50, "capacity": False, "schemes": "raid0,raid5"} | DEVICE | settings

    def results(replayed, first_seed, seeds=1):
        found = fr.compare(replayed, seed=first_seed, seeds=seeds, **settings)
        assert not any("seed" in text for text in found.warnings if seeds > 1)
        return [each.to_dict() for each in found.results]

    done = results(trace, 7, seeds=3)
    assert done[::3] == results(trace, 7)
    for number in (1, 2):
        pair = done[number::3]
        profile = trace.removeprefix("profile:")
        again = f"{profile.removesuffix('.toml')}-seed{seed + number}.toml"
        assert {each["workload"]["name"] for each in pair} == {again}
        # The requests are those that `trace synth` writes with this seed.
        fr.synth("recorded.csv", profile=profile, seed=seed + number)
        for one, other in zip(pair, results("recorded.csv", 7 + number), strict=True):
            assert all(one[key] == other[key] for key in ("latency_ns", "flash_ops", "bandwidth", "members"))
        # One repetition once more, of a file that the command prints.
        text = command(
            "trace", "profiles", tmp_path / profile if ".toml" in profile else profile, "--seed", seed + number
        )
        (tmp_path / again).write_text(text.stdout)
        assert results(again, 7 + number) == pair
    assert len({json.dumps(each["latency_ns"]) for each in done[:3]}) == 3


def test_the_table_says_what_a_seed_varies(command, tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text(PROFILE)
    shown = command("run", profile, *OPTIONS, "--scheme", "raid5", "--seeds", "2")
    assert "Each seed has its own requests, the same for all schemes." in shown.stdout
    assert "closed loop" not in shown.stdout
    assert re.search(r"^ write latency mean \(us\) +[\d.]+ ±[\d.]+", shown.stdout, re.MULTILINE)
    assert "had no effect" not in shown.stderr
    profile.write_text(PROFILE.replace("seed = 4", f"seed = {2**63 - 1}"))
    told = command("run", profile, *OPTIONS, "--scheme", "raid5", "--seeds", "2", status=2).stderr
    assert f"seed = {2**63}: allowed is a whole number from 0 to {2**63 - 1}" in told


def test_a_short_trace_is_repeated_with_other_arrivals(command, trace):
    """Results stay those of `run`; what the table and the sentences say is of five runs with a jitter of 1 us."""
    line = [trace, *OPTIONS, "--no-engine", "--quiet"]
    done = json.loads(command("compare", *line, "--schemes", "raid0,raid5", "--json", "-").stdout)
    assert "seeds" not in done
    once = json.loads(command("compare", *line, "--schemes", "raid0,raid5", "--seeds", "1", "--json", "-").stdout)
    assert done["results"] == once["results"]
    assert not set(once) & {"repeats", "seeds"}
    ran = [[(of["scheme"], of["seed"], of["config"]["run"]["jitter_ns"]) for of in each] for each in done["repeats"]]
    assert ran == [[(scheme, seed, 1000) for seed in range(1, 6)] for scheme in ("raid0", "raid5")]
    # Each repeat is run again by its own configuration.
    (command.folder / "again.json").write_text(json.dumps(done["repeats"][1][3]))
    again = json.loads(command("run", trace, "--config", "again.json", "--no-engine", "--quiet", "--json", "-").stdout)
    assert again == done["repeats"][1][3]
    five = ["--schemes", "raid0,raid5", "--seeds", "5", "--jitter", "1us"]
    asked = json.loads(command("compare", *line, *five, "--json", "-").stdout)
    assert asked["results"] == [of for each in done["repeats"] for of in each]
    assert "repeats" not in asked
    # What is shown is the same, too, but for what was asked.
    shown, as_asked = (command("compare", *line, *more).stdout for more in (five[:2], five))
    assert shown == as_asked
    # And of the file, in Python and in a report.
    (command.folder / "c.json").write_text(json.dumps(done))
    loaded = fr.load(command.folder / "c.json")
    assert json.loads(loaded.json) == loaded.to_dict() == done
    assert loaded._repr_html_() == fr.compare(trace, schemes="raid0,raid5", engine=False, **DEVICE)._repr_html_()


@pytest.mark.parametrize(
    ("settings", "runs", "why"),
    [
        ({}, (1, 5, False), ""),
        ({"jitter_ns": "2us"}, (1, 5, True), ""),
        ({"jitter_ns": 0}, (1, 0, False), "--jitter 0ns leaves arrivals as they are"),
        ({"queue_depth": 4}, (1, 5, False), ""),
        ({"seeds": 1}, (1, 0, False), ""),
        ({"seeds": 3}, (3, 0, False), ""),
        ({"precondition": "random:0.1"}, (1, 0, False), "each repeat would precondition the device anew"),
        ({"seed": 2**63 - 3}, (1, 0, False), "there are no larger seeds"),
        ({"fail": "chip:0.0@50%"}, (1, 5, False), ""),
    ],
)
def test_what_is_repeated(trace, settings, runs, why):
    chosen = {**DEVICE, "capacity": False, "limit": 30, **settings}
    found = fr.compare(trace, schemes="raid5", **chosen)
    assert (len(found.results), len(found.repeats[0]) if found.repeats else 0) == runs[:2]
    assert found.why_once == why
    if found.repeats:
        assert [each.seed for each in found.repeats[0]] == [1, 2, 3, 4, 5]
        assert (found.results[0].to_dict() == found.repeats[0][0].to_dict()) is runs[2]
        assert len({each.bandwidth.span_ns for each in found.repeats[0]}) > 1


def test_a_profile_is_repeated_with_other_requests(tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text(PROFILE)
    found = fr.compare(profile, schemes="raid5", engine=False, **DEVICE)
    (repeats,) = found.repeats
    assert repeats[0].to_dict() == found.results[0].to_dict()
    assert [each.workload.name for each in repeats] == ["mine.toml", *(f"mine-seed{seed}.toml" for seed in range(5, 9))]
    assert {each.config.run.jitter_ns for each in repeats} == {0}
    asked = fr.compare(profile, schemes="raid5", engine=False, seeds=5, **DEVICE)
    assert [each.to_dict() for each in asked.results] == [each.to_dict() for each in repeats]
    assert [each.to_dict() for each in asked.capacity] == [each.to_dict() for each in found.capacity]
    for seed, count in ((2**63 - 6, 5), (2**63 - 3, 0)):
        profile.write_text(PROFILE.replace("seed = 4", f"seed = {seed}"))
        found = fr.compare(profile, schemes="raid5", engine=False, capacity=False, **DEVICE)
        assert sum(map(len, found.repeats)) == count
        assert found.why_once == ("" if count else "there are no larger seeds")


def test_a_long_trace_is_not_repeated_and_the_conclusion_says_how_to_ask(monkeypatch, command, trace):
    monkeypatch.setattr(chance, "MOST_REPEATED", 600)
    assert fr.compare(trace, schemes="raid0,raid5", capacity=False, **DEVICE).repeats
    found = fr.compare(trace, schemes="raid0,raid1,raid5", capacity=False, **DEVICE)
    assert not found.repeats
    said = [text for text in summary.conclusion(found) if "--seeds 5 --jitter 1us repeats each, and ranks" in text]
    assert said == [
        "One run of each scheme (requests x schemes are more than 600) does not tell a difference from chance: "
        "--seeds 5 --jitter 1us repeats each, and ranks."
    ]


def test_an_interruption_of_the_repeats_keeps_the_results(monkeypatch, trace):
    done, run_pairs = [], side_by_side.run_pairs

    def run(*arguments):
        result = run_pairs(*arguments)
        done.append(result)
        if len(done) == 9:  # the second repeat of the second scheme
            result.status = comparing.INTERRUPTED
        return result

    monkeypatch.setattr(side_by_side, "run_pairs", run)
    with pytest.raises(fr.Interrupted) as stopped:
        fr.compare(trace, schemes="raid0,raid5,raid1", jobs=1, **DEVICE)
    found = stopped.value.result
    assert ([each.scheme for each in found.results], list(map(len, found.repeats))) == (["raid0", "raid5"], [5, 1])
    assert found.partial
    assert summary.conclusion(found)


def test_equal_fill_gives_each_scheme_its_own_capacity(command, trace):
    line = ["compare", trace, "--device", "tiny", "--schemes", "raid0,raid1,raid5", "--no-capacity", "--no-engine"]
    done = json.loads(command(*line, "--equal", "fill", "--fill", "0.5", "--json", "-", "--quiet").stdout)
    capacities = [each["capacity"] for each in done["results"]]
    assert len({of["space_bytes"] for of in capacities}) == 3
    for of, result in zip(capacities, done["results"], strict=True):
        assert of["space_bytes"] == of["user_bytes"]
        assert of["filled_bytes"] == pytest.approx(of["space_bytes"] / 2, rel=0.001)
        run = ["run", trace, *OPTIONS, "--scheme", result["scheme"], "--no-engine", "--quiet", "--json", "-"]
        assert json.loads(command(*run).stdout) == result
    shown = command(*line, "--equal", "fill", "--fill", "0.5", "--seeds", "1").stdout
    assert "each scheme with its own logical space, 50.0 % of it filled" in shown
    assert "Each scheme has its own logical space: one that offers more also stores more, at the same share." in shown
    spaces = [each["capacity"]["space_bytes"] for each in json.loads(command(*line, "--json", "-").stdout)["results"]]
    assert len(set(spaces)) == 1
    told = command(*line, "--equal", "fill", "--space", "1MiB", status=2).stderr
    assert told == "error: space_bytes: not allowed with equal fill, where each scheme has its own logical space\n"
    told = command(*line, "--equal", "share", status=2).stderr
    assert told == "error: --equal share: there is none; the nearest is space; there are space, fill\n"
    comparison = fr.compare(trace, schemes="raid0,raid1", equal="fill", capacity=False, **DEVICE)
    (again,) = commands(comparison)
    assert " --equal fill " in again
