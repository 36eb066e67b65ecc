//! What a configuration comes to: the scheme, built for the device, the order of rebuild, the logical space, and where programs find their planes.

use super::error::refuse;
use super::{Allocation, Array, Config, ConfigError, Device, Ftl, Injection, Member, Until, find_scheme};
use flashraid_ftl::Placement;
use flashraid_redundancy::rebuild::{ORDERS, RebuildOrder, default_order, find_order};
use flashraid_redundancy::{Build, Protects, Scheme};
use flashraid_vocabulary::names::nearest;
use flashraid_vocabulary::{MemberPage, Version};
use serde_json::Value;

impl Config {
    /// A configuration for each SSD, the spare ones last, in which it is the device.
    pub(crate) fn by_ssd(&self) -> impl Iterator<Item = Self> {
        self.array.each(&self.device).into_iter().map(|device| Self { device, ..self.clone() })
    }

    /// Number of members: of the SSD, or the SSDs of an array.
    pub fn members(&self) -> u16 {
        self.array.members(&self.device)
    }

    /// Whether the scheme replaces SSDs itself: then spare ones are members of its own.
    pub(super) fn replaces_devices(&self) -> bool {
        find_scheme(&self.scheme.name).is_ok_and(|entry| entry.replaces_devices)
    }

    /// Whether GC in its SSDs and migration are coordinated (SPEC 5.7).
    pub(crate) fn coordinates_migration(&self) -> bool {
        find_scheme(&self.scheme.name).is_ok_and(|entry| entry.coordinates_gc.is_some_and(|choice| self.scheme.makes(choice)))
    }

    /// What the scheme is built on.
    pub fn build(&self) -> Build {
        Build {
            members: self.members(),
            pages_per_member: self.array.least(&self.device, Device::pages_per_member),
            data_chips: self.device.data_chips_per_member(),
            mirror_chips: self.device.mirror_chips,
            pages_per_chip: (u64::from(self.device.dies_per_chip * self.device.planes_per_die) * self.device.geometry().pages_per_plane())
                as u32,
            pages_held: self.array.least(&self.device, Device::pages_held),
            copies_held: self.device.copies_held(),
            page_bytes: self.device.unit_bytes(),
            chunk_pages: self.host.chunk_units,
            spares: if self.replaces_devices() { self.array.spare_devices as u16 } else { 0 },
            eldest_first: self.eldest_first(),
            idle_ns: self.device.idle_ns,
            parameters: self.scheme.parameters.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
        }
    }

    /// SSDs of an array by the age that they begin with, the eldest first; of equal ones the earlier first (SPEC 5.12). None if all are new.
    fn eldest_first(&self) -> Vec<u16> {
        let Array { devices, ages, .. } = &self.array;
        let mut order: Vec<u16> = (0..*devices as u16).filter(|_| !self.array.is_single() && !ages.is_empty()).collect();
        let ssds = self.array.each(&self.device);
        let limit = |ssd: u16| u64::from(ssds[usize::from(ssd)].pe_limit.max(1));
        let erases = |ssd: u16| u64::from(self.array.preset_erases(ssd.into(), ssds[usize::from(ssd)].pe_limit));
        order.sort_by(|one, other| (erases(*other) * limit(*one)).cmp(&(erases(*one) * limit(*other))));
        order
    }

    /// The scheme, built for this device; or why it cannot be.
    pub fn build_scheme(&self) -> Result<Box<dyn Scheme>, ConfigError> {
        let entry = find_scheme(&self.scheme.name)?;
        entry.build(&self.build()).map_err(|error| ConfigError(format!("{} on {}: {error}", entry.name, self.device.name)))
    }

    /// Into how many mirror groups the scheme divides the members, if the FTL places each page freely in its group.
    pub(super) fn mirror_groups(&self) -> Option<u32> {
        find_scheme(&self.scheme.name).ok()?.groups(&self.build()).ok()?
    }

    /// The order of rebuild, if there is to be one: what `rebuild` and the scheme come to.
    pub fn rebuild_order(&self) -> Result<Option<&'static RebuildOrder>, ConfigError> {
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

    /// When the run ends: with the trace, where nothing wears out.
    pub fn until(&self) -> Result<Until, ConfigError> {
        if self.array.is_single() { Ok(Until::End) } else { self.run.until.parse() }
    }

