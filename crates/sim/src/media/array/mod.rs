//! SSDs side by side: each member is a whole SSD, or a spare one in its place. For a scheme that replaces SSDs itself, spare ones are members, too.
//!
//! An SSD has one member of its own, number 0, and knows neither the others nor the time between its events. Records carry the number of their SSD
//! in their low bits; space domains are numbered by member, as they pass to the spare that takes a member's place; planes, LUNs, buses and
//! physical pages are numbered SSD by SSD. At one instant LUNs of all SSDs come before their buses, as within one SSD.

mod calendar;
mod events;
mod links;
mod members;
mod numbers;
mod preparing;
mod spares;
mod tidings;
mod transfers;
mod view;

use super::inspect::Ssds;
use super::{
    About, Ahead, Answer, Clocked, Completion, Counted, Counting, Counts, Done, Failing, Flash, FlashFault, GcQuery, Lun, Media, News,
    Program, Recording, Repeated, Reserving, Serving, Slice, Untimed,
};
use calendar::Calendar;
use flashraid_ftl::ACTIONS;
use flashraid_ftl::packed;
use flashraid_vocabulary::{
    Cause, Change, DeviceFault, Fault, Health, MemberId, MemberPage, NIL, Observer, PageOperation, Part, Ppn, Version, persistent,
};
pub use links::LinkTimes;
use links::Links;
use members::{Members, inner};
use numbers::Behind;
use tidings::Tidings;

/// See the module.
#[derive(Clone, Debug)]
pub struct SsdArray {
    members: Members,
    calendar: Calendar,
    tidings: Tidings,
    /// The host links, if the SSDs have any.
    links: Option<Box<Links>>,
    now_ns: u64,
    completed_requests: u64,
}

persistent!(SsdArray {
    keeps [members],
    // Work and time.
    anew [calendar, tidings, links, now_ns, completed_requests],
});

impl SsdArray {
    /// `devices` SSDs and behind them spares, all erased, with at most 64 of them. Each must have one member, without mirror chips and translation pages,
    /// and all have the same page size.
    pub fn new(ssds: Vec<Flash>, devices: u32, spares_are_members: bool) -> Self {
        Self {
            calendar: Calendar::new(ssds.len(), 0),
            tidings: Tidings::new(ssds.len()),
            links: None,
            now_ns: 0,
            completed_requests: 0,
            members: Members::new(ssds, devices, spares_are_members),
        }
    }

    /// The SSDs, of an array that is taken apart.
    pub fn into_ssds(self) -> Vec<Flash> {
        self.members.into_ssds()
    }
}

impl Media for SsdArray {}

impl Clocked for SsdArray {
    #[inline]
    fn next_event_ns(&self) -> u64 {
        self.calendar.first_ns()
    }

    #[inline]
    fn is_at_rest(&self) -> bool {
        let Some(first) = self.calendar.first() else { return true };
        // Mostly the SSD of the next event is at work.
        self.members.get(first).is_none_or(|flash| flash.nand().is_at_rest())
            && self.members.iter().all(|flash| flash.nand().is_at_rest())
            && self.links.as_ref().is_none_or(|links| links.are_idle(self.now_ns))
    }

    #[inline]
    fn set_now(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns && now_ns <= self.next_event_ns());
        self.now_ns = now_ns;
    }

    fn advance<O: Observer>(&mut self, observer: &mut O) {
        let (time_ns, next) = self.calendar.next();
        self.now_ns = time_ns;
        match next {
            Ok(ssd) => {
                let first = self.members.first_of(ssd).page;
                self.at(ssd, |flash| flash.advance(&mut Behind(observer, first)));
            }
            Err(lane) => self.lane_is_free(lane),
        }
    }

    #[inline]
    fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.tidings.completions
    }

    fn list_started(&mut self, lists: bool) {
        self.members.iter_mut().for_each(|flash| flash.nand_mut().recording_mut().list_started(lists));
    }

    #[inline]
    fn started(&mut self) -> &mut Vec<(u32, Ppn, u32)> {
        &mut self.tidings.started
    }

    fn take_unreadable(&mut self) -> Option<(MemberPage, Version)> {
        for ssd in self.members.numbers() {
            if let Some((page, version)) = self.members[ssd].take_unreadable() {
                // An SSD that was replaced holds nothing that is missed.
                if self.members.is_current(ssd) {
                    return Some((self.members.page_of(ssd, page.page), version));
                }
            }
        }
        None
    }

    #[inline]
    fn has_news(&self) -> bool {
        self.tidings.has_news()
    }

    fn take_news(&mut self) -> Option<News> {
        if let Some(domain) = self.tidings.freed.pop() {
            return Some(News::Freed(domain));
        }
        if let Some(flush) = self.tidings.flushed.pop() {
            return Some(News::Flushed(flush));
        }
        if let Some(ssd) = self.tidings.worn_out.pop() {
            return Some(News::WornOut(ssd));
        }
        while let Some(ssd) = self.tidings.take_asking() {
            if let Some(query) = self.at(ssd, Flash::take_gc_query) {
                let first = self.members.first_of(ssd).plane;
                return Some(News::Asked(match query {
                    GcQuery::Victim(plane) => GcQuery::Victim(first + plane),
                    GcQuery::Semivalid(plane, page) => GcQuery::Semivalid(first + plane, self.members.page_of(ssd, page.page)),
                }));
            }
        }
        None
    }

    fn answer(&mut self, answer: Answer<'_>) {
        let (Answer::Victim(plane, _) | Answer::Semivalid(plane, ..) | Answer::Committed(plane)) = answer;
        let (ssd, local) = self.members.first().plane(plane);
        let member = self.members.member(ssd);
        self.at(ssd, |flash| match answer {
            Answer::Victim(_, commit_cost) => flash.choose_victim(local, &|page| commit_cost(MemberPage { member, page: page.page })),
            Answer::Semivalid(_, page, action) => flash.rule(local, inner(page), action),
            Answer::Committed(_) => flash.committed(local),
        });
    }
}

