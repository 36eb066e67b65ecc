//! RAID-5 with uneven parity over SSDs that are replaced, one at a time, while the array runs (SPEC 5.4 to 5.10).
//!
//! Members are SSDs, spare ones included, and the table of stripes says which of them have strips. While a replacement runs, of the SSD E by the spare S, an
//! operation that holds its stripe is *placed*: what a strip's update programs goes to the stripe's *goal*, its row without E. When it ends the goal
//! becomes the row. What no update moves is moved in idle time, stripe by stripe. `placement` has the rules of goals; `manager` when a
//! replacement begins, what it does next, and when it ends; `state` how far it is; `shadow` what is left on E for reads.
//!
//! An SSD that dies meanwhile (SPEC 5.6): the media put the next spare SSD in its place, and it is rebuilt as ever. A lost strip on E is rebuilt on S. If S
//! dies and no spare is left, E stays, and S, which is dead, is replaced by E: by the same rules, as no stripe has strips on both.

mod manager;
mod placement;
mod shadow;
mod state;

use crate::parts::bits::Bits;
use crate::parts::moves::{self, Moving};
use crate::parts::raid::Raid;
use crate::parts::repair;
use crate::parts::stripe::{Guard, Stripe};
use crate::parts::uneven;
use crate::parts::update::UpdateRule;
use crate::stripe_map::table::{Table, TableRow};
use crate::stripe_map::{Row, StripeMap};
use crate::{
    Addressed, Addressing, Build, Damage, Decisions, Draws, Extent, Group, IdleWork, Lock, Lost, Method, Migrated, Operation,
    OperationKind, Order, Outcomes, Parameter, ParameterError, ParityUpdates, Protects, Recovery, Replacing, Scheme, Source, Step, Values,
    WorksWhenIdle,
};
use flashraid_vocabulary::{Change, GcAdvisor, Health, Lpn, MemberId, Priority, StripeId, View, Wave, persistent};
use state::{Running, Shadow};
use std::collections::{BTreeMap, VecDeque};

/// How an SSD is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// E stays readable, and updates move its strips (SPEC 5.5).
    HotSwap {
        /// Which share of the parity S gets at first.
        redistribution: Redistribution,
        /// Whether E stays as a shadow for reads.
        semi_hybrid: bool,
    },
    /// E is taken out, and its strips are rebuilt in idle time (SPEC 5.8).
    Online {
        /// Whether parity is shifted to the second eldest SSD afterwards.
        shifts_parity: bool,
    },
    /// The host waits while E's strips are rebuilt and parity is shifted (SPEC 5.9).
    Offline,
}

/// Where parity goes that leaves E (SPEC 5.6, 5.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redistribution {
    /// To S, as it is: shares are inherited.
    None,
    /// If shares are balanced: to the SSD of the data while that is below its limit, else to S.
    ByNeed,
    /// If shares are balanced: to the SSD of the data.
    DataDevice,
    /// If shares are balanced: to S.
    ParityToNew,
}

/// When and how SSDs are replaced.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How.
    pub mechanism: Mechanism,
    /// Share of the erases that an SSD endures, in thousandths, above which it is replaced.
    pub erasure_threshold: u32,
    /// How long the host must have left an SSD alone until it counts as idle.
    pub idle_ns: u64,
    /// Stripes of which strips are copied at the same time.
    pub window: u32,
    /// Time after which a replacement waits for idle time no longer; 0 for none.
    pub most_ns: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct ReplacedSsds {
    raid: Raid<Table>,
    rule: UpdateRule,
    policy: Policy,
    /// Parities of each member when the latest replacement began.
    parities_before: Vec<u32>,
    /// Placed operations that have a page reserved on each member.
    targets: Vec<u32>,
    /// Where the strips of stripes go whose operations run.
    goals: BTreeMap<StripeId, TableRow>,
    /// Replacements that the user wants, in order.
    wanted: VecDeque<MemberId>,
    running: Option<Running>,
    /// Stripes of which strips are being copied, or rebuilt, in idle time.
    copying: Vec<StripeId>,
    /// Calls of `order` for which no SSD can have reached its limit, so that the ages are not looked at.
    looks_to_skip: u64,
    /// What is to be ordered next, the first first.
    orders: VecDeque<Order>,
    /// Of each member, what an SSD holds that it has replaced.
    shadows: Vec<Option<Shadow>>,
    migrated: Migrated,
}

