//! Maps, blocks and the numbering of planes, each beside a naive model.

use crate::support::{GIVEN, Random};
use flashraid_ftl::mapping::maps::Maps;
use flashraid_ftl::space::blocks::{BlockState, Blocks};
use flashraid_ftl::space::streams::WriteStream;
use flashraid_ftl::{Flash, Given, Placement, Settings};
use flashraid_vocabulary::{Geometry, Lun, Member, MemberPage, Ppn, Version, View};

#[test]
fn maps_find_the_next_mapped_slot() {
    const SLOTS: u32 = 5000;
    let mut random = Random(1);
    let mut maps = Maps::new(SLOTS as usize, 1 << 16, 1);
    let mut naive = vec![None; SLOTS as usize];
    for round in 0..3000 {
        let slot = random.below(u64::from(SLOTS)) as u32;
        // Sparse at first, so that whole runs of 1024 are empty; then denser.
        if random.below(4) < 1 + u64::from(round > 1500) {
            let ppn = Ppn(random.below(1 << 16) as u32);
            assert_eq!(maps.set(Version::Current, slot, ppn), naive[slot as usize].replace(ppn));
        } else {
            assert_eq!(maps.clear(Version::Current, slot), naive[slot as usize].take());
        }
        // Other versions are no current pages.
        maps.set(Version::Base, SLOTS - 1 - slot, Ppn(7));
        let start = random.below(u64::from(SLOTS)) as u32;
        let end = start + random.below(u64::from(SLOTS - start) + 1) as u32;
        let expected = (start..end).find(|slot| naive[*slot as usize].is_some());
        assert_eq!(maps.next_mapped(start, end), expected, "from {start} before {end}");
    }
}

#[test]
fn a_page_is_live_while_its_map_names_it() {
    let mut maps = Maps::new(100, 100, 1);
    for (version, ppn) in [(Version::Current, 1), (Version::Base, 2), (Version::Copy, 3)] {
        maps.label(Ppn(ppn), version, 42);
        assert_eq!(maps.live(Ppn(ppn)), None, "not named yet");
        assert_eq!(maps.set(version, 42, Ppn(ppn)), None);
        assert_eq!(maps.live(Ppn(ppn)), Some((version, 42)));
    }
    assert_eq!(maps.set(Version::Current, 42, Ppn(4)), Some(Ppn(1)));
    assert_eq!(maps.live(Ppn(1)), None, "superseded");
    assert_eq!(maps.live(Ppn(2)), Some((Version::Base, 42)));
    assert_eq!(maps.clear(Version::Base, 42), Some(Ppn(2)));
    assert_eq!(maps.live(Ppn(2)), None);
}

const PAGES: u32 = 8;

/// Programs `count` pages of a stream; they are live at once.
fn program(blocks: &mut Blocks, stream: WriteStream, count: u32) {
    for _ in 0..count {
        let block = blocks.take(0, stream).block;
        blocks.blocks[block].pending -= 1;
        blocks.blocks[block].live += 1;
    }
}

/// Moves the live pages of a full block as GC does, and erases it.
fn collect(blocks: &mut Blocks, victim: u16) {
    let index = blocks.index(0, victim);
    blocks.blocks[index].state = BlockState::Victim;
    let live = blocks.blocks[index].live;
    program(blocks, WriteStream::GC, live);
    blocks.blocks[index].live = 0;
    assert!(!blocks.erased(0, victim));
}

