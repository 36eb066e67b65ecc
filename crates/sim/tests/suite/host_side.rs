//! The host side of a drive (SPEC 8.8), to the nanosecond: link, controller, latencies and submission queues. The drive is `tiny`: a read takes 122,575 ns
//! in it, a program 302,575. Where a test wants no flash, it reads pages that were never written, and writes to a buffer in NVRAM.

use crate::support::{config, own_trace, pages, request, tags};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::media::{Flash, SsdArray};
use flashraid_sim::{Config, Outputs, RunResult, Simulation, Status, assemble, run, verify};
use flashraid_vocabulary::{HostOp, HostRequest, SplitMix64};
use serde_json::Value;

type Pairs<'a> = &'a [(&'a str, &'a str)];

const READ: u64 = 122_575;
const PROGRAM: u64 = 302_575;
/// Of a page on a link of 10 ns for a byte.
const DATA: u64 = 40_960;
/// Of the buffer.
const BUFFER: u64 = 1_000;

/// All stages: 10 ns for a byte to the drive, 20 from it.
const STAGES: Pairs = &[
    ("host_write_ps_per_byte", "10000"),
    ("host_read_ps_per_byte", "20000"),
    ("command_ns", "1110"),
    ("unit_ns", "460"),
    ("read_latency_ns", "21500"),
    ("write_latency_ns", "4000"),
];
const NVRAM: (&str, &str) = ("nvram_buffer_bytes", "4194304");

fn read(first: u64, count: u64) -> HostRequest {
    pages(HostOp::Read, first, count)
}

fn write(first: u64, count: u64) -> HostRequest {
    pages(HostOp::Write, first, count)
}

fn flush() -> HostRequest {
    pages(HostOp::Flush, 0, 0)
}

/// A drive with half of its pages written, and these settings.
fn simulation(pairs: Pairs) -> Simulation {
    Simulation::new(config("tiny", "raid0", &[&[("fill", "0.5")], pairs].concat()), |_| true).unwrap()
}

/// When each of these requests is completed, and the result at the end.
fn served(simulation: &mut Simulation, requests: &[(u64, HostRequest)]) -> (Vec<u64>, RunResult) {
    for (arrival_ns, request) in requests {
        simulation.submit(&HostRequest { arrival_ns: *arrival_ns, ..*request }).unwrap();
    }
    simulation.finish().unwrap();
    let mut completed = simulation.take_completed();
    completed.sort_by_key(|completed| completed.sequence);
    assert!(completed.iter().all(|completed| completed.ok));
    (completed.iter().map(|completed| completed.completed_ns).collect(), simulation.result(&Default::default(), false, None).unwrap())
}

fn times(pairs: Pairs, requests: &[(u64, HostRequest)]) -> Vec<u64> {
    served(&mut simulation(pairs), requests).0
}

/// Time in use of the link to the drive, of the link from it, and of the controller.
fn busy(result: &RunResult) -> [u64; 3] {
    let side = result.host_side.expect("there is a host side");
    [side.write_link, side.read_link, side.controller].map(|part| part.busy_ns)
}

// ---- one request ----

/// The examples of SPEC 8.8.
#[test]
fn a_lone_request_passes_each_stage() {
    let (ends, result) = served(&mut simulation(STAGES), &[(0, write(0, 1))]);
    assert_eq!(ends, [DATA + 1_110 + 460 + 4_000 + PROGRAM]);
    assert_eq!(busy(&result), [DATA, 0, 1_570]);
    let (ends, result) = served(&mut simulation(STAGES), &[(0, read(0, 1))]);
    assert_eq!(ends, [1_110 + 460 + READ + 21_500 + 2 * DATA]);
    assert_eq!(busy(&result), [0, 2 * DATA, 1_570]);
    // A discard is a command, whatever it touches, and so are zeroes and a flush of nothing.
    for other in [pages(HostOp::Trim, 0, 64), pages(HostOp::WriteZeroes, 0, 64), flush()] {
        let (ends, result) = served(&mut simulation(STAGES), &[(0, other)]);
        assert_eq!((ends, busy(&result)), (vec![1_110], [0, 0, 1_110]), "{other:?}");
    }
    // Parts of two pages are two units, and their own bytes on the link.
    let unwritten = 4096 * (simulation(STAGES).space_bytes() / 4096 - 8);
    let part = request(HostOp::Read, unwritten + 4_000, 200);
    assert_eq!(times(STAGES, &[(0, part)]), [1_110 + 2 * 460 + 21_500 + 200 * 20]);
    // A time that is no whole number of nanoseconds is rounded up: 40,964.096.
    assert_eq!(times(&[("host_write_ps_per_byte", "10001")], &[(0, write(0, 1))]), [40_965 + PROGRAM]);
}

