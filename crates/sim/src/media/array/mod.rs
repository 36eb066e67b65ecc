//! SSDs side by side: each member is a whole SSD, or a spare one in its place. For a scheme that replaces SSDs itself, spare ones are members, too.
//!
//! An SSD has one member of its own, number 0, and knows neither the others nor the time between its events. Records carry the number of their SSD
//! in their low bits; space domains are numbered by member, as they pass to the spare that takes a member's place; planes, LUNs, buses and
//! physical pages are numbered SSD by SSD. At one instant LUNs of all SSDs come before their buses, as within one SSD.

mod events;
mod links;
mod numbers;
mod preparing;
mod spares;
mod transfers;
mod view;

use super::inspect::Ssds;
use super::{
    About, Ahead, Answer, Clocked, Completion, Counted, Counting, Counts, Done, Failing, Flash, FlashFault, GcQuery, Lun, Media, News,
    Program, Recording, Repeated, Reserving, Serving, Shape, Slice, Track, Untimed,
};
use flashraid_ftl::{ACTIONS, EventQueue};
use flashraid_ftl::{memory, packed};
use flashraid_vocabulary::{
    Cause, Change, Failure, Fault, Health, LocalPage, MemberId, MemberPage, Observer, PageOperation, Part, Ppn, Version, persistent,
};
pub use links::LinkTimes;
use links::Links;
use numbers::{Behind, FirstNumbers, NEVER, NIL};

/// See the module.
#[derive(Clone, Debug)]
pub struct Array {
    ssds: Vec<Flash>,
    /// The SSD that each member is now.
    ssd_of: Vec<u32>,
    /// The member that each SSD is, or was until a spare took its place; `NIL` for a spare that is not in use.
    member_of: Vec<u32>,
    /// SSDs that wait to take the place of others, the first last.
    spares: Vec<u32>,
    /// Whether these are members.
    spares_are_members: bool,
    /// The SSD of which the scheme replaces the latest: no other one takes its place if it fails. `NIL` before the first one.
    leaving: u32,
    shape: Shape,
    /// Low bits of a record's number, which are the number of its SSD.
    ssd_bits: u32,
    /// Domains of each member.
    domains_each: u32,
    /// Numbers of the first plane, LUN, bus and physical page of each SSD, and behind the last.
    first: FirstNumbers,
    now_ns: u64,
    /// When each SSD has its next event, then when each lane of its link has.
    events: EventQueue,
    /// Whether the next event of each SSD is one of a bus.
    is_of_bus: Vec<bool>,
    /// The host links, if the SSDs have any.
    links: Option<Box<Links>>,
    completed_requests: u64,
    has_failures: bool,
    completions: Vec<Completion>,
    started: Vec<(u32, Ppn, u32)>,
    /// Domains that gained space, in order.
    freed: Vec<u32>,
    /// Flushes that an SSD is done with, once for each.
    flushed: Vec<u32>,
    /// SSDs that are worn out since now.
    worn_out: Vec<u32>,
    /// The SSD of each question of GC that is not taken, in order, and how many of them are of each SSD.
    asking: Vec<u32>,
    asked_by: Vec<usize>,
}

persistent!(Array {
    keeps [spares, leaving, has_failures],
    arrays [ssds, ssd_of, member_of],
    // What is made of the configuration; work and time.
    anew [
        spares_are_members, shape, ssd_bits, domains_each, first, now_ns, events, is_of_bus, links, completed_requests, completions, started, freed,
        flushed, worn_out, asking, asked_by,
    ],
});

/// The page as its SSD numbers it.
#[inline(always)]
fn inner(page: MemberPage) -> MemberPage {
    MemberPage { member: MemberId(0), page: page.page }
}

