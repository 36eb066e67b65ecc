//! Times to the nanosecond, each derived. On ssd1 and ssd2 (SPEC 0.4) a command takes 7 cycles of 25 ns = 175 ns of bus (of an
//! erase 5 = 125), a page of 4096 bytes 102,400 ns, a read 20,000 ns of array, a program 200,000, an erase 1,500,000. So alone
//!
//! - a read takes 175 + 20,000 + 102,400 = 122,575 ns,
//! - a program 175 + 102,400 = 102,575 ns of bus, then 200,000 of array: 302,575 ns.
//!
//! Most tests place pages by arithmetic (static, W D P): in a channel of ssd1 the local pages 0, 1, 2, 3 lie on four chips, 4 to 7 on
//! their second dies, 8 to 15 likewise on the second planes, and 16 where 0 is. Under raid0 local page p of channel 0 is host page 4 p.

use crate::support::{at, config, filled, pages, placed, request};
use flashraid_sim::Config;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Untracked;
use flashraid_vocabulary::{Action, Cause, HostOp, HostRequest};

const READ: u64 = 122_575;
const PROGRAM: u64 = 302_575;
/// Bus time of a program.
const DATA_IN: u64 = 102_575;

#[test]
fn idle_time_is_when_nothing_is_under_way() {
    // To wait for the idle time is to do nothing: there is no garbage to collect then.
    for more in [&[][..], &[("gc_idle_threshold", "0.5")], &[("gc_idle_threshold", "0.5"), ("idle_ns", "700")]] {
        let mut engine = filled(&placed(more), 128);
        // Two reads of one die, the second of which comes while the first is served; a write; a request that arrives at an idle device.
        let requests = [
            (1_000, pages(HostOp::Read, at(0), 1)),
            (1_000 + READ / 2, pages(HostOp::Read, at(16), 1)),
            (1_000_000, pages(HostOp::Write, 0, 1)),
        ];
        let completed = run(&mut engine, &requests);
        engine.advance_until(4_000_000).unwrap();
        assert_eq!(engine.survey().idle_ns, 4_000_000 - (completed[1] - 1_000) - PROGRAM);
    }
}

/// Submits requests at their times and returns when each completed, in order of submission.
fn run(engine: &mut Engine<Untracked>, requests: &[(u64, HostRequest)]) -> Vec<u64> {
    let start = engine.front_end.completed.len();
    let first = requests.iter().map(|(at_ns, request)| {
        engine.advance_until(*at_ns).unwrap();
        engine.submit(request, true)
    });
    let sequences: Vec<u64> = first.collect();
    engine.finish().unwrap();
    let completed = &engine.front_end.completed[start..];
    assert!(completed.iter().all(|completed| completed.ok));
    sequences
        .iter()
        .map(|sequence| completed.iter().find(|completed| completed.sequence == *sequence).expect("completed").completed_ns)
        .collect()
}

/// All at time 0 on a device with 256 written host pages.
fn at_once(config: &Config, requests: &[HostRequest]) -> Vec<u64> {
    let requests: Vec<_> = requests.iter().map(|request| (0, *request)).collect();
    run(&mut filled(config, 256), &requests)
}

fn read(page: u64) -> HostRequest {
    pages(HostOp::Read, page, 1)
}

fn write(page: u64) -> HostRequest {
    pages(HostOp::Write, page, 1)
}

#[test]
fn one_page_operation() {
    for device in ["ssd1", "ssd2", "ssd3", "tiny"] {
        assert_eq!(at_once(&config(device, "raid0", &[]), &[read(0)]), [READ], "{device}");
        assert_eq!(at_once(&config(device, "raid0", &[]), &[write(0)]), [PROGRAM], "{device}");
        // Answered when the data are in the register: command and transfer.
        assert_eq!(at_once(&config(device, "raid0", &[("write_completes", "data_in")]), &[write(0)]), [DATA_IN], "{device}");
    }
}

