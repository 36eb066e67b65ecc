//! What fails, stays lost and is retired, what goes on, and what takes its place.

use crate::support::{GIVEN, Host, ONE_PLANE, Random, operation, settings};
use flashraid_ftl::{CellTimes, ChosenPolicy, Flash, Given, Placement, Progress, Settings};
use flashraid_vocabulary::{
    Action, Cause, Fault, GcBlockingScope, Geometry, Lun, Member, MemberId, MemberPage, NoObserver, PageOperation, Part, Ppn,
    RebuildTarget, Scheduling, Version, View, WearLeveling, WriteCompletes,
};

fn chip(channel: u32, chip: u32) -> Part {
    Part::Chip { channel, chip }
}

/// The block that a physical page is in, and the page.
fn parts_of(flash: &Flash, ppn: Ppn) -> (Part, Part) {
    let geometry = flash.settings().geometry;
    let all = (0..geometry.channels)
        .flat_map(|channel| (0..flash.settings().chips_per_channel()).map(move |chip| (channel, chip)))
        .flat_map(|(channel, chip)| (0..geometry.dies_per_chip).map(move |die| (channel, chip, die)))
        .flat_map(|(channel, chip, die)| (0..geometry.planes_per_die).map(move |plane| (channel, chip, die, plane)));
    let stride = geometry.blocks_per_plane + 5; // a gap of 5
    let (number, page) = (ppn.0 / geometry.pages_per_block, ppn.0 % geometry.pages_per_block);
    for (channel, chip, die, plane) in all {
        let lanes = flash.parts().lanes_of(&Part::Plane { channel, chip, die, plane });
        if lanes[0].0 == number / stride {
            let block = number % stride;
            return (Part::Block { channel, chip, die, plane, block }, Part::Page { channel, chip, die, plane, block, page });
        }
    }
    panic!("{ppn:?} is nowhere");
}

/// A random part: mostly small ones, so that something is left.
fn random_part(random: &mut Random, settings: &Settings) -> Part {
    let geometry = settings.geometry;
    let mut of = |count: u32| random.below(u64::from(count)) as u32;
    let (channel, chip, die, plane) =
        (of(geometry.channels), of(settings.chips_per_channel()), of(geometry.dies_per_chip), of(geometry.planes_per_die));
    let (block, page) = (of(geometry.blocks_per_plane), of(geometry.pages_per_block));
    match of(40) {
        0 => Part::Member(of(settings.members())),
        1 => Part::Channel(channel),
        2..6 => Part::Chip { channel, chip },
        6..9 => Part::Die { channel, chip, die },
        9..13 => Part::Plane { channel, chip, die, plane },
        13..24 => Part::Block { channel, chip, die, plane, block },
        _ => Part::Page { channel, chip, die, plane, block, page },
    }
}

