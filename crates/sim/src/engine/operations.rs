//! Operations: from the decision to the end.
//!
//! An operation starts when the operations that it requires have ended, its stripe is its own, and each page that it will program
//! is promised. It holds its place in its stripe's queue from the decision on, and waits for space only when it is at the head:
//! collection, which makes space, takes no stripe lock, so it never waits for an operation that waits (DESIGN idea 10).

use super::content::Content;
use super::failure::REBUILD;
use super::{Engine, NIL, Serial};
#[cfg(feature = "mutants")]
use crate::media::accounting::{self, Slip};
use crate::media::{About, Completion, Media, Progress, Question};
use flashraid_redundancy::{Decisions, Failure, IdleWork, Job, Lock, Operation, OperationKind, Outcomes, Step};
use flashraid_vocabulary::{Action, Cause, Change, HostOp, MemberId, MemberPage, PageOperation, Ruling, StripeId, Version, Wave};
use std::fmt;

/// An operation in flight.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) operation: Operation,
    /// The request it belongs to, `NIL` for background work.
    request: u32,
    /// The job it belongs to, `NO_JOB` for none.
    job: u16,
    alive: bool,
    pub(super) started: bool,
    /// `step` has said that the wave under way is the last.
    pub(super) last: bool,
    answered: bool,
    failed: bool,
    /// Whether it counts in `writes_in_chunk`.
    counted: bool,
    /// Whether it takes something out of the data buffer, or trims.
    departs: bool,
    /// Conditions for its start that are not met yet: required operations, former sub-request, lock.
    unmet: u16,
    /// Page operations under way.
    pub(super) outstanding: u8,
    /// Of these, those that the host waits for.
    pub(super) waits: u8,
    /// Members (bits) for which a page is still to be promised.
    pub(super) unpromised: u64,
    /// Members (bits) for which a page is promised and not used.
    pub(super) promised: u64,
    /// The same for copies.
    pub(super) promised_copies: u64,
    /// What went wrong with the wave.
    pub(super) outcomes: Outcomes,
    /// Whether anything did.
    pub(super) troubled: bool,
    /// Reads submitted so far.
    pub(super) reads: u8,
    /// Programs that have ended: list through their records.
    pub(super) programs: u32,
    /// Next operation in a space domain's queue; next free slot.
    next: u32,
    /// Operations that require this one: list through `next_dependent`.
    dependents: u32,
    next_dependent: u32,
    /// The next sub-request of the same request, if it waits for this one.
    successor: u32,
    /// Whether it is in a space domain's queue.
    waits_for_space: bool,
    /// A commit for a collection: the plane that waits for it, `NIL` for others.
    plane: u32,
    /// A commit that runs under the lock of another operation: that one, `NIL` for others.
    lender: u32,
    /// The last operation that runs under its lock before it starts, `NIL` for none.
    borrower: u32,
    /// Changes to apply at the end: position in the engine's lists of changes, `NIL` for none.
    pub(super) changes: u32,
}

/// No job.
const NO_JOB: u16 = u16::MAX;
/// The engine's own work on translation pages.
pub(super) const TRANSLATION: u16 = u16::MAX - 1;

impl Slot {
    pub(super) fn is_alive(&self) -> bool {
        self.alive
    }

    /// Whether it is in use for an operation on a stripe, not on a translation page.
    pub(super) fn is_of_scheme(&self) -> bool {
        self.alive && self.job != TRANSLATION
    }

    pub(super) fn request(&self) -> u32 {
        self.request
    }

    pub(super) fn programs(&self) -> u32 {
        self.programs
    }

    pub(super) fn job(&self) -> u16 {
        self.job
    }

    pub(super) fn kind(&self) -> OperationKind {
        self.operation.kind
    }

    pub(super) fn stripe(&self) -> u32 {
        self.operation.stripe.0
    }

    /// Whether it runs under the lock of another operation.
    pub(super) fn borrows_lock(&self) -> bool {
        self.lender != NIL && self.started
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation { kind, stripe, step, .. } = self.operation;
        write!(formatter, "{kind:?} of stripe {}, ", stripe.0)?;
        match (self.started, self.unmet, self.unpromised) {
            (true, ..) => write!(formatter, "step {step}, {} page operations under way", self.outstanding),
            (false, 0, 0) => write!(formatter, "about to start"),
            (false, 0, _) => write!(formatter, "waits for space"),
            (false, unmet, _) => write!(formatter, "waits for {unmet} condition(s)"),
        }
    }
}

impl<C: Content, M: Media> Engine<C, M> {
    /// Applies a state change of an operation's plan.
    pub(crate) fn apply(&mut self, id: u32, operation: &Operation, change: Change) {
        match change {
            Change::Unmap(address) => self.media.unmap(address, Version::Current),
            Change::ReleaseBase(address) => self.media.unmap(address, Version::Base),
            Change::ReleaseCopy(address) => self.media.unmap(address, Version::Copy),
            Change::Lose(address) => self.media.lose(address),
            Change::Retire(address) => self.media.retire(address),
            Change::Delay(_, sources) => self.content.delayed(id, operation, sources),
            Change::ReleaseDelayed(address) => self.content.delayed_no_more(address.page),
        }
    }

