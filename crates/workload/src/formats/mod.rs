//! The formats of traces, one file each. A new one is its file, its `mod` line and its place in `FORMATS`; the command's
//! help, recognition and error messages read that list.

mod actions;
mod alibaba;
mod beside;
mod biosnoop;
mod blkparse;
mod blkreplay;
mod blktrace;
mod cloudphysics;
mod columns;
mod diskmon;
mod disksim;
mod etw;
mod fio;
mod fio_log;
mod fiu;
mod flashraid;
mod heimdall;
mod iosnoop;
mod kernel_text;
mod lcs;
pub(crate) mod lost;
mod missing_op;
mod msr;
mod nvme;
mod oracle_general;
mod profile;
mod recognition;
mod rwbs;
mod scsi;
mod snoop;
mod spc;
mod spelling;
mod ssdsim;
mod systor;
mod tencent;
mod tracefs;
mod vscsi;

use crate::gate::{Found, HEADERS_AGAIN, Traits};
use crate::line::SECTOR_BYTES;
use crate::options::{BlockAction, TraceOptions};
use crate::parser::Parser;
use crate::unit::TimeUnit;
use flashraid_vocabulary::HostRequest;
pub use recognition::for_output;
pub(crate) use recognition::{recognize, unit_in_name};
pub(crate) use spelling::{check as check_spelling, expected_rows};
use std::path::{Path, PathBuf};

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
    /// What comes before the first request.
    fn begin(&mut self, _text: &mut Vec<u8>) {}
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

/// Every format.
pub const FORMATS: &[Format] = &[
    flashraid::FORMAT,
    ssdsim::FORMAT,
    spc::FORMAT,
    msr::FORMAT,
    systor::FORMAT,
    alibaba::FORMAT,
    tencent::FORMAT,
    etw::FORMAT,
    fiu::FORMAT,
    heimdall::FORMAT,
    disksim::FORMAT,
    diskmon::FORMAT,
    cloudphysics::FORMAT,
    profile::FORMAT,
    blkparse::FORMAT,
    blktrace::FORMAT,
    tracefs::FORMAT,
    nvme::FORMAT,
    biosnoop::FORMAT,
    iosnoop::FORMAT,
    fio::FORMAT,
    fio_log::FORMAT,
    blkreplay::FORMAT,
    oracle_general::FORMAT,
    lcs::FORMAT,
    vscsi::FORMAT,
    columns::FORMAT,
];

/// The format of texts whose columns the user names.
pub(crate) const COLUMNS: &Format = &columns::FORMAT;

/// The format called `name`.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The other files that are read with the one that is given, as a recording of blktrace has one for each CPU.
pub fn read_with(path: &Path) -> Vec<PathBuf> {
    blktrace::read_with(path)
}

/// Whether a format looks at this option of the reader; most options concern all formats.
pub fn heeds(format: &str, option: &str) -> bool {
    let is_one_of = |formats: &[&Format]| formats.iter().any(|known| known.name == format);
    match option {
        "action" => is_one_of(&[&blkparse::FORMAT, &blktrace::FORMAT, &tracefs::FORMAT, &biosnoop::FORMAT, &iosnoop::FORMAT]),
        "op" => is_one_of(&[&oracle_general::FORMAT, &lcs::FORMAT, &columns::FORMAT]),
        "object_bytes" => is_one_of(&[&oracle_general::FORMAT, &lcs::FORMAT]),
        "sector_bytes" => is_one_of(&[&ssdsim::FORMAT, &disksim::FORMAT, &diskmon::FORMAT, &nvme::FORMAT, &columns::FORMAT]),
        "columns" | "separator" => is_one_of(&[&columns::FORMAT]),
        _ => true,
    }
}

/// What there is in a file without a request, for a message, and the option that reads it.
pub(crate) fn what_there_is(found: &Found, action: BlockAction, format: &Format) -> String {
    let other: Vec<_> = found.ignored.iter().filter_map(|(name, count)| Some((actions::reading(name)?, *count))).collect();
    if !other.is_empty() {
        let letter = |action: BlockAction| char::from(action.letter());
        let there_are: Vec<String> = other.iter().map(|(action, count)| format!("{count} {}", letter(*action))).collect();
        let options: Vec<String> = other.iter().map(|(action, _)| format!("--action {}", letter(*action))).collect();
        return format!("no {} events, but {}: {}", letter(action), there_are.join(" and "), options.join(" or "));
    }
    let left_out = found.ignored.iter().chain(&found.unsupported).filter(|(what, _)| **what != HEADERS_AGAIN);
    let there_are: Vec<String> = left_out.map(|(what, count)| format!("{count} {what}")).collect();
    let beside = if there_are.is_empty() { String::new() } else { format!(", but {}", there_are.join(", ")) };
    let has_words = format.name == COLUMNS.name && found.unsupported.contains_key(rwbs::UNKNOWN);
    let remedy = if has_words {
        " (--columns op:1/0 says that 1 is a read and 0 a write)"
    } else if format.name == biosnoop::FORMAT.name && found.unsupported.contains_key(snoop::UNTOLD) {
        " (bcc before 0.19 may show 0 bytes for every request: record with a newer one, or with flashraid trace capture)"
    } else {
        ""
    };
    format!("no request in the file{beside}{remedy}")
}

/// The names of all formats, for messages.
pub(crate) fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// Times of recordings in which a request may have begun before their 0 are moved by so much. Whole seconds, so that ticks of any clock stay whole.
pub(crate) const START_NS: u64 = 2_000_000_000 * 1_000_000_000;

/// The names of the formats that can be written, for messages.
pub(crate) fn writable_names() -> String {
    FORMATS.iter().filter(|format| format.writer.is_some()).map(|format| format.name).collect::<Vec<_>>().join(" or ")
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
