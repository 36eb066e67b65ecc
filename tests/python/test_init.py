"""`flashraid init` and `flashraid devices NAME --toml`: files to start from, which change nothing as they are."""

import json
import re
import tomllib

import pytest
from conftest import SAMPLE, write_device

from flashraid import _native
from flashraid.command.init import text

RUN = ["run", SAMPLE, "--fit", "wrap", "--limit", "200", "--no-engine", "--json", "-"]
SETTINGS = json.loads(_native.settings())
DEVICES = ["tiny", "ssd1", "array-5x", "tlc", "nvme-2026"]  # settings that are lists; one of the host
ON_TINY = json.loads(_native.device("tiny", None))["schemes"]
POSSIBLE = [name for name, of in ON_TINY.items() if "refused" not in of]


def configuration(device, scheme, config=None):
    return json.loads(_native.configuration(device, scheme, config, []))["config"]


@pytest.mark.parametrize(("device", "scheme"), [("tiny", "raid5"), ("ssd1", "cr5m"), ("array-5x", "hotswap")])
def test_a_new_configuration_gives_the_result_of_a_run_without_it(command, device, scheme):
    written = command("init", "--device", device, "--scheme", scheme)
    assert written.stdout == ""
    assert "flashraid run TRACE --config flashraid.toml\n" in written.stderr
    plain = command(*RUN, "--device", device, "--scheme", scheme)
    with_it = command(*RUN, "--config", "flashraid.toml")
    assert with_it.stdout == plain.stdout
    assert with_it.stderr == plain.stderr  # which warns of nothing more


def test_numbers_of_the_device_are_no_wishes_but_other_settings_are(command):
    """A number without effect is part of the description of a device, as in a file of its own."""
    lines = text("-", "ssd1", "raid5")
    for key, value in (("cmt_entries", "10"), ("speed", "2.0"), ("queue_depth", "4")):
        lines = re.sub(rf"(?m)^#{key} = .*", f"{key} = {value}", lines)
    (command.folder / "my.toml").write_text(lines)
    said = command(*RUN, "--config", "my.toml").stderr
    assert re.search(r"(?m)^warning: my.toml:\d+:9: speed = 2.0: has no effect here", said)
    assert "cmt_entries" not in said
    (command.folder / "my.toml").write_text("[device]\ncmt_entries = 10\n")
    said = command(*RUN, "--device", "ssd1", "--scheme", "raid5", "--config", "my.toml").stderr
    assert "cmt_entries = 10: has no effect here" in said


@pytest.mark.parametrize("device", DEVICES)
def test_every_line_can_be_made_active(tmp_path, device):
    """A default is written as a value that the engine takes for it, and a comment leaves valid TOML."""
    schemes = POSSIBLE if device == "tiny" else ["raid5"]
    for scheme in schemes:
        plain = text("-", device, scheme)
        active = re.sub(r"(?m)^#(\w+ = )", r"\1", plain)
        for name, each in (("plain.toml", plain), ("active.toml", active)):
            path = tmp_path / name
            path.write_text(each)
            assert configuration(None, None, path) == configuration(device, scheme)
        tables = tomllib.loads(active)
        assert {(each["table"], each["key"]) for each in SETTINGS} <= {
            (table, key) for table, keys in tables.items() for key in keys
        }


def test_only_what_differs_from_the_default_is_active(command):
    device = tomllib.loads(_native.device_file("ssd1"))["device"]
    active = tomllib.loads(command("init", "-", "--device", "ssd1", "--scheme", "raid5").stdout)
    defaults = {each["key"]: each["default"] for each in SETTINGS if each["table"] == "device"}
    differing = {key: value for key, value in device.items() if str(value) != defaults[key]}
    assert active == {"device": differing, "array": {}, "scheme": {"name": "raid5"}, "host": {}, "run": {}}
    assert len(differing) < len(device)


def test_each_setting_comes_with_what_the_schema_says_of_it():
    lines = text("-", "tiny", "ppc").splitlines()
    parameters = json.loads(_native.schemes("ppc"))[0]["parameters"]
    flat = " ".join(line.removeprefix("#").strip() for line in lines)
    for of in [*SETTINGS, *parameters]:
        default = "Required." if of["default"] is None else f"Default: {of['default'] or 'none'}."
        facts = f"Unit: {of['unit']}. {default}" if of["unit"] else default
        said = [of["about"], f"{facts} Allowed: {of['allowed']}.", *(word["about"] for word in of.get("words", []))]
        assert all(each in flat for each in said), of
    assert max(map(len, lines)) <= 120