impl Array {
    /// `devices` SSDs and behind them spares, all erased, with at most 64 of them. Each must have one member, without mirror chips and translation pages,
    /// and all have the same page size.
    pub fn new(ssds: Vec<Flash>, devices: u32, spares_are_members: bool) -> Self {
        let count = ssds.len() as u32;
        let members = if spares_are_members { count } else { devices };
        let first = FirstNumbers::of(&ssds);
        let shapes = || ssds.iter().map(Shape::of);
        let domains_each = shapes().map(|shape| shape.domains).max().expect("there are SSDs");
        let last = first[ssds.len()];
        let shape = Shape {
            members,
            pages_per_member: shapes().map(|shape| shape.pages_per_member).min().expect("there are SSDs"),
            planes: last.plane,
            ssds: count,
            luns: last.lun,
            domains: domains_each * members,
            waits_at_rest: shapes().any(|shape| shape.waits_at_rest),
            reads_may_fail: shapes().any(|shape| shape.reads_may_fail),
            ..Shape::of(&ssds[0])
        };
        Self {
            ssd_of: (0..members).collect(),
            member_of: (0..count).map(|ssd| if ssd < members { ssd } else { NIL }).collect(),
            spares: (devices..count).rev().collect(),
            spares_are_members,
            leaving: NIL,
            shape,
            ssd_bits: count.next_power_of_two().trailing_zeros(),
            domains_each,
            first,
            now_ns: 0,
            events: EventQueue::new(ssds.len()),
            is_of_bus: vec![false; ssds.len()],
            links: None,
            completed_requests: 0,
            has_failures: false,
            completions: Vec::new(),
            started: Vec::new(),
            freed: Vec::new(),
            flushed: Vec::new(),
            worn_out: Vec::new(),
            asking: Vec::new(),
            asked_by: vec![0; ssds.len()],
            ssds,
        }
    }

    fn ssd(&self, member: MemberId) -> usize {
        self.ssd_of[usize::from(member.0)] as usize
    }

    fn flash(&self, member: MemberId) -> &Flash {
        &self.ssds[self.ssd(member)]
    }

    /// The SSDs, of an array that is taken apart.
    pub fn into_ssds(self) -> Vec<Flash> {
        self.ssds
    }

    /// The SSD of a record, and the record's number there.
    #[inline]
    fn split(&self, record: u32) -> (usize, u32) {
        ((record & ((1 << self.ssd_bits) - 1)) as usize, record >> self.ssd_bits)
    }

    fn numbered(&self, ssd: usize, record: u32) -> u32 {
        record << self.ssd_bits | ssd as u32
    }

    #[inline]
    fn member(&self, ssd: usize) -> MemberId {
        MemberId(self.member_of[ssd] as u16)
    }

    fn page_of(&self, ssd: usize, page: LocalPage) -> MemberPage {
        MemberPage { member: self.member(ssd), page }
    }

    /// The SSD of a space domain, and the domain's number there.
    fn domain(&self, domain: u32) -> (usize, u32) {
        (self.ssd_of[(domain / self.domains_each) as usize] as usize, domain % self.domains_each)
    }
}

impl Media for Array {}

impl Clocked for Array {
    #[inline]
    fn next_event_ns(&self) -> u64 {
        self.events.first_ns()
    }

    #[inline]
    fn is_at_rest(&self) -> bool {
        // Mostly the SSD of the next event is at work.
        self.events.first_ns() == NEVER
            || (self.ssds.get(self.events.first().1 as usize).is_none_or(|flash| flash.nand().is_at_rest())
                && self.ssds.iter().all(|flash| flash.nand().is_at_rest())
                && self.links.as_ref().is_none_or(|links| links.are_idle(self.now_ns)))
    }

    #[inline]
    fn set_now(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns && now_ns <= self.next_event_ns());
        self.now_ns = now_ns;
    }

    fn advance<O: Observer>(&mut self, observer: &mut O) {
        let (time_ns, ssd) = self.next();
        self.now_ns = time_ns;
        if let Some(lane) = ssd.checked_sub(self.ssds.len()) {
            return self.lane_is_free(lane);
        }
        let first = self.first[ssd].page;
        self.at(ssd, |flash| flash.advance(&mut Behind(observer, first)));
    }

    #[inline]
    fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.completions
    }

    fn list_started(&mut self, lists: bool) {
        self.ssds.iter_mut().for_each(|flash| flash.nand_mut().list_started(lists));
    }

    #[inline]
    fn started(&mut self) -> &mut Vec<(u32, Ppn, u32)> {
        &mut self.started
    }

    fn take_unreadable(&mut self) -> Option<(MemberPage, Version)> {
        for ssd in 0..self.ssds.len() {
            if let Some((page, version)) = self.ssds[ssd].take_unreadable() {
                // An SSD that was replaced holds nothing that is missed.
                if self.is_current(ssd) {
                    return Some((self.page_of(ssd, page.page), version));
                }
            }
        }
        None
    }

    #[inline]
    fn has_news(&self) -> bool {
        !self.freed.is_empty() || !self.asking.is_empty() || !self.worn_out.is_empty() || !self.flushed.is_empty()
    }

    fn take_news(&mut self) -> Option<News> {
        if let Some(domain) = self.freed.pop() {
            return Some(News::Freed(domain));
        }
        if let Some(flush) = self.flushed.pop() {
            return Some(News::Flushed(flush));
        }
        if let Some(ssd) = self.worn_out.pop() {
            return Some(News::WornOut(ssd));
        }
        while let Some(ssd) = self.asking.pop().map(|ssd| ssd as usize) {
            self.asked_by[ssd] = self.asked_by[ssd].saturating_sub(1);
            // There may be none left: questions about what was released meanwhile are not asked.
            if let Some(query) = self.at(ssd, Flash::take_gc_query) {
                let first = self.first[ssd].plane;
                return Some(News::Asked(match query {
                    GcQuery::Victim(plane) => GcQuery::Victim(first + plane),
                    GcQuery::Semivalid(plane, page) => GcQuery::Semivalid(first + plane, self.page_of(ssd, page.page)),
                }));
            }
        }
        None
    }

    fn answer(&mut self, answer: Answer<'_>) {
        let (Answer::Victim(plane, _) | Answer::Semivalid(plane, ..) | Answer::Committed(plane)) = answer;
        let (ssd, local) = self.first.plane(plane);
        let member = self.member(ssd);
        self.at(ssd, |flash| match answer {
            Answer::Victim(_, commit_cost) => flash.choose_victim(local, &|page| commit_cost(MemberPage { member, page: page.page })),
            Answer::Semivalid(_, page, action) => flash.rule(local, inner(page), action),
            Answer::Committed(_) => flash.committed(local),
        });
    }
}

