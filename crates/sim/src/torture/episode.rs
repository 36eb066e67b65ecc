//! One device, its requests, its failures, and the checks at each kill.

use super::devices::Random;
use super::flushes::Flushes;
use super::oracle;
use super::states::{Case, Known, STATES, exclude};
use super::{SchemeReport, Torture};
use crate::assemble;
use crate::config::{Config, ConfigError, find_scheme};
use crate::engine::Engine;
use crate::engine::tags::Tags;
use crate::simulation::prepare;
use crate::verify::{self, Fault as Finding, VERSIONS};
use flashraid_flash::Flash;
use flashraid_redundancy::Protects;
use flashraid_vocabulary::{Cause, Fault, HostOp, HostRequest, LocalPage, Lpn, MemberId, MemberPage, Part, Ppn, Version, View};
use std::collections::{BTreeMap, BTreeSet};

/// Kills of an episode.
pub const KILLS: u64 = 25;
/// Events before a kill, at most, and for how many more it is put off until something wanted goes on.
const MOST_EVENTS: u64 = 60;
const MOST_PATIENCE: u64 = 2_500;
/// Events between two requests while a rebuild is to make progress.
const IDLE_PACE: u64 = 30;
/// Events within which a device comes to rest.
const MOST_WORK: u64 = 300_000;
/// Events between two attempts to bring about what is wanted.
const PROVOCATION: u64 = 100;
/// Once in how many episodes a second unit may fail before the first one is rebuilt: twice as often where it may take a copy and a base of a stripe.
const SECONDS: u64 = 4;
/// The number of the NVRAM among units that fail.
const NVRAM: u32 = u32::MAX;
/// Pages on which most requests concentrate.
const HOT_PAGES: u64 = 24;

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
    /// Channels of which a data chip is dead, and those of which a mirror chip is.
    dead_chips: (u64, u64),
    second: bool,
    /// A second unit has failed: data may be lost, and what is lost is known.
    exceeded: bool,
    submitted: u64,
    /// Kills that found nothing wrong.
    pub kills: u64,
    /// States that can be on this device, and pairs of them, as numbers in `STATES`.
    states: Vec<usize>,
    pairs: Vec<(usize, usize)>,
    /// How many kills found each pair, and each state as a pair with itself.
    found: BTreeMap<(usize, usize), u64>,
    /// What requests are to be now, if something is wanted of them.
    favoured: Option<Favour>,
    flushes: Flushes,
    /// Flushes submitted and not completed.
    pending_flushes: BTreeSet<u64>,
    drains: bool,
    /// Whether what is lost is rebuilt.
    rebuilds: bool,
    /// Before so many kills nothing fails.
    calm: u64,
    faults: BTreeMap<&'static str, u64>,
    pages_checked: u64,
    pages_gone: u64,
    rebuilt: u64,
}

/// The number of the unit of which one failure is survived, on which a physical page lies.
fn unit_of(engine: &Engine<Tags>, protects: Protects, ppn: Ppn) -> Option<u32> {
    verify::failed_unit(&engine.media, protects, ppn)
}

/// The name of a pair of states in reports.
fn pair_name(one: usize, other: usize) -> String {
    format!("{} + {}", STATES[one].name, STATES[other].name)
}

/// Requests of one kind.
#[derive(Clone, Copy, PartialEq)]
enum Favour {
    Flushes,
    Trims,
    PartsOfPages,
}

