//! Anonymised traces: every figure but addresses is as before, and what identifies is gone.

use crate::support::{file, in_repository, options, read};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{Anonymised, Figures, TraceOptions, TraceStatistics, UNIT_BYTES, anonymise, formats, trace_info, write_trace};
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

fn anonymised(input: &Path, reading: &TraceOptions, seed: u64, output: &Path, format: &str) -> Anonymised {
    anonymise(input, reading, seed, output, formats::find(format).unwrap(), &mut |_, _| true).unwrap()
}

/// The figures without addresses and without the devices' numbers.
fn hidden(mut figures: Figures) -> Figures {
    figures.max_address_bytes = 0;
    figures.by_device.iter_mut().for_each(|device| device.device = 0);
    figures.by_device.sort_by_key(|device| (device.requests, device.write_share.map(f64::to_bits), device.mean_bytes.map(f64::to_bits)));
    figures
}

fn figures(requests: &[HostRequest], page_bytes: u64) -> Figures {
    let mut statistics = TraceStatistics::new(NonZeroU64::new(page_bytes).unwrap());
    requests.iter().for_each(|request| statistics.add(request));
    hidden(statistics.figures())
}

/// Clusters of requests in a sparse space: sequential runs, overlaps, requests that end where others begin, at the ends of units too.
fn random_requests(seed: u64, devices: u64, ops: &[HostOp]) -> Vec<HostRequest> {
    let mut random = SplitMix64::new(seed);
    let mut below = |limit: u64| random.next_u64() % limit;
    let bases: Vec<u64> = (0..30).map(|_| below(1 << 14) * UNIT_BYTES).collect();
    let mut arrival_ns = 5_000_000_123;
    let mut next = (9, 0);
    let make = |_| {
        let op = ops[below(ops.len() as u64) as usize];
        let is_next = below(3) == 0;
        let offset_bytes = if is_next { next.1 } else { bases[below(30) as usize] + below(6) * UNIT_BYTES / 2 + below(64) * 512 };
        let size_bytes = if below(4) == 0 { UNIT_BYTES - offset_bytes % UNIT_BYTES } else { (1 + below(40)) * 512 };
        let source = if is_next { next.0 } else { 9 - below(devices) as u32 };
        next = (source, offset_bytes + size_bytes);
        arrival_ns += below(2_000_000);
        HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }
    };
    (0..3000).map(make).collect()
}

const TRANSFERS: [HostOp; 2] = [HostOp::Read, HostOp::Write];

#[test]
fn random_traces_keep_every_figure() {
    for seed in 0..30 {
        for devices in [1, 3] {
            let original = file("anonymise-random.ssdsim", b"");
            let requests = random_requests(seed, devices, &TRANSFERS);
            write_trace(&original, formats::find("ssdsim").unwrap(), false, requests.iter().copied(), &mut |_, _| true).unwrap();
            let output = file("anonymise-random.out", b"");
            let report = anonymised(&original, &options("ssdsim"), seed, &output, "ssdsim");
            assert_eq!((report.written, report.source.devices), (3000, devices));
            assert!(report.regions > 10, "{} regions", report.regions);
            let (before, _) = read(&original, &options("ssdsim")).unwrap();
            let (after, summary) = read(&output, &options("ssdsim")).unwrap();
            for page_bytes in [512, 4096, 16_384, UNIT_BYTES] {
                assert_eq!(figures(&after, page_bytes), figures(&before, page_bytes), "seed {seed}, pages of {page_bytes}");
            }
            assert_eq!(after[0].arrival_ns, 0);
            let names: Vec<String> = (0..devices).map(|number| number.to_string()).collect();
            assert_eq!(summary.device_list.iter().map(|device| device.name.clone()).collect::<Vec<_>>(), names);
            // Regions moved: the order of their addresses is another one.
            let order = |requests: &[HostRequest]| {
                let mut order: Vec<usize> = (0..requests.len()).collect();
                order.sort_by_key(|index| (requests[*index].source, requests[*index].offset_bytes));
                order
            };
            assert_ne!(order(&after), order(&before));
        }
    }
}

/// Two requests of a device keep their distance if they touch or share a unit, and stay apart by a unit at least otherwise.
#[test]
fn neighbors_stay_and_strangers_do_not_meet() {
    let original = file("anonymise-near.ssdsim", b"");
    let requests = random_requests(1, 1, &TRANSFERS);
    write_trace(&original, formats::find("ssdsim").unwrap(), false, requests.iter().copied(), &mut |_, _| true).unwrap();
    let output = file("anonymise-near.out", b"");
    anonymised(&original, &options("ssdsim"), 1, &output, "ssdsim");
    let (after, _) = read(&output, &options("ssdsim")).unwrap();
    let units =
        |request: &HostRequest| (request.offset_bytes / UNIT_BYTES, (request.offset_bytes + request.size_bytes).div_ceil(UNIT_BYTES));
    for (before_a, after_a) in requests.iter().zip(&after) {
        assert_eq!(before_a.offset_bytes % UNIT_BYTES, after_a.offset_bytes % UNIT_BYTES);
        for (before_b, after_b) in requests.iter().zip(&after) {
            let meet = |(a, a_end): (u64, u64), (b, b_end): (u64, u64)| a <= b_end && b <= a_end;
            let (were, are) = (meet(units(before_a), units(before_b)), meet(units(after_a), units(after_b)));
            assert_eq!(were, are);
            if were {
                let distance = |a: &HostRequest, b: &HostRequest| i128::from(a.offset_bytes) - i128::from(b.offset_bytes);
                assert_eq!(distance(before_a, before_b), distance(after_a, after_b));
            }
        }
    }
    let end = |requests: &[HostRequest]| requests.iter().map(|request| request.offset_bytes + request.size_bytes).max().unwrap();
    assert!(end(&after) <= end(&requests) + UNIT_BYTES, "no more space than before");
}

