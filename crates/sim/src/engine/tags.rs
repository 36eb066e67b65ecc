//! Verification by tags: every physical page holds a 64-bit content, every program's content is the XOR of what its sources really
//! delivered, and an oracle that sees host requests and completions alone says what reads may return.
//!
//! The content of a page is a sum over its lanes (`layers`). A program of a part of a page holds the update read, as it was really
//! delivered, with the old lanes replaced by the new ones; without an update read it holds the new lanes alone, so that a lost update read
//! shows. An erased page is poisoned. Nothing here is computed from stripe state.

use super::Engine;
use super::content::{Content, InBuffer, InEntry, Shares, Submitted};
pub use super::layers::ZERO;
use super::layers::{ALL, Layers, Pages};
use crate::verify::{Checks, Verified};
use flashraid_redundancy::{Operation, OperationKind};
use flashraid_vocabulary::memory::prefetch;
use flashraid_vocabulary::{Delivery, LocalPage, Lpn, Observer, PageOperation, Ppn, Sources};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Stored contents are masked, so that memory never written (zero) is an erased page, while a page of zeroes is a content.
const MASK: u64 = 0x5DEE_CE66_D1CE_B00B;
/// The request that wrote what another page holds: none.
const NOBODY: u64 = u64::MAX - 2;
/// What an erased page delivers: matches no content that was ever written.
const POISON: u64 = 0xBAD0_BAD0_BAD0_BAD0;
/// What one operation has been given so far.
#[derive(Clone, Debug, Default)]
struct Gathered {
    sequence: u64,
    /// Contents delivered by its reads.
    reads: Vec<u64>,
    /// Old contents of data strips under writes of parts of pages.
    below: Vec<(u8, u64)>,
    /// The same of a write that was answered and has started anew since: the controller still holds the page as it was to be programmed.
    answered_below: Vec<(u8, u64)>,
    /// Write operations: what the host gives of a strip, unless it is all of it.
    parts: SmallVec<[(u8, Layers); 2]>,
    /// Read operations: for each strip in order, the oldest version that it may see.
    floors: Vec<u64>,
    /// Read operations: strips that were compared.
    compared: u64,
    /// Read operations: strips of which nobody knew what they hold when the operation began.
    vague: u64,
    /// Read operations: what the data buffer changes in what flash delivers of a strip.
    overlays: Vec<(u8, u64)>,
}

/// A version of a page.
#[derive(Clone, Copy, Debug)]
struct Submission {
    /// Request sequence plus one; zero is what was there before.
    number: u64,
    content: u64,
    /// What the request changed.
    lanes: u64,
}

/// Versions of a page that somebody still uses.
#[derive(Clone, Debug)]
struct Page {
    /// Oldest first.
    versions: SmallVec<[Submission; 3]>,
    /// The newest acknowledged version: older ones must not be seen by reads that begin now.
    floor: u64,
    /// Unacknowledged writes and running reads of the page.
    users: u32,
    /// A write of it has failed since there are users: whether a read saw what was before or after, nobody knows.
    vague: bool,
}

