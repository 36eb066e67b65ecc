//! Reads that suspend programs and erases (SPEC 8.3), to the nanosecond.

use super::*;

const SUSPEND: u64 = 100_000;
const RESUME: u64 = 50_000;
const MINIMUM: u64 = 200_000;
const LONG_ERASE: u64 = 3_500_000;
const SENSE: u64 = 45_000;
const DATA_OUT: u64 = 3_400;
const ONE_READ: u64 = SENSE + DATA_OUT;
const BOTH: SuspendSettings =
    SuspendSettings { programs: true, erases: true, min_ns: MINIMUM, suspend_ns: SUSPEND, resume_ns: RESUME, most_times: 8, most_reads: 8 };

fn suspending(suspend: SuspendSettings) -> NandSettings {
    let (read_command_ns, program_command_ns, erase_command_ns) = (0, 0, 0);
    let cell = CellTimes::new(SENSE, 1_950_000, LONG_ERASE);
    let suspend = Some(suspend);
    NandSettings { bus_ps_per_byte: 850, read_command_ns, program_command_ns, erase_command_ns, suspend, cell, ..settings() }
}

/// Reads of LUN 0 that come at these times while it erases: when they and the erase end.
fn erase_and_reads(suspend: SuspendSettings, times_ns: &[u64]) -> (Vec<u64>, u64, Plain) {
    let mut ssd = Plain::new(suspending(suspend));
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Gc);
    for time_ns in times_ns {
        while ssd.nand.next_event_ns() < *time_ns {
            advance(&mut ssd, &mut NoObserver);
        }
        ssd.nand.set_now(*time_ns);
        ssd.read(1, 0, Priority::Host);
    }
    ssd.nand.completions().clear();
    let ends = ssd.run().into_iter().map(|(_, end_ns)| end_ns).collect();
    let (_, erased_ns) = ssd.moved[0];
    (ends, erased_ns, ssd)
}

#[test]
fn a_read_interrupts_an_erase() {
    let (reads, erased_ns, ssd) = erase_and_reads(BOTH, &[1_000_000]);
    assert_eq!(reads, [1_100_000 + ONE_READ]);
    assert_eq!(erased_ns, 3_698_400);
    assert_eq!(ssd.nand.suspensions(), Some(Suspensions { programs: 0, erases: 1 }));
    // Array time is that of one erase and one read; all of the time the LUN was busy, by its causes.
    assert_eq!(ssd.nand.luns()[0].array_ns.iter().sum::<u64>(), LONG_ERASE + SENSE);
    let busy_ns = ssd.nand.lun_busy_ns(0, erased_ns);
    assert_eq!((busy_ns[Cause::Gc as usize], busy_ns[Cause::Host as usize]), (LONG_ERASE + SUSPEND + RESUME, ONE_READ));
}

#[test]
fn work_runs_for_its_minimum_before_it_is_interrupted() {
    let (reads, erased_ns, _) = erase_and_reads(BOTH, &[50_000]);
    assert_eq!(reads, [MINIMUM + SUSPEND + ONE_READ]);
    assert_eq!(erased_ns, LONG_ERASE + SUSPEND + ONE_READ + RESUME);
    // A second read comes as the erase goes on: that counts anew.
    let goes_on_ns = MINIMUM + SUSPEND + ONE_READ + RESUME;
    let (reads, erased_ns, _) = erase_and_reads(BOTH, &[50_000, goes_on_ns - 1]);
    assert_eq!(reads[1], goes_on_ns + MINIMUM + SUSPEND + ONE_READ);
    assert_eq!(erased_ns, LONG_ERASE + 2 * (SUSPEND + ONE_READ + RESUME));
    // What ends before its minimum is left alone.
    let (reads, erased_ns, ssd) = erase_and_reads(SuspendSettings { min_ns: LONG_ERASE, ..BOTH }, &[1_000_000]);
    assert_eq!((reads, erased_ns), (vec![LONG_ERASE + ONE_READ], LONG_ERASE));
    assert_eq!(ssd.nand.suspensions(), Some(Suspensions::default()));
}

#[test]
fn the_limit_of_suspensions_is_kept() {
    let times = [300_000, 1_000_000, 2_000_000];
    let (reads, erased_ns, ssd) = erase_and_reads(SuspendSettings { most_times: 2, ..BOTH }, &times);
    let of_two = 2 * (SUSPEND + ONE_READ + RESUME);
    assert_eq!(reads, [300_000 + SUSPEND + ONE_READ, 1_000_000 + SUSPEND + ONE_READ, LONG_ERASE + of_two + ONE_READ]);
    assert_eq!((erased_ns, ssd.nand.suspensions().unwrap().erases), (LONG_ERASE + of_two, 2));
    // The next erase has all of its times again.
    let mut ssd = ssd;
    let start_ns = ssd.nand.now_ns();
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Gc);
    ssd.nand.set_now(start_ns + MINIMUM);
    let read = ssd.read(1, 0, Priority::Host);
    assert_eq!(ssd.run(), [(read, start_ns + MINIMUM + SUSPEND + ONE_READ)]);
}

