//! Who comes first, to the nanosecond: orders of sub-requests, of the bus, of GC runs, of the reads of a rebuild. As in `timing`, on
//! ssd1 a command takes 175 ns of bus (of an erase 125), a page 102,400 ns, a read 20,000 ns of array, a program 200,000, an erase
//! 1,500,000; under static placement the local pages 0, 1, 2, 3 of a channel lie on its four chips.

use crate::support::{at, config, filled, pages, placed, request};
use flashraid_sim::Config;
use flashraid_sim::engine::content::Untracked;
use flashraid_sim::engine::{Engine, RebuildRecord};
use flashraid_vocabulary::{Fault, HostOp, HostRequest, LocalPage, Lpn, MemberId, MemberPage, Part};

/// Data of a page on the bus.
const PAGE: u64 = 102_400;
const READ: u64 = 175 + 20_000 + PAGE;
/// Bus time of a program.
const DATA_IN: u64 = 175 + PAGE;
const PROGRAM: u64 = DATA_IN + 200_000;

fn read(page: u64) -> HostRequest {
    pages(HostOp::Read, page, 1)
}

fn write(page: u64) -> HostRequest {
    pages(HostOp::Write, page, 1)
}

/// Submits requests at their times on a device with 256 written host pages; when each completed.
fn run(config: &Config, requests: &[(u64, HostRequest)]) -> Vec<u64> {
    run_on(&mut filled(config, 256), requests)
}

fn run_on(engine: &mut Engine<Untracked>, requests: &[(u64, HostRequest)]) -> Vec<u64> {
    let submitted = requests.iter().map(|(at_ns, request)| {
        engine.advance_until(*at_ns).unwrap();
        engine.submit(request, true)
    });
    let submitted: Vec<u64> = submitted.collect();
    engine.finish().unwrap();
    let of = |sequence: &u64| {
        engine.front_end.completed.iter().find(|completed| completed.ok && completed.sequence == *sequence).expect("completed")
    };
    submitted.iter().map(|sequence| of(sequence).completed_ns).collect()
}

// ---- sub-requests ----

/// RAID-5 of 3+1. The first request updates page 0, the second writes page 2 of the same stripe and, as its second sub-request, the whole
/// next stripe. So its first one waits for the stripe's lock.
///
/// An update reads the two other strips on their channels, then programs data and parity: 122,575 + 302,575 = 425,150 ns. If the
/// stripe's four programs come at the same instant, the read commands have the buses before them (175), and their data cross before those of the
/// reads: 175 + 102,575 + 102,400 = 205,150 for the reads, 507,725 with the programs, whose buses are free by then.
#[test]
fn sub_requests_follow_each_other_as_the_setting_says() {
    const UPDATE: u64 = READ + PROGRAM;
    const UPDATE_BESIDE_PROGRAMS: u64 = 175 + DATA_IN + PAGE + PROGRAM;
    let of = |serial| run(&config("ssd1", "raid5", &[("serial_subrequests", serial)]), &[(0, write(0)), (0, pages(HostOp::Write, 2, 4))]);
    // The stripe is programmed beside the first request's reads, and the second update finds an idle device.
    assert_eq!(of("off"), [UPDATE_BESIDE_PROGRAMS, UPDATE_BESIDE_PROGRAMS + UPDATE]);
    // It waits until the update's first page operations are queued, and is programmed beside these.
    assert_eq!(of("queued"), [UPDATE, UPDATE + UPDATE_BESIDE_PROGRAMS]);
    // It waits until the update has ended.
    assert_eq!(of("strict"), [UPDATE, 2 * UPDATE + PROGRAM]);
}

/// Each page of RAID-0 is a decision of its own. Strictly one after the other takes the sum of their times, whatever the number; on channels of their own
/// they are else written at once. So are the parts of pages around those that a write of zeroes discards, which takes no time.
#[test]
fn all_decisions_of_a_request_are_in_a_row() {
    let of = |serial, request| run(&config("ssd1", "raid0", &[("serial_subrequests", serial)]), &[(0, request)])[0];
    for count in 1..=4 {
        let writes = pages(HostOp::Write, 0, count);
        assert_eq!(["off", "queued", "strict"].map(|serial| of(serial, writes)), [PROGRAM, PROGRAM, count * PROGRAM]);
    }
    let part = of("off", request(HostOp::Write, 2048, 2048));
    let zeroes = request(HostOp::WriteZeroes, 2048, 3 * 4096);
    assert_eq!(["off", "queued", "strict"].map(|serial| of(serial, zeroes)), [part, part, 2 * part]);
    // The first page is not written, so that its discard ends at once; nothing waits for it.
    let zeroes = request(HostOp::WriteZeroes, 300 * 4096, 4096 + 2048);
    let part = of("off", request(HostOp::Write, 301 * 4096, 2048));
    assert_eq!(["off", "queued", "strict"].map(|serial| of(serial, zeroes)), [part; 3]);
}

