"""The command that simulates the data sheet of a drive. Returns its exit status."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rich_click as click

from .. import datasheets, machine
from ..datasheets import Datasheet
from ..figures import files
from ..files import NewFile, refuse_same
from ..outputs import Outputs
from ..report import of_sheets
from ..sheets.cells import DEFINITION
from . import options
from .common import option_of, report_file, warn
from .completion import complete_devices, complete_schemes
from .layout import print_tables, print_text, table_of
from .output import Target
from .progress import Progress, Run


@click.command(epilog="docs/datasheet.md says how each line is measured.")
@options.argument("device", metavar="DEVICE", help="A preset, or a TOML file.", complete=complete_devices)
@options.option(
    "--scheme",
    metavar="NAME",
    help="Redundancy scheme of the drive; by default none.",
    complete=complete_schemes,
)
@options.set_values
@options.option(
    "--pe-cycles",
    metavar="N",
    type=options.Number(1, datasheets.MOST_PE_CYCLES),
    help="P/E cycles that the flash endures; by default pe_limit of the device.",
)
@options.option("--seed", metavar="N", type=options.Number(0, datasheets.LARGEST_SEED), help="Seed of all requests.")
@options.flag("--quick", help="Measure a tenth of the requests.")
@options.option(
    "--jobs",
    metavar="N",
    type=options.Number(1, machine.MOST_JOBS),
    help="Most runs at the same time; by default one on each core, if there is memory for them. Results are the same.",
)
@options.option("--json", "json_target", metavar="[FILE|-]", help="Write the sheet as JSON; - is standard output.")
@options.option("--figure", metavar="FILE", help="Draw rates and latencies, as .svg or .png.")
@options.option("--report", metavar="FILE.html", help="Write the sheet as a page for a browser.")
@options.quiet
def datasheet(
    device: str,
    scheme: str | None,
    set_values: tuple[str, ...],
    pe_cycles: int | None,
    seed: int | None,
    quick: bool,
    jobs: int | None,
    json_target: str | None,
    figure: str | None,
    report: str | None,
    quiet: bool,
) -> int:
    """Measure what the data sheet of a drive states, and show it beside the maker's if the device's file has that.

    Sequential and random requests, fresh and in steady state, capacity and endurance.

    Example: flashraid datasheet tiny --set over_provisioning=0.28 --pe-cycles 3000 --quick
    """
    settings = options.assignments(set_values)
    if seed is not None:
        settings.append(("seed", str(seed)))
    Outputs({}, {"json": "--json", "report": "--report"}, report=report).check(json_target, device=device)
    refuse_same({}, {"--figure": figure, "--report": report, "--json": json_target})
    plan = datasheets.planned(device, scheme, settings, pe_cycles=pe_cycles, is_quick=quick, jobs=jobs, label=option_of)
    warn([] if quiet else machine.shortage(plan.detail["memory_bytes"]))
    # An interrupt is recorded from the first file on.
    with (
        Progress(quiet=quiet, runs=plan.runs) as progress,
        report_file(report) as page,
        _figure_file(figure) as drawing,
        Target(json_target) as target,
    ):
        said: list[str] = []

        def say(text: str) -> None:
            said.append(text)
            warn([] if quiet else [f"steady lines: {text}"])

        def begin(name: str, configured: Callable[[], dict[str, Any]]) -> Run | None:
            return None if progress.interrupted else progress.begin(name, configured)

        found = datasheets.measured(plan, begin, say)
        progress.hide()
        if drawing is not None:
            files.write_in_one(found.figures(), drawing)
        if page is not None:
            of_sheets.of_sheet(found, page)
        target.write(found.json)
    if json_target != "-":
        show(found)
    warn([] if quiet else found.warnings_but(said))
    return found.status


@contextmanager
def _figure_file(path: str | None) -> Iterator[NewFile | None]:
    """The file of the figures, checked at once; None if there is to be none."""
    if path is None:
        yield None
        return
    file = files.picture(path, "--figure")
    try:
        yield file
        print(f"figure: {file.path}", file=sys.stderr)
    finally:
        file.discard()


def show(found: Datasheet) -> None:
    """Prints the sheet."""
    heads, rows = found.table()
    measured, facts = table_of(found.title, heads), table_of("", ["", ""])
    for row in rows:
        measured.add_row(*row)
    for row in found.facts():
        facts.add_row(*row)
    facts.columns[1].justify = "left"
    tables = [measured, facts]
    if found.sheet is not None:
        heads, rows = found.beside()
        tables.append(table_of(f"beside the maker's sheet: {found.sheet['source']}", heads))
        for row in rows:
            tables[-1].add_row(*row)
    print_tables(*tables)
    print_text(DEFINITION)
