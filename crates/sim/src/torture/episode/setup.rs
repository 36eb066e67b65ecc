//! The device of an episode, how it is used, and what is kept of it.

use crate::assemble::{self, Assembled};
use crate::config::{Config, ConfigError, find_scheme};
use crate::engine::Engine;
use crate::engine::tags::Tags;
use crate::media::{Flash, Media};
use crate::prepared::prepare;
use crate::torture::asked::Torture;
use crate::torture::flushes::Flushes;
use crate::torture::random::Random;
use crate::torture::report::SchemeReport;
use crate::torture::states::{Case, STATES, exclude};
use flashraid_redundancy::{Entry, Protects};
use std::collections::{BTreeMap, BTreeSet};

/// Kills of an episode.
pub const KILLS: u64 = 25;
/// Once in how many episodes a second unit may fail before the first one is rebuilt: twice as often where it may take a copy and a base of a stripe.
const SECONDS: u64 = 4;
/// The number of the NVRAM among units that fail.
pub(super) const NVRAM: u32 = u32::MAX;

/// What is wrong, and with which page.
pub(super) type Problem = (Option<u64>, String);

/// See the module.
pub struct Episode<M: Media = Flash> {
    pub(super) engine: Engine<Tags, M>,
    pub(super) entry: &'static Entry,
    pub(super) protects: Protects,
    /// Whether redundancy is made later, so that a failure may take what the scheme declares to be exposed.
    pub(super) has_window: bool,
    /// Whether what the controller alone holds counts as kept.
    pub(super) controller_lives: bool,
    pub(super) random: Random,
    /// Where requests concentrate.
    pub(super) hot_page: u64,
    pub(super) queue_depth: u64,
    /// About how many events come between two requests.
    pub(super) pace: u64,
    pub(super) write_share: u64,
    /// Pages of the longest ordinary request.
    pub(super) most_pages: u64,
    /// The unit that has failed, in part at least, and is not rebuilt.
    pub(super) failed: Option<u32>,
    /// Channels of which a data chip is dead, and those of which a mirror chip is.
    pub(super) dead_chips: (u64, u64),
    pub(super) second: bool,
    /// A second unit has failed: data may be lost, and what is lost is known.
    pub(super) exceeded: bool,
    /// Of a scheme that makes redundancy later: host pages that were exposed when something failed, as far as they may be lost since.
    pub(super) may_be_lost: BTreeSet<u64>,
    /// The SSD that was taken out last, which the tolerance was judged by.
    pub(super) out: Option<u32>,
    pub(super) submitted: u64,
    /// Kills that found nothing wrong.
    pub kills: u64,
    /// States that can be on this device, and pairs of them, as numbers in `STATES`.
    pub(super) states: Vec<usize>,
    pub(super) pairs: Vec<(usize, usize)>,
    /// How many kills found each pair, and each state as a pair with itself.
    pub(super) found: BTreeMap<(usize, usize), u64>,
    /// What requests are to be now, if something is wanted of them.
    pub(super) favored: Option<Favor>,
    pub(super) flushes: Flushes,
    /// Flushes submitted and not completed.
    pub(super) pending_flushes: BTreeSet<u64>,
    pub(super) drains: bool,
    /// Whether what is lost is rebuilt.
    pub(super) rebuilds: bool,
    /// Before so many kills nothing fails.
    pub(super) calm: u64,
    pub(super) faults: BTreeMap<&'static str, u64>,
    pub(super) pages_checked: u64,
    pub(super) pages_gone: u64,
    pub(super) pages_lost_in_window: u64,
    pub(super) rebuilt: u64,
}

/// The name of a pair of states in reports.
pub(super) fn pair_name(one: usize, other: usize) -> String {
    format!("{} + {}", STATES[one].name, STATES[other].name)
}

/// Requests of one kind.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Favor {
    Flushes,
    Trims,
    PartsOfPages,
}

