//! What has failed: parts that are dead, blocks out of use, pages that cannot be read, chips that others replace.
//!
//! A page is lost by its address: map entries stay as they are when something dies. All blocks of a dead plane are retired, so a page is lost
//! if its block is, or if it is one of the few that became unreadable alone. A version that nothing holds any more names the sentinel page,
//! which lies in a retired block where no plane is. A healthy device pays for all this with a test of one flag.

use crate::mapping::blocks::State;
use crate::mapping::space::{DATA, NIL};
use crate::nand::events::NEVER;
use crate::nand::records::{Record, Work};
use crate::{Completion, Flash, Progress, Settings};
use flashraid_vocabulary::{Cause, Fault, MemberId, MemberPage, PageOperation, Part, Ppn, Version};
use std::collections::BTreeSet;

/// Everything about failures that planes and blocks do not say themselves.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    any: bool,
    /// The physical page that lost versions name; never programmed.
    pub(crate) lost: Ppn,
    /// Pages of blocks in use that cannot be read until these are erased.
    unreadable: BTreeSet<u32>,
    /// Doomed blocks: plane, and number in it.
    doomed: Vec<(u32, u16)>,
    /// Programs and erases that are to fail.
    armed: Vec<Fault>,
    /// Pages of each member's data chips that are gone.
    pub(crate) pages_gone: Vec<u32>,
    /// Members whose mirror chips take no copies until they are rebuilt.
    pub(crate) no_copies: Vec<bool>,
}

impl Faults {
    pub(crate) fn new(settings: &Settings, lost: Ppn) -> Self {
        let members = settings.members() as usize;
        Self {
            any: false,
            lost,
            unreadable: BTreeSet::new(),
            doomed: Vec::new(),
            armed: Vec::new(),
            pages_gone: vec![0; members],
            no_copies: vec![false; members],
        }
    }

    /// The block of these pages was erased.
    pub(crate) fn readable_again(&mut self, first: Ppn, pages: u32) {
        while let Some(&page) = self.unreadable.range(first.0..first.0 + pages).next() {
            self.unreadable.remove(&page);
        }
    }

    /// Doomed blocks of a plane, and some that were.
    pub(crate) fn doomed_of(&self, plane: u32) -> impl Iterator<Item = u16> {
        self.doomed.iter().filter(move |(of, _)| *of == plane).map(|(_, number)| *number)
    }
}

/// Where a physical page is, level by level as `Part` counts them.
struct Place {
    unit: u32,
    channel: u32,
    chip: u32,
    die: u32,
    plane: u32,
    block: u32,
    page: u32,
}

impl Settings {
    /// Whether the device has such a part; if not, what is wrong and what is allowed.
    pub fn part_exists(&self, part: &Part) -> Result<(), String> {
        let geometry = &self.geometry;
        let (channels, chips) = (geometry.channels, self.chips_per_channel());
        let within = |level: &str, number: u32, of: &str, levels: &str, count: u32| match number < count {
            true => Ok(()),
            false if count == 1 => Err(format!("{level} {number}: {of} has {level} 0 only")),
            false => Err(format!("{level} {number}: {of} has {levels} 0 to {}", count - 1)),
        };
        let channel = |number| within("channel", number, "the device", "channels", channels);
        let chip = |number| within("chip", number, "each channel", "chips", chips);
        let die = |number| within("die", number, "each chip", "dies", geometry.dies_per_chip);
        let plane = |number| within("plane", number, "each die", "planes", geometry.planes_per_die);
        let block = |number| within("block", number, "each plane", "blocks", geometry.blocks_per_plane);
        let page = |number| within("page", number, "each block", "pages", geometry.pages_per_block);
        match *part {
            Part::Member(m) => within("member", m, "the device", "members", self.members()),
            Part::Channel(c) => channel(c),
            Part::Chip { channel: c, chip: w } => channel(c).and(chip(w)),
            Part::Die { channel: c, chip: w, die: d } => channel(c).and(chip(w)).and(die(d)),
            Part::Plane { channel: c, chip: w, die: d, plane: p } => channel(c).and(chip(w)).and(die(d)).and(plane(p)),
            Part::Block { channel: c, chip: w, die: d, plane: p, block: b } => {
                channel(c).and(chip(w)).and(die(d)).and(plane(p)).and(block(b))
            }
            Part::Page { channel: c, chip: w, die: d, plane: p, block: b, page: g } => {
                channel(c).and(chip(w)).and(die(d)).and(plane(p)).and(block(b)).and(page(g))
            }
        }
    }
}

