//! The data buffer: pages that the host wrote and that leave for flash later. A layer between the host and any scheme, which holds no reads
//! (SPEC 2.7 ruling 4). There are two kinds. One is the controller's DRAM (SPEC 2.2, 2.4): volatile (SPEC 2.7 ruling 5), pages leave one by
//! one, and the request that makes a page leave waits until flash has it. The other is NVRAM (SPEC 4.2, 4.4): what it has taken counts as
//! durable, the pages of a stripe leave together, and a request waits for nothing but room for its pages.
//!
//! Four things are kept. What is *decided* moves in the order of requests, so that hits, victims and evictions do not depend on timing
//! (DESIGN idea 9): the buffered pages (`page_lru` and `stripe_lru`, the policies), and which sectors of each page flash holds, which tells
//! whether an eviction needs the old page beneath it. Pages that *leave* stay readable until their operation ends. *Room*: pages that leave the
//! DRAM give their room to the page that caused the eviction only then, so the DRAM is never too small; NVRAM admits pages as slots come
//! back (`room`). *Answers* are due a fixed time after a page found its place, so they form one queue.

mod page_lru;
mod room;
mod stripe_lru;
mod table;

#[cfg(feature = "mutants")]
use crate::mutants::BufferFault;
use flashraid_vocabulary::Lpn;
use flashraid_vocabulary::memory::{prefetch, reserved, zeroed};
use page_lru::PageLru;
use room::Room;
pub use room::Waiter;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use stripe_lru::StripeLru;
pub use stripe_lru::VictimRule;
use table::NIL;

/// Bytes of a sector: the unit in which a buffer knows parts of pages.
pub const SECTOR_BYTES: u32 = 512;
/// Largest page of a buffered device: its sectors are bits of a word.
pub const MOST_PAGE_BYTES: u32 = 64 * SECTOR_BYTES;

/// Requests and operations that hardly ever go on at one instant.
const MOST_WOKEN: usize = 1 << 12;

/// Of which kind a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The controller's DRAM.
    Dram,
    /// NVRAM; which pages leave first.
    Nvram(VictimRule),
}

/// What a buffer is made of.
#[derive(Clone, Copy, Debug)]
pub struct BufferOptions {
    /// Its kind.
    pub kind: Kind,
    /// Pages that it holds.
    pub pages: u64,
    /// Time in which it answers.
    pub answer_ns: u64,
}

/// A page that has to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its entry, which the next page may get.
    pub entry: u32,
    /// The page.
    pub lpn: Lpn,
    /// The sectors it holds.
    pub sectors: u64,
    /// With which number NVRAM took it in; 0 in DRAM.
    pub number: u64,
}

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
    /// Times that something had to leave: a page of the DRAM, all pages of a stripe of NVRAM.
    pub evictions: u64,
    /// Pages that left so.
    pub pages_written_out: u64,
    /// Writes of pages that left NVRAM, whose request was answered long ago, that failed for lack of space: what they held is gone.
    pub failed_no_space: u64,
    /// The same, that failed because flash had lost data that they needed.
    pub failed_lost: u64,
}

/// A page or a trim on its way to flash.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The slot of its operation.
    pub operation: u32,
    /// Which of the operation's strips it is.
    pub strip: u8,
    /// Sectors that it writes; `None` for a trim, beneath which nothing counts any more.
    pub sectors: Option<u64>,
    /// With which number NVRAM took the page in.
    pub number: u64,
}

/// What the buffer knows of a page: sectors that it holds, and whether all others are zero, as a trim is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Sectors in the buffer.
    pub sectors: u64,
    /// Whether flash has nothing that counts.
    pub is_all: bool,
    /// The greatest number with which NVRAM took them in.
    pub number: u64,
}

/// What a read takes of a page from where, as things are: sectors of its entry, beneath it those on their way out, beneath these what flash holds.
/// All others are zeroes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Its entry, if it is buffered.
    pub entry: Option<u32>,
    /// Sectors of the entry.
    pub buffered: u64,
    /// What pages that leave hold of it.
    pub leaving: Known,
    /// Sectors that flash holds, if they count.
    pub on_flash: u64,
}

impl Taken {
    /// Sectors that come from the buffer.
    #[inline]
    pub fn from_buffer(&self) -> u64 {
        self.buffered | self.leaving.sectors
    }

    /// Sectors that come from flash.
    #[inline]
    pub fn from_flash(&self) -> u64 {
        self.on_flash & !self.from_buffer()
    }
}

/// Pages that leave, by page in the order in which they were decided, which is the order in which they end: they queue at one lock.
#[derive(Clone, Debug, Default)]
struct Departures {
    /// Each with the next later one of the same page.
    list: Vec<(Departure, u32)>,
    unused: Vec<u32>,
    /// First and last departure of each page that has one.
    pages: FxHashMap<u32, (u32, u32)>,
}

