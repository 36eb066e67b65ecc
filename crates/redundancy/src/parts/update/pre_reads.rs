//! How many strips each method reads before it writes (SPEC 0.6).

/// Pre-reads of RMW for a change of `changed` data strips: these and the parity.
pub(super) fn rmw_reads(changed: u32) -> u32 {
    changed + 1
}

/// Pre-reads of RCW for a change of `changed` data strips out of `width`.
pub(super) fn rcw_reads(changed: u32, width: u32) -> u32 {
    width - changed
}
