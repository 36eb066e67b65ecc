//! What operations are doing at an instant: for whoever stops the clock there.

use super::content::Content;
use super::slot::NIL;
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::OperationKind;

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

impl<C: Content, M: Media> Engine<C, M> {
    /// What is in flight now. Looks at every operation.
    pub fn in_flight(&self) -> InFlight {
        let mut found = InFlight {
            rebuilt: self.failures.rebuild_share(),
            replaced: self.replaced_share().filter(|_| self.replacements.running().is_some()),
            holds_host: self.replacements.held.as_ref().is_some_and(|held| !held.is_empty()),
            waits_for_lock: self.operations.locks.has_waiter(),
            evicts: self.buffer.as_ref().is_some_and(|buffer| buffer.is_leaving()),
            nvram_is_full: self.buffer.as_ref().is_some_and(|buffer| buffer.survives_power_loss() && buffer.waits_for_slots()),
            flushes: !self.requests.flushes.is_empty(),
            answered_early: !self.in_controller.is_empty(),
            ..InFlight::default()
        };
        for (id, slot) in self.operations.slots.iter().enumerate().filter(|(_, slot)| slot.is_alive()) {
            let (kind, is_of_scheme) = (slot.operation.kind, slot.is_of_scheme());
            let programmed = slot.programs() != NIL;
            found.updates |= matches!(kind, OperationKind::Write | OperationKind::Trim) && programmed && slot.outstanding > 0;
            found.commits |= kind == OperationKind::Commit && slot.started;
            found.borrows_lock |= slot.started && self.operations.rare(id as u32).lock_holder != NIL;
            found.trims |= kind == OperationKind::Trim && slot.started;
            found.writes_part |= kind == OperationKind::Write && slot.operation.merge_strips != 0 && slot.started;
            found.misses_map |= is_of_scheme && self.is_held(id as u32);
            found.writes_map |= !is_of_scheme && slot.operation.space != 0 && slot.started;
        }
        found
    }
}
