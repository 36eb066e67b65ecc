//! Striping without redundancy (RAID-0).
//!
//! Idea: page l of the host lies on member l mod n, so that requests spread over all members. No redundancy, no price: what the
//! other schemes are measured against.
//! Source: D. A. Patterson, G. Gibson, R. H. Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988, gives
//! the family; SPEC 0.2 (layout), 0.3 (sub-page writes), 0.6 (what the papers call no-RAID).
//! Departures: there is no stripe to keep consistent, so an operation that writes or trims is one page with a lock of its own,
//! which only keeps accesses to that page in order. Reads take no lock and come in rows of n pages, one from each member.

use crate::parts::bits::{self, Bits};
use crate::parts::{cut, pages};
use crate::{Build, Decisions, Entry, Extent, Operation, OperationKind, Outcomes, ParameterError, ParityUpdates, Protects, Scheme, Step};
use flashraid_vocabulary::{
    Cause, Change, Guardian, HostOp, LocalPage, Lpn, MemberId, MemberPage, Ruling, Sources, StripeId, Version, View, Wave,
};

/// RAID-0.
pub const ENTRY: Entry = Entry {
    name: "raid0",
    title: "RAID-0 (striping)",
    about: "Pages dealt out to the members in turn. Costs nothing and survives nothing.",
    protects: Protects::None,
    members: "at least 1",
    parameters: &[],
    build,
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    cut::at_least(ENTRY.name, build, 1)?;
    Ok(Box::new(Raid0 { members: u32::from(build.members), rows: build.pages_per_member, page_bytes: build.page_bytes }))
}

#[derive(Clone, Debug)]
struct Raid0 {
    members: u32,
    rows: u32,
    page_bytes: u32,
}

impl Raid0 {
    /// Row and strip of a host page; strip i is always on member i.
    #[inline]
    fn position(&self, lpn: Lpn) -> (LocalPage, u32) {
        let members = u64::from(self.members);
        let row = lpn.0 / members;
        (LocalPage(row as u32), (lpn.0 - row * members) as u32)
    }

    #[inline]
    fn page(operation: &Operation, strip: u32) -> MemberPage {
        MemberPage { member: MemberId(strip as u16), page: operation.page }
    }

    fn read(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        for strip in Bits(operation.strips) {
            let address = Self::page(operation, strip);
            if view.is_written(address, Version::Current) {
                let bytes = operation.touched_bytes(strip, self.page_bytes);
                wave.operations.push(pages::read(address, Cause::Host, bytes, strip as u8));
            }
        }
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    /// A part of a written page needs the old page first, and is then programmed as a whole.
    fn write(&self, operation: &mut Operation, view: &dyn View, wave: &mut Wave) -> Step {
        if operation.step == 0 {
            for strip in Bits(operation.partial_strips(self.page_bytes)) {
                let address = Self::page(operation, strip);
                if view.is_written(address, Version::Current) {
                    wave.operations.push(pages::read(address, Cause::UpdateRead, self.page_bytes, strip as u8));
                }
            }
            if !wave.operations.is_empty() {
                operation.reads = wave.operations.len() as u8;
                operation.step = 1;
                return Step::Wave;
            }
        }
        // A partial write is one page: if there was an update read, it was of that page.
        let merged = operation.reads > 0;
        for strip in Bits(operation.strips) {
            let bytes = if merged { self.page_bytes } else { operation.touched_bytes(strip, self.page_bytes) };
            let sources = Sources { host: 1 << strip, reads: 0 };
            wave.operations.push(pages::program(Self::page(operation, strip), Cause::Host, bytes, sources));
        }
        operation.step += 1;
        Step::Last
    }

    fn trim(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        wave.changes.extend(
            Bits(operation.strips)
                .map(|strip| Self::page(operation, strip))
                .filter(|&address| view.is_written(address, Version::Current))
                .map(Change::Unmap),
        );
        if wave.changes.is_empty() { Step::Nothing } else { Step::Done }
    }
}

impl Guardian for Raid0 {
    fn rule(&self, _address: MemberPage) -> Ruling {
        Ruling::Free
    }
}

impl Scheme for Raid0 {
    fn user_pages(&self) -> u64 {
        u64::from(self.members) * u64::from(self.rows)
    }

    fn width(&self) -> u32 {
        self.members
    }

    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        let (row, strip) = self.position(extent.first);
        let (pages, stripe, space) = match extent.op {
            HostOp::Read => (extent.pages.min(u64::from(self.members - strip)), StripeId(row.0), 0),
            HostOp::Write => (1, StripeId(extent.first.0 as u32), 1 << strip),
            _ => (1, StripeId(extent.first.0 as u32), 0),
        };
        let mut operation = cut::operation(extent, pages, self.page_bytes, stripe, row, strip);
        operation.space = space;
        decisions.operations.push(operation);
        pages
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        debug_assert_eq!(outcomes.failed, 0, "no page operation fails yet");
        match operation.kind {
            OperationKind::Read => self.read(operation, view, wave),
            OperationKind::Write => self.write(operation, view, wave),
            OperationKind::Trim => self.trim(operation, view, wave),
            OperationKind::Commit | OperationKind::Job => unreachable!("this scheme never decides {:?}", operation.kind),
        }
    }

    fn fill(&self, index: u64) -> Option<Operation> {
        if index >= u64::from(self.rows) {
            return None;
        }
        let first = Lpn(index * u64::from(self.members));
        let whole = cut::whole_write(first, self.members, self.page_bytes);
        let pages = u64::from(self.members);
        let mut operation = cut::operation(&whole, pages, self.page_bytes, StripeId(first.0 as u32), LocalPage(index as u32), 0);
        operation.space = bits::lowest(self.members);
        Some(operation)
    }

    fn locate(&self, lpn: Lpn) -> MemberPage {
        let (page, strip) = self.position(lpn);
        MemberPage { member: MemberId(strip as u16), page }
    }

    fn redundancy_of(&self, _lpn: Lpn, _pages: &mut Vec<MemberPage>) {}

    fn recover(&self, _lpn: Lpn, _lost: u64, _sources: &mut Vec<MemberPage>) -> bool {
        false
    }

    fn tolerates(&self) -> Vec<u64> {
        Vec::new()
    }

    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates::default()
    }

    fn boxed_clone(&self) -> Box<dyn Scheme> {
        Box::new(self.clone())
    }
}
