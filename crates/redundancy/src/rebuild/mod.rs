//! Rebuild orders: the order, number and priority of repairs of damaged stripes. The scheme defines how one stripe is repaired
//! (`Recovery::damage`, `Recovery::repair`), so each order works with every scheme that it suits.
//!
//! A rebuild cycles through the stripes and repairs those that are damaged when it reaches them: it looks at the state of that moment,
//! not at a list made at the failure, since host writes meanwhile repair stripes and change what others need (SPEC 1.7). After
//! each round that repaired anything another one follows, so that the rebuild ends with a round that found nothing to do. A round costs a look at
//! each stripe; it takes no simulated time where nothing is damaged.
//!
//! Lack of space: a stripe whose repair finds no free page in the member where it goes (`Damage::NoSpace`) is passed over, and the rebuild
//! rests when nothing else is left. It remembers which members (or planes, if each is a space of its own) were full, and goes on from where it stood when one of them has space: a
//! free page thus costs a walk to the next damaged stripe, not a round.

mod copy;
mod dor;
mod mcr;
mod sor;
#[cfg(test)]
mod tests;

use crate::parts::bits::Bits;
use crate::{Damage, Entry, Job, Operation, Outcomes, Redundancy, Scheme, Step};
use flashraid_vocabulary::{Action, LocalPage, MemberId, MemberPage, Priority, StripeId, View, Wave};
use std::collections::VecDeque;

/// An order of rebuild.
#[derive(Debug)]
pub struct RebuildOrder {
    /// The key used everywhere.
    pub name: &'static str,
    /// One or two sentences.
    pub about: &'static str,
    /// How many stripes are repaired at once if the user does not say: the buffer in pages, one a stripe.
    pub window: u32,
    /// Its reads go out one by one, each when its member is idle (`Wave::paced`).
    pub paced: bool,
    /// Service class of its page operations.
    pub priority: Priority,
    /// Whether a first round leaves out the stripes of which all that is lost has a copy.
    pub copies_last: bool,
    /// Whether it makes sense for a scheme; if not, why.
    pub suits: fn(&Entry) -> Result<(), String>,
}

/// Every order, one a line.
pub const ORDERS: &[RebuildOrder] = &[sor::ORDER, dor::ORDER, mcr::ORDER, copy::ORDER];

/// The order called `name`.
pub fn find_order(name: &str) -> Option<&'static RebuildOrder> {
    ORDERS.iter().find(|order| order.name == name)
}

/// The order of a scheme for which the user names none; `None` if there is nothing to rebuild from.
pub fn default_order(entry: &Entry) -> Option<&'static RebuildOrder> {
    let name = match entry.redundancy {
        Redundancy::None => return None,
        Redundancy::Copies => copy::ORDER.name,
        Redundancy::Parity if entry.mirror_chips > 0 => mcr::ORDER.name,
        Redundancy::Parity => dor::ORDER.name,
    };
    find_order(name)
}

/// Suits every scheme that keeps anything beside the data.
fn keeps_redundancy(entry: &Entry) -> Result<(), String> {
    match entry.redundancy {
        Redundancy::None => Err(format!("{} has no redundancy from which a lost page could be rebuilt", entry.name)),
        Redundancy::Copies | Redundancy::Parity => Ok(()),
    }
}

/// The rebuild of a device: one job for its whole life, which starts anew at each failure.
#[derive(Clone, Debug)]
pub struct Rebuild {
    order: &'static RebuildOrder,
    /// Stripes under repair at most.
    window: usize,
    /// Stripes of the device.
    stripes: u32,
    /// A failure has started it, and it has not come to its end since.
    runs: bool,
    /// It walks through the stripes; else it repairs those alone that it is told of.
    walks: bool,
    /// The stripe to look at next.
    position: u32,
    /// Stripes that this round has still to look at.
    left: u32,
    /// Rounds that have ended since the latest failure.
    rounds: u32,
    /// Whether another round must follow: a repair has ended in this one, or a stripe was passed over that was under repair already.
    again: bool,
    under_way: Vec<StripeId>,
    /// Stripes to look at before all others; some of them may be repaired by now.
    wanted: VecDeque<StripeId>,
    /// Full places for which stripes wait that this round has passed over: a page for each.
    passed_over: Vec<MemberPage>,
    /// Full places for which stripes wait that earlier rounds have passed over, and those of pages that lost their place since. If there are any,
    /// all else is repaired, and the walk goes on only while there is space in one of them.
    waits_for: Vec<MemberPage>,
    /// There is no space in any of them.
    rests: bool,
}

