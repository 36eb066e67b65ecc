//! Where strips go while a replacement runs, of E by S (SPEC 5.6).

use super::state::{Running, Stage};
use super::{Mechanism, Redistribution, ReplacedSsds, is_living};
use crate::parts::bits::Bits;
use crate::parts::stripe::{Guard, Losses, Stripe};
use crate::stripe_map::table::TableRow;
use crate::stripe_map::{Role, Row, StripeMap};
use flashraid_vocabulary::{MemberId, StripeId, View};

impl ReplacedSsds {
    /// Whether the member's share of the parity is below its limit.
    pub(super) fn is_below_limit(&self, member: MemberId) -> bool {
        let map = self.raid.map();
        map.lack(member, map.parities(member)) > 0
    }

    /// Whether a parity that can go to S or to G, which both lack some, is one for S: each gets turns in proportion to what it lacks without those that it
    /// has got, so that both have their shares in every part of the address space (SPEC 5.6).
    fn is_turn_of_new(&self, second: MemberId, running: &Running) -> bool {
        let map = self.raid.map();
        let had = |member: MemberId| self.parities_before[usize::from(member.0)] + map.placed(member);
        let (new, second) = ((running.new, map.parities(running.new), had(running.new)), (second, map.parities(second), had(second)));
        // A shift finds them all on S: what it has left there is what S has got.
        let new = if running.stage == Stage::Shifting { (running.new, running.kept, 0) } else { new };
        let lacks = |(member, has, _): (MemberId, u32, u32)| map.lack(member, has) > 0;
        if !lacks(new) || !lacks(second) {
            return lacks(new);
        }
        let of = |(member, has, had): (MemberId, u32, u32)| {
            (i128::from(map.lack(member, had)), i128::from(2 * u64::from(has.saturating_sub(had)) + 1))
        };
        // The larger quotient of what it lacked and of its turns (Sainte-Laguë); G's turn if both are equal.
        let ((new_lacked, new_turns), (second_lacked, second_turns)) = (of(new), of(second));
        new_lacked * second_turns > second_lacked * new_turns
    }

    /// G: the eldest SSD after E. None if no other one lives.
    pub(super) fn second_eldest(&self, view: &dyn View) -> Option<MemberId> {
        let running = self.running.as_ref()?;
        self.members().iter().copied().find(|member| *member != running.new && is_living(view, *member))
    }

    /// F: the SSD without a strip of a partial stripe that has the highest limit; the elder one of equals, and S last.
    fn highest_limit(&self, number: StripeId, row: &TableRow, view: &dyn View) -> Option<MemberId> {
        let is_free = |member: &MemberId| row.role(*member).is_none() && is_living(view, *member) && self.takes_page(number, *member, view);
        self.members().iter().copied().filter(is_free).rev().max_by_key(|member| self.raid.map().limit(*member))
    }

    /// Whether a page of the stripe can go to the member: failures may have left it no space, for good.
    fn takes_page(&self, number: StripeId, member: MemberId, view: &dyn View) -> bool {
        !view.has_failures() || view.can_allocate(self.raid.map().page_on(number, member))
    }

    fn is_partial(&self, row: &TableRow) -> bool {
        row.width() < self.raid.map().most_strips()
    }

    fn redistribution(&self) -> Redistribution {
        match self.policy.mechanism {
            Mechanism::HotSwap { redistribution, .. } if !self.running.as_ref().is_some_and(|running| running.is_given_up) => {
                redistribution
            }
            _ => Redistribution::None,
        }
    }

