//! SSDs of an array age, start with ages, are worn out by the erase that is the last one they endure, and fail then; and the trace is repeated until
//! so many are.

use crate::support::{config, own_trace, pages};
use flashraid_sim::assemble;
use flashraid_sim::config::Config;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Untracked;
use flashraid_sim::media::{Inspect, SsdArray};
use flashraid_sim::result::types::{SsdState, WearOut};
use flashraid_sim::{Finished, Outputs, RunResult, Simulation, Stage, run};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, Lpn, MemberId, SsdView};
use std::path::{Path, PathBuf};

type Pairs = [(&'static str, &'static str)];

/// SSDs of one chip with 24 blocks of 8 pages.
const SMALL: &Pairs = &[
    ("channels", "1"),
    ("planes_per_die", "1"),
    ("blocks_per_plane", "24"),
    ("pages_per_block", "8"),
    ("over_provisioning", "0.3"),
    ("fill", "1"),
];
/// Blocks of each of them.
const BLOCKS: u64 = 24;

fn array(scheme: &str, pairs: &Pairs) -> Config {
    config("tiny", scheme, &[SMALL, pairs].concat())
}

/// Random updates of one page, so many nanoseconds apart.
fn updates(simulation: &mut Simulation, count: u64, gap_ns: u64) {
    let (space, mut random) = (simulation.space_bytes() / 4096, SplitMix64::new(5));
    for number in 0..count {
        let write = pages(HostOp::Write, random.next_u64() % space, 1);
        simulation.submit(&flashraid_vocabulary::HostRequest { arrival_ns: number * gap_ns, ..write }).unwrap();
    }
    simulation.finish().unwrap();
}

fn result(simulation: &Simulation) -> RunResult {
    simulation.result(&Default::default(), false, None).unwrap()
}

/// A trace of random updates of one page of a space of so many, in a file of its own.
fn trace(name: &str, requests: u64, space: u64, gap_us: u64, op: char) -> PathBuf {
    let mut random = SplitMix64::new(11);
    let row = |number| format!("{},{op},{},4096,,\n", number * gap_us, random.next_u64() % space * 4096);
    own_trace(name, &(0..requests).map(row).collect::<String>())
}

fn replay(trace: &Path, config: Config) -> Result<Finished, String> {
    run(trace, config, &Outputs::default(), false, &mut |_| true).map_err(|error| error.to_string())
}

fn wear_outs(result: &RunResult) -> &[WearOut] {
    result.wear_outs.as_deref().unwrap()
}

#[test]
fn erases_of_a_run_are_those_of_its_ssds() {
    let mut simulation = Simulation::new(
        array(
            "raid5",
            &[("devices", "5"), ("spare_devices", "1"), ("pe_limit", "500"), ("ages", "0.5,0.111,0,0.9"), ("precondition", "random:1")],
        ),
        |_| true,
    )
    .unwrap();
    let at_start: Vec<u64> = result(&simulation).devices.unwrap().iter().map(|ssd| ssd.total_erases).collect();
    updates(&mut simulation, 2_000, 300_000);
    let result = result(&simulation);
    let ssds = result.devices.as_ref().unwrap();
    assert_eq!(ssds.iter().map(|ssd| ssd.preset_erases / BLOCKS).collect::<Vec<_>>(), [250, 56, 0, 450, 0, 0], "rounded");
    assert_eq!(ssds.iter().map(|ssd| ssd.flash_ops.erases.total).sum::<u64>(), result.flash_ops.erases.total);
    assert_eq!(ssds.iter().map(|ssd| ssd.flash_ops.programs.parity).sum::<u64>(), result.flash_ops.programs.parity);
    assert!(result.flash_ops.erases.total > 500 && at_start.iter().sum::<u64>() > ssds.iter().map(|ssd| ssd.preset_erases).sum());
    for (number, (ssd, start)) in ssds.iter().zip(at_start).enumerate() {
        assert_eq!(
            (ssd.number as usize, ssd.total_erases),
            (number, start + ssd.flash_ops.erases.total),
            "preset and untimed erases count"
        );
        assert_eq!(ssd.age, Some(ssd.total_erases as f64 / (BLOCKS * 500) as f64));
        let member = (number < 5).then_some(number as u32);
        let state = if number < 5 { SsdState::ReadWrite } else { SsdState::Spare };
        assert_eq!((ssd.member, ssd.state), (member, state));
    }
    let mean = ssds[..5].iter().map(|ssd| ssd.erase_mean).sum::<f64>() / 5.0;
    assert!((mean - result.wear.erase_mean).abs() < 1e-9 && result.wear.erase_max > 450, "wear figures count preset erases");
    assert_eq!((wear_outs(&result).len(), ssds[5].busy_fraction), (0, Some(0.0)));
}

