"""The worked example of docs/reading-a-result.md: figures of a run, and what each of them tells."""

import warnings
from pathlib import Path
from typing import Any

import flashraid as fr

ROOT = Path(__file__).parents[2]
START, END = "<!-- example: written by `make docs` -->", "<!-- end of example -->"


def milliseconds(ns: float) -> str:
    return f"{ns / 1e6:,.2f} ms"


def percent(share: float) -> str:
    return f"{share:.1%}"


def run(command: str) -> dict[str, Any]:
    """The result of the command of the page: `flashraid run TRACE --OPTION VALUE ...`."""
    trace, *options = command.split()[2:]
    given = dict(zip(options[::2], options[1::2], strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fill = float(given["--fill"])
        result = fr.run(ROOT / trace, device=given["--device"], scheme=given["--scheme"], fill=fill, engine=False)
    return result.to_dict()


def rows(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Key, value and reading."""
    latency, work, updates = result["latency_ns"], result["flash_ops"], result["parity_updates"]
    by, space = result["write_amplification_by"], result["capacity"]
    busy = [member["busy_fraction"] for member in result["members"]]
    written = sum(updates[method] for method in ("full_stripe", "rmw", "rcw"))
    return [
        (
            "workload.busiest_load",
            f"{result['workload']['busiest_load']:.2f}",
            "Work that the requests ask of the busiest resource, over its time. Below 1: the device keeps up on "
            "average.",
        ),
        (
            "latency_ns.read.p50",
            milliseconds(latency["read"]["p50"]),
            f"A read alone takes {milliseconds(latency['read']['min'])} (the minimum): half of the reads wait for "
            f"little.",
        ),
        (
            "latency_ns.read.p99_9",
            milliseconds(latency["read"]["p99_9"]),
            "One read in a thousand waits this long: behind programs on its die, and pre-reads.",
        ),
        (
            "latency_ns.write.mean",
            milliseconds(latency["write"]["mean"]),
            "Far above the time of one write, though the load is below 1: the file system writes back in bursts, and "
            "a burst "
            "queues. `trace info` shows the bursts.",
        ),
        (
            "flash_ops.reads.pre_read",
            f"{work['reads']['pre_read']:,}",
            f"Reads for parities, beside {work['reads']['host']:,} for the host: the price of small writes.",
        ),
        (
            "parity_updates",
            f"{updates['full_stripe']:,} full, {updates['rmw']:,} RMW, {updates['rcw']:,} RCW",
            f"{percent(updates['full_stripe'] / written)} of the updates were whole stripes, which need no pre-read.",
        ),
        (
            "write_amplification",
            f"{result['write_amplification']:.2f}",
            f"Bytes programmed for each byte that the host wrote: {by['host']:.2f} for the data, "
            f"{by['redundancy']:.2f} for "
            f"parities, {by['gc']:.2f} for GC.",
        ),
        (
            "collection.collections",
            f"{result['collection']['collections']:,}",
            "GC did not run: the device was more than half empty, and the recording is short. A device in daily use is "
            "different.",
        )
        if not result["collection"]["collections"]
        else ("collection.collections", f"{result['collection']['collections']:,}", "GC runs in the measured time."),
        (
            "members[].busy_fraction",
            f"{percent(min(busy))} to {percent(max(busy))}",
            "Share of the time for which the dies of a member were busy: the load is spread evenly.",
        ),
        (
            "capacity.redundancy_share",
            percent(space["redundancy_share"]),
            "Flash that parities take.",
        ),
        ("survives.text", result["survives"]["text"], "What may fail at any time without a loss."),
    ]


def page(text: str) -> str:
    """The text of the page with the figures of its command in their place."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    command = before[before.rindex("flashraid run ") :].split("\n")[0]
    lines = ["| key | value | what it tells |", "| --- | --- | --- |"]
    lines += [f"| `{key}` | {value} | {reading} |" for key, value, reading in rows(run(command))]
    return before + START + "\n\n" + "\n".join(lines) + "\n\n" + END + after