/// Which sectors of each page flash holds once everything decided is done: a bit for each sector.
#[derive(Clone, Debug)]
struct OnFlash {
    words: Vec<u64>,
    /// Sectors of a page, as a power of two.
    shift: u32,
}

impl OnFlash {
    #[inline]
    fn get(&self, lpn: Lpn) -> u64 {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] >> (bit & 63) & u64::MAX >> (64 - (1 << self.shift))
    }

    #[inline]
    fn add(&mut self, lpn: Lpn, sectors: u64) {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] |= sectors << (bit & 63);
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.words, (lpn.0 << self.shift >> 6) as usize);
    }

    fn clear(&mut self, lpn: Lpn) {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] &= !(u64::MAX >> (64 - (1 << self.shift)) << (bit & 63));
    }
}

/// The buffered pages, in the order in which they leave.
#[derive(Clone, Debug)]
enum Pages {
    Dram(PageLru),
    Nvram(StripeLru),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Buffer {
    pages: Pages,
    /// What was done so far.
    pub counts: Counts,
    on_flash: OnFlash,
    departures: Departures,
    room: Room,
    /// Requests with a page that finds its place: when it is answered, and the request.
    answers: VecDeque<(u64, u32)>,
    answer_ns: u64,
    /// Lent: numbers of discarded pages, and who goes on.
    numbers: Vec<u64>,
    woken: Vec<Waiter>,
    /// A deliberate fault, only for tests of the checkers.
    #[cfg(feature = "mutants")]
    pub(crate) mutant: Option<BufferFault>,
}

impl Buffer {
    /// Room for pages (at least one) of `page_bytes` (at most `MOST_PAGE_BYTES`) out of `space_pages`, in stripes of `width`.
    pub fn new(options: BufferOptions, space_pages: u64, page_bytes: u32, width: u32) -> Self {
        let BufferOptions { kind, pages, answer_ns } = options;
        debug_assert!(pages > 0 && page_bytes <= MOST_PAGE_BYTES);
        let shift = (page_bytes / SECTOR_BYTES).trailing_zeros();
        // Pages are numbered with 30 bits.
        let capacity = pages.min(space_pages) as u32;
        let (pages, room) = match kind {
            Kind::Dram => (Pages::Dram(PageLru::new(capacity)), u64::MAX),
            Kind::Nvram(rule) => (Pages::Nvram(StripeLru::new(capacity, width, rule)), pages),
        };
        Self {
            pages,
            counts: Counts::default(),
            on_flash: OnFlash { words: zeroed(((space_pages << shift) >> 6) as usize + 1), shift },
            departures: Departures::default(),
            room: Room::new(room),
            answers: VecDeque::new(),
            answer_ns,
            numbers: Vec::new(),
            woken: reserved(MOST_WOKEN),
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }

    /// Whether what it has taken is safe whatever happens to the controller, so that nobody has to wait until flash has it.
    #[inline]
    pub fn survives_power_loss(&self) -> bool {
        matches!(self.pages, Pages::Nvram(_))
    }

    /// The word for its kind in results.
    pub fn kind(&self) -> &'static str {
        if self.survives_power_loss() { "nvram" } else { "dram" }
    }

    // ---- buffered pages ----

    /// Pages buffered.
    pub fn count(&self) -> usize {
        match &self.pages {
            Pages::Dram(pages) => pages.count(),
            Pages::Nvram(pages) => pages.count(),
        }
    }

    /// Whether there is no room for another page before one has left.
    #[inline]
    pub fn is_full(&self) -> bool {
        match &self.pages {
            Pages::Dram(pages) => pages.is_full(),
            Pages::Nvram(pages) => pages.is_full(),
        }
    }

