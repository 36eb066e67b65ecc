"""Links and controller between host and flash: how long requests, and what GC moves, take them."""

from typing import Any

from .figures import Between, ratio
from .logs import Request, Run


def of_host_side(run: Run, found: dict[str, Any]) -> None:
    """Time in use of both directions of the host link, and of the controller."""
    if "host_side" not in run.result:
        return
    device = run.device
    crossing = {
        "write_link": [request for request in run.requests if request.op == "write"],
        "read_link": [request for request in run.completed if request.op == "read"],
    }
    times = {}
    for link, requests in crossing.items():
        ps_per_byte = device[f"host_{link.partition('_')[0]}_ps_per_byte"]
        times[link] = sum(-(-request.size * ps_per_byte // 1000) for request in requests)
    units = sum(units_of(request, run.page_bytes) for request in run.requests if request.op in ("read", "write"))
    times["controller"] = len(run.requests) * device["command_ns"] + units * device["unit_ns"]
    # What GC moves takes the controller of a single SSD; what it moved last may still be to come.
    programs = run.result.get("flash_units", run.result["flash_ops"])["programs"]
    moved = 0 if run.array else (programs["gc"] + programs["wear"]) * device["unit_ns"]
    span = run.end - min((request.arrival for request in run.requests), default=run.begin)
    for part, busy in times.items():
        own = f"host_side/{part}"
        if run.has_warmup:  # what was under way then is in no log
            found[f"{own}/busy_ns"] = Between(0, run.end - run.begin)
            found[f"{own}/busy_fraction"] = Between(0, 1)
            continue
        found[f"{own}/busy_ns"] = Between(busy, busy + moved) if part == "controller" and moved else busy
        found[f"{own}/busy_fraction"] = ratio(run.result["host_side"][part]["busy_ns"], span)


def units_of(request: Request, unit_bytes: int) -> int:
    """Mapping units that a request touches."""
    return -(-(request.offset + request.size) // unit_bytes) - request.offset // unit_bytes
