//! Slices of a drive (SPEC 8.11): what serves the other slices as well to the nanosecond, and that a slice does its share of what the whole drive does.

use crate::support::{config, pages, some_of};
use flashraid_sim::config::Device;
use flashraid_sim::{Config, RunResult, SCHEMA, Simulation};
use flashraid_vocabulary::{HostOp, HostRequest, SplitMix64};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// When requests that all come at once are completed, and the result.
fn served(config: Config, requests: &[HostRequest]) -> (Vec<u64>, RunResult) {
    let mut simulation = Simulation::new(config, |_| true).unwrap();
    let begin_ns = simulation.now_ns();
    for request in requests {
        simulation.submit(&HostRequest { arrival_ns: begin_ns, ..*request }).unwrap();
    }
    simulation.finish().unwrap();
    let mut completed = simulation.take_completed();
    completed.sort_by_key(|completed| completed.sequence);
    let times = completed.iter().map(|completed| completed.completed_ns - begin_ns).collect();
    (times, simulation.result(&Default::default(), false, None).unwrap())
}

/// (d): the controller and the links serve each other slice after each request of this one, which waits for none of theirs itself.
#[test]
fn links_and_the_controller_serve_the_other_slices_as_well() {
    let stages = [("host_read_ps_per_byte", "20000"), ("command_ns", "1110"), ("unit_ns", "460"), ("read_latency_ns", "21500")];
    let (times, result) = served(config("tiny", "raid0", &[&stages[..], &[("slice", "2")]].concat()), &[pages(HostOp::Read, 0, 1); 3]);
    let (command_ns, data_ns) = (1_110 + 460, 81_920);
    let first_ns = command_ns + 21_500 + data_ns;
    assert_eq!(times, [first_ns, first_ns + 2 * data_ns, first_ns + 4 * data_ns]);
    let side = result.host_side.unwrap();
    // The other slice has the link until the end but for the time of the last transfer.
    assert_eq!((side.read_link.busy_ns, side.controller.busy_ns), (3 * 2 * data_ns - data_ns, 3 * 2 * command_ns));
}

/// (d): so does a bus that slices share.
#[test]
fn a_shared_bus_serves_the_other_slices_as_well() {
    let shape = [("channels", "1"), ("chips_per_channel", "2"), ("fill", "1"), ("slice", "2")];
    let (times, result) = served(config("tiny", "raid0", &shape), &[pages(HostOp::Read, 0, 1); 2]);
    let (command_ns, sense_ns, data_ns) = (175, 20_000, 102_400);
    let lone_ns = command_ns + sense_ns + data_ns;
    assert_eq!(times, [lone_ns, lone_ns + data_ns + lone_ns]);
    assert_eq!(result.channels[0].busy_ns.total, 2 * 2 * (command_ns + data_ns));
}

/// (e): of 5 dies of which a slice has 2.5, and of 1 of which it has a half, to the nanosecond.
#[test]
fn power_for_a_part_of_a_die_rests() {
    const PROGRAM_NS: u64 = 1_950_000 + (196_608_u64 * 833).div_ceil(1000);
    for (active_dies, programs, of_programs) in [("5", 20, 8), ("1", 24, 47), ("7", 14, 4)] {
        let shape = [("blocks_per_plane", "64"), ("pages_per_block", "96"), ("gc_threshold", "0.0625"), ("chips_per_channel", "2")];
        let given = [("slice", "2"), ("active_dies", active_dies)];
        let write = HostRequest { size_bytes: programs * 196_608, ..pages(HostOp::Write, 0, 1) };
        let (_, result) = served(config("nvme-2026", "raid0", &[&shape[..], &given].concat()), &[write]);
        // The link takes in the whole write at once; then a command, and the latency of writes.
        let before_ns = (programs * 196_608 * 154).div_ceil(1000) + 1110 + 4000;
        assert_eq!(result.simulated_ns, before_ns + of_programs * PROGRAM_NS, "{active_dies}");
    }
}

