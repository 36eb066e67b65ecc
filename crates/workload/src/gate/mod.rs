//! What holds for requests of every format: which are kept, in what order, at which address, and which cannot be.

mod found;

use crate::error::{RecordError, TraceError};
use crate::input::must_be_read_again;
use crate::options::{DeviceLayout, TraceOptions};
use crate::trace::{DeviceSummary, Trace};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
pub(crate) use found::Found;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A read or write longer than this cannot come from a host: the kernel counts the bytes of one in 32 bits.
const LARGEST_TRANSFER_BYTES: u64 = u32::MAX as u64;

/// Times and addresses end here: they are signed 64-bit numbers in every system that records traces, and sums of two of
/// ours never overflow.
const LARGEST: u64 = i64::MAX as u64;

/// Requests recorded up to so many places too late are put where they belong; one that is later still stays that many behind.
/// Traces are late by what was in flight (recorded at completion) or buffered (merged from several processors).
const WINDOW: usize = 4096;

/// Delivered requests that are kept, at most, before those behind them move to the front: much more than are pending, so that each moves rarely.
const ROOM: usize = 4 * WINDOW;

/// Requests that a tick of a coarse clock may hold: all of them must be known before they are spread over it.
const MOST_IN_A_TICK: usize = 1 << 22;

/// Address spaces laid side by side begin at multiples of this, so that whole pages stay whole pages.
const BASE_BYTES: u64 = 1 << 20;

/// Where in the file something is, for messages. Methods take a copy, so that nothing keeps a reference to a line's cursor and it
/// can live in registers.
pub(crate) trait Position: Copy {
    /// A fault of the device number.
    fn device_fault(self, what: String, expected: &str) -> Box<RecordError>;
    /// A fault of address or length.
    fn size_fault(self, what: String, expected: &str) -> Box<RecordError>;
    /// A fault of the record as a whole.
    fn line_fault(self, what: String, expected: &str) -> Box<RecordError>;
}

/// Bits of the minor number in a device number that holds both, as in the kernel's `dev_t`.
pub const MINOR_BITS: u32 = 20;

/// How a format's devices are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceNames {
    /// By their number.
    Numbers,
    /// Major and minor number in one.
    MajorMinor,
    /// By words, which get numbers in order of appearance.
    Words,
}

/// What a format says of all its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits {
    /// How devices are called.
    pub names: DeviceNames,
    /// Whether times count from an origin outside the trace, so that the first request's becomes 0.
    pub is_rebased: bool,
    /// Whether the clock is too coarse to order requests by: those of one tick (the time unit) are spread evenly over it.
    pub is_coarse: bool,
}

impl Traits {
    /// Numbered devices, times from the start, a good clock.
    pub const PLAIN: Self = Self { names: DeviceNames::Numbers, is_rebased: false, is_coarse: false };
    /// The same with times from another origin.
    pub const REBASED: Self = Self { is_rebased: true, ..Self::PLAIN };
    /// A coarse clock with an origin of its own.
    pub const COARSE: Self = Self { is_coarse: true, ..Self::REBASED };
}

#[derive(Clone, Debug)]
struct TraceDevice {
    id: u32,
    name: String,
    is_kept: bool,
    /// Where its address space begins in the common one.
    base_bytes: u64,
    /// Highest end of its requests.
    end_bytes: u64,
    requests: u64,
    /// The same two of those delivered, counted only under a limit: more is read than is delivered.
    delivered: DeviceExtent,
}

#[derive(Clone, Copy, Debug, Default)]
struct DeviceExtent {
    end_bytes: u64,
    requests: u64,
}

impl TraceDevice {
    /// Its requests: those that were asked for, if they are limited.
    fn extent(&self, is_limited: bool) -> DeviceExtent {
        let read = DeviceExtent { end_bytes: self.end_bytes, requests: self.requests };
        if is_limited && self.is_kept { self.delivered } else { read }
    }
}

