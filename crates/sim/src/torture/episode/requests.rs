//! The requests of an episode, and what has completed of them.

use super::setup::{Episode, Favor};
use crate::media::Media;
use flashraid_vocabulary::{HostOp, HostRequest};

/// Pages on which most requests concentrate.
const HOT_PAGES: u64 = 24;

impl<M: Media> Episode<M> {
    pub(super) fn submit(&mut self) {
        let page_bytes = u64::from(self.engine.media.shape().page_bytes);
        let (space, sector) = (self.engine.space_pages() * page_bytes, page_bytes / 8);
        let kind = self.random.below(100);
        let favored = self.favored.filter(|_| self.random.once_in(3));
        let op = match kind {
            _ if favored == Some(Favor::Flushes) => HostOp::Flush,
            _ if favored == Some(Favor::Trims) => HostOp::Trim,
            _ if favored == Some(Favor::PartsOfPages) => HostOp::Write,
            _ if kind < self.write_share => HostOp::Write,
            _ if kind.is_multiple_of(8) => HostOp::Flush,
            _ if kind % 8 < 3 => HostOp::Trim,
            _ if kind % 8 == 3 => HostOp::WriteZeroes,
            _ => HostOp::Read,
        };
        let page = if self.random.once_in(4) {
            self.random.below(self.engine.space_pages())
        } else {
            (self.hot_page + self.random.below(HOT_PAGES)) % self.engine.space_pages()
        };
        let pages = if self.random.once_in(20) { 4 * self.most_pages } else { self.most_pages };
        let whole = favored != Some(Favor::PartsOfPages) && self.random.once_in(2) || op == HostOp::Trim;
        let (mut offset_bytes, mut size_bytes) = (page * page_bytes, self.random.within(1, pages) * page_bytes);
        if !whole {
            offset_bytes += self.random.below(8) * sector;
            size_bytes = self.random.within(1, 8 * pages) * sector;
        }
        size_bytes = size_bytes.min(space - offset_bytes);
        if op == HostOp::Flush {
            (offset_bytes, size_bytes) = (0, 0);
        }
        if self.random.once_in(500) {
            self.hot_page = self.random.below(self.engine.space_pages());
        }
        let arrival_ns = self.engine.now_ns();
        let changes = matches!(op, HostOp::Write | HostOp::Trim | HostOp::WriteZeroes);
        let pages =
            || (offset_bytes / page_bytes..(offset_bytes + size_bytes).div_ceil(page_bytes)).take(if changes { usize::MAX } else { 0 });
        self.flushes.before(&self.engine, pages());
        let sequence = self.engine.submit(&HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }, true);
        self.flushes.after(&self.engine, sequence, pages());
        if op == HostOp::Flush {
            self.pending_flushes.insert(sequence);
        }
        self.submitted += 1;
    }

    /// Takes notice of what has completed.
    pub(super) fn take_completed(&mut self) {
        for completed in std::mem::take(&mut self.engine.completed) {
            if self.pending_flushes.remove(&completed.sequence) && completed.ok {
                self.flushes.completed(completed.sequence);
            }
        }
        self.flushes.doubt(self.engine.content.take_doubts());
        self.flushes.served(&self.engine);
    }
}
