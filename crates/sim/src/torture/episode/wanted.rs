//! The states that an episode waits for, and those that its kills have met.

use super::setup::{Episode, NVRAM, pair_name};
use crate::engine::Outcome;
use crate::media::Media;
use crate::torture::states::{Known, OnFlash, STATES};
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

    /// What is known of this instant.
    pub(super) fn known(&self) -> Known {
        let flash = &self.engine.media;
        let (data, mirrors) = self.dead_chips;
        Known {
            in_flight: self.engine.in_flight(),
            on_flash: OnFlash::of(flash),
            is_degraded: self.failed.is_some(),
            has_lost_cache: self.failed == Some(NVRAM),
            is_exceeded: self.exceeded,
            has_retired: flash.has_retired_blocks(),
            uses_spares: flash.uses_spares(),
            has_lost_both: data & mirrors != 0,
            has_given_up: self.engine.replacements().iter().any(|record| record.outcome == Outcome::GivenUp),
            has_shadow: self
                .engine
                .replacements()
                .iter()
                .any(|record| record.is_shadow && flash.ssds()[record.old_device as usize].health() == Health::ReadOnly),
            lacks_both: self.exceeded && flash.shape().has_mirrors && self.lacks_copy_and_base(),
        }
    }

    /// Whether a stripe has lost a copy and a base.
    fn lacks_copy_and_base(&self) -> bool {
        let mut rows = 0..self.engine.media.shape().pages_per_member;
        rows.any(|row| self.in_row(row, Version::Copy, true).is_some() && self.in_row(row, Version::Base, true).is_some())
    }

    /// Notes which states hold, and which pairs of them.
    pub(super) fn count_states(&mut self) {
        let known = self.known();
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
