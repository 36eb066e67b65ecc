//! Of which writes the content of a page is made, lane by lane; and what number stands for it.
//!
//! A page has 64 lanes, the unit in which parts of pages are told apart. Its content is the XOR over its lanes of a number for (write, page,
//! lane); lanes never written count as zero. So parts that come from several writes add up to a page, whichever way they were merged.

use flashraid_vocabulary::{Persistent, persistent};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::io::{self, Read, Write};

/// Every lane of a page.
pub const ALL: u64 = u64::MAX;
/// Content of a page of zeroes, and of an unwritten page.
pub const ZERO: u64 = 0;

/// Finaliser of splitmix64 (Steele, Lea and Flood 2014); odd, so never `ZERO`.
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (value ^ value >> 31) | 1
}

/// What request `sequence` puts into `lanes` of host page `lpn`. All lanes together are one number; the first lane is what the others
/// leave of it.
fn written(sequence: u64, lpn: u64, lanes: u64) -> u64 {
    let key = sequence.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ lpn.rotate_left(32);
    let sum = |mut lanes: u64| {
        let mut content = ZERO;
        while lanes != 0 {
            content ^= mix(key.wrapping_add(u64::from(lanes.trailing_zeros()).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)));
            lanes &= lanes - 1;
        }
        content
    };
    if lanes & 1 == 1 { mix(key) ^ sum(!lanes) } else { sum(lanes) }
}

/// The 128ths of a page that lanes are.
pub fn halves(lanes: u64) -> u128 {
    (0..64).filter(|lane| lanes >> lane & 1 == 1).fold(0, |all, lane| all | 0b11 << (2 * lane))
}

/// Disjoint sets of lanes with the request that wrote each; the rest is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers(SmallVec<[(u64, u64); 2]>);

impl Layers {
    /// `lanes` as request `sequence` wrote them.
    pub fn of(sequence: u64, lanes: u64) -> Self {
        Self(smallvec![(sequence, lanes)])
    }

    /// Request `sequence` writes `lanes`.
    pub fn write(&mut self, sequence: u64, lanes: u64) {
        self.0.iter_mut().for_each(|layer| layer.1 &= !lanes);
        self.0.retain(|layer| layer.1 != 0);
        self.0.push((sequence, lanes));
    }

    /// What `upper` has takes the place of what is there.
    pub fn lay(&mut self, upper: &Self) {
        upper.0.iter().for_each(|(sequence, lanes)| self.write(*sequence, *lanes));
    }

    /// Nothing but `lanes`.
    pub fn only(mut self, lanes: u64) -> Self {
        self.0.iter_mut().for_each(|layer| layer.1 &= lanes);
        self.0.retain(|layer| layer.1 != 0);
        self
    }

    /// Lanes that are of the same request in both.
    pub fn common(&self, other: &Self) -> u64 {
        let pairs = self.0.iter().flat_map(|one| other.0.iter().map(move |other| (one, other)));
        pairs.filter(|(one, other)| one.0 == other.0).fold(0, |all, (one, other)| all | one.1 & other.1)
    }

    /// Those of requests numbered from this one on.
    pub fn lanes_from(&self, first: u64) -> u64 {
        self.0.iter().filter(|(sequence, _)| *sequence >= first).fold(0, |all, (_, lanes)| all | lanes)
    }

    /// The latest request that wrote any of them.
    pub fn latest(&self) -> Option<u64> {
        self.0.iter().map(|(sequence, _)| *sequence).max()
    }

    /// Lanes that were written.
    pub fn lanes(&self) -> u64 {
        self.0.iter().fold(0, |all, (_, lanes)| all | lanes)
    }

    /// The content of `lanes` of host page `lpn`.
    pub fn content(&self, lpn: u64, lanes: u64) -> u64 {
        self.0.iter().fold(ZERO, |content, (sequence, of)| content ^ written(*sequence, lpn, of & lanes))
    }
}

impl Persistent for Layers {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        self.0.to_vec().save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut layers = Vec::new();
        layers.restore(from)?;
        self.0 = layers.into();
        Ok(())
    }
}

