//! When a setting has effect: what the configuration must be, and what must happen in a run.
//!
//! Each key of the schema says it of itself, and so does each parameter of a scheme (`flashraid_redundancy::Parameter`). What is asked for and
//! could change no run of its configuration is refused; what happened to change nothing in one run is told with its result (`Asked`).

use super::{Allocation, Config, Fit, Ftl, Mapping, Precondition, WearLeveling, find_scheme};
use flashraid_redundancy::Redundancy;
use flashraid_workload::format_heeds;

/// When a setting has effect.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// What a configuration must be; without it no run of it would differ.
    pub needs: Option<Need>,
    /// What must happen in a run; without it that run would not differ.
    pub meets: Option<Meeting>,
}

/// A condition on configurations.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The condition, as it follows "allowed with".
    pub words: &'static str,
    /// Whether it holds.
    pub holds: fn(&Config) -> bool,
}

/// A condition on runs.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// Why there was no effect.
    pub missed: &'static str,
    /// Whether the condition was met; if in doubt, it was.
    pub holds: fn(&Happened) -> bool,
}

/// What happened in a run, fill and precondition included.
#[derive(Clone, Copy, Debug)]
pub struct Happened<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Something failed.
    pub failed: bool,
    /// GC moved or erased something.
    pub collected: bool,
    /// A block was erased.
    pub erased: bool,
    /// Pages left the buffer.
    pub evicted: bool,
    /// A page was read that was never written.
    pub read_unwritten: bool,
    /// Something was left to drain.
    pub drained: bool,
    /// Requests delivered by the trace.
    pub requests: u64,
    /// The fill placed a page.
    pub filled: bool,
    /// A request covered a part of a page.
    pub cut_pages: bool,
    /// Requests of other devices were left out.
    pub filtered: bool,
    /// Lines, records or requests were left out.
    pub skipped: bool,
    /// Requests lay beyond the logical space.
    pub beyond: bool,
    /// Format of the trace.
    pub format: &'a str,
}

impl Effect {
    const fn needs(self, words: &'static str, holds: fn(&Config) -> bool) -> Self {
        Self { needs: Some(Need { words, holds }), ..self }
    }

    const fn meets(self, missed: &'static str, holds: fn(&Happened) -> bool) -> Self {
        Self { meets: Some(Meeting { missed, holds }), ..self }
    }
}

/// In every run, as far as configurations and a few facts tell.
pub(super) const EVER: Effect = Effect { needs: None, meets: None };

pub(super) const WITH_DFTL: Effect = EVER.needs("mapping = dftl", |config| config.device.mapping == Mapping::Dftl);
pub(super) const WITH_LOG_BLOCKS: Effect = EVER.needs("mapping = bast or fast", |config| config.device.mapping.is_hybrid());
pub(super) const FREELY_MAPPED: Effect = EVER.needs("mapping = page or dftl", |config| !config.device.mapping.is_hybrid());
pub(super) const IN_STATIC_ORDER: Effect = EVER.needs(
    "allocation = static, or mapping = bast or fast, and two of these: several chips in each member, several dies in each chip, several planes in each die",
    |Config { device, .. }| {
        let is_static = device.allocation == Allocation::Static || device.mapping.is_hybrid();
        let chips = device.data_chips_per_member() + device.mirror_chips;
        let several = [chips, device.dies_per_chip, device.planes_per_die];
        is_static && several.iter().filter(|count| **count > 1).count() > 1
    },
);
/// `auto` and `member` are what it comes to where pages do not leave their member.
pub(super) const WITH_CHOICE_OF_MEMBER: Effect =
    EVER.needs("allocation = dynamic, or a scheme that places pages in mirror groups and allocation other than static", |config| {
        matches!(config.device.ftl, Ftl::Auto | Ftl::Member)
            || match config.device.allocation {
                Allocation::Static => false,
                Allocation::DynamicMember => config.build_scheme().is_ok_and(|scheme| scheme.mirror_groups().is_some()),
                Allocation::Dynamic => true,
            }
    });
pub(super) const WITH_PLANES: Effect = EVER.needs("several planes in each array unit", |config| config.device.planes_per_unit() > 1);
pub(super) const WITH_CHIPS: Effect = EVER.needs("several chips on each channel", |config| config.device.chips_per_channel > 1);
pub(super) const WITH_DIES: Effect = EVER.needs("several dies in each chip", |config| config.device.dies_per_chip > 1);
pub(super) const PARTS_TOUCHED: Effect = EVER.meets("every request was of whole pages", |run| run.cut_pages);
pub(super) const FILLED: Effect =
    EVER.meets("it comes to less than a page", |run| run.filled || (run.config.run.fill == 0.0 && run.config.run.fill_bytes == 0));
