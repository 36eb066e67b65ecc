//! Whether the device has what is to fail, and can lose it.

use super::{Array, Config, ConfigError, Injection, Target, Trigger, find_scheme};
use crate::assemble::settings;
use flashraid_ftl::Placement;
use flashraid_vocabulary::{DeviceFault, Fault, Part};

impl Target {
    /// Whether a configuration has what is to fail; `space_pages` is its logical space.
    pub(crate) fn check(self, config: &Config, space_pages: u64) -> Result<(), String> {
        let Config { device: built, array, scheme, .. } = config;
        let DeviceFault { device, fault } = match self {
            Self::Fault(failure) => failure,
            Self::Replace(device) if device < array.devices + array.spare_devices => return Ok(()),
            Self::Replace(device) => {
                return Err(format!("device {device}: the array has devices 0 to {}", array.devices + array.spare_devices - 1));
            }
            Self::PageOf(page) if page < space_pages => return Ok(()),
            Self::PageOf(page) => return Err(format!("page {page}: the logical space has pages 0 to {}", space_pages - 1)),
        };
        array.check_device_of(device, fault)?;
        match fault {
            Fault::Loss(Part::Block { .. }) | Fault::Program(_) | Fault::Erase(_) if built.mapping.is_hybrid() => {
                let mapping = built.mapping.name();
                Err(format!(
                    "blocks are not retired with mapping = {mapping}: allowed are larger parts and single pages, or mapping = page, dftl"
                ))
            }
            Fault::Loss(Part::Member(member)) if !array.is_single() => match array.devices {
                devices if member < devices => Ok(()),
                devices => Err(format!("member {member}: the array has members 0 to {}", devices - 1)),
            },
            Fault::Loss(part) | Fault::Program(part) | Fault::Erase(part) => {
                let ssds = array.each(built);
                settings(&ssds[device.unwrap_or(0) as usize], Placement::Member, true, false).part_exists(&part)
            }
            Fault::ParityCache if find_scheme(&scheme.name).is_ok_and(|entry| entry.parity_cache.is_some()) => Ok(()),
            Fault::ParityCache => Err(format!("{} keeps no parity in NVRAM", scheme.name)),
        }
    }
}

impl Array {
    /// Whether a fault names an SSD exactly if there are several, and one that there is.
    fn check_device_of(&self, device: Option<u32>, fault: Fault) -> Result<(), String> {
        let devices = self.ssds();
        match (device, fault) {
            (Some(device), _) if self.is_single() => Err(format!("device {device}: there is one SSD: allowed with devices above 1")),
            (Some(device), _) if device >= devices => Err(format!("device {device}: the array has devices 0 to {}", devices - 1)),
            (Some(_), Fault::Loss(Part::Member(_))) => Err("a member is a whole SSD: allowed is device:N".into()),
            (Some(_), _) | (None, Fault::ParityCache | Fault::Loss(Part::Member(_))) => Ok(()),
            (None, _) if self.is_single() => Ok(()),
            (None, _) => Err(format!("in which SSD? allowed is device:N/ before it, with N from 0 to {}", devices - 1)),
        }
    }
}

impl Injection {
    /// Whether a configuration has what this is about, and the moment comes at all.
    pub(super) fn check(&self, config: &Config, space_pages: u64) -> Result<(), ConfigError> {
        let checked = match self.trigger {
            Trigger::Rebuild(_) if config.rebuild_order()?.is_none() => {
                Err(format!("nothing is rebuilt (rebuild = {}): allowed is another moment", config.host.rebuild))
            }
            Trigger::Replacement(_) if !config.replaces_devices() => {
                Err(format!("{} replaces no SSDs: allowed is another moment", config.scheme.name))
            }
            _ => self.target.check(config, space_pages),
        };
        checked.map_err(|why| ConfigError(format!("{} = {}@{}: {why}", self.setting, self.what, self.when)))
    }
}
