//! Something fails, and what is lost then; space that will not come.

use super::records::FaultRecord;
use crate::clock::NEVER;
use crate::config::AfterLoss;
use crate::engine::content::Content;
use crate::engine::slot::NIL;
use crate::engine::state::Engine;
use crate::media::Media;
use flashraid_redundancy::{Lock, Operation, OperationKind};
use flashraid_vocabulary::{Change, Failure, Fault, Lpn, StripeId, Version};

impl<C: Content, M: Media> Engine<C, M> {
    /// Something fails now. The part must exist on the device.
    pub fn fail(&mut self, failure: impl Into<Failure>) {
        self.take_down(failure.into());
        self.after_failure();
        self.tell_watchers();
    }

    /// What fails is gone, a spare may be in its place, and the rebuild is due. Nothing has gone on since. Returns how many host pages are lost now.
    pub(super) fn take_down(&mut self, failure: Failure) -> u64 {
        let Failure { device, fault } = failure;
        let now_ns = self.now_ns();
        let lost_before = self.lost_versions();
        let serves_on = self.options.host.after_loss == AfterLoss::Serve;
        let pages_before = if serves_on { 0 } else { self.lost_pages().count() as u64 };
        self.media.fail(&failure);
        if self.translation.is_some() {
            self.take_map_events(); // of GC runs that it has cut short
        }
        let mut is_replaced = false;
        if fault == Fault::ParityCache {
            self.lose_parity_cache();
        }
        if let Fault::Loss(part) = fault {
            is_replaced = self.media.replace(device, &part);
        }
        if let Fault::Loss(_) | Fault::ParityCache = fault {
            self.start_rebuild(now_ns, failure, self.lost_versions() - lost_before);
        }
        let pages_lost = self.lost_pages().count() as u64;
        self.note_loss(fault, pages_before, pages_lost);
        self.failures.faults.push(FaultRecord { at_ns: now_ns, failure, is_replaced, pages_lost });
        pages_lost
    }

    /// Tells everybody whom what has failed concerns.
    pub(super) fn after_failure(&mut self) {
        self.note_all_exposed();
        // Programs that can never start, and those who wait for pages that are gone.
        self.take_failed();
        for domain in 0..self.shape.domains {
            if self.is_exhausted(domain) {
                self.wake_space_waiters(domain);
            }
        }
        self.run_ready();
    }

    /// An SSD is taken out on purpose, and what replaces it knows that (SPEC 5.8, 5.9).
    pub(in crate::engine) fn fail_without_spare(&mut self, failure: Failure) {
        self.media.fail(&failure);
        self.after_failure();
    }

    /// NVRAM has lost all deferred parities. Operations that hold their stripe, and may have read or planned with one of them, start anew.
    fn lose_parity_cache(&mut self) {
        let mut changes = Vec::new();
        if let Some(deferring) = self.scheme.deferring_mut() {
            deferring.parity_cache_lost(&self.media, &mut changes);
        }
        #[cfg(feature = "mutants")]
        self.distort_parity_cache_lost(&mut changes);
        let nobody = Operation::background(OperationKind::Job, StripeId(0), Lpn(0), 0);
        for change in changes {
            self.apply(NIL, &nobody, change);
            if let Change::Lose(address) = change {
                // Nothing is written to a map on flash for it: the controller knows it of all stripes (SPEC 6.2).
                self.note_placed(address);
            }
        }
        // Commits for GC runs may run under the locks of others.
        let may_use_it = |operation: &Operation| operation.lock != Lock::None || operation.kind == OperationKind::Commit;
        for id in 0..self.operations.slots.len() {
            let slot = &self.operations.slots[id];
            if slot.is_of_scheme() && slot.started && may_use_it(&slot.operation) {
                self.operations.read_failed(id as u32);
            }
        }
    }

    /// Programs that could not even start have failed.
    #[cold]
    fn take_failed(&mut self) {
        self.take_completions();
    }

    /// The failure that takes the flash page of a host page; none if it is not written, or failures have left it without a page.
    pub fn failure_of(&self, lpn: Lpn) -> Option<Failure> {
        let ppn = self.media.lookup(self.scheme.locate(lpn), Version::Current)?;
        if self.media.is_unplaced_page(ppn) {
            return None;
        }
        let device = (self.shape.ssds > 1).then(|| self.media.place_of(ppn).ssd as u32);
        Some(Failure { device, fault: Fault::Loss(self.media.part_of(ppn)) })
    }

    /// Versions of pages, translation pages included, that are lost now. Looks at all of them.
    pub fn lost_versions(&self) -> u64 {
        self.media.lost_versions()
    }

    /// Host pages that nothing rebuilds, as things are now: lost, beyond what the scheme can recover, and not written anew as a whole since, which the
    /// data buffer may still have; or gone on their way to flash.
    pub fn lost_pages(&self) -> impl Iterator<Item = Lpn> {
        let lost = |address, version| self.media.is_lost(address, version);
        let mut sources = Vec::new();
        let pages = if self.media.has_failures() || !self.gone.is_empty() { self.options.space_pages } else { 0 };
        (0..pages).map(Lpn).filter(move |lpn| {
            let is_lost = lost(self.scheme.locate(*lpn), Version::Current) && !self.scheme.recover(*lpn, &lost, &mut sources);
            is_lost && !self.is_renewed(*lpn) || self.is_gone(*lpn)
        })
    }

    // ---- space that will not come ----

    /// Whether nobody should wait for a page of the domain.
    pub(in crate::engine) fn is_exhausted(&self, domain: u32) -> bool {
        self.media.has_failures() && (self.failures.exhausted[domain as usize] || !self.media.domain_is_alive(domain))
    }

    /// Nothing is in flight. Returns whether somebody goes on who waited for pages that failures have taken.
    #[cold]
    pub(in crate::engine) fn goes_on_without_space(&mut self) -> bool {
        if !self.media.has_failures() {
            return false;
        }
        if self.failures.waiting > 0 {
            // What let their repairs start was no event.
            self.resume_rebuild();
            if self.media.next_event_ns() != NEVER || self.clock.has_pauses() {
                return true;
            }
        }
        if self.media.fail_stuck() {
            self.take_failed();
            self.run_ready();
            self.tell_watchers();
            return true;
        }
        let waits = |domain: &u32| self.operations.space_waiters[*domain as usize].0 != NIL && self.media.domain_has_losses(*domain);
        let Some(domain) = (0..self.shape.domains).find(waits) else { return false };
        self.failures.exhausted[domain as usize] = true;
        self.wake_space_waiters(domain);
        self.run_ready();
        self.tell_watchers();
        true
    }
}
