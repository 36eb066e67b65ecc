//! The contract between a scheme and the engine.
//!
//! A scheme plans; the engine executes. Life of an operation:
//!
//! 1. `decide`, in request order, cuts a host request into operations. The engine queues each for its stripe's lock at once,
//!    so operations on one stripe run in the order in which they were decided.
//! 2. When the operations that it requires have ended, its lock is free, it has what it claims (`claim`) and a page is reserved for each
//!    program (`space`), the engine calls `step`, again and again: each call sees the outcomes of the former wave and fills the next one.
//! 3. `Step::Last` or `Step::Done` ends it: in one instant every program becomes its page's version, superseded pages become
//!    garbage (or the base), `Change`s are applied, and `ended` tells the scheme.

use crate::Protects;
use crate::counts::{GuardCounts, ParityUpdates};
use crate::operation::{Decisions, Extent, Group, IdleWork, Operation, OperationKind, Outcomes, Step};
use crate::parts::bits::Bits;
use crate::parts::cut;
use crate::replacement::{Migrated, Order};
use flashraid_vocabulary::{Change, GcAdvisor, LocalPage, Lpn, MemberId, MemberPage, Persistent, StripeId, Version, View, Wave};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;

/// What failures have done to a stripe, as its state is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing, or nothing that a repair could change.
    None,
    /// Something that a repair would rebuild, had the member where it goes a free page (`View::can_allocate`).
    NoSpace,
    /// All that is lost has a copy: a repair reads one page for each.
    Copy,
    /// Something that is lost has to be computed of others, or what is lost weakens others until the parity is recomputed.
    Compute,
}

/// What an operation that is about to start gets of what its scheme has little of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// All that it needs.
    Granted,
    /// That, once this commit has ended, which runs before whoever waits for its stripe and has not started. The operation may start with it, and ends
    /// after it; if it fails, so does the operation.
    After(Operation),
    /// Nothing now: ask again when something has ended, before any other operation that would have to wait.
    Wait,
}

/// Tells whether a failure took a version of a page.
pub type Lost<'a> = dyn Fn(MemberPage, Version) -> bool + 'a;

/// Where host pages lie, and how stripes are numbered: the same for all schemes over one map of stripes.
pub trait Addressing {
    /// Number of host pages that the scheme offers on members of `pages_per_member` logical pages (given at construction).
    fn user_pages(&self) -> u64;

    /// Data strips of the widest stripe.
    fn width(&self) -> u32;

    /// Number of stripes, as locks know them.
    fn stripes(&self) -> u32;

    /// The full-stripe write that fills stripe `index` (0, 1, ...) for `--fill`; the engine runs it in no simulated time.
    /// `None` past the last stripe. Stripes come in the order of host pages, and each is created before (`Scheme::create`).
    fn fill(&self, index: u64) -> Option<Operation>;

    /// Where the host page's current version lives.
    fn locate(&self, lpn: Lpn) -> MemberPage;

    /// The stripe that a write of the host page locks: so that what the lock needs can be fetched ahead.
    fn stripe_of(&self, lpn: Lpn) -> StripeId;

    /// The page with the parity of the host page's stripe, if there is one that operations read: so that what they need can be fetched ahead.
    fn parity_of(&self, _lpn: Lpn) -> Option<MemberPage> {
        None
    }

    /// The stripe's page on a member that has one: where programs of its operations go (`Operation::space`).
    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage;

    /// The stripe, as repairs know them, of which a page is one: the inverse of `page_on`.
    fn stripe_at(&self, page: MemberPage) -> StripeId;

    /// If host pages k n and those that follow lie, n of them, at local page k of their members, for every k, this n: then what is not written is
    /// found by the map of pages, without asking stripe by stripe.
    fn row_pages(&self) -> Option<u32>;

    /// The first of the stripes that have pages at this local page, if all pages of every stripe lie at one local page of their members, and stripes follow
    /// each other as these do: then stripes of which nothing is written are passed over by the map of pages.
    fn first_stripe_at(&self, _page: LocalPage) -> Option<StripeId> {
        None
    }

    /// Which host pages are one stripe: with one parity, or side by side.
    fn grouping(&self) -> Grouping {
        Grouping::Even(self.width())
    }

    /// The other pages that exist whenever host page `lpn` is written, for its sake: its stripe's parity, its other copies.
    /// Appends them to `pages`.
    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>);
}

/// Which host pages are the data of one stripe: for a write buffer that lets them leave together.
#[derive(Clone)]
pub enum Grouping {
    /// So many at a time, from page 0 on.
    Even(u32),
    /// Those that this gives for each of them: stripes of different width.
    Uneven(Arc<dyn Fn(Lpn) -> Range<u64> + Send + Sync>),
}

