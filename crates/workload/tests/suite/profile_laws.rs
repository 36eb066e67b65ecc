//! Each law against its distribution, with fixed seeds; what profiles refuse; and that requests never change.

use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{Profile, TraceStatistics};
use sha2::{Digest, Sha256};
use std::num::NonZeroU64;

const COUNT: usize = 100_000;

/// Requests of a profile of one stream, 1024 pages long.
fn requests(arrivals: &str, stream: &str) -> Vec<HostRequest> {
    let text = format!("requests = {COUNT}\nseed = 7\nspace_bytes = 4194304\narrivals = {{ {arrivals} }}\n[[streams]]\n{stream}\n");
    Profile::parse(&text, "test").unwrap().requests().unwrap().collect()
}

fn gaps(arrivals: &str) -> Vec<f64> {
    requests(arrivals, "").windows(2).map(|pair| (pair[1].arrival_ns - pair[0].arrival_ns) as f64).collect()
}

fn pages(addresses: &str) -> Vec<u64> {
    requests("law = 'fixed', interval_ns = 1", &format!("addresses = {{ {addresses} }}")).iter().map(|of| of.offset_bytes / 4096).collect()
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64).sqrt())
}

/// Kolmogorov and Smirnov: the largest distance between the two distribution functions, which for a true law stays below
/// 2.23 / sqrt(n) but for one seed in ten thousand.
#[track_caller]
fn follows(mut values: Vec<f64>, law: impl Fn(f64) -> f64) {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len() as f64;
    let off = values.iter().enumerate().map(|(index, value)| (law(*value) - (index as f64 + 0.5) / count).abs());
    let distance = off.fold(0.0, f64::max);
    assert!(distance < 2.23 / count.sqrt(), "off by {distance}");
}

/// Pearson: the sum of squares has mean k - 1 and variance 2 (k - 1).
#[track_caller]
fn chi_square(counts: &[u64], shares: impl Fn(usize) -> f64) {
    let total = counts.iter().sum::<u64>() as f64;
    let square = |(index, count): (usize, &u64)| (*count as f64 - total * shares(index)).powi(2) / (total * shares(index));
    let (sum, freedom) = (counts.iter().enumerate().map(square).sum::<f64>(), (counts.len() - 1) as f64);
    assert!((sum - freedom).abs() < 4.5 * (2.0 * freedom).sqrt(), "{sum} for {freedom} degrees of freedom");
}

fn counts(values: &[u64], end: usize) -> Vec<u64> {
    let mut counts = vec![0; end];
    values.iter().for_each(|value| counts[*value as usize] += 1);
    counts
}

#[test]
fn arrivals() {
    assert!(gaps("law = 'fixed', interval_ns = 1000").iter().all(|gap| *gap == 1000.0));
    follows(gaps("law = 'uniform', min_ns = 1000000, max_ns = 3000000"), |gap| (gap - 1e6) / 2e6);
    follows(gaps("law = 'poisson', mean_ns = 1000000"), |gap| 1.0 - (-gap / 1e6).exp());
    let (mean, deviation) = mean_and_deviation(&gaps("law = 'normal', mean_ns = 4000000, deviation_ns = 1000000"));
    assert!((mean / 4e6 - 1.0).abs() < 0.005 && (deviation / 1e6 - 1.0).abs() < 0.01, "{mean} {deviation}");
    let normal = gaps("law = 'normal', mean_ns = 4000000, deviation_ns = 1000000");
    let within = normal.iter().filter(|gap| (*gap - 4e6).abs() < 1e6).count() as f64 / normal.len() as f64;
    assert!((within - 0.6827).abs() < 0.0075, "{within}");
    let table = gaps("law = 'table', gaps_ns = [[1, 500], [3, 1000, 2000, 4000]]");
    assert!((table.iter().filter(|gap| **gap == 500.0).count() as f64 / table.len() as f64 - 0.25).abs() < 0.007);
    assert!((mean_and_deviation(&table).0 / 1625.0 - 1.0).abs() < 0.01);
}

/// A mean within what its standard error allows but for one seed in ten thousand, and half a nanosecond, by which times are rounded.
#[track_caller]
fn is_mean(value: f64, mean: f64, deviation: f64, count: f64) {
    let allowed = 3.9 * deviation / count.sqrt() + 0.5;
    assert!((value - mean).abs() <= allowed, "{value} for {mean} +- {allowed}");
}

