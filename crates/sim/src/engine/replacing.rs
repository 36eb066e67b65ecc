//! Replacement of SSDs of an array: what the scheme orders is done, and what it took is noted (SPEC 5.5, 5.11).

use super::around::Around;
use super::content::Content;
use super::replacement::{Outcome, ReplacementRecord};
use super::request::Request;
use super::state::Engine;
use crate::media::Media;
use crate::statistics::Latency;
use flashraid_redundancy::{Lock, Migrated, Order};
use flashraid_vocabulary::{Failure, Fault, Health, HostOp, MemberId, Part};
use std::collections::VecDeque;

impl<C: Content, M: Media> Engine<C, M> {
    /// How much of the strips of the SSD that is being replaced lies elsewhere by now, or of the latest one that was, from 0 to 1. `None` before the first one.
    pub fn replaced_share(&self) -> Option<f64> {
        match self.replacements.records.last()?.outcome {
            Outcome::Running => self.scheme.replacing().map(|replacing| replacing.replaced_share()),
            _ => Some(1.0),
        }
    }

    /// Has an SSD of the array replaced: by the scheme, as soon as no other one is, or at once as if it had failed. Returns why that cannot be.
    pub fn replace(&mut self, device: u32) -> Result<(), &'static str> {
        let member = self.media.ssds().get(device as usize).and_then(|ssd| ssd.member).filter(|_| self.shape.ssds > 1);
        let member = MemberId(member.ok_or("it is not an SSD of the array")? as u16);
        if self.media.device_of(member) != Some(device) || self.media.health(member) == Health::Disabled {
            return Err("it is out of use already");
        }
        if let Some(replacing) = self.scheme.replacing_mut() {
            replacing.replace(member, &self.media)?;
            self.tell_watchers();
        } else if self.media.next_spare().is_none() {
            return Err("no spare SSD is left");
        } else {
            self.fail(Failure { device: Some(device), fault: Fault::Loss(Part::Device) });
        }
        Ok(())
    }

    /// SSDs that the user or their age wants replaced, but whose replacement has not begun.
    pub fn awaiting_replacement(&self) -> impl Iterator<Item = u32> {
        let waiting = self.scheme.replacing().map(|replacing| replacing.awaiting_replacement(&self.media));
        waiting.into_iter().flatten().filter_map(|member| self.media.device_of(member))
    }

    /// An operation that holds its stripe is placed: where its strips go is decided now.
    pub(super) fn place_operation(&mut self, id: u32) {
        let slot = &mut self.operations.slots[id as usize];
        if slot.operation.lock == Lock::Exclusive && !slot.operation.is_placed {
            self.scheme.place(&mut slot.operation, &self.media);
            slot.unreserved = slot.operation.space;
        }
    }

    /// Does what the scheme wants done with SSDs. Returns whether that was anything.
    pub(super) fn carry_out_orders(&mut self) -> bool {
        // None begins while something is being rebuilt: an SSD that is taken out then could be one too many.
        if self.replacements.running().is_none() && self.failures.rebuild_share().is_some() {
            return false;
        }
        #[cfg(feature = "mutants")]
        self.take_out_half_way();
        let mut any = false;
        while let Some(order) = self.scheme.replacing_mut().and_then(|replacing| replacing.order(&self.media)) {
            any = true;
            match order {
                Order::Begin { old, new, host_waits } => {
                    self.replacement_begins(old, new, host_waits);
                    self.failures.rebuild_elsewhere();
                }
                Order::ReadOnly(member) => self.media.set_health(member, Health::ReadOnly),
                Order::TakeOut(member) => {
                    let fault = Fault::Loss(Part::Device);
                    self.fail_without_spare(Failure { device: self.media.device_of(member), fault });
                }
                Order::GiveUp { old, .. } => {
                    self.media.set_health(old, Health::ReadWrite);
                    self.replacement_ends(Outcome::GivenUp);
                    self.failures.rebuild_elsewhere();
                }
                Order::Abandon { .. } => self.replacement_ends(Outcome::Failed),
                Order::End { old, new, stays } => {
                    if !stays {
                        self.media.set_health(old, Health::Disabled);
                    }
                    let record = self.replacements.records.last_mut().expect("one runs");
                    // Another spare SSD may have taken the place of the first one.
                    record.new_device = self.media.device_of(new).expect("a member is an SSD");
                    record.is_shadow = stays;
                    #[cfg(feature = "mutants")]
                    if stays {
                        self.note_shadow(old, new);
                    }
                    self.replacement_ends(Outcome::Replaced);
                }
                Order::ServeHost => self.serve_held(),
                Order::Drop(member) => self.media.set_health(member, Health::Disabled),
            }
        }
        any
    }

    fn replacement_begins(&mut self, old: MemberId, new: MemberId, host_waits: bool) {
        self.media.use_spare(new, old);
        let migrated_before = self.scheme.replacing().expect("it has ordered this").migrated();
        if let Some(former) = self.replacements.records.last_mut() {
            former.shadow_reads.1 = Some(migrated_before.shadow_reads);
        }
        self.part_latencies(self.clock.now_ns());
        let device = |member| self.media.device_of(member).expect("a member is an SSD");
        self.replacements.records.push(ReplacementRecord {
            old_device: device(old),
            new_device: device(new),
            started_ns: self.clock.now_ns(),
            ended_ns: None,
            outcome: Outcome::Running,
            migrated: Migrated::default(),
            latency: Latency::default(),
            reads_after: Latency::default(),
            is_shadow: false,
            migrated_before,
            shadow_reads: (0, None),
        });
        if host_waits {
            self.replacements.held = Some(VecDeque::new());
        }
    }

    fn replacement_ends(&mut self, outcome: Outcome) {
        let (now_ns, migrated) = (self.clock.now_ns(), self.scheme.replacing().expect("it has ordered this").migrated());
        let record = self.replacements.records.last_mut().expect("one runs");
        (record.outcome, record.ended_ns) = (outcome, Some(now_ns));
        record.migrated = migrated.since(&record.migrated_before);
        record.shadow_reads.0 = migrated.shadow_reads;
        self.failures.retired += u32::from(outcome == Outcome::Replaced);
        self.serve_held();
    }

    fn serve_held(&mut self) {
        for id in self.replacements.held.take().into_iter().flatten() {
            let Request { op, offset_bytes, size_bytes, .. } = self.requests[id];
            self.serve_request(id, op, offset_bytes, size_bytes);
        }
    }

    /// A rebuild or a replacement begins.
    pub(super) fn part_latencies(&mut self, now_ns: u64) {
        let before = &self.statistics.latency;
        self.around.get_or_insert_with(|| Box::new(Around::new(now_ns, before)));
    }

    /// A measured request has completed that arrived then, after a rebuild or a replacement had begun.
    #[cold]
    pub(super) fn note_around(&mut self, op: HostOp, arrival_ns: u64, latency_ns: u64) {
        let is_during = self.failures.is_rebuilt_at(arrival_ns) || self.replacements.ran_at(arrival_ns);
        if let Some(around) = &mut self.around {
            around.note(op, arrival_ns, latency_ns, is_during);
        }
    }
}
