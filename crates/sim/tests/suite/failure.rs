//! What becomes of operations when something fails, and rebuilds with the engine. What every scheme must survive at any instant is
//! `torture`'s to show; here is what can be derived.

use crate::support::{config, engine, pages, proving, request, small, tags};
use flashraid_redundancy::{Protects, SCHEMES};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Content;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::verify;
use flashraid_sim::{Config, Simulation};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Action, Cause, Fault, HostOp, HostRequest, Lpn, Part, Version, View};

fn chip(channel: u32, chip: u32) -> Fault {
    Fault::Loss(Part::Chip { channel, chip })
}

/// Three chips a channel, and those that the scheme wants beside them; small blocks.
fn drive(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let mut all = vec![("chips_per_channel", "4"), ("blocks_per_plane", "16"), ("pages_per_block", "8"), ("over_provisioning", "0.4")];
    all.extend(pairs);
    config("tiny", scheme, &all)
}

fn count(engine: &Engine<impl Content>, action: Action, cause: Cause) -> u64 {
    engine.executor.media.nand().counts()[action as usize][cause as usize]
}

#[test]
fn faults_come_in_their_time_however_far_it_moves() {
    let config = small("raid5", &[("fail", "page:lpn=1@1ms,page:lpn=2@2ms")]);
    let mut simulation = Simulation::new(config, |_| true).unwrap();
    simulation.advance_until(10_000_000).unwrap();
    let result = simulation.result(&Default::default(), false, None).unwrap();
    let times: Vec<_> = result.faults.iter().map(|fault| fault.at_ns).collect();
    assert_eq!(times, [1_000_000, 2_000_000]);
}

/// Versions of pages on a chip.
fn live_on(engine: &Engine<Tags>, channel: u32, chip: u32) -> u64 {
    let flash = &engine.executor.media;
    let settings = flash.settings();
    let slots = settings.pages_per_member * settings.members();
    let is_there = |slot: &u32| {
        flash.store().lookup(flash.store().maps().address(*slot), Version::Current).is_some_and(|ppn| {
            let lun = flash.nand().places().lun_of(ppn);
            flash.nand().channel_of_lun(lun) == channel && flash.nand().shape().chip_of_lun(lun) == chip
        })
    };
    (0..slots).filter(is_there).count() as u64
}

/// SPEC 1.11: a data chip with L live pages costs L x (n - 1) reads and L programs; copying costs L of each.
#[test]
fn an_idle_rebuild_costs_what_the_closed_form_says() {
    for (scheme, rebuild, reads) in [("raid5", "dor", 3), ("raid5", "sor", 3), ("raid4", "dor", 3), ("raid1", "copy", 1)] {
        let config = drive(scheme, &[("spare_chips", "1"), ("rebuild", rebuild)]);
        let mut engine = engine(&config, tags(&config));
        engine.fill(engine.space_pages());
        let live = live_on(&engine, 1, 0);
        assert!(live > 50, "{scheme}: {live}");
        engine.fail(chip(1, 0));
        engine.finish().unwrap();
        assert_eq!(count(&engine, Action::Read, Cause::Rebuild), reads * live, "{scheme} {rebuild}");
        assert_eq!(count(&engine, Action::Program, Cause::Rebuild), live, "{scheme} {rebuild}");
        let [record] = engine.survey().rebuilds else { panic!("one rebuild") };
        assert_eq!(record.pages, live);
        assert_eq!(record.pages_copied, if scheme == "raid1" { live } else { 0 });
        assert_eq!(record.finished_ns, Some(engine.now_ns()), "{scheme} {rebuild}");
        assert!(engine.survey().faults[0].is_replaced);
        assert!(verify::stored(&engine).is_clean(), "{scheme}: as redundant as before");
        engine.executor.media.checked().check().unwrap();
    }
}

