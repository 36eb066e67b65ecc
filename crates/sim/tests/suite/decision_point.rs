//! When a partial-stripe write decides and programs its data, what XOR takes, and what the load that schemes see is. Times as in `timing.rs`: on ssd1 a
//! read takes 122,575 ns and a program 302,575.

use crate::support::{config, filled, pages, proving, tags};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Untracked;
use flashraid_sim::engine::recorder::DoneRecord;
use flashraid_sim::media::{Activity, Counting, Inspect, Recording};
use flashraid_sim::{Config, verify};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Cause, Fault, HostOp, LoadView, LocalPage, Lpn, MemberId, MemberPage, Part, Version};
use std::collections::BTreeMap;

const READ: u64 = 122_575;
const PROGRAM: u64 = 302_575;
const XOR: u64 = 19_000;
const DECISION: u64 = 5_700;

/// ssd1 with pages placed by arithmetic: stripe k is local page k of each of the four channels.
fn placed(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    config("ssd1", scheme, &[&[("allocation", "static"), ("blocks_per_plane", "64")], pairs].concat())
}

fn written(config: &Config, page: u64, count: u64) -> Vec<u64> {
    let mut engine = filled(config, 96);
    engine.submit(&pages(HostOp::Write, page, count), true);
    engine.finish().unwrap();
    engine.front_end.completed.iter().map(|completed| completed.completed_ns).collect()
}

/// The pre-reads run side by side, as they lie on different channels; XOR follows them, and the parity that.
#[test]
fn each_decision_point_has_its_latency() {
    for (decide, expected) in [
        ("before_all", READ + XOR + PROGRAM),
        // The data are programmed beside the pre-reads.
        ("at_arrival", READ + XOR + PROGRAM),
        ("after_data", PROGRAM + READ + XOR + PROGRAM),
    ] {
        for update in ["fewest", "rmw", "rcw"] {
            let pairs = [("decide", decide), ("update", update), ("xor_ns", "19us")];
            assert_eq!(written(&placed("raid5", &pairs), 0, 1), [expected], "{decide} {update}");
        }
        let pairs = [("decide", decide), ("decision_ns", "5700"), ("xor_ns", "19us")];
        for scheme in ["adaptive", "bpu"] {
            assert_eq!(written(&placed(scheme, &pairs), 0, 1), [DECISION + expected], "{scheme} {decide}");
            assert_eq!(written(&placed(scheme, &pairs), 0, 3), [XOR + PROGRAM], "a full stripe has its data programmed meanwhile");
        }
    }
    assert_eq!(written(&placed("adaptive", &[]), 0, 1), [PROGRAM + READ + PROGRAM], "adaptive decides after its data");
    assert_eq!(written(&placed("raid5", &[]), 0, 1), [READ + PROGRAM]);
}

/// With the data programmed beside the pre-reads they end when they would alone, and with their parity left out of the answer so does the write.
#[test]
fn data_do_not_wait_for_pre_reads_at_arrival() {
    let late = [("decide", "at_arrival"), ("xor_ns", "19us"), ("parity_in_response", "false")];
    // The answer comes when the data are programmed and the parity is under way.
    assert_eq!(written(&placed("raid5", &late), 0, 1), [PROGRAM]);
    let before = [("decide", "before_all"), ("xor_ns", "19us"), ("parity_in_response", "false")];
    assert_eq!(written(&placed("raid5", &before), 0, 1), [READ + PROGRAM]);
}

/// Mirrored pages are no XOR of anything, nor is what one read delivers.
#[test]
fn only_what_is_an_xor_takes_the_time_of_one() {
    assert_eq!(written(&config("ssd1", "raid5", &[("xor_ns", "0")]), 0, 1), written(&config("ssd1", "raid5", &[]), 0, 1));
    // The first write of a stripe makes the parity of itself alone.
    let mut engine = filled(&placed("raid5", &[("xor_ns", "19us")]), 0);
    engine.submit(&pages(HostOp::Write, 0, 1), true);
    engine.finish().unwrap();
    assert_eq!(engine.front_end.completed[0].completed_ns, PROGRAM);
}

