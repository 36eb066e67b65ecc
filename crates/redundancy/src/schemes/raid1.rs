//! Mirroring over two halves of the members (RAID-1).
//!
//! Idea: page l of the host lies twice, on member l mod h of the first half and on its twin h + l mod h in the second (h = n/2), at
//! the same local page. Writes program both, reads take the copy whose die has less to do. Costs half of the capacity and one
//! program more for each page written, and never a pre-read.
//! Source: D. A. Patterson, G. Gibson, R. H. Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988;
//! SPEC 0.6, CR1 (halves, write both, read the less busy one), 0.1 b (the lock is on the pair of copies).
//! Departures: both copies are `Current`, each of its own member page, since either serves reads. "Less busy" counts the page
//! operations in service and queued at the copy's die; equally busy copies take turns.

use crate::parts::bits::{self, Bits};
use crate::parts::{cut, pages};
use crate::{Build, Decisions, Entry, Extent, Operation, OperationKind, Outcomes, ParameterError, ParityUpdates, Protects, Scheme, Step};
use flashraid_vocabulary::{
    Cause, Change, Guardian, HostOp, LocalPage, Lpn, MemberId, MemberPage, Ruling, Sources, StripeId, Version, View, Wave,
};
use std::cmp::Ordering;

/// RAID-1.
pub const ENTRY: Entry = Entry {
    name: "raid1",
    title: "RAID-1 (mirrored halves)",
    about: "Each page on two members, one in each half; reads go to the less busy copy. Costs half of the capacity.",
    protects: Protects::Member,
    members: "an even number, at least 2",
    parameters: &[],
    build,
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    cut::at_least(ENTRY.name, build, 2)?;
    if build.members % 2 == 1 {
        let members = build.members;
        return Err(ParameterError(format!(
            "raid1 mirrors one half of the members on the other and needs an even number; the device has {members}"
        )));
    }
    let half = u32::from(build.members / 2);
    Ok(Box::new(Raid1 { half, rows: build.pages_per_member, page_bytes: build.page_bytes, second_next: false }))
}

#[derive(Clone, Debug)]
struct Raid1 {
    /// Members of one half: the strips of a row.
    half: u32,
    rows: u32,
    page_bytes: u32,
    /// Which copy serves the next read that finds both equally busy.
    second_next: bool,
}

impl Raid1 {
    /// Row and strip of a host page; strip i is on member i and its twin.
    #[inline]
    fn position(&self, lpn: Lpn) -> (LocalPage, u32) {
        let half = u64::from(self.half);
        let row = lpn.0 / half;
        (LocalPage(row as u32), (lpn.0 - row * half) as u32)
    }

    /// Both copies of a strip. They are written and trimmed together, so one is written if the other is.
    #[inline]
    fn copies(&self, page: LocalPage, strip: u32) -> [MemberPage; 2] {
        [strip, strip + self.half].map(|member| MemberPage { member: MemberId(member as u16), page })
    }

    fn less_busy(&mut self, copies: [MemberPage; 2], view: &dyn View) -> MemberPage {
        match view.load_at(copies[0]).cmp(&view.load_at(copies[1])) {
            Ordering::Less => copies[0],
            Ordering::Greater => copies[1],
            Ordering::Equal => {
                self.second_next = !self.second_next;
                copies[usize::from(!self.second_next)]
            }
        }
    }

    fn read(&mut self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        for strip in Bits(operation.strips) {
            let copies = self.copies(operation.page, strip);
            if view.is_written(copies[0], Version::Current) {
                let bytes = operation.touched_bytes(strip, self.page_bytes);
                wave.operations.push(pages::read(self.less_busy(copies, view), Cause::Host, bytes, strip as u8));
            }
        }
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    /// A part of a written page needs the old page first, once for both copies, which are then programmed as a whole.
    fn write(&mut self, operation: &mut Operation, view: &dyn View, wave: &mut Wave) -> Step {
        if operation.step == 0 {
            for strip in Bits(operation.partial_strips(self.page_bytes)) {
                let copies = self.copies(operation.page, strip);
                if view.is_written(copies[0], Version::Current) {
                    wave.operations.push(pages::read(self.less_busy(copies, view), Cause::UpdateRead, self.page_bytes, strip as u8));
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
            let [first, second] = self.copies(operation.page, strip);
            wave.operations.push(pages::program(first, Cause::Host, bytes, sources));
            wave.operations.push(pages::program(second, Cause::Mirror, bytes, sources));
        }
        operation.step += 1;
        Step::Last
    }

    fn trim(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        for strip in Bits(operation.strips) {
            let copies = self.copies(operation.page, strip);
            if view.is_written(copies[0], Version::Current) {
                wave.changes.extend(copies.map(Change::Unmap));
            }
        }
        if wave.changes.is_empty() { Step::Nothing } else { Step::Done }
    }

    /// The members of a strip.
    #[inline]
    fn pair(&self, strip: u32) -> u64 {
        1 << strip | 1 << (strip + self.half)
    }
}

impl Guardian for Raid1 {
    fn rule(&self, _address: MemberPage) -> Ruling {
        Ruling::Free
    }
}

impl Scheme for Raid1 {
    fn user_pages(&self) -> u64 {
        u64::from(self.half) * u64::from(self.rows)
    }

    fn width(&self) -> u32 {
        self.half
    }

    /// Reads come in rows; a write or trim is one page, whose lock covers both copies.
    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        let (row, strip) = self.position(extent.first);
        let (pages, stripe, space) = match extent.op {
            HostOp::Read => (extent.pages.min(u64::from(self.half - strip)), StripeId(row.0), 0),
            HostOp::Write => (1, StripeId(extent.first.0 as u32), self.pair(strip)),
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
        let first = Lpn(index * u64::from(self.half));
        let whole = cut::whole_write(first, self.half, self.page_bytes);
        let pages = u64::from(self.half);
        let mut operation = cut::operation(&whole, pages, self.page_bytes, StripeId(first.0 as u32), LocalPage(index as u32), 0);
        operation.space = bits::lowest(2 * self.half);
        Some(operation)
    }

    /// The copy in the first half.
    fn locate(&self, lpn: Lpn) -> MemberPage {
        let (page, strip) = self.position(lpn);
        self.copies(page, strip)[0]
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        let (page, strip) = self.position(lpn);
        pages.push(self.copies(page, strip)[1]);
    }

    /// The copy in the second half.
    fn recover(&self, lpn: Lpn, lost: u64, sources: &mut Vec<MemberPage>) -> bool {
        let (page, strip) = self.position(lpn);
        let second = self.copies(page, strip)[1];
        sources.clear();
        sources.push(second);
        lost >> second.member.0 & 1 == 0
    }

    fn tolerates(&self) -> Vec<u64> {
        (0..2 * self.half).map(|member| 1 << member).collect()
    }

    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates::default()
    }

    fn boxed_clone(&self) -> Box<dyn Scheme> {
        Box::new(self.clone())
    }
}
