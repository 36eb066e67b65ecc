"""What a figure is evidence of: the one rule for tables, sentences, reports, notebooks and the advisor.

A quantile is known only if enough requests lie beyond it. A latency says nothing of the flash if the requests did not
reach it. Two schemes differ only if their figures do by more than 1 %, and by more than what chance changes in runs
that were repeated.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .intervals import is_apart, mean_of

# Looks up a figure of a run by its path in the JSON; None if the run has none.
Look = Callable[[str], Any]

RATE = "bandwidth.requests_per_second"
# How evenly the members of a layout were written to.
PEAK_TO_MEAN = "lifetime.programs_peak_to_mean"
OF_ALL_REQUESTS = (RATE, PEAK_TO_MEAN)  # figures of all requests together
EQUAL = 0.01  # figures that differ by no more are called equal
FEWEST_BEYOND = 10  # requests beyond a quantile, below which it may be that of any of them
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
FEWEST_OF_A_MEAN = 100  # requests; a mean, a rate or a maximum of fewer is that of these few
# The fewest requests of which each kind of figure is known: 1,000 for p99.
FEWEST = {name: round(FEWEST_BEYOND / (1 - share)) for name, share in SHARES.items()} | dict.fromkeys(
    ("mean", "max", "rate"), FEWEST_OF_A_MEAN
)
# Of the pages read: from so many on that were never written, latencies of reads are those of another device.
MOST_UNWRITTEN = 0.1
# Of what was asked: if so much of it needed no flash, a rate is that of a data buffer or of the tables.
MOST_WITHOUT_FLASH = 0.9
# Rounding of a histogram's quantiles.
ROUNDING = 1.002
SPARSE = (
    f"fewer than {FEWEST_BEYOND} requests lie beyond a quantile, or fewer than {FEWEST_OF_A_MEAN} make a mean, a rate "
    "or a maximum, so that it may be chance"
)


def words_of(quantile: str) -> str:
    """The quantile as people write it: p99.9."""
    return quantile.replace("_", ".")


def are_few(count: int | None, figure: str) -> bool:
    """Whether a figure of this kind (a quantile, `mean`, `max` or `rate`) is of too few requests to be known."""
    return count is not None and count < FEWEST.get(figure, 0)


def is_sparse(look: Look, path: str) -> bool:
    """Whether the path is that of a figure of too few requests; of members, also of too few programs."""
    if path in OF_ALL_REQUESTS:
        counts = ["workload.requests"] + (["flash_ops.programs.total"] if path == PEAK_TO_MEAN else [])
        return any(are_few(look(count), "rate") for count in counts)
    kind, dot, name = path.rpartition(".")
    return are_few(look(f"{kind}{dot}count"), name)


def known_tail(counts: Sequence[int], among: Sequence[str]) -> str | None:
    """The highest of these quantiles, given from the highest down, that is known with each of these counts."""
    return next((name for name in among if min(counts, default=0) >= FEWEST[name]), None)


def why_void(look: Look, path: str) -> str:
    """Why a latency or write amplification says nothing of the flash; empty if it does, and of other figures."""
    has_buffer = look("buffer.kind") is not None
    if path == "write_amplification":
        kept = has_buffer and not look("flash_ops.programs.host")
        return "nothing of what was written has left the data buffer" if kept else ""
    if path == RATE:
        return why_no_flash(look)
    kind, _, _ = path.rpartition(".")
    if not kind.endswith(("latency_ns.read", "latency_ns.write", "latency_ns.flush", "latency_ns.trim")):
        return ""
    if kind == "latency_ns.read":
        unwritten, read = look("requests.unmapped_reads") or 0, look("flash_ops.reads.host") or 0
        if unwritten > MOST_UNWRITTEN * (unwritten + read):
            share = unwritten / (unwritten + read)
            return (
                f"{100 * share:.0f} % of the pages read had never been written, and were not read from flash (--fill)"
            )
    value = look(path)
    which = _at_most(path)
    if value == 0:
        return f"{which} had nothing to wait for"
    if has_buffer and value is not None and value <= ROUNDING * (look("config.device.buffer_ns") or 0):
        return f"{which} were answered by the data buffer, not by flash"
    return ""


def _at_most(path: str) -> str:
    """The requests that took at most this figure of their latencies: of a mean that is the least there is, all."""
    kind, _, name = path.rpartition(".")
    plural = {"read": "reads", "write": "writes", "flush": "flushes", "trim": "discards"}[kind.rpartition(".")[2]]
    return f"at least {100 * SHARES[name]:g} % of the {plural}" if name in SHARES else f"the {plural}"


def why_no_flash(look: Look) -> str:
    """Why a rate of requests is not one of the flash: hardly any of them needed it. Empty if it is."""
    if not (look("flash_ops.reads.total") or 0) + (look("flash_ops.programs.total") or 0):
        return "no request reached flash"
    unwritten = look("requests.unmapped_reads") or 0
    served = (look("flash_ops.reads.host") or 0) + (look("flash_ops.programs.host") or 0)
    needed = unwritten + served
    if unwritten > MOST_UNWRITTEN * needed:
        return (
            f"{100 * unwritten / needed:.0f} % of the pages needed had never been written, and were not read (--fill)"
        )
    discards, requests = look("latency_ns.trim.count") or 0, look("workload.requests") or 0
    if discards and discards >= MOST_WITHOUT_FLASH * requests:
        return f"{100 * discards / requests:.0f} % of the requests are discards, which need no flash"
    asked = (look("workload.bytes_read") or 0) + (look("workload.bytes_written") or 0)
    pages = asked / (look("config.device.page_bytes") or 4096)
    if look("buffer.kind") is not None and pages - served >= MOST_WITHOUT_FLASH * pages:
        return f"{100 - 100 * served / pages:.0f} % of what was asked was served by the data buffer alone"
    return ""


def why_unfinished(look: Look) -> str:
    """Why write amplification is less than that of a longer run: parities are deferred and not written yet, more than
    figures that are called equal may differ by. Empty if it is not.
    """
    deferred, pages = look("guard.entries") or 0, look("flash_ops.programs.host") or 0
    if deferred <= EQUAL * pages:
        return ""
    return f"{deferred:,} parities are deferred and not written yet, for {pages:,} pages of data"


def is_overloaded(look: Look) -> bool:
    """Whether the device cannot keep up with the arrivals, so that latencies depend on the length of the trace. A
    result of a version that did not say so has the figures of which it follows, but for short traces.
    """
    if (said := look("workload.overloaded")) is not None:
        return bool(said)
    behind = (look("workload.busiest_load") or 0) > 1 or (look("workload.backlog_growth") or 0) > 0
    return behind and not look("config.run.queue_depth")


def is_repeated(looks: Sequence[Look]) -> bool:
    """Whether these runs of a scheme differ by chance: in the requests drawn, their arrivals, or the state to begin
    with. Only then do they tell a difference between schemes from chance.
    """
    return len(looks) > 1 and all(
        look("workload.format") == "profile"
        or look("config.run.jitter_ns")
        or look("config.run.precondition") not in (None, "none")
        for look in looks
    )


def are_near(values: Sequence[float], others: Sequence[float]) -> bool:
    """Whether the means differ by at most 1 %."""
    one, other = mean_of(values), mean_of(others)
    return abs(one - other) <= EQUAL * max(abs(one), abs(other))


def differ(values: Sequence[float], others: Sequence[float]) -> bool:
    """Whether two schemes have different figures: not near, and told apart by runs with the same seeds."""
    return is_apart(values, others) and not are_near(values, others)
