"""`flashraid torture`: checks at random crash points, and their findings."""

import json
import sys
import time
from typing import Annotated, Any

import typer

from .. import _native
from ..settings import Pairs
from ..sizes import LARGEST
from .completion import complete_devices, complete_scheme_or_all
from .options import Json, Quiet, Set, assignments
from .output import Target
from .progress import Progress
from .tables import show_torture


def torture(
    scheme: Annotated[
        str,
        typer.Option(
            "--scheme", metavar="NAME|all", help="Redundancy scheme, or all.", autocompletion=complete_scheme_or_all
        ),
    ],
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="NAME|FILE",
            help="Preset, or a TOML file; by default, small random devices.",
            autocompletion=complete_devices,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=LARGEST, help="Seed of the random number generators.")
    ] = 1,
    kills: Annotated[
        int,
        typer.Option(
            "--kills", metavar="K", min=1, max=LARGEST, help="Number of crash points to check for each scheme."
        ),
    ] = 1000,
    kill: Annotated[
        int | None,
        typer.Option(
            "--kill", metavar="K", min=0, max=LARGEST, help="Replay only the run that leads to crash point K."
        ),
    ] = None,
    rebuild: Annotated[
        str,
        typer.Option(
            "--rebuild", metavar="auto|none|ORDER", help="Rebuild order; auto uses all that suit the scheme, in turn."
        ),
    ] = "auto",
    second: Annotated[
        bool,
        typer.Option(
            "--second",
            help="Fail a second unit during rebuilds, and check that exactly the unprotected pages are lost.",
        ),
    ] = False,
    set_values: Set = None,
    json_target: Json = None,
    quiet: Quiet = False,
) -> int:
    """Inject failures into random workloads and check, at random crash points, that no protected data is lost.

    Exit status 1 if a check fails; the message gives the command that reproduces it.

    Example: flashraid torture --scheme all --kills 10000
    """
    settings: Pairs = assignments(set_values)
    with Target(json_target) as target, Progress(quiet=quiet) as progress:
        current = ""

        def watch(name: str, done: int) -> bool:
            nonlocal current
            if name != current:
                current = name
                progress.begin(name)
            return progress("kills", done, min(done / kills, 1.0))

        start = time.monotonic()
        text, status = _native.torture(scheme, device, seed, kills, kill, rebuild, second, settings, watch)
        seconds = time.monotonic() - start
        progress.hide()
        target.write(text + "\n")
    report = json.loads(text)
    if json_target != "-":
        show_torture(report, seconds)
    for found in report["schemes"]:
        if found["violation"]:
            _complain(found["scheme"], report["seed"], found["violation"])
    return status


def _complain(scheme: str, seed: int, violation: dict[str, Any]) -> None:
    page = "" if violation["page"] is None else f", page {violation['page']}"
    where = f"{scheme}, seed {seed}, crash point {violation['kill']} at {violation['at_ns']} ns{page}"
    print(f"violation: {where}: {violation['what']}\nreplay: {violation['replay']}", file=sys.stderr)
