//! Something fails, and what is lost then; space that will not come.
//!
//! Of a page that cannot be corrected nothing has failed, and a read finds it lost. The operation that wanted it starts anew, as after any failure
//! (`repeats`), and reads the rest of the stripe instead. The stripe is repaired, and with it the page programmed elsewhere, unless the user wants no
//! rebuild. Nothing else is looked at: what else is lost is found when it is read.
//!
//! An SSD of an array that is worn out fails as a whole, at the end of the erase that was the last one it endures. A single one, in whose place nothing could
//! come, still has all its data: it is read-only from then on. Writes that it has accepted before are still programmed.
//!
//! The rebuild is driven here, and so are its reads that wait for an idle member.

use super::state::Executor;
use crate::config::AfterLoss;
use crate::engine::content::Content;
use crate::engine::failure::{FaultRecord, Fetch, RebuildRecord, WearOutRecord};
use crate::engine::front_end::FrontEnd;
use crate::engine::request::Service;
use crate::engine::slot::REBUILD;
use crate::media::Media;
use crate::statistics::Latency;
#[cfg(not(feature = "mutants"))]
use flashraid_redundancy::Job;
use flashraid_redundancy::rebuild::Rebuild;
use flashraid_redundancy::{Lock, Operation, OperationKind};
use flashraid_vocabulary::{Change, DeviceFault, Fault, Lpn, MemberId, MemberPage, NIL, Part, StripeId, Version};

impl<C: Content, M: Media> Executor<C, M> {
    /// What fails is gone, a spare may be in its place, and the rebuild is due. Nothing has gone on since. Returns how many host pages are lost now.
    pub(in crate::engine) fn take_down(&mut self, front: &mut FrontEnd, failure: DeviceFault) -> u64 {
        let DeviceFault { device, fault } = failure;
        let now_ns = self.clock.now_ns();
        let lost_before = self.media.lost_versions();
        let serves_on = self.options.host.after_loss == AfterLoss::Serve;
        let pages_before = if serves_on { 0 } else { self.lost_pages(front).count() as u64 };
        self.media.fail(&failure);
        if self.translation.is_some() {
            self.take_map_events(front); // of GC runs that it has cut short
        }
        let mut is_replaced = false;
        if fault == Fault::ParityCache {
            self.lose_parity_cache();
        }
        if let Fault::Loss(part) = fault {
            is_replaced = self.media.replace(device, &part);
        }
        if let Fault::Loss(_) | Fault::ParityCache = fault {
            self.start_rebuild(front, now_ns, failure, self.media.lost_versions() - lost_before);
        }
        let pages_lost = self.lost_pages(front).count() as u64;
        front.note_loss(fault, pages_before, pages_lost);
        self.failures.faults.push(FaultRecord { at_ns: now_ns, failure, is_replaced, pages_lost });
        pages_lost
    }

    /// Tells everybody whom what has failed concerns.
    pub(in crate::engine) fn after_failure(&mut self, front: &mut FrontEnd) {
        self.note_all_exposed();
        // Programs that can never start, and those who wait for pages that are gone.
        self.take_completions(front);
        for domain in 0..self.shape.domains {
            if self.failures.is_without_space(domain, &self.media) {
                self.wake_space_waiters(front, domain);
            }
        }
        self.run_ready(front);
    }

    /// An SSD is taken out on purpose, and what replaces it knows that (SPEC 5.8, 5.9).
    pub(in crate::engine) fn fail_without_spare(&mut self, front: &mut FrontEnd, failure: DeviceFault) {
        self.media.fail(&failure);
        self.after_failure(front);
    }

    /// NVRAM has lost all deferred parities. Operations that hold their stripe, and may have read or planned with one of them, start anew.
    fn lose_parity_cache(&mut self) {
        let mut changes = Vec::new();
        if let Some(deferring) = self.scheme.deferring_mut() {
            deferring.parity_cache_lost(&self.media, &mut changes);
        }
        #[cfg(feature = "mutants")]
        self.mutant.distort_parity_cache_lost(&mut changes);
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
        for id in 0..self.operations.slots.as_slice().len() as u32 {
            let slot = &self.operations.slots[id];
            if slot.is_of_scheme() && slot.started && may_use_it(&slot.operation) {
                self.operations.read_failed(id);
            }
        }
    }

    /// The failure that takes the flash page of a host page; none if it is not written, or failures have left it without a page.
    pub fn failure_of(&self, lpn: Lpn) -> Option<DeviceFault> {
        let ppn = self.media.lookup(self.scheme.locate(lpn), Version::Current)?;
        if self.media.is_unplaced_page(ppn) {
            return None;
        }
        let device = (self.shape.ssds > 1).then(|| self.media.place_of(ppn).ssd as u32);
        Some(DeviceFault { device, fault: Fault::Loss(self.media.part_of(ppn)) })
    }

