//! Replacement of SSDs of an array: what the scheme orders is done, and what it took is noted (SPEC 5.5, 5.11).

use super::content::Content;
use super::replacement::Outcome;
use super::request::Request;
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::Order;
use flashraid_vocabulary::{DeviceFault, Fault, Health, MemberId, Part};
use std::collections::VecDeque;

impl<C: Content, M: Media> Engine<C, M> {
    /// Has an SSD of the array replaced: by the scheme, as soon as no other one is, or at once as if it had failed. Returns why that cannot be.
    pub fn replace(&mut self, device: u32) -> Result<(), &'static str> {
        let member = self.executor.media.ssds().get(device as usize).and_then(|ssd| ssd.member).filter(|_| self.executor.shape.ssds > 1);
        let member = MemberId(member.ok_or("it is not an SSD of the array")? as u16);
        if self.executor.media.device_of(member) != Some(device) || self.executor.media.health(member) == Health::Disabled {
            return Err("it is out of use already");
        }
        if let Some(replacing) = self.executor.scheme.replacing_mut() {
            replacing.replace(member, &self.executor.media)?;
            self.tell_watchers();
        } else if self.executor.media.next_spare().is_none() {
            return Err("no spare SSD is left");
        } else {
            self.fail(DeviceFault { device: Some(device), fault: Fault::Loss(Part::Device) });
        }
        Ok(())
    }

    /// SSDs that the user or their age wants replaced, but whose replacement has not begun.
    pub fn awaiting_replacement(&self) -> impl Iterator<Item = u32> {
        let waiting = self.executor.scheme.replacing().map(|replacing| replacing.awaiting_replacement(&self.executor.media));
        waiting.into_iter().flatten().filter_map(|member| self.executor.media.device_of(member))
    }

    /// Does what the scheme wants done with SSDs. Returns whether that was anything.
    pub(super) fn carry_out_orders(&mut self) -> bool {
        // None begins while something is being rebuilt: an SSD that is taken out then could be one too many.
        if self.front_end.replacements.running().is_none() && self.executor.failures.rebuild_share().is_some() {
            return false;
        }
        #[cfg(feature = "mutants")]
        if let Some(record) = self.front_end.replacements.running()
            && let Some(share) = self.front_end.replacements.share(&*self.executor.scheme)
        {
            self.executor.mutant.take_out_half_way(record.old_device, share, &mut self.executor.media);
        }
        let mut any = false;
        while let Some(order) = self.executor.scheme.replacing_mut().and_then(|replacing| replacing.order(&self.executor.media)) {
            any = true;
            match order {
                Order::Begin { old, new, host_waits } => {
                    self.replacement_begins(old, new, host_waits);
                    self.executor.failures.rebuild_elsewhere();
                }
                Order::ReadOnly(member) => self.executor.media.set_health(member, Health::ReadOnly),
                Order::TakeOut(member) => {
                    let failure = DeviceFault { device: self.executor.media.device_of(member), fault: Fault::Loss(Part::Device) };
                    self.executor.fail_without_spare(&mut self.front_end, failure);
                }
                Order::GiveUp { old, .. } => {
                    self.executor.media.set_health(old, Health::ReadWrite);
                    self.replacement_ends(Outcome::GivenUp);
                    self.executor.failures.rebuild_elsewhere();
                }
                Order::Abandon { .. } => self.replacement_ends(Outcome::Failed),
                Order::End { old, new, stays } => {
                    if !stays {
                        self.executor.media.set_health(old, Health::Disabled);
                    }
                    let record = self.front_end.replacements.records.last_mut().expect("one runs");
                    // Another spare SSD may have taken the place of the first one.
                    record.new_device = self.executor.media.device_of(new).expect("a member is an SSD");
                    record.is_shadow = stays;
                    #[cfg(feature = "mutants")]
                    if stays {
                        self.executor.mutant.note_shadow(old, new);
                    }
                    self.replacement_ends(Outcome::Replaced);
                }
                Order::ServeHost => self.serve_held(),
                Order::Drop(member) => self.executor.media.set_health(member, Health::Disabled),
            }
        }
        any
    }

    fn replacement_begins(&mut self, old: MemberId, new: MemberId, host_waits: bool) {
        self.executor.media.use_spare(new, old);
        let migrated_before = self.executor.scheme.replacing().expect("it has ordered this").migrated();
        self.front_end.part_latencies(self.executor.clock.now_ns(), &self.executor.statistics.latency);
        let device = |member| self.executor.media.device_of(member).expect("a member is an SSD");
        self.front_end.replacements.begin(device(old), device(new), self.executor.clock.now_ns(), migrated_before);
        if host_waits {
            self.front_end.replacements.held = Some(VecDeque::new());
        }
    }

    fn replacement_ends(&mut self, outcome: Outcome) {
        let (now_ns, migrated) = (self.executor.clock.now_ns(), self.executor.scheme.replacing().expect("it has ordered this").migrated());
        self.front_end.replacements.end(outcome, now_ns, migrated);
        self.executor.failures.retired += u32::from(outcome == Outcome::Replaced);
        self.serve_held();
    }

    fn serve_held(&mut self) {
        for id in self.front_end.replacements.held.take().into_iter().flatten() {
            let Request { op, offset_bytes, size_bytes, .. } = self.front_end.requests[id];
            self.serve_request(id, op, offset_bytes, size_bytes);
        }
    }
}
