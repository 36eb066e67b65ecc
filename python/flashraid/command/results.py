"""The tables of results. Each row names the JSON path of its figure and the format in which it is shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import summary
from ..candidate import NO_COLLECTION, OVERLOADED, is_overloaded, look_at, tail_of, value_at
from ..comparison import Comparison
from ..evidence import SPARSE, is_sparse, words_of
from ..quantities import (
    COUNT,
    HUNDREDTHS,
    MB_PER_SECOND,
    PER_SECOND,
    SHARE,
    SIZE,
    THOUSANDTHS,
    TIME,
    YEARS,
    number,
)
from ..record import OpenRecord, Record
from ..result import Result
from ..scaled import with_scale
from . import reader
from .layout import NARROW, print_tables, print_text, table_of, tight, width_of_terminal

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

PERCENTILES = {"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p99_9": "p99.9", "p99_99": "p99.99"}
ACTIONS = ("reads", "programs", "erases")
# Of `write_amplification_by`: what stands apart from it.
APART = ("rebuild", "retry", "migration", "warmup", "failed", "drain")


# ---- how a value of the JSON is written ----


def text(value: str) -> str:
    """A word."""
    return value


def counts_by_name(value: Record) -> str:
    """The counts of an object that are not 0."""
    return ", ".join(f"{name.replace('_', '-')} {value[name]:,}" for name in value if value[name]) or "none"


def sizes_by_name(value: Record) -> str:
    """The sizes of an object."""
    return ", ".join(f"{SIZE.text(value[name])} {name.replace('_', ' ')}" for name in value) or "none"


def parts(value: Record) -> str:
    """The parts of write amplification that are not 0, and behind them what stands apart from it."""
    written = [name for name in value if value[name] is not None and f"{value[name]:.3f}" != "0.000"]
    own, apart = (
        ", ".join(f"{name} {value[name]:,.3f}" for name in written if (name in APART) is is_apart)
        for is_apart in (False, True)
    )
    return (own or "nothing") + (f"; apart from it {apart}" if apart else "")


def spare(value: bool) -> str:
    """Whether a spare chip or SSD took the place of what failed."""
    return "a spare took its place" if value else "no spare took its place"


def outcome(value: str) -> str:
    """How something came out."""
    return value.replace("_", " ")


def collections(of: Record) -> str:
    """How often garbage collection ran."""
    ended = of["collections"]
    if ended > 1:
        return f"GC ran {ended:,} times"
    if ended == 1:
        return "GC ran once"
    return "no GC run ended" if of["copies"] else NO_COLLECTION


Figure = tuple[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Row:
    """A row: its name, its text with a place for each figure, and for each the path in the JSON and how it is written.

    A row is left out where the result has none of its figures; a figure that is null is written as `-`.
    """

    name: str
    text: str
    figures: tuple[Figure, ...]
    scales: bool = False
    """Whether its times are those of a drive of this size, and as much shorter of one that was made smaller."""

    def cell(self, result: Record) -> str | None:
        """The row's text for a result; None if the row does not concern it."""
        values = [value_at(result, path) for path, _ in self.figures]
        values = [None if value == [] else value for value in values]
        if all(value is None for value in values):
            return None
        written = (
            "-" if value is None else write(value) for value, (_, write) in zip(values, self.figures, strict=True)
        )
        return self.text.format(*written)


def one(name: str, path: str, write: Callable[[Any], str], text: str = "{}") -> Row:
    """A row of one figure."""
    return Row(name, text, ((path, write),))


WINDOW = Row(
    "exposure window",
    "{} pages exposed on average, {} at most; {} with any",
    (("window.mean_pages", HUNDREDTHS.text), ("window.peak_pages", COUNT.text), ("window.exposed_ns", TIME.text)),
)

