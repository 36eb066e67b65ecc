"""The command: what goes where, exit statuses, files, and running again from a result."""

import json
import re
import signal
import subprocess
import tempfile
import time

import pytest
from conftest import COMMAND, LONG_REQUESTS, PAGE, ROOT, SAMPLE, SCHEMES, write_trace, writes

import flashraid as fr
import flashraid.command
from flashraid import _native

RUN = ["run", SAMPLE, "--device", "ssd1", "--limit", "2000", "--set", "fill=0.1"]

# The keys of DESIGN's contract that exist so far.
KEYS = {
    "": "schema version device scheme seed config simulated_ns workload requests latency_ns flash_ops "
    "write_amplification pages_per_host_page parity_updates members channels dies blocked_cv wear rebuild verify "
    "engine",
    "config": "device scheme host run",
    "workload": "name sha256 requests reads writes trims flushes bytes_read bytes_written offered_load",
    "requests": "completed failed unfinished unmapped_reads",
    "requests.failed": "no_space lost refused",
    "latency_ns": "all read write trim flush",
    "latency_ns.read": "count mean stddev min max p50 p90 p95 p99 p99_9 p99_99",
    "flash_ops": "reads programs erases",
    "flash_ops.reads": "host update_read pre_read parity mirror commit reconstruct gc wear rebuild migration metadata "
    "retry total",
    "parity_updates": "full_stripe rmw rcw mirrored deferred committed adjusted",
    "members.0": "reads programs busy_fraction mean_blocked p99_9_ns p99_99_ns max_ns free_blocks parity_share state "
    "erases",
    "channels.0": "busy_ns",
    "dies.0": "busy_ns",
    "wear": "erase_mean erase_max erase_stddev",
    "verify": "reads_checked mismatches pages_checked pages_lost pages_gone",
    "engine": "wall_seconds fill_seconds host_requests_per_second flash_ops_per_second peak_rss_bytes",
}


def test_json_has_the_keys_of_the_contract(command):
    result = json.loads(command(*RUN, "--scheme", "raid5", "--verify", "--json", "-").stdout)
    for path, keys in KEYS.items():
        value = result
        for part in path.split(".") if path else []:
            value = value[int(part)] if part.isdigit() else value[part]
        assert set(keys.split()) <= set(value), path


def test_json_alone_on_standard_output_and_byte_equal_to_the_file(command):
    one = command(*RUN, "--scheme", "raid5", "--no-engine", "--json", "-").stdout
    command(*RUN, "--scheme", "raid5", "--no-engine", "--json", "result.json")
    bare = command(*RUN, "--scheme", "raid5", "--no-engine", "--json").stdout
    library = fr.run(SAMPLE, device="ssd1", scheme="raid5", limit=2000, fill=0.1, engine=False).json
    assert json.loads(one)["scheme"] == "raid5"
    assert one == (command.folder / "result.json").read_text() == bare == library
    assert "engine" not in json.loads(one)


def test_table_on_standard_output_and_one_line_on_standard_error(command):
    done = command(*RUN, "--scheme", "raid5")
    assert done.stderr.startswith("trace: flashraid, times in us; 2,000 requests in 0.425 s (4,709/s); mean 10.9 KiB, ")
    assert done.stderr.count("\n") == 1
    for text in ("raid5 on ssd1", "p99.9", "write amplification", "offered load", "pre_read"):
        assert text in done.stdout


def test_warnings_on_standard_error_and_none_when_quiet(command):
    done = command(*RUN, "--scheme", "raid5", "--speed", "1000")
    assert "warning: offered load is" in done.stderr
    assert "warning: offered" not in done.stdout
    assert command(*RUN, "--scheme", "raid5", "--speed", "1000", "--quiet").stderr == ""


# Without the repeats and closed loops that take longer than what is tested.
ONCE = ["--seeds", "1", "--no-capacity", "--json"]


