//! What a trace would ask of a device, looked at before it is run: most wrong results of simulators come from a trace read in the
//! wrong unit, and that shows in rates, sizes and addresses that no device has.

use crate::config::{Config, Fit, Lun, Transfer};
use crate::error::RunError;
use crate::listing;
use flashraid_ftl::CellOperation;
use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{OnError, TimeUnit, can_be_read_again, in_order};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::path::Path;

/// Requests looked at: enough for a rate, read in a few hundredths of a second.
const SAMPLE: u64 = 100_000;

/// No device serves, and hardly a host asks, more requests a second; over so many requests that a burst does not count.
const MOST_PER_SECOND: f64 = 1e6;
/// A trace worth replaying has more requests a second.
const LEAST_PER_SECOND: f64 = 0.1;
/// Fewer requests say nothing about a rate.
const FEWEST_FOR_A_RATE: u64 = 100;
/// A device is never asked for so many times what it can do.
const MOST_LOAD: f64 = 10.0;
/// Hosts address whole sectors of this many bytes.
const SECTOR_BYTES: u64 = 512;
/// Transfers that look wrong among all from which on they are no exception.
const MOST_SHARE: f64 = 0.9;

/// What the first requests of a trace (all of a short one) are, and what they would ask of a device.
#[derive(Clone, Debug, Serialize)]
pub struct Sanity {
    /// Format of the trace.
    pub format: &'static str,
    /// What its times were taken to count.
    pub time_unit: &'static str,
    /// Requests looked at.
    pub requests: u64,
    /// Whether these are all requests asked for.
    pub is_all: bool,
    /// From the first arrival to the last, at the replay's speed.
    pub span_ns: u64,
    /// Requests in each second of it; None if all arrive at once.
    pub requests_per_second: Option<f64>,
    /// Mean size of reads and writes.
    pub mean_bytes: Option<f64>,
    /// Writes among reads and writes.
    pub write_share: Option<f64>,
    /// Distinct pages read or written, in bytes.
    pub footprint_bytes: u64,
    /// Highest end of a request.
    pub max_address_bytes: u64,
    /// The logical space of the device.
    pub space_bytes: u64,
    /// Requests that end beyond it.
    pub beyond_space: u64,
    /// Reads and writes that are not of whole pages.
    pub unaligned: u64,
    /// Devices in the trace, laid side by side.
    pub devices: u64,
    /// Busy share of buses or LUNs that host pages alone would cause, without redundancy and GC. None in a closed loop.
    pub expected_load: Option<f64>,
    /// What is almost certainly not meant in the trace, and settings that are likely to mislead, one line each.
    pub warnings: Vec<String>,
}

/// Looks at the beginning of a trace with the eyes of a configured device. None if the trace can be read only once, as a pipe.
pub fn sanity(path: &Path, config: Config) -> Result<Option<Sanity>, RunError> {
    if !can_be_read_again(path) {
        return Ok(None);
    }
    let mut options = config.run.trace_options()?;
    let wanted = if options.limit == 0 { SAMPLE } else { options.limit.min(SAMPLE) };
    let is_limited = options.limit > SAMPLE || options.limit == 0;
    options.limit = wanted;
    let page_bytes = u64::from(config.device.unit_bytes());
    let detail = listing::config(config)?;
    let (trace, sample) = in_order(path, &options, RunError::is_late, |mut trace| {
        let mut sample = TraceSample::new(page_bytes);
        let mut batch = Vec::new();
        while trace.read_batch(&mut batch)? > 0 {
            batch.drain(..).for_each(|request| sample.add(&request, detail.space_bytes));
        }
        Ok((trace, sample))
    })?;
    let (format, unit) = (trace.format().name, trace.unit());
    let config = detail.config;
    let span_ns = ((sample.last_ns - sample.first_ns.unwrap_or(0)) as f64 / config.run.speed) as u64;
    let transfers = sample.reads + sample.writes;
    let mut sanity = Sanity {
        format,
        time_unit: unit.name(),
        requests: sample.requests,
        is_all: !(is_limited && sample.requests == wanted),
        span_ns,
        requests_per_second: (span_ns > 0).then(|| sample.requests as f64 * 1e9 / span_ns as f64),
        mean_bytes: (transfers > 0).then(|| sample.bytes as f64 / transfers as f64),
        write_share: (transfers > 0).then(|| sample.writes as f64 / transfers as f64),
        footprint_bytes: sample.words.values().map(|word| u64::from(word.count_ones())).sum::<u64>() * sample.page_bytes,
        max_address_bytes: sample.max_address_bytes,
        space_bytes: detail.space_bytes,
        beyond_space: sample.beyond_space,
        unaligned: sample.unaligned,
        devices: trace.devices(),
        expected_load: (span_ns > 0 && config.run.queue_depth == 0).then(|| sample.busy_ns(&config) / span_ns as f64),
        warnings: Vec::new(),
    };
    sanity.warnings = warnings(&sanity, &sample, unit, &config)?;
    sanity.warnings.extend(config.warnings()?);
    Ok(Some(sanity))
}

