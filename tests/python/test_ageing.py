"""SSDs of an array age: settings, repeated traces and results from Python and from the command."""

import json

import pytest
from conftest import ROOT, write_trace, writes

import flashraid as fr

SMALL = {
    "device": "tiny",
    "channels": 1,
    "planes_per_die": 1,
    "blocks_per_plane": 24,
    "pages_per_block": 8,
    "over_provisioning": 0.3,
    "devices": 4,
    "spare_devices": 1,
    "fill": 1,
}


def options(settings):
    return [
        part
        for key, value in settings.items()
        for part in (["--device", value] if key == "device" else ["--set", f"{key}={value}"])
    ]


def test_ages_are_a_list_of_numbers(tmp_path):
    trace = write_trace(tmp_path, writes(3))
    for ages in ([0.5, 0.25], (0.5, 0.25), "0.5,0.25", "50%,25%", ["0.5", "0.25"]):
        result = fr.run(trace, scheme="raid5", **SMALL, pe_limit=40, ages=ages)
        assert result.config.array.ages == [0.5, 0.25]
        assert [ssd.preset_erases for ssd in result.devices] == [24 * 20, 24 * 10, 0, 0, 0]
    (tmp_path / "result.json").write_text(result.json)
    again = fr.run(trace, config=tmp_path / "result.json", engine=False)
    assert again.devices == result.devices
    (tmp_path / "ages.toml").write_text("[array]\nages = [0.5, 0.25]\n")
    again = fr.run(trace, scheme="raid5", config=tmp_path / "ages.toml", **SMALL, pe_limit=40)
    assert again.devices == result.devices
    for ages in ([1], [0.5, True], 1.0, "old", [[0.5]]):
        with pytest.raises(fr.InputError, match=r"^ages = .*allowed is a comma-separated list of numbers from 0"):
            fr.run(trace, scheme="raid5", **SMALL, pe_limit=40, ages=ages)


def test_a_trace_is_repeated_until_ssds_are_worn_out(tmp_path):
    trace = write_trace(tmp_path, writes(200, gap_us=700))
    calls = []
    result = fr.run(
        trace, scheme="raid5", **SMALL, pe_limit=15, until="worn:2", progress=lambda *call: calls.append(call)
    )
    assert result.workload.passes > 2
    assert len(result.wear_outs) >= 2
    assert not result.partial
    assert {call[0] for call in calls} <= {"ageing", "preconditioning"}
    assert result.wear_outs[0].since_previous_ns is None
    assert result.devices[result.wear_outs[0].device].age == 1
    comparison = fr.compare(trace, schemes="raid1,raid5", **SMALL, pe_limit=15, until="worn:1", ages=[0.8])
    assert all(each.wear_outs[0].device == 0 for each in comparison.results)
    with pytest.raises(fr.InputError, match=r"^until = worn:1: not allowed for a Simulation"):
        fr.Simulation(scheme="raid5", **SMALL, pe_limit=15, until="worn:1")


def test_the_command_ages_an_array(command, tmp_path):
    trace = write_trace(tmp_path, writes(200, gap_us=700))
    common = [*options(SMALL), "--set", "pe_limit=15", "--until", "worn:1"]
    shown = command("run", trace, "--scheme", "raid5", *common, "--json", "r.json", "--series", "s.csv").stdout
    result = json.loads((command.folder / "r.json").read_text())
    assert result["wear_outs"][0]["at_ns"] > 0
    assert "worn out at" in shown
    header, *rows = [line.split(",") for line in (command.folder / "s.csv").read_text().splitlines()]
    ages = [[float(row[header.index(f"device{ssd}_age")]) for row in rows] for ssd in range(5)]
    assert ages[result["wear_outs"][0]["device"]][-1] == 1
    assert all(age == sorted(age) for age in ages)
    assert [age[-1] for age in ages] == [ssd["age"] for ssd in result["devices"]]
    for ssd in result["devices"]:
        assert int(rows[-1][header.index(f"device{ssd['number']}_free_blocks")]) == ssd["free_blocks"]
    reads = write_trace(tmp_path, [(at, "R", 0, 4096) for at in range(0, 900, 100)], name="reads.csv")
    refused = command("run", reads, "--scheme", "raid5", *common, status=2).stderr
    assert "has programmed and erased nothing, so no SSD wears out any more (0 did)" in refused
    assert "there are 5 SSDs" in command("run", trace, "--scheme", "raid5", *common[:-1], "worn:6", status=2).stderr


