//! A host that gives requests to a scheme on `Flash`, and knows what every page must hold.

use crate::flash::{Course, DATA_CHIPS, Flash, PAGE, overlay};
use flashraid_redundancy::{
    Build, Claim, Damage, Decisions, Deferring, Extent, Failure, Group, IdleWork, Lock, Lost, Operation, OperationKind, Order, Protects,
    Replacing, Scheme, Step, find,
};
use flashraid_vocabulary::galois::scale;
use flashraid_vocabulary::{Health, HostOp, Lpn, MemberId, MemberPage, SsdView, StripeId, Version, View};
use std::collections::BTreeMap;

pub struct Host<S: Scheme + ?Sized = dyn Scheme> {
    pub scheme: Box<S>,
    pub flash: Flash,
    /// What the scheme wants to do in the background and has not done yet.
    pub background: Vec<Operation>,
    /// What the scheme has ordered so far (`Replacing::order`).
    pub orders: Vec<Order>,
    expected: Vec<Option<u64>>,
    tags: u64,
}

/// Members of `pages_per_member` logical pages, with room for as many versions again.
pub fn build(members: u16, pages_per_member: u32, parameters: &[(&str, &str)]) -> Build {
    let parameters = parameters.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let pages_held = 2 * pages_per_member;
    Build {
        members,
        pages_per_member,
        data_chips: 3,
        mirror_chips: 1,
        pages_per_chip: pages_per_member,
        pages_held,
        copies_held: pages_per_member,
        page_bytes: PAGE,
        chunk_pages: 1,
        spares: 0,
        eldest_first: Vec::new(),
        idle_ns: 1_000_000,
        parameters,
    }
}

/// Everything on the members of a mask is lost.
pub fn on(members: u64) -> impl Fn(MemberPage, Version) -> bool {
    move |page, _| members >> page.member.0 & 1 == 1
}

/// The scheme called `name`.
pub fn scheme(name: &str, members: u16, pages_per_member: u32, parameters: &[(&str, &str)]) -> Box<dyn Scheme> {
    find(name).unwrap().build(&build(members, pages_per_member, parameters)).unwrap()
}

/// What `part` does not touch of `extent`: what an engine asks `decide` about next.
fn rest(extent: &Extent, pages: u64) -> Option<Extent> {
    let left = extent.pages - pages;
    let first_bytes = if left == 1 { extent.last_bytes } else { PAGE };
    (left > 0).then_some(Extent { first: Lpn(extent.first.0 + pages), pages: left, first_bytes, ..*extent })
}

impl Course {
    /// Of an operation that fails before it does anything.
    pub fn failed(operation: Operation, failure: Failure) -> Self {
        let (waves, changes, pauses, computed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { waves, changes, pauses, end: Step::Failed(failure), operation, computed, delivered: BTreeMap::new() }
    }
}

impl Host {
    /// Raid5 with the default rule.
    pub fn raid5(members: u16, stripes: u32) -> Self {
        Self::new(scheme("raid5", members, stripes, &[]))
    }
}

impl<S: Scheme + ?Sized> Host<S> {
    pub fn new(scheme: Box<S>) -> Self {
        let expected = vec![None; scheme.user_pages() as usize];
        Self { scheme, flash: Flash::default(), background: Vec::new(), orders: Vec::new(), expected, tags: 0 }
    }

    /// The scheme, which must be one that defers parities.
    pub fn deferring(&self) -> &dyn Deferring {
        self.scheme.deferring().expect("it defers parities")
    }

    /// The same, to change it.
    pub fn deferring_mut(&mut self) -> &mut dyn Deferring {
        self.scheme.deferring_mut().expect("it defers parities")
    }

    /// The scheme, which must be one that replaces SSDs.
    pub fn replacing(&self) -> &dyn Replacing {
        self.scheme.replacing().expect("it replaces SSDs")
    }

    /// The user wants this member replaced.
    pub fn replace(&mut self, member: MemberId) -> Result<(), &'static str> {
        self.scheme.replacing_mut().expect("it replaces SSDs").replace(member, &self.flash)
    }

