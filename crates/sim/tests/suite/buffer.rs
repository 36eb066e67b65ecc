//! The data buffer in DRAM with the rule of its paper: its rules (SPEC 2.4, 2.7) on hits, evictions, read-before-writes, reads, flushes and trims, each delay to the nanosecond.

use crate::support::{config, engine, own_trace, pages, request, tags};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::{Config, Outputs, Simulation, Status, run, verify};
use flashraid_vocabulary::{Action, Cause, Fault, HostOp, Lpn, MemberId, Part, Version};

const ANSWER_NS: u64 = 1000;
/// `tiny`: program command, 4 KiB over the bus at 25 ns a byte, array time.
const PROGRAM_NS: u64 = 175 + 4096 * 25 + 200_000;
/// Read command, array time, 4 KiB over the bus.
const READ_NS: u64 = 175 + 20_000 + 4096 * 25;
/// Programs and reads of one sector.
const SECTOR_PROGRAM_NS: u64 = 175 + 512 * 25 + 200_000;
const SECTOR_READ_NS: u64 = 175 + 20_000 + 512 * 25;

/// The rule of the paper.
const RULE: [(&str, &str); 2] = [("destage", "when_full"), ("destage_unit", "page")];

/// One channel of one die, so that nothing overlaps, with a buffer of two pages.
fn device(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let channels = if scheme == "raid0" { "1" } else { "4" };
    config("tiny", scheme, &[&[("channels", channels), ("buffer_bytes", "8192")], &RULE, pairs].concat())
}

fn buffered(scheme: &str, pairs: &[(&str, &str)]) -> Engine<Tags> {
    let config = device(scheme, pairs);
    engine(&config, tags(&config))
}

/// Submits one request to an engine at rest; how long it took.
fn time_of(engine: &mut Engine<Tags>, op: HostOp, offset_bytes: u64, size_bytes: u64) -> u64 {
    let start_ns = engine.now_ns();
    engine.submit(&request(op, offset_bytes, size_bytes), true);
    engine.finish().unwrap();
    assert!(verify::stored(engine).is_clean() && engine.executor.content.mismatches == 0);
    engine.front_end.completed.last().unwrap().completed_ns - start_ns
}

fn counted(engine: &Engine<Tags>, action: Action, cause: Cause) -> u64 {
    engine.executor.statistics.planned[action as usize][cause as usize]
}

const PAGE: u64 = 4096;
const SECTOR: u64 = 512;

#[test]
fn a_page_finds_its_place_in_the_time_of_the_dram() {
    let mut engine = buffered("raid0", &[]);
    assert_eq!(time_of(&mut engine, HostOp::Write, 0, 2 * PAGE), ANSWER_NS, "both pages at once");
    assert_eq!(time_of(&mut engine, HostOp::Write, SECTOR, SECTOR), ANSWER_NS, "a hit");
    assert_eq!(time_of(&mut engine, HostOp::Read, 0, 2 * PAGE), ANSWER_NS);
    let counts = engine.survey().buffer.unwrap().counts;
    assert_eq!((counts.write_misses, counts.write_hits, counts.read_hits, counts.evictions), (2, 1, 2, 0));
    assert_eq!(*engine.executor.media.nand().counts(), [[0; Cause::COUNT]; 3], "flash does nothing");
    let mut slower = buffered("raid0", &[("buffer_ns", "70")]);
    assert_eq!(time_of(&mut slower, HostOp::Write, 0, PAGE), 70);
}

#[test]
fn answers_come_in_order_at_their_time() {
    let mut engine = buffered("raid0", &[]);
    for at_ns in [0, 300, 300, 900] {
        engine.advance_until(at_ns).unwrap();
        engine.submit(&pages(HostOp::Write, 0, 1), true);
    }
    assert_eq!(engine.next_event_ns(), Some(1000));
    engine.advance_until(1300).unwrap();
    let times = |engine: &Engine<Tags>| engine.front_end.completed.iter().map(|completed| completed.completed_ns).collect::<Vec<_>>();
    assert_eq!((times(&engine), engine.now_ns(), engine.outstanding()), (vec![1000, 1300, 1300], 1300, 1));
    engine.finish().unwrap();
    assert_eq!(times(&engine), [1000, 1300, 1300, 1900]);
}

