"""What requests asked for and how long they took: counts, throughput, backlog, latencies around rebuilds."""

import itertools
from collections import defaultdict
from itertools import pairwise
from math import inf, sqrt
from statistics import fmean, pvariance
from typing import Any

from .figures import Between, distribution, latencies, ratio, union_ns
from .logs import Request, Run

KIND_OF_OP = {"read": "read", "write": "write", "trim": "trim", "write_zeroes": "trim", "flush": "flush"}


def check_order(run: Run, complaints: list[str]) -> None:
    """Requests are numbered as they arrive, and nothing is done for a request before that."""
    in_order = sorted(run.requests)
    for former, later in pairwise(in_order):
        if later.arrival < former.arrival:
            complaints.append(f"request {later.number} arrives at {later.arrival} ns, before request {former.number}")
    arrivals = {request.number: request.arrival for request in run.requests}
    for done in run.operations:
        if not done.submitted <= done.start <= done.end or done.submitted < arrivals.get(
            done.request if done.request is not None else -1, 0
        ):
            complaints.append(f"{done} is out of order")


def of_workload(run: Run, found: dict[str, Any]) -> None:
    by_op: dict[str, list[Request]] = defaultdict(list)
    for request in run.requests:
        by_op[KIND_OF_OP[request.op]].append(request)
    unfinished = run.result["requests"]["unfinished"]
    assert unfinished == 0, "only runs that came to their end can be recomputed"
    found["workload/requests"] = len(run.requests)
    for op, key in [("read", "reads"), ("write", "writes"), ("trim", "trims"), ("flush", "flushes")]:
        found[f"workload/{key}"] = len(by_op[op])
    for op, key in [("read", "bytes_read"), ("write", "bytes_written")]:
        found[f"workload/{key}"] = sum(request.size for request in by_op[op])
    left_out = run.result["workload"]["left_out"]
    unaligned = sum((request.offset | request.size) % run.page_bytes > 0 for request in run.requests)
    before = left_out + run.result["workload"]["warmup_requests"]
    found["workload/unaligned"] = Between(unaligned, unaligned + before)
    found["workload/warmup_requests"] = (
        min(run.requests).number if run.requests else run.result["workload"]["warmup_requests"]
    )
    found["workload/backlog_growth"] = backlog_growth(run)
    found["requests/completed"] = len(run.completed)
    found["requests/unfinished"] = 0
    for why in ("no_space", "lost", "refused"):
        found[f"requests/failed/{why}"] = sum(request.failure == why for request in run.requests)
    of_kind = {
        kind: [r.end - r.arrival for r in run.completed if KIND_OF_OP[r.op] == kind]
        for kind in ("read", "write", "trim", "flush")
    }
    of_kind["all"] = [latency for values in list(of_kind.values()) for latency in values]
    for kind, values in of_kind.items():
        found.update({f"latency_ns/{kind}/{key}": value for key, value in latencies(values).items()})
        found.update({f"latency_ns/{kind}/distribution/{key}": value for key, value in distribution(values).items()})


def backlog_growth(run: Run) -> float | None:
    """By how much the longest wait grows with the time of arrivals, if the device falls behind them."""
    arrivals = [request.arrival for request in run.requests]
    span = max(arrivals, default=0) - min(arrivals, default=0)
    if not span or run.result["config"]["run"]["queue_depth"]:
        return None
    first, last = min(arrivals), max(arrivals)
    bits = next(bits for bits in itertools.count() if span >> bits < 16)
    slices = (span >> bits) + 1
    longest = [(0, 0)] * 4
    for request in run.completed:
        quarter = ((request.arrival - first) >> bits) * 4 // slices
        longest[quarter] = max(longest[quarter], (request.end - request.arrival, -request.arrival))
    (early, early_at), _, (before, _), (latest, latest_at) = longest
    caught_up = answered = first
    for request in sorted(run.requests, key=lambda request: (request.arrival, request.number)):
        if answered <= request.arrival:
            caught_up = request.arrival
        answered = max(answered, request.end)
    late = max((request.end for request in run.completed), default=last) - last
    growth = max(latest - early, 0) / max(-latest_at - max(-early_at, first), 1)
    ends = [request.end for request in run.completed]
    variance = of_mean(gaps(arrivals)) + of_mean([gap for gap in gaps(ends) if gap])
    of_chance = sqrt(min(1 / len(run.requests), variance))
    is_behind = (
        caught_up - first <= span // 2
        and before < latest <= min(3 * before, 2 * late)
        and 10 * latest >= 11 * early
        and growth >= 4 * of_chance
    )
    return growth if is_behind else 0.0


