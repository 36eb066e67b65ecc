//! A data buffer that destages by itself (`destage = low_water`), and one whose pages leave by stripe: closed forms of its delays to the nanosecond, and what
//! flushes wait for and are told. Its counts are compared with a model in `tests/python/test_buffer.py`.

use crate::support::{config, engine, pages, request, tags};
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::engine::{Engine, Outcome};
use flashraid_sim::{Simulation, verify};
use flashraid_vocabulary::{Fault, HostOp, HostRequest, Lpn, Part};

const ANSWER_NS: u64 = 1000;
/// `tiny`: program command, 4 KiB over the bus at 25 ns a byte, array time.
const PROGRAM_NS: u64 = 175 + 4096 * 25 + 200_000;
/// At this rate a page leaves every millisecond.
const EVERY_MS: (&str, &str) = ("destage_bytes_per_second", "4096000");
const MS: u64 = 1_000_000;

const DRAM_PAGES: [(&str, &str); 2] = [("buffer_bytes", "32768"), ("destage_unit", "page")];
const DRAM_STRIPES: [(&str, &str); 2] = [("buffer_bytes", "32768"), ("destage_unit", "stripe")];
const NVRAM: [(&str, &str); 1] = [("nvram_buffer_bytes", "32768")];

/// One channel of one die, so that nothing overlaps, and a stripe is a page; a buffer of eight pages, which destages from four on until two are left.
fn buffered(buffer: &[(&str, &str)], more: &[(&str, &str)]) -> Engine<Tags> {
    let config = config("tiny", "raid0", &[&[("channels", "1"), EVERY_MS], buffer, more].concat());
    engine(&config, tags(&config))
}

fn write(engine: &mut Engine<Tags>, at_ns: u64, page: u64) {
    engine.advance_until(at_ns).unwrap();
    engine.submit(&pages(HostOp::Write, page, 1), true);
}

/// Completions in the order of requests.
fn latencies(engine: &mut Engine<Tags>, arrivals_ns: &[u64]) -> Vec<u64> {
    engine.finish().unwrap();
    assert!(verify::stored(engine).is_clean() && engine.executor.content.mismatches == 0);
    let mut completed = engine.front_end.completed.clone();
    completed.sort_by_key(|completed| completed.sequence);
    completed.iter().zip(arrivals_ns).map(|(completed, arrival_ns)| completed.completed_ns - arrival_ns).collect()
}

fn destaged(engine: &Engine<Tags>) -> (u64, u64, usize) {
    let buffer = engine.survey().buffer.unwrap();
    (buffer.counts.destages, buffer.counts.evictions, buffer.count())
}

#[test]
fn at_ten_writes_a_second_a_write_takes_the_time_of_the_buffer() {
    let arrivals: Vec<u64> = (0..40).map(|number| number * 100 * MS).collect();
    let mean = |buffer: &[(&str, &str)], more: &[(&str, &str)]| {
        let mut engine = buffered(buffer, more);
        arrivals.iter().enumerate().for_each(|(page, at_ns)| write(&mut engine, *at_ns, page as u64));
        latencies(&mut engine, &arrivals).into_iter().max().unwrap()
    };
    for buffer in [&DRAM_PAGES[..], &DRAM_STRIPES, &NVRAM] {
        assert_eq!(mean(buffer, &[("destage_bytes_per_second", "0")]), ANSWER_NS);
        assert_eq!(mean(buffer, &[]), ANSWER_NS);
    }
    // The rule of the papers: as soon as DRAM is full, a write waits for the program that makes space.
    let when_full = [("destage", "when_full"), ("destage_bytes_per_second", "0")];
    assert_eq!(mean(&DRAM_PAGES, &when_full), PROGRAM_NS);
    assert_eq!(mean(&NVRAM, &when_full), PROGRAM_NS + ANSWER_NS);
}

