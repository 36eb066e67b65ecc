//! What is known of a trace once it has been read.

/// One device of a trace.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DeviceSummary {
    /// Its number, `HostRequest::source`.
    pub number: u32,
    /// What the trace calls it.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Whether the filter keeps them.
    pub is_kept: bool,
    /// Where its address space begins in the common one.
    pub base_bytes: u64,
    /// Highest end of its requests, in its own address space.
    pub end_bytes: u64,
}

/// What is known of a trace once it has been read. A limit counts requests in the order of their times, among those and the 4,096 after them (of a
/// coarse clock, to the end of a tick); what is left out, late, ignored or skipped is counted over all that was read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TraceSummary {
    /// Name of the file, without its folders.
    pub name: String,
    /// SHA-256 of the whole file as it lies on disk, in hexadecimal; empty if reading ended early and nobody needs it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sha256: String,
    /// The format it was read as.
    pub format: &'static str,
    /// What its times were taken to count.
    pub time_unit: &'static str,
    /// Requests delivered.
    pub requests: u64,
    /// Requests left out by the device filter.
    pub filtered: u64,
    /// Requests with an earlier time than one recorded before them.
    pub out_of_order: u64,
    /// How often the clock went back from one request to the next: once for each further log in a file of several.
    pub steps_back: u64,
    /// The most by which one of them is late, if it is not in the nature of the format to record requests late; else 0.
    #[serde(skip)]
    pub late_ns: u64,
    /// Where the header came again, from which on another recording is joined to the first: the number of the line.
    #[serde(skip)]
    pub header_again: Option<u64>,
    /// How many recordings are joined to the first in this way.
    #[serde(skip)]
    pub joined: u64,
    /// Tick of the trace's clock if it is too coarse to order requests by: those of a tick were spread over it evenly.
    pub spread_tick_ns: Option<u64>,
    /// Lines or records that could not be read (`OnError::Skip`).
    pub skipped: u64,
    /// The messages of the first few of them.
    pub faults: Vec<String>,
    /// What was recorded beside requests: what it is, and how often.
    #[serde(serialize_with = "as_map")]
    pub ignored: Vec<(&'static str, u64)>,
    /// Requests, or parts of them, that no simulated device serves and that are left out: what they are, and how many.
    #[serde(serialize_with = "as_map")]
    pub unsupported: Vec<(&'static str, u64)>,
    /// Events that the recorder says it lost.
    pub lost_events: u64,
    /// Requests that were issued again after the device had given them back, left out: they count once.
    pub reissued: u64,
    /// Whether the last line or record is cut off, and left out: 0 or 1.
    pub truncated: u64,
    /// What the reader takes for granted, a sentence each.
    pub assumed: Vec<String>,
    /// Devices that the filter names and that were not met.
    pub absent: Vec<String>,
    /// Distinct devices met, filtered out or not.
    pub devices: u64,
    /// These devices, in the order of their first requests.
    pub device_list: Vec<DeviceSummary>,
}

/// Pairs as a map.
fn as_map<S: serde::Serializer>(pairs: &[(&'static str, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}
