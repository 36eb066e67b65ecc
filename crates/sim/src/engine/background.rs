//! Work that no request asked for: what the scheme wants to do, jobs, and what is done while nobody else works.

use super::content::Content;
use super::slot::{NIL, NO_JOB};
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::{IdleWork, Job};

impl<C: Content, M: Media> Engine<C, M> {
    /// Adds background work and offers it every member that is idle.
    pub fn add_job(&mut self, job: Box<dyn Job>) {
        self.jobs.push(job);
        self.has_watchers = true;
        self.offer_jobs();
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

    /// Admits what the scheme wants to do in the background.
    #[cold]
    pub(super) fn start_background(&mut self) {
        while let Some(operation) = self.scheme.deferring_mut().and_then(|deferring| deferring.background(&self.media)) {
            self.admit_after(operation, NO_JOB, NIL);
        }
    }

    /// Starts what the scheme does while nobody else works.
    #[cold]
    pub(super) fn offer_idle_time(&mut self) {
        loop {
            if self.moves_strips {
                self.carry_out_orders();
            }
            let Some(worker) = self.scheme.when_idle() else { return };
            match worker.idle(&self.media) {
                IdleWork::Start(operation) => drop(self.admit_after(operation, NO_JOB, NIL)),
                IdleWork::After(delay_ns) => return self.clock.ask_when_idle(delay_ns),
                // That there is none may be what an order of the replacement waits for.
                IdleWork::None if self.replacements.running().is_some() && self.carry_out_orders() => {}
                IdleWork::None => return,
            }
            self.run_ready();
        }
    }

    /// Brings every deferred parity to flash, without a request.
    pub(crate) fn drain_scheme(&mut self) {
        while let Some(operation) = self.scheme.deferring_mut().and_then(|deferring| deferring.drain()) {
            self.admit_after(operation, NO_JOB, NIL);
            self.run_ready();
        }
    }
}
