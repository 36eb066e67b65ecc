//! A second content, naive and independent of tags: each page really holds eight lanes (bytes that stand for an eighth of the page each).
//! Parity is the XOR of lanes, a sub-page write replaces the lanes that the host gave, zeroes are zero. The host's side is an array
//! of what was asked for.

use flashraid_redundancy::{Operation, OperationKind};
use flashraid_sim::config::PartialWrites;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::{Content, Expected, FILL, InBuffer, InEntry, Shares, Stored, Submitted};
use flashraid_sim::media::Media;
use flashraid_vocabulary::galois::scale;
use flashraid_vocabulary::{Delivery, HostOp, HostRequest, Lpn, MemberPage, Observer, PageOperation, Ppn, Sources, Version, Weights};
use std::collections::BTreeMap;

/// What the engine rounds requests to, see `flashraid_sim::buffer`.
const SECTOR_BYTES: u64 = flashraid_sim::buffer::SECTOR_BYTES as u64;
/// Lanes of a page.
pub const LANES: u64 = 8;

#[derive(Clone, Debug, Default)]
struct Gathered {
    sequence: u64,
    parity: Option<MemberPage>,
    reads: Vec<u64>,
    below: BTreeMap<u32, u64>,
    /// What an eviction writes of each strip: lanes, and which of them.
    evicted: BTreeMap<u32, (u64, u64)>,
    /// What a read takes of its pages: lanes from the buffer, and which of them, and which lanes of what flash delivers.
    overlays: BTreeMap<u32, (u64, u64, u64)>,
    /// For each page of a read: what it must see, unless a write of the page was or became concurrent.
    expected: Vec<Option<(u64, u64)>>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Bytes {
    flash: Vec<Option<u64>>,
    host: Vec<u64>,
    /// How often a page was submitted, and how often it was acknowledged.
    submissions: Vec<(u64, u64)>,
    /// What each request put into each page: lanes, and which of them.
    given: BTreeMap<(u64, u64), (u64, u64)>,
    /// What the data buffer's entries hold: lanes, and which of them.
    entries: Vec<(u64, u64)>,
    gathered: Vec<Gathered>,
    programs: Vec<u64>,
    reads: Vec<(u8, u8)>,
    /// The requests, by number.
    pub requests: Vec<HostRequest>,
    /// What NVRAM holds of parities, by local page.
    pub deferred: BTreeMap<MemberPage, u64>,
    page_bytes: u64,
    /// Reads compared.
    pub reads_checked: u64,
    /// What was wrong.
    pub wrong: Vec<String>,
}

flashraid_vocabulary::persistent!(Bytes {
    anew [flash, host, submissions, given, entries, gathered, programs, reads, requests, deferred, page_bytes, reads_checked, wrong],
});

fn grown<T: Clone + Default>(list: &mut Vec<T>, index: u32) -> &mut T {
    if list.len() <= index as usize {
        list.resize(index as usize + 1, T::default());
    }
    &mut list[index as usize]
}

fn bits(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |bit| mask >> bit & 1 == 1)
}

fn lpn_of(operation: &Operation, strip: u32) -> u64 {
    operation.host_page(strip).0
}