/// What `trace info` shows of the law is what the law was given.
#[test]
fn bursts_as_given() {
    const APART_NS: f64 = 1e6;
    // Mean time between arrivals, requests of a burst and time within it: of servers and a database at 90 requests/s, of a busy file server;
    // long gaps; all at one instant; no gaps at all; bursts as near to each other as may be; gaps as long as may be.
    for (mean_ns, mean_requests, mean_gap_ns) in [
        (11_111_111, 4.5, 50_000),
        (11_111_111, 36.0, 115_000),
        (2_500_000, 1.7, 495_000),
        (5_000_000, 3.0, 900_000),
        (5_000_000, 20.0, 0),
        (5_000_000, 1.0, 50_000),
        (300_000, 4.0, 66_666),
        (2_000_000, 10.0, 999_999),
    ] {
        let law = format!("law = 'bursts', mean_ns = {mean_ns}, mean_requests = {mean_requests}, mean_gap_ns = {mean_gap_ns}");
        let requests = requests(&law, "");
        let mut statistics = TraceStatistics::new(NonZeroU64::new(4096).unwrap());
        requests.iter().for_each(|request| statistics.add(request));
        let figures = statistics.figures();
        let bursts = figures.burstiness.bursts;
        let (mean_ns, mean_gap_ns, gaps) = (f64::from(mean_ns), f64::from(mean_gap_ns), (COUNT - 1) as f64);
        // Each gap is a pause with this share: a binomial number of bursts.
        let share = 1.0 / mean_requests;
        let pauses = (bursts.count - 1) as f64;
        assert!((pauses - gaps * share).abs() <= 3.9 * (gaps * share * (1.0 - share)).sqrt(), "{pauses} pauses: {law}");
        assert_eq!(bursts.mean_requests, Some(COUNT as f64 / (pauses + 1.0)));
        // Of t^a from 0 to 1, the mean is 1 / (1 + a) and the mean square 1 / (1 + 2 a).
        let power = APART_NS / mean_gap_ns - 1.0;
        let gap_deviation = (APART_NS * APART_NS / (1.0 + 2.0 * power) - mean_gap_ns * mean_gap_ns).sqrt();
        let mean_pause_ns = mean_requests * mean_ns - (mean_requests - 1.0) * mean_gap_ns;
        let pause_deviation = mean_pause_ns - APART_NS;
        match bursts.mean_gap_ns {
            Some(mean) => is_mean(mean, mean_gap_ns, gap_deviation, gaps - pauses),
            None => assert_eq!(share, 1.0),
        }
        is_mean(bursts.mean_pause_ns.unwrap(), mean_pause_ns, pause_deviation, pauses);
        let square = |mean: f64, deviation: f64| mean * mean + deviation * deviation;
        let squares = share * square(mean_pause_ns, pause_deviation) + (1.0 - share) * square(mean_gap_ns, gap_deviation);
        is_mean(figures.interarrival_mean_ns.unwrap(), mean_ns, (squares - mean_ns * mean_ns).sqrt(), gaps);
        // Kolmogorov and Smirnov again: of n requests or more, (1 - share)^(n - 1).
        let mut sizes: Vec<usize> =
            requests.chunk_by(|one, next| next.arrival_ns - one.arrival_ns < 1_000_000).map(<[HostRequest]>::len).collect();
        sizes.sort_unstable();
        let off = |size: usize| {
            sizes.partition_point(|other| *other < size) as f64 / sizes.len() as f64 - 1.0 + (1.0 - share).powi(size as i32 - 1)
        };
        let worst = (1..=sizes[sizes.len() - 1] + 1).map(|size| off(size).abs()).fold(0.0, f64::max);
        assert!(worst < 2.23 / (sizes.len() as f64).sqrt(), "sizes are off by {worst}: {law}");
    }
    let times = gaps("law = 'bursts', mean_ns = 2500000, mean_requests = 1.7, mean_gap_ns = 495000");
    let (within, between): (Vec<f64>, Vec<f64>) = times.into_iter().partition(|gap| *gap < APART_NS);
    follows(within, |gap| (gap / APART_NS).powf(1.0 / (APART_NS / 495_000.0 - 1.0)));
    let mean_more_ns = 1.7 * 2_500_000.0 - 0.7 * 495_000.0 - APART_NS;
    follows(between, |gap| 1.0 - (-(gap - APART_NS) / mean_more_ns).exp());
}

