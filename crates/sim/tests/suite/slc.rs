//! The SLC cache (SPEC 8.14), as a drive has it: its figures, what it refuses, and that nothing is lost. What the FTL does: `slc` of flashraid-ftl.

use crate::support::{config, pages};
use flashraid_sim::{Config, Simulation};
use flashraid_vocabulary::{HostOp, HostRequest};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Three bits a cell: 4-KiB units, two in a page, three pages programmed together.
const DRIVE: Pairs = &[
    ("page_bytes", "8192"),
    ("mapping_unit_bytes", "4096"),
    ("program_pages", "3"),
    ("power_loss_protection", "true"),
    ("channels", "2"),
    ("chips_per_channel", "2"),
    ("dies_per_chip", "1"),
    ("planes_per_die", "1"),
    ("blocks_per_plane", "20"),
    ("pages_per_block", "12"),
    ("over_provisioning", "0.4"),
    ("gc_blocking_scope", "none"),
    ("slc_dynamic", "true"),
    ("slc_leave", "8"),
    ("verify", "true"),
];

fn device(pairs: Pairs) -> Config {
    config("tiny", "raid0", &[DRIVE, pairs].concat())
}

/// A burst on an erased drive is as large as MODERN C4 says: of each plane (20 - 8) blocks of 4 word lines of 2 units, at the speed of SLC mode. Then it is folded.
#[test]
fn a_burst_is_as_large_as_the_cache() {
    for superblock in ["false", "true"] {
        let mut simulation = Simulation::new(device(&[("superblock", superblock)]), |_| true).unwrap();
        let units = 4 * (20 - 8) * 4 * 2;
        let write = |units: std::ops::Range<u64>, end_ns: u64, simulation: &mut Simulation| {
            for unit in units {
                simulation.submit(&HostRequest { arrival_ns: unit * 200_000, ..pages(HostOp::Write, unit, 1) }).unwrap();
            }
            simulation.advance_until(end_ns).unwrap();
            simulation.result(&Default::default(), false, None).unwrap()
        };
        // Each plane has one word line left; when that is programmed, folding begins.
        let slc = write(0..units - 8, (units - 8) * 200_000, &mut simulation).slc.unwrap();
        assert_eq!((slc.units_written, slc.units_folded), (units - 8, 0), "superblock = {superblock}");
        let result = write(units - 8..units, units * 200_000 + 500_000, &mut simulation);
        assert_eq!(result.slc.unwrap().units_written, units);
        // Two units in a page, which is a word line; a ninth of the time of a program of three.
        assert_eq!(result.flash_ops.programs.host, units / 2);
        let program = 175 + 2 * 102_400 + 200_000_u64.div_ceil(9);
        assert_eq!(result.dies.iter().map(|die| die.busy_ns.host).sum::<u64>(), units / 2 * program);
        simulation.finish().unwrap();
        let result = simulation.result(&Default::default(), false, None).unwrap();
        let slc = result.slc.unwrap();
        assert_eq!((slc.units_written, slc.units_folded), (units, units), "in idle time");
        assert_eq!((slc.erases, result.flash_ops.erases.gc), (4 * 12, 4 * 12));
        assert_eq!(result.flash_units.unwrap().programs.gc, units);
        let found = simulation.verify().unwrap();
        assert!(found.is_clean(), "{found:?}");
    }
}

/// A fold in step with the host comes to rest when the host does, and goes on in idle time, which has begun by then.
#[test]
fn a_fold_that_rests_goes_on_in_idle_time() {
    for writes in [400, 430, 450] {
        let mut simulation = Simulation::new(device(&[("gc_pace", "debt"), ("idle_ns", "1us")]), |_| true).unwrap();
        for unit in 0..writes {
            simulation.submit(&HostRequest { arrival_ns: unit * 20_000, ..pages(HostOp::Write, unit % 400, 1) }).unwrap();
        }
        simulation.advance_until(1_000_000_000).unwrap();
        let slc = simulation.result(&Default::default(), false, None).unwrap().slc.unwrap();
        assert_eq!((slc.units_folded, slc.erases), (384, 48), "{writes} writes");
    }
}

/// `slc_static` alone is so many blocks, whatever is free; a fill leaves the cache empty.
#[test]
fn a_fixed_cache_is_as_large_as_it_is_set() {
    for fill in ["0", "0.4"] {
        let pairs = [("slc_dynamic", "false"), ("slc_static", "2"), ("fill", fill)];
        let mut simulation = Simulation::new(device(&pairs), |_| true).unwrap();
        // Two blocks of 8 units in each of four planes; it takes over a millisecond until one of them is folded.
        for unit in 0..67 {
            simulation.submit(&HostRequest { arrival_ns: unit * 200_000, ..pages(HostOp::Write, unit, 1) }).unwrap();
        }
        simulation.advance_until(67 * 200_000).unwrap();
        let slc = simulation.result(&Default::default(), false, None).unwrap().slc.unwrap();
        assert_eq!((slc.units_written, slc.erases), (64, 0), "fill = {fill}");
        simulation.finish().unwrap();
    }
}

/// What the cache cannot be combined with is refused.
#[test]
fn a_cache_needs_several_bits_a_cell() {
    let refused = |pairs: Pairs| {
        let pairs: Vec<_> = [DRIVE, pairs].concat().iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Config::assemble(Some("tiny"), Some("raid0"), None, &pairs).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&[("program_pages", "1")]),
        "slc_dynamic = true: allowed with program_pages = 1 and read_pages = 1 is false, as a word line has one bit a cell"
    );
    assert_eq!(
        refused(&[("slc_static", "2"), ("mapping", "dftl"), ("blocks_per_plane", "40")]),
        "slc_static = 2: allowed with mapping = dftl is 0"
    );
    assert_eq!(
        refused(&[("ldpc", "geometric")]),
        "slc_dynamic = true: allowed with ldpc = geometric is false, as levels are those of blocks of all bits"
    );
    assert_eq!(refused(&[("slc_static", "20")]), "slc_static = 20: allowed is less than blocks_per_plane, which is 20");
    assert_eq!(refused(&[("slc_leave", "65534")]), "slc_leave = 65534: allowed is less than blocks_per_plane, which is 20");
    assert_eq!(refused(&[("slc_read_ns", "999999999")]), "slc_read_ns = 999999999: allowed is at most read_ns, which is 20000");
    assert_eq!(refused(&[("slc_program_ns", "200001")]), "slc_program_ns = 200001: allowed is at most program_ns, which is 200000");
}
