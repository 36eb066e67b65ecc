//! What must not hang, panic or pass unnoticed: stalls, and running out of space.

use crate::support::{config, engine_with, pages, request};
use flashraid_ftl::{Flash, ppn_limit};
use flashraid_redundancy::{Build, Decisions, Extent, Operation, OperationKind, Outcomes, ParityUpdates, Recovery, Scheme, Step, find};
use flashraid_sim::Simulation;
use flashraid_sim::assemble::{options, settings};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Untracked;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::verify;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Action, Cause, HostOp, HostRequest, Lpn, MemberId, View, Wave};

/// RAID-0 whose writes each require themselves to have ended.
#[derive(Clone)]
struct RequiresItself {
    inner: Box<dyn Scheme>,
}

flashraid_vocabulary::persistent!(RequiresItself { keeps [inner], });

crate::support::addressed_like_inner!(RequiresItself);

impl Recovery for RequiresItself {
    crate::support::recovers_like_inner!();
}

impl Scheme for RequiresItself {
    crate::support::like_inner!();

    fn decide(&mut self, extent: &Extent, view: &dyn View, decisions: &mut Decisions) -> u64 {
        let pages = self.inner.decide(extent, view, decisions);
        for (index, operation) in decisions.operations.iter_mut().enumerate() {
            operation.requires = (operation.kind == OperationKind::Write).then_some(index as u16);
        }
        pages
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        self.inner.step(operation, outcomes, view, wave)
    }
}

#[test]
fn a_stall_names_holders_and_waiters() {
    let config = config("tiny", "raid0", &[]);
    let mut engine = engine_with(&config, Box::new(RequiresItself { inner: config.build_scheme().unwrap() }), Untracked);
    engine.fill(64);
    engine.submit(&pages(HostOp::Write, 8, 1), true);
    engine.submit(&pages(HostOp::Write, 8, 1), true);
    engine.submit(&pages(HostOp::Read, 8, 1), true);
    engine.submit(&pages(HostOp::Flush, 0, 0), true);
    let stalled = engine.finish().unwrap_err().to_string();
    assert_eq!(engine.front_end.completed.len(), 1, "the read completes all the same");
    assert!(stalled.starts_with("stalled at 122575 ns with 3 requests outstanding"), "{stalled}");
    for part in [
        "stripe 8: 1 exclusive holder(s), first waiter operation 1;",
        "operation 0: Write of stripe 8, waits for 1 condition(s);",
        "operation 1: Write of stripe 8, waits for 2 condition(s);",
    ] {
        assert!(stalled.contains(part), "{part} is not in: {stalled}");
    }
}

/// A drive that offers more logical pages than it can hold, which a configuration may not.
fn overfull(scheme: &str, pages_per_member: u32, pairs: &[(&str, &str)]) -> Engine<Tags> {
    let mut all = vec![("blocks_per_plane", "8"), ("over_provisioning", "0.5")];
    all.extend(pairs);
    let config = config("tiny", scheme, &all);
    let (members, pages_held) = (config.device.members(), pages_per_member);
    let build = Build {
        members,
        pages_per_member,
        data_chips: 1,
        mirror_chips: 0,
        pages_per_chip: pages_held,
        pages_held,
        copies_held: 0,
        page_bytes: 4096,
        chunk_pages: 1,
        spares: 0,
        eldest_first: Vec::new(),
        idle_ns: 0,
        parameters: Vec::new(),
    };
    let scheme = find(scheme).unwrap().build(&build).unwrap();
    let moves_bases = scheme.deferring().is_none_or(|deferring| deferring.moves_bases());
    let settings = flashraid_ftl::Settings { pages_per_member, ..settings(&config.device, config.placement(&*scheme), moves_bases, false) };
    let tags = Tags::new(ppn_limit(&settings.geometry, settings.given.spare_chips, false), scheme.user_pages());
    let options = options(&config, scheme.user_pages());
    Engine::new(scheme, Flash::new(settings), tags, options)
}

#[test]
fn out_of_space_fails_requests_and_nothing_else() {
    // A member has 2 planes of 8 blocks of 8 pages, 128 physical pages, of which 112 are outside the reserve.
    for (scheme, pages_per_member) in [("raid0", 128), ("raid1", 120), ("raid4", 112), ("raid5", 128), ("raid5", 97)] {
        let mut engine = overfull(scheme, pages_per_member, &[("pages_per_block", "8")]);
        engine.record(true);
        let space = engine.space_pages();
        let mut random = SplitMix64::new(7);
        let mut submitted = 0;
        let mut submit = |engine: &mut Engine<Tags>, op, first, count| {
            engine.submit(&pages(op, first, count), true);
            submitted += 1;
        };
        (0..space).for_each(|page| submit(&mut engine, HostOp::Write, page, 1));
        for _ in 0..500 {
            let count = 1 + random.next_u64() % 9;
            let first = random.next_u64() % (space - count);
            let op = [HostOp::Write, HostOp::Read, HostOp::Flush][(random.next_u64() % 3) as usize];
            submit(&mut engine, op, if op == HostOp::Flush { 0 } else { first }, if op == HostOp::Flush { 0 } else { count });
            engine.advance_until(engine.now_ns() + random.next_u64() % 300_000).unwrap();
            engine.executor.media.checked().check().unwrap();
        }
        engine.finish().unwrap();
        let failed = engine.front_end.completed.iter().filter(|completed| !completed.ok).count() as u64;
        assert_eq!(engine.front_end.completed.len() as u64, submitted, "{scheme}: every request completes or fails");
        assert!(failed > 0, "{scheme} {pages_per_member}: it must run out of space");
        assert_eq!(engine.executor.statistics.failed_no_space, failed);
        let recorded = &engine.front_end.recorder.as_ref().unwrap().requests;
        assert_eq!(recorded.len() as u64, submitted);
        assert_eq!(recorded.iter().filter(|request| request.failed.is_some()).count() as u64, failed);
        assert_eq!(engine.outstanding(), 0);
        // Those that failed changed nothing: what is stored is still explained, and recoverable.
        assert_eq!(engine.executor.content.mismatches, 0, "{scheme}");
        assert!(verify::stored(&engine).is_clean(), "{scheme}: {:?}", verify::stored(&engine));
        engine.executor.media.checked().check().unwrap();
        // A discard makes room, and then writes succeed again.
        engine.front_end.completed.clear();
        engine.submit(&pages(HostOp::Trim, 0, space / 2 / 12 * 12), true);
        engine.finish().unwrap();
        engine.submit(&pages(HostOp::Write, 0, space / 4 / 12 * 12), true);
        engine.finish().unwrap();
        let last = engine.front_end.completed.last().unwrap();
        assert!(last.ok, "{scheme}: a discard frees space");
        assert!(verify::stored(&engine).is_clean(), "{scheme}");
        engine.executor.media.checked().check().unwrap();
    }
}

