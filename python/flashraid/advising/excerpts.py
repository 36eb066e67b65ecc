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
FEWEST_REQUESTS = 1000  # of an excerpt, if the trace has as many
# So many requests have excerpts in any case: the shares above were found with such traces.
LONG_REQUESTS = 27_000
# A shorter trace has none if all of it with all seeds takes at most so many operations: nothing is quicker.
MOST_OPERATIONS = 100_000
RUNS_OF_CANDIDATE, FAILING_RUNS = 7, 3
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
    is_all: bool = False  # of a trace that is too short for less


def excerpts_of(trace: str, reading: Pairs, requests: int, stored_pages: int, folder: str) -> dict[str, Excerpt]:
    """Writes the excerpt for each run into a folder, of a trace with so many requests; none if it is quicker to do
    everything: of a drive that stores so many pages, which a rebuild reads and writes whatever the trace is.
    """
    operations = RUNS_OF_CANDIDATE * requests + FAILING_RUNS * stored_pages
    if requests < LONG_REQUESTS and operations <= MOST_OPERATIONS:
        return {}
    found = {}
    for run, share in SHARES.items():
        piece = max(round(share * requests), min(FEWEST_REQUESTS, requests)) // PIECES
        is_all = piece * PIECES >= requests - PIECES
        found[run] = Excerpt(trace, requests, True) if is_all else _excerpt(trace, reading, requests, piece, folder)
    return found


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
