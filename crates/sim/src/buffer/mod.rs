//! The data buffer in the controller's DRAM (SPEC 2.2, 2.4): pages that the host wrote and that leave for flash later. A layer between the
//! host and any scheme. It is volatile (SPEC 2.7 ruling 5), and holds no reads (ruling 4).
//!
//! Three things are kept. What is *decided* moves in the order of requests, so that hits, victims and evictions do not depend on timing
//! (DESIGN idea 9): the buffered pages (`page_lru`, the policy: a second one offers the same calls), and which sectors of each page flash
//! holds, which tells whether an eviction needs the old page beneath it. Pages that *leave* stay readable until their operation ends; they
//! give their room to the page that caused the eviction only then, so the DRAM is never too small. *Answers* are due a fixed time after a
//! page found its place, so they form one queue.

mod page_lru;

#[cfg(feature = "mutants")]
use crate::mutants::BufferFault;
use flashraid_flash::memory::{prefetch, zeroed};
use flashraid_vocabulary::Lpn;
pub use page_lru::{PageLru, Victim};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Bytes of a sector: the unit in which a buffer knows parts of pages.
pub const SECTOR_BYTES: u32 = 512;
/// Largest page of a buffered device: its sectors are bits of a word.
pub const MOST_PAGE_BYTES: u32 = 64 * SECTOR_BYTES;

const NIL: u32 = u32::MAX;

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
    /// Operations that wrote buffered pages to flash. Each has one page.
    pub evictions: u64,
}

/// A page or a trim on its way to flash.
#[derive(Clone, Copy, Debug)]
struct Departure {
    operation: u32,
    /// The next later one of the same page.
    next: u32,
    /// Sectors that it writes; `None` for a trim, beneath which nothing counts any more.
    sectors: Option<u64>,
}

/// What DRAM knows of a page: sectors that it holds, and whether all others are zero, as a trim is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Sectors in DRAM.
    pub sectors: u64,
    /// Whether flash has nothing that counts.
    pub is_all: bool,
}

/// Pages that leave, by page in the order in which they were decided, which is the order in which they end: they queue at one lock.
#[derive(Clone, Debug, Default)]
struct Departures {
    list: Vec<Departure>,
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

    fn clear(&mut self, lpn: Lpn) {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] &= !(u64::MAX >> (64 - (1 << self.shift)) << (bit & 63));
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The buffered pages.
    pub pages: PageLru,
    /// What was done so far.
    pub counts: Counts,
    on_flash: OnFlash,
    departures: Departures,
    /// Requests with a page that finds its place: when it is answered, and the request.
    answers: VecDeque<(u64, u32)>,
    answer_ns: u64,
    /// A deliberate fault, only for tests of the checkers.
    #[cfg(feature = "mutants")]
    pub(crate) mutant: Option<BufferFault>,
}

impl Buffer {
    /// Room for `capacity_pages` pages (at least one) of `page_bytes` (at most `MOST_PAGE_BYTES`) out of `space_pages`; a page is answered
    /// after `answer_ns`.
    pub fn new(capacity_pages: u64, space_pages: u64, page_bytes: u32, answer_ns: u64) -> Self {
        debug_assert!(capacity_pages > 0 && page_bytes <= MOST_PAGE_BYTES);
        let shift = (page_bytes / SECTOR_BYTES).trailing_zeros();
        Self {
            // Pages are numbered with 30 bits.
            pages: PageLru::new(capacity_pages.min(space_pages) as u32),
            counts: Counts::default(),
            on_flash: OnFlash { words: zeroed(((space_pages << shift) >> 6) as usize + 1), shift },
            departures: Departures::default(),
            answers: VecDeque::new(),
            answer_ns,
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }

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

    /// Adds sectors to a buffered page, which becomes the most recently used one.
    #[inline]
    pub fn merge(&mut self, entry: u32, sectors: u64) {
        #[cfg(feature = "mutants")]
        let sectors = if self.mutant == Some(BufferFault::LoseMerge) { 0 } else { sectors };
        self.pages.merge(entry, sectors);
        self.pages.touch(entry);
    }

    /// Takes out the least recently used page, if there is one. Also says whether its sectors cover all that flash holds of it.
    pub fn evict(&mut self) -> Option<(Victim, bool)> {
        let victim = self.pages.take_oldest()?;
        self.counts.evictions += 1;
        let covers = self.on_flash.get(victim.lpn) & !victim.sectors == 0;
        #[cfg(feature = "mutants")]
        let covers = covers || self.mutant == Some(BufferFault::AlwaysCovers);
        self.on_flash.add(victim.lpn, victim.sectors);
        Some((victim, covers))
    }

    /// A page that will probably leave some evictions from now; what is known of it here is fetched.
    #[inline]
    pub fn upcoming(&mut self) -> Option<Lpn> {
        let lpn = self.pages.upcoming()?;
        self.pages.prefetch(lpn);
        prefetch(&self.on_flash.words, (lpn.0 << self.on_flash.shift >> 6) as usize);
        Some(lpn)
    }

    /// Takes out every page from `first` on, before `end`.
    pub fn discard(&mut self, first: u64, end: u64) {
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::ForgetTrim) {
            return;
        }
        self.pages.remove_range(first, end);
    }

