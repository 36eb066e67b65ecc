//! When something fails: what becomes of the operations under way, and the rebuild.
//!
//! Nothing is taken back. A page operation that fails is a completion like others. A program is repeated elsewhere in its space
//! domain, as the controller still has the content (SPEC 0.1 e), also if it had ended when its chip died, since its operation has not; where
//! nothing is left to take it, its page will be lost when the operation ends, or the scheme does otherwise. A read that fails starts its
//! operation anew, from the state that is found then.
//!
//! Space in a domain that has lost something may never come back. An operation waits for it like any other, until nothing is under way
//! that could make some: then the domain counts as exhausted, and operations do without, until the collector gives it a page.

use super::content::Content;
use super::{Engine, NIL};
use crate::clock::NEVER;
#[cfg(feature = "mutants")]
use crate::media::accounting::{self, Slip};
use crate::media::{About, Media, Shape};
use crate::statistics::Latency;
use flashraid_redundancy::rebuild::{Order, Rebuild};
use flashraid_redundancy::{Job, Lock, Method, Operation, OperationKind, Outcomes};
use flashraid_vocabulary::{Action, Cause, Change, Delivery, Fault, LocalPage, Lpn, MemberId, PageOperation, StripeId, Version, Wave};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The job number of the rebuild.
pub(super) const REBUILD: u16 = u16::MAX - 2;

/// How what failed is rebuilt.
#[derive(Clone, Copy, Debug)]
pub struct RebuildOptions {
    /// In which order.
    pub order: &'static Order,
    /// Repairs at once.
    pub window: u32,
    /// A stripe of which a read reconstructs something is repaired next.
    pub piggyback: bool,
}

/// A rebuild, from the first failure that it answers.
#[derive(Clone, Debug)]
pub struct RebuildRecord {
    /// What failed, and when.
    pub faults: Vec<(u64, Fault)>,
    /// When it came to its end: nothing was left that it could bring back.
    pub ended_ns: Option<u64>,
    /// The same, if everything was as redundant as before then.
    pub finished_ns: Option<u64>,
    /// Pages programmed.
    pub pages: u64,
    /// Of these, copied from one other page.
    pub pages_copied: u64,
    /// Versions of pages that were lost by the failures.
    pub pages_lost: u64,
    /// Requests that arrived between the first failure and the end.
    pub latency: Latency,
}

/// What failed at one instant.
#[derive(Clone, Debug)]
pub struct FaultRecord {
    /// When.
    pub at_ns: u64,
    /// What.
    pub fault: Fault,
    /// Whether spare chips took the place of all the chips that it took.
    pub is_replaced: bool,
    /// Host pages that nothing can bring back since then.
    pub pages_lost: u64,
}

/// A read that waits for its member to be idle.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    id: u32,
    read: u8,
    page_operation: PageOperation,
}

/// What the engine keeps of failures.
#[derive(Clone, Debug)]
pub(super) struct Failures {
    options: Option<RebuildOptions>,
    pub(super) rebuild: Option<Box<Rebuild>>,
    faults: Vec<FaultRecord>,
    records: Vec<RebuildRecord>,
    /// Space domains in which nobody waits for a page, as none will come.
    exhausted: Vec<bool>,
    /// Strips that the reads of an operation's wave will make up, by operation.
    deliveries: FxHashMap<u32, Vec<Delivery>>,
    /// Reads that wait, by member.
    fetches: Vec<VecDeque<Fetch>>,
    waiting: u64,
    /// Members (bits) whose read is under way, and its operation.
    fetching: Vec<u32>,
}

impl Failures {
    pub(super) fn new(options: Option<RebuildOptions>, shape: &Shape) -> Self {
        let members = shape.members as usize;
        Self {
            options,
            rebuild: None,
            faults: Vec::new(),
            records: Vec::new(),
            exhausted: vec![false; shape.domains as usize],
            deliveries: FxHashMap::default(),
            fetches: vec![VecDeque::new(); members],
            waiting: 0,
            fetching: vec![NIL; members],
        }
    }
}

impl<C: Content, M: Media> Engine<C, M> {
    // ---- faults ----