impl Flash {
    // ---- what others may look at ----

    /// Whether anything has failed since the device was new.
    #[inline]
    pub fn has_failures(&self) -> bool {
        self.faults.any
    }

    /// Whether the page can be read no more. For programmed pages.
    pub fn is_lost_page(&self, ppn: Ppn) -> bool {
        self.faults.any && (self.blocks.blocks[self.block_of(ppn)].state == State::Retired || self.faults.unreadable.contains(&ppn.0))
    }

    /// The pages that programs are being written to. Looks at all array units.
    pub fn programs_in_service(&self) -> impl Iterator<Item = Ppn> {
        let first = self.units.iter().map(|unit| unit.current).filter(|id| *id != NIL);
        first.map(|id| self.records[id as usize]).filter(|record| record.work == Work::Program).map(|record| Ppn(record.ppn))
    }

    /// Whether a block is out of use in a part that lives. Looks at all planes.
    pub fn has_retired_blocks(&self) -> bool {
        self.faults.any && self.blocks.planes.iter().any(|plane| plane.in_use && !plane.dead && plane.retired > 0)
    }

    /// Channels (bits) of which a chip that holds data is dead, and those of which a mirror chip is; without those that others replace.
    pub fn channels_with_dead_chips(&self) -> (u64, u64) {
        let (mut data, mut mirrors) = (0, 0);
        for (channel, chip) in if self.faults.any { self.dead_chips() } else { Vec::new() } {
            let mut domains = self.planes_of(&Part::Chip { channel, chip }).into_iter().map(|plane| self.domain_of_plane(plane));
            let is_mirror = domains.any(|domain| domain != NIL && self.holds_copies(domain));
            *(if is_mirror { &mut mirrors } else { &mut data }) |= 1 << channel;
        }
        (data, mirrors)
    }

    /// Whether a spare chip is in use.
    pub fn uses_spares(&self) -> bool {
        let spares = self.settings.geometry.chips_per_channel..self.settings.chips_per_channel();
        let mut planes = (0..self.data_planes()).filter(|plane| spares.contains(&self.chip_of_unit(self.unit_of_plane(*plane))));
        self.faults.any && planes.any(|plane| self.blocks.planes[plane as usize].in_use)
    }

    /// Whether the page stands for versions that found no place.
    pub fn is_unplaced_page(&self, ppn: Ppn) -> bool {
        ppn == self.faults.lost
    }

    /// Every physical page of the part.
    pub fn pages_of(&self, part: &Part) -> impl Iterator<Item = Ppn> {
        let in_part = self.block_of_part(part);
        let blocks = self
            .planes_of(part)
            .into_iter()
            .flat_map(move |plane| (0..self.blocks.planes[plane as usize].blocks as u16).map(move |number| (plane, number)));
        let blocks = blocks.filter(move |block| in_part.is_none_or(|one| one == *block));
        let only = if let Part::Page { page, .. } = *part { Some(page) } else { None };
        let pages = blocks.flat_map(|(plane, number)| {
            let first = self.first_ppn(self.blocks.index(plane, number));
            (0..self.pages_per_block).map(move |page| (page, Ppn(first.0 + page)))
        });
        pages.filter(move |(page, _)| only.is_none_or(|only| only == *page)).map(|(_, ppn)| ppn)
    }

    /// Whether the page has this version, and it can be read no more.
    #[inline]
    pub fn is_lost(&self, address: MemberPage, version: Version) -> bool {
        self.faults.any && self.lookup(address, version).is_some_and(|ppn| self.is_lost_page(ppn))
    }