/// Page 0 leaves when the fourth has come, and one more whenever a page finds no space.
#[test]
fn a_burst_beyond_the_high_mark_takes_the_buffer_and_then_the_flash() {
    for buffer in [&DRAM_PAGES[..], &DRAM_STRIPES, &NVRAM] {
        let mut engine = buffered(buffer, &[]);
        (0..20).for_each(|page| write(&mut engine, 0, page));
        let (destages, evictions, held) = destaged(&engine);
        assert_eq!((destages, evictions, held), (1, 12, 8));
        // The page that is i-th beyond the eighth has a slot when the i-th has left.
        let expected: Vec<u64> = (1..=20).map(|page: u64| page.saturating_sub(8) * PROGRAM_NS + ANSWER_NS).collect();
        assert_eq!(latencies(&mut engine, &[0; 20]), expected);
        // While all came to its end nothing left. Three pages are late then; the others leave when they are due, to the low mark.
        assert_eq!(destaged(&engine), (1, 12, 8));
        let at = |engine: &mut Engine<Tags>, time_ns: u64| {
            engine.advance_until(time_ns).unwrap();
            destaged(engine)
        };
        assert_eq!(
            [4 * MS - 1, 4 * MS, 6 * MS, 9 * MS].map(|time_ns| at(&mut engine, time_ns)),
            [(4, 15, 5), (5, 16, 4), (7, 18, 2), (7, 18, 2)]
        );
    }
}

/// While pages come faster than they leave the buffer fills, and then a write takes a program.
#[test]
fn a_steady_rate_above_that_of_destaging_takes_the_buffer_and_then_a_program() {
    for buffer in [&DRAM_PAGES[..], &DRAM_STRIPES, &NVRAM] {
        // One leaves when the fourth has come, and the next one only after a second.
        let mut engine = buffered(buffer, &[("destage_bytes_per_second", "4096")]);
        let arrivals: Vec<u64> = (0..30).map(|number| number * 400_000).collect();
        arrivals.iter().enumerate().for_each(|(page, at_ns)| write(&mut engine, *at_ns, page as u64));
        assert_eq!(destaged(&engine), (1, 22, 8));
        let found = latencies(&mut engine, &arrivals);
        assert_eq!(found[..9], [ANSWER_NS; 9]);
        assert_eq!(found[9..], [PROGRAM_NS + ANSWER_NS; 21]);
    }
}

/// Two channels take more than what leaves: nobody waits for anything but the buffer.
#[test]
fn what_leaves_in_time_is_not_waited_for() {
    for buffer in [&DRAM_PAGES[..], &DRAM_STRIPES, &NVRAM] {
        let mut engine = buffered(buffer, &[]);
        let arrivals: Vec<u64> = (0..200).map(|number| number * MS).collect();
        arrivals.iter().enumerate().for_each(|(page, at_ns)| write(&mut engine, *at_ns, page as u64 % 50));
        assert_eq!(latencies(&mut engine, &arrivals), [ANSWER_NS; 200]);
    }
}

/// What is due at an instant leaves before a request that comes then: the page that left is no hit.
#[test]
fn what_is_due_leaves_before_a_request_of_the_same_instant() {
    for late_ns in [0, 1] {
        let mut engine = buffered(&DRAM_PAGES, &[]);
        (0..4).for_each(|page| write(&mut engine, 0, page));
        write(&mut engine, MS - 1 + late_ns, 1);
        // Page 0 left at once, and page 1 leaves after a millisecond unless it was written before.
        assert_eq!(engine.survey().buffer.unwrap().counts.write_hits, 1 - late_ns);
    }
}

/// Pages of a stripe leave together, and the next stripe after as many times as these would take one by one.
#[test]
fn a_stripe_takes_the_time_of_its_pages() {
    let settings = [("channels", "5"), ("buffer_bytes", "65536"), EVERY_MS, ("destage_high_water", "0.75"), ("destage_low_water", "0.1")];
    let config = config("tiny", "raid5", &settings);
    let mut engine = engine(&config, tags(&config));
    // Stripes of four pages: three whole ones and, later, one page of a fourth.
    engine.submit(&pages(HostOp::Write, 0, 12), true);
    engine.submit(&pages(HostOp::Write, 13, 1), true);
    let at = |engine: &mut Engine<Tags>, time_ns: u64| {
        engine.advance_until(time_ns).unwrap();
        engine.survey().buffer.unwrap().count()
    };
    assert_eq!(at(&mut engine, 0), 9);
    assert_eq!([4 * MS - 1, 4 * MS, 8 * MS - 1, 8 * MS, 20 * MS].map(|time_ns| at(&mut engine, time_ns)), [9, 5, 5, 1, 1]);
    let updates = engine.scheme().parity_updates();
    assert_eq!((updates.full_stripe, updates.rmw + updates.rcw), (3, 0));
    engine.submit(&request(HostOp::Flush, 0, 0), true);
    engine.finish().unwrap();
    let updates = engine.scheme().parity_updates();
    assert_eq!((updates.full_stripe, updates.rmw + updates.rcw), (3, 1));
    assert!(verify::stored(&engine).is_clean());
}

