//! How page operations cross the host links (`links`).

use super::SsdArray;
use super::calendar::Calendar;
use super::links::{FROM_SSD, LinkTimes, Links, TO_SSD};
use crate::media::{Completion, Progress};
use flashraid_vocabulary::{Action, NIL, PageOperation};

impl SsdArray {
    /// The array, whose SSDs have host links unless these take no time. Nothing has happened yet.
    pub fn with_links(self, times: LinkTimes) -> Self {
        let ssds = self.members.numbers().len();
        match Links::new(times, ssds) {
            None => self,
            links => Self { calendar: Calendar::new(ssds, 2 * ssds), links, ..self },
        }
    }

    /// Announces a page operation to its SSD and sends it there.
    pub(super) fn announce(&mut self, ssd: usize, operation: &PageOperation, owner: u32) -> Option<u32> {
        let record = self.at(ssd, |flash| flash.announce(operation, owner))?;
        self.cross(ssd, TO_SSD, record);
        Some(record)
    }

    /// Takes what made progress in an SSD: the data of a read have to cross the link.
    pub(super) fn take_for_links(&mut self, ssd: usize) {
        let mut completions = std::mem::take(self.members[ssd].nand_mut().completions());
        for Completion { record, progress } in completions.drain(..) {
            let is_read = self.members[ssd].nand().about(record).action == Action::Read;
            match progress {
                Progress::Ended if is_read => self.cross(ssd, FROM_SSD, record),
                Progress::Failed if is_read => self.deliver(ssd, record, progress),
                _ => self.tidings.completions.push(Completion { record: self.members.numbered(ssd, record), progress }),
            }
        }
        *self.members[ssd].nand_mut().completions() = completions;
    }

    fn deliver(&mut self, ssd: usize, record: u32, progress: Progress) {
        self.tidings.completions.push(Completion { record: self.members.numbered(ssd, record), progress });
        self.at(ssd, |flash| flash.deliver(record));
    }

    fn links(&mut self) -> &mut Links {
        self.links.as_mut().expect("the SSDs have links")
    }

    /// A record crosses the link as soon as that is free.
    fn cross(&mut self, ssd: usize, direction: usize, record: u32) {
        self.links().lane(ssd, direction).waiting.push_back(record);
        if !self.calendar.lane_is_in_use(2 * ssd + direction) {
            self.serve_lane(ssd, direction);
        }
    }

    /// Gives a lane that is free to who waits longest, and returns what has crossed.
    fn serve_lane(&mut self, ssd: usize, direction: usize) -> u32 {
        let (members, now_ns) = (&self.members, self.now_ns);
        let links = self.links.as_mut().expect("the SSDs have links");
        let (crossed, until_ns) = links.serve(ssd, direction, &members[ssd], now_ns);
        self.calendar.set_lane(2 * ssd + direction, until_ns);
        crossed
    }

    /// Something has crossed a link.
    #[cold]
    pub(super) fn lane_is_free(&mut self, lane: usize) {
        let (ssd, direction) = (lane / 2, lane % 2);
        match (self.serve_lane(ssd, direction), direction) {
            (NIL, _) => {}
            (record, TO_SSD) => self.at(ssd, |flash| flash.arrive(record)),
            (record, _) => {
                let flash = &self.members[ssd];
                let is_lost = flash.store().has_failures() && flash.store().is_lost_page(flash.nand().about(record).ppn);
                self.deliver(ssd, record, if is_lost { Progress::Failed } else { Progress::Ended });
            }
        }
    }

    /// Parts of an SSD have died: programs on their way to it fail if nothing could take them. What crosses the link goes on to do so.
    pub(super) fn fail_on_link(&mut self, ssd: usize) {
        let Some(links) = &mut self.links else { return };
        let lane = links.lane(ssd, TO_SSD);
        let (crossing, mut waiting) = (lane.crossing, std::mem::take(&mut lane.waiting));
        let has_failed = crossing != NIL && self.at(ssd, |flash| flash.fail_announced(crossing));
        waiting.retain(|record| !self.at(ssd, |flash| flash.fail_announced(*record)));
        let lane = self.links().lane(ssd, TO_SSD);
        lane.waiting = waiting;
        if has_failed {
            lane.crossing = NIL;
        }
    }
}
