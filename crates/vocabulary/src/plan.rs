//! A scheme's plan: page operations that say *what*, never *where*, gathered in waves.

use crate::MemberPage;

/// What a page operation does to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Action {
    /// Read the named version of a page.
    Read,
    /// Program a new version of a page out of place. It stays pending until the operation ends.
    Program,
}

/// Which of the versions of a strip is meant (SPEC 0.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// The newest durable version.
    Current,
    /// The superseded version that the stored parity still covers (semivalid).
    Base,
    /// A second copy of the current version, on a mirror chip of the same member.
    Copy,
    /// Of a parity page alone: the newer parity, or the part of it, that the controller's NVRAM holds in its place (SPEC 4.2). Never on flash.
    DeferredParity,
}

/// Why a page operation was made. Every count of flash work is broken down by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// Data that the host reads or writes.
    Host,
    /// Read of a page of which only a part is overwritten.
    UpdateRead,
    /// Read done only to compute parity.
    PreRead,
    /// Program of a parity page.
    Parity,
    /// Program of a second copy.
    Mirror,
    /// Read or program that brings a deferred parity up to date.
    Commit,
    /// Read of survivors to recompute a lost page, or a program that stores one on the occasion of a host's write.
    Reconstruct,
    /// Move or erase of GC.
    Gc,
    /// Move or erase of static wear leveling.
    Wear,
    /// Read or program of a rebuild.
    Rebuild,
    /// Read or program of a migration to another member.
    Migration,
    /// Translation pages.
    Metadata,
    /// Repetition after a failed attempt.
    Retry,
}

impl Cause {
    /// Whether programs of this cause go into an SLC cache: those of requests, of which somebody waits for the end. What is rebuilt or migrated would only fill it.
    pub fn is_cached(self) -> bool {
        matches!(self, Self::Host | Self::Parity | Self::Mirror | Self::Commit)
    }

    /// Number of causes.
    pub const COUNT: usize = 13;

    /// Every cause, in the order of the result's keys.
    pub const ALL: [Cause; Self::COUNT] = [
        Cause::Host,
        Cause::UpdateRead,
        Cause::PreRead,
        Cause::Parity,
        Cause::Mirror,
        Cause::Commit,
        Cause::Reconstruct,
        Cause::Gc,
        Cause::Wear,
        Cause::Rebuild,
        Cause::Migration,
        Cause::Metadata,
        Cause::Retry,
    ];

    /// The key used in results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::UpdateRead => "update_read",
            Cause::PreRead => "pre_read",
            Cause::Parity => "parity",
            Cause::Mirror => "mirror",
            Cause::Commit => "commit",
            Cause::Reconstruct => "reconstruct",
            Cause::Gc => "gc",
            Cause::Wear => "wear",
            Cause::Rebuild => "rebuild",
            Cause::Migration => "migration",
            Cause::Metadata => "metadata",
            Cause::Retry => "retry",
        }
    }
}

/// Service classes, most urgent first. Inside a class the device's scheduling rule orders operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Priority {
    /// GC that host writes wait for, or that blocks its chip; with coordinated migration, the internal work that goes first (SPEC 5.7).
    Urgent,
    /// Host requests and what they need.
    Host,
    /// GC that nobody waits for, and page operations of a migration (`Cause::Migration`) that ask for `Migration`: in the order in which they come.
    Gc,
    /// Rebuild.
    Rebuild,
    /// Idle work; for page operations of a migration see `Gc`.
    Migration,
}

impl Priority {
    /// Number of classes.
    pub const COUNT: usize = 5;
}

/// What the content of a program is made of: the sum of everything named here, which is the XOR unless there are weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sources {
    /// Data strips of this operation, as the host gave them: bit i is strip i.
    /// A strip of which the host gave a part is that part laid over the operation's update read of it.
    pub host: u64,
    /// Reads of this operation: bit k is its k-th read, counted over all its waves from 0.
    pub reads: u64,
    /// What NVRAM holds of the stripe's parity (`Version::DeferredParity`); zero if it holds nothing.
    pub deferred: bool,
    /// By what strips and reads are multiplied first: one more than the index in `Wave::weights`, or 0 for nothing.
    pub weights: u8,
}