/// Random devices, programs, reads and failures: after each event everything is consistent, nothing hangs, and reads and programs fail
/// exactly if their pages are lost.
#[test]
fn random_failures_leave_everything_consistent() {
    let (mut repeated, mut unplaced, mut replaced, mut failed, mut retired, mut completed, mut asked) = (0, 0, 0, 0, 0, 0, [0; 2]);
    for seed in 1..=150u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (0..10).for_each(|_| _ = random.below(2));
        let mut coin = || random.below(2) == 1;
        let placement = [Placement::Static, Placement::Member, Placement::Groups(2), Placement::Groups(1)][(seed % 4) as usize];
        let is_member = placement == Placement::Member;
        let member_is_chip = coin();
        let mirror_chips = u32::from(is_member && !member_is_chip && coin());
        let translation = if coin() { (2, 2) } else { (0, 0) };
        let settings = Settings {
            given: Given {
                member: if member_is_chip { Member::Chip } else { Member::Channel },
                mirror_chips,
                spare_chips: u32::from(coin()) + u32::from(coin()),
                lun: if coin() { Lun::Chip } else { Lun::Die },
                scheduling: if coin() { Scheduling::Fifo } else { Scheduling::ReadFirst },
                multi_plane: coin(),
                copyback: coin(),
                write_completes: if coin() { WriteCompletes::DataIn } else { WriteCompletes::ProgramEnd },
                gc_blocking_scope: [GcBlockingScope::None, GcBlockingScope::Lun, GcBlockingScope::Chip, GcBlockingScope::Channel]
                    [usize::from(coin()) * 2 + usize::from(coin())],
                gc_reserve_blocks: 2 + u32::from(coin()),
                wear_leveling: if coin() { WearLeveling::Static } else { WearLeveling::Dynamic },
                ..GIVEN
            },
            translation_blocks: translation.0,
            translation_pages: translation.1,
            pages_per_member: if member_is_chip { 40 } else { 100 },
            moves_bases: coin(),
            commit_aware: coin(),
            ..settings(placement)
        };
        let policies = ["greedy", "fifo", "windowed:3", "d:2", "cost_benefit"];
        let policy = if settings.commit_aware { "commit_aware" } else { policies[(seed / 4) as usize % policies.len()] };
        let settings = Settings { gc_policy: ChosenPolicy::of(policy).expect("a policy"), ..settings };
        let (members, pages) = (settings.members() as u16, settings.pages_per_member + settings.translation_pages);
        let mut host = Host::new(settings.clone());
        let failures_from = 1000;
        for step in 0..2500 {
            let address = MemberPage::new(random.below(u64::from(members)) as u16, random.below(u64::from(pages)) as u32);
            let is_data = address.page.0 < settings.pages_per_member;
            match random.below(20) {
                0..8 => _ = host.write(address, Version::Current, is_data && random.below(6) == 0),
                8 if mirror_chips > 0 && is_data && host.flash.takes_copy(address.member) => {
                    assert!(host.flash.has_mirror(address.member));
                    assert!(
                        host.write(address, Version::Copy, false)
                            || host.writing.contains_key(&(host.flash.store().maps().slot(address), 2))
                    );
                }
                9..11 => _ = host.read(address, Version::Current),
                11 => {
                    let version = [Version::Base, Version::Copy, Version::Current][random.below(3) as usize];
                    host.flash.unmap(address, version);
                    host.settle();
                }
                12 if step > failures_from && random.below(6) == 0 => {
                    let part = random_part(&mut random, &settings);
                    settings.part_exists(&part).unwrap();
                    let fault = [Fault::Loss(part), Fault::Program(part), Fault::Erase(part)][random.below(3) as usize];
                    host.fail(fault);
                    assert!(host.flash.store().has_failures());
                }
                13 if random.below(4) == 0 => {
                    for (channel, chip) in host.flash.parts().dead_chips() {
                        replaced += u32::from(host.flash.replace(channel, chip));
                        host.settle();
                    }
                }
                15 => _ = host.end_commit(),
                14 => host.flash.rebuilt(),
                _ => _ = host.advance(),
            }
        }
        host.finish();
        repeated += host.repeated;
        unplaced += host.unplaced;
        failed += host.failed[0];
        retired += (0..members).map(|member| host.flash.pages_gone(MemberId(member))).sum::<u32>();
        completed += host.completed[1];
        asked = [asked[0] + host.asked[0], asked[1] + host.asked[1]];
    }
    assert!(completed > 50_000 && asked[0] > 1000 && asked[1] > 500, "{completed} {asked:?}");
    assert!(
        repeated > 100 && unplaced > 20 && replaced > 20 && failed > 100 && retired > 1000,
        "{repeated} {unplaced} {replaced} {failed} {retired}"
    );
}

/// A host that has written every page of the members, in order.
fn written(settings: Settings) -> Host {
    let (members, pages) = (settings.members() as u16, settings.pages_per_member);
    let mut host = Host::new(settings);
    for (page, member) in (0..pages).flat_map(|page| (0..members).map(move |member| (page, member))) {
        assert!(host.write(MemberPage::new(member, page), Version::Current, false));
    }
    host.finish();
    host
}

