//! Settings whose value is a word from a closed list, and those of them that layers below the configuration read.

/// A setting with a closed list of words. The doc comment of a variant is what users read about it.
#[macro_export]
macro_rules! word {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
    /// The unit that serves no host operations while a GC run moves pages.
    GcBlockingScope {
        /// None: GC competes with host operations by priority.
        None = "none",
        /// The LUN of the victim block (a die, or a chip with `lun = chip`).
        Lun = "lun",
        /// The chip of the victim block.
        Chip = "chip",
        /// The channel of the victim block.
        Channel = "channel",
    }
}

word! {
    /// How fast a GC run goes once it has begun.
    GcPace {
        /// It moves page after page until its victim is erased.
        Block = "block",
        /// It moves as much as programs into its plane have made it owe (SPEC 8.4), while nobody needs the block that it frees.
        Debt = "debt",
    }
}

word! {
    /// Where GC moves pages of several write streams (SPEC 8.13).
    GcStreams {
        /// All into one open block.
        Shared = "shared",
        /// Those of each stream into an open block of their own.
        Own = "own",
    }
}

word! {
    /// What programs do when the SLC cache is full (SPEC 8.14).
    SlcFull {
        /// They go to blocks of all bits, beside the cache.
        Direct = "direct",
        /// They wait until a block of the cache is folded.
        Stall = "stall",
    }
}

word! {
    /// When the sub-requests of one request start (SPEC 0.3 step 2).
    SerialSubrequests {
        /// A sub-request starts when the page operations of the previous one are queued.
        Queued = "queued",
        /// A sub-request starts when the previous one has ended.
        Strict = "strict",
        /// All sub-requests start at once.
        Off = "off",
    }
}

word! {
    /// The unit of placement, failure and health.
    Member {
        /// A channel with its chips.
        Channel = "channel",
        /// A chip.
        Chip = "chip",
        /// A whole SSD.
        Device = "device",
    }
}

word! {
    /// The unit that executes one array operation at a time.
    Lun {
        /// A die.
        Die = "die",
        /// A whole chip, as in simulators without die interleaving.
        Chip = "chip",
    }
}

word! {
    /// The order of operations within a service class on one LUN.
    Scheduling {
        /// Reads before programs, each oldest first.
        ReadFirst = "read_first",
        /// Oldest first.
        Fifo = "fifo",
    }
}

word! {
    /// When the host sees a program as completed.
    WriteCompletes {
        /// When the array operation ends.
        ProgramEnd = "program_end",
        /// When the data is in the page register of the die.
        DataIn = "data_in",
    }
}

word! {
    /// What a die suspends while it serves reads.
    Suspend {
        /// Nothing: a read waits for the end of what its die does.
        None = "none",
        /// Erases.
        Erase = "erase",
        /// Programs.
        Program = "program",
        /// Erases and programs.
        Both = "both",
    }
}

word! {
    /// Where a rebuild programs what it restores of a member that has several living chips.
    RebuildTarget {
        /// On the chips that have replaced failed ones, as long as they have a free page.
        Replacement = "replacement",
        /// On any idle chip of the member, as all programs.
        Member = "member",
    }
}

word! {
    /// How much of a page is transferred over the bus.
    Transfer {
        /// The 512-byte sectors that the request touches.
        Touched = "touched",
        /// The whole page.
        Page = "page",
    }
}

word! {
    /// How GC and allocation even out erase counts.
    WearLeveling {
        /// No wear leveling: free blocks are used in the order in which they were freed.
        None = "none",
        /// Allocation takes the free block with the fewest erases.
        Dynamic = "dynamic",
        /// In addition, cold blocks are moved when erase counts differ by more than `wear_leveling_threshold`.
        Static = "static",
    }
}
