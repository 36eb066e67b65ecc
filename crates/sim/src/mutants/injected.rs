//! What the engine does, and what its rebuild sees, with a deliberate fault.

use super::EngineFault;
use super::mutant::Mutant;
use crate::engine::content::Content;
use crate::media::Media;
use flashraid_redundancy::rebuild::Rebuild;
use flashraid_redundancy::{Job, Lock, Operation, OperationKind, Scheme};
use flashraid_vocabulary::{Change, Health, LoadView, MemberId, MemberPage, Ppn, ReadLoad, SemivalidAction, SsdView, Version, View, Wave};
use std::collections::BTreeSet;

/// The deliberate fault of an engine, if it has one.
#[derive(Clone, Debug, Default)]
pub struct Injected(Option<Mutant>);

impl Injected {
    /// This fault, of an engine whose scheme keeps these pages for the sake of others.
    pub(crate) fn new(fault: EngineFault, redundancy: impl Iterator<Item = MemberPage>) -> Self {
        let redundancy = redundancy.map(|page| (page.page.0, page.member.0)).collect();
        Self(Some(Mutant { fault, late: Vec::new(), redundancy, lacking: BTreeSet::new(), shadows: Vec::new() }))
    }

    /// Whether it is this fault that the engine makes.
    pub(crate) fn has(&self, fault: EngineFault) -> bool {
        self.0.as_ref().is_some_and(|mutant| mutant.fault == fault)
    }

    /// Spoils the wave that `operation` is about to run.
    pub(crate) fn distort(&mut self, operation: &Operation, media: &impl Media, wave: &mut Wave) {
        if let Some(mutant) = &mut self.0 {
            mutant.distort(operation, media, wave);
        }
    }

    /// What GC is told about a semivalid page.
    pub(crate) fn distort_action(&self, action: SemivalidAction) -> SemivalidAction {
        if self.has(EngineFault::EraseSemivalid) { SemivalidAction::Free } else { action }
    }

    /// What a repair locks.
    pub(crate) fn distort_repair(&self, repair: Operation) -> Operation {
        if self.has(EngineFault::RepairUnlocked) { Operation { lock: Lock::None, ..repair } } else { repair }
    }

    /// The next repair; none any more if it counts as done.
    pub(crate) fn next_repair(&self, rebuild: &mut Rebuild, scheme: &dyn Scheme, view: &dyn View) -> Option<Operation> {
        match &self.0 {
            Some(mutant) if matches!(mutant.fault, EngineFault::RebuildOnlyCurrent | EngineFault::RebuildOnlyData) => {
                rebuild.next(scheme, &Blinkered { view, mutant })
            }
            _ => rebuild.next(scheme, view),
        }
    }

    /// Whether a program that has ended is one whose content comes later: when something is submitted next.
    pub(crate) fn puts_off(&mut self, operation: &Operation, record: u32, ppn: Ppn) -> bool {
        let of_kind = |fault, kind| self.has(fault) && operation.kind == kind;
        let puts_off = of_kind(EngineFault::SwitchBeforeProgram, OperationKind::Repair)
            || of_kind(EngineFault::SwitchBeforeCopy, OperationKind::Migrate);
        if let Some(mutant) = self.0.as_mut().filter(|_| puts_off) {
            mutant.late.push((record, ppn));
        }
        puts_off
    }

    /// Programs what was put off.
    pub(crate) fn program_late(&mut self, content: &mut impl Content) {
        let late = self.0.as_mut().map(|mutant| std::mem::take(&mut mutant.late));
        late.into_iter().flatten().for_each(|(record, ppn)| content.programmed(record, ppn));
    }

    /// Of what follows from the loss of the parity cache, what is done.
    pub(crate) fn distort_parity_cache_lost(&self, changes: &mut Vec<Change>) {
        if self.has(EngineFault::TrustOldParity) {
            changes.retain(|change| !matches!(change, Change::Lose(_)));
        }
    }

    /// Changes that an operation of this kind makes when the wave starts, though they are due at its end.
    pub(crate) fn take_early(&self, kind: OperationKind, changes: &mut Vec<Change>) -> Vec<Change> {
        let (commits, fault) = (kind == OperationKind::Commit, self.0.as_ref().map(|mutant| mutant.fault));
        let is_early = |change: &Change| match change {
            Change::ReleaseBase(_) => commits && fault == Some(EngineFault::ReleaseBaseEarly),
            Change::ReleaseDeferred(_) => commits && fault == Some(EngineFault::ReleaseDeferredEarly),
            Change::Defer(..) => !commits && fault == Some(EngineFault::DelayEarly),
            _ => false,
        };
        changes.extract_if(.., |change| is_early(change)).collect()
    }

    /// Whether what an operation programmed is forgotten at its end.
    pub(crate) fn forgets(&self, operation: &Operation, is_unallocated: bool) -> bool {
        self.has(EngineFault::KeepDeadMapping) && operation.kind == OperationKind::Repair
            || self.has(EngineFault::KeepUnplaced) && is_unallocated
    }

    /// An operation has moved strips, and the scheme is told that it has failed.
    pub(crate) fn keeps_row(&self, operation: &Operation) -> bool {
        self.has(EngineFault::KeepRow) && operation.is_placed
    }

    /// The replacement of an SSD that stays as a shadow has ended.
    pub(crate) fn note_shadow(&mut self, old: MemberId, new: MemberId) {
        self.0.iter_mut().for_each(|mutant| mutant.shadows.push((new, old)));
    }

    /// Takes an SSD out that is being replaced, of which half the strips have moved.
    pub(crate) fn take_out_half_way(&self, old_device: u32, share: f64, media: &mut impl Media) {
        if !self.has(EngineFault::TakeOutHalfWay) || share < 0.5 {
            return;
        }
        let old = media.ssds()[old_device as usize].member.map(|member| MemberId(member as u16));
        if let Some(old) = old.filter(|old| media.health(*old) == Health::ReadOnly) {
            media.set_health(old, Health::Disabled);
        }
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
