"""Counts of deferred parities behind an NVRAM write buffer, without times (SPEC 4.4 and 4.6).

Takes the request list and the parameters, and nothing else. State moves in request order: which pages are buffered, by
stripe; which stripes have an entry in the parity cache, and which of their strips it covers. Nothing is collected.

An update claims its place in the cache when it starts, and a victim is never a locked stripe. Both are a matter of
times: `run` is right if requests come one by one, each when all is over that the former one has caused, as nothing is
locked then, or under a cache that evicts locked stripes. Whoever knows when updates start and end can instead ask for
each `update`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from . import valid_sectors
from .valid_sectors import SECTOR


class Request(NamedTuple):
    """One host request: a range of bytes of the logical space."""

    op: Literal["read", "write", "trim", "write_zeroes", "flush"]
    offset_bytes: int
    size_bytes: int


@dataclass
class Counts:
    """What a run comes to. Reads are of flash pages; pages that were never written are not read."""

    read_hits: int = 0  # pages asked for that are buffered with every sector asked for
    read_misses: int = 0
    write_hits: int = 0
    write_misses: int = 0
    evictions: int = 0  # groups of pages of one stripe that left the buffer
    pages_written_out: int = 0  # pages in them
    hits: int = 0  # updates of a stripe that has an entry
    misses: int = 0
    host_programs: int = 0
    pre_reads: int = 0  # to update a parity, on flash or in the cache
    update_reads: int = 0  # of the old content of pages written in part, unless such a read serves that too
    parity_programs: int = 0  # with the update itself
    commits: int = 0  # each programs one parity page
    commit_reads: int = 0


class Stripe:
    """What flash and cache hold of one stripe."""

    def __init__(self, width: int = 0) -> None:
        self.written = set(range(width))
        self.has_parity = width > 0  # on flash
        self.covered: set[int] = set()  # strips that the cache's entry covers (pi)
        self.old: set[int] = set()  # of these, those that flash held before


class ParityCounts:
    """`width` data strips a stripe, one page each; a buffer of `buffered` pages; a cache of `entries` parities."""

    def __init__(
        self,
        scheme: Literal["no-pc", "fpc", "ppc", "ca-ppc"],
        width: int,
        page_bytes: int,
        buffered: int,
        entries: int = 16,
        alpha: int = 0,  # in thousandths
        spares_recent: Literal["half", "none"] = "none",
        victim: Literal["oldest_write", "largest_group"] = "oldest_write",
        ppc_update: Literal["paper", "min"] = "paper",
        update: Literal["fewest", "rmw", "rcw"] = "fewest",  # of no-pc and fpc
        cached_parity_free: bool = False,  # of fpc
        partial_writes: valid_sectors.Rule = "read",
    ) -> None:
        self.scheme, self.width, self.page_bytes, self.entries = scheme, width, page_bytes, entries
        self.alpha = alpha if scheme == "ca-ppc" else 1000
        self.buffered, self.victim, self.ppc_update, self.rule = buffered, victim, ppc_update, update
        self.cached_parity_free = cached_parity_free
        self.spared = entries // 2 if spares_recent == "half" and self.alpha < 1000 else 0
        self.counts = Counts()
        self._every = frozenset(range(page_bytes // SECTOR))
        self._on_flash: dict[int, frozenset[int]] = {}  # sectors of each page
        self._sectors = valid_sectors.ValidSectors(page_bytes, partial_writes)
        self._stripes: dict[int, Stripe] = {}
        self._groups: dict[int, dict[int, frozenset[int]]] = {}  # the buffer: oldest last write first
        self._pages = 0
        # Stripes with an entry, least recently updated first, each with the number of its last update.
        self._cache: dict[int, int] = {}
        self._locked: set[int] = set()  # stripes with an update that has not ended

    def fill(self, pages: int) -> None:
        """Writes the whole stripes that hold the first `pages` pages, uncounted."""
        self._sectors.fill(-(-pages // self.width) * self.width)
        for stripe in range(-(-pages // self.width)):
            self._stripes[stripe] = Stripe(self.width)
            self._on_flash |= {stripe * self.width + strip: self._every for strip in range(self.width)}

    def run(self, requests: Iterable[Request]) -> Counts:
        """Counts `requests`, in this order, on top of what was counted before."""
        for op, offset, size in requests:
            end = offset + size
            if op == "read":
                for page, sectors in self._parts(offset, end):
                    held = self._groups.get(page // self.width, {}).get(page, frozenset())
                    self._sectors.read(page, sectors - held)
                    if self.buffered:
                        self.counts.read_hits += sectors <= held
                        self.counts.read_misses += not sectors <= held
            elif op == "write":
                self._write(offset, end)
            elif op != "flush":  # write-zeroes unmaps whole pages and writes the others
                first, last = -(-offset // self.page_bytes), end // self.page_bytes
                if op == "write_zeroes":
                    self._write(offset, min(end, first * self.page_bytes))
                    self._sectors.discard(first * self.page_bytes, last * self.page_bytes)
                else:
                    self._sectors.discard(offset, end)
                self._trim(first, last)
                if op == "write_zeroes" and first <= last:
                    self._write(last * self.page_bytes, end)
        return self.counts

    def _parts(self, offset: int, end: int) -> Iterator[tuple[int, frozenset[int]]]:
        """Pages touched, each with its sectors; what touches a byte of a sector touches all of it."""
        while offset < end:
            page, start = divmod(offset, self.page_bytes)
            stop = min(end - page * self.page_bytes, self.page_bytes)
            yield page, frozenset(range(start // SECTOR, -(-stop // SECTOR)))
            offset = (page + 1) * self.page_bytes

    def _write(self, offset: int, end: int) -> None:
        for page, sectors in self._parts(offset, end):
            stripe = page // self.width
            if not self.buffered:  # each stripe's part of the request is an update
                group = self._groups.pop(stripe, {}) | {page: sectors}
                if (page + 1) % self.width and (page + 1) * self.page_bytes < end:
                    self._groups[stripe] = group
                else:
                    self._flush(stripe, group)
                continue
            if page in self._groups.get(stripe, {}):
                self.counts.write_hits += 1
            else:
                self.counts.write_misses += 1
                if self._pages == self.buffered:
                    self._evict()
                self._pages += 1
            group = self._groups.pop(stripe, {})
            self._groups[stripe] = group | {page: group.get(page, frozenset()) | sectors}

    def _evict(self) -> None:
        by_size = self.victim == "largest_group"
        stripe = max(self._groups, key=lambda each: len(self._groups[each])) if by_size else next(iter(self._groups))
        group = self._groups.pop(stripe)
        self._pages -= len(group)
        self.counts.evictions += 1
        self.counts.pages_written_out += len(group)
        self._flush(stripe, group)

    def _flush(self, stripe: int, group: dict[int, frozenset[int]]) -> None:
        self.counts.host_programs += len(group)
        held = {page: self._on_flash.get(page, frozenset()) for page in group}
        beneath = {page % self.width for page, sectors in group.items() if self._needs(page, sectors, held[page])}
        # Only a buffer knows which sectors of a page hold something.
        self._on_flash |= {
            page: held[page] | sectors if self.buffered else self._every for page, sectors in group.items()
        }
        self._update(stripe, {page % self.width for page in group}, beneath)

    def _needs(self, page: int, sectors: frozenset[int], held: frozenset[int]) -> bool:
        needs = self._sectors.write(page, sectors, bool(held))
        return needs if self._sectors.rule != "read" else not held <= sectors

    def _trim(self, first: int, last: int) -> None:
        for number in list(self._groups):  # what is buffered of it is dropped
            left = {page: sectors for page, sectors in self._groups[number].items() if not first <= page < last}
            self._pages -= len(self._groups[number]) - len(left)
            self._groups[number] = left
            if not left:
                del self._groups[number]
        touched = range(first // self.width, last // self.width + 1)
        for number in sorted(each for each in self._stripes if each in touched):
            stripe = self._stripes[number]
            named = {strip for strip in stripe.written if first <= number * self.width + strip < last}
            self._on_flash |= {number * self.width + strip: frozenset() for strip in named}
            if named == stripe.written:
                del self._stripes[number]
                self._cache.pop(number, None)
            elif named:
                self._update(number, named, set(), is_trim=True)

    def _update(self, number: int, changed: set[int], beneath: set[int], is_trim: bool = False) -> None:
        """Strips of one stripe change together (flush of SPEC 4.4)."""
        stripe = self._stripes.setdefault(number, Stripe())
        is_cached = self.scheme != "no-pc" and self._touch(number)
        is_whole = len(changed) == self.width
        others = stripe.written - changed
        read: set[int] = set()
        if self.scheme in ("ppc", "ca-ppc"):
            covered, stays = changed & stripe.covered, stripe.covered - changed
            if is_whole:
                pass
            elif self.ppc_update == "min" and len(stays) < len(covered):
                self.counts.pre_reads += len(stays & stripe.written)
            else:
                read = covered & stripe.written
                self.counts.pre_reads += len(read)
            stripe.old |= (changed - stripe.covered) & stripe.written
            stripe.covered |= changed
        else:
            if is_whole:
                pass
            elif self._is_rmw(len(changed)):
                read = changed & stripe.written
                self.counts.pre_reads += len(read)
                if stripe.has_parity and not (self.cached_parity_free and is_cached):
                    self.counts.pre_reads += 1
            else:
                self.counts.pre_reads += len(others)
            if self.scheme == "no-pc":
                self.counts.parity_programs += 1
                stripe.has_parity = True
        self.counts.update_reads += len(beneath - read)
        stripe.written = others if is_trim else stripe.written | changed

    def _is_rmw(self, changed: int) -> bool:
        """Whether that reads less than the other strips (SPEC 0.6); a tie goes to RCW."""
        return changed + 1 < self.width - changed if self.rule == "fewest" else self.rule == "rmw"

    def has_entry(self, stripe: int) -> bool:
        """Whether an update of the stripe needs no place."""
        return stripe in self._cache

    def has_place(self) -> bool:
        """Whether a stripe without an entry gets one now."""
        return len(self._cache) < self.entries or self._replaced() is not None

    def update(self, stripe: int, strips: set[int]) -> int | None:
        """Strips of one stripe begin to be written, all of their bytes. Returns the stripe that is committed before."""
        before = set(self._cache)
        self._flush(stripe, {stripe * self.width + strip: self._every for strip in strips})
        self._locked.add(stripe)
        return next(iter(before - set(self._cache)), None)

    def ended(self, stripe: int) -> None:
        """The update of the stripe has ended."""
        self._locked.remove(stripe)

    def _touch(self, number: int) -> bool:
        """The stripe's entry becomes the most recent one; without one another may have to go first."""
        is_hit = number in self._cache
        if not is_hit and len(self._cache) == self.entries:
            victim = self._replaced()
            assert victim is not None, "the update has to wait"
            self._commit(victim)
        self.counts.hits += is_hit
        self.counts.misses += not is_hit
        self._cache.pop(number, None)
        self._cache[number] = self.counts.hits + self.counts.misses
        return is_hit

    def _replaced(self) -> int | None:
        """The entry with the least alpha x recency + (1 - alpha) x cost, both from 0 to 1; a tie goes to the oldest.

        None that is locked, and none of the last updates, of which half as many as there are entries are spared.
        """
        last = self.counts.hits + self.counts.misses - self.spared
        of_recency = self.alpha * -(-self.width // 2)  # a step of either, over the same denominator
        of_cost = (1000 - self.alpha) * max(self.entries - 1, 1)
        ranked = [
            (of_recency * rank + of_cost * self._cost(each), rank, each)
            for rank, (each, update) in enumerate(self._cache.items())
            if update <= last and each not in self._locked
        ]
        return min(ranked)[2] if ranked else None

    def _cost(self, number: int) -> int:
        """Reads of a commit, whatever of the stripe is written."""
        covers = len(self._stripes[number].covered)
        return self.width - covers if covers >= -(-self.width // 2) else covers + 1

    def _commit(self, number: int) -> None:
        stripe = self._stripes[number]
        self.counts.commits += 1
        if self.scheme != "fpc":
            is_large = len(stripe.covered) >= -(-self.width // 2)
            bare = stripe.written - stripe.covered
            self.counts.commit_reads += len(bare) if is_large else len(stripe.old) + stripe.has_parity
        del self._cache[number]
        stripe.has_parity, stripe.covered, stripe.old = True, set(), set()
