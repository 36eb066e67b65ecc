"""Excerpts of a trace, by which all candidates are judged first."""

import os
from dataclasses import dataclass

from .. import _native
from ..settings import Pairs
from .objectives import CLOSED, FAILING, OPEN

# The shares of the trace that are in the excerpts, and as how many pieces: one alone could be of another phase than the
# rest. Runs without a failure are cheap, as nothing is rebuilt in them, and so have a larger share.
SHARES = {OPEN: 1 / 9, CLOSED: 1 / 9, FAILING: 1 / 27}
PIECES = 8
FEWEST_REQUESTS = 1000  # of an excerpt
# How excerpts are read, whatever the trace was.
AS_WRITTEN = {
    "format": "flashraid",
    "time_unit": "auto",
    "device_filter": "all",
    "columns": "none",
    "separator": "auto",
}


@dataclass(frozen=True)
class Excerpt:
    """A part of the trace, in a file of its own."""

    path: str
    requests: int


def excerpts_of(trace: str, reading: Pairs, requests: int, folder: str) -> dict[str, Excerpt]:
    """Writes the excerpt for each run into a folder, of a trace with so many requests; none if it is too short."""
    pieces = {run: round(share * requests) // PIECES for run, share in SHARES.items()}
    if min(pieces.values()) * PIECES < FEWEST_REQUESTS:
        return {}
    return {run: _excerpt(trace, reading, requests, piece, folder) for run, piece in pieces.items()}


def _excerpt(trace: str, reading: Pairs, requests: int, piece: int, folder: str) -> Excerpt:
    """The excerpt whose pieces have so many requests; it is written once."""
    excerpt = Excerpt(os.path.join(folder, f"excerpt-{piece}.csv"), piece * PIECES)
    everything = (0, (1 << 64) - 1)
    if not os.path.exists(excerpt.path):
        _native.convert(
            trace,
            reading,
            excerpt.path,
            "flashraid",
            time_ns=everything,
            address_bytes=everything,
            skip=0,
            limit=excerpt.requests,
            rebase_time=True,
            rebase_address=False,
            progress=None,
            pieces=(piece, requests // PIECES),
        )
    return excerpt
