//! One device, its requests, its failures, and the checks at each kill.

use super::devices::Random;
use super::oracle;
use super::{SchemeReport, Torture};
use crate::assemble;
use crate::config::{Config, ConfigError};
use crate::engine::Engine;
use crate::engine::moment::Moment;
use crate::engine::tags::Tags;
use crate::verify::{self, Fault as Finding, VERSIONS};
use flashraid_redundancy::Protects;
use flashraid_vocabulary::{Cause, Fault, HostOp, HostRequest, LocalPage, Lpn, MemberId, MemberPage, Part, Ppn, Version};
use std::collections::BTreeMap;

/// Kills of an episode.
pub const KILLS: u64 = 25;
/// Events before a kill, at most, and for how many more it is put off until something wanted goes on.
const MOST_EVENTS: u64 = 60;
const MOST_PATIENCE: u64 = 6_000;
/// Events between two requests while a rebuild is to make progress.
const IDLE_PACE: u64 = 30;
/// Events within which a device comes to rest.
const MOST_WORK: u64 = 300_000;
/// The number of the NVRAM among units that fail.
const NVRAM: u32 = u32::MAX;
/// Pages on which most requests concentrate.
const HOT_PAGES: u64 = 24;

/// What a kill may want to find going on.
const WANTED: [&str; 8] =
    ["update_half_done", "semivalid_page", "collection", "commit", "lock_queue", "rebuild_10", "rebuild_50", "rebuild_90"];
/// How often each of these is wanted: what is rarer, more often. As often again nothing is.
const WEIGHTS: [usize; 8] = [1, 1, 1, 6, 1, 7, 10, 14];

/// What is wrong, and with which page.
type Problem = (Option<u64>, String);

/// See the module.
pub struct Episode {
    engine: Engine<Tags>,
    protects: Protects,
    /// Whether what the controller alone holds counts as kept.
    controller_lives: bool,
    random: Random,
    /// Where requests concentrate.
    hot_page: u64,
    queue_depth: u64,
    /// About how many events come between two requests.
    pace: u64,
    write_share: u64,
    /// Pages of the longest ordinary request.
    most_pages: u64,
    /// The unit that has failed, in part at least, and is not rebuilt.
    failed: Option<u32>,
    second: bool,
    /// A second unit has failed: data may be lost, and what is lost is known.
    exceeded: bool,
    submitted: u64,
    /// Kills that found nothing wrong.
    pub kills: u64,
    states: BTreeMap<&'static str, u64>,
    faults: BTreeMap<&'static str, u64>,
    pages_checked: u64,
    pages_gone: u64,
    rebuilt: u64,
}

/// The number of the unit of which one failure is survived, on which a physical page lies.
fn unit_of(engine: &Engine<Tags>, protects: Protects, ppn: Ppn) -> Option<u32> {
    verify::failed_unit(&engine.flash, protects, ppn)
}

/// Within a tenth of all: the walk of a rebuild leaps over what is not damaged.
fn is_near(share: f64, percent: f64) -> bool {
    (share * 100.0 - percent).abs() <= 10.0
}

fn holds(moment: &Moment, wanted: &str) -> bool {
    match wanted {
        "update_half_done" => moment.updates,
        "semivalid_page" => moment.semivalid,
        "collection" => moment.collects,
        "commit" => moment.commits,
        "lock_queue" => moment.waits_for_lock,
        "rebuild_10" => moment.rebuilt.is_some_and(|share| is_near(share, 10.0)),
        "rebuild_50" => moment.rebuilt.is_some_and(|share| is_near(share, 50.0)),
        _ => moment.rebuilt.is_some_and(|share| is_near(share, 90.0)),
    }
}

impl Episode {
    /// The device as it is before the first request.
    pub fn new(torture: &Torture, config: Config, scheme: &'static str, number: u64) -> Result<Self, ConfigError> {
        let mut random = Random::of(torture.seed, number, 2);
        let mut engine = assemble::engine(&config, |space_pages| Tags::new(config.device.ppn_limit(), space_pages))?;
        let space = engine.space_pages();
        engine.fill((config.run.fill * space as f64) as u64);
        #[cfg(feature = "mutants")]
        if let Some(fault) = torture.mutant {
            engine.inject(fault);
        }
        let protects = torture.claims.unwrap_or(engine.scheme().protects());
        if protects == Protects::None {
            return Err(ConfigError(format!("{scheme} declares to survive nothing, so there is nothing to prove")));
        }
        Ok(Self {
            protects,
            controller_lives: torture.claims.is_none(),
            hot_page: random.below(space),
            queue_depth: random.of_list(&[1, 2, 4, 8, 16, 32]),
            pace: random.of_list(&[1, 1, 4, 20, 100]),
            write_share: random.within(30, 80),
            most_pages: random.within(1, 2 * u64::from(engine.scheme().width()) + 1),
            random,
            failed: None,
            second: torture.second,
            exceeded: false,
            submitted: 0,
            kills: 0,
            states: WANTED.iter().map(|name| (*name, 0)).collect(),
            faults: BTreeMap::new(),
            pages_checked: 0,
            pages_gone: 0,
            rebuilt: 0,
            engine,
        })
    }

