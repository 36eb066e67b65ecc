//! What the SSDs of an array do, and what they tell then.

use super::SsdArray;
use crate::media::Flash;

impl SsdArray {
    /// Has an SSD do something now, and takes what came of it.
    #[inline]
    pub(super) fn at<R>(&mut self, ssd: usize, work: impl FnOnce(&mut Flash) -> R) -> R {
        let others_have_events = self.calendar.others_have_events(ssd, self.now_ns);
        let flash = &mut self.members[ssd];
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
        self.members.tell(ssd, &mut self.tidings);
        self.calendar.set(ssd, self.members[ssd].nand().next_event());
    }
}
