//! GC runs that do what programs make them owe (SPEC 8.4), and when they do not wait for that.

use crate::support::{GIVEN, Host, ONE_PLANE, settings};
use flashraid_ftl::{Given, MemorySettings, Placement, Settings, finish_gc};
use flashraid_vocabulary::{Cause, GcPace, Geometry, Health, MemberId, MemberPage, Version};

const GC: usize = Cause::Gc as usize;

/// One plane of 16 blocks of 8 pages that is collected when half of its pages are used.
fn paced() -> Settings {
    Settings {
        geometry: Geometry { blocks_per_plane: 16, pages_per_block: 8, ..ONE_PLANE },
        pages_per_member: 80,
        gc_threshold: 0.5,
        given: Given { gc_pace: GcPace::Debt, ..GIVEN },
        ..settings(Placement::Member)
    }
}

fn page(page: u32) -> MemberPage {
    MemberPage::new(0, page)
}

fn write(host: &mut Host, number: u32) {
    assert!(host.write(page(number), Version::Current, false), "page {number} finds room");
    host.finish();
}

/// Moves so far, and erases.
fn collected(host: &Host) -> (u64, u64) {
    let [_, programs, erases] = [0, 1, 2].map(|action| host.flash.nand().counts()[action][GC]);
    (programs, erases)
}

/// Seven full blocks, of which the first has 6 pages to move and 2 of garbage, and then as many pages as make the plane be collected.
fn low(settings: Settings) -> Host {
    let mut host = Host::new(settings);
    (0..56).chain([0, 1]).chain(56..63).for_each(|number| write(&mut host, number));
    host
}

/// Its victim has v = 6 pages to move and frees f = 2: each program makes it owe 3 moves, and after two of them it is erased.
#[test]
fn a_run_moves_what_programs_make_it_owe() {
    let mut host = low(paced());
    let mut after = vec![collected(&host)];
    for number in 63..65 {
        write(&mut host, number);
        after.push(collected(&host));
    }
    assert_eq!(after, [(0, 0), (3, 0), (6, 1)]);

    let mut unpaced = low(Settings { given: GIVEN, ..paced() });
    unpaced.finish();
    assert_eq!(collected(&unpaced), (6, 1));
}

/// v = 7 and f = 1 would be 7 moves for each program; v = 1 and f = 7 is one for seven.
#[test]
fn what_is_owed_adds_up_to_whole_moves() {
    let mut host = Host::new(paced());
    (0..56).chain(1..8).chain(56..58).for_each(|number| write(&mut host, number));
    for programs in 1..=6 {
        write(&mut host, 57 + programs);
        assert_eq!(collected(&host), (0, 0), "after {programs}");
    }
    write(&mut host, 64);
    assert_eq!(collected(&host), (1, 1));
}

/// With flash pages of two pages, the run begins when one is full, and owes 2 x 3 moves when that is programmed.
#[test]
fn flash_pages_count_with_all_their_pages_when_they_are_programmed() {
    let memory = MemorySettings { pages: 16, read_ns: 10, survives_power_loss: true, pad_after_ns: 0 };
    let mut host = low(Settings { units_per_page: 2, memory, ..paced() });
    assert_eq!(collected(&host), (0, 0));
    assert!(host.write(page(63), Version::Current, false));
    assert!(host.flash.checked().gc_runs_under_way().of_data);
    assert_eq!(collected(&host), (0, 0));
    host.finish();
    assert_eq!(collected(&host), (6, 1));
}

/// Who finds no page to reserve waits for the block that the run frees: it does not rest meanwhile.
#[test]
fn a_run_goes_on_when_somebody_waits_for_pages() {
    let mut host = low(paced());
    while host.flash.reserve(page(70), Version::Current) {
        assert_eq!(collected(&host), (0, 0));
    }
    host.finish();
    assert_eq!(collected(&host), (6, 1));
}

/// Of an SSD that is not collected any more, a run under way ends all the same.
#[test]
fn a_run_goes_on_when_no_programs_will_come() {
    let mut host = low(paced());
    host.flash.set_health(Health::ReadOnly);
    host.finish();
    assert_eq!(collected(&host), (6, 1));
}

/// A run that rests keeps no drive from being switched off, and is brought to its end before.
#[test]
fn a_run_that_rests_ends_before_the_drive_is_switched_off() {
    let mut host = low(paced());
    assert!(!host.flash.checked().is_at_work());
    assert_eq!(host.flash.nand().loads()[MemberId(0)].gc_runs, 0, "who rests keeps nobody from being idle");
    finish_gc(&mut host.flash);
    assert!(host.flash.checked().is_at_work());
    host.finish();
    assert!(!host.flash.checked().is_at_work());
    assert_eq!(collected(&host), (6, 1));
}

/// The victim has pages 2 to 7. Of groups of two pages three are read, each in one time of the array; of groups of four two.
#[test]
fn pages_of_a_group_are_read_together() {
    for (read_pages, arrays) in [(1, 6), (2, 3), (4, 2)] {
        let memory = MemorySettings { pages: 32, read_ns: 10, survives_power_loss: true, pad_after_ns: 0 };
        let given = Given { program_pages: 4, read_pages, ..GIVEN };
        let mut host = low(Settings { memory, given, pages_per_member: 72, ..paced() });
        host.finish();
        (63..67).for_each(|number| write(&mut host, number));
        let nand = host.flash.nand();
        let [reads, programs, erases] = flashraid_nand::packed::flash_counts(nand).map(|of| of[GC]);
        assert_eq!((reads, programs, erases), (6, 4, 1));
        assert_eq!(nand.luns()[0].array_ns[GC], arrays * 10 + 100 + 1000);
    }
}
