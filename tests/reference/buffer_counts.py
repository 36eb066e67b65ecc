"""Counts of the data buffer that no flash timing can change (SPEC 2.4, 2.7, 4.4; docs/buffers.md).

Takes the request list, the buffer's size and rules and what was filled, and nothing else. State moves in request order:
a dictionary of the groups that leave together, in the order of their last use, each with its pages and their sectors,
and the sectors of each page that flash holds. If the buffer destages by itself, when each request arrives says what has
left by then.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor

from . import valid_sectors
from .valid_sectors import SECTOR


@dataclass
class Counts:
    """What the buffer does, in pages."""

    read_hits: int = 0  # every sector asked for is buffered
    read_misses: int = 0
    write_hits: int = 0  # the page is buffered
    write_misses: int = 0
    evictions: int = 0
    pages_written_out: int = 0
    destages: int = 0  # those of the evictions that nothing needed
    pages_destaged: int = 0
    update_reads: int = 0  # pages that left of which flash holds sectors that are not buffered
    pages_buffered: int = 0


@dataclass
class Methods:
    """How the parity of what left is brought up to date, if each group is a stripe (SPEC 0.3 step 5)."""

    full_stripe: int = 0
    rmw: int = 0
    rcw: int = 0


@dataclass
class Rules:
    """What a buffer does; as it stands here, what that of SIRF-1 does."""

    width: int = 1  # pages of a group that leaves together: of a stripe, or one
    is_durable: bool = False  # NVRAM: flushes leave it alone, and reads use nothing
    largest: bool = False  # the largest group leaves first
    marks: tuple[float, float] | None = None  # shares of the buffer at which it begins and ends to destage by itself
    page_ns: int = 0  # from one page to the next, then


class BufferCounts:
    """A buffer of `capacity` pages; the first `filled` pages are on flash, and with `prefill` all that is read."""

    def __init__(
        self,
        capacity: int,
        page_bytes: int = 4096,
        filled: int = 0,
        prefill: bool = False,
        partial_writes: valid_sectors.Rule = "read",
        rules: Rules | None = None,
    ) -> None:
        self.capacity, self.page_bytes, self.filled, self.prefill = capacity, page_bytes, filled, prefill
        self.rules = rules or Rules()
        self.every = frozenset(range(page_bytes // SECTOR))
        self.counts, self.methods = Counts(), Methods()
        self._groups: dict[int, dict[int, set[int]]] = {}  # least recently used first
        self._on_flash: dict[int, frozenset[int]] = {}
        self._sectors = valid_sectors.ValidSectors(page_bytes, partial_writes, prefill)
        self._sectors.fill(filled)
        self._due_ns: int | None = None
        self._now_ns = 0

    def run(self, requests: Iterable[tuple[str, int, int]], arrivals_ns: Sequence[int] | None = None) -> Counts:
        """Counts `requests`, in this order: operation, offset and size in bytes."""
        for number, (op, offset, size) in enumerate(requests):
            self._now_ns = arrivals_ns[number] if arrivals_ns is not None else 0
            self._destage(self._now_ns)
            first_whole, last_whole = -(-offset // self.page_bytes), (offset + size) // self.page_bytes
            if op in ("read", "write"):
                self._data(op, offset, offset + size)
            elif op == "flush":
                while self._groups and not self.rules.is_durable:
                    self._evict()
            else:
                if op == "write_zeroes":
                    self._data("write", offset, min(offset + size, first_whole * self.page_bytes))
                    self._sectors.discard(first_whole * self.page_bytes, last_whole * self.page_bytes)
                else:
                    self._sectors.discard(offset, offset + size)
                for page in range(first_whole, last_whole):
                    self._discard(page)
                if op == "write_zeroes" and first_whole <= last_whole:
                    self._data("write", last_whole * self.page_bytes, offset + size)
        self.counts.pages_buffered = self._count
        return self.counts

    @property
    def _count(self) -> int:
        return sum(map(len, self._groups.values()))

    def _destage(self, until_ns: int) -> None:
        """What leaves by itself until then, that instant included."""
        while self._due_ns is not None and self._due_ns <= until_ns:
            due_ns, before = self._due_ns, self._count
            self._evict()
            pages = before - self._count
            self.counts.destages += 1
            self.counts.pages_destaged += pages
            if self._due_ns is not None:
                self._due_ns = due_ns + pages * self.rules.page_ns

    def _is_at_high_mark(self) -> bool:
        return self.rules.marks is not None and self._count >= max(1, ceil(self.rules.marks[0] * self.capacity))

    def _shrank(self) -> None:
        if self.rules.marks is not None:
            high, low = max(1, ceil(self.rules.marks[0] * self.capacity)), floor(self.rules.marks[1] * self.capacity)
            if self._count <= min(low, high - 1):
                self._due_ns = None

    def _discard(self, page: int) -> None:
        group = self._groups.get(page // self.rules.width, {})
        if group.pop(page, None) is not None:
            if not group:
                del self._groups[page // self.rules.width]
            self._shrank()
        self._on_flash[page] = frozenset()

    def _held(self, page: int) -> frozenset[int]:
        return self._on_flash.get(page, self.every if page < self.filled else frozenset())

    def _parts(self, offset: int, end: int) -> Iterator[tuple[int, set[int]]]:
        """Pages touched, each with its sectors; what touches a byte of a sector touches all of it."""
        in_page = self.page_bytes // SECTOR
        touched: dict[int, set[int]] = {}
        for sector in range(offset // SECTOR, -(-end // SECTOR) if offset < end else 0):
            touched.setdefault(sector // in_page, set()).add(sector % in_page)
        yield from touched.items()

    def _data(self, op: str, offset: int, end: int) -> None:
        for page, sectors in self._parts(offset, end):
            number = page // self.rules.width
            buffered = self._groups.get(number, {}).get(page)
            if op == "read":
                found = buffered or set()
                self.counts.read_hits += sectors <= found
                self.counts.read_misses += not sectors <= found
                self._sectors.read(page, sectors - found)
                if self.prefill and not sectors - found <= self._held(page):
                    self._on_flash[page] = self.every
                if not sectors & found or self.rules.is_durable:
                    continue  # reads use a page that has a part of what they ask for, and take in none
            elif buffered is not None:
                self.counts.write_hits += 1
            else:
                self.counts.write_misses += 1
                if self._count == self.capacity:
                    self._evict()
            group = self._groups.pop(number, {})
            if op == "write":
                group[page] = group.get(page, set()) | sectors
            self._groups[number] = group
            if buffered is None and self._due_ns is None and self._is_at_high_mark():
                self._due_ns = self._now_ns

    def _evict(self) -> None:
        numbers = list(self._groups)
        number = max(numbers, key=lambda each: len(self._groups[each])) if self.rules.largest else numbers[0]
        group = self._groups.pop(number)
        self.counts.evictions += 1
        self.counts.pages_written_out += len(group)
        if len(group) == self.rules.width:
            self.methods.full_stripe += 1
        elif len(group) + 1 < self.rules.width - len(group):
            self.methods.rmw += 1
        else:
            self.methods.rcw += 1
        for page, sectors in sorted(group.items()):
            held = self._held(page)
            needs = self._sectors.write(page, sectors, bool(held))
            self.counts.update_reads += needs if self._sectors.rule != "read" else not held <= sectors
            self._on_flash[page] = held | sectors if needs or self._sectors.rule == "read" else frozenset(sectors)
        self._shrank()
