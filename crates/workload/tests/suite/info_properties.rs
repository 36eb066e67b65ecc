//! The figures against a plain model that keeps every page access in a list.

use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{Figures, TraceStatistics};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

const PAGE: u64 = 4096;

fn request() -> impl Strategy<Value = (u64, u64, u64, u8)> {
    // Gaps around the lengths of windows and the gap that separates bursts, sizes from one sector to some pages, few pages so that they are used again.
    let gap_ns = prop_oneof![
        Just(0),
        0..1000_u64,
        0..2_000_000_u64,
        999_998..1_000_002_u64,
        0..2_000_000_000_u64,
        Just(1_000_000_000),
        0..30_000_000_000_u64
    ];
    let sectors = prop_oneof![Just(8), 1..40_u64];
    (gap_ns, 0..600_u64, sectors, 0..9_u8)
}

fn requests(drawn: &[(u64, u64, u64, u8)]) -> Vec<HostRequest> {
    let (mut arrival_ns, mut end) = (5_000, 0);
    let make = |&(gap_ns, sector, sectors, kind): &(u64, u64, u64, u8)| {
        arrival_ns += gap_ns;
        let (op, offset_bytes, size_bytes) = match kind {
            0 => (HostOp::Flush, 0, 0),
            1 => (HostOp::Trim, sector * 512, sectors * 512),
            2 | 3 => (HostOp::Read, end, sectors * 512),
            4 | 5 => (HostOp::Write, end, sectors * 512),
            6 => (HostOp::Read, sector * 512, sectors * 512),
            _ => (HostOp::Write, sector / 8 * 4096, sectors * 512),
        };
        end = if end > 1 << 20 { 0 } else { offset_bytes + size_bytes };
        HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: u32::from(kind) % 2 }
    };
    drawn.iter().map(make).collect()
}

/// Every figure by its definition, in time that nobody would wait for on a real trace.
fn plain(requests: &[HostRequest]) -> serde_json::Value {
    let transfers: Vec<&HostRequest> = requests.iter().filter(|request| matches!(request.op, HostOp::Read | HostOp::Write)).collect();
    let pages = |request: &HostRequest| request.offset_bytes / PAGE..=(request.offset_bytes + request.size_bytes - 1) / PAGE;
    let (mut order, mut distances) = (Vec::<u64>::new(), Vec::new());
    let (mut written, mut updates, mut page_updates, mut page_writes) = (BTreeSet::new(), 0, 0, 0);
    let mut uses = BTreeMap::<u64, u64>::new();
    for request in &transfers {
        let is_write = request.op == HostOp::Write;
        let before = pages(request).filter(|page| written.contains(page)).count();
        if is_write {
            (updates, page_updates, page_writes) =
                (updates + usize::from(before > 0), page_updates + before, page_writes + pages(request).count());
        }
        for page in pages(request) {
            if let Some(last) = order.iter().rposition(|other| *other == page) {
                distances.push(order[last + 1..].iter().collect::<BTreeSet<_>>().len());
            }
            order.push(page);
            *uses.entry(page).or_default() += 1;
            written.extend(is_write.then_some(page));
        }
    }
    distances.sort_unstable();
    let mut counts: Vec<u64> = uses.values().copied().collect();
    counts.sort_unstable();
    let all = counts.iter().sum::<u64>() as f64;
    let quantile = |percent: usize| distances[(distances.len() * percent).div_ceil(100).max(1) - 1];
    let top = |percent: usize| counts[counts.len() - (counts.len() * percent).div_ceil(100)..].iter().sum::<u64>() as f64 / all;
    // The mean difference between any two pages, over twice the mean.
    let differences: u64 = counts.iter().map(|a| counts.iter().map(|b| a.abs_diff(*b)).sum::<u64>()).sum();
    let gini = differences as f64 / (2.0 * counts.len() as f64 * all);
    let first_ns = requests[0].arrival_ns;
    let window = |seconds: u64| {
        let number = |request: &HostRequest| (request.arrival_ns - first_ns) / (seconds * 1_000_000_000);
        let ended = number(requests.last().unwrap());
        let set = |of: u64| {
            transfers.iter().filter(|request| number(request) == of).flat_map(|request| pages(request)).collect::<BTreeSet<_>>().len()
        };
        let sets: Vec<u64> = (0..ended).map(|of| set(of) as u64 * PAGE).collect();
        let mean = sets.iter().sum::<u64>() as f64 / ended as f64;
        (ended > 0).then(|| serde_json::json!({"window_ns": seconds * 1_000_000_000, "mean_bytes": mean, "max_bytes": sets.iter().max()}))
    };
    let sequential = |ops: &[HostOp]| -> usize {
        let of = |device| transfers.iter().filter(move |request| request.source == device && ops.contains(&request.op)).collect::<Vec<_>>();
        let goes_on = |pair: &&[&&HostRequest]| pair[0].offset_bytes + pair[0].size_bytes == pair[1].offset_bytes;
        [0, 1].map(|device| of(device).windows(2).filter(goes_on).count()).iter().sum()
    };
    let runs = |op: HostOp| {
        let of: Vec<_> = transfers.iter().filter(|request| request.op == op).collect();
        let sequential = sequential(&[op]);
        let runs = (of.len() - sequential) as f64;
        (!of.is_empty())
            .then(|| serde_json::json!({"share": sequential as f64 / of.len() as f64, "mean_run_requests": of.len() as f64 / runs}))
    };
    let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
    let writes = transfers.iter().filter(|request| request.op == HostOp::Write).count();
    let reuse: BTreeMap<String, usize> =
        [10, 25, 50, 75, 90, 99].map(|percent| (format!("p{percent}"), if distances.is_empty() { 0 } else { quantile(percent) })).into();
    let working_set: Vec<_> = [1, 10, 60, 600].into_iter().filter_map(window).collect();
    serde_json::json!({
        "update_share": share(page_updates, page_writes),
        "update_request_share": share(updates, writes),
        "cold_share": share(uses.len(), order.len()),
        "pages_touched": uses.len(),
        "pages_written": written.len(),
        "reuse_distance_pages": (!distances.is_empty()).then_some(reuse),
        "skew": (!counts.is_empty()).then(|| serde_json::json!({
            "top_1_percent": top(1), "top_10_percent": top(10), "top_20_percent": top(20), "gini": gini,
        })),
        "working_set": working_set,
        "sequential_share": share(sequential(&[HostOp::Read, HostOp::Write]), transfers.len()),
        "sequential_reads": runs(HostOp::Read),
        "sequential_writes": runs(HostOp::Write),
    })
}

