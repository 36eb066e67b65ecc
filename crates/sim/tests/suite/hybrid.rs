//! Hybrid mapping under schemes that delay parities: merges commit semivalid pages first (SPEC 4.4, 6.3).

use crate::support::{config, engine, pages, tags};
use flashraid_ftl::MergeKind;
use flashraid_redundancy::{CommitCause, GuardCounts};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Content;
use flashraid_sim::{Config, verify};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Cause, HostOp};

fn small(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let mut all = vec![
        ("mapping", "bast"),
        ("log_blocks", "8"),
        ("blocks_per_plane", "24"),
        ("pages_per_block", "16"),
        ("over_provisioning", "0.3"),
        ("parity_cache_bytes", "65536"),
    ];
    all.retain(|(key, _)| *key != "parity_cache_bytes" || scheme.ends_with("pc") && scheme != "no-pc");
    all.extend(pairs);
    config("tiny", scheme, &all)
}

/// Overwrites a full drive at random, one or two pages at a time.
fn overwrite<C: Content>(engine: &mut Engine<C>, writes: u64) {
    engine.fill(engine.space_pages());
    let mut random = SplitMix64::new(5);
    for _ in 0..writes {
        while engine.outstanding() >= 8 {
            engine.advance().unwrap();
        }
        let first = random.next_u64() % (engine.space_pages() - 2);
        engine.submit(&pages(HostOp::Write, first, 1 + random.next_u64() % 2), true);
    }
    engine.finish().unwrap();
    engine.executor.media.checked().check().unwrap();
    assert!(engine.front_end.completed.iter().all(|completed| completed.ok));
}

#[test]
fn merges_commit_what_they_erase() {
    for mapping in ["bast", "fast"] {
        for policy in ["greedy", "commit_aware"] {
            let config = small("ppc", &[("mapping", mapping), ("gc_policy", policy)]);
            let mut engine = engine(&config, tags(&config));
            overwrite(&mut engine, 3000);
            assert!(verify::stored(&engine).is_clean() && engine.executor.content.mismatches == 0);
            let GuardCounts { commits, widened, .. } =
                engine.scheme().deferring().and_then(|deferring| deferring.guard()).expect("delays parities");
            let merged = commits[CommitCause::Gc as usize].commits;
            // Of such small drives the parity's chip mostly has no page at hand.
            let widened = widened.commits;
            assert!(merged > 20 && merged + widened > 200, "{mapping} {policy}: {merged} commits for merges, {widened} widened");
            let merges = engine.executor.media.gc().counts().merges;
            assert!(merges[MergeKind::Full as usize] > 100, "{merges:?}");
        }
    }
}

/// Every erase is of a merge, and a merge copies at most the pages of its logical block.
#[test]
fn merges_account_for_what_the_flash_does() {
    for scheme in ["raid0", "raid5", "fpc", "ca-ppc"] {
        let config = small(scheme, &[]);
        let mut engine = engine(&config, tags(&config));
        overwrite(&mut engine, 2000);
        let [switch, partial, full] = engine.executor.media.gc().counts().merges;
        let [reads, copies, erases] = [0, 1, 2].map(|action: usize| engine.executor.media.nand().counts()[action][Cause::Gc as usize]);
        assert_eq!((reads, erases), (copies, switch + partial + 2 * full), "{scheme}");
        assert!(copies <= 16 * full + 15 * partial, "{scheme}");
        assert_eq!(engine.executor.media.gc().counts().gc_runs, switch + partial + full, "{scheme}: one logical block each under BAST");
    }
}

/// Work without time merges too: an aged drive is consistent, whatever delays parities.
#[test]
fn drives_are_aged_without_time() {
    for (scheme, mapping) in [("raid5", "bast"), ("ppc", "bast"), ("ppc", "fast")] {
        let config = small(scheme, &[("mapping", mapping)]);
        let mut engine = engine(&config, tags(&config));
        engine.fill(engine.space_pages());
        let mut random = SplitMix64::new(9);
        let space = engine.space_pages();
        let reached = engine.precondition(space, 4 * space, false, || random.next_u64(), |_| true);
        assert!(reached.write_amplification > 2.0, "{reached:?}");
        engine.executor.media.checked().check().unwrap();
        assert!(verify::stored(&engine).is_clean());
        assert!(engine.executor.media.gc().counts().gc_runs == 0 && engine.now_ns() == 0);
    }
}