def test_comparison_table_and_json(command):
    arguments = ["compare", *RUN[1:], "--schemes", "raid0,raid1,raid5", "--no-engine", "--seeds", "1"]
    done = command(*arguments)
    price = ["user capacity", "redundancy overhead", "flash bytes per user byte", "DRAM of mapping tables"]
    for text in [*price, "raid0", "raid5", "survives", "offered load", "p99.9", "pre-reads"]:
        assert text in done.stdout
    compared = json.loads(command(*arguments, "--json", "-").stdout)
    assert [result["scheme"] for result in compared["results"]] == ["raid0", "raid1", "raid5"]
    settings = {"limit": 2000, "fill": 0.1, "engine": False, "seeds": 1}
    library = fr.compare(SAMPLE, device="ssd1", schemes=["raid0", "raid1", "raid5"], **settings)
    assert compared == library.to_dict() == json.loads(library.json)


def test_compare_gives_all_one_space_and_fills_the_same_bytes(command):
    done = command(
        "compare", *RUN[1:], "--schemes", "raid0,raid1", "--set", "fill=0.3", "--set", "gc_reserve_blocks=3", *ONCE
    )
    first, second = json.loads(done.stdout)["results"]
    page_bytes = first["config"]["device"]["page_bytes"]
    assert first["capacity"]["user_bytes"] > second["capacity"]["user_bytes"]
    assert first["capacity"]["space_bytes"] == second["capacity"]["space_bytes"] == second["capacity"]["user_bytes"]
    pages = second["capacity"]["user_bytes"] // page_bytes
    for result in (first, second):
        assert result["config"]["run"]["fill_bytes"] == int(0.3 * pages) * page_bytes
        assert result["config"]["run"]["fill"] == 0
        assert result["config"]["device"]["gc_reserve_blocks"] == 3
    assert first["capacity"]["filled_bytes"] == second["capacity"]["filled_bytes"]


def test_compare_takes_an_explicit_space(command):
    done = command("compare", *RUN[1:], "--schemes", "raid0,raid5", "--space", "8GiB", "--set", "fill=0.5", *ONCE)
    for result in json.loads(done.stdout)["results"]:
        assert result["capacity"]["space_bytes"] == 8 << 30
        assert result["config"]["run"]["fill_bytes"] == 4 << 30
    done = command("compare", *RUN[1:], "--schemes", "raid0,raid1", "--space", "40GiB", status=2)
    assert "raid1" in done.stderr


