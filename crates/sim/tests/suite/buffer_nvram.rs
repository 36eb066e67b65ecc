//! The write buffer in NVRAM (SPEC 4.2, 4.4, 4.9 items 4 and 19): room and answers to the nanosecond, and what it keeps. Counts and victims are in
//! `buffer_nvram_model`.

use crate::support::{config, engine, own_trace, pages, request, tags};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::{Outputs, Status, run, verify};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Action, Cause, Fault, HostOp, HostRequest, Lpn, Part};
use std::collections::BTreeMap;

const ANSWER_NS: u64 = 1000;
/// `tiny`: program command, 4 KiB over the bus at 25 ns a byte, array time.
const PROGRAM_NS: u64 = 175 + 4096 * 25 + 200_000;
pub const PAGE: u64 = 4096;
pub const SECTOR: u64 = 512;

/// `channels` channels of one die, with room for so many pages.
pub fn buffered(scheme: &str, channels: u64, room: u64, pairs: &[(&str, &str)]) -> Engine<Tags> {
    let (channels, bytes) = (channels.to_string(), (room * PAGE).to_string());
    let mut all = vec![("channels", channels.as_str()), ("nvram_buffer_bytes", bytes.as_str()), ("destage", "when_full")];
    all.extend(pairs);
    let config = config("tiny", scheme, &all);
    engine(&config, tags(&config))
}

fn times(engine: &Engine<Tags>) -> Vec<u64> {
    engine.front_end.completed.iter().map(|completed| completed.completed_ns).collect()
}

/// Submits one request to an engine at rest; how long its answer took.
fn time_of(engine: &mut Engine<Tags>, op: HostOp, offset_bytes: u64, size_bytes: u64) -> u64 {
    let start_ns = engine.now_ns();
    engine.submit(&request(op, offset_bytes, size_bytes), true);
    engine.finish().unwrap();
    is_clean(engine);
    engine.front_end.completed.last().unwrap().completed_ns - start_ns
}

pub fn is_clean(engine: &Engine<Tags>) {
    let found = verify::examine(engine, false, &mut |_, _| {});
    assert!(found.is_clean() && engine.executor.content.mismatches == 0, "{found:?}");
}

pub fn held(engine: &Engine<Tags>, most: u64) -> Vec<u64> {
    (0..most).filter(|page| engine.survey().buffer.unwrap().find(Lpn(*page)).is_some()).collect()
}

pub fn counted(engine: &Engine<Tags>, action: Action, cause: Cause) -> u64 {
    engine.executor.statistics.planned[action as usize][cause as usize]
}

pub fn evictions(engine: &Engine<Tags>) -> (u64, u64) {
    let counts = engine.survey().buffer.unwrap().counts;
    (counts.evictions, counts.pages_written_out)
}

/// Requests of all kinds, of which two in three meet in the first pages.
pub fn requests(engine: &Engine<Tags>, seed: u64, count: u64) -> Vec<HostRequest> {
    let mut random = SplitMix64::new(seed);
    let mut below = |end: u64| random.next_u64() % end;
    let space = engine.space_pages() * PAGE;
    let one = |_| {
        let op = match below(20) {
            0..11 => HostOp::Write,
            11..16 => HostOp::Read,
            16..18 => HostOp::Trim,
            18 => HostOp::WriteZeroes,
            _ => HostOp::Flush,
        };
        let unit = if below(2) == 0 { PAGE } else { SECTOR };
        let reach = (if below(3) > 0 { 60 * PAGE } else { space }).min(space);
        let size = (1 + below(8)) * unit;
        let offset = below((reach - size) / unit) * unit;
        if op == HostOp::Flush { request(op, 0, 0) } else { request(op, offset, size) }
    };
    (0..count).map(one).collect()
}

// ---- room and answers ----

