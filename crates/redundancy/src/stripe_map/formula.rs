//! The layouts of RAID-4 and RAID-5 (SPEC 0.2), under the names that Linux md gives them: stripe s has a strip on each member, at local page s.
//!
//! A layout says which member has the parity, and in which order the others have the data. *Left*: the parity moves down from the last member, stripe
//! by stripe; *right*: up from the first. *Asymmetric*: data strips fill the members in order, leaving out the one with the parity; *symmetric*: they
//! begin behind it and go round, which under left-symmetric puts as many neighboring host pages as there are members on different ones.

use super::{Role, Row, StripeMap};
use crate::{Build, Parameter, ParameterError, Values};
use flashraid_vocabulary::{Divisor, LocalPage, Lpn, MemberId, MemberPage, StripeId, persistent};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The layout of the papers.
    LeftAsymmetric,
    /// The default of md.
    LeftSymmetric,
    /// See the module.
    RightAsymmetric,
    /// See the module.
    RightSymmetric,
    /// Parity on the last member: RAID-4.
    LastMember,
}

impl Layout {
    /// The parameter that sets it.
    pub const PARAMETER: Parameter = Parameter {
        name: "layout",
        values: Values::Words(&["left_asymmetric", "left_symmetric", "right_asymmetric", "right_symmetric", "last_member"]),
        about: "Which members hold the parity and the data of a stripe, as in Linux md: the parity rotates from the last member down (left), from \
                the first member up (right), or stays on the last member; data strips start at the first member (asymmetric) or at the member after the parity (symmetric).",
        ..Parameter::PLAIN
    };

    /// The layout that the user asked for.
    pub fn from_build(build: &Build) -> Result<Self, ParameterError> {
        Ok(match build.choice(&Self::PARAMETER)? {
            "left_symmetric" => Self::LeftSymmetric,
            "right_asymmetric" => Self::RightAsymmetric,
            "right_symmetric" => Self::RightSymmetric,
            "last_member" => Self::LastMember,
            "left_asymmetric" => Self::LeftAsymmetric,
            other => unreachable!("no layout is called {other}"),
        })
    }
}

/// Members, at most.
const MOST_MEMBERS: usize = 64;

/// A layout on a number of members.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    stripes: u32,
    members: u8,
    per_turn: Divisor,
    per_stripe: Divisor,
    /// Stripes of a row of chunks.
    chunk: Option<Divisor>,
    /// What stripes, or rows of chunks, that follow each other are like, as many as there are members; then it begins again.
    turns: [Turn; MOST_MEMBERS],
    jump: u32,
}

persistent!(Formula {
    anew [stripes, members, per_turn, per_stripe, chunk, turns, jump],
});

/// The members of a stripe, as `FormulaRow` has them.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    parity: u8,
    first: u8,
    edge: u8,
}

impl Formula {
    /// The layout that the user asked for, on the members of a device.
    pub fn on_device(build: &Build) -> Result<Self, ParameterError> {
        Ok(Self::new(Layout::from_build(build)?, build.members, build.pages_per_member).with_chunks(build.chunk_pages))
    }

    /// With this many stripes on this many members, at most 64.
    pub fn new(layout: Layout, members: u16, stripes: u32) -> Self {
        let is_symmetric = matches!(layout, Layout::LeftSymmetric | Layout::RightSymmetric);
        let turn_of = |turn: u8| {
            let parity = match layout {
                Layout::LeftAsymmetric | Layout::LeftSymmetric => members as u8 - 1 - turn,
                Layout::RightAsymmetric | Layout::RightSymmetric => turn,
                Layout::LastMember => members as u8 - 1,
            };
            if is_symmetric { Turn { parity, first: parity + 1, edge: members as u8 } } else { Turn { parity, first: 0, edge: parity } }
        };
        let mut turns = [Turn::default(); MOST_MEMBERS];
        turns.iter_mut().zip(0..members as u8).for_each(|(turn, number)| *turn = turn_of(number));
        let jump = if is_symmetric { u32::from(members).wrapping_neg() } else { 1 };
        let (per_turn, per_stripe) = (Divisor::new(members.into()), Divisor::new(u32::from(members) - 1));
        Self { stripes, members: members as u8, per_turn, per_stripe, chunk: None, turns, jump }
    }

    /// With chunks of so many pages: stripes of a row of chunks have their strips on the same members (SPEC 8.1 (b)).
    pub fn with_chunks(self, pages: u32) -> Self {
        Self { chunk: (pages > 1).then(|| Divisor::new(pages)), ..self }
    }

    /// The members of a stripe.
    #[inline]
    fn turn(&self, stripe: StripeId) -> Turn {
        let row = self.chunk.as_ref().map_or(stripe.0, |chunk| chunk.divide(stripe.0.into()) as u32);
        self.turns[(row - self.per_turn.divide(row.into()) as u32 * u32::from(self.members)) as usize % MOST_MEMBERS]
    }
}

impl StripeMap for Formula {
    type Row = FormulaRow;

    #[inline]
    fn stripes(&self) -> u32 {
        self.stripes
    }

    #[inline]
    fn most_strips(&self) -> u32 {
        u32::from(self.members) - 1
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
    fn row(&self, stripe: StripeId) -> FormulaRow {
        let Turn { parity, first, edge } = self.turn(stripe);
        let (parity, first, edge) = (parity.into(), first.into(), edge.into());
        FormulaRow { page: LocalPage(stripe.0), width: self.most_strips(), parity, first, edge, jump: self.jump }
    }

    fn uniform_width(&self) -> Option<u32> {
        Some(self.most_strips())
    }
}

/// A stripe of a formula: data strip i on member `first` + i, or, if that is `edge` or more, on the member `jump` further (modulo 2^32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormulaRow {
    page: LocalPage,
    width: u32,
    parity: u32,
    first: u32,
    edge: u32,
    jump: u32,
}

