"""Pareto fronts, exact and with a tolerance: over costs, of which each is better if it is lower."""

from collections.abc import Sequence

Costs = Sequence[float]


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
