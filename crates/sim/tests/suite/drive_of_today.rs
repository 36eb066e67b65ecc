//! `nvme-2026`, with fewer and smaller blocks: what an architect tries first.

use crate::support::{config, pages, some_of};
use flashraid_sim::{RunResult, Simulation};
use flashraid_vocabulary::{HostOp, HostRequest, SplitMix64};

/// 4 of 64 blocks are the threshold; a block has 8 program units.
const SMALL: [(&str, &str); 3] = [("blocks_per_plane", "64"), ("pages_per_block", "96"), ("gc_threshold", "0.0625")];

/// Requests at equal distances on random units, every second one a read. Returns the latencies of reads and of writes, sorted, and the result.
fn run(pairs: &[(&str, &str)], requests: u64, interval_ns: u64, reads: bool) -> ([Vec<u64>; 2], RunResult) {
    let mut simulation = Simulation::new(config("nvme-2026", "raid0", &[&SMALL, pairs].concat()), |_| true).unwrap();
    let (mut random, space, begin_ns) = (SplitMix64::new(3), simulation.space_bytes() / 4096, simulation.now_ns());
    let mut latencies = [Vec::new(), Vec::new()];
    for number in 0..requests {
        let op = if reads && number % 2 == 0 { HostOp::Read } else { HostOp::Write };
        let mut request = pages(op, random.next_below(space), 1);
        request.arrival_ns = begin_ns + number * interval_ns;
        simulation.submit(&request).unwrap();
    }
    simulation.finish().unwrap();
    for done in simulation.take_completed() {
        assert!(done.ok, "{done:?}");
        let is_read = reads && done.sequence % 2 == 0;
        latencies[usize::from(!is_read)].push(done.completed_ns - done.arrival_ns);
    }
    latencies.iter_mut().for_each(|all| all.sort_unstable());
    (latencies, simulation.result(&Default::default(), false, None).unwrap())
}

/// Random writes of 4 KiB on pages of 16 KiB cost what they write before there is GC, and are answered by the memory.
#[test]
fn random_writes_before_gc_cost_what_they_write() {
    let ([_, writes], result) = run(&[], 20_000, 100_000_000, false);
    assert!(result.write_amplification.unwrap() <= 1.05, "{:?}", result.write_amplification);
    assert!(writes[writes.len() / 2] < 30_000, "{} ns", writes[writes.len() / 2]);
}

/// 1 MB/s each way on a drive in steady state: a read waits for suspensions, and for what is read before it.
#[test]
fn reads_of_a_drive_in_steady_state_wait_for_no_victim() {
    let steady = [("fill", "1"), ("precondition", "steady")];
    let ([reads, _], result) = run(&steady, 20_000, 2_048_000, true);
    assert!(result.collection.collections > 10 && result.write_amplification.unwrap() > 2.0, "{:?}", result.write_amplification);
    assert!(reads[reads.len() * 999 / 1000] < 1_000_000, "{} ns", reads[reads.len() * 999 / 1000]);
}

/// 8.10 (a): paced GC of a drive in steady state is under way when the run begins, so that the first twentieth of a drive write costs what those after it do.
#[test]
fn a_steady_drive_is_collected_from_the_first_write_on() {
    for (precondition, tolerance) in [("direct", 0.02), ("steady", 0.05)] {
        let shape = [("channels", "2"), ("blocks_per_plane", "64"), ("pages_per_block", "768"), ("gc_threshold", "0.0625"), ("fill", "1")];
        let pairs = [("precondition", precondition), ("staging_bytes", "3145728"), ("over_provisioning", "0.25")];
        let mut simulation = Simulation::new(config("nvme-2026", "raid0", &[&shape[..], &pairs].concat()), |_| true).unwrap();
        let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 4096);
        let mut amplification = |writes: u64| {
            let programs = |simulation: &Simulation| {
                let units = simulation.result(&Default::default(), false, None).unwrap().flash_units.unwrap();
                [units.programs.host, units.programs.total]
            };
            let before = programs(&simulation);
            for _ in 0..writes {
                let write = pages(HostOp::Write, random.next_below(space), 1);
                simulation.submit(&HostRequest { arrival_ns: simulation.now_ns(), ..write }).unwrap();
            }
            simulation.finish().unwrap();
            let [host, total] = programs(&simulation);
            (total - before[1]) as f64 / (host - before[0]) as f64
        };
        let (first, later) = (amplification(space / 20), amplification(space / 5));
        assert!((first / later - 1.0).abs() < tolerance, "{precondition}: {first}, then {later}");
    }
}

