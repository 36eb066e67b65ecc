//! Fits a profile to a trace: measures what the model of `profile::Twin` holds, makes the twin, compares its figures with the original's,
//! and corrects the model until they agree or no longer come nearer.

mod compare;
mod correct;
mod measure;

pub use compare::{Comparison, Difference};

use crate::error::TraceError;
use crate::info::{Figures, TraceStatistics};
use crate::options::TraceOptions;
use crate::profile::{Profile, Twin};
use crate::trace::in_order;
use crate::watch::GoOn;
use correct::Correction;
use flashraid_vocabulary::HostRequest;
use std::num::NonZeroU64;
use std::path::Path;

/// Rounds of correction with each focus.
const ROUNDS: usize = 7;
/// Slack and power that are tried.
const FOCUS: [(f64, f64); 5] = [(0.12, 1.0), (0.25, 2.0), (0.4, 2.0), (0.06, 1.0), (0.2, 1.5)];
/// Seeds that are tried at most, and pages of all their twins.
const SEEDS: u64 = 100;
const SEED_PAGES: u64 = 30_000_000;

/// A fitted profile, and how near its twin comes.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The profile.
    pub profile: Profile,
    /// Figures of the trace.
    pub original: Figures,
    /// Figures of the profile's requests.
    pub twin: Figures,
    /// Both, figure by figure.
    pub comparison: Comparison,
    /// What of the recording is likely to mislead.
    pub warnings: Vec<String>,
}

impl Fit {
    /// The profile as a TOML file that says how near its twin comes.
    pub fn to_toml(&self) -> String {
        let Comparison { profile_numbers, figures, .. } = &self.comparison;
        let mut text = format!(
            "# Synthetic: a model of {profile_numbers} numbers, fitted by `flashraid trace fit`. Its twin is within 5 % of the trace in\n"
        );
        let beyond: Vec<&Difference> = figures.iter().filter(|figure| !figure.is_within).collect();
        text += &format!(
            "# {} of {} figures{}\n",
            figures.len() - beyond.len(),
            figures.len(),
            if beyond.is_empty() { "." } else { ", but for:" }
        );
        for Difference { figure, original, twin, .. } in beyond {
            text += &format!("#   {figure}: {original} in the trace, {twin} in the twin\n");
        }
        text + "\n" + &self.profile.to_toml()
    }
}

/// Fits a profile to a trace file. Its requests are held in memory, 40 bytes each. `go_on` is asked between the parts of the work, with
/// the requests read or the twins made so far.
pub fn fit_trace(path: &Path, options: &TraceOptions, page_bytes: NonZeroU64, go_on: &mut GoOn<'_>) -> Result<Fit, TraceError> {
    let (requests, summary) = in_order(path, options, TraceError::is_late, |mut trace| {
        let mut requests = Vec::new();
        trace.gather(|read, share| go_on(read, Some(share)))?;
        while trace.read_batch(&mut requests)? > 0 {
            if !go_on(requests.len() as u64, Some(trace.share_read())) {
                return Err(TraceError::Interrupted);
            }
        }
        Ok((requests, trace.finish()?))
    })?;
    if requests.len() < 2 {
        let what = "has only one request; a fit needs at least two, as it also models the gaps between them".into();
        return Err(TraceError::Unusable { path: path.into(), what });
    }
    let fitted = fit(&requests, page_bytes, &summary.name, go_on).ok_or(TraceError::Interrupted)?;
    Ok(Fit { warnings: summary.warnings(true), ..fitted })
}

/// Fits a profile to requests in the order of arrivals, at least two; `name` says what they are. `go_on` is told how many twins were
/// made, and may end the search: then the best one counts. None: not one was made.
pub fn fit(requests: &[HostRequest], page_bytes: NonZeroU64, name: &str, go_on: &mut GoOn<'_>) -> Option<Fit> {
    let statistics = statistics(requests.iter().copied(), page_bytes);
    let measured = measure::measure(requests, page_bytes.get(), &statistics);
    let original = statistics.clone().figures();
    let seeds = (SEED_PAGES / statistics.page_uses().max(1)).clamp(2, SEEDS);
    let most = (FOCUS.len() * ROUNDS) as u64 + seeds;
    let mut search = Search { original, page_bytes, name, best: None, go_on, rounds: 0, most };
    // With each focus, corrections until they settle; from the best of them on, other sequences: what is left are the accidents of one.
    let mut settled = (measured.clone(), Correction::new(&statistics));
    for (slack, power) in FOCUS {
        let focused = Twin { slack, power, ..measured.clone() };
        let mut correction = Correction::new(&statistics);
        for _ in 0..ROUNDS {
            let Some((made, is_best)) = search.round(correction.apply(&focused), 1) else { return search.best };
            if is_best {
                settled = (focused.clone(), correction.clone());
            }
            correction.learn(&made);
        }
    }
    let (focused, mut correction) = settled;
    for seed in 2..2 + seeds {
        let Some((made, _)) = search.round(correction.apply(&focused), seed) else { break };
        correction.learn(&made);
    }
    search.best
}

/// The best fit so far.
struct Search<'a, 'b> {
    original: Figures,
    page_bytes: NonZeroU64,
    name: &'a str,
    best: Option<Fit>,
    go_on: &'a mut GoOn<'b>,
    /// Twins made, and how many will be made at most.
    rounds: u64,
    most: u64,
}

impl Search<'_, '_> {
    /// Makes a twin and compares it; whether it is the best so far. None: no more is wanted.
    fn round(&mut self, twin: Twin, seed: u64) -> Option<(TraceStatistics, bool)> {
        if self.best.as_ref().is_some_and(|best| best.comparison.is_within())
            || !(self.go_on)(self.rounds, Some(self.rounds as f64 / self.most as f64))
        {
            return None;
        }
        self.rounds += 1;
        let profile = profile(twin, seed, &self.original, self.name);
        let made = statistics(profile.requests().expect("what is measured can be made"), self.page_bytes);
        let figures = made.clone().figures();
        let comparison = Comparison::new(&self.original, &figures, profile.twin.as_ref().map_or(0, Twin::numbers));
        let is_best = self.best.as_ref().is_none_or(|best| comparison.badness() < best.comparison.badness());
        if is_best {
            self.best = Some(Fit { profile, original: self.original.clone(), twin: figures, comparison, warnings: Vec::new() });
        }
        Some((made, is_best))
    }
}

fn statistics(requests: impl Iterator<Item = HostRequest>, page_bytes: NonZeroU64) -> TraceStatistics {
    let mut statistics = TraceStatistics::new(page_bytes);
    requests.for_each(|request| statistics.add(&request));
    statistics
}

fn profile(twin: Twin, seed: u64, original: &Figures, name: &str) -> Profile {
    // Space for new pages on either side of what the trace used.
    let space_bytes = original.max_address_bytes.max(2 * original.footprint_bytes).max(1 << 20);
    Profile {
        about: format!("Synthetic: fitted to {name}"),
        seed,
        requests: None,
        duration_ns: None,
        space_bytes: space_bytes.next_multiple_of(original.page_bytes),
        page_bytes: original.page_bytes,
        arrivals: None,
        diurnal: None,
        streams: Vec::new(),
        twin: Some(twin),
    }
}
