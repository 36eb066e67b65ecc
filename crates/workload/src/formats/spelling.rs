//! Headers that are those of a format but for how they are written: with another separator, as spreadsheets write where the comma is the decimal point;
//! in quotes; behind an index, as pandas and R write, which R does not name. Nothing is guessed: a message says what is different, and which columns read it as it is.

use super::format::{Format, first_line};
use super::{alibaba, cloudphysics, flashraid, msr, spc, systor, tencent};
use crate::columns::{Separator, has_quotes, unquote, with_separators};
use crate::error::{TraceError, excerpt};
use crate::table::{ROW_NAMES, Table, are_behind_names_of_rows};
use std::path::Path;

/// Columns of an index before those of a format: one for each time that a table was saved with one.
const MOST_BEFORE: usize = 3;

/// Longest header that is looked at; a binary file may have no line at all.
const LONGEST: usize = 4096;

/// Characters of a name that a message shows.
const LONGEST_NAME: usize = 40;

/// The formats whose header is one line of names with commas between.
const TABLES: [(&Format, &Table); 7] = [
    (&flashraid::FORMAT, &flashraid::TABLE),
    (&alibaba::FORMAT, &alibaba::TABLE),
    (&tencent::FORMAT, &tencent::TABLE),
    (&msr::FORMAT, &msr::TABLE),
    (&spc::FORMAT, &spc::TABLE),
    (&systor::FORMAT, &systor::TABLE),
    (&cloudphysics::FORMAT, &cloudphysics::TABLE),
];

/// Refuses a file whose header is that of a format, which is the one that is asked for if one is, but for how it is written.
pub(crate) fn check(path: &Path, head: &[u8], asked: Option<&Format>) -> Result<(), TraceError> {
    let line = first_line(head);
    if line.len() > LONGEST {
        return Ok(());
    }
    let row = first_line(head.get(memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1)..).unwrap_or_default());
    let tables = || TABLES.iter().filter(|(format, _)| asked.is_none_or(|asked| asked.name == format.name));
    for before in 0..=MOST_BEFORE {
        for separator in Separator::ALL {
            let mut plain = Vec::new();
            unquote(line, separator.byte(), &mut plain);
            let names = separator.fields(&plain);
            let Some((format, table)) = tables().find(|(_, table)| names.get(before..).is_some_and(|names| table.has(names))) else {
                continue;
            };
            let mut faults = faults(&names[..before], separator, has_quotes(line));
            if faults.is_empty() {
                return Ok(());
            }
            let has_row_names = are_behind_names_of_rows(&names, row, separator);
            if has_row_names {
                faults.push(ROW_NAMES.to_owned());
            }
            let options = table.options(&names, before, has_row_names, separator);
            let behind = if has_decimal_commas(row, separator) { " once tr , . has made points of its decimal commas" } else { "" };
            let options = options.map(|options| format!(", or {options}{behind}")).unwrap_or_default();
            return Err(TraceError::Spelling { path: path.to_owned(), format: format.name, faults: faults.join(", and "), options });
        }
    }
    Ok(())
}

/// Whether a row has numbers with a comma before their fraction.
fn has_decimal_commas(row: &[u8], separator: Separator) -> bool {
    let is_one = |field: &Vec<u8>| {
        let mut parts = field.split(|byte| *byte == b',');
        let mut is_number = || parts.next().is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
        is_number() && is_number() && parts.next().is_none()
    };
    separator != Separator::Comma && separator.fields_of(row).iter().any(is_one)
}

/// What is different in a header.
fn faults(before: &[&[u8]], separator: Separator, has_quotes: bool) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(first) = before.first() {
        let name = excerpt(&with_separators(first, separator.byte()), LONGEST_NAME);
        let first = if name.is_empty() { "a column without a name".to_owned() } else { format!("the column '{name}'") };
        faults.push(format!("{first} stands before its columns (an index, which pandas leaves out with index=False)"));
    }
    if separator != Separator::Comma {
        faults.push(format!("its columns are separated by {}", separator.shown()));
    }
    if has_quotes {
        faults.push("its names are in quotes".to_owned());
    }
    faults
}
