"""The command that recommends a scheme. Returns its exit status."""

import sys
import time

import rich_click as click

from .. import advisor
from .._native import InputError
from ..advising.objectives import CLOSED, FAILING, OPEN
from ..outputs import Outputs
from ..report import of_sweeps
from ..settings import Pairs
from ..sweeping.where import Where
from ..sweeps import SweepStatus, folder_text
from . import options
from .common import option_of, report_file, warn
from .completion import complete_scheme_list
from .layout import print_command, print_tables, print_text, table_of
from .output import Target
from .progress import Progress
from .sweep import notes_of, text_of

MUST, SEARCH = "What it must have", "Search"


def _must(*names: str, **more: object) -> options.Declared:
    return options.option(*names, panel=MUST, **more)  # type: ignore[arg-type]


def _search(*names: str, **more: object) -> options.Declared:
    return options.option(*names, panel=SEARCH, **more)  # type: ignore[arg-type]


@click.command(epilog="docs/advisor.md says how the choice is made.")
@options.trace
@options.device
@options.config
@_must("--survives", metavar="member|chip|channel|device", help="Failure of which it must lose nothing.")
@_must(
    "--survives-failures",
    metavar="N",
    type=options.Number(),
    help="How many failures at once it must survive: 2 asks for two parities.",
)
@_must("--max-p99-read", metavar="TIME", help="Most latency of 99 % of the reads, as in 500us.")
@_must("--max-p99-write", metavar="TIME", help="The same of the writes.")
@_must("--max-p99-flush", metavar="TIME", help="The same of the flushes.")
@_must("--min-capacity", metavar="SHARE", help="Least usable share of the flash, as 0.7 or 70%.")
@_must("--max-nvram", metavar="SIZE", help="Most NVRAM, as in 64KiB.")
@_must(
    "--min-dwpd",
    metavar="X",
    type=options.Number(kind=float),
    help="Least drive writes a day that the flash endures for so many --years; the device needs pe_limit.",
)
@_must(
    "--years",
    metavar="Y",
    type=options.Number(kind=float),
    help="How long it is to endure these drive writes; 5 by default.",
)
@_search(
    "--schemes",
    metavar="A,B,C",
    help="Schemes to choose from; by default all that the device can have.",
    complete=complete_scheme_list,
)
@_search("--vary", metavar="KEY=A,B,...", multiple=True, help="Values of a setting to try too. May be repeated.")
@_search("--prefer", metavar="SUBJECT,...", help=f"What counts twice: {', '.join(advisor.SUBJECTS)}.")
@_search("--tail", metavar="QUANTILE", default="p99", help="Quantile of the latencies that are compared.")
@_search("--fault", metavar="WHAT", help="What fails in the middle of a run; by default one chip, or one SSD.")
@_search("--seeds", metavar="N", type=options.Number(), default=3, help="Seeds with which the finalists are run.")
@_search("--out", metavar="FOLDER", help="Keep all runs in this dataset; those that it has are not done again.")
@options.with_place(SEARCH)
@options.json_target
@options.option("--report", metavar="FILE.html", help="Write a report for a browser.")
@options.quiet
@options.with_settings_but(advisor.OWN)
def advise(
    trace: str,
    settings: Pairs,
    device: str | None,
    config: str | None,
    survives: str | None,
    survives_failures: int | None,
    max_p99_read: str | None,
    max_p99_write: str | None,
    max_p99_flush: str | None,
    min_capacity: str | None,
    max_nvram: str | None,
    min_dwpd: float | None,
    years: float | None,
    schemes: str | None,
    vary: tuple[str, ...],
    prefer: str | None,
    tail: str,
    fault: str | None,
    seeds: int,
    out: str | None,
    place: Where,
    json_target: str | None,
    report: str | None,
    quiet: bool,
) -> int:
    """Recommend a scheme and its parameters for a workload on a device.

    Tries all schemes and their parameters on short pieces of the trace, and the best on all of it. Shows the Pareto
    front and a recommendation, with what would change it.

    Example: flashraid advise trace.csv.gz --device ssd1 --fill 0.4 --survives chip --max-p99-read 2ms
    """
    outputs = Outputs({}, {"json": "--json", "report": "--report"}, report=report)
    outputs.check(json_target, trace=trace, device=device, config=config)
    folder = None if out is None else folder_text(out, option_of)
    question = advisor.asked(
        trace,
        device,
        config,
        settings,
        schemes=None if schemes is None else [name.strip() for name in schemes.split(",")],
        survives=survives,
        survives_failures=survives_failures,
        max_p99_read=max_p99_read,
        max_p99_write=max_p99_write,
        max_p99_flush=max_p99_flush,
        min_capacity=min_capacity,
        max_nvram=max_nvram,
        min_dwpd=min_dwpd,
        years=years,
        vary=_varied(vary),
        prefer=[] if prefer is None else [word.strip() for word in prefer.split(",")],
        tail=tail,
        fault=fault,
        seeds=seeds,
        label=option_of,
    )
    with report_file(report) as file, Target(json_target) as target, Progress(quiet=quiet) as progress:
        run = progress.begin("advise")
        rounds: dict[str, float] = {}
        is_said: set[str] = set()

        def watch(name: str, status: SweepStatus) -> bool:
            for text in notes_of(status):
                if text not in is_said:
                    is_said.add(text)
                    progress.say(text)
            began = rounds.setdefault(name, time.monotonic())
            said = f"{name}: {text_of(status, time.monotonic() - began)}"
            return run("runs", status.done, status.done / max(1, status.runs), said)

        found = advisor.search(question, folder, place, watch)
        progress.hide()
        if file is not None:
            of_sweeps.of_advice(found, file)
        target.write(found.json)
    warn([] if quiet else [f"{scheme} is left out: {why}" for scheme, why in found.refused.items()] + found.warnings)
    if json_target != "-":
        show(found)
    if found.recommended:
        return 0
    warn([f"{each.candidate.name}: {each.out}" for each in found.tried if each.out])
    print("no candidate has all that is asked for", file=sys.stderr)
    return 3


def show(found: advisor.Advice) -> None:
    heads, rows = found.cells()
    if rows:
        table = table_of("the Pareto front, the recommended one first", heads)
        for row in rows:
            table.add_row(*row)
        print_tables(table)
    print_text(*found.sentences)
    if found.recommended:
        print("Run it again, as it is, in a closed loop, and with a failure:")
        for name in (OPEN, CLOSED, FAILING):
            print_command(found.command(found.recommended, name))


def _varied(texts: tuple[str, ...]) -> dict[str, list[str]]:
    """The values of each key that `--vary` names."""
    found: dict[str, list[str]] = {}
    for key, values in options.assignments(texts, "--vary", "KEY=A,B,..."):
        if key in found:
            raise InputError(f"--vary {key}: given twice: allowed is one list of values")
        found[key] = values.split(",")
    return found