/// A read that failed passes all stages, and sends no bytes.
#[test]
fn a_failed_read_sends_no_bytes() {
    let mut simulation = simulation(STAGES);
    simulation.fail("member:0").unwrap();
    simulation.submit(&read(0, 1)).unwrap();
    simulation.finish().unwrap();
    let completed = simulation.take_completed();
    assert_eq!(completed.iter().map(|done| (done.ok, done.completed_ns)).collect::<Vec<_>>(), [(false, 1_110 + 460 + 21_500)]);
    assert_eq!(busy(&simulation.result(&Default::default(), false, None).unwrap()), [0, 0, 1_570]);
}

/// A unit is a mapping unit: of 1 KiB, four for a page.
#[test]
fn a_unit_is_a_mapping_unit() {
    let pairs = [("mapping_unit_bytes", "1024"), ("power_loss_protection", "true"), ("unit_ns", "460"), ("fill", "0")];
    assert_eq!(times(&pairs, &[(0, read(0, 1))]), [4 * 460]);
    assert_eq!(times(&pairs, &[(0, request(HostOp::Read, 1_000, 48))]), [2 * 460]);
}

/// Each key alone delays its own requests, and no others.
#[test]
fn a_key_concerns_its_own_stage() {
    for (key, value, of_write, of_read, of_trim) in [
        ("host_write_ps_per_byte", "10000", DATA, 0, 0),
        ("host_read_ps_per_byte", "10000", 0, DATA, 0),
        ("command_ns", "7", 7, 7, 7),
        ("unit_ns", "7", 7, 7, 0),
        ("read_latency_ns", "7", 0, 7, 0),
        ("write_latency_ns", "7", 7, 0, 0),
    ] {
        for (request, delay_ns, flash_ns) in
            [(write(0, 1), of_write, PROGRAM), (read(0, 1), of_read, READ), (pages(HostOp::Trim, 0, 1), of_trim, 0)]
        {
            assert_eq!(times(&[(key, value)], &[(0, request)]), [delay_ns + flash_ns], "{key}, {:?}", request.op);
        }
    }
    assert!(simulation(&[]).result(&Default::default(), false, None).unwrap().host_side.is_none());
}

// ---- rates ----

/// Twenty at once: the slowest stage serves one after the other, and is never idle.
#[test]
fn serial_stages_bound_rates_and_latencies_do_not() {
    let writes: Vec<_> = (0..20).map(|page| (0, write(page, 1))).collect();
    let reads: Vec<_> = (0..20).map(|page| (0, read(page + 20_000, 1))).collect();
    let every = |first: u64, each: u64| (1..=20).map(|number| first + number * each).collect::<Vec<_>>();
    // The link to the drive.
    let link: Pairs = &[NVRAM, ("host_write_ps_per_byte", "10000"), ("command_ns", "1110"), ("write_latency_ns", "4000000")];
    assert_eq!(times(link, &writes), every(1_110 + 4_000_000 + BUFFER, DATA));
    // The link from it.
    let link: Pairs = &[("host_read_ps_per_byte", "10000"), ("command_ns", "1110"), ("read_latency_ns", "4000000")];
    assert_eq!(times(link, &reads), every(1_110 + 4_000_000, DATA));
    // Commands, and units.
    let command: Pairs = &[NVRAM, ("host_write_ps_per_byte", "1000"), ("command_ns", "5000"), ("write_latency_ns", "4000000")];
    assert_eq!(times(command, &writes), every(4_096 + 4_000_000 + BUFFER, 5_000));
    let units: Pairs = &[("host_read_ps_per_byte", "1000"), ("command_ns", "110"), ("unit_ns", "5000"), ("read_latency_ns", "4000000")];
    assert_eq!(times(units, &reads), every(4_096 + 4_000_000, 5_110));
    // The two directions work side by side: a write and a read each share nothing but the controller.
    let both: Vec<_> = writes.iter().zip(&reads).flat_map(|(write, read)| [*write, *read]).collect();
    let duplex: Pairs = &[NVRAM, ("host_write_ps_per_byte", "10000"), ("host_read_ps_per_byte", "10000")];
    let (ends, result) = served(&mut simulation(duplex), &both);
    assert_eq!(ends.chunks(2).map(|pair| pair[0]).collect::<Vec<_>>(), every(BUFFER, DATA));
    assert_eq!(ends.chunks(2).map(|pair| pair[1]).collect::<Vec<_>>(), every(0, DATA));
    assert_eq!(busy(&result), [20 * DATA, 20 * DATA, 0]);
}

