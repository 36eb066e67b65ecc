//! splitmix64: one 64-bit state, every output once per period, the same on every machine.
//!
//! Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, in Vigna's public-domain form.

use crate::persistent;

/// The generator.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

persistent!(SplitMix64 {
    keeps [state],
});

impl SplitMix64 {
    /// Starts the sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Starts the sequence that belongs to a purpose (at most eight letters) and a seed, so that purposes do not disturb each other.
    pub fn named(seed: u64, purpose: &str) -> Self {
        let tag = purpose.bytes().fold(0_u64, |tag, letter| tag << 8 | u64::from(letter));
        Self::new(Self::new(seed ^ tag).next_u64())
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// Uniform in (0, 1], in steps of 2^-53.
    #[inline]
    pub fn next_positive_unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    #[inline]
    pub fn next_unit(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// Below `end`, by the remainder: the bias, at most `end` in 2^64, does not show.
    #[inline]
    pub fn next_below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }
}

/// What 64 random bits stand for in [0, 1), in steps of 2^-53.
#[inline]
pub fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

/// Which of `count` 64 random bits stand for, by multiply-shift: the bias, at most `count` in 2^64, does not show.
#[inline]
pub fn one_of(count: u64, random: u64) -> u64 {
    ((u128::from(random) * u128::from(count)) >> 64) as u64
}

/// Every bit of the result depends on every bit given, and no two numbers give the same.
#[inline]
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
