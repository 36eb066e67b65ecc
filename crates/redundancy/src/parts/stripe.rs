//! The state of a stripe, and the one rule that recovers its lost pages.
//!
//! A strip is *dirty* if it has changed since the parity on flash was computed. That parity covers the *base* of a dirty strip (the version from which
//! it was computed; zero if there was none) and the current version of every other, *clean* strip. A scheme protects dirty strips by a *guard*:
//!
//! ```text
//! parity  = XOR of base_i, i dirty, and current_i, i clean
//! copy_i  = current_i, i dirty                                 Guard::Copy (CR5M, SPEC 1.2)
//! deferred = XOR of current_i, i dirty                         Guard::DeferredParity (PPC, and FPC with all strips dirty, SPEC 4.2)
//! ```
//!
//! RAID-4 and RAID-5 have no dirty strips. FRA has no guard (`Guard::None`), and its parity is void once a base is erased.
//!
//! So a lost clean strip is the XOR of the parity and of the versions that it covers of the other strips; a lost dirty strip is recovered from its
//! guard. A recovery reads a set of versions whose XOR, by these equations, is the lost content (`Sum`).

use crate::parts::bits::{self, Bits};
use crate::stripe_map::Row;
use crate::{Lost, Method, Source};
use flashraid_vocabulary::{MemberPage, Version, View};
use std::ops::BitXor;

/// What failures took of a stripe; nothing, mostly. Only what is written is ever lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Data strips whose current version is lost.
    pub current: u64,
    /// Dirty strips whose base is lost.
    pub base: u64,
    /// Dirty strips whose copy is lost.
    pub copy: u64,
    /// Whether the parity is lost.
    pub parity: bool,
}

/// What holds the newest version of a dirty strip beside the strip itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Nothing.
    None,
    /// A copy of each.
    Copy,
    /// NVRAM holds the XOR of all.
    DeferredParity,
}

/// An XOR of versions of a stripe's pages, and of what NVRAM holds of its parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Data strips: their current versions.
    pub current: u64,
    /// Data strips: their bases.
    pub base: u64,
    /// Data strips: their copies.
    pub copy: u64,
    /// The parity on flash.
    pub parity: bool,
    /// What NVRAM holds.
    pub deferred: bool,
}

impl BitXor for Sum {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self {
            current: self.current ^ other.current,
            base: self.base ^ other.base,
            copy: self.copy ^ other.copy,
            parity: self.parity ^ other.parity,
            deferred: self.deferred ^ other.deferred,
        }
    }
}

impl Sum {
    /// The current version of a strip.
    fn of(strip: u32) -> Self {
        Self { current: 1 << strip, ..Self::default() }
    }

    /// The versions on flash, strip by strip, and the parity last.
    #[inline]
    pub fn each_version<R: Row>(self, row: &R, mut act: impl FnMut(MemberPage, Version)) {
        for strip in Bits(self.current | self.base | self.copy) {
            for (strips, version) in [(self.current, Version::Current), (self.base, Version::Base), (self.copy, Version::Copy)] {
                if strips >> strip & 1 == 1 {
                    act(row.data(strip), version);
                }
            }
        }
        if self.parity {
            act(row.parity(), Version::Current);
        }
    }
}

/// A stripe as a plan sees it.
#[derive(Clone, Copy, Debug)]
pub struct Stripe<R> {
    /// Where its strips lie.
    pub row: R,
    /// Its dirty data strips.
    pub dirty: u64,
    /// What guards them.
    pub guard: Guard,
    /// Of a strip with a copy either version is read; without it the current one wherever it is there.
    pub reads_copies: bool,
    /// A base that the parity covers is gone, so that it is of no use (only without a guard).
    pub is_void: bool,
    /// What failures took of it.
    pub lost: Losses,
}

impl<R: Row> Stripe<R> {
    /// A stripe of which nothing is lost.
    #[inline]
    pub fn new(row: R, dirty: u64, guard: Guard) -> Self {
        Self { row, dirty, guard, reads_copies: true, is_void: false, lost: Losses::default() }
    }

    /// With what is lost of its data strips `strips`, and of its parity.
    #[inline]
    pub fn with_losses(self, strips: u64, view: &dyn View) -> Self {
        if !view.has_failures() {
            return self;
        }
        let row = self.row;
        let lost = |strips, version| {
            let is_lost = |strip: &u32| view.is_lost(row.data(*strip), version);
            bits::of(Bits(strips).filter(is_lost))
        };
        let dirty = strips & self.dirty;
        let lost = Losses {
            current: lost(strips, Version::Current),
            base: lost(dirty, Version::Base),
            copy: lost(if self.guard == Guard::Copy { dirty } else { 0 }, Version::Copy),
            parity: view.is_lost(row.parity(), Version::Current),
        };
        Self { lost, ..self }
    }

