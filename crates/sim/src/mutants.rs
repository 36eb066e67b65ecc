//! Deliberate faults, all of them, for tests of the checkers only (feature `mutants`): each must be caught by verification.
//!
//! Some are made by the flash and the map on it (`flashraid_flash::FlashFault`), some by the data buffer (`crate::buffer`); the others distort what a scheme decides
//! or the waves that it plans, before the engine executes them.

use crate::engine::Engine;
use crate::engine::content::Content;
use crate::media::{FlashFault, Media};
use flashraid_redundancy::rebuild::Rebuild;
use flashraid_redundancy::{Job, Lock, Method, Operation, OperationKind};
use flashraid_vocabulary::{
    Action, Cause, Change, LocalPage, Lpn, MemberId, MemberPage, PageOperation, Ppn, Ruling, StripeId, Version, View, Wave,
};
use std::collections::BTreeSet;

/// One deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// RMW: the pre-read of a changed strip delivers the version that this write makes, instead of the one that the parity covers. The
    /// two cancel out, so the parity stays as it was for this strip.
    WrongVersionInRmw,
    /// One pre-read is not made, and its content is missing in the parity.
    SkipPreRead,
    /// Two programs get each other's sources.
    SwapSources,
    /// The flash or the map on it makes this fault.
    Flash(FlashFault),
    /// The parity is not programmed.
    DropParityProgram,
    /// A trim unmaps its pages and leaves the parity as it was.
    ForgetTrimInParity,
    /// The host is answered while the last program is under way.
    AcknowledgeEarly,
    /// The update read beneath a part of a page is not made.
    SkipUpdateRead,
    /// RMW of a mirrored strip reads the current version instead of the base that the parity covers.
    CurrentForBase,
    /// A mirrored write lets go of the version that the parity covers.
    DropBase,
    /// The copy of a strip that has one already stays as it was.
    StaleCopy,
    /// DFTL: a translation page is programmed on one member only.
    StoreMapOnce,
    /// DFTL: a translation page counts as written when its first copy is.
    SwitchMapEarly,
    /// The collector erases a semivalid page as if nobody needed it.
    EraseSemivalid,
    /// A write that ends the mirroring of a strip leaves its copy.
    ForgetMirror,
    /// An operation that brings a parity up to date leaves the base that it covered before.
    KeepBase,
    /// A repair reads a superseded version of a strip.
    RepairFromStale,
    /// A repair does not lock its stripe, so what it programs may supersede a later write.
    RepairUnlocked,
    /// A repair reads the strips of another stripe.
    RepairFromOtherStripe,
    /// The map names the page of a repair before it is programmed.
    SwitchBeforeProgram,
    /// The rebuild is done when it has passed half of the stripes.
    EndRebuildEarly,
    /// Nothing counts as damaged but current versions: bases and copies are not repaired.
    RebuildOnlyCurrent,
    /// Nothing counts as damaged but data: no parity, and of copies the first one alone.
    RebuildOnlyData,
    /// What a repair has programmed is not entered in the map, which goes on naming the dead page.
    KeepDeadMapping,
    /// A read under way in a part that dies delivers what is there.
    ReadWhatIsDead,
    /// A failed program is not repeated.
    ForgetRetry,
    /// A page that finds no place is not noted as lost: its former version stays.
    KeepUnplaced,
    /// A delayed parity stays as it was when a page of its stripe is written.
    ForgetDelay,
    /// The content that an update supersedes is not taken out of the delayed parity (SPEC 4.4, case 3).
    KeepInDelayed,
    /// A commit leaves out what NVRAM holds.
    CommitWithoutDelayed,
    /// A commit leaves out one of the pages that it has read.
    CommitShort,
    /// An update leaves out what NVRAM held of the parity before.
    RestartDelayed,
    /// A delayed parity stays as it was when pages of its stripe are trimmed.
    ForgetTrimInDelayed,
    /// NVRAM takes an update of a delayed parity over before its data are programmed.
    DelayEarly,
    /// A commit that finds no page for its parity (widening) lets go of the old versions, and leaves in NVRAM what is there.
    WidenWithoutDelay,
    /// A repair leaves out what NVRAM holds.
    RepairWithoutDelayed,
    /// A commit lets go of the old versions when it starts, not when its parity is programmed.
    ReleaseBaseEarly,
    /// A commit lets go of what NVRAM holds when it starts, not when its parity is programmed.
    ReleaseDelayedEarly,
    /// With the parity cache lost, the parities on flash count as up to date.
    TrustOldParity,
    /// The rebuild never looks at the last stripe.
    SkipLastStripe,
    /// The rebuild is not told of a page that found no place.
    ForgetUnplaced,
    /// An operation goes on with what its other reads delivered when one has failed.
    UseFailedRead,
    /// A fault of the data buffer, if the device has one.
    Buffer(BufferFault),
    /// A flush waits for nothing that was written before it.
    FlushAtOnce,
    /// A flush is answered when what it writes is in the registers of dies.
    FlushToRegisters,
    /// DFTL: translation pages of which a copy is lost are not repaired.
    SkipMapRepair,
}

