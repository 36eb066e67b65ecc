//! What the engine does, and what its rebuild sees, with a deliberate fault.

use super::{BufferFault, EngineFault, Mutant};
use crate::engine::Engine;
use crate::engine::content::Content;
use crate::media::Media;
use flashraid_redundancy::rebuild::Rebuild;
use flashraid_redundancy::{Job, Lock, Operation, OperationKind};
use flashraid_vocabulary::{
    Change, Health, LoadView, Lpn, MemberId, MemberPage, Ppn, ReadLoad, SemivalidAction, SsdView, Version, View, Wave,
};
use std::collections::BTreeSet;

impl<C: Content, M: Media> Engine<C, M> {
    /// From now on the engine makes this fault whenever it can.
    pub fn inject(&mut self, fault: EngineFault) {
        match fault {
            EngineFault::Flash(fault) => self.media.make(fault),
            EngineFault::Buffer(fault) if self.buffer.is_some() => self.inject_into_buffer(fault),
            EngineFault::Buffer(_) => {}
            _ => {
                let mut pages = Vec::new();
                (0..self.space_pages()).for_each(|page| self.scheme().redundancy_of(Lpn(page), &mut pages));
                let redundancy = pages.into_iter().map(|page| (page.page.0, page.member.0)).collect();
                self.mutant = Some(Mutant { fault, late: Vec::new(), redundancy, lacking: BTreeSet::new(), shadows: Vec::new() });
            }
        }
    }

    /// Whether it is this fault that the engine makes.
    pub(crate) fn has_fault(&self, fault: EngineFault) -> bool {
        self.mutant.as_ref().is_some_and(|mutant| mutant.fault == fault)
    }

    /// What GC is told about a semivalid page.
    pub(crate) fn distort_action(&self, action: SemivalidAction) -> SemivalidAction {
        if self.has_fault(EngineFault::EraseSemivalid) { SemivalidAction::Free } else { action }
    }

    /// What a repair locks.
    pub(crate) fn distort_repair(&self, repair: Operation) -> Operation {
        if self.has_fault(EngineFault::RepairUnlocked) { Operation { lock: Lock::None, ..repair } } else { repair }
    }

    /// The next repair; none any more if it counts as done.
    pub(crate) fn next_repair(&self, rebuild: &mut Rebuild) -> Option<Operation> {
        let view = &self.media;
        match &self.mutant {
            Some(mutant) if matches!(mutant.fault, EngineFault::RebuildOnlyCurrent | EngineFault::RebuildOnlyData) => {
                rebuild.next(self.scheme(), &Blinkered { view, mutant })
            }
            _ => rebuild.next(self.scheme(), view),
        }
    }

    /// Whether a program that has ended is one whose content comes later: when something is submitted next.
    pub(crate) fn puts_off(&mut self, operation: &Operation, record: u32, ppn: Ppn) -> bool {
        let of_kind = |fault, kind| self.has_fault(fault) && operation.kind == kind;
        let puts_off = of_kind(EngineFault::SwitchBeforeProgram, OperationKind::Repair)
            || of_kind(EngineFault::SwitchBeforeCopy, OperationKind::Migrate);
        if let Some(mutant) = self.mutant.as_mut().filter(|_| puts_off) {
            mutant.late.push((record, ppn));
        }
        puts_off
    }

    /// Of what follows from the loss of the parity cache, what is done.
    pub(crate) fn distort_parity_cache_lost(&self, changes: &mut Vec<Change>) {
        if self.has_fault(EngineFault::TrustOldParity) {
            changes.retain(|change| !matches!(change, Change::Lose(_)));
        }
    }

    /// Makes changes when the wave starts that are due at its end.
    pub(crate) fn change_early(&mut self, id: u32, wave: &mut Wave) {
        let operation = *self.operations.operation(id);
        let commits = operation.kind == OperationKind::Commit;
        let is_early = |fault: Option<EngineFault>, change: &Change| match change {
            Change::ReleaseBase(_) => commits && fault == Some(EngineFault::ReleaseBaseEarly),
            Change::ReleaseDeferred(_) => commits && fault == Some(EngineFault::ReleaseDeferredEarly),
            Change::Defer(..) => !commits && fault == Some(EngineFault::DelayEarly),
            _ => false,
        };
        let fault = self.mutant.as_ref().map(|mutant| mutant.fault);
        let early: Vec<Change> = wave.changes.extract_if(.., |change| is_early(fault, change)).collect();
        early.into_iter().for_each(|change| self.apply(id, &operation, change));
    }

