//! Operations that pause, and schemes that wait before they use idle time. Times as in `timing.rs`: on ssd1 a read takes 122,575 ns and a program
//! 302,575.

use crate::support::{config, engine_with, pages, tags};
use flashraid_redundancy::{
    Decisions, Extent, IdleWork, Operation, OperationKind, Outcomes, ParityUpdates, Recovery, Scheme, Step, WorksWhenIdle,
};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::{Content, Untracked};
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::{Config, verify};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Cause, Fault, HostOp, Lpn, MemberId, Part, StripeId, View, Wave};
use std::collections::BTreeSet;

const READ: u64 = 122_575;
const PROGRAM: u64 = 302_575;
const PAUSE: u64 = 50_001;

/// A scheme whose writes pause after their pre-reads, as if parity took time to compute, and whose idle time begins later.
#[derive(Clone)]
struct Unhurried {
    inner: Box<dyn Scheme>,
    /// Stripes whose writes have paused.
    paused: BTreeSet<StripeId>,
    threshold_ns: u64,
    idle_since_ns: Option<u64>,
}

flashraid_vocabulary::persistent!(Unhurried {
    keeps [inner],
    anew [paused, threshold_ns, idle_since_ns],
});

crate::support::addressed_like_inner!(Unhurried);

impl Recovery for Unhurried {
    crate::support::recovers_like_inner!();
}

impl Scheme for Unhurried {
    crate::support::like_inner!();

    fn decide(&mut self, extent: &Extent, view: &dyn View, decisions: &mut Decisions) -> u64 {
        self.inner.decide(extent, view, decisions)
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let has_read = operation.kind == OperationKind::Write && operation.step == 1 && outcomes.is_well();
        if has_read && self.paused.insert(operation.stripe) {
            return Step::Pause(PAUSE);
        }
        if has_read {
            self.paused.remove(&operation.stripe);
        }
        self.inner.step(operation, outcomes, view, wave)
    }

    fn when_idle(&mut self) -> Option<&mut dyn WorksWhenIdle> {
        if self.inner.when_idle().is_some() { Some(self) } else { None }
    }
}

impl WorksWhenIdle for Unhurried {
    fn idle(&mut self, view: &dyn View) -> IdleWork {
        if !(0..4).all(|member| view.is_idle(MemberId(member))) {
            self.idle_since_ns = None;
            return IdleWork::None;
        }
        let idle_ns = view.now_ns() - *self.idle_since_ns.get_or_insert(view.now_ns());
        if idle_ns < self.threshold_ns {
            IdleWork::After(self.threshold_ns - idle_ns)
        } else {
            self.inner.when_idle().expect("it works in idle time").idle(view)
        }
    }
}

/// ssd1 with pages placed by arithmetic, so that a test knows each page's die: stripe k is local page k of each of the four channels.
fn placed(scheme: &str) -> Config {
    config("ssd1", scheme, &[("allocation", "static"), ("blocks_per_plane", "64")])
}

fn unhurried<C: Content>(config: &Config, threshold_ns: u64, content: C) -> Engine<C> {
    let inner = config.build_scheme().unwrap();
    let scheme = Unhurried { inner, paused: BTreeSet::new(), threshold_ns, idle_since_ns: None };
    let mut engine = engine_with(config, Box::new(scheme), content);
    engine.fill(96);
    engine
}

fn times(engine: &Engine<Untracked>) -> Vec<u64> {
    engine.front_end.completed.iter().map(|completed| completed.completed_ns).collect()
}

