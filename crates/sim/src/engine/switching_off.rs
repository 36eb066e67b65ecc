//! What an engine keeps when the drive is switched off in order: the durable state of its parts. Time, work, statistics and records begin anew.

use super::content::Content;
use super::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::Persistent;
use std::io::{self, Read, Write};

impl<C: Content, M: Media> Engine<C, M> {
    /// Why its state cannot be kept, if that is so: nothing may be in flight, and of what may have failed, blocks and pages alone are told apart from
    /// what never failed.
    pub(crate) fn cannot_be_saved(&self) -> Option<&'static str> {
        let is_at_work = self.requests.outstanding > 0
            || self.operations.slots.iter().any(|slot| slot.is_alive())
            || self.clock.has_pauses()
            || self.media.is_at_work()
            || !self.media.is_at_rest()
            || self.buffer.as_ref().is_some_and(|buffer| buffer.is_leaving());
        if is_at_work {
            return Some("requests or operations are in flight");
        }
        if self.replacements.running().is_some() || self.awaiting_replacement().next().is_some() {
            return Some("an SSD is being replaced, or is to be");
        }
        // An SSD that its scheme has replaced may be dead: nobody asks for anything of it.
        let ssds = self.media.ssds().into_iter().enumerate().filter(|(_, ssd)| !self.moves_strips || ssd.is_of_member);
        if let Some(why) = ssds.into_iter().find_map(|(number, _)| self.media.failed_parts(number)) {
            return Some(why);
        }
        if !self.failures.wear_outs.is_empty() {
            return Some("an SSD is worn out");
        }
        let is_damaged = self.media.has_failures() && self.media.lost_versions() > 0;
        if is_damaged || !self.gone.is_empty() || self.requests.untold.is_some() {
            return Some("pages are lost");
        }
        let is_short = self.failures.is_exhausted() || self.translation.as_ref().is_some_and(|translation| translation.waits_for_slot());
        if self.failures.rebuild_share().is_some() || is_short {
            return Some("a rebuild has not ended");
        }
        None
    }
}

impl<C: Content, M: Media> Persistent for Engine<C, M> {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        debug_assert_eq!(self.cannot_be_saved(), None);
        (self.requests.earlier_requests + self.requests.submitted).save(to)?;
        self.scheme.save(to)?;
        self.media.save(to)?;
        self.content.save(to)?;
        self.valid_sectors.iter().try_for_each(|valid| valid.save(to))?;
        self.buffer.iter().try_for_each(|buffer| buffer.save(to))?;
        self.translation.iter().try_for_each(|translation| translation.save(to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Self {
            scheme,
            media,
            content,
            requests,
            valid_sectors,
            buffer,
            translation,
            // What is made of the configuration.
            options: _,
            shape: _,
            acknowledges_early: _,
            moves_strips: _,
            claims: _,
            page_shift: _,
            pages_per_row: _,
            per_row: _,
            has_rows: _,
            // Work and time.
            clock: _,
            operations: _,
            jobs: _,
            has_watchers: _,
            completed: _,
            writes_in_chunk: _,
            in_controller: _,
            destages: _,
            evicting: _,
            // What was lost: then nothing is saved.
            gone: _,
            believed_without_space: _,
            failures: _,
            service: _,
            replacements: _,
            // What the scheme says again.
            exposure: _,
            // Statistics, records, and what is lent.
            idle_ns: _,
            last_completion: _,
            statistics: _,
            around: _,
            recorder: _,
            sources: _,
            leaving_with: _,
            wave: _,
            decisions: _,
            looks_ahead: _,
            started: _,
            next_started: _,
            sums: _,
            pages: _,
            #[cfg(feature = "mutants")]
                mutant: _,
        } = self;
        requests.earlier_requests.restore(from)?;
        scheme.restore(from)?;
        media.restore(from)?;
        content.restore(from)?;
        valid_sectors.iter_mut().try_for_each(|valid| valid.restore(from))?;
        buffer.iter_mut().try_for_each(|buffer| buffer.restore(from))?;
        translation.iter_mut().try_for_each(|translation| translation.restore(from))?;
        // From now on planes are collected when it is idle, if they are below the threshold.
        self.media.set_untimed(false);
        self.begin_exposure();
        Ok(())
    }
}
