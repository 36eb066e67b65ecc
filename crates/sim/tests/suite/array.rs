//! SSDs side by side: an array equals the device whose channels are what its SSDs are, and loses nothing when SSDs, or parts of them, fail.

use crate::support::{config, engine_on, pages};
use flashraid_sim::Simulation;
use flashraid_sim::engine::content::Untracked;
use flashraid_sim::engine::{Engine, Outcome};
use flashraid_sim::media::{Failing, Reserving, SsdArray};
use flashraid_sim::result::types::SsdState;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Health, HostOp, HostRequest, MemberId, MemberPage, Version, View};

/// What a run of random requests came to: each completion, its time, and the sum of all page operations.
fn outcome(simulation: &mut Simulation, seed: u64, requests: u64) -> Vec<(u64, u64, bool)> {
    let mut random = SplitMix64::new(seed);
    let space = simulation.space_bytes() / 4096;
    let mut now_ns = 0;
    for _ in 0..requests {
        let op = [HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Write, HostOp::Trim][(random.next_u64() % 5) as usize];
        let count = 1 + random.next_u64() % 9;
        let first = random.next_u64() % (space - count);
        now_ns += random.next_u64() % 400_000;
        simulation.submit(&HostRequest { arrival_ns: now_ns, ..pages(op, first, count) }).unwrap();
    }
    simulation.finish().unwrap();
    simulation.take_completed().iter().map(|completed| (completed.sequence, completed.completed_ns, completed.ok)).collect()
}

type Pairs = &'static [(&'static str, &'static str)];

const SMALL: Pairs =
    &[("blocks_per_plane", "24"), ("pages_per_block", "8"), ("over_provisioning", "0.3"), ("verify", "true"), ("fill", "1")];

/// The settings with which `devices` SSDs are what the channels of a device with as many channels are.
fn pair(channels: &str, more: &[(&str, &str)]) -> [Vec<(String, String)>; 2] {
    let all = |own: &[(&str, &str)]| {
        let pairs = [SMALL, more, own].concat();
        pairs.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    };
    [all(&[("channels", channels)]), all(&[("channels", "1"), ("devices", channels)])]
}

fn simulation(scheme: &str, pairs: &[(String, String)]) -> Simulation {
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    Simulation::new(config("tiny", scheme, &pairs), |_| true).unwrap()
}

#[test]
fn an_array_of_ssds_with_one_chip_equals_the_device_whose_channels_have_one_chip_to_the_nanosecond() {
    let cases: [(&str, &str, Pairs); 7] = [
        ("raid0", "5", &[]),
        ("raid1", "4", &[]),
        ("raid4", "5", &[]),
        ("raid5", "5", &[]),
        ("raid5", "4", &[("gc_blocking_scope", "none"), ("dies_per_chip", "2")]),
        ("ppc", "5", &[("nvram_buffer_bytes", "65536"), ("parity_cache_bytes", "65536")]),
        ("fra", "4", &[]),
    ];
    for (scheme, count, more) in cases {
        let [device, array] = pair(count, more).map(|pairs| {
            let mut simulation = simulation(scheme, &pairs);
            let outcome = outcome(&mut simulation, 7, 1500);
            assert!(simulation.verify().unwrap().is_clean(), "{scheme}");
            let result = simulation.result(&Default::default(), false, None).unwrap();
            (outcome, result)
        });
        let first = device.0.iter().zip(&array.0).find(|(device, array)| device != array);
        assert_eq!(first, None, "{scheme}: the first completion that differs");
        assert!(device.1.collection.collections > 0, "{scheme}: GC had to work");
        let figures = [device.1, array.1].map(|result| {
            let text = serde_json::to_value(result).unwrap();
            ["flash_ops", "latency_ns", "parity_updates", "collection", "write_amplification_by", "losses"].map(|key| text[key].clone())
        });
        assert_eq!(figures[0], figures[1], "{scheme}");
    }
}

