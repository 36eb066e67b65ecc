"""The commands that replay a trace. Each returns its exit status."""

import sys
from collections.abc import Mapping

import rich_click as click

from ..comparison import Comparison
from ..outputs import Outputs
from ..replay import check_seeds, compare_pairs, run_pairs
from ..settings import Pairs, configuration, for_each, possible
from . import options, results, sanity
from .completion import complete_scheme_list
from .output import Target
from .outputs import with_outputs
from .progress import Progress
from .report import drawings

EPILOG = "docs/result.md explains each key of the JSON, docs/glossary.md the terms."


@click.command(epilog=EPILOG)
@options.trace
@options.device
@options.scheme
@options.config
@options.seeds
@options.json_target
@options.no_engine
@options.quiet
@options.with_settings
@with_outputs
def run(
    trace: str,
    settings: Pairs,
    outputs: Outputs,
    device: str | None,
    scheme: str | None,
    config: str | None,
    seeds: int,
    json_target: str | None,
    no_engine: bool,
    quiet: bool,
) -> int:
    """Replay a trace under one scheme.

    Example: flashraid run trace.csv.gz --device ssd1 --scheme raid5 --fill 0.5 --verify --json result.json
    """
    if seeds != 1:
        scheme, settings = _scheme_of(device, scheme, config, settings)
        capacity = False
        return _compare(
            trace, settings, outputs, [scheme], device, config, seeds, capacity, json_target, no_engine, quiet, {}
        )
    json_target = _json_target(json_target, outputs)
    outputs.check(json_target, trace=trace, device=device, config=config)
    with (
        Target(json_target) as target,
        drawings(outputs, trace, device, scheme, config, settings) as (drawn, outputs),
        outputs.open() as opened,
    ):
        said = [] if quiet else sanity.show(trace, device, scheme, config, settings)
        with Progress(quiet=quiet) as progress:
            progress.begin(scheme or "run", lambda: configuration(device, scheme, config, settings))
            result = run_pairs(trace, device, scheme, config, not no_engine, progress, settings, opened)
            progress.hide()
            target.write(result.fio_json if outputs.fio else result.json)
        drawn.write(Comparison([result]), quiet)
    if json_target != "-":
        results.show_result(result)
    _warn([] if quiet else [text for text in result.warnings if text not in said])
    return _status(result.status, progress, result.partial)


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
@options.seeds
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
    seeds: int,
    no_capacity: bool,
    json_target: str | None,
    no_engine: bool,
    quiet: bool,
) -> int:
    """Replay a trace under several schemes, with the same device, logical space and filled bytes.

    A second replay, in a closed loop, measures the capacity of each scheme. docs/compare.md explains the table.

    Example: flashraid compare trace.csv.gz --device ssd1 --schemes all --fill 0.5
    """
    names = [name.strip() for name in schemes.split(",")]
    left_out: dict[str, str] = {}
    if names == ["all"]:
        names, left_out = possible(device, config, settings)
    return _compare(
        trace, settings, outputs, names, device, config, seeds, not no_capacity, json_target, no_engine, quiet, left_out
    )


def _compare(
    trace: str,
    settings: Pairs,
    outputs: Outputs,
    names: list[str],
    device: str | None,
    config: str | None,
    seeds: int,
    capacity: bool,
    json_target: str | None,
    no_engine: bool,
    quiet: bool,
    left_out: Mapping[str, str],
) -> int:
    check_seeds(seeds, outputs)
    json_target = _json_target(json_target, outputs)
    outputs.check(json_target, names, trace=trace, device=device, config=config)
    shares = for_each(device, names, config, settings)
    of_first = shares[0].settings
    with (
        Target(json_target) as target,
        drawings(outputs, trace, device, names[0], config, of_first, seeds) as (drawn, outputs),
    ):
        said: list[str] = []
        if not quiet:
            said = [f"{names[0]}: {text}" for text in sanity.show(trace, device, names[0], config, of_first)]
        with Progress(quiet=quiet) as progress:

            def begin(what: str, of_scheme: str, own: Pairs) -> bool:
                return progress.begin(what, lambda: configuration(device, of_scheme, config, own))

            comparison = compare_pairs(
                trace,
                device,
                names,
                config,
                not no_engine,
                progress,
                shares,
                outputs,
                begin,
                seeds,
                capacity,
            )
            comparison.left_out = left_out
            progress.hide()
            target.write(comparison.fio_json if outputs.fio else comparison.json)
        drawn.write(comparison, quiet)
    if json_target != "-":
        results.show_comparison(comparison)
    _warn([] if quiet else [text for text in comparison.warnings if text not in said])
    return _status(comparison.status, progress, comparison.partial)


def _scheme_of(device: str | None, scheme: str | None, config: str | None, settings: Pairs) -> tuple[str, Pairs]:
    """The scheme of a run, wherever it is named, and the other settings."""
    name = configuration(device, scheme, config, settings)["config"]["scheme"]["name"]
    return name, [(key, value) for key, value in settings if key != "scheme.name"]


def _json_target(json_target: str | None, outputs: Outputs) -> str | None:
    """The target of the JSON; output in fio's format goes to standard output by default."""
    return "-" if outputs.fio and json_target is None else json_target


def _warn(texts: list[str]) -> None:
    for text in texts:
        print(f"warning: {text}", file=sys.stderr)


def _status(status: int, progress: Progress, is_partial: bool) -> int:
    """The exit status; a violation outweighs an interruption."""
    if not progress.interrupted or status == 1:
        return status
    print(f"interrupted: the results are {'partial' if is_partial else 'complete'}", file=sys.stderr)
    return 130
