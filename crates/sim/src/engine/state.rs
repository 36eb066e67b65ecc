//! The engine: what it holds, how it is made, and what it says of itself.

use super::around::Around;
use super::content::{Content, InBuffer, InEntry};
use super::entries::Entries;
use super::exposure::{self, Exposure};
use super::failure::Failures;
use super::operations::Operations;
use super::options::Options;
use super::pending::Requests;
use super::recorder::Recorder;
use super::replacement::Replacements;
use super::request::{CompletedRequest, Service};
use super::slot::{NIL, Sum};
use super::translation::Translation;
use super::valid_sectors::ValidSectors;
use crate::buffer::{Buffer, Victim};
use crate::clock::Clock;
use crate::media::{Flash, Media, Shape};
use crate::statistics::Statistics;
use flashraid_redundancy::{Decisions, Job, Scheme};
use flashraid_vocabulary::{Divisor, Lpn, MemberPage, Wave};
use rustc_hash::{FxHashMap, FxHashSet};

/// Page operations started last that are remembered for fetching ahead: about as many as a device has LUNs.
pub(super) const STARTED: usize = 8;

/// See `engine`.
#[derive(Clone)]
pub struct Engine<C: Content, M: Media = Flash> {
    pub(super) options: Options,
    pub(crate) clock: Clock,
    pub(super) scheme: Box<dyn Scheme>,
    /// What holds the pages; public for reports.
    pub media: M,
    /// What never changes about it.
    pub(super) shape: Shape,
    /// The contents; public for checks.
    pub content: C,
    /// What is in flight.
    pub(crate) operations: Operations,
    pub(super) jobs: Vec<Box<dyn Job>>,
    /// Whether there are jobs or a recorder, or the scheme wants to know when nobody else works.
    pub(super) has_watchers: bool,
    /// Time in which nothing was in flight.
    pub(super) idle_ns: u64,
    /// When a measured request was last completed, and `idle_ns` then.
    pub(super) last_completion: (u64, u64),
    pub(super) requests: Requests,
    /// Completions since the caller last emptied it, in order.
    pub completed: Vec<CompletedRequest>,
    /// Write operations in flight for each 1024 rows, so that large discards may skip rows safely.
    pub(super) writes_in_chunk: Vec<u32>,
    /// Acknowledged writes that have not ended, by page: only where a write may be acknowledged before it ends.
    pub(super) in_controller: FxHashMap<u64, u32>,
    pub(super) acknowledges_early: bool,
    /// Pages whose write the host takes for done and that failed; nothing whole has come to flash since (`gone`).
    pub(super) gone: FxHashSet<u64>,
    /// Operations of requests that the host takes for done that failed as there was no space for their pages.
    pub believed_without_space: u64,
    /// Which sectors are valid, unless every page that is written in part is read.
    pub(super) valid_sectors: Option<Box<ValidSectors>>,
    /// The data buffer, if there is one.
    pub(crate) buffer: Option<Box<Buffer>>,
    /// Whether it destages by itself now: not while all is to come to its end.
    pub(super) destages: bool,
    /// The pages that are being evicted, in ascending order: operations that write them are being decided.
    pub(super) evicting: Vec<Victim>,
    /// Lent for `Content` to list where the buffer has a page, and what pages leave it with.
    pub(super) sources: Vec<InBuffer>,
    pub(super) leaving_with: Vec<InEntry>,
    /// What of the map RAM holds, under DFTL.
    pub(super) translation: Option<Box<Translation>>,
    pub(super) failures: Failures,
    /// What the device serves, which failures and wear restrict.
    pub(super) service: Service,
    /// Whether the scheme moves strips to other members.
    pub(super) moves_strips: bool,
    /// Whether operations claim something of the scheme before they start.
    pub(super) claims: bool,
    pub(super) replacements: Replacements,
    /// What requests felt before, during and after rebuilds and replacements, from the first one on.
    pub(super) around: Option<Box<Around>>,
    pub(super) page_shift: u32,
    pub(super) pages_per_row: u64,
    pub(super) per_row: Divisor,
    /// Whether a row of so many host pages lies at one local page of its members (`Addressing::row_pages`).
    pub(super) has_rows: bool,
    /// What the scheme's window exposes, if it has one.
    pub(super) exposure: Option<Box<Exposure>>,
    /// What was counted.
    pub statistics: Statistics,
    /// What is kept for outputs beside the result, if anything.
    pub recorder: Option<Box<Recorder>>,
    /// Lent to who fills and submits a wave.
    pub(super) wave: Option<Box<Wave>>,
    pub(super) decisions: Decisions,
    /// Whether page operations that are started are listed, for fetching ahead.
    pub(super) looks_ahead: bool,
    pub(super) started: [(u32, u32); STARTED],
    pub(super) next_started: usize,
    /// Programs whose content is being computed.
    pub(super) sums: Entries<Sum>,
    pub(super) pages: Vec<MemberPage>,
    #[cfg(feature = "mutants")]
    pub(crate) mutant: Option<crate::mutants::Mutant>,
}

