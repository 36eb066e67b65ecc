//! Replacement of SSDs of an array while it runs: what a scheme orders, and what it counts (SPEC 5.5).

use flashraid_vocabulary::MemberId;

/// What a scheme wants done with SSDs. Each member is an SSD, spare ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The replacement of `old` by the spare SSD `new` begins: that has a task from now on.
    Begin {
        /// The SSD that goes.
        old: MemberId,
        /// The spare SSD.
        new: MemberId,
        /// Whether host requests wait until it has ended.
        host_waits: bool,
    },
    /// Nothing programs the SSD any more: it is read only (S1).
    ReadOnly(MemberId),
    /// The SSD is programmed again: the replacement of it is given up, as the SSD in its place has failed (SPEC 5.6).
    GiveUp {
        /// The SSD that stays.
        old: MemberId,
        /// The SSD that has failed.
        new: MemberId,
    },
    /// The SSD is taken out, with all that it holds (S2).
    TakeOut(MemberId),
    /// The replacement has ended: nothing of the array lies on `old` any more.
    End {
        /// The SSD that goes.
        old: MemberId,
        /// The one in its place.
        new: MemberId,
        /// Whether it stays for reads, as a shadow (SPEC 5.10); else it is taken out.
        stays: bool,
    },
    /// Both SSDs of a replacement have failed: it ends, and what lay on them is as lost as on any two SSDs.
    Abandon {
        /// The SSD that was to go.
        old: MemberId,
        /// The one that was to take its place.
        new: MemberId,
    },
    /// Host requests wait no longer for the end of the replacement: it lacks what is lost for good, until that is written anew.
    ServeHost,
    /// Nobody reads the shadow any more: it is taken out.
    Drop(MemberId),
}

/// Strips moved by replacements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// Data strips that host writes programmed on another SSD than before.
    pub hot_data: u64,
    /// Parities that host writes programmed on another SSD than before.
    pub hot_parity: u64,
    /// Strips that host writes moved beside those that they wrote (SPEC 5.6, B3).
    pub hot_moves: u64,
    /// Data strips copied in idle time.
    pub cold_data: u64,
    /// Parities copied in idle time.
    pub cold_parity: u64,
    /// Data strips of another SSD moved in idle time, so that a parity can go where it should.
    pub cold_moves: u64,
    /// Reads of shadows.
    pub shadow_reads: u64,
}

impl Migrated {
    /// What was moved since it was this.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            hot_data: self.hot_data - before.hot_data,
            hot_parity: self.hot_parity - before.hot_parity,
            hot_moves: self.hot_moves - before.hot_moves,
            cold_data: self.cold_data - before.cold_data,
            cold_parity: self.cold_parity - before.cold_parity,
            cold_moves: self.cold_moves - before.cold_moves,
            shadow_reads: self.shadow_reads - before.shadow_reads,
        }
    }
}