impl<M: Assembled> Episode<M> {
    /// The device as it is before the first request.
    pub fn new(torture: &Torture, config: Config, scheme: &'static str, number: u64) -> Result<Self, ConfigError> {
        let mut random = Random::of(torture.seed, number, 2);
        let mut engine = assemble::engine(&config, Tags::new)?;
        let space = engine.space_pages();
        prepare(&mut engine, &config, &mut |_| true)?;
        #[cfg(feature = "mutants")]
        if let Some(fault) = torture.mutant {
            engine.inject(fault);
        }
        let protects = torture.claims.unwrap_or(engine.scheme().protects());
        let protects = if config.array.is_single() || protects == Protects::None { protects } else { Protects::Member };
        if protects == Protects::None {
            return Err(ConfigError(format!("{scheme} is not declared to survive any failure, so there is nothing to test")));
        }
        let second = torture.second || random.once_in(if config.device.mirror_chips > 0 { SECONDS / 2 } else { SECONDS });
        let calm = random.of_list(&[0, 0, 2, 5, 10, KILLS]);
        let entry = find_scheme(scheme)?;
        let case = Case { entry, config: &config, second };
        let states: Vec<usize> = (0..STATES.len()).filter(|state| (STATES[*state].can_be)(&case)).collect();
        let pairs: Vec<(usize, usize)> = states
            .iter()
            .flat_map(|one| states.iter().map(move |other| (*one, *other)))
            .filter(|(one, other)| one < other && !exclude(&STATES[*one], &STATES[*other]))
            .collect();
        Ok(Self {
            entry,
            protects,
            has_window: entry.has_window && torture.claims.is_none(),
            controller_lives: torture.claims.is_none(),
            hot_page: random.below(space),
            queue_depth: random.of_list(&[1, 2, 4, 8, 16, 32]),
            pace: random.of_list(&[1, 1, 4, 20, 100]),
            write_share: random.within(30, 80),
            most_pages: random.within(1, 2 * u64::from(engine.scheme().width()) + 1),
            random,
            failed: None,
            dead_chips: (0, 0),
            second,
            exceeded: false,
            may_be_lost: BTreeSet::new(),
            out: None,
            submitted: 0,
            kills: 0,
            found: states.iter().map(|state| (*state, *state)).chain(pairs.iter().copied()).map(|pair| (pair, 0)).collect(),
            states,
            pairs,
            favored: None,
            flushes: Flushes::default(),
            pending_flushes: BTreeSet::new(),
            drains: config.run.drain,
            rebuilds: config.rebuild_order().is_ok_and(|order| order.is_some()),
            calm,
            faults: BTreeMap::new(),
            pages_checked: 0,
            pages_gone: 0,
            pages_lost_in_window: 0,
            rebuilt: 0,
            engine,
        })
    }
}

impl<M: Media> Episode<M> {
    /// Simulated time.
    pub fn now_ns(&self) -> u64 {
        self.engine.now_ns()
    }

    /// What was found.
    pub fn report(&self) -> SchemeReport {
        let counts =
            |alone: bool| self.found.iter().filter(move |((one, other), _)| (one == other) == alone).map(|(pair, kills)| (*pair, *kills));
        SchemeReport {
            episodes: 1,
            kills: self.kills,
            requests: self.submitted,
            pages_checked: self.pages_checked,
            pages_gone: self.pages_gone,
            pages_lost_in_window: self.has_window.then_some(self.pages_lost_in_window),
            rebuilds: self.engine.survey().rebuilds.len() as u64,
            rebuilt: self.rebuilt,
            replacements: self.replacements(),
            states: counts(true).map(|((state, _), kills)| (STATES[state].name, kills)).collect(),
            pairs: counts(false).map(|((one, other), kills)| (pair_name(one, other), kills)).collect(),
            faults: self.faults.clone(),
            ..SchemeReport::default()
        }
    }
}