impl<C: Content, M: Media> Engine<C, M> {
    /// An engine over an erased or prepared device.
    pub fn new(mut scheme: Box<dyn Scheme>, media: M, content: C, options: Options) -> Self {
        let shape = media.shape();
        let claims = scheme.deferring().is_some_and(|deferring| deferring.claims());
        let pages_per_row = u64::from(scheme.row_pages().unwrap_or(scheme.width()));
        Self {
            operations: Operations::new(shape.domains, claims),
            has_rows: scheme.row_pages().is_some(),
            pages_per_row,
            per_row: Divisor::new(pages_per_row as u32),
            writes_in_chunk: vec![0; (scheme.user_pages() / pages_per_row) as usize / 1024 + 1],
            acknowledges_early: shape.reports_data_in || !options.host.parity_in_response,
            valid_sectors: ValidSectors::new(&options.host, options.space_pages, shape.page_bytes),
            buffer: options.buffer.map(|buffer| {
                let grouping = scheme.grouping();
                Buffer::new(buffer, options.space_pages, shape.page_bytes, grouping, scheme.width()).into()
            }),
            destages: true,
            evicting: Vec::new(),
            sources: Vec::new(),
            leaving_with: Vec::new(),
            moves_strips: scheme.replacing().is_some(),
            claims,
            replacements: Replacements::default(),
            around: None,
            service: Service::All,
            failures: Failures::new(options.rebuild, &shape),
            page_shift: shape.page_bytes.trailing_zeros(),
            statistics: Statistics::new(shape.members as usize),
            recorder: None,
            translation: options.dftl.map(|dftl| Translation::new(&shape, dftl, C::TRACKED).into()),
            options,
            clock: Clock::default(),
            jobs: Vec::new(),
            has_watchers: scheme.when_idle().is_some() || shape.reads_may_fail,
            exposure: exposure::of(&*scheme),
            idle_ns: 0,
            last_completion: (0, 0),
            scheme,
            media,
            shape,
            content,
            requests: Requests::default(),
            completed: Vec::new(),
            in_controller: Default::default(),
            gone: FxHashSet::default(),
            believed_without_space: 0,
            wave: None,
            decisions: Decisions::default(),
            looks_ahead: false,
            started: [(NIL, 0); STARTED],
            next_started: 0,
            sums: Entries::with_room(0),
            pages: Vec::new(),
            #[cfg(feature = "mutants")]
            mutant: None,
        }
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

    /// Simulated time.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Of these, requests that do not wait in the host, or for the end of a replacement: as many of the first.
    pub fn served(&self) -> u64 {
        let held = self.replacements.held.as_ref().map_or(0, |held| held.len());
        self.requests.submitted - (held + self.requests.in_host.len()) as u64
    }

    /// Requests submitted and not completed, those that wait in the host included.
    pub fn outstanding(&self) -> u64 {
        self.requests.outstanding
    }
}
