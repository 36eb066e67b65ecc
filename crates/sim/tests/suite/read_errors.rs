//! Pages that LDPC cannot correct: what redundancy brings back, and what it cannot; and latencies of reads with retries.

use crate::support::{config, engine_on, engine_with, filled, pages, proving, scenario, submit_random, tags};
use flashraid_ftl::level_of;
use flashraid_redundancy::SCHEMES;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::engine::{Engine, ReadErrors};
use flashraid_sim::media::{Media, SsdArray};
use flashraid_sim::{Config, verify};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, LocalPage, Lpn, MemberId, MemberPage, Version};
use std::collections::{BTreeMap, BTreeSet};

/// After this time all levels rise by one.
const STEP_NS: u64 = 10_000_000_000;

/// A drive of which a sixth of the blocks cannot be read from `STEP_NS` on.
fn ageing(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let base =
        [("ldpc", "uniform"), ("ldpc_levels", "5"), ("ldpc_retention_ns", "10s"), ("pages_per_block", "16"), ("blocks_per_plane", "48")];
    config("tiny", scheme, &[&base, pairs].concat())
}

/// Pages of a row that cannot be read now, by row, told by their blocks' levels alone.
fn unreadable(engine: &Engine<Tags>, highest: u32) -> BTreeMap<u32, Vec<u16>> {
    let media = &engine.executor.media;
    let mut rows: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
    for member in 0..4 {
        for row in 0..media.settings().pages_per_member {
            let page = MemberPage { member: MemberId(member), page: LocalPage(row) };
            if let Some(ppn) = media.store().lookup(page, Version::Current)
                && level_of(media.nand(), media.store().space(), (ppn.0 / media.settings().geometry.pages_per_block) as usize) > highest
            {
                rows.entry(row).or_default().push(member);
            }
        }
    }
    rows
}

/// Every page is read once: one that is all that its stripe has lost comes back and is programmed elsewhere; the others are reported. Parity is not read
/// by the host, and stays as it is unless it is needed.
#[test]
fn what_redundancy_can_recover_comes_back_elsewhere_and_the_rest_is_reported() {
    for (scheme, rebuild) in [("raid5", "auto"), ("raid5", "none"), ("raid0", "auto"), ("adaptive", "auto")] {
        let config = ageing(scheme, &[("rebuild", rebuild)]);
        let mut engine = engine_with(&config, config.build_scheme().unwrap(), tags(&config));
        // Half full, so that no GC run finds errors of its own.
        let space = engine.space_pages() / 2;
        engine.fill(space);
        engine.advance_until(STEP_NS).unwrap();
        let lost_before = unreadable(&engine, 5);
        let protects = scheme != "raid0";
        let home: BTreeMap<u64, MemberPage> = (0..space).map(|lpn| (lpn, engine.scheme().locate(Lpn(lpn)))).collect();
        let is_lost = |lpn: u64| lost_before.get(&home[&lpn].page.0).is_some_and(|members| members.contains(&home[&lpn].member.0));
        let is_alone = |lpn: u64| lost_before[&home[&lpn].page.0].len() == 1;
        let gone: BTreeSet<u64> = (0..space).filter(|lpn| is_lost(*lpn) && !(protects && is_alone(*lpn))).collect();
        let recovered: Vec<u64> = (0..space).filter(|lpn| is_lost(*lpn) && protects && is_alone(*lpn)).collect();
        assert!(gone.len() > 10 && (!protects || recovered.len() > 100), "{} gone, {} recovered", gone.len(), recovered.len());
        let before: BTreeMap<u64, _> =
            home.iter().map(|(lpn, page)| (*lpn, engine.executor.media.store().lookup(*page, Version::Current))).collect();
        let mut failed = BTreeSet::new();
        for lpn in 0..space {
            engine.submit(&pages(HostOp::Read, lpn, 1), true);
            engine.finish().unwrap();
            if !engine.front_end.completed.pop().unwrap().ok {
                failed.insert(lpn);
            }
        }
        assert!(engine.now_ns() < 2 * STEP_NS, "levels have risen once");
        assert_eq!(failed, gone, "{scheme}");
        assert_eq!(engine.lost_pages().map(|lpn| lpn.0).collect::<BTreeSet<_>>(), gone, "{scheme}");
        let is_elsewhere = |lpn: &u64| engine.executor.media.store().lookup(home[lpn], Version::Current) != before[lpn];
        let repairs = protects && rebuild == "auto";
        assert_eq!(recovered.iter().filter(|lpn| is_elsewhere(lpn)).count(), if repairs { recovered.len() } else { 0 });
        // Of rows with several losses, reconstruction has found those that the host does not read, too.
        let parities = lost_before.values().filter(|members| members.len() > 1).map(Vec::len).sum::<usize>();
        let found = if protects { recovered.len() + parities } else { gone.len() };
        let ReadErrors { pages: errors, pages_repaired } = engine.survey().read_errors;
        assert_eq!((errors, pages_repaired), (found as u64, if repairs { recovered.len() as u64 } else { 0 }), "{scheme} {rebuild}");
        assert!(engine.survey().rebuilds.is_empty() && engine.survey().faults.is_empty(), "nothing has failed");
        assert_eq!(engine.executor.content.mismatches, 0);
        engine.executor.media.checked().check().unwrap();
        if repairs {
            let stored = verify::stored(&engine);
            assert_eq!((stored.mismatches, stored.pages_gone, engine.executor.media.gc().counts().gc_runs), (0, gone.len() as u64, 0));
            // What came back is read without another error, unless it went to a block that had been opened long before.
            for _ in 0..2 {
                let bad = unreadable(&engine, 5);
                let is_bad = |lpn: &&u64| bad.get(&home[*lpn].page.0).is_some_and(|members| members.contains(&home[*lpn].member.0));
                let (again, before) = (recovered.iter().filter(is_bad).count(), engine.survey().read_errors.pages);
                for lpn in &recovered {
                    engine.submit(&pages(HostOp::Read, *lpn, 1), true);
                    engine.finish().unwrap();
                }
                assert_eq!(engine.survey().read_errors.pages - before, again as u64);
                assert!(engine.front_end.completed.iter().all(|completed| completed.ok) && again < recovered.len() / 10, "{again}");
            }
            assert_eq!(unreadable(&engine, 5).keys().filter(|row| recovered.iter().any(|lpn| home[lpn].page.0 == **row)).count(), 0);
        }
    }
}

