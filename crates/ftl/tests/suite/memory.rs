//! The memory in which programs wait for their program unit (SPEC 8.1): staging, padding, and what becomes of units whose place has failed.
//!
//! One plane of 16 blocks of 8 flash pages of four pages of the map, of which nothing is garbage.

use crate::support::{GIVEN, Host, ONE_PLANE, operation, settings};
use flashraid_ftl::{Given, MemorySettings, Placement, Settings};
use flashraid_vocabulary::{Action, Cause, Fault, Geometry, MemberPage, NoObserver, Part, Version};

fn volatile() -> Settings {
    Settings {
        geometry: Geometry { blocks_per_plane: 16, pages_per_block: 32, ..ONE_PLANE },
        units_per_page: 4,
        memory: MemorySettings { pages: 4, read_ns: 10, survives_power_loss: false, pad_after_ns: 0 },
        pages_per_member: 300,
        given: GIVEN,
        ..settings(Placement::Member)
    }
}

fn page(page: u32) -> MemberPage {
    MemberPage::new(0, page)
}

fn write(host: &mut Host, number: u32) {
    assert!(host.write(page(number), Version::Current, false));
}

/// Programs a page that is reserved already.
fn submit(host: &mut Host, number: u32) {
    host.flash.submit(&operation(Action::Program, page(number), Version::Current, false), number << 2).unwrap();
}

/// Reserves all that is left, but asks for no more. Returns how much that was.
fn reserve_all(host: &mut Host) -> usize {
    let mut other = host.flash.clone();
    let left = (0..).take_while(|_| other.reserve(page(0), Version::Current)).count();
    (0..left).for_each(|_| assert!(host.flash.reserve(page(0), Version::Current)));
    left
}

fn release(host: &mut Host) {
    host.flash.release(page(0), Version::Current);
}

fn told(host: &mut Host) -> Option<u32> {
    host.flash.store_mut().space_mut().news_mut().take_flushed()
}

/// The next program of a flash page fails, and nobody has room for what was in it.
fn failed_without_room() -> (Host, usize) {
    let mut host = Host::new(volatile());
    (0..4).for_each(|number| write(&mut host, number));
    host.fail(Fault::Program(Part::Channel(0)));
    let reserved = reserve_all(&mut host);
    host.finish();
    (host, reserved)
}

/// There is room for one flash page: the fifth program is accepted when that is programmed.
#[test]
fn programs_wait_for_room_in_the_memory() {
    let mut host = Host::new(volatile());
    (0..5).for_each(|number| write(&mut host, number));
    while host.flash.nand().next_event_ns() == host.flash.nand().now_ns() {
        host.advance();
    }
    assert_eq!(host.completed, [0, 4]);
    host.finish();
    assert_eq!(host.completed, [0, 5]);
}

/// Padding takes no page that is promised, and nobody is promised one before.
#[test]
fn padding_waits_for_pages_that_nobody_has_reserved() {
    let mut host = Host::new(volatile());
    write(&mut host, 0);
    reserve_all(&mut host);
    assert!(host.flash.flush(7));
    for _ in 0..2 {
        release(&mut host);
        assert!(!host.flash.reserve(page(0), Version::Current), "three are owed");
    }
    host.finish();
    assert_eq!((told(&mut host), host.flash.store().padded()), (None, 0));
    release(&mut host);
    host.finish();
    assert_eq!((told(&mut host), host.flash.store().padded()), (Some(7), 3));
}

/// Who waits is told when promised programs have filled what was to be padded.
#[test]
fn padding_that_is_no_longer_needed_is_forgotten() {
    let mut host = Host::new(volatile());
    write(&mut host, 0);
    reserve_all(&mut host);
    assert!(host.flash.flush(7));
    host.settle();
    (1..4).for_each(|number| submit(&mut host, number));
    assert_eq!(host.flash.store_mut().space_mut().news_mut().take_freed(), Some(0));
    host.finish();
    assert_eq!((told(&mut host), host.flash.store().padded()), (Some(7), 0));
}

