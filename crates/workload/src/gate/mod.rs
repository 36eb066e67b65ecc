//! What holds for requests of every format: which are kept, in what order, at which address, and which cannot be.

mod found;
mod order;
mod requeue;

use crate::error::{RecordError, TraceError};
use crate::options::{DeviceLayout, TraceOptions};
use crate::position::Position;
use crate::range::{LARGEST, check_range};
use crate::summary::DeviceSummary;
use crate::traits::{DeviceNames, MINOR_BITS, Traits};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
pub(crate) use found::{Found, HEADERS_AGAIN, parts};
use order::{Order, WINDOW};
use requeue::Reissue;
pub(crate) use requeue::Requeue;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Address spaces laid side by side begin at multiples of this, so that whole pages stay whole pages.
const BASE_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug)]
struct TraceDevice {
    id: u32,
    name: String,
    is_kept: bool,
    /// The first of its requests in order of time: its time as recorded, and its number in the trace.
    first: (u64, u64),
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

/// Reads the part of a trace that is asked for from the start, and returns the gate that it went through. Given to a gate, which knows nothing of
/// what opens traces.
pub(crate) type ReadAgain = fn(&Path, &TraceOptions) -> Result<Gate, TraceError>;

/// See the module.
pub(crate) struct Gate {
    path: PathBuf,
    read_again: ReadAgain,
    options: TraceOptions,
    traits: Traits,
    /// Requests still to be delivered. A limit counts deliveries, as only then is it known which requests come first, and how many
    /// share a tick of a coarse clock.
    left: u64,
    admitted: u64,
    /// Those of them that are no requests but say that a device gave one back.
    requeues: u64,
    filtered: u64,
    out_of_order: u64,
    steps_back: u64,
    /// The most by which a request is late.
    late_ns: u64,
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
    order: Order,
}

impl Gate {
    /// For a trace whose times count in `unit`; `is_sorted` says whether all is read and sorted before the first request is delivered.
    pub fn new(path: &Path, options: &TraceOptions, traits: Traits, unit: TimeUnit, is_sorted: bool, read_again: ReadAgain) -> Self {
        Self {
            path: path.to_owned(),
            read_again,
            left: if options.limit == 0 { u64::MAX } else { options.limit },
            options: options.clone(),
            traits,
            admitted: 0,
            requeues: 0,
            filtered: 0,
            out_of_order: 0,
            steps_back: 0,
            late_ns: 0,
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
            order: Order::new(path, if traits.is_coarse { unit.ns() } else { 0 }, traits.is_rebased, is_sorted),
        }
    }

    /// The clock orders requests after all, so that they are not spread over its ticks.
    pub fn has_fine_clock(&mut self) {
        self.order.has_fine_clock();
    }

    /// The recorder writes requests in another order than that of their times, contrary to what the format is known for.
    pub fn is_disordered(&mut self) {
        self.traits.is_disordered = true;
    }

    /// Times that are rebased count from this one, if no request is recorded earlier.
    #[inline]
    pub fn begins_at(&mut self, recorded_ns: u64) {
        self.order.begins_at(recorded_ns);
    }

    /// Requests admitted so far, and requeues.
    pub fn admitted(&self) -> u64 {
        self.admitted
    }

    /// Requests that may still be delivered.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Requests admitted so far that will be delivered whatever follows: a requeue may show that one counts once with another.
    fn certain(&self) -> u64 {
        self.admitted.saturating_sub(2 * self.requeues)
    }

    /// Whether all requests that a limit allows are at hand, so that what follows can only be of use for their order.
    pub fn has_enough(&self) -> bool {
        self.options.limit > 0 && self.certain() >= self.options.limit
    }

    /// Whether requests are being read of which none can be delivered before all are.
    pub fn is_gathering(&self) -> bool {
        self.order.is_gathering()
    }

    /// Whether all requests are sorted before the first is delivered.
    pub fn is_sorted(&self) -> bool {
        self.order.is_sorted()
    }

    /// How many of at most `wanted` requests are to be read next; 0 if what a limit asks for is at hand: so many requests and those after
    /// them that may have been recorded late. Of a coarse clock, all that may share the tick of the last.
    pub fn next_wanted(&mut self, wanted: usize) -> usize {
        if self.options.limit == 0 {
            return wanted;
        }
        if self.order.tick_ns() > 0 {
            return if self.order.has_whole_ticks(self.options.limit) { 0 } else { wanted };
        }
        let missing = self.options.limit.saturating_add(WINDOW as u64).saturating_sub(self.certain());
        usize::try_from(missing).map_or(wanted, |missing| missing.min(wanted))
    }

    /// Requests left out by the device filter, as recorded: one that was issued again counts again.
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

    /// The most by which a request is late, if none is by the nature of the format.
    pub fn late_ns(&self) -> u64 {
        if self.traits.is_disordered { 0 } else { self.late_ns }
    }

    /// Tick of a coarse clock, over which its requests are spread.
    pub fn spread_tick_ns(&self) -> Option<u64> {
        Some(self.order.tick_ns()).filter(|tick_ns| *tick_ns > 0)
    }

