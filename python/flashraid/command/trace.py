"""The commands `flashraid trace ...`: looking at traces. Each returns its exit status."""

import json
from typing import Annotated

import typer

from .. import _native
from ..settings import Pairs
from ..sizes import parse_bytes
from . import capture, synthetic, tables
from .options import Json, Trace, with_reading
from .output import Target

trace_app = typer.Typer(help="Look at traces, and make synthetic ones.")
trace_app.command()(synthetic.synth)
trace_app.command()(capture.capture)


@trace_app.command()
@with_reading
def info(
    trace: Trace,
    reading: Pairs,
    page_bytes: Annotated[str, typer.Option("--page-bytes", metavar="SIZE", help="Unit of page counts.")] = "4096",
    json_target: Json = None,
) -> int:
    """Show what a trace is made of."""
    with Target(json_target) as target:
        page = parse_bytes("--page-bytes", page_bytes)
        text = _native.trace_info(trace, reading, page)
        target.write(text + "\n")
    if json_target != "-":
        tables.show_trace_info(json.loads(text))
    return 0
