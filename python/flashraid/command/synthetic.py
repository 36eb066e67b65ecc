"""The commands that generate synthetic workloads and fit them to traces. Each returns its exit status."""

import json

import rich_click as click

from .. import _native
from .. import trace as library
from .._native import InputError
from ..profile_text import LARGEST_SEED, PREFIX, text_of, with_seed
from ..record import OpenRecord
from ..settings import Pairs
from ..sizes import LARGEST, parse_bytes
from . import options, reader, tables
from .completion import complete_profiles
from .options import Number, argument, option
from .output import Target
from .progress import Progress

UNIFORM = "Uniformly random requests, without a profile"


@click.command()
@options.output
@option(
    "--profile",
    metavar="NAME|FILE",
    help="A shipped profile (`trace profiles`), or a TOML file.",
    complete=complete_profiles,
)
@option("--requests", metavar="N", type=Number(0, LARGEST), help="Number of requests.")
@option("--seed", metavar="N", type=Number(0, LARGEST), help="Seed of the random number generator.")
@option("--space", metavar="SIZE", help="Size of the address space, a multiple of the page size.")
@option("--format", "format_name", metavar="NAME", default="flashraid", help="Format to write.")
@option(
    "--interval-ns",
    metavar="NS",
    type=Number(0, LARGEST),
    help="Time between arrivals (fixed), or its mean (poisson).",
    panel=UNIFORM,
)
@option(
    "--read-share",
    metavar="SHARE",
    type=Number(kind=float),
    default=0.0,
    help="Share of reads, 0 to 1.",
    panel=UNIFORM,
)
@option(
    "--min-pages",
    metavar="N",
    type=Number(0, LARGEST),
    default=1,
    help="Pages of the smallest request.",
    panel=UNIFORM,
)
@option(
    "--max-pages", metavar="N", type=Number(0, LARGEST), default=1, help="Pages of the largest request.", panel=UNIFORM
)
@option("--page-bytes", metavar="SIZE", default="4096", help="Unit of addresses and sizes.", panel=UNIFORM)
@option("--arrivals", metavar="fixed|poisson", default="fixed", help="Arrival process.", panel=UNIFORM)
@options.quiet
def synth(
    output: str,
    profile: str | None,
    requests: int | None,
    seed: int | None,
    space: str | None,
    format_name: str,
    interval_ns: int | None,
    read_share: float,
    min_pages: int,
    max_pages: int,
    page_bytes: str,
    arrivals: str,
    quiet: bool,
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
            progress=progress.begin("synth"),
        )
    return 0


@click.command()
@argument(
    "name",
    metavar="NAME",
    required=False,
    help="Print this profile, or that of a TOML file.",
    complete=complete_profiles,
)
@option(
    "--seed",
    metavar="N",
    type=Number(0, LARGEST_SEED),
    help="Print it with this seed, as --seeds of run and compare replays it.",
)
@options.json_target
def profiles(name: str | None, seed: int | None, json_target: str | None) -> int:
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


@click.command()
@options.trace
@option("-o", "--output", metavar="FILE", required=True, help="Profile to write, a TOML file.")
@options.page_bytes
@options.json_target
@options.quiet
@options.with_reading
def fit(trace: str, output: str, reading: Pairs, page_bytes: str, json_target: str | None, quiet: bool) -> int:
    """Fit a profile to a trace, and compare the figures of the trace with those of its synthetic twin.

    Example: flashraid trace fit trace.csv.gz -o twin.toml
    """
    page = parse_bytes("--page-bytes", page_bytes)
    with Target(json_target) as target, Target(output) as profile:
        with Progress(quiet=quiet) as progress:
            text, comparison = _native.fit(trace, reading, page, progress.begin("fit"))
        profile.write(text)
        target.write(comparison + "\n")
    found = json.loads(comparison)
    if not quiet:
        reader.warn(OpenRecord(found))
    if json_target != "-":
        tables.show_fit(found)
    return 0