/// A discard that finds no space for the parity leaves the page as it was: a write of a part of it has to keep the rest.
#[test]
fn what_a_failed_discard_leaves_is_valid() {
    for rule in ["read_if_needed", "read_if_used"] {
        let mut engine = overfull("raid5", 128, &[("pages_per_block", "8"), ("partial_writes", rule)]);
        let succeeds = |engine: &mut Engine<Tags>, op, offset_bytes, size_bytes| {
            engine.submit(&request(op, offset_bytes, size_bytes), true);
            engine.finish().unwrap();
            engine.front_end.completed.last().unwrap().ok
        };
        let space = engine.space_pages();
        let written: Vec<u64> = (0..space - 1).filter(|page| succeeds(&mut engine, HostOp::Write, page * 4096, 4096)).collect();
        assert!(!succeeds(&mut engine, HostOp::Write, (space - 1) * 4096, 512));
        // From the end: of a stripe that is written in part, too, a discard programs the parity.
        let mut discards = written.into_iter().rev().map(|page| (page, succeeds(&mut engine, HostOp::Trim, page * 4096, 4096)));
        let (kept, _) = discards.find(|(_, is_done)| !is_done).expect("no space for a parity");
        // Whole stripes make room.
        assert!(succeeds(&mut engine, HostOp::Trim, 0, space / 6 * 3 * 4096) && kept > space / 2);
        let update_reads = |engine: &Engine<Tags>| engine.executor.statistics.planned[Action::Read as usize][Cause::UpdateRead as usize];
        let before = update_reads(&engine);
        assert!(succeeds(&mut engine, HostOp::Write, kept * 4096, 512), "{rule}");
        assert_eq!(update_reads(&engine) - before, 1, "{rule}");
        // A write that failed has written no more than it was to.
        for _ in 0..2 {
            assert!(succeeds(&mut engine, HostOp::Write, (space - 1) * 4096, 512), "{rule}");
        }
        assert_eq!(update_reads(&engine) - before, 1, "{rule}");
        assert!(verify::stored(&engine).is_clean() && engine.executor.content.mismatches == 0);
    }
}

/// 512 planes on one channel, all of them short of blocks: a discard lets every one collect, and each blocks the whole channel.
#[test]
fn all_planes_of_a_channel_may_collect_at_once() {
    let pairs = [
        ("channels", "1"),
        ("chips_per_channel", "64"),
        ("planes_per_die", "8"),
        ("pages_per_block", "4"),
        ("gc_blocking_scope", "channel"),
    ];
    // Seven of the eight blocks of each plane.
    let mut engine = overfull("raid0", 512 * 28, &pairs);
    let space = engine.space_pages();
    engine.fill(space);
    engine.submit(&pages(HostOp::Trim, 0, space), true);
    assert!(
        engine.executor.media.nand().loads()[MemberId(0)].gc_runs > 256,
        "{} collections",
        engine.executor.media.nand().loads()[MemberId(0)].gc_runs
    );
    engine.submit(&pages(HostOp::Write, 0, 64), true);
    engine.finish().unwrap();
    assert!(engine.front_end.completed.iter().all(|completed| completed.ok));
    engine.executor.media.checked().check().unwrap();
}

/// After a precondition, planes that it left without a free block are collected: requests find space at once.
#[test]
fn a_preconditioned_drive_has_space() {
    for (scheme, seeds) in [("cr5m", 140..160), ("raid5", 0..20)] {
        for seed in seeds {
            let seed = seed.to_string();
            let small = [("chips_per_channel", "2"), ("blocks_per_plane", "16"), ("pages_per_block", "16"), ("over_provisioning", "0.25")];
            let config = config("tiny", scheme, &[&small[..], &[("precondition", "random:1"), ("seed", &seed)]].concat());
            let mut simulation = Simulation::new(config, |_| true).unwrap();
            for page in 0..20 {
                simulation.submit(&HostRequest { arrival_ns: page * 5_000_000, ..pages(HostOp::Write, 7 * page, 1) }).unwrap();
            }
            simulation.finish().unwrap();
            assert!(simulation.take_completed().iter().all(|request| request.ok), "{scheme}, seed {seed}");
        }
    }
}