    /// Whether anything of the domain lives, full or not.
    pub fn domain_is_alive(&self, domain: u32) -> bool {
        self.domains[domain as usize].living_planes > 0
    }

    /// Whether failures have taken pages of the domain for good.
    pub fn domain_has_losses(&self, domain: u32) -> bool {
        let planes = (0..self.planes()).filter(|plane| self.domain_of_plane(*plane) == domain);
        let retired: u32 = planes.map(|plane| self.blocks.planes[plane as usize].retired).sum();
        self.faults.any && (retired > 0 || !self.domain_is_alive(domain))
    }

    /// Whether anything of the member lives.
    pub fn is_alive(&self, member: MemberId) -> bool {
        (0..self.planes()).any(|plane| {
            let is_its = self.member_of_unit(self.unit_of_plane(plane)) == Some(member.0.into());
            let state = &self.blocks.planes[plane as usize];
            is_its && state.in_use && !state.dead && state.blocks > 0
        })
    }

    /// Whether the array unit is in use: a spare chip that replaces none is not, nor is a chip that was replaced.
    pub fn is_in_use(&self, unit: u32) -> bool {
        let planes = &self.blocks.planes[self.first_plane(unit, DATA) as usize..][..self.planes_per_unit as usize];
        planes.iter().any(|plane| plane.in_use)
    }

    /// Versions of the member's pages, translation pages included, that are lost. Looks at all of them.
    pub fn lost_versions(&self, member: MemberId) -> u64 {
        let pages = if self.faults.any { self.settings.pages_per_member + self.settings.translation_pages } else { 0 };
        let versions = [Version::Current, Version::Base, Version::Copy];
        let lost = |page: u32| versions.iter().filter(|version| self.is_lost(MemberPage::new(member.0, page), **version)).count() as u64;
        (0..pages).map(lost).sum()
    }

    /// Numbers of the planes that the part is, or lies in: also of the translation planes, which are other blocks of the same planes.
    pub fn planes_of(&self, part: &Part) -> Vec<u32> {
        let planes = 0..self.blocks.planes.len() as u32;
        let place = |plane: &u32| self.locate(self.first_ppn(self.blocks.index(*plane, 0)));
        planes.filter(|plane| self.is_in_plane_of(part, &place(plane))).collect()
    }

    /// Chips of which nothing lives and that no spare chip replaces, as (channel, chip): those that `replace` takes.
    pub fn dead_chips(&self) -> Vec<(u32, u32)> {
        let chips =
            (0..self.settings.geometry.channels).flat_map(|channel| (0..self.settings.chips_per_channel()).map(move |c| (channel, c)));
        chips.filter(|(channel, chip)| self.is_dead_chip(*channel, *chip)).collect()
    }

    fn is_dead_chip(&self, channel: u32, chip: u32) -> bool {
        let planes = self.planes_of(&Part::Chip { channel, chip });
        planes.iter().all(|plane| self.blocks.planes[*plane as usize].dead)
            && planes.iter().any(|plane| self.blocks.planes[*plane as usize].in_use)
    }

    // ---- where parts are ----

    fn locate(&self, ppn: Ppn) -> Place {
        let (site, plane) = (self.plane_of(ppn), self.plane_of(ppn) % self.data_planes());
        let unit = plane / self.planes_per_unit;
        let (number, in_unit) = (unit % self.units_per_channel, plane % self.planes_per_unit);
        let (chips, planes) = (self.settings.chips_per_channel(), self.settings.geometry.planes_per_die);
        let die = if self.settings.chip_serial { in_unit / planes } else { number / chips };
        let block = ppn.0 / self.pages_per_block - self.blocks.index(site, 0) as u32;
        // Translation planes are the last blocks.
        let before = if site == plane { 0 } else { self.blocks.planes[plane as usize].blocks };
        Place {
            unit,
            channel: unit / self.units_per_channel,
            chip: number % chips,
            die,
            plane: in_unit % planes,
            block: before + block,
            page: ppn.0 % self.pages_per_block,
        }
    }

