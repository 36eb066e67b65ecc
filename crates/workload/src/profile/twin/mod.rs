//! The model of a measured trace: phases, each with its mix, its gaps, its sizes and its reuse of pages.
//!
//! A request goes to one of nine *places*: on from where a request ended (the last one, or the last of its kind; into new pages or used
//! ones), to pages never used, or back to used pages. Used pages are taken by their LRU stack distance (Mattson et al., "Evaluation
//! techniques for storage hierarchies", IBM Systems Journal 1970), among those near the distance drawn by how often they are still to be
//! used; so reuse distances and skew are both kept. Every table is dealt like a deck of cards, without putting cards back: what a phase
//! holds is what comes out.

mod deck;
mod frontier;
mod generator;
mod stack;

pub(super) use generator::Generator;
pub(crate) use stack::{DIRTY, STARTED};

use super::{ProfileError, Table, check};
use serde::{Deserialize, Serialize};

/// A model fitted to a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Twin {
    /// Devices that requests go to, numbered from 0.
    pub devices: u32,
    /// How many new places requests begin at on each device: a table over devices.
    pub device_starts: Table,
    /// How often each page is used, in all.
    pub uses: Table,
    /// Where in their page requests begin that do not go on from another one, in bytes.
    pub start_bytes: Table,
    /// Sizes of discards.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub trim_bytes: Table,
    /// Sizes of writes of zeroes.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub write_zeroes_bytes: Table,
    /// Parts of the trace, in order.
    pub phases: Vec<Phase>,
}

/// Where a request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Place {
    /// Where the last transfer ended, pages never used.
    NextCold,
    /// The same, used pages.
    NextWarm,
    /// Where the last transfer of this kind ended, pages never used.
    OwnCold,
    /// The same, used pages.
    OwnWarm,
    /// Elsewhere, a page never used.
    Cold,
    /// A page used but never written, where no request has begun.
    Clean,
    /// The same, where one has.
    CleanAgain,
    /// A page written before, where no request has begun.
    Dirty,
    /// The same, where one has.
    DirtyAgain,
}

impl Place {
    pub const ALL: [Self; 9] = [
        Self::NextCold,
        Self::NextWarm,
        Self::OwnCold,
        Self::OwnWarm,
        Self::Cold,
        Self::Clean,
        Self::CleanAgain,
        Self::Dirty,
        Self::DirtyAgain,
    ];

    /// A used page in this state.
    pub fn warm(state: u8) -> Self {
        match (state & DIRTY != 0, state & STARTED != 0) {
            (false, false) => Self::Clean,
            (false, true) => Self::CleanAgain,
            (true, false) => Self::Dirty,
            (true, true) => Self::DirtyAgain,
        }
    }

    /// State of the page that it asks for; None if it does not go back to one.
    pub fn state(self) -> Option<u8> {
        match self {
            Self::Clean => Some(0),
            Self::CleanAgain => Some(STARTED),
            Self::Dirty => Some(DIRTY),
            Self::DirtyAgain => Some(DIRTY | STARTED),
            _ => None,
        }
    }

    /// Which table of sizes is its own: 0 going on, 1 new, 2 used.
    pub fn size_class(self) -> usize {
        match self {
            Self::NextCold | Self::NextWarm | Self::OwnCold | Self::OwnWarm => 0,
            Self::Cold => 1,
            _ => 2,
        }
    }
}

/// Requests by place.
pub(crate) type Places = [u64; 9];

/// One part of a trace. Each list of places is in the order: next new, next used, own new, own used, new, clean, clean again, dirty,
/// dirty again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Times between arrivals.
    pub gaps_ns: Table,
    /// Reads that follow on a read, by place.
    pub read_after_read: Places,
    /// Writes that follow on a read.
    pub write_after_read: Places,
    /// Reads that follow on a write.
    pub read_after_write: Places,
    /// Writes that follow on a write.
    pub write_after_write: Places,
    /// Discards, writes of zeroes, flushes.
    pub others: [u64; 3],
    /// Sizes of reads that go on, that begin at new pages, and at used ones.
    pub read_bytes: [Table; 3],
    /// The same of writes.
    pub write_bytes: [Table; 3],
    /// Distances of reads at used pages: clean ones, dirty ones.
    pub read_distances: [Table; 2],
    /// The same of writes.
    pub write_distances: [Table; 2],
}

impl Phase {
    /// Requests of the phase.
    pub fn requests(&self) -> u64 {
        self.moves().iter().flatten().flatten().chain(&self.others).sum()
    }

    /// Requests by kind of the last transfer (0 read, 1 write), kind, and place.
    pub(crate) fn moves(&self) -> [[Places; 2]; 2] {
        [[self.read_after_read, self.write_after_read], [self.read_after_write, self.write_after_write]]
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        let sizes = self.read_bytes.iter().chain(&self.write_bytes);
        std::iter::once(&self.gaps_ns).chain(sizes).chain(&self.read_distances).chain(&self.write_distances)
    }
}

impl Twin {
    /// Requests of all phases.
    pub fn requests(&self) -> u64 {
        self.phases.iter().map(Phase::requests).sum()
    }

    /// Numbers that the model holds.
    pub fn numbers(&self) -> usize {
        let own = [&self.device_starts, &self.uses, &self.start_bytes, &self.trim_bytes, &self.write_zeroes_bytes];
        let counts = |phase: &Phase| phase.moves().iter().flatten().flatten().chain(&phase.others).filter(|count| **count > 0).count();
        let phase = |phase: &Phase| counts(phase) + phase.tables().map(Table::numbers).sum::<usize>();
        own.iter().map(|table| table.numbers()).sum::<usize>() + self.phases.iter().map(phase).sum::<usize>()
    }

    pub(super) fn check(&self) -> Result<(), ProfileError> {
        check((1..=1 << 20).contains(&self.devices), "devices", self.devices, "1 to 1,048,576")?;
        check(self.requests() > 0, "phases", self.requests(), "at least one request")?;
        self.device_starts.check("device_starts", 0.0)?;
        self.uses.check("uses", 0.0)?;
        self.start_bytes.check("start_bytes", 0.0)?;
        for (key, table) in [("trim_bytes", &self.trim_bytes), ("write_zeroes_bytes", &self.write_zeroes_bytes)] {
            table.check_if_any(key, 1.0)?;
        }
        for phase in &self.phases {
            phase.gaps_ns.check("gaps_ns", 0.0)?;
            let moves = phase.moves();
            for op in 0..2 {
                let of = |place: Place| moves[0][op][place as usize] + moves[1][op][place as usize];
                let sizes = [&phase.read_bytes, &phase.write_bytes][op];
                let key = ["read_bytes", "write_bytes"][op];
                for (class, table) in sizes.iter().enumerate() {
                    let count: u64 = Place::ALL.into_iter().filter(|place| place.size_class() == class).map(of).sum();
                    if count > 0 {
                        table.check(key, 1.0)?
                    } else {
                        table.check_if_any(key, 1.0)?
                    }
                    check(table.largest() < 4e9, key, table.largest(), "below 4 GB")?;
                }
                for table in [&phase.read_distances, &phase.write_distances][op] {
                    table.check_if_any(["read_distances", "write_distances"][op], 0.0)?;
                }
            }
        }
        Ok(())
    }
}

impl Table {
    /// The same, of a table that may be empty.
    fn check_if_any(&self, key: &str, least: f64) -> Result<(), ProfileError> {
        if self.is_empty() { Ok(()) } else { self.check(key, least) }
    }
}