#[test]
fn two_reads_on_one_bus() {
    // Two chips: commands one after the other (175, 350), arrays side by side (ready at 20,175 and 20,350), data one after the
    // other: 20,175 + 102,400 = 122,575, and 102,400 later.
    assert_eq!(at_once(&placed(&[]), &[read(at(0)), read(at(1))]), [READ, READ + 102_400]);
    // One die keeps its register until the data are out: the second starts when the first has ended.
    assert_eq!(at_once(&placed(&[]), &[read(at(0)), read(at(8))]), [READ, 2 * READ]);
    // Two channels have nothing in common.
    assert_eq!(at_once(&placed(&[]), &[read(0), read(1)]), [READ, READ]);
}

#[test]
fn two_programs_on_one_bus() {
    // Interleaved: the second's data follow the first's, its array works beside.
    assert_eq!(at_once(&placed(&[]), &[write(at(0)), write(at(1))]), [PROGRAM, DATA_IN + PROGRAM]);
    // One die: the second starts when the first has ended.
    assert_eq!(at_once(&placed(&[]), &[write(at(0)), write(at(8))]), [PROGRAM, 2 * PROGRAM]);
    // Free placement takes the next idle die for the second, whatever the page.
    assert_eq!(at_once(&config("ssd1", "raid0", &[]), &[write(at(0)), write(at(8))]), [PROGRAM, DATA_IN + PROGRAM]);
    // Eight dies keep the bus busy: the k-th ends at k transfers and one array time; the ninth program finds the first die idle
    // again (8 x 102,575 > 302,575), so it waits for the bus alone.
    let nine: Vec<HostRequest> = (0..9).map(|local| write(at(local))).collect();
    let expected: Vec<u64> = (1..=9).map(|k| k * DATA_IN + 200_000).collect();
    assert_eq!(at_once(&config("ssd1", "raid0", &[]), &nine), expected);
}

#[test]
fn dies_of_a_chip_work_alone_or_together() {
    // Local pages 0 and 4: both dies of chip 0.
    let both = [write(at(0)), write(at(4))];
    assert_eq!(at_once(&placed(&[("lun", "die")]), &both), [PROGRAM, DATA_IN + PROGRAM]);
    assert_eq!(at_once(&placed(&[("lun", "chip")]), &both), [PROGRAM, 2 * PROGRAM]);
}

#[test]
fn reads_and_programs_meet() {
    // On two chips of a bus: the read's command waits for the program's data (102,575), then 122,575 more.
    assert_eq!(at_once(&placed(&[]), &[write(at(0)), read(at(1))]), [PROGRAM, DATA_IN + READ]);
    // The other way round: the read's command ends at 175, the program's data cross the bus until 102,750, and only then the read's
    // do, which were ready at 20,175.
    assert_eq!(at_once(&placed(&[]), &[read(at(0)), write(at(1))]), [175 + DATA_IN + 102_400, 175 + PROGRAM]);
    // One die works on a program until 302,575. A program and then a read wait for it.
    let waiting = [(0, write(at(0))), (1, write(at(8))), (2, read(at(16)))];
    let of = |scheduling| run(&mut filled(&placed(&[("scheduling", scheduling)]), 256), &waiting);
    assert_eq!(of("read_first"), [PROGRAM, PROGRAM + READ + PROGRAM, PROGRAM + READ]);
    assert_eq!(of("fifo"), [PROGRAM, 2 * PROGRAM, 2 * PROGRAM + READ]);
}

/// The update of one strip: when it completes, pre-reads, and full-stripe, RMW and RCW updates.
fn update(device: &str, pairs: &[(&str, &str)]) -> (u64, u64, [u64; 3]) {
    let mut engine = filled(&config(device, "raid5", pairs), 280);
    let before = engine.scheme().parity_updates();
    let done = run(&mut engine, &[(0, write(0))])[0];
    let after = engine.scheme().parity_updates();
    let reads = engine.executor.media.nand().counts()[Action::Read as usize][Cause::PreRead as usize];
    (done, reads, [after.full_stripe - before.full_stripe, after.rmw - before.rmw, after.rcw - before.rcw])
}