impl Page {
    /// Whether a version numbered `floor` or later has this content. Under overload a page has many, of which the oldest are durable.
    fn has(&self, content: u64, floor: u64) -> bool {
        let first = self.versions.partition_point(|version| version.number < floor);
        self.versions[first..].iter().any(|version| version.content == content)
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
    /// What each host page is made of once everything submitted is done.
    newest: Pages,
    /// What the ended operations put into each host page.
    durable: Pages,
    /// What the data buffer's entries hold, and of which host page.
    entries: Vec<(u64, Layers)>,
    /// What NVRAM holds of parities, by their local page: a stripe has one parity.
    delayed: FxHashMap<u32, u64>,
    active: FxHashMap<u64, Page>,
    /// Pages of failed writes, and the number of the latest: old or new, nobody knows, until they are written whole again.
    unknown: FxHashMap<u64, u64>,
    /// Pages of which a write has failed since `take_doubts`.
    doubts: Vec<u64>,
    /// Host page reads that were compared.
    pub reads_checked: u64,
    /// Of these, those that returned something else than a version they may see.
    pub mismatches: u64,
}

impl Tags {
    /// For a device of so many pages and a logical space of so many.
    pub fn new(physical_pages: u64, space_pages: u64) -> Self {
        Self {
            flash: flashraid_vocabulary::memory::zeroed(physical_pages as usize),
            gathered: Vec::new(),
            programs: Vec::new(),
            reads: Vec::new(),
            newest: Pages::new(space_pages),
            durable: Pages::new(space_pages),
            entries: Vec::new(),
            delayed: FxHashMap::default(),
            active: FxHashMap::default(),
            unknown: FxHashMap::default(),
            doubts: Vec::new(),
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

    /// What ended operations put into a host page.
    pub fn durable(&self, lpn: Lpn) -> u64 {
        self.durable.content(lpn.0)
    }

    /// The physical page holds nothing any more, as if it were erased: what failed must never be used again.
    pub fn destroy(&mut self, ppn: Ppn) {
        self.flash[ppn.0 as usize] = 0;
    }

    /// Pages of which a write or discard has failed since this was last asked, some of them more than once.
    pub fn take_doubts(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.doubts)
    }

    /// What a host page holds once everything submitted is done.
    pub fn newest(&self, lpn: Lpn) -> u64 {
        self.newest.content(lpn.0)
    }

    /// Whether the durable content of a host page is one that the host's requests explain: the newest acknowledged version, or
    /// one submitted later.
    pub fn explains(&self, lpn: Lpn, content: u64) -> bool {
        if self.unknown.contains_key(&lpn.0) {
            return true;
        }
        match self.active.get(&lpn.0) {
            None => self.newest.content(lpn.0) == content,
            Some(page) => page.has(content, page.floor),
        }
    }

    /// What a read gets of a host page of which flash delivers `content`.
    pub fn with_buffer(&self, lpn: Lpn, content: u64, shares: &Shares) -> u64 {
        content ^ self.change_by_buffer(lpn, shares)
    }

    /// By what a read that takes these shares differs from what flash delivers.
    fn change_by_buffer(&self, lpn: Lpn, shares: &Shares) -> u64 {
        let (layers, _) = self.in_buffer(lpn, shares.sources);
        taken_from(&layers, lpn, shares.from_buffer) ^ self.durable.get(lpn.0).content(lpn.0, !shares.from_flash)
    }

    /// Whether flash holds of a host page what the operations put there that have ended.
    pub fn is_durable(&self, lpn: Lpn, content: u64) -> bool {
        self.durable.content(lpn.0) == content
    }

    /// NVRAM holds no delayed parity any more.
    pub fn destroy_delayed(&mut self) {
        self.delayed.clear();
    }

    fn active(&mut self, lpn: Lpn) -> &mut Page {
        let newest = &self.newest;
        self.active.entry(lpn.0).or_insert_with(|| {
            let before = Submission { number: 0, content: newest.content(lpn.0), lanes: ALL };
            Page { versions: smallvec![before], floor: 0, users: 0, vague: false }
        })
    }

    fn leave(&mut self, lpn: Lpn) {
        let page = self.active.get_mut(&lpn.0).expect("a page in use");
        page.users -= 1;
        if page.users == 0 {
            self.active.remove(&lpn.0);
        }
    }

    fn compare(&mut self, id: u32, operation: &Operation, strip: u32, content: u64) {
        let lpn = operation.host_page(strip);
        let floor = self.gathered[id as usize].floors[rank(operation, strip) as usize];
        let overlay = self.gathered[id as usize].overlays.iter().find(|(of, _)| u32::from(*of) == strip);
        let content = content ^ overlay.map_or(ZERO, |(_, change)| *change);
        let page = &self.active[&lpn.0];
        let seen = page.vague || page.has(content, floor);
        self.gathered[id as usize].compared |= 1 << strip;
        self.count_read(lpn, seen || self.gathered[id as usize].vague >> strip & 1 == 1);
        self.leave(lpn);
    }

    /// The write numbered `number` has failed.
    fn is_unknown(&mut self, lpn: Lpn, number: u64) {
        if self.doubts.last() != Some(&lpn.0) {
            self.doubts.push(lpn.0);
        }
        let latest = self.unknown.entry(lpn.0).or_default();
        *latest = number.max(*latest);
        if let Some(page) = self.active.get_mut(&lpn.0) {
            page.vague = true;
        }
    }

    fn count_read(&mut self, lpn: Lpn, seen: bool) {
        self.reads_checked += 1;
        self.mismatches += u64::from(!seen && !self.unknown.contains_key(&lpn.0));
    }

    /// What an entry holds of a page. What it holds of another one is nothing that anybody wrote.
    fn entry(&self, lpn: Lpn, InEntry { entry, lanes }: InEntry) -> Layers {
        match &self.entries[entry as usize] {
            (page, layers) if *page == lpn.0 => layers.clone().only(lanes),
            _ => Layers::of(NOBODY, lanes),
        }
    }

    /// What the data buffer has of a page, later sources laid over earlier ones, and which lanes flash does not add to.
    fn in_buffer(&self, lpn: Lpn, sources: &[InBuffer]) -> (Layers, u64) {
        sources.iter().fold((Layers::default(), 0), |(mut layers, known), source| {
            let (upper, lanes) = match *source {
                InBuffer::Leaving { operation, strip } => {
                    let upper = self.given(operation, strip.into());
                    let lanes = upper.lanes();
                    (upper, lanes)
                }
                InBuffer::Zeroes => return (Layers::default(), ALL),
                InBuffer::Entry(entry) => (self.entry(lpn, entry), entry.lanes),
            };
            layers.lay(&upper);
            (layers, known | lanes)
        })
    }

    /// What the host gives of a strip of a write.
    fn given(&self, id: u32, strip: u32) -> Layers {
        let Gathered { sequence, parts, .. } = &self.gathered[id as usize];
        let part = parts.iter().find(|(of, _)| u32::from(*of) == strip);
        part.map_or_else(|| Layers::of(*sequence, ALL), |(_, layers)| layers.clone())
    }

    /// What the operation's host data put into a strip: the given lanes, and beneath them what the update read delivered, if there was one,
    /// less the lanes that go.
    fn host_strip(&self, id: u32, operation: &Operation, strip: u32) -> u64 {
        let below = self.gathered[id as usize].below.iter().find(|(of, _)| u32::from(*of) == strip);
        self.host_strip_over(below, id, operation, strip)
    }

    /// The same over what was found below.
    fn host_strip_over(&self, below: Option<&(u8, u64)>, id: u32, operation: &Operation, strip: u32) -> u64 {
        if operation.kind == OperationKind::Trim {
            return ZERO;
        }
        let (lpn, given) = (operation.host_page(strip), self.given(id, strip));
        let below = below.map_or(ZERO, |(_, content)| content ^ self.durable.get(lpn.0).content(lpn.0, given.lanes()));
        below ^ given.content(lpn.0, ALL)
    }

    /// What `sources` of the operation add up to.
    fn content_of(&self, id: u32, operation: &Operation, sources: Sources) -> u64 {
        let host = bits(sources.host).fold(ZERO, |content, strip| content ^ self.host_strip(id, operation, strip));
        let reads = &self.gathered[id as usize].reads;
        let content = bits(sources.reads).fold(host, |content, read| content ^ reads.get(read as usize).copied().unwrap_or(POISON));
        content ^ if sources.delayed { self.in_nvram(operation.page) } else { ZERO }
    }

    /// Whether a write or discard of the page has failed since it was written whole: old or new, nobody knows.
    pub fn is_in_doubt(&self, lpn: Lpn) -> bool {
        self.unknown.contains_key(&lpn.0)
    }

    /// What NVRAM holds of the parity at this local page of its member.
    pub fn in_nvram(&self, page: LocalPage) -> u64 {
        self.delayed.get(&page.0).copied().unwrap_or(ZERO)
    }
}

/// What a read gets that takes `lanes` of a page from these layers. What they do not hold is nothing that anybody wrote.
fn taken_from(layers: &Layers, lpn: Lpn, lanes: u64) -> u64 {
    layers.content(lpn.0, lanes) ^ Layers::of(NOBODY, lanes & !layers.lanes()).content(lpn.0, ALL)
}

/// How many strips of the operation are below `strip`.
fn rank(operation: &Operation, strip: u32) -> u32 {
    (operation.strips & ((1u64 << strip) - 1)).count_ones()
}

fn bits(mask: u64) -> impl Iterator<Item = u32> {
    (0..64u32).filter(move |bit| mask >> bit & 1 == 1)
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
        self.active(lpn); // keeps what was there before
        let (layers, lanes) = match change {
            Submitted::Whole => (Layers::of(sequence, ALL), ALL),
            Submitted::Part(lanes) => {
                let mut layers = self.newest.get(lpn.0);
                layers.write(sequence, lanes);
                (layers, lanes)
            }
            Submitted::Zero => (Layers::default(), ALL),
        };
        let content = layers.content(lpn.0, ALL);
        self.newest.set(lpn.0, layers);
        // A request may touch a page twice (a logical space smaller than the request): the later touch counts.
        let page = self.active(lpn);
        page.versions.push(Submission { number: sequence + 1, content, lanes });
        page.users += 1;
    }