    /// Something fails now. The part must exist on the device.
    pub fn fail(&mut self, fault: Fault) {
        let now_ns = self.now_ns();
        let lost_before = self.lost_versions();
        self.media.fail(&fault);
        if self.translation.is_some() {
            self.take_map_news(); // of collections that it has cut short
        }
        let mut is_replaced = false;
        if fault == Fault::ParityCache {
            self.lose_parity_cache();
        }
        if let Fault::Loss(_) | Fault::ParityCache = fault {
            is_replaced = self.media.replace_dead();
            self.start_rebuild(now_ns, fault, self.lost_versions() - lost_before);
        }
        let pages_lost = self.lost_pages().count() as u64;
        self.failures.faults.push(FaultRecord { at_ns: now_ns, fault, is_replaced, pages_lost });
        self.note_all_exposed();
        // Programs that can never start, and those who wait for pages that are gone.
        self.take_failed();
        for domain in 0..self.shape.domains {
            if self.is_hopeless(domain) {
                self.wake_space_waiters(domain);
            }
        }
        self.run_ready();
        self.tell_watchers();
    }

    /// NVRAM has lost all delayed parities. Operations that hold their stripe, and may have read or planned with one of them, start anew.
    fn lose_parity_cache(&mut self) {
        let mut changes = Vec::new();
        self.scheme.parity_cache_lost(&self.media, &mut changes);
        #[cfg(feature = "mutants")]
        self.distort_parity_cache_lost(&mut changes);
        let nobody = Operation::background(OperationKind::Job, StripeId(0), LocalPage(0), Lpn(0), 0);
        for change in changes {
            self.apply(NIL, &nobody, change);
            if let Change::Lose(address) = change {
                // Nothing is written to a map on flash for it: the controller knows it of all stripes (SPEC 6.2).
                self.note_placed(address);
            }
        }
        // Commits for collections may run under the locks of others.
        let may_use_it = |operation: &Operation| operation.lock != Lock::None || operation.kind == OperationKind::Commit;
        for slot in self.slots.iter_mut().filter(|slot| slot.is_of_scheme() && slot.started && may_use_it(&slot.operation)) {
            slot.outcomes.read_failed = true;
            slot.troubled = true;
        }
    }

    /// Versions of pages, translation pages included, that are lost now. Looks at all of them.
    pub fn lost_versions(&self) -> u64 {
        self.media.lost_versions()
    }

    /// Programs that could not even start have failed.
    #[cold]
    fn take_failed(&mut self) {
        self.take_completions();
    }

    /// What failed so far.
    pub fn faults(&self) -> &[FaultRecord] {
        &self.failures.faults
    }

    /// Rebuilds, in the order in which they began.
    pub fn rebuilds(&self) -> &[RebuildRecord] {
        &self.failures.records
    }

    /// How much of the running rebuild is done: the share of stripes that it has passed, from 0 to 1. `None` if none runs.
    pub fn rebuild_share(&self) -> Option<f64> {
        let is_running = self.failures.records.last().is_some_and(|record| record.ended_ns.is_none());
        self.failures.rebuild.as_ref().filter(|_| is_running).map(|rebuild| rebuild.progress())
    }

    /// Host pages that nothing brings back, as things are now: lost, and beyond what the scheme can recover.
    pub fn lost_pages(&self) -> impl Iterator<Item = Lpn> {
        let lost = |address, version| self.media.is_lost(address, version);
        let mut sources = Vec::new();
        let pages = if self.media.has_failures() { self.options.space_pages } else { 0 };
        (0..pages)
            .map(Lpn)
            .filter(move |lpn| lost(self.scheme.locate(*lpn), Version::Current) && !self.scheme.recover(*lpn, &lost, &mut sources))
    }

    // ---- space that will not come ----

    /// Whether nobody should wait for a page of the domain.
    pub(super) fn is_hopeless(&self, domain: u32) -> bool {
        self.media.has_failures() && (self.failures.exhausted[domain as usize] || !self.media.domain_is_alive(domain))
    }

    /// The domain has gained a page.
    pub(super) fn gained_space(&mut self, domain: u32) {
        self.failures.exhausted[domain as usize] = false;
    }

