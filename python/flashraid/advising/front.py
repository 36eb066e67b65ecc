"""Pareto fronts, exact and with a tolerance: over costs, of which each is better if it is lower."""

from collections.abc import Sequence
from math import isinf, log2

Costs = Sequence[float]
# A figure that a candidate does not have, or that is more than so many doublings from the best, counts as so many.
MOST_DOUBLINGS = 4.0


def dominates(one: Costs, other: Costs) -> bool:
    """Whether one is as good as the other in everything, and better in something."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(a < b for a, b in zip(one, other, strict=True))


def front(costs: Sequence[Costs]) -> list[int]:
    """The positions of what nothing dominates; of equals the first alone."""
    found: list[int] = []
    for at, own in enumerate(costs):
        if any(dominates(other, own) for other in costs) or any(list(costs[before]) == list(own) for before in found):
            continue
        found.append(at)
    return found


def covers(one: Costs, other: Costs, tolerance: float) -> bool:
    """Whether one is at most so large a share worse than the other, in everything."""
    return all(a <= b * (1 + tolerance) for a, b in zip(one, other, strict=True))


def cover(costs: Sequence[Costs], tolerance: float) -> list[int]:
    """Few positions that cover all of the front within a tolerance: again and again the one that covers most."""
    left = set(front(costs))
    reach = {at: {other for other in left if covers(costs[at], costs[other], tolerance)} for at in left}
    found = []
    while left:
        best = min(reach, key=lambda at: (-len(reach[at] & left), at))
        found.append(best)
        left -= reach[best]
    return sorted(found)


def doublings(cost: float, least: float) -> float:
    """How many doublings a cost is above another, at most so many; 0 if it is not."""
    if isinf(least) or cost <= least:
        return 0.0
    return MOST_DOUBLINGS if isinf(cost) or least <= 0 else min(MOST_DOUBLINGS, log2(cost / least))


def distance(one: Costs, other: Costs) -> float:
    """How much worse one is than the other where it is worst, in doublings."""
    return max(doublings(a, b) for a, b in zip(one, other, strict=True))


def difference(one: Costs, other: Costs) -> float:
    """How far apart two are where they differ most, in doublings."""
    return max(distance(one, other), distance(other, one))
