//! Types of pages, and reads with several attempts: their times, what they occupy, and pages that cannot be corrected.

use crate::support::{GIVEN, Host, ONE_PLANE, settings};
use flashraid_ftl::{CellTimes, Flash, Given, Ldpc, LevelLaw, Placement, Settings, level_of};
use flashraid_vocabulary::{Cause, Geometry, LoadView, MemberId, MemberPage, Version, View};

const LDPC: Ldpc =
    Ldpc { law: LevelLaw::Fixed(0), seed: 0, highest: 3, step_ns: 5, decode_ns: 0, erases: 0, retention_ns: 0, reads: 0, stored_ns: 0 };

/// Reads of 10 ns, programs of 100, erases of 1,000; commands of 1 ns, and 4,096 ns of transfer.
const TRANSFER: u64 = 4_096;

fn with(ldpc: Ldpc) -> Settings {
    Settings {
        geometry: ONE_PLANE,
        pages_per_member: 20,
        cell: CellTimes::new(10, 100, 1_000).with_ldpc(ldpc),
        ..settings(Placement::Member)
    }
}

fn page(page: u32) -> MemberPage {
    MemberPage::new(0, page)
}

fn written(settings: Settings, pages: u32) -> Host {
    let mut host = Host::new(settings);
    for number in 0..pages {
        assert!(host.write(page(number), Version::Current, false));
        host.finish();
    }
    host
}

/// How long a read takes on an idle device.
fn read_ns(host: &mut Host, number: u32) -> u64 {
    let start_ns = host.flash.nand().now_ns();
    assert!(host.read(page(number), Version::Current));
    host.finish();
    host.flash.nand().now_ns() - start_ns
}

/// Attempt i: a command, 10 + 5 i ns of sensing, the transfer, and decoding.
#[test]
fn each_attempt_senses_longer_and_transfers_again() {
    for decode_ns in [0, 70] {
        for level in 0..=3 {
            let mut host = written(with(Ldpc { law: LevelLaw::Fixed(level), decode_ns, ..LDPC }), 4);
            let expected: u64 = (0..=u64::from(level)).map(|attempt| 1 + 10 + 5 * attempt + TRANSFER + decode_ns).sum();
            assert_eq!(read_ns(&mut host, 2), expected, "level {level}");
            let lun = &host.flash.nand().luns()[0];
            let array_ns: u64 = (0..=u64::from(level)).map(|attempt| 10 + 5 * attempt).sum();
            assert_eq!(lun.array_ns[Cause::Host as usize], 4 * 100 + array_ns);
            // The last decoding occupies nobody, nor does the wait of a program for its array the bus.
            assert_eq!(lun.busy_ns[Cause::Host as usize], 4 * (1 + TRANSFER + 100) + expected - decode_ns);
            let transfers = 4 + 1 + u64::from(level);
            assert_eq!(host.flash.nand().channels()[0].busy_ns[Cause::Host as usize], transfers * (1 + TRANSFER));
            let mut by_level = [0; 5];
            by_level[level as usize] = 1;
            assert_eq!(host.flash.nand().levels().unwrap().reads_by_level(), by_level);
            let load = host.flash.read_load(page(2), Version::Current).unwrap();
            assert_eq!(load.read_ns, array_ns + u64::from(level + 1) * decode_ns, "what a scheme is told");
        }
    }
}

/// While the last attempt of a read is decoded its LUN reads the next page.
#[test]
fn the_last_decoding_overlaps_what_the_lun_does_next() {
    for (level, attempts) in [(0, 1), (2, 3)] {
        let mut host = written(with(Ldpc { law: LevelLaw::Fixed(level), step_ns: 0, decode_ns: 500, ..LDPC }), 4);
        let start_ns = host.flash.nand().now_ns();
        (0..3).for_each(|number| assert!(host.read(page(number), Version::Current)));
        host.finish();
        let attempt = 1 + 10 + TRANSFER;
        assert_eq!(host.flash.nand().now_ns() - start_ns, 3 * (attempts * attempt + (attempts - 1) * 500) + 500);
        assert_eq!(host.completed[0], 3);
    }
}