    /// The operation takes something out of the data buffer, or trims.
    pub(super) fn leaves(&mut self, id: u32) {
        self.slots[id as usize].departs = true;
    }

    /// The operation in a slot.
    pub(crate) fn operation(&self, id: u32) -> &Operation {
        &self.slots[id as usize].operation
    }

    fn new_slot(&mut self, operation: Operation, request: u32, job: u16) -> u32 {
        let slot = Slot {
            operation,
            request,
            job,
            alive: true,
            started: false,
            last: false,
            answered: false,
            failed: false,
            counted: matches!(operation.kind, OperationKind::Write | OperationKind::Job) && job != TRANSLATION,
            departs: false,
            unmet: 0,
            outstanding: 0,
            waits: 0,
            unpromised: operation.space,
            promised: 0,
            promised_copies: 0,
            outcomes: Outcomes::default(),
            troubled: false,
            reads: 0,
            programs: NIL,
            next: NIL,
            dependents: NIL,
            next_dependent: NIL,
            successor: NIL,
            waits_for_space: false,
            plane: NIL,
            lender: NIL,
            borrower: NIL,
            changes: NIL,
        };
        let counted = slot.counted;
        let id = match self.free_slots {
            NIL => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
            free => {
                let old = &mut self.slots[free as usize];
                self.free_slots = old.next;
                *old = slot;
                free
            }
        };
        if counted {
            self.writes_in_chunk[(operation.page.0 >> 10) as usize] += 1;
        }
        if C::TRACKED {
            // What leaves NVRAM belongs to no request: it leaves because of the latest.
            let sequence = if request == NIL { self.submitted.wrapping_sub(1) } else { self.requests[request as usize].sequence };
            self.list_evicted(&operation);
            self.content.begin(id, &operation, sequence, &self.leaving_with);
        }
        id
    }

    /// Gives the operations of a decision their places, in order, and starts those that can start. They belong to a request or, as what leaves
    /// NVRAM, to nobody.
    pub(super) fn admit(&mut self, request: u32, decisions: &Decisions) {
        // The list is borrowed from where it is not in use now.
        let mut ids = std::mem::take(&mut self.granted);
        debug_assert!(ids.is_empty());
        for operation in &decisions.operations {
            let is_host = matches!(operation.kind, OperationKind::Read | OperationKind::Write | OperationKind::Trim);
            let owner = if is_host { request } else { NIL };
            let id = self.new_slot(*operation, owner, NO_JOB);
            ids.push(id);
            if owner != NIL {
                self.requests[request as usize].unanswered += 1;
                self.requests[request as usize].unfinished += 1;
                self.follow(request, id);
            }
            if let Some(required) = operation.requires {
                self.start_after(id, ids[usize::from(required)]);
            }
            self.queue_for_lock(id);
            if self.buffer.is_some() && self.departs(id) {
                self.slots[id as usize].unmet += 1;
            }
        }
        for id in ids.drain(..) {
            if self.slots[id as usize].unmet == 0 {
                self.ready.push(id);
            }
        }
        self.granted = ids;
        self.run_ready();
    }

    /// Makes the operation wait for the former one of its request as `Serial` says.
    fn follow(&mut self, request: u32, id: u32) {
        let former = std::mem::replace(&mut self.requests[request as usize].last_operation, id);
        // A former one that ended at once (a trim of nothing) may have left its very slot to this one.
        if former == NIL || former == id || self.options.serial == Serial::Off {
            return;
        }
        let slot = &mut self.slots[former as usize];
        let same = slot.alive && slot.request == request;
        if same && (!slot.started || self.options.serial == Serial::Strict) {
            slot.successor = id;
            self.slots[id as usize].unmet += 1;
        }
    }

    fn queue_for_lock(&mut self, id: u32) {
        let operation = &self.slots[id as usize].operation;
        let granted = match operation.lock {
            Lock::None => true,
            lock => self.locks.request(operation.stripe.0, lock == Lock::Exclusive, id),
        };
        self.slots[id as usize].unmet += u16::from(!granted);
    }

    pub(super) fn condition_met(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        slot.unmet -= 1;
        if slot.unmet == 0 && !slot.waits_for_space {
            self.ready.push(id);
        }
    }

    /// Starts operations whose conditions are met, in the order in which they were met.
    #[inline(always)]
    pub(super) fn run_ready(&mut self) {
        if !self.ready.is_empty() || self.media.has_news() {
            self.run_all_ready();
        }
    }

