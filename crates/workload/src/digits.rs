//! Decimal digits, eight at a time: one load, no branch per digit.

/// Powers of ten up to the nine decimals of a second.
pub const POWERS_OF_TEN: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// How many of the bytes, from the first on, are digits, and their value (0 if there is none).
#[inline(always)]
pub fn leading_digits(bytes: [u8; 8]) -> (usize, u64) {
    // Each byte becomes its digit; a byte above 9 gets its top bit set. A carry can only come from a byte that is no digit
    // itself, so the lowest mark is always right.
    let digits = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    let marks = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = (marks.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    // Digits to the most significant end: zeros come in front. Then pairs, fours and eights are joined.
    let aligned = digits << (64 - 8 * count);
    let pairs = (aligned.wrapping_mul(10 * 256 + 1) >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100 * 65_536 + 1) >> 16) & 0x0000_FFFF_0000_FFFF;
    let eight = fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32;
    (count, eight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_values() {
        let cases: [(&[u8; 8], (usize, u64)); 7] = [
            (b"12345678", (8, 12_345_678)),
            (b"99999999", (8, 99_999_999)),
            (b"00000007", (8, 7)),
            (b"7 999999", (1, 7)),
            (b"409600\xff\xff", (6, 409_600)),
            (b"/1234567", (0, 0)),
            (b"12:\x894567", (2, 12)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(leading_digits(*bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn every_byte_ends_the_number() {
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            for position in 0..8 {
                let mut bytes = *b"98765432";
                bytes[position] = byte;
                let expected = bytes[..position].iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
                assert_eq!(leading_digits(bytes), (position, expected), "byte {byte} at {position}");
            }
        }
    }
}
