//! Pages that are gone: the host was told that it has written them, they did not come to flash, and nobody has them any more. Flash may still have
//! what they held before, and redundancy that gives it, which must not pass for them: they are lost, until all of a page is written or discarded.
//!
//! So is what a data buffer cannot write; its entry may hold what several requests wrote, most of them long acknowledged. Without a buffer, so is a write
//! that is acknowledged when its data are in the chips' registers (`write_completes`), or before its last programs have ended (`posted_programs`),
//! if no page is left for it when its chip dies.

use super::state::FrontEnd;
use crate::engine::operations::Operations;
use crate::engine::request::Request;
use flashraid_redundancy::parts::bits::Bits;
use flashraid_redundancy::{Operation, OperationKind};
use flashraid_vocabulary::{HostOp, Lpn, NIL};

impl FrontEnd {
    /// Whether the controller or its data buffer holds a version of the page that is acknowledged and not on flash yet.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.in_controller.contains_key(&lpn.0) || self.buffer.as_ref().is_some_and(|buffer| buffer.holds(lpn))
    }

    /// Whether the data buffer does that, and keeps it when the controller loses power.
    pub fn holds_safely(&self, lpn: Lpn) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.survives_power_loss() && buffer.holds(lpn))
    }

    /// Whether the page is gone: older content, which flash may still have, must not pass for it.
    pub(in crate::engine) fn is_gone(&self, lpn: Lpn, operations: &Operations) -> bool {
        !self.gone.is_empty() && self.gone.contains(&lpn.0) && !self.is_renewed(lpn) && !self.is_answered_anew(lpn, operations)
    }

    /// Whether the controller has all of the page, or a discard of it, from an operation that was acknowledged and goes on. If that fails the page is as it was.
    fn is_answered_anew(&self, lpn: Lpn, operations: &Operations) -> bool {
        let operation = self.answered_early(lpn, operations);
        operation.is_some_and(|operation| Bits(covered(operation)).any(|strip| operation.host_page(strip) == lpn))
    }

    /// Whether the data buffer has all of the page, or a discard of it, so that what flash has lost of it is not missed.
    pub fn is_renewed(&self, lpn: Lpn) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.renews(lpn))
    }

    /// The operation on the page that was acknowledged and goes on.
    pub(in crate::engine) fn answered_early<'a>(&self, lpn: Lpn, operations: &'a Operations) -> Option<&'a Operation> {
        self.in_controller.get(&lpn.0).map(|id| operations.operation(*id))
    }

    /// Pages that are gone.
    pub(in crate::engine) fn count_gone(&self, operations: &Operations) -> usize {
        self.gone.iter().filter(|lpn| self.is_gone(Lpn(**lpn), operations)).count()
    }

    /// Whether the operation needs what is gone: it reads it, or writes a part over it. (What leaves a buffer covers nothing but itself.)
    #[inline]
    pub(in crate::engine) fn needs_what_is_gone(&self, id: u32, operations: &Operations) -> bool {
        !self.gone.is_empty() && self.needs_any_gone(id, operations)
    }

    #[cold]
    fn needs_any_gone(&self, id: u32, operations: &Operations) -> bool {
        let operation = operations.operation(id);
        let needed = match operation.kind {
            OperationKind::Read => operation.strips,
            OperationKind::Write if self.buffer.is_none() => operation.merge_strips,
            _ => 0,
        };
        Bits(needed).any(|strip| self.is_gone(operation.host_page(strip), operations))
    }

    /// An operation of a request has failed. Of a write, of zeroes too, that the host takes for done, the pages are gone. Of a discard nobody is owed
    /// anything: the page has its old content.
    #[cold]
    pub(in crate::engine) fn check_word(&mut self, operation: &Operation, request: u32) {
        if request == NIL || !self.requests.is_believed(request) {
            return;
        }
        let Request { op, write_index, .. } = self.requests[request];
        if !matches!(op, HostOp::Write | HostOp::WriteZeroes) {
            return;
        }
        self.gone.extend(operation.host_pages().map(|lpn| lpn.0));
        self.requests.owes_word_of(write_index);
    }

    /// A write or discard that has ended covers what was gone.
    #[cold]
    pub(in crate::engine) fn covers_what_was_gone(&mut self, operation: &Operation) {
        for strip in Bits(covered(operation)) {
            self.gone.remove(&operation.host_page(strip).0);
        }
    }

    /// Whole pages were discarded, of a space of so many, and their trims are decided: of those that are gone, what flash has nothing of has no trim, and is
    /// unwritten at once.
    #[cold]
    pub(in crate::engine) fn discard_gone(&mut self, first: u64, end: u64, space_pages: u64, is_on_flash: impl Fn(Lpn) -> bool) {
        let Self { gone, buffer, .. } = self;
        let is_discarded = |lpn: Lpn| (lpn.0 + space_pages - first % space_pages) % space_pages < end - first;
        gone.retain(|lpn| {
            let lpn = Lpn(*lpn);
            let leaves = buffer.as_ref().is_some_and(|buffer| buffer.departures(lpn).next().is_some());
            let stays = leaves || !is_discarded(lpn) || is_on_flash(lpn);
            if let Some(buffer) = buffer.as_mut().filter(|_| !stays) {
                buffer.is_off_flash(lpn);
            }
            stays
        });
    }
}

/// Strips of which an operation leaves nothing of what they were.
pub(super) fn covered(operation: &Operation) -> u64 {
    match operation.kind {
        OperationKind::Write => operation.strips & !operation.merge_strips,
        OperationKind::Trim => operation.strips,
        _ => 0,
    }
}
