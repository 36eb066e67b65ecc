//! Space domains: sets of planes that share their free pages, because a program may take any of them.

use flashraid_vocabulary::{Priority, persistent};

/// "No operation".
pub(crate) const NIL: u32 = u32::MAX;

/// A first-in first-out list of page operations, linked through their records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

impl Queue {
    /// An empty list.
    pub const EMPTY: Queue = Queue { head: NIL, tail: NIL };
}

/// Programs that wait, by priority.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    /// By class.
    pub(crate) queues: [Queue; Priority::COUNT],
    /// Which of them are not empty.
    pub(crate) mask: u32,
}

impl Pool {
    pub(crate) const EMPTY: Pool = Pool { queues: [Queue::EMPTY; Priority::COUNT], mask: 0 };
}

/// The number of a pool of a domain: of programs that any of its units may take, or of those that only units may take that have replaced others, as long as these
/// have a free page (SPEC 1.10, ruling 14).
#[inline]
pub(crate) fn pool_of(domain: u32, for_replacement: bool) -> u32 {
    2 * domain + u32::from(for_replacement)
}

/// Which of the two a pool is.
#[inline]
pub(crate) fn is_for_replacement(pool: u32) -> bool {
    pool % 2 == 1
}

/// Planes that hold what a scheme writes.
pub(crate) const DATA: usize = 0;
/// Planes that hold translation pages: other blocks of the same planes.
pub(crate) const TRANSLATION: usize = 1;

/// A space domain.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// Pages that host programs may still take.
    pub(crate) free_pages: i64,
    /// Of these, reserved for operations whose programs have not taken theirs yet. After failures more may be reserved than there are:
    /// then programs wait for GC.
    pub(crate) reserved: i64,
    /// Planes of it that live.
    pub(crate) living_planes: u32,
    /// Under static placement, its one data plane.
    pub(crate) plane: u32,
    /// Channels that it spans: first, and one past the last.
    pub(crate) channels: (u32, u32),
    /// Its LUNs in each of these channels.
    pub(crate) units: u64,
    /// Which of each unit's planes: `DATA` or `TRANSLATION`.
    pub(crate) kind: usize,
    /// Planes of units that have replaced others, in which a program of a plan finds a page.
    pub(crate) replacement_planes: u32,
    /// Next channel to be offered a program, when there are several.
    pub(crate) next_channel: u32,
    /// Turn of placement in no simulated time: channel, unit in the channel, plane in the unit.
    pub(crate) fill_turn: (u32, u32, u32),
}

persistent!(Domain {
    keeps [free_pages, living_planes, next_channel, fill_turn],
    // Nothing is reserved, and spare chips and what they replace are not saved.
    anew [reserved, plane, channels, units, kind, replacement_planes],
});

impl Domain {
    /// Reserves a page, if there is one that is not reserved yet.
    pub(super) fn reserve(&mut self) -> bool {
        let granted = self.free_pages > self.reserved;
        self.reserved += i64::from(granted);
        granted
    }

    /// Whether it has one LUN alone.
    #[inline]
    pub(crate) fn single_unit(&self) -> bool {
        self.units.is_power_of_two() && self.channels.0 + 1 == self.channels.1
    }
}