    /// What was recorded beside requests, and what is missing.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The devices met, in the order of their first requests.
    pub fn devices(&self) -> impl Iterator<Item = DeviceSummary> + '_ {
        let is_limited = self.options.limit > 0;
        // A device met only beyond the limit is not part of what was asked for.
        let met =
            self.in_order_of_time().into_iter().filter(move |device| !(is_limited && device.is_kept) || device.delivered.requests > 0);
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

    /// Counts a header that comes again, at this line.
    pub fn begin_again(&mut self, line: u64) {
        self.found.begin_again(line, self.admitted);
    }

    /// Counts requests of kinds that no simulated device serves.
    pub fn leave_out(&mut self, what: &'static str, count: u64) {
        self.found.leave_out(what, count);
    }

    /// Counts events that the recorder says it lost.
    pub fn lose(&mut self, count: u64) {
        self.found.lose(count);
    }

    /// Counts what of a write is not replayed, though the write is (`parts`).
    #[inline(always)]
    pub fn drop_parts(&mut self, parts: u16) {
        if parts != 0 {
            self.found.drop_parts(parts);
        }
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
            _ => self.change_device(request.source, request.arrival_ns, place)?,
        };
        self.current = Some((id, index));
        let first_ns = *self.first_ns.get_or_insert(if self.traits.is_rebased { request.arrival_ns } else { 0 });
        if request.arrival_ns.saturating_sub(first_ns) > LARGEST {
            return Err(place.line_fault(format!("a time of {} ns", request.arrival_ns - first_ns), "at most 292 years"));
        }
        let is_late = request.arrival_ns < self.latest_ns;
        if is_late {
            self.count_late(index, request.arrival_ns);
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
        let request = HostRequest { offset_bytes, ..*request };
        if is_late || !self.order.takes_next() {
            self.order.put(request).map_err(|error| Box::new(RecordError::Error(error)))?;
        } else {
            self.order.push(request);
        }
        Ok(())
    }

    /// Takes in that a device gave a request back. Only those of devices that are kept are matched.
    #[cold]
    pub fn requeue(&mut self, requeue: &Requeue) -> Result<(), Box<RecordError>> {
        self.ignore(requeue.name, 1);
        let HostRequest { source, op, .. } = requeue.request;
        if !self.is_kept(&self.name_of(source)) {
            return Ok(());
        }
        let device = self.device_of.get(&source).filter(|_| op != HostOp::Flush);
        let base_bytes = device.map_or(0, |index| self.devices[*index].base_bytes);
        self.admitted += 1;
        self.requeues += 1;
        self.order.put_mark(requeue.mark(base_bytes)).map_err(|error| Box::new(RecordError::Error(error)))
    }

    /// Counts a request with an earlier time than one before it.
    #[cold]
    fn count_late(&mut self, device: usize, time_ns: u64) {
        self.out_of_order += 1;
        self.steps_back += u64::from(time_ns < self.previous_ns);
        self.late_ns = self.late_ns.max(self.latest_ns - time_ns);
        let place = (time_ns, self.admitted + self.filtered);
        let first = &mut self.devices[device].first;
        *first = place.min(*first);
    }

    /// Delivers at most `wanted` requests, in order of time, that no later record can come before. At the end of the file, all.
    /// Never more than the limit leaves.
    pub fn deliver(&mut self, batch: &mut Vec<HostRequest>, wanted: usize, is_at_end: bool) -> Result<(), TraceError> {
        // Of a recording with requeues the last one that a limit allows waits until as much has been read as where it is sorted from the start.
        let may_be_last = self.options.limit > 0 && self.requeues > 0 && !is_at_end;
        let most = self.left.saturating_sub(u64::from(may_be_last));
        let (before, wanted) = (batch.len(), wanted.min(usize::try_from(most).unwrap_or(usize::MAX)));
        if is_at_end && self.is_gathering() {
            self.order.sort()?;
            self.lay_out_sorted()?;
        }
        self.order.deliver(batch, wanted, usize::try_from(self.left).unwrap_or(usize::MAX), is_at_end)?;
        self.count_reissued();
        if self.order.is_sorted() && self.is_laid_out {
            let Self { devices, device_of, .. } = self;
            let moved = batch[before..].iter_mut().filter(|request| request.op != HostOp::Flush);
            moved.for_each(|request| request.offset_bytes += devices[device_of[&request.source]].base_bytes);
        }
        if self.options.limit > 0 {
            self.left -= (batch.len() - before) as u64;
            batch[before..].iter().for_each(|request| self.count_delivered(request));
        }
        Ok(())
    }

