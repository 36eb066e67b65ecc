//! When a setting has effect: what the configuration must be, and what must happen in a run.
//!
//! Each key of the schema and each parameter of a scheme (`flashraid_redundancy::Parameter`) declares its condition. A setting that the user asked
//! for but that cannot change any run of its configuration is refused; one that changed nothing in one run is reported with its result (`Asked`).

use super::{Allocation, Config, Destage, Fit, Ftl, Mapping, Member, Suspend, WearLeveling, find_scheme};
use crate::engine::row_pages;
use flashraid_redundancy::Redundancy;
use flashraid_workload::format_heeds;

/// When a setting has effect.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// What must hold for a configuration; otherwise the setting changes no run of it.
    pub needs: Option<Need>,
    /// What must happen in a run; otherwise the setting does not change that run.
    pub meets: Option<Meeting>,
    /// Whether it concerns the replay of a trace, so that it means nothing to who submits requests one by one.
    pub of_replays: bool,
}

/// A condition on configurations.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The condition, worded to follow "allowed with".
    pub words: &'static str,
    /// Whether it holds.
    pub holds: fn(&Config) -> bool,
}

/// A condition on runs.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// Why the setting had no effect.
    pub missed: &'static str,
    /// Whether the condition was met; true if that is unknown.
    pub holds: fn(&Happened) -> bool,
}

/// What happened in a run, fill and precondition included.
#[derive(Clone, Copy, Debug)]
pub struct Happened<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Something failed.
    pub failed: bool,
    /// GC moved a page or erased a block.
    pub collected: bool,
    /// A block was erased.
    pub erased: bool,
    /// A page was superseded that a deferred parity still needed.
    pub had_bases: bool,
    /// Pages were evicted from the buffer.
    pub evicted: bool,
    /// A page that was never written was read.
    pub read_unwritten: bool,
    /// Something was left to drain.
    pub drained: bool,
    /// Requests delivered by the trace.
    pub requests: u64,
    /// The fill placed a page.
    pub filled: bool,
    /// A request covered part of a page.
    pub cut_pages: bool,
    /// Requests of other devices were left out.
    pub filtered: bool,
    /// A request had to wait in the host.
    pub queued_in_host: bool,
    /// A request overtook another one that waited in the host.
    pub overtook_in_host: bool,
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

    pub(super) const fn of_replays(self) -> Self {
        Self { of_replays: true, ..self }
    }
}

/// Whether what is lost is rebuilt.
fn rebuilds(config: &Config) -> bool {
    config.rebuild_order().is_ok_and(|order| order.is_some())
}

/// Whether requests may have to wait in the host.
fn waits_in_host(Config { run, host, .. }: &Config) -> bool {
    host.device_queue_depth > 0 && (run.queue_depth == 0 || run.queue_depth > host.device_queue_depth)
}

/// The setting can affect any run.
pub(super) const EVER: Effect = Effect { needs: None, meets: None, of_replays: false };

pub(super) const WITH_UNITS: Effect =
    EVER.needs("mapping_unit_bytes below page_bytes, or program_pages above 1", |config| config.device.packs());
pub(super) const WITH_PADDING: Effect = EVER.needs(
    "mapping_unit_bytes below page_bytes or program_pages above 1, and power_loss_protection = false",
    |Config { device, .. }| device.packs() && !device.power_loss_protection,
);
pub(super) const WITH_SLC: Effect = EVER.needs("slc_static above 0, or slc_dynamic = true", |config| config.device.has_slc());
pub(super) const WITH_DYNAMIC_SLC: Effect = EVER.needs("slc_dynamic = true", |config| config.device.slc_dynamic);
pub(super) const WITH_SUSPENSION: Effect = EVER.needs("suspend other than none", |config| config.device.suspend != Suspend::None);
pub(super) const WITH_DFTL: Effect = EVER.needs("mapping = dftl", |config| config.device.mapping == Mapping::Dftl);
pub(super) const WITH_LDPC: Effect = EVER.needs("ldpc other than none", |config| config.device.has_ldpc());
pub(super) const WITHOUT_LIMIT: Effect = EVER.needs("pe_limit = 0", |config| config.array.is_single() || config.device.pe_limit == 0);
pub(super) const WITH_RETENTION: Effect = EVER
    .needs("ldpc other than none and ldpc_retention_ns above 0", |Config { device, .. }| device.has_ldpc() && device.ldpc_retention_ns > 0);
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
/// Where pages do not leave their member, `auto` and `member` mean the same.
pub(super) const WITH_CHOICE_OF_MEMBER: Effect =
    EVER.needs("allocation = dynamic, or a scheme that places pages in mirror groups and allocation other than static", |config| {
        matches!(config.device.ftl, Ftl::Auto | Ftl::Member)
            || config.device.member != Member::Device
                && match config.device.allocation {
                    Allocation::Static => false,
                    Allocation::DynamicMember => find_scheme(&config.scheme.name).is_ok_and(|entry| entry.mirror_groups.is_some()),
                    Allocation::Dynamic => true,
                }
    });
