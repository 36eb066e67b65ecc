"""The command that compares papers' claims with flashraid's figures. Returns its exit status."""

import json
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from .._native import InputError
from ..causes import cause
from ..figures.files import make_folder
from ..figures.files import write as write_figures
from ..files import NewFile
from ..interrupts import last_words
from ..outputs import check_folder, check_report
from . import tables
from .completion import complete_papers
from .options import argument, flag, json_target, option, quiet
from .output import Target
from .progress import Progress, duration
from .report import say_figures, say_report

if TYPE_CHECKING:
    from ..reproduce.outcome import Reproduction
    from ..reproduce.papers import Overlay
    from ..reproduce.runner import Status

# The modules of `reproduce` are imported where they are used, as they take as long as all others of most commands.

SMOKE_REQUESTS = 100
ALL = "all"


@dataclass(frozen=True)
class Asked:
    """What is to be done for each paper."""

    change: "Overlay"
    variants: list[str]
    traces: str | None
    whole: bool
    paper_speed: bool
    source: str | None
    write: str | None
    figures: str | None
    report: str | None
    quick: bool
    smoke: bool
    cache: bool
    quiet: bool


@click.command()
@argument(
    "name",
    metavar="PAPER[.EXPERIMENT]",
    required=False,
    help="Paper or experiment to run; all for every paper. Without it, they are listed.",
    complete=complete_papers,
)
@option(
    "--set",
    "set_values",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change a setting of every run; NAME.KEY=VALUE changes it for one configuration, workload or point.",
)
@option(
    "--variant",
    metavar="NAME",
    multiple=True,
    help="Judge the claims under this variant too; all for every one. Those that explain one are tried anyway.",
)
@option(
    "--traces",
    metavar="DIR",
    help="Replay the paper's own traces, where DIR has them, instead of the profiles that stand for them, and run what "
    "needs them. With --write, profiles stay, and what needs the traces is recorded.",
)
@flag("--paper-speed", help="Replay the traces of --traces as fast as the paper's tables say.")
@flag("--whole", help="Replay all requests of each trace, whatever the paper's settings limit them to.")
@flag("--quick", help="Replay a part of each trace, and one repeat; figures can differ. Without a paper, of all.")
@option("--cache/--no-cache", default=True, help="Take runs that were done before from the cache.")
@option(
    "--from",
    "source",
    metavar="FILE.json",
    help="Run nothing: take the figures from this file, which --write has made.",
)
@option("--write", metavar="DIR", help="Write the page of the paper or experiment, with its figures, here.")
@option("--figures", metavar="DIR", help="Write each figure as SVG, PNG and CSV to this folder.")
@option("--report", metavar="FILE.html", help="Write claims and figures as one HTML file.")
@option(
    "--summary",
    metavar="DIR",
    help="Judge every claim of all papers by the figures in this directory; write its claims.md and README.",
)
@flag("--smoke", hidden=True, help="Whether every kind of run ends; figures mean nothing.")
@json_target
@quiet
def reproduce(
    name: str | None,
    set_values: tuple[str, ...],
    variant: tuple[str, ...],
    traces: str | None,
    paper_speed: bool,
    whole: bool,
    quick: bool,
    cache: bool,
    source: str | None,
    write: str | None,
    figures: str | None,
    report: str | None,
    summary: str | None,
    smoke: bool,
    json_target: str | None,
    quiet: bool,
) -> int:
    """Run a paper's experiments, judge its claims, and show the paper's figures beside flashraid's.

    Example: flashraid reproduce cr5m.figure8 --quick
    """
    from ..reproduce.changes import parsed
    from ..reproduce.papers import find, names, names_run

    of_one = set_values or variant or traces or paper_speed or source or report or json_target
    if summary is not None:
        if name or of_one or write or figures or whole or quick or smoke:
            raise InputError("--summary: it runs nothing: allowed alone")
        write_summary(Path(summary))
        return 0
    if name is None and not (quick or smoke):
        if of_one or write or figures or whole:
            raise InputError("reproduce: these options need a paper: allowed is PAPER, PAPER.EXPERIMENT or all")
        tables.show_papers([find(each) for each in names()])
        return 0
    several = name in (None, ALL)
    if several and of_one:
        raise InputError(
            "reproduce: all papers at once: allowed without --set, --variant, --traces, --from, --report, --json"
        )
    change: Overlay = {} if several else parsed(list(set_values), names_run(find(str(name))))
    asked = Asked(
        change, list(variant), traces, whole, paper_speed, source, write, figures, report, quick, smoke, cache, quiet
    )
    chosen = names() if several else [str(name)]
    for each in chosen:
        _check(each, asked, json_target)
    with Target(json_target) as target:
        for each in chosen:
            _one(each, asked, target)
    return 0


def _check(name: str, asked: Asked, json_target: str | None) -> None:
    """Refuses what cannot be combined, before anything runs."""
    from ..reproduce.outcome import lacking
    from ..reproduce.papers import find

    check_report(asked.report, "--report")
    check_folder(asked.figures, "--figures")
    paper = find(name)
    if asked.write is not None and (asked.change or asked.variants or asked.whole):
        raise InputError("--write: a page has its experiments as they are: allowed without --set, --variant, --whole")
    if asked.whole and (asked.quick or asked.smoke):
        raise InputError("--whole: allowed without --quick, which replays a part of each trace")
    if asked.paper_speed and asked.traces is None:
        raise InputError("--paper-speed: it is for the paper's own traces: allowed with --traces DIR")
    if asked.change and asked.variants:
        raise InputError("--variant and --set cannot be combined: a change of settings is tried alone")
    if asked.source is not None and (
        asked.change or asked.variants or asked.traces or asked.whole or asked.quick or asked.smoke or not asked.cache
    ):
        raise InputError(
            "--from: it runs nothing: allowed without --set, --variant, --traces, --whole, --quick and --no-cache"
        )
    if asked.quick and asked.write is not None:
        raise InputError("--quick: its figures are of a part of each trace: allowed without --write")
    outputs = asked.write, asked.figures, asked.report, json_target
    if asked.smoke and (asked.quick or any(each is not None for each in outputs)):
        raise InputError("--smoke: its figures mean nothing: allowed without --quick and outputs")
    if (
        asked.write is not None
        and asked.source is None
        and (missing := [one for part in lacking(paper) for one in part])
    ):
        raise InputError(f"--write: the traces of {', '.join(missing)} are missing; a page needs them")


