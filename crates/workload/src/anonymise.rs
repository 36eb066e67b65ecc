//! A trace to give away: what it does stays, what says where it comes from goes.
//!
//! Reads and writes, and discards and writes of zeroes below 128 MiB, touch units of 64 KiB. Each maximal run of touched units of a
//! device is a *region*. A first pass over the trace finds the regions; they are put in seeded random order, one untouched unit
//! between any two, from address 0 on; a second pass moves each request with its region.
//!
//! What follows: requests that overlap, touch each other or share a unit still do, at the same distance; no others do. So every figure
//! of `TraceInfo` that does not tell an address is the same for each page size that divides a unit. As at least one untouched unit lay
//! between two regions before, too, addresses end at most a unit higher than before.
//!
//! Longer discards and writes of zeroes clear file systems. If they joined what they cover, one region would be left. They are cut to
//! the regions that they cover, one request each.

use crate::convert::Writing;
use crate::error::TraceError;
use crate::formats::Format;
use crate::input::must_be_read_again;
use crate::options::{DeviceLayout, TraceOptions};
use crate::summary::TraceSummary;
use crate::trace::Trace;
use crate::watch::{GoOn, Watch};
use crate::write::refuse_same;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What moves as a whole. At least the page of any flash memory; larger ones hide less.
pub const UNIT_BYTES: u64 = 64 << 10;

/// The shortest discard that is cut. ext4 discards free space by block groups, of 128 MiB each, and new file systems are discarded in
/// pieces of gigabytes.
const SHORTEST_CUT_BYTES: u64 = 128 << 20;

/// Address spaces laid side by side begin at multiples of this, as readers lay them.
const BASE_BYTES: u64 = 1 << 20;

/// What became of a trace that was anonymised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Anonymised {
    /// What was read.
    #[serde(flatten)]
    pub source: TraceSummary,
    /// What of the source is likely to mislead whoever replays what was written.
    pub warnings: Vec<String>,
    /// The format written.
    pub output_format: &'static str,
    /// Requests written.
    pub written: u64,
    /// Regions that were put in random order, of all devices.
    pub regions: u64,
    /// Long discards and writes of zeroes that were cut to regions.
    pub cut: u64,
    /// Number of requests that replaced them.
    pub pieces: u64,
    /// Requests that the format has no words for (`OnError::Skip`).
    pub unwritable: u64,
    /// The first of them.
    pub first_unwritable: Option<String>,
    /// Requests written at a time rounded down, to a multiple of the format's tick.
    pub rounded: u64,
    /// Requests that named a write stream, for which the format has no words.
    pub streams_lost: u64,
    /// This tick.
    pub tick_ns: u64,
    /// Whether devices keep address spaces of their own; else these are laid side by side.
    pub devices_apart: bool,
}

/// Writes a trace to `output` in `format` without what identifies it: times begin at 0, devices are numbered from 0 in order of
/// appearance, regions move (see the module). `reading.layout` is of no concern.
pub fn anonymise(
    input: &Path,
    reading: &TraceOptions,
    seed: u64,
    output: &Path,
    format: &'static Format,
    go_on: &mut GoOn<'_>,
) -> Result<Anonymised, TraceError> {
    must_be_read_again(input, "anonymising reads a trace twice")?;
    refuse_same(input, output)?;
    let mut watch = Watch::new(go_on);
    match anonymised(Trace::open, input, reading, seed, output, format, &mut watch) {
        Err(TraceError::Late { .. }) => anonymised(Trace::open_sorted, input, reading, seed, output, format, &mut watch),
        ended => ended,
    }
}

/// How a trace is opened.
type Open = fn(&Path, &TraceOptions) -> Result<Trace, TraceError>;

