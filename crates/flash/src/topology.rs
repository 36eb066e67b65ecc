//! Where everything is: numbers of channels, units, planes, blocks and pages, and which planes form a space domain.

use crate::mapping::space::{DATA, Domain, NIL, Pool, TRANSLATION};
use crate::numbering::Site;
use crate::{Flash, Placement};
use flashraid_vocabulary::{Member, MemberPage, Ppn, Version};
use std::ops::Range;

impl Flash {
    // ---- domains ----

    /// The member's planes, as offsets from its first channel's first plane, in the order in which static placement cycles through them: through
    /// the channels first, if the member has several.
    pub(crate) fn order_static_planes(&self) -> Vec<u32> {
        let geometry = self.settings.geometry;
        let chips = if self.settings.member_is_chip() { 1 } else { geometry.chips_per_channel };
        let channels = if self.settings.member_is_device() { geometry.channels } else { 1 };
        let extent = |level: u8| match level {
            b'W' => chips,
            b'D' => geometry.dies_per_chip,
            _ => geometry.planes_per_die,
        };
        let order = self.settings.static_order;
        let mut planes = Vec::new();
        for slow in 0..extent(order[2]) {
            for middle in 0..extent(order[1]) {
                for fast in 0..extent(order[0]) {
                    let index = |level: u8| [fast, middle, slow][order.iter().position(|l| *l == level).expect("a permutation")];
                    let offset = self.plane_offset(index(b'W'), index(b'D'), index(b'P'));
                    planes.extend((0..channels).map(|channel| channel * self.planes_per_channel() + offset));
                }
            }
        }
        planes
    }

    fn planes_per_channel(&self) -> u32 {
        self.units_per_channel * self.planes_per_unit
    }

    /// Number of a plane inside its channel. Units are numbered die by die, so that going round them visits all chips first.
    fn plane_offset(&self, chip: u32, die: u32, plane: u32) -> u32 {
        let geometry = self.settings.geometry;
        if self.settings.chip_serial() {
            chip * self.planes_per_unit + die * geometry.planes_per_die + plane
        } else {
            (die * self.settings.chips_per_channel() + chip) * self.planes_per_unit + plane
        }
    }

    /// Bit mask of a chip's LUNs in its channel.
    pub(crate) fn chip_units(&self, chip: u32) -> u64 {
        let chips = self.settings.chips_per_channel();
        (0..self.units_per_channel).filter(|unit| unit % chips == chip).fold(0, |mask, unit| mask | 1 << unit)
    }

    pub(crate) fn form_domains(&mut self) {
        let channels = self.settings.geometry.channels;
        let chips = self.settings.geometry.chips_per_channel;
        let all_units = (0..chips).fold(0, |mask, chip| mask | self.chip_units(chip));
        let domain = |channels: (u32, u32), units: u64| Domain {
            free_pages: 0,
            reserved: 0,
            living_planes: 0,
            plane: NIL,
            channels,
            units,
            kind: DATA,
            replacement_planes: 0,
            next_channel: channels.0,
            fill_turn: (channels.0, units.trailing_zeros(), 0),
        };
        let mirrors = (0..chips).filter(|chip| self.settings.is_mirror_chip(*chip)).fold(0, |mask, chip| mask | self.chip_units(chip));
        let of_member = |m: u32| match self.settings.given.member {
            Member::Chip => domain((m / chips, m / chips + 1), self.chip_units(m % chips)),
            Member::Channel => domain((m, m + 1), all_units & !mirrors),
            Member::Device => domain((0, channels), all_units),
        };
        let mut domains: Vec<Domain> = match self.settings.placement {
            Placement::Static | Placement::Blocks => (0..channels * self.units_per_channel * self.planes_per_unit)
                .map(|plane| {
                    let unit = plane / self.planes_per_unit;
                    let channel = unit / self.units_per_channel;
                    Domain { plane, ..domain((channel, channel + 1), 1 << (unit % self.units_per_channel)) }
                })
                .collect(),
            Placement::Member => {
                let copies = (0..channels).filter(|_| mirrors != 0).map(|c| domain((c, c + 1), mirrors));
                (0..self.members).map(of_member).chain(copies).collect()
            }
            Placement::Groups(groups) => {
                let size = channels / groups;
                (0..groups).map(|g| domain((g * size, (g + 1) * size), all_units)).collect()
            }
        };
        let translation_domains = domains.len() as u32;
        if self.settings.translation_blocks > 0 {
            domains.extend((0..self.members).map(|member| Domain { kind: TRANSLATION, ..of_member(member) }));
        }
        self.pools = vec![Pool::EMPTY; 2 * domains.len()];
        (self.domains, self.translation_domains) = (domains, translation_domains);
        let planes = self.units.len() as u32 * self.planes_per_unit;
        let sites = (0..self.blocks.planes.len() as u32).map(|plane| {
            let (kind, place) = if plane < planes { (DATA, plane) } else { (TRANSLATION, plane - planes) };
            let unit = place / self.planes_per_unit;
            let domain = match (self.member_of_unit(unit), kind) {
                (None, _) => NIL,
                (Some(member), DATA) => self.find_domain(plane, member),
                (Some(member), _) => self.translation_domains + member,
            };
            Site { unit, domain, bit: 1 << (place % self.planes_per_unit) }
        });
        self.sites = sites.collect();
        for plane in 0..self.blocks.planes.len() as u32 {
            self.join_domain(plane);
        }
        for (id, domain) in self.domains.iter().enumerate().filter(|(_, domain)| domain.living_planes > 0) {
            for channel in domain.channels.0..domain.channels.1 {
                self.channels[channel as usize].domains.push(id as u32);
            }
        }
    }

