//! What the times of a trace count.

/// A unit of time that traces are recorded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    Ns,
    /// Ticks of 100 ns, as Windows counts.
    Ticks,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    /// Every unit with its name, from the shortest on.
    pub const ALL: [(&'static str, Self); 5] =
        [("ns", Self::Ns), ("100ns", Self::Ticks), ("us", Self::Us), ("ms", Self::Ms), ("s", Self::S)];

    /// The unit of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// Its length.
    pub fn ns(self) -> u64 {
        10_u64.pow(self.decimals())
    }

    /// A unit is 10 to this power nanoseconds.
    #[inline(always)]
    pub(crate) fn decimals(self) -> u32 {
        match self {
            Self::Ns => 0,
            Self::Ticks => 2,
            Self::Us => 3,
            Self::Ms => 6,
            Self::S => 9,
        }
    }
}
