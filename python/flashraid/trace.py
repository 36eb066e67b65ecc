"""What a trace is made of, and synthetic ones."""

import json
import os

from . import _native
from .replay import Progress
from .result import Record
from .settings import pairs


def trace_info(
    trace: str | os.PathLike[str],
    *,
    page_bytes: int = 4096,
    **reading: object,
) -> Record:
    """Statistics of a trace: requests, footprint in pages of `page_bytes`, shares, inter-arrival times.

    `reading` says how the trace is read: `format`, `time_unit`, `device_filter`, `on_error`, `op`, `limit`.
    """
    return Record(json.loads(_native.trace_info(os.fspath(trace), pairs(reading), page_bytes)))


def synth(
    output: str | os.PathLike[str],
    *,
    requests: int,
    space_bytes: int,
    interval_ns: int,
    format: str = "flashraid",
    page_bytes: int = 4096,
    read_share: float = 0.0,
    min_pages: int = 1,
    max_pages: int = 1,
    arrivals: str = "fixed",
    seed: int = 1,
    progress: Progress | None = None,
) -> int:
    """Writes a trace of uniformly random requests and returns their number; equal arguments give equal files.

    Addresses and sizes are whole pages; every size from `min_pages` to `max_pages` is as likely. Requests arrive every
    `interval_ns` (`arrivals="fixed"`) or after exponential gaps of that mean (`"poisson"`). The file is
    compressed if its name ends in .gz, .zst or .xz; `-` is standard output.
    """
    path = os.fspath(output)
    numbers = (requests, space_bytes, page_bytes, read_share, min_pages, max_pages, interval_ns)
    return _native.synth(path, format, *numbers, arrivals, seed, progress)
