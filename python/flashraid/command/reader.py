"""What the reader of a trace has to report, in words."""

import sys
from collections.abc import Iterator

from ..record import OpenRecord
from ..sizes import format_bytes

DEVICES_NAMED = 8
FAULTS_SHOWN = 3


def rows(of: OpenRecord) -> Iterator[tuple[str, str]]:
    """Name and text of each thing to know of how a trace was read. What did not happen is left out."""
    yield "read as", f"{of.format}, times in {of.time_unit}"
    if of.spread_tick_ns:
        yield "clock", f"ticks of {of.spread_tick_ns / 1e9:g} s, requests spread evenly over each"
    yield from _devices(of)
    if of.filtered:
        yield "filtered out with their devices", f"{of.filtered:,} requests"
    if of.out_of_order:
        moved = f"; {of.displaced:,} of them too late, and given a later time" if of.displaced else ""
        yield "recorded out of order", f"{of.out_of_order:,} requests, put in order{moved}"
    for what, count in of.ignored.to_dict().items():
        yield "no request, ignored", f"{count:,} x {what}"
    if of.skipped:
        yield "unreadable, skipped", f"{of.skipped:,} lines or records"
        yield from (("", fault) for fault in of.faults[:FAULTS_SHOWN])


def _devices(of: OpenRecord) -> Iterator[tuple[str, str]]:
    """The busiest devices by name, with where each lies if there are several."""
    found = [OpenRecord(each) for each in of.to_dict()["device_list"]]
    if len(found) == 1:
        yield "devices", "1" if found[0].name == "0" else f"1, called {found[0].name}"
        return
    yield "devices", f"{len(found):,}" + (", the busiest of them" if len(found) > DEVICES_NAMED else "")
    for each in sorted(found, key=lambda each: -each.requests)[:DEVICES_NAMED]:
        text = f"{each.name}: {counted(each.requests, 'requests')} up to {format_bytes(each.end_bytes)}"
        text += f", laid at {format_bytes(each.base_bytes)}" if each.is_kept else ", left out"
        if "mean_bytes" in each and each.mean_bytes is not None:
            text += f", {each.write_share:.1%} writes, mean size {format_bytes(each.mean_bytes)}"
        yield "", text


def counted(count: int, what: str) -> str:
    """A count and what is counted, a word for several of it."""
    irregular = {"write zeroes": "write zeroes", "flushes": "flush"}
    return f"{count:,} {irregular.get(what, what.removesuffix('s')) if count == 1 else what}"


def warn_of_filter(of: OpenRecord) -> None:
    """Says on standard error which devices asked for were not in what was read."""
    if of.absent:
        print(f"warning: --device-filter: no requests of {', '.join(of.absent)} in what was read", file=sys.stderr)