impl Grouping {
    /// The host pages of the stripe of `lpn`.
    #[inline]
    pub fn pages(&self, lpn: Lpn) -> Range<u64> {
        match self {
            Self::Even(width) => {
                let first = lpn.0 - lpn.0 % u64::from(*width);
                first..first + u64::from(*width)
            }
            Self::Uneven(pages) => pages(lpn),
        }
    }
}

impl Debug for Grouping {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even(width) => write!(f, "Even({width})"),
            Self::Uneven(_) => write!(f, "Uneven"),
        }
    }
}

/// A redundancy scheme. Deterministic, and free of clocks, queues and random sources of its own.
///
/// `GcAdvisor` is GC's side of it: schemes that never keep a base implement it without any method. `Persistent` is what it keeps when the drive is switched
/// off, with nothing in flight and everything drained: the durable state, and the decided one, which equals it then.
pub trait Scheme: GcAdvisor + CloneScheme + Persistent + Send + Sync {
    /// Where its pages lie. The methods of the same names as this one's are for whoever has a scheme at hand.
    fn addressing(&self) -> &dyn Addressing;

    /// See `Addressing`.
    fn user_pages(&self) -> u64 {
        self.addressing().user_pages()
    }

    /// See `Addressing`.
    fn width(&self) -> u32 {
        self.addressing().width()
    }

    /// See `Addressing`.
    fn stripes(&self) -> u32 {
        self.addressing().stripes()
    }

    /// See `Addressing`.
    fn fill(&self, index: u64) -> Option<Operation> {
        self.addressing().fill(index)
    }

    /// See `Addressing`.
    fn locate(&self, lpn: Lpn) -> MemberPage {
        self.addressing().locate(lpn)
    }

