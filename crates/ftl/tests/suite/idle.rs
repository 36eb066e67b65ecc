//! GC in idle time, and how it shares an SSD with the host and with migrations (SPEC 5.7), to the nanosecond; SSDs that are not collected (SPEC 5.2).
//!
//! One plane of 8 blocks of 4 pages. A read takes 1 + 10 + 4,096 ns, a program 1 + 4,096 + 100, an erase 1 + 1,000.

use crate::support::{GIVEN, Host, ONE_PLANE, Random, operation, settings};
use flashraid_ftl::{CellTimes, Given, MemorySettings, Placement, Settings};
use flashraid_vocabulary::{
    Action, Cause, GcBlockingScope, GcPace, Geometry, Health, LoadView, MemberId, MemberPage, NoObserver, PageOperation, Priority,
    Scheduling, SsdView, Version, WearLeveling,
};

const READ: u64 = 4_107;
const PROGRAM: u64 = 4_197;
/// A GC run that moves one page.
const RUN: u64 = READ + PROGRAM + 1_001;
const IDLE: u64 = 10_000;
const NEVER: u64 = u64::MAX;

fn page(page: u32) -> MemberPage {
    MemberPage::new(0, page)
}

/// At the end of `below_the_threshold` 15 of 32 pages are free, which is below one half and above a fifth.
fn idling(scope: GcBlockingScope) -> Settings {
    Settings {
        geometry: ONE_PLANE,
        pages_per_member: 20,
        gc_threshold: 0.2,
        gc_idle_threshold: 0.5,
        given: Given { gc_blocking_scope: scope, idle_ns: IDLE, scheduling: Scheduling::Fifo, ..GIVEN },
        ..settings(Placement::Member)
    }
}

fn write(host: &mut Host, number: u32) {
    assert!(host.write(page(number), Version::Current, false));
}

/// Blocks 0 to 3 full and one page in block 4; block 0 has one live page and the others four. Returns when the last program was submitted.
fn below_the_threshold(settings: Settings) -> (Host, u64) {
    written(settings, 17)
}

fn written(settings: Settings, programs: usize) -> (Host, u64) {
    let mut host = Host::new(settings);
    let mut last_ns = 0;
    for number in (0..12).chain(0..3).chain(12..14).take(programs) {
        last_ns = host.flash.nand().now_ns();
        write(&mut host, number);
        while !host.flash.is_idle(MemberId(0)) {
            host.advance();
        }
    }
    (host, last_ns)
}

/// Runs until the flash collects. Returns the time.
fn until_gc(host: &mut Host) -> u64 {
    while !host.flash.is_collecting(MemberId(0)) {
        assert!(host.advance());
    }
    host.flash.nand().now_ns()
}

/// A run in idle time owes nothing, however fast GC is: what it programs lets a program of the host go first.
#[test]
fn a_paced_run_in_idle_time_comes_after_the_host() {
    let idling = idling(GcBlockingScope::None);
    let given = Given { gc_pace: GcPace::Debt, scheduling: Scheduling::ReadFirst, ..idling.given };
    let (mut host, _) = below_the_threshold(Settings { given, ..idling });
    until_gc(&mut host);
    let programs = |host: &Host, cause: Cause| host.flash.nand().counts()[Action::Program as usize][cause as usize];
    write(&mut host, 13);
    write(&mut host, 14);
    while programs(&host, Cause::Host) < 17 + 2 {
        assert!(host.advance());
    }
    assert_eq!(programs(&host, Cause::Gc), 0);
    host.finish();
    assert_eq!(programs(&host, Cause::Gc), 1);
}

/// Submits reads at once and returns when each ended, and when GC did. `None` stands for GC.
fn outcome(host: &mut Host, reads: &[PageOperation]) -> (Vec<u64>, u64) {
    let ids: Vec<u32> = (0..).zip(reads).map(|(owner, read)| host.flash.submit(read, owner).map(|_| owner).expect("written")).collect();
    let (mut ended, mut erased_ns) = (vec![0; ids.len()], 0);
    while host.flash.nand().next_event_ns() != NEVER {
        let was_collecting = host.flash.is_collecting(MemberId(0));
        host.flash.advance(&mut NoObserver);
        for completion in std::mem::take(host.flash.nand_mut().completions()) {
            ended[host.flash.nand().about(completion.record).owner as usize] = host.flash.nand().now_ns();
            host.flash.nand_mut().remove_record(completion.record);
        }
        if was_collecting && !host.flash.is_collecting(MemberId(0)) {
            erased_ns = host.flash.nand().now_ns();
        }
        host.flash.checked().check().unwrap();
    }
    (ended, erased_ns)
}

