//! The worked example of docs/writing-a-scheme.md, chained declustering, in the engine: a chip dies under requests and GC, and is rebuilt on a spare one.

use crate::support::{config, engine_with, finish_clean, submit_random, tags};
use flashraid_redundancy::testing::chained::ENTRY;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Fault, Part};

#[test]
fn a_lost_chip_is_read_from_its_neighbors_and_rebuilt() {
    for seed in 0..6 {
        let mut random = SplitMix64::new(seed);
        let rebuild = ["copy", "sor"][seed as usize % 2];
        let pairs = [
            ("spare_chips", "1"),
            ("blocks_per_plane", "16"),
            ("pages_per_block", "8"),
            ("over_provisioning", "0.4"),
            ("channels", "6"),
            ("rebuild", rebuild),
        ];
        // What the engine knows of a scheme it knows from the scheme itself; the configuration is one of the same orders of rebuild.
        let config = config("tiny", "raid1", &pairs);
        let mut engine = engine_with(&config, ENTRY.build(&config.build()).unwrap(), tags(&config));
        let space = engine.space_pages();
        engine.fill(space / 2);
        for request in 0..1500 {
            submit_random(&mut engine, &mut random, space);
            assert_eq!(engine.lost_pages().count(), 0, "seed {seed}, request {request}");
            if request == 700 {
                engine.fail(Fault::Loss(Part::Chip { channel: (random.next_u64() % 6) as u32, chip: 0 }));
            }
        }
        finish_clean(&mut engine, &format!("seed {seed}"));
        assert!(engine.survey().rebuilds[0].finished_ns.is_some(), "seed {seed}");
    }
}