impl Episode {
    /// The device as it is before the first request.
    pub fn new(torture: &Torture, config: Config, scheme: &'static str, number: u64) -> Result<Self, ConfigError> {
        let mut random = Random::of(torture.seed, number, 2);
        let mut engine = assemble::engine(&config, |space_pages| Tags::new(config.device.ppn_limit(), space_pages))?;
        let space = engine.space_pages();
        prepare(&mut engine, &config, &mut |_| true)?;
        #[cfg(feature = "mutants")]
        if let Some(fault) = torture.mutant {
            engine.inject(fault);
        }
        let protects = torture.claims.unwrap_or(engine.scheme().protects());
        if protects == Protects::None {
            return Err(ConfigError(format!("{scheme} declares to survive nothing, so there is nothing to prove")));
        }
        let second = torture.second || random.once_in(if config.device.mirror_chips > 0 { SECONDS / 2 } else { SECONDS });
        let calm = random.of_list(&[0, 0, 2, 5, 10, KILLS]);
        let case = Case { entry: find_scheme(scheme)?, config: &config, second };
        let states: Vec<usize> = (0..STATES.len()).filter(|state| (STATES[*state].can_be)(&case)).collect();
        let pairs: Vec<(usize, usize)> = states
            .iter()
            .flat_map(|one| states.iter().map(move |other| (*one, *other)))
            .filter(|(one, other)| one < other && !exclude(&STATES[*one], &STATES[*other]))
            .collect();
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
            dead_chips: (0, 0),
            second,
            exceeded: false,
            submitted: 0,
            kills: 0,
            found: states.iter().map(|state| (*state, *state)).chain(pairs.iter().copied()).map(|pair| (pair, 0)).collect(),
            states,
            pairs,
            favoured: None,
            flushes: Flushes::default(),
            pending_flushes: BTreeSet::new(),
            drains: config.run.drain,
            rebuilds: config.rebuild_order().is_ok_and(|order| order.is_some()),
            calm,
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
        let counts =
            |alone: bool| self.found.iter().filter(move |((one, other), _)| (one == other) == alone).map(|(pair, kills)| (*pair, *kills));
        SchemeReport {
            episodes: 1,
            kills: self.kills,
            requests: self.submitted,
            pages_checked: self.pages_checked,
            pages_gone: self.pages_gone,
            rebuilds: self.engine.rebuilds().len() as u64,
            rebuilt: self.rebuilt,
            states: counts(true).map(|((state, _), kills)| (STATES[state].name, kills)).collect(),
            pairs: counts(false).map(|((one, other), kills)| (pair_name(one, other), kills)).collect(),
            faults: self.faults.clone(),
            ..SchemeReport::default()
        }
    }

    /// Runs so many kills, then lets everything end, and reads everything.
    pub fn run(&mut self, kills: u64) -> Result<(), Problem> {
        for _ in 0..kills {
            self.run_to_a_kill()?;
            self.notice_rebuilt();
            self.count_states();
            self.check()?;
            self.kills += 1;
            if self.kills < self.calm {
                continue;
            }
            match self.random.below(20) {
                0..5 => self.fail_something(None),
                5..7 => self.fail_an_operation(),
                7 => self.fail_the_parity_cache(),
                8 if self.second && self.engine.media.settings().mirror_chips > 0 => self.fail_mirror_and_base(),
                8 | 9 if self.second => self.fail_a_second_unit(),
                _ => {}
            }
        }
        if kills == KILLS { self.end() } else { Ok(()) }
    }

    // ---- time ----

    /// Goes on for some events, and then, mostly, until one or two states hold that are wanted.
    fn run_to_a_kill(&mut self) -> Result<(), Problem> {
        for _ in 0..self.random.within(1, MOST_EVENTS) {
            self.event()?;
        }
        let wanted = match self.random.below(10) {
            0..3 => return Ok(()),
            3..6 => vec![self.any_state()],
            _ => self.any_pair(),
        };
        let rebuilds = wanted.iter().any(|state| STATES[*state].name.starts_with("rebuild"));
        let pace = self.pace;
        if rebuilds {
            // Some orders only make progress where the host leaves a member idle.
            self.pace = pace.max(IDLE_PACE);
        }
        for tick in 0..MOST_PATIENCE {
            let known = self.known();
            let mut missing = wanted.iter().filter(|state| !(STATES[**state].holds)(&known)).copied();
            let Some(first) = missing.next() else { break };
            if tick % PROVOCATION == 0 {
                let next = missing.next();
                [Some(first), next].into_iter().flatten().for_each(|state| self.provoke(STATES[state].name));
            }
            self.event()?;
        }
        (self.pace, self.favoured) = (pace, None);
        Ok(())
    }

