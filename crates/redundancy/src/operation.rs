//! Operations: what a scheme decides and plans, one stripe at a time, and what the engine answers.

use crate::parts::bits::{self, Bits};
use flashraid_vocabulary::{HostOp, Lpn, StripeId};

/// Pages of one host request that are still to be cut into operations; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Read, Write or Trim. (The engine turns write-zeroes into trims and sub-page writes, and keeps flushes to itself.)
    pub op: HostOp,
    /// First page.
    pub first: Lpn,
    /// Number of pages, at least 1.
    pub pages: u64,
    /// Bytes touched in the first page; the page size if all of it. If `pages` is 1 this alone counts.
    pub first_bytes: u32,
    /// Bytes touched in the last page.
    pub last_bytes: u32,
    /// Write of parts of pages: they cover all that flash holds of these pages, so that nothing of the old pages is needed beneath them.
    pub covered: bool,
}

/// Pages of one stripe that leave a write buffer together, whole or with what it holds of them; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The first page.
    pub first: Lpn,
    /// Which pages: bit k is page `first` + k; bit 0 is set.
    pub pages: u64,
    /// Those of them of which flash holds more than the buffer does: their old content is needed beneath.
    pub merge_pages: u64,
}

/// What an operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OperationKind {
    /// Host read of some strips of a stripe.
    Read,
    /// Host write of some strips of a stripe.
    Write,
    /// Discard of some strips of a stripe.
    Trim,
    /// Bring a deferred parity up to date.
    Commit,
    /// Bring back what failures took of a stripe (`Recovery::repair`).
    Repair,
    /// Move strips of a stripe to other members (`Scheme::place`).
    Migrate,
    /// Other background work of a job.
    Job,
}

/// How the redundancy of a stripe is (or was) brought up to date; the log of requests shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Method {
    /// Not decided, or no redundancy involved.
    #[default]
    None,
    /// Every data strip is new: no pre-read.
    FullStripe,
    /// Read-modify-write: old versions of the changed strips and the old parity are read.
    Rmw,
    /// Reconstruct write: the unchanged strips are read.
    Rcw,
    /// Each page is written at least twice. Where there is parity, it is deferred, and the copy guards the new version meanwhile.
    Mirrored,
    /// The parity on flash is deferred, and NVRAM holds what guards the new version meanwhile.
    Deferred,
}

/// What an operation holds while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Lock {
    /// Nothing (healthy reads).
    None,
    /// Excludes writers (reads that reconstruct).
    Shared,
    /// Excludes everybody.
    Exclusive,
}

/// One operation on one stripe: a small state machine driven by its scheme.
///
/// `decide` fills it; `step` may change `step`, `method`, `is_adjusted`, `deferred_by`, `reads` and `update_reads`; the engine reads the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it is for.
    pub kind: OperationKind,
    /// What it holds on `stripe`.
    pub lock: Lock,
    /// Which parity method was chosen.
    pub method: Method,
    /// Whether the load of members decided for it, against the number of pre-reads.
    pub is_adjusted: bool,
    /// Of a deferred update: whether what NVRAM will hold is read as for RMW or as for RCW.
    pub deferred_by: Method,
    /// How many times `step` has answered with a wave.
    pub step: u8,
    /// Reads named in waves so far (numbers the reads for `Sources::reads`).
    pub reads: u8,
    /// How many of them, the last ones or the first ones by the plan, only serve old content merged with what the host gives, and are no source of
    /// the parity. Noted when they are made: an unwritten page may appear at any time (as zeroes), so what is written now does not tell what was.
    pub update_reads: u8,
    /// The stripe, which is what is locked.
    pub stripe: StripeId,
    /// Data strips concerned: bit i is strip i. Neighboring strips are neighboring host pages.
    pub strips: u64,
    /// The host page in the lowest strip of `strips`.
    pub first: Lpn,
    /// Bytes touched in the lowest and in the highest strip of `strips`; all bytes of those between.
    pub first_bytes: u32,
    /// See `first_bytes`. Equal to it if there is one strip.
    pub last_bytes: u32,
    /// Strips of which the host gives a part that does not cover all that flash may hold of them: what is below is needed too. Of a trim, for its
    /// scheme alone: those that were written when it was planned.
    pub merge_strips: u64,
    /// Members that get one program each, of a version that is no `Copy`, of the stripe's page on them (`Addressing::page_on`): bit m is member m. (A page for a copy is taken when its
    /// program is submitted; a scheme makes one only where `View::takes_copy` says that there is one.)
    pub space: u64,
    /// Programs of its last wave that may go on after the acknowledgement to the host, of those that the host waits for: 0 to wait for all.
    pub posted_programs: u8,
    /// Repairs: how many of its programs got their content by copying one page; the others were computed.
    pub copied: u8,
    /// Data strips beyond `strips` that it programs too, as their current versions are lost; `step` finds them.
    pub restored: u64,
    /// Position in `Decisions` of an operation that must have ended before this one starts.
    pub requires: Option<u16>,
    /// Commits: why.
    pub commit: CommitCause,
    /// Whether it was placed (`Scheme::place`), or has claimed its place (`Scheme::claim`).
    pub is_placed: bool,
    /// Which read is that of the first strip that moves (`restored`, then the parity); the next ones follow.
    pub first_moved: u8,
}