#[test]
fn so_many_reads_are_served_at_once_and_no_more() {
    let (reads, erased_ns, _) = erase_and_reads(SuspendSettings { most_reads: 2, ..BOTH }, &[1_000_000; 3]);
    let goes_on_ns = 1_000_000 + SUSPEND + 2 * ONE_READ + RESUME;
    let third_ns = goes_on_ns + MINIMUM + SUSPEND + ONE_READ;
    assert_eq!(reads, [1_000_000 + SUSPEND + ONE_READ, 1_000_000 + SUSPEND + 2 * ONE_READ, third_ns]);
    assert_eq!(erased_ns, LONG_ERASE + 2 * (SUSPEND + RESUME) + 3 * ONE_READ);
    // Reads in several planes at once count one by one.
    let mut ssd = Plain::new(NandSettings { multi_plane: true, ..suspending(SuspendSettings { most_reads: 1, ..BOTH }) });
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Gc);
    ssd.nand.set_now(1_000_000);
    let ids = [0, 1].map(|plane| ssd.read(plane, 0, Priority::Host));
    let first_ns = 1_000_000 + SUSPEND + ONE_READ;
    assert_eq!(ssd.run(), [(ids[0], first_ns), (ids[1], first_ns + RESUME + MINIMUM + SUSPEND + ONE_READ)]);
    // Two that start together are as many as may interrupt: a third one waits.
    let mut ssd = Plain::new(NandSettings { multi_plane: true, ..suspending(SuspendSettings { most_reads: 2, ..BOTH }) });
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Gc);
    ssd.nand.set_now(1_000_000);
    let ids = [(0, 0), (1, 0), (0, 1)].map(|(plane, page)| ssd.read(plane, page, Priority::Host));
    let both_ns = first_ns + DATA_OUT;
    let third_ns = both_ns + RESUME + MINIMUM + SUSPEND + ONE_READ;
    assert_eq!(ssd.run(), [(ids[0], first_ns), (ids[1], both_ns), (ids[2], third_ns)]);
}

#[test]
fn only_what_may_be_is_interrupted_and_only_for_the_host() {
    let (reads, ..) = erase_and_reads(SuspendSettings { erases: false, ..BOTH }, &[1_000_000]);
    assert_eq!(reads, [LONG_ERASE + ONE_READ]);
    for priority in [Priority::Urgent, Priority::Gc, Priority::Rebuild] {
        let mut ssd = Plain::new(suspending(BOTH));
        queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Gc);
        ssd.nand.set_now(1_000_000);
        let read = ssd.read(0, 0, priority);
        assert_eq!(ssd.run(), [(read, LONG_ERASE + ONE_READ)]);
    }
    for (programs, waits_ns) in [(true, SUSPEND), (false, DATA_OUT + 1_950_000 - 1_000_000)] {
        let mut ssd = Plain::new(suspending(SuspendSettings { programs, ..BOTH }));
        ssd.nand.set_blocked(1, true);
        let program = ssd.program(Priority::Host);
        ssd.nand.set_now(1_000_000);
        let read = ssd.read(0, 0, Priority::Host);
        let ends = ssd.run();
        assert!(ends.contains(&(read, 1_000_000 + waits_ns + ONE_READ)));
        let program_ns = DATA_OUT + 1_950_000 + if programs { SUSPEND + ONE_READ + RESUME } else { 0 };
        assert!(ends.contains(&(program, program_ns)));
    }
}

#[test]
fn a_lun_that_gc_blocks_suspends_nothing() {
    let mut ssd = Plain::new(suspending(BOTH));
    ssd.nand.set_blocked(0, true);
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Urgent);
    ssd.nand.set_now(1_000_000);
    ssd.read(0, 0, Priority::Host);
    ssd.run();
    assert_eq!((ssd.moved[0].1, ssd.nand.suspensions().unwrap().erases), (LONG_ERASE, 0));
    // It does once that is over, for reads that came before.
    let mut ssd = Plain::new(suspending(BOTH));
    ssd.nand.set_blocked(0, true);
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Urgent);
    ssd.nand.set_now(1_000_000);
    let read = ssd.read(0, 0, Priority::Host);
    ssd.nand.set_now(2_000_000);
    ssd.nand.set_blocked(0, false);
    assert_eq!(ssd.run(), [(read, 2_000_000 + SUSPEND + ONE_READ)]);
}

