//! Mapping units smaller than a flash page (SPEC 8.1): packing, padding, reads, GC, and that nothing is lost.

use crate::support::{clean_result, config, least_over_provisioning, pages, proving, request};
use flashraid_ftl::policies;
use flashraid_sim::{Config, RunResult, Simulation};
use flashraid_vocabulary::{HostOp, HostRequest, SplitMix64};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// 4-KiB units in 16-KiB pages. The bus takes 25 ns a byte.
const UNITS: Pairs = &[("page_bytes", "16384"), ("mapping_unit_bytes", "4096"), ("verify", "true"), ("buffer_ns", "1000")];
const PROTECTED: (&str, &str) = ("power_loss_protection", "true");
const NEVER_PADDED: (&str, &str) = ("pad_after_ns", "0");
/// One program of a flash page, and reads of one unit and of two in one page, on idle flash.
const PAGE_PROGRAM: u64 = 175 + 4 * 102_400 + 200_000;
const READ_OF_ONE: u64 = 175 + 20_000 + 102_400;
const READ_OF_TWO: u64 = READ_OF_ONE + 102_400;

fn simulation(scheme: &str, pairs: Pairs) -> Simulation {
    Simulation::new(config("tiny", scheme, &[UNITS, pairs].concat()), |_| true).unwrap()
}

/// Submits requests at their times and ends. Returns the latencies by request, and the result, and checks what is stored.
fn run(scheme: &str, pairs: Pairs, requests: &[(u64, HostRequest)]) -> (Vec<u64>, RunResult) {
    let mut simulation = simulation(scheme, pairs);
    let mut latencies = vec![0; requests.len()];
    for (at_ns, request) in requests {
        simulation.submit(&HostRequest { arrival_ns: *at_ns, ..*request }).unwrap();
    }
    simulation.finish().unwrap();
    for completed in simulation.take_completed() {
        assert!(completed.ok, "{completed:?}");
        latencies[completed.sequence as usize] = completed.completed_ns - completed.arrival_ns;
    }
    (latencies, clean_result(&mut simulation, &format!("{scheme} {pairs:?}")))
}

fn writes(units: impl IntoIterator<Item = u64>) -> Vec<(u64, HostRequest)> {
    units.into_iter().map(|unit| (0, pages(HostOp::Write, unit, 1))).collect()
}

// ---- the examples of the specification ----

#[test]
fn eight_scattered_units_are_two_page_programs() {
    let scattered: Vec<_> = (0..8).map(|number| number * 37 % 101).collect();
    let one: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), PROTECTED];
    let (latencies, result) = run("raid0", one, &writes(scattered.iter().copied()));
    assert_eq!((result.flash_ops.programs.total, result.flash_units.unwrap().programs.total), (2, 8));
    assert_eq!((result.write_amplification, result.padded_units), (Some(1.0), Some(0)));
    // A write has ended when it is accepted.
    assert_eq!(latencies, [0; 8]);
    let map_of_pages = [one, &[("mapping_unit_bytes", "0"), ("power_loss_protection", "false")]].concat();
    let (_, result) = run("raid0", &map_of_pages, &writes(scattered.iter().map(|unit| 4 * unit)));
    assert_eq!((result.flash_ops.programs.total, result.flash_units.is_none(), result.padded_units), (8, true, None));
    assert_eq!(result.write_amplification, Some(4.0));
}

