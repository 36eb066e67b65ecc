//! XOR takes time (`xor_ns`): a program whose content is the XOR of several pages is submitted when the controller has computed that.
//!
//! Until then it counts among the outstanding page operations of its operation. XORs of different operations are computed side by side; an operation computes
//! one after the other. Mostly it has one; a repair may have to make up a strip of a deferred parity, and the parity on flash, too.

use super::content::Content;
use super::slot::{NIL, Sum};
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
    pub(super) fn compute_sums(&mut self, id: u32, operations: &mut Vec<PageOperation>) {
        debug_assert!(
            operations.is_empty() || self.operations.rare(id).sum == NIL,
            "what one wave computes is programmed before the next one"
        );
        // The last first, so that each is put before those that follow it.
        while let Some(index) = operations.iter().rposition(is_sum) {
            let mut program = operations.remove(index);
            program.host_waits = self.host_waits(&program);
            let slot = &mut self.operations.slots[id as usize];
            slot.outstanding += 1;
            slot.waits += u8::from(program.host_waits);
            let sum = Sum { program, next: self.operations.rare(id).sum };
            self.operations.rare_mut(id).sum = self.sums.put(sum);
        }
        if self.operations.rare(id).sum != NIL {
            self.clock.pause(id, self.options.xor_ns);
        }
    }

    /// The pause of an operation is over: it goes on, with what it has computed.
    pub(super) fn pause_is_over(&mut self, id: u32) {
        let computed = self.operations.rare(id).sum;
        if computed != NIL {
            let Sum { program, next } = self.sums[computed];
            self.sums.give_back(computed);
            self.operations.rare_mut(id).sum = next;
            let slot = &mut self.operations.slots[id as usize];
            slot.outstanding -= 1;
            slot.waits -= u8::from(program.host_waits);
            if next != NIL {
                self.clock.pause(id, self.options.xor_ns);
            }
            self.submit_page_operation(id, &program);
        }
        self.go_on(id);
    }
}