/// Pages of one operation that are corrected early leave it; the others are sensed again together.
#[test]
fn planes_are_read_again_only_where_that_is_needed() {
    let geometry = Geometry { planes_per_die: 2, ..ONE_PLANE };
    let multi_plane = Given { multi_plane: true, ..GIVEN };
    let cell = CellTimes::new(10_000, 100, 1_000);
    let base = Settings { geometry, given: multi_plane, pages_per_member: 20, cell, ..settings(Placement::Member) };
    // A seed whose draws give the two planes, of 8 blocks and a gap of 5, blocks of different levels.
    let found = (0..100).find_map(|seed| {
        let ldpc = Ldpc { law: LevelLaw::Uniform, seed, step_ns: 1_000, ..LDPC };
        let host = written(Settings { cell: cell.with_ldpc(ldpc), ..base.clone() }, 8);
        let (mut pairs, flash) = (Vec::new(), &host.flash);
        for number in 0..8 {
            let ppn = flash.store().lookup(page(number), Version::Current).unwrap();
            pairs.push((number, ppn.0 / 4, ppn.0 % 4, level_of(flash.nand(), flash.store().space(), ppn.0 as usize / 4)));
        }
        let pair = pairs.iter().find_map(|one| {
            let partner = pairs.iter().find(|other| other.1 / 13 != one.1 / 13 && other.2 == one.2 && one.3 == 0 && other.3 == 2)?;
            Some((one.0, partner.0))
        })?;
        Some((host, pair))
    });
    let (mut host, (early, late)) = found.expect("one of a hundred seeds");
    let (start_ns, written_ns) = (host.flash.nand().now_ns(), host.flash.nand().luns()[0].array_ns[Cause::Host as usize]);
    assert!(host.read(page(early), Version::Current));
    // The first takes the bus at once; two more form an operation behind it.
    assert!(host.read(page(early), Version::Current) && host.read(page(late), Version::Current));
    host.finish();
    let alone = 1 + 10_000 + TRANSFER;
    let both = 2 + 10_000 + 2 * TRANSFER;
    let again: u64 = [11_000, 12_000].iter().map(|sense_ns| 1 + sense_ns + TRANSFER).sum();
    assert_eq!(host.flash.nand().now_ns() - start_ns, alone + both + again);
    assert_eq!(host.flash.nand().levels().unwrap().reads_by_level(), [2, 0, 1, 0, 0]);
    let array_ns = host.flash.nand().luns()[0].array_ns[Cause::Host as usize] - written_ns;
    assert_eq!(array_ns, 2 * 10_000 + 11_000 + 12_000);
}

/// Two pages that both need another attempt: two commands, the longer sensing, and each disturbs its own block.
#[test]
fn pages_that_are_read_again_together_have_a_command_each() {
    let geometry = Geometry { planes_per_die: 2, ..ONE_PLANE };
    let given = Given { multi_plane: true, ..GIVEN };
    let cell = CellTimes::new(10_000, 100, 1_000).with_ldpc(Ldpc { law: LevelLaw::Fixed(1), step_ns: 1_000, reads: 4, ..LDPC });
    let mut host = written(Settings { geometry, given, pages_per_member: 20, cell, ..settings(Placement::Member) }, 2);
    let blocks = [0, 1].map(|number| host.flash.store().lookup(page(number), Version::Current).unwrap().0 as usize / 4);
    assert_ne!(blocks[0] / 13, blocks[1] / 13, "pages of two planes");
    for expected in [1, 2] {
        assert_eq!(blocks.map(|block| level_of(host.flash.nand(), host.flash.store().space(), block)), [expected; 2]);
        let start_ns = host.flash.nand().now_ns();
        assert!(host.read(page(0), Version::Current));
        assert!(host.read(page(0), Version::Current) && host.read(page(1), Version::Current));
        host.finish();
        let attempts = |planes: u64, level: u64| (0..=level).map(|attempt| planes * (1 + TRANSFER) + 10_000 + attempt * 1_000).sum::<u64>();
        if expected == 1 {
            assert_eq!(host.flash.nand().now_ns() - start_ns, attempts(1, 1) + attempts(2, 1));
        }
        // Until both blocks have had four attempts.
        while level_of(host.flash.nand(), host.flash.store().space(), blocks[1]) == 1 {
            read_ns(&mut host, 1);
        }
        while level_of(host.flash.nand(), host.flash.store().space(), blocks[0]) == 1 {
            read_ns(&mut host, 0);
        }
    }
}