/// SSDs of two channels with two chips each, in which a chip dies without taking the SSD.
const OF_FOUR_CHIPS: Pairs = &[("channels", "2"), ("chips_per_channel", "2"), ("blocks_per_plane", "12"), ("devices", "4")];

#[test]
fn ssds_and_their_parts_fail_and_nothing_is_lost() {
    let ppc: Pairs = &[("nvram_buffer_bytes", "65536"), ("parity_cache_bytes", "65536")];
    let schemes: [(&str, Pairs); 7] =
        [("raid1", &[]), ("raid4", &[]), ("raid5", &[]), ("no-pc", &ppc[..1]), ("fpc", ppc), ("ppc", ppc), ("ca-ppc", ppc)];
    for (scheme, own) in schemes {
        for (fail, spares) in [
            ("device:2@request:300", "1"),
            ("device:2@request:300", "0"),
            ("member:1@request:300", "1"),
            ("device:0/chip:1.1@request:300", "0"),
            ("device:0/channel:1@request:300,device:0/block:0.0.0.0.3@request:500", "0"),
            ("page:lpn=7@request:20", "0"),
            ("device:1@request:200,device:4@request:700", "2"),
            ("device:1/program:0@request:50,device:1/erase:1@request:60", "0"),
        ] {
            let all = [SMALL, OF_FOUR_CHIPS, own, &[("fail", fail), ("spare_devices", spares)]].concat();
            let what = format!("{scheme}, {fail}, {spares} spares");
            let mut simulation = Simulation::new(config("tiny", scheme, &all), |_| true).unwrap();
            let completions = outcome(&mut simulation, 11, 1000);
            assert!(completions.iter().all(|(.., ok)| *ok), "{what}: a request failed");
            let found = simulation.verify().unwrap();
            assert!(found.is_clean() && found.pages_gone == 0, "{what}: {found:?}");
            let result = simulation.result(&Default::default(), false, None).unwrap();
            assert_eq!(result.losses.host_pages, 0, "{what}");
            if fail.starts_with("device") && !fail.contains('/') && spares != "0" {
                assert_eq!(result.losses.pages_not_rebuilt, 0, "{what}");
                assert!(result.faults.iter().all(|fault| fault.spare), "{what}");
                assert!(result.rebuild.iter().all(|rebuild| rebuild.finished_ns.is_some()), "{what}");
            }
        }
    }
}

/// SPEC 5.3: under random updates of one page, a member with the share p of the parity programs in proportion to p (n - 1) + (1 - p).
#[test]
fn members_age_by_their_share_of_the_parity() {
    for (shares, percent) in [("80", [80.0, 5.0, 5.0, 5.0, 5.0]), ("20", [20.0; 5]), ("50,30,10,10,0", [50.0, 30.0, 10.0, 10.0, 0.0])] {
        let pairs = [
            ("devices", "5"),
            ("parity_shares", shares),
            ("fill", "1"),
            ("blocks_per_plane", "256"),
            ("over_provisioning", "0.7"),
            ("channels", "1"),
        ];
        let mut simulation = Simulation::new(config("tiny", "diff-raid", &pairs), |_| true).unwrap();
        let space = simulation.space_bytes() / 4096;
        let mut random = SplitMix64::new(3);
        for number in 0..20_000 {
            let write = pages(HostOp::Write, random.next_u64() % space, 1);
            simulation.submit(&HostRequest { arrival_ns: number * 300_000, ..write }).unwrap();
        }
        simulation.finish().unwrap();
        let result = simulation.result(&Default::default(), false, None).unwrap();
        assert_eq!(result.flash_ops.programs.gc, 0, "the formula knows nothing of GC");
        let programs: Vec<f64> = result.members.iter().map(|member| member.programs as f64).collect();
        let rates = percent.map(|share: f64| share / 100.0 * 4.0 + (1.0 - share / 100.0));
        for (member, (found, rate)) in programs.iter().zip(rates).enumerate() {
            let (found, expected) = (found / programs.iter().sum::<f64>(), rate / rates.iter().sum::<f64>());
            assert!((found / expected - 1.0).abs() < 0.03, "{shares}: member {member} has {found} of the programs, not {expected}");
        }
    }
}