    #[inline(never)]
    fn run_all_ready(&mut self) {
        let mut next = 0;
        loop {
            while let Some(&id) = self.ready.get(next) {
                next += 1;
                self.promise_and_start(id);
            }
            if !self.answer_flash() && next == self.ready.len() {
                break;
            }
        }
        self.ready.clear();
    }

    /// Serves what the flash layer wants to know or has to tell. Returns whether there was anything.
    fn answer_flash(&mut self) -> bool {
        let mut any = false;
        while let Some(domain) = self.media.take_freed() {
            if self.media.has_failures() {
                self.gained_space(domain);
            }
            any |= self.wake_space_waiters(domain);
        }
        while let Some(question) = self.media.take_question() {
            any = true;
            let (plane, address) = match question {
                Question::Semivalid(plane, address) => (plane, address),
                Question::Victim(plane) => {
                    self.media.choose_victim(plane, &|address| self.scheme.commit_cost(address));
                    continue;
                }
            };
            let ruling = match self.scheme.rule(address) {
                Ruling::CommitFirst if !self.commit_for_collection(plane, address) => Ruling::Move,
                ruling => ruling,
            };
            if ruling == Ruling::Free {
                self.scheme.base_erased(address);
                self.note_exposed(StripeId(address.page.0));
            }
            #[cfg(feature = "mutants")]
            let ruling = self.distort_ruling(ruling);
            self.media.rule(plane, address, ruling);
        }
        // An answer may have let a collection move on, or end.
        any | (self.translation.is_some() && self.take_map_news())
    }

    // ---- space ----

    /// Promises a page for each program, member by member, then starts. Where none is left the operation waits, and keeps what it
    /// was promised so far. That cannot block the collector, which has its own reserve; and as all operations ask in the order
    /// of members, which is that of their space domains, and only the first that waits for a domain is promised pages of it, two of
    /// them never wait for each other's pages.
    pub(super) fn promise_and_start(&mut self, id: u32) {
        while self.slots[id as usize].unpromised != 0 {
            let member = self.slots[id as usize].unpromised.trailing_zeros();
            let page = self.slots[id as usize].operation.page;
            let address = MemberPage { member: MemberId(member as u16), page };
            let domain = self.media.domain_of(address, Version::Current);
            let (head, tail) = self.space_waiters[domain as usize];
            let is_next = head == NIL || head == id;
            let is_promised = is_next && self.media.reserve(address, Version::Current);
            if !is_promised && !self.is_hopeless(domain) {
                if head != id {
                    match head {
                        NIL => self.space_waiters[domain as usize] = (id, id),
                        _ => {
                            self.slots[tail as usize].next = id;
                            self.space_waiters[domain as usize].1 = id;
                        }
                    }
                    let slot = &mut self.slots[id as usize];
                    (slot.next, slot.waits_for_space) = (NIL, true);
                    self.waiting_for_space += 1;
                }
                return;
            }
            let slot = &mut self.slots[id as usize];
            slot.unpromised &= !(1 << member);
            slot.promised |= u64::from(is_promised) << member;
            if head == id && !self.wants_more_of(id, domain) {
                self.leave_space_queue(domain, NIL);
            }
        }
        // A commit may run before it, under its lock.
        if self.slots[id as usize].unmet == 0 {
            self.start(id);
        }
    }

    /// Whether the next page that the operation needs is of this domain, too: members may share one.
    fn wants_more_of(&self, id: u32, domain: u32) -> bool {
        let Slot { unpromised, operation, .. } = &self.slots[id as usize];
        let next = MemberPage { member: MemberId(unpromised.trailing_zeros() as u16), page: operation.page };
        *unpromised != 0 && self.media.domain_of(next, Version::Current) == domain
    }

    /// The operation behind `former`, or the first one if that is `NIL`, waits no longer.
    fn leave_space_queue(&mut self, domain: u32, former: u32) {
        let (head, tail) = self.space_waiters[domain as usize];
        let id = if former == NIL { head } else { self.slots[former as usize].next };
        let slot = &mut self.slots[id as usize];
        slot.waits_for_space = false;
        let next = slot.next;
        match former {
            NIL => self.space_waiters[domain as usize].0 = next,
            former => self.slots[former as usize].next = next,
        }
        if tail == id {
            self.space_waiters[domain as usize].1 = former;
        }
        self.waiting_for_space -= 1;
    }

    /// Lets operations that wait for this domain try again, in order, until one has to go on waiting.
    pub(super) fn wake_space_waiters(&mut self, domain: u32) -> bool {
        let mut any = false;
        loop {
            let (head, _) = self.space_waiters[domain as usize];
            if head == NIL {
                return any;
            }
            self.promise_and_start(head);
            if self.space_waiters[domain as usize].0 == head {
                return any;
            }
            any = true;
        }
    }

