//! The contract between a scheme and the engine.
//!
//! A scheme plans; the engine executes. Life of an operation:
//!
//! 1. `decide`, in request order, cuts a host request into operations. The engine queues each for its stripe's lock at once,
//!    so operations on one stripe run in the order in which they were decided.
//! 2. When the operations that it requires have ended, its lock is free and a page is reserved for each program (`space`), the
//!    engine calls `step`, again and again: each call sees the outcomes of the former wave and fills the next one.
//! 3. `Step::Last` or `Step::Done` ends it: in one instant every program becomes its page's version, superseded pages become
//!    garbage (or the base), `Change`s are applied, and `ended` tells the scheme.

use crate::Protects;
use crate::parts::bits::Bits;
use crate::parts::cut;
use flashraid_vocabulary::{Change, Guardian, HostOp, LocalPage, Lpn, MemberPage, StripeId, Version, View, Wave};

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
    pub beneath: u64,
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
    /// Bring a delayed parity up to date.
    Commit,
    /// Bring back what failures took of a stripe (`Scheme::repair`).
    Repair,
    /// Other background work of a job.
    Job,
}

/// How parity is (or was) brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Method {
    /// Not decided, or no parity involved.
    #[default]
    None,
    /// Every data strip is new: no pre-read.
    FullStripe,
    /// Read-modify-write: old versions of the changed strips and the old parity are read.
    Rmw,
    /// Reconstruct write: the unchanged strips are read.
    Rcw,
    /// Mirrored write: the parity is put off, and a second copy guards the new version meanwhile.
    Mirrored,
    /// The parity on flash is put off, and NVRAM holds what guards the new version meanwhile.
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
/// `decide` fills it; `step` may change `step`, `method`, `reads` and `update_reads`; the engine reads the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it is for.
    pub kind: OperationKind,
    /// What it holds on `stripe`.
    pub lock: Lock,
    /// Which parity method was chosen.
    pub method: Method,
    /// How many times `step` has answered with a wave.
    pub step: u8,
    /// Reads named in waves so far (numbers the reads for `Sources::reads`).
    pub reads: u8,
    /// How many of them, the last ones, only serve old content beneath what the host gives, and are no source of the parity. Noted when
    /// they are made: an unwritten page may appear at any time (as zeroes), so what is written now does not tell what was.
    pub update_reads: u8,
    /// The stripe, which is what is locked.
    pub stripe: StripeId,
    /// The local page of the stripe's strips in their members (the engine reserves space for programs there).
    pub page: LocalPage,
    /// Data strips concerned: bit i is strip i. Neighbouring strips are neighbouring host pages.
    pub strips: u64,
    /// The host page in the lowest strip of `strips`.
    pub first: Lpn,
    /// Bytes touched in the lowest and in the highest strip of `strips`; all bytes of those between.
    pub first_bytes: u32,
    /// See `first_bytes`. Equal to it if there is one strip.
    pub last_bytes: u32,
    /// Strips of which the host gives a part that does not cover all that flash may hold of them: what is below is needed too. Of a trim, for its
    /// scheme alone: those that were written when it was planned.
    pub beneath: u64,
    /// Members that get one program each, of a version that is no `Copy`: bit m is member m. (A page for a copy is taken when its
    /// program is submitted; a scheme makes one only where `View::takes_copy` says that there is one.)
    pub space: u64,
    /// Programs of its last wave that may go on after the host's answer, of those that the host waits for: 0 to wait for all.
    pub lag: u8,
    /// Repairs: how many of its programs got their content by copying one page; the others were computed.
    pub copied: u8,
    /// Data strips beyond `strips` that it programs too, as their current versions are lost; `step` finds them.
    pub restored: u64,
    /// Position in `Decisions` of an operation that must have ended before this one starts.
    pub requires: Option<u16>,
    /// Commits: why.
    pub commit: CommitCause,
}