#[test]
fn a_full_buffer_evicts_the_least_recently_used_page_and_the_host_waits() {
    let mut engine = buffered("raid0", &[]);
    time_of(&mut engine, HostOp::Write, 0, 2 * PAGE);
    time_of(&mut engine, HostOp::Write, 0, SECTOR); // page 0 is used again
    assert_eq!(time_of(&mut engine, HostOp::Write, 2 * PAGE, PAGE), PROGRAM_NS, "page 1 has to go first");
    let held = |engine: &Engine<Tags>| (0..4).filter(|page| engine.front_end.holds(Lpn(*page))).collect::<Vec<_>>();
    assert_eq!(held(&engine), [0, 2]);
    // A read hit uses a page too, in part as well; a miss does not take one in.
    time_of(&mut engine, HostOp::Read, SECTOR, SECTOR);
    time_of(&mut engine, HostOp::Read, PAGE, PAGE);
    time_of(&mut engine, HostOp::Write, 3 * PAGE, PAGE);
    assert_eq!(held(&engine), [0, 3]);
    // Two pages evict two: the second program begins when the bus is free, and the die after it.
    assert_eq!(time_of(&mut engine, HostOp::Write, 8 * PAGE, 2 * PAGE), 2 * PROGRAM_NS);
    assert_eq!(engine.survey().buffer.unwrap().counts.evictions, 4);
    assert_eq!(counted(&engine, Action::Program, Cause::Host), 4);
}

#[test]
fn an_eviction_reads_first_what_it_does_not_cover() {
    let mut engine = buffered("raid0", &[("buffer_bytes", "4096")]);
    let write = |engine: &mut Engine<Tags>, page: u64, sector: u64, sectors: u64| {
        time_of(engine, HostOp::Write, page * PAGE + sector * SECTOR, sectors * SECTOR)
    };
    let update_reads = |engine: &Engine<Tags>| counted(engine, Action::Read, Cause::UpdateRead);
    write(&mut engine, 0, 2, 1);
    // Nothing is on flash: nothing is read, and one sector crosses the bus.
    assert_eq!(write(&mut engine, 1, 0, 1), SECTOR_PROGRAM_NS);
    assert_eq!(write(&mut engine, 0, 2, 1), SECTOR_PROGRAM_NS);
    // The same sector again: all that flash holds is replaced, although the page is written.
    assert_eq!(write(&mut engine, 1, 0, 2), SECTOR_PROGRAM_NS);
    assert_eq!(update_reads(&engine), 0);
    // Page 1 left its sector 0 first and leaves sectors 0 and 1 now.
    assert_eq!(write(&mut engine, 0, 3, 1), SECTOR_PROGRAM_NS + 512 * 25);
    assert_eq!(update_reads(&engine), 0);
    // Page 0 has sector 2 on flash and leaves with sector 3: the page is read, and programmed as a whole.
    assert_eq!(write(&mut engine, 1, 0, 8), READ_NS + PROGRAM_NS);
    assert_eq!(update_reads(&engine), 1);
    // Sectors gather in DRAM until they cover.
    write(&mut engine, 0, 2, 1);
    assert_eq!(write(&mut engine, 0, 3, 1), ANSWER_NS);
    assert_eq!(write(&mut engine, 1, 0, 1), SECTOR_PROGRAM_NS + 512 * 25);
    assert_eq!(update_reads(&engine), 1);
    assert_eq!(counted(&engine, Action::Program, Cause::Host), engine.survey().buffer.unwrap().counts.evictions);
}