#[test]
fn partial_stripe_updates() {
    // Pre-reads side by side on their channels (122,575), then data and parity side by side on theirs (302,575).
    const UPDATE: u64 = READ + PROGRAM;
    // 3+1, one strip: RMW would read strip and parity, RCW the two other strips; the tie goes to RCW.
    assert_eq!(update("ssd1", &[]), (UPDATE, 2, [0, 0, 1]));
    assert_eq!(update("ssd1", &[("update", "rcw")]), (UPDATE, 2, [0, 0, 1]));
    assert_eq!(update("ssd1", &[("update", "rmw")]), (UPDATE, 2, [0, 1, 0]));
    // 7+1, one strip: RMW reads strip and parity, RCW the six other strips.
    assert_eq!(update("ssd2", &[]), (UPDATE, 2, [0, 1, 0]));
    assert_eq!(update("ssd2", &[("update", "rmw")]), (UPDATE, 2, [0, 1, 0]));
    assert_eq!(update("ssd2", &[("update", "rcw")]), (UPDATE, 6, [0, 0, 1]));
}

#[test]
fn members_on_one_bus_share_it() {
    // Four chips of one channel as members. RCW: commands until 350, data of the two reads until 20,175 + 2 x 102,400 = 224,975; then
    // the data of two programs until 224,975 + 2 x 102,575 = 430,125, and the second's array: 630,125.
    let one_bus = [("channels", "1"), ("member", "chip")];
    assert_eq!(update("ssd1", &one_bus), (630_125, 2, [0, 0, 1]));
    // Eight chips on one channel, forced RCW: six reads until 20,175 + 6 x 102,400 = 634,575, then two programs: 839,725 + 200,000.
    let eight = [("channels", "1"), ("chips_per_channel", "8"), ("member", "chip"), ("update", "rcw")];
    assert_eq!(update("ssd1", &eight), (1_039_725, 6, [0, 0, 1]));
}

#[test]
fn no_member_starves_another_on_its_bus() {
    // Chips of four dies as members: one chip could keep the bus busy. Programs cross it in the order of their arrival all the same.
    let config = config("ssd1", "raid0", &[("channels", "1"), ("member", "chip"), ("dies_per_chip", "4"), ("lun", "die")]);
    let arrivals = [(0, 0), (0, 4), (0, 8), (1, 1), (2, 12), (2, 16), (2, 20)].map(|(at_ns, page)| (at_ns, write(page)));
    let expected: Vec<u64> = (1..=7).map(|k| k * DATA_IN + 200_000).collect();
    assert_eq!(run(&mut filled(&config, 256), &arrivals), expected);
}

#[test]
fn writes_without_pre_reads() {
    // Both copies at once, on two channels.
    assert_eq!(at_once(&config("ssd1", "raid1", &[]), &[write(0)]), [PROGRAM]);
    // Three strips and the parity at once, on four channels; RAID-4 the same.
    for scheme in ["raid4", "raid5"] {
        let mut engine = filled(&config("ssd1", scheme, &[]), 256);
        assert_eq!(run(&mut engine, &[(0, pages(HostOp::Write, 3, 3))]), [PROGRAM]);
        assert_eq!(engine.executor.media.nand().counts()[Action::Read as usize].iter().sum::<u64>(), 0);
    }
    // Two stripes: every channel gets two programs, and takes the second's data after the first's.
    assert_eq!(at_once(&config("ssd1", "raid5", &[]), &[pages(HostOp::Write, 0, 6)]), [DATA_IN + PROGRAM]);
}

