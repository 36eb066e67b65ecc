//! What the SSDs of an array do, what they tell then, and which of them has the next event.

use super::Array;
use crate::media::{Completion, Flash};
use flashraid_ftl::memory;
use flashraid_vocabulary::Ppn;

impl Array {
    /// Has an SSD do something now, and takes what came of it.
    #[inline]
    pub(super) fn at<R>(&mut self, ssd: usize, work: impl FnOnce(&mut Flash) -> R) -> R {
        // Mostly no SSD has an event at this time.
        let others_have_events = self.events.first_ns() == self.now_ns && self.events.first_of_others_ns(ssd) == self.now_ns;
        let flash = &mut self.ssds[ssd];
        flash.nand_mut().set_surroundings(self.now_ns, self.completed_requests, others_have_events);
        let result = work(flash);
        self.take_from(ssd);
        result
    }

    /// Takes what an SSD has to tell, and notes when its next event is.
    #[inline]
    pub(super) fn take_from(&mut self, ssd: usize) {
        if self.links.is_some() {
            self.take_for_links(ssd);
        }
        let (flash, bits) = (&mut self.ssds[ssd], self.ssd_bits);
        for completion in flash.nand_mut().completions().drain(..) {
            self.completions.push(Completion { record: completion.record << bits | ssd as u32, ..completion });
        }
        self.has_failures |= flash.has_failures();
        let member = self.member_of[ssd];
        while let Some((operation, ppn, page)) = flash.nand_mut().started().pop() {
            self.started.push((operation, Ppn(self.first[ssd].page + ppn.0), page * self.shape.members + member));
        }
        if flash.has_news() {
            let first = member * self.domains_each;
            self.freed.extend(
                flash.space_mut().freed().drain(..).filter(|_| self.ssd_of[member as usize] as usize == ssd).map(|domain| first + domain),
            );
            self.flushed.extend(std::iter::from_fn(|| memory::take_flushed(flash)));
            let questions = flash.gc_queries_waiting();
            self.asking.extend((self.asked_by[ssd]..questions).map(|_| ssd as u32));
            self.asked_by[ssd] = questions;
        }
        if flash.space_mut().take_wear_out() {
            self.worn_out.push(ssd as u32);
        }
        let (time_ns, is_of_bus) = flash.nand().next_event();
        if self.events.of(ssd) != time_ns {
            self.events.set(ssd, time_ns);
        }
        self.is_of_bus[ssd] = is_of_bus;
    }

    /// The SSD, or behind these the lane, that has the next event: a LUN comes before buses, and the lower number first.
    #[inline]
    pub(super) fn next(&self) -> (u64, usize) {
        let (time_ns, first) = self.events.first();
        let first = first as usize;
        // Mostly it is the only one at that time.
        if self.is_of_bus.get(first) == Some(&true) && self.events.first_of_others_ns(first) == time_ns {
            let mut ssds = first..self.ssds.len();
            return (time_ns, ssds.find(|ssd| self.events.of(*ssd) == time_ns && !self.is_of_bus[*ssd]).unwrap_or(first));
        }
        (time_ns, first)
    }
}
