//! Torture: a slice with a fixed seed of every scheme; `FLASHRAID_PROVE` runs the whole. Schemes that protect nothing are convicted.

use crate::support::{engine, pages, proving, small, some_of, tags};
use flashraid_redundancy::rebuild::ORDERS;
use flashraid_redundancy::{Entry, Protects, SCHEMES};
use flashraid_torture::{Report, Torture, has_semivalid};
use flashraid_vocabulary::HostOp;
use std::collections::BTreeMap;

fn run(torture: &Torture) -> Report {
    torture.run(&mut |_, _| true).unwrap_or_else(|error| panic!("{error}"))
}

/// What `all` stands for: the schemes that protect something.
fn protecting() -> impl Iterator<Item = &'static Entry> {
    SCHEMES.iter().filter(|entry| entry.protects != Protects::None)
}

/// A state is met in one of so many kills of a scheme at least, and two states at once so often in a million. A slice has few devices, and
/// some mappings on hardly any of them: there some scheme must meet it.
const STATE_ONCE_IN: u64 = 100;
const PAIR_PER_MILLION: u64 = 100;
/// Pairs that schemes which take an SSD out need only meet at all. That SSD is the one failure that is survived, and no replacement begins during a
/// rebuild: a program on a dead part while half is replaced, and half a rebuild before a fifth is replaced, mostly take a second failure.
const PAIRS_BY_SECOND_FAILURES: [&str; 2] = ["write_on_dead_part + replacement_50", "rebuild_50 + replacement_10"];

/// Nothing is lost that the scheme protects; and the kills were of all kinds that its devices allow.
#[test]
fn nothing_is_lost_within_tolerance() {
    let mut met: BTreeMap<_, u64> = BTreeMap::new();
    for (row, entry) in protecting().enumerate() {
        let (mut states, mut pairs, mut kills): (BTreeMap<_, u64>, BTreeMap<_, u64>, u64) = Default::default();
        let orders: Vec<_> = ORDERS.iter().filter(|order| (order.suits)(entry).is_ok()).collect();
        for order in some_of(&orders, row, orders.len()) {
            // A replacement takes many kills, and a device has few of them; and some scheme must meet each state.
            let slice = if row == 0 { 900 } else { 250 + 350 * u64::from(entry.replaces_devices) };
            // Where parity is deferred some pairs of states are met on few devices, and often there: of fewer kills their number is a matter of chance.
            let whole = if entry.parity_cache.is_some() { 40_000 } else { 20_000 };
            let torture =
                Torture { scheme: entry.name.into(), rebuild: order.name.into(), kills: proving(whole, slice), ..Torture::default() };
            let report = run(&torture);
            let [found] = report.schemes.as_slice() else { panic!("one scheme") };
            assert_eq!(found.violation, None, "{} {}", entry.name, order.name);
            assert_eq!(found.kills, torture.kills);
            assert!(found.rebuilt > 0 && found.faults.len() >= 7, "{found:?}");
            // A declared window loses what it declares, and there are losses to be judged.
            assert_eq!(found.pages_lost_in_window.map(|pages| pages > found.kills / 6), entry.has_window.then_some(true), "{found:?}");
            if entry.replaces_devices {
                assert!(found.replacements["replaced"] > found.kills / 50 && found.faults["spare_device"] > 0, "{}: {found:?}", entry.name);
                assert!(entry.takes_devices_out || found.states["given_up"] > 0, "{}: {found:?}", entry.name);
            }
            kills += found.kills;
            found.states.iter().for_each(|(state, count)| *states.entry(*state).or_default() += count);
            found.pairs.iter().for_each(|(pair, count)| *pairs.entry(pair.clone()).or_default() += count);
        }
        println!("{}: {kills} kills, {states:?}", entry.name);
        states.iter().for_each(|(state, count)| *met.entry(*state).or_default() += count);
        if proving(true, false) {
            for (state, count) in states {
                assert!(count * STATE_ONCE_IN >= kills, "{}: {state} in {count} of {kills}", entry.name);
            }
            if entry.takes_devices_out {
                let report = run(&Torture { scheme: entry.name.into(), kills, second: true, ..Torture::default() });
                let [found] = report.schemes.as_slice() else { panic!("one scheme") };
                assert_eq!(found.violation, None, "{} with second failures", entry.name);
                // These make up for what the first failure alone hardly meets, and are asked for nothing more.
                found.pairs.iter().for_each(|(pair, count)| *pairs.entry(pair.clone()).or_default() += count);
                for pair in PAIRS_BY_SECOND_FAILURES {
                    assert!(pairs.remove(pair).is_some_and(|count| count > 0), "{}: {pair}", entry.name);
                }
            }
            let rare: Vec<_> = pairs.iter().filter(|(_, count)| **count * 1_000_000 < PAIR_PER_MILLION * kills).collect();
            assert!(rare.is_empty(), "{}: of {kills} kills too few found {rare:?}", entry.name);
        }
    }
    let never: Vec<_> = met.iter().filter(|(_, count)| **count == 0).collect();
    assert!(never.is_empty(), "{never:?}");
}

