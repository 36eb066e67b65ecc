//! Pages that are gone: the host was told that it has written them, they did not come to flash, and nobody has them any more. Flash may still have
//! what they held before, and redundancy that gives it, which must not pass for them: they are lost, until all of a page is written or discarded.
//!
//! So is what a data buffer cannot write; its entry may hold what several requests wrote, most of them long acknowledged. Without a buffer, so is a write
//! that is acknowledged when its data are in the chips' registers (`write_completes`), or before its last programs have ended (`posted_programs`),
//! if no page is left for it when its chip dies.

use super::content::Content;
use super::request::{Flush, Request};
use super::slot::NIL;
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::parts::bits::Bits;
use flashraid_redundancy::{Failure, Method, Operation, OperationKind};
use flashraid_vocabulary::{HostOp, Lpn, Version};

impl<C: Content, M: Media> Engine<C, M> {
    /// Whether the page is gone: older content, which flash may still have, must not pass for it.
    pub fn is_gone(&self, lpn: Lpn) -> bool {
        !self.gone.is_empty() && self.gone.contains(&lpn.0) && !self.is_renewed(lpn) && !self.is_answered_anew(lpn)
    }

    /// Whether the controller has all of the page, or a discard of it, from an operation that was acknowledged and goes on. If that fails the page is as it was.
    fn is_answered_anew(&self, lpn: Lpn) -> bool {
        self.answered_early(lpn).is_some_and(|operation| Bits(covered(operation)).any(|strip| operation.host_page(strip) == lpn))
    }

    /// Whether the data buffer has all of the page, or a discard of it, so that what flash has lost of it is not missed.
    pub fn is_renewed(&self, lpn: Lpn) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.renews(lpn))
    }

    /// Whether registers of chips alone have the page: it is acknowledged, is being programmed, and its redundancy is made later.
    pub fn is_in_registers_alone(&self, lpn: Lpn) -> bool {
        let is_deferred = |operation: &Operation| operation.kind == OperationKind::Write && operation.method == Method::Deferred;
        self.exposure.is_some() && self.answered_early(lpn).is_some_and(is_deferred)
    }

    /// The operation on the page that was acknowledged and goes on.
    fn answered_early(&self, lpn: Lpn) -> Option<&Operation> {
        self.in_controller.get(&lpn.0).map(|id| self.operation(*id))
    }

    /// Pages that are gone.
    pub fn count_gone(&self) -> usize {
        self.gone.iter().filter(|lpn| self.is_gone(Lpn(**lpn))).count()
    }

    /// Whether the operation needs what is gone: it reads it, or writes a part over it. (What leaves a buffer covers nothing but itself.)
    #[inline]
    pub(super) fn needs_what_is_gone(&self, id: u32) -> bool {
        !self.gone.is_empty() && self.needs_any_gone(id)
    }

    #[cold]
    fn needs_any_gone(&self, id: u32) -> bool {
        let operation = self.operation(id);
        let needed = match operation.kind {
            OperationKind::Read => operation.strips,
            OperationKind::Write if self.buffer.is_none() => operation.merge_strips,
            _ => 0,
        };
        Bits(needed).any(|strip| self.is_gone(operation.host_page(strip)))
    }

    /// A read of a page that is gone fails, and so does a write of a part of it, beneath which nothing is.
    #[cold]
    pub(super) fn fail_over_what_is_gone(&mut self, request: u32) {
        let failed = &mut self.requests[request as usize].failed;
        *failed = (*failed).max(Some(Failure::Lost));
    }

    /// Whether the host takes the request for done.
    pub(super) fn is_believed(&self, request: u32) -> bool {
        let Request { unanswered, failed, .. } = self.requests[request as usize];
        unanswered == 0 && failed.is_none()
    }

    /// An operation of a request has failed. Of a write, of zeroes too, that the host takes for done, the pages are gone. Of a discard nobody is owed
    /// anything: the page has its old content.
    #[cold]
    pub(super) fn check_word(&mut self, operation: &Operation, request: u32) {
        if request == NIL || !self.is_believed(request) {
            return;
        }
        let Request { op, write_index, .. } = self.requests[request as usize];
        if !matches!(op, HostOp::Write | HostOp::WriteZeroes) {
            return;
        }
        self.gone.extend(operation.host_pages().map(|lpn| lpn.0));
        self.owes_word_of(write_index);
    }

    /// Pages are gone of the write at this position among all, or of one before: flushes fail that wait to make it durable, and if there are none, the next
    /// one that was to.
    #[cold]
    pub(super) fn owes_word_of(&mut self, position: u64) {
        let mut is_told = false;
        for index in 0..self.flushes.len() {
            let Flush { target, request, .. } = self.flushes[index];
            if target > position {
                self.fail_over_what_is_gone(request);
                is_told = true;
            }
        }
        if !is_told {
            let (first, last) = self.untold.unwrap_or((position, position));
            self.untold = Some((first.min(position), last.max(position)));
        }
    }

    /// A flush ends that was to make all writes before position `target` durable: it fails, if pages of them are gone, and the host was not told.
    pub(super) fn keep_word(&mut self, target: u64, flush: u32) {
        if let Some((first, last)) = self.untold.filter(|(first, _)| *first < target) {
            self.fail_over_what_is_gone(flush);
            self.untold = (last >= target).then_some((first.max(target), last));
        }
    }

    /// A write or discard that has ended covers what was gone.
    #[cold]
    pub(super) fn covers_what_was_gone(&mut self, operation: &Operation) {
        for strip in Bits(covered(operation)) {
            self.gone.remove(&operation.host_page(strip).0);
        }
    }

    /// Whole pages were discarded, and their trims are decided: of those that are gone, what flash has nothing of has no trim, and is unwritten at once.
    #[cold]
    pub(super) fn discard_gone(&mut self, first: u64, end: u64) {
        let Self { gone, buffer, scheme, media, options, .. } = self;
        let space = options.space_pages;
        let is_discarded = |lpn: Lpn| (lpn.0 + space - first % space) % space < end - first;
        let is_on_flash = |lpn: Lpn| media.lookup(scheme.locate(lpn), Version::Current).is_some();
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
