//! Arithmetic of GF(2^8), in which the second parity of a stripe is computed.
//!
//! Source: H. P. Anvin, "The mathematics of RAID-6", 2004, section 1; SPEC 8.16. An element is a byte, the coefficients of a polynomial over GF(2). Addition
//! is XOR. Multiplication is modulo x^8 + x^4 + x^3 + x^2 + 1 (0x11D), of which 2 generates every element but 0.

/// The low byte of the modulus: what x^8 is.
const REDUCED: u64 = 0x1D;
/// The elements but 0, which are powers of 2.
const ORDER: u32 = 255;

/// Each byte of a word times 2.
const fn doubled(word: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    ((word & !HIGH) << 1) ^ (((word & HIGH) >> 7) * REDUCED)
}

/// Each byte of a word times a factor.
#[inline]
pub const fn scale(mut word: u64, mut factor: u8) -> u64 {
    let mut product = 0;
    while factor != 0 {
        if factor & 1 == 1 {
            product ^= word;
        }
        word = doubled(word);
        factor >>= 1;
    }
    product
}

/// The product of two elements.
#[inline]
pub const fn multiply(one: u8, other: u8) -> u8 {
    scale(one as u64, other) as u8
}

/// 2 to the power of an exponent.
#[inline]
pub const fn power(exponent: u32) -> u8 {
    const POWERS: [u8; ORDER as usize] = {
        let mut powers = [1; ORDER as usize];
        let mut exponent = 1;
        while exponent < ORDER as usize {
            powers[exponent] = multiply(powers[exponent - 1], 2);
            exponent += 1;
        }
        powers
    };
    POWERS[(exponent % ORDER) as usize]
}

/// The element whose product with this one is 1. Panics for 0, which has none.
pub const fn inverse(element: u8) -> u8 {
    assert!(element != 0, "0 has no inverse");
    // Its power of 254, as that of 255 is 1.
    let (mut result, mut times) = (1, 1);
    while times < ORDER {
        result = multiply(result, element);
        times += 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by its definition: that of the polynomials, and what is left of it when it is divided by the modulus.
    fn by_definition(one: u8, other: u8) -> u8 {
        let product = (0..8).filter(|bit| other >> bit & 1 == 1).fold(0u32, |sum, bit| sum ^ (u32::from(one) << bit));
        (8..15).rev().fold(product, |left, bit| if left >> bit & 1 == 1 { left ^ (0x11D << (bit - 8)) } else { left }) as u8
    }

    #[test]
    fn products_are_those_of_polynomials() {
        for (one, other) in (0..=255).flat_map(|one| (0..=255).map(move |other| (one, other))) {
            assert_eq!(multiply(one, other), by_definition(one, other), "{one} times {other}");
        }
    }

    #[test]
    fn powers_of_2_are_all_elements_but_0() {
        let mut powers: Vec<u8> = (0..255).map(power).collect();
        assert!(powers.windows(2).all(|pair| by_definition(pair[0], 2) == pair[1]));
        powers.sort_unstable();
        assert!(powers.into_iter().eq(1..=255));
        assert_eq!((power(255), power(256)), (1, 2), "then they begin again");
    }

    #[test]
    fn inverses_undo_products() {
        for element in 1..=255 {
            assert_eq!(multiply(element, inverse(element)), 1);
        }
    }

    #[test]
    fn a_word_is_scaled_byte_by_byte() {
        for factor in [0, 1, 2, 3, 0x1D, 0x80, 0xFF] {
            let word = 0x0102_0480_FF7F_1D00u64;
            assert_eq!(scale(word, factor).to_be_bytes(), word.to_be_bytes().map(|byte| by_definition(byte, factor)));
        }
    }

    /// The example of SPEC 8.16: strips 01, 02, 80.
    #[test]
    fn the_example_of_the_specification() {
        let strips = [0x01, 0x02, 0x80];
        let sum = |weight: fn(u32) -> u8| (0..).zip(strips).fold(0, |sum, (index, strip)| sum ^ multiply(weight(index), strip));
        assert_eq!((sum(|_| 1), sum(power)), (0x83, 0x3F));
        // Without strips 0 and 1.
        let (p, q) = (0x83 ^ strips[2], 0x3F ^ multiply(power(2), strips[2]));
        assert_eq!((p, q), (0x03, 0x05));
        assert_eq!(multiply(q ^ multiply(2, p), inverse(3)), 0x01);
    }
}
