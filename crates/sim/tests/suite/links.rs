//! Host links of the SSDs of an array, to the nanosecond. An SSD is `tiny`: a read takes 122,575 ns in it, a program 302,575; it has four channels
//! with a chip each, so that it reads and programs faster than these links transfer.

use crate::support::{config, pages};
use flashraid_sim::Simulation;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};

const READ: u64 = 122_575;
const PROGRAM: u64 = 302_575;
const COMMAND: u64 = 500;

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn simulation(scheme: &str, devices: &str, pairs: Pairs) -> Simulation {
    let all = [&[("devices", devices), ("fill", "0.5")], pairs].concat();
    Simulation::new(config("tiny", scheme, &all), |_| true).unwrap()
}

/// When each of these requests, all at time 0, is completed; and the time in use of each link towards the SSD and from it.
fn at_once(ps_per_byte: &str, requests: &[HostRequest]) -> (Vec<u64>, Vec<[u64; 2]>) {
    let mut simulation = simulation("raid0", "2", &[("link_ps_per_byte", ps_per_byte), ("link_command_ns", "500")]);
    for request in requests {
        simulation.submit(request).unwrap();
    }
    simulation.finish().unwrap();
    let mut completed = simulation.take_completed();
    completed.sort_by_key(|completed| completed.sequence);
    let result = simulation.result(&Default::default(), false, None).unwrap();
    let links = result.links.expect("there are links");
    let links = links.iter().map(|link| [link.to_ssd_busy_ns.host, link.from_ssd_busy_ns.host]).collect();
    (completed.iter().map(|completed| completed.completed_ns).collect(), links)
}

/// Page `number` of SSD `ssd` of two.
fn read(ssd: u64, number: u64) -> HostRequest {
    pages(HostOp::Read, 2 * number + ssd, 1)
}

fn write(ssd: u64, number: u64) -> HostRequest {
    pages(HostOp::Write, 2 * number + ssd, 1)
}

#[test]
fn a_page_operation_crosses_its_link() {
    // 10 ns for a byte: 40,960 for a page.
    const DATA: u64 = 40_960;
    assert_eq!(at_once("10000", &[read(0, 0)]), (vec![COMMAND + READ + DATA], vec![[COMMAND, DATA], [0, 0]]));
    assert_eq!(at_once("10000", &[write(1, 0)]), (vec![COMMAND + DATA + PROGRAM], vec![[0, 0], [COMMAND + DATA, 0]]));
    // Each SSD has a link of its own, and each link two directions: the data of the write follow the command of the read.
    let both = [read(0, 0), read(1, 0), write(0, 7)];
    let expected = vec![COMMAND + READ + DATA, COMMAND + READ + DATA, 2 * COMMAND + DATA + PROGRAM];
    assert_eq!(at_once("10000", &both), (expected, vec![[2 * COMMAND + DATA, DATA], [COMMAND, DATA]]));
    // A time that is no whole number of nanoseconds is rounded up: 40,964.096.
    assert_eq!(at_once("10001", &[read(0, 0)]).0, [COMMAND + READ + 40_965]);
    // Commands alone take time.
    assert_eq!(at_once("0", &[read(0, 0), write(1, 0)]).0, [COMMAND + READ, COMMAND + PROGRAM]);
}

#[test]
fn a_link_that_is_slower_than_its_ssd_is_never_idle() {
    // 100 ns for a byte.
    const DATA: u64 = 409_600;
    let reads: Vec<_> = (0..20).map(|number| read(0, number)).collect();
    let (completed, links) = at_once("100000", &reads);
    assert_eq!(completed, (1..=20).map(|number| COMMAND + READ + number * DATA).collect::<Vec<_>>());
    assert_eq!(links[0], [20 * COMMAND, 20 * DATA]);
    let writes: Vec<_> = (0..20).map(|number| write(1, number)).collect();
    let (completed, links) = at_once("100000", &writes);
    assert_eq!(completed, (1..=20).map(|number| number * (COMMAND + DATA) + PROGRAM).collect::<Vec<_>>());
    assert_eq!(links[1], [20 * (COMMAND + DATA), 0]);
}

