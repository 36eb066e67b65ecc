//! Chained declustering.
//!
//! Idea: host page l is stored on member l mod n, and its copy on the next member in the ring. Any one member may fail. The next member
//! serves the reads of the failed one and passes part of its own reads on to its successor, and so on around the ring. The load of the
//! failed member is thus spread over all others; in RAID-1, a single member would take all of it.
//! Paper: H.-I. Hsiao, D. J. DeWitt, "Chained Declustering: A New Availability Strategy for Multiprocessor Database Machines", ICDE 1990.
//! Departures: the paper redirects fixed shares of the reads. Here each read uses the copy on the less busy LUN (`read_copy = less_busy`),
//! or the primary copy while it survives (`read_copy = primary`), which does not balance the load.

use crate::parts::bits;
use crate::parts::{cut, pages};
use crate::{
    Addressed, Addressing, Build, Damage, Decisions, Entry, Extent, Failure, Lost, Members, Method, Operation, OperationKind, Outcomes,
    Parameter, ParameterError, ParityUpdates, Protects, Recovery, Redundancy, Scheme, Source, Step, Values,
};
use flashraid_vocabulary::{
    Cause, Change, GcAdvisor, HostOp, Lpn, MemberId, MemberPage, PageOperation, Sources, StripeId, Version, View, Wave, persistent,
};

/// Chained declustering.
pub const ENTRY: Entry = Entry {
    name: "chained",
    title: "Chained declustering",
    about: "Each page on two adjacent members of a ring; after a failure, all survivors share the reads. Overhead: half of the capacity.",
    protects: Protects::Member,
    redundancy: Redundancy::Copies,
    members: Members::from(2),
    parameters: &[&[READ_COPY]],
    construct: build,
    ..Entry::PLAIN
};

const READ_COPY: Parameter = Parameter {
    name: "read_copy",
    values: Values::Words(&["less_busy", "primary"]),
    about: "Which copy a read uses: the one whose LUN has fewer queued operations (the primary copy on a tie), or always the primary copy.",
    ..Parameter::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let ring = Ring { members: build.members, rows: build.pages_per_member / 2, page_bytes: build.page_bytes };
    Ok(Box::new(Chained { ring, by_load: build.choice(&READ_COPY)? == "less_busy" }))
}

// ---- layout ----

/// The ring of members. A page and its copy form a stripe with one data strip. The stripe number is the page number.
#[derive(Clone, Debug)]
struct Ring {
    members: u16,
    /// Number of primary copies on each member, from local page 0 on. The copies of its predecessor's pages follow.
    rows: u32,
    page_bytes: u32,
}

impl Ring {
    /// The primary copy, and the second copy on the next member.
    fn copies(&self, lpn: Lpn) -> [MemberPage; 2] {
        let (row, member) = ((lpn.0 / u64::from(self.members)) as u32, (lpn.0 % u64::from(self.members)) as u16);
        [MemberPage::new(member, row), MemberPage::new((member + 1) % self.members, self.rows + row)]
    }

    /// The first page of `extent` as an operation.
    fn cut(&self, extent: &Extent) -> Operation {
        let mut operation = cut::operation(extent, 1, self.page_bytes, self.stripe_of(extent.first), 0);
        if extent.op == HostOp::Write {
            operation.space = bits::of(self.copies(extent.first).map(|copy| copy.member.0.into()).into_iter());
        }
        operation
    }
}

impl Addressing for Ring {
    fn user_pages(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.members)
    }

    fn width(&self) -> u32 {
        1
    }

    fn stripes(&self) -> u32 {
        self.user_pages() as u32
    }

    fn fill(&self, index: u64) -> Option<Operation> {
        let whole = cut::whole_write(Lpn(index), 1, self.page_bytes);
        (index < self.user_pages()).then(|| self.cut(&whole))
    }

    fn locate(&self, lpn: Lpn) -> MemberPage {
        self.copies(lpn)[0]
    }

    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        StripeId(lpn.0 as u32)
    }

    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage {
        let [first, second] = self.copies(Lpn(stripe.0.into()));
        if first.member == member { first } else { second }
    }

    fn stripe_at(&self, page: MemberPage) -> StripeId {
        let (row, member) = match page.page.0.checked_sub(self.rows) {
            None => (page.page.0, page.member.0),
            Some(row) => (row, (page.member.0 + self.members - 1) % self.members),
        };
        StripeId(row * u32::from(self.members) + u32::from(member))
    }

    fn row_pages(&self) -> Option<u32> {
        Some(self.members.into())
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        pages.push(self.copies(lpn)[1]);
    }
}

// ---- operations ----

/// Two copies of each page. The scheme has no state: page numbers determine locations, and the view reports lost pages.
#[derive(Clone, Debug)]
struct Chained {
    ring: Ring,
    by_load: bool,
}

// A drive that is switched off keeps nothing of it.
persistent!(Chained {
    anew [ring, by_load],
});

impl Chained {
    /// Both copies are written and trimmed together, so checking one is enough. A lost page counts as written.
    fn is_written(&self, lpn: Lpn, view: &dyn View) -> bool {
        view.is_written(self.ring.copies(lpn)[0], Version::Current)
    }

