//! GC runs that commit semivalid pages instead of moving them (SPEC 4.4): which block they choose, and their two phases.

use crate::support::{GIVEN, Host, ONE_PLANE, settings};
use flashraid_ftl::{GcCounts, Given, Placement, Settings};
use flashraid_vocabulary::{Cause, Fault, GcBlockingScope, Geometry, LoadView, MemberPage, Part, Version};

const GC: usize = Cause::Gc as usize;

/// One plane of 8 blocks of 4 pages that is collected when half of its pages are used.
fn one_plane(commit_aware: bool) -> Settings {
    Settings {
        geometry: ONE_PLANE,
        pages_per_member: 20,
        gc_threshold: 0.5,
        given: Given { gc_blocking_scope: GcBlockingScope::Chip, ..GIVEN },
        moves_bases: false,
        commit_aware,
        ..settings(Placement::Member)
    }
}

fn page(page: u32) -> MemberPage {
    MemberPage::new(0, page)
}

/// Writes pages 0 to 11 in blocks 0 to 2, overwrites some, then writes new ones until the plane is collected.
fn overwritten(settings: Settings, overwrites: &[(u32, bool)]) -> Host {
    let mut host = Host::new(settings);
    let all = (0..12).map(|page| (page, false)).chain(overwrites.iter().copied()).chain((12..).map(|page| (page, false)));
    for (written, keep_base) in all.take(17) {
        assert!(host.write(page(written), Version::Current, keep_base));
        while host.flash.nand().next_event_ns() != u64::MAX && !host.flash.is_idle(page(0).member) {
            host.advance();
        }
    }
    host
}

fn erased(host: &Host) -> Vec<usize> {
    (0..8).filter(|block| host.flash.store().space().erase_counts().nth(*block) == Some(1)).collect()
}

/// Block 0 has two semivalid pages and two to move; block 1 has garbage and three to move. A move takes 110 ns. The commits of pages 0 and 1
/// read 0 and 1 pages and program one each: 100 and 110 ns more for block 0.
#[test]
fn commits_count_where_the_policy_says_so() {
    let overwrites = [(0, true), (1, true), (4, false)];
    let mut greedy = overwritten(one_plane(false), &overwrites);
    assert_eq!(greedy.asked, [2, 0], "greedy asks nobody");
    greedy.finish();
    assert_eq!(erased(&greedy), [0], "2 moves are fewer than 3");
    // Page 0 was ruled to be moved, page 1 to be committed.
    assert_eq!((greedy.flash.nand().counts()[1][GC], greedy.flash.nand().counts()[2][GC]), (3, 1));
    assert!(greedy.flash.store().lookup(page(0), Version::Base).is_some() && greedy.flash.store().lookup(page(1), Version::Base).is_none());

    let mut aware = overwritten(one_plane(true), &overwrites);
    assert_eq!(aware.asked, [0, 1]);
    aware.finish();
    assert_eq!(erased(&aware), [1], "330 ns are less than 220 + 210");
    assert_eq!((aware.flash.nand().counts()[1][GC], aware.flash.nand().counts()[2][GC]), (3, 1));

    // Without garbage elsewhere the commits are worth it.
    let mut only = overwritten(one_plane(true), &[(0, true), (1, true)]);
    only.finish();
    assert_eq!(erased(&only), [0]);
}

/// With equal costs a block without semivalid pages is taken.
#[test]
fn of_equal_costs_nothing_is_committed() {
    // Block 0 moves two pages and has two semivalid ones, block 1 moves two.
    let mut host = overwritten(one_plane(false), &[(0, true), (1, true), (4, false), (5, false)]);
    host.finish();
    assert_eq!((erased(&host), host.asked), (vec![1], [0, 0]));
}