def test_without_device_and_scheme_it_needs_them_as_options(command):
    said = command("init", "my.toml").stderr
    assert "flashraid run TRACE --config my.toml --device NAME --scheme NAME\n" in said
    plain = command(*RUN, "--device", "tiny", "--scheme", "raid0")
    assert command(*RUN, "--config", "my.toml", "--device", "tiny", "--scheme", "raid0").stdout == plain.stdout
    of_device = command("init", "-", "--device", "tiny").stdout
    assert '\nname = "tiny"\n' in of_device
    assert "\n#name =\n" in of_device
    assert '\nname = "ppc"\n' in command("init", "-", "--scheme", "ppc").stdout
    queued = command("init", "queued.toml", "--device", "nvme-2026")
    assert queued.stdout == ""
    options = ["--scheme", "raid5", "--queue-depth", "4"]
    of_queued, of_preset = (
        command(*RUN, *from_, *options) for from_ in (["--config", "queued.toml"], ["--device", "nvme-2026"])
    )
    assert (of_queued.stdout, of_queued.stderr) == (of_preset.stdout, of_preset.stderr)
    assert json.loads(of_queued.stdout)["config"]["host"]["device_queue_depth"] == 1024
    command("init", "array.toml", "--device", "array-5x")
    of_array = command(*RUN, "--config", "array.toml", "--scheme", "raid5").stdout
    assert of_array == command(*RUN, "--device", "array-5x", "--scheme", "raid5").stdout


def test_a_file_is_replaced_only_when_asked(command):
    command("init", "--device", "tiny")
    path = command.folder / "flashraid.toml"
    before = path.read_text()
    refused = command("init", "--device", "ssd1", status=2)
    assert refused.stderr == "error: flashraid.toml exists: allowed is another name, or --force to replace it\n"
    assert path.read_text() == before
    (command.folder / "link.toml").symlink_to("nothing.toml")
    assert "link.toml exists" in command("init", "link.toml", "--device", "ssd1", status=2).stderr
    (command.folder / "link.toml").unlink()
    command("init", "--device", "ssd1", "--force")
    assert path.read_text() != before
    own = write_device(command.folder)
    device = own.read_text()
    assert "are both" in command("init", own, "--device", own, "--force", status=2).stderr
    assert own.read_text() == device
    assert sorted(each.name for each in command.folder.iterdir()) == sorted(["flashraid.toml", own.name])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--device", "tinny"], "error: unknown device tinny; the nearest is tiny; "),
        (["--scheme", "raid9"], "error: unknown scheme raid9; the nearest is raid0; "),
        (["--device", "tiny", "--scheme", "hotswap"], "error: hotswap replaces SSDs of an array: "),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(command, arguments, says):
    assert command("init", *arguments, status=2).stderr.startswith(says)
    assert not list(command.folder.iterdir())


@pytest.mark.parametrize("device", ["tiny", "array-5x"])
def test_a_device_file_to_start_from_is_the_device(command, device):
    file = command("devices", device, "--toml").stdout
    (command.folder / "mine.toml").write_text(file)
    one, other = (command(*RUN, "--device", each, "--scheme", "raid5").stdout for each in (device, "mine.toml"))
    assert one == other
    # Numbers keep the comments that say where they come from.
    assert re.search(r"(?m)^channels = \d+ +# ", file) or file.startswith("# ")
    changed = file.replace("read_ns = ", "read_ns = 1", 1)
    (command.folder / "mine.toml").write_text(changed)
    assert command(*RUN, "--device", "mine.toml", "--scheme", "raid5").stdout != one


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["devices", "--toml"], "--toml needs a device"),
        (["devices", "tinny", "--toml"], "unknown device tinny; the nearest is tiny"),
        (["devices", "tiny", "--toml", "--json"], "--toml: allowed is devices NAME --toml, without other options"),
        (["devices", "tiny", "--toml", "--scheme", "raid5"], "--toml: allowed is devices NAME --toml, without"),
    ],
)
def test_a_device_file_is_of_one_preset(command, arguments, says):
    done = command(*arguments, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {says}")
