//! What a user says of the columns of a text: `time:s,op,sector,sectors,-`.

use crate::line::{BLANKS, SECTOR_BYTES};
use crate::unit::TimeUnit;
use flashraid_vocabulary::names::near;

/// The names of columns, for messages.
const NAMES: [&str; 16] = [
    "time",
    "completion",
    "latency",
    "op",
    "offset",
    "sector",
    "lba",
    "size",
    "sectors",
    "bytes",
    "end",
    "device",
    "pid",
    "comm",
    "cpu",
    "-",
];

/// What a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// When the request arrived; `None` if the unit is that of `TraceOptions::time_unit`.
    Time(Option<TimeUnit>),
    /// When the request was completed.
    Completion(Option<TimeUnit>),
    /// How long that took.
    Latency(Option<TimeUnit>),
    /// What the request asks for.
    Op(Words),
    /// Where it begins.
    Offset(Unit),
    /// How long it is.
    Size(Unit),
    /// Where the first byte behind it is.
    End(Unit),
    /// The device.
    Device,
    /// Not read.
    Skipped,
}

/// How a column says what a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// By the usual words, or the kernel's letters.
    Usual,
    /// By these words for read and write.
    Given(String, String),
    /// By operation codes of SCSI, in hexadecimal.
    Scsi,
}

/// What an address or a length counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// So many bytes.
    Bytes(u64),
    /// Sectors of the device (`TraceOptions::sector_bytes`).
    Sectors,
}

impl Unit {
    /// In bytes.
    pub fn bytes(self, sector_bytes: Option<u64>) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Sectors => sector_bytes.unwrap_or(SECTOR_BYTES),
        }
    }
}

/// The columns of a text, from the left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// What each is.
    pub columns: Vec<Column>,
    /// As the user wrote it, for messages.
    pub text: String,
}

impl Columns {
    /// Takes what a user wrote; the error says what is wrong, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let columns = text.split(',').map(|column| column_of(column.trim())).collect::<Result<Vec<_>, _>>()?;
        let count = |is: fn(&Column) -> bool| columns.iter().filter(|column| is(column)).count();
        let one = |what: &str, found: usize| match found {
            1 => Ok(()),
            0 => Err(format!("no column of {what}")),
            _ => Err(format!("{found} columns of {what}; one is allowed")),
        };
        one("times (time, or completion with latency)", count(|column| matches!(column, Column::Time(_) | Column::Completion(_))))?;
        one("addresses (offset, sector or lba)", count(|column| matches!(column, Column::Offset(_))))?;
        one("lengths (size, sectors, bytes or end)", count(|column| matches!(column, Column::Size(_) | Column::End(_))))?;
        let latencies = count(|column| matches!(column, Column::Latency(_)));
        if latencies != count(|column| matches!(column, Column::Completion(_))) {
            return Err(
                "completion and latency belong together (the request arrived so long before it was completed); - passes over a column"
                    .to_owned(),
            );
        }
        for (what, found) in
            [("op", count(|column| matches!(column, Column::Op(_)))), ("device", count(|column| *column == Column::Device))]
        {
            if found > 1 {
                return Err(format!("{found} columns {what}; one is allowed"));
            }
        }
        Ok(Self { columns, text: text.to_owned() })
    }

    /// Whether there is a column of operations.
    pub fn has_op(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, Column::Op(_)))
    }

    /// Whether times are those of completion.
    pub(crate) fn is_of_completion(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, Column::Completion(_)))
    }

    /// The unit of the column of times, if it says one.
    pub(crate) fn time_unit(&self) -> Option<TimeUnit> {
        match self.columns.get(self.time_place())? {
            Column::Time(unit) | Column::Completion(unit) => *unit,
            _ => None,
        }
    }

    /// The place of the column of times.
    pub(crate) fn time_place(&self) -> usize {
        self.columns.iter().position(|column| matches!(column, Column::Time(_) | Column::Completion(_))).unwrap_or_default()
    }
}

fn column_of(text: &str) -> Result<Column, String> {
    let (name, unit) = text.split_once(':').map_or((text, None), |(name, unit)| (name.trim(), Some(unit.trim())));
    let time = || match unit {
        None => Ok(None),
        Some("ticks") => Ok(Some(TimeUnit::Ticks)),
        Some(unit) => TimeUnit::named(unit).map(Some).ok_or_else(|| format!("{text}: a time has the unit s, ms, us, 100ns (ticks) or ns")),
    };
    let length = |default| match unit {
        None => Ok(default),
        Some(unit) => length_unit(unit).ok_or_else(|| format!("{text}: a unit is B, KiB, MiB, sectors, or a number of bytes")),
    };
    let plain = |column| match unit {
        None => Ok(column),
        Some(_) => Err(format!("{text}: {name} has no unit")),
    };
    match name.to_ascii_lowercase().as_str() {
        "time" => Ok(Column::Time(time()?)),
        "completion" => Ok(Column::Completion(time()?)),
        "latency" => Ok(Column::Latency(time()?)),
        "op" => match unit.map(|words| words.split_once('/')) {
            None => Ok(Column::Op(Words::Usual)),
            Some(Some((read, write))) if !read.is_empty() && !write.is_empty() && read != write => {
                Ok(Column::Op(Words::Given(read.to_owned(), write.to_owned())))
            }
            Some(None) if unit.is_some_and(|words| words.eq_ignore_ascii_case("scsi")) => Ok(Column::Op(Words::Scsi)),
            Some(_) => Err(format!(
                "{text}: the words for read and write are given as op:READ/WRITE, as in op:0/1, and operation codes of SCSI as op:scsi"
            )),
        },
        "offset" => Ok(Column::Offset(length(Unit::Bytes(1))?)),
        "sector" | "lba" => Ok(Column::Offset(length(Unit::Sectors)?)),
        "size" | "bytes" => Ok(Column::Size(length(Unit::Bytes(1))?)),
        "sectors" => Ok(Column::Size(length(Unit::Sectors)?)),
        "end" => Ok(Column::End(length(Unit::Bytes(1))?)),
        "device" => plain(Column::Device),
        "-" | "pid" | "comm" | "cpu" => plain(Column::Skipped),
        other => {
            let near = near(other, NAMES.iter().copied()).map(|known| format!(" (nearest: {known})"));
            let allowed = NAMES.join(", ");
            Err(format!("'{name}' is no column{}; allowed are {allowed} (- is passed over)", near.unwrap_or_default()))
        }
    }
}

