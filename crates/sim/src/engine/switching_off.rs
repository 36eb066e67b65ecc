//! What an engine keeps when the drive is switched off in order: the durable state of its parts. Time, work, statistics and records begin anew.

use super::content::Content;
use super::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::Persistent;
use std::io::{self, Read, Write};

impl<C: Content, M: Media> Persistent for Engine<C, M> {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        let Self { executor, front_end, .. } = self;
        debug_assert_eq!(self.cannot_be_saved(), None);
        front_end.requests.requests_of_life().save(to)?;
        executor.scheme.save(to)?;
        executor.media.save(to)?;
        executor.content.save(to)?;
        front_end.valid_sectors.iter().try_for_each(|valid| valid.save(to))?;
        front_end.buffer.iter().try_for_each(|buffer| buffer.save(to))?;
        executor.translation.iter().try_for_each(|translation| translation.save(to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Self { executor, front_end, look_ahead: _, decisions: _ } = self;
        let (requests, valid_sectors, buffer) = front_end.kept();
        let (scheme, media, content, translation) = executor.kept();
        requests.earlier_requests.restore(from)?;
        scheme.restore(from)?;
        media.restore(from)?;
        content.restore(from)?;
        valid_sectors.iter_mut().try_for_each(|valid| valid.restore(from))?;
        buffer.iter_mut().try_for_each(|buffer| buffer.restore(from))?;
        translation.iter_mut().try_for_each(|translation| translation.restore(from))?;
        // From now on planes are collected when it is idle, if they are below the threshold.
        media.set_untimed(false);
        executor.begin_exposure();
        Ok(())
    }
}
