//! Fitted twins against their originals.

use crate::support::{file, in_repository, read};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::fit::{Comparison, Fit, fit, fit_trace};
use flashraid_workload::profile::Twin;
use flashraid_workload::{Profile, TraceError, TraceOptions};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

const PAGE: NonZeroU64 = NonZeroU64::new(4096).unwrap();

fn fitted(path: &Path) -> Fit {
    fit_trace(path, &TraceOptions::default(), PAGE, &mut |_, _| true).unwrap()
}

fn beyond(comparison: &Comparison) -> Vec<String> {
    let text = |of: &flashraid_workload::fit::Difference| format!("{}: {} for {}", of.figure, of.twin, of.original);
    comparison.figures.iter().filter(|figure| !figure.is_within).map(text).collect()
}

/// Numbers in the text of a model, but for kinds of requests that a phase has none of.
fn numbers(value: &toml::Value) -> usize {
    let count_of = |(key, value): (&String, &toml::Value)| match value.as_array() {
        Some(counts) if key == "others" => counts.iter().filter(|count| count.as_integer() != Some(0)).count(),
        _ => numbers(value),
    };
    match value {
        toml::Value::Array(values) => values.iter().map(numbers).sum(),
        toml::Value::Table(table) => table.iter().map(count_of).sum(),
        toml::Value::Integer(_) | toml::Value::Float(_) => 1,
        _ => 0,
    }
}

/// Every listed figure within 5 %, for five real traces. Minutes of work, so only under FLASHRAID_PROVE.
#[test]
fn twins_of_real_traces() {
    if std::env::var_os("FLASHRAID_PROVE").is_none() {
        return println!("left out: FLASHRAID_PROVE=1 fits real traces");
    }
    let shared = in_repository("../shared");
    let own = vec![in_repository("samples/postmark-transactions.csv.gz")];
    let others = [
        "traces-captured/postmark.csv.gz",
        "traces/msr-unnamed-slice1006-10000.heimdall-ms.trace.xz",
        "traces/windows-pc-sys1.diskmon.txt.xz",
        "traces/ycsb-rocksdb-10000.blkparse.xz",
    ];
    let others: Vec<PathBuf> = others.iter().map(|name| shared.join(name)).filter(|path| path.exists()).collect();
    if others.is_empty() {
        println!("only the project's own sample: {} is absent", shared.display());
    }
    for path in own.into_iter().chain(others) {
        let fit = fitted(&path);
        assert!(fit.comparison.is_within(), "{}: {:#?}", path.display(), beyond(&fit.comparison));
        assert!(fit.comparison.profile_numbers as u64 <= fit.original.requests / 5, "a model, not a copy: {}", path.display());
    }
}

/// A short stretch of a real trace: what is dealt from tables is exact, and the file makes the same twin again.
#[test]
fn a_short_stretch() {
    let options = TraceOptions { limit: 4000, ..TraceOptions::default() };
    let mut rounds = 0;
    let mut four_rounds = |count: u64, _: Option<f64>| {
        rounds += u64::from(count < 1000);
        rounds <= 4
    };
    let fit = fit_trace(&in_repository("samples/postmark-transactions.csv.gz"), &options, PAGE, &mut four_rounds).unwrap();
    let of = |name: &str| fit.comparison.figures.iter().find(|figure| figure.figure == name).unwrap();
    for (name, tolerance) in [
        ("requests", 0.0),
        ("write_share", 0.0),
        ("duration_ns", 1e-6),
        ("mean_read_bytes", 0.02),
        ("mean_write_bytes", 0.02),
        ("interarrival_ns.p50", 0.05),
        ("interarrival_ns.p100", 0.001),
        ("burstiness.bursts.mean_requests", 0.0),
        ("burstiness.bursts.max_requests", 0.0),
        ("burstiness.bursts.mean_gap_ns", 1e-6),
        ("burstiness.bursts.mean_pause_ns", 1e-6),
    ] {
        assert!(of(name).difference.unwrap().abs() <= tolerance, "{:?}", of(name));
    }
    let text = fit.to_toml();
    assert!(text.starts_with("# Synthetic: a model of "), "{text}");
    let again = Profile::parse(&text, "fitted.toml").unwrap();
    assert!(again.requests().unwrap().eq(fit.profile.requests().unwrap()));
    assert_eq!(again.twin.as_ref().map(Twin::numbers), Some(fit.comparison.profile_numbers));
    assert_eq!(fit.comparison.profile_numbers, numbers(&text.parse::<toml::Table>().unwrap()["twin"]));
    // Stretched, counts and their proportions are kept.
    let half = Profile { requests: Some(2000), ..again };
    let requests: Vec<_> = half.requests().unwrap().collect();
    let writes = requests.iter().filter(|request| request.op == flashraid_vocabulary::HostOp::Write).count() as f64;
    let transfers = requests.iter().filter(|request| (request.op as usize) < 2).count() as f64;
    assert_eq!(requests.len(), 2000);
    assert!((writes / transfers - fit.original.write_share.unwrap()).abs() < 0.03);
    // So is the rate, but for what rounding costs: a pause of each phase.
    let phases = fit.profile.twin.as_ref().unwrap().phases.len() as f64;
    let off_ns = requests[1999].arrival_ns as f64 - fit.original.duration_ns as f64 / 2.0;
    assert!(off_ns.abs() < phases * fit.original.burstiness.bursts.mean_pause_ns.unwrap(), "{off_ns} in {phases} phases");
}

