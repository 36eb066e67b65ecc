//! Stripes by a table, with parity spread unevenly over the members (SPEC 5.4).
//!
//! Stripe s lies at local page s of its members. The table says which member has each strip: one byte for each strip that a full stripe has. A stripe
//! is *created* when it is first written, and stays when all of it is trimmed; shares are those of the stripes created so far. It
//! gets its parity where most is lacking (error diffusion): the member of which the share of the parities placed since limits were defined is furthest
//! below its limit, the elder one of equals. The other members get the data, in order. A *partial* stripe lies on fewer members: those that have the fewest strips so far.
//! Strips may move to other members later (SPEC 5.5, 5.6): then the row is changed.
//!
//! Nothing lies where a stripe that is not created would; it is shown on the members that new stripes get, with the parity on the eldest.

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
    /// Limits of the parity by age.
    shares: Percentages,
    /// Members that new stripes get, the eldest first.
    eldest_first: Vec<MemberId>,
    /// Stripes created so far.
    created: u32,
    /// Of each stripe, the member of each data strip, then that of the parity, each plus one; 0 for none, so that memory is used only for what is
    /// created.
    rows: Vec<u8>,
    /// How many stripes were created with the parity on each member since the limits were defined.
    placed: Vec<u32>,
    /// In how many stripes each member has the parity, or is to have it (`move_parity`), and in how many it has a strip.
    parities: Vec<u32>,
    strips: Vec<u32>,
}

persistent!(Table {
    keeps [created],
    arrays [eldest_first, rows, placed, parities, strips],
    anew [stripes, widths, shares],
});

impl Table {
    /// Stripes on the members of `eldest_first`, in that order of age, with so large shares of the parity. `members` is the number above those of all
    /// members that may ever have strips.
    pub fn new(members: u16, eldest_first: &[u16], stripes: u32, shares: &Percentages, widths: Widths) -> Self {
        let slots = eldest_first.len();
        debug_assert!((3..=usize::from(MOST_MEMBERS)).contains(&slots) && widths.full as usize == slots - 1 && widths.partial >= 1);
        Self {
            stripes,
            widths,
            shares: shares.clone(),
            eldest_first: eldest_first.iter().map(|member| MemberId(*member)).collect(),
            created: 0,
            rows: vec![0; stripes as usize * slots],
            placed: vec![0; members.into()],
            parities: vec![0; members.into()],
            strips: vec![0; members.into()],
        }
    }

    /// Members that new stripes get, the eldest first.
    pub fn eldest_first(&self) -> &[MemberId] {
        &self.eldest_first
    }

    /// These are the members from now on, the eldest first: which says what their limits are, and which of them new stripes get (SPEC 5.4).
    pub fn set_members(&mut self, eldest_first: Vec<MemberId>) {
        debug_assert_eq!(eldest_first.len(), self.eldest_first.len());
        self.eldest_first = eldest_first;
        self.placed.fill(0);
    }

    /// The share of the parity that the member is to have, in the unit of `Percentages`.
    pub fn limit(&self, member: MemberId) -> u32 {
        self.eldest_first.iter().position(|of| *of == member).map_or(0, |rank| self.shares.of(rank))
    }

    /// What a member lacks of its share of the parity if it has so many: parities times the whole of `Percentages`, below 0 if it has more.
    pub fn lack(&self, member: MemberId, parities: u32) -> i64 {
        i64::from(self.limit(member)) * i64::from(self.created) - i64::from(parities) * i64::from(Percentages::WHOLE)
    }

    /// Stripes created so far.
    pub fn created(&self) -> u32 {
        self.created
    }

    /// How many of them got the parity on this member since the limits were defined.
    pub fn placed(&self, member: MemberId) -> u32 {
        self.placed[usize::from(member.0)]
    }

    /// Whether the stripe was ever written.
    #[inline]
    pub fn is_created(&self, stripe: StripeId) -> bool {
        self.rows[stripe.0 as usize * self.slots()] > 0
    }

