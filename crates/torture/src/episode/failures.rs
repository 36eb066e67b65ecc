//! What fails in an episode: as many units, or parts of them, as the scheme survives, until they are rebuilt; and sometimes one more before.

use super::setup::{Episode, NVRAM};
use crate::oracle::lost_pages;
use flashraid_redundancy::Protects;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::media::{Media, Shape};
use flashraid_sim::verify::{self, VERSIONS};
use flashraid_vocabulary::{DeviceFault, Fault, LocalPage, Member, MemberId, MemberPage, Part, Ppn, Version};
use std::collections::BTreeSet;

/// The number of the unit of which one failure is survived, on which a physical page lies.
fn unit_of<M: Media>(engine: &Engine<Tags, M>, protects: Protects, ppn: Ppn) -> Option<u32> {
    verify::failed_unit(&engine.executor.media, protects, ppn)
}

/// A part of an SSD.
#[derive(Clone, Copy)]
struct At {
    ssd: usize,
    part: Part,
    is_alone: bool,
}

impl At {
    fn failure(self, fault: fn(Part) -> Fault) -> DeviceFault {
        DeviceFault { device: (!self.is_alone).then_some(self.ssd as u32), fault: fault(self.part) }
    }
}

/// Where a page of this row of the members has this version, lost or not.
pub(super) fn in_row(media: &impl Media, row: u32, version: Version, is_lost: bool) -> Option<Ppn> {
    let mut pages = (0..media.shape().members).map(|member| MemberPage::new(member as u16, row));
    pages.find_map(|page| media.lookup(page, version).filter(|_| media.is_lost(page, version) == is_lost))
}

impl<M: Media> Episode<M> {
    fn at(&self, ssd: usize, part: Part) -> At {
        At { ssd, part, is_alone: self.engine.executor.media.shape().ssds == 1 }
    }

    fn lose(&mut self, name: &'static str, at: At) {
        self.note_exposed();
        self.engine.fail(at.failure(Fault::Loss));
        let media = &self.engine.executor.media;
        self.damage.dead_chips = media.channels_with_dead_chips();
        // What the controller's memory has is there.
        let dead = media.pages_of(at.ssd, &at.part).into_iter().filter(|ppn| media.is_lost_page(*ppn)).collect::<Vec<_>>();
        dead.into_iter().for_each(|ppn| self.engine.executor.content.destroy(ppn));
        self.tally.note_fault(name);
    }

    /// A physical page that some version of some page names, and that can be read.
    fn any_living_page(&mut self) -> Option<Ppn> {
        let Shape { members, pages_per_member: pages, .. } = self.engine.executor.media.shape();
        (0..20).find_map(|_| {
            let member = MemberId(self.random.below(members.into()) as u16);
            let address = MemberPage { member, page: LocalPage(self.random.below(pages.into()) as u32) };
            let version = self.random.of_list(&VERSIONS);
            let flash = &self.engine.executor.media;
            flash.lookup(address, version).filter(|_| !flash.is_lost(address, version))
        })
    }

    /// A unit, or a part of one, fails, unless as much has failed as the scheme survives, and is not rebuilt. What part, if that is wanted.
    pub(super) fn fail_something(&mut self, wanted: Option<&str>) {
        self.notice_rebuilt();
        if let Some(ppn) = self.any_living_page() {
            self.fail_what_has(ppn, wanted);
        }
    }

    /// What a physical page lies in fails, unless as much else has failed as the scheme survives, and is not rebuilt.
    pub(super) fn fail_what_has(&mut self, ppn: Ppn, wanted: Option<&str>) {
        let unit = unit_of(&self.engine, self.terms.protects, ppn);
        let Some(unit) = unit.filter(|unit| !self.damage.exceeded && self.is_survived(Some(*unit))) else { return };
        self.tally.survived_together += u64::from(!self.damage.failed.is_empty() && !self.damage.has(Some(unit)));
        self.damage.add(unit);
        let (name, part) = self.some_part_with(ppn, wanted);
        self.lose(name, part);
    }

    /// What a program is being written to fails.
    pub(super) fn fail_under_a_program(&mut self) {
        self.notice_rebuilt();
        let mut programs = self.engine.executor.media.programs_in_service();
        programs.retain(|ppn| !self.engine.executor.media.is_lost_page(*ppn));
        if !programs.is_empty() {
            let ppn = self.random.of_list(&programs);
            // Where nothing can die within tolerance.
            let uses_up = |failed| failed == NVRAM || self.taken_out() == Some(failed);
            if self.terms.second && self.damage.failed.iter().copied().any(uses_up) {
                self.fail_as_second(ppn);
            } else {
                self.fail_what_has(ppn, None);
            }
        }
    }

