"""What a recording lacks, and how it was put in order: every command says the same of the same file."""

import json

import pytest
from test_readers import blktrace

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


def all_say(command, trace, sentence, **reading):
    """Each command that reads the trace says the sentence, once."""
    fixed = {"trace": trace, "device": "tiny", "fit": "compact", **reading}
    lines = "".join(f'{key} = "{value}"\n' for key, value in fixed.items())
    (command.folder / "plan.toml").write_text(f'[fixed]\n{lines}[grid]\nscheme = ["raid0", "raid5"]\n')
    options = [word for key, value in reading.items() for word in (f"--{key}", value)]
    small = [*options, "--fit", "compact", "--device", "tiny", "--schemes", "raid0,raid5", "--seeds", "1"]
    for arguments in (
        ["run", trace, *ON, *options, "--fit", "compact"],
        ["compare", trace, *small, "--no-capacity"],
        ["sweep", "plan.toml"],
        ["advise", trace, *small],
        ["trace", "info", trace, *options],
        ["trace", "convert", trace, "-o", "a.csv", *options],
        ["trace", "fit", trace, "-o", "twin.toml", *options],
        ["trace", "anonymise", trace, "-o", "b.csv", "--seed", "1", *options],
    ):
        told = " ".join(command(*arguments).stderr.split())
        assert told.count(sentence) == 1, (arguments, told)


def test_every_command_says_the_same(command, lost):
    all_say(command, lost, LOST)
    with pytest.warns(UserWarning, match=LOST):
        workload = fr.run(command.folder / lost, device="tiny", scheme="raid5", unwritten="prefill").workload
    assert (workload.requests, workload.lost_events, len(workload.warnings)) == (80, 86000, 1)
    assert workload.warnings == fr.trace_info(command.folder / lost).warnings


def requeued(folder):
    """Files of three processors, joined: each request was issued, given back and issued again on another of them."""
    rows = [
        f"8,0 {cpu} 1 {number / 100 + cpu / 1000:.6f} 9 {action} WS {number % 40 * 8} + 8 [a]\n"
        for cpu, action in ((1, "R"), (2, "D"), (0, "D"))
        for number in range(80)
    ]
    (folder / "requeued.blkparse.txt").write_text("".join(rows))
    return "requeued.blkparse.txt"


def of_one_cpu(folder):
    (folder / "sda.blktrace.1").write_bytes(blktrace(1, 0) + blktrace(1, 10_000_000))
    return "sda.blktrace.1"


def cut(folder):
    """NVMe commands up to Ctrl-C: the last one writes 128 blocks."""
    text = "".join(
        f" fio-1 [001] ..... {100 + number * 0.01:.6f}: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, "
        f"cmd=(nvme_cmd_write slba={number % 40 * 8}, len=127, ctrl=0x0)\n"
        for number in range(81)
    )
    (folder / "cut.nvme.txt").write_text(text[: text.rindex("7, ctrl")])
    return "cut.nvme.txt"


def of_letters(folder):
    rows = (f"{number * 0.01:.4f} {'WS' if number else 'FWFS'} {number % 40 * 8} 8\n" for number in range(81))
    (folder / "letters.txt").write_text("".join(rows).replace(" WS ", " X ", 1))
    return "letters.txt"


def table(times):
    rows = (f"{time},{'RW'[time % 3 > 0]},{time % 40 * 4096},4096\n" for time in times)
    return "ts_us,op,offset,size\n" + "".join(rows)


def late(folder):
    """A table of which the 11th to 13th row stand at its end."""
    times = [*range(0, 10_000, 1000), *range(13_000, 80_000, 1000), *range(10_000, 13_000, 1000)]
    (folder / "late.csv").write_text(table(times))
    return "late.csv"


def again(folder):
    """Two tables, of which the second one begins when the first has ended."""
    (folder / "again.csv").write_text(table(range(0, 40_000, 1000)) + table(range(40_000, 80_000, 1000)))
    return "again.csv"


@pytest.mark.parametrize(
    ("trace", "sentence", "reading", "counts"),
    [
        (
            requeued,
            "80 requests were issued again after the device had given them back (requeue)",
            {},
            {"reissued": 80},
        ),
        (of_one_cpu, "1 file of the recording is not beside sda.blktrace.1 (sda.blktrace.0)", {}, {}),
        (cut, "the last line or record is cut off, and was left out", {}, {"truncated": 1}),
        (
            of_letters,
            "not replayed: 1 requests with unknown letters (rwbs)",
            {"columns": "time:s,op,sector,sectors"},
            {
                "unsupported": {
                    "flushes attached to writes (FW); the writes are kept": 1,
                    "forced unit access (WF); the writes are kept": 1,
                    "requests with unknown letters (rwbs)": 1,
                }
            },
        ),
        (
            late,
            "3 requests are recorded behind others that came later, by up to 0.069 s, and were put in order of time",
            {},
            {"out_of_order": 3, "steps_back": 1},
        ),
        (
            again,
            "the header stands again at line 42: 2 recordings were joined. The times of each follow those of the one "
            "before, and nothing was moved",
            {},
            {"out_of_order": 0, "ignored": {"headers that come again": 1}},
        ),
    ],
    ids=["requeue", "one CPU", "cut", "letters", "late", "again"],
)
def test_every_command_says_what_a_reader_leaves_out(command, trace, sentence, reading, counts):
    name = trace(command.folder)
    all_say(command, name, sentence, **reading)
    options = [word for key, value in reading.items() for word in (f"--{key}", value)]
    done = command("run", name, *ON, *options, "--fit", "compact", "--no-engine", "--json", "-")
    workload = json.loads(done.stdout)["workload"]
    # Of those that count, each is a request of the trace.
    assert workload["requests"] == {"sda.blktrace.1": 100}.get(name, 80)
    assert {key: workload[key] for key in counts} == counts
    assert any(sentence in told for told in workload["warnings"])
    assert workload["warnings"] == fr.trace_info(command.folder / name, **reading).warnings


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
