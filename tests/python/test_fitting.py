"""Devices fitted to data sheets: constants by closed forms, how close they come, and sheets that cannot be fitted."""

import tomllib

import pytest

import flashraid as fr
from flashraid.sheets import measurements

SHEET = """
user_bytes = "7.68TB"
[sheet]
source = "Maker"
sequential_read_mb_s = 6500
sequential_write_mb_s = 3500
random_read_qd256_fresh_iops = 900_000
random_write_qd256_steady_iops = 200_000
"""
# Two dies of 48 blocks with 8 program units each.
SMALL = """
name = "small"
user_bytes = "120MB"
[device]
channels = 2
chips_per_channel = 1
pages_per_block = 96
blocks_per_plane = 48
gc_threshold = 0.07
[sheet]
source = "nobody"
sequential_read_mb_s = 500
sequential_write_mb_s = 150
random_read_qd256_fresh_iops = 20_000
random_read_qd1_fresh_mean_ns = 110_000
random_write_qd1_fresh_mean_ns = 60_000
"""


def fitted(folder, text):
    path = folder / "sheet.toml"
    path.write_text(text)
    return fr.fit_device(path)


def test_the_constants_are_those_of_the_closed_forms(tmp_path):
    text = fitted(tmp_path, SHEET)
    device = tomllib.loads(text)["device"]
    like = fr.devices("nvme-tlc-8t").device
    # The sheet that the preset was fitted to, by hand.
    same = ("slice", "channels", "chips_per_channel", "blocks_per_plane", "active_dies", "host_read_ps_per_byte")
    assert {key: device[key] for key in same} == {key: like[key] for key in same}
    # 38 dies program 192 KiB each in so long.
    program_ns = round(38 * 196_608 / 3.5) - 163_775
    assert (device["program_ns"], device["command_ns"]) == (program_ns, 1_111)
    assert (device["name"], device["read_latency_ns"]) == ("sheet", 21_500)
    raw = 128 * 910 * 4608 * 16_384
    assert device["over_provisioning"] == int((1 - 7.68e12 / raw) * 10_000) / 10_000
    sheet = tomllib.loads(text)["sheet"]
    assert sheet.pop("fitted") == ["sequential_write_mb_s", "sequential_read_mb_s", "random_read_qd256_fresh_iops"]
    assert sheet == tomllib.loads(SHEET)["sheet"]
    assert "program_ns = 1970826" in text
    assert "# fitted to sequential_write_mb_s" in text
    # 1,024 requests of the drive, in one of 16 slices.
    assert tomllib.loads(text)["host"] == {"device_queue_depth": 64} == {"device_queue_depth": 1024 // device["slice"]}


def test_latencies_are_what_is_left_of_lone_requests(tmp_path):
    lone = "random_read_qd1_fresh_iops = 12_500\nrandom_write_qd1_fresh_p50_ns = 20_000\n"
    device = tomllib.loads(fitted(tmp_path, SHEET + lone))["device"]
    data_ns, transfer_ns = 631, 3_412
    assert device["read_latency_ns"] == 80_000 - (1_111 + 45_000 + transfer_ns + data_ns)
    assert device["write_latency_ns"] == 20_000 - (1_111 + data_ns)


def test_dies_and_buses_are_as_fast_as_the_sheet_needs(tmp_path):
    faster = SHEET.replace("6500", "14_000").replace("900_000", "2_500_000")
    device = tomllib.loads(fitted(tmp_path, faster))["device"]
    assert device["bus_ps_per_byte"] == int(8e6 / (1.25 * 14_000))
    transfer_ns = -(-4096 * device["bus_ps_per_byte"] // 1000)
    assert device["read_ns"] == int(128e9 / (1.3 * 2_500_000)) - transfer_ns


def test_what_is_known_counts(tmp_path):
    given = "[device]\nchannels = 16\nread_ns = '60us'\ncommand_ns = 900\nidle_ns = 5\n"
    text = fitted(tmp_path, SHEET.replace("random_read_qd256_fresh_iops = 900_000\n", "") + given)
    device = tomllib.loads(text)["device"]
    known = ("channels", "chips_per_channel", "read_ns", "command_ns", "idle_ns")
    assert [device[key] for key in known] == [16, 8, 60_000, 900, 5]
    assert tomllib.loads(text)["sheet"]["fitted"] == ["sequential_write_mb_s", "sequential_read_mb_s"]
    assert "read_ns = 60000" in text
    assert text.count("# given") == 4


def test_a_small_drive_is_as_its_sheet_says(tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "RANDOM_REQUESTS", 5_000)
    path = tmp_path / "mine.toml"
    path.write_text(fitted(tmp_path, SMALL))
    found = fr.datasheet(path, staging_bytes=4_718_592)
    assert set(found.sheet["fitted"]) == set(found.deviations)
    off = {name: deviation for name, deviation in found.deviations.items() if abs(deviation) > 0.02}
    assert set(off) <= {"sequential_write_mb_s"}, off
    assert abs(found.deviations["random_write_qd1_fresh_mean_ns"]) < 0.002
    # The memory holds a tenth of what is written when the last request is answered.
    assert found.deviations["sequential_write_mb_s"] == pytest.approx(0.05, abs=0.06)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('user_bytes = "7.68TB"', "", "sheet.toml: user_bytes is missing: allowed is the capacity of the drive, as in"),
        ("7.68TB", "7.68XB", "sheet.toml:2:1: user_bytes = 7.68XB: allowed is a whole number of bytes"),
        ('user_bytes = "7.68TB"', "user_bytes = true", "sheet.toml:2:1: user_bytes = true: allowed is a size"),
        ("user_bytes", "user_byte", "sheet.toml:2:1: key user_byte: there is none; the nearest is user_bytes"),
        ('source = "Maker"', "", "sheet.toml: the table sheet needs source"),
        ("3500", "-1", "sheet.toml:6:1: sequential_write_mb_s = -1: allowed is a number above 0"),
        ("sequential_read_mb_s", "sequential_red_mb_s", "sheet.toml:5:1: sheet sequential_red_mb_s: there is none"),
        ("sequential_write_mb_s = 3500", "", "sequential_write_mb_s is missing: allowed without it is active_dies and"),
        ("[sheet]", "raw_bytes = '7.7TB'\n[sheet]", "user_bytes = 7,680,000,000,000: allowed is at most 99% of the"),
        ("[sheet]", "[device]\nchanels = 3\n[sheet]", "sheet.toml:4:1: device chanels: there is none; the nearest"),
        ("[sheet]", "[device]\nname = 'x'\n[sheet]", "device name: there is none"),
        ("[sheet]", "[device]\nchannels = 0\n[sheet]", ":4:1: channels = 0: allowed is a whole number from 1"),
        ("[sheet]", "[device]\npage_bytes = '16KiB'\nread_ns = true\n[sheet]", ":5:1: read_ns = true: allowed is"),
        ("[sheet]", "[device]\nread_ns = '60'\n[sheet]", "sheet.toml:4:1: read_ns = 60: allowed is a time"),
        ("[sheet]", "[device]\npe_limit = -1\n[sheet]", "cannot be simulated: pe_limit = -1: allowed is"),
        ("[sheet]", "[device]\ngc_pace = 'fast'\n[sheet]", "the drive that comes of it cannot be simulated: "),
        ("900_000", "20_000_000", "128 dies would need read_ns = 1511, allowed is 5000 or more: more dies"),
        ("3500", "900_000", "128 dies would need program_ns = "),
        ("[sheet]", "[sheet]\nrandom_read_qd1_fresh_mean_ns = 40_000", "= 40000: allowed are 50,154 ns or more"),
    ],
)  # fmt: skip
def test_bad_sheets_are_one_line(command, old, new, says):
    (command.folder / "sheet.toml").write_text(SHEET.replace(old, new))
    error = command("devices", "--fit", "sheet.toml", status=2).stderr
    assert says in error
    assert error.count("\n") == 1


def test_the_command_prints_the_file(command, tmp_path):
    (command.folder / "sheet.toml").write_text(SHEET)
    assert command("devices", "--fit", "sheet.toml").stdout == fitted(tmp_path, SHEET)
    error = command("devices", "tiny", "--fit", "sheet.toml", status=2).stderr
    assert error == "error: --fit: allowed is devices --fit SHEET.toml, without other arguments\n"
    with pytest.raises(fr.InputError, match="sheet = None: allowed is a TOML file"):
        fr.fit_device(None)
