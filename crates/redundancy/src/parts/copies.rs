//! Striping with one or more copies of each page, and no parity: the rules that raid0, raid1, raid10 and sirf1 share. Each scheme
//! defines which copy is read and when a write is acknowledged ([`Steering`]).
//!
//! The members form as many groups as there are copies; page l of the host is strip l mod s of row l div s (s members a group), and lies
//! at local page l div s of the strip's member in each group. The members of a group follow each other, or the copies of a strip do.
//! There is no stripe to keep consistent, so an operation that writes or trims is one page with a lock of its own (SPEC 0.1 b: the copies of a page are its stripe), which keeps accesses to that page in
//! order. Reads take no lock and come in rows.
//!
//! After failures (SPEC 0.6, 2.4): a read of a lost copy takes the least busy of the others, without advancing the round robin. A write goes to
//! all groups; a copy whose allocation fails counts as lost, and the write fails only if all allocations fail. A repair reads one copy and
//! programs the lost ones where there is space.

use super::bits::{self, Bits};
use super::{cut, pages};
use crate::{
    Addressing, Build, Damage, Decisions, Extent, Failure, Lost, Method, Operation, OperationKind, Outcomes, ParityUpdates, Protects,
    Recovery, Scheme, Source, Step,
};
use flashraid_vocabulary::{
    Cause, Change, Divisor, GcAdvisor, HostOp, LocalPage, Lpn, MemberId, MemberPage, PageOperation, Persistent, Sources, StripeId, Version,
    View, Wave, persistent,
};

/// What schemes that keep copies differ in.
pub trait Steering: Clone + Persistent + Send + Sync + 'static {
    /// The group whose copy of a written page serves the host, out of `groups`, of which there are at least two. `copy` names the copies.
    fn host_read(&mut self, groups: u32, copy: &dyn Fn(u32) -> MemberPage, view: &dyn View) -> u32;

    /// The group whose copy is read before a part of a written page is overwritten.
    fn update_read(&mut self, groups: u32, copy: &dyn Fn(u32) -> MemberPage, view: &dyn View) -> u32;

    /// How many of the programs of a write may go on after the acknowledgement to the host; fewer than `groups`.
    fn posted_programs(&self, _groups: u32) -> u8 {
        0
    }

    /// The unit of which it survives one failure, if there are several copies.
    fn protects(&self) -> Protects {
        Protects::Member
    }
}

/// Reads go to the copy whose LUN has the fewest page operations in service and queued; equally busy ones take turns.
#[derive(Clone, Debug, Default)]
pub struct LeastBusy {
    /// Which copy serves the next read that finds all equally busy.
    turn: u32,
}

persistent!(LeastBusy { keeps [turn], });

impl Steering for LeastBusy {
    fn host_read(&mut self, groups: u32, copy: &dyn Fn(u32) -> MemberPage, view: &dyn View) -> u32 {
        let load = |group: u32| view.load_at(copy(group), Version::Current);
        let start = self.turn;
        let mut best = (start, load(start));
        let mut is_tied = false;
        for group in (start + 1..groups).chain(0..start) {
            let load = load(group);
            is_tied |= load == best.1;
            if load < best.1 {
                (best, is_tied) = ((group, load), false);
            }
        }
        if is_tied {
            self.turn = (start + 1) % groups;
        }
        best.0
    }

    fn update_read(&mut self, groups: u32, copy: &dyn Fn(u32) -> MemberPage, view: &dyn View) -> u32 {
        self.host_read(groups, copy, view)
    }
}

/// Which page of which member each copy is.
#[derive(Clone, Copy, Debug)]
struct CopyLayout {
    groups: u32,
    /// Members of a group: the strips of a row.
    strips: u32,
    /// From the member of a strip to that of the next one.
    strip_step: u32,
    /// From the member of a copy to that of the next one.
    group_step: u32,
    per_row: Divisor,
    rows: u32,
}

impl CopyLayout {
    /// Row and strip of a host page.
    #[inline]
    fn position(&self, lpn: Lpn) -> (LocalPage, u32) {
        let row = self.per_row.divide(lpn.0);
        (LocalPage(row as u32), (lpn.0 - row * u64::from(self.strips)) as u32)
    }