/// Others need not wait: what follows in a row is a request's own.
#[test]
fn requests_do_not_wait_for_the_decisions_of_others() {
    let requests = [(0, pages(HostOp::Write, 0, 2)), (0, pages(HostOp::Write, 2, 2))];
    let completed = run(&config("ssd1", "raid0", &[("serial_subrequests", "strict")]), &requests);
    assert_eq!(completed, [2 * PROGRAM; 2], "each its two, on channels of its own");
}

// ---- places in NVRAM ----

/// A parity cache of one entry, which stripe 0 has when stripe 1 is updated, at `AT`. Commits and updates of one page by themselves, on channels of their own:
/// `fpc` has the parity (a program), and the update reads two pages first; `ppc` reads the old page and the old parity for the commit, and nothing for the
/// update. Side by side the longer one counts; with `commit_first` the update's first command comes when the parity is programmed, so that it is their sum.
#[test]
fn an_update_ends_with_the_commit_that_frees_its_place_or_starts_after_it() {
    const AT: u64 = 1_000_000_000;
    for (scheme, commit, update) in
        [("fpc", PROGRAM, READ + PROGRAM), ("ppc", READ + PROGRAM, PROGRAM), ("ca-ppc", READ + PROGRAM, PROGRAM)]
    {
        let of = |own: &[(&str, &str)]| {
            let config = config("ssd1", scheme, &[&[("parity_cache_bytes", "4096"), ("layout", "last_member")], own].concat());
            run(&config, &[(0, write(0)), (AT, write(4))])[1] - AT
        };
        assert_eq!(of(&[]), commit.max(update), "{scheme}");
        assert_eq!(of(&[("commit_first", "yes")]), commit + update, "{scheme}");
        // The place that it takes when it is decided makes it wait as well.
        assert_eq!(of(&[("evicts_locked", "yes")]), commit + update, "{scheme}");
    }
}

// ---- the bus ----

/// A read's data are ready at 20,175, and the bus is in use by a program's data until 102,750. Then a program that came at 2 ns and a read
/// command for the first read's die, which came at 3 ns, wait too.
#[test]
fn data_that_wait_in_a_register_go_before_what_is_older() {
    let requests = [(0, read(0)), (1, write(at(1))), (2, write(at(2))), (3, read(0))];
    let of = |scheduling| run(&config("ssd1", "raid0", &[("scheduling", scheduling)]), &requests);
    let out = 175 + DATA_IN + PAGE;
    assert_eq!(out, 205_150);
    // The oldest first, but for the register, without which the second read could not start: data, program, read command.
    let second = out + DATA_IN;
    assert_eq!(of("fifo"), [out, 175 + PROGRAM, second + 200_000, second + READ]);
    // The command goes before the program's data, and its own data wait for these.
    assert_eq!(of("read_first"), [out, 175 + PROGRAM, out + 175 + PROGRAM, out + 175 + DATA_IN + PAGE]);
}

/// The bus is in use by a program's data until 102,576, and who waits then came at one instant: a program for any idle chip, and a read
/// command for the last one.
#[test]
fn under_fifo_the_read_command_is_first_of_two_that_came_at_once() {
    let of = |requests: &[_]| run(&config("ssd1", "raid0", &[("scheduling", "fifo")]), requests);
    let (first, free) = (1 + PROGRAM, 1 + DATA_IN);
    // The command, the program's data, the page: in whichever order they were submitted.
    let (programmed, read_out) = (free + 175 + PROGRAM, free + 175 + DATA_IN + PAGE);
    assert_eq!(of(&[(1, write(at(1))), (2, write(at(2))), (2, read(at(3)))]), [first, programmed, read_out]);
    assert_eq!(of(&[(1, write(at(1))), (2, read(at(3))), (2, write(at(2)))]), [first, read_out, programmed]);
    // One nanosecond earlier the program is first.
    assert_eq!(of(&[(1, write(at(1))), (2, write(at(2))), (3, read(at(3)))]), [first, free + PROGRAM, free + DATA_IN + READ]);
}