/// SPEC 0.1: a page is LOST when its chip is dead: by its address. What overwrites it goes to living chips of the member.
#[test]
fn a_dead_chip_takes_its_pages_and_no_more_programs() {
    let mut host = written(settings(Placement::Member));
    assert!(!host.flash.store().has_failures() && host.lost(0) == (0, 150));
    host.fail(Fault::Loss(chip(0, 1)));
    let (lost, _) = host.lost(0);
    assert_eq!((lost, host.lost(1).0), (50, 0), "pages are spread evenly over 3 chips");
    assert_eq!(host.flash.pages_gone(MemberId(0)), 4 * 8 * 4);
    assert_eq!(host.flash.parts().dead_chips(), [(0, 1)]);
    let erases = host.flash.nand().counts()[2][Cause::Gc as usize];
    for page in (0..100).chain(0..100) {
        assert!(host.write(MemberPage::new(0, page), Version::Current, false));
        host.finish();
        let lun = host.flash.nand().places().lun_of(host.flash.store().lookup(MemberPage::new(0, page), Version::Current).unwrap());
        assert_ne!(host.flash.nand().shape().chip_of_lun(lun), 1);
        assert!(!host.flash.store().is_lost(MemberPage::new(0, page), Version::Current));
    }
    assert!(host.lost(0).0 > 0 && host.failed == [0, 0]);
    assert!(host.flash.nand().counts()[2][Cause::Gc as usize] > erases, "collection goes on");
}

/// SPEC 0.1 (e): a chip dies under an operation.
#[test]
fn what_is_under_way_on_a_dead_chip_fails_and_programs_are_repeated_beside_it() {
    let cell = CellTimes::new(10, 50_000, 100_000); // longer than the bus takes for all
    let mut host = written(Settings { cell, ..settings(Placement::Member) });
    let on_chip = |flash: &Flash, page: &u32| {
        let ppn = flash.store().lookup(MemberPage::new(0, *page), Version::Current).unwrap();
        flash.nand().shape().chip_of_lun(flash.nand().places().lun_of(ppn)) == 2
    };
    let pages: Vec<u32> = (0..150).filter(|page| on_chip(&host.flash, page)).take(4).collect();
    (140..150).for_each(|page| assert!(host.write(MemberPage::new(0, page), Version::Current, false)));
    while host.flash.nand().loads()[MemberId(0)].in_service < 6 {
        assert!(host.advance());
    }
    pages.iter().for_each(|page| assert!(host.read(MemberPage::new(0, *page), Version::Current)));
    assert_eq!(host.completed[0], 0);
    host.fail(Fault::Loss(chip(0, 2)));
    host.finish();
    assert_eq!((host.completed[0], host.failed[0]), (0, 4), "reads of lost pages fail when they end");
    assert_eq!((host.repeated, host.unplaced), (2, 0), "one program in each of the two dies");
    assert_eq!(host.flash.nand().counts()[1][Cause::Retry as usize], u64::from(host.repeated));
    (140..150).for_each(|page| assert!(!host.flash.store().is_lost(MemberPage::new(0, page), Version::Current)));
}

/// A member of a single chip has no other: its programs fail, at once if they have not begun, and are repeated only on a spare chip.
#[test]
fn programs_of_a_dead_member_fail_until_a_spare_chip_takes_its_place() {
    for placement in [Placement::Member, Placement::Static] {
        for spare_chips in [0, 1] {
            let mut host = written(Settings {
                given: Given { member: Member::Chip, spare_chips, ..GIVEN },
                pages_per_member: 48,
                ..settings(placement)
            });
            let free = host.flash.nand().loads()[MemberId(4)].programs;
            (0..20).for_each(|page| assert!(host.write(MemberPage::new(4, page), Version::Current, false)));
            assert!(host.flash.nand().loads()[MemberId(4)].programs > free);
            host.flash.fail(&Fault::Loss(Part::Member(4)));
            assert_eq!(host.flash.nand().loads()[MemberId(4)].programs, 0, "those that have not begun fail at once");
            assert!(host.flash.nand_mut().completions().iter().all(|completion| completion.progress == Progress::Failed));
            assert_eq!(host.flash.parts().dead_chips(), [(1, 1)]);
            assert_eq!(host.flash.replace(1, 1), spare_chips == 1);
            host.settle();
            host.finish();
            assert_eq!((host.repeated, host.unplaced), if spare_chips == 1 { (20, 0) } else { (0, 20) });
            assert_eq!(host.lost(4), if spare_chips == 1 { (28, 48) } else { (48, 48) });
            assert_eq!(host.flash.can_allocate(MemberPage::new(4, 0)), spare_chips == 1);
            assert_eq!(host.flash.pages_gone(MemberId(4)), if spare_chips == 1 { 0 } else { 128 });
            assert!(!host.flash.replace(1, 1), "no chip is replaced twice");
        }
    }
}

