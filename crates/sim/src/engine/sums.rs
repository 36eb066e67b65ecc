//! XOR takes time (`xor_ns`): a program whose content is the XOR of several pages is submitted when the controller has computed that.
//!
//! Until then it counts among the outstanding page operations of its operation. The XORs of one wave are computed one after the other, those of different
//! operations side by side.

use super::content::Content;
use super::slot::NIL;
use super::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::{Action, Cause, PageOperation};
use std::collections::VecDeque;

/// Whether the controller computes what this page operation programs of more than one page.
fn is_sum(page_operation: &PageOperation) -> bool {
    let sources = page_operation.sources;
    let terms = sources.host.count_ones() + sources.reads.count_ones() + u32::from(sources.deferred);
    page_operation.action == Action::Program && terms > 1
}

impl<C: Content, M: Media> Engine<C, M> {
    /// Takes what has to be computed first out of a wave.
    pub(super) fn compute_sums(&mut self, id: u32, operations: &mut Vec<PageOperation>) {
        for mut sum in operations.extract_if(.., |page_operation| is_sum(page_operation)) {
            sum.host_waits &= self.options.host.parity_in_response || sum.cause != Cause::Parity;
            let slot = &mut self.slots[id as usize];
            if slot.sums == NIL {
                slot.sums = self.free_sums.pop().unwrap_or_else(|| {
                    self.sums.push(VecDeque::new());
                    self.sums.len() as u32 - 1
                });
            }
            slot.outstanding += 1;
            slot.waits += u8::from(sum.host_waits);
            let waiting = &mut self.sums[slot.sums as usize];
            waiting.push_back(sum);
            self.clock.pause(id, self.options.xor_ns * waiting.len() as u64);
        }
    }

    /// The pause of an operation is over: it goes on, or the next one of its sums is computed.
    pub(super) fn pause_is_over(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        if slot.sums != NIL {
            let list = slot.sums;
            let sum = self.sums[list as usize].pop_front().expect("a list of an operation is not empty");
            if self.sums[list as usize].is_empty() {
                self.free_sums.push(list);
                slot.sums = NIL;
            }
            slot.outstanding -= 1;
            slot.waits -= u8::from(sum.host_waits);
            self.submit_page_operation(id, &sum);
        }
        self.go_on(id);
    }
}