/// An array of five SSDs with spare ones.
const FIVE: Pairs = &[("devices", "5"), ("spare_devices", "3"), ("channels", "1"), ("blocks_per_plane", "24"), ("pages_per_block", "8")];

/// SPEC 5.5 to 5.9: an SSD is replaced under requests, by each mechanism, and nothing is lost then or by the failure of any SSD afterwards.
#[test]
fn ssds_are_replaced_under_requests() {
    let cases: [(&str, Pairs); 8] = [
        ("hotswap", &[]),
        ("hotswap", &[("partial_stripes", "0.3")]),
        ("hotswap", &[("redistribute", "false")]),
        ("hotswap", &[("semi_hybrid", "true")]),
        ("hotswap", &[("balanced", "data_device"), ("parity_shares", "40,30")]),
        ("online-rebuild", &[]),
        ("online-rebuild", &[("shift_parity", "false")]),
        ("offline-diff-raid", &[]),
    ];
    for (scheme, own) in cases {
        for fill in ["1", "0.2"] {
            let replace = ("replace", "device:0@request:200,device:2@request:400");
            let more: Pairs = &[("over_provisioning", "0.3"), ("verify", "true")];
            let all = [FIVE, more, own, &[("fill", fill), replace]].concat();
            let what = format!("{scheme}, {own:?}, fill {fill}");
            let mut simulation = Simulation::new(config("tiny", scheme, &all), |_| true).unwrap();
            let completions = outcome(&mut simulation, 5, 3000);
            assert!(completions.len() == 3000 && completions.iter().all(|(.., ok)| *ok), "{what}: a request failed");
            let found = simulation.verify().unwrap();
            assert!(found.is_clean() && found.pages_gone == 0, "{what}: {found:?}");
            let result = simulation.result(&Default::default(), false, None).unwrap();
            assert_eq!(result.losses.host_pages, 0, "{what}");
            let replacements = simulation.replacements();
            assert!(replacements.len() == 2 && replacements.iter().all(|record| record.outcome == Outcome::Replaced), "{what}");
        }
    }
}

fn replacing(scheme: &str, own: &[(&str, &str)]) -> Simulation {
    let more: Pairs = &[("over_provisioning", "0.3"), ("verify", "true"), ("fill", "1")];
    Simulation::new(config("tiny", scheme, &[FIVE, more, own].concat()), |_| true).unwrap()
}

/// SPEC 5.6: the new SSD dies while spare ones are left.
#[test]
fn a_spare_ssd_goes_on_in_the_place_of_the_new_one() {
    let mut simulation = replacing("hotswap", &[("replace", "device:0@request:200"), ("fail", "device:5@request:220")]);
    outcome(&mut simulation, 5, 3000);
    let result = simulation.result(&Default::default(), false, None).unwrap();
    let found: Vec<_> = result.replacements.unwrap().iter().map(|of| (of.old_device, of.new_device, of.outcome)).collect();
    assert_eq!(found, [(0, 6, "replaced")]);
    let states: Vec<_> = result.devices.unwrap().iter().map(|ssd| ssd.state).collect();
    assert_eq!((states[0], states[5], states[6]), (SsdState::Disabled, SsdState::Failed, SsdState::ReadWrite));
}

#[test]
fn no_replacement_begins_while_something_is_rebuilt() {
    let mut simulation = replacing("online-rebuild", &[("fail", "device:3@request:300"), ("replace", "device:0@request:302")]);
    outcome(&mut simulation, 5, 3000);
    let result = simulation.result(&Default::default(), false, None).unwrap();
    let (rebuild, replacements) = (&result.rebuild[0], result.replacements.unwrap());
    assert!(rebuild.ended_ns.is_some_and(|ended_ns| replacements[0].started_ns >= ended_ns), "{rebuild:?} {replacements:?}");
}

