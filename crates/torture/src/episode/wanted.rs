//! The states that an episode waits for, and those that its kills have met.

use crate::random::Random;
use crate::states::{Case, STATES, exclude};
use std::collections::BTreeMap;

/// See the module. States are given as their numbers in `STATES`.
pub(super) struct Wanted {
    /// States that can be on this device, and pairs of them.
    states: Vec<usize>,
    pairs: Vec<(usize, usize)>,
    /// How many kills found each pair, and each state as a pair with itself.
    found: BTreeMap<(usize, usize), u64>,
}

/// The name of a pair of states in reports.
fn pair_name(one: usize, other: usize) -> String {
    format!("{} + {}", STATES[one].name, STATES[other].name)
}

impl Wanted {
    /// What can be in this case, of which nothing is found yet.
    pub(super) fn of(case: &Case) -> Self {
        let states: Vec<usize> = (0..STATES.len()).filter(|state| (STATES[*state].can_be)(case)).collect();
        let pairs: Vec<(usize, usize)> = states
            .iter()
            .flat_map(|one| states.iter().map(move |other| (*one, *other)))
            .filter(|(one, other)| one < other && !exclude(&STATES[*one], &STATES[*other]))
            .collect();
        let found = states.iter().map(|state| (*state, *state)).chain(pairs.iter().copied()).map(|pair| (pair, 0)).collect();
        Self { states, pairs, found }
    }

    /// A state that can be, the rarer ones more often.
    pub(super) fn any_state(&self, random: &mut Random) -> usize {
        let all: usize = self.states.iter().map(|state| STATES[*state].weight).sum();
        let mut choice = random.below(all as u64) as usize;
        let is_chosen = |state: &&usize| {
            let weight = STATES[**state].weight;
            let found = choice < weight;
            choice = choice.saturating_sub(weight);
            found
        };
        *self.states.iter().find(is_chosen).expect("less than all")
    }

    /// Two states that can be at once.
    pub(super) fn any_pair(&self, random: &mut Random) -> Vec<usize> {
        let (one, other) = random.of_list(&self.pairs);
        vec![one, other]
    }

    /// A kill has found that these states hold, and so all pairs of them.
    pub(super) fn note(&mut self, held: &[usize]) {
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

    /// How many kills found each state, and each pair.
    pub(super) fn found(&self) -> (BTreeMap<&'static str, u64>, BTreeMap<String, u64>) {
        let counts = |alone: bool| self.found.iter().filter(move |((one, other), _)| (one == other) == alone);
        let states = counts(true).map(|((state, _), kills)| (STATES[*state].name, *kills));
        let pairs = counts(false).map(|((one, other), kills)| (pair_name(*one, *other), *kills));
        (states.collect(), pairs.collect())
    }
}
