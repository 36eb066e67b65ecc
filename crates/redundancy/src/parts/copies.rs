//! Striping with one or more copies of each page, and no parity: the rules of raid0 and raid1.
//!
//! The members form as many groups as there are copies; page l of the host is strip l mod s of row l div s (s members a group), and lies
//! at local page l div s of the strip's member in each group. There is no stripe to keep consistent, so an operation that writes or
//! trims is one page with a lock of its own (SPEC 0.1 b: the copies of a page are its stripe), which keeps accesses to that page in
//! order. Reads take no lock and come in rows.

use super::bits::{self, Bits};
use super::{cut, pages};
use crate::{Build, Decisions, Extent, Lost, Operation, OperationKind, Outcomes, ParityUpdates, Protects, Scheme, Step};
use flashraid_vocabulary::{
    Cause, Change, Guardian, HostOp, LocalPage, Lpn, MemberId, MemberPage, Ruling, Sources, StripeId, Version, View, Wave,
};

/// A scheme that keeps `groups` copies of each page.
#[derive(Clone, Debug)]
pub struct Copies {
    groups: u32,
    /// Members of a group: the strips of a row.
    strips: u32,
    rows: u32,
    page_bytes: u32,
    /// Which copy serves the next read that finds all equally busy.
    turn: u32,
}

impl Copies {
    /// Over all members of the device, whose number `groups` divides.
    pub fn new(build: &Build, groups: u32) -> Self {
        debug_assert!(u32::from(build.members).is_multiple_of(groups));
        let strips = u32::from(build.members) / groups;
        Self { groups, strips, rows: build.pages_per_member, page_bytes: build.page_bytes, turn: 0 }
    }

    /// Row and strip of a host page.
    #[inline]
    fn position(&self, lpn: Lpn) -> (LocalPage, u32) {
        let strips = u64::from(self.strips);
        let row = lpn.0 / strips;
        (LocalPage(row as u32), (lpn.0 - row * strips) as u32)
    }

    /// The strip's copy in a group.
    #[inline]
    fn copy(&self, page: LocalPage, strip: u32, group: u32) -> MemberPage {
        MemberPage { member: MemberId((strip + group * self.strips) as u16), page }
    }

    /// All copies of a strip. They are written and trimmed together, so all are written if the first is.
    #[inline]
    fn copies(&self, page: LocalPage, strip: u32) -> impl Iterator<Item = MemberPage> + '_ {
        (0..self.groups).map(move |group| self.copy(page, strip, group))
    }

    /// The copy whose die has the fewest page operations in service and queued; equally busy ones take turns.
    #[inline]
    fn least_busy(&mut self, page: LocalPage, strip: u32, view: &dyn View) -> MemberPage {
        if self.groups == 1 {
            return self.copy(page, strip, 0);
        }
        let start = self.turn;
        let mut best = (self.copy(page, strip, start), view.load_at(self.copy(page, strip, start), Version::Current));
        let mut is_tied = false;
        for group in (start + 1..self.groups).chain(0..start) {
            let copy = self.copy(page, strip, group);
            let load = view.load_at(copy, Version::Current);
            is_tied |= load == best.1;
            if load < best.1 {
                (best, is_tied) = ((copy, load), false);
            }
        }
        if is_tied {
            self.turn = (start + 1) % self.groups;
        }
        best.0
    }

    fn read(&mut self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        for strip in Bits(operation.strips) {
            if view.is_written(self.copy(operation.page, strip, 0), Version::Current) {
                let bytes = operation.touched_bytes(strip, self.page_bytes);
                wave.operations.push(pages::read(self.least_busy(operation.page, strip, view), Cause::Host, bytes, strip as u8));
            }
        }
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    /// A part of a written page needs the old page first, once for all copies, which are then programmed as a whole.
    fn write(&mut self, operation: &mut Operation, view: &dyn View, wave: &mut Wave) -> Step {
        if operation.step == 0 {
            for strip in Bits(operation.partial_strips(self.page_bytes)) {
                if view.is_written(self.copy(operation.page, strip, 0), Version::Current) {
                    let address = self.least_busy(operation.page, strip, view);
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
            for group in 0..self.groups {
                let cause = if group == 0 { Cause::Host } else { Cause::Mirror };
                wave.operations.push(pages::program(self.copy(operation.page, strip, group), cause, bytes, sources));
            }
        }
        operation.step += 1;
        Step::Last
    }

    fn trim(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        for strip in Bits(operation.strips) {
            if view.is_written(self.copy(operation.page, strip, 0), Version::Current) {
                wave.changes.extend(self.copies(operation.page, strip).map(Change::Unmap));
            }
        }
        if wave.changes.is_empty() { Step::Nothing } else { Step::Done }
    }
}

impl Guardian for Copies {
    fn rule(&self, _address: MemberPage) -> Ruling {
        Ruling::Free
    }
}

impl Scheme for Copies {
    fn user_pages(&self) -> u64 {
        u64::from(self.strips) * u64::from(self.rows)
    }

    fn width(&self) -> u32 {
        self.strips
    }

    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        let (row, strip) = self.position(extent.first);
        let (pages, stripe) = match extent.op {
            HostOp::Read => (extent.pages.min(u64::from(self.strips - strip)), StripeId(row.0)),
            _ => (1, self.stripe_of(extent.first)),
        };
        let mut operation = cut::operation(extent, pages, self.page_bytes, stripe, row, strip);
        if extent.op == HostOp::Write {
            operation.space = self.copies(row, strip).fold(0, |space, copy| space | 1 << copy.member.0);
        }
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
        let pages = u64::from(self.strips);
        let first = Lpn(index * pages);
        let whole = cut::whole_write(first, self.strips, self.page_bytes);
        let mut operation = cut::operation(&whole, pages, self.page_bytes, StripeId(first.0 as u32), LocalPage(index as u32), 0);
        operation.space = bits::lowest(self.groups * self.strips);
        Some(operation)
    }

    /// The copy in the first group.
    fn locate(&self, lpn: Lpn) -> MemberPage {
        let (page, strip) = self.position(lpn);
        self.copy(page, strip, 0)
    }

    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        StripeId(lpn.0 as u32)
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        let (page, strip) = self.position(lpn);
        pages.extend(self.copies(page, strip).skip(1));
    }

    /// The first other copy that survives.
    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool {
        let (page, strip) = self.position(lpn);
        sources.clear();
        let copies = self.copies(page, strip).skip(1).map(|copy| (copy, Version::Current));
        sources.extend(copies.filter(|(copy, version)| !lost(*copy, *version)).take(1));
        !sources.is_empty()
    }

    fn protects(&self) -> Protects {
        if self.groups == 1 { Protects::None } else { Protects::Member }
    }

    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates::default()
    }

    fn boxed_clone(&self) -> Box<dyn Scheme> {
        Box::new(self.clone())
    }
}
