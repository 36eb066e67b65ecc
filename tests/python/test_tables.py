"""Tables and JSON agree on every figure that both show: rows name their figures, and each is read back."""

import json
import re

import pytest
from conftest import write_trace, writes

from flashraid import quantities, rows, summary
from flashraid.command import results as tables
from flashraid.evidence import FEWEST
from flashraid.record import Record
from flashraid.scaled import of_scaled

# What one of a unit is in the JSON.
UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "%": 0.01, "requests/s": 1, "MB/s": 1e6}
UNITS |= {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10, "h": 3.6e12, "days": 8.64e13, "years": 365 * 8.64e13}
NUMBER = re.compile(rf"(?<![\w.])(-|\d[\d,]*(?:\.\d+)?)(?: ({'|'.join(filter(None, UNITS))})(?![\w/]))?(?![\w.])")
# A part that failed, which numbers name.
PART = re.compile(r"[a-z]+:[\d./:a-z]+|\(\d+%\)")

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
    """The values of a row's figures that are numbers, with those of an object one by one."""
    for path, write in row.figures:
        value = summary.value_at(result, path)
        if write in (tables.text, tables.spare, tables.outcome):
            continue
        if write is tables.counts_by_name:
            yield from (each for each in value.to_dict().values() if each)
        elif write is tables.parts:
            yield from (each for each in value.to_dict().values() if each and round(each, 3))
        elif write is tables.sizes_by_name:
            yield from value.to_dict().values()
        elif write is tables.collections:
            yield from (ended for ended in [value["collections"]] if ended > 1)
        else:
            yield in_ns(path, value)


def in_ns(path, value):
    """Times in nanoseconds, also those that the JSON has in seconds or years; other values as they are."""
    one = 1e9 if path.startswith("engine.") else UNITS["years"] if path.startswith("lifetime.years") else None
    return value if one is None or value is None else value * one


def read(number, unit):
    """The value of a number in the unit of the JSON, and half of what its last digit is."""
    one = UNITS[unit]
    return float(number.replace(",", "")) * one, 0.5000001 * 10 ** -len(number.partition(".")[2]) * one


def check(result, row, cell):
    """Each number of the cell is the one of the JSON, as exactly as its decimals say."""
    found, values = NUMBER.findall(PART.sub("", cell)), list(wanted(result, row))
    assert len(found) == len(values), (row.name, cell, values)
    for (number, unit), value in zip(found, values, strict=True):
        if value is None:
            assert number == "-", (row.name, cell)
            continue
        shown, exactness = read(number, unit)
        assert shown == pytest.approx(value, abs=exactness), (row.name, cell, value)


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


def rows_of(table):
    """Names and texts of a table's rows: columns are parted by two blanks or more."""
    lines = [line for line in table.splitlines()[1:] if line.strip()]
    return [re.split(r"\s{2,}", line.removeprefix(" "), maxsplit=1) for line in lines]


def tables_of(shown):
    """The tables by title."""
    parts = [part for part in shown.split("\n\n") if part.strip()]
    return {part.splitlines()[0].partition(" (")[0]: part for part in parts}


@pytest.mark.parametrize("name", RUNS)
def test_every_figure_of_a_run_is_the_one_of_its_json(name, command, trace):
    scheme, *options = RUNS[name]
    if name == "nothing written":
        trace.write_text(trace.read_text().replace(",W,", ",R,"))
    arguments = ["run", trace, "--device", "tiny", "--scheme", scheme, *options, "--json", "result.json", "--quiet"]
    shown = command(*arguments, status=3 if name == "failed channel of raid0" else 0).stdout
    result = json.loads((command.folder / "result.json").read_text())
    facts, *others = (part for part in shown.split("\n\n") if part.strip())
    rows = {row.name: row for row in tables.RUN}
    printed = dict(rows_of(facts))
    assert set(printed) == {row.name for row in tables.RUN if row.cell(Record(result)) is not None}
    for name, cell in printed.items():
        row = rows[name]
        cell = without_scale(cell, row, result)
        assert cell == row.cell(Record(result)), name
        assert cell == row.cell(only(result, [path for path, _ in row.figures])), f"{name} shows more than it names"
        check(Record(result), row, cell)
    found = tables_of("\n\n".join(others))
    events, felt = found.pop(EVENTS, None), found.pop(FELT, None)
    legend = [title for title in found if title.startswith("~ of too few requests")]
    assert len(legend) == ("~" in found["latency"] + (felt or ""))
    assert set(found) == {"latency", "flash operations by cause", *legend}
    check_events(result, events)
    check_latencies(result["latency_ns"], found["latency"])
    phases = result.get("latency_around_rebuilds_ns", {})
    assert (felt is not None) == any(of["all"]["count"] for of in phases.values())
    if felt:
        check_felt(result, felt)
    body = [line.split() for line in found["flash operations by cause"].splitlines()[3:]]
    assert body
    for kind, *cells in body:
        for row, cell in zip(tables.operation_rows(kind), cells, strict=True):
            check(Record(result), row, cell)


