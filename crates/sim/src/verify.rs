//! The check of everything that is stored: each host page against the oracle, and each declared failure tried on paper.

use crate::engine::Engine;
use crate::engine::content::{Content, Untracked};
use crate::engine::tags::{Tags, ZERO};
use crate::engine::translation::stamp;
use crate::media::Media;
use crate::threads::in_order;
use flashraid_ftl::GcUnderWay;
use flashraid_redundancy::{Protects, Source};
use flashraid_vocabulary::galois::scale;
use flashraid_vocabulary::{Lpn, MemberPage, Ppn, Version};
use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::Serialize;
use smallvec::SmallVec;
use std::num::NonZero;
use std::ops::{ControlFlow, Range};
use std::thread::available_parallelism;

/// Host pages that a thread checks at a time.
const CHECKED_AT_ONCE: u64 = 1 << 18;

/// What verification found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages"))]
pub struct Verified {
    /// Host page reads that were compared with their permitted contents; 0 for `Simulation.verify`.
    pub reads_checked: u64,
    /// Reads with other contents, and stored pages whose contents no host request explains.
    pub mismatches: u64,
    /// Stored pages compared, plus pages recomputed from surviving pages, over all failures tried.
    pub pages_checked: u64,
    /// Pages that further failures would destroy although the scheme is declared to survive them (one, or as many at once as it declares):
    /// pages recomputed incorrectly or not at all.
    pub pages_lost: u64,
    /// Host pages that are actually lost: destroyed by more failures than the scheme survives, or acknowledged to the host but impossible to
    /// write to flash.
    pub pages_gone: u64,
    /// Translation pages of which failures destroyed both copies (`mapping = dftl`).
    pub map_pages_gone: u64,
}

/// Findings of all checks of the run. A page counts once, however many checks found it.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    found: Verified,
    /// Host pages with contents that no request explains, and other pages that are wrong in the map on flash.
    wrong: FxHashSet<u64>,
    wrong_elsewhere: u64,
    /// Host pages that further failures would have destroyed, and translation pages.
    exposed: FxHashSet<u64>,
    exposed_of_map: FxHashSet<u32>,
    checks: u64,
    checks_failed: u64,
    /// Times of the first and the last check that found a violation.
    failed_ns: Option<(u64, u64)>,
}

/// Findings of all checks of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verification {
    /// What they found. A page counts once in `mismatches` and `pages_lost`, however many checks found it.
    #[serde(flatten)]
    pub found: Verified,
    /// Checks of all stored pages: one at the end, and others with `verify_every`.
    #[schemars(extend("unit" = "checks"))]
    pub checks: u64,
    /// Checks that found a violation.
    #[schemars(extend("unit" = "checks"))]
    pub checks_failed: u64,
    /// Simulated time of the first check that found a violation. Null if there is none.
    #[schemars(extend("unit" = "ns"))]
    pub first_failed_ns: Option<u64>,
    /// Simulated time of the last check that found a violation. Null if there is none.
    #[schemars(extend("unit" = "ns"))]
    pub last_failed_ns: Option<u64>,
}

impl Checks {
    /// Checks everything stored now.
    pub(crate) fn check<M: Media>(&mut self, engine: &Engine<Tags, M>) -> Verified {
        self.check_by(CHECKED_AT_ONCE, engine)
    }

    /// The same, so many pages at a time, on all cores.
    fn check_by<M: Media>(&mut self, pages_at_once: u64, engine: &Engine<Tags, M>) -> Verified {
        let mut found = Verified::default();
        stored_map(engine, &mut found, &mut |page| {
            self.exposed_of_map.insert(page);
        });
        self.wrong_elsewhere += found.mismatches;
        // Chunks begin where stripes do.
        let chunks = engine.space_pages().div_ceil(pages_at_once);
        let begin = |chunk: u64| match chunk * pages_at_once {
            0 => 0,
            page => end_of_stripe(engine, page.min(engine.space_pages()) - 1),
        };
        let work = |chunk| {
            let (mut found, mut complaints) = (Verified::default(), Vec::new());
            examine_pages(engine, begin(chunk)..begin(chunk + 1), true, &mut found, &mut |lpn, finding| complaints.push((lpn, finding)));
            (found, complaints)
        };
        let mut take = |(of_part, complaints): (Verified, Vec<(Lpn, Finding)>)| {
            found = found.and(&of_part);
            for (lpn, finding) in complaints {
                let _is_new = match finding {
                    Finding::Wrong => self.wrong.insert(lpn.0),
                    Finding::Exposed(_) => self.exposed.insert(lpn.0),
                    Finding::Gone => false,
                };
            }
        };
        if chunks > 1 {
            in_order(available_parallelism().map_or(1, NonZero::get), 0..chunks, work, |part| {
                part.into_iter().for_each(&mut take);
                ControlFlow::Continue(())
            });
        } else {
            take(work(0));
        }
        self.checks += 1;
        if !found.is_clean() {
            let now_ns = engine.now_ns();
            self.checks_failed += 1;
            self.failed_ns = Some((self.failed_ns.map_or(now_ns, |(first_ns, _)| first_ns), now_ns));
        }
        self.found = Verified {
            reads_checked: 0,
            mismatches: self.wrong.len() as u64 + self.wrong_elsewhere,
            pages_checked: self.found.pages_checked + found.pages_checked,
            pages_lost: (self.exposed.len() + self.exposed_of_map.len()) as u64,
            // Of the latest check: what is gone stays so, unless it is written anew.
            pages_gone: found.pages_gone,
            map_pages_gone: found.map_pages_gone,
        };
        found
    }