/// See the module.
pub(crate) struct Gate {
    path: PathBuf,
    options: TraceOptions,
    traits: Traits,
    /// Tick of a coarse clock; 0 of a good one.
    tick_ns: u64,
    /// Requests still to be delivered. A limit counts deliveries, as only then is it known which requests come first, and how many
    /// share a tick of a coarse clock.
    left: u64,
    admitted: u64,
    filtered: u64,
    out_of_order: u64,
    steps_back: u64,
    found: Found,
    /// Devices to which requests of others are mapped, and those others.
    mapped: BTreeSet<(u32, u32)>,
    devices: Vec<TraceDevice>,
    device_of: FxHashMap<u32, usize>,
    /// Devices that are known by words: the words by number, and back.
    words: Vec<Vec<u8>>,
    number_of_word: FxHashMap<Vec<u8>, u32>,
    /// The device of the request before: its id and its place in `devices`.
    current: Option<(u32, usize)>,
    /// Whether all bases are known: one device needs none.
    is_laid_out: bool,
    /// Time of the first record if times are rebased, else 0; None before it.
    first_ns: Option<u64>,
    /// Time of the record before, and the latest of all before, as recorded.
    previous_ns: u64,
    latest_ns: u64,
    /// Requests that are admitted and not delivered, from `head` on, in order of time.
    pending: Vec<HostRequest>,
    head: usize,
    arrivals: Arrivals,
}

/// When delivered requests arrive.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    /// Recorded time that becomes 0; `None` before the first delivery.
    origin_ns: Option<u64>,
    /// Time of the first event, for a recorder that counts from it and not from the first request.
    begin_ns: Option<u64>,
    latest_ns: u64,
}

impl Arrivals {
    /// The arrival of a request recorded at this time, never before that of the request delivered before.
    #[inline(always)]
    fn next_ns(&mut self, recorded_ns: u64, is_rebased: bool) -> u64 {
        let origin_ns = *self.origin_ns.get_or_insert_with(|| match is_rebased {
            true => self.begin_ns.map_or(recorded_ns, |begin_ns| recorded_ns.min(begin_ns)),
            false => 0,
        });
        self.latest_ns = self.latest_ns.max(recorded_ns.saturating_sub(origin_ns));
        self.latest_ns
    }
}

impl Gate {
    /// For a trace whose times count in `unit`.
    pub fn new(path: &Path, options: &TraceOptions, traits: Traits, unit: TimeUnit) -> Self {
        Self {
            path: path.to_owned(),
            left: if options.limit == 0 { u64::MAX } else { options.limit },
            options: options.clone(),
            traits,
            tick_ns: if traits.is_coarse { unit.ns() } else { 0 },
            admitted: 0,
            filtered: 0,
            out_of_order: 0,
            steps_back: 0,
            found: Found::default(),
            mapped: BTreeSet::new(),
            devices: Vec::new(),
            device_of: FxHashMap::default(),
            words: Vec::new(),
            number_of_word: FxHashMap::default(),
            current: None,
            is_laid_out: false,
            first_ns: None,
            previous_ns: 0,
            latest_ns: 0,
            pending: Vec::new(),
            head: 0,
            arrivals: Arrivals::default(),
        }
    }

    /// The clock orders requests after all, so that they are not spread over its ticks.
    pub fn has_fine_clock(&mut self) {
        self.tick_ns = 0;
    }

    /// Times that are rebased count from this one, if no request is recorded earlier.
    #[inline]
    pub fn begins_at(&mut self, recorded_ns: u64) {
        self.arrivals.begin_ns = Some(self.arrivals.begin_ns.map_or(recorded_ns, |begin_ns| begin_ns.min(recorded_ns)));
    }

    /// Requests admitted so far.
    pub fn admitted(&self) -> u64 {
        self.admitted
    }

    /// Requests that may still be delivered.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Whether all requests that a limit allows are at hand, so that what follows can only be of use for their order.
    pub fn has_enough(&self) -> bool {
        (self.pending.len() - self.head) as u64 >= self.left
    }

    /// Requests left out by the device filter.
    pub fn filtered(&self) -> u64 {
        self.filtered
    }

    /// Requests with an earlier time than one recorded before them.
    pub fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// How often the clock went back from one request to the next.
    pub fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// Tick of a coarse clock, over which its requests are spread.
    pub fn spread_tick_ns(&self) -> Option<u64> {
        (self.tick_ns > 0).then_some(self.tick_ns)
    }