impl Reserving for SsdArray {
    #[inline]
    fn domain_of(&self, page: MemberPage, version: Version) -> u32 {
        self.members.domain(u32::from(page.member.0), self.members.flash(page.member).domain_of(inner(page), version))
    }

    #[inline]
    fn reserve(&mut self, page: MemberPage, version: Version) -> bool {
        self.at(self.members.ssd(page.member), |flash| flash.gc().health() == Health::ReadWrite && flash.reserve(inner(page), version))
    }

    #[inline]
    fn release(&mut self, page: MemberPage, version: Version) {
        self.at(self.members.ssd(page.member), |flash| flash.release(inner(page), version));
    }

    fn domain_is_alive(&self, domain: u32) -> bool {
        self.members.split_domain(domain).is_some_and(|(flash, domain)| flash.store().space().domain_is_alive(domain))
    }

    fn domain_has_losses(&self, domain: u32) -> bool {
        self.members.split_domain(domain).is_some_and(|(flash, domain)| flash.domain_has_losses(domain))
    }
}

impl Serving for SsdArray {
    #[inline]
    fn submit(&mut self, operation: &PageOperation, owner: u32) -> Option<u32> {
        let ssd = self.members.ssd(operation.address.member);
        let inside = PageOperation { address: inner(operation.address), ..*operation };
        let record = match self.links {
            None => self.at(ssd, |flash| flash.submit(&inside, owner))?,
            Some(_) => self.announce(ssd, &inside, owner)?,
        };
        Some(self.members.numbered(ssd, record))
    }

    #[inline]
    fn about(&self, record: u32) -> About {
        let (ssd, record) = self.members.split(record);
        let about = self.members[ssd].nand().about(record);
        let ppn = if about.ppn.0 == NIL { about.ppn } else { self.members.ppn(ssd, about.ppn) };
        About { member: self.members.member(ssd), ppn, ..about }
    }

    fn program(&self, record: u32) -> Program {
        let (ssd, record) = self.members.split(record);
        let program = Serving::program(&self.members[ssd], record);
        Program { page: self.members.page_of(ssd, program.page.page), ..program }
    }

    #[inline]
    fn next_in_list(&mut self, record: u32) -> &mut u32 {
        let (ssd, record) = self.members.split(record);
        &mut self.members[ssd].nand_mut().record_mut(record).next
    }

    fn flush(&mut self, flush: u32) -> u32 {
        self.members.numbers().map(|ssd| u32::from(self.at(ssd, |flash| flash.flush(flush)))).sum()
    }

    #[inline]
    fn forget(&mut self, record: u32) {
        let (ssd, record) = self.members.split(record);
        self.members[ssd].nand_mut().remove_record(record);
    }

    #[inline]
    fn commit(&mut self, record: u32) {
        let (ssd, local) = self.members.split(record);
        if self.members.has_failures() && !self.members.is_current(ssd) {
            // Nothing but a program without a page can be left of what its SSD was to do.
            let anew = self.renewed(record);
            self.leave_unplaced(anew);
            return self.commit(anew);
        }
        self.at(ssd, |flash| flash.commit(local));
    }

    fn abort(&mut self, record: u32) {
        let (ssd, record) = self.members.split(record);
        self.at(ssd, |flash| flash.abort(record));
    }

    fn repeat(&mut self, record: u32) -> Repeated {
        let record = self.renewed(record);
        let (ssd, local) = self.members.split(record);
        Repeated { record, is_queued: self.at(ssd, |flash| flash.repeat(local)) }
    }

    fn unallocated(&mut self, operation: &PageOperation, owner: u32) -> u32 {
        let ssd = self.members.ssd(operation.address.member);
        let inside = PageOperation { address: inner(operation.address), ..*operation };
        let record = self.at(ssd, |flash| flash.unallocated(&inside, owner));
        self.members.numbered(ssd, record)
    }

    fn leave_unplaced(&mut self, record: u32) {
        let (ssd, record) = self.members.split(record);
        self.at(ssd, |flash| flash.leave_unplaced(record));
    }

    #[inline]
    fn lookup(&self, page: MemberPage, version: Version) -> Option<Ppn> {
        let ssd = self.members.ssd(page.member);
        self.members[ssd].lookup(inner(page), version).map(|ppn| self.members.ppn(ssd, ppn))
    }