/// Erasing undoes what reads did, and what GC moves is as young as what the host writes.
#[test]
fn erased_blocks_begin_anew() {
    let mut host = written(with(Ldpc { reads: 3, highest: 15, ..LDPC }), 4);
    let block = host.flash.store().lookup(page(0), Version::Current).unwrap().0 as usize / 4;
    for _ in 0..4 {
        read_ns(&mut host, 0);
    }
    assert_eq!(level_of(host.flash.nand(), host.flash.store().space(), block), 1);
    let write_all = |host: &mut Host, pages: std::ops::Range<u32>| {
        for number in pages {
            while !host.write(page(number), Version::Current, false) {
                assert!(host.advance());
            }
        }
        host.finish();
    };
    while host.flash.store().space().erase_counts().nth(block).unwrap() == 0 {
        write_all(&mut host, 0..20);
    }
    assert_eq!(level_of(host.flash.nand(), host.flash.store().space(), block), 0);

    let mut host = Host::new(with(Ldpc { retention_ns: 1_000_000_000, highest: 15, ..LDPC }));
    write_all(&mut host, 0..20);
    host.flash.nand_mut().set_now(5_000_000_000);
    let moved = |host: &Host| host.flash.nand().counts()[1][Cause::Gc as usize];
    while moved(&host) == 0 {
        write_all(&mut host, 0..7);
        write_all(&mut host, 9..12);
    }
    let level = |number: u32| {
        level_of(
            host.flash.nand(),
            host.flash.store().space(),
            host.flash.store().lookup(page(number), Version::Current).unwrap().0 as usize / 4,
        )
    };
    let levels: Vec<u32> = (0..20).map(level).collect();
    assert!(levels.iter().all(|level| [0, 4, 5].contains(level)) && moved(&host) < 40, "{levels:?}");
    // Of the pages that were not written again some lie where they were, and some were moved.
    let untouched: Vec<u32> = [7, 8].into_iter().chain(12..20).map(|number| levels[number]).collect();
    assert!(untouched.contains(&0) && untouched.iter().any(|level| *level >= 4), "{levels:?}");
}

/// A block in which a page was lost is not programmed on.
#[test]
fn a_block_with_a_lost_page_is_left() {
    let mut host = written(with(Ldpc { reads: 2, highest: 0, ..LDPC }), 2);
    let block_of = |host: &Host, number: u32| host.flash.store().lookup(page(number), Version::Current).unwrap().0 / 4;
    assert_eq!(block_of(&host, 0), block_of(&host, 1));
    while host.failed[0] == 0 {
        read_ns(&mut host, 1);
    }
    assert!(host.write(page(2), Version::Current, false));
    host.finish();
    assert_ne!(block_of(&host, 2), block_of(&host, 0));
}

#[test]
fn types_of_pages_have_their_times() {
    let cell = CellTimes::new(10, 100, 1_000).with_types(&[20, 40], &[300, 700]);
    let mut host = Host::new(Settings { cell, ..with(LDPC) });
    let times = [(10, 100), (20, 300), (40, 700), (10, 100)];
    for (number, (read, program)) in (0..).zip(times) {
        let start_ns = host.flash.nand().now_ns();
        assert!(host.write(page(number), Version::Current, false));
        host.finish();
        assert_eq!(host.flash.nand().now_ns() - start_ns, 1 + TRANSFER + program, "page {number} of its block");
        assert_eq!(read_ns(&mut host, number), 1 + read + TRANSFER);
    }
}

