//! A deliberate fault at work on the waves that a scheme plans.

use super::EngineFault;
use crate::media::Media;
use flashraid_redundancy::{Method, Operation, OperationKind};
use flashraid_vocabulary::{Action, Cause, Change, Health, LocalPage, MemberId, MemberPage, PageOperation, Ppn, StripeId, Version, Wave};
use std::collections::BTreeSet;

/// A fault at work.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub(super) fault: EngineFault,
    /// Programs (record, page) of repairs of which the content is still to come.
    pub(super) late: Vec<(u32, Ppn)>,
    /// Pages that are kept for the sake of others.
    pub(super) redundancy: BTreeSet<(u32, u16)>,
    /// Stripes whose operation lost a pre-read and has not programmed its parity yet.
    pub(super) lacking: BTreeSet<StripeId>,
    /// SSDs that were replaced by others, and stay as their shadows: the new one and the old one.
    pub(super) shadows: Vec<(MemberId, MemberId)>,
}

impl Mutant {
    /// Spoils the wave that `operation` is about to run.
    pub(crate) fn distort(&mut self, operation: &Operation, media: &impl Media, wave: &mut Wave) {
        let is_readable = |page: MemberPage, version: Version| is_readable(media, page, version);
        let is_repair = operation.kind == OperationKind::Repair;
        match self.fault {
            EngineFault::ForgetMirror if operation.kind == OperationKind::Write => {
                wave.changes.retain(|change| !matches!(change, Change::ReleaseCopy(_)));
            }
            EngineFault::KeepBase => wave.changes.retain(|change| !matches!(change, Change::ReleaseBase(_))),
            EngineFault::RepairFromStale if is_repair => {
                let reads = wave.operations.iter_mut().filter(|read| read.action == Action::Read && read.version == Version::Current);
                reads.filter(|read| is_readable(read.address, Version::Base)).for_each(|read| read.version = Version::Base);
            }
            EngineFault::RepairFromOtherStripe if is_repair => read_other_stripe(media, wave),
            EngineFault::WrongVersionInRmw if operation.method == Method::Rmw && operation.kind == OperationKind::Write => {
                if let Some(parity) = parity_program(wave)
                    && parity.sources.reads.count_ones() > 1
                {
                    // Reads and strips are in the same order: the first read is of the lowest strip.
                    parity.sources.reads &= parity.sources.reads - 1;
                    parity.sources.host &= parity.sources.host - 1;
                }
            }
            EngineFault::SkipPreRead => self.skip_pre_read(operation, wave),
            EngineFault::SwapSources => {
                let mut programs = wave.operations.iter_mut().filter(|page_operation| page_operation.action == Action::Program);
                if let (Some(first), Some(second)) = (programs.next(), programs.next()) {
                    std::mem::swap(&mut first.sources, &mut second.sources);
                }
            }
            EngineFault::DropParityProgram => wave.operations.retain(|page_operation| page_operation.cause != Cause::Parity),
            EngineFault::ForgetWeights => wave.operations.iter_mut().for_each(|program| program.sources.weights = 0),
            EngineFault::ForgetWeightsOfLost => wave.deliveries.iter_mut().for_each(|delivery| delivery.weights = 0),
            EngineFault::StoreMapOnce if is_map_program(wave) => {
                wave.operations.pop();
            }
            EngineFault::ForgetTrimInParity if operation.kind == OperationKind::Trim => {
                wave.operations.retain(|page_operation| page_operation.action != Action::Program);
            }
            EngineFault::SkipUpdateRead => wave.operations.retain(|page_operation| page_operation.cause != Cause::UpdateRead),
            EngineFault::AcknowledgeEarly => {
                if let Some(last) = wave.operations.iter_mut().rfind(|page_operation| page_operation.action == Action::Program) {
                    last.host_waits = false;
                }
            }
            EngineFault::CurrentForBase => {
                let bases = wave.operations.iter_mut().filter(|page_operation| page_operation.version == Version::Base);
                bases.for_each(|read| read.version = Version::Current);
            }
            EngineFault::ForgetDelay => wave.changes.retain(|change| !matches!(change, Change::Defer(..))),
            EngineFault::KeepInDeferred => wave.changes.iter_mut().for_each(|change| {
                if let Change::Defer(_, sources) = change {
                    sources.reads = 0;
                }
            }),
            EngineFault::CommitWithoutDeferred if operation.kind == OperationKind::Commit => {
                wave.operations.iter_mut().for_each(|program| program.sources.deferred = false);
            }
            EngineFault::CommitShort if operation.kind == OperationKind::Commit => {
                wave.operations.iter_mut().for_each(|program| program.sources.reads &= program.sources.reads.wrapping_sub(1));
            }
            EngineFault::RestartDeferred => wave.changes.iter_mut().for_each(|change| {
                if let Change::Defer(_, sources) = change {
                    sources.deferred = false;
                }
            }),
            EngineFault::ForgetTrimInDeferred if operation.kind == OperationKind::Trim => {
                wave.changes.retain(|change| !matches!(change, Change::Defer(..)));
            }
            EngineFault::WidenWithoutDelay if operation.kind == OperationKind::Commit => {
                wave.changes.retain(|change| !matches!(change, Change::Defer(..)));
            }
            EngineFault::RepairWithoutDeferred if is_repair => {
                wave.operations.iter_mut().for_each(|program| program.sources.deferred = false);
            }
            EngineFault::CopyFromOtherStripe if operation.kind == OperationKind::Migrate => read_other_stripe(media, wave),
            EngineFault::ForgetMovedStrip if operation.kind != OperationKind::Migrate => {
                wave.operations.retain(|program| program.action != Action::Program || program.cause != Cause::Migration);
            }
            EngineFault::ForgetCopy if operation.kind == OperationKind::Migrate => {
                if let Some(last) = wave.operations.iter().rposition(|program| program.action == Action::Program) {
                    wave.operations.remove(last);
                }
            }
            EngineFault::StaleShadow => {
                wave.changes.retain(|change| !matches!(change, Change::Unmap(page) if media.health(page.member) == Health::ReadOnly));
                let is_read = |read: &&mut PageOperation| read.action == Action::Read && operation.kind == OperationKind::Read;
                for read in wave.operations.iter_mut().filter(is_read) {
                    let shadow = self.shadows.iter().find(|(new, _)| *new == read.address.member);
                    let page = shadow.map(|(_, old)| MemberPage { member: *old, ..read.address });
                    read.address = page.filter(|page| is_readable(*page, read.version)).unwrap_or(read.address);
                }
            }
            EngineFault::DropBase => wave.operations.iter_mut().for_each(|page_operation| page_operation.keep_base = false),
            EngineFault::StaleCopy => {
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

fn is_readable(media: &impl Media, page: MemberPage, version: Version) -> bool {
    media.lookup(page, version).is_some() && !media.is_lost(page, version)
}

/// Has all reads read the neighbor of their page, if all of these can be read.
fn read_other_stripe(media: &impl Media, wave: &mut Wave) {
    let other = |page: MemberPage| MemberPage { page: LocalPage(page.page.0 ^ 1), ..page };
    let can_read = |page: MemberPage, version: Version| page.page.0 < media.shape().pages_per_member && is_readable(media, page, version);
    let reads = || wave.operations.iter().filter(|read| read.action == Action::Read);
    if reads().all(|read| can_read(other(read.address), read.version)) {
        let reads = wave.operations.iter_mut().filter(|read| read.action == Action::Read);
        reads.for_each(|read| read.address = other(read.address));
    }
}

fn is_map_program(wave: &Wave) -> bool {
    wave.operations.iter().any(|page_operation| page_operation.cause == Cause::Metadata && page_operation.action == Action::Program)
}

fn parity_program(wave: &mut Wave) -> Option<&mut PageOperation> {
    wave.operations.iter_mut().find(|page_operation| page_operation.cause == Cause::Parity)
}
