//! Synthetic workloads: one schema, one TOML file a workload.
//!
//! A profile is either a mixture of streams of independent requests, each with its laws (`streams`, `arrivals`), or the model of a
//! measured trace (`twin`). Both are seeded: a profile gives the same requests on every machine.

mod addresses;
mod arrivals;
mod error;
mod shipped;
mod streams;
mod table;
mod twin;

pub use addresses::Addresses;
pub use arrivals::{Arrivals, Diurnal};
pub use error::ProfileError;
pub use shipped::{SHIPPED, Shipped};
pub use streams::{Ops, Sizes, Stream};
pub use table::{TableRow, ValueRange, ValueTable};
pub(crate) use twin::{DIRTY, End, Ends, MID_PAGE, PLACES, STARTED, TAIL_BYTES};
pub use twin::{DistanceClass, Moves, Phase, StartKind, Twin};

use crate::document;
use crate::error::system_text;
use crate::range::LARGEST;
use error::check;
use flashraid_vocabulary::HostRequest;
use flashraid_vocabulary::names::nearest;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A synthetic workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What it is, in one line.
    #[serde(default)]
    pub about: String,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// How many requests; a twin has its own number, to which this stretches or shrinks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Instead: requests that arrive within this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Bytes of the address space.
    pub space_bytes: u64,
    /// Unit of sizes, addresses and footprints.
    #[serde(default = "default_page_bytes")]
    pub page_bytes: u64,
    /// When requests arrive; not for a twin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// A rate that rises and falls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diurnal: Option<Diurnal>,
    /// What the requests are; several streams are mixed by weight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<Stream>,
    /// Instead: the model of a measured trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<Twin>,
}

fn default_page_bytes() -> u64 {
    4096
}

impl Profile {
    /// The profile in a TOML text; `name` is that of its file, for messages.
    pub fn parse(text: &str, name: &str) -> Result<Self, ProfileError> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            ProfileError::Schema { place: document::place(name, text, start), what: with_nearest(error.message()) }
        })
    }

    /// A shipped profile by its name, or one in a TOML file.
    pub fn load(name: &str) -> Result<Self, ProfileError> {
        if !name.ends_with(".toml") && !Path::new(name).exists() {
            return Self::parse(Shipped::find(name)?.text, name);
        }
        let text =
            std::fs::read_to_string(name).map_err(|error| ProfileError::File { path: name.to_owned(), reason: system_text(&error) })?;
        Self::parse(&text, name)
    }

    /// The profile as TOML text.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("the schema has a form in TOML")
    }

    /// The requests, one after the other, in the order of arrivals.
    pub fn requests(&self) -> Result<Requests, ProfileError> {
        self.check()?;
        let source = match (&self.twin, &self.arrivals) {
            (Some(twin), _) => {
                RequestSource::Twin(Box::new(twin::TwinGenerator::new(twin, self.requests, self.space_bytes, self.page_bytes, self.seed)))
            }
            (None, arrivals) => {
                let arrivals = arrivals.clone().ok_or_else(|| ProfileError::value("arrivals", "nothing", "a law".to_owned()))?;
                let clock = arrivals::ArrivalClock::new(arrivals, self.diurnal, self.seed);
                let streams = streams::Streams::new(&self.streams, self.space_bytes, self.page_bytes, self.seed)?;
                RequestSource::Streams(clock, Box::new(streams))
            }
        };
        let left = self.requests.or(self.twin.as_ref().map(Twin::requests)).unwrap_or(u64::MAX);
        Ok(Requests { source, left, end_ns: self.duration_ns.unwrap_or(u64::MAX) })
    }

    fn check(&self) -> Result<(), ProfileError> {
        let Self { page_bytes, space_bytes, .. } = *self;
        check(self.requests != Some(0), "requests", 0, "at least 1")?;
        check(page_bytes >= 512 && page_bytes.is_power_of_two(), "page_bytes", page_bytes, "a power of two, at least 512")?;
        let is_space = space_bytes.is_multiple_of(page_bytes) && (page_bytes..=LARGEST).contains(&space_bytes);
        check(is_space, "space_bytes", space_bytes, &format!("whole pages of {page_bytes} bytes, from {page_bytes} to 2^63"))?;
        if let Some(twin) = &self.twin {
            check(self.streams.is_empty() && self.arrivals.is_none(), "twin", "beside streams or arrivals", "one or the other")?;
            check(self.diurnal.is_none() && self.duration_ns.is_none(), "twin", "beside diurnal or duration_ns", "requests alone")?;
            let pages = space_bytes / page_bytes;
            check(page_bytes <= 65_536, "page_bytes", page_bytes, "at most 65536 for a twin")?;
            check(u64::from(twin.devices) <= pages, "devices", twin.devices, &format!("at most one for each of {pages} pages"))?;
            return twin.check();
        }
        check(!self.streams.is_empty(), "streams", "nothing", "at least one stream, or a twin")?;
        check(self.requests.is_some() != self.duration_ns.is_some(), "requests", "both or neither", "requests or duration_ns")?;
        self.diurnal.as_ref().map_or(Ok(()), Diurnal::check)?;
        let Some(arrivals) = &self.arrivals else { return Ok(()) };
        arrivals.check()?;
        let end = arrivals.longest_ns() * self.requests.unwrap_or(1) as f64 + self.duration_ns.unwrap_or(0) as f64;
        let value = self.requests.or(self.duration_ns).unwrap_or(0);
        check(
            end < LARGEST as f64,
            "arrivals",
            format!("{value} gaps of up to {:.0} ns", arrivals.longest_ns()),
            "less than 292 years in all",
        )
    }
}

/// The requests of a profile.
#[derive(Clone, Debug)]
pub struct Requests {
    source: RequestSource,
    left: u64,
    end_ns: u64,
}

#[derive(Clone, Debug)]
enum RequestSource {
    Streams(arrivals::ArrivalClock, Box<streams::Streams>),
    Twin(Box<twin::TwinGenerator>),
}

impl Iterator for Requests {
    type Item = HostRequest;

    fn next(&mut self) -> Option<HostRequest> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.source {
            RequestSource::Streams(clock, streams) => {
                let arrival_ns = clock.next_ns();
                (arrival_ns < self.end_ns).then(|| streams.next(arrival_ns))
            }
            RequestSource::Twin(generator) => generator.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).ok();
        (if self.end_ns == u64::MAX { left.unwrap_or(usize::MAX) } else { 0 }, left)
    }
}

/// A message of the parser about an unknown name, with the nearest of those that it lists.
fn with_nearest(message: &str) -> String {
    let message = message.trim_end();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted[..] {
        [unknown, ref known @ ..] if message.starts_with("unknown ") && !known.is_empty() => {
            message.to_owned() + &nearest(unknown, known.iter().copied())
        }
        _ => message.to_owned(),
    }
}