    /// What was found so far, and so many reads with so many mismatches.
    pub(crate) fn report(&self, reads_checked: u64, mismatches: u64) -> Verification {
        Verification {
            found: Verified { reads_checked, mismatches: self.found.mismatches + mismatches, ..self.found },
            checks: self.checks,
            checks_failed: self.checks_failed,
            first_failed_ns: self.failed_ns.map(|(first_ns, _)| first_ns),
            last_failed_ns: self.failed_ns.map(|(_, last_ns)| last_ns),
        }
    }
}

impl Verified {
    /// What two checks of different pages found.
    fn and(&self, other: &Self) -> Self {
        Self {
            reads_checked: self.reads_checked + other.reads_checked,
            mismatches: self.mismatches + other.mismatches,
            pages_checked: self.pages_checked + other.pages_checked,
            pages_lost: self.pages_lost + other.pages_lost,
            pages_gone: self.pages_gone + other.pages_gone,
            map_pages_gone: self.map_pages_gone + other.map_pages_gone,
        }
    }

    /// Whether nothing was wrong.
    pub fn is_clean(&self) -> bool {
        self.mismatches == 0 && self.pages_lost == 0
    }
}

/// Contents of which it is known, or not, what should be stored.
pub(crate) trait Checked: Content + 'static {
    /// Reads of host pages that were compared, and those with other contents than what is permitted.
    fn compared(&self) -> (u64, u64);
    /// Checks everything stored, if it is known what it should be, and adds what was found to `checks`.
    fn check_stored<M: Media>(engine: &Engine<Self, M>, checks: &mut Checks) -> Option<Verified>;
}

impl Checked for Untracked {
    fn compared(&self) -> (u64, u64) {
        (0, 0)
    }

    fn check_stored<M: Media>(_: &Engine<Self, M>, _: &mut Checks) -> Option<Verified> {
        None
    }
}

impl Checked for Tags {
    fn compared(&self) -> (u64, u64) {
        (self.reads_checked, self.mismatches)
    }

    fn check_stored<M: Media>(engine: &Engine<Self, M>, checks: &mut Checks) -> Option<Verified> {
        Some(checks.check(engine))
    }
}

/// The number of the chip, channel or member whose failure takes this physical page.
pub fn failed_unit(media: &impl Media, protects: Protects, ppn: Ppn) -> Option<u32> {
    let place = media.place_of(ppn);
    match protects {
        Protects::None => None,
        // Whatever a scheme calls it, a member of an array is an SSD, and fails as one.
        _ if media.shape().ssds > 1 => place.member,
        Protects::Chip => Some(place.chip),
        Protects::Channel => Some(place.channel),
        Protects::Member | Protects::Device => place.member,
    }
}

