//! Steps and waves: an operation has its scheme fill a wave of page operations, waits until they have ended, and steps on.

use super::content::Content;
use super::slot::{NO_JOB, REBUILD, TRANSLATION};
use super::state::Engine;
use crate::config::Unwritten;
use crate::media::{About, Completion, Media, Progress};
use flashraid_redundancy::{Failure, Job, OperationKind, Step};
use flashraid_vocabulary::{Action, Cause, PageOperation, SerialSubrequests, Wave};

impl<C: Content, M: Media> Engine<C, M> {
    #[inline]
    pub(super) fn start(&mut self, id: u32) {
        if std::mem::replace(&mut self.operations.slots[id as usize].started, true) {
            return self.resume(id);
        }
        if self.claims && !self.starts_with_place(id) {
            return;
        }
        if self.options.host.unwritten == Unwritten::Prefill
            && self.buffer.is_none()
            && self.operations.slots[id as usize].operation.kind == OperationKind::Read
        {
            self.place_unwritten(id);
        }
        self.step(id);
        if self.options.host.serial_subrequests == SerialSubrequests::Queued
            && self.operations.slots[id as usize].started
            && !self.is_held(id)
        {
            self.operations.start_successor(id);
        }
    }

    /// Lends a wave, which `submit_wave` gives back.
    #[inline(always)]
    pub(super) fn empty_wave(&mut self) -> Box<Wave> {
        let mut wave = self.wave.take().unwrap_or_default();
        wave.clear();
        wave
    }

    fn step(&mut self, id: u32) {
        if self.claims && self.operations.is_failing(id) {
            return;
        }
        if self.needs_what_is_gone(id) {
            return self.give_up(id, Failure::Lost);
        }
        let mut wave = self.empty_wave();
        let outcomes = self.operations.take_outcomes(id);
        let slot = &mut self.operations.slots[id as usize];
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
        if let Some(mutant) = &mut self.mutant {
            mutant.distort(&slot.operation, &self.media, &mut wave);
        }
        debug_assert!(wave.operations.len() <= 64);
        if let Step::Lock | Step::Failed(_) | Step::Pause(_) = step {
            self.wave = Some(wave);
            return match step {
                Step::Failed(failure) => self.give_up(id, failure),
                Step::Pause(pause_ns) => self.clock.pause(id, pause_ns),
                _ => self.take_lock(id),
            };
        }
        #[cfg(feature = "mutants")]
        self.change_early(id, &mut wave);
        let slot = &mut self.operations.slots[id as usize];
        slot.last = step != Step::Wave;
        (slot.overlapped_reads, slot.goes_on) = (wave.overlapped_reads, false);
        if !wave.changes.is_empty() {
            self.operations.keep_changes(id, &wave.changes);
        }
        if self.shape.has_mirrors {
            self.reserve_copies(id, &wave);
        }
        let slot = &self.operations.slots[id as usize];
        if self.recorder.is_some() && slot.last {
            self.note_method(slot.request, slot.operation);
        }
        if self.operations.slots[id as usize].operation.kind == OperationKind::Read {
            let assembled = self.note_deliveries(id, &wave);
            self.serve_without_flash(id, &mut wave.operations, assembled);
        } else {
            self.note_deliveries(id, &wave);
        }
        if self.translation.is_some() && self.operations.slots[id as usize].job != TRANSLATION && !self.translate(id, &mut wave) {
            self.wave = Some(wave);
            // Programs of a former wave may end meanwhile: the operation does not.
            self.operations.slots[id as usize].outstanding += 1;
            self.operations.slots[id as usize].waits += 1;
            return;
        }
        self.submit_wave(id, wave);
    }

    /// Submits the wave that waited for its translation. Of a read, which holds no lock, pages may be gone meanwhile.
    fn resume(&mut self, id: u32) {
        let mut wave = self.empty_wave();
        self.take_held(id, &mut wave);
        self.operations.slots[id as usize].outstanding -= 1;
        self.operations.slots[id as usize].waits -= 1;
        if self.operations.rare(id).outcomes.read_failed || self.needs_what_is_gone(id) {
            // What it planned with is lost meanwhile.
            self.wave = Some(wave);
            return self.start_over(id);
        }
        if self.operations.slots[id as usize].operation.kind == OperationKind::Read {
            if C::TRACKED && self.buffer.is_some() {
                self.overlay_buffer(id);
            }
            self.drop_unmapped(id, &mut wave.operations);
        }
        self.submit_wave(id, wave);
        if self.options.host.serial_subrequests == SerialSubrequests::Queued {
            self.operations.start_successor(id);
        }
    }

