//! GC in idle time (SPEC 5.7) under the engine: it takes GC from busy times, loses nothing, and is the same each time.

use crate::support::{config, pages};
use flashraid_sim::Simulation;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// 20 writes in 18 ms, then 22 ms of silence. Returns completions, the mean latency of writes, and blocks erased.
fn bursts(scheme: &str, pairs: Pairs) -> (Vec<(u64, u64)>, u64, u64) {
    let small = [("blocks_per_plane", "24"), ("pages_per_block", "8"), ("over_provisioning", "0.4"), ("verify", "true"), ("fill", "1")];
    let mut simulation = Simulation::new(config("tiny", scheme, &[&small, pairs].concat()), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(5), simulation.space_bytes() / 4096);
    for number in 0..2_000 {
        let arrival_ns = number / 20 * 40_000_000 + number % 20 * 900_000;
        let write = pages(HostOp::Write, random.next_u64() % space, 1);
        simulation.submit(&HostRequest { arrival_ns, ..write }).unwrap();
    }
    simulation.finish().unwrap();
    assert!(simulation.verify().unwrap().is_clean(), "{scheme} {pairs:?}");
    let result = simulation.result(&Default::default(), false, None).unwrap();
    let erases = result.flash_ops.erases.gc;
    let completed = simulation.take_completed().iter().map(|completed| (completed.sequence, completed.completed_ns)).collect();
    (completed, result.latency_ns.write.summary.mean as u64, erases)
}

#[test]
fn it_takes_gc_from_busy_times() {
    let dftl: Pairs = &[("mapping", "dftl"), ("cmt_entries", "20")];
    let ppc: Pairs = &[("nvram_buffer_bytes", "65536"), ("parity_cache_bytes", "65536")];
    let array: Pairs = &[("devices", "4"), ("spare_devices", "1"), ("channels", "1"), ("fail", "device:1@request:700")];
    // The last three are busy all the time: their GC runs start when the host has sent nothing, and what they have to do is not done.
    for (scheme, more, gains) in
        [("raid0", &[][..], true), ("raid5", array, true), ("raid5", dftl, false), ("ppc", ppc, false), ("fra", &[], false)]
    {
        let with = |idle: Pairs| bursts(scheme, &[more, &[("gc_threshold", "0.05")], idle].concat());
        let (_, busy_ns, _) = with(&[]);
        for scope in ["chip", "none"] {
            let idle = [("gc_idle_threshold", "0.25"), ("idle_ns", "6ms"), ("gc_blocking_scope", scope)];
            let found = with(&idle);
            assert!(found.2 > 0 && (found.1 < busy_ns || !gains), "{scheme}, {scope}: {} ns, without {busy_ns} ns", found.1);
            assert!(found == with(&idle), "{scheme}, {scope}: twice the same");
        }
    }
}

/// Pages moved by GC for each page of the host, where 28 % are free at first and idle time would have so large a share.
fn moved_per_page(gc_idle_threshold: &str, gc_idle_gain: &str) -> f64 {
    let small = [("channels", "1"), ("blocks_per_plane", "32"), ("pages_per_block", "16"), ("over_provisioning", "0.2"), ("fill", "0.9")];
    let idle = [("gc_idle_threshold", gc_idle_threshold), ("gc_idle_gain", gc_idle_gain), ("idle_ns", "1ms")];
    let mut simulation = Simulation::new(config("tiny", "raid0", &[&small[..], &idle].concat()), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(5), simulation.space_bytes() / 4096);
    for number in 0..3_000 {
        let write = pages(HostOp::Write, random.next_u64() % space, 1);
        simulation.submit(&HostRequest { arrival_ns: number * 1_000_000_000, ..write }).unwrap();
    }
    simulation.finish().unwrap();
    let programs = simulation.result(&Default::default(), false, None).unwrap().flash_ops.programs;
    programs.gc as f64 / programs.host as f64
}

/// With a gain g idle GC moves at most (1 - g) / g pages for each page programmed, though free pages never reach its threshold; what it leaves to the
/// threshold of GC moves no more than that moves alone.
#[test]
fn what_idle_gc_moves_is_bounded_by_its_gain() {
    let threshold_alone = moved_per_page("0", "0.5");
    for (gain, bound) in [("0.125", 7.0), ("0.25", 3.0), ("0.5", 1.0)] {
        let found = moved_per_page("0.3", gain);
        assert!(found <= threshold_alone.max(bound) + 0.01, "{gain}: {found}, with the threshold alone {threshold_alone}");
    }
    let without = moved_per_page("0.3", "0");
    assert!(threshold_alone < 3.0 && without > 10.0, "{without}, with the threshold alone {threshold_alone}");
}