/// Recognizable lanes: never all zero.
fn lanes(sequence: u64, lpn: u64) -> u64 {
    let number =
        (sequence.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ lpn.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    number ^ number >> 31 | 0x0101_0101_0101_0101
}

impl Bytes {
    pub fn new(ppn_limit: u64, space_pages: u64, page_bytes: u32) -> Self {
        Self {
            flash: vec![None; ppn_limit as usize],
            host: vec![0; space_pages as usize],
            submissions: vec![(0, 0); space_pages as usize],
            given: BTreeMap::new(),
            entries: Vec::new(),
            gathered: Vec::new(),
            programs: Vec::new(),
            reads: Vec::new(),
            requests: Vec::new(),
            deferred: BTreeMap::new(),
            page_bytes: u64::from(page_bytes),
            reads_checked: 0,
            wrong: Vec::new(),
        }
    }

    /// Lanes (as a mask of bytes) that the request under submission, rounded outwards to sectors, touches in the `page`-th page from
    /// its first on.
    fn touched(&self, request: &HostRequest, page: u64) -> u64 {
        let lane_bytes = self.page_bytes / LANES;
        let start = (request.offset_bytes / self.page_bytes + page) * self.page_bytes;
        let offset = request.offset_bytes / SECTOR_BYTES * SECTOR_BYTES;
        let end = (request.offset_bytes + request.size_bytes).next_multiple_of(SECTOR_BYTES);
        let is_touched = |lane: &u64| (start + lane * lane_bytes) >= offset && (start + (lane + 1) * lane_bytes) <= end;
        (0..LANES).filter(is_touched).fold(0, |mask, lane| mask | 0xFF << (8 * lane))
    }

    fn content_of(&self, id: u32, operation: &Operation, sources: Sources, weights: Option<&Weights>) -> u64 {
        let times = |content, factor: Option<u8>| factor.map_or(content, |factor| scale(content, factor));
        let host = bits(sources.host)
            .fold(0, |sum, strip| sum ^ times(self.host_strip(id, operation, strip), weights.map(|weights| weights.host[strip as usize])));
        let content = bits(sources.reads).fold(host, |sum, read| {
            sum ^ times(self.gathered[id as usize].reads[read as usize], weights.map(|weights| weights.reads[read as usize]))
        });
        content ^ if sources.deferred { self.deferred_of(id) } else { 0 }
    }

    /// What NVRAM holds of the parity of an operation's stripe.
    fn deferred_of(&self, id: u32) -> u64 {
        self.gathered[id as usize].parity.and_then(|parity| self.deferred.get(&parity)).copied().unwrap_or(0)
    }

    fn host_strip(&self, id: u32, operation: &Operation, strip: u32) -> u64 {
        if operation.kind == OperationKind::Trim {
            return 0;
        }
        let gathered = &self.gathered[id as usize];
        let lpn = lpn_of(operation, strip);
        if gathered.sequence > FILL / 2 {
            return lanes(gathered.sequence, lpn); // before the workload
        }
        let (value, mask) = gathered.evicted.get(&strip).copied().unwrap_or_else(|| self.given[&(gathered.sequence, lpn)]);
        value & mask | gathered.below.get(&strip).copied().unwrap_or(0) & !mask
    }

    fn compare(&mut self, id: u32, operation: &Operation, strip: u32, content: u64) {
        let lpn = lpn_of(operation, strip);
        let gathered = &self.gathered[id as usize];
        let expected = gathered.expected[(lpn - operation.first.0) as usize];
        let (value, from_buffer, from_flash) = gathered.overlays.get(&strip).copied().unwrap_or((0, 0, u64::MAX));
        let content = value & from_buffer | content & from_flash & !from_buffer;
        let Some((submissions, expected)) = expected else { return };
        if self.submissions[lpn as usize].0 == submissions {
            self.reads_checked += 1;
            if content != expected {
                self.wrong.push(format!("host page {lpn} was read as {content:#018x}, and holds {expected:#018x}"));
            }
        }
    }

    fn entry(&self, InEntry { entry, lanes }: InEntry) -> (u64, u64) {
        assert_eq!(self.entries[entry as usize].1, lanes, "entry {entry} holds what was given");
        self.entries[entry as usize]
    }

    /// What a read takes from the buffer of a page; later sources are laid over earlier ones.
    fn in_buffer(&mut self, lpn: Lpn, shares: &Shares) -> u64 {
        let (value, held) = shares.sources.iter().fold((0, 0), |(below, held), source| {
            let (value, mask) = match *source {
                InBuffer::Leaving { operation, strip } => self.gathered[operation as usize].evicted[&strip.into()],
                InBuffer::Zeroes => return (0, 0),
                InBuffer::Entry(entry) => self.entry(entry),
            };
            (value & mask | below & !mask, held | mask)
        });
        if shares.from_buffer & !held != 0 {
            self.wrong.push(format!("host page {} is read from a buffer that does not hold all of {:#018x}", lpn.0, shares.from_buffer));
        }
        value & shares.from_buffer
    }

    /// Compares every page with what the host asked for, and every row with the plain rule of `layout`. Only while nothing is in flight.
    pub fn check_quiet<M: Media>(engine: &Engine<Self, M>, layout: Redundancy) {
        let (bytes, flash) = (&engine.executor.content, &engine.executor.media);
        assert!(bytes.wrong.is_empty(), "{}", bytes.wrong[0]);
        let content = |address: MemberPage, version| {
            flash
                .lookup(address, version)
                .map(|ppn| bytes.flash[ppn.0 as usize].unwrap_or_else(|| panic!("{address:?} is at {ppn:?}, erased")))
        };
        for lpn in 0..engine.space_pages() {
            let stored = content(engine.scheme().locate(Lpn(lpn)), Version::Current).unwrap_or(0);
            let entry = engine.survey().buffer.and_then(|buffer| buffer.find(Lpn(lpn)));
            assert_eq!(engine.front_end.holds(Lpn(lpn)), entry.is_some(), "nothing is in flight");
            let (value, mask) = entry.map_or((0, 0), |entry| bytes.entries[entry as usize]);
            let stored = value & mask | stored & !mask;
            assert_eq!(stored, bytes.host[lpn as usize], "host page {lpn}");
        }
        let members = flash.shape().members as u16;
        let mut late = 0;
        for page in 0..flash.shape().pages_per_member {
            let current = |member: u16| content(MemberPage::new(member, page), Version::Current).unwrap_or(0);
            let sum = (0..members).fold(0, |sum, member| sum ^ current(member));
            match layout {
                Redundancy::None => {}
                Redundancy::Mirror { copies, step } => {
                    let first = |member: u16| member / (copies * step) * (copies * step) + member % step;
                    (0..members).for_each(|member| assert_eq!(current(member), current(first(member)), "row {page}"));
                }
                Redundancy::Copied => {
                    let covered = |member: u16| {
                        let page = MemberPage::new(member, page);
                        let Some(copy) = content(page, Version::Copy) else { return current(member) };
                        assert_eq!(copy, current(member), "{page:?}");
                        content(page, Version::Base).unwrap_or(0)
                    };
                    assert_eq!((0..members).fold(0, |sum, member| sum ^ covered(member)), 0, "row {page} does not add up");
                }
                Redundancy::Parity => assert_eq!(sum, 0, "row {page} does not add up"),
                Redundancy::TwoParities => {
                    let width = engine.scheme().width();
                    let first = u64::from(page) * u64::from(width);
                    let strips: Vec<u64> =
                        (0..u64::from(width)).map(|strip| engine.scheme().locate(Lpn(first + strip)).member.0).map(current).collect();
                    let mut parities = Vec::new();
                    engine.scheme().redundancy_of(Lpn(first), &mut parities);
                    let doubled = |byte: u8| (byte << 1) ^ if byte >> 7 == 1 { 0x1D } else { 0 };
                    // Horner: d_0 + 2 (d_1 + 2 (d_2 + ...)), in each byte.
                    let second = strips.iter().rev().fold([0; 8], |sum: [u8; 8], strip| {
                        let bytes = strip.to_le_bytes();
                        std::array::from_fn(|lane| doubled(sum[lane]) ^ bytes[lane])
                    });
                    let expected = [strips.iter().fold(0, |sum, strip| sum ^ strip), u64::from_le_bytes(second)];
                    assert_eq!([parities[0], parities[1]].map(|parity| current(parity.member.0)), expected, "row {page}");
                }
                // The parity covers the base of a page, or nothing of it, in the one row that may be late.
                Redundancy::Late if sum != 0 => {
                    let bases: Vec<u64> =
                        (0..members).map(|member| content(MemberPage::new(member, page), Version::Base).unwrap_or(0)).collect();
                    let adds_up = |late: u32| {
                        (0..members).fold(0, |sum, m| sum ^ if late >> m & 1 == 1 { bases[usize::from(m)] } else { current(m) }) == 0
                    };
                    assert!((0..1 << members).any(adds_up), "row {page} adds up with no choice of versions");
                    late += 1;
                }
                Redundancy::Late => {}
            }
        }
        assert!(late <= 1, "{late} rows are late");
    }
}

/// What holds between the members of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    None,
    /// So many members hold the same, each so many members after the one before.
    Mirror {
        copies: u16,
        step: u16,
    },
    Parity,
    /// An XOR, and a sum in GF(2^8), of the pages of a stripe in the order of the host.
    TwoParities,
    /// Parity that covers the bases of pages with copies, which are like the pages.
    Copied,
    /// Parity put off for one row at a time.
    Late,
}