    /// Counts what was issued again among the requests delivered last: it has been counted as a request like any other.
    fn count_reissued(&mut self) {
        for Reissue { source, dropped } in self.order.take_reissued() {
            self.found.reissued += 1;
            self.found.take_parts_back(dropped);
            self.devices[self.device_of[&source]].requests -= 1;
        }
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

    /// Looks a device up that is not that of the request before; a new one is named and, if others are kept, gets its place.
    #[inline(never)]
    fn change_device(&mut self, id: u32, time_ns: u64, place: impl Position) -> Result<(u32, usize), Box<RecordError>> {
        if let Some(index) = self.device_of.get(&id) {
            return Ok((id, *index));
        }
        let name = self.name_of(id);
        let is_kept = self.is_kept(&name);
        if is_kept && self.is_laid_out {
            // Not met when the file was read for its devices.
            return Err(place.device_fault(format!("device {name} is new"), "a file that does not change while it is read"));
        }
        let index = self.devices.len();
        self.devices.push(TraceDevice {
            id,
            name,
            is_kept,
            first: (time_ns, self.admitted + self.filtered),
            base_bytes: 0,
            end_bytes: 0,
            requests: 0,
            delivered: DeviceExtent::default(),
        });
        self.device_of.insert(id, index);
        let has_company = is_kept && self.devices.iter().filter(|device| device.is_kept).count() > 1;
        if has_company && self.options.layout == DeviceLayout::SideBySide && !self.is_gathering() {
            self.lay_out().map_err(|error| Box::new(RecordError::Error(error)))?;
        }
        Ok((id, index))
    }

    /// What a device is called.
    fn name_of(&self, id: u32) -> String {
        match self.traits.names {
            DeviceNames::Numbers => id.to_string(),
            DeviceNames::MajorMinor => format!("{}:{}", id >> MINOR_BITS, id & ((1 << MINOR_BITS) - 1)),
            DeviceNames::Words => String::from_utf8_lossy(&self.words[id as usize]).into_owned(),
        }
    }

    /// Whether the filter keeps requests of this device.
    fn is_kept(&self, name: &String) -> bool {
        self.options.device_filter.is_empty() || self.options.device_filter.contains(name)
    }

    /// Reads the part of the trace that is asked for once more, for the extent of each device, and lays the address spaces side by
    /// side. That of the device whose request is delivered first begins at 0, so what has been delivered stays right.
    #[cold]
    fn lay_out(&mut self) -> Result<(), TraceError> {
        let whole = (self.read_again)(&self.path, &TraceOptions { layout: DeviceLayout::Apart, ..self.options.clone() })?;
        let is_limited = self.options.limit > 0;
        let found: Vec<_> = whole.in_order_of_time().into_iter().filter(|device| device.is_kept).collect();
        let extents: Vec<_> = found.iter().map(|device| (device.id, device.extent(is_limited).end_bytes)).collect();
        for new in found {
            if !self.device_of.contains_key(&new.id) {
                self.device_of.insert(new.id, self.devices.len());
                self.devices.push(TraceDevice {
                    base_bytes: 0,
                    end_bytes: 0,
                    requests: 0,
                    delivered: DeviceExtent::default(),
                    ..new.clone()
                });
            }
        }
        self.place(&extents)?;
        // What is pending is of the device that was the only one so far; requeues may be of others.
        let Self { order, devices, device_of, .. } = self;
        order.move_by(|source| device_of.get(&source).map_or(0, |index| devices[*index].base_bytes));
        Ok(())
    }

    /// Lays the address spaces side by side once all requests have been read and sorted.
    fn lay_out_sorted(&mut self) -> Result<(), TraceError> {
        if self.options.layout == DeviceLayout::Apart || self.devices.iter().filter(|device| device.is_kept).count() < 2 {
            return Ok(());
        }
        let mut end_bytes: FxHashMap<u32, u64> = self.devices.iter().map(|device| (device.id, device.end_bytes)).collect();
        if self.options.limit > 0 {
            end_bytes.clear();
            self.order.each_sorted(self.options.limit, |request| {
                let known = end_bytes.entry(request.source).or_default();
                *known = (*known).max(request.offset_bytes + request.size_bytes);
            })?;
        }
        let kept = self.in_order_of_time().into_iter().filter(|device| device.is_kept);
        let extents: Vec<_> = kept.filter_map(|device| Some((device.id, *end_bytes.get(&device.id)?))).collect();
        self.place(&extents)
    }

    /// Places devices of these extents one after the other.
    fn place(&mut self, extents: &[(u32, u64)]) -> Result<(), TraceError> {
        let mut base_bytes = 0_u64;
        for (id, end_bytes) in extents {
            self.devices[self.device_of[id]].base_bytes = base_bytes;
            base_bytes += end_bytes.next_multiple_of(BASE_BYTES);
            if base_bytes > LARGEST {
                let what = "the address spaces of the devices add up to more than 2^63 bytes: choose some with --device-filter".to_owned();
                return Err(TraceError::Unusable { path: self.path.clone(), what });
            }
        }
        self.is_laid_out = true;
        Ok(())
    }

    /// The devices in the order of their first requests.
    fn in_order_of_time(&self) -> Vec<&TraceDevice> {
        let mut devices: Vec<_> = self.devices.iter().collect();
        devices.sort_by_key(|device| device.first);
        devices
    }
}