/// A failed program is repeated elsewhere; the live pages of its block stay readable, are moved, and the block is retired.
#[test]
fn a_failed_program_retires_its_block() {
    let mut host = written(Settings { pages_per_member: 100, ..settings(Placement::Member) });
    host.fail(Fault::Program(Part::Channel(0)));
    (0..40).for_each(|page| assert!(host.write(MemberPage::new(0, page), Version::Current, false)));
    while host.failed[1] == 0 {
        assert!(host.advance());
    }
    host.finish();
    assert_eq!((host.failed[1], host.repeated), (1, 1), "each fault happens once");
    assert_eq!(host.lost(0), (0, 100), "nothing is lost");
    assert_eq!(host.flash.pages_gone(MemberId(0)), 4, "one block is retired");
}

/// While space is plenty and nothing is collected, a block of its own is opened for what is moved out of a block with a failed program.
#[test]
fn a_block_is_retired_where_nothing_is_collected() {
    let geometry = Geometry {
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 1,
        blocks_per_plane: 16,
        pages_per_block: 4,
        page_bytes: 4096,
    };
    let mut host = Host::new(Settings { geometry, pages_per_member: 16, ..settings(Placement::Member) });
    let mut write = |page| {
        assert!(host.write(MemberPage::new(0, page), Version::Current, false));
        host.finish();
    };
    (0..3).for_each(&mut write);
    host.fail(Fault::Program(Part::Channel(0)));
    assert!(host.write(MemberPage::new(0, 3), Version::Current, false));
    host.finish();
    let gc = Cause::Gc as usize;
    assert_eq!(
        (host.repeated, host.flash.nand().counts()[Action::Program as usize][gc]),
        (1, 3),
        "the page itself, and those that had been written"
    );
    assert_eq!((host.lost(0), host.flash.pages_gone(MemberId(0))), ((0, 4), 4));
}

/// A block with a failed program is emptied where that takes nothing from others: if a whole block of pages is left that nobody has reserved.
#[test]
fn a_bad_block_is_emptied_into_pages_that_nobody_has_reserved() {
    for (reserved, is_emptied) in [(20, true), (21, false)] {
        let mut host = Host::new(Settings { geometry: ONE_PLANE, pages_per_member: 20, ..settings(Placement::Member) });
        let page = |page| MemberPage::new(0, page);
        let write = |host: &mut Host, number| {
            assert!(host.write(page(number), Version::Current, false));
            host.finish();
        };
        (0..3).for_each(|number| write(&mut host, number));
        // 7 blocks are erased, one of which is kept for GC; so 24 pages are left when the program of the last page of the first block fails.
        host.fail(Fault::Program(Part::Channel(0)));
        (0..reserved).for_each(|_| assert!(host.flash.reserve(page(19), Version::Current)));
        write(&mut host, 3);
        assert_eq!((host.repeated, host.lost(0)), (1, (0, 4)));
        let moved = host.flash.nand().counts()[Action::Program as usize][Cause::Gc as usize];
        assert_eq!((moved, host.flash.pages_gone(MemberId(0))), if is_emptied { (3, 4) } else { (0, 0) }, "{reserved} reserved");
        let left = (0..).take_while(|_| host.flash.reserve(page(19), Version::Current)).count();
        assert_eq!(left, if is_emptied { 0 } else { 24 - 1 - 21 });
    }
}

/// A failed erase retires the block, whose live pages were moved.
#[test]
fn a_failed_erase_retires_the_block() {
    let mut host = written(settings(Placement::Member));
    host.fail(Fault::Erase(Part::Channel(1)));
    for page in (0..150).chain(0..150) {
        assert!(host.write(MemberPage::new(1, page), Version::Current, false));
        host.finish();
    }
    assert_eq!(host.flash.pages_gone(MemberId(1)), 4);
    assert_eq!((host.lost(1), host.failed), ((0, 150), [0, 0]));
}

