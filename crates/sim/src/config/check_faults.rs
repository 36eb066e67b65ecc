//! Whether the device has what is to fail, and can lose it.

use super::{Config, ConfigError, Injection, Target, Trigger, find_scheme};
use crate::assemble::settings;
use flashraid_ftl::Placement;
use flashraid_vocabulary::{Failure, Fault, Part};

impl Config {
    /// The faults to inject, and the SSDs to replace, in the order in which they were given.
    pub fn faults(&self) -> Result<Vec<Injection>, ConfigError> {
        let faults = self.run.fail.iter().map(|text| Injection::fault(text));
        let replacements = self.run.replace.iter().map(|text| Injection::replacement(text));
        // A single SSD is replaced by nothing.
        faults.chain(replacements.filter(|read| read.is_err() || !self.array.is_single())).collect()
    }

    /// Whether the device has what is to fail; `space_pages` is its logical space.
    pub(crate) fn check_target(&self, target: Target, space_pages: u64) -> Result<(), String> {
        let Failure { device, fault } = match target {
            Target::Fault(failure) => failure,
            Target::Replace(device) if device < self.array.devices + self.array.spare_devices => return Ok(()),
            Target::Replace(device) => {
                return Err(format!("device {device}: the array has devices 0 to {}", self.array.devices + self.array.spare_devices - 1));
            }
            Target::PageOf(lpn) if lpn.0 < space_pages => return Ok(()),
            Target::PageOf(lpn) => return Err(format!("page {}: the logical space has pages 0 to {}", lpn.0, space_pages - 1)),
        };
        self.check_device(device, fault)?;
        match fault {
            Fault::Loss(Part::Block { .. }) | Fault::Program(_) | Fault::Erase(_) if self.device.mapping.is_hybrid() => {
                let mapping = self.device.mapping.name();
                Err(format!(
                    "blocks are not retired with mapping = {mapping}: allowed are larger parts and single pages, or mapping = page, dftl"
                ))
            }
            Fault::Loss(Part::Member(member)) if !self.array.is_single() => match self.array.devices {
                devices if member < devices => Ok(()),
                devices => Err(format!("member {member}: the array has members 0 to {}", devices - 1)),
            },
            Fault::Loss(part) | Fault::Program(part) | Fault::Erase(part) => {
                let ssds = self.array.each(&self.device);
                settings(&ssds[device.unwrap_or(0) as usize], Placement::Member, true, false).part_exists(&part)
            }
            Fault::ParityCache if self.has_parity_cache() => Ok(()),
            Fault::ParityCache => Err(format!("{} keeps no parity in NVRAM", self.scheme.name)),
        }
    }

    /// Whether the fault names an SSD exactly if there are several, and one that there is.
    fn check_device(&self, device: Option<u32>, fault: Fault) -> Result<(), String> {
        let devices = self.array.ssds();
        match (device, fault) {
            (Some(device), _) if self.array.is_single() => Err(format!("device {device}: there is one SSD: allowed with devices above 1")),
            (Some(device), _) if device >= devices => Err(format!("device {device}: the array has devices 0 to {}", devices - 1)),
            (Some(_), Fault::Loss(Part::Member(_))) => Err("a member is a whole SSD: allowed is device:N".into()),
            (Some(_), _) | (None, Fault::ParityCache | Fault::Loss(Part::Member(_))) => Ok(()),
            (None, _) if self.array.is_single() => Ok(()),
            (None, _) => Err(format!("in which SSD? allowed is device:N/ before it, with N from 0 to {}", devices - 1)),
        }
    }

    /// Whether the scheme defers parities in NVRAM.
    fn has_parity_cache(&self) -> bool {
        find_scheme(&self.scheme.name).is_ok_and(|entry| entry.parity_cache.is_some())
    }

    pub(super) fn check_faults(&self, space_pages: u64) -> Result<(), ConfigError> {
        self.faults()?.iter().try_for_each(|fault| {
            let checked = match fault.trigger {
                Trigger::Rebuild(_) if self.rebuild_order()?.is_none() => {
                    Err(format!("nothing is rebuilt (rebuild = {}): allowed is another moment", self.host.rebuild))
                }
                Trigger::Replacement(_) if !self.replaces_devices() => {
                    Err(format!("{} replaces no SSDs: allowed is another moment", self.scheme.name))
                }
                _ => self.check_target(fault.target, space_pages),
            };
            checked.map_err(|why| ConfigError(format!("{} = {}@{}: {why}", fault.setting, fault.what, fault.when)))
        })
    }
}