    /// Simulated time.
    pub fn now_ns(&self) -> u64 {
        self.engine.now_ns()
    }

    /// What was found.
    pub fn report(&self) -> SchemeReport {
        SchemeReport {
            episodes: 1,
            kills: self.kills,
            requests: self.submitted,
            pages_checked: self.pages_checked,
            pages_gone: self.pages_gone,
            rebuilds: self.engine.rebuilds().len() as u64,
            rebuilt: self.rebuilt,
            states: self.states.clone(),
            faults: self.faults.clone(),
            ..SchemeReport::default()
        }
    }

    /// Runs so many kills, then lets everything end, and reads everything.
    pub fn run(&mut self, kills: u64) -> Result<(), Problem> {
        for _ in 0..kills {
            self.run_to_a_kill()?;
            self.check()?;
            self.kills += 1;
            match self.random.below(20) {
                0..6 => self.fail_something(),
                6..8 => self.fail_an_operation(),
                9 => self.fail_the_parity_cache(),
                8 if self.second => self.fail_a_second_unit(),
                _ => {}
            }
        }
        if kills == KILLS { self.end() } else { Ok(()) }
    }

    // ---- time ----

    /// Goes on for some events, and then, mostly, until something wanted goes on.
    fn run_to_a_kill(&mut self) -> Result<(), Problem> {
        for _ in 0..self.random.within(1, MOST_EVENTS) {
            self.event()?;
        }
        let all: usize = WEIGHTS.iter().sum();
        let mut choice = self.random.below(2 * all as u64) as usize;
        let wanted = WANTED.iter().zip(WEIGHTS).find(|(_, weight)| {
            let is_chosen = choice < *weight;
            choice = choice.saturating_sub(*weight);
            is_chosen
        });
        let Some((wanted, _)) = wanted else { return Ok(()) };
        if wanted.starts_with("rebuild") && self.failed.is_none() {
            self.fail_something();
        }
        let pace = self.pace;
        if wanted.starts_with("rebuild") {
            // Some orders only make progress where the host leaves a member idle.
            self.pace = pace.max(IDLE_PACE);
        }
        for _ in 0..MOST_PATIENCE {
            let moment = self.engine.moment();
            let is_over = wanted.starts_with("rebuild") && moment.rebuilt.is_none();
            if holds(&moment, wanted) || is_over {
                break;
            }
            self.event()?;
        }
        self.pace = pace;
        Ok(())
    }

    /// Submits a request, or lets the device do one thing.
    fn event(&mut self) -> Result<(), Problem> {
        let submits = self.engine.outstanding() < self.queue_depth && self.random.once_in(self.pace);
        if submits || !self.engine.advance().map_err(|halted| (None, halted.to_string()))? {
            self.submit();
        }
        self.engine.completed.clear();
        Ok(())
    }

