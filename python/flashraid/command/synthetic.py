"""The commands that make synthetic workloads. Each returns its exit status."""

from typing import Annotated

import typer

from .. import _native
from ..sizes import parse_bytes
from .options import Output, Quiet
from .progress import Progress


def synth(
    output: Output,
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
    quiet: Quiet = False,
) -> int:
    """Write a synthetic workload: uniformly random addresses."""
    sizes = (parse_bytes("--space", space), parse_bytes("--page-bytes", page_bytes))
    numbers = (requests, *sizes, read_share, min_pages, max_pages, interval_ns)
    with Progress(quiet=quiet) as progress:
        progress.begin("synth")
        _native.synth(output, format_name, *numbers, arrivals, seed, progress)
    return 0
