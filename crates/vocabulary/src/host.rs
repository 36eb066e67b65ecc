//! What the host asks for.

/// Kind of a host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HostOp {
    /// Read bytes.
    Read,
    /// Write bytes.
    Write,
    /// Discard: whole pages become unwritten, parts of pages are left as they are.
    Trim,
    /// Write zeroes: whole pages become unwritten, parts of pages are written with zeroes.
    WriteZeroes,
    /// Completes when every write submitted before it is durable.
    Flush,
}

impl HostOp {
    /// The word in outputs and tables.
    pub fn name(self) -> &'static str {
        match self {
            HostOp::Read => "read",
            HostOp::Write => "write",
            HostOp::Trim => "trim",
            HostOp::WriteZeroes => "write_zeroes",
            HostOp::Flush => "flush",
        }
    }
}

/// One timed host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRequest {
    /// Arrival in simulated time, from the start of the workload.
    pub arrival_ns: u64,
    /// First byte of the logical space concerned (0 for a flush).
    pub offset_bytes: u64,
    /// Length (0 for a flush).
    pub size_bytes: u64,
    /// What to do.
    pub op: HostOp,
    /// Write stream hint of the host; 0 when it gives none.
    pub stream: u16,
    /// Address space the request came from: device, volume, ASU or LUN number of the trace; 0 when there is one.
    pub source: u32,
}
