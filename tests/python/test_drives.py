"""Drives in files: a run leaves one, and another begins with it; whatever goes wrong, no file is half written."""

import errno
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, PAGE, write_device, write_trace, writes

import flashraid as fr

SETTINGS = {"fill": 0.6, "precondition": "random:0.3", "verify": True}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def made(tmp_path):
    """A trace, a device, and the result of the run that left `first.drive`."""
    trace = write_trace(tmp_path, writes(200))
    device = write_device(tmp_path)
    first = fr.run(trace, device=device, scheme="raid5", save_drive=tmp_path / "first.drive", engine=False, **SETTINGS)
    return trace, device, first


def test_a_run_begins_where_another_has_ended(tmp_path, made):
    trace, device, first = made
    assert first.files["save_drive"] == str(tmp_path / "first.drive")
    assert first["drive"] is None
    second = fr.run(trace, drive=tmp_path / "first.drive", save_drive=tmp_path / "second.drive", engine=False)
    assert second["drive"]["runs"] == 1
    assert second["drive"]["requests"] == 200
    assert second["drive"]["version"] == fr.__version__
    assert second["config"]["device"] == first["config"]["device"]
    assert second["config"]["scheme"] == first["config"]["scheme"]
    assert second["wear"]["erase_mean"] > first["wear"]["erase_mean"]
    assert second.status == 0
    name, digest = second["config"]["run"]["drive"].rsplit("@", 1)
    assert name == str(tmp_path / "first.drive")
    assert digest == second["drive"]["sha256"]
    # The result is run again from its own configuration, and not with another drive.
    (tmp_path / "second.json").write_text(second.json)
    assert fr.run(trace, config=tmp_path / "second.json", engine=False).json == second.json
    os.replace(tmp_path / "second.drive", tmp_path / "first.drive")
    with pytest.raises(fr.InputError, match=f"allowed is the drive with {digest}"):
        fr.run(trace, config=tmp_path / "second.json", engine=False)
    # The settings of the drive may be repeated.
    fr.run(trace, drive=name, device=device, scheme="raid5", speed=2.0, **SETTINGS)