    /// Writes the first pages, so many at least, as `--fill` does: in whole stripes.
    pub fn fill(&mut self, pages: u64) {
        let mut filled = 0;
        for index in 0.. {
            if filled >= pages.min(self.scheme.user_pages()) {
                break;
            }
            self.scheme.create(Lpn(filled));
            let operation = self.scheme.fill(index).expect("stripes hold all pages");
            filled += u64::from(operation.strips.count_ones());
            self.run(operation);
        }
    }

    /// Writes every stripe, as `--fill` does.
    pub fn filled(mut self) -> Self {
        self.fill(u64::MAX);
        assert!(self.expected.iter().all(Option::is_some), "the fill leaves pages out");
        if let Some(deferring) = self.scheme.deferring_mut() {
            deferring.prepared();
        }
        self.flash.log.clear();
        self
    }

    pub fn write(&mut self, first: u64, pages: u64) -> Vec<Course> {
        self.submit(HostOp::Write, first, pages, PAGE, PAGE)
    }

    /// A write of `bytes` bytes inside one page.
    pub fn write_part(&mut self, lpn: u64, bytes: u32) -> Vec<Course> {
        self.submit(HostOp::Write, lpn, 1, bytes, bytes)
    }

    pub fn trim(&mut self, first: u64, pages: u64) -> Vec<Course> {
        self.submit(HostOp::Trim, first, pages, PAGE, PAGE)
    }

    pub fn read(&mut self, first: u64, pages: u64) -> Vec<Course> {
        self.submit(HostOp::Read, first, pages, PAGE, PAGE)
    }

    /// Cuts a request and executes its operations in order.
    pub fn submit(&mut self, op: HostOp, first: u64, pages: u64, first_bytes: u32, last_bytes: u32) -> Vec<Course> {
        let mut courses = Vec::new();
        let mut left = Some(Extent { op, first: Lpn(first), pages, first_bytes, last_bytes, covered: false });
        while let Some(extent) = left {
            let mut decisions = Decisions::default();
            let pages = self.scheme.decide(&extent, &self.flash, &mut decisions);
            let cut: u32 = decisions.operations.iter().map(|operation| operation.strips.count_ones()).sum();
            assert_eq!((u64::from(cut), decisions.operations.last().unwrap().first), (pages, extent.first));
            for (index, operation) in decisions.operations.into_iter().enumerate() {
                assert!(operation.requires.is_none_or(|required| usize::from(required) < index));
                courses.extend(self.run_claiming(operation));
            }
            left = rest(&extent, pages);
        }
        courses
    }

    /// Pages of one stripe leave a write buffer together: bit k of `pages` is page `first` + k; of `beneath` the buffer has a part.
    pub fn flush(&mut self, first: u64, pages: u64, merge_pages: u64) -> Vec<Course> {
        let mut decisions = Decisions::default();
        self.scheme.decide_group(&Group { first: Lpn(first), pages, merge_pages }, PAGE, &self.flash, &mut decisions);
        decisions.operations.into_iter().flat_map(|operation| self.run_claiming(operation)).collect()
    }

    /// GC has a commit of the stripe of a page made, with room for the parity or without.
    pub fn collect(&mut self, page: MemberPage, can_allocate: bool) -> Option<Course> {
        let commit = self.deferring_mut().commit_for_gc(page, can_allocate)?;
        Some(self.run(Operation { lock: Lock::None, ..commit }))
    }

    /// Brings all parities to flash.
    pub fn drain(&mut self) -> Vec<Course> {
        std::iter::from_fn(|| self.scheme.deferring_mut()?.drain().map(|commit| self.run(commit))).collect()
    }

    /// NVRAM loses all parities.
    pub fn lose_parity_cache(&mut self) {
        let mut changes = Vec::new();
        self.scheme.deferring_mut().expect("it defers parities").parity_cache_lost(&self.flash, &mut changes);
        self.flash.lose_parity_cache(&changes);
    }

    /// An unwritten page and its parity appear, as pages of zeroes.
    pub fn appear(&mut self, lpn: u64) {
        self.scheme.create(Lpn(lpn));
        let mut pages = vec![self.scheme.locate(Lpn(lpn))];
        self.scheme.redundancy_of(Lpn(lpn), &mut pages);
        pages.into_iter().for_each(|page| self.flash.appear(page));
        self.expected[lpn as usize].get_or_insert(0);
    }

