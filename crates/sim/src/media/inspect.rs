//! What reports, logs and messages look at, and the engine does not: plain records of the SSDs and their LUNs, and sums over them. LUNs, buses and
//! physical pages of all SSDs are numbered one SSD after the other. What checks and torture want to know beside is in `examine`.

use super::{Counting, Counts, Flash, Shape};
use flashraid_ftl::{GcCounts, Levels, MemberLoad, Settings, SlcCounts, Suspensions, Usage, packed};
use flashraid_vocabulary::{Cause, Health, MemberId, Part, Ppn, View};

/// An SSD, as it is now.
#[derive(Clone, Copy, Debug)]
pub struct SsdRecord<'a> {
    /// How it is built.
    pub settings: &'a Settings,
    /// Its LUNs, spare chips included, and its buses.
    pub luns: usize,
    /// See `luns`.
    pub buses: usize,
    /// The first member in it, or what was until something replaced it; `None` for a spare that is not in use.
    pub member: Option<u32>,
    /// Whether it is a member, or has members: it is no spare that is not in use, and none has taken its place.
    pub is_of_member: bool,
    /// Whether anything of its first member lives.
    pub is_alive: bool,
    /// What it serves.
    pub health: Health,
    /// Share of its endurance that is spent; `None` without a limit.
    pub age: Option<f64>,
    /// Erases that all its blocks together endure; `u64::MAX` without a limit.
    pub endurance: u64,
    /// Erases of all its blocks since it was new, those before time began included.
    pub total_erases: u64,
    /// Erases of each block before time began.
    pub preset_erases: u32,
    /// Erased blocks of its first member.
    pub free_blocks: u64,
    /// What GC runs have done beside the page operations.
    pub collected: GcCounts,
    /// Levels of its blocks, and reads by level, with LDPC.
    pub levels: Option<&'a Levels>,
    /// How often reads suspended its work; `None` if they may not.
    pub suspensions: Option<Suspensions>,
    /// What its SLC cache has done, if it has one.
    pub slc: Option<SlcCounts>,
}

impl SsdRecord<'_> {
    /// Whether all erases that its blocks endure are spent.
    pub fn is_worn_out(&self) -> bool {
        self.total_erases >= self.endurance
    }
}

/// A LUN, as it is now.
#[derive(Clone, Copy, Debug)]
pub struct LunRecord {
    /// The number of its SSD.
    pub ssd: usize,
    /// The member that it is part of; `None` for a spare that is not in use.
    pub member: Option<u32>,
    /// Whether it takes part: no spare that is not in use, and none that was replaced.
    pub is_in_use: bool,
    /// Whether it is of a mirror chip.
    pub is_of_mirror_chip: bool,
    /// Page operations started, by action and cause.
    pub operations: Counts,
    /// The same of flash pages, of which each may hold several pages of the map.
    pub flash_operations: Counts,
    /// Time of the array for what it has started, by cause.
    pub array_ns: [u64; Cause::COUNT],
    /// Erased blocks, and those of the plane that has the fewest.
    pub free_blocks: u64,
    /// See `free_blocks`.
    pub fewest_free_blocks: u32,
}

/// Where a physical page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of its SSD.
    pub ssd: usize,
    /// The bus in it.
    pub channel: u32,
    /// The chip, numbered channel by channel.
    pub chip: u32,
    /// The member that its LUN is part of; `None` for a spare that is not in use.
    pub member: Option<u32>,
    /// Whether it is of a mirror chip.
    pub is_of_mirror: bool,
}

/// The SSDs that media consist of, from which everything else follows.
pub(super) trait Ssds {
    /// What never changes.
    fn shape(&self) -> Shape;
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