persistent!(ReplacedSsds {
    keeps [raid, wanted, looks_to_skip],
    arrays [shadows],
    // What belongs to a replacement that runs, and to operations; statistics.
    anew [rule, policy, parities_before, targets, goals, running, copying, orders, migrated],
});

/// When an SSD is replaced.
pub const ERASURE_THRESHOLD: Parameter = Parameter {
    name: "erasure_threshold",
    unit: "share",
    values: Values::Decimal { least: 0, most: 1000, default: 900 },
    draws: Draws::OneOf(&["0.9", "0.5", "1"]),
    about: "Share of the erases that an SSD endures (blocks times pe_limit) above which it is replaced, if there is a spare SSD.",
    ..Parameter::PLAIN
};

impl Policy {
    /// What the user asked for, one stripe after the other and without a longest time.
    pub fn from_build(build: &Build, mechanism: Mechanism) -> Result<Self, ParameterError> {
        Ok(Self { mechanism, erasure_threshold: build.thousandths(&ERASURE_THRESHOLD)?, idle_ns: build.idle_ns, window: 1, most_ns: 0 })
    }
}

impl ReplacedSsds {
    /// On the SSDs that the user has, with uneven parity as asked for.
    pub fn from_build(build: &Build, policy: Policy) -> Result<Self, ParameterError> {
        let members = build.members + build.spares;
        Ok(Self::new(uneven::table(build)?, build.page_bytes, UpdateRule::from_build(build)?, members, policy))
    }

    /// Over the stripes of `map`; of the numbers below `members` those that it does not use are spare SSDs.
    pub fn new(map: Table, page_bytes: u32, rule: UpdateRule, members: u16, policy: Policy) -> Self {
        Self {
            raid: Raid::new(map, page_bytes),
            rule,
            policy,
            parities_before: vec![0; members.into()],
            targets: vec![0; members.into()],
            goals: BTreeMap::new(),
            wanted: VecDeque::new(),
            running: None,
            copying: Vec::new(),
            looks_to_skip: 0,
            orders: VecDeque::new(),
            shadows: vec![None; members.into()],
            migrated: Migrated::default(),
        }
    }

    /// Panics unless all that is counted along the way equals a recount, and no stripe has two strips on one member.
    #[cfg(any(test, feature = "testing"))]
    pub fn check_counts(&self) {
        let map = self.raid.map();
        let count = self.targets.len();
        let (mut parities, mut strips, mut created) = (vec![0; count], vec![0; count], 0);
        for stripe in (0..map.stripes()).map(StripeId).filter(|stripe| map.is_created(*stripe)) {
            let row = map.row(stripe);
            assert_eq!(row.set().count_ones(), row.width() + 1, "two strips on one member: {row:?}");
            Bits(row.set()).for_each(|member| strips[member as usize] += 1);
            let goal = self.goals.get(&stripe).unwrap_or(&row);
            parities[usize::from(goal.parity().member.0)] += 1;
            created += 1;
        }
        let members = || (0..count).map(|member| MemberId(member as u16));
        assert_eq!(members().map(|member| map.parities(member)).collect::<Vec<_>>(), parities, "parities at goal");
        assert_eq!(members().map(|member| map.strips(member)).collect::<Vec<_>>(), strips, "strips");
        assert_eq!(map.created(), created, "stripes created");
        assert_eq!(members().map(|member| map.limit(member)).sum::<u32>(), crate::Percentages::WHOLE, "limits");
    }