    /// In how many stripes the member has the parity, or is to have it.
    pub fn parities(&self, member: MemberId) -> u32 {
        self.parities[usize::from(member.0)]
    }

    /// In how many stripes the member has a strip.
    pub fn strips(&self, member: MemberId) -> u32 {
        self.strips[usize::from(member.0)]
    }

    /// The parity is on its way from where the one row has it to where the other one does, or is not any more: it counts there from now on.
    pub fn move_parity(&mut self, from: &TableRow, to: &TableRow) {
        self.parities[usize::from(from.parity().member.0)] -= 1;
        self.parities[usize::from(to.parity().member.0)] += 1;
    }

    /// The strips of a stripe lie there from now on. Where its parity is was said before (`move_parity`).
    pub fn set_row(&mut self, stripe: StripeId, row: &TableRow) {
        let before = self.row(stripe);
        debug_assert!(before.page == row.page && before.width == row.width && before.set().count_ones() == row.set().count_ones());
        debug_assert!(self.is_created(stripe));
        Bits(before.set()).for_each(|member| self.strips[member as usize] -= 1);
        self.write_row(stripe, row);
    }

    fn write_row(&mut self, stripe: StripeId, row: &TableRow) {
        Bits(row.set()).for_each(|member| self.strips[member as usize] += 1);
        let slots = self.slots();
        for (slot, member) in self.rows[stripe.0 as usize * slots..][..slots].iter_mut().zip(row.members) {
            *slot = member.wrapping_add(1);
        }
    }

    /// Strips of a full stripe.
    #[inline]
    fn slots(&self) -> usize {
        self.widths.full as usize + 1
    }

    /// A stripe with its parity on `parity` and the data on the other members of `set`, in order.
    fn row_on(&self, stripe: StripeId, set: u64, parity: MemberId) -> TableRow {
        let mut members = [NONE; MOST_MEMBERS as usize];
        for (slot, member) in members.iter_mut().zip(Bits(set & !(1 << parity.0)).chain([parity.0.into()])) {
            *slot = member as u8;
        }
        TableRow { page: LocalPage(stripe.0), width: self.widths.of(stripe), members }
    }

    /// The eldest members, so many.
    fn eldest(&self, count: usize) -> u64 {
        self.eldest_first[..count].iter().fold(0, |all, member| all | 1 << member.0)
    }

    /// Where a stripe that is not created is shown.
    #[cold]
    fn row_of_none(&self, stripe: StripeId) -> TableRow {
        self.row_on(stripe, self.eldest(self.widths.of(stripe) as usize + 1), self.eldest_first[0])
    }

    /// Where a stripe that is created now goes (SPEC 5.4).
    fn row_of_new(&self, stripe: StripeId) -> TableRow {
        let mut chosen = self.eldest(self.slots());
        let is_in = |chosen: u64, member: &MemberId| chosen >> member.0 & 1 == 1;
        while chosen.count_ones() > self.widths.of(stripe) + 1 {
            // Of equals the younger one is left out.
            let members = self.eldest_first.iter().filter(|member| is_in(chosen, member));
            chosen &= !(1 << members.max_by_key(|member| self.strips(**member)).expect("there are members").0);
        }
        // Before the first stripe all shares are 0.
        let stripes = i64::from(self.placed.iter().sum::<u32>().max(1));
        let lack = |rank: usize, member: MemberId| {
            i64::from(self.shares.of(rank)) * stripes - i64::from(self.placed(member)) * i64::from(Percentages::WHOLE)
        };
        let members = self.eldest_first.iter().enumerate().filter(|(_, member)| is_in(chosen, member));
        // Of equals the elder one, which comes first.
        let (_, parity) = members.min_by_key(|(rank, member)| -lack(*rank, **member)).expect("there are members");
        self.row_on(stripe, chosen, *parity)
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
        if !self.is_created(stripe) {
            return self.row_of_none(stripe);
        }
        let slots = self.slots();
        let mut members = [NONE; MOST_MEMBERS as usize];
        for (member, slot) in members.iter_mut().zip(&self.rows[stripe.0 as usize * slots..][..slots]) {
            *member = slot.wrapping_sub(1);
        }
        TableRow { page: LocalPage(stripe.0), width: self.widths.of(stripe), members }
    }

