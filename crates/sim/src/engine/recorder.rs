//! What the outputs beside the result are made of: plain records that are kept while a recorder is set (`recording`), and that
//! whoever drives the engine takes away now and then. Without a recorder nothing is kept.

use crate::media::{Done, Slice};
use flashraid_redundancy::{Failure, Method, Operation};
use flashraid_vocabulary::HostOp;
use std::ops::Range;

/// Bounds of the classes in which requests are counted by how many were outstanding at their arrival, they themselves included.
pub const DEPTHS: [u64; 6] = [2, 4, 8, 16, 32, 64];

/// How the operations of a request kept its redundancy up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Methods(pub(super) u8);

impl Methods {
    const NAMES: [&str; 5] = ["full_stripe", "rmw", "rcw", "mirrored", "deferred"];

    pub(super) fn of(operation: &Operation) -> Self {
        Self(match operation.method {
            Method::None => 0,
            Method::FullStripe => 1,
            Method::Rmw => 2,
            Method::Rcw => 4,
            Method::Mirrored => 8,
            Method::Deferred => 16,
        })
    }

    /// The one method, `mixed` for several, `none` where no redundancy changed.
    pub fn name(self) -> &'static str {
        match self.0.count_ones() {
            0 => "none",
            1 => Self::NAMES[self.0.trailing_zeros() as usize],
            _ => "mixed",
        }
    }
}

/// A measured request that has completed or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// Its number, counted from 0 in order of submission.
    pub sequence: u64,
    /// When it arrived.
    pub arrival_ns: u64,
    /// When its first page operation started on a bus; `end_ns` if it needed none.
    pub start_ns: u64,
    /// When the request was acknowledged.
    pub end_ns: u64,
    /// First byte.
    pub offset_bytes: u64,
    /// Length.
    pub size_bytes: u64,
    /// Its kind.
    pub op: HostOp,
    /// The stripe that holds its first byte; `None` for a flush.
    pub stripe: Option<u32>,
    /// How redundancy was kept up to date.
    pub methods: Methods,
    /// Why it failed, if it did.
    pub failed: Option<Failure>,
}

/// A page operation, or an erase, that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneRecord {
    /// What was done.
    pub done: Done,
    /// What kind of operation planned it: `read`, `write`, `trim`, `commit`, `repair`, `job`, `translation`, or `collection`.
    pub kind: &'static str,
    /// The request that it was done for, if it was done for one.
    pub request: Option<u64>,
}

/// What a timeline shows beside requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A bus or a LUN was in use, on behalf of a request if it is known.
    Slice(Slice, Option<u64>),
    /// A member has so many reads and programs queued and not started from this time on.
    Queued {
        /// When.
        time_ns: u64,
        /// Whose.
        member: u32,
        /// Reads.
        reads: u32,
        /// Programs.
        programs: u32,
    },
    /// A member has so many erased blocks from this time on.
    FreeBlocks {
        /// When.
        time_ns: u64,
        /// Whose.
        member: u32,
        /// Blocks.
        blocks: u64,
    },
}

/// What is known of a request in flight; `sequence` tells whether it is still that request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    sequence: u64,
    pub(super) start_ns: u64,
    pub(super) methods: Methods,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// Measured requests that completed or failed since the caller last emptied it, in order of completion.
    pub requests: Vec<RequestRecord>,
    /// What happened in `window` since the caller last emptied it. Slices of LUNs come when they end.
    pub moments: Vec<Moment>,
    /// Page operations that ended since the caller last emptied it, in order.
    pub done: Vec<DoneRecord>,
    /// Measured requests by how many were outstanding at their arrival; see `DEPTHS`. The last class has the rest.
    pub depths: [u64; DEPTHS.len() + 1],
    /// Simulated time of which moments are kept; empty for none.
    pub window: Range<u64>,
    /// Space for what is taken over from media.
    pub(super) recorded: (Vec<Slice>, Vec<Done>),
    pub(super) notes: Vec<Note>,
    /// Whether the window's first moment has come, from which on the following are kept up to date.
    pub(super) is_open: bool,
    pub(super) queued: Vec<(u32, u32)>,
    pub(super) blocks_of_luns: Vec<u64>,
    pub(super) blocks: Vec<u64>,
}

impl Recorder {
    /// Records that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.requests.len() + self.moments.len() + self.done.len()
    }

    /// The note about a request in flight, as it is so far.
    pub(super) fn note(&mut self, id: u32, sequence: u64) -> &mut Note {
        const UNKNOWN: Note = Note { sequence: u64::MAX, start_ns: u64::MAX, methods: Methods(0) };
        if self.notes.len() <= id as usize {
            self.notes.resize(id as usize + 1, UNKNOWN);
        }
        let note = &mut self.notes[id as usize];
        if note.sequence != sequence {
            *note = Note { sequence, ..UNKNOWN };
        }
        note
    }
}
