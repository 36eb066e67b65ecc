//! The host of an episode: its requests, and what has completed of them.

use crate::flushes::Flushes;
use crate::random::Random;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::media::Media;
use flashraid_vocabulary::{HostOp, HostRequest, Lpn};
use std::collections::BTreeMap;

/// Pages on which most requests concentrate.
const HOT_PAGES: u64 = 24;
/// Events between two requests while a rebuild is to make progress.
const IDLE_PACE: u64 = 30;

/// See the module.
pub(super) struct Host {
    /// Where requests concentrate.
    hot_page: u64,
    queue_depth: u64,
    /// About how many events come between two requests.
    pace: u64,
    write_share: u64,
    /// Pages of the longest ordinary request.
    most_pages: u64,
    /// What requests are to be now, if something is wanted of them.
    favored: Option<Favor>,
    /// Whether the device is to have idle time now.
    idles: bool,
    flushes: Flushes,
    /// Flushes submitted and not completed, and what they promise.
    pending_flushes: BTreeMap<u64, u64>,
    submitted: u64,
}

/// Requests of one kind.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Favor {
    Flushes,
    Trims,
    PartsOfPages,
}

impl Host {
    /// A host of a device of so many pages, in stripes of so many.
    pub(super) fn new(random: &mut Random, space: u64, width: u32) -> Self {
        Self {
            hot_page: random.below(space),
            queue_depth: random.of_list(&[1, 2, 4, 8, 16, 32]),
            pace: random.of_list(&[1, 1, 4, 20, 100]),
            write_share: random.within(30, 80),
            most_pages: random.within(1, 2 * u64::from(width) + 1),
            favored: None,
            idles: false,
            flushes: Flushes::default(),
            pending_flushes: BTreeMap::new(),
            submitted: 0,
        }
    }

    /// Requests submitted.
    pub(super) fn submitted(&self) -> u64 {
        self.submitted
    }

    /// From now on many requests are to be of this kind.
    pub(super) fn favor(&mut self, favored: Favor) {
        self.favored = Some(favored);
    }

    /// From now on the device has idle time: some orders of rebuild, and replacements, only make progress where the host leaves a member idle.
    pub(super) fn leave_idle_time(&mut self) {
        self.idles = true;
    }

    /// Nothing is wanted any more.
    pub(super) fn be_as_usual(&mut self) {
        (self.favored, self.idles) = (None, false);
    }

    /// Whether a request is to come, of a host of which so many are outstanding.
    pub(super) fn is_to_submit(&self, outstanding: u64, random: &mut Random) -> bool {
        let pace = if self.idles { self.pace.max(IDLE_PACE) } else { self.pace };
        outstanding < self.queue_depth && random.once_in(pace)
    }

    /// A page that flash has older than a flush guarantees.
    pub(super) fn broken_flush<M: Media>(&mut self, engine: &mut Engine<Tags, M>) -> Option<Lpn> {
        self.flushes.doubt(engine.executor.content.take_doubts());
        self.flushes.broken(engine)
    }

    /// Submits the next request.
    pub(super) fn submit<M: Media>(&mut self, engine: &mut Engine<Tags, M>, random: &mut Random) {
        let page_bytes = u64::from(engine.executor.media.shape().page_bytes);
        let (space, sector) = (engine.space_pages() * page_bytes, page_bytes / 8);
        let kind = random.below(100);
        let favored = self.favored.filter(|_| random.once_in(3));
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
        let page = if random.once_in(4) {
            random.below(engine.space_pages())
        } else {
            (self.hot_page + random.below(HOT_PAGES)) % engine.space_pages()
        };
        let pages = if random.once_in(20) { 4 * self.most_pages } else { self.most_pages };
        let whole = favored != Some(Favor::PartsOfPages) && random.once_in(2) || op == HostOp::Trim;
        let (mut offset_bytes, mut size_bytes) = (page * page_bytes, random.within(1, pages) * page_bytes);
        if !whole {
            offset_bytes += random.below(8) * sector;
            size_bytes = random.within(1, 8 * pages) * sector;
        }
        size_bytes = size_bytes.min(space - offset_bytes);
        if op == HostOp::Flush {
            (offset_bytes, size_bytes) = (0, 0);
        }
        if random.once_in(500) {
            self.hot_page = random.below(engine.space_pages());
        }
        let arrival_ns = engine.now_ns();
        let changes = matches!(op, HostOp::Write | HostOp::Trim | HostOp::WriteZeroes);
        let host_pages =
            (offset_bytes / page_bytes..(offset_bytes + size_bytes).div_ceil(page_bytes)).take(if changes { usize::MAX } else { 0 });
        let pages: Vec<u64> = host_pages.map(|page| engine.executor.space.page_at(page).0).collect();
        self.flushes.before(engine, pages.iter().copied());
        // One more than there are.
        let streams = u64::from(engine.executor.options.write_streams);
        let stream = if streams > 1 { random.below(streams + 1) as u16 } else { 0 };
        let sequence = engine.submit(&HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream, source: 0 }, true);
        self.flushes.after(engine, sequence, pages.iter().copied());
        if op == HostOp::Flush {
            self.pending_flushes.insert(sequence, Flushes::promised(engine, sequence));
        }
        self.submitted += 1;
    }

    /// Takes notice of what has completed.
    pub(super) fn take_completed<M: Media>(&mut self, engine: &mut Engine<Tags, M>) {
        for completed in std::mem::take(&mut engine.front_end.completed) {
            if let Some(promised) = self.pending_flushes.remove(&completed.sequence).filter(|_| completed.ok) {
                self.flushes.completed(promised);
            }
        }
        self.flushes.doubt(engine.executor.content.take_doubts());
        self.flushes.decided(engine);
    }
}