#[test]
fn filled_pages_hold_all_their_sectors_and_one_read_serves_all_copies() {
    for (scheme, reads, programs) in [("raid0", 1, 1), ("raid1", 1, 2)] {
        let mut engine = buffered(scheme, &[]);
        engine.fill(engine.space_pages());
        time_of(&mut engine, HostOp::Write, 0, SECTOR);
        time_of(&mut engine, HostOp::Flush, 0, 0);
        assert_eq!(counted(&engine, Action::Read, Cause::UpdateRead), reads, "{scheme}");
        let all = counted(&engine, Action::Program, Cause::Host) + counted(&engine, Action::Program, Cause::Mirror);
        assert_eq!(all, programs, "{scheme}");
        time_of(&mut engine, HostOp::Write, 0, PAGE);
        time_of(&mut engine, HostOp::Flush, 0, 0);
        assert_eq!(counted(&engine, Action::Read, Cause::UpdateRead), reads, "{scheme}: a whole page needs none");
    }
}

#[test]
fn reads_take_the_rest_from_flash() {
    let mut engine = buffered("raid0", &[]);
    engine.fill(engine.space_pages());
    time_of(&mut engine, HostOp::Write, 0, SECTOR);
    assert_eq!(time_of(&mut engine, HostOp::Read, 0, SECTOR), ANSWER_NS);
    assert_eq!(time_of(&mut engine, HostOp::Read, 0, 2 * SECTOR), SECTOR_READ_NS, "one sector is missing");
    assert_eq!(time_of(&mut engine, HostOp::Read, 3 * SECTOR, SECTOR), SECTOR_READ_NS, "none of it is there");
    assert_eq!(counted(&engine, Action::Read, Cause::Host), 2);
    let counts = engine.survey().buffer.unwrap().counts;
    assert_eq!((counts.read_hits, counts.read_misses), (1, 2));
    // Pages of one request in a row are one operation, as without a buffer.
    assert_eq!(time_of(&mut engine, HostOp::Read, 4 * PAGE, PAGE), READ_NS);
    // What was never written is zero, at once; what is written in part, too, beyond that part.
    let mut erased = buffered("raid0", &[]);
    assert_eq!(time_of(&mut erased, HostOp::Read, 0, PAGE), 0);
    time_of(&mut erased, HostOp::Write, 0, SECTOR);
    assert_eq!(time_of(&mut erased, HostOp::Read, 0, PAGE), ANSWER_NS);
    time_of(&mut erased, HostOp::Flush, 0, 0);
    assert_eq!(time_of(&mut erased, HostOp::Read, 0, PAGE), SECTOR_READ_NS, "flash holds one sector");
    assert_eq!(time_of(&mut erased, HostOp::Read, SECTOR, SECTOR), 0);
    assert_eq!(erased.executor.statistics.unmapped_reads, 2);
}

#[test]
fn with_prefill_reads_find_pages_of_which_flash_holds_all() {
    let mut engine = buffered("raid0", &[("unwritten", "prefill")]);
    time_of(&mut engine, HostOp::Write, 0, SECTOR);
    assert_eq!(time_of(&mut engine, HostOp::Read, 0, 2 * SECTOR), SECTOR_READ_NS);
    assert_eq!((engine.executor.statistics.prefilled_pages, engine.executor.statistics.unmapped_reads), (1, 0));
    assert_eq!(time_of(&mut engine, HostOp::Flush, 0, 0), READ_NS + PROGRAM_NS, "the sector does not cover the page");
}

#[test]
fn a_page_on_its_way_out_is_read_from_dram_and_may_be_written_again() {
    let mut engine = buffered("raid0", &[("buffer_bytes", "4096")]);
    engine.submit(&pages(HostOp::Write, 0, 1), true);
    engine.submit(&pages(HostOp::Write, 1, 1), true); // page 0 leaves
    engine.advance_until(10_000).unwrap();
    assert!(engine.front_end.holds(Lpn(0)) && engine.outstanding() == 1);
    engine.submit(&pages(HostOp::Read, 0, 1), true);
    engine.advance_until(20_000).unwrap();
    assert_eq!((engine.front_end.completed.len(), engine.front_end.completed[1].completed_ns), (2, 11_000), "read from DRAM");
    assert_eq!(engine.survey().buffer.unwrap().counts.read_misses, 1, "yet no hit, which would depend on timing");
    // It takes a new entry; page 1 leaves for it, and page 0 once more for page 2: after its first departure, by the lock.
    engine.submit(&request(HostOp::Write, 0, SECTOR), true);
    engine.submit(&pages(HostOp::Write, 2, 1), true);
    engine.submit(&pages(HostOp::Read, 0, 1), true);
    engine.finish().unwrap();
    assert_eq!(counted(&engine, Action::Read, Cause::UpdateRead), 1, "of the page that left first");
    assert_eq!(counted(&engine, Action::Read, Cause::Host), 0);
    assert!(engine.executor.content.mismatches == 0 && engine.executor.content.reads_checked == 2);
    assert!(verify::stored(&engine).is_clean());
}

