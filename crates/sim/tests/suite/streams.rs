//! Write streams (SPEC 8.13): the host's requests name them, and what is written for a request goes with it. What the FTL makes of them: `streams` of flashraid-ftl.

use crate::support::{clean_result, config, pages};
use flashraid_sim::{RunResult, Simulation};
use flashraid_vocabulary::{HostOp, HostRequest, SplitMix64};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// 4-KiB units in 16-KiB pages, one die on a channel.
const DRIVE: Pairs = &[
    ("page_bytes", "16384"),
    ("mapping_unit_bytes", "4096"),
    ("power_loss_protection", "true"),
    ("channels", "4"),
    ("chips_per_channel", "1"),
    ("dies_per_chip", "1"),
    ("planes_per_die", "1"),
    ("blocks_per_plane", "16"),
    ("pages_per_block", "4"),
    ("over_provisioning", "0.4"),
    ("gc_blocking_scope", "none"),
    ("verify", "true"),
];

/// Two regions are overwritten stripe by stripe, one eight times as fast as the other.
fn two_ages(scheme: &str, pairs: Pairs) -> RunResult {
    let mut simulation = Simulation::new(config("tiny", scheme, &[DRIVE, pairs].concat()), |_| true).unwrap();
    let row = 3; // data strips
    let rows = simulation.space_bytes() / 4096 / row / 2;
    let mut write = |number: u64, page: u64, stream: u16| {
        simulation.submit(&HostRequest { arrival_ns: number * 2_000_000, stream, ..pages(HostOp::Write, page, row) }).unwrap();
    };
    for number in 0..20 * rows {
        write(number, number % rows * row, 1);
        if number % 8 == 0 {
            write(number, (rows + number / 8 % rows) * row, 2);
        }
    }
    simulation.finish().unwrap();
    clean_result(&mut simulation, &format!("{scheme} {pairs:?}"))
}

/// Data and parities of one age die together if they are in blocks of their own: GC moves nothing.
#[test]
fn what_is_written_for_a_request_is_of_its_stream() {
    const SUPERBLOCKS: Pairs = &[("superblock", "true"), ("chips_per_channel", "2")];
    const ARRAY: Pairs = &[("devices", "4"), ("channels", "2"), ("blocks_per_plane", "16")];
    for (scheme, shape) in [("raid5", &[][..]), ("raid5", SUPERBLOCKS), ("raid4", &[]), ("raid5", ARRAY)] {
        let moved = |streams: &'static str| {
            let result = two_ages(scheme, &[shape, &[("write_streams", streams)]].concat());
            assert!(result.flash_ops.erases.gc > 20, "{scheme} {shape:?}: {:?}", result.flash_ops.erases);
            result.flash_units.unwrap().programs.gc
        };
        let (apart, together) = (moved("3"), moved("1"));
        assert!(apart == 0 && together > 500, "{scheme} {shape:?}: {apart} of {together} units");
    }
}

/// What names a stream that there is not is of stream 0, as if it named none.
#[test]
fn streams_that_there_are_not_are_as_none() {
    let run = |streams: [u16; 3]| {
        let settings = [DRIVE, &[("write_streams", "2"), ("fill", "0.9")]].concat();
        let mut simulation = Simulation::new(config("tiny", "raid0", &settings), |_| true).unwrap();
        for number in 0..400 {
            let stream = streams[number as usize % 3];
            simulation.submit(&HostRequest { arrival_ns: number * 500_000, stream, ..pages(HostOp::Write, number * 37 % 500, 1) }).unwrap();
        }
        simulation.finish().unwrap();
        serde_json::to_value(simulation.result(&Default::default(), false, None).unwrap()).unwrap()
    };
    assert_eq!(run([0, 1, 2]), run([0, 1, 0]));
    assert_ne!(run([0, 1, 0]), run([0, 0, 0]));
}

/// Where the memory is lost with the power, GC programs what it has moved before it erases, whichever stream that went to (SPEC 8.1 (i)): the host pads nothing here.
#[test]
fn gc_pads_the_stream_that_it_has_filled() {
    let padded = |pairs: Pairs| {
        let settings =
            [DRIVE, &[("write_streams", "3"), ("gc_streams", "own"), ("pad_after_ns", "0"), ("over_provisioning", "0.5")], pairs].concat();
        let settings: Vec<_> = settings.into_iter().filter(|(key, _)| !pairs.is_empty() || *key != "pad_after_ns").collect();
        let mut simulation = Simulation::new(config("tiny", "raid0", &settings), |_| true).unwrap();
        let (space, mut random) = (simulation.space_bytes() / 4096, SplitMix64::new(1));
        for number in 0..5000 {
            let request = HostRequest { arrival_ns: number * 2_000_000, stream: 1, ..pages(HostOp::Write, random.next_below(space), 1) };
            simulation.submit(&request).unwrap();
        }
        simulation.advance_until(10_000_000_000).unwrap();
        let result = simulation.result(&Default::default(), false, None).unwrap();
        assert!(result.flash_units.unwrap().programs.gc > 500, "{pairs:?}");
        result.padded_units.unwrap()
    };
    assert_eq!(padded(&[]), 0);
    assert!(padded(&[("power_loss_protection", "false")]) > 100);
}
