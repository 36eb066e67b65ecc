//! Superblocks (SPEC 8.12): blocks of all planes that share their free space, filled die by die, and collected and erased together.

use crate::support::{clean_result, config, pages, proving};
use flashraid_sim::{Config, RunResult, Simulation};
use flashraid_vocabulary::{HostOp, HostRequest, SplitMix64};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// One FTL for all dies: 4-KiB units in 16-KiB pages, four dies on two channels.
const DRIVE: Pairs = &[
    ("page_bytes", "16384"),
    ("mapping_unit_bytes", "4096"),
    ("power_loss_protection", "true"),
    ("channels", "2"),
    ("chips_per_channel", "2"),
    ("dies_per_chip", "1"),
    ("planes_per_die", "1"),
    ("blocks_per_plane", "16"),
    ("pages_per_block", "4"),
    ("over_provisioning", "0.4"),
    ("allocation", "dynamic"),
    ("ftl", "device"),
    ("gc_blocking_scope", "none"),
    ("gc_policy", "greedy"),
    ("superblock", "true"),
    ("verify", "true"),
];

fn device(pairs: Pairs) -> Config {
    config("tiny", "raid0", &[DRIVE, pairs].concat())
}

/// Submits requests, all at once, and ends.
fn run(pairs: Pairs, requests: impl IntoIterator<Item = HostRequest>) -> RunResult {
    let mut simulation = Simulation::new(device(pairs), |_| true).unwrap();
    requests.into_iter().for_each(|request| _ = simulation.submit(&request).unwrap());
    simulation.finish().unwrap();
    clean_result(&mut simulation, &format!("{pairs:?}"))
}

/// Four dies on two channels, one unit of 102.4 us on a bus at a time.
#[test]
fn program_units_go_to_the_dies_in_turn_across_channels() {
    let result = run(&[], (0..16).map(|unit| pages(HostOp::Write, unit, 1)));
    let page = 175 + 4 * 102_400;
    assert_eq!(result.dies.iter().map(|die| die.programs.total).collect::<Vec<_>>(), [1; 4]);
    assert_eq!(result.dies.iter().map(|die| die.busy_ns.total).collect::<Vec<_>>(), [page + 200_000; 4]);
    assert_eq!(result.channels.iter().map(|channel| channel.busy_ns.total).collect::<Vec<_>>(), [2 * page; 2]);
    // Those that follow each other are on different channels.
    let result = run(&[], (0..8).map(|unit| pages(HostOp::Write, unit, 1)));
    assert_eq!(result.channels.iter().map(|channel| channel.busy_ns.total).collect::<Vec<_>>(), [page; 2]);
    // The next one is of the first die again, which a read of the first unit finds busy: it waits for the other die's transfer, and then for the program.
    let mut simulation = Simulation::new(device(&[]), |_| true).unwrap();
    (0..20).for_each(|unit| _ = simulation.submit(&pages(HostOp::Write, unit, 1)).unwrap());
    let read = HostRequest { arrival_ns: 3 * page, ..pages(HostOp::Read, 0, 1) };
    simulation.submit(&read).unwrap();
    simulation.finish().unwrap();
    let read = simulation.take_completed().into_iter().last().unwrap();
    assert_eq!(read.completed_ns, 3 * page + 200_000 + 175 + 20_000 + 102_400);
}

