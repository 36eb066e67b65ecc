//! Channel-level RAID-5 with mirroring (CR5M).
//!
//! Idea: RAID-5 across the channels of one SSD, and on each channel a mirror chip that no user sees. A small write puts the new version
//! of a strip on a data chip and on its channel's mirror chip at once, and leaves the parity alone: the copy guards the new version,
//! while the superseded version stays on flash as the *base*, which the parity goes on covering for the sake of the other strips. That
//! saves the pre-reads and the parity program, until the last unmirrored strip of the stripe changes and the parity is made anew. A
//! write falls back on RAID-5 if a mirror chip that it needs is busy or has had more than its share of writes. The price is a chip a
//! channel, and flash for the bases.
//! Paper: W. Pan, T. Xie, "A Mirroring-Assisted Channel-RAID5 SSD for Mobile Applications", ACM Transactions on Embedded Computing
//! Systems 17(4), article 75, 2018: section 3.1, Algorithm 1. Rules: SPEC 1.4 (writes), 1.5 (reads), 1.6 (pin credit, pressure), 1.10.
//! The paper's tables: PPN is the current version, EPPN the base, MPPN the copy, and "MA is set" a bit of `mirrored`.
//!
//! Departures, all from what the paper leaves open (SPEC 1.10): the last unmirrored strip consolidates (`consolidate`); a refused write
//! of a mirrored stripe reads bases in RMW and current versions in RCW; TRIM. Beyond SPEC:
//! - A write of part of a page reads the old content before its mirrored programs (0.3 step 4), so the mirror chips are looked at twice:
//!   before that read, and again when the programs are to start. If the second look refuses, RAID-5's reads follow, even if one of
//!   them repeats an update read.
//! - The slack of 1.6 is contained in `Build::pages_held`, which leaves two blocks out.
//! - Pressure means that credit alone stood in the way: an MW refused by its limit or by a busy mirror chip consolidates nothing.
//! - The fill leaves every stripe plain, one that is cut off by the end of the space too.
//! - After the death of a data chip without a spare SPEC 1.7 repairs nothing; here its strips go to the other data chips of the channel as far
//!   as these have room, as 0.6 has it for writes.
//! - A stripe with a lost page that would be the next to be consolidated is not passed over for another one (1.6): its channel waits for the repair.

use crate::parts::bits::{self, Bits};
use crate::parts::cut;
use crate::parts::layout::{Layout, LeftAsymmetric, Role, Row};
use crate::parts::parity::{Losses, ParityScheme, Stripe, waits_for_reads};
use crate::parts::update::UpdateRule;
use crate::{
    Build, Damage, Decisions, Entry, Extent, Failure, Lost, Method, Operation, OperationKind, Outcomes, Parameter, ParameterError,
    ParityUpdates, Protects, Redundancy, Scheme, Step, Values,
};
use flashraid_vocabulary::{
    Cause, Change, Guardian, Lpn, MemberId, MemberPage, PageOperation, Ruling, Sources, StripeId, Version, View, Wave, prefetch,
};

/// CR5M.
pub const ENTRY: Entry = Entry {
    name: "cr5m",
    title: "CR5M (channel RAID-5 with mirroring)",
    about: "RAID-5 across channels whose small writes go twice to flash, once to a mirror chip, and put the parity off. Costs one \
            member's capacity, one chip a channel, and flash for the versions that the parity still covers.",
    protects: Protects::Chip,
    has_window: false,
    redundancy: Redundancy::Parity,
    members: "from 3 to 32",
    mirror_chips: 1,
    parameters: &[MW_LIMIT, CONSOLIDATE, UpdateRule::PARAMETER],
    build,
};

const MW_LIMIT: Parameter = Parameter {
    name: "mw_limit",
    unit: "",
    values: Values::Decimal { least: 0, most: 1_000_000, default: 1_100 },
    needs: None,
    only_in_gc: false,
    about: "Mirrored writes of a channel are allowed while they are at most this many times the mean number of host-caused programs \
            of its data chips; 0 is CR5.",
};

const CONSOLIDATE: Parameter = Parameter {
    name: "consolidate",
    unit: "",
    values: Values::Words(&["last_strip", "never"]),
    needs: Some(("mw_limit above 0", |build| build.thousandths(&MW_LIMIT) != Ok(0))),
    only_in_gc: false,
    about: "When a write recomputes the parity of a mirrored stripe on its own account: if it changes the last strips that are not \
            mirrored, or never.",
};