#[test]
fn a_write_that_finds_room_is_answered_at_once() {
    let mut engine = buffered("raid0", 1, 2, &[]);
    assert_eq!(time_of(&mut engine, HostOp::Write, 0, 2 * PAGE), ANSWER_NS);
    assert_eq!(time_of(&mut engine, HostOp::Write, 0, SECTOR), ANSWER_NS, "a hit");
    assert_eq!(time_of(&mut engine, HostOp::Read, 0, 2 * PAGE), ANSWER_NS);
    assert_eq!(*engine.executor.media.nand().counts(), [[0; Cause::COUNT]; 3], "flash does nothing");
}

#[test]
fn a_write_waits_for_room_and_for_nothing_else() {
    let mut engine = buffered("raid0", 1, 1, &[]);
    engine.submit(&pages(HostOp::Write, 0, 1), true);
    engine.submit(&pages(HostOp::Write, 1, 1), true);
    engine.submit(&request(HostOp::Write, PAGE, SECTOR), true); // a hit on a page that is not admitted yet
    engine.submit(&pages(HostOp::Write, 2, 1), true);
    engine.submit(&pages(HostOp::Read, 0, 1), true); // on its way out, from the buffer
    engine.submit(&pages(HostOp::Read, 2, 1), true); // not admitted yet
    engine.finish().unwrap();
    is_clean(&engine);
    let by_request: BTreeMap<u64, u64> =
        engine.front_end.completed.iter().map(|completed| (completed.sequence, completed.completed_ns)).collect();
    let (first, second) = (PROGRAM_NS + ANSWER_NS, 2 * PROGRAM_NS + ANSWER_NS);
    let expected = [ANSWER_NS, first, first, second, ANSWER_NS, second];
    assert_eq!(by_request.into_values().collect::<Vec<_>>(), expected);
    // With room for two, the second page that leaves is programmed while nobody waits for it.
    let mut engine = buffered("raid0", 1, 2, &[]);
    time_of(&mut engine, HostOp::Write, 0, 2 * PAGE);
    assert_eq!(time_of(&mut engine, HostOp::Write, 2 * PAGE, PAGE), PROGRAM_NS + ANSWER_NS);
    assert_eq!(engine.now_ns(), ANSWER_NS + PROGRAM_NS + ANSWER_NS);
}

/// The pages of one request leave one after the other, each when the one before it has given up its slot.
#[test]
fn a_request_larger_than_the_buffer_goes_through_it() {
    let mut engine = buffered("raid0", 1, 1, &[]);
    assert_eq!(time_of(&mut engine, HostOp::Write, 0, 5 * PAGE), 4 * PROGRAM_NS + ANSWER_NS);
    assert_eq!((held(&engine, 9), evictions(&engine)), (vec![4], (4, 4)));
}

/// Room for two. Page 5 leaves for the third write, and for the fourth one both pages of the first stripe, of which the second to come waits for
/// the slot of page 5: their operation starts when that is programmed (with its parity, on another channel), whichever of the two it is. There are
/// idle chips, so one that did not wait would end earlier.
#[test]
fn a_stripe_leaves_when_the_last_of_its_pages_has_room() {
    for (first, second) in [(1, 2), (2, 1)] {
        let mut engine = buffered("raid5", 4, 2, &[("chips_per_channel", "4")]);
        for page in [5, first, second, 9] {
            engine.submit(&pages(HostOp::Write, page, 1), true);
        }
        engine.finish().unwrap();
        let expected = [0, 0, PROGRAM_NS, 2 * PROGRAM_NS].map(|time_ns| time_ns + ANSWER_NS);
        assert_eq!((times(&engine), evictions(&engine)), (expected.to_vec(), (2, 3)), "page {first} before page {second}");
        is_clean(&engine);
    }
}

#[test]
fn an_eviction_is_nobodys_wait_and_gives_room_when_it_has_ended() {
    let mut engine = buffered("raid0", 1, 2, &[]);
    for page in 0..4 {
        engine.submit(&pages(HostOp::Write, page, 1), true);
    }
    engine.advance_until(PROGRAM_NS + ANSWER_NS - 1).unwrap();
    assert_eq!((times(&engine), engine.outstanding()), (vec![ANSWER_NS; 2], 2));
    engine.advance_until(PROGRAM_NS + ANSWER_NS).unwrap();
    assert_eq!(engine.outstanding(), 1);
    engine.finish().unwrap();
    assert_eq!(times(&engine)[2..], [PROGRAM_NS + ANSWER_NS, 2 * PROGRAM_NS + ANSWER_NS]);
}