    /// Nothing is under way. Returns whether somebody goes on who waited for pages that failures have taken.
    #[cold]
    pub(super) fn goes_on_without_space(&mut self) -> bool {
        if !self.media.has_failures() {
            return false;
        }
        if self.failures.waiting > 0 {
            // What let their repairs start was no event.
            self.go_on_rebuilding();
            if self.media.next_event_ns() != NEVER || self.clock.has_pauses() {
                return true;
            }
        }
        if self.media.fail_stuck() {
            self.take_failed();
            self.run_ready();
            self.tell_watchers();
            return true;
        }
        let waits = |domain: &u32| self.space_waiters[*domain as usize].0 != NIL && self.media.domain_has_losses(*domain);
        let Some(domain) = (0..self.shape.domains).find(waits) else { return false };
        self.failures.exhausted[domain as usize] = true;
        self.wake_space_waiters(domain);
        self.run_ready();
        self.tell_watchers();
        true
    }

    // ---- page operations ----

    /// A page operation that cannot even be submitted: a read of what is lost, or of a base that is gone since it was planned;
    /// a program without a page, or whose domain has died since its page was promised. Returns whether it is one.
    pub(super) fn fails_at_once(&mut self, id: u32, page_operation: &PageOperation) -> bool {
        let PageOperation { address, version, action, .. } = *page_operation;
        let bit = 1u64 << address.member.0;
        match action {
            Action::Read => {
                let is_released = version == Version::Base && self.media.lookup(address, version).is_none();
                let is_gone = is_released || self.media.is_lost(address, version);
                let slot = &mut self.slots[id as usize];
                slot.outcomes.read_failed |= is_gone;
                slot.troubled |= is_gone;
                is_gone
            }
            Action::Program => {
                let slot = &mut self.slots[id as usize];
                let promised = if version == Version::Copy { &mut slot.promised_copies } else { &mut slot.promised };
                if *promised & bit != 0 {
                    let domain = self.media.domain_of(address, version);
                    if self.media.domain_is_alive(domain) {
                        return false;
                    }
                    *promised &= !bit;
                    self.media.release(address, version);
                }
                let record = self.media.unplaced(page_operation, id);
                self.is_unplaced(id, record);
                true
            }
        }
    }

    /// A page operation has failed.
    #[cold]
    pub(super) fn page_operation_failed(&mut self, record: u32, about: &About) {
        let id = about.owner;
        // A program that has begun under a device that reports it has told of its data.
        let has_begun = about.ppn.0 != NIL;
        let slot = &mut self.slots[id as usize];
        slot.outstanding -= 1;
        if !(about.action == Action::Program && self.shape.reports_data_in && has_begun) {
            slot.waits -= u8::from(about.host_waits);
        }
        match about.action {
            #[cfg(feature = "mutants")]
            Action::Read if self.mutant.as_ref().is_some_and(|mutant| mutant.reads_what_is_dead()) => {
                self.content.delivered(id, &slot.operation, record, about.ppn);
                self.media.forget(record);
                self.fetched(id, about.member);
            }
            #[cfg(feature = "mutants")]
            Action::Read if self.mutant.as_ref().is_some_and(|mutant| mutant.uses_failed_reads()) => {
                self.media.forget(record);
                self.fetched(id, about.member);
            }
            Action::Read => {
                slot.outcomes.read_failed = true;
                slot.troubled = true;
                self.media.forget(record);
                self.fetched(id, about.member);
            }
            Action::Program if has_begun => self.program_again(id, record),
            Action::Program => {
                // Nobody will ever make a page for it.
                self.statistics.never_started(about.cause, about.member);
                if let Some(request) =
                    self.requests.get_mut(slot.request() as usize).filter(|request| request.measured && about.cause != Cause::Retry)
                {
                    request.programs[about.cause as usize] -= 1;
                }
                self.is_unplaced(id, record);
            }
        }
    }