    /// The strip's copy in a group.
    #[inline]
    fn copy(&self, page: LocalPage, strip: u32, group: u32) -> MemberPage {
        MemberPage { member: MemberId((strip * self.strip_step + group * self.group_step) as u16), page }
    }

    /// The strip that lies on a member.
    #[inline]
    fn strip_on(&self, member: MemberId) -> u32 {
        u32::from(member.0) / self.strip_step % self.strips
    }

    /// The group of a member.
    fn group_of(&self, member: MemberId) -> u32 {
        u32::from(member.0) / self.group_step % self.groups
    }

    /// All copies of a strip. They are written and trimmed together, so all are written if the first is.
    #[inline]
    fn copies(self, page: LocalPage, strip: u32) -> impl Iterator<Item = MemberPage> {
        (0..self.groups).map(move |group| self.copy(page, strip, group))
    }
}

/// A scheme that keeps a copy of each page in each of several groups.
#[derive(Clone, Debug)]
pub struct Copies<S> {
    layout: CopyLayout,
    page_bytes: u32,
    steering: S,
}

persistent!(Copies<S> where [S: Steering] {
    keeps [steering],
    anew [layout, page_bytes],
});

impl<S: Steering> Copies<S> {
    /// Over all members of the device, whose number `groups` divides: the members of a group follow each other.
    pub fn new(build: &Build, groups: u32, steering: S) -> Self {
        debug_assert!(u32::from(build.members).is_multiple_of(groups));
        let strips = u32::from(build.members) / groups;
        let (per_row, rows) = (Divisor::new(strips), build.pages_per_member);
        let layout = CopyLayout { groups, strips, strip_step: 1, group_step: strips, per_row, rows };
        Self { layout, page_bytes: build.page_bytes, steering }
    }

    /// The same, where the copies of a strip are on members that follow each other.
    pub fn side_by_side(build: &Build, groups: u32, steering: S) -> Self {
        let apart = Self::new(build, groups, steering);
        Self { layout: CopyLayout { strip_step: groups, group_step: 1, ..apart.layout }, ..apart }
    }

    /// The local page of an operation's strips in their members.
    #[inline]
    fn page(&self, operation: &Operation) -> LocalPage {
        self.layout.position(operation.first).0
    }

    /// The copy that a read of a written strip takes: the only one, or the one that `steer` says.
    #[inline]
    fn steered(
        &mut self,
        operation: &Operation,
        strip: u32,
        steer: impl FnOnce(&mut S, u32, &dyn Fn(u32) -> MemberPage) -> u32,
    ) -> MemberPage {
        let (layout, page) = (self.layout, self.page(operation));
        let copy = |group| layout.copy(page, strip, group);
        copy(if layout.groups == 1 { 0 } else { steer(&mut self.steering, layout.groups, &copy) })
    }

    /// The copy that is not lost and has the least to do: its LUN, then its channel; among equals the first from group `from` on.
    fn survivor(&self, page: LocalPage, strip: u32, from: u32, view: &dyn View) -> Option<MemberPage> {
        let copies = (from..self.layout.groups).chain(0..from).map(|group| self.layout.copy(page, strip, group));
        let surviving = copies.filter(|copy| !view.is_lost(*copy, Version::Current));
        surviving.min_by_key(|copy| (view.load_at(*copy, Version::Current), view.channel_load_at(*copy)))
    }

