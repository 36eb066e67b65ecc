//! What the engine is told beside scheme and flash.

use super::failure::RebuildOptions;
use super::host_side::HostTimes;
use crate::buffer::BufferOptions;
use crate::config::Host;
use flashraid_vocabulary::{Cause, PageOperation};

/// What the engine is told beside scheme and flash.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pages of the logical space; addresses are below it.
    pub space_pages: u64,
    /// How the controller serves host requests.
    pub host: Host,
    /// What takes time between the host and the engine.
    pub host_times: HostTimes,
    /// Write streams of the host.
    pub write_streams: u8,
    /// How long the controller takes to compute the XOR of pages, as a parity is.
    pub xor_ns: u64,
    /// The map is on flash, where the flash layer was given space for it.
    pub dftl: Option<Dftl>,
    /// The data buffer, if there is one.
    pub buffer: Option<BufferOptions>,
    /// How what failed is rebuilt; `None` if it never is.
    pub rebuild: Option<RebuildOptions>,
}

impl Options {
    /// Whether the answer to the host waits for a page operation.
    #[inline(always)]
    pub(super) fn host_waits(&self, page_operation: &PageOperation) -> bool {
        page_operation.host_waits && (self.host.parity_in_response || page_operation.cause != Cause::Parity)
    }
}

/// Sizes of DFTL.
#[derive(Clone, Copy, Debug)]
pub struct Dftl {
    /// Map entries that RAM holds.
    pub cmt_entries: u32,
    /// Map entries in each translation page; a power of two.
    pub entries_per_page: u32,
    /// Entries of the mirror table of each member: one for each page of its mirror chips.
    pub mirror_entries: u32,
}
