//! Steps and waves: an operation has its scheme fill a wave of page operations, waits until they have ended, and steps on.
//!
//! Some reads need no flash: those of pages that are unwritten, or that the controller still holds.
//!
//! XOR takes time (`xor_ns`): a program whose content is the XOR of several pages is submitted when the controller has computed that.
//!
//! Until then it counts among the outstanding page operations of its operation. XORs of different operations are computed side by side; an operation computes
//! one after the other. Mostly it has one; a repair may have to make up a strip of a deferred parity, and the parity on flash, too.

use super::state::Executor;
use crate::config::Unwritten;
use crate::engine::content::Content;
use crate::engine::front_end::FrontEnd;
use crate::engine::slot::{NO_JOB, PendingSum, REBUILD, TRANSLATION};
use crate::media::{About, Completion, Media, Progress};
use flashraid_redundancy::{Failure, Job, Lock, OperationKind, Step};
use flashraid_vocabulary::{Action, NIL, PageOperation, SerialSubrequests, Version, Wave, Weights};

/// Whether the controller computes what this page operation programs of more than one page.
fn is_sum(page_operation: &PageOperation) -> bool {
    let sources = page_operation.sources;
    let terms = sources.host.count_ones() + sources.reads.count_ones() + u32::from(sources.deferred);
    page_operation.action == Action::Program && terms > 1
}

impl<C: Content, M: Media> Executor<C, M> {
    #[inline]
    pub(super) fn start(&mut self, front: &mut FrontEnd, id: u32) {
        if std::mem::replace(&mut self.operations.slots[id].started, true) {
            return self.resume(front, id);
        }
        if self.claims && !self.starts_with_place(front, id) {
            return;
        }
        if self.options.host.unwritten == Unwritten::Prefill
            && front.buffer.is_none()
            && self.operations.slots[id].operation.kind == OperationKind::Read
        {
            self.place_unwritten(id);
        }
        self.step(front, id);
        if self.options.host.serial_subrequests == SerialSubrequests::Queued
            && self.operations.slots[id].started
            && !self.translation.as_ref().is_some_and(|translation| translation.is_held(id))
        {
            self.operations.start_successor(id);
        }
    }

    /// Lends a wave, which `submit_wave` gives back.
    #[inline(always)]
    pub(in crate::engine) fn empty_wave(&mut self) -> Box<Wave> {
        let mut wave = self.wave.take().unwrap_or_default();
        wave.clear();
        wave
    }

    pub(super) fn step(&mut self, front: &mut FrontEnd, id: u32) {
        if self.claims && self.operations.is_failing(id) {
            return;
        }
        if front.needs_what_is_gone(id, &self.operations) {
            return self.give_up(front, id, Failure::Lost);
        }
        let mut wave = self.empty_wave();
        let outcomes = self.operations.take_outcomes(id);
        let slot = &mut self.operations.slots[id];
        slot.has_error = false;
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
        self.mutant.distort(&slot.operation, &self.media, &mut wave);
        debug_assert!(wave.operations.len() <= 64);
        if let Step::Lock | Step::Failed(_) | Step::Pause(_) = step {
            self.wave = Some(wave);
            return match step {
                Step::Failed(failure) => self.give_up(front, id, failure),
                Step::Pause(pause_ns) => self.clock.pause(id, pause_ns),
                _ => self.take_lock(front, id),
            };
        }
        #[cfg(feature = "mutants")]
        for change in self.mutant.take_early(slot.operation.kind, &mut wave.changes) {
            self.apply(id, &self.operations.operation(id).clone(), change);
        }
        let slot = &mut self.operations.slots[id];
        slot.last = step != Step::Wave;
        (slot.overlapped_reads, slot.goes_on) = (wave.overlapped_reads, false);
        if !wave.changes.is_empty() {
            self.operations.keep_changes(id, &wave.changes);
        }
        if self.shape.has_mirrors {
            self.reserve_copies(id, &wave);
        }
        let slot = &self.operations.slots[id];
        if front.recorder.is_some() && slot.last {
            front.note_method(slot.request, &slot.operation);
        }
        if self.operations.slots[id].operation.kind == OperationKind::Read {
            let assembled = self.note_deliveries(id, &wave);
            self.serve_without_flash(front, id, &mut wave.operations, assembled);
        } else {
            self.note_deliveries(id, &wave);
        }
        if self.translation.is_some()
            && self.operations.slots[id].job != TRANSLATION
            && !self.with_translation(front, |translation, with| translation.translate(id, &mut wave, with)).is_none_or(|is_ready| is_ready)
        {
            self.wave = Some(wave);
            // Programs of a former wave may end meanwhile: the operation does not.
            self.operations.slots[id].outstanding += 1;
            self.operations.slots[id].waits += 1;
            return;
        }
        self.submit_wave(front, id, wave);
    }