/// Checks the translation pages on flash, if there are any: both copies hold the newest version, no failure takes both, and nothing is
/// forgotten of what they do not say yet.
fn stored_map<M: Media>(engine: &Engine<Tags, M>, found: &mut Verified, exposed: &mut dyn FnMut(u32)) {
    let Some(translation) = engine.survey().translation else { return };
    let (flash, protects) = (&engine.executor.media, engine.scheme().protects());
    for page in 0..translation.pages() {
        let Some((version, copies)) = translation.stored_at(page) else { continue };
        let stamp = stamp(page, version);
        let copies = copies.map(|copy| flash.lookup(copy, Version::Current));
        found.pages_checked += 2;
        let is_lost = |ppn: Option<Ppn>| ppn.is_some_and(|ppn| flash.is_lost_page(ppn));
        let is_wrong = |ppn: Option<Ppn>| !is_lost(ppn) && ppn.is_none_or(|ppn| engine.executor.content.page(ppn) != stamp);
        found.mismatches += copies.iter().filter(|ppn| is_wrong(**ppn)).count() as u64;
        if copies.iter().any(|ppn| is_lost(*ppn)) {
            found.map_pages_gone += u64::from(copies.iter().all(|ppn| is_lost(*ppn)));
        } else if let [Some(own), Some(twin)] = copies.map(|ppn| ppn.and_then(|ppn| failed_unit(flash, protects, ppn)))
            && own == twin
        {
            found.pages_lost += 1;
            exposed(page);
        }
    }
    found.mismatches += translation.forgotten(flash, |page| engine.executor.writes_translation_page(page));
    // What GC does to the map is taken notice of in the same instant.
    found.mismatches += u64::from(flash.has_map_events());
    // What GC moved is written once its victim is erased, and no GC goes on for ever, unless it rests until there are programs.
    if engine.next_event_ns().is_none() && flash.gc_runs_under_way() == GcUnderWay::default() {
        found.mismatches += translation.unwritten_moves();
    }
}

/// What is wrong with a host page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It holds, or what survives makes of it, something that no request explains.
    Wrong,
    /// The failure of this unit, which the scheme declares to survive, alone or together with another one, would take it.
    Exposed(u32),
    /// Failures have taken it, or the data buffer could not write it, and nothing brings it back.
    Gone,
}

/// Units that failures take together: at most as many as the scheme survives.
#[derive(Clone, Debug, Default)]
struct Units(SmallVec<[u32; 2]>);

impl Units {
    /// The same and this one; `None` if that is not known, or one more than `most`.
    fn with(mut self, unit: Option<u32>, most: usize) -> Option<Self> {
        let unit = unit?;
        if !self.0.contains(&unit) {
            self.0.push(unit);
        }
        (self.0.len() <= most).then_some(self)
    }
}

/// What is known of the stripe of a page.
#[derive(Clone, Debug)]
struct OfStripe {
    /// The units that its lost versions lie on; `None` if they are more than the scheme survives, or not known.
    lost_on: Option<Units>,
    /// The units that any of its pages lie on, if the scheme survives more failures than one.
    units: Vec<u32>,
}

/// What may be stored of a page.
pub const VERSIONS: [Version; 3] = [Version::Current, Version::Base, Version::Copy];

/// Appends all pages of the stripe of the host pages `first..end`: these and what is kept for their sake.
pub fn pages_of_stripe<M: Media>(engine: &Engine<Tags, M>, first: u64, end: u64, pages: &mut Vec<MemberPage>) {
    for lpn in (first..end).map(Lpn) {
        pages.push(engine.scheme().locate(lpn));
        engine.scheme().redundancy_of(lpn, pages);
    }
    pages.sort_unstable_by_key(|page| (page.page.0, page.member.0));
    pages.dedup();
}

/// The end of the run of host pages from `first` on that share a stripe.
pub fn end_of_stripe<M: Media>(engine: &Engine<Tags, M>, first: u64) -> u64 {
    let stripe = engine.scheme().stripe_of(Lpn(first));
    (first + 1..engine.space_pages()).find(|lpn| engine.scheme().stripe_of(Lpn(*lpn)) != stripe).unwrap_or(engine.space_pages())
}

/// Compares every host page, and recomputes it without the unit (as the scheme declares it) on which it lies, from what the other
/// units really hold. Valid between any two events: it looks at durable state only.
pub fn stored<M: Media>(engine: &Engine<Tags, M>) -> Verified {
    examine(engine, true, &mut |_, _| {})
}

/// The same; `complain` is told of each page with which something is wrong. With failures, a page that cannot be read now is recomputed of what
/// survives, and further failures are tried only where they leave no more units of the stripe lost than the scheme survives. `controller_lives`: what is
/// acknowledged may be held by the controller or its DRAM alone, which survive all failures of flash; what NVRAM holds counts anyway.
pub fn examine<M: Media>(engine: &Engine<Tags, M>, controller_lives: bool, complain: &mut dyn FnMut(Lpn, Finding)) -> Verified {
    let mut found = Verified::default();
    stored_map(engine, &mut found, &mut |_| {});
    examine_pages(engine, 0..engine.space_pages(), controller_lives, &mut found, complain);
    found
}

