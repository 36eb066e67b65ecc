//! What requests are in traces that record no operations: what the user says.

use crate::error::RecordError;
use crate::options::MissingOp;
use crate::position::record_fault;
use flashraid_vocabulary::HostOp;
use flashraid_vocabulary::SplitMix64;

/// Seed of the operations drawn: the same trace is the same workload every time.
const SEED: u64 = 0;

/// Gives each request its operation.
pub(super) struct Operations {
    read_share: Option<f64>,
    random: SplitMix64,
}

impl Operations {
    /// As the user says.
    pub fn new(missing: Option<MissingOp>) -> Self {
        let read_share = missing.map(|missing| match missing {
            MissingOp::Read => 1.0,
            MissingOp::Write => 0.0,
            MissingOp::Mix(read_share) => read_share,
        });
        Self { read_share, random: SplitMix64::new(SEED) }
    }

    /// The operation of the next request; a fault if the user has not said.
    #[inline]
    pub fn draw(&mut self) -> Result<HostOp, Box<RecordError>> {
        match self.read_share {
            Some(read_share) if self.random.next_positive_unit() <= read_share => Ok(HostOp::Read),
            Some(_) => Ok(HostOp::Write),
            None => Err(record_fault("no operation is recorded".to_owned(), "--op read, --op write or --op mix:X (X: share of reads)")),
        }
    }
}
