//! The figures of a result that are derived from several counts, each against what it is defined to be.

use crate::support::{config, engine, own_trace, pages, small, tags};
use flashraid_sim::{Outputs, Simulation, Source, Status, run, verify};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use serde_json::Value;
use std::path::PathBuf;

const WRITE_NS: u64 = 302_575;

pub fn write(first: u64, count: u64) -> HostRequest {
    pages(HostOp::Write, first, count)
}

/// Writes a trace of requests at whole microseconds.
fn trace(name: &str, requests: &[(u64, HostRequest)]) -> PathBuf {
    let line = |(at_us, request): &(u64, HostRequest)| {
        let op = if request.op == HostOp::Read { 'R' } else { 'W' };
        format!("{at_us},{op},{},{},,\n", request.offset_bytes, request.size_bytes)
    };
    own_trace(name, &requests.iter().map(line).collect::<String>())
}

/// The result on the device `tiny`, and what the user is told.
pub fn replayed(name: &str, requests: &[(u64, HostRequest)], scheme: &str, pairs: &[(&str, &str)]) -> (Value, Vec<String>) {
    let finished = run(&trace(name, requests), config("tiny", scheme, pairs), &Outputs::default(), false, &mut |_| true).unwrap();
    (serde_json::from_str(&finished.json()).unwrap(), finished.warnings)
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

pub fn is_near(found: &Value, expected: f64) {
    assert!((number(found) - expected).abs() <= 1e-9 * expected.abs(), "{found}, expected {expected}");
}

/// 100 writes of two pages, 2 ms apart: light load, with time between them.
pub fn gentle() -> Vec<(u64, HostRequest)> {
    (0..100).map(|number| (2_000 * number, write(number * 7 % 240, 2))).collect()
}

#[test]
fn throughput_is_of_what_completed_until_the_host_had_its_last_answer() {
    let end_us = 99 * 2_000;
    for (scheme, fail) in [("raid5", ""), ("fra", ""), ("raid5", "chip:1.0@100%"), ("raid1", "chip:1.0@50%")] {
        let pairs = [("fill", "0.5"), ("verify", "true"), ("fail", fail), ("spare_chips", "1")];
        let (result, _) = replayed("throughput", &gentle(), scheme, &pairs);
        let bandwidth = &result["bandwidth"];
        let span_ns = number(&bandwidth["span_ns"]);
        // The last write waits for nobody: its latency is known but for the method.
        assert!((end_us * 1000 + WRITE_NS..=end_us * 1000 + 4 * WRITE_NS).contains(&(span_ns as u64)), "{scheme} {fail}: {span_ns}");
        is_near(&bandwidth["requests_per_second"], 100.0 * 1e9 / span_ns);
        is_near(&bandwidth["write_bytes_per_second"], 200.0 * 4096.0 * 1e9 / span_ns);
        if !fail.is_empty() {
            assert!(number(&result["simulated_ns"]) > span_ns, "{scheme} {fail}: the rebuild goes on");
        }
    }
}

#[test]
fn throughput_leaves_out_what_failed_and_what_was_not_measured() {
    let options = [("fill", "0.5"), ("fail", "channel:1@0ns"), ("warmup", "0.1s")];
    let (result, _) = replayed("failed", &gentle(), "raid0", &options);
    let of = &result["requests"];
    let (completed, failed) = (number(&of["completed"]), number(&of["failed"]["lost"]) + number(&of["failed"]["no_space"]));
    assert_eq!(completed + failed, 50.0);
    assert!(completed > 0.0 && failed > 0.0);
    let (bandwidth, span_ns) = (&result["bandwidth"], number(&result["bandwidth"]["span_ns"]));
    assert!(span_ns <= 49.0 * 2e6 + WRITE_NS as f64, "from the first measured arrival: {span_ns}");
    is_near(&bandwidth["requests_per_second"], completed * 1e9 / span_ns);
    is_near(&bandwidth["write_bytes_per_second"], completed * 8192.0 * 1e9 / span_ns);
}

/// What a rebuild does after the last request is no load, and no amplification of what the host wrote: everything is as without it.
#[test]
fn a_rebuild_after_the_last_request_changes_neither_load_nor_write_amplification() {
    for scheme in ["raid1", "raid5", "sirf1", "ppc"] {
        let rebuilt = |rebuild| {
            let pairs = [("fill", "0.5"), ("fail", "chip:1.0@100%"), ("spare_chips", "1"), ("rebuild", rebuild)];
            replayed(&format!("rebuild-{scheme}"), &gentle(), scheme, &pairs)
        };
        let ((without, _), (with, told)) = (rebuilt("none"), rebuilt("auto"));
        assert!(number(&with["flash_ops"]["programs"]["rebuild"]) > 1000.0, "{scheme}");
        is_near(&with["write_amplification_by"]["rebuild"], number(&with["flash_ops"]["programs"]["rebuild"]) / 200.0);
        for key in ["write_amplification", "pages_per_host_page"] {
            assert_eq!(with[key], without[key], "{scheme} {key}");
        }
        for key in ["offered_load", "busiest_load"] {
            assert_eq!(with["workload"][key], without["workload"][key], "{scheme} {key}");
        }
        assert!(!told.iter().any(|text| text.contains("offered load")), "{scheme}: {told:?}");
    }
}

/// Of every fifth write one page of four is on a channel that is dead: three are programmed, and the write fails. Its bytes are not written, so
/// neither are its programs part of what it took to write the others.
#[test]
fn programs_of_writes_that_failed_stand_apart() {
    let requests: Vec<_> = (0..100)
        .map(|number| (2_000 * (number + 1), if number % 5 == 0 { write(4 * number, 4) } else { write(4 * number + 1, 1) }))
        .collect();
    let (result, _) = replayed("failed-writes", &requests, "raid0", &[("fill", "0.5"), ("fail", "channel:0@1ms")]);
    assert_eq!(result["requests"]["failed"]["no_space"], 20);
    assert_eq!(number(&result["flash_ops"]["programs"]["host"]), 80.0 + 60.0);
    assert_eq!(number(&result["write_amplification"]), 1.0);
    assert_eq!(number(&result["pages_per_host_page"]), 1.0);
    is_near(&result["write_amplification_by"]["failed"], 60.0 / 80.0);
}

/// A rebuild that was over before the first request is no work of the measured time: members were as busy as without it.
#[test]
fn members_are_busy_from_the_first_arrival_on() {
    let late: Vec<_> = gentle().into_iter().map(|(at_us, request)| (at_us + 20_000_000, request)).collect();
    let busy = |name: &str, more: &[(&str, &str)]| -> Vec<f64> {
        let (result, _) = replayed(name, &late, "raid5", &[&[("fill", "0.5"), ("spare_chips", "1")], more].concat());
        result["members"].as_array().unwrap().iter().map(|member| number(&member["busy_fraction"])).collect()
    };
    let (rebuilt, without) = (busy("rebuilt-early", &[("fail", "chip:0.0@0s")]), busy("not-rebuilt", &[]));
    assert!(without.iter().all(|busy| (0.01..1.0).contains(busy)), "{without:?}");
    for (rebuilt, without) in rebuilt.iter().zip(&without) {
        assert!((rebuilt - without).abs() < 1e-9, "{rebuilt}, without a rebuild {without}");
    }
}

/// What a device survives is said of it as it was built, under every scheme, whatever is dead or still to be made up at the end.
#[test]
fn what_a_device_survives_is_said_as_it_was_built() {
    for scheme in ["raid5", "fra", "ppc", "sirf1"] {
        let survives = |name: &str, fail: &str| {
            let (result, _) =
                replayed(&format!("survives-{scheme}-{name}"), &gentle(), scheme, &[("fill", "0.5"), ("fail", fail), ("rebuild", "none")]);
            result["survives"].clone()
        };
        assert_eq!(survives("late", "chip:1.0@100%"), survives("early", "chip:1.0@10%,chip:2.0@20%"), "{scheme}");
        assert_eq!(survives("early", "chip:1.0@10%")["channel"], true, "{scheme}");
    }
}

/// How many failures at once a scheme survives is in its results.
#[test]
fn a_result_says_how_many_failures_are_survived_at_once() {
    for (scheme, expected) in [("raid0", 0), ("raid1", 1), ("raid5", 1), ("raid6", 2), ("sirf1", 1)] {
        let (result, _) = replayed(&format!("failures-{scheme}"), &gentle()[..2], scheme, &[("channels", "4")]);
        assert_eq!(result["survives_failures"], expected, "{scheme}");
    }
}

/// What fra makes up in idle time is no load either, as it leaves whenever a request comes; but it is amplification.
#[test]
fn parities_in_idle_time_are_redundancy_and_no_load() {
    let (fra, _) = replayed("idle", &gentle(), "fra", &[("fill", "0.5")]);
    let (raid0, _) = replayed("idle", &gentle(), "raid0", &[("fill", "0.5")]);
    assert!(number(&fra["workload"]["offered_load"]) <= 1.01 * number(&raid0["workload"]["offered_load"]), "{}", fra["workload"]);
    let parts = &fra["write_amplification_by"];
    is_near(&parts["host"], 1.0);
    is_near(&parts["redundancy"], number(&fra["flash_ops"]["programs"]["commit"]) / 200.0);
    is_near(&fra["write_amplification"], number(&parts["host"]) + number(&parts["redundancy"]));
}

/// What a drain writes stands apart too.
#[test]
fn a_drain_is_no_amplification_of_what_came_before() {
    let requests: Vec<_> = (0..8).map(|number| (1_000 * number, write(3 * number, 1))).collect();
    let [kept, drained] = ["false", "true"].map(|drain| {
        let pairs = [("fill", "0.5"), ("nvram_buffer_bytes", "1048576"), ("drain", drain)];
        replayed(&format!("drain-{drain}"), &requests, "raid5", &pairs).0
    });
    assert_eq!(kept["write_amplification"], 0.0);
    assert_eq!(drained["write_amplification"], 0.0);
    is_near(&drained["write_amplification_by"]["drain"], number(&drained["drain"]["flash_ops"]["programs"]["total"]) / 8.0);
    assert!(number(&drained["write_amplification_by"]["drain"]) >= 2.0);
}

/// Forty writes at once are the warm-up; the one that is measured finds them waiting.
#[test]
fn programs_of_the_warm_up_are_no_amplification_of_what_is_measured() {
    let mut requests: Vec<_> = (0..40).map(|number| (0, write(4 * number, 8))).collect();
    requests.push((1, write(400, 1)));
    for (scheme, host, redundancy) in [("raid0", 1.0, 0.0), ("raid1", 1.0, 1.0), ("raid5", 1.0, 1.0)] {
        let (result, _) = replayed("warmup", &requests, scheme, &[("fill", "0.5"), ("warmup", "40")]);
        let parts = &result["write_amplification_by"];
        assert_eq!((number(&parts["host"]), number(&parts["redundancy"])), (host, redundancy), "{scheme}: {parts}");
        assert_eq!(number(&result["write_amplification"]), host + redundancy, "{scheme}");
        let total = number(&result["flash_ops"]["programs"]["total"]);
        is_near(&parts["warmup"], total - host - redundancy);
        assert!(total > 200.0, "{scheme}: most of the warm-up runs while measuring: {total}");
    }
}

/// Measuring may begin at time 0, with requests of the warm-up under way.
#[test]
fn measuring_may_begin_when_the_warm_up_begins() {
    let requests: Vec<_> = (0..20).map(|number| (0, write(number, 1))).collect();
    for (scheme, queue_depth, warmup) in [("raid0", "0", "1"), ("raid0", "2", "1"), ("raid5", "8", "7"), ("raid1", "0", "19")] {
        let pairs = [("queue_depth", queue_depth), ("warmup", warmup)];
        let (result, _) = replayed(&format!("warmup-at-0-{scheme}-{warmup}"), &requests, scheme, &pairs);
        assert_eq!(result["requests"]["completed"], 20 - warmup.parse::<u64>().unwrap(), "{scheme}");
    }
}

/// What is left out is no request of the warm-up.
#[test]
fn a_warm_up_counts_only_what_is_replayed() {
    let beyond = 1 << 40;
    let requests: Vec<_> = (0..40).map(|number| (number, write(if number < 10 { beyond } else { number }, 1))).collect();
    let (result, _) = replayed("left-out", &requests, "raid0", &[("on_error", "skip"), ("warmup", "12")]);
    let work = &result["workload"];
    assert_eq!([&work["left_out"], &work["warmup_requests"], &work["requests"]], [&Value::from(10), &12.into(), &18.into()]);
}

// ---- the exposure window ----

/// What is counted as operations end is what verification finds by trying every failure: under GC, discards and sub-page writes.
#[test]
fn exposed_pages_are_those_that_verification_finds() {
    for completes in ["program_end", "data_in"] {
        let config = small("fra", &[("verify", "true"), ("write_completes", completes)]);
        let mut engine = engine(&config, tags(&config));
        engine.fill(engine.space_pages() * 9 / 10);
        let (space, mut random, mut most) = (engine.space_pages(), SplitMix64::new(7), 0);
        let mut below = |end: u64| random.next_u64() % end;
        for _ in 0..1500 {
            let op = [HostOp::Write, HostOp::Write, HostOp::Write, HostOp::Trim, HostOp::Read][below(5) as usize];
            let (first, count) = (below(space - 4), 1 + below(4));
            let mut request = pages(op, first, count);
            request.size_bytes -= if op == HostOp::Write { below(8) * 512 } else { 0 };
            engine.submit(&request, true);
            let gap_ns = if below(20) == 0 { 3_000_000 } else { below(400_000) };
            engine.advance_until(engine.now_ns() + gap_ns).unwrap();
            let exposed = engine.survey().exposure.expect("fra has a window").pages;
            assert_eq!(exposed, verify::stored(&engine).pages_lost, "at {} ns", engine.now_ns());
            most = most.max(exposed);
        }
        assert!(engine.executor.media.nand().counts()[2].iter().sum::<u64>() > 20, "collections ran");
        assert!(most > 10);
        assert!(engine.survey().exposure.unwrap().peak_pages >= most);
        engine.finish().unwrap();
        assert_eq!(engine.survey().exposure.unwrap().pages, verify::stored(&engine).pages_lost);
    }
}

/// One write: its page is exposed from its end until its parity is made, which takes the idle drive a read of the stripe and a program.
#[test]
fn the_window_of_one_write_is_as_long_as_it_takes_to_make_its_parity() {
    let (result, _) = replayed("window", &[(0, write(0, 1))], "fra", &[("fill", "0.5")]);
    let (window, simulated_ns) = (&result["window"], number(&result["simulated_ns"]));
    assert_eq!((&window["peak_pages"], &window["pages"]), (&1.into(), &0.into()));
    assert_eq!(number(&window["exposed_ns"]), simulated_ns - WRITE_NS as f64);
    assert_eq!(simulated_ns, (WRITE_NS + 122_575 + WRITE_NS) as f64);
    is_near(&window["mean_pages"], number(&window["exposed_ns"]) / simulated_ns);
    // Answered with the data in the chip's registers, it is exposed while they are programmed, too.
    // A read of its stripe that ends meanwhile changes nothing.
    let requests = [(0, write(0, 1)), (0, pages(HostOp::Read, 1, 1))];
    let exposed_ns = |completes| {
        let pairs = [("fill", "0.5"), ("write_completes", completes)];
        number(&replayed(&format!("window-{completes}"), &requests, "fra", &pairs).0["window"]["exposed_ns"])
    };
    assert_eq!(exposed_ns("data_in"), exposed_ns("program_end") + 200_000.0);
    // Two pages written during the warm-up, whose parities wait for the drive to be idle, are exposed when measuring begins.
    let requests = [(0, write(0, 1)), (0, write(7, 1)), (340, pages(HostOp::Read, 0, 1))];
    let (result, _) = replayed("window-warm", &requests, "fra", &[("fill", "0.5"), ("warmup", "2")]);
    assert_eq!(result["window"]["peak_pages"], 2, "both are exposed before");
    assert_eq!(replayed("no-window", &requests, "raid5", &[]).0["window"], Value::Null);
}

/// The checks between requests find one page exposed three times: it is one page, and it is said when.
#[test]
fn what_verification_finds_is_said_once_with_its_time() {
    let requests = [(0, write(0, 1)), (310, write(40, 1)), (320, write(80, 1)), (330, write(120, 1))];
    let pairs = [("fill", "0.5"), ("verify", "true"), ("verify_every", "1")];
    let finished = run(&trace("checks", &requests), config("tiny", "fra", &pairs), &Outputs::default(), false, &mut |_| true).unwrap();
    let result: Value = serde_json::from_str(&finished.json()).unwrap();
    let verify = &result["verify"];
    assert_eq!(finished.status, Status::Violation);
    assert_eq!((&verify["checks"], &verify["checks_failed"], &verify["pages_lost"]), (&5.into(), &3.into(), &1.into()));
    assert_eq!((&verify["first_failed_ns"], &verify["last_failed_ns"]), (&310_000.into(), &330_000.into()));
    let said = "verification: 1 page would have been lost if a member had failed; that is the exposure window of fra (3 of 5 checks failed, the first at 0.00031 s, the last at 0.00033 s)";
    assert_eq!(finished.warnings.last().unwrap(), said);
}

// ---- losses, requests that failed, spare space ----

/// RAID-5 answers when the data are programmed; then the chips of the strip and of its parity die, of a page that was never written before.
#[test]
fn what_an_early_answer_cost_is_said() {
    let pairs = [("parity_in_response", "false"), ("fail", "channel:0@400us,channel:3@400us")];
    let requests = [(0, write(5, 1)), (0, write(0, 1)), (10_000, pages(HostOp::Read, 0, 1))];
    let finished = run(&trace("early", &requests), config("tiny", "raid5", &pairs), &Outputs::default(), false, &mut |_| true).unwrap();
    let result: Value = serde_json::from_str(&finished.json()).unwrap();
    let failed = &result["requests"]["failed"];
    assert_eq!((&result["losses"]["host_pages"], &failed["lost"], &failed["no_space"]), (&1.into(), &1.into(), &0.into()));
    let said = "1 host page is lost: their writes were acknowledged (write_completes, parity_in_response) before a part failed, and could then not allocate all flash pages that they need";
    assert!(finished.warnings.iter().any(|warning| warning == said), "{:?}", finished.warnings);
}

/// Translation pages of which both copies are lost are no host pages.
#[test]
fn a_lost_map_is_told_apart_from_lost_pages() {
    let pairs = [
        ("fill", "0.5"),
        ("verify", "true"),
        ("mapping", "dftl"),
        ("over_provisioning", "0.2"),
        ("cmt_entries", "64"),
        ("fail", "channel:0@request:50,channel:1@request:90"),
    ];
    let (result, _) = replayed("lost-map", &gentle(), "raid5", &pairs);
    assert_eq!(result["verify"]["pages_gone"], result["losses"]["host_pages"]);
    assert!(result["verify"]["map_pages_gone"].as_u64().unwrap() > 0);
}

/// RAID-4 is RAID-5 with the parity on the last member, in every figure; all other layouts differ from each other.
#[test]
fn a_layout_says_where_parities_go() {
    let of = |scheme: &str, layout: &[(&str, &str)]| {
        let (result, _) = replayed("layouts", &gentle(), scheme, &[&[("fill", "0.5"), ("update", "rmw")], layout].concat());
        let parities: Vec<f64> = result["members"].as_array().unwrap().iter().map(|member| number(&member["parity_share"])).collect();
        (parities, result["latency_ns"].clone(), result["members"].clone(), result["dies"].clone())
    };
    assert_eq!(of("raid4", &[]), of("raid5", &[("layout", "last_member")]));
    assert_eq!(of("raid4", &[]).0, [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(of("raid5", &[]), of("raid5", &[("layout", "left_asymmetric")]));
    let layouts = ["left_asymmetric", "left_symmetric", "right_asymmetric", "right_symmetric"];
    let found = layouts.map(|layout| of("raid5", &[("layout", layout)]));
    assert!(found.iter().all(|(parities, ..)| parities.iter().all(|share| (0.2..0.3).contains(share))), "{found:?}");
    let members = found.map(|(_, _, members, _)| members);
    assert!((0..4).all(|one| (0..one).all(|other| members[one] != members[other])), "{members:?}");
}

/// A share of the space is that of the decimal number that was asked for.
#[test]
fn a_share_of_the_space_is_exact() {
    for percent in 1..=100u64 {
        let fill = format!("{}.{:02}", percent / 100, percent % 100);
        let (result, _) = replayed("filled", &gentle()[..1], "raid0", &[("space_bytes", "409600"), ("fill", &fill)]);
        // The trace writes the first two pages.
        assert_eq!(result["capacity"]["live_pages"], percent.max(2), "{fill}");
    }
}

/// Page 0 is written to NVRAM, and its channel is dead when it leaves. Its stripe still has what it held before.
#[test]
fn what_a_buffer_cannot_write_is_one_story() {
    let read = |page| pages(HostOp::Read, page, 1);
    let requests = [(0, read(2)), (100_000, write(0, 1)), (200_000, write(1, 1)), (300_000, read(0))];
    let pairs =
        [("fill", "0.5"), ("nvram_buffer_bytes", "4096"), ("destage", "when_full"), ("fail", "channel:0@request:2"), ("verify", "true")];
    let (result, told) = replayed("buffer-lost", &requests, "fra", &pairs);
    assert_eq!((&result["losses"]["host_pages"], &result["verify"]["pages_gone"]), (&1.into(), &1.into()));
    assert_eq!((&result["requests"]["completed"], &result["requests"]["failed"]["lost"]), (&3.into(), &1.into()));
    assert_eq!(result["verify"]["mismatches"], 0);
    let lost = "1 eviction failed after the host's write was acknowledged: 1 host page is lost";
    let found: Vec<_> = told.iter().filter(|warning| warning.contains("lost")).collect();
    assert_eq!(found, ["1 request failed because data were lost", lost], "{told:?}");
}

/// 40 pages are in NVRAM when a channel dies; a quarter of them has no place any more.
#[test]
fn what_a_drain_cannot_write_is_lost_like_anything_else() {
    let requests: Vec<_> = (0..40).map(|page| (0, write(page, 1))).collect();
    for key in ["nvram_buffer_bytes", "buffer_bytes"] {
        let pairs = [(key, "1048576"), ("fail", "channel:0@request:40"), ("drain", "true"), ("verify", "true")];
        let (result, told) = replayed(&format!("drain-lost-{key}"), &requests, "raid0", &pairs);
        assert_eq!((&result["drain"]["pages"], &result["drain"]["flash_ops"]["programs"]["total"]), (&30.into(), &30.into()), "{key}");
        assert_eq!((&result["losses"]["host_pages"], &result["verify"]["pages_gone"]), (&10.into(), &10.into()), "{key}");
        // Of DRAM the flush is told that drains it.
        let failed = if key == "buffer_bytes" { 0 } else { 10 };
        assert_eq!(result["buffer"]["failed_evictions"], serde_json::json!({ "no_space": failed, "lost": 0 }));
        let lost = told.iter().filter(|warning| warning.contains("10 host pages are lost")).count();
        assert_eq!((lost, told.iter().filter(|warning| warning.contains("lost")).count()), (1, 1), "{told:?}");
    }
}

/// What verification finds gone is what the result and the warning say is lost.
#[test]
fn losses_are_one_story() {
    let (result, told) = replayed("losses", &gentle(), "raid0", &[("fill", "0.5"), ("verify", "true"), ("fail", "channel:1@50%")]);
    let lost = result["losses"]["host_pages"].as_u64().unwrap();
    assert!(lost > 1000);
    assert_eq!(result["verify"]["pages_gone"], lost);
    assert_eq!(result["verify"]["pages_lost"], 0);
    assert!(told.contains(&format!("{lost} host pages are lost: more parts failed than the scheme survives")), "{told:?}");
    let failed = &result["requests"]["failed"];
    let no_space = failed["no_space"].as_u64().unwrap();
    assert!(no_space > 0);
    let said = format!("{no_space} of 100 requests failed for lack of space: parts of the device have failed, and no free page is left");
    assert!(told.iter().any(|text| text.starts_with(&said)), "{told:?}");
}

/// Each count of the trace's reader stands at its own key.
#[test]
fn what_became_of_a_trace_is_told_count_by_count() {
    let mut simulation = Simulation::new(config("tiny", "raid0", &[]), |_| true).unwrap();
    simulation.finish().unwrap();
    let source = Source {
        name: "a.csv".into(),
        sha256: "ab".into(),
        format: "msr".into(),
        time_unit: "100ns".into(),
        devices: 2,
        skipped: 3,
        ignored: [("note".to_owned(), 4)].into(),
        unsupported: [("zone appends".to_owned(), 13)].into(),
        lost_events: 14,
        reissued: 15,
        truncated: 1,
        warnings: vec!["waits are in microseconds".to_owned()],
        spread_tick_ns: Some(16),
        out_of_order: 5,
        steps_back: 6,
        filtered: 7,
        unaligned: 8,
        wrapped: 9,
        compacted: None,
        left_out: 10,
        warmup_requests: 11,
        passes: 12,
    };
    let workload = serde_json::to_value(simulation.result(&source, false, None).unwrap().workload).unwrap();
    let expected = serde_json::to_value(&source).unwrap();
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&workload[key], value, "{key}");
    }
}

/// The counts of a whole run are those of its first part and those of what is measured after a warm-up of that part.
#[test]
fn a_warm_up_is_taken_from_every_count() {
    const FIRST: &str = "60";
    let mut requests = gentle();
    for (number, (_, request)) in requests.iter_mut().enumerate() {
        *request = pages(if number % 3 == 0 { HostOp::Read } else { HostOp::Write }, number as u64 * 37 % 900, 2);
    }
    let small = [("fill", "0.5"), ("blocks_per_plane", "20"), ("over_provisioning", "0.5")];
    let dftl = [("mapping", "dftl"), ("cmt_entries", "8")];
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);
    let slc = [
        ("mapping_unit_bytes", "1024"),
        ("program_pages", "2"),
        ("pages_per_block", "8"),
        ("blocks_per_plane", "160"),
        ("gc_blocking_scope", "none"),
        ("power_loss_protection", "true"),
        ("slc_static", "2"),
    ];
    let cases: [Case; 5] = [
        // What is folded at rest differs with the end of the run.
        ("raid5", &slc, "slc", &["units_written"]),
        ("raid5", &dftl, "mapping", &["cmt_hits", "cmt_misses", "evictions", "dirty_evictions", "in_hand"]),
        (
            "raid5",
            &[("buffer_bytes", "65536"), ("destage", "when_full")],
            "buffer",
            &["hits", "misses", "read_hits", "read_misses", "write_hits", "write_misses", "evictions", "pages_written_out"],
        ),
        (
            "raid5",
            &[("nvram_buffer_bytes", "65536"), ("destage", "when_full")],
            "buffer",
            &["hits", "misses", "write_hits", "write_misses", "evictions", "pages_written_out"],
        ),
        (
            "ppc",
            &[("parity_cache_bytes", "16384")],
            "guard",
            &["hits", "misses", "commits_replacement", "commit_reads_replacement", "widened", "widen_reads"],
        ),
    ];
    for (scheme, more, part, keys) in cases {
        let figures = |name: &str, pairs: &[(&str, &str)]| {
            let (result, _) = replayed(&format!("warm-{scheme}-{part}-{name}"), &requests, scheme, &[&small, more, pairs].concat());
            let figure = |key: &&str| result[part][*key].as_u64().unwrap_or_else(|| panic!("{scheme}: {part}.{key} in {}", result[part]));
            keys.iter().map(figure).collect::<Vec<_>>()
        };
        let (all, first, rest) = (figures("all", &[]), figures("first", &[("limit", FIRST)]), figures("rest", &[("warmup", FIRST)]));
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(all[index], first[index] + rest[index], "{scheme} {part}.{key}");
        }
        assert!(first.iter().chain(&rest).filter(|count| **count > 0).count() >= keys.len(), "{scheme} {part}: {first:?}, {rest:?}");
    }
}

