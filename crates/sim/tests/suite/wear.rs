//! Wear leveling under a hot spot: without it some blocks are never erased; static leveling keeps the counts of a plane together.

use crate::support::{config, engine, pages};
use flashraid_sim::engine::content::Untracked;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Cause, HostOp};

/// Overwrites a tenth of a full drive at random; returns the greatest difference of erase counts inside a plane, and the pages moved
/// and blocks erased by static leveling.
fn spread(wear_leveling: &str, wear_leveling_threshold: &str, writes: u64) -> (u32, u64, u64) {
    let pairs = [
        ("blocks_per_plane", "16"),
        ("pages_per_block", "16"),
        ("over_provisioning", "0.25"),
        ("wear_leveling", wear_leveling),
        ("wear_leveling_threshold", wear_leveling_threshold),
    ];
    let mut engine = engine(&config("tiny", "raid0", &pairs), Untracked);
    engine.fill(engine.space_pages());
    let mut random = SplitMix64::new(1);
    let hot = engine.space_pages() / 10;
    for _ in 0..writes {
        while engine.outstanding() >= 8 {
            engine.advance().unwrap();
        }
        engine.submit(&pages(HostOp::Write, random.next_u64() % hot, 1), true);
        engine.front_end.completed.clear();
    }
    engine.finish().unwrap();
    engine.executor.media.checked().check().unwrap();
    let erases: Vec<u32> = engine.executor.media.store().space().erase_counts().collect();
    assert_eq!(erases.len(), 8 * 16);
    let total: u64 = erases.iter().map(|erases| u64::from(*erases)).sum();
    assert_eq!(total, engine.executor.media.nand().counts()[2].iter().sum::<u64>(), "erases are counted by block and by cause");
    let spread = erases.chunks(16).map(|plane| plane.iter().max().unwrap() - plane.iter().min().unwrap()).max().unwrap();
    (spread, engine.executor.media.nand().counts()[1][Cause::Wear as usize], engine.executor.media.nand().counts()[2][Cause::Wear as usize])
}

#[test]
fn static_leveling_keeps_the_spread_near_its_limit() {
    for wear_leveling_threshold in [5, 20] {
        let (spread, moved, erased) = spread("static", &wear_leveling_threshold.to_string(), 60_000);
        assert!(
            (wear_leveling_threshold..=wear_leveling_threshold + 3).contains(&spread),
            "spread {spread}, limit {wear_leveling_threshold}"
        );
        assert!(moved > 0 && erased > 0);
    }
}

#[test]
fn without_it_the_spread_grows() {
    for wear_leveling in ["none", "dynamic"] {
        let (short, ..) = spread(wear_leveling, "5", 30_000);
        let (long, moved, erased) = spread(wear_leveling, "5", 60_000);
        assert!(short > 50 && long > short * 3 / 2, "{wear_leveling}: {short}, then {long}");
        assert_eq!((moved, erased), (0, 0));
    }
}