/// Members beyond which the programs of a mirrored write, two a strip, would not fit one wave.
const MOST_MEMBERS: u16 = 32;

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    cut::at_least(ENTRY.name, build, 3)?;
    if build.members > MOST_MEMBERS {
        return Err(ParameterError(format!("cr5m works on at most {MOST_MEMBERS} members; the device has {}", build.members)));
    }
    if build.copies_held == 0 {
        return Err(ParameterError("cr5m needs mirror chips with room for a copy; the device has none".to_string()));
    }
    let layout = LeftAsymmetric { members: build.members, stripes: build.pages_per_member };
    let update = UpdateRule::from_build(build)?;
    Ok(Box::new(Cr5m {
        inner: ParityScheme::new(layout, build.page_bytes, update),
        rule: Rule { update, width: layout.width(), consolidates_last_strip: build.choice(&CONSOLIDATE)? == "last_strip" },
        limit_thousandths: u64::from(build.thousandths(&MW_LIMIT)?),
        data_chips: u64::from(build.data_chips),
        mirror_chips: u64::from(build.mirror_chips),
        pages_per_chip: u64::from(build.pages_per_chip),
        // Members that do not even hold their own pages are refused for that.
        most_bases: build.pages_held.saturating_sub(build.pages_per_member),
        most_copies: build.copies_held,
        channels: vec![Channel::default(); usize::from(build.members)],
        wanting: 0,
        stripes: MirroredStripes::new(build.pages_per_member, build.members),
        committed: 0,
    }))
}

/// How the parity of a stripe is brought up to date.
#[derive(Clone, Copy, Debug)]
struct Rule {
    update: UpdateRule,
    width: u32,
    consolidates_last_strip: bool,
}

impl Rule {
    /// Whether a change of `changed` leaves no strip unmirrored, and so makes the parity anew (SPEC 1.10 ruling 2).
    fn consolidates(&self, changed: u64, mirrored: u64) -> bool {
        self.consolidates_last_strip && changed & !mirrored != 0 && changed | mirrored == bits::lowest(self.width)
    }

    /// Whether a write of `changed` may put the parity off.
    fn may_put_off(&self, changed: u64, mirrored: u64) -> bool {
        changed != bits::lowest(self.width) && !self.consolidates(changed, mirrored)
    }

    /// The method for a change of `changed` that does not put the parity off. If a base is lost the parity is of no use to the other
    /// strips, and is made anew (SPEC 1.7).
    fn method(&self, changed: u64, stripe: &Stripe) -> Method {
        match self.update.method(changed.count_ones(), self.width) {
            Method::Rmw if stripe.lost.base != 0 || self.consolidates(changed, stripe.mirrored) => Method::Rcw,
            method => method,
        }
    }
}

/// What is counted for each channel (SPEC 1.2).
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    /// MWNo: mirrored writes that have ended.
    mirrored_writes: u64,
    /// Mirrored writes under way. Each counts for MWNo, and as a base and a copy, until the flash counts these.
    booked: u32,
    /// Host-caused programs on data chips, parity included.
    programs: u64,
    /// The stripe that is being consolidated to relieve this channel.
    consolidating: Option<StripeId>,
}

/// Channel-level RAID-5 with mirroring.
#[derive(Clone, Debug)]
struct Cr5m {
    /// Everything that a channel-level RAID-5 does.
    inner: ParityScheme<LeftAsymmetric>,
    rule: Rule,
    /// `mw_limit` in thousandths; 0 is CR5.
    limit_thousandths: u64,
    /// Of each channel.
    data_chips: u64,
    /// Of each channel.
    mirror_chips: u64,
    pages_per_chip: u64,
    /// Bases that a channel can hold beside a current version of each of its strips, parity included (pin credit, SPEC 1.6).
    most_bases: u32,
    /// Copies that a channel can hold.
    most_copies: u32,
    channels: Vec<Channel>,
    /// Channels (bits) to be relieved by a consolidation that is not under way yet.
    wanting: u64,
    /// Durable.
    stripes: MirroredStripes,
    /// Consolidations under pressure.
    committed: u64,
}

/// `Operation::step` of a write whose mirroring was refused after its update reads, and which has made RAID-5's pre-reads since.
const REFUSED: u8 = 2;
/// `Operation::step` of a mirrored write for whose copies there was no place in the end, and which has made RAID-5's pre-reads since.
const UNMIRRORED: u8 = 4;