/// The same on an array, and under mirroring: each page that is lost alone comes back, on its own SSD.
#[test]
fn what_an_array_or_a_mirror_can_recover_comes_back() {
    for (scheme, devices) in [("raid5", "4"), ("raid1", "4"), ("raid1", "1"), ("sirf1", "1"), ("cr5m", "1"), ("ppc", "1")] {
        let chips = if scheme == "cr5m" { "2" } else { "1" };
        let mut pairs = vec![("ldpc", "uniform"), ("ldpc_levels", "9"), ("chips_per_channel", chips)];
        pairs.extend(if devices == "1" { vec![] } else { vec![("devices", devices), ("channels", "1")] });
        let config = ageing(scheme, &pairs);
        let (build, content) = (config.build_scheme().unwrap(), tags(&config));
        match devices {
            "1" => recover_all(engine_with(&config, build, content), scheme),
            _ => {
                let engine = engine_on::<Tags, SsdArray>(&config, build, content);
                let levels: Vec<Vec<u32>> = engine
                    .executor
                    .media
                    .clone()
                    .into_ssds()
                    .iter()
                    .map(|ssd| (0..90).map(|block| level_of(ssd.nand(), ssd.store().space(), block)).collect())
                    .collect();
                assert_ne!(levels[0], levels[1], "each SSD has draws of its own");
                recover_all(engine, scheme);
            }
        }
    }
}

fn recover_all<M: Media>(mut engine: Engine<Tags, M>, what: &str) {
    let space = engine.space_pages() / 2;
    engine.fill(space);
    engine.advance_until(STEP_NS).unwrap();
    for _ in 0..4 {
        for lpn in 0..space {
            engine.submit(&pages(HostOp::Read, lpn, 1), true);
            engine.finish().unwrap();
        }
    }
    let ReadErrors { pages: errors, pages_repaired } = engine.survey().read_errors;
    let gone: Vec<Lpn> = engine.lost_pages().collect();
    // Nothing stays lost but what its stripe cannot make up; that has two losses at least.
    let (lost, failed) =
        (engine.survey().media.lost_versions(), engine.front_end.completed.iter().filter(|completed| !completed.ok).count());
    assert!(errors > 100 && pages_repaired > 100 && pages_repaired + lost == errors, "{what}: {errors}, {pages_repaired}, {lost}");
    assert!(lost == 0 && gone.is_empty() || lost >= 2 && !gone.is_empty(), "{what}: {lost} versions lost");
    // Time goes on, and more blocks become unreadable, from the second round on.
    assert!((gone.len()..=4 * gone.len()).contains(&failed), "{what}: {failed} reads failed");
    let stored = verify::stored(&engine);
    assert_eq!((stored.mismatches, stored.pages_gone), (0, gone.len() as u64), "{what}");
}

/// Settings with which pages become unreadable while a small drive is at work.
const AGEING: [&[(&str, &str)]; 6] = [
    &[("ldpc_reads", "30"), ("ldpc_decode_ns", "20us"), ("buffer_bytes", "65536")],
    &[("ldpc_retention_ns", "8ms"), ("xor_ns", "5us"), ("scheduling", "fifo")],
    &[("ldpc_erases", "3"), ("erases_before", "9")],
    &[("ldpc_retention_ns", "15ms"), ("mapping", "dftl"), ("cmt_entries", "20"), ("blocks_per_plane", "20"), ("over_provisioning", "0.5")],
    &[("ldpc_reads", "40"), ("mapping", "bast"), ("log_blocks", "4"), ("blocks_per_plane", "20"), ("over_provisioning", "0.5")],
    &[("ldpc_retention_ns", "9ms"), ("multi_plane", "true"), ("spare_chips", "1"), ("piggyback", "true")],
];