    /// Submits the wave that waited for its translation. Of a read, which holds no lock, pages may be gone meanwhile.
    fn resume(&mut self, front: &mut FrontEnd, id: u32) {
        let mut wave = self.empty_wave();
        self.translation.as_mut().expect("who holds waves").take_held(id, &mut wave);
        self.operations.slots[id].outstanding -= 1;
        self.operations.slots[id].waits -= 1;
        if self.operations.rare(id).outcomes.read_failed || front.needs_what_is_gone(id, &self.operations) {
            // What it planned with is lost meanwhile.
            self.wave = Some(wave);
            return self.start_over(front, id);
        }
        if self.operations.slots[id].operation.kind == OperationKind::Read {
            if C::TRACKED && front.buffer.is_some() {
                front.overlay_buffer(id, self.operations.operation(id), &mut self.content);
            }
            self.drop_unmapped(front, id, &mut wave.operations);
        }
        self.submit_wave(front, id, wave);
        if self.options.host.serial_subrequests == SerialSubrequests::Queued {
            self.operations.start_successor(id);
        }
    }

    /// Submits the page operations of a wave that `step` has filled, and gives it back.
    #[inline(always)]
    fn submit_wave(&mut self, front: &mut FrontEnd, id: u32, mut wave: Box<Wave>) {
        if wave.paced {
            self.failures.queue_fetches(id, &mut self.operations.slots[id], &wave.operations);
            wave.operations.clear();
        }
        if self.options.xor_ns > 0 {
            self.compute_sums(id, &mut wave);
        }
        if self.options.write_streams > 1 {
            let stream = front.requests.get_mut(self.operations.slots[id].request).map_or(0, |request| request.stream);
            wave.operations.iter_mut().for_each(|page_operation| page_operation.stream = stream);
        }
        let Wave { operations, weights, .. } = &mut *wave;
        for page_operation in operations {
            // In place: a copy would have to load together what the plan just stored field by field.
            page_operation.host_waits = self.options.host_waits(page_operation);
            let weights = if C::TRACKED { Weights::named(weights, page_operation.sources.weights) } else { None };
            self.submit_page_operation(front, id, page_operation, weights);
        }
        let background = wave.background;
        self.wave = Some(wave);
        if background {
            self.start_background(front);
        }
        self.go_on(front, id);
    }

    #[inline(always)]
    fn submit_page_operation(&mut self, front: &mut FrontEnd, id: u32, page_operation: &PageOperation, weights: Option<&Weights>) {
        if self.media.has_failures() && self.fails_at_once(id, page_operation) {
            return;
        }
        #[cfg(feature = "mutants")]
        self.mutant.program_late(&mut self.content);
        let record = self.media.submit(page_operation, id).expect("schemes read what is written");
        let slot = &mut self.operations.slots[id];
        slot.outstanding += 1;
        slot.waits += u8::from(page_operation.host_waits);
        self.statistics.planned(page_operation.action, page_operation.cause);
        match page_operation.action {
            Action::Read => {
                if C::TRACKED {
                    self.content.read_submitted(record, slot.reads, page_operation.strip);
                }
                slot.reads += 1;
            }
            Action::Program => {
                match front.requests.get_mut(slot.request) {
                    Some(request) if request.measured => request.programs[page_operation.cause as usize] += 1,
                    Some(_) => self.statistics.warmup_programs[page_operation.cause as usize] += 1,
                    None => {}
                }
                let reserved = self.operations.reserved_mut(id, page_operation.version);
                let bit = 1u64 << page_operation.address.member.0;
                debug_assert!(*reserved & bit != 0, "a program without a reserved page: {page_operation:?}");
                *reserved &= !bit;
                if C::TRACKED {
                    let slot = &self.operations.slots[id];
                    self.content.program(id, &slot.operation, page_operation.sources, weights, record);
                    if slot.job == TRANSLATION {
                        let translation = self.translation.as_ref().expect("whose work it is");
                        self.content.program_stamp(record, translation.stamp_of(id, &self.operations));
                    }
                }
            }
        }
    }

