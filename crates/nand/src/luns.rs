//! Buses and LUNs: who is served next, and for how long (SPEC 0.4).
//!
//! A LUN (die, or chip if chip-serial) executes one array operation at a time. A read takes the bus for its command, then the
//! array; the LUN keeps the data in its register until the bus has moved them out. A program takes the bus for command and
//! data, then the array. When a bus is free it serves, class by class: read commands (so that arrays start early), data out,
//! programs and erases of LUNs that wait for them, then programs that any LUN of their domain may take; round robin over
//! LUNs in each. A bus has an event only while somebody waits for it.

use crate::records::Queue;
use crate::{ACTIONS, Counts};
use flashraid_vocabulary::{Cause, NIL, Priority, persistent};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LunState {
    Idle,
    /// The array is reading.
    Reading,
    /// Data wait in the register for the bus.
    DataReady,
    /// Data cross the bus.
    DataOut,
    /// Data of a read that goes on are being decoded.
    Decoding,
    /// Pages that were not corrected wait for the bus, to be read again.
    RetryReady,
    /// Data cross the bus towards the register, and their arrival is reported.
    DataIn,
    /// The array programs, erases or copies.
    Working,
    /// The array programs or erases until a read may suspend that.
    Interruptible,
    /// That is being suspended.
    Suspending,
    /// Suspended work waits until reads have the bus.
    Suspended,
}

pub(crate) const NOTHING: u8 = u8::MAX;
/// Phases inside a class, in the order in which a free bus serves them.
pub(crate) const READ_COMMAND: u8 = 0;
pub(crate) const DATA_OUT: u8 = 1;
pub(crate) const PROGRAM: u8 = 2;
pub(crate) const PHASES: u8 = 3;
const WANTS: usize = Priority::COUNT * PHASES as usize;
/// Bits of `Lun::filled` that belong to the urgent class.
const URGENT_QUEUES: u16 = 0b11;

/// A LUN.
#[derive(Clone, Debug)]
pub struct Lun {
    /// Its channel, its number there, and the bit of that number.
    pub(crate) channel: u32,
    /// Its member; `None` for a spare chip that replaces none.
    pub member: Option<u32>,
    pub(crate) number: u64,
    pub(crate) bit: u64,
    pub(crate) state: LunState,
    /// What it would do with the bus: class * PHASES + phase, or `NOTHING`.
    pub(crate) want: u8,
    /// How many GC runs keep it from serving anything but urgent work: up to one for each of a channel's 64 x 64 planes.
    pub(crate) blocked: u16,
    pub(crate) turn_of_plane: u64,
    /// Which of `queues` are not empty.
    pub(crate) filled: u16,
    /// Bound work by class and kind (reads, others); all in the first of a class under FIFO.
    pub(crate) queues: [Queue; 2 * Priority::COUNT],
    /// Records in service: several for a multi-plane operation.
    pub(crate) current: u32,
    /// Of the reads in service, those that need another attempt, and the number of the one under way.
    pub(crate) retries: Queue,
    pub(crate) attempt: u32,
    /// Bound records waiting.
    pub(crate) queued: u32,
    /// Planes in which a program of a plan finds a page, of each kind.
    pub(crate) writable: [u64; 2],
    pub(crate) since_ns: u64,
    /// Array time that follows the reported data-in.
    pub(crate) cell_after_ns: u64,
    /// Operations started: reads, programs, erases, each by cause.
    pub operations: Counts,
    /// The same of flash pages, where these have several pages of the map.
    pub(crate) flash_operations: Counts,
    /// Time of the array for them, by cause.
    pub array_ns: [u64; Cause::COUNT],
    /// Time not idle, by the cause of the work.
    pub busy_ns: [u64; Cause::COUNT],
}

persistent!(Lun {
    keeps [turn_of_plane, writable],
    // Its place, which spare chips alone change; work, of which there is none; statistics.
    anew [
        channel, member, number, bit, state, want, blocked, filled, queues, current, retries, attempt, queued, since_ns, cell_after_ns, operations,
        flash_operations, array_ns, busy_ns,
    ],
});

impl Lun {
    pub(crate) fn new(channel: u32, number: u32) -> Self {
        Self {
            channel,
            member: None,
            number: u64::from(number),
            bit: 1 << number,
            state: LunState::Idle,
            want: NOTHING,
            blocked: 0,
            turn_of_plane: 63,
            filled: 0,
            queues: [Queue::EMPTY; 2 * Priority::COUNT],
            current: NIL,
            retries: Queue::EMPTY,
            attempt: 0,
            queued: 0,
            writable: [0; 2],
            since_ns: 0,
            cell_after_ns: 0,
            operations: [[0; Cause::COUNT]; ACTIONS],
            flash_operations: [[0; Cause::COUNT]; ACTIONS],
            array_ns: [0; Cause::COUNT],
            busy_ns: [0; Cause::COUNT],
        }
    }

