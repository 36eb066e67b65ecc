//! Checks that involve several settings.

use super::error::refuse;
use super::{Allocation, Array, Config, ConfigError, Device, Ftl, GcPace, Mapping, Precondition, Until, Unwritten, find_scheme};
use flashraid_ftl::Placement;
use flashraid_redundancy::{Bases, Choice, Entry, Scheme};
use flashraid_vocabulary::SemivalidAction;

/// SSDs are kept as bits of a word.
const MOST_DEVICES: u32 = 64;

/// What is wrong with an SSD of an array.
fn of_model(number: usize, ConfigError(text): ConfigError) -> ConfigError {
    ConfigError(format!("models: SSD {number}: {text}"))
}

impl Config {
    /// What is constructed without overwrites is right if the scheme programs a parity with each page of its stripe.
    fn check_direct(&self, scheme: &dyn Scheme) -> Result<(), ConfigError> {
        if self.run.precondition.parse() != Ok(Precondition::Direct) {
            return Ok(());
        }
        if scheme.deferring().is_some() {
            return refuse(format!(
                "precondition = direct: allowed with {}, which programs parities later than data, is steady",
                self.scheme.name
            ));
        }
        if self.device.mapping.is_hybrid() {
            return refuse(format!("precondition = direct: allowed with mapping = {} is steady", self.device.mapping.name()));
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_slice(find_scheme(&self.scheme.name)?.redundancy)?;
        let slice = self.device.slice;
        // Numbers of a slice are not those that were given.
        self.check_simulated().map_err(|error| if slice > 1 { ConfigError(format!("one of {slice} slices: {error}")) } else { error })
    }

    fn check_simulated(&self) -> Result<(), ConfigError> {
        // What is wrong with columns takes more words than an entry of the table has.
        self.run.trace_options().map_err(|error| ConfigError(error.to_string()))?;
        self.device.check_units()?;
        self.device.check_suspension()?;
        self.device.check_superblocks()?;
        self.device.check_slc()?;
        if self.device.packs() && self.host.unwritten == Unwritten::Prefill {
            return refuse(format!(
                "unwritten = prefill: pages that are there on the first touch would be programmed together with those of requests: allowed with mapping_unit_bytes = {} and program_pages = {} is zero (fill writes pages before)",
                self.device.mapping_unit_bytes, self.device.program_pages
            ));
        }
        self.device.check_counts()?;
        self.device.check_cells()?;
        self.array.check(&self.device, find_scheme(&self.scheme.name)?, &self.run.until)?;
        let (name, device) = (&self.scheme.name, &self.device.name);
        self.device.check_mirror_chips().map_err(|ConfigError(text)| ConfigError(format!("{name} on {device}: {text}")))?;
        self.device.check_mapping()?;
        self.device.check_gc()?;
        if self.device.gc_pace == GcPace::Debt && self.coordinates_migration() {
            return refuse(format!(
                "gc_pace = debt: allowed with {}, which coordinates GC and migrations (SPEC 5.7), is block",
                self.scheme.name
            ));
        }
        let scheme = self.build_scheme()?;
        self.check_direct(scheme.as_ref())?;
        self.check_hybrid()?;
        self.check_map(scheme.as_ref())?;
        self.check_ftl(scheme.as_ref())?;
        let placement = self.placement(scheme.as_ref());
        if self.device.mirror_chips > 0 && placement != Placement::Member {
            return refuse(format!(
                "mirror_chips = {}: a strip and its copy lie in one member: allowed with ftl = member and allocation = dynamic_member or dynamic",
                self.device.mirror_chips
            ));
        }
        self.device.check_lanes(placement)?;
        self.device.check_capacity(placement)?;
        self.check_models(scheme.as_ref())?;
        self.device.check_buffer()?;
        self.check_space(scheme.as_ref())?;
        self.rebuild_order()?;
        let space_pages = self.space_bytes(scheme.as_ref()) / u64::from(self.device.unit_bytes());
        self.faults()?.iter().try_for_each(|fault| fault.check(self, space_pages))
    }

    /// What the SSDs of an array that differ from the others may not be.
    fn check_models(&self, scheme: &dyn Scheme) -> Result<(), ConfigError> {
        let mut models = self.by_ssd().enumerate().filter(|(_, ssd)| ssd.device != self.device);
        models.try_for_each(|(number, ssd)| {
            let checked = ssd
                .device
                .check_mapping()
                .and_then(|()| ssd.device.check_gc())
                .and_then(|()| ssd.device.check_superblocks())
                .and_then(|()| ssd.device.check_slc());
            let checked = checked
                .and_then(|()| self.array.check_planes(&self.device, &ssd.device))
                .and_then(|()| ssd.check_ftl(scheme))
                .and_then(|()| ssd.device.check_lanes(ssd.placement(scheme)))
                .and_then(|()| ssd.device.check_capacity(ssd.placement(scheme)));
            checked.map_err(|error| of_model(number, error))
        })
    }

    /// Each translation page is stored on two members: both may be among more failures than one, and with it what the scheme has saved.
    fn check_map(&self, scheme: &dyn Scheme) -> Result<(), ConfigError> {
        let (name, failures) = (&self.scheme.name, scheme.survives_failures());
        if self.device.mapping != Mapping::Dftl || failures < 2 {
            return Ok(());
        }
        refuse(format!("mapping = dftl: {name} survives {failures} failures, the map on flash only one: allowed is page, bast, fast"))
    }

    /// With hybrid mapping, pages have fixed offsets (SPEC 7.3): they cannot move between the members of a mirror group, nor when they are semivalid.
    fn check_hybrid(&self) -> Result<(), ConfigError> {
        let (entry, mapping) = (find_scheme(&self.scheme.name)?, self.device.mapping);
        if !mapping.is_hybrid() {
            return Ok(());
        }
        let moves_bases = entry.action_on_bases(|choice| self.scheme.makes(choice)) == Some(SemivalidAction::Move);
        let moving = "needs GC to move semivalid pages, whose offsets the current versions occupy";
        let why = match entry.bases {
            _ if entry.mirror_groups.is_some() => "lets the FTL choose the channel of a page".into(),
            Some(Bases::MovedWith(Choice { parameter, word })) if moves_bases => format!("with {} = {word} {moving}", parameter.name),
            _ if self.device.mirror_chips > 0 => "keeps copies on mirror chips, where pages have no fixed offset".into(),
            _ if moves_bases => moving.into(),
            _ => return Ok(()),
        };
        refuse(format!("mapping = {}: {} {why}: allowed is page, dftl", mapping.name(), entry.name))
    }

    /// An FTL instance over several members may place two strips of a stripe on one of them. So the scheme must survive the loss of
    /// all members of an instance at once, or protect nothing at all.
    fn check_ftl(&self, scheme: &dyn Scheme) -> Result<(), ConfigError> {
        let (device, entry) = (&self.device, find_scheme(&self.scheme.name)?);
        let (name, channels) = (&device.name, device.channels);
        if let Some(groups) = self.mirror_groups()
            && !channels.is_multiple_of(groups)
        {
            return refuse(format!("{} on {name}: {channels} channels cannot be divided evenly into {groups} mirror groups", entry.name));
        }
        if device.ftl == Ftl::Auto || self.may_spread(device.ftl, scheme) {
            return Ok(());
        }
        if let Placement::Groups(groups) = self.owned_planes(device.ftl)
            && !channels.is_multiple_of(groups)
        {
            return refuse(format!("ftl = group: two halves need an even number of channels, and {name} has {channels}"));
        }
        let mut allowed = vec![Ftl::Auto, Ftl::Member, Ftl::Group, Ftl::Device];
        allowed.retain(|ftl| *ftl == Ftl::Auto || self.may_spread(*ftl, scheme));
        let allowed: Vec<_> = allowed.into_iter().map(Ftl::name).collect();
        refuse(format!(
            "ftl = {}: {} needs each strip on its own member, and an FTL instance over several members could place two strips of a stripe \
             on one of them: allowed is {}",
            device.ftl.name(),
            entry.name,
            allowed.join(", ")
        ))
    }

    fn check_space(&self, scheme: &dyn Scheme) -> Result<(), ConfigError> {
        let (run, user, space) = (&self.run, self.user_bytes(scheme), self.space_bytes(scheme));
        if run.space_bytes > user {
            return refuse(format!(
                "space_bytes = {}: allowed is at most {user}, the user capacity of {} on {}",
                run.space_bytes, self.scheme.name, self.device.name
            ));
        }
        let page_bytes = self.device.unit_bytes();
        if space < u64::from(page_bytes) {
            return refuse(format!("space_bytes = {space}: allowed is at least one page ({page_bytes} bytes)"));
        }
        if run.verify_every > 0 && !run.verify {
            return refuse(format!("verify_every = {}: allowed with verify = true only", run.verify_every));
        }
        if run.fill > 0.0 && run.fill_bytes > 0 {
            return refuse(format!("fill = {} and fill_bytes = {}: allowed is only one of them", run.fill, run.fill_bytes));
        }
        if run.fill_bytes > space {
            return refuse(format!("fill_bytes = {}: allowed is at most {space}, the bytes of the logical space", run.fill_bytes));
        }
        Ok(())
    }
}

impl Array {
    /// What an array of these SSDs, and the scheme over it, may not ask for.
    fn check(&self, device: &Device, entry: &Entry, until: &str) -> Result<(), ConfigError> {
        let Self { devices, spare_devices, .. } = self;
        if self.is_single() {
            let Device { pe_limit, erases_before, .. } = *device;
            return match entry.replaces_devices {
                false if pe_limit > 0 && erases_before >= pe_limit => {
                    refuse(format!("erases_before = {erases_before}: allowed is less than pe_limit = {pe_limit}, which blocks endure"))
                }
                false => Ok(()),
                true => refuse(format!("{} replaces SSDs of an array: allowed is devices above 1, as in the preset array-5x", entry.name)),
            };
        }
        if device.buffer_bytes_per_gib > 0 {
            let per_gib = device.buffer_bytes_per_gib;
            return refuse(format!(
                "buffer_bytes_per_gib = {per_gib}: the buffer is in the controller of the array: allowed is buffer_bytes"
            ));
        }
        let (count, ssds) = (self.ssds(), self.each(device));
        for (number, model) in ssds.iter().enumerate() {
            model.check_counts().and(model.check_cells()).map_err(|error| of_model(number, error))?;
        }
        if count > MOST_DEVICES {
            return refuse(format!(
                "devices = {devices} and spare_devices = {spare_devices}: gives {count} SSDs, allowed are at most {MOST_DEVICES}"
            ));
        }
        self.check_ages(device, until)?;
        let pages: u64 = ssds.iter().map(Device::ppn_limit).sum();
        if pages >= u64::from(u32::MAX) {
            return refuse(format!(
                "devices = {devices}: {count} SSDs of {} have {pages} physical pages, allowed are fewer than {}",
                device.name,
                u32::MAX
            ));
        }
        let (scheme, why) = (
            entry.name,
            match (device.mapping, entry.mirror_groups) {
                (_, Some(_)) => "lets the FTL choose the member of a page, and each SSD of an array has an FTL of its own",
                _ if device.mirror_chips > 0 && entry.mirror_chips == 0 => {
                    let (count, scheme) = (device.mirror_chips, entry.name);
                    return refuse(format!("mirror_chips = {count}: {scheme} keeps no copies on mirror chips: allowed is 0"));
                }
                _ if device.mirror_chips > 0 => "keeps copies on mirror chips of the channel of the page, which are parts of one SSD",
                (Mapping::Dftl, _) => {
                    let allowed = if *spare_devices > 0 { "page" } else { "page, bast, fast" };
                    return refuse(format!("mapping = dftl: the SSDs of an array hold their maps in RAM: allowed is {allowed}"));
                }
                (Mapping::Bast | Mapping::Fast, _) if *spare_devices > 0 => {
                    let mapping = device.mapping.name();
                    return refuse(format!(
                        "mapping = {mapping}: a spare SSD cannot take over what its blocks are reserved for: allowed is page"
                    ));
                }
                _ => return Ok(()),
            },
        );
        refuse(format!("devices = {devices}: {scheme} {why}: allowed is devices = 1"))
    }

