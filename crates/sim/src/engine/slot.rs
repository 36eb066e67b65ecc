//! An operation in flight: data alone, worked on by the files that `engine` lists.

use flashraid_redundancy::{Failure, Operation, OperationKind, Outcomes};
use flashraid_vocabulary::{NIL, PageOperation, Weights, linked};
use std::fmt;

/// Requests in flight, and operations, for which there is space without growing.
pub(super) const ROOM: usize = 1 << 20;

/// No job.
pub(super) const NO_JOB: u16 = u16::MAX;
/// The engine's own work on translation pages.
pub(super) const TRANSLATION: u16 = u16::MAX - 1;
/// The job number of the rebuild.
pub(super) const REBUILD: u16 = u16::MAX - 2;

/// A program that waits for its content to be computed, and the one of its operation that is computed next.
#[derive(Clone, Debug)]
pub(super) struct PendingSum {
    pub(super) program: PageOperation,
    /// The weights of its sources.
    pub(super) weights: Option<Box<Weights>>,
    pub(super) next: u32,
}

/// An operation in flight. Under overload there are many, so that it is as small as two lines of a cache.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) operation: Operation,
    /// The request it belongs to, `NIL` for background work.
    pub(super) request: u32,
    /// The job it belongs to, `NO_JOB` for none.
    pub(super) job: u16,
    pub(super) alive: bool,
    pub(super) started: bool,
    /// `step` has said that the wave in progress is the last.
    pub(super) last: bool,
    pub(super) acknowledged: bool,
    pub(super) failed: bool,
    /// Whether it takes something out of the data buffer, or trims.
    pub(super) departs: bool,
    /// Conditions for its start that are not met yet: required operations, former sub-request, lock.
    pub(super) unmet: u16,
    /// Page operations in flight.
    pub(super) outstanding: u8,
    /// Reads in flight with which programs overlap (`Wave::overlapped_reads`).
    pub(super) overlapped_reads: u8,
    /// These have ended: it goes on.
    pub(super) goes_on: bool,
    /// Of the page operations in flight, those that the host waits for.
    pub(super) waits: u8,
    /// Members (bits) for which a page is still to be reserved.
    pub(super) unreserved: u64,
    /// Members (bits) for which a page is reserved and not used.
    pub(super) reserved: u64,
    /// Whether anything went wrong with the wave: `Rare::outcomes`.
    pub(super) has_error: bool,
    /// Reads submitted so far.
    pub(super) reads: u8,
    /// Programs that have ended: list through their records.
    pub(super) programs: u32,
    /// Next operation in a space domain's queue.
    pub(super) next: u32,
    /// Whether it is in a space domain's queue.
    pub(super) waits_for_space: bool,
    /// Changes to apply at the end: position in the engine's lists of changes, `NIL` for none.
    pub(super) changes: u32,
    /// Position of what few operations have in the engine's list of that, `NIL` for none.
    pub(super) rare: u32,
}

linked!(Slot: next, PendingSum: next, Rare: next_dependent);

/// How an operation stands with the place that it has claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is its own, or it needs none.
    Own,
    /// That of a stripe whose commit has not started, for which it waits.
    Claimed,
    /// That of a stripe whose commit has not ended, for which it waits.
    Behind,
    /// The commit has started, and not ended.
    Taken,
    /// The same, and nothing else is left to wait for.
    Awaited,
    /// The same, and then it fails.
    Fails(Failure),
    /// The commit has ended, or failed, and it fails.
    Refused(Failure),
}

/// What few operations in flight have.
#[derive(Clone, Debug)]
pub(super) struct Rare {
    /// Members (bits) for which a page for a copy is reserved and not used.
    pub(super) reserved_copies: u64,
    /// What went wrong with the wave.
    pub(super) outcomes: Outcomes,
    /// Operations that require this one: list through `next_dependent`.
    pub(super) dependents: u32,
    pub(super) next_dependent: u32,
    /// The next sub-request of the same request, if it waits for this one.
    pub(super) successor: u32,
    /// A commit for a GC run: the plane that waits for it, `NIL` for others.
    pub(super) plane: u32,
    /// A commit that runs under the lock of another operation: that one, `NIL` for others.
    pub(super) lock_holder: u32,
    /// The last operation that runs under its lock before it starts, `NIL` for none.
    pub(super) nested: u32,
    /// A commit that frees a place for another operation: that one, `NIL` for others.
    pub(super) frees_place_of: u32,
    /// The place in NVRAM that it has claimed, and the commit that frees it, `NIL` for none.
    pub(super) place: Place,
    pub(super) freed_by: u32,
    /// A program whose content is being computed: position among the engine's, `NIL` for none.
    pub(super) sum: u32,
    /// Pages that leave a volatile buffer on behalf of nobody: position among writes, for flushes; `u64::MAX` for others.
    pub(super) write_index: u64,
}

impl Rare {
    /// Nothing of it.
    pub(super) const NONE: Self = Self {
        reserved_copies: 0,
        outcomes: Outcomes { read_failed: false, unallocated: 0, unallocated_copies: 0 },
        dependents: NIL,
        next_dependent: NIL,
        successor: NIL,
        plane: NIL,
        lock_holder: NIL,
        nested: NIL,
        frees_place_of: NIL,
        place: Place::Own,
        freed_by: NIL,
        sum: NIL,
        write_index: u64::MAX,
    };
}

const _: () = assert!(std::mem::size_of::<Slot>() == 128);

/// Whether an operation of a job counts in `writes_in_chunk`.
#[inline(always)]
pub(super) fn counts_in_chunk(operation: &Operation, job: u16) -> bool {
    matches!(operation.kind, OperationKind::Write | OperationKind::Job) && job != TRANSLATION
}

impl Slot {
    pub(super) fn is_alive(&self) -> bool {
        self.alive
    }

    /// Whether it is in use for an operation on a stripe, not on a translation page.
    pub(super) fn is_of_scheme(&self) -> bool {
        self.alive && self.job != TRANSLATION
    }

    pub(super) fn request(&self) -> u32 {
        self.request
    }

    pub(super) fn programs(&self) -> u32 {
        self.programs
    }

    pub(super) fn job(&self) -> u16 {
        self.job
    }

    pub(super) fn kind(&self) -> OperationKind {
        self.operation.kind
    }

    pub(super) fn stripe(&self) -> u32 {
        self.operation.stripe.0
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation { kind, stripe, step, .. } = self.operation;
        write!(formatter, "{kind:?} of stripe {}, ", stripe.0)?;
        match (self.started, self.unmet, self.unreserved) {
            (true, ..) => write!(formatter, "step {step}, {} page operations under way", self.outstanding),
            (false, 0, 0) => write!(formatter, "about to start"),
            (false, 0, _) => write!(formatter, "waits for space"),
            (false, unmet, _) => write!(formatter, "waits for {unmet} condition(s)"),
        }
    }
}