/// Requests of all kinds while chips fail at any time, one after the other's rebuild.
#[test]
fn nothing_is_lost_while_requests_go_on() {
    // Those that replace SSDs need an array: torture tries them.
    for entry in SCHEMES.iter().filter(|entry| entry.protects != Protects::None && !entry.has_window && !entry.replaces_devices) {
        let scheme = entry.name;
        for seed in 0..proving(12, 4) {
            let spare = if entry.mirror_groups.is_some() { "0" } else { "1" };
            let config = drive(scheme, &[("spare_chips", spare), ("gc_threshold", "0.3")]);
            let mut engine = engine(&config, tags(&config));
            let mut random = SplitMix64::new(seed);
            let space = engine.space_pages();
            engine.fill(space * 3 / 4);
            let mut submitted = 0;
            for round in 0..600 {
                let length = 1 + random.next_u64() % 6;
                let first = random.next_u64() % (space - length);
                let op = [HostOp::Write, HostOp::Write, HostOp::Read, HostOp::Trim][(random.next_u64() % 4) as usize];
                let mut request = pages(op, first, length);
                if random.next_u64().is_multiple_of(3) && op != HostOp::Trim {
                    request.size_bytes -= 1024;
                }
                engine.submit(&request, true);
                submitted += 1;
                engine.advance_until(engine.now_ns() + random.next_u64() % 400_000).unwrap();
                if round == 150 {
                    engine.fail(chip((random.next_u64() % 4) as u32, 0));
                }
                engine.executor.media.checked().check().unwrap_or_else(|error| panic!("{scheme}, seed {seed}: {error}"));
                assert_eq!(engine.lost_pages().count(), 0, "{scheme}, seed {seed}, round {round}");
            }
            engine.finish().unwrap();
            assert_eq!(engine.front_end.completed.len(), submitted, "{scheme}, seed {seed}");
            assert!(engine.front_end.completed.iter().all(|completed| completed.ok), "{scheme}, seed {seed}");
            assert_eq!(engine.executor.content.mismatches, 0, "{scheme}, seed {seed}");
            assert!(engine.survey().rebuilds[0].finished_ns.is_some(), "{scheme}, seed {seed}");
            let stored = verify::stored(&engine);
            assert!(stored.is_clean(), "{scheme}, seed {seed}: {stored:?}");
        }
    }
}

/// What a scheme does not survive is lost, page by page, and requests that need it fail: no wrong data.
#[test]
fn two_failures_lose_what_they_must() {
    let config = drive("raid5", &[]);
    let mut engine = engine(&config, tags(&config));
    let space = engine.space_pages();
    engine.fill(space);
    engine.fail(chip(0, 1));
    engine.fail(chip(1, 1));
    let lost: Vec<u64> = engine.lost_pages().map(|lpn| lpn.0).collect();
    assert!(!lost.is_empty());
    assert_eq!(engine.survey().faults[1].pages_lost, lost.len() as u64);
    for page in 0..space {
        engine.submit(&pages(HostOp::Read, page, 1), true);
    }
    engine.finish().unwrap();
    engine.front_end.completed.sort_by_key(|completed| completed.sequence);
    let failed: Vec<u64> =
        engine.front_end.completed.iter().filter(|completed| !completed.ok).map(|completed| completed.sequence).collect();
    assert_eq!(failed, lost);
    assert_eq!(engine.executor.statistics.failed_lost, lost.len() as u64);
    assert_eq!(engine.executor.content.mismatches, 0);
}

/// A write that is answered before it has ended starts anew, as NVRAM has lost what it was to change: reads get its page from the controller as before.
#[test]
fn a_page_that_was_answered_is_read_while_its_write_starts_anew() {
    let config = drive("ppc", &[("write_completes", "data_in"), ("rebuild", "none")]);
    let mut engine = engine(&config, tags(&config));
    engine.fill(engine.space_pages());
    engine.submit(&request(HostOp::Write, 5 * 4096, 512), true);
    while engine.front_end.completed.is_empty() {
        assert!(engine.advance().unwrap(), "it is answered");
    }
    engine.fail(Fault::ParityCache);
    engine.front_end.completed.clear();
    let update_reads = count(&engine, Action::Read, Cause::UpdateRead);
    while count(&engine, Action::Read, Cause::UpdateRead) == update_reads {
        assert!(engine.advance().unwrap(), "it reads again what is below");
    }
    engine.submit(&pages(HostOp::Read, 5, 1), true);
    while engine.front_end.completed.is_empty() {
        assert!(engine.advance().unwrap());
    }
    engine.finish().unwrap();
    assert_eq!((engine.executor.content.reads_checked, engine.executor.content.mismatches), (1, 0));
    engine.submit(&pages(HostOp::Read, 5, 1), true);
    engine.finish().unwrap();
    assert_eq!((engine.executor.content.reads_checked, engine.executor.content.mismatches), (2, 0));
}

