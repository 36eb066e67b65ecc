//! Streams of independent requests, mixed.
//!
//! The order of draws is part of the contract: with the same profile the same requests come out in every version and on every machine.
//! Per request: the stream (only if there are several; from the sequence "streams"), then from the stream's own sequence the kind (only
//! if there are several), the size (only if it varies), the address. Gaps come from the sequence "gaps", so they change nothing else.

use super::addresses::{Addresses, Walk};
use super::error::{ProfileError, check};
use super::table::ValueTable;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use serde::{Deserialize, Serialize};

/// A read or write longer than this cannot come from a host: the kernel counts the bytes of one in 32 bits.
const LARGEST_BYTES: u64 = u32::MAX as u64;

/// Requests of one nature, in one part of the space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// How many of the requests are of this stream, against the weights of the others.
    #[serde(default = "one")]
    pub weight: f64,
    /// Kinds of requests.
    #[serde(default)]
    pub ops: Ops,
    /// Sizes of all requests but flushes.
    #[serde(default)]
    pub sizes: Sizes,
    /// Sizes of reads, if they are different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_sizes: Option<Sizes>,
    /// Addresses.
    #[serde(default)]
    pub addresses: Addresses,
    /// Where the stream's part of the space begins.
    #[serde(default)]
    pub offset_bytes: u64,
    /// How long it is; without it, all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_bytes: Option<u64>,
    /// Addresses are multiples of this; without it, of `page_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_bytes: Option<u64>,
    /// The write stream of the device that its requests name (a placement handle of NVMe); 0 for none.
    #[serde(default, skip_serializing_if = "names_none")]
    pub write_stream: u16,
}

fn names_none(write_stream: &u16) -> bool {
    *write_stream == 0
}

fn one() -> f64 {
    1.0
}

/// Weights of the kinds of requests, each with at most nine decimals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ops {
    /// Reads.
    #[serde(default)]
    pub read: f64,
    /// Writes.
    #[serde(default)]
    pub write: f64,
    /// Discards.
    #[serde(default)]
    pub trim: f64,
    /// Writes of zeroes.
    #[serde(default)]
    pub write_zeroes: f64,
    /// Flushes.
    #[serde(default)]
    pub flush: f64,
}

impl Default for Ops {
    /// Writes alone.
    fn default() -> Self {
        Self { read: 0.0, write: 1.0, trim: 0.0, write_zeroes: 0.0, flush: 0.0 }
    }
}

/// The law of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "snake_case", deny_unknown_fields)]
pub enum Sizes {
    /// Every whole number of pages from `min_pages` to `max_pages` is as likely.
    Uniform {
        /// Pages of the smallest request.
        min_pages: u64,
        /// Pages of the largest.
        max_pages: u64,
    },
    /// Always the same.
    Fixed {
        /// The size.
        bytes: u64,
    },
    /// Drawn from a table; between the ends of a row, whole pages of 4096 or sectors of 512 bytes if both ends are.
    Table {
        /// `[weight, bytes]` or `[weight, low, mean, high]`.
        bytes: ValueTable,
    },
}

impl Default for Sizes {
    fn default() -> Self {
        Self::Uniform { min_pages: 1, max_pages: 1 }
    }
}

impl Sizes {
    fn check(&self, page_bytes: u64) -> Result<(), ProfileError> {
        let largest_pages = LARGEST_BYTES / page_bytes;
        match self {
            Self::Uniform { min_pages, max_pages } => {
                check(*min_pages > 0, "min_pages", min_pages, "at least 1")?;
                check(max_pages >= min_pages, "max_pages", max_pages, &format!("at least min_pages, {min_pages}"))?;
                check(*max_pages <= largest_pages, "max_pages", max_pages, &format!("at most {largest_pages}, below 4 GiB"))
            }
            Self::Fixed { bytes } => check((1..=LARGEST_BYTES).contains(bytes), "bytes", bytes, "1 to below 4 GiB"),
            Self::Table { bytes } => {
                bytes.check("bytes", 1.0)?;
                check(bytes.largest() <= LARGEST_BYTES as f64, "bytes", bytes.largest(), "below 4 GiB")
            }
        }
    }

    fn largest_bytes(&self, page_bytes: u64) -> u64 {
        match self {
            Self::Uniform { max_pages, .. } => max_pages * page_bytes,
            Self::Fixed { bytes } => *bytes,
            Self::Table { bytes } => bytes.largest().ceil() as u64,
        }
    }

    #[inline]
    fn next(&self, page_bytes: u64, random: &mut SplitMix64) -> u64 {
        match self {
            Self::Uniform { min_pages, max_pages } if min_pages == max_pages => min_pages * page_bytes,
            Self::Uniform { min_pages, max_pages } => (min_pages + random.next_below(max_pages - min_pages + 1)) * page_bytes,
            Self::Fixed { bytes } => *bytes,
            Self::Table { bytes } => bytes.size(random.next_unit()),
        }
    }
}

/// Weights as whole numbers over the lowest power of ten: of 0.7 and 0.3, 7 and 3 of 10.
pub(super) fn whole_weights(weights: &[f64], key: &str) -> Result<Vec<u64>, ProfileError> {
    let texts: Vec<String> = weights.iter().map(f64::to_string).collect();
    let decimals = texts.iter().map(|text| text.split_once('.').map_or(0, |(_, decimals)| decimals.len())).max().unwrap_or(0);
    let whole = |(weight, text): (&f64, &String)| {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let number: Result<u64, _> = format!("{whole}{part:0<decimals$}").parse();
        let is_weight = (0.0..=1e9).contains(weight) && decimals <= 9;
        number
            .ok()
            .filter(|_| is_weight)
            .ok_or_else(|| ProfileError::value(key, weight, "0 to 1,000,000,000, with at most 9 decimals".to_owned()))
    };
    let whole: Vec<u64> = weights.iter().zip(&texts).map(whole).collect::<Result<_, _>>()?;
    check(whole.iter().any(|weight| *weight > 0), key, "0", "a weight above 0 for at least one")?;
    Ok(whole)
}

