//! Warnings about settings that are legal but have surprising effects.

use super::{Config, ConfigError, Device, Precondition, find_scheme};
use flashraid_redundancy::{Scheme, WriteBuffer};

/// A parity cache with fewer entries is of no use. Under the profiles ppc-osdb and ppc-financial with 32 outstanding requests, at most 0.2 % of
/// updates find their stripe's parity among 2 to 4 entries, 2 to 8 % among 8, and 18 to 27 % among 16.
const FEWEST_PARITIES: u64 = 8;

/// What the fill leaves of a device's data planes, as shares of their pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spare {
    /// Pages that hold nothing after the fill.
    pub free: f64,
    /// Pages that GC keeps free: `gc_threshold`, or what only GC takes (`gc_reserve_blocks`), if that is more.
    pub kept: f64,
}

impl Spare {
    /// What may be garbage before GC must run.
    pub fn usable(self) -> f64 {
        (self.free - self.kept).max(0.0)
    }
}

/// The largest share in steps of a thousandth that is at most this.
fn at_most(share: f64) -> f64 {
    (share * 1000.0 + 1e-6).floor() / 1000.0
}

/// The smallest share in steps of a thousandth that is at least this.
fn at_least(share: f64) -> f64 {
    (share * 1000.0 - 1e-6).ceil() / 1000.0
}

impl Device {
    /// What is left when so large a share of the logical pages of each member is written. Of hybrid mapping, where pages have their places and GC merges log
    /// blocks, there is nothing to say.
    pub(crate) fn spare(&self, pages_per_member: u32, written: f64) -> Option<Spare> {
        if self.mapping.is_hybrid() {
            return None;
        }
        let blocks = f64::from(self.data_blocks_for(self.pages_per_member()));
        let pages = f64::from(self.planes_per_member()) * blocks * f64::from(self.units_per_block());
        Some(Spare {
            free: 1.0 - written * f64::from(pages_per_member) / pages,
            kept: self.gc_threshold.max(f64::from(self.gc_reserve_blocks) / blocks),
        })
    }

    /// GC that finds less than half of the spare above what it keeps free.
    fn little_spare(&self, Spare { free, kept }: Spare) -> Option<String> {
        let spare = Spare { free, kept };
        if spare.usable() >= free / 2.0 {
            return None;
        }
        let blocks = f64::from(self.data_blocks_for(self.pages_per_member()));
        let (threshold, reserve, lower) = (self.gc_threshold, self.gc_reserve_blocks, at_most(free / 2.0));
        let what = match spare.usable() {
            usable if usable < 0.0005 => "nearly every program will trigger GC, often of blocks with few invalid pages".into(),
            usable => format!("write amplification is that of a drive with {:.1} % spare", 100.0 * usable),
        };
        let (cause, cure) = if threshold < kept {
            let cause = format!(
                "gc_reserve_blocks = {reserve}: of {blocks} blocks in a plane, so GC starts below {:.1} % free pages",
                100.0 * kept
            );
            (cause, "a smaller fill, more blocks_per_plane or more over_provisioning leaves it more".into())
        } else if lower * blocks > f64::from(reserve) {
            let cause = format!("gc_threshold = {threshold}: GC starts below {:.1} % free pages", 100.0 * kept);
            (cause, format!("gc_threshold = {lower} or a smaller fill leaves it half"))
        } else {
            let cause = format!("gc_threshold = {threshold}: GC starts below {:.1} % free pages", 100.0 * kept);
            (cause, "a smaller fill or more over_provisioning leaves it more".into())
        };
        Some(format!(
            "{cause}, and the fill leaves {:.1} %: the spare that GC can use is {:.1} %, so {what}; {cure}",
            100.0 * free,
            100.0 * spare.usable()
        ))
    }

    /// GC in idle time that does not reach its threshold.
    fn restless_gc(&self, Spare { free, .. }: Spare) -> Option<String> {
        let (threshold, gain) = (self.gc_idle_threshold, self.gc_idle_gain);
        if threshold <= free {
            return None;
        }
        let until = match gain {
            0.0 => "GC in idle time goes on until no page is garbage, and moves nearly a block for each page that it frees: gc_idle_gain = 0.25 ends it earlier".into(),
            gain => format!(
                "GC in idle time goes on until no block has {:.1} % of its pages to free (gc_idle_gain), and may move {:.1} pages for each page programmed",
                100.0 * gain,
                (1.0 - gain) / gain
            ),
        };
        Some(format!(
            "gc_idle_threshold = {threshold}: the fill leaves {:.1} %, so that free pages never reach {:.1} %: {until}",
            100.0 * free,
            100.0 * threshold
        ))
    }