/// A request of a random workload: writes, and some reads.
fn random_request(engine: &Engine<Tags>, random: &mut SplitMix64) -> HostRequest {
    let op = if random.next_u64().is_multiple_of(4) { HostOp::Read } else { HostOp::Write };
    pages(op, random.next_u64() % (engine.space_pages() - 4), 1 + random.next_u64() % 4)
}

/// Everything that was asked has been done, and told the truth.
fn assert_done(engine: &mut Engine<Tags>, what: &str) {
    engine.finish().unwrap_or_else(|stalled| panic!("{what}: {stalled}"));
    assert_eq!((engine.outstanding(), engine.executor.content.mismatches), (0, 0), "{what}");
    engine.executor.media.checked().check().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(verify::stored(engine).mismatches, 0, "{what}");
}

/// An operation that was promised a page before all of its member died may want to program it only later, as it had to wait for the translation.
/// It hears at once that there is none: nothing else may be under way that would end.
#[test]
fn a_promise_of_a_member_that_has_died_is_void() {
    let config = drive(
        "ppc",
        &[
            ("mapping", "dftl"),
            ("cmt_entries", "16"),
            ("chips_per_channel", "1"),
            ("blocks_per_plane", "32"),
            ("parity_cache_bytes", "8192"),
        ],
    );
    for seed in 0..120 {
        let mut engine = engine(&config, tags(&config));
        let mut random = SplitMix64::new(seed);
        engine.fill(engine.space_pages());
        for round in 0..60 {
            engine.submit(&random_request(&engine, &mut random), true);
            if round == 40 {
                (0..seed / 4).for_each(|_| assert!(engine.advance().is_ok()));
                engine.fail(chip((random.next_u64() % 4) as u32, 0));
            }
            assert_done(&mut engine, &format!("seed {seed}, round {round}"));
        }
    }
}

/// FRA's bases are garbage to GC, which may erase one that an operation is about to read: a repair that waits for an idle member, or who
/// waits for a translation.
#[test]
fn a_base_that_is_erased_before_it_is_read() {
    let small = [("chips_per_channel", "1"), ("blocks_per_plane", "32"), ("spare_chips", "1"), ("rebuild", "dor")];
    for mapping in [&[("mapping", "bast"), ("log_blocks", "4")][..], &[("mapping", "page")], &[("mapping", "dftl"), ("cmt_entries", "16")]]
    {
        let config = drive("fra", &[&small[..], mapping].concat());
        for seed in 0..12 {
            let mut engine = engine(&config, tags(&config));
            let mut random = SplitMix64::new(seed);
            engine.fill(engine.space_pages());
            for round in 0..500 {
                engine.submit(&random_request(&engine, &mut random), true);
                engine.advance_until(engine.now_ns() + random.next_u64() % 150_000).unwrap();
                if round == 150 {
                    engine.fail(chip((random.next_u64() % 4) as u32, 0));
                }
            }
            assert_done(&mut engine, &format!("{mapping:?}, seed {seed}"));
        }
    }
}

/// A page that was written when nothing of its member lived has no place that could fail.
#[test]
fn a_page_without_a_place_cannot_fail() {
    let config = drive("raid5", &[("chips_per_channel", "1"), ("blocks_per_plane", "32")]);
    let mut simulation = Simulation::new(config, |_| true).unwrap();
    simulation.fail("chip:1.0").unwrap();
    for page in 0..12 {
        simulation.submit(&pages(HostOp::Write, page, 1)).unwrap();
    }
    simulation.finish().unwrap();
    assert!(simulation.take_completed().iter().all(|request| request.ok));
    for page in 0..12 {
        simulation.fail(&format!("page:lpn={page}")).unwrap();
    }
    simulation.submit(&HostRequest { arrival_ns: simulation.now_ns(), ..pages(HostOp::Write, 0, 12) }).unwrap();
    simulation.finish().unwrap();
    assert!(simulation.take_completed().iter().all(|request| request.ok));
}