    /// The faults to inject, and the SSDs to replace, in the order in which they were given.
    pub fn faults(&self) -> Result<Vec<Injection>, ConfigError> {
        let faults = self.run.fail.iter().map(|text| Injection::fault(text));
        let replacements = self.run.replace.iter().map(|text| Injection::replacement(text));
        // A single SSD is replaced by nothing.
        faults.chain(replacements.filter(|read| read.is_err() || !self.array.is_single())).collect()
    }

    /// The logical space in bytes: `space_bytes`, or else what `scheme` offers.
    pub fn space_bytes(&self, scheme: &dyn Scheme) -> u64 {
        if self.run.space_bytes > 0 { self.run.space_bytes } else { self.user_bytes(scheme) }
    }

    pub(super) fn user_bytes(&self, scheme: &dyn Scheme) -> u64 {
        scheme.user_pages() * u64::from(self.device.unit_bytes())
    }

    /// How programs find their plane: what `allocation` and `ftl` come to under `scheme`.
    pub fn placement(&self, scheme: &dyn Scheme) -> Placement {
        let device = &self.device;
        match (device.allocation, device.ftl) {
            _ if device.mapping.is_hybrid() => Placement::Blocks,
            (Allocation::Static, _) => Placement::Static,
            _ if device.member == Member::Device => Placement::Member,
            (Allocation::DynamicMember, _) if self.mirror_groups().is_none() => Placement::Member,
            (_, Ftl::Auto) => {
                let widest = [Ftl::Device, Ftl::Group].into_iter().find(|ftl| self.may_spread(*ftl, scheme));
                self.owned_planes(widest.unwrap_or(Ftl::Member))
            }
            (_, ftl) => self.owned_planes(ftl),
        }
    }

    /// The planes that an FTL instance owns where nothing else restricts it. `ftl` is not `auto`.
    pub(super) fn owned_planes(&self, ftl: Ftl) -> Placement {
        match ftl {
            Ftl::Auto => unreachable!("stands for one of the others"),
            Ftl::Member => Placement::Member,
            Ftl::Group => Placement::Groups(self.mirror_groups().unwrap_or(HALVES)),
            Ftl::Device => Placement::Groups(1),
        }
    }

    /// Whether FTL instances of this kind keep the scheme's guarantee. Instance i owns the i-th of equally many members in a row.
    pub(super) fn may_spread(&self, ftl: Ftl, scheme: &dyn Scheme) -> bool {
        let Placement::Groups(groups) = self.owned_planes(ftl) else { return true };
        let (members, size) = (u32::from(self.members()), u32::from(self.members()) / groups);
        let is_even = self.device.channels.is_multiple_of(groups);
        is_even && (scheme.protects() == Protects::None || survived(scheme, size, members) == scheme.survives_failures())
    }
}

/// What `ftl = group` divides a device into under a scheme that states no number of groups.
const HALVES: u32 = 2;

/// A word without its quotes, a number as it is written.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// How many parts may fail, each of which takes `size` members in a row, whichever they are: at most as many failures as the scheme is said to survive.
pub(super) fn survived(scheme: &dyn Scheme, size: u32, members: u32) -> u32 {
    let parts: Vec<u64> = (0..members / size).map(|index| u64::MAX >> (64 - size) << (index * size)).collect();
    let all_survive = |failures: &u32| match failures {
        1 => parts.iter().all(|lost| survives(scheme, *lost, members)),
        2 => (1..).zip(&parts).all(|(next, one)| parts[next..].iter().all(|other| survives(scheme, one | other, members))),
        _ => unreachable!("no scheme survives so many failures"),
    };
    (1..=scheme.survives_failures()).take_while(all_survive).count() as u32
}

/// Whether the scheme recovers its pages with all members of `lost` gone; asked of as many stripes as layouts need to repeat.
fn survives(scheme: &dyn Scheme, lost: u64, members: u32) -> bool {
    let pages = scheme.user_pages().min(u64::from(members * members));
    let mut sources = Vec::new();
    (0..pages).map(flashraid_vocabulary::Lpn).all(|lpn| {
        sources.clear();
        let is_lost = |page: MemberPage, _| lost >> page.member.0 & 1 == 1;
        !is_lost(scheme.locate(lpn), Version::Current) || scheme.recover(lpn, &is_lost, &mut sources)
    })
}
