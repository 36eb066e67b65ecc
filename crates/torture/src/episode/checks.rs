//! What must hold at each kill.

use super::setup::{Episode, Problem};
use crate::oracle;
use flashraid_sim::media::Media;
use flashraid_sim::verify::{self, Finding};
use flashraid_vocabulary::Lpn;

impl<M: Media> Episode<M> {
    pub(super) fn check(&mut self) -> Result<(), Problem> {
        let mut problem: Option<Problem> = None;
        let (mut gone, mut exposed) = (Vec::new(), Vec::new());
        let has_window = self.terms.has_window;
        let mut complain = |lpn: Lpn, finding: Finding| match finding {
            Finding::Gone => gone.push(lpn),
            Finding::Wrong => {
                problem.get_or_insert((Some(lpn.0), "the content on flash matches no request".into()));
            }
            Finding::Exposed(_) if has_window => exposed.push(lpn),
            Finding::Exposed(unit) => {
                problem.get_or_insert((Some(lpn.0), format!("the failure of unit {unit} would lose it")));
            }
        };
        let found = verify::examine(&self.engine, self.terms.controller_lives, &mut complain);
        self.tally.pages_checked += found.pages_checked;
        if let Some(problem) = problem {
            return Err(problem);
        }
        if found.mismatches + found.pages_lost > exposed.len() as u64 {
            return Err((None, format!("translation pages: {found:?}")));
        }
        let reads = self.engine.executor.content.mismatches;
        if reads > 0 {
            return Err((None, format!("{reads} reads returned wrong content")));
        }
        let evictions = self.engine.survey().buffer.map(|buffer| buffer.counts).unwrap_or_default();
        // What a buffer cannot write, for lack of space too, is lost, and so are requests that need it; and what was acknowledged early and had to be
        // programmed again when there was no space left.
        let lacks_space = self.engine.front_end.believed_without_space > 0;
        let failed_lost =
            if evictions.pages_failed == 0 && !lacks_space { self.engine.executor.statistics.failed_lost } else { evictions.failed_lost };
        let is_excused = |lpn: &Lpn| (self.engine.survey().buffer.is_some() || lacks_space) && self.engine.is_gone(*lpn);
        if has_window {
            self.check_exposed(&exposed)?;
        }
        if self.damage.exceeded {
            self.check_losses(&gone)?;
            self.tally.pages_gone = self.tally.pages_gone.max(gone.len() as u64);
        } else if has_window {
            self.check_window(&gone)?;
            self.tally.pages_lost_in_window = self.tally.pages_lost_in_window.max(gone.len() as u64);
        } else if let Some(lpn) = gone.iter().find(|lpn| !is_excused(lpn)) {
            return Err((Some(lpn.0), "is lost, although no more has failed than the scheme survives".into()));
        } else if failed_lost > 0 {
            return Err((None, "a request failed because of lost data, but no data are lost".into()));
        }
        if self.engine.executor.statistics.failed_no_space + evictions.failed_no_space > 0 && !self.engine.executor.media.has_failures() {
            return Err((None, "a request failed for lack of space, but the device has space".into()));
        }
        if self.random.once_in(4) {
            self.engine.executor.media.check().map_err(|what| (None, what))?;
        }
        self.check_flushes()
    }

    /// What a completed flush guarantees is on flash or in NVRAM.
    fn check_flushes(&mut self) -> Result<(), Problem> {
        match self.host.broken_flush(&mut self.engine) {
            Some(lpn) if !self.damage.exceeded => {
                Err((Some(lpn.0), "was written before a flush that has completed, but is neither on flash nor in NVRAM".into()))
            }
            _ => Ok(()),
        }
    }

    /// What is lost is exactly what must be.
    pub(super) fn check_losses(&self, gone: &[Lpn]) -> Result<(), Problem> {
        let (must, vague) = oracle::lost_pages(&self.engine);
        let reported: Vec<Lpn> = self.engine.lost_pages().collect();
        if reported != gone {
            return Err((None, format!("{} lost pages are reported, but {} were found", reported.len(), gone.len())));
        }
        let is_explained = |lpn: &Lpn| {
            let is_found = must.binary_search(lpn).is_ok() || vague.binary_search(lpn).is_ok();
            is_found || self.engine.is_gone(*lpn) || self.has_useless_parity(*lpn)
        };
        if let Some(lpn) = reported.iter().find(|lpn| !is_explained(lpn)) {
            return Err((Some(lpn.0), "is reported as lost, but its stripe can still recover it".into()));
        }
        if let Some(lpn) = must.iter().find(|lpn| reported.binary_search(lpn).is_err() && !self.engine.front_end.is_renewed(**lpn)) {
            return Err((Some(lpn.0), "must be lost, but is not reported".into()));
        }
        Ok(())
    }
}