pub(super) const COLLECTED: Effect = EVER.meets("nothing was collected", |run| run.collected);
pub(super) const ERASED: Effect = EVER.meets("no block was erased", |run| run.erased);
pub(super) const LEVELLED: Effect = COLLECTED.needs("wear_leveling = static", |config| config.device.wear_leveling == WearLeveling::Static);
pub(super) const WITH_BASES_IN_PLACE: Effect = COLLECTED
    .needs("a scheme whose semivalid pages collections do not move, and mapping other than fast", |config| {
        config.device.mapping != Mapping::Fast && config.build_scheme().is_ok_and(|scheme| !scheme.moves_bases())
    });
pub(super) const UNLESS_FIXED: Effect =
    EVER.needs("buffer_bytes = 0", |config| config.device.buffer_bytes == 0 || config.device.buffer_bytes_per_gib == 0);
pub(super) const BUFFERED: Effect =
    EVER.needs("a data buffer (buffer_bytes, buffer_bytes_per_gib, nvram_buffer_bytes)", |config| config.device.buffer_pages() > 0);
pub(super) const WITH_NVRAM: Effect = EVER
    .needs("a write buffer in NVRAM (nvram_buffer_bytes)", |config| config.device.nvram_buffer_bytes > 0)
    .meets("nothing had to leave the buffer", |run| run.evicted);
pub(super) const WITH_PARITY: Effect = EVER.needs("a scheme that programs parity with a write", |config| {
    find_scheme(&config.scheme.name).is_ok_and(|entry| entry.redundancy == Redundancy::Parity && !entry.has_window)
});
pub(super) const READ_UNWRITTEN: Effect = EVER.meets("every page read had been written", |run| run.read_unwritten);
pub(super) const FAILED: Effect = EVER.meets("nothing failed", |run| run.failed);
pub(super) const REBUILT: Effect =
    FAILED.needs("a scheme and an order that rebuild (rebuild)", |config| config.rebuild_order().is_ok_and(|order| order.is_some()));
pub(super) const RECONSTRUCTED: Effect =
    FAILED.needs("a scheme that computes lost pages, and an order that rebuilds them (rebuild)", |config| {
        let computes = find_scheme(&config.scheme.name).is_ok_and(|entry| entry.redundancy == Redundancy::Parity);
        computes && config.rebuild_order().is_ok_and(|order| order.is_some())
    });
pub(super) const FILTERED: Effect = EVER.meets("the trace has no request of another device", |run| run.filtered);
pub(super) const SKIPPED: Effect = EVER.meets("there was nothing to skip", |run| run.skipped);
pub(super) const WITHOUT_OPERATIONS: Effect = EVER.meets("the trace's format records operations", |run| format_heeds(run.format, "op"));
pub(super) const WITH_STATIONS: Effect = EVER.meets("the trace is not of blkparse", |run| format_heeds(run.format, "action"));
pub(super) const OF_A_CACHE: Effect = EVER.meets("the trace is not of a cache", |run| format_heeds(run.format, "object_bytes"));
pub(super) const LIMITED: Effect =
    EVER.meets("the trace has fewer requests", |run| run.config.run.limit == 0 || run.requests >= run.config.run.limit);
pub(super) const OPEN_LOOP: Effect =
    EVER.needs("queue_depth = 0, as a closed loop does not look at arrival times", |config| config.run.queue_depth == 0);
pub(super) const BEYOND: Effect =
    EVER.meets("no request lies beyond the logical space", |run| run.config.run.fit != Fit::Wrap || run.beyond);
pub(super) const LONG_ENOUGH: Effect = EVER.meets("the trace has fewer requests", |run| run.requests >= run.config.run.verify_every);
/// What is stored is checked once more after a drain.
pub(super) const DRAINED: Effect = EVER.meets("nothing was left to drain", |run| run.drained || run.config.run.verify);
pub(super) const RANDOM: Effect = EVER.meets("nothing in the run is random (precondition = none)", |run| {
    run.config.run.precondition.parse::<Precondition>().is_ok_and(|precondition| precondition != Precondition::None)
});
