//! The engine: takes host requests, lets the scheme plan them, has the flash execute the plans, and reports completions.
//!
//! It is incremental: `submit` at the current time, `advance_until` a time, `next_event_ns`, `completed`. It owns plain data, so
//! a simulation can be cloned and continued. Reading order: here (requests), `operations` (their operations), `locks`, `instant`
//! (work without time), `content` and `tags` (verification).

mod buffered;
pub mod content;
mod exposure;
mod failure;
mod instant;
mod layers;
pub mod locks;
pub mod moment;
mod operations;
pub mod recorder;
pub mod tags;
pub mod translation;

use crate::buffer::{Buffer, BufferOptions, SECTOR_BYTES, Victim};
use crate::clock::{Clock, Due, NEVER};
#[cfg(feature = "mutants")]
use crate::media::accounting::{self, Slip};
use crate::media::{Flash, Media, Shape};
use crate::statistics::Statistics;
use crate::time::LATEST_NS;
use content::{Content, InBuffer, InEntry, Submitted};
pub use exposure::Exposure;
use failure::Failures;
pub use failure::{FaultRecord, RebuildOptions, RebuildRecord};
use flashraid_redundancy::{Decisions, Extent, Failure, Job, Scheme};
use flashraid_vocabulary::memory::{prefetch, reserved};
use flashraid_vocabulary::{Cause, Change, HostOp, HostRequest, Lpn, MemberPage, View, Wave};
pub use instant::Reached;
use locks::Locks;
use operations::Slot;
use recorder::Recorder;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fmt;
use translation::Translation;

/// Page operations started last that are remembered for fetching ahead: about as many as a device has array units.
const STARTED: usize = 8;

/// Requests in flight, and operations, for which there is room without growing.
const ROOM: usize = 1 << 20;

/// Operations that hardly ever become ready at one instant, and writes that hardly ever come while one is not finished.
const MOST_AT_ONCE: usize = 1 << 12;

/// "None" in linked lists of slots and requests.
const NIL: u32 = u32::MAX;

/// How the sub-requests (operations) of one request follow each other (SPEC 0.3 step 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serial {
    /// All start at once.
    Off,
    /// The next starts when the former's page operations are queued.
    Queued,
    /// The next starts when the former has ended.
    Strict,
}

/// What the engine is told beside scheme and flash.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Pages of the logical space; addresses are below it.
    pub space_pages: u64,
    /// How sub-requests follow each other.
    pub serial: Serial,
    /// The host waits for parity programs too.
    pub parity_in_response: bool,
    /// Reads of unwritten pages find a page that was placed as the fill would have placed it.
    pub prefill: bool,
    /// The map is on flash, where the flash layer was given room for it.
    pub dftl: Option<Dftl>,
    /// The data buffer, if there is one.
    pub buffer: Option<BufferOptions>,
    /// How what failed is rebuilt; `None` if it never is.
    pub rebuild: Option<RebuildOptions>,
}

/// Sizes of DFTL.
#[derive(Clone, Copy, Debug)]
pub struct Dftl {
    /// Map entries that RAM holds.
    pub cmt_entries: u32,
    /// Map entries in each translation page; a power of two.
    pub entries_per_page: u32,
    /// Entries of the mirror table of each member: one for each page of its mirror chips.
    pub mirror_entries: u32,
}

/// A request whose last wanted page operation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Number of the request, counted from 0 in order of submission.
    pub sequence: u64,
    /// When.
    pub completed_ns: u64,
    /// False if it failed: for lack of space, or because data are lost.
    pub ok: bool,
}

/// Why the engine cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halted {
    /// It has unfinished work, nothing is under way, and nobody waits for space: a defect of a scheme or of the engine.
    Stalled(String),
    /// What is under way goes on beyond `LATEST_NS`.
    TooLate,
}

impl fmt::Display for Halted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stalled(text) => formatter.write_str(text),
            Self::TooLate => write!(formatter, "what was asked of the device goes on beyond {LATEST_NS} ns (292 years), the latest time"),
        }
    }
}

impl std::error::Error for Halted {}