# What a run shows, from top to bottom.
RUN = (
    Row(
        "user capacity",
        "{}; {} of raw flash is redundancy overhead; {} bytes of flash per user byte",
        (
            ("capacity.user_bytes", SIZE.text),
            ("capacity.redundancy_share", SHARE.text),
            ("capacity.raw_per_user_byte", THOUSANDTHS.text),
        ),
    ),
    one("mapping tables", "capacity.table_bytes", SIZE.text, "{} of DRAM"),
    Row("NVRAM", "{} ({})", (("capacity.nvram_bytes", SIZE.text), ("capacity.nvram", sizes_by_name))),
    Row(
        "logical space",
        "{}, of which {} filled before the first request",
        (("capacity.space_bytes", SIZE.text), ("capacity.filled_bytes", SIZE.text)),
    ),
    one("survives the loss of", "survives.text", text),
    WINDOW,
    one("offered load", "workload.offered_load", HUNDREDTHS.text),
    one("simulated time", "simulated_ns", TIME.text),
    Row(
        "throughput",
        "{}, {} read, {} written, over {}",
        (
            ("bandwidth.requests_per_second", PER_SECOND.text),
            ("bandwidth.read_bytes_per_second", MB_PER_SECOND.text),
            ("bandwidth.write_bytes_per_second", MB_PER_SECOND.text),
            ("bandwidth.span_ns", TIME.text),
        ),
    ),
    Row(
        "completed",
        "{} (failed for lack of space {}, failed for lost data {}, refused {}, unfinished {})",
        (
            ("requests.completed", COUNT.text),
            ("requests.failed.no_space", COUNT.text),
            ("requests.failed.lost", COUNT.text),
            ("requests.failed.refused", COUNT.text),
            ("requests.unfinished", COUNT.text),
        ),
    ),
    Row(
        "SLC cache",
        "{} units written, {} units folded; {} erases",
        (("slc.units_written", COUNT.text), ("slc.units_folded", COUNT.text), ("slc.erases", COUNT.text)),
    ),
    Row(
        "write amplification",
        "{} ({}); {}",
        (
            ("write_amplification", THOUSANDTHS.text),
            ("write_amplification_by", parts),
            ("collection", collections),
        ),
    ),
    one("programs per host page", "pages_per_host_page", THOUSANDTHS.text),
    Row(
        "lifetime at this load",
        "{}, {} full drive writes",
        (("lifetime.years", YEARS.text), ("lifetime.full_drive_writes", COUNT.text)),
        scales=True,
    ),
    Row(
        "per 1,000 P/E cycles",
        "a lifetime at this load of {}, {} full drive writes",
        (
            ("lifetime.years_per_1000_cycles", YEARS.text),
            ("lifetime.full_drive_writes_per_1000_cycles", COUNT.text),
        ),
        scales=True,
    ),
    one("effective over-provisioning", "capacity.effective_over_provisioning", SHARE.text),
    one("spare that GC can use", "capacity.usable_over_provisioning", SHARE.text),
    one("parity updates", "parity_updates", counts_by_name),
    Row(
        "data buffer",
        "{}: hits {}, misses {} (hit rate {}), evictions {} of {} pages ({} by itself), pages at the end {}",
        (
            ("buffer.kind", text),
            ("buffer.hits", COUNT.text),
            ("buffer.misses", COUNT.text),
            ("buffer.hit_rate", SHARE.text),
            ("buffer.evictions", COUNT.text),
            ("buffer.mean_victim_pages", HUNDREDTHS.text),
            ("buffer.destages", COUNT.text),
            ("buffer.pages_buffered", COUNT.text),
        ),
    ),
    Row(
        "deferred parities",
        "hits {}, misses {} (hit rate {}), not committed at the end {}",
        (
            ("guard.hits", COUNT.text),
            ("guard.misses", COUNT.text),
            ("guard.hit_rate", SHARE.text),
            ("guard.entries", COUNT.text),
        ),
    ),
    Row(
        "commits",
        "replacement {}, gc {}, rebuild {}, idle {} ({} reads each)",
        (
            ("guard.commits_replacement", COUNT.text),
            ("guard.commits_gc", COUNT.text),
            ("guard.commits_rebuild", COUNT.text),
            ("guard.commits_idle", COUNT.text),
            ("guard.reads_per_commit", HUNDREDTHS.text),
        ),
    ),
    Row(
        "lost pages",
        "{} host pages; {} pages not rebuilt, counting pages of redundancy",
        (("losses.host_pages", COUNT.text), ("losses.pages_not_rebuilt", COUNT.text)),
    ),
    Row(
        "verified reads",
        "{}, mismatches {}",
        (("verify.reads_checked", COUNT.text), ("verify.mismatches", COUNT.text)),
    ),
    Row(
        "verified pages",
        "{} in {} checks: {} would be lost in further failures, {} are lost",
        (
            ("verify.pages_checked", COUNT.text),
            ("verify.checks", COUNT.text),
            ("verify.pages_lost", COUNT.text),
            ("verify.pages_gone", COUNT.text),
        ),
    ),
    Row(
        "run time",
        "{} s, plus {} s to build and fill",
        (("engine.wall_seconds", HUNDREDTHS.text), ("engine.fill_seconds", HUNDREDTHS.text)),
    ),
)