    fn acknowledged(&mut self, sequence: u64, lpn: Lpn, failed: bool) {
        let Some(page) = self.active.get_mut(&lpn.0) else { return };
        let index = page.versions.partition_point(|version| version.number <= sequence + 1) - 1;
        let Submission { number, lanes, .. } = page.versions[index];
        if number != sequence + 1 {
            return;
        }
        page.floor = page.floor.max(sequence + 1);
        let Submission { number: before, content: beneath, .. } = page.versions[index - 1];
        if failed {
            self.is_unknown(lpn, number);
        } else if let Some(failed) = self.unknown.get(&lpn.0).copied() {
            // What is beneath a part is known if it was zeroed since.
            let known_from = if lanes == ALL { number } else { before };
            if failed < known_from && (lanes == ALL || beneath == ZERO) {
                self.unknown.remove(&lpn.0);
            }
        }
        self.leave(lpn);
    }

    fn begin(&mut self, id: u32, operation: &Operation, sequence: u64, entries: &[InEntry]) {
        let mut gathered = std::mem::take(grown(&mut self.gathered, id));
        gathered.sequence = sequence;
        gathered.reads.clear();
        gathered.below.clear();
        gathered.answered_below.clear();
        gathered.parts.clear();
        gathered.floors.clear();
        gathered.overlays.clear();
        gathered.compared = 0;
        gathered.vague = match self.unknown.is_empty() {
            true => 0,
            false => bits(operation.strips)
                .filter(|strip| self.unknown.contains_key(&operation.host_page(*strip).0))
                .fold(0, |all, strip| all | 1 << strip),
        };
        match operation.kind {
            OperationKind::Read => {
                for lpn in operation.host_pages() {
                    let page = self.active(lpn);
                    page.users += 1;
                    gathered.floors.push(page.floor);
                }
            }
            OperationKind::Write if !entries.is_empty() => {
                let strips = bits(operation.strips).zip(entries);
                gathered.parts.extend(strips.map(|(strip, entry)| (strip as u8, self.entry(operation.host_page(strip), *entry))));
            }
            OperationKind::Write => {
                for strip in bits(operation.beneath) {
                    // What was submitted last is what this operation is to write.
                    let lanes = self.active[&operation.host_page(strip).0].versions.last().expect("never empty").lanes;
                    gathered.parts.push((strip as u8, Layers::of(sequence, lanes)));
                }
            }
            OperationKind::Trim | OperationKind::Commit | OperationKind::Repair | OperationKind::Job => {}
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
        *grown(&mut self.programs, record) = self.content_of(id, operation, sources);
    }

    fn delayed(&mut self, id: u32, operation: &Operation, sources: Sources) {
        let content = self.content_of(id, operation, sources);
        self.delayed.insert(operation.page.0, content);
    }

    fn delayed_no_more(&mut self, page: LocalPage) {
        self.delayed.remove(&page.0);
    }

    fn programmed(&mut self, record: u32, ppn: Ppn) {
        self.flash[ppn.0 as usize] = self.programs[record as usize] ^ MASK;
    }

    fn assembled(&mut self, id: u32, operation: &Operation, &Delivery { strip, reads, delayed }: &Delivery) {
        let delivered = &self.gathered[id as usize].reads;
        let in_nvram = if delayed { self.in_nvram(operation.page) } else { ZERO };
        let content = bits(reads).fold(in_nvram, |sum, read| sum ^ delivered.get(read as usize).copied().unwrap_or(POISON));
        if operation.kind == OperationKind::Read {
            self.compare(id, operation, u32::from(strip), content);
        } else {
            self.gathered[id as usize].below.push((strip, content));
        }
    }

    fn restarted(&mut self, id: u32, operation: &Operation) {
        let gathered = &mut self.gathered[id as usize];
        gathered.reads.clear();
        let below = std::mem::take(&mut gathered.below);
        if operation.kind != OperationKind::Read {
            gathered.answered_below.extend(below);
            return;
        }
        let compared = std::mem::take(&mut gathered.compared);
        for strip in bits(operation.strips) {
            let page = self.active(operation.host_page(strip));
            page.users += u32::from(compared >> strip & 1 == 1);
            let floor = page.floor;
            self.gathered[id as usize].floors[rank(operation, strip) as usize] = floor;
        }
    }

    fn ended(&mut self, id: u32, operation: &Operation, failed: bool) {
        if operation.kind == OperationKind::Read && failed {
            let compared = self.gathered[id as usize].compared;
            bits(operation.strips & !compared).for_each(|strip| self.leave(operation.host_page(strip)));
        }
        for strip in bits(operation.strips) {
            let lpn = operation.host_page(strip);
            match operation.kind {
                // It may be one of a page that left the data buffer, and long acknowledged.
                OperationKind::Write | OperationKind::Trim if failed => self.is_unknown(lpn, self.gathered[id as usize].sequence + 1),
                OperationKind::Write => {
                    let given = self.given(id, strip);
                    // What covers all that flash holds leaves nothing of it, also where a discard that failed was believed.
                    if given.lanes() == ALL || operation.beneath >> strip & 1 == 0 {
                        self.durable.set(lpn.0, given);
                    } else {
                        let mut layers = self.durable.get(lpn.0);
                        layers.lay(&given);
                        self.durable.set(lpn.0, layers);
                    }
                }
                OperationKind::Trim => self.durable.set(lpn.0, Layers::default()),
                OperationKind::Read | OperationKind::Commit | OperationKind::Repair | OperationKind::Job => {}
            }
        }
    }

    fn check_without_flash(&mut self, id: u32, operation: &Operation, strip: u32, writer: Option<(u32, &Operation, u32)>) {
        let content = writer.map_or(ZERO, |(writer, write, strip)| {
            let Gathered { below, answered_below, .. } = &self.gathered[writer as usize];
            let below = below.iter().chain(answered_below).find(|(of, _)| u32::from(*of) == strip);
            self.host_strip_over(below, writer, write, strip)
        });
        self.compare(id, operation, strip, content);
    }

    fn buffered(&mut self, entry: u32, sequence: u64, lpn: Lpn, lanes: u64, is_new: bool) {
        let held = grown(&mut self.entries, entry);
        if is_new {
            *held = (lpn.0, Layers::default());
        }
        held.1.write(sequence, lanes);
    }

    fn check_in_buffer(&mut self, lpn: Lpn, asked: u64, shares: &Shares) {
        let (layers, lanes) = self.in_buffer(lpn, shares.sources);
        // Lanes that nobody asked for are taken to be right.
        let rest = self.newest.get(lpn.0).content(lpn.0, !lanes & !asked);
        let taken = taken_from(&layers, lpn, shares.from_buffer & asked) ^ layers.content(lpn.0, !asked);
        self.count_read(lpn, self.explains(lpn, taken ^ rest));
    }

    fn overlay_buffer(&mut self, id: u32, lpn: Lpn, strip: u8, shares: &Shares) {
        let change = self.change_by_buffer(lpn, shares);
        let overlays = &mut self.gathered[id as usize].overlays;
        overlays.retain(|(of, _)| *of != strip);
        overlays.push((strip, change));
    }

    fn placed_zero(&mut self, ppn: Ppn) {
        self.flash[ppn.0 as usize] = ZERO ^ MASK;
    }

    fn program_stamp(&mut self, record: u32, stamp: u64) {
        *grown(&mut self.programs, record) = stamp;
    }

    fn check_stamp(&mut self, ppn: Ppn, stamp: u64) {
        self.mismatches += u64::from(self.page(ppn) != stamp);
    }

    fn placed_stamp(&mut self, ppn: Ppn, stamp: u64) {
        self.flash[ppn.0 as usize] = stamp ^ MASK;
    }

    fn filled(&mut self, lpn: Lpn, sequence: u64) {
        for pages in [&mut self.newest, &mut self.durable] {
            pages.set(lpn.0, Layers::of(sequence, ALL));
        }
    }

    #[inline]
    fn fetch_page(&self, ppn: Ppn) {
        prefetch(&self.flash, ppn.0 as usize);
    }

    #[inline]
    fn fetch_expected(&self, lpn: Lpn) {
        self.newest.prefetch(lpn.0);
        self.durable.prefetch(lpn.0);
    }

    fn check_stored(engine: &Engine<Self>, checks: &mut Checks) -> Option<Verified> {
        Some(checks.check(engine))
    }
}