/// Of arrays too, in which whole SSDs fail, and chips, blocks and pages of them.
#[test]
fn nothing_is_lost_in_arrays() {
    for entry in some_of(protecting(), 0, 5).filter(|entry| entry.mirror_chips == 0 && entry.mirror_groups.is_none()) {
        let devices = entry.members.legal(1).find(|count| *count > 3).expect("as many members");
        for second in [false, true] {
            let settings = vec![("devices".to_string(), devices.to_string())];
            let torture = Torture { scheme: entry.name.into(), kills: proving(20_000, 200), second, settings, ..Torture::default() };
            let report = run(&torture);
            let [found] = report.schemes.as_slice() else { panic!("one scheme") };
            assert_eq!(found.violation, None, "{}", entry.name);
            assert!(found.kills == torture.kills && found.rebuilt > 0 && found.faults.contains_key("device"), "{}: {found:?}", entry.name);
        }
    }
}

/// Every day other devices: the seed is the number of the day, and is printed.
#[test]
fn nothing_is_lost_today() {
    if proving(false, true) {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "the seed is that of the day")]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock that is right");
    let seed = since.as_secs() / 86_400;
    println!("flashraid torture --scheme all --kills 10000 --seed {seed}");
    for found in run(&Torture { seed, kills: 10_000, ..Torture::default() }).schemes {
        assert_eq!(found.violation, None, "{}", found.scheme);
    }
}

/// The same on devices with log blocks.
#[test]
fn nothing_is_lost_with_log_blocks() {
    let stays = |entry: &&Entry| entry.mirror_chips == 0 && entry.mirror_groups.is_none();
    for scheme in some_of(protecting(), 1, 6).filter(stays).map(|entry| entry.name) {
        for mapping in ["bast", "fast"] {
            let settings = vec![("mapping".to_string(), mapping.to_string())];
            let torture = Torture { scheme: scheme.into(), settings, kills: proving(5_000, 250), ..Torture::default() };
            let report = run(&torture);
            let found = &report.schemes[0];
            assert_eq!(found.violation, None, "{scheme} {mapping}");
            println!("{scheme} {mapping}: {:?} {:?}", found.states, found.faults);
            assert!(found.kills == torture.kills && found.rebuilt > 0 && found.states["merge"] > 0, "{found:?}");
        }
    }
}

/// A second failure takes exactly what it must.
#[test]
fn a_second_failure_loses_what_it_must() {
    for entry in some_of(protecting(), 2, 3) {
        let report = run(&Torture { scheme: entry.name.into(), second: true, kills: proving(5_000, 250), ..Torture::default() });
        let found = &report.schemes[0];
        assert_eq!(found.violation, None, "{}", found.scheme);
        assert!(
            found.faults["second"] > proving(10, 2) && found.pages_gone >= proving(50, 1),
            "{}: {} pages",
            found.scheme,
            found.pages_gone
        );
    }
}