/// One deliberate fault of a device with a data buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferFault {
    /// The read-before-write of an eviction is not made.
    SkipReadBeforeWrite,
    /// The bitmap of the sectors that flash holds says that every eviction covers them.
    AlwaysCovers,
    /// Sectors written to a buffered page are not noted.
    LoseMerge,
    /// An eviction does not wait for the former one of its page.
    Overtake,
    /// Reads do not see pages on their way out, but what flash holds beneath.
    ReadBeneath,
    /// A trim leaves what is buffered.
    ForgetTrim,
    /// The last page of a stripe that leaves NVRAM is not written.
    LosePage,
    /// A page that was written again while it left is forgotten when it has left.
    ForgetRewritten,
    /// A read of a page on its way out takes what flash holds, as yet.
    FlashForLeaving,
    /// A read of a page of which the buffer holds a part takes from flash whatever that holds.
    FlashForPart,
    /// The first sector of a page comes from flash if that holds it, though the buffer does too.
    FlashForFirstSector,
    /// A read of a page that is not buffered takes its neighbour's entry.
    NeighbourOnMiss,
    /// Of several versions of a page on their way out, reads see the last one alone.
    OnlyLastDeparture,
    /// Of several versions of a page on their way out, reads see the first one alone.
    OnlyFirstDeparture,
    /// What is missing of a page of which the buffer holds a part counts as never written.
    ZeroesForFlash,
    /// What left before a trim is still seen while the trim is under way.
    KeepBeneathTrim,
    /// An eviction covers what flash holds if it has as many sectors.
    CoversByCount,
    /// An eviction does not note that its sectors are on flash.
    ForgetMark,
    /// Of each run of sectors that an eviction writes, the last one is not noted as being on flash.
    MarkShort,
}

/// Every fault of a data buffer; of one in DRAM all but the last two.
pub const BUFFER_FAULTS: [BufferFault; 19] = [
    BufferFault::SkipReadBeforeWrite,
    BufferFault::AlwaysCovers,
    BufferFault::LoseMerge,
    BufferFault::Overtake,
    BufferFault::ReadBeneath,
    BufferFault::ForgetTrim,
    BufferFault::FlashForLeaving,
    BufferFault::FlashForPart,
    BufferFault::FlashForFirstSector,
    BufferFault::NeighbourOnMiss,
    BufferFault::OnlyLastDeparture,
    BufferFault::OnlyFirstDeparture,
    BufferFault::ZeroesForFlash,
    BufferFault::KeepBeneathTrim,
    BufferFault::CoversByCount,
    BufferFault::ForgetMark,
    BufferFault::MarkShort,
    BufferFault::LosePage,
    BufferFault::ForgetRewritten,
];