/// Examines host pages, which begin and end where stripes do.
fn examine_pages<M: Media>(
    engine: &Engine<Tags, M>,
    range: Range<u64>,
    controller_lives: bool,
    found: &mut Verified,
    complain: &mut dyn FnMut(Lpn, Finding),
) {
    let (flash, has_failures) = (&engine.executor.media, engine.executor.media.has_failures());
    let (protects, survives) = (engine.scheme().protects(), engine.scheme().survives_failures() as usize);
    let (mut pages, mut sources) = (Vec::new(), Vec::new());
    let mut first = range.start;
    while first < range.end {
        let is_by_stripe = has_failures || survives > 1;
        let end = if is_by_stripe { end_of_stripe(engine, first) } else { range.end };
        let mut stripe = OfStripe { lost_on: Some(Units::default()), units: Vec::new() };
        if is_by_stripe {
            pages.clear();
            pages_of_stripe(engine, first, end, &mut pages);
            for (page, version) in pages.iter().flat_map(|page| VERSIONS.map(|version| (*page, version))) {
                let unit = unit_of_version(flash, protects, page, version);
                if flash.is_lost(page, version) {
                    stripe.lost_on = stripe.lost_on.and_then(|units| units.with(unit, survives));
                }
                stripe.units.extend(unit.filter(|_| survives > 1));
            }
            stripe.units.sort_unstable();
            stripe.units.dedup();
        }
        for lpn in (first..end).map(Lpn) {
            examine_page(engine, lpn, controller_lives, &stripe, &mut sources, found, complain);
        }
        first = end;
    }
}

/// The unit on which a version of a page lies, or lay when it was lost; none if that is not known, as of a page that could not be allocated.
pub fn unit_of_version(media: &impl Media, protects: Protects, page: MemberPage, version: Version) -> Option<u32> {
    let ppn = media.lookup(page, version)?;
    let is_bound = media.shape().binds_members;
    match protects {
        Protects::Member | Protects::Device if is_bound => Some(page.member.0.into()),
        _ if media.is_unplaced_page(ppn) => None,
        _ => failed_unit(media, protects, ppn),
    }
}

/// A page that flash has lost, and of which the data buffer has all that the host has written since.
fn examine_renewed<M: Media>(
    engine: &Engine<Tags, M>,
    lpn: Lpn,
    controller_lives: bool,
    found: &mut Verified,
    complain: &mut dyn FnMut(Lpn, Finding),
) {
    // What flash had, all of which the buffer lies over.
    let tags = &engine.executor.content;
    let read = engine.front_end.shares_now(lpn, |shares| tags.with_buffer(lpn, tags.durable(lpn), shares));
    if !tags.explains(lpn, read) || !(controller_lives || engine.front_end.holds_safely(lpn)) {
        found.mismatches += 1;
        complain(lpn, Finding::Wrong);
    }
}

