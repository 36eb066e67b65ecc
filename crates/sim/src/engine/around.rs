//! What requests felt before, during and after the rebuilds and replacements of a run.

use super::content::Content;
use super::state::Engine;
use crate::media::Media;
use crate::statistics::{KINDS, Latency, kind};
use flashraid_vocabulary::HostOp;

/// Latencies of measured requests that completed, by kind (`KINDS`) and by when they arrived.
#[derive(Clone, Debug)]
pub struct Around {
    /// When the first rebuild or replacement began.
    began_ns: u64,
    /// Of requests that arrived before that.
    pub before: [Latency; KINDS.len()],
    /// Of requests that arrived while one of them ran.
    pub during: [Latency; KINDS.len()],
    /// Of those that arrived later, while none ran.
    pub after: [Latency; KINDS.len()],
}

impl<C: Content, M: Media> Engine<C, M> {
    /// What requests felt around rebuilds and replacements, if there were any.
    pub fn around(&self) -> Option<&Around> {
        self.around.as_deref()
    }

    /// A rebuild or a replacement begins: what has completed until now arrived before it.
    pub(super) fn part_latencies(&mut self, now_ns: u64) {
        let before = &self.statistics.latency;
        self.around.get_or_insert_with(|| {
            Box::new(Around { began_ns: now_ns, before: before.clone(), during: Default::default(), after: Default::default() })
        });
    }

    /// A measured request has completed that arrived then, after a rebuild or a replacement had begun.
    #[cold]
    pub(super) fn note_around(&mut self, op: HostOp, arrival_ns: u64, latency_ns: u64) {
        let is_during = self.is_rebuilt_at(arrival_ns) || self.is_replaced_at(arrival_ns);
        let Some(around) = &mut self.around else { return };
        let part = match is_during {
            true => &mut around.during,
            false if arrival_ns < around.began_ns => &mut around.before,
            false => &mut around.after,
        };
        part[kind(op)].record(latency_ns);
    }
}
