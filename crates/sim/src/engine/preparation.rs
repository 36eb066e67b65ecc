//! Before the first request: the fill and the precondition, in no simulated time (`executor::instant`).

use super::content::{Content, FILL};
use super::executor::Executor;
use super::state::Engine;
use crate::media::{Media, Overwrites};
use flashraid_redundancy::Decisions;
use flashraid_vocabulary::{Lpn, Version, one_of};
use serde::{Deserialize, Serialize};

/// What the precondition reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Pages overwritten.
    pub overwritten_pages: u64,
    /// Pages programmed for each page overwritten, in the last round.
    pub write_amplification: f64,
    /// Whether the rounds had become steady.
    pub steady: bool,
}

/// Rounds that are compared to tell whether GC is steady, and the limits: SNIA's performance test specification for
/// solid state storage asks for a range of at most 20 % of the average and a slope of at most 10 % of it over 5 rounds.
const WINDOW: usize = 5;
const RANGE: f64 = 0.20;
const SLOPE: f64 = 0.10;

/// Whether the last rounds keep within the limits.
fn is_steady(rounds: &[f64]) -> bool {
    let Some(start) = rounds.len().checked_sub(WINDOW) else { return false };
    let window = &rounds[start..];
    let mean = window.iter().sum::<f64>() / WINDOW as f64;
    let (least, most) = window.iter().fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
    let middle = (WINDOW - 1) as f64 / 2.0;
    let (covariance, variance) = window.iter().enumerate().fold((0.0, 0.0), |(covariance, variance), (index, value)| {
        let x = index as f64 - middle;
        (covariance + x * (value - mean), variance + x * x)
    });
    let drift = (covariance / variance * (WINDOW - 1) as f64).abs();
    most - least <= RANGE * mean && drift <= SLOPE * mean
}

impl<C: Content, M: Media> Engine<C, M> {
    /// Writes the first `pages` pages of the logical space, stripe by stripe with their parity, where an idle device would have
    /// put them. Costs nothing: neither time nor counts.
    pub fn fill(&mut self, pages: u64) {
        fill(self, pages, None);
    }

    /// Overwrites random pages among the first `pages` (which must be filled), one at a time, until GC is steady or
    /// `most_overwrites` pages were written. With `phases` and steady GC, some more take each plane to a phase of its own. Costs no time and no counts.
    /// `random` gives uniform 64-bit numbers; `go_on` is called now and then and may stop it.
    pub fn precondition(
        &mut self,
        pages: u64,
        most_overwrites: u64,
        phases: bool,
        mut random: impl FnMut() -> u64,
        mut go_on: impl FnMut(u64) -> bool,
    ) -> Reached {
        self.executor.media.set_untimed(true);
        let mut wave = self.executor.empty_wave();
        let mut decisions = Decisions::default();
        let round = (pages / 4).max(1);
        let mut rounds: Vec<f64> = Vec::new();
        let mut overwritten = 0;
        let mut steady = false;
        let mut is_stopped = false;
        while overwritten < most_overwrites && !steady && !is_stopped {
            let before = self.executor.media.untimed();
            let start = overwritten;
            while overwritten < (start + round).min(most_overwrites) && !is_stopped {
                let lpn = Lpn(one_of(pages, random()));
                // Contents differ from overwrite to overwrite, so that an old version is never taken for a newer one.
                self.executor.overwrite(lpn, FILL - 1 - overwritten, &mut decisions, &mut wave);
                overwritten += 1;
                is_stopped = overwritten % 65_536 == 0 && !go_on(overwritten);
            }
            let now = self.executor.media.untimed();
            rounds.push((now.programs - before.programs) as f64 / (overwritten - start) as f64);
            // Before GC has begun the rounds are all alike, and say nothing.
            steady = now.victims > before.victims && is_steady(&rounds);
        }
        if phases && steady {
            let most_draws = 2 * self.executor.media.begin_phases(&mut random);
            for _ in 0..most_draws {
                let lpn = Lpn(one_of(pages, random()));
                if self.executor.media.is_to_advance(self.executor.scheme.locate(lpn)) {
                    self.executor.overwrite(lpn, FILL - 1 - overwritten, &mut decisions, &mut wave);
                    overwritten += 1;
                }
            }
            self.executor.media.end_phases();
        }
        self.executor.wave = Some(wave);
        self.executor.media.set_untimed(false);
        self.executor.forget_counts();
        Reached { overwritten_pages: overwritten, write_amplification: rounds.last().copied().unwrap_or(1.0), steady }
    }
}

