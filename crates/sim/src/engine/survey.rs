//! What there is to know of an engine, for results, outputs, messages and tests: at any time, what is in flight, and whether its state can be kept.

use super::around::Around;
use super::content::Content;
use super::exposure::Exposure;
use super::failure::{FaultRecord, ReadErrors, RebuildRecord, WearOutRecord};
use super::host_side::HostSide;
use super::in_flight::InFlight;
use super::logical_space::LogicalSpace;
use super::replacement::{Outcome, ReplacementRecord};
use super::request::Service;
use super::state::Engine;
use super::translation::Translation;
use crate::buffer::Buffer;
use crate::clock::Clock;
use crate::media::{Inspect, Media};
use crate::statistics::Statistics;
use flashraid_redundancy::{OperationKind, Scheme};
use flashraid_vocabulary::NIL;

/// See the module.
#[derive(Clone, Copy)]
pub struct Survey<'a> {
    /// What holds the pages.
    pub media: &'a dyn Inspect,
    /// The scheme.
    pub scheme: &'a dyn Scheme,
    /// What was counted.
    pub statistics: &'a Statistics,
    /// The time, and its timers.
    pub clock: &'a Clock,
    /// The arithmetic of the logical space.
    pub(crate) space: LogicalSpace,
    /// Requests submitted.
    pub submitted: u64,
    /// Requests submitted and not completed, those that wait in the host included.
    pub outstanding: u64,
    /// Time in which nothing was in flight: no request, and no work on flash.
    pub idle_ns: u64,
    /// When a measured request was last completed, and the idle time until then.
    pub last_completion: (u64, u64),
    /// Whether a request ever had to wait in the host.
    pub has_queued_in_host: bool,
    /// Whether a request ever overtook another one in the host, which was in another queue.
    pub has_overtaken_in_host: bool,
    /// With several write streams: writes that named one of them, and those that named one that there is not.
    pub writes_of_streams: [u64; 2],
    /// What takes time between the host and the engine, if anything does.
    pub host_side: Option<&'a HostSide>,
    /// The data buffer.
    pub buffer: Option<&'a Buffer>,
    /// What of the map RAM holds, under DFTL.
    pub translation: Option<&'a Translation>,
    /// Pages that the scheme's window exposes; `None` if it has none.
    pub exposure: Option<&'a Exposure>,
    /// Which requests are served.
    pub service: Service,
    /// What has failed, in order.
    pub faults: &'a [FaultRecord],
    /// Rebuilds, in the order in which they began; the last one may go on.
    pub rebuilds: &'a [RebuildRecord],
    /// The share of the stripes that the rebuild which goes on has passed.
    pub rebuild_share: Option<f64>,
    /// Reads that LDPC could not correct.
    pub read_errors: ReadErrors,
    /// SSDs that were worn out, in order.
    pub wear_outs: &'a [WearOutRecord],
    /// SSDs that age has put out of use: what `until = worn:N` counts.
    pub retired: u32,
    /// Replacements of SSDs, in the order in which they began.
    pub replacements: &'a [ReplacementRecord],
    /// How much of the strips of the SSD that is being replaced lies elsewhere by now, or of the latest one that was, from 0 to 1. `None` before the
    /// first one.
    pub replaced_share: Option<f64>,
    /// What requests felt around rebuilds and replacements, if there were any.
    pub around: Option<&'a Around>,
}

impl<'a> Survey<'a> {
    /// The replacement that runs.
    pub fn running_replacement(&self) -> Option<&'a ReplacementRecord> {
        self.replacements.last().filter(|record| record.outcome == Outcome::Running)
    }

    /// Simulated time.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

