//! Microsoft Research Cambridge traces (Narayanan et al., "Write Off-Loading", FAST 2008):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, one file a volume.
//!
//! Timestamp is a Windows FILETIME (ticks of 100 ns since 1601) and becomes 0 at the first row; ResponseTime is in the same
//! ticks, checked but not used; Offset and Size are bytes. Host and disk together name an address space: a second host in
//! a file is an error, a second disk is a second device.

use super::format::{Format, first_line};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::Line;
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::table::{Table, names_columns};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

/// The servers recorded, of which the files are named `<server>_<disk>.csv`.
const SERVERS: [&str; 13] = ["hm", "mds", "prn", "proj", "prxy", "rsrch", "src1", "src2", "stg", "ts", "usr", "wdev", "web"];

const COLUMNS: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

/// Its rows as a table, for messages about one that is written in another way.
pub(super) const TABLE: Table = Table {
    names: COLUMNS,
    is_header: |line| names_columns(line, COLUMNS, b','),
    columns: Some("time:100ns,-,device,op,offset,size,-"),
    also: "",
};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "msr",
    about: "MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime: 100-ns ticks, Read or Write, bytes",
    unit: TimeUnit::Ticks,
    words: &["msr"],
    is_word: is_volume,
    endings: &["csv"],
    is_header: |head| names_columns(first_line(head), COLUMNS, b','),
    traits: Traits::REBASED,
    parser: |setup| Box::new(LineParser::new(Msr { unit: setup.unit, host: Vec::new() })),
    writer: None,
};

/// Whether a word is a server and a disk number, as MSR's files are named.
fn is_volume(word: &str) -> bool {
    word.rsplit_once('_').is_some_and(|(server, disk)| SERVERS.contains(&server) && disk.parse::<u32>().is_ok())
}

struct Msr {
    unit: TimeUnit,
    /// Host of the first row.
    host: Vec<u8>,
}

impl LineFormat<b','> for Msr {
    const COLUMNS: &'static str = COLUMNS;
    const TABLE: Option<&'static Table> = Some(&TABLE);

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = line.time("Timestamp", self.unit)?;
        let host = line.word("Hostname")?;
        if host != self.host || host.is_empty() {
            if host.is_empty() || !self.host.is_empty() {
                return Err(line.unexpected("the one host of the file"));
            }
            self.host = host.to_vec();
        }
        let source = line.device("DiskNumber")?;
        let op = match line.word("Type")? {
            b"Read" => HostOp::Read,
            b"Write" => HostOp::Write,
            _ => return Err(line.unexpected("Read or Write")),
        };
        let offset_bytes = line.offset("Offset", 1)?;
        let size_bytes = line.size("Size", 1)?;
        line.whole("ResponseTime")?;
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
