"""Erases of blocks, and how long the device lasts."""

import itertools
from collections import defaultdict
from math import ceil, inf, sqrt
from typing import Any

from .figures import Between, ratio
from .logs import Run
from .members import preset
from .units import replaced, ssds_in_use


def of_wear(run: Run, found: dict[str, Any]) -> None:
    """Erases of the blocks in use, since the device was new: with a precondition or a warm-up, some are in no log."""
    device, dead = run.device, set(replaced(run))
    erases: dict[tuple[int, ...], int] = defaultdict(int)
    for done in run.collections:
        if done.action == "erase" and not done.failed and (done.channel, done.chip) not in dead:
            erases[done.channel, done.chip, done.die, done.plane, done.block] += 1
    blocks_of_chip = device["dies_per_chip"] * device["planes_per_die"] * device["blocks_per_plane"]
    channels = len(ssds_in_use(run)) * run.channels_each if run.array else run.channels_in_use
    blocks = channels * device["chips_per_channel"] * blocks_of_chip
    # All blocks of an SSD begin with the same count.
    for ssd in sorted(ssds_in_use(run)) if run.array else []:
        for channel in range(ssd * run.channels_each, (ssd + 1) * run.channels_each):
            places = itertools.product(
                range(device["chips_per_channel"]), range(device["dies_per_chip"]), range(device["planes_per_die"])
            )
            for place in itertools.product(places, range(device["blocks_per_plane"])):
                (chip, die, plane), block = place
                erases[channel, chip, die, plane, block] += preset(run, ssd)
    values = list(erases.values())
    mean = sum(values) / blocks
    spread = sum((value - mean) ** 2 for value in values) + (blocks - len(values)) * mean * mean
    deviation = sqrt(spread / blocks)
    is_all = not run.has_warmup and run.of_run["precondition"] == "none" and not run.of_run["drive"]
    found["wear/erase_mean"] = mean if is_all else Between(mean, inf)
    found["wear/erase_max"] = max(values, default=0) if is_all else Between(max(values, default=0), inf)
    found["wear/erase_stddev"] = deviation if is_all else Between(0, inf)
    of_erase_histogram(run, found, values + [0] * (blocks - len(values)) if is_all else None, blocks)


def of_erase_histogram(run: Run, found: dict[str, Any], values: list[int] | None, blocks: int) -> None:
    """Blocks by their erases. If not all are in the log, the ranges, and whether each block is in one."""
    told = run.result["wear"]["histogram"]
    least = min(values) if values is not None else told[0]["erases_from"]
    most = max(values) if values is not None else run.result["wear"]["erase_max"]
    width = ceil((most - least + 1) / 32)
    for index, start in enumerate(range(least, most + 1, width)):
        own = f"wear/histogram/{index}"
        found[f"{own}/erases_from"], found[f"{own}/erases_to"] = start, start + width - 1
        if values is not None:
            found[f"{own}/blocks"] = sum(start <= value < start + width for value in values)
        else:
            others = sum(part["blocks"] for number, part in enumerate(told) if number != index)
            found[f"{own}/blocks"] = blocks - others


def of_lifetime(run: Run, found: dict[str, Any]) -> None:
    """How long the device lasts, from write amplification and the rate of writes."""
    capacity, amplification = run.result["capacity"], run.result["write_amplification"]
    days = run.result["bandwidth"]["span_ns"] / 86400e9
    written = sum(request.size for request in run.completed if request.op == "write")
    per_day: Any = ratio((amplification or 0) * written / capacity["raw_bytes"], days)
    writes: Any = ratio(1000 * capacity["raw_bytes"] / capacity["user_bytes"], amplification or 0)
    years: Any = ratio(1000 / 365, per_day or 0)
    # Parities made in idle time, and GC, may program pages though nothing was written.
    is_known = (
        amplification is not None
        or per_day is None
        or not any(done.action in ("program", "copy_back") for done in run.operations)
    )
    found["lifetime/pe_cycles_per_day"] = per_day if is_known else Between(0, inf)
    found["lifetime/years_per_1000_cycles"] = years if is_known else run.result["lifetime"]["years_per_1000_cycles"]
    found["lifetime/full_drive_writes_per_1000_cycles"] = writes
    limits = limits_of_ssds(run)[: run.array["devices"]] if run.array else []
    cycles = min((limit for limit in limits if limit), default=None)
    found["lifetime/pe_cycles"] = cycles
    for key in ("years", "full_drive_writes"):
        per_1000 = run.result["lifetime"][f"{key}_per_1000_cycles"]
        found[f"lifetime/{key}"] = None if cycles is None or per_1000 is None else per_1000 * cycles / 1000


def limits_of_ssds(run: Run) -> list[int]:
    """P/E cycles that blocks endure, of each SSD of an array."""
    limits = [run.device["pe_limit"]] * (run.array["devices"] + run.array["spare_devices"])
    for model in run.array["models"]:
        number, _, settings = model.partition(":")
        for key, _, value in (setting.partition("=") for setting in settings.split()):
            if key == "pe_limit":
                limits[int(number)] = int(value)
    return limits