/// A trace of these requests, and what its replay reports.
fn replay(name: &str, requests: &[HostRequest], pairs: Pairs) -> Value {
    let row = |request: &HostRequest| {
        let op = if request.op == HostOp::Read { 'R' } else { 'W' };
        format!("0,{op},{},{},,\n", request.offset_bytes, request.size_bytes)
    };
    let path = own_trace(name, &requests.iter().map(row).collect::<String>());
    let finished = run(&path, config("tiny", "raid0", pairs), &Outputs::default(), false, &mut |_| true).unwrap();
    assert_eq!(finished.status, Status::Done);
    serde_json::from_str(&finished.json()).unwrap()
}

/// 256 outstanding, always: the slowest stage sets the rate exactly.
#[test]
fn at_depth_256_the_slowest_stage_is_always_busy() {
    const COUNT: u64 = 3_000;
    let depth = ("queue_depth", "256");
    let reads: Vec<_> = (0..COUNT).map(|page| read(page % 1_000, 1)).collect();
    for (ps, link_ns) in [("154", 631), ("1000", 4_096)] {
        let pairs = [&STAGES[2..], &[("host_read_ps_per_byte", ps), depth]].concat();
        let result = replay("depth-256-reads", &reads, &pairs);
        let slowest_ns = link_ns.max(1_570);
        assert_eq!(result["simulated_ns"], 1_570 + 21_500 + link_ns + (COUNT - 1) * slowest_ns);
        let side = &result["host_side"];
        assert_eq!((&side["read_link"]["busy_ns"], &side["controller"]["busy_ns"]), (&(COUNT * link_ns).into(), &(COUNT * 1_570).into()));
        let fraction = side["controller"]["busy_fraction"].as_f64().unwrap();
        assert_eq!(fraction, (COUNT * 1_570) as f64 / result["simulated_ns"].as_f64().unwrap());
    }
    // The buffer takes a page that it has at once.
    let writes: Vec<_> = (0..COUNT).map(|_| write(0, 1)).collect();
    let pairs = [&STAGES[2..], &[("host_write_ps_per_byte", "1000"), depth, NVRAM, ("destage", "when_full")]].concat();
    let result = replay("depth-256-writes", &writes, &pairs);
    assert_eq!(result["simulated_ns"], COUNT * 4_096 + 1_570 + 4_000 + BUFFER);
    assert_eq!(result["workload"]["overloaded"], false, "a closed loop saturates what it likes");
}

/// In an open loop that asks for more than the controller serves the device falls behind, and the load says of what.
#[test]
fn the_host_side_counts_in_the_load() {
    let mut simulation = simulation(&[("command_ns", "5000")]);
    let requests: Vec<_> = (0..201).map(|number| (number * 4_000, read(20_000 + number, 1))).collect();
    let (ends, result) = served(&mut simulation, &requests);
    assert_eq!(ends[200], 201 * 5_000);
    assert_eq!(result.workload.busiest_load, Some(201.0 * 5_000.0 / 800_000.0));
    assert_eq!(result.workload.offered_load, result.workload.busiest_load);
    assert!(result.workload.overloaded);
}

// ---- GC ----

/// A small drive that GC keeps at work.
fn collected(pairs: Pairs) -> Value {
    let mut random = SplitMix64::new(5);
    let small: Pairs = &[
        ("blocks_per_plane", "16"),
        ("pages_per_block", "8"),
        ("over_provisioning", "0.4"),
        ("fill", "1"),
        ("precondition", "random:2"),
        ("queue_depth", "16"),
    ];
    let pairs = [small, pairs].concat();
    let space = Simulation::new(config("tiny", "raid0", &pairs), |_| true).unwrap().space_bytes() / 4096;
    let writes: Vec<_> = (0..2_000).map(|_| write(random.next_u64() % space, 1)).collect();
    replay("collected", &writes, &pairs)
}