impl Cr5m {
    fn write(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unplaced | outcomes.unplaced_copies != 0 {
            return match operation.method {
                Method::Mirrored => self.unmirror(operation, outcomes, stripe, view, wave),
                // Its data are programmed, and lost again, before there is a parity that could hold them.
                _ if operation.step == UNMIRRORED => Step::Failed(Failure::NoSpace),
                _ => ParityScheme::<LeftAsymmetric>::end_without(operation, outcomes.unplaced, stripe),
            };
        }
        let puts_off = match operation.method {
            Method::None => operation.step == 0 && self.rule.may_put_off(operation.strips, stripe.mirrored),
            method => method == Method::Mirrored,
        };
        if puts_off && leaves_all_protected(operation.strips, stripe) && self.may_mirror(operation, stripe, view) {
            return self.mirror(operation, stripe, view, wave);
        }
        let step = if operation.method == Method::Mirrored {
            self.refuse(operation, stripe, view, wave)
        } else if operation.step == REFUSED {
            self.program_refused(operation, stripe, view, wave)
        } else if operation.step == UNMIRRORED {
            return self.program_unmirrored(operation, stripe, view, wave);
        } else {
            self.update(operation, stripe, view, wave)
        };
        if step == Step::Last {
            // The update reads of a refused write came first.
            let first = if operation.step > REFUSED { operation.update_reads } else { 0 };
            self.inner.push_restored(operation, first, Cause::Reconstruct, &stripe.row, wave);
            let released = if keeps_others(operation.method) { operation.strips } else { !0 };
            release(released, stripe, view, wave);
        }
        step
    }

    fn trim(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unplaced != 0 {
            return ParityScheme::<LeftAsymmetric>::end_without(operation, outcomes.unplaced, stripe);
        }
        let step = self.update(operation, stripe, view, wave);
        if matches!(step, Step::Last | Step::Done) {
            self.inner.push_restored(operation, 0, Cause::Reconstruct, &stripe.row, wave);
            let released = if keeps_others(operation.method) { operation.strips } else { !0 };
            release(released, stripe, view, wave);
        }
        step
    }

    /// RAID-5's update of the parity.
    fn update(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let is_first = operation.step == 0;
        let (rule, planned) = (self.rule, operation.method);
        let choose = |changed| if planned == Method::None { rule.method(changed, stripe) } else { planned };
        let step = self.inner.plan(operation, Outcomes::default(), stripe, choose, view, wave);
        if is_first {
            operation.restored = restored(operation, stripe);
        }
        step
    }

    // ---- mirrored writes ----

    /// Whether every channel of the write takes a mirrored write now (SPEC 1.4, `mw_allowed`). Notes the channels to relieve, if
    /// nothing but credit is wanting.
    fn may_mirror(&mut self, operation: &Operation, stripe: &Stripe, view: &dyn View) -> bool {
        let (mut without_credit, mut wanting) = (0, 0);
        for member in Bits(operation.strips).map(|strip| stripe.row.data(strip).member) {
            let number = member.0;
            let channel = &self.channels[usize::from(number)];
            if !self.is_within_limit(channel) || !view.takes_copy(member) {
                return false;
            }
            let has_base = view.bases(member) + channel.booked < self.most_bases.saturating_sub(view.pages_gone(member));
            if !has_base || view.copies(member) + channel.booked >= self.most_copies {
                without_credit |= 1 << number;
                wanting |= u64::from(channel.consolidating.is_none()) << number;
            }
        }
        self.wanting |= wanting;
        without_credit == 0
    }

    /// MWNo <= mw_limit x programs / data chips, exactly (SPEC 1.10 ruling 4).
    fn is_within_limit(&self, channel: &Channel) -> bool {
        let mirrored_writes = channel.mirrored_writes + u64::from(channel.booked);
        self.limit_thousandths > 0 && mirrored_writes * self.data_chips * 1000 <= self.limit_thousandths * channel.programs
    }

    /// MW: books and programs, unless a part of a page needs its old content first.
    fn mirror(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let merged = self.inner.merged(operation, &stripe.row, view);
        operation.method = Method::Mirrored;
        if operation.step == 0 && merged != 0 {
            self.inner.push_update_reads(merged, stripe, view, wave);
            operation.update_reads = wave.operations.len() as u8;
            return waits_for_reads(operation, wave);
        }
        self.inner.count(Method::Mirrored);
        self.book(operation, &stripe.row, 1);
        self.inner.push_data_programs(operation, merged, &stripe.row, wave);
        for (index, strip) in Bits(operation.strips).enumerate() {
            let program = &mut wave.operations[index];
            let copy = PageOperation { version: Version::Copy, cause: Cause::Mirror, ..*program };
            // The version that the parity covers stays; later ones are nobody's base.
            program.keep_base = stripe.mirrored >> strip & 1 == 0;
            wave.operations.push(copy);
        }
        operation.step += 1;
        Step::Last
    }

