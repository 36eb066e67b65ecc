//! What is going on at an instant: for whoever stops the clock there.

use super::content::Content;
use super::{Engine, NIL};
use flashraid_redundancy::OperationKind;
use flashraid_vocabulary::MemberId;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// An operation of a host write or trim has programmed some of its pages and not all.
    pub updates: bool,
    /// A commit of a delayed parity is under way.
    pub commits: bool,
    /// A page is semivalid.
    pub semivalid: bool,
    /// A collection is under way.
    pub collects: bool,
    /// An operation waits for a stripe that another one holds.
    pub waits_for_lock: bool,
    /// The share of stripes that a running rebuild has passed.
    pub rebuilt: Option<f64>,
}

impl<C: Content> Engine<C> {
    /// What is going on now. Looks at every operation in flight.
    pub fn moment(&self) -> Moment {
        let mut moment = Moment { rebuilt: self.rebuild_share(), ..Moment::default() };
        for slot in self.slots.iter().filter(|slot| slot.is_alive()) {
            let kind = slot.operation.kind;
            let programmed = slot.programs() != NIL;
            moment.updates |= matches!(kind, OperationKind::Write | OperationKind::Trim) && programmed && slot.outstanding > 0;
            moment.commits |= kind == OperationKind::Commit && slot.started;
        }
        for member in (0..self.flash.settings().members()).map(|member| MemberId(member as u16)) {
            moment.semivalid |= self.flash.held(member).bases > 0;
            moment.collects |= self.flash.load(member).collections > 0;
        }
        moment.waits_for_lock = self.locks.has_waiter();
        moment
    }
}
