//! Settings whose value is a word from a closed list.

use flashraid_vocabulary::word;

word! {
    /// Which planes one FTL instance owns.
    Ftl {
        /// Chosen by scheme and allocation. With `allocation = dynamic`, the largest set of planes whose loss the scheme survives: a mirror group
        /// with mirroring alone, a member with parity; all planes without redundancy. With other allocations, a member; for a scheme that places
        /// pages in mirror groups, a mirror group unless allocation is static.
        Auto = "auto",
        /// The planes of one member.
        Member = "member",
        /// The planes of one mirror group: half of the channels, unless the scheme has another number of groups.
        Group = "group",
        /// All planes.
        Device = "device",
    }
}

word! {
    /// How the FTL chooses the plane of a program.
    Allocation {
        /// A fixed plane, computed from the local page number (`static_order`).
        Static = "static",
        /// An idle plane of the member, or mirror group, that the layout names.
        DynamicMember = "dynamic_member",
        /// An idle plane of the FTL instance.
        Dynamic = "dynamic",
    }
}

word! {
    /// How logical pages are mapped to physical pages, and where the map is stored.
    Mapping {
        /// Page mapping, with the whole map in RAM.
        Page = "page",
        /// Page mapping, with the map in translation pages on flash (DFTL). Each translation page is stored on two members. RAM holds their
        /// directory and a cache of `cmt_entries` entries.
        Dftl = "dftl",
        /// Hybrid mapping: data blocks whose pages lie at fixed offsets, and log blocks that each serve one data block (BAST). Logical blocks are
        /// assigned to planes in turn, whatever `allocation` says; merges of log blocks replace GC (SPEC 6.3).
        Bast = "bast",
        /// Hybrid mapping with shared log blocks (FAST): one takes sequential writes, the others take all other writes in the order of arrival.
        Fast = "fast",
    }
}

impl Mapping {
    /// Whether the mapping is hybrid: data blocks with fixed page offsets, and log blocks.
    pub fn is_hybrid(self) -> bool {
        matches!(self, Mapping::Bast | Mapping::Fast)
    }
}

word! {
    /// When pages leave a data buffer.
    Destage {
        /// When a write finds no space for its pages, or for a flush. A write that makes pages leave DRAM waits until flash has them; NVRAM acknowledges it when
        /// it has space. This is the rule of the papers (SPEC 2.4, 4.4).
        WhenFull = "when_full",
        /// Also by itself, from the moment at which the buffer holds as many pages as `destage_high_water` until it holds no more than `destage_low_water`, at the rate
        /// `destage_bytes_per_second`. DRAM, too, acknowledges a write when it has space.
        LowWater = "low_water",
    }
}

word! {
    /// What leaves a data buffer in DRAM together.
    DestageUnit {
        /// The least recently used page. This is the rule of SIRF-1 (SPEC 2.4).
        Page = "page",
        /// All buffered pages of a stripe, the least recently used one, so that a scheme with parity can write them as one. From NVRAM they always do.
        Stripe = "stripe",
    }
}

word! {
    /// How the write buffer in NVRAM chooses the stripe to evict (SPEC 4.9 item 4).
    NvramVictim {
        /// The stripe whose last write is the oldest.
        OldestWrite = "oldest_write",
        /// The stripe with the most buffered pages; on a tie, the one whose last write is the oldest.
        LargestGroup = "largest_group",
    }
}

word! {
    /// How far planes are on their way from one GC run to the next.
    GcPhases {
        /// Each at a point of its own, drawn with `seed`, as in a drive in use: a short run then sees as much GC as a long one in the same time. With
        /// `gc_pace = debt` GC of a drive in use is always under way: all planes begin where the next program lets it begin.
        Random = "random",
        /// As the precondition leaves them: where blocks have become nothing but garbage when they are collected, all planes of a member at the same
        /// point, and GC comes in waves.
        Aligned = "aligned",
    }
}

word! {
    /// What a read of a page that was never written returns.
    Unwritten {
        /// Zeroes, without a flash access. The result counts such reads (`unmapped_reads`).
        Zero = "zero",
        /// Zeroes from flash: the first read of the page places it on flash with its redundancy, in no simulated time, and then reads it. If no
        /// space is left for it, the read returns zeroes without a flash access.
        Prefill = "prefill",
    }
}

word! {
    /// Whether a page is read before a part of it is written.
    PartialWrites {
        /// Always, if flash holds the page; behind a data buffer, if flash holds sectors of it that the buffer does not.
        Read = "read",
        /// Only if it holds valid sectors that the write does not replace. A sector (512 bytes) is valid if a request or the fill has written it, or, with
        /// `unwritten = prefill`, a request has read it, and no discard has covered it since, be it a discard of a part of the page. A write without the
        /// read leaves zeroes in all other sectors. Behind a data buffer a sector is written when it leaves the buffer: a discard of a part of a page takes nothing
        /// out of the buffer.
        ReadIfNeeded = "read_if_needed",
        /// The same, but what the fill and the precondition have written counts only if a request has read or written the sector since. This is the rule of
        /// SSDsim, which does not know a fill that nobody uses.
        ReadIfUsed = "read_if_used",
    }
}

word! {
    /// What the controller does when a failure has taken more than the scheme survives.
    AfterLoss {
        /// It goes on with what is left: requests fail that need a lost page, and all others are served.
        Serve = "serve",
        /// It is read-only: reads are served as before, and fail if they need a lost page; what would change data is refused.
        ReadOnly = "read_only",
        /// It stops: all requests are refused, as of an array that has gone offline.
        Stop = "stop",
    }
}

word! {
    /// How addresses beyond the logical space are handled.
    Fit {
        /// They are taken modulo the logical space, so that different addresses coincide. The result counts them.
        Wrap = "wrap",
        /// All addresses are remapped: extents of 1 MiB are packed in the order of first access (docs/traces.md).
        Compact = "compact",
        /// They are an error.
        Error = "error",
    }
}