#[test]
fn read_commands_go_before_data_out_and_data_out_before_programs() {
    // The bus is in use until 102,750. Then the third chip's command (until 102,925), the first chip's data, and those of the third one.
    let commands = [(0, read(at(0))), (1, write(at(1))), (50_000, read(at(2)))];
    let first = 175 + DATA_IN + 175 + PAGE;
    assert_eq!(run(&placed(&[]), &commands), [first, 175 + PROGRAM, first + PAGE]);
    // The first chip's data, then those of the program.
    let programs = [(0, read(at(0))), (1, write(at(1))), (2, write(at(2)))];
    assert_eq!(run(&placed(&[]), &programs), [205_150, 175 + PROGRAM, 205_150 + PROGRAM]);
}

#[test]
fn luns_take_turns() {
    // Commands to chip 1, then, going round, 2, 3 and 0; and so their data.
    let requests = [1, 0, 2, 3].map(|chip| (0, read(at(chip))));
    assert_eq!(run(&placed(&[]), &requests), [READ, READ + 3 * PAGE, READ + PAGE, READ + 2 * PAGE]);
}

/// Without time for commands both chips have their data at 20,000 ns. The bus chooses when it knows of both: it served chip 0 last.
#[test]
fn a_bus_chooses_among_all_that_are_ready_at_one_instant() {
    let requests = [(0, read(at(1))), (0, read(at(0)))];
    assert_eq!(run(&placed(&[("read_command_ns", "0")]), &requests), [20_000 + PAGE, 20_000 + 2 * PAGE]);
}

/// Programs that any channel may take go round the channels: four at once are on four buses, the next four behind them.
#[test]
fn channels_of_one_space_take_turns() {
    let requests: Vec<_> = (0..8).map(|local| (0, write(at(local)))).collect();
    let expected = [[PROGRAM; 4], [DATA_IN + PROGRAM; 4]].concat();
    assert_eq!(run(&config("ssd1", "raid0", &[("allocation", "dynamic"), ("ftl", "device")]), &requests), expected);
}

/// Programs that any die of a member may take go round its idle dies, one after the other.
#[test]
fn dies_of_one_space_take_turns() {
    let mut engine = filled(&config("ssd1", "raid0", &[("lun", "die")]), 0);
    for program in 1..=20u64 {
        engine.submit(&write(at(0)), true);
        engine.finish().unwrap();
        let flash = &engine.executor.media;
        let dies = (0..flash.nand().luns().len()).filter(|lun| flash.nand().member_of_lun(*lun as u32) == Some(0));
        let of_dies: Vec<u64> = dies.map(|lun| flash.nand().luns()[lun].operations[1].iter().sum()).collect();
        let (least, most) = (program / 8, program.div_ceil(8));
        assert!(of_dies.len() == 8 && of_dies.iter().all(|programs| (least..=most).contains(programs)), "{program}: {of_dies:?}");
    }
}

// ---- GC runs ----

/// The device of the GC run tests in `timing` with more blocks to spare: one channel of two chips of two dies of one plane of 12
/// blocks of 4 pages; local page p lies on chip p mod 2, die p / 2 mod 2. Each plane has 16 pages in its blocks 0 to 3, and eight of the
/// first plane's are overwritten in its blocks 4 and 5: of its blocks 0, 1 and 2 live 1, 1 and 2 pages. The ninth program opens block 6.
/// It leaves 5 erased blocks, and 23 of 48 pages, fewer than half: block 0 is collected. A read comes a nanosecond after the GC run has
/// begun; when it completes, from the ninth program's start on.
fn read_during_gc(gc_reserve_blocks: &str, page: u64) -> u64 {
    let settings = [
        ("channels", "1"),
        ("chips_per_channel", "2"),
        ("dies_per_chip", "2"),
        ("lun", "die"),
        ("planes_per_die", "1"),
        ("blocks_per_plane", "12"),
        ("pages_per_block", "4"),
        ("over_provisioning", "0.65"),
        ("gc_threshold", "0.5"),
        ("gc_reserve_blocks", gc_reserve_blocks),
        ("gc_blocking_scope", "none"),
    ];
    let mut engine = filled(&placed(&settings), 64);
    for page in [0, 1, 2, 4, 5, 6, 8, 9] {
        engine.submit(&write(4 * page), true);
        engine.finish().unwrap();
    }
    let start = engine.now_ns();
    engine.submit(&write(4 * 10), true);
    run_on(&mut engine, &[(start + PROGRAM + 1, read(page))])[0] - start
}