/// The space rule: `gc_reserve_blocks - 1` erased blocks are out of the host's reach, a GC run takes at most one of them and gives one back, so
/// what the host may take never shrinks by GC.
#[test]
fn gc_never_takes_more_than_its_loan() {
    for gc_reserve_blocks in [2, 3, 5] {
        let mut random = Random(u64::from(gc_reserve_blocks));
        let mut blocks = Blocks::new([(16, [0.0; 2])].into_iter(), 16, PAGES, gc_reserve_blocks, true);
        assert_eq!(blocks.host_pages(0), (16 - (gc_reserve_blocks - 1)) * PAGES);
        for round in 0..2000 {
            // The host takes some or all that it may.
            let most = blocks.host_pages(0);
            let count = if round % 3 == 0 { most } else { random.below(u64::from(most) + 1) as u32 };
            program(&mut blocks, WriteStream::HOST, count);
            assert_eq!(blocks.host_pages(0), most - count);
            assert!(blocks.planes[0].free_blocks + u32::from(blocks.planes[0].debt) >= gc_reserve_blocks - 1);
            // Pages of full blocks become garbage, at least one of each block: any of them may be the victim, with any number left.
            let full: Vec<u16> = (0..16).filter(|number| blocks.blocks[usize::from(*number)].state == BlockState::Closed).collect();
            for number in &full {
                let live = &mut blocks.blocks[usize::from(*number)].live;
                *live = (*live).min(random.below(u64::from(PAGES)) as u32);
            }
            if let Some(victim) = full.get(random.below(full.len().max(1) as u64) as usize) {
                let before = blocks.host_pages(0);
                collect(&mut blocks, *victim);
                assert!(blocks.host_pages(0) >= before, "round {round}: {before} shrank to {}", blocks.host_pages(0));
                assert!(!blocks.planes[0].debt);
                assert!(blocks.planes[0].free_blocks >= gc_reserve_blocks - 1);
            }
            let free: u32 = blocks.blocks[..16].iter().map(|block| PAGES - block.written).sum();
            assert_eq!(blocks.planes[0].free_pages, free);
        }
    }
}

/// Which of the freed blocks is opened next.
fn next_opened(wear_dynamic: bool) -> Vec<u16> {
    let mut blocks = Blocks::new([(4, [0.0; 2])].into_iter(), 4, 1, 2, wear_dynamic);
    let opened = |blocks: &mut Blocks| {
        let block = blocks.take(0, WriteStream::HOST).block;
        blocks.blocks[block].pending -= 1;
        block as u16
    };
    // Every block is used once, then erased: block 3 twice, block 1 three times, and freed in the order 2, 3, 1.
    assert_eq!([0; 4].map(|_| opened(&mut blocks)), [0, 1, 2, 3]);
    blocks.erases[3] = 1;
    blocks.erases[1] = 2;
    [3, 1, 2].into_iter().for_each(|block| assert!(!blocks.erased(0, block)));
    [0; 3].map(|_| opened(&mut blocks)).into()
}

#[test]
fn dynamic_leveling_opens_the_least_worn_block() {
    assert_eq!(next_opened(true), [2, 3, 1], "fewest erases first");
    assert_eq!(next_opened(false), [3, 1, 2], "in the order in which they were freed");
}

#[test]
fn blocks_know_their_planes() {
    let blocks = Blocks::new([11, 8, 11].map(|blocks| (blocks, [0.0; 2])).into_iter(), 11, PAGES, 2, true);
    for plane in 0..3 {
        for number in 0..11 {
            assert_eq!(blocks.place(blocks.index(plane, number)), (plane, number));
        }
    }
    assert_eq!(blocks.erase_counts().count(), 30, "gaps between planes are no blocks");
}

const GEOMETRY: Geometry = Geometry { channels: 4, ..crate::support::GEOMETRY };

fn flash(placement: Placement, order: &[u8; 3], member_is_chip: bool, chip_serial: bool) -> Flash {
    Flash::new(settings(placement, order, member_is_chip, chip_serial))
}

fn settings(placement: Placement, order: &[u8; 3], member_is_chip: bool, chip_serial: bool) -> Settings {
    let settings = crate::support::settings(placement);
    let given = Given {
        member: if member_is_chip { Member::Chip } else { Member::Channel },
        lun: if chip_serial { Lun::Chip } else { Lun::Die },
        ..GIVEN
    };
    Settings { geometry: GEOMETRY, given, pages_per_member: 48, static_order: *order, ..settings }
}

/// Static placement goes round the member's chips (W), dies (D) and planes (P) like the digits of the page number, fastest first.
/// Planes are numbered channel by channel, and in it by LUN: die by die over the chips, or chip by chip if chips work serially.
#[test]
fn static_placement_follows_its_order() {
    for order in [b"WDP", b"WPD", b"DWP", b"DPW", b"PWD", b"PDW"] {
        for (member_is_chip, chip_serial) in [(false, false), (false, true), (true, false), (true, true)] {
            let flash = flash(Placement::Static, order, member_is_chip, chip_serial);
            assert_eq!(flash.store().space().domains(), 4 * 3 * 2 * 2);
            let members = if member_is_chip { 12 } else { 4 };
            for member in 0..members {
                for page in 0..48 {
                    let (mut rest, mut chip, mut die, mut plane) = (page, 0, 0, 0);
                    for level in order {
                        let (digit, extent) = match level {
                            b'W' => (&mut chip, if member_is_chip { 1 } else { 3 }),
                            b'D' => (&mut die, 2),
                            _ => (&mut plane, 2),
                        };
                        *digit = rest % extent;
                        rest /= extent;
                    }
                    let channel = if member_is_chip { member / 3 } else { member };
                    let chip = if member_is_chip { member % 3 } else { chip };
                    let in_channel = if chip_serial { chip * 4 + die * 2 + plane } else { (die * 3 + chip) * 2 + plane };
                    let domain = flash.store().space().domain_of(MemberPage::new(member as u16, page), Version::Current);
                    assert_eq!(domain, channel * 12 + in_channel, "{order:?} {member_is_chip} {chip_serial} member {member} page {page}");
                }
            }
        }
    }
}