#[test]
fn a_flush_waits_until_all_earlier_writes_have_room() {
    let mut engine = buffered("raid0", 1, 2, &[]);
    assert_eq!(time_of(&mut engine, HostOp::Write, 0, 2 * PAGE), ANSWER_NS);
    assert_eq!(time_of(&mut engine, HostOp::Flush, 0, 0), 0, "it is durable");
    let start_ns = engine.now_ns();
    engine.front_end.completed.clear();
    engine.submit(&pages(HostOp::Write, 2, 1), true);
    engine.submit(&request(HostOp::Flush, 0, 0), true);
    engine.submit(&pages(HostOp::Write, 5, 1), true);
    engine.finish().unwrap();
    let sequences: Vec<u64> = engine.front_end.completed.iter().map(|completed| completed.sequence).collect();
    assert_eq!(sequences, [2, 3, 4]);
    let expected = [PROGRAM_NS, PROGRAM_NS, 2 * PROGRAM_NS].map(|time_ns| start_ns + time_ns + ANSWER_NS);
    assert_eq!((times(&engine), held(&engine, 9)), (expected.to_vec(), vec![2, 5]), "nothing is written for its sake");
}

#[test]
fn a_discard_makes_room() {
    let mut engine = buffered("raid0", 1, 2, &[]);
    time_of(&mut engine, HostOp::Write, 0, 2 * PAGE);
    assert_eq!(time_of(&mut engine, HostOp::Trim, PAGE, PAGE), 0, "nothing of it is on flash");
    assert_eq!(time_of(&mut engine, HostOp::Write, 2 * PAGE, PAGE), ANSWER_NS);
    assert_eq!((held(&engine, 9), evictions(&engine)), (vec![0, 2], (0, 0)));
    // One that is not admitted yet takes its slot, and gives it back at once.
    engine.front_end.completed.clear();
    let start_ns = engine.now_ns();
    engine.submit(&pages(HostOp::Write, 3, 1), true);
    engine.submit(&pages(HostOp::Trim, 3, 1), true);
    engine.submit(&pages(HostOp::Write, 4, 1), true);
    engine.finish().unwrap();
    let expected = [0, PROGRAM_NS + ANSWER_NS, PROGRAM_NS + ANSWER_NS].map(|time_ns| start_ns + time_ns);
    assert_eq!((times(&engine), held(&engine, 9)), (expected.to_vec(), vec![2, 4]));
    is_clean(&engine);
}

/// SPEC 4.4: a page frozen during its flush and written again takes a slot of its own, is the newer version, and survives.
#[test]
fn a_page_written_again_while_it_leaves_survives() {
    let mut engine = buffered("raid0", 1, 2, &[]);
    time_of(&mut engine, HostOp::Write, 0, 2 * PAGE);
    engine.submit(&pages(HostOp::Write, 2, 1), true); // page 0 leaves
    engine.advance_until(engine.now_ns() + 10_000).unwrap();
    engine.submit(&request(HostOp::Write, 0, SECTOR), true); // page 0 again: page 1 leaves
    assert_eq!((held(&engine, 9), evictions(&engine)), (vec![0, 2], (2, 2)));
    engine.submit(&pages(HostOp::Read, 0, 1), true); // one sector of the newer, the others of the older version
    engine.finish().unwrap();
    assert_eq!((engine.executor.content.reads_checked, held(&engine, 9)), (1, vec![0, 2]));
    is_clean(&engine);
    assert_eq!(time_of(&mut engine, HostOp::Read, 0, PAGE), 175 + 20_000 + 7 * SECTOR * 25, "seven sectors from flash");
    // Leaving once more, before the first time has ended, it is written after it.
    for page in [3, 4, 0, 5, 6, 0, 7, 8] {
        engine.submit(&request(HostOp::Write, page * PAGE, SECTOR), true);
    }
    engine.finish().unwrap();
    is_clean(&engine);
}

