//! Outputs beside the result agree with it, change nothing, and are equal in equal runs.

use crate::support::{config, own_folder, own_trace, small, some_of};
use flashraid_redundancy::{Redundancy, SCHEMES, find};
use flashraid_sim::{Config, Outputs, Stage, Status, run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Schemes under which a variant is tried: all, or every sixth one in turn.
fn schemes_of(variant: usize) -> impl Iterator<Item = &'static str> {
    some_of(SCHEMES, variant, 12).map(|entry| entry.name)
}

pub const KINDS: [&str; 4] = ["read", "write", "trim", "flush"];

pub fn golden_trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/trace.csv")
}

/// A run with every output, in a folder of its own.
pub struct Run {
    folder: PathBuf,
    json: String,
    pub result: Value,
    pub fio: Value,
    pub status: Status,
}

impl Run {
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// A CSV file as rows of cells by column.
    pub fn table(&self, name: &str) -> Vec<BTreeMap<String, String>> {
        let text = self.text(name);
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), names.len(), "{line}");
            names.iter().zip(cells).map(|(name, cell)| (name.to_string(), cell.to_owned())).collect()
        };
        lines.map(row).collect()
    }

    fn timeline(&self) -> Value {
        serde_json::from_str(&self.text("timeline.json")).unwrap()
    }
}

