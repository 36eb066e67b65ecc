//! What results tell of rebuilds: latencies before, during and after them, and lost pages that the host has rewritten.

use crate::support::{config, pages};
use flashraid_sim::Simulation;
use flashraid_sim::result::types::{LatencySummary, RunResult};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};

type Pairs<'a> = &'a [(&'a str, &'a str)];

const SMALL: Pairs =
    &[("blocks_per_plane", "16"), ("pages_per_block", "8"), ("over_provisioning", "0.4"), ("fill", "1"), ("spare_chips", "1")];

/// Requests of one page, every `gap_ns`; `write_in_4` of four are writes. Returns the result, and (kind, arrival, latency) of each.
fn replayed(scheme: &str, pairs: Pairs, requests: u64, gap_ns: u64, write_in_4: u64) -> (RunResult, Vec<(HostOp, u64, u64)>) {
    let mut simulation = Simulation::new(config("tiny", scheme, &[SMALL, pairs].concat()), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(7), simulation.space_bytes() / 4096);
    let mut asked = Vec::new();
    for number in 0..requests {
        let op = if random.next_u64() % 4 < write_in_4 { HostOp::Write } else { HostOp::Read };
        let request = HostRequest { arrival_ns: number * gap_ns, ..pages(op, random.next_u64() % space, 1) };
        simulation.submit(&request).unwrap();
        asked.push((op, request.arrival_ns));
    }
    simulation.finish().unwrap();
    let done = simulation.take_completed();
    let of = |completed: &flashraid_sim::engine::CompletedRequest| {
        let (op, arrival_ns) = asked[completed.sequence as usize];
        (op, arrival_ns, completed.completed_ns - arrival_ns)
    };
    (simulation.result(&Default::default(), false, None).unwrap(), done.iter().map(of).collect())
}

/// Latencies against those of the requests themselves, sorted: exact but for quantiles, which have three digits.
fn assert_of(found: &LatencySummary, mut latencies_ns: Vec<u64>, what: &str) {
    latencies_ns.sort_unstable();
    assert_eq!((found.count, found.total), (latencies_ns.len() as u64, latencies_ns.iter().sum()), "{what}");
    if latencies_ns.is_empty() {
        return;
    }
    assert_eq!((found.min, found.max), (latencies_ns[0], latencies_ns[latencies_ns.len() - 1]), "{what}");
    for (quantile, shown) in [(0.5, found.p50), (0.9, found.p90), (0.99, found.p99), (0.999, found.p99_9)] {
        let rank = ((quantile * latencies_ns.len() as f64 - 1e-9).ceil() as usize).max(1) - 1;
        assert!(
            shown.abs_diff(latencies_ns[rank]) <= latencies_ns[rank] / 500,
            "{what}: {quantile} is {shown}, not {}",
            latencies_ns[rank]
        );
    }
}

/// One rebuild, two one after the other, two that overlap, and a replacement: each request counts once, by when it arrived.
#[test]
fn latencies_are_told_apart_by_when_requests_arrived() {
    let array: Pairs = &[
        ("devices", "5"),
        ("spare_devices", "2"),
        ("channels", "1"),
        ("spare_chips", "0"),
        ("replace", "device:0@request:300"),
        ("idle_ns", "20000"),
    ];
    for (scheme, pairs) in [
        ("raid5", &[("fail", "chip:1.0@request:300")] as Pairs),
        ("raid1", &[("fail", "chip:1.0@request:200,chip:2.0@request:900")]),
        ("raid5", &[("fail", "chip:1.0@request:300,chip:1.1@request:303")]),
        ("hotswap", array),
    ] {
        let what = format!("{scheme} {pairs:?}");
        let (result, done) = replayed(scheme, pairs, 1_500, 400_000, 2);
        let replaced = result.replacements.iter().flatten().map(|each| (each.started_ns, each.ended_ns));
        let spans: Vec<_> = result.rebuild.iter().map(|each| (each.started_ns, each.ended_ns)).chain(replaced).collect();
        let first_ns = spans.iter().map(|span| span.0).min().expect("something was rebuilt");
        let around = result.latency_around_rebuilds_ns.unwrap();
        let runs = |arrival_ns: u64| spans.iter().any(|(start, end)| *start <= arrival_ns && end.is_none_or(|end| arrival_ns <= end));
        for (part, name) in [(around.before, "before"), (around.during, "during"), (around.after, "after")] {
            let is_in = |arrival_ns: u64| match name {
                "before" => arrival_ns < first_ns,
                "during" => runs(arrival_ns),
                _ => arrival_ns >= first_ns && !runs(arrival_ns),
            };
            let of = |ops: &[HostOp]| -> Vec<u64> {
                done.iter()
                    .filter(|(op, arrival_ns, _)| ops.contains(op) && is_in(*arrival_ns))
                    .map(|(.., latency_ns)| *latency_ns)
                    .collect()
            };
            // Some ends after the last request, or never.
            let is_empty = name == "after" && done.iter().all(|(_, arrival_ns, _)| *arrival_ns < first_ns || runs(*arrival_ns));
            assert!(is_empty || (part.read.count > 0 && part.write.count > 0), "{what}: {name} has requests of both kinds");
            assert_of(&part.read, of(&[HostOp::Read]), &format!("{what}: reads {name}"));
            assert_of(&part.write, of(&[HostOp::Write]), &format!("{what}: writes {name}"));
            assert_of(&part.all, of(&[HostOp::Read, HostOp::Write]), &format!("{what}: all {name}"));
        }
    }
    // The first of these ends while requests come.
    assert!(
        replayed("raid5", &[("fail", "chip:1.0@request:300")], 1_500, 400_000, 2).0.latency_around_rebuilds_ns.unwrap().after.all.count
            > 500
    );
    assert!(replayed("raid5", &[], 50, 400_000, 2).0.latency_around_rebuilds_ns.is_none());
}

/// Of lost pages the rebuild programs all if the host only reads, and else all but those that the host has written before it.
#[test]
fn lost_pages_that_the_host_rewrites_are_told_apart() {
    for scheme in ["raid1", "raid5"] {
        let of = |write_in_4| {
            let (result, _) = replayed(scheme, &[("fail", "chip:1.0@request:100"), ("rebuild_window", "1")], 600, 100_000, write_in_4);
            let [rebuild] = &result.rebuild[..] else { panic!("{scheme}: one rebuild") };
            assert!(rebuild.finished_ns.is_some() && rebuild.pages == result.flash_ops.programs.rebuild, "{scheme}");
            assert_eq!(rebuild.pages_superseded, rebuild.pages_lost - result.flash_ops.programs.rebuild, "{scheme}");
            (rebuild.pages_superseded, rebuild.requests)
        };
        assert_eq!(of(0).0, 0, "{scheme}");
        let (superseded, requests) = of(4);
        // A write of a page programs the page and its copy or parity.
        assert!((1..=2 * requests).contains(&superseded), "{scheme}: {superseded} of {requests} writes");
    }
    // Without a spare chip nothing is restored, and all stays lost.
    let (result, _) =
        replayed("raid5", &[("fail", "chip:1.0@request:100"), ("spare_chips", "0"), ("chips_per_channel", "1")], 200, 100_000, 0);
    let rebuild = &result.rebuild[0];
    assert_eq!((rebuild.pages, rebuild.pages_superseded, rebuild.pages_lost), (0, 0, result.losses.pages_not_rebuilt));
}