/// Latencies under a rebuild are those of requests that were served; a request that fails for lost pages has none.
#[test]
fn a_request_that_fails_is_not_among_the_latencies_of_a_rebuild() {
    let config = drive("raid5", &[]);
    let mut engine = engine(&config, tags(&config));
    engine.fill(engine.space_pages());
    engine.fail(chip(0, 1));
    engine.fail(chip(1, 1));
    let lost: Vec<u64> = engine.lost_pages().map(|lpn| lpn.0).collect();
    let kept = (0..engine.space_pages()).find(|page| !lost.contains(page)).expect("a page that is not lost");
    engine.submit(&pages(HostOp::Read, lost[0], 1), true);
    engine.submit(&pages(HostOp::Read, kept, 1), true);
    engine.finish().unwrap();
    assert_eq!(engine.front_end.completed.iter().filter(|completed| !completed.ok).count(), 1);
    assert_eq!(engine.survey().rebuilds[0].latency.count, 1);
}

/// A rebuild restores both copies of each translation page, with nobody writing.
#[test]
fn translation_pages_of_a_dead_chip_are_rebuilt() {
    let config = drive("raid5", &[("mapping", "dftl"), ("cmt_entries", "64"), ("blocks_per_plane", "32"), ("spare_chips", "1")]);
    // Their chips are where translation pages happen to lie: some of these chips have some.
    for (channel, number) in (0..4).flat_map(|channel| (0..4).map(move |number| (channel, number))) {
        let mut engine = engine(&config, tags(&config));
        engine.fill(engine.space_pages());
        engine.fail(chip(channel, number));
        engine.finish().unwrap();
        assert_eq!(engine.survey().media.lost_versions(), 0, "chip {channel}.{number}");
        assert!(engine.survey().rebuilds[0].finished_ns.is_some(), "chip {channel}.{number}");
    }
}

/// What a failure takes of any member is counted, the first one's too.
#[test]
fn versions_that_a_failure_takes_are_counted_on_each_member() {
    for channel in 0..4 {
        let config = drive("raid5", &[("rebuild", "none")]);
        let mut engine = engine(&config, tags(&config));
        engine.fill(engine.space_pages());
        let live = live_on(&engine, channel, 0);
        engine.fail(chip(channel, 0));
        assert!(live > 50);
        assert_eq!(engine.survey().media.lost_versions(), live, "channel {channel}");
    }
}

/// The copy of a translation page that finds no place where blocks have failed is made when there is room, with nobody writing.
#[test]
fn a_translation_page_without_a_place_is_repaired_when_there_is_room() {
    let pairs =
        [("mapping", "dftl"), ("cmt_entries", "4"), ("pages_per_block", "2"), ("blocks_per_plane", "24"), ("over_provisioning", "0.7")];
    let small = [("page_bytes", "512"), ("planes_per_die", "1"), ("dies_per_chip", "1")];
    let config = config("tiny", "raid1", &[&pairs[..], &small].concat());
    let (blocks, translation_blocks) = (config.device.blocks_per_plane, config.device.translation_blocks());
    let mut engine = engine(&config, tags(&config));
    engine.fill(engine.space_pages());
    let (mut random, mut lost) = (SplitMix64::new(1), 0);
    for block in blocks - translation_blocks..blocks {
        engine.fail(Fault::Loss(Part::Block { channel: 0, chip: 0, die: 0, plane: 0, block }));
        for _ in 0..200 {
            let page = random.next_u64() % engine.space_pages();
            engine.submit(&request(HostOp::Write, page * 512, 512), true);
            assert_done(&mut engine, &format!("block {block}"));
            let translation = engine.survey().translation.unwrap();
            let copies = (0..translation.pages()).filter_map(|page| translation.stored_at(page)).flat_map(|(_, copies)| copies);
            for copy in copies.filter(|copy| engine.executor.media.is_lost(*copy, Version::Current)) {
                lost += 1;
                assert!(!engine.executor.media.can_allocate(copy), "block {block}: there is room for {copy:?}");
            }
        }
    }
    assert!(lost > 0);
}