#[test]
fn domains_are_planes_members_or_groups() {
    for (placement, member_is_chip, members, domains) in [
        (Placement::Member, false, 4, 4),
        (Placement::Member, true, 12, 12),
        (Placement::Groups(2), false, 4, 2),
        (Placement::Groups(2), true, 12, 2),
        (Placement::Groups(1), false, 4, 1),
        (Placement::Groups(1), true, 12, 1),
    ] {
        let mut flash = flash(placement, b"WDP", member_is_chip, false);
        assert_eq!(flash.store().space().domains(), domains);
        for member in 0..members {
            let expected = u32::from(member) * domains as u32 / u32::from(members);
            assert_eq!(flash.store().space().domain_of(MemberPage::new(member, 5), Version::Current), expected);
        }
        // All of a domain's pages but the reserve, one block a plane, can be promised; not one more.
        let pages = 48 * (8 - 1) * 4 / domains;
        for domain in 0..domains as u32 {
            let page = MemberPage::new((domain * u32::from(members) / domains as u32) as u16, 5);
            let reserves = |flash: &mut Flash| flash.reserve(page, Version::Current);
            assert!((0..pages).all(|_| reserves(&mut flash)));
            assert!(!reserves(&mut flash));
            flash.release(page, Version::Current);
            assert_eq!(flash.store_mut().space_mut().news_mut().take_freed(), Some(domain));
            assert!(reserves(&mut flash) && !reserves(&mut flash));
        }
        // Each LUN belongs to one member, all members to as many.
        let of_member = |member| (0..24).filter(|lun| flash.nand().member_of_lun(*lun) == Some(member)).count();
        assert!((0..u32::from(members)).all(|member| of_member(member) == 24 / usize::from(members)));
    }
}

#[test]
fn slots_and_addresses_undo_each_other() {
    let flash = flash(Placement::Member, b"WDP", true, false);
    for slot in 0..12 * 48 {
        assert_eq!(flash.store().maps().slot(flash.store().maps().address(slot)), slot);
    }
    assert_eq!(flash.store().maps().slot(MemberPage::new(3, 7)), 7 * 12 + 3, "the strips of a stripe lie side by side");
}

/// Pages placed without time are dealt out evenly, and what was placed can be found.
#[test]
fn placed_pages_are_spread_evenly() {
    for placement in [Placement::Static, Placement::Member, Placement::Groups(2), Placement::Groups(1)] {
        for member_is_chip in [false, true] {
            let mut flash = flash(placement, b"WDP", member_is_chip, false);
            let members = if member_is_chip { 12 } else { 4 };
            let mut of_plane = vec![0; 48];
            for page in 0..48 {
                for member in 0..members {
                    let address = MemberPage::new(member, page);
                    assert!(flash.reserve(address, Version::Current));
                    let ppn = flash.place(address, Version::Current);
                    assert_eq!(flash.store().lookup(address, Version::Current), Some(ppn));
                    of_plane[(ppn.0 / (4 * 13)) as usize] += 1; // 8 blocks and a gap of 5, of 4 pages
                }
            }
            flash.checked().check().unwrap();
            assert!(of_plane.iter().all(|pages| *pages == 48 * i32::from(members) / 48), "{placement:?} {member_is_chip}: {of_plane:?}");
        }
    }
}