/// An unreadable page is lost alone; GC cannot move it, and nothing of it comes back with the erase of its block.
#[test]
fn an_unreadable_page_stays_lost_when_its_block_is_collected() {
    let mut host = written(settings(Placement::Member));
    let ppn = host.flash.store().lookup(MemberPage::new(0, 0), Version::Current).unwrap();
    let (block, page) = parts_of(&host.flash, ppn);
    host.fail(Fault::Loss(page));
    assert_eq!(host.lost(0), (1, 150));
    host.read(MemberPage::new(0, 0), Version::Current);
    host.finish();
    assert_eq!(host.failed[0], 1);
    let mut random = Random(7);
    for _ in 0..3000 {
        assert!(host.write(MemberPage::new(0, 1 + random.below(149) as u32), Version::Current, false));
        host.finish();
    }
    assert_ne!(host.flash.store().lookup(MemberPage::new(0, 0), Version::Current), Some(ppn), "its block was collected");
    assert!(!host.flash.store().is_lost_page(ppn), "what is in its place can be read");
    assert_eq!(host.lost(0), (1, 150));
    assert!(host.write(MemberPage::new(0, 0), Version::Current, false));
    host.finish();
    assert_eq!(host.lost(0), (0, 150));
    // A bad block loses all of its pages.
    host.fail(Fault::Loss(block));
    assert!(host.flash.store().is_lost_page(ppn) && host.flash.pages_gone(MemberId(0)) == 4);
}

/// A page that is placed at once goes where its program would have succeeded, if there is such a page.
#[test]
fn what_is_placed_at_once_can_be_read() {
    let page = |number| MemberPage::new(0, number);
    let one_plane = Settings { geometry: ONE_PLANE, pages_per_member: 16, ..settings(Placement::Member) };
    let one_plane_in_blocks = Settings { geometry: ONE_PLANE, pages_per_member: 16, ..settings(Placement::Blocks) };
    let hybrid = Settings { log_blocks: 1, gc_threshold: 0.0, ..one_plane_in_blocks };
    for settings in [one_plane, hybrid] {
        let mut host = Host::new(settings);
        assert!(host.write(page(0), Version::Current, false));
        host.finish();
        let first = host.flash.store().lookup(page(0), Version::Current).unwrap();
        let (_, next) = parts_of(&host.flash, Ppn(first.0 + 1));
        host.fail(Fault::Loss(next));
        let mut stuck = host.flash.clone();
        assert!(host.flash.reserve(page(1), Version::Current));
        let ppn = host.flash.place(page(1), Version::Current);
        assert!(ppn.0 > first.0 + 1 && host.lost(0) == (0, 2), "{ppn:?}");
        host.settle();
        // The last page that nobody has reserved is the one that is lost.
        while stuck.reserve(page(1), Version::Current) {}
        stuck.place(page(1), Version::Current);
        assert!(stuck.store().is_lost(page(1), Version::Current));
    }
}

/// Programs that nobody will make a page for end: they fail, and cannot be repeated.
#[test]
fn stuck_programs_fail() {
    let mut host = written(settings(Placement::Member));
    // 9 of 12 planes hold 252 pages; 150 stay written. What is lost keeps no page, so only what lives may fill the rest.
    host.fail(Fault::Loss(chip(0, 0)));
    host.fail(Fault::Loss(chip(0, 1)));
    let reserved = (0..).take_while(|_| host.flash.reserve(MemberPage::new(0, 0), Version::Current)).count();
    for page in 0..reserved as u32 {
        host.flash.submit(&operation(Action::Program, MemberPage::new(0, page), Version::Current, false), page << 2).unwrap();
        host.writing.insert((host.flash.store().maps().slot(MemberPage::new(0, page)), 0), true);
    }
    host.checks = false;
    host.fail(Fault::Loss(Part::Die { channel: 0, chip: 2, die: 1 }));
    while host.flash.nand().next_event_ns() != u64::MAX {
        host.flash.advance(&mut NoObserver);
        // As an engine whose programs wait for others: nothing is committed, so nothing becomes garbage.
        for completion in host.flash.nand_mut().completions().to_vec() {
            assert!(completion.progress == Progress::Ended || host.flash.repeat(completion.record));
        }
        host.flash.nand_mut().completions().clear();
    }
    assert!(host.flash.fail_stuck());
    let stuck = host.flash.nand_mut().completions().to_vec();
    assert!(!stuck.is_empty() && stuck.iter().all(|completion| completion.progress == Progress::Failed));
    for completion in stuck {
        assert!(!host.flash.repeat(completion.record));
        host.flash.abort(completion.record);
    }
    host.flash.nand_mut().completions().clear();
    assert!(!host.flash.fail_stuck());
    assert!(host.flash.store().space().domain_is_alive(0) && !host.flash.can_allocate(MemberPage::new(0, 0)));
}