#[test]
fn a_flush_writes_everything_and_the_next_one_waits_for_it() {
    let mut engine = buffered("raid0", &[]);
    engine.submit(&pages(HostOp::Write, 0, 2), true);
    engine.submit(&request(HostOp::Flush, 0, 0), true);
    engine.submit(&request(HostOp::Flush, 0, 0), true);
    engine.finish().unwrap();
    let times: Vec<_> = engine.front_end.completed.iter().map(|completed| (completed.sequence, completed.completed_ns)).collect();
    assert_eq!(times, [(0, ANSWER_NS), (1, 2 * PROGRAM_NS), (2, 2 * PROGRAM_NS)]);
    assert!((0..2).all(|page| !engine.front_end.holds(Lpn(page))));
    assert_eq!(time_of(&mut engine, HostOp::Flush, 0, 0), 0, "nothing is left");
    assert_eq!(engine.survey().buffer.unwrap().counts.evictions, 2);
}

#[test]
fn a_trim_drops_what_is_buffered_and_follows_what_leaves() {
    let mut engine = buffered("raid0", &[("buffer_bytes", "16384")]);
    engine.submit(&pages(HostOp::Write, 0, 4), true);
    engine.submit(&request(HostOp::Flush, 0, 0), true); // all four leave
    engine.submit(&pages(HostOp::Write, 0, 1), true);
    engine.submit(&request(HostOp::Trim, 0, 3 * PAGE), true);
    assert_eq!(engine.survey().buffer.unwrap().count(), 0);
    // A write after the trim lies over zeroes, whatever is still under way.
    engine.submit(&request(HostOp::Write, 0, SECTOR), true);
    engine.submit(&pages(HostOp::Read, 0, 2), true);
    engine.advance_until(10_000).unwrap();
    assert_eq!(engine.executor.content.reads_checked, 2);
    engine.finish().unwrap();
    assert_eq!(counted(&engine, Action::Program, Cause::Host), 4);
    assert!(verify::stored(&engine).is_clean() && engine.executor.content.mismatches == 0);
    // Nothing of page 0 is on flash: its sector goes without a read.
    time_of(&mut engine, HostOp::Flush, 0, 0);
    assert_eq!(counted(&engine, Action::Read, Cause::UpdateRead), 0);
    assert_eq!(counted(&engine, Action::Read, Cause::Host), 0);
    // A discard of everything, many times the buffer.
    let space = engine.space_pages() * PAGE;
    time_of(&mut engine, HostOp::Write, 9 * PAGE, 2 * PAGE);
    time_of(&mut engine, HostOp::Trim, 0, space);
    assert_eq!(engine.survey().buffer.unwrap().count(), 0);
}

/// One member is dead, and what is left of another one fills up: at last it has no page for a parity, and the trim of a page that needs one fails. Which
/// page that is.
fn failed_trim(pairs: &[(&str, &str)]) -> (Engine<Tags>, u64) {
    let settings = [("rebuild", "none"), ("blocks_per_plane", "16"), ("over_provisioning", "0.2")];
    let mut engine = buffered("raid5", &[&settings, pairs].concat());
    engine.fill(engine.space_pages());
    let (dead, full) = (MemberId(0), MemberId(1));
    engine.fail(Fault::Loss(Part::Channel(dead.0.into())));
    engine.fail(Fault::Loss(Part::Plane { channel: full.0.into(), chip: 0, die: 0, plane: 1 }));
    let members = |engine: &Engine<Tags>, lpn| {
        let parity = engine.scheme().parity_of(Lpn(lpn)).expect("its parity");
        (engine.scheme().locate(Lpn(lpn)).member, parity.member)
    };
    for lpn in 0..engine.space_pages() {
        if members(&engine, lpn).0 == full {
            engine.submit(&request(HostOp::Write, lpn * PAGE, PAGE), true);
        }
    }
    engine.finish().unwrap();
    let failed = engine.executor.statistics.failed_no_space;
    assert!(failed > 0, "{full:?} is full");
    let failing = (0..engine.space_pages()).find(|lpn| {
        let (data, parity) = members(&engine, *lpn);
        if data != dead && parity == full {
            engine.submit(&request(HostOp::Trim, lpn * PAGE, PAGE), true);
            engine.finish().unwrap();
        }
        engine.executor.statistics.failed_no_space > failed
    });
    (engine, failing.expect("a trim that fails"))
}

