//! What there is to know of an engine, for results, outputs, messages and tests.

use super::around::Around;
use super::content::Content;
use super::exposure::Exposure;
use super::failure::{FaultRecord, ReadErrors, RebuildRecord, WearOutRecord};
use super::replacement::{Outcome, ReplacementRecord};
use super::request::Service;
use super::state::Engine;
use super::translation::Translation;
use crate::buffer::Buffer;
use crate::clock::Clock;
use crate::media::{Inspect, Media};
use crate::statistics::Statistics;
use flashraid_redundancy::Scheme;

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
    /// Pages of the logical space.
    pub space_pages: u64,
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
            media: &self.media,
            scheme: &*self.scheme,
            statistics: &self.statistics,
            clock: &self.clock,
            space_pages: self.options.space_pages,
            submitted: self.requests.submitted,
            outstanding: self.requests.outstanding,
            idle_ns: self.idle_ns,
            last_completion: self.last_completion,
            has_queued_in_host: self.requests.has_queued_in_host,
            buffer: self.buffer.as_deref(),
            translation: self.translation.as_deref(),
            exposure: self.exposure.as_deref(),
            service: self.service,
            faults: &self.failures.faults,
            rebuilds: &self.failures.records,
            rebuild_share: self.failures.rebuild_share(),
            read_errors: self.failures.read_errors,
            wear_outs: &self.failures.wear_outs,
            retired: self.failures.retired,
            replacements: &self.replacements.records,
            replaced_share: self.replaced_share(),
            around: self.around.as_deref(),
        }
    }
}
