"""What settings come to: one value each, effect where they say so, units; and what a device costs and survives."""

import json

import pytest
from conftest import SAMPLE, write_device, write_trace, writes

import flashraid as fr

RUN = ["run", SAMPLE, "--device", "tiny", "--fit", "wrap", "--limit", "200"]


def error(done):
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--scheme", "raid5", "--queue-depth", "8", "--set", "queue_depth=4"],
            "--queue-depth 8 and --set queue_depth=4",
        ),
        (
            ["--scheme", "raid5", "--queue-depth", "8", "--set", "run.queue_depth=4"],
            "--queue-depth 8 and --set run.queue_depth=4",
        ),
        (["--scheme", "raid5", "--set", "scheme.name=raid0"], "--scheme raid5 and --set scheme.name=raid0"),
        (["--scheme", "raid5", "--verify", "--set", "verify=false"], "--verify and --set verify=false"),
        (["--scheme", "raid5", "--fill", "50%", "--set", "fill=0.4"], "--fill 50% and --set fill=0.4"),
        (
            ["--scheme", "raid5", "--space", "8MiB", "--set", "space_bytes=8MB"],
            "--space 8MiB and --set space_bytes=8MB",
        ),
        (
            ["--scheme", "raid5", "--fail", "chip:0.0@50%", "--set", "fail=chip:1.0@50%"],
            "--fail chip:0.0@50% and --set fail=chip:1.0@50%",
        ),
    ],
)
def test_an_option_and_a_set_that_contradict_each_other_are_refused(command, options, says):
    done = command(*RUN, *options, "--quiet", status=2)
    assert error(done) == f"error: {says} contradict each other: give one of them\n"


def test_the_same_said_twice_passes_and_a_repeated_set_counts_last(command):
    options = ["--fill", "50%", "--set", "fill=0.5", "--queue-depth", "8", "--set", "run.queue_depth=8"]
    more = [
        "--scheme",
        "raid5",
        "--set",
        "scheme.name=raid5",
        "--set",
        "gc_reserve_blocks=3",
        "--set",
        "gc_reserve_blocks=4",
    ]
    config = json.loads(command(*RUN, *options, *more, "--json", "--quiet").stdout)["config"]
    assert (config["run"]["fill"], config["run"]["queue_depth"], config["device"]["gc_reserve_blocks"]) == (0.5, 8, 4)


