//! GC policies under the engine: each goes on where space is scarcest, is the same each time, and does what it is for.

use crate::support::{config, least_over_provisioning, pages};
use flashraid_ftl::{ChosenPolicy, policies};
use flashraid_sim::Simulation;
use flashraid_vocabulary::{HostOp, HostRequest, SplitMix64};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// A value of each policy, those with a number with several.
fn values() -> Vec<String> {
    let numbers = |name: &str| [1, 3, 20].map(|number| format!("{name}:{number}"));
    policies().flat_map(|policy| if policy.most.is_some() { numbers(policy.name()).into() } else { vec![policy.form.into()] }).collect()
}

/// Pages that the host and GC program while a filled device is overwritten: `hot` of ten writes go to a tenth of the space, and come so far apart.
fn overwritten(scheme: &str, pairs: Pairs, writes: u64, hot: u64, apart_ns: u64) -> (u64, u64) {
    let mut simulation =
        Simulation::new(config("tiny", scheme, &[&[("verify", "true"), ("fill", "1")], pairs].concat()), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(7), simulation.space_bytes() / 4096);
    for number in 0..writes {
        let (first, count) = if random.next_below(10) < hot { (0, space / 10) } else { (space / 10, space - space / 10) };
        let write = pages(HostOp::Write, first + random.next_below(count), 1);
        simulation.submit(&HostRequest { arrival_ns: number * apart_ns, ..write }).unwrap();
    }
    simulation.finish().unwrap();
    let found = simulation.verify().unwrap();
    assert!(found.mismatches == 0 && (found.is_clean() || scheme == "fra"), "{scheme} {pairs:?}: {found:?}");
    let result = simulation.result(&Default::default(), false, None).unwrap();
    assert_eq!(result.requests.completed, writes, "{scheme} {pairs:?}");
    (result.flash_ops.programs.host, result.flash_ops.programs.gc)
}

/// The proof of `most_logical_pages` is about any policy that takes a block with garbage whenever there is one: so each goes on at the least
/// over-provisioning, where a domain of planes has but two blocks to spare.
#[test]
fn every_policy_goes_on_where_space_is_scarcest() {
    let bases: Pairs = &[("parity_cache_bytes", "16384")];
    for (scheme, allocation, more) in [
        ("raid0", "dynamic", &[][..]),
        ("raid5", "static", &[]),
        ("raid5", "dynamic_member", &[]),
        ("ppc", "dynamic_member", bases),
        // Old versions may be all that there is to gain.
        ("fra", "dynamic_member", &[]),
    ] {
        let small = [("blocks_per_plane", "10"), ("pages_per_block", "8"), ("allocation", allocation), ("chips_per_channel", "2")];
        let roomy = config("tiny", scheme, &[&small, more, &[("over_provisioning", "0.6")]].concat());
        let least = least_over_provisioning(&roomy.device, roomy.placement(&*roomy.build_scheme().unwrap()));
        // A scheme that keeps old versions needs room for them too.
        let least = if scheme == "ppc" { least + 0.1 } else { least }.to_string();
        for value in values() {
            let given: Pairs = &[("over_provisioning", &least), ("gc_policy", &value)];
            let (host, gc) = overwritten(scheme, &[&small, more, given].concat(), 1500, 1, 0);
            assert!(host > 0 && gc > 0, "{scheme} {value}");
            assert_eq!((host, gc), overwritten(scheme, &[&small, more, given].concat(), 1500, 1, 0), "{scheme} {value}: twice the same");
        }
    }
}

/// Pages that GC moves in one plane; `hot` of ten writes go to a tenth of the pages.
fn moved(policy: &str, hot: u64) -> u64 {
    let one = [("channels", "1"), ("chips_per_channel", "1"), ("dies_per_chip", "1"), ("planes_per_die", "1"), ("gc_threshold", "0.01")];
    let plane = [("blocks_per_plane", "128"), ("pages_per_block", "16"), ("over_provisioning", "0.15"), ("gc_policy", policy)];
    overwritten("raid0", &[&one[..], &plane].concat(), 4_000, hot, 20_000_000).1
}

/// The order that the literature has: a window is between FIFO and greedy, draws are between any block and greedy; and age pays where some pages are hot.
/// (`make validate` has the figures.)
#[test]
fn policies_differ_as_they_should() {
    let [fifo, window, greedy, one, three, many, aged] =
        ["fifo", "windowed:16", "greedy", "d:1", "d:3", "d:1000", "cost_benefit"].map(|policy| moved(policy, 1));
    assert!(fifo > window && window > greedy, "{fifo} {window} {greedy}");
    assert!(one > three && three > greedy, "{one} {three} {greedy}");
    // They differ in ties alone; where all pages are alike, age says little.
    assert!(many.abs_diff(greedy) * 20 < greedy && aged < window, "{many} {aged} {greedy}");
    let [greedy, aged] = ["greedy", "cost_benefit"].map(|policy| moved(policy, 9));
    assert!(aged * 10 < 9 * greedy, "{aged} {greedy}");
}

/// `auto` is commit-aware, which is greedy where nothing is committed.
#[test]
fn the_default_is_greedy() {
    let found = ["auto", "greedy", "commit_aware"].map(|policy| moved(policy, 5));
    assert!(found[0] == found[1] && found[1] == found[2], "{found:?}");
    assert!(ChosenPolicy::of("auto").is_some_and(|chosen| chosen.policy.weighs_commits));
}

/// SSDs of an array draw apart: of two alike under the same load each collects blocks of its own.
#[test]
fn ssds_of_an_array_draw_apart() {
    let array = [("devices", "2"), ("channels", "1"), ("chips_per_channel", "1"), ("planes_per_die", "1"), ("dies_per_chip", "1")];
    let plane = [("blocks_per_plane", "64"), ("pages_per_block", "8"), ("over_provisioning", "0.2"), ("fill", "1"), ("gc_policy", "d:1")];
    let mut simulation = Simulation::new(config("tiny", "raid1", &[&array[..], &plane].concat()), |_| true).unwrap();
    let (mut random, space) = (SplitMix64::new(7), simulation.space_bytes() / 4096);
    for _ in 0..2000 {
        simulation.submit(&pages(HostOp::Write, random.next_below(space), 1)).unwrap();
    }
    simulation.finish().unwrap();
    let members = simulation.result(&Default::default(), false, None).unwrap().members;
    // Both program the same for the host.
    assert_ne!(members[0].programs, members[1].programs);
}

/// What a mapping with log blocks can have, and what a value must look like.
#[test]
fn refusals_say_what_is_allowed() {
    let refused = |pairs: Pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        flashraid_sim::Config::assemble(Some("tiny"), Some("ppc"), None, &pairs).unwrap_err().to_string()
    };
    let hybrid = [("mapping", "bast"), ("log_blocks", "4"), ("over_provisioning", "0.5")];
    assert_eq!(
        refused(&[&hybrid[..], &[("gc_policy", "fifo")]].concat()),
        "gc_policy = fifo: allowed is auto, greedy, commit_aware with mapping = bast, where pages lie at fixed offsets in blocks"
    );
    let text = refused(&[("gc_policy", "d:0")]);
    assert!(text.starts_with("gc_policy = d:0: allowed is auto, greedy, commit_aware, fifo, "), "{text}");
    assert!(text.contains(", d:K with K from 1 to 1000, cost_benefit"), "{text}");
    assert!(policies().all(|policy| text.contains(policy.form)), "{text}");
}