    /// Notes that mirrored writes of the operation's channels are under way, or that they are not any more.
    fn book(&mut self, operation: &Operation, row: &Row, writes: i32) {
        for strip in Bits(operation.strips) {
            let booked = &mut self.channels[usize::from(row.data(strip).member.0)].booked;
            *booked = booked.checked_add_signed(writes).expect("booked before");
        }
    }

    /// MW is refused after its update reads: the pre-reads of RAID-5 follow.
    fn refuse(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        operation.step = REFUSED;
        self.push_late_pre_reads(operation, stripe, view, wave);
        if wave.operations.is_empty() { self.program_refused(operation, stripe, view, wave) } else { Step::Wave }
    }

    /// The pre-reads of RAID-5 after waves that were to do without.
    fn push_late_pre_reads(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        operation.method = stripe.possible(self.rule.method(operation.strips, stripe), operation.strips);
        operation.restored = restored(operation, stripe);
        self.inner.count(operation.method);
        self.inner.push_pre_reads(operation.method, operation.strips, 0, stripe, view, wave);
        operation.reads += wave.operations.len() as u8;
    }

    /// A mirrored write whose programs did not all find a place. With all copies made it ends: they hold what is missing. Else it is
    /// finished as RMW or RCW (SPEC 1.7, no spare left; 1.10 ruling 22), for which nothing may be missing.
    fn unmirror(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unplaced_copies == 0 {
            return Step::Done;
        }
        self.book(operation, &stripe.row, -1);
        self.inner.retract_mirrored();
        if outcomes.unplaced != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        for page in Bits(operation.strips).map(|strip| (strip, stripe.row.data(strip))) {
            let (strip, page) = page;
            let is_mirrored = stripe.mirrored >> strip & 1 == 1;
            // The programs come before the changes: a strip that was written has a base then, and one that found a place a copy.
            let has_base = view.is_written(page, if is_mirrored { Version::Base } else { Version::Current });
            wave.changes.extend(has_base.then_some(Change::ReleaseBase(page)));
            let has_copy = is_mirrored || outcomes.unplaced_copies >> page.member.0 & 1 == 0;
            wave.changes.extend(has_copy.then_some(Change::ReleaseCopy(page)));
        }
        operation.step = UNMIRRORED;
        self.push_late_pre_reads(operation, stripe, view, wave);
        if wave.operations.is_empty() { self.program_unmirrored(operation, stripe, view, wave) } else { Step::Wave }
    }

    /// The parity of a write whose data are programmed already.
    fn program_unmirrored(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        operation.step += 1;
        if !keeps_others(operation.method) {
            release(!operation.strips, stripe, view, wave);
        }
        if operation.method == Method::None {
            wave.changes.push(Change::Lose(stripe.row.parity()));
            return Step::Done;
        }
        let reads = bits::lowest(u32::from(operation.reads)) & !bits::lowest(u32::from(operation.update_reads));
        self.inner.push_parity_program(&stripe.row, Sources { host: operation.strips, reads, ..Sources::default() }, wave);
        self.inner.push_restored(operation, operation.update_reads, Cause::Reconstruct, &stripe.row, wave);
        Step::Last
    }

    fn program_refused(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let merged = self.inner.merged(operation, &stripe.row, view);
        // The update reads came first, and are no source of the parity.
        let sources = bits::lowest(u32::from(operation.reads)) & !bits::lowest(u32::from(operation.update_reads));
        self.inner.push_programs(operation, merged, sources, &stripe.row, wave)
    }

    /// Counts the host's programs of data `strips`, and of the parity if there is a `method`.
    fn count_programs(&mut self, strips: u64, method: Method, row: &Row) {
        let parity = (method != Method::None).then_some(row.parity());
        for page in Bits(strips).map(|strip| row.data(strip)).chain(parity) {
            self.channels[usize::from(page.member.0)].programs += 1;
        }
    }

    // ---- consolidation under pressure (SPEC 1.6) ----

    /// The stripe relieves no channel any more.
    fn stop_consolidating(&mut self, stripe: StripeId) {
        let relieved = self.channels.iter_mut().filter(|channel| channel.consolidating == Some(stripe));
        relieved.for_each(|channel| channel.consolidating = None);
    }

