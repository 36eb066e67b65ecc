//! Time moves to a moment in one go as it does event by event, whether somebody records each event or not.

use crate::support::{engine, pages, scenario};
use flashraid_sim::Config;
use flashraid_sim::engine::content::Untracked;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Fault, HostOp, Part};

/// How time moves, and who looks.
#[derive(Clone, Copy)]
struct Way {
    by_events: bool,
    records: bool,
}

/// Random requests, at times on a coarse grid, so that some arrive in the instant of an event. Returns what came of them, and what was recorded.
fn replayed(config: &Config, fails: bool, seed: u64, way: Way) -> (Vec<String>, Vec<String>) {
    let mut engine = engine(config, Untracked);
    let space = engine.space_pages();
    engine.fill(space * 9 / 10);
    if way.records {
        engine.record(true);
        engine.record_moments(0..u64::MAX);
    }
    let mut random = SplitMix64::new(seed);
    let gap_ns = [100_000, 400_000, 2_000_000][seed as usize % 3];
    let mut now_ns = 0;
    for index in 0..=400 {
        now_ns += if index < 400 { random.next_u64() % gap_ns / 25_000 * 25_000 } else { 1_000_000_000 };
        while way.by_events && engine.next_event_ns().is_some_and(|event_ns| event_ns <= now_ns) {
            engine.advance().unwrap();
        }
        engine.advance_until(now_ns).unwrap();
        if fails && index == 100 {
            engine.fail(Fault::Loss(Part::Chip { channel: 1, chip: 0 }));
        }
        if index < 400 {
            let op = [HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Trim][(random.next_u64() % 4) as usize];
            let count = 1 + random.next_u64() % 9;
            engine.submit(&pages(op, random.next_u64() % (space - count), count), true);
        }
    }
    let mut figures: Vec<String> = engine.front_end.completed.iter().map(|completed| format!("{completed:?}")).collect();
    figures.push(format!(
        "{:?} {:?} idle for {} ns",
        engine.survey().rebuilds,
        engine.executor.media.nand().counts(),
        engine.survey().idle_ns
    ));
    let moments = engine.front_end.recorder.iter().flat_map(|recorder| recorder.moments.iter().map(|moment| format!("{moment:?}")));
    (figures, moments.collect())
}

/// The first that differs.
fn same(one: &[String], other: &[String], what: &str) {
    let differ = one.iter().zip(other).find(|(one, other)| one != other);
    assert!(differ.is_none() && one.len() == other.len(), "{what}: {} and {}, first {differ:?}", one.len(), other.len());
}

#[test]
fn time_moves_in_one_go_as_event_by_event() {
    let no_commands = [("read_command_ns", "0"), ("program_command_ns", "0"), ("erase_command_ns", "0")];
    let sums = [&[("xor_ns", "25us")][..], &no_commands].concat();
    let rebuild = [("rebuild", "dor"), ("spare_chips", "1")];
    let chips = [("member", "chip"), ("chips_per_channel", "4"), ("channels", "2")];
    for (scheme, pairs) in [
        ("raid5", &[][..]),
        ("raid5", &rebuild),
        ("fra", &chips),
        ("ppc", &sums),
        ("ppc", &[("nvram_buffer_bytes", "65536")]),
        ("raid5", &[("nvram_buffer_bytes", "65536")]),
    ] {
        let config = scenario(scheme, pairs, &[]).unwrap();
        let fails = pairs == rebuild;
        for seed in 0..6 {
            let what = format!("{scheme} {pairs:?}, seed {seed}");
            let way = |by_events, records| replayed(&config, fails, seed, Way { by_events, records });
            let (expected, recorded) = (way(true, false).0, way(true, true));
            same(&expected, &way(false, false).0, &what);
            same(&expected, &recorded.0, &format!("{what}, recorded"));
            let at_once = way(false, true);
            same(&expected, &at_once.0, &format!("{what}, recorded in one go"));
            same(&recorded.1, &at_once.1, &format!("{what}, moments"));
            assert!(!recorded.1.is_empty());
        }
    }
}
