//! What is said of failures and rebuilds, and what the engine keeps of them.

use crate::engine::slot::Slot;
#[cfg(feature = "mutants")]
use crate::media::accounting::{self, Slip};
use crate::media::{Media, Shape};
use crate::statistics::Latency;
use flashraid_redundancy::rebuild::{Rebuild, RebuildOrder};
use flashraid_redundancy::{Job, Operation};
use flashraid_vocabulary::{Delivery, DeviceFault, MemberId, NIL, PageOperation, StripeId, Weights};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// How what failed is rebuilt.
#[derive(Clone, Copy, Debug)]
pub struct RebuildOptions {
    /// In which order.
    pub order: &'static RebuildOrder,
    /// Repairs at once.
    pub window: u32,
}

/// A rebuild, from the first failure that it answers.
#[derive(Clone, Debug)]
pub struct RebuildRecord {
    /// What failed, and when.
    pub faults: Vec<(u64, DeviceFault)>,
    /// When it came to its end: nothing was left that it could rebuild.
    pub ended_ns: Option<u64>,
    /// The same, if everything was as redundant as before then.
    pub finished_ns: Option<u64>,
    /// Pages programmed.
    pub pages: u64,
    /// Of these, copied from one other page.
    pub pages_copied: u64,
    /// Versions of pages that were lost by the failures.
    pub pages_lost: u64,
    /// Of all versions of pages, those that were lost when it came to its end.
    pub pages_left: u64,
    /// Requests that arrived between the first failure and the end.
    pub latency: Latency,
}

impl RebuildRecord {
    /// Whether it ran then, as far as is known.
    pub(in crate::engine) fn ran_at(&self, time_ns: u64) -> bool {
        let has_ended = self.ended_ns.is_some_and(|ended_ns| time_ns > ended_ns);
        #[cfg(feature = "mutants")]
        let has_ended = has_ended && !accounting::makes(Slip::RebuildWithoutEnd);
        self.faults[0].0 <= time_ns && !has_ended
    }
}

/// What failed at one instant.
#[derive(Clone, Debug)]
pub struct FaultRecord {
    /// When.
    pub at_ns: u64,
    /// What.
    pub failure: DeviceFault,
    /// Whether spare chips took the place of all the chips that it took.
    pub is_replaced: bool,
    /// Host pages that nothing can rebuild since then.
    pub pages_lost: u64,
}

/// An SSD that was worn out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WearOutRecord {
    /// When.
    pub at_ns: u64,
    /// Which SSD of the array.
    pub device: u32,
    /// Host pages that the failure of any one other member would take since then: their stripe has no redundancy left.
    pub exposed_pages: u64,
    /// Host pages that nothing can rebuild since then.
    pub pages_lost: u64,
}

/// Pages that could not be corrected though nothing had failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadErrors {
    /// Versions of pages, those of translation pages included, that were found to be lost.
    pub pages: u64,
    /// Pages programmed in their place, apart from those of rebuilds that failures started.
    pub pages_repaired: u64,
}

/// A read that waits for its member to be idle.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Fetch {
    pub(in crate::engine) id: u32,
    pub(in crate::engine) read: u8,
    pub(in crate::engine) page_operation: PageOperation,
}

/// What the engine keeps of failures.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Failures {
    pub(in crate::engine) options: Option<RebuildOptions>,
    pub(in crate::engine) rebuild: Option<Box<Rebuild>>,
    pub(in crate::engine) faults: Vec<FaultRecord>,
    pub(in crate::engine) records: Vec<RebuildRecord>,
    pub(in crate::engine) wear_outs: Vec<WearOutRecord>,
    pub(in crate::engine) read_errors: ReadErrors,
    /// The SSD that is worn out since this very event, and has not failed yet.
    pub(in crate::engine) worn_out: Option<u32>,
    /// SSDs that age has put out of use.
    pub(in crate::engine) retired: u32,
    /// Space domains in which nobody waits for a page, as none will come.
    pub(in crate::engine) exhausted: Vec<bool>,
    /// Strips that the reads of an operation's wave will make up, by operation.
    pub(in crate::engine) deliveries: FxHashMap<u32, Vec<(Delivery, Option<Weights>)>>,
    /// Reads that wait, by member.
    pub(in crate::engine) fetches: Vec<VecDeque<Fetch>>,
    pub(in crate::engine) waiting: u64,
    /// Members (bits) whose read is in flight, and its operation.
    pub(in crate::engine) fetching: Vec<u32>,
}

impl Failures {
    /// Whether nobody waits for a page in some space domain any more.
    pub(in crate::engine) fn is_exhausted(&self) -> bool {
        self.exhausted.contains(&true)
    }