/// A drive with superblocks is one die with blocks as large, but that each of them is erased in every die. What GC reads side by side it packs as it comes, so
/// that what lies in its superblocks differs by chance.
#[test]
fn counts_are_those_of_one_die_with_blocks_as_large() {
    const ONE: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("pages_per_block", "16"), ("superblock", "false")];
    for policy in ["greedy", "fifo", "windowed:4", "d:3", "cost_benefit"] {
        for pace in ["block", "debt"] {
            let chosen: Pairs = &[("gc_policy", policy), ("gc_pace", pace), ("gc_threshold", "0.3"), ("fill", "1")];
            let [together, one] = [&[][..], ONE].map(|shape| {
                let pairs = [shape, chosen].concat();
                let space = device(&pairs).space_bytes(&*device(&pairs).build_scheme().unwrap()) / 4096;
                assert_eq!(space, 614);
                let mut random = SplitMix64::new(3);
                // Each write finds everything at rest.
                let mut write =
                    |number: u64| HostRequest { arrival_ns: number * 1_000_000_000, ..pages(HostOp::Write, random.next_below(space), 1) };
                run(&pairs, (0..proving(30_000, 3_000)).map(&mut write))
            });
            let host =
                |result: &RunResult| (result.flash_units.unwrap().programs.host, result.flash_ops.programs.host, result.padded_units);
            assert_eq!(host(&together), host(&one), "{policy} {pace}");
            for result in [&together, &one] {
                let dies = result.dies.len() as u64;
                assert_eq!(result.flash_ops.erases.total, dies * result.collection.collections, "{policy} {pace}");
                // Each page that GC programs is full.
                assert!(result.flash_units.unwrap().programs.gc.abs_diff(4 * result.flash_ops.programs.gc) < 4, "{policy} {pace}");
            }
            let [moved, of_one] = [&together, &one].map(|result| result.flash_units.unwrap().programs.gc);
            // Sixteen superblocks of which one waits half collected: with another seed the figures of one die differ by 5 %.
            let share = if pace == "block" { proving(200, 20) } else { 10 };
            assert!(of_one > 3_000 && moved.abs_diff(of_one) * share < of_one, "{policy} {pace}: {moved} {of_one}");
        }
    }
}

/// More random writes than the drive can collect for, all there at once: with `gc_pace = debt` the host is served as fast as GC moves pages, and never waits for a
/// whole victim. (It does after a while if free space is used up meanwhile: if what runs ahead of GC, in the memory and on flash, is not held back, or not owed
/// by the next run.)
#[test]
fn in_saturation_the_host_keeps_pace_with_gc() {
    let shape: Pairs =
        &[("blocks_per_plane", "32"), ("pages_per_block", "32"), ("over_provisioning", "0.3"), ("fill", "1"), ("gc_threshold", "0.15")];
    let longest_gap_ns = |pace: &str, staging_bytes: &str| {
        let pairs = [shape, &[("gc_pace", pace), ("precondition", "random:2"), ("staging_bytes", staging_bytes)]].concat();
        let mut simulation = Simulation::new(device(&pairs), |_| true).unwrap();
        let (mut random, space, begin_ns) = (SplitMix64::new(3), simulation.space_bytes() / 4096, simulation.now_ns());
        for _ in 0..20_000 {
            let write = HostRequest { arrival_ns: begin_ns, ..pages(HostOp::Write, random.next_below(space), 1) };
            simulation.submit(&write).unwrap();
        }
        simulation.finish().unwrap();
        assert!(simulation.verify().unwrap().is_clean());
        let mut ends: Vec<u64> = simulation.take_completed().iter().map(|done| done.completed_ns).collect();
        ends.sort_unstable();
        ends[5_000..].windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
    };
    let (debt_ns, block_ns) = (longest_gap_ns("debt", "262144"), longest_gap_ns("block", "262144"));
    assert!(debt_ns < 8_000_000 && block_ns > 40_000_000, "{debt_ns} ns, {block_ns} ns");
    // What a larger memory holds when a run begins is not owed: the pages were taken before.
    let large_ns = longest_gap_ns("debt", "1048576");
    assert!(large_ns < 12_000_000, "{large_ns} ns");
}

