"""The host side of a drive, from the command and from Python."""

import json

import pytest
from conftest import SAMPLE

import flashraid as fr

SIDE = {
    "host_write_ps_per_byte": 20_000,
    "host_read_ps_per_byte": 20_000,
    "command_ns": 1_110,
    "unit_ns": 460,
    "read_latency_ns": 21_500,
    "write_latency_ns": 4_000,
    "device_queue_depth": 2,
    "queues": 3,
    "fetch": 2,
}
SET = [word for key, value in SIDE.items() for word in ("--set", f"{key}={value}")]
RUN = ["run", SAMPLE, "--device", "tiny", "--scheme", "raid5", "--fit", "wrap", "--speed", "20"]


def test_a_result_with_a_host_side_repeats_its_run(command):
    command(*RUN, *SET, "--no-engine", "--json", "first.json")
    command("run", SAMPLE, "--config", "first.json", "--no-engine", "--json", "second.json")
    assert (command.folder / "first.json").read_bytes() == (command.folder / "second.json").read_bytes()
    told = json.loads((command.folder / "first.json").read_text())
    assert {key: told["config"]["host" if key in told["config"]["host"] else "device"][key] for key in SIDE} == SIDE
    assert all(0 < told["host_side"][part]["busy_fraction"] < 1 for part in ("write_link", "read_link", "controller"))


def test_a_drive_without_a_host_side_says_nothing_of_one():
    settings = {"device": "tiny", "scheme": "raid5", "fit": "wrap", "speed": 20}
    plain = fr.run(SAMPLE, **settings)
    assert "host_side" not in plain.to_dict()
    with_side = fr.run(SAMPLE, **settings, **SIDE)
    assert with_side.latency.read.min > plain.latency.read.min
    assert with_side.host_side.controller.busy_ns > 1_570 * with_side.workload.reads


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("command_ns=-1", "command_ns = -1: allowed is"),
        ("queues=0", "queues = 0: allowed is a whole number from 1 to 64"),
        ("queues=65", "queues = 65: allowed is a whole number from 1 to 64"),
        ("queues=2", "queues = 2: has no effect here: allowed with device_queue_depth above 0"),
        ("fetch=2", "fetch = 2: has no effect here: allowed with queues above 1"),
        (
            "models=1:command_ns=5",
            "models = 1:command_ns=5: command_ns is a setting of the whole array, not of one SSD",
        ),
    ],
)
def test_what_cannot_be_is_one_clear_line(command, given, said):
    done = command(*RUN, *(["--set", "devices=4"] if given.startswith("models") else []), "--set", given, status=2)
    assert said in done.stderr
