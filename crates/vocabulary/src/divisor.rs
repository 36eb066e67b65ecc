//! Division by numbers that do not change.

/// Division by a number that does not change, as a multiplication.
///
/// For n = q d + s with 0 <= s < d, and m = floor((2^64 - 1) / d), the product (n + 1) m / 2^64 is (n + 1) / d less an error that is
/// above zero and at most (n + 1) / 2^64. So it is below q + 1, and not below q as long as (n + 1) d <= 2^64: for all 32-bit n and d, and
/// for n below 2^58 with d up to 64.
#[derive(Clone, Copy, Debug)]
pub struct Divisor(u64);

impl Divisor {
    /// To divide by `divisor`, which is not zero.
    pub fn new(divisor: u32) -> Self {
        Self(u64::MAX / u64::from(divisor))
    }

    /// The quotient, rounded down.
    #[inline]
    pub fn divide(self, number: u64) -> u64 {
        ((u128::from(self.0) * (u128::from(number) + 1)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;

    #[test]
    fn divides_as_the_processor_does() {
        for divisor in (1..300).chain([4096, 65_535, 1 << 20, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX]) {
            let reciprocal = Divisor::new(divisor);
            let wide = u64::from(divisor);
            let limit = (1u128 << 64) / u128::from(divisor) - 1;
            let multiples =
                (0..40).map(|k| k * wide).chain([u64::from(u32::MAX), limit.min(u128::from(u64::MAX) - 1) as u64 / wide * wide]);
            for number in multiples.flat_map(|number| [number.saturating_sub(1), number, number + 1]) {
                if u128::from(number) <= limit {
                    assert_eq!(reciprocal.divide(number), number / wide, "{number} / {divisor}");
                }
            }
        }
    }
}