    fn consolidate(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unplaced != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        // A write has done it meanwhile, or a failure leaves it to a repair.
        if operation.step == 0 && (stripe.mirrored == 0 || stripe.lost != Losses::default()) {
            return Step::Nothing;
        }
        let step = self.inner.plan_commit(operation, stripe, view, wave);
        if step == Step::Last {
            release(!0, stripe, view, wave);
            self.committed += 1;
        }
        step
    }

    // ---- repair (SPEC 1.7, the table of MCR) ----

    /// What to do first for a stripe after failures; other things that are lost of it are left to further repairs. `has_place` tells on which
    /// members pages can be programmed.
    fn first_aid(stripe: &Stripe, has_place: impl Fn(MemberPage) -> bool, view: &dyn View) -> Aid {
        let Stripe { row, lost, .. } = stripe;
        let (backed, unreadable) = (stripe.backed(), stripe.unreadable());
        let without_mirror = Bits(lost.copy).any(|strip| !view.has_mirror(row.data(strip).member));
        let mut is_short = false;
        let mut place = |strips: u64, parity: bool| {
            let mut pages = Bits(strips).map(|strip| row.data(strip)).chain(parity.then(|| row.parity()));
            let has_all = pages.all(&has_place);
            is_short |= !has_all;
            has_all
        };
        if unreadable == 0 && (lost.parity || lost.base != 0 || without_mirror) && place(backed, true) {
            return Aid::Parity;
        }
        if unreadable != 0 && stripe.can_compute(unreadable) && place(unreadable, false) {
            return Aid::Compute(unreadable.trailing_zeros());
        }
        if let Some(strip) = Bits(backed).find(|strip| place(1 << strip, false)) {
            return Aid::FromCopy(strip);
        }
        let to_copy = lost.copy & !unreadable;
        if let Some(strip) = Bits(to_copy).find(|strip| view.has_mirror(row.data(*strip).member)) {
            return Aid::ToCopy(strip);
        }
        if is_short { Aid::NoRoom } else { Aid::None }
    }

    fn aid(&self, stripe: StripeId, view: &dyn View) -> (Stripe, Aid) {
        let stripe = self.inner.whole_stripe(stripe, self.stripes.mirrored(stripe), view);
        (stripe, Self::first_aid(&stripe, |page| view.has_room(page), view))
    }

    fn step_repair(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unplaced != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        if operation.step == 0 {
            let space = operation.space;
            match Self::first_aid(stripe, |page| space >> page.member.0 & 1 == 1, view) {
                Aid::None | Aid::NoRoom => return Step::Nothing,
                Aid::Parity => self.make_parity(operation, stripe, view, wave),
                Aid::Compute(strip) => {
                    operation.restored = 1 << strip;
                    self.inner.push_computation(strip, Cause::Rebuild, stripe, view, wave);
                }
                Aid::FromCopy(strip) | Aid::ToCopy(strip) => {
                    let is_backed = stripe.backed() >> strip & 1 == 1;
                    (operation.restored, operation.copied) = (1 << strip, 1);
                    operation.method = if is_backed { Method::None } else { Method::Mirrored };
                    let version = if is_backed { Version::Copy } else { Version::Current };
                    wave.operations.push(self.inner.whole_read(stripe.row.data(strip), version, Cause::Rebuild));
                }
            }
        } else if outcomes.unplaced_copies != 0 {
            // The mirror chip died under the repair, or is full: the parity takes its place.
            let has_place = operation.space >> stripe.row.parity().member.0 & 1 == 1;
            if !has_place || stripe.lost.current != 0 {
                return Step::Failed(Failure::NoSpace);
            }
            operation.update_reads = operation.reads;
            self.make_parity(operation, stripe, view, wave);
        }
        operation.step += 1;
        if !wave.operations.is_empty() {
            operation.reads += wave.operations.len() as u8;
            wave.operations.iter_mut().for_each(|read| read.host_waits = false);
            return Step::Wave;
        }
        let row = &stripe.row;
        let reads = bits::lowest(u32::from(operation.reads)) & !bits::lowest(u32::from(operation.update_reads));
        match operation.method {
            Method::Rcw => {
                wave.operations.push(self.inner.whole_program(row.parity(), Cause::Rebuild, reads));
                self.inner.push_restored(operation, operation.update_reads, Cause::Rebuild, row, wave);
                release(!0, stripe, view, wave);
            }
            method => {
                let page = row.data(operation.restored.trailing_zeros());
                let version = if method == Method::Mirrored { Version::Copy } else { Version::Current };
                wave.operations.push(PageOperation { version, ..self.inner.whole_program(page, Cause::Rebuild, reads) });
            }
        }
        wave.operations.iter_mut().for_each(|program| program.host_waits = false);
        Step::Last
    }

