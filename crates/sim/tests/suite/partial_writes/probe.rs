//! The naive map of sectors, and the content that compares with it which old pages writes are given.

use flashraid_redundancy::{Operation, OperationKind};
use flashraid_sim::Config;
use flashraid_sim::config::{PartialWrites, Unwritten};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::{Content, Expected, FILL, InEntry, Stored, Submitted};
use flashraid_sim::media::Media;
use flashraid_vocabulary::{HostOp, HostRequest, Lpn, MemberPage, Observer, PageOperation, Ppn};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub const SECTOR: u64 = 512;

/// The naive map: numbers of sectors, counted through the logical space.
#[derive(Clone, Debug)]
pub struct Naive {
    rule: PartialWrites,
    prefills: bool,
    page_sectors: u64,
    space_pages: u64,
    /// Those that hold something.
    valid: BTreeSet<u64>,
    /// Those that a request has read or written.
    used: BTreeSet<u64>,
}

impl Naive {
    pub fn new(config: &Config, space_pages: u64) -> Self {
        Self {
            rule: config.host.partial_writes,
            prefills: config.host.unwritten == Unwritten::Prefill,
            page_sectors: u64::from(config.device.page_bytes) / SECTOR,
            space_pages,
            valid: BTreeSet::new(),
            used: BTreeSet::new(),
        }
    }

    fn of_page(&self, lpn: u64) -> Range<u64> {
        lpn * self.page_sectors..(lpn + 1) * self.page_sectors
    }

    /// The pages of a range of sectors, which goes on at the start of the space, each with its sectors.
    fn by_page(&self, sectors: Range<u64>) -> Vec<(u64, BTreeSet<u64>)> {
        let mut pages: Vec<(u64, BTreeSet<u64>)> = Vec::new();
        let mut former = None;
        for sector in sectors {
            if former != Some(sector / self.page_sectors) {
                former = Some(sector / self.page_sectors);
                pages.push((sector / self.page_sectors % self.space_pages, BTreeSet::new()));
            }
            pages.last_mut().unwrap().1.insert(sector % (self.space_pages * self.page_sectors));
        }
        pages
    }

    /// Whether the write has to read the page first.
    fn write(&mut self, lpn: u64, sectors: &BTreeSet<u64>) -> bool {
        let counts = |sector: &u64| self.rule == PartialWrites::ReadIfNeeded || self.used.contains(sector);
        let needs = self.of_page(lpn).any(|sector| self.valid.contains(&sector) && !sectors.contains(&sector) && counts(&sector));
        if !needs {
            self.discard(self.of_page(lpn));
        }
        self.valid.extend(sectors);
        self.used.extend(sectors);
        needs
    }

    fn read(&mut self, sectors: &BTreeSet<u64>) {
        self.used.extend(sectors);
        if self.prefills {
            self.valid.extend(sectors);
        }
    }

    fn discard(&mut self, sectors: Range<u64>) {
        let space = self.space_pages * self.page_sectors;
        for sector in sectors {
            self.valid.remove(&(sector % space));
        }
    }
}

/// A write in flight: its strips that should be given an old page, and those that were.
#[derive(Clone, Debug, Default)]
pub struct Course {
    expected: u64,
    given: u64,
}

/// Compares what the naive map expects of each write with what that reads.
#[derive(Clone, Debug)]
pub struct Probe {
    naive: Naive,
    /// Of writes without a buffer: request, page, and whether it has to be read; in the order in which the pages are decided.
    pub expected: BTreeMap<(u64, u64), Vec<bool>>,
    pub courses: BTreeMap<u32, Course>,
    reads: BTreeMap<u32, u8>,
    /// Pages written in part, and those that were to be read.
    pub parts: u64,
    pub needed: u64,
    /// Whole pages of a request with evictions before its discard.
    pub zeroes: Option<Range<u64>>,
    pub wrong: Vec<String>,
}

flashraid_vocabulary::persistent!(Probe { anew [naive, expected, courses, reads, parts, needed, zeroes, wrong], });

impl Probe {
    pub fn new(naive: Naive) -> Self {
        Self {
            naive,
            expected: BTreeMap::new(),
            courses: BTreeMap::new(),
            reads: BTreeMap::new(),
            parts: 0,
            needed: 0,
            zeroes: None,
            wrong: Vec::new(),
        }
    }

    fn write(&mut self, lpn: u64, sectors: &BTreeSet<u64>) -> bool {
        let needs = self.naive.write(lpn, sectors);
        self.parts += u64::from((sectors.len() as u64) < self.naive.page_sectors);
        self.needed += u64::from(needs);
        needs
    }