/// Copies lie on the mirror chips of their member, the last ones of its channel, and nothing else does.
#[test]
fn copies_and_nothing_else_lie_on_mirror_chips() {
    for (mirror_chips, chip_serial) in [(1, false), (1, true), (2, false), (2, true)] {
        let settings = {
            let all = settings(Placement::Member, b"WDP", false, chip_serial);
            Settings { given: Given { mirror_chips, ..all.given }, ..all }
        };
        let mut flash = Flash::new(settings);
        assert_eq!(flash.store().space().domains(), 8);
        for (page, member) in (0..16).flat_map(|page| (0..4).map(move |member| (page, member))) {
            let address = MemberPage::new(member, page);
            for version in [Version::Current, Version::Copy] {
                assert!(flash.takes_copy(address.member));
                assert!(flash.reserve(address, version));
                let lun = {
                    let ppn = flash.place(address, version);
                    flash.nand().places().lun_of(ppn)
                };
                assert_eq!(flash.nand().channel_of_lun(lun), u32::from(member));
                assert_eq!(
                    flash.nand().shape().chip_of_lun(lun) >= 3 - mirror_chips,
                    version == Version::Copy,
                    "{version:?} of {address:?}"
                );
            }
            assert_ne!(flash.store().lookup(address, Version::Current), flash.store().lookup(address, Version::Copy));
        }
        flash.checked().check().unwrap();
        // 4 planes a chip, 7 of 8 blocks of 4 pages outside the reserve.
        let pages = (0..).take_while(|_| flash.reserve(MemberPage::new(1, 0), Version::Copy)).count() as u32;
        assert_eq!(pages, mirror_chips * 4 * 7 * 4 - 16);
        assert!(!flash.takes_copy(MemberPage::new(1, 0).member) && flash.takes_copy(MemberPage::new(2, 0).member));
    }
}

/// Translation pages lie in blocks of their own, on the data chips of their member, wherever data pages may go.
#[test]
fn translation_pages_have_space_of_their_own() {
    let kinds = [
        (Placement::Member, false, 0),
        (Placement::Member, false, 1),
        (Placement::Member, true, 0),
        (Placement::Static, false, 0),
        (Placement::Static, true, 0),
        (Placement::Groups(2), false, 0),
    ];
    for (placement, member_is_chip, mirror_chips) in kinds {
        let settings = settings(placement, b"WDP", member_is_chip, false);
        let (first, pages) = (settings.pages_per_member, 8);
        let given = Given { mirror_chips, ..settings.given };
        let settings = Settings { given, translation_blocks: 3, translation_pages: pages, ..settings };
        let members = settings.members() as u16;
        let planes = settings.shape().planes_per_channel();
        let planes = if member_is_chip { planes / 3 } else { planes * (3 - mirror_chips) / 3 };
        let mut flash = Flash::new(settings);
        for member in 0..members {
            let data = flash.store().space().domain_of(MemberPage::new(member, 0), Version::Current);
            let domain = flash.store().space().domain_of(MemberPage::new(member, first), Version::Current);
            assert_ne!(domain, data);
            let used = (0..pages).map(|page| {
                let address = MemberPage::new(member, first + page);
                assert!(flash.reserve(address, Version::Current));
                let ppn = flash.place(address, Version::Current);
                assert_eq!(flash.store().lookup(address, Version::Current), Some(ppn));
                assert_eq!(flash.store().maps().address(flash.store().maps().slot(address)), address);
                let lun = flash.nand().places().lun_of(ppn);
                assert_eq!(flash.nand().member_of_lun(lun), Some(u32::from(member)), "{placement:?}");
                assert!(flash.nand().shape().chip_of_lun(lun) < 3 - mirror_chips);
                lun
            });
            assert!(used.collect::<std::collections::BTreeSet<_>>().len() > 1, "they are spread over the LUNs of the member");
            // 3 blocks of 4 pages in each plane, one of them in the reserve.
            let page = MemberPage::new(member, first);
            let left = (0..).take_while(|_| flash.reserve(page, Version::Current)).count() as u32;
            assert_eq!(left, planes * 2 * 4 - pages, "{placement:?} {member_is_chip} {mirror_chips}");
            (0..left).for_each(|_| flash.release(page, Version::Current));
        }
        // 5 blocks are left for data, 4 of them outside the reserve; without placement in time nothing else was taken.
        let planes = if placement == Placement::Static {
            1
        } else if matches!(placement, Placement::Groups(_)) {
            2 * planes
        } else {
            planes
        };
        assert_eq!(
            (0..).take_while(|_| flash.reserve(MemberPage::new(0, 0), Version::Current)).count() as u32,
            planes * 4 * 4,
            "{placement:?}"
        );
        flash.checked().check().unwrap();
        assert_eq!(flash.store().space().erase_counts().count() as u64, GEOMETRY.physical_pages() / 4, "every block is of one kind");
    }
}