def test_devices_shows_the_ssds_of_an_array(command):
    shown = command("devices", "array-5x", "--scheme", "raid5", "--json", "d.json").stdout
    data = json.loads((command.folder / "d.json").read_text())
    blank = {"is_spare": False, "raw_bytes": 256 * 2**20, "age": 0.0, "erases": 0, "endurance": 1024 * 10_000}
    expected = [{"number": number} | blank | {"is_spare": number > 4} for number in range(10)]
    assert data["ssds"] == expected
    assert data["device"]["pe_limit"] == 10_000
    assert "member 4" in shown
    assert "spare" in shown
    assert "10,240,000" in shown
    assert "ssds" not in json.loads(command("devices", "tiny", "--json", "-").stdout)


REPLACING = {"device": "array-5x", "blocks_per_plane": 32, "pages_per_block": 16, "fill": 0.8, "fit": "wrap"}


@pytest.mark.filterwarnings("ignore:offered load", "ignore:fit")
@pytest.mark.parametrize("scheme", ["raid5", "hotswap"])
def test_what_cannot_be_replaced_is_refused(scheme):
    """Alike whether the scheme replaces SSDs itself or they are rebuilt."""
    single = fr.Simulation(device="tiny", scheme="raid5", fill=0.5)
    with pytest.raises(fr.InputError, match="device:0"):
        single.replace_device(0)
    assert single.result().faults == []

    sim = fr.Simulation(scheme=scheme, **{key: REPLACING[key] for key in REPLACING if key != "fit"}, spare_devices=1)
    with pytest.raises(fr.InputError, match="device:5: it is not an SSD of the array"):
        sim.replace_device(5)
    sim.fail_device(0)
    for device, why in ((0, "it is out of use already"), (1, "no spare SSD is left")):
        with pytest.raises(fr.InputError, match=f"device:{device}: {why}"):
            sim.replace_device(device)


@pytest.mark.filterwarnings("ignore:offered load", "ignore:fit", "ignore:only")
def test_replacements_that_could_not_be_are_told():
    trace = ROOT / "tests" / "golden" / "trace.csv"
    asked = ["device:0@1ms", "device:1@2ms", "device:2@3ms"]
    with pytest.warns(UserWarning, match="SSD 2 is to be replaced, and was not: no spare SSD is left"):
        result = fr.run(trace, scheme="hotswap", spare_devices=2, replace=asked, migration_window=64, **REPLACING)
    assert [(each.old_device, each.new_device) for each in result.replacements] == [(0, 5), (1, 6)]
    with pytest.warns(UserWarning, match="replace = device:2@3ms: no spare SSD is left"):
        fr.run(trace, scheme="raid5", spare_devices=2, replace=asked, **REPLACING)


@pytest.mark.filterwarnings("ignore")
def test_capacity_is_measured_without_wear_out_and_replacements(tmp_path):
    trace = write_trace(tmp_path, writes(200, gap_us=700))
    # One seed, as runs until a wear-out are not repeated.
    aged = {"scheme": "raid5", "pe_limit": 15, "ages": [0.8], "seeds": 1} | SMALL
    replaced = {"scheme": "hotswap", "spare_devices": 2, "migration_window": 64, "limit": 500} | REPLACING
    cases = [
        (trace, aged, {"until": "worn:1"}),
        (ROOT / "tests" / "golden" / "trace.csv", replaced, {"replace": ["device:0@1ms"]}),
    ]
    for path, settings, event in cases:
        schemes = settings.pop("scheme")
        plain, with_it = (fr.compare(path, schemes=schemes, **settings, **more) for more in ({}, event))
        assert plain.results[0].to_dict()["flash_ops"] != with_it.results[0].to_dict()["flash_ops"]
        assert plain.capacity == with_it.capacity


def test_replace_may_be_given_several_times(command):
    given = ["--replace", "device:3@1ms", "--replace", "device:2@2ms"]
    trace = str(ROOT / "tests" / "golden" / "trace.csv")
    done = command("run", trace, "--device", "array-5x", "--scheme", "hotswap", *given, "--fit", "wrap", "--json", "-")
    assert json.loads(done.stdout)["config"]["run"]["replace"] == ["device:3@1ms", "device:2@2ms"]
