//! Which strip of which stripe lies where (SPEC 0.2).
//!
//! Everything else asks the map and does no arithmetic of its own. A map may leave members out of a stripe, give stripes different widths, put the
//! strips of one stripe at different local pages of their members, and answer from a table; the formulas of RAID do none of that.

pub mod formula;
pub mod raid6;
pub mod table;

use crate::Grouping;
use crate::parts::bits::{self, Bits};
use flashraid_vocabulary::{LocalPage, Lpn, MemberId, MemberPage, Persistent, StripeId};
use std::fmt::Debug;
use std::sync::Arc;

/// What a page of a stripe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The data strip of this index.
    Data(u32),
    /// The parity strip, or one of two.
    Parity,
}

/// Where the strips of one stripe lie: each on another member.
pub trait Row: Copy + Debug + Send + Sync {
    /// Number of data strips, at least 2.
    fn width(&self) -> u32;

    /// The page of data strip `index`.
    fn data(&self, index: u32) -> MemberPage;

    /// The page of the parity strip.
    fn parity(&self) -> MemberPage;

    /// The page of the second parity strip, of a stripe that has two.
    #[inline]
    fn second_parity(&self) -> Option<MemberPage> {
        None
    }

    /// The inverse of `data` and the parities: what the strip on `member` is, if there is one.
    fn role(&self, member: MemberId) -> Option<Role>;

    /// Every data strip.
    #[inline]
    fn all(&self) -> u64 {
        bits::lowest(self.width())
    }

    /// The members of these data strips, as bits.
    #[inline]
    fn members(&self, strips: u64) -> u64 {
        Bits(strips).fold(0, |members, strip| members | 1 << self.data(strip).member.0)
    }

    /// The member of the parity, as a bit.
    #[inline]
    fn parity_bit(&self) -> u64 {
        1 << self.parity().member.0
    }

    /// The pages of all parity strips.
    #[inline]
    fn parities(&self) -> impl Iterator<Item = MemberPage> {
        [self.parity()].into_iter().chain(self.second_parity())
    }

    /// The members of all parities, as bits.
    #[inline]
    fn parity_bits(&self) -> u64 {
        self.parities().fold(0, |members, page| members | 1 << page.member.0)
    }
}

/// Stripes of one parity strip, or two, and at least two data strips. Neighboring strips hold neighboring host pages.
pub trait StripeMap: Clone + Persistent + Send + Sync + 'static {
    /// Where the strips of a stripe lie.
    type Row: Row;

    /// Number of stripes.
    fn stripes(&self) -> u32;

    /// Data strips of the widest stripe.
    fn most_strips(&self) -> u32;

    /// Host pages: the data strips of all stripes.
    fn user_pages(&self) -> u64;

    /// Stripe and index of a host page.
    fn position(&self, lpn: Lpn) -> (StripeId, u32);

    /// The host page in strip 0 of a stripe; those in the other strips follow.
    fn first(&self, stripe: StripeId) -> Lpn;

    /// Where the strips of a stripe lie.
    fn row(&self, stripe: StripeId) -> Self::Row;

    /// The stripe is written, maybe for the first time: a map that puts stripes where they are needed then does so now.
    #[inline]
    fn create(&mut self, _stripe: StripeId) {}

    /// Members one of which has the parity of a stripe when what is decided now is planned: others may create the stripe until then.
    #[inline]
    fn parity_members(&self, _stripe: StripeId, row: &Self::Row) -> u64 {
        row.parity_bits()
    }

    /// The page of the strip of a stripe on `member`, which has one: stripe k lies at local page k of its members.
    #[inline]
    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage {
        MemberPage { member, page: LocalPage(stripe.0) }
    }

    /// The stripe of which a page is a strip.
    #[inline]
    fn stripe_of(&self, page: MemberPage) -> StripeId {
        StripeId(page.page.0)
    }

    /// The width of all stripes, if they have the same. Then what is not written is found by the map of pages, without asking stripe by stripe.
    fn uniform_width(&self) -> Option<u32>;

    /// Bytes of the table that the map is; none for a formula.
    fn table_bytes(&self) -> u64 {
        0
    }

    /// Which host pages share a stripe.
    fn grouping(&self) -> Grouping {
        match self.uniform_width() {
            Some(width) => Grouping::Even(width),
            None => {
                let map = self.clone();
                Grouping::Uneven(Arc::new(move |lpn| {
                    let stripe = map.position(lpn).0;
                    let first = map.first(stripe).0;
                    first..first + u64::from(map.row(stripe).width())
                }))
            }
        }
    }
}
