"""Where the parity of an array with hot swapping lies, and what its SSDs program (SPEC 5.4 to 5.6), without time.

Takes requests of whole pages, one after the other, and replacements; copies in idle time come when there is some
(`idle`), in the order of the stripes. Nothing fails and nothing is collected. Limits go by age: the eldest first, and
the new SSD last.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple

Balanced = Literal["by_need", "data_device", "parity_to_new"]


@dataclass
class Stripe:
    """A stripe that is created: the SSDs of its data strips, and of its parity."""

    data: list[int]
    parity: int
    written: set[int] = field(default_factory=set)  # strips; if there is one, so is the parity

    def exchange(self, one: int, other: int) -> None:
        """Exchanges the strips of two SSDs; if only one has one, that goes to the other."""
        to = {one: other, other: one}
        self.data = [to.get(ssd, ssd) for ssd in self.data]
        self.parity = to.get(self.parity, self.parity)


@dataclass
class Moved:
    """Strips that a replacement has moved."""

    hot_data: int = 0  # data strips that updates programmed on another SSD than before
    hot_parity: int = 0
    hot_moves: int = 0  # data strips that updates moved beside those that they wrote
    cold_data: int = 0  # data strips copied in idle time
    cold_parity: int = 0
    cold_moves: int = 0  # data strips of G moved so that a parity could go there


class Running(NamedTuple):
    """A replacement: of E by S."""

    old: int
    new: int
    before: Counter[int]  # parities when it began


class HotswapShares:
    """SSDs of these ages, the eldest first, with `shares` of the parity in thousandths of a percent."""

    def __init__(self, eldest_first: list[int], shares: list[int], balanced: Balanced = "by_need") -> None:
        self.eldest_first = eldest_first
        self.shares = shares
        self.balanced = balanced
        self.width = len(eldest_first) - 1
        self.stripes: dict[int, Stripe] = {}
        self.parities: Counter[int] = Counter()
        self.placed: Counter[int] = Counter()  # of stripes created since limits were defined
        self.programs: Counter[tuple[str, int]] = Counter()
        self.running: Running | None = None
        self.moved = Moved()

    def limit(self, ssd: int) -> Fraction:
        """Its share of all parities."""
        return Fraction(self.shares[self.eldest_first.index(ssd)], 100_000)

    def _lacks(self, ssd: int, parities: int | None = None) -> Fraction:
        return self.limit(ssd) * len(self.stripes) - (self.parities[ssd] if parities is None else parities)

    # ---- requests ----

    def fill(self, pages: int) -> None:
        """Writes the whole stripes that hold the first `pages` pages, uncounted."""
        for number in range(-(-pages // self.width)):
            self._create(number).written = set(range(self.width))

    def write(self, page: int, pages: int) -> None:
        """Writes so many pages from `page` on."""
        for number, strips in self._parts(page, pages):
            self._update(self._create(number), strips, is_trim=False)
        self._settle()

    def trim(self, page: int, pages: int) -> None:
        """Discards them."""
        for number, strips in self._parts(page, pages):
            if number in self.stripes and self.stripes[number].written & strips:
                self._update(self.stripes[number], strips, is_trim=True)
        self._settle()

    def _parts(self, page: int, pages: int) -> Iterator[tuple[int, set[int]]]:
        for number in range(page // self.width, (page + pages - 1) // self.width + 1):
            first = number * self.width
            yield number, {strip for strip in range(self.width) if page <= first + strip < page + pages}

    def _create(self, number: int) -> Stripe:
        if number not in self.stripes:
            stripes = max(self.placed.total(), 1)  # before the first one all shares are 0
            # The first one of the largest is the eldest.
            parity = max(self.eldest_first, key=lambda ssd: self.limit(ssd) * stripes - self.placed[ssd])
            self.stripes[number] = Stripe(sorted(set(self.eldest_first) - {parity}), parity)
            self.placed[parity] += 1
            self.parities[parity] += 1
        return self.stripes[number]

    def _update(self, stripe: Stripe, changed: set[int], is_trim: bool) -> None:
        before, parity = list(stripe.data), stripe.parity
        if self.running:
            self._move_with_update(self.running, stripe, changed)
        named = stripe.written & changed
        stripe.written = stripe.written - changed if is_trim else stripe.written | changed
        moved = {strip for strip in range(self.width) if before[strip] != stripe.data[strip]}
        self._count(parity, stripe.parity)
        if not stripe.written:  # nothing is programmed
            return
        assert named or not is_trim
        beside = moved & stripe.written - changed
        self.programs.update(("migration", stripe.data[strip]) for strip in beside)
        self.programs["parity", stripe.parity] += 1
        if not is_trim:
            self.programs.update(("host", stripe.data[strip]) for strip in changed)
            self.moved.hot_data += len(moved & changed)
        self.moved.hot_moves += len(beside)
        self.moved.hot_parity += parity != stripe.parity

    def _count(self, before: int, after: int) -> None:
        self.parities[before] -= 1
        self.parities[after] += 1

    # ---- replacements ----

    def replace(self, old: int, new: int) -> None:
        """The replacement of the eldest SSD begins."""
        self.eldest_first = [ssd for ssd in self.eldest_first if ssd != old] + [new]
        self.placed.clear()
        self.moved = Moved()
        self.running = Running(old, new, self.parities.copy())
        self._settle()

    def _is_turn_of_new(self, running: Running) -> bool:
        """S and G get turns in proportion to what they lacked: the larger quotient is next, G if both are equal."""
        new, second = running.new, self.eldest_first[0]
        if self._lacks(new) <= 0 or self._lacks(second) <= 0:
            return self._lacks(new) > 0

        def quotient(ssd: int) -> Fraction:
            had = running.before[ssd] + self.placed[ssd]
            return self._lacks(ssd, had) / (2 * (self.parities[ssd] - had) + 1)

        return quotient(new) > quotient(second)

    def _move_with_update(self, running: Running, stripe: Stripe, changed: set[int]) -> None:
        """The cases of SPEC 5.6."""
        old, new, _ = running
        second = self.eldest_first[0]
        if stripe.parity != old:  # A, or C
            if old in stripe.data and stripe.data.index(old) in changed:
                stripe.exchange(old, new)
            return
        stripe.exchange(old, new)
        is_turn_of_new = self.balanced != "data_device" and self._is_turn_of_new(running)
        if self._lacks(second) > 0 and not is_turn_of_new:  # B3
            stripe.exchange(second, new)
            return
        devices = [stripe.data[strip] for strip in sorted(changed)]  # B2
        if self.balanced == "by_need":
            devices = [ssd for ssd in devices if ssd != second and self._lacks(ssd) > 0]
        if self.balanced != "parity_to_new" and devices:
            stripe.exchange(devices[0], new)

    def idle(self) -> None:
        """Copies whatever is left on E, stripe by stripe: then the replacement has ended."""
        assert self.running
        for stripe in self._left(self.running):
            self._copy(self.running, stripe)
        self.running = None

    def _left(self, running: Running) -> Iterator[Stripe]:
        stripes = (stripe for _, stripe in sorted(self.stripes.items()))
        return (stripe for stripe in stripes if running.old in [*stripe.data, stripe.parity])

    def _settle(self) -> None:
        """Where nothing that is written moves, nobody waits for idle time; but stripes move in order."""
        running = self.running
        for stripe in self._left(running) if running else ():
            assert running
            moved = {strip for strip, ssd in enumerate(stripe.data) if ssd in self._copied(running, stripe)}
            if moved & stripe.written or (stripe.parity == running.old and stripe.written):
                break
            self._copy(running, stripe)

    def _copied(self, running: Running, stripe: Stripe) -> set[int]:
        """SSDs of which the next copy of a stripe moves the strip."""
        to_second = stripe.parity == running.old and not self._is_turn_of_new(running)
        return {running.old, self.eldest_first[0]} if to_second else {running.old}

    def _copy(self, running: Running, stripe: Stripe) -> None:
        old, new, _ = running
        copied, before = self._copied(running, stripe), Stripe(list(stripe.data), stripe.parity)
        stripe.exchange(old, new)
        if len(copied) > 1:
            stripe.exchange(self.eldest_first[0], new)
        self._count(before.parity, stripe.parity)
        data = {strip for strip in stripe.written if before.data[strip] in copied}
        self.programs.update(("migration", stripe.data[strip]) for strip in data)
        if before.parity == old:
            self.programs["migration", stripe.parity] += bool(stripe.written)
            self.moved.cold_parity += bool(stripe.written)
            self.moved.cold_moves += len(data)
        else:
            self.moved.cold_data += len(data)