    /// A page operation made progress.
    #[inline(always)]
    pub(super) fn progress(&mut self, front: &mut FrontEnd, completion: Completion) {
        let Completion { record, progress } = completion;
        let about = self.media.about(record);
        let id = about.owner;
        if progress == Progress::Failed {
            self.page_operation_failed(front, record, &about);
            return self.go_on(front, id);
        }
        let reported_before = about.action == Action::Program && self.shape.reports_data_in;
        if progress == Progress::DataIn || !reported_before {
            self.operations.slots[id].waits -= u8::from(about.host_waits);
        }
        if progress == Progress::Ended {
            self.page_operation_ended(record, &about);
        }
        self.go_on(front, id);
    }

    #[inline(always)]
    fn page_operation_ended(&mut self, record: u32, about: &About) {
        self.statistics.page_operation_ended(about.member, self.clock.now_ns() - about.submitted_ns);
        let slot = &mut self.operations.slots[about.owner];
        slot.outstanding -= 1;
        match about.action {
            Action::Read => {
                if slot.overlapped_reads > 0 {
                    slot.overlapped_reads -= 1;
                    slot.goes_on = slot.overlapped_reads == 0;
                }
                if C::TRACKED {
                    self.content.delivered(about.owner, &slot.operation, record, about.ppn);
                    if slot.job == TRANSLATION {
                        let translation = self.translation.as_mut().expect("whose work it is");
                        self.content.check_stamp(about.ppn, translation.stamp_of(about.owner, &self.operations));
                        translation.page_read(about.owner);
                    }
                }
                self.media.forget(record);
                if self.operations.slots[about.owner].job == REBUILD {
                    self.failures.fetched(about.owner, about.member);
                }
            }
            Action::Program => {
                #[cfg(feature = "mutants")]
                let is_due = !self.mutant.puts_off(self.operations.operation(about.owner), record, about.ppn);
                #[cfg(not(feature = "mutants"))]
                let is_due = true;
                if C::TRACKED && is_due {
                    self.content.programmed(record, about.ppn);
                }
                let slot = &mut self.operations.slots[about.owner];
                *self.media.next_in_list(record) = slot.programs;
                slot.programs = record;
                #[cfg(feature = "mutants")]
                if self.mutant.has(crate::mutants::EngineFault::SwitchMapEarly)
                    && let Some(translation) = &mut self.translation
                {
                    translation.switch_map_early(about.owner, &self.operations);
                }
            }
        }
    }

    /// Answers, steps on or ends, as far as nothing is left to wait for.
    #[inline(always)]
    pub(super) fn go_on(&mut self, front: &mut FrontEnd, id: u32) {
        let slot = &self.operations.slots[id];
        if slot.last && slot.waits <= slot.operation.posted_programs && !slot.has_error && !slot.acknowledged && slot.outstanding > 0 {
            self.answer(front, id);
        }
        let slot = &self.operations.slots[id];
        if slot.outstanding > 0 {
            // What has failed is settled when all of the wave has ended.
            if slot.goes_on && !self.media.has_failures() {
                self.step(front, id);
            }
            return;
        }
        if self.media.has_failures() && !self.settle_wave(front, id) {
            return;
        }
        let slot = &self.operations.slots[id];
        if !slot.last || slot.has_error {
            self.step(front, id);
        } else if !self.claims || self.ends_with_place(front, id) {
            self.end(front, id);
        }
    }

