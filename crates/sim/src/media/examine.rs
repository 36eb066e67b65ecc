//! What checks and torture look at: physical pages, what is being done to them, and what has failed.

use super::inspect::{OfSsds, Ssds};
use super::{Flash, Inspect};
use flashraid_ftl::{GcUnderWay, Held};
use flashraid_vocabulary::{MemberId, Part, Ppn};

/// See the module.
pub trait Examine: Inspect {
    /// The number above those of all physical pages.
    fn ppn_limit(&self) -> u64;
    /// The physical pages of a part of an SSD.
    fn pages_of(&self, ssd: usize, part: &Part) -> Vec<Ppn>;
    /// Whether a physical page can be read no more.
    fn is_lost_page(&self, ppn: Ppn) -> bool;
    /// Whether this stands for the page of a version that nothing holds.
    fn is_unplaced_page(&self, ppn: Ppn) -> bool;
    /// Whether a loss of power takes a physical page that counts, as nothing but a memory without protection holds it.
    fn is_at_risk(&self, ppn: Ppn) -> bool;
    /// Physical pages that are being programmed.
    fn programs_in_service(&self) -> Vec<Ppn>;
    /// Versions of a member's pages beside the current ones.
    fn held(&self, member: MemberId) -> Held;
    /// GC runs that are in flight.
    fn gc_runs_under_way(&self) -> GcUnderWay;
    /// Whether GC has done something to the map that nobody has taken notice of.
    fn has_map_events(&self) -> bool;
    /// Whether an SSD is at work, on behalf of anybody.
    fn is_at_work(&self) -> bool;
    /// What of an SSD has failed that a saved drive could not tell, if anything has.
    fn failed_parts(&self, ssd: usize) -> Option<&'static str>;
    /// Whether blocks of living planes are out of use.
    fn has_retired_blocks(&self) -> bool;
    /// Whether spare chips are in use.
    fn uses_spares(&self) -> bool;
    /// Channels, numbered SSD by SSD, of which a data chip is dead, and those of which a mirror chip is.
    fn channels_with_dead_chips(&self) -> (u64, u64);
    /// Checks every count and list of flash against what blocks and pages say.
    fn check(&self) -> Result<(), String>;
}

impl<S: OfSsds + Inspect> Examine for S {
    fn ppn_limit(&self) -> u64 {
        self.parts().ssds().iter().map(|flash| u64::from(flash.store().space().ppn_limit())).sum()
    }

    fn pages_of(&self, ssd: usize, part: &Part) -> Vec<Ppn> {
        let first = self.parts().first_page(ssd);
        self.parts().ssds()[ssd].parts().pages_of(part).map(|ppn| Ppn(first + ppn.0)).collect()
    }

    fn is_lost_page(&self, ppn: Ppn) -> bool {
        let (ssd, ppn) = self.parts().locate(ppn);
        self.parts().ssds()[ssd].store().is_lost_page(ppn)
    }

    fn is_unplaced_page(&self, ppn: Ppn) -> bool {
        let (ssd, ppn) = self.parts().locate(ppn);
        self.parts().ssds()[ssd].store().is_unplaced_page(ppn)
    }

    fn is_at_risk(&self, ppn: Ppn) -> bool {
        let (ssd, ppn) = self.parts().locate(ppn);
        self.parts().ssds()[ssd].store().is_at_risk(ppn)
    }

    fn programs_in_service(&self) -> Vec<Ppn> {
        let of_ssd = |(ssd, flash): (usize, &'_ Flash)| {
            let first = self.parts().first_page(ssd);
            flash.nand().programs_in_service().map(|ppn| Ppn(first + ppn.0)).collect::<Vec<_>>()
        };
        self.parts().ssds().iter().enumerate().flat_map(of_ssd).collect()
    }

    fn held(&self, member: MemberId) -> Held {
        let (flash, member) = self.parts().home(member);
        flash.store().maps().held(member)
    }

    fn gc_runs_under_way(&self) -> GcUnderWay {
        self.parts().ssds().iter().fold(GcUnderWay::default(), |sum, flash| sum | flash.checked().gc_runs_under_way())
    }

    fn has_map_events(&self) -> bool {
        self.parts().ssds().iter().any(|flash| flash.store().space().news().has_map_events())
    }

    fn is_at_work(&self) -> bool {
        self.parts().ssds().iter().any(|flash| flash.checked().is_at_work())
    }

    fn failed_parts(&self, ssd: usize) -> Option<&'static str> {
        self.parts().ssds()[ssd].checked().failed_parts()
    }

    fn has_retired_blocks(&self) -> bool {
        self.parts().ssds().iter().any(|flash| flash.store().space().has_retired_blocks())
    }

    fn uses_spares(&self) -> bool {
        self.parts().ssds().iter().any(|flash| flash.parts().uses_spares())
    }

    fn channels_with_dead_chips(&self) -> (u64, u64) {
        let mut first = 0;
        self.parts().ssds().iter().fold((0, 0), |(data, mirrors), flash| {
            let (of_data, of_mirrors) = flash.parts().channels_with_dead_chips();
            let bits = (data | of_data << first, mirrors | of_mirrors << first);
            first += flash.nand().channels().len();
            bits
        })
    }

    fn check(&self) -> Result<(), String> {
        self.parts().ssds().iter().try_for_each(|flash| flash.checked().check())
    }
}