/// What is under way counts up to the time of the result.
#[test]
fn a_transfer_under_way_counts_as_far_as_it_is() {
    let mut simulation = simulation("raid0", "2", &[("link_ps_per_byte", "100000"), ("link_command_ns", "500")]);
    simulation.submit(&read(0, 0)).unwrap();
    for (time_ns, expected) in [(200, [200, 0]), (COMMAND + READ + 1_000, [COMMAND, 1_000]), (1_000_000, [COMMAND, 409_600])] {
        simulation.advance_until(time_ns).unwrap();
        let links = simulation.result(&Default::default(), false, None).unwrap().links.unwrap();
        assert_eq!([links[0].to_ssd_busy_ns.host, links[0].from_ssd_busy_ns.host], expected, "at {time_ns}");
    }
}

/// Random requests in a small array.
fn worked(scheme: &str, pairs: Pairs) -> (Simulation, Vec<(u64, u64)>) {
    let small = [("blocks_per_plane", "16"), ("pages_per_block", "8"), ("over_provisioning", "0.4"), ("channels", "1"), ("verify", "true")];
    let mut simulation = simulation(scheme, "4", &[&small, pairs].concat());
    let (mut random, space, mut arrival_ns) = (SplitMix64::new(3), simulation.space_bytes() / 4096, 0);
    for _ in 0..1500 {
        let op = [HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Trim][(random.next_u64() % 4) as usize];
        arrival_ns += random.next_u64() % 600_000;
        simulation.submit(&HostRequest { arrival_ns, ..pages(op, random.next_u64() % (space - 4), 1 + random.next_u64() % 4) }).unwrap();
    }
    simulation.finish().unwrap();
    let completed = simulation.take_completed();
    assert!(completed.iter().all(|completed| completed.ok), "{scheme} {pairs:?}");
    let found = simulation.verify().unwrap();
    assert!(found.is_clean() && found.pages_gone == 0, "{scheme} {pairs:?}: {found:?}");
    (simulation, completed.iter().map(|completed| (completed.sequence, completed.completed_ns)).collect())
}

const LINKS: Pairs = &[("link_ps_per_byte", "10000"), ("link_command_ns", "500")];

#[test]
fn what_an_ssd_does_by_itself_does_not_use_its_link() {
    let (simulation, _) = worked("raid5", LINKS);
    let result = simulation.result(&Default::default(), false, None).unwrap();
    let programs = &result.flash_ops.programs;
    assert!(programs.gc > 0, "GC had to work");
    let text = serde_json::to_value(&result).unwrap();
    let sum = |value: &serde_json::Value| value["total"].as_u64().unwrap() - value["gc"].as_u64().unwrap();
    let [reads, programs] = ["reads", "programs"].map(|action| sum(&text["flash_ops"][action]));
    let [to_ssd, from_ssd] = ["to_ssd_busy_ns", "from_ssd_busy_ns"]
        .map(|lane| text["links"].as_array().unwrap().iter().map(|link| sum(&link[lane])).sum::<u64>());
    assert_eq!((to_ssd, from_ssd), ((reads + programs) * COMMAND + programs * 40_960, reads * 40_960));
    assert_eq!(text["links"][0]["to_ssd_busy_ns"]["gc"], 0);
}

#[test]
fn nothing_is_lost_between_the_controller_and_an_ssd_that_fails() {
    let slow: Pairs = &[("link_ps_per_byte", "100000"), ("link_command_ns", "20000")];
    let ppc: Pairs = &[("nvram_buffer_bytes", "65536"), ("parity_cache_bytes", "65536")];
    let bast: Pairs = &[("mapping", "bast"), ("log_blocks", "4"), ("blocks_per_plane", "24")];
    let fails: Pairs = &[
        ("device:1@request:300", "0"),
        ("device:2@request:300,device:4@request:900", "2"),
        ("device:0/block:0.0.0.0.3@request:200,device:3/program:0@request:500", "0"),
    ];
    // Hybrid mapping takes neither spares nor lost blocks.
    for (scheme, own, fails) in [("raid1", &[][..], fails), ("raid5", &[], fails), ("ppc", ppc, fails), ("raid5", bast, &fails[..1])] {
        for (fail, spares) in fails {
            let pairs = [own, slow, &[("fail", *fail), ("spare_devices", *spares)]].concat();
            let (_, completed) = worked(scheme, &pairs);
            assert!(completed == worked(scheme, &pairs).1, "{scheme} {fail}: twice the same");
        }
    }
}