#[test]
fn a_flush_pads_what_a_loss_of_power_would_take() {
    let each = |apart_ns: u64| {
        let one = |number: u64| [pages(HostOp::Write, number, 1), pages(HostOp::Flush, 0, 0)].map(|request| (number * apart_ns, request));
        (0..8).flat_map(one).collect::<Vec<_>>()
    };
    let (latencies, result) = run("raid0", &[NEVER_PADDED], &each(1_000_000));
    assert_eq!((result.write_amplification, result.padded_units), (Some(4.0), Some(24)));
    assert_eq!(latencies, [0, PAGE_PROGRAM].repeat(8));
    let parts = result.write_amplification_by;
    assert_eq!((parts.host, parts.padding), (Some(1.0), Some(Some(3.0))));
    // What survives needs no program.
    let (latencies, result) = run("raid0", &[PROTECTED], &each(1_000_000));
    assert_eq!((latencies, result.padded_units), (vec![0; 16], Some(0)));
    // A flush waits for what was there when it came, and for no more.
    let mut requests = writes([0]);
    requests.extend([(0, pages(HostOp::Flush, 0, 0)), (300_000, pages(HostOp::Write, 1, 1)), (400_000, pages(HostOp::Flush, 0, 0))]);
    let (latencies, _) = run("raid0", &[NEVER_PADDED, ("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1")], &requests);
    assert_eq!(latencies, [0, PAGE_PROGRAM, 0, 2 * PAGE_PROGRAM - 400_000]);
}

#[test]
fn a_page_that_is_written_whole_is_a_full_stripe() {
    let write = [(0, request(HostOp::Write, 0, 16_384))];
    let (_, result) = run("raid5", &[("channels", "5"), PROTECTED, ("fill", "0.5")], &write);
    let units = result.flash_units.unwrap();
    assert_eq!((units.programs.host, units.programs.parity, units.reads.total), (4, 1, 0));
    assert_eq!(result.parity_updates.full_stripe, 1);
}

/// 8.2: the example of its bandwidth, and pages counted one by one.
#[test]
fn pages_that_are_programmed_together_take_one_operation() {
    let die: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), NEVER_PADDED];
    let cells: Pairs = &[("pages_per_block", "1152"), ("program_pages", "12"), ("program_ns", "1950000"), ("program_command_ns", "0")];
    let given = [die, cells, &[("bus_ps_per_byte", "833"), ("staging_bytes", "67108864")]].concat();
    let (programs, bytes) = (40, 12 * 16_384);
    let write = (0, request(HostOp::Write, 0, programs * bytes));
    let (latencies, result) = run("raid0", &given, &[write, (0, pages(HostOp::Flush, 0, 0))]);
    let each_ns = (bytes * 833).div_ceil(1000) + 1_950_000;
    assert_eq!(latencies[1], programs * each_ns);
    assert!((bytes as f64 * 1e3 / each_ns as f64 - 93.0).abs() < 0.05, "{each_ns} ns for {bytes} bytes");
    assert_eq!((result.flash_ops.programs.total, result.flash_units.unwrap().programs.total), (12 * programs, 48 * programs));
    assert_eq!((result.padded_units, result.write_amplification), (Some(0), Some(1.0)));
    // One unit more, and a flush: all that is programmed together is padded.
    let more = [write, (0, request(HostOp::Write, programs * bytes, 4096)), (0, pages(HostOp::Flush, 0, 0))];
    let (latencies, result) = run("raid0", &given, &more);
    assert_eq!((latencies[2], result.padded_units), ((programs + 1) * each_ns, Some(47)));
    assert_eq!(result.flash_ops.programs.total, 12 * (programs + 1));
}

/// Also if a page is the mapping unit: reads are of the memory until the program has ended, then of a page each.
#[test]
fn pages_wait_for_those_that_are_programmed_with_them() {
    let one: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), PROTECTED];
    let whole: Pairs = &[("page_bytes", "4096"), ("mapping_unit_bytes", "0"), ("program_pages", "4")];
    let mut requests = writes(0..3);
    requests.extend([(1_000_000, pages(HostOp::Read, 1, 1)), (2_000_000, pages(HostOp::Write, 3, 1))]);
    requests.extend([(2_000_000 + PAGE_PROGRAM - 1, pages(HostOp::Read, 0, 1)), (3_000_000, pages(HostOp::Read, 0, 2))]);
    let (latencies, result) = run("raid0", &[one, whole].concat(), &requests);
    assert_eq!(latencies, [0, 0, 0, 1000, 0, 1000, 2 * READ_OF_ONE]);
    assert_eq!((result.flash_ops.programs.total, result.flash_ops.reads.total), (4, 2));
    assert_eq!(result.flash_units.unwrap().programs.total, 4);
}