EVENTS, FELT = "faults and rebuilds", "latency around rebuilds and replacements"


def without_scale(cell, row, result):
    """The cell without the words that mark times of a drive that was made smaller, which must be there."""
    scaled = of_scaled(Record(result))
    if not (row.scales and scaled):
        assert "scaled down" not in cell
        return cell
    assert cell.endswith(f" ({scaled})")
    return cell.removesuffix(f" ({scaled})")


def check_events(result, table):
    """A row for each fault, wear-out, rebuild and replacement of the JSON, and all their figures."""
    of = {key: len(result.get(key) or []) for key in ("faults", "wear_outs", "rebuild", "replacements")}
    assert (table is not None) == any(of.values())
    events = tables.event_rows(Record(result))
    assert sum(row is tables.FAULT for _, row, _ in events) == of["faults"]
    assert sum(row is tables.WEAR_OUT for _, row, _ in events) == of["wear_outs"]
    assert sum(row is tables.RESTORED for _, row, _ in events) == of["rebuild"]
    assert sum(row is tables.REPLACEMENT for _, row, _ in events) == of["replacements"]
    for (name, cell), (shown, row, part) in zip(rows_of(table) if table else [], events, strict=True):
        cell = without_scale(cell, row, result)
        assert (name.strip(), cell) == (shown, row.cell(part))
        check(part, row, cell)


def check_latencies(latencies, table):
    """A row for each kind of request that there was."""
    body = [line.split() for line in table.splitlines()[3:]]
    assert {kind for kind, *_ in body} == {kind for kind, of in latencies.items() if of["count"]}
    for kind, *cells in body:
        check_latency_cells(latencies[kind], cells)


