//! The host link of each SSD: a full-duplex link between the SSD and the controller of the array.
//!
//! Towards the SSD cross commands, each with the data of its program; from the SSD the data that it has read. Each direction serves in the order of
//! arrival, one page operation at a time, and never stands still while something waits. A page operation is announced to its SSD when the engine
//! submits it, so that a read means the version of that time, and queued there when it has crossed. What an SSD has read it keeps until that has left;
//! if the page is lost meanwhile, the read has failed. What an SSD does by itself, GC and the repetition of a program that has failed, does not use
//! its link.

use super::numbers::NEVER;
use crate::media::Flash;
use flashraid_vocabulary::{Action, Cause, NIL};
use std::collections::VecDeque;

/// How long a host link is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTimes {
    /// For one byte of data, in picoseconds.
    pub ps_per_byte: u64,
    /// For the command of a page operation.
    pub command_ns: u64,
}

impl LinkTimes {
    /// Whether there are links at all.
    fn any(self) -> bool {
        self != Self::default()
    }

    fn data_ns(self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.ps_per_byte).div_ceil(1000)
    }
}

/// Directions of a link.
pub(super) const TO_SSD: usize = 0;
pub(super) const FROM_SSD: usize = 1;

/// One direction of a link.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// Records, by their numbers in the SSD, that wait.
    pub(super) waiting: VecDeque<u32>,
    /// The one that crosses: `NIL` if it has failed meanwhile, or nothing does.
    pub(super) crossing: u32,
    /// Until when the lane is in use, and by what.
    until_ns: u64,
    cause: Cause,
    /// Time in use, what has begun included to its end.
    busy_ns: [u64; Cause::COUNT],
}

/// The links of all SSDs: lane 2 s leads to SSD s, lane 2 s + 1 from it.
#[derive(Clone, Debug)]
pub(super) struct Links {
    times: LinkTimes,
    lanes: Vec<Lane>,
}

impl Links {
    pub(super) fn new(times: LinkTimes, ssds: usize) -> Option<Box<Self>> {
        let lane = Lane { waiting: VecDeque::new(), crossing: NIL, until_ns: 0, cause: Cause::Host, busy_ns: [0; Cause::COUNT] };
        times.any().then(|| Box::new(Self { times, lanes: vec![lane; 2 * ssds] }))
    }

    /// The lane of an SSD in one direction.
    pub(super) fn lane(&mut self, ssd: usize, direction: usize) -> &mut Lane {
        &mut self.lanes[2 * ssd + direction]
    }

    /// Gives a lane that is free to who waits longest. Returns what has crossed, and until when the lane is in use now: `NEVER` if nothing waits.
    pub(super) fn serve(&mut self, ssd: usize, direction: usize, flash: &Flash, now_ns: u64) -> (u32, u64) {
        let lane = &mut self.lanes[2 * ssd + direction];
        let next = lane.waiting.pop_front().unwrap_or(NIL);
        let crossed = std::mem::replace(&mut lane.crossing, next);
        if next == NIL {
            return (crossed, NEVER);
        }
        let about = flash.nand().about(next);
        let has_data = direction == FROM_SSD || about.action == Action::Program;
        let data_ns = if has_data { self.times.data_ns(flash.nand().record(next).bytes) } else { 0 };
        let duration_ns = data_ns + if direction == TO_SSD { self.times.command_ns } else { 0 };
        (lane.until_ns, lane.cause) = (now_ns + duration_ns, about.cause);
        lane.busy_ns[about.cause as usize] += duration_ns;
        (crossed, lane.until_ns)
    }

    /// Whether nothing crosses a link.
    pub(super) fn are_idle(&self, now_ns: u64) -> bool {
        self.lanes.iter().all(|lane| lane.crossing == NIL && lane.until_ns <= now_ns)
    }

    /// Time in use of each link, towards the SSD and from it, before `time_ns`.
    pub(super) fn busy_ns(&self, time_ns: u64) -> Vec<[[u64; Cause::COUNT]; 2]> {
        let until = |lane: &Lane| {
            let mut busy_ns = lane.busy_ns;
            busy_ns[lane.cause as usize] -= lane.until_ns.saturating_sub(time_ns);
            busy_ns
        };
        self.lanes.chunks(2).map(|link| [until(&link[TO_SSD]), until(&link[FROM_SSD])]).collect()
    }
}