/// 8.2 (c): twelve pages that were programmed together are read in groups. What waits behind a read, of page 6, begins together.
#[test]
fn pages_of_a_group_are_sensed_together() {
    let die: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), PROTECTED];
    let cells: Pairs = &[("pages_per_block", "24"), ("program_pages", "12"), ("staging_bytes", "67108864"), ("read_command_ns", "1000")];
    let write = (0, request(HostOp::Write, 0, 12 * 16_384));
    let begin_ns = 1_000_000_000;
    let reads = |of: &[(u64, u64)]| {
        let mut all = vec![write, (begin_ns, pages(HostOp::Read, 24, 1))];
        all.extend(of.iter().map(|(first, units)| (begin_ns + 1, pages(HostOp::Read, *first, *units))));
        all
    };
    let time = |arrays: u64, read_pages: u64, units: u64| arrays * 20_000 + read_pages * 1000 + units * 102_400;
    for (together, arrays) in [("1", 12), ("2", 6), ("4", 3), ("12", 1)] {
        let given = [die, cells, &[("read_pages", together)]].concat();
        let (latencies, result) = run("raid0", &given, &reads(&[(0, 48)]));
        assert_eq!(latencies[2], time(1 + arrays, 13, 49) - 1, "{together} pages together");
        assert_eq!(result.flash_ops.reads.total, 13);
    }
    let four = [die, cells, &[("read_pages", "4")]].concat();
    // Two units of one page, one of another, and the first page once more: two pages sensed.
    let (latencies, result) = run("raid0", &four, &reads(&[(0, 2), (12, 1), (3, 1)]));
    assert_eq!((latencies[4], result.flash_ops.reads.total), (time(2, 3, 5) - 1, 3));
    // Pages 3 and 4 follow each other, and are of two groups; and pages 0 and 11.
    for (one, other) in [(15, 16), (0, 47)] {
        let (latencies, result) = run("raid0", &four, &reads(&[(one, 1), (other, 1)]));
        assert_eq!((latencies[3], result.flash_ops.reads.total), (time(3, 3, 3) - 1, 3));
    }
    // The type of a page is that of its group.
    let types = [&four[..], &[("upper_read_ns", "50000,90000")]].concat();
    for (first, array_ns) in [(0, 20_000), (4, 20_000), (16, 50_000), (31, 50_000), (32, 90_000)] {
        let (latencies, _) = run("raid0", &types, &[write, (begin_ns, pages(HostOp::Read, first, 1))]);
        assert_eq!(latencies[1], 1000 + array_ns + 102_400, "unit {first}");
    }
}

/// Reads that wait together are one read of the array, and each has its transfer: also those of one page that is the mapping unit.
#[test]
fn what_several_reads_want_crosses_the_bus_for_each() {
    let die: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), PROTECTED];
    for units in [
        [("page_bytes", "4096"), ("mapping_unit_bytes", "0"), ("program_pages", "4")],
        [("page_bytes", "16384"), ("mapping_unit_bytes", "4096"), ("program_pages", "1")],
    ] {
        let mut requests = writes(0..4);
        requests.extend([0, 1, 1, 1, 1].map(|unit| (1_000_000 + u64::from(unit > 0), pages(HostOp::Read, unit, 1))));
        let (latencies, result) = run("raid0", &[die, &units].concat(), &requests);
        assert_eq!(latencies[8], 2 * (175 + 20_000) + 5 * 102_400 - 1);
        assert_eq!(result.flash_ops.reads.total, 2);
    }
}

// ---- times ----

#[test]
fn units_are_read_from_the_memory_until_their_page_is_programmed() {
    let one: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), PROTECTED];
    let mut requests = writes(0..4);
    requests.extend([
        (0, pages(HostOp::Read, 1, 1)),
        (PAGE_PROGRAM - 1, pages(HostOp::Read, 2, 1)),
        // Units of one page that wait together are one read of the array.
        (1_000_000, pages(HostOp::Read, 0, 1)),
        (2_000_000, pages(HostOp::Read, 1, 2)),
        (3_000_000, pages(HostOp::Read, 0, 1)),
        (3_000_000, pages(HostOp::Read, 1, 1)),
    ]);
    let (latencies, result) = run("raid0", one, &requests);
    assert_eq!(latencies[4..], [1000, 1000, READ_OF_ONE, READ_OF_TWO, READ_OF_ONE, 2 * READ_OF_ONE]);
    assert_eq!((result.flash_ops.reads.total, result.flash_units.unwrap().reads.total), (4, 7));
    // With whole pages, as long as four units take.
    let (latencies, _) = run("raid0", &[one, &[("transfer", "page")]].concat(), &requests);
    assert_eq!(latencies[6..8], [175 + 20_000 + 4 * 102_400; 2]);
}

