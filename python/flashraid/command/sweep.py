"""The command that does the runs of a plan. Returns its exit status."""

import os
import sys
import time
from collections.abc import Sequence

import rich_click as click

from .._native import InputError
from ..interrupts import last_words
from ..report import of_sweeps
from ..sizes import format_bytes
from ..sweeping import view
from ..sweeping.job import DONE
from ..sweeping.plan import read
from ..sweeping.resolved import Resolved, jobs_of, resolve
from ..sweeping.where import Where
from ..sweeps import Sweep, SweepStatus, folder_text, sweep_planned
from . import options
from .common import option_of, report_file, warn
from .layout import print_tables, print_text, table_of
from .progress import Progress, duration

# Points that a terminal shows.
MOST_LINES = 60


@click.command(epilog="docs/sweeps.md describes the plan and the dataset.")
@options.argument("plan", metavar="PLAN.toml", help="Which runs: a TOML file; - for standard input.")
@options.option(
    "--out", metavar="FOLDER", help="The dataset; by default the name of the plan with .sweep instead of .toml."
)
@options.with_place()
@options.option("--report", metavar="FILE.html", help="Write a report for a browser.")
@options.flag("--dry-run", help="Show the points and how many runs they are, and do none.")
@options.quiet
def sweep(plan: str, out: str | None, place: Where, report: str | None, dry_run: bool, quiet: bool) -> int:
    """Do many runs: every combination of settings, devices, schemes, traces and seeds that a plan names.

    Results stream into a Parquet dataset with a row for each run. Runs that it has are not done again, so that an
    interrupted sweep goes on where it was with the same command.

    Example: flashraid sweep examples/sweep.toml
    """
    if dry_run and report is not None:
        raise InputError("--report: not allowed with --dry-run, which does no run")
    found = read(plan)
    if dry_run:
        resolved = resolve(found)
        _show_points(found.axes, resolved)
        return 0
    if out is not None:
        out = folder_text(out, option_of)
    elif plan == "-":
        raise InputError("--out: needed for a plan from standard input")
    else:
        out = os.path.splitext(plan)[0] + ".sweep"
    last_words.text = "interrupted: what was finished is kept; the same command goes on"
    with report_file(report) as file, Progress(quiet=quiet) as progress:
        run = progress.begin("sweep")
        began = time.monotonic()
        is_said: set[str] = set()

        def watch(status: SweepStatus) -> bool:
            for text in notes_of(status):
                if text not in is_said:
                    is_said.add(text)
                    progress.say(text)
            return run(
                "runs", status.done, status.done / max(1, status.runs), text_of(status, time.monotonic() - began)
            )

        result = sweep_planned(found, out, place, watch)
        progress.hide()
        if file is not None:
            of_sweeps.of_sweep(result, file)
    _tell(result, out)
    return result.status


def notes_of(status: SweepStatus) -> list[str]:
    """What is to be said of a cluster, once."""
    dashboard = [f"Dask's dashboard: {status.dashboard}"] if status.dashboard else []
    return [*dashboard, *(f"warning: {note}" for note in status.notes)]


def text_of(status: SweepStatus, seconds: float) -> str:
    """How far it is, in words."""
    text = f"{status.done:,} of {status.runs:,} runs"
    if status.kept:
        text += f", {status.kept:,} of them from before"
    if status.failed:
        text += f", {status.failed:,} failed"
    if status.waits_for:
        return f"{text}, waiting for {status.waits_for}"
    done, left = status.done - status.kept, status.runs - status.done
    if done and status.later_seconds is not None and (left or status.later_seconds):
        text += f", about {duration(seconds * left / done + status.later_seconds)} left"
    return text


def _shown(values: Sequence[object]) -> list[str]:
    """The values of an axis as texts: of files their names, if these differ."""
    names = {value: os.path.basename(value) for value in values if isinstance(value, str) and os.path.isfile(value)}
    if len(set(names.values())) < len(names):
        names = {}
    return ["-" if value is None else names.get(str(value), str(value)) for value in values]


def _show_points(axes: Sequence[str], resolved: Sequence[Resolved]) -> None:
    """What a plan comes to."""
    table = table_of("", [*axes, "run"] if axes else ["run"])
    found = resolved[:MOST_LINES]
    columns = [_shown([None if axis in each.idle else each.point.get(axis) for each in found]) for axis in axes]
    for at, each in enumerate(found):
        run = each.job.run[:12] if each.job else f"refused: {each.refused}"
        table.add_row(*(column[at] for column in columns), run)
    print_tables(table, keys=max(1, len(axes)))
    if len(resolved) > MOST_LINES:
        print(f"and {len(resolved) - MOST_LINES:,} more points")
    jobs = list(jobs_of(resolved))
    largest = max((job.needed_bytes for job in jobs), default=0)
    refused = sum(each.job is None for each in resolved)
    said = f", {refused:,} of them refused" if refused else ""
    print(f"{len(resolved):,} points{said}, {len(jobs):,} runs, each of at most {format_bytes(largest)} of memory")


def show(result: Sweep) -> None:
    """A line for each point, or for all its seeds."""
    lines = result.lines()
    found = lines[:MOST_LINES]
    axes = view.axes_of(result.axes)
    heads, cells = view.cells(found)
    has_seeds, has_others = any(line.runs > 1 for line in found), any(line.status != DONE for line in found)
    more = [*(["runs"] if has_seeds else []), *(["status"] if has_others else [])]
    table = table_of("", [*(axes or ("",)), *heads, *more])
    columns = [_shown([line.values[at] for line in found]) for at in range(len(axes))] or [[""] * len(found)]
    for at, (line, row) in enumerate(zip(found, cells, strict=True)):
        own = [str(line.runs)] if has_seeds else []
        own += [line.status] if has_others else []
        table.add_row(*(column[at] for column in columns), *row, *own)
    print_tables(table, keys=max(1, len(axes)))
    if len(lines) > MOST_LINES:
        print(f"and {len(lines) - MOST_LINES:,} more, in the dataset")
    print_text(*view.notes(lines))


def _tell(result: Sweep, out: str) -> None:
    """What there is now."""
    show(result)
    print(f"{out}: {result.summary}")
    warn([f"{trace}: {text}" for trace, texts in result.warnings.items() for text in texts])
    for status, reason, count in result.reasons():
        print(f"{status}: {reason}{f' ({count:,} points)' if count > 1 else ''}", file=sys.stderr)
    if result.partial:
        last_words.say()
