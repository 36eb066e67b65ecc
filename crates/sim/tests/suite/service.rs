//! What a device serves after a loss of data (`after_loss`), and a single SSD that is worn out (`pe_limit`).

use crate::support::{config, pages};
use flashraid_sim::result::RunResult;
use flashraid_sim::{Config, Simulation};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};

type Pairs<'a> = &'a [(&'a str, &'a str)];

const SMALL: Pairs = &[
    ("blocks_per_plane", "16"),
    ("pages_per_block", "8"),
    ("over_provisioning", "0.4"),
    ("fill", "1"),
    ("verify", "true"),
    ("rebuild", "none"),
];
const OPS: [HostOp; 4] = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::Flush];

/// Requests of one page in turn, a millisecond apart, and the result. Of each of `OPS`, how many failed that came from request `from` on.
fn replayed(device: &str, scheme: &str, pairs: Pairs, requests: u64, from: u64) -> (RunResult, [u64; 4]) {
    let mut simulation = Simulation::new(config(device, scheme, &[SMALL, pairs].concat()), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 4096);
    for number in 0..requests {
        let op = OPS[(number % 4) as usize];
        let request = if op == HostOp::Flush { pages(op, 0, 0) } else { pages(op, random.next_u64() % space, 1) };
        simulation.submit(&HostRequest { arrival_ns: number * 1_000_000, ..request }).unwrap();
    }
    simulation.finish().unwrap();
    let mut failed = [0; 4];
    for completed in simulation.take_completed().iter().filter(|completed| !completed.ok && completed.sequence >= from) {
        failed[(completed.sequence % 4) as usize] += 1;
    }
    assert!(simulation.verify().is_none_or(|verified| verified.mismatches == 0), "{scheme} {pairs:?}");
    (simulation.result(&Default::default(), false, None).unwrap(), failed)
}

/// The second of two chips of different members fails when the 200th of 400 requests arrives, a flush; 50 of each kind follow.
#[test]
fn a_loss_beyond_what_the_scheme_survives_ends_what_the_option_says() {
    let two = ("fail", "chip:0.0@request:100,chip:1.0@request:200");
    for (device, scheme, more) in [
        ("tiny", "raid5", &[] as Pairs),
        ("tiny", "raid5", &[("buffer_bytes", "65536")]),
        ("tiny", "raid5", &[("devices", "4"), ("channels", "1"), ("fail", "device:0@request:100,device:1@request:200")]),
    ] {
        let of = |after_loss| replayed(device, scheme, &[&[two], more, &[("after_loss", after_loss)]].concat(), 400, 199);
        let (served, failed) = of("serve");
        assert!(served.losses.host_pages > 0 && served.requests.failed.refused == 0 && failed[1] < 50, "{scheme} {more:?}: {failed:?}");
        let (read_only, failed) = of("read_only");
        assert_eq!((failed[1], failed[2], read_only.requests.failed.refused), (50, 50, 100), "{scheme} {more:?}");
        assert!(failed[0] > 0 && failed[0] < 50, "{scheme} {more:?}: reads of what is left are served, {failed:?}");
        let (stopped, failed) = of("stop");
        assert_eq!((failed, stopped.requests.failed.refused), ([50, 50, 50, 51], 201), "{scheme} {more:?}");
        assert_eq!(stopped.requests.failed.lost, 0, "{scheme} {more:?}: one chip is survived");
        assert_eq!(stopped.requests.completed, 199, "{scheme} {more:?}");
    }
    // Without redundancy the first failure is one too many; what a scheme survives, and a page alone, change nothing.
    let one = |scheme, fail| replayed("tiny", scheme, &[("fail", fail), ("after_loss", "stop")], 400, 200).0.requests.failed.refused;
    assert_eq!(
        [one("raid0", "chip:0.0@request:200"), one("raid5", "chip:0.0@request:200"), one("raid1", "channel:1@request:200")],
        [201, 0, 0]
    );
    assert_eq!([one("raid0", "page:lpn=5@request:200"), one("raid0", "block:0.0.0.0.0@request:200")], [0, 0]);
    // Nor does a failure that is survived where pages were lost before.
    let fail = ("fail", "page:lpn=0@request:1,page:lpn=1@request:1,chip:0.0@request:2");
    let (result, _) = replayed("tiny", "raid5", &[fail, ("after_loss", "stop")], 400, 0);
    assert_eq!(result.faults.iter().map(|fault| fault.pages_lost).collect::<Vec<_>>(), [0, 2, 2]);
    assert_eq!(result.requests.failed.refused, 0);
}