#[test]
fn a_page_is_padded_when_its_time_has_come() {
    let one: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1")];
    let late = (5_000_000 - 1, pages(HostOp::Write, 1, 1));
    let read = (5_000_000 + PAGE_PROGRAM, pages(HostOp::Read, 1, 1));
    let (latencies, result) = run("raid0", one, &[writes([0]), vec![late, read]].concat());
    assert_eq!((result.flash_ops.programs.total, result.padded_units, latencies[2]), (1, Some(2), READ_OF_ONE));
    let later = (5_000_000 + 1, pages(HostOp::Write, 1, 1));
    let (_, result) = run("raid0", one, &[writes([0]), vec![later]].concat());
    assert_eq!((result.flash_ops.programs.total, result.padded_units), (2, Some(6)));
    let (_, result) = run("raid0", &[one, &[NEVER_PADDED]].concat(), &[writes([0]), vec![later]].concat());
    assert_eq!((result.flash_ops.programs.total, result.padded_units), (0, Some(0)));
}

/// A page holds its first unit, and those of up to three more that come before its time is over.
#[test]
fn padding_is_what_arrivals_at_random_times_make_of_it() {
    let one: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), ("read_ns", "1")];
    let quick: Pairs = &[("program_ns", "1"), ("erase_ns", "1"), ("bus_ps_per_byte", "0"), ("program_command_ns", "0"), ("fill", "0.3")];
    for (rate, expected) in [(0.5, 1.498), (1.0, 1.977), (2.0, 2.782), (4.0, 3.652)] {
        let mut simulation = simulation("raid0", &[one, quick, &[("verify", "false"), ("gc_blocking_scope", "none")]].concat());
        let (mut random, mut at_ns, space) = (SplitMix64::new(3), 0.0, simulation.space_bytes() / 4096);
        let count = proving(400_000, 60_000);
        for _ in 0..count {
            at_ns += -random.next_positive_unit().ln() * 5e6 / rate;
            let write = pages(HostOp::Write, random.next_below(space / 4), 1);
            simulation.submit(&HostRequest { arrival_ns: at_ns as u64, ..write }).unwrap();
        }
        simulation.finish().unwrap();
        let result = simulation.result(&Default::default(), false, None).unwrap();
        let in_page = f64::from(count) / result.flash_ops.programs.host as f64;
        assert!((in_page / expected - 1.0).abs() < 0.01, "{rate}: {in_page} units a page, expected are {expected}");
    }
}

// ---- word lines ----

/// Of two program units of 48 mapping units, which fill a block, and of pages of three types, which are lines of three.
#[test]
fn a_word_line_takes_all_pages_that_share_it() {
    let die: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), PROTECTED];
    let together: Pairs = &[("pages_per_block", "24"), ("program_pages", "12"), ("staging_bytes", "67108864")];
    let types: Pairs = &[("pages_per_block", "8"), ("upper_read_ns", "30us,40us")];
    for (cells, fail, lost) in [
        (together, "wordline:0.0.0.0.0.1", 48..96),
        (together, "wordline_pair:0.0.0.0.0.0", 0..96),
        (together, "page:0.0.0.0.0.12", 48..52),
        (types, "wordline:0.0.0.0.0.1", 12..24),
        // Eight pages are two lines of three, and one of two.
        (types, "wordline:0.0.0.0.0.2", 24..32),
        (types, "wordline_pair:0.0.0.0.0.0", 0..24),
    ] {
        let mut simulation = simulation("raid0", &[die, cells].concat());
        simulation.submit(&pages(HostOp::Write, 0, 96)).unwrap();
        simulation.finish().unwrap();
        simulation.take_completed();
        simulation.fail(fail).unwrap();
        (0..96).for_each(|unit| _ = simulation.submit(&HostRequest { arrival_ns: 1_000_000_000, ..pages(HostOp::Read, unit, 1) }).unwrap());
        simulation.finish().unwrap();
        let failed: Vec<_> = simulation.take_completed().iter().filter(|read| !read.ok).map(|read| read.sequence - 1).collect();
        assert_eq!(failed, lost.collect::<Vec<_>>(), "{fail}");
    }
    let mut simulation = simulation("raid0", &[die, together].concat());
    for fail in ["wordline:0.0.0.0.0.2", "wordline_pair:0.0.0.0.0.1"] {
        let refused = simulation.fail(fail).unwrap_err().to_string();
        assert!(refused.contains("word line 2: each block has word lines 0 to 1"), "{refused}");
    }
}

