"""docs/validation.md: a pure function of the cases and of their figures, so that a stale one shows."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import flashraid as fr
from validation import peers, physics, recordings, tlc
from validation.cases import Case, Figure, Section, Setup, described

PATH = Path(__file__).parents[2] / "docs" / "validation.md"
SECTIONS: tuple[Section, ...] = (
    physics.UNLOADED,
    physics.MD1,
    physics.BANDWIDTH,
    physics.GREEDY,
    physics.POLICIES,
    peers.TIMES,
    tlc.SECTION,
    recordings.SECTION,
    peers.COLLECTION,
)
CASES: tuple[Case, ...] = tuple(case for section in SECTIONS for case in section.cases)

HEAD = """\
# Validation

Written by `make validate` with flashraid {version}; do not edit. Each figure is of one run, or of 20 seeds, of the
engine on a generated or recorded workload, and beside it what a formula or another simulator gives for the same. The
runs are deterministic: `make test` measures the quick cases again and compares them and this text, `make prove`
measures the long ones, marked *, and compares them with what they should be.

{passed} of {required} required figures are within their tolerance; {reported} more are reported only.

Not reproduced: SSDsim's writes in bursts under static allocation, which leave a chip without work (the section on
recordings says why); MQSim's bursts of reads on two chips of a channel, its planes that work together on an idle die,
and reads of what its cache wrote back (the section on TLC); MQSim's and SSDsim's response times, and MQSim's write
amplification, while GC runs (last section). Not compared here: schemes with redundancy, as no simulator of them was
found whose rules are those of a paper. Their counts are compared with tests/reference/raid_counts.py, and their
contents are verified.
"""
TABLE = """\
| case | workload | setup | expected | flashraid | deviation | tolerance | holds | expected from |
| --- | --- | --- | ---: | ---: | ---: | ---: | --- | --- |
"""


def render(figures: Mapping[str, Figure]) -> str:
    """The document, given the figure of each case by its key."""
    required = [case for case in CASES if case.tolerance is not None]
    passed = sum(case.holds(figures[key(case)]) for case in required)
    reported = len(CASES) - len(required)
    text = HEAD.format(version=fr.__version__, passed=passed, required=len(required), reported=reported)
    for section in SECTIONS:
        text += f"\n## {section.title}\n\n{section.before}\n\n{TABLE}"
        text += "".join(row(case, figures[key(case)]) for case in section.cases)
        text += f"\n{section.after}\n" if section.after else ""
        text += "".join(_definitions(section))
    return text


def recorded(text: str) -> dict[str, Figure]:
    """The figures of a document's rows, by the case's key; without those that cannot be read."""
    figures = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 11 and (found := re.match(r"([\d,.]+)(?: ± ([\d,.]+))?", cells[5])):
            value, half_width = (None if part is None else float(part.replace(",", "")) for part in found.groups())
            figures[f"{cells[1].removesuffix(' *')} | {cells[3]}"] = Figure(value or 0.0, half_width)
    return figures


def key(case: Case) -> str:
    """What tells a case from all others: its name and its setup."""
    return f"{case.name} | {'' if case.setup is None else f'`{case.setup.name}`'}"


def row(case: Case, figure: Figure) -> str:
    """The case's line of the table."""
    name, setup = key(case).split(" | ")
    unit = f" {case.unit}" if case.unit else ""
    ours = f"{figure.value:,.{case.decimals}f}"
    if figure.half_width is not None:
        ours += f" ± {figure.half_width:,.{case.decimals}f}"
    tolerance, holds = "", ""
    if case.tolerance is not None:
        tolerance = "exact" if case.tolerance == 0 else f"{100 * case.tolerance:g} %"
        holds = "yes" if case.holds(figure) else "**no**"
    cells = [
        name if case.quick else f"{name} *",
        case.workload,
        setup,
        f"{case.expected:,.{case.decimals}f}{unit}",
        f"{ours}{unit}",
        f"{round(100 * case.deviation(figure), 2) + 0.0:+.2f} %",
        tolerance,
        holds,
        case.source,
    ]
    return f"| {' | '.join(cells)} |\n"


def _definitions(section: Section) -> Iterator[str]:
    """The workloads and setups that the rows name."""
    if section.workloads:
        yield "\nWorkloads (`flashraid trace synth`, pages of 4 KiB):\n\n"
    for workload in section.workloads:
        parameters = ", ".join(f"{name} {value}" for name, value in described(workload).items())
        digest = f"; SHA-256 of the trace in SSDsim's format {workload.sha256}..." if workload.sha256 else ""
        yield f"- {workload.name}: {parameters}{digest}\n"
    setups: dict[str, Setup] = {case.setup.name: case.setup for case in section.cases if case.setup is not None}
    (device,) = {setup.device for setup in setups.values()}
    yield f"\nSetups (scheme raid0; device `{device}` but for):\n\n"
    for name, setup in setups.items():
        yield f"- `{name}`: {', '.join(f'{key} = {value}' for key, value in setup.settings.items())}\n"