/// What a trim that fails would have unmapped is read from flash, and no zeroes.
#[test]
fn a_trim_that_fails_leaves_what_flash_holds() {
    let (mut engine, lpn) = failed_trim(&[]);
    let reads = counted(&engine, Action::Read, Cause::Host);
    engine.submit(&request(HostOp::Read, lpn * PAGE, PAGE), true);
    engine.finish().unwrap();
    assert_eq!((engine.executor.statistics.unmapped_reads, counted(&engine, Action::Read, Cause::Host) - reads), (0, 1));
}

/// The same, and then a part of the page is written. What the discard left is valid and is kept, with a buffer and without; but not under `read_if_used`, as
/// only the fill has written it.
#[test]
fn what_a_trim_leaves_that_fails_is_valid_and_not_used() {
    for (rule, keeps) in [("read_if_needed", true), ("read_if_used", false)] {
        for buffer_bytes in ["8192", "0"] {
            let (mut engine, lpn) = failed_trim(&[("partial_writes", rule), ("buffer_bytes", buffer_bytes)]);
            let (space, width) = (engine.space_pages(), u64::from(engine.scheme().width()));
            let mut succeeds = |op, offset_bytes, size_bytes| {
                engine.submit(&request(op, offset_bytes, size_bytes), true);
                engine.finish().unwrap();
                engine.front_end.completed.last().unwrap().ok
            };
            // Whole stripes make room. A flush has to tell of writes that have failed.
            for stripe in (0..space / width).filter(|stripe| *stripe != lpn / width) {
                assert!(succeeds(HostOp::Trim, stripe * width * PAGE, width * PAGE));
            }
            succeeds(HostOp::Flush, 0, 0);
            assert!(succeeds(HostOp::Write, lpn * PAGE, SECTOR) && succeeds(HostOp::Flush, 0, 0));
            let is_all = engine.executor.content.durable(Lpn(lpn)) == engine.executor.content.newest(Lpn(lpn));
            assert_eq!(!is_all, keeps, "{rule}, a buffer of {buffer_bytes} bytes");
        }
    }
}

/// That page 0 cannot be written is told to the write for which it leaves, and, as its own write was answered, to whoever reads it.
#[test]
fn a_page_that_cannot_leave_is_gone() {
    let mut engine = buffered("raid0", &[("buffer_bytes", "4096")]);
    time_of(&mut engine, HostOp::Write, 0, PAGE);
    engine.fail(Fault::Loss(Part::Channel(0)));
    engine.front_end.completed.clear();
    for (op, page) in [(HostOp::Write, 1), (HostOp::Read, 0), (HostOp::Read, 1)] {
        engine.submit(&pages(op, page, 1), true);
        engine.finish().unwrap();
    }
    let done: Vec<bool> = engine.front_end.completed.iter().map(|completed| completed.ok).collect();
    assert_eq!(
        (done, engine.executor.statistics.failed_no_space, engine.executor.statistics.failed_lost),
        (vec![false, false, true], 1, 1)
    );
    assert_eq!((engine.executor.content.mismatches, verify::stored(&engine).mismatches, verify::stored(&engine).pages_gone), (0, 0, 1));
}