#[test]
fn a_pause_takes_its_time_and_keeps_the_stripe() {
    let mut engine = unhurried(&placed("raid5"), 0, Untracked);
    // Page 0 of stripe 0 twice, on channels 0 and 3; page 4 of stripe 1, on channels 1 and 2.
    for first in [0, 4, 0] {
        engine.submit(&pages(HostOp::Write, first, 1), true);
    }
    engine.advance_until(READ).unwrap();
    assert_eq!(engine.next_event_ns(), Some(READ + PAUSE));
    engine.advance_until(READ + 10).unwrap();
    // Page 1, on channel 1: its bus is free in the pause, and busy with this when the pause of page 4 ends.
    engine.submit(&pages(HostOp::Read, 1, 1), true);
    engine.finish().unwrap();
    let (read, write) = (READ + 10 + READ, READ + PAUSE + PROGRAM);
    assert_eq!(times(&engine), [read, write, read + PROGRAM, 2 * write]);
    assert_eq!(engine.survey().idle_ns, 0, "an operation that pauses is under way");
    assert_eq!(engine.now_ns(), 2 * write);
}

/// A chip fails while an operation pauses: nothing is lost.
#[test]
fn what_fails_in_a_pause_is_recovered() {
    for seed in 0..20 {
        let pairs = [("chips_per_channel", "4"), ("spare_chips", "1"), ("blocks_per_plane", "16"), ("pages_per_block", "8")];
        let config = config("tiny", "raid5", &[&pairs[..], &[("over_provisioning", "0.4")]].concat());
        let mut engine = unhurried(&config, 0, tags(&config));
        let mut random = SplitMix64::new(seed);
        let pauses =
            |engine: &Engine<Tags>| engine.next_event_ns().is_some_and(|time_ns| time_ns != engine.executor.media.nand().next_event_ns());
        for request in 0..120 {
            let op = if random.next_u64().is_multiple_of(4) { HostOp::Read } else { HostOp::Write };
            engine.submit(&pages(op, random.next_u64() % 90, 1 + random.next_u64() % 5), true);
            engine.advance_until(engine.now_ns() + random.next_u64() % 200_000).unwrap();
            if request == 60 {
                while !pauses(&engine) {
                    assert!(engine.advance().unwrap(), "seed {seed}: a pause comes");
                }
                engine.fail(Fault::Loss(Part::Chip { channel: (random.next_u64() % 4) as u32, chip: 0 }));
            }
            engine.executor.media.checked().check().unwrap();
        }
        engine.finish().unwrap();
        assert!(engine.front_end.completed.iter().all(|completed| completed.ok));
        let found = verify::stored(&engine);
        assert!(found.is_clean(), "seed {seed}: {found:?}");
        assert_eq!(engine.executor.content.mismatches, 0, "seed {seed}");
    }
}

#[test]
fn idle_time_may_begin_after_a_threshold() {
    const THRESHOLD: u64 = 2_000_000;
    let mut engine = unhurried(&placed("fra"), THRESHOLD, Untracked);
    let commits = |engine: &Engine<Untracked>| engine.executor.media.nand().counts()[1][Cause::Commit as usize];
    engine.submit(&pages(HostOp::Write, 0, 1), true);
    engine.advance_until(THRESHOLD).unwrap();
    assert_eq!((times(&engine), commits(&engine)), (vec![PROGRAM], 0));
    // A read meanwhile: the threshold counts from its end.
    engine.submit(&pages(HostOp::Read, 1, 1), true);
    engine.advance_until(2 * THRESHOLD + READ - 1).unwrap();
    assert_eq!((commits(&engine), engine.next_event_ns()), (0, Some(2 * THRESHOLD + READ)));
    // The parity of the whole stripe: reads of its strips at once, then one program.
    let committed = 2 * THRESHOLD + READ + READ + PROGRAM;
    engine.advance_until(committed).unwrap();
    assert_eq!(commits(&engine), 1);
    assert_eq!(engine.survey().idle_ns, 2 * THRESHOLD - PROGRAM, "what waits for idle time is not under way");
    // This scheme asks for more idle time though it has nothing to do in it.
    assert_eq!(engine.next_event_ns(), Some(committed + THRESHOLD));
    engine.finish().unwrap();
    assert_eq!((commits(&engine), engine.now_ns(), engine.next_event_ns()), (1, committed + THRESHOLD, None));
}