/// Serves updates one after the other, and notes when each SSD reaches so many erases of its own.
fn reached(config: &Config, erases: &[u64]) -> Vec<Option<u64>> {
    let mut engine: Engine<Untracked, SsdArray> = assemble::engine(config, |_, _| Untracked).unwrap();
    engine.fill(engine.space_pages());
    let (mut random, mut times) = (SplitMix64::new(5), vec![None; erases.len()]);
    for number in 0..3_000 {
        engine.advance_until(number * 1_000_000).unwrap();
        engine.submit(&pages(HostOp::Write, random.next_u64() % engine.space_pages(), 1), true);
        while engine.next_event_ns().is_some_and(|time_ns| time_ns <= (number + 1) * 1_000_000) {
            engine.advance().unwrap();
            for (ssd, time) in times.iter_mut().enumerate() {
                let total = engine.executor.media.ssds()[ssd].total_erases;
                assert_eq!(total, engine.executor.media.erases(MemberId(ssd as u16)));
                if total >= erases[ssd] && time.is_none() {
                    *time = Some(engine.now_ns());
                }
            }
            if engine.survey().wear_outs.iter().any(|record| times[record.device as usize].is_none()) {
                panic!("{:?} worn out at {times:?}", engine.survey().wear_outs);
            }
        }
    }
    let worn: Vec<_> =
        (0..erases.len()).map(|ssd| engine.survey().wear_outs.iter().find(|of| of.device == ssd as u32).map(|of| of.at_ns)).collect();
    if config.device.pe_limit > 0 {
        assert_eq!(engine.survey().retired, engine.survey().wear_outs.len() as u32);
        assert_eq!(SsdView::endurance(&engine.executor.media, MemberId(0)), BLOCKS * u64::from(config.device.pe_limit));
        return worn;
    }
    assert!(worn.iter().all(Option::is_none) && SsdView::endurance(&engine.executor.media, MemberId(0)) == u64::MAX);
    times
}

/// Without a limit, the same array tells when each SSD has erased so often; with one, the first to get there fails at that very instant. What an SSD
/// starts with comes off.
#[test]
fn an_ssd_fails_at_the_instant_of_its_last_erase() {
    for (pe_limit, ages, spent) in
        [("12", "", [0; 4]), ("1000", "0.99,0.98,0.985", [990, 980, 985, 0]), ("100", "0.9,0.95", [90, 95, 0, 0])]
    {
        let own: &Pairs = &[("devices", "4"), ("rebuild", "none")];
        let limit: u64 = pe_limit.parse().unwrap();
        let free = reached(&array("raid5", own), &spent.map(|spent| BLOCKS * (limit - spent)));
        let limited = [own, &[("pe_limit", pe_limit), ("ages", ages)]].concat();
        let worn = reached(&array("raid5", &limited), &[BLOCKS * limit; 4]);
        let first = free.iter().enumerate().filter_map(|(ssd, time)| time.map(|time| (time, ssd))).min().unwrap();
        let found = worn.iter().enumerate().filter_map(|(ssd, time)| time.map(|time| (time, ssd))).min().unwrap();
        assert_eq!(found, first, "{ages}: {free:?} {worn:?}");
    }
}

