//! Timeline as Chrome trace events (JSON object form), for Perfetto and chrome://tracing: one track for each bus and each array
//! unit with slices named by cause, counters of queues and erased blocks for each member, and requests as asynchronous slices. What failed,
//! and how long rebuilds took, is a track of its own.
//! Times are microseconds with three decimals, which is to the nanosecond.

use super::sink::{Sink, push_number, push_us};
use crate::engine::recorder::{Moment, RequestRecord};
use crate::engine::{FaultRecord, RebuildRecord};
use crate::error::RunError;
use crate::media::Inspect;
use flashraid_ftl::{Slice, Track};
use serde_json::{Value, json};
use std::io::Write;
use std::ops::Range;
use std::path::Path;

/// Most events of a timeline, some 150 bytes each: what a browser opens with ease.
pub const MOST_EVENTS: u64 = 1_000_000;

const DEVICE: u32 = 1;
const HOST: u32 = 2;
const FAILURES: u32 = 3;

pub(super) struct Timeline {
    sink: Sink,
    pub(super) window: Range<u64>,
    /// Threads of buses, and of LUNs.
    threads: (Vec<u32>, Vec<u32>),
    events: u64,
    /// Events that name the tracks.
    names: u64,
    /// When there were too many events: what was over by then is shown, and what was in flight or came later is left out.
    pub(super) truncated_ns: Option<u64>,
}

impl Timeline {
    pub(super) fn create(path: &Path, media: &dyn Inspect) -> Result<Self, RunError> {
        let sink = Sink::create("timeline", path)?;
        let mut timeline = Self { sink, window: 0..0, threads: Default::default(), events: 0, names: 0, truncated_ns: None };
        timeline.sink.text.extend_from_slice(b"{\"traceEvents\":[");
        timeline.name_tracks(media);
        timeline.names = timeline.events;
        Ok(timeline)
    }

    /// Names the tracks. Threads are numbered as they are shown: each bus before its LUNs.
    fn name_tracks(&mut self, media: &dyn Inspect) {
        self.metadata("process_name", DEVICE, 0, json!({ "name": "device" }));
        self.metadata("process_name", HOST, 0, json!({ "name": "host requests" }));
        let mut thread = 0;
        for (number, ssd) in media.ssds().into_iter().enumerate() {
            let settings = ssd.settings;
            let device = if media.shape().ssds > 1 { format!("device {number}, ") } else { String::new() };
            let chips = settings.chips_per_channel();
            for channel in 0..settings.geometry.channels {
                thread += 1;
                self.threads.0.push(thread);
                self.name_thread(thread, format!("{device}channel {channel}: bus"));
                for number in 0..settings.shape().luns_per_channel {
                    let (chip, die) = (number % chips, number / chips);
                    let die = if settings.chip_serial() { String::new() } else { format!(", die {die}") };
                    thread += 1;
                    self.threads.1.push(thread);
                    self.name_thread(thread, format!("{device}channel {channel}: chip {chip}{die}"));
                }
            }
        }
    }

    fn name_thread(&mut self, thread: u32, name: String) {
        self.metadata("thread_name", DEVICE, thread, json!({ "name": name }));
        self.metadata("thread_sort_index", DEVICE, thread, json!({ "sort_index": thread }));
    }

    fn metadata(&mut self, name: &str, process: u32, thread: u32, arguments: Value) {
        self.begin_event();
        self.push(format_args!("{{\"name\":\"{name}\",\"ph\":\"M\",\"pid\":{process},\"tid\":{thread},\"args\":{arguments}}}"));
    }

    fn thread(&self, track: Track) -> u32 {
        match track {
            Track::Bus(channel) => self.threads.0[channel as usize],
            Track::Lun(lun) => self.threads.1[lun as usize],
        }
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.sink.text.write_fmt(text).expect("memory takes everything");
    }

    fn begin_event(&mut self) {
        let text = &mut self.sink.text;
        text.extend_from_slice(if self.events == 0 { b"\n" } else { b",\n" });
        self.events += 1;
    }

    /// Whether there is space for so many more events, of what was recorded at `time_ns`; once there was none, there is none.
    fn has_space(&mut self, events: u64, time_ns: u64) -> bool {
        if self.truncated_ns.is_some() || self.events + events > MOST_EVENTS {
            // Requests are written before moments that were recorded earlier.
            self.truncated_ns = Some(self.truncated_ns.map_or(time_ns, |former| former.min(time_ns)));
        }
        self.truncated_ns.is_none()
    }

    /// Whether nothing happened in the window.
    pub(super) fn is_empty(&self) -> bool {
        self.events == self.names
    }

    pub(super) fn add_moment(&mut self, moment: &Moment) -> Result<(), RunError> {
        match *moment {
            Moment::Slice(ref slice, request) => self.add_slice(slice, request),
            Moment::Queued { time_ns, member, reads, programs } => {
                self.add_counter(
                    time_ns,
                    format_args!("queue of member {member}"),
                    format_args!("\"reads\":{reads},\"programs\":{programs}"),
                );
            }
            Moment::FreeBlocks { time_ns, member, blocks } => {
                self.add_counter(time_ns, format_args!("free blocks of member {member}"), format_args!("\"blocks\":{blocks}"));
            }
        }
        self.sink.spill()
    }