impl Reserving for Array {
    #[inline]
    fn domain_of(&self, page: MemberPage, version: Version) -> u32 {
        u32::from(page.member.0) * self.domains_each + self.flash(page.member).domain_of(inner(page), version)
    }

    #[inline]
    fn reserve(&mut self, page: MemberPage, version: Version) -> bool {
        self.at(self.ssd(page.member), |flash| flash.health() == Health::ReadWrite && flash.reserve(inner(page), version))
    }

    #[inline]
    fn release(&mut self, page: MemberPage, version: Version) {
        self.at(self.ssd(page.member), |flash| flash.release(inner(page), version));
    }

    fn domain_is_alive(&self, domain: u32) -> bool {
        let (ssd, domain) = self.domain(domain);
        domain < self.ssds[ssd].space().domains() as u32 && self.ssds[ssd].space().domain_is_alive(domain)
    }

    fn domain_has_losses(&self, domain: u32) -> bool {
        let (ssd, domain) = self.domain(domain);
        domain < self.ssds[ssd].space().domains() as u32 && self.ssds[ssd].domain_has_losses(domain)
    }
}

impl Serving for Array {
    #[inline]
    fn submit(&mut self, operation: &PageOperation, owner: u32) -> Option<u32> {
        let ssd = self.ssd(operation.address.member);
        let inside = PageOperation { address: inner(operation.address), ..*operation };
        let record = match self.links {
            None => self.at(ssd, |flash| flash.submit(&inside, owner))?,
            Some(_) => self.announce(ssd, &inside, owner)?,
        };
        Some(self.numbered(ssd, record))
    }

    #[inline]
    fn about(&self, record: u32) -> About {
        let (ssd, record) = self.split(record);
        let about = self.ssds[ssd].nand().about(record);
        let ppn = if about.ppn.0 == NIL { about.ppn } else { Ppn(self.first[ssd].page + about.ppn.0) };
        About { member: self.member(ssd), ppn, ..about }
    }

    fn program(&self, record: u32) -> Program {
        let (ssd, record) = self.split(record);
        let program = Serving::program(&self.ssds[ssd], record);
        Program { page: self.page_of(ssd, program.page.page), ..program }
    }

    #[inline]
    fn next_in_list(&mut self, record: u32) -> &mut u32 {
        let (ssd, record) = self.split(record);
        &mut self.ssds[ssd].nand_mut().record_mut(record).next
    }

    fn flush(&mut self, flush: u32) -> u32 {
        (0..self.ssds.len()).map(|ssd| u32::from(self.at(ssd, |flash| memory::flush(flash, flush)))).sum()
    }

    #[inline]
    fn forget(&mut self, record: u32) {
        let (ssd, record) = self.split(record);
        self.ssds[ssd].nand_mut().remove_record(record);
    }

    #[inline]
    fn commit(&mut self, record: u32) {
        let (ssd, local) = self.split(record);
        if self.has_failures && !self.is_current(ssd) {
            // Nothing but a program without a page can be left of what its SSD was to do.
            let anew = self.renewed(record);
            self.leave_unplaced(anew);
            return self.commit(anew);
        }
        self.at(ssd, |flash| flash.commit(local));
    }

