"""Converts the event text of the kernel's block tracepoints to CSV: one row per request, in order of issue.

    comm-pid [cpu] flags seconds: block_rq_issue: major,minor RWBS bytes (cmd) sector + sectors priority [comm]
    comm-pid [cpu] flags seconds: block_rq_complete: major,minor RWBS (cmd) sector + sectors priority [error]

(include/trace/events/block.h.) An issue and the next completion of the same operation, sector and length are one
request; that gives its latency. A process name may hold blanks and brackets, but with 15 characters at most it cannot
hold the name of an event, so lines are read from there on.
"""

import heapq
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

HEADER = "ts_us,op,offset,size,flags,latency_us\n"
SECTOR_BYTES = 512

# Requests under way at a time, at most: beyond that the oldest is written as it is, so that one whose completion was
# never seen holds nothing up.
WINDOW = 1 << 16

ISSUE = re.compile(r"(\d+)\.(\d{6}): block_rq_issue: \d+,\d+ (\S+) \d+ \(.*?\) (\d+) \+ (\d+) ")
COMPLETE = re.compile(r"(\d+)\.(\d{6}): block_rq_complete: \d+,\d+ (\S+) \(.*?\) (\d+) \+ (\d+) .*\[(-?\d+)\]")
LOST = re.compile(r"CPU:\d+ \[LOST (\d+) EVENTS\]")

# blk_fill_rwbs in kernel/trace/blktrace.c: F preflush; the operation; F forced unit access, A read-ahead,
# S synchronous, M metadata, U atomic write. Letters of zone commands begin with Z and do not match.
RWBS = re.compile(r"(F?)(R|W|DE?|F|N)(F?)(A?)(S?)(M?)U?")
OPERATIONS = {"R": "R", "W": "W", "D": "D", "DE": "D", "F": "F", "N": "Z"}


@dataclass
class Counts:
    """Counts of what an event text contains."""

    requests: Counter[str] = field(default_factory=Counter)  # by the letter of `op`
    span_us: int = 0  # from the first issue to the last
    skipped: int = 0  # events that are no read, write, flush, discard or write zeroes: zone commands, pass-through
    other_lines: int = 0  # lines that are no event of these two kinds
    without_completion: int = 0
    without_issue: int = 0
    failed: int = 0  # completed with an error
    lost_events: int = 0  # as the kernel's own lines say


@dataclass
class _Request:
    op: str
    offset: int
    size: int
    flags: str
    latency_us: int | None = None


def convert(text: Iterable[str], output: TextIO) -> Counts:
    """Reads event lines and writes the CSV; holds only the outstanding requests in memory."""
    counts = Counts()
    output.write(HEADER)
    first_us = None
    for time_us, request in _paired(text, counts):
        first_us = time_us if first_us is None else first_us
        counts.requests[request.op] += 1
        counts.span_us = time_us - first_us
        latency: int | str = request.latency_us if request.latency_us is not None else ""
        counts.without_completion += latency == ""
        fields = (counts.span_us, request.op, request.offset, request.size, request.flags, latency)
        output.write(",".join(map(str, fields)) + "\n")
    return counts


def _paired(text: Iterable[str], counts: Counts) -> Iterator[tuple[int, _Request]]:
    """Requests with their latency, by time of issue (lines of different CPUs may be slightly out of order)."""
    under_way: list[tuple[int, int, _Request]] = []  # a heap by time of issue, then by place in the text
    waiting: defaultdict[tuple[str, int, int], deque[tuple[int, _Request]]] = defaultdict(deque)
    for number, line in enumerate(text):
        if found := ISSUE.search(line):
            time_us = int(found[1] + found[2])
            request = _request(found[3], int(found[4]), int(found[5]))
            if request is None:
                counts.skipped += 1
                continue
            heapq.heappush(under_way, (time_us, number, request))
            waiting[request.op, request.offset, request.size].append((time_us, request))
        elif found := COMPLETE.search(line):
            completed = _request(found[3], int(found[4]), int(found[5]))
            if completed is None:
                continue
            queue = waiting.get((completed.op, completed.offset, completed.size))
            if queue is None:
                counts.without_issue += 1
                continue
            issue_us, request = queue.popleft()
            request.latency_us = int(found[1] + found[2]) - issue_us
            counts.failed += found[6] != "0"
            if not queue:
                del waiting[request.op, request.offset, request.size]
        elif found := LOST.match(line):
            counts.lost_events += int(found[1])
        elif not line.startswith("#") and not line.isspace():
            counts.other_lines += 1
        while under_way and (under_way[0][2].latency_us is not None or len(under_way) > WINDOW):
            time_us, _, request = heapq.heappop(under_way)
            yield time_us, request
    while under_way:
        time_us, _, request = heapq.heappop(under_way)
        yield time_us, request


def _request(rwbs: str, sector: int, sectors: int) -> _Request | None:
    """The request of an event, or None if a flash drive has nothing to do for it."""
    found = RWBS.fullmatch(rwbs)
    if found is None:
        return None
    preflush, letter, forced, *others = found.groups()
    op = OPERATIONS[letter]
    flags = ("U" if forced else "") + "".join(others)
    if op == "F":  # a flush is of the whole device; `FF` is its usual form
        return _Request(op, 0, 0, flags)
    if sectors == 0:
        return None
    return _Request(op, sector * SECTOR_BYTES, sectors * SECTOR_BYTES, ("P" if preflush else "") + flags)
