//! Stripes by a table, with parity spread unevenly over the members (SPEC 5.4).
//!
//! Stripe s lies at local page s of its members. The table says which member has each strip: one byte for each strip that a full stripe has. A stripe
//! gets its parity where most is lacking (error diffusion): the member of which the share of all parities is furthest below its limit, the elder one
//! of equals. The other members get the data, in order. A *partial* stripe lies on fewer members: those that have the fewest strips so far.
//! Strips may move to other members later (SPEC 5.5, 5.6): then the row is changed.

use super::{Role, Row, StripeMap};
use crate::parts::bits::Bits;
use crate::{Grouping, Percentages};
use flashraid_vocabulary::{LocalPage, Lpn, MemberId, MemberPage, StripeId, persistent};
use std::sync::Arc;

/// Members of a stripe, at most. Numbers of members may be larger, as spare ones follow.
pub const MOST_MEMBERS: u16 = 16;

/// Behind the strips of a partial stripe.
const NONE: u8 = u8::MAX;

/// How wide each stripe is; which never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Data strips of a full stripe.
    pub full: u32,
    /// Data strips of a partial one.
    pub partial: u32,
    /// Share of the stripes that are partial, in thousandths: of s stripes, s times this share, rounded down.
    pub partial_share: u32,
}

impl Widths {
    /// Partial stripes among the first ones.
    #[inline]
    fn partial_before(&self, stripes: u64) -> u64 {
        stripes * u64::from(self.partial_share) / 1000
    }

    /// Data strips of a stripe.
    #[inline]
    pub fn of(&self, stripe: StripeId) -> u32 {
        let stripe = u64::from(stripe.0);
        if self.partial_share > 0 && self.partial_before(stripe + 1) > self.partial_before(stripe) { self.partial } else { self.full }
    }

    /// Host pages before a stripe.
    #[inline]
    fn first(&self, stripe: u64) -> u64 {
        stripe * u64::from(self.full) - self.partial_before(stripe) * u64::from(self.full - self.partial)
    }