// ---- GC ----

/// Each goes on where space is scarcest, and moves units: what of a page is garbage is left behind.
#[test]
fn gc_packs_and_goes_on_where_space_is_scarcest() {
    let small: Pairs = &[("blocks_per_plane", "10"), ("pages_per_block", "8"), ("chips_per_channel", "2")];
    let values = policies().map(|policy| if policy.most.is_some() { format!("{}:3", policy.name()) } else { policy.form.into() });
    let cases: Vec<_> = values.collect();
    for (scheme, allocation) in [("raid0", "dynamic"), ("raid5", "static"), ("fra", "dynamic_member")] {
        for protection in ["false", "true"] {
            let given: Pairs = &[("allocation", allocation), ("power_loss_protection", protection)];
            let roomy = config("tiny", scheme, &[UNITS, small, given, &[("over_provisioning", "0.6")]].concat());
            let least = least_over_provisioning(&roomy.device, roomy.placement(&*roomy.build_scheme().unwrap())).to_string();
            for policy in &cases {
                let scarce: Pairs = &[("over_provisioning", &least), ("gc_policy", policy), ("fill", "1")];
                let mut simulation = simulation(scheme, &[small, given, scarce].concat());
                let (mut random, space) = (SplitMix64::new(7), simulation.space_bytes() / 4096);
                for number in 0..3000 {
                    let op = if number % 50 == 49 { HostOp::Flush } else { HostOp::Write };
                    simulation.submit(&if op == HostOp::Flush { pages(op, 0, 0) } else { pages(op, random.next_below(space), 1) }).unwrap();
                }
                simulation.finish().unwrap();
                let found = simulation.verify().unwrap();
                assert!(found.mismatches == 0 && (found.is_clean() || scheme == "fra"), "{scheme} {policy}: {found:?}");
                let result = simulation.result(&Default::default(), false, None);
                let result = result.unwrap_or_else(|error| panic!("{scheme} {allocation} {protection} {policy}: {error}"));
                assert_eq!(result.requests.completed, 3000, "{scheme} {protection} {policy}");
                let (units, ops) = (result.flash_units.unwrap(), result.flash_ops);
                // What becomes garbage while it is read is not moved.
                assert!(units.programs.gc > 0 && units.reads.gc >= units.programs.gc, "{scheme} {policy}: {units:?}");
                assert!(units.reads.gc < units.programs.gc * 11 / 10, "{scheme} {policy}: {units:?}");
                // Pages that GC programs are full but for padding.
                assert!(4 * ops.programs.gc <= units.programs.gc + result.padded_units.unwrap() + 3 * 16 * 4, "{units:?} {ops:?}");
                assert!(ops.reads.gc <= units.reads.gc && 4 * ops.reads.gc >= units.reads.gc, "{units:?} {ops:?}");
            }
        }
    }
}

