//! Block-level striping with rotating parity (RAID-5).
//!
//! Idea: N = n - 1 data strips and their XOR, the parity, form a stripe; the parity moves by one member from stripe to stripe, so that
//! its programs load and wear all members equally. Any one lost member is the XOR of the others. Small writes need pre-reads for the
//! parity.
//! Source: D. A. Patterson, G. Gibson, R. H. Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988, section
//! on level 5; SPEC 0.2 (left-asymmetric layout, which the figures of cr5m and ppc show) and 0.6, CR5 (full stripe without
//! pre-reads; RMW if it needs strictly fewer pre-reads, else RCW). The rules are in `parts::raid`.
//! Departures: none.

use crate::parts::decision_point::DecisionPoint;
use crate::parts::raid::Raid;
use crate::parts::repair;
use crate::parts::stripe::{Guard, Stripe};
use crate::parts::update::UpdateRule;
use crate::stripe_map::StripeMap;
use crate::stripe_map::formula::{Formula, Layout};
use crate::{
    Addressed, Build, Damage, Decisions, Entry, Extent, Group, Lost, Members, Operation, OperationKind, Outcomes, ParameterError,
    ParityUpdates, Protects, Recovery, Redundancy, Scheme, Source, Step,
};
use flashraid_vocabulary::{GcAdvisor, Lpn, StripeId, View, Wave, persistent};

/// RAID-5.
pub const ENTRY: Entry = Entry {
    name: "raid5",
    title: "RAID-5 (rotating parity)",
    about: "Striping with parity that rotates over the members. Overhead: one member's capacity, and pre-reads for small writes.",
    protects: Protects::Member,
    redundancy: Redundancy::Parity,
    members: Members::from(3),
    parameters: &[&[Layout::PARAMETER], UpdateRule::PARAMETERS, DecisionPoint::PARAMETERS],
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    over(Formula::on_device(build)?, build, UpdateRule::from_build(build)?)
}

/// Stripes of `map`, whose partial-stripe writes get the parity by `rule`.
pub fn over(map: impl StripeMap, build: &Build, rule: UpdateRule) -> Result<Box<dyn Scheme>, ParameterError> {
    let raid = Raid::new(map, build.page_bytes).deciding(DecisionPoint::from_build(build, rule)?);
    Ok(Box::new(Raid5 { raid, rule }))
}

/// Stripes whose parity is brought up to date with every write, over any map.
#[derive(Clone, Debug)]
pub struct Raid5<M> {
    pub(crate) raid: Raid<M>,
    rule: UpdateRule,
}

persistent!(Raid5<M> where [M: StripeMap] {
    keeps [raid],
    anew [rule],
});

impl<M: StripeMap> Raid5<M> {
    /// Computes the parity of partial-stripe writes by `rule`.
    pub fn new(map: M, page_bytes: u32, rule: UpdateRule) -> Self {
        Self { raid: Raid::new(map, page_bytes), rule }
    }

    fn whole_stripe(&self, stripe: StripeId, view: &dyn View) -> Stripe<M::Row> {
        self.raid.whole_stripe(stripe, 0, Guard::None, view)
    }
}

impl<M: StripeMap> GcAdvisor for Raid5<M> {}

impl<M: StripeMap> Addressed for Raid5<M> {
    type Addressing = Raid<M>;

    fn addressing(&self) -> &Raid<M> {
        &self.raid
    }
}

impl<M: StripeMap> Scheme for Raid5<M> {
    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        self.raid.decide(extent, decisions)
    }

    fn decide_group(&mut self, group: &Group, _page_bytes: u32, _view: &dyn View, decisions: &mut Decisions) {
        decisions.operations.push(self.raid.cut_group(group));
    }

    fn create(&mut self, lpn: Lpn) {
        self.raid.create(lpn);
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let stripe = self.raid.stripe(operation, 0, Guard::None, view);
        if operation.kind == OperationKind::Repair {
            return self.raid.plan_repair(operation, outcomes, &stripe, view, wave).0;
        }
        let rule = self.rule;
        let choose = |changed| rule.choose(changed, &stripe, || stripe.reads_of_update(changed), view);
        self.raid.plan(operation, outcomes, &stripe, choose, view, wave)
    }

    fn parity_updates(&self) -> ParityUpdates {
        self.raid.updates()
    }
}

impl<M: StripeMap> Recovery for Raid5<M> {
    fn protects(&self) -> Protects {
        Protects::Member
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let (stripe, strip) = self.raid.map().position(lpn);
        Stripe::new(self.raid.map().row(stripe), 0, Guard::None).recover(strip, lost, sources)
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        repair::damage(&self.whole_stripe(stripe, view), view)
    }

    fn repair(&self, stripe: StripeId, view: &dyn View) -> Operation {
        self.raid.repair(stripe, &self.whole_stripe(stripe, view), view)
    }
}