    /// Nothing is under way that could free space: the longest waiting operation of the first domain fails. One under whose lock a commit is
    /// to run stays until that has run or failed. Returns whether there was one.
    pub(super) fn fail_for_space(&mut self) -> bool {
        let Some((domain, former, id)) = self.first_to_fail() else { return false };
        // Planes of translation pages hold far less than they have room for, and what failed there has been taken out of the way before.
        assert!(self.slots[id as usize].job != TRANSLATION, "translation pages find room: {:?}", self.slots[id as usize].operation);
        self.leave_space_queue(domain, former);
        self.give_up(id, Failure::NoSpace);
        // The next in line may be content with what this one was promised.
        self.wake_space_waiters(domain);
        self.run_ready();
        true
    }

    /// Who waits for space and lends no lock: the domain, who waits there before it (or `NIL`), and the operation.
    fn first_to_fail(&self) -> Option<(u32, u32, u32)> {
        (0..).zip(&self.space_waiters).find_map(|(domain, (head, _))| {
            let (mut former, mut id) = (NIL, *head);
            while id != NIL && self.slots[id as usize].borrower != NIL {
                (former, id) = (id, self.slots[id as usize].next);
            }
            (id != NIL).then_some((domain, former, id))
        })
    }

    /// The operation fails, and its request with it. Nothing changes.
    fn give_up(&mut self, id: u32, failure: Failure) {
        self.drop_work(id);
        let slot = &mut self.slots[id as usize];
        slot.failed = true;
        let (request, departs) = (slot.request, slot.departs);
        if request != NIL {
            let failed = &mut self.requests[request as usize].failed;
            *failed = (*failed).max(Some(failure));
        } else if departs {
            self.eviction_failed(failure);
        }
        self.start_successor(id);
        self.end(id);
    }

    // ---- steps ----

    fn start(&mut self, id: u32) {
        if std::mem::replace(&mut self.slots[id as usize].started, true) {
            return self.resume(id);
        }
        if self.options.prefill && self.buffer.is_none() && self.slots[id as usize].operation.kind == OperationKind::Read {
            self.place_unwritten(id);
        }
        self.step(id);
        if self.options.serial == Serial::Queued && self.slots[id as usize].started && !self.is_held(id) {
            self.start_successor(id);
        }
    }

    /// An operation without a lock needs its stripe, shared: it starts when it has it.
    fn take_lock(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        debug_assert!(slot.operation.lock == Lock::None);
        (slot.operation.lock, slot.started) = (Lock::Shared, false);
        if self.locks.request(slot.operation.stripe.0, false, id) {
            self.start(id);
        } else {
            self.slots[id as usize].unmet += 1;
        }
    }

    /// Submits the wave that waited for its translation. Of a read, which holds no lock, pages may be gone meanwhile.
    fn resume(&mut self, id: u32) {
        let mut wave = std::mem::take(&mut self.wave);
        wave.clear();
        self.take_held(id, &mut wave);
        if self.slots[id as usize].outcomes.read_failed {
            // What it planned with is lost meanwhile.
            self.wave = wave;
            return self.start_over(id);
        }
        if self.slots[id as usize].operation.kind == OperationKind::Read {
            if C::TRACKED && self.buffer.is_some() {
                self.overlay_buffer(id);
            }
            self.drop_unmapped(id, &mut wave.operations);
        }
        self.submit_wave(id, wave);
        if self.options.serial == Serial::Queued {
            self.start_successor(id);
        }
    }

    fn start_successor(&mut self, id: u32) {
        let successor = std::mem::replace(&mut self.slots[id as usize].successor, NIL);
        if successor != NIL {
            self.condition_met(successor);
        }
    }

    fn step(&mut self, id: u32) {
        let mut wave = std::mem::take(&mut self.wave);
        wave.clear();
        let slot = &mut self.slots[id as usize];
        let outcomes = std::mem::take(&mut slot.outcomes);
        slot.troubled = false;
        let view = &self.media;
        let step = match slot.job {
            NO_JOB => self.scheme.step(&mut slot.operation, outcomes, view, &mut wave),
            REBUILD => {
                let rebuild = self.failures.rebuild.as_mut().expect("whose work it is");
                rebuild.step(&mut *self.scheme, &mut slot.operation, outcomes, view, &mut wave)
            }
            TRANSLATION => {
                let translation = self.translation.as_mut().expect("whose work it is");
                translation.step(id, &mut slot.operation, outcomes, &self.media, &mut wave)
            }
            job => self.jobs[job as usize].step(&mut *self.scheme, &mut slot.operation, outcomes, view, &mut wave),
        };
        debug_assert!(step != Step::Wave || !wave.operations.is_empty(), "a wave that is not the last must do something");
        #[cfg(feature = "mutants")]
        if let Some(mutant) = &mut self.mutant {
            mutant.distort(&slot.operation, &self.media, &mut wave);
        }
        debug_assert!(wave.operations.len() <= 64);
        if let Step::Lock | Step::Failed(_) | Step::Pause(_) = step {
            self.wave = wave;
            return match step {
                Step::Failed(failure) => self.give_up(id, failure),
                Step::Pause(pause_ns) => self.clock.pause(id, pause_ns),
                _ => self.take_lock(id),
            };
        }
        #[cfg(feature = "mutants")]
        self.change_early(id, &mut wave);
        let slot = &mut self.slots[id as usize];
        slot.last = step != Step::Wave;
        if !wave.changes.is_empty() {
            self.keep_changes(id, &wave.changes);
        }
        if self.shape.has_mirrors {
            self.promise_copies(id, &wave);
        }
        let slot = &self.slots[id as usize];
        if self.recorder.is_some() && slot.last {
            self.note_method(slot.request, slot.operation);
        }
        if self.slots[id as usize].operation.kind == OperationKind::Read {
            let assembled = self.note_deliveries(id, &wave);
            self.serve_without_flash(id, &mut wave.operations, assembled);
        } else {
            self.note_deliveries(id, &wave);
        }
        if self.translation.is_some() && self.slots[id as usize].job != TRANSLATION && !self.translate(id, &mut wave) {
            self.wave = wave;
            return;
        }
        self.submit_wave(id, wave);
    }

