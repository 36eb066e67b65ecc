"""Quantiles, means and sums, as docs/result.md defines them."""

from collections.abc import Sequence
from decimal import Decimal
from math import ceil, sqrt
from typing import Any, NamedTuple

CAUSES = [
    "host", "update_read", "pre_read", "parity", "mirror", "commit", "reconstruct", "gc", "wear", "rebuild",
    "migration", "metadata", "retry",
]  # fmt: skip
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}


class Between(NamedTuple):
    """A figure of which the logs tell bounds only."""

    least: float
    most: float


def ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


def quantile(values: list[int], share: float) -> int:
    """The smallest value that so many are not above, rounded up as a histogram of three significant digits does it."""
    if not values:
        return 0
    value = values[max(1, ceil(share * len(values) - 1e-9)) - 1]
    width = 1 << max(0, value.bit_length() - 11)
    return min(value // width * width + width - 1, values[-1])


def latencies(values: list[int]) -> dict[str, Any]:
    values = sorted(values)
    count, total = len(values), sum(values)
    spread = count * sum(value * value for value in values) - total * total
    figures = {
        "count": count,
        "total": total,
        "mean": total / count if count else 0,
        "stddev": sqrt(spread) / count if count else 0,
        "min": values[0] if values else 0,
        "max": values[-1] if values else 0,
    }
    return figures | {name: quantile(values, share) for name, share in QUANTILES.items()}


def distribution(values: list[int]) -> dict[str, float]:
    """Points of a distribution of latencies, by path."""
    values = sorted(values)
    # The tail beyond the k-th quantile is 10^(-k/8), to four digits.
    tails = [Decimal(f"{10 ** (-k / 8):.3e}") for k in range(1, 65)]
    shares = [float(1 - tail) for tail in tails if tail * len(values) >= 1]
    points = (
        [(0, values[0]), *((share, quantile(values, share)) for share in shares), (1, values[-1])] if values else []
    )
    return {
        f"{index}/{key}": value
        for index, point in enumerate(points)
        for key, value in zip(("quantile", "latency_ns"), point, strict=True)
    }


def by_cause(counts: dict[str, int]) -> dict[str, int]:
    return {cause: counts.get(cause, 0) for cause in CAUSES} | {"total": sum(counts.values())}


def moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean and population standard deviation."""
    mean = sum(values) / max(1, len(values))
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / max(1, len(values)))


def union_ns(intervals: list[tuple[int, int]], begin: int, end: int) -> int:
    """Time between `begin` and `end` that lies in any of the intervals."""
    covered, reached = 0, begin
    for first, last in sorted(intervals):
        first, last = max(first, reached), min(last, end)
        if last > first:
            covered += last - first
            reached = last
    return covered


def between(least: float | None, most: float | None) -> Any:
    return least if least == most or least is None or most is None else Between(least, most)
