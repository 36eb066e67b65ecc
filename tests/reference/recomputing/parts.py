"""What follows from other figures of the result."""

from math import inf
from typing import Any

from .figures import Between, ratio
from .logs import Run
from .units import mean_ns
from .wear import of_lifetime


def of_parts(run: Run, found: dict[str, Any], done: dict[str, dict[str, int]]) -> None:
    """What follows from other figures of the result."""
    device, result = run.device, run.result
    capacity = result["capacity"]
    chips = run.channels_in_use * device["chips_per_channel"]
    raw = (
        chips
        * device["dies_per_chip"]
        * device["planes_per_die"]
        * device["blocks_per_plane"]
        * device["pages_per_block"]
        * run.device["page_bytes"]
    )
    found["capacity/raw_bytes"] = raw
    found["capacity/raw_per_user_byte"] = ratio(raw, capacity["user_bytes"])
    found["capacity/table_bytes"] = sum(capacity["tables"].values())
    of_lifetime(run, found)
    if (buffer := result.get("buffer")) is not None:
        for key in ("hits", "misses"):
            found[f"buffer/{key}"] = buffer[f"read_{key}"] + buffer[f"write_{key}"]
        found["buffer/hit_rate"] = ratio(buffer["hits"], buffer["hits"] + buffer["misses"])
        found["buffer/mean_victim_pages"] = ratio(buffer["pages_written_out"], buffer["evictions"])
    if (guard := result.get("guard")) is not None:
        causes = ["replacement", "gc", "rebuild", "idle"]
        commits, reads = ({cause: guard[f"{what}_{cause}"] for cause in causes} for what in ("commits", "commit_reads"))
        found["guard/hit_rate"] = ratio(guard["hits"], guard["hits"] + guard["misses"])
        found["guard/reads_per_commit"] = ratio(sum(reads.values()), sum(commits.values()))
        read_ns, program_ns = mean_ns(device, "read"), mean_ns(device, "program")
        cost = {cause: reads[cause] * read_ns + commits[cause] * program_ns for cause in causes}
        found["guard/gc_commit_share"] = ratio(cost["gc"], cost["gc"] + cost["replacement"])
    if (ldpc := result.get("ldpc")) is not None:
        by_level = ldpc["reads_by_level"]
        read = sum(done.action == "read" for done in run.operations)
        attempts = sum((min(level, len(by_level) - 2) + 1) * count for level, count in enumerate(by_level))
        for level in range(len(by_level)):
            found[f"ldpc/reads_by_level/{level}"] = Between(0, read - (sum(by_level) - by_level[level]))
        found["ldpc/mean_attempts"] = ratio(attempts, read)
        found["ldpc/retried_share"] = ratio(read - by_level[0], read)
        has_errors = any(device[key] for key in ("ldpc_erases", "ldpc_retention_ns", "ldpc_reads"))
        for key in ("pages_uncorrectable", "pages_repaired"):
            # What is found to be lost, and what is repaired beside a rebuild, is in no log.
            found[f"ldpc/{key}"] = Between(0, inf) if has_errors else 0
    if (drain := result.get("drain")) is not None:
        for action, counted in drain["flash_ops"].items():
            found[f"drain/flash_ops/{action}/total"] = sum(
                count for cause, count in counted.items() if cause != "total"
            )
