"""Counts of CR5M where no timing matters (SPEC 1.4): mirror chips are always idle, and credit never runs out.

As `raid_counts`, with a set of mirrored strips for each stripe, and for each channel the two numbers of the limit.
"""

from dataclasses import dataclass
from typing import Literal

from . import valid_sectors
from .raid_counts import Counts, RaidCounts, Rule


@dataclass
class MirroredCounts(Counts):
    """What is counted beside what RAID-5 has."""

    mirrored: int = 0  # writes of strips of one stripe that put the parity off
    mirror_programs: int = 0


class Cr5mCounts(RaidCounts):
    """CR5M with `width` data strips a stripe and `data_chips` data chips a channel; nothing written at the start."""

    def __init__(
        self,
        width: int,
        data_chips: int,
        limit_thousandths: int = 1100,
        page_bytes: int = 4096,
        rule: Rule = "fewest",
        consolidate: Literal["last_strip", "never"] = "last_strip",
        partial_writes: valid_sectors.Rule = "read",
    ) -> None:
        super().__init__(width, page_bytes, rule, partial_writes)
        self.counts: MirroredCounts = MirroredCounts()
        self._data_chips = data_chips
        self._limit_thousandths = limit_thousandths
        self._consolidate = consolidate == "last_strip"
        self._mirrored: dict[int, set[int]] = {}
        self._based: dict[int, set[int]] = {}  # those of the mirrored strips whose older version the parity covers
        self._with_parity: set[int] = set()
        self._mirrored_writes = [0] * (width + 1)  # by channel
        self._programs = [0] * (width + 1)

    def fill(self, pages: int) -> None:
        """Writes whole stripes, uncounted; none is mirrored."""
        super().fill(pages)
        self._with_parity.update(self._written)

    def _write(self, offset: int, end: int) -> None:
        for stripe, named in self._parts(offset, end):
            written = self._written.setdefault(stripe, set())
            mirrored = self._mirrored.setdefault(stripe, set())
            below = self._below(stripe, named, offset, end)
            channels = [self._channel(stripe, strip) for strip in named]
            puts_off = len(named) < self.width and not self._consolidates(named, mirrored)
            if puts_off and all(self._within_limit(channel) for channel in channels):
                self.counts.mirrored += 1
                self.counts.mirror_programs += len(named)
                self._based.setdefault(stripe, set()).update((named - mirrored) & written)
                mirrored |= named
                for channel in channels:
                    self._mirrored_writes[channel] += 1
            else:
                if len(named) == self.width:
                    self.counts.full_stripe += 1
                    mirrored.clear()
                elif self._recompute(stripe, named):
                    below &= mirrored  # RMW reads the covered version of the others, which is the current one
                    mirrored -= named
                else:
                    mirrored.clear()
                self._based.setdefault(stripe, set()).intersection_update(mirrored)
                self._program_parity(stripe)
            for channel in channels:
                self._programs[channel] += 1
            self.counts.update_reads += len(below)
            self.counts.host_programs += len(named)
            written |= named

    def _trim(self, offset: int, end: int) -> None:
        for stripe, named in self._parts(offset, end):
            written = self._written.get(stripe, set())
            mirrored = self._mirrored.setdefault(stripe, set())
            dropped = named & written
            if dropped and written - dropped:
                if self._recompute(stripe, dropped):
                    mirrored -= dropped
                else:
                    mirrored.clear()
                self._program_parity(stripe)
            elif dropped:
                mirrored.clear()
                self._with_parity.discard(stripe)
            self._based.setdefault(stripe, set()).intersection_update(mirrored)
            written -= dropped

    def _recompute(self, stripe: int, changed: set[int]) -> bool:
        """Chooses between RMW and RCW for a change of `changed` and counts the pre-reads; true if it is RMW."""
        written, mirrored = self._written[stripe], self._mirrored[stripe]
        rmw = len(changed) + 1 < self.width - len(changed) if self.rule == "fewest" else self.rule == "rmw"
        if rmw and not self._consolidates(changed, mirrored):
            self.counts.rmw += 1
            covered = (written - mirrored) | self._based.get(stripe, set())
            self.counts.pre_reads += len(changed & covered) + (stripe in self._with_parity)
            return True
        self.counts.rcw += 1
        self.counts.pre_reads += len(written - changed)
        return False

    def _consolidates(self, changed: set[int], mirrored: set[int]) -> bool:
        return self._consolidate and not changed <= mirrored and len(changed | mirrored) == self.width

    def _within_limit(self, channel: int) -> bool:
        allowed = self._limit_thousandths * self._programs[channel]
        return self._limit_thousandths > 0 and self._mirrored_writes[channel] * self._data_chips * 1000 <= allowed

    def _program_parity(self, stripe: int) -> None:
        self.counts.parity_programs += 1
        self._with_parity.add(stripe)
        self._programs[self._parity_channel(stripe)] += 1

    def _parity_channel(self, stripe: int) -> int:
        return self.width - stripe % (self.width + 1)

    def _channel(self, stripe: int, strip: int) -> int:
        return strip + (strip >= self._parity_channel(stripe))
