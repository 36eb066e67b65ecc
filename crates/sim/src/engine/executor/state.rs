//! What the executor holds, how it is made, and what it says of itself.

use crate::clock::{Clock, NEVER};
use crate::engine::content::Content;
use crate::engine::exposure::{self, Exposure};
use crate::engine::failure::Failures;
use crate::engine::front_end::FrontEnd;
use crate::engine::logical_space::LogicalSpace;
use crate::engine::operations::Operations;
use crate::engine::options::Options;
use crate::engine::slot::PendingSum;
use crate::engine::translation::Translation;
#[cfg(feature = "mutants")]
use crate::media::accounting::{self, Slip};
use crate::media::{Flash, Media, Shape};
use crate::statistics::Statistics;
use flashraid_redundancy::{Job, Scheme};
use flashraid_vocabulary::slab::Slab;
use flashraid_vocabulary::{Lpn, MemberPage, StripeId, Wave};

/// See `executor`.
#[derive(Clone)]
pub struct Executor<C: Content, M: Media = Flash> {
    /// What it was built with; public for checks.
    pub options: Options,
    pub(crate) clock: Clock,
    pub(crate) scheme: Box<dyn Scheme>,
    /// What holds the pages; public for reports.
    pub media: M,
    /// What never changes about it.
    pub(in crate::engine) shape: Shape,
    /// The arithmetic of host pages; public for checks.
    pub space: LogicalSpace,
    /// The contents; public for checks.
    pub content: C,
    /// What is in flight.
    pub(crate) operations: Operations,
    /// Write operations in flight for each 1024 rows, so that large discards may skip rows safely.
    pub(super) writes_in_chunk: Vec<u32>,
    pub(super) jobs: Vec<Box<dyn Job>>,
    /// Whether there are jobs or a recorder, the scheme wants to know when nobody else works, or what GC moves takes the controller.
    pub(in crate::engine) has_watchers: bool,
    /// Time in which nothing was in flight.
    pub(in crate::engine) idle_ns: u64,
    /// What of the map RAM holds, under DFTL.
    pub(in crate::engine) translation: Option<Box<Translation>>,
    pub(in crate::engine) failures: Failures,
    /// Whether the scheme moves strips to other members.
    pub(in crate::engine) moves_strips: bool,
    /// Whether operations claim something of the scheme before they start.
    pub(in crate::engine) claims: bool,
    /// What the scheme's window exposes, if it has one.
    pub(in crate::engine) exposure: Option<Box<Exposure>>,
    /// What was counted.
    pub statistics: Statistics,
    /// Lent to who fills and submits a wave.
    pub(in crate::engine) wave: Option<Box<Wave>>,
    /// Programs whose content is being computed.
    pub(super) sums: Slab<PendingSum>,
    pub(super) pages: Vec<MemberPage>,
    #[cfg(feature = "mutants")]
    pub(crate) mutant: crate::mutants::Injected,
}

impl<C: Content, M: Media> Executor<C, M> {
    /// On an erased or prepared device; nothing is in flight.
    pub(in crate::engine) fn new(mut scheme: Box<dyn Scheme>, media: M, content: C, options: Options) -> Self {
        let shape = media.shape();
        let claims = scheme.deferring().is_some_and(|deferring| deferring.claims());
        let space = LogicalSpace::new(options.space_pages, options.host.chunk_units, &*scheme, &shape);
        let has_watchers = scheme.when_idle().is_some() || shape.reads_may_fail || options.host_times.gc_unit_ns > 0;
        Self {
            operations: Operations::new(shape.domains, claims),
            writes_in_chunk: vec![0; (scheme.user_pages() / space.row_pages) as usize / 1024 + 1],
            moves_strips: scheme.replacing().is_some(),
            claims,
            failures: Failures::new(options.rebuild, &shape),
            statistics: Statistics::new(shape.members as usize),
            translation: options.dftl.map(|dftl| Translation::new(&shape, dftl, C::TRACKED).into()),
            options,
            clock: Clock::default(),
            jobs: Vec::new(),
            has_watchers,
            exposure: exposure::of(&*scheme),
            idle_ns: 0,
            scheme,
            media,
            shape,
            space,
            content,
            wave: None,
            sums: Slab::with_room(0),
            pages: Vec::new(),
            #[cfg(feature = "mutants")]
            mutant: Default::default(),
        }
    }

    /// Moves the time, and says so to media.
    #[inline]
    pub(in crate::engine) fn set_now(&mut self, now_ns: u64) {
        self.clock.advance_to(now_ns);
        self.media.set_now(now_ns);
    }

    /// Nothing is in flight on media from now until `end_ns`.
    #[cold]
    pub(in crate::engine) fn note_idle(&mut self, front: &FrontEnd, end_ns: u64) {
        // Requests that wait for the end of a replacement are in flight.
        let holds_requests = front.replacements.held.as_ref().is_some_and(|held| !held.is_empty());
        if front.next_completion_ns() == NEVER && !self.clock.has_work() && !holds_requests {
            self.idle_ns += end_ns - self.clock.now_ns();
            #[cfg(feature = "mutants")]
            if accounting::makes(Slip::IdleHalved) {
                self.idle_ns -= (end_ns - self.clock.now_ns()) / 2;
            }
        }
    }

    /// What is kept when the drive is switched off.
    pub(in crate::engine) fn kept(&mut self) -> (&mut Box<dyn Scheme>, &mut M, &mut C, &mut Option<Box<Translation>>) {
        let Self {
            scheme,
            media,
            content,
            translation,
            // What is made of the configuration.
            options: _,
            shape: _,
            space: _,
            moves_strips: _,
            claims: _,
            // Work and time.
            clock: _,
            operations: _,
            jobs: _,
            has_watchers: _,
            writes_in_chunk: _,
            // What was lost: then nothing is saved.
            failures: _,
            // What the scheme says again.
            exposure: _,
            // Statistics, and what is lent.
            idle_ns: _,
            statistics: _,
            wave: _,
            sums: _,
            pages: _,
            #[cfg(feature = "mutants")]
                mutant: _,
        } = self;
        (scheme, media, content, translation)
    }

    /// Write operations in flight in the 1024 rows around a host page.
    pub(super) fn writes_near(&mut self, lpn: Lpn) -> &mut u32 {
        &mut self.writes_in_chunk[self.space.row_of(lpn) as usize >> 10]
    }

    /// The first row from `row` on, before `end`, in which a page is mapped or a write may be in flight.
    pub(in crate::engine) fn next_row(&self, row: u64, end: u32) -> u32 {
        let members = self.shape.members;
        let mut row = row as u32;
        if !self.space.has_rows {
            return row;
        }
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

    /// Something may have changed in any stripe.
    pub(super) fn note_all_exposed(&mut self) {
        if self.exposure.is_some() {
            (0..self.scheme.stripes()).map(StripeId).for_each(|stripe| self.note_exposed(stripe));
        }
    }
}
