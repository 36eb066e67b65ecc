//! What is known of failures.

use crate::Settings;
use flashraid_vocabulary::{Fault, MemberPage, Ppn, Version, persistent};
use std::collections::BTreeSet;

/// Everything about failures that planes and blocks do not say themselves.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    pub(crate) any: bool,
    /// The physical page that lost versions name; never programmed.
    pub(crate) lost: Ppn,
    /// Pages of blocks in use that cannot be read until these are erased.
    pub(crate) unreadable: BTreeSet<u32>,
    /// Versions found to be unreadable that nobody has been told of.
    pub(crate) untold: Vec<(MemberPage, Version)>,
    /// Doomed blocks: plane, and number in it.
    pub(super) doomed: Vec<(u32, u16)>,
    /// Programs and erases that are to fail.
    pub(crate) armed: Vec<Fault>,
    /// Pages of each member's data chips that are gone.
    pub(crate) pages_gone: Vec<u32>,
    /// Members whose mirror chips take no copies until they are rebuilt.
    pub(crate) no_copies: Vec<bool>,
}

persistent!(Faults {
    keeps [any, unreadable, doomed],
    arrays [pages_gone],
    anew [lost, untold, armed, no_copies], // dead chips and failures that are still to come are not saved
});

impl Faults {
    pub(crate) fn new(settings: &Settings, lost: Ppn) -> Self {
        let members = settings.members() as usize;
        Self {
            any: false,
            lost,
            unreadable: BTreeSet::new(),
            untold: Vec::new(),
            doomed: Vec::new(),
            armed: Vec::new(),
            pages_gone: vec![0; members],
            no_copies: vec![false; members],
        }
    }

    /// The block of these pages was erased.
    pub(crate) fn readable_again(&mut self, first: Ppn, pages: u32) {
        while let Some(&page) = self.unreadable.range(first.0..first.0 + pages).next() {
            self.unreadable.remove(&page);
        }
    }

    /// Doomed blocks of a plane, and some that were.
    pub(crate) fn doomed_of(&self, plane: u32) -> impl Iterator<Item = u16> {
        self.doomed.iter().filter(move |(of, _)| *of == plane).map(|(_, number)| *number)
    }
}
