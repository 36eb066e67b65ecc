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
mod format;
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

use crate::error::TraceError;
use crate::gate::{Found, HEADERS_AGAIN};
use crate::options::BlockAction;
use flashraid_vocabulary::names::near;
pub use format::Format;
pub(crate) use format::{Setup, Writer};
pub use recognition::for_output;
pub(crate) use recognition::{recognize, unit_in_name};
pub(crate) use spelling::check as check_spelling;
use std::path::{Path, PathBuf};

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

/// The same; an error says which there are.
pub fn named(name: &str) -> Result<&'static Format, TraceError> {
    find(name).ok_or_else(|| TraceError::UnknownFormat { name: name.to_owned(), nearest: nearest(name, |_| true), known: names() })
}

/// The format called `name`, if requests can be written in it; an error says in which they can.
pub fn writable(name: &str) -> Result<&'static Format, TraceError> {
    find(name).filter(|format| format.is_writable()).ok_or_else(|| read_only(name))
}

/// The error that requests cannot be written in a format of this name.
pub(crate) fn read_only(name: &str) -> TraceError {
    TraceError::ReadOnlyFormat { name: name.to_owned(), nearest: nearest(name, Format::is_writable), writable: writable_names() }
}

/// ` (nearest: 'NAME')` if the name of a format that is allowed is close enough to be what was meant.
fn nearest(name: &str, is_allowed: fn(&Format) -> bool) -> String {
    let names = FORMATS.iter().filter(|format| is_allowed(format)).map(|format| format.name);
    near(name, names).map(|known| format!(" (nearest: '{known}')")).unwrap_or_default()
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
fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The names of the formats that can be written, for messages.
fn writable_names() -> String {
    FORMATS.iter().filter(|format| format.writer.is_some()).map(|format| format.name).collect::<Vec<_>>().join(" or ")
}