/// By what the terms of a sum are multiplied in GF(2^8), byte by byte ([`crate::galois`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The factors of the data strips of the operation, as the host gave them.
    pub host: [u8; 64],
    /// The factors of its reads, counted over all its waves.
    pub reads: [u8; 64],
}

/// One page operation of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOperation {
    /// Read or program.
    pub action: Action,
    /// Which version of the page: of a read, the one wanted; of a program, the one it becomes.
    pub version: Version,
    /// Why.
    pub cause: Cause,
    /// Service class.
    pub priority: Priority,
    /// Whether the host's response waits for it.
    pub host_waits: bool,
    /// Program only: the version that it supersedes becomes the base (semivalid) instead of garbage.
    pub keep_base: bool,
    /// The page.
    pub address: MemberPage,
    /// Bytes that matter to the requester; the device may transfer the whole page all the same.
    pub bytes: u32,
    /// Program only: its content.
    pub sources: Sources,
    /// Read only: the data strip of the operation that this read delivers: to the host, or as the old content under a sub-page
    /// write. `NO_STRIP` for every other read and for programs.
    pub strip: u8,
    /// Program only: the write stream of the host that it belongs to (SPEC 8.13), as the engine knows it; 0 if it names none.
    pub stream: u8,
}

impl Weights {
    /// Those that a plan named by this number, of the weights of its wave; `None` for a plain XOR.
    #[inline]
    pub fn named(weights: &[Self], number: u8) -> Option<&Self> {
        usize::from(number).checked_sub(1).map(|index| &weights[index])
    }
}

impl PageOperation {
    /// `strip` of a page operation that delivers no data strip of its operation.
    pub const NO_STRIP: u8 = u8::MAX;
}

/// A state change beside the programs' own, applied in the same instant when the operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The page has no current version any more (TRIM).
    Unmap(MemberPage),
    /// The base version is not needed any more.
    ReleaseBase(MemberPage),
    /// The copy is not needed any more.
    ReleaseCopy(MemberPage),
    /// The current version is lost: the page counts as written, and what it holds is what the others make of it.
    Lose(MemberPage),
    /// The page has no current version any more (TRIM), and the one that it had becomes the base if it has none.
    Retire(MemberPage),
    /// NVRAM holds this of the parity page from now on, instead of what it held.
    Defer(MemberPage, Sources),
    /// NVRAM holds nothing of the parity page any more.
    ReleaseDeferred(MemberPage),
}

/// A data strip that no single read delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The data strip: to the host, or as the old content under a sub-page write.
    pub strip: u8,
    /// Its content is the XOR of these reads of the operation: bit k is its k-th.
    pub reads: u64,
    /// And of what NVRAM holds of the stripe's parity. If there is no read, that is known at once.
    pub deferred: bool,
    /// As in [`Sources`].
    pub weights: u8,
}

/// The buffer that the engine lends to `step`: page operations that may all start now, and changes for the end.
#[derive(Clone, Debug, Default)]
pub struct Wave {
    /// At most 64, so that outcomes fit a word.
    pub operations: Vec<PageOperation>,
    /// Applied when the operation ends.
    pub changes: Vec<Change>,
    /// Data strips that the reads of this wave, with those before, make up: known when the wave has ended.
    pub deliveries: Vec<Delivery>,
    /// What programs and deliveries of this wave name as their weights.
    pub weights: Vec<Weights>,
    /// Its reads go out one by one, each when nothing else waits for its member (SPEC 1.7: the fetchers of DOR); reads of several such waves in order.
    pub paced: bool,
    /// The reads of this wave, if the operation goes on when they have ended, beside the programs of this wave; 0 if it waits for all. After a failure it does.
    pub overlapped_reads: u8,
    /// The scheme has background work: the engine asks for it when this wave is in flight.
    pub background: bool,
}

impl Wave {
    /// Keeps weights for programs and deliveries of this wave, which name them by the number that is returned.
    pub fn weigh(&mut self, weights: Weights) -> u8 {
        self.weights.push(weights);
        self.weights.len() as u8
    }

    /// Empties the buffer, keeping its memory.
    pub fn clear(&mut self) {
        self.operations.clear();
        self.changes.clear();
        self.deliveries.clear();
        self.weights.clear();
        self.paced = false;
        self.overlapped_reads = 0;
        self.background = false;
    }
}
