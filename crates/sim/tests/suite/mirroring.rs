//! SIRF-1 with the engine (SPEC 2.4, 2.7): where copies come to lie, which copy is read, when a write is answered. Times are derived as
//! in `timing.rs`: alone a read takes 122,575 ns, a program 302,575 ns.

use crate::support::{config, engine, pages, request};
use flashraid_sim::Config;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Untracked;
use flashraid_vocabulary::{HostOp, HostRequest, LocalPage, MemberId, MemberPage, Version};

const READ: u64 = 122_575;
const PROGRAM: u64 = 302_575;

/// Two channels of `chips` chips with one die each: mirror 0 and mirror 1.
fn two_channels(chips: &str, pairs: &[(&str, &str)]) -> Config {
    let mut all = vec![("channels", "2"), ("chips_per_channel", chips)];
    all.extend(pairs);
    config("tiny", "sirf1", &all)
}

/// An engine with the first 64 host pages written, page k on chip k mod `chips` of both channels.
fn filled(config: &Config) -> Engine<Untracked> {
    let mut engine = engine(config, Untracked);
    engine.fill(64);
    engine
}

fn submit(engine: &mut Engine<Untracked>, at_ns: u64, request: HostRequest) {
    engine.advance_until(at_ns).unwrap();
    engine.submit(&request, true);
}

/// When each request completed, in order of submission.
fn completions(engine: &mut Engine<Untracked>) -> Vec<u64> {
    engine.finish().unwrap();
    let mut completed = engine.front_end.completed.clone();
    completed.sort_by_key(|completed| completed.sequence);
    completed.iter().map(|completed| completed.completed_ns).collect()
}

fn read(page: u64) -> HostRequest {
    pages(HostOp::Read, page, 1)
}

fn write_part(page: u64) -> HostRequest {
    request(HostOp::Write, page * 4096, 512)
}

/// Reads started at each channel.
fn reads(engine: &Engine<Untracked>) -> Vec<u64> {
    let luns = engine.executor.media.nand().luns().chunks(engine.executor.media.nand().luns().len() / 2);
    luns.map(|luns| luns.iter().flat_map(|lun| lun.operations[0]).sum()).collect()
}

/// Figure 3 and tables I and II of the paper: pages 7 to 11 on two channels, each placed by what its own group is doing.
#[test]
fn copies_are_placed_independently() {
    let mut engine = filled(&two_channels("4", &[]));
    let next_page = 64;
    submit(&mut engine, 0, read(next_page - 4)); // one chip of mirror 0 is busy when the writes come
    submit(&mut engine, 0, pages(HostOp::Write, 7, 5));
    engine.finish().unwrap();
    // (channel, page in the channel) of each copy.
    let place = |lpn: u32, mirror: u16| {
        let address = MemberPage { member: MemberId(mirror), page: LocalPage(lpn) };
        let ppn = engine.executor.media.store().lookup(address, Version::Current).expect("written");
        let lun = engine.executor.media.nand().places().lun_of(ppn);
        (engine.executor.media.nand().channel_of_lun(lun), engine.executor.media.nand().shape().chip_of_lun(lun), ppn)
    };
    let copies: Vec<_> = (7..12).map(|lpn| (place(lpn, 0), place(lpn, 1))).collect();
    assert!(copies.iter().all(|(first, second)| (first.0, second.0) == (0, 1)), "one copy in each mirror: {copies:?}");
    assert!(copies.iter().any(|(first, second)| first.1 != second.1), "the same chip in both for each page: {copies:?}");
    let mut places: Vec<_> = copies.iter().flat_map(|(first, second)| [first.2, second.2]).collect();
    places.sort_unstable_by_key(|ppn| ppn.0);
    places.dedup();
    assert_eq!(places.len(), 10, "ten physical pages");
    // Table II: reads of 7 to 11 alternate, here from mirror 1 on, as one read has been.
    let before = reads(&engine);
    let now_ns = engine.now_ns();
    submit(&mut engine, now_ns, pages(HostOp::Read, 7, 5));
    engine.finish().unwrap();
    assert_eq!(reads(&engine).iter().zip(before).map(|(now, before)| now - before).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_read_before_a_write_takes_the_shorter_queue() {
    let mut engine = filled(&two_channels("4", &[]));
    // Chip 0 of channel 0, chip 1 of channel 1; the turn is channel 0's again.
    submit(&mut engine, 0, read(0));
    submit(&mut engine, 0, read(1));
    submit(&mut engine, 0, write_part(4)); // its copies are on both chips 0
    engine.finish().unwrap();
    assert_eq!(reads(&engine), [1, 2], "chip 0 of channel 1 is idle");
    let mut engine = filled(&two_channels("4", &[]));
    submit(&mut engine, 0, write_part(4));
    submit(&mut engine, 0, write_part(5));
    submit(&mut engine, 0, write_part(6));
    engine.finish().unwrap();
    assert_eq!(reads(&engine), [2, 1], "a tie by turn; then the other channel, which has less to do; then a tie");
}

#[test]
fn one_read_before_a_write_delays_both_programs() {
    let mut engine = filled(&two_channels("1", &[]));
    submit(&mut engine, 0, write_part(3));
    assert_eq!(completions(&mut engine), [READ + PROGRAM]);
    assert_eq!(reads(&engine), [1, 0]);
}

/// SPEC 2.7 ruling 2. Mirror 0's only chip reads until 122,575 and programs until 425,150; mirror 1's programs at once.
#[test]
fn a_write_is_answered_with_all_copies_or_with_the_first() {
    for (completes, answer_ns, reread_ns) in [
        // Until then the former version is the durable one, and is read from mirror 1 when its program has ended.
        ("all_copies", READ + PROGRAM, 310_000 + READ),
        // The controller holds the new version until the last copy is written, and gives it at once.
        ("first_copy", PROGRAM, 310_000),
    ] {
        let mut engine = filled(&two_channels("1", &[("completes", completes)]));
        submit(&mut engine, 0, read(9));
        submit(&mut engine, 0, pages(HostOp::Write, 0, 1));
        submit(&mut engine, 310_000, read(0));
        submit(&mut engine, 320_000, pages(HostOp::Flush, 0, 0));
        submit(&mut engine, 1_000_000, read(0));
        // A flush waits for every copy in any case.
        assert_eq!(completions(&mut engine), [READ, answer_ns, reread_ns, READ + PROGRAM, 1_000_000 + READ], "{completes}");
    }
}

#[test]
fn every_read_takes_the_next_channel() {
    // Two reads of one page at once are served side by side, four two by two.
    let mut engine = filled(&two_channels("1", &[]));
    for _ in 0..4 {
        submit(&mut engine, 0, read(5));
    }
    assert_eq!(completions(&mut engine), [READ, READ, 2 * READ, 2 * READ]);
    assert_eq!(reads(&engine), [2, 2]);
}

#[test]
fn three_mirrors_give_three_reads_at_once() {
    let config = config("tiny", "sirf1", &[("channels", "3"), ("groups", "3")]);
    let mut engine = filled(&config);
    for _ in 0..3 {
        submit(&mut engine, 0, read(5));
    }
    submit(&mut engine, 1_000_000, pages(HostOp::Write, 5, 1));
    assert_eq!(completions(&mut engine), [READ, READ, READ, 1_000_000 + PROGRAM]);
}