#[test]
fn parts_of_pages() {
    let part = |op| request(op, 512, 512);
    for (transfer, part_ns) in [("touched", 512 * 25), ("page", 102_400)] {
        let config = config("ssd1", "raid0", &[("transfer", transfer)]);
        // A part of a page is read alone, or with the page.
        assert_eq!(at_once(&config, &[part(HostOp::Read)]), [175 + 20_000 + part_ns]);
        // A part of a page that was never written is programmed alone, or with the page.
        assert_eq!(run(&mut filled(&config, 0), &[(0, part(HostOp::Write))]), [175 + part_ns + 200_000]);
        // A part of a written page needs the whole page: read, then programmed.
        assert_eq!(at_once(&config, &[part(HostOp::Write)]), [READ + PROGRAM]);
    }
    // Sectors cross the bus: 100 bytes from 1000 on lie in sectors 1 and 2, and all but the first 3 bytes of a page in all of its sectors.
    let plain = config("ssd1", "raid0", &[]);
    for op in [HostOp::Read, HostOp::Write] {
        let array_ns = if op == HostOp::Read { 20_000 } else { 200_000 };
        let took = |offset, size| run(&mut filled(&plain, if op == HostOp::Read { 8 } else { 0 }), &[(0, request(op, offset, size))]);
        assert_eq!(took(1000, 100), [175 + 1024 * 25 + array_ns], "{op:?}");
        assert_eq!(took(511, 1), [175 + 512 * 25 + array_ns], "{op:?}");
        assert_eq!(took(3, 4093), [175 + 4096 * 25 + array_ns], "{op:?}");
    }
    // RCW beside an update read: three reads on three channels, then two programs. RMW reads the old page once for both ends.
    for (update, reads) in [("rcw", 3), ("rmw", 2)] {
        let mut engine = filled(&config("ssd1", "raid5", &[("update", update)]), 255);
        assert_eq!(run(&mut engine, &[(0, part(HostOp::Write))]), [READ + PROGRAM]);
        assert_eq!(engine.executor.media.nand().counts()[Action::Read as usize].iter().sum::<u64>(), reads, "{update}");
    }
}

#[test]
fn planes_together() {
    // A read keeps the die busy until 122,575; then two programs or two reads on its two planes, at the same page offset, are waiting.
    let behind = |op| [(0, read(at(16))), (1, pages(op, at(0), 1)), (1, pages(op, at(8), 1))];
    let of = |multi_plane, op| run(&mut filled(&placed(&[("multi_plane", multi_plane)]), 256), &behind(op))[1..].to_vec();
    assert_eq!(of("false", HostOp::Write), [READ + PROGRAM, READ + 2 * PROGRAM]);
    // Both pages' data, then one array operation.
    assert_eq!(of("true", HostOp::Write), [READ + 2 * DATA_IN + 200_000; 2]);
    assert_eq!(of("false", HostOp::Read), [2 * READ, 3 * READ]);
    // Both commands (350), one array operation (20,000), then the data one after the other.
    assert_eq!(of("true", HostOp::Read), [READ + 350 + 20_000 + 102_400, READ + 350 + 20_000 + 2 * 102_400]);
    // Planes whose next pages have different offsets cannot go together.
    let mut engine = filled(&placed(&[("multi_plane", "true")]), 256);
    run(&mut engine, &[(0, write(at(8)))]);
    let start = engine.now_ns();
    let behind = behind(HostOp::Write).map(|(at_ns, request)| (start + at_ns, request));
    assert_eq!(run(&mut engine, &behind)[1..], [start + READ + PROGRAM, start + READ + 2 * PROGRAM]);
}