    /// The reads of a parity that covers all current versions, so that no base and no copy is needed any more.
    fn make_parity(&self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        operation.method = Method::Rcw;
        operation.restored = stripe.backed();
        operation.copied = operation.restored.count_ones() as u8;
        self.inner.push_newest_reads(self.inner.all_strips(), Cause::Rebuild, stripe, view, wave);
    }
}

/// What a repair does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aid {
    /// Nothing: there is nothing lost, or nothing that can be brought back.
    None,
    /// Nothing, for want of room.
    NoRoom,
    /// Makes the parity anew, and releases all strips: of a stripe that has lost its parity, a base (obsolete-lost), or a copy for which
    /// there is no mirror chip.
    Parity,
    /// Computes the strip from the parity and what it covers of the others (non-MW, sibling-MW).
    Compute(u32),
    /// Copies the strip from the mirror chip (MW).
    FromCopy(u32),
    /// Copies the strip to the mirror chip.
    ToCopy(u32),
}

/// Whether a mirrored write of `changed` leaves every strip of the stripe as safe as it was (SPEC 1.7, writes in degraded mode): the parity and all
/// bases are there, and the mirror chips hold what they have to.
fn leaves_all_protected(changed: u64, stripe: &Stripe) -> bool {
    !stripe.lost.parity && stripe.lost.base == 0 && (stripe.unreadable() | stripe.lost.copy) & changed == 0
}

/// Whether strips that an operation does not name stay mirrored: not if the parity is made of all current versions.
fn keeps_others(method: Method) -> bool {
    matches!(method, Method::Rmw | Method::None)
}

/// The strips that RCW has to program too: those whose copy it releases and whose current version is lost (SPEC 1.4, release). All of them or,
/// if one of them broke after space was asked for, none: then the parity holds them, until they are repaired.
fn restored(operation: &Operation, stripe: &Stripe) -> u64 {
    let strips = stripe.backed() & !operation.strips;
    let has_place = |strip| operation.space >> stripe.row.data(strip).member.0 & 1 == 1;
    if operation.method == Method::Rcw && Bits(strips).all(has_place) { strips } else { 0 }
}

/// Drops base and copy of those of `strips` that are mirrored; the parity covers their current versions from the operation's end on.
fn release(strips: u64, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
    for page in Bits(strips & stripe.mirrored).map(|strip| stripe.row.data(strip)) {
        // A strip that had never been written before its first MW has no base.
        if view.is_written(page, Version::Base) {
            wave.changes.push(Change::ReleaseBase(page));
        }
        wave.changes.push(Change::ReleaseCopy(page));
    }
}

impl Guardian for Cr5m {
    /// A base is moved, never lost (SPEC 1.6).
    fn rule(&self, _address: MemberPage) -> Ruling {
        Ruling::Move
    }
}

impl Scheme for Cr5m {
    fn user_pages(&self) -> u64 {
        self.inner.user_pages()
    }

    fn width(&self) -> u32 {
        self.inner.width()
    }

    fn stripes(&self) -> u32 {
        self.inner.stripes()
    }

    /// SPEC 1.2: two 32-bit addresses in each entry of both tables, one entry for each page of the data chips (PPN and MA) and of
    /// the mirror chips (EPPN and MPPN).
    fn tables(&self, _mapped_pages: u64) -> Vec<(&'static str, u64)> {
        let bytes = |chips| 8 * self.channels.len() as u64 * chips * self.pages_per_chip;
        vec![("extended_mapping_table", bytes(self.data_chips)), ("mirror_table", bytes(self.mirror_chips))]
    }

    fn decide(&mut self, extent: &Extent, view: &dyn View, decisions: &mut Decisions) -> u64 {
        let pages = self.inner.decide(extent, view, decisions);
        if view.has_failures() {
            let operation = decisions.operations.last_mut().expect("just decided");
            if operation.space != 0 && operation.strips != self.inner.all_strips() {
                let stripe = self.inner.whole_stripe(operation.stripe, self.stripes.mirrored(operation.stripe), view);
                let restored = Bits(stripe.backed() & !operation.strips);
                operation.space |= bits::of(restored.map(|strip| u32::from(stripe.row.data(strip).member.0)));
            }
        }
        pages
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let stripe = self.inner.stripe(operation, self.stripes.mirrored(operation.stripe), view);
        let step = match operation.kind {
            OperationKind::Write => self.write(operation, outcomes, &stripe, view, wave),
            OperationKind::Trim => self.trim(operation, outcomes, &stripe, view, wave),
            OperationKind::Commit => self.consolidate(operation, outcomes, &stripe, view, wave),
            OperationKind::Repair => self.step_repair(operation, outcomes, &stripe, view, wave),
            OperationKind::Read | OperationKind::Job => self.inner.plan(operation, outcomes, &stripe, |_| Method::None, view, wave),
        };
        wave.background = self.wanting != 0;
        step
    }

