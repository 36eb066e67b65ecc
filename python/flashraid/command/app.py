"""The commands. Each returns its exit status."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__, _native
from ..comparison import Comparison
from ..outputs import Outputs
from ..replay import check_seeds, compare_pairs, run_pairs
from ..settings import Pairs, configuration, for_each, possible
from . import results, sanity, tables
from .calibrate import calibrate
from .completion import complete_devices, complete_scheme_list, complete_schemes
from .explain import explain
from .init import init
from .options import Config, DeviceName, Json, NoEngine, Quiet, SchemeName, Seeds, Trace, with_settings
from .output import Target
from .outputs import with_outputs
from .progress import Progress
from .report import drawings, report
from .reproduce import reproduce
from .torture import torture
from .trace import trace_app


@contextmanager
def _said() -> Iterator[None]:
    """Turns Ctrl-C into an exception that is reported; typer by itself would only set the status."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Abort from None


class Commands(TyperGroup):
    """The commands; they report an end by Ctrl-C."""

    def make_context(self, *arguments: Any, **keywords: Any) -> Any:
        """Parses the arguments."""
        with _said():
            return super().make_context(*arguments, **keywords)

    def invoke(self, context: Any) -> Any:
        """Runs the command."""
        with _said():
            return super().invoke(context)


EPILOG = "docs/result.md explains each key of the JSON, docs/glossary.md the terms."

app = typer.Typer(cls=Commands, rich_markup_mode="rich", pretty_exceptions_enable=False)
app.add_typer(trace_app, name="trace")
app.command()(report)
app.command()(reproduce)
app.command()(torture)
app.command(epilog=EPILOG)(calibrate)


@app.callback(invoke_without_command=True)
def flashraid(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> int:
    """Simulate redundancy (RAID) inside flash storage.

    Exit status: 0 done; 1 verification found a violation; 2 bad usage, configuration or input; 3 requests failed
    for lack of space or were left unfinished; 130 interrupted (Ctrl-C, SIGTERM or SIGHUP). Requests that failed
    because injected faults lost their data do not change the status; a warning reports them.
    """
    if context.invoked_subcommand is not None:
        return 0
    print(f"flashraid {__version__}" if version else context.get_help())
    return 0 if version else 2


@app.command(epilog=EPILOG)
@with_settings
@with_outputs
def run(
    trace: Trace,
    settings: Pairs,
    outputs: Outputs,
    device: DeviceName = None,
    scheme: SchemeName = None,
    config: Config = None,
    seeds: Seeds = 1,
    json_target: Json = None,
    no_engine: NoEngine = False,
    quiet: Quiet = False,
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


@app.command(epilog=EPILOG)
@with_settings
@with_outputs
def compare(
    trace: Trace,
    settings: Pairs,
    outputs: Outputs,
    schemes: Annotated[
        str,
        typer.Option(
            "--schemes",
            metavar="A,B,C|all",
            help="Redundancy schemes; all for every one that the device can have.",
            autocompletion=complete_scheme_list,
        ),
    ],
    device: DeviceName = None,
    config: Config = None,
    seeds: Seeds = 1,
    no_capacity: Annotated[
        bool, typer.Option("--no-capacity", help="Do not replay the trace again in a closed loop to measure capacity.")
    ] = False,
    json_target: Json = None,
    no_engine: NoEngine = False,
    quiet: Quiet = False,
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


@app.command()
def devices(
    name: Annotated[
        str | None, typer.Argument(help="A preset, or a TOML file.", autocompletion=complete_devices)
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            "--scheme",
            metavar="NAME",
            help="Show only the capacity of this scheme.",
            autocompletion=complete_schemes,
        ),
    ] = None,
    toml: Annotated[
        bool, typer.Option("--toml", help="Print the file of a preset, with its comments: a device to start from.")
    ] = False,
    json_target: Json = None,
) -> int:
    """List the device presets, or show the derived geometry and capacities of one device.

    Example: flashraid devices ssd1 --toml > mine.toml; then --device mine.toml gives the same results as --device ssd1.
    """
    for option, is_given in (("--scheme", scheme is not None), ("--toml", toml)):
        if name is None and is_given:
            raise _native.InputError(f"{option} needs a device: allowed is devices NAME {option}")
    if toml and (scheme is not None or json_target is not None):
        raise _native.InputError("--toml: allowed is devices NAME --toml, without other options")
    if toml and name is not None:
        print(_native.device_file(name), end="")
    elif name is None:
        _show(_native.devices(), json_target, tables.show_devices)
    else:
        _show(_native.device(name, scheme), json_target, tables.show_device)
    return 0


@app.command()
def schemes(
    name: Annotated[str | None, typer.Argument(help="Show only this scheme.", autocompletion=complete_schemes)] = None,
    json_target: Json = None,
) -> int:
    """List the redundancy schemes: idea, parameters, and the failures that each survives.

    Example: flashraid schemes raid5
    """
    _show(_native.schemes(name), json_target, tables.show_schemes)
    return 0


app.command()(init)
app.command()(explain)


def _show(text: str, json_target: str | None, table: Callable[[Any], None]) -> None:
    with Target(json_target) as target:
        target.write(text + "\n")
    if json_target != "-":
        table(json.loads(text))


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