    /// The mirror chip of a channel fails, or a data chip of one that has lost its mirror chip.
    pub(super) fn fail_both_chips(&mut self) {
        self.notice_rebuilt();
        let (_, mirrors) = self.damage.dead_chips;
        let is_wanted = |media: &M, ppn: Ppn| {
            let place = media.place_of(ppn);
            if mirrors == 0 { place.is_of_mirror } else { mirrors >> place.channel & 1 == 1 && !place.is_of_mirror }
        };
        let found = (0..20).find_map(|_| self.any_living_page().filter(|ppn| is_wanted(&self.engine.executor.media, *ppn)));
        if let Some(ppn) = found {
            self.fail_what_has(ppn, Some("chip"));
        }
    }

    /// The chip of a copy fails, and as a second unit that of a base of its stripe.
    pub(super) fn fail_mirror_and_base(&mut self) {
        self.notice_rebuilt();
        if self.damage.exceeded {
            return;
        }
        let rows = self.engine.executor.media.shape().pages_per_member;
        if self.damage.failed.is_empty() {
            let mut copies = (0..rows).filter_map(|row| {
                in_row(&self.engine.executor.media, row, Version::Base, false).and(in_row(
                    &self.engine.executor.media,
                    row,
                    Version::Copy,
                    false,
                ))
            });
            if let Some(copy) = copies.next() {
                self.fail_what_has(copy, Some("chip"));
            }
        }
        let mut bases = (0..rows).filter_map(|row| {
            in_row(&self.engine.executor.media, row, Version::Copy, true).and(in_row(
                &self.engine.executor.media,
                row,
                Version::Base,
                false,
            ))
        });
        if let Some(base) = bases.next()
            && !self.damage.failed.is_empty()
            && !self.damage.has(unit_of(&self.engine, self.terms.protects, base))
        {
            let (_, part) = self.some_part_with(base, Some("chip"));
            self.lose("second", part);
            self.damage.exceeded = true;
        }
    }

    /// A page, its word line or that with the next one, or something larger that it is in, up to the unit of which a failure is survived.
    fn some_part_with(&mut self, ppn: Ppn, wanted: Option<&str>) -> (&'static str, At) {
        let (ssd, page) = (self.engine.executor.media.place_of(ppn).ssd, self.engine.executor.media.part_of(ppn));
        let Part::Page { channel, chip, die, plane, block, page: number } = page else { unreachable!("where a page is") };
        let settings = self.engine.executor.media.ssds()[ssd].settings;
        let (member, has_logs) = (settings.given.member, settings.log_blocks > 0);
        let choice = match wanted {
            Some("block") => 3,
            Some("chip") => 10,
            Some("device") => 19,
            _ => self.random.below(20),
        };
        let (name, part) = match (choice, self.terms.protects) {
            (0..2, _) => ("page", page),
            (2, _) => {
                let line = number / settings.pages_per_word_line();
                let and_next = line.is_multiple_of(2) && line + 1 < settings.word_lines_per_block();
                ("wordline", Part::WordLine { channel, chip, die, plane, block, line, and_next })
            }
            // Hybrid mapping retires no blocks.
            (3..6, _) if has_logs => ("page", page),
            (3..6, _) => ("block", Part::Block { channel, chip, die, plane, block }),
            (6..8, _) => ("plane", Part::Plane { channel, chip, die, plane }),
            (8..10, _) => ("die", Part::Die { channel, chip, die }),
            (14.., Protects::Member) if member == Member::Device => ("device", Part::Device),
            (10.., Protects::Chip) | (10..19, _) => ("chip", Part::Chip { channel, chip }),
            (_, Protects::Member) if member == Member::Chip => ("chip", Part::Chip { channel, chip }),
            _ => ("channel", Part::Channel(channel)),
        };
        (name, self.at(ssd, part))
    }

    /// NVRAM loses the deferred parities, if there are any to lose and nothing else has failed: it counts as the one failure (SPEC 4.4).
    pub(super) fn fail_the_parity_cache(&mut self) {
        self.notice_rebuilt();
        if self.terms.entry.parity_cache.is_none() || self.damage.exceeded || !self.damage.failed.is_empty() || self.lost_versions() > 0 {
            return;
        }
        self.damage.add(NVRAM);
        self.engine.fail(Fault::ParityCache);
        self.engine.executor.content.destroy_deferred();
        self.tally.note_fault("parity_cache");
    }

