//! What the host sees beside times: flushes, early answers, reads from the controller's copy, closed loop, warm-up, offered load, jobs.

use crate::support::{config, engine, own_trace, pages, tags};
use flashraid_redundancy::testing::CopyWhenIdle;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::{Config, Outputs, Status, run, verify};
use flashraid_vocabulary::{Action, Cause, HostOp, HostRequest, MemberPage, StripeId, Version};
use serde_json::Value;

const READ: u64 = 122_575;
const PROGRAM: u64 = 302_575;
const DATA_IN: u64 = 102_575;

fn filled(config: &Config) -> Engine<Tags> {
    let mut engine = engine(config, tags(config));
    engine.fill(240);
    engine
}

/// Submits requests at their times, ends, and returns when each completed.
fn run_at(engine: &mut Engine<Tags>, requests: &[(u64, HostRequest)]) -> Vec<u64> {
    for (at_ns, request) in requests {
        engine.advance_until(*at_ns).unwrap();
        engine.submit(request, true);
    }
    engine.finish().unwrap();
    assert_eq!(engine.executor.content.mismatches, 0);
    assert!(verify::stored(engine).is_clean());
    let mut completed = engine.front_end.completed.clone();
    completed.sort_by_key(|completed| completed.sequence);
    completed.iter().map(|completed| completed.completed_ns).collect()
}

fn flush() -> HostRequest {
    pages(HostOp::Flush, 0, 0)
}

fn write(first: u64, count: u64) -> HostRequest {
    pages(HostOp::Write, first, count)
}

fn read(first: u64) -> HostRequest {
    pages(HostOp::Read, first, 1)
}

/// A device that answers with the data in the register does not answer a flush of the buffer in DRAM so: that promises that flash has them.
#[test]
fn a_flush_of_the_buffer_waits_for_the_ends_of_programs() {
    for early in [("write_completes", "data_in"), ("parity_in_response", "false")] {
        let config = config("tiny", "raid5", &[("channels", "3"), ("buffer_bytes", "16384"), ("buffer_ns", "0"), early]);
        let mut engine = engine(&config, tags(&config));
        engine.submit(&write(0, 1), true);
        engine.submit(&flush(), true);
        while engine.front_end.completed.len() < 2 {
            assert!(engine.advance().unwrap());
        }
        assert_eq!(engine.executor.media.nand().programs_in_service().next(), None, "with {early:?} a program goes on after the flush");
        engine.finish().unwrap();
    }
}

#[test]
fn a_flush_waits_for_earlier_writes_alone_and_holds_up_nobody() {
    // One die: everything queues. Two writes, a flush, a third write and a read.
    let one_die = config("tiny", "raid0", &[("channels", "1"), ("planes_per_die", "1")]);
    let requests = [(0, write(0, 1)), (1, write(1, 1)), (2, flush()), (3, write(2, 1)), (4, read(9)), (5, flush())];
    let times = run_at(&mut filled(&one_die), &requests);
    // The read goes first when the first program has ended.
    let [second, third] = [2 * PROGRAM + READ, 3 * PROGRAM + READ];
    assert_eq!(times, [PROGRAM, second, second, third, PROGRAM + READ, third]);
    // With nothing to wait for it completes at once, also after reads.
    assert_eq!(run_at(&mut filled(&one_die), &[(0, flush()), (5, read(0)), (6, flush())]), [0, 5 + READ, 6]);
    // Trims and zeroings are writes: the trim of one strip programs the parity after its pre-reads.
    let raid5 = config("tiny", "raid5", &[]);
    let trim = pages(HostOp::Trim, 0, 1);
    assert_eq!(run_at(&mut filled(&raid5), &[(0, trim), (1, flush())]), [READ + PROGRAM; 2]);
}

#[test]
fn a_flush_waits_until_answered_writes_are_durable() {
    let config = config("ssd1", "raid0", &[("write_completes", "data_in")]);
    assert_eq!(run_at(&mut filled(&config), &[(0, write(0, 1)), (1, flush())]), [DATA_IN, PROGRAM]);
}

