"""What an experiment measures of one run: figures by name, each from the run's JSON result."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from .._native import DefectError, InputError

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """A figure of one run. `decimals` is to how many it is recorded and judged.

    `requests` is the metric that counts the requests of which it is a mean or percentile, if they can be few.
    `is_of_trace` says that it grows with the requests, and is that of all the trace has, whatever the limit.
    """

    unit: str
    decimals: int
    about: str
    of: Callable[[Result], float]
    requests: str = ""
    is_of_trace: bool = False


def _mean_us(kind: str) -> Callable[[Result], float]:
    return lambda result: result["latency_ns"][kind]["mean"] / 1000


def _operations(action: str, cause: str) -> Callable[[Result], float]:
    return lambda result: result["flash_ops"][action][cause]


def _share(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _spread(result: Result) -> float:
    programs = [member["programs"] for member in result["members"]]
    return _share(max(programs) - min(programs), min(programs))


def _partial_updates(result: Result) -> float:
    updates = result["parity_updates"]
    return float(updates["mirrored"] + updates["rmw"] + updates["rcw"])


def _chips_of_channel_0(result: Result) -> list[int]:
    """Programs that the host causes on each chip of the first channel: data chips, mirror chips, spare ones."""
    device, dies = result["config"]["device"], result["dies"]
    of_channel = len(dies) // device["channels"]
    of_chip = of_channel // (device["chips_per_channel"] + device["spare_chips"])
    programs = [sum(die["programs"][cause] for cause in ("host", "parity", "mirror")) for die in dies[:of_channel]]
    return [sum(programs[first : first + of_chip]) for first in range(0, of_channel, of_chip)]


def _chip_writes(chip: int) -> Callable[[Result], float]:
    return lambda result: _chips_of_channel_0(result)[chip]


def _mirror_ratio(result: Result) -> float:
    device = result["config"]["device"]
    mirrors = device["mirror_chips"]
    data = device["chips_per_channel"] - mirrors
    chips = _chips_of_channel_0(result)
    return _share(sum(chips[data : data + mirrors]) * data, sum(chips[:data]) * mirrors)


def _group_difference(result: Result) -> float:
    reads = [member["reads"] for member in result["members"]]
    half = len(reads) // 2
    return float(sum(reads[:half]) - sum(reads[half:]))


def _halves_in_gc_s(result: Result) -> list[float]:
    """Time in which the dies of each half of the channels collect: the mean of a die."""
    nanoseconds = [die["busy_ns"]["gc"] for die in result["dies"]]
    half = len(nanoseconds) // 2
    return [sum(part) / half / 1e9 for part in (nanoseconds[:half], nanoseconds[half:])]


def _gc_halves_spread(result: Result) -> float:
    halves = _halves_in_gc_s(result)
    return _share(max(halves) - min(halves), min(halves))


def _rebuild(result: Result) -> Result:
    """The rebuild, of which there must be one, and it must have ended."""
    rebuilds: Sequence[Result] = result["rebuild"]
    if [each["finished_ns"] is not None for each in rebuilds] != [True]:
        raise DefectError(f"of one rebuild that ends, the result has {rebuilds}")
    return rebuilds[0]


def _replaced(result: Result) -> Sequence[Result]:
    """The replacements, all of which must have ended."""
    replacements: Sequence[Result] = result["replacements"]
    if any(each["outcome"] != "replaced" for each in replacements):
        raise DefectError(f"of replacements that end, the result has {replacements}")
    return replacements


def _replacement(result: Result) -> Result | None:
    """The only replacement, if there is one."""
    replacements = _replaced(result)
    if len(replacements) > 1:
        raise DefectError(f"of one replacement, the result has {replacements}")
    return replacements[0] if replacements else None


def _replacement_us(figure: str) -> Callable[[Result], float]:
    """Of the requests that arrive during the only replacement, or of all if there is none."""

    def of(result: Result) -> float:
        replacement = _replacement(result)
        latency = replacement["latency_ns"] if replacement else result["latency_ns"]["all"]
        return (latency[figure] or 0.0) / 1000

    return of


def _replacement_requests(result: Result) -> float:
    replacement = _replacement(result)
    return float(replacement["requests"] if replacement else result["requests"]["completed"])


def _replacement_seconds(result: Result) -> float:
    durations = [each["duration_ns"] for each in _replaced(result)]
    return sum(durations) / len(durations) / 1e9 if durations else 0.0


def _programs_per_page(*causes: str) -> Callable[[Result], float]:
    """For each page of the host."""

    def of(result: Result) -> float:
        programs = result["flash_ops"]["programs"]
        return sum(programs[cause] for cause in causes) / programs["host"] if programs["host"] else 0.0

    return of


def _first_data_share(result: Result) -> float:
    programs = result["devices"][0]["flash_ops"]["programs"]
    return _share(programs["host"], programs["host"] + programs["parity"])


def _operations_per_page(result: Result) -> float:
    operations = result["flash_ops"]
    return float((operations["reads"]["rebuild"] + operations["programs"]["rebuild"]) / _rebuild(result)["pages"])


def _per_page(*names: str) -> Callable[[Result], float]:
    return lambda result: float(sum(result["per_data_page"][name] or 0.0 for name in names))


def _of_guard(name: str, scale: float = 1.0) -> Callable[[Result], float]:
    """A figure of the scheme that delays parities; 0 without one."""
    return lambda result: scale * (result["guard"][name] or 0.0) if "guard" in result else 0.0


def _page_hits(result: Result) -> float:
    """Hits of a group's pages one by one: of those that find no entry the first makes it."""
    pages = result["flash_ops"]["programs"]["host"]
    return _share(pages - result["guard"]["misses"], pages) if "guard" in result else 0.0


