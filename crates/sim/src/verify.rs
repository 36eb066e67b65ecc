//! The check of everything that is stored: each host page against the oracle, and each declared failure tried on paper.

use crate::engine::Engine;
use crate::engine::tags::{Tags, ZERO};
use flashraid_vocabulary::{Lpn, MemberPage, Version};
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

/// Compares every host page, and recomputes it for each failure that the scheme declares to survive, from what the pages of
/// the surviving members really hold. Valid between any two events: it looks at durable state only.
pub fn stored(engine: &Engine<Tags>) -> Verified {
    let (scheme, flash, tags) = (engine.scheme(), &engine.flash, &engine.content);
    let content = |address: MemberPage| flash.lookup(address, Version::Current).map_or(ZERO, |ppn| tags.page(ppn));
    let cases = scheme.tolerates();
    let mut found = Verified::default();
    let mut sources = Vec::new();
    for lpn in (0..engine.space_pages()).map(Lpn) {
        let address = scheme.locate(lpn);
        let stored = content(address);
        // Of a page that the controller holds, a version is acknowledged that is not durable yet.
        found.mismatches += u64::from(!tags.is_durable(lpn, stored) || !(tags.explains(lpn, stored) || engine.holds(lpn)));
        if flash.lookup(address, Version::Current).is_none() {
            continue;
        }
        found.pages_checked += 1;
        for &lost in cases.iter().filter(|lost| **lost >> address.member.0 & 1 == 1) {
            sources.clear();
            let recovered =
                scheme.recover(lpn, lost, &mut sources) && sources.iter().fold(ZERO, |sum, source| sum ^ content(*source)) == stored;
            found.pages_checked += 1;
            found.pages_lost += u64::from(!recovered);
        }
    }
    found
}
