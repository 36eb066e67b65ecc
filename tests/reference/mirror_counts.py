"""Counts of schemes that keep copies (raid0, raid1, raid10, sirf1) that no flash timing can change (SPEC 0.3, 2.4).

Takes the request list and the number of copies, and nothing else. State moves in request order, page by page.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from . import valid_sectors
from .raid_counts import Request


@dataclass
class Counts:
    """What a run costs in flash operations."""

    host_programs: int = 0  # the copy in the first group
    mirror_programs: int = 0  # those in the others
    update_reads: int = 0  # one for each page that is written in part, whatever the number of copies
    unmapped_reads: int = 0  # host pages read that were never written
    group_reads: list[int] = field(default_factory=list)  # host pages read from each group, in turn


class MirrorCounts:
    """`groups` copies of each page; nothing written at the start."""

    def __init__(self, groups: int, page_bytes: int = 4096, partial_writes: valid_sectors.Rule = "read") -> None:
        self.page_bytes = page_bytes
        self.counts = Counts(group_reads=[0] * groups)
        self._written: set[int] = set()
        self._sectors = valid_sectors.ValidSectors(page_bytes, partial_writes)
        self._turn = 0

    def fill(self, pages: int) -> None:
        """Writes the first `pages` pages, uncounted."""
        self._written |= set(range(pages))
        self._sectors.fill(pages)

    def run(self, requests: Iterable[Request]) -> Counts:
        """Counts `requests`, in this order, on top of what was counted before."""
        for op, offset, size in requests:
            for page, is_whole in self._pages(offset, offset + size):
                sectors = self._sectors.part(page, offset, offset + size)
                if op == "read":
                    self._sectors.read(page, sectors)
                    self._read(page)
                elif op == "write" or (op == "write_zeroes" and not is_whole):
                    self._write(page, sectors)
                else:  # discards leave parts of pages as they are (SPEC 0.3 step 4), and nobody needs them
                    start = page * self.page_bytes
                    self._sectors.discard(max(offset, start), min(offset + size, start + self.page_bytes))
                    if is_whole:
                        self._written.discard(page)
        return self.counts

    def _pages(self, offset: int, end: int) -> Iterator[tuple[int, bool]]:
        """The pages touched, and whether all of each is."""
        for page in range(offset // self.page_bytes, -(-end // self.page_bytes)):
            start = page * self.page_bytes
            yield page, offset <= start and start + self.page_bytes <= end

    def _read(self, page: int) -> None:
        if page not in self._written:
            self.counts.unmapped_reads += 1
            return
        self.counts.group_reads[self._turn] += 1
        self._turn = (self._turn + 1) % len(self.counts.group_reads)

    def _write(self, page: int, sectors: set[int]) -> None:
        self.counts.update_reads += self._sectors.write(page, sectors, page in self._written)
        self.counts.host_programs += 1
        self.counts.mirror_programs += len(self.counts.group_reads) - 1
        self._written.add(page)
