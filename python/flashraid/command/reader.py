"""The report of the trace reader as text."""

from collections.abc import Iterator

from ..record import OpenRecord
from ..sizes import format_bytes
from .layout import say

DEVICES_NAMED = 8
FAULTS_SHOWN = 3


def rows(of: OpenRecord) -> Iterator[tuple[str, str]]:
    """Name and text of each fact about how a trace was read; facts that do not apply are left out."""
    yield "read as", f"{of.format}, times in {of.time_unit}"
    if of.spread_tick_ns:
        tick = f"ticks of {of.spread_tick_ns / 1e9:g} s; requests are spread evenly over each tick"
        yield "clock", f"{tick}, so shorter gaps and bursts are invented"
    yield from _devices(of)
    if of.filtered:
        yield "filtered out by device", f"{of.filtered:,} requests"
    if of.out_of_order:
        yield "out-of-order records", f"{of.out_of_order:,} requests, sorted by time"
    for what, count in of.ignored.to_dict().items():
        yield "ignored, not a request", f"{count:,} x {what}"
    for what, count in of.unsupported.to_dict().items():
        yield "not replayed", f"{count:,} x {what}"
    if of.lost_events:
        yield "lost by the recorder", counted(of.lost_events, "events")
    if of.reissued:
        yield "issued again", f"{counted(of.reissued, 'requests')} that the device gave back, each counted once"
    if of.truncated:
        yield "cut off", "the last line or record, left out"
    if of.skipped:
        yield "unreadable, skipped", f"{of.skipped:,} lines or records"
        yield from (("", fault) for fault in of.faults[:FAULTS_SHOWN])


def _devices(of: OpenRecord) -> Iterator[tuple[str, str]]:
    """The busiest devices by name, with the placement of each if there are several."""
    found = [OpenRecord(each) for each in of.to_dict()["device_list"]]
    if len(found) == 1:
        yield "devices", "1" if found[0].name == "0" else f"1, called {found[0].name}"
        return
    yield "devices", f"{len(found):,}" + (", the busiest of them" if len(found) > DEVICES_NAMED else "")
    for each in sorted(found, key=lambda each: -each.requests)[:DEVICES_NAMED]:
        text = f"{each.name}: {counted(each.requests, 'requests')} up to {format_bytes(each.end_bytes)}"
        text += f", placed at {format_bytes(each.base_bytes)}" if each.is_kept else ", left out"
        if "mean_bytes" in each and each.mean_bytes is not None:
            text += f", {each.write_share:.1%} writes, mean size {format_bytes(each.mean_bytes)}"
        yield "", text


def counted(count: int, what: str) -> str:
    """A count and the plural noun that it counts."""
    irregular = {"write zeroes": "write zeroes", "flushes": "flush"}
    return f"{count:,} {irregular.get(what, what.removesuffix('s')) if count == 1 else what}"


def warn(of: OpenRecord) -> None:
    """Says what of a recording is likely to mislead."""
    for text in of.warnings:
        say(f"warning: {text}")
