//! One SSD: its flash serves all members.

use super::{About, Completion, Counts, Done, FlashFault, MapNews, Media, Question, Shape, Slice, Untimed};
use flashraid_flash::Flash;
use flashraid_vocabulary::{Fault, MemberId, MemberPage, Observer, PageOperation, Ppn, Ruling, Version};

impl Media for Flash {
    fn shape(&self) -> Shape {
        let (settings, geometry) = (self.settings(), self.geometry());
        Shape {
            members: settings.members(),
            pages_per_member: settings.pages_per_member,
            translation_pages: settings.translation_pages,
            to_twin: if settings.member_is_chip && geometry.channels > 1 { geometry.chips_per_channel } else { 1 },
            page_bytes: geometry.page_bytes,
            pages_per_block: geometry.pages_per_block,
            planes: self.planes(),
            units: self.units().len() as u32,
            domains: self.domains() as u32,
            has_mirrors: settings.mirror_chips > 0,
            has_log_blocks: settings.log_blocks > 0,
            reports_data_in: settings.report_data_in,
        }
    }

    #[inline(always)]
    fn entry(&self, page: MemberPage) -> u32 {
        self.slot(page)
    }

    #[inline(always)]
    fn page(&self, entry: u32) -> MemberPage {
        self.address(entry)
    }

    #[inline(always)]
    fn next_event_ns(&self) -> u64 {
        Flash::next_event_ns(self)
    }

    #[inline(always)]
    fn set_now(&mut self, now_ns: u64) {
        Flash::set_now(self, now_ns);
    }

    #[inline(always)]
    fn advance<O: Observer>(&mut self, observer: &mut O) {
        Flash::advance(self, observer);
    }

    #[inline(always)]
    fn completions(&self) -> &[Completion] {
        Flash::completions(self)
    }

    #[inline(always)]
    fn forget_completions(&mut self) {
        Flash::forget_completions(self);
    }

    #[inline(always)]
    fn take_started(&mut self) -> Option<(u32, Ppn, u32)> {
        Flash::take_started(self)
    }

    #[inline(always)]
    fn has_news(&self) -> bool {
        Flash::has_news(self)
    }

    #[inline(always)]
    fn take_freed(&mut self) -> Option<u32> {
        Flash::take_freed(self)
    }

    #[inline(always)]
    fn take_question(&mut self) -> Option<Question> {
        Flash::take_question(self)
    }

    #[inline(always)]
    fn swap_map_news(&mut self, news: &mut Vec<MapNews>) {
        Flash::swap_map_news(self, news);
    }

    fn choose_victim(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) {
        Flash::choose_victim(self, plane, commit_cost);
    }

    fn rule(&mut self, plane: u32, page: MemberPage, ruling: Ruling) {
        Flash::rule(self, plane, page, ruling);
    }

    fn committed(&mut self, plane: u32) {
        Flash::committed(self, plane);
    }

    #[inline(always)]
    fn domain_of(&self, page: MemberPage, version: Version) -> u32 {
        Flash::domain_of(self, page, version)
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
        Flash::domain_is_alive(self, domain)
    }

    fn domain_has_losses(&self, domain: u32) -> bool {
        Flash::domain_has_losses(self, domain)
    }

    #[inline(always)]
    fn submit(&mut self, operation: &PageOperation, owner: u32) -> Option<u32> {
        Flash::submit(self, operation, owner)
    }

    #[inline(always)]
    fn about(&self, record: u32) -> About {
        Flash::about(self, record)
    }

    #[inline(always)]
    fn programmed(&self, record: u32) -> (MemberPage, Version) {
        Flash::programmed(self, record)
    }

    #[inline(always)]
    fn next_in_list(&self, record: u32) -> u32 {
        Flash::next_in_list(self, record)
    }

    #[inline(always)]
    fn set_next_in_list(&mut self, record: u32, next: u32) {
        Flash::set_next_in_list(self, record, next);
    }

    #[inline(always)]
    fn forget(&mut self, record: u32) {
        Flash::forget(self, record);
    }

    #[inline(always)]
    fn commit(&mut self, record: u32) {
        Flash::commit(self, record);
    }

    fn abort(&mut self, record: u32) {
        Flash::abort(self, record);
    }

    fn repeat(&mut self, record: u32) -> bool {
        Flash::repeat(self, record)
    }

