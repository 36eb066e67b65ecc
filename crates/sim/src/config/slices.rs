//! Slices: of a drive that is too large, or takes too long, one of several equal parts is simulated (SPEC 8.11).

use super::error::refuse;
use super::{Config, ConfigError, Device};
use flashraid_redundancy::Redundancy;
use flashraid_vocabulary::{GcBlockingScope, Lun};

/// Into how many parts a slice divides each level of the device.
#[derive(Clone, Copy)]
struct Divisors {
    channels: u32,
    chips: u32,
    dies: u32,
}

fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

impl Device {
    /// Channels are divided first, so that a slice has buses of its own; then the chips of each channel, and the dies of each chip. `None` if that does not come out even.
    fn divisors(&self, slice: u32) -> Option<Divisors> {
        let channels = common_divisor(slice, self.channels);
        let chips = common_divisor(slice / channels, self.chips_per_channel);
        let dies = slice / channels / chips;
        self.dies_per_chip.is_multiple_of(dies).then_some(Divisors { channels, chips, dies })
    }

    /// What is simulated of it: all, or its slice. Everything that counts parts, or bytes of memory, is divided; what serves the other slices as well stays as it is.
    pub(crate) fn sliced(&self) -> Result<Self, ConfigError> {
        if self.slice == 1 {
            return Ok(self.clone());
        }
        let Some(Divisors { channels, chips, dies }) = self.divisors(self.slice) else {
            let all = self.channels * self.chips_per_channel * self.dies_per_chip;
            let allowed: Vec<_> = (1..=all).filter(|slice| all.is_multiple_of(*slice)).map(|slice| slice.to_string()).collect();
            return refuse(format!(
                "slice = {}: {} channels of {} chips of {} dies cannot be divided evenly: allowed is {}",
                self.slice,
                self.channels,
                self.chips_per_channel,
                self.dies_per_chip,
                allowed.join(", ")
            ));
        };
        if self.mirror_chips + self.spare_chips > 0 {
            return refuse(format!("slice = {}: allowed with mirror_chips = 0 and spare_chips = 0", self.slice));
        }
        if self.mapping.is_hybrid() {
            return refuse(format!("slice = {}: allowed with mapping = page or dftl", self.slice));
        }
        self.check_units_of_slices(chips > 1, dies > 1)?;
        let slice = self.slice;
        let part = |key: &str, all: u64| match all / u64::from(slice) {
            0 if all > 0 => refuse(format!("{key} = {all}: a slice has none of it: allowed with slice = {slice} is 0, or {slice} or more")),
            part => Ok(part),
        };
        Ok(Self {
            channels: self.channels / channels,
            chips_per_channel: self.chips_per_channel / chips,
            dies_per_chip: self.dies_per_chip / dies,
            staging_bytes: part("staging_bytes", self.staging_bytes)?,
            buffer_bytes: part("buffer_bytes", self.buffer_bytes)?,
            nvram_buffer_bytes: part("nvram_buffer_bytes", self.nvram_buffer_bytes)?,
            destage_bytes_per_second: part("destage_bytes_per_second", self.destage_bytes_per_second)?,
            cmt_entries: part("cmt_entries", self.cmt_entries.into())? as u32,
            ..self.clone()
        })
    }

    /// What works as one must lie in one slice: a LUN, and what GC blocks.
    fn check_units_of_slices(&self, divides_channels: bool, divides_chips: bool) -> Result<(), ConfigError> {
        if divides_chips && self.lun == Lun::Chip {
            return refuse(format!("slice = {}: divides chips, which work as one: allowed with lun = die", self.slice));
        }
        let is_divided = match self.gc_blocking_scope {
            GcBlockingScope::Channel => divides_channels || divides_chips,
            GcBlockingScope::Chip => divides_chips,
            GcBlockingScope::None | GcBlockingScope::Lun => false,
        };
        if is_divided {
            let scope = self.gc_blocking_scope.name();
            return refuse(format!(
                "gc_blocking_scope = {scope}: slices of {} divide it, and GC blocks all of it: allowed is none or lun",
                self.slice
            ));
        }
        Ok(())
    }
}

impl Config {
    /// Of the slices of the drive, how many share each bus.
    pub(crate) fn slices_per_bus(&self) -> u32 {
        // SSDs of an array are whole.
        if self.device.slice == 1 { 1 } else { self.device.slice / (self.whole.channels / self.device.channels) }
    }

    /// The flash of the drive, or of each SSD, as a share of that of the preset whose name it has, if it was made smaller.
    pub(crate) fn share_of_preset(&self) -> Option<f64> {
        self.whole.share_of_preset()
    }

    /// A slice is like the whole drive if its stripes are: each of them lies in one slice, or there are none.
    pub(super) fn check_slice(&self, redundancy: Redundancy) -> Result<(), ConfigError> {
        let (slice, scheme) = (self.device.slice, &self.scheme.name);
        if slice == 1 {
            return Ok(());
        }
        if !self.array.is_single() {
            return refuse(format!("slice = {slice}: allowed with devices = 1"));
        }
        if redundancy != Redundancy::None && self.array.members(&self.whole) != self.members() {
            return refuse(format!(
                "slice = {slice}: {scheme} has stripes over all {} members, of which a slice has {}: allowed is a slice with all of them, or 1",
                self.array.members(&self.whole),
                self.members()
            ));
        }
        Ok(())
    }
}