    /// The stripe of a host page, and which of its strips that is.
    #[inline]
    fn position(&self, lpn: u64) -> (u64, u32) {
        if self.partial_share == 0 {
            let stripe = lpn / u64::from(self.full);
            return (stripe, (lpn - stripe * u64::from(self.full)) as u32);
        }
        // The mean width leads to the stripe, or next to it.
        let per_thousand = 1000 * u64::from(self.full) - u64::from(self.partial_share * (self.full - self.partial));
        let mut stripe = lpn * 1000 / per_thousand;
        while self.first(stripe) > lpn {
            stripe -= 1;
        }
        while self.first(stripe + 1) <= lpn {
            stripe += 1;
        }
        (stripe, (lpn - self.first(stripe)) as u32)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Table {
    stripes: u32,
    widths: Widths,
    /// Of each stripe, the member of each data strip, then that of the parity.
    rows: Vec<u8>,
    /// In how many stripes each member has the parity, and in how many it has a strip.
    parities: Vec<u32>,
    strips: Vec<u32>,
}

persistent!(Table {
    arrays [rows, parities, strips],
    anew [stripes, widths],
});

impl Table {
    /// Stripes on the members of `eldest_first`, in that order of age, with so large shares of the parity. `members` is the number above those of all
    /// members that may ever have strips.
    pub fn new(members: u16, eldest_first: &[u16], stripes: u32, shares: &Percentages, widths: Widths) -> Self {
        let slots = eldest_first.len();
        debug_assert!((3..=usize::from(MOST_MEMBERS)).contains(&slots) && widths.full as usize == slots - 1 && widths.partial >= 1);
        let (mut parities, mut strips) = (vec![0u32; members.into()], vec![0u32; members.into()]);
        let mut rows = vec![NONE; stripes as usize * slots];
        let everybody = eldest_first.iter().fold(0u64, |all, member| all | 1 << member);
        for stripe in 0..stripes {
            let width = widths.of(StripeId(stripe)) as usize;
            let mut chosen = everybody;
            while chosen.count_ones() as usize > width + 1 {
                // Of equals the younger one is left out.
                let is_in = |member: &&u16| chosen >> **member & 1 == 1;
                let fullest =
                    eldest_first.iter().filter(is_in).max_by_key(|member| strips[usize::from(**member)]).expect("there are members");
                chosen &= !(1 << fullest);
            }
            // limit - share, times all parities and all percentages. Before the first stripe all shares are 0.
            let lacks = |rank: usize| {
                let (limit, has) = (u64::from(shares.of(rank)), u64::from(parities[usize::from(eldest_first[rank])]));
                (limit * u64::from(stripe.max(1))) as i64 - (has * u64::from(Percentages::WHOLE)) as i64
            };
            let ranks = (0..slots).filter(|rank| chosen >> eldest_first[*rank] & 1 == 1);
            let parity = eldest_first[ranks.min_by_key(|rank| (-lacks(*rank), *rank)).expect("there are members")];
            let row = &mut rows[stripe as usize * slots..][..slots];
            for (slot, member) in row.iter_mut().zip(Bits(chosen & !(1 << parity)).chain([parity.into()])) {
                *slot = member as u8;
                strips[member as usize] += 1;
            }
            parities[usize::from(parity)] += 1;
        }
        Self { stripes, widths, rows, parities, strips }
    }

    /// In how many stripes the member has the parity.
    pub fn parities(&self, member: MemberId) -> u32 {
        self.parities[usize::from(member.0)]
    }

    /// In how many stripes the member has a strip.
    pub fn strips(&self, member: MemberId) -> u32 {
        self.strips[usize::from(member.0)]
    }

    /// The strips of a stripe lie there from now on.
    pub fn set_row(&mut self, stripe: StripeId, row: &TableRow) {
        let before = self.row(stripe);
        debug_assert!(before.page == row.page && before.width == row.width && before.set().count_ones() == row.set().count_ones());
        for (row, change) in [(&before, u32::MAX), (row, 1)] {
            let add = |count: &mut u32| *count = count.wrapping_add(change);
            add(&mut self.parities[usize::from(row.parity().member.0)]);
            Bits(row.set()).for_each(|member| add(&mut self.strips[member as usize]));
        }
        let slots = self.widths.full as usize + 1;
        self.rows[stripe.0 as usize * slots..][..slots].copy_from_slice(&row.members[..slots]);
    }
}

impl StripeMap for Table {
    type Row = TableRow;

    #[inline]
    fn stripes(&self) -> u32 {
        self.stripes
    }

    #[inline]
    fn most_strips(&self) -> u32 {
        self.widths.full
    }

    fn user_pages(&self) -> u64 {
        self.widths.first(self.stripes.into())
    }

    #[inline]
    fn position(&self, lpn: Lpn) -> (StripeId, u32) {
        let (stripe, strip) = self.widths.position(lpn.0);
        (StripeId(stripe as u32), strip)
    }

    #[inline]
    fn first(&self, stripe: StripeId) -> Lpn {
        Lpn(self.widths.first(stripe.0.into()))
    }

    #[inline]
    fn row(&self, stripe: StripeId) -> TableRow {
        let slots = self.widths.full as usize + 1;
        let mut members = [NONE; MOST_MEMBERS as usize];
        members[..slots].copy_from_slice(&self.rows[stripe.0 as usize * slots..][..slots]);
        TableRow { page: LocalPage(stripe.0), width: self.widths.of(stripe), members }
    }

    fn uniform_width(&self) -> Option<u32> {
        (self.widths.partial_share == 0).then_some(self.widths.full)
    }

    fn table_bytes(&self) -> u64 {
        self.rows.len() as u64
    }

    fn grouping(&self) -> Grouping {
        let Some(width) = self.uniform_width() else {
            // Of the table nothing but the widths is needed, which are small and never change.
            let widths = self.widths;
            return Grouping::Uneven(Arc::new(move |lpn| {
                let stripe = widths.position(lpn.0).0;
                widths.first(stripe)..widths.first(stripe + 1)
            }));
        };
        Grouping::Even(width)
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRow {
    page: LocalPage,
    width: u32,
    members: [u8; MOST_MEMBERS as usize],
}

impl TableRow {
    /// Its members, as bits.
    #[inline]
    pub fn set(&self) -> u64 {
        self.members[..=self.width as usize].iter().fold(0, |all, member| all | 1 << member)
    }

    /// With strips on `new` that were on `old`.
    pub fn replaced(self, old: MemberId, new: MemberId) -> Self {
        Self { members: self.members.map(|member| if u16::from(member) == old.0 { new.0 as u8 } else { member }), ..self }
    }

    /// With the strips of two members exchanged; `replaced` if only one of them has one.
    pub fn exchanged(self, one: MemberId, other: MemberId) -> Self {
        let exchange = |member: u8| match u16::from(member) {
            is if is == one.0 => other.0 as u8,
            is if is == other.0 => one.0 as u8,
            _ => member,
        };
        Self { members: self.members.map(exchange), ..self }
    }

    #[inline]
    fn at(&self, slot: u32) -> MemberPage {
        MemberPage { member: MemberId(self.members[slot as usize].into()), page: self.page }
    }
}

impl Row for TableRow {
    #[inline]
    fn width(&self) -> u32 {
        self.width
    }

    #[inline]
    fn data(&self, index: u32) -> MemberPage {
        debug_assert!(index < self.width);
        self.at(index)
    }

    #[inline]
    fn parity(&self) -> MemberPage {
        self.at(self.width)
    }

    fn role(&self, member: MemberId) -> Option<Role> {
        let strips = &self.members[..=self.width as usize];
        let slot = strips.iter().position(|of| u16::from(*of) == member.0)? as u32;
        Some(if slot == self.width { Role::Parity } else { Role::Data(slot) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(percent: &[u32]) -> Percentages {
        Percentages::new(percent.iter().map(|share| share * 1000).collect())
    }

    fn table(members: u16, stripes: u32, shares: &Percentages, widths: Widths) -> Table {
        Table::new(members, &(0..members).collect::<Vec<_>>(), stripes, shares, widths)
    }

    fn full(members: u16) -> Widths {
        Widths { full: u32::from(members) - 1, partial: 1, partial_share: 0 }
    }

    fn parities(table: &Table, members: u16) -> Vec<u32> {
        let mut counts = vec![0; members.into()];
        (0..table.stripes).for_each(|stripe| counts[usize::from(table.row(StripeId(stripe)).parity().member.0)] += 1);
        counts
    }

    /// The eldest comes first whatever its number, and members without strips may be between.
    #[test]
    fn shares_go_by_age() {
        let table = Table::new(9, &[7, 2, 4], 100, &shares(&[70, 20, 10]), full(3));
        let found: Vec<(u32, u32)> = (0..9).map(|member| (table.parities(MemberId(member)), table.strips(MemberId(member)))).collect();
        let none = (0, 0);
        assert_eq!(found, [none, none, (20, 100), none, (10, 100), none, none, (70, 100), none]);
    }

    #[test]
    fn moved_strips_are_counted_where_they_are() {
        let mut table = table(4, 8, &shares(&[25; 4]), full(4));
        table.parities.push(0);
        table.strips.push(0);
        let before = table.row(StripeId(3));
        let [x, q] = [before.data(1).member, before.parity().member];
        table.set_row(StripeId(3), &before.replaced(x, MemberId(4)).exchanged(q, MemberId(4)));
        let after = table.row(StripeId(3));
        assert_eq!((after.data(1).member, after.parity().member), (q, MemberId(4)));
        assert_eq!((after.data(0), after.data(2)), (before.data(0), before.data(2)));
        assert_eq!((after.role(x), after.role(q)), (None, Some(Role::Data(1))));
        assert_eq!((table.strips(x), table.strips(MemberId(4)), table.strips(q)), (7, 1, 8));
        assert_eq!((table.parities(q), table.parities(MemberId(4))), (1, 1));
    }

    /// SPEC 5.4: the largest deficit, ties to the elder. With 50, 25 and 25 % the deficits after each stripe are, in quarters of a parity:
    /// (2, 1, 1), then with one on the eldest (-2, 1, 1), with one more on the second (0, -2, 2), with one on the third (2, -1, -1), and so on.
    #[test]
    fn parity_goes_where_most_is_lacking() {
        let table = table(3, 9, &shares(&[50, 25, 25]), full(3));
        let found: Vec<u16> = (0..9).map(|stripe| table.row(StripeId(stripe)).parity().member.0).collect();
        assert_eq!(found, [0, 1, 2, 0, 0, 1, 2, 0, 0]);
        // Data strips fill the other members in order.
        let data: Vec<u16> = (0..2).map(|strip| table.row(StripeId(1)).data(strip).member.0).collect();
        assert_eq!(data, [0, 2]);
    }

    #[test]
    fn shares_are_met_to_one_parity_at_all_times() {
        for percent in [&[80, 5, 5, 5, 5][..], &[20; 5], &[100, 0, 0, 0, 0], &[0, 0, 0, 0, 100], &[60, 20, 10, 7, 3], &[34, 33, 33]] {
            let members = percent.len() as u16;
            for stripes in [1, 2, 7, 100, 1_000] {
                let table = table(members, stripes, &shares(percent), full(members));
                for (member, count) in parities(&table, members).into_iter().enumerate() {
                    let expected = f64::from(stripes * percent[member]) / 100.0;
                    assert!((f64::from(count) - expected).abs() < f64::from(members), "{percent:?}, {stripes}: {member} has {count}");
                }
            }
        }
    }

    #[test]
    fn no_two_strips_of_a_stripe_are_on_one_member_and_partial_ones_are_on_the_emptiest() {
        for (partial, partial_share) in [(1, 300), (2, 1000), (3, 500), (1, 1), (2, 999)] {
            let widths = Widths { full: 4, partial, partial_share };
            let table = table(5, 997, &shares(&[80, 5, 5, 5, 5]), widths);
            let mut strips = [0u32; 5];
            let mut lpn = 0;
            for stripe in 0..997 {
                let row = table.row(StripeId(stripe));
                let members: Vec<u16> = (0..row.width()).map(|strip| row.data(strip).member.0).chain([row.parity().member.0]).collect();
                assert!((0..5).all(|member| members.iter().filter(|of| **of == member).count() <= 1), "{row:?}");
                assert!([4, partial].contains(&row.width()));
                let is_left_out = |member: &u16| !members.contains(member);
                for (data, elder) in members[..members.len() - 1].iter().flat_map(|data| (0..*data).map(move |elder| (*data, elder))) {
                    let ties = strips[usize::from(data)] == strips[usize::from(elder)];
                    assert!(!(ties && is_left_out(&elder)), "of equally empty members the elder has a strip: {row:?}");
                }
                let fewest = (0..5).filter(|member| !members.contains(member)).map(|member| strips[usize::from(member)]).min();
                assert!(members.iter().all(|member| fewest.is_none_or(|fewest| strips[usize::from(*member)] <= fewest)), "{row:?}");
                for (strip, member) in (0..).zip(&members) {
                    strips[usize::from(*member)] += 1;
                    let role = if strip == row.width() { Role::Parity } else { Role::Data(strip) };
                    assert_eq!(row.role(MemberId(*member)), Some(role));
                }
                assert_eq!(table.first(StripeId(stripe)), Lpn(lpn));
                for strip in 0..row.width() {
                    assert_eq!(table.position(Lpn(lpn)), (StripeId(stripe), strip));
                    lpn += 1;
                }
                assert_eq!(table.grouping().pages(Lpn(lpn - 1)), lpn - u64::from(row.width())..lpn);
            }
            assert_eq!(table.user_pages(), lpn);
            let count = (0..997).filter(|stripe| widths.of(StripeId(*stripe)) == partial).count() as u32;
            assert_eq!(count, 997 * partial_share / 1000);
        }
    }
}
