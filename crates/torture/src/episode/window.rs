//! What failures may take of a scheme that makes redundancy later (`Entry::has_window`): what it declares to be exposed, and nothing else.

use super::setup::{Episode, Problem};
use flashraid_sim::media::Media;
use flashraid_vocabulary::{Lpn, MemberPage, Version};

impl<M: Media> Episode<M> {
    /// Something is about to fail, which may take what is exposed now. What earlier failures took of what was exposed then may still be lost.
    pub(super) fn note_exposed(&mut self) {
        if self.terms.has_window {
            let is_still_lost = |lpn: &u64| self.is_lost_on_flash(Lpn(*lpn)) || self.engine.is_gone(Lpn(*lpn));
            let exposed = (0..self.engine.space_pages()).filter(|lpn| self.engine.is_exposed(Lpn(*lpn)));
            self.damage.may_be_lost = self.damage.may_be_lost.iter().copied().filter(is_still_lost).chain(exposed).collect();
        }
    }

    /// What the next failure would take is what the scheme says: no page less, and no page more where nothing is lost. (Of a stripe that has lost a page
    /// no further failure is tried; memory that has no space loses pages without a failure.)
    pub(super) fn check_exposed(&self, exposed: &[Lpn]) -> Result<(), Problem> {
        let engine = &self.engine;
        if let Some(lpn) = exposed.iter().find(|lpn| !engine.is_exposed(**lpn)) {
            return Err((Some(lpn.0), "would be lost by the failure of its chip, although it is outside the declared window".into()));
        }
        let is_safe = |lpn: &Lpn| exposed.binary_search(lpn).is_err() && !engine.is_gone(*lpn);
        match (0..engine.space_pages()).map(Lpn).find(|lpn| engine.is_exposed(*lpn) && is_safe(lpn)) {
            Some(lpn) if self.damage.failed.is_empty() && self.lost_versions() == 0 => {
                Err((Some(lpn.0), "is in the declared window, although the failure of its chip would not take it".into()))
            }
            _ => Ok(()),
        }
    }

    /// What is lost was exposed, and cannot be recovered.
    pub(super) fn check_window(&self, gone: &[Lpn]) -> Result<(), Problem> {
        let may_be_lost = |lpn: Lpn| self.damage.may_be_lost.contains(&lpn.0) || self.has_useless_parity(lpn) || self.engine.is_gone(lpn);
        if let Some(lpn) = gone.iter().find(|lpn| !may_be_lost(**lpn)) {
            return Err((Some(lpn.0), "is lost, although it was outside the declared window when its chip failed".into()));
        }
        self.check_losses(gone)
    }

    /// Whether the scheme says that no parity covers any page of this stripe: GC has erased a version that the old one covers. (If that was a page
    /// of zeroes, what is left may add up to a lost page, which nobody could know.)
    pub(super) fn has_useless_parity(&self, lpn: Lpn) -> bool {
        let engine = &self.engine;
        let is_stored = |other: &Lpn| {
            engine.executor.media.lookup(engine.scheme().locate(*other), Version::Current).is_some() && !self.is_lost_on_flash(*other)
        };
        let pages = engine.scheme().grouping().pages(lpn);
        self.terms.has_window && pages.map(Lpn).filter(is_stored).all(|other| engine.is_exposed(other))
    }

    /// Whether a rebuild may leave the stripe of this page as it is: with a page lost that was exposed there is no parity to compute, and nobody looks at
    /// the stripe again before its next failure.
    pub(super) fn may_stay_lost(&self, page: MemberPage) -> bool {
        let stripe = self.engine.scheme().stripe_at(page);
        let mut pages = (0..self.engine.space_pages()).map(Lpn).filter(|lpn| self.engine.scheme().stripe_of(*lpn) == stripe);
        self.terms.has_window && pages.any(|lpn| self.damage.may_be_lost.contains(&lpn.0) || self.has_useless_parity(lpn))
    }

    fn is_lost_on_flash(&self, lpn: Lpn) -> bool {
        self.engine.executor.media.is_lost(self.engine.scheme().locate(lpn), Version::Current)
    }
}