    /// What has an age must have a limit that it has not reached.
    fn check_ages(&self, device: &Device, until: &str) -> Result<(), ConfigError> {
        let (Self { ages, .. }, count) = (self, self.ssds());
        let pe_limits: Vec<u32> = self.each(device).iter().map(|ssd| ssd.pe_limit).collect();
        let texts: Vec<_> = ages.iter().map(f64::to_string).collect();
        let refuse_ages = |why: String| refuse(format!("ages = {}: {why}", texts.join(",")));
        if ages.len() > count as usize {
            return refuse_ages(format!("there are {count} SSDs, spare ones included: allowed are at most as many ages"));
        }
        if let Some(ssd) = pe_limits[..ages.len()].iter().position(|limit| *limit == 0) {
            return refuse_ages(format!(
                "an age is a share of pe_limit, which is 0 (no limit) for SSD {ssd}: allowed with pe_limit from 1"
            ));
        }
        let is_worn = |(ssd, pe_limit): &(u32, u32)| *pe_limit > 0 && self.preset_erases(*ssd, *pe_limit) >= *pe_limit;
        if let Some((ssd, pe_limit)) = (0..).zip(pe_limits.iter().copied()).find(is_worn) {
            return refuse_ages(format!(
                "rounds to all of the {pe_limit} erases that a block of SSD {ssd} endures: allowed are lower ages"
            ));
        }
        match until.parse()? {
            Until::Worn(_) if pe_limits.iter().all(|limit| *limit == 0) => {
                refuse(format!("until = {}: no SSD wears out with pe_limit = 0 (no limit): allowed with pe_limit from 1", until))
            }
            Until::Worn(worn) if worn > count => {
                refuse(format!("until = {}: there are {count} SSDs, spare ones included: allowed is worn:1 to worn:{count}", until))
            }
            _ => Ok(()),
        }
    }

    /// A spare SSD takes over what is reserved of the space of the one in whose place it comes: with static allocation plane by plane, which are then to be
    /// numbered in the same way.
    fn check_planes(&self, device: &Device, other: &Device) -> Result<(), ConfigError> {
        let planes = |device: &Device| {
            let counts = [device.channels, device.chips_per_channel, device.dies_per_chip, device.planes_per_die];
            (device.allocation == Allocation::Static).then(|| (counts, device.lun, device.static_order.clone()))
        };
        if self.spare_devices == 0 || planes(device) == planes(other) {
            return Ok(());
        }
        refuse(
            "with spare SSDs and allocation = static, all SSDs need the same channels, chips, dies, planes, lun and static_order: allowed is \
             allocation = dynamic_member"
                .into(),
        )
    }
}