/// A strip that only the deferred parity knows, and the parity on flash, are lost together: one after the other is computed.
#[test]
fn a_repair_may_compute_two_pages() {
    let repaired_ns = |xor_ns: &str| {
        let config = placed("ppc", &[("xor_ns", xor_ns)]);
        let mut engine = crate::support::engine_with(&config, config.build_scheme().unwrap(), tags(&config));
        engine.fill(96);
        engine.submit(&pages(HostOp::Write, 0, 2), true);
        engine.finish().unwrap();
        let (scheme, start_ns) = (engine.scheme(), engine.now_ns());
        for page in [scheme.locate(Lpn(0)), scheme.parity_of(Lpn(0)).unwrap()] {
            let part = engine.executor.media.part_of(engine.executor.media.store().lookup(page, Version::Current).unwrap());
            engine.fail(Fault::Loss(part));
        }
        engine.finish().unwrap();
        assert_eq!(engine.survey().media.lost_versions(), 0);
        let found = verify::stored(&engine);
        assert!(found.is_clean() && found.pages_gone == 0, "{found:?}");
        engine.now_ns() - start_ns
    };
    assert_eq!(repaired_ns("19us") - repaired_ns("0"), 2 * XOR);
}

/// In one wave too, in the order in which the repair names them: a parity that covers the base that a chip takes with it, and the strip.
#[test]
fn pages_are_computed_in_the_order_of_their_wave() {
    let config = placed("ppc", &[("xor_ns", "19us")]);
    let mut engine = filled(&config, 96);
    engine.submit(&pages(HostOp::Write, 90, 2), true);
    engine.finish().unwrap();
    let (data, parity) = (engine.scheme().locate(Lpn(90)), engine.scheme().parity_of(Lpn(90)).unwrap());
    engine.record(false);
    engine.executor.media.record(Recording::Done, true);
    let Part::Page { channel, chip, .. } =
        engine.executor.media.part_of(engine.executor.media.store().lookup(data, Version::Current).unwrap())
    else {
        panic!()
    };
    engine.fail(Fault::Loss(Part::Chip { channel, chip }));
    engine.finish().unwrap();
    let mut computed = BTreeMap::new();
    let mut reads_ns = 0;
    for DoneRecord { done, kind, .. } in &engine.front_end.recorder.as_ref().unwrap().done {
        let Some((page, _)) = done.page.filter(|(page, _)| *kind == "repair" && page.page == data.page) else { continue };
        match done.activity {
            Activity::Program => assert_eq!(computed.insert(page, done.submitted_ns), None),
            _ => reads_ns = reads_ns.max(done.end_ns),
        }
    }
    assert_eq!(computed, BTreeMap::from([(parity, reads_ns + XOR), (data, reads_ns + 2 * XOR)]));
}

/// The queues that a scheme sees are those of a recount, at every event; of GC runs it sees those that block.
#[test]
fn the_load_that_schemes_see_is_that_of_a_recount() {
    for seed in 0..proving(12, 3) {
        let scope = ["channel", "chip", "lun"][seed as usize % 3];
        let pairs = [("blocks_per_plane", "12"), ("pages_per_block", "8"), ("over_provisioning", "0.3"), ("gc_blocking_scope", scope)];
        let config = config("tiny", "adaptive", &[&pairs[..], &[("chips_per_channel", "2"), ("dies_per_chip", "2")]].concat());
        let mut engine = filled(&config, 0);
        let space = engine.space_pages();
        engine.fill(space);
        let mut random = SplitMix64::new(seed);
        let (mut seen, mut runs) = ([0u64; 2], Runs::new());
        for _ in 0..400 {
            let op = if random.next_u64().is_multiple_of(3) { HostOp::Read } else { HostOp::Write };
            engine.submit(&pages(op, random.next_u64() % space, 1), true);
            let until = engine.now_ns() + random.next_u64() % 150_000;
            while engine.next_event_ns().is_some_and(|event_ns| event_ns <= until) {
                engine.advance().unwrap();
                check_load(&engine, &mut seen, &mut runs);
            }
            engine.advance_until(until).unwrap();
        }
        assert!(seen[0] > 100 && seen[1] > 100 && runs.len() > 5, "seed {seed}: {seen:?}, {runs:?}");
        assert!(runs.values().any(|to_move| *to_move > 1), "seed {seed}: {runs:?}");
    }
}

