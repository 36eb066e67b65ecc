//! What is known of every page: what flash holds, what it should hold, and what may be seen of it.

use super::layers::{ALL, Layers, PageLayers, ZERO};
use crate::config::PartialWrites;
use crate::engine::content::{InBuffer, InEntry, Shares};
use flashraid_redundancy::parts::bits::Bits;
use flashraid_redundancy::{Operation, OperationKind};
use flashraid_vocabulary::galois::scale;
use flashraid_vocabulary::{Lpn, MemberPage, Ppn, Sources, Weights, persistent};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Stored contents are masked, so that memory never written (zero) is an erased page, while a page of zeroes is a content.
pub(super) const MASK: u64 = 0x5DEE_CE66_D1CE_B00B;
/// The request that wrote what another page holds: none.
const NOBODY: u64 = u64::MAX - 2;
/// The request that wrote what is lost: none, and nothing that flash delivers is of it. Far from the numbers of all requests, and of the fill.
pub(super) const LOST: u64 = 1 << 63;
/// What an erased page delivers: matches no content that was ever written.
pub(super) const POISON: u64 = 0xBAD0_BAD0_BAD0_BAD0;

/// What one operation has been given so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub(super) sequence: u64,
    /// Whether it writes what leaves the data buffer.
    pub(super) evicts: bool,
    /// The parity of its stripe.
    pub(super) parity: Option<MemberPage>,
    /// Contents delivered by its reads.
    pub(super) reads: Vec<u64>,
    /// Old contents of data strips under writes of parts of pages.
    pub(super) below: Vec<(u8, u64)>,
    /// The same of a write that was acknowledged and has started anew since: the controller still holds the page as it was to be programmed.
    pub(super) acknowledged_below: Vec<(u8, u64)>,
    /// Write operations: what the host gives of a strip, unless it is all of it.
    pub(super) parts: SmallVec<[(u8, Layers); 2]>,
    /// Read operations: for each strip in order, the oldest version that it may see.
    pub(super) floors: Vec<u64>,
    /// Read operations: strips that were compared.
    pub(super) compared: u64,
    /// Read operations: strips of which nobody knew what they hold when the operation began.
    pub(super) vague: u64,
    /// Read operations: what the data buffer changes in what flash delivers of a strip.
    pub(super) overlays: Vec<(u8, u64)>,
}

/// A version of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Submission {
    /// Request sequence plus one; zero is what was there before.
    pub(super) number: u64,
    pub(super) content: u64,
    /// What the request changed.
    pub(super) lanes: u64,
    /// Whether what was there before is lost.
    pub(super) over_lost: bool,
}

/// Versions of a page that somebody still uses.
#[derive(Clone, Debug)]
pub(super) struct PageVersions {
    /// Oldest first.
    pub(super) versions: SmallVec<[Submission; 3]>,
    /// The newest acknowledged version: older ones must not be seen by reads that begin now.
    pub(super) floor: u64,
    /// Unacknowledged writes and running reads of the page.
    pub(super) users: u32,
    /// A write of it has failed since there are users: whether a read saw what was before or after, nobody knows.
    pub(super) vague: bool,
}

impl PageVersions {
    /// Whether a version numbered `floor` or later has this content. Under overload a page has many, of which the oldest are durable.
    fn has(&self, content: u64, floor: u64) -> bool {
        let first = self.versions.partition_point(|version| version.number < floor);
        self.versions[first..].iter().any(|version| version.content == content)
    }
}

/// See `tags`.
#[derive(Clone, Debug)]
pub struct Tags {
    pub(super) flash: Vec<u64>,
    pub(super) gathered: Vec<Gathered>,
    /// For each record in flight: content of the program, or number and strip of the read.
    pub(super) programs: Vec<u64>,
    pub(super) reads: Vec<(u8, u8)>,
    /// What each host page is made of once everything submitted is done.
    pub(super) newest: PageLayers,
    /// What the ended operations put into each host page.
    pub(super) durable: PageLayers,
    /// What the data buffer's entries hold, and of which host page.
    pub(super) entries: Vec<(u64, Layers)>,
    /// What NVRAM holds of parities.
    pub(super) deferred: FxHashMap<MemberPage, u64>,
    pub(super) active: FxHashMap<u64, PageVersions>,
    /// Parts of pages that were discarded, each a 128th, and lanes that were read: as far as somebody asks (`left_with`).
    pub(super) discarded: FxHashMap<u64, u128>,
    pub(super) used: FxHashMap<u64, u64>,
    /// Pages of failed writes, and the number of the latest: old or new, nobody knows, until they are written whole again.
    pub(super) unknown: FxHashMap<u64, u64>,
    /// Pages of which a write has failed since `take_doubts`, or that have changed by no request.
    doubts: Vec<u64>,
    /// Host page reads that were compared.
    pub reads_checked: u64,
    /// Of these, those that returned something else than a version they may see.
    pub mismatches: u64,
}