#[test]
fn thousands_of_writes_wait_in_order() {
    let mut engine = buffered("raid0", 4, 3, &[]);
    let mut random = SplitMix64::new(3);
    let space = engine.space_pages();
    for _ in 0..20_000 {
        engine.submit(&pages(HostOp::Write, random.next_u64() % space, 1), true);
    }
    engine.finish().unwrap();
    is_clean(&engine);
    let counts = engine.survey().buffer.unwrap().counts;
    assert_eq!(counts.write_misses - 3, counts.pages_written_out);
    assert!(counts.write_hits < 100 && engine.front_end.completed.len() == 20_000 && times(&engine).is_sorted());
    // Three pages at most are under way at once: with four channels they are programmed side by side.
    assert!(engine.now_ns() >= counts.pages_written_out * PROGRAM_NS / 3);
}

// ---- what leaves ----

/// SPEC 4.9 item 4, both sides.
#[test]
fn the_stripe_written_longest_ago_leaves_or_the_largest_one() {
    for (rule, left) in [("oldest_write", vec![4, 5, 6, 9, 16]), ("largest_group", vec![0, 1, 9, 16])] {
        let mut engine = buffered("raid0", 4, 6, &[("nvram_victim", rule)]);
        for page in [0, 4, 5, 1, 6, 9] {
            time_of(&mut engine, HostOp::Write, page * PAGE, PAGE);
        }
        time_of(&mut engine, HostOp::Write, 4 * PAGE, PAGE); // page 4 again: its stripe is written after that of page 0
        time_of(&mut engine, HostOp::Read, 0, PAGE); // uses nothing
        time_of(&mut engine, HostOp::Write, 16 * PAGE, PAGE);
        assert_eq!((held(&engine, 20), evictions(&engine).0), (left, 1), "{rule}");
    }
}

#[test]
fn a_full_stripe_leaves_as_one_operation_without_a_pre_read() {
    let mut engine = buffered("raid5", 5, 8, &[]);
    engine.fill(engine.space_pages());
    for page in [2, 0, 3, 1, 5, 4, 7, 6] {
        time_of(&mut engine, HostOp::Write, page * PAGE, PAGE);
    }
    let before = engine.scheme().parity_updates();
    time_of(&mut engine, HostOp::Write, 8 * PAGE, PAGE);
    assert_eq!((evictions(&engine), engine.scheme().parity_updates().full_stripe), ((1, 4), before.full_stripe + 1));
    assert_eq!(engine.executor.media.nand().counts()[Action::Read as usize], [0; Cause::COUNT]);
    assert_eq!((counted(&engine, Action::Program, Cause::Host), counted(&engine, Action::Program, Cause::Parity)), (4, 1));
    // Pages 4, 6 and 7, of which two were written in part: one operation, which reads what it does not have.
    time_of(&mut engine, HostOp::Trim, 5 * PAGE, PAGE);
    time_of(&mut engine, HostOp::Write, 12 * PAGE, 4 * PAGE);
    let before = engine.scheme().parity_updates();
    time_of(&mut engine, HostOp::Write, 16 * PAGE, PAGE);
    let now = engine.scheme().parity_updates();
    assert_eq!((evictions(&engine), now.rmw + now.rcw - before.rmw - before.rcw), ((2, 7), 1));
}

#[test]
fn a_buffer_of_no_bytes_is_none() {
    let completions = |pairs: &[(&str, &str)]| {
        let config = crate::support::small("raid5", pairs);
        let mut engine = engine(&config, tags(&config));
        engine.fill(100);
        for request in requests(&engine, 7, 500) {
            engine.submit(&request, true);
        }
        engine.finish().unwrap();
        (engine.front_end.completed.clone(), *engine.executor.media.nand().counts(), engine.survey().buffer.is_some())
    };
    let without = completions(&[]);
    assert!(!without.2);
    assert_eq!(without, completions(&[("nvram_buffer_bytes", "0"), ("nvram_victim", "largest_group")]));
}

// ---- what is kept ----