struct TraceSample {
    page_bytes: u64,
    requests: u64,
    reads: u64,
    writes: u64,
    bytes: u64,
    pages_read: u64,
    pages_written: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    max_address_bytes: u64,
    beyond_space: u64,
    unaligned: u64,
    /// Transfers that are not of whole sectors, and those that are of whole sectors of sectors.
    unsectored: u64,
    twice_sectored: u64,
    /// Pages touched, 64 a word. Only summed up: the order of a hash map does not show.
    words: FxHashMap<u64, u64>,
}

impl TraceSample {
    fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            requests: 0,
            reads: 0,
            writes: 0,
            bytes: 0,
            pages_read: 0,
            pages_written: 0,
            first_ns: None,
            last_ns: 0,
            max_address_bytes: 0,
            beyond_space: 0,
            unaligned: 0,
            unsectored: 0,
            twice_sectored: 0,
            words: FxHashMap::default(),
        }
    }

    fn add(&mut self, request: &HostRequest, space_bytes: u64) {
        let HostRequest { arrival_ns, offset_bytes, size_bytes, op, .. } = *request;
        let end = offset_bytes + size_bytes;
        self.requests += 1;
        self.first_ns.get_or_insert(arrival_ns);
        self.last_ns = arrival_ns;
        self.max_address_bytes = self.max_address_bytes.max(end);
        self.beyond_space += u64::from(end > space_bytes);
        if !matches!(op, HostOp::Read | HostOp::Write) {
            return;
        }
        let (first, last) = (offset_bytes / self.page_bytes, (end - 1) / self.page_bytes);
        let is_read = op == HostOp::Read;
        self.reads += u64::from(is_read);
        self.writes += u64::from(!is_read);
        *if is_read { &mut self.pages_read } else { &mut self.pages_written } += last - first + 1;
        self.bytes += size_bytes;
        self.unaligned += u64::from(!(offset_bytes | size_bytes).is_multiple_of(self.page_bytes));
        self.unsectored += u64::from(!(offset_bytes | size_bytes).is_multiple_of(SECTOR_BYTES));
        self.twice_sectored += u64::from((offset_bytes | size_bytes).is_multiple_of(SECTOR_BYTES * SECTOR_BYTES));
        for word in first / 64..=last / 64 {
            let (from, to) = (first.max(word * 64) % 64, last.min(word * 64 + 63) % 64);
            *self.words.entry(word).or_default() |= u64::MAX >> (63 - (to - from)) << from;
        }
    }

    /// Time that host pages occupy each bus, or each LUN if that is more, spread evenly; programs over as many as have power.
    fn busy_ns(&self, config: &Config) -> f64 {
        let device = &config.device;
        let pages = (self.pages_read + self.pages_written) as f64;
        let commands_ns = self.pages_read * device.read_command_ns + self.pages_written * device.program_command_ns;
        let bytes = if device.transfer == Transfer::Page { pages * f64::from(device.page_bytes) } else { self.bytes as f64 };
        let transfers_ns = bytes * device.bus_ps_per_byte as f64 / 1000.0;
        let [read_ns, program_ns] = [CellOperation::Read, CellOperation::Program].map(|operation| device.cells(0).mean_ns(operation));
        let programs = self.pages_written as f64 / f64::from(device.units_per_program());
        let programs_ns = programs * program_ns as f64;
        let units_ns = self.pages_read as f64 * read_ns as f64 + programs_ns;
        let chips = device.channels * device.chips_per_channel;
        let units = if device.lun == Lun::Chip { chips } else { chips * device.dies_per_chip };
        let powered = if device.active_dies == 0 { f64::INFINITY } else { f64::from(device.active_dies) / f64::from(device.slice) };
        let cells_ns = (units_ns / f64::from(units)).max(programs_ns / powered.min(units.into()));
        let buses = f64::from(device.channels) / f64::from(config.slices_per_bus());
        ((commands_ns as f64 + transfers_ns) / buses).max(cells_ns)
    }
}