/// SPEC 5.1: uneven parity makes the SSDs age one after the other, even parity at the same time. 80 % of the parity on one of five SSDs makes it program
/// 3.4 pages where the others program 1.15 (SPEC 5.3).
#[test]
fn uneven_parity_wears_ssds_out_one_after_the_other() {
    let age = |scheme: &str, pairs: &Pairs| {
        let own: &Pairs = &[
            ("devices", "5"),
            ("pe_limit", "20"),
            ("until", "worn:2"),
            ("rebuild", "none"),
            ("blocks_per_plane", "64"),
            ("over_provisioning", "0.5"),
        ];
        let config = array(scheme, &[own, pairs].concat());
        let space = config.space_bytes(&*config.build_scheme().unwrap()) / 4096;
        let trace = trace(&format!("spread-{scheme}"), 3_000, space, 1_000, 'W');
        let mut one = config.clone();
        one.run.until = "worn:1".into();
        let first = replay(&trace, one).unwrap().result;
        let both = replay(&trace, config).unwrap().result;
        let ages: Vec<f64> = first.devices.as_ref().unwrap().iter().map(|ssd| ssd.age.unwrap()).collect();
        assert!(first.workload.passes > 2 && both.workload.passes >= first.workload.passes);
        assert_eq!((wear_outs(&first)[0], wear_outs(&first)[0].since_previous_ns), (wear_outs(&both)[0], None));
        let [one, two] = [0, 1].map(|number| wear_outs(&both)[number]);
        assert_eq!(two.since_previous_ns, Some(two.at_ns - one.at_ns));
        assert_eq!(both.devices.unwrap()[one.device as usize].state, SsdState::Failed);
        (one.device, ages, (two.at_ns - one.at_ns) as f64 / one.at_ns as f64)
    };
    let (device, ages, later) = age("diff-raid", &[("parity_shares", "80")]);
    assert_eq!((device, ages[0] >= 1.0), (0, true));
    assert!(ages[1..].iter().all(|age| (0.2..0.45).contains(age)), "{ages:?}");
    assert!(later > 0.8, "{later}");
    let (_, ages, later) = age("raid5", &[]);
    assert!(ages.iter().all(|age| *age > 0.9), "{ages:?}");
    assert!(later < 0.15, "{later}");
}

/// SPEC 5.4: the eldest holds the most parity; of equal ones the earlier is the elder.
#[test]
fn ages_rank_the_ssds_that_hold_more_of_the_parity() {
    for (ages, eldest) in [("0,0.2,0.9,0.4", 2), ("0,0.9,0,0.9", 1), ("", 0), ("0,0,0,0,0.1", 4)] {
        let own: Vec<(&str, &str)> = vec![("devices", "5"), ("pe_limit", "1000"), ("ages", ages), ("parity_shares", "80")];
        let mut simulation = Simulation::new(config("tiny", "diff-raid", &[SMALL, &own].concat()), |_| true).unwrap();
        updates(&mut simulation, 500, 1_000_000);
        let shares: Vec<f64> = result(&simulation).members.iter().map(|member| member.parity_share).collect();
        assert!((0.75..0.85).contains(&shares[eldest]), "{ages}: {shares:?}");
    }
}

#[test]
fn a_spare_ssd_takes_the_place_of_one_that_is_worn_out() {
    for scheme in ["raid1", "raid4", "raid5", "diff-raid", "ppc"] {
        let own: &Pairs = &[("pe_limit", "30"), ("ages", "0.9,0.5"), ("spare_devices", "1"), ("devices", "4"), ("verify", "true")];
        let ppc: &Pairs = if scheme == "ppc" { &[("nvram_buffer_bytes", "65536")] } else { &[] };
        let mut simulation = Simulation::new(array(scheme, &[own, ppc].concat()), |_| true).unwrap();
        updates(&mut simulation, 1_500, 1_000_000);
        let found = simulation.verify().unwrap();
        assert!(found.is_clean() && found.pages_gone == 0, "{scheme}: {found:?}");
        let result = result(&simulation);
        let ssds = result.devices.as_ref().unwrap();
        let [worn] = wear_outs(&result) else { panic!("{scheme}: {:?}", result.wear_outs) };
        assert_eq!((worn.device, worn.pages_lost, result.requests.failed.lost), (0, 0, 0), "{scheme}");
        assert_eq!((ssds[0].state, ssds[0].member, ssds[0].total_erases), (SsdState::Failed, Some(0), BLOCKS * 30), "{scheme}");
        assert_eq!((ssds[4].state, ssds[4].member, ssds[4].preset_erases), (SsdState::ReadWrite, Some(0), 0), "{scheme}");
        assert!(ssds[4].flash_ops.programs.rebuild > 0 && ssds[0].age == Some(1.0));
        assert_eq!((result.faults.len(), result.rebuild.len(), result.rebuild[0].failed[0].at_ns), (0, 1, worn.at_ns), "{scheme}");
        assert_eq!((result.losses.pages_not_rebuilt, result.rebuild[0].finished_ns.is_some()), (0, true), "{scheme}");
        assert!(worn.exposed_pages > 0, "{scheme}");
    }
}