    fn abort(&mut self, record: u32) {
        let (ssd, record) = self.split(record);
        self.at(ssd, |flash| flash.abort(record));
    }

    fn repeat(&mut self, record: u32) -> Repeated {
        let record = self.renewed(record);
        let (ssd, local) = self.split(record);
        Repeated { record, is_queued: self.at(ssd, |flash| flash.repeat(local)) }
    }

    fn unallocated(&mut self, operation: &PageOperation, owner: u32) -> u32 {
        let ssd = self.ssd(operation.address.member);
        let inside = PageOperation { address: inner(operation.address), ..*operation };
        let record = self.at(ssd, |flash| flash.unallocated(&inside, owner));
        self.numbered(ssd, record)
    }

    fn leave_unplaced(&mut self, record: u32) {
        let (ssd, record) = self.split(record);
        self.at(ssd, |flash| flash.leave_unplaced(record));
    }

    #[inline]
    fn lookup(&self, page: MemberPage, version: Version) -> Option<Ppn> {
        let ssd = self.ssd(page.member);
        self.ssds[ssd].lookup(inner(page), version).map(|ppn| Ppn(self.first[ssd].page + ppn.0))
    }

    fn next_mapped(&self, entry: u32, end: u32) -> Option<u32> {
        let members = self.shape.members;
        // Of each member the pages whose entries lie in the range.
        let pages = |at: u32, member: u32| (at.saturating_sub(member)).div_ceil(members);
        let next = |member: u32| {
            let page = self.flash(MemberId(member as u16)).next_mapped(pages(entry, member), pages(end, member))?;
            Some(page * members + member)
        };
        (0..members).filter_map(next).min()
    }

    #[inline]
    fn apply(&mut self, change: &Change) {
        let inside = match *change {
            Change::Unmap(page) => (page, Change::Unmap(inner(page))),
            Change::ReleaseBase(page) => (page, Change::ReleaseBase(inner(page))),
            Change::ReleaseCopy(page) => (page, Change::ReleaseCopy(inner(page))),
            Change::Lose(page) => (page, Change::Lose(inner(page))),
            Change::Retire(page) => (page, Change::Retire(inner(page))),
            Change::Defer(..) | Change::ReleaseDeferred(_) => unreachable!("NVRAM alone holds it"),
        };
        let (page, change) = inside;
        self.has_failures |= matches!(change, Change::Lose(_));
        self.at(self.ssd(page.member), |flash| Serving::apply(flash, &change));
    }

    #[inline]
    fn prefetch(&self, ahead: Ahead) {
        let (ssd, ahead) = match ahead {
            Ahead::Request(page) => (self.ssd(page.member), Ahead::Request(inner(page))),
            Ahead::Superseded(entry) => {
                let page = self.shape.page(entry);
                (self.ssd(page.member), Ahead::Superseded(page.page.0))
            }
            Ahead::Record(record) => (self.split(record).0, Ahead::Record(self.split(record).1)),
            Ahead::Commit(record) => (self.split(record).0, Ahead::Commit(self.split(record).1)),
            Ahead::Successor(record) => (self.split(record).0, Ahead::Successor(self.split(record).1)),
        };
        // A record may be none.
        if let Some(flash) = self.ssds.get(ssd) {
            flash.prefetch(ahead);
        }
    }
}

impl Failing for Array {
    fn fail(&mut self, failure: &Failure) {
        self.has_failures = true;
        let (device, fault) = match (failure.device, failure.fault) {
            (None, Fault::Loss(Part::Member(member))) => (self.ssd_of[member as usize], Fault::Loss(Part::Device)),
            (Some(device), fault) => (device, fault),
            // No flash is concerned.
            (None, _) => return,
        };
        self.at(device as usize, |flash| flash.fail(&fault));
        self.fail_on_link(device as usize);
    }

    fn replace(&mut self, device: Option<u32>, part: &Part) -> bool {
        let ssd = match (device, *part) {
            (Some(device), _) => device as usize,
            (None, Part::Member(member)) => self.ssd_of[member as usize] as usize,
            (None, _) => return false,
        };
        let part = if device.is_none() { &Part::Device } else { part };
        if self.at(ssd, |flash| Failing::replace(flash, None, part)) {
            return true;
        }
        // Nothing takes the place of a spare SSD, of one that is replaced already, or of a shadow.
        let is_in_use = self.is_current(ssd) && !self.is_spare(ssd) && self.ssds[ssd].health() == Health::ReadWrite;
        is_in_use && self.leaving != ssd as u32 && !self.ssds[ssd].is_alive(MemberId(0)) && self.replace_ssd(ssd)
    }