    /// Lets every operation go on of which a page operation made progress.
    #[inline(always)]
    pub(in crate::engine) fn take_completions(&mut self, front: &mut FrontEnd) {
        let mut next = 0;
        while let Some(&completion) = self.media.completions().get(next) {
            next += 1;
            self.progress(front, completion);
        }
        self.media.completions().clear();
    }

    /// Strips of a read that need no flash: unwritten ones, and those that the controller still holds.
    /// `assembled` ones are made of several reads.
    fn serve_without_flash(&mut self, front: &mut FrontEnd, id: u32, page_operations: &mut Vec<PageOperation>, assembled: u64) {
        if C::TRACKED && front.buffer.is_some() {
            front.overlay_buffer(id, self.operations.operation(id), &mut self.content);
        }
        let operation = self.operations.slots[id].operation;
        // With the stripe in hand no write of it is in flight.
        if front.acknowledges_early && operation.lock == Lock::None && !front.in_controller.is_empty() {
            let controller = &front.in_controller;
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
            let writer = front.in_controller.get(&lpn.0).copied();
            unmapped += u64::from(writer.is_none());
            if C::TRACKED {
                let writer = writer.map(|writer| {
                    let write = &self.operations.slots[writer].operation;
                    (writer, write, write.strips.trailing_zeros() + (lpn.0 - write.first.0) as u32)
                });
                self.content.check_without_flash(id, &operation, strip, writer);
            }
        }
        let request = self.operations.slots[id].request;
        if unmapped > 0 && request != NIL && front.requests[request].measured {
            self.statistics.unmapped_reads += unmapped;
        }
    }

    /// While the read waited for its translation, pages may have been discarded, which are zeroes now, and copies released, which the
    /// current versions equal. A base that was erased equals nothing: its read fails.
    fn drop_unmapped(&mut self, front: &mut FrontEnd, id: u32, page_operations: &mut Vec<PageOperation>) {
        let operation = self.operations.slots[id].operation;
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
        let request = self.operations.slots[id].request;
        if request != NIL && front.requests[request].measured {
            self.statistics.unmapped_reads += (before - page_operations.len()) as u64;
        }
    }

    /// Takes what has to be computed first out of a wave.
    fn compute_sums(&mut self, id: u32, Wave { operations, weights, .. }: &mut Wave) {
        debug_assert!(
            operations.is_empty() || self.operations.rare(id).sum == NIL,
            "what one wave computes is programmed before the next one"
        );
        // The last first, so that each is put before those that follow it.
        while let Some(index) = operations.iter().rposition(is_sum) {
            let mut program = operations.remove(index);
            program.host_waits = self.options.host_waits(&program);
            let slot = &mut self.operations.slots[id];
            slot.outstanding += 1;
            slot.waits += u8::from(program.host_waits);
            let weights = Weights::named(weights, program.sources.weights).map(|weights| Box::new(weights.clone()));
            let sum = PendingSum { program, weights, next: self.operations.rare(id).sum };
            self.operations.rare_mut(id).sum = self.sums.put(sum);
        }
        if self.operations.rare(id).sum != NIL {
            self.clock.pause(id, self.options.xor_ns);
        }
    }

    /// The pause of an operation is over: it goes on, with what it has computed.
    pub(in crate::engine) fn pause_is_over(&mut self, front: &mut FrontEnd, id: u32) {
        let computed = self.operations.rare(id).sum;
        if computed != NIL {
            let weights = self.sums[computed].weights.take();
            let PendingSum { program, next, .. } = self.sums[computed];
            self.sums.remove(computed);
            self.operations.rare_mut(id).sum = next;
            let slot = &mut self.operations.slots[id];
            slot.outstanding -= 1;
            slot.waits -= u8::from(program.host_waits);
            if next != NIL {
                self.clock.pause(id, self.options.xor_ns);
            }
            self.submit_page_operation(front, id, &program, weights.as_deref());
        }
        self.go_on(front, id);
    }
}