/// Programs alone fail, so that nothing is lost and no rebuild begins. What finds no place all the same is made when there is room.
#[test]
fn what_finds_no_place_is_repaired_where_nothing_but_programs_failed() {
    let pairs = [("pages_per_block", "4"), ("blocks_per_plane", "16"), ("over_provisioning", "0.4")];
    let config = config("tiny", "raid1", &[&pairs[..], &[("planes_per_die", "1"), ("dies_per_chip", "1")]].concat());
    let mut engine = engine(&config, tags(&config));
    engine.fill(engine.space_pages());
    let (mut random, mut lost) = (SplitMix64::new(1), 0);
    for failed in 0..config.device.blocks_per_plane {
        engine.fail(Fault::Program(Part::Channel(0)));
        for _ in 0..100 {
            engine.submit(&random_request(&engine, &mut random), true);
            assert_done(&mut engine, &format!("{failed} programs have failed"));
            let slots = 0..config.device.pages_per_member() * u32::from(config.device.members());
            let pages = slots.map(|slot| engine.executor.media.store().maps().address(slot));
            for page in pages.filter(|page| engine.executor.media.is_lost(*page, Version::Current)) {
                lost += 1;
                assert!(!engine.executor.media.can_allocate(page), "{failed} programs have failed: there is room for {page:?}");
            }
        }
    }
    assert!(lost > 0 && engine.survey().rebuilds.is_empty());
}

/// The host has its answer when the data are in the chip's registers; then the chip dies, and RAID-0 has no other for them. Older content, be it the
/// zeroes of a page that was never written, must not pass for them.
#[test]
fn what_was_answered_and_finds_no_page_is_gone_until_all_of_it_is_discarded() {
    for filled in [0, 64] {
        let config = config("tiny", "raid0", &[("write_completes", "data_in")]);
        let mut engine = engine(&config, tags(&config));
        engine.fill(filled);
        engine.submit(&pages(HostOp::Write, 0, 1), true);
        while engine.front_end.completed.is_empty() {
            assert!(engine.advance().unwrap());
        }
        engine.fail(Fault::Loss(Part::Channel(0)));
        let succeeds = |engine: &mut Engine<Tags>, op, offset_bytes, size_bytes| {
            engine.submit(&request(op, offset_bytes, size_bytes), true);
            engine.finish().unwrap();
            let found = verify::examine(engine, true, &mut |_, _| {});
            assert_eq!((engine.executor.content.mismatches, found.mismatches), (0, 0), "{found:?}");
            assert_eq!(found.pages_gone, engine.lost_pages().count() as u64);
            engine.front_end.completed.last().unwrap().ok
        };
        engine.finish().unwrap();
        assert!(engine.front_end.completed[0].ok && engine.lost_pages().any(|lpn| lpn == Lpn(0)));
        assert_eq!((engine.count_gone(), engine.lost_pages().count()), (1, if filled > 0 { 16 } else { 1 }));
        for (op, offset_bytes, size_bytes) in
            [(HostOp::Read, 0, 4096), (HostOp::Read, 512, 512), (HostOp::Write, 512, 512), (HostOp::WriteZeroes, 512, 512)]
        {
            assert!(!succeeds(&mut engine, op, offset_bytes, size_bytes), "{op:?}");
        }
        assert_eq!(engine.executor.statistics.failed_lost, 4);
        assert!(succeeds(&mut engine, HostOp::Trim, 0, 4096));
        assert_eq!(engine.count_gone(), 0);
        assert!(succeeds(&mut engine, HostOp::Read, 0, 4096), "it is unwritten");
    }
}

