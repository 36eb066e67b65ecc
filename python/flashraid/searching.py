"""A search of volumes' recordings for the windows that a paper replayed: those whose figures are the paper's.

One pass. What is kept grows with the pages that a volume writes within a window, never with the requests.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from . import _native
from ._native import InputError
from .record import OpenRecord
from .reproduce.originals import TOLERANCE, known_format
from .reproduce.papers import Original, find, names
from .settings import Path, Progress, check_progress, known_name, pairs, path_text, texts
from .sizes import check_numbers, parse_time
from .trace import ROWS_AT_A_TIME

STEP_NS = 10 * 60 * 10**9
# Of a window's figures, so many steps keep a sum for each age of an update.
MOST_STEPS = 10_000
# What windows are compared by, as far as a paper's table has it.
FIGURES = ("requests", "write_share", "mean_write_bytes", "update_request_share", "mean_bytes")


def _parts() -> dict[str, Original]:
    """The parts of recordings that papers replayed without saying which, as PAPER.NAME."""
    found: dict[str, Original] = {}
    for paper in map(find, names()):
        found |= {f"{paper.name}.{name}": each for name, each in paper.originals.items() if each.part}
    return found


def part_names() -> list[str]:
    """What such parts are called: NAME, and PAPER.NAME."""
    known = list(_parts())
    return [each.partition(".")[2] for each in known] + known


def part_of(name: str) -> Original:
    """The part of this name; raises InputError if there is none."""
    known = _parts()
    whole = {each.partition(".")[2]: each for each in known}
    found = known_name("like", name, [*whole, *known])
    return known[whole.get(found, found)]


def windows(
    trace: Path,
    like: Collection[str],
    *,
    step_ns: int = STEP_NS,
    page_bytes: int = 4096,
    most: int = 10,
    progress: Progress | None = None,
    **reading: object,
) -> list[OpenRecord]:
    """The windows of each volume of `trace` that are most like the parts of recordings that papers replayed.

    `like` names these parts, as in ["ali_0", "ali_1"] or ["adaptive.ali_0"]. A window is as long as the part and begins
    every `step_ns`; times count from the first request of the volume, as `convert` counts them with `device_filter`. Of
    one volume no two that are returned overlap. For each name there are `most` windows at most, the
    likest first, with `like`, `device`, `from_ns`, `to_ns`, `requests`, `write_share`, `mean_write_bytes`,
    `update_request_share`, `mean_bytes`, `off` (the largest of the shares by which they differ from the paper's table)
    and `matches` (whether that is at most 5 %). An update is a write to a page of `page_bytes` that the window has
    written before. `reading` is that of `trace_info`, and `progress` too.
    """
    path = path_text(trace, "trace")
    check_numbers(step_ns=step_ns, page_bytes=page_bytes, most=most)
    check_progress(progress)
    if not (512 <= page_bytes <= 1 << 20 and page_bytes & (page_bytes - 1) == 0):
        raise InputError(f"page_bytes = {page_bytes}: allowed is a power of two from 512 to {1 << 20}")
    searches = [_Search(each, part_of(each), step_ns, most) for each in dict.fromkeys(texts("like", like))]
    if not searches:
        raise InputError(f"like: allowed is one or more of {', '.join(part_names())}")
    own = {**dict(pairs(reading)), **format_of(path, reading)}
    _search(path, list(own.items()), searches, step_ns, page_bytes, progress or (lambda *_: True))
    return [each for search in searches for each in search.found()]


def format_of(path: str, reading: Mapping[str, object]) -> dict[str, str]:
    """The format, if only the columns of the file tell it."""
    if reading.get("format", "auto") != "auto" or "columns" in reading or not os.path.isfile(path):
        return {}
    found = known_format(path)
    return {} if found == "auto" else {"format": found}


@dataclass
class _Bucket:
    """What a volume was asked for in one step."""

    requests: int = 0
    reads: int = 0
    writes: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    # Writes to a page that was written before, by how many steps before that was.
    updates: dict[int, int] = field(default_factory=dict)


class _Volume:
    """The steps of a volume that windows still need, and when its pages were last written."""

    def __init__(self, most_steps: int, first_ns: int) -> None:
        self._most_steps = most_steps
        self.first_ns = first_ns  # times count from here, as they do with `--device-filter`
        self._written: dict[int, int] = {}
        self._pruned = 0
        self.steps: dict[int, _Bucket] = {}
        self.ended = 0  # the windows that end here or earlier are done

    def add(self, step: int, op: str, offset_bytes: int, size_bytes: int, page_bytes: int) -> None:
        bucket = self.steps.get(step)
        if bucket is None:
            bucket = self.steps[step] = _Bucket()
            self._forget(step)
        bucket.requests += 1
        if op == "read":
            bucket.reads += 1
            bucket.read_bytes += size_bytes
        elif op == "write":
            bucket.writes += 1
            bucket.write_bytes += size_bytes
            before, written = -1, self._written
            for page in range(offset_bytes // page_bytes, (offset_bytes + size_bytes - 1) // page_bytes + 1):
                before = max(before, written.get(page, -1))
                written[page] = step
            if before >= 0 and step - before < self._most_steps:
                bucket.updates[step - before] = bucket.updates.get(step - before, 0) + 1

    def _forget(self, step: int) -> None:
        """Forgets what is before every window that the step is in."""
        first = step - self._most_steps + 1
        for old in [each for each in self.steps if each < first]:
            del self.steps[old]
        if first > self._pruned:
            # Once a window, so that it costs little.
            self._pruned = step
            self._written = {page: at for page, at in self._written.items() if at >= first}


class _Search:
    """The windows of one length that are most like a part."""

    def __init__(self, name: str, original: Original, step_ns: int, most: int) -> None:
        self.name, self._most, self._step_ns = name, most, step_ns
        length_ns = parse_time("part", original.part)
        if not (step_ns and length_ns % step_ns == 0 and length_ns // step_ns <= MOST_STEPS):
            raise InputError(
                f"step of {step_ns / 1e9:g} s: allowed is a whole part of {original.part}, the length of {name}, "
                f"which has no more than {MOST_STEPS:,} of them"
            )
        self.part = original.part
        self.steps = length_ns // step_ns
        self._table = {key: original.table[key] for key in FIGURES if key in original.table}
        self._best: dict[str, list[OpenRecord]] = {}
        self.is_tried = False

    def ended(self, device: str, volume: _Volume, end: int) -> None:
        """Takes in the window that ends before the step `end`."""
        self.is_tried = True
        begin = end - self.steps
        figures = _figures({step: each for step, each in volume.steps.items() if begin <= step < end}, begin)
        if not figures["requests"]:
            return
        off = max(abs((figures[key] or 0) / published - 1) for key, published in self._table.items())
        times = {"from_ns": begin * self._step_ns, "to_ns": end * self._step_ns}
        told = {"like": self.name, "device": device, **times, **figures, "off": off, "matches": off <= TOLERANCE}
        best = self._best.setdefault(device, [])
        if best and best[-1].to_ns > times["from_ns"]:
            if off < best[-1].off:
                best[-1] = OpenRecord(told)
        else:
            best.append(OpenRecord(told))

    def found(self) -> list[OpenRecord]:
        """The likest ones first."""
        return sorted((each for best in self._best.values() for each in best), key=lambda each: each.off)[: self._most]


def _figures(steps: Mapping[int, _Bucket], begin: int) -> dict[str, float | None]:
    writes = sum(each.writes for each in steps.values())
    reads = sum(each.reads for each in steps.values())
    written, read = (sum(getattr(each, key) for each in steps.values()) for key in ("write_bytes", "read_bytes"))
    updates = sum(count for step, each in steps.items() for age, count in each.updates.items() if step - age >= begin)
    return {
        "requests": sum(each.requests for each in steps.values()),
        "write_share": writes / (reads + writes) if reads + writes else None,
        "mean_write_bytes": written / writes if writes else None,
        "update_request_share": updates / writes if writes else None,
        "mean_bytes": (read + written) / (reads + writes) if reads + writes else None,
    }


def _search(
    path: str,
    reading: list[tuple[str, str]],
    searches: Collection[_Search],
    step_ns: int,
    page_bytes: int,
    progress: Callable[[str, int, float | None], object],
) -> None:
    """Reads the trace and tells each search of each window of each volume."""
    volumes: dict[str, _Volume] = {}
    most_steps = max(each.steps for each in searches)

    def end_windows(device: str, volume: _Volume, now: int) -> None:
        """Those that end at the step `now` or earlier."""
        for search in searches:
            for end in range(max(volume.ended + 1, search.steps), now + 1):
                search.ended(device, volume, end)
        volume.ended = max(volume.ended, now)

    arrival_ns = 0
    for count, (arrival_ns, op, offset_bytes, size_bytes, device) in enumerate(_rows(path, reading), 1):
        volume = volumes.get(device)
        if volume is None:
            volume = volumes[device] = _Volume(most_steps, arrival_ns)
        step = (arrival_ns - volume.first_ns) // step_ns
        if step > volume.ended:
            end_windows(device, volume, step)
        volume.add(step, op, offset_bytes, size_bytes, page_bytes)
        if count % ROWS_AT_A_TIME == 0 and progress("windows", count, None) is False:
            raise KeyboardInterrupt
    for device, volume in volumes.items():
        end_windows(device, volume, (arrival_ns - volume.first_ns) // step_ns + 1)
    if short := [each for each in searches if not each.is_tried]:
        raise InputError(f"{path}: it lasts {arrival_ns / 1e9:,.3f} s, and {short[0].name} {short[0].part}")


def _rows(path: str, reading: list[tuple[str, str]]) -> Iterator[tuple[int, str, int, int, str]]:
    import polars as pl

    columns = ("arrival_ns", "op", "offset_bytes", "size_bytes", "device", "stream")
    types = (pl.UInt64(), pl.String(), pl.UInt64(), pl.UInt64(), pl.String(), pl.UInt16())
    schema = dict(zip(columns, types, strict=True))
    reader = _native.TraceRowReader(path, reading)
    while rows := reader.read(ROWS_AT_A_TIME):
        yield from pl.read_csv(rows, has_header=False, schema=schema).drop("stream").iter_rows()


def to_json(found: Collection[OpenRecord]) -> str:
    """The windows as JSON."""
    return json.dumps({"windows": [each.to_dict() for each in found]}, indent=2) + "\n"