    /// Every data strip.
    #[inline]
    pub fn all(&self) -> u64 {
        self.row.all()
    }

    // ---- the rule of recovery ----

    /// What the newest version of a data strip is the sum of, other than itself; `None` if there is nothing.
    pub fn others(&self, strip: u32) -> Option<Sum> {
        let own = 1 << strip;
        match self.guard {
            _ if self.dirty & own == 0 => {
                Some(Sum { current: self.all() & !self.dirty & !own, base: self.dirty, parity: true, ..Sum::default() })
            }
            Guard::None => None,
            Guard::Copy => Some(Sum { copy: own, ..Sum::default() }),
            Guard::DeferredParity => Some(Sum { current: self.dirty & !own, deferred: true, ..Sum::default() }),
        }
    }

    /// Whether nothing of the sum is lost.
    pub fn can_read(&self, sum: &Sum) -> bool {
        let Losses { current, base, copy, parity } = self.lost;
        sum.current & current == 0 && sum.base & base == 0 && sum.copy & copy == 0 && !(sum.parity && (parity || self.is_void))
    }

    /// What the newest version of a data strip is the sum of; `None` if it is lost for good.
    pub fn newest(&self, strip: u32) -> Option<Sum> {
        let others = || self.others(strip).filter(|sum| self.can_read(sum));
        Some(Sum::of(strip)).filter(|own| self.can_read(own)).or_else(others)
    }

    /// Whether the newest version of each of `strips` can be had.
    pub fn has_newest(&self, strips: u64) -> bool {
        strips & self.lost.current == 0 || Bits(strips).all(|strip| self.newest(strip).is_some())
    }

    /// Fills in what data strip `strip`, which is lost, is the sum of, with all versions gone of which `lost` says so. Returns whether it is there.
    pub fn recover(&self, strip: u32, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        sources.clear();
        let Some(sum) = self.others(strip).filter(|sum| !(sum.parity && self.is_void)) else { return false };
        sum.each_version(&self.row, |page, version| sources.push(Source::plain(page, version)));
        let is_whole = sources.iter().all(|source| !lost(source.page, source.version));
        sources.extend(sum.deferred.then(|| Source::plain(self.row.parity(), Version::DeferredParity)));
        is_whole
    }

    /// Whether an operation that writes `written` may leave the stripe as `after`: all that it writes can be had then, and of the rest what can be had now.
    pub fn may_become(&self, after: &Self, written: u64) -> bool {
        Bits(self.all()).all(|strip| after.newest(strip).is_some() || written >> strip & 1 == 0 && self.newest(strip).is_none())
    }

    // ---- reading and changing ----

    /// The version of a strip that the parity covers.
    #[inline]
    pub fn covered(&self, strip: u32) -> Version {
        if self.dirty >> strip & 1 == 1 { Version::Base } else { Version::Current }
    }

    /// Data strips whose current version is lost, but not their copy.
    #[inline]
    pub fn backed(&self) -> u64 {
        if self.guard == Guard::Copy { self.lost.current & self.dirty & !self.lost.copy } else { 0 }
    }

    /// Data strips of which no page that can be read holds the newest content.
    #[inline]
    pub fn unreadable(&self) -> u64 {
        self.lost.current & !self.backed()
    }

    /// The version to read for the newest content of a strip, which is readable: of one with a copy, that whose LUN is free earlier, if either is
    /// read; a tie goes to the current version (SPEC 1.5).
    #[inline]
    pub fn readable(&self, strip: u32, view: &dyn View) -> Version {
        if self.guard != Guard::Copy || (self.dirty & !self.lost.copy) >> strip & 1 == 0 {
            return Version::Current;
        }
        let page = self.row.data(strip);
        let has_lost_current = self.lost.current >> strip & 1 == 1;
        let is_free_earlier = || view.busy_ns_at(page, Version::Copy) < view.busy_ns_at(page, Version::Current);
        if has_lost_current || self.reads_copies && is_free_earlier() { Version::Copy } else { Version::Current }
    }

    /// What RMW and RCW read for a change of `changed`.
    pub fn reads_of_update(&self, changed: u64) -> [Sum; 2] {
        let (others, backed) = (self.all() & !changed, self.backed());
        let rmw = Sum { current: changed & !self.dirty, base: changed & self.dirty, parity: true, ..Sum::default() };
        [rmw, Sum { current: others & !backed, copy: others & backed, ..Sum::default() }]
    }

