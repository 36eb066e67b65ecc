//! A host request: in flight, and completed.

use flashraid_redundancy::Failure;
use flashraid_vocabulary::{Cause, HostOp, linked};

/// A host request in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) sequence: u64,
    /// Number of the request in the order in which the engine has decided them; nothing before it has.
    pub(super) decided_as: u64,
    pub(super) arrival_ns: u64,
    pub(super) offset_bytes: u64,
    pub(super) size_bytes: u64,
    pub(super) op: HostOp,
    pub(super) failed: Option<Failure>,
    pub(super) measured: bool,
    /// Its write stream (SPEC 8.13).
    pub(super) stream: u8,
    /// Of a flush: whether the SSDs were told to program what their memories hold.
    pub(super) is_in_ssds: bool,
    /// Programs for it that started or will, by cause; no repetitions.
    pub(super) programs: [u32; Cause::COUNT],
    /// Operations that the host still waits for; one more while the request is being cut.
    pub(super) unanswered: u32,
    /// Operations that have not ended.
    pub(super) unfinished: u32,
    /// Position among writes, for flushes; `u64::MAX` if it does not write.
    pub(super) write_index: u64,
    /// The operation cut last, for `serial_subrequests`.
    pub(super) last_operation: u32,
    pub(super) next: u32,
}

linked!(Request: next);

/// A flush that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    pub(super) request: u32,
    /// It waits for all writes before this position.
    pub(super) target: u64,
    /// How many of them have not finished, without those that the flush before it waits for.
    pub(super) unfinished: u64,
}

/// A request whose last wanted page operation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Number of the request, counted from 0 in order of submission.
    pub sequence: u64,
    /// What it was.
    pub op: HostOp,
    /// When it arrived.
    pub arrival_ns: u64,
    /// When it was answered.
    pub completed_ns: u64,
    /// False if it failed: for lack of space, or because data are lost.
    pub ok: bool,
}

/// Which requests are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// All.
    #[default]
    All,
    /// Reads and flushes.
    Reads,
    /// None.
    Nothing,
}
