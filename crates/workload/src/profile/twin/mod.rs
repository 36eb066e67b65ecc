//! The model of a measured trace: phases, each with its mix, its gaps, its sizes and its reuse of pages.
//!
//! A request begins at one of fourteen *places*: where a request ended (the last one, the last of its kind, or a recent one; going on into
//! new pages or used ones), shortly before such a place, at pages never used, at the edge of what is used, or back at used pages. Used
//! pages are found by their LRU stack distance (Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970),
//! among those near the distance drawn by how often they are still to be used; so reuse distances and skew are both kept. Every table is
//! dealt like a deck of cards, without putting cards back: what a phase holds is what comes out.

mod deck;
mod frontier;
mod gaps;
mod generator;
mod stack;
mod streams;

pub(super) use generator::TwinGenerator;
pub(crate) use stack::{DIRTY, STARTED};
pub(crate) use streams::{End, Ends, TAIL_BYTES};

use super::error::{ProfileError, check};
use super::table::{ValueRange, ValueTable};
use crate::info::bursts::BURST_GAP_NS;
use crate::range::LARGEST;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A model fitted to a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Twin {
    /// How far from the distance drawn a page may be, of that distance.
    pub slack: f64,
    /// Power of the uses still to come by which pages near a distance are weighted.
    pub power: f64,
    /// Devices that requests go to, numbered from 0.
    pub devices: u32,
    /// How many new places requests begin at on each device: a table over devices.
    pub device_starts: ValueTable,
    /// Where in their page requests begin that do not go on from another one, in bytes: those of whole pages, and others.
    pub start_bytes: [ValueTable; 2],
    /// How much of what was used last is used again by requests that begin before its end.
    #[serde(default, skip_serializing_if = "ValueTable::is_empty")]
    pub tail_bytes: ValueTable,
    /// Sizes of discards.
    #[serde(default, skip_serializing_if = "ValueTable::is_empty")]
    pub trim_bytes: ValueTable,
    /// Sizes of writes of zeroes.
    #[serde(default, skip_serializing_if = "ValueTable::is_empty")]
    pub write_zeroes_bytes: ValueTable,
    /// Parts of the trace, in order.
    pub phases: Vec<Phase>,
}

/// Where a request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(usize)]
pub enum StartKind {
    /// Where the last transfer ended, going on into pages never used.
    NextNew,
    /// The same, into used pages.
    NextUsed,
    /// Where the last transfer of this kind ended, going on into pages never used.
    OwnNew,
    /// The same, into used pages.
    OwnUsed,
    /// Where a recent transfer of this kind ended, going on into pages never used.
    StreamNew,
    /// The same, into used pages.
    StreamUsed,
    /// Elsewhere, at a page never used.
    New,
    /// In a used page, going on into pages never used.
    Edge,
    /// Shortly before the place where a recent transfer of this kind ended, going on beyond it into used pages.
    Tail,
    /// The same, into pages never used.
    TailNew,
    /// At a page used but never written, where no request has begun.
    Clean,
    /// The same, where one has.
    CleanAgain,
    /// At a page written before, where no request has begun.
    Dirty,
    /// The same, where one has.
    DirtyAgain,
}

/// The scale on which values of very different sizes are compared.
fn log(value: f64) -> f64 {
    libm::log(value + 1.0)
}

/// Distance of a request that goes on into new pages from the middle of a page; 0 if from the end of one.
pub(crate) const MID_PAGE: f64 = 10.0;

/// How many places there are.
pub(crate) const PLACES: usize = 14;

impl StartKind {
    /// A used page in this state.
    pub(crate) fn back(state: u8) -> Self {
        match (state & DIRTY != 0, state & STARTED != 0) {
            (false, false) => Self::Clean,
            (false, true) => Self::CleanAgain,
            (true, false) => Self::Dirty,
            (true, true) => Self::DirtyAgain,
        }
    }

    /// State of the page that it asks for; None if it does not go back to one.
    pub(crate) fn state(self) -> Option<u8> {
        match self {
            Self::Clean => Some(0),
            Self::CleanAgain => Some(STARTED),
            Self::Dirty => Some(DIRTY),
            Self::DirtyAgain => Some(DIRTY | STARTED),
            _ => None,
        }
    }

