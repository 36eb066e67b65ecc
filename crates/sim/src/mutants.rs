//! Deliberate faults, all of them, for tests of the checkers only (feature `mutants`): each must be caught by verification.
//!
//! Two are made by the flash (`flashraid_flash::Mutants`), some by the data buffer (`crate::buffer`); the others distort what a scheme decides
//! or the waves that it plans, before the engine executes them.

use crate::engine::Engine;
use crate::engine::content::Content;
use flashraid_redundancy::{Method, Operation, OperationKind};
use flashraid_vocabulary::{Action, Cause, PageOperation, StripeId, Version, Wave};
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
    /// What the collector read before a newer version became current replaces that version.
    StaleMove,
    /// A block is erased although a dispatched read of it has not ended.
    EraseUnderRead,
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
    /// DFTL: what the collector moved is not noted.
    ForgetMoves,
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
}

/// Every fault of a data buffer.
pub const BUFFER_FAULTS: [BufferFault; 6] = [
    BufferFault::SkipReadBeforeWrite,
    BufferFault::AlwaysCovers,
    BufferFault::LoseMerge,
    BufferFault::Overtake,
    BufferFault::ReadBeneath,
    BufferFault::ForgetTrim,
];

/// Every fault.
pub const FAULTS: [Fault; 15] = [
    Fault::WrongVersionInRmw,
    Fault::SkipPreRead,
    Fault::SwapSources,
    Fault::StaleMove,
    Fault::EraseUnderRead,
    Fault::DropParityProgram,
    Fault::ForgetTrimInParity,
    Fault::AcknowledgeEarly,
    Fault::SkipUpdateRead,
    Fault::CurrentForBase,
    Fault::DropBase,
    Fault::StaleCopy,
    Fault::StoreMapOnce,
    Fault::SwitchMapEarly,
    Fault::ForgetMoves,
];

/// A fault at work.
#[derive(Clone, Debug)]
pub struct Mutant {
    fault: Fault,
    /// Stripes whose operation lost a pre-read and has not programmed its parity yet.
    lacking: BTreeSet<StripeId>,
}

impl<C: Content> Engine<C> {
    /// From now on the engine makes this fault whenever it can.
    pub fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::StaleMove => self.flash.mutants.stale_move = true,
            Fault::EraseUnderRead => self.flash.mutants.erase_under_read = true,
            _ => self.mutant = Some(Mutant { fault, lacking: BTreeSet::new() }),
        }
    }

    /// From now on the data buffer, which there must be, makes this fault whenever it can.
    pub fn inject_into_buffer(&mut self, fault: BufferFault) {
        if fault == BufferFault::SkipReadBeforeWrite {
            self.inject(Fault::SkipUpdateRead);
        }
        self.buffer.as_mut().expect("a buffer").mutant = Some(fault);
    }
}

impl Mutant {
    /// Which fault it is.
    pub(crate) fn fault(&self) -> Fault {
        self.fault
    }

    /// Spoils the wave that `operation` is about to run.
    pub(crate) fn distort(&mut self, operation: &Operation, wave: &mut Wave) {
        match self.fault {
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
