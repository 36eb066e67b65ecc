"""Buses, dies and planes: how long operations take them, which SSD each belongs to, and the load that was offered."""

from collections import defaultdict
from collections.abc import Iterator
from math import floor, inf
from typing import Any

from .figures import Between, by_cause, moments
from .logs import Operation, Run

# Fewer requests can ask for more than a device serves in the time in which they come, and wait for nothing.
FEWEST_FOR_A_LOAD = 100


def of_offered_load(run: Run, found: dict[str, Any], buses: list[dict[str, int]]) -> None:
    """Bus time and array time over the time in which requests arrived, without what takes the time that they leave; and
    whether that, or the growth of the longest wait, is more than the device can serve.
    """
    idle_work = {"rebuild", "migration"} | ({"commit"} if run.result["scheme"] == "fra" else set())
    arrivals = [request.arrival for request in run.requests]
    span = max(arrivals, default=0) - min(arrivals, default=0)
    if not span:
        found["workload/offered_load"] = found["workload/busiest_load"] = None
        found["workload/overloaded"] = False
        return
    of_units = [0] * (run.units_per_channel * run.device["channels"])
    for first, ns in of_arrays(run):
        of_units[run.unit(first)] += ns if first.cause not in idle_work else 0
    loads = [sum(ns for cause, ns in bus.items() if cause not in idle_work) for bus in buses]
    # A chip that was replaced and the one in its place are one.
    in_use = sum(is_member_unit(run, unit) for unit in range(len(of_units)))
    if not run.array:
        in_use -= len(replaced(run)) * run.units_per_channel // run.chips
    # What GC moves takes the controller for a time that may end behind the run.
    host = [part["busy_ns"] for part in run.result.get("host_side", {}).values()]
    found["workload/offered_load"] = as_logged(run, max(moments(loads)[0], sum(of_units) / in_use, *host) / span)
    found["workload/busiest_load"] = busiest = as_logged(run, max(loads + of_units + host) / span)
    if isinstance(busiest, Between):
        busiest = run.result["workload"]["busiest_load"]
    is_behind = (found["workload/backlog_growth"] or 0) > 0
    is_open_loop = not run.result["config"]["run"]["queue_depth"]
    is_overload = busiest > 1 and len(run.requests) >= FEWEST_FOR_A_LOAD
    found["workload/overloaded"] = is_open_loop and (is_overload or is_behind)


def times_of(device: dict[str, Any], action: str) -> list[int]:
    """Array times of the types of pages, in their order."""
    upper = device[f"upper_{action}_ns"]
    types = 1 + max(len(device["upper_read_ns"]), len(device["upper_program_ns"]))
    return [device[f"{action}_ns"], *(upper or [device[f"{action}_ns"]] * (types - 1))]


def of_arrays(run: Run) -> Iterator[tuple[Operation, int]]:
    """What arrays did, and how long: of several pages at once, the longest time counts for the first."""
    at_once: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    for done in run.operations:
        at_once[run.unit(done), done.start].append(done)
    for works in at_once.values():
        yield works[0], max(array_ns(run, done) for done in works)