    /// Submits the page operations of a wave that `step` has filled, and gives it back.
    #[inline(always)]
    fn submit_wave(&mut self, id: u32, mut wave: Box<Wave>) {
        if wave.paced {
            self.queue_fetches(id, &wave.operations);
            wave.operations.clear();
        }
        if self.options.xor_ns > 0 {
            self.compute_sums(id, &mut wave.operations);
        }
        for page_operation in &mut wave.operations {
            // In place: a copy would have to load together what the plan just stored field by field.
            page_operation.host_waits = self.host_waits(page_operation);
            self.submit_page_operation(id, page_operation);
        }
        let background = wave.background;
        self.wave = Some(wave);
        if background {
            self.start_background();
        }
        self.go_on(id);
    }

    /// Whether the answer to the host waits for it.
    #[inline(always)]
    pub(super) fn host_waits(&self, page_operation: &PageOperation) -> bool {
        page_operation.host_waits && (self.options.host.parity_in_response || page_operation.cause != Cause::Parity)
    }

    #[inline(always)]
    pub(super) fn submit_page_operation(&mut self, id: u32, page_operation: &PageOperation) {
        if self.media.has_failures() && self.fails_at_once(id, page_operation) {
            return;
        }
        #[cfg(feature = "mutants")]
        self.program_late();
        let record = self.media.submit(page_operation, id).expect("schemes read what is written");
        let slot = &mut self.operations.slots[id as usize];
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
                match self.requests.get_mut(slot.request) {
                    Some(request) if request.measured => request.programs[page_operation.cause as usize] += 1,
                    Some(_) => self.statistics.warmup_programs[page_operation.cause as usize] += 1,
                    None => {}
                }
                let reserved = self.operations.reserved_mut(id, page_operation.version);
                let bit = 1u64 << page_operation.address.member.0;
                debug_assert!(*reserved & bit != 0, "a program without a promised page: {page_operation:?}");
                *reserved &= !bit;
                if C::TRACKED {
                    let slot = &self.operations.slots[id as usize];
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
            self.operations.slots[id as usize].waits -= u8::from(about.host_waits);
        }
        if progress == Progress::Ended {
            self.page_operation_ended(record, &about);
        }
        self.go_on(id);
    }

    #[inline(always)]
    fn page_operation_ended(&mut self, record: u32, about: &About) {
        self.statistics.page_operation_ended(about.member, self.clock.now_ns() - about.submitted_ns);
        let slot = &mut self.operations.slots[about.owner as usize];
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
                        self.content.check_stamp(about.ppn, self.stamp_of(about.owner));
                        self.translation_page_read(about.owner);
                    }
                }
                self.media.forget(record);
                if self.operations.slots[about.owner as usize].job == REBUILD {
                    self.failures.fetched(about.owner, about.member);
                }
            }
            Action::Program => {
                #[cfg(feature = "mutants")]
                let is_due = !self.puts_off(&self.operations.operation(about.owner).clone(), record, about.ppn);
                #[cfg(not(feature = "mutants"))]
                let is_due = true;
                if C::TRACKED && is_due {
                    self.content.programmed(record, about.ppn);
                }
                let slot = &mut self.operations.slots[about.owner as usize];
                *self.media.next_in_list(record) = slot.programs;
                slot.programs = record;
                #[cfg(feature = "mutants")]
                self.switch_map_early(about.owner);
            }
        }
    }

    /// Answers, steps on or ends, as far as nothing is left to wait for.
    #[inline(always)]
    pub(super) fn go_on(&mut self, id: u32) {
        let slot = &self.operations.slots[id as usize];
        if slot.last && slot.waits <= slot.operation.posted_programs && !slot.has_error && !slot.acknowledged && slot.outstanding > 0 {
            self.answer(id);
        }
        let slot = &self.operations.slots[id as usize];
        if slot.outstanding > 0 {
            // What has failed is settled when all of the wave has ended.
            if slot.goes_on && !self.media.has_failures() {
                self.step(id);
            }
            return;
        }
        if self.media.has_failures() && !self.settle_wave(id) {
            return;
        }
        let slot = &self.operations.slots[id as usize];
        if !slot.last || slot.has_error {
            self.step(id);
        } else if !self.claims || self.ends_with_place(id) {
            self.end(id);
        }
    }
}