/// The layers of every host page.
#[derive(Clone, Debug)]
pub struct PageLayers {
    /// One more than the request that wrote all of the page; 0 if that is not one request.
    whole: Vec<u64>,
    /// Pages made of several writes, or of a part.
    mixed: FxHashMap<u64, Layers>,
}

persistent!(PageLayers {
    keeps [mixed],
    arrays [whole],
});

impl PageLayers {
    /// So many pages, unwritten.
    pub fn new(pages: u64) -> Self {
        Self { whole: flashraid_vocabulary::memory::zeroed(pages as usize), mixed: FxHashMap::default() }
    }

    /// The layers of a page.
    pub fn get(&self, lpn: u64) -> Layers {
        match self.whole[lpn as usize] {
            0 => self.mixed.get(&lpn).cloned().unwrap_or_default(),
            sequence => Layers::of(sequence - 1, ALL),
        }
    }

    /// Sets the layers of a page.
    pub fn set(&mut self, lpn: u64, layers: Layers) {
        let whole = match layers.0.as_slice() {
            [(sequence, ALL)] => sequence + 1,
            _ => 0,
        };
        let former = std::mem::replace(&mut self.whole[lpn as usize], whole);
        if whole == 0 && !layers.0.is_empty() {
            self.mixed.insert(lpn, layers);
        } else if former == 0 && !self.mixed.is_empty() {
            self.mixed.remove(&lpn);
        }
    }

    /// Whether any of a page is of this request.
    pub fn has(&self, lpn: u64, sequence: u64) -> bool {
        match self.whole[lpn as usize] {
            0 => self.mixed.get(&lpn).is_some_and(|layers| layers.0.iter().any(|layer| layer.0 == sequence)),
            whole => whole - 1 == sequence,
        }
    }

    /// The content of a page.
    pub fn content(&self, lpn: u64) -> u64 {
        match self.whole[lpn as usize] {
            0 => self.mixed.get(&lpn).map_or(ZERO, |layers| layers.content(lpn, ALL)),
            sequence => written(sequence - 1, lpn, ALL),
        }
    }

    /// Asks the processor for what is known of a page.
    #[inline]
    pub fn prefetch(&self, lpn: u64) {
        flashraid_vocabulary::memory::prefetch(&self.whole, lpn as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_page() {
        for lanes in [0, 1, 2, 0xFF, 0xFF00, 1 << 63, !1, ALL] {
            assert_eq!(written(3, 5, lanes) ^ written(3, 5, !lanes), written(3, 5, ALL), "{lanes:#x}");
        }
        assert_eq!(written(3, 5, 0), ZERO);
        assert_ne!(written(3, 5, 1), written(3, 5, 2));
        assert_ne!(written(3, 5, 2), written(4, 5, 2));
        assert_ne!(written(3, 5, 2), written(3, 6, 2));
    }

    #[test]
    fn later_writes_take_the_place_of_earlier_ones() {
        let mut layers = Layers::of(1, ALL);
        layers.write(2, 0xFF);
        layers.write(3, 0xF0);
        assert_eq!(layers.content(9, ALL), written(1, 9, !0xFF) ^ written(2, 9, 0xF) ^ written(3, 9, 0xF0));
        let common = [Layers::of(1, ALL), Layers::of(2, ALL), Layers::of(4, ALL)].map(|other| layers.common(&other));
        assert_eq!((common, layers.latest()), ([!0xFF, 0xF, 0], Some(3)));
        layers.lay(&Layers::of(4, ALL));
        assert_eq!(layers, Layers::of(4, ALL));
    }

    #[test]
    fn pages_keep_their_layers() {
        let mut pages = PageLayers::new(4);
        let mut mixed = Layers::of(7, 1);
        mixed.write(8, 2);
        for layers in [
            Layers::default(),
            Layers::of(crate::engine::content::FILL, ALL),
            mixed,
            Layers::of(0, ALL),
            Layers::of(0, 1),
            Layers::default(),
        ] {
            pages.set(2, layers.clone());
            assert_eq!(pages.get(2), layers);
            assert_eq!(pages.content(2), layers.content(2, ALL));
        }
        assert!(pages.mixed.is_empty());
    }
}