/// Requests count for the replacement in which they arrive, and reads also for the one that ended last before them.
#[test]
fn replacements_have_the_figures_of_the_requests_in_their_time() {
    for scheme in ["hotswap", "online-rebuild", "offline-diff-raid"] {
        let mut simulation = replacing(scheme, &[("replace", "device:0@request:200,device:2@request:1500")]);
        let (mut random, space, mut arrivals, mut now_ns) = (SplitMix64::new(9), simulation.space_bytes() / 4096, Vec::new(), 0);
        for _ in 0..3000 {
            let op = [HostOp::Read, HostOp::Write][(random.next_u64() % 2) as usize];
            now_ns += random.next_u64() % 3_000_000;
            arrivals.push((now_ns, op));
            simulation.submit(&HostRequest { arrival_ns: now_ns, ..pages(op, random.next_u64() % space, 1) }).unwrap();
        }
        simulation.finish().unwrap();
        let latencies: Vec<_> = simulation
            .take_completed()
            .iter()
            .map(|of| {
                let (arrival_ns, op) = arrivals[of.sequence as usize];
                (arrival_ns, op, of.completed_ns - arrival_ns)
            })
            .collect();
        let found = simulation.result(&Default::default(), false, None).unwrap().replacements.unwrap();
        assert_eq!(found.len(), 2, "{scheme}");
        for (number, record) in found.iter().enumerate() {
            let ended_ns = record.ended_ns.unwrap();
            let next_ns = found.get(number + 1).map_or(u64::MAX, |next| next.started_ns);
            let of = |is_wanted: &dyn Fn(u64, HostOp) -> bool| {
                let latencies: Vec<_> = latencies.iter().filter(|of| is_wanted(of.0, of.1)).map(|of| of.2).collect();
                (latencies.len() as u64, latencies.iter().copied().max().unwrap_or(0))
            };
            let meanwhile = of(&|arrival_ns, _| (record.started_ns..=ended_ns).contains(&arrival_ns));
            let after = of(&|arrival_ns, op| op == HostOp::Read && arrival_ns > ended_ns && arrival_ns < next_ns);
            assert_eq!((record.requests, record.latency_ns.max), meanwhile, "{scheme}");
            assert_eq!((record.reads_after, record.read_latency_after_ns.max), after, "{scheme}");
            assert!(meanwhile.0 > 20 && after.0 > 20, "{scheme}: {meanwhile:?} {after:?}");
        }
    }
}

/// An SSD that takes no programs has no page for one: none is promised, and what was promised before comes back.
#[test]
fn no_page_is_reserved_where_nothing_is_programmed() {
    let config = config("tiny", "raid5", &[("devices", "4"), ("channels", "1"), ("blocks_per_plane", "16"), ("over_provisioning", "0.4")]);
    let mut engine: Engine<Untracked, SsdArray> = engine_on(&config, config.build_scheme().unwrap(), Untracked);
    let media = &mut engine.executor.media;
    let page = |member| MemberPage::new(member, 0);
    let count_free = |media: &mut SsdArray, member| {
        let free = (0..).take_while(|_| media.reserve(page(member), Version::Current)).count();
        (0..free).for_each(|_| media.release(page(member), Version::Current));
        assert_eq!(media.can_allocate(page(member)), free > 0);
        free
    };
    let all = count_free(media, 1);
    assert!(all > 100);
    assert!(media.reserve(page(1), Version::Current));
    media.set_health(MemberId(1), Health::ReadOnly);
    assert_eq!([0, 1, 2, 3].map(|member| count_free(media, member)), [all, 0, all, all]);
    media.release(page(1), Version::Current);
    media.set_health(MemberId(1), Health::ReadWrite);
    assert_eq!(count_free(media, 1), all);
    media.set_health(MemberId(1), Health::Disabled);
    assert_eq!([0, 1].map(|member| count_free(media, member)), [all, 0]);
}