    fn unplaced(&mut self, operation: &PageOperation, owner: u32) -> u32 {
        Flash::unplaced(self, operation, owner)
    }

    fn leave_unplaced(&mut self, record: u32) {
        Flash::leave_unplaced(self, record);
    }

    fn is_unplaced(&self, record: u32) -> bool {
        Flash::is_unplaced(self, record)
    }

    fn has_lost_its_page(&self, record: u32) -> bool {
        Flash::has_lost_its_page(self, record)
    }

    #[inline(always)]
    fn lookup(&self, page: MemberPage, version: Version) -> Option<Ppn> {
        Flash::lookup(self, page, version)
    }

    fn next_mapped(&self, entry: u32, end: u32) -> Option<u32> {
        Flash::next_mapped(self, entry, end)
    }

    fn unmap(&mut self, page: MemberPage, version: Version) {
        Flash::unmap(self, page, version);
    }

    fn retire(&mut self, page: MemberPage) {
        Flash::retire(self, page);
    }

    fn lose(&mut self, page: MemberPage) {
        Flash::lose(self, page);
    }

    fn set_without_time(&mut self, without_time: bool) {
        Flash::set_without_time(self, without_time);
    }

    fn place(&mut self, page: MemberPage, version: Version) -> Ppn {
        Flash::place(self, page, version)
    }

    #[inline(always)]
    fn place_now<O: Observer>(&mut self, page: MemberPage, version: Version, keep_base: bool, observer: &mut O) -> (u32, Ppn) {
        Flash::place_now(self, page, version, keep_base, observer)
    }

    #[inline(always)]
    fn collect_low_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        Flash::collect_low_now(self, plane, observer);
    }

    fn relieve_now<O: Observer>(&mut self, observer: &mut O) {
        Flash::relieve_now(self, observer);
    }

    fn untimed(&self) -> Untimed {
        Untimed { programs: self.pages_programmed_now(), victims: self.victims_collected_now() }
    }

    fn fail(&mut self, fault: &Fault) {
        Flash::fail(self, fault);
    }

    fn replace_dead(&mut self) -> bool {
        let dead = self.dead_chips();
        !dead.is_empty() && dead.into_iter().fold(true, |all, (channel, chip)| self.replace(channel, chip) && all)
    }

    fn resume_copies(&mut self, member: MemberId) {
        Flash::resume_copies(self, member);
    }

    fn fail_stuck(&mut self) -> bool {
        Flash::fail_stuck(self)
    }

    fn lost_versions(&self) -> u64 {
        (0..self.settings().members()).map(|member| Flash::lost_versions(self, MemberId(member as u16))).sum()
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    #[inline(always)]
    fn request_completed(&mut self) {
        Flash::request_completed(self);
    }

    fn record_slices(&mut self, records: bool) {
        Flash::record_slices(self, records);
    }

    fn record_done(&mut self, records: bool) {
        Flash::record_done(self, records);
    }

    fn recorded(&self) -> (&[Slice], &[Done]) {
        (self.slices(), self.done())
    }

    fn forget_recorded(&mut self) {
        self.forget_slices();
        self.forget_done();
    }

    fn member_of_unit(&self, unit: u32) -> Option<u32> {
        Flash::member_of_unit(self, unit)
    }

    fn free_blocks_of_unit(&self, unit: u32) -> u64 {
        Flash::free_blocks_of_unit(self, unit)
    }

    #[inline(always)]
    fn prefetch_map(&self, page: MemberPage) {
        Flash::prefetch_map(self, page);
    }

    #[inline(always)]
    fn prefetch_block(&self, entry: u32) {
        Flash::prefetch_block(self, entry);
    }

    #[inline(always)]
    fn prefetch_record(&self, record: u32) {
        Flash::prefetch_record(self, record);
    }

    #[inline(always)]
    fn prefetch_commit(&self, record: u32) -> u32 {
        Flash::prefetch_commit(self, record)
    }

    #[inline(always)]
    fn makes(&self, fault: FlashFault) -> bool {
        Flash::makes(self, fault)
    }

    #[cfg(feature = "mutants")]
    fn began_ns(&self, ppn: Ppn) -> u64 {
        Flash::began_ns(self, ppn)
    }

    #[cfg(feature = "mutants")]
    fn make(&mut self, fault: FlashFault) {
        self.mutant = Some(fault);
    }
}