/// 8.10: a drive that is constructed in steady state is in the one that overwrites lead to. Every page is there, and what GC does follows. Parities rotate, or differ by
/// SSD and by plane.
#[test]
fn a_drive_constructed_in_steady_state_is_in_steady_state() {
    let shape = [("blocks_per_plane", "128"), ("pages_per_block", "384"), ("gc_threshold", "0.03125"), ("fill", "1")];
    let planes = [("channels", "2"), ("chips_per_channel", "2"), ("allocation", "static"), ("over_provisioning", "0.2")];
    let uneven = [&planes[..], &[("devices", "3"), ("parity_shares", "60,30,10")]].concat();
    let cases: [(&str, &[(&str, &str)]); 5] = [
        ("raid0", &[("channels", "1")]),
        ("raid1", &[("channels", "2")]),
        ("raid5", &[("channels", "3")]),
        ("diff-raid", &uneven),
        ("raid6", &[("channels", "4")]),
    ];
    for (scheme, given) in some_of(cases, 4, 5) {
        let [direct, overwritten] = ["direct", "steady"].map(|precondition| {
            let given = [&shape[..], given, &[("precondition", precondition), ("verify", "true")]].concat();
            let mut simulation = Simulation::new(config("nvme-2026", scheme, &given), |_| true).unwrap();
            assert!(simulation.verify().unwrap().is_clean(), "{scheme}");
            let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 4096);
            for number in 0..100_000 {
                let request = pages(HostOp::Write, random.next_below(space), 1);
                simulation.submit(&HostRequest { arrival_ns: number * 1_000_000, ..request }).unwrap();
            }
            simulation.finish().unwrap();
            assert!(simulation.verify().unwrap().is_clean(), "{scheme}");
            simulation.result(&Default::default(), false, None).unwrap()
        });
        let [constructed, reached] = [&direct, &overwritten].map(|result| result.precondition.unwrap());
        assert_eq!((constructed.overwritten_bytes, constructed.steady, reached.steady), (0, true, true));
        let [measured, expected] = [&direct, &overwritten].map(|result| result.write_amplification.unwrap());
        assert!((measured / expected - 1.0).abs() < 0.01, "{scheme}: {measured} where overwriting gives {expected}");
    }
}

/// With 256 writes always outstanding on a drive in steady state, none waits for a victim to be collected: the longest waits for the moves that a few program
/// units make GC owe. With GC that moves whole victims it waits for those.
#[test]
fn writes_of_a_full_queue_wait_for_no_victim() {
    let longest_ns = |pace| {
        let given = [("fill", "1"), ("precondition", "steady"), ("gc_pace", pace), ("staging_bytes", "8388608")];
        // Blocks of 32 program units, so that victims have many.
        let shape = [("channels", "2"), ("blocks_per_plane", "128"), ("pages_per_block", "384"), ("gc_threshold", "0.03125")];
        let mut simulation = Simulation::new(config("nvme-2026", "raid0", &[&shape[..], &given].concat()), |_| true).unwrap();
        let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 4096);
        let (mut submitted, mut completed, mut longest_ns) = (0, 0, 0);
        while completed < 40_000 {
            while submitted < completed + 256 {
                let write = pages(HostOp::Write, random.next_below(space), 1);
                simulation.submit(&HostRequest { arrival_ns: simulation.now_ns(), ..write }).unwrap();
                submitted += 1;
            }
            simulation.advance_until(simulation.next_event_ns().unwrap()).unwrap();
            for done in simulation.take_completed() {
                completed += 1;
                longest_ns = longest_ns.max(done.completed_ns - done.arrival_ns);
            }
        }
        longest_ns
    };
    let (debt_ns, block_ns) = (longest_ns("debt"), longest_ns("block"));
    assert!(2 * debt_ns < block_ns, "{debt_ns} ns, {block_ns} ns");
    // Each of the program units that wait at a die makes it move WA - 1 times as much.
    assert!(debt_ns < 8 * 10 * 2_113_775, "{debt_ns} ns");
}