/// The trace cut where nothing arrives for 1 ms.
fn plain_bursts(requests: &[HostRequest]) -> serde_json::Value {
    let bursts: Vec<&[HostRequest]> = requests.chunk_by(|one, next| next.arrival_ns - one.arrival_ns < 1_000_000).collect();
    let mean = |times_ns: Vec<u64>| (!times_ns.is_empty()).then(|| times_ns.iter().sum::<u64>() as f64 / times_ns.len() as f64);
    let gaps = |pair: &[HostRequest]| pair[1].arrival_ns - pair[0].arrival_ns;
    let mut sizes: Vec<usize> = bursts.iter().map(|burst| burst.len()).collect();
    sizes.sort_unstable();
    let quantile = |percent: usize| sizes[(sizes.len() * percent).div_ceil(100) - 1];
    serde_json::json!({
        "gap_ns": 1_000_000,
        "count": bursts.len(),
        "mean_requests": requests.len() as f64 / bursts.len() as f64,
        "quantiles_requests": { "p50": quantile(50), "p90": quantile(90), "p99": quantile(99) },
        "max_requests": sizes.last(),
        "mean_gap_ns": mean(bursts.iter().flat_map(|burst| burst.windows(2).map(gaps)).collect()),
        "mean_pause_ns": mean(bursts.windows(2).map(|pair| gaps(&[*pair[0].last().unwrap(), pair[1][0]])).collect()),
    })
}

/// Equal, numbers to twelve digits.
fn equal(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (a, b) {
        (Number(a), Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(1e-3)
        }
        (Array(a), Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Object(a), Object(b)) => a.len() == b.len() && a.iter().all(|(key, value)| equal(value, &b[key])),
        _ => a == b,
    }
}