def _old_share(result: Result) -> float:
    if "guard" not in result:
        return 0.0
    guard, width = result["guard"], len(result["members"]) - 1
    return _share(guard["most_old_pages"], guard["most_entries"] * width)


def _cell_us(result: Result) -> float:
    device, operations = result["config"]["device"], result["flash_ops"]
    reads, programs = (operations[action]["total"] for action in ("reads", "programs"))
    return float((reads * device["read_ns"] + programs * device["program_ns"]) / operations["programs"]["host"] / 1000)


def _gc_seconds(result: Result) -> float:
    device, operations = result["config"]["device"], result["flash_ops"]
    reads, programs, erases = (operations[action]["gc"] for action in ("reads", "programs", "erases"))
    nanoseconds = reads * device["read_ns"] + programs * device["program_ns"] + erases * device["erase_ns"]
    return float(nanoseconds / 1e9)


def _adjusted_share(result: Result) -> float:
    """Of the updates that read before they write the parity."""
    updates = result["parity_updates"]
    return _share(updates["adjusted"], updates["rmw"] + updates["rcw"])


def _decision_share(result: Result) -> float:
    """With 5.7 us for each decision, which the paper measured on its controller."""
    updates = result["parity_updates"]
    return _share(5700 * (updates["rmw"] + updates["rcw"]), result["latency_ns"]["all"]["total"])


def _uniform_exponent(result: Result) -> float:
    p_value = (result["blocked_chi_square"] or {"p_value": 1.0})["p_value"]
    return min(300.0, -log10(p_value)) if p_value > 0 else 300.0


def _chi_square_of_requests(result: Result) -> float:
    """Of the measured requests; the test looks at the queues during a warm-up, too."""
    test = result["blocked_chi_square"]
    return float(test["statistic"] * result["workload"]["requests"] / test["requests"]) if test else 0.0


def _tail_us(eighths: int) -> Callable[[Result], float]:
    """The quantile 1 - 10^(-eighths/8), or the longest if there are not so many requests."""

    def of(result: Result) -> float:
        points = result["latency_ns"]["all"]["distribution"]  # from quantile 0 on, one for each eighth
        return float(points[min(eighths, len(points) - 1)]["latency_ns"] / 1000)

    return of


def _tails_us(result: Result) -> list[float]:
    return [member["p99_9_ns"] / 1000 for member in result["members"]]


# Between the 99th percentile and the longest: what results have of a channel.
CONGESTION = {
    "p99": "99th percentile",
    "p99_9": "99.9th percentile",
    "p99_99": "99.99th percentile",
    "max": "longest",
}


def _by_congestion(result: Result, quantile: str) -> tuple[float, float]:
    """A quantile of the member with the longest queue, and the mean of the others', in us."""
    *others, congested = sorted(result["members"], key=lambda member: member["mean_blocked"])
    return congested[quantile] / 1000, sum(member[quantile] for member in others) / len(others) / 1000


def _congested_tail(result: Result) -> float:
    """By how much percent the tail of the member with the longest queue exceeds the mean of the others."""
    congested, others = _by_congestion(result, "p99_9_ns")
    return 100 * (congested / others - 1) if others else 0.0


