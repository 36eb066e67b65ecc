"""The command that compares papers' claims with flashraid's figures. Returns its exit status."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from .. import reproduce as library
from .._native import InputError
from ..files import NewFile
from ..reproduce import page, register
from ..reproduce.changes import parsed
from ..reproduce.outcome import lacking
from ..reproduce.papers import names_run
from . import tables
from .options import Json, Quiet
from .output import Target
from .progress import Progress

QUICK_REQUESTS = 100


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="PAPER[.EXPERIMENT]", help="Paper or experiment to run; without it, all are listed."),
    ] = None,
    set_values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a setting of every run; NAME.KEY=VALUE changes it for one configuration, workload or point.",
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            metavar="NAME",
            help="Judge the claims under this variant too; all for every one. Those that explain one are tried anyway.",
        ),
    ] = None,
    traces: Annotated[
        str | None,
        typer.Option(
            "--traces",
            metavar="DIR",
            help="Replay the paper's own traces, where DIR has them, instead of the profiles that stand for them.",
        ),
    ] = None,
    write: Annotated[
        str | None,
        typer.Option("--write", metavar="FOLDER", help="Write the paper's page and its figures to this directory."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Smoke test: a short part of each run. Nothing is judged or written."),
    ] = False,
    summary: Annotated[
        str | None,
        typer.Option(
            "--summary",
            metavar="FOLDER",
            help="Judge every claim of all papers by the figures in this directory; write its claims.md and README.",
        ),
    ] = None,
    json_target: Json = None,
    quiet: Quiet = False,
) -> int:
    """Run a paper's experiments, judge its claims, and show the paper's figures beside flashraid's."""
    if summary is not None:
        if name or set_values or variant or traces or write or json_target or quick:
            raise InputError("--summary: it runs nothing: allowed alone")
        write_summary(Path(summary))
        return 0
    if name is None:
        if set_values or variant or traces or write or json_target or quick:
            raise InputError("reproduce: these options need a paper: allowed is PAPER or PAPER.EXPERIMENT")
        tables.show_papers([library.find(each) for each in library.names()])
        return 0
    paper = library.find(name)
    change = parsed(set_values or [], names_run(paper))
    if write is not None and (change or variant or traces or "." in name):
        raise InputError(
            "--write: a page covers a whole paper as it is: allowed without experiment, --set, --variant, --traces"
        )
    if change and variant:
        raise InputError("--variant and --set cannot be combined: a change of settings is tried alone")
    if quick and (write is not None or json_target is not None):
        raise InputError("--quick: its figures are meaningless: allowed without --write and --json only")
    if write is not None and (missing := [name for part in lacking(paper) for name in part]):
        raise InputError(f"--write: the traces of {', '.join(missing)} are missing; a page needs them")
    with Target(json_target) as target:
        files = (
            {}
            if write is None
            else {end: NewFile(os.path.join(write, f"{name}.{end}"), "--write") for end in ("md", "json")}
        )
        try:
            with Progress(quiet=quiet) as progress:
                progress.begin(name)
                found = library.reproduce(
                    name,
                    change=change,
                    variants=variant or (["all"] if (write is not None or quick) and paper.variants else []),
                    traces=traces,
                    watch=lambda done, count: progress("reproducing", done, done / count if count else 1.0),
                    most_requests=QUICK_REQUESTS if quick else None,
                )
                progress.hide()
            for note in found.notes:
                print(f"note: {note}", file=sys.stderr)
            if found.left_out:
                print(f"left out, as the traces are missing: {', '.join(found.left_out)}", file=sys.stderr)
            if quick:
                pages = page.render(found), page.figures_json(found)
                print(f"{name}: all runs completed, and the page has {sum(map(len, pages)):,} characters")
                return 0
            target.write(json.dumps(found.to_dict(), indent=2) + "\n")
            if files:
                files["md"].write(page.render(found))
                files["json"].write(page.figures_json(found))
        finally:
            for file in files.values():
                file.discard()
    if json_target != "-":
        tables.show_reproduction(replace(found, asked=()) if files else found)  # a page has them all
    return 0


def write_summary(folder: Path) -> None:
    """Writes the documents that show the register of claims, none of them if one cannot be written."""
    files = [(NewFile(path, "--summary"), text) for path, text in register.documents(folder).items()]
    try:
        for file, text in files:
            file.write(text)
    finally:
        for file, _ in files:
            file.discard()