/// Page 0 has content on a chip that never dies, was overwritten, and that is gone. A request overwrites it again; this part is answered, its chip dies, and
/// no page is left, while another part is still to be answered: so the host is told that the request has failed. That makes nothing of the oldest content.
#[test]
fn a_request_that_fails_brings_nothing_back_of_what_was_gone() {
    let config =
        drive("raid0", &[("blocks_per_plane", "8"), ("over_provisioning", "0.32"), ("write_completes", "data_in"), ("gc_threshold", "0")]);
    let mut engine = engine(&config, tags(&config));
    let succeeds = |engine: &mut Engine<Tags>, op, page| {
        engine.submit(&pages(op, page, 1), true);
        engine.finish().unwrap();
        engine.front_end.completed.pop().unwrap().ok
    };
    let on_chip = |engine: &Engine<Tags>, chip| -> Vec<u64> {
        let is_there = |page: &u64| {
            let ppn = engine.executor.media.store().lookup(engine.scheme().locate(Lpn(*page)), Version::Current);
            ppn.is_some_and(|ppn| {
                engine.executor.media.nand().shape().chip_of_lun(engine.executor.media.nand().places().lun_of(ppn)) == chip
            })
        };
        (0..engine.space_pages()).step_by(4).filter(is_there).collect()
    };
    for page in (0..engine.space_pages()).step_by(4) {
        assert!(succeeds(&mut engine, HostOp::Write, page));
    }
    assert!(on_chip(&engine, 0).contains(&0));
    // What a dead chip had is written anew until the channel is full.
    let lost = on_chip(&engine, 1);
    engine.fail(chip(0, 1));
    assert!(!lost.into_iter().all(|page| succeeds(&mut engine, HostOp::Write, page)), "the channel is to be full");
    // Room comes on one chip, takes page 0, and dies.
    let make_room_on = |engine: &mut Engine<Tags>, chip| {
        let discarded = on_chip(engine, chip);
        assert!(discarded.into_iter().filter(|page| *page >= 8).take(40).all(|page| succeeds(engine, HostOp::Trim, page)));
    };
    make_room_on(&mut engine, 2);
    engine.submit(&pages(HostOp::Write, 0, 1), true);
    while engine.front_end.completed.is_empty() {
        assert!(engine.advance().unwrap());
    }
    engine.fail(chip(0, 2));
    engine.finish().unwrap();
    assert!(engine.front_end.completed.pop().unwrap().ok && engine.is_gone(Lpn(0)), "its host was told");
    assert!(!succeeds(&mut engine, HostOp::Read, 0));
    // The same again, while channel 1 is busy.
    make_room_on(&mut engine, 3);
    for index in 0..30 {
        engine.submit(&pages(HostOp::Write, 401 + 4 * index, 1), true);
    }
    engine.submit(&pages(HostOp::Write, 0, 5), true);
    let start_ns = engine.now_ns();
    while engine.is_gone(Lpn(0)) {
        assert!(engine.advance().unwrap());
    }
    assert!(engine.now_ns() - start_ns < 200_000, "from its answer on the controller has it");
    engine.fail(chip(0, 3));
    engine.finish().unwrap();
    let failed: Vec<_> = engine.front_end.completed.drain(..).filter(|completed| !completed.ok).collect();
    assert_eq!(failed.len(), 1, "the host is told of the request: {failed:?}");
    assert!(engine.is_gone(Lpn(0)) && !succeeds(&mut engine, HostOp::Read, 0));
    let found = verify::stored(&engine);
    assert_eq!((engine.executor.content.mismatches, found.mismatches), (0, 0), "{found:?}");
    assert_eq!(found.pages_gone, engine.lost_pages().count() as u64);
}

/// A spare chip that took the place of a dead one did so whatever died before for which there was none.
#[test]
fn spare_chips_are_told_of_by_the_failure_that_they_answer() {
    let config = drive("raid1", &[("spare_chips", "1")]);
    let mut engine = engine(&config, tags(&config));
    engine.fill(64);
    for (fault, is_replaced) in
        [(chip(1, 0), true), (Fault::Loss(Part::Channel(2)), false), (chip(3, 0), true), (chip(1, 1), false), (chip(3, 1), false)]
    {
        engine.fail(fault);
        engine.finish().unwrap();
        assert_eq!(engine.survey().faults.last().unwrap().is_replaced, is_replaced, "{fault:?}");
    }
}

