//! Checks that concern several settings at once, and warnings about legal settings that surprise.

use super::gather::find_scheme;
use super::{Allocation, Config, ConfigError, Device, Ftl, Mapping, Member, WearLeveling, nearest};
use crate::buffer::MOST_PAGE_BYTES;
use flashraid_flash::Placement;
use flashraid_redundancy::rebuild::{ORDERS, Order, default_order, find_order};
use flashraid_redundancy::{Build, Protects, Scheme};
use flashraid_vocabulary::{MemberPage, Version};
use serde_json::Value;

/// A parity cache with fewer entries is as good as none. Under the profiles ppc-osdb and ppc-financial with 32 requests under way, at most 0.2 % of
/// updates find their stripe's parity among 2 to 4 entries, 2 to 8 % among 8, and 18 to 27 % among 16.
const FEWEST_PARITIES: u64 = 8;
/// Pages are numbered with 30 bits.
const MOST_PHYSICAL_PAGES: u128 = (1 << 30) - 1;
/// Members, array units and planes of a unit are kept as bits of a word.
const MOST_BITS: u32 = 64;

fn refuse<T>(text: String) -> Result<T, ConfigError> {
    Err(ConfigError(text))
}

impl Config {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.device.check_counts()?;
        let (name, device) = (&self.scheme.name, &self.device.name);
        self.device.check_mirror_chips().map_err(|ConfigError(text)| ConfigError(format!("{name} on {device}: {text}")))?;
        self.device.check_mapping()?;
        let scheme = self.build_scheme()?;
        self.check_hybrid(scheme.as_ref())?;
        self.check_ftl(scheme.as_ref())?;
        let placement = self.placement(scheme.as_ref());
        if self.device.mirror_chips > 0 && placement != Placement::Member {
            return refuse(format!(
                "mirror_chips = {}: a strip and its copy are in one member: allowed with ftl = member, and allocation other than static",
                self.device.mirror_chips
            ));
        }
        self.device.check_capacity(placement)?;
        self.device.check_buffer()?;
        self.check_space(scheme.as_ref())?;
        self.rebuild_order()?;
        self.check_faults(self.space_bytes(scheme.as_ref()) / u64::from(self.device.page_bytes))
    }

    /// What the scheme is built on.
    pub(super) fn build(&self) -> Build {
        Build {
            members: self.device.members(),
            pages_per_member: self.device.pages_per_member(),
            data_chips: self.device.data_chips_per_member(),
            mirror_chips: self.device.mirror_chips,
            pages_per_chip: (u64::from(self.device.dies_per_chip * self.device.planes_per_die) * self.device.geometry().pages_per_plane())
                as u32,
            pages_held: self.device.pages_held(),
            copies_held: self.device.copies_held(),
            page_bytes: self.device.page_bytes,
            parameters: self.scheme.parameters.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
        }
    }

    /// The scheme, built for this device; or why it cannot be.
    pub fn build_scheme(&self) -> Result<Box<dyn Scheme>, ConfigError> {
        let entry = find_scheme(&self.scheme.name)?;
        (entry.build)(&self.build()).map_err(|error| ConfigError(format!("{} on {}: {error}", entry.name, self.device.name)))
    }

    /// The order of rebuild, if there is to be one: what `rebuild` and the scheme come to.
    pub fn rebuild_order(&self) -> Result<Option<&'static Order>, ConfigError> {
        let (entry, asked) = (find_scheme(&self.scheme.name)?, self.host.rebuild.as_str());
        match asked {
            "auto" => return Ok(default_order(entry)),
            "none" => return Ok(None),
            _ => {}
        }
        let suiting =
            || ["auto", "none"].into_iter().chain(ORDERS.iter().filter(|order| (order.suits)(entry).is_ok()).map(|order| order.name));
        let allowed = suiting().collect::<Vec<_>>().join(", ");
        let Some(order) = find_order(asked) else {
            let near = nearest(asked, ORDERS.iter().map(|order| order.name));
            return refuse(format!("rebuild = {asked}: allowed is {allowed}{near}"));
        };
        (order.suits)(entry).map_err(|why| ConfigError(format!("rebuild = {asked}: {why}: allowed is {allowed}")))?;
        Ok(Some(order))
    }

    /// The logical space in bytes: `space_bytes`, or else what `scheme` offers.
    pub fn space_bytes(&self, scheme: &dyn Scheme) -> u64 {
        if self.run.space_bytes > 0 { self.run.space_bytes } else { self.user_bytes(scheme) }
    }

    fn user_bytes(&self, scheme: &dyn Scheme) -> u64 {
        scheme.user_pages() * u64::from(self.device.page_bytes)
    }

    /// How programs find their plane: what `allocation` and `ftl` come to under `scheme`.
    pub fn placement(&self, scheme: &dyn Scheme) -> Placement {
        let device = &self.device;
        match (device.allocation, device.ftl) {
            _ if device.mapping.is_hybrid() => Placement::Blocks,
            (Allocation::Static, _) => Placement::Static,
            (Allocation::SemiDynamic, _) if scheme.mirror_groups().is_none() => Placement::Member,
            (_, Ftl::Auto) => {
                let widest = [Ftl::Device, Ftl::Group].into_iter().find(|ftl| may_spread(device, *ftl, scheme));
                owned_planes(widest.unwrap_or(Ftl::Member), scheme)
            }
            (_, ftl) => owned_planes(ftl, scheme),
        }
    }

    /// With block-mapped offsets pages do not move freely (SPEC 7.3): neither between the members of a mirror group, nor if they are semivalid.
    fn check_hybrid(&self, scheme: &dyn Scheme) -> Result<(), ConfigError> {
        let (name, mapping) = (&self.scheme.name, self.device.mapping);
        if !mapping.is_hybrid() {
            return Ok(());
        }
        let why = if scheme.mirror_groups().is_some() {
            "leaves it to the FTL on which channel a page goes"
        } else if self.scheme.parameters.get("gc_semivalid").is_some_and(|value| value == "move") {
            "with gc_semivalid = move has semivalid pages moved, and their offsets are taken"
        } else if self.device.mirror_chips > 0 {
            "keeps copies on mirror chips, whose pages have no offset of their own"
        } else {
            return Ok(());
        };
        refuse(format!("mapping = {}: {name} {why}: allowed is page, dftl", mapping.name()))
    }

    /// An FTL instance over several members may put two strips of a stripe on one of them. So the scheme must survive the loss of
    /// all members of an instance at once, or protect nothing anyway.
    fn check_ftl(&self, scheme: &dyn Scheme) -> Result<(), ConfigError> {
        let (device, entry) = (&self.device, find_scheme(&self.scheme.name)?);
        let (name, channels) = (&device.name, device.channels);
        if let Some(groups) = scheme.mirror_groups()
            && !channels.is_multiple_of(groups)
        {
            return refuse(format!(
                "{} on {name}: {groups} mirror groups of equally many channels cannot be made of {channels}",
                entry.name
            ));
        }
        if device.ftl == Ftl::Auto || may_spread(device, device.ftl, scheme) {
            return Ok(());
        }
        if let Placement::Groups(groups) = owned_planes(device.ftl, scheme)
            && !channels.is_multiple_of(groups)
        {
            return refuse(format!("ftl = group: halves need an even number of channels, and {name} has {channels}"));
        }
        let mut allowed = vec![Ftl::Auto, Ftl::Member, Ftl::Group, Ftl::Device];
        allowed.retain(|ftl| *ftl == Ftl::Auto || may_spread(device, *ftl, scheme));
        let allowed: Vec<_> = allowed.into_iter().map(Ftl::name).collect();
        refuse(format!(
            "ftl = {}: {} binds each strip to its member, and an FTL instance over several members could put two strips that \
             protect each other on one: allowed is {}",
            device.ftl.name(),
            entry.name,
            allowed.join(", ")
        ))
    }

    fn check_space(&self, scheme: &dyn Scheme) -> Result<(), ConfigError> {
        let (run, user, space) = (&self.run, self.user_bytes(scheme), self.space_bytes(scheme));
        if run.space_bytes > user {
            return refuse(format!(
                "space_bytes = {}: {} on {} offers {user} bytes, allowed is at most that",
                run.space_bytes, self.scheme.name, self.device.name
            ));
        }
        let page_bytes = self.device.page_bytes;
        if space < u64::from(page_bytes) {
            return refuse(format!("space_bytes = {space}: allowed is at least one page ({page_bytes} bytes)"));
        }
        if run.verify_every > 0 && !run.verify {
            return refuse(format!("verify_every = {}: allowed with verify = true only", run.verify_every));
        }
        if run.fill > 0.0 && run.fill_bytes > 0 {
            return refuse(format!("fill = {} and fill_bytes = {}: allowed is one of them", run.fill, run.fill_bytes));
        }
        if run.fill_bytes > space {
            return refuse(format!("fill_bytes = {}: the logical space is {space} bytes, allowed is at most that", run.fill_bytes));
        }
        Ok(())
    }

    /// What is legal, yet likely to surprise; one line each.
    pub fn warnings(&self) -> Result<Vec<String>, ConfigError> {
        let scheme = self.build_scheme()?;
        let (run, device, derived) = (&self.run, &self.device, self.device.derived());
        let space = self.space_bytes(scheme.as_ref());
        let filled = if run.fill_bytes > 0 { run.fill_bytes as f64 } else { run.fill * space as f64 };
        let (written, logical) = (filled / self.user_bytes(scheme.as_ref()) as f64, derived.logical_pages as f64);
        let data_share = f64::from(device.data_chips_per_member()) / f64::from(device.data_chips_per_member() + device.mirror_chips);
        let free = 1.0 - written * logical / (derived.physical_pages as f64 * data_share);
        let mut warnings = Vec::new();
        if device.gc_threshold > free {
            warnings.push(format!(
                "gc_threshold = {}: collection starts below {:.1} % free pages, and the fill leaves {:.1} %: nearly every program will \
                 collect a block, many with few pages to reclaim",
                device.gc_threshold,
                100.0 * device.gc_threshold,
                100.0 * free
            ));
        }
        warnings.extend(self.useless_nvram(scheme.as_ref()));
        Ok(warnings)
    }

    /// NVRAM that does not do what the scheme has it for.
    fn useless_nvram(&self, scheme: &dyn Scheme) -> Option<String> {
        let (name, device) = (&self.scheme.name, &self.device);
        if name == "no-pc" && device.nvram_buffer_bytes == 0 {
            return Some(
                "no-pc without a write buffer in NVRAM (nvram_buffer_bytes = 0) is raid5 under another name: it is there for comparison with \
                 fpc, ppc and ca-ppc behind the same buffer"
                    .into(),
            );
        }
        let entries = scheme.guard().map_or(0, |guard| guard.most_entries);
        (1..FEWEST_PARITIES).contains(&entries).then(|| {
            format!(
                "parity_cache_bytes = {}: room for {entries} delayed parities of {} bytes: nearly every update has another stripe's parity written \
                 first; from {} bytes on there is room for {FEWEST_PARITIES}",
                self.scheme.parameters["parity_cache_bytes"],
                device.page_bytes,
                FEWEST_PARITIES * u64::from(device.page_bytes)
            )
        })
    }
}

