//! Real traces that are not part of the repository: counts known from elsewhere. Skipped where they are absent.

mod support;

use flashraid_workload::{TraceError, TraceInfo, TraceOptions, trace_info};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use support::in_repository;

fn shared(path: &str) -> Option<PathBuf> {
    let path = in_repository("../shared").join(path);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
    }
    path.exists().then_some(path)
}

fn info(path: &Path, device_filter: Option<u32>) -> Result<TraceInfo, TraceError> {
    let options =
        TraceOptions { device_filter: device_filter.map(|device| device.to_string()).into_iter().collect(), ..TraceOptions::default() };
    trace_info(path, &options, NonZeroU64::new(4096).unwrap())
}

/// Figures of a trace that may have several devices: each device is read alone, and counts are added.
struct Expected {
    path: &'static str,
    devices: u64,
    requests: u64,
    /// Rounded to the last digit given, as all that follow; the last is the share not aligned to 4 KiB.
    write_percent: f64,
    mean_kib: f64,
    footprint_mib: f64,
    unaligned_percent: f64,
}

fn check(expected: &Expected) {
    let Some(path) = shared(expected.path) else { return };
    let several = expected.devices > 1;
    let candidates: Vec<Option<u32>> = if several { (0..64).map(Some).collect() } else { vec![None] };
    let infos: Vec<TraceInfo> = candidates.into_iter().filter_map(|device| info(&path, device).ok()).collect();
    let sum = |figure: fn(&TraceInfo) -> u64| infos.iter().map(figure).sum::<u64>();
    let requests = sum(|info| info.requests);
    assert_eq!(infos.len() as u64, expected.devices, "{}", expected.path);
    assert!(infos.iter().all(|info| info.devices == expected.devices && info.requests + info.filtered == expected.requests));
    assert_eq!(requests, expected.requests, "{}", expected.path);
    let bytes = sum(|info| info.bytes_read + info.bytes_written);
    let unaligned = sum(|info| (info.unaligned_share.unwrap_or(0.0) * info.requests as f64).round() as u64);
    let near = |ours: f64, theirs: f64, digit: f64, what: &str| {
        assert!((ours - theirs).abs() <= digit / 2.0 + 1e-9, "{}: {what} {ours}, expected {theirs}", expected.path);
    };
    near(100.0 * sum(|info| info.writes) as f64 / requests as f64, expected.write_percent, 0.1, "write percent");
    near(bytes as f64 / requests as f64 / 1024.0, expected.mean_kib, 0.01, "mean KiB");
    near(sum(|info| info.footprint_bytes) as f64 / 1_048_576.0, expected.footprint_mib, 0.1, "footprint MiB");
    near(100.0 * unaligned as f64 / requests as f64, expected.unaligned_percent, 0.1, "unaligned percent");
}

#[test]
fn known_traces() {
    let financial = Expected {
        path: "traces/fin1-first10000.ssdsim-ns.ascii.xz",
        devices: 22,
        requests: 10_000,
        write_percent: 59.2,
        mean_kib: 5.40,
        footprint_mib: 28.6,
        unaligned_percent: 99.9,
    };
    check(&financial);
    check(&Expected { path: "traces/fin1-first10000.reencoded.spc.xz", ..financial });
    check(&Expected {
        path: "traces/tpcc-6999.mqsim-ns.trace.xz",
        devices: 16,
        requests: 6999,
        write_percent: 37.4,
        mean_kib: 8.33,
        footprint_mib: 80.0,
        unaligned_percent: 87.3,
    });
    check(&Expected {
        path: "traces/websearch-24783.mqsim-ns.trace.xz",
        devices: 6,
        requests: 24_783,
        write_percent: 0.0,
        mean_kib: 15.06,
        footprint_mib: 363.4,
        unaligned_percent: 0.1,
    });
    check(&Expected {
        path: "traces/msr-hm_0-first1000.csv.xz",
        devices: 1,
        requests: 1000,
        write_percent: 49.2,
        mean_kib: 9.46,
        footprint_mib: 7.5,
        unaligned_percent: 15.3,
    });
}

#[test]
fn captured_traces() {
    for (path, counts, sha256) in [
        ("pgbench.csv.gz", [115_098, 109_627, 38_446, 26, 36], "85be90b294426fb3d7ba6fe0bd48bac4bfbe024ae06a8570e89dbf8322b543c5"),
        ("postmark.csv.gz", [135_196, 127_716, 185, 37_023, 33], "896e064a1f67fcaedf295e56dbb152309fe542387480b0e8a64638efcf830665"),
        ("sqlite.csv.gz", [34_168, 162_124, 82_180, 19_998, 36], "dd3d4fe97fc6aab562f91ef9512107d069cc5c3b9264985442272e53b872b69a"),
    ] {
        let Some(path) = shared(&format!("traces-captured/{path}")) else { continue };
        let info = info(&path, None).unwrap();
        assert_eq!([info.reads, info.writes, info.flushes, info.trims, info.write_zeroes], counts, "{}", path.display());
        assert_eq!(info.sha256, sha256, "{}", path.display());
        assert!(info.max_address_bytes <= 4 << 30, "{}", path.display());
    }
}