pub(super) const WITH_PLANES: Effect = EVER.needs("several planes in each LUN", |config| config.device.planes_per_lun() > 1);
pub(super) const WITH_SHARED_PLANES: Effect = EVER
    .needs("several planes that share their free space, as with ftl = device and allocation = dynamic", |config| {
        config.build_scheme().is_ok_and(|scheme| config.device.space_domain(config.placement(&*scheme)).planes > 1)
    });
pub(super) const IN_ROWS: Effect = EVER.needs("rows of several members, and a row of chunks in the logical space", |config| {
    config.build_scheme().is_ok_and(|scheme| {
        let (row, units) = (row_pages(&*scheme), config.space_bytes(&*scheme) / u64::from(config.device.unit_bytes()));
        row > 1 && row * u64::from(config.host.chunk_units) <= units
    })
});
pub(super) const WITH_CHOICE_OF_LUN: Effect =
    EVER.needs("devices = 1: in an array each SSD is a member", |config| config.array.is_single());
pub(super) const OF_ARRAYS: Effect = EVER.needs("devices above 1", |config| !config.array.is_single());
pub(super) const WITH_DIES: Effect = EVER.needs("several dies in each chip", |config| config.device.dies_per_chip > 1);
pub(super) const PARTS_TOUCHED: Effect = EVER.meets("every request covered whole pages", |run| run.cut_pages);
pub(super) const FILLED: Effect =
    EVER.meets("it amounts to less than one page", |run| run.filled || (run.config.run.fill == 0.0 && run.config.run.fill_bytes == 0));
/// GC without a victim that is worth it may begin for the sake of semivalid pages, or not, as it handles them.
pub(super) const OF_BASES: Effect = EVER.meets("no page was semivalid", |run| run.had_bases);
pub(super) const COLLECTED: Effect = EVER.meets("GC did not run", |run| run.collected);
pub(super) const PACED: Effect = Effect { meets: COLLECTED.meets, ..FREELY_MAPPED };
/// What leaves a data buffer is of no stream.
pub(super) const STREAMED: Effect = EVER
    .needs("mapping_unit_bytes below page_bytes or program_pages above 1, and no data buffer", |config| {
        config.device.packs() && config.device.buffer_pages() == 0
    });
pub(super) const KEPT_IN_STREAMS: Effect = COLLECTED.needs("write_streams above 1", |config| config.device.write_streams > 1);
pub(super) const WITH_WORK_IN_IDLE_TIME: Effect = EVER
    .needs("gc_idle_threshold above 0, an SLC cache, or a scheme that replaces SSDs", |config| {
        config.device.gc_idle_threshold > 0.0 || config.device.has_slc() || config.replaces_devices()
    });
pub(super) const COLLECTED_WHEN_IDLE: Effect =
    FREELY_MAPPED.meets("no GC run began in idle time", |run| run.collected && run.config.device.gc_idle_threshold > 0.0);
pub(super) const STEADY: Effect = COLLECTED.needs("precondition = steady or direct, and mapping = page or dftl", |config| {
    ["steady", "direct"].contains(&config.run.precondition.as_str()) && !config.device.mapping.is_hybrid()
});
pub(super) const ERASED: Effect = EVER.meets("no block was erased", |run| run.erased);
pub(super) const LEVELED: Effect = COLLECTED.needs("wear_leveling = static", |config| config.device.wear_leveling == WearLeveling::Static);
/// With hybrid mapping it only matters whether the choice of a log block heeds commits.
pub(super) const OF_VICTIMS: Effect =
    COLLECTED.needs("mapping = page or dftl; or mapping = bast and a scheme whose semivalid pages GC does not move", |config| match config
        .device
        .mapping
    {
        Mapping::Page | Mapping::Dftl => true,
        Mapping::Bast => config.build_scheme().is_ok_and(|scheme| scheme.deferring().is_some_and(|deferring| !deferring.moves_bases())),
        Mapping::Fast => false,
    });
pub(super) const UNLESS_FIXED: Effect =
    EVER.needs("buffer_bytes = 0", |config| config.device.buffer_bytes == 0 || config.device.buffer_bytes_per_gib == 0);
pub(super) const BUFFERED: Effect =
    EVER.needs("a data buffer (buffer_bytes, buffer_bytes_per_gib, nvram_buffer_bytes)", |config| config.device.buffer_pages() > 0);
pub(super) const WITH_MEMORY: Effect = EVER
    .needs("a data buffer (buffer_bytes, buffer_bytes_per_gib, nvram_buffer_bytes) or mapping_unit_bytes below page_bytes", |config| {
        config.device.buffer_pages() > 0 || config.device.packs()
    });
pub(super) const WITH_DRAM: Effect = EVER
    .needs("a data buffer in DRAM (buffer_bytes, buffer_bytes_per_gib)", |Config { device, .. }| {
        device.buffer_pages() > 0 && device.nvram_buffer_bytes == 0
    })
    .meets("no page was evicted from the buffer", |run| run.evicted);