#[test]
fn diurnal_rates() {
    let text = format!(
        "requests = {COUNT}\nspace_bytes = 4096\narrivals = {{ law = 'poisson', mean_ns = 1000000 }}\n\
         diurnal = {{ period_ns = 10000000000, amplitude = 0.8 }}\n[[streams]]\n"
    );
    let times: Vec<u64> = Profile::parse(&text, "test").unwrap().requests().unwrap().map(|request| request.arrival_ns).collect();
    assert!(times.is_sorted());
    // Phases of whole periods, against the integral of the rate.
    let period = 10_000_000_000_u64;
    let whole = times.last().unwrap() / period * period;
    let phases: Vec<u64> = times.iter().filter(|time| **time < whole).map(|time| time % period * 20 / period).collect();
    let tau = std::f64::consts::TAU;
    let arrived = |part: f64| part + 0.8 / tau * (1.0 - (tau * part).cos());
    chi_square(&counts(&phases, 20), |phase| arrived((phase + 1) as f64 / 20.0) - arrived(phase as f64 / 20.0));
}

#[test]
fn addresses() {
    chi_square(&counts(&pages("law = 'uniform'"), 1024), |_| 1.0 / 1024.0);
    for theta in [0.5, 0.99, 1.0, 1.5] {
        let weight = |page: usize| ((page + 1) as f64).powf(-theta);
        let total: f64 = (0..1024).map(weight).sum();
        let plain = counts(&pages(&format!("law = 'zipf', theta = {theta}, scrambled = false")), 1024);
        // The tail of a steep law has too few for the test page by page.
        let grouped: Vec<u64> = plain[..32].iter().copied().chain(plain[32..].chunks(124).map(|chunk| chunk.iter().sum())).collect();
        let share =
            |group: usize| if group < 32 { weight(group) } else { (0..124).map(|page| weight(32 + (group - 32) * 124 + page)).sum() };
        chi_square(&grouped, |group| share(group) / total);
        let mut scrambled = counts(&pages(&format!("law = 'zipf', theta = {theta}")), 1024);
        assert!(scrambled.iter().take(10).sum::<u64>() < scrambled.iter().max().unwrap() * 3, "the hot pages are spread");
        scrambled.sort_unstable_by(|a, b| b.cmp(a));
        assert!((scrambled[0] as f64 / plain[0] as f64 - 1.0).abs() < 0.1);
    }
    let hot = counts(&pages("law = 'hot_cold', hot_space = 0.25, hot_accesses = 0.9"), 1024);
    chi_square(&hot, |page| if page < 256 { 0.9 / 256.0 } else { 0.1 / 768.0 });
    assert!(pages("law = 'sequential'").into_iter().take(3000).eq((0..3000).map(|index| index % 1024)));
    let runs = pages("law = 'sequential', mean_run_requests = 10");
    let breaks = runs.windows(2).filter(|pair| pair[1] != (pair[0] + 1) % 1024).count();
    assert!((breaks as f64 / COUNT as f64 - 0.1).abs() < 0.004, "{breaks} jumps");
    assert!(pages("law = 'strided', stride_bytes = 40960").into_iter().take(200).eq((0..200).map(|index| index % 103 * 10)));
}

#[test]
fn growing_places() {
    let law = "addresses = { law = 'growing', new_share = 0.005, theta = 0.8 }\nsizes = { law = 'fixed', bytes = 4096 }";
    let requests = requests("law = 'fixed', interval_ns = 1", law);
    let mut seen = std::collections::BTreeSet::new();
    let new = requests.iter().filter(|request| seen.insert(request.offset_bytes)).count();
    assert!((new as f64 - 500.0).abs() < 100.0, "{new} new places");
}

#[test]
fn kinds_and_sizes() {
    let stream = "ops = { read = 0.5, write = 0.2, trim = 0.1, write_zeroes = 0.05, flush = 0.15 }\n\
                  sizes = { law = 'table', bytes = [[3, 4096], [1, 8192, 16384, 32768]] }\nread_sizes = { law = 'fixed', bytes = 512 }";
    let requests = requests("law = 'fixed', interval_ns = 1", stream);
    let ops: Vec<u64> = requests.iter().map(|request| request.op as u64).collect();
    let mut shares = [0.0; 5];
    for (op, share) in [(HostOp::Read, 0.5), (HostOp::Write, 0.2), (HostOp::Trim, 0.1), (HostOp::WriteZeroes, 0.05), (HostOp::Flush, 0.15)]
    {
        shares[op as usize] = share;
    }
    chi_square(&counts(&ops, 5), |op| shares[op]);
    let of = |op: HostOp| requests.iter().filter(move |request| request.op == op);
    assert!(of(HostOp::Read).all(|request| request.size_bytes == 512));
    assert!(of(HostOp::Flush).all(|request| (request.offset_bytes, request.size_bytes) == (0, 0)));
    assert!(of(HostOp::Write).all(|request| request.size_bytes % 4096 == 0 && (4096..=32768).contains(&request.size_bytes)));
    let small = of(HostOp::Write).filter(|request| request.size_bytes == 4096).count() as f64 / of(HostOp::Write).count() as f64;
    assert!((small - 0.75).abs() < 0.014, "{small}");
}