/// One of several things by weight. Nothing is drawn if there is no choice.
#[derive(Clone, Debug)]
struct Choice<T> {
    things: Vec<(u64, T)>,
    total: u64,
}

impl<T: Copy> Choice<T> {
    fn new(things: impl IntoIterator<Item = (u64, T)>) -> Self {
        let things: Vec<(u64, T)> = things.into_iter().filter(|(weight, _)| *weight > 0).collect();
        Self { total: things.iter().map(|(weight, _)| weight).sum(), things }
    }

    #[inline]
    fn next(&self, random: &mut SplitMix64) -> T {
        if self.things.len() == 1 {
            return self.things[0].1;
        }
        let mut drawn = random.next_below(self.total);
        for (weight, thing) in &self.things[..self.things.len() - 1] {
            if drawn < *weight {
                return *thing;
            }
            drawn -= weight;
        }
        self.things[self.things.len() - 1].1
    }
}

/// What all streams make together, without times.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    choice: Choice<usize>,
    random: SplitMix64,
    streams: Vec<StreamState>,
    page_bytes: u64,
}

#[derive(Clone, Debug)]
struct StreamState {
    ops: Choice<HostOp>,
    sizes: Sizes,
    read_sizes: Option<Sizes>,
    walk: Walk,
    offset_bytes: u64,
    align_bytes: u64,
    write_stream: u16,
    random: SplitMix64,
}

impl Streams {
    pub fn new(streams: &[Stream], space_bytes: u64, page_bytes: u64, seed: u64) -> Result<Self, ProfileError> {
        let weights = whole_weights(&streams.iter().map(|stream| stream.weight).collect::<Vec<_>>(), "weight")?;
        // The first stream's sequence is that of the seed itself.
        let mut seeds = SplitMix64::named(seed, "seeds");
        let state =
            |(index, stream): (usize, &Stream)| stream.state(space_bytes, page_bytes, if index == 0 { seed } else { seeds.next_u64() });
        let states = streams.iter().enumerate().map(state).collect::<Result<_, _>>()?;
        Ok(Self {
            choice: Choice::new(weights.into_iter().zip(0..)),
            random: SplitMix64::named(seed, "streams"),
            streams: states,
            page_bytes,
        })
    }

    #[inline]
    pub fn next(&mut self, arrival_ns: u64) -> HostRequest {
        let index = self.choice.next(&mut self.random);
        let stream = &mut self.streams[index];
        let op = stream.ops.next(&mut stream.random);
        if op == HostOp::Flush {
            return HostRequest { arrival_ns, offset_bytes: 0, size_bytes: 0, op, stream: 0, source: 0 };
        }
        let sizes = stream.read_sizes.as_ref().filter(|_| op == HostOp::Read).unwrap_or(&stream.sizes);
        let size_bytes = sizes.next(self.page_bytes, &mut stream.random);
        let position = stream.walk.next(size_bytes.div_ceil(stream.align_bytes), &mut stream.random);
        let offset_bytes = stream.offset_bytes + position * stream.align_bytes;
        HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: stream.write_stream, source: 0 }
    }
}

impl Stream {
    fn state(&self, space_bytes: u64, page_bytes: u64, seed: u64) -> Result<StreamState, ProfileError> {
        let Ops { read, write, trim, write_zeroes, flush } = self.ops;
        let weights = whole_weights(&[read, write, trim, write_zeroes, flush], "ops")?;
        let ops = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::WriteZeroes, HostOp::Flush];
        let align_bytes = self.align_bytes.unwrap_or(page_bytes);
        check(align_bytes > 0, "align_bytes", align_bytes, "at least 1")?;
        self.sizes.check(page_bytes)?;
        self.read_sizes.as_ref().map_or(Ok(()), |sizes| sizes.check(page_bytes))?;
        let read_bytes = self.read_sizes.as_ref().map_or(0, |sizes| sizes.largest_bytes(page_bytes));
        let largest_bytes = self.sizes.largest_bytes(page_bytes).max(read_bytes).next_multiple_of(align_bytes);
        check(self.offset_bytes < space_bytes, "offset_bytes", self.offset_bytes, &format!("below space_bytes, {space_bytes}"))?;
        let rest_bytes = space_bytes - self.offset_bytes;
        let length_bytes = self.length_bytes.unwrap_or(rest_bytes);
        let is_long = (largest_bytes..=rest_bytes).contains(&length_bytes);
        if let Some(length_bytes) = self.length_bytes {
            check(is_long, "length_bytes", length_bytes, &format!("from the largest request, {largest_bytes}, to {rest_bytes}"))?;
        } else {
            let allowed = format!("whole pages of {page_bytes} bytes, from {largest_bytes} to 2^63");
            check(is_long, "space_bytes", space_bytes, &allowed)?;
        }
        let positions = (length_bytes - largest_bytes) / align_bytes + 1;
        self.addresses.check(positions)?;
        Ok(StreamState {
            ops: Choice::new(weights.into_iter().zip(ops)),
            sizes: self.sizes.clone(),
            read_sizes: self.read_sizes.clone(),
            walk: Walk::new(&self.addresses, positions, align_bytes, largest_bytes / align_bytes, seed),
            offset_bytes: self.offset_bytes,
            align_bytes,
            write_stream: self.write_stream,
            random: SplitMix64::new(seed),
        })
    }
}