    fn find_domain(&self, plane: u32, member: u32) -> u32 {
        let unit = plane / self.planes_per_unit;
        let channel = unit / self.units_per_channel;
        match self.settings.placement {
            Placement::Member if self.settings.member_is_device() => 0,
            Placement::Static | Placement::Blocks => plane,
            Placement::Member => {
                let is_copy = !self.settings.member_is_chip() && self.settings.is_mirror_chip(self.chip_of_unit(unit));
                member + if is_copy { self.members } else { 0 }
            }
            Placement::Groups(groups) => channel / (self.settings.geometry.channels / groups),
        }
    }

    /// The members of units as long as no spare chip is in use.
    pub(crate) fn assign_units(&mut self) {
        let chips = self.settings.geometry.chips_per_channel;
        for unit in 0..self.units.len() as u32 {
            let (channel, chip) = (unit / self.units_per_channel, self.chip_of_unit(unit));
            let member = match self.settings.given.member {
                Member::Channel => channel,
                Member::Chip => channel * chips + chip,
                Member::Device => 0,
            };
            self.units[unit as usize].member = (chip < chips).then_some(member);
        }
    }

    // ---- numbers ----

    /// The member that a LUN belongs to; `None` for those of spare chips that replace none.
    pub fn member_of_unit(&self, unit: u32) -> Option<u32> {
        self.units[unit as usize].member
    }

    /// The chip, in its channel, that a LUN belongs to.
    pub fn chip_of_unit(&self, unit: u32) -> u32 {
        unit % self.units_per_channel % self.settings.chips_per_channel()
    }

    /// The units of a unit's channel.
    #[inline]
    pub(crate) fn neighbors(&self, unit: u32) -> Range<u32> {
        let first = self.channel_of_unit(unit) * self.units_per_channel;
        first..first + self.units_per_channel
    }

    /// The LUN that a physical page belongs to.
    pub fn unit_of(&self, ppn: Ppn) -> u32 {
        self.unit_of_plane(self.plane_of(ppn))
    }

    /// The first of a unit's planes of this kind.
    #[inline]
    pub(crate) fn first_plane(&self, unit: u32, kind: usize) -> u32 {
        (unit + kind as u32 * self.units.len() as u32) * self.planes_per_unit
    }

    /// The space domain in which a program of this version takes its page.
    #[inline]
    pub fn domain_of(&self, address: MemberPage, version: Version) -> u32 {
        if self.settings.is_translation(address.page) {
            return self.translation_domains + u32::from(address.member.0);
        }
        match self.settings.placement {
            Placement::Static => self.static_plane(address),
            Placement::Blocks => self.domain_of_block(address),
            Placement::Member if version == Version::Copy => self.members + u32::from(address.member.0),
            Placement::Member => u32::from(address.member.0),
            Placement::Groups(groups) => u32::from(address.member.0) / (self.members / groups),
        }
    }

    pub(crate) fn static_plane(&self, address: MemberPage) -> u32 {
        let offset = self.static_planes[(address.page.0 as usize) % self.static_planes.len()];
        let member = u32::from(address.member.0);
        let planes_per_channel = self.planes_per_channel();
        if self.settings.member_is_chip() {
            let chips = self.settings.geometry.chips_per_channel;
            member / chips * planes_per_channel + offset + self.plane_offset(member % chips, 0, 0)
        } else {
            member * planes_per_channel + offset
        }
    }

    /// The number of a member's page in the device's maps.
    #[inline]
    pub fn slot(&self, address: MemberPage) -> u32 {
        address.entry(self.members)
    }

    /// The inverse of `slot`.
    #[inline]
    pub fn address(&self, slot: u32) -> MemberPage {
        MemberPage::of_entry(slot, self.members)
    }

    #[inline]
    pub(crate) fn plane_of(&self, ppn: Ppn) -> u32 {
        self.per_plane.divide(ppn.0.into()) as u32
    }

    #[inline]
    pub(crate) fn unit_of_plane(&self, plane: u32) -> u32 {
        self.sites[plane as usize].unit
    }

    #[inline]
    pub(crate) fn domain_of_plane(&self, plane: u32) -> u32 {
        self.sites[plane as usize].domain
    }

    /// The channel of a LUN.
    #[inline]
    pub fn channel_of_unit(&self, unit: u32) -> u32 {
        self.units[unit as usize].channel
    }

    #[inline]
    pub(crate) fn block_of(&self, ppn: Ppn) -> usize {
        self.per_block.divide(ppn.0.into()) as usize
    }

    pub(crate) fn first_ppn(&self, block: usize) -> Ppn {
        Ppn(block as u32 * self.pages_per_block)
    }
}
