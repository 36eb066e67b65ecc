//! The contract between a scheme and the engine.
//!
//! `Scheme` is the life of operations. Each scheme also says where its pages lie (`Addressing`) and what failures take of them (`Recovery`). What only some
//! schemes can do is in traits of its own (`capabilities`).
//!
//! A scheme plans; the engine executes. Life of an operation:
//!
//! 1. `decide`, in request order, cuts a host request into operations. The engine queues each for its stripe's lock at once,
//!    so operations on one stripe run in the order in which they were decided.
//! 2. When the operations that it requires have ended, its lock is free, its members are chosen (`place`), it has what it claims (`claim`) and a page is
//!    reserved for each program (`space`), the engine calls `step`, again and again: each call sees the outcomes of the former wave and fills the next one.
//! 3. `Step::Last` or `Step::Done` ends it: in one instant every program becomes its page's version, superseded pages become
//!    garbage (or the base), `Change`s are applied, and `ended` tells the scheme.

mod addressing;
mod capabilities;
mod recovery;

pub use addressing::{Addressed, Addressing, Grouping};
pub use capabilities::{Deferring, Replacing, WorksWhenIdle};
pub use recovery::{Damage, Lost, Recovery, Source};

use crate::counts::ParityUpdates;
use crate::operation::{Decisions, Extent, Group, Operation, OperationKind, Outcomes, Step};
use crate::parts::bits::Bits;
use crate::parts::cut;
use flashraid_vocabulary::{GcAdvisor, Lpn, Persistent, View, Wave};
use std::io::{self, Read, Write};

/// What an operation that is about to start gets of what its scheme has little of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// All that it needs.
    Granted,
    /// That, once this commit has ended, which runs before whoever waits for its stripe and has not started. The operation may start with it, and ends
    /// after it; if it fails, so does the operation.
    After(Operation),
    /// The same, but the operation starts only once the commit has ended.
    Behind(Operation),
    /// Nothing now: ask again when something has ended, before any other operation that would have to wait.
    Wait,
}

/// A redundancy scheme: how requests become operations, how operations run, and which capabilities it has. Deterministic, and free of clocks, queues
/// and random sources of its own.
///
/// `Addressing` says where its pages lie, and `Recovery` what becomes of them when something fails. `GcAdvisor` is GC's side of it: schemes that never keep a
/// base implement it without any method. `Persistent` is what it keeps when the drive is switched off, with nothing in flight and everything drained: the
/// durable state, and the decided one, which equals it then.
pub trait Scheme: Addressing + Recovery + GcAdvisor + CloneScheme + Persistent + Send + Sync {
    // ---- the life of an operation ----

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

    /// A write or trim has its stripe to itself and is about to start, with nothing reserved yet: claims a place in NVRAM for it, once
    /// (`Operation::is_placed`). Without `may_evict` others wait for one. No operation that holds one waits for another one's. Asked if
    /// `Deferring::claims` says so.
    fn claim(&mut self, _operation: &mut Operation, _may_evict: bool, _view: &dyn View) -> Claim {
        Claim::Granted
    }

    /// The operation has its stripe to itself: decides where it programs, as things stand now (`Operation::space`), in place of what was planned when it
    /// was decided. Once for each operation with an exclusive lock, of a scheme that replaces SSDs.
    fn place(&mut self, _operation: &mut Operation, _view: &dyn View) {}

    /// Plans the next wave of `operation`, whose lock is held and whose former wave ended with `outcomes`.
    /// `wave` comes empty. May look at the view; must not assume that pre-reads of unwritten pages happen: those it
    /// leaves out, as they count as zero.
    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step;

    /// The operation has ended and its changes are durable: the *durable* state moves here. Follows every operation that did not
    /// fail, `Step::Nothing` and repairs included.
    fn ended(&mut self, _operation: &Operation) {}

    /// The operation has failed, by its own answer or for lack of space, and changed nothing. Instead of `ended`.
    fn failed(&mut self, _operation: &Operation) {}

    /// Asks the processor for the scheme's own state of the host page's stripe.
    fn prefetch(&self, _lpn: Lpn) {}

    /// Parity updates since construction.
    fn parity_updates(&self) -> ParityUpdates;

    // ---- capabilities ----

    /// The scheme as one that defers parities; `None` if each write brings its parity up to date, or there is none.
    fn deferring(&self) -> Option<&dyn Deferring> {
        None
    }

    /// The same, to change it.
    fn deferring_mut(&mut self) -> Option<&mut dyn Deferring> {
        None
    }

    /// The scheme as one that replaces SSDs; `None` if strips stay on their members.
    fn replacing(&self) -> Option<&dyn Replacing> {
        None
    }

    /// The same, to change it.
    fn replacing_mut(&mut self) -> Option<&mut dyn Replacing> {
        None
    }

    /// The scheme as one that works in idle time; `None` if it never does.
    fn when_idle(&mut self) -> Option<&mut dyn WorksWhenIdle> {
        None
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