def _one(name: str, asked: Asked, target: Target) -> None:
    from ..reproduce import page
    from ..reproduce.outcome import from_file
    from . import claims

    with ExitStack() as undo:
        files = {}
        if asked.write is not None:
            for folder in (asked.write, os.path.join(asked.write, page.FIGURES)):
                make_folder(folder, "--write", undo)
        for end in ("md", "json") if asked.write is not None else ():
            files[end] = NewFile(os.path.join(str(asked.write), f"{name}.{end}"), "--write")
            undo.callback(files[end].discard)
        report = None if asked.report is None else NewFile(asked.report, "--report")
        if report is not None:
            undo.callback(report.discard)
        found = _reproduced(name, asked) if asked.source is None else from_file(name, asked.source)
        if found.left_out:
            print(f"left out, as the traces are missing: {', '.join(found.left_out)}", file=sys.stderr)
        if asked.smoke:
            pages = page.render(found), page.figures_json(found)
            print(f"{name}: all runs completed, and the page has {sum(map(len, pages)):,} characters")
            return
        target.write(json.dumps(found.to_dict(), indent=2) + "\n")
        if asked.write is not None:
            _write_page(_with_record(found, asked), asked.write, files)
        if asked.figures is not None:
            drawn = found.figures()
            write_figures(drawn, asked.figures, "--figures")
            if not asked.quiet:
                say_figures(drawn, asked.figures)
        if report is not None:
            from ..reproduce.report import of_reproduction

            of_reproduction(found, report)
            if not asked.quiet:
                say_report(report)
    if target.path != "-":
        # A page has all variants; the rest is no place for them.
        claims.show_reproduction(replace(found, asked=()) if asked.write is not None or asked.source else found)


def _reproduced(name: str, asked: Asked) -> "Reproduction":
    """Runs what is not in the cache."""
    from ..reproduce.outcome import reproduction
    from ..reproduce.papers import find

    every = (asked.write is not None or asked.smoke) and find(name).variants
    with Progress(quiet=asked.quiet) as progress:
        run = progress.begin(name)
        last: list[Status] = []

        def watch(status: "Status") -> bool:
            if not (last or asked.quiet or asked.smoke):
                print(f"{name}: {_beginning(status)}", file=sys.stderr)
            last[:] = [status]
            if asked.cache and not asked.smoke:
                done = f"{status.done:,} of {status.count:,} runs are kept"
                last_words.text = f"{name}: interrupted: {done}; the same command goes on from there"
            left = "" if status.seconds_left is None else f", {duration(status.seconds_left)} left"
            what = f"{status.done:,} of {status.count:,} runs{left}"
            return run("reproducing", status.done, status.share, what)

        found = reproduction(
            name,
            change=asked.change,
            variants=asked.variants or (["all"] if every else []),
            traces=asked.traces,
            whole=asked.whole,
            paper_speed=asked.paper_speed,
            keeps_profiles=asked.write is not None,
            quick=asked.quick,
            cache=asked.cache,
            watch=watch,
            most_requests=SMOKE_REQUESTS if asked.smoke else None,
            tell=lambda note: print(f"note: {note}", file=sys.stderr),
        )
        progress.hide()
    return found


def _beginning(status: "Status") -> str:
    """How much there is to do, and how long it is likely to take."""
    text = f"{status.count:,} run{'s' if status.count > 1 else ''}"
    if status.kept:
        text += f", {status.kept:,} of them done before"
    if status.done < status.count and status.seconds_left is not None:
        text += f"; {duration(status.seconds_left)} on this machine, if it has nothing else to do"
    return text


def _with_record(found: "Reproduction", asked: Asked) -> "Reproduction":
    """What was measured, with what the page to be written anew has recorded on traces that are not there now."""
    from ..reproduce.outcome import with_record

    path = Path(str(asked.write)) / f"{found.name}.json"
    try:
        older = path.read_text(encoding="utf-8") if asked.source is None else "{}"
    except FileNotFoundError:
        older = "{}"
    except OSError as error:
        raise InputError(f"--write: {path}: {cause(error)}") from None
    return with_record(found, older)


def _write_page(found: "Reproduction", folder: str, files: dict[str, NewFile]) -> None:
    """Writes the page and its figures, none of them if one cannot be written."""
    from ..reproduce import page

    with ExitStack() as undo:
        written = []
        for path, text in page.drawn(found).items():
            written.append((NewFile(os.path.join(folder, path), "--write"), text))
            undo.callback(written[-1][0].discard)
        written += [(files["md"], page.render(found)), (files["json"], page.figures_json(found))]
        for file, text in written:
            file.write(text)


def write_summary(folder: Path) -> None:
    """Writes the documents that show the register of claims, none of them if one cannot be written."""
    from ..reproduce import register

    with ExitStack() as undo:
        written = []
        for path, text in register.documents(folder).items():
            written.append((NewFile(path, "--summary"), text))
            undo.callback(written[-1][0].discard)
        for file, text in written:
            file.write(text)
