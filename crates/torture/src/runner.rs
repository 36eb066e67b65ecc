//! Episode after episode, scheme by scheme, and what they have found in one report.

use super::asked::Torture;
use super::devices::{check_asked, draw};
use super::episode::{Episode, KILLS};
use super::report::{Report, SchemeReport, Violation};
use flashraid_redundancy::rebuild::ORDERS;
use flashraid_redundancy::{Protects, SCHEMES};
use flashraid_sim::RunError;
use flashraid_sim::assemble::Assembled;
use flashraid_sim::config::{Config, ConfigError, find_scheme};
use flashraid_sim::media::{Flash, SsdArray};
use flashraid_sim::threads;
use flashraid_vocabulary::names::nearest;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::available_parallelism;

impl Torture {
    /// Tortures. `progress` is called now and then with the kills done of a scheme; it stops everything by returning false.
    pub fn run(&self, progress: &mut dyn FnMut(&str, u64) -> bool) -> Result<Report, RunError> {
        check_asked(self)?;
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
            return Err(ConfigError(format!("rebuild = {}: unknown order{near}; allowed is {all}", self.rebuild)));
        }
        if self.scheme != "all" {
            let entry = find_scheme(&self.scheme)?;
            if entry.protects == Protects::None && self.claims.is_none() {
                return Err(ConfigError(format!("{} is not declared to survive any failure, so there is nothing to test", entry.name)));
            }
            return Ok(vec![entry.name]);
        }
        Ok(SCHEMES.iter().filter(|entry| entry.protects != Protects::None).map(|entry| entry.name).collect())
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
                // What is asked of all schemes may be refused for one of them.
                Some(Err(ConfigError(text))) if self.scheme == "all" && !text.starts_with(scheme) => {
                    refused = Some(ConfigError(format!("{scheme}: {text}")));
                }
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
        let config = draw(self, scheme, number)?;
        match config.array.is_single() {
            true => self.episode_on::<Flash>(config, scheme, number, kills),
            false => self.episode_on::<SsdArray>(config, scheme, number, kills),
        }
    }

    fn episode_on<M: Assembled>(&self, config: Config, scheme: &'static str, number: u64, kills: u64) -> Result<SchemeReport, ConfigError> {
        let mut episode = Episode::<M>::new(self, config, scheme, number)?;
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
            let page = page.map(|page| episode.host_page(page));
            report.violation = Some(Violation { kill, at_ns: episode.now_ns(), page, what, replay: self.replay(scheme, kill) });
        }
        Ok(report)
    }

    /// The device on which a kill happens, and all its settings.
    pub fn config(&self, scheme: &str, kill: u64) -> Result<Config, ConfigError> {
        draw(self, scheme, kill / KILLS)
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
