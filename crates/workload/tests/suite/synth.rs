//! The generator: the reference workloads to the byte, its options, and what it refuses.

use crate::support::{file, options};
use flashraid_vocabulary::HostOp;
use flashraid_workload::{Arrivals, Synth, Trace, formats, write_trace};
use std::fs;

fn workload(requests: u64, seed: u64, pages: u64, interval_ns: u64) -> Synth {
    Synth {
        requests,
        seed,
        space_bytes: pages * 4096,
        page_bytes: 4096,
        read_share: 0.0,
        min_pages: 1,
        max_pages: 1,
        interval_ns,
        arrivals: Arrivals::Fixed,
    }
}

fn mixed(interval_ns: u64) -> Synth {
    Synth { read_share: 0.7, max_pages: 4, ..workload(1_000_000, 2, 4_194_304, interval_ns) }
}

/// The workloads on which simulators are compared, by the first digits of the SHA-256 of their ssdsim lines. The hashes
/// come from the generator that fed the other simulators, not from this one.
#[test]
fn reference_workloads() {
    for (name, synth, expected) in [
        ("a", workload(1_000_000, 1, 4_194_304, 100_000), "51ffadd97b62"),
        ("b", mixed(100_000), "50206cfac57c"),
        ("a400", workload(1_000_000, 1, 4_194_304, 400_000), "1ddb0706669e"),
        ("b400", mixed(400_000), "0df172bed2ea"),
        ("c", workload(1_000_000, 1, 393_216, 400_000), "421e8f12fc88"),
        ("d", workload(50_000, 1, 393_216, 100_000), "bcf3dad7792d"),
    ] {
        let path = file(&format!("reference-{name}"), b"");
        write_trace(&path, formats::find("ssdsim").unwrap(), false, synth.requests().unwrap(), &mut |_, _| true).unwrap();
        let summary = Trace::open(&path, &options("ssdsim")).unwrap().finish().unwrap();
        assert!(summary.sha256.starts_with(expected), "workload {name}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn sizes_kinds_and_range() {
    let synth = Synth { read_share: 0.25, min_pages: 2, max_pages: 5, ..workload(100_000, 7, 64, 1000) };
    let requests: Vec<_> = synth.requests().unwrap().collect();
    assert_eq!(requests.len(), 100_000);
    assert_eq!(synth.requests().unwrap().size_hint(), (100_000, Some(100_000)));
    assert!(requests.iter().all(|request| request.offset_bytes % 4096 == 0 && request.offset_bytes + request.size_bytes <= 64 * 4096));
    for pages in 2..=5 {
        let count = requests.iter().filter(|request| request.size_bytes == pages * 4096).count();
        // A binomial count strays 5 standard deviations (685) once in a million seeds.
        assert!(count.abs_diff(25_000) < 685, "{count} requests of {pages} pages");
    }
    let reads = requests.iter().filter(|request| request.op == HostOp::Read).count();
    assert!(reads.abs_diff(25_000) < 685, "{reads} reads");
    assert!(requests.iter().any(|request| request.offset_bytes == 0), "the first page");
    assert!(requests.iter().any(|request| request.offset_bytes == 59 * 4096), "the last start of five pages");
    assert!(workload(100, 1, 8, 1).requests().unwrap().all(|request| request.op == HostOp::Write));
    let reads = Synth { read_share: 1.0, ..workload(100, 1, 8, 1) };
    assert!(reads.requests().unwrap().all(|request| request.op == HostOp::Read));
}

#[test]
fn poisson_arrivals_change_nothing_else() {
    let fixed = Synth { read_share: 0.5, ..workload(200_000, 3, 1000, 50_000) };
    let poisson = Synth { arrivals: Arrivals::Poisson, ..fixed.clone() };
    let (fixed, poisson): (Vec<_>, Vec<_>) = (fixed.requests().unwrap().collect(), poisson.requests().unwrap().collect());
    assert!(fixed.iter().zip(&poisson).all(|(a, b)| (a.op, a.offset_bytes, a.size_bytes) == (b.op, b.offset_bytes, b.size_bytes)));
    let gaps: Vec<f64> = poisson.windows(2).map(|pair| (pair[1].arrival_ns - pair[0].arrival_ns) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    // Mean and standard deviation of an exponential law are equal; their own errors here are 0.22 % and 0.32 %.
    assert!((mean / 50_000.0 - 1.0).abs() < 0.0112, "mean {mean}");
    assert!((deviation / 50_000.0 - 1.0).abs() < 0.016, "standard deviation {deviation}");
    let beyond = gaps.iter().filter(|gap| **gap > 150_000.0).count() as f64 / gaps.len() as f64;
    assert!((beyond / (-3.0_f64).exp() - 1.0).abs() < 0.05, "share of gaps above three means: {beyond}");
    // Pinned: the sequence is part of the contract.
    assert_eq!(poisson[..4].iter().map(|request| request.arrival_ns).collect::<Vec<_>>(), [0, 19_327, 75_942, 91_962]);
}

#[test]
fn refused_parameters() {
    let good = workload(10, 1, 8, 1);
    for (synth, expected) in [
        (Synth { requests: 0, ..good.clone() }, "requests = 0: allowed is at least 1"),
        (Synth { page_bytes: 1000, ..good.clone() }, "page_bytes = 1000: allowed is a power of two, at least 512"),
        (Synth { read_share: 1.5, ..good.clone() }, "read_share = 1.5: allowed is 0 to 1, with at most 9 decimals"),
        (Synth { read_share: f64::NAN, ..good.clone() }, "read_share = NaN: allowed is 0 to 1, with at most 9 decimals"),
        (Synth { min_pages: 0, ..good.clone() }, "min_pages = 0: allowed is at least 1"),
        (Synth { min_pages: 3, max_pages: 2, ..good.clone() }, "max_pages = 2: allowed is at least min_pages, 3"),
        (Synth { max_pages: 1 << 20, ..good.clone() }, "max_pages = 1048576: allowed is at most 1048575, below 4 GiB"),
        (Synth { max_pages: 9, ..good.clone() }, "space_bytes = 32768: allowed is whole pages of 4096 bytes, from 36864 to 2^63"),
        (Synth { space_bytes: 5000, ..good.clone() }, "space_bytes = 5000: allowed is whole pages of 4096 bytes, from 4096 to 2^63"),
        (
            Synth { interval_ns: u64::MAX / 4, ..good },
            "arrivals = 10 gaps of up to 4611686018427387904 ns: allowed is less than 292 years in all",
        ),
    ] {
        assert_eq!(synth.requests().unwrap_err().to_string(), expected);
    }
    let error = serde_json::from_str::<Synth>(r#"{"requests": 1, "space_bytes": 4096, "interval_ns": 1, "read_shares": 0.5}"#).unwrap_err();
    assert!(error.to_string().starts_with("unknown field `read_shares`"), "{error}");
}
