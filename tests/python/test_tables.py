"""Tables and JSON agree on every figure that both show: rows name their figures, and each is read back."""

import json
import re

import pytest
from conftest import write_trace, writes

from flashraid.command import results as tables
from flashraid.record import Record

# What a printed number is to be multiplied by, to be the value of the JSON.
SCALES = {
    tables.count: 1,
    tables.size: 1,
    tables.percent: 0.01,
    tables.hundredths: 1,
    tables.thousandths: 1,
    tables.whole: 1,
    tables.microseconds: 1e3,
    tables.seconds: 1e9,
    tables.megabytes: 1e6,
    tables.counts_by_name: 1,
    tables.parts: 1,
}
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
NUMBER = re.compile(r"(?<![\w.])(-|\d[\d,]*(?:\.\d+)?)(?: (B|KiB|MiB|GiB)\b)?(?![\w.])")
# A part that failed, which numbers name.
PART = re.compile(r"[a-z]+:[\d./:a-z]+")

SMALL = ["--set", "blocks_per_plane=16", "--set", "pages_per_block=16", "--set", "over_provisioning=0.3"]
RUNS = {
    "warm-up": ["raid5", *SMALL, "--fill", "0.9", "--warmup", "100", "--verify"],
    "failed chip": ["raid5", "--fill", "0.5", "--fail", "chip:1.0@50%", "--set", "spare_chips=1", "--verify"],
    "failed channel of raid0": ["raid0", "--fill", "0.5", "--fail", "channel:1@50%", "--verify"],
    "fra": ["fra", *SMALL, "--fill", "0.9", "--verify"],
    "buffer in DRAM": ["raid1", "--set", "buffer_bytes=65536", "--drain"],
    "buffer in NVRAM": ["ppc", "--fill", "0.5", "--set", "nvram_buffer_bytes=65536", "--drain"],
    "map on flash": [
        "raid5",
        "--fill",
        "0.5",
        "--set",
        "mapping=dftl",
        "--set",
        "cmt_entries=64",
        "--set",
        "over_provisioning=0.2",
    ],
    "mirror chips": ["cr5m", "--fill", "0.3", "--set", "chips_per_channel=3"],
    "worn-out SSDs": [
        "raid5",
        *SMALL,
        *(
            "--fill",
            "0.9",
            "--set",
            "devices=4",
            "--set",
            "channels=1",
            "--set",
            "pe_limit=4",
            "--set",
            "ages=0.75",
            "--until",
            "worn:1",
        ),
    ],
    "replaced SSD": [
        *("hotswap", *SMALL, "--fill", "0.9", "--set", "devices=4", "--set", "channels=1"),
        *("--set", "spare_devices=2", "--replace", "device:2@10%,device:1@20%"),
    ],
    "nothing written": ["raid0"],
}


@pytest.fixture
def trace(tmp_path):
    """Writes and reads in bursts; after the last one there is work left."""
    rows = [(at, op, page * 7 % 300 * 4096, 8192) for at, op, page, _ in _bursts()]
    return write_trace(tmp_path, rows)


def _bursts():
    for number in range(300):
        yield number // 4 * 1500, "R" if number % 5 == 4 else "W", number, 2


def wanted(result, row):
    """The values of a row's figures, with how each is written; those of an object one by one."""
    for path, write in row.figures:
        value = tables.value_at(Record(result), path)
        if write in (tables.counts_by_name, tables.parts):
            shown = [each for each in value.to_dict().values() if each]
            yield from ((each, write) for each in shown if write is tables.counts_by_name or round(each, 3))
        elif write is tables.sizes_by_name:
            yield from ((each, tables.size) for each in value.to_dict().values())
        elif write is tables.wear_outs:
            for of in value:
                yield from [(of.device, tables.count), (of.at_ns, tables.seconds)]
                yield from [(of.exposed_pages, tables.count), (of.pages_lost, tables.count)]
        elif write is tables.rebuilds:
            for of in value:
                yield from (
                    [(of.window_of_vulnerability_ns, tables.seconds)]
                    if of.window_of_vulnerability_ns is not None
                    else []
                )
                yield of.requests, tables.count
                yield from felt(of)
        elif write is tables.replacements:
            for of in value:
                yield from [(of.old_device, tables.count), (of.new_device, tables.count)]
                yield from [(of.duration_ns, tables.seconds)] if of.duration_ns is not None else []
                yield of.requests, tables.count
                yield from felt(of)
        elif write is tables.collections:
            yield from [(value, tables.count)] if value > 1 else []
        elif write in SCALES:
            yield value, write


