//! GC runs that do what programs make them owe (SPEC 8.4), and when they do not wait for that.

use crate::support::{GIVEN, Host, ONE_PLANE, operation, settings};
use flashraid_ftl::{Given, MemorySettings, Placement, Settings, finish_gc};
use flashraid_vocabulary::{Action, Cause, Fault, GcPace, Geometry, Health, MemberId, MemberPage, Part, Version, View, WearLeveling};

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

/// A run for wear leveling owes nothing to anybody, and rests for nobody: once it has begun it goes on to its erase, though no program comes.
#[test]
fn a_run_for_wear_leveling_does_not_rest() {
    let given = Given { gc_pace: GcPace::Debt, wear_leveling: WearLeveling::Static, wear_leveling_threshold: 1, ..GIVEN };
    let mut host = Host::new(Settings { given, ..paced() });
    // More than half of the pages, so that the plane stays below the threshold, and runs that may rest do.
    (0..72).for_each(|number| write(&mut host, number));
    let counts = |host: &Host| [1, 2].map(|action| host.flash.nand().counts()[action][Cause::Wear as usize]);
    let mut before = counts(&host);
    for number in 0..300 {
        write(&mut host, number % 8);
        let now = counts(&host);
        assert_eq!(now[0] > before[0], now[1] > before[1], "write {number}: pages moved and blocks erased, {before:?} to {now:?}");
        before = now;
    }
    assert!(before[1] > 5, "{before:?}");
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

/// Nor does it rest in a plane in which host programs get no new block: the ninth of 16 is open, and eight are kept.
#[test]
fn a_run_goes_on_where_host_programs_get_no_new_block() {
    let mut host = low(Settings { given: Given { gc_reserve_blocks: 8, ..paced().given }, ..paced() });
    host.finish();
    assert_eq!(collected(&host), (6, 1));
}

/// Units of the map in program units of two flash pages of two units.
fn packed(survives_power_loss: bool) -> Settings {
    let memory = MemorySettings { pages: 32, read_ns: 10, survives_power_loss, pad_after_ns: 0 };
    let given = Given { program_pages: 2, ..paced().given };
    Settings { units_per_page: 2, memory, given, ..paced() }
}

/// With program units of four pages, v = 2 and f = 6: the run begins when one is full, each adds 4 x 2 / 6 moves when it is programmed, and
/// the run goes on when it owes four.
#[test]
fn program_units_count_with_all_their_pages() {
    let mut host = Host::new(packed(true));
    (0..56).chain(2..8).chain(56..58).for_each(|number| write(&mut host, number));
    let mut after = Vec::new();
    for unit in 0..3 {
        (58..62).for_each(|number| write(&mut host, 4 * unit + number));
        after.push(collected(&host));
    }
    assert_eq!(after, [(0, 0), (0, 0), (2, 1)]);
}

/// Moves count by the page of the map: with one of the two pages of each flash page live, v = f = 4, and each program unit of two makes it owe two moves.
#[test]
fn pages_that_are_garbage_are_no_moves() {
    let memory = MemorySettings { pages: 16, read_ns: 10, survives_power_loss: true, pad_after_ns: 0 };
    let mut host = Host::new(Settings { units_per_page: 2, memory, ..paced() });
    (0..56).chain([1, 3, 5, 7]).chain(56..60).for_each(|number| write(&mut host, number));
    let mut after = Vec::new();
    for number in [60, 62] {
        (number..number + 2).for_each(|number| write(&mut host, number));
        after.push(collected(&host));
    }
    assert_eq!(after, [(2, 0), (4, 1)]);
}

/// As there: the run rests, and owes 4 x 2 / 6 moves.
fn resting(survives_power_loss: bool) -> Host {
    let mut host = Host::new(packed(survives_power_loss));
    (0..56).chain(2..8).chain(56..62).for_each(|number| write(&mut host, number));
    assert!(collected(&host) == (0, 0) && !host.flash.checked().is_at_work());
    host
}

/// Reserves all that is left, but asks for no more.
fn reserve_all(host: &mut Host) {
    let mut other = host.flash.clone();
    let left = (0..).take_while(|_| other.reserve(page(70), Version::Current)).count();
    (0..left).for_each(|_| assert!(host.flash.reserve(page(70), Version::Current)));
    host.finish();
    assert_eq!(collected(host), (0, 0), "nobody waits");
}

/// What a run has to pad before it erases counts: of program units of four pages, five moves take eight, and three may be padding.
#[test]
fn padding_of_gc_is_that_of_program_units() {
    let taken = |settings: Settings| (settings.taken_by_gc(5), settings.padding_of_gc());
    assert_eq!((taken(packed(false)), taken(packed(true))), ((8, 3), (5, 0)));
}

/// What survives a loss of power is left open by a run, and is padded in the end.
#[test]
fn what_a_run_has_left_open_is_padded_in_the_end() {
    let mut host = resting(true);
    finish_gc(&mut host.flash);
    host.finish();
    assert_eq!((collected(&host), host.flash.store().padded()), ((2, 1), 0));
    host.flash.preparation().set_untimed(false);
    assert_eq!(host.flash.store().padded(), 2);
}

/// A flush waits for padding, which waits for pages: the run does not rest meanwhile.
#[test]
fn a_run_goes_on_when_padding_waits_for_pages() {
    let mut host = resting(false);
    write(&mut host, 62);
    reserve_all(&mut host);
    assert!(host.flash.flush(0));
    host.finish();
    assert_eq!(collected(&host), (2, 1));
}

/// So does what a failed program has driven out of its place.
#[test]
fn a_run_goes_on_when_what_has_failed_waits_for_pages() {
    let mut host = resting(true);
    (62..65).for_each(|number| write(&mut host, number));
    host.fail(Fault::Program(Part::Channel(0)));
    reserve_all(&mut host);
    host.flash.submit(&operation(Action::Program, page(65), Version::Current, false), 65 << 2).unwrap();
    host.finish();
    let (_, erases) = collected(&host);
    assert_eq!(erases, 1);
}

/// A run that empties a block to retire it waits for nobody's programs: of the ninth block, whose last program fails, two pages live.
#[test]
fn a_run_that_retires_its_block_does_not_rest() {
    let mut host = Host::new(paced());
    (0..64).chain([64; 6]).chain([65]).for_each(|number| write(&mut host, number));
    host.fail(Fault::Program(Part::Channel(0)));
    write(&mut host, 66);
    assert_eq!((collected(&host), host.flash.pages_gone(MemberId(0))), ((2, 0), 8));
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