    fn add_slice(&mut self, slice: &Slice, request: Option<u64>) {
        let is_bus = matches!(slice.track, Track::Bus(_));
        // Slices of buses are recorded when they begin, the others when they end.
        if slice.end_ns == slice.start_ns || !self.has_space(1, if is_bus { slice.start_ns } else { slice.end_ns }) {
            return;
        }
        self.begin_event();
        let (cause, thread) = (slice.cause.name(), self.thread(slice.track));
        let category = if is_bus { "bus" } else { "die" };
        self.push(format_args!("{{\"name\":\"{cause}\",\"cat\":\"{category}\",\"ph\":\"X\",\"pid\":{DEVICE},\"tid\":{thread},\"ts\":"));
        push_us(&mut self.sink.text, slice.start_ns);
        self.sink.text.extend_from_slice(b",\"dur\":");
        push_us(&mut self.sink.text, slice.end_ns - slice.start_ns);
        self.push(format_args!(",\"args\":{{\"action\":\"{}\",\"ppn\":{}", slice.activity.name(), slice.ppn.0));
        if let Some(page) = slice.page {
            self.push(format_args!(",\"member\":{},\"page\":{}", page.member.0, page.page.0));
        }
        if let Some(request) = request {
            self.push(format_args!(",\"request\":{request}"));
        }
        self.sink.text.extend_from_slice(b"}}");
    }

    fn add_counter(&mut self, time_ns: u64, name: std::fmt::Arguments<'_>, values: std::fmt::Arguments<'_>) {
        if !self.has_space(1, time_ns) {
            return;
        }
        self.begin_event();
        self.push(format_args!("{{\"name\":\"{name}\",\"ph\":\"C\",\"pid\":{DEVICE},\"tid\":0,\"ts\":"));
        push_us(&mut self.sink.text, time_ns);
        self.push(format_args!(",\"args\":{{{values}}}}}"));
    }

    /// A request, if any of its time is in the window.
    pub(super) fn add_request(&mut self, request: &RequestRecord) -> Result<(), RunError> {
        let RequestRecord { arrival_ns, end_ns, .. } = *request;
        if arrival_ns >= self.window.end || end_ns < self.window.start || !self.has_space(2, end_ns) {
            return Ok(());
        }
        for (phase, time_ns) in [("b", arrival_ns), ("e", end_ns)] {
            self.begin_event();
            let name = request.op.name();
            self.push(format_args!("{{\"name\":\"{name}\",\"cat\":\"request\",\"ph\":\"{phase}\",\"pid\":{HOST},\"tid\":0,\"id\":\""));
            push_number(&mut self.sink.text, request.sequence);
            self.sink.text.extend_from_slice(b"\",\"ts\":");
            push_us(&mut self.sink.text, time_ns);
            if phase == "b" {
                let (offset, size, method) = (request.offset_bytes, request.size_bytes, request.methods.name());
                self.push(format_args!(",\"args\":{{\"offset_bytes\":{offset},\"size_bytes\":{size},\"method\":\"{method}\"}}"));
            }
            self.sink.text.push(b'}');
        }
        self.sink.spill()
    }

    /// What failed, and the rebuilds, with the time up to which they are known.
    pub(super) fn add_failures(&mut self, faults: &[FaultRecord], rebuilds: &[RebuildRecord], now_ns: u64) {
        if faults.is_empty() {
            return;
        }
        self.metadata("process_name", FAILURES, 0, json!({ "name": "failures" }));
        for FaultRecord { at_ns, failure, .. } in faults.iter().filter(|fault| self.window.contains(&fault.at_ns)).collect::<Vec<_>>() {
            self.begin_event();
            self.push(format_args!(
                "{{\"name\":\"{failure}\",\"cat\":\"fault\",\"ph\":\"i\",\"s\":\"g\",\"pid\":{FAILURES},\"tid\":0,\"ts\":"
            ));
            push_us(&mut self.sink.text, *at_ns);
            self.sink.text.push(b'}');
        }
        for rebuild in rebuilds {
            let (start_ns, end_ns) = (rebuild.faults[0].0, rebuild.ended_ns.unwrap_or(now_ns));
            if start_ns < self.window.end && end_ns >= self.window.start {
                self.begin_event();
                self.push(format_args!("{{\"name\":\"rebuild\",\"cat\":\"rebuild\",\"ph\":\"X\",\"pid\":{FAILURES},\"tid\":0,\"ts\":"));
                push_us(&mut self.sink.text, start_ns);
                self.sink.text.extend_from_slice(b",\"dur\":");
                push_us(&mut self.sink.text, end_ns - start_ns);
                let is_finished = rebuild.finished_ns.is_some();
                self.push(format_args!(",\"args\":{{\"pages\":{},\"finished\":{is_finished}}}}}", rebuild.pages));
            }
        }
    }

    /// The end, with what tells where it comes from.
    pub(super) fn finish(&mut self, mut about: Value) -> Result<(), RunError> {
        about["window_start_ns"] = self.window.start.into();
        about["window_end_ns"] = if self.window.end == u64::MAX { Value::Null } else { self.window.end.into() };
        about["truncated_ns"] = self.truncated_ns.into();
        self.push(format_args!("\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{about}}}\n"));
        self.sink.flush()
    }
}