#[test]
fn reads_of_an_answered_write_come_from_the_controller() {
    let config = config("ssd1", "raid0", &[("write_completes", "data_in")]);
    // Before the answer from flash (the old version), between answer and end from the controller at once, afterwards from flash.
    let requests = [(0, write(0, 1)), (1, read(4)), (150_000, read(0)), (300_000, read(0)), (500_000, read(0))];
    let mut engine = filled(&config);
    let times = run_at(&mut engine, &requests);
    assert_eq!(times[2..], [150_000, 300_000, 500_000 + READ]);
    assert_eq!(engine.executor.media.nand().counts()[Action::Read as usize][Cause::Host as usize], 2);
    assert_eq!(engine.executor.content.reads_checked, 4);
    assert_eq!(engine.executor.statistics.unmapped_reads, 0);
}

#[test]
fn parity_may_be_left_out_of_the_answer() {
    // Four chips on one bus: three strips and the parity, one transfer after the other; the k-th ends at k transfers and one array time.
    let pairs = [("channels", "1"), ("member", "chip"), ("parity_in_response", "false")];
    let config = config("ssd1", "raid5", &pairs);
    let ends = |k: u64| k * DATA_IN + 200_000;
    let mut engine = filled(&config);
    // A read between the answer and the parity's end is served by the controller; the flush waits for the parity.
    let times = run_at(&mut engine, &[(0, write(0, 3)), (1, flush()), (ends(3) + 1, read(1))]);
    assert_eq!(times, [ends(3), ends(4), ends(3) + 1]);
    // A trim programs the parity alone: it is answered after its pre-reads, two on one bus.
    let mut engine = filled(&config);
    let times = run_at(&mut engine, &[(0, pages(HostOp::Trim, 0, 1)), (250_000, read(0)), (250_001, flush())]);
    let pre_reads = READ + 102_400;
    assert_eq!(times, [pre_reads, 250_000, pre_reads + PROGRAM]);
}

/// A trace of these requests, and what its replay reports. Arrivals are whole microseconds.
fn replay(name: &str, requests: &[(u64, HostRequest)], scheme: &str, pairs: &[(&str, &str)]) -> Value {
    let row = |(at_ns, request): &(u64, HostRequest)| {
        let op = if request.op == HostOp::Read { 'R' } else { 'W' };
        format!("{},{op},{},{},,\n", at_ns / 1000, request.offset_bytes, request.size_bytes)
    };
    let path = own_trace(name, &requests.iter().map(row).collect::<String>());
    let mut all = vec![("fill", "0.5"), ("verify", "true")];
    all.extend(pairs);
    let finished = run(&path, config("tiny", scheme, &all), &Outputs::default(), false, &mut |_| true).unwrap();
    assert_eq!(finished.status, Status::Done);
    serde_json::from_str(&finished.json()).unwrap()
}

#[test]
fn closed_loop() {
    // Ten reads of one die, whatever their arrival times: one after the other.
    let one_die: Vec<_> = (0..10).map(|i| (i * 1_000_000, read(0))).collect();
    assert_eq!(replay("depth-1", &one_die, "raid0", &[("queue_depth", "1")])["simulated_ns"], 10 * READ);
    // Four channels in turn, four outstanding: they work side by side.
    let four: Vec<_> = (0..40).map(|i| (0, read(i % 4))).collect();
    assert_eq!(replay("depth-4", &four, "raid0", &[("queue_depth", "4")])["simulated_ns"], 10 * READ);
    assert_eq!(replay("depth-4", &four, "raid0", &[("queue_depth", "1")])["simulated_ns"], 40 * READ);
    // Latencies count from when a request is submitted.
    let result = replay("depth-2", &one_die, "raid0", &[("queue_depth", "2")]);
    assert_eq!((&result["latency_ns"]["read"]["min"], &result["latency_ns"]["read"]["max"]), (&READ.into(), &(2 * READ).into()));
}

