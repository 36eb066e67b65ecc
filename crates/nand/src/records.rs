//! Page operations in flight.

use flashraid_vocabulary::slab::Slab;
use flashraid_vocabulary::{Action, Cause, MemberId, NIL, Ppn, Priority, Version, linked};

/// Page operations in flight for which there is space without growing.
pub(crate) const ROOM: usize = 1 << 21;

/// What a record makes its LUN do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WorkKind {
    /// Read for a plan.
    Read,
    /// Program for a plan.
    Program,
    /// The program of a flash page that the layer above has filled.
    PageProgram,
    /// GC's read of a page to move; of a flash page, if that has several.
    MoveRead,
    /// GC's program of a moved page.
    MoveProgram,
    /// GC's move inside the plane.
    CopyBack,
    /// GC's erase.
    Erase,
}

impl WorkKind {
    /// Whether data leave the array over the bus.
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::MoveRead)
    }
}

/// A page operation in flight. Slot and version are those of the layer above; NAND notes them in what it records.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The next one of a list. Once a program has ended the list is one of the layer above, until the record is removed.
    pub next: u32,
    /// Number of the logical page in the map; `NIL` of GC's work.
    pub slot: u32,
    /// The physical page: of a program from its start.
    pub ppn: u32,
    /// The operation whose plan it is of; of GC's work the plane.
    pub owner: u32,
    /// The LUN, once it is known.
    pub lun: u32,
    /// The plane, once it is known.
    pub plane: u32,
    /// The space domain of a program.
    pub domain: u32,
    /// Bytes of data that cross the bus.
    pub bytes: u32,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// The member that it counts for; there are at most 64.
    pub member: u8,
    /// The write stream of the host (SPEC 8.13).
    pub stream: u8,
    /// What is to be done.
    pub work: WorkKind,
    /// Why.
    pub cause: Cause,
    /// Its service class.
    pub priority: Priority,
    /// The version of the logical page.
    pub version: Version,
    /// What a program supersedes becomes the base.
    pub keep_base: bool,
    /// The host's response waits for it.
    pub host_waits: bool,
}

linked!(Record: next);

/// The records of all page operations in flight, by their handles.
pub(crate) type Records = Slab<Record>;

/// A first-in first-out list of page operations, linked through their records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

impl Queue {
    /// An empty list.
    pub(crate) const EMPTY: Queue = Queue { head: NIL, tail: NIL };

    /// Appends a record that is in no list.
    #[inline]
    pub(crate) fn append(&mut self, record: u32, records: &mut Records) {
        if self.head == NIL {
            self.head = record;
        } else {
            records[self.tail].next = record;
        }
        self.tail = record;
    }

    /// Puts a record that is in no list before the others.
    #[inline]
    pub(crate) fn prepend(&mut self, record: u32, records: &mut Records) {
        if self.head == NIL {
            self.tail = record;
        }
        records[record].next = std::mem::replace(&mut self.head, record);
    }

    /// Takes the first record out, which there must be. Returns it, and the next one.
    #[inline]
    pub(crate) fn pop(&mut self, records: &mut Records) -> (u32, u32) {
        let next = std::mem::replace(&mut records[self.head].next, NIL);
        (std::mem::replace(&mut self.head, next), next)
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
