//! Torture: random requests on random small devices, stopped at random instants at which everything is checked, while parts fail and are
//! rebuilt.
//!
//! A *kill* stops the clock between two events and asks, of what flash really holds (tags): is every acknowledged page there, or does what
//! survives give it? And would it, if any unit failed now whose failure the scheme declares to survive? Then a part may really fail, and
//! things go on. What fails is wiped from the contents behind the engine's back, so that nothing can go on living from what is dead.
//!
//! Kills come in *episodes* of `KILLS`, each on a device of its own, which follows from the seed and the number of the episode alone; so
//! any kill can be replayed without those of other episodes.

mod devices;
mod episode;
mod flushes;
mod oracle;
mod states;
mod threads;

use crate::config::{Config, ConfigError, find_scheme, nearest};
use crate::error::RunError;
use episode::{Episode, KILLS};
use flashraid_redundancy::rebuild::ORDERS;
use flashraid_redundancy::{Protects, SCHEMES};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::available_parallelism;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Torture {
    /// A scheme, or `all`: those that protect anything at all times.
    pub scheme: String,
    /// A preset or file; without it, small devices of many shapes.
    pub device: Option<String>,
    /// Where everything random starts.
    pub seed: u64,
    /// How many kills, of each scheme.
    pub kills: u64,
    /// Only the episode of this kill, up to it.
    pub kill: Option<u64>,
    /// An order of rebuild, or `auto`: all that suit the scheme, in turn.
    pub rebuild: String,
    /// Let a second unit fail while the first is being rebuilt, and compare what is lost with what must be.
    pub second: bool,
    /// Settings that all devices have, over what is drawn.
    pub settings: Vec<(String, String)>,
    /// Episodes that run side by side, which changes no result; 0 for as many as there are cores.
    pub threads: usize,
    /// The unit of which one failure is to be survived, whatever the scheme declares, and without what the controller alone holds.
    pub claims: Option<Protects>,
    /// A deliberate fault that each engine makes.
    #[cfg(feature = "mutants")]
    pub mutant: Option<crate::mutants::Fault>,
}

impl Default for Torture {
    fn default() -> Self {
        Self {
            scheme: "all".into(),
            device: None,
            seed: 1,
            kills: 1000,
            kill: None,
            rebuild: "auto".into(),
            second: false,
            settings: Vec::new(),
            threads: 0,
            claims: None,
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }
}

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
    /// Rebuilds that were begun, and those that came to their end.
    pub rebuilds: u64,
    /// Of these, those after which everything was as redundant as before.
    pub rebuilt: u64,
    /// Pages compared or recomputed.
    pub pages_checked: u64,
    /// Pages that second failures took, all of which had to be lost.
    pub pages_gone: u64,
    /// How many kills found this going on.
    pub states: BTreeMap<&'static str, u64>,
    /// How many kills found two states at once, of all pairs that can be.
    pub pairs: BTreeMap<String, u64>,
    /// What was wrong, if anything was.
    pub violation: Option<Violation>,
}