/// A spare chip may stand for a mirror chip too: copies are refused from its failure until its rebuild has ended.
#[test]
fn a_mirror_chip_is_replaced() {
    let settings = Settings {
        given: Given { mirror_chips: 1, spare_chips: 1, ..GIVEN },
        pages_per_member: 60,
        translation_blocks: 2,
        translation_pages: 2,
        ..settings(Placement::Member)
    };
    let mut host = written(settings);
    let page = MemberPage::new(0, 7);
    assert!(host.write(page, Version::Copy, false));
    host.finish();
    host.fail(Fault::Loss(chip(0, 2)));
    assert!(host.flash.store().is_lost(page, Version::Copy) && !host.flash.store().is_lost(page, Version::Current));
    assert_eq!(host.flash.pages_gone(MemberId(0)), 0, "no data chip");
    assert!(!host.flash.has_mirror(MemberId(0)) && host.flash.has_mirror(MemberId(1)));
    assert!(host.flash.replace(0, 2) && host.flash.has_mirror(MemberId(0)));
    host.settle();
    assert!(!host.flash.takes_copy(MemberId(0)), "not before its rebuild has ended");
    assert!(host.write(page, Version::Copy, false));
    host.finish();
    let ppn = host.flash.store().lookup(page, Version::Copy).unwrap();
    assert_eq!(host.flash.nand().shape().chip_of_lun(host.flash.nand().places().lun_of(ppn)), 3);
    host.flash.rebuilt();
    assert!(host.flash.takes_copy(MemberId(0)) && !host.flash.store().is_lost(page, Version::Copy));
    host.fail(Fault::Loss(chip(0, 0)));
    assert!(!host.flash.replace(0, 0), "no spare chip is left");
}

/// Pages that are gone are those of blocks out of use in the chips that are in use: what a dead chip had comes back with the spare chip in its place, but
/// for blocks that this one has lost. Blocks of translation pages, and chips for copies, do not count.
#[test]
fn pages_gone_are_those_of_the_chips_in_use() {
    let bad = |chip, block| Fault::Loss(Part::Block { channel: 0, chip, die: 0, plane: 1, block });
    let gone = |host: &Host| host.flash.pages_gone(MemberId(0));
    for (translation_blocks, data_blocks) in [(0, 8), (2, 6)] {
        let given = Given { spare_chips: 1, mirror_chips: 1, ..GIVEN };
        let translation_pages = translation_blocks;
        let own = Settings { given, translation_blocks, translation_pages, pages_per_member: 60, ..settings(Placement::Member) };
        let mut host = written(own.clone());
        // The chip 1, the mirror chip 2, and the spare chip 3, in which nobody needs anything yet.
        for (fault, expected) in [(bad(1, 0), 4), (bad(1, 3), 8), (bad(2, 0), 8), (bad(3, 0), 8), (bad(3, 1), 8), (bad(3, 1), 8)] {
            host.fail(fault);
            assert_eq!(gone(&host), expected, "{fault:?}");
        }
        let mut mirror = Host { flash: host.flash.clone(), ..Host::new(own) };
        host.fail(Fault::Loss(chip(0, 1)));
        assert_eq!(gone(&host), 4 * data_blocks * 4, "each of its blocks once");
        assert!(host.flash.replace(0, 1));
        host.settle();
        assert_eq!(gone(&host), 2 * 4, "blocks that the spare chip had lost before");
        host.fail(bad(3, 2));
        assert_eq!((gone(&host), host.flash.pages_gone(MemberId(1))), (3 * 4, 0));
        // The spare chip in the place of one for copies.
        mirror.fail(Fault::Loss(chip(0, 2)));
        assert!(mirror.flash.replace(0, 2));
        mirror.settle();
        mirror.fail(bad(3, 2));
        assert_eq!(gone(&mirror), 8);
    }
}