    /// One more unit fails, while others are not rebuilt. What this must cost is known to the oracle.
    pub(super) fn fail_a_second_unit(&mut self) {
        self.notice_rebuilt();
        if !self.damage.failed.is_empty()
            && !self.damage.exceeded
            && let Some(ppn) = self.any_living_page()
        {
            self.fail_as_second(ppn);
        }
    }

    /// What a physical page lies in fails as one more unit, be it more than the scheme survives.
    fn fail_as_second(&mut self, ppn: Ppn) {
        let unit = unit_of(&self.engine, self.terms.protects, ppn);
        if !self.damage.exceeded && !self.damage.has(unit) {
            self.damage.exceeded = !self.is_survived(unit);
            self.tally.survived_together += u64::from(!self.damage.exceeded);
            let (_, part) = self.some_part_with(ppn, None);
            self.lose("second", part);
            unit.into_iter().for_each(|unit| self.damage.add(unit));
        }
    }

    /// A program or an erase fails, which loses nothing.
    pub(super) fn fail_an_operation(&mut self) {
        if self.engine.executor.media.shape().has_log_blocks {
            return;
        }
        let Some(ppn) = self.any_living_page() else { return };
        let ssd = self.engine.executor.media.place_of(ppn).ssd;
        let Part::Page { channel, chip, die, plane, .. } = self.engine.executor.media.part_of(ppn) else { unreachable!("where a page is") };
        let part = if self.random.once_in(2) { Part::Channel(channel) } else { Part::Plane { channel, chip, die, plane } };
        let (name, fault): (_, fn(Part) -> Fault) =
            if self.random.once_in(3) { ("erase", Fault::Erase) } else { ("program", Fault::Program) };
        let at = self.at(ssd, part);
        self.engine.fail(at.failure(fault));
        self.tally.note_fault(name);
    }

    /// Pages that are lost, in whatever version, of what protects or holds data.
    pub(super) fn lost_versions(&self) -> u64 {
        let members = (0..self.engine.executor.media.shape().members).map(|member| MemberId(member as u16));
        members.filter(|member| !self.is_shadow(*member)).map(|member| self.engine.executor.media.lost_versions_of(member)).sum()
    }

    /// Whether the scheme survives what has failed, and what is lost elsewhere, and this unit too: a member that has lost blocks for good may have no space for
    /// what is written now, so that this is lost though nothing else has failed.
    pub(super) fn is_survived(&self, unit: Option<u32>) -> bool {
        let flash = &self.engine.executor.media;
        let shape = flash.shape();
        let mut units: BTreeSet<Option<u32>> = self.damage.failed.iter().map(|unit| Some(*unit)).chain([unit]).collect();
        for page in (0..shape.pages_per_member * shape.members).map(|entry| shape.page(entry)).filter(|page| !self.is_shadow(page.member)) {
            let lost = VERSIONS.into_iter().filter(|version| flash.is_lost(page, *version));
            units.extend(lost.map(|version| verify::unit_of_version(flash, self.terms.protects, page, version)));
        }
        !units.contains(&None) && units.len() <= self.terms.survives
    }

    /// What the memory of an SSD has given up counts as a second failure, if it lies elsewhere than what has failed, or if nothing protects it yet: as there was no space
    /// for what protects it either, if nothing has failed. The next write may replace it, and a rebuild what has failed: this is for the instant at which it is given up.
    pub(super) fn notice_given_up(&mut self) {
        let given_up = self.engine.executor.media.counted().given_up;
        if given_up > self.damage.given_up {
            self.damage.given_up = given_up;
            let first = self.damage.failed.first().copied();
            let is_second = if first.is_some() { !self.is_survived(first) } else { !lost_pages(&self.engine).0.is_empty() };
            self.damage.exceeded |= self.terms.has_window || is_second;
        }
    }

    /// Once everything is as redundant as before, the next unit may fail.
    pub(super) fn notice_rebuilt(&mut self) {
        self.notice_taken_out();
        let is_whole = self.engine.survey().rebuild_share.is_none() && self.lost_versions() == 0 && self.taken_out().is_none();
        if !self.damage.failed.is_empty() && is_whole {
            self.damage.failed.clear();
            self.tally.rebuilt += 1;
        }
    }
}