FAULT = Row(
    "",
    "failed at {} ({}), when {} requests had arrived; {}; host pages lost: {}",
    (("at_ns", TIME.text), ("when", text), ("request", COUNT.text), ("spare", spare), ("pages_lost", COUNT.text)),
)
WEAR_OUT = Row(
    "",
    "worn out at {}; host pages exposed: {}, lost: {}",
    (("at_ns", TIME.text), ("exposed_pages", COUNT.text), ("pages_lost", COUNT.text)),
)
REDUNDANCY_BACK = Row(
    "",
    "full redundancy after {} (window of vulnerability), at {}",
    (("window_of_vulnerability_ns", TIME.text), ("bytes_per_second", MB_PER_SECOND.text)),
    scales=True,
)
RESTORED = Row(
    "",
    "{} of {} lost pages restored, {} copied and {} computed from others; {} overwritten, discarded or moved meanwhile",
    (
        ("pages", COUNT.text),
        ("pages_lost", COUNT.text),
        ("pages_copied", COUNT.text),
        ("pages_xored", COUNT.text),
        ("pages_superseded", COUNT.text),
    ),
)
REPLACEMENT = Row(
    "",
    "SSD {} by {}: {}, after {}",
    (("old_device", COUNT.text), ("new_device", COUNT.text), ("outcome", outcome), ("duration_ns", TIME.text)),
    scales=True,
)


def event_rows(result: Record) -> list[tuple[str, Row, OpenRecord]]:
    """What failed and what was done about it: for each row its name, the row, and the part of the JSON it shows."""
    rows = [(of.fault, FAULT, of) for of in value_at(result, "faults") or []]
    rows += [(f"SSD {of.device}", WEAR_OUT, of) for of in value_at(result, "wear_outs") or []]
    for of in value_at(result, "rebuild") or []:
        name = f"rebuild of {', '.join(part.fault for part in of.failed)}"
        if of.window_of_vulnerability_ns is not None:
            rows += [(name, REDUNDANCY_BACK, of), ("", RESTORED, of)]
        else:
            rows.append((f"{name}, not finished", RESTORED, of))
    rows += [("replacement", REPLACEMENT, of) for of in value_at(result, "replacements") or []]
    return rows


FIGURES = {"mean": "mean", **PERCENTILES, "max": "max"}


def latency_cells(of: Record, unit: tuple[str, float] | None = None) -> list[str]:
    """The columns of latencies, in one unit, which is the last column."""
    name, one_unit = unit or TIME.unit([of[key] for key in FIGURES])
    marks = {key: "~" if is_sparse(look_at(of), key) else "" for key in FIGURES}
    return [COUNT.text(of["count"]), *(number(of[key] / one_unit, None) + marks[key] for key in FIGURES), name]


def show_result(result: Result) -> None:
    """One run: capacity and load, faults, latencies by kind, flash operations by cause, verification."""
    partial = ", partial" if result.partial else ""
    work = result.workload
    title = f"{result.scheme} on {result.device}: {work.name}, {reader.counted(work.requests, 'requests')}{partial}"
    facts = _prose(title)
    for row in RUN:
        cell = row.cell(result)
        if cell is not None:
            facts.add_row(row.name, with_scale(cell, result) if row.scales else cell)
    print_tables(*(table for table in (facts, _events(result)) if table.row_count))
    tables = (_latencies(result), _felt(result), _operations(result))
    print_tables(*(table for table in tables if table.row_count))
    if any(is_sparse(look_at(of), key) for of in _shown_latencies(result) for key in FIGURES):
        print_text(f"~ of too few requests: {SPARSE}")


