"""What a recording lacks, and how it was put in order: every command says the same of the same file."""

import json

import pytest

import flashraid as fr

LOST = "the recording lacks 86000 events"
HEADER = "# tracer: nop\n#\n"
ON = ["--device", "tiny", "--scheme", "raid5"]


def issued(number, op="WS"):
    where = f"259,0 {op} 4096 () {number % 40 * 8} + 8 none,0,0 [fio]"
    return f"   fio-1     [001] .....   {100 + number * 0.01:.6f}: block_rq_issue: {where}\n"


@pytest.fixture
def lost(command):
    """FIELD_CASES 3b, with some more requests."""
    events = [issued(number, "RS" if number % 3 == 0 else "WS") for number in range(80)]
    text = HEADER + "".join(events[:9]) + "CPU:1 [LOST 86000 EVENTS]\n" + "".join(events[9:])
    (command.folder / "lost.tracefs.txt").write_text(text)
    return "lost.tracefs.txt"


def test_every_command_says_the_same(command, lost):
    fixed = f'[fixed]\ntrace = "{lost}"\ndevice = "tiny"\n'
    (command.folder / "plan.toml").write_text(fixed + '[grid]\nscheme = ["raid0", "raid5"]\n')
    small = ["--device", "tiny", "--schemes", "raid0,raid5", "--seeds", "1"]
    for arguments in (
        ["run", lost, *ON],
        ["compare", lost, *small, "--no-capacity"],
        ["sweep", "plan.toml"],
        ["advise", lost, *small],
        ["trace", "info", lost],
        ["trace", "convert", lost, "-o", "a.csv"],
        ["trace", "fit", lost, "-o", "twin.toml"],
        ["trace", "anonymise", lost, "-o", "b.csv", "--seed", "1"],
    ):
        told = command(*arguments).stderr
        assert told.count(LOST) == 1, (arguments, told)
    with pytest.warns(UserWarning, match=LOST):
        workload = fr.run(command.folder / lost, device="tiny", scheme="raid5", unwritten="prefill").workload
    assert (workload.requests, workload.lost_events, len(workload.warnings)) == (80, 86000, 1)
    assert workload.warnings == fr.trace_info(command.folder / lost).warnings


def joined(folder):
    """FIELD_CASES 1: the logs of two processors, one after the other and in order of time."""
    rows = [
        (
            number * 1000 + cpu * 500,
            f"{number * 0.001 + cpu * 0.0005:.9f} 1 D W {number * 8 * 7919 % 2_000_000} + 8 [x]\n",
        )
        for cpu in (0, 1)
        for number in range(6000)
    ]
    for name, found in (("joined", rows), ("sorted", sorted(rows))):
        text = "".join(f"  8,0  0 {number + 1} {row}" for number, (_, row) in enumerate(found))
        (folder / f"{name}.blkparse.txt").write_text(text)
    return [f"{name}.blkparse.txt" for name in ("joined", "sorted")]


def test_joined_logs_are_the_sorted_file(command):
    files = joined(command.folder)
    arguments = ["--device", "ssd1", "--scheme", "raid0", "--json", "-", "--no-engine"]
    done = [command("run", name, *arguments) for name in files]
    results = [json.loads(each.stdout) for each in done]
    works = [each.pop("workload") for each in results]
    assert results[0] == results[1]
    write = results[0]["latency_ns"]["write"]
    assert 302_000 < write["min"] == write["max"] < 304_000
    assert [(work["out_of_order"], work["steps_back"]) for work in works] == [(5999, 1), (0, 0)]
    said = ["looks like several logs joined" in each.stderr for each in done]
    assert said == [True, False]
    # A pipe as a file; the log that is written has the times that were recorded.
    piped = json.loads(
        command("run", "-", *arguments, "--format", "blkparse", input=(command.folder / files[0]).read_text()).stdout
    )
    assert piped["latency_ns"] == results[0]["latency_ns"]
    command("trace", "convert", files[0], "-o", "converted.csv")
    times = fr.read_trace(command.folder / "converted.csv")["arrival_ns"]
    assert times.to_list() == [number * 500_000 for number in range(12_000)]
    assert fr.read_trace(command.folder / files[0]).equals(fr.read_trace(command.folder / files[1]))


def test_all_runs_over_joined_logs_are_of_the_sorted_file(command):
    files = joined(command.folder)
    found = [
        json.loads(
            command(
                "compare", name, "--device", "ssd1", "--schemes", "raid0,raid5", "--json", "-", "--no-engine"
            ).stdout
        )
        for name in files
    ]
    assert found[0]["capacity"] == found[1]["capacity"]
    for ours, theirs in zip(found[0]["results"], found[1]["results"], strict=True):
        assert ours["latency_ns"] == theirs["latency_ns"]


def test_a_message_names_the_option_that_reads_the_file(command):
    """FIELD_CASES 6."""
    rows = [f"230,112  2  {n}  0.00{n} 11721  Q   R {n * 128} + 128 [blkback.27.hdd]\n" for n in range(3)]
    (command.folder / "zvol.blkparse.txt").write_text("".join(rows))
    done = command("run", "zvol.blkparse.txt", *ON, status=2)
    assert done.stderr.strip().endswith("no D events, but 3 Q: --action Q; expected at least one request")
    found = json.loads(command("run", "zvol.blkparse.txt", *ON, "--action", "Q", "--json", "-").stdout)
    assert found["workload"]["requests"] == 3
