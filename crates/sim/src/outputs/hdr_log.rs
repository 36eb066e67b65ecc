//! Interval log of HdrHistogram, version 2 (compressed, as its tools expect it): for each interval and kind of request a histogram
//! of latencies in nanoseconds, tagged with the kind. Times count from the start of the simulation, in seconds with three
//! decimals. Kinds without requests in an interval have no line.

use super::interval::Interval;
use super::sink::Sink;
use crate::error::RunError;
use crate::statistics::KINDS;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Times of the log have three decimals of a second.
pub(super) const TICK_NS: u64 = 1_000_000;

pub(super) struct HdrLog {
    sink: Sink,
    serializer: V2DeflateSerializer,
}

impl HdrLog {
    pub(super) fn create(path: &Path) -> Result<Self, RunError> {
        let mut sink = Sink::create("hdr_log", path)?;
        let mut serializer = V2DeflateSerializer::new();
        let header = IntervalLogWriterBuilder::new()
            .add_comment("[Latencies in nanoseconds by kind of request; time is simulated]")
            .with_start_time(UNIX_EPOCH)
            .with_base_time(UNIX_EPOCH)
            .begin_log_with(&mut sink.text, &mut serializer)
            .map(drop);
        header.map_err(|source| sink.error(source))?;
        Ok(Self { sink, serializer })
    }

    /// The interval has ended at `end_ns`.
    pub(super) fn add(&mut self, interval: &Interval, end_ns: u64) -> Result<(), RunError> {
        let (start, length) = (Duration::from_nanos(interval.start_ns), Duration::from_nanos(end_ns - interval.start_ns));
        for (latency, kind) in interval.latency.iter().zip(KINDS).filter(|(latency, _)| latency.count > 0) {
            // A writer without a header goes on where the former one ended.
            let written = IntervalLogWriterBuilder::new()
                .begin_log_with(&mut self.sink.text, &mut self.serializer)
                .map_err(IntervalLogWriterError::IoError)
                .and_then(|mut log| log.write_histogram(latency.histogram(), start, length, Tag::new(kind)));
            written.map_err(|error| match error {
                IntervalLogWriterError::IoError(source) => self.sink.error(source),
                IntervalLogWriterError::SerializeError(error) => self.sink.error(io::Error::other(error)),
            })?;
        }
        self.sink.spill()
    }

    pub(super) fn finish(&mut self) -> Result<(), RunError> {
        self.sink.flush()
    }
}