    /// Repeats a program whose page is gone.
    fn program_again(&mut self, id: u32, record: u32) {
        #[cfg(feature = "mutants")]
        if self.has_fault(crate::mutants::Fault::ForgetRetry) {
            let former = std::mem::replace(&mut self.slots[id as usize].programs, record);
            return self.media.set_next_in_list(record, former);
        }
        let about = self.media.about(record);
        #[cfg(feature = "mutants")]
        if let Some(request) = self.requests.get_mut(self.slots[id as usize].request() as usize)
            && accounting::makes(Slip::RepeatedRequestAnew)
        {
            request.arrival_ns = self.clock.now_ns();
        }
        if self.media.repeat(record) {
            self.statistics.planned(Action::Program, Cause::Retry, about.member);
            let slot = &mut self.slots[id as usize];
            slot.outstanding += 1;
            slot.waits += u8::from(about.host_waits);
        } else {
            self.is_unplaced(id, record);
        }
    }

    /// The program `record` finds no page.
    fn is_unplaced(&mut self, id: u32, record: u32) {
        let (address, version) = self.media.programmed(record);
        let slot = &mut self.slots[id as usize];
        slot.troubled = true;
        if version == Version::Copy {
            slot.outcomes.unplaced_copies |= 1 << address.member.0;
            self.media.abort(record);
        } else {
            slot.outcomes.unplaced |= 1 << address.member.0;
            self.media.leave_unplaced(record);
            self.media.set_next_in_list(record, slot.programs);
            slot.programs = record;
        }
    }

    /// A wave has ended. Returns whether its operation can go on: every program that ended still has its page, and no read failed.
    #[cold]
    pub(super) fn settle_wave(&mut self, id: u32) -> bool {
        if self.slots[id as usize].outcomes.read_failed {
            self.start_over(id);
            return false;
        }
        let mut record = std::mem::replace(&mut self.slots[id as usize].programs, NIL);
        while record != NIL {
            let next = self.media.next_in_list(record);
            if self.media.has_lost_its_page(record) {
                self.program_again(id, record);
            } else {
                let slot = &mut self.slots[id as usize];
                self.media.set_next_in_list(record, slot.programs);
                slot.programs = record;
            }
            record = next;
        }
        if self.slots[id as usize].outstanding > 0 {
            return false;
        }
        for delivery in self.failures.deliveries.remove(&id).unwrap_or_default() {
            let operation = self.slots[id as usize].operation;
            self.content.assembled(id, &operation, &delivery);
        }
        true
    }

    /// A read has failed: the operation starts anew, from what is there now.
    pub(super) fn start_over(&mut self, id: u32) {
        self.drop_work(id);
        let slot = &mut self.slots[id as usize];
        slot.outcomes = Outcomes { read_failed: true, ..Outcomes::default() };
        slot.unpromised = slot.operation.space & !slot.promised;
        (slot.reads, slot.last, slot.started) = (0, false, false);
        let Operation { step, reads, update_reads, copied, method, .. } = &mut slot.operation;
        (*step, *reads, *update_reads, *copied, *method) = (0, 0, 0, 0, Method::None);
        if C::TRACKED {
            let operation = slot.operation;
            self.content.restarted(id, &operation);
        }
        self.promise_and_start(id);
    }

    /// An operation ends although a program found no page: it is to be made when there is room.
    pub(super) fn ended_unplaced(&mut self, record: u32) {
        #[cfg(feature = "mutants")]
        if self.has_fault(crate::mutants::Fault::ForgetUnplaced) {
            return;
        }
        let address = self.media.programmed(record).0;
        if self.rebuild().is_none() {
            return;
        }
        self.has_watchers = true;
        match &mut self.translation {
            Some(translation) if self.shape.is_translation(address) => translation.unplaced(address),
            _ => self.failures.rebuild.as_mut().expect("there is one").unplaced(address, &self.media),
        }
    }

    /// Forgets what the operation has programmed and would change.
    pub(super) fn drop_work(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        let (mut record, changes) = (std::mem::replace(&mut slot.programs, NIL), slot.changes);
        if changes != NIL {
            self.changes[changes as usize].clear();
        }
        while record != NIL {
            let next = self.media.next_in_list(record);
            self.media.abort(record);
            record = next;
        }
        self.failures.deliveries.remove(&id);
    }

