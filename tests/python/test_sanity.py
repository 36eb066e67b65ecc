"""What is said of a trace before it is run: figures, and warnings of what is almost certainly a wrong unit."""

import json

import pytest
from conftest import PAGE, SAMPLE, write_device, write_trace, writes

import flashraid as fr
from flashraid import _native, machine
from flashraid.command.compare import compare_as_planned
from flashraid.command.sanity import show
from flashraid.comparing import planned
from flashraid.outputs import Outputs
from flashraid.settings import configuration


def sanity(trace, device, **settings):
    pairs = [(key, str(value)) for key, value in settings.items()]
    return json.loads(_native.sanity(str(trace), str(device), "raid0", None, pairs))


def test_figures_are_those_of_the_requests(tmp_path, device):
    rows = [(0, "W", 0, 2 * PAGE), (500, "R", PAGE, PAGE), (1000, "R", 8 * PAGE + 512, 1024), (2000, "F", 0, 0)]
    found = sanity(write_trace(tmp_path, rows), device)
    assert (found["format"], found["time_unit"], found["requests"], found["is_all"]) == ("flashraid", "us", 4, True)
    assert (found["span_ns"], found["requests_per_second"]) == (2_000_000, 2000)
    assert (found["footprint_bytes"], found["max_address_bytes"]) == (3 * PAGE, 8 * PAGE + 1536)
    assert found["mean_bytes"] == (3 * PAGE + 1024) / 3
    assert (found["unaligned"], found["beyond_space"], found["write_share"]) == (1, 0, 1 / 3)
    # Per channel: 2 programs and 2 reads of cells on 4 dies; the buses carry 25 ns a byte and 175 ns a command.
    cells_ns = (2 * 20_000 + 2 * 200_000) / 4
    buses_ns = ((3 * PAGE + 1024) * 25 + 4 * 175) / 4
    assert found["expected_load"] == pytest.approx(max(cells_ns, buses_ns) / 2_000_000)
    assert found["warnings"] == []
    assert sanity(write_trace(tmp_path, rows), device, speed=4)["span_ns"] == 500_000
    assert sanity(write_trace(tmp_path, rows), device, queue_depth=4)["expected_load"] is None


def test_the_load_knows_programs_of_several_pages_and_power(tmp_path, device):
    rows = [(at, "W", 8 * at * PAGE, 8 * PAGE) for at in range(2)]
    quick = {"bus_ps_per_byte": 0, "program_command_ns": 0}
    programs = {"program_pages": 4, "power_loss_protection": "true"}
    # Sixteen pages on four dies: sixteen programs, or four of four pages; one after the other with power for one die.
    one_die = quick | programs | {"active_dies": 1}
    # A slice of 2 has two dies, which have power for half of one.
    slices = ((quick | {"slice": 2}, 8), (one_die | {"slice": 2}, 8))
    for given, one_after_the_other in ((quick, 4), (quick | programs, 1), (one_die, 4), *slices):
        found = sanity(write_trace(tmp_path, rows), device, **given)
        assert found["expected_load"] == pytest.approx(one_after_the_other * 200_000 / 1000)


def test_limit_and_sample(tmp_path, device):
    trace = write_trace(tmp_path, writes(300))
    assert (sanity(trace, device)["requests"], sanity(trace, device)["is_all"]) == (300, True)
    assert (sanity(trace, device, limit=20)["requests"], sanity(trace, device, limit=20)["is_all"]) == (20, True)


@pytest.mark.parametrize(
    ("gap_us", "unit", "says"),
    [
        (1000, "auto", None),
        (1000, "ns", "1005025 requests a second, 50.3 times what the device can serve"),
        (1000, "s", "requests a second: if its times are not in s, try --time-unit"),
        (10_000_000_000, "auto", "if its times are not in us, try --time-unit ns"),
    ],
)
def test_a_wrong_unit_is_noticed(tmp_path, device, gap_us, unit, says):
    rows = [(index * gap_us, "W", index % 100 * PAGE, PAGE) for index in range(200)]
    found = sanity(write_trace(tmp_path, rows), device, time_unit=unit)
    assert bool(found["warnings"]) == (says is not None), found["warnings"]
    if says:
        assert says in found["warnings"][0]


