//! A device does not know what time it is: the same requests at another time take as long, count as much and find the same. Moved are they
//! across every power of two at which a number of some width or an IEEE double ends, up to the latest time of all.

use crate::support::{config, small};
use flashraid_redundancy::SCHEMES;
use flashraid_sim::{Config, RunError, Simulation, Source};
use flashraid_vocabulary::{HostOp, HostRequest};
use serde_json::{Value, json};

const HOUR_NS: u64 = 3_600_000_000_000;
const LATEST_NS: u64 = i64::MAX as u64;
const REQUESTS: u64 = 600;

/// Requests of a random walk, most of them close to each other in time, with pauses.
fn requests(space_bytes: u64, seed: u64) -> Vec<HostRequest> {
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut arrival_ns = 0;
    let sectors = space_bytes / 512;
    (0..REQUESTS)
        .map(|_| {
            arrival_ns += [0, 1_000, draw(300_000), draw(2_000_000)][draw(4) as usize];
            let op =
                [HostOp::Write, HostOp::Write, HostOp::Write, HostOp::Read, HostOp::Read, HostOp::Trim, HostOp::Flush][draw(7) as usize];
            let size = [8, 8, 16, 3, 1 + draw(64)][draw(5) as usize];
            let place = if draw(2) == 0 { draw(sectors - size) } else { draw((sectors / 8).max(size + 1) - size) / 8 * 8 };
            let (offset_bytes, size_bytes) = if op == HostOp::Flush { (0, 0) } else { (place * 512, size * 512) };
            HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }
        })
        .collect()
}

/// Submits requests so much later.
fn submit(simulation: &mut Simulation, requests: &[HostRequest], start_ns: u64) {
    for request in requests {
        let request = HostRequest { arrival_ns: start_ns + request.arrival_ns, ..*request };
        simulation.submit(&request).expect("a legal request");
    }
}

/// What a run at `start_ns` comes to: when each request completed, counted from there, and the result with all times moved back.
fn run(config: &Config, fault: &str, start_ns: u64) -> (Vec<(u64, u64, bool)>, Value, u64) {
    let mut simulation = Simulation::new(config.clone(), |_| true).expect("a legal device");
    let all = requests(simulation.space_bytes(), 7);
    let (before, after) = all.split_at(all.len() / 2);
    submit(&mut simulation, before, start_ns);
    if !fault.is_empty() {
        simulation.fail(fault).expect("a part of the device");
        simulation.verify().expect("contents are tracked");
    }
    submit(&mut simulation, after, start_ns);
    simulation.finish().expect("the end");
    simulation.verify().expect("contents are tracked");
    let completed = simulation.take_completed();
    assert_eq!(completed.len(), all.len());
    let times = completed.iter().map(|completed| (completed.sequence, completed.completed_ns - start_ns, completed.ok)).collect();
    let result = simulation.result(&Source::default(), false, None).expect("figures that agree");
    let mut result = serde_json::to_value(result).expect("JSON");
    assert_eq!(result["verify"]["mismatches"], 0);
    move_back(&mut result, start_ns);
    (times, result, simulation.now_ns() - start_ns)
}

/// Counts the absolute times of a result from the first request on: `simulated_ns`, and when parts failed, rebuilds began and ended, and checks
/// found something wrong.
/// Everything else is the same whenever it happens.
fn move_back(result: &mut Value, start_ns: u64) {
    let back = |time_ns: &mut Value| {
        if let Some(found) = time_ns.as_u64() {
            *time_ns = json!(found.checked_sub(start_ns).expect("nothing happens before the first request"));
        }
    };
    back(&mut result["simulated_ns"]);
    ["first_failed_ns", "last_failed_ns"].into_iter().for_each(|key| back(&mut result["verify"][key]));
    for fault in result["faults"].as_array_mut().expect("a list") {
        back(&mut fault["at_ns"]);
    }
    for rebuild in result["rebuild"].as_array_mut().expect("a list") {
        ["started_ns", "ended_ns", "finished_ns"].into_iter().for_each(|key| back(&mut rebuild[key]));
        rebuild["failed"].as_array_mut().expect("a list").iter_mut().for_each(|failed| back(&mut failed["at_ns"]));
    }
}

