//! Traces as tables: a header of names with commas between, then rows. What would read one that is written in another way.

use crate::columns::Separator;
use crate::line::BLANKS;

/// The table of a format whose header is one line of names with commas between.
pub(crate) struct Table {
    /// The names.
    pub names: &'static str,
    /// Whether a line is such a header.
    pub is_header: fn(line: &[u8]) -> bool,
    /// What `--columns` calls these, if it reads them as the format does.
    pub columns: Option<&'static str>,
    /// What else is needed to read them so.
    pub also: &'static str,
}

impl Table {
    /// Whether these are the names of the format.
    pub fn has(&self, names: &[&[u8]]) -> bool {
        (self.is_header)(&names.join(&b','))
    }

    /// The options that read columns of these names, of which those `before` are an index, and names of rows before all of them if
    /// they have one.
    pub fn options(&self, names: &[&[u8]], before: usize, has_row_names: bool, separator: Separator) -> Option<String> {
        let known: Vec<(&str, &str)> = self.names.split(',').zip(self.columns?.split(',')).collect();
        let of =
            |name: &&[u8]| known.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map_or("-", |(_, column)| *column);
        let index = std::iter::repeat_n("-", before + usize::from(has_row_names));
        let columns = index.chain(names[before..].iter().map(of)).collect::<Vec<_>>().join(",");
        let by = if separator == Separator::Comma { String::new() } else { format!(" --separator {}", separator.name()) };
        Some(format!("--columns {columns}{by}{}", self.also))
    }

    /// What would be right where no row of a file could be read, but for a fault in a column (of bytes, from 1): its fields are separated by
    /// something else than commas, or begin with a name that the header does not name.
    pub fn expected_rows(&self, header: &[u8], row: &[u8], fault: u64) -> Option<String> {
        let names = Separator::Comma.fields(header);
        // A row whose fields are right but for one too many at its end has no name.
        let is_last = memchr::memrchr(b',', row).is_none_or(|comma| fault > comma as u64);
        if !is_last && self.has(&names) && are_behind_names_of_rows(&names, row, Separator::Comma) {
            let with = self.options(&names, 0, true, Separator::Comma).map(|options| format!(", or {options}"));
            return Some(format!("the columns that the header names, but {ROW_NAMES}{}", with.unwrap_or_default()));
        }
        let wanted = self.names.split(',').count();
        let is_other = |separator: &Separator| *separator != Separator::Comma && separator.fields(row).len() >= wanted;
        let separator = Separator::ALL.into_iter().find(is_other).filter(|_| !row.contains(&b','))?;
        let names: Vec<&[u8]> = self.names.split(',').map(str::as_bytes).collect();
        let with = self.options(&names, 0, false, separator).map(|options| format!(", or {options}"));
        Some(format!("commas between {}, and not {}{}", self.names, separator.shown(), with.unwrap_or_default()))
    }
}

/// What is said of rows that begin with their names.
pub(crate) const ROW_NAMES: &str = "its rows begin with names that the header does not name (which R leaves out with row.names=FALSE)";

/// Whether a row has one field more than there are names of columns.
pub(crate) fn are_behind_names_of_rows(names: &[&[u8]], row: &[u8], separator: Separator) -> bool {
    let fields = separator.fields_of(row);
    // Behind a separator at its end there is no field.
    fields.len() == names.len() + 1 && fields.last().is_some_and(|field| !field.is_empty())
}

/// Whether a line consists of the names of these columns, whatever their case and the blanks around them; further columns may follow.
pub(crate) fn names_columns(line: &[u8], columns: &str, separator: u8) -> bool {
    let is_separator = |byte: &u8| *byte == separator || separator == BLANKS && *byte == b'\t';
    let mut fields = line.split(is_separator).map(<[u8]>::trim_ascii).filter(|field| separator != BLANKS || !field.is_empty());
    let mut names = columns.split(char::from(separator)).map(str::as_bytes);
    names.all(|name| fields.next().is_some_and(|field| field.eq_ignore_ascii_case(name)))
}
