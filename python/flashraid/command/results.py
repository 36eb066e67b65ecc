"""The tables of results. Each row names the JSON path of its figure and the format in which it is shown."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..comparison import Comparison
from ..record import OpenRecord, Record
from ..result import Result
from ..sizes import format_bytes
from . import reader
from .layout import print_tables, table_of

if TYPE_CHECKING:
    from rich.table import Table

PERCENTILES = {"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p99_9": "p99.9", "p99_99": "p99.99"}
ACTIONS = ("reads", "programs", "erases")
# Of `write_amplification_by`: its parts, and what stands apart from it.
PARTS = ("host", "redundancy", "gc", "metadata")
APART = ("rebuild", "retry", "migration", "warmup", "failed", "drain")


# ---- how a value of the JSON is written ----


def text(value: str) -> str:
    """A word."""
    return value


def count(value: int) -> str:
    """A number of things."""
    return f"{value:,}"


def size(value: float) -> str:
    """Bytes."""
    return format_bytes(value)


def percent(value: float) -> str:
    """A share."""
    return f"{value:.1%}"


def hundredths(value: float) -> str:
    """A number with two decimals."""
    return f"{value:,.2f}"


def thousandths(value: float) -> str:
    """A number with three decimals."""
    return f"{value:,.3f}"


def rounded(value: float, decimals: int) -> str:
    """A number with so many decimals, or as many as show two digits of one that they would hide."""
    if 0 < value < 10**-decimals:
        decimals = 1 - math.floor(math.log10(value))
    return f"{value:,.{decimals}f}"


def whole(value: float) -> str:
    """A number without decimals, unless it is below 1."""
    return rounded(value, 0)


def microseconds(value: float) -> str:
    """A time in microseconds."""
    return f"{value / 1e3:,.1f}"


def seconds(value: float) -> str:
    """A time in seconds."""
    return f"{value / 1e9:,.3f}"


def megabytes(value: float) -> str:
    """Bytes in MB, as rates are given."""
    return rounded(value / 1e6, 1)


def counts_by_name(value: Record) -> str:
    """The counts of an object that are not 0."""
    return ", ".join(f"{name.replace('_', '-')} {value[name]:,}" for name in value if value[name]) or "none"


def sizes_by_name(value: Record) -> str:
    """The sizes of an object."""
    return ", ".join(f"{format_bytes(value[name])} {name.replace('_', ' ')}" for name in value) or "none"


def parts(value: Record) -> str:
    """The parts of write amplification that are not 0, and behind them what stands apart from it."""
    written = [name for name in value if value[name] is not None and f"{value[name]:.3f}" != "0.000"]
    own, apart = (
        ", ".join(f"{name} {value[name]:,.3f}" for name in written if (name in APART) is is_apart)
        for is_apart in (False, True)
    )
    return (own or "nothing") + (f"; apart from it {apart}" if apart else "")


def wear_outs(value: list[OpenRecord]) -> str:
    """SSDs that were worn out, each with its time and what it exposed."""
    texts = (
        f"SSD {of.device} at {seconds(of.at_ns)} s ({of.exposed_pages:,} pages exposed, {of.pages_lost:,} lost)"
        for of in value
    )
    return ", ".join(texts)


def felt(value: Record) -> str:
    """How slow requests were."""
    figures = (value["mean"], value["p99_9"], value["max"])
    return "mean {}, p99.9 {}, max {} us".format(*(microseconds(figure) for figure in figures))


def duration(ns: int | None) -> str:
    """How long something took that may not have ended."""
    return ", not ended" if ns is None else f" in {seconds(ns)} s"


def rebuilds(value: list[OpenRecord]) -> str:
    """Rebuilds, each with its time and what requests felt of it."""
    texts = (
        f"{', '.join(part.fault for part in of.failed)}{duration(of.window_of_vulnerability_ns)} "
        f"({of.requests:,} requests meanwhile: {felt(of.latency_ns)})"
        for of in value
    )
    return "; ".join(texts)


def replacements(value: list[OpenRecord]) -> str:
    """Replacements of SSDs, each with its time and what requests felt of it."""
    texts = (
        f"SSD {of.old_device} by {of.new_device}, {of.outcome.replace('_', ' ')}"
        f"{duration(of.duration_ns)} "
        f"({of.requests:,} requests meanwhile: {felt(of.latency_ns)})"
        for of in value
    )
    return "; ".join(texts)


def collections(value: int) -> str:
    """How often garbage collection ran."""
    return ("no GC ran", "GC ran once")[value] if value < 2 else f"GC ran {value:,} times"


Figure = tuple[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Row:
    """A row: its name, its text with a place for each figure, and for each the path in the JSON and how it is written.

    A row is left out where the result has none of its figures; a figure that is null is written as `-`.
    """

    name: str
    text: str
    figures: tuple[Figure, ...]

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


def value_at(result: Record, path: str) -> Any:
    """What stands at a path of the JSON, where a number stands for a place in a list; None if there is nothing."""
    value: Any = result
    for name in path.split("."):
        if isinstance(value, list):
            value = value[int(name)] if int(name) < len(value) else None
            continue
        if not isinstance(value, Record) or name not in value:
            return None
        value = value[name]
    return value


def one(name: str, path: str, write: Callable[[Any], str], text: str = "{}") -> Row:
    """A row of one figure."""
    return Row(name, text, ((path, write),))


WINDOW = Row(
    "exposure window",
    "{} pages exposed on average, {} at most; {} s with any",
    (("window.mean_pages", hundredths), ("window.peak_pages", count), ("window.exposed_ns", seconds)),
)

# What a run shows, from top to bottom.
RUN = (
    Row(
        "user capacity",
        "{}; {} of raw flash is redundancy overhead; {} bytes of flash per user byte",
        (
            ("capacity.user_bytes", size),
            ("capacity.redundancy_share", percent),
            ("capacity.raw_per_user_byte", thousandths),
        ),
    ),
    one("mapping tables", "capacity.table_bytes", size, "{} of DRAM"),
    Row("NVRAM", "{} ({})", (("capacity.nvram_bytes", size), ("capacity.nvram", sizes_by_name))),
    Row(
        "logical space",
        "{}, of which {} filled before the first request",
        (("capacity.space_bytes", size), ("capacity.filled_bytes", size)),
    ),
    one("survives the loss of", "survives.text", text),
    WINDOW,
    one("offered load", "workload.offered_load", hundredths),
    one("wear-outs", "wear_outs", wear_outs),
    one("rebuilds", "rebuild", rebuilds),
    one("replacements", "replacements", replacements),
    one("simulated time", "simulated_ns", seconds, "{} s"),
    Row(
        "throughput",
        "{} requests/s, {} MB/s read, {} MB/s written, over {} s",
        (
            ("bandwidth.requests_per_second", whole),
            ("bandwidth.read_bytes_per_second", megabytes),
            ("bandwidth.write_bytes_per_second", megabytes),
            ("bandwidth.span_ns", seconds),
        ),
    ),
    Row(
        "completed",
        "{} (failed for lack of space {}, failed for lost data {}, unfinished {})",
        (
            ("requests.completed", count),
            ("requests.failed.no_space", count),
            ("requests.failed.lost", count),
            ("requests.unfinished", count),
        ),
    ),
    Row(
        "write amplification",
        "{} ({}); {}",
        (
            ("write_amplification", thousandths),
            ("write_amplification_by", parts),
            ("collection.collections", collections),
        ),
    ),
    one("programs per host page", "pages_per_host_page", thousandths),
    one("effective over-provisioning", "capacity.effective_over_provisioning", percent),
    one("parity updates", "parity_updates", counts_by_name),
    Row(
        "data buffer",
        "{}: hits {}, misses {} (hit rate {}), evictions {} of {} pages, pages at the end {}",
        (
            ("buffer.kind", text),
            ("buffer.hits", count),
            ("buffer.misses", count),
            ("buffer.hit_rate", percent),
            ("buffer.evictions", count),
            ("buffer.mean_victim_pages", hundredths),
            ("buffer.pages_buffered", count),
        ),
    ),
    Row(
        "deferred parities",
        "hits {}, misses {} (hit rate {}), not committed at the end {}",
        (("guard.hits", count), ("guard.misses", count), ("guard.hit_rate", percent), ("guard.entries", count)),
    ),
    Row(
        "commits",
        "replacement {}, gc {}, rebuild {}, idle {} ({} reads each)",
        (
            ("guard.commits_replacement", count),
            ("guard.commits_gc", count),
            ("guard.commits_rebuild", count),
            ("guard.commits_idle", count),
            ("guard.reads_per_commit", hundredths),
        ),
    ),
    Row(
        "lost pages",
        "{} host pages; {} pages not rebuilt, counting pages of redundancy",
        (("losses.host_pages", count), ("losses.pages_not_rebuilt", count)),
    ),
    Row(
        "verified reads",
        "{}, mismatches {}",
        (("verify.reads_checked", count), ("verify.mismatches", count)),
    ),
    Row(
        "verified pages",
        "{} in {} checks: {} would be lost in one more failure, {} are lost",
        (
            ("verify.pages_checked", count),
            ("verify.checks", count),
            ("verify.pages_lost", count),
            ("verify.pages_gone", count),
        ),
    ),
    Row(
        "run time",
        "{} s, plus {} s to build and fill",
        (("engine.wall_seconds", hundredths), ("engine.fill_seconds", hundredths)),
    ),
)


def latency_rows(kind: str) -> dict[str, Row]:
    """The columns of a kind of request."""
    path = f"latency_ns.{kind}"
    figures = {
        key: one(name, f"{path}.{key}", microseconds)
        for key, name in {"mean": "mean", **PERCENTILES, "max": "max"}.items()
    }
    return {"requests": one("requests", f"{path}.count", count), **figures}


def _comparison_rows() -> Iterator[tuple[Row, bool]]:
    """What a comparison shows, and whether a section ends with it."""
    yield one("user capacity", "capacity.user_bytes", size), False
    yield one("redundancy overhead", "capacity.redundancy_share", percent), False
    yield one("flash bytes per user byte", "capacity.raw_per_user_byte", thousandths), False
    yield one("DRAM of mapping tables", "capacity.table_bytes", size), False
    yield one("NVRAM", "capacity.nvram_bytes", size), False
    yield one("survives the loss of", "survives.text", text), False
    yield one("  exposed pages, mean", "window.mean_pages", hundredths), False
    yield one("  exposed pages, at most", "window.peak_pages", count), False
    yield one("  time with exposed pages, s", "window.exposed_ns", seconds), False
    yield one("offered load", "workload.offered_load", hundredths), True
    for kind in ("read", "write"):
        for key, name in {"mean": "mean", "p50": "p50", "p99": "p99", "p99_9": "p99.9"}.items():
            yield one(f"{kind} latency {name}, us", f"latency_ns.{kind}.{key}", microseconds), key == "p99_9"
    for event, ended in (("rebuild", "window_of_vulnerability_ns"), ("replacements", "duration_ns")):
        name = event.removesuffix("s")
        yield one(f"first {name}, s", f"{event}.0.{ended}", seconds), False
        for key, shown in {"mean": "mean", "p99_9": "p99.9", "max": "max"}.items():
            yield (
                one(f"  {shown} latency during the {name}, us", f"{event}.0.latency_ns.{key}", microseconds),
                key == "max",
            )
    yield one("requests/s", "bandwidth.requests_per_second", whole), False
    yield one("read, MB/s", "bandwidth.read_bytes_per_second", megabytes), False
    yield one("written, MB/s", "bandwidth.write_bytes_per_second", megabytes), True
    yield one("programs per host page", "pages_per_host_page", thousandths), False
    yield one("write amplification", "write_amplification", thousandths), False
    for part in PARTS:
        yield one(f"  {part}", f"write_amplification_by.{part}", thousandths), False
    for part in APART:
        yield one(f"apart from it: {part}", f"write_amplification_by.{part}", thousandths), False
    yield one("effective over-provisioning", "capacity.effective_over_provisioning", percent), False
    yield one("GC runs", "collection.collections", count), False
    yield one("pre-reads", "flash_ops.reads.pre_read", count), False
    yield one("commit reads", "flash_ops.reads.commit", count), False
    yield one("parity programs", "flash_ops.programs.parity", count), False
    yield one("commit programs", "flash_ops.programs.commit", count), False
    yield one("GC programs", "flash_ops.programs.gc", count), True
    yield one("failed for lack of space", "requests.failed.no_space", count), False
    yield one("failed for lost data", "requests.failed.lost", count), False
    yield one("unfinished", "requests.unfinished", count), False
    yield one("host pages lost", "losses.host_pages", count), False
    yield one("mismatches", "verify.mismatches", count), False
    yield one("lost in one more failure", "verify.pages_lost", count), False


COMPARISON = tuple(_comparison_rows())
# Rows that say nothing while every scheme has 0.
WHEN_ANY = (
    "requests.failed.",
    "requests.unfinished",
    "losses.",
    "flash_ops.reads.commit",
    "flash_ops.programs.commit",
    "write_amplification_by.",
)


def show_result(result: Result) -> None:
    """One run: capacity and load, latencies by kind, flash operations by cause, verification."""
    partial = ", partial" if result.partial else ""
    work = result.workload
    title = f"{result.scheme} on {result.device}: {work.name}, {reader.counted(work.requests, 'requests')}{partial}"
    facts = table_of(title, ["", ""])
    facts.columns[1].justify = "left"
    for row in RUN:
        cell = row.cell(result)
        if cell is not None:
            facts.add_row(row.name, cell)
    print_tables(facts, _latencies(result), _operations(result))


def _latencies(result: Result) -> "Table":
    table = table_of("latency in us", ["", *(row.name for row in latency_rows("all").values())])
    for kind in result.latency:
        if result.latency[kind].count:
            table.add_row(kind, *(row.cell(result) for row in latency_rows(kind).values()))
    return table


def operation_rows(cause: str) -> list[Row]:
    """The columns of a cause of flash operations."""
    return [one(action, f"flash_ops.{action}.{cause}", count) for action in ACTIONS]


def _operations(result: Result) -> "Table":
    table = table_of("flash operations by cause", ["", *ACTIONS])
    for cause in result.flash_ops.reads:
        if cause == "total" or any(result.flash_ops[action][cause] for action in ACTIONS):
            table.add_row(cause, *(row.cell(result) for row in operation_rows(cause)))
    return table


def show_comparison(comparison: Comparison) -> None:
    """One column for each scheme."""
    results, first = comparison.results, comparison.results[0]
    space, filled = size(first.capacity.space_bytes), size(first.capacity.filled_bytes)
    title = f"{first.workload.name} ({reader.counted(first.workload.requests, 'requests')}) on {first.device}"
    table = table_of(
        f"{title}, logical space {space}, {filled} of it filled",
        ["", *(each.scheme + (" (partial)" if each.partial else "") for each in results)],
    )
    for row, ends in COMPARISON:
        cells = _cells(row, results)
        if cells is not None:
            table.add_row(row.name, *cells)
        if ends:
            table.add_section()
    print_tables(table)


def _cells(row: Row, results: list[Result]) -> list[str] | None:
    """A row of a comparison, or None if it says nothing of any scheme."""
    path = row.figures[0][0]
    if path.startswith("latency_ns."):
        kind = path.rsplit(".", 1)[0]
        cells = [row.cell(each) if value_at(each, f"{kind}.count") else None for each in results]
    elif path.startswith(WHEN_ANY) and not any(value_at(each, path) for each in results):
        return None
    else:
        cells = [row.cell(each) for each in results]
    return None if all(cell is None for cell in cells) else [cell or "-" for cell in cells]