/// Requests wait in the host, in order, while the drive has as many as it takes.
#[test]
fn the_drive_takes_so_many_requests_at_a_time() {
    let limited =
        |scheme, limit, pairs: &[(&str, &str)]| filled(&config("tiny", scheme, &[pairs, &[("device_queue_depth", limit)]].concat()));
    // Four channels, each read with one of its own: two at a time.
    let reads = [(0, read(0)), (0, read(1)), (0, read(2)), (0, read(3)), (5, read(0))];
    assert_eq!(run_at(&mut limited("raid0", "0", &[]), &reads), [READ, READ, READ, READ, 2 * READ]);
    assert_eq!(run_at(&mut limited("raid0", "2", &[]), &reads), [READ, READ, 2 * READ, 2 * READ, 3 * READ]);
    assert_eq!(run_at(&mut limited("raid0", "5", &[]), &reads), run_at(&mut limited("raid0", "0", &[]), &reads));
    // One die. A read that waits in the host passes no write in the drive.
    let one_die = &[("channels", "1"), ("planes_per_die", "1")];
    let mixed = [(0, write(0, 1)), (1, write(1, 1)), (2, read(9))];
    assert_eq!(run_at(&mut limited("raid0", "3", one_die), &mixed), [PROGRAM, 2 * PROGRAM + READ, PROGRAM + READ]);
    assert_eq!(run_at(&mut limited("raid0", "1", one_die), &mixed), [PROGRAM, 2 * PROGRAM, 2 * PROGRAM + READ]);
    // A flush waits in the host, too, and then for what was written before; one that has nothing to wait for makes room at once.
    let flushed = [(0, write(0, 1)), (0, flush()), (0, flush()), (0, read(9)), (0, flush())];
    assert_eq!(run_at(&mut limited("raid0", "1", one_die), &flushed), [PROGRAM, PROGRAM, PROGRAM, PROGRAM + READ, PROGRAM + READ]);
    // It does not wait for writes behind it in the host, which wait for it.
    let behind = [(0, write(0, 1)), (0, flush()), (0, write(1, 1)), (0, write(2, 1)), (0, flush())];
    let ends = [PROGRAM, PROGRAM, 2 * PROGRAM, 3 * PROGRAM, 3 * PROGRAM];
    for limit in ["1", "2"] {
        assert_eq!(run_at(&mut limited("raid0", limit, one_die), &behind), ends, "{limit} at a time");
    }
    // A discard ends at once, and so do those behind it.
    let discards = [(0, read(0)), (0, pages(HostOp::Trim, 1, 1)), (0, pages(HostOp::Trim, 2, 1)), (0, read(9))];
    assert_eq!(run_at(&mut limited("raid0", "1", one_die), &discards), [READ, READ, READ, 2 * READ]);
    // A buffer answers a write in 1 us, and takes the next one then.
    let buffered = &[("buffer_bytes", "65536")];
    let writes = [(0, write(0, 1)), (0, write(1, 1)), (0, write(2, 1))];
    assert_eq!(run_at(&mut limited("raid0", "0", buffered), &writes), [1000, 1000, 1000]);
    assert_eq!(run_at(&mut limited("raid0", "1", buffered), &writes), [1000, 2000, 3000]);
    // What flash makes room for, the buffer answers long before the next request comes.
    let later = [(0, read(9)), (0, write(0, 1)), (10_000_000, read(9))];
    assert_eq!(run_at(&mut limited("raid0", "1", buffered), &later), [READ, READ + 1000, 10_000_000 + READ]);
}

/// Response times count from the arrival, whatever a request waited for; in a closed loop the drive may take fewer than are outstanding.
#[test]
fn response_times_contain_the_wait_in_the_host() {
    let four: Vec<_> = (0..4).map(|i| (0, read(i))).collect();
    let result = replay("in-host", &four, "raid0", &[("device_queue_depth", "2")]);
    let latency = &result["latency_ns"]["read"];
    assert_eq!((&latency["min"], &latency["max"], &latency["total"]), (&READ.into(), &(2 * READ).into(), &(6 * READ).into()));
    let many: Vec<_> = (0..40).map(|i| (0, read(i % 4))).collect();
    let result = replay("in-host", &many, "raid0", &[("queue_depth", "4"), ("device_queue_depth", "2")]);
    assert_eq!(result["simulated_ns"], 20 * READ);
    assert_eq!(result["latency_ns"]["read"]["max"], 2 * READ);
}