impl<C: Content, M: Media> Engine<C, M> {
    /// What there is to know of it now.
    pub fn survey(&self) -> Survey<'_> {
        Survey {
            media: &self.executor.media,
            scheme: &*self.executor.scheme,
            statistics: &self.executor.statistics,
            clock: &self.executor.clock,
            space: self.executor.space,
            submitted: self.front_end.requests.submitted,
            outstanding: self.front_end.requests.outstanding,
            idle_ns: self.executor.idle_ns,
            last_completion: self.front_end.last_completion,
            has_queued_in_host: self.front_end.requests.has_queued_in_host,
            has_overtaken_in_host: self.front_end.requests.in_host.has_overtaken,
            writes_of_streams: self.front_end.requests.writes_of_streams,
            host_side: self.front_end.host_side.as_deref(),
            buffer: self.front_end.buffer.as_deref(),
            translation: self.executor.translation.as_deref(),
            exposure: self.executor.exposure.as_deref(),
            service: self.front_end.service,
            faults: &self.executor.failures.faults,
            rebuilds: &self.executor.failures.records,
            rebuild_share: self.executor.failures.rebuild_share(),
            read_errors: self.executor.failures.read_errors,
            wear_outs: &self.executor.failures.wear_outs,
            retired: self.executor.failures.retired,
            replacements: &self.front_end.replacements.records,
            replaced_share: self.front_end.replacements.share(self.scheme()),
            around: self.front_end.around.as_deref(),
        }
    }

    /// What is in flight now. Looks at every operation.
    pub fn in_flight(&self) -> InFlight {
        let mut found = InFlight {
            rebuilt: self.executor.failures.rebuild_share(),
            replaced: self.front_end.replacements.share(self.scheme()).filter(|_| self.front_end.replacements.running().is_some()),
            holds_host: self.front_end.replacements.held.as_ref().is_some_and(|held| !held.is_empty()),
            waits_for_lock: self.executor.operations.locks.has_waiter(),
            evicts: self.front_end.buffer.as_ref().is_some_and(|buffer| buffer.is_leaving()),
            nvram_is_full: self.front_end.buffer.as_ref().is_some_and(|buffer| buffer.survives_power_loss() && buffer.waits_for_slots()),
            flushes: !self.front_end.requests.flushes.is_empty(),
            answered_early: !self.front_end.in_controller.is_empty(),
            ..InFlight::default()
        };
        for (id, slot) in self.executor.operations.slots.as_slice().iter().enumerate().filter(|(_, slot)| slot.is_alive()) {
            let (kind, is_of_scheme) = (slot.operation.kind, slot.is_of_scheme());
            let programmed = slot.programs() != NIL;
            found.updates |= matches!(kind, OperationKind::Write | OperationKind::Trim) && programmed && slot.outstanding > 0;
            found.commits |= kind == OperationKind::Commit && slot.started;
            found.borrows_lock |= slot.started && self.executor.operations.rare(id as u32).lock_holder != NIL;
            found.trims |= kind == OperationKind::Trim && slot.started;
            found.writes_part |= kind == OperationKind::Write && slot.operation.merge_strips != 0 && slot.started;
            found.misses_map |=
                is_of_scheme && self.executor.translation.as_ref().is_some_and(|translation| translation.is_held(id as u32));
            found.writes_map |= !is_of_scheme && slot.operation.space != 0 && slot.started;
        }
        found
    }

    /// Why its state cannot be kept, if that is so: nothing may be in flight, and of what may have failed, blocks and pages alone are told apart from
    /// what never failed.
    pub(crate) fn cannot_be_saved(&self) -> Option<&'static str> {
        let is_at_work = self.front_end.requests.outstanding > 0
            || self.executor.operations.slots.as_slice().iter().any(|slot| slot.is_alive())
            || self.executor.clock.has_work()
            || self.executor.media.is_at_work()
            || !self.executor.media.is_at_rest()
            || self.front_end.buffer.as_ref().is_some_and(|buffer| buffer.is_leaving());
        if is_at_work {
            return Some("requests or operations are in flight");
        }
        if self.front_end.replacements.running().is_some() || self.awaiting_replacement().next().is_some() {
            return Some("an SSD is being replaced, or is to be");
        }
        // An SSD that its scheme has replaced may be dead: nobody asks for anything of it.
        let ssds = self.executor.media.ssds().into_iter().enumerate().filter(|(_, ssd)| !self.executor.moves_strips || ssd.is_of_member);
        if let Some(why) = ssds.into_iter().find_map(|(number, _)| self.executor.media.failed_parts(number)) {
            return Some(why);
        }
        if !self.executor.failures.wear_outs.is_empty() {
            return Some("an SSD is worn out");
        }
        let is_damaged = self.executor.media.has_failures() && self.executor.media.lost_versions() > 0;
        if is_damaged || !self.front_end.gone.is_empty() || self.front_end.requests.untold.is_some() {
            return Some("pages are lost");
        }
        let is_short = self.executor.failures.is_exhausted()
            || self.executor.translation.as_ref().is_some_and(|translation| translation.waits_for_slot());
        if self.executor.failures.rebuild_share().is_some() || is_short {
            return Some("a rebuild has not ended");
        }
        None
    }
}