def _prose(title: str) -> "Table":
    """A table of names and texts, which may be wrapped."""
    table = table_of(title, ["", ""])
    table.columns[1].justify, table.columns[1].no_wrap = "left", False
    return table


def _events(result: Result) -> "Table":
    table = _prose("faults and rebuilds")
    for name, row, of in event_rows(result):
        cell = row.cell(of)
        table.add_row(name, with_scale(cell, result) if row.scales and cell else cell)
    return table


def _shown_latencies(result: Result) -> list[Record]:
    kinds = [result.latency[kind] for kind in result.latency]
    return [of for of in [*kinds, *(of for _, of in events_felt(result))] if of["count"]]


def _latencies(result: Result) -> "Table":
    warning = f" ({OVERLOADED})" if is_overloaded(result) else ""
    table = table_of(f"latency{warning}", ["", "requests", *FIGURES.values(), "unit"])
    for kind in result.latency:
        if result.latency[kind].count:
            table.add_row(kind, *latency_cells(result.latency[kind]))
    return table


def _felt(result: Result) -> "Table":
    """What requests felt of rebuilds and replacements: of each one, and by kind before, during and after them."""
    table = table_of(
        "latency around rebuilds and replacements", ["arrived during", "requests", *FIGURES.values(), "unit"]
    )
    rows = [*events_felt(result), *phases_felt(result)]
    unit = TIME.unit([of[key] for _, of in rows for key in FIGURES])
    for name, of in rows:
        table.add_row(name, *latency_cells(of, unit))
    return table


def events_felt(result: Record) -> list[tuple[str, OpenRecord]]:
    """Rebuilds and replacements during which requests arrived, with the latencies of these."""
    rebuilds, replacements = (value_at(result, path) or [] for path in ("rebuild", "replacements"))
    found = [(f"rebuild of {', '.join(part.fault for part in of.failed)}", of.latency_ns) for of in rebuilds]
    found += [(f"replacement of SSD {of.old_device}", of.latency_ns) for of in replacements]
    return [(name, of) for name, of in found if of.count]


def phases_felt(result: Record) -> list[tuple[str, OpenRecord]]:
    """Latencies by kind of the requests that arrived before, during and after rebuilds and replacements."""
    phases = value_at(result, "latency_around_rebuilds_ns")
    if phases is None:
        return []
    found = [(f"{phase}, {kind}", phases[phase][kind]) for phase in phases for kind in phases[phase] if kind != "all"]
    return [(name, of) for name, of in found if of.count]


def operation_rows(cause: str) -> list[Row]:
    """The columns of a cause of flash operations."""
    return [one(action, f"flash_ops.{action}.{cause}", COUNT.text) for action in ACTIONS]


def _operations(result: Result) -> "Table":
    table = table_of("flash operations by cause", ["", *ACTIONS])
    for cause in result.flash_ops.reads:
        if cause == "total" or any(result.flash_ops[action][cause] for action in ACTIONS):
            table.add_row(cause, *(row.cell(result) for row in operation_rows(cause)))
    return table


def show_comparison(comparison: Comparison, *, shows_all: bool = False) -> None:
    """One column for each scheme, and a conclusion. A narrow terminal gets a row for each, and eight chosen figures, if
    it is not to show all.
    """
    width = width_of_terminal()
    sections = summary.table(comparison)
    if width is not None and width < NARROW and not shows_all and len(summary.candidates(comparison)) > 1:
        chosen = _chosen(comparison, sections)
        print_tables(_by_scheme(comparison, chosen))
        print_text("Eight figures of each scheme; --all shows the others.")
        print_text(*summary.notes(comparison, list(chosen.values())))
    else:
        print_tables(_every(comparison, sections))
        print_text(*summary.notes(comparison))
    print_text(*summary.conclusion(comparison))


def _title(comparison: Comparison) -> str:
    first = comparison.results[0]
    space, filled = SIZE.text(first.capacity.space_bytes), SIZE.text(first.capacity.filled_bytes)
    title = f"{first.workload.name} ({reader.counted(first.workload.requests, 'requests')}) on {first.device}"
    if comparison.has_own_spaces:
        return f"{title}, each scheme with its own logical space, {_share(first)} of it filled"
    return f"{title}, logical space {space}, {filled} of it filled"


