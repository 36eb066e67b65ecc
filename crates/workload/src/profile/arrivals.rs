//! When requests arrive.

use super::error::{ProfileError, check};
use super::table::{TableRow, ValueTable};
use crate::info::bursts::BURST_GAP_NS;
use crate::random::Laws;
use flashraid_vocabulary::SplitMix64;
use serde::{Deserialize, Serialize};

/// The law of the times between arrivals. The first request arrives at 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Every `interval_ns`.
    Fixed {
        /// Time between arrivals.
        interval_ns: u64,
    },
    /// Every time from `min_ns` to `max_ns` is as likely.
    Uniform {
        /// Shortest time between arrivals.
        min_ns: u64,
        /// Longest.
        max_ns: u64,
    },
    /// Normally distributed; a time below 0 is drawn again.
    Normal {
        /// Mean time between arrivals.
        mean_ns: u64,
        /// Its standard deviation.
        deviation_ns: u64,
    },
    /// Exponentially distributed, rounded to whole nanoseconds: a Poisson process.
    Poisson {
        /// Mean time between arrivals.
        mean_ns: u64,
    },
    /// Bursts as `trace info` counts them, of geometrically distributed numbers of requests. Times within bursts follow the curve of a
    /// table's row from 0 to `BURST_GAP_NS`; times between bursts are that long and, exponentially distributed, longer.
    Bursts {
        /// Mean of all times between arrivals.
        mean_ns: u64,
        /// Mean number of requests of a burst.
        mean_requests: f64,
        /// Mean time between arrivals within a burst.
        mean_gap_ns: u64,
    },
    /// Drawn from a table of times.
    Table {
        /// `[weight, ns]` or `[weight, low, mean, high]`.
        gaps_ns: ValueTable,
    },
}

/// A rate that rises and falls: `1 + amplitude * sin(2 pi t / period)` times the mean rate, whatever the law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diurnal {
    /// From one peak to the next; a day has 86,400,000,000,000 ns.
    pub period_ns: u64,
    /// 0 to below 1.
    pub amplitude: f64,
}

impl Arrivals {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let mean = |key, value: u64| check((1..=1 << 62).contains(&value), key, value, "1 to 2^62");
        match self {
            Self::Fixed { .. } => Ok(()),
            Self::Uniform { min_ns, max_ns } => check(max_ns >= min_ns, "max_ns", max_ns, &format!("at least min_ns, {min_ns}")),
            Self::Normal { mean_ns, deviation_ns } => {
                mean("mean_ns", *mean_ns)?;
                check(deviation_ns <= mean_ns, "deviation_ns", deviation_ns, &format!("at most mean_ns, {mean_ns}"))
            }
            Self::Poisson { mean_ns } => mean("mean_ns", *mean_ns),
            Self::Bursts { mean_ns, mean_requests, mean_gap_ns } => {
                mean("mean_ns", *mean_ns)?;
                check((1.0..=1e9).contains(mean_requests), "mean_requests", mean_requests, "1 to 1,000,000,000")?;
                let is_within = *mean_gap_ns < BURST_GAP_NS;
                check(is_within, "mean_gap_ns", mean_gap_ns, &format!("below {BURST_GAP_NS}: a longer gap ends a burst"))?;
                let least_ns = ((mean_requests - 1.0) * *mean_gap_ns as f64 + BURST_GAP_NS as f64) / mean_requests;
                let allowed = format!("at least {:.0}: bursts are at least {BURST_GAP_NS} apart", least_ns.ceil());
                check(*mean_ns as f64 >= least_ns, "mean_ns", mean_ns, &allowed)
            }
            Self::Table { gaps_ns } => gaps_ns.check("gaps_ns", 0.0),
        }
    }

    /// Longest time between arrivals that the law can give: no exponential one is longer than 37 means, -ln(2^-53) rounded up.
    pub(super) fn longest_ns(&self) -> f64 {
        match self {
            Self::Fixed { interval_ns } => *interval_ns as f64,
            Self::Uniform { max_ns, .. } => *max_ns as f64,
            Self::Normal { mean_ns, deviation_ns } => *mean_ns as f64 + 9.0 * *deviation_ns as f64,
            Self::Poisson { mean_ns } => 37.0 * *mean_ns as f64,
            Self::Bursts { mean_ns, mean_requests, mean_gap_ns } => 37.0 * pause_ns(*mean_ns, *mean_requests, *mean_gap_ns),
            Self::Table { gaps_ns } => gaps_ns.largest(),
        }
    }
}

