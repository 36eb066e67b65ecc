//! Statistics, each figure worked out by hand on a sample.

use crate::support::{file, in_repository, options, request};
use flashraid_vocabulary::HostOp;
use flashraid_workload::{BurstFigures, TraceOptions, TraceStatistics, page_size, trace_info};
use std::num::NonZeroU64;

const PAGE: NonZeroU64 = NonZeroU64::new(4096).unwrap();

#[test]
fn sample_by_hand() {
    let info = trace_info(&in_repository("samples/formats/example.csv"), &TraceOptions::default(), PAGE).unwrap();
    assert_eq!((info.requests, info.reads, info.writes, info.trims, info.write_zeroes, info.flushes), (8, 2, 3, 1, 1, 1));
    assert_eq!(info.write_share, Some(3.0 / 5.0));
    assert_eq!((info.bytes_read, info.bytes_written), (12_288 + 512, 4096 + 8192 + 4096));
    assert_eq!(info.mean_bytes, Some((12_800.0 + 16_384.0) / 5.0));
    assert_eq!((info.mean_read_bytes, info.mean_write_bytes), (Some(6400.0), Some(16_384.0 / 3.0)));
    assert_eq!(info.duration_ns, 99_000_000);
    assert_eq!(info.requests_per_second.unwrap().round(), 81.0); // 8 / 0.099 s
    // Written: pages 16, 17 and 18, then 16 again. Read: 16 to 18, and 1024.
    assert_eq!((info.pages_written, info.pages_read, info.pages_touched, info.footprint_bytes), (3, 4, 4, 16_384));
    assert_eq!(info.update_share, Some(1.0 / 4.0));
    assert_eq!(info.max_address_bytes, 4_194_304 + 512);
    assert_eq!(info.sequential_share, Some(1.0 / 5.0)); // 65536 + 4096 = 69632
    assert_eq!(info.unaligned_share, Some(1.0 / 5.0)); // the last read
    assert_eq!(info.interarrival_mean_ns, Some(99_000_000.0 / 7.0));
    // Gaps in us: 12, 0.5, 27.5, 131, 1722, 607, 96500: the median is 131.
    assert!(info.interarrival_p50_ns.unwrap().abs_diff(131_000) <= 131);
    assert!(info.interarrival_p99_ns.unwrap().abs_diff(96_500_000) <= 96_500);
    assert_eq!((info.devices, info.filtered, info.out_of_order), (1, 0, 0));
}

#[test]
fn nothing_to_divide_by_is_null() {
    let path = file("info.csv", b"ts_us,op,offset,size,flags,latency_us\n5,F,0,0,,\n");
    let info = trace_info(&path, &options("flashraid"), PAGE).unwrap();
    let json = serde_json::to_value(&info).unwrap();
    for key in ["write_share", "mean_bytes", "requests_per_second", "update_share", "sequential_share", "interarrival_mean_ns"] {
        assert!(json[key].is_null(), "{key}");
    }
    let bursts = &json["burstiness"]["bursts"];
    assert!(bursts["mean_gap_ns"].is_null() && bursts["mean_pause_ns"].is_null(), "{bursts}");
    assert_eq!((info.duration_ns, info.max_address_bytes, info.pages_touched), (0, 0, 0));
}

/// Bursts of requests that arrive at these times.
fn bursts(arrivals_ns: &[u64]) -> BurstFigures {
    let mut statistics = TraceStatistics::new(PAGE);
    // Kinds take turns: all count.
    let ops = [HostOp::Read, HostOp::Flush, HostOp::Write, HostOp::Trim, HostOp::WriteZeroes];
    for (arrival_ns, op) in arrivals_ns.iter().zip(ops.into_iter().cycle()) {
        statistics.add(&request(*arrival_ns, op, 0, if op == HostOp::Flush { 0 } else { 4096 }, 0));
    }
    statistics.figures().burstiness.bursts
}

/// Count, requests (mean, p50, p90, p99, largest), mean gap within, mean pause between.
fn in_short(bursts: &BurstFigures) -> (u64, Option<f64>, Vec<u64>, Option<f64>, Option<f64>) {
    let quantiles = bursts.quantiles_requests.iter().flat_map(|quantiles| quantiles.0.values().copied());
    let BurstFigures { count, mean_requests, mean_gap_ns, mean_pause_ns, .. } = *bursts;
    (count, mean_requests, quantiles.chain(bursts.max_requests).collect(), mean_gap_ns, mean_pause_ns)
}