    fn ended(&mut self, operation: &Operation) {
        let Operation { stripe, method, strips, .. } = *operation;
        let row = self.inner.layout().row(stripe);
        let released = if keeps_others(method) { strips } else { !0 };
        match operation.kind {
            OperationKind::Read | OperationKind::Job => {}
            OperationKind::Write if method == Method::Mirrored => {
                for strip in Bits(strips) {
                    let channel = &mut self.channels[usize::from(row.data(strip).member.0)];
                    channel.booked -= 1;
                    channel.mirrored_writes += 1;
                    channel.programs += 1;
                }
                self.stripes.mirror(stripe, strips);
            }
            OperationKind::Write => {
                self.count_programs(strips | operation.restored, method, &row);
                self.stripes.release(stripe, released);
            }
            OperationKind::Trim => {
                self.count_programs(operation.restored, method, &row);
                self.stripes.release(stripe, released);
            }
            OperationKind::Commit => {
                if operation.step > 0 {
                    self.stripes.release(stripe, !0);
                }
                self.stop_consolidating(stripe);
            }
            OperationKind::Repair if method == Method::Rcw => self.stripes.release(stripe, !0),
            OperationKind::Repair => {}
        }
    }

    fn failed(&mut self, operation: &Operation) {
        if operation.kind == OperationKind::Commit {
            self.stop_consolidating(operation.stripe);
        }
    }

    /// Planned as a full stripe even where the space ends inside it, so that every stripe begins plain.
    fn fill(&self, index: u64) -> Option<Operation> {
        self.inner.fill(index).map(|operation| Operation { method: Method::FullStripe, ..operation })
    }

    fn locate(&self, lpn: Lpn) -> MemberPage {
        self.inner.locate(lpn)
    }

    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        self.inner.stripe_of(lpn)
    }

    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.stripes.stripes, self.stripe_of(lpn).0 as usize);
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        self.inner.redundancy_of(lpn, pages);
    }

    /// A mirrored strip is its copy; any other is the XOR of the parity and what it covers of the others (SPEC 1.2).
    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool {
        let (stripe, index) = self.inner.layout().position(lpn);
        let (row, mirrored) = (self.inner.layout().row(stripe), self.stripes.mirrored(stripe));
        if mirrored >> index & 1 == 0 {
            return self.inner.recover_covered(index, &row, mirrored, lost, sources);
        }
        sources.clear();
        sources.push((row.data(index), Version::Copy));
        !lost(row.data(index), Version::Copy)
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        if !view.has_failures() {
            return Damage::None;
        }
        match self.aid(stripe, view).1 {
            Aid::None => Damage::None,
            Aid::NoRoom => Damage::NoRoom,
            Aid::Parity | Aid::Compute(_) => Damage::Compute,
            Aid::FromCopy(_) | Aid::ToCopy(_) => Damage::Copy,
        }
    }

    /// A copy to the mirror chip has room for the parity too, if there is any, in case that the mirror chip has none. Where there is no
    /// room, what it would need.
    fn repair(&self, number: StripeId, view: &dyn View) -> Operation {
        let (stripe, aid) = self.aid(number, view);
        let aid = if matches!(aid, Aid::NoRoom) { Self::first_aid(&stripe, |_| true, view) } else { aid };
        let row = &stripe.row;
        let parity = 1 << row.parity().member.0;
        let space = match aid {
            Aid::Parity => parity | bits::of(Bits(stripe.backed()).map(|strip| u32::from(row.data(strip).member.0))),
            Aid::Compute(strip) | Aid::FromCopy(strip) => 1 << row.data(strip).member.0,
            Aid::ToCopy(_) if view.has_room(row.parity()) => parity,
            Aid::ToCopy(_) => 0,
            Aid::None | Aid::NoRoom => unreachable!("only damaged stripes are repaired"),
        };
        Operation::background(OperationKind::Repair, number, row.page(), self.inner.layout().first(number), space)
    }

    fn protects(&self) -> Protects {
        Protects::Chip
    }

    fn prepared(&mut self) {
        self.wanting = 0;
        for channel in &mut self.channels {
            (channel.mirrored_writes, channel.programs) = (0, 0);
        }
    }

    fn background(&mut self, view: &dyn View) -> Option<Operation> {
        while self.wanting != 0 {
            let member = MemberId(self.wanting.trailing_zeros() as u16);
            self.wanting &= self.wanting - 1;
            let Some(victim) = self.stripes.least_recent_on(member, self.inner.layout()) else { continue };
            // It is left to its repair; until then the channel does without.
            if view.has_failures() && self.inner.whole_stripe(victim, self.stripes.mirrored(victim), view).lost != Losses::default() {
                continue;
            }
            let is_under_way = self.channels.iter().any(|channel| channel.consolidating == Some(victim));
            self.channels[usize::from(member.0)].consolidating = Some(victim);
            if !is_under_way {
                return Some(self.inner.commit(victim));
            }
        }
        None
    }

    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates { committed: self.committed, ..self.inner.parity_updates() }
    }

    fn boxed_clone(&self) -> Box<dyn Scheme> {
        Box::new(self.clone())
    }
}

