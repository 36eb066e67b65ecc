//! When a replacement begins, what it does next, and when it ends (SPEC 5.5, 5.7 to 5.9).

use super::state::{Running, Stage};
use super::{Mechanism, ReplacedSsds, is_living};
use crate::parts::bits::Bits;
use crate::stripe_map::{Row, StripeMap};
use crate::{Damage, IdleWork, Operation, OperationKind, Order, Recovery};
use flashraid_vocabulary::{Health, MemberId, MemberPage, StripeId, Version, View};
use std::cmp::Ordering;

/// Time between a round in which no stripe had anything to move and the next one, in idle times.
const IDLE_TIMES_BETWEEN_ROUNDS: u64 = 64;
/// An upper bound of the erases of an SSD between two events.
const MOST_ERASES_PER_EVENT: u64 = 64;

impl ReplacedSsds {
    /// Queues a replacement that the user wants. Returns why that cannot be.
    pub(super) fn request(&mut self, member: MemberId, view: &dyn View) -> Result<(), &'static str> {
        if self.running.is_some_and(|running| running.old == member) || self.wanted.contains(&member) {
            return Err("it is being replaced already");
        }
        if !self.members().contains(&member) || self.running.is_some_and(|running| running.new == member) {
            return Err("it is not an SSD of the array");
        }
        if !is_living(view, member) {
            return Err("it has failed");
        }
        if view.next_spare().is_none() {
            return Err("no spare SSD is left");
        }
        self.wanted.push_back(member);
        self.looks_to_skip = 0;
        Ok(())
    }

    /// What is to be done with an SSD now.
    pub(super) fn next_order(&mut self, view: &dyn View) -> Option<Order> {
        if self.orders.is_empty() {
            if view.has_failures() {
                self.drop_dead_shadows(view);
            }
            match self.running {
                Some(running) => self.go_on(running, view),
                None => self.begin(view),
            }
        }
        self.orders.pop_front()
    }

    /// The SSD to replace now: one that the user wants replaced, or the eldest, if that has reached its limit.
    fn next_old(&mut self, view: &dyn View) -> Option<MemberId> {
        while let Some(member) = self.wanted.pop_front() {
            if self.members().contains(&member) && is_living(view, member) {
                return Some(member);
            }
        }
        let living = || self.members().iter().copied().filter(|member| is_living(view, *member));
        let eldest = living().min_by(|one, other| elder_first(*one, *other, view))?;
        let erases_left = living().map(|member| self.most_erases(member, view).saturating_sub(view.erases(member))).min()?;
        let is_too_old = self.is_too_old(eldest, view);
        self.looks_to_skip = erases_left / MOST_ERASES_PER_EVENT;
        is_too_old.then_some(eldest)
    }

    /// Erases of an SSD above which it is to be replaced.
    fn most_erases(&self, member: MemberId, view: &dyn View) -> u64 {
        match view.endurance(member) {
            u64::MAX => u64::MAX,
            endurance => (u128::from(endurance) * u128::from(self.policy.erasure_threshold) / 1000) as u64,
        }
    }

    pub(super) fn is_too_old(&self, member: MemberId, view: &dyn View) -> bool {
        view.erases(member) > self.most_erases(member, view)
    }

    /// Begins a replacement if there is something to replace, and a spare SSD.
    fn begin(&mut self, view: &dyn View) {
        if self.looks_to_skip > 0 {
            self.looks_to_skip -= 1;
            return;
        }
        let Some(new) = view.next_spare() else { return };
        let Some(old) = self.next_old(view) else { return };
        self.redefine_limits(old, new, view);
        self.orders.push_back(Order::Begin { old, new, host_waits: self.policy.mechanism == Mechanism::Offline });
        let stripes = self.raid.map().stripes();
        self.running = Some(Running {
            old,
            new,
            stage: Stage::Draining,
            is_given_up: false,
            since_ns: view.now_ns(),
            had: self.raid.map().strips(old),
            position: 0,
            left: stripes,
            kept: 0,
            rests_until_ns: 0,
            has_changed: false,
            goes_again: false,
            holds_host: self.policy.mechanism == Mechanism::Offline,
        });
        if let Mechanism::HotSwap { semi_hybrid: true, .. } = self.policy.mechanism {
            self.open_shadow(old, new);
        }
    }

    /// Parity limits redefinition (SPEC 5.4): without E, by age, and S last.
    fn redefine_limits(&mut self, old: MemberId, new: MemberId, view: &dyn View) {
        let mut eldest_first = self.members().to_vec();
        eldest_first.retain(|member| *member != old);
        eldest_first.sort_by(|one, other| elder_first(*one, *other, view));
        eldest_first.push(new);
        let map = self.raid.map_mut();
        map.set_members(eldest_first);
        for (member, parities) in (0..).map(MemberId).zip(&mut self.parities_before) {
            *parities = map.parities(member);
        }
    }

    /// What the replacement that runs does next, if that is an order.
    fn go_on(&mut self, running: Running, view: &dyn View) {
        let Running { old, new, stage, is_given_up, .. } = running;
        let (is_old_dead, is_new_dead) = (view.health(old) == Health::Disabled, view.health(new) == Health::Disabled);
        if is_new_dead {
            // No spare SSD has taken its place.
            return if self.is_hot_swap() && !is_old_dead { self.give_up(running) } else { self.abandon(running) };
        }
        match stage {
            Stage::Draining if self.targets[usize::from(old.0)] > 0 => {}
            Stage::Draining => {
                self.set_stage(Stage::Migrating);
                if !is_old_dead {
                    self.orders.push_back(if self.is_hot_swap() { Order::ReadOnly(old) } else { Order::TakeOut(old) });
                }
            }
            // Updates that were placed before a replacement was given up may still bring strips to the SSD that has failed.
            Stage::Migrating if self.raid.map().strips(old) == 0 && self.copying.is_empty() && !self.is_goal(old) => {
                let shifts = match self.policy.mechanism {
                    Mechanism::HotSwap { .. } => false,
                    Mechanism::Online { shifts_parity } => shifts_parity,
                    Mechanism::Offline => true,
                };
                if shifts { self.set_stage(Stage::Shifting) } else { self.end(old, new, is_given_up, !is_old_dead) }
            }
            Stage::Shifting if self.copying.is_empty() && self.has_shifted(&running, view) => self.end(old, new, is_given_up, false),
            Stage::Migrating if running.holds_host && self.copying.is_empty() && running.is_stuck() => {
                // What more failures have taken than one only the host can write anew.
                self.orders.push_back(Order::ServeHost);
                self.running = Some(Running { holds_host: false, ..running });
            }
            Stage::Migrating | Stage::Shifting => {}
        }
    }

    fn is_hot_swap(&self) -> bool {
        matches!(self.policy.mechanism, Mechanism::HotSwap { .. })
    }

    /// Whether operations in flight leave a strip on the member.
    fn is_goal(&self, member: MemberId) -> bool {
        self.goals.values().any(|goal| goal.role(member).is_some())
    }

    fn set_stage(&mut self, stage: Stage) {
        let stripes = self.raid.map().stripes();
        if let Some(running) = &mut self.running {
            (running.stage, running.position, running.left, running.rests_until_ns) = (stage, 0, stripes, 0);
        }
    }

    /// S has died, and no spare is left: E stays, and gets S's limit and its strips.
    fn give_up(&mut self, running: Running) {
        let Running { old, new, .. } = running;
        let stays = self.members().iter().map(|member| if *member == new { old } else { *member }).collect();
        self.raid.map_mut().set_members(stays);
        self.orders.push_back(Order::GiveUp { old, new });
        let had = self.raid.map().strips(new);
        self.running = Some(Running { old: new, new: old, is_given_up: true, had, ..running });
        self.set_stage(Stage::Migrating);
    }

    /// E and S are gone: what lies there is lost, as of any two SSDs.
    fn abandon(&mut self, running: Running) {
        (self.running, self.looks_to_skip) = (None, 0);
        if running.is_given_up {
            return self.close_shadow(running.old);
        }
        self.orders.push_back(Order::Abandon { old: running.old, new: running.new });
        self.close_shadow(running.new);
    }

    fn end(&mut self, old: MemberId, new: MemberId, is_given_up: bool, is_readable: bool) {
        self.running = None;
        self.looks_to_skip = 0;
        if is_given_up {
            // What was to be the shadow of the SSD that failed.
            return self.close_shadow(old);
        }
        self.drop_shadow(old);
        let stays = is_readable && self.use_shadow(new);
        if !stays {
            self.close_shadow(new);
        }
        self.orders.push_back(Order::End { old, new, stays });
    }

    // ---- copies in idle time ----

    /// The next stripe from which something is to be moved, or rebuilt, without an update.
    pub(super) fn next_copy(&mut self, view: &dyn View) -> IdleWork {
        let Some(running) = self.running else { return IdleWork::None };
        if running.stage == Stage::Draining || self.copying.len() >= self.policy.window as usize || !self.orders.is_empty() {
            return IdleWork::None;
        }
        let has_rested = view.now_ns() < running.rests_until_ns;
        loop {
            let Some(stripe) = self.next_stripe(view) else { return self.rest(has_rested, view) };
            // What is lost is repaired first, and the stripe is the next one again (SPEC 5.6).
            let copy = match running.stage == Stage::Migrating && self.damage(stripe, view) == Damage::Compute {
                true => self.repair(stripe, view),
                false => self.raid.background(OperationKind::Migrate, stripe, 0),
            };
            let wait_ns = self.wait_ns(&copy, view);
            if wait_ns > 0 {
                return IdleWork::After(wait_ns);
            }
            if self.has_space(&copy, view) {
                self.copying.push(stripe);
                if copy.kind == OperationKind::Migrate {
                    self.pass(stripe);
                }
                return IdleWork::Start(copy);
            }
            self.pass(stripe);
        }
    }

    /// After a round there is another one if anything has happened since, as that may have made something possible, and nothing else may come: whoever asks
    /// after the round had ended has seen something happen, at the same instant perhaps.
    fn rest(&self, has_rested: bool, view: &dyn View) -> IdleWork {
        let Some(running) = self.running else { return IdleWork::None };
        let (now_ns, has_news) = (view.now_ns(), has_rested || running.is_fruitful());
        if has_news && now_ns < running.rests_until_ns { IdleWork::After(running.rests_until_ns - now_ns) } else { IdleWork::None }
    }

    fn rest_ns(&self) -> u64 {
        IDLE_TIMES_BETWEEN_ROUNDS * self.policy.idle_ns.max(1)
    }

    /// The operation on this stripe has left it as it was, or would: the walk goes on behind it.
    pub(super) fn pass(&mut self, stripe: StripeId) {
        let stripes = self.raid.map().stripes();
        if let Some(running) = self.running.as_mut().filter(|running| running.position == stripe.0) {
            (running.position, running.left) = ((stripe.0 + 1) % stripes, running.left.saturating_sub(1));
        }
    }

    fn page_on_old(&self, stripe: StripeId) -> MemberPage {
        self.raid.map().page_on(stripe, self.running.expect("a replacement runs").old)
    }

    /// The next stripe to work on. None if a whole round has found none: then, for a while, no
    /// other one is made.
    fn next_stripe(&mut self, view: &dyn View) -> Option<StripeId> {
        let mut running = self.running?;
        if running.stage == Stage::Migrating && self.raid.map().strips(running.old) == 0 || view.now_ns() < running.rests_until_ns {
            return None;
        }
        let stripes = self.raid.map().stripes();
        let found = loop {
            if running.left == 0 && running.holds_host && running.has_changed {
                // The host waits.
                (running.left, running.kept, running.has_changed) = (stripes, 0, false);
            }
            if running.left == 0 {
                (running.left, running.kept) = (stripes, 0);
                running.rests_until_ns = view.now_ns().saturating_add(self.rest_ns());
                (running.goes_again, running.has_changed) = (running.has_changed, false);
                break None;
            }
            let stripe = StripeId(running.position);
            if !self.copying.contains(&stripe) && self.raid.map().is_created(stripe) {
                if self.is_to_move(stripe, &running, view) {
                    break Some(stripe);
                }
                let is_kept = running.stage == Stage::Shifting && self.row(stripe).parity().member == running.new;
                running.kept += u32::from(is_kept);
            }
            (running.position, running.left) = ((running.position + 1) % stripes, running.left - 1);
        };
        self.running = Some(running);
        found
    }

    /// Whether the stripe has something to move: a strip on E, which is copied, or computed if it is lost. The rebuild of failures may come first.
    fn is_to_move(&self, stripe: StripeId, running: &Running, view: &dyn View) -> bool {
        let row = self.row(stripe);
        if running.stage == Stage::Shifting {
            return self.goal_of_copy(stripe, row, running, view) != row;
        }
        if row.role(running.old).is_none() {
            return false;
        }
        !view.is_lost(self.page_on_old(stripe), Version::Current) || self.damage(stripe, view) == Damage::Compute
    }

    /// Whether G has its share of the parity, or no stripe is left of which it can have the parity.
    fn has_shifted(&self, running: &Running, view: &dyn View) -> bool {
        running.rests_until_ns > 0 || self.second_eldest(view).is_none_or(|second| !self.is_below_limit(second))
    }

    /// For how long the SSDs must still be left alone that the copy concerns; a row that changes alone concerns none.
    fn wait_ns(&self, copy: &Operation, view: &dyn View) -> u64 {
        let running = self.running.expect("a replacement runs");
        let row = self.row(copy.stripe);
        let goal = if copy.kind == OperationKind::Migrate {
            self.goal_of_copy(copy.stripe, row, &running, view)
        } else {
            row.replaced(running.old, running.new)
        };
        if self.is_urgent(view) || !self.moves_pages(&row, &goal, view) {
            return 0;
        }
        let concerned = match copy.kind {
            OperationKind::Repair => (row.set() | goal.set()) & !(1 << running.old.0),
            _ => self.members_that_differ(&row, &goal),
        };
        let idle_from = |member: u32| view.last_host_ns(MemberId(member as u16)).saturating_add(self.policy.idle_ns);
        let urgent_from_ns = match self.policy.most_ns {
            0 => u64::MAX,
            most_ns => running.since_ns.saturating_add(most_ns),
        };
        Bits(concerned).map(idle_from).max().unwrap_or(0).min(urgent_from_ns).saturating_sub(view.now_ns())
    }

    /// Whether the replacement that runs waits for idle time no longer, or never did.
    pub(super) fn is_urgent(&self, view: &dyn View) -> bool {
        let is_late = |running: &Running| self.policy.most_ns > 0 && view.now_ns() - running.since_ns >= self.policy.most_ns;
        self.policy.mechanism == Mechanism::Offline || self.running.as_ref().is_some_and(is_late)
    }

    /// Members that have another strip, or none, of the one than of the other.
    fn members_that_differ(&self, row: &impl Row, goal: &impl Row) -> u64 {
        let strips = (0..row.width()).map(|strip| (row.data(strip).member, goal.data(strip).member));
        let all = strips.chain([(row.parity().member, goal.parity().member)]);
        all.filter(|(is, becomes)| is != becomes).fold(0, |members, (is, becomes)| members | 1 << is.0 | 1 << becomes.0)
    }

    /// Whether a written page moves.
    fn moves_pages(&self, row: &impl Row, goal: &impl Row, view: &dyn View) -> bool {
        let data = (0..row.width()).map(|strip| (row.data(strip), goal.data(strip)));
        let mut moved = data.chain([(row.parity(), goal.parity())]).filter(|(is, becomes)| is != becomes);
        moved.any(|(is, _)| view.is_written(is, Version::Current))
    }

    /// Whether there is a page for each program of the copy, so that it does not hold its stripe while it waits.
    fn has_space(&self, copy: &Operation, view: &dyn View) -> bool {
        let space = match copy.kind {
            OperationKind::Migrate => {
                let (row, running) = (self.row(copy.stripe), self.running.expect("a replacement runs"));
                self.raid.space_of_move(copy, &row, &self.goal_of_copy(copy.stripe, row, &running, view))
            }
            _ => copy.space,
        };
        Bits(space).all(|member| view.can_allocate(self.raid.map().page_on(copy.stripe, MemberId(member as u16))))
    }
}

/// By the share that SSDs have spent of the erases that they endure (SPEC 5.12, ruling 16): the elder one first, of equal ones that with the lower number.
fn elder_first(one: MemberId, other: MemberId, view: &dyn View) -> Ordering {
    let spent = |member, other| u128::from(view.erases(member)) * u128::from(view.endurance(other));
    spent(other, one).cmp(&spent(one, other)).then(one.cmp(&other))
}