pub fn replay(name: &str, trace: &Path, config: Config, more: &[(&str, &str)], go_on: impl Fn(Stage) -> bool) -> Run {
    let folder = own_folder().join(name);
    fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let mut pairs = vec![
        ("latency_log".to_owned(), path("latency.csv")),
        ("series".to_owned(), path("series.csv")),
        ("hdr_log".to_owned(), path("latency.hlog")),
        ("timeline".to_owned(), path("timeline.json")),
        ("fio".to_owned(), "true".to_owned()),
    ];
    pairs.extend(more.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    let outputs = Outputs::from_pairs(&pairs).unwrap();
    let finished = run(trace, config, &outputs, false, &mut |stage| go_on(stage)).unwrap();
    Run {
        folder,
        result: serde_json::from_str(&finished.json()).unwrap(),
        json: finished.json(),
        fio: serde_json::from_str(&finished.fio.unwrap()).unwrap(),
        status: finished.status,
    }
}

pub fn whole(name: &str, scheme: &str, pairs: &[(&str, &str)]) -> Run {
    replay(name, &golden_trace(), small(scheme, pairs), &[("timeline_window", ".."), ("series_interval", "3ms")], |_| true)
}

pub fn number(cell: &str) -> u64 {
    cell.parse().unwrap_or_else(|_| panic!("{cell} is no number"))
}

/// Devices and options that take different ways through the flash.
fn variants() -> Vec<Vec<(&'static str, &'static str)>> {
    vec![
        vec![],
        vec![("write_completes", "data_in"), ("parity_in_response", "false"), ("copyback", "true")],
        vec![("multi_plane", "true"), ("planes_per_die", "2"), ("scheduling", "fifo")],
        vec![("chips_per_channel", "2"), ("dies_per_chip", "2"), ("lun", "chip"), ("gc_blocking_scope", "none")],
        vec![("queue_depth", "5")],
        vec![("warmup", "100")],
        vec![("verify", "true"), ("unwritten", "prefill"), ("fill", "0.3")],
    ]
}

#[test]
fn outputs_change_no_result() {
    for (index, pairs) in variants().iter().enumerate() {
        for scheme in schemes_of(index) {
            let with = whole(&format!("same-{index}-{scheme}"), scheme, pairs);
            let without = run(&golden_trace(), small(scheme, pairs), &Outputs::default(), false, &mut |_| true).unwrap();
            assert!(with.json == without.json() && with.status == without.status, "{scheme} {pairs:?}");
            assert!(without.fio.is_none());
        }
    }
}

/// The log names the stripe of a request's first page: with chunks of c pages and N data strips that of page x is r c + o (SPEC 8.1 (b)).
#[test]
fn the_latency_log_names_stripes() {
    let data_members = 3;
    for (scheme, chunk) in [("raid4", 1), ("raid4", 3), ("raid5", 1), ("raid5", 4)] {
        let run = whole(&format!("stripes-{scheme}-{chunk}"), scheme, &[("chunk_units", &chunk.to_string())]);
        // Pages behind the last whole row of chunks lie as without.
        let row_pages = data_members * chunk;
        let in_rows = run.result["capacity"]["user_bytes"].as_u64().unwrap() / 4096 / row_pages * row_pages;
        for row in run.table("latency.csv").iter().filter(|row| row["op"] != "flush") {
            let page = number(&row["offset_bytes"]) / 4096;
            let stripe = if page < in_rows { page / row_pages * chunk + page % chunk } else { page / data_members };
            assert_eq!(number(&row["stripe"]), stripe, "{scheme}, chunks of {chunk}: {row:?}");
        }
    }
}

#[test]
fn equal_runs_give_equal_bytes() {
    let (first, second) = (whole("bytes-1", "raid5", &[]), whole("bytes-2", "raid5", &[]));
    for name in ["latency.csv", "series.csv", "latency.hlog", "timeline.json"] {
        assert!(first.text(name) == second.text(name), "{name}");
        assert!(!first.text(name).is_empty(), "{name}");
    }
    assert_eq!(first.fio, second.fio);
}

#[test]
fn the_latency_log_has_the_requests_of_the_result() {
    for (index, pairs) in variants().iter().enumerate() {
        for scheme in schemes_of(index) {
            let run = whole(&format!("latency-{index}-{scheme}"), scheme, pairs);
            let entry = find(scheme).unwrap();
            let rows = run.table("latency.csv");
            assert_eq!(rows.len() as u64, run.result["workload"]["requests"].as_u64().unwrap());
            let requests: BTreeSet<u64> = rows.iter().map(|row| number(&row["request"])).collect();
            assert_eq!(requests.len(), rows.len());
            for kind in KINDS {
                let of_kind = |row: &&BTreeMap<String, String>| row["op"] == kind || (kind == "trim" && row["op"] == "write_zeroes");
                let latencies: Vec<u64> = rows.iter().filter(of_kind).map(|row| number(&row["latency_ns"])).collect();
                let expected = &run.result["latency_ns"][kind];
                assert_eq!(latencies.len() as u64, expected["count"].as_u64().unwrap());
                assert_eq!(latencies.iter().copied().max().unwrap_or(0), expected["max"].as_u64().unwrap());
                let mean = latencies.iter().sum::<u64>() as f64 / latencies.len().max(1) as f64;
                assert!((mean - expected["mean"].as_f64().unwrap()).abs() <= 1e-9 * mean);
            }
            let mut former_end = 0;
            for row in &rows {
                let [arrival, start, end, latency] = ["arrival_ns", "start_ns", "end_ns", "latency_ns"].map(|name| number(&row[name]));
                assert!(arrival <= start && start <= end && end - arrival == latency && former_end <= end, "{row:?}");
                former_end = end;
                assert_eq!(row["failed"], "false");
                assert_eq!(row["stripe"].is_empty(), row["op"] == "flush");
                let defers = entry.parity_cache.is_some() || entry.has_window;
                let allowed: &[&str] = match (entry.redundancy, row["op"].as_str()) {
                    (_, "read" | "flush") | (Redundancy::None, _) => &["none"],
                    (Redundancy::Copies, "write") => &["mirrored"],
                    (Redundancy::Copies, _) => &["none", "mirrored"],
                    (Redundancy::Parity, _) if entry.mirror_chips > 0 => &["none", "full_stripe", "rmw", "rcw", "mirrored", "mixed"],
                    (Redundancy::Parity, "write") if defers => &["full_stripe", "deferred", "mixed"],
                    (Redundancy::Parity, _) if entry.has_window => &["none", "full_stripe", "deferred", "mixed"],
                    (Redundancy::Parity, _) if defers => &["none", "full_stripe", "rmw", "rcw", "deferred", "mixed"],
                    (Redundancy::Parity, "write") => &["full_stripe", "rmw", "rcw", "mixed"],
                    (Redundancy::Parity, _) => &["none", "full_stripe", "rmw", "rcw", "mixed"],
                };
                assert!(allowed.contains(&row["method"].as_str()), "{scheme}: {row:?}");
            }
            check_starts(&run, &rows);
        }
    }
}

/// A request starts with its first slice on a bus; without any it starts when it ends.
fn check_starts(run: &Run, rows: &[BTreeMap<String, String>]) {
    let timeline = run.timeline();
    let mut first: BTreeMap<u64, u64> = BTreeMap::new();
    for event in timeline["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "bus") {
        if let Some(request) = event["args"]["request"].as_u64() {
            let start = nanoseconds(&event["ts"]);
            first.entry(request).and_modify(|first| *first = start.min(*first)).or_insert(start);
        }
    }
    assert!(first.len() > 100);
    for row in rows {
        let start = first.get(&number(&row["request"])).copied().unwrap_or(u64::MAX).min(number(&row["end_ns"]));
        assert_eq!(number(&row["start_ns"]), start, "{row:?}");
    }
}

#[test]
fn the_series_sums_to_the_result() {
    for (index, pairs) in variants().iter().enumerate() {
        for scheme in schemes_of(index) {
            let run = whole(&format!("series-{index}-{scheme}"), scheme, pairs);
            let (rows, result) = (run.table("series.csv"), &run.result);
            let sum = |name: &str| rows.iter().map(|row| number(&row[name])).sum::<u64>();
            let value = |pointer: &str| result.pointer(pointer).unwrap().as_u64().unwrap();
            for kind in KINDS {
                assert_eq!(sum(&format!("{kind}_requests")), value(&format!("/latency_ns/{kind}/count")), "{kind}");
            }
            assert_eq!(sum("failed_requests"), value("/requests/failed/no_space"));
            if !pairs.contains(&("warmup", "100")) {
                // Requests of the warm-up that end later count in the result's bytes only if they were measured.
                assert_eq!(sum("bytes_read"), value("/workload/bytes_read"));
                assert_eq!(sum("bytes_written"), value("/workload/bytes_written"));
            }
            for (action, key) in [("reads", "flash_reads"), ("programs", "flash_programs")] {
                let groups = ["host", "redundancy", "gc", "recovery", "other"];
                let all: u64 = groups.iter().map(|group| sum(&format!("{key}_{group}"))).sum();
                assert_eq!(all, value(&format!("/flash_ops/{action}/total")), "{scheme} {pairs:?}");
                let gc = value(&format!("/flash_ops/{action}/gc")) + value(&format!("/flash_ops/{action}/wear"));
                assert_eq!(sum(&format!("{key}_gc")), gc);
            }
            assert_eq!(sum("flash_erases"), value("/flash_ops/erases/total"));
            assert_eq!(sum("rebuilt_pages"), rebuilt_pages(result));
            check_intervals(&rows, result);
        }
    }
}

/// Also of requests that fail, in whichever intervals.
#[test]
fn the_series_sums_to_the_result_where_requests_fail() {
    let fail = "member:0@request:60,member:1@request:200";
    for scheme in ["raid0", "raid5"] {
        let run = whole(&format!("series-failed-{scheme}"), scheme, &[("fail", fail), ("rebuild", "none")]);
        let failed: Vec<u64> = run.table("series.csv").iter().map(|row| number(&row["failed_requests"])).collect();
        let value = |pointer: &str| run.result.pointer(pointer).unwrap().as_u64().unwrap();
        assert_eq!(failed.iter().sum::<u64>(), value("/requests/failed/no_space") + value("/requests/failed/lost"), "{scheme}");
        assert!(failed.iter().filter(|count| **count > 0).count() > 3, "{scheme}: {failed:?}");
    }
}

fn rebuilt_pages(result: &Value) -> u64 {
    result["rebuild"].as_array().unwrap().iter().map(|rebuild| rebuild["pages"].as_u64().unwrap()).sum()
}

/// Pages are counted in the intervals in which the rebuild runs.
#[test]
fn the_series_shows_the_progress_of_rebuilds() {
    let run = whole("series-rebuilt", "raid5", &[("fail", "chip:0.0@20ms"), ("spare_chips", "1")]);
    let (rows, rebuild) = (run.table("series.csv"), &run.result["rebuild"][0]);
    let at = |key: &str| rebuild[key].as_u64().unwrap();
    let runs = |row: &&BTreeMap<String, String>| {
        let start_ns = number(&row["start_ns"]);
        start_ns <= at("ended_ns") && start_ns + number(&row["length_ns"]) > at("started_ns")
    };
    let pages: Vec<u64> = rows.iter().filter(runs).map(|row| number(&row["rebuilt_pages"])).collect();
    assert!(at("pages") > 0 && pages.iter().filter(|pages| **pages > 0).count() > 2, "{pages:?}");
    assert_eq!((pages.iter().sum::<u64>(), at("pages")), (at("pages"), rebuilt_pages(&run.result)));
    assert_eq!(rows.iter().map(|row| number(&row["rebuilt_pages"])).sum::<u64>(), at("pages"));
}

/// Intervals follow each other, shares are shares, and each member's and bus's busy time is the result's.
fn check_intervals(rows: &[BTreeMap<String, String>], result: &Value) {
    let real = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<f64>().unwrap();
    for pair in rows.windows(2) {
        assert_eq!(number(&pair[0]["start_ns"]) + number(&pair[0]["length_ns"]), number(&pair[1]["start_ns"]));
        assert_eq!(number(&pair[0]["length_ns"]), 3_000_000);
    }
    let last = rows.last().unwrap();
    for (member, of) in result["members"].as_array().unwrap().iter().enumerate() {
        assert_eq!(last[&format!("member{member}_free_blocks")], of["free_blocks"].to_string());
        assert_eq!(last[&format!("member{member}_queue")], "0");
    }
    for row in rows {
        for name in row.keys().filter(|name| name.ends_with("_busy")) {
            // A spare SSD that is not in use has no share.
            let is_unused = row[name].is_empty() && name.starts_with("member");
            assert!(is_unused || (0.0..=1.0 + 1e-12).contains(&real(row, name)), "{name} {row:?}");
        }
        let planes =
            (0..result["members"].as_array().unwrap().len()).map(|member| number(&row[&format!("member{member}_plane_min_free_blocks")]));
        assert_eq!(planes.min().unwrap(), number(&row["plane_min_free_blocks"]));
        for kind in ["read", "write"] {
            let quantiles = ["p50", "p90", "p99", "p99_9", "max"].map(|name| row[&format!("{kind}_{name}_ns")].clone());
            assert_eq!(quantiles[0].is_empty(), row[&format!("{kind}_requests")] == "0");
            if !quantiles[0].is_empty() {
                assert!(quantiles.map(|cell| number(&cell)).is_sorted());
            }
        }
    }
    for (bus, of) in result["channels"].as_array().unwrap().iter().enumerate() {
        let busy = |row| real(row, &format!("bus{bus}_busy")) * number(&row["length_ns"]) as f64;
        let (busy_ns, expected) = (rows.iter().map(busy).sum::<f64>(), of["busy_ns"]["total"].as_f64().unwrap());
        assert!((busy_ns - expected).abs() < 1.0, "bus {bus}: {busy_ns} instead of {expected}");
    }
}

#[test]
fn an_interval_has_what_happened_in_it() {
    let first = whole("interval-first", "raid5", &[]).table("latency.csv")[0]["end_ns"].clone();
    // Something happens exactly where intervals meet: the first completion begins the second one.
    for interval_ns in [number(&first), 3_000_000] {
        let interval = format!("{interval_ns}ns");
        let asked = [("timeline_window", ".."), ("series_interval", interval.as_str())];
        let run = replay("interval", &golden_trace(), small("raid5", &[]), &asked, |_| true);
        let (rows, requests, slices) = (run.table("series.csv"), run.table("latency.csv"), slices(&run.timeline()));
        assert!(rows.len() > 10);
        let of_request = |time: u64| ((time / interval_ns) as usize).min(rows.len() - 1);
        let mut reads = vec![0; rows.len()];
        for row in requests.iter().filter(|row| row["op"] == "read") {
            reads[of_request(number(&row["end_ns"]))] += 1;
        }
        for (row, reads) in rows.iter().zip(reads) {
            assert_eq!(number(&row["read_requests"]), reads, "{row:?}");
            let (start, length) = (number(&row["start_ns"]), number(&row["length_ns"]));
            for bus in 0..4 {
                // Each channel has one die here, so every second thread is a bus.
                let of_bus = &slices[&(1 + 2 * bus)];
                let inside = |slice: &(u64, u64, String)| slice.1.min(start + length).saturating_sub(slice.0.max(start));
                let expected = of_bus.iter().map(inside).sum::<u64>() as f64 / length as f64;
                let share: f64 = row[&format!("bus{bus}_busy")].parse().unwrap();
                assert!((share - expected).abs() < 1e-9, "bus {bus}: {share} instead of {expected} in {row:?}");
                let of_die = slices[&(2 + 2 * bus)].iter().map(inside).sum::<u64>() as f64 / length as f64;
                let share: f64 = row[&format!("member{bus}_busy")].parse().unwrap();
                assert!((share - of_die).abs() < 1e-9, "die {bus}: {share} instead of {of_die} in {row:?}");
            }
        }
    }
}

/// A member's share is of the chips that it has: of two in the interval in which a spare chip takes the place of one that has worked.
#[test]
fn a_member_with_a_spare_chip_is_as_busy_as_both_its_chips() {
    let run = whole("interval-spare", "raid5", &[("spare_chips", "1"), ("fail", "chip:1.0@20ms")]);
    let slices = slices(&run.timeline());
    let mut with_both = 0;
    for row in run.table("series.csv") {
        let (start, length) = (number(&row["start_ns"]), number(&row["length_ns"]));
        let inside = |slice: &(u64, u64, String)| slice.1.min(start + length).saturating_sub(slice.0.max(start));
        let is_replaced = start + length > 20_000_000;
        let (mut all_ns, mut most_ns, mut all_chips) = (0, 0, 0);
        for member in 0..4 {
            // The threads of a channel: its bus, its chip, its spare chip.
            let busy_ns = [2, 3].map(|thread| slices.get(&(3 * member + thread)).into_iter().flatten().map(inside).sum::<u64>());
            let in_use = usize::from(member == 1 && is_replaced);
            let chips = (0..2).filter(|chip| *chip == in_use || busy_ns[*chip] > 0).count() as u64;
            let (sum_ns, share): (u64, f64) = (busy_ns.iter().sum(), row[&format!("member{member}_busy")].parse().unwrap());
            assert!(
                (share - sum_ns as f64 / (chips * length) as f64).abs() < 1e-9,
                "{member}: {share}, {chips} chips, {sum_ns} ns, {row:?}"
            );
            with_both += u64::from(chips == 2);
            (all_ns, most_ns, all_chips) = (all_ns + sum_ns, most_ns.max(busy_ns[0]).max(busy_ns[1]), all_chips + chips);
        }
        let real = |name: &str| row[name].parse::<f64>().unwrap();
        assert!((real("die_mean_busy") - all_ns as f64 / (all_chips * length) as f64).abs() < 1e-9, "{row:?}");
        assert!((real("die_max_busy") - most_ns as f64 / length as f64).abs() < 1e-9, "{row:?}");
    }
    assert_eq!(with_both, 1);
}

#[test]
fn a_timeline_shows_what_failed_and_the_rebuild() {
    let run = whole("failures", "raid5", &[("spare_chips", "1"), ("fail", "chip:1.0@20ms")]);
    let timeline = run.timeline();
    let of = |category: &str| -> Vec<Value> {
        timeline["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == category).cloned().collect()
    };
    let (faults, rebuilds) = (of("fault"), of("rebuild"));
    assert_eq!((faults.len(), faults[0]["name"].as_str(), faults[0]["ts"].as_f64()), (1, Some("chip:1.0"), Some(20_000.0)));
    assert_eq!((rebuilds.len(), rebuilds[0]["ts"].as_f64()), (1, Some(20_000.0)));
    assert_eq!(rebuilds[0]["args"]["finished"], true);
    assert!(rebuilds[0]["dur"].as_f64() > Some(1_000.0));
    assert!(timeline["traceEvents"].as_array().unwrap().iter().any(|event| event["cat"] == "die" && event["name"] == "rebuild"));
}

/// Slices of a timeline by thread: (start, end, cause), in nanoseconds.
fn slices(timeline: &Value) -> BTreeMap<u64, Vec<(u64, u64, String)>> {
    let mut slices: BTreeMap<u64, Vec<(u64, u64, String)>> = BTreeMap::new();
    for event in timeline["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X") {
        let (start, length) = (nanoseconds(&event["ts"]), nanoseconds(&event["dur"]));
        let cause = event["name"].as_str().unwrap().to_owned();
        slices.entry(event["tid"].as_u64().unwrap()).or_default().push((start, start + length, cause));
    }
    slices.values_mut().for_each(|slices| slices.sort());
    slices
}

/// Microseconds of at most some hours with three decimals, exactly.
fn nanoseconds(us: &Value) -> u64 {
    (us.as_f64().unwrap() * 1000.0).round() as u64
}

/// The time measured: that of the series.
fn measured_ns(run: &Run) -> std::ops::Range<u64> {
    let rows = run.table("series.csv");
    let (first, last) = (rows.first().unwrap(), rows.last().unwrap());
    number(&first["start_ns"])..number(&last["start_ns"]) + number(&last["length_ns"])
}

#[test]
fn busy_times_are_those_of_the_measured_time_alone() {
    let trace = own_trace("busy", "0,W,0,4096,,\n300,R,1048576,4096,,\n");
    let asked = [("timeline_window", ".."), ("series_interval", "3ms")];
    let run = replay("busy", &trace, config("tiny", "raid0", &[("warmup", "1"), ("fill", "0.5")]), &asked, |_| true);
    let (duration_ns, measured_ns) = (run.result["simulated_ns"].as_u64().unwrap(), measured_ns(&run));
    assert_eq!(measured_ns.start, 300_000);
    let mut busy_ns = 0;
    for (of, die) in run.result["members"].as_array().unwrap().iter().zip(run.result["dies"].as_array().unwrap()) {
        let fraction = of["busy_fraction"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&fraction), "{fraction}");
        busy_ns += die["busy_ns"]["total"].as_u64().unwrap();
        assert!((fraction - die["busy_ns"]["total"].as_f64().unwrap() / duration_ns as f64).abs() < 1e-12);
    }
    // The write of the warm-up is still at work when the read arrives.
    let slices = slices(&run.timeline());
    let of_dies = [2, 4, 6, 8].iter().flat_map(|thread| slices.get(thread).into_iter().flatten());
    assert!(of_dies.clone().any(|(start, end, _)| *start < 300_000 && 300_000 < *end));
    let inside = |slice: &(u64, u64, String)| slice.1.min(measured_ns.end).saturating_sub(slice.0.max(measured_ns.start));
    assert_eq!(busy_ns, of_dies.map(inside).sum::<u64>());
}

#[test]
fn slices_never_overlap_and_sum_to_the_busy_times_of_the_result() {
    for (index, pairs) in variants().iter().enumerate() {
        for scheme in schemes_of(index) {
            let run = whole(&format!("slices-{index}-{scheme}"), scheme, pairs);
            let slices = slices(&run.timeline());
            let measured_ns = measured_ns(&run);
            let inside = |start: &u64, end: &u64| (*end).min(measured_ns.end).saturating_sub((*start).max(measured_ns.start));
            for pair in slices.values().flat_map(|slices| slices.windows(2)) {
                assert!(pair[0].1 <= pair[1].0, "{scheme} {pairs:?}: {pair:?}");
            }
            let (buses, dies) = (run.result["channels"].as_array().unwrap(), run.result["dies"].as_array().unwrap());
            let dies_of_bus = dies.len() / buses.len();
            let mut by_track = Vec::new();
            for (bus, busy) in buses.iter().enumerate() {
                by_track.push(busy);
                by_track.extend(&dies[bus * dies_of_bus..(bus + 1) * dies_of_bus]);
            }
            for (thread, busy) in (1u64..).zip(by_track) {
                for (cause, expected) in busy["busy_ns"].as_object().unwrap().iter().filter(|(cause, _)| *cause != "total") {
                    let of_thread = slices.get(&thread).into_iter().flatten();
                    let sum: u64 = of_thread.filter(|slice| slice.2 == *cause).map(|(start, end, _)| inside(start, end)).sum();
                    assert_eq!(sum, expected.as_u64().unwrap(), "{scheme} {pairs:?}: thread {thread}, {cause}");
                }
            }
        }
    }
}

#[test]
fn the_timeline_follows_the_rules_of_trace_events() {
    for scheme in ["raid0", "raid5"] {
        let run = whole(&format!("rules-{scheme}"), scheme, &[]);
        let timeline = run.timeline();
        assert_eq!(timeline["displayTimeUnit"], "ns");
        assert_eq!(timeline["otherData"]["partial"], false);
        assert_eq!(timeline["otherData"]["config"], run.result["config"]);
        let mut named = BTreeSet::new();
        let mut open: BTreeMap<&str, u64> = BTreeMap::new();
        let mut counters: BTreeMap<&str, u64> = BTreeMap::new();
        let (mut with_request, mut ended) = (0, 0);
        for event in timeline["traceEvents"].as_array().unwrap() {
            for key in ["pid", "tid"] {
                assert!(event[key].is_u64(), "{event}");
            }
            let (name, phase) = (event["name"].as_str().unwrap(), event["ph"].as_str().unwrap());
            let thread = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            match phase {
                "M" => {
                    assert!(["process_name", "thread_name", "thread_sort_index"].contains(&name));
                    assert!(event["args"].is_object() && event["ts"].is_null());
                    named.insert(thread);
                }
                "X" => {
                    assert!(named.contains(&thread), "{event}");
                    assert!(event["ts"].is_number() && event["dur"].as_f64().unwrap() > 0.0);
                    assert!(event["args"]["action"].is_string() && event["args"]["ppn"].is_u64());
                    with_request += u64::from(event["args"]["request"].is_u64());
                }
                "C" => {
                    assert!(event["args"].as_object().unwrap().values().all(Value::is_u64) && event["ts"].is_number());
                    let former = counters.insert(name, nanoseconds(&event["ts"]));
                    assert!(former <= Some(nanoseconds(&event["ts"])), "{event}");
                }
                "b" => assert!(open.insert(event["id"].as_str().unwrap(), nanoseconds(&event["ts"])).is_none()),
                "e" => {
                    let began = open.remove(event["id"].as_str().unwrap()).unwrap();
                    assert!(began <= nanoseconds(&event["ts"]));
                    ended += 1;
                }
                other => panic!("phase {other}"),
            }
        }
        assert!(open.is_empty());
        assert_eq!(ended, run.result["workload"]["requests"].as_u64().unwrap());
        assert_eq!(counters.len(), 8, "queue and free blocks of each member");
        assert!(with_request > 0);
        for member in 0..4 {
            let name = format!("free blocks of member {member}");
            let last = timeline["traceEvents"].as_array().unwrap().iter().rfind(|event| event["name"] == name).unwrap();
            assert_eq!(last["args"]["blocks"], run.result["members"][member]["free_blocks"]);
        }
    }
}

#[test]
fn a_window_shows_what_is_in_it() {
    let (start, end) = (20_000_000, 31_000_000);
    let part = replay("window", &golden_trace(), small("raid5", &[]), &[("timeline_window", "20ms..31ms")], |_| true);
    let all = whole("window-all", "raid5", &[]);
    let inside = |slices: BTreeMap<u64, Vec<(u64, u64, String)>>| -> Vec<_> {
        let overlaps = |slice: &(u64, u64, String)| slice.0 < end && slice.1 > start;
        slices.into_iter().map(|(thread, slices)| (thread, slices.into_iter().filter(overlaps).collect::<Vec<_>>())).collect()
    };
    let (part, all) = (slices(&part.timeline()), slices(&all.timeline()));
    let total: usize = part.values().map(Vec::len).sum();
    assert!(total > 100 && total < all.values().map(Vec::len).sum());
    assert_eq!(part.clone().into_iter().collect::<Vec<_>>(), inside(all));
    let by_default = replay("window-default", &golden_trace(), small("raid5", &[("warmup", "100")]), &[], |_| true);
    let about = &by_default.timeline()["otherData"];
    let window = ["window_start_ns", "window_end_ns"].map(|key| about[key].as_u64().unwrap());
    let first = by_default.table("series.csv")[0]["start_ns"].clone();
    assert_eq!(window, [number(&first), number(&first) + 100_000_000]);
}

#[test]
fn a_run_that_is_stopped_leaves_complete_files() {
    let row = |index: usize| format!("{},{},{},4096,,\n", index * 500, ["R", "W"][index % 2], index * 7 % 1000 * 4096);
    let trace = own_trace("stopped", &(0..400_000).map(row).collect::<String>());
    let is_preparing = |stage| !matches!(stage, Stage::Replaying { .. });
    let run = replay("stopped", &trace, small("raid5", &[]), &[], is_preparing);
    assert_eq!(run.status, Status::Interrupted);
    assert_eq!(run.result["partial"], true);
    let timeline = run.timeline();
    assert_eq!(timeline["otherData"]["partial"], true);
    let completed = run.result["requests"]["completed"].as_u64().unwrap();
    assert_eq!(run.table("latency.csv").len() as u64, completed);
    let requests = |name: &str| run.table("series.csv").iter().map(|row| number(&row[name])).sum::<u64>();
    assert_eq!(KINDS.iter().map(|kind| requests(&format!("{kind}_requests"))).sum::<u64>(), completed);
    assert!(run.fio["jobs"][0]["read"]["total_ios"].is_u64());
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    for (pairs, expected) in [
        (vec![("serie", "x.csv")], "unknown output serie"),
        (vec![("series_interval", "1s")], "without an output that has intervals"),
        (vec![("timeline_window", "1s..2s")], "timeline_window without a timeline"),
        (vec![("series", "x.csv"), ("series_interval", "999ns")], "series_interval = 999ns: allowed is"),
        (vec![("timeline", "x.json"), ("timeline_window", "2s..1s")], "timeline_window = 2s..1s: allowed is START..END"),
    ] {
        let pairs: Vec<_> = pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let error = Outputs::from_pairs(&pairs).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let outputs = Outputs { series: Some("/no such folder/series.csv".into()), ..Outputs::default() };
    let error = run(&golden_trace(), small("raid0", &[]), &outputs, false, &mut |_| true).unwrap_err();
    assert!(error.is_input() && error.to_string().starts_with("series cannot be written: "), "{error}");
}

#[test]
fn windows_beyond_the_end_and_intervals_too_fine_for_the_histogram_log_are_said() {
    let asked = |pairs: &[(&str, &str)]| {
        let file = |key: &str| (key.to_owned(), own_folder().join(key).display().to_string());
        let mut all = vec![file("timeline"), file("hdr_log")];
        all.extend(pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())));
        let finished = run(&golden_trace(), small("raid0", &[]), &Outputs::from_pairs(&all).unwrap(), false, &mut |_| true).unwrap();
        finished.warnings.join("\n")
    };
    assert!(!asked(&[("timeline_window", "0s..1s"), ("series_interval", "3ms")]).contains("timeline is empty"));
    assert!(asked(&[("timeline_window", "9000s..9001s")]).contains("the timeline is empty: its window begins at 9000000000000 ns"));
    assert!(!asked(&[("series_interval", "3ms")]).contains("rounded to milliseconds"));
    assert!(asked(&[("series_interval", "250us")]).contains("intervals of 250000 ns: the HdrHistogram log rounds their times"));
}

