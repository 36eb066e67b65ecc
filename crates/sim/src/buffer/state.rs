//! The data buffer itself: buffered pages, slots, sectors on flash, completions.

use super::departures::Departures;
use super::destaging::Destaging;
use super::options::{BufferKind, BufferOptions, DestageRule, MOST_PAGE_BYTES, SECTOR_BYTES};
use super::page_lru::PageLru;
use super::slots::{Slots, Waiter};
use super::stripe_lru::StripeLru;
use super::victim::Victim;
#[cfg(feature = "mutants")]
use crate::mutants::BufferFault;
use crate::sector_map::SectorMap;
use flashraid_redundancy::Grouping;
use flashraid_vocabulary::memory::reserved;
use flashraid_vocabulary::{Lpn, persistent};
use std::collections::VecDeque;

/// More requests or operations than go on at one instant, or are acknowledged within one access time, but for the rarest.
const MOST_WOKEN: usize = 1 << 12;

/// What a buffer has done so far, in host pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads that found all their sectors of the page buffered.
    pub read_hits: u64,
    /// Other reads.
    pub read_misses: u64,
    /// Writes of a buffered page.
    pub write_hits: u64,
    /// Writes that took in a page.
    pub write_misses: u64,
    /// Times that something left, whatever for: a page, or all pages of a stripe.
    pub evictions: u64,
    /// Pages that left so.
    pub pages_written_out: u64,
    /// Those of the evictions that nothing needed: the buffer destaged by itself.
    pub destages: u64,
    /// Pages that left so.
    pub pages_destaged: u64,
    /// Writes of pages that left on behalf of no request that failed for lack of space: what they held is gone.
    pub failed_no_space: u64,
    /// The same, that failed because flash had lost data that they needed.
    pub failed_lost: u64,
    /// Pages that left, be it DRAM or NVRAM, and did not come to flash.
    pub pages_failed: u64,
}

/// The buffered pages, in the order in which they leave.
#[derive(Clone, Debug)]
enum BufferedPages {
    Single(PageLru),
    Grouped(StripeLru),
}

/// See `buffer`.
#[derive(Clone, Debug)]
pub struct Buffer {
    kind: BufferKind,
    pages: BufferedPages,
    /// What was done so far.
    pub counts: Counts,
    /// Which sectors of each page flash holds once everything decided is done.
    pub(super) on_flash: SectorMap,
    pub(super) departures: Departures,
    slots: Slots,
    destaging: Destaging,
    /// Requests with a page that finds its place: when it is acknowledged, and the request.
    completions: VecDeque<(u64, u32)>,
    answer_ns: u64,
    /// Lent: numbers of discarded pages, and who goes on.
    numbers: Vec<u64>,
    woken: Vec<Waiter>,
    /// A deliberate fault, only for tests of the checkers.
    #[cfg(feature = "mutants")]
    pub(crate) mutant: Option<BufferFault>,
}

// It is empty when the drive is switched off, and so it is when that is switched on again, of DRAM and of NVRAM.
persistent!(Buffer {
    keeps [on_flash],
    anew [
        kind, pages, counts, departures, slots, destaging, completions, answer_ns, numbers, woken,
        #[cfg(feature = "mutants")] mutant,
    ],
});

