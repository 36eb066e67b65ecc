//! An SSD of an array that is worn out fails as a whole, at the end of the erase that was the last one it endures. A single one, in whose place nothing could
//! come, still has all its data: it is read-only from then on. Writes that it has accepted before are still programmed.

use super::records::WearOutRecord;
use crate::engine::content::Content;
use crate::engine::request::Service;
use crate::engine::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::{Failure, Fault, Lpn, MemberId, MemberPage, Part, Version};

impl<C: Content, M: Media> Engine<C, M> {
    /// The SSD is worn out: it fails when everything else of this event is done.
    #[cold]
    pub(in crate::engine) fn note_worn_out(&mut self, device: u32) {
        debug_assert!(self.failures.worn_out.is_none(), "an event erases blocks of one SSD");
        self.failures.worn_out = Some(device);
        self.has_watchers = true;
    }

    /// The SSD that is worn out since this event, if there is one, fails. The watchers must be told.
    pub(in crate::engine) fn fail_worn_out(&mut self) {
        let Some(device) = self.failures.worn_out.take() else { return };
        if self.shape.ssds == 1 {
            let at_ns = self.now_ns();
            self.failures.wear_outs.push(WearOutRecord { at_ns, device, exposed_pages: 0, pages_lost: 0 });
            self.failures.retired += 1;
            return self.restrict(Service::Reads);
        }
        let pages_lost = self.take_down(Failure { device: Some(device), fault: Fault::Loss(Part::Device) });
        let exposed_pages = self.count_exposed();
        self.failures.wear_outs.push(WearOutRecord { at_ns: self.now_ns(), device, exposed_pages, pages_lost });
        self.failures.retired += 1;
        self.after_failure();
    }

    /// Host pages that are not lost, and that the failure of one more member would take. Looks at all of them.
    fn count_exposed(&self) -> u64 {
        let mut sources = Vec::new();
        let is_lost = |page: MemberPage, version| self.media.is_lost(page, version);
        let mut recovers = |lpn, failing: Option<MemberId>| {
            let lost =
                |page: MemberPage, version| is_lost(page, version) || failing == Some(page.member) && self.media.is_written(page, version);
            sources.clear();
            !lost(self.scheme.locate(lpn), Version::Current) || self.scheme.recover(lpn, &lost, &mut sources)
        };
        let members = self.shape.members as u16;
        let is_exposed = |lpn: &Lpn| {
            let home = self.scheme.locate(*lpn);
            if !self.media.is_written(home, Version::Current) || self.is_renewed(*lpn) || self.is_gone(*lpn) || !recovers(*lpn, None) {
                return false;
            }
            // What is read where it lies is lost with that member, if with any.
            let failing = if is_lost(home, Version::Current) { 0..members } else { home.member.0..home.member.0 + 1 };
            failing.map(MemberId).any(|member| !recovers(*lpn, Some(member)))
        };
        (0..self.options.space_pages).map(Lpn).filter(is_exposed).count() as u64
    }
}
