//! What failures take of the pages of a scheme, and how it comes back.

use crate::Protects;
use crate::operation::Operation;
use flashraid_vocabulary::{Lpn, MemberPage, StripeId, Version, View};

/// What failures have done to a stripe, as its state is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing, or nothing that a repair could change.
    None,
    /// Something that a repair would rebuild, had the member where it goes a free page (`View::can_allocate`).
    NoSpace,
    /// All that is lost has a copy: a repair reads one page for each.
    Copy,
    /// Something that is lost has to be computed of others, or what is lost weakens others until the parity is recomputed.
    Compute,
}

/// Tells whether a failure took a version of a page.
pub type Lost<'a> = dyn Fn(MemberPage, Version) -> bool + 'a;

/// A version of a page that a recovery reads, and by what it is multiplied in GF(2^8) before all are added: 1, so that the sum is the XOR, unless a
/// stripe has two parities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The page.
    pub page: MemberPage,
    /// Which version of it.
    pub version: Version,
    /// The factor.
    pub factor: u8,
}

impl Source {
    /// A term of an XOR.
    pub fn plain(page: MemberPage, version: Version) -> Self {
        Self { page, version, factor: 1 }
    }
}

/// Which failures a scheme survives, and how what they take is recovered and repaired. Nobody tells a scheme of a failure: it asks the view.
pub trait Recovery {
    /// The unit of which it survives failures, at any instant.
    fn protects(&self) -> Protects;

    /// How many such failures it survives at once.
    fn survives_failures(&self) -> u32 {
        u32::from(self.protects() != Protects::None)
    }

    /// The scheme's recovery rule: which versions must be read and added to obtain host page `lpn`, with all versions gone of which
    /// `lost` says so? Fills `sources` and returns true, or returns false if the page is lost. Versions that are not written count
    /// as zero and are never lost. Called only for pages whose current version is lost.
    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool;

    /// What failures have done to a stripe, and whether a repair can change that now: if it says so, one that finds the stripe in the same
    /// state does change it.
    fn damage(&self, _stripe: StripeId, _view: &dyn View) -> Damage {
        Damage::None
    }

    /// The operation that repairs a damaged stripe, with space for what it would program as things stand. What it does is planned by `Scheme::step` from
    /// what is lost when it has its lock; if that needs a program elsewhere, it ends with `Step::Nothing` and the next one does it. Causes
    /// are `Rebuild`; nobody waits for it.
    fn repair(&self, _stripe: StripeId, _view: &dyn View) -> Operation {
        unreachable!("a scheme that reports no damage")
    }

    /// Whether there are times when it does not survive what it declares to, as it creates redundancy later. If not, `exposed` is not asked.
    fn has_window(&self) -> bool {
        false
    }

    /// The data strips of a stripe that the failure of the unit on which they lie would take now for that reason. They change when an
    /// operation on the stripe ends, when a base of it is erased, at first touches and when something fails.
    fn exposed(&self, _stripe: StripeId, _view: &dyn View) -> u64 {
        0
    }
}
