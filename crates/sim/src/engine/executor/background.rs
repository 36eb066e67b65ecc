//! Work that no request asked for: what the scheme wants to do, jobs, and what media want to know or have to tell.
//!
//! GC is told which victim it takes, how a semivalid page is handled, and when the commits have ended that it waits for. The scheme is asked what its window
//! exposes whenever that may have changed. The map on flash is lent what it needs to admit operations of its own.

use super::state::Executor;
use crate::engine::content::Content;
use crate::engine::front_end::FrontEnd;
use crate::engine::slot::{NO_JOB, TRANSLATION};
use crate::engine::translation::{Admission, Translation, lock_of};
use crate::media::{Answer, GcQuery, Media, News};
use flashraid_redundancy::{Job, Operation};
use flashraid_vocabulary::{MemberPage, NIL, SemivalidAction, StripeId};

impl<C: Content, M: Media> Executor<C, M> {
    /// Adds background work and offers it every member that is idle.
    pub fn add_job(&mut self, front: &mut FrontEnd, job: Box<dyn Job>) {
        self.jobs.push(job);
        self.has_watchers = true;
        self.offer_jobs(front);
    }

    /// Starts what the jobs have to do now.
    pub(in crate::engine) fn offer_jobs(&mut self, front: &mut FrontEnd) {
        for job in 0..self.jobs.len() {
            while let Some(operation) = self.jobs[job].next(&*self.scheme, &self.media) {
                self.admit_after(front, operation, job as u16, NIL);
                self.run_ready(front);
            }
        }
    }

    /// Admits what the scheme wants to do in the background.
    #[cold]
    pub(super) fn start_background(&mut self, front: &mut FrontEnd) {
        while let Some(operation) = self.scheme.deferring_mut().and_then(|deferring| deferring.background(&self.media)) {
            self.admit_after(front, operation, NO_JOB, NIL);
        }
    }

    /// Brings every deferred parity to flash, without a request.
    pub fn drain_scheme(&mut self, front: &mut FrontEnd) {
        while let Some(operation) = self.scheme.deferring_mut().and_then(|deferring| deferring.drain()) {
            self.admit_after(front, operation, NO_JOB, NIL);
            self.run_ready(front);
        }
    }

    /// Serves what the flash layer wants to know or has to tell. Returns whether there was anything.
    pub(super) fn answer_gc_queries(&mut self, front: &mut FrontEnd) -> bool {
        let mut any = false;
        while let Some(news) = self.media.take_news() {
            let (plane, address) = match news {
                News::Freed(domain) => {
                    if self.media.has_failures() {
                        self.failures.gained_space(domain);
                    }
                    any |= self.wake_space_waiters(front, domain);
                    continue;
                }
                News::Flushed(flush) => {
                    self.completed(front, flush);
                    self.ended_part(front, flush);
                    continue;
                }
                News::WornOut(device) => {
                    self.failures.note_worn_out(device);
                    self.has_watchers = true;
                    continue;
                }
                News::Asked(GcQuery::Victim(plane)) => {
                    any = true;
                    let deferring = self.scheme.deferring();
                    let commit_cost = |address| deferring.map_or((0, 0), |deferring| deferring.commit_cost(address));
                    self.media.answer(Answer::Victim(plane, &commit_cost));
                    continue;
                }
                News::Asked(GcQuery::Semivalid(plane, address)) => (plane, address),
            };
            any = true;
            let action = match self.scheme.rule(address) {
                SemivalidAction::CommitFirst if !self.commit_for_gc(front, plane, address) => SemivalidAction::Move,
                action => action,
            };
            if action == SemivalidAction::Free
                && let Some(deferring) = self.scheme.deferring_mut()
                && let Some(stripe) = deferring.base_erased(address)
            {
                self.note_exposed(stripe);
            }
            #[cfg(feature = "mutants")]
            let action = self.mutant.distort_action(action);
            self.media.answer(Answer::Semivalid(plane, address, action));
        }
        // An answer may have let a GC run move on, or end.
        any | (self.translation.is_some() && self.take_map_events(front))
    }