#[test]
fn streams_have_their_weights_and_places() {
    let text = "requests = 90000\nspace_bytes = 8388608\narrivals = { law = 'fixed', interval_ns = 1 }\n\
                [[streams]]\nweight = 2\nlength_bytes = 4194304\n[[streams]]\nweight = 0.5\noffset_bytes = 4194304\nops = { read = 1 }\n";
    let requests: Vec<_> = Profile::parse(text, "test").unwrap().requests().unwrap().collect();
    let reads = requests.iter().filter(|request| request.op == HostOp::Read).count() as f64 / 90_000.0;
    assert!((reads - 0.2).abs() < 0.006, "{reads}");
    assert!(requests.iter().all(|request| (request.offset_bytes >= 4_194_304) == (request.op == HostOp::Read)));
}

#[test]
fn a_duration_instead_of_a_count() {
    let text = "duration_ns = 1000\nspace_bytes = 4096\narrivals = { law = 'fixed', interval_ns = 7 }\n[[streams]]\n";
    let requests = Profile::parse(text, "test").unwrap().requests().unwrap();
    assert_eq!(requests.size_hint().0, 0);
    assert_eq!(requests.map(|request| request.arrival_ns).collect::<Vec<_>>(), (0..143).map(|index| 7 * index).collect::<Vec<_>>());
}

/// No time is beyond 2^63 ns, however seldom a law gives its longest gaps.
#[test]
fn what_would_take_too_long_is_refused() {
    let refusal = |end: &str, law: &str| {
        let text = format!("{end}\nspace_bytes = 4096\narrivals = {{ {law} }}\n[[streams]]\n");
        Profile::parse(&text, "test").unwrap().requests().err().map(|error| error.to_string())
    };
    let (ten, longest) = ("requests = 10", "1000000000000000000");
    let duration = "duration_ns = 9000000000000000000";
    for (end, law, value) in [
        (ten, "law = 'fixed', interval_ns = 1000000000000000000", format!("10 gaps of up to {longest} ns")),
        (ten, "law = 'uniform', min_ns = 0, max_ns = 1000000000000000000", format!("10 gaps of up to {longest} ns")),
        (ten, "law = 'table', gaps_ns = [[1, 0], [1, 1000000000000000000]]", format!("10 gaps of up to {longest} ns")),
        (ten, "law = 'normal', mean_ns = 100000000000000000, deviation_ns = 100000000000000000", format!("10 gaps of up to {longest} ns")),
        (ten, "law = 'poisson', mean_ns = 100000000000000000", "10 gaps of up to 3700000000000000000 ns".to_owned()),
        (
            ten,
            "law = 'bursts', mean_ns = 100000000000000000, mean_requests = 2.0, mean_gap_ns = 0",
            "10 gaps of up to 7400000000000000000 ns".to_owned(),
        ),
        (duration, "law = 'fixed', interval_ns = 1000000000000000000", format!("9000000000000000000 gaps of up to {longest} ns")),
    ] {
        assert_eq!(refusal(end, law), Some(format!("arrivals = {value}: allowed is less than 292 years in all")), "{law}");
    }
    for (end, law) in [(ten, "law = 'fixed', interval_ns = 900000000000000000"), (duration, "law = 'poisson', mean_ns = 1000000000000000")]
    {
        assert_eq!(refusal(end, law), None, "{law}");
    }
}

/// The requests of a profile are part of the contract: a change here needs a line in the changelog.
#[test]
fn requests_never_change() {
    let mut hasher = Sha256::new();
    for name in ["cr5m-build", "cr5m-uniform", "adaptive-ali_1", "hotswap-reads", "ppc-iozone", "ppc-financial"] {
        let profile = Profile { requests: Some(10_000), ..Profile::load(name).unwrap() };
        for request in profile.requests().unwrap() {
            hasher.update(format!("{} {} {} {:?}\n", request.arrival_ns, request.offset_bytes, request.size_bytes, request.op));
        }
    }
    let hash: String = hasher.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash, "f645d70f47b1");
}