def process_bytes():
    """The memory that this process uses."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_the_command_has_the_same_options(command, tmp_path, made):
    trace, device, _ = made
    first, again, second = (tmp_path / name for name in ("first.drive", "again.drive", "second.drive"))
    making = ["--fill", "0.6", "--precondition", "random:0.3", "--verify", "--quiet"]
    command("run", trace, "--device", device, "--scheme", "raid5", *making, "--save-drive", again)
    assert again.read_bytes() == first.read_bytes()
    done = command("run", trace, "--drive", first, "--save-drive", second, "--json", "-", "--no-engine", "--quiet")
    assert json.loads(done.stdout)["drive"]["runs"] == 1
    header = json.loads(second.read_bytes().split(b"\n", 1)[0])
    assert header["runs"] == 2
    assert header["config"]["scheme"]["name"] == "raid5"
    for options, text in [
        (["--scheme", "raid4"], f"scheme = raid4: the drive {first} has raid5: allowed is that, or none"),
        (["--fill", "0.5"], f"fill = 0.5: the drive {first} has 0.6: allowed is that, or none"),
        (["--set", "gc_threshold=0.4"], f"gc_threshold = 0.4: the drive {first} has 0.1: allowed is that, or none"),
        (["--steady"], f"precondition = steady: the drive {first} has random:0.3: allowed is that, or none"),
        (["--save-drive", first], f"--drive and --save-drive are both {first}: allowed are different files"),
        (["--seeds", "2"], f"--drive {first}: a drive has one scheme and one past: allowed is one run, with one seed"),
        (
            ["--fail", "chip:0.0@request:1", "--save-drive", tmp_path / "no.drive"],
            "--save-drive: a drive of which something has failed cannot be saved: allowed without fail",
        ),
    ]:
        done = command("run", trace, "--drive", first, "--quiet", *options, status=2)
        assert done.stderr == f"error: {text}\n"
    done = command("compare", trace, "--schemes", "raid5,raid4", "--drive", first, "--quiet", status=2)
    assert done.stderr.startswith(f"error: --drive {first}: a drive has one scheme")
    assert not (tmp_path / "no.drive").exists()


def test_a_comparison_saves_a_drive_for_each_scheme(tmp_path):
    trace, device = write_trace(tmp_path, writes(50)), write_device(tmp_path)
    fr.compare(trace, device=device, schemes=["raid0", "raid5"], save_drive=tmp_path / "of.drive", capacity=False)
    for scheme in ("raid0", "raid5"):
        assert fr.run(trace, drive=tmp_path / f"of-{scheme}.drive").scheme == scheme
    with pytest.raises(fr.InputError, match="a drive has one scheme and one past"):
        fr.compare(trace, schemes=["raid0"], drive=tmp_path / "of-raid0.drive")
    # The seed, which only matters with a precondition, is not what is wrong.
    with pytest.raises(
        fr.InputError, match=r"^precondition = random:1: the drive .* has none: allowed is that, or none"
    ):
        fr.run(trace, drive=tmp_path / "of-raid0.drive", precondition="random:1")


def test_a_clone_has_memory_for_what_is_used():
    """Maps of a device of 64 GB, of which nothing is written, would be 250 MB."""
    simulation = fr.Simulation(device="ssd1", scheme="raid5")
    before = process_bytes()
    clone = simulation.clone()
    assert process_bytes() - before < 50 << 20
    assert clone.now_ns == simulation.now_ns


def test_a_simulation_begins_with_a_drive_saves_it_and_is_cloned(tmp_path, made):
    simulation = fr.Simulation(drive=tmp_path / "first.drive")
    simulation.submit("write", 0, 4 * PAGE)
    with pytest.raises(fr.InputError, match="requests or operations are in flight: nothing was saved"):
        simulation.save_drive(tmp_path / "no.drive")
    assert "no.drive" not in names(tmp_path)
    simulation.finish()
    clone = simulation.clone()
    simulation.save_drive(tmp_path / "later.drive")
    for each in (simulation, clone):
        each.submit("read", PAGE, PAGE)
        each.finish()
    assert clone.take_completions() == simulation.take_completions()
    clone.submit("write", 0, PAGE)
    clone.finish()
    assert (len(clone.take_completions()), simulation.take_completions()) == (1, [])
    later = fr.Simulation(drive=tmp_path / "later.drive")
    assert later.now_ns == 0
    assert later.result()["drive"]["requests"] == 201
    assert later.verify()["mismatches"] == 0
    simulation.fail_channel(0)
    simulation.finish()
    with pytest.raises(fr.InputError, match="a part of an SSD has failed: nothing was saved"):
        simulation.save_drive(tmp_path / "no.drive")
    assert "no.drive" not in names(tmp_path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda whole: b"", "it is no drive: allowed is a file that --save-drive has written"),
        (lambda whole: b"ts_us,op\n", "it is no drive: allowed is a file that --save-drive has written"),
        (lambda whole: whole[:-1], "it is damaged: it is cut off, or was changed since it was written"),
        (lambda whole: whole[:-40] + b"x" + whole[-39:], "it is damaged: it is cut off, or was changed since"),
        (lambda whole: whole.replace(b'"flashraid_drive":1', b'"flashraid_drive":9', 1), "a newer flashraid, "),
    ],
)
def test_other_files_are_refused(tmp_path, made, change, text):
    trace, _, _ = made
    broken = tmp_path / "broken"
    broken.write_bytes(change((tmp_path / "first.drive").read_bytes()))
    with pytest.raises(fr.InputError) as error:
        fr.run(trace, drive=broken)
    assert str(error.value).startswith(f"{broken}: {text}")
    assert "\n" not in str(error.value)


def test_a_run_that_is_stopped_leaves_the_file_that_was_there(tmp_path, made):
    trace, device, _ = made
    old = (tmp_path / "first.drive").read_bytes()
    before = names(tmp_path)
    settings = {"device": device, "scheme": "raid5", "save_drive": tmp_path / "first.drive"} | SETTINGS
    with pytest.raises(fr.Interrupted) as stopped:
        fr.run(trace, progress=lambda *_: False, **settings)
    assert "save_drive" not in stopped.value.result.files
    assert (tmp_path / "first.drive").read_bytes() == old
    assert names(tmp_path) == before


def test_a_run_after_which_there_is_no_drive_says_so(tmp_path):
    trace = write_trace(tmp_path, [(i * 2000, "W", i % 40 * PAGE, PAGE) for i in range(6000)])
    device = write_device(tmp_path, blocks_per_plane=8, channels=2, over_provisioning=0.4)
    (tmp_path / "old.drive").write_text("old")
    settings = {"devices": 4, "pe_limit": 40, "ages": "0,0.9", "save_drive": tmp_path / "old.drive", "engine": False}
    with pytest.warns(UserWarning, match="the drive was not saved: "):
        result = fr.run(trace, device=device, scheme="raid5", queue_depth=4, **settings)
    assert result.status == 3
    assert "save_drive" not in result.files
    assert (tmp_path / "old.drive").read_text() == "old"


def test_a_full_disk_leaves_nothing(tmp_path, made):
    trace, device, _ = made
    before = names(tmp_path)
    line = [COMMAND, "run", trace, "--device", device, "--scheme", "raid5", "--fill", "0.6", "--quiet"]

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = subprocess.run(
        [*line, "--save-drive", tmp_path / "no.drive"], capture_output=True, text=True, preexec_fn=limit, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"error: --save-drive cannot be written: {os.strerror(errno.EFBIG)}\n"
    assert names(tmp_path) == before
    done = subprocess.run(
        [*line, "--save-drive", tmp_path / "none" / "no.drive"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert names(tmp_path) == before


@pytest.mark.parametrize("path", [None, 7, b"bytes", "", "a\0b", "none/no.drive", "."])
def test_names_of_drives_are_checked(tmp_path, made, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    before = names(tmp_path)
    simulation = fr.Simulation(drive="first.drive")
    with pytest.raises(fr.InputError) as error:
        simulation.save_drive(path)
    assert "\n" not in str(error.value)
    assert names(tmp_path) == before