    fn next_mapped(&self, entry: u32, end: u32) -> Option<u32> {
        let members = self.members.shape().members;
        // Of each member the pages whose entries lie in the range.
        let pages = |at: u32, member: u32| (at.saturating_sub(member)).div_ceil(members);
        let next = |member: u32| {
            let page = self.members.flash(MemberId(member as u16)).next_mapped(pages(entry, member), pages(end, member))?;
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
        self.members.note_failures(matches!(change, Change::Lose(_)));
        self.at(self.members.ssd(page.member), |flash| Serving::apply(flash, &change));
    }

    #[inline]
    fn prefetch(&self, ahead: Ahead) {
        let (ssd, ahead) = match ahead {
            Ahead::Request(page) => (self.members.ssd(page.member), Ahead::Request(inner(page))),
            Ahead::Superseded(entry) => {
                let page = self.members.shape().page(entry);
                (self.members.ssd(page.member), Ahead::Superseded(page.page.0))
            }
            Ahead::Record(record) => (self.members.split(record).0, Ahead::Record(self.members.split(record).1)),
            Ahead::Commit(record) => (self.members.split(record).0, Ahead::Commit(self.members.split(record).1)),
            Ahead::Successor(record) => (self.members.split(record).0, Ahead::Successor(self.members.split(record).1)),
        };
        // A record may be none.
        if let Some(flash) = self.members.get(ssd) {
            flash.prefetch(ahead);
        }
    }
}

impl Failing for SsdArray {
    fn fail(&mut self, failure: &DeviceFault) {
        self.members.note_failures(true);
        let (device, fault) = match (failure.device, failure.fault) {
            (None, Fault::Loss(Part::Member(member))) => (self.members.ssd(MemberId(member as u16)) as u32, Fault::Loss(Part::Device)),
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
            (None, Part::Member(member)) => self.members.ssd(MemberId(member as u16)),
            (None, _) => return false,
        };
        let part = if device.is_none() { &Part::Device } else { part };
        if self.at(ssd, |flash| Failing::replace(flash, None, part)) {
            return true;
        }
        self.members.is_to_be_replaced(ssd) && self.replace_ssd(ssd)
    }

    fn use_spare(&mut self, new: MemberId, old: MemberId) {
        self.members.use_spare(new, old);
    }

    fn set_health(&mut self, member: MemberId, health: Health) {
        let ssd = self.members.ssd(member);
        self.at(ssd, |flash| {
            flash.set_health(health);
            if health == Health::Disabled {
                flash.discard();
            }
        });
    }

    fn device_of(&self, member: MemberId) -> Option<u32> {
        Some(self.members.ssd(member) as u32)
    }

    fn rebuilt(&mut self) {
        self.members.iter_mut().for_each(Flash::rebuilt);
    }

    fn fail_stuck(&mut self) -> bool {
        let mut any = false;
        for ssd in self.members.numbers() {
            any |= self.at(ssd, Flash::fail_stuck);
        }
        any
    }

    #[inline(always)]
    fn makes(&self, fault: FlashFault) -> bool {
        self.members[0].makes(fault)
    }

    #[cfg(feature = "mutants")]
    fn make(&mut self, fault: FlashFault) {
        self.members.iter_mut().for_each(|flash| Failing::make(flash, fault));
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

impl Counting for SsdArray {
    fn counted(&self) -> Counted {
        Counted {
            pages: sum_of(self.members.iter().map(|flash| flash.nand().counts())),
            flash_pages: sum_of(self.members.iter().map(|flash| packed::flash_counts(flash.nand()))),
            padded: self.members.iter().map(|flash| flash.store().padded()).sum(),
            given_up: self.members.iter().map(|flash| flash.store().given_up()).sum(),
        }
    }

    fn untimed(&self) -> Untimed {
        let add = |sum: Untimed, of: Untimed| Untimed { programs: sum.programs + of.programs, victims: sum.victims + of.victims };
        self.members.iter().map(Counting::untimed).fold(Untimed::default(), add)
    }

    #[inline]
    fn request_completed(&mut self) {
        self.completed_requests += 1;
    }

    fn requests_completed(&self) -> u64 {
        self.completed_requests
    }

    fn blocked_sum(&self, member: u32) -> u64 {
        let ssds = self.members.iter().enumerate().filter(|(ssd, _)| self.members.was(*ssd, member));
        ssds.map(|(_, flash)| flash.nand().loads().blocked_sum(MemberId(0), self.completed_requests)).sum()
    }

    fn record(&mut self, what: Recording, records: bool) {
        self.members.iter_mut().for_each(|flash| Counting::record(flash, what, records));
    }

    fn swap_recorded(&mut self, slices: &mut Vec<Slice>, done: &mut Vec<Done>) {
        self.members.swap_recorded(slices, done);
    }

    fn lun(&self, lun: u32) -> Lun {
        let (ssd, lun) = self.members.first().lun(lun);
        let Lun { member, free_blocks } = self.members[ssd].lun(lun);
        Lun { member: member.and_then(|member| self.members.member_in(ssd, member)), free_blocks }
    }
}