impl Observer for Bytes {
    fn moved(&mut self, from: Ppn, to: Ppn) {
        self.flash[to.0 as usize] = self.flash[from.0 as usize];
    }

    fn erased(&mut self, first: Ppn, pages: u32) {
        self.flash[first.0 as usize..][..pages as usize].fill(None);
    }
}

impl Stored for Bytes {
    fn read_submitted(&mut self, record: u32, read: u8, strip: u8) {
        *grown(&mut self.reads, record) = (read, strip);
    }

    fn delivered(&mut self, id: u32, operation: &Operation, record: u32, ppn: Ppn) {
        let Some(content) = self.flash[ppn.0 as usize] else {
            self.wrong.push(format!("{ppn:?} was erased when its read ended: {operation:?}"));
            return;
        };
        let (read, strip) = self.reads[record as usize];
        let gathered = &mut self.gathered[id as usize];
        *grown(&mut gathered.reads, u32::from(read)) = content;
        if strip == PageOperation::NO_STRIP {
        } else if operation.kind == OperationKind::Read {
            self.compare(id, operation, u32::from(strip), content);
        } else {
            gathered.below.insert(u32::from(strip), content);
        }
    }

    fn program(&mut self, id: u32, operation: &Operation, sources: Sources, weights: Option<&Weights>, record: u32) {
        *grown(&mut self.programs, record) = self.content_of(id, operation, sources, weights);
    }

