"""What the published rules of a paper imply for its published numbers."""


def partial_stripe_shares(strips: int, max_pages: int) -> tuple[float, float]:
    """Share of the written pages, in percent, that lie in stripes which their request covers only in part.

    Sizes are uniform from 1 to `max_pages` pages. The first share is of requests that begin anywhere in a stripe of
    `strips` strips, the second of requests that begin where most of their pages are in such stripes.
    """
    anywhere = most = total = 0.0
    for pages in range(1, max_pages + 1):
        partial = [_partial_pages(first, pages, strips) for first in range(strips)]
        anywhere += sum(partial) / strips
        most += max(partial)
        total += pages
    return 100 * anywhere / total, 100 * most / total


def _partial_pages(first: int, pages: int, strips: int) -> int:
    """Pages in partial stripes of a request that begins at strip `first` of a stripe."""
    covered = [0] * ((first + pages) // strips + 1)
    for page in range(first, first + pages):
        covered[page // strips] += 1
    return sum(count for count in covered if count < strips)


def most_mirrored(limit: float, data_chips: int) -> float:
    """Share, in percent, of writes of single pages that may be mirrored if a mirror chip gets `limit` times the writes
    of a data chip at most.

    Of W writes M are mirrored and W - M write a parity; M = limit (W + W - M) / data_chips.
    """
    return 100 * 2 * limit / (data_chips + limit)


def copy_cost(gain: float, copied: float) -> float:
    """What copying a page costs beside computing it, if copying the share `copied` makes a rebuild `gain` faster."""
    return 1 - (1 - 1 / (1 + gain)) / copied


def rebuild_gain(copied: float, cost: float) -> float:
    """How much faster a rebuild is, in percent, if the share `copied` of its pages is copied at that cost."""
    return 100 * (1 / (1 - copied + copied * cost) - 1)


def chip_us(writes: float, reads: float) -> float:
    """Chip time of a data page on the drive of PPC, with so many parity writes and extra reads (SPEC 4.3).

    A program takes 200 us and 51.4 us of transfer, a read 25 us and 51.4 us.
    """
    return 251.4 * (1 + writes) + 76.4 * reads