/// One channel of two chips of two dies of one plane of 12 blocks of 4 pages; local page p lies on chip p mod 2, die p / 2 mod 2.
///
/// Each plane holds 16 pages in its blocks 0 to 3. Eight of those in the first plane are overwritten, so that of its blocks 0 to 2
/// only 1, 1 and 2 pages are valid. The ninth program leaves 23 of 48 pages free, fewer than half: it starts a GC run of block 0,
/// which got down to one page before block 1 did. Returned is the engine when the ninth program is submitted.
fn collecting(pairs: &[(&str, &str)]) -> (Engine<Untracked>, u64) {
    let mut all = vec![
        ("channels", "1"),
        ("chips_per_channel", "2"),
        ("dies_per_chip", "2"),
        ("planes_per_die", "1"),
        ("blocks_per_plane", "12"),
        ("pages_per_block", "4"),
        ("over_provisioning", "0.34"),
        ("gc_threshold", "0.5"),
        ("allocation", "static"),
        ("lun", "die"),
    ];
    all.extend(pairs);
    let mut engine = filled(&config("ssd1", "raid0", &all), 64);
    for page in [0, 1, 2, 4, 5, 6, 8, 9] {
        let start = engine.now_ns();
        assert_eq!(run(&mut engine, &[(start, write(4 * page))]), [start + PROGRAM]);
    }
    let start = engine.now_ns();
    engine.submit(&write(4 * 10), true);
    (engine, start)
}

/// When a read completes that comes a nanosecond after the GC run's first step began, counted from the ninth program's start.
fn read_during_gc(page: u64, pairs: &[(&str, &str)]) -> u64 {
    let (mut engine, start) = collecting(pairs);
    let done = run(&mut engine, &[(start + PROGRAM + 1, read(page))])[0] - start;
    let counts = &engine.executor.media.nand().counts();
    let of_gc = [0, 1, 2].map(|action: usize| counts[action][Cause::Gc as usize]);
    assert_eq!(of_gc, [1, 1, 1], "one page moved, one block erased");
    assert_eq!(
        engine.executor.media.store().space().erase_counts().collect::<Vec<_>>().iter().position(|erases| *erases == 1),
        Some(0),
        "block 0 was the victim"
    );
    done
}

/// The die programs until 302,575, reads the page to move until 425,150, programs it until 727,725, erases until 2,227,850.
const ERASED: u64 = PROGRAM + READ + PROGRAM + 125 + 1_500_000;

#[test]
fn what_stands_still_during_a_gc() {
    // The same die. With nothing blocked the read waits for the move's read and goes before its program.
    assert_eq!(read_during_gc(60, &[("gc_blocking_scope", "none")]), PROGRAM + 2 * READ);
    for blocks in ["lun", "chip", "channel"] {
        assert_eq!(read_during_gc(60, &[("gc_blocking_scope", blocks)]), ERASED + READ, "{blocks}");
    }
    // The other die of the chip (page 62), and the other chip (page 61): ready beside the move, data over the bus behind those of
    // the move's read (until 425,150). What blocks others is urgent, so there the move's program takes the bus first.
    let beside = PROGRAM + READ + 102_400;
    for (page, blocks, expected) in [
        (62, "none", beside),
        (62, "lun", beside + DATA_IN),
        (62, "chip", ERASED + READ),
        (62, "channel", ERASED + READ),
        (61, "none", beside),
        (61, "lun", beside + DATA_IN),
        (61, "chip", beside + DATA_IN),
        (61, "channel", ERASED + READ),
    ] {
        assert_eq!(read_during_gc(page, &[("gc_blocking_scope", blocks)]), expected, "page {page}, {blocks}");
    }
}

#[test]
fn copyback_moves_inside_the_plane() {
    // Two commands (350), then read and program without the bus: 302,575 + 350 + 220,000; then the erase.
    let erased = PROGRAM + 350 + 220_000 + 125 + 1_500_000;
    assert_eq!(read_during_gc(60, &[("copyback", "true")]), erased + READ);
    // The bus is free meanwhile: a read of the other chip waits for the two commands alone.
    assert_eq!(read_during_gc(61, &[("copyback", "true")]), PROGRAM + 350 + READ);
}

#[test]
fn a_gc_ends_when_its_block_is_erased() {
    let (mut engine, start) = collecting(&[]);
    engine.finish().unwrap();
    assert_eq!(engine.now_ns() - start, ERASED);
    let (mut engine, start) = collecting(&[("copyback", "true")]);
    engine.finish().unwrap();
    assert_eq!(engine.now_ns() - start, PROGRAM + 350 + 220_000 + 125 + 1_500_000);
}