    /// Programs what was put off.
    pub(crate) fn program_late(&mut self) {
        let late = self.mutant.as_mut().map(|mutant| std::mem::take(&mut mutant.late));
        late.into_iter().flatten().for_each(|(record, ppn)| self.content.programmed(record, ppn));
    }

    /// Whether what an operation programmed is forgotten at its end.
    pub(crate) fn forgets(&self, operation: &Operation, record: u32) -> bool {
        self.has_fault(EngineFault::KeepDeadMapping) && operation.kind == OperationKind::Repair
            || self.has_fault(EngineFault::KeepUnplaced) && self.media.program(record).is_unallocated
    }

    /// An operation has moved strips, and the scheme is told that it has failed.
    pub(crate) fn keeps_row(&self, operation: &Operation) -> bool {
        self.has_fault(EngineFault::KeepRow) && operation.is_placed
    }

    /// The replacement of an SSD that stays as a shadow has ended.
    pub(crate) fn note_shadow(&mut self, old: MemberId, new: MemberId) {
        self.mutant.iter_mut().for_each(|mutant| mutant.shadows.push((new, old)));
    }

    /// Takes an SSD out of which half the strips have moved.
    pub(crate) fn take_out_half_way(&mut self) {
        if !self.has_fault(EngineFault::TakeOutHalfWay) || self.replaced_share().is_none_or(|share| share < 0.5) {
            return;
        }
        let old = self.survey().running_replacement().and_then(|record| self.media.ssds()[record.old_device as usize].member);
        let old = old.map(|member| MemberId(member as u16));
        if let Some(old) = old.filter(|old| self.media.health(*old) == Health::ReadOnly) {
            self.media.set_health(old, Health::Disabled);
        }
    }

    /// From now on the data buffer, which there must be, makes this fault whenever it can.
    pub fn inject_into_buffer(&mut self, fault: BufferFault) {
        if fault == BufferFault::SkipReadBeforeWrite {
            self.inject(EngineFault::SkipUpdateRead);
        }
        self.buffer.as_mut().expect("a buffer").mutant = Some(fault);
    }
}

/// What the rebuild sees that overlooks some of what is lost.
struct Blinkered<'a> {
    view: &'a dyn View,
    mutant: &'a Mutant,
}

impl View for Blinkered<'_> {
    fn is_lost(&self, address: MemberPage, version: Version) -> bool {
        let sees = match self.mutant.fault {
            EngineFault::RebuildOnlyData => !self.mutant.redundancy.contains(&(address.page.0, address.member.0)),
            _ => version == Version::Current,
        };
        sees && self.view.is_lost(address, version)
    }

    fn now_ns(&self) -> u64 {
        self.view.now_ns()
    }

    fn is_written(&self, address: MemberPage, version: Version) -> bool {
        self.view.is_written(address, version)
    }

    fn has_failures(&self) -> bool {
        self.view.has_failures()
    }

    fn can_allocate(&self, address: MemberPage) -> bool {
        self.view.can_allocate(address)
    }

    fn space_of(&self, address: MemberPage) -> u32 {
        self.view.space_of(address)
    }

    fn has_mirror(&self, member: MemberId) -> bool {
        self.view.has_mirror(member)
    }

    fn pages_gone(&self, member: MemberId) -> u32 {
        self.view.pages_gone(member)
    }

    fn takes_copy(&self, member: MemberId) -> bool {
        self.view.takes_copy(member)
    }

    fn bases(&self, member: MemberId) -> u32 {
        self.view.bases(member)
    }

    fn copies(&self, member: MemberId) -> u32 {
        self.view.copies(member)
    }
}

impl LoadView for Blinkered<'_> {
    fn queued(&self, member: MemberId) -> (u32, u32) {
        self.view.queued(member)
    }

    fn load_at(&self, address: MemberPage, version: Version) -> u32 {
        self.view.load_at(address, version)
    }

    fn busy_ns_at(&self, address: MemberPage, version: Version) -> u64 {
        self.view.busy_ns_at(address, version)
    }

    fn channel_load_at(&self, address: MemberPage) -> u32 {
        self.view.channel_load_at(address)
    }

    fn read_load(&self, address: MemberPage, version: Version) -> Option<ReadLoad> {
        self.view.read_load(address, version)
    }

    fn is_idle(&self, member: MemberId) -> bool {
        self.view.is_idle(member)
    }
}

impl SsdView for Blinkered<'_> {}