    /// Turns the planned reads of lost copies to others. Returns false if there is none for one of them.
    fn avoid_lost(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> bool {
        let page = self.page(operation);
        wave.operations.iter_mut().all(|read| {
            let is_lost = view.is_lost(read.address, Version::Current);
            let group = self.layout.group_of(read.address.member);
            let copy = if is_lost { self.survivor(page, u32::from(read.strip), group, view) } else { Some(read.address) };
            read.address = copy.unwrap_or(read.address);
            copy.is_some()
        })
    }

    fn read(&mut self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        let page = self.page(operation);
        for strip in Bits(operation.strips) {
            if view.is_written(self.layout.copy(page, strip, 0), Version::Current) {
                let bytes = operation.touched_bytes(strip, self.page_bytes);
                let address = self.steered(operation, strip, |steering, groups, copy| steering.host_read(groups, copy, view));
                wave.operations.push(pages::read(address, Cause::Host, bytes, strip as u8));
            }
        }
        if view.has_failures() && !self.avoid_lost(operation, view, wave) {
            wave.operations.clear();
            return Step::Failed(Failure::Lost);
        }
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    /// A part of a written page needs the old page first, once for all copies, which are then programmed as a whole.
    fn write(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unallocated != 0 {
            return self.end_without(operation, outcomes.unallocated);
        }
        let page = self.page(operation);
        if operation.step == 0 {
            for strip in Bits(operation.merge_strips) {
                if view.is_written(self.layout.copy(page, strip, 0), Version::Current) {
                    let address = self.steered(operation, strip, |steering, groups, copy| steering.update_read(groups, copy, view));
                    wave.operations.push(pages::read(address, Cause::UpdateRead, self.page_bytes, strip as u8));
                }
            }
            if view.has_failures() && !self.avoid_lost(operation, view, wave) {
                wave.operations.clear();
                return Step::Failed(Failure::Lost);
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
            let sources = Sources { host: 1 << strip, reads: 0, ..Sources::default() };
            for group in 0..self.layout.groups {
                let cause = if group == 0 { Cause::Host } else { Cause::Mirror };
                wave.operations.push(pages::program(self.layout.copy(page, strip, group), cause, bytes, sources));
            }
        }
        if self.layout.groups > 1 {
            operation.method = Method::Mirrored;
        }
        operation.step += 1;
        Step::Last
    }

    /// How a write ends of which the members `unallocated` had no place for a copy: each strip needs one copy at least.
    fn end_without(&self, operation: &Operation, unallocated: u64) -> Step {
        let is_placed = |copy: MemberPage| unallocated >> copy.member.0 & 1 == 0;
        let page = self.page(operation);
        if Bits(operation.strips).all(|strip| self.layout.copies(page, strip).any(is_placed)) {
            Step::Done
        } else {
            Step::Failed(Failure::NoSpace)
        }
    }

    /// The members (bits) on which the copy of this page is lost.
    fn lost_on(&self, lpn: Lpn, view: &dyn View) -> u64 {
        let (page, strip) = self.layout.position(lpn);
        let lost = self.layout.copies(page, strip).filter(|copy| view.is_lost(*copy, Version::Current));
        bits::of(lost.map(|copy| u32::from(copy.member.0)))
    }

    /// The members (bits) on which the copy of this page is lost, and can be made again of another one.
    fn repairable(&self, lpn: Lpn, view: &dyn View) -> u64 {
        let lost = self.lost_on(lpn, view);
        if lost.count_ones() < self.layout.groups { lost } else { 0 }
    }

    /// Reads one copy and programs those of the lost ones for which there is space; nobody waits for it.
    fn step_repair(&self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unallocated != 0 {
            operation.copied -= outcomes.unallocated.count_ones() as u8;
            return if operation.copied > 0 { Step::Done } else { Step::Failed(Failure::NoSpace) };
        }
        let step = if operation.step == 0 {
            if self.repairable(operation.first, view) & operation.space == 0 {
                return Step::Nothing; // a write has done it meanwhile, or more has failed
            }
            let (page, strip) = self.layout.position(operation.first);
            let source = self.survivor(page, strip, 0, view).expect("a repairable page has a copy");
            wave.operations.push(pages::read(source, Cause::Rebuild, self.page_bytes, PageOperation::NO_STRIP));
            operation.reads = 1;
            Step::Wave
        } else {
            for member in Bits(self.lost_on(operation.first, view) & operation.space) {
                let copy = MemberPage { member: MemberId(member as u16), page: self.page(operation) };
                wave.operations.push(pages::program(
                    copy,
                    Cause::Rebuild,
                    self.page_bytes,
                    Sources { host: 0, reads: 1, ..Sources::default() },
                ));
                operation.copied += 1;
            }
            Step::Last
        };
        operation.step += 1;
        wave.operations.iter_mut().for_each(|page_operation| page_operation.host_waits = false);
        step
    }

    fn trim(&self, operation: &Operation, view: &dyn View, wave: &mut Wave) -> Step {
        let page = self.page(operation);
        for strip in Bits(operation.strips) {
            if view.is_written(self.layout.copy(page, strip, 0), Version::Current) {
                wave.changes.extend(self.layout.copies(page, strip).map(Change::Unmap));
            }
        }
        if wave.changes.is_empty() { Step::Nothing } else { Step::Done }
    }
}

/// Those of `members` (bits) that have space for their copy of a strip, at local page `page`.
fn with_room(members: u64, page: LocalPage, view: &dyn View) -> u64 {
    bits::of(Bits(members).filter(|member| view.can_allocate(MemberPage { member: MemberId(*member as u16), page })))
}

impl<S: Steering> GcAdvisor for Copies<S> {}

impl<S: Steering> Addressing for Copies<S> {
    fn user_pages(&self) -> u64 {
        u64::from(self.layout.strips) * u64::from(self.layout.rows)
    }

    fn width(&self) -> u32 {
        self.layout.strips
    }

    /// A page with its copies.
    fn stripes(&self) -> u32 {
        self.layout.strips * self.layout.rows
    }

    fn fill(&self, index: u64) -> Option<Operation> {
        if index >= u64::from(self.layout.rows) {
            return None;
        }
        let pages = u64::from(self.layout.strips);
        let first = Lpn(index * pages);
        let whole = cut::whole_write(first, self.layout.strips, self.page_bytes);
        let mut operation = cut::operation(&whole, pages, self.page_bytes, StripeId(first.0 as u32), 0);
        operation.space = bits::lowest(self.layout.groups * self.layout.strips);
        Some(operation)
    }

    /// The copy in the first group.
    fn locate(&self, lpn: Lpn) -> MemberPage {
        let (page, strip) = self.layout.position(lpn);
        self.layout.copy(page, strip, 0)
    }

    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        StripeId(lpn.0 as u32)
    }

    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage {
        MemberPage { member, page: self.layout.position(Lpn(stripe.0.into())).0 }
    }

    fn stripe_at(&self, page: MemberPage) -> StripeId {
        StripeId(page.page.0 * self.layout.strips + self.layout.strip_on(page.member))
    }

    fn row_pages(&self) -> Option<u32> {
        Some(self.layout.strips)
    }

    fn first_stripe_at(&self, page: LocalPage) -> Option<StripeId> {
        Some(StripeId(page.0 * self.layout.strips))
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        let (page, strip) = self.layout.position(lpn);
        pages.extend(self.layout.copies(page, strip).skip(1));
    }
}

impl<S: Steering> Scheme for Copies<S> {
    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        let (row, strip) = self.layout.position(extent.first);
        let (pages, stripe) = match extent.op {
            HostOp::Read => (extent.pages.min(u64::from(self.layout.strips - strip)), StripeId(row.0)),
            _ => (1, StripeId(extent.first.0 as u32)),
        };
        let mut operation = cut::operation(extent, pages, self.page_bytes, stripe, strip);
        if extent.op == HostOp::Write {
            operation.space = bits::of(self.layout.copies(row, strip).map(|copy| u32::from(copy.member.0)));
            operation.posted_programs = self.steering.posted_programs(self.layout.groups);
        }
        decisions.operations.push(operation);
        pages
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

    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates::default()
    }
}

impl<S: Steering> Recovery for Copies<S> {
    fn protects(&self) -> Protects {
        if self.layout.groups == 1 { Protects::None } else { self.steering.protects() }
    }

    /// The first other copy that survives.
    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let (page, strip) = self.layout.position(lpn);
        sources.clear();
        let copies = self.layout.copies(page, strip).skip(1).map(|copy| Source::plain(copy, Version::Current));
        sources.extend(copies.filter(|copy| !lost(copy.page, copy.version)).take(1));
        !sources.is_empty()
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        if !view.has_failures() {
            return Damage::None;
        }
        let first = Lpn(u64::from(stripe.0));
        match self.repairable(first, view) {
            0 => Damage::None,
            lost if with_room(lost, self.layout.position(first).0, view) != 0 => Damage::Copy,
            _ => Damage::NoSpace,
        }
    }

    /// Of the copies for which there is space, if there is any.
    fn repair(&self, stripe: StripeId, view: &dyn View) -> Operation {
        let first = Lpn(u64::from(stripe.0));
        let (lost, page) = (self.repairable(first, view), self.layout.position(first).0);
        let roomy = with_room(lost, page, view);
        Operation::background(OperationKind::Repair, stripe, first, if roomy != 0 { roomy } else { lost })
    }
}
