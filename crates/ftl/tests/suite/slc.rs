//! The SLC cache (SPEC 8.14). One plane of 16 blocks of 8 program units of three pages; in SLC mode each has one.

use crate::support::{GIVEN, Host, ONE_PLANE, Random, operation, settings};
use flashraid_ftl::{CellTimes, Given, MemorySettings, Placement, Settings, SlcCounts, SlcSettings, SlcTimes};
use flashraid_vocabulary::{Action, Cause, Fault, GcBlockingScope, GcPace, Geometry, LoadView, MemberPage, PageOperation, Part, Version};

const PROGRAM_NS: u64 = 900;
const SLC: SlcTimes = SlcTimes { read_ns: 4, program_ns: 200 };

fn drive(slc: SlcSettings) -> Settings {
    Settings {
        geometry: Geometry { blocks_per_plane: 16, pages_per_block: 24, ..ONE_PLANE },
        memory: MemorySettings { pages: 30, read_ns: 10, survives_power_loss: true, pad_after_ns: 0 },
        pages_per_member: 200,
        cell: CellTimes::new(10, PROGRAM_NS, 1000),
        slc: Some((slc, SLC)),
        given: Given { program_pages: 3, gc_blocking_scope: GcBlockingScope::None, bus_ps_per_byte: 0, idle_ns: 1_000_000, ..GIVEN },
        ..settings(Placement::Member)
    }
}

const FIXED: SlcSettings = SlcSettings { blocks: 2, leave: None, stalls: false };

fn page(number: u32) -> MemberPage {
    MemberPage::new(0, number)
}

fn write(host: &mut Host, number: u32) {
    while !host.program(&operation(Action::Program, page(number), Version::Current, false)) {
        assert!(host.advance(), "page {number} waits for ever");
    }
}

fn counts(host: &Host) -> SlcCounts {
    host.flash.store().space().slc_counts().expect("there is a cache")
}

/// All is done but what idle time brings.
fn rest(host: &mut Host) {
    let idle_ns = host.flash.nand().now_ns() + 900_000;
    while host.flash.nand().next_event_ns() < idle_ns {
        host.advance();
    }
}

/// Two blocks of 8 pages take 16 pages, each of which is a program of its own; what comes then goes beside them.
#[test]
fn programs_fill_blocks_in_slc_mode_first() {
    let mut host = Host::new(drive(FIXED));
    (0..19).for_each(|number| write(&mut host, number));
    while counts(&host).folded == 0 && host.advance() {}
    assert_eq!(counts(&host).written, 16);
    assert_eq!(host.flash.nand().luns()[0].array_ns[Cause::Host as usize], 16 * SLC.program_ns + PROGRAM_NS);
    host.finish();
    // In idle time what the cache has is folded, which is all of it; its blocks are erased.
    assert_eq!(counts(&host), SlcCounts { written: 16, folded: 16, erases: 2 });
    assert_eq!(host.flash.nand().counts()[Action::Program as usize][Cause::Gc as usize], 16);
    let last = host.flash.nand().counts()[Action::Program as usize][Cause::Host as usize];
    write(&mut host, 0);
    rest(&mut host);
    assert_eq!((counts(&host).written, host.flash.nand().counts()[Action::Program as usize][Cause::Host as usize]), (17, last + 1));
}

/// What a scheme is told of a read counts the time of the mode.
#[test]
fn the_load_of_a_read_knows_the_mode() {
    let mut host = Host::new(drive(FIXED));
    (0..9).for_each(|number| write(&mut host, number));
    rest(&mut host);
    let read_ns = |host: &Host| host.flash.read_load(page(0), Version::Current).unwrap().read_ns;
    assert_eq!(read_ns(&host), SLC.read_ns);
    host.finish();
    assert_eq!(read_ns(&host), 10, "it is folded");
}

/// A folded page is one more that is programmed; one that was overwritten before is none.
#[test]
fn what_is_overwritten_in_the_cache_is_not_folded() {
    let mut host = Host::new(drive(FIXED));
    (0..16).for_each(|number| write(&mut host, number % 4));
    host.finish();
    assert_eq!(counts(&host), SlcCounts { written: 16, folded: 4, erases: 2 });
}