    /// Starts the commit that the GC run of a plane waits for, before whoever waits for its stripe. Returns whether the scheme has one.
    ///
    /// It waits for nobody who may wait for what the GC run is to make: its pages are reserved at once or it does without, and an
    /// operation that has the stripe but has not started, as it waits for space, starts after it; so does a commit that runs under such a one's lock.
    fn commit_for_gc(&mut self, front: &mut FrontEnd, plane: u32, address: MemberPage) -> bool {
        let Some(deferring) = self.scheme.deferring_mut() else { return false };
        let Some(with_space) = deferring.commit_for_gc(address, true) else { return false };
        let stripe = with_space.stripe.0;
        if self.operations.holder_awaits_pages(stripe) {
            return false;
        }
        let operation = match self.reserve_at_once(&with_space) {
            true => with_space,
            false => match self.scheme.deferring_mut().and_then(|deferring| deferring.commit_for_gc(address, false)) {
                Some(without_space) => without_space,
                None => return false,
            },
        };
        let id = self.new_slot(front, &operation, NIL, NO_JOB);
        let slot = &mut self.operations.slots[id];
        (slot.reserved, slot.unreserved) = (operation.space, 0);
        self.operations.rare_mut(id).plane = plane;
        match self.operations.commit_under_lock(stripe) {
            Some(commit) => self.operations.go_before(commit, id),
            None => self.operations.take_first(stripe, id),
        }
        self.operations.start_if_ready(id);
        true
    }

    /// Something has changed in the stripe.
    #[inline]
    pub(super) fn note_exposed(&mut self, stripe: StripeId) {
        if let Some(exposure) = &mut self.exposure {
            let exposed = self.scheme.exposed(stripe, &self.media);
            exposure.set(stripe, exposed, self.clock.now_ns());
        }
    }

    /// The device is ready for its first request.
    pub(in crate::engine) fn begin_exposure(&mut self) {
        self.note_all_exposed();
        let now_ns = self.clock.now_ns();
        if let Some(exposure) = &mut self.exposure {
            exposure.begin(now_ns);
        }
    }

    /// Measuring begins: what was counted so far counts no more.
    pub(crate) fn begin_measuring(&mut self) {
        let now_ns = self.clock.now_ns();
        self.statistics.begin(&self.media.counts());
        if let Some(exposure) = &mut self.exposure {
            exposure.begin(now_ns);
        }
    }

    // ---- the map on flash ----

    /// Has the map do something for which it may admit operations. `None` without DFTL.
    #[inline]
    pub(super) fn with_translation<T>(
        &mut self,
        front: &FrontEnd,
        with: impl FnOnce(&mut Translation, &mut Admission<'_, C, M>) -> T,
    ) -> Option<T> {
        let latest = front.requests.latest_version();
        #[cfg(feature = "mutants")]
        let skips_repairs = self.mutant.has(crate::mutants::EngineFault::SkipMapRepair);
        let Self { translation, operations, content, media, shape, .. } = self;
        let mut admission = Admission {
            operations,
            content,
            media,
            shape,
            latest,
            #[cfg(feature = "mutants")]
            skips_repairs,
        };
        Some(with(translation.as_mut()?, &mut admission))
    }

    /// Takes notice of what GC moved, and returns whether it did anything.
    pub(in crate::engine) fn take_map_events(&mut self, front: &FrontEnd) -> bool {
        let mut news = std::mem::take(&mut self.translation.as_mut().expect("only under DFTL").news);
        self.media.swap_map_events(&mut news);
        self.with_translation(front, |translation, with| translation.note_moves(news, with)).is_some_and(|any| any)
    }

    /// An operation has ended, with its programs and changes in the map.
    pub(super) fn settle_translation(&mut self, id: u32, operation: &Operation, job: u16, failed: bool) {
        let translation = self.translation.as_mut().expect("only under DFTL");
        match job {
            TRANSLATION => translation.ended(id, operation, &self.media, &mut self.operations.ready),
            _ => translation.settle(id, failed, &self.media, &self.shape),
        }
    }

    /// A page appeared on flash in no simulated time. Returns its content, if it is a translation page.
    pub(super) fn note_placed(&mut self, address: MemberPage) -> Option<u64> {
        self.translation.as_mut()?.note_placed(address, &self.media, &self.shape)
    }

    /// Has each translation page of which one copy is lost repaired from the other (SPEC 6.2).
    pub(super) fn repair_translation_pages(&mut self, front: &FrontEnd) {
        self.with_translation(front, |translation, with| {
            translation.unallocated.clear();
            (0..translation.pages()).for_each(|page| translation.repair(page, with));
        });
    }

    /// The same for those of which an operation has left a copy without a place, where there is space for it by now.
    #[cold]
    pub(super) fn repair_unplaced_translation_pages(&mut self, front: &mut FrontEnd) {
        let Some(translation) = &mut self.translation else { return };
        for page in std::mem::take(&mut translation.unallocated) {
            self.with_translation(front, |translation, with| translation.repair_unplaced(page, with));
            self.run_ready(front);
        }
    }

    /// Whether the translation page is being written, or about to be.
    pub(crate) fn writes_translation_page(&self, page: u32) -> bool {
        self.operations.locks.is_locked(lock_of(page).0)
    }
}
