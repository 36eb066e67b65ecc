//! Which states hold at an instant of an episode.

use super::failures::in_row;
use super::setup::{Episode, NVRAM};
use crate::states::{Instant, Known, STATES, has_semivalid};
use flashraid_ftl::GcUnderWay;
use flashraid_sim::engine::Outcome;
use flashraid_sim::engine::in_flight::InFlight;
use flashraid_sim::media::Media;
use flashraid_vocabulary::{Health, Version};

/// The states that hold now, as their numbers in `STATES`.
pub(super) fn held(now: &dyn Instant) -> Vec<usize> {
    let known = Known::of(now);
    (0..STATES.len()).filter(|state| (STATES[*state].holds)(&known)).collect()
}

/// Whether a stripe has lost a copy and a base.
fn lacks_copy_and_base(media: &impl Media) -> bool {
    let mut rows = 0..media.shape().pages_per_member;
    rows.any(|row| in_row(media, row, Version::Copy, true).is_some() && in_row(media, row, Version::Base, true).is_some())
}

impl<M: Media> Instant for Episode<M> {
    fn in_flight(&self) -> InFlight {
        self.engine.in_flight()
    }

    fn collecting(&self) -> GcUnderWay {
        self.engine.executor.media.gc_runs_under_way()
    }

    fn has_semivalid(&self) -> bool {
        has_semivalid(&self.engine.executor.media)
    }

    fn programs_dead(&self) -> bool {
        let media = &self.engine.executor.media;
        media.has_failures() && media.programs_in_service().into_iter().any(|ppn| media.is_lost_page(ppn))
    }

    fn is_degraded(&self) -> bool {
        !self.damage.failed.is_empty()
    }

    fn has_lost_cache(&self) -> bool {
        self.damage.has(Some(NVRAM))
    }

    fn is_exceeded(&self) -> bool {
        // Not by what the memory of an SSD gives up where no second unit may fail: that is no state to look for.
        self.damage.exceeded && self.terms.may_exceed
    }

    fn has_retired(&self) -> bool {
        self.engine.executor.media.has_retired_blocks()
    }

    fn uses_spares(&self) -> bool {
        self.engine.executor.media.uses_spares()
    }

    fn has_lost_both(&self) -> bool {
        let (data, mirrors) = self.damage.dead_chips;
        data & mirrors != 0
    }

    fn lacks_both(&self) -> bool {
        self.is_exceeded() && self.engine.executor.media.shape().has_mirrors && lacks_copy_and_base(&self.engine.executor.media)
    }

    fn has_given_up(&self) -> bool {
        self.engine.survey().replacements.iter().any(|record| record.outcome == Outcome::GivenUp)
    }

    fn has_shadow(&self) -> bool {
        let is_read_only = |device: u32| self.engine.executor.media.ssds()[device as usize].health == Health::ReadOnly;
        self.engine.survey().replacements.iter().any(|record| record.is_shadow && is_read_only(record.old_device))
    }
}