def test_options_count_over_a_file(command):
    (command.folder / "c.toml").write_text('[scheme]\nname = "raid0"\n[run]\nqueue_depth = 4\nseed = 3\n')
    done = command(*RUN, "--config", "c.toml", "--scheme", "raid5", "--queue-depth", "8", "--json", "--quiet")
    result = json.loads(done.stdout)
    assert (result["scheme"], result["config"]["run"]["queue_depth"], result["seed"]) == ("raid5", 8, 3)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"scheme": "raid5", "scheme.name": "raid0"}, "scheme = raid5 and scheme.name = raid0"),
        ({"scheme": "raid5", "queue_depth": 8, "run.queue_depth": 4}, "queue_depth = 8 and run.queue_depth = 4"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(settings, says):
    for use in (lambda: fr.run(SAMPLE, device="tiny", **settings), lambda: fr.Simulation(device="tiny", **settings)):
        with pytest.raises(fr.InputError, match=f"^{says} contradict each other: give one of them$"):
            use()


def test_a_setting_without_effect_is_refused_before_anything_is_said(command):
    done = command(*RUN, "--scheme", "raid5", "--queue-depth", "8", "--speed", "2", status=2)
    assert error(done).startswith("error: speed = 2: has no effect here: allowed with queue_depth = 0")
    with pytest.raises(fr.InputError, match="cmt_entries = 10: has no effect here: allowed with mapping = dftl"):
        fr.Simulation(device="tiny", scheme="raid5", cmt_entries=10)


def test_a_comparison_takes_what_has_effect_under_one_scheme(command):
    options = ["compare", *RUN[1:], "--schemes", "raid0,raid5", "--json"]
    done = command(*options, "--set", "parity_in_response=false")
    assert "warning: raid0: parity_in_response = false: has no effect here" in done.stderr
    first, second = (each["config"]["host"]["parity_in_response"] for each in json.loads(done.stdout)["results"])
    assert (first, second) == (True, False)
    done = command(*options, "--set", "cmt_entries=10", status=2)
    assert error(done).startswith("error: cmt_entries = 10: has no effect here")


def test_what_changed_nothing_in_a_run_is_told(command, tmp_path):
    trace = write_trace(tmp_path, writes(50))
    options = [
        "--set",
        "rebuild_window=4",
        "--set",
        "gc_blocking_scope=none",
        "--seed",
        "7",
        "--limit",
        "1000",
        "--drain",
    ]
    done = command("run", trace, "--device", "tiny", "--scheme", "raid5", *options)
    for text in (
        "rebuild_window = 4: had no effect in this run: nothing failed",
        "gc_blocking_scope = none: had no effect in this run: GC did not run",
        "seed = 7: had no effect in this run: nothing in the run is random (precondition = none, jitter_ns = 0)",
        "limit = 1000: had no effect in this run: the trace has fewer requests",
        "drain = true: had no effect in this run: nothing had to be drained",
    ):
        assert f"warning: {text}\n" in done.stderr
    said = "action = Q: had no effect in this run: the trace is no recording of several events of a request"
    with pytest.warns(UserWarning, match=said):
        result = fr.run(trace, device="tiny", scheme="raid5", action="Q")
    assert any("action = Q" in text for text in result.warnings)


def test_a_result_run_again_says_nothing_of_its_settings(command):
    command(*RUN, "--scheme", "raid5", "--set", "rebuild_window=4", "--no-engine", "--json", "first.json")
    done = command("run", SAMPLE, "--config", "first.json", "--no-engine", "--json", "second.json")
    assert "effect" not in done.stderr
    assert (command.folder / "first.json").read_bytes() == (command.folder / "second.json").read_bytes()


def test_numbers_take_units(command, tmp_path):
    device = write_device(tmp_path, page_bytes='"8KiB"', read_ns='"20us"', over_provisioning='"25%"')
    done = command("run", SAMPLE, "--device", device, "--scheme", "raid0", "--fit", "wrap", "--json", "--fill", "50%")
    config = json.loads(done.stdout)["config"]
    read = (config["device"]["page_bytes"], config["device"]["read_ns"], config["device"]["over_provisioning"])
    assert (*read, config["run"]["fill"]) == (8192, 20_000, 0.25, 0.5)
    sim = fr.Simulation(device="tiny", scheme="raid0", space_bytes="8MiB", fill="10%")
    assert sim.space_bytes == 8 << 20


def test_device_files_that_lack_keys(command):
    (command.folder / "empty.toml").write_text("")
    (command.folder / "part.toml").write_text('[device]\nname = "x"\nchannels = 4\n')
    for name, lacks in (
        ("empty.toml", "no device: table device lacks name, channels"),
        ("part.toml", "table device lacks chips"),
    ):
        for arguments in (["devices", name], [*RUN[:2], "--device", name, "--scheme", "raid5"]):
            assert error(command(*arguments, status=2)).startswith(f"error: {name}: {lacks}")


def test_survival_and_nvram_are_shown_on_the_device(command):
    shown = command("devices", "ppc-4p1").stdout
    assert "survives the loss of" in shown
    assert "(32.0 KiB write buffer, 32.0 KiB parity cache)" in " ".join(
        shown.replace("parity cache, ", "").split()
    ) or ("32.0 KiB parity cache" in shown and "32.0 KiB write buffer" in shown)
    assert "any one channel, but for pages whose parity is still to be made" in shown
    assert (
        "the parity cache has only 2 entries"
        in command("devices", write_device(command.folder, page_bytes=16384)).stdout
    )
    schemes = {each["name"]: each["survives"] for each in json.loads(command("schemes", "--json").stdout)}
    assert schemes["raid0"] == "nothing"
    assert schemes["raid5"] == "any one channel; with member = chip any one chip"
    done = command("compare", *RUN[1:], "--schemes", "raid0,raid5,ppc", "--quiet").stdout
    rows = {line.split("  ")[0].strip(): line.split() for line in done.splitlines()}
    assert rows["NVRAM (KiB)"][-1] == "32.0"
    assert rows["survives the loss of"][-7:] == ["nothing", *["any", "one", "channel"] * 2]
