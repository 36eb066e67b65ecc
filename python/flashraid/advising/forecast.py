"""What a candidate costs over all of the trace, as its excerpt and the finalists tell it.

How much higher a cost is over all of the trace than in the excerpt differs from candidate to candidate, and it does so
by scheme and by parameter: the logarithm of the ratio is taken as the sum of what all have in common, what belongs to
the scheme, and what belongs to the other settings, whatever the scheme. Few observations count less (they are shrunk
toward nothing), as one may be chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import median

from .candidates import Candidate
from .front import Costs


@dataclass(frozen=True)
class Observed:
    """A candidate whose costs are known in the excerpt and over all of the trace."""

    candidate: Candidate
    short: Costs
    whole: Costs


def forecast(candidate: Candidate, short: Costs, observed: Sequence[Observed]) -> list[float]:
    """Its costs over all of the trace."""
    return [_forecast(candidate, cost, at, observed) for at, cost in enumerate(short)]


def _forecast(candidate: Candidate, cost: float, at: int, observed: Sequence[Observed]) -> float:
    """One of its costs. What nobody has, in the excerpt or over all of the trace, stays as it is."""
    known = [
        (each.candidate, log(each.whole[at] / each.short[at]))
        for each in observed
        if 0 < each.short[at] < inf and 0 < each.whole[at] < inf
    ]
    if not known or not 0 < cost < inf:
        return cost
    common = median(ratio for _, ratio in known)

    def of_scheme(own: Candidate) -> float:
        """The part of the ratio that belongs to the scheme, as others with it tell."""
        rest = [ratio - common for each, ratio in known if each.scheme == own.scheme and each != own]
        return sum(rest) / (len(rest) + 1)

    alike = [
        ratio - common - of_scheme(each)
        for each, ratio in known
        if each.settings and each.settings == candidate.settings
    ]
    return cost * exp(common + of_scheme(candidate) + sum(alike) / (len(alike) + 0.5))