    /// Where a physical page is, by the numbers of its levels.
    pub fn part_of(&self, ppn: Ppn) -> Part {
        let Place { channel, chip, die, plane, block, page, .. } = self.locate(ppn);
        Part::Page { channel, chip, die, plane, block, page }
    }

    fn data_planes(&self) -> u32 {
        self.units.len() as u32 * self.planes_per_unit
    }

    /// Whether the place is in the plane, or larger part, that the part is or lies in.
    fn is_in_plane_of(&self, part: &Part, place: &Place) -> bool {
        match *part {
            Part::Member(member) if self.settings.member_is_chip => self.units[place.unit as usize].member == Some(member),
            Part::Member(channel) | Part::Channel(channel) => place.channel == channel,
            Part::Chip { channel, chip } => (place.channel, place.chip) == (channel, chip),
            Part::Die { channel, chip, die } => (place.channel, place.chip, place.die) == (channel, chip, die),
            Part::Plane { channel, chip, die, plane }
            | Part::Block { channel, chip, die, plane, .. }
            | Part::Page { channel, chip, die, plane, .. } => {
                (place.channel, place.chip, place.die, place.plane) == (channel, chip, die, plane)
            }
        }
    }

    /// Plane, and number in it, of the block that the part is or lies in. `None` for larger parts.
    fn block_of_part(&self, part: &Part) -> Option<(u32, u16)> {
        let (Part::Block { block, .. } | Part::Page { block, .. }) = *part else { return None };
        let plane = self.planes_of(part)[0];
        let blocks = self.blocks.planes[plane as usize].blocks;
        Some(if block < blocks { (plane, block as u16) } else { (plane + self.data_planes(), (block - blocks) as u16) })
    }

    // ---- failures ----

    /// Something goes wrong, now. The part must exist (`Settings::part_exists`). Page operations under way on what dies take their time and fail;
    /// programs that nothing can take any more fail at once: their completions must be taken before the next event.
    pub fn fail(&mut self, fault: &Fault) {
        self.faults.any = true;
        match *fault {
            Fault::Program(_) | Fault::Erase(_) => return self.faults.armed.push(*fault),
            Fault::ParityCache => return, // no flash is concerned
            Fault::Loss(part) => match (self.block_of_part(&part), part) {
                (Some((plane, number)), Part::Page { page, .. }) => {
                    let block = self.blocks.index(plane, number);
                    if self.blocks.blocks[block].state != State::Retired {
                        self.faults.unreadable.insert(self.first_ppn(block).0 + page);
                    }
                }
                (Some((plane, number)), _) => {
                    self.retire_block(plane, number);
                    if self.blocks.planes[plane as usize].in_use {
                        self.collect_if_starved(plane);
                    }
                }
                (None, _) => self.planes_of(&part).into_iter().for_each(|plane| self.kill_plane(plane)),
            },
        }
        for domain in 0..self.domains.len() as u32 {
            if !self.domain_is_alive(domain) {
                self.fail_waiting(domain);
            }
        }
        (0..self.channels.len() as u32).for_each(|channel| self.kick(channel));
    }

    fn kill_plane(&mut self, plane: u32) {
        let state = &self.blocks.planes[plane as usize];
        if state.dead {
            return;
        }
        let (blocks, gone, domain) = (state.blocks, state.blocks - state.retired, self.domain_of_plane(plane));
        (0..blocks as u16).for_each(|number| self.unlist(plane, number));
        self.blocks.planes[plane as usize].dead = true;
        if domain != NIL {
            self.domains[domain as usize].living_planes -= u32::from(blocks > 0);
        }
        self.change_space(plane, |all| (0..blocks as u16).for_each(|number| all.close(plane, number, State::Retired)));
        self.cut_collection(plane);
        if self.hybrid.is_some() && domain != NIL {
            self.forget_instance(domain, plane);
        }
        self.note_gone(plane, gone);
        self.faults.doomed.retain(|(of, _)| *of != plane);
        if self.holds_copies(domain) {
            self.faults.no_copies[(domain - self.members) as usize] = true;
        }
    }

