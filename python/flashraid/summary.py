"""What a decision between schemes needs, as text: a table with differences and best values, and a conclusion in words.

Every number is a figure of the JSON, found by its path and written by its kind; with several seeds it is their mean.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .intervals import mean_and_half_width
from .record import Record
from .sizes import TIMES

if TYPE_CHECKING:
    from .comparison import Comparison

EQUAL = 0.01  # values that differ by less are called equal
OVERLOAD = 0.9  # of `workload.busiest_load`, as in the engine's warning
OVERLOADED = "overloaded: latency grows with the length of the trace"


# ---- how figures are written ----


@dataclass(frozen=True)
class Kind:
    """How figures are written: in units, each with its size in the JSON's, and with how many decimals (`number`)."""

    units: tuple[tuple[str, float], ...] = (("", 1),)
    decimals: int | None = None

    def unit(self, values: Sequence[float]) -> tuple[str, float]:
        """The unit that fits them all best: the largest in which their median is at least 1, zeros left out."""
        ordered = sorted(abs(value) for value in values if value)
        median = ordered[(len(ordered) - 1) // 2] if ordered else 0
        return next((unit for unit in reversed(self.units) if unit[1] <= median), self.units[0])

    def text(self, value: float) -> str:
        """One figure with its unit."""
        name, one = self.unit([value])
        return f"{number(value / one, self.decimals)} {name}".rstrip()


TIME = Kind(tuple(TIMES.items()))
SIZE = Kind((("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30), ("TiB", 2**40)))
SHARE = Kind((("%", 0.01),), 1)
COUNT = Kind(decimals=0)
HUNDREDTHS = Kind(decimals=2)
THOUSANDTHS = Kind(decimals=3)
PER_SECOND = Kind((("requests/s", 1),), 0)
MB_PER_SECOND = Kind((("MB/s", 1e6),), 1)
YEARS = Kind((("h", 1 / 8760), ("days", 1 / 365), ("years", 1)))
WORDS = None


def number(value: float, decimals: int | None) -> str:
    """A number with so many decimals, or as many as show two digits of one that they would hide.

    Without `decimals`, three significant digits, and all digits before the point.
    """
    if decimals is None:
        decimals = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    elif 0 < abs(value) < 10**-decimals:
        decimals = 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{decimals}f}"


def difference(value: float, first: float) -> str:
    """A value relative to the first: in percent, from twice as much on as a factor; nothing if they are equal."""
    if first == 0 or value == first:
        return ""
    if value >= 2 * first:
        return f"{value / first:,.1f}x"
    change = 100 * (value / first - 1)
    decimals = 0 if value == 0 or change > -99.5 else 1 - math.floor(math.log10(100 + change))
    return f"{change:+.{decimals}f} %" if abs(change) >= 0.5 else "0 %"


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


# ---- the table ----


@dataclass(frozen=True)
class Cell:
    """What a row says of one scheme."""

    value: float | None
    """The figure in the unit of the JSON, with several seeds its mean. None for words and for an undefined figure."""
    text: str
    """The figure in the unit of its line, with several seeds with half the width of its interval; `-` if undefined."""
    relative: str = ""
    """The difference from the first scheme; empty where it says nothing."""
    is_best: bool = False
    """Whether it is the best of the row, or equal to it within 1 %, with several seeds within the intervals."""
    note: str = ""
    """Why the figure is not to be compared with the others."""

    @property
    def mark(self) -> str:
        """The sign behind the figure."""
        return "!" if self.note else "*" if self.is_best else " "


@dataclass(frozen=True)
class Line:
    """A row: a cell for each scheme."""

    name: str
    unit: str
    path: str
    """Where its figures stand in the JSON: in each result, or for the closed loop in each element of `capacity`."""
    better: Literal["low", "high"] | None
    """Which figures are better, if any are."""
    cells: tuple[Cell, ...]
    note: str = ""
    """What its figures hold for."""

    @property
    def head(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Section:
    """Lines of one subject."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Row:
    """A row before the results are known. It is left out where no result has its figure."""

    name: str
    path: str
    kind: Kind | None
    better: Literal["low", "high"] | None = None
    is_needed: bool = True
    """Whether it says something where every scheme has 0."""
    note: str = ""
    unless: str = ""
    """The path of a figure that says the same, and leaves the row out."""

    @property
    def is_latency(self) -> bool:
        """Whether its figure is one of latencies, which are all 0 without requests."""
        return "latency_ns." in self.path


CAPACITY = Row("capacity, closed loop", "requests_per_second", PER_SECOND, "high")
READ_TAIL, WRITE_TAIL = "latency_ns.read.p99_9", "latency_ns.write.p99_9"
AMPLIFICATION = "write_amplification"
LIFETIME, DRIVE_WRITES = "lifetime.years", "lifetime.full_drive_writes"
WORN = "until the mean block is worn out, if this load goes on and write amplification stays what it was in this run"


def _latencies(kind: str) -> tuple[Row, ...]:
    names = {"mean": "mean", "p50": "p50", "p99": "p99", "p99_9": "p99.9"}
    return tuple(Row(f"{kind} latency {name}", f"latency_ns.{kind}.{key}", TIME, "low") for key, name in names.items())


def _event(event: str, ended: str) -> Iterator[Row]:
    name = event.removesuffix("s")
    yield Row(f"first {name}", f"{event}.0.{ended}", TIME, "low")
    for key, shown in {"mean": "mean", "p99_9": "p99.9", "max": "max"}.items():
        yield Row(f"{shown} latency during the {name}", f"{event}.0.latency_ns.{key}", TIME, "low")


def _parts() -> Iterator[Row]:
    for part in ("host", "redundancy", "gc", "metadata"):
        yield Row(f"of which {part}", f"write_amplification_by.{part}", THOUSANDTHS, is_needed=False)
    for part in ("rebuild", "retry", "migration", "warmup", "failed", "drain"):
        yield Row(f"apart from it: {part}", f"write_amplification_by.{part}", THOUSANDTHS, is_needed=False)


SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    (
        "price",
        (
            Row("user capacity", "capacity.user_bytes", SIZE, "high"),
            Row("redundancy overhead", "capacity.redundancy_share", SHARE, "low"),
            Row("flash bytes per user byte", "capacity.raw_per_user_byte", THOUSANDTHS, "low"),
            Row("DRAM of mapping tables", "capacity.table_bytes", SIZE, "low"),
            Row("NVRAM", "capacity.nvram_bytes", SIZE, "low"),
            Row("effective over-provisioning", "capacity.effective_over_provisioning", SHARE, "high"),
        ),
    ),
    (
        "protection",
        (
            Row("survives the loss of", "survives.text", WORDS),
            Row("exposed pages, mean", "window.mean_pages", HUNDREDTHS),
            Row("exposed pages, at most", "window.peak_pages", COUNT),
            Row("time with exposed pages", "window.exposed_ns", TIME),
        ),
    ),
    (
        "load",
        (
            Row("offered load", "workload.offered_load", HUNDREDTHS),
            Row("throughput at this load", "bandwidth.requests_per_second", PER_SECOND),
            Row("read", "bandwidth.read_bytes_per_second", MB_PER_SECOND),
            Row("written", "bandwidth.write_bytes_per_second", MB_PER_SECOND),
            CAPACITY,
        ),
    ),
    ("read latency", _latencies("read")),
    ("write latency", _latencies("write")),
    ("rebuild", tuple(_event("rebuild", "window_of_vulnerability_ns"))),
    ("replacement", tuple(_event("replacements", "duration_ns"))),
    (
        "flash",
        (
            Row("programs per host page", "pages_per_host_page", THOUSANDTHS, "low"),
            Row("write amplification", AMPLIFICATION, THOUSANDTHS, "low"),
            *_parts(),
            Row("GC runs", "collection.collections", COUNT),
            Row("pre-reads", "flash_ops.reads.pre_read", COUNT),
            Row("commit reads", "flash_ops.reads.commit", COUNT, is_needed=False),
            Row("parity programs", "flash_ops.programs.parity", COUNT),
            Row("commit programs", "flash_ops.programs.commit", COUNT, is_needed=False),
            Row("GC programs", "flash_ops.programs.gc", COUNT),
        ),
    ),
    (
        "wear",
        (
            Row("erases", "flash_ops.erases.total", COUNT, "low"),
            Row("mean erases of a block", "wear.erase_mean", HUNDREDTHS, "low"),
            Row("full drive writes until worn out", DRIVE_WRITES, COUNT, "high"),
            Row("lifetime at this load", LIFETIME, YEARS, "high", note=WORN),
            Row(
                "full drive writes per 1,000 P/E cycles",
                f"{DRIVE_WRITES}_per_1000_cycles",
                COUNT,
                "high",
                unless=DRIVE_WRITES,
            ),
            Row(
                "lifetime at this load per 1,000 P/E cycles",
                f"{LIFETIME}_per_1000_cycles",
                YEARS,
                "high",
                note=WORN,
                unless=LIFETIME,
            ),
            Row("programs of the busiest member, to the mean", "lifetime.programs_peak_to_mean", HUNDREDTHS, "low"),
        ),
    ),
    (
        "failures",
        (
            Row("failed for lack of space", "requests.failed.no_space", COUNT, is_needed=False),
            Row("failed for lost data", "requests.failed.lost", COUNT, is_needed=False),
            Row("unfinished", "requests.unfinished", COUNT, is_needed=False),
            Row("host pages lost", "losses.host_pages", COUNT, is_needed=False),
            Row("mismatches", "verify.mismatches", COUNT),
            Row("lost in one more failure", "verify.pages_lost", COUNT),
        ),
    ),
)


@dataclass(frozen=True)
class Candidate:
    """A scheme with its results, one for each seed."""

    results: tuple[Record, ...]
    capacity: Record | None

    @property
    def name(self) -> str:
        """The scheme, and whether its results are of a part."""
        first = self.results[0]
        return f"{first['scheme']} (partial)" if any(each["partial"] for each in self.results) else first["scheme"]

    @property
    def doubt(self) -> str:
        """Why its latencies are not to be compared with those of others; empty if they are."""
        failed = sum(
            value_at(each, path) or 0
            for each in self.results
            for path in ("requests.failed.no_space", "requests.failed.lost", "requests.unfinished")
        )
        reasons = ["interrupted"] if any(each["partial"] for each in self.results) else []
        reasons += [OVERLOADED] if any(is_overloaded(each) for each in self.results) else []
        reasons += [f"requests without success, which it leaves out: {failed:,}"] if failed else []
        return "; ".join(reasons)

    def values(self, row: Row) -> list[Any]:
        """The row's figure in each result; None where there is none, or where nothing was measured."""
        if row is CAPACITY:
            return [self.capacity[row.path]] if self.capacity else [None]
        counted = f"{row.path.rpartition('.')[0]}.count"
        return [
            None if row.is_latency and not value_at(each, counted) else value_at(each, row.path)
            for each in self.results
        ]


def is_overloaded(result: Record) -> bool:
    """Whether the device cannot keep up with the arrivals, so that latencies depend on the length of the trace."""
    is_open_loop = not value_at(result, "config.run.queue_depth")
    return is_open_loop and (value_at(result, "workload.busiest_load") or 0) > OVERLOAD


def candidates(comparison: "Comparison") -> list[Candidate]:
    """The schemes of a comparison, in its order."""
    results, seeds = comparison.results, comparison.seeds
    groups = [tuple(results[at : at + seeds]) for at in range(0, len(results), seeds)]
    found = [*comparison.capacity, *([None] * len(groups))]
    return [Candidate(group, capacity) for group, capacity in zip(groups, found, strict=False)]


def table(comparison: "Comparison") -> list[Section]:
    """What the results of a comparison say, without the rows that say nothing of any scheme."""
    found = candidates(comparison)
    sections = [(title, [_line(row, found) for row in rows]) for title, rows in SECTIONS]
    full = [Section(title, tuple(line for line in lines if line)) for title, lines in sections]
    return [section for section in full if section.lines]


def _line(row: Row, found: Sequence[Candidate]) -> Line | None:
    values = [each.values(row) for each in found]
    known = [value for each in values for value in each if value is not None]
    is_said = any(value_at(result, row.unless) is not None for each in found for result in each.results)
    if not known or not (row.is_needed or any(known)) or is_said:
        return None
    if row.kind is WORDS:
        return Line(row.name, "", row.path, None, tuple(Cell(None, each[0] or "-") for each in values), row.note)
    unit, one = row.kind.unit(known)
    notes = [each.doubt if row.is_latency else "" for each in found]
    spreads = [None if None in each else mean_and_half_width(each) for each in values]
    best = _best(row.better, [None if note else spread for spread, note in zip(spreads, notes, strict=True)])
    cells = []
    for at, (spread, note) in enumerate(zip(spreads, notes, strict=True)):
        if spread is None:
            cells.append(Cell(None, "-"))
            continue
        text = _text(row, spread, one)
        is_apart = at > 0 and spreads[0] is not None and not _overlap(spread, spreads[0])
        relative = difference(spread[0], spreads[0][0]) if is_apart and spreads[0] else ""
        cells.append(Cell(spread[0], text, relative, at in best, note))
    note = _closed_loop(found) if row is CAPACITY else row.note
    return Line(row.name, unit, row.path, row.better, tuple(cells), note)


Spread = tuple[float, float]  # a mean, and half the width of its interval


def _text(row: Row, spread: Spread, one: float) -> str:
    assert row.kind is not None
    mean, half = (value / one for value in spread)
    if row.path == "collection.collections" and mean == 0:
        return "no GC ran"
    decimals = row.kind.decimals
    if decimals is None or (mean != int(mean) and row.kind is COUNT):
        decimals = _decimals(number(mean, None))
    if half:
        decimals = max(decimals, _decimals(number(half, decimals)))
        return f"{number(mean, decimals)} ±{number(half, decimals)}"
    return number(mean, decimals)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _overlap(one: Spread, other: Spread) -> bool:
    """Whether intervals overlap. Figures of one seed have none."""
    return bool(one[1] or other[1]) and abs(one[0] - other[0]) <= one[1] + other[1]


def _best(better: str | None, spreads: Sequence[Spread | None]) -> set[int]:
    """The best ones and those equal to them; none if all are, or if there are not two."""
    known = {at: spread for at, spread in enumerate(spreads) if spread is not None}
    if better is None or len(known) < 2:
        return set()
    optimum = (min if better == "low" else max)(known.values(), key=lambda spread: spread[0])
    best = {
        at
        for at, spread in known.items()
        if abs(spread[0] - optimum[0]) <= EQUAL * abs(optimum[0]) or _overlap(spread, optimum)
    }
    return set() if len(best) == len(known) else best


def _closed_loop(found: Sequence[Candidate]) -> str:
    first = next(each.capacity for each in found if each.capacity)
    return f"{first['requests']:,} requests, {first['queue_depth']:,} of them outstanding at any time"


# ---- in words ----


def notes(comparison: "Comparison") -> list[str]:
    """What is to be known to read the table: its signs, and what figures hold for."""
    found = candidates(comparison)
    lines = [line for section in table(comparison) for line in section.lines]
    cells = [cell for line in lines for cell in line.cells]
    said = []
    if any(cell.relative for cell in cells):
        said.append(f"Differences are from {found[0].name}.")
    if any(cell.is_best for cell in cells):
        said.append(
            f"* best of its row{', or equal to it within 1 %' if comparison.seeds == 1 else ', or not told from it'}"
        )
    said += [f"! {', '.join(names)}: {doubt}" for doubt, names in _doubts(found).items()]
    said += [f"{line.name}: {line.note}" for line in lines if line.note]
    if comparison.seeds > 1:
        said.append(_of_seeds(found, comparison.seeds))
    return said


def _doubts(found: Sequence[Candidate]) -> dict[str, list[str]]:
    """Why latencies are not to be compared, each with the schemes of which it is true."""
    doubts: dict[str, list[str]] = {}
    for each in found:
        if each.doubt:
            doubts.setdefault(each.doubt, []).append(each.name)
    return doubts


def _of_seeds(found: Sequence[Candidate], seeds: int) -> str:
    """What figures of several seeds are."""
    figures = [each.values(row) for each in found for _, rows in SECTIONS for row in rows]
    if all(value == each[0] for each in figures for value in each):
        return f"No figure depends on the seed: the runs of {seeds} seeds are equal."
    return (
        f"Figures are means of {seeds} seeds; ± is half the width of the 95 % interval (Student's t). "
        "Differences are shown where intervals do not overlap."
    )


def conclusion(comparison: "Comparison") -> list[str]:
    """What the table says, in sentences; none of a single scheme.

    Ranked are only schemes whose figures can be compared: the sentences name the others.
    """
    found = candidates(comparison)
    if len(found) < 2:
        return []
    lines = {line.path: line for section in table(comparison) for line in section.lines}
    names = [each.name for each in found]
    doubts = _doubts(found)
    ranked = {
        READ_TAIL: "Fastest read tail (p99.9) at this load",
        WRITE_TAIL: "Fastest write tail (p99.9) at this load",
        AMPLIFICATION: "Least write amplification at this load",
        CAPACITY.path: "Highest capacity in a closed loop",
    }
    sentences, winners = [], dict[str, None]()
    for path, what in ranked.items():
        if path in lines:
            said, best = _ranking(what, lines[path], names)
            sentences += said
            winners |= dict.fromkeys(best)
    if doubts:
        left_out = "; ".join(f"{', '.join(names)} ({doubt})" for doubt, names in doubts.items())
        sentences.append(f"Latencies that are not compared: {left_out}.")
    sentences += [_price(name, names.index(name), lines) for name in winners]
    return [*sentences, *_protection(found, lines)]


def _ranking(what: str, line: Line, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """A sentence on the best schemes of a line, if it ranks any, and these schemes."""
    known = [(cell, name) for cell, name in zip(line.cells, names, strict=True) if cell.value is not None]
    fit = [(cell, name) for cell, name in known if not cell.note]
    if len(fit) < 2:
        return [], []
    best = [(cell, name) for cell, name in fit if cell.is_best]
    if not best:
        return [f"{what}: no difference, {_listed([name for _, name in fit])} are equal within 1 %."], []
    others = sorted(
        ((cell, name) for cell, name in fit if not cell.is_best),
        key=lambda each: (each[0].value or 0) * (1 if line.better == "low" else -1),
    )
    texts = [f"{name} with {_with_unit(cell, line)}" for cell, name in best]
    equal = " (equal within 1 %)" if len(best) > 1 else ""
    following, name = others[0]
    behind = difference(following.value or 0, best[0][0].value or 0)
    next_one = f"{name} with {_with_unit(following, line)}" + (f" ({behind})" if behind else "")
    return [f"{what}: {_listed(texts)}{equal}; next is {next_one}."], [name for _, name in best]


def _with_unit(cell: Cell, line: Line) -> str:
    return f"{cell.text} {line.unit}".rstrip()


def _price(name: str, at: int, lines: dict[str, Line]) -> str:
    said = {path: _with_unit(line.cells[at], line) for path, line in lines.items() if path.startswith("capacity.")}
    nvram = lines["capacity.nvram_bytes"].cells[at].value
    return (
        f"Price of {name}: {said['capacity.user_bytes']} of user capacity, "
        f"{said['capacity.redundancy_share']} of the flash for redundancy, "
        f"{said['capacity.nvram_bytes'] if nvram else 'no'} NVRAM."
    )


def _protection(found: Sequence[Candidate], lines: dict[str, Line]) -> Iterator[str]:
    """What each scheme survives, and for how long it does not."""
    of_text: dict[str, list[str]] = {}
    for each in found:
        of_text.setdefault(str(value_at(each.results[0], "survives.text")), []).append(each.name)
    texts = [f"{text} ({', '.join(names)})" for text, names in of_text.items()]
    yield f"Survived at any time is the loss of {'; of '.join(texts)}."
    for at, each in enumerate(found):
        exposed = lines.get("window.exposed_ns")
        if exposed and exposed.cells[at].value:
            pages = lines["window.peak_pages"].cells[at].text
            yield (
                f"Exposure window of {each.name}: {_with_unit(exposed.cells[at], exposed)} in all, with at most "
                f"{pages} host pages that one failure would have lost."
            )
        for result in each.results[:1]:
            for rebuild in value_at(result, "rebuild") or []:
                yield f"{each.name} {_vulnerable(rebuild)}."


def _vulnerable(rebuild: Record) -> str:
    parts = _listed([failed["fault"] for failed in rebuild["failed"]])
    took = rebuild["window_of_vulnerability_ns"]
    if took is None:
        return f"did not regain full redundancy after the failure of {parts}"
    return f"was without full redundancy for {TIME.text(took)} after the failure of {parts}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
