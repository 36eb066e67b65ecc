//! What a run writes beside its result: logs of requests and of page operations, a series of intervals, a log of histograms, a timeline, fio's JSON.
//!
//! The engine appends plain records (`engine::recorder`); here they are taken away again and again and written, so that memory stays
//! bounded however long the trace is. All outputs cover what the result covers: the measured requests, and the time from when
//! measuring begins.
//!
//! `asked` says which outputs are wanted, and `writers` drives them; each has a file of its own, written through a `sink`. `interval` cuts
//! the time for those that have rows by time.

mod asked;
mod fio;
mod hdr_log;
mod interval;
mod latency_log;
mod operation_log;
mod series;
mod sink;
mod timeline;
mod writers;

pub use asked::Outputs;
pub use interval::INTERVALS_OF_A_LENGTH;
pub use timeline::MOST_EVENTS;
pub(crate) use writers::Writers;