    /// A state that can be, the rarer ones more often.
    fn any_state(&mut self) -> usize {
        let all: usize = self.states.iter().map(|state| STATES[*state].weight).sum();
        let mut choice = self.random.below(all as u64) as usize;
        let is_chosen = |state: &&usize| {
            let weight = STATES[**state].weight;
            let found = choice < weight;
            choice = choice.saturating_sub(weight);
            found
        };
        *self.states.iter().find(is_chosen).expect("less than all")
    }

    /// Two states that can be at once.
    fn any_pair(&mut self) -> Vec<usize> {
        let (one, other) = self.random.of_list(&self.pairs);
        vec![one, other]
    }

    /// Does what may bring a state about.
    fn provoke(&mut self, state: &str) {
        match state {
            "flush_waits" => self.favoured = Some(Favour::Flushes),
            "trim" => self.favoured = Some(Favour::Trims),
            "partial_write" => self.favoured = Some(Favour::PartsOfPages),
            _ if self.kills < self.calm => {}
            "degraded" | "rebuild_10" | "rebuild_50" | "rebuild_90" if self.failed.is_none() => self.fail_something(None),
            "spare_in_use" if self.failed.is_none() => self.fail_something(Some("chip")),
            "retired_block" if self.failed.is_none() => self.fail_something(Some("block")),
            "parity_cache_lost" => self.fail_the_parity_cache(),
            "second_failure" => {
                if self.failed.is_none() {
                    self.fail_something(None);
                }
                self.fail_a_second_unit();
            }
            "write_on_dead_part" => self.fail_under_a_program(),
            "both_chips_dead" => self.fail_both_chips(),
            "no_mirror_and_no_base" => self.fail_mirror_and_base(),
            _ => {}
        }
    }

    /// What is known of this moment.
    fn known(&self) -> Known {
        let flash = &self.engine.media;
        let (data, mirrors) = self.dead_chips;
        Known {
            moment: self.engine.moment(),
            is_degraded: self.failed.is_some(),
            has_lost_cache: self.failed == Some(NVRAM),
            is_exceeded: self.exceeded,
            has_retired: flash.has_retired_blocks(),
            uses_spares: flash.uses_spares(),
            has_lost_both: data & mirrors != 0,
            lacks_both: self.exceeded && flash.settings().mirror_chips > 0 && self.lacks_copy_and_base(),
        }
    }

    /// Whether a stripe has lost a copy and a base.
    fn lacks_copy_and_base(&self) -> bool {
        let mut rows = 0..self.engine.media.settings().pages_per_member;
        rows.any(|row| self.in_row(row, Version::Copy, true).is_some() && self.in_row(row, Version::Base, true).is_some())
    }

    /// Submits a request, or lets the device do one thing.
    fn event(&mut self) -> Result<(), Problem> {
        let submits = self.engine.outstanding() < self.queue_depth && self.random.once_in(self.pace);
        if submits || !self.engine.advance().map_err(|halted| (None, halted.to_string()))? {
            self.submit();
        }
        self.take_completed();
        Ok(())
    }

    /// Takes notice of what has completed.
    fn take_completed(&mut self) {
        for completed in std::mem::take(&mut self.engine.completed) {
            if self.pending_flushes.remove(&completed.sequence) && completed.ok {
                self.flushes.completed(completed.sequence);
            }
        }
        self.flushes.doubt(self.engine.content.take_doubts());
    }

