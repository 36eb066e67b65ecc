//! Page operations in flight.

use crate::mapping::space::{NIL, Queue};
use flashraid_vocabulary::{Action, Cause, MemberId, Ppn, Priority, Version};

/// What a record makes its unit do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WorkKind {
    /// Read for a plan.
    Read,
    /// Program for a plan.
    Program,
    /// GC's read of a page to move.
    MoveRead,
    /// GC's program of a moved page.
    MoveProgram,
    /// GC's move inside the plane.
    CopyBack,
    /// GC's erase.
    Erase,
}

/// A page operation in flight. For GC's work `owner` is the plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) next: u32,
    pub(crate) slot: u32,
    pub(crate) ppn: u32,
    pub(crate) owner: u32,
    pub(crate) unit: u32,
    pub(crate) plane: u32,
    pub(crate) domain: u32,
    pub(crate) bytes: u32,
    pub(crate) submitted_ns: u64,
    pub(crate) member: u16,
    pub(crate) work: WorkKind,
    pub(crate) cause: Cause,
    pub(crate) priority: Priority,
    pub(crate) version: Version,
    pub(crate) keep_base: bool,
    pub(crate) host_waits: bool,
}

impl Queue {
    /// Appends a record that is in no list.
    #[inline]
    pub(super) fn append(&mut self, record: u32, records: &mut [Record]) {
        if self.head == NIL {
            self.head = record;
        } else {
            records[self.tail as usize].next = record;
        }
        self.tail = record;
    }
}

/// What a completion is about.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The operation, as it was given with the submission.
    pub owner: u32,
    /// Read or program.
    pub action: Action,
    /// Why.
    pub cause: Cause,
    /// Whether the host's response waits for it.
    pub host_waits: bool,
    /// The member.
    pub member: MemberId,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// The physical page: of a read from its submission, of a program from its start.
    pub ppn: Ppn,
}