/// What is driven out of its place is padded anew, and a flush waits for that.
#[test]
fn a_flush_waits_for_what_is_accepted_anew() {
    for units in [3, 4] {
        let mut host = Host::new(volatile());
        (0..units).for_each(|number| write(&mut host, number));
        assert!(host.flash.flush(7));
        host.fail(Fault::Program(Part::Channel(0)));
        while host.flash.nand().counts()[Action::Program as usize][Cause::Retry as usize] == 0 {
            assert!(host.advance());
        }
        assert_eq!(told(&mut host), None, "it is in the memory alone");
        host.finish();
        assert_eq!((told(&mut host), host.flash.store().padded()), (Some(7), 2 * u64::from(4 - units)));
        assert_eq!(host.lost(0), (0, units));
    }
}

/// A program that fails takes all flash pages of its unit.
#[test]
fn no_page_of_a_failed_program_unit_is_there() {
    let given = Given { program_pages: 2, ..GIVEN };
    let mut host = Host::new(Settings { units_per_page: 2, given, ..volatile() });
    // Others of its block are read on.
    (4..8).for_each(|number| write(&mut host, number));
    host.finish();
    (0..4).for_each(|number| write(&mut host, number));
    while host.flash.nand().next_event_ns() == host.flash.nand().now_ns() {
        host.advance();
    }
    let places = [0, 1, 2, 3].map(|number| host.flash.store().lookup(page(number), Version::Current).unwrap());
    host.fail(Fault::Program(Part::Channel(0)));
    while host.flash.nand().counts()[Action::Program as usize][Cause::Retry as usize] == 0 {
        assert!(host.advance());
    }
    assert_eq!(places.map(|ppn| host.flash.store().is_lost_page(ppn)), [true; 4]);
}

/// What finds no other place stays in the memory, and can be read there. Only if a flush waits for it, is it lost.
#[test]
fn what_finds_no_place_stays_until_a_flush_waits_for_it() {
    let (mut host, _) = failed_without_room();
    assert!(!host.flash.fail_stuck());
    assert!(host.read(page(1), Version::Current));
    host.finish();
    assert_eq!((host.completed[0], host.failed[0], host.lost(0), host.flash.store().given_up()), (1, 0, (0, 4), 0));
    assert!(host.flash.flush(7));
    assert!(host.flash.fail_stuck());
    assert_eq!((told(&mut host), host.lost(0), host.flash.store().given_up()), (Some(7), (4, 4), 1));
}

/// The memory of an SSD is lost with it, at once.
#[test]
fn nothing_is_held_for_a_dead_ssd() {
    let mut host = Host::new(volatile());
    (0..4).for_each(|number| write(&mut host, number));
    while host.completed[1] < 4 {
        assert!(host.advance());
    }
    assert!(host.flash.nand().next_event_ns() != u64::MAX && host.lost(0) == (0, 4), "the program of their flash page is under way");
    host.flash.fail(&Fault::Loss(Part::Device));
    assert_eq!(host.lost(0), (4, 4));
    host.finish();
    assert_eq!((host.lost(0), host.flash.store().given_up()), ((4, 4), 0));
}

/// It goes before what others reserve as soon as there is space, and then others are told.
#[test]
fn what_finds_no_place_has_the_next_that_is_free() {
    let (mut host, reserved) = failed_without_room();
    // The rest of the bad block is no space: of 32 pages 28.
    (0..29).for_each(|_| release(&mut host));
    assert!(!host.flash.reserve(page(0), Version::Current), "one is left, which it has");
    (29..reserved).for_each(|_| release(&mut host));
    while host.flash.store_mut().space_mut().news_mut().take_freed().is_some() {}
    host.flash.advance(&mut NoObserver);
    assert_eq!(host.flash.store_mut().space_mut().news_mut().take_freed(), Some(0));
    assert_eq!(host.flash.nand().counts()[Action::Program as usize][Cause::Retry as usize], 4);
    host.finish();
    assert!(!host.flash.checked().is_at_work() && host.lost(0) == (0, 4));
}