    fn use_spare(&mut self, new: MemberId, old: MemberId) {
        let [new, old] = [new, old].map(|member| self.ssd(member) as u32);
        self.spares.retain(|spare| *spare != new);
        self.leaving = old;
    }

    fn set_health(&mut self, member: MemberId, health: Health) {
        let ssd = self.ssd(member);
        self.at(ssd, |flash| {
            flash.set_health(health);
            if health == Health::Disabled {
                flash.discard();
            }
        });
    }

    fn device_of(&self, member: MemberId) -> Option<u32> {
        Some(self.ssd(member) as u32)
    }

    fn rebuilt(&mut self) {
        self.ssds.iter_mut().for_each(Flash::rebuilt);
    }

    fn fail_stuck(&mut self) -> bool {
        let mut any = false;
        for ssd in 0..self.ssds.len() {
            any |= self.at(ssd, Flash::fail_stuck);
        }
        any
    }

    #[inline(always)]
    fn makes(&self, fault: FlashFault) -> bool {
        self.ssds[0].makes(fault)
    }

    #[cfg(feature = "mutants")]
    fn make(&mut self, fault: FlashFault) {
        self.ssds.iter_mut().for_each(|flash| Failing::make(flash, fault));
    }
}

/// Counts of all SSDs together.
fn sum_of<'a>(counts: impl Iterator<Item = &'a Counts>) -> Counts {
    let mut sum = [[0; Cause::COUNT]; ACTIONS];
    for of in counts {
        sum.iter_mut().zip(of).for_each(|(sum, of)| sum.iter_mut().zip(of).for_each(|(sum, count)| *sum += count));
    }
    sum
}

impl Counting for Array {
    fn counted(&self) -> Counted {
        Counted {
            pages: sum_of(self.ssds.iter().map(|flash| flash.nand().counts())),
            flash_pages: sum_of(self.ssds.iter().map(|flash| packed::flash_counts(flash.nand()))),
            padded: self.ssds.iter().map(memory::padded).sum(),
        }
    }

    fn untimed(&self) -> Untimed {
        let add = |sum: Untimed, of: Untimed| Untimed { programs: sum.programs + of.programs, victims: sum.victims + of.victims };
        self.ssds.iter().map(Counting::untimed).fold(Untimed::default(), add)
    }

    #[inline]
    fn request_completed(&mut self) {
        self.completed_requests += 1;
    }

    fn requests_completed(&self) -> u64 {
        self.completed_requests
    }

    fn blocked_sum(&self, member: u32) -> u64 {
        let ssds = self.ssds.iter().zip(&self.member_of).filter(|(_, of)| **of == member);
        ssds.map(|(flash, _)| flash.nand().loads().blocked_sum(MemberId(0), self.completed_requests)).sum()
    }

    fn record(&mut self, what: Recording, records: bool) {
        self.ssds.iter_mut().for_each(|flash| Counting::record(flash, what, records));
    }

    fn swap_recorded(&mut self, slices: &mut Vec<Slice>, done: &mut Vec<Done>) {
        let (mut some_slices, mut some_done) = (Vec::new(), Vec::new());
        for ssd in 0..self.ssds.len() {
            self.ssds[ssd].nand_mut().swap_recorded(&mut some_slices, &mut some_done);
            let (first, member) = (self.first[ssd], self.member_of[ssd]);
            let page = |page: MemberPage| MemberPage { member: MemberId(member as u16), page: page.page };
            slices.extend(some_slices.drain(..).map(|slice| Slice {
                track: match slice.track {
                    Track::Bus(bus) => Track::Bus(first.bus + bus),
                    Track::Lun(lun) => Track::Lun(first.lun + lun),
                },
                lun: first.lun + slice.lun,
                ppn: Ppn(first.page + slice.ppn.0),
                page: slice.page.map(page),
                ..slice
            }));
            done.extend(some_done.drain(..).map(|done| Done {
                ppn: Ppn(first.page + done.ppn.0),
                member: done.member.map(|_| member),
                page: done.page.map(|(of, version)| (page(of), version)),
                ..done
            }));
        }
    }

    fn lun(&self, lun: u32) -> Lun {
        let (ssd, lun) = self.first.lun(lun);
        let Lun { member, free_blocks } = self.ssds[ssd].lun(lun);
        Lun { member: member.and_then(|member| self.member_in(ssd, member)), free_blocks }
    }
}