impl Operation {
    /// Work that no request asked for: it excludes everybody from `stripe`, whose strips are local page `page` of their members and whose first host
    /// page is `first`, and programs a page on each of the members `space`.
    pub fn background(kind: OperationKind, stripe: StripeId, page: LocalPage, first: Lpn, space: u64) -> Self {
        Self {
            kind,
            lock: Lock::Exclusive,
            method: Method::None,
            step: 0,
            reads: 0,
            update_reads: 0,
            stripe,
            page,
            strips: 0,
            first,
            first_bytes: 0,
            last_bytes: 0,
            beneath: 0,
            space,
            lag: 0,
            copied: 0,
            restored: 0,
            requires: None,
            commit: CommitCause::Replacement,
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
    /// `copied` and `method` back to what `decide` left, forgotten what was read and programmed, and promised the pages again.
    pub read_failed: bool,
    /// Members (bits) on which a program of a current version found no page, and will find none: nothing is left of the member, or
    /// nothing is left in it and nothing can be collected. If the operation ends all the same, the page is lost (SPEC 0.6): it counts
    /// as written, and what it was to hold is what the others make of it; what it supersedes becomes garbage or the base, as the program
    /// says. Programs on a broken chip of a member that has others do not
    /// appear here, as the engine repeats them.
    pub unplaced: u64,
    /// The same of copies; if the operation ends all the same, they are not made.
    pub unplaced_copies: u64,
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
}

/// What failures have done to a stripe, as its state is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing, or nothing that a repair could change.
    None,
    /// Something that a repair would bring back, had the member where it goes a free page (`View::has_room`).
    NoRoom,
    /// All that is lost has a copy: a repair reads one page for each.
    Copy,
    /// Something that is lost has to be computed of others, or what is lost weakens others until the parity is made anew.
    Compute,
}

/// How many parity updates of each kind were made (one for each operation that changes a stripe's parity).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of the result's keys
pub struct ParityUpdates {
    pub full_stripe: u64,
    pub rmw: u64,
    pub rcw: u64,
    pub mirrored: u64,
    pub deferred: u64,
    pub committed: u64,
    pub adjusted: u64,
}

/// Why a delayed parity was brought to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CommitCause {
    /// Its place in NVRAM was wanted for another stripe.
    Replacement,
    /// A collection was about to erase a page that recovery needed.
    Collection,
    /// Something of its stripe was lost.
    Rebuild,
    /// The run ended.
    Shutdown,
    /// Nobody wanted the flash.
    Idle,
}

/// Commits of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    /// How many.
    pub commits: u64,
    /// Pages that they read.
    pub reads: u64,
}

impl Commits {
    /// Counts one that reads so many pages.
    pub fn count(&mut self, reads: u8) {
        self.commits += 1;
        self.reads += u64::from(reads);
    }
}

/// What a scheme that delays parities has done (SPEC 4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounts {
    /// Stripe updates that found their stripe's parity delayed already.
    pub hits: u64,
    /// Other stripe updates.
    pub misses: u64,
    /// Commits, by `CommitCause`.
    pub commits: [Commits; 5],
    /// Delayed parities made to cover their whole stripe in NVRAM, as their parity's chip had no page at hand (SPEC 4.4, widen).
    pub widened: Commits,
    /// Stripes whose parity is delayed now.
    pub entries: u64,
    /// Most of them there can be; 0 if there is no bound.
    pub most_entries: u64,
    /// Old versions that recovery needs now.
    pub old_pages: u64,
    /// The most there were of these.
    pub most_old_pages: u64,
}

impl GuardCounts {
    /// A stripe changes: strips that have changed since its parity was made, and strips with an old version, before and after.
    pub fn moved(&mut self, before: (u64, u64), after: (u64, u64)) {
        self.entries = self.entries + u64::from(after.0 != 0) - u64::from(before.0 != 0);
        self.old_pages = self.old_pages + u64::from(after.1.count_ones()) - u64::from(before.1.count_ones());
        self.most_old_pages = self.most_old_pages.max(self.old_pages);
    }

    /// What happened so far counts no more; what there is now does.
    pub fn begin(&mut self) {
        let Self { entries, most_entries, old_pages, .. } = *self;
        *self = Self { entries, most_entries, old_pages, most_old_pages: old_pages, ..Self::default() };
    }
}

/// Tells whether a failure took a version of a page.
pub type Lost<'a> = dyn Fn(MemberPage, Version) -> bool + 'a;