    /// Takes a block off the victim lists, if it is in one.
    fn unlist(&mut self, plane: u32, number: u16) {
        if self.blocks.blocks[self.blocks.index(plane, number)].listed {
            self.victims.remove(plane, number, self.blocks.of_plane(plane));
        }
    }

    /// The block is out of use for good, and what it holds is lost.
    pub(crate) fn retire_block(&mut self, plane: u32, number: u16) {
        let block = self.blocks.index(plane, number);
        let state = self.blocks.blocks[block].state;
        if state == State::Retired {
            return;
        }
        self.unlist(plane, number);
        self.change_space(plane, |blocks| blocks.close(plane, number, State::Retired));
        self.note_gone(plane, 1);
        self.faults.doomed.retain(|doomed| *doomed != (plane, number));
        self.faults.readable_again(self.first_ppn(block), self.pages_per_block);
        self.set_threshold(plane);
        if state == State::Victim {
            self.victim_lost(plane);
        }
    }

    /// A program in the block has failed: it takes no more, and is retired once its live pages are moved.
    pub(crate) fn doom(&mut self, block: usize) {
        let (plane, number) = self.blocks.place(block);
        if matches!(self.blocks.blocks[block].state, State::Open | State::Closed) {
            self.unlist(plane, number);
            self.change_space(plane, |blocks| blocks.close(plane, number, State::Doomed));
            self.faults.doomed.push((plane, number));
            // Its last pages for host programs may have gone with the block.
            self.collect_if_starved(plane);
        }
    }

    /// Collection starts below the same share of what is left of the plane.
    fn set_threshold(&mut self, plane: u32) {
        if plane < self.data_planes() {
            let state = &mut self.blocks.planes[plane as usize];
            let pages = (state.blocks - state.retired) * self.pages_per_block;
            state.gc_pages = (self.settings.gc_threshold * f64::from(pages)).ceil() as u32;
        }
    }

    fn note_gone(&mut self, plane: u32, blocks: u32) {
        let domain = self.domain_of_plane(plane);
        if plane < self.data_planes() && domain != NIL && !self.holds_copies(domain) {
            let member = self.member_of_unit(self.unit_of_plane(plane)).expect("planes in use are of a member");
            self.faults.pages_gone[member as usize] += blocks * self.pages_per_block;
        }
    }

    /// Whether a physical page lies on a mirror chip.
    pub fn is_of_mirror(&self, ppn: Ppn) -> bool {
        let domain = self.domain_of_plane(self.plane_of(ppn));
        domain != NIL && self.holds_copies(domain)
    }

    fn holds_copies(&self, domain: u32) -> bool {
        self.settings.mirror_chips > 0 && (self.members..2 * self.members).contains(&domain)
    }

    /// Whether a program or erase of this page is to fail now; each fault happens once.
    pub(crate) fn fails_now(&mut self, work: Work, ppn: Ppn) -> bool {
        let place = self.locate(ppn);
        let is_meant = |fault: &Fault| {
            let (Fault::Program(part) | Fault::Erase(part)) = fault else { return false };
            let is_kind = matches!(fault, Fault::Erase(_)) == (work == Work::Erase);
            let is_there = match *part {
                Part::Block { block, .. } | Part::Page { block, .. } => place.block == block,
                _ => true,
            };
            is_kind && is_there && self.is_in_plane_of(part, &place)
        };
        let index = self.faults.armed.iter().position(is_meant);
        index.map(|index| self.faults.armed.remove(index)).is_some()
    }

    /// Whether a page operation of a plan that ends now has failed.
    #[cold]
    pub(crate) fn has_failed(&mut self, id: u32) -> bool {
        let Record { work, ppn, .. } = self.records[id as usize];
        if self.is_lost_page(Ppn(ppn)) {
            return true;
        }
        let fails = work == Work::Program && self.fails_now(work, Ppn(ppn));
        if fails {
            self.doom(self.block_of(Ppn(ppn)));
        }
        fails
    }