/// What each run had to move, by its LUN and its start.
type Runs = BTreeMap<(u32, u64), u32>;

fn check_load(engine: &Engine<Untracked>, seen: &mut [u64; 2], runs: &mut Runs) {
    let media = &engine.executor.media;
    media.checked().check().unwrap();
    for (member, (reads, programs)) in (0..).map(MemberId).zip(media.checked().recount_queued()) {
        seen[0] += u64::from(reads);
        seen[1] += u64::from(programs);
        for page in [0, 7, 20].map(|page| MemberPage { member, page: LocalPage(page) }) {
            let load = media.read_load(page, Version::Current).expect("the device is filled");
            assert_eq!((load.read_ns, load.reads, load.programs), (20_000, reads, programs), "{member:?}");
            let Some(gc) = load.gc else { continue };
            let lun = media.nand().places().lun_of(media.store().lookup(page, Version::Current).unwrap());
            let (channel, luns) = (media.nand().channel_of_lun(lun), media.luns().len() as u32);
            // With a narrower scope the run is in the page's own chip.
            let of_chips = |chip: Option<u32>, action: usize| {
                let luns = (0..luns).filter(|other| media.nand().channel_of_lun(*other) == channel);
                let luns = luns.filter(|other| chip.is_none_or(|chip| media.nand().shape().chip_of_lun(*other) == chip));
                luns.map(|lun| media.luns()[lun as usize].operations[action][Cause::Gc as usize]).sum::<u64>()
            };
            let counts = [0, 1].map(|chip| (of_chips(Some(chip), 1), of_chips(Some(chip), 2)));
            assert!(counts.contains(&(gc.moves, gc.erases)), "{gc:?} of {counts:?}");
            assert_eq!((gc.read_ns, gc.program_ns, gc.erase_ns), (20_000, 200_000, 1_500_000));
            // That does not change while pages are moved.
            let to_move = *runs.entry((lun, engine.now_ns() - gc.elapsed_ns)).or_insert(gc.to_move);
            assert!(gc.to_move == to_move && to_move < 8, "{gc:?}, {to_move} before");
        }
    }
}

/// Small drives at work, whatever the point and the rule: nothing is lost, and contents are right.
#[test]
fn every_point_keeps_every_page_under_load() {
    for (seed, decide) in ["before_all", "at_arrival", "after_data"].into_iter().cycle().take(9).enumerate() {
        let pairs =
            [("blocks_per_plane", "12"), ("pages_per_block", "8"), ("over_provisioning", "0.35"), ("decide", decide), ("xor_ns", "19us")];
        let update = [("update", ["rmw", "rcw", "adaptive"][seed / 3])];
        let config = config("tiny", "raid5", &[&pairs[..], &update].concat());
        let mut engine = crate::support::engine_with(&config, config.build_scheme().unwrap(), tags(&config));
        let space = engine.space_pages();
        engine.fill(space / 2);
        let mut random = SplitMix64::new(seed as u64);
        for _ in 0..600 {
            crate::support::submit_random(&mut engine, &mut random, space);
        }
        engine.finish().unwrap();
        let found = verify::stored(&engine);
        assert!(found.is_clean() && engine.executor.content.mismatches == 0, "{decide}: {found:?}");
    }
}
