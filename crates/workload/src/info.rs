//! What a trace is made of, in one pass: the figures that papers tabulate of their workloads.

use crate::error::TraceError;
use crate::pages::PageSet;
use crate::trace::{Trace, TraceOptions, TraceSummary};
use flashraid_vocabulary::{HostOp, HostRequest};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::num::NonZeroU64;
use std::path::Path;

/// Statistics of a trace. Shares and means are None where there is nothing to divide by. "Transfers" are reads and writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceInfo {
    /// Name of the file, without its folders.
    pub name: String,
    /// SHA-256 of the file as it lies on disk.
    pub sha256: String,
    /// Requests of every kind.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards.
    pub trims: u64,
    /// Writes of zeroes.
    pub write_zeroes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes / transfers.
    pub write_share: Option<f64>,
    /// Mean size of transfers.
    pub mean_bytes: Option<f64>,
    /// Mean size of reads.
    pub mean_read_bytes: Option<f64>,
    /// Mean size of writes.
    pub mean_write_bytes: Option<f64>,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// From the first arrival to the last.
    pub duration_ns: u64,
    /// Requests / duration.
    pub requests_per_second: Option<f64>,
    /// Unit of the page counts below.
    pub page_bytes: u64,
    /// Distinct pages that transfers touch.
    pub pages_touched: u64,
    /// The same in bytes.
    pub footprint_bytes: u64,
    /// Distinct pages read.
    pub pages_read: u64,
    /// Distinct pages written.
    pub pages_written: u64,
    /// Of the pages that writes touch, each time counted, the share that the trace had written before.
    pub update_share: Option<f64>,
    /// Highest end of a request of any kind.
    pub max_address_bytes: u64,
    /// Of the transfers, the share that begins where the one before ended.
    pub sequential_share: Option<f64>,
    /// Of the transfers, the share whose offset or size is not a whole number of pages.
    pub unaligned_share: Option<f64>,
    /// Mean time from one arrival to the next.
    pub interarrival_mean_ns: Option<f64>,
    /// Its median, to three significant digits.
    pub interarrival_p50_ns: Option<u64>,
    /// Its 99th percentile, to three significant digits.
    pub interarrival_p99_ns: Option<u64>,
    /// Distinct devices in the file.
    pub devices: u64,
    /// Requests left out by the device filter.
    pub filtered: u64,
    /// Requests recorded with a time before their predecessor's.
    pub out_of_order: u64,
}

/// Statistics being gathered.
pub struct TraceStatistics {
    page_bytes: u64,
    /// Requests and bytes, by `HostOp`.
    counts: [u64; 5],
    bytes: [u64; 5],
    pages: PageSet,
    /// Pages that writes touch, each time counted, and those written before.
    page_writes: u64,
    page_updates: u64,
    max_address_bytes: u64,
    /// End of the last transfer.
    last_end: Option<u64>,
    sequential: u64,
    unaligned: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    gaps: Histogram<u64>,
}

impl TraceStatistics {
    /// Nothing seen yet.
    pub fn new(page_bytes: NonZeroU64) -> Self {
        Self {
            page_bytes: page_bytes.get(),
            counts: [0; 5],
            bytes: [0; 5],
            pages: PageSet::default(),
            page_writes: 0,
            page_updates: 0,
            max_address_bytes: 0,
            last_end: None,
            sequential: 0,
            unaligned: 0,
            first_ns: None,
            last_ns: 0,
            gaps: Histogram::new_with_max(i64::MAX as u64, 3).expect("bounds that the histogram allows"),
        }
    }

    /// Takes in the next request of one address space, in the order of arrivals.
    pub fn add(&mut self, request: &HostRequest) {
        self.counts[request.op as usize] += 1;
        let bytes = &mut self.bytes[request.op as usize];
        *bytes = bytes.saturating_add(request.size_bytes);
        self.max_address_bytes = self.max_address_bytes.max(request.offset_bytes + request.size_bytes);
        match self.first_ns {
            None => self.first_ns = Some(request.arrival_ns),
            Some(_) => self.gaps.saturating_record(request.arrival_ns - self.last_ns),
        }
        self.last_ns = request.arrival_ns;
        if matches!(request.op, HostOp::Read | HostOp::Write) {
            self.add_transfer(request);
        }
    }

    fn add_transfer(&mut self, request: &HostRequest) {
        let HostRequest { offset_bytes, size_bytes, op, .. } = *request;
        let end = offset_bytes + size_bytes;
        self.sequential += u64::from(self.last_end == Some(offset_bytes));
        self.last_end = Some(end);
        self.unaligned += u64::from(!offset_bytes.is_multiple_of(self.page_bytes) || !size_bytes.is_multiple_of(self.page_bytes));
        let (first, last) = (offset_bytes / self.page_bytes, (end - 1) / self.page_bytes);
        let written_before = self.pages.mark(first, last, op == HostOp::Write);
        if op == HostOp::Write {
            self.page_writes += last - first + 1;
            self.page_updates += written_before;
        }
    }

    /// The figures.
    pub fn finish(self, summary: TraceSummary) -> TraceInfo {
        let count = |op: HostOp| self.counts[op as usize];
        let bytes = |op: HostOp| self.bytes[op as usize];
        let (reads, writes) = (count(HostOp::Read), count(HostOp::Write));
        let transfers = reads + writes;
        let duration_ns = self.last_ns - self.first_ns.unwrap_or(0);
        let quantile = |share| (!self.gaps.is_empty()).then(|| self.gaps.value_at_quantile(share));
        TraceInfo {
            name: summary.name,
            sha256: summary.sha256,
            requests: self.counts.iter().sum(),
            reads,
            writes,
            trims: count(HostOp::Trim),
            write_zeroes: count(HostOp::WriteZeroes),
            flushes: count(HostOp::Flush),
            write_share: ratio(writes, transfers),
            mean_bytes: ratio(bytes(HostOp::Read) + bytes(HostOp::Write), transfers),
            mean_read_bytes: ratio(bytes(HostOp::Read), reads),
            mean_write_bytes: ratio(bytes(HostOp::Write), writes),
            bytes_read: bytes(HostOp::Read),
            bytes_written: bytes(HostOp::Write),
            duration_ns,
            requests_per_second: ratio(self.counts.iter().sum(), duration_ns).map(|per_ns| per_ns * 1e9),
            page_bytes: self.page_bytes,
            pages_touched: self.pages.touched,
            footprint_bytes: self.pages.touched * self.page_bytes,
            pages_read: self.pages.read,
            pages_written: self.pages.written,
            update_share: ratio(self.page_updates, self.page_writes),
            max_address_bytes: self.max_address_bytes,
            sequential_share: ratio(self.sequential, transfers),
            unaligned_share: ratio(self.unaligned, transfers),
            interarrival_mean_ns: ratio(duration_ns, self.gaps.len()),
            interarrival_p50_ns: quantile(0.5),
            interarrival_p99_ns: quantile(0.99),
            devices: summary.devices,
            filtered: summary.filtered,
            out_of_order: summary.out_of_order,
        }
    }
}

/// `part / whole`; None of nothing.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Reads a trace and returns its statistics, with page counts in units of `page_bytes`.
pub fn trace_info(path: &Path, options: &TraceOptions, page_bytes: NonZeroU64) -> Result<TraceInfo, TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut statistics = TraceStatistics::new(page_bytes);
    let mut batch = Vec::new();
    while trace.read_batch(&mut batch)? > 0 {
        batch.drain(..).for_each(|request| statistics.add(&request));
    }
    Ok(statistics.finish(trace.finish()?))
}
