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
use crate::trace::Trace;
use correct::Correction;
use flashraid_vocabulary::HostRequest;
use std::num::NonZeroU64;
use std::path::Path;

/// Rounds of correction.
const ROUNDS: usize = 8;

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
}

/// Fits a profile to a trace file. Its requests are held in memory.
pub fn fit_trace(
    path: &Path,
    options: &TraceOptions,
    page_bytes: NonZeroU64,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Fit, TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut requests = Vec::new();
    while trace.read_batch(&mut requests)? > 0 {}
    let name = trace.finish()?.name;
    Ok(fit(&requests, page_bytes, &name, go_on))
}

/// Fits a profile to requests in the order of arrivals; `name` says what they are. `go_on` is told each round and may end the
/// corrections.
pub fn fit(requests: &[HostRequest], page_bytes: NonZeroU64, name: &str, go_on: &mut dyn FnMut(usize) -> bool) -> Fit {
    let statistics = statistics(requests.iter().copied(), page_bytes);
    let measured = measure::measure(requests, page_bytes.get(), &statistics);
    let original = statistics.clone().figures();
    let mut correction = Correction::new(&statistics, &original);
    let mut best: Option<Fit> = None;
    for round in 0..ROUNDS {
        let twin = correction.apply(&measured);
        let profile = profile(twin, &original, name);
        let made = profile.requests().expect("what is measured can be made");
        let made = self::statistics(made, page_bytes);
        correction.learn(&made);
        let twin = made.figures();
        let comparison = Comparison::new(&original, &twin, profile.twin.as_ref().map_or(0, Twin::numbers));
        let is_better = best.as_ref().is_none_or(|best| comparison.badness() < best.comparison.badness());
        if is_better {
            best = Some(Fit { profile, original: original.clone(), twin, comparison });
        }
        if best.as_ref().is_some_and(|best| best.comparison.is_within()) || !go_on(round) {
            break;
        }
    }
    best.expect("there is a first round")
}

fn statistics(requests: impl Iterator<Item = HostRequest>, page_bytes: NonZeroU64) -> TraceStatistics {
    let mut statistics = TraceStatistics::new(page_bytes);
    requests.for_each(|request| statistics.add(&request));
    statistics
}

fn profile(twin: Twin, original: &Figures, name: &str) -> Profile {
    // Room for new pages on either side of what the trace used.
    let space_bytes = original.max_address_bytes.max(2 * original.footprint_bytes).max(1 << 20);
    Profile {
        about: format!("Synthetic: fitted to {name}"),
        seed: 1,
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