pub(super) const DESTAGING: Effect = EVER.needs(
    "destage = low_water and a data buffer (buffer_bytes, buffer_bytes_per_gib, nvram_buffer_bytes)",
    |Config { device, .. }| device.buffer_pages() > 0 && device.destage == Destage::LowWater,
);
pub(super) const WITH_NVRAM: Effect = EVER
    .needs("a write buffer in NVRAM (nvram_buffer_bytes)", |config| config.device.nvram_buffer_bytes > 0)
    .meets("no page was evicted from the buffer", |run| run.evicted);
pub(super) const WITH_PARITY: Effect = EVER.needs("a scheme that programs parity with a write", |config| {
    find_scheme(&config.scheme.name).is_ok_and(|entry| entry.redundancy == Redundancy::Parity && !entry.has_window)
});
pub(super) const COMPUTED: Effect =
    EVER.needs("a scheme with parity", |config| find_scheme(&config.scheme.name).is_ok_and(|entry| entry.redundancy == Redundancy::Parity));
pub(super) const READ_UNWRITTEN: Effect = EVER.meets("every page that was read had been written before", |run| run.read_unwritten);
pub(super) const FAILED: Effect = EVER.meets("nothing failed", |run| run.failed);
pub(super) const REBUILT: Effect = FAILED.needs("a scheme that can rebuild, and rebuild other than none", rebuilds);
pub(super) const REBUILT_ON_SPARE_CHIPS: Effect = FAILED.needs(
    "spare_chips above 0, several chips in each member, allocation other than static, mapping = page or dftl, a scheme that can rebuild, and rebuild other than none",
    |config| {
        let Config { device, array, .. } = config;
        let chips = match array.is_single() {
            true => device.data_chips_per_member().max(device.mirror_chips),
            false => device.channels * device.chips_per_channel,
        };
        let is_placed = device.allocation != Allocation::Static && !device.mapping.is_hybrid();
        device.spare_chips > 0 && chips > 1 && is_placed && rebuilds(config)
    },
);
pub(super) const RECONSTRUCTED: Effect =
    FAILED.needs("a scheme that reconstructs lost pages from parity, and rebuild other than none", |config| {
        let computes = find_scheme(&config.scheme.name).is_ok_and(|entry| entry.redundancy == Redundancy::Parity);
        computes && rebuilds(config)
    });
pub(super) const FILTERED: Effect = EVER.meets("the trace has no requests of other devices", |run| run.filtered);
pub(super) const SKIPPED: Effect = EVER.meets("nothing had to be skipped", |run| run.skipped);
pub(super) const WITHOUT_OPERATIONS: Effect = EVER.meets("the trace's format records operations", |run| format_heeds(run.format, "op"));
pub(super) const WITH_EVENTS: Effect =
    EVER.meets("the trace is no recording of several events of a request", |run| format_heeds(run.format, "action"));
pub(super) const OF_A_CACHE: Effect = EVER.meets("the trace is not a cache trace", |run| format_heeds(run.format, "object_bytes"));
pub(super) const OF_SECTORS: Effect =
    EVER.meets("the trace does not count in sectors of the device", |run| format_heeds(run.format, "sector_bytes"));
pub(super) const WITH_COLUMNS: Effect = EVER.needs("columns other than none", |config| config.run.columns != "none");
pub(super) const LIMITED: Effect =
    EVER.meets("the trace has fewer requests", |run| run.config.run.limit == 0 || run.requests >= run.config.run.limit);
pub(super) const OPEN_LOOP: Effect =
    EVER.needs("queue_depth = 0 (a closed loop ignores arrival times)", |config| config.run.queue_depth == 0);
pub(super) const QUEUED_IN_HOST: Effect = EVER
    .needs("queue_depth = 0, or above it (so many are never outstanding in a closed loop)", |Config { run, host, .. }| {
        run.queue_depth == 0 || run.queue_depth > host.device_queue_depth
    })
    .meets("never were so many requests outstanding", |run| run.queued_in_host || run.config.host.device_queue_depth == 0);
pub(super) const OF_SEVERAL_QUEUES: Effect = EVER
    .needs("device_queue_depth above 0, and below queue_depth in a closed loop", waits_in_host)
    .meets("no request overtook another one in the host", |run| run.overtook_in_host || run.config.host.queues == 1);
pub(super) const BETWEEN_QUEUES: Effect = EVER
    .needs("queues above 1, and device_queue_depth above 0, and below queue_depth in a closed loop", |config| {
        config.host.queues > 1 && waits_in_host(config)
    })
    .meets("no request overtook another one in the host", |run| run.overtook_in_host || run.config.host.fetch == 1);
pub(super) const BEYOND: Effect =
    EVER.meets("no request lies beyond the logical space", |run| run.config.run.fit != Fit::Wrap || run.beyond);
pub(super) const LONG_ENOUGH: Effect = EVER.meets("the trace has fewer requests", |run| run.requests >= run.config.run.verify_every);
/// With `verify`, stored pages are checked again after a drain.
pub(super) const DRAINED: Effect = EVER.meets("nothing had to be drained", |run| run.drained || run.config.run.verify);
pub(super) const RANDOM: Effect =
    EVER.meets("nothing in the run is random (precondition = none, jitter_ns = 0)", |run| run.config.run.is_random());
