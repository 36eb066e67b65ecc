//! What reports, logs, checks and torture look at, and the engine does not: the SSDs themselves, and where members, LUNs, buses and physical
//! pages are in them. LUNs, buses and physical pages of all SSDs are numbered one SSD after the other.

use super::Counts;
use flashraid_ftl::{Flash, GcCounts, GcUnderWay, Held, Levels, MemberLoad, Usage};
use flashraid_vocabulary::{Cause, MemberId, Part, Ppn};

/// A LUN of one of the SSDs.
#[derive(Clone, Copy, Debug)]
pub struct LunAt<'a> {
    /// The SSD.
    pub flash: &'a Flash,
    /// Number of the LUN in it.
    pub unit: u32,
    /// The member that it is part of; `None` for a spare that is not in use.
    pub member: Option<u32>,
    /// Whether the SSD takes part: it is no spare that is not in use, and none has taken its place.
    is_of_member: bool,
}

impl LunAt<'_> {
    /// Whether it takes part: no spare that is not in use, and none that was replaced.
    pub fn is_in_use(&self) -> bool {
        self.is_of_member && self.member.is_some() && self.flash.space().is_in_use(self.unit)
    }

    /// Page operations started, by action and cause.
    pub fn operations(&self) -> Counts {
        self.flash.nand().units()[self.unit as usize].operations
    }

    /// Time of the array for what it has started, by cause.
    pub fn array_ns(&self) -> [u64; Cause::COUNT] {
        self.flash.nand().units()[self.unit as usize].array_ns
    }

    /// Time in use until `time_ns`, by cause.
    pub fn busy_ns(&self, time_ns: u64) -> [u64; Cause::COUNT] {
        self.flash.nand().unit_busy_ns(self.unit, time_ns)
    }
}

/// See the module.
pub trait Inspect {
    /// The SSDs.
    fn ssds(&self) -> &[Flash];
    /// The SSD that is this member, or that it is part of, and its number there.
    fn home(&self, member: MemberId) -> (&Flash, MemberId);
    /// The member that a member of an SSD is, or was until something replaced it; `None` for a spare that is not in use.
    fn member_in(&self, ssd: usize, member: u32) -> Option<u32>;
    /// Whether an SSD is a member, or has members: it is no spare that is not in use, and none has taken its place.
    fn is_of_member(&self, ssd: usize) -> bool;
    /// The SSD of a physical page, and the number of the page there.
    fn locate(&self, ppn: Ppn) -> (usize, Ppn);
    /// The number of the first physical page of an SSD.
    fn first_page(&self, ssd: usize) -> u32;

    /// The number above those of all physical pages.
    fn ppn_limit(&self) -> u64 {
        self.ssds().iter().map(|flash| u64::from(flash.ppn_limit())).sum()
    }

    /// The SSDs that are members, or have members.
    fn ssds_in_use(&self) -> impl Iterator<Item = &Flash> + Clone {
        self.ssds().iter().enumerate().filter(|(ssd, _)| self.is_of_member(*ssd)).map(|(_, flash)| flash)
    }

    // ---- LUNs and buses ----