    fn submit(&mut self) {
        let page_bytes = u64::from(self.engine.media.geometry().page_bytes);
        let (space, sector) = (self.engine.space_pages() * page_bytes, page_bytes / 8);
        let kind = self.random.below(100);
        let favoured = self.favoured.filter(|_| self.random.once_in(3));
        let op = match kind {
            _ if favoured == Some(Favour::Flushes) => HostOp::Flush,
            _ if favoured == Some(Favour::Trims) => HostOp::Trim,
            _ if favoured == Some(Favour::PartsOfPages) => HostOp::Write,
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
        let whole = favoured != Some(Favour::PartsOfPages) && self.random.once_in(2) || op == HostOp::Trim;
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
        let changes = matches!(op, HostOp::Write | HostOp::Trim | HostOp::WriteZeroes);
        let pages =
            || (offset_bytes / page_bytes..(offset_bytes + size_bytes).div_ceil(page_bytes)).take(if changes { usize::MAX } else { 0 });
        self.flushes.before(&self.engine, pages());
        let sequence = self.engine.submit(&HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }, true);
        self.flushes.after(&self.engine, sequence, pages());
        if op == HostOp::Flush {
            self.pending_flushes.insert(sequence);
        }
        self.submitted += 1;
    }

    // ---- failures ----

    fn lose(&mut self, name: &'static str, part: Part) {
        self.engine.fail(Fault::Loss(part));
        self.dead_chips = self.engine.media.channels_with_dead_chips();
        let dead: Vec<Ppn> = self.engine.media.pages_of(&part).collect();
        dead.into_iter().for_each(|ppn| self.engine.content.destroy(ppn));
        *self.faults.entry(name).or_default() += 1;
    }

    /// A physical page that some version of some page names, and that can be read.
    fn any_living_page(&mut self) -> Option<Ppn> {
        let settings = self.engine.media.settings();
        let (members, pages) = (settings.members(), settings.pages_per_member);
        (0..20).find_map(|_| {
            let member = MemberId(self.random.below(members.into()) as u16);
            let address = MemberPage { member, page: LocalPage(self.random.below(pages.into()) as u32) };
            let version = self.random.of_list(&VERSIONS);
            let flash = &self.engine.media;
            flash.lookup(address, version).filter(|_| !flash.is_lost(address, version))
        })
    }

    /// A unit, or a part of one, fails, unless something else has failed that is not rebuilt. What part, if that is wanted.
    fn fail_something(&mut self, wanted: Option<&str>) {
        self.notice_rebuilt();
        if let Some(ppn) = self.any_living_page() {
            self.fail_what_has(ppn, wanted);
        }
    }

    /// What a physical page lies in fails, unless something else has failed that is not rebuilt.
    fn fail_what_has(&mut self, ppn: Ppn, wanted: Option<&str>) {
        let unit = unit_of(&self.engine, self.protects, ppn);
        if self.exceeded || self.failed.is_some_and(|failed| Some(failed) != unit) || self.has_lost_elsewhere(unit) {
            return;
        }
        self.failed = unit;
        let (name, part) = self.some_part_with(ppn, wanted);
        self.lose(name, part);
    }

    /// What a program is being written to fails.
    fn fail_under_a_program(&mut self) {
        self.notice_rebuilt();
        let programs: Vec<Ppn> = self.engine.media.programs_in_service().filter(|ppn| !self.engine.media.is_lost_page(*ppn)).collect();
        if !programs.is_empty() {
            let ppn = self.random.of_list(&programs);
            match self.failed {
                Some(NVRAM) if self.second => self.fail_as_second(ppn),
                _ => self.fail_what_has(ppn, None),
            }
        }
    }

    /// The mirror chip of a channel fails, or a data chip of one that has lost its mirror chip.
    fn fail_both_chips(&mut self) {
        self.notice_rebuilt();
        let (_, mirrors) = self.dead_chips;
        let is_wanted = |flash: &Flash, ppn: Ppn| {
            let channel = flash.channel_of_unit(flash.unit_of(ppn));
            let is_copy = flash.is_of_mirror(ppn);
            if mirrors == 0 { is_copy } else { mirrors >> channel & 1 == 1 && !is_copy }
        };
        let found = (0..20).find_map(|_| self.any_living_page().filter(|ppn| is_wanted(&self.engine.media, *ppn)));
        if let Some(ppn) = found {
            self.fail_what_has(ppn, Some("chip"));
        }
    }

