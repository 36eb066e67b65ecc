//! The host link of each SSD: a full-duplex link between the SSD and the controller of the array.
//!
//! Towards the SSD cross commands, each with the data of its program; from the SSD the data that it has read. Each direction serves in the order of
//! arrival, one page operation at a time, and never stands still while something waits. A page operation is announced to its SSD when the engine
//! submits it, so that a read means the version of that time, and queued there when it has crossed. What an SSD has read it keeps until that has left;
//! if the page is lost meanwhile, the read has failed. What an SSD does by itself, GC and the repetition of a program that has failed, does not use
//! its link.

use super::{Array, NEVER, NIL};
use crate::media::{Completion, Progress};
use flashraid_flash::EventQueue;
use flashraid_vocabulary::{Action, Cause, PageOperation};
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
const TO_SSD: usize = 0;
const FROM_SSD: usize = 1;

/// One direction of a link.
#[derive(Clone, Debug)]
struct Lane {
    /// Records, by their numbers in the SSD, that wait.
    waiting: VecDeque<u32>,
    /// The one that crosses: `NIL` if it has failed meanwhile, or nothing does.
    crossing: u32,
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
    fn new(times: LinkTimes, ssds: usize) -> Option<Box<Self>> {
        let lane = Lane { waiting: VecDeque::new(), crossing: NIL, until_ns: 0, cause: Cause::Host, busy_ns: [0; Cause::COUNT] };
        times.any().then(|| Box::new(Self { times, lanes: vec![lane; 2 * ssds] }))
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

impl Array {
    /// The array, whose SSDs have host links unless these take no time. Nothing has happened yet.
    pub fn with_links(self, times: LinkTimes) -> Self {
        match Links::new(times, self.ssds.len()) {
            None => self,
            links => Self { events: EventQueue::new(4 * self.ssds.len()), links, ..self },
        }
    }

    /// Position of a lane among the events: behind the LUNs and buses of the SSDs.
    fn lane_event(&self, lane: usize) -> usize {
        2 * self.ssds.len() + lane
    }

    /// Announces a page operation to its SSD and sends it there.
    pub(super) fn announce(&mut self, ssd: usize, operation: &PageOperation, owner: u32) -> Option<u32> {
        let record = self.at(ssd, |flash| flash.announce(operation, owner))?;
        self.wait_for_lane(2 * ssd + TO_SSD, record);
        Some(record)
    }

    /// Takes what made progress in an SSD.
    pub(super) fn take_for_links(&mut self, ssd: usize) {
        let mut completions = std::mem::take(self.ssds[ssd].completions());
        completions.drain(..).for_each(|completion| self.returns(ssd, completion));
        *self.ssds[ssd].completions() = completions;
    }

    /// A page operation has made progress in its SSD: the data of a read have to cross the link.
    fn returns(&mut self, ssd: usize, completion: Completion) {
        let Completion { record, progress } = completion;
        let is_read = self.ssds[ssd].about(record).action == Action::Read;
        match progress {
            Progress::Ended if is_read => self.wait_for_lane(2 * ssd + FROM_SSD, record),
            Progress::Failed if is_read => self.deliver(ssd, completion),
            _ => self.completions.push(Completion { record: self.numbered(ssd, record), progress }),
        }
    }

    fn deliver(&mut self, ssd: usize, Completion { record, progress }: Completion) {
        self.completions.push(Completion { record: self.numbered(ssd, record), progress });
        self.at(ssd, |flash| flash.deliver(record));
    }

    fn wait_for_lane(&mut self, lane: usize, record: u32) {
        let event = self.lane_event(lane);
        self.links_mut().lanes[lane].waiting.push_back(record);
        if self.events.of(event) == NEVER {
            self.serve_lane(lane);
        }
    }

    fn links_mut(&mut self) -> &mut Links {
        self.links.as_mut().expect("the SSDs have links")
    }

    /// Gives a lane that is free to who waits longest.
    fn serve_lane(&mut self, lane: usize) {
        let (now_ns, event) = (self.now_ns, self.lane_event(lane));
        let Links { times, lanes } = &mut **self.links.as_mut().expect("the SSDs have links");
        let state = &mut lanes[lane];
        state.crossing = state.waiting.pop_front().unwrap_or(NIL);
        if state.crossing == NIL {
            return self.events.set(event, NEVER);
        }
        let (flash, is_to_ssd) = (&self.ssds[lane / 2], lane % 2 == TO_SSD);
        let about = flash.about(state.crossing);
        let has_data = !is_to_ssd || about.action == Action::Program;
        let data_ns = if has_data { times.data_ns(flash.transferred_bytes(state.crossing)) } else { 0 };
        let duration_ns = data_ns + if is_to_ssd { times.command_ns } else { 0 };
        (state.until_ns, state.cause) = (now_ns + duration_ns, about.cause);
        state.busy_ns[about.cause as usize] += duration_ns;
        self.events.set(event, state.until_ns);
    }

    /// Something has crossed a link.
    #[cold]
    pub(super) fn lane_is_free(&mut self, lane: usize) {
        let crossed = self.links_mut().lanes[lane].crossing;
        self.serve_lane(lane);
        match (crossed, lane % 2) {
            (NIL, _) => {}
            (record, TO_SSD) => self.at(lane / 2, |flash| flash.arrive(record)),
            (record, _) => {
                let flash = &self.ssds[lane / 2];
                let is_lost = flash.has_failures() && flash.is_lost_page(flash.about(record).ppn);
                self.deliver(lane / 2, Completion { record, progress: if is_lost { Progress::Failed } else { Progress::Ended } });
            }
        }
    }

    /// Parts of an SSD have died: programs on their way to it fail if nothing could take them. What crosses the link goes on to do so.
    pub(super) fn fail_on_link(&mut self, ssd: usize) {
        let lane = 2 * ssd + TO_SSD;
        let Some(links) = &mut self.links else { return };
        let crossing = links.lanes[lane].crossing;
        let mut waiting = std::mem::take(&mut links.lanes[lane].waiting);
        let has_failed = crossing != NIL && self.at(ssd, |flash| flash.fail_announced(crossing));
        waiting.retain(|record| !self.at(ssd, |flash| flash.fail_announced(*record)));
        let state = &mut self.links_mut().lanes[lane];
        state.waiting = waiting;
        if has_failed {
            state.crossing = NIL;
        }
    }
}