#[test]
fn write_zeroes_writes_parts_and_unmaps_the_rest() {
    let mut engine = buffered("raid0", &[("buffer_bytes", "32768")]);
    engine.fill(engine.space_pages());
    assert_eq!(time_of(&mut engine, HostOp::WriteZeroes, SECTOR, 3 * PAGE), ANSWER_NS);
    let held: Vec<_> = (0..5).filter(|page| engine.front_end.holds(Lpn(*page))).collect();
    assert_eq!(held, [0, 3]);
    assert_eq!(time_of(&mut engine, HostOp::Read, PAGE, 2 * PAGE), 0, "unwritten");
}

#[test]
fn bytes_are_rounded_outwards_to_sectors() {
    let mut engine = buffered("raid0", &[]);
    time_of(&mut engine, HostOp::Write, 500, 20);
    let buffer = engine.survey().buffer.unwrap();
    assert_eq!(buffer.sectors(buffer.find(Lpn(0)).unwrap()), 0b11);
    assert_eq!(time_of(&mut engine, HostOp::Read, 0, 1), ANSWER_NS);
}

/// What is decided depends on the order of requests alone.
#[test]
fn counts_do_not_depend_on_timing() {
    let counts = |gap_ns: u64, scheme: &str| {
        let mut engine = buffered(scheme, &[("buffer_bytes", "65536")]);
        engine.fill(100);
        let mut random = flashraid_vocabulary::SplitMix64::new(5);
        let mut below = |end: u64| random.next_u64() % end;
        for _ in 0..3_000 {
            engine.advance_until(engine.now_ns() + gap_ns).unwrap();
            let op = [HostOp::Write, HostOp::Write, HostOp::Read, HostOp::Trim][below(4) as usize];
            engine.submit(&request(op, below(400) * SECTOR, (1 + below(20)) * SECTOR), true);
        }
        engine.finish().unwrap();
        assert!(verify::stored(&engine).is_clean() && engine.executor.content.mismatches == 0);
        (
            engine.survey().buffer.unwrap().counts,
            counted(&engine, Action::Read, Cause::UpdateRead),
            counted(&engine, Action::Program, Cause::Host),
        )
    };
    for scheme in ["raid0", "raid1"] {
        let together = counts(0, scheme);
        assert!(together.1 > 100 && together.0.evictions == together.2);
        assert_eq!(together, counts(5_000, scheme));
        assert_eq!(together, counts(3_000_000, scheme));
    }
}

/// A run ends with pages in the buffer; `drain` writes them, apart from what the workload cost.
#[test]
fn a_drain_is_counted_apart() {
    let writes: String = (0..10).map(|page| format!("{},W,{},4096,,\n", page * 1000, page * 4096)).collect();
    let path = own_trace("drain", &writes);
    let result = |drain: &str| {
        let config = device("raid1", &[("buffer_bytes", "12288"), ("drain", drain), ("verify", "true")]);
        let finished = run(&path, config, &Outputs::default(), true, &mut |_| true).unwrap();
        assert_eq!((finished.status, &finished.warnings), (Status::Done, &vec![]));
        serde_json::from_str::<serde_json::Value>(&finished.json()).unwrap()
    };
    let (kept, drained) = (result("false"), result("true"));
    for result in [&kept, &drained] {
        assert_eq!(result["flash_ops"]["programs"]["total"], 14);
        let expected = serde_json::json!({
            "kind": "dram", "hits": 0, "misses": 10, "hit_rate": 0.0, "read_hits": 0, "read_misses": 0, "write_hits": 0, "write_misses": 10,
            "evictions": 7, "pages_written_out": 7, "mean_victim_pages": 1.0, "destages": 0, "pages_destaged": 0, "destage_bytes_per_second": null,
            "failed_evictions": {"no_space": 0, "lost": 0}, "pages_buffered": 3,
        });
        assert_eq!(result["buffer"], expected);
        assert_eq!(result["requests"]["completed"], 10);
    }
    assert!(kept["drain"].is_null());
    assert_eq!((&drained["drain"]["pages"], &drained["drain"]["flash_ops"]["programs"]["total"]), (&3.into(), &6.into()));
    assert_eq!(drained["drain"]["simulated_ns"], 2 * PROGRAM_NS, "pages 7 and 9 have the same members");
    assert_eq!((&kept["verify"]["mismatches"], &drained["verify"]["mismatches"]), (&0.into(), &0.into()));
    assert_eq!(drained["verify"]["pages_checked"].as_u64(), kept["verify"]["pages_checked"].as_u64().map(|pages| pages + 10 * 2));
    let mut simulation = Simulation::new(device("raid1", &[]), |_| true).unwrap();
    simulation.submit(&pages(HostOp::Write, 0, 1)).unwrap();
    assert!(simulation.finish().is_ok());
}

