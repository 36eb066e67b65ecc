//! The states that an episode waits for, and those that its kills have met.

use super::setup::{Episode, NVRAM, pair_name};
use crate::engine::Outcome;
use crate::engine::in_flight::InFlight;
use crate::media::Media;
use crate::torture::states::{Instant, Known, STATES, has_semivalid};
use flashraid_ftl::GcUnderWay;
use flashraid_vocabulary::{Health, Version};

impl<M: Media> Episode<M> {
    /// A state that can be, the rarer ones more often.
    pub(super) fn any_state(&mut self) -> usize {
        let all: usize = self.states.iter().map(|state| STATES[*state].weight).sum();
        let mut choice = self.random.below(all as u64) as usize;
        let is_chosen = |state: &&usize| {
            let weight = STATES[**state].weight;
            let found = choice < weight;
            choice = choice.saturating_sub(weight);
            found
        };
        *self.states.iter().find(is_chosen).expect("less than all")
    }

    /// Two states that can be at once.
    pub(super) fn any_pair(&mut self) -> Vec<usize> {
        let (one, other) = self.random.of_list(&self.pairs);
        vec![one, other]
    }

    /// Whether a stripe has lost a copy and a base.
    fn lacks_copy_and_base(&self) -> bool {
        let mut rows = 0..self.engine.media.shape().pages_per_member;
        rows.any(|row| self.in_row(row, Version::Copy, true).is_some() && self.in_row(row, Version::Base, true).is_some())
    }

    /// Notes which states hold, and which pairs of them.
    pub(super) fn count_states(&mut self) {
        let known = Known::of(self);
        let held: Vec<usize> = (0..STATES.len()).filter(|state| (STATES[*state].holds)(&known)).collect();
        for (index, one) in held.iter().enumerate() {
            for other in &held[index..] {
                let what = || match one == other {
                    true => STATES[*one].name.into(),
                    false => pair_name(*one, *other),
                };
                let count = self.found.get_mut(&(*one, *other));
                *count.unwrap_or_else(|| panic!("{} is met where it cannot be", what())) += 1;
            }
        }
    }
}

impl<M: Media> Instant for Episode<M> {
    fn in_flight(&self) -> InFlight {
        self.engine.in_flight()
    }

    fn collecting(&self) -> GcUnderWay {
        self.engine.media.gc_runs_under_way()
    }

    fn has_semivalid(&self) -> bool {
        has_semivalid(&self.engine.media)
    }

    fn programs_dead(&self) -> bool {
        let media = &self.engine.media;
        media.has_failures() && media.programs_in_service().into_iter().any(|ppn| media.is_lost_page(ppn))
    }

    fn is_degraded(&self) -> bool {
        self.failed.is_some()
    }

    fn has_lost_cache(&self) -> bool {
        self.failed == Some(NVRAM)
    }

    fn is_exceeded(&self) -> bool {
        self.exceeded
    }

    fn has_retired(&self) -> bool {
        self.engine.media.has_retired_blocks()
    }

    fn uses_spares(&self) -> bool {
        self.engine.media.uses_spares()
    }

    fn has_lost_both(&self) -> bool {
        let (data, mirrors) = self.dead_chips;
        data & mirrors != 0
    }

    fn lacks_both(&self) -> bool {
        self.exceeded && self.engine.media.shape().has_mirrors && self.lacks_copy_and_base()
    }

    fn has_given_up(&self) -> bool {
        self.engine.survey().replacements.iter().any(|record| record.outcome == Outcome::GivenUp)
    }

    fn has_shadow(&self) -> bool {
        let is_read_only = |device: u32| self.engine.media.ssds()[device as usize].health == Health::ReadOnly;
        self.engine.survey().replacements.iter().any(|record| record.is_shadow && is_read_only(record.old_device))
    }
}
