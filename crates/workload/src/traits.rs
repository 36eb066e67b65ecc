//! What a format says of all its requests, and how the devices of a trace are called.

/// Bits of the minor number in a device number that holds both, as in the kernel's `dev_t`.
pub const MINOR_BITS: u32 = 20;

/// How a format's devices are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceNames {
    /// By their number.
    Numbers,
    /// Major and minor number in one.
    MajorMinor,
    /// By words, which get numbers in order of appearance.
    Words,
}

/// What a format says of all its requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// How devices are called.
    pub names: DeviceNames,
    /// Whether times count from an origin outside the trace, so that the first request's becomes 0.
    pub is_rebased: bool,
    /// Whether the clock is too coarse to order requests by: those of one tick (the time unit) are spread evenly over it.
    pub is_coarse: bool,
    /// Whether a file that begins like this may name write streams.
    pub names_streams: fn(head: &[u8]) -> bool,
    /// Whether recorders write requests in another order than that of their times by nature: at completion, or from several processors.
    pub is_disordered: bool,
}

impl Traits {
    /// Numbered devices, times from the start, a good clock.
    pub const PLAIN: Self =
        Self { names: DeviceNames::Numbers, is_rebased: false, is_coarse: false, names_streams: |_| false, is_disordered: false };
    /// The same with times from another origin.
    pub const REBASED: Self = Self { is_rebased: true, ..Self::PLAIN };
    /// A coarse clock with an origin of its own.
    pub const COARSE: Self = Self { is_coarse: true, ..Self::REBASED };
    /// Times from another origin, of requests that are recorded in another order.
    pub const DISORDERED: Self = Self { is_disordered: true, ..Self::REBASED };
}