    /// See `Addressing`.
    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        self.addressing().stripe_of(lpn)
    }

    /// See `Addressing`.
    fn parity_of(&self, lpn: Lpn) -> Option<MemberPage> {
        self.addressing().parity_of(lpn)
    }

    /// See `Addressing`.
    fn stripe_at(&self, page: MemberPage) -> StripeId {
        self.addressing().stripe_at(page)
    }

    /// See `Addressing`.
    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage {
        self.addressing().page_on(stripe, member)
    }

    /// See `Addressing`.
    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        self.addressing().redundancy_of(lpn, pages);
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
                operation.merge_strips = if group.merge_pages >> page & 1 == 1 { operation.strips } else { 0 };
            }
        }
    }

    /// The host page comes to be otherwise than by a write that was decided: by the fill, or at its first touch. A scheme that chooses the members of a
    /// stripe when that is first written does so now; `locate` says where the page is from then on.
    fn create(&mut self, _lpn: Lpn) {}

    /// Plans the next wave of `operation`, whose lock is held and whose former wave ended with `outcomes`.
    /// `wave` comes empty. May look at the view; must not assume that pre-reads of unwritten pages happen: those it
    /// leaves out, as they count as zero.
    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step;

    /// Whether operations claim something before they start. If not, `claim` is not asked.
    fn claims(&self) -> bool {
        false
    }

    /// A write or trim has its stripe to itself and is about to start, with nothing reserved yet: claims a place in NVRAM for it, once
    /// (`Operation::is_placed`). Without `may_evict` others wait for one. No operation that holds one waits for another one's.
    fn claim(&mut self, _operation: &mut Operation, _may_evict: bool, _view: &dyn View) -> Claim {
        Claim::Granted
    }

    /// The operation has ended and its changes are durable: the *durable* state moves here. Follows every operation that did not
    /// fail, `Step::Nothing` and repairs included.
    fn ended(&mut self, _operation: &Operation) {}

    /// The operation has failed, by its own answer or for lack of space, and changed nothing. Instead of `ended`.
    fn failed(&mut self, _operation: &Operation) {}

    /// Asks the processor for the scheme's own state of the host page's stripe.
    fn prefetch(&self, _lpn: Lpn) {}

    /// The scheme's recovery rule: which versions must be read and XORed to obtain host page `lpn`, with all versions gone of which
    /// `lost` says so? Fills `sources` and returns true, or returns false if the page is lost. Versions that are not written count
    /// as zero and are never lost. Called only for pages whose current version is lost.
    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool;

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

    /// Commits the stripe of a semivalid page for GC (after `SemivalidAction::CommitFirst`), so that nobody needs the page any more. With
    /// `can_allocate` it may program one page on each member of its `space`; asked again without if there is no such page at once: then it must do
    /// without any (SPEC 4.4, widen), or be `None`, and the page is moved. It runs before whoever waits for the stripe.
    fn commit_for_gc(&mut self, _address: MemberPage, _can_allocate: bool) -> Option<Operation> {
        None
    }

    /// GC takes a semivalid page that nobody needs (`SemivalidAction::Free`): the page has no base any more. Returns the stripe, if that may have changed
    /// what of it is exposed.
    fn base_erased(&mut self, _address: MemberPage) -> Option<StripeId> {
        None
    }

    /// Whether there are times when it does not survive what it declares to, as it creates redundancy later.
    fn has_window(&self) -> bool {
        false
    }

    /// The data strips of a stripe that the failure of the unit on which they lie would take now for that reason. They change when an
    /// operation on the stripe ends, when a base of it is erased, at first touches and when something fails.
    fn exposed(&self, _stripe: StripeId, _view: &dyn View) -> u64 {
        0
    }

    /// How many pages a commit of the stripe of a semivalid page would read, and how many it would program.
    fn commit_cost(&self, _address: MemberPage) -> (u32, u32) {
        (0, 0)
    }

    /// Whether GC runs move semivalid pages; else they commit them first, and pages to move are the current ones alone.
    fn moves_bases(&self) -> bool {
        true
    }

    /// The next operation that brings a deferred parity to flash at the end of a run; asked until there is none.
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

    /// NVRAM has lost every deferred parity. What follows for pages on flash goes into `changes`: of a scheme that defers parities, all
    /// bases are released, and the parities of all written stripes are lost, as nobody knows which of them are current (SPEC 4.4).
    fn parity_cache_lost(&mut self, _view: &dyn View, _changes: &mut Vec<Change>) {}

    /// What defers parities has done so far; `None` if the scheme defers none.
    fn guard(&self) -> Option<GuardCounts> {
        None
    }

    // ---- replacement of SSDs of an array ----

    /// Whether strips may move to other members. If not, nothing below is asked.
    fn moves_strips(&self) -> bool {
        false
    }

    /// The operation has its stripe to itself: decides where it programs, as things stand now (`Operation::space`), in place of what was planned when it
    /// was decided. Once for each operation with an exclusive lock.
    fn place(&mut self, _operation: &mut Operation, _view: &dyn View) {}

    /// What is to be done with an SSD now; asked after every event until it is nothing.
    fn order(&mut self, _view: &dyn View) -> Option<Order> {
        None
    }

    /// The user wants this member replaced, as soon as no other one is. Returns why that cannot be.
    fn replace(&mut self, _member: MemberId, _view: &dyn View) -> Result<(), &'static str> {
        Err("the scheme replaces no SSD")
    }

    /// Members that the user wants replaced, and those that are too old, whose replacement has not begun.
    fn awaiting_replacement(&self, _view: &dyn View) -> Vec<MemberId> {
        Vec::new()
    }

    /// How much of the strips of the SSD that is being replaced lies elsewhere by now, from 0 to 1; 1 if none is being replaced.
    fn replaced_share(&self) -> f64 {
        1.0
    }

    /// Strips moved so far by replacements.
    fn migrated(&self) -> Migrated {
        Migrated::default()
    }
}

/// Background work: rebuild, migration, idle commits, wear leveling. The engine asks for operations after each event.
pub trait Job: CloneJob + Send + Sync {
    /// The next operation, or `None` if there is nothing to start now. Asked again after every event; cheap when there is nothing.
    fn next(&mut self, scheme: &dyn Scheme, view: &dyn View) -> Option<Operation>;

    /// Plans the next wave, as `Scheme::step` does, which a job that leaves the plan to the scheme calls.
    fn step(&mut self, scheme: &mut dyn Scheme, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step;

    /// The operation has ended, with so many programs; none if it failed. Follows each one that `next` has given, before the lock goes on.
    fn ended(&mut self, _operation: &Operation, _programs: u32) {}
}

/// The copy of a scheme for forks of a simulation: every scheme that is `Clone` has it.
pub trait CloneScheme {
    /// A copy of the same type.
    fn boxed_clone(&self) -> Box<dyn Scheme>;
}

impl<S: Scheme + Clone + 'static> CloneScheme for S {
    fn boxed_clone(&self) -> Box<dyn Scheme> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Scheme> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

impl Persistent for Box<dyn Scheme> {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        (**self).save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        (**self).restore(from)
    }
}

/// The same for jobs.
pub trait CloneJob {
    /// A copy of the same type.
    fn boxed_clone(&self) -> Box<dyn Job>;
}

impl<J: Job + Clone + 'static> CloneJob for J {
    fn boxed_clone(&self) -> Box<dyn Job> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Job> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}