/// Flash has lost its only sectors of page 0, and the buffer has them anew, with others: nothing is missed, now or when that has left.
#[test]
fn a_part_that_covers_all_that_flash_had_renews_the_page() {
    let mut engine = buffered("raid0", &[("chips_per_channel", "2")]);
    time_of(&mut engine, HostOp::Write, 6 * SECTOR, 2 * SECTOR);
    time_of(&mut engine, HostOp::Flush, 0, 0);
    let ppn = engine.executor.media.store().lookup(engine.scheme().locate(Lpn(0)), Version::Current).unwrap();
    engine.fail(Fault::Loss(Part::Chip {
        channel: 0,
        chip: engine.executor.media.nand().shape().chip_of_lun(engine.executor.media.nand().places().lun_of(ppn)),
    }));
    let lost = |engine: &Engine<Tags>| (engine.lost_pages().count(), verify::examine(engine, true, &mut |_, _| {}).pages_gone);
    assert_eq!(lost(&engine), (1, 1));
    engine.submit(&request(HostOp::Write, 6 * SECTOR, SECTOR), true);
    engine.finish().unwrap();
    assert_eq!(lost(&engine), (1, 1), "a sector is missing");
    engine.submit(&request(HostOp::Write, 4 * SECTOR, 4 * SECTOR), true);
    engine.finish().unwrap();
    for (op, bytes) in [(HostOp::Read, PAGE), (HostOp::Flush, 0), (HostOp::Read, PAGE)] {
        assert_eq!(lost(&engine), (0, 0), "{op:?}");
        time_of(&mut engine, op, 0, bytes);
        assert!(engine.front_end.completed.last().unwrap().ok, "{op:?}");
    }
}

/// The write for which page 0 leaves hears that it cannot, and so does the next flush, of which nothing else is left to write.
#[test]
fn a_flush_tells_of_a_page_that_could_not_leave() {
    let mut engine = buffered("raid0", &[("buffer_bytes", "4096")]);
    time_of(&mut engine, HostOp::Write, 0, PAGE);
    engine.fail(Fault::Loss(Part::Channel(0)));
    engine.submit(&pages(HostOp::Write, 1, 1), true);
    engine.submit(&pages(HostOp::Trim, 1, 1), true);
    engine.finish().unwrap();
    engine.front_end.completed.clear();
    for _ in 0..2 {
        engine.submit(&request(HostOp::Flush, 0, 0), true);
        engine.finish().unwrap();
    }
    assert_eq!(engine.front_end.completed.iter().map(|completed| completed.ok).collect::<Vec<_>>(), [false, true]);
}

/// The same of a page that is gone, as what left could not be written.
#[test]
fn a_part_that_covers_all_that_was_to_be_there_renews_a_page_that_is_gone() {
    let mut engine = buffered("raid0", &[]);
    time_of(&mut engine, HostOp::Write, 6 * SECTOR, 2 * SECTOR);
    engine.submit(&request(HostOp::Flush, 0, 0), true);
    engine.submit(&request(HostOp::Write, 4 * SECTOR, 4 * SECTOR), true);
    engine.fail(Fault::Loss(Part::Channel(0)));
    engine.finish().unwrap();
    assert!(!engine.is_gone(Lpn(0)) && engine.survey().buffer.unwrap().counts.pages_failed == 1);
    engine.submit(&request(HostOp::Read, 0, PAGE), true);
    engine.finish().unwrap();
    assert!(engine.front_end.completed.last().unwrap().ok && engine.executor.content.mismatches == 0);
    assert_eq!((engine.lost_pages().count(), verify::examine(&engine, true, &mut |_, _| {}).pages_gone), (0, 0));
}