/// A word without its quotes, a number as it is written.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// The planes that an FTL instance owns where nothing else restricts it. `ftl` is not `auto`.
fn owned_planes(ftl: Ftl, scheme: &dyn Scheme) -> Placement {
    match ftl {
        Ftl::Auto => unreachable!("stands for one of the others"),
        Ftl::Member => Placement::Member,
        Ftl::Group => Placement::Groups(scheme.mirror_groups().unwrap_or(2)),
        Ftl::Device => Placement::Groups(1),
    }
}

/// Whether FTL instances of this kind keep the scheme's promise. Instance i owns the i-th of equally many members in a row.
fn may_spread(device: &Device, ftl: Ftl, scheme: &dyn Scheme) -> bool {
    let Placement::Groups(groups) = owned_planes(ftl, scheme) else { return true };
    let (members, size) = (u32::from(device.members()), u32::from(device.members()) / groups);
    let mut instances = (0..groups).map(|group| u64::MAX >> (64 - size) << (group * size));
    device.channels.is_multiple_of(groups) && (scheme.protects() == Protects::None || instances.all(|lost| survives(scheme, lost, members)))
}

/// Whether the scheme recovers its pages with all members of `lost` gone; asked of as many stripes as layouts need to repeat.
pub(super) fn survives(scheme: &dyn Scheme, lost: u64, members: u32) -> bool {
    let pages = scheme.user_pages().min(u64::from(members * members));
    let mut sources = Vec::new();
    (0..pages).map(flashraid_vocabulary::Lpn).all(|lpn| {
        sources.clear();
        let is_lost = |page: MemberPage, _| lost >> page.member.0 & 1 == 1;
        !is_lost(scheme.locate(lpn), Version::Current) || scheme.recover(lpn, &is_lost, &mut sources)
    })
}

