//! When the SSDs of an array, and the lanes of their links, have their next events, and which of them comes first.

use super::numbers::NEVER;
use flashraid_ftl::EventQueue;

/// See the module. Lanes are numbered behind the SSDs.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    events: EventQueue,
    /// Whether the next event of each SSD is one of a bus.
    is_of_bus: Vec<bool>,
}

impl Calendar {
    /// Of SSDs and lanes none of which has an event.
    pub(super) fn new(ssds: usize, lanes: usize) -> Self {
        Self { events: EventQueue::new(ssds + lanes), is_of_bus: vec![false; ssds] }
    }

    /// When the next event is, `NEVER` if there is none.
    #[inline(always)]
    pub(super) fn first_ns(&self) -> u64 {
        self.events.first_ns()
    }

    /// Whose the first event is in the order of the numbers, if there is one.
    pub(super) fn first(&self) -> Option<usize> {
        (self.first_ns() != NEVER).then(|| self.events.first().1 as usize)
    }

    /// Whether another than this SSD has an event at this time, which no event precedes.
    #[inline]
    pub(super) fn others_have_events(&self, ssd: usize, now_ns: u64) -> bool {
        // Mostly no SSD has one.
        self.events.first_ns() == now_ns && self.events.first_of_others_ns(ssd) == now_ns
    }

    /// The next event of an SSD.
    #[inline]
    pub(super) fn set(&mut self, ssd: usize, (time_ns, is_of_bus): (u64, bool)) {
        if self.events.of(ssd) != time_ns {
            self.events.set(ssd, time_ns);
        }
        self.is_of_bus[ssd] = is_of_bus;
    }

    /// Until when a lane is in use, `NEVER` if it waits for work.
    pub(super) fn set_lane(&mut self, lane: usize, until_ns: u64) {
        self.events.set(self.is_of_bus.len() + lane, until_ns);
    }

    pub(super) fn lane_is_in_use(&self, lane: usize) -> bool {
        self.events.of(self.is_of_bus.len() + lane) != NEVER
    }

    /// The SSD, or the lane as an error, that has the next event: a LUN comes before buses, and the lower number first.
    #[inline]
    pub(super) fn next(&self) -> (u64, Result<usize, usize>) {
        let (time_ns, first) = self.events.first();
        let (first, ssds) = (first as usize, self.is_of_bus.len());
        if first >= ssds {
            return (time_ns, Err(first - ssds));
        }
        // Mostly it is the only one at that time.
        if self.is_of_bus[first] && self.events.first_of_others_ns(first) == time_ns {
            let is_of_lun = |ssd: &usize| self.events.of(*ssd) == time_ns && !self.is_of_bus[*ssd];
            return (time_ns, Ok((first..ssds).find(is_of_lun).unwrap_or(first)));
        }
        (time_ns, Ok(first))
    }
}
