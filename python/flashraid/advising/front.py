"""Pareto fronts, exact and with a tolerance: over costs, of which each is better if it is lower."""

from collections.abc import Sequence
from math import isinf, log2

Costs = Sequence[float]
# A figure that a candidate does not have, or that is more than so many doublings from the best, counts as so many.
MOST_DOUBLINGS = 4.0
# Within such a tolerance one stands for another.
TOLERANCES = (
    0.0,
    0.002,
    0.005,
    0.01,
    0.015,
    0.02,
    0.025,
    0.03,
    0.035,
    0.04,
    0.05,
    0.06,
    0.07,
    0.1,
    0.15,
    0.2,
    0.3,
    0.5,
)


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


def shortfall(own: Costs, costs: Sequence[Costs], measured: Sequence[int]) -> float:
    """How far something is from the front: by how many doublings whatever dominates it is better in all figures that
    are measured, of which these are the positions. 0 if nothing is.
    """
    worst = 0.0
    for other in costs:
        if all(a <= b for a, b in zip(other, own, strict=True)):
            worst = max(worst, min(doublings(own[at], other[at]) for at in measured))
    return worst


def select(costs: Sequence[Costs], measured: Sequence[int], prices: Sequence[float], budget: float) -> list[int]:
    """As many positions as a budget allows: of those that cover the front within the least tolerance that it allows,
    then those that are nearest to the front.
    """
    found: list[int] = []
    for tolerance in TOLERANCES:
        found = cover(costs, tolerance)
        if sum(prices[at] for at in found) <= budget:
            break
    others = sorted(set(range(len(costs))) - set(found), key=lambda at: (shortfall(costs[at], costs, measured), at))
    spent = sum(prices[at] for at in found)
    for at in others:
        spent += prices[at]
        if spent > budget:
            break
        found.append(at)
    return sorted(found)
