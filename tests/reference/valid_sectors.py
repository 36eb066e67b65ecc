"""Which writes of parts of pages have to read the page first (`partial_writes`).

Takes what is asked of pages, in the order of the requests, and nothing else: a dictionary of the sectors of each page
that hold something, and one of those that requests have used.
"""

from collections.abc import Set as AbstractSet
from typing import Literal

SECTOR = 512
Rule = Literal["read", "read_if_needed", "read_if_used"]


class ValidSectors:
    """Pages of `page_bytes`, of which nothing is written at the start; with `prefill` all that is read was there."""

    def __init__(self, page_bytes: int, rule: Rule = "read", prefill: bool = False) -> None:
        self.rule = rule
        self._prefill = prefill
        self._page_bytes = page_bytes
        self._every = frozenset(range(page_bytes // SECTOR))
        self._filled = 0
        self._valid: dict[int, AbstractSet[int]] = {}
        self._used: dict[int, set[int]] = {}

    def fill(self, pages: int) -> None:
        """Writes the first `pages` pages, whole, before all requests."""
        self._filled = pages

    def part(self, page: int, offset: int, end: int) -> set[int]:
        """The sectors of a page that a range of bytes touches."""
        start = page * self._page_bytes
        first, last = max(offset - start, 0) // SECTOR, -(-min(end - start, self._page_bytes) // SECTOR)
        return set(range(first, last))

    def write(self, page: int, sectors: AbstractSet[int], is_written: bool) -> bool:
        """Writes sectors of a page, of which flash holds something or not; whether it has to be read first."""
        valid = self._of(page)
        counted = valid & self._used.get(page, set()) if self.rule == "read_if_used" else valid
        always = is_written and sectors != self._every
        needs = always if self.rule == "read" else not counted <= sectors
        self._valid[page] = valid | sectors if needs else set(sectors)
        self._used.setdefault(page, set()).update(sectors)
        return needs

    def read(self, page: int, sectors: AbstractSet[int]) -> None:
        """Reads sectors of a page from flash."""
        self._used.setdefault(page, set()).update(sectors)
        if self._prefill:
            self._valid[page] = self._of(page) | sectors

    def discard(self, offset: int, end: int) -> None:
        """Discards a range of bytes: the sectors that it covers."""
        first, last = -(-offset // SECTOR), end // SECTOR
        for page in range(offset // self._page_bytes, -(-end // self._page_bytes)):
            start = page * len(self._every)
            self._valid[page] = {sector for sector in self._of(page) if not first <= start + sector < last}

    def _of(self, page: int) -> AbstractSet[int]:
        return self._valid.get(page, self._every if page < self._filled else frozenset())