    /// A copy of everything.
    pub fn fork(&self) -> Host {
        let Self { flash, background, orders, expected, tags, .. } = self;
        let (flash, background, orders, expected) = (flash.clone(), background.clone(), orders.clone(), expected.clone());
        Host { scheme: self.scheme.boxed_clone(), flash, background, orders, expected, tags: *tags }
    }

    /// What the host expects of a page.
    pub fn expected(&self, lpn: u64) -> Option<u64> {
        self.expected[lpn as usize]
    }

    /// The operation holds its stripe.
    pub fn place(&mut self, operation: &mut Operation) {
        if self.scheme.replacing().is_some() && operation.lock == Lock::Exclusive && !operation.is_placed {
            self.scheme.place(operation, &self.flash);
        }
    }

    /// Does what the scheme wants done with SSDs.
    pub fn carry_out_orders(&mut self) {
        while let Some(order) = self.scheme.replacing_mut().and_then(|replacing| replacing.order(&self.flash)) {
            self.orders.push(order);
            let mut disable = |member| {
                self.flash.health.insert(member, Health::Disabled);
                self.flash.dead.remove(&member);
                self.flash.forget(member);
            };
            match order {
                Order::Begin { new, .. } => {
                    assert_eq!(self.flash.next_spare(), Some(new), "it is no spare SSD");
                    self.flash.spares.retain(|spare| *spare != new);
                }
                Order::ReadOnly(member) => drop(self.flash.health.insert(member, Health::ReadOnly)),
                Order::TakeOut(member) => self.flash.kill(member),
                Order::GiveUp { old, .. } => drop(self.flash.health.remove(&old)),
                Order::Abandon { .. } | Order::ServeHost => {}
                Order::End { old, stays: false, .. } | Order::Drop(old) => disable(old),
                Order::End { .. } => {}
            }
        }
    }

    /// Offers the scheme idle time. Returns how what it does went, or what it answers.
    pub fn idle(&mut self) -> Result<Course, IdleWork> {
        self.carry_out_orders();
        match self.scheme.when_idle().map_or(IdleWork::None, |worker| worker.idle(&self.flash)) {
            IdleWork::Start(operation) => Ok(self.run(operation)),
            answer => {
                self.carry_out_orders();
                Err(answer)
            }
        }
    }

    /// Executes one operation that was decided, after the commit of the stripe whose place it gets, if it gets one; it fails if the commit does.
    fn run_claiming(&mut self, mut operation: Operation) -> Vec<Course> {
        let mut courses = Vec::new();
        if self.scheme.deferring().is_some_and(|deferring| deferring.claims()) {
            match self.scheme.claim(&mut operation, true, &self.flash) {
                Claim::Granted => {}
                Claim::After(commit) | Claim::Behind(commit) => courses.push(self.run(commit)),
                Claim::Wait => panic!("nothing is in flight"),
            }
        }
        if matches!(courses.last(), Some(Course { end: Step::Failed(_), .. })) {
            self.scheme.failed(&operation);
            courses.push(Course::failed(operation, Failure::NoSpace));
        } else {
            courses.push(self.run(operation));
        }
        courses
    }

    /// Executes one operation of the scheme, whatever it is for.
    pub fn run(&mut self, mut operation: Operation) -> Course {
        self.place(&mut operation);
        let course = self.execute(operation);
        if self.scheme.replacing().is_some() {
            self.carry_out_orders();
        }
        course
    }

    fn execute(&mut self, operation: Operation) -> Course {
        let strips: Vec<u32> = (0..64).filter(|strip| operation.strips >> strip & 1 == 1).collect();
        let mut tags = BTreeMap::new();
        let before = self.expected.clone();
        for &strip in &strips {
            let page = &mut self.expected[operation.host_page(strip).0 as usize];
            match operation.kind {
                OperationKind::Write => {
                    self.tags += 1;
                    let tag = self.tags.wrapping_mul(0xD134_2543_DE82_EF95);
                    tags.insert(strip, tag);
                    let partial = operation.merge_strips >> strip & 1 == 1;
                    *page = Some(if partial { overlay(page.unwrap_or(0), tag) } else { tag });
                }
                OperationKind::Trim => *page = None,
                _ => {}
            }
        }
        let (scheme, background) = (&mut self.scheme, &mut self.background);
        let course = self.flash.execute(operation, &tags, |operation, outcomes, view, wave| {
            let step = scheme.step(operation, outcomes, view, wave);
            if wave.background {
                background.extend(std::iter::from_fn(|| scheme.deferring_mut()?.background(view)));
            }
            step
        });
        if let Step::Failed(_) = course.end {
            self.expected = before;
            self.scheme.failed(&course.operation);
            return course;
        }
        self.scheme.ended(&course.operation);
        if operation.kind == OperationKind::Read {
            for &strip in &strips {
                let lpn = operation.host_page(strip).0;
                assert_eq!(course.delivered.get(&(strip as u8)).copied(), self.expected[lpn as usize], "page {lpn} reads wrong");
            }
        }
        course
    }

