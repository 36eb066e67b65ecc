"""The command that calibrates the thresholds of `bpu`. Returns its exit status."""

import json
from dataclasses import asdict

import rich_click as click

from ..calibration import SCHEME, calibrate_pairs
from ..outputs import Outputs
from ..settings import Pairs
from . import options, sanity, tables
from .common import EPILOG
from .output import Target
from .progress import Progress


@click.command(epilog=EPILOG)
@options.trace
@options.device
@options.config
@options.json_target
@options.quiet
@options.with_settings
def calibrate(
    trace: str, settings: Pairs, device: str | None, config: str | None, json_target: str | None, quiet: bool
) -> int:
    """Find the thresholds of bpu (a stand-in for BPU) with which a trace has the least total I/O time.

    Example: flashraid calibrate trace.csv.gz --device ssd1 --fill 0.4
    """
    Outputs({}, {"json": "--json"}).check(json_target, trace=trace, device=device, config=config)
    with Target(json_target) as target:
        if not quiet:
            sanity.show(trace, device, SCHEME, config, settings)
        with Progress(quiet=quiet) as progress:
            found = calibrate_pairs(trace, device, config, progress.begin, settings)
            progress.hide()
            target.write(json.dumps(asdict(found), indent=2) + "\n")
    if json_target != "-":
        tables.show_calibration(found)
    return 0