fn host_read(number: u32) -> PageOperation {
    operation(Action::Read, page(number), Version::Current, false)
}

fn migration_read(number: u32) -> PageOperation {
    PageOperation { cause: Cause::Migration, priority: Priority::Migration, host_waits: false, ..host_read(number) }
}

#[test]
fn at_the_threshold_nothing_is_collected() {
    let (mut host, _) = written(idling(GcBlockingScope::None), 16);
    while host.advance() {}
    assert_eq!(host.flash.store().space().erase_counts().sum::<u32>(), 0, "16 of 32 pages are free");
}

#[test]
fn it_starts_when_the_host_has_been_silent_for_the_idle_time() {
    let (mut host, last_ns) = below_the_threshold(idling(GcBlockingScope::None));
    assert_eq!((host.flash.last_host_ns(MemberId(0)), host.flash.nand().next_event_ns()), (last_ns, last_ns + IDLE));
    assert!(host.flash.nand().is_at_rest(), "waiting is no work");
    assert_eq!(until_gc(&mut host), last_ns + IDLE);
    assert!(!host.flash.nand().is_at_rest());
    assert_eq!(outcome(&mut host, &[]), (vec![], last_ns + IDLE + RUN));
    // 18 pages are free, enough; and the timer is not set.
    assert_eq!(host.flash.store().space().erase_counts().sum::<u32>(), 1);

    // A read that nobody waits for does not put it off.
    let (mut host, last_ns) = below_the_threshold(idling(GcBlockingScope::None));
    host.flash.nand_mut().set_now(last_ns + IDLE - 2);
    host.flash.submit(&PageOperation { host_waits: false, ..host_read(5) }, 3).unwrap();
    assert_eq!(until_gc(&mut host), last_ns + IDLE);

    // One of the host that comes a nanosecond too early does, whatever is in flight.
    let (mut host, last_ns) = below_the_threshold(idling(GcBlockingScope::None));
    host.flash.nand_mut().set_now(last_ns + IDLE - 1);
    host.flash.submit(&host_read(5), 3).unwrap();
    assert_eq!(until_gc(&mut host), last_ns + IDLE - 1 + IDLE);

    // One that comes at that very time comes too late.
    let (mut host, last_ns) = below_the_threshold(idling(GcBlockingScope::None));
    assert_eq!(until_gc(&mut host), last_ns + IDLE);
    assert_eq!(outcome(&mut host, &[host_read(5)]).0, [last_ns + IDLE + 2 * READ]);
}

#[test]
fn runs_follow_each_other_until_the_host_comes() {
    // With three quarters as the threshold all three blocks with garbage are due.
    let settings = Settings { gc_idle_threshold: 0.75, ..idling(GcBlockingScope::None) };
    let fill = || {
        let mut host = Host::new(settings.clone());
        for number in (0..12).chain([0, 1, 2, 4, 5, 6, 8, 9]) {
            write(&mut host, number);
            while !host.flash.is_idle(MemberId(0)) {
                host.advance();
            }
        }
        host
    };
    let mut host = fill();
    let begin_ns = until_gc(&mut host);
    let (_, end_ns) = outcome(&mut host, &[]);
    // Blocks 0 and 1 move one page each, block 2 two.
    assert_eq!(end_ns, begin_ns + 3 * RUN + READ + PROGRAM);
    assert_eq!(host.flash.store().space().erase_counts().sum::<u32>(), 3);

    // A read within the first run: the second begins an idle time later.
    let mut host = fill();
    assert_eq!(until_gc(&mut host), begin_ns);
    host.flash.nand_mut().set_now(begin_ns + 1);
    host.flash.submit(&host_read(0), 3).unwrap();
    while host.flash.is_collecting(MemberId(0)) {
        host.advance();
    }
    assert_eq!(host.flash.nand().now_ns(), begin_ns + RUN + READ);
    assert_eq!(until_gc(&mut host), (begin_ns + 1 + IDLE).max(begin_ns + RUN + READ));
}