    /// Heads of the queues of bound work that are not empty.
    pub(crate) fn bound(&self) -> impl Iterator<Item = u32> {
        each(u64::from(self.filled)).map(|index| self.queues[index as usize].head)
    }

    /// Whether it does nothing.
    pub fn is_idle(&self) -> bool {
        self.state == LunState::Idle
    }

    /// How many GC runs keep it from serving anything but urgent work.
    pub fn blocked(&self) -> u16 {
        self.blocked
    }

    /// Whether anything of a class waits for it.
    #[inline]
    pub fn has_waiting(&self, class: Priority) -> bool {
        self.filled >> (2 * class as usize) & 0b11 != 0
    }

    /// Records that wait for it.
    pub fn queued(&self) -> u32 {
        self.queued
    }

    /// Its planes (bits) of a kind in which a program of a plan finds a page.
    #[inline]
    pub fn writable(&self, kind: usize) -> u64 {
        self.writable[kind]
    }

    /// Its bit among the LUNs of its channel.
    pub fn bit(&self) -> u64 {
        self.bit
    }

    /// Which of `queues` it may serve now.
    #[inline]
    pub(crate) fn served(&self) -> u16 {
        if self.blocked > 0 { self.filled & URGENT_QUEUES } else { self.filled }
    }
}

/// A channel's bus.
#[derive(Clone, Debug)]
pub struct Channel {
    pub(crate) first_lun: u32,
    pub(crate) free_ns: u64,
    pub(crate) has_event: bool,
    /// Which entries of `wants` are not empty. This and the turns are whole words, lest the processor has to load together what
    /// was just stored apart.
    pub(crate) wanted: u64,
    pub(crate) turn: u64,
    pub(crate) turn_of_pool: u64,
    /// LUNs by what they want.
    pub(crate) wants: [u64; WANTS],
    pub(crate) idle: u64,
    pub(crate) blocked: u64,
    /// LUNs with such planes.
    pub(crate) writable: [u64; 2],
    /// LUNs of spare chips that have replaced others, which are being rebuilt; none with `rebuild_target` = `member`.
    pub(crate) replacements: u64,
    /// Bound records waiting at its LUNs.
    pub(crate) queued: u32,
    /// Space domains that touch this channel.
    pub(crate) domains: Vec<u32>,
    /// If other slices share it: what the last transfer was for.
    pub(crate) shared_for: Cause,
    /// Time in use, by the cause of the work.
    pub busy_ns: [u64; Cause::COUNT],
}

persistent!(Channel {
    keeps [turn, turn_of_pool, writable],
    // Its place; work, of which there is none; spare chips in use; statistics.
    anew [first_lun, free_ns, has_event, wanted, wants, idle, blocked, replacements, queued, domains, shared_for, busy_ns],
});

impl Channel {
    pub(crate) fn new(number: u32, luns: u32) -> Self {
        Self {
            first_lun: number * luns,
            free_ns: 0,
            has_event: false,
            wanted: 0,
            turn: 63,
            turn_of_pool: 63,
            wants: [0; WANTS],
            idle: u64::MAX >> (64 - luns),
            blocked: 0,
            writable: [0; 2],
            replacements: 0,
            queued: 0,
            domains: Vec::new(),
            shared_for: Cause::Host,
            busy_ns: [0; Cause::COUNT],
        }
    }
}

impl Channel {
    /// Whether none of these LUNs does anything or is kept for a GC run.
    pub(crate) fn is_idle(&self, luns: u64) -> bool {
        self.idle & !self.blocked & luns == luns
    }

    /// Records that wait for its LUNs.
    pub fn queued(&self) -> u32 {
        self.queued
    }

    /// The number of its first LUN.
    #[inline]
    pub fn first_lun(&self) -> u32 {
        self.first_lun
    }

    /// Its LUNs (bits) with planes of a kind in which a program of a plan finds a page.
    #[inline]
    pub fn writable(&self, kind: usize) -> u64 {
        self.writable[kind]
    }

    /// How many LUNs do nothing.
    pub fn idle_luns(&self) -> u32 {
        self.idle.count_ones()
    }

    /// LUNs that could take any program of this kind of planes.
    #[inline]
    pub(crate) fn takers(&self, kind: usize) -> u64 {
        self.idle & self.writable[kind] & !self.blocked
    }
}

/// The numbers of the set bits of `mask`.
pub fn each(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let number = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (number < u64::BITS).then_some(number)
    })
}

/// The first set bit of `mask` after position `last`, going round. `mask` must not be zero.
#[inline]
pub fn after(mask: u64, last: u64) -> u32 {
    let above = mask & (u64::MAX << last << 1);
    (if above != 0 { above } else { mask }).trailing_zeros()
}

/// The first set bit of `mask` from position `first` on, going round. `mask` must not be zero.
#[inline]
pub fn at_or_after(mask: u64, first: u32) -> u32 {
    let above = mask & (u64::MAX << first);
    (if above != 0 { above } else { mask }).trailing_zeros()
}