    /// The table of stripes.
    #[cfg(any(test, feature = "testing"))]
    pub fn map(&self) -> &Table {
        self.raid.map()
    }

    /// The SSDs of the array, the eldest first: with S in the place of E while a replacement runs, as the last one.
    fn members(&self) -> &[MemberId] {
        self.raid.map().eldest_first()
    }

    fn row(&self, stripe: StripeId) -> TableRow {
        self.raid.map().row(stripe)
    }

    /// The stripe as a repair sees it: a strip that is lost on E is to be rebuilt on S.
    fn damaged(&self, number: StripeId, view: &dyn View) -> Stripe<TableRow> {
        let stripe = self.raid.whole_stripe(number, 0, Guard::None, view);
        Stripe { row: self.goal_of_repair(&stripe), ..stripe }
    }

    /// The operation has ended as planned: its stripe's goal becomes its row.
    fn reach_goal(&mut self, operation: &Operation) {
        let row = self.row(operation.stripe);
        let goal = self.goals.remove(&operation.stripe);
        self.note_shadows(operation, &row, goal.as_ref());
        if let Some(goal) = goal {
            self.count(operation, &row, &goal);
            self.raid.map_mut().set_row(operation.stripe, &goal);
        }
    }

    /// The operation has changed nothing: its stripe's row stays as it is.
    fn drop_goal(&mut self, stripe: StripeId) {
        if let Some(goal) = self.goals.remove(&stripe) {
            let row = self.row(stripe);
            self.raid.map_mut().move_parity(&goal, &row);
        }
    }

    fn count(&mut self, operation: &Operation, row: &TableRow, goal: &TableRow) {
        let Migrated { hot_data, hot_parity, hot_moves, cold_data, cold_parity, cold_moves, .. } = &mut self.migrated;
        let moves_parity = row.parity() != goal.parity();
        let copied = u64::from(operation.restored.count_ones());
        match operation.kind {
            OperationKind::Write | OperationKind::Trim => {
                let written = if operation.kind == OperationKind::Write { operation.strips } else { 0 };
                *hot_data += u64::from((moves::moved(row, goal) & written).count_ones());
                // Without a method no parity was programmed.
                *hot_parity += u64::from(moves_parity && operation.method != Method::None);
                *hot_moves += copied;
            }
            OperationKind::Migrate if moves_parity => {
                // Each read is of a page that moves; a parity that was never written is none of them.
                *cold_parity += u64::from(operation.reads) - copied;
                *cold_moves += copied;
            }
            OperationKind::Migrate => *cold_data += copied,
            _ => {}
        }
    }

    /// The operation holds neither pages nor its stripe any more.
    fn release(&mut self, operation: &Operation) {
        if operation.is_placed {
            Bits(operation.space).for_each(|member| self.targets[member as usize] -= 1);
        }
        if matches!(operation.kind, OperationKind::Migrate | OperationKind::Repair) {
            self.copying.retain(|stripe| *stripe != operation.stripe);
        }
    }

    /// An update has started anew after a failure that took the strip which it was to move: that strip stays, and the parity goes to S in its place,
    /// where a page is reserved.
    fn keep_lost_strip(&mut self, number: StripeId, stripe: &Stripe<TableRow>, goal: TableRow) -> TableRow {
        let row = stripe.row;
        let new = MemberId((goal.set() & !row.set()).trailing_zeros() as u16);
        let kept = row.replaced(row.parity().member, new);
        self.raid.map_mut().move_parity(&goal, &kept);
        self.goals.insert(number, kept);
        kept
    }
}

impl GcAdvisor for ReplacedSsds {}

impl Addressed for ReplacedSsds {
    type Addressing = Raid<Table>;

