"""M/D/1: one server, Poisson arrivals, constant service time; and the confidence interval of a mean over 20 seeds.

For page reads on one die alone on its channel nothing overlaps: the next command waits until the former read's data are
out. So the service time is command + array read + data out, with 25 ns a byte cycle and 4 KiB pages
7 x 25 + 20,000 + 4096 x 25 = 122,575 ns.
"""

import math
from collections.abc import Sequence

# 97.5 % quantile of Student's t with 19 degrees of freedom: 20 seeds. Any statistical table.
SEEDS = 20
T_975_19 = 2.093024


def md1_waiting_ns(load: float, service_ns: float) -> float:
    """Mean time from arrival to the start of service: rho S / (2 (1 - rho)).

    Pollaczek-Khinchine for a service time without variance: W = lambda E[S^2] / (2 (1 - rho)), lambda = rho / S.
    """
    if not 0 <= load < 1:
        raise ValueError(f"load {load} is not in [0, 1)")
    return load * service_ns / (2 * (1 - load))


def md1_response_ns(load: float, service_ns: float) -> float:
    """Mean time from arrival to the end of service."""
    return service_ns + md1_waiting_ns(load, service_ns)


def mean_and_half_width(means: Sequence[float]) -> tuple[float, float]:
    """The mean of 20 independent runs' means, and the half-width of its 95 % confidence interval."""
    if len(means) != SEEDS:
        raise ValueError(f"{len(means)} runs given, {SEEDS} needed")
    mean = math.fsum(means) / SEEDS
    variance = math.fsum((x - mean) ** 2 for x in means) / (SEEDS - 1)
    return mean, T_975_19 * math.sqrt(variance / SEEDS)
