//! Chained declustering.
//!
//! Idea: page l of the host lies on member l mod n, and its copy on the next member round the ring. Any one member may fail. The reads that it
//! served go to its neighbour, which hands part of its own reads on to the next member, and so on round the ring, so that the load of the lost
//! member spreads over all others; after the failure of a member of RAID-1 one other member carries it alone.
//! Paper: H.-I. Hsiao, D. J. DeWitt, "Chained Declustering: A New Availability Strategy for Multiprocessor Database Machines", ICDE 1990.
//! Departures: the paper hands fixed shares of the reads on. Here each read takes the copy whose LUN has less to do (`read_copy = less_busy`),
//! or the primary copy as long as it is there, which hands nothing on.

use crate::parts::bits;
use crate::parts::{cut, pages};
use crate::{
    Addressing, Build, Damage, Decisions, Draws, Entry, Extent, Failure, Lost, Members, Operation, OperationKind, Outcomes, Parameter,
    ParameterError, ParityUpdates, Protects, Redundancy, Scheme, Step, Values, WriteBuffer,
};
use flashraid_vocabulary::{
    Cause, Change, GcAdvisor, HostOp, Lpn, MemberId, MemberPage, PageOperation, SemivalidAction, Sources, StripeId, Version, View, Wave,
};

/// Chained declustering.
pub const ENTRY: Entry = Entry {
    name: "chained",
    title: "Chained declustering",
    about: "Each page on two neighbouring members of a ring, so that all others share the reads of a lost one. Costs half of the capacity.",
    protects: Protects::Member,
    has_window: false,
    redundancy: Redundancy::Copies,
    members: Members::from(2),
    mirror_chips: 0,
    mirror_groups: None,
    write_buffer: WriteBuffer::Unused,
    parity_cache: None,
    keeps_bases: false,
    moves_bases: None,
    completes_early: None,
    parameters: &[READ_COPY],
    construct: build,
};

const READ_COPY: Parameter = Parameter {
    name: "read_copy",
    unit: "",
    values: Values::Words(&["less_busy", "primary"]),
    needs: None,
    only_in_gc: false,
    draws: Draws::Words,
    about: "Which copy a read takes: the one whose array unit has fewer operations queued (a tie goes to the primary copy), or the primary copy.",
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let ring = Ring { members: build.members, rows: build.pages_per_member / 2, page_bytes: build.page_bytes };
    Ok(Box::new(Chained { ring, by_load: build.choice(&READ_COPY)? == "less_busy" }))
}

// ---- where pages lie ----

/// The members in a ring. A page and its copy are a stripe of one data strip; its number is that of the page.
#[derive(Clone, Debug)]
struct Ring {
    members: u16,
    /// Primary copies of each member, at its local pages from 0 on; as many copies of its neighbour's follow.
    rows: u32,
    page_bytes: u32,
}

impl Ring {
    /// The primary copy, and the other one on the next member.
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

    fn row_pages(&self) -> Option<u32> {
        Some(self.members.into())
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        pages.push(self.copies(lpn)[1]);
    }
}

// ---- what is done with them ----

/// Two copies of each page. It keeps no state: where pages lie follows from their numbers, and the view says what is lost.
#[derive(Clone, Debug)]
struct Chained {
    ring: Ring,
    by_load: bool,
}

impl Chained {
    /// Copies are written and trimmed together, so one stands for both. A lost page counts as written.
    fn is_written(&self, lpn: Lpn, view: &dyn View) -> bool {
        view.is_written(self.ring.copies(lpn)[0], Version::Current)
    }

    /// The copy that a read takes; `None` if both are lost.
    fn source(&self, lpn: Lpn, view: &dyn View) -> Option<MemberPage> {
        let surviving = self.ring.copies(lpn).into_iter().filter(|copy| !view.is_lost(*copy, Version::Current));
        surviving.min_by_key(|copy| if self.by_load { view.load_at(*copy, Version::Current) } else { 0 })
    }

    fn read(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        if !self.is_written(operation.first, view) {
            return Step::Done; // it reads as zeroes
        }
        let Some(source) = self.source(operation.first, view) else { return Step::Failed(Failure::Lost) };
        wave.operations.push(pages::read(source, Cause::Host, operation.first_bytes, 0));
        Step::Last
    }

    /// A part of a written page is laid over the old page, which is read first; then both copies are programmed.
    fn write(&self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let copies = self.ring.copies(operation.first);
        if outcomes.unallocated != 0 {
            // A copy without a page counts as lost, and is repaired later. One copy is enough to complete the write.
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

    /// The copy that a repair would program: the only one that is lost. With both lost there is nothing to program it from.
    fn repairable(&self, lpn: Lpn, view: &dyn View) -> Option<MemberPage> {
        let [first, second] = self.ring.copies(lpn).map(|copy| view.is_lost(copy, Version::Current).then_some(copy));
        if first.is_some() && second.is_some() { None } else { first.or(second) }
    }

    /// Reads the copy that is left and programs the other.
    fn step_repair(&self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unallocated != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        // What is lost may have changed since `repair`: the operation waited for its lock.
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

impl GcAdvisor for Chained {
    /// It keeps no old versions.
    fn rule(&self, _address: MemberPage) -> SemivalidAction {
        SemivalidAction::Free
    }
}

impl Scheme for Chained {
    fn addressing(&self) -> &dyn Addressing {
        &self.ring
    }

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
            OperationKind::Commit | OperationKind::Job => unreachable!("this scheme never decides {:?}", operation.kind),
        }
    }

    /// The other copy.
    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool {
        let other = (self.ring.copies(lpn)[1], Version::Current);
        sources.clear();
        sources.extend((!lost(other.0, other.1)).then_some(other));
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

    fn protects(&self) -> Protects {
        Protects::Member
    }

    /// There is no parity.
    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates::default()
    }

    fn boxed_clone(&self) -> Box<dyn Scheme> {
        Box::new(self.clone())
    }
}
