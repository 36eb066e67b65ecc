//! Power: so many LUNs program or erase at the same time (SPEC 8.9).

use crate::Nand;
use crate::luns::{PHASES, PROGRAM};
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
    most: u32,
    /// LUNs that program or erase: from the first byte to the end of the array time, also while that is suspended.
    active: u32,
    /// Channels whose turn it is, a bit each: power is kept for them until they have been served.
    turns: u64,
    /// Channels that have programs or erases to begin, in the order in which they found no power.
    waiting: VecDeque<u32>,
    /// The same, a bit each.
    waits: u64,
}

impl Power {
    /// Power for so many; `None` for any number.
    pub(crate) fn new(most: u32) -> Option<Box<Self>> {
        (most > 0).then(|| Box::new(Self { most, active: 0, turns: 0, waiting: VecDeque::new(), waits: 0 }))
    }

    fn is_spent(&self) -> bool {
        self.active + self.turns.count_ones() >= self.most
    }

    /// Whether a LUN of the channel may begin a program or an erase. If there is power that is kept for nobody, nobody waits.
    #[inline]
    pub(crate) fn is_for(&self, channel: u32) -> bool {
        self.turns >> channel & 1 == 1 || !self.is_spent()
    }

    /// A LUN of the channel begins one.
    pub(crate) fn take(&mut self, channel: u32) {
        debug_assert!(self.is_for(channel), "more LUNs are active than may be");
        self.turns &= !(1 << channel);
        self.active += 1;
    }

    /// The channel has some to begin, and finds no power.
    pub(crate) fn wait(&mut self, channel: u32) {
        if !self.is_waiting(channel) {
            self.waits |= 1 << channel;
            self.waiting.push_back(channel);
        }
    }

    /// Whether the channel waits for its turn.
    pub(crate) fn is_waiting(&self, channel: u32) -> bool {
        self.waits >> channel & 1 == 1
    }

    /// The channel that has waited longest, if there is power: it is its turn.
    fn next(&mut self) -> Option<u32> {
        let channel = if self.is_spent() { None } else { self.waiting.pop_front() }?;
        self.waits &= !(1 << channel);
        self.turns |= 1 << channel;
        Some(channel)
    }
}

/// A program or an erase has ended.
#[inline]
pub(crate) fn end(nand: &mut Nand) {
    if let Some(power) = &mut nand.power {
        power.active -= 1;
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
    while let Some(channel) = nand.power.as_mut().and_then(|power| power.next()) {
        nand.wait_for_bus(channel);
    }
}