    /// Every page reads as the host wrote it, and survives each loss that the scheme declares to survive.
    pub fn check(&mut self) {
        self.check_reads();
        match self.scheme.protects() {
            Protects::None => return,
            Protects::Chip => self.check_each_chip(),
            Protects::Channel | Protects::Member | Protects::Device => {
                // Alone, and with each other member if the scheme survives two failures.
                let others = if self.scheme.survives_failures() > 1 { 0..64 } else { 0..1 };
                for (lpn, other) in (0..self.expected.len() as u64).flat_map(|lpn| others.clone().map(move |other| (Lpn(lpn), other))) {
                    let own = self.scheme.locate(lpn).member;
                    let other = if self.scheme.survives_failures() > 1 { MemberId(other) } else { own };
                    self.check_loss(lpn, &|page, _| [own, other].contains(&page.member));
                }
            }
        }
        self.check_redundancy();
    }

    /// Every page reads as the host wrote it.
    pub fn check_reads(&mut self) {
        let done = self.flash.log.len();
        self.read(0, self.expected.len() as u64);
        self.flash.log.truncate(done);
    }

    /// After failures: every page that the surviving pages determine reads as the host wrote it, and the scheme's recovery rule finds it; all
    /// others are reported as lost, by both. What the pages determine is found by elimination, without knowing the scheme's rules. Returns how
    /// many are lost.
    pub fn check_degraded(&mut self) -> usize {
        let done = self.flash.log.len();
        let mut lost = 0;
        for lpn in (0..self.expected.len() as u64).map(Lpn) {
            let is_determined = self.is_determined(lpn);
            let course = self.read(lpn.0, 1).remove(0);
            match course.end {
                Step::Failed(failure) => assert_eq!((failure, is_determined), (Failure::Lost, false), "page {lpn:?} can be read"),
                _ => assert!(is_determined, "page {lpn:?} is read from nowhere"),
            }
            let page = self.scheme.locate(lpn);
            if self.flash.is_lost(page, Version::Current) {
                let lost = |page, version| self.flash.is_lost(page, version);
                assert_eq!(self.recover(lpn, &lost), self.expected[lpn.0 as usize].filter(|_| is_determined), "page {lpn:?}");
            }
            lost += usize::from(!is_determined);
        }
        self.flash.log.truncate(done);
        lost
    }

    /// Whether what the host page holds is a sum of versions of its stripe that are not lost.
    fn is_determined(&self, lpn: Lpn) -> bool {
        let Some(mut wanted) = self.expected[lpn.0 as usize] else { return true };
        if self.scheme.survives_failures() > 1 {
            // Of two equations any two pages are determined, and no third one.
            return !self.flash.is_lost(self.scheme.locate(lpn), Version::Current) || self.lost_of_stripe(lpn) <= 2;
        }
        let stripe = self.scheme.stripe_of(lpn);
        let mut pages = Vec::new();
        for other in (0..self.expected.len() as u64).map(Lpn).filter(|other| self.scheme.stripe_of(*other) == stripe) {
            pages.push(self.scheme.locate(other));
            self.scheme.redundancy_of(other, &mut pages);
        }
        // Vectors with one highest bit each, none of which another one has.
        let mut basis: Vec<u64> = Vec::new();
        let reduced = |mut content: u64, basis: &[u64]| {
            for vector in basis {
                content = content.min(content ^ vector);
            }
            content
        };
        for page in pages {
            for version in [Version::Current, Version::Base, Version::Copy, Version::DeferredParity] {
                if let Some(content) = self.flash.version(page, version).filter(|_| !self.flash.is_lost(page, version)) {
                    let rest = reduced(content, &basis);
                    if rest != 0 {
                        basis.push(rest);
                        basis.sort_unstable_by(|one, other| other.cmp(one));
                    }
                }
            }
        }
        wanted = reduced(wanted, &basis);
        wanted == 0
    }