/// Each stripe of the full array has a strip on each SSD: one that is worn out exposes all pages, and a second one loses those on either of them.
#[test]
fn without_spares_the_second_wear_out_loses_what_lay_on_both() {
    let own: &Pairs = &[("devices", "5"), ("pe_limit", "40"), ("ages", "0,0.85,0,0.7"), ("verify", "true"), ("rebuild", "none")];
    let new = || (Simulation::new(array("raid5", own), |_| true).unwrap(), SplitMix64::new(1));
    let (mut simulation, mut random) = new();
    let scheme = simulation.config().build_scheme().unwrap();
    let space = simulation.space_bytes() / 4096;
    let write = |simulation: &mut Simulation, random: &mut SplitMix64, number: u64| {
        let write = pages(HostOp::Write, random.next_u64() % space, 1);
        simulation.submit(&flashraid_vocabulary::HostRequest { arrival_ns: number * 1_000_000, ..write }).unwrap();
        simulation.advance_until((number + 1) * 1_000_000).unwrap();
    };
    // A result takes much longer than a write. So the second time it is known after which writes there is something to be seen.
    let mut number = 0;
    while wear_outs(&result(&simulation)).len() < 2 {
        (0..500).for_each(|more| write(&mut simulation, &mut random, number + more));
        number += 500;
    }
    let worn_ns = wear_outs(&result(&simulation)).iter().map(|worn| worn.at_ns).collect::<Vec<_>>();
    (simulation, random) = new();
    let (mut seen, mut number) = (Vec::new(), 0);
    for at_ns in worn_ns {
        while simulation.now_ns() < at_ns {
            write(&mut simulation, &mut random, number);
            number += 1;
        }
        let result = result(&simulation);
        seen = wear_outs(&result).to_vec();
        let found = simulation.verify().unwrap();
        assert_eq!((found.mismatches, found.pages_gone), (0, seen.last().unwrap().pages_lost), "{seen:?}");
        assert_eq!(result.losses.host_pages, found.pages_gone);
    }
    assert_eq!((seen[0].device, seen[0].exposed_pages, seen[0].pages_lost), (1, space, 0));
    let on_either = (0..space).filter(|lpn| [1, 3].contains(&scheme.locate(flashraid_vocabulary::Lpn(*lpn)).member.0)).count() as u64;
    assert_eq!((seen[1].device, seen[1].pages_lost, seen[1].exposed_pages), (3, on_either, space - on_either));
}

#[test]
fn a_scheme_without_redundancy_has_all_pages_exposed_but_those_lost() {
    let own: &Pairs = &[("devices", "4"), ("pe_limit", "40"), ("ages", "0.9"), ("until", "worn:1")];
    let config = array("raid0", own);
    let space = config.space_bytes(&*config.build_scheme().unwrap()) / 4096;
    let result = replay(&trace("raid0", 2_000, space, 400, 'W'), config).unwrap().result;
    let [worn] = wear_outs(&result) else { panic!("{:?}", result.wear_outs) };
    assert_eq!((worn.device, worn.pages_lost, worn.exposed_pages), (0, space / 4, space - space / 4));
}