def _share(result: Result) -> str:
    return SHARE.text(result.capacity.filled_bytes / result.capacity.space_bytes)


def _every(comparison: Comparison, sections: Sequence[summary.Section]) -> "Table":
    """A row for each figure, and a column for each scheme."""
    lines = [line for section in sections for line in section.lines]
    heads = [each.name for each in summary.candidates(comparison)]
    columns = [_column([line.cells[at] for line in lines]) for at in range(len(heads))]
    table = table_of(_title(comparison), ["", *heads])
    at_line = 0
    for section in sections:
        for line in section.lines:
            cells = [_styled(columns[at][at_line], line.cells[at].is_best) for at in range(len(heads))]
            table.add_row(line.head, *cells)
            at_line += 1
        table.add_section()
    return table


# What a narrow terminal shows: the first eight of these figures that there are, in this order, with short names.
MOST_CHOSEN = 8
CHOSEN = (
    ("capacity.user_bytes", "usable"),
    ("latency_ns.read", "read"),
    ("latency_ns.write", "write"),
    ("latency_ns.flush", "flush"),
    ("rebuild.0.window_of_vulnerability_ns", "rebuild\ntook"),
    ("requests_per_second", "closed\nloop"),
    ("bandwidth.requests_per_second", "at this\nload"),
    ("write_amplification", "write\nampl."),
    ("capacity.redundancy_share", "redun-\ndancy"),
    ("capacity.nvram_bytes", "NVRAM"),
    ("latency_ns.read.mean", "read\nmean"),
    ("latency_ns.write.mean", "write\nmean"),
    ("flash_ops.erases.total", "erases"),
)


def _chosen(comparison: Comparison, sections: Sequence[summary.Section]) -> dict[str, summary.Line]:
    """The lines of the figures that matter most, by their short names."""
    found = summary.candidates(comparison)
    lines = {line.path: line for section in sections for line in section.lines}
    shown: dict[str, summary.Line] = {}
    for path, name in CHOSEN:
        if path in ("latency_ns.read", "latency_ns.write", "latency_ns.flush"):
            kind = path.partition(".")[2]
            own = tail_of(kind, found, summary.TAILS) or f"{path}.mean"
            path, name = own, f"{name}\n{words_of(own.rpartition('.')[2])}"
        line = lines.get(path)
        if line and any(cell.value for cell in line.cells) and all(line is not other for other in shown.values()):
            shown[name] = line
    return dict(islice(shown.items(), MOST_CHOSEN))


def _by_scheme(comparison: Comparison, chosen: Mapping[str, summary.Line]) -> "Table":
    """A row for each scheme, and a column for each of the chosen lines."""
    heads = [f"{name}\n({line.unit.replace('requests', '')})" if line.unit else name for name, line in chosen.items()]
    table = table_of(_title(comparison), ["", *heads])
    for at, each in enumerate(summary.candidates(comparison)):
        cells = [line.cells[at] for line in chosen.values()]
        texts = [f"{cell.text.partition(' ±')[0]}{cell.mark}" for cell in cells]
        table.add_row(each.name, *(_styled(text, cell.is_best) for text, cell in zip(texts, cells, strict=True)))
    return tight(table)


def _column(cells: Sequence[summary.Cell]) -> list[str]:
    """The cells of a scheme: figures with their marks, and differences from the first scheme, each aligned right."""
    figures = [cell for cell in cells if cell.value is not None]
    width, relative = (
        max((len(text) for text in texts), default=0)
        for texts in ([cell.text for cell in figures], [cell.relative for cell in figures])
    )
    gap = " " if relative else ""
    found = []
    for cell in cells:
        figure = f"{cell.text:>{width}}{cell.mark}{gap}{cell.relative:>{relative}}"
        found.append(f"{cell.text}{cell.mark}".rstrip() if cell.value is None else figure)
    return found


def _styled(cell: str, is_best: bool) -> "Text":
    from rich.text import Text

    return Text(cell, "bold" if is_best else "")