impl Row for FormulaRow {
    #[inline]
    fn width(&self) -> u32 {
        self.width
    }

    #[inline]
    fn data(&self, index: u32) -> MemberPage {
        let before = self.first + index;
        let member = if before >= self.edge { before.wrapping_add(self.jump) } else { before };
        MemberPage { member: MemberId(member as u16), page: self.page }
    }

    #[inline]
    fn parity(&self) -> MemberPage {
        MemberPage { member: MemberId(self.parity as u16), page: self.page }
    }

    fn role(&self, member: MemberId) -> Option<Role> {
        let member = u32::from(member.0);
        let is_before_jump = member >= self.first && member < self.edge;
        Some(match member == self.parity {
            true => Role::Parity,
            false => Role::Data(if is_before_jump { member } else { member.wrapping_sub(self.jump) } - self.first),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: [Layout; 5] =
        [Layout::LeftAsymmetric, Layout::LeftSymmetric, Layout::RightAsymmetric, Layout::RightSymmetric, Layout::LastMember];

    fn map(layout: Layout, members: u16) -> Formula {
        Formula::new(layout, members, 200)
    }

    /// Every host page has its own page beside the parities, and each direction undoes the other.
    #[test]
    fn each_direction_undoes_the_other() {
        for (layout, members) in LAYOUTS.into_iter().flat_map(|layout| (3..=64).map(move |members| (layout, members))) {
            let map = map(layout, members);
            let mut taken = vec![false; usize::from(members) * 200];
            let mut take = |address: MemberPage| {
                let slot = address.page.0 as usize * usize::from(members) + usize::from(address.member.0);
                assert!(!std::mem::replace(&mut taken[slot], true), "{address:?} is used twice");
            };
            for stripe in (0..200).map(StripeId) {
                let row = map.row(stripe);
                assert_eq!(row.role(row.parity().member), Some(Role::Parity));
                take(row.parity());
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

    /// What lies on each member in the first stripes: P, or the index of the data strip.
    fn drawn(layout: Layout, members: u16, stripes: u32) -> Vec<String> {
        let letter = |role| match role {
            Role::Parity => 'P',
            Role::Data(index) => char::from_digit(index, 10).unwrap(),
        };
        let row = |stripe| map(layout, members).row(StripeId(stripe));
        (0..stripes).map(|stripe| (0..members).map(|member| letter(row(stripe).role(MemberId(member)).unwrap())).collect()).collect()
    }

    /// As the comments of md's RAID-5 driver and textbooks draw them.
    #[test]
    fn layouts_are_those_of_md() {
        assert_eq!(drawn(Layout::LeftAsymmetric, 4, 5), ["012P", "01P2", "0P12", "P012", "012P"]);
        assert_eq!(drawn(Layout::LeftSymmetric, 4, 5), ["012P", "12P0", "2P01", "P012", "012P"]);
        assert_eq!(drawn(Layout::RightAsymmetric, 4, 5), ["P012", "0P12", "01P2", "012P", "P012"]);
        assert_eq!(drawn(Layout::RightSymmetric, 4, 5), ["P012", "2P01", "12P0", "012P", "P012"]);
        assert_eq!(drawn(Layout::LastMember, 4, 3), ["012P", "012P", "012P"]);
    }

    /// As md draws chunks: stripes of a row of chunks are alike.
    #[test]
    fn parities_move_from_one_row_of_chunks_to_the_next() {
        for layout in LAYOUTS {
            let (plain, chunks) = (map(layout, 4), map(layout, 4).with_chunks(3));
            for stripe in 0..60 {
                let members = |row: FormulaRow| (0..3).map(|index| row.data(index).member).chain([row.parity().member]).collect::<Vec<_>>();
                assert_eq!(members(chunks.row(StripeId(stripe))), members(plain.row(StripeId(stripe / 3))), "{layout:?}, stripe {stripe}");
                assert_eq!(chunks.row(StripeId(stripe)).parity().page, LocalPage(stripe));
            }
        }
    }

    /// What left-symmetric is for: neighboring host pages, as many as there are members, lie on different members.
    #[test]
    fn left_symmetric_spreads_neighboring_pages() {
        for members in 3..=64 {
            let map = map(Layout::LeftSymmetric, members);
            let member = |lpn| {
                let (stripe, index) = map.position(Lpn(lpn));
                map.row(stripe).data(index).member.0
            };
            for first in 0..u64::from(members) * 3 {
                let mut found: Vec<u16> = (first..first + u64::from(members)).map(member).collect();
                found.sort_unstable();
                assert!(found.iter().copied().eq(0..members), "{members} members, from page {first}: {found:?}");
            }
        }
    }

    #[test]
    fn the_default_places_strips_as_figure_3_of_cr5m_and_figure_4_of_ppc_do() {
        // SPEC 0.2: four channels, P0 on channel 3, P1 on 2, P3 on 0.
        let parities: Vec<u16> = (0..5).map(|stripe| map(Layout::LeftAsymmetric, 4).row(StripeId(stripe)).parity().member.0).collect();
        assert_eq!(parities, [3, 2, 1, 0, 3]);
        // SPEC 0.2: 4+1 chips; D1 and D6 lie on chips 1 and 2, and their parities on 4 and 3.
        let map = map(Layout::LeftAsymmetric, 5);
        let chips = |lpn| {
            let (stripe, index) = map.position(Lpn(lpn));
            (map.row(stripe).data(index).member.0, map.row(stripe).parity().member.0)
        };
        assert_eq!((chips(1), chips(6)), ((1, 4), (2, 3)));
    }
}
