"""Operations by what caused them: counts, write amplification, GC runs."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any

from .figures import Between, between, by_cause, ratio
from .logs import Operation, Run
from .units import as_logged, mean_ns, of_arrays

AMPLIFICATION = {
    "host": ["host", "update_read", "pre_read"],
    "redundancy": ["parity", "mirror", "commit"],
    "gc": ["gc", "wear"],
    "metadata": ["metadata"],
}
APART = {"rebuild": ["rebuild", "reconstruct"], "retry": ["retry"], "migration": ["migration"]}
# What an operation of the log counts as.
COUNTED_AS = {
    "read": ["reads"],
    "program": ["programs"],
    "copy_back": ["reads", "programs"],
    "erase": ["erases"],
}
# Parts that execute nothing any more when they have failed.
DYING_PARTS = ["device", "member", "channel", "chip", "die", "plane"]


def counts(run: Run) -> dict[str, dict[str, int]]:
    """What was started, by action and cause; a copy inside a plane reads and programs. A program may be of several."""
    found: dict[str, dict[str, int]] = {
        "reads": defaultdict(int),
        "programs": defaultdict(int),
        "erases": defaultdict(int),
    }
    for done in flash_operations(run):
        for action in COUNTED_AS[done.action]:
            found[action][done.cause] += run.pages(done)
    return found


def flash_operations(run: Run) -> Iterator[Operation]:
    """Operations on flash pages: mapping units that are read together in one of them are one read, the first."""
    joined = set()
    for done in run.operations:
        at_once = run.flash_page(done), done.start
        if done.action != "read" or at_once not in joined:
            yield done
        joined.add(at_once)


def of_units(run: Run, done: dict[str, dict[str, int]], found: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The same in mapping units, of which a flash page may have several.

    The log shows which are read from flash, and how many are programmed in all. Which of these are whose, and which are
    read in memory, is taken from the result.
    """
    if not run.packs:
        return done
    told = run.result["flash_units"]
    reads: dict[str, int] = defaultdict(int)
    for operation in run.operations:
        if operation.action == "read":
            is_moved = operation.kind == "collection"
            reads[operation.cause] += operation.bytes // run.page_bytes if is_moved else 1
    for cause, count in by_cause(reads).items():
        is_known = run.device["transfer"] == "touched" or cause not in ("gc", "wear", "total")
        found[f"flash_units/reads/{cause}"] = Between(count if is_known else 0, inf)
    for cause, count in by_cause(done["erases"]).items():
        found[f"flash_units/erases/{cause}"] = count
    programmed = run.units_per_page * sum(done["programs"].values()) - run.result["padded_units"]
    # What waits for its flash page when the run begins, as after a fill, and when it ends.
    found["flash_units/programs/total"] = Between(programmed - run.staging_units, programmed + run.staging_units)
    reads, programs = (
        defaultdict(int, {cause: count for cause, count in told[action].items() if cause != "total"})
        for action in ("reads", "programs")
    )
    return {"reads": reads, "programs": programs, "erases": done["erases"]}


def of_slc_cache(run: Run, found: dict[str, Any]) -> None:
    if "slc" not in run.result:
        return
    in_slc = [done for done in run.operations if id(done) in run.in_slc_mode]
    written = sum(done.bytes for done in in_slc if done.action == "program") // run.page_bytes
    moved = [done for done in in_slc if done.action == "read" and done.kind == "collection"]
    read = sum(done.bytes for done in moved) // run.page_bytes
    erases = sum(done.action == "erase" and not done.failed for done in in_slc)
    # What has its place and is not programmed yet counts; what was overwritten between read and program is not moved.
    found["slc/units_written"] = Between(written, inf if run.has_warmup else written + run.staging_units)
    found["slc/units_folded"] = Between(0, inf if run.has_warmup else read)
    found["slc/erases"] = Between(erases, inf) if run.has_warmup else erases


# How many programs of these causes there are, at least and at most, without those that stand apart.
Own = Callable[[list[str]], tuple[int, int]]


