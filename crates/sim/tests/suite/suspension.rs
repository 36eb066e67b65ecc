//! Reads that suspend programs and erases (SPEC 8.3), in whole runs: latencies, figures, and that nothing is lost. What NAND does alone is tested there.

use crate::support::{config, pages};
use flashraid_sim::{RunResult, Simulation};
use flashraid_vocabulary::{HostOp, HostRequest};

type Pairs<'a> = &'a [(&'a str, &'a str)];

const ONE_DIE: Pairs =
    &[("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), ("verify", "true")];
const TIMES: Pairs = &[("suspend_min_ns", "30000"), ("suspend_ns", "10000"), ("resume_ns", "5000")];
/// A program and a read of 4 KiB on idle flash, as the device has them.
const PROGRAM: u64 = 175 + 102_400 + 200_000;
const READ: u64 = 175 + 20_000 + 102_400;

/// Writes page 0, then page 1 while page 0 is read, after so long: latencies of that write and the read, and the result.
fn write_and_read(pairs: Pairs, read_after_ns: u64) -> (u64, u64, RunResult) {
    let mut simulation = Simulation::new(config("tiny", "raid0", &[ONE_DIE, pairs].concat()), |_| true).unwrap();
    let at = |arrival_ns: u64, request: HostRequest| HostRequest { arrival_ns, ..request };
    const SECOND: u64 = 1_000_000;
    for request in
        [pages(HostOp::Write, 0, 1), at(SECOND, pages(HostOp::Write, 1, 1)), at(SECOND + read_after_ns, pages(HostOp::Read, 0, 1))]
    {
        simulation.submit(&request).unwrap();
    }
    simulation.finish().unwrap();
    let mut latencies = [0; 3];
    for completed in simulation.take_completed() {
        latencies[completed.sequence as usize] = completed.completed_ns - completed.arrival_ns;
    }
    assert!(simulation.verify().unwrap().is_clean());
    (latencies[1], latencies[2], simulation.result(&Default::default(), false, None).unwrap())
}

#[test]
fn a_read_of_the_host_waits_for_a_suspension_and_not_for_a_program() {
    // 100 us into the time of the array.
    const AFTER: u64 = PROGRAM - 100_000;
    let (write, read, result) = write_and_read(&[], AFTER);
    assert_eq!((write, read, result.suspensions), (PROGRAM, 100_000 + READ, None));
    let (write, read, result) = write_and_read(&[TIMES, &[("suspend", "program")]].concat(), AFTER);
    assert_eq!((write, read), (PROGRAM + 10_000 + READ + 5_000, 10_000 + READ));
    let suspensions = result.suspensions.unwrap();
    assert_eq!((suspensions.programs, suspensions.erases), (1, 0));
    assert_eq!(result.flash_ops.programs.total, 2, "a suspended program counts once");
    // With the data still on their way to the die, the minimum counts from the start of the array.
    let (write, read, _) = write_and_read(&[TIMES, &[("suspend", "both")]].concat(), 1_000);
    assert_eq!(read, PROGRAM - 200_000 - 1_000 + 30_000 + 10_000 + READ);
    assert_eq!(write, PROGRAM + 10_000 + READ + 5_000);
    let (_, read, result) = write_and_read(&[TIMES, &[("suspend", "erase")]].concat(), AFTER);
    assert_eq!((read, result.suspensions.unwrap().programs), (100_000 + READ, 0));
}

/// In a stream of writes that GC has to keep up with, a read waits for a suspension at most, not for an erase.
#[test]
fn the_tail_of_reads_is_shorter() {
    let run = |pairs: Pairs| {
        let base: Pairs = &[("fill", "0.9"), ("gc_blocking_scope", "none"), ("erase_ns", "5000000"), ("precondition", "random:1")];
        let mut simulation = Simulation::new(config("tiny", "raid0", &[base, pairs].concat()), |_| true).unwrap();
        let space = simulation.space_bytes() / 4_096 * 9 / 10;
        for number in 0..4_000u64 {
            let (op, page) = (if number % 4 == 0 { HostOp::Read } else { HostOp::Write }, number * 2_654_435_761 % space);
            simulation.submit(&HostRequest { arrival_ns: number * 700_000, ..pages(op, page, 1) }).unwrap();
        }
        simulation.finish().unwrap();
        simulation.result(&Default::default(), false, None).unwrap()
    };
    let (waiting, suspending) = (run(&[]), run(&[TIMES, &[("suspend", "both")]].concat()));
    let [longest, shorter] = [&waiting, &suspending].map(|result| result.latency_ns.read.summary.max);
    assert!([&waiting, &suspending].iter().all(|result| result.flash_ops.erases.total > 100));
    assert!(longest >= 4_000_000 && shorter < longest / 4, "{shorter} of {longest}");
    assert!(suspending.suspensions.unwrap().erases > 20);
}
