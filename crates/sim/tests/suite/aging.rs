//! Preconditioning: how a drive is aged before the workload, without time.

use crate::support::{engine, small, tags};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Content;
use flashraid_vocabulary::Version;
use flashraid_workload::SplitMix64;

/// Pages whose old version is kept, as a parity covers it.
fn bases<C: Content>(engine: &Engine<C>) -> usize {
    let flash = &engine.media;
    let slots = flash.settings().pages_per_member * flash.settings().members();
    (0..slots).filter(|slot| flash.lookup(flash.address(*slot), Version::Base).is_some()).count()
}

/// Rounds are a quarter of what is overwritten: whether it is steady is judged after whole rounds alone.
#[test]
fn rounds_are_a_quarter_of_the_pages() {
    let config = small("raid5", &[]);
    let mut engine = engine(&config, tags(&config));
    let pages = engine.space_pages();
    engine.fill(pages);
    let mut random = SplitMix64::new(9);
    let reached = engine.precondition(pages, 100 * pages, || random.next_u64(), |_| true);
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
    engine.precondition(pages, 3, || random.next_u64(), |_| true);
    assert!(bases(&engine) > 0);
}
