//! Microsoft Research Cambridge traces (Narayanan et al., "Write Off-Loading", FAST 2008):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, one file a volume.
//!
//! Timestamp is a Windows FILETIME (ticks of 100 ns since 1601) and becomes 0 at the first row; ResponseTime is in the same
//! ticks, checked but not used; Offset and Size are bytes. Host and disk together name an address space: a second host in
//! a file is an error, a second disk needs a filter.

use super::Format;
use crate::error::Fault;
use crate::line::Line;
use crate::trace::{LineFormat, LineParser};
use flashraid_vocabulary::{HostOp, HostRequest};

const TICK_NS: u64 = 100;

/// The servers recorded, of which the files are named `<server>_<disk>.csv`.
const SERVERS: [&str; 13] = ["hm", "mds", "prn", "proj", "prxy", "rsrch", "src1", "src2", "stg", "ts", "usr", "wdev", "web"];

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "msr",
    about: "MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime: 100-ns ticks, Read or Write, bytes",
    recognise: |name, _| name.strip_suffix(".csv").is_some_and(names_volume),
    parser: || Box::new(LineParser::new(Msr { host: Vec::new() })),
    writer: None,
};

/// Whether a file's name says MSR, or is a server and a disk number.
fn names_volume(stem: &str) -> bool {
    let server_and_disk = stem.rsplit_once('_');
    let is_volume = |(server, disk): (&str, &str)| SERVERS.contains(&server) && disk.parse::<u32>().is_ok();
    stem.contains("msr") || server_and_disk.is_some_and(is_volume)
}

struct Msr {
    /// Host of the first row.
    host: Vec<u8>,
}

impl LineFormat<b','> for Msr {
    const COLUMNS: &'static str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
    const IS_REBASED: bool = true;

    #[inline(always)]
    fn request(&mut self, line: &mut Line<'_, b','>) -> Result<HostRequest, Box<Fault>> {
        let arrival_ns = line.time("Timestamp", TICK_NS)?;
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
        Ok(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source })
    }
}