/// A host request in flight.
#[derive(Clone, Copy, Debug)]
struct Request {
    sequence: u64,
    arrival_ns: u64,
    offset_bytes: u64,
    size_bytes: u64,
    op: HostOp,
    failed: Option<Failure>,
    measured: bool,
    /// Programs for it that started or will, by cause; no repetitions.
    programs: [u32; Cause::COUNT],
    /// Operations that the host still waits for; one more while the request is being cut.
    unanswered: u32,
    /// Operations that have not ended.
    unfinished: u32,
    /// Position among writes, for flushes.
    write_index: u64,
    /// The operation cut last, for `Serial`.
    last_operation: u32,
    next: u32,
}

/// See the module.
#[derive(Clone)]
pub struct Engine<C: Content, M: Media = Flash> {
    options: Options,
    pub(crate) clock: Clock,
    scheme: Box<dyn Scheme>,
    /// What holds the pages; public for reports.
    pub media: M,
    /// What never changes about it.
    shape: Shape,
    /// The contents; public for checks.
    pub content: C,
    jobs: Vec<Box<dyn Job>>,
    /// Whether there are jobs or a recorder, or the scheme wants to know when nobody else works.
    has_watchers: bool,
    /// Time in which nothing was under way.
    idle_ns: u64,
    /// When a measured request was last completed, and `idle_ns` then.
    last_completion: (u64, u64),
    requests: Vec<Request>,
    free_requests: u32,
    outstanding: u64,
    submitted: u64,
    /// Completions since the caller last emptied it, in order.
    pub completed: Vec<CompletedRequest>,
    slots: Vec<Slot>,
    free_slots: u32,
    locks: Locks,
    /// For each space domain, operations that wait for a page: (head, tail).
    space_waiters: Vec<(u32, u32)>,
    waiting_for_space: u64,
    /// Write operations in flight for each 1024 rows, so that large discards may skip rows safely.
    writes_in_chunk: Vec<u32>,
    /// Writes, trims and zeroings in order of submission: has each finished? And the position of the first.
    write_window: VecDeque<bool>,
    first_write: u64,
    flushes: VecDeque<(u64, u32)>,
    /// Answered writes that have not ended, by page: only where a write may be answered before it ends.
    in_controller: FxHashMap<u64, u32>,
    answers_early: bool,
    /// The data buffer, if there is one.
    pub(crate) buffer: Option<Box<Buffer>>,
    /// The pages that are being evicted, in ascending order: operations that write them are being decided.
    evicting: Vec<Victim>,
    /// Lent for `Content` to list where the buffer has a page, and what pages leave it with.
    sources: Vec<InBuffer>,
    leaving_with: Vec<InEntry>,
    /// Lent for the buffer to list operations whose pages are admitted.
    startable: Vec<u32>,
    /// What of the map RAM holds, under DFTL.
    translation: Option<Box<Translation>>,
    failures: Failures,
    page_shift: u32,
    pages_per_row: u64,
    /// What the scheme's window exposes, if it has one.
    exposure: Option<Box<Exposure>>,
    /// What was counted.
    pub statistics: Statistics,
    /// What is kept for outputs beside the result, if anything.
    pub recorder: Option<Box<Recorder>>,
    wave: Wave,
    decisions: Decisions,
    granted: Vec<u32>,
    ready: Vec<u32>,
    started: [(u32, u32); STARTED],
    next_started: usize,
    changes: Vec<Vec<Change>>,
    free_changes: Vec<u32>,
    pages: Vec<MemberPage>,
    #[cfg(feature = "mutants")]
    pub(crate) mutant: Option<crate::mutants::Mutant>,
}

