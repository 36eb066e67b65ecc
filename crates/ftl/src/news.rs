//! What an SSD tells and asks the layer above, which takes it after each event, beside the progress of page operations: what GC did to the map, and its
//! questions.

use flashraid_vocabulary::{MemberPage, Version, persistent};

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

/// How many pages of a member have versions beside the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Pages with a base.
    pub bases: u32,
    /// Pages with a copy.
    pub copies: u32,
}

persistent!(Held { keeps [bases, copies], });