/// A flush of DRAM takes a stripe as one write, or its pages one by one.
#[test]
fn a_flush_leaves_by_stripe() {
    let counts = |unit: &str| {
        let settings = [("channels", "5"), ("buffer_bytes", "1048576"), ("destage_unit", unit)];
        let config = config("tiny", "raid5", &settings);
        let mut engine = engine(&config, tags(&config));
        engine.fill(20);
        let before = engine.scheme().parity_updates();
        // Of stripe k, k pages, the last ones first.
        for (stripe, held) in (0..5).flat_map(|stripe| (4 - stripe..4).rev().map(move |page| (stripe, page))) {
            engine.submit(&pages(HostOp::Write, 4 * stripe + held, 1), true);
        }
        engine.submit(&request(HostOp::Flush, 0, 0), true);
        engine.finish().unwrap();
        assert!(verify::stored(&engine).is_clean() && engine.survey().buffer.unwrap().count() == 0);
        let updates = engine.scheme().parity_updates();
        (updates.full_stripe - before.full_stripe, updates.rmw, updates.rcw)
    };
    // Of a stripe of four, one page is cheaper by RMW (2 reads; RCW 3), three are by RCW (1; 4), and of two RCW has 2 and RMW 3.
    assert_eq!(counts("stripe"), (1, 1, 2));
    assert_eq!(counts("page"), (0, 10, 0));
}

/// DRAM is volatile: a flush waits for what has left on its own, and NVRAM is durable.
#[test]
fn a_flush_waits_for_what_left_by_itself() {
    for (buffer, expected) in [(&DRAM_PAGES[..], PROGRAM_NS), (&DRAM_STRIPES, PROGRAM_NS), (&NVRAM, 5000)] {
        let mut engine = buffered(buffer, &[("destage_high_water", "0.1"), ("destage_low_water", "0")]);
        write(&mut engine, 0, 0);
        engine.advance_until(5000).unwrap();
        assert_eq!(destaged(&engine), (1, 1, 0));
        for _ in 0..2 {
            engine.submit(&request(HostOp::Flush, 0, 0), true);
        }
        engine.finish().unwrap();
        let times: Vec<_> = engine.front_end.completed.iter().map(|completed| completed.completed_ns).collect();
        assert_eq!(times, [ANSWER_NS, expected, expected]);
    }
}

/// The write was acknowledged long ago. The flush that waits for the page hears that it cannot be written, or the next one.
#[test]
fn a_flush_is_told_of_what_could_not_leave_by_itself() {
    for flushes_first in [true, false] {
        let mut engine = buffered(&DRAM_PAGES, &[("destage_high_water", "0.1"), ("destage_low_water", "0")]);
        write(&mut engine, 0, 0);
        engine.advance_until(5000).unwrap();
        if flushes_first {
            engine.submit(&request(HostOp::Flush, 0, 0), true);
        }
        engine.fail(Fault::Loss(Part::Channel(0)));
        engine.finish().unwrap();
        assert!(engine.is_gone(Lpn(0)));
        let counts = engine.survey().buffer.unwrap().counts;
        assert_eq!((counts.pages_failed, counts.failed_no_space + counts.failed_lost), (1, 1));
        for _ in 0..2 {
            engine.submit(&request(HostOp::Flush, 0, 0), true);
            engine.finish().unwrap();
        }
        let told: Vec<_> = engine.front_end.completed.iter().map(|completed| completed.ok).collect();
        assert_eq!(told, if flushes_first { vec![true, false, true, true] } else { vec![true, false, true] });
    }
}

