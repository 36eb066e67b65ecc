//! SSDs that are replaced in an episode, by a scheme that does that: as often as there are spare ones, whatever fails meanwhile.

use super::setup::Episode;
use flashraid_sim::media::Media;
use flashraid_sim::verify;
use flashraid_vocabulary::{DeviceFault, Fault, Health, MemberId, MemberPage, Part, Ppn, Version};
use std::collections::BTreeMap;

impl<M: Media> Episode<M> {
    /// Asks for the replacement of an SSD. Refused is what cannot be. Where that takes the SSD out it is a second failure, if something else has failed.
    pub(super) fn ask_for_replacement(&mut self) {
        if self.engine.executor.media.next_spare().is_some()
            && (self.terms.second || self.damage.failed.is_empty() || !self.terms.entry.takes_devices_out)
        {
            let device = self.random.below(self.engine.executor.media.shape().ssds.into()) as u32;
            let _ = self.engine.replace(device);
        }
    }

    /// A spare SSD that has no task yet is dead: nothing is lost.
    pub(super) fn fail_a_spare(&mut self) {
        let media = &self.engine.executor.media;
        if let Some(device) = media.next_spare().and_then(|member| media.device_of(member)) {
            self.engine.fail(DeviceFault { device: Some(device), fault: Fault::Loss(Part::Device) });
            self.tally.note_fault("spare_device");
        }
    }

    /// The SSD fails that takes the place of another one, and all spare ones before; if none does, one is to.
    pub(super) fn fail_what_is_new(&mut self) {
        let Some(new) = self.engine.survey().running_replacement().map(|record| record.new_device as usize) else {
            return self.ask_for_replacement();
        };
        if !self.damage.failed.is_empty() {
            return;
        }
        while self.engine.executor.media.next_spare().is_some() {
            self.fail_a_spare();
        }
        if let Some(ppn) = self.any_living_page_of(new) {
            self.fail_what_has(ppn, Some("device"));
        }
    }

    /// A page of the SSD that can be read.
    fn any_living_page_of(&self, ssd: usize) -> Option<Ppn> {
        let media = &self.engine.executor.media;
        let member = MemberId(media.ssds()[ssd].member? as u16);
        let pages = (0..media.shape().pages_per_member).map(|page| MemberPage::new(member.0, page));
        pages.filter(|page| !media.is_lost(*page, Version::Current)).find_map(|page| media.lookup(page, Version::Current))
    }

    /// The SSD that a replacement takes out as it begins, until nothing of it is to be rebuilt any more.
    pub(super) fn taken_out(&self) -> Option<u32> {
        let (record, media) =
            (self.engine.survey().running_replacement().filter(|_| self.terms.entry.takes_devices_out)?, &self.engine.executor.media);
        let old = media.ssds()[record.old_device as usize].member?;
        let member = MemberId(old as u16);
        (media.health(member) != Health::Disabled || media.lost_versions_of(member) > 0).then_some(old)
    }

    /// An SSD that is taken out is as good as failed from the beginning of its replacement; if something else is lost that is not rebuilt yet, it is the
    /// second failure (SPEC 5.8). Asked after every event: a write that finds no space may cost redundancy until the SSD is taken out, and before the
    /// next kill other writes may replace all that was lost, though requests have failed meanwhile.
    pub(super) fn notice_taken_out(&mut self) {
        if self.damage.exceeded || !self.terms.entry.takes_devices_out {
            return;
        }
        let Some(old) = self.taken_out() else { return };
        let is_out = self.engine.executor.media.health(MemberId(old as u16)) == Health::Disabled;
        if !self.damage.has(Some(old)) {
            self.damage.exceeded = !self.is_survived(Some(old));
            self.damage.add(old);
        } else if is_out && self.damage.out != Some(old) {
            self.damage.exceeded = !self.is_survived(Some(old));
            self.damage.out = Some(old);
        }
    }

    /// Whether nothing of the array lies on a member any more: what it holds serves reads alone, and protects nothing.
    pub(super) fn is_shadow(&self, member: MemberId) -> bool {
        let media = &self.engine.executor.media;
        let is_replaced =
            self.engine.survey().running_replacement().is_some_and(|record| media.device_of(member) == Some(record.old_device));
        media.health(member) == Health::ReadOnly && !is_replaced
    }

    /// A strip that a replacement has left where it is although nothing stands in its way.
    pub(super) fn unmoved(&self) -> Option<MemberPage> {
        let (engine, media) = (&self.engine, &self.engine.executor.media);
        let member = |device: u32| media.ssds()[device as usize].member.map(|member| MemberId(member as u16));
        let record = engine.survey().running_replacement()?;
        let (old, new) = (member(record.old_device)?, member(record.new_device)?);
        let (mut pages, mut first) = (Vec::new(), 0);
        while first < engine.space_pages() {
            let end = verify::end_of_stripe(engine, first);
            pages.clear();
            verify::pages_of_stripe(engine, first, end, &mut pages);
            first = end;
            let Some(left) = pages.iter().position(|page| page.member == old).map(|at| pages.swap_remove(at)) else { continue };
            pages.push(MemberPage { member: new, ..left });
            let can_move = !media.is_lost(left, Version::Current) || self.terms.rebuilds && !self.damage.exceeded;
            if can_move && pages.iter().all(|page| !media.is_lost(*page, Version::Current) && media.can_allocate(*page)) {
                return Some(left);
            }
        }
        None
    }

    /// How replacements came out.
    pub(super) fn replacements(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for record in self.engine.survey().replacements {
            *counts.entry(record.outcome.name()).or_default() += 1;
        }
        counts
    }
}