def gaps(times: list[int]) -> list[int]:
    """The times between events."""
    return [after - before for before, after in pairwise(sorted(times))]


def of_mean(gaps: list[int]) -> float:
    """Variance of the mean of times over its square."""
    return pvariance(gaps) / fmean(gaps) ** 2 / len(gaps) if sum(gaps) else 0.0


def of_bandwidth(run: Run, found: dict[str, Any]) -> None:
    """What was completed, over the time from the first measured arrival to the last completion."""
    last = max((request.end for request in run.completed), default=0)
    first = min(request.arrival for request in run.requests) if run.completed else last
    span = last - first
    read = sum(request.size for request in run.completed if request.op == "read")
    written = sum(request.size for request in run.completed if request.op == "write")
    found["bandwidth/span_ns"] = span
    found["bandwidth/requests_per_second"] = ratio(len(run.completed) * 1e9, span)
    found["bandwidth/read_bytes_per_second"] = ratio(read * 1e9, span)
    found["bandwidth/write_bytes_per_second"] = ratio(written * 1e9, span)
    # What was under way of a warm-up is in no log but the timeline.
    busy = [(request.arrival, request.end) for request in run.requests] + [
        (done.submitted, done.end) for done in run.operations
    ]
    busy += [slice[:2] for track in (run.slices or {}).values() for slice in track]
    busy_ns = union_ns(busy, first, last) if span else 0
    if run.has_warmup:
        busy_ns = (
            run.result["bandwidth"]["busy_ns"] if busy_ns <= run.result["bandwidth"]["busy_ns"] <= span else busy_ns
        )
    if run.packs:
        # Mapping units that are read in memory are in no log either.
        reads = sum(done.action == "read" for done in run.operations)
        in_memory_ns = (run.result["flash_units"]["reads"]["total"] - reads) * run.device["buffer_ns"]
        told = run.result["bandwidth"]["busy_ns"]
        busy_ns = told if busy_ns <= told <= busy_ns + in_memory_ns else busy_ns
    found["bandwidth/busy_ns"] = busy_ns
    found["bandwidth/busy_read_bytes_per_second"] = ratio(read * 1e9, busy_ns)
    found["bandwidth/busy_write_bytes_per_second"] = ratio(written * 1e9, busy_ns)


def of_latencies_around(run: Run, found: dict[str, Any]) -> None:
    """What requests felt before, during and after rebuilds and replacements, by kind."""
    began = [fault["at_ns"] for rebuild in run.result["rebuild"] for fault in rebuild["failed"][:1]]
    spans = [(began, rebuild["ended_ns"]) for began, rebuild in zip(began, run.result["rebuild"], strict=True)]
    spans += [(each["started_ns"], each["ended_ns"]) for each in run.result.get("replacements", [])]
    if not spans:
        return
    first = min(start for start, _ in spans)
    # As in `of_rebuilds`: of those that came at the very instant of the first failure, some were answered before it.
    arrived = min((fault["request"] for fault in run.result["faults"] if fault["at_ns"] == first), default=0)
    parts: dict[str, dict[str, list[int]]] = {
        part: {kind: [] for kind in ("all", "read", "write", "trim", "flush")} for part in ("before", "during", "after")
    }
    for done in run.completed:
        is_earlier = done.arrival < first or (done.end == first and done.number < arrived - 1)
        runs = any(start <= done.arrival <= (inf if end is None else end) for start, end in spans)
        part = "before" if is_earlier else "during" if runs else "after"
        for kind in ("all", KIND_OF_OP[done.op]):
            parts[part][kind].append(done.end - done.arrival)
    for part, kinds in parts.items():
        for kind, values in kinds.items():
            own = f"latency_around_rebuilds_ns/{part}/{kind}"
            found.update({f"{own}/{key}": value for key, value in latencies(values).items()})