impl SchemeReport {
    /// Adds what a later episode found.
    fn add(&mut self, found: Self) {
        self.kills += found.kills;
        self.episodes += found.episodes;
        self.requests += found.requests;
        self.rebuilds += found.rebuilds;
        self.rebuilt += found.rebuilt;
        self.pages_checked += found.pages_checked;
        self.pages_gone += found.pages_gone;
        for (counts, of_episode) in [(&mut self.faults, found.faults), (&mut self.states, found.states)] {
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

impl Torture {
    /// Tortures. `progress` is called now and then with the kills done of a scheme; it stops everything by returning false.
    pub fn run(&self, progress: &mut dyn FnMut(&str, u64) -> bool) -> Result<Report, RunError> {
        devices::check_asked(self)?;
        let schemes = self.schemes()?;
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            partial: false,
            device: self.device.clone(),
            kills: self.kills,
            rebuild: self.rebuild.clone(),
            settings: self.settings.clone(),
            seed: self.seed,
            second: self.second,
            schemes: Vec::new(),
        };
        for scheme in schemes {
            let (found, goes_on) = self.scheme(scheme, progress)?;
            report.schemes.push(found);
            if !goes_on {
                report.partial = true;
                break;
            }
        }
        Ok(report)
    }

    fn schemes(&self) -> Result<Vec<&'static str>, ConfigError> {
        if self.rebuild != "auto" && self.rebuild != "none" && !ORDERS.iter().any(|order| order.name == self.rebuild) {
            let names = || ["auto", "none"].into_iter().chain(ORDERS.iter().map(|order| order.name));
            let (near, all) = (nearest(&self.rebuild, names()), names().collect::<Vec<_>>().join(", "));
            return Err(ConfigError(format!("rebuild = {}: no such order{near}; there are {all}", self.rebuild)));
        }
        if self.scheme != "all" {
            let entry = find_scheme(&self.scheme)?;
            if entry.protects == Protects::None && self.claims.is_none() {
                return Err(ConfigError(format!("{} declares to survive nothing, so there is nothing to prove", entry.name)));
            }
            return Ok(vec![entry.name]);
        }
        Ok(SCHEMES.iter().filter(|entry| entry.protects != Protects::None && !entry.has_window).map(|entry| entry.name).collect())
    }

    fn scheme(&self, scheme: &'static str, progress: &mut dyn FnMut(&str, u64) -> bool) -> Result<(SchemeReport, bool), RunError> {
        let mut report = SchemeReport { scheme: scheme.into(), ..SchemeReport::default() };
        let (first, end) = match self.kill {
            Some(kill) => (kill / KILLS, kill + 1),
            None => (0, self.kills),
        };
        let threads = if self.threads == 0 { available_parallelism().map_or(1, usize::from) } else { self.threads };
        let (mut refused, mut goes_on) = (None, true);
        let episode = |number: u64| self.episode(scheme, number, (end - number * KILLS).min(KILLS));
        threads::in_order(threads, first..end.div_ceil(KILLS), episode, |result| {
            match result {
                Some(Ok(found)) => report.add(found),
                Some(Err(error)) => refused = Some(error),
                None => {}
            }
            if refused.is_some() || report.violation.is_some() {
                return ControlFlow::Break(());
            }
            goes_on = progress(scheme, report.kills);
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        match refused {
            Some(error) => Err(error.into()),
            None => Ok((report, goes_on)),
        }
    }

    /// What so many kills of one device find.
    fn episode(&self, scheme: &'static str, number: u64, kills: u64) -> Result<SchemeReport, ConfigError> {
        let config = devices::draw(self, scheme, number)?;
        let mut episode = Episode::new(self, config, scheme, number)?;
        // A defect that ends the program is one to be shown like others.
        let outcome = catch_unwind(AssertUnwindSafe(|| episode.run(kills)));
        let problem = outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default();
            Err((None, format!("panicked: {text}")))
        });
        let mut report = episode.report();
        if let Err((page, what)) = problem {
            // What shows at the end of an episode shows again with its last kill.
            let kill = number * KILLS + episode.kills.min(kills - 1);
            report.violation = Some(Violation { kill, at_ns: episode.now_ns(), page, what, replay: self.replay(scheme, kill) });
        }
        Ok(report)
    }

    /// The device on which a kill happens, and all its settings.
    pub fn config(&self, scheme: &str, kill: u64) -> Result<Config, ConfigError> {
        devices::draw(self, scheme, kill / KILLS)
    }

    /// The command that shows a kill again.
    fn replay(&self, scheme: &str, kill: u64) -> String {
        let mut command = format!("flashraid torture --scheme {scheme} --seed {} --kill {kill}", self.seed);
        if let Some(device) = &self.device {
            command += &format!(" --device {device}");
        }
        if self.rebuild != "auto" {
            command += &format!(" --rebuild {}", self.rebuild);
        }
        if self.second {
            command += " --second";
        }
        self.settings.iter().for_each(|(key, value)| command += &format!(" --set {key}={value}"));
        command
    }
}