impl Device {
    /// What can be said without a scheme: of placements, the one that asks least of the device.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_counts()?;
        self.check_mirror_chips()?;
        self.check_mapping()?;
        self.check_capacity(match self.allocation {
            _ if self.mapping.is_hybrid() => Placement::Blocks,
            Allocation::Static => Placement::Static,
            Allocation::SemiDynamic | Allocation::Dynamic => Placement::Groups(1),
        })?;
        self.check_buffer()
    }

    fn check_buffer(&self) -> Result<(), ConfigError> {
        let (page_bytes, bytes) = (self.page_bytes, self.buffer_bytes_given());
        let (key, value) = match (self.nvram_buffer_bytes, self.buffer_bytes, self.buffer_bytes_per_gib) {
            (0, 0, 0) => return Ok(()),
            (0, 0, per_gib) => ("buffer_bytes_per_gib", per_gib),
            (0, dram, _) => ("buffer_bytes", dram),
            (nvram, 0, 0) => ("nvram_buffer_bytes", nvram),
            (nvram, ..) => {
                return refuse(format!(
                    "nvram_buffer_bytes = {nvram}: allowed beside a buffer in DRAM (buffer_bytes, buffer_bytes_per_gib) is 0"
                ));
            }
        };
        if page_bytes > MOST_PAGE_BYTES {
            return refuse(format!(
                "{key} = {value}: with page_bytes = {page_bytes} allowed is 0, a buffer takes pages up to {MOST_PAGE_BYTES}"
            ));
        }
        if bytes < u64::from(page_bytes) {
            return refuse(format!("{key} = {value}: makes a buffer of {bytes} bytes, allowed is at least one page ({page_bytes} bytes)"));
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), ConfigError> {
        let limits = [
            ("chips_per_channel", self.chips_per_channel.to_string(), self.units_per_channel(), "array units on each channel"),
            ("spare_chips", self.spare_chips.to_string(), self.units_with_spares_per_channel(), "array units on each channel"),
            ("planes_per_die", self.planes_per_die.to_string(), self.planes_per_unit(), "planes in each array unit"),
            ("member", self.member.name().into(), u32::from(self.members()), "members"),
        ];
        for (key, value, count, what) in limits {
            if count > MOST_BITS {
                return refuse(format!("{key} = {value}: makes {count} {what}, allowed are at most {MOST_BITS}"));
            }
        }
        let chips = self.channels * (self.chips_per_channel + self.spare_chips);
        let planes = u128::from(chips) * u128::from(self.dies_per_chip) * u128::from(self.planes_per_die);
        let pages = planes * u128::from(self.blocks_per_plane) * u128::from(self.pages_per_block);
        if pages > MOST_PHYSICAL_PAGES {
            return refuse(format!(
                "blocks_per_plane = {}: {planes} planes with {} pages a block make {pages} physical pages, \
                 allowed are at most {MOST_PHYSICAL_PAGES}",
                self.blocks_per_plane, self.pages_per_block
            ));
        }
        Ok(())
    }

    /// Mirror chips belong to a channel, and so do the strips that they copy.
    fn check_mirror_chips(&self) -> Result<(), ConfigError> {
        let mirrors = self.mirror_chips;
        if mirrors == 0 {
            return Ok(());
        }
        let why = if mirrors >= self.chips_per_channel {
            let (most, enough) = (self.chips_per_channel - 1, mirrors + 1);
            format!(
                "these are chips of a channel, and one more at least must hold data: allowed are 0 to {most}, or chips_per_channel from {enough}"
            )
        } else if self.member != Member::Channel {
            "mirror chips belong to a channel, allowed with member = channel only".into()
        } else if self.copies_held() == 0 {
            format!("with gc_hard = {} no page of them could always be collected", self.gc_hard)
        } else {
            return Ok(());
        };
        refuse(format!("mirror_chips = {mirrors}: {why}"))
    }

    /// Translation pages are stored on two members, in blocks of their own. Hybrid mapping has log blocks in each plane, and no pages of free choice.
    fn check_mapping(&self) -> Result<(), ConfigError> {
        match self.mapping {
            Mapping::Page => return Ok(()),
            Mapping::Bast | Mapping::Fast => return self.check_log_blocks(),
            Mapping::Dftl => {}
        }
        if self.members() < 2 {
            return refuse("mapping = dftl: each translation page is stored on two members, allowed with at least 2 of them".into());
        }
        let (blocks, least) = (self.translation_blocks(), self.gc_hard + 1);
        if blocks + least > self.blocks_per_plane {
            return refuse(format!(
                "mapping = dftl: {} translation pages in each member take {blocks} blocks of each plane, and data at least {least}: allowed is \
                 page, or blocks_per_plane from {}",
                self.translation_pages(),
                blocks + least
            ));
        }
        Ok(())
    }

    fn check_log_blocks(&self) -> Result<(), ConfigError> {
        let (mapping, planes) = (self.mapping.name(), self.dies_per_chip * self.planes_per_die);
        let least = if self.mapping == Mapping::Fast { 2 } else { 1 };
        if self.log_blocks_per_plane() < least {
            return refuse(format!(
                "log_blocks = {}: mapping = {mapping} needs {least} in each of the {planes} planes of a chip, allowed is from {}",
                self.log_blocks,
                least * planes
            ));
        }
        for (key, value, is_refused, allowed) in [
            ("multi_plane", "true", self.multi_plane, "false"),
            ("wear_leveling", "static", self.wear_leveling == WearLeveling::Static, "none, dynamic"),
            ("ftl", self.ftl.name(), matches!(self.ftl, Ftl::Group | Ftl::Device), "auto, member"),
        ] {
            if is_refused {
                return refuse(format!(
                    "{key} = {value}: with mapping = {mapping} pages lie at their offsets in blocks: allowed is {allowed}"
                ));
            }
        }
        Ok(())
    }

    /// Refuses what could run out of space for good. Looks at `gc_hard`, never at `gc_threshold`.
    fn check_capacity(&self, placement: Placement) -> Result<(), ConfigError> {
        let (domain, most) = (self.space_domain(placement), self.most_logical_pages(placement));
        if (1..=most).contains(&domain.logical_pages) {
            return Ok(());
        }
        if placement == Placement::Blocks {
            let blocks = domain.logical_pages / u64::from(self.pages_per_block);
            let advice = match self.over_provisioning_bounds_ppm(placement) {
                Some((_, most)) if blocks == 0 => format!("over_provisioning up to {}", most as f64 / 1e6),
                Some((least, _)) => format!("over_provisioning from {}", least as f64 / 1e6),
                None => "a larger blocks_per_plane".into(),
            };
            if blocks == 0 {
                return refuse(format!(
                    "over_provisioning = {}: leaves none of the {} blocks of a plane for data: allowed is {advice}",
                    self.over_provisioning, self.blocks_per_plane
                ));
            }
            return refuse(format!(
                "over_provisioning = {}: {blocks} logical blocks, {} log blocks and one for merges make {}, and a plane has {}: allowed is \
                 {advice}, or fewer log_blocks",
                self.over_provisioning,
                self.log_blocks_per_plane(),
                blocks + u64::from(self.log_blocks_per_plane()) + 1,
                self.blocks_per_plane
            ));
        }
        let advice = match self.over_provisioning_bounds_ppm(placement) {
            Some((_, most)) if domain.logical_pages == 0 => format!("allowed is over_provisioning up to {}", most as f64 / 1e6),
            Some((least, _)) => format!("allowed is over_provisioning from {}", least as f64 / 1e6),
            None => "no over_provisioning helps: allowed is a smaller gc_hard or a larger blocks_per_plane".into(),
        };
        refuse(format!(
            "over_provisioning = {}: {} x {} blocks of {} pages would hold {} logical pages, and at least 1 and at most {most} \
             can always be collected (gc_hard = {} blocks of each plane and two more are kept free); {advice}",
            self.over_provisioning,
            domain.planes,
            self.blocks_per_plane - self.translation_blocks(),
            self.pages_per_block,
            domain.logical_pages,
            self.gc_hard
        ))
    }
}
