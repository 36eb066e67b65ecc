//! Headers that are those of a format but for how they are written: with another separator, as spreadsheets write where the comma is the decimal point;
//! in quotes; behind an index, as pandas and R write, which R does not name. Nothing is guessed: a message says what is different, and which columns read it as it is.

use super::{Format, alibaba, cloudphysics, first_line, flashraid, msr, spc, systor, tencent};
use crate::columns::{Separator, has_quotes, unquote, with_separators};
use crate::error::{TraceError, excerpt};
use crate::parser::names_columns;
use std::path::Path;

/// Columns of an index before those of a format: one for each time that a table was saved with one.
const MOST_BEFORE: usize = 3;

/// Longest header that is looked at; a binary file may have no line at all.
const LONGEST: usize = 4096;

/// Characters of a name that a message shows.
const LONGEST_NAME: usize = 40;

/// A format whose header is one line of names with commas between.
struct Table {
    format: &'static Format,
    /// The names.
    names: &'static str,
    /// What `--columns` calls these, if it reads them as the format does.
    columns: Option<&'static str>,
    /// What else is needed to read them so.
    also: &'static str,
}

const TABLES: [Table; 7] = [
    Table { format: &flashraid::FORMAT, names: flashraid::COLUMNS, columns: Some("time:us,op,offset,size,-,-"), also: "" },
    Table { format: &alibaba::FORMAT, names: alibaba::COLUMNS, columns: Some("device,op,offset,size,time:us"), also: "" },
    // Its times are spread over seconds.
    Table { format: &tencent::FORMAT, names: tencent::COLUMNS, columns: None, also: "" },
    Table { format: &msr::FORMAT, names: msr::COLUMNS, columns: Some("time:100ns,-,device,op,offset,size,-"), also: "" },
    Table { format: &spc::FORMAT, names: spc::COLUMNS, columns: Some("device,lba,bytes,op,time:s"), also: "" },
    Table {
        format: &systor::FORMAT,
        names: systor::COLUMNS,
        columns: Some("time:s,-,op,device,offset,size"),
        also: " --on-error skip (which leaves out rows without an IOType)",
    },
    Table { format: &cloudphysics::FORMAT, names: cloudphysics::COLUMNS, columns: Some("-,time:us,op:scsi,bytes,lba"), also: "" },
];

impl Table {
    /// Whether these are the names of the format.
    fn has(&self, names: &[&[u8]]) -> bool {
        let line = names.join(&b',');
        if self.format.name == flashraid::FORMAT.name { flashraid::is_header(&line) } else { names_columns(&line, self.names, b',') }
    }

    /// The options that read columns of these names, of which those `before` are an index, and names of rows before all of them if
    /// they have one.
    fn options(&self, names: &[&[u8]], before: usize, has_row_names: bool, separator: Separator) -> Option<String> {
        let known: Vec<(&str, &str)> = self.names.split(',').zip(self.columns?.split(',')).collect();
        let of =
            |name: &&[u8]| known.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map_or("-", |(_, column)| *column);
        let index = std::iter::repeat_n("-", before + usize::from(has_row_names));
        let columns = index.chain(names[before..].iter().map(of)).collect::<Vec<_>>().join(",");
        let by = if separator == Separator::Comma { String::new() } else { format!(" --separator {}", separator.name()) };
        Some(format!("--columns {columns}{by}{}", self.also))
    }
}

/// Refuses a file whose header is that of a format, which is the one that is asked for if one is, but for how it is written.
pub(crate) fn check(path: &Path, head: &[u8], asked: Option<&Format>) -> Result<(), TraceError> {
    let line = first_line(head);
    if line.len() > LONGEST {
        return Ok(());
    }
    let row = first_line(head.get(memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1)..).unwrap_or_default());
    let tables = || TABLES.iter().filter(|table| asked.is_none_or(|format| format.name == table.format.name));
    for before in 0..=MOST_BEFORE {
        for separator in Separator::ALL {
            let mut plain = Vec::new();
            unquote(line, separator.byte(), &mut plain);
            let names = separator.fields(&plain);
            let Some(table) = tables().find(|table| names.get(before..).is_some_and(|names| table.has(names))) else { continue };
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
            return Err(TraceError::Spelling { path: path.to_owned(), format: table.format.name, faults: faults.join(", and "), options });
        }
    }
    Ok(())
}

/// What is said of rows that begin with their names.
const ROW_NAMES: &str = "its rows begin with names that the header does not name (which R leaves out with row.names=FALSE)";

/// Whether a row has one field more than there are names of columns.
fn are_behind_names_of_rows(names: &[&[u8]], row: &[u8], separator: Separator) -> bool {
    let fields = separator.fields_of(row);
    // Behind a separator at its end there is no field.
    fields.len() == names.len() + 1 && fields.last().is_some_and(|field| !field.is_empty())
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

/// What would be right where no row of a format of these columns could be read, but for a fault in a column (of bytes, from 1): its fields are separated by
/// something else than the commas of the format, or begin with a name that the header does not name.
pub(crate) fn expected_rows(header: &[u8], row: &[u8], fault: u64, columns: &str) -> Option<String> {
    let table = TABLES.iter().find(|table| table.names == columns)?;
    let names = Separator::Comma.fields(header);
    // A row whose fields are right but for one too many at its end has no name.
    let is_last = memchr::memrchr(b',', row).is_none_or(|comma| fault > comma as u64);
    if !is_last && table.has(&names) && are_behind_names_of_rows(&names, row, Separator::Comma) {
        let with = table.options(&names, 0, true, Separator::Comma).map(|options| format!(", or {options}"));
        return Some(format!("the columns that the header names, but {ROW_NAMES}{}", with.unwrap_or_default()));
    }
    let wanted = columns.split(',').count();
    let is_other = |separator: &Separator| *separator != Separator::Comma && separator.fields(row).len() >= wanted;
    let separator = Separator::ALL.into_iter().find(is_other).filter(|_| !row.contains(&b','))?;
    let names: Vec<&[u8]> = columns.split(',').map(str::as_bytes).collect();
    let with = table.options(&names, 0, false, separator).map(|options| format!(", or {options}"));
    Some(format!("commas between {columns}, and not {}{}", separator.shown(), with.unwrap_or_default()))
}
