//! How a trace is read.

use crate::columns::{Columns, Separator};
use crate::error::TraceError;
use crate::unit::TimeUnit;

/// How the address is handled spaces of several devices in one trace. They are never merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DeviceLayout {
    /// One after the other in one address space, in order of appearance, each beginning at a multiple of 1 MiB.
    #[default]
    SideBySide,
    /// Each as it is; `HostRequest::source` tells them apart.
    Apart,
}

/// How a line is handled or record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnError {
    /// Reading ends with an error.
    #[default]
    Stop,
    /// It is left out and counted.
    Skip,
}

/// What requests are in a trace that records no operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MissingOp {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Each a read with this probability, drawn from a fixed seed, else a write.
    Mix(f64),
}

/// Which event counts as the arrival of a request, in traces of the kernel's block layer that record several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BlockAction {
    /// Queued (`Q`): as the file system or application asked for it, before merging.
    Queued,
    /// Issued to the device (`D`): what a device is to serve.
    #[default]
    Issued,
    /// Completed by the device (`C`).
    Completed,
}

impl BlockAction {
    /// The letter that blkparse prints.
    pub fn letter(self) -> u8 {
        match self {
            Self::Queued => b'Q',
            Self::Issued => b'D',
            Self::Completed => b'C',
        }
    }
}

/// How to read a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// Name of a format, or `auto`: by the first bytes or the file's name, never by looking at values.
    pub format: String,
    /// What the times count, if not what the format or the file's name says.
    pub time_unit: Option<TimeUnit>,
    /// Keep the requests of these devices (disk, volume, ASU, LUN, file) only, by name; empty keeps all.
    pub device_filter: Vec<String>,
    /// How the address is handled spaces of several devices.
    pub layout: DeviceLayout,
    /// How a line is handled or record that cannot be read.
    pub on_error: OnError,
    /// What requests are in a trace that records no operations. None refuses such a trace.
    pub missing_op: Option<MissingOp>,
    /// Which event counts as the arrival of a request (blkparse text).
    pub action: BlockAction,
    /// Bytes that the number of an object counts in a trace of a cache. None: 4096, and only for objects of that size.
    pub object_bytes: Option<u64>,
    /// Bytes of a sector, in formats whose addresses count what the device calls one. None: 512.
    pub sector_bytes: Option<u64>,
    /// What the columns of a text are that no format describes; None for a text of a format.
    pub columns: Option<Columns>,
    /// What stands between these columns, if not what the first line shows.
    pub separator: Option<Separator>,
    /// Stop after this many requests in the order of their times, which do not depend on it; 0 reads all.
    pub limit: u64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            format: "auto".to_owned(),
            time_unit: None,
            device_filter: Vec::new(),
            layout: DeviceLayout::default(),
            on_error: OnError::default(),
            missing_op: None,
            action: BlockAction::default(),
            object_bytes: None,
            sector_bytes: None,
            columns: None,
            separator: None,
            limit: 0,
        }
    }
}

impl TraceOptions {
    /// Sets what a user gives as text: `format`, `time_unit` (`auto` or a unit), `device_filter` (`all` or names with commas between),
    /// `on_error` (`stop` or `skip`), `op` (`none`, `read`, `write`, `mix:SHARE`), `action` (`Q`, `D`, `C`),
    /// `object_bytes` and `sector_bytes` (`auto` or bytes), `columns` (`none` or names with commas between), `separator` (`auto` or its name),
    /// `limit`.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), TraceError> {
        let refuse = |allowed| TraceError::Option { key: key.to_owned(), value: value.to_owned(), allowed };
        match key {
            "format" => self.format = value.to_owned(),
            "time_unit" => {
                let unit = (value != "auto").then(|| TimeUnit::named(value).ok_or_else(|| refuse("auto, ns, 100ns, us, ms, s")));
                self.time_unit = unit.transpose()?;
            }
            "device_filter" => {
                let names: Vec<String> = value.split(',').map(|name| name.trim().to_owned()).collect();
                if names.iter().any(String::is_empty) {
                    return Err(refuse("all, or names of devices with commas between"));
                }
                self.device_filter = if value == "all" { Vec::new() } else { names };
            }
            "on_error" => {
                self.on_error = match value {
                    "stop" => OnError::Stop,
                    "skip" => OnError::Skip,
                    _ => return Err(refuse("stop, skip")),
                }
            }
            "op" => {
                let share = || value.strip_prefix("mix:")?.parse().ok().filter(|share| (0.0..=1.0).contains(share)).map(MissingOp::Mix);
                self.missing_op = match value {
                    "none" => None,
                    "read" => Some(MissingOp::Read),
                    "write" => Some(MissingOp::Write),
                    _ => Some(share().ok_or_else(|| refuse("none, read, write, or mix:X with the share of reads X from 0 to 1"))?),
                }
            }
            "action" => {
                self.action = match value {
                    "Q" => BlockAction::Queued,
                    "D" => BlockAction::Issued,
                    "C" => BlockAction::Completed,
                    _ => return Err(refuse("Q (queued), D (issued), C (completed)")),
                }
            }
            "object_bytes" => {
                let bytes = value.parse().ok().filter(|bytes| (1..=1 << 20).contains(bytes));
                self.object_bytes = (value != "auto").then(|| bytes.ok_or_else(|| refuse("auto, or 1 to 1048576 bytes"))).transpose()?;
            }
            "sector_bytes" => {
                let bytes = value.parse().ok().filter(|bytes| (1..=1 << 20).contains(bytes));
                self.sector_bytes = (value != "auto").then(|| bytes.ok_or_else(|| refuse("auto, or 1 to 1048576 bytes"))).transpose()?;
            }
            "columns" => {
                let columns = (value != "none").then(|| Columns::parse(value)).transpose();
                self.columns = columns.map_err(|what| TraceError::Columns { columns: value.to_owned(), what })?;
            }
            "separator" => {
                let separator = || Separator::named(value).ok_or_else(|| refuse("auto, comma, semicolon, tab, pipe, blank"));
                self.separator = (value != "auto").then(separator).transpose()?;
            }
            "limit" => self.limit = value.parse().map_err(|_| refuse("a number of requests; 0 for all"))?,
            _ => return Err(TraceError::UnknownOption { key: key.to_owned() }),
        }
        Ok(())
    }
}
