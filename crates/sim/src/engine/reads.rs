//! Reads that need no flash: of pages that are unwritten, or that the controller still holds.

use super::content::Content;
use super::slot::NIL;
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::Lock;
use flashraid_vocabulary::{PageOperation, Version};

impl<C: Content, M: Media> Engine<C, M> {
    /// Strips of a read that need no flash: unwritten ones, and those that the controller still holds.
    /// `assembled` ones are made of several reads.
    pub(super) fn serve_without_flash(&mut self, id: u32, page_operations: &mut Vec<PageOperation>, assembled: u64) {
        if C::TRACKED && self.buffer.is_some() {
            self.overlay_buffer(id);
        }
        let operation = self.operations.slots[id as usize].operation;
        // With the stripe in hand no write of it is in flight.
        if self.acknowledges_early && operation.lock == Lock::None && !self.in_controller.is_empty() {
            let controller = &self.in_controller;
            let holder = |strip: u32| controller.get(&operation.host_page(strip).0).copied();
            page_operations.retain(|page_operation| holder(u32::from(page_operation.strip)).is_none());
        }
        let from_flash =
            page_operations.iter().fold(0u64, |strips, page_operation| strips | 1u64.checked_shl(page_operation.strip.into()).unwrap_or(0));
        let mut others = operation.strips & !from_flash & !assembled;
        let mut unmapped = 0;
        while others != 0 {
            let strip = others.trailing_zeros();
            others &= others - 1;
            let lpn = operation.host_page(strip);
            let writer = self.in_controller.get(&lpn.0).copied();
            unmapped += u64::from(writer.is_none());
            if C::TRACKED {
                let writer = writer.map(|writer| {
                    let write = &self.operations.slots[writer as usize].operation;
                    (writer, write, write.strips.trailing_zeros() + (lpn.0 - write.first.0) as u32)
                });
                self.content.check_without_flash(id, &operation, strip, writer);
            }
        }
        let request = self.operations.slots[id as usize].request;
        if unmapped > 0 && request != NIL && self.requests[request].measured {
            self.statistics.unmapped_reads += unmapped;
        }
    }

    /// While the read waited for its translation, pages may have been discarded, which are zeroes now, and copies released, which the
    /// current versions equal. A base that was erased equals nothing: its read fails.
    pub(super) fn drop_unmapped(&mut self, id: u32, page_operations: &mut Vec<PageOperation>) {
        let operation = self.operations.slots[id as usize].operation;
        let before = page_operations.len();
        page_operations.retain_mut(|page_operation| {
            if page_operation.version == Version::Base {
                return true;
            }
            if self.media.lookup(page_operation.address, page_operation.version).is_none() {
                page_operation.version = Version::Current;
            }
            let is_mapped = self.media.lookup(page_operation.address, page_operation.version).is_some();
            if C::TRACKED && !is_mapped {
                self.content.check_without_flash(id, &operation, u32::from(page_operation.strip), None);
            }
            is_mapped
        });
        let request = self.operations.slots[id as usize].request;
        if request != NIL && self.requests[request].measured {
            self.statistics.unmapped_reads += (before - page_operations.len()) as u64;
        }
    }
}