impl Operation {
    /// Work that no request asked for: it excludes everybody from `stripe`, whose first host page is `first`, and programs a page on each of the
    /// members `space`.
    pub fn background(kind: OperationKind, stripe: StripeId, first: Lpn, space: u64) -> Self {
        Self {
            kind,
            lock: Lock::Exclusive,
            method: Method::None,
            is_adjusted: false,
            deferred_by: Method::None,
            step: 0,
            reads: 0,
            update_reads: 0,
            stripe,
            strips: 0,
            first,
            first_bytes: 0,
            last_bytes: 0,
            merge_strips: 0,
            space,
            posted_programs: 0,
            copied: 0,
            restored: 0,
            requires: None,
            commit: CommitCause::Replacement,
            is_placed: false,
            first_moved: 0,
        }
    }

    /// Bytes of data strip `strip` that the host touches. `strip` must be one of `strips`.
    pub fn touched_bytes(&self, strip: u32, page_bytes: u32) -> u32 {
        debug_assert!(self.strips >> strip & 1 == 1);
        if strip == self.strips.trailing_zeros() {
            self.first_bytes
        } else if strip == 63 - self.strips.leading_zeros() {
            self.last_bytes
        } else {
            page_bytes
        }
    }

    /// Its reads without the update reads, where these come last.
    #[inline]
    pub fn reads_before_update_reads(&self) -> u64 {
        bits::lowest(u32::from(self.reads - self.update_reads))
    }

    /// Its reads without the update reads, where these come first.
    #[inline]
    pub fn reads_after_update_reads(&self) -> u64 {
        bits::lowest(u32::from(self.reads)) & !bits::lowest(u32::from(self.update_reads))
    }

    /// The host page in data strip `strip`, which must be one of `strips`.
    #[inline]
    pub fn host_page(&self, strip: u32) -> Lpn {
        debug_assert!(self.strips >> strip & 1 == 1);
        Lpn(self.first.0 + u64::from(strip - self.strips.trailing_zeros()))
    }

    /// The host pages concerned, in ascending order.
    pub fn host_pages(&self) -> impl Iterator<Item = Lpn> + use<> {
        let Self { first, strips, .. } = *self;
        Bits(strips).map(move |strip| Lpn(first.0 + u64::from(strip - strips.trailing_zeros())))
    }
}

/// Where `decide` puts operations, in the order in which they take their place at their stripes' locks.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// Emptied by the engine before each `decide`.
    pub operations: Vec<Operation>,
}

/// What went wrong with the former wave. Nothing, mostly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Outcomes {
    /// A read failed: what it was to read is lost now. The operation starts anew: the engine has set `step`, `reads`, `update_reads`,
    /// `copied`, `method` and `is_adjusted` back to what `decide` left, forgotten what was read and programmed, and reserved its pages again.
    pub read_failed: bool,
    /// Members (bits) on which a program of a current version, in any wave so far, found no page, and will find none: nothing is left of the member, or
    /// nothing is left in it and nothing can be collected. If the operation ends all the same, the page is lost (SPEC 0.6): it counts
    /// as written, and what it was to hold is what the others make of it; what it supersedes becomes garbage or the base, as the program
    /// says. Programs on a broken chip of a member that has others do not
    /// appear here, as the engine repeats them.
    pub unallocated: u64,
    /// The same of copies; if the operation ends all the same, they are not made.
    pub unallocated_copies: u64,
}

impl Outcomes {
    /// Whether everything went well.
    pub fn is_well(&self) -> bool {
        *self == Self::default()
    }
}

/// Answer of `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Run this wave, then call again with its outcomes.
    Wave,
    /// Run this wave; if nothing fails the operation ends with it (saves a call). If something fails, call again.
    Last,
    /// Let so many nanoseconds pass, in which the operation keeps what it holds, then call again: for what takes time and no flash. The wave is
    /// empty.
    Pause(u64),
    /// The operation ends now. The wave holds no page operation, perhaps changes.
    Done,
    /// Only for trims, repairs and the like decided by what is written: nothing to do, and nothing changes. The wave is empty.
    Nothing,
    /// Only for operations without a lock: call again when the stripe is held, shared (then `Operation::lock` says so), because
    /// something has to be computed of several pages that must belong together. The wave is empty.
    Lock,
    /// The request fails, as data that it needs are lost, or as nothing is left to put its data. Nothing changes. The wave is empty.
    Failed(Failure),
}

/// Answer of `idle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleWork {
    /// Start this.
    Start(Operation),
    /// Nothing yet: ask again after so many nanoseconds, besides after every event. The latest such answer counts.
    After(u64),
    /// Nothing.
    None,
}

/// Why a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// There is no space for what it writes.
    NoSpace,
    /// Failures took data that it needs, beyond what the scheme survives.
    Lost,
    /// The device serves it no more: it is read-only or has stopped.
    Refused,
}

/// Why a deferred parity was brought to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CommitCause {
    /// Its place in NVRAM was wanted for another stripe.
    Replacement,
    /// A GC run was about to erase a page that recovery needed.
    Gc,
    /// Something of its stripe was lost.
    Rebuild,
    /// The run ended.
    Shutdown,
    /// Nobody wanted the flash.
    Idle,
}