    /// Submits the page operations of a wave that `step` has filled, and gives it back.
    fn submit_wave(&mut self, id: u32, mut wave: Wave) {
        if wave.paced {
            self.queue_fetches(id, &wave.operations);
            wave.operations.clear();
        }
        for page_operation in &mut wave.operations {
            // In place: a copy would have to load together what the plan just stored field by field.
            page_operation.host_waits &= self.options.parity_in_response || page_operation.cause != Cause::Parity;
            self.submit_page_operation(id, page_operation);
        }
        let background = wave.background;
        self.wave = wave;
        if background {
            self.start_background();
        }
        self.go_on(id);
    }

    /// Promises a page for each copy that the wave makes: at once, as the plan has just seen that there is one, and the wave may have to
    /// wait for its translation.
    fn promise_copies(&mut self, id: u32, wave: &Wave) {
        let is_copy = |done: &&PageOperation| done.action == Action::Program && done.version == Version::Copy;
        for copy in wave.operations.iter().filter(is_copy) {
            let is_promised = self.media.reserve(copy.address, Version::Copy);
            assert!(is_promised || self.media.has_failures(), "schemes make copies where there is a page: {copy:?}");
            self.slots[id as usize].promised_copies |= u64::from(is_promised) << copy.address.member.0;
        }
    }

    fn keep_changes(&mut self, id: u32, changes: &[Change]) {
        let slot = &mut self.slots[id as usize];
        if slot.changes == NIL {
            slot.changes = self.free_changes.pop().unwrap_or_else(|| {
                self.changes.push(Vec::new());
                self.changes.len() as u32 - 1
            });
        }
        self.changes[slot.changes as usize].extend_from_slice(changes);
    }

    fn submit_page_operation(&mut self, id: u32, page_operation: &PageOperation) {
        if self.media.has_failures() && self.fails_at_once(id, page_operation) {
            return;
        }
        #[cfg(feature = "mutants")]
        self.program_late();
        let record = self.media.submit(page_operation, id).expect("schemes read what is written");
        let slot = &mut self.slots[id as usize];
        slot.outstanding += 1;
        slot.waits += u8::from(page_operation.host_waits);
        self.statistics.planned(page_operation.action, page_operation.cause, page_operation.address.member);
        match page_operation.action {
            Action::Read => {
                if C::TRACKED {
                    self.content.read_submitted(record, slot.reads, page_operation.strip);
                }
                slot.reads += 1;
            }
            Action::Program => {
                match self.requests.get_mut(slot.request as usize) {
                    Some(request) if request.measured => request.programs[page_operation.cause as usize] += 1,
                    Some(_) => self.statistics.warmup_programs[page_operation.cause as usize] += 1,
                    None => {}
                }
                let promised = if page_operation.version == Version::Copy { &mut slot.promised_copies } else { &mut slot.promised };
                let bit = 1u64 << page_operation.address.member.0;
                debug_assert!(*promised & bit != 0, "a program without a promised page: {page_operation:?}");
                *promised &= !bit;
                if C::TRACKED {
                    self.content.program(id, &slot.operation, page_operation.sources, record);
                    if slot.job == TRANSLATION {
                        self.content.program_stamp(record, self.stamp_of(id));
                    }
                }
            }
        }
    }

    /// A page operation made progress.
    #[inline(always)]
    pub(super) fn progress(&mut self, completion: Completion) {
        let Completion { record, progress } = completion;
        let about = self.media.about(record);
        let id = about.owner;
        if progress == Progress::Failed {
            self.page_operation_failed(record, &about);
            return self.go_on(id);
        }
        let reported_before = about.action == Action::Program && self.shape.reports_data_in;
        if progress == Progress::DataIn || !reported_before {
            self.slots[id as usize].waits -= u8::from(about.host_waits);
        }
        if progress == Progress::Ended {
            self.page_operation_ended(record, &about);
        }
        self.go_on(id);
    }