    /// Whether nobody should wait for a page of the domain.
    pub(in crate::engine) fn is_without_space(&self, domain: u32, media: &impl Media) -> bool {
        media.has_failures() && (self.exhausted[domain as usize] || !media.domain_is_alive(domain))
    }

    pub(in crate::engine) fn new(options: Option<RebuildOptions>, shape: &Shape) -> Self {
        let members = shape.members as usize;
        Self {
            options,
            rebuild: None,
            faults: Vec::new(),
            records: Vec::new(),
            wear_outs: Vec::new(),
            read_errors: ReadErrors::default(),
            worn_out: None,
            retired: 0,
            exhausted: vec![false; shape.domains as usize],
            deliveries: FxHashMap::default(),
            fetches: vec![VecDeque::new(); members],
            waiting: 0,
            fetching: vec![NIL; members],
        }
    }

    /// The domain has gained a page.
    pub(in crate::engine) fn gained_space(&mut self, domain: u32) {
        self.exhausted[domain as usize] = false;
    }

    /// Queues the reads of a paced wave at their members: the operation waits for them.
    pub(in crate::engine) fn queue_fetches(&mut self, id: u32, slot: &mut Slot, page_operations: &[PageOperation]) {
        for page_operation in page_operations {
            let fetch = Fetch { id, read: slot.reads, page_operation: *page_operation };
            slot.reads += 1;
            slot.outstanding += 1;
            self.fetches[usize::from(page_operation.address.member.0)].push_back(fetch);
            self.waiting += 1;
        }
    }

    /// A read that reconstructed something has ended: with piggy-backing its stripe is repaired next.
    pub(in crate::engine) fn reconstructed(&mut self, stripe: StripeId) {
        if self.options.is_some()
            && let Some(rebuild) = &mut self.rebuild
        {
            rebuild.wanted(stripe);
        }
    }

    /// The SSD is worn out: it fails when everything else of this event is done.
    #[cold]
    pub(in crate::engine) fn note_worn_out(&mut self, device: u32) {
        debug_assert!(self.worn_out.is_none(), "an event erases blocks of one SSD");
        self.worn_out = Some(device);
    }

    /// A read of operation `id` on the member has ended.
    #[inline]
    pub(in crate::engine) fn fetched(&mut self, id: u32, member: MemberId) {
        let fetching = &mut self.fetching[usize::from(member.0)];
        if *fetching == id {
            *fetching = NIL;
        }
    }

    /// Whether a rebuild ran then.
    pub(in crate::engine) fn is_rebuilt_at(&self, time_ns: u64) -> bool {
        self.records.iter().any(|record| record.ran_at(time_ns))
    }

    /// A measured request has completed that arrived then.
    pub(in crate::engine) fn note_under_rebuild(&mut self, arrival_ns: u64, latency_ns: u64) {
        // A rebuild may have begun since that of its arrival ended.
        let records = self.records.iter_mut().filter(|record| record.ran_at(arrival_ns));
        records.for_each(|record| record.latency.record(latency_ns));
    }

    /// What is lost may be rebuilt on another SSD from now on: stripes that wait for space are looked at again.
    pub(in crate::engine) fn rebuild_elsewhere(&mut self) {
        if self.rebuild_share().is_some()
            && let Some(rebuild) = &mut self.rebuild
        {
            rebuild.failed();
        }
    }

    /// How much of the running rebuild is done: the share of stripes that it has passed, from 0 to 1. `None` if none runs.
    pub(in crate::engine) fn rebuild_share(&self) -> Option<f64> {
        let is_running = self.records.last().is_some_and(|record| record.ended_ns.is_none());
        self.rebuild.as_ref().filter(|_| is_running).map(|rebuild| rebuild.progress())
    }

    /// A repair has ended, with so many programs.
    pub(in crate::engine) fn repair_ended(&mut self, operation: &Operation, programs: u32, is_of_scheme: bool) {
        let walks = self.rebuild.as_ref().is_none_or(|rebuild| rebuild.walks());
        if is_of_scheme && let Some(rebuild) = &mut self.rebuild {
            rebuild.ended(operation, programs);
        }
        if !walks || self.records.is_empty() {
            self.read_errors.pages_repaired += u64::from(programs);
            return;
        }
        if let Some(record) = self.records.last_mut() {
            record.pages += u64::from(programs);
            #[cfg(feature = "mutants")]
            if accounting::makes(Slip::RepairsTwice) {
                record.pages += u64::from(programs);
            }
            // A translation page is copied; a repair that failed has copied nothing.
            record.pages_copied += u64::from(if is_of_scheme { programs.min(operation.copied.into()) } else { programs });
        }
    }
}
