"""A result and the logs of its run, as they were written."""

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple


class Operation(NamedTuple):
    """A row of the log of operations."""

    action: str
    cause: str
    kind: str
    request: int | None
    member: int | None
    channel: int
    chip: int
    die: int
    plane: int
    block: int
    page: int
    bytes: int
    submitted: int
    start: int
    end: int
    failed: bool


class Request(NamedTuple):
    """A row of the log of requests."""

    number: int
    op: str
    offset: int
    size: int
    arrival: int
    end: int
    failure: str


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a table, numbers as text."""
    if path.suffix == ".parquet":
        import polars

        return [
            {key: "" if value is None else str(value).lower() for key, value in row.items()}
            for row in polars.read_parquet(path, glob=False).iter_rows(named=True)
        ]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def optional(text: str) -> int | None:
    return int(text) if text else None


class Run:
    """A result and the logs of its run."""

    def __init__(self, result: Path, requests: Path, operations: Path, timeline: Path | None) -> None:
        self.result = json.loads(result.read_text(encoding="utf-8"))
        self.requests = [
            Request(
                int(row["request"]), row["op"], int(row["offset_bytes"]), int(row["size_bytes"]),
                int(row["arrival_ns"]), int(row["end_ns"]), row["failure"],
            )
            for row in rows(requests)
        ]  # fmt: skip
        each = self.result["config"]["device"]["channels"]
        self.operations = [
            Operation(
                row["action"], row["cause"], row["kind"], optional(row["request"]), optional(row["member"]),
                int(row["device"]) * each + int(row["channel"]),
                int(row["chip"]), int(row["die"]), int(row["plane"]), int(row["block"]),
                int(row["block_page"]), int(row["bytes"]), int(row["submitted_ns"]), int(row["start_ns"]),
                int(row["end_ns"]), row["failed"] == "true",
            )
            for row in rows(operations)
        ]  # fmt: skip
        # Slices by track: (start, end, cause), in nanoseconds.
        self.slices: dict[int, list[tuple[int, int, str]]] | None = None
        if timeline is not None:
            self.slices = defaultdict(list)
            document = json.loads(
                timeline.read_text(encoding="utf-8"), parse_float=lambda text: int(text.replace(".", ""))
            )
            if document["otherData"]["truncated_ns"] is not None:
                raise SystemExit(f"{timeline} is truncated: a timeline of the whole run is needed")
            for event in document["traceEvents"]:
                if event.get("cat") in ("bus", "die"):
                    self.slices[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
        # The SSDs of an array count as one with all their channels, spare SSDs last.
        self.array = self.result["config"].get("array")
        self.channels_each = each
        devices = self.array["devices"] + self.array["spare_devices"] if self.array else 1
        self.device = {**self.result["config"]["device"], "channels": self.channels_each * devices}
        self.channels_in_use = self.channels_each * (self.array["devices"] if self.array else 1)
        self.of_run = self.result["config"]["run"]
        # A page of the map: a mapping unit, of which a flash page has so many.
        self.page_bytes = self.device["mapping_unit_bytes"] or self.device["page_bytes"]
        self.units_per_page = self.device["page_bytes"] // self.page_bytes
        # Several are programmed together: those of a page, and of so many pages.
        self.pages_together = self.device["program_pages"]
        self.packs = self.units_per_page * self.pages_together > 1
        # The memory in which they wait for that: by default two program units for each plane, and two for each die.
        dies = self.device["channels"] * (self.device["chips_per_channel"] + self.device["spare_chips"])
        dies *= self.device["dies_per_chip"]
        least = 2 * dies * (self.device["planes_per_die"] + 1) * self.pages_together * self.device["page_bytes"]
        self.staging_units = max(least, self.device["staging_bytes"]) // self.page_bytes
        self.chips = self.device["chips_per_channel"] + self.device["spare_chips"]
        self.units_per_channel = self.chips * (1 if self.device["lun"] == "chip" else self.device["dies_per_chip"])
        self.has_warmup = self.of_run["warmup"] not in ("0", "0s")
        if self.has_warmup and self.slices is None:
            raise SystemExit(f"{result}: with a warm-up, the timeline is needed for what was under way when it ended")
        self.begin = min(self.requests).arrival if self.has_warmup and self.requests else 0
        self.completed = [request for request in self.requests if not request.failure]
        self.collections = [done for done in self.operations if done.kind == "collection"]
        self.planned = [done for done in self.operations if done.kind != "collection"]
        self.in_slc_mode = self.found_in_slc_mode() if "slc" in self.result else set()
        self.wear_outs = self.result.get("wear_outs", [])
        self.has_losses = bool(self.wear_outs) or any(
            not fault["fault"].startswith(("program", "erase")) for fault in self.result["faults"]
        )

    def flash_page(self, done: Operation) -> tuple[int, ...]:
        """Where the operation is; several mapping units that are read at once may be of one flash page."""
        place = done.channel, done.chip, done.die, done.plane, done.block, done.page
        return place if self.packs else (*place, id(done))

    def pages(self, done: Operation) -> int:
        """The flash pages that the operation is of."""
        # Of a program unit all bytes cross the bus, and in SLC mode it is one read group.
        return done.bytes // int(self.device["page_bytes"]) if self.packs and done.action == "program" else 1

    def found_in_slc_mode(self) -> set[int]:
        """Operations on blocks in SLC mode, by identity. Programs of less than a program unit are of such blocks, until
        these are erased.
        """
        found: set[int] = set()
        blocks: set[tuple[int, ...]] = set()
        for done in sorted(self.operations, key=lambda done: done.start):
            block = self.flash_page(done)[:5]
            if done.action == "program" and self.pages(done) < self.pages_together:
                blocks.add(block)
            if block in blocks:
                found.add(id(done))
            if done.action == "erase" and not done.failed:
                blocks.discard(block)
        return found

    def unit(self, done: Operation) -> int:
        """Number of the LUN in `dies` of the result."""
        in_channel = done.chip if self.device["lun"] == "chip" else done.die * self.chips + done.chip
        number: int = done.channel * self.units_per_channel + in_channel
        return number

    @property
    def end(self) -> int:
        """When the run ended: with whatever was last."""
        ends = [request.end for request in self.requests] + [done.end for done in self.operations]
        ends += [slice[1] for track in (self.slices or {}).values() for slice in track]
        # A rebuild ends when it has found nothing left to do, which may be work of no time.
        ends += [rebuild["ended_ns"] or 0 for rebuild in self.result["rebuild"]]
        return max(ends, default=self.begin)
