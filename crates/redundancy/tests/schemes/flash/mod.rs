//! Members that hold a tag for each page, and the execution of one operation on them.

mod view;

use flashraid_redundancy::{Lock, Operation, OperationKind, Outcomes, Step};
use flashraid_vocabulary::galois::scale;
use flashraid_vocabulary::{
    Action, Cause, Change, GcLoad, Health, LocalPage, MemberId, MemberPage, PageOperation, SsdView, Version, View, Wave, Weights,
};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a page in these tests.
pub const PAGE: u32 = 4096;

/// Data chips of a member; its mirror chip has the next number.
pub const DATA_CHIPS: u64 = 3;

/// A chip that dies while a wave is under way.
#[derive(Clone, Copy, Debug)]
pub struct Strike {
    /// The number of the wave in its operation.
    pub wave: usize,
    pub member: MemberId,
    pub chip: u64,
    /// Whether another chip takes its place at once.
    pub has_spare: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    current: Option<u64>,
    base: Option<u64>,
    copy: Option<u64>,
    /// What NVRAM holds of a parity.
    deferred: Option<u64>,
}

/// What the members hold, and what was done to them.
#[derive(Clone, Debug, Default)]
pub struct Flash {
    pages: BTreeMap<MemberPage, Versions>,
    /// Answers of `View::load_at` and `View::busy_ns_at` for current versions; 0 for pages not named.
    pub loads: BTreeMap<MemberPage, u32>,
    /// The same for copies.
    pub copy_loads: BTreeMap<MemberPage, u32>,
    /// Members that take no copy now.
    pub busy_mirrors: BTreeSet<MemberId>,
    /// Answers of `View::channel_load_at`; 0 for pages not named.
    pub channel_loads: BTreeMap<MemberPage, u32>,
    /// No member takes a copy any more when the first wave of an operation has ended.
    pub busy_after_first_wave: bool,
    /// Versions that failures took.
    lost: BTreeSet<(MemberPage, Version)>,
    /// Members of which nothing is left, or which have no page to give: programs find no place there.
    pub dead: BTreeSet<MemberId>,
    /// Whether anything has failed.
    pub has_failed: bool,
    /// Members in which no page is free.
    pub full: BTreeSet<MemberId>,
    /// Members whose mirror chips are dead.
    pub dead_mirrors: BTreeSet<MemberId>,
    /// When a wave of the next operation with this number is under way, the member is killed; it has a spare (or chips beside the dead one) or not.
    pub strike: Option<(usize, MemberId, bool)>,
    /// A strike is called off if something is lost on another member when an operation begins, be it for want of a place.
    pub strikes_spare_others: bool,
    /// What happens during the next operation that has such a wave.
    pub chip_strike: Option<Strike>,
    /// A page of zeroes that appears while the last wave of the next operation is under way.
    pub appears: Option<MemberPage>,
    /// Answers of `View::pages_gone`; 0 for members not named.
    pub pages_gone: BTreeMap<MemberId, u32>,
    /// Answers of `View::queued`; 0 for members not named.
    pub queued: BTreeMap<MemberId, (u32, u32)>,
    /// The GC runs that keep host work off members.
    pub gc: BTreeMap<MemberId, GcLoad>,
    /// How long reads of pages take; 1 ns for those not named.
    pub read_ns: BTreeMap<MemberPage, u64>,
    /// The answer of `View::now_ns`.
    pub now_ns: u64,
    /// SSDs that are not in state S0.
    pub health: BTreeMap<MemberId, Health>,
    /// Spare SSDs, the next one first.
    pub spares: Vec<MemberId>,
    /// Answers of `View::erases`; 0 for members not named.
    pub erases: BTreeMap<MemberId, u64>,
    /// The answer of `View::endurance`; no limit if there is none.
    pub endurance: Option<u64>,
    /// The same of members that differ.
    pub own_endurance: BTreeMap<MemberId, u64>,
    /// Answers of `View::last_host_ns`; 0 for members not named.
    pub last_host_ns: BTreeMap<MemberId, u64>,
    /// SSDs in which GC runs.
    pub collecting: BTreeSet<MemberId>,
    /// Every page operation so far.
    pub log: Vec<PageOperation>,
    /// Page versions that became garbage so far.
    pub garbage: u64,
}

