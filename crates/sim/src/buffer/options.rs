//! What a data buffer is made of.

use super::destaging::DestageOptions;

/// Bytes of a sector: the unit in which a buffer knows parts of pages.
pub const SECTOR_BYTES: u32 = 512;
/// Largest page of a buffered device: its sectors are bits of a word.
pub const MOST_PAGE_BYTES: u32 = 64 * SECTOR_BYTES;

/// Of which kind a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// The controller's DRAM: volatile.
    Dram,
    /// NVRAM: what it has taken is durable.
    Nvram,
}

/// What leaves a buffer together, and which of these next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestageRule {
    /// Page by page, the least recently used one.
    Page,
    /// All buffered pages of a stripe.
    Stripe(VictimRule),
}

/// Which group leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimRule {
    /// The one whose last use is the oldest: its last write, in DRAM also its last read.
    OldestUse,
    /// The one with most pages; among them the one whose last write is the oldest.
    LargestGroup,
}

/// What a buffer is made of.
#[derive(Clone, Copy, Debug)]
pub struct BufferOptions {
    /// Its kind.
    pub kind: BufferKind,
    /// What leaves it.
    pub rule: DestageRule,
    /// Pages that it holds.
    pub pages: u64,
    /// Access time.
    pub answer_ns: u64,
    /// When something leaves it that need not.
    pub destage: DestageOptions,
}
