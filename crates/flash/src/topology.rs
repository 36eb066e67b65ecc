//! Where everything is: numbers of channels, units, planes, blocks and pages, and which planes form a space domain.

use crate::mapping::blocks::plane_stride;
use crate::mapping::space::{DATA, Domain, NIL, Queue, TRANSLATION};
use crate::{Flash, Placement};
use flashraid_vocabulary::{Geometry, LocalPage, MemberId, MemberPage, Ppn, Priority, Version};

/// One past the largest physical page number. There are gaps between planes (see `mapping::blocks`), so it exceeds the number of
/// pages. Translation planes, if the device has any, are numbered behind all others, as if each had all blocks of its plane.
/// `geometry` is without spare chips.
pub fn ppn_limit(geometry: &Geometry, spare_chips: u32, has_translation_planes: bool) -> u64 {
    let all = Geometry { chips_per_channel: geometry.chips_per_channel + spare_chips, ..*geometry };
    let planes = u64::from(all.channels) * all.planes_per_channel() * if has_translation_planes { 2 } else { 1 };
    planes * u64::from(plane_stride(geometry.blocks_per_plane)) * u64::from(geometry.pages_per_block)
}

/// Where a plane is: its array unit, its bit among the unit's planes, and its space domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) unit: u32,
    pub(crate) domain: u32,
    pub(crate) bit: u64,
}

/// Division by a number that does not change, as a multiplication: floor((n + 1) * floor((2^64 - 1) / d) / 2^64) is n / d for
/// all 32-bit n and d (the error of the reciprocal, below 2^-32, never reaches the next multiple).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor(u64);

impl Divisor {
    pub(crate) fn new(divisor: u32) -> Self {
        Self(u64::MAX / u64::from(divisor))
    }

    #[inline]
    pub(crate) fn divide(self, number: u32) -> u32 {
        ((u128::from(self.0) * (u128::from(number) + 1)) >> 64) as u32
    }
}

