//! Which format a file has: by its header, else by its name; never by the values in it. A name that fits several is refused.
//!
//! A name is looked at from its end, one dotted part after the other (compression suffix aside). The first part that means
//! formats decides: a word of one format (`disksim`, also with a unit, `disksim-ms`), or an ending that formats share (`csv`),
//! which words elsewhere in the name may narrow down (`alibaba-2020.csv`). A name without any such part is searched for words.
//!
//! What we write is named by its ending alone, one that is recognized on reading whatever else is in the name.

use super::format::{Format, first_line};
use super::{FORMATS, flashraid};
use crate::error::TraceError;
use crate::input::PROFILE_PREFIX;
use crate::unit::TimeUnit;
use std::path::Path;

/// Endings by which the format of a file to be written is known, and which decide on reading before anything else in the name.
const OWN_ENDINGS: [(&str, &str); 6] = [
    (".ssdsim", "ssdsim"),
    (".ssdsim.trace", "ssdsim"),
    (".ssdsim.ascii", "ssdsim"),
    (".iolog", "fio"),
    (".fio.log", "fio"),
    (".blkparse.txt", "blkparse"),
];

/// The format of a file that begins with `head`.
pub(crate) fn recognize(path: &Path, head: &[u8]) -> Result<&'static Format, TraceError> {
    if let Some(format) = FORMATS.iter().find(|format| (format.is_header)(head)) {
        return Ok(format);
    }
    let name = plain_name(path);
    if path.to_str().is_some_and(|text| text.starts_with(PROFILE_PREFIX)) {
        return Ok(&super::profile::FORMAT);
    }
    if let Some(format) = by_own_ending(&name) {
        return Ok(format);
    }
    let by_words: Vec<&Format> = FORMATS.iter().filter(|format| words(&name).any(|word| is_of(format, word))).collect();
    let parts = name.rsplit('.').map(|part| with_ending_or_word(part));
    let candidates = match parts.into_iter().find(|formats| !formats.is_empty()) {
        Some(formats) if formats.len() > 1 => {
            let narrowed: Vec<_> =
                formats.iter().copied().filter(|format| by_words.iter().any(|other| other.name == format.name)).collect();
            if narrowed.is_empty() { formats } else { narrowed }
        }
        Some(formats) => formats,
        None => by_words,
    };
    if candidates.len() != 1 && flashraid::is_like_header(first_line(head)) {
        let (header, lacks) = (flashraid::shown(first_line(head)), flashraid::why_not(first_line(head)));
        return Err(TraceError::Header { path: path.to_owned(), header, lacks });
    }
    match candidates[..] {
        [] => Err(TraceError::Unrecognized { path: path.to_owned(), known: super::names() }),
        [format] => Ok(format),
        _ => Err(TraceError::Ambiguous { path: path.to_owned(), candidates: candidates.iter().map(|format| format.name).collect() }),
    }
}

/// The format in which to write a file of this name, by its ending. A bare `.csv`, and standard output (`-`), stand for our own, which is
/// recognized by its header.
pub fn for_output(path: &Path) -> Result<&'static Format, TraceError> {
    let name = plain_name(path);
    let own = (name == "-" || name.ends_with(".csv")).then(|| super::find("flashraid")).flatten();
    own.or_else(|| by_own_ending(&name))
        .ok_or_else(|| TraceError::UnknownOutput { path: path.to_owned(), writable: super::writable_names() })
}

fn by_own_ending(name: &str) -> Option<&'static Format> {
    let found = OWN_ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    found.and_then(|(_, format)| super::find(format))
}

/// The unit of time that the file's name gives behind a word of its format, as in `disksim-us`.
pub(crate) fn unit_in_name(path: &Path, format: &Format) -> Option<TimeUnit> {
    let name = plain_name(path);
    let words: Vec<&str> = words(&name).collect();
    words.windows(2).find(|pair| is_of(format, pair[0])).and_then(|pair| TimeUnit::named(pair[1]))
}

/// The name in lower case, without folders and compression suffix.
fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    [".gz", ".zst", ".xz"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name).to_owned()
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', '-'])
}

fn is_of(format: &Format, word: &str) -> bool {
    format.words.contains(&word) || (format.is_word)(word)
}

/// The formats that a dotted part of a name means: those that have it as an ending, or those that a word in it names.
fn with_ending_or_word(part: &str) -> Vec<&'static Format> {
    let by_ending: Vec<_> = FORMATS.iter().filter(|format| format.endings.contains(&part)).collect();
    let mut by_word = FORMATS.iter().filter(|format| part.split('-').any(|word| is_of(format, word)));
    if by_ending.is_empty() { by_word.by_ref().collect() } else { by_ending }
}