    /// Whether its first page has a distance.
    pub(crate) fn has_distance(self) -> bool {
        matches!(self, Self::Edge | Self::Tail | Self::TailNew) || self.goes_on() == Some(false) || self.state().is_some()
    }

    /// Whether it goes on where a request ended; and whether into new pages.
    pub(crate) fn goes_on(self) -> Option<bool> {
        match self {
            Self::NextNew | Self::OwnNew | Self::StreamNew => Some(true),
            Self::NextUsed | Self::OwnUsed | Self::StreamUsed => Some(false),
            _ => None,
        }
    }
}

/// One part of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Time before its first request.
    #[serde(default)]
    pub first_gap_ns: u64,
    /// Times between its arrivals. Rows below `BURST_GAP_NS` are those within bursts, the others those between bursts.
    #[serde(default, skip_serializing_if = "ValueTable::is_empty")]
    pub gaps_ns: ValueTable,
    /// How often a time within a burst is followed by one like it, of the times that could follow: 0 to 1.
    #[serde(default)]
    pub gap_persistence: f64,
    /// Requests of its first burst that follow on its first request.
    #[serde(default)]
    pub burst_left: u64,
    /// Requests of its other bursts but the last, which has those that are left.
    #[serde(default, skip_serializing_if = "ValueTable::is_empty")]
    pub burst_requests: ValueTable,
    /// Discards, writes of zeroes, flushes.
    #[serde(default)]
    pub others: [u64; 3],
    /// How often the pages first used in this phase are used in all.
    #[serde(default, skip_serializing_if = "ValueTable::is_empty")]
    pub uses: ValueTable,
    /// Reads, by where they begin.
    #[serde(default)]
    pub reads: BTreeMap<StartKind, Moves>,
    /// Writes, by where they begin.
    #[serde(default)]
    pub writes: BTreeMap<StartKind, Moves>,
}

/// Requests of one kind that begin at one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moves {
    /// How many follow on a read that began elsewhere than a request had ended, on a read that went on from one, and on such writes.
    pub after: [u64; 4],
    /// Sizes, by distance.
    pub parts: Vec<DistanceClass>,
}

/// Sizes of the requests that have a distance in one range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistanceClass {
    /// LRU stack distance of the first page, in pages. Of requests that go on into new pages, 10 if from the middle of a page, else 0.
    pub distance: ValueRange,
    /// Sizes. Their weight is that of the distance.
    pub bytes: ValueTable,
}

impl Moves {
    /// Requests.
    pub fn requests(&self) -> u64 {
        self.after.iter().sum()
    }

    /// Mean size.
    pub(crate) fn mean_bytes(&self) -> f64 {
        let weighted = |part: &DistanceClass| part.bytes.weight() * part.bytes.mean();
        self.parts.iter().map(weighted).sum::<f64>() / self.parts.iter().map(|part| part.bytes.weight()).sum::<f64>()
    }

    /// Distances of all parts.
    pub(crate) fn distances(&self) -> ValueTable {
        ValueTable(self.parts.iter().map(|part| part.distance.row(part.bytes.weight())).collect())
    }

    fn check(&self) -> Result<(), ProfileError> {
        check(self.requests() > 0, "after", "[0, 0, 0, 0]", "at least one request")?;
        for part in &self.parts {
            part.bytes.check("bytes", 1.0)?;
            check(part.bytes.largest() < 4e9, "bytes", part.bytes.largest(), "below 4 GB")?;
        }
        self.distances().check("distance", 0.0)
    }
}

impl Phase {
    /// Requests of the phase.
    pub fn requests(&self) -> u64 {
        self.reads.values().chain(self.writes.values()).map(Moves::requests).chain(self.others).sum()
    }

    /// Its moves by kind, 0 for reads.
    pub(crate) fn moves(&self) -> [&BTreeMap<StartKind, Moves>; 2] {
        [&self.reads, &self.writes]
    }