/// The cost of GC has what is programmed together once.
#[test]
fn gc_costs_what_it_programs_together() {
    let small: Pairs = &[("blocks_per_plane", "10"), ("pages_per_block", "8"), ("over_provisioning", "0.6"), ("erase_ns", "1500000")];
    let together: Pairs = &[("page_bytes", "4096"), ("mapping_unit_bytes", "0"), ("program_pages", "4"), ("fill", "1"), PROTECTED];
    let mut simulation = simulation("raid0", &[small, together].concat());
    let (mut random, space) = (SplitMix64::new(7), simulation.space_bytes() / 4096);
    (0..3000).for_each(|_| _ = simulation.submit(&pages(HostOp::Write, random.next_below(space), 1)).unwrap());
    simulation.finish().unwrap();
    let result = simulation.result(&Default::default(), false, None).unwrap();
    let ops = result.flash_ops;
    assert!(ops.programs.gc > 100, "{ops:?}");
    assert_eq!(result.collection.cost_ns, ops.reads.gc * 20_000 + ops.programs.gc / 4 * 200_000 + ops.erases.gc * 1_500_000);
}

/// The memory has a program unit of each plane and two of each die for programs, by default; and GC may have to pad all of one but a unit.
#[test]
fn memory_and_padding_are_counted_in_program_units() {
    let die: Pairs = &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1")];
    let settings = |share| [UNITS, die, &[("program_pages", "4"), ("over_provisioning", share)]].concat();
    assert_eq!(config("tiny", "raid0", &settings("0.2")).device.staging_units(), 3 * 16);
    // 64 blocks of 64 pages of four units, of which four blocks are kept free.
    let pairs: Vec<_> = settings("0.1").into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let refusal = Config::assemble(Some("tiny"), Some("raid0"), None, &pairs).unwrap_err().to_string();
    assert!(refusal.contains(&format!("progress with 1 to {} ", (64 - 4) * (64 * 4 - 15))), "{refusal}");
}

/// What the memory accepts anew, as the place or the program of its flash page has failed, counts as repeated.
#[test]
fn what_is_accepted_anew_counts_as_repeated() {
    for scheme in ["raid0", "raid5", "cr5m", "ppc"] {
        let mut repeated = 0;
        for fail in ["chip:0.1@50%", "program:1@request:300,program:0@request:400,erase:1@request:500"] {
            let given: Pairs =
                &[("blocks_per_plane", "12"), ("pages_per_block", "8"), ("over_provisioning", "0.6"), ("chips_per_channel", "2")];
            let mut simulation = simulation(scheme, &[given, &[("spare_chips", "1"), ("fill", "0.8")]].concat());
            let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 4096 * 4 / 5);
            for number in 0..2000 {
                simulation
                    .submit(&HostRequest { arrival_ns: number * 20_000, ..pages(HostOp::Write, random.next_below(space), 1) })
                    .unwrap();
                if number == 1000 {
                    simulation.fail(fail.split('@').next().unwrap()).unwrap();
                }
            }
            simulation.finish().unwrap();
            let result = simulation.result(&Default::default(), false, None).unwrap_or_else(|error| panic!("{scheme} {fail}: {error}"));
            repeated += result.flash_units.unwrap().programs.retry;
        }
        assert!(repeated > 0, "{scheme}");
    }
}

/// A copy that the memory holds for the last mirror chip of its channel is lost with the chip at once, and so known to the rebuild; with a spare chip it
/// goes there.
#[test]
fn what_the_memory_holds_for_a_dead_chip_is_rebuilt() {
    for (spare_chips, lost, repeated) in [("0", 1, 0), ("1", 0, 1)] {
        let mut simulation = simulation("cr5m", &[("channels", "3"), ("chips_per_channel", "2"), ("spare_chips", spare_chips), PROTECTED]);
        simulation.submit(&pages(HostOp::Write, 0, 1)).unwrap();
        simulation.finish().unwrap();
        simulation.fail("chip:0.1").unwrap();
        simulation.finish().unwrap();
        let result = simulation.result(&Default::default(), false, None).unwrap();
        let [rebuild] = result.rebuild.as_slice() else { panic!("one rebuild") };
        assert_eq!((result.parity_updates.mirrored, rebuild.pages_lost, rebuild.pages_xored), (1, lost, lost));
        assert!(rebuild.finished_ns.is_some() && result.flash_units.unwrap().programs.retry == repeated);
    }
}