impl Rebuild {
    /// Of a device of `stripes` stripes on which nothing has failed yet, `window` stripes at a time.
    pub fn new(order: &'static RebuildOrder, window: u32, stripes: u32) -> Self {
        debug_assert!(window > 0 && stripes > 0);
        Self {
            order,
            window: window as usize,
            stripes,
            runs: false,
            walks: false,
            position: 0,
            left: 0,
            rounds: 0,
            again: false,
            under_way: Vec::new(),
            wanted: VecDeque::new(),
            passed_over: Vec::new(),
            waits_for: Vec::new(),
            rests: false,
        }
    }

    /// Something has failed: starts over from the first stripe, also if it was on its way. Repairs in progress go on.
    pub fn failed(&mut self) {
        (self.runs, self.walks) = (true, true);
        (self.position, self.left, self.rounds) = (0, self.stripes, 0);
        (self.again, self.rests) = (false, false);
        self.passed_over.clear();
        self.waits_for.clear();
    }

    /// An operation has left this page without a place, and so lost (`Outcomes::unallocated`): it is repaired when there is space.
    pub fn unallocated(&mut self, page: MemberPage, view: &dyn View) {
        if !self.runs {
            (self.runs, self.walks, self.left) = (true, true, self.stripes);
            self.waits_for.push(page);
            return;
        }
        self.walk();
        // This round may have passed its stripe.
        self.again = true;
        if self.waits_for.is_empty() {
            note_full(&mut self.passed_over, page, view);
        } else {
            // The walk goes on for it, too; at once, if there is space by now.
            note(&mut self.waits_for, page, view);
        }
    }

    /// The host wants something of this stripe that is lost: it is the next to be repaired, if a rebuild runs.
    pub fn wanted(&mut self, stripe: StripeId) {
        if !self.is_done() {
            self.wanted.push_back(stripe);
        }
    }

    /// A page of this stripe is found to be lost, and none beside: it is the next to be repaired, also if no rebuild runs.
    pub fn found(&mut self, stripe: StripeId) {
        if !self.runs {
            (self.runs, self.walks, self.left) = (true, false, 0);
        }
        self.wanted.push_back(stripe);
    }

    /// Whether it walks through the stripes, and does not only repair what `found` told.
    pub fn walks(&self) -> bool {
        self.walks
    }

    /// It walks from now on, if it did not.
    fn walk(&mut self) {
        if !self.walks {
            (self.walks, self.left) = (true, self.stripes);
        }
    }

    /// Whether nothing is left to repair, or only what waits for space (`waits_for_slot`): then it goes on by itself when there is some.
    pub fn is_done(&self) -> bool {
        !self.runs || self.rests && self.under_way.is_empty()
    }

    /// Whether something stays lost until there is space for it.
    pub fn waits_for_slot(&self) -> bool {
        !self.waits_for.is_empty()
    }

    /// How far it has come since the latest failure, from 0 to 1: the share of stripes passed in the rounds that its order makes.
    pub fn progress(&self) -> f64 {
        let rounds = 1 + u32::from(self.order.copies_last);
        if self.rounds >= rounds {
            return 1.0;
        }
        (f64::from(self.rounds) + f64::from(self.stripes - self.left) / f64::from(self.stripes)) / f64::from(rounds)
    }

    /// The repair of a stripe, if it can and should start now.
    fn look(&mut self, stripe: StripeId, leaves_copies: bool, scheme: &dyn Scheme, view: &dyn View) -> Option<Operation> {
        match scheme.damage(stripe, view) {
            Damage::None => return None,
            Damage::Copy if leaves_copies => return None,
            Damage::NoSpace => {
                let repair = scheme.repair(stripe, view);
                for member in Bits(repair.space) {
                    note_full(&mut self.passed_over, scheme.page_on(repair.stripe, MemberId(member as u16)), view);
                }
                return None;
            }
            Damage::Copy | Damage::Compute => {}
        }
        if self.under_way.contains(&stripe) {
            // Without a walk the end of that repair sees to it.
            self.again |= self.walks;
            return None;
        }
        self.under_way.push(stripe);
        Some(scheme.repair(stripe, view))
    }

