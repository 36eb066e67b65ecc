//! Power: so many LUNs program or erase at the same time (SPEC 8.9).
//!
//! Of a slice it may be a fraction (SPEC 8.11). The power for a whole number of LUNs is always there. That for one LUN more, with a share of its time, rests after each use until this
//! was its share of the time since it began.

use crate::events::NEVER;
use crate::luns::{PHASES, PROGRAM, after};
use crate::{Nand, NandSettings};
use flashraid_vocabulary::Priority;

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
    /// Number of its event, in which channels get their turns.
    event: usize,
    /// Channels whose turn it is, a bit each: power is kept for them until they have been served.
    turns: u64,
    /// Channels that have programs or erases to begin, a bit each.
    waits: u64,
    /// Those of them that found power, and hear by its event whether it is for them.
    asks: u64,
    /// The channel that was the last to have its turn.
    last: u32,
}

impl Power {
    /// `None` for power for all. `event` is the number of an event of its own, behind those of all buses.
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
                waits: 0,
                asks: 0,
                last: u64::BITS - 1,
            })
        };
        (active_dies > 0).then(new)
    }

    /// Whether there is power of which a LUN has a share of the time.
    fn rests(&self) -> bool {
        self.share.0 > 0
    }

    fn is_spent(&self, now_ns: u64) -> bool {
        let one_more = u32::from(self.rests() && now_ns >= self.rests_until_ns);
        self.active + self.turns.count_ones() >= self.most + one_more
    }

    /// Whether it is the channel's turn: a LUN of it may begin a program or an erase.
    #[inline]
    pub(crate) fn is_turn_of(&self, channel: u32) -> bool {
        self.turns >> channel & 1 == 1
    }

    /// A LUN of the channel begins one.
    pub(crate) fn take(&mut self, channel: u32, now_ns: u64) {
        debug_assert!(self.is_turn_of(channel), "a LUN begins out of turn");
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

    /// Whether the channel waits for the event, which tells it whether it is its turn.
    pub(crate) fn is_asking(&self, channel: u32) -> bool {
        self.asks >> channel & 1 == 1
    }

    /// The next channel that waits, if there is power: it is its turn.
    fn next(&mut self, now_ns: u64) -> Option<u32> {
        if self.waits == 0 || self.is_spent(now_ns) {
            return None;
        }
        let channel = after(self.waits, u64::from(self.last));
        self.waits &= !(1 << channel);
        self.asks &= !(1 << channel);
        self.turns |= 1 << channel;
        self.last = channel;
        Some(channel)
    }

    /// When its event is due.
    fn due_ns(&self, now_ns: u64) -> u64 {
        match self.rests_until_ns {
            _ if self.waits == 0 => NEVER,
            _ if !self.is_spent(now_ns) => now_ns,
            until_ns if self.rests() && until_ns > now_ns => until_ns,
            _ => NEVER,
        }
    }
}

/// The channel has programs or erases to begin. Returns whether there is power: then power's event tells whether it is for this channel.
pub(crate) fn wait_for_power(nand: &mut Nand, channel: u32) -> bool {
    let power = nand.power.as_mut().expect("power is limited");
    let asks = !power.is_spent(nand.now_ns);
    power.waits |= 1 << channel;
    power.asks |= u64::from(asks) << channel;
    set_event(nand);
    asks
}

/// Sets the event, or takes it away.
#[cold]
#[inline(never)]
fn set_event(nand: &mut Nand) {
    if let Some(power) = &nand.power {
        let due_ns = power.due_ns(nand.now_ns);
        if nand.events.of(power.event) != due_ns {
            nand.events.set(power.event, due_ns);
        }
    }
}

/// Whether this event is one of power.
pub(crate) fn is_of_power(nand: &Nand, event: u32) -> bool {
    nand.power.as_ref().is_some_and(|power| power.event == event as usize)
}

/// All that happens at this time has found power or has ended, but for what power decides now: channels get their turns, one after the other from that which follows
/// the last one, so that none is always the one that is left out.
pub(crate) fn give_turns(nand: &mut Nand) {
    let now_ns = nand.now_ns;
    while let Some(channel) = nand.power.as_mut().and_then(|power| power.next(now_ns)) {
        nand.wait_for_bus(channel);
    }
    let asks = nand.power.as_mut().map_or(0, |power| std::mem::take(&mut power.asks));
    (0..nand.shape.channels).filter(|channel| asks >> channel & 1 == 1).for_each(|channel| nand.wait_for_bus(channel));
    set_event(nand);
}

/// A program or an erase has ended.
#[inline]
pub(crate) fn end(nand: &mut Nand) {
    if let Some(power) = &mut nand.power {
        power.give_back(nand.now_ns);
        set_event(nand);
    }
}

/// The channel has been served: what it has not used of its turn is for others.
#[inline]
pub(crate) fn served(nand: &mut Nand, channel: u32) {
    if let Some(power) = &mut nand.power {
        power.turns &= !(1 << channel);
        set_event(nand);
    }
}