@pytest.mark.parametrize(
    ("size", "warns"),
    [(8, "counts sectors, choose a format"), (4096, "counts bytes, choose a format")],
)
def test_a_wrong_unit_of_sizes_is_noticed(tmp_path, size, warns):
    device = write_device(tmp_path, blocks_per_plane=30_000)
    name, kind = ("heimdall", "ms") if size == 8 else ("ssdsim", "ns")
    trace = tmp_path / f"sizes.{name}-{kind}.trace"
    step = 100 if kind == "ms" else 100_000_000
    trace.write_text("".join(f"{index * step} 0 {index * size} {size} 0\n" for index in range(200)))
    (warning,) = sanity(trace, device)["warnings"]
    assert warns in warning


def test_addresses_beyond_the_space_are_announced(tmp_path, device):
    rows = [(0, "W", 0, PAGE), (1000, "W", 1 << 40, PAGE)]
    for fit, says in (("wrap", "they are wrapped"), ("error", "--fit wrap")):
        (warning,) = sanity(write_trace(tmp_path, rows), device, fit=fit)["warnings"]
        assert warning.startswith("1 of the 2 requests end beyond the logical space")
        assert says in warning


def test_said_before_the_run_and_not_when_quiet(command, device):
    done = command("run", SAMPLE, "--device", "ssd1", "--scheme", "raid0", "--limit", "500", "--time-unit", "ns")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("trace: flashraid, times in ns; 500 requests in ")
    assert lines[1].startswith("warning: the trace has ")
    assert "--time-unit 100ns or us" in lines[1]
    done = command("run", SAMPLE, "--device", "ssd1", "--scheme", "raid0", "--limit", "500", "--quiet")
    assert done.stderr == ""


def test_requests_that_do_not_fit_can_be_left_out(tmp_path, command, device):
    rows = [(0, "W", 0, PAGE), (1000, "W", 1 << 40, PAGE), (2000, "R", 0, PAGE), (3000, "R", 0, 1 << 31)]
    trace = write_trace(tmp_path, rows)
    options = ("run", trace, "--device", device, "--scheme", "raid0", "--json")
    assert "request 2 ends at byte" in command(*options, status=2).stderr
    work = json.loads(command(*options, "--on-error", "skip").stdout)["workload"]
    assert (work["requests"], work["left_out"], work["wrapped"]) == (2, 2, 0)
    work = json.loads(command(*options, "--on-error", "skip", "--fit", "wrap").stdout)["workload"]
    assert (work["requests"], work["left_out"], work["wrapped"]) == (3, 1, 1)


def test_lines_that_cannot_be_read_can_be_left_out(tmp_path, command, device):
    trace = write_trace(tmp_path, writes(3))
    trace.write_text(trace.read_text().replace("1000,W", "1000,X"))
    options = ("run", trace, "--device", device, "--scheme", "raid0", "--json")
    assert ":3:6: op is 'X'" in command(*options, status=2).stderr
    done = command(*options, "--on-error", "skip")
    work = json.loads(done.stdout)["workload"]
    assert (work["requests"], work["skipped"]) == (2, 1)
    assert "1 lines or records were skipped; the first error: " in done.stderr


def test_a_coarse_clock_is_said(tmp_path, command, device):
    trace = tmp_path / "clock.tencent.csv"
    trace.write_text("1538400000,0,8,1,7\n1538400000,8,8,1,7\n1538400001,0,8,0,7\n")
    shown = " ".join(command("trace", "info", trace).stdout.split())
    said = "ticks of 1 s; requests are spread evenly over each tick, so shorter gaps and bursts are invented"
    assert said in shown
    info = json.loads(command("trace", "info", trace, "--json", "-").stdout)
    assert (info["spread_tick_ns"], info["interarrival_mean_ns"]) == (1_000_000_000, 500_000_000)
    options = ("run", trace, "--device", device, "--scheme", "raid0")
    said = "the trace's clock has ticks of 1 s: requests were spread evenly over each tick"
    assert said in command(*options).stderr
    assert said not in command(*options, "--queue-depth", "2").stderr