    /// The record of an SSD.
    fn record<'a>(&self, ssd: usize, flash: &'a Flash) -> SsdRecord<'a> {
        let (nand, space) = (flash.nand(), flash.store().space());
        SsdRecord {
            settings: flash.settings(),
            luns: nand.luns().len(),
            buses: nand.channels().len(),
            member: self.member_in(ssd, 0),
            is_of_member: self.is_of_member(ssd),
            is_alive: flash.parts().is_alive(MemberId(0)),
            health: flash.gc().health(),
            age: space.age(),
            endurance: space.endurance(),
            total_erases: space.total_erases(),
            preset_erases: space.preset_erases(),
            free_blocks: flash.parts().free_blocks(0),
            collected: flash.gc().counts(),
            levels: nand.levels(),
            suspensions: nand.suspensions(),
            slc: space.slc_counts(),
        }
    }
}

/// Media, as what they consist of.
pub(super) trait OfSsds {
    type Ssds: Ssds;
    /// The SSDs.
    fn parts(&self) -> &Self::Ssds;
    /// Time in use of the host link of each SSD, towards it and from it, until `time_ns`, by cause; empty if there are no links.
    fn links_busy_ns(&self, time_ns: u64) -> Vec<[[u64; Cause::COUNT]; 2]>;
}

/// See the module.
pub trait Inspect: Counting + View {
    /// What never changes.
    fn shape(&self) -> Shape;
    /// The SSDs.
    fn ssds(&self) -> Vec<SsdRecord<'_>>;
    /// All LUNs.
    fn luns(&self) -> Vec<LunRecord>;
    /// Where a physical page lies.
    fn place_of(&self, ppn: Ppn) -> Place;
    /// The part of its SSD that is a physical page.
    fn part_of(&self, ppn: Ppn) -> Part;
    /// Time in use of each bus until `time_ns`, by cause.
    fn buses_busy_ns(&self, time_ns: u64) -> Vec<[u64; Cause::COUNT]>;
    /// Time in use of the host link of each SSD, towards it and from it, until `time_ns`, by cause; empty if there are no links.
    fn links_busy_ns(&self, time_ns: u64) -> Vec<[[u64; Cause::COUNT]; 2]>;
    /// Time in use of each LUN until `time_ns`, by cause.
    fn luns_busy_ns(&self, time_ns: u64) -> Vec<[u64; Cause::COUNT]>;
    /// Whether a LUN works at something that it began before.
    fn is_at_work_since_before(&self, time_ns: u64) -> bool;
    /// Load of a member.
    fn load(&self, member: MemberId) -> MemberLoad;
    /// Whether anything of the member lives.
    fn is_alive(&self, member: MemberId) -> bool;
    /// Versions of the member's pages that are lost. Looks at all of them.
    fn lost_versions_of(&self, member: MemberId) -> u64;
    /// Versions that are lost. Looks at all.
    fn lost_versions(&self) -> u64 {
        (0..self.shape().members).map(|member| self.lost_versions_of(MemberId(member as u16))).sum()
    }
    /// How much space there is, and how much of it holds pages.
    fn usage(&self) -> Usage;
    /// Erase counts of the blocks of an SSD that are in use.
    fn erase_counts_of(&self, ssd: usize) -> Box<dyn Iterator<Item = u32> + '_>;
}

impl<S: OfSsds + Counting + View> Inspect for S {
    fn shape(&self) -> Shape {
        self.parts().shape()
    }

