//! Preconditioning: how a drive is aged before the workload, without time.

use crate::support::{config, engine, engine_on, pages, small, tags};
use flashraid_sim::Simulation;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::{Content, Untracked};
use flashraid_sim::media::{Media, SsdArray};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest, Version};

/// Pages whose old version is kept, as a parity covers it.
fn bases<C: Content, M: Media>(engine: &Engine<C, M>) -> usize {
    let shape = engine.executor.media.shape();
    (0..shape.pages_per_member * shape.members)
        .filter(|entry| engine.executor.media.lookup(shape.page(*entry), Version::Base).is_some())
        .count()
}

/// Rounds are a quarter of what is overwritten: whether it is steady is judged after whole rounds alone.
#[test]
fn rounds_are_a_quarter_of_the_pages() {
    let config = small("raid5", &[]);
    let mut engine = engine(&config, tags(&config));
    let pages = engine.space_pages();
    engine.fill(pages);
    let mut random = SplitMix64::new(9);
    let reached = engine.precondition(pages, 100 * pages, false, || random.next_u64(), |_| true);
    assert!(reached.steady, "{reached:?}");
    assert_eq!(reached.overwritten_pages % (pages / 4), 0, "{reached:?} of {pages} pages");
}

/// On a drive without log blocks parities stay delayed while it is aged, as they do while it is used.
#[test]
fn aging_leaves_parities_deferred() {
    let config = small("ppc", &[]);
    let mut engine = engine(&config, tags(&config));
    let pages = engine.space_pages();
    engine.fill(pages);
    assert_eq!(bases(&engine), 0);
    let mut random = SplitMix64::new(9);
    engine.precondition(pages, 3, false, || random.next_u64(), |_| true);
    assert!(bases(&engine) > 0);
}

/// A scheme that commits in idle time leaves nothing to be committed, also where a commit has to wait for space: on the member that has nothing but
/// parities only commits make any, and without them old versions would fill the others.
#[test]
fn aging_leaves_nothing_for_idle_time() {
    let pairs = [
        ("devices", "4"),
        ("channels", "2"),
        ("blocks_per_plane", "13"),
        ("pages_per_block", "5"),
        ("page_bytes", "1024"),
        ("gc_threshold", "0"),
        ("gc_reserve_blocks", "3"),
        ("over_provisioning", "0.337308"),
        ("layout", "last_member"),
        ("allocation", "dynamic"),
    ];
    let config = config("tiny", "fra", &pairs);
    let mut engine: Engine<Untracked, SsdArray> = engine_on(&config, config.build_scheme().expect("a legal scheme"), Untracked);
    let pages = engine.space_pages();
    engine.fill(pages);
    let mut random = SplitMix64::new(9);
    engine.precondition(pages, 2 * pages, false, || random.next_u64(), |_| true);
    assert_eq!(bases(&engine), 0);
}

/// Blocks collected while a tenth of a block of each plane is written, in a drive of 64 planes that is less than half full: where each victim is nothing but
/// garbage, a plane is collected once for each block.
fn collected_in_a_window(phases: &str, allocation: &str, seed: u64) -> u64 {
    let (planes, pages_per_block) = (64, 40);
    let seed = seed.to_string();
    let pairs = [
        ("channels", "4"),
        ("chips_per_channel", "16"),
        ("blocks_per_plane", "16"),
        ("pages_per_block", "40"),
        ("over_provisioning", "0.3"),
        ("fill", "0.3"),
        ("precondition", "steady"),
        ("allocation", allocation),
        ("gc_phases", phases),
        ("seed", &seed),
    ];
    let mut simulation = Simulation::new(config("tiny", "raid0", &pairs), |_| true).unwrap();
    let (mut random, filled) = (SplitMix64::new(3), simulation.space_bytes() / 4096 * 3 / 10);
    for number in 0..planes * pages_per_block / 10 {
        let write = pages(HostOp::Write, random.next_u64() % filled, 1);
        simulation.submit(&HostRequest { arrival_ns: number * 1_000_000, ..write }).unwrap();
    }
    simulation.finish().unwrap();
    simulation.result(&Default::default(), false, None).unwrap().collection.collections
}

/// 256 programs at one block for 40 of them make 6.4. Of a binomial count of 64 planes with a tenth each, 0 and 16 are beyond four deviations.
#[test]
fn a_short_run_on_a_steady_drive_sees_its_share_of_gc() {
    for allocation in ["dynamic_member", "static"] {
        let found: Vec<u64> = (1..=12).map(|seed| collected_in_a_window("random", allocation, seed)).collect();
        assert!(found.iter().all(|count| (1..16).contains(count)), "{allocation}: {found:?}");
        let mean = found.iter().sum::<u64>() as f64 / 12.0;
        assert!((mean - 6.4).abs() < 2.4, "{allocation}: {found:?}");
    }
    assert_eq!(collected_in_a_window("random", "static", 1), collected_in_a_window("random", "static", 1));
    // As the precondition leaves them, the planes of a member are collected together, or not at all.
    let aligned: Vec<u64> = (1..=12).map(|seed| collected_in_a_window("aligned", "dynamic_member", seed)).collect();
    assert!(aligned.iter().any(|count| *count == 0 || *count >= 16), "{aligned:?}");
}
