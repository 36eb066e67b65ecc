"""The command that records what an application asks of its disk. Returns its exit status."""

import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from .. import capture as recording
from .._native import InputError
from ..sizes import parse_bytes

KINDS = {"R": "reads", "W": "writes", "F": "flushes", "D": "discards", "Z": "write zeroes"}


def capture(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="What to run, with its options.")],
    folder: Annotated[
        Path, typer.Option("--dir", metavar="WORKDIR", help="Empty folder on the disk to be used, or a new one.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="TRACE.csv[.gz]", help="Trace file to write.")],
    size: Annotated[str, typer.Option("--size", metavar="SIZE", help="Size of the device.")] = "4GiB",
    evict: Annotated[
        bool, typer.Option("--evict", help="Once a second, drop cached pages, so that reads reach the device.")
    ] = False,
) -> int:
    """Run a command on a file system of its own and record the requests that reach the device. Needs root.

    The command finds the file system as its working folder and in $CAPTURE_DIR. It is gone at the end; left are the
    trace and, beside it, the kernel's own text (TRACE.tracefs.txt[.gz]).
    """
    size_bytes = parse_bytes("--size", size)
    try:
        captured = recording.capture(folder, output, command, size_bytes=size_bytes, evicting=evict)
    except KeyboardInterrupt:
        print("interrupted: nothing is kept", file=sys.stderr)
        return 130
    counts, trace = captured.counts, shlex.quote(str(captured.trace))
    kinds = ", ".join(f"{count:,} {KINDS[op]}" for op, count in sorted(counts.requests.items()))
    print(f"{captured.trace}: {counts.requests.total():,} requests in {counts.span_us / 1e6:.1f} s: {kinds}")
    print(f"{captured.text}: the same in the kernel's words")
    print(f"replay it: flashraid run {trace} --device ssd1 --scheme raid5 --verify")
    for text in _warnings(captured):
        print(f"warning: {text}", file=sys.stderr)
    if captured.lost:
        raise InputError(f"{captured.trace}: incomplete: the kernel lost {captured.lost:,} events")
    if captured.status:
        raise InputError(f"{command[0]}: ended with {_status(captured.status)}; the trace is kept")
    return 0


def _warnings(captured: recording.Capture) -> list[str]:
    counts = captured.counts
    warnings = [
        (counts.failed, "requests that failed on this machine"),
        (counts.without_completion, "requests that were not seen to complete"),
        (counts.without_issue, "completions of requests that were not seen"),
        (counts.skipped, "requests of other kinds, which are left out"),
        (counts.other_lines, "lines of the kernel's text that were not understood"),
    ]
    texts = [f"{what}: {count:,}" for count, what in warnings if count]
    if captured.left:
        texts.append("processes of the command still use its file system; what they do from now on is not in the trace")
    return texts


def _status(status: int) -> str:
    return f"status {status}" if status > 0 else f"signal {signal.Signals(-status).name}"
