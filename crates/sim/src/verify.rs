//! The check of everything that is stored: each host page against the oracle, and each declared failure tried on paper.

use crate::engine::Engine;
use crate::engine::tags::{Tags, ZERO};
use crate::engine::translation::stamp;
use flashraid_flash::Flash;
use flashraid_redundancy::Protects;
use flashraid_vocabulary::{Lpn, MemberPage, Ppn, Version};
use serde::Serialize;

/// What verification found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Host page reads compared with what they may return.
    pub reads_checked: u64,
    /// Of these, wrong ones; and stored pages that no host request explains.
    pub mismatches: u64,
    /// Stored pages compared, plus pages recomputed from survivors, over all failures tried.
    pub pages_checked: u64,
    /// Of the recomputed pages, those that came out wrong or not at all.
    pub pages_lost: u64,
}

impl Verified {
    /// Adds what another check of stored pages found.
    pub fn add(&mut self, other: &Self) {
        self.reads_checked += other.reads_checked;
        self.mismatches += other.mismatches;
        self.pages_checked += other.pages_checked;
        self.pages_lost += other.pages_lost;
    }

    /// Whether nothing was wrong.
    pub fn is_clean(&self) -> bool {
        self.mismatches == 0 && self.pages_lost == 0
    }
}

/// The number of the chip, channel or member whose failure takes this physical page.
fn failed_unit(flash: &Flash, protects: Protects, ppn: Ppn) -> Option<u32> {
    let unit = flash.unit_of(ppn);
    match protects {
        Protects::None => None,
        Protects::Chip => Some(flash.channel_of_unit(unit) * flash.settings().chips_per_channel() + flash.chip_of_unit(unit)),
        Protects::Channel => Some(flash.channel_of_unit(unit)),
        Protects::Member => flash.member_of_unit(unit),
    }
}

/// Checks the translation pages on flash, if there are any: both copies hold the newest version, no failure takes both, and nothing is
/// forgotten of what they do not say yet.
fn stored_map(engine: &Engine<Tags>, found: &mut Verified) {
    let Some(translation) = engine.translation() else { return };
    let (flash, protects) = (&engine.flash, engine.scheme().protects());
    for page in 0..translation.pages() {
        let Some((version, copies)) = translation.stored_at(page) else { continue };
        let stamp = stamp(page, version);
        let copies = copies.map(|copy| flash.lookup(copy, Version::Current));
        found.pages_checked += 2;
        found.mismatches += copies.iter().filter(|ppn| ppn.is_none_or(|ppn| engine.content.page(ppn) != stamp)).count() as u64;
        if let [Some(own), Some(twin)] = copies.map(|ppn| ppn.and_then(|ppn| failed_unit(flash, protects, ppn))) {
            found.pages_lost += u64::from(own == twin);
        }
    }
    found.mismatches += translation.forgotten(flash, |page| engine.writes_translation_page(page));
}

/// Compares every host page, and recomputes it without the unit (as the scheme declares it) on which it lies, from what the other
/// units really hold. Valid between any two events: it looks at durable state only.
pub fn stored(engine: &Engine<Tags>) -> Verified {
    let (scheme, flash, tags) = (engine.scheme(), &engine.flash, &engine.content);
    let content = |address: MemberPage, version: Version| flash.lookup(address, version).map_or(ZERO, |ppn| tags.page(ppn));
    let protects = scheme.protects();
    let mut found = Verified::default();
    stored_map(engine, &mut found);
    let mut sources = Vec::new();
    for lpn in (0..engine.space_pages()).map(Lpn) {
        let address = scheme.locate(lpn);
        let stored = content(address, Version::Current);
        // Of a page that the controller holds, a version is acknowledged that is not durable yet.
        found.mismatches += u64::from(!tags.is_durable(lpn, stored) || !(tags.explains(lpn, stored) || engine.holds(lpn)));
        let Some(ppn) = flash.lookup(address, Version::Current) else { continue };
        found.pages_checked += 1;
        // Of the failures that the scheme survives, the one that takes this page: other failures leave it readable.
        let Some(failed) = failed_unit(flash, protects, ppn) else { continue };
        let lost = |address, version| flash.lookup(address, version).is_some_and(|ppn| failed_unit(flash, protects, ppn) == Some(failed));
        sources.clear();
        let recovered = scheme.recover(lpn, &lost, &mut sources)
            && sources.iter().fold(ZERO, |sum, (address, version)| sum ^ content(*address, *version)) == stored;
        found.pages_checked += 1;
        found.pages_lost += u64::from(!recovered);
    }
    found
}
