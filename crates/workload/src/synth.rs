//! Seeded synthetic workloads: uniformly random addresses, a share of reads, a range of sizes, fixed or Poisson arrivals.
//!
//! The order of draws is part of the contract: with the same parameters the same requests come out in every version and on
//! every machine. Per request, from one splitmix64 sequence: the kind (only if there are both), the number of pages (only
//! if it varies), the first page. Gaps of Poisson arrivals come from a second sequence, so that they change nothing else.

use crate::random::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use serde::{Deserialize, Serialize};

/// What distinguishes the sequence of gaps from that of requests.
const GAP_STREAM: u64 = 0x6761_7073;

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

/// Parameters of a synthetic workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synth {
    /// How many requests.
    pub requests: u64,
    /// Seed of both sequences.
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

/// Parameters that make no workload: key, value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {allowed}")]
pub struct SynthError {
    /// The parameter.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub allowed: String,
}

impl Synth {
    fn default_page_bytes() -> u64 {
        4096
    }

    fn default_pages() -> u64 {
        1
    }

    /// The requests, one after the other.
    pub fn requests(&self) -> Result<SynthRequests, SynthError> {
        self.check()?;
        let (reads_of, reads_out_of) = decimal_ratio(self.read_share);
        Ok(SynthRequests {
            kinds: if self.read_share == 0.0 {
                Kinds::Only(HostOp::Write)
            } else if self.read_share == 1.0 {
                Kinds::Only(HostOp::Read)
            } else {
                Kinds::Mixed { reads_of, reads_out_of }
            },
            starts: self.space_bytes / self.page_bytes - (self.max_pages - 1),
            random: SplitMix64::new(self.seed),
            gaps: SplitMix64::new(SplitMix64::new(self.seed ^ GAP_STREAM).next_u64()),
            left: self.requests,
            arrival_ns: 0,
            synth: self.clone(),
        })
    }

    fn check(&self) -> Result<(), SynthError> {
        let check = |holds: bool, key, value: String, allowed: &str| match holds {
            true => Ok(()),
            false => Err(SynthError { key, value, allowed: format!("allowed is {allowed}") }),
        };
        let page_bytes = self.page_bytes;
        check(self.requests > 0, "requests", self.requests.to_string(), "at least 1")?;
        check(page_bytes >= 512 && page_bytes.is_power_of_two(), "page_bytes", page_bytes.to_string(), "a power of two, at least 512")?;
        let is_share = (0.0..=1.0).contains(&self.read_share) && decimals(self.read_share).len() <= 18;
        check(is_share, "read_share", self.read_share.to_string(), "0 to 1, with at most 18 decimals")?;
        check(self.min_pages > 0, "min_pages", self.min_pages.to_string(), "at least 1")?;
        check(
            self.max_pages >= self.min_pages,
            "max_pages",
            self.max_pages.to_string(),
            &format!("at least min_pages, {}", self.min_pages),
        )?;
        let largest_pages = u64::from(u32::MAX) / page_bytes;
        check(self.max_pages <= largest_pages, "max_pages", self.max_pages.to_string(), &format!("at most {largest_pages}, below 4 GiB"))?;
        let smallest = self.max_pages * page_bytes;
        let is_space = self.space_bytes.is_multiple_of(page_bytes) && (smallest..=i64::MAX as u64).contains(&self.space_bytes);
        check(
            is_space,
            "space_bytes",
            self.space_bytes.to_string(),
            &format!("whole pages of {page_bytes} bytes, from {smallest} to 2^63"),
        )?;
        // 37 is -ln(2^-53) rounded up: no exponential gap is longer than so many means.
        let is_time =
            self.interval_ns.checked_mul(37).and_then(|gap| gap.checked_mul(self.requests)).is_some_and(|end| end <= i64::MAX as u64);
        check(is_time, "interval_ns", self.interval_ns.to_string(), "less than 292 years in all, 37 means a gap")
    }
}

/// The digits behind the decimal point of the shortest decimal number that is this one.
fn decimals(share: f64) -> String {
    let text = share.to_string();
    text.split_once('.').map_or(String::new(), |(_, decimals)| decimals.to_owned())
}

/// A number below 1 as N / D with the lowest power of ten as D: 0.7 is 7 / 10.
fn decimal_ratio(share: f64) -> (u64, u64) {
    let digits = decimals(share);
    (digits.parse().unwrap_or(0), 10_u64.pow(digits.len() as u32))
}

#[derive(Clone, Debug)]
enum Kinds {
    Only(HostOp),
    Mixed { reads_of: u64, reads_out_of: u64 },
}

/// The requests of a synthetic workload, generated one by one.
#[derive(Clone, Debug)]
pub struct SynthRequests {
    synth: Synth,
    kinds: Kinds,
    /// Pages at which the largest request can start.
    starts: u64,
    random: SplitMix64,
    gaps: SplitMix64,
    left: u64,
    /// Arrival of the next request.
    arrival_ns: u64,
}

impl SynthRequests {
    fn gap_ns(&mut self) -> u64 {
        match self.synth.arrivals {
            Arrivals::Fixed => self.synth.interval_ns,
            // libm's logarithm is the same on every machine, unlike the system's.
            Arrivals::Poisson => (-libm::log(self.gaps.next_positive_unit()) * self.synth.interval_ns as f64).round() as u64,
        }
    }
}

impl Iterator for SynthRequests {
    type Item = HostRequest;

    fn next(&mut self) -> Option<HostRequest> {
        self.left = self.left.checked_sub(1)?;
        let op = match self.kinds {
            Kinds::Only(op) => op,
            Kinds::Mixed { reads_of, reads_out_of } if self.random.next_u64() % reads_out_of < reads_of => HostOp::Read,
            Kinds::Mixed { .. } => HostOp::Write,
        };
        let Synth { min_pages, max_pages, page_bytes, .. } = self.synth;
        let pages = if min_pages == max_pages { min_pages } else { min_pages + self.random.next_u64() % (max_pages - min_pages + 1) };
        let offset_bytes = self.random.next_u64() % self.starts * page_bytes;
        let arrival_ns = self.arrival_ns;
        self.arrival_ns += self.gap_ns();
        Some(HostRequest { arrival_ns, offset_bytes, size_bytes: pages * page_bytes, op, stream: 0, source: 0 })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}
