//! The rebuild, and its reads that wait for an idle member.

use super::records::{Fetch, RebuildRecord};
use crate::engine::content::Content;
use crate::engine::slot::{NIL, REBUILD};
use crate::engine::state::Engine;
use crate::media::Media;
use crate::statistics::Latency;
#[cfg(not(feature = "mutants"))]
use flashraid_redundancy::Job;
use flashraid_redundancy::rebuild::Rebuild;
use flashraid_vocabulary::{Failure, MemberId, PageOperation, StripeId};

impl<C: Content, M: Media> Engine<C, M> {
    /// The rebuild, if what is lost is rebuilt at all.
    pub(super) fn rebuild(&mut self) -> Option<&mut Rebuild> {
        let options = self.failures.options?;
        let stripes = self.scheme.stripes();
        #[cfg(feature = "mutants")]
        let stripes = stripes - u32::from(self.has_fault(crate::mutants::EngineFault::SkipLastStripe));
        let rebuild = self.failures.rebuild.get_or_insert_with(|| Box::new(Rebuild::new(options.order, options.window, stripes)));
        Some(rebuild)
    }

    /// Starts the rebuild of what failed now, and took so many versions; one that runs starts over.
    pub(super) fn start_rebuild(&mut self, now_ns: u64, failure: Failure, lost: u64) {
        let Some(rebuild) = self.rebuild() else { return };
        rebuild.failed();
        self.repair_translation_pages();
        self.has_watchers = true;
        match self.failures.records.last_mut() {
            Some(record) if record.ended_ns.is_none() => {
                record.faults.push((now_ns, failure));
                record.pages_lost += lost;
            }
            _ => {
                self.part_latencies(now_ns);
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
    pub(in crate::engine) fn resume_rebuild(&mut self) {
        if self.translation.as_ref().is_some_and(|translation| translation.waits_for_slot()) {
            self.repair_unplaced_translation_pages();
        }
        if self.repairs_translation_pages() {
            return;
        }
        // Each turn but the last has repairs end at this very instant: many times as many as there are stripes are a scheme's defect.
        for _ in 0..1000 + 8 * self.scheme.stripes() {
            let Some(mut rebuild) = self.failures.rebuild.take() else { return };
            #[cfg(not(feature = "mutants"))]
            let operation = rebuild.next(&*self.scheme, &self.media);
            #[cfg(feature = "mutants")]
            let operation = {
                if self.has_fault(crate::mutants::EngineFault::EndRebuildEarly) && rebuild.progress() >= 0.5 {
                    self.failures.rebuild = Some(rebuild);
                    return self.rebuilt();
                }
                self.next_repair(&mut rebuild)
            };
            let map_waits = self.translation.as_ref().is_some_and(|translation| translation.waits_for_slot());
            let is_complete = rebuild.is_done() && !rebuild.waits_for_slot() && !map_waits;
            self.failures.rebuild = Some(rebuild);
            match operation {
                Some(operation) => {
                    #[cfg(feature = "mutants")]
                    let operation = self.distort_repair(operation);
                    self.admit_after(operation, REBUILD, NIL);
                }
                // A fetch that fails at once may end its repair, for which the next one and others wait.
                None if self.offer_fetches() => {}
                None if is_complete => return self.rebuilt(),
                None => return,
            }
            self.run_ready();
        }
        panic!("at {} ns the rebuild starts repairs without end", self.now_ns());
    }

    /// The rebuild found nothing left to do, and nothing waits for space.
    fn rebuilt(&mut self) {
        if self.failures.records.last().is_none_or(|record| record.ended_ns.is_some()) {
            return;
        }
        let (now_ns, left) = (self.now_ns(), self.lost_versions());
        let record = self.failures.records.last_mut().expect("there is one");
        (record.ended_ns, record.pages_left) = (Some(now_ns), left);
        record.finished_ns = (left == 0).then_some(now_ns);
        self.media.rebuilt();
    }

    /// A read that reconstructed something has ended: with piggy-backing its stripe is repaired next.
    pub(in crate::engine) fn reconstructed(&mut self, stripe: StripeId) {
        if self.options.host.piggyback
            && self.failures.options.is_some()
            && let Some(rebuild) = &mut self.failures.rebuild
        {
            rebuild.wanted(stripe);
        }
    }

    // ---- reads that wait for an idle member ----

    /// Queues the reads of a paced wave at their members.
    pub(in crate::engine) fn queue_fetches(&mut self, id: u32, page_operations: &[PageOperation]) {
        for page_operation in page_operations {
            let slot = &mut self.operations.slots[id as usize];
            let fetch = Fetch { id, read: slot.reads, page_operation: *page_operation };
            slot.reads += 1;
            slot.outstanding += 1;
            self.failures.fetches[usize::from(page_operation.address.member.0)].push_back(fetch);
            self.failures.waiting += 1;
        }
    }

    /// Sends out the next read of each member that has nothing queued, and whose last one has ended. Returns whether one failed at once.
    fn offer_fetches(&mut self) -> bool {
        let mut has_failed = false;
        if self.failures.waiting == 0 {
            return has_failed;
        }
        for member in 0..self.failures.fetches.len() {
            while self.failures.fetching[member] == NIL && self.media.queued(MemberId(member as u16)) == (0, 0) {
                let Some(fetch) = self.failures.fetches[member].pop_front() else { break };
                self.failures.waiting -= 1;
                has_failed |= !self.submit_fetch(member, fetch);
            }
        }
        has_failed
    }

    /// Returns false if the read fails at once.
    fn submit_fetch(&mut self, member: usize, Fetch { id, read, page_operation }: Fetch) -> bool {
        if self.fails_at_once(id, &page_operation) {
            self.operations.slots[id as usize].outstanding -= 1;
            self.go_on(id);
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
