//! Repairs of translation pages of which one copy is lost (SPEC 6.2).

use super::state::Translation;
use crate::engine::content::Content;
use crate::engine::slot::NIL;
use crate::engine::state::Engine;
use crate::media::{FlashFault, Media};
use flashraid_redundancy::{Lock, Operation, OperationKind};

impl<C: Content, M: Media> Engine<C, M> {
    /// Has each translation page of which one copy is lost repaired from the other (SPEC 6.2).
    pub(in crate::engine) fn repair_translation_pages(&mut self) {
        let Some(mut translation) = self.translation.take() else { return };
        translation.unallocated.clear();
        for page in 0..translation.pages() {
            if let Some(copy) = translation.lost_copy(page, &self.media) {
                self.repair_translation_page(&mut translation, page, copy);
            }
        }
        self.translation = Some(translation);
    }

    /// The same for those of which an operation has left a copy without a place, where there is space for it by now.
    #[cold]
    pub(in crate::engine) fn repair_unplaced_translation_pages(&mut self) {
        let Some(translation) = &mut self.translation else { return };
        for page in std::mem::take(&mut translation.unallocated) {
            let mut translation = self.translation.take().expect("not lent");
            // A write may have made both copies since, and a failure taken the other one too.
            if let Some(copy) = translation.lost_copy(page, &self.media) {
                match self.media.can_allocate(translation.copies(page)[copy]) {
                    true => self.repair_translation_page(&mut translation, page, copy),
                    false => translation.unallocated.push(page),
                }
            }
            self.translation = Some(translation);
            self.run_ready();
        }
    }

    fn repair_translation_page(&mut self, translation: &mut Translation, page: u32, copy: usize) {
        #[cfg(feature = "mutants")]
        if self.has_fault(crate::mutants::EngineFault::SkipMapRepair) {
            return;
        }
        if copy == 1 && self.media.makes(FlashFault::RepairFirstCopy) {
            return;
        }
        let operation = translation.operation(page, Lock::Exclusive, 1 << translation.copies(page)[copy].member.0);
        translation.repairs += 1;
        self.admit_work(translation, Operation { kind: OperationKind::Repair, ..operation }, NIL);
    }

    /// Whether repairs of translation pages are in flight.
    pub(in crate::engine) fn repairs_translation_pages(&self) -> bool {
        self.translation.as_ref().is_some_and(|translation| translation.repairs > 0)
    }
}
