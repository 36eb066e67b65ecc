//! What is said of failures and rebuilds, and what the engine keeps of them.

use crate::engine::slot::NIL;
use crate::media::Shape;
#[cfg(feature = "mutants")]
use crate::media::accounting::{self, Slip};
use crate::statistics::Latency;
use flashraid_redundancy::rebuild::{Order, Rebuild};
use flashraid_vocabulary::{Delivery, Failure, PageOperation};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// How what failed is rebuilt.
#[derive(Clone, Copy, Debug)]
pub struct RebuildOptions {
    /// In which order.
    pub order: &'static Order,
    /// Repairs at once.
    pub window: u32,
}

/// A rebuild, from the first failure that it answers.
#[derive(Clone, Debug)]
pub struct RebuildRecord {
    /// What failed, and when.
    pub faults: Vec<(u64, Failure)>,
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
    pub(super) fn ran_at(&self, time_ns: u64) -> bool {
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
    pub failure: Failure,
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
pub(super) struct Fetch {
    pub(super) id: u32,
    pub(super) read: u8,
    pub(super) page_operation: PageOperation,
}

/// What the engine keeps of failures.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Failures {
    pub(super) options: Option<RebuildOptions>,
    pub(in crate::engine) rebuild: Option<Box<Rebuild>>,
    pub(super) faults: Vec<FaultRecord>,
    pub(super) records: Vec<RebuildRecord>,
    pub(super) wear_outs: Vec<WearOutRecord>,
    pub(super) read_errors: ReadErrors,
    /// The SSD that is worn out since this very event, and has not failed yet.
    pub(super) worn_out: Option<u32>,
    /// SSDs that age has put out of use.
    pub(in crate::engine) retired: u32,
    /// Space domains in which nobody waits for a page, as none will come.
    pub(super) exhausted: Vec<bool>,
    /// Strips that the reads of an operation's wave will make up, by operation.
    pub(super) deliveries: FxHashMap<u32, Vec<Delivery>>,
    /// Reads that wait, by member.
    pub(super) fetches: Vec<VecDeque<Fetch>>,
    pub(super) waiting: u64,
    /// Members (bits) whose read is in flight, and its operation.
    pub(super) fetching: Vec<u32>,
}

impl Failures {
    /// Whether nobody waits for a page in some space domain any more.
    pub(in crate::engine) fn is_exhausted(&self) -> bool {
        self.exhausted.contains(&true)
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
}