impl<C: Content, M: Media> Engine<C, M> {
    /// An engine over an erased or prepared device.
    pub fn new(scheme: Box<dyn Scheme>, media: M, content: C, options: Options) -> Self {
        let shape = media.shape();
        Self {
            pages_per_row: u64::from(scheme.width()),
            space_waiters: vec![(NIL, NIL); shape.domains as usize],
            writes_in_chunk: vec![0; (shape.pages_per_member >> 10) as usize + 1],
            answers_early: shape.reports_data_in || !options.parity_in_response,
            buffer: options.buffer.map(|buffer| Buffer::new(buffer, options.space_pages, shape.page_bytes, scheme.width()).into()),
            evicting: Vec::new(),
            sources: Vec::new(),
            leaving_with: Vec::new(),
            startable: reserved(MOST_AT_ONCE),
            failures: Failures::new(options.rebuild, &shape),
            page_shift: shape.page_bytes.trailing_zeros(),
            statistics: Statistics::new(shape.members as usize),
            recorder: None,
            translation: options.dftl.map(|dftl| Translation::new(&shape, dftl, C::TRACKED).into()),
            options,
            clock: Clock::default(),
            jobs: Vec::new(),
            has_watchers: scheme.works_when_idle(),
            exposure: exposure::of(&*scheme),
            idle_ns: 0,
            last_completion: (0, 0),
            scheme,
            media,
            shape,
            content,
            requests: reserved(ROOM),
            free_requests: NIL,
            outstanding: 0,
            submitted: 0,
            completed: Vec::new(),
            slots: reserved(ROOM),
            free_slots: NIL,
            locks: Locks::default(),
            waiting_for_space: 0,
            write_window: VecDeque::with_capacity(MOST_AT_ONCE),
            first_write: 0,
            flushes: VecDeque::new(),
            in_controller: Default::default(),
            wave: Wave::default(),
            decisions: Decisions::default(),
            granted: reserved(MOST_AT_ONCE),
            ready: reserved(MOST_AT_ONCE),
            started: [(NIL, 0); STARTED],
            next_started: 0,
            changes: Vec::new(),
            free_changes: Vec::new(),
            pages: Vec::new(),
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }

    /// What of the map RAM holds, under DFTL.
    pub fn translation(&self) -> Option<&Translation> {
        self.translation.as_deref()
    }

    /// Whether the translation page is being written, or about to be.
    pub(crate) fn writes_translation_page(&self, page: u32) -> bool {
        self.locks.is_locked(translation::lock_of(page).0)
    }

    /// Adds background work and offers it every member that is idle.
    pub fn add_job(&mut self, job: Box<dyn Job>) {
        self.jobs.push(job);
        self.has_watchers = true;
        self.offer_jobs();
    }

    /// The scheme, for reports and recovery.
    pub fn scheme(&self) -> &dyn Scheme {
        &*self.scheme
    }

    /// Pages of the logical space.
    pub fn space_pages(&self) -> u64 {
        self.options.space_pages
    }

    /// Whether the controller or its data buffer holds a version of the page that is acknowledged and not on flash yet.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.in_controller.contains_key(&lpn.0) || self.buffer.as_ref().is_some_and(|buffer| buffer.holds(lpn))
    }