/// Runs now, and so that the middle of the run lies at each boundary, and that it ends at the latest time.
fn moves(config: &Config, fault: &str) {
    let what = format!("{} on {}, {fault}", config.scheme.name, config.device.name);
    let (times, result, length_ns) = run(config, fault, 0);
    let middle_ns = times[times.len() / 2].1;
    let boundaries = [40 * HOUR_NS, 1 << 47, 1 << 48, 7 * 24 * HOUR_NS, 1 << 53, 1 << 54, 1 << 62];
    for start_ns in boundaries.map(|boundary_ns| boundary_ns - middle_ns).into_iter().chain([LATEST_NS - length_ns]) {
        let (moved_times, moved_result, _) = run(config, fault, start_ns);
        assert_eq!(moved_times, times, "{what}: at {start_ns} ns");
        assert_eq!(moved_result, result, "{what}: at {start_ns} ns");
    }
    // One nanosecond more, and it would not end in time.
    let mut late = Simulation::new(config.clone(), |_| true).expect("a legal device");
    late.advance_until(LATEST_NS).expect("the latest time");
    late.submit(&HostRequest { arrival_ns: LATEST_NS, offset_bytes: 0, size_bytes: 4096, op: HostOp::Write, stream: 0, source: 0 })
        .unwrap();
    let refused = RunError::from(late.finish().expect_err("nothing ends later"));
    assert!(refused.is_input(), "{refused}");
    assert!(refused.to_string().ends_with("after the latest simulated time of 9223372036854775807 ns (292 years)"), "{refused}");
}

fn on(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let mut all = vec![("verify", "true")];
    all.extend(pairs);
    small(scheme, &all)
}

#[test]
fn schemes_without_failures() {
    let schemes = SCHEMES.iter().map(|scheme| scheme.name);
    schemes.for_each(|scheme| moves(&on(scheme, &[]), ""));
}

#[test]
fn buses_units_and_orders() {
    for pairs in [
        [("member", "chip"), ("scheduling", "fifo"), ("serial_subrequests", "strict"), ("over_provisioning", "0.4")],
        [("lun", "chip"), ("multi_plane", "true"), ("write_completes", "data_in"), ("over_provisioning", "0.4")],
        [("channels", "6"), ("gc_blocking_scope", "channel"), ("parity_in_response", "false"), ("over_provisioning", "0.4")],
        [("channels", "3"), ("copyback", "true"), ("allocation", "static"), ("over_provisioning", "0.4")],
    ] {
        moves(&on("raid5", &pairs), "");
    }
    let many = [
        ("verify", "true"),
        ("channels", "16"),
        ("chips_per_channel", "8"),
        ("blocks_per_plane", "16"),
        ("pages_per_block", "8"),
        ("over_provisioning", "0.2"),
    ];
    moves(&config("tiny", "raid0", &many), "");
}

#[test]
fn buffers_and_maps_on_flash() {
    for scheme in ["raid0", "raid5", "cr5m"] {
        moves(&on(scheme, &[("buffer_bytes", "32768")]), "");
        moves(&on(scheme, &[("nvram_buffer_bytes", "65536")]), "");
    }
    for (scheme, more) in [("raid0", ("buffer_bytes", "32768")), ("raid5", ("nvram_buffer_bytes", "32768"))] {
        let settings = [("mapping", "dftl"), ("cmt_entries", "16"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4"), more];
        moves(&on(scheme, &settings), "");
    }
    let settings = [("mapping", "fast"), ("log_blocks", "4"), ("wear_leveling", "none"), ("over_provisioning", "0.5")];
    moves(&on("raid5", &settings), "");
}

#[test]
fn failures_and_rebuilds() {
    for (scheme, order) in [("fra", "sor"), ("raid5", "sor"), ("raid5", "dor"), ("raid1", "copy"), ("cr5m", "mcr"), ("ppc", "sor")] {
        moves(&on(scheme, &[("rebuild", order), ("over_provisioning", "0.4"), ("fill", "0.5")]), "block:1.0.0.0.3");
        moves(&on(scheme, &[("rebuild", order), ("over_provisioning", "0.4"), ("fill", "0.5"), ("spare_chips", "1")]), "chip:1.0");
    }
}