/// Two parities survive a second unit that fails at any instant, and not a third one; one parity survives no second one.
#[test]
fn two_parities_survive_two_failures_at_once() {
    let torture = |scheme: &str, second| Torture { scheme: scheme.into(), second, kills: proving(5_000, 250), ..Torture::default() };
    let found =
        [("raid5", false), ("raid6", false), ("raid6", true)].map(|(scheme, second)| run(&torture(scheme, second)).schemes.remove(0));
    assert!(found.iter().all(|found| found.violation.is_none()), "{found:?}");
    let [one, two, three] = &found;
    assert_eq!(one.survived_together, 0);
    assert!(two.survived_together > two.kills / 25, "{two:?}");
    assert!(three.survived_together > 0 && three.faults["second"] > 2 && three.pages_gone > 0, "{three:?}");
}

/// Nor do writes that are answered before they are on flash, and whose chips die then: they are lost, and nothing older passes for them.
#[test]
fn a_second_failure_under_early_answers_loses_what_it_must() {
    for (key, value) in [("write_completes", "data_in"), ("parity_in_response", "false")] {
        let (settings, scheme) = (vec![(key.to_string(), value.to_string())], proving("all", "ppc").to_string());
        for found in run(&Torture { scheme, second: true, settings, kills: proving(2_000, 200), ..Torture::default() }).schemes {
            assert_eq!(found.violation, None, "{} {key}", found.scheme);
        }
    }
}

/// What keeps nothing beside the data is convicted, whatever it claims; and what makes it up later.
#[test]
fn schemes_that_protect_nothing_are_convicted() {
    // Nothing is answered before flash has it, which is convicted for itself.
    let late = [("write_completes", "program_end"), ("buffer_bytes", "0")];
    let alone = [("groups", "1"), ("completes", "all_copies"), late[0], late[1]];
    let set = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect::<Vec<_>>();
    let raid0 = Torture { scheme: "raid0".into(), claims: Some(Protects::Member), settings: set(&late), kills: 100, ..Torture::default() };
    let alone =
        Torture { scheme: "sirf1".into(), claims: Some(Protects::Channel), settings: set(&alone), kills: 100, ..Torture::default() };
    // What it has written is bare until the device is idle, and longer once an old version is erased: whoever claims that there is no such window is wrong.
    let fra = Torture { scheme: "fra".into(), claims: Some(Protects::Member), kills: 100, ..Torture::default() };
    for torture in [raid0, alone, fra] {
        let report = run(&torture);
        let violation = report.schemes[0].violation.as_ref().expect("must be convicted");
        assert!(violation.what.contains("would lose it") || violation.what.contains("is lost"), "{violation:?}");
    }
    let all = run(&Torture { kills: 1, ..Torture::default() });
    assert!(all.schemes.iter().map(|found| found.scheme.as_str()).eq(protecting().map(|entry| entry.name)));
}

/// A write that is answered with its first copy programmed is in the map of flash later: till then the controller alone holds it.
#[test]
fn answers_with_the_first_copy_are_convicted() {
    let violation = |completes: &str, claims: Option<Protects>| {
        let fixed = [("completes", completes), ("buffer_bytes", "0"), ("write_completes", "program_end")];
        let settings = fixed.map(|(key, value)| (key.into(), value.into())).to_vec();
        let torture = Torture { scheme: "sirf1".into(), claims, settings, kills: proving(1_000, 300), ..Torture::default() };
        run(&torture).schemes[0].violation.clone()
    };
    assert_eq!(violation("all_copies", Some(Protects::Channel)), None);
    assert_eq!(violation("first_copy", None), None, "a living controller loses nothing");
    let found = violation("first_copy", Some(Protects::Channel)).expect("must be convicted");
    assert!(found.what.contains("matches no request"), "{found:?}");
}

/// A kill can be replayed alone, and is the same.
#[test]
fn a_kill_is_replayed_from_its_number() {
    let raid0 = Torture { scheme: "raid0".into(), claims: Some(Protects::Member), seed: 3, kills: 1000, ..Torture::default() };
    let violation = run(&raid0).schemes[0].violation.clone().expect("must be convicted");
    let again = run(&Torture { kill: Some(violation.kill), ..raid0 });
    assert_eq!(again.schemes[0].violation, Some(violation));
}

