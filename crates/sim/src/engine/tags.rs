//! Verification by tags: every physical page holds a 64-bit content, every program's content is the XOR of what its sources really
//! delivered, and an oracle that sees host requests and completions alone says what reads may return.
//!
//! A page written in part contains a mix of what was below and the part, so that a lost update read shows. An erased page is
//! poisoned. Nothing here is computed from stripe state.

use super::Engine;
use super::content::{Content, FILL, Submitted};
use crate::verify::{self, Verified};
use flashraid_flash::memory::prefetch;
use flashraid_redundancy::{Operation, OperationKind};
use flashraid_vocabulary::{Lpn, Observer, PageOperation, Ppn, Sources};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

/// Stored contents are masked, so that memory never written (zero) is an erased page, while a page of zeroes is a content.
const MASK: u64 = 0x5DEE_CE66_D1CE_B00B;
/// What an erased page delivers: matches no content that was ever written.
const POISON: u64 = 0xBAD0_BAD0_BAD0_BAD0;
/// Content of a page of zeroes, and of an unwritten page.
pub const ZERO: u64 = 0;

/// Finaliser of splitmix64 (Steele, Lea and Flood 2014); odd, so never `ZERO`.
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (value ^ value >> 31) | 1
}

/// What request `sequence` puts into page `lpn`.
fn written(sequence: u64, lpn: Lpn) -> u64 {
    mix(sequence.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ lpn.0.rotate_left(32))
}

/// A part laid over what the page held before.
fn overlaid(below: u64, part: u64) -> u64 {
    mix(below.rotate_left(17).wrapping_add(part))
}

/// What one operation has been given so far.
#[derive(Clone, Debug, Default)]
struct Gathered {
    sequence: u64,
    page_bytes: u32,
    /// Contents delivered by its reads.
    reads: Vec<u64>,
    /// Old contents of data strips under sub-page writes.
    below: Vec<(u8, u64)>,
    /// Read operations: for each strip in order, the oldest version that it may see.
    floors: Vec<u64>,
}

/// Versions of a page that somebody still uses.
#[derive(Clone, Debug)]
struct Page {
    /// (number of the version, content), oldest first. Numbers are request sequences plus one; zero is what was there before.
    versions: SmallVec<[(u64, u64); 3]>,
    /// The newest acknowledged version: older ones must not be seen by reads that begin now.
    floor: u64,
    /// Unacknowledged writes and running reads of the page.
    users: u32,
}

