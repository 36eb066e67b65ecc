//! Power: so many LUNs program or erase at the same time (SPEC 8.9).
//!
//! Of a slice it may be a fraction (SPEC 8.11). The power for a whole number of LUNs is always there. That for one LUN more, with a share of its time, rests after each use until this
//! was its share of the time since it began.

use crate::events::NEVER;
use crate::luns::{PHASES, PROGRAM};
use crate::{Nand, NandSettings};
use flashraid_vocabulary::Priority;
use std::collections::VecDeque;

/// Programs and erases of all classes, among what LUNs want of the bus.
pub(crate) const PROGRAMS: u64 = {
    let (mut class, mut wants) = (0, 0);
    while class < Priority::COUNT {
        wants |= 1 << (class * PHASES as usize + PROGRAM as usize);
        class += 1;
    }
    wants
};

/// Who has power, and who waits for it.
#[derive(Clone, Debug)]
pub(crate) struct Power {
    /// For how many LUNs there is power at all times.
    most: u32,
    /// The share of time for which there is power for one more: so much of so much; 0 for none.
    share: (u64, u64),
    /// LUNs that program or erase: from the first byte to the end of the array time, also while that is suspended.
    active: u32,
    /// Since when that one more is active, and until when its power rests.
    since_ns: u64,
    rests_until_ns: u64,
    /// Number of its event, which is set while somebody waits for the end of the rest.
    event: usize,
    /// Channels whose turn it is, a bit each: power is kept for them until they have been served.
    turns: u64,
    /// Channels that have programs or erases to begin, in the order in which they found no power.
    waiting: VecDeque<u32>,
    /// The same, a bit each.
    waits: u64,
}

impl Power {
    /// `None` for power for all. `event` is the number of an event that it may have.
    pub(crate) fn new(settings: &NandSettings, event: usize) -> Option<Box<Self>> {
        let NandSettings { active_dies, slices, .. } = *settings;
        let new = || {
            Box::new(Self {
                most: active_dies / slices,
                share: ((active_dies % slices).into(), slices.into()),
                active: 0,
                since_ns: 0,
                rests_until_ns: 0,
                event,
                turns: 0,
                waiting: VecDeque::new(),
                waits: 0,
            })
        };
        (active_dies > 0).then(new)
    }

    /// Whether there is power of which a LUN has a share of the time.
    pub(crate) fn rests(&self) -> bool {
        self.share.0 > 0
    }

    fn is_spent(&self, now_ns: u64) -> bool {
        let one_more = u32::from(self.rests() && now_ns >= self.rests_until_ns);
        self.active + self.turns.count_ones() >= self.most + one_more
    }

    /// Whether a LUN of the channel may begin a program or an erase. If there is power that is kept for nobody, nobody waits.
    #[inline]
    pub(crate) fn is_for(&self, channel: u32, now_ns: u64) -> bool {
        self.turns >> channel & 1 == 1 || !self.is_spent(now_ns)
    }

    /// A LUN of the channel begins one.
    pub(crate) fn take(&mut self, channel: u32, now_ns: u64) {
        debug_assert!(self.is_for(channel, now_ns), "more LUNs are active than may be");
        self.turns &= !(1 << channel);
        self.active += 1;
        if self.active > self.most {
            self.since_ns = now_ns;
        }
    }

    /// A LUN has ended one.
    fn give_back(&mut self, now_ns: u64) {
        if self.active > self.most {
            let (share, whole) = self.share;
            let rest_ns = u128::from(now_ns - self.since_ns) * u128::from(whole - share) / u128::from(share);
            self.rests_until_ns = now_ns.saturating_add(u64::try_from(rest_ns).unwrap_or(u64::MAX));
        }
        self.active -= 1;
    }

    /// Whether the channel waits for its turn.
    pub(crate) fn is_waiting(&self, channel: u32) -> bool {
        self.waits >> channel & 1 == 1
    }

    /// The channel that has waited longest, if there is power: it is its turn.
    fn next(&mut self, now_ns: u64) -> Option<u32> {
        let channel = if self.is_spent(now_ns) { None } else { self.waiting.pop_front() }?;
        self.waits &= !(1 << channel);
        self.turns |= 1 << channel;
        Some(channel)
    }
}

/// The channel has programs or erases to begin, and finds no power.
pub(crate) fn wait_for_power(nand: &mut Nand, channel: u32) {
    if let Some(power) = &mut nand.power
        && !power.is_waiting(channel)
    {
        power.waits |= 1 << channel;
        power.waiting.push_back(channel);
        wait_for_rest(nand);
    }
}

/// If somebody waits while power rests, the end of the rest is an event.
fn wait_for_rest(nand: &mut Nand) {
    if let Some(power) = &nand.power
        && power.rests()
    {
        let is_awaited = power.waits != 0 && power.rests_until_ns > nand.now_ns;
        let until_ns = if is_awaited { power.rests_until_ns } else { NEVER };
        if nand.events.of(power.event) != until_ns {
            nand.events.set(power.event, until_ns);
        }
    }
}

/// Whether this event is one of power.
pub(crate) fn is_of_power(nand: &Nand, event: u32) -> bool {
    nand.power.as_ref().is_some_and(|power| power.rests() && power.event == event as usize)
}

/// Power has rested.
pub(crate) fn rested(nand: &mut Nand) {
    pass_on(nand);
}

/// A program or an erase has ended.
#[inline]
pub(crate) fn end(nand: &mut Nand) {
    if let Some(power) = &mut nand.power {
        power.give_back(nand.now_ns);
        pass_on(nand);
    }
}

/// The channel has been served: what it has not used of its turn is for others.
#[inline]
pub(crate) fn served(nand: &mut Nand, channel: u32) {
    if let Some(power) = &mut nand.power {
        power.turns &= !(1 << channel);
        pass_on(nand);
    }
}

#[cold]
#[inline(never)]
fn pass_on(nand: &mut Nand) {
    let now_ns = nand.now_ns;
    while let Some(channel) = nand.power.as_mut().and_then(|power| power.next(now_ns)) {
        nand.wait_for_bus(channel);
    }
    wait_for_rest(nand);
}
