//! Requests between the gate and whoever reads the trace: put in order of time, and given their arrivals.
//!
//! A trace that can be read again is read as recorded. Some thousand requests are held back, among which one that was recorded late is
//! put in its place. One that belongs before what has been delivered is an error (`TraceError::Late`), after which the trace is read again and
//! sorted (`in_order`). A trace that can be read only once is sorted from the start.

use super::requeue::{Reissue, Requeued};
use crate::error::{TraceError, system_text};
use crate::range::LARGEST;
use crate::sort::{Sorted, Sorter};
use flashraid_vocabulary::{HostOp, HostRequest};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Requests that are held back: traces are late by what was in flight (recorded at completion) or buffered (merged from several
/// processors).
pub(super) const WINDOW: usize = 4096;

/// Delivered requests that are kept, at most, before those behind them move to the front: much more than are pending, so that each moves rarely.
const ROOM: usize = 4 * WINDOW;

/// Requests that a tick of a coarse clock may hold: all of them must be known before they are spread over it.
const MOST_IN_A_TICK: usize = 1 << 22;

/// How requests come into order.
enum Sorting {
    /// Those that are pending.
    Window,
    /// All, of which some are still to come.
    Gathering(Sorter),
    /// All have been sorted.
    Sorted(Sorted),
}

/// See the module.
pub(super) struct Order {
    path: PathBuf,
    /// Tick of a coarse clock; 0 of a good one.
    tick_ns: u64,
    is_rebased: bool,
    /// Requests that are admitted and not delivered, from `head` on, in order of time.
    pending: Vec<HostRequest>,
    head: usize,
    sorting: Sorting,
    /// Whether requests go to a sorter.
    is_gathering: bool,
    /// Whether there are marks of requeues among requests, and those that have been passed.
    has_marks: bool,
    requeued: Requeued,
    /// Whether neither is so.
    takes_next: bool,
    /// Of a coarse clock, the requests gathered of each tick.
    of_tick: BTreeMap<u64, u64>,
    /// The recorded time of the request delivered last.
    delivered_ns: Option<u64>,
    arrivals: Arrivals,
}

/// When delivered requests arrive.
#[derive(Default)]
struct Arrivals {
    /// Recorded time that becomes 0; `None` before the first delivery.
    origin_ns: Option<u64>,
    /// Time of the first event, for a recorder that counts from it and not from the first request.
    begin_ns: Option<u64>,
    latest_ns: u64,
}

impl Arrivals {
    /// The arrival of a request recorded at this time.
    #[inline(always)]
    fn next_ns(&mut self, recorded_ns: u64, is_rebased: bool) -> u64 {
        let origin_ns = *self.origin_ns.get_or_insert_with(|| match is_rebased {
            true => self.begin_ns.map_or(recorded_ns, |begin_ns| recorded_ns.min(begin_ns)),
            false => 0,
        });
        self.latest_ns = recorded_ns - origin_ns;
        self.latest_ns
    }
}

impl Order {
    pub fn new(path: &Path, tick_ns: u64, is_rebased: bool, is_sorted: bool) -> Self {
        Self {
            path: path.to_owned(),
            tick_ns,
            is_rebased,
            pending: Vec::new(),
            head: 0,
            sorting: if is_sorted { Sorting::Gathering(Sorter::new()) } else { Sorting::Window },
            is_gathering: is_sorted,
            has_marks: false,
            requeued: Requeued::default(),
            takes_next: !is_sorted,
            of_tick: BTreeMap::new(),
            delivered_ns: None,
            arrivals: Arrivals::default(),
        }
    }

    /// Times that are rebased count from this one, if no request is recorded earlier.
    pub fn begins_at(&mut self, recorded_ns: u64) {
        self.arrivals.begin_ns = Some(self.arrivals.begin_ns.map_or(recorded_ns, |begin_ns| begin_ns.min(recorded_ns)));
    }

    /// The clock is good, contrary to what the format is known for; said before the first request.
    pub fn has_fine_clock(&mut self) {
        self.tick_ns = 0;
    }

    /// Tick of a coarse clock; 0 of a good one.
    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Whether all requests are sorted before the first is delivered.
    pub fn is_sorted(&self) -> bool {
        !matches!(self.sorting, Sorting::Window)
    }

    /// Whether requests are still to come before the first is delivered.
    #[inline(always)]
    pub fn is_gathering(&self) -> bool {
        self.is_gathering
    }

    /// Whether the ticks of so many requests that are gathered are whole, but for what comes later than it may: as many follow as would be held back.
    pub fn has_whole_ticks(&self, count: u64) -> bool {
        let all: u64 = self.of_tick.values().sum();
        let up_to_tick = self.of_tick.values().scan(0, |sum, of_tick| {
            *sum += of_tick;
            Some(*sum)
        });
        up_to_tick.into_iter().find(|sum| *sum >= count).is_some_and(|sum| all - sum >= WINDOW as u64)
    }

    /// Requests that are pending, and marks.
    fn pending(&self) -> &[HostRequest] {
        &self.pending[self.head..]
    }

    /// The address spaces of devices begin elsewhere: each so many bytes further on.
    pub fn move_by(&mut self, base_bytes: impl Fn(u32) -> u64) {
        self.requeued.move_by(&base_bytes);
        for request in self.pending[self.head..].iter_mut().filter(|request| request.op != HostOp::Flush) {
            request.offset_bytes = request.offset_bytes.saturating_add(base_bytes(request.source));
        }
    }

    /// Whether a request that is not earlier than those before may be pushed: nothing is sorted, and no mark can be later.
    #[inline(always)]
    pub fn takes_next(&self) -> bool {
        self.takes_next
    }

    /// Takes in such a request.
    #[inline(always)]
    pub fn push(&mut self, request: HostRequest) {
        self.pending.push(request);
    }

    /// Takes in any other.
    #[cold]
    pub fn put(&mut self, request: HostRequest) -> Result<(), TraceError> {
        if let Sorting::Gathering(sorter) = &mut self.sorting {
            if self.tick_ns > 0 {
                *self.of_tick.entry(request.arrival_ns).or_default() += 1;
            }
            return sorter.push(request).map_err(|error| self.cannot_sort(&error));
        }
        let time_ns = request.arrival_ns;
        // The requests of a tick have been spread over it as soon as one is delivered.
        if self.delivered_ns.is_some_and(|delivered_ns| time_ns < delivered_ns || self.tick_ns > 0 && time_ns == delivered_ns) {
            return Err(TraceError::Late { path: self.path.clone() });
        }
        if self.pending().last().is_none_or(|last| last.arrival_ns <= time_ns) {
            self.pending.push(request);
        } else {
            let place = self.head + self.pending().partition_point(|other| other.arrival_ns <= time_ns);
            self.pending.insert(place, request);
        }
        Ok(())
    }

    /// Takes in the mark of a requeue.
    pub fn put_mark(&mut self, mark: HostRequest) -> Result<(), TraceError> {
        (self.has_marks, self.takes_next) = (true, false);
        self.put(mark)
    }

    /// What has been issued again since this was asked for, among what was delivered.
    pub fn take_reissued(&mut self) -> Vec<Reissue> {
        self.requeued.take_reissued()
    }

    /// Sorts what was gathered: no request is still to come.
    pub fn sort(&mut self) -> Result<(), TraceError> {
        if let Sorting::Gathering(sorter) = std::mem::replace(&mut self.sorting, Sorting::Window) {
            (self.is_gathering, self.takes_next) = (false, !self.has_marks);
            self.sorting = Sorting::Sorted(sorter.finish().map_err(|error| self.cannot_sort(&error))?);
        }
        Ok(())
    }

    /// Shows the first requests of those that were sorted, before any is delivered.
    pub fn each_sorted(&mut self, count: u64, mut show: impl FnMut(&HostRequest)) -> Result<(), TraceError> {
        let Sorting::Sorted(sorted) = &mut self.sorting else { return Ok(()) };
        let (mut requeued, mut left) = (Requeued::default(), count);
        let mut look = || {
            while left > 0 {
                let Some(request) = sorted.pop()? else { break };
                if requeued.passes(&request) {
                    show(&request);
                    left -= 1;
                }
            }
            sorted.rewind()
        };
        look().map_err(|error| self.cannot_sort(&error))
    }

    /// Delivers at most `wanted` requests, in order of time, that no later record can come before. At the end of the file, all. Of a coarse clock
    /// whole ticks, the requests of each spread over it evenly: more than `wanted` if a tick has more, but not more than `left`.
    pub fn deliver(&mut self, batch: &mut Vec<HostRequest>, wanted: usize, left: usize, is_at_end: bool) -> Result<(), TraceError> {
        if self.is_gathering {
            return Ok(());
        }
        let held = if is_at_end || self.is_sorted() { 0 } else { WINDOW };
        let before = batch.len();
        loop {
            self.refill(wanted)?;
            let pending = self.pending().len();
            match (self.tick_ns > 0, self.has_marks) {
                // No format with a coarse clock has marks.
                (true, _) => self.deliver_ticks(batch, wanted, left, held)?,
                (false, false) => self.deliver_settled(batch, wanted, held)?,
                (false, true) => self.deliver_matched(batch, wanted, held)?,
            }
            // None of many marks is a request.
            if batch.len() > before || self.pending().len() == pending {
                return Ok(());
            }
        }
    }

    /// Those of a good clock among which there are marks.
    fn deliver_matched(&mut self, batch: &mut Vec<HostRequest>, wanted: usize, held: usize) -> Result<(), TraceError> {
        let end = batch.len() + wanted;
        let Self { arrivals, is_rebased, requeued, .. } = self;
        let mut count = 0;
        for request in &self.pending[self.head..self.pending.len().saturating_sub(held).max(self.head)] {
            if batch.len() == end {
                break;
            }
            count += 1;
            if requeued.passes(request) {
                batch.push(HostRequest { arrival_ns: arrivals.next_ns(request.arrival_ns, *is_rebased), ..*request });
            }
        }
        self.drop_delivered(count)
    }

    /// Those of a good clock.
    fn deliver_settled(&mut self, batch: &mut Vec<HostRequest>, wanted: usize, held: usize) -> Result<(), TraceError> {
        let count = self.pending().len().saturating_sub(held).min(wanted);
        let Self { arrivals, is_rebased, .. } = self;
        let settled = &self.pending[self.head..self.head + count];
        batch.extend(
            settled.iter().map(|request| HostRequest { arrival_ns: arrivals.next_ns(request.arrival_ns, *is_rebased), ..*request }),
        );
        self.drop_delivered(count)
    }

    /// Those of a coarse clock.
    fn deliver_ticks(&mut self, batch: &mut Vec<HostRequest>, wanted: usize, left: usize, held: usize) -> Result<(), TraceError> {
        let mut count = 0;
        while count < wanted {
            let rest = &self.pending[self.head + count..];
            let Some(first) = rest.first() else { break };
            let of_tick = rest.partition_point(|request| request.arrival_ns == first.arrival_ns);
            if of_tick > MOST_IN_A_TICK {
                return Err(self.too_many_in_a_tick());
            }
            if of_tick + held > rest.len() {
                break;
            }
            let start_ns = first.arrival_ns;
            let of_tick_wanted = of_tick.min(left - count);
            for index in 0..of_tick_wanted {
                let request = self.pending[self.head + count + index];
                let within_ns = (u128::from(self.tick_ns) * index as u128 / of_tick as u128) as u64;
                let arrival_ns = self.arrivals.next_ns(start_ns.saturating_add(within_ns), self.is_rebased);
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
        if count > 0 {
            self.delivered_ns = Some(self.pending[self.head + count - 1].arrival_ns);
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

    /// Takes sorted requests until so many are pending, and the last tick is whole.
    fn refill(&mut self, wanted: usize) -> Result<(), TraceError> {
        let Sorting::Sorted(sorted) = &mut self.sorting else { return Ok(()) };
        let mut refill = || -> io::Result<bool> {
            let mut of_tick = 0;
            while let Some(next_ns) = sorted.next_ns() {
                let is_of_tick = self.tick_ns > 0 && self.pending.last().is_some_and(|last| last.arrival_ns == next_ns);
                of_tick = if is_of_tick { of_tick + 1 } else { 1 };
                if of_tick > MOST_IN_A_TICK {
                    return Ok(false);
                }
                if self.pending.len() - self.head >= wanted && !is_of_tick {
                    break;
                }
                self.pending.extend(sorted.pop()?);
            }
            Ok(true)
        };
        match refill() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.too_many_in_a_tick()),
            Err(error) => Err(self.cannot_sort(&error)),
        }
    }

    #[cold]
    fn too_many_in_a_tick(&self) -> TraceError {
        let what = format!("more than {MOST_IN_A_TICK} requests with the same time in a trace with a clock of {} ns", self.tick_ns);
        TraceError::Unusable { path: self.path.clone(), what }
    }

    #[cold]
    fn cannot_sort(&self, error: &io::Error) -> TraceError {
        let what = format!(
            "it must be sorted by time, with a temporary file: {}; expected room for 32 bytes a request in the folder for these (TMPDIR)",
            system_text(error)
        );
        TraceError::Unusable { path: self.path.clone(), what }
    }
}