    fn addressing(&self) -> &Raid<Table> {
        &self.raid
    }

    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        let map = self.raid.map();
        let shadows = match self.policy.mechanism {
            Mechanism::HotSwap { semi_hybrid: true, .. } => Some(u64::from(map.stripes()).div_ceil(8) * u64::from(map.most_strips() + 1)),
            _ => None,
        };
        self.raid.tables(mapped_pages).into_iter().chain(shadows.map(|bytes| ("shadow_pages", bytes))).collect()
    }
}

impl Scheme for ReplacedSsds {
    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        self.raid.decide(extent, decisions)
    }

    fn decide_group(&mut self, group: &Group, _page_bytes: u32, _view: &dyn View, decisions: &mut Decisions) {
        decisions.operations.push(self.raid.cut_group(group));
    }

    fn create(&mut self, lpn: Lpn) {
        self.raid.create(lpn);
    }

    fn place(&mut self, operation: &mut Operation, view: &dyn View) {
        let number = operation.stripe;
        let row = self.row(number);
        let mut goal = row;
        match operation.kind {
            OperationKind::Write | OperationKind::Trim => {
                goal = self.goal_of_update(number, row, operation.strips, view);
                let is_whole_trim = operation.kind == OperationKind::Trim && operation.strips == row.all();
                operation.space = if is_whole_trim { 0 } else { self.raid.space_of_move(operation, &row, &goal) };
            }
            OperationKind::Migrate => {
                goal = self.running.map_or(row, |running| self.goal_of_copy(number, row, &running, view));
                operation.space = self.raid.space_of_move(operation, &row, &goal);
            }
            OperationKind::Repair => {
                let stripe = self.damaged(number, view);
                goal = stripe.row;
                // Without space it does nothing, so that nobody waits for its stripe.
                operation.space = match repair::damage(&stripe, view) {
                    Damage::None | Damage::NoSpace => 0,
                    Damage::Copy | Damage::Compute => self.raid.repair(number, &stripe, view).space,
                };
            }
            OperationKind::Read | OperationKind::Commit | OperationKind::Job => {}
        }
        operation.is_placed = true;
        Bits(operation.space).for_each(|member| self.targets[member as usize] += 1);
        if goal != row {
            self.raid.map_mut().move_parity(&row, &goal);
            self.goals.insert(number, goal);
        }
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let mut stripe = self.raid.stripe(operation, 0, Guard::None, view);
        let (rule, as_it_is) = (self.rule, stripe);
        let choose = |changed: u64| rule.choose(changed, &as_it_is, || as_it_is.reads_of_update(changed), view);
        let goal = if self.goals.is_empty() { None } else { self.goals.get(&operation.stripe).copied() };
        let step = match (operation.kind, goal) {
            (OperationKind::Read, _) => {
                let step = self.raid.plan(operation, outcomes, &stripe, choose, view, wave);
                self.read_shadows(operation.stripe, view, wave);
                return step;
            }
            (OperationKind::Repair, goal) => {
                let row = stripe.row;
                stripe.row = goal.unwrap_or(row);
                let step = self.raid.plan_repair(operation, outcomes, &stripe, view, wave).0;
                if step == Step::Last
                    && let Some(goal) = goal
                {
                    let left = Bits(row.set() & !goal.set()).map(|member| MemberId(member as u16));
                    wave.changes.extend(left.map(|member| Change::Unmap(self.raid.map().page_on(operation.stripe, member))));
                }
                step
            }
            (OperationKind::Migrate, None) => Step::Nothing,
            (OperationKind::Migrate, Some(goal)) => {
                self.raid.plan_move(operation, outcomes, Moving { stripe: &stripe, goal: &goal }, choose, view, wave)
            }
            (OperationKind::Write | OperationKind::Trim, Some(mut goal)) => {
                if operation.step == 0 && moves::moved(&stripe.row, &goal) & !operation.strips & stripe.lost.current != 0 {
                    goal = self.keep_lost_strip(operation.stripe, &stripe, goal);
                }
                self.raid.plan_move(operation, outcomes, Moving { stripe: &stripe, goal: &goal }, choose, view, wave)
            }
            _ => self.raid.plan(operation, outcomes, &stripe, choose, view, wave),
        };
        if matches!(operation.kind, OperationKind::Migrate | OperationKind::Repair) {
            // Nobody waits for it, unless idle time is not waited for (SPEC 5.12, ruling 10). A rebuild of failures has a priority of its own.
            let priority = if self.is_urgent(view) { Priority::Host } else { Priority::Migration };
            for page_operation in &mut wave.operations {
                (page_operation.priority, page_operation.host_waits) = (priority, false);
            }
        }
        match step {
            Step::Nothing => {
                self.drop_goal(operation.stripe);
                // A trim of what was never written leaves its stripe to the walk.
                if operation.kind == OperationKind::Migrate {
                    self.pass(operation.stripe);
                }
            }
            // If its programs found no page, the changes were made with its last wave.
            Step::Last | Step::Done if outcomes.unallocated == 0 => self.push_shadow_changes(operation, &stripe.row, wave),
            _ => {}
        }
        step
    }

    fn ended(&mut self, operation: &Operation) {
        self.release(operation);
        if operation.is_placed {
            if let Some(running) = &mut self.running {
                running.has_changed |= operation.lock == Lock::Exclusive && (operation.step > 0 || operation.reads > 0);
            }
            self.reach_goal(operation);
        }
    }

    fn failed(&mut self, operation: &Operation) {
        if matches!(operation.kind, OperationKind::Migrate | OperationKind::Repair) {
            self.pass(operation.stripe);
        }
        self.release(operation);
        if operation.is_placed {
            self.drop_goal(operation.stripe);
        }
    }

    fn parity_updates(&self) -> ParityUpdates {
        self.raid.updates()
    }

    fn replacing(&self) -> Option<&dyn Replacing> {
        Some(self)
    }

    fn replacing_mut(&mut self) -> Option<&mut dyn Replacing> {
        Some(self)
    }

    fn when_idle(&mut self) -> Option<&mut dyn WorksWhenIdle> {
        Some(self)
    }
}

