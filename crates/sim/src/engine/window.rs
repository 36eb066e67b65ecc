//! When the engine asks the scheme what its window exposes.

use super::content::Content;
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::{Lock, Method, Operation};
use flashraid_vocabulary::{Lpn, StripeId};

impl<C: Content, M: Media> Engine<C, M> {
    /// Whether the scheme's window exposes the page.
    pub fn is_exposed(&self, lpn: Lpn) -> bool {
        let Some(exposure) = &self.exposure else { return false };
        let (stripe, first) = (self.scheme.stripe_of(lpn), self.scheme.grouping().pages(lpn).start);
        let in_registers = exposure.in_registers.get(&stripe).copied().unwrap_or_default();
        (self.scheme.exposed(stripe, &self.media) | in_registers) >> (lpn.0 - first) & 1 == 1
    }

    /// Measuring begins: what was counted so far counts no more.
    pub(crate) fn begin_measuring(&mut self) {
        let now_ns = self.now_ns();
        self.statistics.begin(&self.media.counts());
        if let Some(exposure) = &mut self.exposure {
            exposure.begin(now_ns);
        }
    }

    /// Something has changed in the stripe.
    #[inline]
    pub(super) fn note_exposed(&mut self, stripe: StripeId) {
        if let Some(exposure) = &mut self.exposure {
            let exposed = self.scheme.exposed(stripe, &self.media);
            exposure.set(stripe, exposed, self.clock.now_ns());
        }
    }

    /// The operation has ended.
    #[inline]
    pub(super) fn note_ended(&mut self, operation: &Operation) {
        if let Some(exposure) = &mut self.exposure {
            if operation.lock == Lock::Exclusive {
                exposure.in_registers.remove(&operation.stripe);
            }
            self.note_exposed(operation.stripe);
        }
    }

    /// A write is acknowledged: what creates redundancy later is exposed from now on, as only the registers of the chips have it that program it.
    pub(super) fn note_acknowledged(&mut self, operation: &Operation) {
        if let Some(exposure) = self.exposure.as_mut().filter(|_| operation.method == Method::Deferred) {
            exposure.in_registers.insert(operation.stripe, operation.strips);
            self.note_exposed(operation.stripe);
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
