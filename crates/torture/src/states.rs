//! What a kill may find going on: which states there are, on which devices each of them can be, and which exclude each other.

use flashraid_ftl::GcUnderWay;
use flashraid_redundancy::{Entry, Redundancy};
use flashraid_sim::config::{Config, Mapping, WearLeveling, WriteCompletes};
use flashraid_sim::engine::in_flight::InFlight;
use flashraid_sim::media::Media;
use flashraid_vocabulary::{MemberId, SemivalidAction};
use std::cell::OnceCell;

/// What an episode can say of an instant.
pub trait Instant {
    /// What operations do. Looks at all of them.
    fn in_flight(&self) -> InFlight;
    /// GC runs that are in flight. Looks at all planes.
    fn collecting(&self) -> GcUnderWay;
    /// A page is semivalid.
    fn has_semivalid(&self) -> bool;
    /// A program goes on in a part that is dead.
    fn programs_dead(&self) -> bool;
    /// Something has failed that is not rebuilt.
    fn is_degraded(&self) -> bool;
    /// It is the parity cache.
    fn has_lost_cache(&self) -> bool;
    /// A second unit has failed.
    fn is_exceeded(&self) -> bool;
    /// A block is out of use.
    fn has_retired(&self) -> bool;
    /// A spare chip has taken the place of a dead one.
    fn uses_spares(&self) -> bool;
    /// A data chip and a mirror chip of one channel are dead.
    fn has_lost_both(&self) -> bool;
    /// A stripe has lost a copy and a base.
    fn lacks_both(&self) -> bool;
    /// A replacement was given up.
    fn has_given_up(&self) -> bool;
    /// A replaced SSD is a shadow.
    fn has_shadow(&self) -> bool;
}

/// An instant, of which only what a state asks for is looked at, and what many ask for but once.
pub struct Known<'a> {
    now: &'a dyn Instant,
    in_flight: OnceCell<InFlight>,
    collecting: OnceCell<GcUnderWay>,
}

impl<'a> Known<'a> {
    /// Nothing is known yet of this instant.
    pub fn of(now: &'a dyn Instant) -> Self {
        Self { now, in_flight: OnceCell::new(), collecting: OnceCell::new() }
    }

    fn in_flight(&self) -> &InFlight {
        self.in_flight.get_or_init(|| self.now.in_flight())
    }

    fn collecting(&self) -> &GcUnderWay {
        self.collecting.get_or_init(|| self.now.collecting())
    }
}

/// Whether a page is semivalid. Looks at all members.
pub fn has_semivalid(media: &impl Media) -> bool {
    (0..media.shape().members).any(|member| media.held(MemberId(member as u16)).bases > 0)
}

/// The device of an episode, and what is to happen to it.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The scheme.
    pub entry: &'a Entry,
    /// Everything else.
    pub config: &'a Config,
    /// Whether a second unit may fail.
    pub second: bool,
}

impl Case<'_> {
    fn has_parity_cache(&self) -> bool {
        self.entry.parity_cache.is_some()
    }

    fn has_mirrors(&self) -> bool {
        self.config.device.mirror_chips > 0
    }

    /// Pages are mapped one by one, and not in blocks.
    fn moves_pages(&self) -> bool {
        !self.config.device.mapping.is_hybrid()
    }

    fn is_dftl(&self) -> bool {
        self.config.device.mapping == Mapping::Dftl
    }

    fn has_buffer(&self) -> bool {
        self.config.device.buffer_pages() > 0
    }

    /// Parities are brought up to date later than data: from copies, in NVRAM, or in idle time.
    fn delays_parities(&self) -> bool {
        self.has_mirrors() || self.has_parity_cache() || self.entry.has_window
    }

    /// GC has parities committed before it erases what they cover.
    fn commits_for_gc(&self) -> bool {
        self.entry.action_on_bases(|choice| self.config.scheme.makes(choice)) == Some(SemivalidAction::CommitFirst)
    }

    /// Commits go before updates that have their stripes and wait: for GC, or for the place of another stripe.
    fn lends_locks(&self) -> bool {
        self.commits_for_gc() || self.entry.claims.is_some_and(|choice| self.config.scheme.makes(choice))
    }

    /// A buffer knows itself what has left it.
    fn answers_early(&self) -> bool {
        let Config { device, host, .. } = self.config;
        let is_early = device.write_completes == WriteCompletes::DataIn || !host.parity_in_response;
        !self.has_buffer() && (is_early || self.entry.completes_early.is_some_and(|choice| self.config.scheme.makes(choice)))
    }

    /// A trim changes nothing but the map where there are copies, or where parities are made later in idle time.
    fn has_trims_that_take_time(&self) -> bool {
        self.is_dftl() || self.entry.redundancy != Redundancy::Copies && !self.entry.has_window
    }

    /// SSDs are replaced while the array runs.
    fn replaces(&self) -> bool {
        self.entry.replaces_devices && self.config.array.spare_devices > 0
    }

    /// What was replaced so far goes back if the new SSD fails.
    fn gives_up(&self) -> bool {
        self.replaces() && !self.takes_out()
    }

    /// Whether more may fail than the scheme survives.
    pub(super) fn may_exceed(&self) -> bool {
        self.second || self.takes_out()
    }

    /// A replacement takes its SSD out whatever has failed before.
    fn takes_out(&self) -> bool {
        self.replaces() && self.entry.takes_devices_out
    }

    fn keeps_shadows(&self) -> bool {
        self.replaces() && self.entry.keeps_shadows.is_some_and(|choice| self.config.scheme.makes(choice))
    }

    fn rebuilds(&self) -> bool {
        self.config.host.rebuild != "none"
    }
}

