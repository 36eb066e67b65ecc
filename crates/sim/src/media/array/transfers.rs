//! How page operations cross the host links (`links`).

use super::Array;
use super::links::{FROM_SSD, LinkTimes, Links, TO_SSD};
use super::numbers::{NEVER, NIL};
use crate::media::{Completion, Progress};
use flashraid_ftl::EventQueue;
use flashraid_vocabulary::{Action, PageOperation};

impl Array {
    /// The array, whose SSDs have host links unless these take no time. Nothing has happened yet.
    pub fn with_links(self, times: LinkTimes) -> Self {
        match Links::new(times, self.ssds.len()) {
            None => self,
            links => Self { events: EventQueue::new(3 * self.ssds.len()), links, ..self },
        }
    }

    /// Position of a lane among the events: behind the SSDs.
    fn lane_event(&self, lane: usize) -> usize {
        self.ssds.len() + lane
    }

    /// Announces a page operation to its SSD and sends it there.
    pub(super) fn announce(&mut self, ssd: usize, operation: &PageOperation, owner: u32) -> Option<u32> {
        let record = self.at(ssd, |flash| flash.announce(operation, owner))?;
        self.wait_for_lane(2 * ssd + TO_SSD, record);
        Some(record)
    }

    /// Takes what made progress in an SSD.
    pub(super) fn take_for_links(&mut self, ssd: usize) {
        let mut completions = std::mem::take(self.ssds[ssd].nand_mut().completions());
        completions.drain(..).for_each(|completion| self.returns(ssd, completion));
        *self.ssds[ssd].nand_mut().completions() = completions;
    }

    /// A page operation has made progress in its SSD: the data of a read have to cross the link.
    fn returns(&mut self, ssd: usize, completion: Completion) {
        let Completion { record, progress } = completion;
        let is_read = self.ssds[ssd].nand().about(record).action == Action::Read;
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
        let about = flash.nand().about(state.crossing);
        let has_data = !is_to_ssd || about.action == Action::Program;
        let data_ns = if has_data { times.data_ns(flash.nand().record(state.crossing).bytes) } else { 0 };
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
                let is_lost = flash.has_failures() && flash.is_lost_page(flash.nand().about(record).ppn);
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
