//! Counts that schemes keep in addition to those of the engine.

use flashraid_vocabulary::Persistent;
use std::io::{self, Read, Write};

/// How many parity updates of each kind were made (one for each operation that changes a stripe's parity).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of the result's keys
pub struct ParityUpdates {
    pub full_stripe: u64,
    pub rmw: u64,
    pub rcw: u64,
    pub mirrored: u64,
    pub deferred: u64,
    pub committed: u64,
    pub adjusted: u64,
}

/// Commits of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    /// How many.
    pub commits: u64,
    /// Pages that they read.
    pub reads: u64,
}

impl Commits {
    /// Counts one that reads so many pages.
    pub fn count(&mut self, reads: u8) {
        self.commits += 1;
        self.reads += u64::from(reads);
    }
}

/// What a scheme that defers parities has done (SPEC 4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounts {
    /// Stripe updates that found their stripe's parity already deferred.
    pub hits: u64,
    /// Other stripe updates.
    pub misses: u64,
    /// Commits, by `CommitCause`.
    pub commits: [Commits; 5],
    /// Deferred parities made to cover their whole stripe in NVRAM, as their parity's chip had no page at hand (SPEC 4.4, widen).
    pub widened: Commits,
    /// Stripes whose parity is deferred now.
    pub entries: u64,
    /// Most of them there can be; 0 if there is no bound.
    pub most_entries: u64,
    /// Old versions that recovery needs now.
    pub old_pages: u64,
    /// The most there were of these.
    pub most_old_pages: u64,
}

impl GuardCounts {
    /// A stripe changes: strips that have changed since its parity was made, and strips with an old version, before and after.
    pub fn moved(&mut self, before: (u64, u64), after: (u64, u64)) {
        self.entries = self.entries + u64::from(after.0 != 0) - u64::from(before.0 != 0);
        self.old_pages = self.old_pages + u64::from(after.1.count_ones()) - u64::from(before.1.count_ones());
        self.most_old_pages = self.most_old_pages.max(self.old_pages);
    }

    /// What happened so far counts no more; what there is now does.
    pub fn begin(&mut self) {
        let Self { entries, most_entries, old_pages, .. } = *self;
        *self = Self { entries, most_entries, old_pages, most_old_pages: old_pages, ..Self::default() };
    }
}

/// What there is now is kept, what has happened is not.
impl Persistent for GuardCounts {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        (self.entries, self.old_pages).save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.entries.restore(from)?;
        self.old_pages.restore(from)?;
        self.begin();
        Ok(())
    }
}