    /// Goes to the next stripe that this round has to look at: of what is not written nothing is lost. Returns false if there is none.
    fn find_written(&mut self, scheme: &dyn Scheme, view: &dyn View) -> bool {
        if scheme.first_stripe_at(LocalPage(0)).is_none() {
            return self.left > 0;
        }
        while self.left > 0 {
            let page = scheme.page_on(StripeId(self.position), MemberId(0)).page;
            let next = view.next_written(page);
            if next == Some(page) {
                return true;
            }
            let stripe = next.and_then(|page| scheme.first_stripe_at(page)).map_or(self.stripes, |stripe| stripe.0);
            self.pass(stripe.min(self.stripes) - self.position);
        }
        false
    }

    /// So many stripes are passed, or all that this round has left.
    fn pass(&mut self, stripes: u32) {
        let passed = stripes.min(self.left);
        self.position = (self.position + passed) % self.stripes;
        self.left -= passed;
    }

    /// Ends a round in which every stripe was looked at and nothing is in flight any more; prepares the next one, if there is one.
    fn end_round(&mut self) {
        let must_follow = self.leaves_copies() | std::mem::take(&mut self.again) && self.walks;
        self.rounds = self.rounds.saturating_add(1);
        let passed_over = std::mem::take(&mut self.passed_over);
        if !must_follow {
            self.runs = !passed_over.is_empty();
            self.walks = self.runs;
            self.waits_for = passed_over;
        } else if !self.waits_for.is_empty() {
            self.waits_for.extend(passed_over);
        }
        self.left = self.stripes;
    }

    fn leaves_copies(&self) -> bool {
        self.order.copies_last && self.rounds == 0
    }
}

/// Notes where a page waits for space, if there is none.
fn note_full(full: &mut Vec<MemberPage>, page: MemberPage, view: &dyn View) {
    if !view.can_allocate(page) {
        note(full, page, view);
    }
}

/// Notes where a page waits for space, once for all pages of that space.
fn note(places: &mut Vec<MemberPage>, page: MemberPage, view: &dyn View) {
    if !places.iter().any(|other| view.space_of(*other) == view.space_of(page)) {
        places.push(page);
    }
}

impl Job for Rebuild {
    fn next(&mut self, scheme: &dyn Scheme, view: &dyn View) -> Option<Operation> {
        if !self.runs || self.under_way.len() >= self.window {
            return None;
        }
        while let Some(stripe) = self.wanted.pop_front() {
            let operation = self.look(stripe, false, scheme, view);
            if operation.is_some() {
                return operation;
            }
        }
        while self.runs {
            let can_allocate = |page: &MemberPage| view.can_allocate(*page);
            self.rests = !self.waits_for.is_empty() && !self.waits_for.iter().chain(&self.passed_over).any(can_allocate);
            if self.rests {
                return None;
            }
            let leaves_copies = self.leaves_copies();
            while self.find_written(scheme, view) {
                let stripe = StripeId(self.position);
                self.pass(1);
                let operation = self.look(stripe, leaves_copies, scheme, view);
                if operation.is_some() {
                    return operation;
                }
            }
            if !self.under_way.is_empty() {
                return None;
            }
            self.end_round();
        }
        None
    }

    fn step(&mut self, scheme: &mut dyn Scheme, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let step = scheme.step(operation, outcomes, view, wave);
        for page_operation in &mut wave.operations {
            page_operation.priority = self.order.priority;
            page_operation.host_waits = false;
        }
        wave.paced = self.order.paced && wave.operations.iter().all(|page_operation| page_operation.action == Action::Read);
        step
    }

    fn ended(&mut self, operation: &Operation, _programs: u32) {
        let place = self.under_way.iter().position(|stripe| *stripe == operation.stripe).expect("a repair that was started");
        self.under_way.swap_remove(place);
        if self.walks {
            // Also one that changed nothing: what it found may not have been what it had asked space for.
            self.again = true;
        } else {
            self.wanted.push_back(operation.stripe);
        }
    }
}