#[test]
fn what_it_took_is_safe_when_the_controller_dies() {
    for (key, lost) in [("nvram_buffer_bytes", 0), ("buffer_bytes", 3)] {
        let config = config("tiny", "raid5", &[(key, "32768")]);
        let mut engine = engine(&config, tags(&config));
        engine.submit(&pages(HostOp::Write, 0, 3), true);
        engine.finish().unwrap();
        assert_eq!(verify::examine(&engine, true, &mut |_, _| {}).mismatches, 0, "{key}");
        assert_eq!(verify::examine(&engine, false, &mut |_, _| {}).mismatches, lost, "{key}");
    }
}

#[test]
fn an_eviction_that_fails_is_counted_and_its_page_gone() {
    let mut engine = buffered("raid0", 4, 1, &[]);
    engine.fill(engine.space_pages());
    assert_eq!(time_of(&mut engine, HostOp::Write, SECTOR, SECTOR), ANSWER_NS);
    engine.fail(Fault::Loss(Part::Channel(0)));
    // The rest of the page is lost: the sector has nothing to be merged with.
    engine.submit(&pages(HostOp::Write, 1, 1), true);
    engine.finish().unwrap();
    assert!(engine.front_end.completed.iter().all(|completed| completed.ok), "the host knows nothing of it");
    let counts = engine.survey().buffer.unwrap().counts;
    assert_eq!((counts.failed_lost, counts.failed_no_space, engine.executor.statistics.failed_lost), (1, 0, 0));
    let found = verify::examine(&engine, false, &mut |_, _| {});
    assert_eq!((found.mismatches, found.pages_gone), (0, engine.lost_pages().count() as u64), "{found:?}");
    assert!(engine.is_gone(Lpn(0)));
    // The room is there again.
    assert_eq!(time_of_next(&mut engine, 2), PROGRAM_NS + ANSWER_NS);
}

#[test]
fn a_page_that_flash_lost_is_not_missed_while_the_buffer_has_all_of_it() {
    let mut engine = buffered("raid0", 4, 8, &[]);
    engine.fill(engine.space_pages());
    engine.fail(Fault::Loss(Part::Channel(0)));
    let lost = engine.lost_pages().count() as u64;
    let found = |engine: &Engine<Tags>| {
        let found = verify::examine(engine, true, &mut |_, _| {});
        assert_eq!((found.mismatches, found.pages_gone), (0, engine.lost_pages().count() as u64));
        found.pages_gone
    };
    for (bytes, expected) in [(SECTOR, lost), (PAGE, lost - 1)] {
        engine.submit(&request(HostOp::Write, 0, bytes), true);
        engine.finish().unwrap();
        assert_eq!(found(&engine), expected);
    }
    assert!(succeeds(&mut engine, HostOp::Read, 0, PAGE));
    assert!(!succeeds(&mut engine, HostOp::Read, 4 * PAGE, PAGE));
}

/// Submits one request to an engine at rest; whether it succeeds. What a read returns must be what it may return, as the contents see it.
fn succeeds(engine: &mut Engine<Tags>, op: HostOp, offset_bytes: u64, size_bytes: u64) -> bool {
    engine.submit(&request(op, offset_bytes, size_bytes), true);
    engine.finish().unwrap();
    let found = verify::examine(engine, false, &mut |_, _| {});
    assert_eq!((engine.executor.content.mismatches, found.mismatches), (0, 0), "{found:?}");
    assert_eq!(found.pages_gone, engine.lost_pages().count() as u64);
    engine.front_end.completed.last().unwrap().ok
}