persistent!(Tags {
    keeps [newest, durable, deferred, discarded, used, unknown],
    arrays [flash],
    // Operations, requests and buffered pages, of which there are none; statistics.
    anew [gathered, programs, reads, entries, active, doubts, reads_checked, mismatches],
});

impl Tags {
    /// For a device of so many pages and a logical space of so many.
    pub fn new(physical_pages: u64, space_pages: u64) -> Self {
        Self {
            flash: flashraid_vocabulary::memory::zeroed(physical_pages as usize),
            gathered: Vec::new(),
            programs: Vec::new(),
            reads: Vec::new(),
            newest: PageLayers::new(space_pages),
            durable: PageLayers::new(space_pages),
            entries: Vec::new(),
            deferred: FxHashMap::default(),
            active: FxHashMap::default(),
            discarded: FxHashMap::default(),
            used: FxHashMap::default(),
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

    /// Pages of which a write or discard has failed since this was last asked, or of which what left a data buffer left out something; some of them more
    /// than once.
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
    pub(super) fn change_by_buffer(&self, lpn: Lpn, shares: &Shares) -> u64 {
        let (layers, _) = self.in_buffer(lpn, shares.sources);
        taken_from(&layers, lpn, shares.from_buffer) ^ self.durable.get(lpn.0).content(lpn.0, !shares.from_flash)
    }

    /// Whether flash holds of a host page what the operations put there that have ended.
    pub fn is_durable(&self, lpn: Lpn, content: u64) -> bool {
        self.durable.content(lpn.0) == content
    }

    /// NVRAM holds no deferred parity any more.
    pub fn destroy_deferred(&mut self) {
        self.deferred.clear();
    }

    pub(super) fn active(&mut self, lpn: Lpn) -> &mut PageVersions {
        let newest = &self.newest;
        self.active.entry(lpn.0).or_insert_with(|| {
            let before = Submission { number: 0, content: newest.content(lpn.0), lanes: ALL, over_lost: false };
            PageVersions { versions: smallvec![before], floor: 0, users: 0, vague: false }
        })
    }

    pub(super) fn leave(&mut self, lpn: Lpn) {
        let page = self.active.get_mut(&lpn.0).expect("a page in use");
        page.users -= 1;
        if page.users == 0 {
            self.active.remove(&lpn.0);
        }
    }

    pub(super) fn compare(&mut self, id: u32, operation: &Operation, strip: u32, content: u64) {
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

    /// Lanes of a page made of these layers that a write of others must keep, as far as requests tell.
    pub(super) fn needed(&self, lpn: Lpn, layers: &Layers, rule: PartialWrites) -> u64 {
        let parts = self.discarded.get(&lpn.0).copied().unwrap_or_default();
        let discarded = (0..64).filter(|lane| parts >> (2 * lane) & 0b11 == 0b11).fold(0, |all, lane| all | 1 << lane);
        let unused = match rule {
            PartialWrites::ReadIfUsed => layers.lanes_from(LOST + 1) & !self.used.get(&lpn.0).copied().unwrap_or_default(),
            PartialWrites::Read | PartialWrites::ReadIfNeeded => 0,
        };
        layers.lanes() & !discarded & !unused
    }

    pub(super) fn doubt(&mut self, lpn: Lpn) {
        if self.doubts.last() != Some(&lpn.0) {
            self.doubts.push(lpn.0);
        }
    }

    /// The write numbered `number` has failed. Over what is lost that makes nothing of the old content right.
    pub(super) fn is_unknown(&mut self, lpn: Lpn, number: u64) {
        self.doubt(lpn);
        let is_over_lost = |page: &PageVersions| page.versions.iter().any(|version| version.number == number && version.over_lost);
        if self.active.get(&lpn.0).is_some_and(is_over_lost) {
            return;
        }
        let latest = self.unknown.entry(lpn.0).or_default();
        *latest = number.max(*latest);
        if let Some(page) = self.active.get_mut(&lpn.0) {
            page.vague = true;
        }
    }

    /// The strips of an operation of which nobody knows what they hold.
    pub(super) fn unknown_strips(&self, operation: &Operation) -> u64 {
        if self.unknown.is_empty() {
            return 0;
        }
        let is_unknown = |strip: &u32| self.unknown.contains_key(&operation.host_page(*strip).0);
        Bits(operation.strips).filter(is_unknown).fold(0, |all, strip| all | 1 << strip)
    }

    /// Whether the host was told that the operation's request has written the page.
    pub(super) fn is_believed(&self, id: u32, lpn: Lpn) -> bool {
        let number = self.gathered[id as usize].sequence + 1;
        let is_answered = self.active.get(&lpn.0).is_none_or(|page| page.floor >= number);
        is_answered && self.unknown.get(&lpn.0).is_none_or(|failed| *failed < number)
    }

    /// What the host takes for written of a page did not come to flash, and nobody has it any more. Where nothing newer covers it, the page is what nobody
    /// can deliver: reads that begin from now on must fail. Those in progress may have seen what the buffer held.
    pub(super) fn lose(&mut self, lpn: Lpn, given: &Layers) {
        self.doubt(lpn);
        let mut newest = self.newest.get(lpn.0);
        let lost = newest.common(given);
        if lost == 0 {
            return;
        }
        newest.write(LOST, lost);
        self.newest.set(lpn.0, newest);
        // That an earlier write has failed explains nothing any more; that this very one has, the host was told.
        if self.unknown.get(&lpn.0).is_some_and(|failed| given.latest().is_some_and(|latest| *failed <= latest)) {
            self.unknown.remove(&lpn.0);
        }
        if let Some(page) = self.active.get_mut(&lpn.0) {
            page.floor = page.versions.last().expect("never empty").number + 1;
        }
    }

    pub(super) fn count_read(&mut self, lpn: Lpn, seen: bool) {
        self.reads_checked += 1;
        self.mismatches += u64::from(!seen && !self.unknown.contains_key(&lpn.0));
    }

    /// What an entry holds of a page. What it holds of another one is nothing that anybody wrote.
    pub(super) fn entry(&self, lpn: Lpn, InEntry { entry, lanes }: InEntry) -> Layers {
        match &self.entries[entry as usize] {
            (page, layers) if *page == lpn.0 => layers.clone().only(lanes),
            _ => Layers::of(NOBODY, lanes),
        }
    }

    /// What the data buffer has of a page, later sources laid over earlier ones, and which lanes flash does not add to.
    pub(super) fn in_buffer(&self, lpn: Lpn, sources: &[InBuffer]) -> (Layers, u64) {
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
    pub(super) fn given(&self, id: u32, strip: u32) -> Layers {
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
    pub(super) fn host_strip_over(&self, below: Option<&(u8, u64)>, id: u32, operation: &Operation, strip: u32) -> u64 {
        if operation.kind == OperationKind::Trim {
            return ZERO;
        }
        let (lpn, given) = (operation.host_page(strip), self.given(id, strip));
        let below = below.map_or(ZERO, |(_, content)| content ^ self.durable.get(lpn.0).content(lpn.0, given.lanes()));
        below ^ given.content(lpn.0, ALL)
    }

    /// What `sources` of the operation add up to, each times its weight if there are some.
    pub(super) fn content_of(&self, id: u32, operation: &Operation, sources: Sources, weights: Option<&Weights>) -> u64 {
        let scaled = |content, factors: fn(&Weights) -> &[u8; 64], term: u32| {
            weights.map_or(content, |weights| scale(content, factors(weights)[term as usize]))
        };
        let of_host = |strip| scaled(self.host_strip(id, operation, strip), |weights| &weights.host, strip);
        let reads = &self.gathered[id as usize].reads;
        let of_read = |read: u32| scaled(reads.get(read as usize).copied().unwrap_or(POISON), |weights| &weights.reads, read);
        let host = Bits(sources.host).fold(ZERO, |content, strip| content ^ of_host(strip));
        let content = Bits(sources.reads).fold(host, |content, read| content ^ of_read(read));
        content ^ if sources.deferred { self.deferred_of(id) } else { ZERO }
    }

    /// Whether a write or discard of the page has failed since it was written whole: old or new, nobody knows.
    pub fn is_in_doubt(&self, lpn: Lpn) -> bool {
        self.unknown.contains_key(&lpn.0)
    }

    /// What NVRAM holds of this parity.
    pub fn in_nvram(&self, parity: MemberPage) -> u64 {
        self.deferred.get(&parity).copied().unwrap_or(ZERO)
    }

    /// What it holds of the parity of an operation's stripe.
    pub(super) fn deferred_of(&self, id: u32) -> u64 {
        self.gathered[id as usize].parity.map_or(ZERO, |parity| self.in_nvram(parity))
    }
}

/// What a read gets that takes `lanes` of a page from these layers. What they do not hold is nothing that anybody wrote.
pub(super) fn taken_from(layers: &Layers, lpn: Lpn, lanes: u64) -> u64 {
    layers.content(lpn.0, lanes) ^ Layers::of(NOBODY, lanes & !layers.lanes()).content(lpn.0, ALL)
}

/// How many strips of the operation are below `strip`.
pub(super) fn rank(operation: &Operation, strip: u32) -> u32 {
    (operation.strips & ((1u64 << strip) - 1)).count_ones()
}

/// An element of a list that grows as far as that.
pub(super) fn grown<T: Clone + Default>(list: &mut Vec<T>, index: u32) -> &mut T {
    if list.len() <= index as usize {
        list.resize((index as usize + 1).next_power_of_two(), T::default());
    }
    &mut list[index as usize]
}