    /// Host pages that nothing rebuilds, as things are now: lost, beyond what the scheme can recover, and not written anew as a whole since, which the
    /// data buffer may still have; or gone on their way to flash. Looks at all rows in which something is written.
    pub fn lost_pages(&self, front: &FrontEnd) -> impl Iterator<Item = Lpn> {
        let lost = |address, version| self.media.is_lost(address, version);
        let mut sources = Vec::new();
        let pages = if self.media.has_failures() || !front.gone.is_empty() { self.space.pages } else { 0 };
        let row_pages = self.space.row_pages;
        let rows = pages.div_ceil(row_pages) as u32;
        let next = move |row: u32| {
            let row = if front.gone.is_empty() { self.next_row(row.into(), rows) } else { row };
            (row < rows).then_some(row)
        };
        let pages_of = move |row: u32| u64::from(row) * row_pages..pages.min((u64::from(row) + 1) * row_pages);
        let written = std::iter::successors(next(0), move |row| next(row + 1)).flat_map(pages_of);
        written.map(Lpn).filter(move |lpn| {
            let is_lost = lost(self.scheme.locate(*lpn), Version::Current) && !self.scheme.recover(*lpn, &lost, &mut sources);
            is_lost && !front.is_renewed(*lpn) || front.is_gone(*lpn, &self.operations)
        })
    }

    /// What reads found to be lost is repaired.
    #[cold]
    pub(in crate::engine) fn take_unreadable(&mut self) {
        while let Some((page, version)) = self.media.take_unreadable() {
            self.failures.read_errors.pages += 1;
            if !self.media.is_lost(page, version) || self.rebuild().is_none() {
                continue;
            }
            match &mut self.translation {
                Some(translation) if self.shape.is_translation(page) => translation.unallocated(page),
                _ => {
                    let stripe = self.scheme.stripe_at(page);
                    self.failures.rebuild.as_mut().expect("there is one").found(stripe);
                }
            }
        }
    }

    /// The SSD that is worn out since this event, if there is one, fails. The watchers must be told.
    pub(in crate::engine) fn fail_worn_out(&mut self, front: &mut FrontEnd) {
        let Some(device) = self.failures.worn_out.take() else { return };
        if self.shape.ssds == 1 {
            let at_ns = self.clock.now_ns();
            self.failures.wear_outs.push(WearOutRecord { at_ns, device, exposed_pages: 0, pages_lost: 0 });
            self.failures.retired += 1;
            return front.restrict(Service::Reads);
        }
        let pages_lost = self.take_down(front, DeviceFault { device: Some(device), fault: Fault::Loss(Part::Device) });
        let exposed_pages = self.count_exposed(front);
        self.failures.wear_outs.push(WearOutRecord { at_ns: self.clock.now_ns(), device, exposed_pages, pages_lost });
        self.failures.retired += 1;
        self.after_failure(front);
    }

    /// Host pages that are not lost, and that the failure of one more member would take. Looks at all of them.
    fn count_exposed(&self, front: &FrontEnd) -> u64 {
        let mut sources = Vec::new();
        let is_lost = |page: MemberPage, version| self.media.is_lost(page, version);
        let mut recovers = |lpn, failing: Option<MemberId>| {
            let lost =
                |page: MemberPage, version| is_lost(page, version) || failing == Some(page.member) && self.media.is_written(page, version);
            sources.clear();
            !lost(self.scheme.locate(lpn), Version::Current) || self.scheme.recover(lpn, &lost, &mut sources)
        };
        let members = self.shape.members as u16;
        let is_exposed = |lpn: &Lpn| {
            let home = self.scheme.locate(*lpn);
            if !self.media.is_written(home, Version::Current)
                || front.is_renewed(*lpn)
                || front.is_gone(*lpn, &self.operations)
                || !recovers(*lpn, None)
            {
                return false;
            }
            // What is read where it lies is lost with that member, if with any.
            let failing = if is_lost(home, Version::Current) { 0..members } else { home.member.0..home.member.0 + 1 };
            failing.map(MemberId).any(|member| !recovers(*lpn, Some(member)))
        };
        (0..self.space.pages).map(Lpn).filter(is_exposed).count() as u64
    }

    /// The rebuild, if what is lost is rebuilt at all.
    pub(super) fn rebuild(&mut self) -> Option<&mut Rebuild> {
        let options = self.failures.options?;
        let stripes = self.scheme.stripes();
        #[cfg(feature = "mutants")]
        let stripes = stripes - u32::from(self.mutant.has(crate::mutants::EngineFault::SkipLastStripe));
        let rebuild = self.failures.rebuild.get_or_insert_with(|| Box::new(Rebuild::new(options.order, options.window, stripes)));
        Some(rebuild)
    }

