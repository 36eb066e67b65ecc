"""How figures of results are written: in which unit, with how many digits, and relative to another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .sizes import TIMES


@dataclass(frozen=True)
class Kind:
    """How figures are written: in units, each with its size in the JSON's, and with how many decimals (`number`)."""

    units: tuple[tuple[str, float], ...] = (("", 1),)
    decimals: int | None = None

    def unit(self, values: Sequence[float]) -> tuple[str, float]:
        """The unit that fits them all best: the largest in which their median is at least 1, zeros left out."""
        ordered = sorted(abs(value) for value in values if value)
        median = ordered[(len(ordered) - 1) // 2] if ordered else 0
        return next((unit for unit in reversed(self.units) if unit[1] <= median), self.units[0])

    def text(self, value: float) -> str:
        """One figure with its unit."""
        name, one = self.unit([value])
        return f"{number(value / one, self.decimals)} {name}".rstrip()


TIME = Kind(tuple(TIMES.items()))
SIZE = Kind((("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30), ("TiB", 2**40)))
SHARE = Kind((("%", 0.01),), 1)
COUNT = Kind(decimals=0)
HUNDREDTHS = Kind(decimals=2)
THOUSANDTHS = Kind(decimals=3)
PER_SECOND = Kind((("requests/s", 1),), 0)
PER_SECOND_OF_ARRIVALS = Kind((("s/s", 1),), 2)
MB_PER_SECOND = Kind((("MB/s", 1e6),), 1)
YEARS = Kind((("h", 1 / 8760), ("days", 1 / 365), ("years", 1)))


def number(value: float, decimals: int | None) -> str:
    """A number with so many decimals, or as many as show two digits of one that they would hide.

    Without `decimals`, three significant digits, and all digits before the point.
    """
    if decimals is None:
        decimals = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    elif 0 < abs(value) < 10**-decimals:
        decimals = 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{decimals}f}"


def rounded(value: float, digits: int = 10) -> str:
    """A number with so many significant digits at most, and no exponent below ten digits: `3,993,316`."""
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def with_interval(mean: float, half_width: float, decimals: int | None) -> str:
    """A mean with half the width of its interval, where that shows: `12.3 ±0.4`."""
    if decimals is None:
        decimals = decimals_of(number(mean, None))
    if half_width:
        # Neither more digits than the figure has, nor more than two of the interval.
        of_half = max(0, 1 - math.floor(math.log10(half_width)))
        shown = min(max(decimals, decimals_of(number(mean, decimals))), of_half)
        if half_width >= 0.5 * 10**-shown:
            return f"{mean:,.{shown}f} ±{half_width:,.{shown}f}"
    return number(mean, decimals)


def decimals_of(text: str) -> int:
    """How many decimals a number is written with."""
    return len(text.partition(".")[2])


def difference(value: float, first: float) -> str:
    """A value relative to the first: in percent, from twice as much on as a factor; nothing if they are equal."""
    if first == 0 or value == first:
        return ""
    if value >= 2 * first:
        return f"{value / first:,.{1 if value < 100 * first else 0}f}x"
    change = 100 * (value / first - 1)
    decimals = 0 if value == 0 or change > -99.5 else 1 - math.floor(math.log10(100 + change))
    return f"{change:+.{decimals}f} %" if abs(change) >= 0.5 else "0 %"
