//! The end of an episode: everything comes to rest, what could be rebuilt is, and every page is read.

use super::setup::{Episode, Problem};
use flashraid_sim::media::Media;
use flashraid_sim::verify::{self, VERSIONS};
use flashraid_vocabulary::{Cause, HostOp, HostRequest, Lpn, MemberPage, Version};

/// Events within which a device comes to rest, if its reads take one attempt.
const MOST_EVENTS: u64 = 300_000;

impl<M: Media> Episode<M> {
    /// Lets everything end that goes on.
    fn come_to_rest(&mut self) -> Result<(), Problem> {
        let mut before = self.engine.executor.media.counts();
        let attempts = self.engine.executor.media.ssds().iter().map(|ssd| ssd.settings.cell.most_attempts()).max();
        let most_events = attempts.expect("there is an SSD") * MOST_EVENTS;
        for event in 0..most_events {
            if event == most_events / 2 {
                before = self.engine.executor.media.counts();
            }
            if !self.advance()? {
                return Ok(());
            }
        }
        let mut what = format!("does not finish: of {most_events} events after the last request, the second half are");
        for (action, name) in ["reads", "programs", "erases"].into_iter().enumerate() {
            for cause in Cause::ALL {
                let count = self.engine.executor.media.counts()[action][cause as usize] - before[action][cause as usize];
                if count > 0 {
                    what += &format!(" {count} {name} ({})", cause.name());
                }
            }
        }
        Err((None, what))
    }

    /// Everything submitted ends, and the rebuild; then every page is read.
    pub(super) fn end(&mut self) -> Result<(), Problem> {
        self.come_to_rest()?;
        self.host.take_completed(&mut self.engine);
        self.check()?;
        if self.terms.drains {
            self.engine.drain_buffer().map_err(|halted| (None, halted.to_string()))?;
            self.engine.executor.drain_scheme(&mut self.engine.front_end);
            self.come_to_rest()?;
            self.check()?;
        }
        self.notice_rebuilt();
        let flash = &self.engine.executor.media;
        flash.check().map_err(|what| (None, what))?;
        // Also where nothing but programs has failed, and no rebuild ever began: some pages may not have been allocated.
        let is_done = self.terms.rebuilds && self.engine.survey().rebuild_share.is_none() && !self.damage.exceeded;
        let (members, rows) = (flash.shape().members, flash.shape().pages_per_member);
        let mut pages = (0..rows).flat_map(|page| (0..members).map(move |member| MemberPage::new(member as u16, page)));
        let can_be_repaired = |page: &MemberPage| flash.can_allocate(*page) && !self.may_stay_lost(*page);
        let is_left = |page: &MemberPage| flash.is_lost(*page, Version::Current) && can_be_repaired(page);
        if let Some(page) = pages.find(is_left).filter(|_| is_done) {
            return Err((None, format!("the rebuild has ended, and there is space for {page:?}, which is still lost")));
        }
        if let Some(lpn) = self.unrepaired().filter(|_| is_done) {
            return Err((
                Some(lpn.0),
                "the rebuild has ended, and there is space for its whole stripe, of which a page is still lost".into(),
            ));
        }
        if let Some(page) = self.unmoved() {
            return Err((None, format!("the replacement has not ended, though there is space for {page:?}")));
        }
        if let Some(page) = self.unrepaired_map().filter(|_| is_done) {
            return Err((
                None,
                format!("the rebuild has ended, and there is space for a copy of translation page {page}, which is still lost"),
            ));
        }
        self.read_all()
    }

    /// A translation page of which a copy is lost, though the other one lives and there is space for it.
    fn unrepaired_map(&self) -> Option<u32> {
        let (translation, flash) = (self.engine.survey().translation?, &self.engine.executor.media);
        (0..translation.pages()).find(|page| {
            let Some((_, copies)) = translation.stored_at(*page) else { return false };
            let lost = copies.map(|copy| flash.is_lost(copy, Version::Current));
            let can_allocate = |copy: usize| lost[copy] && !lost[1 - copy] && flash.can_allocate(copies[copy]);
            can_allocate(0) || can_allocate(1)
        })
    }

    /// A host page of a stripe that has lost something, of whatever version, though there is space for all of it.
    fn unrepaired(&self) -> Option<Lpn> {
        let (engine, flash) = (&self.engine, &self.engine.executor.media);
        let (mut pages, mut first) = (Vec::new(), 0);
        while first < engine.space_pages() {
            let end = verify::end_of_stripe(engine, first);
            pages.clear();
            verify::pages_of_stripe(engine, first, end, &mut pages);
            let is_lost = |page: &MemberPage| VERSIONS.iter().any(|version| flash.is_lost(*page, *version));
            let can_be_repaired = |page: &MemberPage| flash.can_allocate(*page) && !self.may_stay_lost(*page);
            if pages.iter().any(is_lost) && pages.iter().all(can_be_repaired) {
                return Some(Lpn(first));
            }
            first = end;
        }
        None
    }

    /// Reads every page, one by one: exactly the lost ones fail.
    fn read_all(&mut self) -> Result<(), Problem> {
        let page_bytes = u64::from(self.engine.executor.media.shape().page_bytes);
        for page in 0..self.engine.space_pages() {
            let (address, holds) = (self.engine.scheme().locate(Lpn(page)), self.engine.front_end.holds(Lpn(page)));
            let may_be_lost = self.engine.executor.media.is_lost(address, Version::Current) || self.engine.is_gone(Lpn(page));
            let is_lost = may_be_lost && self.engine.lost_pages().any(|lpn| lpn.0 == page);
            let request = HostRequest {
                arrival_ns: self.engine.now_ns(),
                offset_bytes: self.host_page(page) * page_bytes,
                size_bytes: page_bytes,
                op: HostOp::Read,
                stream: 0,
                source: 0,
            };
            self.engine.front_end.completed.clear();
            self.engine.submit(&request, true);
            self.come_to_rest()?;
            let is_read = self.engine.front_end.completed.last().is_some_and(|completed| completed.ok);
            // Of a page in DRAM nothing may be needed that is lost; nor of one whose discard failed, and was believed by the buffer.
            if self.engine.front_end.refuses(HostOp::Read) {
                if is_read {
                    return Err((Some(page), "is read, though the device has stopped".into()));
                }
                continue;
            }
            if is_read == is_lost && !holds && !self.engine.executor.content.is_in_doubt(Lpn(page)) {
                let what = if is_lost { "is lost, but a read of it succeeds" } else { "is not lost, but a read of it fails" };
                return Err((Some(page), what.into()));
            }
        }
        let reads = self.engine.executor.content.mismatches;
        if reads > 0 { Err((None, format!("{reads} reads at the end returned wrong content"))) } else { Ok(()) }
    }
}
