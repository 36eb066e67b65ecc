"""Screens of 80, 100 and 200 columns: no line is wider, whatever the command and however many schemes."""

import json
import shlex

import pytest
from conftest import SAMPLE, SCHEMES

import flashraid as fr
from flashraid import _native
from flashraid.command import advise, layout, reader, results, sweep, tables
from flashraid.record import OpenRecord

WIDTHS = (80, 100, 200)


@pytest.fixture(params=WIDTHS)
def width(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def lines_of(capsys, width):
    """What was printed, no line of which is wider than the screen."""
    lines = capsys.readouterr().out.splitlines()
    assert lines
    too_wide = [line for line in lines if len(line) > width]
    assert not too_wide, too_wide
    return lines


@pytest.fixture
def many(compared):
    """A comparison of so many schemes, with figures of many digits, notes and intervals."""

    def make(count):
        names = [*SCHEMES, "diff-raid (partial)"][:count]
        changes = [
            {
                "scheme": name,
                "latency_ns.read.p99_9": 1_234_567 * (at + 1),
                "latency_ns.write.p99_9": 987_654_321 * (at + 1),
                "latency_ns.flush.p99_9": 12_345_678 * (at + 1),
                "latency_ns.flush.count": 30_000,
                "write_amplification": 1.2345 + at,
                "capacity.user_bytes": (100 + at) << 30,
                "capacity.nvram_bytes": at << 15,
                "window": {"mean_pages": 2.0, "peak_pages": 33, "exposed_ns": 1_200_000_000, "pages": 0},
                "workload.busiest_load": 1.05 if at == 1 else 0.5,
                "workload.overloaded": at == 1,
            }
            for at, name in enumerate(names)
        ]
        rate = {"scheme": "x", "queue_depth": 32, "requests": 900, "requests_per_second": 123_456.0}
        return compared(*changes, capacity=[rate] * count)

    return make


@pytest.mark.parametrize("count", [2, 7, 17])
def test_a_comparison_has_room(many, count, width, capsys):
    comparison = many(count)
    results.show_comparison(comparison, shows_all=True)
    every = lines_of(capsys, width)
    results.show_comparison(comparison)
    shown = lines_of(capsys, width)
    names = SCHEMES[:count]
    if width >= layout.NARROW:
        assert shown == every
        return
    # A row for each scheme, and eight figures of it.
    rows = {line.split()[0]: line.split()[1:] for line in shown[:40] if line.split()[:1] and line.split()[0] in names}
    assert list(rows) == names
    assert {len(figures) for figures in rows.values()} == {8}
    assert "Eight figures of each scheme; --all shows the others." in shown
    heads = {line.split("  ")[0].strip() for line in every}
    assert {"read latency mean (us)", "GC runs", "busiest member, to the mean"} <= heads
    # Below the table stands what concerns the figures that it has.
    of_others = ("drive writes per 1,000 P/E cycles:", "lifetime per 1,000 P/E cycles:", "Differences are from")
    assert all(any(line.startswith(text) for line in every) for text in of_others)
    assert not [line for line in shown if line.startswith(of_others)]


def test_a_file_has_room_for_any_width(many, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    results.show_comparison(many(17))
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(" user capacity") for line in lines) == 1, "in one piece"


def test_a_run_has_room(base, compared, width, capsys):
    (result,) = compared({"latency_ns.write.p99_99": 123_456_789_012, "workload.name": "a-trace" * 9}).results
    results.show_result(result)
    shown = lines_of(capsys, width)
    assert any(line.split()[:1] == ["write"] for line in shown)


def test_listings_have_room(width, capsys):
    tables.show_trace_info(json.loads(_native.trace_info(str(SAMPLE), [("limit", "500")], 4096, None, None)))
    lines_of(capsys, width)
    tables.show_devices(json.loads(_native.devices()))
    lines_of(capsys, width)
    tables.show_device(json.loads(_native.device("ssd1", None)))
    shown = lines_of(capsys, width)
    assert sum(line.split()[:1] == ["raid5"] for line in shown) >= 1
    tables.show_schemes(json.loads(_native.schemes(None)))
    lines_of(capsys, width)


def test_warnings_of_a_recording_have_room(width, capsys):
    text = "the header stands again at line 42: 2 recordings were joined. " + "Their times follow each other. " * 9
    reader.warn(OpenRecord({"warnings": [text]}))
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(map(str.strip, lines)) == f"warning: {text.strip()}"


def test_messages_and_commands_have_room(width, capsys):
    layout.say("warning: " + "a text of many words, of which none is long, " * 9)
    assert max(map(len, capsys.readouterr().err.splitlines())) <= width
    layout.print_command("flashraid run trace.csv.gz --device ssd1 " + "--set fill_bytes=123456789 " * 9)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert all(line.endswith(" \\") for line in lines[:-1]), "a shell reads it as one"
    # No word is cut, and an option stays with its value.
    layout.print_command("flashraid run 'a folder/of recordings/trace.csv' --device ssd1 " + "--scheme raid5 " * 9)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    words = shlex.split("".join(line.removesuffix("\\") for line in lines))
    assert words == [
        "flashraid",
        "run",
        "a folder/of recordings/trace.csv",
        "--device",
        "ssd1",
        *["--scheme", "raid5"] * 9,
    ]
    assert not any(line.rstrip(" \\").endswith(("--device", "--scheme")) for line in lines)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep with axes of long names and values, of drives that were made smaller, with a lifetime."""
    folder = tmp_path_factory.mktemp("recordings of a database in the week before last")
    traces = [folder / f"a-database-on-{day}.csv.gz" for day in ("monday", "tuesday")]
    for path in traces:
        path.symlink_to(SAMPLE)
    fixed = {"device": "tiny", "limit": 60, "fit": "wrap", "pe_limit": 3000, "scheme": "raid5"}
    grid = {"trace": list(map(str, traces)), "blocks_per_plane": [32, 64]}
    return fr.sweep({"fixed": fixed, "grid": grid}, jobs=1)


def test_a_sweep_has_room(swept, width, capsys):
    sweep.show(swept)
    shown = lines_of(capsys, width)
    assert not any("\N{HORIZONTAL ELLIPSIS}" in line for line in shown), "no head and no cell is cut"
    text = " ".join(" ".join(shown).split())
    assert "lifetime of 2 points: scaled down: 50% of the flash of tiny" in text
    heads = [line.split() for line in shown if line.startswith(" trace ")]
    # Each piece says which point a row is.
    assert all(head[:2] == ["trace", "blocks_per_plane"] for head in heads)
    assert (len(heads) == 1) == (width == 200)
    assert sum(line.split()[0] == "a-database-on-monday.csv.gz" for line in shown if line) == 2 * len(heads)


@pytest.fixture(scope="module")
def advised(tmp_path_factory):
    """An answer whose trace has a long path."""
    folder = tmp_path_factory.mktemp("recordings of a database in the week before last")
    (folder / "trace.csv.gz").symlink_to(SAMPLE)
    place = {"device": "tiny", "fit": "wrap", "limit": 60, "fill": 0.3, "blocks_per_plane": 32}
    return fr.advise(folder / "trace.csv.gz", schemes=["raid0", "raid1"], seeds=1, jobs=1, **place)


def test_advice_has_room(advised, width, capsys):
    advise.show(advised)
    shown = capsys.readouterr().out.splitlines()
    # The path of a trace is one word.
    too_wide = [line for line in shown if len(line) > width and "trace.csv.gz" not in line]
    assert not too_wide, too_wide
    assert not any("\N{HORIZONTAL ELLIPSIS}" in line for line in shown), "no head and no cell is cut"
    rows = [line for line in shown if line.startswith((" raid0 ", " raid1 "))]
    pieces = [line for line in shown if line.startswith(" candidate ")]
    assert len(rows) == len(advised.front) * len(pieces)
    assert len(pieces) > 1 or width == 200