def test_a_pipe_is_read_once_and_whole(tmp_path, command, device):
    rows = "".join(f"{index * 1000} 0 {index % 100 * 8} 8 0 {' ' * 30}\n" for index in range(20_000))
    arguments = ("run", "/dev/stdin", "--format", "ssdsim", "--device", device, "--scheme", "raid0", "--json")
    assert json.loads(command(*arguments, input=rows).stdout)["workload"]["requests"] == 20_000
    several = "0 0 0 8 0\n1000 1 0 8 0\n"
    (tmp_path / "several.txt").write_text(several)
    piped, read = (
        json.loads(command("run", source, *arguments[2:], "--no-engine", input=text).stdout)
        for source, text in ((arguments[1], several), (tmp_path / "several.txt", b""))
    )
    assert piped["workload"]["devices"] == 2
    assert (piped["workload"].pop("name"), read["workload"].pop("name")) == ("stdin", "several.txt")
    assert piped == read
    done = command(*arguments, "--fail", "chip:1.0@50%", input=rows, status=2)
    assert "a share of the trace needs a trace that can be read twice" in done.stderr


def test_the_library_looks_too(tmp_path, device):
    trace = write_trace(tmp_path, [(index, "W", index % 100 * PAGE, PAGE) for index in range(200)])
    found = fr.sanity(trace, device=device, scheme="raid0", time_unit="ns")
    assert found.requests == 200
    assert "--time-unit" in found.warnings[0]


def test_left_out_requests_are_said_before_and_after(tmp_path, command, device):
    trace = write_trace(tmp_path, [(0, "W", 0, PAGE), (1000, "W", 1 << 40, PAGE)])
    done = command("run", trace, "--device", device, "--scheme", "raid0", "--on-error", "skip")
    assert "they are left out; to replay them, use --fit compact, --fit wrap" in done.stderr
    assert "1 requests did not fit in the logical space and were left out" in done.stderr


def test_the_library_warns_before_a_run(tmp_path, device):
    trace = write_trace(tmp_path, [(index, "W", index % 100 * PAGE, PAGE) for index in range(200)])
    with pytest.warns(UserWarning, match="--time-unit"):
        fr.run(trace, device=device, scheme="raid0", time_unit="ns")
    with pytest.warns(UserWarning, match="--time-unit"):
        fr.compare(trace, device=device, schemes=["raid0", "raid1"], time_unit="ns")


def test_devices_that_the_trace_has_not_are_named(tmp_path, command, device):
    trace = tmp_path / "two.ssdsim.trace"
    trace.write_text("0 1 0 8 0\n1000000 2 0 8 0\n")
    arguments = ("run", trace, "--device", device, "--scheme", "raid0", "--device-filter")
    assert (
        "--device-filter: the part of the trace that was read has no requests of 7" in command(*arguments, "1,7").stderr
    )
    assert "that was read has no requests of" not in command(*arguments, "1,2").stderr


@pytest.mark.parametrize(("spare", "is_short"), [(0, False), (-1, True)])
def test_what_takes_more_memory_than_is_free_is_said_before_the_run(
    tmp_path, device, monkeypatch, capsys, spare, is_short
):
    needed = configuration(str(device), "raid0", None, [])["memory_bytes"]
    monkeypatch.setattr(machine, "free_bytes", lambda: needed + spare)
    trace = write_trace(tmp_path, writes(3))
    assert len(show(str(trace), str(device), "raid0", None, [])) == is_short
    found = capsys.readouterr().err
    assert ("warning: once all of the device is written, a run takes " in found) == is_short, found
    monkeypatch.setattr(machine, "free_bytes", lambda: None)
    assert show(str(trace), str(device), "raid0", None, []) == []


def test_a_comparison_names_the_scheme_that_takes_most_memory(tmp_path, device, monkeypatch, capsys):
    trace = write_trace(tmp_path, writes(3))
    chosen = (str(trace), str(device), None, ["raid0", "ppc"], [], Outputs({}))
    plan = planned(*chosen, engine=False, seeds=1, capacity=False, jobs=1)
    needs = dict(zip(plan.schemes, plan.needed_bytes, strict=True))
    assert needs["ppc"] > needs["raid0"]
    monkeypatch.setattr(machine, "free_bytes", lambda: needs["raid0"])
    assert compare_as_planned(plan, None, quiet=False) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "of memory, of which" in line]
    assert len(lines) == 1
    assert lines[0].startswith("warning: ppc: "), lines