/// With fewer erased blocks than `gc_reserve_blocks` host writes wait for the GC run, so it is urgent: host reads go behind its moves and erases.
#[test]
fn a_starved_plane_is_collected_before_the_host_is_served() {
    /// Of a block with one page to move.
    const COLLECTION: u64 = READ + PROGRAM + 125 + 1_500_000;
    // Beside the move's read, whose data cross the bus first.
    let beside = PROGRAM + READ + PAGE;
    // Not starved: on the same die the read goes before the move's program, on others its data do.
    assert_eq!(read_during_gc("5", 60), PROGRAM + 2 * READ);
    assert_eq!([61, 62].map(|page| read_during_gc("5", page)), [beside; 2]);
    // Starved: on other dies the move's program has the bus first. The move opens a block (4 are left), and the erase gives one back: one too few, so that
    // another GC follows (of block 1, into the block that is open), for whose read the host's waits too.
    assert_eq!([61, 62].map(|page| read_during_gc("6", page)), [beside + DATA_IN; 2]);
    assert_eq!(read_during_gc("6", 60), PROGRAM + 2 * COLLECTION + READ);
}

// ---- rebuilds ----

/// What is lost is searched for on the whole of a chip: on small ones that takes no time.
const SMALL: (&str, &str) = ("blocks_per_plane", "64");

/// How many pages a chip of one member loses, and how long their rebuild takes on an idle device.
fn rebuild(pairs: &[(&str, &str)]) -> (u64, u64) {
    rebuild_of(96, pairs)
}

/// The same with so many host pages written.
fn rebuild_of(pages: u64, pairs: &[(&str, &str)]) -> (u64, u64) {
    let (record, took_ns) = rebuild_chip(&mut filled(&config("ssd1", "raid5", &[&[SMALL], pairs].concat()), pages), 0);
    (record.pages, took_ns)
}

/// The record of the rebuild of one chip on an idle device, and how long it takes.
fn rebuild_chip(engine: &mut Engine<Untracked>, chip: u32) -> (RebuildRecord, u64) {
    let former = engine.survey().rebuilds.len();
    engine.fail(Fault::Loss(Part::Chip { channel: 0, chip }));
    engine.finish().unwrap();
    let [record] = &engine.survey().rebuilds[former..] else { panic!("one rebuild") };
    assert_eq!((record.pages, record.finished_ns), (record.pages_lost, record.ended_ns));
    (record.clone(), record.ended_ns.expect("an end") - record.faults[0].0)
}

/// DOR: each of the three other members reads one page after the other, although it has eight dies: a stripe is read every 122,575 ns.
/// Its page is programmed meanwhile: 102,575 ns of the bus of the member that lost it, on a die of any of its chips.
#[test]
fn a_fetcher_reads_one_page_at_a_time() {
    let (lost, took_ns) = rebuild(&[("rebuild", "dor"), ("rebuild_target", "member")]);
    assert!(lost >= 8, "{lost}");
    assert_eq!(took_ns, lost * READ + PROGRAM);
}

/// Nanoseconds a page, from how much longer the larger rebuild takes: how either begins and ends does not count.
fn of_a_page((few, few_ns): (u64, u64), (many, many_ns): (u64, u64)) -> f64 {
    assert!(many >= few + 40, "{few}, {many}");
    (many_ns - few_ns) as f64 / (many - few) as f64
}

fn assert_near(what: &str, found_ns: f64, expected_ns: u64) {
    assert!((found_ns / expected_ns as f64 - 1.0).abs() < 0.01, "{what}: {found_ns} ns a page, expected {expected_ns}");
}

