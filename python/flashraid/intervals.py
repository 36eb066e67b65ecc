"""Mean and confidence interval of figures that were measured with several seeds."""

from collections.abc import Sequence
from math import atan, cos, fsum, pi, sin, sqrt

CONFIDENCE = 0.95
ROUNDING = 1e-12  # of a mean: a smaller spread is that of rounding errors


def mean_of(values: Sequence[float]) -> float:
    """The mean."""
    return fsum(values) / len(values)


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation, estimated from a sample."""
    mean = mean_of(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half the width of the 95 % confidence interval of it by Student's t distribution; 0 for one value.

    The values are taken to be independent and normally distributed.
    """
    if len(values) < 2:
        return mean_of(values), 0.0
    mean, half_width = mean_of(values), quantile(len(values) - 1) * _deviation(values) / sqrt(len(values))
    return mean, half_width if half_width > ROUNDING * abs(mean) else 0.0


def is_apart(values: Sequence[float], others: Sequence[float]) -> bool:
    """Whether the 95 % interval of the mean difference of pairs excludes 0, each pair being measured with one seed.

    What both owe to the seed cancels out, so this tells more than whether the intervals of the two means overlap. A
    list may be shorter, if its last values were not measured. One pair of several seeds says nothing.
    """
    differences = [value - other for value, other in zip(values, others, strict=False)]
    if len(differences) == 1 < max(len(values), len(others)):
        return False
    mean, half_width = mean_and_half_width(differences)
    return abs(mean) > half_width


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