    /// The copy to read; `None` if both are lost.
    fn source(&self, lpn: Lpn, view: &dyn View) -> Option<MemberPage> {
        let surviving = self.ring.copies(lpn).into_iter().filter(|copy| !view.is_lost(*copy, Version::Current));
        surviving.min_by_key(|copy| if self.by_load { view.load_at(*copy, Version::Current) } else { 0 })
    }

    fn read(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        if !self.is_written(operation.first, view) {
            return Step::Done; // an unwritten page reads as zeroes
        }
        let Some(source) = self.source(operation.first, view) else { return Step::Failed(Failure::Lost) };
        wave.operations.push(pages::read(source, Cause::Host, operation.first_bytes, 0));
        Step::Last
    }

    /// A partial write of an existing page reads the old page first and merges the new data into it. Then both copies are programmed.
    fn write(&self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let copies = self.ring.copies(operation.first);
        if outcomes.unallocated != 0 {
            // A copy that found no free page counts as lost and is repaired later. One copy is enough to complete the write.
            let is_placed = copies.iter().any(|copy| outcomes.unallocated >> copy.member.0 & 1 == 0);
            return if is_placed { Step::Done } else { Step::Failed(Failure::NoSpace) };
        }
        if operation.step == 0 && operation.merge_strips != 0 && self.is_written(operation.first, view) {
            let Some(source) = self.source(operation.first, view) else { return Step::Failed(Failure::Lost) };
            wave.operations.push(pages::read(source, Cause::UpdateRead, self.ring.page_bytes, 0));
            (operation.reads, operation.step) = (1, 1);
            return Step::Wave;
        }
        let bytes = if operation.reads > 0 { self.ring.page_bytes } else { operation.first_bytes };
        let sources = Sources { host: 1, ..Sources::default() };
        wave.operations.push(pages::program(copies[0], Cause::Host, bytes, sources));
        wave.operations.push(pages::program(copies[1], Cause::Mirror, bytes, sources));
        operation.method = Method::Mirrored;
        operation.step += 1;
        Step::Last
    }

    fn trim(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        if !self.is_written(operation.first, view) {
            return Step::Nothing;
        }
        wave.changes.extend(self.ring.copies(operation.first).map(Change::Unmap));
        Step::Done
    }

    /// The copy to repair, if exactly one is lost. If both are lost, no source is left.
    fn repairable(&self, lpn: Lpn, view: &dyn View) -> Option<MemberPage> {
        let [first, second] = self.ring.copies(lpn).map(|copy| view.is_lost(copy, Version::Current).then_some(copy));
        if first.is_some() && second.is_some() { None } else { first.or(second) }
    }

    /// Reads the surviving copy and programs the other.
    fn step_repair(&self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unallocated != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        // The set of lost copies may have changed while the operation waited for its lock.
        let lost = self.repairable(operation.first, view).filter(|copy| operation.space >> copy.member.0 & 1 == 1);
        let Some(lost) = lost else { return Step::Nothing };
        let step = if operation.step == 0 {
            let source = self.source(operation.first, view).expect("one copy is left");
            wave.operations.push(pages::read(source, Cause::Rebuild, self.ring.page_bytes, PageOperation::NO_STRIP));
            operation.reads = 1;
            Step::Wave
        } else {
            let sources = Sources { reads: 1, ..Sources::default() };
            wave.operations.push(pages::program(lost, Cause::Rebuild, self.ring.page_bytes, sources));
            operation.copied = 1;
            Step::Last
        };
        operation.step += 1;
        wave.operations.iter_mut().for_each(|page_operation| page_operation.host_waits = false);
        step
    }
}

/// The scheme keeps no old versions.
impl GcAdvisor for Chained {}

impl Addressed for Chained {
    type Addressing = Ring;

    fn addressing(&self) -> &Ring {
        &self.ring
    }
}

impl Scheme for Chained {
    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        decisions.operations.push(self.ring.cut(extent));
        1
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        match operation.kind {
            OperationKind::Read => self.read(operation, view, wave),
            OperationKind::Write => self.write(operation, outcomes, view, wave),
            OperationKind::Trim => self.trim(operation, view, wave),
            OperationKind::Repair => self.step_repair(operation, outcomes, view, wave),
            OperationKind::Commit | OperationKind::Migrate | OperationKind::Job => {
                unreachable!("this scheme never decides {:?}", operation.kind)
            }
        }
    }

    /// The scheme has no parity.
    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates::default()
    }
}

impl Recovery for Chained {
    fn protects(&self) -> Protects {
        Protects::Member
    }

    /// The other copy.
    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let other = (self.ring.copies(lpn)[1], Version::Current);
        sources.clear();
        sources.extend((!lost(other.0, other.1)).then_some(Source::plain(other.0, other.1)));
        !sources.is_empty()
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        match self.repairable(Lpn(stripe.0.into()), view) {
            None => Damage::None,
            Some(lost) if view.can_allocate(lost) => Damage::Copy,
            Some(_) => Damage::NoSpace,
        }
    }

    fn repair(&self, stripe: StripeId, view: &dyn View) -> Operation {
        let first = Lpn(stripe.0.into());
        let lost = self.repairable(first, view).map(|copy| copy.member.0.into());
        Operation::background(OperationKind::Repair, stripe, first, bits::of(lost.into_iter()))
    }
}
