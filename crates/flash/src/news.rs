//! What the flash tells and asks the layer above, which takes it after each event: progress of page operations, what GC did to the map, and
//! its questions.

use flashraid_vocabulary::{MemberPage, Version};

/// What a completion reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The data of a program are in the die's register (only if the device reports it).
    DataIn,
    /// The page operation has ended.
    Ended,
    /// The page operation has failed: a read of a page that is lost now, or a program. The record of a program lives until `repeat` succeeds or
    /// `abort`.
    Failed,
}

/// A page operation made progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its handle. A read's is free again once the completion is taken; a program's after `commit` or `abort`.
    pub record: u32,
    /// What happened.
    pub progress: Progress,
}

/// What GC did to the map, for whom stores it: reported while there are translation planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapEvent {
    /// A version of a page of a scheme is elsewhere now.
    Moved {
        /// The plane in which it was moved.
        plane: u32,
        /// Which version.
        version: Version,
        /// Of which page.
        slot: u32,
    },
    /// The GC run of the plane has ended: its victim, from which pages were moved, is erased, or it was cut short.
    Ended {
        /// The plane.
        plane: u32,
    },
}

/// What GC wants to know of the layer above, which answers in the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcQuery {
    /// Which block of the plane GC reclaims, as some have semivalid pages to commit: answered by `choose_victim`.
    Victim(u32),
    /// How a semivalid page is handled in the victim of a plane: answered by `rule`.
    Semivalid(u32, MemberPage),
}