/// The most that was there at once is at least what a look after each request finds, and more than what idle time leaves.
#[test]
fn the_most_old_pages_are_more_than_those_of_the_end() {
    let mut simulation = Simulation::new(small("fra", &[("fill", "0.9")]), |_| true).unwrap();
    let old_pages = |simulation: &Simulation| {
        let guard = simulation.result(&Source::default(), false, None).unwrap().guard.unwrap();
        (guard.old_pages, guard.most_old_pages)
    };
    let (mut found, pages) = (0, simulation.space_bytes() / 4096);
    for number in 0..300 {
        simulation.submit(&HostRequest { arrival_ns: number * 20_000, ..write(number * 37 % (pages - 2), 1) }).unwrap();
        let (now, most) = old_pages(&simulation);
        found = found.max(now);
        assert!(most >= found, "{number}: {most}, found {found}");
    }
    simulation.finish().unwrap();
    let (now, most) = old_pages(&simulation);
    assert!(now < found && found <= most, "{now} at the end, {found} found, {most} at most");
}

#[test]
fn steady_is_reached_or_it_is_said_that_it_is_not() {
    let requests = [(0, pages(HostOp::Read, 0, 1))];
    let path = trace("steady", &requests);
    let reached = |settings: &[(&str, &str)]| {
        let config = small("raid5", settings);
        let finished = run(&path, config, &Outputs::default(), false, &mut |_| true).unwrap();
        // Others are about when GC starts on so small a drive.
        let told: Vec<_> = finished.warnings.iter().filter(|warning| warning.contains("steady state")).cloned().collect();
        (serde_json::from_str::<Value>(&finished.json()).unwrap()["precondition"].clone(), told)
    };
    let (precondition, told) = reached(&[("precondition", "steady")]);
    assert_eq!((&precondition["steady"], told.len()), (&true.into(), 0), "{told:?}");
    let aligned = reached(&[("precondition", "steady"), ("gc_phases", "aligned")]).0;
    assert_eq!(aligned, reached(&[("precondition", "random:20")]).0);
    assert!(precondition["overwritten_bytes"].as_u64() > aligned["overwritten_bytes"].as_u64(), "each plane goes on for a part of its way");
    let (precondition, told) = reached(&[("precondition", "random:0.5")]);
    assert_eq!(precondition["steady"], false);
    assert!(told[0].starts_with("GC did not reach steady state although 0.5 times"), "{told:?}");
}