/// What a discard takes out of the buffer gives its slot to a page that waits, and ends destaging at the low mark.
#[test]
fn a_discard_makes_space() {
    for buffer in [&DRAM_PAGES[..], &DRAM_STRIPES, &NVRAM] {
        let mut engine = buffered(buffer, &[]);
        (0..9).for_each(|page| write(&mut engine, 0, page));
        // Page 0 left by itself; it has not come to flash when the tenth comes, and page 1 leaves for that.
        write(&mut engine, 0, 9);
        engine.submit(&pages(HostOp::Trim, 2, 7), true);
        assert_eq!(destaged(&engine), (1, 2, 1));
        let found = latencies(&mut engine, &[0; 10]);
        assert_eq!(found, [ANSWER_NS; 10], "the last two have slots of pages that were discarded");
        assert_eq!(destaged(&engine), (1, 2, 1));
    }
}

#[test]
fn a_clock_that_runs_ahead_leaves_the_rest_to_the_next_request() {
    let mut engine = buffered(&DRAM_PAGES, &[]);
    (0..4).for_each(|page| write(&mut engine, 0, page));
    engine.advance_until(100 * MS).unwrap();
    assert_eq!(destaged(&engine), (2, 2, 2));
    assert_eq!(engine.next_event_ns(), None);
    (4..6).for_each(|page| write(&mut engine, 100 * MS, page));
    assert_eq!(engine.next_event_ns(), Some(100 * MS), "it destages at once");
    engine.advance_until(101 * MS).unwrap();
    assert_eq!(destaged(&engine), (4, 4, 2));
}

/// An SSD is replaced offline: nothing is served meanwhile, and what is due leaves with the first request afterwards.
#[test]
fn nothing_leaves_by_itself_while_a_replacement_holds_requests() {
    let array = [("devices", "5"), ("spare_devices", "1"), ("channels", "1"), ("blocks_per_plane", "24"), ("pages_per_block", "8")];
    let settings = [&array[..], &DRAM_PAGES, &[EVERY_MS, ("over_provisioning", "0.3"), ("fill", "1")]].concat();
    let mut simulation = Simulation::new(config("tiny", "offline-diff-raid", &settings), |_| true).unwrap();
    let write = |simulation: &mut Simulation, at_ns, page| {
        simulation.submit(&HostRequest { arrival_ns: at_ns, ..pages(HostOp::Write, page, 1) }).unwrap();
    };
    let destages = |simulation: &Simulation| simulation.result(&Default::default(), false, None).unwrap().buffer.unwrap().destages;
    // At the high mark the first page leaves, and the next one a millisecond later, were it not for the replacement.
    (0..4).for_each(|page| write(&mut simulation, 0, page));
    simulation.advance_until(0).unwrap();
    simulation.replace(0).unwrap();
    simulation.advance_until(10 * MS).unwrap();
    let record = &simulation.replacements()[0];
    assert_eq!((record.outcome, destages(&simulation)), (Outcome::Running, 1));
    while simulation.replacements()[0].outcome == Outcome::Running {
        let next_ns = simulation.next_event_ns().expect("the replacement goes on");
        simulation.advance_until(next_ns).unwrap();
        assert!(destages(&simulation) == 1 || simulation.replacements()[0].outcome == Outcome::Replaced);
    }
    simulation.advance_until(simulation.now_ns() + MS).unwrap();
    assert_eq!(destages(&simulation), 2, "the low mark");
}

/// Pages leave at 0 and at 1,000 ns, when four writes are answered: of what the buffer does in one instant, answers are the last.
#[test]
fn what_is_due_leaves_before_an_answer_of_the_same_instant() {
    let mut engine = buffered(&DRAM_PAGES, &[("destage_bytes_per_second", "4096000000")]);
    (0..4).for_each(|page| write(&mut engine, 0, page));
    let mut seen = Vec::new();
    while engine.next_event_ns().is_some_and(|next_ns| next_ns <= ANSWER_NS) {
        engine.advance().unwrap();
        seen.push((engine.now_ns(), destaged(&engine).1, engine.front_end.completed.len()));
    }
    assert_eq!(seen[0], (0, 1, 0));
    assert_eq!(seen[1..], [0, 1, 2, 3, 4].map(|answered| (ANSWER_NS, 2, answered)));
}
