"""What a trace is made of, and synthetic ones."""

import json
import os

from . import _native
from .result import Record


def trace_info(
    trace: str | os.PathLike[str],
    *,
    format: str = "auto",
    device_filter: int | None = None,
    limit: int = 0,
    page_bytes: int = 4096,
) -> Record:
    """Statistics of a trace: requests, footprint in pages of `page_bytes`, shares, inter-arrival times."""
    return Record(json.loads(_native.trace_info(os.fspath(trace), format, device_filter, limit, page_bytes)))


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
) -> int:
    """Writes a trace of uniformly random requests and returns their number; equal arguments give equal files.

    Addresses and sizes are whole pages; every size from `min_pages` to `max_pages` is as likely. Requests arrive every
    `interval_ns` (`arrivals="fixed"`) or after exponential gaps of that mean (`"poisson"`).
    """
    path = os.fspath(output)
    numbers = (requests, space_bytes, page_bytes, read_share, min_pages, max_pages, interval_ns)
    return _native.synth(path, format, *numbers, arrivals, seed)