    fn submit(&mut self) {
        let page_bytes = u64::from(self.engine.flash.geometry().page_bytes);
        let (space, sector) = (self.engine.space_pages() * page_bytes, page_bytes / 8);
        let kind = self.random.below(100);
        let op = match kind {
            _ if kind < self.write_share => HostOp::Write,
            _ if kind.is_multiple_of(8) => HostOp::Flush,
            _ if kind % 8 < 3 => HostOp::Trim,
            _ if kind % 8 == 3 => HostOp::WriteZeroes,
            _ => HostOp::Read,
        };
        let page = if self.random.once_in(4) {
            self.random.below(self.engine.space_pages())
        } else {
            (self.hot_page + self.random.below(HOT_PAGES)) % self.engine.space_pages()
        };
        let pages = if self.random.once_in(20) { 4 * self.most_pages } else { self.most_pages };
        let whole = self.random.once_in(2) || op == HostOp::Trim;
        let (mut offset_bytes, mut size_bytes) = (page * page_bytes, self.random.within(1, pages) * page_bytes);
        if !whole {
            offset_bytes += self.random.below(8) * sector;
            size_bytes = self.random.within(1, 8 * pages) * sector;
        }
        size_bytes = size_bytes.min(space - offset_bytes);
        if op == HostOp::Flush {
            (offset_bytes, size_bytes) = (0, 0);
        }
        if self.random.once_in(500) {
            self.hot_page = self.random.below(self.engine.space_pages());
        }
        let arrival_ns = self.engine.now_ns();
        self.engine.submit(&HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }, true);
        self.submitted += 1;
    }

    // ---- failures ----

    fn lose(&mut self, name: &'static str, part: Part) {
        self.engine.fail(Fault::Loss(part));
        let dead: Vec<Ppn> = self.engine.flash.pages_of(&part).collect();
        dead.into_iter().for_each(|ppn| self.engine.content.destroy(ppn));
        *self.faults.entry(name).or_default() += 1;
    }

    /// A physical page that some version of some page names, and that can be read.
    fn any_living_page(&mut self) -> Option<Ppn> {
        let settings = self.engine.flash.settings();
        let (members, pages) = (settings.members(), settings.pages_per_member);
        (0..20).find_map(|_| {
            let member = MemberId(self.random.below(members.into()) as u16);
            let address = MemberPage { member, page: LocalPage(self.random.below(pages.into()) as u32) };
            let version = self.random.of_list(&VERSIONS);
            let flash = &self.engine.flash;
            flash.lookup(address, version).filter(|_| !flash.is_lost(address, version))
        })
    }

    /// A unit, or a part of one, fails, unless something else has failed that is not rebuilt.
    fn fail_something(&mut self) {
        self.notice_rebuilt();
        let Some(ppn) = self.any_living_page() else { return };
        let unit = unit_of(&self.engine, self.protects, ppn);
        if self.exceeded || self.failed.is_some_and(|failed| Some(failed) != unit) || self.has_lost_elsewhere(unit) {
            return;
        }
        self.failed = unit;
        let (name, part) = self.some_part_with(ppn);
        self.lose(name, part);
    }

    /// A page, or something larger that it is in, up to the unit of which a failure is survived.
    fn some_part_with(&mut self, ppn: Ppn) -> (&'static str, Part) {
        let page = self.engine.flash.part_of(ppn);
        let Part::Page { channel, chip, die, plane, block, .. } = page else { unreachable!("where a page is") };
        let is_chip = self.engine.flash.settings().member_is_chip;
        match (self.random.below(20), self.protects) {
            (0..3, _) => ("page", page),
            // Hybrid mapping retires no blocks.
            (3..6, _) if self.engine.flash.settings().log_blocks > 0 => ("page", page),
            (3..6, _) => ("block", Part::Block { channel, chip, die, plane, block }),
            (6..8, _) => ("plane", Part::Plane { channel, chip, die, plane }),
            (8..10, _) => ("die", Part::Die { channel, chip, die }),
            (10.., Protects::Chip) | (10..19, _) => ("chip", Part::Chip { channel, chip }),
            (_, Protects::Member) if is_chip => ("chip", Part::Chip { channel, chip }),
            _ => ("channel", Part::Channel(channel)),
        }
    }

    /// NVRAM loses the delayed parities, if there are any to lose and nothing else has failed: it counts as the one failure (SPEC 4.4).
    fn fail_the_parity_cache(&mut self) {
        self.notice_rebuilt();
        let has_cache = self.engine.scheme().guard().is_some_and(|guard| guard.most_entries > 0);
        if !has_cache || self.exceeded || self.failed.is_some() || self.lost_versions() > 0 {
            return;
        }
        self.failed = Some(NVRAM);
        self.engine.fail(Fault::ParityCache);
        self.engine.content.destroy_delayed();
        *self.faults.entry("parity_cache").or_default() += 1;
    }

    /// A second unit fails, while the first one is not rebuilt. What this must cost is known to the oracle.
    fn fail_a_second_unit(&mut self) {
        self.notice_rebuilt();
        let Some(failed) = self.failed.filter(|_| !self.exceeded) else { return };
        let Some(ppn) = self.any_living_page() else { return };
        if unit_of(&self.engine, self.protects, ppn) != Some(failed) {
            let (_, part) = self.some_part_with(ppn);
            self.lose("second", part);
            self.exceeded = true;
        }
    }

    /// A program or an erase fails, which loses nothing.
    fn fail_an_operation(&mut self) {
        if self.engine.flash.settings().log_blocks > 0 {
            return;
        }
        let Some(ppn) = self.any_living_page() else { return };
        let Part::Page { channel, chip, die, plane, .. } = self.engine.flash.part_of(ppn) else { unreachable!("where a page is") };
        let part = if self.random.once_in(2) { Part::Channel(channel) } else { Part::Plane { channel, chip, die, plane } };
        let (name, fault) = if self.random.once_in(3) { ("erase", Fault::Erase(part)) } else { ("program", Fault::Program(part)) };
        self.engine.fail(fault);
        *self.faults.entry(name).or_default() += 1;
    }

    /// Pages that are lost, in whatever version.
    fn lost_versions(&self) -> u64 {
        let members = self.engine.flash.settings().members();
        (0..members).map(|member| self.engine.flash.lost_versions(MemberId(member as u16))).sum()
    }

    /// Whether something is lost that does not lie on this unit: a member that has lost blocks for good may have no room for what is
    /// written now, so that this is lost though nothing else has failed.
    fn has_lost_elsewhere(&self, unit: Option<u32>) -> bool {
        let flash = &self.engine.flash;
        let slots = flash.settings().pages_per_member * flash.settings().members();
        let mut versions = (0..slots).flat_map(|slot| VERSIONS.map(|version| (flash.address(slot), version)));
        versions.any(|(page, version)| flash.is_lost(page, version) && verify::unit_of_version(flash, self.protects, page, version) != unit)
    }

    /// Once everything is as redundant as before, the next unit may fail.
    fn notice_rebuilt(&mut self) {
        if self.failed.is_some() && self.engine.rebuild_share().is_none() && self.lost_versions() == 0 {
            self.failed = None;
            self.rebuilt += 1;
        }
    }

    // ---- checks ----

    fn check(&mut self) -> Result<(), Problem> {
        let moment = self.engine.moment();
        for state in WANTED {
            *self.states.get_mut(state).expect("all are there") += u64::from(holds(&moment, state));
        }
        let mut problem: Option<Problem> = None;
        let mut gone = Vec::new();
        let mut complain = |lpn: Lpn, finding: Finding| match finding {
            Finding::Gone => gone.push(lpn),
            Finding::Wrong => {
                problem.get_or_insert((Some(lpn.0), "what flash gives is nothing that requests explain".into()));
            }
            Finding::Exposed(unit) => {
                problem.get_or_insert((Some(lpn.0), format!("the failure of unit {unit} would take it")));
            }
        };
        let found = verify::examine(&self.engine, self.controller_lives, &mut complain);
        self.pages_checked += found.pages_checked;
        if let Some(problem) = problem {
            return Err(problem);
        }
        if found.mismatches + found.pages_lost > 0 {
            return Err((None, format!("translation pages: {found:?}")));
        }
        let reads = self.engine.content.mismatches;
        if reads > 0 {
            return Err((None, format!("{reads} reads returned something else than they may")));
        }
        let evictions = self.engine.buffer().map(|buffer| buffer.counts).unwrap_or_default();
        if self.exceeded {
            self.check_losses(&gone)?;
        } else if let Some(lpn) = gone.first() {
            return Err((Some(lpn.0), "is lost, and no more has failed than is survived".into()));
        } else if self.engine.statistics.failed_lost + evictions.failed_lost > 0 {
            return Err((None, "a request failed as if data were lost, and none are".into()));
        }
        if self.engine.statistics.failed_no_space + evictions.failed_no_space > 0 && !self.engine.flash.has_failures() {
            return Err((None, "a request failed for lack of space on a device that has it".into()));
        }
        if self.random.once_in(4) {
            self.engine.flash.check().map_err(|what| (None, what))?;
        }
        Ok(())
    }

    /// What is lost is exactly what must be.
    fn check_losses(&mut self, gone: &[Lpn]) -> Result<(), Problem> {
        let (must, vague) = oracle::lost_pages(&self.engine);
        let reported: Vec<Lpn> = self.engine.lost_pages().collect();
        if reported != gone {
            return Err((None, format!("{} lost pages are reported, and {} found", reported.len(), gone.len())));
        }
        if let Some(lpn) = reported.iter().find(|lpn| must.binary_search(lpn).is_err() && vague.binary_search(lpn).is_err()) {
            return Err((Some(lpn.0), "is reported as lost, and what its stripe still has gives it".into()));
        }
        if let Some(lpn) = must.iter().find(|lpn| reported.binary_search(lpn).is_err()) {
            return Err((Some(lpn.0), "must be lost, and is not reported".into()));
        }
        self.pages_gone = self.pages_gone.max(reported.len() as u64);
        Ok(())
    }

    /// Lets everything end that goes on.
    fn come_to_rest(&mut self) -> Result<(), Problem> {
        let mut before = self.engine.flash.counts;
        for event in 0..MOST_WORK {
            if event == MOST_WORK / 2 {
                before = self.engine.flash.counts;
            }
            if !self.engine.advance().map_err(|halted| (None, halted.to_string()))? {
                return Ok(());
            }
        }
        let mut what = format!("does not come to rest: of {MOST_WORK} events after the last request the later half are");
        for (action, name) in ["reads", "programs", "erases"].into_iter().enumerate() {
            for cause in Cause::ALL {
                let count = self.engine.flash.counts[action][cause as usize] - before[action][cause as usize];
                if count > 0 {
                    what += &format!(" {count} {name} ({})", cause.name());
                }
            }
        }
        Err((None, what))
    }

    /// Everything submitted ends, and the rebuild; then every page is read.
    fn end(&mut self) -> Result<(), Problem> {
        self.come_to_rest()?;
        self.check()?;
        self.notice_rebuilt();
        let flash = &self.engine.flash;
        flash.check().map_err(|what| (None, what))?;
        let is_done = !self.engine.rebuilds().is_empty() && self.engine.rebuild_share().is_none() && !self.exceeded;
        let (members, rows) = (flash.settings().members(), flash.settings().pages_per_member);
        let mut pages = (0..rows).flat_map(|page| (0..members).map(move |member| MemberPage::new(member as u16, page)));
        let is_left = |page: &MemberPage| flash.is_lost(*page, Version::Current) && flash.has_room(*page);
        if let Some(page) = pages.find(is_left).filter(|_| is_done) {
            return Err((None, format!("the rebuild has ended, and there is room for {page:?}, which is still lost")));
        }
        if let Some(lpn) = self.unrepaired().filter(|_| is_done) {
            return Err((
                Some(lpn.0),
                "the rebuild has ended, and there is room for all of its stripe, of which something is still lost".into(),
            ));
        }
        self.read_all()
    }

    /// A host page of a stripe that has lost something, of whatever version, though there is room for all of it.
    fn unrepaired(&self) -> Option<Lpn> {
        let (engine, flash) = (&self.engine, &self.engine.flash);
        let (mut pages, mut first) = (Vec::new(), 0);
        while first < engine.space_pages() {
            let end = verify::end_of_stripe(engine, first);
            pages.clear();
            verify::pages_of_stripe(engine, first, end, &mut pages);
            let is_lost = |page: &MemberPage| VERSIONS.iter().any(|version| flash.is_lost(*page, *version));
            if pages.iter().any(is_lost) && pages.iter().all(|page| flash.has_room(*page)) {
                return Some(Lpn(first));
            }
            first = end;
        }
        None
    }

    /// Reads every page, one by one: exactly the lost ones fail.
    fn read_all(&mut self) -> Result<(), Problem> {
        let page_bytes = u64::from(self.engine.flash.geometry().page_bytes);
        for page in 0..self.engine.space_pages() {
            let (address, holds) = (self.engine.scheme().locate(Lpn(page)), self.engine.holds(Lpn(page)));
            let is_lost = self.engine.flash.is_lost(address, Version::Current) && self.engine.lost_pages().any(|lpn| lpn.0 == page);
            let request = HostRequest {
                arrival_ns: self.engine.now_ns(),
                offset_bytes: page * page_bytes,
                size_bytes: page_bytes,
                op: HostOp::Read,
                stream: 0,
                source: 0,
            };
            self.engine.completed.clear();
            self.engine.submit(&request, true);
            self.come_to_rest()?;
            let is_read = self.engine.completed.last().is_some_and(|completed| completed.ok);
            // Of a page in DRAM nothing may be needed that is lost; nor of one whose discard failed, and was believed by the buffer.
            if is_read == is_lost && !holds && !self.engine.content.is_in_doubt(Lpn(page)) {
                let what = if is_lost { "is lost, and a read of it succeeds" } else { "is not lost, and a read of it fails" };
                return Err((Some(page), what.into()));
            }
        }
        let reads = self.engine.content.mismatches;
        if reads > 0 { Err((None, format!("{reads} reads at the end returned something else than they may"))) } else { Ok(()) }
    }
}