#[test]
fn refused_profiles() {
    let head = "requests = 10\nspace_bytes = 65536\n";
    let fixed = "arrivals = { law = 'fixed', interval_ns = 1 }\n";
    let bursts = |mean_ns: u64, requests: f64, gap_ns: u64| {
        format!("arrivals = {{ law = 'bursts', mean_ns = {mean_ns}, mean_requests = {requests:?}, mean_gap_ns = {gap_ns} }}\n")
    };
    for (text, expected) in [
        (format!("{head}seeed = 1\n"), "p.toml:3:1: unknown field `seeed`, expected one of"),
        (format!("{head}seeed = 1\n"), "; the nearest is seed"),
        (format!("{head}arrivals = {{ law = 'poison', mean_ns = 1 }}"), "; the nearest is poisson"),
        (format!("{head}arrivals = {{ law = 'poisson', mean = 1 }}"), "; the nearest is mean_ns"),
        (format!("{head}{fixed}[[streams]]\naddresses = {{ law = 'zipf' }}"), "missing field `theta`"),
        (format!("{head}x = ["), "p.toml:3:"),
        ("requests = 10\n".to_owned(), "missing field `space_bytes`"),
        (format!("{head}{fixed}"), "streams = nothing: allowed is at least one stream, or a twin"),
        (format!("{head}[[streams]]\n"), "arrivals = nothing: allowed is a law"),
        (format!("{head}duration_ns = 5\n{fixed}[[streams]]\n"), "requests = both or neither: allowed is requests or duration_ns"),
        (format!("{head}{fixed}[[streams]]\nweight = -1"), "weight = -1: allowed is 0 to 1,000,000,000"),
        (format!("{head}{fixed}[[streams]]\nops = {{ read = 0.0 }}"), "ops = 0: allowed is a weight above 0 for at least one"),
        (format!("{head}{fixed}[[streams]]\noffset_bytes = 65536"), "offset_bytes = 65536: allowed is below space_bytes"),
        (
            format!("{head}{fixed}[[streams]]\nlength_bytes = 4095"),
            "length_bytes = 4095: allowed is from the largest request, 4096, to 65536",
        ),
        (format!("{head}{fixed}[[streams]]\nalign_bytes = 0"), "align_bytes = 0: allowed is at least 1"),
        (format!("{head}{fixed}[[streams]]\naddresses = {{ law = 'hot_cold', hot_space = 0.01, hot_accesses = 0.9 }}"), "hot_space = 0.01"),
        (
            format!("{head}{fixed}[[streams]]\nsizes = {{ law = 'table', bytes = [[1, 2, 3]] }}"),
            "a row of 3 numbers: allowed is [weight, value]",
        ),
        (format!("{head}{fixed}[[streams]]\nsizes = {{ law = 'table', bytes = [[1, 8192], [1, 4096]] }}"), "bytes = [1, 4096, 4096, 4096]"),
        (format!("{head}{}[[streams]]", bursts(11_111_111, 0.5, 50_000)), "mean_requests = 0.5: allowed is 1 to 1,000,000,000"),
        (
            format!("{head}{}[[streams]]", bursts(11_111_111, 4.5, 1_000_000)),
            "mean_gap_ns = 1000000: allowed is below 1000000: a longer gap ends a burst",
        ),
        (
            format!("{head}{}[[streams]]", bursts(287_499, 4.0, 50_000)),
            "mean_ns = 287499: allowed is at least 287500: bursts are at least 1000000 apart",
        ),
        (format!("{head}arrivals = {{ law = 'poisson', mean_ns = 0 }}\n[[streams]]"), "mean_ns = 0: allowed is 1 to 2^62"),
        (format!("{head}{fixed}diurnal = {{ period_ns = 5, amplitude = 1.0 }}\n[[streams]]"), "amplitude = 1: allowed is 0 to below 1"),
    ] {
        let error = Profile::parse(&text, "p.toml").and_then(|profile| profile.requests().map(|_| ())).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}\nshould have: {expected}");
    }
    let error = Profile::load("cr5m-uniforn").unwrap_err().to_string();
    assert!(error.starts_with("unknown profile cr5m-uniforn; the nearest is cr5m-uniform; there are adaptive-ali_0, "), "{error}");
    assert!(Profile::load("absent.toml").unwrap_err().to_string().starts_with("absent.toml: "));
}
