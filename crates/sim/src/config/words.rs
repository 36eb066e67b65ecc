//! Settings that are one of a closed list of words.

use serde::{Deserialize, Serialize};

/// A setting with a closed list of words. The doc comment of a variant is what users read about it.
macro_rules! word {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name { $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// Each word and what it means.
            pub const WORDS: &'static [(&'static str, &'static str)] = &[$(($word, concat!($($doc),+).trim_ascii()),)+];

            /// The word in configurations and results.
            pub fn name(self) -> &'static str {
                Self::WORDS[self as usize].0
            }
        }
    };
}

word! {
    /// The unit of placement, failure and health.
    Member {
        /// A channel with its chips.
        Channel = "channel",
        /// A chip.
        Chip = "chip",
    }
}

word! {
    /// Which planes one FTL instance owns.
    Ftl {
        /// What the scheme allows: with `allocation = dynamic` the most planes with which it keeps its promise (all for raid0, a
        /// mirror group for raid1, a member for parity), else a member; for a scheme that places pages in mirror groups (sirf1)
        /// its group, unless placement is static.
        Auto = "auto",
        /// The planes of one member.
        Member = "member",
        /// The planes of one mirror group: of one half of the channels, unless the scheme has another number of groups.
        Group = "group",
        /// All planes.
        Device = "device",
    }
}

word! {
    /// How a program finds its plane.
    Allocation {
        /// By arithmetic on the local page (`static_order`).
        Static = "static",
        /// Whatever is idle in what the layout names: the member, or the mirror group.
        DynamicMember = "dynamic_member",
        /// Whatever is idle in the FTL instance.
        Dynamic = "dynamic",
    }
}

word! {
    /// What executes one array operation at a time.
    Lun {
        /// A die.
        Die = "die",
        /// A whole chip (chip-serial, as simulators without die interleaving).
        Chip = "chip",
    }
}

word! {
    /// Order inside a service class on one LUN.
    Scheduling {
        /// Reads before programs, oldest first.
        ReadFirst = "read_first",
        /// Oldest first.
        Fifo = "fifo",
    }
}

word! {
    /// When a program counts as ended for the host.
    WriteCompletes {
        /// When the array operation ends.
        ProgramEnd = "program_end",
        /// When the data are in the die's register.
        DataIn = "data_in",
    }
}

word! {
    /// How logical pages are mapped to physical ones, and where the map is kept.
    Mapping {
        /// Page by page, all of the map in RAM.
        Page = "page",
        /// On flash, in translation pages that are written twice, on two members; RAM holds where these are, and `cmt_entries` entries (DFTL).
        Dftl = "dftl",
        /// Hybrid: blocks whose pages lie at their own offsets, and log blocks that each serve one of them (BAST). Planes take logical blocks in turn,
        /// whatever `allocation`; merges of log blocks take the place of GC runs (SPEC 6.3).
        Bast = "bast",
        /// Hybrid: as `bast`, but log blocks are shared, one for pages in sequence and the others in the order of writes (FAST).
        Fast = "fast",
    }
}

impl Mapping {
    /// Whether pages lie at their offsets in blocks, beside log blocks.
    pub fn is_hybrid(self) -> bool {
        matches!(self, Mapping::Bast | Mapping::Fast)
    }
}

word! {
    /// Which pages of a write buffer in NVRAM leave first, all those of a stripe together (SPEC 4.9 item 4).
    NvramVictim {
        /// Those of the stripe whose last write is the oldest.
        OldestWrite = "oldest_write",
        /// Those of the stripe of which most are buffered; of equal ones the one whose last write is the oldest.
        LargestGroup = "largest_group",
    }
}

word! {
    /// How much of a page crosses the bus.
    Transfer {
        /// The sectors touched, of 512 bytes each.
        Touched = "touched",
        /// The whole page.
        Page = "page",
    }
}

word! {
    /// What stands still for the host while a GC run moves pages.
    GcBlockingScope {
        /// Nothing: GC competes by priority.
        None = "none",
        /// The LUN (die or chip) of the victim.
        Lun = "lun",
        /// The chip.
        Chip = "chip",
        /// The channel.
        Channel = "channel",
    }
}

word! {
    /// Which block is collected; of hybrid mapping, which log block is merged.
    GcPolicy {
        /// `commit_aware`.
        Auto = "auto",
        /// The one with the fewest pages to move. Semivalid pages that the scheme commits instead do not count. With `mapping = bast` the log block
        /// written longest ago; with `fast`, whatever the policy, the oldest.
        Greedy = "greedy",
        /// The one with the least time of moves, and of the commits of its semivalid pages. The same as `greedy` if the scheme commits none.
        CommitAware = "commit_aware",
    }
}

word! {
    /// Wear levelling.
    WearLeveling {
        /// Free blocks in the order in which they were freed.
        None = "none",
        /// The free block with the fewest erases.
        Dynamic = "dynamic",
        /// Also move cold blocks when the spread exceeds `wear_leveling_threshold`.
        Static = "static",
    }
}

word! {
    /// How the sub-requests of one request follow each other (SPEC 0.3 step 2).
    SerialSubrequests {
        /// The next starts when the former's page operations are queued.
        Queued = "queued",
        /// The next starts when the former has ended.
        Strict = "strict",
        /// All start at once.
        Off = "off",
    }
}

word! {
    /// What a read of a page never written finds.
    Unwritten {
        /// Zeroes, without flash access; counted.
        Zero = "zero",
        /// A page placed by the first touch as the fill would have placed it.
        Prefill = "prefill",
    }
}

word! {
    /// What becomes of addresses beyond the logical space.
    Fit {
        /// Taken modulo the space, so that different addresses become one; counted.
        Wrap = "wrap",
        /// All addresses are moved: extents of 1 MiB lie one behind the other in the order in which they first appear (docs/traces.md).
        Compact = "compact",
        /// An error.
        Error = "error",
    }
}
