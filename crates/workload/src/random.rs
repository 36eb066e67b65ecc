//! What is made of random numbers: laws of exact arithmetic or libm, which are the same on every machine, and random orders.

use flashraid_vocabulary::{SplitMix64, mix};

/// Numbers that follow a law.
pub(crate) trait Laws {
    /// Exponentially distributed with mean 1; at most 37.
    fn next_exponential(&mut self) -> f64;

    /// Normally distributed with mean 0 and standard deviation 1 (Box and Muller, 1958).
    fn next_normal(&mut self) -> f64;
}

impl Laws for SplitMix64 {
    fn next_exponential(&mut self) -> f64 {
        -libm::log(self.next_positive_unit())
    }

    fn next_normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.next_exponential());
        radius * libm::cos(std::f64::consts::TAU * self.next_unit())
    }
}

/// The numbers below `end` in a random order, each found without the others: a Feistel network of four rounds over the next even number
/// of bits, walked until it is within (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    end: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// An order drawn from `random`.
    pub fn new(end: u64, random: &mut SplitMix64) -> Self {
        let bits = 64 - end.saturating_sub(1).leading_zeros();
        Self { end, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| random.next_u64()) }
    }

    /// The number at `index`, which is below `end`.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let mut value = index;
        loop {
            let (mut left, mut right) = (value >> self.half_bits, value & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix(right ^ key) & mask));
            }
            value = left << self.half_bits | right;
            if value < self.end {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_complete_and_shuffled() {
        for end in [1_u64, 2, 3, 64, 1000, 4097] {
            let permutation = Permutation::new(end, &mut SplitMix64::new(end));
            let mut numbers: Vec<u64> = (0..end).map(|index| permutation.at(index)).collect();
            let fixed = numbers.iter().zip(0..).filter(|(number, index)| **number == *index).count();
            assert!(fixed <= 12, "{fixed} of {end} in place");
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..end));
        }
    }

    #[test]
    fn laws_have_their_moments() {
        let mut random = SplitMix64::new(5);
        let normal: Vec<f64> = (0..100_000).map(|_| random.next_normal()).collect();
        let (mean, square) = (normal.iter().sum::<f64>() / 1e5, normal.iter().map(|value| value * value).sum::<f64>() / 1e5);
        // Standard errors: 0.0032 and 0.0045.
        assert!(mean.abs() < 0.016 && (square - 1.0).abs() < 0.023, "{mean} {square}");
        let within = normal.iter().filter(|value| value.abs() < 1.0).count() as f64 / 1e5;
        assert!((within - 0.682_69).abs() < 0.0074, "{within}");
        assert_ne!(SplitMix64::named(1, "gaps").next_u64(), SplitMix64::named(1, "ops").next_u64());
    }
}