/// The first twin of each recording, before any correction: bursts do not depend on those. Of recordings that are not part of the repository
/// the whole, under FLASHRAID_PROVE.
#[test]
fn bursts_of_recordings() {
    let is_long = std::env::var_os("FLASHRAID_PROVE").is_some();
    let mut paths: Vec<PathBuf> =
        ["pgbench", "postmark", "sqlite"].map(|name| in_repository(&format!("samples/{name}-transactions.csv.gz"))).into();
    if is_long {
        let shared = ["../shared/traces", "../shared/traces-captured"].map(in_repository);
        let folders: Vec<_> = shared.iter().filter_map(|folder| folder.read_dir().ok()).collect();
        let files = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
        paths.extend(files.filter(|path| path.extension().is_some_and(|suffix| suffix == "gz" || suffix == "xz")));
    }
    if paths.len() == 3 {
        println!("only the project's own samples: without FLASHRAID_PROVE or {}", in_repository("../shared").display());
    }
    for path in paths {
        let options = TraceOptions { limit: if is_long { 0 } else { 20_000 }, ..TraceOptions::default() };
        let requests = read(&path, &options).unwrap().0;
        let Comparison { figures, .. } = fit(&requests, PAGE, "recording", &mut |made, _| made < 1).unwrap().comparison;
        let bursts: Vec<_> = figures.iter().filter(|figure| figure.figure.starts_with("burstiness.bursts.")).collect();
        assert!(bursts.len() >= 5 && bursts.iter().all(|figure| figure.is_within), "{}: {bursts:#?}", path.display());
        assert_eq!(bursts[0].twin, bursts[0].original, "{}: {}", path.display(), bursts[0].figure);
    }
}

/// Bursts whose sizes nobody would guess from the times between arrivals: of one request and of a hundred by turns, and one of three phases.
#[test]
fn bursts_across_phases() {
    let mut arrival_ns = 0;
    let mut requests = Vec::new();
    let mut burst = |count: u64, pause_ns: u64| {
        for index in 0..count {
            requests.push(HostRequest {
                arrival_ns,
                offset_bytes: index * 4096,
                size_bytes: 4096,
                op: HostOp::Write,
                stream: 0,
                source: 0,
            });
            arrival_ns += if index + 1 < count { 1000 } else { pause_ns };
        }
    };
    (0..100).for_each(|_| [1, 100].into_iter().for_each(|count| burst(count, 2_000_000)));
    burst(10_000, 1_500_000);
    (0..100).for_each(|_| [1, 100].into_iter().for_each(|count| burst(count, 3_000_000)));
    let fit = fit(&requests, PAGE, "bursts", &mut |made, _| made < 1).unwrap();
    assert!(fit.profile.twin.as_ref().unwrap().phases.len() >= 10);
    let twin: Vec<HostRequest> = fit.profile.requests().unwrap().collect();
    let sizes = |requests: &[HostRequest]| {
        let mut sizes: Vec<usize> =
            requests.chunk_by(|one, next| next.arrival_ns - one.arrival_ns < 1_000_000).map(<[HostRequest]>::len).collect();
        sizes.sort_unstable();
        sizes
    };
    assert_eq!(sizes(&twin), sizes(&requests));
    assert_eq!(twin.last().unwrap().arrival_ns, requests.last().unwrap().arrival_ns);
    assert_ne!(
        twin.iter().map(|request| request.arrival_ns).collect::<Vec<_>>(),
        requests.iter().map(|request| request.arrival_ns).collect::<Vec<_>>()
    );
}

/// The twin of draws that are independent of each other. That is the model's weak side: it goes back by distance, so the most popular pages
/// get too little. Everything else agrees.
#[test]
fn the_twin_of_a_known_workload() {
    let text = "requests = 6000\nseed = 3\nspace_bytes = 16777216\narrivals = { law = 'poisson', mean_ns = 500000 }\n\
                [[streams]]\nops = { read = 3, write = 7 }\naddresses = { law = 'zipf', theta = 0.8 }\n";
    let requests: Vec<_> = Profile::parse(text, "known").unwrap().requests().unwrap().collect();
    let fit = fit(&requests, PAGE, "known", &mut |_, _| true).unwrap();
    let other: Vec<String> = beyond(&fit.comparison).into_iter().filter(|figure| !figure.starts_with("skew.")).collect();
    assert!(other.is_empty(), "{other:#?}");
}

