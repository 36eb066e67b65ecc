//! What is going on at an instant: for whoever stops the clock there.

use super::content::Content;
use super::slot::NIL;
use super::state::Engine;
use flashraid_redundancy::OperationKind;
use flashraid_vocabulary::MemberId;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// An operation of a host write or trim has programmed some of its pages and not all.
    pub updates: bool,
    /// A commit of a delayed parity is under way.
    pub commits: bool,
    /// A commit runs under the lock of an operation that waits.
    pub borrows_lock: bool,
    /// A trim is under way.
    pub trims: bool,
    /// A write of a part of a page is under way.
    pub writes_part: bool,
    /// An operation waits for an entry of the map, which is on flash (DFTL).
    pub misses_map: bool,
    /// A translation page is being written.
    pub writes_map: bool,
    /// A page is semivalid.
    pub semivalid: bool,
    /// A collection of data pages is under way.
    pub collects: bool,
    /// A merge of log blocks is.
    pub merges: bool,
    /// A collection of translation pages is.
    pub collects_map: bool,
    /// A cold block is moved for static wear levelling.
    pub levels_wear: bool,
    /// An operation waits for a stripe that another one holds.
    pub waits_for_lock: bool,
    /// Pages leave the data buffer.
    pub evicts: bool,
    /// A request or an eviction waits until NVRAM has room.
    pub nvram_is_full: bool,
    /// A flush waits for what was written before it.
    pub flushes: bool,
    /// A write is answered, and only the controller has all of it.
    pub answered_early: bool,
    /// A program goes on in a part that is dead.
    pub programs_dead: bool,
    /// The share of stripes that a running rebuild has passed.
    pub rebuilt: Option<f64>,
}

impl<C: Content> Engine<C> {
    /// What is going on now. Looks at every operation in flight.
    pub fn moment(&self) -> Moment {
        let collecting = self.media.collections_under_way();
        let mut moment = Moment {
            rebuilt: self.rebuild_share(),
            collects: collecting.of_data,
            merges: collecting.merges,
            collects_map: collecting.of_map,
            levels_wear: collecting.for_wear,
            waits_for_lock: self.locks.has_waiter(),
            evicts: self.buffer.as_ref().is_some_and(|buffer| buffer.is_leaving()),
            nvram_is_full: self.buffer.as_ref().is_some_and(|buffer| buffer.is_short_of_room()),
            flushes: !self.flushes.is_empty(),
            answered_early: !self.in_controller.is_empty(),
            programs_dead: self.media.has_failures() && self.media.programs_in_service().any(|ppn| self.media.is_lost_page(ppn)),
            ..Moment::default()
        };
        for (id, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.is_alive()) {
            let (kind, is_of_scheme) = (slot.operation.kind, slot.is_of_scheme());
            let programmed = slot.programs() != NIL;
            moment.updates |= matches!(kind, OperationKind::Write | OperationKind::Trim) && programmed && slot.outstanding > 0;
            moment.commits |= kind == OperationKind::Commit && slot.started;
            moment.borrows_lock |= slot.borrows_lock();
            moment.trims |= kind == OperationKind::Trim && slot.started;
            moment.writes_part |= kind == OperationKind::Write && slot.operation.beneath != 0 && slot.started;
            moment.misses_map |= is_of_scheme && self.is_held(id as u32);
            moment.writes_map |= !is_of_scheme && slot.operation.space != 0 && slot.started;
        }
        for member in (0..self.shape.members).map(|member| MemberId(member as u16)) {
            moment.semivalid |= self.media.held(member).bases > 0;
        }
        moment
    }
}