fn figures(requests: &[HostRequest]) -> Figures {
    let mut statistics = TraceStatistics::new(NonZeroU64::new(PAGE).unwrap());
    requests.iter().for_each(|request| statistics.add(request));
    statistics.figures()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("FLASHRAID_PROVE").is_some() { 5000 } else { 300 }))]

    #[test]
    fn figures_are_what_their_definitions_say(drawn in prop::collection::vec(request(), 1..300)) {
        let requests = requests(&drawn);
        let (is, should) = (serde_json::to_value(figures(&requests)).unwrap(), plain(&requests));
        for (key, value) in should.as_object().unwrap() {
            prop_assert!(equal(&is[key], value), "{}: {} is not {}", key, is[key], value);
        }
        let (is, should) = (&is["burstiness"]["bursts"], plain_bursts(&requests));
        prop_assert!(equal(is, &should), "{} is not {}", is, should);
    }
}

#[test]
fn gaps_sizes_and_devices() {
    let request =
        |arrival_ns, op, offset_bytes, size_bytes, source| HostRequest { arrival_ns, op, offset_bytes, size_bytes, stream: 0, source };
    let figures = figures(&[
        request(0, HostOp::Read, 0, 4096, 0),
        request(1000, HostOp::Read, 8192, 8192, 0),
        request(3000, HostOp::Write, 1 << 30, 512, 7),
        request(6000, HostOp::Read, 0, 4096, 0),
        request(10_000, HostOp::Flush, 0, 0, 7),
    ]);
    let gaps = figures.interarrival_ns.unwrap();
    assert_eq!([1, 25, 50, 75, 100].map(|percent| gaps.get(percent).unwrap() / 10), [100, 100, 200, 300, 400]);
    // Gaps of 1, 2, 3 and 4 us: mean 2.5, standard deviation sqrt(1.25).
    assert!((figures.burstiness.interarrival_cv.unwrap() - 1.25_f64.sqrt() / 2.5).abs() < 1e-9);
    let sizes = figures.read_sizes.unwrap();
    assert_eq!((sizes.top[0].bytes, sizes.quantiles_bytes.get(50), sizes.quantiles_bytes.get(90)), (4096, Some(4096), Some(8192)));
    assert!((sizes.top[0].share - 2.0 / 3.0).abs() < 1e-12 && figures.burstiness.peak_to_mean_1s.is_none());
    let devices: Vec<_> = figures.by_device.iter().map(|of| (of.device, of.requests, of.write_share)).collect();
    assert_eq!(devices, [(0, 3, Some(0.0)), (7, 2, Some(1.0))]);
}

/// Of the last uses of pages a list is kept, which is tidied now and then: in the midst of windows, too, by far more accesses than the property draws.
#[test]
fn working_sets_of_many_accesses() {
    let mut random = flashraid_vocabulary::SplitMix64::new(5);
    let requests: Vec<HostRequest> = (0..40_000)
        .map(|index| {
            // Half of the pages of each second are of a set that moves on.
            let page = if random.next_u64().is_multiple_of(2) { index / 97 + random.next_u64() % 300 } else { random.next_u64() % 1500 };
            let op = if random.next_u64().is_multiple_of(3) { HostOp::Read } else { HostOp::Write };
            HostRequest { arrival_ns: index * 1_700_000, offset_bytes: page * PAGE, size_bytes: PAGE, op, stream: 0, source: 0 }
        })
        .collect();
    let last_ns = requests.last().unwrap().arrival_ns;
    let working_sets = figures(&requests).working_set;
    for seconds in [1, 10, 60] {
        let window_ns = seconds * 1_000_000_000;
        let mut sets = vec![BTreeSet::new(); (last_ns / window_ns) as usize];
        for request in &requests {
            if let Some(set) = sets.get_mut((request.arrival_ns / window_ns) as usize) {
                set.insert(request.offset_bytes);
            }
        }
        let bytes: Vec<u64> = sets.iter().map(|set| set.len() as u64 * PAGE).collect();
        let of = working_sets.iter().find(|of| of.window_ns == window_ns).unwrap();
        assert_eq!(of.max_bytes, *bytes.iter().max().unwrap(), "{seconds} s");
        assert!((of.mean_bytes - bytes.iter().sum::<u64>() as f64 / bytes.len() as f64).abs() < 1e-6, "{seconds} s");
    }
}