/// Busy shares are of the dies in use: those of spare chips are none, and a chip that was replaced and the one in its place are one.
#[test]
fn spare_chips_have_no_share_in_the_time() {
    let requests: Vec<_> = (0..20).map(|number| (number * 900, write(number * 7 % 40, 2))).collect();
    let share = |result: &Value, dies: std::ops::Range<usize>| {
        let busy_ns = |die: &Value| die["busy_ns"]["total"].as_u64().unwrap();
        result["dies"].as_array().unwrap()[dies].iter().map(busy_ns).sum::<u64>() as f64 / result["simulated_ns"].as_f64().unwrap()
    };
    let is_close = |found: &Value, expected: f64| {
        assert!(expected > 0.0 && (found["busy_fraction"].as_f64().unwrap() - expected).abs() < 1e-12, "{found}: {expected}");
    };
    // Each SSD has two channels of one chip and a spare one.
    let (array, _) = replayed("busy-array", &requests, "raid0", &[("devices", "4"), ("channels", "2"), ("spare_chips", "1")]);
    assert_eq!(array["dies"].as_array().unwrap().len(), 4 * 4);
    for kind in ["devices", "members"] {
        for (number, ssd) in array[kind].as_array().unwrap().iter().enumerate() {
            is_close(ssd, share(&array, 4 * number..4 * number + 4) / 2.0);
        }
    }
    let (device, _) = replayed("busy-device", &requests, "raid5", &[("spare_chips", "1"), ("fail", "chip:1.0@request:8")]);
    assert_eq!(device["dies"].as_array().unwrap().len(), 4 * 2);
    assert!(share(&device, 2..3) > 0.0 && share(&device, 3..4) > 0.0, "the spare chip is at work");
    for (number, member) in device["members"].as_array().unwrap().iter().enumerate() {
        is_close(member, share(&device, 2 * number..2 * number + 2));
    }
}