/// A fill that leaves pages where uniform random overwrites would have (SPEC 8.10).
pub struct AsOverwritten<'a> {
    /// Whether each plane is at a point of its own between two GC runs.
    pub phases: bool,
    /// Uniform 64-bit numbers.
    pub random: &'a mut dyn FnMut() -> u64,
}

/// `Engine::fill`, perhaps with pages where overwrites would have left them when GC was steady, of a scheme that programs a parity with each page of its stripe: then it
/// returns what that amounts to; `None` if nothing is spare.
pub(crate) fn fill<C: Content, M: Media>(engine: &mut Engine<C, M>, pages: u64, state: Option<AsOverwritten<'_>>) -> Option<Reached> {
    debug_assert!(pages <= engine.executor.space.pages);
    engine.executor.media.set_untimed(true);
    let reached = match state {
        None => {
            engine.executor.media.begin_fill(pages, None);
            None
        }
        Some(AsOverwritten { phases, random }) => {
            let (written, stripes) = written(engine, pages);
            let parity_rate = if stripes == 0 { 0.0 } else { pages as f64 / stripes as f64 };
            let overwrites = &mut Overwrites { pages: &written, parity_rate, phases, random };
            let programs = engine.executor.media.begin_fill(pages, Some(overwrites))?;
            Some(Reached { overwritten_pages: 0, write_amplification: programs / pages as f64, steady: true })
        }
    };
    let mut wave = engine.executor.empty_wave();
    let mut filled = 0;
    for index in 0.. {
        if filled >= pages {
            break;
        }
        engine.executor.scheme.create(Lpn(filled));
        let mut operation = engine.executor.scheme.fill(index).expect("the space ends with the last stripe");
        let count = u64::from(operation.strips.count_ones()).min(pages - filled);
        // The last stripe may be partly beyond the space: its other strips stay unwritten.
        while u64::from(operation.strips.count_ones()) > count {
            operation.strips &= !(1 << (63 - operation.strips.leading_zeros()));
        }
        engine.executor.perform(operation, FILL, &mut wave);
        if C::TRACKED {
            operation.host_pages().for_each(|lpn| engine.executor.content.filled(lpn, FILL));
        }
        if let Some(buffer) = &mut engine.front_end.buffer {
            operation.host_pages().for_each(|lpn| buffer.is_on_flash(lpn));
        }
        if let Some(valid) = &mut engine.front_end.valid_sectors {
            operation.host_pages().for_each(|lpn| valid.fill(lpn));
        }
        filled += count;
    }
    engine.executor.wave = Some(wave);
    engine.executor.media.set_untimed(false);
    engine.executor.forget_counts();
    reached
}

/// What a fill of so many pages writes, by space domain: pages with data or copies of it, and parities. And how many stripes have parities.
fn written<C: Content, M: Media>(engine: &mut Engine<C, M>, pages: u64) -> (Vec<[u64; 2]>, u64) {
    let Executor { scheme, media, .. } = &mut engine.executor;
    let mut written = vec![[0; 2]; media.shape().domains as usize];
    let mut count = |page, class: usize| written[media.domain_of(page, Version::Current) as usize][class] += 1;
    let (mut others, mut last_parity, mut stripes) = (Vec::new(), None, 0);
    for lpn in (0..pages).map(Lpn) {
        scheme.create(lpn);
        count(scheme.locate(lpn), 0);
        let parity = scheme.parity_of(lpn);
        // The pages of a stripe follow each other.
        if parity.is_none() || parity != last_parity {
            scheme.redundancy_of(lpn, &mut others);
            others.drain(..).for_each(|page| count(page, usize::from(parity.is_some())));
            stripes += u64::from(parity.is_some());
            last_parity = parity;
        }
    }
    (written, stripes)
}

#[cfg(test)]
mod tests {
    use super::is_steady;

    /// SNIA's two limits, 20 % of the mean for the range of five rounds and 10 % for their slope.
    #[test]
    fn rounds_are_steady_within_both_limits() {
        assert!(!is_steady(&[1.0; 4]), "too few");
        assert!(is_steady(&[9.0, 1.05, 1.07, 1.06, 1.05, 1.07]), "the last five count");
        assert!(!is_steady(&[1.00, 1.03, 1.06, 1.09, 1.12]), "a range of 11 % of the mean, and all of it slope");
        assert!(is_steady(&[1.00, 1.02, 1.04, 1.06, 1.08]), "a slope of 8 %");
        assert!(!is_steady(&[1.00, 1.11, 0.90, 1.11, 1.00]), "no slope, but a range of 21 %");
    }
}