fn length_unit(unit: &str) -> Option<Unit> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "b" | "bytes" => Unit::Bytes(1),
        "kib" => Unit::Bytes(1 << 10),
        "mib" => Unit::Bytes(1 << 20),
        "sectors" => Unit::Sectors,
        bytes => Unit::Bytes(bytes.parse().ok().filter(|bytes| (1..=1 << 30).contains(bytes))?),
    })
}

/// What stands between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// A tab.
    Tab,
    /// `|`
    Pipe,
    /// Blanks or tabs, one or more.
    Blanks,
}

impl Separator {
    /// All of them, in the order in which they are tried.
    pub(crate) const ALL: [Self; 5] = [Self::Comma, Self::Semicolon, Self::Tab, Self::Pipe, Self::Blanks];

    /// By its name or itself.
    pub fn named(text: &str) -> Option<Self> {
        Some(match text {
            "," | "comma" => Self::Comma,
            ";" | "semicolon" => Self::Semicolon,
            "\t" | "\\t" | "tab" => Self::Tab,
            "|" | "pipe" => Self::Pipe,
            " " | "blank" | "blanks" | "space" => Self::Blanks,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Semicolon => "semicolon",
            Self::Tab => "tab",
            Self::Pipe => "pipe",
            Self::Blanks => "blank",
        }
    }

    /// As a message shows it.
    pub(crate) fn shown(self) -> &'static str {
        match self {
            Self::Comma => "','",
            Self::Semicolon => "';'",
            Self::Tab => "a tab",
            Self::Pipe => "'|'",
            Self::Blanks => "blanks",
        }
    }

    /// Itself; a blank stands for any number of blanks and tabs.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Pipe => b'|',
            Self::Blanks => BLANKS,
        }
    }

    /// The fields of a line, without the quotes around them.
    pub(crate) fn fields_of(self, line: &[u8]) -> Vec<Vec<u8>> {
        let mut plain = Vec::new();
        unquote(line, self.byte(), &mut plain);
        self.fields(&plain).into_iter().map(<[u8]>::to_vec).collect()
    }

    /// The fields of a line without quotes.
    pub(crate) fn fields(self, line: &[u8]) -> Vec<&[u8]> {
        match self {
            Self::Blanks => line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect(),
            _ => line.split(|byte| *byte == self.byte()).map(<[u8]>::trim_ascii).collect(),
        }
    }
}

/// What stands for a separator that is part of a field.
pub(crate) const HELD: u8 = 0x1F;

/// A field as it was between its quotes.
pub(crate) fn with_separators(field: &[u8], separator: u8) -> Vec<u8> {
    field.iter().map(|byte| if *byte == HELD { separator } else { *byte }).collect()
}

/// Whether a line has quotes around a field, if any quote.
pub(crate) fn has_quotes(line: &[u8]) -> bool {
    memchr::memchr(b'"', line).is_some()
}

/// Appends a line to `text` with blanks for the quotes around fields, and `HELD` for separators between them: what is read without regard to quotes has
/// the fields that were meant, each where it was. A quote that none closes is a letter.
pub(crate) fn unquote(line: &[u8], separator: u8, text: &mut Vec<u8>) {
    let is_separator = |byte: u8| byte == separator || separator == BLANKS && byte == b'\t';
    let ends_field = |rest: &[u8]| match separator {
        BLANKS => rest.first().is_none_or(u8::is_ascii_whitespace),
        _ => rest.iter().find(|byte| is_separator(**byte) || !byte.is_ascii_whitespace()).is_none_or(|byte| is_separator(*byte)),
    };
    let is_closed = |rest: &[u8]| memchr::memchr_iter(b'"', rest).any(|place| ends_field(&rest[place + 1..]));
    let (mut is_quoted, mut is_at_start, mut may_close) = (false, true, true);
    for (place, &byte) in line.iter().enumerate() {
        let rest = &line[place + 1..];
        let is_quote = byte == b'"' && if is_quoted { ends_field(rest) } else { is_at_start && may_close && is_closed(rest) };
        // Where none closes one, none closes a later one.
        may_close &= is_quote || is_quoted || byte != b'"' || !is_at_start;
        is_at_start = !is_quoted && (is_separator(byte) || is_at_start && byte.is_ascii_whitespace());
        text.push(match byte {
            _ if is_quote => b' ',
            _ if is_quoted && is_separator(byte) => HELD,
            _ => byte,
        });
        is_quoted ^= is_quote;
    }
}