    /// All LUNs.
    fn luns(&self) -> impl Iterator<Item = LunAt<'_>> {
        self.ssds().iter().enumerate().flat_map(move |(ssd, flash)| {
            let member = move |unit| flash.nand().member_of_unit(unit).and_then(|member| self.member_in(ssd, member));
            (0..flash.nand().units().len() as u32).map(move |unit| LunAt {
                flash,
                unit,
                member: member(unit),
                is_of_member: self.is_of_member(ssd),
            })
        })
    }

    /// Reads by level, in all SSDs with LDPC together (`Levels::reads_by_level`); empty without LDPC.
    fn reads_by_level(&self) -> Vec<u64> {
        let mut sum = Vec::new();
        for of_ssd in self.ssds().iter().filter_map(|flash| flash.nand().levels()).map(Levels::reads_by_level) {
            sum.resize(of_ssd.len().max(sum.len()), 0);
            // Those that could not be corrected are the last of each.
            let (lost, corrected) = of_ssd.split_last().expect("there is a level");
            corrected.iter().enumerate().for_each(|(level, reads)| sum[level] += reads);
            *sum.last_mut().expect("resized") += lost;
        }
        sum
    }

    /// Time in use of each bus until `time_ns`, by cause.
    fn buses_busy_ns(&self, time_ns: u64) -> Vec<[u64; Cause::COUNT]> {
        let of =
            |flash: &Flash| (0..flash.nand().channels().len() as u32).map(|bus| flash.nand().bus_busy_ns(bus, time_ns)).collect::<Vec<_>>();
        self.ssds().iter().flat_map(of).collect()
    }

    /// Time in use of the host link of each SSD, towards it and from it, until `time_ns`, by cause; empty if there are no links.
    fn links_busy_ns(&self, _time_ns: u64) -> Vec<[[u64; Cause::COUNT]; 2]> {
        Vec::new()
    }

    /// Time in use of each LUN until `time_ns`, by cause.
    fn luns_busy_ns(&self, time_ns: u64) -> Vec<[u64; Cause::COUNT]> {
        self.luns().map(|lun| lun.busy_ns(time_ns)).collect()
    }

    /// Whether a LUN works at something that it began before.
    fn is_at_work_since_before(&self, time_ns: u64) -> bool {
        self.ssds().iter().any(|flash| flash.nand().is_at_work_since_before(time_ns))
    }

    // ---- members ----

    /// Load of a member.
    fn load(&self, member: MemberId) -> &MemberLoad {
        let (flash, member) = self.home(member);
        &flash.nand().loads()[member]
    }

    /// Versions of a member's pages beside the current ones.
    fn held(&self, member: MemberId) -> Held {
        let (flash, member) = self.home(member);
        flash.held(member)
    }

    /// Whether anything of the member lives.
    fn is_alive(&self, member: MemberId) -> bool {
        let (flash, member) = self.home(member);
        flash.is_alive(member)
    }

    /// Versions of the member's pages that are lost. Looks at all of them.
    fn lost_versions_of(&self, member: MemberId) -> u64 {
        let (flash, member) = self.home(member);
        flash.lost_versions(member)
    }

    // ---- flash ----

    /// What GC runs have done beside the page operations.
    fn collected(&self) -> GcCounts {
        self.ssds().iter().fold(GcCounts::default(), |sum, flash| sum + flash.collected())
    }

    /// How much space there is, and how much of it holds pages.
    fn usage(&self) -> Usage {
        self.ssds_in_use().map(|flash| flash.space().usage()).fold(Usage::default(), |sum, usage| sum + usage)
    }

    /// Erase counts of all blocks in use.
    fn erase_counts(&self) -> impl Iterator<Item = u32> + Clone {
        self.ssds_in_use().flat_map(|flash| flash.space().erase_counts())
    }

    /// GC runs that are in flight.
    fn gc_runs_under_way(&self) -> GcUnderWay {
        self.ssds().iter().fold(GcUnderWay::default(), |sum, flash| sum | flash.gc_runs_under_way())
    }

    /// Physical pages that are being programmed.
    fn programs_in_service(&self) -> impl Iterator<Item = Ppn> {
        self.ssds().iter().enumerate().flat_map(|(ssd, flash)| {
            let first = self.first_page(ssd);
            flash.nand().programs_in_service().map(move |ppn| Ppn(first + ppn.0))
        })
    }

    /// Checks every count and list of flash against what blocks and pages say.
    fn check(&self) -> Result<(), String> {
        self.ssds().iter().try_for_each(Flash::check)
    }

    // ---- failures ----

    /// Whether a physical page can be read no more.
    fn is_lost_page(&self, ppn: Ppn) -> bool {
        let (ssd, ppn) = self.locate(ppn);
        self.ssds()[ssd].is_lost_page(ppn)
    }

    /// Whether this stands for the page of a version that nothing holds.
    fn is_unplaced_page(&self, ppn: Ppn) -> bool {
        let (ssd, ppn) = self.locate(ppn);
        self.ssds()[ssd].is_unplaced_page(ppn)
    }

    /// Whether blocks of living planes are out of use.
    fn has_retired_blocks(&self) -> bool {
        self.ssds().iter().any(|flash| flash.space().has_retired_blocks())
    }

    /// Whether spare chips are in use.
    fn uses_spares(&self) -> bool {
        self.ssds().iter().any(Flash::uses_spares)
    }

    /// Channels, numbered SSD by SSD, of which a data chip is dead, and those of which a mirror chip is.
    fn channels_with_dead_chips(&self) -> (u64, u64) {
        let mut first = 0;
        self.ssds().iter().fold((0, 0), |(data, mirrors), flash| {
            let (of_data, of_mirrors) = flash.channels_with_dead_chips();
            let bits = (data | of_data << first, mirrors | of_mirrors << first);
            first += flash.nand().channels().len();
            bits
        })
    }

    /// The part of its SSD that is a physical page.
    fn part_of(&self, ppn: Ppn) -> Part {
        let (ssd, ppn) = self.locate(ppn);
        self.ssds()[ssd].part_of(ppn)
    }

    /// The physical pages of a part of an SSD.
    fn pages_of(&self, ssd: usize, part: &Part) -> impl Iterator<Item = Ppn> {
        let first = self.first_page(ssd);
        self.ssds()[ssd].pages_of(part).map(move |ppn| Ppn(first + ppn.0))
    }
}

impl Inspect for Flash {
    fn ssds(&self) -> &[Flash] {
        std::slice::from_ref(self)
    }

    fn home(&self, member: MemberId) -> (&Flash, MemberId) {
        (self, member)
    }

    fn member_in(&self, _: usize, member: u32) -> Option<u32> {
        Some(member)
    }

    fn is_of_member(&self, _: usize) -> bool {
        true
    }

    fn locate(&self, ppn: Ppn) -> (usize, Ppn) {
        (0, ppn)
    }

    fn first_page(&self, _: usize) -> u32 {
        0
    }
}
