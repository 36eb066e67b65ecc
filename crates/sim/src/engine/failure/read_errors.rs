//! Pages that cannot be corrected: nothing has failed, and a read finds its page lost.
//!
//! The operation that wanted it starts anew, as after any failure (`repeats`), and reads the rest of the stripe instead. The stripe is repaired, and
//! with it the page programmed elsewhere, unless the user wants no rebuild. Nothing else is looked at: what else is lost is found when it is read.

use crate::engine::content::Content;
use crate::engine::state::Engine;
use crate::media::Media;

impl<C: Content, M: Media> Engine<C, M> {
    /// What reads found to be lost is repaired.
    #[cold]
    pub(in crate::engine) fn take_unreadable(&mut self) {
        while let Some((page, version)) = self.media.take_unreadable() {
            self.failures.read_errors.pages += 1;
            if !self.media.is_lost(page, version) || self.rebuild().is_none() {
                continue;
            }
            match &mut self.translation {
                Some(translation) if self.shape.is_translation(page) => translation.unallocated(page),
                _ => {
                    let stripe = self.scheme.stripe_at(page);
                    self.failures.rebuild.as_mut().expect("there is one").found(stripe);
                }
            }
        }
    }
}