/// Where flash has nothing of it, where it has an older content, and where the redundancy still gives that though the page is dead.
#[test]
fn what_was_taken_and_cannot_be_written_is_gone_until_all_of_it_is_new() {
    for (scheme, is_filled) in [("raid0", false), ("fra", false), ("fra", true)] {
        let mut engine = buffered(scheme, 4, 1, &[]);
        engine.fill(if is_filled { engine.space_pages() } else { 0 });
        assert!(succeeds(&mut engine, HostOp::Write, 0, PAGE));
        engine.fail(Fault::Loss(Part::Channel(0)));
        assert!(succeeds(&mut engine, HostOp::Write, PAGE, PAGE), "it has room");
        assert_eq!(engine.lost_pages().collect::<Vec<_>>(), [Lpn(0)], "{scheme}");
        for (op, offset_bytes, size_bytes) in [
            (HostOp::Read, 0, PAGE),
            (HostOp::Read, SECTOR, 2 * PAGE),
            (HostOp::Write, 0, SECTOR),
            (HostOp::WriteZeroes, SECTOR, SECTOR),
            (HostOp::Trim, SECTOR, SECTOR),
        ] {
            let nothing_to_do = op == HostOp::Trim;
            assert_eq!(succeeds(&mut engine, op, offset_bytes, size_bytes), nothing_to_do, "{scheme}: {op:?}");
        }
        assert_eq!((engine.executor.statistics.failed_lost, engine.is_gone(Lpn(0))), (4, true));
        // A discard makes it unwritten, and what is written over that is all there is.
        let mut discarded = engine.clone();
        assert!(succeeds(&mut discarded, HostOp::Trim, 0, PAGE), "{scheme}");
        assert!(!discarded.is_gone(Lpn(0)));
        assert!(succeeds(&mut discarded, HostOp::Read, 0, PAGE));
        assert!(succeeds(&mut discarded, HostOp::Write, 0, SECTOR));
        assert!(succeeds(&mut discarded, HostOp::Read, 0, PAGE));
        // A new content is good from the moment it is taken, and gone when it cannot be written either.
        assert!(succeeds(&mut engine, HostOp::Write, 0, PAGE));
        assert!(succeeds(&mut engine, HostOp::Write, 0, SECTOR));
        assert!(succeeds(&mut engine, HostOp::Read, 0, PAGE));
        assert!(succeeds(&mut engine, HostOp::Write, PAGE, PAGE));
        assert!(!succeeds(&mut engine, HostOp::Read, 0, PAGE), "{scheme}");
    }
}

/// Page 0 is written again while it leaves, and then that fails.
#[test]
fn of_a_page_that_fails_on_its_way_the_newest_whole_content_counts() {
    for (bytes, is_whole) in [(PAGE, true), (SECTOR, false)] {
        let mut engine = buffered("raid0", 4, 2, &[]);
        time_of(&mut engine, HostOp::Write, 0, PAGE);
        time_of(&mut engine, HostOp::Write, 5 * PAGE, PAGE);
        engine.submit(&pages(HostOp::Write, 9, 1), true); // page 0 leaves
        engine.submit(&request(HostOp::Write, 0, bytes), true);
        engine.advance_until(engine.now_ns() + 10_000).unwrap();
        engine.fail(Fault::Loss(Part::Channel(0)));
        engine.finish().unwrap();
        assert_eq!((engine.survey().buffer.unwrap().counts.pages_failed, engine.is_gone(Lpn(0))), (1, !is_whole));
        assert_eq!(succeeds(&mut engine, HostOp::Read, 0, bytes), is_whole);
        assert_eq!(succeeds(&mut engine, HostOp::Write, SECTOR, SECTOR), is_whole);
        assert!(succeeds(&mut engine, HostOp::Write, 0, PAGE));
        assert!(succeeds(&mut engine, HostOp::Read, 0, PAGE));
    }
}

/// A sector of page 12 leaves, and a read of all of it is to take that from the buffer and the rest from flash. When it is its turn, the sector is gone.
#[test]
fn a_read_that_waits_fails_when_its_page_is_gone() {
    let mut engine = buffered("fra", 4, 1, &[("serial_subrequests", "strict")]);
    engine.fill(engine.space_pages());
    assert_eq!(time_of(&mut engine, HostOp::Write, 12 * PAGE, SECTOR), ANSWER_NS);
    engine.submit(&pages(HostOp::Write, 30, 1), true);
    engine.advance_until(engine.now_ns() + 200_000).unwrap();
    engine.submit(&pages(HostOp::Read, 0, 13), true);
    let channel = engine.scheme().locate(Lpn(12)).member.0;
    engine.fail(Fault::Loss(Part::Channel(channel.into())));
    engine.finish().unwrap();
    assert!(engine.is_gone(Lpn(12)));
    assert_eq!((engine.executor.content.mismatches, engine.front_end.completed.last().unwrap().ok), (0, false));
}