/// A redundancy scheme. Deterministic, and free of clocks, queues and random sources of its own.
///
/// `Guardian` is the collector's side of it: schemes that never keep a base answer `Ruling::Free`.
pub trait Scheme: Guardian + Send {
    /// Number of host pages that the scheme offers on members of `pages_per_member` logical pages (given at construction).
    fn user_pages(&self) -> u64;

    /// Data strips of one stripe.
    fn width(&self) -> u32;

    /// Into how many groups of equally many neighbouring members the scheme divides the device, if its layout names a page's group
    /// and leaves it to the FTL where in the group the page goes. `None` if the layout names the member.
    fn mirror_groups(&self) -> Option<u32> {
        None
    }

    /// The tables that the controller keeps in memory to find pages, by name, with their bytes. `mapped_pages` is the number of logical
    /// pages of all members; a plain page map holds 4 bytes for each, one physical page number.
    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        vec![("page_map", 4 * mapped_pages)]
    }

    /// What the controller keeps in NVRAM for the scheme, by name, with its bytes.
    fn nvram(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Cuts operations from the front of `extent` into `decisions` and returns how many pages they cover (at least 1).
    /// Called in request order, repeatedly until the request is used up. May change the *decided* state only.
    fn decide(&mut self, extent: &Extent, view: &dyn View, decisions: &mut Decisions) -> u64;

    /// Cuts pages that leave a write buffer together into operations: one for all of them if the scheme writes whole stripes, else one for each
    /// page. `page_bytes` are the bytes of a page.
    fn decide_group(&mut self, group: &Group, page_bytes: u32, view: &dyn View, decisions: &mut Decisions) {
        for page in Bits(group.pages) {
            let first = decisions.operations.len();
            let lpn = Lpn(group.first.0 + u64::from(page));
            self.decide(&cut::whole_write(lpn, 1, page_bytes), view, decisions);
            for operation in decisions.operations[first..].iter_mut().filter(|operation| operation.kind == OperationKind::Write) {
                operation.beneath = if group.beneath >> page & 1 == 1 { operation.strips } else { 0 };
            }
        }
    }

    /// Plans the next wave of `operation`, whose lock is held and whose former wave ended with `outcomes`.
    /// `wave` comes empty. May look at the view; must not assume that pre-reads of unwritten pages happen: those it
    /// leaves out, as they count as zero.
    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step;

    /// The operation has ended and its changes are durable: the *durable* state moves here. Follows every operation that did not
    /// fail, `Step::Nothing` and repairs included.
    fn ended(&mut self, _operation: &Operation) {}

    /// The operation has failed, by its own answer or for want of space, and changed nothing. Instead of `ended`.
    fn failed(&mut self, _operation: &Operation) {}

    /// The full-stripe write that fills stripe `index` (0, 1, ...) for `--fill`; the engine runs it without time.
    /// `None` past the last stripe. Stripes come in the order of host pages.
    fn fill(&self, index: u64) -> Option<Operation>;

    /// Where the host page's current version lives.
    fn locate(&self, lpn: Lpn) -> MemberPage;

    /// The stripe that a write of the host page locks: so that what the lock needs can be fetched ahead.
    fn stripe_of(&self, lpn: Lpn) -> StripeId;

    /// Asks the processor for the scheme's own state of the host page's stripe.
    fn prefetch(&self, _lpn: Lpn) {}

    /// The page with the parity of the host page's stripe, if there is one that operations read: so that what they need can be fetched ahead.
    fn parity_of(&self, _lpn: Lpn) -> Option<MemberPage> {
        None
    }

    /// The other pages that exist whenever host page `lpn` is written, for its sake: its stripe's parity, its other copies.
    /// Appends them to `pages`.
    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>);

    /// The scheme's recovery rule: which versions must be read and XORed to obtain host page `lpn`, with all versions gone of which
    /// `lost` says so? Fills `sources` and returns true, or returns false if the page is lost. Versions that are not written count
    /// as zero and are never lost. Called only for pages whose current version is lost.
    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool;

    /// Number of stripes, as locks know them.
    fn stripes(&self) -> u32;

    /// What failures have done to a stripe, and whether a repair can change that now: if it says so, one that finds the stripe in the same
    /// state does change it.
    fn damage(&self, _stripe: StripeId, _view: &dyn View) -> Damage {
        Damage::None
    }

    /// The operation that repairs a damaged stripe, with space for what it would program as things stand. What it does is planned by `step` from
    /// what is lost when it has its lock; if that needs a program elsewhere, it ends with `Step::Nothing` and the next one does it. Causes
    /// are `Rebuild`; nobody waits for it.
    fn repair(&self, _stripe: StripeId, _view: &dyn View) -> Operation {
        unreachable!("a scheme that reports no damage")
    }

    /// The unit of which it survives one failure, at any instant.
    fn protects(&self) -> Protects;

    /// The fill and the precondition are over: counts that steer decisions start from here.
    fn prepared(&mut self) {}

    /// The next operation that the scheme wants to run in the background (after a wave with `background` set); asked until it has none.
    fn background(&mut self, _view: &dyn View) -> Option<Operation> {
        None
    }

    /// Counts since construction.
    fn parity_updates(&self) -> ParityUpdates;

    /// Commits the stripe of a semivalid page for the collector (after `Ruling::CommitFirst`), so that nobody needs the page any more. With
    /// `has_room` it may program one page on each member of its `space`; asked again without if there is no such page at once: then it must do
    /// without any (SPEC 4.4, widen), or be `None`, and the page is moved. It runs before whoever waits for the stripe.
    fn commit_for_collection(&mut self, _address: MemberPage, _has_room: bool) -> Option<Operation> {
        None
    }

    /// The collector takes a semivalid page that nobody needs (`Ruling::Free`): the page has no base any more.
    fn base_erased(&mut self, _address: MemberPage) {}

    /// Whether there are times when it does not survive what it declares to, as it makes redundancy up later.
    fn has_window(&self) -> bool {
        false
    }

    /// Of the host pages of a stripe, how many the failure of the unit on which they lie would take now for that reason. It changes when an
    /// operation on the stripe ends, when a base of it is erased, at first touches and when something fails.
    fn exposed(&self, _stripe: StripeId, _view: &dyn View) -> u32 {
        0
    }

    /// How many pages a commit of the stripe of a semivalid page would read, and how many it would program.
    fn commit_cost(&self, _address: MemberPage) -> (u32, u32) {
        (0, 0)
    }

    /// Whether collections move semivalid pages; else they commit them first, and pages to move are the current ones alone.
    fn moves_bases(&self) -> bool {
        true
    }

    /// The next operation that brings a delayed parity to flash at the end of a run; asked until there is none.
    fn drain(&mut self) -> Option<Operation> {
        None
    }

    /// Whether `idle` is worth asking: after every event.
    fn works_when_idle(&self) -> bool {
        false
    }

    /// What the scheme wants to run now, in time that nobody else uses; asked until it wants nothing.
    fn idle(&mut self, _view: &dyn View) -> IdleWork {
        IdleWork::None
    }

    /// NVRAM has lost every delayed parity. What follows for pages on flash goes into `changes`: of a scheme that delays parities, all
    /// bases are released, and the parities of all written stripes are lost, as nobody knows which of them are current (SPEC 4.4).
    fn parity_cache_lost(&mut self, _view: &dyn View, _changes: &mut Vec<Change>) {}

    /// What delays parities has done so far; `None` if the scheme delays none.
    fn guard(&self) -> Option<GuardCounts> {
        None
    }

    /// A copy for forks of a simulation.
    fn boxed_clone(&self) -> Box<dyn Scheme>;
}

/// Background work: rebuild, migration, idle commits, wear levelling. The engine asks for operations after each event.
pub trait Job: Send {
    /// The next operation, or `None` if there is nothing to start now. Asked again after every event; cheap when there is nothing.
    fn next(&mut self, scheme: &dyn Scheme, view: &dyn View) -> Option<Operation>;

    /// Plans the next wave, as `Scheme::step` does, which a job that leaves the plan to the scheme calls.
    fn step(&mut self, scheme: &mut dyn Scheme, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step;

    /// The operation has ended, with so many programs; none if it failed. Follows each one that `next` has given, before the lock goes on.
    fn ended(&mut self, _operation: &Operation, _programs: u32) {}

    /// A copy for forks of a simulation.
    fn boxed_clone(&self) -> Box<dyn Job>;
}

impl Clone for Box<dyn Scheme> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

impl Clone for Box<dyn Job> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}
