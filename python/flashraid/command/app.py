"""The commands. Each returns its exit status."""

import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from .. import __version__, _native
from ..replay import compare_pairs, run_pairs
from ..settings import Pairs
from ..sizes import parse_bytes
from . import tables
from .options import Config, DeviceName, Json, NoEngine, Quiet, Trace, with_settings
from .output import Target
from .progress import Progress

app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
trace_app = typer.Typer(help="Look at traces, and make synthetic ones.")
app.add_typer(trace_app, name="trace")


@app.callback(invoke_without_command=True)
def flashraid(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> int:
    """Simulate redundancy (RAID) inside flash storage.

    Exit status: 0 done; 1 verification found a violation; 2 bad usage, configuration or input; 3 requests failed
    for lack of space or were left unfinished; 130 interrupted.
    """
    if context.invoked_subcommand is not None:
        return 0
    print(f"flashraid {__version__}" if version else context.get_help())
    return 0 if version else 2


@app.command()
@with_settings
def run(
    trace: Trace,
    settings: Pairs,
    device: DeviceName = None,
    scheme: Annotated[str | None, typer.Option("--scheme", metavar="NAME", help="Redundancy scheme.")] = None,
    config: Config = None,
    json_target: Json = None,
    no_engine: NoEngine = False,
    quiet: Quiet = False,
) -> int:
    """Replay a trace under one scheme."""
    with Target(json_target) as target:
        with Progress(quiet=quiet) as progress:
            progress.begin(scheme or "run")
            result = run_pairs(trace, device, scheme, config, not no_engine, progress, settings)
        target.write(result.json)
    if json_target != "-":
        tables.show_result(result)
    _warn([] if quiet else result.warnings)
    return _status(result.status, progress)


@app.command()
@with_settings
def compare(
    trace: Trace,
    settings: Pairs,
    schemes: Annotated[str, typer.Option("--schemes", metavar="A,B,C", help="Redundancy schemes.")],
    device: DeviceName = None,
    config: Config = None,
    json_target: Json = None,
    no_engine: NoEngine = False,
    quiet: Quiet = False,
) -> int:
    """Replay a trace under several schemes, on the same device, logical space and filled bytes."""
    names = [name.strip() for name in schemes.split(",")]
    with Target(json_target) as target:
        with Progress(quiet=quiet) as progress:
            comparison = compare_pairs(
                trace, device, names, config, not no_engine, progress, settings, begin=progress.begin
            )
        target.write(comparison.json)
    if json_target != "-":
        tables.show_comparison(comparison)
    _warn([] if quiet else [f"{each.scheme}: {text}" for each in comparison.results for text in each.warnings])
    return _status(comparison.status, progress)


@trace_app.command()
def info(
    trace: Trace,
    format_name: Annotated[str, typer.Option("--format", metavar="NAME", help="Format of the trace.")] = "auto",
    device_filter: Annotated[
        int | None, typer.Option("--device-filter", metavar="N", help="Keep the requests of this device.", min=0)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Requests from the start; 0 for all.", min=0)] = 0,
    page_bytes: Annotated[str, typer.Option("--page-bytes", metavar="SIZE", help="Unit of page counts.")] = "4096",
    json_target: Json = None,
) -> int:
    """Show what a trace is made of."""
    with Target(json_target) as target:
        page = parse_bytes("--page-bytes", page_bytes)
        text = _native.trace_info(trace, format_name, device_filter, limit, page)
        target.write(text + "\n")
    if json_target != "-":
        tables.show_trace_info(json.loads(text))
    return 0


@trace_app.command()
def synth(
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Trace file to write.")],
    requests: Annotated[int, typer.Option(metavar="N", help="How many requests.", min=0)],
    space: Annotated[str, typer.Option(metavar="SIZE", help="Address space, whole pages.")],
    interval_ns: Annotated[int, typer.Option(metavar="NS", help="Time between arrivals, or its mean.", min=0)],
    format_name: Annotated[str, typer.Option("--format", metavar="NAME", help="flashraid or ssdsim.")] = "flashraid",
    read_share: Annotated[float, typer.Option(metavar="SHARE", help="Share of reads, 0 to 1.")] = 0.0,
    min_pages: Annotated[int, typer.Option(metavar="N", help="Pages of the smallest request.", min=0)] = 1,
    max_pages: Annotated[int, typer.Option(metavar="N", help="Pages of the largest request.", min=0)] = 1,
    page_bytes: Annotated[str, typer.Option(metavar="SIZE", help="Unit of addresses and sizes.")] = "4096",
    arrivals: Annotated[str, typer.Option(metavar="fixed|poisson", help="How requests arrive.")] = "fixed",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of everything random.", min=0)] = 1,
) -> int:
    """Write a synthetic workload: uniformly random addresses."""
    sizes = (parse_bytes("--space", space), parse_bytes("--page-bytes", page_bytes))
    if output.endswith((".gz", ".zst", ".xz")):
        raise _native.InputError(
            f"{output}: traces are written uncompressed; allowed is a name without {output[output.rindex('.') :]}"
        )
    if output == "-":
        raise _native.InputError("-: a synthetic trace is written to a file; allowed is the name of one")
    with Target(output):  # refuses what cannot be written; the engine itself replaces the file
        pass
    _native.synth(output, format_name, requests, *sizes, read_share, min_pages, max_pages, interval_ns, arrivals, seed)
    return 0


@app.command()
def devices(
    name: Annotated[str | None, typer.Argument(help="Preset, or a TOML file.")] = None,
    scheme: Annotated[str | None, typer.Option("--scheme", metavar="NAME", help="This scheme's capacity only.")] = None,
    json_target: Json = None,
) -> int:
    """List the device presets, or show what follows from one device's numbers."""
    if name is None and scheme is not None:
        raise _native.InputError("--scheme without a device: allowed is devices NAME --scheme NAME")
    if name is None:
        _show(_native.devices(), json_target, tables.show_devices)
    else:
        _show(_native.device(name, scheme), json_target, tables.show_device)
    return 0


@app.command()
def schemes(
    name: Annotated[str | None, typer.Argument(help="One scheme.")] = None,
    json_target: Json = None,
) -> int:
    """List the redundancy schemes: the idea of each, its parameters, what failure it survives."""
    _show(_native.schemes(name), json_target, tables.show_schemes)
    return 0


def _show(text: str, json_target: str | None, table: Callable[[Any], None]) -> None:
    with Target(json_target) as target:
        target.write(text + "\n")
    if json_target != "-":
        table(json.loads(text))


def _warn(texts: list[str]) -> None:
    for text in texts:
        print(f"warning: {text}", file=sys.stderr)


def _status(status: int, progress: Progress) -> int:
    """The exit status; a violation outweighs an interruption."""
    if not progress.interrupted or status == 1:
        return status
    print("interrupted: the results are partial", file=sys.stderr)
    return 130
