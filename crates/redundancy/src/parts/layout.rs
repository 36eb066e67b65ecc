//! Which strip lies on which member (SPEC 0.2).
//!
//! Everything else asks the layout and does no arithmetic of its own, so that a table can take the place of a formula
//! (uneven parity, SPEC 5.4): such a layout states `parity_member` from its table and inherits the rest.

use flashraid_vocabulary::{LocalPage, Lpn, MemberId, MemberPage, StripeId};

/// What a page of a stripe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The data strip of this index.
    Data(u32),
    /// The parity strip.
    Parity,
}

/// Where the strips of one stripe lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    page: LocalPage,
    parity: MemberId,
}

impl Row {
    /// The local page of every strip in its member.
    #[inline]
    pub fn page(&self) -> LocalPage {
        self.page
    }

    /// The page of data strip `index`: data strips fill the members in order, leaving out the one with the parity.
    #[inline]
    pub fn data(&self, index: u32) -> MemberPage {
        let index = index as u16;
        MemberPage { member: MemberId(index + u16::from(index >= self.parity.0)), page: self.page }
    }

    /// The page of the parity strip.
    #[inline]
    pub fn parity(&self) -> MemberPage {
        MemberPage { member: self.parity, page: self.page }
    }

    /// The inverse of `data` and `parity`: what the strip on `member` is.
    pub fn role(&self, member: MemberId) -> Role {
        match member.0.cmp(&self.parity.0) {
            std::cmp::Ordering::Less => Role::Data(u32::from(member.0)),
            std::cmp::Ordering::Equal => Role::Parity,
            std::cmp::Ordering::Greater => Role::Data(u32::from(member.0) - 1),
        }
    }
}

/// Stripes of one parity strip and as many data strips as there are other members.
pub trait Layout: Clone + Send + 'static {
    /// Members of the group, at most 64.
    fn members(&self) -> u32;

    /// Number of stripes.
    fn stripes(&self) -> u32;

    /// The member that carries the parity of `stripe`.
    fn parity_member(&self, stripe: StripeId) -> MemberId;

    /// Data strips of a stripe.
    #[inline]
    fn width(&self) -> u32 {
        self.members() - 1
    }

    /// Stripe and index of a host page.
    #[inline]
    fn position(&self, lpn: Lpn) -> (StripeId, u32) {
        let width = u64::from(self.width());
        let stripe = lpn.0 / width;
        (StripeId(stripe as u32), (lpn.0 - stripe * width) as u32)
    }

    /// The host page in strip 0 of a stripe; those in the other strips follow.
    #[inline]
    fn first(&self, stripe: StripeId) -> Lpn {
        Lpn(u64::from(stripe.0) * u64::from(self.width()))
    }

    /// The members of a stripe.
    #[inline]
    fn row(&self, stripe: StripeId) -> Row {
        Row { page: LocalPage(stripe.0), parity: self.parity_member(stripe) }
    }

    /// The stripe to which a local page belongs.
    #[inline]
    fn stripe_at(&self, page: LocalPage) -> StripeId {
        StripeId(page.0)
    }
}

/// RAID-4: parity always on the last member.
#[derive(Clone, Copy, Debug)]
pub struct LastMember {
    /// Members of the group.
    pub members: u16,
    /// Number of stripes.
    pub stripes: u32,
}

impl Layout for LastMember {
    fn members(&self) -> u32 {
        u32::from(self.members)
    }

    fn stripes(&self) -> u32 {
        self.stripes
    }

    #[inline]
    fn parity_member(&self, _stripe: StripeId) -> MemberId {
        MemberId(self.members - 1)
    }
}

/// RAID-5, left-asymmetric: the parity of stripe s on member n - 1 - (s mod n).
#[derive(Clone, Copy, Debug)]
pub struct LeftAsymmetric {
    /// Members of the group.
    pub members: u16,
    /// Number of stripes.
    pub stripes: u32,
}

impl Layout for LeftAsymmetric {
    fn members(&self) -> u32 {
        u32::from(self.members)
    }

    fn stripes(&self) -> u32 {
        self.stripes
    }

    #[inline]
    fn parity_member(&self, stripe: StripeId) -> MemberId {
        MemberId(self.members - 1 - (stripe.0 % u32::from(self.members)) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every host page has its own page beside the parities, and each direction undoes the other.
    fn both_directions_agree(layout: &impl Layout) {
        let mut taken = vec![false; (layout.members() * layout.stripes()) as usize];
        let mut take = |address: MemberPage| {
            let slot = (address.page.0 * layout.members() + u32::from(address.member.0)) as usize;
            assert!(!std::mem::replace(&mut taken[slot], true), "{address:?} is used twice");
        };
        for stripe in (0..layout.stripes()).map(StripeId) {
            let row = layout.row(stripe);
            assert_eq!(row.parity(), MemberPage { member: layout.parity_member(stripe), page: row.page() });
            assert_eq!(row.role(row.parity().member), Role::Parity);
            assert_eq!(layout.stripe_at(row.page()), stripe);
            take(row.parity());
            for index in 0..layout.width() {
                let lpn = Lpn(layout.first(stripe).0 + u64::from(index));
                assert_eq!(layout.position(lpn), (stripe, index));
                assert_eq!(row.role(row.data(index).member), Role::Data(index));
                take(row.data(index));
            }
        }
        assert!(taken.into_iter().all(|taken| taken));
    }

    #[test]
    fn each_direction_undoes_the_other() {
        for members in 3..=64 {
            both_directions_agree(&LastMember { members, stripes: 200 });
            both_directions_agree(&LeftAsymmetric { members, stripes: 200 });
        }
    }

    #[test]
    fn raid5_places_the_parities_of_figure_3_of_cr5m() {
        // SPEC 0.2: four channels, P0 on channel 3, P1 on 2, P3 on 0; each host page on channel strip(s, m) mod 4 = m.
        let layout = LeftAsymmetric { members: 4, stripes: 8 };
        let parities: Vec<u16> = (0..5).map(|stripe| layout.parity_member(StripeId(stripe)).0).collect();
        assert_eq!(parities, [3, 2, 1, 0, 3]);
        let members = |stripe| [0, 1, 2].map(|index| layout.row(StripeId(stripe)).data(index).member.0);
        assert_eq!(members(0), [0, 1, 2]);
        assert_eq!(members(1), [0, 1, 3]);
        assert_eq!(members(3), [1, 2, 3]);
    }

    #[test]
    fn raid5_places_the_strips_of_figure_4_of_ppc() {
        // SPEC 0.2: 4+1 chips; D1 and D6 lie on chips 1 and 2, and their parities on 4 and 3.
        let layout = LeftAsymmetric { members: 5, stripes: 8 };
        let chips = |lpn| {
            let (stripe, index) = layout.position(Lpn(lpn));
            (layout.row(stripe).data(index).member.0, layout.parity_member(stripe).0)
        };
        assert_eq!(chips(1), (1, 4));
        assert_eq!(chips(6), (2, 3));
    }

    #[test]
    fn raid4_keeps_every_parity_on_the_last_member() {
        let layout = LastMember { members: 4, stripes: 8 };
        assert!((0..8).all(|stripe| layout.parity_member(StripeId(stripe)) == MemberId(3)));
    }
}