/// The same three blocks, two of which free three of their four pages and one two: GC in idle time leaves those alone that free too little.
#[test]
fn a_victim_frees_its_share_in_idle_time_alone() {
    let erased = |gc_idle_gain: f64, gc_threshold: f64| {
        let settings = Settings { gc_idle_threshold: 0.75, gc_idle_gain, gc_threshold, ..idling(GcBlockingScope::None) };
        let mut host = Host::new(settings);
        for number in (0..12).chain([0, 1, 2, 4, 5, 6, 8, 9]) {
            write(&mut host, number);
            while !host.flash.is_idle(MemberId(0)) {
                host.advance();
            }
        }
        while host.advance() {}
        assert_eq!(host.flash.nand().next_event_ns(), NEVER, "it does not wait for what will not come");
        host.flash.store().space().erase_counts().sum::<u32>()
    };
    assert_eq!([0.0, 0.25, 0.5, 0.51, 0.75, 0.76].map(|gain| erased(gain, 0.2)), [3, 3, 3, 2, 2, 0]);
    // Below half of its pages the plane is collected in any case: the four programs that take it there ask for two victims.
    assert_eq!([0.0, 0.76].map(|gain| erased(gain, 0.5)), [3, 2]);
}

#[test]
fn a_host_read_waits_for_a_step_or_for_the_run() {
    for (scope, waits) in [(GcBlockingScope::None, READ - 1), (GcBlockingScope::Chip, RUN - 1)] {
        let (mut host, _) = below_the_threshold(idling(scope));
        let begin_ns = until_gc(&mut host);
        host.flash.nand_mut().set_now(begin_ns + 1);
        let (ended, erased_ns) = outcome(&mut host, &[host_read(5)]);
        assert_eq!(ended, [begin_ns + 1 + waits + READ], "{scope:?}");
        assert_eq!(erased_ns, begin_ns + RUN + if scope == GcBlockingScope::None { READ } else { 0 });
    }
}

/// 16 pages are the minimum: the seventeenth program starts GC at once, which goes before a read although nothing is blocked; or, coordinated,
/// blocks what the scope says.
#[test]
fn below_the_minimum_it_starts_at_once_and_goes_first() {
    for (scope, gc_idle_threshold, coordinates_migration) in
        [(GcBlockingScope::None, 0.6, false), (GcBlockingScope::Chip, 0.0, true), (GcBlockingScope::None, 0.0, true)]
    {
        let settings = Settings { gc_threshold: 0.5, gc_idle_threshold, coordinates_migration, ..idling(scope) };
        let mut host = Host::new(settings);
        for number in (0..12).chain(0..3).chain([12]) {
            write(&mut host, number);
            while !host.flash.is_idle(MemberId(0)) {
                host.advance();
            }
        }
        assert!(!host.flash.is_collecting(MemberId(0)));
        let begin_ns = host.flash.nand().now_ns();
        write(&mut host, 13);
        assert!(host.flash.is_collecting(MemberId(0)));
        host.flash.submit(&host_read(5), 3).unwrap();
        while host.flash.is_collecting(MemberId(0)) {
            host.advance();
        }
        assert_eq!((host.flash.nand().now_ns(), host.completed[0]), (begin_ns + PROGRAM + RUN, 0), "{scope:?}");
        while host.completed[0] == 0 {
            host.advance();
        }
        assert_eq!(host.flash.nand().now_ns(), begin_ns + PROGRAM + RUN + READ, "{scope:?}");
    }
}