    // ---- programs ----

    /// More pages of a domain may be promised than there are: what waits at its unit waits in the domain instead, so that nothing behind it
    /// is kept from the unit, the collector's work least of all.
    pub(crate) fn pool_if_short(&mut self, domain_id: u32) {
        let domain = &self.domains[domain_id as usize];
        if domain.single_unit() && domain.free_pages < domain.reserved {
            let unit = self.channels[domain.channels.0 as usize].first_unit + domain.units.trailing_zeros();
            for id in self.unbind_programs(unit, domain_id) {
                self.records[id as usize].unit = NIL;
                self.pool(id);
            }
        }
    }

    /// Fails every program that waits in the domain.
    fn fail_waiting(&mut self, domain: u32) {
        while self.domains[domain as usize].waiting_mask != 0 {
            let class = self.domains[domain as usize].waiting_mask.trailing_zeros() as usize;
            let id = self.pop_pool(domain, class);
            self.fail_unstarted(id);
        }
        if self.hybrid.is_some() {
            self.take_waiting(domain).into_iter().for_each(|id| self.fail_unstarted(id));
        }
    }

    /// A program that never started fails.
    pub(crate) fn fail_unstarted(&mut self, id: u32) {
        let Record { domain, member, slot, .. } = self.records[id as usize];
        if self.hybrid.is_some() {
            self.break_promise(slot);
        }
        self.domains[domain as usize].reserved -= 1;
        self.queue_changes(member, 0, -1);
        self.completions.push(Completion { record: id, progress: Progress::Failed });
    }

    /// If nothing is under way and programs wait for pages that nobody will make, these fail, and cannot be repeated. Returns whether there were any.
    pub fn fail_stuck(&mut self) -> bool {
        if self.next_event_ns() != NEVER {
            return false;
        }
        let before = self.completions.len();
        (0..self.domains.len() as u32).for_each(|domain| self.fail_waiting(domain));
        for completion in &self.completions[before..] {
            self.records[completion.record as usize].domain = NIL;
        }
        self.completions.len() > before
    }

    /// Queues a program again that failed, or whose page was lost after it had ended: its page is garbage, and another is promised, even if there
    /// is none yet. Counted as a retry. False if the domain has nothing that lives, or the program failed as it was stuck; then `abort` must follow.
    pub fn repeat(&mut self, record: u32) -> bool {
        self.forget_page(record);
        let domain = self.records[record as usize].domain;
        if domain == NIL || !self.domain_is_alive(domain) {
            return false;
        }
        let program = &mut self.records[record as usize];
        (program.next, program.cause, program.submitted_ns) = (NIL, Cause::Retry, self.now_ns);
        if self.hybrid.is_some() {
            self.owe_page(self.records[record as usize].slot);
        }
        self.domains[domain as usize].reserved += 1;
        self.pool_if_short(domain);
        self.queue_program(record);
        true
    }

    /// A program that has ended or failed counts for nothing: its page is garbage, and its record free.
    pub fn abort(&mut self, record: u32) {
        self.forget_page(record);
        self.free_record(record);
    }

    /// A program that finds no page, and was not submitted: its record, as if it had failed.
    pub fn unplaced(&mut self, operation: &PageOperation, owner: u32) -> u32 {
        let domain = self.domain_of(operation.address, operation.version);
        self.new_record(Record { domain, ..self.program_record(operation, owner) })
    }

    /// A program that has failed for good may end all the same: its version will be lost.
    pub fn leave_unplaced(&mut self, record: u32) {
        self.forget_page(record);
        self.records[record as usize].ppn = self.faults.lost.0;
    }

    /// Whether the version that a program makes will be lost (`leave_unplaced`).
    pub fn is_unplaced(&self, record: u32) -> bool {
        self.records[record as usize].ppn == self.faults.lost.0
    }

