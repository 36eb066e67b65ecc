//! Sets of strips or members as bit masks.

/// The positions of the bits of `mask`, ascending.
#[derive(Clone, Copy, Debug)]
pub struct Bits(pub u64);

impl Iterator for Bits {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let position = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(position)
    }
}

/// The mask with bits 0 to `count` - 1 set. `count` is at most 64.
#[inline]
pub fn lowest(count: u32) -> u64 {
    debug_assert!(count <= 64);
    if count == 0 { 0 } else { u64::MAX >> (64 - count) }
}

/// The mask with these bits set, each below 64.
#[inline]
pub fn of(positions: impl Iterator<Item = u32>) -> u64 {
    positions.fold(0, |mask, position| mask | 1 << position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_in_ascending_order() {
        assert_eq!(Bits(0).count(), 0);
        assert_eq!(Bits(1 << 63 | 0b1010).collect::<Vec<_>>(), [1, 3, 63]);
    }

    #[test]
    fn a_mask_is_made_of_its_bits() {
        for mask in [0, 0b1010, 1 << 63 | 1] {
            assert_eq!(of(Bits(mask)), mask);
        }
    }

    #[test]
    fn lowest_covers_both_ends() {
        assert_eq!(lowest(0), 0);
        assert_eq!(lowest(3), 0b111);
        assert_eq!(lowest(64), u64::MAX);
    }
}
