"""Comparisons: the capacity in a closed loop, and several seeds."""

import json
import re

import pytest
from conftest import write_trace

import flashraid as fr
from flashraid import comparing

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
        assert each == {"scheme": scheme, "queue_depth": 32, "requests": 300, **expected}
    assert [each["config"]["run"]["queue_depth"] for each in done["results"]] == [0, 0]
    assert "capacity" not in json.loads(command(*line, "--no-capacity").stdout)
    shown = command(*line[:-2]).stdout
    first = f"{done['capacity'][0]['requests_per_second']:,.0f}"
    assert re.search(rf"^ capacity, closed loop \(requests/s\) +{first}\* ", shown, re.MULTILINE)
    assert "capacity, closed loop: 300 requests, 32 of them outstanding at any time" in shown


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


def test_a_jitter_differs_from_seed_to_seed_and_not_in_a_closed_loop(command, trace):
    line = ["compare", trace, "--schemes", "raid0,raid5", *OPTIONS, "--no-engine", "--quiet", "--seeds", "2"]
    still, put_off = (json.loads(command(*line, *more, "--json", "-").stdout) for more in ([], ["--jitter", "1ms"]))
    totals = [each["latency_ns"]["all"]["total"] for each in put_off["results"]]
    assert len(set(totals)) == 4
    assert put_off["capacity"] == still["capacity"]


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
            f"seed = {2**63}: allowed is a whole number from 0 to {2**63 - 1}",
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


def test_a_terminal_that_is_narrow_gets_several_tables(monkeypatch, capsys, trace):
    from flashraid.command import results

    comparison = fr.compare(trace, schemes="raid0,raid1,raid5", capacity=False, **DEVICE)
    results.show_comparison(comparison)
    wide = capsys.readouterr().out
    monkeypatch.setattr(results, "width_of_terminal", lambda: 80)
    results.show_comparison(comparison)
    narrow = capsys.readouterr().out
    heads = [line.split() for line in narrow.splitlines() if line.strip().startswith("raid0 ")]
    assert heads == [["raid0", "raid1"], ["raid0", "raid5"]]
    assert max(map(len, narrow.split("\n\nDifferences")[0].splitlines()[1:])) <= 80
    assert set(re.findall(r"\d+\.\d+", wide)) == set(re.findall(r"\d+\.\d+", narrow))


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