/// How one operation went.
#[derive(Clone, Debug)]
pub struct Course {
    /// Its page operations, wave by wave.
    pub waves: Vec<Vec<PageOperation>>,
    /// Its changes.
    pub changes: Vec<Change>,
    /// How long each of its pauses was.
    pub pauses: Vec<u64>,
    /// The last answer of `step`.
    pub end: Step,
    /// The operation as `step` left it.
    pub operation: Operation,
    /// Data strips that several reads made up, with these reads.
    pub computed: Vec<(u8, u64)>,
    /// What reads delivered, by data strip.
    pub delivered: BTreeMap<u8, u64>,
}

/// `content` and those `reads` that the mask names.
fn sum_of(content: u64, mask: u64, reads: &[u64], weights: Option<&Weights>) -> u64 {
    let term = |index: usize| weights.map_or(reads[index], |weights| scale(reads[index], weights.reads[index]));
    (0..64).filter(|index| mask >> index & 1 == 1).fold(content, |sum, index| sum ^ term(index))
}

/// What a plan names as its weights, if it does.
fn weights(wave: &Wave, number: u8) -> Option<&Weights> {
    Weights::named(&wave.weights, number)
}

/// The content of a page of which the host gives a part: depends on both, in order.
pub fn overlay(old: u64, part: u64) -> u64 {
    (old.rotate_left(7) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Flash {
    /// The current content of a page.
    pub fn current(&self, page: MemberPage) -> Option<u64> {
        self.pages.get(&page).and_then(|versions| versions.current)
    }

    /// The base of a page.
    pub fn base(&self, page: MemberPage) -> Option<u64> {
        self.version(page, Version::Base)
    }

    /// The content of a version.
    pub fn version(&self, page: MemberPage, version: Version) -> Option<u64> {
        let versions = self.pages.get(&page)?;
        match version {
            Version::Current => versions.current,
            Version::Base => versions.base,
            Version::Copy => versions.copy,
            Version::DeferredParity => versions.deferred,
        }
    }

    /// What NVRAM holds of the parity at this local page; zero if it holds nothing.
    pub fn deferred_at(&self, page: LocalPage) -> u64 {
        let of_page = self.pages.iter().filter(|(address, _)| address.page == page);
        of_page.filter_map(|(_, versions)| versions.deferred).next().unwrap_or(0)
    }

    /// GC takes the base of a page; there is one.
    pub fn erase_base(&mut self, page: MemberPage) {
        assert!(self.pages.get_mut(&page).and_then(|versions| versions.base.take()).is_some(), "{page:?} has no base");
        self.lost.remove(&(page, Version::Base));
    }

    /// The page holds zeroes if it is not written.
    pub fn appear(&mut self, page: MemberPage) {
        self.pages.entry(page).or_default().current.get_or_insert(0);
    }

    /// A version is lost from now on.
    pub fn lose(&mut self, page: MemberPage, version: Version) {
        self.has_failed = true;
        self.lost.insert((page, version));
    }

    /// Everything on a member is lost from now on, and it takes nothing more: its chips are dead, mirror chips too.
    pub fn kill(&mut self, member: MemberId) {
        for page in self.pages.keys().filter(|page| page.member == member).copied().collect::<Vec<_>>() {
            for version in [Version::Current, Version::Base, Version::Copy] {
                if self.is_written(page, version) {
                    self.lose(page, version);
                }
            }
        }
        self.has_failed = true;
        self.dead.insert(member);
        self.dead_mirrors.insert(member);
    }

    /// A chip of the member dies with all that the member holds; another one takes its place.
    pub fn replace(&mut self, member: MemberId) {
        self.kill(member);
        self.revive(member);
    }

    /// Something takes programs in place of what is dead.
    pub fn revive(&mut self, member: MemberId) {
        self.dead.remove(&member);
        self.dead_mirrors.remove(&member);
    }

    /// Nothing is left of what a member holds, and nobody needs it.
    pub fn forget(&mut self, member: MemberId) {
        self.pages.retain(|page, _| page.member != member);
        self.lost.retain(|(page, _)| page.member != member);
    }

    /// The chip on which a version lies: copies on the mirror chip, others by their contents.
    pub fn chip_of(&self, page: MemberPage, version: Version) -> u64 {
        match version {
            Version::Copy => DATA_CHIPS,
            _ => self.version(page, version).map_or(0, |content| content % DATA_CHIPS),
        }
    }

    /// A chip dies. A data chip leaves others, which take its programs as long as they have room; a mirror chip is replaced or not.
    pub fn kill_chip(&mut self, member: MemberId, chip: u64, has_spare: bool) {
        for page in self.pages.keys().filter(|page| page.member == member).copied().collect::<Vec<_>>() {
            for version in [Version::Current, Version::Base, Version::Copy] {
                if self.chip_of(page, version) == chip && self.is_written(page, version) {
                    self.lose(page, version);
                }
            }
        }
        self.has_failed = true;
        if chip == DATA_CHIPS && !has_spare {
            self.dead_mirrors.insert(member);
        }
    }

    /// Pages whose newest content can be read from no single page.
    pub fn unreadable(&self) -> BTreeSet<MemberPage> {
        let is_readable = |page, version| self.is_written(page, version) && !self.is_lost(page, version);
        let is_unreadable = |page: &MemberPage| {
            let is_written = self.is_written(*page, Version::Current);
            is_written && !is_readable(*page, Version::Current) && !is_readable(*page, Version::Copy)
        };
        self.pages.keys().copied().filter(is_unreadable).collect()
    }

    /// Number of versions that are lost.
    pub fn lost(&self) -> usize {
        self.lost.iter().filter(|(page, version)| self.is_written(*page, *version)).count()
    }

    /// Whether anything is lost that does not lie on the member.
    fn lost_elsewhere(&self, member: MemberId) -> bool {
        self.lost.iter().any(|(page, version)| page.member != member && self.is_written(*page, *version))
    }

    /// Pages with this version.
    pub fn holding(&self, version: Version) -> impl Iterator<Item = MemberPage> {
        self.pages.keys().copied().filter(move |page| self.version(*page, version).is_some())
    }

    /// Number of pages with this version.
    pub fn held(&self, version: Version) -> u64 {
        self.holding(version).count() as u64
    }

    fn count_versions(&self, member: MemberId, has: impl Fn(&Versions) -> bool) -> u32 {
        self.pages.iter().filter(|(page, versions)| page.member == member && has(versions)).count() as u32
    }

    /// Page operations of this kind so far.
    pub fn count(&self, action: Action, cause: Cause) -> u64 {
        self.log.iter().filter(|done| done.action == action && done.cause == cause).count() as u64
    }

    /// Programs so far.
    pub fn programs(&self) -> u64 {
        self.log.iter().filter(|done| done.action == Action::Program).count() as u64
    }

    /// Executes `operation`, driven by `step`; `tags` holds what the host gives for each strip.
    /// Panics on whatever the contract forbids.
    pub fn execute(
        &mut self,
        mut operation: Operation,
        tags: &BTreeMap<u32, u64>,
        mut step: impl FnMut(&mut Operation, Outcomes, &dyn View, &mut Wave) -> Step,
    ) -> Course {
        match operation.kind {
            OperationKind::Read => assert_eq!(operation.lock, Lock::None),
            // It may run under the lock of another one.
            OperationKind::Commit => assert_ne!(operation.lock, Lock::Shared),
            _ => assert_eq!(operation.lock, Lock::Exclusive),
        }
        let mut wave = Wave::default();
        let mut waves = Vec::new();
        let mut changes = Vec::new();
        let mut pauses = Vec::new();
        let mut read = Vec::new();
        let mut delivered = BTreeMap::new();
        let mut computed = Vec::new();
        let mut programmed: Vec<(MemberPage, Version, bool, u64)> = Vec::new();
        let mut unallocated = BTreeSet::new();
        let mut outcomes = Outcomes::default();
        if self.strikes_spare_others {
            self.strike = self.strike.filter(|(_, member, _)| !self.lost_elsewhere(*member));
        }
        let decided = operation;
        let end = loop {
            wave.clear();
            let before = unallocated.iter().fold(0, |members, (page, _): &(MemberPage, Version)| members | 1u64 << page.member.0);
            let told = std::mem::take(&mut outcomes);
            let answer = step(&mut operation, Outcomes { unallocated: told.unallocated | before, ..told }, self, &mut wave);
            let reads_now = wave.operations.iter().filter(|page_operation| page_operation.action == Action::Read).count();
            let known = read.len();
            for delivery in wave.deliveries.iter().filter(|delivery| delivery.reads == 0) {
                assert!(delivery.deferred, "{delivery:?} is made of nothing");
                delivered.insert(delivery.strip, self.deferred_at(LocalPage(operation.stripe.0)));
                computed.push((delivery.strip, 0));
            }
            for page_operation in &wave.operations {
                let page = page_operation.address;
                self.log.push(*page_operation);
                if page_operation.action == Action::Read {
                    assert!(!self.is_lost(page, page_operation.version), "{page_operation:?} reads a lost page");
                    let content =
                        self.version(page, page_operation.version).unwrap_or_else(|| panic!("{page_operation:?} reads an unwritten page"));
                    read.push(content);
                    if page_operation.strip != PageOperation::NO_STRIP {
                        delivered.insert(page_operation.strip, content);
                    }
                    continue;
                }
                assert_eq!(page_operation.strip, PageOperation::NO_STRIP);
                match page_operation.version {
                    Version::Current => assert!(operation.space >> page.member.0 & 1 == 1, "no space was asked for {page_operation:?}"),
                    Version::Copy if operation.kind == OperationKind::Repair => assert!(self.has_mirror(page.member), "{page_operation:?}"),
                    Version::Copy => assert!(self.takes_copy(page.member), "the mirror chip takes no copy: {page_operation:?}"),
                    Version::Base | Version::DeferredParity => panic!("{page_operation:?}"),
                }
                let is_programmable = self.dead.contains(&page.member) || self.health(page.member) == Health::ReadWrite;
                assert!(is_programmable, "an SSD in state {:?} is programmed: {page_operation:?}", self.health(page.member));
                let twice = programmed.iter().any(|(other, version, ..)| (other.member, *version) == (page.member, page_operation.version));
                assert!(!twice, "two programs on {:?}", page.member);
                assert_eq!(known + reads_now, usize::from(operation.reads), "reads are numbered over all waves");
                let sources = page_operation.sources;
                let partial = operation.merge_strips;
                let given = (0..64).filter(|strip| sources.host >> strip & 1 == 1).map(|strip| {
                    assert!(operation.strips >> strip & 1 == 1, "the host does not give strip {strip}");
                    let given = match partial >> strip & 1 {
                        0 => tags[&strip],
                        _ => overlay(delivered.get(&(strip as u8)).copied().unwrap_or(0), tags[&strip]),
                    };
                    weights(&wave, sources.weights).map_or(given, |weights| scale(given, weights.host[strip as usize]))
                });
                let content = given.fold(0, |sum, tag| sum ^ tag);
                let content = sum_of(content, sources.reads, &read[..known], weights(&wave, sources.weights));
                let content = content ^ if sources.deferred { self.deferred_at(LocalPage(operation.stripe.0)) } else { 0 };
                let (version, bit) = (page_operation.version, 1 << page.member.0);
                if version == Version::Current && self.dead.contains(&page.member) {
                    outcomes.unallocated |= bit;
                    unallocated.insert((page, version));
                } else if version == Version::Copy && !self.has_mirror(page.member) {
                    outcomes.unallocated_copies |= bit;
                    continue;
                }
                programmed.push((page, version, page_operation.keep_base, content));
            }
            for delivery in wave.deliveries.iter().filter(|delivery| delivery.reads != 0) {
                let in_nvram = if delivery.deferred { self.deferred_at(LocalPage(operation.stripe.0)) } else { 0 };
                delivered.insert(delivery.strip, sum_of(in_nvram, delivery.reads, &read, weights(&wave, delivery.weights)));
                computed.push((delivery.strip, delivery.reads));
            }
            if !wave.operations.is_empty() {
                waves.push(wave.operations.clone());
            }
            changes.extend_from_slice(&wave.changes);
            if let Some((_, member, has_spare)) =
                self.strike.take_if(|(number, ..)| *number + 1 == waves.len() && !wave.operations.is_empty())
            {
                self.kill(member);
                if has_spare {
                    self.revive(member);
                } else {
                    let current =
                        |(page, version, ..): &&(MemberPage, Version, bool, u64)| (page.member, *version) == (member, Version::Current);
                    let placed: Vec<_> = programmed.iter().filter(current).map(|&(page, version, ..)| (page, version)).collect();
                    outcomes.unallocated |= if placed.is_empty() { 0 } else { 1 << member.0 };
                    unallocated.extend(placed);
                }
                if wave.operations.iter().any(|done| done.action == Action::Read && done.address.member == member) {
                    operation = Operation { lock: operation.lock, ..decided };
                    waves.clear();
                    changes.clear();
                    read.clear();
                    delivered.clear();
                    computed.clear();
                    programmed.clear();
                    unallocated.clear();
                    outcomes = Outcomes { read_failed: true, ..Outcomes::default() };
                    continue;
                }
            }
            if let Some(strike) = self.chip_strike.take_if(|strike| strike.wave + 1 == waves.len() && !wave.operations.is_empty()) {
                let Strike { member, chip, has_spare, .. } = strike;
                self.kill_chip(member, chip, has_spare);
                if wave.operations.iter().any(|read| read.action == Action::Read && self.is_lost(read.address, read.version)) {
                    operation = Operation { lock: operation.lock, ..decided };
                    waves.clear();
                    changes.clear();
                    read.clear();
                    delivered.clear();
                    programmed.clear();
                    unallocated.clear();
                    outcomes = Outcomes { read_failed: true, ..Outcomes::default() };
                    continue;
                }
                // Programs on the chip are repeated on another one; copies only if there is one.
                if chip == DATA_CHIPS && !has_spare {
                    let known = programmed.len();
                    programmed.retain(|(page, version, ..)| (page.member, *version) != (member, Version::Copy));
                    outcomes.unallocated_copies |= if programmed.len() < known { 1 << member.0 } else { 0 };
                }
            }
            match answer {
                Step::Wave => {
                    assert!(!wave.operations.is_empty() && wave.operations.len() <= 64);
                    if self.busy_after_first_wave {
                        self.busy_mirrors.extend((0..64).map(MemberId));
                    }
                }
                Step::Last => {
                    assert!(!wave.operations.is_empty() && wave.operations.len() <= 64);
                    if outcomes.is_well() {
                        break answer;
                    }
                }
                // There is no time here that could pass.
                Step::Pause(pause_ns) => {
                    assert!(wave.operations.is_empty());
                    pauses.push(pause_ns);
                }
                Step::Done => {
                    assert!(wave.operations.is_empty());
                    break answer;
                }
                Step::Nothing => {
                    assert!(waves.is_empty() && changes.is_empty());
                    break answer;
                }
                Step::Lock => {
                    assert!(waves.is_empty() && changes.is_empty() && operation.lock == Lock::None);
                    operation.lock = Lock::Shared;
                }
                Step::Failed(_) => {
                    assert!(wave.operations.is_empty());
                    programmed.clear();
                    changes.clear();
                    break answer;
                }
            }
        };
        if let Some(page) = self.appears.take() {
            self.appear(page);
        }
        for (page, version, keep_base, content) in programmed {
            let is_lost = unallocated.contains(&(page, version));
            self.has_failed |= is_lost;
            let was_lost = if is_lost { !self.lost.insert((page, version)) } else { self.lost.remove(&(page, version)) };
            if keep_base && was_lost {
                self.lost.insert((page, Version::Base));
            }
            let versions = self.pages.entry(page).or_default();
            if version == Version::Copy {
                self.garbage += u64::from(versions.copy.replace(content).is_some());
                continue;
            }
            match versions.current.replace(content) {
                Some(superseded) if keep_base => assert!(versions.base.replace(superseded).is_none(), "{page:?} has two bases"),
                Some(_) => self.garbage += 1,
                None => {}
            }
        }
        for change in &changes {
            let (page, version) = match *change {
                Change::Unmap(page) => (page, Version::Current),
                Change::ReleaseBase(page) => (page, Version::Base),
                Change::ReleaseCopy(page) => (page, Version::Copy),
                Change::Lose(page) => {
                    self.appear(page);
                    self.lose(page, Version::Current);
                    continue;
                }
                Change::Retire(page) => {
                    let was_lost = self.lost.remove(&(page, Version::Current));
                    let versions = self.pages.get_mut(&page).unwrap_or_else(|| panic!("{change:?}: it is not written"));
                    let retired = versions.current.take().unwrap_or_else(|| panic!("{change:?}: it is not written"));
                    if versions.base.is_some() {
                        self.garbage += 1;
                    } else {
                        versions.base = Some(retired);
                        if was_lost {
                            self.lost.insert((page, Version::Base));
                        }
                    }
                    continue;
                }
                Change::Defer(page, sources) => {
                    let given =
                        (0..64).filter(|strip| sources.host >> strip & 1 == 1 && operation.kind != OperationKind::Trim).map(|strip| {
                            match operation.merge_strips >> strip & 1 {
                                0 => tags[&strip],
                                _ => overlay(delivered.get(&(strip as u8)).copied().unwrap_or(0), tags[&strip]),
                            }
                        });
                    let content = sum_of(given.fold(0, |sum, tag| sum ^ tag), sources.reads, &read, None);
                    let content = content ^ if sources.deferred { self.deferred_at(LocalPage(operation.stripe.0)) } else { 0 };
                    self.pages.entry(page).or_default().deferred = Some(content);
                    continue;
                }
                Change::ReleaseDeferred(page) => (page, Version::DeferredParity),
            };
            assert!(self.is_written(page, version), "{change:?}: there is none");
            self.lost.remove(&(page, version));
            let versions = self.pages.get_mut(&page).expect("it is written");
            match version {
                Version::Current => versions.current = None,
                Version::Base => versions.base = None,
                Version::Copy => versions.copy = None,
                Version::DeferredParity => {
                    versions.deferred = None;
                    continue;
                }
            }
            self.garbage += 1;
        }
        Course { waves, changes, pauses, end, operation, computed, delivered }
    }

    /// Applies what follows for flash from the loss of everything that NVRAM holds.
    pub fn lose_parity_cache(&mut self, changes: &[Change]) {
        for change in changes {
            match *change {
                Change::Lose(page) => {
                    self.pages.entry(page).or_default().current.get_or_insert(0);
                    self.lose(page, Version::Current);
                }
                Change::ReleaseBase(page) => self.erase_base(page),
                Change::ReleaseDeferred(page) => {
                    assert!(self.pages.get_mut(&page).and_then(|versions| versions.deferred.take()).is_some(), "{change:?}: there is none");
                }
                _ => panic!("{change:?}"),
            }
        }
        assert_eq!(self.held(Version::DeferredParity), 0);
    }
}