    /// Times between arrivals within bursts, and between bursts.
    fn gaps_by_burst(&self) -> [ValueTable; 2] {
        let (within, between) = self.gaps_ns.0.iter().partition(|row| row.high < BURST_GAP_NS as f64);
        [ValueTable(within), ValueTable(between)]
    }

    fn check_gaps(&self) -> Result<(), ProfileError> {
        check(self.first_gap_ns <= LARGEST, "first_gap_ns", self.first_gap_ns, "below 2^63")?;
        if self.requests() > 1 || !self.gaps_ns.is_empty() {
            self.gaps_ns.check("gaps_ns", 0.0)?;
        }
        let [_, between] = self.gaps_by_burst();
        let across = between.0.iter().find(|row| row.low < BURST_GAP_NS as f64);
        let value = || across.map_or_else(String::new, |row| format!("[{}, {}, {}, {}]", row.weight, row.low, row.mean, row.high));
        check(across.is_none(), "gaps_ns", value(), &format!("rows below {BURST_GAP_NS} ns, and rows from there on"))?;
        check((0.0..=1.0).contains(&self.gap_persistence), "gap_persistence", self.gap_persistence, "0 to 1")?;
        if between.weight() < 2.0 && self.burst_requests.is_empty() { Ok(()) } else { self.burst_requests.check("burst_requests", 1.0) }
    }

    fn numbers(&self) -> usize {
        let others = self.others.iter().filter(|count| **count > 0).count();
        let part = |part: &DistanceClass| part.distance.numbers() + part.bytes.numbers();
        let moves = self.reads.values().chain(self.writes.values());
        let moves = moves.map(|moves| 4 + moves.parts.iter().map(part).sum::<usize>());
        3 + others + self.gaps_ns.numbers() + self.burst_requests.numbers() + self.uses.numbers() + moves.sum::<usize>()
    }
}

impl Twin {
    /// Requests of all phases.
    pub fn requests(&self) -> u64 {
        self.phases.iter().map(Phase::requests).sum()
    }

    /// Numbers that the model holds.
    pub fn numbers(&self) -> usize {
        let own =
            [&self.device_starts, &self.start_bytes[0], &self.start_bytes[1], &self.tail_bytes, &self.trim_bytes, &self.write_zeroes_bytes];
        3 + own.iter().map(|table| table.numbers()).sum::<usize>() + self.phases.iter().map(Phase::numbers).sum::<usize>()
    }

    pub(super) fn check(&self) -> Result<(), ProfileError> {
        check((0.001..=1.0).contains(&self.slack), "slack", self.slack, "0.001 to 1")?;
        check((0.0..=4.0).contains(&self.power), "power", self.power, "0 to 4")?;
        check((1..=1 << 20).contains(&self.devices), "devices", self.devices, "1 to 1,048,576")?;
        check(self.requests() > 0, "phases", self.requests(), "at least one request")?;
        self.device_starts.check("device_starts", 0.0)?;
        self.start_bytes.iter().try_for_each(|table| table.check("start_bytes", 0.0))?;
        let is_tail = |place: &StartKind| matches!(place, StartKind::Tail | StartKind::TailNew);
        let has_tails = |phase: &Phase| phase.moves().iter().any(|moves| moves.keys().any(is_tail));
        if self.phases.iter().any(has_tails) {
            self.tail_bytes.check("tail_bytes", 1.0)?;
        }
        let sizes = [("trim_bytes", &self.trim_bytes, 0), ("write_zeroes_bytes", &self.write_zeroes_bytes, 1)];
        for (key, table, kind) in sizes {
            let is_needed = self.phases.iter().any(|phase| phase.others[kind] > 0);
            if is_needed || !table.is_empty() {
                table.check(key, 1.0)?;
            }
        }
        for phase in self.phases.iter().filter(|phase| phase.requests() > 0) {
            phase.check_gaps()?;
            if !phase.uses.is_empty() {
                phase.uses.check("uses", 0.0)?;
            }
            phase.reads.values().chain(phase.writes.values()).try_for_each(Moves::check)?;
        }
        Ok(())
    }
}