    /// Starts the rebuild of what failed now, and took so many versions; one that runs starts over.
    fn start_rebuild(&mut self, front: &mut FrontEnd, now_ns: u64, failure: DeviceFault, lost: u64) {
        let Some(rebuild) = self.rebuild() else { return };
        rebuild.failed();
        self.repair_translation_pages(front);
        self.has_watchers = true;
        match self.failures.records.last_mut() {
            Some(record) if record.ended_ns.is_none() => {
                record.faults.push((now_ns, failure));
                record.pages_lost += lost;
            }
            _ => {
                front.part_latencies(now_ns, &self.statistics.latency);
                self.failures.records.push(RebuildRecord {
                    faults: vec![(now_ns, failure)],
                    ended_ns: None,
                    finished_ns: None,
                    pages: 0,
                    pages_copied: 0,
                    pages_lost: lost,
                    pages_left: 0,
                    latency: Latency::default(),
                });
            }
        }
    }

    /// Starts what the rebuild has to do now, and notices its end.
    pub(in crate::engine) fn resume_rebuild(&mut self, front: &mut FrontEnd) {
        if self.translation.as_ref().is_some_and(|translation| translation.waits_for_slot()) {
            self.repair_unplaced_translation_pages(front);
        }
        if self.translation.as_ref().is_some_and(|translation| translation.is_repaired()) {
            return;
        }
        // Each turn but the last has repairs end at this very instant: many times as many as there are stripes are a scheme's defect.
        for _ in 0..1000 + 8 * self.scheme.stripes() {
            let Some(mut rebuild) = self.failures.rebuild.take() else { return };
            #[cfg(not(feature = "mutants"))]
            let operation = rebuild.next(&*self.scheme, &self.media);
            #[cfg(feature = "mutants")]
            let operation = {
                if self.mutant.has(crate::mutants::EngineFault::EndRebuildEarly) && rebuild.progress() >= 0.5 {
                    self.failures.rebuild = Some(rebuild);
                    return self.rebuilt();
                }
                self.mutant.next_repair(&mut rebuild, &*self.scheme, &self.media)
            };
            let map_waits = self.translation.as_ref().is_some_and(|translation| translation.waits_for_slot());
            let is_complete = rebuild.is_done() && !rebuild.waits_for_slot() && !map_waits;
            self.failures.rebuild = Some(rebuild);
            match operation {
                Some(operation) => {
                    #[cfg(feature = "mutants")]
                    let operation = self.mutant.distort_repair(operation);
                    self.admit_after(front, operation, REBUILD, NIL);
                }
                // A fetch that fails at once may end its repair, for which the next one and others wait.
                None if self.offer_fetches(front) => {}
                None if is_complete => return self.rebuilt(),
                None => return,
            }
            self.run_ready(front);
        }
        panic!("at {} ns the rebuild starts repairs without end", self.clock.now_ns());
    }

    /// The rebuild found nothing left to do, and nothing waits for space.
    fn rebuilt(&mut self) {
        if self.failures.records.last().is_none_or(|record| record.ended_ns.is_some()) {
            return;
        }
        let (now_ns, left) = (self.clock.now_ns(), self.media.lost_versions());
        let record = self.failures.records.last_mut().expect("there is one");
        (record.ended_ns, record.pages_left) = (Some(now_ns), left);
        record.finished_ns = (left == 0).then_some(now_ns);
        self.media.rebuilt();
    }

    /// Sends out the next read of each member that has nothing queued, and whose last one has ended. Returns whether one failed at once.
    fn offer_fetches(&mut self, front: &mut FrontEnd) -> bool {
        let mut has_failed = false;
        if self.failures.waiting == 0 {
            return has_failed;
        }
        for member in 0..self.failures.fetches.len() {
            while self.failures.fetching[member] == NIL && self.media.queued(MemberId(member as u16)) == (0, 0) {
                let Some(fetch) = self.failures.fetches[member].pop_front() else { break };
                self.failures.waiting -= 1;
                has_failed |= !self.submit_fetch(front, member, fetch);
            }
        }
        has_failed
    }

    /// Returns false if the read fails at once.
    fn submit_fetch(&mut self, front: &mut FrontEnd, member: usize, Fetch { id, read, page_operation }: Fetch) -> bool {
        if self.fails_at_once(id, &page_operation) {
            self.operations.slots[id].outstanding -= 1;
            self.go_on(front, id);
            return false;
        }
        let record = self.media.submit(&page_operation, id).expect("its stripe is locked");
        self.statistics.planned(page_operation.action, page_operation.cause);
        if C::TRACKED {
            self.content.read_submitted(record, read, page_operation.strip);
        }
        self.failures.fetching[member] = id;
        true
    }
}