    /// What was recorded beside requests, and what is missing.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The devices met, in order of appearance.
    pub fn devices(&self) -> impl Iterator<Item = DeviceSummary> + '_ {
        let is_limited = self.options.limit > 0;
        // A device met only beyond the limit is not part of what was asked for.
        let met = self.devices.iter().filter(move |device| !(is_limited && device.is_kept) || device.delivered.requests > 0);
        met.map(move |device| {
            let DeviceExtent { end_bytes, requests } = device.extent(is_limited);
            let TraceDevice { id, name, is_kept, base_bytes, .. } = device;
            DeviceSummary { number: *id, name: name.clone(), requests, is_kept: *is_kept, base_bytes: *base_bytes, end_bytes }
        })
    }

    /// Devices that the filter names and that were not met.
    pub fn absent(&self) -> Vec<String> {
        let is_met = |name: &String| self.devices.iter().any(|device| device.name == *name);
        self.options.device_filter.iter().filter(|name| !is_met(name)).cloned().collect()
    }

    /// The number of a device that is known by a word.
    pub fn number_of(&mut self, word: &[u8]) -> u32 {
        if let Some(number) = self.number_of_word.get(word) {
            return *number;
        }
        let number = self.words.len() as u32;
        self.words.push(word.to_owned());
        self.number_of_word.insert(word.to_owned(), number);
        number
    }

    /// Counts records that are no requests.
    pub fn ignore(&mut self, what: &'static str, count: u64) {
        self.found.ignore(what, count);
    }

    /// Counts requests of kinds that no simulated device serves.
    pub fn leave_out(&mut self, what: &'static str, count: u64) {
        self.found.leave_out(what, count);
    }

    /// Counts events that the recorder says it lost.
    pub fn lose(&mut self, count: u64) {
        self.found.lose(count);
    }

    /// Counts a request that is issued again after the device gave it back, and is left out.
    pub fn count_reissued(&mut self) {
        self.found.reissued += 1;
    }

    /// Notes what the reader takes for granted, as a sentence.
    pub fn assume(&mut self, what: &str) {
        self.found.assume(what);
    }

    /// Notes that requests of the device `upper` are mapped to the device `lower`, so that a recording of both has them twice.
    pub fn map(&mut self, lower: u32, upper: u32) {
        self.mapped.insert((lower, upper));
    }

    /// What the reader takes for granted, a sentence each.
    pub fn assumed(&self) -> Vec<String> {
        let kept = |number: u32| self.devices.iter().find(|device| device.id == number && device.is_kept && device.requests > 0);
        let both = self.mapped.iter().filter_map(|(lower, upper)| Some((kept(*lower)?, kept(*upper)?)));
        let stacked = both.map(|(lower, upper)| {
            format!(
                "requests of device {upper} are recorded again on device {lower}, to which they are mapped, and all are replayed: \
                 choose one of them with --device-filter",
                upper = upper.name,
                lower = lower.name
            )
        });
        self.found.assumed.iter().cloned().chain(stacked).collect()
    }

    /// A record that cannot be read: counted if the user wants that, else the end. Errors of files always are.
    #[cold]
    pub fn refuse(&mut self, error: TraceError) -> Result<(), TraceError> {
        self.found.refuse(error, self.options.on_error)
    }

    /// The last line or record of a file, which has no end and cannot be read: it is left out and counted.
    #[cold]
    pub fn cut_off(&mut self, error: TraceError) -> Result<(), TraceError> {
        self.found.cut_off(error)
    }

    /// What is wrong with such a line, for a file that has no other.
    pub fn take_cut(&mut self) -> Option<TraceError> {
        self.found.cut.take()
    }

    /// Counts the end of an archive that is cut short.
    #[cold]
    pub fn skip(&mut self, message: String) {
        self.found.skip(message);
    }

    /// Takes in a request as recorded.
    #[inline(always)]
    pub fn admit(&mut self, request: &HostRequest, place: impl Position) -> Result<(), Box<RecordError>> {
        check_range(request, place)?;
        let (id, index) = match self.current {
            Some(current) if current.0 == request.source => current,
            _ => self.change_device(request.source, place)?,
        };
        self.current = Some((id, index));
        let first_ns = *self.first_ns.get_or_insert(if self.traits.is_rebased { request.arrival_ns } else { 0 });
        if request.arrival_ns.saturating_sub(first_ns) > LARGEST {
            return Err(place.line_fault(format!("a time of {} ns", request.arrival_ns - first_ns), "at most 292 years"));
        }
        if request.arrival_ns < self.latest_ns {
            self.out_of_order += 1;
            self.steps_back += u64::from(request.arrival_ns < self.previous_ns);
        } else {
            self.latest_ns = request.arrival_ns;
        }
        self.previous_ns = request.arrival_ns;
        let device = &mut self.devices[index];
        device.requests += 1;
        device.end_bytes = device.end_bytes.max(request.offset_bytes + request.size_bytes);
        if !device.is_kept {
            self.filtered += 1;
            return Ok(());
        }
        let offset_bytes = request.offset_bytes + if request.op == HostOp::Flush { 0 } else { device.base_bytes };
        self.admitted += 1;
        let is_late = self.pending.last().is_some_and(|last| request.arrival_ns < last.arrival_ns);
        self.pending.push(HostRequest { offset_bytes, ..*request });
        if is_late {
            self.put_in_order();
        }
        Ok(())
    }

    /// Moves the last pending request to where its time belongs, at most `WINDOW` places.
    #[cold]
    fn put_in_order(&mut self) {
        let last = self.pending.len() - 1;
        let first = self.head.max(last.saturating_sub(WINDOW));
        let mut request = self.pending[last];
        let place = first + self.pending[first..last].partition_point(|other| other.arrival_ns <= request.arrival_ns);
        if place == first && first > self.head {
            let before_ns = self.pending[first - 1].arrival_ns;
            request.arrival_ns = request.arrival_ns.max(before_ns);
        }
        self.pending.copy_within(place..last, place + 1);
        self.pending[place] = request;
    }

    /// Delivers at most `wanted` requests, in order of time, that no later record can come before. At the end of the file, all.
    /// Never more than the limit leaves.
    pub fn deliver(&mut self, batch: &mut Vec<HostRequest>, wanted: usize, is_at_end: bool) -> Result<(), TraceError> {
        let (before, wanted) = (batch.len(), wanted.min(usize::try_from(self.left).unwrap_or(usize::MAX)));
        if self.tick_ns > 0 {
            self.deliver_ticks(batch, wanted, is_at_end)?;
        } else {
            self.deliver_settled(batch, wanted, is_at_end)?;
        }
        if self.options.limit > 0 {
            self.left -= (batch.len() - before) as u64;
            batch[before..].iter().for_each(|request| self.count_delivered(request));
        }
        Ok(())
    }

    /// Those of a good clock.
    fn deliver_settled(&mut self, batch: &mut Vec<HostRequest>, wanted: usize, is_at_end: bool) -> Result<(), TraceError> {
        let held = if is_at_end { 0 } else { WINDOW };
        let count = (self.pending.len() - self.head).saturating_sub(held).min(wanted);
        let Self { arrivals, traits, .. } = self;
        let settled = &self.pending[self.head..self.head + count];
        batch.extend(
            settled.iter().map(|request| HostRequest { arrival_ns: arrivals.next_ns(request.arrival_ns, traits.is_rebased), ..*request }),
        );
        self.drop_delivered(count)
    }

    fn count_delivered(&mut self, request: &HostRequest) {
        let index = match self.current {
            Some((current, index)) if current == request.source => index,
            _ => self.device_of[&request.source],
        };
        let device = &mut self.devices[index];
        let base_bytes = if request.op == HostOp::Flush { 0 } else { device.base_bytes };
        let end_bytes = request.offset_bytes + request.size_bytes - base_bytes;
        let DeviceExtent { end_bytes: known, requests } = device.delivered;
        device.delivered = DeviceExtent { end_bytes: known.max(end_bytes), requests: requests + 1 };
    }

    /// The same for a coarse clock: whole ticks, the requests of each spread over it evenly. More than `wanted` if a tick has more,
    /// but for a limit, which cuts a tick after its requests have been spread.
    fn deliver_ticks(&mut self, batch: &mut Vec<HostRequest>, wanted: usize, is_at_end: bool) -> Result<(), TraceError> {
        let held = if is_at_end { 0 } else { WINDOW };
        let mut count = 0;
        while count < wanted {
            let rest = &self.pending[self.head + count..];
            let Some(first) = rest.first() else { break };
            let of_tick = rest.partition_point(|request| request.arrival_ns == first.arrival_ns);
            if of_tick > MOST_IN_A_TICK {
                let what = format!("more than {MOST_IN_A_TICK} requests with the same time in a trace with a clock of {} ns", self.tick_ns);
                return Err(TraceError::Unusable { path: self.path.clone(), what });
            }
            if of_tick + held > rest.len() {
                break;
            }
            let start_ns = first.arrival_ns;
            let of_tick_wanted = of_tick.min(usize::try_from(self.left).unwrap_or(usize::MAX) - count);
            for index in 0..of_tick_wanted {
                let request = self.pending[self.head + count + index];
                let within_ns = (u128::from(self.tick_ns) * index as u128 / of_tick as u128) as u64;
                let arrival_ns = self.arrivals.next_ns(start_ns.saturating_add(within_ns), self.traits.is_rebased);
                batch.push(HostRequest { arrival_ns, ..request });
            }
            count += of_tick_wanted;
        }
        self.drop_delivered(count)
    }

    fn drop_delivered(&mut self, count: usize) -> Result<(), TraceError> {
        if self.arrivals.latest_ns > LARGEST {
            let what = "times that are more than 292 years apart".to_owned();
            return Err(TraceError::Unusable { path: self.path.clone(), what });
        }
        self.head += count;
        if self.head == self.pending.len() {
            self.pending.clear();
            self.head = 0;
        } else if self.head >= ROOM {
            self.pending.drain(..self.head);
            self.head = 0;
        }
        Ok(())
    }

    /// Looks a device up that is not that of the request before; a new one is named and, if others are kept, gets its place.
    #[inline(never)]
    fn change_device(&mut self, id: u32, place: impl Position) -> Result<(u32, usize), Box<RecordError>> {
        if let Some(index) = self.device_of.get(&id) {
            return Ok((id, *index));
        }
        let name = match self.traits.names {
            DeviceNames::Numbers => id.to_string(),
            DeviceNames::MajorMinor => format!("{}:{}", id >> MINOR_BITS, id & ((1 << MINOR_BITS) - 1)),
            DeviceNames::Words => String::from_utf8_lossy(&self.words[id as usize]).into_owned(),
        };
        let filter = &self.options.device_filter;
        let is_kept = filter.is_empty() || filter.contains(&name);
        if is_kept && self.is_laid_out {
            // Not met when the file was read for its devices.
            return Err(place.device_fault(format!("device {name} is new"), "a file that does not change while it is read"));
        }
        let index = self.devices.len();
        self.devices.push(TraceDevice { id, name, is_kept, base_bytes: 0, end_bytes: 0, requests: 0, delivered: DeviceExtent::default() });
        self.device_of.insert(id, index);
        let has_company = is_kept && self.devices.iter().filter(|device| device.is_kept).count() > 1;
        if has_company && self.options.layout == DeviceLayout::SideBySide {
            self.lay_out().map_err(|error| Box::new(RecordError::Error(error)))?;
        }
        Ok((id, index))
    }

    /// Reads the part of the trace that is asked for once more, for the extent of each device, and lays the address spaces side by
    /// side in order of appearance. The first begins at 0, so what has been delivered stays right.
    #[cold]
    fn lay_out(&mut self) -> Result<(), TraceError> {
        must_be_read_again(
            &self.path,
            "placing its devices one after the other needs a first pass for their sizes (--device-filter chooses one)",
        )?;
        let mut trace = Trace::open(&self.path, &TraceOptions { layout: DeviceLayout::Apart, ..self.options.clone() })?;
        let mut batch = Vec::new();
        while trace.read_batch(&mut batch)? > 0 {
            batch.clear();
        }
        let mut base_bytes = 0_u64;
        for found in trace.gate().devices.iter().filter(|device| device.is_kept) {
            let known = self.devices.iter().position(|device| device.id == found.id);
            let index = known.unwrap_or_else(|| {
                self.devices.push(TraceDevice {
                    base_bytes: 0,
                    end_bytes: 0,
                    requests: 0,
                    delivered: DeviceExtent::default(),
                    ..found.clone()
                });
                self.device_of.insert(found.id, self.devices.len() - 1);
                self.devices.len() - 1
            });
            self.devices[index].base_bytes = base_bytes;
            base_bytes += found.extent(self.options.limit > 0).end_bytes.next_multiple_of(BASE_BYTES);
            if base_bytes > LARGEST {
                let what = "the address spaces of the devices add up to more than 2^63 bytes: choose some with --device-filter".to_owned();
                return Err(TraceError::Unusable { path: self.path.clone(), what });
            }
        }
        self.is_laid_out = true;
        Ok(())
    }
}

/// Lengths and addresses that no host can have.
#[inline(always)]
fn check_range(request: &HostRequest, place: impl Position) -> Result<(), Box<RecordError>> {
    let is_flush = request.op == HostOp::Flush;
    if (request.size_bytes == 0) != is_flush || (is_flush && request.offset_bytes != 0) {
        return Err(if is_flush {
            place.size_fault("a flush with offset or size".to_owned(), "0 for both")
        } else {
            place.size_fault("a size of 0 bytes".to_owned(), "at least 1")
        });
    }
    let is_transfer = matches!(request.op, HostOp::Read | HostOp::Write);
    if is_transfer && request.size_bytes > LARGEST_TRANSFER_BYTES {
        return Err(place.size_fault(format!("a transfer of {} bytes", request.size_bytes), "at most 4294967295"));
    }
    if request.offset_bytes.checked_add(request.size_bytes).is_none_or(|end| end > LARGEST) {
        let what = format!("an address beyond 2^63 bytes ({} + {})", request.offset_bytes, request.size_bytes);
        return Err(place.size_fault(what, "an address that a device can have"));
    }
    Ok(())
}