    fn deferred(&mut self, id: u32, operation: &Operation, sources: Sources) {
        let content = self.content_of(id, operation, sources, None);
        self.deferred.insert(self.gathered[id as usize].parity.unwrap(), content);
    }

    fn deferred_no_more(&mut self, parity: MemberPage) {
        self.deferred.remove(&parity);
    }

    fn repeated(&mut self, _record: u32, _anew: u32) {
        unreachable!("nothing fails here");
    }

    fn programmed(&mut self, record: u32, ppn: Ppn) {
        let page = &mut self.flash[ppn.0 as usize];
        if page.replace(self.programs[record as usize]).is_some() {
            self.wrong.push(format!("{ppn:?} was programmed twice"));
        }
    }

    fn assembled(&mut self, _id: u32, _operation: &Operation, _delivery: &Delivery, _weights: Option<&Weights>) {
        unreachable!("nothing fails here");
    }

    fn placed_zero(&mut self, ppn: Ppn) {
        self.flash[ppn.0 as usize] = Some(0);
    }

    fn program_stamp(&mut self, record: u32, stamp: u64) {
        *grown(&mut self.programs, record) = stamp;
    }

    fn check_stamp(&mut self, ppn: Ppn, stamp: u64) {
        if self.flash[ppn.0 as usize] != Some(stamp) {
            self.wrong.push(format!("translation page at {ppn:?}: {:?}, not {stamp}", self.flash[ppn.0 as usize]));
        }
    }

    fn placed_stamp(&mut self, ppn: Ppn, stamp: u64) {
        self.flash[ppn.0 as usize] = Some(stamp);
    }
}

