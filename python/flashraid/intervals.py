"""Mean and confidence interval of figures that were measured with several seeds."""

from collections.abc import Sequence
from math import atan, cos, pi, sin, sqrt
from statistics import fmean, stdev

CONFIDENCE = 0.95


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half the width of the 95 % confidence interval of it by Student's t distribution; 0 for one value.

    The values are taken to be independent and normally distributed.
    """
    if len(values) < 2:
        return fmean(values), 0.0
    return fmean(values), quantile(len(values) - 1) * stdev(values) / sqrt(len(values))


def quantile(degrees: int) -> float:
    """The t between whose negative and itself lie 95 % of Student's distribution with so many degrees of freedom."""
    low, high = 0.0, 13.0  # 12.7 with 1 degree of freedom, less with more
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _share_within(middle, degrees) < CONFIDENCE else (low, middle)
    return (low + high) / 2


def _share_within(t: float, degrees: int) -> float:
    """The share of Student's distribution between -t and t, which for whole degrees of freedom is a finite sum."""
    angle = atan(t / sqrt(degrees))
    # Terms cos^k x of the sum, each from the one two powers below; odd degrees begin with cos, even ones with 1.
    power = degrees % 2
    term, total = cos(angle) ** power, 0.0
    while power <= degrees - 2:
        total += term
        power += 2
        term *= cos(angle) ** 2 * (power - 1) / power
    if degrees % 2 == 0:
        return sin(angle) * total
    return 2 / pi * (angle + sin(angle) * total)