/// Once it is known that what the host was told of cannot be had, the flush that should have made it durable fails: one that waits, or else the next one.
#[test]
fn the_next_flush_tells_of_what_is_gone() {
    let config = config("tiny", "raid0", &[("write_completes", "data_in")]);
    let mut engine = engine(&config, tags(&config));
    let flush = request(HostOp::Flush, 0, 0);
    let after = |engine: &mut Engine<Tags>| {
        engine.finish().unwrap();
        engine.front_end.completed.drain(..).map(|completed| completed.ok).collect::<Vec<_>>()
    };
    let answered_write = |engine: &mut Engine<Tags>, page| {
        engine.submit(&pages(HostOp::Write, page, 1), true);
        engine.advance_until(engine.now_ns() + 110_000).unwrap();
    };
    answered_write(&mut engine, 0);
    engine.submit(&flush, true);
    engine.submit(&flush, true);
    engine.fail(Fault::Loss(Part::Channel(0)));
    assert_eq!(after(&mut engine), [true, false, false], "both wait for the write");
    engine.submit(&flush, true);
    assert_eq!(after(&mut engine), [true], "it is told");
    answered_write(&mut engine, 1);
    engine.fail(Fault::Loss(Part::Channel(1)));
    engine.finish().unwrap();
    answered_write(&mut engine, 2);
    for _ in 0..2 {
        engine.submit(&flush, true);
    }
    assert_eq!(after(&mut engine), [true, true, false, true], "the first one tells");
}

/// A flush is told of what was written before it and of nothing later, which is for the next one. On channel 1 two programs are under way when the flush
/// comes; meanwhile a later write of another channel is answered, whose chip dies.
#[test]
fn a_flush_is_told_of_nothing_that_was_written_after_it() {
    let config = config("tiny", "raid0", &[("write_completes", "data_in")]);
    let mut engine = engine(&config, tags(&config));
    let submit = |engine: &mut Engine<Tags>, op, page| {
        let request = if op == HostOp::Flush { request(op, 0, 0) } else { pages(op, page, 1) };
        engine.submit(&request, true)
    };
    let loses_later = |engine: &mut Engine<Tags>, channel: u64| {
        let before = [1, 5].map(|page| submit(engine, HostOp::Write, page));
        let flush = submit(engine, HostOp::Flush, 0);
        let later = submit(engine, HostOp::Write, channel);
        engine.advance_until(engine.now_ns() + 110_000).unwrap();
        engine.fail(Fault::Loss(Part::Channel(channel as u32)));
        engine.finish().unwrap();
        let of = |sequence: u64| engine.front_end.completed.iter().find(|completed| completed.sequence == sequence).unwrap().ok;
        assert_eq!(([before[0], before[1], later].map(of), engine.count_gone()), ([true; 3], 1), "answered before its chip died");
        let is_told = !of(flush);
        submit(engine, HostOp::Trim, channel);
        is_told
    };
    let next_is_told = |engine: &mut Engine<Tags>| {
        submit(engine, HostOp::Flush, 0);
        engine.finish().unwrap();
        !engine.front_end.completed.last().unwrap().ok
    };
    assert!(!loses_later(&mut engine, 0));
    assert_eq!([next_is_told(&mut engine), next_is_told(&mut engine)], [true, false]);
    // Of an earlier loss of which nobody was told it is told, and the next one of the later loss.
    submit(&mut engine, HostOp::Write, 2);
    engine.advance_until(engine.now_ns() + 110_000).unwrap();
    engine.fail(Fault::Loss(Part::Channel(2)));
    engine.finish().unwrap();
    submit(&mut engine, HostOp::Trim, 2);
    assert!(loses_later(&mut engine, 3));
    assert_eq!([next_is_told(&mut engine), next_is_told(&mut engine)], [true, false]);
}