impl Expected for Bytes {
    fn submitted(&mut self, sequence: u64, lpn: Lpn, change: Submitted) {
        let request = self.requests[sequence as usize];
        let (space, first) = (self.host.len() as u64, request.offset_bytes / self.page_bytes);
        let page = (lpn.0 + space - first) % space;
        let mask = self.touched(&request, page);
        assert!(change == if mask == u64::MAX { change } else { Submitted::Part(mask) }, "{request:?} {lpn:?} {change:?}");
        let value = if request.op == HostOp::Write { lanes(sequence, lpn.0) } else { 0 };
        let host = &mut self.host[lpn.0 as usize];
        *host = value & mask | *host & !mask;
        self.submissions[lpn.0 as usize].0 += 1;
        self.given.insert((sequence, lpn.0), (value, mask));
    }

    fn left_with(&mut self, lpn: Lpn, lanes: u64, sequence: Option<u64>, _: PartialWrites) {
        self.host[lpn.0 as usize] &= lanes;
        if sequence.is_none() {
            // Reads in progress may see what was there.
            let (submitted, acknowledged) = &mut self.submissions[lpn.0 as usize];
            (*submitted, *acknowledged) = (*submitted + 1, *acknowledged + 1);
        }
    }

    fn acknowledged(&mut self, sequence: u64, lpn: Lpn, failed: bool) {
        assert!(!failed);
        if self.given.contains_key(&(sequence, lpn.0)) {
            self.submissions[lpn.0 as usize].1 += 1;
        }
    }

    fn begin(&mut self, id: u32, operation: &Operation, parity: Option<MemberPage>, sequence: u64, entries: &[InEntry]) {
        let evicted = bits(operation.strips).zip(entries).map(|(strip, entry)| (strip, self.entry(*entry))).collect();
        let mut gathered = Gathered { sequence, parity, evicted, ..Gathered::default() };
        if operation.kind == OperationKind::Read {
            for rank in 0..u64::from(operation.strips.count_ones()) {
                let lpn = (operation.first.0 + rank) as usize;
                let (submitted, acknowledged) = self.submissions[lpn];
                gathered.expected.push((submitted == acknowledged).then_some((submitted, self.host[lpn])));
            }
        }
        *grown(&mut self.gathered, id) = gathered;
    }

    fn restarted(&mut self, _id: u32, _operation: &Operation) {
        unreachable!("nothing fails here");
    }

    fn ended(&mut self, _id: u32, _operation: &Operation, _failed: bool) {}

    fn check_without_flash(&mut self, id: u32, operation: &Operation, strip: u32, writer: Option<(u32, &Operation, u32)>) {
        let content = writer.map_or(0, |(writer, write, strip)| self.host_strip(writer, write, strip));
        self.compare(id, operation, strip, content);
    }

    fn buffered(&mut self, entry: u32, sequence: u64, lpn: Lpn, lanes: u64, is_new: bool) {
        let (value, mask) = self.given[&(sequence, lpn.0)];
        assert_eq!(lanes, mask);
        let (before, known) = std::mem::take(grown(&mut self.entries, entry));
        let (before, known) = if is_new { (0, 0) } else { (before, known) };
        self.entries[entry as usize] = (value & mask | before & !mask, known | mask);
    }

    fn check_in_buffer(&mut self, lpn: Lpn, asked: u64, shares: &Shares) {
        let value = self.in_buffer(lpn, shares);
        self.reads_checked += 1;
        let (content, expected) = (value & asked, self.host[lpn.0 as usize] & asked);
        if content != expected {
            self.wrong.push(format!("host page {} was read from the buffer as {content:#018x}, and holds {expected:#018x}", lpn.0));
        }
    }

    fn overlay_buffer(&mut self, id: u32, lpn: Lpn, strip: u8, shares: &Shares) {
        let overlay = (self.in_buffer(lpn, shares), shares.from_buffer, shares.from_flash);
        self.gathered[id as usize].overlays.insert(u32::from(strip), overlay);
    }

    fn filled(&mut self, lpn: Lpn, sequence: u64) {
        self.host[lpn.0 as usize] = lanes(sequence, lpn.0);
    }
}

impl Content for Bytes {
    const TRACKED: bool = true;
}