/// Under every scheme, and with all that a device may do beside: what is read is right, and what is said to be lost is what nothing holds.
#[test]
fn under_load_nothing_is_wrong_and_losses_are_told() {
    let (mut errors, mut lost, mut tried) = (0, 0, 0);
    for (row, entry) in SCHEMES.iter().enumerate() {
        for (column, more) in AGEING.iter().enumerate() {
            if !proving(true, (row + column).is_multiple_of(3)) {
                continue;
            }
            let Some(config) = scenario(entry.name, more, &[("ldpc", "geometric"), ("ldpc_levels", "4")]) else { continue };
            let what = format!("{} {more:?}", entry.name);
            let (scheme, content) = (config.build_scheme().unwrap(), tags(&config));
            let (found, gone) = match config.array.is_single() {
                true => work(engine_with(&config, scheme, content), &what),
                false => work(engine_on::<Tags, SsdArray>(&config, scheme, content), &what),
            };
            (errors, lost, tried) = (errors + found, lost + gone, tried + 1);
        }
    }
    assert!(errors > 500 && lost > 20 && tried > proving(60, 20), "{errors} errors, {lost} pages lost in {tried} runs");
}

/// Pages found to be unreadable, and host pages that are lost in the end.
fn work<M: Media>(mut engine: Engine<Tags, M>, what: &str) -> (u64, u64) {
    let space = engine.space_pages();
    engine.fill(space * 9 / 10);
    let mut random = SplitMix64::new(7);
    for _ in 0..300 {
        submit_random(&mut engine, &mut random, space);
    }
    engine.finish().unwrap_or_else(|halted| panic!("{what}: {halted}"));
    let stored = verify::stored(&engine);
    assert_eq!((stored.mismatches, engine.executor.content.mismatches), (0, 0), "{what}");
    let gone: BTreeSet<u64> = engine.lost_pages().map(|lpn| lpn.0).collect();
    assert_eq!(stored.pages_gone, gone.len() as u64, "{what}");
    let failed = engine.front_end.completed.iter().filter(|completed| !completed.ok).count();
    assert!(failed == 0 || engine.survey().read_errors.pages > 1, "{what}: {failed} requests failed");
    (engine.survey().read_errors.pages, stored.pages_gone)
}

/// A stationary read load on an idle device: the mean is that of the levels' distribution, and quantiles follow from their shares.
#[test]
fn retries_make_the_tail_that_their_probability_tells() {
    const READS: u64 = 4_000;
    const TRANSFER: u64 = 4096 * 25;
    let config =
        config("ssd1", "raid0", &[("ldpc", "geometric"), ("ldpc_decode_ns", "3us"), ("read_ns", "45us"), ("blocks_per_plane", "64")]);
    let mut engine = filled(&config, config.build_scheme().unwrap().user_pages());
    let space = engine.space_pages();
    let mut random = SplitMix64::new(3);
    let mut latencies: Vec<u64> = (0..READS)
        .map(|_| {
            let start_ns = engine.now_ns();
            engine.submit(&pages(HostOp::Read, random.next_u64() % space, 1), true);
            engine.finish().unwrap();
            engine.now_ns() - start_ns
        })
        .collect();
    latencies.sort_unstable();
    // Attempt i: a command, sensing, the transfer and decoding.
    let latency_ns = |level: u64| (0..=level).map(|attempt| 175 + 45_000 + 24_000 * attempt + TRANSFER + 3_000).sum::<u64>();
    let share = |level: u32| f64::from(1u32 << (6 - level)) / 127.0;
    let mean = latencies.iter().sum::<u64>() as f64 / READS as f64;
    let expected: f64 = (0..7).map(|level| share(level) * latency_ns(level.into()) as f64).sum();
    let spread = (0..7).map(|level| share(level) * (latency_ns(level.into()) as f64 - expected).powi(2)).sum::<f64>().sqrt();
    // Four standard errors of the reads, and as much for the draws of the 1,000 blocks.
    assert!((mean - expected).abs() < 4.0 * spread * (1.0 / READS as f64 + 1.0 / 1_000.0).sqrt(), "{mean}, not {expected}");
    // P(level <= L) = 1 - (2^(6-L) - 1) / 127, and so the quantile of each share between is the latency of the next level.
    for (quantile, level) in [(0.30, 0), (0.65, 1), (0.82, 2), (0.91, 3), (0.96, 4), (0.985, 5), (0.997, 6)] {
        let at = (quantile * READS as f64) as usize;
        assert_eq!(latencies[at], latency_ns(level), "the quantile {quantile}");
    }
    let of_level = engine.executor.media.nand().levels().unwrap().reads_by_level();
    for level in 0..7 {
        let of = latencies.iter().filter(|latency| **latency == latency_ns(level)).count() as u64;
        assert_eq!(of, of_level[level as usize], "level {level}");
    }
}
