//! The layout of RAID-6 (SPEC 8.16 (a)): stripe s has a strip on each member, at local page s.
//!
//! The first parity moves down from the last member, stripe by stripe; the second one is on the member after it; data strips begin behind that and go
//! round. Linux md calls it left-symmetric.

use super::{Role, Row, StripeMap};
use crate::Build;
use flashraid_vocabulary::{Divisor, LocalPage, Lpn, MemberId, MemberPage, StripeId, persistent};

/// Parities of a stripe.
const PARITIES: u32 = 2;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Raid6Map {
    stripes: u32,
    members: u32,
    per_turn: Divisor,
    per_stripe: Divisor,
    /// Stripes of a row of chunks.
    per_chunk: Divisor,
}

persistent!(Raid6Map {
    anew [stripes, members, per_turn, per_stripe, per_chunk],
});

impl Raid6Map {
    /// On the members of a device.
    pub fn on_device(build: &Build) -> Self {
        Self::new(build.members, build.pages_per_member, build.chunk_pages)
    }

    /// With this many stripes on this many members, at least 4, and chunks of so many pages: stripes of a row of chunks have their strips on the same
    /// members (SPEC 8.1 (b)).
    pub fn new(members: u16, stripes: u32, chunk_pages: u32) -> Self {
        let members = u32::from(members);
        let (per_turn, per_stripe) = (Divisor::new(members), Divisor::new(members - PARITIES));
        Self { stripes, members, per_turn, per_stripe, per_chunk: Divisor::new(chunk_pages) }
    }
}

impl StripeMap for Raid6Map {
    type Row = Raid6Row;

    #[inline]
    fn stripes(&self) -> u32 {
        self.stripes
    }

    #[inline]
    fn most_strips(&self) -> u32 {
        self.members - PARITIES
    }

    fn user_pages(&self) -> u64 {
        u64::from(self.stripes) * u64::from(self.most_strips())
    }

    #[inline]
    fn position(&self, lpn: Lpn) -> (StripeId, u32) {
        let stripe = self.per_stripe.divide(lpn.0);
        (StripeId(stripe as u32), (lpn.0 - stripe * u64::from(self.most_strips())) as u32)
    }

    #[inline]
    fn first(&self, stripe: StripeId) -> Lpn {
        Lpn(u64::from(stripe.0) * u64::from(self.most_strips()))
    }

    #[inline]
    fn row(&self, stripe: StripeId) -> Raid6Row {
        let turn = self.per_chunk.divide(stripe.0.into());
        let down = (turn - self.per_turn.divide(turn) * u64::from(self.members)) as u32;
        Raid6Row { page: LocalPage(stripe.0), members: self.members, first_parity: self.members - 1 - down }
    }

    fn uniform_width(&self) -> Option<u32> {
        Some(self.most_strips())
    }
}

/// A stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid6Row {
    page: LocalPage,
    members: u32,
    first_parity: u32,
}

impl Raid6Row {
    /// The page so many members after the first parity, fewer than there are members.
    #[inline]
    fn after(&self, distance: u32) -> MemberPage {
        let member = self.first_parity + distance;
        let member = if member >= self.members { member - self.members } else { member };
        MemberPage { member: MemberId(member as u16), page: self.page }
    }
}

impl Row for Raid6Row {
    #[inline]
    fn width(&self) -> u32 {
        self.members - PARITIES
    }

    #[inline]
    fn data(&self, index: u32) -> MemberPage {
        self.after(PARITIES + index)
    }

    #[inline]
    fn parity(&self) -> MemberPage {
        self.after(0)
    }

    #[inline]
    fn second_parity(&self) -> Option<MemberPage> {
        Some(self.after(1))
    }

    fn role(&self, member: MemberId) -> Option<Role> {
        let distance = u32::from(member.0) + self.members - self.first_parity;
        Some(match distance % self.members {
            0 | 1 => Role::Parity,
            distance => Role::Data(distance - PARITIES),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies on each member of a stripe: P, Q, or the index of the data strip.
    fn drawn(members: u16, chunk_pages: u32, stripe: u32) -> String {
        let row = Raid6Map::new(members, 200, chunk_pages).row(StripeId(stripe));
        let letter = |member| match row.role(MemberId(member)).unwrap() {
            Role::Parity if row.parity().member.0 == member => 'P',
            Role::Parity => 'Q',
            Role::Data(index) => char::from_digit(index, 10).unwrap(),
        };
        (0..members).map(letter).collect()
    }

    /// As the comments of md's driver and textbooks draw it.
    #[test]
    fn the_layout_is_that_of_md() {
        let stripes: Vec<_> = (0..6).map(|stripe| drawn(5, 1, stripe)).collect();
        assert_eq!(stripes, ["Q012P", "012PQ", "12PQ0", "2PQ01", "PQ012", "Q012P"]);
        assert_eq!(drawn(4, 1, 0), "Q01P");
    }

    #[test]
    fn parities_move_from_one_row_of_chunks_to_the_next() {
        for stripe in 0..60 {
            assert_eq!(drawn(5, 3, stripe), drawn(5, 1, stripe / 3), "stripe {stripe}");
        }
    }

    /// Every host page has its own page beside the parities, and each direction undoes the other.
    #[test]
    fn each_direction_undoes_the_other() {
        for members in 4..=64 {
            let map = Raid6Map::new(members, 150, 1);
            let mut taken = vec![false; usize::from(members) * 150];
            let mut take = |address: MemberPage| {
                let slot = address.page.0 as usize * usize::from(members) + usize::from(address.member.0);
                assert!(!std::mem::replace(&mut taken[slot], true), "{address:?} is used twice");
            };
            for stripe in (0..150).map(StripeId) {
                let row = map.row(stripe);
                let second = row.second_parity().unwrap();
                assert_eq!((row.role(row.parity().member), row.role(second.member)), (Some(Role::Parity), Some(Role::Parity)));
                assert_eq!(row.parity_bits(), 1 << row.parity().member.0 | 1 << second.member.0);
                take(row.parity());
                take(second);
                for index in 0..row.width() {
                    let lpn = Lpn(map.first(stripe).0 + u64::from(index));
                    assert_eq!(map.position(lpn), (stripe, index));
                    assert_eq!(row.role(row.data(index).member), Some(Role::Data(index)));
                    assert_eq!((map.stripe_of(row.data(index)), map.page_on(stripe, row.data(index).member)), (stripe, row.data(index)));
                    take(row.data(index));
                }
            }
            assert!(taken.into_iter().all(|taken| taken));
        }
    }
}