def felt(of):
    """Latencies, behind which percentile they are."""
    yield from ((of.latency_ns[key], tables.microseconds) for key in ("mean", "p99_9", "max"))


def check(result, row, cell):
    """Each number of the cell is the one of the JSON, as exactly as its decimals say."""
    found, values = NUMBER.findall(PART.sub("", cell)), list(wanted(result, row))
    assert len(found) == len(values), (row.name, cell, values)
    for (number, unit), (value, write) in zip(found, values, strict=True):
        if value is None:
            assert number == "-", (row.name, cell)
            continue
        decimals = len(number.partition(".")[2])
        scale = SCALES[write] * UNITS.get(unit, 1)
        shown = float(number.replace(",", "")) * scale
        assert shown == pytest.approx(value, abs=0.5000001 * 10**-decimals * scale), (row.name, cell, value)


def only(result, paths):
    """What of the JSON stands at these paths."""
    found = {}
    for path in paths:
        at, into = result, found
        *above, last = path.split(".")
        for name in above:
            if name.isdigit():
                # Of a list the tables show the first element.
                at = at[0] if at else None
                continue
            at = at.get(name) if isinstance(at, dict) else None
            element = into.setdefault(name, [{}] if isinstance(at, list) and at else {})
            into = element[0] if isinstance(element, list) else element
        if isinstance(at, dict) and last in at:
            into[last] = at[last]
    return Record(found)


def lines(text):
    """Names and texts of a table's rows: columns are parted by two blanks or more."""
    return [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("name", RUNS)
def test_every_figure_of_a_run_is_the_one_of_its_json(name, command, trace):
    scheme, *options = RUNS[name]
    if name == "nothing written":
        trace.write_text(trace.read_text().replace(",W,", ",R,"))
    arguments = ["run", trace, "--device", "tiny", "--scheme", scheme, *options, "--json", "result.json", "--quiet"]
    shown = command(*arguments, status=3 if name == "failed channel of raid0" else 0).stdout
    result = json.loads((command.folder / "result.json").read_text())
    facts, latencies, operations = (part for part in shown.split("\n\n") if part.strip())
    rows = {row.name: row for row in tables.RUN}
    printed = dict(lines("\n".join(facts.splitlines()[1:])))
    assert set(printed) == {row.name for row in tables.RUN if row.cell(Record(result)) is not None}
    for name, cell in printed.items():
        row = rows[name]
        assert cell == row.cell(Record(result)), name
        assert cell == row.cell(only(result, [path for path, _ in row.figures])), f"{name} shows more than it names"
        check(result, row, cell)
    for table, columns in ((latencies, tables.latency_rows), (operations, tables.operation_rows)):
        body = [line.split() for line in table.splitlines()[3:]]
        assert body or table is latencies
        for kind, *cells in body:
            named = columns(kind)
            for row, cell in zip(named.values() if isinstance(named, dict) else named, cells, strict=True):
                check(result, row, cell)


@pytest.mark.parametrize(
    "options",
    [
        ["--fill", "0.5", "--verify"],
        [*SMALL, "--fill", "0.9", "--warmup", "50"],
        ["--fill", "0.5", "--fail", "chip:1.0@50%", "--verify"],
        ["--set", "buffer_bytes=65536"],
        ["--set", "devices=5", "--set", "channels=1", "--set", "spare_devices=1", "--replace", "device:1@50%"],
    ],
)
def test_every_figure_of_a_comparison_is_the_one_of_its_json(options, command, trace):
    arguments = ["compare", trace, "--device", "tiny", "--schemes", "raid0,raid5,fra,ppc", *options, "--quiet"]
    status = 3 if {"--fail", "--replace"} & set(options) else 0
    shown = command(*arguments, "--json", "results.json", status=status).stdout
    results = json.loads((command.folder / "results.json").read_text())["results"]
    rows = {row.name.strip(): row for row, _ in tables.COMPARISON}
    printed = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()[3:] if line.strip() and "─" not in line]
    assert {"requests/s", "write amplification", "offered load", "user capacity"} <= {name for name, *_ in printed}
    for name, *cells in printed:
        for result, cell in zip(results, cells, strict=True):
            row = rows[name]
            if cell == "-":
                path = row.figures[0][0]
                kind = path.rsplit(".", 1)[0] + ".count"
                assert tables.value_at(Record(result), path) is None or not tables.value_at(Record(result), kind)
                continue
            assert cell == row.cell(only(result, [path for path, _ in row.figures])), f"{name} shows more than it names"
            check(result, row, cell)


