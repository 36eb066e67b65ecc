//! What only some schemes can do. Each capability is a trait that a scheme offers by methods of `Scheme` (`deferring` and `deferring_mut`, for example); a
//! scheme without it has no line about it.
//!
//! What the engine asks once per operation or more often is in `Scheme` and `Recovery` all the same (`claim`, `place`, `exposed`): there it is one indirect call.

use crate::counts::GuardCounts;
use crate::operation::{IdleWork, Operation};
use crate::replacement::{Migrated, Order};
use flashraid_vocabulary::{Change, MemberId, MemberPage, StripeId, View};

/// A scheme that leaves parities on flash out of date and commits them later. Until then it keeps the superseded versions that such a parity still
/// covers (bases), or the new parity in NVRAM, or both.
pub trait Deferring {
    /// The fill and the precondition are over: counts of what is deferred start from here.
    fn prepared(&mut self) {}

    /// The next commit that the scheme wants to run in the background, after a wave with `background` set; asked until it has none.
    fn background(&mut self, _view: &dyn View) -> Option<Operation> {
        None
    }

    /// The next operation that brings a deferred parity to flash at the end of a run; asked until there is none.
    fn drain(&mut self) -> Option<Operation> {
        None
    }

    /// What it has done so far, if it counts that; results have a section with it then.
    fn guard(&self) -> Option<GuardCounts> {
        None
    }

    // ---- bases ----

    /// Whether GC runs move semivalid pages; else they commit them first, and pages to move are the current ones alone.
    fn moves_bases(&self) -> bool {
        true
    }

    /// How many pages a commit of the stripe of a semivalid page would read, and how many it would program.
    fn commit_cost(&self, _address: MemberPage) -> (u32, u32) {
        (0, 0)
    }

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

    // ---- parities in NVRAM ----

    /// What the controller keeps in NVRAM for the scheme, by name, with its bytes.
    fn nvram(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Whether updates claim places in NVRAM before they start. If not, `Scheme::claim` is not asked.
    fn claims(&self) -> bool {
        false
    }

    /// NVRAM has lost every deferred parity. What follows for pages on flash goes into `changes`: all bases are released, and the parities of all written
    /// stripes are lost, as nobody knows which of them are current (SPEC 4.4).
    fn parity_cache_lost(&mut self, _view: &dyn View, _changes: &mut Vec<Change>) {}
}

/// A scheme that replaces SSDs of an array while it runs (SPEC 5.5): its strips move to other members (`Scheme::place`).
pub trait Replacing {
    /// What is to be done with an SSD now; asked after every event until it is nothing.
    fn order(&mut self, view: &dyn View) -> Option<Order>;

    /// The user wants this member replaced, as soon as no other one is. Returns why that cannot be.
    fn replace(&mut self, member: MemberId, view: &dyn View) -> Result<(), &'static str>;

    /// Members that the user wants replaced, and those that are too old, whose replacement has not begun.
    fn awaiting_replacement(&self, view: &dyn View) -> Vec<MemberId>;

    /// How much of the strips of the SSD that is being replaced lies elsewhere by now, from 0 to 1; 1 if none is being replaced.
    fn replaced_share(&self) -> f64;

    /// Strips moved so far by replacements.
    fn migrated(&self) -> Migrated;
}

/// A scheme that works in time that nobody else uses.
pub trait WorksWhenIdle {
    /// What the scheme wants to run now; asked after every event until it wants nothing.
    fn idle(&mut self, view: &dyn View) -> IdleWork;
}