/// Every fault.
pub const FAULTS: [Fault; 15] = [
    Fault::WrongVersionInRmw,
    Fault::SkipPreRead,
    Fault::SwapSources,
    Fault::Flash(FlashFault::StaleMove),
    Fault::Flash(FlashFault::EraseUnderRead),
    Fault::DropParityProgram,
    Fault::ForgetTrimInParity,
    Fault::AcknowledgeEarly,
    Fault::SkipUpdateRead,
    Fault::CurrentForBase,
    Fault::DropBase,
    Fault::StaleCopy,
    Fault::StoreMapOnce,
    Fault::SwitchMapEarly,
    Fault::Flash(FlashFault::ForgetMoves),
];

/// A fault at work.
#[derive(Clone, Debug)]
pub struct Mutant {
    fault: Fault,
    /// Programs (record, page) of repairs of which the content is still to come.
    late: Vec<(u32, Ppn)>,
    /// Pages that are kept for the sake of others.
    redundancy: BTreeSet<(u32, u16)>,
    /// Stripes whose operation lost a pre-read and has not programmed its parity yet.
    lacking: BTreeSet<StripeId>,
}

impl<C: Content, M: Media> Engine<C, M> {
    /// From now on the engine makes this fault whenever it can.
    pub fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::Flash(fault) => self.media.make(fault),
            Fault::Buffer(fault) if self.buffer.is_some() => self.inject_into_buffer(fault),
            Fault::Buffer(_) => {}
            _ => {
                let mut pages = Vec::new();
                (0..self.space_pages()).for_each(|page| self.scheme().redundancy_of(Lpn(page), &mut pages));
                let redundancy = pages.into_iter().map(|page| (page.page.0, page.member.0)).collect();
                self.mutant = Some(Mutant { fault, late: Vec::new(), redundancy, lacking: BTreeSet::new() });
            }
        }
    }

    /// Whether it is this fault that the engine makes.
    pub(crate) fn has_fault(&self, fault: Fault) -> bool {
        self.mutant.as_ref().is_some_and(|mutant| mutant.fault == fault)
    }

    /// What the collector is told about a semivalid page.
    pub(crate) fn distort_ruling(&self, ruling: Ruling) -> Ruling {
        if self.has_fault(Fault::EraseSemivalid) { Ruling::Free } else { ruling }
    }

    /// What a repair locks.
    pub(crate) fn distort_repair(&self, repair: Operation) -> Operation {
        if self.has_fault(Fault::RepairUnlocked) { Operation { lock: Lock::None, ..repair } } else { repair }
    }

    /// The next repair; none any more if it counts as done.
    pub(crate) fn next_repair(&self, rebuild: &mut Rebuild) -> Option<Operation> {
        let view = &self.media;
        match &self.mutant {
            Some(mutant) if matches!(mutant.fault, Fault::RebuildOnlyCurrent | Fault::RebuildOnlyData) => {
                rebuild.next(self.scheme(), &Blinkered { view, mutant })
            }
            _ => rebuild.next(self.scheme(), view),
        }
    }

    /// Whether a program that has ended is one whose content comes later: when something is submitted next.
    pub(crate) fn puts_off(&mut self, operation: &Operation, record: u32, ppn: Ppn) -> bool {
        let puts_off = self.has_fault(Fault::SwitchBeforeProgram) && operation.kind == OperationKind::Repair;
        if let Some(mutant) = self.mutant.as_mut().filter(|_| puts_off) {
            mutant.late.push((record, ppn));
        }
        puts_off
    }

    /// Of what follows from the loss of the parity cache, what is done.
    pub(crate) fn distort_parity_cache_lost(&self, changes: &mut Vec<Change>) {
        if self.has_fault(Fault::TrustOldParity) {
            changes.retain(|change| !matches!(change, Change::Lose(_)));
        }
    }

    /// Makes changes when the wave starts that are due at its end.
    pub(crate) fn change_early(&mut self, id: u32, wave: &mut Wave) {
        let operation = *self.operation(id);
        let commits = operation.kind == OperationKind::Commit;
        let is_early = |fault: Option<Fault>, change: &Change| match change {
            Change::ReleaseBase(_) => commits && fault == Some(Fault::ReleaseBaseEarly),
            Change::ReleaseDelayed(_) => commits && fault == Some(Fault::ReleaseDelayedEarly),
            Change::Delay(..) => !commits && fault == Some(Fault::DelayEarly),
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
        self.has_fault(Fault::KeepDeadMapping) && operation.kind == OperationKind::Repair
            || self.has_fault(Fault::KeepUnplaced) && self.media.is_unplaced(record)
    }

    /// From now on the data buffer, which there must be, makes this fault whenever it can.
    pub fn inject_into_buffer(&mut self, fault: BufferFault) {
        if fault == BufferFault::SkipReadBeforeWrite {
            self.inject(Fault::SkipUpdateRead);
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
            Fault::RebuildOnlyData => !self.mutant.redundancy.contains(&(address.page.0, address.member.0)),
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
    fn is_idle(&self, member: MemberId) -> bool {
        self.view.is_idle(member)
    }
    fn has_failures(&self) -> bool {
        self.view.has_failures()
    }
    fn has_room(&self, address: MemberPage) -> bool {
        self.view.has_room(address)
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

impl Mutant {
    /// Whether reads that fail deliver something all the same.
    pub(crate) fn reads_what_is_dead(&self) -> bool {
        self.fault == Fault::ReadWhatIsDead
    }

    /// Whether an operation goes on without what a failed read should have delivered.
    pub(crate) fn uses_failed_reads(&self) -> bool {
        self.fault == Fault::UseFailedRead
    }

    /// Spoils the wave that `operation` is about to run.
    pub(crate) fn distort(&mut self, operation: &Operation, media: &impl Media, wave: &mut Wave) {
        let is_readable = |page: MemberPage, version: Version| media.lookup(page, version).is_some() && !media.is_lost(page, version);
        let is_repair = operation.kind == OperationKind::Repair;
        match self.fault {
            Fault::ForgetMirror if operation.kind == OperationKind::Write => {
                wave.changes.retain(|change| !matches!(change, Change::ReleaseCopy(_)));
            }
            Fault::KeepBase => wave.changes.retain(|change| !matches!(change, Change::ReleaseBase(_))),
            Fault::RepairFromStale if is_repair => {
                let reads = wave.operations.iter_mut().filter(|read| read.action == Action::Read && read.version == Version::Current);
                reads.filter(|read| is_readable(read.address, Version::Base)).for_each(|read| read.version = Version::Base);
            }
            Fault::RepairFromOtherStripe if is_repair => {
                let other = |page: MemberPage| MemberPage { page: LocalPage(page.page.0 ^ 1), ..page };
                let reads = || wave.operations.iter().filter(|read| read.action == Action::Read);
                if reads().all(|read| {
                    other(read.address).page.0 < media.shape().pages_per_member && is_readable(other(read.address), read.version)
                }) {
                    let reads = wave.operations.iter_mut().filter(|read| read.action == Action::Read);
                    reads.for_each(|read| read.address = other(read.address));
                }
            }
            Fault::WrongVersionInRmw if operation.method == Method::Rmw && operation.kind == OperationKind::Write => {
                if let Some(parity) = parity_program(wave)
                    && parity.sources.reads.count_ones() > 1
                {
                    // Reads and strips are in the same order: the first read is of the lowest strip.
                    parity.sources.reads &= parity.sources.reads - 1;
                    parity.sources.host &= parity.sources.host - 1;
                }
            }
            Fault::SkipPreRead => self.skip_pre_read(operation, wave),
            Fault::SwapSources => {
                let mut programs = wave.operations.iter_mut().filter(|page_operation| page_operation.action == Action::Program);
                if let (Some(first), Some(second)) = (programs.next(), programs.next()) {
                    std::mem::swap(&mut first.sources, &mut second.sources);
                }
            }
            Fault::DropParityProgram => wave.operations.retain(|page_operation| page_operation.cause != Cause::Parity),
            Fault::StoreMapOnce if is_map_program(wave) => {
                wave.operations.pop();
            }
            Fault::ForgetTrimInParity if operation.kind == OperationKind::Trim => {
                wave.operations.retain(|page_operation| page_operation.action != Action::Program);
            }
            Fault::SkipUpdateRead => wave.operations.retain(|page_operation| page_operation.cause != Cause::UpdateRead),
            Fault::AcknowledgeEarly => {
                if let Some(last) = wave.operations.iter_mut().rfind(|page_operation| page_operation.action == Action::Program) {
                    last.host_waits = false;
                }
            }
            Fault::CurrentForBase => {
                let bases = wave.operations.iter_mut().filter(|page_operation| page_operation.version == Version::Base);
                bases.for_each(|read| read.version = Version::Current);
            }
            Fault::ForgetDelay => wave.changes.retain(|change| !matches!(change, Change::Delay(..))),
            Fault::KeepInDelayed => wave.changes.iter_mut().for_each(|change| {
                if let Change::Delay(_, sources) = change {
                    sources.reads = 0;
                }
            }),
            Fault::CommitWithoutDelayed if operation.kind == OperationKind::Commit => {
                wave.operations.iter_mut().for_each(|program| program.sources.delayed = false);
            }
            Fault::CommitShort if operation.kind == OperationKind::Commit => {
                wave.operations.iter_mut().for_each(|program| program.sources.reads &= program.sources.reads.wrapping_sub(1));
            }
            Fault::RestartDelayed => wave.changes.iter_mut().for_each(|change| {
                if let Change::Delay(_, sources) = change {
                    sources.delayed = false;
                }
            }),
            Fault::ForgetTrimInDelayed if operation.kind == OperationKind::Trim => {
                wave.changes.retain(|change| !matches!(change, Change::Delay(..)));
            }
            Fault::WidenWithoutDelay if operation.kind == OperationKind::Commit => {
                wave.changes.retain(|change| !matches!(change, Change::Delay(..)));
            }
            Fault::RepairWithoutDelayed if is_repair => {
                wave.operations.iter_mut().for_each(|program| program.sources.delayed = false);
            }
            Fault::DropBase => wave.operations.iter_mut().for_each(|page_operation| page_operation.keep_base = false),
            Fault::StaleCopy => {
                let newly_mirrored: Vec<_> =
                    wave.operations.iter().filter(|program| program.keep_base).map(|program| program.address).collect();
                let is_copy = |operation: &PageOperation| operation.action == Action::Program && operation.version == Version::Copy;
                wave.operations.retain(|operation| !is_copy(operation) || newly_mirrored.contains(&operation.address));
            }
            _ => {}
        }
    }

    /// Takes the last pre-read out of a wave, and out of the sources of the parity in the wave after it.
    fn skip_pre_read(&mut self, operation: &Operation, wave: &mut Wave) {
        let is_pre_read = |last: &PageOperation| last.cause == Cause::PreRead && last.strip == PageOperation::NO_STRIP;
        if wave.operations.last().is_some_and(is_pre_read) {
            wave.operations.pop();
            self.lacking.insert(operation.stripe);
        } else if let Some(parity) = parity_program(wave)
            && self.lacking.remove(&operation.stripe)
        {
            parity.sources.reads &= !(1 << (63 - parity.sources.reads.leading_zeros()));
        }
    }
}

fn is_map_program(wave: &Wave) -> bool {
    wave.operations.iter().any(|page_operation| page_operation.cause == Cause::Metadata && page_operation.action == Action::Program)
}

fn parity_program(wave: &mut Wave) -> Option<&mut PageOperation> {
    wave.operations.iter_mut().find(|page_operation| page_operation.cause == Cause::Parity)
}