/// On the replacement alone programs follow each other: of its two dies one ends every 151,288 ns; as one LUN it ends one every 302,575 ns.
/// On all chips of the member they keep up with the reads of whole stripes.
#[test]
fn dor_programs_as_fast_as_its_target_allows() {
    for (target, lun, each_ns) in
        [("replacement", "die", PROGRAM / 2), ("replacement", "chip", PROGRAM), ("member", "die", READ), ("member", "chip", READ)]
    {
        let settings = [("rebuild", "dor"), ("rebuild_target", target), ("lun", lun)];
        assert_near(&format!("{target}, {lun}"), of_a_page(rebuild_of(480, &settings), rebuild_of(1200, &settings)), each_ns);
        // With a buffer of one page nothing overlaps.
        let one = [&settings[..], &[("rebuild_window", "1")]].concat();
        assert_near(&format!("{target}, {lun}, one page"), of_a_page(rebuild_of(480, &one), rebuild_of(1200, &one)), READ + PROGRAM);
    }
}

/// After a rebuild its replacement is a chip like the others: the next rebuild has another target, and is no faster.
#[test]
fn each_rebuild_has_its_own_target() {
    let second = |pages: u64| {
        let settings = [SMALL, ("rebuild", "dor"), ("lun", "die"), ("spare_chips", "2")];
        let mut engine = filled(&config("ssd1", "raid5", &settings), pages);
        rebuild_chip(&mut engine, 0);
        let (record, took_ns) = rebuild_chip(&mut engine, 1);
        (record.pages, took_ns)
    };
    assert_near("the second rebuild", of_a_page(second(480), second(1200)), PROGRAM / 2);
}

/// MCR's copies are read and programmed on the failed chip's channel. Its fetcher waits until no program is queued there, so that the read of one page follows
/// the data of the program of another: longer than a program on one of the replacement's two dies, and shorter than one on the replacement as one LUN.
#[test]
fn a_copy_is_read_and_programmed_on_one_channel() {
    const COPY: u64 = READ + DATA_IN;
    for (target, lun, each_ns) in [
        ("replacement", "die", COPY.max(PROGRAM / 2)),
        ("replacement", "chip", COPY.max(PROGRAM)),
        ("member", "die", COPY),
        ("member", "chip", COPY),
    ] {
        for (window, each_ns) in [("8", each_ns), ("1", READ + PROGRAM)] {
            let settings = [("rebuild", "mcr"), ("rebuild_target", target), ("lun", lun), ("mw_limit", "1000"), ("rebuild_window", window)];
            let found = of_a_page(copies_of(480, &settings), copies_of(1200, &settings));
            assert_near(&format!("{target}, {lun}, {window}"), found, each_ns);
        }
    }
}

/// A rebuild that only copies: of CR5M with one page in each of so many stripes. All of them are mirrored, and no parity is written.
fn copies_of(stripes: u64, pairs: &[(&str, &str)]) -> (u64, u64) {
    let mut engine = filled(&config("ssd1", "cr5m", &[&[SMALL], pairs].concat()), 0);
    for stripe in 0..stripes {
        engine.submit(&write(3 * stripe), true);
        engine.finish().unwrap();
    }
    let (record, took_ns) = rebuild_chip(&mut engine, 0);
    assert_eq!(record.pages_copied, record.pages);
    (record.pages, took_ns)
}

/// SOR: one stripe after the other is read and programmed.
#[test]
fn one_process_repairs_one_stripe_after_the_other() {
    let (lost, took_ns) = rebuild(&[("rebuild", "sor")]);
    assert_eq!(took_ns, lost * (READ + PROGRAM));
}

/// The page of the first stripe on the second member is being read for the host when a chip of the first member fails, at 1 ns, and a nanosecond later the host
/// wants it once more; when that is answered.
fn read_beside_rebuild(order: &str) -> u64 {
    let settings = [("allocation", "static"), ("spare_chips", "1"), ("rebuild", order)];
    let mut engine = filled(&config("ssd1", "raid5", &settings), 96);
    let beside = |lpn: &u64| engine.scheme().locate(Lpn(*lpn)) == MemberPage { member: MemberId(1), page: LocalPage(0) };
    let page = (0..3).find(beside).expect("a strip on the second member");
    engine.submit(&read(page), true);
    engine.advance_until(1).unwrap();
    engine.fail(Fault::Loss(Part::Chip { channel: 0, chip: 0 }));
    run_on(&mut engine, &[(2, read(page))])[0]
}

#[test]
fn reads_of_a_rebuild_and_of_the_host_meet() {
    // SOR's read, of low priority, goes behind the host's second one.
    assert_eq!(read_beside_rebuild("sor"), 2 * READ);
    // DOR's is issued as nothing is queued at the member, and gives no precedence any more.
    assert_eq!(read_beside_rebuild("dor"), 3 * READ);
}