    /// Whether the data buffer does that, and keeps it when the controller loses power.
    pub fn holds_safely(&self, lpn: Lpn) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.survives_power_loss() && buffer.holds(lpn))
    }

    /// The data buffer, for reports.
    pub fn buffer(&self) -> Option<&Buffer> {
        self.buffer.as_deref()
    }

    /// Simulated time in which nothing was under way: no request, and no work on flash.
    pub fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    /// When a measured request was last completed (not failed), and the idle time until then.
    pub fn last_completion(&self) -> (u64, u64) {
        self.last_completion
    }

    /// Simulated time.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Requests submitted and not completed.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Time of the next event, if anything is under way.
    pub fn next_event_ns(&self) -> Option<u64> {
        Some(self.media.next_event_ns().min(self.clock.next_timer_ns()).min(self.next_answer_ns())).filter(|time| *time != NEVER)
    }

    /// Moves the time, and says so to media.
    #[inline]
    fn set_now(&mut self, now_ns: u64) {
        self.clock.advance_to(now_ns);
        self.media.set_now(now_ns);
    }

    // ---- requests ----

    /// Submits a request at the current time. Its bytes must lie in the logical space, or wrap round at its end. Returns
    /// its number. `measured` says whether its latency counts.
    pub fn submit(&mut self, request: &HostRequest, measured: bool) -> u64 {
        let sequence = self.submitted;
        self.submitted += 1;
        self.outstanding += 1;
        let end = request.offset_bytes + request.size_bytes;
        // A flush of a buffer in DRAM writes.
        let is_write = matches!(request.op, HostOp::Write | HostOp::Trim | HostOp::WriteZeroes)
            || (request.op == HostOp::Flush && self.flushes_to_flash());
        let id = self.new_request(Request {
            sequence,
            arrival_ns: self.now_ns(),
            offset_bytes: request.offset_bytes,
            size_bytes: request.size_bytes,
            op: request.op,
            failed: None,
            measured,
            programs: [0; Cause::COUNT],
            unanswered: 1,
            unfinished: 1,
            write_index: u64::MAX,
            last_operation: NIL,
            next: NIL,
        });
        if is_write {
            self.requests[id as usize].write_index = self.first_write + self.write_window.len() as u64;
            self.write_window.push_back(false);
        }
        match request.op {
            HostOp::Flush => {
                if self.flushes_to_flash() {
                    self.evict_all(id);
                }
                let target = self.requests[id as usize].write_index.min(self.first_write + self.write_window.len() as u64);
                #[cfg(feature = "mutants")]
                let target = if self.has_fault(crate::mutants::Fault::FlushAtOnce) { self.first_write } else { target };
                if target > self.first_write {
                    self.flushes.push_back((target, id));
                    if self.recorder.is_some() {
                        self.note_submitted_request(measured);
                    }
                    return sequence;
                }
            }
            HostOp::Read | HostOp::Write => self.serve(id, request.op, request.offset_bytes, end),
            HostOp::Trim => self.cut_trim(id, self.pages_up(request.offset_bytes), end >> self.page_shift),
            HostOp::WriteZeroes => self.write_zeroes(id, request.offset_bytes, end),
        }
        self.answered(id);
        self.ended_part(id);
        self.run_ready();
        if self.media.has_failures() {
            self.go_on_rebuilding();
        }
        if self.recorder.is_some() {
            self.note_submitted_request(measured);
        }
        sequence
    }

    /// Pages that so many bytes reach into.
    #[inline]
    fn pages_up(&self, bytes: u64) -> u64 {
        (bytes + u64::from(self.shape.page_bytes) - 1) >> self.page_shift
    }

    fn new_request(&mut self, request: Request) -> u32 {
        match self.free_requests {
            NIL => {
                self.requests.push(request);
                self.requests.len() as u32 - 1
            }
            free => {
                self.free_requests = self.requests[free as usize].next;
                self.requests[free as usize] = request;
                free
            }
        }
    }

    /// Whole pages become unwritten; parts of pages are written.
    #[cold]
    fn write_zeroes(&mut self, id: u32, offset_bytes: u64, end_bytes: u64) {
        let (first, last) = (self.pages_up(offset_bytes), end_bytes >> self.page_shift);
        let (head, tail) = ((first << self.page_shift).min(end_bytes), last << self.page_shift);
        self.serve(id, HostOp::Write, offset_bytes, head);
        self.cut_trim(id, first, last);
        self.serve(id, HostOp::Write, tail.max(head), end_bytes);
    }

    /// Serves a read or write of bytes: through the data buffer, if there is one.
    #[inline]
    fn serve(&mut self, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
        if self.buffer.is_some() {
            self.serve_buffered(id, op, offset_bytes, end_bytes);
        } else {
            self.cut(id, op, offset_bytes, end_bytes);
        }
    }

    /// Cuts bytes, rounded outwards to sectors, into operations, in the order of the logical space; past its end it goes on at its start.
    fn cut(&mut self, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
        if offset_bytes >= end_bytes {
            return;
        }
        let sector = u64::from(SECTOR_BYTES);
        let (offset_bytes, end_bytes) = (offset_bytes & !(sector - 1), end_bytes.next_multiple_of(sector));
        let page = u64::from(self.shape.page_bytes);
        let first = offset_bytes >> self.page_shift;
        let mut extent = Extent {
            op,
            first: self.wrapped(first),
            pages: self.pages_up(end_bytes) - first,
            first_bytes: (end_bytes.min((first << self.page_shift) + page) - offset_bytes) as u32,
            last_bytes: (((end_bytes - 1) & (page - 1)) + 1) as u32,
            covered: false,
        };
        let mut start = (offset_bytes & (page - 1)) as u32;
        while extent.pages > self.options.space_pages - extent.first.0 {
            let pages = self.options.space_pages - extent.first.0;
            let mut lap = Extent { pages, last_bytes: self.shape.page_bytes, ..extent };
            self.cut_lap(id, &mut lap, std::mem::take(&mut start));
            extent.pages -= pages;
            extent.first = Lpn(0);
            extent.first_bytes = if extent.pages == 1 { extent.last_bytes } else { self.shape.page_bytes };
        }
        self.cut_lap(id, &mut extent, start);
    }

    /// Cuts what does not go over the end of the space. `start` is the first byte touched in the first page.
    #[inline]
    fn cut_lap(&mut self, id: u32, extent: &mut Extent, start: u32) {
        if C::TRACKED && extent.op == HostOp::Write {
            self.note_submitted(id, extent, start);
        }
        self.decide_all(id, extent);
    }

    /// Lets the scheme decide all of `extent`, piece by piece.
    #[inline]
    fn decide_all(&mut self, id: u32, extent: &mut Extent) {
        loop {
            let taken = self.decide(id, extent);
            extent.pages -= taken;
            if extent.pages == 0 {
                return;
            }
            extent.first.0 += taken;
            extent.first_bytes = if extent.pages == 1 { extent.last_bytes } else { self.shape.page_bytes };
        }
    }

    /// The page of the logical space, which is as if it repeated without end.
    #[inline]
    fn wrapped(&self, page: u64) -> Lpn {
        Lpn(if page < self.options.space_pages { page } else { page % self.options.space_pages })
    }

    /// Cuts whole pages from `first` on, before `end`, into trims, passing over rows in which nothing is written or being written.
    fn cut_trim(&mut self, id: u32, mut first: u64, end: u64) {
        if first >= end {
            return;
        }
        if C::TRACKED {
            let bytes = self.shape.page_bytes;
            let extent = Extent {
                op: HostOp::Trim,
                first: self.wrapped(first),
                pages: end - first,
                first_bytes: bytes,
                last_bytes: bytes,
                covered: false,
            };
            self.note_submitted(id, &extent, 0);
        }
        if self.buffer.is_some() {
            self.discard_buffered(first, end);
        }
        while first < end {
            let lap = first / self.options.space_pages * self.options.space_pages;
            let lap_end = end.min(lap + self.options.space_pages);
            let last_row = (lap_end - lap).div_ceil(self.pages_per_row) as u32;
            let row = self.next_row((first - lap) / self.pages_per_row, last_row);
            first = first.max(lap + u64::from(row) * self.pages_per_row);
            if first >= lap_end {
                first = lap_end;
                continue;
            }
            let extent = Extent {
                op: HostOp::Trim,
                first: Lpn(first - lap),
                pages: lap_end.min(lap + (u64::from(row) + 1) * self.pages_per_row) - first,
                first_bytes: self.shape.page_bytes,
                last_bytes: self.shape.page_bytes,
                covered: false,
            };
            first += self.decide(id, &extent);
        }
    }

    /// The first row from `row` on, before `end`, in which a page is mapped or a write may be in flight.
    fn next_row(&self, row: u64, end: u32) -> u32 {
        let members = self.shape.members;
        let mut row = row as u32;
        while row < end {
            if self.writes_in_chunk[(row >> 10) as usize] > 0 {
                return row;
            }
            let chunk_end = (((row >> 10) + 1) << 10).min(end);
            match self.media.next_mapped(row * members, chunk_end * members) {
                Some(slot) => return slot / members,
                None => row = chunk_end,
            }
        }
        end
    }

    /// Tells the contents what the host changes. `start` is the first byte touched in the first page.
    fn note_submitted(&mut self, id: u32, extent: &Extent, start: u32) {
        let sequence = self.requests[id as usize].sequence;
        for page in 0..extent.pages {
            let bytes = match page {
                0 => extent.first_bytes,
                last if last + 1 == extent.pages => extent.last_bytes,
                _ => self.shape.page_bytes,
            };
            let change = match extent.op {
                HostOp::Trim => Submitted::Zero,
                _ if bytes < self.shape.page_bytes => Submitted::Part(self.lanes(if page == 0 { start } else { 0 }, bytes)),
                _ => Submitted::Whole,
            };
            self.content.submitted(sequence, self.wrapped(extent.first.0 + page), change);
        }
    }

    /// The lanes that a part of a page reaches into; never all of them, as a part is no whole page.
    fn lanes(&self, start: u32, bytes: u32) -> u64 {
        let lane = |byte: u32| (u64::from(byte) * 64 / u64::from(self.shape.page_bytes)) as u32;
        let (first, last) = (lane(start), lane(start + bytes - 1));
        let lanes = u64::MAX >> (63 - (last - first)) << first;
        if lanes == u64::MAX { lanes >> 1 } else { lanes }
    }

    /// Lets the scheme decide the front of `extent` and admits its operations.
    fn decide(&mut self, id: u32, extent: &Extent) -> u64 {
        let taken = self.decide_by(id, |scheme, view, decisions| scheme.decide(extent, view, decisions));
        debug_assert!(taken >= 1 && taken <= extent.pages);
        taken
    }

    /// Lets the scheme decide something and admits its operations, on behalf of a request or of nobody.
    #[inline(always)]
    fn decide_by<T>(&mut self, id: u32, decide: impl FnOnce(&mut dyn Scheme, &dyn View, &mut Decisions) -> T) -> T {
        let mut decisions = std::mem::take(&mut self.decisions);
        decisions.operations.clear();
        let decided = decide(&mut *self.scheme, &self.media, &mut decisions);
        #[cfg(feature = "mutants")]
        if self.buffer.as_ref().is_some_and(|buffer| buffer.mutant == Some(crate::mutants::BufferFault::Overtake)) {
            decisions.operations.iter_mut().for_each(|operation| operation.lock = flashraid_redundancy::Lock::None);
        }
        self.admit(id, &decisions);
        self.decisions = decisions;
        decided
    }

    /// One thing that the host waits for is there.
    fn answered(&mut self, id: u32) {
        let request = &mut self.requests[id as usize];
        request.unanswered -= 1;
        if request.unanswered > 0 {
            return;
        }
        let now_ns = self.clock.now_ns();
        let request = self.requests[id as usize];
        self.outstanding -= 1;
        self.media.request_completed();
        if request.measured {
            if request.failed.is_none() {
                self.last_completion = (now_ns, self.idle_ns);
            }
            self.statistics.completed(request.op, now_ns - request.arrival_ns, request.size_bytes, request.failed);
            if self.recorder.is_some() {
                self.record_request(id);
            }
            if self.media.has_failures() && request.failed.is_none() {
                self.note_under_rebuild(request.arrival_ns, now_ns - request.arrival_ns);
            }
        }
        if C::TRACKED {
            self.acknowledge(&request);
        }
        self.completed.push(CompletedRequest { sequence: request.sequence, completed_ns: now_ns, ok: request.failed.is_none() });
    }

    /// Tells the contents; they know which of the pages the request changed.
    fn acknowledge(&mut self, request: &Request) {
        if matches!(request.op, HostOp::Read | HostOp::Flush) {
            return;
        }
        for page in request.offset_bytes >> self.page_shift..self.pages_up(request.offset_bytes + request.size_bytes) {
            let lpn = self.wrapped(page);
            self.content.acknowledged(request.sequence, lpn, request.failed.is_some());
        }
    }

    /// One part of the request has ended; with the last one it is durable, and its record is free.
    fn ended_part(&mut self, id: u32) {
        let request = &mut self.requests[id as usize];
        request.unfinished -= 1;
        if request.unfinished > 0 {
            return;
        }
        let write_index = request.write_index;
        if request.failed.is_some() && request.measured && request.op == HostOp::Write {
            self.statistics.write_failed(&request.programs);
        }
        request.next = self.free_requests;
        self.free_requests = id;
        if write_index == u64::MAX {
            return;
        }
        self.write_window[(write_index - self.first_write) as usize] = true;
        while self.write_window.front() == Some(&true) {
            self.write_window.pop_front();
            self.first_write += 1;
        }
        while let Some(&(target, flush)) = self.flushes.front() {
            if target > self.first_write {
                break;
            }
            self.flushes.pop_front();
            self.answered(flush);
            self.ended_part(flush);
        }
    }

    // ---- look-ahead ----

    /// Asks the processor for the map entries that a request to this address will need.
    #[inline]
    pub fn prefetch_map(&self, offset_bytes: u64) {
        let page = offset_bytes >> self.page_shift;
        if page < self.options.space_pages {
            self.media.prefetch_map(self.scheme.locate(Lpn(page)));
            self.scheme.prefetch(Lpn(page));
            self.content.fetch_expected(Lpn(page));
            if let Some(buffer) = &self.buffer {
                buffer.prefetch(Lpn(page));
            }
        }
    }

    /// Asks the processor for the lock and the blocks of the first pages; their map entries should be there already.
    #[inline]
    pub fn prefetch_blocks(&self, offset_bytes: u64, size_bytes: u64) {
        let page = offset_bytes >> self.page_shift;
        let end = self.pages_up(offset_bytes + size_bytes).min(page + 4).min(self.options.space_pages);
        if page < end {
            self.locks.prefetch(self.scheme.stripe_of(Lpn(page)).0);
        }
        for page in page..end {
            self.media.prefetch_block(self.media.entry(self.scheme.locate(Lpn(page))));
        }
        if page < end
            && let Some(parity) = self.scheme.parity_of(Lpn(page))
        {
            self.media.prefetch_block(self.media.entry(parity));
        }
    }

    // ---- time ----

    /// Processes every event up to and including `time_ns` and moves the clock there.
    #[inline]
    pub fn advance_until(&mut self, time_ns: u64) -> Result<(), Halted> {
        if self.buffer.is_some() {
            self.advance_to_answers(time_ns)?;
        }
        loop {
            while self.media.next_event_ns() <= time_ns.min(self.clock.next_timer_ns()) {
                self.process_event();
            }
            if self.clock.next_timer_ns() > time_ns {
                break;
            }
            self.timer_is_due();
        }
        if self.media.next_event_ns() == NEVER && !self.clock.has_pauses() {
            if (self.waiting_for_space > 0 || self.media.has_failures()) && self.goes_on_without_progress() {
                return self.advance_until(time_ns);
            }
            self.note_idle(time_ns);
        }
        self.set_now(time_ns);
        Ok(())
    }

    /// Nothing is under way on media from now until `end_ns`.
    fn note_idle(&mut self, end_ns: u64) {
        if self.next_answer_ns() == NEVER {
            self.idle_ns += end_ns - self.clock.now_ns();
            #[cfg(feature = "mutants")]
            if accounting::makes(Slip::IdleHalved) {
                self.idle_ns -= (end_ns - self.clock.now_ns()) / 2;
            }
        }
    }

    /// Processes the next event. Returns whether there was one; without one, requests that wait for space fail.
    pub fn advance(&mut self) -> Result<bool, Halted> {
        let (event_ns, timer_ns, answer_ns) = (self.media.next_event_ns(), self.clock.next_timer_ns(), self.next_answer_ns());
        let first_ns = event_ns.min(timer_ns).min(answer_ns);
        if first_ns > LATEST_NS {
            return self.advance_without_event();
        }
        if event_ns == first_ns {
            self.process_event();
        } else if timer_ns == first_ns {
            self.timer_is_due();
        } else {
            self.answer_from_buffer();
        }
        Ok(true)
    }

    /// The next timer is due, before any event.
    #[cold]
    fn timer_is_due(&mut self) {
        if self.media.next_event_ns() == NEVER && !self.clock.has_pauses() {
            self.note_idle(self.clock.next_timer_ns());
        }
        let due = self.clock.take_due();
        self.media.set_now(self.clock.now_ns());
        match due {
            Due::Operation(id) => self.go_on(id),
            Due::Idle => {}
        }
        self.run_ready();
        if self.has_watchers {
            self.tell_watchers();
        }
    }

    /// No event is to come, or none in time.
    #[cold]
    fn advance_without_event(&mut self) -> Result<bool, Halted> {
        if self.next_event_ns().is_some() {
            return Err(Halted::TooLate);
        }
        if self.goes_on_without_progress() {
            return Ok(true);
        }
        if self.outstanding > 0 || self.buffer.as_ref().is_some_and(|buffer| buffer.is_leaving()) {
            return Err(self.stalled());
        }
        Ok(false)
    }

    /// Nothing is under way: lets somebody go on, or fail, who waits for space that will not come. Returns whether there was anybody.
    #[cold]
    fn goes_on_without_progress(&mut self) -> bool {
        self.goes_on_without_space() || (self.waiting_for_space > 0 && self.fail_for_space())
    }

    /// Runs until everything submitted has completed and ended.
    pub fn finish(&mut self) -> Result<(), Halted> {
        while self.advance()? {}
        Ok(())
    }

    #[inline]
    fn process_event(&mut self) {
        self.clock.advance_to(self.media.next_event_ns());
        self.media.advance(&mut self.content);
        if self.recorder.is_some() {
            self.note_recorded();
        }
        self.fetch_started();
        if self.translation.is_some() {
            self.take_map_news();
        }
        self.take_completions();
        self.run_ready();
        if self.has_watchers {
            self.tell_watchers();
        }
    }

    /// Lets every operation go on of which a page operation made progress.
    #[inline(always)]
    fn take_completions(&mut self) {
        let mut next = 0;
        while let Some(&completion) = self.media.completions().get(next) {
            next += 1;
            self.progress(completion);
        }
        self.media.forget_completions();
    }

    /// An event was processed.
    #[cold]
    fn tell_watchers(&mut self) {
        self.go_on_rebuilding();
        self.offer_jobs();
        if self.scheme.works_when_idle() {
            self.offer_idle_time();
        }
        self.note_queues();
    }

    /// Asks the processor for what the ends of the page operations just started will touch, which under overload was last used
    /// long ago. Each step needs what a former one fetched, so they are some starts apart: the operation; its request, its lock
    /// and a program of it that has ended; what that program's commit needs; the blocks that commits will supersede.
    #[inline]
    fn fetch_started(&mut self) {
        const STEP: usize = STARTED / 4;
        while let Some((id, ppn, page_slot)) = self.media.take_started() {
            self.content.fetch_page(ppn);
            prefetch(&self.slots, id as usize);
            let now = self.next_started;
            self.started[now] = (id, page_slot);
            self.next_started = (now + 1) % STARTED;
            let earlier = |steps: usize| self.started[(now + STARTED - steps * STEP) % STARTED];
            if let Some(slot) = self.slots.get(earlier(1).0 as usize) {
                prefetch(&self.requests, slot.request() as usize);
                self.locks.prefetch(slot.stripe());
                self.media.prefetch_record(slot.programs());
            }
            if let Some(program) = self.slots.get(earlier(2).0 as usize).map(Slot::programs).filter(|program| *program != NIL) {
                self.media.prefetch_commit(program);
            }
            let (id, page_slot) = earlier(3);
            if let Some(slot) = self.slots.get(id as usize) {
                self.media.prefetch_block(page_slot);
                if slot.programs() != NIL {
                    self.media.prefetch_block(self.media.prefetch_commit(slot.programs()));
                }
            }
        }
    }

    fn stalled(&self) -> Halted {
        let mut text = format!("stalled at {} ns with {} requests outstanding and nothing under way;", self.now_ns(), self.outstanding);
        for (stripe, holders, exclusive, waiter) in self.locks.describe().into_iter().take(16) {
            let kind = if exclusive { "exclusive" } else { "shared" };
            let waits = waiter.map_or(String::new(), |id| format!(", first waiter operation {id}"));
            text += &format!(" stripe {stripe}: {holders} {kind} holder(s){waits};");
        }
        for (id, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.is_alive()).take(16) {
            text += &format!(" operation {id}: {slot};");
        }
        Halted::Stalled(text)
    }
}