    #[inline]
    fn create(&mut self, stripe: StripeId) {
        if !self.is_created(stripe) {
            let row = self.row_of_new(stripe);
            let parity = usize::from(row.parity().member.0);
            self.created += 1;
            self.placed[parity] += 1;
            self.parities[parity] += 1;
            self.write_row(stripe, &row);
        }
    }

    #[inline]
    fn parity_members(&self, stripe: StripeId, row: &TableRow) -> u64 {
        if self.is_created(stripe) { row.parity_bit() } else { self.eldest(self.slots()) }
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

    /// With all stripes created, in order.
    fn table(members: u16, stripes: u32, shares: &Percentages, widths: Widths) -> Table {
        created(Table::new(members, &(0..members).collect::<Vec<_>>(), stripes, shares, widths), 0..stripes)
    }

    fn created(mut table: Table, stripes: impl IntoIterator<Item = u32>) -> Table {
        stripes.into_iter().for_each(|stripe| table.create(StripeId(stripe)));
        table
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
        let table = created(Table::new(9, &[7, 2, 4], 100, &shares(&[70, 20, 10]), full(3)), 0..100);
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
        let goal = before.replaced(x, MemberId(4)).exchanged(q, MemberId(4));
        // The parity counts where it goes before it is there.
        table.move_parity(&before, &goal);
        assert_eq!((table.row(StripeId(3)), table.parities(q), table.parities(MemberId(4))), (before, 1, 1));
        table.set_row(StripeId(3), &goal);
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

    /// The order in which stripes are created decides, not their numbers; what is created stays as it is, and only that counts.
    #[test]
    fn stripes_are_placed_when_they_are_created() {
        let mut table = Table::new(3, &[1, 0, 2], 1_000, &shares(&[50, 25, 25]), full(3));
        let at = |table: &Table, stripe: u32| (table.is_created(StripeId(stripe)), table.row(StripeId(stripe)).parity().member.0);
        assert_eq!((at(&table, 700), table.created()), ((false, 1), 0), "as if on the eldest");
        let walk = [700, 3, 999, 0, 3, 700];
        table = created(table, walk);
        assert_eq!(walk.map(|stripe| at(&table, stripe)), [1, 0, 2, 1, 0, 1].map(|parity| (true, parity)));
        assert_eq!((table.created(), at(&table, 4)), (4, (false, 1)));
        let counts =
            (0..3).map(|member| (table.parities(MemberId(member)), table.strips(MemberId(member)), table.placed(MemberId(member))));
        assert_eq!(counts.collect::<Vec<_>>(), [(1, 4, 1), (2, 4, 2), (1, 4, 1)]);
    }

    /// New limits are those of what is created from then on, whatever was created before; and say what members lack of all there is.
    #[test]
    fn new_members_get_new_stripes_by_their_limits() {
        let mut table = created(Table::new(4, &[0, 1, 2], 1_000, &shares(&[80, 10, 10]), full(3)), 0..100);
        table.set_members([2, 1, 3].map(MemberId).to_vec());
        assert_eq!([0, 1, 2, 3].map(|member| table.limit(MemberId(member))), [0, 10_000, 80_000, 10_000]);
        assert_eq!(
            [0, 1, 2, 3].map(|member| table.lack(MemberId(member), table.parities(MemberId(member)))),
            [-8_000_000, 0, 7_000_000, 1_000_000]
        );
        let table = created(table, 500..600);
        assert_eq!([0, 1, 2, 3].map(|member| table.placed(MemberId(member))), [0, 10, 80, 10]);
        assert_eq!([0, 1, 2, 3].map(|member| table.parities(MemberId(member))), [80, 20, 90, 10]);
        assert_eq!(table.strips(MemberId(0)), 100, "none of the new stripes");
        assert_eq!(table.row(StripeId(700)).role(MemberId(0)), None, "nor are others shown there");
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