/// Urgent work of GC goes before a read that waits, and is suspended for it as for one that comes later.
#[test]
fn a_read_that_waited_before_work_begins_interrupts_it() {
    let mut ssd = Plain::new(suspending(BOTH));
    ssd.read(0, 0, Priority::Rebuild);
    let read = ssd.read(0, 1, Priority::Host);
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Urgent);
    let ends = ssd.run();
    assert_eq!(ends.last(), Some(&(read, ONE_READ + MINIMUM + SUSPEND + ONE_READ)));
    assert_eq!(ssd.moved[0].1, ONE_READ + LONG_ERASE + SUSPEND + ONE_READ + RESUME);
}

/// Reads of GC that keeps pace with the host are in its class, and have nothing suspended; a read of the host behind them has.
#[test]
fn reads_of_gc_in_the_class_of_the_host_interrupt_nothing() {
    let mut ssd = Plain::new(suspending(BOTH));
    let page = ssd.page(1, 0);
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Gc);
    ssd.nand.set_now(1_000_000);
    queue_work(&mut ssd, 1, WorkKind::MoveRead, page, Cause::Gc, Priority::Host);
    ssd.run();
    assert_eq!(ssd.moved, [(WorkKind::Erase, LONG_ERASE), (WorkKind::MoveRead, LONG_ERASE + ONE_READ)]);
    // Both wait when the LUN may suspend again.
    let mut ssd = Plain::new(suspending(BOTH));
    ssd.nand.set_blocked(0, true);
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Urgent);
    ssd.nand.set_now(1_000_000);
    queue_work(&mut ssd, 1, WorkKind::MoveRead, page, Cause::Gc, Priority::Host);
    let read = ssd.read(1, 0, Priority::Host);
    ssd.nand.set_now(2_000_000);
    ssd.nand.set_blocked(0, false);
    assert_eq!(ssd.run(), [(read, 2_000_000 + SUSPEND + 2 * ONE_READ)]);
}

/// Programs of GC and of program units are suspended as those of plans; a copyback is one command.
#[test]
fn programs_of_gc_are_interrupted_and_copybacks_are_not() {
    let ends = |ssd: &mut Plain, programs, waits_ns| {
        while ssd.nand.next_event_ns() < 1_000_000 {
            advance(ssd, &mut NoObserver);
        }
        ssd.nand.set_now(1_000_000);
        let read = ssd.read(1, 0, Priority::Host);
        assert_eq!(ssd.run(), [(read, 1_000_000 + waits_ns + ONE_READ)]);
        assert_eq!(ssd.nand.suspensions(), Some(Suspensions { programs, erases: 0 }));
    };
    for (work, programs, waits_ns) in [(WorkKind::MoveProgram, 1, SUSPEND), (WorkKind::CopyBack, 0, SENSE + 1_950_000 - 1_000_000)] {
        let mut ssd = Plain::new(suspending(BOTH));
        let page = ssd.page(0, 0);
        queue_work(&mut ssd, 0, work, page, Cause::Gc, Priority::Gc);
        ends(&mut ssd, programs, waits_ns);
    }
    let mut ssd = Plain::new(NandSettings { pages_per_program: 2, ..suspending(BOTH) });
    let page = ssd.page(0, 0);
    packed::queue_page_program(&mut ssd.nand, 0, page, Cause::Gc, Priority::Gc, true);
    ends(&mut ssd, 1, SUSPEND);
    assert_eq!(ssd.moved, [(WorkKind::PageProgram, 2 * DATA_OUT + 1_950_000 + SUSPEND + ONE_READ + RESUME)]);
}

/// What was suspended twice began when it began.
#[test]
fn work_is_recorded_from_its_first_beginning() {
    let mut ssd = Plain::new(suspending(BOTH));
    ssd.nand.record_done(true);
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Gc);
    for time_ns in [300_000, 1_000_000] {
        while ssd.nand.next_event_ns() < time_ns {
            advance(&mut ssd, &mut NoObserver);
        }
        ssd.nand.set_now(time_ns);
        ssd.read(1, 0, Priority::Host);
    }
    ssd.nand.completions().clear();
    ssd.run();
    let (mut slices, mut done) = (Vec::new(), Vec::new());
    ssd.nand.recording_mut().swap_recorded(&mut slices, &mut done);
    let erase = done.last().unwrap();
    assert_eq!((erase.start_ns, erase.end_ns), (0, LONG_ERASE + 2 * (SUSPEND + ONE_READ + RESUME)));
}

/// The data of a program are on their way, which is reported: a read that comes meanwhile waits for no more than the minimum of the array.
#[test]
fn a_read_that_comes_with_the_data_of_a_program_interrupts_it() {
    for reports_data_in in [false, true] {
        let mut ssd = Plain::new(NandSettings { reports_data_in, ..suspending(BOTH) });
        ssd.nand.set_blocked(1, true);
        ssd.program(Priority::Host);
        ssd.nand.set_now(1_000);
        let read = ssd.read(0, 0, Priority::Host);
        assert!(ssd.run().contains(&(read, DATA_OUT + MINIMUM + SUSPEND + ONE_READ)));
    }
}