/// A chip of a drive without redundancy fails when the third of 40 requests comes, all at once. The drive takes one at a time: it has the first.
#[test]
fn what_waits_in_the_host_is_refused_when_its_turn_comes() {
    let pairs: Pairs = &[("fail", "chip:0.0@request:3"), ("after_loss", "stop"), ("device_queue_depth", "1")];
    let mut simulation = Simulation::new(config("tiny", "raid0", &[SMALL, pairs].concat()), |_| true).unwrap();
    for number in 0..40 {
        let op = OPS[(number % 4) as usize];
        simulation.submit(&if op == HostOp::Flush { pages(op, 0, 0) } else { pages(op, number, 1) }).unwrap();
    }
    simulation.finish().unwrap();
    assert_eq!(simulation.take_completed().iter().map(|completed| completed.sequence).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    let result = simulation.result(&Default::default(), false, None).unwrap();
    assert_eq!(result.requests.failed.refused, 39);
}

/// 8 planes of 16 blocks endure five erases each: 640. The one that reaches this is the last that a write of the host may need.
#[test]
fn a_single_ssd_that_is_worn_out_is_read_only() {
    let pairs: Pairs = &[("pe_limit", "5"), ("erases_before", "2"), ("wear_leveling", "dynamic")];
    let mut simulation = Simulation::new(config("tiny", "raid5", &[SMALL, pairs].concat()), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(3), simulation.space_bytes() / 4096);
    let (mut submitted, mut worn_ns) = (0, None);
    while submitted < 6_000 {
        let op = if submitted % 5 == 4 { HostOp::Read } else { HostOp::Write };
        let request = pages(op, random.next_u64() % space, 1);
        simulation.submit(&HostRequest { arrival_ns: submitted * 1_000_000, ..request }).unwrap();
        submitted += 1;
    }
    simulation.finish().unwrap();
    let result = simulation.result(&Default::default(), false, None).unwrap();
    for wear_out in result.wear_outs.iter().flatten() {
        worn_ns = Some(wear_out.at_ns);
        assert_eq!((wear_out.device, wear_out.exposed_pages, wear_out.pages_lost), (0, 0, 0));
    }
    let worn_ns = worn_ns.expect("it is worn out");
    let failed: Vec<u64> =
        simulation.take_completed().iter().filter(|completed| !completed.ok).map(|completed| completed.sequence).collect();
    let late = (0..submitted).filter(|number| number % 5 != 4 && number * 1_000_000 > worn_ns).count();
    assert_eq!((failed.len(), result.requests.failed.refused), (late, late as u64), "all writes that came later, and no read");
    assert!(failed.iter().all(|number| number % 5 != 4 && number * 1_000_000 > worn_ns));
    assert!(late > 1_000 && simulation.verify().is_none_or(|verified| verified.mismatches == 0), "{late}");
    // 128 blocks had been erased twice; what was under way at the end may erase a few more.
    assert!((384..400).contains(&result.flash_ops.erases.total), "{}", result.flash_ops.erases.total);
    assert_eq!(result.lifetime.pe_cycles, Some(5));
    assert!(result.lifetime.years.is_some());
}

#[test]
fn a_limit_that_is_reached_before_the_run_is_refused() {
    let pairs = [("pe_limit", "5"), ("erases_before", "5")].map(|(key, value)| (key.to_string(), value.to_string()));
    let text = Config::assemble(Some("tiny"), Some("raid5"), None, &pairs).unwrap_err().to_string();
    assert_eq!(text, "erases_before = 5: allowed is less than pe_limit = 5, which blocks endure");
    let pairs = [SMALL, &[("pe_limit", "2"), ("precondition", "random:20")]].concat();
    let text = Simulation::new(config("tiny", "raid5", &pairs), |_| true).err().expect("it is worn out").to_string();
    assert!(text.starts_with("SSD 0 is worn out before the first request"), "{text}");
}