/// While commits are under way nothing is moved and nobody stands still; then everything goes in one go.
#[test]
fn commits_come_before_moves() {
    let mut host = overwritten(one_plane(false), &[(1, true), (3, true)]);
    assert_eq!((host.asked, host.commits.len()), ([2, 0], 2));
    assert_eq!(host.flash.nand().loads()[page(0).member].gc_runs, 1);
    assert_eq!(host.flash.nand().next_event_ns(), u64::MAX, "it waits");
    // The start of the program that brought the plane below the threshold.
    let begun_ns = host.flash.nand().now_ns() - (1 + 4096 + 100);
    assert!(host.read(page(7), Version::Current) && host.advance() && host.advance());
    assert_eq!(host.completed[0], 1, "the chip is not blocked");
    assert!(host.end_commit());
    assert_eq!((host.flash.nand().next_event_ns(), host.flash.nand().counts()[0][GC]), (u64::MAX, 0), "one of two");
    assert!(host.end_commit());
    assert!(host.flash.nand().next_event_ns() < u64::MAX);
    // Page 1 was committed; page 3 is semivalid all the same, and moved.
    host.finish();
    assert_eq!((host.flash.nand().counts()[1][GC], host.flash.nand().counts()[2][GC], erased(&host)), (3, 1, vec![0]));
    assert!(host.flash.store().lookup(page(1), Version::Base).is_none() && host.flash.store().lookup(page(3), Version::Base).is_some());
    let time_ns = host.flash.nand().now_ns() - begun_ns;
    assert_eq!(host.flash.gc().counts(), GcCounts { gc_runs: 1, merges: [0; 3], time_ns }, "from the choice to the erase");
}

/// A page that becomes semivalid while commits are under way is moved; one that is released meanwhile is not.
#[test]
fn what_is_semivalid_after_the_commits_is_moved() {
    let mut host = overwritten(one_plane(false), &[(1, true), (3, true)]);
    assert!(host.write(page(2), Version::Current, true));
    host.advance();
    assert_eq!(host.asked, [2, 0], "nobody is asked again");
    host.flash.unmap(page(3), Version::Base);
    host.finish();
    // Moved: page 0, and the base of page 2.
    assert_eq!((host.flash.nand().counts()[1][GC], host.flash.nand().counts()[2][GC], erased(&host)), (2, 1, vec![0]));
    assert!(host.flash.store().lookup(page(2), Version::Base).is_some());
}

/// Without a threshold a plane collects when its last page for host programs is taken, though all of its garbage is older than the block that it
/// is in.
#[test]
fn the_last_page_starts_a_gc() {
    let small = Geometry { blocks_per_plane: 4, ..ONE_PLANE };
    let mut host = Host::new(Settings { geometry: small, pages_per_member: 9, gc_threshold: 0.0, ..one_plane(false) });
    let mut write = |number: u32| {
        assert!(host.write(page(number), Version::Current, false), "page {number} finds room");
        host.finish();
        (erased(&host), host.flash.checked().check())
    };
    for number in (0..4).chain(0..4).chain(4..7) {
        assert_eq!(write(number), (vec![], Ok(())));
    }
    assert_eq!(write(7), (vec![0], Ok(())));
    assert_eq!(write(8), (vec![0], Ok(())));
}

/// If nothing can be committed and nothing is garbage, the GC run would gain nothing: it ends, and does not begin again by itself.
#[test]
fn a_victim_without_gain_is_left() {
    let mut host = overwritten(one_plane(false), &[(0, true), (2, true)]);
    assert_eq!(host.asked, [2, 0], "both are to be moved");
    host.finish();
    assert_eq!((host.flash.nand().counts()[1][GC], erased(&host)), (0, vec![]));
    assert_eq!(host.flash.nand().loads()[page(0).member].gc_runs, 0);
    // Nor does it keep a block with garbage from being collected.
    assert!(host.write(page(8), Version::Current, false));
    host.finish();
    assert!(host.write(page(16), Version::Current, false));
    host.finish();
    assert_eq!((host.flash.nand().counts()[1][GC], erased(&host)), (3, vec![2]));
}

/// A commit that ends when a failure has ended its GC run changes nothing.
#[test]
fn a_late_commit_is_harmless() {
    let mut host = overwritten(one_plane(false), &[(1, true), (3, true)]);
    let ppn = host.flash.store().lookup(page(0), Version::Current).unwrap();
    let Part::Page { channel, chip, die, plane, block, .. } = host.flash.parts().part_of(ppn) else { unreachable!() };
    host.fail(Fault::Loss(Part::Block { channel, chip, die, plane, block }));
    assert_eq!(host.flash.nand().loads()[page(0).member].gc_runs, 0);
    while host.end_commit() {}
    host.finish();
    assert_eq!((host.flash.nand().counts()[2][GC], host.flash.take_gc_query()), (0, None));
}
