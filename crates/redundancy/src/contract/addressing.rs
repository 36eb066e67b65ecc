//! Where host pages lie.

use crate::operation::Operation;
use flashraid_vocabulary::{LocalPage, Lpn, MemberId, MemberPage, StripeId};
use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;

/// Where host pages lie, and how stripes are numbered: the same for all schemes over one map of stripes.
///
/// A scheme that is made of a part with these rules (`parts::raid::Raid`) names the part instead (`Addressed`).
pub trait Addressing {
    /// Number of host pages that the scheme offers on members of `pages_per_member` logical pages (given at construction).
    fn user_pages(&self) -> u64;

    /// Data strips of the widest stripe.
    fn width(&self) -> u32;

    /// Number of stripes, as locks know them.
    fn stripes(&self) -> u32;

    /// The full-stripe write that fills stripe `index` (0, 1, ...) for `--fill`; the engine runs it in no simulated time.
    /// `None` past the last stripe. Stripes come in the order of host pages, and each is created before (`Scheme::create`).
    fn fill(&self, index: u64) -> Option<Operation>;

    /// Where the host page's current version lives.
    fn locate(&self, lpn: Lpn) -> MemberPage;

    /// The stripe that a write of the host page locks: so that what the lock needs can be fetched ahead.
    fn stripe_of(&self, lpn: Lpn) -> StripeId;

    /// The page with the parity of the host page's stripe, if there is one that operations read: so that what they need can be fetched ahead.
    fn parity_of(&self, _lpn: Lpn) -> Option<MemberPage> {
        None
    }

    /// The stripe's page on a member that has one: where programs of its operations go (`Operation::space`).
    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage;

    /// The stripe, as repairs know them, of which a page is one: the inverse of `page_on`.
    fn stripe_at(&self, page: MemberPage) -> StripeId;

    /// If host pages k n and those that follow lie, n of them, at local page k of their members, for every k, this n: then what is not written is
    /// found by the map of pages, without asking stripe by stripe.
    fn row_pages(&self) -> Option<u32>;

    /// The first of the stripes that have pages at this local page, if all pages of every stripe lie at one local page of their members, and stripes follow
    /// each other as these do: then stripes of which nothing is written are passed over by the map of pages.
    fn first_stripe_at(&self, _page: LocalPage) -> Option<StripeId> {
        None
    }

    /// Which host pages are one stripe: with one parity, or side by side.
    fn grouping(&self) -> Grouping {
        Grouping::Even(self.width())
    }

    /// The other pages that exist whenever host page `lpn` is written, for its sake: its stripe's parity, its other copies.
    /// Appends them to `pages`.
    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>);

    /// The tables that the controller keeps in memory to find pages, by name, with their bytes. `mapped_pages` is the number of logical
    /// pages of all members; a plain page map holds 4 bytes for each, one physical page number.
    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        vec![("page_map", 4 * mapped_pages)]
    }
}

/// A scheme whose pages lie where a part of it says: `Addressing` of the part is that of the scheme, except for what the scheme answers itself.
pub trait Addressed {
    /// The type of the part.
    type Addressing: Addressing + ?Sized;

    /// The part.
    fn addressing(&self) -> &Self::Addressing;

    /// See `Addressing`. Overridden by a scheme that plans the fill in another way than writes.
    fn fill(&self, index: u64) -> Option<Operation> {
        self.addressing().fill(index)
    }

    /// See `Addressing`. Overridden by a scheme that has other tables than the part.
    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        self.addressing().tables(mapped_pages)
    }
}

// The type of the part is known here, so that a call through `dyn Scheme` is one indirect call, not two.
impl<S: Addressed> Addressing for S {
    fn user_pages(&self) -> u64 {
        self.addressing().user_pages()
    }

    fn width(&self) -> u32 {
        self.addressing().width()
    }

    fn stripes(&self) -> u32 {
        self.addressing().stripes()
    }

    fn fill(&self, index: u64) -> Option<Operation> {
        Addressed::fill(self, index)
    }

    fn locate(&self, lpn: Lpn) -> MemberPage {
        self.addressing().locate(lpn)
    }

    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        self.addressing().stripe_of(lpn)
    }

    fn parity_of(&self, lpn: Lpn) -> Option<MemberPage> {
        self.addressing().parity_of(lpn)
    }

    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage {
        self.addressing().page_on(stripe, member)
    }

    fn stripe_at(&self, page: MemberPage) -> StripeId {
        self.addressing().stripe_at(page)
    }

    fn row_pages(&self) -> Option<u32> {
        self.addressing().row_pages()
    }

    fn first_stripe_at(&self, page: LocalPage) -> Option<StripeId> {
        self.addressing().first_stripe_at(page)
    }

    fn grouping(&self) -> Grouping {
        self.addressing().grouping()
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        self.addressing().redundancy_of(lpn, pages);
    }

    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        Addressed::tables(self, mapped_pages)
    }
}

/// Which host pages are the data of one stripe: for a write buffer that lets them leave together.
#[derive(Clone)]
pub enum Grouping {
    /// So many at a time, from page 0 on.
    Even(u32),
    /// Those that this gives for each of them: stripes of different width.
    Uneven(Arc<dyn Fn(Lpn) -> Range<u64> + Send + Sync>),
}

impl Grouping {
    /// The host pages of the stripe of `lpn`.
    #[inline]
    pub fn pages(&self, lpn: Lpn) -> Range<u64> {
        match self {
            Self::Even(width) => {
                let first = lpn.0 - lpn.0 % u64::from(*width);
                first..first + u64::from(*width)
            }
            Self::Uneven(pages) => pages(lpn),
        }
    }
}

impl Debug for Grouping {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even(width) => write!(f, "Even({width})"),
            Self::Uneven(_) => write!(f, "Uneven"),
        }
    }
}
