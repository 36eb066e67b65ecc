"""Data sheets: figures against closed forms, what stands beside them, and how a sheet ends that cannot be made."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import time
from copy import copy
from types import SimpleNamespace

import pytest
from conftest import COMMAND, PAGE, write_device, write_trace, writes

import flashraid as fr
from flashraid import datasheets
from flashraid.sheets import measurements
from flashraid.sheets.measurements import MEASUREMENTS, SEQUENTIAL_BYTES, WORN_BY, Drive

# A command, and the 4,096 bytes of a page at 25 ns each.
TRANSFER_NS = 175 + 102_400
READ_NS, PROGRAM_NS = 20_000, 200_000
ROOM = {"blocks_per_plane": 64, "gc_threshold": 0.05, "over_provisioning": 0.25}
SHEET = """
[sheet]
source = "Maker, data sheet, revision 3"
sequential_read_mb_s = 100
random_read_qd1_fresh_p50_ns = 122_575
random_write_qd256_steady_iops = 1000.5
fitted = ["sequential_read_mb_s"]
"""


@pytest.fixture(autouse=True)
def few_requests(monkeypatch):
    """What takes the same time on all devices is short."""
    monkeypatch.setattr(measurements, "RANDOM_REQUESTS", 2_000)


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    return write_device(tmp_path_factory.mktemp("device"), **ROOM)


@pytest.fixture(scope="module")
def sheet(device):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurements, "RANDOM_REQUESTS", 2_000)
        return fr.datasheet(device, pe_cycles=3000)


def with_sheet(folder, text=SHEET):
    path = folder / "stated.toml"
    path.write_text(write_device(folder, **ROOM).read_text() + text)
    return path


def of(sheet, name):
    return next(line for line in sheet.lines if line.measurement.name == name)


def test_sequential_rates_are_those_of_the_dies(sheet):
    # Each of the four channels has one die, which takes one page after the other from the first request to the last.
    most = sheet.capacity["user_bytes"] // SEQUENTIAL_BYTES
    for kind, array_ns, requests in (("read", READ_NS, most), ("write", PROGRAM_NS, most // 2)):
        assert of(sheet, f"sequential_{kind}").requests == requests
        pages_of_a_die = requests * SEQUENTIAL_BYTES // PAGE // 4
        mb_s = requests * SEQUENTIAL_BYTES / (pages_of_a_die * (array_ns + TRANSFER_NS)) * 1e3
        assert sheet.values[f"sequential_{kind}_mb_s"] == pytest.approx(mb_s, rel=1e-9)


def test_sequential_reads_of_many_dies_are_those_of_the_bus(tmp_path):
    sheet = fr.datasheet(write_device(tmp_path, chips_per_channel=4, **ROOM), scheme="raid0")
    bus = 4 * PAGE / TRANSFER_NS * 1e3
    pages = of(sheet, "sequential_read").requests * SEQUENTIAL_BYTES // PAGE // 4
    ramp = READ_NS / (pages * TRANSFER_NS)  # the first read of each bus has nothing to transfer beside it
    assert bus * (1 - 2 * ramp) <= sheet.values["sequential_read_mb_s"] < bus


def test_a_lone_read_takes_its_array_time_and_its_transfer(sheet):
    expected = READ_NS + TRANSFER_NS
    for state, figure in itertools.product(("fresh",), ("mean", "p50", "p99", "p99_9", "p99_99")):
        assert sheet.values[f"random_read_qd1_{state}_{figure}_ns"] == expected
    assert sheet.values["random_read_qd1_fresh_iops"] == pytest.approx(1e9 / expected)
    assert sheet.values["random_write_qd1_fresh_p50_ns"] == PROGRAM_NS + TRANSFER_NS


def test_a_deep_queue_is_as_fast_as_its_dies_and_steady_writes_are_slower(sheet):
    most = 4e9 / (PROGRAM_NS + TRANSFER_NS)
    fresh, steady = (sheet.values[f"random_write_qd256_{state}_iops"] for state in ("fresh", "steady"))
    # Random requests are not spread evenly over the four dies, and the last ones leave some idle.
    assert 0.8 * most < fresh <= most
    assert steady * sheet.values["write_amplification"] <= most * 1.001
    assert sheet.values["write_amplification"] > 1.2
    mixed = of(sheet, "mixed_qd256_steady").result.workload
    assert mixed.reads / mixed.requests == pytest.approx(0.7, abs=0.03)


def test_steady_writes_come_after_what_fills_the_memory_and_the_spare():
    device = {key: 2 for key in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")}
    device |= {"blocks_per_plane": 10, "pages_per_block": 16, "page_bytes": 16_384, "mapping_unit_bytes": 4096}
    drive = Drive.of(3 * 16 * 10 * 16 * 16_384 // 4, {**device, "staging_bytes": 2**20, "slice": 1}, 1)
    # A quarter of the flash is spare: of 16 planes with blocks of 64 units, 256 units; and the memory holds as many.
    assert drive.spare_bytes == drive.staging_bytes == 256 * 4096
    warmups = {each.name: each.warmup(drive, 100) for each in MEASUREMENTS if each.is_steady}
    assert (warmups["random_read_qd1_steady"], warmups["random_write_qd256_steady"]) == (10, 1024)
    assert warmups["mixed_qd256_steady"] == int(1024 / 0.3)
    assert WORN_BY.warmup(drive, 100_000) == 10_000
    # And the memory holds a hundredth of what is measured, or a tenth.
    assert [WORN_BY.requests(drive, is_quick) for is_quick in (False, True)] == [25_600, 2_560]


def test_the_sheet_of_a_slice_is_that_of_the_drive(tmp_path):
    room = ROOM | {"blocks_per_plane": 128}
    device = write_device(tmp_path, slice=2, **room)
    part, sheet = (fr.datasheet(each, pe_cycles=3000) for each in (device, write_device(tmp_path, **room)))
    assert part.title.endswith("data sheet, simulated on one of 2 slices")
    assert (part.capacity, part.to_dict()["slices"]) == (sheet.capacity, 2)
    # Two requests outstanding are the fewest that two slices have.
    measured = [each.name for each in MEASUREMENTS if each.queue_depth > 1]
    assert [each.measurement.name for each in part.lines] == measured
    # Requests wait in a slice for other times than in the drive.
    assert {name for name, value in part.values.items() if value is None} == {
        name for each in MEASUREMENTS for name in each.figures.values() if each.queue_depth == 1 or name.endswith("_ns")
    }
    for name in ("sequential_read_mb_s", "random_write_qd256_fresh_iops", "random_read_qd256_steady_iops"):
        assert part.values[name] == pytest.approx(sheet.values[name], rel=0.1)
    assert part.values["write_amplification"] == pytest.approx(sheet.values["write_amplification"], rel=0.05)
    assert all("--set queue_depth=" in each for each in part.commands())
    depths = {of(part, name).result.config["run"]["queue_depth"] for name in measured}
    assert depths == {16, 128}
    assert not any("slice" in each for each in part.warnings)
    run = fr.run(write_trace(tmp_path, writes(10)), device=device, scheme="raid0")
    assert any(each.startswith("slice = 2: one of 2 equal parts of the drive is simulated") for each in run.warnings)
    assert run.capacity.raw_bytes == sheet.capacity["raw_bytes"] // 2
    assert run.config["device"]["channels"] == 4


def test_a_sheet_of_a_slice_that_is_too_small_is_refused(command, tmp_path):
    device = write_device(tmp_path, channels=64, chips_per_channel=8, slice=512)
    error = command("datasheet", device, status=2).stderr
    assert error == "error: slice = 512: allowed in a data sheet is what divides its depth of 256\n"


def test_the_endurance_follows_from_its_formula(sheet, device):
    raw, user = 4 * 64 * 16 * PAGE, sheet.capacity["user_bytes"]
    amplification = of(sheet, "random_write_qd256_steady").result.write_amplification
    assert sheet.capacity["raw_bytes"] == raw
    by_hand = 3000 * raw / (amplification * user * 1825)
    assert sheet.endurance["drive_writes_per_day"] == pytest.approx(by_hand)
    assert sheet.endurance["write_amplification"] == amplification
    assert [row[1] for row in sheet.facts()][-1].startswith(f"{by_hand:.2f} drive writes a day, with 3,000 P/E cycles")


def test_each_line_says_how_it_was_measured_and_is_run_again(command, sheet):
    data = sheet.to_dict()
    assert [run["name"] for run in data["runs"]] == [each.name for each in MEASUREMENTS]
    named = {name for each in MEASUREMENTS for name in each.figures.values()}
    assert set(data["figures"]) == named | {"write_amplification", "endurance_drive_writes_per_day"}
    run = next(run for run in data["runs"] if run["name"] == "random_write_qd256_steady")
    known = (
        run["queue_depth"],
        run["state"],
        run["requests"],
        run["warmup_requests"],
        run["request_bytes"],
        run["seed"],
    )
    assert known == (256, "steady", 2000, 200, 4096, 0)
    (command.folder / f"{run['name']}.toml").write_text(run["profile"])
    again = json.loads(command(*shlex.split(run["command"])[1:], "--no-engine", "--json", "-").stdout)
    assert again["latency_ns"] == run["result"]["latency_ns"]
    assert again["config"] == run["result"]["config"]


def test_a_seed_gives_the_same_bytes_and_another_one_others(device):
    texts = [fr.datasheet(device, seed=seed, jobs=jobs).json for seed, jobs in ((1, 1), (1, 3), (2, 2))]
    assert texts[0] == texts[1]
    figures = [json.loads(text)["figures"] for text in texts]
    assert figures[0]["random_write_qd256_steady_iops"] != figures[2]["random_write_qd256_steady_iops"]
    assert figures[0]["sequential_read_mb_s"] == figures[2]["sequential_read_mb_s"]


def test_settings_of_the_drive_are_those_of_each_run_and_of_its_command(device):
    sheet = fr.datasheet(device, quick=True, read_ns=40_000, seed=3)
    assert sheet.values["random_read_qd1_fresh_p50_ns"] == 40_000 + TRANSFER_NS
    assert all("--set read_ns=40000" in each and "--set seed=3" in each for each in sheet.commands())


def test_how_many_requests_a_line_measures():
    named = {each.name: each for each in MEASUREMENTS}
    random, sequential = named["random_write_qd1_fresh"], named["sequential_read"]
    # A write of less than a unit programs one: of 4,096 units a quarter is written.
    small, large = (Drive(1, size, 16_384, staging_bytes=0, spare_bytes=0) for size in (64 << 20, 1 << 40))
    assert random.requests(small, is_quick=False) == 1_024
    for is_quick, part in ((False, 1), (True, 10)):
        assert random.requests(large, is_quick) == 2_000 // part
        assert sequential.requests(large, is_quick) == 20_000 // part


def test_the_cycles_of_the_device_count_unless_others_are_given(tmp_path):
    path = str(write_device(tmp_path, pe_limit=1000, **ROOM))
    cycles = [
        datasheets.planned(path, None, [], pe_cycles=given, is_quick=True, jobs=1).pe_cycles for given in (None, 3000)
    ]
    assert cycles == [1000, 3000]


def test_the_status_is_that_of_the_line_that_fared_worst(sheet):
    worst = copy(sheet)
    worst.lines = [sheet.lines[0]._replace(result=SimpleNamespace(status=status)) for status in (0, 3, 0)]
    assert (sheet.status, worst.status) == (0, 3)


def test_the_makers_figures_stand_beside_the_simulated_ones(command, tmp_path):
    path = with_sheet(tmp_path)
    made = ["--json", "s.json", "--report", "s.html", "--figure", "s.svg"]
    found = command("datasheet", path, "--quick", *made)
    data = json.loads((command.folder / "s.json").read_text())
    assert data["sheet"]["source"] == "Maker, data sheet, revision 3"
    assert data["sheet"]["fitted"] == ["sequential_read_mb_s"]
    deviations = data["sheet"]["deviations"]
    assert deviations["random_read_qd1_fresh_p50_ns"] == 0
    assert deviations["sequential_read_mb_s"] == pytest.approx(data["figures"]["sequential_read_mb_s"] / 100 - 1)
    lines = {line.split()[0]: line for line in found.stdout.splitlines() if line.strip()}
    ratio = f"{deviations['sequential_read_mb_s']:+.1%}"
    assert lines["sequential_read_mb_s"].split()[3:] == ["100.0", "MB/s", ratio, "fitted"]
    assert lines["random_read_qd1_fresh_p50_ns"].split()[1:] == ["123", "us", "123", "us", "+0.0%"]
    page, picture = (command.folder / name for name in ("s.html", "s.svg"))
    shown = ("revision 3", "random_write_qd256_steady_iops", "latency-qd256", "flashraid run sequential_read.toml")
    assert all(text in page.read_text() for text in shown)
    assert "Latency of random requests" in picture.read_text()


def test_devices_shows_what_the_maker_states(command, tmp_path):
    path = with_sheet(tmp_path)
    text = command("devices", path, "--scheme", "raid0").stdout
    assert "Maker, data sheet, revision 3" in text
    assert any(line.split() == ["sequential_read_mb_s", "100.0", "MB/s", "fitted"] for line in text.splitlines())
    assert fr.devices(path).sheet.figures["random_write_qd256_steady_iops"] == 1000.5
    assert "<td>100.0 MB/s</td><td>fitted</td>" in fr.devices(path)._repr_html_()
    assert "sheet" not in fr.devices("tiny")


def test_runs_depend_on_nothing_of_the_table(tmp_path):
    trace = write_trace(tmp_path, writes(50))
    path = with_sheet(tmp_path)
    plain = fr.run(trace, device=write_device(tmp_path, **ROOM), scheme="raid0", engine=False).json
    assert fr.run(trace, device=path, scheme="raid0", engine=False).json == plain
    assert fr.run(trace, config=path, scheme="raid0", engine=False).json == plain


def test_what_misleads_is_said_before_the_first_run(tmp_path):
    little = write_device(tmp_path, blocks_per_plane=64, over_provisioning=0.1)
    plan = datasheets.planned(str(little), None, [], pe_cycles=None, is_quick=True, jobs=1)
    said, begun = [], []

    def begin(name, _configured):
        begun.append(len(said))
        return None

    with pytest.raises(KeyboardInterrupt):
        datasheets.measured(plan, begin, said.append)
    assert begun
    assert min(begun) == len(said) == 1
    assert "the spare that GC can use is 0.1 %" in said[0]


@pytest.mark.filterwarnings("ignore:.*the spare that GC can use:UserWarning")
def test_gc_on_a_fresh_drive_is_warned_of(tmp_path):
    with pytest.warns(UserWarning, match="fresh: GC ran: this drive is too small"):
        sheet = fr.datasheet(write_device(tmp_path, **ROOM | {"gc_threshold": 0.9}))
    assert sheet.endurance["drive_writes_per_day"] is None
    assert "needs P/E cycles" in sheet.facts()[-1][1]
    spare = next(text for text in sheet.warnings if "the fill leaves 25.0 %" in text)
    assert spare.startswith("8 of 11 lines: gc_threshold = 0.9")
    assert set(sheet.warnings) - set(sheet.warnings_but([spare.partition(": ")[2]])) == {spare}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'source = "x"\nsequential_read = 1',
            "unknown key sequential_read in table sheet; the nearest is sequential_read_mb_s",
        ),
        (
            'source = "x"\nrandom_read_qd1_iops = 1',
            "unknown key random_read_qd1_iops in table sheet; the nearest is random_read_qd1_",
        ),
        ("sequential_read_mb_s = 1", 'the table sheet needs source = "..."'),
        ('source = ""', "source: allowed is a text that says where the sheet was published"),
        ('source = "x"\nsequential_read_mb_s = "1 GB/s"', "sequential_read_mb_s: allowed is a number above 0"),
        ('source = "x"\nsequential_read_mb_s = 0', "sequential_read_mb_s: allowed is a number above 0"),
        ('source = "x"\nsequential_read_mb_s = inf', "sequential_read_mb_s: allowed is a number above 0"),
        ('source = "x"\nfitted = "all"', "fitted: allowed is a list of figures of the sheet"),
        ('source = "x"\nfitted = ["sequential_read_mb_s"]', "fitted: the sheet has no figure sequential_read_mb_s"),
        (
            'source = "x"\nsequential_read_mb_s = 1\nfitted = ["sequential_read_mb_s", "sequential_read_mb_s"]',
            "fitted: sequential_read_mb_s is in the list twice",
        ),
    ],
)
def test_a_bad_sheet_is_refused(command, tmp_path, text, says):
    path = with_sheet(tmp_path, f"[sheet]\n{text}\n")
    for arguments in (("datasheet", path), ("devices", path)):
        error = command(*arguments, status=2).stderr
        assert says in error
        assert error.startswith(f"error: {path}:")
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ssd4"], "unknown device ssd4; the nearest is ssd1"),
        (["missing.toml"], "missing.toml: cannot be read"),
        (["tiny", "--scheme", "raid55"], "raid55"),
        (["tiny", "--set", "read_nss=1"], "unknown key read_nss; the nearest is read_ns"),
        (["tiny", "--set", "fill=0.5"], "fill = 0.5: not allowed in a data sheet: each line has its own"),
        (["tiny", "--set", "run.queue_depth=3"], "run.queue_depth = 3: not allowed in a data sheet: each line"),
        (["tiny", "--set", "scheme.name=raid5"], "scheme.name = raid5: not allowed in a data sheet: the scheme is"),
        (["tiny", "--set", "cmt_entries=100"], "cmt_entries"),
        (["tiny", "--set", "blocks_per_plane=16", "--set", "over_provisioning=0.8"], "bytes: allowed is 8,388,608"),
        (["tiny", "--figure", "sheet.gif"], "--figure: sheet.gif: allowed is a name that ends in .svg or .png"),
        (["tiny", "--report", "sheet.txt"], "--report: sheet.txt: allowed is a name that ends in .html"),
        (["tiny", "--json", "a.svg", "--figure", "a.svg"], "--figure and --json are both a.svg"),
        (["tiny", "--pe-cycles", "0"], "--pe-cycles"),
        (["tiny", "--seed", "-1"], "--seed"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(command, arguments, says):
    error = command("datasheet", *arguments, status=2).stderr
    assert says in error
    assert error.count("\n") == 1
    assert not os.listdir(command.folder)


def test_bad_arguments_of_the_library_are_refused():
    for arguments, says in (
        ({"seed": -1}, "seed = -1: allowed is a whole number from 0"),
        ({"pe_cycles": 0}, "pe_cycles"),
        ({"jobs": 0}, "jobs"),
        ({"quick": 1}, "quick = 1: allowed is True or False"),
        ({"fill": 0.5}, "fill = 0.5: not allowed in a data sheet"),
    ):
        with pytest.raises(fr.InputError, match=says):
            fr.datasheet("tiny", **arguments)
    with pytest.raises(fr.InputError, match="device = None"):
        fr.datasheet(None)


def test_an_interrupted_sheet_leaves_no_file(tmp_path):
    outputs = ["--json", "s.json", "--report", "s.html", "--figure", "s.svg"]
    process = subprocess.Popen(
        [COMMAND, "datasheet", "ssd1", *outputs], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    while len(os.listdir(tmp_path)) < 3:  # the files have their temporary names
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert "interrupted" in error
    assert not os.listdir(tmp_path)


def test_progress_can_stop_it(device):
    told = []
    with pytest.raises(KeyboardInterrupt):
        fr.datasheet(device, jobs=1, progress=lambda *of: told.append(of) or False)
    assert told