    // ---- departures ----

    /// An operation that writes `sectors` of the page, or trims it, has taken its place in the queue of the page's lock.
    pub fn depart(&mut self, lpn: Lpn, operation: u32, sectors: Option<u64>) {
        let Departures { list, unused, pages } = &mut self.departures;
        let departure = Departure { operation, next: NIL, sectors };
        let id = match unused.pop() {
            Some(id) => {
                list[id as usize] = departure;
                id
            }
            None => {
                list.push(departure);
                list.len() as u32 - 1
            }
        };
        let (_, last) = pages.entry(lpn.0 as u32).and_modify(|of| list[of.1 as usize].next = id).or_insert((id, id));
        *last = id;
    }

    /// The first operation of the page that departed has ended.
    pub fn arrive(&mut self, lpn: Lpn, operation: u32) {
        let Departures { list, unused, pages } = &mut self.departures;
        let of = pages.get_mut(&(lpn.0 as u32)).expect("a page that leaves");
        let first = of.0;
        let in_order = list[first as usize].operation == operation;
        #[cfg(feature = "mutants")]
        let in_order = in_order || self.mutant == Some(BufferFault::Overtake);
        debug_assert!(in_order, "operations on a page end in order");
        unused.push(first);
        match list[first as usize].next {
            NIL => drop(pages.remove(&(lpn.0 as u32))),
            next => of.0 = next,
        }
    }

    /// The departures of a page in order: operation, and what it writes.
    pub fn departures(&self, lpn: Lpn) -> impl Iterator<Item = (u32, Option<u64>)> + '_ {
        let mut next = match self.departures.pages.get(&(lpn.0 as u32)) {
            Some(of) => of.0,
            None => NIL,
        };
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::ReadBeneath) {
            next = NIL;
        }
        std::iter::from_fn(move || {
            let departure = self.departures.list.get(next as usize)?;
            next = departure.next;
            Some((departure.operation, departure.sectors))
        })
    }

    /// What pages that leave hold of a page.
    #[inline]
    pub fn leaving(&self, lpn: Lpn) -> Known {
        if self.departures.pages.is_empty() {
            return Known::default(); // nearly always
        }
        self.departures(lpn).fold(Known::default(), |known, (_, sectors)| match sectors {
            Some(sectors) => Known { sectors: known.sectors | sectors, ..known },
            None => Known { sectors: 0, is_all: true },
        })
    }

    /// Whether DRAM has something of the page that flash has not.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.pages.find(lpn).is_some() || self.departures.pages.contains_key(&(lpn.0 as u32))
    }

    // ---- answers ----

    /// A page of the request finds its place at this moment.
    #[inline]
    pub fn answer_later(&mut self, now_ns: u64, request: u32) {
        self.answers.push_back((now_ns + self.answer_ns, request));
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

    #[test]
    fn sectors_on_flash_of_each_page_size() {
        for page_bytes in [512, 1024, 4096, 32_768] {
            let mut buffer = Buffer::new(4, 100, page_bytes, 0);
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
        let mut buffer = Buffer::new(1, 10, 4096, 0);
        let mut evict = |sectors| {
            buffer.pages.insert(Lpn(3), sectors);
            buffer.evict().unwrap().1
        };
        assert!(evict(0b0011), "nothing is there");
        assert!(evict(0b0111), "all that is there goes");
        assert!(!evict(0b0110), "a sector stays");
        assert!(!evict(0b1000));
        assert!(evict(0b1111));
        buffer.is_off_flash(Lpn(3));
        buffer.pages.insert(Lpn(3), 1);
        assert_eq!(buffer.evict(), Some((Victim { entry: 0, lpn: Lpn(3), sectors: 1 }, true)));
        assert_eq!(buffer.counts.evictions, 6);
    }

    #[test]
    fn pages_that_leave_are_known_until_their_operations_end() {
        let mut buffer = Buffer::new(1, 10, 4096, 0);
        let known = |sectors, is_all| Known { sectors, is_all };
        buffer.depart(Lpn(3), 7, Some(0b01));
        buffer.depart(Lpn(4), 8, Some(0b11));
        buffer.depart(Lpn(3), 9, Some(0b10));
        assert_eq!(buffer.leaving(Lpn(3)), known(0b11, false));
        buffer.depart(Lpn(3), 10, None);
        assert_eq!(buffer.leaving(Lpn(3)), known(0, true), "a trim hides what came before");
        buffer.depart(Lpn(3), 11, Some(0b100));
        assert_eq!(buffer.leaving(Lpn(3)), known(0b100, true));
        assert_eq!(buffer.departures(Lpn(3)).map(|(operation, _)| operation).collect::<Vec<_>>(), [7, 9, 10, 11]);
        for operation in [7, 9, 10] {
            assert!(buffer.leaving(Lpn(3)).is_all);
            buffer.arrive(Lpn(3), operation);
        }
        assert_eq!(buffer.leaving(Lpn(3)), known(0b100, false));
        buffer.arrive(Lpn(3), 11);
        assert!(!buffer.holds(Lpn(3)) && buffer.holds(Lpn(4)));
    }
}