    /// Whether a program has ended, and its page is lost since then.
    pub fn has_lost_its_page(&self, record: u32) -> bool {
        !self.is_unplaced(record) && self.is_lost_page(Ppn(self.records[record as usize].ppn))
    }

    /// Which version of which page a program makes.
    pub fn programmed(&self, record: u32) -> (MemberPage, Version) {
        let Record { slot, version, .. } = self.records[record as usize];
        (self.address(slot), version)
    }

    fn forget_page(&mut self, record: u32) {
        let ppn = std::mem::replace(&mut self.records[record as usize].ppn, NIL);
        if ppn != NIL && ppn != self.faults.lost.0 {
            self.settle(self.block_of(Ppn(ppn)));
            if self.hybrid.is_some() {
                self.page_settled(self.records[record as usize].slot, Ppn(ppn));
            }
        }
    }

    /// The current version of the page is lost: it counts as written, and can be read no more.
    pub fn lose(&mut self, address: MemberPage) {
        self.faults.any = true;
        if let Some(old) = self.maps.set(Version::Current, self.slot(address), self.faults.lost) {
            self.invalidate(old);
        }
    }

    // ---- replacements ----

    /// Puts a spare chip of the channel in the place of a chip of which nothing lives: its domains, for data or for copies, and its member.
    /// False if there is no spare chip left, or the chip is none of `dead_chips`.
    pub fn replace(&mut self, channel: u32, chip: u32) -> bool {
        let planes_of = |chip| self.planes_of(&Part::Chip { channel, chip });
        let is_spare = |chip: &u32| {
            let planes = planes_of(*chip);
            planes.iter().all(|plane| !self.blocks.planes[*plane as usize].in_use && !self.blocks.planes[*plane as usize].dead)
        };
        let Some(spare) = (self.settings.geometry.chips_per_channel..self.settings.chips_per_channel()).find(is_spare) else {
            return false;
        };
        if !self.is_dead_chip(channel, chip) {
            return false;
        }
        let pairs: Vec<(u32, u32)> = planes_of(chip).into_iter().zip(planes_of(spare)).collect();
        // Translation planes, which come last, first take their blocks from the data planes.
        let data_planes = self.data_planes();
        for &(old, new) in pairs.iter().filter(|(_, new)| *new >= data_planes) {
            self.blocks.split(new - data_planes, new, self.blocks.planes[old as usize].blocks);
        }
        for (old, new) in pairs {
            self.set_threshold(new);
            self.replace_plane(old, new);
        }
        self.kick(channel);
        true
    }

    fn replace_plane(&mut self, old: u32, new: u32) {
        let (old_unit, new_unit) = (self.unit_of_plane(old) as usize, self.unit_of_plane(new) as usize);
        self.units[new_unit].member = self.units[old_unit].member;
        let domain_id = self.domain_of_plane(old);
        self.sites[new as usize].domain = domain_id;
        let (blocks, retired) = (self.blocks.planes[old as usize].blocks, self.blocks.planes[new as usize].retired);
        let (was, is) = (self.units[old_unit].bit, self.units[new_unit].bit);
        let kind = usize::from(new >= self.data_planes());
        self.note_gone(new, retired);
        if kind == DATA && !self.holds_copies(domain_id) {
            let member = self.units[new_unit].member.expect("a chip in use has a member");
            self.faults.pages_gone[member as usize] -= blocks * self.pages_per_block;
        }
        let domain = &mut self.domains[domain_id as usize];
        // A mirror chip has no translation pages, and neither has the spare chip in its place.
        if domain.units & was != 0 {
            domain.units |= is;
            if domain.channels.0 + 1 == domain.channels.1 {
                domain.units &= !was;
            }
        }
        if domain.plane == old {
            domain.plane = new;
        }
        self.sites[old as usize].domain = NIL;
        self.blocks.planes[old as usize].in_use = false;
        self.join_domain(new);
        self.freed.push(domain_id);
    }

    /// The member's mirror chips are rebuilt: they take copies again.
    pub fn resume_copies(&mut self, member: MemberId) {
        self.faults.no_copies[usize::from(member.0)] = false;
    }

