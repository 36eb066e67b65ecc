//! What operations are doing at an instant: for whoever stops the clock there.

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InFlight {
    /// An operation of a host write or trim has programmed some of its pages and not all.
    pub updates: bool,
    /// A commit of a deferred parity is in flight.
    pub commits: bool,
    /// A commit runs under the lock of an operation that waits.
    pub borrows_lock: bool,
    /// A trim is in flight.
    pub trims: bool,
    /// A write of a part of a page is in flight.
    pub writes_part: bool,
    /// An operation waits for an entry of the map, which is on flash (DFTL).
    pub misses_map: bool,
    /// A translation page is being written.
    pub writes_map: bool,
    /// An operation waits for a stripe that another one holds.
    pub waits_for_lock: bool,
    /// Pages leave the data buffer.
    pub evicts: bool,
    /// A request or an eviction waits until NVRAM has space.
    pub nvram_is_full: bool,
    /// A flush waits for what was written before it.
    pub flushes: bool,
    /// A write is acknowledged, and only the controller has all of it.
    pub answered_early: bool,
    /// The share of stripes that a running rebuild has passed.
    pub rebuilt: Option<f64>,
    /// The share of an SSD's strips that a running replacement has moved.
    pub replaced: Option<f64>,
    /// Host requests wait until a replacement has ended.
    pub holds_host: bool,
}