/// Settings as they were drawn when a violation was found, where other keys and values have been added since. Those of violations without `update` are newer.
fn as_then(update: &str, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let then = [("update", update), ("xor_ns", "0")].into_iter().filter(|_| !update.is_empty());
    let others = [("chunk_units", "1"), ("slc_static", "0"), ("slc_dynamic", "false")];
    let settings = then.chain(others).chain(more.iter().copied());
    settings.map(|(key, value)| (key.into(), value.into())).collect()
}

/// Violations that long runs found, as long as the same devices are drawn: a commit under the lock of an operation that failed for space; what GC
/// did to the map after an answer of the scheme, which nobody took notice of until the next event; a page without a place that the rebuild did not
/// look for, as it waited for room elsewhere; a base that GC had given up and a trim released in one instant, whose entry of the map was gone; and pages
/// that the memory had given up were written anew before anybody looked, so that requests were thought to have failed without a loss.
#[test]
fn what_was_once_a_violation_is_none() {
    let violations = [
        ("ca-ppc", "sor", "fewest", 41_000, 10_332),
        ("fpc", "sor", "rcw", 41_002, 2_441),
        ("cr5m", "dor", "rmw", 1, 34_699),
        ("cr5m", "dor", "rcw", 41_014, 17_041),
        ("raid5", "auto", "rmw", 20_780, 1_589),
        ("ppc", "auto", "", 20_787, 1_696),
    ];
    for (scheme, rebuild, update, seed, kill) in violations {
        let settings = as_then(update, if scheme == "raid5" { &[("decide", "before_all")] } else { &[] });
        let torture = Torture { scheme: scheme.into(), rebuild: rebuild.into(), settings, seed, kill: Some(kill), ..Torture::default() };
        let found = run(&torture).schemes.remove(0);
        assert!(found.violation.is_none(), "{:?}", found.violation);
    }
}

/// The same of replacements: what the old SSD had lost waited for space there, and not on the new one; host requests waited for what nothing rebuilds; what
/// it had lost of stripes that had left it was to be repaired; a dead spare SSD took its own place; parity was to go
/// where failures had left no space; an early answer found none; what the old SSD had lost when there was no space for it was never computed; a copy
/// that failed for space as the last of all was followed by no other one; an SSD was taken out between two kills while something else was lost;
/// space came at the instant at which the last round of copies had found none; a rebuild asked again and again for pages that padding was to have; a
/// parity that the memory had given up was taken for one that a further failure leaves; pages that programs gave back as they failed were not offered to what failures
/// had driven out; and a flush did not wait for the programs of what it had itself written out of a buffer.
#[test]
fn what_was_once_a_violation_of_replacements_is_none() {
    let violations = [
        ("hotswap", "fewest", "redistribute=false", false, 7, 12_749),
        ("hotswap", "rmw", "partial_stripes=1", false, 7, 7_049),
        ("hotswap", "rmw", "", false, 7, 13_824),
        ("offline-diff-raid", "rmw", "", false, 1, 283),
        ("offline-diff-raid", "fewest", "", true, 7, 6_803),
        ("hotswap", "fewest", "", false, 1, 304),
        ("hotswap", "rmw", "", false, 11, 11_224),
        ("hotswap", "rmw", "partial_stripes=0.3", false, 7, 11_788),
        ("hotswap", "fewest", "balanced=parity_to_new", false, 1_006, 2_674),
        ("hotswap", "rmw", "semi_hybrid=true", false, 1_004, 77_524),
        ("hotswap", "fewest", "semi_hybrid=true", false, 2_003, 98_449),
        ("online-rebuild", "rmw", "", false, 5_001, 161_910),
        ("offline-diff-raid", "rcw", "", false, 5_001, 165_153),
        ("hotswap", "", "superblock=true", false, 7, 599),
        ("raid1", "", "superblock=true write_streams=8", false, 20_261_130, 37_117),
        ("fra", "", "mapping_unit_bytes=1024 write_streams=3 gc_streams=own", false, 20_261_130, 11_650),
        ("hotswap", "", "superblock=true write_streams=8", false, 20_261_130, 36_499),
        ("raid1", "", "superblock=true write_streams=8", false, 20_261_201, 3550),
        ("hotswap", "", "superblock=true slc_static=1 slc_dynamic=true", false, 20_261_203, 324),
        ("fra", "", "slc_dynamic=true slc_leave=1", false, 20_261_212, 547),
        ("raid4", "", "superblock=true", false, 20_261_130, 5499),
        ("raid5", "", "mapping_unit_bytes=1024 power_loss_protection=false", false, 77, 220),
    ];
    for (scheme, update, setting, second, seed, kill) in violations {
        let settings = as_then(update, &setting.split_whitespace().filter_map(|pair| pair.split_once('=')).collect::<Vec<_>>());
        let torture = Torture { scheme: scheme.into(), settings, second, seed, kill: Some(kill), ..Torture::default() };
        let found = run(&torture).schemes.remove(0);
        assert!(found.violation.is_none(), "{:?}", found.violation);
    }
}