#[test]
fn the_trace_is_repeated_and_its_arrivals_continue() {
    let own: &Pairs = &[("devices", "4"), ("pe_limit", "15"), ("spare_devices", "2"), ("until", "worn:2")];
    let path = trace("repeated", 100, 200, 700, 'W');
    let mut stages = Vec::new();
    let finished = run(&path, array("raid5", own), &Outputs::default(), false, &mut |stage| {
        stages.push(stage);
        true
    });
    let result = finished.unwrap().result;
    let passes = result.workload.passes;
    assert!(passes > 5 && wear_outs(&result).len() >= 2);
    assert!((100 * (passes - 1)..=100 * passes).contains(&result.workload.requests), "{} in {passes}", result.workload.requests);
    // 100 requests 700 us apart take 70 ms, with the time to the next one.
    let last_ns = wear_outs(&result)[1].at_ns;
    assert!((70_000_000 * (passes - 1)..70_000_000 * passes).contains(&last_ns), "{last_ns} in {passes}");
    assert!(result.simulated_ns >= last_ns && result.requests.unfinished == 0);
    assert!(!stages.iter().any(|stage| matches!(stage, Stage::Replaying { .. })), "{stages:?}");
    // Each pass is the same again: one twice as long needs half of them.
    let text = std::fs::read_to_string(&path).unwrap();
    let again: String = text
        .lines()
        .skip(1)
        .map(|line| {
            let (time_us, rest) = line.split_once(',').unwrap();
            format!("{},{rest}\n", time_us.parse::<u64>().unwrap() + 70_000)
        })
        .collect();
    let twice = path.with_file_name("twice.csv");
    std::fs::write(&twice, text + &again).unwrap();
    let other = replay(&twice, array("raid5", own)).unwrap().result;
    assert_eq!(
        (&other.wear_outs, other.workload.requests, other.workload.passes),
        (&result.wear_outs, result.workload.requests, passes.div_ceil(2))
    );
    // With the end of the trace as the end of the run there is one pass.
    let once = replay(&path, array("raid5", &own[..3])).unwrap().result;
    assert_eq!((once.workload.passes, once.workload.requests), (1, 100));
}

#[test]
fn a_closed_loop_is_repeated_too() {
    let own: &Pairs = &[("devices", "4"), ("pe_limit", "10"), ("until", "worn:1"), ("queue_depth", "32")];
    for (requests, gap_us) in [(10, 0), (1, 0), (300, 5)] {
        let result = replay(&trace(&format!("closed-{requests}"), requests, 200, gap_us, 'W'), array("raid5", own)).unwrap().result;
        assert!(!wear_outs(&result).is_empty() && result.requests.unfinished == 0);
    }
}

#[test]
fn what_wears_nothing_out_is_an_error() {
    let own: &Pairs = &[("devices", "4"), ("pe_limit", "10"), ("until", "worn:1")];
    let closed = [own, &[("queue_depth", "4")]].concat();
    for (name, pairs) in [("reads", own), ("reads-closed", &closed)] {
        let error = replay(&trace(name, 50, 200, 100, 'R'), array("raid5", pairs)).unwrap_err();
        assert!(error.starts_with("until = worn:1: a whole pass of ") && error.contains("has programmed and erased nothing"), "{error}");
    }
    let error = replay(&trace("at-once", 50, 200, 0, 'W'), array("raid5", own)).unwrap_err();
    assert!(error.ends_with("there is no time after which they could be repeated: allowed is queue_depth above 0"), "{error}");
}

/// Beyond what the scheme survives, pages are lost, and what lives goes on until it is worn out, too.
#[test]
fn all_ssds_of_an_array_wear_out_in_the_end() {
    let own: &Pairs = &[("devices", "4"), ("pe_limit", "10"), ("until", "worn:4"), ("rebuild", "none")];
    let result = replay(&trace("all", 500, 200, 300, 'W'), array("raid5", own)).unwrap().result;
    let mut devices: Vec<_> = wear_outs(&result).iter().map(|of| of.device).collect();
    devices.sort_unstable();
    assert_eq!(devices, [0, 1, 2, 3]);
    let befores = std::iter::once(None).chain(wear_outs(&result).iter().map(|of| Some(of.at_ns)));
    for (of, before) in wear_outs(&result).iter().zip(befores) {
        assert_eq!(of.since_previous_ns, before.map(|before| of.at_ns - before));
    }
    let last = wear_outs(&result)[3];
    let space = result.capacity.space_bytes / 4096;
    assert_eq!((last.pages_lost, last.exposed_pages, result.losses.host_pages), (space, 0, space));
    assert!(result.devices.unwrap().iter().all(|ssd| ssd.state == SsdState::Failed && ssd.age == Some(1.0)));
}

