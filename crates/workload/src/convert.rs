//! A trace, or a part of it, in another format.

use crate::error::TraceError;
use crate::formats::Format;
use crate::options::{DeviceLayout, OnError, TraceOptions};
use crate::slice::{LeftOut, Slicer, TraceSlice};
use crate::summary::TraceSummary;
use crate::trace::{Trace, in_order};
use crate::watch::{GoOn, Watch};
use crate::write::{STANDARD_OUTPUT, TraceWriter, refuse_same};
use flashraid_vocabulary::HostRequest;
use serde::Serialize;
use std::path::Path;

/// What became of a trace that was converted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Converted {
    /// What was read: as far as the slice reaches.
    #[serde(flatten)]
    pub source: TraceSummary,
    /// What of the source is likely to mislead whoever replays what was written.
    pub warnings: Vec<String>,
    /// The format written.
    pub output_format: &'static str,
    /// Requests written.
    pub written: u64,
    /// Requests outside the slice.
    pub left_out: LeftOut,
    /// Requests that the format has no words for (`OnError::Skip`).
    pub unwritable: u64,
    /// The first of them.
    pub first_unwritable: Option<String>,
    /// Requests written at a time rounded down, to a multiple of the format's tick.
    pub rounded: u64,
    /// Requests that named a write stream, for which the format has no words.
    pub streams_lost: u64,
    /// This tick.
    pub tick_ns: u64,
    /// Whether devices keep address spaces of their own; else these are laid side by side, as `source.device_list` says.
    pub devices_apart: bool,
}

/// Writes the part of a trace that `slice` asks for to `output` in `format`. Devices stay apart if the format tells them apart. With
/// `OnError::Skip`, requests that the format cannot express are counted and left out. A part without any request is an error.
pub fn convert(
    input: &Path,
    reading: &TraceOptions,
    slice: &TraceSlice,
    output: &Path,
    format: &'static Format,
    go_on: &mut GoOn<'_>,
) -> Result<Converted, TraceError> {
    slice.check()?;
    refuse_same(input, output)?;
    let mut watch = Watch::new(go_on);
    let layout = if format.keeps_devices() { DeviceLayout::Apart } else { DeviceLayout::SideBySide };
    let options = TraceOptions { layout, ..reading.clone() };
    let mut convert = |trace: Trace| {
        let writing = Writing::create(output, format, trace.names_streams(), reading.on_error)?;
        converted(trace, slice, writing, format, &mut watch)
    };
    if output == Path::new(STANDARD_OUTPUT) {
        // What has been written there cannot be taken back.
        convert(Trace::open_sorted(input, &options)?)
    } else {
        in_order(input, &options, TraceError::is_late, convert)
    }
}

fn converted(
    mut trace: Trace,
    slice: &TraceSlice,
    mut writing: Writing,
    format: &'static Format,
    watch: &mut Watch<'_>,
) -> Result<Converted, TraceError> {
    let mut slicer = Slicer::new(slice);
    let mut batch = Vec::new();
    let mut is_at_end = false;
    watch.gather(&mut trace)?;
    while !slicer.is_done() && !is_at_end {
        batch.clear();
        is_at_end = trace.read_batch(&mut batch)? == 0;
        for request in &batch {
            if slicer.is_done() {
                break;
            }
            if let Some(request) = slicer.take(request) {
                writing.write(&request)?;
            }
        }
        watch.look(slicer.looked_at(), || Some(trace.share_read()))?;
    }
    let path = trace.path().to_owned();
    let mut source = if is_at_end { trace.finish()? } else { trace.so_far() };
    let read = slicer.looked_at();
    source.requests = read;
    if writing.written == 0 {
        let why = writing.first_unwritable.map_or(String::new(), |first| format!("; {first}"));
        let what = format!("none of the {read} requests read was selected{why}; expected a part of the trace with at least one request");
        return Err(TraceError::Unusable { path, what });
    }
    watch.look_last(read)?;
    let Writing { writer, written, unwritable, first_unwritable, rounded, tick_ns, streams_lost, .. } = writing;
    writer.finish()?;
    Ok(Converted {
        warnings: source.warnings(true),
        source,
        output_format: format.name,
        written,
        left_out: slicer.left_out,
        unwritable,
        first_unwritable,
        rounded,
        streams_lost,
        tick_ns,
        devices_apart: format.keeps_devices(),
    })
}

/// A trace being written, of which requests may be left out that the format has no words for.
pub(crate) struct Writing {
    pub writer: TraceWriter,
    on_error: OnError,
    keeps_devices: bool,
    keeps_streams: bool,
    pub streams_lost: u64,
    pub tick_ns: u64,
    pub rounded: u64,
    pub written: u64,
    pub unwritable: u64,
    pub first_unwritable: Option<String>,
}

impl Writing {
    pub fn create(path: &Path, format: &'static Format, names_streams: bool, on_error: OnError) -> Result<Self, TraceError> {
        Ok(Self {
            writer: TraceWriter::create(path, format, names_streams)?,
            on_error,
            keeps_devices: format.keeps_devices(),
            keeps_streams: format.keeps_streams(),
            streams_lost: 0,
            tick_ns: format.tick_ns(),
            rounded: 0,
            written: 0,
            unwritable: 0,
            first_unwritable: None,
        })
    }

    /// A format without devices gets the common address space as that of one device.
    #[inline]
    pub fn write(&mut self, request: &HostRequest) -> Result<(), TraceError> {
        let source = if self.keeps_devices { request.source } else { 0 };
        match self.writer.write(&HostRequest { source, ..*request }) {
            Ok(()) => {
                self.written += 1;
                self.streams_lost += u64::from(request.stream != 0 && !self.keeps_streams);
                self.rounded += u64::from(!request.arrival_ns.is_multiple_of(self.tick_ns));
                Ok(())
            }
            Err(error @ TraceError::Unwritable { .. }) if self.on_error == OnError::Skip => {
                self.unwritable += 1;
                self.first_unwritable.get_or_insert_with(|| error.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