/// What GC moves takes the controller: with a controller that is slower than flash, hosts' units and those of GC share its time.
#[test]
fn units_that_gc_moves_take_the_controller() {
    let number = |result: &Value, path: &str| result.pointer(path).and_then(Value::as_u64).unwrap();
    for more in [&[][..], &[("mapping_unit_bytes", "1024"), ("power_loss_protection", "true")], &[("copyback", "true")]] {
        let result = collected(&[&[("unit_ns", "1000000"), ("command_ns", "10")], more].concat());
        let units = if more.len() == 2 { 4 } else { 1 };
        let programs = if units == 1 { "/flash_ops/programs/gc" } else { "/flash_units/programs/gc" };
        let (moved, busy_ns) = (number(&result, programs), number(&result, "/host_side/controller/busy_ns"));
        assert!(moved > 200, "GC had to work: {moved}");
        let all_ns = 2_000 * 10 + (2_000 * units + moved) * 1_000_000;
        // The units that GC moved last may still be to come, and the last program is.
        assert!(busy_ns <= all_ns && all_ns - busy_ns < 100_000_000, "{more:?}: {busy_ns} of {all_ns}");
        let simulated_ns = number(&result, "/simulated_ns");
        assert!(busy_ns <= simulated_ns && simulated_ns - busy_ns < 10_000_000, "{more:?}: {busy_ns} of {simulated_ns}");
    }
    // GC without simulated time takes none, and it itself waits for nothing.
    let mut simulation = simulation(&[("fill", "1"), ("precondition", "random:1"), ("unit_ns", "1000")]);
    let (ends, result) = served(&mut simulation, &[(0, read(0, 1))]);
    assert_eq!((ends, busy(&result)), (vec![1_000 + READ], [0, 0, 1_000]));
}

// ---- arrays ----

/// The host sees the controller of an array: the links of the SSDs are others, and GC within an SSD is none of it.
#[test]
fn of_an_array_it_is_the_controller_that_the_host_sees() {
    let array = [STAGES, &[("devices", "2"), ("link_ps_per_byte", "10000"), ("link_command_ns", "500")]].concat();
    let (ends, result) = served(&mut simulation(&array), &[(0, read(0, 1))]);
    assert_eq!(ends, [1_110 + 460 + 500 + READ + DATA + 21_500 + 2 * DATA]);
    assert_eq!(busy(&result), [0, 2 * DATA, 1_570]);
    let result = collected(&[("unit_ns", "1000"), ("devices", "2"), ("channels", "2")]);
    assert!(result["flash_ops"]["programs"]["gc"].as_u64().unwrap() > 100, "GC had to work");
    assert_eq!(result["host_side"]["controller"]["busy_ns"], 2_000 * 1_000);
}

// ---- order ----

/// A flush waits for what was decided before it; it overtakes a write whose data are still to come.
#[test]
fn a_flush_waits_for_what_was_decided_before_it() {
    let pairs = [("host_write_ps_per_byte", "10000"), ("command_ns", "1000")];
    let requests = [(0, write(0, 1)), (0, flush()), (DATA + 999, flush()), (DATA + 1_000, flush())];
    // The third command waits for the first one, which came to the controller before it.
    let program_ends = DATA + 1_000 + PROGRAM;
    assert_eq!(times(&pairs, &requests), [program_ends, 1_000, program_ends, program_ends]);
    // Reads overtake writes on the link, too.
    assert_eq!(times(&pairs, &[(0, write(0, 2)), (0, read(2, 1))]), [2 * DATA + 1_000 + PROGRAM, 1_000 + READ]);
}

/// What is under way counts up to the time of the result.
#[test]
fn a_request_under_way_counts_as_far_as_it_is() {
    let mut simulation = simulation(&[("host_write_ps_per_byte", "10000"), ("command_ns", "500")]);
    (0..2).for_each(|page| simulation.submit(&write(page, 1)).map(drop).unwrap());
    for (time_ns, expected) in [(200, [200, 0, 0]), (DATA + 100, [DATA + 100, 0, 100]), (1_000_000, [2 * DATA, 0, 1_000])] {
        simulation.advance_until(time_ns).unwrap();
        let result = simulation.result(&Default::default(), false, None).unwrap();
        assert_eq!(busy(&result), expected, "at {time_ns}");
        assert_eq!(result.requests.unfinished, if time_ns < 1_000_000 { 2 } else { 0 });
    }
}

