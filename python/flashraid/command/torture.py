"""`flashraid torture`: checks at random crash points, and their findings."""

import json
import sys
import time
from typing import Any

import rich_click as click

from .. import _native
from ..settings import Pairs
from ..sizes import LARGEST
from .completion import complete_devices, complete_scheme_or_all
from .options import Number, assignments, flag, json_target, option, quiet, set_values
from .output import Target
from .progress import Progress, Run
from .tables import show_torture


@click.command()
@option(
    "--scheme", metavar="NAME|all", required=True, help="Redundancy scheme, or all.", complete=complete_scheme_or_all
)
@option(
    "--device",
    metavar="NAME|FILE",
    help="Preset, or a TOML file; by default, small random devices.",
    complete=complete_devices,
)
@option("--seed", metavar="N", type=Number(0, LARGEST), default=1, help="Seed of the random number generators.")
@option(
    "--kills",
    metavar="K",
    type=Number(1, LARGEST),
    default=1000,
    help="Number of crash points to check for each scheme.",
)
@option("--kill", metavar="K", type=Number(0, LARGEST), help="Replay only the run that leads to crash point K.")
@option(
    "--rebuild",
    metavar="auto|none|ORDER",
    default="auto",
    help="Rebuild order; auto uses all that suit the scheme, in turn.",
)
@flag("--second", help="Fail a second unit during rebuilds, and check that exactly the unprotected pages are lost.")
@set_values
@json_target
@quiet
def torture(
    scheme: str,
    device: str | None,
    seed: int,
    kills: int,
    kill: int | None,
    rebuild: str,
    second: bool,
    set_values: tuple[str, ...],
    json_target: str | None,
    quiet: bool,
) -> int:
    """Inject failures into random workloads and check, at random crash points, that no protected data is lost.

    Exit status 1 if a check fails; the message gives the command that reproduces it.

    Example: flashraid torture --scheme all --kills 10000
    """
    settings: Pairs = assignments(set_values)
    with Target(json_target) as target, Progress(quiet=quiet) as progress:
        of_schemes: dict[str, Run] = {}

        def watch(name: str, done: int) -> bool:
            if name not in of_schemes:
                of_schemes[name] = progress.begin(name)
            return of_schemes[name]("kills", done, min(done / kills, 1.0))

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
