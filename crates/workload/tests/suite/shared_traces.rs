//! Real traces that are not part of the repository: counts known from elsewhere. Skipped where they are absent.

use crate::support::{in_repository, read};
use flashraid_workload::{TraceInfo, TraceOptions, TraceSummary, trace_info};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

fn shared(path: &str) -> Option<PathBuf> {
    let path = in_repository("../shared").join(path);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
    }
    path.exists().then_some(path)
}

fn info(path: &Path, options: &TraceOptions) -> TraceInfo {
    trace_info(path, options, NonZeroU64::new(4096).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

/// A row of the table that comes with the traces: file, requests, percent of writes, mean KiB (of reads / of writes), duration,
/// MiB of 4-KiB pages touched (of all devices together), highest address of a device in GiB, percent of transfers not aligned to 4 KiB,
/// devices; and, for some, requests per burst @ us between them, measured by a script of its own. Figures are rounded to the last digit
/// given. `steps_back` counts records earlier than the record before.
fn check(row: &str, steps_back: u64) {
    check_events(row, steps_back, 0);
}

/// The same for a file that also records what is no request: how often.
fn check_events(row: &str, steps_back: u64, ignored: u64) {
    let fields: Vec<&str> = row.split('|').map(str::trim).collect();
    let [file, requests, writes, mean, duration, footprint, end, unaligned, devices, ref bursts @ ..] = fields[..] else {
        panic!("{row}: a column is missing or too many");
    };
    let Some(path) = shared(&format!("traces/{file}")) else { return };
    let info = info(&path, &TraceOptions::default());
    let summary: TraceSummary = read(&path, &TraceOptions::default()).unwrap().1;
    let whole = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
    let counts = (info.requests, info.reads + info.writes, info.devices, info.steps_back);
    assert_eq!(counts, (whole(requests), whole(requests), whole(devices), steps_back), "{file}");
    let near = |ours: Option<f64>, text: &str, what: &str| near(ours, text, &format!("{file}: {what}"));
    let (all, each) = mean.trim_end_matches(')').split_once(" (").unwrap();
    let (of_reads, of_writes) = each.split_once(" / ").unwrap();
    let kib = |bytes: Option<f64>| bytes.map(|bytes| bytes / 1024.0);
    near(info.write_share.map(|share| 100.0 * share), writes, "percent of writes");
    near(kib(info.mean_bytes), all, "mean KiB");
    near(kib(info.mean_read_bytes), of_reads, "mean KiB of reads");
    near(kib(info.mean_write_bytes), of_writes, "mean KiB of writes");
    // As recorded: what is spread over the ticks of a coarse clock ends somewhere in the last of them.
    let recorded_ns = info.duration_ns - info.duration_ns % info.spread_tick_ns.unwrap_or(1);
    near(Some(recorded_ns as f64 / 1e9), duration.trim_end_matches(" s"), "duration");
    near(Some(info.footprint_bytes as f64 / 1_048_576.0), footprint, "footprint MiB");
    let end_bytes = summary.device_list.iter().map(|device| device.end_bytes).max().unwrap();
    near(Some(end_bytes as f64 / f64::from(1 << 30)), end, "highest address GiB");
    near(info.unaligned_share.map(|share| 100.0 * share), unaligned, "percent unaligned");
    bursts.iter().for_each(|text| check_bursts(&info, text));
    let beside: u64 = summary.ignored.iter().map(|(_, count)| count).sum();
    assert_eq!((summary.skipped, beside), (0, ignored), "{file}: {:?}", summary.ignored);
}

/// Fails unless our figure is the one in the text to its last digit; `-` stands for none.
fn near(ours: Option<f64>, text: &str, what: &str) {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half_a_digit = 0.5 * 0.1_f64.powi(decimals as i32);
    match (ours, text.parse::<f64>()) {
        (None, Err(_)) => assert_eq!(text, "-", "{what}"),
        (Some(ours), Ok(theirs)) if (ours - theirs).abs() <= half_a_digit + 1e-9 => {}
        (ours, theirs) => panic!("{what} is {ours:?}, expected {theirs:?}"),
    }
}

fn check_bursts(info: &TraceInfo, text: &str) {
    let (requests, gap_us) = text.split_once('@').unwrap();
    let bursts = &info.burstiness.bursts;
    near(bursts.mean_requests, requests, &format!("{}: requests per burst", info.name));
    near(bursts.mean_gap_ns.map(|gap_ns| gap_ns / 1000.0), gap_us, &format!("{}: gaps within bursts", info.name));
}

#[test]
fn simulators_forms() {
    check("fin1-first10000.ssdsim-ns.ascii.xz | 10,000 | 59.2 | 5.40 (6.09 / 4.92) | 260 s | 28.6 | 0.5 | 99.9 | 22", 0);
    check("fin1-first10000.reencoded.spc.xz | 10,000 | 59.2 | 5.40 (6.09 / 4.92) | 260 s | 28.6 | 0.5 | 99.9 | 22", 0);
    check("websearch-24783.mqsim-ns.trace.xz | 24,783 | 0.0 | 15.06 (15.06 / 8.00) | 60.055 s | 363.4 | 16.7 | 0.1 | 6", 0);
    check("tpcc-6999.mqsim-ns.trace.xz | 6,999 | 37.4 | 8.33 (8.09 / 8.73) | 0.136 s | 80.0 | 216.7 | 87.3 | 16", 0);
    check("msr-prxy_0-reads-29360.ssdsim-ms.trace.xz | 29,360 | 0.0 | 9.72 (9.72 / -) | 46654 s | 78.2 | 20.7 | 0.0 | 1", 0);
    check("msps-dtrs-300s.ssdsim-us.trace.xz | 127,043 | 11.0 | 55.33 (55.57 / 53.38) | 300 s | 4969.8 | 153.2 | 2.6 | 1 | 1.7@495", 0);
    check("iozone-100000.disksim-ms.trace.xz | 100,000 | 100.0 | 359.92 (- / 359.92) | 936 s | 1059.8 | 16.1 | 0.0 | 1", 0);
    check("postmark-62257.disksim-ms.trace.xz | 62,257 | 16.8 | 222.32 (98.76 / 833.01) | 490 s | 5989.8 | 21.3 | 0.0 | 1", 0);
    check("pcmark-56088.disksim-ms.trace.xz | 56,088 | 25.4 | 111.24 (76.94 / 212.03) | 1466 s | 2271.8 | 105.4 | 0.0 | 1", 0);
    check("msr-hm_0-slice105-10000.heimdall-ms.trace.xz | 10,000 | 79.8 | 5.35 (1.83 / 6.24) | 243 s | 28.8 | 13.9 | 43.1 | 1 | 4.9@48", 0);
    check("msr-unnamed-slice1006-10000.heimdall-ms.trace.xz | 10,000 | 16.8 | 12.71 (4.18 / 54.87) | 1.017 s | 113.4 | 11.8 | 0.1 | 1", 0);
}

#[test]
fn published_collections() {
    check("msr-hm_0-first1000.csv.xz | 1,000 | 49.2 | 9.46 (11.74 / 7.11) | 127 s | 7.5 | 12.6 | 15.3 | 1 | 3.8@70", 0);
    check("systor17-lun0-999.csv.gz | 999 | 17.3 | 38.24 (42.98 / 15.62) | 2.448 s | 38.4 | 4683.9 | 92.9 | 1", 243);
    check("tencent-cbs-50000.csv.xz | 50,000 | 51.0 | 29.66 (25.76 / 33.41) | 1.000 s | 1360.3 | 1554.4 | 17.4 | 2038", 144);
    check("cloudphysics-113872.csv.xz | 113,872 | 58.7 | 36.07 (37.37 / 35.16) | 7200 s | 1051.6 | 31.3 | 99.9 | 1 | 2.4@234", 0);
    check("fiu-cheetah-9998.blkparse.xz | 9,998 | 11.0 | 4.00 (4.00 / 4.00) | 23.571 s | 35.9 | 277.1 | 0.0 | 1", 0);
    check("fiu-homes-1000.blkparse.xz | 1,000 | 91.2 | 5.27 (18.41 / 4.00) | 443 s | 4.3 | 126.3 | 0.0 | 1", 0);
    check("windows-pc-sys1.diskmon.txt.xz | 58,818 | 49.7 | 23.30 (16.42 / 30.27) | 1205 s | 682.6 | 3.1 | 16.8 | 1 | 4.1@0", 64);
}

#[test]
fn recorded_events() {
    let row = "ycsb-rocksdb-10000.blkparse.xz | 1,694 | 0.0 | 114.16 (114.16 / -) | 0.680 s | 188.9 | 476.9 | 0.0 | 1";
    check_events(row, 0, 8306);
    let row = "ycsb-f2fs.blkparse.xz | 5,727 | 17.5 | 166.60 (111.09 / 427.40) | 1651 s | 908.2 | 2.6 | 0.0 | 1";
    check_events(row, 392, 11_454 + 42);
    let row = "linux-webserver-2.load.gz | 268,663 | 44.7 | 17.05 (23.48 / 9.08) | 3601 s | 1905.8 | 720.6 | 7.4 | 1 | 3.0@39";
    check_events(row, 0, 0);
    check("windows-mssql.load.gz | 42,976 | 94.1 | 24.03 (20.53 / 24.25) | 3062 s | 604.5 | 24.1 | 37.8 | 1 | 6.0@50", 0);
    check("windows-shared-server.load.gz | 1,371 | 100.0 | 3.85 (- / 3.85) | 3597 s | 1.0 | 3.0 | 9.6 | 1", 0);
}

/// Devices taken one by one have together what they have side by side.
#[test]
fn devices_one_by_one() {
    for path in ["fin1-first10000.ssdsim-ns.ascii.xz", "tpcc-6999.mqsim-ns.trace.xz"] {
        let Some(path) = shared(&format!("traces/{path}")) else { continue };
        let whole = info(&path, &TraceOptions::default());
        let devices = read(&path, &TraceOptions::default()).unwrap().1.device_list;
        let of_device = |name: &String| info(&path, &TraceOptions { device_filter: vec![name.clone()], ..TraceOptions::default() });
        let each: Vec<TraceInfo> = devices.iter().map(|device| of_device(&device.name)).collect();
        assert!(each.iter().all(|of| of.devices == whole.devices && of.requests + of.filtered == whole.requests));
        let sum = |figure: fn(&TraceInfo) -> u64| each.iter().map(figure).sum::<u64>();
        let sums = (sum(|of| of.requests), sum(|of| of.bytes_written), sum(|of| of.footprint_bytes));
        assert_eq!(sums, (whole.requests, whole.bytes_written, whole.footprint_bytes), "{}", path.display());
    }
}

#[test]
fn captured_traces() {
    for (path, counts, bursts, sha256) in [
        (
            "pgbench.csv.gz",
            [115_098, 109_627, 38_446, 26, 36],
            "35.8@117",
            "85be90b294426fb3d7ba6fe0bd48bac4bfbe024ae06a8570e89dbf8322b543c5",
        ),
        (
            "postmark.csv.gz",
            [135_196, 127_716, 185, 37_023, 33],
            "22@107",
            "896e064a1f67fcaedf295e56dbb152309fe542387480b0e8a64638efcf830665",
        ),
        (
            "sqlite.csv.gz",
            [34_168, 162_124, 82_180, 19_998, 36],
            "132@111",
            "dd3d4fe97fc6aab562f91ef9512107d069cc5c3b9264985442272e53b872b69a",
        ),
    ] {
        let Some(path) = shared(&format!("traces-captured/{path}")) else { continue };
        let info = info(&path, &TraceOptions::default());
        assert_eq!([info.reads, info.writes, info.flushes, info.trims, info.write_zeroes], counts, "{}", path.display());
        check_bursts(&info, bursts);
        assert_eq!(info.sha256, sha256, "{}", path.display());
        assert!(info.max_address_bytes <= 4 << 30, "{}", path.display());
    }
}
