"""Results and drives of older versions, by every way in which they come in: they do what they did, and can be shown.

`tests/golden/versions` has them; the engine's own test runs all of them again (`crates/sim/tests/suite/older.rs`).
"""

import json
import shlex

import pytest
from conftest import ROOT

import flashraid as fr
from flashraid import _native, settings
from flashraid.comparison import Comparison
from flashraid.report import again, checking

VERSIONS = ROOT / "tests" / "golden" / "versions"
FOLDER = VERSIONS / "0.1.0"
TRACE = FOLDER / "trace.csv"
# One whose settings a default of today replaces where they are not asked for.
DRAM = FOLDER / "dram.json"


def differences(old, new, at=""):
    """What an old value says that a new one does not."""
    if at in ("/version", "/engine", "/workload/name", "/config"):
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return [each for key, value in old.items() for each in differences(value, new.get(key), f"{at}/{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            each
            for place, pair in enumerate(zip(old, new, strict=True))
            for each in differences(*pair, f"{at}/{place}")
        ]
    return [] if old == new else [f"{at}: {old} -> {new}"]


def by_command(command, _folder):
    return command("run", TRACE, "--config", DRAM, "--json", "-", "--no-engine").stdout


def by_python(_command, _folder):
    return fr.run(TRACE, config=DRAM, engine=False).json


def by_repeated_command(command, _folder):
    (line,) = again.commands(Comparison([fr.load(DRAM)]))
    words = shlex.split(line)
    assert words[:2] == ["flashraid", "run"]
    assert "--config" not in words
    return command("run", TRACE, *words[3:], "--json", "-", "--no-engine").stdout


def by_comparison(_command, _folder):
    run = json.loads(DRAM.read_text())["config"]["run"]
    found = fr.compare(TRACE, config=DRAM, schemes=["raid5"], capacity=False, engine=False, seeds=1, **fills(run))
    return found.results[0].json


def fills(run):
    """What a comparison fills in itself unless it is given."""
    space = settings.configuration(None, None, str(DRAM), [])["space_bytes"]
    return {"space_bytes": space, "fill": run["fill"]}


@pytest.mark.parametrize("way", [by_command, by_python, by_repeated_command, by_comparison])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_old_result_repeats_exactly(command, tmp_path, way):
    old = json.loads(DRAM.read_text())
    assert differences(old, json.loads(way(command, tmp_path))) == []


def test_a_sweep_repeats_it_exactly(tmp_path):
    plan = {"fixed": {"trace": str(TRACE), "config": str(DRAM)}}
    (row,) = fr.sweep(plan, out=tmp_path / "out", jobs=1).to_frame().to_dicts()
    old = json.loads(DRAM.read_text())
    figures = {path: value for path, value in fr.record.flat(old) if not path.startswith("version")}
    differing = {path: (value, row[path]) for path, value in figures.items() if row[path] != value}
    assert set(differing) <= {"workload.name"}
    assert len(figures) > 150


def test_a_drive_goes_on_as_it_did(command):
    old = json.loads((FOLDER / "on-drive.json").read_text())
    found = command("run", TRACE, "--drive", FOLDER / "saved.drive", "--fit", "wrap", "--json", "-", "--no-engine")
    assert differences(old, json.loads(found.stdout)) == []


def test_what_simulations_are_made_of_is_what_the_result_says():
    old = json.loads(DRAM.read_text())
    simulation = fr.Simulation(config=DRAM)
    config = simulation.result().to_dict()["config"]
    for table in ("device", "scheme", "host"):
        assert {key: config[table][key] for key in old["config"][table]} == old["config"][table]
    complete = json.loads(_native.configuration_of_result(DRAM.read_text()))
    assert {table: config[table] for table in ("device", "scheme", "host")} == {
        table: complete[table] for table in ("device", "scheme", "host")
    }


@pytest.mark.parametrize("path", sorted(VERSIONS.glob("*/*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_old_result_can_be_loaded_and_its_command_named(path):
    """What reads results copes with what older ones lack."""
    result = fr.load(path)
    assert again.commands(Comparison([result]))[0].startswith("flashraid run trace.csv --")
    assert result._repr_html_()


def test_old_results_can_be_compared_and_reported(tmp_path):
    paths = [FOLDER / f"{name}.json" for name in ("plain", "array", "levels", "gc")]
    comparison = fr.report.reading.read(paths)
    fr.report.of_comparison(comparison, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_what_is_new_may_be_missing_in_older_results_alone():
    result = json.loads(DRAM.read_text())
    assert [checking.version_number(version) for version in ("0.2.0-rc1", "unknown", None)] == [(0, 2, 0), (), ()]
    assert checking.version_number("0.10.0") > checking.version_number("0.9.1")
    del result["workload"]["requests"]
    checking.check_result(result, "r.json")
    result["version"] = fr.__version__
    with pytest.raises(fr.InputError, match="workload has no requests"):
        checking.check_result(result, "r.json")