#[test]
fn bursts_by_hand() {
    // A gap of 1 ms separates, a nanosecond less does not.
    let three = bursts(&[7, 7, 1_000_006, 2_000_006, 2_000_106, 9_000_106]);
    assert_eq!(three.gap_ns, 1_000_000);
    assert_eq!(in_short(&three), (3, Some(2.0), vec![2, 3, 3, 3], Some((999_999.0 + 100.0) / 3.0), Some(4_000_000.0)));
    // Nine single requests and a burst of eleven: of ten bursts, the ninth from below is of one, the tenth of eleven.
    let times: Vec<u64> = (0..20).map(|index: u64| 5_000_000 * index.min(9) + 1000 * index.saturating_sub(9)).collect();
    assert_eq!(in_short(&bursts(&times)), (10, Some(2.0), vec![1, 1, 11, 11], Some(1000.0), Some(5_000_000.0)));
}

#[test]
fn bursts_at_their_extremes() {
    assert_eq!(in_short(&bursts(&[])), (0, None, vec![], None, None));
    assert_eq!(in_short(&bursts(&[123])), (1, Some(1.0), vec![1; 4], None, None));
    assert_eq!(in_short(&bursts(&[5; 1000])), (1, Some(1000.0), vec![1000; 4], Some(0.0), None));
    let apart: Vec<u64> = (0..1000).map(|index| index * 1_000_000).collect();
    assert_eq!(in_short(&bursts(&apart)), (1000, Some(1.0), vec![1; 4], None, Some(1_000_000.0)));
    assert_eq!(in_short(&bursts(&[0, u64::MAX / 2])), (2, Some(1.0), vec![1; 4], None, Some((u64::MAX / 2) as f64)));
}

/// The clock of this format counts seconds, over which requests are spread: 250 ms apart, then 0.5 ms.
#[test]
fn bursts_below_the_tick_of_a_clock_are_invented() {
    let rows = |second: u64, count: u64| (0..count).map(move |index| format!("{second},{},8,1,7\n", 8 * index)).collect::<String>();
    for (count, expected) in
        [(4, (4, Some(1.0), vec![1; 4], None, Some(250e6))), (2000, (1, Some(2000.0), vec![2000; 4], Some(500e3), None))]
    {
        let path = file(&format!("{count}.tencent.csv"), rows(1_538_400_000, count).as_bytes());
        let info = trace_info(&path, &TraceOptions::default(), PAGE).unwrap();
        assert_eq!((info.spread_tick_ns, in_short(&info.burstiness.bursts)), (Some(1_000_000_000), expected));
    }
}

/// Device 1 lies directly behind device 0, and their requests alternate.
#[test]
fn what_goes_on_is_of_the_same_device() {
    let adjacent = file("adjacent.ssdsim", b"0 0 0 2048 0\n10 1 0 2048 0\n20 0 0 8 0\n");
    let info = trace_info(&adjacent, &TraceOptions::default(), PAGE).unwrap();
    assert_eq!((info.sequential_share, info.sequential_writes.unwrap().share), (Some(0.0), 0.0));
    let alternating = file("alternating.ssdsim", b"0 0 0 8 0\n10 1 800 8 0\n20 0 8 8 0\n30 1 808 8 1\n40 0 16 8 0\n");
    let info = trace_info(&alternating, &TraceOptions::default(), PAGE).unwrap();
    assert_eq!(info.sequential_share, Some(3.0 / 5.0));
    assert_eq!((info.sequential_writes.unwrap().share, info.sequential_reads.unwrap().share), (2.0 / 4.0, 0.0));
}

#[test]
fn pages_lie_on_one_device() {
    for page_bytes in [0, 1, 256, 768, 3000, 4095, 1 << 21] {
        let error = page_size(page_bytes).unwrap_err().to_string();
        assert_eq!(error, format!("page_bytes = {page_bytes}: allowed is a power of two from 512 to 1048576"));
    }
    assert_eq!([512, 4096, 1 << 20].map(|page_bytes| page_size(page_bytes).unwrap().get()), [512, 4096, 1 << 20]);
    let path = in_repository("samples/formats/example.csv");
    assert!(trace_info(&path, &TraceOptions::default(), NonZeroU64::new(3000).unwrap()).is_err());
}