/// Of three reads at one instant, of pages on three channels, the first is alone and the others are two and three under way, which is one class of
/// fio's; on its bus each is a command and, after the array, data.
#[test]
fn what_is_under_way_and_what_the_bus_does_for_a_read() {
    let trace = own_trace("three-reads", "10,R,0,4096,,\n10,R,4096,4096,,\n10,R,8192,4096,,\n");
    let run = replay("three-reads", &trace, small("raid0", &[]), &[("timeline_window", "..")], |_| true);
    let levels = &run.fio["jobs"][0]["iodepth_level"];
    let share = |name: &str| levels[name].as_f64().unwrap();
    assert!((share("1") - 100.0 / 3.0).abs() < 0.01 && (share("2") - 200.0 / 3.0).abs() < 0.01, "{levels}");
    let timeline = run.timeline();
    let events = timeline["traceEvents"].as_array().unwrap();
    let buses: Vec<(u64, &str)> = events
        .iter()
        .filter(|event| event["cat"] == "bus")
        .map(|event| (event["tid"].as_u64().unwrap(), event["args"]["action"].as_str().unwrap()))
        .collect();
    let names = |bus: u64| buses.iter().filter(|(tid, _)| *tid == bus).map(|(_, name)| *name).collect::<Vec<_>>();
    for (bus, _) in &buses {
        assert_eq!(names(*bus), ["read_command", "data_out"]);
    }
    assert_eq!(buses.len(), 6);
}