#[test]
fn samples_keep_every_figure() {
    for name in ["pgbench", "postmark", "sqlite"] {
        let original = in_repository(&format!("samples/{name}-transactions.csv.gz"));
        let output = file(&format!("anonymise-{name}.csv.gz"), b"");
        let report = anonymised(&original, &TraceOptions::default(), 7, &output, "flashraid");
        let page = NonZeroU64::new(4096).unwrap();
        let (before, after) = (trace_info(&original, &TraceOptions::default(), page), trace_info(&output, &TraceOptions::default(), page));
        assert_eq!((report.cut, report.written), (0, report.source.requests), "{name}");
        assert_eq!(hidden(after.unwrap().figures), hidden(before.unwrap().figures), "{name}");
    }
}

/// Recordings of many formats and devices, which are not part of the repository.
#[test]
fn real_traces_keep_every_figure() {
    for name in [
        "cloudphysics-113872.csv.xz",
        "fin1-first10000.ssdsim-ns.ascii.xz",
        "fiu-cheetah-9998.blkparse.xz",
        "msr-hm_0-slice105-10000.heimdall-ms.trace.xz",
        "pcmark-56088.disksim-ms.trace.xz",
        "tencent-cbs-50000.csv.xz",
        "tpcc-6999.mqsim-ns.trace.xz",
        "windows-mssql.load.gz",
        "ycsb-rocksdb-10000.blkparse.xz",
    ] {
        let original = in_repository("../shared/traces").join(name);
        if !original.exists() {
            eprintln!("skipped: {} is not there", original.display());
            continue;
        }
        let output = file(&format!("anonymise-{name}.blkparse.txt.gz"), b"");
        let report = anonymised(&original, &TraceOptions::default(), 7, &output, "blkparse");
        let figures = |path: &Path| hidden(trace_info(path, &TraceOptions::default(), NonZeroU64::new(4096).unwrap()).unwrap().figures);
        assert_eq!((report.cut, figures(&output)), (0, figures(&original)), "{name}");
    }
}

#[test]
fn long_discards_are_cut_to_regions() {
    let text = "ts_us,op,offset,size,flags,latency_us\n\
                100,D,0,1073741824,,\n\
                200,W,65536,65536,,\n300,R,131072,512,,\n400,W,655360,4096,,\n\
                500,Z,69632,1073741824,,\n600,F,0,0,,\n700,D,2000000000,900000000,,\n800,D,3000000000,512,,\n";
    let path = file("anonymise-discards.csv", text.as_bytes());
    let output = file("anonymise-discards.out", b"");
    let report = anonymised(&path, &TraceOptions::default(), 3, &output, "flashraid");
    // Regions: units 1 and 2, unit 10, and that of the short discard.
    assert_eq!((report.regions, report.source.requests, report.written), (3, 8, 9));
    assert_eq!((report.cut, report.pieces), (3, 4));
    let (after, _) = read(&output, &TraceOptions::default()).unwrap();
    let shape = |request: &HostRequest| (request.arrival_ns / 1000, request.op, request.size_bytes);
    let expected = [
        (0, HostOp::Trim, 2 * UNIT_BYTES),
        (0, HostOp::Trim, UNIT_BYTES),
        (100, HostOp::Write, 65_536),
        (200, HostOp::Read, 512),
        (300, HostOp::Write, 4096),
        (400, HostOp::WriteZeroes, 2 * UNIT_BYTES - 4096),
        (400, HostOp::WriteZeroes, UNIT_BYTES),
        (500, HostOp::Flush, 0),
        (700, HostOp::Trim, 512),
    ];
    assert_eq!(after.iter().map(shape).collect::<Vec<_>>(), expected);
    let offset = |index: usize| after[index].offset_bytes;
    assert_eq!((offset(0), offset(3), offset(5)), (offset(2), offset(2) + 65_536, offset(2) + 4096));
    assert_eq!((offset(1), offset(6)), (offset(4), offset(4)));
}

#[test]
fn seeds() {
    let sample = in_repository("samples/postmark-transactions.csv.gz");
    let make = |name: &str, seed| {
        let output = file(name, b"");
        anonymised(&sample, &TraceOptions::default(), seed, &output, "flashraid");
        fs::read(output).unwrap()
    };
    let one = make("anonymise-seed-1.csv.gz", 1);
    assert_eq!(one, make("anonymise-seed-again.csv.gz", 1));
    assert_ne!(one, make("anonymise-seed-2.csv.gz", 2));
}

/// Without a column for devices, address spaces lie one behind the other, and no figure changes.
#[test]
fn devices_side_by_side() {
    let original = file("anonymise-beside.ssdsim", b"");
    let requests = random_requests(5, 3, &TRANSFERS);
    write_trace(&original, formats::find("ssdsim").unwrap(), false, requests.iter().copied(), &mut |_, _| true).unwrap();
    let output = file("anonymise-beside.out", b"");
    let report = anonymised(&original, &options("ssdsim"), 5, &output, "flashraid");
    let (before, _) = read(&original, &options("ssdsim")).unwrap();
    let (after, _) = read(&output, &TraceOptions::default()).unwrap();
    let without_devices = |figures: Figures| Figures { by_device: Vec::new(), ..figures };
    assert_eq!(without_devices(figures(&after, 4096)), without_devices(figures(&before, 4096)));
    assert!(!report.devices_apart);
}