/// SPEC 1.10, ruling 14: what a rebuild restores goes to the replacement while that has a page, then to other chips of the member. The host's programs
/// go to any chip; after the rebuild, or where the user wants it, so do all.
#[test]
fn what_is_rebuilt_goes_to_the_replacement() {
    let chips_of = |host: &Host, pages: std::ops::Range<u32>| {
        let mut chips = [0; 4];
        for page in pages {
            let ppn = host.flash.store().lookup(MemberPage::new(0, page), Version::Current).unwrap();
            chips[host.flash.nand().shape().chip_of_lun(host.flash.nand().places().lun_of(ppn)) as usize] += 1;
        }
        chips
    };
    for (rebuild_target, goes_there) in [(RebuildTarget::Replacement, true), (RebuildTarget::Member, false)] {
        let mut host = written(Settings { given: Given { spare_chips: 1, rebuild_target, ..GIVEN }, ..settings(Placement::Member) });
        let program = |host: &mut Host, pages: std::ops::Range<u32>, cause| {
            for page in pages {
                let operation = operation(Action::Program, MemberPage::new(0, page), Version::Current, false);
                assert!(host.program(&PageOperation { cause, ..operation }));
            }
            host.finish();
        };
        host.fail(Fault::Loss(chip(0, 0)));
        assert!(host.flash.replace(0, 0));
        program(&mut host, 0..24, Cause::Rebuild);
        assert_eq!(chips_of(&host, 0..24)[3] == 24, goes_there, "{:?}", chips_of(&host, 0..24));
        // So it does when another chip fails.
        let mut second = Host { flash: host.flash.clone(), ..Host::new(host.flash.settings().clone()) };
        second.fail(Fault::Loss(chip(0, 1)));
        program(&mut second, 0..24, Cause::Rebuild);
        assert_eq!(chips_of(&second, 0..24)[3] == 24, goes_there, "{:?}", chips_of(&second, 0..24));
        program(&mut host, 24..48, Cause::Host);
        assert!(chips_of(&host, 24..48)[1..].iter().all(|count| *count > 0), "{:?}", chips_of(&host, 24..48));
        let mut later = Host { flash: host.flash.clone(), ..Host::new(host.flash.settings().clone()) };
        later.flash.rebuilt();
        program(&mut later, 0..24, Cause::Rebuild);
        assert!(chips_of(&later, 0..24)[1..].iter().all(|count| *count > 0), "{:?}", chips_of(&later, 0..24));
        // Its four planes have 32 pages each, of which 8 are kept for GC.
        program(&mut host, 48..150, Cause::Rebuild);
        let [_, other, another, replacement] = chips_of(&host, 48..150);
        assert!(other > 0 && another > 0 && (replacement > 50) == goes_there, "{:?}", chips_of(&host, 48..150));
    }
}

#[test]
fn parts_that_do_not_exist_are_refused() {
    let settings = Settings { given: Given { spare_chips: 1, ..GIVEN }, ..settings(Placement::Member) };
    let refusal = |part| settings.part_exists(&part).unwrap_err();
    assert_eq!(refusal(Part::Channel(9)), "channel 9: the device has channels 0 to 1");
    assert_eq!(refusal(chip(1, 4)), "chip 4: each channel has chips 0 to 3");
    assert_eq!(refusal(Part::Member(2)), "member 2: the device has members 0 to 1");
    assert_eq!(refusal(Part::Block { channel: 0, chip: 0, die: 1, plane: 1, block: 8 }), "block 8: each plane has blocks 0 to 7");
    assert!(settings.part_exists(&chip(1, 3)).is_ok());
}
