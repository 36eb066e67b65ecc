"""Counts of RAID-4, RAID-5 and RAID-6 that no flash timing can change (SPEC 0.3, 0.6 and 8.16).

Takes the request list, the stripe width, the parities of a stripe and the method rule, and nothing else. Where the
parity lies does not matter here, so RAID-4 and RAID-5 count alike. State moves in request order; each request is cut at
stripe borders, and each stripe's part is one update.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from . import valid_sectors

Op = Literal["read", "write", "trim", "write_zeroes"]
Rule = Literal["fewest", "rmw", "rcw"]


class Request(NamedTuple):
    """One host request: a range of bytes of the logical space, `size_bytes` at least 1."""

    op: Op
    offset_bytes: int
    size_bytes: int


@dataclass
class Counts:
    """What a run costs in flash operations, and how the parity was brought up to date."""

    host_reads: int = 0  # flash reads of host pages
    unmapped_reads: int = 0  # host pages read that were never written: zeroes, no flash read
    host_programs: int = 0  # programs of data strips
    parity_programs: int = 0
    pre_reads: int = 0  # reads only to compute parity
    update_reads: int = 0  # reads of the old content of a page that is written in part
    full_stripe: int = 0
    rmw: int = 0
    rcw: int = 0


class RaidCounts:
    """Parity RAID with `width` data strips and one parity, or two, a stripe, one strip a page.

    Nothing is written at the start.
    """

    def __init__(
        self,
        width: int,
        page_bytes: int = 4096,
        rule: Rule = "fewest",
        partial_writes: valid_sectors.Rule = "read",
        parities: int = 1,
    ) -> None:
        self.width = width
        self.parities = parities
        self.page_bytes = page_bytes
        self.rule = rule
        self.counts = Counts()
        self._written: dict[int, set[int]] = {}  # stripe -> its written strips; if there is one it has its parity pages
        self._sectors = valid_sectors.ValidSectors(page_bytes, partial_writes)

    def fill(self, pages: int) -> None:
        """Writes the whole stripes that hold the first `pages` pages, uncounted."""
        for stripe in range(-(-pages // self.width)):
            self._written[stripe] = set(range(self.width))
        self._sectors.fill(-(-pages // self.width) * self.width)

    def run(self, requests: Iterable[Request]) -> Counts:
        """Counts `requests`, in this order, on top of what was counted before."""
        for op, offset, size in requests:
            end = offset + size
            if op == "read":
                self._read(offset, end)
            elif op == "write":
                self._write(offset, end)
            else:
                # Discard and write-zeroes unmap whole pages only. A discard leaves parts of pages as they are (SPEC 0.3
                # step 4); write-zeroes writes them, the head before and the tail after the whole pages.
                first_whole = -(-offset // self.page_bytes) * self.page_bytes
                last_whole = end // self.page_bytes * self.page_bytes
                zeroes = op == "write_zeroes"
                if zeroes and offset < first_whole:
                    self._write(offset, min(end, first_whole))
                self._sectors.discard(*((first_whole, last_whole) if zeroes else (offset, end)))
                if first_whole < last_whole:
                    self._trim(first_whole, last_whole)
                if zeroes and last_whole < end and first_whole <= last_whole:
                    self._write(last_whole, end)
        return self.counts

    def _parts(self, offset: int, end: int) -> Iterator[tuple[int, set[int]]]:
        """For each stripe touched: its number, and the strips named."""
        stripe_bytes = self.width * self.page_bytes
        while offset < end:
            stripe, start = divmod(offset, stripe_bytes)
            stop = min(end - stripe * stripe_bytes, stripe_bytes)
            yield stripe, set(range(start // self.page_bytes, -(-stop // self.page_bytes)))
            offset = (stripe + 1) * stripe_bytes

    def _below(self, stripe: int, named: set[int], offset: int, end: int) -> set[int]:
        """Writes the strips named of one stripe; those of which something old is needed."""
        written, first = self._written[stripe], stripe * self.width
        parts = {strip: self._sectors.part(first + strip, offset, end) for strip in named}
        return {strip for strip in named if self._sectors.write(first + strip, parts[strip], strip in written)}

    def _read(self, offset: int, end: int) -> None:
        for stripe, named in self._parts(offset, end):
            written = self._written.get(stripe, set())
            for page in (stripe * self.width + strip for strip in named):
                self._sectors.read(page, self._sectors.part(page, offset, end))
            self.counts.host_reads += len(named & written)
            self.counts.unmapped_reads += len(named - written)

    def _write(self, offset: int, end: int) -> None:
        for stripe, named in self._parts(offset, end):
            written = self._written.setdefault(stripe, set())
            need_old = self._below(stripe, named, offset, end)
            if len(named) == self.width:
                self.counts.full_stripe += 1
            elif self._update_parity(named, written, written - named):
                need_old = set()  # RMW pre-reads every written strip of the update: the one read serves both ends
            self.counts.update_reads += len(need_old)
            self.counts.host_programs += len(named)
            self.counts.parity_programs += self.parities
            written |= named

    def _trim(self, offset: int, end: int) -> None:
        for stripe, named in self._parts(offset, end):
            written = self._written.get(stripe, set())
            named &= written
            remaining = written - named
            if named and remaining:
                self._update_parity(named, written, remaining)
                self.counts.parity_programs += self.parities
            written -= named  # with the last strip the parity page is unmapped too, without a flash operation

    def _update_parity(self, changed: set[int], written: set[int], others: set[int]) -> bool:
        """Chooses the method for a change of the strips `changed`, counts its pre-reads; true if it is RMW.

        The choice goes by nominal numbers, whatever is written: |U| + 1 reads for RMW (old strips and parity; |U| + 2
        with two parities), N - |U| for RCW (the other strips); a tie goes to RCW (SPEC 0.3 step 5, 0.6). What was never
        written is not read.
        """
        nominal_rmw, nominal_rcw = len(changed) + self.parities, self.width - len(changed)
        rmw = nominal_rmw < nominal_rcw if self.rule == "fewest" else self.rule == "rmw"
        if rmw:
            has_parity = bool(written)  # or both
            self.counts.rmw += 1
            self.counts.pre_reads += len(changed & written) + has_parity * self.parities
        else:
            self.counts.rcw += 1
            self.counts.pre_reads += len(others)
        return rmw