def test_throughput_leaves_out_what_goes_on_in_the_background(command, tmp_path):
    """Arrivals are the same, and so are rates: neither parities in idle time nor a rebuild are the host's time."""
    trace = write_trace(tmp_path, writes(200, gap_us=3000))
    command("compare", trace, "--device", "tiny", "--schemes", "raid5,fra", "--fill", "0.5", "--json", "r.json")
    rates = [
        each["bandwidth"]["requests_per_second"]
        for each in json.loads((command.folder / "r.json").read_text())["results"]
    ]
    fail = ["--fail", "chip:1.0@100%", "--set", "spare_chips=1", "--json", "f.json"]
    command("run", trace, "--device", "tiny", "--scheme", "raid5", "--fill", "0.5", *fail)
    failed = json.loads((command.folder / "f.json").read_text())
    assert failed["simulated_ns"] > 2 * failed["bandwidth"]["span_ns"]
    assert [*rates, failed["bandwidth"]["requests_per_second"]] == pytest.approx([rates[0]] * 3, rel=0.01)


def test_steady_is_one_word(command, tmp_path):
    trace = write_trace(tmp_path, writes(10))
    arguments = ["run", trace, "--device", "tiny", "--scheme", "raid5", *SMALL, "--json"]
    steady = json.loads(command(*arguments, "--steady").stdout)
    assert steady["config"]["run"]["precondition"] == "steady"
    assert steady["precondition"]["steady"]
    assert (
        steady["precondition"] == json.loads(command(*arguments, "--precondition", "random:20").stdout)["precondition"]
    )
    told = command(*arguments, "--steady", "--precondition", "random:2", status=2).stderr
    assert told == "error: --steady and --precondition random:2 contradict each other: give one of them\n"


def test_unequal_spare_space_and_a_run_without_collection_are_said(command, tmp_path):
    trace = write_trace(tmp_path, writes(10))
    options = ["--device", "tiny", "--fill", "0.9"]
    shown = command("run", trace, *options, "--scheme", "raid5").stdout
    assert re.search(r"^ *write amplification +2\.000 \(.*\); no GC ran$", shown, re.MULTILINE)
    shown = command("compare", trace, *options, "--schemes", "raid0,raid5").stdout
    assert re.search(r"^ *effective over-provisioning +39\.\d% +19\.\d%$", shown, re.MULTILINE)
    assert re.search(r"^ *GC runs +0 +0$", shown, re.MULTILINE)


def test_a_row_shows_if_it_says_something_of_any_scheme(command, tmp_path):
    trace = write_trace(tmp_path, writes(100))
    options = ["--device", "tiny", "--fill", "0.5", "--fail", "channel:0@50%", "--json", "r.json"]
    shown = command("compare", trace, *options, "--schemes", "raid0,raid1", status=3).stdout
    results = json.loads((command.folder / "r.json").read_text())["results"]
    failed = [result["requests"]["failed"]["no_space"] for result in results]
    assert failed[0] > 0
    assert failed[1] == 0
    assert re.search(rf"^ *failed for lack of space +{failed[0]} +0$", shown, re.MULTILINE)


def test_what_a_window_exposes_stands_beside_the_promise(command, tmp_path):
    trace = write_trace(tmp_path, writes(100, gap_us=500))
    shown = command("compare", trace, "--device", "tiny", "--schemes", "raid5,fra", "--fill", "0.5").stdout
    assert re.search(r"^ *exposed pages, at most +- +[1-9]\d*$", shown, re.MULTILINE)
    schemes = {each["name"]: each for each in json.loads(command("schemes", "--json", "-").stdout)}
    assert schemes["raid5"]["window"] is None
    assert "lost if their member fails" in schemes["fra"]["window"]
    assert "exposure window" in command("schemes", "fra").stdout
    every = ["--verify", "--set", "verify_every=10"]
    told = command("run", trace, "--device", "tiny", "--scheme", "fra", "--fill", "0.5", *every, status=1).stderr
    assert re.search(
        r"^warning: verification: \d+ pages? would have been lost if a member had failed; that is the exposure window",
        told,
        re.MULTILINE,
    )