    /// Notes which strips a wave's reads will make up. Returns them.
    #[inline]
    pub(super) fn note_deliveries(&mut self, id: u32, wave: &Wave) -> u64 {
        if wave.deliveries.is_empty() {
            return 0;
        }
        if C::TRACKED {
            let operation = self.slots[id as usize].operation;
            // The programs of this very wave may be made of what NVRAM alone delivers.
            let is_known = |delivery: &&Delivery| delivery.reads == 0 && operation.kind != OperationKind::Read;
            let (at_once, later): (Vec<_>, Vec<_>) = wave.deliveries.iter().partition(is_known);
            at_once.into_iter().for_each(|delivery: Delivery| self.content.assembled(id, &operation, &delivery));
            self.failures.deliveries.insert(id, later);
        }
        wave.deliveries.iter().fold(0, |strips, delivery| strips | 1 << delivery.strip)
    }

    // ---- reads that wait for an idle member ----

    /// Queues the reads of a paced wave at their members.
    pub(super) fn queue_fetches(&mut self, id: u32, page_operations: &[PageOperation]) {
        for page_operation in page_operations {
            let slot = &mut self.slots[id as usize];
            let fetch = Fetch { id, read: slot.reads, page_operation: *page_operation };
            slot.reads += 1;
            slot.outstanding += 1;
            self.failures.fetches[usize::from(page_operation.address.member.0)].push_back(fetch);
            self.failures.waiting += 1;
        }
    }

    /// Sends out the next read of each member that has nothing queued, and whose last one has ended. Returns whether one failed at once.
    fn offer_fetches(&mut self) -> bool {
        let mut has_failed = false;
        if self.failures.waiting == 0 {
            return has_failed;
        }
        for member in 0..self.failures.fetches.len() {
            while self.failures.fetching[member] == NIL && self.media.queued(MemberId(member as u16)) == (0, 0) {
                let Some(fetch) = self.failures.fetches[member].pop_front() else { break };
                self.failures.waiting -= 1;
                has_failed |= !self.submit_fetch(member, fetch);
            }
        }
        has_failed
    }

    /// Returns false if the read fails at once.
    fn submit_fetch(&mut self, member: usize, Fetch { id, read, page_operation }: Fetch) -> bool {
        if self.fails_at_once(id, &page_operation) {
            self.slots[id as usize].outstanding -= 1;
            self.go_on(id);
            return false;
        }
        let record = self.media.submit(&page_operation, id).expect("its stripe is locked");
        self.statistics.planned(page_operation.action, page_operation.cause, page_operation.address.member);
        if C::TRACKED {
            self.content.read_submitted(record, read, page_operation.strip);
        }
        self.failures.fetching[member] = id;
        true
    }

    /// A read of operation `id` on the member has ended.
    #[inline]
    pub(super) fn fetched(&mut self, id: u32, member: MemberId) {
        let fetching = &mut self.failures.fetching[usize::from(member.0)];
        if *fetching == id {
            *fetching = NIL;
        }
    }

    // ---- the rebuild ----

    /// The rebuild, if what is lost is rebuilt at all.
    fn rebuild(&mut self) -> Option<&mut Rebuild> {
        let options = self.failures.options?;
        let stripes = self.scheme.stripes();
        #[cfg(feature = "mutants")]
        let stripes = stripes - u32::from(self.has_fault(crate::mutants::Fault::SkipLastStripe));
        let rebuild = self.failures.rebuild.get_or_insert_with(|| Box::new(Rebuild::new(options.order, options.window, stripes)));
        Some(rebuild)
    }

    /// Starts the rebuild of what failed now, and took so many versions; one that runs goes round again.
    fn start_rebuild(&mut self, now_ns: u64, fault: Fault, lost: u64) {
        let Some(rebuild) = self.rebuild() else { return };
        rebuild.failed();
        self.repair_translation_pages();
        self.has_watchers = true;
        match self.failures.records.last_mut() {
            Some(record) if record.ended_ns.is_none() => {
                record.faults.push((now_ns, fault));
                record.pages_lost += lost;
            }
            _ => self.failures.records.push(RebuildRecord {
                faults: vec![(now_ns, fault)],
                ended_ns: None,
                finished_ns: None,
                pages: 0,
                pages_copied: 0,
                pages_lost: lost,
                latency: Latency::default(),
            }),
        }
    }

