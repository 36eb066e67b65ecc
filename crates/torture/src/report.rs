//! What torture has found.

use serde::Serialize;
use std::collections::BTreeMap;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the program.
    pub version: &'static str,
    /// Whether it was stopped before its end.
    pub partial: bool,
    /// The device that was asked for, if any.
    pub device: Option<String>,
    /// Kills asked for, of each scheme.
    pub kills: u64,
    /// Order of rebuild.
    pub rebuild: String,
    /// Settings over the drawn ones.
    pub settings: Vec<(String, String)>,
    /// Where everything random started.
    pub seed: u64,
    /// Whether a second unit failed during rebuilds.
    pub second: bool,
    /// Scheme by scheme.
    pub schemes: Vec<SchemeReport>,
}

impl Report {
    /// Whether no kill found anything wrong.
    pub fn is_clean(&self) -> bool {
        self.schemes.iter().all(|scheme| scheme.violation.is_none())
    }
}

/// What was found of a scheme.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SchemeReport {
    /// Its name.
    pub scheme: String,
    /// Instants at which everything was checked.
    pub kills: u64,
    /// Devices.
    pub episodes: u64,
    /// Requests submitted.
    pub requests: u64,
    /// Faults injected, by what failed.
    pub faults: BTreeMap<&'static str, u64>,
    /// Of these, units that failed beside others that were not rebuilt, all of which the scheme survives together.
    pub survived_together: u64,
    /// Rebuilds that were begun, and those that came to their end.
    pub rebuilds: u64,
    /// Of these, those after which everything was as redundant as before.
    pub rebuilt: u64,
    /// Replacements of SSDs, by how they came out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replacements: BTreeMap<&'static str, u64>,
    /// Pages compared or recomputed.
    pub pages_checked: u64,
    /// Pages that second failures took, all of which had to be lost.
    pub pages_gone: u64,
    /// Of a scheme that makes redundancy later: pages that first failures took, all of which it had declared to be exposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages_lost_in_window: Option<u64>,
    /// How many kills found this going on.
    pub states: BTreeMap<&'static str, u64>,
    /// How many kills found two states at once, of all pairs that can be.
    pub pairs: BTreeMap<String, u64>,
    /// What was wrong, if anything was.
    pub violation: Option<Violation>,
}

impl SchemeReport {
    /// Adds what a later episode found.
    pub(super) fn add(&mut self, found: Self) {
        self.kills += found.kills;
        self.episodes += found.episodes;
        self.requests += found.requests;
        self.survived_together += found.survived_together;
        self.rebuilds += found.rebuilds;
        self.rebuilt += found.rebuilt;
        self.pages_checked += found.pages_checked;
        self.pages_gone += found.pages_gone;
        if let Some(pages) = found.pages_lost_in_window {
            *self.pages_lost_in_window.get_or_insert_default() += pages;
        }
        for (counts, of_episode) in
            [(&mut self.faults, found.faults), (&mut self.states, found.states), (&mut self.replacements, found.replacements)]
        {
            of_episode.into_iter().for_each(|(name, count)| *counts.entry(name).or_default() += count);
        }
        found.pairs.into_iter().for_each(|(name, count)| *self.pairs.entry(name).or_default() += count);
        self.violation = self.violation.take().or(found.violation);
    }
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// Number of the kill, counted from 0.
    pub kill: u64,
    /// Simulated time.
    pub at_ns: u64,
    /// The host page, if it is about one.
    pub page: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// The command that shows it again.
    pub replay: String,
}
