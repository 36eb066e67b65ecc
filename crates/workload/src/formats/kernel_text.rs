//! Lines in which the kernel's tracers show events as text: `... seconds: EVENT: fields`.
//!
//! `trace` and `trace_pipe` in /sys/kernel/tracing and `trace-cmd report` write an event's name alone, `perf script` with its system
//! (`block:block_rq_issue:`), and some of its versions with a period before it. A process name may hold blanks, brackets and colons, so
//! lines are read from the event's name on: with the blank behind it, it is longer than a process name (15 bytes) can be.

use super::lost;
use crate::gate::Gate;
use crate::parser::TraceRecord;
use memchr::memmem::Finder;

/// Events of block requests that a format of this kind may be asked for, the first of which in a file says what it is.
const BLOCK_EVENTS: [(&str, &[u8]); 4] =
    [("block", b"block_rq_issue: "), ("block", b"block_bio_queue: "), ("block", b"block_rq_insert: "), ("block", b"block_rq_complete: ")];

/// Commands for NVMe drives: `nvme_setup_nvm_cmd` in kernel 4.17, `nvme_setup_cmd` since.
pub(super) const NVME_EVENTS: [(&str, &[u8]); 2] = [("nvme", b"nvme_setup_cmd: "), ("nvme", b"nvme_setup_nvm_cmd: ")];

/// What events are called that say that a device gave a request back.
pub(super) const REQUEUES: &str = "block_rq_requeue events";

/// What a text without requests has instead, and the option that reads it.
const OTHERS: [(&[u8], &str); 7] = [
    (b"block_rq_requeue: ", REQUEUES),
    (b"block_rq_issue: ", "block_rq_issue events (--action D)"),
    (b"block_bio_queue: ", "block_bio_queue events (--action Q)"),
    (b"block_rq_complete: ", "block_rq_complete events (--action C)"),
    (b"block_rq_insert: ", "block_rq_insert events"),
    (b"nvme_setup_cmd: ", "nvme_setup_cmd events (--format nvme)"),
    (b"nvme_setup_nvm_cmd: ", "nvme_setup_nvm_cmd events (--format nvme)"),
];

/// What the headers of a recording begin with: of the kernel's text, of trace-cmd report, of perf script.
const HEADERS: [&[u8]; 3] = [b"# tracer:", b"cpus=", b"# captured on"];

/// Finds events of one kind.
pub(super) struct EventFinder {
    system: &'static str,
    finder: Finder<'static>,
}

/// Where in a line an event is.
#[derive(Clone, Copy)]
pub(super) struct EventPlace {
    /// The time before it; `None` if there is none.
    pub time: Option<usize>,
    /// What follows the event's name.
    pub fields: usize,
}

impl EventFinder {
    /// For the event called `name`, with its colon and blank, of a system of the kernel's.
    pub fn new(system: &'static str, name: &'static [u8]) -> Self {
        Self { system, finder: Finder::new(name) }
    }

    /// The event in a line.
    #[inline]
    pub fn find(&self, text: &[u8]) -> Option<EventPlace> {
        let name = self.finder.needle().len();
        let mut from = 0;
        while !text.starts_with(b"#") {
            let at = from + self.finder.find(&text[from..])?;
            let before = &text[..at];
            let before = before.strip_suffix(b":").and_then(|before| before.strip_suffix(self.system.as_bytes())).unwrap_or(before);
            if before.is_empty() || before.ends_with(b" ") || before.ends_with(b"\t") {
                return Some(EventPlace { time: time_before(before), fields: at + name });
            }
            from = at + name;
        }
        None
    }
}

/// Where a time with a colon begins that ends this text, blanks and a period (a whole number) aside.
#[inline]
fn time_before(text: &[u8]) -> Option<usize> {
    let mut text = text.trim_ascii_end();
    if text.last().is_some_and(u8::is_ascii_digit) {
        let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        text = text[..text.len() - digits].trim_ascii_end();
    }
    text.ends_with(b":").then(|| memchr::memrchr2(b' ', b'\t', text).map_or(0, |blank| blank + 1))
}

/// What the events in the head of a file say of it: the system of the first one of these, block requests first.
pub(super) fn system_of(head: &[u8]) -> Option<&'static str> {
    let has = |system, name| {
        let event = EventFinder::new(system, name);
        event.finder.find_iter(head).any(|at| {
            let start = memchr::memrchr(b'\n', &head[..at]).map_or(0, |newline| newline + 1);
            let end = memchr::memchr(b'\n', &head[at..]).map_or(head.len(), |newline| at + newline);
            let line = &head[start..end];
            event.find(line).and_then(|place| place.time).is_some_and(|time| line[time].is_ascii_digit())
        })
    };
    BLOCK_EVENTS.iter().chain(&NVME_EVENTS).find(|(system, name)| has(system, name)).map(|(system, _)| *system)
}

/// Counts a line that has no event of the kind that is read.
#[cold]
pub(super) fn count_other(text: &[u8], gate: &mut Gate) -> TraceRecord {
    let text = text.trim_ascii();
    if lost::count(text, gate) {
        return TraceRecord::Nothing;
    }
    if HEADERS.iter().any(|header| text.starts_with(header)) {
        return TraceRecord::Header;
    }
    if text.is_empty() || text.starts_with(b"#") || text.starts_with(b"version = ") {
        return TraceRecord::Nothing;
    }
    let known = OTHERS.iter().find(|(name, _)| memchr::memmem::find(text, name).is_some());
    match known {
        Some((_, what)) => TraceRecord::Ignored(what),
        None if has_event(text) => TraceRecord::Ignored("other events"),
        None => TraceRecord::Ignored("lines without an event (stacks)"),
    }
}

/// Whether a line has a time and an event behind it.
fn has_event(text: &[u8]) -> bool {
    let mut words = text.split(|byte| matches!(byte, b' ' | b'\t'));
    words.any(|word| word.strip_suffix(b":").is_some_and(|time| time.first().is_some_and(u8::is_ascii_digit) && time.contains(&b'.')))
}
