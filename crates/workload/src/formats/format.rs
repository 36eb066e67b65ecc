//! What a format is, how one is written, and what several have in common.

use crate::line::SECTOR_BYTES;
use crate::options::TraceOptions;
use crate::parser::Parser;
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::HostRequest;
use std::path::Path;

/// Times of recordings in which a request may have begun before their 0 are moved by so much. Whole seconds, so that ticks of any clock stay whole.
pub(crate) const START_NS: u64 = 2_000_000_000 * 1_000_000_000;

/// One format.
pub struct Format {
    /// The name used everywhere.
    pub name: &'static str,
    /// One sentence: columns and units.
    pub about: &'static str,
    /// What its times count, unless the user or the file's name says otherwise.
    pub unit: TimeUnit,
    /// Words in a file's name, lower case, that mean this format; `is_word` finds those that no list can hold.
    pub(crate) words: &'static [&'static str],
    pub(crate) is_word: fn(&str) -> bool,
    /// Endings of file names, without the dot, that files of this format have; several formats may share one.
    pub(crate) endings: &'static [&'static str],
    /// Whether the first bytes of a file (all of them, or at least 64 KiB) can only be of this format.
    pub(crate) is_header: fn(head: &[u8]) -> bool,
    pub(crate) traits: Traits,
    /// A parser that stands at the start of a file.
    pub(crate) parser: fn(&Setup) -> Box<dyn Parser>,
    /// How to write it, if it can be written.
    pub(crate) writer: Option<fn() -> Box<dyn Writer>>,
}

impl Format {
    /// Whether requests can be written in it.
    pub fn is_writable(&self) -> bool {
        self.writer.is_some()
    }

    /// Whether what is written in it tells devices apart.
    pub(crate) fn keeps_devices(&self) -> bool {
        self.writer.is_some_and(|writer| writer().keeps_devices())
    }

    /// Whether what is written in it tells write streams apart.
    pub(crate) fn keeps_streams(&self) -> bool {
        self.writer.is_some_and(|writer| writer().keeps_streams())
    }

    /// What times are whole multiples of when they are written in it.
    pub fn tick_ns(&self) -> u64 {
        self.writer.map_or(1, |writer| writer().tick_ns())
    }
}

/// What a parser is told.
pub(crate) struct Setup<'a> {
    /// The file.
    pub path: &'a Path,
    /// What the times count.
    pub unit: TimeUnit,
    /// How the user wants it to be read.
    pub options: &'a TraceOptions,
}

impl Setup<'_> {
    /// Bytes of a sector of the device.
    pub fn sector_bytes(&self) -> u64 {
        self.options.sector_bytes.unwrap_or(SECTOR_BYTES)
    }
}

/// A format being written: text for a header, then for each request, then for what ends a file.
pub(crate) trait Writer: Send {
    /// What comes before the first request. `names_streams`: whether requests may name write streams.
    fn begin(&mut self, _text: &mut Vec<u8>, _names_streams: bool) {}
    /// Whether the format tells write streams apart, by `HostRequest::stream`. If not, what requests name is not written.
    fn keeps_streams(&self) -> bool {
        false
    }
    /// Whether the format tells devices apart, by `HostRequest::source`. If not, it is given requests of device 0 only.
    fn keeps_devices(&self) -> bool {
        false
    }
    /// What the times that it writes are whole multiples of; others are rounded down.
    fn tick_ns(&self) -> u64 {
        1
    }
    /// Appends a request. Text of one that cannot be expressed must not be appended.
    fn request(&mut self, request: &HostRequest, text: &mut Vec<u8>) -> Result<(), NotExpressible>;
    /// What comes after the last request.
    fn end(&mut self, _text: &mut Vec<u8>) {}
}

/// A request that a format has no words for.
pub(crate) struct NotExpressible {
    /// What stands in the way.
    pub what: String,
    /// What the format can hold.
    pub expected: &'static str,
}

/// For formats whose names are all in `words`.
pub(crate) fn no_other_word(_: &str) -> bool {
    false
}

/// For formats without a header.
pub(crate) fn no_header(_: &[u8]) -> bool {
    false
}

/// The first line of a file's head, without blanks around it.
pub(crate) fn first_line(head: &[u8]) -> &[u8] {
    head[..memchr::memchr(b'\n', head).unwrap_or(head.len())].trim_ascii()
}