    /// The strips of a stripe of which the data strips `changed` are written or trimmed.
    pub(super) fn goal_of_update(&self, number: StripeId, row: TableRow, changed: u64, view: &dyn View) -> TableRow {
        let Some(running) = &self.running else { return row };
        let (old, new) = (running.old, running.new);
        let to_new = row.replaced(old, new);
        let rule = self.redistribution();
        match row.role(old) {
            None => row,
            // Case A; and an untouched strip of E stays.
            Some(Role::Data(strip)) => {
                if changed >> strip & 1 == 1 {
                    to_new
                } else {
                    row
                }
            }
            Some(Role::Parity) if rule == Redistribution::None => to_new,
            // Case B1.
            Some(Role::Parity) if self.is_partial(&row) => {
                self.highest_limit(number, &row, view).map_or(to_new, |free| row.replaced(old, free))
            }
            // A lost strip is not moved with an update (`parts::moves`).
            Some(Role::Parity) if self.is_damaged(number, view) => to_new,
            Some(Role::Parity) => {
                let can_have = |second: &MemberId| row.role(*second).is_some() && self.takes_page(number, *second, view);
                let Some(second) = self.second_eldest(view).filter(can_have) else { return to_new };
                let is_turn_of_new = rule != Redistribution::DataDevice && self.is_turn_of_new(second, running);
                if self.is_below_limit(second) && !is_turn_of_new {
                    // Case B3: whether the strip on G is written anew or moved, it goes to S.
                    return row.replaced(old, new).exchanged(second, new);
                }
                // Case B2.
                let mut devices = Bits(changed).map(|strip| row.data(strip).member).filter(|member| is_living(view, *member));
                let data_device = match rule {
                    Redistribution::ByNeed => devices.find(|member| *member != second && self.is_below_limit(*member)),
                    Redistribution::DataDevice => devices.next(),
                    Redistribution::ParityToNew | Redistribution::None => None,
                };
                data_device.map_or(to_new, |device| to_new.exchanged(device, new))
            }
        }
    }

    /// The strips of a stripe that nobody updates. A lost strip beside that of E stays where it is.
    pub(super) fn goal_of_copy(&self, number: StripeId, row: TableRow, running: &Running, view: &dyn View) -> TableRow {
        let (old, new) = (running.old, running.new);
        let can_have = |second: &MemberId| row.role(*second).is_some() && self.takes_page(number, *second, view);
        let second = || self.second_eldest(view).filter(|second| can_have(second) && !self.is_damaged(number, view));
        if running.stage == Stage::Shifting {
            if row.parity().member != new {
                return row;
            }
            let takes = |second: &MemberId| self.is_below_limit(*second) && !self.is_turn_of_new(*second, running);
            return second().filter(takes).map_or(row, |second| row.exchanged(second, new));
        }
        let to_new = row.replaced(old, new);
        match row.role(old) {
            None => row,
            Some(Role::Data(_)) => to_new,
            Some(Role::Parity) if self.redistribution() == Redistribution::None => to_new,
            Some(Role::Parity) if self.is_partial(&row) => {
                self.highest_limit(number, &row, view).map_or(to_new, |free| row.replaced(old, free))
            }
            Some(Role::Parity) => {
                let Some(second) = second() else { return to_new };
                if self.is_turn_of_new(second, running) { to_new } else { to_new.exchanged(second, new) }
            }
        }
    }

    /// The strips of a stripe that is repaired: if what is lost is its strip on E, and nothing else, that goes to S.
    pub(super) fn goal_of_repair(&self, stripe: &Stripe<TableRow>) -> TableRow {
        let Stripe { row, lost: Losses { current, parity, .. }, .. } = *stripe;
        let Some(running) = &self.running else { return row };
        let is_of_old = match row.role(running.old) {
            Some(Role::Data(strip)) => current == 1 << strip && !parity,
            Some(Role::Parity) => current == 0 && parity,
            None => false,
        };
        if is_of_old { row.replaced(running.old, running.new) } else { row }
    }

    /// Whether something of the stripe is lost.
    fn is_damaged(&self, number: StripeId, view: &dyn View) -> bool {
        view.has_failures() && self.raid.whole_stripe(number, 0, Guard::None, view).lost != Losses::default()
    }
}
