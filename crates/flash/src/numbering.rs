//! Numbers of pages and planes: how far they go, how they are taken apart, and where a plane is.

use crate::mapping::blocks::plane_stride;
use flashraid_vocabulary::Geometry;

/// One past the largest physical page number. There are gaps between planes (see `mapping::blocks`), so it exceeds the number of
/// pages. Translation planes, if the device has any, are numbered behind all others, as if each had all blocks of its plane.
/// `geometry` is without spare chips.
pub fn ppn_limit(geometry: &Geometry, spare_chips: u32, has_translation_planes: bool) -> u64 {
    let all = Geometry { chips_per_channel: geometry.chips_per_channel + spare_chips, ..*geometry };
    let planes = u64::from(all.channels) * all.planes_per_channel() * if has_translation_planes { 2 } else { 1 };
    planes * u64::from(plane_stride(geometry.blocks_per_plane)) * u64::from(geometry.pages_per_block)
}

/// Where a plane is: its LUN, its bit among the unit's planes, and its space domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) unit: u32,
    pub(crate) domain: u32,
    pub(crate) bit: u64,
}

/// Division by a number that does not change, as a multiplication: floor((n + 1) * floor((2^64 - 1) / d) / 2^64) is n / d for
/// all 32-bit n and d (the error of the reciprocal, below 2^-32, never reaches the next multiple).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor(u64);

impl Divisor {
    pub(crate) fn new(divisor: u32) -> Self {
        Self(u64::MAX / u64::from(divisor))
    }

    #[inline]
    pub(crate) fn divide(self, number: u32) -> u32 {
        ((u128::from(self.0) * (u128::from(number) + 1)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;

    #[test]
    fn divides_as_the_processor_does() {
        for divisor in (1..300).chain([4096, 65_535, 1 << 20, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX]) {
            let reciprocal = Divisor::new(divisor);
            let multiples = (0..40u32).map(|k| k.wrapping_mul(divisor)).chain([u32::MAX - u32::MAX % divisor]);
            for number in multiples.flat_map(|number| [number.wrapping_sub(1), number, number.wrapping_add(1)]).chain([u32::MAX]) {
                assert_eq!(reciprocal.divide(number), number / divisor, "{number} / {divisor}");
            }
        }
    }
}
