//! Verification of a scheme that survives two failures: it tries each pair, and a scheme that is broken for one pair alone is convicted.

use crate::support::{config, engine_with, pages, tags};
use flashraid_redundancy::{Decisions, Extent, Lost, Operation, Outcomes, ParityUpdates, Protects, Recovery, Scheme, Source, Step};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::verify::{self, Finding};
use flashraid_vocabulary::{Fault, HostOp, Lpn, MemberId, MemberPage, Part, Version, View, Wave};

const MEMBERS: u16 = 5;

/// RAID-6 that survives any one failure, and any two but those of these members.
#[derive(Clone)]
struct ForgetsAPair {
    inner: Box<dyn Scheme>,
    pair: [u16; 2],
}

flashraid_vocabulary::persistent!(ForgetsAPair { keeps [inner], anew [pair], });

crate::support::addressed_like_inner!(ForgetsAPair);

impl Recovery for ForgetsAPair {
    fn protects(&self) -> Protects {
        self.inner.protects()
    }

    fn survives_failures(&self) -> u32 {
        self.inner.survives_failures()
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let page = self.inner.locate(lpn).page;
        let is_pair = self.pair.iter().all(|member| lost(MemberPage { member: MemberId(*member), page }, Version::Current));
        !is_pair && self.inner.recover(lpn, lost, sources)
    }
}

impl Scheme for ForgetsAPair {
    crate::support::like_inner!();

    fn decide(&mut self, extent: &Extent, view: &dyn View, decisions: &mut Decisions) -> u64 {
        self.inner.decide(extent, view, decisions)
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        self.inner.step(operation, outcomes, view, wave)
    }
}

/// An erased device of five members under RAID-6, which forgets this pair.
fn erased(pair: Option<[u16; 2]>) -> Engine<Tags> {
    let config = config("tiny", "raid6", &[("channels", "5"), ("over_provisioning", "0.3"), ("rebuild", "none")]);
    let inner = config.build_scheme().unwrap();
    engine_with(&config, pair.map_or(inner.clone(), |pair| Box::new(ForgetsAPair { inner, pair })), tags(&config))
}

/// Host pages on these members.
fn on(engine: &Engine<Tags>, members: &[u16]) -> Vec<u64> {
    (0..engine.space_pages()).filter(|lpn| members.contains(&engine.scheme().locate(Lpn(*lpn)).member.0)).collect()
}

#[test]
fn a_scheme_that_is_broken_for_one_pair_is_convicted() {
    for pair in (0..MEMBERS).flat_map(|one| (one + 1..MEMBERS).map(move |other| [one, other])) {
        let mut engine = erased(Some(pair));
        engine.fill(engine.space_pages());
        let mut exposed = Vec::new();
        let found = verify::examine(&engine, true, &mut |lpn, finding| match finding {
            Finding::Exposed(unit) if pair.contains(&(unit as u16)) => exposed.push(lpn.0),
            _ => panic!("{lpn:?}: {finding:?}"),
        });
        assert_eq!(exposed, on(&engine, &pair), "{pair:?}");
        assert_eq!((found.pages_lost, found.mismatches, found.pages_gone), (exposed.len() as u64, 0, 0), "{pair:?}");
    }
}

/// A page is compared, and recomputed for each pair of failures that takes it, or for each failure beside those that there are, as long as two are not exceeded.
#[test]
fn each_pair_is_tried_once() {
    let mut engine = erased(None);
    engine.submit(&pages(HostOp::Write, 0, 1), true);
    engine.finish().unwrap();
    assert_eq!(verify::stored(&engine).pages_checked, 1 + 2, "of its stripe the parities alone are written");
    let mut engine = erased(None);
    let space = engine.space_pages();
    engine.fill(space);
    let mut failed = Vec::new();
    for (fails, of_lost, of_living) in [(None, 0, 1 + 4), (Some(1), 1 + 4, 1 + 1), (Some(3), 1 + 1, 1), (Some(4), 0, 1)] {
        if let Some(channel) = fails {
            engine.fail(Fault::Loss(Part::Channel(channel)));
            failed.push(channel as u16);
        }
        let lost = on(&engine, &failed).len() as u64;
        let found = verify::stored(&engine);
        let gone = if failed.len() > 2 { lost } else { 0 };
        assert_eq!((found.pages_checked, found.pages_gone), (of_lost * lost + of_living * (space - lost), gone), "{failed:?}");
        assert!(found.is_clean(), "{found:?}");
    }
}