/// Requests that name streams go to their queues, which take turns.
#[test]
fn queues_take_turns() {
    let of = |stream: u16, page: u64| (0, HostRequest { stream, ..read(page, 1) });
    // One at a time, so that the order shows: queue 0 has requests 0, 2, 3, 5 and 6, queue 1 has 1, 4 and 7.
    let requests: Vec<_> = [1, 2, 1, 1, 2, 1, 1, 2].into_iter().zip(0..).map(|(stream, page)| of(stream, page)).collect();
    let ends = |pairs: Pairs| -> Vec<u64> {
        times(&[&[("device_queue_depth", "1")], pairs].concat(), &requests).into_iter().map(|end_ns| end_ns / READ).collect()
    };
    assert_eq!(ends(&[]), [1, 2, 3, 4, 5, 6, 7, 8]);
    // Request 0 finds room: the turn is queue 1's. 0, 1, 2, 4, 3, 7, 5, 6.
    assert_eq!(ends(&[("queues", "2")]), [1, 2, 3, 5, 4, 7, 8, 6]);
    // Two a turn: 0, 1 4, 2 3, 7, 5 6.
    assert_eq!(ends(&[("queues", "2"), ("fetch", "2")]), [1, 2, 4, 5, 3, 7, 8, 6]);
    // Without streams, requests go to the queues in turn: 0 2 4 6 and 1 3 5 7 are taken as 0, 1 3, 2 4, 5 7, 6.
    let requests: Vec<_> = (0..8).map(|page| of(0, page)).collect();
    let pairs = [("device_queue_depth", "1"), ("queues", "2"), ("fetch", "2")];
    let ends: Vec<_> = times(&pairs, &requests).into_iter().map(|end_ns| end_ns / READ).collect();
    assert_eq!(ends, [1, 2, 4, 3, 5, 6, 8, 7]);
}

/// A request has its place in the drive from when it is fetched until it is answered: on the link, and until its data have left.
#[test]
fn a_request_on_its_way_is_in_the_drive() {
    let pairs = [STAGES, &[("device_queue_depth", "1")]].concat();
    let alone = 1_110 + 460 + READ + 21_500 + 2 * DATA;
    let stored = DATA + 1_110 + 460 + 4_000 + PROGRAM;
    assert_eq!(times(&pairs, &[(0, read(0, 1)), (0, read(1, 1)), (0, write(2, 1))]), [alone, 2 * alone, 2 * alone + stored]);
}

// ---- contents ----

/// Random requests, many at a time, of which none may see what it must not, nor lose anything.
fn worked<M: assemble::Assembled>(config: &Config) -> Vec<u64> {
    let mut engine: Engine<Tags, M> = assemble::engine(config, |_, _| tags(config)).unwrap();
    let (mut random, space) = (SplitMix64::new(3), engine.space_pages());
    engine.fill(space / 2);
    for number in 0..2_000 {
        let op = match random.next_u64() % 8 {
            0..3 => HostOp::Write,
            3..6 => HostOp::Read,
            6 => HostOp::Trim,
            _ => HostOp::Flush,
        };
        let (first, count) = (random.next_u64() % 40, 1 + random.next_u64() % 4);
        let asked = if op == HostOp::Flush { flush() } else { pages(op, first, count) };
        engine.submit(&HostRequest { stream: (number % 5) as u16, ..asked }, true);
        engine.advance_until(engine.now_ns() + random.next_u64() % 200_000).unwrap();
    }
    engine.finish().unwrap();
    let completed = std::mem::take(&mut engine.front_end.completed);
    assert!(completed.len() == 2_000 && completed.iter().all(|completed| completed.ok));
    assert_eq!(engine.executor.content.mismatches, 0);
    assert!(engine.executor.content.reads_checked > 500);
    let found = verify::stored(&engine);
    assert!(found.is_clean() && found.pages_gone == 0, "{found:?}");
    completed.iter().map(|completed| completed.completed_ns).collect()
}

#[test]
fn overtaking_loses_nothing() {
    let small: Pairs = &[("blocks_per_plane", "16"), ("pages_per_block", "8"), ("over_provisioning", "0.4")];
    let slow: Pairs =
        &[("host_write_ps_per_byte", "50000"), ("unit_ns", "20000"), ("write_latency_ns", "300000"), ("read_latency_ns", "90000")];
    let queues: Pairs = &[("device_queue_depth", "3"), ("queues", "4"), ("fetch", "2")];
    let buffers: [Pairs; 3] = [&[], &[("buffer_bytes", "65536")], &[("nvram_buffer_bytes", "65536")]];
    for (scheme, own) in [
        ("raid0", buffers[0]),
        ("raid5", buffers[0]),
        ("raid5", buffers[1]),
        ("raid5", buffers[2]),
        ("cr5m", &[("chips_per_channel", "2")]),
    ] {
        for host in [slow, queues, &[slow, queues].concat()] {
            let config = config("tiny", scheme, &[small, own, host].concat());
            assert!(worked::<Flash>(&config) == worked::<Flash>(&config), "{scheme} {own:?} {host:?}: twice the same");
        }
    }
    worked::<SsdArray>(&config("tiny", "raid5", &[small, slow, queues, &[("devices", "4"), ("channels", "1")]].concat()));
}