    /// Asks the processor for what finding the page needs, and, where it will probably leave soon, for what is known of it on flash.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        match &self.pages {
            Pages::Dram(pages) => pages.prefetch(lpn),
            Pages::Nvram(pages) => {
                pages.prefetch(lpn);
                self.on_flash.prefetch(lpn);
            }
        }
    }

    /// The entry of a page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        match &self.pages {
            Pages::Dram(pages) => pages.find(lpn),
            Pages::Nvram(pages) => pages.find(lpn),
        }
    }

    /// Sectors that an entry holds.
    #[inline]
    pub fn sectors(&self, entry: u32) -> u64 {
        match &self.pages {
            Pages::Dram(pages) => pages.sectors(entry),
            Pages::Nvram(pages) => pages.sectors(entry),
        }
    }

    /// With which number NVRAM took in the page of an entry; 0 in DRAM.
    #[inline]
    pub fn number(&self, entry: u32) -> u64 {
        match &self.pages {
            Pages::Dram(_) => 0,
            Pages::Nvram(pages) => pages.number(entry),
        }
    }

    /// A read finds something in an entry.
    #[inline]
    pub fn read(&mut self, entry: u32) {
        if let Pages::Dram(pages) = &mut self.pages {
            pages.touch(entry);
        }
    }

    /// Adds sectors to a buffered page: the latest use of it, and write of its stripe.
    #[inline]
    pub fn merge(&mut self, entry: u32, sectors: u64) {
        #[cfg(feature = "mutants")]
        let sectors = if self.mutant == Some(BufferFault::LoseMerge) { 0 } else { sectors };
        match &mut self.pages {
            Pages::Dram(pages) => pages.merge(entry, sectors),
            Pages::Nvram(pages) => pages.merge(entry, sectors),
        }
    }

    /// Takes in a page that is not there; there must be room. Returns its entry.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, sectors: u64) -> u32 {
        match &mut self.pages {
            Pages::Dram(pages) => pages.insert(lpn, sectors),
            Pages::Nvram(pages) => pages.insert(lpn, sectors, self.room.take_in()),
        }
    }

    /// Takes out what leaves next: nothing if nothing is buffered.
    pub fn evict(&mut self, victims: &mut Vec<Victim>) {
        match &mut self.pages {
            Pages::Dram(pages) => victims.extend(pages.take_oldest()),
            Pages::Nvram(pages) => pages.take_group(victims),
        }
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::LosePage) && victims.len() > 1 {
            victims.pop();
        }
        self.counts.evictions += u64::from(!victims.is_empty());
        self.counts.pages_written_out += victims.len() as u64;
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
        let Pages::Dram(pages) = &mut self.pages else { return None };
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
            Pages::Dram(pages) => pages.remove_range(first, end),
            Pages::Nvram(pages) => {
                pages.remove_range(first, end, &mut self.numbers);
                for number in self.numbers.drain(..) {
                    self.room.discard(number, &mut self.woken);
                }
                self.wake(now_ns, startable);
            }
        }
    }

    // ---- room ----

    /// Whether pages wait for room.
    pub fn is_short_of_room(&self) -> bool {
        self.room.is_short()
    }

    /// Operation `operation` writes pages out of which the one with this number was taken in last. Returns whether it has to wait for it.
    pub fn waits_for_admission(&mut self, number: u64, operation: u32) -> bool {
        let waits = !self.room.is_admitted(number);
        if waits {
            self.room.wait(number, Waiter::Operation(operation));
        }
        waits
    }

    /// A page has left, and gives its slot back. Operations that may start now are appended to `startable`.
    pub fn give_back(&mut self, _lpn: Lpn, now_ns: u64, startable: &mut Vec<u32>) {
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::ForgetRewritten) {
            self.discard(_lpn.0, _lpn.0 + 1, now_ns, startable);
        }
        if self.survives_power_loss() {
            self.room.give_back(&mut self.woken);
            self.wake(now_ns, startable);
        }
    }

    fn wake(&mut self, now_ns: u64, startable: &mut Vec<u32>) {
        for waiter in self.woken.drain(..) {
            match waiter {
                Waiter::Request(request) => self.answers.push_back((now_ns + self.answer_ns, request)),
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

    /// Flash holds nothing of the page any more.
    pub fn is_off_flash(&mut self, lpn: Lpn) {
        self.on_flash.clear(lpn);
    }

    // ---- departures ----

    /// The operation has taken its place in the queue of the page's lock.
    pub fn depart(&mut self, lpn: Lpn, departure: Departure) {
        let Departures { list, unused, pages } = &mut self.departures;
        let id = match unused.pop() {
            Some(id) => {
                list[id as usize] = (departure, NIL);
                id
            }
            None => {
                list.push((departure, NIL));
                list.len() as u32 - 1
            }
        };
        let (_, last) = pages.entry(lpn.0 as u32).and_modify(|of| list[of.1 as usize].1 = id).or_insert((id, id));
        *last = id;
    }

    /// The first operation of the page that departed has ended.
    pub fn arrive(&mut self, lpn: Lpn, operation: u32) {
        let Departures { list, unused, pages } = &mut self.departures;
        let of = pages.get_mut(&(lpn.0 as u32)).expect("a page that leaves");
        let first = of.0;
        let in_order = list[first as usize].0.operation == operation;
        #[cfg(feature = "mutants")]
        let in_order = in_order || self.mutant == Some(BufferFault::Overtake);
        debug_assert!(in_order, "operations on a page end in order");
        unused.push(first);
        match list[first as usize].1 {
            NIL => drop(pages.remove(&(lpn.0 as u32))),
            next => of.0 = next,
        }
    }

    /// The departures of a page in order.
    pub fn departures(&self, lpn: Lpn) -> impl Iterator<Item = &Departure> + '_ {
        let mut next = match self.departures.pages.get(&(lpn.0 as u32)) {
            Some(of) => of.0,
            None => NIL,
        };
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::ReadBeneath) {
            next = NIL;
        }
        std::iter::from_fn(move || {
            let (departure, following) = self.departures.list.get(next as usize)?;
            next = *following;
            Some(departure)
        })
    }

    /// What pages that leave hold of a page.
    #[inline]
    pub fn leaving(&self, lpn: Lpn) -> Known {
        if self.departures.pages.is_empty() {
            return Known::default(); // nearly always
        }
        self.departures(lpn).fold(Known::default(), |known, departure| match departure.sectors {
            Some(sectors) => Known { sectors: known.sectors | sectors, number: known.number.max(departure.number), ..known },
            None => Known { sectors: 0, is_all: true, number: 0 },
        })
    }

    /// From where a read takes the page.
    #[inline]
    pub fn take(&self, lpn: Lpn) -> Taken {
        let entry = self.find(lpn);
        let (buffered, leaving) = (entry.map_or(0, |entry| self.sectors(entry)), self.leaving(lpn));
        let taken = Taken { entry, buffered, leaving, on_flash: if leaving.is_all { 0 } else { self.on_flash(lpn) } };
        #[cfg(feature = "mutants")]
        let taken = self.distort(lpn, taken);
        taken
    }

    /// What a read takes by a deliberate fault.
    #[cfg(feature = "mutants")]
    fn distort(&self, lpn: Lpn, mut taken: Taken) -> Taken {
        let on_flash = self.on_flash(lpn);
        match self.mutant {
            Some(BufferFault::FlashForLeaving) => (taken.leaving, taken.on_flash) = (Known::default(), on_flash),
            Some(BufferFault::FlashForPart) if taken.buffered != self.all_sectors() => taken.buffered &= !on_flash,
            Some(BufferFault::FlashForFirstSector) => taken.buffered &= !(on_flash & 1),
            Some(BufferFault::NeighbourOnMiss) if taken.entry.is_none() => {
                taken.entry = self.find(Lpn(lpn.0 ^ 1));
                taken.buffered = taken.entry.map_or(0, |entry| self.sectors(entry));
            }
            Some(BufferFault::OnlyLastDeparture) => {
                let last = self.departures(lpn).last().and_then(|departure| departure.sectors);
                taken.leaving.sectors = last.unwrap_or_default();
            }
            Some(BufferFault::OnlyFirstDeparture) => {
                let first = self.departures(lpn).next().and_then(|departure| departure.sectors);
                taken.leaving.sectors = first.unwrap_or_default();
            }
            Some(BufferFault::ZeroesForFlash) if taken.from_buffer() != 0 => taken.on_flash = 0,
            Some(BufferFault::KeepBeneathTrim) if taken.leaving.is_all => {
                let kept = self.departures(lpn).filter_map(|departure| departure.sectors);
                taken.leaving.sectors = kept.fold(0, |sectors, of| sectors | of);
            }
            _ => {}
        }
        taken
    }

    /// Whether anything is on its way to flash.
    pub fn is_leaving(&self) -> bool {
        !self.departures.pages.is_empty()
    }

    /// Whether it has something of the page that flash has not.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.find(lpn).is_some() || self.departures.pages.contains_key(&(lpn.0 as u32))
    }

    // ---- answers ----

    /// The request needs pages of which the one with this number was taken in last: it is answered some time after that one has its place.
    #[inline]
    pub fn answer_later(&mut self, now_ns: u64, request: u32, number: u64) {
        if self.room.is_admitted(number) {
            self.answers.push_back((now_ns + self.answer_ns, request));
        } else {
            self.room.wait(number, Waiter::Request(request));
        }
    }

    /// Time in which it answers.
    pub fn answer_ns(&self) -> u64 {
        self.answer_ns
    }

    /// When the next answer is due; `u64::MAX` for never.
    #[inline]
    pub fn next_answer_ns(&self) -> u64 {
        self.answers.front().map_or(u64::MAX, |answer| answer.0)
    }

    /// Takes the next answer: when, and which request.
    pub fn take_answer(&mut self) -> Option<(u64, u32)> {
        self.answers.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dram(pages: u64, space_pages: u64, page_bytes: u32) -> Buffer {
        Buffer::new(BufferOptions { kind: Kind::Dram, pages, answer_ns: 0 }, space_pages, page_bytes, 1)
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
        let mut evict = |sectors| {
            buffer.insert(Lpn(3), sectors);
            let mut victims = Vec::new();
            buffer.evict(&mut victims);
            assert_eq!(victims, [Victim { entry: 0, lpn: Lpn(3), sectors, number: 0 }]);
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
        let of = |operation, sectors| Departure { operation, strip: 0, sectors, number: 0 };
        let known = |sectors, is_all| Known { sectors, is_all, number: 0 };
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
}
