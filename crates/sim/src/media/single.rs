//! One SSD: its flash serves all members.

use super::{
    About, Ahead, Answer, Clocked, Completion, Counted, Counting, Counts, Done, Failing, FlashFault, Lun, MapEvent, Media, News, Preparing,
    Program, Recording, Repeated, Reserving, Serving, Slice, Untimed,
};
use flashraid_ftl::{Flash, Overwrites, finish_gc, packed};
use flashraid_vocabulary::{Cause, Change, DeviceFault, Health, MemberId, MemberPage, Observer, PageOperation, Part, Ppn, Version};

impl Media for Flash {}

impl Clocked for Flash {
    #[inline(always)]
    fn next_event_ns(&self) -> u64 {
        self.nand().next_event_ns()
    }

    #[inline(always)]
    fn is_at_rest(&self) -> bool {
        self.nand().is_at_rest()
    }

    #[inline(always)]
    fn set_now(&mut self, now_ns: u64) {
        self.nand_mut().set_now(now_ns);
    }

    #[inline(always)]
    fn advance<O: Observer>(&mut self, observer: &mut O) {
        Flash::advance(self, observer);
    }

    #[inline(always)]
    fn serve_due_buses(&mut self) {
        Flash::serve_due_buses(self);
    }

    #[inline(always)]
    fn completions(&mut self) -> &mut Vec<Completion> {
        self.nand_mut().completions()
    }

    fn list_started(&mut self, lists: bool) {
        self.nand_mut().recording_mut().list_started(lists);
    }

    #[inline(always)]
    fn started(&mut self) -> &mut Vec<(u32, Ppn, u32)> {
        self.nand_mut().recording_mut().started()
    }

    fn take_unreadable(&mut self) -> Option<(MemberPage, Version)> {
        self.store_mut().take_unreadable()
    }

    #[inline(always)]
    fn has_news(&self) -> bool {
        Flash::has_news(self)
    }

    #[inline(always)]
    fn take_news(&mut self) -> Option<News> {
        if !self.has_news() {
            return None;
        }
        let untold = self.store_mut().space_mut().news_mut();
        let news = untold.take_freed().map(News::Freed).or_else(|| untold.take_flushed().map(News::Flushed));
        let news = news.or_else(|| self.take_gc_query().map(News::Asked));
        news.or_else(|| self.store_mut().space_mut().news_mut().take_wear_out().then_some(News::WornOut(0)))
    }

    #[inline(always)]
    fn swap_map_events(&mut self, news: &mut Vec<MapEvent>) {
        self.store_mut().space_mut().news_mut().swap_map_events(news);
    }

    fn answer(&mut self, answer: Answer<'_>) {
        match answer {
            Answer::Victim(plane, commit_cost) => self.choose_victim(plane, commit_cost),
            Answer::Semivalid(plane, page, action) => self.rule(plane, page, action),
            Answer::Committed(plane) => self.committed(plane),
        }
    }
}

impl Reserving for Flash {
    #[inline(always)]
    fn domain_of(&self, page: MemberPage, version: Version) -> u32 {
        self.store().space().domain_of(page, version)
    }

    #[inline(always)]
    fn reserve(&mut self, page: MemberPage, version: Version) -> bool {
        Flash::reserve(self, page, version)
    }

    #[inline(always)]
    fn release(&mut self, page: MemberPage, version: Version) {
        Flash::release(self, page, version);
    }

    fn domain_is_alive(&self, domain: u32) -> bool {
        self.store().space().domain_is_alive(domain)
    }

    fn domain_has_losses(&self, domain: u32) -> bool {
        self.store().domain_has_losses(domain)
    }
}

impl Serving for Flash {
    #[inline(always)]
    fn submit(&mut self, operation: &PageOperation, owner: u32) -> Option<u32> {
        Flash::submit(self, operation, owner)
    }

    #[inline(always)]
    fn about(&self, record: u32) -> About {
        self.nand().about(record)
    }

    fn program(&self, record: u32) -> Program {
        let (program, store) = (self.nand().record(record), self.store());
        let (page, version) = (store.maps().address(program.slot), program.version);
        Program { page, version, is_unallocated: store.is_unallocated(program), has_lost_its_page: store.has_lost_its_page(program) }
    }

    #[inline(always)]
    fn next_in_list(&mut self, record: u32) -> &mut u32 {
        &mut self.nand_mut().record_mut(record).next
    }

    fn flush(&mut self, flush: u32) -> u32 {
        Flash::flush(self, flush).into()
    }

    #[inline(always)]
    fn forget(&mut self, record: u32) {
        self.nand_mut().remove_record(record);
    }

    #[inline(always)]
    fn commit(&mut self, record: u32) {
        Flash::commit(self, record);
    }

    fn abort(&mut self, record: u32) {
        Flash::abort(self, record);
    }

    fn repeat(&mut self, record: u32) -> Repeated {
        Repeated { record, is_queued: Flash::repeat(self, record) }
    }

    fn unallocated(&mut self, operation: &PageOperation, owner: u32) -> u32 {
        Flash::unallocated(self, operation, owner)
    }

    fn leave_unplaced(&mut self, record: u32) {
        Flash::leave_unplaced(self, record);
    }

    #[inline(always)]
    fn lookup(&self, page: MemberPage, version: Version) -> Option<Ppn> {
        self.store().lookup(page, version)
    }

    fn next_mapped(&self, entry: u32, end: u32) -> Option<u32> {
        self.store().maps().next_mapped(entry, end)
    }

