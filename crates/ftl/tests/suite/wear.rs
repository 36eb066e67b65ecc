//! The limit of erases: a device is worn out by the very erase that is the last one its blocks endure, and erases before time began count.

use crate::support::{GIVEN, Host, ONE_PLANE, Random, settings};
use flashraid_ftl::{Given, Placement, Settings};
use flashraid_vocabulary::{Fault, MemberId, MemberPage, Part, SsdView, Version};

fn one_plane() -> Settings {
    Settings { geometry: ONE_PLANE, pages_per_member: 16, ..settings(Placement::Member) }
}

/// Overwrites pages at random until the device says that it is worn out, and returns the erases in time.
fn erases_until_worn_out(host: &mut Host, most: u64) -> u64 {
    let (mut random, member) = (Random(7), MemberId(0));
    let erases = |host: &Host| host.flash.nand().counts()[2].iter().sum::<u64>();
    loop {
        host.write(MemberPage::new(0, random.below(16) as u32), Version::Current, false);
        while host.flash.nand().next_event_ns() != u64::MAX {
            let before = host.flash.store().space().total_erases();
            host.advance();
            if host.flash.store_mut().space_mut().news_mut().take_wear_out() {
                assert_eq!(
                    (before + 1, host.flash.store().space().total_erases()),
                    (host.flash.store().space().endurance(), host.flash.store().space().endurance())
                );
                assert!(
                    host.flash.store().space().is_worn_out() && !host.flash.store_mut().space_mut().news_mut().take_wear_out(),
                    "it is told once"
                );
                assert_eq!(host.flash.erases(member), SsdView::endurance(&host.flash, member));
                return erases(host);
            }
        }
        assert!(!host.flash.store().space().is_worn_out() && erases(host) < most, "{} erases", erases(host));
    }
}

#[test]
fn the_last_erase_that_all_blocks_endure_wears_the_device_out() {
    for (pe_limit, preset) in [(1, 0), (3, 0), (20, 0), (20, 13), (20, 19)] {
        let mut host = Host::new(one_plane());
        host.flash.store_mut().space_mut().limit_erases(pe_limit, preset);
        assert_eq!(
            (host.flash.store().space().total_erases(), host.flash.store().space().preset_erases()),
            (8 * u64::from(preset), preset)
        );
        assert_eq!(host.flash.store().space().age(), Some(f64::from(preset) / f64::from(pe_limit)));
        let spent = erases_until_worn_out(&mut host, 10_000);
        assert_eq!(spent, 8 * u64::from(pe_limit - preset), "of {pe_limit} with {preset} before");
        assert_eq!(host.flash.store().space().age(), Some(1.0));
        let in_blocks: u64 = host.flash.store().space().erase_counts().map(u64::from).sum();
        assert_eq!(in_blocks, 8 * u64::from(pe_limit));
    }
}

#[test]
fn without_a_limit_nothing_wears_out() {
    let mut host = Host::new(one_plane());
    let mut random = Random(3);
    for _ in 0..3_000 {
        host.write(MemberPage::new(0, random.below(16) as u32), Version::Current, false);
        host.finish();
    }
    assert!(
        host.flash.store().space().total_erases() > 500
            && !host.flash.store().space().is_worn_out()
            && !host.flash.store_mut().space_mut().news_mut().take_wear_out()
    );
    assert_eq!((host.flash.store().space().age(), SsdView::endurance(&host.flash, MemberId(0))), (None, u64::MAX));
}

/// Spare chips are new, and count from when they replace a chip, which counts no more; a device that is worn out is not mended with them.
#[test]
fn a_spare_chip_brings_its_own_erases() {
    let given = Given { spare_chips: 1, ..GIVEN };
    let mut host = Host::new(Settings { given, ..settings(Placement::Member) });
    host.flash.store_mut().space_mut().limit_erases(10, 4);
    // 2 channels of 3 chips of 4 planes of 8 blocks.
    assert_eq!((host.flash.store().space().total_erases(), host.flash.store().space().endurance()), (192 * 4, 1920));
    host.fail(Fault::Loss(Part::Chip { channel: 0, chip: 1 }));
    assert_eq!(host.flash.store().space().total_erases(), 192 * 4, "nothing replaces it yet");
    assert!(host.flash.replace(0, 1));
    assert_eq!((host.flash.store().space().total_erases(), host.flash.store().space().endurance()), (160 * 4, 1920));
    host.flash.checked().check().unwrap();

    let mut host = Host::new(Settings { given, pages_per_member: 16, geometry: ONE_PLANE, ..settings(Placement::Member) });
    host.flash.store_mut().space_mut().limit_erases(2, 0);
    erases_until_worn_out(&mut host, 1_000);
    host.fail(Fault::Loss(Part::Device));
    assert!(!host.flash.replace(0, 0));
}