    /// Starts what the rebuild has to do now, and notices its end.
    pub(super) fn go_on_rebuilding(&mut self) {
        if self.translation.as_ref().is_some_and(|translation| translation.waits_for_room()) {
            self.repair_unplaced_translation_pages();
        }
        if self.repairs_translation_pages() {
            return;
        }
        // Each turn but the last has repairs end at this very instant: many times as many as there are stripes are a scheme's defect.
        for _ in 0..1000 + 8 * self.scheme.stripes() {
            let Some(mut rebuild) = self.failures.rebuild.take() else { return };
            #[cfg(not(feature = "mutants"))]
            let operation = rebuild.next(&*self.scheme, &self.media);
            #[cfg(feature = "mutants")]
            let operation = {
                if self.has_fault(crate::mutants::Fault::EndRebuildEarly) && rebuild.progress() >= 0.5 {
                    self.failures.rebuild = Some(rebuild);
                    return self.rebuilt();
                }
                self.next_repair(&mut rebuild)
            };
            let map_waits = self.translation.as_ref().is_some_and(|translation| translation.waits_for_room());
            let is_complete = rebuild.is_done() && !rebuild.waits_for_room() && !map_waits;
            self.failures.rebuild = Some(rebuild);
            match operation {
                Some(operation) => {
                    #[cfg(feature = "mutants")]
                    let operation = self.distort_repair(operation);
                    self.admit_after(operation, REBUILD, NIL);
                }
                // A fetch that fails at once may end its repair, for which the next one and others wait.
                None if self.offer_fetches() => {}
                None if is_complete => return self.rebuilt(),
                None => return,
            }
            self.run_ready();
        }
        panic!("at {} ns the rebuild starts repairs without end", self.now_ns());
    }

    /// The rebuild found nothing left to do, and nothing waits for room.
    fn rebuilt(&mut self) {
        if self.failures.records.last().is_none_or(|record| record.ended_ns.is_some()) {
            return;
        }
        let (now_ns, is_whole) = (self.now_ns(), self.lost_versions() == 0);
        let record = self.failures.records.last_mut().expect("there is one");
        record.ended_ns = Some(now_ns);
        record.finished_ns = is_whole.then_some(now_ns);
        for member in 0..self.shape.members {
            self.media.resume_copies(MemberId(member as u16));
        }
    }

    /// A repair has ended, with so many programs.
    pub(super) fn repair_ended(&mut self, operation: &Operation, programs: u32, is_of_scheme: bool) {
        if is_of_scheme && let Some(rebuild) = &mut self.failures.rebuild {
            rebuild.ended(operation, programs);
        }
        if let Some(record) = self.failures.records.last_mut() {
            record.pages += u64::from(programs);
            #[cfg(feature = "mutants")]
            if accounting::makes(Slip::RepairsTwice) {
                record.pages += u64::from(programs);
            }
            // A translation page is copied; a repair that failed has copied nothing.
            record.pages_copied += u64::from(if is_of_scheme { programs.min(operation.copied.into()) } else { programs });
        }
    }

    /// A read that reconstructed something has ended: with piggy-backing its stripe is repaired next.
    pub(super) fn reconstructed(&mut self, stripe: StripeId) {
        if self.failures.options.is_some_and(|options| options.piggyback)
            && let Some(rebuild) = &mut self.failures.rebuild
        {
            rebuild.wanted(stripe);
        }
    }

    /// A measured request has completed that arrived then.
    pub(super) fn note_under_rebuild(&mut self, arrival_ns: u64, latency_ns: u64) {
        // A rebuild may have begun since that of its arrival ended.
        let ran =
            |record: &&mut RebuildRecord| record.faults[0].0 <= arrival_ns && record.ended_ns.is_none_or(|ended_ns| arrival_ns <= ended_ns);
        #[cfg(feature = "mutants")]
        let ran =
            |record: &&mut RebuildRecord| ran(record) || (record.faults[0].0 <= arrival_ns && accounting::makes(Slip::RebuildWithoutEnd));
        self.failures.records.iter_mut().filter(ran).for_each(|record| record.latency.record(latency_ns));
    }
}