impl Page {
    /// Whether a version numbered `floor` or later has this content. Under overload a page has many, of which the oldest are durable.
    fn has(&self, content: u64, floor: u64) -> bool {
        let first = self.versions.partition_point(|(version, _)| *version < floor);
        self.versions[first..].iter().any(|(_, expected)| *expected == content)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Tags {
    flash: Vec<u64>,
    gathered: Vec<Gathered>,
    /// For each record in flight: content of the program, or number and strip of the read.
    programs: Vec<u64>,
    reads: Vec<(u8, u8)>,
    settled: Vec<u64>,
    active: FxHashMap<u64, Page>,
    /// Pages of failed writes: old or new, nobody knows, until they are written whole again.
    unknown: FxHashSet<u64>,
    /// Host page reads that were compared.
    pub reads_checked: u64,
    /// Of these, those that returned something else than a version they may see.
    pub mismatches: u64,
}

impl Tags {
    /// For a device of so many pages and a logical space of so many.
    pub fn new(physical_pages: u64, space_pages: u64) -> Self {
        Self {
            flash: flashraid_flash::memory::zeroed(physical_pages as usize),
            gathered: Vec::new(),
            programs: Vec::new(),
            reads: Vec::new(),
            settled: flashraid_flash::memory::zeroed(space_pages as usize),
            active: FxHashMap::default(),
            unknown: FxHashSet::default(),
            reads_checked: 0,
            mismatches: 0,
        }
    }

    /// What the physical page holds.
    pub fn page(&self, ppn: Ppn) -> u64 {
        match self.flash[ppn.0 as usize] {
            0 => POISON,
            stored => stored ^ MASK,
        }
    }

    /// Whether the durable content of a host page is one that the host's requests explain: the newest acknowledged version, or
    /// one submitted later.
    pub fn explains(&self, lpn: Lpn, content: u64) -> bool {
        if self.unknown.contains(&lpn.0) {
            return true;
        }
        match self.active.get(&lpn.0) {
            None => self.settled[lpn.0 as usize] == content,
            Some(page) => page.has(content, page.floor),
        }
    }

    fn active(&mut self, lpn: Lpn) -> &mut Page {
        let settled = self.settled[lpn.0 as usize];
        self.active.entry(lpn.0).or_insert_with(|| Page { versions: smallvec![(0, settled)], floor: 0, users: 0 })
    }

    fn leave(&mut self, lpn: Lpn) {
        let page = self.active.get_mut(&lpn.0).expect("a page in use");
        page.users -= 1;
        if page.users == 0 {
            self.settled[lpn.0 as usize] = page.versions.last().expect("never empty").1;
            self.active.remove(&lpn.0);
        }
    }

    fn compare(&mut self, id: u32, operation: &Operation, strip: u32, content: u64) {
        let rank = (operation.strips & ((1u64 << strip) - 1)).count_ones();
        let lpn = Lpn(operation.first.0 + u64::from(rank));
        let floor = self.gathered[id as usize].floors[rank as usize];
        let seen = self.active[&lpn.0].has(content, floor);
        self.reads_checked += 1;
        self.mismatches += u64::from(!seen && !self.unknown.contains(&lpn.0));
        self.leave(lpn);
    }

    /// What the operation's host data put into a strip.
    fn host_strip(&self, id: u32, operation: &Operation, strip: u32) -> u64 {
        if operation.kind == OperationKind::Trim {
            return ZERO;
        }
        let rank = (operation.strips & ((1u64 << strip) - 1)).count_ones();
        let lpn = Lpn(operation.first.0 + u64::from(rank));
        let gathered = &self.gathered[id as usize];
        let content = written(gathered.sequence, lpn);
        if operation.partial_strips(gathered.page_bytes) >> strip & 1 == 0 {
            return content;
        }
        let below = gathered.below.iter().find(|(below, _)| u32::from(*below) == strip).map_or(ZERO, |(_, content)| *content);
        overlaid(below, content)
    }
}

fn grown<T: Clone + Default>(list: &mut Vec<T>, index: u32) -> &mut T {
    if list.len() <= index as usize {
        list.resize((index as usize + 1).next_power_of_two(), T::default());
    }
    &mut list[index as usize]
}

impl Observer for Tags {
    fn moved(&mut self, from: Ppn, to: Ppn) {
        self.flash[to.0 as usize] = self.page(from) ^ MASK;
    }

    fn erased(&mut self, first: Ppn, pages: u32) {
        self.flash[first.0 as usize..][..pages as usize].fill(0);
    }
}

impl Content for Tags {
    const TRACKED: bool = true;

    fn submitted(&mut self, sequence: u64, lpn: Lpn, change: Submitted) {
        let page = self.active(lpn);
        let below = page.versions.last().expect("never empty").1;
        let content = match change {
            Submitted::Whole => written(sequence, lpn),
            Submitted::Part => overlaid(below, written(sequence, lpn)),
            Submitted::Zero => ZERO,
        };
        // A request may touch a page twice (a logical space smaller than the request): the later touch counts.
        page.versions.push((sequence + 1, content));
        page.users += 1;
    }

    fn acknowledged(&mut self, sequence: u64, lpn: Lpn, failed: bool) {
        let Some(page) = self.active.get_mut(&lpn.0) else { return };
        let index = page.versions.partition_point(|(version, _)| *version <= sequence + 1) - 1;
        if page.versions[index].0 != sequence + 1 {
            return;
        }
        page.floor = page.floor.max(sequence + 1);
        let (below, content) = (page.versions[index - 1].1, page.versions[index].1);
        if failed {
            self.unknown.insert(lpn.0);
        } else if content == ZERO || content == written(sequence, lpn) || below == ZERO {
            self.unknown.remove(&lpn.0);
        }
        self.leave(lpn);
    }

    fn begin(&mut self, id: u32, operation: &Operation, sequence: u64, page_bytes: u32) {
        let mut gathered = std::mem::take(grown(&mut self.gathered, id));
        (gathered.sequence, gathered.page_bytes) = (sequence, page_bytes);
        gathered.reads.clear();
        gathered.below.clear();
        gathered.floors.clear();
        if operation.kind == OperationKind::Read {
            for rank in 0..u64::from(operation.strips.count_ones()) {
                let page = self.active(Lpn(operation.first.0 + rank));
                page.users += 1;
                gathered.floors.push(page.floor);
            }
        }
        self.gathered[id as usize] = gathered;
    }

    fn read_submitted(&mut self, record: u32, read: u8, strip: u8) {
        *grown(&mut self.reads, record) = (read, strip);
    }

    fn delivered(&mut self, id: u32, operation: &Operation, record: u32, ppn: Ppn) {
        let content = self.page(ppn);
        let (read, strip) = self.reads[record as usize];
        let gathered = &mut self.gathered[id as usize];
        if gathered.reads.len() <= usize::from(read) {
            gathered.reads.resize(usize::from(read) + 1, POISON);
        }
        gathered.reads[usize::from(read)] = content;
        if strip == PageOperation::NO_STRIP {
            return;
        }
        if operation.kind == OperationKind::Read {
            self.compare(id, operation, u32::from(strip), content);
        } else {
            gathered.below.push((strip, content));
        }
    }

    fn program(&mut self, id: u32, operation: &Operation, sources: Sources, record: u32) {
        let bits = |mask: u64| (0..64u32).filter(move |bit| mask >> bit & 1 == 1);
        let host = bits(sources.host).fold(ZERO, |content, strip| content ^ self.host_strip(id, operation, strip));
        let reads = &self.gathered[id as usize].reads;
        let content = bits(sources.reads).fold(host, |content, read| content ^ reads.get(read as usize).copied().unwrap_or(POISON));
        *grown(&mut self.programs, record) = content;
    }

    fn programmed(&mut self, record: u32, ppn: Ppn) {
        self.flash[ppn.0 as usize] = self.programs[record as usize] ^ MASK;
    }

    fn check_without_flash(&mut self, id: u32, operation: &Operation, strip: u32, writer: Option<(u32, &Operation, u32)>) {
        let content = writer.map_or(ZERO, |(writer, write, strip)| self.host_strip(writer, write, strip));
        self.compare(id, operation, strip, content);
    }

    fn placed_zero(&mut self, ppn: Ppn) {
        self.flash[ppn.0 as usize] = ZERO ^ MASK;
    }

    fn filled(&mut self, lpn: Lpn) {
        self.settled[lpn.0 as usize] = written(FILL, lpn);
    }

    #[inline]
    fn fetch_page(&self, ppn: Ppn) {
        prefetch(&self.flash, ppn.0 as usize);
    }

    #[inline]
    fn fetch_expected(&self, lpn: Lpn) {
        prefetch(&self.settled, lpn.0 as usize);
    }

    fn check_stored(engine: &Engine<Self>) -> Option<Verified> {
        Some(verify::stored(engine))
    }
}