def _by_congestion_metrics() -> dict[str, Metric]:
    """Quantiles of the page operations of the most congested channel, and of the others."""
    found = {}
    for name, words in CONGESTION.items():
        about = f"{words} of the page operations of "
        found[f"congested_{name}"] = Metric(
            "us",
            3,
            about + "the most congested channel",
            lambda run, quantile=f"{name}_ns": _by_congestion(run, quantile)[0],  # type: ignore[misc]
        )
        found[f"others_{name}"] = Metric(
            "us",
            3,
            about + "the other channels, mean",
            lambda run, quantile=f"{name}_ns": _by_congestion(run, quantile)[1],  # type: ignore[misc]
        )
    return found


def _buffer_hits(result: Result) -> float:
    buffer = result["buffer"]
    return _share(buffer["hits"], buffer["hits"] + buffer["misses"])


# Between the 99th percentile and the longest response: eighths of a decade of those that are longer.
TAIL = {"99.44": 18, "99.68": 20, "99.82": 22, "99.97": 28, "99.99": 32}

METRICS: dict[str, Metric] = {
    "mean": Metric("us", 3, "mean response time", _mean_us("all")),
    "read_mean": Metric("us", 3, "mean response time of reads", _mean_us("read")),
    "write_mean": Metric("us", 3, "mean response time of writes", _mean_us("write")),
    "io_seconds": Metric(
        "s", 3, "total I/O time: the sum of all response times", lambda run: run["latency_ns"]["all"]["total"] / 1e9
    ),
    "io_ks": Metric(
        "ks",
        4,
        "total I/O time of all requests of the trace, by those that were replayed",
        lambda run: run["latency_ns"]["all"]["total"] / 1e12,
        is_of_trace=True,
    ),
    "write_ks": Metric(
        "ks",
        4,
        "the part of the writes in it",
        lambda run: run["latency_ns"]["write"]["total"] / 1e12,
        is_of_trace=True,
    ),
    "p99_9": Metric(
        "us", 3, "99.9th percentile of response times", lambda run: run["latency_ns"]["all"]["p99_9"] / 1000
    ),
    "p99": Metric("us", 3, "99th percentile of response times", lambda run: run["latency_ns"]["all"]["p99"] / 1000),
    **{
        f"p{percent.replace('.', '_')}": Metric("us", 3, f"{percent}th percentile of response times", _tail_us(eighths))
        for percent, eighths in TAIL.items()
    },
    "longest": Metric("us", 3, "longest response time", lambda run: run["latency_ns"]["all"]["max"] / 1000),
    "blocked_cv": Metric(
        "", 4, "coefficient of variation of the channels' blocked requests", lambda run: run["blocked_cv"] or 0.0
    ),
    "chi_square": Metric(
        "",
        1,
        "chi-square of the channels' blocked requests",
        lambda run: (run["blocked_chi_square"] or {"statistic": 0.0})["statistic"],
    ),
    "chi_square_of_trace": Metric(
        "",
        1,
        "the same of all requests of the trace, by those that were replayed",
        _chi_square_of_requests,
        is_of_trace=True,
    ),
    "uniform_exponent": Metric(
        "",
        1,
        "-log10 of the probability of such a chi-square if all channels had the same load (300 stands for more, too)",
        _uniform_exponent,
    ),
    "adjusted_share": Metric(
        "%", 2, "share of parity updates whose method is not the one with fewest pre-reads", _adjusted_share
    ),
    "decision_share": Metric(
        "%", 3, "time of the decisions, at 5.7 us each, beside the total I/O time", _decision_share
    ),
    "channel_tail": Metric(
        "us",
        3,
        "99.9th percentile of the page operations of a channel, mean over the channels",
        lambda run: sum(_tails_us(run)) / len(run["members"]),
    ),
    "channel_tail_spread": Metric(
        "us",
        3,
        "difference of the largest and the least of them",
        lambda run: max(_tails_us(run)) - min(_tails_us(run)),
    ),
    "congested_tail": Metric(
        "%", 2, "by how much the tail of the most congested channel exceeds the mean of the others", _congested_tail
    ),
    **_by_congestion_metrics(),
    "parity_writes": Metric("pages", 0, "programs of parity pages", _operations("programs", "parity")),
    "pre_reads": Metric("pages", 0, "flash reads to compute parity", _operations("reads", "pre_read")),
    "update_reads": Metric("pages", 0, "reads before writes of parts of pages", _operations("reads", "update_read")),
    "mirror_writes": Metric("pages", 0, "programs of mirror copies", _operations("programs", "mirror")),
    "mirror_ratio": Metric(
        "%", 2, "writes of channel 0's mirror chip beside the mean of its data chips", _mirror_ratio
    ),
    "chip_0_writes": Metric("pages", 0, "writes of channel 0's first chip", _chip_writes(0)),
    "chip_1_writes": Metric("pages", 0, "writes of its second chip", _chip_writes(1)),
    "chip_2_writes": Metric("pages", 0, "writes of its third chip", _chip_writes(2)),
    "chip_3_writes": Metric("pages", 0, "writes of its fourth chip", _chip_writes(3)),
    "mirrored_share": Metric(
        "%",
        2,
        "share of partial-stripe writes that are mirrored",
        lambda run: _share(run["parity_updates"]["mirrored"], _partial_updates(run)),
    ),
    "mirrored_per_request": Metric(
        "",
        4,
        "mirrored writes for each request",
        lambda run: run["parity_updates"]["mirrored"] / run["requests"]["completed"],
    ),
    "group_difference": Metric(
        "pages", 0, "flash reads of the first half of the channels less those of the second", _group_difference
    ),
    "buffer_hits": Metric("%", 2, "share of page accesses that find the page in the DRAM buffer", _buffer_hits),
    "victim_pages": Metric(
        "pages", 3, "pages that leave the write buffer together", lambda run: run["buffer"]["mean_victim_pages"] or 0.0
    ),
    "bandwidth": Metric("MB/s", 3, "bandwidth of writes", lambda run: run["bandwidth"]["write_bytes_per_second"] / 1e6),
    "busy_bandwidth": Metric(
        "MB/s",
        3,
        "bandwidth of writes without the time in which nothing was under way",
        lambda run: run["bandwidth"]["busy_write_bytes_per_second"] / 1e6,
    ),
    "extra_reads": Metric(
        "", 4, "reads for the parity for each data page written", _per_page("pre_reads", "commit_reads")
    ),
    "extra_pre_reads": Metric("", 4, "of these, reads to update a parity", _per_page("pre_reads")),
    "extra_commit_reads": Metric("", 4, "of these, reads of commits", _per_page("commit_reads")),
    "extra_writes": Metric(
        "",
        4,
        "programs of parities for each data page written",
        _per_page("parity_programs", "commit_programs"),
    ),
    "extra_operations": Metric(
        "",
        4,
        "reads and programs for the parity for each data page written",
        _per_page("pre_reads", "commit_reads", "parity_programs", "commit_programs"),
    ),
    "cell_us": Metric("us", 3, "array time of reads and programs for each data page written", _cell_us),
    "hit_rate": Metric(
        "%", 2, "share of stripe updates that find the stripe in the parity cache", _of_guard("hit_rate", 100)
    ),
    "page_hit_rate": Metric("%", 2, "the same, with the pages of an update counted one by one", _page_hits),
    "commit_reads": Metric("", 4, "reads of a commit", _of_guard("reads_per_commit")),
    "old_share": Metric(
        "%", 2, "most old versions that recovery needed, of what the parity cache allows for", _old_share
    ),
    "gc_seconds": Metric("s", 4, "array time of moves and erases of collections", _gc_seconds),
    "gc_die_seconds": Metric(
        "s", 4, "time in which a die collects, the mean of all", lambda run: sum(_halves_in_gc_s(run)) / 2
    ),
    "gc_first_half": Metric("s", 4, "the same in the first half of the channels", lambda run: _halves_in_gc_s(run)[0]),
    "gc_second_half": Metric("s", 4, "and in the second half", lambda run: _halves_in_gc_s(run)[1]),
    "gc_halves_spread": Metric(
        "%", 2, "by how much the half that collects more exceeds the other one", _gc_halves_spread
    ),
    "gc_commits": Metric("", 0, "commits by collections", _of_guard("commits_gc")),
    "gc_commit_share": Metric(
        "%", 2, "share of commits by collections in the cost of commits", _of_guard("gc_commit_share", 100)
    ),
    "milliseconds": Metric("ms", 6, "duration of the run", lambda run: run["simulated_ns"] / 1e6),
    "erases": Metric("blocks", 0, "blocks erased", _operations("erases", "total")),
    "parity_per_write": Metric(
        "",
        3,
        "parity programs for each write",
        lambda run: run["flash_ops"]["programs"]["parity"] / run["workload"]["writes"],
    ),
    "channel_spread": Metric("%", 2, "by how much the most written channel exceeds the least written one", _spread),
    "surviving_reads": Metric(
        "pages",
        0,
        "flash reads of all channels but the first",
        lambda run: sum(each["reads"] for each in run["members"][1:]),
    ),
    "rebuild_mean": Metric(
        "us",
        3,
        "mean response time of requests that arrived during the rebuild",
        lambda run: _rebuild(run)["mean_latency_ns"] / 1000,
        "rebuild_requests",
    ),
    "rebuild_requests": Metric(
        "requests", 0, "requests that arrived during the rebuild", lambda run: _rebuild(run)["requests"]
    ),
    "rebuild_seconds": Metric(
        "s", 4, "duration of the rebuild", lambda run: _rebuild(run)["window_of_vulnerability_ns"] / 1e9
    ),
    "rebuild_speed": Metric("MB/s", 3, "speed of the rebuild", lambda run: _rebuild(run)["bytes_per_second"] / 1e6),
    "rebuild_pages": Metric("pages", 0, "pages that the rebuild programmed", lambda run: _rebuild(run)["pages"]),
    "pages_xored": Metric("pages", 0, "of these, computed of several pages", lambda run: _rebuild(run)["pages_xored"]),
    "copied_share": Metric(
        "%",
        2,
        "share of rebuilt pages that were copied",
        lambda run: _share(_rebuild(run)["pages_copied"], _rebuild(run)["pages"]),
    ),
    "operations_per_page": Metric(
        "", 3, "flash operations of the rebuild for each page that it programmed", _operations_per_page
    ),
    "replacement_mean": Metric(
        "us",
        3,
        "mean response time of requests that arrived during the replacement (of all if there is none)",
        _replacement_us("mean"),
        "replacement_requests",
    ),
    "replacement_deviation": Metric(
        "us", 3, "standard deviation of their response times", _replacement_us("stddev"), "replacement_requests"
    ),
    "replacement_p99_9": Metric(
        "us", 3, "99.9th percentile of their response times", _replacement_us("p99_9"), "replacement_requests"
    ),
    "replacement_max": Metric(
        "us", 3, "longest of their response times", _replacement_us("max"), "replacement_requests"
    ),
    "replacement_requests": Metric(
        "requests", 0, "requests that arrived during the replacement (all if there is none)", _replacement_requests
    ),
    "replacement_seconds": Metric("s", 4, "duration of a replacement", _replacement_seconds),
    "read_after": Metric(
        "us",
        3,
        "mean response time of reads after the last replacement",
        lambda run: (_replaced(run)[-1]["read_latency_after_ns"]["mean"] or 0.0) / 1000,
        "reads_after",
    ),
    "reads_after": Metric(
        "requests", 0, "reads after the last replacement", lambda run: _replaced(run)[-1]["reads_after"]
    ),
    "shadow_reads": Metric(
        "pages", 0, "pages read from shadows after it", lambda run: _replaced(run)[-1]["shadow_reads_after"]
    ),
    "programs_per_page": Metric(
        "", 4, "programs of all causes for each page that the host writes", _programs_per_page("total")
    ),
    "moved_per_page": Metric(
        "",
        4,
        "programs of replacements in idle time for each page that the host writes",
        _programs_per_page("rebuild", "migration"),
    ),
    "gc_per_page": Metric("", 4, "programs of GC for each page that the host writes", _programs_per_page("gc")),
    "first_parity_share": Metric(
        "%", 2, "share of the first SSD in the parities", lambda run: 100 * run["members"][0]["parity_share"]
    ),
    "first_data_share": Metric("%", 2, "share of data in what the first SSD holds", _first_data_share),
    "user_share": Metric(
        "%",
        2,
        "user capacity of raw flash",
        lambda run: _share(run["capacity"]["user_bytes"], run["capacity"]["raw_bytes"]),
    ),
    "user_capacity": Metric("GiB", 3, "user capacity", lambda run: run["capacity"]["user_bytes"] / 2**30),
}


def with_requests(names: Iterable[str]) -> tuple[str, ...]:
    """The metrics, and those that count the requests behind them."""
    return tuple(dict.fromkeys(each for name in names for each in (name, METRICS[name].requests) if each))


def measured(
    result: Result,
    names: tuple[str, ...],
    trace_requests: Callable[[Result], int] = lambda run: run["workload"]["requests"],
) -> dict[str, float]:
    """The figures of a run by metric, rounded as they are recorded; raises InputError if there is nothing to count.

    `trace_requests` counts those of the trace, also those that the run did not measure.
    """
    found = {}
    for name in names:
        metric = METRICS[name]
        try:
            scale = trace_requests(result) / result["workload"]["requests"] if metric.is_of_trace else 1.0
            found[name] = round(float(metric.of(result)) * scale, metric.decimals)
        except ZeroDivisionError:
            raise InputError(f"{name} cannot be measured: what it is relative to is 0") from None
    return found