impl Flash {
    /// The member's planes, as offsets from its first channel's first plane, in the order in which static placement goes round them.
    pub(crate) fn order_static_planes(&self) -> Vec<u32> {
        let geometry = self.settings.geometry;
        let chips = if self.settings.member_is_chip { 1 } else { geometry.chips_per_channel };
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
                    planes.push(self.plane_offset(index(b'W'), index(b'D'), index(b'P')));
                }
            }
        }
        planes
    }

    /// Number of a plane inside its channel. Units are numbered die by die, so that going round them visits all chips first.
    pub(crate) fn plane_offset(&self, chip: u32, die: u32, plane: u32) -> u32 {
        let geometry = self.settings.geometry;
        if self.settings.chip_serial {
            chip * self.planes_per_unit + die * geometry.planes_per_die + plane
        } else {
            (die * self.settings.chips_per_channel() + chip) * self.planes_per_unit + plane
        }
    }

    /// Bit mask of a chip's array units in its channel.
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
            waiting: [Queue::EMPTY; Priority::COUNT],
            waiting_mask: 0,
            next_channel: channels.0,
            fill_turn: (channels.0, units.trailing_zeros(), 0),
        };
        let mirrors = (0..chips).filter(|chip| self.settings.is_mirror_chip(*chip)).fold(0, |mask, chip| mask | self.chip_units(chip));
        let of_member = |m: u32| match self.settings.member_is_chip {
            true => domain((m / chips, m / chips + 1), self.chip_units(m % chips)),
            false => domain((m, m + 1), all_units & !mirrors),
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

    /// The plane's pages are free for programs of its domain, if it has one.
    pub(crate) fn join_domain(&mut self, plane: u32) {
        let pages = self.blocks.host_pages(plane);
        let domain = self.domain_of_plane(plane);
        self.blocks.planes[plane as usize].in_use = domain != NIL;
        if domain != NIL {
            self.domains[domain as usize].free_pages += i64::from(pages);
            self.domains[domain as usize].living_planes += u32::from(self.blocks.planes[plane as usize].blocks > 0);
            self.set_writable(plane, pages > 0);
        }
    }

    fn find_domain(&self, plane: u32, member: u32) -> u32 {
        let unit = plane / self.planes_per_unit;
        let channel = unit / self.units_per_channel;
        match self.settings.placement {
            Placement::Static | Placement::Blocks => plane,
            Placement::Member => {
                let is_copy = !self.settings.member_is_chip && self.settings.is_mirror_chip(self.chip_of_unit(unit));
                member + if is_copy { self.members } else { 0 }
            }
            Placement::Groups(groups) => channel / (self.settings.geometry.channels / groups),
        }
    }

    /// The member that an array unit belongs to; `None` for those of spare chips that replace none.
    pub fn member_of_unit(&self, unit: u32) -> Option<u32> {
        self.units[unit as usize].member
    }

    /// The members of units as long as no spare chip is in use.
    pub(crate) fn assign_units(&mut self) {
        let chips = self.settings.geometry.chips_per_channel;
        for unit in 0..self.units.len() as u32 {
            let (channel, chip) = (unit / self.units_per_channel, self.chip_of_unit(unit));
            let member = if self.settings.member_is_chip { channel * chips + chip } else { channel };
            self.units[unit as usize].member = (chip < chips).then_some(member);
        }
    }

    /// The chip, in its channel, that an array unit belongs to.
    pub fn chip_of_unit(&self, unit: u32) -> u32 {
        unit % self.units_per_channel % self.settings.chips_per_channel()
    }

    /// The array unit that a physical page belongs to.
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
        let planes_per_channel = self.units_per_channel * self.planes_per_unit;
        if self.settings.member_is_chip {
            let chips = self.settings.geometry.chips_per_channel;
            member / chips * planes_per_channel + offset + self.plane_offset(member % chips, 0, 0)
        } else {
            member * planes_per_channel + offset
        }
    }

    /// The number of a member's page in the device's maps.
    #[inline]
    pub fn slot(&self, address: MemberPage) -> u32 {
        address.page.0 * self.members + u32::from(address.member.0)
    }

    /// The inverse of `slot`.
    pub fn address(&self, slot: u32) -> MemberPage {
        MemberPage { member: MemberId((slot % self.members) as u16), page: LocalPage(slot / self.members) }
    }

    #[inline]
    pub(crate) fn plane_of(&self, ppn: Ppn) -> u32 {
        self.per_plane.divide(ppn.0)
    }

    #[inline]
    pub(crate) fn unit_of_plane(&self, plane: u32) -> u32 {
        self.sites[plane as usize].unit
    }

    #[inline]
    pub(crate) fn domain_of_plane(&self, plane: u32) -> u32 {
        self.sites[plane as usize].domain
    }

    /// The channel of an array unit.
    #[inline]
    pub fn channel_of_unit(&self, unit: u32) -> u32 {
        self.units[unit as usize].channel
    }

    #[inline]
    pub(crate) fn block_of(&self, ppn: Ppn) -> usize {
        self.per_block.divide(ppn.0) as usize
    }

    pub(crate) fn first_ppn(&self, block: usize) -> Ppn {
        Ppn(block as u32 * self.pages_per_block)
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;

    #[test]
    fn divides_as_the_processor_does() {
        for divisor in (1..300).chain([4096, 65_535, 1 << 20, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX]) {
            let reciprocal = Divisor::new(divisor);
            let multiples = (0..40u32).map(|k| k.wrapping_mul(divisor)).chain([u32::MAX - u32::MAX % divisor]);
            for number in multiples.flat_map(|number| [number.wrapping_sub(1), number, number.wrapping_add(1)]).chain([u32::MAX]) {
                assert_eq!(reciprocal.divide(number), number / divisor, "{number} / {divisor}");
            }
        }
    }
}