    #[inline(always)]
    fn page_operation_ended(&mut self, record: u32, about: &About) {
        let since_ns = about.submitted_ns;
        #[cfg(feature = "mutants")]
        let since_ns = if accounting::makes(Slip::MemberLatencyFromStart) { self.media.began_ns(about.ppn) } else { since_ns };
        self.statistics.page_operation_ended(about.member, self.clock.now_ns() - since_ns);
        let slot = &mut self.slots[about.owner as usize];
        slot.outstanding -= 1;
        match about.action {
            Action::Read => {
                if C::TRACKED {
                    self.content.delivered(about.owner, &slot.operation, record, about.ppn);
                    if slot.job == TRANSLATION {
                        self.content.check_stamp(about.ppn, self.stamp_of(about.owner));
                        self.translation_page_read(about.owner);
                    }
                }
                self.media.forget(record);
                if self.slots[about.owner as usize].job == REBUILD {
                    self.fetched(about.owner, about.member);
                }
            }
            Action::Program => {
                #[cfg(feature = "mutants")]
                let is_due = !self.puts_off(&self.operation(about.owner).clone(), record, about.ppn);
                #[cfg(not(feature = "mutants"))]
                let is_due = true;
                if C::TRACKED && is_due {
                    self.content.programmed(record, about.ppn);
                }
                let slot = &mut self.slots[about.owner as usize];
                self.media.set_next_in_list(record, slot.programs);
                slot.programs = record;
                #[cfg(feature = "mutants")]
                self.switch_map_early(about.owner);
            }
        }
    }

    /// Answers, steps on or ends, as far as nothing is left to wait for.
    #[inline]
    pub(super) fn go_on(&mut self, id: u32) {
        let slot = &self.slots[id as usize];
        if slot.last && slot.waits <= slot.operation.lag && !slot.troubled && !slot.answered && slot.outstanding > 0 {
            self.answer(id);
        }
        let slot = &self.slots[id as usize];
        if slot.outstanding > 0 || (self.media.has_failures() && !self.settle_wave(id)) {
            return;
        }
        let slot = &self.slots[id as usize];
        if slot.last && !slot.troubled { self.end(id) } else { self.step(id) }
    }

    /// The host gets its answer while page operations that it does not wait for go on; that of a flush promises that they have ended.
    fn answer(&mut self, id: u32) {
        let request = self.slots[id as usize].request;
        let is_flush = request != NIL && self.requests[request as usize].op == HostOp::Flush;
        #[cfg(feature = "mutants")]
        let is_flush = is_flush && !self.has_fault(crate::mutants::Fault::FlushToRegisters);
        if is_flush {
            return;
        }
        let slot = &mut self.slots[id as usize];
        slot.answered = true;
        let (request, operation) = (slot.request, slot.operation);
        if request == NIL {
            return;
        }
        // The data buffer knows what leaves it.
        if operation.kind != OperationKind::Read && self.buffer.is_none() {
            self.answers_early |= operation.lag > 0;
            for lpn in operation.host_pages() {
                self.in_controller.insert(lpn.0, id);
            }
        }
        self.answered(request);
    }