#[test]
fn equal_seeds_give_equal_reports() {
    let torture = Torture { scheme: "cr5m".into(), kills: 200, ..Torture::default() };
    let text = |torture: &Torture| serde_json::to_string(&run(torture)).expect("plain data");
    assert_eq!(text(&torture), text(&torture));
    assert_ne!(text(&torture), text(&Torture { seed: 2, ..torture.clone() }));
}

/// Episodes run side by side, and the first violation is the one with the smallest number.
#[test]
fn the_number_of_threads_changes_nothing() {
    let clean = Torture { scheme: "raid5".into(), kills: 210, ..Torture::default() };
    let detected = Torture { scheme: "raid0".into(), claims: Some(Protects::Member), seed: 5, kills: 1000, ..Torture::default() };
    for torture in [clean, detected] {
        let text = |threads: usize| serde_json::to_string(&run(&Torture { threads, ..torture.clone() })).expect("plain data");
        assert_eq!(text(1), text(4));
    }
}

#[test]
fn what_cannot_be_tortured_is_refused() {
    let refusal = |torture: &Torture| torture.run(&mut |_, _| true).expect_err("must be refused").to_string();
    let raid0 = Torture { scheme: "raid0".into(), ..Torture::default() };
    assert_eq!(refusal(&raid0), "raid0 is not declared to survive any failure, so there is nothing to test");
    let unknown = Torture { scheme: "raid55".into(), ..Torture::default() };
    assert!(refusal(&unknown).starts_with("unknown scheme raid55; the nearest is raid5; there are "));
    let order = Torture { scheme: "raid5".into(), rebuild: "dro".into(), ..Torture::default() };
    assert_eq!(refusal(&order), "rebuild = dro: unknown order; the nearest is dor; allowed is auto, none, sor, dor, mcr, copy");
    let with = |key: &str, value: &str| {
        let settings = vec![(key.to_string(), value.to_string())];
        refusal(&Torture { scheme: "raid5".into(), rebuild: "sor".into(), settings, ..Torture::default() })
    };
    assert_eq!(with("speed", "2"), "speed = 2 has no effect: torture generates its own requests");
    assert_eq!(with("run.verify", "false"), "run.verify = false has no effect: torture always verifies");
    assert_eq!(with("scheme.name", "raid1"), "--scheme raid5 and --set scheme.name=raid1 contradict each other: give one of them");
    assert_eq!(with("host.rebuild", "dor"), "--rebuild sor and --set host.rebuild=dor contradict each other: give one of them");
}

/// One page with an old version that a parity covers is enough, and is told for as long as it is there.
#[test]
fn a_single_semivalid_page_is_seen() {
    let config = small("ppc", &[]);
    let mut engine = engine(&config, tags(&config));
    engine.fill(engine.space_pages());
    assert!(!has_semivalid(&engine.executor.media));
    engine.submit(&pages(HostOp::Write, 5, 1), true);
    engine.finish().unwrap();
    assert!(has_semivalid(&engine.executor.media));
}
