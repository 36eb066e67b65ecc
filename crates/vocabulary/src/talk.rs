//! The traits through which layers talk without knowing each other.

use crate::{LocalPage, MemberId, MemberPage, Ppn, Version};

/// What a scheme may look at when a decision depends on load or on what is written. Read-only.
pub trait View: LoadView + SsdView {
    /// Simulated time.
    fn now_ns(&self) -> u64;
    /// Whether the page has this version on flash, lost or not.
    fn is_written(&self, address: MemberPage, version: Version) -> bool;
    /// Whether anything has failed since the device was new: if not, no version is lost.
    fn has_failures(&self) -> bool;
    /// Whether the page has this version, and failures took it: it can be read no more. (SPEC 0.1: LOST)
    fn is_lost(&self, address: MemberPage, version: Version) -> bool;
    /// The first local page from this one on of which any member may have any version on flash, lost or not; `None` if there is none. It may be
    /// too early a page, never too late a one.
    fn next_written(&self, page: LocalPage) -> Option<LocalPage> {
        Some(page)
    }
    /// Whether a page is free now for a program of the current version of this page, and not reserved.
    fn can_allocate(&self, address: MemberPage) -> bool;
    /// A number of the planes that such a program may use: pages of one number have space or not together.
    fn space_of(&self, address: MemberPage) -> u32;
    /// Whether the member has mirror chips that live.
    fn has_mirror(&self, member: MemberId) -> bool;
    /// Pages of the member's data chips that failures took and no spare chip replaces.
    fn pages_gone(&self, member: MemberId) -> u32;
    /// Whether the member has mirror chips on which nothing is in service or queued and a page is free for a program
    /// (a busy bus does not count). Never from the failure of a mirror chip until its rebuild has ended.
    fn takes_copy(&self, member: MemberId) -> bool;
    /// How many pages of the member have a base.
    fn bases(&self, member: MemberId) -> u32;
    /// How many pages of the member have a copy.
    fn copies(&self, member: MemberId) -> u32;
}

/// What is queued and under way, for schemes that choose by load.
pub trait LoadView {
    /// Page operations queued for the member and not yet started: reads, then programs.
    fn queued(&self, member: MemberId) -> (u32, u32);
    /// Page operations in service or queued at the LUN that holds this version of the page; 0 if it is not written.
    fn load_at(&self, address: MemberPage, version: Version) -> u32;
    /// For how long the LUN that holds this version is busy with what it does and what is queued at it; 0 if it is idle or the
    /// version is not written.
    fn busy_ns_at(&self, address: MemberPage, version: Version) -> u64;
    /// Page operations in service or queued at the LUNs of the channel that holds the current version of the page; 0 if it has
    /// none. Programs that any LUN of several may take are queued at none of them.
    fn channel_load_at(&self, address: MemberPage) -> u32;
    /// What a read of this version of the page would meet if it were submitted now; `None` if it is not written.
    fn read_load(&self, address: MemberPage, version: Version) -> Option<ReadLoad>;
    /// Whether nothing is in service or queued in the member.
    fn is_idle(&self, member: MemberId) -> bool;
}

/// The SSDs of an array, for schemes that replace them. What is left out is that of a member that is no SSD.
pub trait SsdView {
    /// The state of the SSD.
    fn health(&self, _member: MemberId) -> Health {
        Health::ReadWrite
    }
    /// A spare SSD that has no task yet: the next one in their order.
    fn next_spare(&self) -> Option<MemberId> {
        None
    }
    /// Erases of all blocks of the SSD since it was new, those before the run included.
    fn erases(&self, _member: MemberId) -> u64 {
        0
    }
    /// Erases that all blocks of the SSD endure: their number times the P/E limit; `u64::MAX` without a limit.
    fn endurance(&self, _member: MemberId) -> u64 {
        u64::MAX
    }
    /// When a page operation that a host request waits for was last submitted to the SSD; 0 if none was.
    fn last_host_ns(&self, _member: MemberId) -> u64 {
        0
    }
    /// Whether GC runs in the SSD.
    fn is_collecting(&self, _member: MemberId) -> bool {
        false
    }
}

/// What a read meets, as far as it is known (SPEC 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadLoad {
    /// How long the array takes to read the page.
    pub read_ns: u64,
    /// Reads that are queued for the page's member and not yet started, those of GC runs not counted.
    pub reads: u32,
    /// The same of programs.
    pub programs: u32,
    /// The GC run that keeps host work off the page's LUN: the latest if there are several.
    pub gc: Option<GcLoad>,
}

/// A GC run, and what the former ones of its chip tell about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcLoad {
    /// Since when it runs.
    pub elapsed_ns: u64,
    /// Pages that GC runs of the chip have moved since the run of the simulation began.
    pub moves: u64,
    /// Blocks that they have erased.
    pub erases: u64,
    /// Pages of the victim that were to be moved when this run began.
    pub to_move: u32,
    /// How long the array takes to read a page of the victim.
    pub read_ns: u64,
    /// How long it takes to program a page.
    pub program_ns: u64,
    /// How long it takes to erase the victim.
    pub erase_ns: u64,
}

/// The state of an SSD in an array (SPEC 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Health {
    /// S0: it is read, programmed and collected.
    ReadWrite,
    /// S1: it is read, and neither programmed nor collected.
    ReadOnly,
    /// S2: it is not accessed.
    Disabled,
}

impl Health {
    /// The word used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "read_write",
            Self::ReadOnly => "read_only",
            Self::Disabled => "disabled",
        }
    }
}

/// A scheme's answer to GC about a semivalid page in its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemivalidAction {
    /// Copy it like a valid page.
    Move,
    /// Commit its stripe first, so that nobody needs it any more; if that cannot start now, move it.
    CommitFirst,
    /// Nobody needs it: it is garbage.
    Free,
}

/// Whom GC asks before it erases a semivalid page.
pub trait GcAdvisor {
    /// Called for each semivalid page of a victim, when GC reaches it. Must not change anything. Without this method nobody needs any.
    fn rule(&self, _address: MemberPage) -> SemivalidAction {
        SemivalidAction::Free
    }
}

/// Who watches what the flash does to contents by itself: verification. Methods are called in simulated-time order.
pub trait Observer {
    /// GC has programmed the content of `from` at `to`.
    fn moved(&mut self, _from: Ppn, _to: Ppn) {}
    /// A block was erased: `pages` pages from `first` hold nothing any more.
    fn erased(&mut self, _first: Ppn, _pages: u32) {}
}

/// An observer that costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