fn warnings(found: &Sanity, sample: &TraceSample, unit: TimeUnit, config: &Config) -> Result<Vec<String>, RunError> {
    let mut warnings = Vec::new();
    let is_open_loop = config.run.queue_depth == 0;
    let rate = found.requests_per_second.unwrap_or(f64::INFINITY);
    if is_open_loop && found.requests >= FEWEST_FOR_A_RATE {
        let load = found.expected_load.unwrap_or(f64::INFINITY);
        let is_plausible = |rate: f64, load: f64| (LEAST_PER_SECOND..=MOST_PER_SECOND).contains(&rate) && load <= MOST_LOAD;
        if !is_plausible(rate, load) {
            let fits = |other: &TimeUnit| {
                let factor = unit.ns() as f64 / other.ns() as f64;
                *other != unit && is_plausible(rate * factor, load * factor)
            };
            let others: Vec<&str> =
                TimeUnit::ALL.iter().map(|(_, other)| other).filter(|other| fits(other)).map(|other| other.name()).collect();
            let what = if rate.is_infinite() {
                per_second(rate)
            } else if rate > MOST_PER_SECOND || load > MOST_LOAD {
                format!("{}, {} times what the device can serve", per_second(rate), rounded(load))
            } else {
                per_second(rate)
            };
            let advice = match others[..] {
                // No speed tells apart what comes at once.
                [] if rate.is_infinite() => "use --queue-depth for a closed loop".to_owned(),
                [] => "use --speed or --queue-depth to change the rate".to_owned(),
                _ => format!("if its times are not in {}, try --time-unit {}", unit.name(), others.join(" or ")),
            };
            warnings.push(format!("the trace has {what}: {advice}"));
        }
    }
    let transfers = sample.reads + sample.writes;
    let is_most = |part: u64| transfers >= FEWEST_FOR_A_RATE && part as f64 >= MOST_SHARE * transfers as f64;
    if is_most(sample.unsectored) {
        warnings.push(format!(
            "{} of {transfers} reads and writes are not multiples of {SECTOR_BYTES}-byte sectors: if the trace counts sectors, choose a format \
             that does (--format)",
            sample.unsectored
        ));
    }
    if is_most(sample.twice_sectored) {
        warnings.push(format!(
            "{} of {transfers} reads and writes are multiples of 256 KiB: if the trace counts bytes, choose a format that does \
             (--format)",
            sample.twice_sectored
        ));
    }
    if found.beyond_space > 0 && config.run.fit != Fit::Compact {
        let part = if found.is_all { "" } else { "first " };
        warnings.push(format!(
            "{} of the {part}{} requests end beyond the logical space of {} bytes (highest address {}): {}",
            found.beyond_space,
            found.requests,
            found.space_bytes,
            found.max_address_bytes,
            match (config.run.fit, config.run.trace_options()?.on_error) {
                (Fit::Wrap, _) => "they are wrapped, so that different addresses coincide (--fit compact avoids this)",
                (_, OnError::Skip) =>
                    "they are left out; to replay them, use --fit compact, --fit wrap, --device-filter or a larger device",
                (_, OnError::Stop) => "use --fit compact, --fit wrap, --device-filter or a larger device",
            }
        ));
    }
    Ok(warnings)
}

fn per_second(rate: f64) -> String {
    if rate.is_finite() { format!("{} requests a second", rounded(rate)) } else { "all requests at once".to_owned() }
}

/// Three significant digits.
fn rounded(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2e}").parse::<f64>().map_or_else(|_| value.to_string(), |short| short.to_string())
    }
}