#[test]
fn warm_up_leaves_the_start_out_of_everything() {
    // A burst of writes to one stripe, and when all is over ten reads, one every millisecond.
    let mut requests: Vec<_> = (0..50).map(|_| (0, write(0, 1))).collect();
    requests.extend((0..10).map(|i| (1_000_000_000 + i * 1_000_000, read(0))));
    for warmup in ["50", "0.5s"] {
        let result = replay("warmup", &requests, "raid5", &[("warmup", warmup)]);
        assert_eq!(result["workload"]["warmup_requests"], 50);
        assert_eq!(result["workload"]["requests"], 10);
        assert_eq!(result["requests"]["completed"], 10);
        assert_eq!(result["latency_ns"]["all"]["count"], 10);
        assert_eq!(result["latency_ns"]["all"]["max"], READ);
        assert_eq!(result["flash_ops"]["reads"]["total"], 10);
        assert_eq!(result["flash_ops"]["programs"]["total"], 0);
        assert_eq!(result["parity_updates"]["rcw"], 0);
        // From the first measured arrival to the end of the last read.
        assert_eq!(result["simulated_ns"], 9_000_000 + READ);
        let bus = |channel: usize| result["channels"][channel]["busy_ns"]["total"].as_u64().unwrap();
        assert_eq!((0..4).map(bus).sum::<u64>(), 10 * DATA_IN);
        let member = result["members"].as_array().unwrap().iter().find(|member| member["reads"] == 10).unwrap();
        let p99_9 = member["p99_9_ns"].as_u64().unwrap();
        assert_eq!(p99_9, READ, "page operations of the warm-up do not count");
    }
}

#[test]
fn offered_load_is_what_arrived_over_when_it_arrived() {
    // 100 reads of four channels in turn, 100 us apart: 102,575 ns of bus each on four buses, over 99 gaps.
    let reads: Vec<_> = (0..100).map(|i| (i * 100_000, read(i % 4))).collect();
    let load = replay("load", &reads, "raid0", &[])["workload"]["offered_load"].as_f64().unwrap();
    assert!((load - 100.0 * 102_575.0 / 4.0 / 9_900_000.0).abs() < 1e-12, "{load}");
    // Writes load the dies more than the buses: 200,000 ns of array on four dies.
    let writes: Vec<_> = (0..100).map(|i| (i * 100_000, write(i % 4, 1))).collect();
    let load = replay("load", &writes, "raid0", &[])["workload"]["offered_load"].as_f64().unwrap();
    assert!((load - 100.0 * 200_000.0 / 4.0 / 9_900_000.0).abs() < 1e-12, "{load}");
}

/// A job without host load copies every written page, whatever GC runs come between.
#[test]
fn a_job_is_offered_an_idle_device_until_it_has_no_more_to_do() {
    for gc_threshold in ["0.05", "0.5"] {
        let pairs = [("blocks_per_plane", "16"), ("pages_per_block", "8"), ("over_provisioning", "0.3"), ("gc_threshold", gc_threshold)];
        let config = config("tiny", "raid5", &pairs);
        let (members, rows) = (config.device.members(), config.device.pages_per_member());
        let mut engine = engine(&config, tags(&config));
        engine.fill(engine.space_pages());
        engine.executor.add_job(
            &mut engine.front_end,
            Box::new(CopyWhenIdle::new(members, rows, 4096, |address: MemberPage| StripeId(address.page.0))),
        );
        engine.finish().unwrap();
        let copied = engine.executor.media.nand().counts()[Action::Program as usize][Cause::Migration as usize];
        assert_eq!(copied, u64::from(members) * u64::from(rows), "gc_threshold {gc_threshold}");
        assert!(verify::stored(&engine).is_clean());
        assert!(engine.executor.media.store().lookup(MemberPage::new(0, 0), Version::Current).is_some());
    }
}

/// A queue of writes to one page: the oracle's work for each must not grow with the queue.
#[test]
fn verification_bears_a_hot_page_under_overload() {
    let mut engine = filled(&config("tiny", "raid0", &[]));
    (0..200_000).for_each(|number| {
        engine.submit(&if number % 10 == 0 { read(0) } else { write(0, 1) }, true);
    });
    engine.finish().unwrap();
    assert_eq!(engine.executor.content.mismatches, 0);
    assert_eq!(engine.executor.content.reads_checked, 20_000);
}