/// Where a program unit has three pages, GC of a superblock reads three pages of each lane at a time, which the dies sense while buses are busy with others. With one
/// of each lane it takes 216 ms.
#[test]
fn gc_reads_ahead_what_program_units_have_room_for() {
    let given: Pairs = &[
        ("channels", "4"),
        ("blocks_per_plane", "32"),
        ("program_pages", "3"),
        ("pages_per_block", "12"),
        ("over_provisioning", "0.3"),
        ("fill", "1"),
        ("gc_threshold", "0.15"),
        ("gc_pace", "debt"),
        ("precondition", "random:2"),
        ("bus_ps_per_byte", "1000"),
        ("read_ns", "200000"),
    ];
    let mut simulation = Simulation::new(device(given), |_| true).unwrap();
    let (mut random, space, begin_ns) = (SplitMix64::new(3), simulation.space_bytes() / 4096, simulation.now_ns());
    for _ in 0..5_000 {
        let write = HostRequest { arrival_ns: begin_ns, ..pages(HostOp::Write, random.next_below(space), 1) };
        simulation.submit(&write).unwrap();
    }
    simulation.finish().unwrap();
    let took_ns = simulation.now_ns() - begin_ns;
    assert!(took_ns < 185_000_000, "{took_ns} ns");
}

/// A die dies: program units pass it over, and superblocks have three blocks from then on.
#[test]
fn a_dead_die_is_passed_over() {
    let dead: Pairs = &[("fail", "chip:0.1@1s"), ("fill", "0.5"), ("over_provisioning", "0.6"), ("gc_threshold", "0.3")];
    let pairs = [DRIVE, dead, &[("ftl", "auto"), ("allocation", "dynamic_member")]].concat();
    let mut simulation = Simulation::new(config("tiny", "raid1", &pairs), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 4096);
    let mut before = None;
    for number in 0..2_000 {
        let write = pages(HostOp::Write, random.next_below(space), 1);
        simulation.submit(&HostRequest { arrival_ns: number * 5_000_000, ..write }).unwrap();
        if number == 1_000 {
            before = Some(simulation.result(&Default::default(), false, None).unwrap());
        }
    }
    simulation.finish().unwrap();
    assert!(simulation.verify().unwrap().is_clean());
    let (before, after) = (before.unwrap(), simulation.result(&Default::default(), false, None).unwrap());
    // Chip 1 of channel 0 is the second LUN.
    let programs = |result: &RunResult| result.dies.iter().map(|die| die.programs.total).collect::<Vec<_>>();
    let gained: Vec<u64> = programs(&after).iter().zip(programs(&before)).map(|(after, before)| after - before).collect();
    assert!(gained[1] == 0 && gained[0] > 100 && gained[2] > 100 && gained[3] > 100, "{gained:?}");
    assert!(programs(&before)[1] > 0);
    assert_eq!(after.requests.failed.lost, 0);
}

/// What superblocks cannot be combined with is refused.
#[test]
fn refusals_say_what_is_allowed() {
    let assembled = |scheme: &str, pairs: Pairs| {
        let pairs: Vec<_> = [DRIVE, pairs].concat().iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Config::assemble(Some("tiny"), Some(scheme), None, &pairs)
    };
    let refused = |pairs: Pairs| assembled("raid0", pairs).unwrap_err().to_string();
    assert_eq!(
        refused(&[("mapping_unit_bytes", "0")]),
        "superblock = true: allowed is false unless programs fill several mapping units: set mapping_unit_bytes below page_bytes, or program_pages above 1"
    );
    for (key, value, allowed) in [
        ("mapping", "dftl", "page"),
        ("allocation", "static", "dynamic_member, dynamic"),
        ("gc_blocking_scope", "chip", "none"),
        ("multi_plane", "true", "false"),
        ("spare_chips", "1", "0"),
    ] {
        assert_eq!(refused(&[(key, value)]), format!("{key} = {value}: allowed with superblock = true is {allowed}"));
    }
    // 65 planes are one too many for a word.
    assert_eq!(
        refused(&[("channels", "5"), ("chips_per_channel", "13")]),
        "superblock = true: allowed is false, as 65 planes share their free space, and superblocks have at most 64 blocks (slice simulates a part of a drive)"
    );
    assert!(assembled("raid0", &[("channels", "8"), ("chips_per_channel", "8")]).is_ok());
    let of_mirrors = assembled("cr5m", &[("ftl", "auto"), ("allocation", "dynamic_member")]);
    assert_eq!(of_mirrors.unwrap_err().to_string(), "cr5m on tiny: mirror_chips = 1: allowed with superblock = true is 0");
}