/// What raises levels: erases, time, and attempts to read; erasing undoes the latter two.
#[test]
fn levels_follow_wear_retention_and_reads() {
    let level = |flash: &Flash, number: u32| {
        level_of(flash.nand(), flash.store().space(), flash.store().lookup(page(number), Version::Current).unwrap().0 as usize / 4)
    };
    // 3 more reads: attempts count, and so each read at level 1 counts twice.
    let mut host = written(with(Ldpc { reads: 3, ..LDPC }), 4);
    let levels: Vec<u32> = (0..6)
        .map(|_| {
            let level = level(&host.flash, 0);
            read_ns(&mut host, 0);
            level
        })
        .collect();
    assert_eq!(levels, [0, 0, 0, 1, 1, 2]);
    // By time: since the first program into the block.
    let mut host = written(with(Ldpc { retention_ns: 100_000, ..LDPC }), 1);
    let first_ns = 0;
    for at_ns in [99_999, 100_000, 250_000] {
        host.flash.nand_mut().set_now(at_ns);
        assert_eq!(u64::from(level(&host.flash, 0)), (at_ns - first_ns) / 100_000);
    }
    assert!(host.write(page(1), Version::Current, false));
    host.finish();
    assert_eq!(level(&host.flash, 1), 2, "the block was opened long ago");
    // By erases.
    let mut host = Host::new(with(Ldpc { erases: 2, highest: 15, ..LDPC }));
    host.flash.store_mut().space_mut().preset_wear(5);
    for _ in 0..10 {
        for number in 0..20 {
            while !host.write(page(number), Version::Current, false) {
                assert!(host.advance());
            }
        }
    }
    host.finish();
    let mut seen = 0;
    for number in 0..20 {
        let block = host.flash.store().lookup(page(number), Version::Current).unwrap().0 as usize / 4;
        let erases = host.flash.store().space().erase_counts().nth(block).unwrap();
        assert_eq!(level(&host.flash, number), erases / 2);
        seen = seen.max(erases);
    }
    assert!(seen > 10, "{seen}");
}

/// Of a page above the highest level the read fails after the last attempt, and only then is the page lost; others of its block fall one by one. If wear alone
/// makes it so, the block is retired.
#[test]
fn what_the_last_attempt_does_not_correct_is_lost() {
    for (erases, is_retired) in [(0, false), (5, true)] {
        let mut host = Host::new(with(Ldpc { reads: 4, erases, highest: 1, ..LDPC }));
        if is_retired {
            host.flash.store_mut().space_mut().preset_wear(10);
        }
        for number in 0..4 {
            assert!(host.write(page(number), Version::Current, false));
            host.finish();
        }
        let mut reads = 0;
        while host.failed[0] == 0 {
            assert!(!host.flash.store().is_lost(page(1), Version::Current) && !host.flash.store().has_failures());
            read_ns(&mut host, 1);
            reads += 1;
        }
        // Without wear: four attempts at level 0, two reads at level 1, and the next finds level 2.
        assert_eq!(reads, if is_retired { 1 } else { 7 });
        assert!(host.flash.store().has_failures() && host.flash.store().is_lost(page(1), Version::Current));
        let mut told: Vec<_> = std::iter::from_fn(|| host.flash.store_mut().take_unreadable()).map(|(page, _)| page.page.0).collect();
        told.sort_unstable();
        assert_eq!(host.flash.nand().levels().unwrap().reads_by_level().last(), Some(&(told.len() as u64)));
        if is_retired {
            // GC has tried to move the others, and found them lost.
            assert_eq!(told, [0, 1, 2, 3]);
            assert_eq!((host.lost(0), host.flash.pages_gone(MemberId(0))), ((4, 4), 4));
        } else {
            assert_eq!((told, host.lost(0)), (vec![1], (1, 4)));
            read_ns(&mut host, 2);
            assert_eq!(host.flash.store_mut().take_unreadable(), Some((page(2), Version::Current)));
            assert_eq!(host.flash.pages_gone(MemberId(0)), 0);
            // Written again they can be read.
            assert!(host.write(page(1), Version::Current, false));
            host.finish();
            assert!(!host.flash.store().is_lost(page(1), Version::Current));
        }
    }
}
