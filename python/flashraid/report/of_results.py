"""The report of results: conclusion, comparison, charts, faults, configuration and origin."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import summary
from ..candidate import listed
from ..compared import Results
from ..evidence import SPARSE
from ..figures import Figure, Rule, of_results, of_series
from ..figures.of_results import MOST_SERIES
from ..measured import Measured
from ..outputs import check_report
from ..quantities import TIME
from ..result_types import LatencySummary, Rebuild
from ..scaled import with_scale
from ..settings import Path
from ..sizes import format_bytes
from . import again, page
from .parts import Block, Cell, Code, Group, List, Notice, Part, Table, Text

SYNTHETIC = "profile"  # the format of a workload that is drawn and not recorded
TABLES = {"device": "Device", "scheme": "Scheme", "host": "Host", "run": "Run"}


def title_of(comparison: Results) -> str:
    """What the report is about, in a line."""
    results = comparison.results
    traces = _distinct(result.workload.name or "requests of a program" for result in results)
    devices, schemes = _distinct(result.device for result in results), _distinct(result.scheme for result in results)
    what = schemes[0] if len(schemes) == 1 else f"{len(schemes)} schemes"
    return f"{' and '.join(traces)}: {what} on {' and '.join(devices)}"


def of_comparison(comparison: Results, path: Path, title: str = "") -> None:
    """Writes the report of a comparison to a file. Raises InputError if that cannot be."""
    check_report(path, "report")
    page.write(title or title_of(comparison), parts(comparison, figures(comparison)), path)


def figures(comparison: Results) -> list[Figure]:
    """The figures of the results and, of those that have a series, over time. Of several seeds, those of the first."""
    results = _firsts(comparison)
    return [*of_results.figures(results), *_over_time([each for each in results if "series" in each.files])]


def _firsts(comparison: Results) -> list[Measured]:
    """A result of each scheme: that of the first seed."""
    return comparison.results[:: comparison.seeds]


def _over_time(results: Sequence[Measured]) -> list[Figure]:
    """The figures of series, and one for all schemes of those of the same name.

    It has a line for each scheme, or a panel where each has several lines, or where the lines are too many.
    """
    import polars

    events = {each.scheme: of_series.events(each) for each in results}
    found: dict[str, dict[str, Figure]] = {}
    for each in results:
        for figure in of_series.figures(each.series.to_frame()):
            found.setdefault(figure.name, {})[each.scheme] = figure
    if len(results) == 1:
        return [of_series.marked(figure, events[scheme]) for of in found.values() for scheme, figure in of.items()]
    together = []
    for of in found.values():
        first = next(iter(of.values()))
        frame = polars.concat(
            [figure.frame.select(polars.lit(scheme).alias("scheme"), polars.all()) for scheme, figure in of.items()],
            how="vertical_relaxed",
        )
        about = max((figure.about for figure in of.values()), key=len)  # what holds for one of them is said
        has_panels = first.series or len(of) > MOST_SERIES
        series, facet = (first.series, "scheme") if has_panels else ("scheme", "")
        figure = replace(first, about=about, frame=frame, series=series, facet=facet)
        together.append(of_series.marked(figure, _rules(events, of, facet != "")))
    return together


def _rules(events: Mapping[str, Sequence[Rule]], schemes: Iterable[str], has_panels: bool) -> list[Rule]:
    """The rules of these schemes: in its panel each, else what is the same for all of them once."""
    of_all = [set(events[scheme]) for scheme in schemes]
    common = set() if has_panels else set.intersection(*of_all)
    return [
        rule if rule in common else replace(rule, of=scheme, label=rule.label + ("" if has_panels else f" ({scheme})"))
        for scheme in schemes
        for rule in events[scheme]
    ]


def parts(comparison: Results, charts: Sequence[Figure]) -> list[Part]:
    """The parts of the report, with these charts."""
    results = _firsts(comparison)
    found = [
        Part("", "summary", [*_lead(comparison), *map(Notice, [*_doubts(comparison), *comparison.warnings])]),
        Part("Comparison" if len(results) > 1 else "Result", "comparison", _compared(comparison)),
        Part("Charts", "charts", [*charts]),
        Part("Faults and rebuilds", "faults", list(_events(results))),
        Part("Configuration", "configuration", _configuration(results), is_folded=True),
        Part("Origin", "origin", list(_origin(comparison))),
    ]
    sentences = summary.conclusion(comparison)
    if sentences:
        found.insert(1, Part("Conclusion", "conclusion", [List(sentences)]))
    return [part for part in found if part.blocks]


def _compared(comparison: Results) -> list[Block]:
    of_repeats = summary.of_repeats(comparison)
    return [comparison_table(comparison), *([Text(of_repeats)] if of_repeats else [])]


def comparison_table(comparison: Results) -> Table:
    """The rows of `summary.table`, with the difference from the first scheme beside each figure."""
    sections = summary.table(comparison)
    groups = [Group(each.title, [_row(line) for line in each.lines]) for each in sections]
    names = [each.name for each in summary.candidates(comparison)]
    caption = "Each figure with its difference from the first scheme; the best of a row are marked ★."
    return Table(caption if len(names) > 1 else "Figures of the run", ["", *names], groups, has_schemes=True)


def _row(line: summary.Line) -> list[Cell]:
    return [
        Cell(line.head, note=line.note),
        *(
            Cell(cell.text, cell.relative, cell.is_best, cell.note or (SPARSE if cell.is_sparse else ""))
            for cell in line.cells
        ),
    ]


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _lead(comparison: Results) -> list[Block]:
    results = _firsts(comparison)
    first, work = results[0], results[0].workload
    kinds = {"reads": work.reads, "writes": work.writes, "discards": work.trims, "flushes": work.flushes}
    mix = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items() if count)
    name = f"the trace {work.name}" if work.name else "a program"
    if work.format == SYNTHETIC:
        name = f"the synthetic workload {work.name}, which is drawn from a profile and not recorded"
    depth = first.config.run.queue_depth
    loop = f" in a closed loop, {depth:,} of them outstanding at any time," if depth else ""
    space = format_bytes(first.capacity.space_bytes)
    if comparison.has_own_spaces:
        space = f"its own under each scheme ({space} under {first.scheme})"
    column = "In the first column, " if comparison.differences else ""
    text = (
        f"{column}{work.requests:,} requests ({mix or 'none'}) of {name},{loop} on the device {first.device} with a "
        f"logical space of {space}, {format_bytes(first.capacity.filled_bytes)} of "
        "it filled before the first request. All times are simulated."
    )
    return [Text(text)]


def _doubts(comparison: Results) -> list[str]:
    """What a reader must know before comparing figures."""
    results, found = comparison.results, []
    partial = _distinct(result.scheme for result in results if result.partial)
    if partial:
        found.append(f"Partial: the run was interrupted under {', '.join(partial)}; figures cover what was simulated.")
    elif comparison.partial:
        found.append("Partial: the comparison was interrupted, and not all of it was run.")
    if comparison.differences:
        of = listed(comparison.differences)
        found.append(f"The results are of different {of}: figures differ for more reasons than the scheme.")
    if len({result.version for result in results}) > 1:
        found.append("The results are of different versions of flashraid.")
    return found


def _events(results: Sequence[Measured]) -> Iterable[Block]:
    """Faults, rebuilds and replacements of SSDs, if there are any."""
    of_faults = [(each, fault) for each in results for fault in each.faults]
    if of_faults:
        rows = [
            [
                each.scheme,
                fault.fault,
                fault.when,
                _time(fault.at_ns),
                "a spare" if fault.spare else "none",
                f"{fault.pages_lost:,}",
            ]
            for each, fault in of_faults
        ]
        head = ["scheme", "fault", "given as", "time", "replaced by", "host pages lost at once"]
        yield Table.of_texts("Faults, in order", head, rows)
    of_rebuilds = [(each, rebuild) for each in results for rebuild in each.rebuild]
    if of_rebuilds:
        rows = [
            [
                each.scheme,
                ", ".join(part.fault for part in rebuild.failed),
                _time(rebuild.started_ns),
                _time(rebuild.window_of_vulnerability_ns),
                f"{rebuild.pages:,} of {rebuild.pages_lost:,}",
                _restored(each, rebuild),
                "–" if rebuild.bytes_per_second is None else f"{rebuild.bytes_per_second / 1e6:,.1f} MB/s",
                *_felt(rebuild.requests, rebuild.latency_ns),
            ]
            for each, rebuild in of_rebuilds
        ]
        head = ["scheme", "failed", "start", "window of vulnerability", "pages restored", "how", "speed", *FELT]
        title = "Rebuilds, and what requests that arrived meanwhile felt"
        yield Table.of_texts(with_scale(title, of_rebuilds[0][0]), head, rows)
    of_replacements = [(each, one) for each in results if "replacements" in each for one in each.replacements]
    if of_replacements:
        rows = [
            [
                each.scheme,
                f"{one.old_device} by {one.new_device}",
                one.outcome.replace("_", " "),
                _time(one.started_ns),
                _time(one.duration_ns),
                *_felt(one.requests, one.latency_ns),
            ]
            for each, one in of_replacements
        ]
        head = ["scheme", "SSD", "outcome", "start", "duration", *FELT]
        title = "Replacements of SSDs, and what requests that arrived meanwhile felt"
        yield Table.of_texts(with_scale(title, of_replacements[0][0]), head, rows)
    of_phases = [
        [each.scheme, phase, kind, *_felt(phases[phase][kind].count, phases[phase][kind])]
        for each in results
        if "latency_around_rebuilds_ns" in each
        for phases in [each.latency_around_rebuilds_ns]
        for phase in phases
        for kind in phases[phase]
        if kind != "all" and phases[phase][kind].count
    ]
    if of_phases:
        head = ["scheme", "arrived", "kind", *FELT]
        yield Table.of_texts("Latency before, during and after rebuilds and replacements", head, of_phases)


def _restored(result: Measured, rebuild: Rebuild) -> str:
    """How a rebuild restored its pages, and why not all of them."""
    ways = {"copied": rebuild.pages_copied, "computed from others": rebuild.pages_xored}
    said = [f"{count:,} {way}" for way, count in ways.items() if count]
    failed = {(part.fault, part.at_ns) for part in rebuild.failed}
    others = rebuild.pages_lost - rebuild.pages
    whole = others if rebuild.finished_ns is not None else 0  # results before 0.2 do not tell it otherwise
    superseded = rebuild.pages_superseded if "pages_superseded" in rebuild else whole
    others -= superseded
    if superseded > 0:
        said.append(f"{superseded:,} overwritten, discarded or moved meanwhile")
    if others > 0:
        said.append(f"{others:,} not restored")
    if any((fault.fault, fault.at_ns) in failed and not fault.spare for fault in result.faults):
        said.append("no spare")
    return ", ".join(said) or "–"


FELT = ["requests", "mean latency", "p99.9 latency", "maximum latency"]


def _felt(requests: int, latency: LatencySummary) -> list[str]:
    figures = (latency["mean"], latency["p99_9"], latency["max"])
    return [f"{requests:,}", *(_time(figure) if requests else "–" for figure in figures)]


def _time(ns: float | None) -> str:
    return "not ended" if ns is None else TIME.text(ns)


def _configuration(results: Sequence[Measured]) -> list[Block]:
    """The keys of `config`: those that are the same for all, and those that differ."""
    configs = [result.to_dict()["config"] for result in results]
    same, differing = [], []
    for table, heading in TABLES.items():
        keys = _distinct(key for config in configs for key in config[table])
        values = {key: [config[table].get(key) for config in configs] for key in keys}
        alike = {key: of for key, of in values.items() if all(value == of[0] for value in of)}
        same.append(Group(heading, [[Cell(key), Cell(_setting(of[0]))] for key, of in alike.items()]))
        others = [
            [Cell(key), *(Cell(_setting(value)) for value in of)] for key, of in values.items() if key not in alike
        ]
        differing.append(Group(heading, others))
    names = [result.scheme for result in results]
    tables = [
        ("Settings that differ", ["key", *names], differing),
        ("Settings of all schemes" if len(names) > 1 else "Settings", ["key", "value"], same),
    ]
    return [
        Table(caption, head, [group for group in groups if group.rows], are_figures=False, has_schemes=True)
        for caption, head, groups in tables
        if any(group.rows for group in groups)
    ]


def _setting(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _origin(comparison: Results) -> Iterable[Block]:
    results = comparison.results
    facts: Mapping[str, Iterable[Any]] = {
        "trace": (each.workload.name or "none: requests of a program" for each in results),
        "SHA-256 of the trace": (each.workload.sha256 for each in results),
        "format": (each.workload.format for each in results),
        "device": (each.device for each in results),
        "schemes": (each.scheme for each in results),
        "seed": (each.seed for each in results),
        "version of flashraid": (each.version for each in results),
        "version of the result format": (each.schema for each in results),
    }
    rows = [[name, ", ".join(_distinct(map(str, values)))] for name, values in facts.items()]
    yield Table.of_texts("What was run", ["", ""], [row for row in rows if row[1]], are_figures=False)
    commands = again.commands(comparison)
    if commands:
        yield Text(
            "These commands run it again, from the folder of the trace. The same version gives the same figures."
        )
        yield Code("\n".join(commands))