    /// GC that starts only when a plane has no page left for the host.
    fn late_gc(&self) -> Option<String> {
        let (blocks, reserve) = (f64::from(self.data_blocks_for(self.pages_per_member())), f64::from(self.gc_reserve_blocks));
        let first = self.gc_threshold.max(self.gc_idle_threshold);
        if self.mapping.is_hybrid() || first * blocks > reserve {
            return None;
        }
        Some(format!(
            "gc_threshold = {}: {:.2} of {blocks} blocks, no more than gc_reserve_blocks = {reserve}: GC starts when a plane has no page left for host \
             programs, so these wait for it, and each of its steps goes before the host; from gc_threshold = {} on GC starts earlier",
            self.gc_threshold,
            self.gc_threshold * blocks,
            at_least((reserve + 1.0) / blocks)
        ))
    }
}

impl Config {
    /// Warnings about settings that are legal but likely to mislead; one line each.
    pub fn warnings(&self) -> Result<Vec<String>, ConfigError> {
        let scheme = self.build_scheme()?;
        let mut warnings = self.surprises_of_gc(scheme.as_ref())?;
        warnings.extend(self.useless_nvram(scheme.as_ref()));
        warnings.extend(self.part_of_the_drive());
        Ok(warnings)
    }

    /// What is left when all of the user capacity is written: of the member SSD with the least for GC. `None` of hybrid mapping.
    pub(crate) fn spare_when_full(&self) -> Option<Spare> {
        let pages_per_member = self.derived().pages_per_member;
        let members = self.array.each(&self.device).into_iter().take(self.array.devices as usize);
        members.filter_map(|device| device.spare(pages_per_member, 1.0)).min_by(|one, other| one.usable().total_cmp(&other.usable()))
    }

    /// What the fill leaves of each SSD, or of the SSD; `None` of hybrid mapping.
    fn spares(&self, scheme: &dyn Scheme) -> Result<Vec<Option<Spare>>, ConfigError> {
        let run = &self.run;
        let space = self.space_bytes(scheme);
        let precondition: Precondition = run.precondition.parse()?;
        let filled = match (run.fill_bytes, run.fill) {
            // As `prepare` does: only what is written can be overwritten.
            (0, 0.0) if precondition != Precondition::None => space as f64,
            (0, share) => share * space as f64,
            (bytes, _) => bytes as f64,
        };
        let written = filled / self.user_bytes(scheme) as f64;
        let pages_per_member = self.derived().pages_per_member;
        Ok(self.array.each(&self.device).iter().map(|device| device.spare(pages_per_member, written)).collect())
    }

    /// What is to be said of GC: of the first SSD of which there is something to say, as most are alike.
    fn surprises_of_gc(&self, scheme: &dyn Scheme) -> Result<Vec<String>, ConfigError> {
        let (spares, ssds) = (self.spares(scheme)?, self.array.each(&self.device));
        let first = |said: &dyn Fn(&Device, Spare) -> Option<String>| {
            ssds.iter().zip(&spares).enumerate().find_map(|(number, (device, spare))| {
                let text = said(device, (*spare)?)?;
                Some(if *device == self.device { text } else { format!("SSD {number}: {text}") })
            })
        };
        let said = [
            first(&|device, spare| device.little_spare(spare)),
            first(&|device, _| device.late_gc()),
            first(&|device, spare| device.restless_gc(spare)),
        ];
        Ok(said.into_iter().flatten().collect())
    }

    /// A slice, which is easily taken for the whole drive.
    fn part_of_the_drive(&self) -> Option<String> {
        let slice = self.device.slice;
        (slice > 1).then(|| {
            format!(
                "slice = {slice}: one of {slice} equal parts of the drive is simulated: capacities, counts and rates, also those of requests, are \
                 of the part, and requests wait for other times than in the drive"
            )
        })
    }

    /// NVRAM that is absent or too small to serve its purpose.
    fn useless_nvram(&self, scheme: &dyn Scheme) -> Option<String> {
        let (entry, device) = (find_scheme(&self.scheme.name).ok()?, &self.device);
        if let WriteBuffer::Needed(why) = entry.write_buffer
            && device.nvram_buffer_bytes == 0
        {
            return Some(format!("{} without a write buffer in NVRAM (nvram_buffer_bytes = 0) {why}", entry.name));
        }
        let parameter = entry.parity_cache?.name;
        let entries = scheme.deferring()?.guard().map_or(0, |guard| guard.most_entries);
        (1..FEWEST_PARITIES).contains(&entries).then(|| {
            format!(
                "{parameter} = {}: the parity cache has only {entries} entries of {} bytes, so nearly every update must first commit another \
                 stripe's parity; from {} bytes on it has at least {FEWEST_PARITIES}",
                self.scheme.parameters[parameter],
                device.unit_bytes(),
                FEWEST_PARITIES * u64::from(device.unit_bytes())
            )
        })
    }
}