impl Recovery for ReplacedSsds {
    fn protects(&self) -> Protects {
        Protects::Device
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let (stripe, strip) = self.raid.map().position(lpn);
        Stripe::new(self.row(stripe), 0, Guard::None).recover(strip, lost, sources)
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        if !view.has_failures() { Damage::None } else { repair::damage(&self.damaged(stripe, view), view) }
    }

    fn repair(&self, stripe: StripeId, view: &dyn View) -> Operation {
        self.raid.repair(stripe, &self.damaged(stripe, view), view)
    }
}

impl Replacing for ReplacedSsds {
    fn order(&mut self, view: &dyn View) -> Option<Order> {
        self.next_order(view)
    }

    fn replace(&mut self, member: MemberId, view: &dyn View) -> Result<(), &'static str> {
        self.request(member, view)
    }

    fn awaiting_replacement(&self, view: &dyn View) -> Vec<MemberId> {
        let mut waiting = self.members().to_vec();
        waiting.retain(|member| is_living(view, *member) && (self.wanted.contains(member) || self.is_too_old(*member, view)));
        waiting
    }

    fn replaced_share(&self) -> f64 {
        let Some(Running { old, had, .. }) = self.running else { return 1.0 };
        1.0 - f64::from(self.raid.map().strips(old)) / f64::from(had.max(1))
    }

    fn migrated(&self) -> Migrated {
        self.migrated
    }
}

impl WorksWhenIdle for ReplacedSsds {
    fn idle(&mut self, view: &dyn View) -> IdleWork {
        self.next_copy(view)
    }
}

/// Whether the SSD is programmed and read.
fn is_living(view: &dyn View, member: MemberId) -> bool {
    view.health(member) == Health::ReadWrite
}