    /// How many pages of the stripe of a host page are lost.
    fn lost_of_stripe(&self, lpn: Lpn) -> usize {
        let stripe = self.scheme.stripe_of(lpn);
        let mut pages = Vec::new();
        self.scheme.redundancy_of(lpn, &mut pages);
        pages.extend(
            (0..self.expected.len() as u64)
                .map(Lpn)
                .filter(|other| self.scheme.stripe_of(*other) == stripe)
                .map(|other| self.scheme.locate(other)),
        );
        pages.into_iter().filter(|page| self.flash.is_lost(*page, Version::Current)).count()
    }

    /// Repairs every stripe that can be repaired, and returns how the repairs went.
    pub fn repair_all(&mut self) -> Vec<Course> {
        let mut courses = Vec::new();
        for stripe in (0..self.scheme.stripes()).map(StripeId) {
            while matches!(self.scheme.damage(stripe, &self.flash), Damage::Copy | Damage::Compute) {
                let repair = self.scheme.repair(stripe, &self.flash);
                let course = self.run(repair);
                assert_eq!(course.end, Step::Last, "the repair of {stripe:?} does nothing");
                courses.push(course);
            }
        }
        courses
    }

    /// Every page survives the loss of each chip. Copies lie on a chip of their own, other versions on any of three by their contents.
    fn check_each_chip(&self) {
        for lpn in (0..self.expected.len() as u64).map(Lpn) {
            let own = self.scheme.locate(lpn).member;
            for chip in 0..=DATA_CHIPS {
                self.check_loss(lpn, &|page, version| page.member == own && self.flash.chip_of(page, version) == chip);
            }
        }
    }

    /// Every page survives the loss of each single member.
    pub fn check_each_member(&self) {
        for lpn in (0..self.expected.len() as u64).map(Lpn) {
            (0..64).for_each(|member| self.check_loss(lpn, &on(1 << member)));
        }
    }

    /// What a page has beside itself is there whenever the page is, and on another member, unless a copy stands in for it.
    fn check_redundancy(&self) {
        let mut pages = Vec::new();
        for lpn in (0..self.expected.len() as u64).map(Lpn).filter(|lpn| self.expected[lpn.0 as usize].is_some()) {
            pages.clear();
            self.scheme.redundancy_of(lpn, &mut pages);
            let own = self.scheme.locate(lpn).member;
            let has_copy = self.flash.version(self.scheme.locate(lpn), Version::Copy).is_some();
            let is_there = |page: &MemberPage| {
                let is_deferred = self.flash.version(*page, Version::DeferredParity).is_some();
                page.member != own && (has_copy || is_deferred || self.flash.current(*page).is_some())
            };
            assert!(!pages.is_empty() && pages.iter().all(is_there), "{lpn:?}");
        }
    }

    /// Whether the page can be recomputed without the versions that are `lost`, if its own is among them.
    pub fn check_loss(&self, lpn: Lpn, lost: &Lost) {
        let own = self.scheme.locate(lpn);
        let content = self.flash.current(own);
        assert_eq!(content, self.expected[lpn.0 as usize], "page {lpn:?} is not where the scheme says");
        let Some(content) = content.filter(|_| lost(own, Version::Current)) else { return };
        assert_eq!(self.recover(lpn, lost), Some(content), "page {lpn:?}");
    }

    /// The page by the scheme's recovery rule; `None` if the scheme calls it lost.
    pub fn recover(&self, lpn: Lpn, lost: &Lost) -> Option<u64> {
        let mut sources = Vec::new();
        let lost = |page, version| self.flash.version(page, version).is_some() && lost(page, version);
        if !self.scheme.recover(lpn, &lost, &mut sources) {
            return None;
        }
        assert!(sources.iter().all(|source| !lost(source.page, source.version)), "a lost page is a source");
        Some(sources.iter().fold(0, |sum, source| sum ^ scale(self.flash.version(source.page, source.version).unwrap_or(0), source.factor)))
    }
}