    /// The chip of a copy fails, and as a second unit that of a base of its stripe.
    fn fail_mirror_and_base(&mut self) {
        self.notice_rebuilt();
        if self.exceeded {
            return;
        }
        let rows = self.engine.media.settings().pages_per_member;
        if self.failed.is_none() {
            let mut copies = (0..rows).filter_map(|row| self.in_row(row, Version::Base, false).and(self.in_row(row, Version::Copy, false)));
            if let Some(copy) = copies.next() {
                self.fail_what_has(copy, Some("chip"));
            }
        }
        let mut bases = (0..rows).filter_map(|row| self.in_row(row, Version::Copy, true).and(self.in_row(row, Version::Base, false)));
        if let Some(base) = bases.next()
            && self.failed.is_some_and(|failed| unit_of(&self.engine, self.protects, base) != Some(failed))
        {
            let (_, part) = self.some_part_with(base, Some("chip"));
            self.lose("second", part);
            self.exceeded = true;
        }
    }

    /// Where a page of this row of the members has this version, lost or not.
    fn in_row(&self, row: u32, version: Version, is_lost: bool) -> Option<Ppn> {
        let flash = &self.engine.media;
        let mut pages = (0..flash.settings().members()).map(|member| MemberPage::new(member as u16, row));
        pages.find_map(|page| flash.lookup(page, version).filter(|_| flash.is_lost(page, version) == is_lost))
    }