impl Buffer {
    /// Space for pages (at least one) of `page_bytes` (at most `MOST_PAGE_BYTES`) out of `space_pages`, in stripes of at most `width`,
    /// which `grouping` knows.
    pub fn new(options: BufferOptions, space_pages: u64, page_bytes: u32, grouping: Grouping, width: u32) -> Self {
        let BufferOptions { kind, rule, pages, answer_ns, destage } = options;
        debug_assert!(pages > 0 && page_bytes <= MOST_PAGE_BYTES);
        let shift = (page_bytes / SECTOR_BYTES).trailing_zeros();
        // Pages are numbered with 30 bits.
        let capacity = pages.min(space_pages) as u32;
        let destaging = Destaging::new(destage);
        // Where whoever makes a page leave waits until it has left, there is always space.
        let is_limited = kind == BufferKind::Nvram || destaging.is_on();
        let slots = if is_limited { pages } else { u64::MAX };
        let pages = match rule {
            DestageRule::Page => BufferedPages::Single(PageLru::new(capacity)),
            DestageRule::Stripe(rule) => BufferedPages::Grouped(StripeLru::new(capacity, grouping, width, rule)),
        };
        Self {
            kind,
            pages,
            counts: Counts::default(),
            on_flash: SectorMap::new(space_pages, shift),
            departures: Departures::of_buffer(capacity as usize),
            slots: Slots::new(slots),
            destaging,
            completions: VecDeque::with_capacity(MOST_WOKEN),
            answer_ns,
            numbers: Vec::new(),
            woken: reserved(MOST_WOKEN),
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }

    /// The words for kinds of buffers.
    pub const KINDS: [&'static str; 2] = ["dram", "nvram"];

    /// Whether what it has taken is safe whatever happens to the controller, so that nobody has to wait until flash has it.
    #[inline]
    pub fn survives_power_loss(&self) -> bool {
        self.kind == BufferKind::Nvram
    }

    /// Whether pages wait for space of their own, and what leaves belongs to no request; else a request waits until what it makes leave has left.
    #[inline]
    pub fn admits_pages(&self) -> bool {
        self.slots.is_limited()
    }

    /// Whether the pages of a stripe leave together.
    #[inline]
    pub fn gathers_stripes(&self) -> bool {
        matches!(self.pages, BufferedPages::Grouped(_))
    }

    /// The word for its kind in results.
    pub fn kind(&self) -> &'static str {
        Self::KINDS[usize::from(self.survives_power_loss())]
    }

    // ---- buffered pages ----

    /// Pages buffered.
    pub fn count(&self) -> usize {
        match &self.pages {
            BufferedPages::Single(pages) => pages.count(),
            BufferedPages::Grouped(pages) => pages.count(),
        }
    }

    /// Whether there is no space for another page before one has left.
    #[inline]
    pub fn is_full(&self) -> bool {
        match &self.pages {
            BufferedPages::Single(pages) => pages.is_full(),
            BufferedPages::Grouped(pages) => pages.is_full(),
        }
    }

    /// Asks the processor for what finding the page needs, and, where it will probably leave soon, for what is known of it on flash.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        match &self.pages {
            BufferedPages::Single(pages) => pages.prefetch(lpn),
            BufferedPages::Grouped(pages) => {
                pages.prefetch(lpn);
                self.on_flash.prefetch(lpn);
            }
        }
    }

    /// The entry of a page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        match &self.pages {
            BufferedPages::Single(pages) => pages.find(lpn),
            BufferedPages::Grouped(pages) => pages.find(lpn),
        }
    }

    /// Sectors that an entry holds.
    #[inline]
    pub fn sectors(&self, entry: u32) -> u64 {
        match &self.pages {
            BufferedPages::Single(pages) => pages.sectors(entry),
            BufferedPages::Grouped(pages) => pages.sectors(entry),
        }
    }

    /// With which number the page of an entry was taken in.
    #[inline]
    pub fn number(&self, entry: u32) -> u64 {
        match &self.pages {
            BufferedPages::Single(pages) => pages.number(entry),
            BufferedPages::Grouped(pages) => pages.number(entry),
        }
    }

    /// A read finds something in an entry. It uses a page of DRAM.
    #[inline]
    pub fn read(&mut self, entry: u32) {
        match &mut self.pages {
            _ if self.kind == BufferKind::Nvram => {}
            BufferedPages::Single(pages) => pages.touch(entry),
            BufferedPages::Grouped(pages) => pages.touch(entry),
        }
    }

    /// Adds sectors to a buffered page: the latest use of it, and write of its stripe.
    #[inline]
    pub fn merge(&mut self, entry: u32, sectors: u64) {
        #[cfg(feature = "mutants")]
        let sectors = if self.mutant == Some(BufferFault::LoseMerge) { 0 } else { sectors };
        match &mut self.pages {
            BufferedPages::Single(pages) => pages.merge(entry, sectors),
            BufferedPages::Grouped(pages) => pages.merge(entry, sectors),
        }
    }

    /// Takes in a page that is not there; there must be space. Returns its entry.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, sectors: u64, now_ns: u64) -> u32 {
        let number = self.slots.take_in();
        let entry = match &mut self.pages {
            BufferedPages::Single(pages) => pages.insert(lpn, sectors, number),
            BufferedPages::Grouped(pages) => pages.insert(lpn, sectors, number),
        };
        self.destaging.grew(self.count(), now_ns);
        entry
    }

    /// Takes out what leaves next: nothing if nothing is buffered.
    pub fn evict(&mut self, victims: &mut Vec<Victim>) {
        match &mut self.pages {
            BufferedPages::Single(pages) => victims.extend(pages.take_oldest()),
            BufferedPages::Grouped(pages) => pages.take_group(victims),
        }
        self.destaging.shrank(self.count());
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::LosePage) && victims.len() > 1 {
            victims.pop();
        }
        self.counts.evictions += u64::from(!victims.is_empty());
        self.counts.pages_written_out += victims.len() as u64;
    }

    /// When the next victim leaves that need not; `NEVER` while none does.
    #[inline]
    pub fn next_destage_ns(&self) -> u64 {
        self.destaging.due_ns()
    }

    /// Takes out the victim that is due.
    pub fn destage(&mut self, victims: &mut Vec<Victim>) {
        let before = self.count();
        self.evict(victims);
        let pages = before - self.count();
        self.destaging.left(pages);
        self.counts.destages += 1;
        self.counts.pages_destaged += pages as u64;
    }

    /// The page leaves. Returns whether its sectors cover all that flash holds of it.
    #[inline]
    pub fn covers(&mut self, victim: &Victim) -> bool {
        let covers = self.on_flash.get(victim.lpn) & !victim.sectors == 0;
        #[cfg(feature = "mutants")]
        if let Some(covers) = self.distort_covers(victim) {
            return covers;
        }
        #[cfg(feature = "mutants")]
        let covers = covers || self.mutant == Some(BufferFault::AlwaysCovers);
        self.on_flash.add(victim.lpn, victim.sectors);
        covers
    }

    /// Whether an eviction covers what flash holds, and what flash is taken to hold then, by a deliberate fault; `None` without one.
    #[cfg(feature = "mutants")]
    fn distort_covers(&mut self, victim: &Victim) -> Option<bool> {
        let on_flash = self.on_flash.get(victim.lpn);
        match self.mutant? {
            BufferFault::CoversByCount => {
                self.on_flash.add(victim.lpn, victim.sectors);
                Some(victim.sectors.count_ones() >= on_flash.count_ones())
            }
            BufferFault::ForgetMark => Some(on_flash & !victim.sectors == 0),
            BufferFault::MarkShort => {
                self.on_flash.add(victim.lpn, victim.sectors & victim.sectors >> 1);
                Some(on_flash & !victim.sectors == 0)
            }
            _ => None,
        }
    }

    /// A page that will probably leave some evictions from now; what is known of it here is fetched.
    #[inline]
    pub fn upcoming(&mut self) -> Option<Lpn> {
        let BufferedPages::Single(pages) = &mut self.pages else { return None };
        let lpn = pages.upcoming()?;
        pages.prefetch(lpn);
        self.on_flash.prefetch(lpn);
        Some(lpn)
    }

    /// Takes out every page from `first` on, before `end`. Operations that may start now are appended to `startable`.
    pub fn discard(&mut self, first: u64, end: u64, now_ns: u64, startable: &mut Vec<u32>) {
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::ForgetTrim) {
            return;
        }
        match &mut self.pages {
            BufferedPages::Single(pages) => pages.remove_range(first, end, &mut self.numbers),
            BufferedPages::Grouped(pages) => pages.remove_range(first, end, &mut self.numbers),
        }
        for number in self.numbers.drain(..) {
            self.slots.discard(number, &mut self.woken);
        }
        self.wake(now_ns, startable);
        self.destaging.shrank(self.count());
    }

    // ---- slots ----

    /// Whether pages wait for space.
    pub fn waits_for_slots(&self) -> bool {
        self.slots.has_waiting()
    }

    /// Operation `operation` writes pages out of which the one with this number was taken in last. Returns whether it has to wait for it.
    pub fn waits_for_admission(&mut self, number: u64, operation: u32) -> bool {
        let waits = !self.slots.is_admitted(number);
        if waits {
            self.slots.wait(number, Waiter::Operation(operation));
        }
        waits
    }

    /// A page has left, and gives its slot back. Operations that may start now are appended to `startable`.
    pub fn release(&mut self, _lpn: Lpn, now_ns: u64, startable: &mut Vec<u32>) {
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::ForgetRewritten) {
            self.discard(_lpn.0, _lpn.0 + 1, now_ns, startable);
        }
        if self.admits_pages() {
            self.slots.release(&mut self.woken);
            self.wake(now_ns, startable);
        }
    }

    fn wake(&mut self, now_ns: u64, startable: &mut Vec<u32>) {
        for waiter in self.woken.drain(..) {
            match waiter {
                Waiter::Request(request) => self.completions.push_back((now_ns + self.answer_ns, request)),
                Waiter::Operation(operation) => startable.push(operation),
            }
        }
    }

    // ---- sectors ----

    /// Sectors of a page, as a power of two.
    #[inline]
    pub fn sector_shift(&self) -> u32 {
        self.on_flash.shift
    }

    /// Every sector of a page.
    #[inline]
    pub fn all_sectors(&self) -> u64 {
        u64::MAX >> (64 - (1 << self.on_flash.shift))
    }

    /// The 64ths of a page that sectors are.
    pub fn lanes_of(&self, sectors: u64) -> u64 {
        let lanes = 64 >> self.on_flash.shift;
        let set = (0..1 << self.on_flash.shift).filter(|sector| sectors >> sector & 1 == 1);
        set.fold(0, |all, sector| all | (u64::MAX >> (64 - lanes)) << (sector * lanes))
    }

    /// Sectors of the page that flash will hold once everything decided is done.
    #[inline]
    pub fn on_flash(&self, lpn: Lpn) -> u64 {
        self.on_flash.get(lpn)
    }

    /// Flash holds all of the page.
    pub fn is_on_flash(&mut self, lpn: Lpn) {
        self.on_flash.add(lpn, self.all_sectors());
    }

    /// Of the page flash holds these sectors alone.
    pub fn is_left_with(&mut self, lpn: Lpn, sectors: u64) {
        self.on_flash.set(lpn, sectors);
    }

    /// Flash holds nothing of the page any more.
    pub fn is_off_flash(&mut self, lpn: Lpn) {
        self.on_flash.set(lpn, 0);
    }

    // ---- completions ----

    /// The request needs pages of which the one with this number was taken in last: it is acknowledged some time after that one has its place.
    #[inline]
    pub fn complete_later(&mut self, now_ns: u64, request: u32, number: u64) {
        if self.slots.is_admitted(number) {
            self.completions.push_back((now_ns + self.answer_ns, request));
        } else {
            self.slots.wait(number, Waiter::Request(request));
        }
    }

    /// Access time.
    pub fn answer_ns(&self) -> u64 {
        self.answer_ns
    }

    /// When the next answer is due; `u64::MAX` for never.
    #[inline]
    pub fn next_completion_ns(&self) -> u64 {
        self.completions.front().map_or(u64::MAX, |answer| answer.0)
    }

    /// Takes the next answer: when, and which request.
    pub fn take_completion(&mut self) -> Option<(u64, u32)> {
        self.completions.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::super::departures::{Departure, HeldSectors};
    use super::super::destaging::DestageOptions;
    use super::*;

    fn dram(pages: u64, space_pages: u64, page_bytes: u32) -> Buffer {
        let (kind, rule, destage) = (BufferKind::Dram, DestageRule::Page, DestageOptions::WHEN_FULL);
        Buffer::new(BufferOptions { kind, rule, pages, answer_ns: 0, destage }, space_pages, page_bytes, Grouping::Even(1), 1)
    }

    #[test]
    fn sectors_on_flash_of_each_page_size() {
        for page_bytes in [512, 1024, 4096, 32_768] {
            let mut buffer = dram(4, 100, page_bytes);
            let all = buffer.all_sectors();
            assert_eq!(all.count_ones(), page_bytes / 512);
            buffer.is_on_flash(Lpn(41));
            buffer.is_on_flash(Lpn(99));
            let held: Vec<u64> = [40, 41, 42, 98, 99].map(|page| buffer.on_flash(Lpn(page))).into();
            assert_eq!(held, [0, all, 0, 0, all]);
            buffer.is_off_flash(Lpn(41));
            assert_eq!((buffer.on_flash(Lpn(41)), buffer.on_flash(Lpn(99))), (0, all));
        }
    }

    #[test]
    fn an_eviction_covers_what_flash_holds_or_not() {
        let mut buffer = dram(1, 10, 4096);
        let mut number = 0;
        let mut evict = |sectors| {
            number += 1;
            buffer.insert(Lpn(3), sectors, 0);
            let mut victims = Vec::new();
            buffer.evict(&mut victims);
            assert_eq!(victims, [Victim { entry: 0, lpn: Lpn(3), sectors, number }]);
            buffer.covers(&victims[0])
        };
        assert!(evict(0b0011), "nothing is there");
        assert!(evict(0b0111), "all that is there goes");
        assert!(!evict(0b0110), "a sector stays");
        assert!(!evict(0b1000));
        assert!(evict(0b1111));
        assert_eq!((buffer.counts.evictions, buffer.counts.pages_written_out), (5, 5));
        buffer.is_off_flash(Lpn(3));
        assert!(buffer.covers(&Victim { entry: 0, lpn: Lpn(3), sectors: 1, number: 0 }), "nothing is left");
    }

    #[test]
    fn pages_that_leave_are_known_until_their_operations_end() {
        let mut buffer = dram(1, 10, 4096);
        let of = |operation, sectors: Option<u64>| Departure { operation, strip: 0, sectors, replaces: sectors.is_none(), number: 0 };
        let known = |sectors, is_all| HeldSectors { sectors, is_all, number: 0 };
        buffer.depart(Lpn(3), of(7, Some(0b01)));
        buffer.depart(Lpn(4), of(8, Some(0b11)));
        buffer.depart(Lpn(3), of(9, Some(0b10)));
        assert_eq!(buffer.leaving(Lpn(3)), known(0b11, false));
        buffer.depart(Lpn(3), of(10, None));
        assert_eq!(buffer.leaving(Lpn(3)), known(0, true), "a trim hides what came before");
        buffer.depart(Lpn(3), of(11, Some(0b100)));
        assert_eq!(buffer.leaving(Lpn(3)), known(0b100, true));
        assert_eq!(buffer.departures(Lpn(3)).map(|departure| departure.operation).collect::<Vec<_>>(), [7, 9, 10, 11]);
        for operation in [7, 9, 10] {
            assert!(buffer.leaving(Lpn(3)).is_all);
            buffer.arrive(Lpn(3), operation);
        }
        assert_eq!(buffer.leaving(Lpn(3)), known(0b100, false));
        buffer.arrive(Lpn(3), 11);
        assert!(!buffer.holds(Lpn(3)) && buffer.holds(Lpn(4)));
    }

    #[test]
    fn only_all_that_flash_holds_of_a_page_renews_it() {
        let (page, part) = (Lpn(3), 0b0110);
        let mut buffer = dram(4, 10, 4096);
        let all = buffer.all_sectors();
        assert!(!buffer.renews(page), "what nobody has is not written anew");
        buffer.is_on_flash(page);
        for (sectors, expected) in [(Some(part), false), (Some(all), true), (None, true)] {
            buffer.depart(page, Departure { operation: 7, strip: 0, sectors, replaces: sectors.is_none(), number: 0 });
            assert_eq!(buffer.renews(page), expected);
            assert_eq!(buffer.arrive(page, 7), sectors);
            assert!(!buffer.renews(page), "it is on flash, or nowhere");
        }
        buffer.insert(page, part, 0);
        assert!(!buffer.renews(page));
        buffer.merge(buffer.find(page).unwrap(), all);
        assert!(buffer.renews(page));
        // Of another page flash holds two sectors: one of them is on its way again, the other one buffered, with a third.
        let page = Lpn(4);
        assert!(buffer.covers(&Victim { entry: 0, lpn: page, sectors: part, number: 0 }));
        assert!(!buffer.renews(page));
        buffer.depart(page, Departure { operation: 8, strip: 0, sectors: Some(0b0010), replaces: false, number: 0 });
        assert!(!buffer.renews(page));
        buffer.insert(page, 0b1100, 0);
        assert!(buffer.renews(page));
    }
}
