"""The command that compares schemes. Returns its exit status."""

from dataclasses import replace

import rich_click as click

from .. import machine
from ..comparing import Plan, compare_planned, planned
from ..outputs import Outputs
from ..settings import Pairs
from . import options, results, sanity
from .common import EPILOG, json_target_of, status_of, warn
from .completion import complete_scheme_list
from .output import Target
from .outputs import with_outputs
from .progress import Progress
from .report import drawings


@click.command(epilog=EPILOG)
@options.trace
@options.option(
    "--schemes",
    metavar="A,B,C|all",
    required=True,
    help="Redundancy schemes; all for every one that the device can have.",
    complete=complete_scheme_list,
)
@options.device
@options.config
@options.seeds_of_comparison
@options.jobs
@options.option(
    "--equal",
    metavar="space|fill",
    default="space",
    help="What is the same for all: logical space and filled bytes, or the share of its own space that each fills.",
)
@options.flag("--all", "shows_all", help="On a narrow terminal too, show every figure.")
@options.flag("--no-capacity", help="Do not replay the trace again in a closed loop to measure capacity.")
@options.json_target
@options.no_engine
@options.quiet
@options.with_settings
@with_outputs
def compare(
    trace: str,
    settings: Pairs,
    outputs: Outputs,
    schemes: str,
    device: str | None,
    config: str | None,
    seeds: int | None,
    jobs: int | None,
    equal: str,
    shows_all: bool,
    no_capacity: bool,
    json_target: str | None,
    no_engine: bool,
    quiet: bool,
) -> int:
    """Replay a trace under several schemes, with the same device, logical space and filled bytes.

    A second replay, in a closed loop, measures the capacity of each scheme. docs/compare.md explains the table.

    Example: flashraid compare trace.csv.gz --device ssd1 --schemes all --fill 0.4
    """
    names = [name.strip() for name in schemes.split(",")]
    json_target = json_target_of(json_target, outputs)
    plan = planned(
        trace,
        device,
        config,
        names,
        settings,
        outputs,
        engine=not no_engine,
        seeds=seeds,
        capacity=not no_capacity,
        jobs=jobs,
        json_target=json_target,
        equal=equal,
    )
    return compare_as_planned(plan, json_target, quiet, shows_all)


def compare_as_planned(plan: Plan, json_target: str | None, quiet: bool, shows_all: bool = True) -> int:
    """Does all runs, shows what there is, and returns the exit status."""
    outputs, device, first, of_first = plan.outputs, plan.device, plan.schemes[0], plan.shares[0].settings
    with (
        Target(json_target) as target,
        drawings(outputs, plan.trace, device, first, plan.config, of_first, plan.seeds) as (drawn, outputs),
    ):
        said: list[str] = []
        if not quiet:
            needs = dict(zip(plan.schemes, plan.needed_bytes, strict=True))
            largest = max(needs, key=needs.__getitem__)
            warn([f"{largest}: {text}" for text in machine.shortage(needs[largest])])
            said = sanity.show(plan.trace, device, first, plan.config, of_first, is_named=True)
        with Progress(quiet=quiet, runs=plan.runs) as progress:
            comparison = compare_planned(
                replace(plan, outputs=outputs),
                lambda name, configured: None if progress.interrupted else progress.begin(name, configured),
            )
            progress.hide()
            target.write(comparison.fio_json if outputs.fio else comparison.json)
        drawn.write(comparison, quiet)
    if json_target != "-":
        results.show_comparison(comparison, shows_all=shows_all)
    warn([] if quiet else [text for text in comparison.warnings if text not in said])
    return status_of(comparison.status, progress, comparison.partial)