/// 8.8 (g): writes that come all at once are done as fast as if few were inside, as the preset takes so many at a time; without a limit they are not.
#[test]
fn an_overloaded_drive_writes_as_fast_as_it_can() {
    let duration_ns = |depth: Option<&str>| {
        let shape = [("channels", "4"), ("blocks_per_plane", "64"), ("pages_per_block", "1536"), ("gc_threshold", "0.0625")];
        let steady = [("fill", "1"), ("precondition", "direct")];
        let depth = depth.map(|depth| ("device_queue_depth", depth));
        let given: Vec<_> = shape.into_iter().chain(steady).chain(depth).collect();
        let mut simulation = Simulation::new(config("nvme-2026", "raid0", &given), |_| true).unwrap();
        let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 131_072);
        for _ in 0..8000 {
            simulation.submit(&pages(HostOp::Write, 32 * random.next_below(space), 32)).unwrap();
        }
        simulation.finish().unwrap();
        simulation.result(&Default::default(), false, None).unwrap().simulated_ns
    };
    let [preset_ns, few_ns, unlimited_ns] = [None, Some("32"), Some("0")].map(duration_ns);
    assert!(preset_ns.abs_diff(few_ns) < few_ns / 50, "{preset_ns} ns, {few_ns} ns with few inside");
    assert!(unlimited_ns > preset_ns * 3 / 2, "{unlimited_ns} ns without a limit, {preset_ns} ns with one");
}

/// 8.9: eight dies that program as fast as k of them, and each as often as any other; in any order of channels.
#[test]
fn a_drive_writes_as_fast_as_its_active_dies() {
    const PROGRAM_NS: u64 = 1_950_000 + (196_608_u64 * 833).div_ceil(1000);
    let programs = 240;
    for active in [1, 3, 8] {
        let given = [("active_dies", active.to_string())];
        let pairs: Vec<(&str, &str)> = given.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let mut simulation = Simulation::new(config("nvme-2026", "raid0", &[&SMALL[..], &pairs].concat()), |_| true).unwrap();
        let write = HostRequest { size_bytes: programs * 196_608, ..pages(HostOp::Write, 0, 1) };
        simulation.submit(&write).unwrap();
        simulation.finish().unwrap();
        let result = simulation.result(&Default::default(), false, None).unwrap();
        let of_dies: Vec<u64> = result.dies.iter().map(|die| die.programs.total / 12).collect();
        assert_eq!(of_dies, [programs / 8; 8]);
        // The link takes in all of the write before; then a command, and the latency of writes.
        let before_ns = (programs * 196_608 * 154).div_ceil(1000) + 1110 + 4000;
        assert_eq!(result.simulated_ns, before_ns + programs.div_ceil(active) * PROGRAM_NS, "{active} active");
    }
}

/// 8.9 (b): 15 of 16 dies are active nearly all the time, though the memory takes in what the host writes in order. If it were mostly one channel that is left out, all
/// others would wait for it.
#[test]
fn no_channel_is_left_out_more_often_than_others() {
    let rate = |active: &str| {
        let given = [("dies_per_chip", "2"), ("active_dies", active), ("blocks_per_plane", "16"), ("over_provisioning", "0.2")];
        let mut simulation = Simulation::new(config("nvme-2026", "raid0", &given), |_| true).unwrap();
        let writes = (0..6_000).map(|number| HostRequest { offset_bytes: number << 17, size_bytes: 1 << 17, ..pages(HostOp::Write, 0, 1) });
        writes.for_each(|write| _ = simulation.submit(&write).unwrap());
        simulation.finish().unwrap();
        (6_000_u64 << 17) as f64 / simulation.now_ns() as f64
    };
    let of_all = rate("0");
    for active in [15, 14, 9] {
        let share = rate(&active.to_string()) / of_all;
        assert!((share * 16.0 - f64::from(active)).abs() < 0.15, "{active} of 16: {share}");
    }
}