    /// The state change, in one instant.
    fn end(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        debug_assert!(slot.borrower == NIL, "an operation ends under whose lock another one is to run: {:?}", slot.operation);
        let operation = slot.operation;
        let (request, answered, failed, promised, job) = (slot.request, slot.answered, slot.failed, slot.promised, slot.job);
        let mut record = std::mem::replace(&mut slot.programs, NIL);
        let changes = std::mem::replace(&mut slot.changes, NIL);
        let mut programs = 0;
        while record != NIL {
            let next = self.media.next_in_list(record);
            #[cfg(feature = "mutants")]
            if self.forgets(&operation, record) {
                self.media.abort(std::mem::replace(&mut record, next));
                continue;
            }
            if self.media.has_failures() && self.media.is_unplaced(record) {
                self.ended_unplaced(record);
            } else {
                programs += 1;
            }
            self.media.commit(record);
            record = next;
        }
        if changes != NIL {
            let mut list = std::mem::take(&mut self.changes[changes as usize]);
            for change in list.drain(..) {
                self.apply(id, &operation, change);
            }
            self.changes[changes as usize] = list;
            self.free_changes.push(changes);
        }
        self.give_back(&operation, promised);
        if self.translation.is_some() {
            self.settle_translation(id, &operation, job == TRANSLATION, failed);
        }
        if C::TRACKED {
            self.content.ended(id, &operation, failed);
        }
        if self.slots[id as usize].departs {
            self.arrives(id, &operation, failed);
        }
        if operation.kind != OperationKind::Job && job != TRANSLATION {
            match failed {
                false => self.scheme.ended(&operation),
                true => self.scheme.failed(&operation),
            }
            self.note_exposed(operation.stripe);
        }
        if operation.kind == OperationKind::Repair {
            self.repair_ended(&operation, programs, job == REBUILD);
        } else if operation.lock == Lock::Shared {
            self.reconstructed(operation.stripe);
        }
        if self.slots[id as usize].counted {
            self.writes_in_chunk[(operation.page.0 >> 10) as usize] -= 1;
        }
        if operation.lock != Lock::None {
            self.locks.release(operation.stripe.0, &mut self.granted);
            for index in 0..self.granted.len() {
                self.condition_met(self.granted[index]);
            }
            self.granted.clear();
        }
        let slot = &self.slots[id as usize];
        let (plane, lender) = (slot.plane, slot.lender);
        if plane != NIL {
            self.commit_for_collection_ended(id, plane, lender);
        }
        self.start_successor(id);
        let mut dependent = std::mem::replace(&mut self.slots[id as usize].dependents, NIL);
        while dependent != NIL {
            let next = self.slots[dependent as usize].next_dependent;
            self.condition_met(dependent);
            dependent = next;
        }
        if answered && operation.kind != OperationKind::Read && request != NIL {
            for lpn in operation.host_pages() {
                if self.in_controller.get(&lpn.0) == Some(&id) {
                    self.in_controller.remove(&lpn.0);
                }
            }
        }
        self.slots[id as usize].alive = false;
        self.slots[id as usize].next = self.free_slots;
        self.free_slots = id;
        if request != NIL {
            if !answered {
                self.answered(request);
            }
            self.ended_part(request);
        }
    }

    /// Gives back promised pages that were not used.
    fn give_back(&mut self, operation: &Operation, mut promised: u64) {
        while promised != 0 {
            let member = promised.trailing_zeros();
            promised &= promised - 1;
            self.media.release(MemberPage { member: MemberId(member as u16), page: operation.page }, Version::Current);
        }
    }

    // ---- reads ----

    /// Strips of a read that need no flash: unwritten ones, and those that the controller still holds.
    /// `assembled` ones are made of several reads.
    fn serve_without_flash(&mut self, id: u32, page_operations: &mut Vec<PageOperation>, assembled: u64) {
        if C::TRACKED && self.buffer.is_some() {
            self.overlay_buffer(id);
        }
        let operation = self.slots[id as usize].operation;
        // With the stripe in hand no write of it is under way.
        if self.answers_early && operation.lock == Lock::None && !self.in_controller.is_empty() {
            let controller = &self.in_controller;
            let holder = |strip: u32| controller.get(&operation.host_page(strip).0).copied();
            page_operations.retain(|page_operation| holder(u32::from(page_operation.strip)).is_none());
        }
        let from_flash =
            page_operations.iter().fold(0u64, |strips, page_operation| strips | 1u64.checked_shl(page_operation.strip.into()).unwrap_or(0));
        let mut others = operation.strips & !from_flash & !assembled;
        let mut unmapped = 0;
        while others != 0 {
            let strip = others.trailing_zeros();
            others &= others - 1;
            let lpn = operation.host_page(strip);
            let writer = self.in_controller.get(&lpn.0).copied();
            unmapped += u64::from(writer.is_none());
            if C::TRACKED {
                let writer = writer.map(|writer| {
                    let write = &self.slots[writer as usize].operation;
                    (writer, write, write.strips.trailing_zeros() + (lpn.0 - write.first.0) as u32)
                });
                self.content.check_without_flash(id, &operation, strip, writer);
            }
        }
        let request = self.slots[id as usize].request;
        if unmapped > 0 && request != NIL && self.requests[request as usize].measured {
            self.statistics.unmapped_reads += unmapped;
        }
    }

    /// While the read waited for its translation, pages may have been discarded, which are zeroes now, and copies released, which the
    /// current versions equal. A base that was erased equals nothing: its read fails.
    fn drop_unmapped(&mut self, id: u32, page_operations: &mut Vec<PageOperation>) {
        let operation = self.slots[id as usize].operation;
        let before = page_operations.len();
        page_operations.retain_mut(|page_operation| {
            if page_operation.version == Version::Base {
                return true;
            }
            if self.media.lookup(page_operation.address, page_operation.version).is_none() {
                page_operation.version = Version::Current;
            }
            let is_mapped = self.media.lookup(page_operation.address, page_operation.version).is_some();
            if C::TRACKED && !is_mapped {
                self.content.check_without_flash(id, &operation, u32::from(page_operation.strip), None);
            }
            is_mapped
        });
        let request = self.slots[id as usize].request;
        if request != NIL && self.requests[request as usize].measured {
            self.statistics.unmapped_reads += (before - page_operations.len()) as u64;
        }
    }

    // ---- background ----