fn anonymised(
    open: Open,
    input: &Path,
    reading: &TraceOptions,
    seed: u64,
    output: &Path,
    format: &'static Format,
    watch: &mut Watch<'_>,
) -> Result<Anonymised, TraceError> {
    let options = TraceOptions { layout: DeviceLayout::Apart, ..reading.clone() };
    let mut devices = Devices::default();
    let first = open(input, &options)?;
    let names_streams = first.names_streams();
    each(first, watch, 0.0, |request| {
        let device = devices.of(request.source);
        if ties(request) {
            devices.found[device].add(units(request));
        }
        Ok(())
    })?;
    let devices_apart = format.keeps_devices();
    let mut places = devices.found.iter().map(Extents::regions).collect::<Vec<_>>();
    shuffle(&mut places, &mut SplitMix64::new(seed), devices_apart);
    let mut writing = Writing::create(output, format, names_streams, reading.on_error)?;
    let (mut first_ns, mut cut, mut pieces) = (None, 0, 0);
    let source = each(open(input, &options)?, watch, 0.5, |request| {
        let device = devices.of(request.source);
        let arrival_ns = request.arrival_ns - *first_ns.get_or_insert(request.arrival_ns);
        let changed = || TraceError::Unusable { path: input.to_owned(), what: "changed while it was being read".to_owned() };
        let places = places.get_mut(device).ok_or_else(changed)?;
        let mut write = |offset_bytes, size_bytes| {
            writing.write(&HostRequest { arrival_ns, offset_bytes, size_bytes, source: device as u32, ..*request })
        };
        if request.op == HostOp::Flush {
            write(0, 0)?;
        } else if ties(request) {
            let region = places.holding(request).ok_or_else(changed)?;
            write(region.moved(request.offset_bytes), request.size_bytes)?;
        } else {
            cut += 1;
            for region in places.covered(request) {
                let (start, end) = region.part_of(request);
                write(region.moved(start), end - start)?;
                pieces += 1;
            }
        }
        Ok(())
    })?;
    watch.look_last(source.requests)?;
    let Writing { writer, written, unwritable, first_unwritable, rounded, tick_ns, streams_lost, .. } = writing;
    writer.finish()?;
    let regions = places.iter().map(|places| places.regions.len() as u64).sum();
    Ok(Anonymised {
        warnings: source.warnings(true),
        source,
        output_format: format.name,
        written,
        regions,
        cut,
        pieces,
        unwritable,
        first_unwritable,
        rounded,
        streams_lost,
        tick_ns,
        devices_apart,
    })
}

/// Calls `work` with each request. This pass is the half of all work that begins at the share `done`.
fn each(
    mut trace: Trace,
    watch: &mut Watch<'_>,
    done: f64,
    mut work: impl FnMut(&HostRequest) -> Result<(), TraceError>,
) -> Result<TraceSummary, TraceError> {
    let mut batch = Vec::new();
    let mut count = 0;
    watch.gather(&mut trace)?;
    while trace.read_batch(&mut batch)? > 0 {
        count += batch.len() as u64;
        batch.drain(..).try_for_each(|request| work(&request))?;
        watch.look(count, || Some(done + trace.share_read() / 2.0))?;
    }
    trace.finish()
}

/// Whether what a request covers stays together.
pub(crate) fn ties(request: &HostRequest) -> bool {
    match request.op {
        HostOp::Read | HostOp::Write => true,
        HostOp::Trim | HostOp::WriteZeroes => request.size_bytes < SHORTEST_CUT_BYTES,
        HostOp::Flush => false,
    }
}

/// First unit of a request, and the one behind its last.
fn units(request: &HostRequest) -> (u64, u64) {
    (request.offset_bytes / UNIT_BYTES, (request.offset_bytes + request.size_bytes).div_ceil(UNIT_BYTES))
}

/// The devices in order of appearance, and what is touched of each.
#[derive(Default)]
struct Devices {
    numbers: BTreeMap<u32, usize>,
    last: Option<(u32, usize)>,
    found: Vec<Extents>,
}