    #[inline(always)]
    fn apply(&mut self, change: &Change) {
        self.preparation().end_filling();
        match *change {
            Change::Unmap(page) => self.unmap(page, Version::Current),
            Change::ReleaseBase(page) => self.unmap(page, Version::Base),
            Change::ReleaseCopy(page) => self.unmap(page, Version::Copy),
            Change::Lose(page) => self.lose(page),
            Change::Retire(page) => self.retire(page),
            Change::Defer(..) | Change::ReleaseDeferred(_) => unreachable!("NVRAM alone holds it"),
        }
    }

    #[inline(always)]
    fn prefetch(&self, ahead: Ahead) {
        match ahead {
            Ahead::Request(page) => self.store().prefetch_map(page),
            Ahead::Superseded(entry) => self.store().prefetch_block(entry),
            Ahead::Record(record) => self.nand().prefetch_record(record),
            Ahead::Commit(record) => self.store().prefetch_commit(self.nand().record(record)),
            Ahead::Successor(record) => self.store().prefetch_block(self.nand().record(record).slot),
        }
    }
}

impl Preparing for Flash {
    fn set_untimed(&mut self, untimed: bool) {
        self.preparation().set_untimed(untimed);
    }

    fn begin_fill(&mut self, pages: u64, overwrites: Option<&mut Overwrites<'_>>) -> Option<f64> {
        let Some(overwrites) = overwrites else {
            self.preparation().begin_fill(pages);
            return None;
        };
        self.preparation().begin_overwritten_fill(overwrites)
    }

    fn begin_phases(&mut self, random: &mut dyn FnMut() -> u64) -> u64 {
        self.preparation().begin_phases(random)
    }

    fn is_to_advance(&self, page: MemberPage) -> bool {
        self.prepared().is_to_advance(self.store().space().domain_of(page, Version::Current))
    }

    fn end_phases(&mut self) {
        self.preparation().end_phases();
    }

    fn place(&mut self, page: MemberPage, version: Version) -> Ppn {
        Flash::place(self, page, version)
    }

    #[inline(always)]
    fn place_untimed<O: Observer>(
        &mut self,
        page: MemberPage,
        version: Version,
        keep_base: bool,
        cause: Cause,
        observer: &mut O,
    ) -> (u32, Ppn) {
        self.preparation().place(page, version, keep_base, cause, observer)
    }

    fn finish_gc(&mut self) {
        finish_gc(self);
    }

    fn empty_memory(&mut self) {
        self.preparation().empty_memory();
    }

    #[inline(always)]
    fn collect_low_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        self.preparation().collect_low(plane, observer);
    }

    fn relieve_now<O: Observer>(&mut self, observer: &mut O) {
        self.preparation().relieve(observer);
    }
}

impl Failing for Flash {
    fn fail(&mut self, failure: &DeviceFault) {
        Flash::fail(self, &failure.fault);
    }

    fn replace(&mut self, _: Option<u32>, part: &Part) -> bool {
        let dead = self.parts().dead_chips_of(part);
        let is_replaced =
            !dead.is_empty() && dead.into_iter().fold(true, |all, (channel, chip)| Flash::replace(self, channel, chip) && all);
        self.lose_what_cannot_move();
        is_replaced
    }

    fn use_spare(&mut self, new: MemberId, _: MemberId) {
        unreachable!("{new:?} is no SSD of an array");
    }

    fn set_health(&mut self, member: MemberId, _: Health) {
        unreachable!("{member:?} is no SSD of an array");
    }

    fn device_of(&self, _: MemberId) -> Option<u32> {
        None
    }

    fn rebuilt(&mut self) {
        Flash::rebuilt(self);
    }

    fn fail_stuck(&mut self) -> bool {
        Flash::fail_stuck(self)
    }

    #[inline(always)]
    fn makes(&self, fault: FlashFault) -> bool {
        self.nand().makes(fault)
    }

    #[cfg(feature = "mutants")]
    fn make(&mut self, fault: FlashFault) {
        self.nand_mut().mutant = Some(fault);
    }
}

impl Counting for Flash {
    fn counted(&self) -> Counted {
        Counted {
            pages: *self.nand().counts(),
            flash_pages: *packed::flash_counts(self.nand()),
            padded: self.store().padded(),
            given_up: self.store().given_up(),
        }
    }

    #[inline]
    fn counts(&self) -> Counts {
        *self.nand().counts()
    }

    fn untimed(&self) -> Untimed {
        Untimed { programs: self.prepared().programmed, victims: self.prepared().victims }
    }

    #[inline(always)]
    fn request_completed(&mut self) {
        self.nand_mut().loads_mut().request_completed();
    }

    fn requests_completed(&self) -> u64 {
        self.nand().loads().requests_completed()
    }

    fn blocked_sum(&self, member: u32) -> u64 {
        self.nand().loads().blocked_sum(MemberId(member as u16), self.requests_completed())
    }

    fn record(&mut self, what: Recording, records: bool) {
        match what {
            Recording::Slices => self.nand_mut().recording_mut().record_slices(records),
            Recording::Done => self.nand_mut().record_done(records),
        }
    }

    fn swap_recorded(&mut self, slices: &mut Vec<Slice>, done: &mut Vec<Done>) {
        self.nand_mut().recording_mut().swap_recorded(slices, done);
    }

    fn lun(&self, lun: u32) -> Lun {
        Lun { member: self.nand().member_of_lun(lun), free_blocks: self.store().space().free_blocks_of_lun(lun, self.nand().places()) }
    }
}