/// The largest burst at the speed of the cache: what is free beyond what is left, over the bits of a cell (MODERN C4).
#[test]
fn a_burst_ends_when_so_many_blocks_are_left() {
    for (blocks, leave) in [(0, 6), (2, 6), (1, 10)] {
        let mut host = Host::new(drive(SlcSettings { blocks, leave: Some(leave), stalls: false }));
        let in_cache = (16 - leave).max(blocks) * 8;
        (0..in_cache + 60).for_each(|number| {
            write(&mut host, number);
            rest(&mut host);
            assert!(counts(&host).folded == 0 || number + 1 >= in_cache, "{number} of {in_cache}");
            if number < in_cache {
                assert_eq!(counts(&host).written, u64::from(number) + 1);
            }
        });
        host.finish();
        assert_eq!(host.lost(0).0, 0);
    }
}

/// A fold of 8 pages, for which the erase gives 24 back, moves one for each two that go beside the cache; the rest follows in idle time.
#[test]
fn folds_keep_pace_with_the_host() {
    let settings = drive(FIXED);
    let mut host = Host::new(Settings { given: Given { gc_pace: GcPace::Debt, ..settings.given }, ..settings });
    // The last program of the cache, and each beside it, takes the place of 3 pages and makes it owe 3 x 8 / 16 moves, which it makes 3 at a time.
    let mut folded = vec![];
    for number in 0..31 {
        write(&mut host, number);
        rest(&mut host);
        folded.push(counts(&host).folded);
    }
    assert_eq!(folded[..18], [0; 18]);
    assert_eq!(folded[18..], [3, 3, 3, 3, 3, 3, 6, 6, 6, 6, 6, 6, 8]);
    assert_eq!(counts(&host), SlcCounts { written: 16, folded: 8, erases: 1 });
    host.finish();
    assert_eq!(counts(&host), SlcCounts { written: 16, folded: 16, erases: 2 });
}

/// A fold that rests when the host does goes on in idle time.
#[test]
fn a_fold_that_rests_goes_on_in_idle_time() {
    let settings = drive(FIXED);
    let mut host = Host::new(Settings { given: Given { gc_pace: GcPace::Debt, ..settings.given }, ..settings });
    for number in 0..20 {
        write(&mut host, number);
        rest(&mut host);
    }
    assert_eq!(counts(&host).folded, 3);
    host.finish();
    assert_eq!(counts(&host), SlcCounts { written: 16, folded: 16, erases: 2 });
}

/// What a fold has queued in idle time does not wait for ever behind a burst: it goes on with the pace of that.
#[test]
fn a_burst_finds_a_fold_of_idle_time() {
    let settings = drive(SlcSettings { blocks: 4, ..FIXED });
    let mut host = Host::new(Settings { given: Given { gc_pace: GcPace::Debt, ..settings.given }, ..settings });
    (0..24).for_each(|number| write(&mut host, number));
    while counts(&host).folded == 0 && host.advance() {}
    assert_eq!(counts(&host).written, 24, "the cache had room");
    for number in 24..150 {
        write(&mut host, number);
        while host.writing.len() > 3 && host.advance() {}
    }
    // The cache took 32 pages, and 8 for each block that was folded but the last; for each two of the 86 beside it one was folded, but for what is under way.
    assert_eq!(counts(&host), SlcCounts { written: 64, folded: 40, erases: 5 });
    host.finish();
}

/// With `stall` nothing goes beside the cache while something can be folded; programs wait for that.
#[test]
fn programs_wait_for_room_in_the_cache() {
    for (stalls, blocks) in [(false, 2), (true, 2), (true, 1)] {
        let mut host = Host::new(drive(SlcSettings { blocks, stalls, ..FIXED }));
        (0..150).for_each(|number| write(&mut host, number));
        rest(&mut host);
        assert_eq!(counts(&host).written == 150, stalls, "{:?}", counts(&host));
        assert!(counts(&host).folded > 100 || !stalls);
        host.finish();
        assert_eq!(host.lost(0), (0, 150));
    }
}

/// Of a domain with two planes, all must be full for programs to wait.
#[test]
fn one_full_plane_lets_nobody_wait() {
    let settings = drive(SlcSettings { blocks: 1, stalls: true, ..FIXED });
    let geometry = Geometry { planes_per_die: 2, ..settings.geometry };
    let mut host =
        Host::new(Settings { geometry, pages_per_member: 400, memory: MemorySettings { pages: 60, ..settings.memory }, ..settings });
    // Program units go to planes in turn, and 8 pages fill the block of each: the last one finds the other plane full, and what goes on there.
    (0..16).for_each(|number| write(&mut host, number));
    assert_eq!((counts(&host).written, host.flash.nand().now_ns()), (16, 0));
    write(&mut host, 16);
    assert_eq!(counts(&host).written, 16, "now both are full");
    host.finish();
}

