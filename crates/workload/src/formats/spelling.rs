//! Headers that are those of a format but for how they are written: with another separator, as spreadsheets write where the comma is the decimal point;
//! in quotes; behind an index, as pandas and R write. Nothing is guessed: a message says what is different, and which columns read it as it is.

use super::{Format, alibaba, cloudphysics, first_line, flashraid, msr, spc, systor, tencent};
use crate::columns::{Separator, has_quotes, unquote};
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
}

const TABLES: [Table; 7] = [
    Table { format: &flashraid::FORMAT, names: flashraid::COLUMNS, columns: Some("time:us,op,offset,size,-,-") },
    Table { format: &alibaba::FORMAT, names: alibaba::COLUMNS, columns: Some("device,op,offset,size,time:us") },
    // Its times are spread over seconds.
    Table { format: &tencent::FORMAT, names: tencent::COLUMNS, columns: None },
    Table { format: &msr::FORMAT, names: msr::COLUMNS, columns: Some("time:100ns,-,device,op,offset,size,-") },
    Table { format: &spc::FORMAT, names: spc::COLUMNS, columns: Some("device,lba,bytes,op,time:s") },
    // Its rows may have no operation.
    Table { format: &systor::FORMAT, names: systor::COLUMNS, columns: None },
    // Its operations are codes of SCSI.
    Table { format: &cloudphysics::FORMAT, names: cloudphysics::COLUMNS, columns: None },
];

impl Table {
    /// Whether these are the names of the format.
    fn has(&self, names: &[&[u8]]) -> bool {
        let line = names.join(&b',');
        if self.format.name == flashraid::FORMAT.name { flashraid::is_header(&line) } else { names_columns(&line, self.names, b',') }
    }

    /// What `--columns` calls columns of these names, of which those `before` are an index.
    fn columns(&self, names: &[&[u8]], before: usize) -> Option<String> {
        let known: Vec<(&str, &str)> = self.names.split(',').zip(self.columns?.split(',')).collect();
        let of =
            |name: &&[u8]| known.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map_or("-", |(_, column)| *column);
        let index = names[..before].iter().map(|_| "-");
        Some(index.chain(names[before..].iter().map(of)).collect::<Vec<_>>().join(","))
    }
}

/// Refuses a file whose header is that of a format, which is the one that is asked for if one is, but for how it is written.
pub(crate) fn check(path: &Path, head: &[u8], asked: Option<&Format>) -> Result<(), TraceError> {
    let line = first_line(head);
    if line.len() > LONGEST {
        return Ok(());
    }
    let tables = || TABLES.iter().filter(|table| asked.is_none_or(|format| format.name == table.format.name));
    for before in 0..=MOST_BEFORE {
        for separator in Separator::ALL {
            let mut plain = Vec::new();
            unquote(line, separator.byte(), &mut plain);
            let names = separator.fields(&plain);
            let Some(table) = tables().find(|table| names.get(before..).is_some_and(|names| table.has(names))) else { continue };
            let faults = faults(&names[..before], separator, has_quotes(line));
            if faults.is_empty() {
                return Ok(());
            }
            let by = if separator == Separator::Comma { String::new() } else { format!(" --separator {}", separator.name()) };
            let columns = table.columns(&names, before).map(|columns| format!(", or --columns {columns}{by}")).unwrap_or_default();
            return Err(TraceError::Spelling { path: path.to_owned(), format: table.format.name, faults: faults.join(", and "), columns });
        }
    }
    Ok(())
}

/// What is different in a header.
fn faults(before: &[&[u8]], separator: Separator, has_quotes: bool) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(first) = before.first() {
        let name = excerpt(first, LONGEST_NAME);
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

/// That the columns of a first line are separated by something else than the commas of a format.
pub(crate) fn other_separator(line: &[u8], columns: &str) -> Option<String> {
    let table = TABLES.iter().find(|table| table.names == columns)?;
    let wanted = columns.split(',').count();
    let is_other = |separator: &Separator| *separator != Separator::Comma && separator.fields(line).len() >= wanted;
    let separator = Separator::ALL.into_iter().find(is_other).filter(|_| !line.contains(&b','))?;
    let with = table.columns.map(|with| format!(", or --columns {with} --separator {}", separator.name()));
    Some(format!("commas between {columns}, and not {}{}", separator.shown(), with.unwrap_or_default()))
}