/// A run that began in idle time goes on behind the host, unless a program takes the plane below the minimum, here from 15 to 14 free pages: then each
/// step that it has not queued yet goes first.
#[test]
fn a_run_of_idle_time_becomes_urgent_when_the_plane_falls_below_the_minimum() {
    for (minimum, becomes_urgent) in [(14.0, false), (15.0, true)] {
        let settings = Settings { gc_threshold: minimum / 32.0, ..idling(GcBlockingScope::None) };
        let (mut host, _) = below_the_threshold(settings);
        let begin_ns = until_gc(&mut host);
        let go_on_until = |host: &mut Host, at_ns: u64| {
            while host.flash.nand().next_event_ns() < begin_ns + at_ns {
                host.advance();
            }
            host.flash.nand_mut().set_now(begin_ns + at_ns);
        };
        // GC reads its page. The program is the next, and before the program of the move, which is queued when the read has ended, a read of the host.
        go_on_until(&mut host, 1);
        write(&mut host, 14);
        go_on_until(&mut host, READ + 1);
        assert!(host.read(page(4), Version::Current));
        // While the move is programmed another read comes. The erase is queued after it.
        go_on_until(&mut host, READ + PROGRAM + READ + 1);
        assert_eq!(host.completed, [1, 18]);
        assert!(host.read(page(5), Version::Current));
        while host.flash.is_collecting(MemberId(0)) {
            host.advance();
        }
        let reads = if becomes_urgent { 1 } else { 2 };
        let erased_ns = begin_ns + RUN + PROGRAM + reads * READ;
        assert_eq!((host.completed[0], host.flash.nand().now_ns()), (reads as u32, erased_ns), "minimum of {minimum} pages");
        while host.completed[0] < 2 {
            host.advance();
        }
        assert_eq!(host.flash.nand().now_ns(), begin_ns + RUN + PROGRAM + 2 * READ);
    }
}

/// Algorithm 3: 3 of 8 blocks are erased, and one page of GC is being read when a host read and two reads of a migration come.
#[test]
fn migration_and_gc_share_the_ssd_by_need() {
    let order = |scope, coordinates_migration, migration_free_blocks| {
        let settings = Settings { coordinates_migration, migration_free_blocks, ..idling(scope) };
        let (mut host, _) = below_the_threshold(settings);
        let begin_ns = until_gc(&mut host);
        host.flash.nand_mut().set_now(begin_ns + 1);
        let (ended, erased_ns) = outcome(&mut host, &[migration_read(6), host_read(5), migration_read(7)]);
        (ended.iter().map(|ended_ns| ended_ns - begin_ns).collect::<Vec<_>>(), erased_ns - begin_ns)
    };
    for scope in [GcBlockingScope::None, GcBlockingScope::Chip] {
        // Three are more than 0.3 x 8: both migrations, the host, then GC, page by page whatever the scope.
        assert_eq!(order(scope, true, 0.3), (vec![2 * READ, 4 * READ, 3 * READ], RUN + 3 * READ), "{scope:?}");
        // Three are not more than 0.375 x 8: GC, the host, then the migrations.
        assert_eq!(order(scope, true, 0.375), (vec![RUN + 2 * READ, RUN + READ, RUN + 3 * READ], RUN), "{scope:?}");
    }
    // Uncoordinated: block by block GC goes on to its end. Page by page the host goes first, and both others in the order in which they come: the
    // migrations, which came before GC's next step.
    assert_eq!(order(GcBlockingScope::Chip, false, 0.3), (vec![RUN + 2 * READ, RUN + READ, RUN + 3 * READ], RUN));
    assert_eq!(order(GcBlockingScope::None, false, 0.3), (vec![3 * READ, 2 * READ, 4 * READ], RUN + 3 * READ));
}

/// Without GC a migration is of low priority; at a class of its own it stays there.
#[test]
fn a_migration_alone_lets_the_host_go_first() {
    let settings =
        Settings { gc_idle_threshold: 0.0, coordinates_migration: true, migration_free_blocks: 0.0, ..idling(GcBlockingScope::Chip) };
    let (mut host, _) = below_the_threshold(settings.clone());
    let begin_ns = host.flash.nand().now_ns();
    let at_host_priority = PageOperation { priority: Priority::Host, ..migration_read(8) };
    let (ended, _) = outcome(&mut host, &[host_read(4), migration_read(6), at_host_priority, host_read(5)]);
    assert_eq!(ended, [1, 4, 2, 3].map(|number| begin_ns + number * READ));
    // All have ended: GC that comes now finds none pending and is of low priority.
    assert_eq!(host.flash.nand().next_event_ns(), NEVER);

    // Coordinated GC alone yields to the host page by page, whatever the scope.
    let (mut host, _) = below_the_threshold(Settings { gc_idle_threshold: 0.5, ..settings });
    let begin_ns = until_gc(&mut host);
    assert_eq!(outcome(&mut host, &[host_read(5)]), (vec![begin_ns + 2 * READ], begin_ns + RUN + READ));
}