/// 8.1 (d): programs are accepted in order, also one for a plane with room behind one for a plane that is full.
#[test]
fn programs_do_not_overtake_those_that_wait() {
    let settings = drive(SlcSettings { blocks: 1, stalls: true, ..FIXED });
    let geometry = Geometry { planes_per_die: 2, ..settings.geometry };
    let memory = MemorySettings { pages: 60, ..settings.memory };
    let mut host = Host::new(Settings { geometry, pages_per_member: 400, memory, placement: Placement::Static, ..settings });
    // Even pages are those of the first plane: 8 fill its cache, and the ninth waits.
    (0..9).for_each(|number| write(&mut host, 2 * number));
    write(&mut host, 1);
    assert_eq!(counts(&host).written, 8);
    host.finish();
}

/// The cache may have another block in the place of one that is lost.
#[test]
fn a_lost_block_is_none_of_the_cache() {
    let mut host = Host::new(drive(FIXED));
    (0..8).for_each(|number| write(&mut host, number));
    rest(&mut host);
    let ppn = host.flash.store().lookup(page(0), Version::Current).expect("it is written").0;
    host.fail(Fault::Loss(Part::Block { channel: 0, chip: 0, die: 0, plane: 0, block: ppn / 24 }));
    (8..40).for_each(|number| write(&mut host, number));
    rest(&mut host);
    assert_eq!(counts(&host).written, 8 + 16);
}

/// What a rebuild programs goes beside a block that is open in the cache.
#[test]
fn rebuilds_go_beside_the_cache() {
    let mut host = Host::new(drive(FIXED));
    write(&mut host, 0);
    let program = operation(Action::Program, page(1), Version::Current, false);
    assert!(host.program(&PageOperation { cause: Cause::Rebuild, ..program }));
    assert_eq!(counts(&host).written, 1);
    host.finish();
    assert_eq!(counts(&host).written, 1);
}

/// A block that was in SLC mode takes the times of all its bits when GC fills it anew, or programs beside the cache.
#[test]
fn an_erased_block_is_in_slc_mode_no_more() {
    let mut host = Host::new(drive(SlcSettings { blocks: 14, ..FIXED }));
    // Each block is in SLC mode once, is folded and erased; what is left is in others.
    for _ in 0..4 {
        (0..100).for_each(|number| write(&mut host, number));
        host.finish();
    }
    assert!(counts(&host).erases > 30, "{:?}", counts(&host));
    let before = host.flash.nand().luns()[0].array_ns[Cause::Host as usize];
    assert!((0..100).all(|number| host.read(page(number), Version::Current)));
    host.finish();
    // A program unit of three pages is sensed as three.
    assert_eq!(host.flash.nand().luns()[0].array_ns[Cause::Host as usize] - before, 100 * 10);
}

/// A read in SLC mode takes its time, and one of what was folded that of other blocks.
#[test]
fn reads_take_the_time_of_their_block() {
    let mut host = Host::new(drive(FIXED));
    write(&mut host, 7);
    rest(&mut host);
    let sensed = |host: &mut Host| {
        let before = host.flash.nand().luns()[0].array_ns[Cause::Host as usize];
        assert!(host.read(page(7), Version::Current));
        rest(host);
        host.flash.nand().luns()[0].array_ns[Cause::Host as usize] - before
    };
    assert_eq!(sensed(&mut host), SLC.read_ns);
    (0..8).for_each(|number| write(&mut host, number + 10));
    host.finish();
    assert_eq!((counts(&host).folded, sensed(&mut host)), (8, 10));
}

/// Random writes over all that fits, with programs and erases that fail: all counts stay right (`Host` checks them), and nothing is lost.
#[test]
fn nothing_is_lost_of_the_cache() {
    for (seed, slc) in [
        (1, FIXED),
        (2, SlcSettings { blocks: 0, leave: Some(3), stalls: false }),
        (3, SlcSettings { blocks: 3, leave: None, stalls: true }),
        (4, SlcSettings { blocks: 1, leave: Some(1), stalls: true }),
    ] {
        let mut host = Host::new(drive(slc));
        let mut random = Random(seed);
        for number in 0..4000 {
            write(&mut host, random.below(200) as u32);
            if number % 100 == 99 {
                rest(&mut host);
            }
            match number % 700 {
                300 if number < 2100 => host.fail(Fault::Program(Part::Channel(0))),
                500 if number < 700 => host.fail(Fault::Erase(Part::Channel(0))),
                _ => {}
            }
        }
        host.finish();
        assert_eq!(host.lost(0).0, 0);
        assert!(counts(&host).erases > 10, "{:?}", counts(&host));
    }
}