/// Whatever a trace of a few requests is made of, a model of it can be made, and makes as many.
#[test]
fn traces_of_a_few_requests() {
    let mut random = SplitMix64::new(1);
    let mut below = |bound: u64| random.next_u64() % bound;
    let ops = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::WriteZeroes, HostOp::Flush];
    for round in 0..400 {
        let (count, kinds, span, pause_ns) =
            (2 + below(5), 1 + below(5), [1, 1 << 20, 1 << 40][below(3) as usize], [1, 1 << 10, 1 << 50][below(3) as usize]);
        let mut arrival_ns = 0;
        let requests: Vec<HostRequest> = (0..count)
            .map(|_| {
                arrival_ns += below(pause_ns);
                let op = ops[((round + below(kinds)) % 5) as usize];
                let size_bytes = if op == HostOp::Flush { 0 } else { 512 * (1 + below(64)) };
                let offset_bytes = if op == HostOp::Flush { 0 } else { 512 * below(span) };
                HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: below(2) as u32 }
            })
            .collect();
        let fit = fit(&requests, PAGE, "few", &mut |made, _| made < 3).unwrap();
        assert_eq!(fit.twin.requests, count, "{requests:?}");
        for wanted in 1..12 {
            let stretched = Profile { requests: Some(wanted), ..fit.profile.clone() };
            let times: Vec<u64> = stretched.requests().unwrap().map(|request| request.arrival_ns).collect();
            assert!(times.len() as u64 == wanted && times[0] == 0 && times.is_sorted(), "{times:?}: {requests:?}");
        }
    }
}

#[test]
fn a_trace_of_one_request() {
    let path = file("one.csv", b"ts_us,op,offset,size\n1,W,0,4096\n");
    let refused = fit_trace(&path, &TraceOptions::default(), PAGE, &mut |_, _| true).unwrap_err().to_string();
    assert!(
        refused.ends_with("one.csv: has only one request; a fit needs at least two, as it also models the gaps between them"),
        "{refused}"
    );
}

#[test]
fn an_interrupted_fit() {
    let path = in_repository("samples/postmark-transactions.csv.gz");
    let options = TraceOptions { limit: 1000, ..TraceOptions::default() };
    assert!(matches!(fit_trace(&path, &options, PAGE, &mut |_, _| false), Err(TraceError::Interrupted)));
}

#[test]
fn refused_models() {
    let head = "space_bytes = 1048576\n[twin]\nslack = 0.1\npower = 1.0\ndevices = 1\ndevice_starts = [[1, 1]]\n\
                start_bytes = [[[1, 0]], [[1, 0]]]\n";
    let phase = "[[twin.phases]]\ngaps_ns = [[1, 5]]\n";
    for (text, expected) in [
        (format!("{head}phases = []"), "phases = 0: allowed is at least one request"),
        (format!("{head}{phase}writes = {{ neww = {{ after = [0, 0, 0, 1], parts = [] }} }}"), "the nearest is new"),
        (format!("{head}{phase}writes = {{ new = {{ after = [0, 0, 0, 1], parts = [] }} }}"), "distance = []: allowed is at least one row"),
        (format!("{head}{phase}others = [1, 0, 0]"), "trim_bytes = []: allowed is at least one row"),
        (format!("{}\n{phase}others = [0, 0, 1]", head.replace("slack = 0.1", "slack = 0.0")), "slack = 0: allowed is 0.001 to 1"),
        (
            format!("{head}{phase}others = [0, 0, 1]").replace("[[1, 5]]", "[[1, 5], [1, 900000, 1000000, 1100000]]"),
            "gaps_ns = [1, 900000, 1000000, 1100000]: allowed is rows below 1000000 ns, and rows from there on",
        ),
        (
            format!("{head}{phase}others = [0, 0, 1]").replace("[[1, 5]]", "[[2, 1000000]]"),
            "burst_requests = []: allowed is at least one row",
        ),
        (format!("{head}{phase}others = [0, 0, 1]\nburst_requests = [[1, 0.5]]"), "burst_requests = [1, 0.5, 0.5, 0.5]: allowed is"),
        (format!("{head}[[twin.phases]]\nothers = [0, 0, 2]"), "gaps_ns = []: allowed is at least one row"),
        (
            format!("requests = 1\narrivals = {{ law = 'fixed', interval_ns = 1 }}\n{head}{phase}others = [0, 0, 1]"),
            "twin = beside streams or arrivals",
        ),
    ] {
        let error = Profile::parse(&text, "p.toml").and_then(|profile| profile.requests().map(|_| ())).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nshould have: {expected}");
    }
    let flush = Profile::parse(&format!("{head}{phase}others = [0, 0, 3]"), "p.toml").unwrap();
    assert_eq!(flush.requests().unwrap().map(|request| request.arrival_ns).collect::<Vec<_>>(), [0, 5, 10]);
    // A phase of one request needs no table of gaps; the first request of all is at 0 whatever its phase says.
    let one = "[[twin.phases]]\nfirst_gap_ns = 7\nothers = [0, 0, 1]\n";
    let flushes = Profile::parse(&format!("{head}{one}{one}"), "p.toml").unwrap();
    assert_eq!(flushes.requests().unwrap().map(|request| request.arrival_ns).collect::<Vec<_>>(), [0, 7]);
}
