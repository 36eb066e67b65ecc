//! A trace as rows of a table, for whoever computes with it.

use crate::error::TraceError;
use crate::options::{DeviceLayout, TraceOptions};
use crate::trace::Trace;
use flashraid_vocabulary::HostRequest;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The rows of a trace as CSV without a header: `arrival_ns,op,offset_bytes,size_bytes,device`, where `op` is `read`, `write`, `trim`,
/// `write_zeroes` or `flush`, and `device` is what the trace calls it. Offsets count in the device's own address space.
pub struct TraceRows {
    trace: Trace,
    /// The devices' names as CSV fields.
    names: BTreeMap<u32, String>,
    batch: Vec<HostRequest>,
}

impl TraceRows {
    /// Opens a trace, which is read and sorted as a whole before the first row. `options.layout` is of no concern.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, TraceError> {
        let trace = Trace::open_sorted(path, &TraceOptions { layout: DeviceLayout::Apart, ..options.clone() })?;
        Ok(Self { trace, names: BTreeMap::new(), batch: Vec::new() })
    }

    /// About as many rows as asked for; none at the end of the trace.
    pub fn read(&mut self, rows: usize) -> Result<Vec<u8>, TraceError> {
        self.batch.clear();
        while self.batch.len() < rows && self.trace.read_batch(&mut self.batch)? > 0 {}
        let mut text = Vec::new();
        for request in &self.batch {
            if !self.names.contains_key(&request.source) {
                self.names = self.trace.gate().devices().map(|device| (device.number, field(&device.name))).collect();
            }
            let HostRequest { arrival_ns, offset_bytes, size_bytes, op, source, stream } = request;
            let (op, name) = (op.name(), self.names.get(source).map_or("", String::as_str));
            writeln!(text, "{arrival_ns},{op},{offset_bytes},{size_bytes},{name},{stream}").expect("a vector takes every byte");
        }
        Ok(text)
    }
}

/// A name as a field: in quotes, so that commas and numbers are text.
fn field(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