/// (e): programs that reads suspend keep their power meanwhile, which rests the longer.
#[test]
fn suspended_programs_make_power_rest_longer() {
    let given = [("slice", "4"), ("active_dies", "1"), ("suspend", "both"), ("suspend_min_ns", "0"), ("suspend_ns", "100000000")];
    let requests: Vec<_> = (0..40).map(|page| pages(if page % 2 == 0 { HostOp::Write } else { HostOp::Read }, page, 1)).collect();
    let (_, result) = served(config("tiny", "raid0", &[&given[..], &[("fill", "1")]].concat()), &requests);
    assert!(result.suspensions.unwrap().programs > 0);
    // Of 20 programs all but the last are followed by a rest of three times their time.
    assert!(result.simulated_ns > 4 * 100_000_000 * result.suspensions.unwrap().programs / 2);
}

/// Requests a second, with so many always outstanding on a drive in steady state, and the write amplification.
fn pace(pairs: Pairs, outstanding: u64, reads: u64) -> (f64, f64) {
    let shape = [
        ("chips_per_channel", "2"),
        ("blocks_per_plane", "64"),
        ("pages_per_block", "192"),
        ("gc_threshold", "0.0625"),
        ("fill", "1"),
        ("precondition", "direct"),
    ];
    let mut simulation = Simulation::new(config("nvme-2026", "raid0", &[&shape[..], pairs].concat()), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 4096);
    let (mut submitted, mut completed, begin_ns) = (0, 0, simulation.now_ns());
    while completed < space / 4 {
        while submitted < completed + outstanding {
            let op = if random.next_below(100) < reads { HostOp::Read } else { HostOp::Write };
            simulation.submit(&HostRequest { arrival_ns: simulation.now_ns(), ..pages(op, random.next_below(space), 1) }).unwrap();
            submitted += 1;
        }
        simulation.advance_until(simulation.next_event_ns().unwrap()).unwrap();
        completed += simulation.take_completed().len() as u64;
    }
    let per_second = completed as f64 * 1e9 / (simulation.now_ns() - begin_ns) as f64;
    (per_second, simulation.result(&Default::default(), false, None).unwrap().write_amplification.unwrap_or(1.0))
}

/// A slice of k does one k-th of what the whole drive does, bound by dies, by power, by its links, and by a mixture.
#[test]
fn slices_do_their_share() {
    // In a closed loop the requests of the whole drive are not at all times equally many in each slice (SPEC 8.11, "Few requests"). With chips divided, the FTL of a
    // slice of 16 has one die instead of two, between which it cannot choose: its GC moves 5 % more, however long that goes on.
    let cases = [
        ("dies", &[][..], 0, 0.05),
        ("power", &[("active_dies", "6")], 0, 0.06),
        ("links", &[("host_write_ps_per_byte", "30000")], 0, 0.02),
        ("controller", &[("unit_ns", "10000")], 0, 0.03),
        ("reads", &[("command_ns", "5000")], 100, 0.001),
        ("both", &[], 70, 0.12),
    ];
    for (what, given, reads, most) in some_of(cases, 1, 3) {
        let whole = pace(given, 256, reads);
        for (slice, within) in [(2, 0.02), (16, most)] {
            let text = slice.to_string();
            let (per_second, amplification) = pace(&[given, &[("slice", &text)]].concat(), 256 / slice, reads);
            let found = [per_second * slice as f64 / whole.0, amplification / whole.1];
            assert!(found.iter().all(|ratio| (ratio - 1.0).abs() < within), "{what}, {slice}: {found:?}");
        }
    }
}