#[test]
fn no_gc_on_an_ssd_that_is_not_programmed() {
    let (mut host, last_ns) = below_the_threshold(idling(GcBlockingScope::None));
    host.flash.set_health(Health::ReadOnly);
    assert_eq!(host.flash.gc().health(), Health::ReadOnly);
    host.finish();
    assert_eq!((host.flash.nand().now_ns(), host.flash.store().space().erase_counts().sum::<u32>()), (last_ns + IDLE, 0));
    host.flash.set_health(Health::ReadWrite);
    assert_eq!(until_gc(&mut host), last_ns + IDLE, "it is idle, so at once");
    host.flash.set_health(Health::Disabled);
    host.finish();
    assert_eq!(
        (host.flash.nand().now_ns(), host.flash.store().space().erase_counts().sum::<u32>()),
        (last_ns + IDLE + RUN, 1),
        "a run under way ends"
    );
}

/// With all that starts GC runs (threshold, starvation, idle time, wear leveling): after the change at most what is under way ends.
#[test]
fn runs_under_way_are_the_last() {
    let mut ended = 0;
    for seed in 1..40 {
        let given = Given { wear_leveling: WearLeveling::Static, wear_leveling_threshold: 1, ..idling(GcBlockingScope::None).given };
        let settings = Settings { given, gc_threshold: 0.3, ..idling(GcBlockingScope::None) };
        let mut host = Host::new(settings);
        let mut random = Random(seed);
        let writes = 100 + random.below(200);
        for _ in 0..writes {
            host.write(page(random.below(20) as u32), Version::Current, false);
            for _ in 0..random.below(4) {
                host.advance();
            }
        }
        while !host.writing.is_empty() {
            host.advance();
        }
        let erased = |host: &Host| host.flash.store().space().erase_counts().sum::<u32>();
        let (before, under_way) = (erased(&host), host.flash.nand().loads()[MemberId(0)].gc_runs);
        host.flash.set_health(Health::ReadOnly);
        (0..20).for_each(|number| host.flash.unmap(page(number), Version::Current));
        host.finish();
        assert_eq!(erased(&host), before + under_way, "seed {seed}");
        ended += under_way;
    }
    assert!(ended > 0, "a run had to be under way");
}

/// SPEC 8.1 (k): an SSD whose memory is still programming what the host wrote is not idle, however short `idle_ns` is.
#[test]
fn idle_time_begins_after_the_last_program_of_the_memory() {
    const PROGRAM_NS: u64 = 100_000;
    let mut host = Host::new(Settings {
        units_per_page: 2,
        geometry: Geometry { pages_per_block: 8, ..ONE_PLANE },
        memory: MemorySettings { pages: 8, read_ns: 10, survives_power_loss: true, pad_after_ns: 0 },
        cell: CellTimes::new(10, PROGRAM_NS, 1000),
        pages_per_member: 40,
        ..idling(GcBlockingScope::None)
    });
    let mut last_ns = 0;
    for number in (0..24).chain(0..6).chain(24..28) {
        last_ns = host.flash.nand().now_ns();
        write(&mut host, number);
        while !host.flash.is_idle(MemberId(0)) {
            host.advance();
        }
        // Every second one fills a program unit. All but the last of them end before the next write.
        if number % 2 == 1 && number != 27 {
            while host.flash.nand().now_ns() < last_ns + PROGRAM_NS && host.flash.nand().next_event_ns() < last_ns + 2 * PROGRAM_NS {
                host.advance();
            }
        }
    }
    assert!(until_gc(&mut host) >= last_ns + PROGRAM_NS);
}
