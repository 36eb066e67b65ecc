//! What requests felt before, during and after the rebuilds and replacements of a run.

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

impl Around {
    /// The first rebuild or replacement begins: what has completed until now arrived before it.
    pub(super) fn new(began_ns: u64, before: &[Latency; KINDS.len()]) -> Self {
        Self { began_ns, before: before.clone(), during: Default::default(), after: Default::default() }
    }

    /// A request has completed that arrived then, while something was rebuilt or replaced or not.
    pub(super) fn note(&mut self, op: HostOp, arrival_ns: u64, latency_ns: u64, is_during: bool) {
        let part = match is_during {
            true => &mut self.during,
            false if arrival_ns < self.began_ns => &mut self.before,
            false => &mut self.after,
        };
        part[kind(op)].record(latency_ns);
    }
}
