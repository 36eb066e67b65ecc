//! Which addresses requests go to.

use super::error::{ProfileError, check};
use crate::random::Permutation;
use flashraid_vocabulary::SplitMix64;
use serde::{Deserialize, Serialize};

/// The law of the addresses of one stream, within its part of the space.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "snake_case", deny_unknown_fields)]
pub enum Addresses {
    /// Every address is as likely.
    #[default]
    Uniform,
    /// The address of rank k has a probability in proportion to k^-theta.
    Zipf {
        /// 0 is uniform, 1 the classical law; at most 5.
        theta: f64,
        /// Whether ranks are spread over the space; without it, lower addresses are used more.
        #[serde(default = "yes")]
        scrambled: bool,
    },
    /// A share of the accesses goes to the beginning of the space; uniform in both parts.
    HotCold {
        /// Share of the space that is hot.
        hot_space: f64,
        /// Share of the accesses that go there.
        hot_accesses: f64,
    },
    /// Each request begins where the one before ended; after runs of a mean length it jumps to a random address.
    Sequential {
        /// Mean number of requests in a run, geometrically distributed; 0 for no jumps but back to the beginning at the end.
        #[serde(default)]
        mean_run_requests: u64,
    },
    /// Each request begins a fixed distance behind the beginning of the one before, and starts over at the end.
    Strided {
        /// That distance.
        stride_bytes: u64,
    },
    /// A share of the requests goes to places never used before, the others to places used before: the place of age rank k, from
    /// the oldest, with a probability in proportion to k^-theta. Places are as long as the largest request.
    Growing {
        /// Share of requests that go to new places (until there are none).
        new_share: f64,
        /// 0 for uniform.
        #[serde(default)]
        theta: f64,
    },
}

fn yes() -> bool {
    true
}

impl Addresses {
    pub(super) fn check(&self, positions: u64) -> Result<(), ProfileError> {
        let share = |key, value: f64| check((0.0..=1.0).contains(&value), key, value, "0 to 1");
        let theta = |value: f64| check((0.0..=5.0).contains(&value), "theta", value, "0 to 5");
        match *self {
            Self::Uniform | Self::Sequential { .. } => Ok(()),
            Self::Zipf { theta: value, .. } => theta(value),
            Self::HotCold { hot_space, hot_accesses } => {
                share("hot_accesses", hot_accesses)?;
                let hot = (hot_space * positions as f64).round();
                let is_possible = (0.0..=1.0).contains(&hot_space) && hot >= 1.0 && hot < positions as f64;
                check(is_possible, "hot_space", hot_space, &format!("0 to 1, so that each part has one of the {positions} addresses"))
            }
            Self::Strided { stride_bytes } => check(stride_bytes > 0, "stride_bytes", stride_bytes, "at least 1"),
            Self::Growing { new_share, theta: value } => share("new_share", new_share).and_then(|()| theta(value)),
        }
    }
}

/// Addresses, one after the other, as numbers of aligned positions.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    law: Law,
    /// Positions at which the largest request can begin.
    positions: u64,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform,
    Zipf { zipf: Zipf, order: Option<Permutation> },
    HotCold { hot: u64, hot_accesses: f64 },
    Sequential { mean_run_requests: u64, next: u64 },
    Strided { stride: u64, next: u64 },
    Growing { new_share: f64, theta: f64, used: u64, places: Permutation, place: u64, count: u64 },
}

impl Walk {
    /// Of `positions` addresses, `align_bytes` apart; `largest` is the length of the largest request in these units.
    pub fn new(addresses: &Addresses, positions: u64, align_bytes: u64, largest: u64, seed: u64) -> Self {
        let mut random = SplitMix64::named(seed, "order");
        let law = match *addresses {
            Addresses::Uniform => Law::Uniform,
            Addresses::Zipf { theta, scrambled } => {
                Law::Zipf { zipf: Zipf::new(positions, theta), order: scrambled.then(|| Permutation::new(positions, &mut random)) }
            }
            Addresses::HotCold { hot_space, hot_accesses } => {
                Law::HotCold { hot: (hot_space * positions as f64).round() as u64, hot_accesses }
            }
            Addresses::Sequential { mean_run_requests } => Law::Sequential { mean_run_requests, next: 0 },
            Addresses::Strided { stride_bytes } => Law::Strided { stride: stride_bytes.div_ceil(align_bytes), next: 0 },
            Addresses::Growing { new_share, theta } => {
                let count = positions.div_ceil(largest);
                Law::Growing { new_share, theta, used: 0, places: Permutation::new(count, &mut random), place: largest, count }
            }
        };
        Self { law, positions }
    }

    /// Where a request of this length begins.
    #[inline]
    pub fn next(&mut self, length: u64, random: &mut SplitMix64) -> u64 {
        let positions = self.positions;
        match &mut self.law {
            Law::Uniform => random.next_below(positions),
            Law::Zipf { zipf, order } => {
                let rank = zipf.rank(random);
                order.as_ref().map_or(rank, |order| order.at(rank))
            }
            Law::HotCold { hot, hot_accesses } => {
                if random.next_unit() < *hot_accesses {
                    random.next_below(*hot)
                } else {
                    *hot + random.next_below(positions - *hot)
                }
            }
            Law::Sequential { mean_run_requests, next } => {
                if *mean_run_requests > 0 && random.next_below(*mean_run_requests) == 0 {
                    *next = random.next_below(positions);
                }
                let start = if *next < positions { *next } else { 0 };
                *next = start + length;
                start
            }
            Law::Strided { stride, next } => {
                let start = if *next < positions { *next } else { 0 };
                *next = start.saturating_add(*stride);
                start
            }
            Law::Growing { new_share, theta, used, places, place, count } => {
                let is_new = *used < *count && (random.next_unit() < *new_share || *used == 0);
                let rank = if is_new {
                    *used += 1;
                    *used - 1
                } else if *theta == 0.0 {
                    random.next_below(*used)
                } else {
                    Zipf::new(*used, *theta).rank(random)
                };
                places.at(rank) * *place
            }
        }
    }
}

/// Ranks from 0 with probabilities in proportion to (rank + 1)^-theta, in constant time: rejection-inversion (Hörmann and Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 1996).
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    count: f64,
    theta: f64,
    first: f64,
    last: f64,
    skip: f64,
}

impl Zipf {
    pub fn new(count: u64, theta: f64) -> Self {
        let count = count as f64;
        let mut zipf = Self { count, theta, first: 0.0, last: 0.0, skip: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(count + 0.5);
        zipf.skip = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// Integral of the density from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let power = (1.0 - self.theta) * log;
        log * if power.abs() > 1e-8 { libm::expm1(power) / power } else { 1.0 + power / 2.0 }
    }

    fn inverse(&self, y: f64) -> f64 {
        let power = (y * (1.0 - self.theta)).max(-1.0);
        libm::exp(y * if power.abs() > 1e-8 { libm::log1p(power) / power } else { 1.0 - power / 2.0 })
    }

    pub fn rank(&self, random: &mut SplitMix64) -> u64 {
        loop {
            let y = self.last + random.next_unit() * (self.first - self.last);
            let x = self.inverse(y);
            let k = (x + 0.5).floor().clamp(1.0, self.count);
            if k - x <= self.skip || y >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }
}
