"""The commands `flashraid trace ...`. Each returns its exit status."""

import json
import sys

import rich_click as click

from .. import _native
from ..record import OpenRecord
from ..settings import Pairs
from ..sizes import parse_bytes, parse_time
from ..trace import END
from . import options, reader, tables
from .options import Number, flag, option
from .output import Target
from .progress import Progress

to = option("--to", metavar="NAME", help="Format to write; by default, the one that the name of the output implies.")


@click.command()
@options.trace
@options.page_bytes
@option("--capacity", metavar="SIZE", help="Count the requests that end beyond this capacity.")
@options.json_target
@options.quiet
@options.with_reading
def info(
    trace: str, reading: Pairs, page_bytes: str, capacity: str | None, json_target: str | None, quiet: bool
) -> int:
    """Show statistics of a trace, and how it was read.

    Example: flashraid trace info trace.csv.gz
    """
    page = parse_bytes("--page-bytes", page_bytes)
    capacity_bytes = None if capacity is None else parse_bytes("--capacity", capacity)
    with Target(json_target) as target:
        with Progress(quiet=quiet) as progress:
            text = _native.trace_info(trace, reading, page, capacity_bytes, progress.begin("trace info"))
        target.write(text + "\n")
    if not quiet:
        reader.warn(OpenRecord(json.loads(text)))
    if json_target != "-":
        tables.show_trace_info(json.loads(text))
    return 0


@click.command()
@options.trace
@options.output
@to
@option(
    "--from-time",
    metavar="TIME",
    default="0s",
    help="Leave out requests that arrive earlier, as in 1.5s or 200ms.",
)
@option("--to-time", metavar="TIME", help="Leave out requests that arrive at this time or later.")
@option(
    "--address",
    metavar="[START]..[END]",
    default="..",
    help="Take only flushes and requests that lie entirely in this range, as in 4GiB..8GiB.",
)
@option("--skip", metavar="N", type=Number(0, END), default=0, help="Leave out the first N of the selected requests.")
@option(
    "--limit",
    metavar="N",
    type=Number(0, END),
    default=0,
    help="Take at most N of the remaining requests; 0 for all.",
)
@option(
    "--rebase-time/--keep-time",
    default=False,
    help="Whether to shift times so that the first request taken arrives at 0.",
)
@flag("--rebase-address", help="Shift addresses so that the start of --address becomes 0.")
@options.quiet
@options.with_reading
def convert(
    trace: str,
    output: str,
    reading: Pairs,
    to: str | None,
    from_time: str,
    to_time: str | None,
    address: str,
    skip: int,
    limit: int,
    rebase_time: bool,
    rebase_address: bool,
    quiet: bool,
) -> int:
    """Write a trace, or part of it, in another format. A summary goes to standard error.

    Example: flashraid trace convert trace.csv.gz -o part.csv.zst --from-time 10s --to-time 20s
    """
    times = (parse_time("--from-time", from_time), END if to_time is None else parse_time("--to-time", to_time))
    addresses = _addresses(address)
    if rebase_address and addresses[0] == 0:
        raise _native.InputError("--rebase-address: allowed only with an --address that has a start")
    part = (times, addresses, skip, limit, rebase_time, rebase_address)
    with Progress(quiet=quiet) as progress:
        watch = progress.begin("trace convert")
        found = OpenRecord(json.loads(_native.convert(trace, reading, output, to, *part, watch)))
    if not quiet:
        _report(found, output)
        reader.warn(found)
        reasons = {
            "time": "arrive before --from-time",
            "address": "lie outside --address",
            "straddling": "lie partly outside --address",
            "skipped": "are skipped by --skip",
        }
        for key, reason in reasons.items():
            if found.left_out[key]:
                _note("left out", f"{found.left_out[key]:,} requests that {reason}")
        _note_devices(found)
    return 0


@click.command()
@options.trace
@options.output
@option(
    "--seed",
    metavar="N",
    type=Number(0, END),
    required=True,
    help="Seed of the random order of addresses; keep it secret.",
)
@to
@options.quiet
@options.with_reading
def anonymise(trace: str, output: str, reading: Pairs, seed: int, to: str | None, quiet: bool) -> int:
    """Write a trace without identifying times, addresses, devices and names. Its access pattern is preserved.

    Example: flashraid trace anonymise trace.csv.gz -o give-away.csv.gz --seed 7
    """
    with Progress(quiet=quiet) as progress:
        watch = progress.begin("trace anonymise")
        found = OpenRecord(json.loads(_native.anonymise(trace, reading, output, to, seed, watch)))
    if not quiet:
        _report(found, output)
        reader.warn(found)
        _note("put in random order", f"{found.regions:,} address regions")
        if found.cut:
            pieces = f"cut to the addresses that other requests use, {found.pieces:,} pieces"
            _note("cut", f"{found.cut:,} discards or writes of zeroes of 128 MiB or more, {pieces}")
        _note_devices(found)
    return 0


def _addresses(text: str) -> tuple[int, int]:
    start, dots, end = text.partition("..")
    if not dots:
        raise _native.InputError(f"--address {text}: allowed is START..END, as in 4GiB..8GiB; either may be left out")
    first = parse_bytes("--address", start) if start else 0
    return first, parse_bytes("--address", end) if end else END


def _report(found: OpenRecord, output: str) -> None:
    """Reports what was read and written on standard error."""
    _note("read", f"{found.requests:,} requests of {found.name}")
    for name, text in reader.rows(found):
        _note(name, text)
    _note("written", f"{found.written:,} requests to {output} as {found.output_format}")
    if found.rounded:
        _note("times rounded down", f"{found.rounded:,}, to whole multiples of {found.tick_ns:,} ns")
    if found.streams_lost:
        _note(
            "streams not written", f"{found.streams_lost:,} requests name one, which {found.output_format} cannot hold"
        )
    if found.unwritable:
        _note("left out", f"{found.unwritable:,} requests that {found.output_format} cannot hold")
        _note("", found.first_unwritable)


def _note_devices(found: OpenRecord) -> None:
    if found.devices > 1:
        layout = (
            "keeps them apart"
            if found.devices_apart
            else "has no devices: their address spaces are placed one after the other"
        )
        _note("devices written", f"{found.output_format} {layout}")


def _note(name: str, text: str) -> None:
    print(f"{name + ':' if name else '':<32} {text}", file=sys.stderr)
