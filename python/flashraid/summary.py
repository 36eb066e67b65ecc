"""What a decision between schemes needs, in words: what is to be known to read the table, and a conclusion.

Every number is a figure of the table (`lines`). A sentence names a winner only if the figures are evidence for one
(`evidence`).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from .candidate import Candidate, candidates, has_collected, listed, tail_of, value_at
from .compared import Results
from .evidence import FEWEST, SPARSE, differ, words_of
from .intervals import is_apart, mean_of
from .lines import Cell, Line, Section, best_of, table, without_capacity
from .quantities import SHARE, TIME, difference
from .record import Record
from .rows import AMPLIFICATION, CAPACITY, OVER_PROVISIONING, SECTIONS
from .scaled import with_scale

__all__ = ["Cell", "Line", "Section", "candidates", "conclusion", "notes", "table", "value_at"]

OWN_REQUESTS = "Each seed has its own requests, the same for all schemes."
SAME_TRACE = "All seeds replay the same trace: only the random choices of the device depend on the seed."
PUT_OFF = "All seeds replay the same trace, with arrivals that the seed puts off (--jitter)."
# The quantiles that a sentence may be about, which the table has.
TAILS = ("p99_9", "p99", "p50")
RANKED_KINDS = ("read", "write", "flush")


def notes(comparison: Results, chosen: Sequence[Line] | None = None) -> list[str]:
    """What is to be known to read the table: its signs, and what figures hold for. If only the chosen lines are shown,
    without differences: what concerns these.
    """
    found = candidates(comparison)
    lines = [line for section in table(comparison) for line in section.lines] if chosen is None else chosen
    cells = [cell for line in lines for cell in line.cells]
    runs = _runs(found)
    said = []
    if chosen is None and any(cell.relative for cell in cells):
        said.append(f"Differences are from {found[0].name}.")
    if any(cell.is_best for cell in cells):
        also = "" if runs == 1 else ", or not told apart from it by these seeds"
        said.append(f"* best of its row, or equal to it within 1 %{also}")
    if any(cell.mark == "~" for cell in cells):
        said.append(f"~ of too few requests: {SPARSE}; it is not ranked")
    if comparison.has_own_spaces and not comparison.differences:
        said.append("Each scheme has its own logical space: one that offers more also stores more, at the same share.")
    marked: dict[str, dict[str, None]] = {}
    for line in lines:
        for each, cell in zip(found, line.cells, strict=True):
            if cell.note:
                marked.setdefault(cell.note, {})[each.name] = None
    said += [f"! {_names(names, found)}: {note}" for note, names in marked.items()]
    said += [f"{line.name}: {line.note}" for line in lines if line.note]
    return [*said, *filter(None, [of_repeats(comparison)])]


def _runs(found: Sequence[Candidate]) -> int:
    """How many runs of a scheme its figures are means of."""
    return max(len(each.results) for each in found)


def _names(names: Sequence[str] | dict[str, None], found: Sequence[Candidate]) -> str:
    return "all schemes" if 1 < len(found) == len(names) else ", ".join(names)


def of_repeats(comparison: Results) -> str:
    """What figures of runs with several seeds are; empty of single runs."""
    found = candidates(comparison)
    seeds = _runs(found)
    if seeds == 1:
        return ""
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


def conclusion(comparison: Results) -> list[str]:
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
    ranked = list(_ranked(found, lines))
    sentences, winners = [], dict[str, None]()
    for what, line in ranked:
        ranking, best = _ranking(what, line, found)
        if ranking and line.path == AMPLIFICATION:
            ranking = [f"{ranking[0].removesuffix('.')}; {_spare(found, lines)}."]
        sentences += ranking
        winners |= dict.fromkeys(best)
    sentences += _too_few(found)
    for _, line in ranked:
        if (said := _not_compared(line, found)) and said not in sentences:
            sentences.append(said)
    if any(not line.is_judged for _, line in ranked):
        sentences.append(_how_to_judge(comparison, found))
    whole = [each for each in found if not each.is_partial]
    fresh = [each.name for each in whole if not any(map(has_collected, each.results))]
    if fresh:
        under = "" if len(fresh) == len(found) else f" under {listed(fresh)}"
        sentences.append(f"No GC ran{under}: write amplification and latencies are those of a device with free blocks.")
    prices: dict[str, list[str]] = {}
    names = [each.name for each in found]
    for name in winners:
        prices.setdefault(_price(names.index(name), lines), []).append(name)
    sentences += [f"Price of {listed(of)}: {price}." for price, of in prices.items()]
    return [*sentences, *_protection(found, lines)]


def _ranked(found: Sequence[Candidate], lines: dict[str, Line]) -> Iterator[tuple[str, Line]]:
    """The lines that sentences are about, with what is said of the best: of latencies the highest quantile that is
    known.
    """
    for kind in RANKED_KINDS:
        path = tail_of(kind, found, TAILS)
        if path in lines:
            name = path.rpartition(".")[2]
            tail = "median" if name == "p50" else "tail"
            yield f"Fastest {kind} {tail} ({words_of(name)}) at this load", lines[path]
    if AMPLIFICATION in lines:
        yield "Least write amplification at this load", lines[AMPLIFICATION]
    if CAPACITY.path in lines and not without_capacity(found):
        yield "Highest capacity in a closed loop", lines[CAPACITY.path]


def _too_few(found: Sequence[Candidate]) -> Iterator[str]:
    """The kinds of requests of which there are too few for any quantile."""
    for kind in RANKED_KINDS:
        path = f"latency_ns.{kind}.count"
        counts = [count for each in found for of in each.results if (count := value_at(of, path))]
        if counts and not tail_of(kind, found, TAILS):
            few = f"{min(counts):,}, and even the median needs {FEWEST['p50']}"
            yield f"Latencies of {kind}{'es' if kind == 'flush' else 's'} are not ranked: there are {few}."


def _ranking(what: str, line: Line, found: Sequence[Candidate]) -> tuple[list[str], list[str]]:
    """A sentence on the best schemes of a line, if it ranks any, and these schemes."""
    names = [each.name for each in found]
    fit = {at: cell for at, cell in enumerate(line.cells) if cell.is_fit}
    others = {at: cell for at, cell in fit.items() if not found[at].is_protected}
    if len(fit) - len(others) < 2:
        others = {}
    ranked = [at for at in fit if at not in others]
    if len(ranked) < 2:
        return [], []
    ranked.sort(key=lambda at: (fit[at].value or 0) * (1 if line.better == "low" else -1))
    values = {at: fit[at].values for at in ranked}

    def with_value(at: int) -> str:
        return f"{names[at]} with {_with_unit(fit[at], line)}"

    if not line.is_judged:
        subject = what.partition(" ")[2].partition(" at this")[0].partition(" in a")[0]
        first, second = ranked[:2]
        behind = difference(fit[second].value or 0, fit[first].value or 0)
        said = f"{with_value(first)} is followed by {with_value(second)}" + (f" ({behind})" if behind else "")
        why = "each scheme ran once" if _runs(found) == 1 else "its runs do not differ by chance"
        return [f"Not ranked, as {why}: {subject}, where {said}."], []
    winners = best_of(line.better, values)
    best = [at for at in ranked if at in winners] or ranked
    first, *near = best
    pairs = [(values[other], values[one]) for one, other in combinations(best, 2)]
    # Two that are not told apart from the best may well be told apart from each other.
    are_alike = not any(differ(*pair) for pair in pairs)
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


def _not_compared(line: Line, found: Sequence[Candidate]) -> str:
    """A sentence on the schemes that a line does not rank, and why; empty if it ranks all."""
    reasons: dict[str, list[str]] = {}
    for cell, each in zip(line.cells, found, strict=True):
        if cell.note:
            reasons.setdefault(cell.note, []).append(each.name)
    left_out = "; ".join(f"{_names(of, found)} ({reason})" for reason, of in reasons.items())
    kind = re.match(r"latency_ns\.(\w+)\.", line.path)
    latencies = f"{kind[1].capitalize()} latencies" if kind else "Latencies"
    what = {AMPLIFICATION: "Write amplifications", CAPACITY.path: "Capacities"}.get(line.path, latencies)
    return f"{what} that are not compared: {left_out}." if reasons else ""


def _how_to_judge(comparison: Results, found: Sequence[Candidate]) -> str:
    """How to ask for runs that tell a difference from chance."""
    is_profile = value_at(found[0].first, "workload.format") == "profile"
    ask = "--seeds 5" if is_profile else "--seeds 5 --jitter 1us"
    why = f" ({comparison.why_once})" if comparison.why_once else ""
    what = f"One run of each scheme{why} does" if _runs(found) == 1 else "Runs that are equal do"
    return f"{what} not tell a difference from chance: {ask} repeats each, and ranks."


def _spare(found: Sequence[Candidate], lines: dict[str, Line]) -> str:
    """The spare that each scheme had, which decides how much GC has to move."""
    cells = lines[OVER_PROVISIONING].cells if OVER_PROVISIONING in lines else []
    of: dict[str, list[str]] = {}
    for each, cell in zip(found, cells, strict=False):
        if cell.value is not None:
            of.setdefault(SHARE.text(cell.value), []).append(each.name)
    spare = ", ".join(f"{share} ({_names(names, found)})" for share, names in of.items())
    return f"spare at the end {spare or 'unknown'}"


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
        of_text.setdefault(str(value_at(each.first, "survives.text")), []).append(each.name)
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
        for rebuild in value_at(each.first, "rebuild") or []:
            yield f"{with_scale(f'{each.name} {_vulnerable(rebuild)}', each.first)}."


def _vulnerable(rebuild: Record) -> str:
    parts = listed([failed["fault"] for failed in rebuild["failed"]])
    took = rebuild["window_of_vulnerability_ns"]
    if took is None:
        return f"did not regain full redundancy after the failure of {parts}"
    return f"was without full redundancy for {TIME.text(took)} after the failure of {parts}"