    /// Request `sequence` writes these sectors, without a buffer.
    fn write_through(&mut self, sequence: u64, sectors: Range<u64>) {
        for (lpn, sectors) in self.naive.by_page(sectors) {
            let needs = self.write(lpn, &sectors);
            self.expected.entry((sequence, lpn)).or_default().push(needs);
        }
    }
}

/// Tells the probe of a request that is about to be submitted.
pub fn announce<M: Media>(engine: &mut Engine<Probe, M>, sequence: u64, request: &HostRequest) {
    let (offset, end) = (request.offset_bytes, request.offset_bytes + request.size_bytes);
    let touched = offset / SECTOR..end.div_ceil(SECTOR);
    let covered = offset.div_ceil(SECTOR)..(end / SECTOR).max(offset.div_ceil(SECTOR));
    let page_sectors = engine.executor.content.naive.page_sectors;
    let is_buffered = engine.survey().buffer.is_some();
    match request.op {
        HostOp::Flush => {}
        HostOp::Read => {
            for (lpn, sectors) in engine.executor.content.naive.by_page(touched) {
                let taken = engine.survey().buffer.map(|buffer| buffer.take(Lpn(lpn))).unwrap_or_default();
                let is_buffered = |sector: &u64| taken.from_buffer() >> (sector % page_sectors).min(63) & 1 == 1;
                engine.executor.content.naive.read(&sectors.into_iter().filter(|sector| !is_buffered(sector)).collect());
            }
        }
        HostOp::Trim => engine.executor.content.naive.discard(covered),
        HostOp::Write if is_buffered => {}
        HostOp::Write => engine.executor.content.write_through(sequence, touched),
        HostOp::WriteZeroes => {
            let first = offset.next_multiple_of(page_sectors * SECTOR) / SECTOR;
            let last = end / SECTOR / page_sectors * page_sectors;
            if is_buffered {
                engine.executor.content.zeroes = Some(first..last.max(first));
                return;
            }
            engine.executor.content.write_through(sequence, touched.start..first.min(touched.end).max(touched.start));
            engine.executor.content.naive.discard(first..last.max(first));
            let rest = last.max(first.min(touched.end));
            // Bytes before the end of the head are none of the tail.
            engine.executor.content.write_through(sequence, rest..touched.end.max(rest));
        }
    }
}

impl Observer for Probe {}

impl Stored for Probe {
    fn read_submitted(&mut self, record: u32, _: u8, strip: u8) {
        self.reads.insert(record, strip);
    }

    fn delivered(&mut self, id: u32, operation: &Operation, record: u32, _: Ppn) {
        let strip = self.reads[&record];
        if operation.kind == OperationKind::Write && strip != PageOperation::NO_STRIP {
            self.courses.get_mut(&id).expect("a write of the host").given |= 1 << strip;
        }
    }
}

impl Expected for Probe {
    fn submitted(&mut self, _: u64, _: Lpn, change: Submitted) {
        if change == Submitted::Zero
            && let Some(sectors) = self.zeroes.take()
        {
            self.naive.discard(sectors);
        }
    }

    fn begin(&mut self, id: u32, operation: &Operation, _: Option<MemberPage>, sequence: u64, entries: &[InEntry]) {
        self.courses.remove(&id);
        if operation.kind != OperationKind::Write || sequence > FILL / 2 && entries.is_empty() {
            return;
        }
        let strips: Vec<u32> = (0..64).filter(|strip| operation.strips >> strip & 1 == 1).collect();
        let mut course = Course::default();
        for (index, strip) in strips.into_iter().enumerate() {
            let lpn = operation.host_page(strip).0;
            let needs = match entries.get(index) {
                Some(entry) => {
                    let lanes = 64 / self.naive.page_sectors;
                    let start = self.naive.of_page(lpn).start;
                    let holds = |sector: &u64| entry.lanes >> ((sector - start) * lanes) & 1 == 1;
                    self.write(lpn, &self.naive.of_page(lpn).filter(holds).collect())
                }
                None => self.expected.get_mut(&(sequence, lpn)).expect("the request writes the page").remove(0),
            };
            course.expected |= u64::from(needs) << strip;
        }
        self.courses.insert(id, course);
    }

    fn ended(&mut self, id: u32, operation: &Operation, failed: bool) {
        if let Some(Course { expected, given }) = self.courses.remove(&id)
            && (failed || expected != given)
        {
            self.wrong.push(format!("{operation:?} was given {given:#b}, not {expected:#b}; failed: {failed}"));
        }
    }

    fn filled(&mut self, lpn: Lpn, _: u64) {
        self.naive.valid.extend(self.naive.of_page(lpn.0));
    }
}

impl Content for Probe {
    const TRACKED: bool = true;
}
