//! How domains are formed, and in which of them a program takes its page: by arithmetic on its address.

use super::Space;
use super::domain::Domain;
use crate::Placement;
use flashraid_nand::{DATA, Nand, TRANSLATION, Takers};
use flashraid_vocabulary::{LocalPage, Member, MemberId, MemberPage, NIL, Version};

impl Space {
    /// The members of LUNs as long as no spare chip is in use.
    pub(crate) fn assign_luns(&self, nand: &mut Nand) {
        let chips = self.settings.geometry.chips_per_channel;
        for lun in 0..self.shape.luns() {
            let (channel, chip) = (self.shape.channel_of_lun(lun), self.shape.chip_of_lun(lun));
            let member = match self.settings.given.member {
                Member::Channel => channel,
                Member::Chip => channel * chips + chip,
                Member::Device => 0,
            };
            nand.set_member(lun, (chip < chips).then_some(member));
        }
    }

    /// The member's planes, as offsets from its first channel's first plane, in the order in which static placement cycles through them: through
    /// the channels first, if the member has several.
    fn order_static_planes(&self) -> Vec<u32> {
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
                    let offset = self.shape.plane_offset(index(b'W'), index(b'D'), index(b'P'));
                    planes.extend((0..channels).map(|channel| channel * self.shape.planes_per_channel() + offset));
                }
            }
        }
        planes
    }

    /// Forms the domains, and lets planes join them.
    pub(crate) fn form_domains(&mut self, nand: &mut Nand) {
        self.static_planes = self.order_static_planes();
        let channels = self.settings.geometry.channels;
        let chips = self.settings.geometry.chips_per_channel;
        let luns_of = |chips: &mut dyn Iterator<Item = u32>| chips.fold(0, |mask, chip| mask | self.shape.chip_luns(chip));
        let all_luns = luns_of(&mut (0..chips));
        let mirrors = luns_of(&mut (0..chips).filter(|chip| self.settings.is_mirror_chip(*chip)));
        let domain = |channels: (u32, u32), luns: u64| Takers::new(channels, luns, DATA);
        let of_member = |m: u32| match self.settings.given.member {
            Member::Chip => domain((m / chips, m / chips + 1), self.shape.chip_luns(m % chips)),
            Member::Channel => domain((m, m + 1), all_luns & !mirrors),
            Member::Device => domain((0, channels), all_luns),
        };
        let is_static = matches!(self.settings.placement, Placement::Static | Placement::Blocks);
        let mut takers: Vec<Takers> = match self.settings.placement {
            Placement::Static | Placement::Blocks => (0..self.shape.data_planes())
                .map(|plane| {
                    let lun = nand.places().lun_of_plane(plane);
                    let channel = self.shape.channel_of_lun(lun);
                    domain((channel, channel + 1), 1 << (lun % self.shape.luns_per_channel))
                })
                .collect(),
            Placement::Member => {
                let copies = (0..channels).filter(|_| mirrors != 0).map(|c| domain((c, c + 1), mirrors));
                (0..self.members).map(of_member).chain(copies).collect()
            }
            Placement::Groups(groups) => {
                let size = channels / groups;
                (0..groups).map(|g| domain((g * size, (g + 1) * size), all_luns)).collect()
            }
        };
        let translation_domains = takers.len() as u32;
        if self.settings.translation_blocks > 0 {
            takers.extend((0..self.members).map(|member| Takers { kind: TRANSLATION, ..of_member(member) }));
        }
        if self.shape.lanes > 1 {
            nand.places_mut().set_lanes(self.order_lanes());
        }
        let is_alone = |id: u32| (is_static || self.shape.lanes > 1) && id < translation_domains;
        let plane = |id: u32| if is_alone(id) { id } else { NIL };
        self.domains = (0..).zip(&takers).map(|(id, takers)| Domain::new(plane(id), takers)).collect();
        self.translation_domains = translation_domains;
        nand.set_domains(takers);
        let domain_of = |plane: u32| match nand.member_of_lun(nand.places().lun_of_plane(plane)) {
            None => NIL,
            Some(member) if plane < self.shape.data_planes() => self.find_domain(plane, nand.places().lun_of_plane(plane), member),
            Some(member) => self.translation_domains + member,
        };
        self.domain_of_plane = (0..self.planes()).map(domain_of).collect();
        for plane in 0..self.planes() {
            self.join_domain(nand, plane);
        }
        for (id, _) in (0..).zip(&self.domains).filter(|(_, domain)| domain.living_planes > 0) {
            nand.serve_domain(id);
        }
    }

    /// With superblocks, the planes of flash that are their lanes: of each domain the first planes of the LUNs, in each channel one after the other, then the
    /// next. So program units that follow each other are on different channels.
    fn order_lanes(&self) -> Vec<u32> {
        let shape = &self.shape;
        let places = 0..shape.luns() * shape.planes_per_lun;
        let domain = |lun: u32| {
            let (channel, chip) = (shape.channel_of_lun(lun), shape.chip_of_lun(lun));
            match (self.settings.placement, self.settings.given.member) {
                (Placement::Groups(groups), _) => channel / (self.settings.geometry.channels / groups),
                (_, Member::Channel) => channel,
                (_, Member::Chip) => channel * self.settings.geometry.chips_per_channel + chip,
                (_, Member::Device) => 0,
            }
        };
        let mut lanes: Vec<u32> = places.collect();
        lanes.sort_by_key(|place| {
            let lun = place / shape.planes_per_lun;
            (domain(lun), place % shape.planes_per_lun, lun % shape.luns_per_channel, shape.channel_of_lun(lun))
        });
        lanes
    }

    fn find_domain(&self, plane: u32, lun: u32, member: u32) -> u32 {
        let channel = self.shape.channel_of_lun(lun);
        match self.settings.placement {
            Placement::Member if self.settings.member_is_device() => 0,
            Placement::Static | Placement::Blocks => plane,
            Placement::Member => {
                let is_copy = !self.settings.member_is_chip() && self.settings.is_mirror_chip(self.shape.chip_of_lun(lun));
                member + if is_copy { self.members } else { 0 }
            }
            Placement::Groups(groups) => channel / (self.settings.geometry.channels / groups),
        }
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
        let planes_per_channel = self.shape.planes_per_channel();
        if self.settings.member_is_chip() {
            let chips = self.settings.geometry.chips_per_channel;
            member / chips * planes_per_channel + offset + self.shape.plane_offset(member % chips, 0, 0)
        } else {
            member * planes_per_channel + offset
        }
    }

    /// The instance in which a page of this logical block of a member goes.
    pub(crate) fn domain_of_block(&self, address: MemberPage) -> u32 {
        self.static_plane(MemberPage { page: LocalPage(address.page.0 / self.shape.pages_per_block), ..address })
    }

    /// The domain of a plane; `NIL` for those of spare chips that replace none.
    #[inline]
    pub(crate) fn domain_of_plane(&self, plane: u32) -> u32 {
        self.domain_of_plane[plane as usize]
    }

    /// Number of planes, translation planes included.
    pub fn planes(&self) -> u32 {
        self.blocks.planes.len() as u32
    }

    /// Number of space domains.
    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    pub(crate) fn holds_copies(&self, domain: u32) -> bool {
        self.settings.given.mirror_chips > 0 && (self.members..2 * self.members).contains(&domain)
    }

    /// The member whose data a lane of a plane holds; `None` of one with copies or translation pages, or of a spare chip that replaces none.
    pub(crate) fn member_of_data(&self, plane: u32, lane: u32, nand: &Nand) -> Option<u32> {
        let domain = self.domain_of_plane(plane);
        let holds_data = plane < self.shape.data_planes() && domain != NIL && !self.holds_copies(domain);
        holds_data.then(|| nand.member_of_lun(nand.places().lun_of_lane(plane, lane)).expect("planes in use are of a member"))
    }

    /// Whether pages of the domain are gone for good.
    pub(crate) fn has_losses(&self, domain: u32) -> bool {
        let planes = (0..self.planes()).filter(|plane| self.domain_of_plane(*plane) == domain);
        let mut states = planes.map(|plane| &self.blocks.planes[plane as usize]);
        states.any(|plane| plane.retired > 0 || plane.dead_lanes != 0) || !self.domain_is_alive(domain)
    }

    /// The domain of a member's mirror chips, if it has any.
    pub(crate) fn mirror_domain(&self, member: MemberId) -> Option<u32> {
        (self.settings.given.mirror_chips > 0).then(|| self.members + u32::from(member.0))
    }

    /// Whether anything of the domain lives, full or not.
    pub fn domain_is_alive(&self, domain: u32) -> bool {
        self.domains[domain as usize].living_planes > 0
    }
}