/// A state in which a device may be.
pub struct State {
    /// Its name in reports.
    pub name: &'static str,
    /// Whether it holds.
    pub holds: fn(&Known) -> bool,
    /// Whether it can hold on this device at all.
    pub can_be: fn(&Case) -> bool,
    /// How often it is waited for: what is rarer, more often.
    pub weight: usize,
}

/// Within a tenth of all: the walk of a rebuild leaps over what is not damaged.
fn is_near(known: &Known, percent: f64) -> bool {
    is_within(known.in_flight().rebuilt, percent)
}

/// The same of the replacement that runs.
fn is_replaced(known: &Known, percent: f64) -> bool {
    is_within(known.in_flight().replaced, percent)
}

fn is_within(share: Option<f64>, percent: f64) -> bool {
    share.is_some_and(|share| (share * 100.0 - percent).abs() <= 10.0)
}

const fn state(name: &'static str, weight: usize, holds: fn(&Known) -> bool, can_be: fn(&Case) -> bool) -> State {
    State { name, holds, can_be, weight }
}

/// Every state.
pub const STATES: &[State] = &[
    state("update_half_done", 1, |known| known.in_flight().updates, |_| true),
    state("partial_write", 1, |known| known.in_flight().writes_part, |_| true),
    state("trim", 1, |known| known.in_flight().trims, |case| case.has_trims_that_take_time()),
    state("flush_waits", 1, |known| known.in_flight().flushes, |_| true),
    state("lock_queue", 1, |known| known.in_flight().waits_for_lock, |_| true),
    state("collection", 1, |known| known.collecting().of_data, |case| case.moves_pages()),
    state("merge", 1, |known| known.collecting().merges, |case| !case.moves_pages()),
    state("wear_leveling", 3, |known| known.collecting().for_wear, |case| case.config.device.wear_leveling == WearLeveling::Static),
    state("map_miss", 1, |known| known.in_flight().misses_map, |case| case.is_dftl()),
    state("map_write", 1, |known| known.in_flight().writes_map, |case| case.is_dftl()),
    state("map_collection", 2, |known| known.collecting().of_map, |case| case.is_dftl()),
    state("eviction", 1, |known| known.in_flight().evicts, |case| case.has_buffer()),
    state("nvram_full", 1, |known| known.in_flight().nvram_is_full, |case| case.config.device.nvram_buffer_bytes > 0),
    state("answered_early", 4, |known| known.in_flight().answered_early, |case| case.answers_early()),
    state("semivalid_page", 1, |known| known.now.has_semivalid(), |case| case.entry.bases.is_some()),
    state("commit", 4, |known| known.in_flight().commits, |case| case.delays_parities()),
    state("borrowed_lock", 8, |known| known.in_flight().borrows_lock, |case| case.lends_locks()),
    state("parity_cache_lost", 2, |known| known.now.has_lost_cache(), |case| case.has_parity_cache()),
    state("degraded", 1, |known| known.now.is_degraded(), |_| true),
    state("rebuild_10", 7, |known| is_near(known, 10.0), |case| case.rebuilds()),
    state("rebuild_50", 8, |known| is_near(known, 50.0), |case| case.rebuilds()),
    state("rebuild_90", 9, |known| is_near(known, 90.0), |case| case.rebuilds()),
    state("write_on_dead_part", 4, |known| known.now.programs_dead(), |_| true),
    state("retired_block", 2, |known| known.now.has_retired(), |case| case.moves_pages()),
    state("spare_in_use", 1, |known| known.now.uses_spares(), |case| case.config.device.spare_chips > 0),
    state("both_chips_dead", 3, |known| known.now.has_lost_both(), |case| case.has_mirrors()),
    state("second_failure", 1, |known| known.now.is_exceeded(), |case| case.may_exceed()),
    state("replacement_running", 1, |known| known.in_flight().replaced.is_some(), |case| case.replaces()),
    state("replacement_10", 3, |known| is_replaced(known, 10.0), |case| case.replaces()),
    state("replacement_50", 8, |known| is_replaced(known, 50.0), |case| case.replaces()),
    state("replacement_90", 8, |known| is_replaced(known, 90.0), |case| case.replaces()),
    state("given_up", 14, |known| known.now.has_given_up(), |case| case.gives_up()),
    state("shadow_in_use", 2, |known| known.now.has_shadow(), |case| case.keeps_shadows()),
    state("host_held", 2, |known| known.in_flight().holds_host, |case| case.replaces() && case.entry.holds_host),
    state("no_mirror_and_no_base", 30, |known| known.now.lacks_both(), |case| case.second && case.has_mirrors()),
];

/// Whether two states exclude each other on a device where each of them can be: a rebuild is in one place, and so is a replacement, of which there is no
/// other one once no spare SSD is left for the one that was given up.
pub fn exclude(one: &State, other: &State) -> bool {
    let both_start = |first: &str, second: &str| one.name.starts_with(first) && other.name.starts_with(second);
    let is_replacement = both_start("replacement_", "replacement_") && one.name != "replacement_running";
    both_start("rebuild", "rebuild") || is_replacement || both_start("replacement_", "given_up")
}
