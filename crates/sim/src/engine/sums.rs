//! XOR takes time (`xor_ns`): a program whose content is the XOR of several pages is submitted when the controller has computed that.
//!
//! Until then it counts among the outstanding page operations of its operation. XORs of different operations are computed side by side; an operation computes
//! one at a time, as a stripe has one parity.

use super::content::Content;
use super::slot::NIL;
use super::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::{Action, PageOperation};

/// Whether the controller computes what this page operation programs of more than one page.
fn is_sum(page_operation: &PageOperation) -> bool {
    let sources = page_operation.sources;
    let terms = sources.host.count_ones() + sources.reads.count_ones() + u32::from(sources.deferred);
    page_operation.action == Action::Program && terms > 1
}

impl<C: Content, M: Media> Engine<C, M> {
    /// Takes what has to be computed first out of a wave.
    pub(super) fn compute_sum(&mut self, id: u32, operations: &mut Vec<PageOperation>) {
        let Some(index) = operations.iter().position(is_sum) else { return };
        let mut sum = operations.remove(index);
        debug_assert!(!operations.iter().any(is_sum), "two parities in one wave: {operations:?}");
        sum.host_waits = self.host_waits(&sum);
        let slot = &mut self.slots[id as usize];
        slot.outstanding += 1;
        slot.waits += u8::from(sum.host_waits);
        slot.sum = match self.free_sums.pop() {
            Some(free) => {
                self.sums[free as usize] = sum;
                free
            }
            None => {
                self.sums.push(sum);
                self.sums.len() as u32 - 1
            }
        };
        self.clock.pause(id, self.options.xor_ns);
    }

    /// The pause of an operation is over: it goes on, with what it has computed.
    pub(super) fn pause_is_over(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        let computed = std::mem::replace(&mut slot.sum, NIL);
        if computed != NIL {
            let sum = self.sums[computed as usize];
            self.free_sums.push(computed);
            slot.outstanding -= 1;
            slot.waits -= u8::from(sum.host_waits);
            self.submit_page_operation(id, &sum);
        }
        self.go_on(id);
    }
}
