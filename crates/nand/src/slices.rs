//! What buses and LUNs do, slice by slice: for timelines, and to tell when a request first reached the flash. The same of single page
//! operations, for a log of them.

use flashraid_vocabulary::{Cause, MemberPage, Ppn, Version};

/// Where a slice was spent. Slices of one track never overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Track {
    /// The bus of a channel.
    Bus(u32),
    /// A LUN, from the command on until its register is empty again.
    Lun(u32),
}

/// What was done in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Bus: command and address of a read.
    ReadCommand,
    /// Bus: data of a read.
    DataOut,
    /// Bus: command, address and data of a program.
    DataIn,
    /// Bus: commands of a move inside the plane.
    CopyBackCommand,
    /// Bus: command of an erase.
    EraseCommand,
    /// LUN: read, until its data have left.
    Read,
    /// LUN: data in and program.
    Program,
    /// LUN: move inside the plane.
    CopyBack,
    /// LUN: erase.
    Erase,
}

impl Activity {
    /// Name in timelines.
    pub fn name(self) -> &'static str {
        match self {
            Activity::ReadCommand => "read_command",
            Activity::DataOut => "data_out",
            Activity::DataIn => "data_in",
            Activity::CopyBackCommand => "copy_back_command",
            Activity::EraseCommand => "erase_command",
            Activity::Read => "read",
            Activity::Program => "program",
            Activity::CopyBack => "copy_back",
            Activity::Erase => "erase",
        }
    }
}

/// A time in which a bus or a LUN was in use, charged to one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it began.
    pub start_ns: u64,
    /// When it ended: for a bus, when it will end.
    pub end_ns: u64,
    /// Where.
    pub track: Track,
    /// The LUN that was served.
    pub lun: u32,
    /// What was done.
    pub activity: Activity,
    /// Why. Of several page operations done at once in several planes, the one that the time is charged to.
    pub cause: Cause,
    /// The operation whose plan it was; `None` for GC's work.
    pub operation: Option<u32>,
    /// The physical page; of an erase, the first of its block.
    pub ppn: Ppn,
    /// The member's logical page; `None` for GC's work.
    pub page: Option<MemberPage>,
}

/// A page operation, or an erase, that has ended. Of several done at once in several planes, each is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When it was submitted.
    pub submitted_ns: u64,
    /// When its LUN began with it.
    pub start_ns: u64,
    /// When it ended: of a read, when its data had left.
    pub end_ns: u64,
    /// What was done, of the activities of LUNs.
    pub activity: Activity,
    /// Why.
    pub cause: Cause,
    /// The operation whose plan it was; `None` for GC's work.
    pub operation: Option<u32>,
    /// The physical page; of an erase, the first of its block.
    pub ppn: Ppn,
    /// The member whose page it is; of GC's work, that of the LUN.
    pub member: Option<u32>,
    /// The member's logical page, and which version of it; `None` for GC's work.
    pub page: Option<(MemberPage, Version)>,
    /// Bytes that crossed the bus.
    pub bytes: u32,
    /// Whether it failed, or what it worked on was lost before it ended.
    pub failed: bool,
}
