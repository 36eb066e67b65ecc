"""Members and SSDs: their load, queues and wear, and how evenly they share them."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from math import erfc, exp, floor, inf, lgamma, log, sqrt
from typing import Any

from .figures import QUANTILES, Between, by_cause, moments, quantile, ratio
from .logs import Run
from .operations import COUNTED_AS, flash_operations
from .units import ssds_in_use


def of_members(run: Run, found: dict[str, Any], units: list[dict[str, int]], done_end: int) -> None:
    device = run.device
    chips = device["chips_per_channel"]
    members = len(run.result["members"])
    # Spare SSDs are members of schemes that replace SSDs themselves.
    own = run.array["devices"] if run.array else device["channels"] * (chips if device["member"] == "chip" else 1)
    has_spares = bool(run.array) and members > own
    assert members == own + (run.array["spare_devices"] if has_spares else 0)
    of_spare: dict[tuple[int, int], int] = {}
    for done in run.operations:
        if (done.chip >= chips or done.channel >= run.channels_in_use) and done.member is not None:
            of_spare[done.channel, done.chip] = done.member
    members_of_spares = {channel // run.channels_each: member for (channel, _), member in of_spare.items()}

    def member_of(channel: int, chip: int) -> int | None:
        if run.array:
            ssd = channel // run.channels_each
            return ssd if channel < run.channels_in_use else members_of_spares.get(ssd, ssd if has_spares else None)
        if device["member"] == "channel":
            return channel
        return channel * chips + chip if chip < chips else of_spare.get((channel, chip))

    members_in_use = {member_of(ssd * run.channels_each, 0) for ssd in ssds_in_use(run)} if has_spares else set()
    started: list[dict[str, int]] = [defaultdict(int) for _ in range(members)]
    parity = [0] * members
    latency: list[list[int]] = [[] for _ in range(members)]
    for done in flash_operations(run):
        of = member_of(done.channel, done.chip)
        for action in COUNTED_AS[done.action]:
            if of is not None:
                started[of][action] += run.pages(done)
    for done in run.operations:
        if done.kind != "collection" and done.member is not None:
            if done.action == "program" and done.cause == "parity":
                parity[done.member] += run.pages(done)
            if not done.failed:
                latency[done.member].append(done.end - done.submitted)
    busy = [0] * members
    for unit, causes in enumerate(units):
        of = member_of(unit // run.units_per_channel, unit % run.units_per_channel % run.chips)
        if of is not None:
            busy[of] += sum(causes.values())
    dies = 1 if device["lun"] == "chip" else device["dies_per_chip"]
    units_of_member = dies * (1 if device["member"] == "chip" else chips)
    if run.array:
        units_of_member *= run.channels_each
    blocked = mean_blocked(run, members)
    averaged_from = min((request.arrival for request in run.requests), default=run.begin)
    for member in range(members):
        own = f"members/{member}"
        found.update({f"{own}/{action}": started[member][action] for action in ("reads", "programs", "erases")})
        # Averages begin with the first arrival; what is at work before that is in no average.
        averaged = ratio(busy[member], units_of_member * (done_end - averaged_from))
        if has_spares and member not in members_in_use:
            averaged = None
        is_whole = all(done.start >= averaged_from for done in run.operations) or run.has_warmup
        found[f"{own}/busy_fraction"] = averaged if is_whole or averaged is None else Between(0, averaged)
        found[f"{own}/mean_blocked"] = blocked[member]
        # Page operations that were queued or under way when a warm-up ended count, and are in no log. Mapping units
        # that share a flash page end when the memory takes them, which is in no log either.
        is_known = not run.has_warmup and not run.packs
        latencies = {
            name: quantile(sorted(latency[member]), QUANTILES[name])
            for name in ("p50", "p90", "p99", "p99_9", "p99_99")
        }
        for name, known in (latencies | {"max": max(latency[member], default=0)}).items():
            found[f"{own}/{name}_ns"] = known if is_known else Between(0, inf)
        found[f"{own}/parity_share"] = parity[member] / sum(parity) if sum(parity) else 0
    # Members that are spare SSDs, or were replaced by one, take part in no mean.
    programs = [started[member]["programs"] for member in range(members) if not has_spares or member in members_in_use]
    found["lifetime/programs_peak_to_mean"] = ratio(max(programs, default=0), moments(programs)[0])
    of_result = [member["mean_blocked"] for member in run.result["members"]]
    mean, deviation = moments(of_result)
    found["blocked_cv"] = ratio(deviation, mean)
    if not mean or members == 1:
        found["blocked_chi_square"] = None
        return
    requests = run.result["blocked_chi_square"]["requests"]
    found["blocked_chi_square/requests"] = Between(0, inf) if run.has_warmup else len(run.requests)
    sums = [blocked * requests for blocked in of_result]
    expected = moments(sums)[0]
    found["blocked_chi_square/statistic"] = sum((blocked - expected) ** 2 for blocked in sums) / expected
    found["blocked_chi_square/degrees_of_freedom"] = members - 1
    statistic = run.result["blocked_chi_square"]["statistic"]
    found["blocked_chi_square/p_value"] = upper_tail(statistic, members - 1)


def upper_tail(statistic: float, degrees: int) -> float:
    """Of the chi-square distribution: Q(a + 1, x) = Q(a, x) + x^a e^-x / Gamma(a + 1), up from Q(1/2) or Q(1)."""
    half = statistic / 2
    a, tail = (1.0, exp(-half)) if degrees % 2 == 0 else (0.5, erfc(sqrt(half)))
    while a < degrees / 2:
        tail += exp(a * log(half) - half - lgamma(a + 1)) if half else 0.0
        a += 1
    return tail


def mean_blocked(run: Run, members: int) -> list[Any]:
    """Page operations of a member that wait when a request completes, in the mean. What happens in one instant has an
    order that the logs do not tell, so what begins or ends to wait just then may count or not."""
    answers = sorted(request.end for request in run.requests)
    found: list[Any] = []
    for member in range(members):
        own = [done for done in run.planned if done.member == member]
        submitted = sorted(done.submitted for done in own)
        started = sorted(done.start for done in own)
        never_waited = sorted(done.start for done in own if done.start == done.submitted)
        least = most = 0
        for time in answers:
            at_once = bisect_right(never_waited, time) - bisect_left(never_waited, time)
            least += bisect_left(submitted, time) - (bisect_right(started, time) - at_once)
            most += bisect_right(submitted, time) - bisect_left(started, time)
        count = max(1, len(answers))
        # With a warm-up there are answers, and work, that are in no log. What dies waiting is in none either.
        found.append(
            Between(0, inf)
            if run.has_warmup or run.packs
            else Between(least / count, inf if run.has_losses else most / count)
        )
    return found


def preset(run: Run, ssd: int) -> int:
    """Erases of each block of an SSD of an array before time began."""
    ages = run.array["ages"]
    return floor(ages[ssd] * run.device["pe_limit"] + 0.5) if ssd < len(ages) else 0


def of_ssds(run: Run, found: dict[str, Any], units: list[dict[str, int]]) -> None:
    """Each SSD of an array, and those that were worn out."""
    if not run.array:
        return
    device, each = run.device, run.channels_each
    blocks = (
        each * device["chips_per_channel"] * device["dies_per_chip"] * device["planes_per_die"]
        * device["blocks_per_plane"]
    )  # fmt: skip
    dies = 1 if device["lun"] == "chip" else device["dies_per_chip"]
    averaged_from = min((request.arrival for request in run.requests), default=run.begin)
    is_whole = all(done.start >= averaged_from for done in run.operations) or run.has_warmup
    is_all = not run.has_warmup and run.of_run["precondition"] == "none" and not run.of_run["drive"]
    has_spare_chips = any("/" in fault["fault"] and fault["spare"] for fault in run.result["faults"])
    for ssd in range(run.array["devices"] + run.array["spare_devices"]):
        own = f"devices/{ssd}"
        done_here = [done for done in flash_operations(run) if done.channel // each == ssd]
        started: dict[str, dict[str, int]] = {action: defaultdict(int) for action in ("reads", "programs", "erases")}
        for done in done_here:
            for action in COUNTED_AS[done.action]:
                started[action][done.cause] += run.pages(done)
        for action, counted in started.items():
            found.update({f"{own}/flash_ops/{action}/{cause}": n for cause, n in by_cause(counted).items()})
        erased = sum(done.action == "erase" and not done.failed for done in done_here)
        at_first = blocks * preset(run, ssd)
        total = at_first + erased
        limit = blocks * device["pe_limit"]
        exact = is_all and not has_spare_chips
        found[f"{own}/number"] = ssd
        found[f"{own}/preset_erases"] = at_first
        found[f"{own}/total_erases"] = total if exact else Between(0 if has_spare_chips else total, inf)
        total = run.result["devices"][ssd]["total_erases"]
        found[f"{own}/erase_mean"] = total / blocks
        found[f"{own}/age"] = ratio(total, limit)
        first, end = ((ssd + number) * each * run.units_per_channel for number in (0, 1))
        busy = sum(sum(causes.values()) for causes in units[first:end])
        luns = each * device["chips_per_channel"] * dies
        averaged = ratio(busy, luns * (run.end - averaged_from))
        found[f"{own}/busy_fraction"] = averaged if is_whole or averaged is None else Between(0, averaged)
    # An SSD fails with the end of an erase of its own, which is its last one.
    former = None
    for index, worn in enumerate(run.wear_outs):
        own = f"wear_outs/{index}"
        erases = [
            done.end for done in run.collections if done.action == "erase" and done.channel // each == worn["device"]
        ]
        ended = [end for end in sorted(erases) if end <= worn["at_ns"]]
        found[f"{own}/at_ns"] = ended[-1] if ended else None
        found[f"{own}/device"] = worn["device"]
        found[f"{own}/since_previous_ns"] = None if former is None else worn["at_ns"] - former
        former = worn["at_ns"]
        spent = blocks * preset(run, worn["device"]) + len(ended)
        if is_all and not has_spare_chips:
            found[f"{own}/device"] = worn["device"] if spent == blocks * device["pe_limit"] else None
