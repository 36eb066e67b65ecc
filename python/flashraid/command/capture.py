"""The command that records the block requests of an application. Returns its exit status."""

import shlex
import signal
import sys
from pathlib import Path

import rich_click as click

from .. import capture as recording
from .._native import InputError
from ..sizes import parse_bytes
from .layout import say
from .options import argument, flag, option

KINDS = {"R": "reads", "W": "writes", "F": "flushes", "D": "discards", "Z": "write zeroes"}


@click.command()
@argument("command", metavar="-- COMMAND", nargs=-1, required=True, help="Command to run, with its options.")
@option("--dir", "folder", metavar="WORKDIR", required=True, help="Empty or new directory, on the disk to use.")
@option("-o", "--output", metavar="TRACE.csv[.gz]", required=True, help="Trace file to write.")
@option("--size", metavar="SIZE", default="4GiB", help="Size of the device.")
@flag("--evict", help="Drop cached pages once a second, so that reads reach the device.")
def capture(command: tuple[str, ...], folder: str, output: str, size: str, evict: bool) -> int:
    """Run a command on a file system of its own and record the requests that reach the device. Needs root.

    The command starts in the root of the file system, which is also in $CAPTURE_DIR. The file system is removed at
    the end; the trace and the kernel's event text (TRACE.tracefs.txt[.gz]) remain.

    Example: flashraid trace capture --dir /mnt/work -o app.csv.gz -- make -j2
    """
    size_bytes = parse_bytes("--size", size)
    try:
        captured = recording.capture(Path(folder), Path(output), list(command), size_bytes=size_bytes, evicting=evict)
    except KeyboardInterrupt:
        print("interrupted: no trace was written", file=sys.stderr)
        return 130
    counts, trace = captured.counts, shlex.quote(str(captured.trace))
    kinds = ", ".join(f"{count:,} {KINDS[op]}" for op, count in sorted(counts.requests.items()))
    print(f"{captured.trace}: {counts.requests.total():,} requests in {counts.span_us / 1e6:.1f} s: {kinds}")
    print(f"{captured.text}: the kernel's event text of the same requests")
    print(f"replay it: flashraid run {trace} --device ssd1 --scheme raid5 --verify")
    for text in _warnings(captured):
        say(f"warning: {text}")
    if captured.lost:
        raise InputError(f"{captured.trace}: incomplete: the kernel lost {captured.lost:,} events")
    if captured.status:
        raise InputError(f"{command[0]}: ended with {_status(captured.status)}; the trace is kept")
    return 0


def _warnings(captured: recording.Capture) -> list[str]:
    counts = captured.counts
    warnings = [
        (counts.failed, "requests that failed on this machine"),
        (counts.without_completion, "requests whose completion was not recorded"),
        (counts.without_issue, "completions of requests that were not recorded"),
        (counts.skipped, "requests of other kinds, left out"),
        (counts.other_lines, "lines of the event text that could not be parsed"),
    ]
    texts = [f"{what}: {count:,}" for count, what in warnings if count]
    if captured.left:
        texts.append("processes of the command still use its file system; their further requests are not in the trace")
    return texts


def _status(status: int) -> str:
    return f"status {status}" if status > 0 else f"signal {signal.Signals(-status).name}"