fn examine_page<M: Media>(
    engine: &Engine<Tags, M>,
    lpn: Lpn,
    controller_lives: bool,
    stripe: &OfStripe,
    sources: &mut Vec<Source>,
    found: &mut Verified,
    complain: &mut dyn FnMut(Lpn, Finding),
) {
    let (scheme, flash, tags) = (engine.scheme(), &engine.executor.media, &engine.executor.content);
    let content = |address: MemberPage, version: Version| match version {
        Version::DeferredParity => tags.in_nvram(address),
        _ => flash.lookup(address, version).map_or(ZERO, |ppn| tags.page(ppn)),
    };
    let sum =
        |sources: &[Source]| sources.iter().fold(ZERO, |sum, source| sum ^ scale(content(source.page, source.version), source.factor));
    if engine.is_gone(lpn) {
        found.pages_gone += 1;
        return complain(lpn, Finding::Gone);
    }
    let protects = scheme.protects();
    let address = scheme.locate(lpn);
    let is_lost = flash.is_lost(address, Version::Current);
    let mut stored = content(address, Version::Current);
    if is_lost {
        sources.clear();
        if !scheme.recover(lpn, &|address, version| flash.is_lost(address, version), sources) {
            if engine.front_end.is_renewed(lpn) {
                return examine_renewed(engine, lpn, controller_lives, found, complain);
            }
            found.pages_gone += 1;
            return complain(lpn, Finding::Gone);
        }
        stored = sum(sources);
    }
    let has_copy = flash.lookup(address, Version::Copy).is_some() && !flash.is_lost(address, Version::Copy);
    let is_stale_copy = has_copy && content(address, Version::Copy) != stored;
    // Of a page that the controller holds, a version is acknowledged that is not on flash yet; what NVRAM holds is there in any case.
    let is_buffered = engine.survey().buffer.is_some_and(|buffer| buffer.holds(lpn));
    let is_explained = if is_buffered {
        let read = engine.front_end.shares_now(lpn, |shares| tags.with_buffer(lpn, stored, shares));
        tags.explains(lpn, read) && (controller_lives || engine.front_end.holds_safely(lpn) || tags.explains(lpn, stored))
    } else {
        tags.explains(lpn, stored) || controller_lives && engine.front_end.holds(lpn)
    };
    if !tags.is_durable(lpn, stored) || !is_explained || is_stale_copy {
        found.mismatches += 1;
        complain(lpn, Finding::Wrong);
    }
    if engine.is_in_registers_alone(lpn) {
        (found.pages_checked, found.pages_lost) = (found.pages_checked + 1, found.pages_lost + 1);
        return complain(lpn, Finding::Exposed(address.member.0.into()));
    }
    if flash.lookup(address, Version::Current).is_none() {
        return;
    }
    found.pages_checked += 1;
    // Of the failures that the scheme survives, those that take this page: others leave it readable. What has failed may fail further.
    let survives = scheme.survives_failures() as usize;
    let own = unit_of_version(flash, protects, address, Version::Current);
    let Some(failed) = stripe.lost_on.clone().and_then(|units| units.with(own, survives)) else { return };
    let others = stripe.units.iter().filter(|unit| failed.0.len() < survives && !failed.0.contains(unit));
    let further: SmallVec<[Option<u32>; 8]> = others.map(|unit| Some(*unit)).collect();
    let tried = if further.is_empty() { SmallVec::from_slice(&[None]) } else { further };
    let mut is_recovered = true;
    for other in tried {
        let is_of_failed = |unit: Option<u32>| unit.is_some_and(|unit| failed.0.contains(&unit) || other == Some(unit));
        let lost = |address, version| flash.is_lost(address, version) || is_of_failed(unit_of_version(flash, protects, address, version));
        sources.clear();
        is_recovered &= scheme.recover(lpn, &lost, sources) && sum(sources) == stored;
        found.pages_checked += 1;
    }
    if !is_recovered {
        found.pages_lost += 1;
        complain(lpn, Finding::Exposed(own.expect("one of those that fail")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Flash;
    use crate::{Config, assemble};
    use flashraid_vocabulary::{Fault, Part};

    /// However many pages are checked at a time, what is found is the same: without failures, and with pages that are wrong, exposed and gone.
    #[test]
    fn pages_checked_at_once_do_not_tell() {
        let config = Config::assemble(Some("tiny"), Some("raid5"), None, &[]).expect("a preset");
        let mut engine = assemble::engine::<Tags, Flash>(&config, Tags::new).expect("a legal device");
        engine.fill(engine.space_pages() - 7);
        for failed in 0..3 {
            match failed {
                0 => {}
                1 => engine.fail(Fault::Loss(Part::Chip { channel: 0, chip: 0 })),
                _ => engine.fail(Fault::Loss(Part::Chip { channel: 1, chip: 0 })),
            }
            for lpn in [0, 20, 21, 22, engine.space_pages() - 8] {
                let page = engine.scheme().locate(Lpn(lpn));
                let ppn = engine.executor.media.store().lookup(page, Version::Current).expect("it is written");
                engine.executor.content.destroy(ppn);
            }
            let (mut wrong, mut exposed) = (FxHashSet::default(), FxHashSet::default());
            let expected = examine(&engine, true, &mut |lpn, finding| {
                let _is_new = match finding {
                    Finding::Wrong => wrong.insert(lpn.0),
                    Finding::Exposed(_) => exposed.insert(lpn.0),
                    Finding::Gone => false,
                };
            });
            assert!(expected.mismatches > 0 && (expected.pages_gone > 0) == (failed == 2), "{expected:?}");
            for pages in [1, 10, 64, 1 << 20] {
                let mut checks = Checks::default();
                assert_eq!(checks.check_by(pages, &engine), expected, "{pages} pages at a time, {failed} failures");
                assert_eq!((&checks.wrong, &checks.exposed), (&wrong, &exposed));
                assert_eq!((checks.wrong_elsewhere, checks.found.mismatches), (0, expected.mismatches));
            }
        }
    }
}
