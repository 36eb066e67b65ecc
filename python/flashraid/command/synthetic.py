"""The commands that generate synthetic workloads and fit them to traces. Each returns its exit status."""

import json
from typing import Annotated

import typer

from .. import _native
from .. import trace as library
from .._native import InputError
from ..profile_text import LARGEST_SEED, PREFIX, text_of, with_seed
from ..settings import Pairs
from ..sizes import LARGEST, parse_bytes
from . import tables
from .completion import complete_profiles
from .options import Json, Output, Quiet, Trace
from .output import Target
from .progress import Progress

UNIFORM = "Uniformly random requests, without a profile"


def synth(
    output: Output,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="A shipped profile (`trace profiles`), or a TOML file.",
            autocompletion=complete_profiles,
        ),
    ] = None,
    requests: Annotated[int | None, typer.Option(metavar="N", help="Number of requests.", min=0, max=LARGEST)] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the random number generator.", min=0, max=LARGEST)
    ] = None,
    space: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Size of the address space, a multiple of the page size.")
    ] = None,
    format_name: Annotated[str, typer.Option("--format", metavar="NAME", help="Format to write.")] = "flashraid",
    interval_ns: Annotated[
        int | None,
        typer.Option(
            metavar="NS",
            help="Time between arrivals (fixed), or its mean (poisson).",
            min=0,
            max=LARGEST,
            rich_help_panel=UNIFORM,
        ),
    ] = None,
    read_share: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of reads, 0 to 1.", rich_help_panel=UNIFORM)
    ] = 0.0,
    min_pages: Annotated[
        int,
        typer.Option(metavar="N", help="Pages of the smallest request.", min=0, max=LARGEST, rich_help_panel=UNIFORM),
    ] = 1,
    max_pages: Annotated[
        int,
        typer.Option(metavar="N", help="Pages of the largest request.", min=0, max=LARGEST, rich_help_panel=UNIFORM),
    ] = 1,
    page_bytes: Annotated[
        str, typer.Option(metavar="SIZE", help="Unit of addresses and sizes.", rich_help_panel=UNIFORM)
    ] = "4096",
    arrivals: Annotated[
        str, typer.Option(metavar="fixed|poisson", help="Arrival process.", rich_help_panel=UNIFORM)
    ] = "fixed",
    quiet: Quiet = False,
) -> int:
    """Write a synthetic trace from a profile, or of uniformly random requests.

    Example: flashraid trace synth -o fin1.csv.gz --profile sirf1-fin1 --requests 10000
    """
    space_bytes = None if space is None else parse_bytes("--space", space)
    if profile is None:
        given = {"--requests": requests, "--space": space, "--interval-ns": interval_ns}
        if missing := [option for option, value in given.items() if value is None]:
            raise InputError(f"{', '.join(missing)}: needed without --profile")
    with Progress(quiet=quiet) as progress:
        progress.begin("synth")
        library.synth(
            output,
            profile=profile,
            requests=requests,
            space_bytes=space_bytes,
            interval_ns=interval_ns,
            format=format_name,
            page_bytes=parse_bytes("--page-bytes", page_bytes),
            read_share=read_share,
            min_pages=min_pages,
            max_pages=max_pages,
            arrivals=arrivals,
            seed=seed,
            progress=progress,
        )
    return 0


def profiles(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Print this profile, or that of a TOML file.", autocompletion=complete_profiles
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Print it with this seed, as --seeds of run and compare replays it.",
            min=0,
            max=LARGEST_SEED,
        ),
    ] = None,
    json_target: Json = None,
) -> int:
    """List the shipped profiles, or print one.

    Example: flashraid trace profiles sirf1-fin1
    """
    if seed is not None and name is None:
        raise InputError("--seed needs a profile: allowed is profiles NAME --seed N")
    with Target(json_target) as target:
        text = _native.profiles()
        target.write(text + "\n")
    if name is not None:
        trace = name if name.endswith(".toml") else f"{PREFIX}{name}"
        print(text_of(trace) if seed is None else with_seed(trace, seed), end="")
    elif json_target != "-":
        tables.show_profiles(json.loads(text))
    return 0


def fit(
    trace: Trace,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Profile to write, a TOML file.")],
    reading: Pairs,
    page_bytes: Annotated[
        str, typer.Option("--page-bytes", metavar="SIZE", help="Page size for page counts.")
    ] = "4096",
    json_target: Json = None,
    quiet: Quiet = False,
) -> int:
    """Fit a profile to a trace, and compare the figures of the trace with those of its synthetic twin.

    Example: flashraid trace fit trace.csv.gz -o twin.toml
    """
    page = parse_bytes("--page-bytes", page_bytes)
    with Target(json_target) as target, Target(output) as profile:
        with Progress(quiet=quiet) as progress:
            progress.begin("fit")
            text, comparison = _native.fit(trace, reading, page, progress)
        profile.write(text)
        target.write(comparison + "\n")
    if json_target != "-":
        tables.show_fit(json.loads(comparison))
    return 0
