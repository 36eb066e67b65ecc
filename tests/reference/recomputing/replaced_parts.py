"""Rebuilds and replacements of SSDs."""

from math import inf
from typing import Any

from .figures import Between, latencies, ratio
from .logs import Run


def of_rebuilds(run: Run, found: dict[str, Any]) -> None:
    injected = {failed["at_ns"] for failed in run.result["faults"] + run.wear_outs}
    for index, rebuild in enumerate(run.result["rebuild"]):
        own = f"rebuild/{index}"
        started = min(fault["at_ns"] for fault in rebuild["failed"])
        found[f"{own}/started_ns"] = started if started in injected else None
        ended = rebuild["ended_ns"] if rebuild["ended_ns"] is not None else inf
        repairs = [
            done for done in run.operations if done.kind == "repair" and started <= done.start and done.end <= ended
        ]
        metadata = [
            done for done in run.operations if done.kind == "translation" and done.cause in ("rebuild", "retry")
        ]
        last = max((done.end for done in repairs), default=started)
        found[f"{own}/ended_ns"] = Between(last, run.end) if rebuild["ended_ns"] is not None else None
        finished = rebuild["finished_ns"]
        found[f"{own}/finished_ns"] = rebuild["ended_ns"] if finished is not None else None
        found[f"{own}/window_of_vulnerability_ns"] = finished - started if finished is not None else None
        programmed = sum(done.action == "program" and not done.failed for done in repairs + metadata)
        # A repair that started anew, as something it had read or programmed was lost meanwhile, has programmed in vain.
        is_undisturbed = not metadata and not any(done.failed for done in repairs) and len(rebuild["failed"]) == 1
        # What is programmed together with other units is in the log as one program, of no operation.
        most = inf if run.has_warmup or run.packs else programmed
        found[f"{own}/pages"] = programmed if is_undisturbed and most < inf else Between(0, most)
        found[f"{own}/pages_xored"] = rebuild["pages"] - rebuild["pages_copied"]
        span = ended - started
        found[f"{own}/bytes_per_second"] = None if span == inf else ratio(rebuild["pages"] * run.page_bytes * 1e9, span)
        # Of those that came at the very instant of the failure, some were answered before it, at once.
        arrived = min((fault["request"] for fault in run.result["faults"] if fault["at_ns"] == started), default=inf)
        within = [request for request in run.completed if started <= request.arrival <= ended]
        within = [request for request in within if request.end > started or request.number >= arrived - 1]
        served = latencies([request.end - request.arrival for request in within])
        found[f"{own}/requests"], found[f"{own}/mean_latency_ns"] = served["count"], served["mean"]
        found.update({f"{own}/latency_ns/{key}": value for key, value in served.items()})


def of_replacements(run: Run, found: dict[str, Any]) -> None:
    """What requests felt of the replacements of SSDs, and how long these took."""
    replacements = run.result.get("replacements", [])
    for index, each in enumerate(replacements):
        own = f"replacements/{index}"
        started, ended = each["started_ns"], each["ended_ns"] if each["ended_ns"] is not None else inf
        follows = replacements[index + 1]["started_ns"] if index + 1 < len(replacements) else inf
        found[f"{own}/duration_ns"] = None if ended == inf else ended - started
        within = [done for done in run.completed if started <= done.arrival <= ended and done.arrival < follows]
        after = [done for done in run.completed if ended < done.arrival < follows and done.op == "read"]
        for requests, count, latency in [
            (within, "requests", "latency_ns"), (after, "reads_after", "read_latency_after_ns"),
        ]:  # fmt: skip
            served = latencies([done.end - done.arrival for done in requests])
            found[f"{own}/{count}"] = served["count"]
            found.update({f"{own}/{latency}/{key}": value for key, value in served.items()})