/// The same where the read waits for an entry of the map: that of page 14, while page 13 leaves with page 12, whose channel is dead.
#[test]
fn a_read_that_waits_for_the_map_fails_when_its_page_is_gone() {
    let map = [("mapping", "dftl"), ("cmt_entries", "20"), ("blocks_per_plane", "20"), ("over_provisioning", "0.4")];
    let mut engine = buffered("fra", 4, 2, &map);
    engine.fill(engine.space_pages());
    assert_eq!(time_of(&mut engine, HostOp::Write, 13 * PAGE - SECTOR, 2 * SECTOR), ANSWER_NS);
    engine.submit(&pages(HostOp::Write, 30, 1), true);
    let channel = engine.scheme().locate(Lpn(12)).member.0;
    let mut outcomes = [0, 0];
    for (fails_us, reads_us) in
        (10..500).step_by(20).flat_map(|fails_us| (0..500).step_by(20).map(move |later_us| (fails_us, fails_us + later_us)))
    {
        let mut engine = engine.clone();
        let start_ns = engine.now_ns();
        engine.advance_until(start_ns + 1000 * fails_us).unwrap();
        engine.fail(Fault::Loss(Part::Channel(channel.into())));
        engine.advance_until(start_ns + 1000 * reads_us).unwrap();
        let sequence = engine.submit(&pages(HostOp::Read, 13, 2), true);
        engine.finish().unwrap();
        assert_eq!(engine.executor.content.mismatches, 0);
        let read = engine.front_end.completed.iter().find(|completed| completed.sequence == sequence).unwrap();
        outcomes[usize::from(read.ok)] += 1;
    }
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

fn time_of_next(engine: &mut Engine<Tags>, page: u64) -> u64 {
    let start_ns = engine.now_ns();
    engine.submit(&pages(HostOp::Write, page, 1), true);
    engine.finish().unwrap();
    engine.front_end.completed.last().unwrap().completed_ns - start_ns
}

/// SPEC 4.9 item 19.
#[test]
fn the_end_of_a_run_leaves_it_as_it_is_or_drains_it() {
    let writes: String = (0..10).map(|page| format!("{},W,{},4096,,\n", page * 1000, page * 4096)).collect();
    let path = own_trace("drain", &writes);
    let result = |drain: &str| {
        let settings = [("channels", "4"), ("nvram_buffer_bytes", "24576"), ("destage", "when_full"), ("drain", drain), ("verify", "true")];
        let config = config("tiny", "raid0", &settings);
        let finished = run(&path, config, &Outputs::default(), true, &mut |_| true).unwrap();
        assert_eq!((finished.status, &finished.warnings), (Status::Done, &vec![]));
        serde_json::from_str::<serde_json::Value>(&finished.json()).unwrap()
    };
    let (kept, drained) = (result("false"), result("true"));
    let expected = serde_json::json!({
        "kind": "nvram", "hits": 0, "misses": 10, "hit_rate": 0.0, "read_hits": 0, "read_misses": 0, "write_hits": 0, "write_misses": 10,
        "evictions": 1, "pages_written_out": 4, "mean_victim_pages": 4.0, "destages": 0, "pages_destaged": 0, "destage_bytes_per_second": null,
        "failed_evictions": {"no_space": 0, "lost": 0}, "pages_buffered": 6,
    });
    assert_eq!((&kept["buffer"], &drained["buffer"]), (&expected, &expected));
    assert!(kept["drain"].is_null());
    assert_eq!((&drained["drain"]["pages"], &drained["drain"]["flash_ops"]["programs"]["total"]), (&6.into(), &6.into()));
    assert_eq!((&kept["verify"]["mismatches"], &drained["verify"]["mismatches"]), (&0.into(), &0.into()));
    assert_eq!((&kept["verify"]["pages_lost"], &drained["verify"]["pages_lost"]), (&0.into(), &0.into()));
}
