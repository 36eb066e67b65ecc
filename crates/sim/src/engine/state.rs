//! The engine: its two halves, how it is made, and what it says of pages.

use super::content::Content;
use super::executor::Executor;
use super::front_end::FrontEnd;
use super::look_ahead::{Footprint, LookAhead};
use super::options::Options;
use super::recorder::Recorder;
use crate::media::{Flash, Media, Recording};
#[cfg(feature = "mutants")]
use crate::mutants::{BufferFault, EngineFault, Injected};
use flashraid_redundancy::{Decisions, Method, Operation, OperationKind, Scheme};
use flashraid_vocabulary::{HostRequest, Lpn};
use std::ops::Range;

/// See `engine`.
#[derive(Clone)]
pub struct Engine<C: Content, M: Media = Flash> {
    /// What carries out operations: with the scheme, on media, in time.
    pub executor: Executor<C, M>,
    /// What the host sees: requests, and the data buffer.
    pub front_end: FrontEnd,
    pub(super) look_ahead: LookAhead,
    /// Lent for the scheme to list what it decides.
    pub(super) decisions: Decisions,
}

impl<C: Content, M: Media> Engine<C, M> {
    /// An engine over an erased or prepared device.
    pub fn new(scheme: Box<dyn Scheme>, media: M, content: C, options: Options) -> Self {
        Self {
            front_end: FrontEnd::new(&options, &*scheme, &media.shape()),
            executor: Executor::new(scheme, media, content, options),
            look_ahead: LookAhead::default(),
            decisions: Decisions::default(),
        }
    }

    /// The scheme, for reports and recovery.
    pub fn scheme(&self) -> &dyn Scheme {
        &*self.executor.scheme
    }

    /// Pages of the logical space.
    pub fn space_pages(&self) -> u64 {
        self.executor.space.pages
    }

    /// Simulated time.
    pub fn now_ns(&self) -> u64 {
        self.executor.clock.now_ns()
    }

    /// Requests submitted and not completed, those that wait in the host included.
    pub fn outstanding(&self) -> u64 {
        self.front_end.requests.outstanding
    }

    /// Asks the processor for what the requests after the one at `index` will touch.
    #[inline]
    pub fn prefetch(&self, requests: &[HostRequest], index: usize) {
        let Executor { space, shape, scheme, media, content, operations, .. } = &self.executor;
        let buffer = self.front_end.buffer.as_deref();
        Footprint { space: *space, shape, scheme: &**scheme, media, content, buffer, operations }.prefetch(requests, index);
    }

    // ---- records ----

    /// Begins recording. `slices` says whether it matters when page operations start: for first starts, and for a timeline.
    pub fn record(&mut self, slices: bool) {
        self.executor.media.record(Recording::Slices, slices);
        self.executor.has_watchers = true;
        self.front_end.recorder = Some(Box::new(Recorder::new(&self.executor.shape)));
    }

    /// Keeps moments of this time, if recording has begun.
    pub fn record_moments(&mut self, window: Range<u64>) {
        if let Some(recorder) = &mut self.front_end.recorder {
            recorder.window = window;
        }
    }

    // ---- pages ----

    /// Whether the page is gone: older content, which flash may still have, must not pass for it.
    pub fn is_gone(&self, lpn: Lpn) -> bool {
        self.front_end.is_gone(lpn, &self.executor.operations)
    }

    /// Pages that are gone.
    pub fn count_gone(&self) -> usize {
        self.front_end.count_gone(&self.executor.operations)
    }

    /// Whether registers of chips alone have the page: it is acknowledged, is being programmed, and its redundancy is made later.
    pub fn is_in_registers_alone(&self, lpn: Lpn) -> bool {
        let is_deferred = |operation: &Operation| operation.kind == OperationKind::Write && operation.method == Method::Deferred;
        self.executor.exposure.is_some() && self.front_end.answered_early(lpn, &self.executor.operations).is_some_and(is_deferred)
    }

    /// Whether the scheme's window exposes the page.
    pub fn is_exposed(&self, lpn: Lpn) -> bool {
        let Executor { scheme, media, exposure, .. } = &self.executor;
        exposure.as_ref().is_some_and(|exposure| exposure.is_exposed(lpn, &**scheme, media))
    }

    /// Host pages that nothing rebuilds, as things are now: lost, beyond what the scheme can recover, and not written anew as a whole since, which the
    /// data buffer may still have; or gone on their way to flash.
    pub fn lost_pages(&self) -> impl Iterator<Item = Lpn> {
        self.executor.lost_pages(&self.front_end)
    }

    /// From now on the engine, or its data buffer if it has one, makes this fault whenever it can.
    #[cfg(feature = "mutants")]
    pub fn inject(&mut self, fault: EngineFault) {
        match fault {
            EngineFault::Flash(fault) => self.executor.media.make(fault),
            EngineFault::Buffer(fault) => {
                if fault == BufferFault::SkipReadBeforeWrite && self.front_end.buffer.is_some() {
                    self.inject(EngineFault::SkipUpdateRead);
                }
                self.front_end.buffer.iter_mut().for_each(|buffer| buffer.mutant = Some(fault));
            }
            _ => {
                let mut pages = Vec::new();
                (0..self.space_pages()).for_each(|page| self.scheme().redundancy_of(Lpn(page), &mut pages));
                self.executor.mutant = Injected::new(fault, pages.into_iter());
            }
        }
    }
}