/// Mean time between bursts: of the times between arrivals, one in `mean_requests` is such a pause.
fn pause_ns(mean_ns: u64, mean_requests: f64, mean_gap_ns: u64) -> f64 {
    mean_requests * mean_ns as f64 - (mean_requests - 1.0) * mean_gap_ns as f64
}

/// Arrivals, one after the other.
#[derive(Clone, Debug)]
pub(super) struct ArrivalClock {
    arrivals: Arrivals,
    diurnal: Option<Diurnal>,
    random: SplitMix64,
    now_ns: u64,
}

impl ArrivalClock {
    pub fn new(arrivals: Arrivals, diurnal: Option<Diurnal>, seed: u64) -> Self {
        Self { arrivals, diurnal, random: SplitMix64::named(seed, "gaps"), now_ns: 0 }
    }

    /// The time of this arrival; the next one is drawn.
    pub fn next_ns(&mut self) -> u64 {
        let arrival_ns = self.now_ns;
        self.now_ns = arrival_ns.saturating_add(self.gap_ns());
        self.diurnal.map_or(arrival_ns, |diurnal| diurnal.time_ns(arrival_ns))
    }

    fn gap_ns(&mut self) -> u64 {
        let random = &mut self.random;
        match &self.arrivals {
            Arrivals::Fixed { interval_ns } => *interval_ns,
            Arrivals::Uniform { min_ns, max_ns } => min_ns + random.next_below(max_ns - min_ns + 1),
            Arrivals::Normal { mean_ns, deviation_ns } => loop {
                let gap_ns = *mean_ns as f64 + *deviation_ns as f64 * random.next_normal();
                if gap_ns >= 0.0 {
                    break gap_ns.round() as u64;
                }
            },
            Arrivals::Poisson { mean_ns } => (random.next_exponential() * *mean_ns as f64).round() as u64,
            Arrivals::Bursts { mean_ns, mean_requests, mean_gap_ns } => {
                if random.next_unit() * mean_requests < 1.0 {
                    let more_ns = pause_ns(*mean_ns, *mean_requests, *mean_gap_ns) - BURST_GAP_NS as f64;
                    BURST_GAP_NS + (random.next_exponential() * more_ns).round() as u64
                } else {
                    let row = TableRow { weight: 1.0, low: 0.0, mean: *mean_gap_ns as f64, high: BURST_GAP_NS as f64 };
                    (row.at(random.next_unit()).round() as u64).min(BURST_GAP_NS - 1)
                }
            }
            Arrivals::Table { gaps_ns } => gaps_ns.at(random.next_unit()).round() as u64,
        }
    }
}

impl Diurnal {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        check((1..=1 << 62).contains(&self.period_ns), "period_ns", self.period_ns, "1 to 2^62")?;
        check((0.0..1.0).contains(&self.amplitude), "amplitude", self.amplitude, "0 to below 1")
    }

    /// The time by which as much has arrived as by `even_ns` at the mean rate: solves t + A P / 2 pi (1 - cos(2 pi t / P)) = even.
    fn time_ns(&self, even_ns: u64) -> u64 {
        let period = self.period_ns as f64;
        let (whole, even) = (even_ns / self.period_ns * self.period_ns, (even_ns % self.period_ns) as f64);
        let scale = period / std::f64::consts::TAU;
        let arrived = |time: f64| time + self.amplitude * scale * (1.0 - libm::cos(time / scale));
        // The left side rises: halve the interval until a nanosecond is left.
        let (mut low, mut high) = (0.0, period);
        while high - low > 0.5 {
            let middle = (low + high) / 2.0;
            if middle <= low || middle >= high {
                break;
            }
            if arrived(middle) < even { low = middle } else { high = middle }
        }
        whole + high as u64
    }
}
