"""What a decision between schemes needs, as text: a table with differences and best values, and a conclusion in words.

Every number is a figure of the JSON, found by its path and written by its kind; with several seeds it is their mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from .intervals import is_apart, mean_and_half_width, mean_of
from .quantities import COUNT, HUNDREDTHS, TIME, decimals_of, difference, number, with_interval
from .record import Record
from .rows import (
    AMPLIFICATION,
    BUSIEST,
    CAPACITY,
    COLLECTIONS,
    OVER_PROVISIONING,
    PEAK_TO_MEAN,
    READ_TAIL,
    SECTIONS,
    USABLE,
    WORDS,
    WRITE_TAIL,
    Row,
)
from .scaled import of_scaled, with_scale

if TYPE_CHECKING:
    from .comparison import Comparison

EQUAL = 0.01  # values that differ by no more are called equal
OVERLOAD = 0.9  # of `workload.busiest_load`, as in the engine's warning
OVERLOADED = "overloaded: latency grows with the length of the trace"
INTERRUPTED = "interrupted"
OWN_REQUESTS = "Each seed has its own requests, the same for all schemes."
SAME_TRACE = "All seeds replay the same trace: only the random choices of the device depend on the seed."
PUT_OFF = "All seeds replay the same trace, with arrivals that the seed puts off (--jitter)."
OVERLONG = "overloaded: the device takes longer than the trace, and so writes less in a day"
OWN_LOAD = "lifetime at the load that the scheme itself allows: in a closed loop, a faster one writes more in a day"
UNEVEN = (
    1.1  # of the programs of the busiest member, to the mean: from there on a lifetime of the mean is not that of all
)
MIRROR_CHIPS = "counts blocks of mirror chips, which take only copies: GC of the other chips cannot use them"
UNPROTECTED = "in a closed loop redundancy may not be written until the end, as the device is never idle"


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


@dataclass(frozen=True)
class Cell:
    """What a row says of one scheme."""

    value: float | None
    """The figure in the unit of the JSON, with several seeds its mean. None for words and for an undefined figure."""
    half_width: float
    """Half the width of its 95 % interval in the unit of the JSON; 0 with one seed."""
    text: str
    """The figure in the unit of its line, with several seeds with half the width of its interval; `-` if undefined."""
    relative: str = ""
    """The difference from the first scheme; empty where it says nothing."""
    is_best: bool = False
    """Whether it is the best of the row, equal to it within 1 %, or with several seeds not apart from it."""
    note: str = ""
    """Why the figure is not to be compared with the others."""
    values: tuple[float, ...] = ()
    """The figure with each seed, in the unit of the JSON; empty for words and for an undefined figure."""

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
class Candidate:
    """A scheme with its results, one for each seed."""

    results: tuple[Record, ...]
    capacity: Record | None

    @property
    def name(self) -> str:
        """The scheme, and whether its results are of a part."""
        scheme: str = self.results[0]["scheme"]
        return f"{scheme} (partial)" if self.is_partial else scheme

    @property
    def is_partial(self) -> bool:
        """Whether a run of it was interrupted."""
        return any(each["partial"] for each in self.results)

    def doubt_of(self, row: Row) -> str:
        """Why a figure is not to be compared with those of others; empty if it is."""
        if row is CAPACITY:
            return UNPROTECTED if self.results[0]["window"] is not None else ""
        if row.is_lifetime:
            if any(value_at(each, "config.run.queue_depth") for each in self.results):
                return OWN_LOAD
            why = self._doubt(OVERLONG)
            return f"lifetime at another load than that of the trace: {why}" if why else ""
        if row.path in (OVER_PROVISIONING, USABLE):
            return MIRROR_CHIPS if value_at(self.results[0], "config.device.mirror_chips") else ""
        if row.is_latency:
            return self._doubt(OVERLOADED)
        return INTERRUPTED if self.is_partial and row.better and not row.is_price else ""

    def _doubt(self, overloaded: str) -> str:
        """Why a figure that depends on time is not to be compared, with what an overload means for it."""
        failed = sum(
            value_at(each, path) or 0
            for each in self.results
            for path in (
                "requests.failed.no_space",
                "requests.failed.lost",
                "requests.failed.refused",
                "requests.unfinished",
            )
        )
        reasons = [INTERRUPTED] if self.is_partial else []
        reasons += [overloaded] if any(is_overloaded(each) for each in self.results) else []
        reasons += [f"requests without success, which it leaves out: {failed:,}"] if failed else []
        return "; ".join(reasons)

    @property
    def unevenness(self) -> float:
        """How many times faster than the mean the busiest member wears out; 1 if it is hardly faster."""
        peaks = [value_at(each, PEAK_TO_MEAN) for each in self.results]
        peak = mean_of([each or 1 for each in peaks])
        return peak if peak > UNEVEN else 1.0

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
    sections = [(title, [_line(row, found, not comparison.differences) for row in rows]) for title, rows in SECTIONS]
    full = [Section(title, tuple(line for line in lines if line)) for title, lines in sections]
    return [section for section in full if section.lines]


def _line(row: Row, found: Sequence[Candidate], are_comparable: bool) -> Line | None:
    values = [each.values(row) for each in found]
    known = [value for each in values for value in each if value is not None]
    is_said = any(value_at(result, row.unless) is not None for each in found for result in each.results)
    if not known or not (row.is_needed or any(known)) or is_said:
        return None
    if row is BUSIEST and not any(is_overloaded(result) for each in found for result in each.results):
        return None
    if row.kind is WORDS:
        return Line(row.name, "", row.path, None, tuple(_survived(each.results[0]) for each in found), row.note)
    unit, one = row.kind.unit(known)
    notes = [each.doubt_of(row) for each in found]
    defined = {at: each for at, each in enumerate(values) if None not in each}
    merits = {at: each for at, each in defined.items() if not notes[at]}
    if row.is_lifetime:
        # The device ends with its busiest member: a higher mean is no merit if that one wears out earlier.
        uneven = {at: found[at].unevenness for at in merits if found[at].unevenness > 1}
        merits = {at: [value / uneven.get(at, 1) for value in each] for at, each in merits.items()}
        for at, times in uneven.items():
            faster = f"{HUNDREDTHS.text(times)} times faster than the mean"
            notes[at] = f"its busiest member wears out {faster}, which the lifetime describes"
    is_ranked = are_comparable and not (row is CAPACITY and _without_capacity(found))
    best = _best(row.better, merits) if is_ranked else set()
    cells = []
    for at, note in enumerate(notes):
        if at not in defined:
            cells.append(Cell(None, 0, "-"))
            continue
        mean, half_width = mean_and_half_width(values[at])
        # What an interrupted run has counted is that of a part of the trace.
        is_related = (
            are_comparable and 0 in defined and (row.is_price or not (found[at].is_partial or found[0].is_partial))
        )
        relative = difference(mean, mean_of(values[0])) if is_related and is_apart(values[at], values[0]) else ""
        text = _text(row, (mean, half_width), one)
        is_best = at in best and not note and not found[at].is_partial
        cells.append(Cell(mean, half_width, text, relative, is_best, note, tuple(values[at])))
    note = _closed_loop(found) if row is CAPACITY else row.note
    if row.scales and (scaled := of_scaled(found[0].results[0])):
        note = "; ".join(text for text in (note, scaled) if text)
    return Line(row.name, unit, row.path, row.better, tuple(cells), note)


def _survived(result: Record) -> Cell:
    text, but = (value_at(result, f"survives.{key}") for key in ("text", "but"))
    return Cell(None, 0, text.removesuffix(f", but for {but}"), note=f"all but {but}" if but else "")


def _text(row: Row, spread: tuple[float, float], one: float) -> str:
    """A mean, and half the width of its interval."""
    assert row.kind is not None
    mean, half = (value / one for value in spread)
    if row.path == COLLECTIONS and mean == 0:
        return "no GC ran"
    decimals = row.kind.decimals
    if decimals is None or (mean != int(mean) and row.kind is COUNT):
        decimals = decimals_of(number(mean, None))
    return with_interval(mean, half, decimals)


def _best(better: str | None, values: Mapping[int, Sequence[float]]) -> set[int]:
    """The best ones, given the figures of each with each seed, and those equal to them; none if all are, or if there
    are not two.
    """
    if better is None or len(values) < 2:
        return set()
    optimum = (min if better == "low" else max)(values.values(), key=mean_of)
    best = {at for at, each in values.items() if not _differ(each, optimum)}
    return set() if len(best) == len(values) else best


def _differ(values: Sequence[float], others: Sequence[float]) -> bool:
    """Whether two schemes have different figures; with several seeds, whether these tell them apart."""
    return is_apart(values, others) and not _are_near(values, others)


def _are_near(values: Sequence[float], others: Sequence[float]) -> bool:
    return abs(mean_of(values) - mean_of(others)) <= EQUAL * abs(mean_of(others))


def _closed_loop(found: Sequence[Candidate]) -> str:
    first = next(each.capacity for each in found if each.capacity)
    seed = ", with the first seed" if len(found[0].results) > 1 else ""
    missing = _without_capacity(found)
    unknown = f"; interrupted before that of {listed(missing)} was measured" if missing else ""
    return f"{first['requests']:,} requests, {first['queue_depth']:,} of them outstanding at any time{seed}{unknown}"


def _without_capacity(found: Sequence[Candidate]) -> list[str]:
    """The schemes whose capacity is not known, as the comparison was interrupted; while there is one, none is best."""
    return [each.name for each in found if each.capacity is None]


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
        also = "" if comparison.seeds == 1 else ", or not told apart from it by these seeds"
        said.append(f"* best of its row, or equal to it within 1 %{also}")
    marked: dict[str, dict[str, None]] = {}
    for line in lines:
        for each, cell in zip(found, line.cells, strict=True):
            if cell.note:
                marked.setdefault(cell.note, {})[each.name] = None
    said += [f"! {', '.join(names)}: {note}" for note, names in marked.items()]
    said += [f"{line.name}: {line.note}" for line in lines if line.note]
    if comparison.seeds > 1:
        said.append(_of_seeds(found, comparison.seeds))
    return said


def _of_seeds(found: Sequence[Candidate], seeds: int) -> str:
    """What figures of several seeds are."""
    figures = [each.values(row) for each in found for _, rows in SECTIONS for row in rows]
    first = found[0].results[0]
    is_profile = value_at(first, "workload.format") == "profile"
    replayed = OWN_REQUESTS if is_profile else PUT_OFF if value_at(first, "config.run.jitter_ns") else SAME_TRACE
    if all(value == each[0] for each in figures for value in each):
        return f"No figure depends on the seed: the runs of {seeds} seeds are equal. {replayed}"
    return (
        f"Figures are means of {seeds} seeds; ± is half the width of the 95 % interval (Student's t). {replayed} "
        "Differences are shown where the 95 % interval of the differences between runs with the same seed excludes 0."
    )


def conclusion(comparison: "Comparison") -> list[str]:
    """What the table says, in sentences; none of a single scheme.

    Ranked are only schemes whose figures can be compared, and only those that survive a failure if there are two of
    them. The sentences name the others.
    """
    found = candidates(comparison)
    if len(found) < 2:
        return []
    if comparison.differences:
        of = listed(comparison.differences)
        more = "figures differ for more reasons than the scheme, and are not ranked"
        return [f"The results are of different {of}: {more}."]
    lines = {line.path: line for section in table(comparison) for line in section.lines}
    names = [each.name for each in found]
    is_protected = [any(value is True for value in each.results[0]["survives"].to_dict().values()) for each in found]
    ranked = {
        READ_TAIL: "Fastest read tail (p99.9) at this load",
        WRITE_TAIL: "Fastest write tail (p99.9) at this load",
        AMPLIFICATION: "Least write amplification at this load",
        CAPACITY.path: "Highest capacity in a closed loop",
    }
    sentences, winners = [], dict[str, None]()
    for path, what in ranked.items():
        if path in lines and not (path == CAPACITY.path and _without_capacity(found)):
            ranking, best = _ranking(what, lines[path], names, is_protected)
            sentences += ranking
            winners |= dict.fromkeys(best)
    for what, path in (("Latencies", READ_TAIL), ("Latencies", WRITE_TAIL), ("Capacities", CAPACITY.path)):
        if path in lines and (said := _not_compared(what, lines[path], names)) and said not in sentences:
            sentences.append(said)
    whole = [each for each in found if not each.is_partial]
    fresh = [each.name for each in whole if not any(value_at(of, COLLECTIONS) for of in each.results)]
    if fresh:
        under = "" if len(fresh) == len(found) else f" under {listed(fresh)}"
        sentences.append(f"No GC ran{under}: write amplification and latencies are those of a device with free blocks.")
    prices: dict[str, list[str]] = {}
    for name in winners:
        prices.setdefault(_price(names.index(name), lines), []).append(name)
    sentences += [f"Price of {listed(of)}: {price}." for price, of in prices.items()]
    return [*sentences, *_protection(found, lines)]


def _ranking(what: str, line: Line, names: Sequence[str], is_protected: Sequence[bool]) -> tuple[list[str], list[str]]:
    """A sentence on the best schemes of a line, if it ranks any, and these schemes."""
    fit = {at: cell for at, cell in enumerate(line.cells) if cell.value is not None and not cell.note}
    others = {at: cell for at, cell in fit.items() if not is_protected[at]}
    if len(fit) - len(others) < 2:
        others = {}
    ranked = [at for at in fit if at not in others]
    if len(ranked) < 2:
        return [], []
    ranked.sort(key=lambda at: (fit[at].value or 0) * (1 if line.better == "low" else -1))
    values = {at: fit[at].values for at in ranked}
    winners = _best(line.better, values)
    best = [at for at in ranked if at in winners] or ranked

    def with_value(at: int) -> str:
        return f"{names[at]} with {_with_unit(fit[at], line)}"

    first, *near = best
    pairs = [(values[other], values[one]) for one, other in combinations(best, 2)]
    # Two that are not told apart from the best may well be told apart from each other.
    are_alike = not any(_differ(*pair) for pair in pairs)
    if are_alike and not winners:
        said = f"no difference, {listed([names[at] for at in best])} are {_likeness(pairs)}"
    elif are_alike:
        said = listed([with_value(at) for at in best]) + (f" ({_likeness(pairs)})" if near else "")
    else:
        from_it = _likeness([(values[at], values[first]) for at in near], "to it ", "from it ")
        said = f"{with_value(first)}; {listed([with_value(at) for at in near])} are {from_it}"
    if winners:
        following = next(at for at in ranked if at not in winners)
        behind = difference(fit[following].value or 0, fit[first].value or 0)
        said += f"; next is {with_value(following)}" + (f" ({behind})" if behind else "")
    if others:
        said += f"; without redundancy, {listed([with_value(at) for at in others])}"
    return [f"{what}: {said}."], [names[at] for at in (best if winners else [] if are_alike else [first])]


def _likeness(pairs: Sequence[tuple[Sequence[float], Sequence[float]]], to: str = "", from_: str = "") -> str:
    """Why none of these pairs differs."""
    are_blurred = {mean_of(one) != mean_of(other) and not is_apart(one, other) for one, other in pairs}
    reasons = {False: f"equal {to}within 1 %", True: f"not told apart {from_}by these seeds"}
    return " or ".join(reason for is_blurred, reason in reasons.items() if is_blurred in are_blurred)


def _not_compared(what: str, line: Line, names: Sequence[str]) -> str:
    """A sentence on the schemes that a line does not rank, and why; empty if it ranks all."""
    reasons: dict[str, list[str]] = {}
    for cell, name in zip(line.cells, names, strict=True):
        if cell.note:
            reasons.setdefault(cell.note, []).append(name)
    left_out = "; ".join(f"{', '.join(of)} ({reason})" for reason, of in reasons.items())
    return f"{what} that are not compared: {left_out}." if reasons else ""


def _with_unit(cell: Cell, line: Line) -> str:
    return f"{cell.text} {line.unit}".rstrip()


def _price(at: int, lines: dict[str, Line]) -> str:
    said = {path: _with_unit(line.cells[at], line) for path, line in lines.items() if path.startswith("capacity.")}
    nvram = lines["capacity.nvram_bytes"].cells[at].value
    return (
        f"{said['capacity.user_bytes']} of user capacity, "
        f"{said['capacity.redundancy_share']} of the flash for redundancy, "
        f"{said['capacity.nvram_bytes'] if nvram else 'no'} NVRAM"
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
                yield f"{with_scale(f'{each.name} {_vulnerable(rebuild)}', result)}."


def _vulnerable(rebuild: Record) -> str:
    parts = listed([failed["fault"] for failed in rebuild["failed"]])
    took = rebuild["window_of_vulnerability_ns"]
    if took is None:
        return f"did not regain full redundancy after the failure of {parts}"
    return f"was without full redundancy for {TIME.text(took)} after the failure of {parts}"


def listed(names: Sequence[str]) -> str:
    """A list in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