LATENCY_COLUMNS = ["count", "mean", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"]


def check_latency_cells(of, cells):
    """The figures are in the unit that stands in the last column, and quantiles of too few requests are marked."""
    *cells, unit = cells
    for key, cell in zip(LATENCY_COLUMNS, cells, strict=True):
        assert cell.endswith("~") == is_of_too_few(of["count"], key), (key, cell)
        shown, exactness = read(cell.removesuffix("~"), "" if key == "count" else unit)
        assert shown == pytest.approx(of[key], abs=exactness), (key, cell)


def is_of_too_few(count, key):
    """Whether fewer than ten requests lie beyond a quantile, or a mean or maximum is of fewer than 100."""
    return count < FEWEST.get(key, 0)


def check_felt(result, table):
    """What requests felt of each rebuild and replacement, and by kind before, during and after them."""
    parts = [of["latency_ns"] for of in result.get("rebuild", []) + result.get("replacements", [])]
    phases = result["latency_around_rebuilds_ns"]
    assert list(phases) == ["before", "during", "after"]
    for kinds in phases.values():
        assert kinds["all"]["count"] == sum(of["count"] for kind, of in kinds.items() if kind != "all")
    assert sum(of["all"]["total"] for of in phases.values()) == result["latency_ns"]["all"]["total"]
    of_kinds = {f"{name}, {kind}": of for name, kinds in phases.items() for kind, of in kinds.items() if kind != "all"}
    parts = [of for of in [*parts, *of_kinds.values()] if of["count"]]
    names = [line[1:].split("  ")[0] for line in table.splitlines()[3:]]
    assert names[len(names) - sum(of["count"] > 0 for of in of_kinds.values()) :] == [
        name for name, of in of_kinds.items() if of["count"]
    ]
    for of, line in zip(parts, [line.split() for line in table.splitlines()[3:]], strict=True):
        check_latency_cells(of, line[-len(LATENCY_COLUMNS) - 1 :])


def test_a_run_tells_of_its_faults(command, tmp_path):
    trace = write_trace(tmp_path, writes(200, gap_us=500))
    options = ["--device", "tiny", "--scheme", "raid5", "--fill", "0.5", "--fail", "chip:1.0@50%", "--json", "r.json"]
    shown = command("run", trace, *options, "--set", "spare_chips=1").stdout
    result = json.loads((command.folder / "r.json").read_text())
    told = tables_of(shown)[EVENTS]
    at, took = (quantities.TIME.text(ns) for ns in (49.5e6, result["rebuild"][0]["window_of_vulnerability_ns"]))
    assert f"failed at {at} (50%), when 100 requests had arrived; a spare took its place" in told
    assert f"full redundancy after {took} (window of vulnerability)" in told
    assert f"{result['rebuild'][0]['bytes_per_second'] / 1e6:.1f} MB/s" in told
    shown = command("run", trace, *options, "--rebuild", "none").stdout
    told = tables_of(shown)[EVENTS]
    assert "no spare took its place" in told
    assert "full redundancy" not in told
    assert EVENTS not in command("run", trace, *options[:6]).stdout


def test_an_overloaded_device_is_marked_where_its_latencies_are(command, tmp_path):
    trace = write_trace(tmp_path, writes(100, gap_us=1))
    line = ["run", trace, "--device", "tiny", "--scheme", "raid5", "--fill", "0.5", "--quiet"]
    marked = "latency (overloaded: latency grows with the length of the trace)\n"
    assert marked in command(*line).stdout
    assert marked not in command(*line, "--queue-depth", "4").stdout


def columns_of(shown):
    """Cells of a comparison's table by row: columns end where the names of the schemes end."""
    _, head, _, *body = shown.split("\n\nDifferences")[0].splitlines()
    ends = [found.end() for found in re.finditer(r"\S+", head)]
    for line in filter(str.strip, body):
        name = re.match(r" (.*?)(?:  |$)", line)[1]
        starts = [len(name) + 1, *ends]
        yield name, [line[start:end].strip() for start, end in zip(starts, ends, strict=False)]


CELL = re.compile(r"(-|[\d,.]+)(?:([*!~])|$)? *(?:([+-]?[\d,.]+ %|[\d,.]+x))?")


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
    shown = command(*arguments, "--seeds", "1", "--json", "results.json", status=status).stdout
    written = json.loads((command.folder / "results.json").read_text())
    rows_of = {row.name: row for _, section in rows.SECTIONS for row in section}
    names = set()
    for head, cells in columns_of(shown):
        name, unit = re.fullmatch(r"(.*?)(?: \((.*)\))?", head).groups()
        names.add(name)
        is_capacity = rows_of[name] is rows.CAPACITY
        sources = written["capacity" if is_capacity else "results"]
        values = [in_ns(rows_of[name].path, plain(source, rows_of[name].path)) for source in sources]
        are_few = [False] * len(values)
        if re.search(r"\blatency_(around_rebuilds_)?ns\.", rows_of[name].path):
            above, _, key = rows_of[name].path.rpartition(".")
            counts = [plain(source, f"{above}.count") for source in sources]
            values = [value if count else None for value, count in zip(values, counts, strict=True)]
            are_few = [bool(count) and is_of_too_few(count, key) for count in counts]
        for value, cell, is_few in zip(values, cells, are_few, strict=True):
            if name == "survives the loss of":
                assert value.startswith(cell.rstrip("!"))
            elif name == "GC runs" and value == 0:
                assert cell == "no GC ran"
            else:
                number, mark, relative = CELL.fullmatch(cell).groups()
                if value is None:
                    assert (number, mark, relative) == ("-", None, None)
                    continue
                value_shown, exactness = read(number, unit or "")
                assert value_shown == pytest.approx(value, abs=exactness), (head, cell)
                # What makes a figure doubtful is marked instead.
                assert mark in ("~", "!") if is_few else mark != "~", (head, cell)
                if is_few or are_few[0]:
                    assert relative is None, (head, cell)
                    continue
                check_relative(relative, value, values[0], cell is cells[0])
    assert {"throughput", "write amplification", "offered load", "user capacity"} <= names


def plain(value, path):
    """What stands at a path, in another way than the package looks it up."""
    for name in path.split("."):
        if isinstance(value, list):
            value = value[int(name)] if value else None
        elif not isinstance(value, dict):
            return None
        else:
            value = value.get(name)
    return value


def check_relative(text, value, first, is_first):
    if is_first or not first or value == first:
        assert text is None
    elif text.endswith("x"):
        assert float(text[:-1].replace(",", "")) == pytest.approx(value / first, abs=0.051 if "." in text else 0.501)
        assert value / first >= 2
    else:
        decimals = len(text.removesuffix(" %").partition(".")[2])
        assert float(text.removesuffix(" %")) == pytest.approx(100 * (value - first) / first, abs=0.501 * 10**-decimals)
        assert value / first < 2


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
    # It is `random:20`, and then a part of a block of each plane.
    random = json.loads(command(*arguments, "--precondition", "random:20").stdout)["precondition"]
    assert json.loads(command(*arguments, "--steady", "--set", "gc_phases=aligned").stdout)["precondition"] == random
    device = steady["config"]["device"]
    planes = device["channels"] * device["chips_per_channel"] * device["dies_per_chip"] * device["planes_per_die"]
    more = steady["precondition"].pop("overwritten_bytes") - random.pop("overwritten_bytes")
    assert 0 < more < planes * device["pages_per_block"] * device["page_bytes"]
    assert steady["precondition"] == random
    told = command(*arguments, "--steady", "--precondition", "random:2", status=2).stderr
    assert told == "error: --steady and --precondition random:2 contradict each other: give one of them\n"


def test_unequal_spare_space_and_a_run_without_collection_are_said(command, tmp_path):
    trace = write_trace(tmp_path, writes(10))
    options = ["--device", "tiny", "--fill", "0.9"]
    shown = command("run", trace, *options, "--scheme", "raid5").stdout
    assert re.search(r"^ *write amplification +2\.000 \(.*\); no GC ran$", shown, re.MULTILINE)
    shown = command("compare", trace, *options, "--schemes", "raid0,raid5").stdout
    assert re.search(r"^ effective over-provisioning \(%\) +39\.\d +19\.\d +-\d+ %$", shown, re.MULTILINE)
    assert re.search(r"^ spare that GC can use \(%\) +29\.\d +9\.\d +-\d+ %$", shown, re.MULTILINE)
    assert re.search(r"; spare at the end 39\.\d % \(raid0\), 19\.\d % \(raid5\)\.$", shown, re.MULTILINE)
    assert re.search(r"^ GC runs +no GC ran +no GC ran$", shown, re.MULTILINE)


def test_a_row_shows_if_it_says_something_of_any_scheme(command, tmp_path):
    trace = write_trace(tmp_path, writes(100))
    options = ["--device", "tiny", "--fill", "0.5", "--fail", "channel:0@50%", "--json", "r.json"]
    shown = command("compare", trace, *options, "--schemes", "raid0,raid1", status=3).stdout
    results = json.loads((command.folder / "r.json").read_text())["results"]
    failed = [result["requests"]["failed"]["no_space"] for result in results]
    assert failed[0] > 0
    assert failed[1] == 0
    assert re.search(rf"^ failed for lack of space +{failed[0]} +0 +-100 %$", shown, re.MULTILINE)


def test_what_a_window_exposes_stands_beside_the_promise(command, tmp_path):
    trace = write_trace(tmp_path, writes(100, gap_us=500))
    shown = command("compare", trace, "--device", "tiny", "--schemes", "raid5,fra", "--fill", "0.5").stdout
    assert re.search(r"^ exposed pages, at most +- +[1-9]\d*$", shown, re.MULTILINE)
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


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (None, ""),
        (1 / 64, "1/64"),
        (0.0001, "1/10,000"),
        (3 / 64, "1/21"),
        (1 / 3, "1/3"),
        (0.4, "40%"),
        (3 / 16, "19%"),
        (0.5, "50%"),
        (0.75, "75%"),
    ],
)
def test_times_of_a_scaled_down_drive_are_marked(share, said):
    result = Record({"device": "ssd1", "capacity": {"share_of_preset": share}})
    assert of_scaled(result) == (f"scaled down: {said} of the flash of ssd1" if said else "")
    assert of_scaled(Record({"device": "ssd1", "capacity": {}})) == ""


def test_a_narrow_table_leaves_out_what_is_zero_of_all(compared):
    """What some schemes have is a difference; a column of zeros would take the place of another figure."""

    def heads(*nvram):
        comparison = compared(*({"scheme": f"s{at}", "capacity.nvram_bytes": of} for at, of in enumerate(nvram)))
        return list(tables._chosen(comparison, summary.table(comparison)))

    assert not any(head.startswith("NVRAM") for head in heads(0, 0))
    assert any(head.startswith("NVRAM") for head in heads(0, 65536))
    assert len(heads(0, 0)) == len(heads(0, 65536)) == tables.MOST_CHOSEN
