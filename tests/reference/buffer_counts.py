"""Counts of the data buffer that no flash timing can change (SPEC 2.4 and 2.7).

Takes the request list, the buffer's size and what was filled, and nothing else. State moves in request order: a
dictionary of the buffered pages in the order of their last use, each with its sectors, and the sectors of each page
that flash holds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
    update_reads: int = 0  # evictions of pages of which flash holds sectors that are not buffered
    pages_buffered: int = 0


class BufferCounts:
    """A buffer of `capacity` pages; the first `filled` pages are on flash, and with `prefill` all that is read."""

    def __init__(
        self,
        capacity: int,
        page_bytes: int = 4096,
        filled: int = 0,
        prefill: bool = False,
        partial_writes: valid_sectors.Rule = "read",
    ) -> None:
        self.capacity, self.page_bytes, self.filled, self.prefill = capacity, page_bytes, filled, prefill
        self.every = frozenset(range(page_bytes // SECTOR))
        self.counts = Counts()
        self._pages: dict[int, set[int]] = {}  # least recently used first
        self._on_flash: dict[int, frozenset[int]] = {}
        self._sectors = valid_sectors.ValidSectors(page_bytes, partial_writes, prefill)
        self._sectors.fill(filled)

    def run(self, requests: Iterable[tuple[str, int, int]]) -> Counts:
        """Counts `requests`, in this order: operation, offset and size in bytes."""
        for op, offset, size in requests:
            first_whole, last_whole = -(-offset // self.page_bytes), (offset + size) // self.page_bytes
            if op in ("read", "write"):
                self._data(op, offset, offset + size)
            elif op == "flush":
                while self._pages:
                    self._evict()
            else:
                if op == "write_zeroes":
                    self._data("write", offset, min(offset + size, first_whole * self.page_bytes))
                    self._sectors.discard(first_whole * self.page_bytes, last_whole * self.page_bytes)
                else:
                    self._sectors.discard(offset, offset + size)
                for page in range(first_whole, last_whole):
                    self._pages.pop(page, None)
                    self._on_flash[page] = frozenset()
                if op == "write_zeroes" and first_whole <= last_whole:
                    self._data("write", last_whole * self.page_bytes, offset + size)
        self.counts.pages_buffered = len(self._pages)
        return self.counts

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
            buffered = self._pages.get(page, set())
            if op == "read":
                self.counts.read_hits += sectors <= buffered
                self.counts.read_misses += not sectors <= buffered
                self._sectors.read(page, sectors - buffered)
                if self.prefill and not sectors - buffered <= self._held(page):
                    self._on_flash[page] = self.every
                if not sectors & buffered:
                    continue  # reads use a page that has a part of what they ask for, and take in none
            elif page in self._pages:
                self.counts.write_hits += 1
            else:
                self.counts.write_misses += 1
                if len(self._pages) == self.capacity:
                    self._evict()
            self._pages[page] = self._pages.pop(page, set()) | (sectors if op == "write" else set())

    def _evict(self) -> None:
        page = next(iter(self._pages))
        sectors = self._pages.pop(page)
        self.counts.evictions += 1
        held = self._held(page)
        needs = self._sectors.write(page, sectors, bool(held))
        self.counts.update_reads += needs if self._sectors.rule != "read" else not held <= sectors
        self._on_flash[page] = held | sectors if needs or self._sectors.rule == "read" else frozenset(sectors)
