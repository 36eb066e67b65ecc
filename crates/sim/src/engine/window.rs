//! When the engine asks the scheme what its window exposes.

use super::content::Content;
use super::exposure::Exposure;
use super::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::StripeId;

impl<C: Content, M: Media> Engine<C, M> {
    /// Pages that the scheme's window exposes; `None` if it has none.
    pub fn exposure(&self) -> Option<&Exposure> {
        self.exposure.as_deref()
    }

    /// Measuring begins: what was counted so far counts no more.
    pub(crate) fn begin_measuring(&mut self) {
        let now_ns = self.now_ns();
        self.statistics.begin(self.media.counts());
        if let Some(exposure) = &mut self.exposure {
            exposure.begin(now_ns);
        }
    }

    /// Something has changed in the stripe.
    #[inline]
    pub(super) fn note_exposed(&mut self, stripe: StripeId) {
        if let Some(exposure) = &mut self.exposure {
            exposure.set(stripe, self.scheme.exposed(stripe, &self.media), self.clock.now_ns());
        }
    }

    /// Something may have changed in any stripe.
    pub(super) fn note_all_exposed(&mut self) {
        if self.exposure.is_some() {
            (0..self.scheme.stripes()).map(StripeId).for_each(|stripe| self.note_exposed(stripe));
        }
    }

    /// The device is ready for its first request.
    pub(super) fn begin_exposure(&mut self) {
        self.note_all_exposed();
        let now_ns = self.now_ns();
        if let Some(exposure) = &mut self.exposure {
            exposure.begin(now_ns);
        }
    }
}