impl Devices {
    /// The new number of a device.
    fn of(&mut self, source: u32) -> usize {
        match self.last {
            Some((last, number)) if last == source => number,
            _ => {
                let new = self.numbers.len();
                let number = *self.numbers.entry(source).or_insert(new);
                self.found.resize_with(self.numbers.len(), Extents::default);
                self.last = Some((source, number));
                number
            }
        }
    }
}

/// Maximal runs of units, by their first: disjoint, and no two touch.
#[derive(Default)]
struct Extents {
    ends: BTreeMap<u64, u64>,
    /// The run that was added to last.
    last: (u64, u64),
}

impl Extents {
    fn add(&mut self, (mut start, mut end): (u64, u64)) {
        if self.last.0 <= start && end <= self.last.1 {
            return;
        }
        while let Some((other_start, other_end)) = self.ends.range(..=end).next_back().map(|(start, end)| (*start, *end)) {
            if other_end < start {
                break;
            }
            self.ends.remove(&other_start);
            (start, end) = (start.min(other_start), end.max(other_end));
        }
        self.ends.insert(start, end);
        self.last = (start, end);
    }

    fn regions(&self) -> Places {
        let region = |(start, end): (&u64, &u64)| Region {
            start_bytes: start * UNIT_BYTES,
            end_bytes: end * UNIT_BYTES,
            place_bytes: start * UNIT_BYTES,
        };
        Places { regions: self.ends.iter().map(region).collect(), last: 0 }
    }
}

/// A maximal run of touched units, and where it goes.
#[derive(Clone, Copy)]
struct Region {
    start_bytes: u64,
    end_bytes: u64,
    place_bytes: u64,
}

impl Region {
    fn holds(&self, request: &HostRequest) -> bool {
        self.part_of(request) == (request.offset_bytes, request.offset_bytes + request.size_bytes)
    }

    /// Start and end of the part of a request that lies here.
    fn part_of(&self, request: &HostRequest) -> (u64, u64) {
        let end = request.offset_bytes + request.size_bytes;
        (request.offset_bytes.max(self.start_bytes), end.min(self.end_bytes))
    }

    /// Where an address of this region goes.
    fn moved(&self, address: u64) -> u64 {
        self.place_bytes + (address - self.start_bytes)
    }
}

/// The regions of a device, by address.
struct Places {
    regions: Vec<Region>,
    /// The one asked for last.
    last: usize,
}

impl Places {
    /// The region that a request lies in, wholly.
    fn holding(&mut self, request: &HostRequest) -> Option<&Region> {
        if !self.regions.get(self.last)?.holds(request) {
            self.last = self.regions.partition_point(|region| region.end_bytes <= request.offset_bytes);
        }
        self.regions.get(self.last).filter(|region| region.holds(request))
    }

    /// The regions that a request covers in part or whole.
    fn covered(&self, request: &HostRequest) -> &[Region] {
        let end = request.offset_bytes + request.size_bytes;
        let first = self.regions.partition_point(|region| region.end_bytes <= request.offset_bytes);
        let behind = self.regions.partition_point(|region| region.start_bytes < end);
        &self.regions[first..behind]
    }
}

/// Gives each region its place: from 0 on in each device's address space, or one device behind the other.
fn shuffle(devices: &mut [Places], random: &mut SplitMix64, devices_apart: bool) {
    let mut base_bytes = 0;
    for Places { regions, .. } in devices {
        let mut order: Vec<usize> = (0..regions.len()).collect();
        // Fisher and Yates; the remainder's bias, below 2^-32, shows in no order.
        for left in (1..order.len()).rev() {
            order.swap(left, (random.next_u64() % (left as u64 + 1)) as usize);
        }
        let mut place_bytes = base_bytes;
        for index in order {
            let region = &mut regions[index];
            region.place_bytes = place_bytes;
            place_bytes += region.end_bytes - region.start_bytes + UNIT_BYTES;
        }
        if !devices_apart {
            base_bytes = place_bytes.next_multiple_of(BASE_BYTES);
        }
    }
}
