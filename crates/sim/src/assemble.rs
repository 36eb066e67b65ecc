//! The one file that makes a device out of a configuration.

use crate::config::{Config, ConfigError, Device, Mapping, SlcFull};
use crate::engine::content::Content;
use crate::engine::{Dftl, Engine, HostTimes, Options, RebuildOptions};
use crate::media::{LinkTimes, Media, SsdArray};
use flashraid_ftl::{Flash, MemorySettings, Placement, Settings, SlcSettings, SlcTimes};
use flashraid_redundancy::Scheme;

/// Share of erased blocks above which migration goes before GC where they are coordinated (SPEC 5.3).
const MIGRATION_FREE_BLOCKS: f64 = 0.1;

/// Media that a configuration describes.
pub trait Assembled: Media {
    /// Erased media for this scheme.
    fn assemble(config: &Config, scheme: &dyn Scheme) -> Self;
}

impl Assembled for Flash {
    fn assemble(config: &Config, scheme: &dyn Scheme) -> Self {
        ssd(config, scheme, 0)
    }
}

/// An SSD, which is number `number` of an array, or alone.
fn ssd(config: &Config, scheme: &dyn Scheme, number: u32) -> Flash {
    let Device { pe_limit, erases_before, .. } = config.device;
    let moves_bases = scheme.deferring().is_none_or(|deferring| deferring.moves_bases());
    let settings = settings(&config.device, config.placement(scheme), moves_bases, config.coordinates_migration());
    let slices_per_bus = config.slices_per_bus();
    let mut flash = Flash::new(Settings { cell: config.device.cells(number), slices_per_bus, seed: number.into(), ..settings });
    match pe_limit {
        0 if erases_before == 0 => {}
        0 => flash.store_mut().space_mut().preset_wear(erases_before),
        limit if config.array.is_single() => flash.store_mut().space_mut().limit_erases(limit, erases_before),
        limit => flash.store_mut().space_mut().limit_erases(limit, config.array.preset_erases(number, limit)),
    }
    flash
}

impl Assembled for SsdArray {
    fn assemble(config: &Config, scheme: &dyn Scheme) -> Self {
        let array = &config.array;
        let ssds = (0..).zip(config.by_ssd()).map(|(number, config)| ssd(&config, scheme, number)).collect();
        let link_times = LinkTimes { ps_per_byte: array.link_ps_per_byte, command_ns: array.link_command_ns };
        Self::new(ssds, array.devices, scheme.replacing().is_some()).with_links(link_times)
    }
}

/// An engine on erased media. `content` makes the contents for so many physical pages and a logical space of so many pages.
pub fn engine<C: Content, M: Assembled>(config: &Config, content: impl FnOnce(u64, u64) -> C) -> Result<Engine<C, M>, ConfigError> {
    let scheme = config.build_scheme()?;
    let space_pages = config.space_bytes(&*scheme) / u64::from(config.device.unit_bytes());
    let media = M::assemble(config, &*scheme);
    let content = content(media.ppn_limit(), space_pages);
    Ok(Engine::new(scheme, media, content, options(config, space_pages)))
}

/// What the engine is told beside scheme and flash.
pub fn options(config: &Config, space_pages: u64) -> Options {
    let (device, host) = (&config.device, &config.host);
    Options {
        space_pages,
        host: host.clone(),
        host_times: HostTimes {
            write_ps_per_byte: device.host_write_ps_per_byte,
            read_ps_per_byte: device.host_read_ps_per_byte,
            command_ns: device.command_ns,
            unit_ns: device.unit_ns,
            // The SSDs of an array have controllers of their own.
            gc_unit_ns: if config.array.is_single() { device.unit_ns } else { 0 },
            read_latency_ns: device.read_latency_ns,
            write_latency_ns: device.write_latency_ns,
            slice: device.slice,
        },
        write_streams: device.write_streams as u8,
        xor_ns: device.xor_ns,
        dftl: (device.mapping == Mapping::Dftl).then(|| Dftl {
            cmt_entries: device.cmt_entries,
            entries_per_page: device.entries_per_translation_page(),
            mirror_entries: device.mirror_pages_per_member(),
        }),
        buffer: config.array.buffer(&config.device, space_pages),
        rebuild: config
            .rebuild_order()
            .ok()
            .flatten()
            .map(|order| RebuildOptions { order, window: if host.rebuild_window == 0 { order.window } else { host.rebuild_window } }),
    }
}

/// What the flash layer is told about the device, on which programs find their planes as `placement` says, GC runs move semivalid pages or
/// have them committed, and share the device with migrations by need or not.
pub fn settings(device: &Device, placement: Placement, moves_bases: bool, coordinates_migration: bool) -> Settings {
    let order = device.static_order.as_bytes();
    Settings {
        geometry: device.geometry(),
        units_per_page: device.units_per_page(),
        memory: MemorySettings {
            pages: device.staging_units(),
            read_ns: device.buffer_ns,
            survives_power_loss: device.power_loss_protection,
            pad_after_ns: device.pad_after_ns,
        },
        slc: device.has_slc().then(|| {
            let (read_ns, program_ns) = device.slc_times_ns();
            let settings = SlcSettings {
                blocks: device.slc_static,
                leave: device.slc_dynamic.then_some(device.slc_leave),
                stalls: device.slc_full == SlcFull::Stall,
            };
            (settings, SlcTimes { read_ns, program_ns })
        }),
        given: device.given(),
        slices_per_bus: 1,
        pages_per_member: device.pages_per_member(),
        translation_blocks: device.translation_blocks(),
        translation_pages: device.translation_pages(),
        log_blocks: if device.mapping.is_hybrid() { device.log_blocks_per_plane() } else { 0 },
        shared_logs: device.mapping == Mapping::Fast,
        cell: device.cells(0),
        static_order: [order[0], order[1], order[2]],
        placement,
        gc_threshold: if device.mapping.is_hybrid() { 0.0 } else { device.gc_threshold },
        gc_idle_threshold: if device.mapping.is_hybrid() { 0.0 } else { device.gc_idle_threshold },
        gc_idle_gain: device.gc_idle_gain,
        coordinates_migration,
        migration_free_blocks: MIGRATION_FREE_BLOCKS,
        moves_bases,
        gc_policy: device.gc_policy(),
        commit_aware: !moves_bases && device.gc_policy().policy.weighs_commits,
        seed: 0,
    }
}