    /// Admits an operation that no request asked for. It starts when operation `former` has ended, if there is one.
    pub(super) fn admit_after(&mut self, operation: Operation, job: u16, former: u32) -> u32 {
        let id = self.new_slot(operation, NIL, job);
        if former != NIL {
            self.start_after(id, former);
        }
        self.queue_for_lock(id);
        if self.slots[id as usize].unmet == 0 {
            self.ready.push(id);
        }
        id
    }

    /// Admits what the scheme wants to do in the background.
    #[cold]
    fn start_background(&mut self) {
        while let Some(operation) = self.scheme.background(&self.media) {
            self.admit_after(operation, NO_JOB, NIL);
        }
    }

    /// Starts what the scheme does while nobody else works.
    #[cold]
    pub(super) fn offer_idle_time(&mut self) {
        loop {
            match self.scheme.idle(&self.media) {
                IdleWork::Start(operation) => drop(self.admit_after(operation, NO_JOB, NIL)),
                IdleWork::After(delay_ns) => return self.clock.ask_when_idle(delay_ns),
                IdleWork::None => return,
            }
            self.run_ready();
        }
    }

    /// Brings every delayed parity to flash, without a request.
    pub(crate) fn drain_scheme(&mut self) {
        while let Some(operation) = self.scheme.drain() {
            self.admit_after(operation, NO_JOB, NIL);
            self.run_ready();
        }
    }

    /// Starts what the jobs have to do now.
    pub(super) fn offer_jobs(&mut self) {
        for job in 0..self.jobs.len() {
            while let Some(operation) = self.jobs[job].next(&*self.scheme, &self.media) {
                self.admit_after(operation, job as u16, NIL);
                self.run_ready();
            }
        }
    }

    /// Starts the commit that the collection of a plane waits for, before whoever waits for its stripe. Returns whether the scheme has one.
    ///
    /// It waits for nobody who may wait for what the collection is to make: it is promised its pages at once or does without, and an
    /// operation that has the stripe but has not started, as it waits for space, starts after it.
    fn commit_for_collection(&mut self, plane: u32, address: MemberPage) -> bool {
        let Some(with_room) = self.scheme.commit_for_collection(address, true) else { return false };
        let operation = match self.promise_at_once(&with_room) {
            true => with_room,
            false => match self.scheme.commit_for_collection(address, false) {
                Some(without_room) => without_room,
                None => return false,
            },
        };
        let id = self.new_slot(operation, NIL, NO_JOB);
        let slot = &mut self.slots[id as usize];
        (slot.promised, slot.unpromised, slot.plane) = (operation.space, 0, plane);
        let stripe = operation.stripe.0;
        match self.locks.exclusive_holder(stripe) {
            Some(holder) if !self.slots[holder as usize].started => self.go_before(holder, id),
            _ if self.locks.is_locked(stripe) => {
                self.locks.queue_first(stripe, id);
                self.slots[id as usize].unmet += 1;
            }
            _ => drop(self.locks.request(stripe, true, id)),
        }
        if self.slots[id as usize].unmet == 0 {
            self.ready.push(id);
        }
        true
    }

    /// The collection of the plane goes on, and so does the operation whose lock the commit ran under.
    #[cold]
    fn commit_for_collection_ended(&mut self, id: u32, plane: u32, lender: u32) {
        if lender != NIL {
            if self.slots[lender as usize].borrower == id {
                self.slots[lender as usize].borrower = NIL;
            }
            self.condition_met(lender);
        }
        self.media.committed(plane);
    }

    /// Operation `id` runs under the lock of operation `holder`, which has not started and does not until then.
    fn go_before(&mut self, holder: u32, id: u32) {
        let former = std::mem::replace(&mut self.slots[holder as usize].borrower, id);
        self.slots[holder as usize].unmet += 1;
        let slot = &mut self.slots[id as usize];
        (slot.operation.lock, slot.lender) = (Lock::None, holder);
        if former != NIL {
            self.start_after(id, former);
        }
    }

    /// Operation `id` starts when operation `former` has ended.
    fn start_after(&mut self, id: u32, former: u32) {
        let next = std::mem::replace(&mut self.slots[former as usize].dependents, id);
        self.slots[id as usize].next_dependent = next;
        self.slots[id as usize].unmet += 1;
    }

    /// Promises all pages of the operation or none.
    fn promise_at_once(&mut self, operation: &Operation) -> bool {
        let mut promised = 0u64;
        let mut wanted = operation.space;
        while wanted != 0 {
            let member = wanted.trailing_zeros();
            wanted &= wanted - 1;
            let address = MemberPage { member: MemberId(member as u16), page: operation.page };
            let domain = self.media.domain_of(address, Version::Current);
            if self.space_waiters[domain as usize].0 != NIL || !self.media.reserve(address, Version::Current) {
                self.give_back(operation, promised);
                return false;
            }
            promised |= 1 << member;
        }
        true
    }
}