/// Which strips of each stripe are mirrored, and the mirrored stripes in a list by their latest mirrored write.
///
/// One list serves all channels: each remembers a stripe before which none has a mirrored strip on the channel. A stripe comes to have
/// one only by a mirrored write, which puts it at the end of the list; so what a channel has passed stays passed, and a search costs
/// no more than the mirrored writes since the last one.
#[derive(Clone, Debug)]
struct MirroredStripes {
    /// For each stripe its mirrored data strips, and the next less and next more recent stripe, plus 1; 0 for none. (Of integers, as
    /// such an array is not touched before it is used.)
    stripes: Vec<(u64, u32, u32)>,
    /// The least and the most recent stripe, plus 1.
    ends: (u32, u32),
    /// For each channel where its search begins, plus 1; 0 if the list is passed.
    starts: Vec<u32>,
}

impl MirroredStripes {
    fn new(stripes: u32, members: u16) -> Self {
        Self { stripes: vec![(0, 0, 0); stripes as usize], ends: (0, 0), starts: vec![0; usize::from(members)] }
    }

    #[inline]
    fn mirrored(&self, stripe: StripeId) -> u64 {
        self.stripes[stripe.0 as usize].0
    }

    /// `strips` were mirrored.
    fn mirror(&mut self, stripe: StripeId, strips: u64) {
        if self.mirrored(stripe) != 0 {
            self.unlink(stripe);
        }
        let link = stripe.0 + 1;
        let newest = std::mem::replace(&mut self.ends.1, link);
        match newest {
            0 => self.ends.0 = link,
            _ => self.stripes[newest as usize - 1].2 = link,
        }
        let entry = &mut self.stripes[stripe.0 as usize];
        *entry = (entry.0 | strips, newest, 0);
        self.starts.iter_mut().filter(|start| **start == 0).for_each(|start| *start = link);
    }

    /// `strips` are not mirrored any more.
    fn release(&mut self, stripe: StripeId, strips: u64) {
        let mirrored = self.mirrored(stripe);
        if mirrored & strips == 0 {
            return;
        }
        self.stripes[stripe.0 as usize].0 = mirrored & !strips;
        if mirrored & !strips == 0 {
            self.unlink(stripe);
        }
    }

    fn unlink(&mut self, stripe: StripeId) {
        let (_, older, newer) = self.stripes[stripe.0 as usize];
        match older {
            0 => self.ends.0 = newer,
            _ => self.stripes[older as usize - 1].2 = newer,
        }
        match newer {
            0 => self.ends.1 = older,
            _ => self.stripes[newer as usize - 1].1 = older,
        }
        self.starts.iter_mut().filter(|start| **start == stripe.0 + 1).for_each(|start| *start = newer);
    }

    /// The least recently mirrored stripe that has a mirrored strip on `member`.
    fn least_recent_on(&mut self, member: MemberId, layout: &impl Layout) -> Option<StripeId> {
        loop {
            let start = &mut self.starts[usize::from(member.0)];
            let stripe = StripeId(start.checked_sub(1)?);
            let (mirrored, _, newer) = self.stripes[stripe.0 as usize];
            match layout.row(stripe).role(member) {
                Role::Data(strip) if mirrored >> strip & 1 == 1 => return Some(stripe),
                _ => *start = newer,
            }
        }
    }
}