def of_logged_apart(run: Run, found: dict[str, Any], programs: dict[str, int], pages_written: float) -> Own:
    """Programs for the warm-up and for writes that failed, where the log has the request of each."""
    # Programs of the warm-up: those of its requests, and those that waited when measuring began. The logs cannot tell
    # in which order things happened in that very instant.
    first = min(run.requests).number if run.requests else inf
    # What was programmed for writes that failed stands apart, but for repetitions.
    failed_writes = {request.number for request in run.requests if request.op == "write" and request.failure}
    failed: dict[str, int] = defaultdict(int)
    sure: dict[str, int] = defaultdict(int)
    at_most: dict[str, int] = defaultdict(int)
    for operation in run.planned:
        if operation.action != "program":
            continue
        failed[operation.cause] += operation.cause != "retry" and operation.request in failed_writes
        if run.has_warmup:
            # A repetition stands apart as such, whoever's program failed.
            is_of_warmup = operation.request is not None and operation.request < first and operation.cause != "retry"
            sure[operation.cause] += is_of_warmup or operation.submitted < run.begin
            at_most[operation.cause] += is_of_warmup or operation.submitted <= run.begin
    found["write_amplification_by/failed"] = ratio(sum(failed.values()), pages_written)
    least_warm, most_warm = sum(sure.values()), sum(at_most.values())
    found["write_amplification_by/warmup"] = between(ratio(least_warm, pages_written), ratio(most_warm, pages_written))

    def own(causes: list[str]) -> tuple[int, int]:
        least, most = (
            sum(programs[cause] - failed[cause] - warm[cause] for cause in causes) for warm in (at_most, sure)
        )
        return least, most

    return own


def of_told_apart(run: Run, found: dict[str, Any], programs: dict[str, int], pages_written: float) -> Own:
    """The same where mapping units are programmed together. A program in the log is of several requests, and names
    none: how many units stand apart is taken from the result, and what that leaves for each cause is recomputed.
    """
    could_be = {
        "failed": any(request.op == "write" and request.failure for request in run.requests),
        "warmup": run.has_warmup,
    }
    # GC is of no request. Commits, rebuilds and repetitions are not either, but may have waited when a warm-up ended.
    of_none = {"gc", "wear"} | (set() if run.has_warmup else {"commit", "rebuild", "retry"})
    of_requests = sum(count for cause, count in programs.items() if cause not in of_none)
    apart = 0
    for key, is_possible in could_be.items():
        told = run.result["write_amplification_by"][key] or 0.0
        count = min(round(told * pages_written), of_requests - apart) if is_possible else 0
        found[f"write_amplification_by/{key}"] = ratio(count, pages_written)
        apart += count

    def own(causes: list[str]) -> tuple[int, int]:
        here = sum(programs[cause] for cause in causes if cause not in of_none)
        most_apart, least_apart = min(apart, here), max(0, apart - (of_requests - here))
        count = sum(programs[cause] for cause in causes)
        return count - most_apart, count - least_apart

    return own


def of_amplification(run: Run, found: dict[str, Any], done: dict[str, dict[str, int]]) -> None:
    programs = done["programs"]
    pages_written = sum(request.size for request in run.completed if request.op == "write") / run.page_bytes
    if run.packs:
        own = of_told_apart(run, found, programs, pages_written)
    else:
        own = of_logged_apart(run, found, programs, pages_written)
    for parts in (AMPLIFICATION, APART):
        for part, causes in parts.items():
            least, most = own(causes)
            found[f"write_amplification_by/{part}"] = between(ratio(least, pages_written), ratio(most, pages_written))
    padded = run.result.get("padded_units", 0)
    if run.packs:
        found["write_amplification_by/padding"] = ratio(padded, pages_written)
    least, most = (padded + count for count in own([cause for causes in AMPLIFICATION.values() for cause in causes]))
    data = own(["host"])
    found["write_amplification"] = between(ratio(least, pages_written), ratio(most, pages_written))
    found["pages_per_host_page"] = between(ratio(least, data[1]), ratio(most, data[0]))
    for key, action, cause in [
        ("pre_reads", "reads", "pre_read"),
        ("commit_reads", "reads", "commit"),
        ("parity_programs", "programs", "parity"),
        ("commit_programs", "programs", "commit"),
    ]:
        found[f"per_data_page/{key}"] = ratio(done[action][cause], done["programs"]["host"])
    if (drain := run.result.get("drain")) is not None:
        drained = sum(count for cause, count in drain["flash_ops"]["programs"].items() if cause != "total")
        found["write_amplification_by/drain"] = ratio(drained, pages_written)


def check_programs(run: Run, complaints: list[str]) -> None:
    """Pages of a block are programmed in order, but for data blocks of hybrid mapping: no NAND can do anything else."""
    if run.device["mapping"] in ("bast", "fast"):
        return
    last: dict[tuple[int, ...], int] = {}
    for done in sorted(run.operations, key=lambda done: done.start):
        block = done.channel, done.chip, done.die, done.plane, done.block
        if done.action == "erase" and not done.failed:
            last.pop(block, None)
        elif done.action == "program":
            if done.page <= last.get(block, -1):
                complaints.append(f"{done} starts after a later page of its block")
            last[block] = done.page


def superblocks_erased(run: Run) -> int:
    """Superblocks that were erased: blocks of a number in all lanes of a domain, all of them queued at once."""
    instances, members = run.result["placement"]["instances"], len(run.result["members"])
    lanes: dict[tuple[int, int, int], list[Operation]] = defaultdict(list)
    for erase in run.collections:
        if erase.action == "erase":
            ssd = erase.channel // run.channels_each
            domain = ssd if run.array else (erase.member or 0) * instances // members
            lanes[domain, erase.block, erase.submitted].append(erase)
    return sum(not is_retired(run, erases) for erases in lanes.values())