    // ---- checks ----

    /// What must hold of planes and promises, failures or not.
    pub(crate) fn check_faults(&self) -> Result<(), String> {
        let mut gone = vec![0; self.members as usize];
        let mut living = vec![0; self.domains.len()];
        let mut units = vec![0; self.domains.len()];
        for (id, plane) in self.blocks.planes.iter().enumerate() {
            let first = self.blocks.index(id as u32, 0);
            let blocks = &self.blocks.blocks[first..first + plane.blocks as usize];
            let count = |state: State| blocks.iter().filter(|block| block.state == state).count() as u32;
            let unwritten = |state: State| {
                blocks.iter().filter(|block| block.state == state).map(|block| self.pages_per_block - u32::from(block.written)).sum::<u32>()
            };
            let free_pages = unwritten(State::Free) + unwritten(State::Open);
            let open = plane.open.iter().filter(|open| **open != crate::mapping::blocks::NONE).count() as u32;
            if (count(State::Free), free_pages, count(State::Retired), count(State::Open))
                != (plane.free_blocks, plane.free_pages, plane.retired, open)
            {
                return Err(format!("plane {id} counts {plane:?} of {blocks:?}"));
            }
            if plane.dead && (plane.retired < plane.blocks || self.is_collecting(id as u32)) {
                return Err(format!("dead plane {id} is in use: {plane:?}"));
            }
            if count(State::Victim) > u32::from(self.is_collecting(id as u32)) || (plane.debt && !self.is_collecting(id as u32)) {
                return Err(format!("plane {id} has victims or a loan that no collection has: {blocks:?}"));
            }
            let domain = self.domain_of_plane(id as u32);
            if domain == NIL {
                continue;
            }
            living[domain as usize] += u32::from(!plane.dead && plane.blocks > 0);
            units[domain as usize] |= if plane.blocks > 0 { self.units[self.unit_of_plane(id as u32) as usize].bit } else { 0 };
            if id < self.data_planes() as usize && !self.holds_copies(domain) {
                let member = self.member_of_unit(self.unit_of_plane(id as u32)).expect("planes in use are of a member");
                gone[member as usize] += plane.retired * self.pages_per_block;
            }
            let (site, kind) = (self.sites[id], self.domains[domain as usize].kind);
            let writable = self.units[site.unit as usize].writable[kind] & site.bit != 0;
            if writable != (self.blocks.host_pages(id as u32) > 0) {
                return Err(format!("plane {id} with {} pages is writable: {writable}", self.blocks.host_pages(id as u32)));
            }
        }
        if gone != self.faults.pages_gone {
            return Err(format!("{gone:?} pages are gone, counted {:?}", self.faults.pages_gone));
        }
        for (id, domain) in self.domains.iter().enumerate() {
            let is_in_use = units[id] != 0;
            if is_in_use && domain.channels.0 + 1 == domain.channels.1 && domain.units != units[id] {
                return Err(format!("domain {id} has planes in units {:b}: {domain:?}", units[id]));
            }
            let waiting: i64 = domain.waiting.iter().map(|queue| self.queued_in(queue.head)).sum();
            if domain.living_planes != living[id] || domain.reserved < waiting || (living[id] == 0 && waiting > 0) {
                return Err(format!("domain {id}, in which {waiting} programs wait and {} planes live: {domain:?}", living[id]));
            }
        }
        for unit in &self.units {
            for mut id in unit.bound() {
                while id != NIL {
                    let Record { work, domain, next, .. } = self.records[id as usize];
                    if work == Work::Program && self.domains[domain as usize].free_pages < self.domains[domain as usize].reserved {
                        return Err(format!("a program is bound to a unit of domain {domain}, which is short of pages"));
                    }
                    id = next;
                }
            }
        }
        self.check_blocked()
    }

    fn queued_in(&self, mut head: u32) -> i64 {
        let mut count = 0;
        while head != NIL {
            (head, count) = (self.records[head as usize].next, count + 1);
        }
        count
    }
}
