//! The data buffer that a configuration has.

use super::{Array, Destage, DestageUnit, Device, NvramVictim, share_of};
use crate::buffer::{BufferKind, BufferOptions, DestageOptions, DestageRule, VictimRule};
use flashraid_ftl::CellOperation;

/// By how much slower a buffer destages, unless it is told, than the device programs: an update of parity takes two programs, and GC may take as many
/// again. So destaging alone does not keep the device busy.
const SLOWER: u64 = 4;

impl Device {
    /// Bytes that the data buffer, of whichever kind, may take.
    pub(super) fn buffer_bytes_given(&self) -> u64 {
        match self.nvram_buffer_bytes.max(self.buffer_bytes) {
            0 => ((u128::from(self.geometry().raw_bytes()) * u128::from(self.buffer_bytes_per_gib)) >> 30) as u64,
            bytes => bytes,
        }
    }

    /// Pages of the data buffer, 0 for none.
    pub fn buffer_pages(&self) -> u64 {
        self.buffer_bytes_given() / u64::from(self.unit_bytes())
    }

    /// Bytes that an SSD programs in a second, if all its LUNs and buses do nothing else: a page at a time in each LUN, and on each bus. A LUN takes the
    /// next page when it has programmed one.
    fn programmed_bytes_per_second(&self) -> u64 {
        let bus_ns = self.program_command_ns + (u64::from(self.page_bytes) * self.bus_ps_per_byte).div_ceil(1000);
        let lun_ns = bus_ns + self.cells(0).mean_ns(CellOperation::Program);
        let page_ns = lun_ns.div_ceil(u64::from(self.luns_per_channel())).max(bus_ns).max(1);
        u64::from(self.channels) * u64::from(self.page_bytes) * 1_000_000_000 / page_ns
    }

    /// How a buffer of so many pages destages by itself, at this rate.
    fn destage_options(&self, pages: u64, bytes_per_second: Option<u64>) -> DestageOptions {
        let Some(bytes_per_second) = bytes_per_second else { return DestageOptions::WHEN_FULL };
        let high_pages = share_of(self.destage_high_water, pages).1.max(1);
        DestageOptions {
            high_pages,
            low_pages: share_of(self.destage_low_water, pages).0.min(high_pages - 1),
            page_ns: (u64::from(self.unit_bytes()) * 1_000_000_000).div_ceil(bytes_per_second),
        }
    }
}

impl Array {
    /// The data buffer of a logical space of so many pages, if there is one, over SSDs like `device`.
    pub fn buffer(&self, device: &Device, space_pages: u64) -> Option<BufferOptions> {
        let is_nvram = device.nvram_buffer_bytes > 0;
        let rule = match (is_nvram, device.destage_unit, device.nvram_victim) {
            (false, DestageUnit::Page, _) => DestageRule::Page,
            (true, _, NvramVictim::LargestGroup) => DestageRule::Stripe(VictimRule::LargestGroup),
            _ => DestageRule::Stripe(VictimRule::OldestUse),
        };
        let kind = if is_nvram { BufferKind::Nvram } else { BufferKind::Dram };
        let pages = device.buffer_pages();
        let destage = device.destage_options(pages.min(space_pages), self.destage_bytes_per_second(device));
        (pages > 0).then_some(BufferOptions { kind, rule, pages, answer_ns: device.buffer_ns, destage })
    }

    /// The rate at which the buffer destages by itself; `None` if it does not.
    pub fn destage_bytes_per_second(&self, device: &Device) -> Option<u64> {
        let members = self.each(device).into_iter().take(self.devices as usize);
        let by_itself = device.buffer_pages() > 0 && device.destage == Destage::LowWater;
        by_itself.then(|| match device.destage_bytes_per_second {
            0 => (members.map(|ssd| ssd.programmed_bytes_per_second()).sum::<u64>() / SLOWER).max(1),
            asked => asked,
        })
    }
}