def is_retired(run: Run, erases: list[Operation]) -> bool:
    """Whether a superblock is out of use at the end of its erases: one has failed, a block was lost meanwhile, or
    all lanes have died. If only some have died, they are passed over, although their erases failed.
    """
    last = max(erases, key=lambda erase: erase.end)
    has_failed = any(erase.failed and died_ns(run, erase) > erase.end for erase in erases)
    is_block_lost = any(erase.submitted <= died_ns(run, erase, ["block"]) < last.end for erase in erases)
    is_dead = last.failed and all(died_ns(run, erase) <= last.end for erase in erases)
    return has_failed or is_block_lost or is_dead


def died_ns(run: Run, done: Operation, parts: Sequence[str] = DYING_PARTS) -> float:
    """When the first of these parts failed in which the operation is; infinite if none did."""
    ssd, channel = divmod(done.channel, run.channels_each)
    place = channel, done.chip, done.die, done.plane, done.block
    found = inf
    for fault in run.result["faults"]:
        device, _, part = fault["fault"].rpartition("/")
        what, _, where = part.partition(":")
        if what not in parts or device not in ("", f"device:{ssd}"):
            continue
        numbers = tuple(int(number) for number in where.split("."))
        own = {"device": (ssd,), "member": (done.member,)}.get(what, place[: len(numbers)])
        if numbers == own:
            found = min(found, fault["at_ns"])
    return found


def of_collections(run: Run, found: dict[str, Any], done: dict[str, dict[str, int]]) -> None:
    copies, erases = done["programs"]["gc"], done["erases"]["gc"]
    found["collection/copies"], found["collection/erases"] = copies, erases
    if run.packs:
        found["collection/cost_ns"] = as_logged(run, sum(ns for done, ns in of_arrays(run) if done.cause == "gc"))
    else:
        cost = copies * (mean_ns(run.device, "read") + mean_ns(run.device, "program"))
        found["collection/cost_ns"] = cost + erases * run.device["erase_ns"]
    ended = [erase for erase in run.collections if erase.action == "erase" and not erase.failed]
    if run.device["mapping"] in ("bast", "fast"):
        # A merge erases several blocks or none.
        found["collection/collections"] = Between(0, len(ended))
        found["collection/time_ns"] = Between(0, inf)
        return
    extra = len(ended) if run.has_warmup else 0
    if run.device["superblock"]:
        erased = superblocks_erased(run)
        found["collection/collections"] = Between(erased, erased + extra)
        found["collection/time_ns"] = Between(0, inf)
        return
    found["collection/collections"] = Between(len(ended), len(ended) + extra)
    # A collection begins when its first work is submitted, unless it waits before that: for reads of its victim, or for
    # commits. It cannot begin before the former collection of its plane has ended.
    least, most = 0.0, 0.0
    of_planes: dict[tuple[int, ...], list[Operation]] = defaultdict(list)
    for work in run.collections:
        of_planes[work.channel, work.chip, work.die, work.plane].append(work)
    read_ends: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for read in run.planned:
        if read.action == "read":
            read_ends[read.channel, read.chip, read.die, read.plane, read.block].add(read.end)
    # A collection that a failure in its plane cut short left its victim; of the later one that collected it nothing but
    # the erase is sure.
    failures: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for operation in run.operations:
        if operation.failed:
            failures[operation.channel, operation.chip, operation.die, operation.plane].append(operation.end)
    # One that keeps pace with the host may rest before its first work, too.
    rests = run.device["gc_pace"] == "debt"
    commits = run.result["scheme"] in ("ppc", "ca-ppc")
    for plane, works in of_planes.items():
        # Work on a block that is retired in the end is of no collection that ends. (A copy does not say from where.)
        first: dict[int, int] = {}
        former = run.begin
        for work in works:
            victim = work.block if work.action in ("read", "erase") else -1
            first.setdefault(victim, work.submitted)
            if work.action != "erase":
                continue
            began = min(first.pop(victim), first.pop(-1, inf) if run.device["copyback"] else inf)
            is_cut = any(began <= end <= work.submitted for end in failures[plane])
            waited = commits or rests or (began == work.submitted and began in read_ends[*plane, work.block])
            if not work.failed:
                least += work.end - (work.submitted if is_cut else began)
                most += work.end - (former if waited else began)
            first.clear()
            former = work.end
    is_simple = not run.has_warmup and not run.has_losses and run.device["mapping"] != "dftl"
    found["collection/time_ns"] = (
        between(least, most) if is_simple else Between(least if not run.has_losses else 0, inf)
    )