/// (a), (b), (c): what cannot be divided, and stripes that a slice has only a part of.
#[test]
fn what_is_no_part_is_refused() {
    let told = |device: &str, scheme: &str, pairs: Pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Config::assemble(Some(device), Some(scheme), None, &pairs).unwrap_err().to_string()
    };
    let uneven = told("nvme-2026", "raid0", &[("slice", "3")]);
    assert_eq!(uneven, "slice = 3: 8 channels of 1 chips of 1 dies cannot be divided evenly: allowed is 1, 2, 4, 8");
    let stripes = told("nvme-2026", "raid5", &[("slice", "2")]);
    assert_eq!(
        stripes,
        "slice = 2: raid5 has stripes over all 8 members, of which a slice has 4: allowed is a slice with all of them, or 1"
    );
    let spares = told("nvme-2026", "raid0", &[("slice", "2"), ("spare_chips", "1")]);
    assert_eq!(spares, "slice = 2: allowed with mirror_chips = 0 and spare_chips = 0");
    let hybrid = told("tiny", "raid0", &[("slice", "2"), ("mapping", "bast")]);
    assert_eq!(hybrid, "slice = 2: allowed with mapping = page or dftl");
    let chips = told("tiny", "raid0", &[("channels", "1"), ("dies_per_chip", "2"), ("lun", "chip"), ("slice", "2")]);
    assert_eq!(chips, "slice = 2: divides chips, which work as one: allowed with lun = die");
    for (scope, shape) in [("chip", ("dies_per_chip", "4")), ("channel", ("chips_per_channel", "4"))] {
        let blocked = told("tiny", "raid0", &[("channels", "1"), shape, ("gc_blocking_scope", scope), ("slice", "2")]);
        let expected = format!("gc_blocking_scope = {scope}: slices of 2 divide it, and GC blocks all of it: allowed is none or lun");
        assert_eq!(blocked, expected);
    }
    let buffer = told("tiny", "raid0", &[("slice", "4"), ("buffer_bytes", "3")]);
    assert_eq!(buffer, "buffer_bytes = 3: a slice has none of it: allowed with slice = 4 is 0, or 4 or more");
    let staging = told("nvme-2026", "raid0", &[("slice", "8"), ("staging_bytes", "4MiB")]);
    assert!(staging.starts_with("one of 8 slices: staging_bytes = 524288: allowed is 0, or at least"), "{staging}");
    let array = told("array-5x", "raid5", &[("slice", "2")]);
    assert_eq!(array, "slice = 2: allowed with devices = 1");
}

/// (a): channels are divided first, then chips, then dies; the result has the whole drive, and is run again from it.
#[test]
fn a_slice_is_a_part_of_each_level() {
    let shape = [("channels", "6"), ("chips_per_channel", "4"), ("dies_per_chip", "2"), ("staging_bytes", "96MiB"), ("active_dies", "9")];
    for (slice, part) in [("2", (3, 4, 2)), ("4", (3, 2, 2)), ("12", (1, 2, 2)), ("48", (1, 1, 1))] {
        let config = config("nvme-2026", "raid0", &[&shape[..], &[("slice", slice), ("buffer_bytes", "96MiB")]].concat());
        let Device { channels, chips_per_channel, dies_per_chip, staging_bytes, buffer_bytes, active_dies, .. } = config.device;
        assert_eq!((channels, chips_per_channel, dies_per_chip), (part.0, part.1, part.2));
        let parts: u64 = slice.parse().unwrap();
        assert_eq!((staging_bytes, buffer_bytes, active_dies), ((96 << 20) / parts, (96 << 20) / parts, 9));
        let json = serde_json::to_value(&config).unwrap();
        assert_eq!((&json["device"]["channels"], &json["device"]["staging_bytes"]), (&6.into(), &(96u64 << 20).into()));
        let result = serde_json::json!({ "schema": SCHEMA, "config": json });
        assert_eq!(Config::of_result("result.json", &result.to_string()).unwrap(), config);
    }
    assert_eq!(config("nvme-2026", "raid0", &[("mapping", "dftl"), ("slice", "4")]).device.cmt_entries, 65_536 / 4);
}