def array_ns(run: Run, done: Operation) -> int:
    """Array time of an operation; with LDPC, of the first attempt of a read."""
    if id(done) in run.in_slc_mode and done.action != "erase":
        return slc_ns(run.device, done.action)
    reads, programs = (times_of(run.device, action) for action in ("read", "program"))
    # Pages that are read together are of one type.
    read = reads[done.page // run.device["read_pages"] % len(reads)]
    program = programs[done.page % len(programs)]
    times = {"read": read, "program": program, "erase": run.device["erase_ns"], "copy_back": read + program}
    return int(times[done.action])


def slc_ns(device: dict[str, Any], action: str) -> int:
    """Array time of a read or program in SLC mode."""
    bits = device["program_pages"] // device["read_pages"]
    default = {"read": device["read_ns"], "program": -(-device["program_ns"] // bits**2)}
    return int(device[f"slc_{action}_ns"] or default[action])


def as_logged(run: Run, figure: float) -> Any:
    """A figure of array times. Of the attempts of each read the logs tell the first, and of what was programmed before
    them they do not tell whether it is in SLC mode.
    """
    if run.device["ldpc"] != "none":
        return Between(figure, inf)
    is_old = run.has_warmup or run.of_run["drive"]
    if is_old and "slc" in run.result and slc_ns(run.device, "read") < run.device["read_ns"]:
        return Between(0, figure)
    return figure


def mean_ns(device: dict[str, Any], action: str) -> int:
    """Mean array time of a read, with all attempts that new blocks need, or of a program."""
    times = times_of(device, action)
    if action == "read" and device["ldpc"] != "none":
        levels = range(device["ldpc_levels"] + 1)
        weights = {
            "uniform": [1.0 for _ in levels],
            "geometric": [0.5 ** (level + 1) for level in levels],
        }.get(device["ldpc"], [float(device["ldpc"] == f"fixed:{level}") for level in levels])
        step, decode = device["ldpc_step_ns"], device["ldpc_decode_ns"]
        of_level = [[sum(first + decode + step * i for i in range(level + 1)) for level in levels] for first in times]
        means = [sum(w * ns for w, ns in zip(weights, of, strict=True)) / sum(weights) for of in of_level]
        times = [floor(mean + 0.5) for mean in means]
    return int(sum(times)) // len(times)


def is_member_unit(run: Run, unit: int) -> bool:
    """Whether the LUN belongs to a member: those of spare chips do after they have replaced others."""
    channel, chip = unit // run.units_per_channel, unit % run.units_per_channel % run.chips
    if run.array:
        return chip < run.device["chips_per_channel"] and channel // run.channels_each in ssds_in_use(run)
    return chip < run.device["chips_per_channel"] or (channel, chip) in replaced(run).values()


def replaced(run: Run) -> dict[tuple[int, int], tuple[int, int]]:
    """Dead chips (channel, chip) and the spare chips in their places: in each channel the first that are free."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    if run.array:
        chips = [(channel, chip) for channel in range(run.channels_each) for chip in range(run.chips)]
        for ssd, spare in spare_ssds(run).items():
            for channel, chip in chips:
                found[ssd * run.channels_each + channel, chip] = (spare * run.channels_each + channel, chip)
        return found
    for fault in run.result["faults"]:
        what, _, where = fault["fault"].partition(":")
        if not fault["spare"] or what not in ("chip", "die", "member"):
            continue
        if what in ("chip", "die"):
            channel, chip = (int(number) for number in where.split(".")[:2])
        else:
            channel, chip = divmod(int(where), run.device["chips_per_channel"])
        taken = sum(dead[0] == channel for dead in found)
        found.setdefault((channel, chip), (channel, run.device["chips_per_channel"] + taken))
    return found


def spare_ssds(run: Run) -> dict[int, int]:
    """SSDs that failed, and those that are in their places: each the first that had no task yet."""
    failed = [
        (fault["at_ns"], int(fault["fault"].partition(":")[2]))
        for fault in run.result["faults"]
        if fault["spare"] and "/" not in fault["fault"]
    ]
    failed += [(worn["at_ns"], worn["device"]) for worn in run.wear_outs]
    tasks = [(at_ns, ssd, None) for at_ns, ssd in failed]
    tasks += [
        (each["started_ns"], each["old_device"], each["new_device"]) for each in run.result.get("replacements", [])
    ]
    spares = list(range(run.array["devices"], run.array["devices"] + run.array["spare_devices"]))
    found = {}
    for _, ssd, new in sorted(tasks, key=lambda task: task[0]):
        if new is not None:
            spares.remove(new)
        elif spares:
            found[ssd] = spares.pop(0)
    return found


def ssds_in_use(run: Run) -> set[int]:
    """The SSDs that hold what is stored, and those that a scheme has replaced and keeps for reads."""
    in_use = set(range(run.array["devices"]))
    in_use |= {each["new_device"] for each in run.result.get("replacements", [])} | set(spare_ssds(run).values())
    in_use -= set(spare_ssds(run))
    # What a scheme has replaced is taken out, at the end of the replacement or, as a shadow, later.
    in_use -= {
        each["old_device"]
        for each in run.result.get("replacements", [])
        if each["outcome"] == "replaced" and not each["is_shadow"]
    }
    return {ssd for ssd in in_use if run.result["devices"][ssd]["state"] != "disabled"}


def is_suspended(run: Run, done: Operation) -> bool:
    """Whether reads suspend such work."""
    return done.action in ("program", "erase") and run.device["suspend"] in ("both", done.action)


def groups(run: Run) -> dict[int, list[list[Operation]]]:
    """Page operations by LUN, those executed at once (multi-plane) together, in order."""
    together: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    for done in run.operations:
        together[run.unit(done), done.start].append(done)
    of_units: dict[int, list[list[Operation]]] = defaultdict(list)
    for unit, start in sorted(together):
        of_units[unit].append(together[unit, start])
    return of_units


def of_busy_times(
    run: Run, found: dict[str, Any], complaints: list[str]
) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Busy times of buses and LUNs by cause, from the operations, and from the slices of the timeline."""
    units: list[dict[str, int]] = [defaultdict(int) for _ in range(run.units_per_channel * run.device["channels"])]
    buses: list[dict[str, int]] = [defaultdict(int) for _ in range(run.device["channels"])]
    command = {name: run.device[f"{name}_command_ns"] for name in ("read", "program", "erase")}
    has_ldpc = run.device["ldpc"] != "none"
    # While the last attempt of a read is decoded, its LUN does something else.
    decoding = run.device["ldpc_decode_ns"] if has_ldpc else 0

    def transfer_ns(size: int) -> int:
        rounded_up: int = -(-size * run.device["bus_ps_per_byte"] // 1000)
        return rounded_up

    suspended: dict[str, list[int]] = {"program": [0, 0], "erase": [0, 0]}  # works, and reads that began meanwhile
    for unit, works in groups(run).items():
        reached = 0
        outer: list[Operation] = []  # what reads may have suspended, until when, and what it has been charged up to
        outer_end = inner_reached = 0
        for work in works:
            start, end = work[0].start, max(done.end for done in work) - (decoding if work[0].action == "read" else 0)
            # Time of several reads is that of the last to leave, and of several programs that of the first.
            first, is_read = work[0], work[0].action == "read"
            if outer and is_read and inner_reached <= start and end <= outer_end and is_suspended(run, outer[0]):
                units[unit][outer[0].cause] -= end - start
                suspended[outer[0].action][0] += inner_reached == outer[0].start
                suspended[outer[0].action][1] += 1
                inner_reached = end
            else:
                if start < reached:
                    complaints.append(
                        f"dies/{unit}: work that begins at {start} ns overlaps work that ends at {reached} ns"
                    )
                reached = outer_end = end
                outer, inner_reached = work, start
            units[unit][work[-1].cause if is_read else first.cause] += end - start
            bus = buses[unit // run.units_per_channel]
            commanded = set()
            for done in work:
                if done.action == "read":
                    if run.flash_page(done) not in commanded:
                        bus[first.cause] += command["read"]
                    commanded.add(run.flash_page(done))
                    bus[done.cause] += transfer_ns(done.bytes)
                elif done.action == "program":
                    bus[first.cause] += command["program"] + transfer_ns(done.bytes)
                elif done.action == "copy_back":
                    bus[first.cause] += command["read"] + command["program"]
                else:
                    bus[first.cause] += command["erase"]
    if "suspensions" in run.result:
        for action, (times, reads) in suspended.items():
            found[f"suspensions/{action}s"] = Between(0 if run.has_warmup else times, reads)
    if run.slices is not None:
        begin, end, per_channel = run.begin, run.end, 1 + run.units_per_channel
        of_slices = {"channels": [], "dies": []}  # type: dict[str, list[dict[str, int]]]
        for track in range(1, 1 + run.device["channels"] * per_channel):
            sums: dict[str, int] = defaultdict(int)
            reached = 0
            for slice_start, slice_end, cause in sorted(run.slices[track]):
                if slice_start < reached:
                    complaints.append(f"track {track}: slices overlap at {slice_start} ns")
                reached = slice_end
                sums[cause] += max(0, min(slice_end, end) - max(slice_start, begin))
            of_slices["channels" if (track - 1) % per_channel == 0 else "dies"].append(sums)
        if not run.has_warmup:
            # Of the attempts of each read the operations tell none.
            for kind, own in [("channels", of_slices["channels"] if has_ldpc else buses), ("dies", units)]:
                for index, (one, other) in enumerate(zip(own, of_slices[kind], strict=True)):
                    if by_cause(one) != by_cause(other):
                        complaints.append(
                            f"{kind}/{index}: operations have {by_cause(one)}, the timeline {by_cause(other)}"
                        )
        buses, units = of_slices["channels"], of_slices["dies"]
    for kind, busy in [("channels", buses), ("dies", units)]:
        # Of commands of attempts beyond the first only the timeline tells.
        is_known = kind == "dies" or not has_ldpc or run.slices is not None
        for index, sums in enumerate(busy):
            for cause, ns in by_cause(sums).items():
                found[f"{kind}/{index}/busy_ns/{cause}"] = ns if is_known else Between(ns, inf)
    programs: list[dict[str, int]] = [defaultdict(int) for _ in units]
    for done in run.operations:
        if done.action in ("program", "copy_back"):
            programs[run.unit(done)][done.cause] += run.pages(done)
    for index, sums in enumerate(programs):
        found.update({f"dies/{index}/programs/{cause}": count for cause, count in by_cause(sums).items()})
    return buses, units