    /// A page, or something larger that it is in, up to the unit of which a failure is survived.
    fn some_part_with(&mut self, ppn: Ppn, wanted: Option<&str>) -> (&'static str, Part) {
        let page = self.engine.media.part_of(ppn);
        let Part::Page { channel, chip, die, plane, block, .. } = page else { unreachable!("where a page is") };
        let is_chip = self.engine.media.settings().member_is_chip;
        let choice = match wanted {
            Some("block") => 3,
            Some("chip") => 10,
            _ => self.random.below(20),
        };
        match (choice, self.protects) {
            (0..3, _) => ("page", page),
            // Hybrid mapping retires no blocks.
            (3..6, _) if self.engine.media.settings().log_blocks > 0 => ("page", page),
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
        if self.failed.is_some()
            && !self.exceeded
            && let Some(ppn) = self.any_living_page()
        {
            self.fail_as_second(ppn);
        }
    }

    /// What a physical page lies in fails as a second unit.
    fn fail_as_second(&mut self, ppn: Ppn) {
        if !self.exceeded && unit_of(&self.engine, self.protects, ppn) != self.failed {
            let (_, part) = self.some_part_with(ppn, None);
            self.lose("second", part);
            self.exceeded = true;
        }
    }

    /// A program or an erase fails, which loses nothing.
    fn fail_an_operation(&mut self) {
        if self.engine.media.settings().log_blocks > 0 {
            return;
        }
        let Some(ppn) = self.any_living_page() else { return };
        let Part::Page { channel, chip, die, plane, .. } = self.engine.media.part_of(ppn) else { unreachable!("where a page is") };
        let part = if self.random.once_in(2) { Part::Channel(channel) } else { Part::Plane { channel, chip, die, plane } };
        let (name, fault) = if self.random.once_in(3) { ("erase", Fault::Erase(part)) } else { ("program", Fault::Program(part)) };
        self.engine.fail(fault);
        *self.faults.entry(name).or_default() += 1;
    }

    /// Pages that are lost, in whatever version.
    fn lost_versions(&self) -> u64 {
        let members = self.engine.media.settings().members();
        (0..members).map(|member| self.engine.media.lost_versions(MemberId(member as u16))).sum()
    }

    /// Whether something is lost that does not lie on this unit: a member that has lost blocks for good may have no room for what is
    /// written now, so that this is lost though nothing else has failed.
    fn has_lost_elsewhere(&self, unit: Option<u32>) -> bool {
        let flash = &self.engine.media;
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
        if self.engine.statistics.failed_no_space + evictions.failed_no_space > 0 && !self.engine.media.has_failures() {
            return Err((None, "a request failed for lack of space on a device that has it".into()));
        }
        if self.random.once_in(4) {
            self.engine.media.check().map_err(|what| (None, what))?;
        }
        self.check_flushes()
    }

    /// Notes which states hold, and which pairs of them.
    fn count_states(&mut self) {
        let known = self.known();
        let held: Vec<usize> = (0..STATES.len()).filter(|state| (STATES[*state].holds)(&known)).collect();
        for (index, one) in held.iter().enumerate() {
            for other in &held[index..] {
                let what = || match one == other {
                    true => STATES[*one].name.into(),
                    false => pair_name(*one, *other),
                };
                let count = self.found.get_mut(&(*one, *other));
                *count.unwrap_or_else(|| panic!("{} is met where it cannot be", what())) += 1;
            }
        }
    }

    /// What a completed flush has promised is on flash or in NVRAM.
    fn check_flushes(&mut self) -> Result<(), Problem> {
        self.flushes.doubt(self.engine.content.take_doubts());
        match self.flushes.broken(&self.engine) {
            Some(lpn) if !self.exceeded => {
                Err((Some(lpn.0), "was submitted before a flush that has completed, and is neither on flash nor in NVRAM".into()))
            }
            _ => Ok(()),
        }
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
        let mut before = self.engine.media.counts;
        for event in 0..MOST_WORK {
            if event == MOST_WORK / 2 {
                before = self.engine.media.counts;
            }
            if !self.engine.advance().map_err(|halted| (None, halted.to_string()))? {
                return Ok(());
            }
        }
        let mut what = format!("does not come to rest: of {MOST_WORK} events after the last request the later half are");
        for (action, name) in ["reads", "programs", "erases"].into_iter().enumerate() {
            for cause in Cause::ALL {
                let count = self.engine.media.counts[action][cause as usize] - before[action][cause as usize];
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
        self.take_completed();
        self.check()?;
        if self.drains {
            self.engine.drain_buffer().map_err(|halted| (None, halted.to_string()))?;
            self.engine.drain_scheme();
            self.come_to_rest()?;
            self.check()?;
        }
        self.notice_rebuilt();
        let flash = &self.engine.media;
        flash.check().map_err(|what| (None, what))?;
        // Also where nothing but programs has failed, and no rebuild ever began: some may have found no place.
        let is_done = self.rebuilds && self.engine.rebuild_share().is_none() && !self.exceeded;
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
        if let Some(page) = self.unrepaired_map().filter(|_| is_done) {
            return Err((
                None,
                format!("the rebuild has ended, and there is room for a copy of translation page {page}, which is still lost"),
            ));
        }
        self.read_all()
    }

    /// A translation page of which a copy is lost, though the other one lives and there is room for it.
    fn unrepaired_map(&self) -> Option<u32> {
        let (translation, flash) = (self.engine.translation()?, &self.engine.media);
        (0..translation.pages()).find(|page| {
            let Some((_, copies)) = translation.stored_at(*page) else { return false };
            let lost = copies.map(|copy| flash.is_lost(copy, Version::Current));
            let has_room = |copy: usize| lost[copy] && !lost[1 - copy] && flash.has_room(copies[copy]);
            has_room(0) || has_room(1)
        })
    }

    /// A host page of a stripe that has lost something, of whatever version, though there is room for all of it.
    fn unrepaired(&self) -> Option<Lpn> {
        let (engine, flash) = (&self.engine, &self.engine.media);
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
        let page_bytes = u64::from(self.engine.media.geometry().page_bytes);
        for page in 0..self.engine.space_pages() {
            let (address, holds) = (self.engine.scheme().locate(Lpn(page)), self.engine.holds(Lpn(page)));
            let is_lost = self.engine.media.is_lost(address, Version::Current) && self.engine.lost_pages().any(|lpn| lpn.0 == page);
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
