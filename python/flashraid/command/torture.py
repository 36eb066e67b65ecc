"""`flashraid torture`: kills at random instants, and what they found."""

import json
import sys
import time
from typing import Annotated, Any

import typer

from .. import _native
from ..settings import Pairs
from ..sizes import LARGEST
from .options import Json, Quiet, Set, assignments
from .output import Target
from .progress import Progress
from .tables import show_torture


def torture(
    scheme: Annotated[str, typer.Option("--scheme", metavar="NAME|all", help="Redundancy scheme, or all.")],
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="NAME|FILE", help="Preset, or a TOML file; by default small ones of many shapes."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=LARGEST, help="Seed of everything random.")
    ] = 1,
    kills: Annotated[
        int, typer.Option("--kills", metavar="K", min=1, max=LARGEST, help="Instants to check, for each scheme.")
    ] = 1000,
    kill: Annotated[
        int | None, typer.Option("--kill", metavar="K", min=0, max=LARGEST, help="Only what leads to this kill.")
    ] = None,
    rebuild: Annotated[
        str,
        typer.Option("--rebuild", metavar="auto|none|ORDER", help="Order of rebuild; auto: all that suit, in turn."),
    ] = "auto",
    second: Annotated[
        bool,
        typer.Option("--second", help="A second unit fails during rebuilds; what is lost is exactly what must be."),
    ] = False,
    set_values: Set = None,
    json_target: Json = None,
    quiet: Quiet = False,
) -> int:
    """Stop random workloads at random instants, let parts fail, and prove that what a scheme protects is never lost.

    Exit status 1 if something is lost or wrong; the message says how to see it again.
    """
    settings: Pairs = assignments(set_values)
    with Target(json_target) as target, Progress(quiet=quiet) as progress:
        current = ""

        def go_on(name: str, done: int) -> bool:
            nonlocal current
            if name != current:
                current = name
                progress.begin(name)
            return progress("kills", done, min(done / kills, 1.0))

        start = time.monotonic()
        text, status = _native.torture(scheme, device, seed, kills, kill, rebuild, second, settings, go_on)
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
    where = f"{scheme}, seed {seed}, kill {violation['kill']} at {violation['at_ns']} ns{page}"
    print(f"violation: {where}: {violation['what']}\nreplay: {violation['replay']}", file=sys.stderr)
