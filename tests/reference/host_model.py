"""The host side of a drive (docs/spec/modern.md, 8.8) around a flash that is given: link, controller and latencies.

A write crosses the link, takes its turn at the controller and is put off; a read takes its turn at the controller and,
when flash is done with it, is put off and crosses the link back. As nothing that flash does delays what comes to it,
the way there, flash, and the way back follow one after the other. No collection, and no bound of what the drive takes.

It shares nothing with the engine: each stage is a pass over all requests, in the order in which they come to it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reference.nand_model import Request

# When flash is done with each request, of requests in the order of arrival, and what orders those of one instant.
Flash = Callable[[list[Request]], list[tuple[int, int]]]


@dataclass(frozen=True)
class HostSide:
    """Times of the stages; of the links for each byte, in picoseconds."""

    write_ps_per_byte: int = 0
    read_ps_per_byte: int = 0
    command_ns: int = 0
    unit_ns: int = 0
    read_latency_ns: int = 0
    write_latency_ns: int = 0


def one_by_one(arrivals: Iterable[tuple[int, int]]) -> list[int]:
    """When each leaves a stage that serves one after the other, of arrivals in order, with how long each takes."""
    free, left = 0, []
    for arrival, duration in arrivals:
        free = max(free, arrival) + duration
        left.append(free)
    return left


def transfer_ns(request: Request, ps_per_byte: int, unit_bytes: int) -> int:
    return -(-request.pages * unit_bytes * ps_per_byte // 1000)


def at_flash(requests: list[Request], side: HostSide, unit_bytes: int) -> list[int]:
    """When flash has each request."""
    writes = [number for number, request in enumerate(requests) if not request.is_read]
    crossed = [request.arrival_ns for request in requests]
    of_link = [(crossed[w], transfer_ns(requests[w], side.write_ps_per_byte, unit_bytes)) for w in writes]
    for number, time in zip(writes, one_by_one(of_link), strict=True):
        crossed[number] = time
    # What has crossed the link comes before what arrives in the same instant.
    order = sorted(range(len(requests)), key=lambda number: (crossed[number], requests[number].is_read, number))
    durations = [side.command_ns + requests[number].pages * side.unit_ns for number in order]
    controlled = one_by_one([(crossed[n], duration) for n, duration in zip(order, durations, strict=True)])
    times = [0] * len(requests)
    for number, time in zip(order, controlled, strict=True):
        times[number] = time + (0 if requests[number].is_read else side.write_latency_ns)
    return times


def responses_ns(
    requests: Iterable[Request], side: HostSide, flash: Flash, unit_bytes: int = 4096
) -> tuple[list[int], list[int]]:
    """Response times of the reads and of the writes, in the order of arrival; `requests` come in this order."""
    wanted = list(requests)
    times = at_flash(wanted, side, unit_bytes)
    order = sorted(range(len(wanted)), key=lambda number: (times[number], wanted[number].is_read, number))
    of_flash = flash([wanted[number]._replace(arrival_ns=times[number]) for number in order])
    answered = sorted((done, number) for done, number in zip(of_flash, order, strict=True))
    ends = {number: time for (time, _), number in answered}
    reads = [number for _, number in answered if wanted[number].is_read]
    back = [
        (ends[read] + side.read_latency_ns, transfer_ns(wanted[read], side.read_ps_per_byte, unit_bytes))
        for read in reads
    ]
    ends |= dict(zip(reads, one_by_one(back), strict=True))
    latencies = [(request.is_read, ends[number] - request.arrival_ns) for number, request in enumerate(wanted)]
    return [ns for is_read, ns in latencies if is_read], [ns for is_read, ns in latencies if not is_read]