    /// `preferred` for a change of `changed`, if that reads nothing that is lost; else the other one of RMW and RCW; `Method::None` if
    /// no parity can be made (SPEC 0.6, degraded writes).
    #[inline]
    pub fn possible(&self, preferred: Method, changed: u64) -> Method {
        let reads_lost = match preferred {
            Method::Rmw => self.reads_lost_by_rmw(changed),
            Method::Rcw => self.reads_lost_by_rcw(changed),
            Method::None | Method::FullStripe | Method::Mirrored | Method::Deferred => false,
        };
        match preferred {
            Method::Rmw if reads_lost && !self.reads_lost_by_rcw(changed) => Method::Rcw,
            Method::Rcw if reads_lost && !self.reads_lost_by_rmw(changed) => Method::Rmw,
            _ if reads_lost => Method::None,
            _ => preferred,
        }
    }

    #[inline]
    fn reads_lost_by_rmw(&self, changed: u64) -> bool {
        let uncovered = self.lost.current & !self.dirty | self.lost.base & self.dirty;
        self.lost.parity || self.is_void || uncovered & changed != 0
    }

    #[inline]
    fn reads_lost_by_rcw(&self, changed: u64) -> bool {
        self.unreadable() & !changed != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stripe_map::StripeMap;
    use crate::stripe_map::formula::{Formula, FormulaRow, Layout};
    use flashraid_vocabulary::StripeId;

    const WIDTH: u32 = 4;

    /// Every state of a stripe of four strips, with everything lost of it that can be lost.
    fn states() -> impl Iterator<Item = Stripe<FormulaRow>> {
        let row = Formula::new(Layout::LeftAsymmetric, WIDTH as u16 + 1, 1).row(StripeId(0));
        let guards = [Guard::None, Guard::Copy, Guard::DeferredParity];
        let of_guard = move |guard| (0..1u64 << WIDTH).map(move |dirty| Stripe::new(row, dirty, guard));
        let lost = |current, base: u64, copy: u64, parity| Losses { current, base, copy, parity };
        let with_lost = move |stripe: Stripe<FormulaRow>| {
            let subsets = |of: u64| (0..1u64 << WIDTH).filter(move |set| set & !of == 0);
            let copies = if stripe.guard == Guard::Copy { stripe.dirty } else { 0 };
            let data = (0..1u64 << WIDTH).flat_map(move |current| subsets(stripe.dirty).map(move |base| (current, base)));
            let all = data.flat_map(move |(current, base)| subsets(copies).map(move |copy| (current, base, copy)));
            all.flat_map(move |(current, base, copy)| {
                [false, true].map(|parity| Stripe { lost: lost(current, base, copy, parity), ..stripe })
            })
        };
        guards.into_iter().flat_map(of_guard).flat_map(with_lost)
    }

    /// Contents that satisfy the lines of the module, and what a sum of them is.
    fn value(stripe: &Stripe<FormulaRow>, sum: Sum) -> u64 {
        let current = |strip: u32| 1u64 << strip;
        let base = |strip: u32| 0x100u64 << strip;
        let xor = |strips: u64, of: &dyn Fn(u32) -> u64| Bits(strips).fold(0, |all, strip| all ^ of(strip));
        let (dirty, clean) = (stripe.dirty, stripe.all() & !stripe.dirty);
        let parity = xor(dirty, &base) ^ xor(clean, &current);
        let deferred = xor(dirty, &current);
        xor(sum.current | sum.copy, &current)
            ^ xor(sum.base, &base)
            ^ (parity * u64::from(sum.parity))
            ^ (deferred * u64::from(sum.deferred))
    }

    #[test]
    fn what_is_read_for_a_strip_adds_up_to_it() {
        for stripe in states() {
            for strip in 0..WIDTH {
                for sum in [stripe.newest(strip), stripe.others(strip)].into_iter().flatten() {
                    assert_eq!(value(&stripe, sum), 1 << strip, "{stripe:?}: strip {strip} as {sum:?}");
                }
                assert!(stripe.newest(strip).is_none_or(|sum| stripe.can_read(&sum)));
            }
        }
    }

    /// With one page of each line lost, or one page and the parity of a clean strip, all guards but none give back what they promise.
    #[test]
    fn one_loss_takes_nothing_that_is_guarded() {
        for stripe in states().filter(|stripe| stripe.guard != Guard::None && !stripe.lost.parity) {
            let Losses { current, base, copy, .. } = stripe.lost;
            if (current.count_ones() + base.count_ones() + copy.count_ones()) == 1 {
                assert!(stripe.has_newest(stripe.all()), "{stripe:?}");
            }
        }
        for stripe in states().filter(|stripe| stripe.guard == Guard::None && !stripe.lost.parity && stripe.lost.base == 0) {
            let lost = stripe.lost.current;
            let is_covered = lost.count_ones() <= 1 && lost & stripe.dirty == 0;
            assert_eq!(stripe.has_newest(stripe.all()), is_covered, "{stripe:?}");
        }
    }
}