/// Strips that were never written take nothing with them.
#[test]
fn what_was_never_written_exposes_nothing() {
    let own: &Pairs = &[("devices", "4"), ("pe_limit", "10"), ("until", "worn:1"), ("rebuild", "none"), ("fill", "0")];
    // One page of each stripe of three, again and again: with its SSD or that of its parity, the other one is all that is left of it.
    let config = array("raid5", own);
    let lines: String = (0..600).map(|number| format!("{},W,{},4096,,\n", number * 300, number % 60 * 3 * 4096)).collect();
    let path = own_trace("one-page", &lines);
    let scheme = config.build_scheme().unwrap();
    let result = replay(&path, config).unwrap().result;
    let worn = wear_outs(&result)[0];
    let concerned = (0..60).map(|page| Lpn(page * 3)).filter(|lpn| {
        let pages = [Some(scheme.locate(*lpn)), scheme.parity_of(*lpn)];
        pages.iter().flatten().any(|page| u32::from(page.member.0) == worn.device)
    });
    assert_eq!((worn.pages_lost, worn.exposed_pages), (0, concerned.count() as u64));
}

/// A replacement that was given up puts no SSD out of use.
#[test]
fn only_what_age_has_put_out_of_use_counts() {
    let own: &Pairs = &[
        ("devices", "5"),
        ("spare_devices", "1"),
        ("pe_limit", "20"),
        ("until", "worn:1"),
        ("replace", "device:0@request:100"),
        ("fail", "device:5@request:110"),
    ];
    let result = replay(&trace("given-up", 500, 200, 300, 'W'), array("hotswap", own)).unwrap().result;
    let replacements = result.replacements.as_ref().unwrap();
    assert!(replacements.len() == 1 && replacements[0].outcome == "given_up", "{replacements:?}");
    assert!(!wear_outs(&result).is_empty());
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let refused = |pairs: &Pairs| {
        let all: Vec<_> = [SMALL, pairs].concat().iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        match flashraid_sim::Asked::assemble(Some("tiny"), Some("raid5"), None, &all) {
            Err(error) => error.to_string(),
            Ok(asked) => Simulation::new(asked.config, |_| true).map(|_| ()).expect_err("to be refused").to_string(),
        }
    };
    let cases: [(&Pairs, &str); 8] = [
        (&[("ages", "0.5"), ("channels", "4")], "ages = 0.5: has no effect here: allowed with devices above 1"),
        (&[("until", "worn:1"), ("channels", "4")], "until = worn:1: has no effect here: allowed with devices above 1"),
        (
            &[("devices", "4"), ("ages", "0.5")],
            "ages = 0.5: an age is a share of pe_limit, which is 0 (no limit) for SSD 0: allowed with pe_limit from 1",
        ),
        (
            &[("devices", "3"), ("ages", "0.1,0.2,0.3,0.4"), ("pe_limit", "10")],
            "ages = 0.1,0.2,0.3,0.4: there are 3 SSDs, spare ones included: allowed are at most as many ages",
        ),
        (
            &[("devices", "4"), ("ages", "0,0.96"), ("pe_limit", "10")],
            "ages = 0,0.96: rounds to all of the 10 erases that a block of SSD 1 endures: allowed are lower ages",
        ),
        (
            &[("devices", "4"), ("until", "worn:1")],
            "until = worn:1: no SSD wears out with pe_limit = 0 (no limit): allowed with pe_limit from 1",
        ),
        (
            &[("devices", "4"), ("spare_devices", "1"), ("until", "worn:6"), ("pe_limit", "10")],
            "until = worn:6: there are 5 SSDs, spare ones included: allowed is worn:1 to worn:5",
        ),
        (
            &[("devices", "4"), ("pe_limit", "2"), ("precondition", "random:20")],
            "SSD 0 is worn out before the first request, by what fill and precondition erase: allowed is a larger pe_limit, a lower age, or a shorter \
             precondition",
        ),
    ];
    for (pairs, expected) in cases {
        assert_eq!(refused(pairs), expected);
    }
    let percent = array("raid5", &[("devices", "4"), ("pe_limit", "100"), ("ages", "[50%, 0.25]")]);
    assert_eq!(percent.array.ages, [0.5, 0.25]);
    let flash = |config: &Config| -> Engine<Untracked, SsdArray> { assemble::engine(config, |_, _| Untracked).unwrap() };
    assert_eq!(flash(&percent).executor.media.ssds().iter().map(|ssd| ssd.preset_erases).collect::<Vec<_>>(), [50, 25, 0, 0]);
}