    fn ssds(&self) -> Vec<SsdRecord<'_>> {
        self.parts().ssds().iter().enumerate().map(|(ssd, flash)| self.parts().record(ssd, flash)).collect()
    }

    fn luns(&self) -> Vec<LunRecord> {
        let of_ssd = |(ssd, flash): (usize, &'_ Flash)| {
            let (nand, space, settings, is_of_member) =
                (flash.nand(), flash.store().space(), flash.settings(), self.parts().is_of_member(ssd));
            (0..nand.luns().len() as u32)
                .map(move |lun| {
                    let member = nand.member_of_lun(lun).and_then(|member| self.parts().member_in(ssd, member));
                    LunRecord {
                        ssd,
                        member,
                        is_in_use: is_of_member && member.is_some() && space.is_in_use(lun, flash.nand().places()),
                        is_of_mirror_chip: settings.given.mirror_chips > 0 && settings.is_mirror_chip(nand.shape().chip_of_lun(lun)),
                        operations: nand.luns()[lun as usize].operations,
                        flash_operations: *packed::flash_operations(nand, lun),
                        array_ns: nand.luns()[lun as usize].array_ns,
                        free_blocks: space.free_blocks_of_lun(lun, flash.nand().places()),
                        fewest_free_blocks: space.free_blocks_of_planes(lun, flash.nand().places()).min().unwrap_or(0),
                    }
                })
                .collect::<Vec<_>>()
        };
        self.parts().ssds().iter().enumerate().flat_map(of_ssd).collect()
    }

    fn place_of(&self, ppn: Ppn) -> Place {
        let (ssd, ppn) = self.parts().locate(ppn);
        let flash = &self.parts().ssds()[ssd];
        let (nand, lun) = (flash.nand(), flash.nand().places().lun_of(ppn));
        Place {
            ssd,
            channel: nand.channel_of_lun(lun),
            chip: nand.channel_of_lun(lun) * flash.settings().chips_per_channel() + nand.shape().chip_of_lun(lun),
            member: nand.member_of_lun(lun).and_then(|member| self.parts().member_in(ssd, member)),
            is_of_mirror: flash.store().space().is_of_mirror(ppn),
        }
    }

    fn part_of(&self, ppn: Ppn) -> Part {
        let (ssd, ppn) = self.parts().locate(ppn);
        self.parts().ssds()[ssd].parts().part_of(ppn)
    }

    fn buses_busy_ns(&self, time_ns: u64) -> Vec<[u64; Cause::COUNT]> {
        let buses = |flash: &'_ Flash| 0..flash.nand().channels().len() as u32;
        self.parts().ssds().iter().flat_map(|flash| buses(flash).map(|bus| flash.nand().bus_busy_ns(bus, time_ns))).collect()
    }

    fn links_busy_ns(&self, time_ns: u64) -> Vec<[[u64; Cause::COUNT]; 2]> {
        OfSsds::links_busy_ns(self, time_ns)
    }

    fn luns_busy_ns(&self, time_ns: u64) -> Vec<[u64; Cause::COUNT]> {
        let luns = |flash: &'_ Flash| 0..flash.nand().luns().len() as u32;
        self.parts().ssds().iter().flat_map(|flash| luns(flash).map(|lun| flash.nand().lun_busy_ns(lun, time_ns))).collect()
    }

    fn is_at_work_since_before(&self, time_ns: u64) -> bool {
        self.parts().ssds().iter().any(|flash| flash.nand().is_at_work_since_before(time_ns))
    }

    fn load(&self, member: MemberId) -> MemberLoad {
        let (flash, member) = self.parts().home(member);
        flash.nand().loads()[member]
    }

    fn is_alive(&self, member: MemberId) -> bool {
        let (flash, member) = self.parts().home(member);
        flash.parts().is_alive(member)
    }

    fn lost_versions_of(&self, member: MemberId) -> u64 {
        let (flash, member) = self.parts().home(member);
        flash.store().lost_versions(member)
    }

    fn usage(&self) -> Usage {
        let in_use = self.parts().ssds().iter().enumerate().filter(|(ssd, _)| self.parts().is_of_member(*ssd));
        in_use.map(|(_, flash)| flash.store().space().usage()).fold(Usage::default(), |sum, usage| sum + usage)
    }

    fn erase_counts_of(&self, ssd: usize) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.parts().ssds()[ssd].store().space().erase_counts())
    }
}

impl Ssds for Flash {
    fn shape(&self) -> Shape {
        Shape::of(self)
    }

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

impl OfSsds for Flash {
    type Ssds = Self;

    fn parts(&self) -> &Self {
        self
    }

    fn links_busy_ns(&self, _: u64) -> Vec<[[u64; Cause::COUNT]; 2]> {
        Vec::new()
    }
}
