//! The simplest synthetic workload: uniformly random addresses, a share of reads, a range of sizes, fixed or Poisson arrivals.

use crate::profile::{self, Addresses, Ops, Profile, ProfileError, Requests, Sizes, Stream};
use serde::{Deserialize, Serialize};

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Every `interval_ns`.
    #[default]
    Fixed,
    /// After exponentially distributed gaps of mean `interval_ns`, each rounded to whole nanoseconds.
    Poisson,
}

/// Its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synth {
    /// How many requests.
    pub requests: u64,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// Bytes of the address space, whole pages.
    pub space_bytes: u64,
    /// Unit of addresses and sizes.
    #[serde(default = "Synth::default_page_bytes")]
    pub page_bytes: u64,
    /// Share of reads, 0 to 1, taken as the decimal number that it is written as.
    #[serde(default)]
    pub read_share: f64,
    /// Pages of the smallest request.
    #[serde(default = "Synth::default_pages")]
    pub min_pages: u64,
    /// Pages of the largest request; between the two, every number is as likely.
    #[serde(default = "Synth::default_pages")]
    pub max_pages: u64,
    /// Time from one arrival to the next, or its mean. The first request arrives at 0.
    pub interval_ns: u64,
    /// When requests arrive.
    #[serde(default)]
    pub arrivals: Arrivals,
}

impl Synth {
    fn default_page_bytes() -> u64 {
        4096
    }

    fn default_pages() -> u64 {
        1
    }

    /// The profile with these parameters.
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        let text = self.read_share.to_string();
        let decimals = text.split_once('.').map_or("", |(_, decimals)| decimals);
        if !(0.0..=1.0).contains(&self.read_share) || decimals.len() > 9 {
            let allowed = "0 to 1, with at most 9 decimals".to_owned();
            return Err(ProfileError::Value { key: "read_share".to_owned(), value: text, allowed });
        }
        // What is left of 1, in the same decimals: 1 - 0.7 is not 0.3 in binary.
        let unit = 10_u64.pow(decimals.len() as u32);
        let read = (self.read_share * unit as f64).round() as u64;
        Ok(Profile {
            about: String::new(),
            seed: self.seed,
            requests: Some(self.requests),
            duration_ns: None,
            space_bytes: self.space_bytes,
            page_bytes: self.page_bytes,
            arrivals: Some(match self.arrivals {
                Arrivals::Fixed => profile::Arrivals::Fixed { interval_ns: self.interval_ns },
                Arrivals::Poisson => profile::Arrivals::Poisson { mean_ns: self.interval_ns },
            }),
            diurnal: None,
            streams: vec![Stream {
                weight: 1.0,
                ops: Ops { read: read as f64, write: (unit - read) as f64, trim: 0.0, write_zeroes: 0.0, flush: 0.0 },
                sizes: Sizes::Uniform { min_pages: self.min_pages, max_pages: self.max_pages },
                read_sizes: None,
                addresses: Addresses::Uniform,
                offset_bytes: 0,
                length_bytes: None,
                align_bytes: None,
                write_stream: 0,
            }],
            twin: None,
        })
    }

    /// Its requests, one after the other.
    pub fn requests(&self) -> Result<Requests, ProfileError> {
        self.profile()?.requests()
    }
}
