//! The device of an episode, how it is used, and what is kept of it.

use super::host::Host;
use super::wanted::Wanted;
use crate::asked::Torture;
use crate::random::Random;
use crate::report::SchemeReport;
use crate::states::Case;
use flashraid_redundancy::{Entry, Protects};
use flashraid_sim::assemble::{self, Assembled};
use flashraid_sim::config::{Config, ConfigError, find_scheme};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::media::{Flash, Media};
use flashraid_sim::prepare;
use flashraid_vocabulary::Lpn;
use smallvec::SmallVec;
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
    pub(super) random: Random,
    pub(super) terms: Terms,
    pub(super) host: Host,
    pub(super) wanted: Wanted,
    pub(super) damage: Failed,
    /// Kills that found nothing wrong.
    pub kills: u64,
    pub(super) tally: Tally,
}

/// What does not change in an episode.
pub(super) struct Terms {
    pub(super) entry: &'static Entry,
    pub(super) protects: Protects,
    /// How many units may fail at once.
    pub(super) survives: usize,
    /// Whether redundancy is made later, so that a failure may take what the scheme declares to be exposed.
    pub(super) has_window: bool,
    /// Whether what the controller alone holds counts as kept.
    pub(super) controller_lives: bool,
    /// Whether more units may fail than the scheme survives before they are rebuilt.
    pub(super) second: bool,
    /// Whether more may fail than the scheme survives: that, or an SSD that is taken out.
    pub(super) may_exceed: bool,
    pub(super) drains: bool,
    /// Whether what is lost is rebuilt.
    pub(super) rebuilds: bool,
    /// Before so many kills nothing fails.
    pub(super) calm: u64,
}

/// What has failed so far, and is not rebuilt.
#[derive(Default)]
pub(super) struct Failed {
    /// The units that have failed, in part at least, and are not rebuilt.
    pub(super) failed: SmallVec<[u32; 2]>,
    /// Channels of which a data chip is dead, and those of which a mirror chip is.
    pub(super) dead_chips: (u64, u64),
    /// More has failed than the scheme survives: data may be lost, and what is lost is known.
    pub(super) exceeded: bool,
    /// Of a scheme that makes redundancy later: host pages that were exposed when something failed, as far as they may be lost since.
    pub(super) may_be_lost: BTreeSet<u64>,
    /// Flash pages that the memory of an SSD had to give up so far, for lack of space.
    pub(super) given_up: u64,
    /// The SSD that was taken out last, which the tolerance was judged by.
    pub(super) out: Option<u32>,
}

impl Failed {
    /// Whether this unit is among them.
    pub(super) fn has(&self, unit: Option<u32>) -> bool {
        unit.is_some_and(|unit| self.failed.contains(&unit))
    }

    /// This unit has failed.
    pub(super) fn add(&mut self, unit: u32) {
        if !self.failed.contains(&unit) {
            self.failed.push(unit);
        }
    }
}

/// What is counted for the report.
#[derive(Default)]
pub(super) struct Tally {
    faults: BTreeMap<&'static str, u64>,
    pub(super) pages_checked: u64,
    pub(super) pages_gone: u64,
    pub(super) pages_lost_in_window: u64,
    pub(super) rebuilt: u64,
    pub(super) survived_together: u64,
}

impl Tally {
    pub(super) fn note_fault(&mut self, name: &'static str) {
        *self.faults.entry(name).or_default() += 1;
    }
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
        let wanted = Wanted::of(&case);
        let host = Host::new(&mut random, space, engine.scheme().width());
        let terms = Terms {
            entry,
            protects,
            survives: engine.scheme().survives_failures().max(1) as usize,
            has_window: entry.has_window && torture.claims.is_none(),
            controller_lives: torture.claims.is_none(),
            second,
            may_exceed: case.may_exceed(),
            drains: config.run.drain,
            rebuilds: config.rebuild_order().is_ok_and(|order| order.is_some()),
            calm,
        };
        Ok(Self { engine, random, terms, host, wanted, damage: Failed::default(), kills: 0, tally: Tally::default() })
    }
}

impl<M: Media> Episode<M> {
    /// Simulated time.
    pub fn now_ns(&self) -> u64 {
        self.engine.now_ns()
    }

    /// What the host calls a page.
    pub fn host_page(&self, page: u64) -> u64 {
        self.engine.executor.space.host_page(Lpn(page))
    }

    /// What was found.
    pub fn report(&self) -> SchemeReport {
        let (states, pairs) = self.wanted.found();
        SchemeReport {
            episodes: 1,
            kills: self.kills,
            requests: self.host.submitted(),
            pages_checked: self.tally.pages_checked,
            pages_gone: self.tally.pages_gone,
            pages_lost_in_window: self.terms.has_window.then_some(self.tally.pages_lost_in_window),
            rebuilds: self.engine.survey().rebuilds.len() as u64,
            rebuilt: self.tally.rebuilt,
            survived_together: self.tally.survived_together,
            replacements: self.replacements(),
            states,
            pairs,
            faults: self.tally.faults.clone(),
            ..SchemeReport::default()
        }
    }
}