def test_compare_passes_a_parameter_to_the_schemes_that_have_it(command):
    done = command("compare", *RUN[1:], "--schemes", "raid0,raid5", "--set", "update=rmw", *ONCE)
    first, second = json.loads(done.stdout)["results"]
    assert (first["config"]["scheme"].get("update"), second["config"]["scheme"]["update"]) == (None, "rmw")
    done = command("compare", *RUN[1:], "--schemes", "raid0,raid1", "--set", "update=rmw", status=2)
    assert done.stderr.startswith("error: update is a parameter of raid4, raid5, cr5m, ")
    assert done.stderr.endswith(", not of raid0, whose parameters are: none\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--fil", "0.5"], "the nearest is --fill"),
        (["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--set", "gc_treshold=0.1"], "gc_threshold"),
        (["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--set", "gc_threshold"], "KEY=VALUE"),
        (["run", SAMPLE, "--device", "ssd9", "--scheme", "raid5"], "nearest is ssd"),
        (["run", SAMPLE, "--device", "ssd1", "--scheme", "raid55"], "nearest is raid5"),
        (["run", SAMPLE, "--device", "ssd1"], "no scheme"),
        (["run", SAMPLE, "--scheme", "raid5"], "no device"),
        (["run"], "TRACE"),
        (["rum"], "nearest is run"),
        (["run", "missing.csv", "--device", "ssd1", "--scheme", "raid5"], "missing.csv"),
        (["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--fill", "1.5"], "0 to 1"),
        (["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--space", "16GX"], "16GiB"),
        (["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--format", "scp"], "spc"),
        (["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--config", "none.toml"], "none.toml"),
        (["compare", SAMPLE, "--device", "ssd1", "--schemes", "raid0,raid0"], "twice"),
        (["trace", "info", "missing.csv"], "missing.csv"),
        (["trace", "info", SAMPLE, "--page-bytes", "0"], "page_bytes"),
        (["trace", "info", SAMPLE, "--limit", "9" * 30], "limit"),
        (["devices", "ssd9"], "nearest is ssd"),
        (["devices", "--scheme", "raid5"], "NAME"),
        (["schemes", "raid55"], "nearest is raid5"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(command, arguments, says):
    done = command(*arguments, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_result_can_be_run_again_and_comes_out_byte_equal(command):
    options = ["--seed", "7", "--set", "update=rmw", "--set", "gc_reserve_blocks=3", "--warmup", "100"]
    command(*RUN, "--scheme", "raid5", *options, "--no-engine", "--json", "first.json")
    command("run", SAMPLE, "--config", "first.json", "--no-engine", "--json", "second.json")
    assert (command.folder / "first.json").read_bytes() == (command.folder / "second.json").read_bytes()


def test_toml_configuration_and_later_settings_win(command):
    text = "[device]\ngc_reserve_blocks = 4\n[scheme]\nname = 'raid5'\nupdate = 'rcw'\n[run]\nspeed = 2\nlimit = 10\n"
    (command.folder / "c.toml").write_text(text)
    done = command(
        "run", SAMPLE, "--device", "ssd1", "--config", "c.toml", "--speed", "3", "--set", "run.limit=20", "--json"
    )
    config = json.loads(done.stdout)["config"]
    scheme = {"name": "raid5", "layout": "left_asymmetric", "update": "rcw"}
    assert config["device"]["gc_reserve_blocks"] == 4
    assert scheme.items() <= config["scheme"].items()
    assert (config["run"]["speed"], config["run"]["limit"]) == (3, 20)


def test_files_appear_complete_or_not_at_all(command, tmp_path, device):
    target = command.folder / "result.json"
    target.write_text("before")
    broken = write_trace(tmp_path, [*writes(3), ("x", "W", 0, PAGE)])
    arguments = ["--device", device, "--scheme", "raid5", "--json", target]
    done = command("run", broken, *arguments, status=2)
    assert f"{broken}:5:1" in done.stderr
    assert target.read_text() == "before"
    assert list(command.folder.iterdir()) == [target]
    command("run", write_trace(tmp_path, writes(3)), *arguments)
    assert json.loads(target.read_text())["requests"]["completed"] == 3
    assert list(command.folder.iterdir()) == [target]


@pytest.mark.parametrize("target", ["no/such/folder.json", ".", "/dev/null"])
def test_target_that_cannot_be_written_is_an_error_before_the_run(command, target):
    done = command("run", "missing.csv", "--device", "ssd1", "--scheme", "raid5", "--json", target, status=2)
    assert target in done.stderr
    assert "missing.csv" not in done.stderr


def test_full_disk_is_no_success(command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [COMMAND, "schemes", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr


@pytest.mark.parametrize("status", [1, 3])
@pytest.mark.parametrize(
    "how", [["run", "--scheme", "raid5"], ["compare", "--schemes", "raid0,raid5", "--no-capacity"]]
)
def test_status_of_the_engine_is_the_status_of_the_command(monkeypatch, capsys, status, how):
    """Violations (1) and requests failed for lack of space (3) do not happen here: the engine's answer is made up."""
    result = fr.run(SAMPLE, device="tiny", scheme="raid5", limit=200, fit="wrap", fill=0.1, verify=True)
    answers = iter([(result.json, None, ["made up"], status), (result.json, None, [], 0)])
    monkeypatch.setattr(_native, "run", lambda *arguments: next(answers))
    assert flashraid.command.run([how[0], str(SAMPLE), "--device", "ssd1", *how[1:]]) == status
    assert "made up" in capsys.readouterr().err


UNFORESEEN = {
    "IndexError: no such place": IndexError("no such place"),
    "RecursionError": RecursionError(),
    "the engine is stuck": fr.DefectError("the engine\nis stuck"),
    "index out of bounds": _native.PanicException("index out of bounds"),
}


@pytest.mark.parametrize("said", UNFORESEEN)
def test_what_nobody_foresaw_is_status_70_and_says_how_to_report_it(monkeypatch, capsys, tmp_path, said):
    def fail(*_arguments):
        raise UNFORESEEN[said]

    monkeypatch.setattr(_native, "devices", fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert flashraid.command.run(["devices"]) == 70
    (file,) = tmp_path.iterdir()
    assert capsys.readouterr().err == f"error: a defect of flashraid: {said}\nplease report it, with {file}\n"
    kept = file.read_text()
    assert kept.startswith(f"flashraid {fr.__version__}, Python ")
    assert "Traceback (most recent call last):" in kept
    # Where no file can be written, all that it would have is printed.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert flashraid.command.run(["devices"]) == 70
    printed = capsys.readouterr().err
    assert printed.endswith(f"\nerror: a defect of flashraid: {said}\nplease report it, with the lines above\n")
    assert kept.splitlines()[0] == printed.splitlines()[0]


def test_too_little_memory_is_no_defect(monkeypatch, capsys):
    def fail(*_arguments):
        raise MemoryError

    monkeypatch.setattr(_native, "devices", fail)
    assert flashraid.command.run(["devices"]) == 2
    assert capsys.readouterr().err == "error: there is not enough memory\n"


def test_one_document_and_the_help_name_every_status(command):
    of = {"0": "all", "1": "`run`, `compare`, `sweep`, `torture`", "2": "all", "70": "all", "130": "all"}
    table = re.findall(r"(?m)^\| (\d+) \| .* \| (.*) \|$", (ROOT / "docs/outputs.md").read_text())
    assert {status: commands for status, commands in table if status != "3"} == of
    assert [commands for status, commands in table if status == "3"] == ["`run`, `compare`", "`sweep`", "`advise`"]
    said = " ".join(command("--help").stdout.split())
    listed = said.partition("Exit status:")[2].partition(".")[0]
    assert [int(number) for number in re.findall(r"\b\d+\b", listed)] == [0, 1, 2, 3, 70, 130]


def interrupt(folder, *arguments):
    """Starts the command, waits until it has opened its target, and a moment later presses Ctrl-C."""
    process = subprocess.Popen([COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(folder.glob(".*.part")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr


def test_interrupted_run_writes_what_there_is_and_exits_130(tmp_path, long_trace):
    arguments = ["--device", "ssd1", "--json", "r.json"]
    status, stderr = interrupt(tmp_path, "run", long_trace, *arguments, "--scheme", "raid5")
    result = json.loads((tmp_path / "r.json").read_text())
    assert (status, result["partial"]) == (130, True)
    assert "partial" in stderr
    requests = result["requests"]
    assert requests["completed"] + requests["unfinished"] == result["workload"]["requests"] < LONG_REQUESTS
    status, _ = interrupt(tmp_path, "compare", long_trace, *arguments, "--schemes", "raid5,raid0")
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert (status, [result["partial"] for result in results]) == (130, [True])


def test_trace_synth_and_info(command):
    options = ["--requests", "5000", "--space", "64MiB", "--read-share", "0.7", "--min-pages", "1", "--max-pages", "4"]
    for name, more in {
        "a.csv": [],
        "b.ssdsim.ascii": ["--format", "ssdsim"],
        "c.csv": ["--arrivals", "poisson"],
    }.items():
        command("trace", "synth", "-o", name, *options, "--interval-ns", "100000", "--seed", "2", *more)
    info = {
        name: json.loads(command("trace", "info", name, "--json", "-").stdout)
        for name in ("a.csv", "b.ssdsim.ascii", "c.csv")
    }
    assert info["a.csv"]["requests"] == 5000
    assert 0.65 < 1 - info["a.csv"]["write_share"] < 0.75
    assert info["a.csv"]["duration_ns"] == 4999 * 100_000
    same = ("requests", "reads", "bytes_read", "bytes_written", "pages_touched", "max_address_bytes")
    assert len({tuple(each[key] for key in same) for each in info.values()}) == 1
    assert info["c.csv"]["duration_ns"] != info["a.csv"]["duration_ns"]
    assert "footprint" in command("trace", "info", "a.csv", "--page-bytes", "8KiB").stdout
    for name in ("a.csv.gz", "a.csv.zst", "a.csv.xz"):
        command("trace", "synth", "-o", name, *options, "--interval-ns", "100000", "--seed", "2")
        compressed = json.loads(command("trace", "info", name, "--json", "-").stdout)
        assert [compressed[key] for key in same] == [info["a.csv"][key] for key in same]
    text = command("trace", "synth", "-o", "-", *options, "--interval-ns", "100000", "--seed", "2").stdout
    assert text == (command.folder / "a.csv").read_text()


def test_devices(command):
    assert "ssd1" in command("devices").stdout
    assert {"ssd1", "tiny"} <= {device["name"] for device in json.loads(command("devices", "--json").stdout)}
    device = json.loads(command("devices", "ssd1", "--scheme", "raid5", "--json").stdout)
    assert (device["page_bytes"], device["physical_pages"]) == (4096, 16_777_216)
    assert device["raw_bytes"] == 64 << 30
    assert device["table_bytes"] > 0
    assert list(device["schemes"]) == ["raid5"]
    assert {"user_pages", "user_bytes", "reserved_bytes"} <= set(device["schemes"]["raid5"])
    shown = command("devices", "tiny").stdout
    assert all(text in shown for text in ("user capacity", "redundancy", "mapping tables"))
    price = device["schemes"]["raid5"]
    assert price["raw_per_user_byte"] == device["raw_bytes"] / price["user_bytes"]
    assert price["table_bytes"] == sum(price["tables"].values())


def test_schemes(command):
    schemes = {scheme["name"]: scheme for scheme in json.loads(command("schemes", "--json", "-").stdout)}
    assert list(schemes) == SCHEMES
    assert any(scheme["window"] for scheme in schemes.values())
    for name, scheme in schemes.items():
        shown = " ".join(command("schemes", name).stdout.replace("│", " ").split())
        assert ("exposure window until" in shown) == bool(scheme["window"])
        assert "survives the loss of" in shown
        assert ", ".join(scheme["nvram"]) in shown
    assert schemes["raid0"]["protects"] == "none"
    assert {"members", "parameters"} <= set(schemes["raid5"])
    assert "rmw" in command("schemes", "raid5").stdout
    groups = schemes["sirf1"]["parameters"][0]
    assert (groups["name"], groups["choices"], groups["default"]) == ("groups", [], "2")
    assert groups["allowed"] in command("schemes", "sirf1").stdout


def test_a_window_is_told_wherever_it_is_said_what_a_scheme_survives(command):
    """A scheme that makes redundancy later survives a member, but not at any time."""
    windows = [scheme["name"] for scheme in json.loads(command("schemes", "--json", "-").stdout) if scheme["window"]]
    for name in windows:
        words = "but for pages whose parity is still to be made"
        arguments = ["compare", *RUN[1:], "--schemes", f"raid5,{name}", "--no-engine", "--no-capacity"]
        always, not_always = json.loads(command(*arguments, "--json", "-").stdout)["results"]
        assert words in not_always["survives"]["text"]
        assert words not in always["survives"]["text"]
        for shown in (command(*arguments), command("devices", "ssd1", "--scheme", name)):
            assert words in " ".join(re.sub("[│┃]", " ", shown.stdout).split())


def test_version_and_help(command):
    assert command("--version").stdout == f"flashraid {fr.__version__}\n"
    assert "compare" in command(status=2).stdout
    assert "--queue-depth" in command("run", "--help").stdout
