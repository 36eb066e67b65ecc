//! Random choices of an episode.

use flashraid_vocabulary::SplitMix64;

/// Random choices.
pub struct Random(SplitMix64);

impl Random {
    /// The sequence of an episode.
    pub fn of(seed: u64, episode: u64, purpose: u64) -> Self {
        let mut seeds = SplitMix64::new(seed ^ purpose << 60);
        Self(SplitMix64::new(seeds.next_u64() ^ episode.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// The sequence of a setting of an episode (the name goes into the seed by FNV-1a).
    pub fn of_key(seed: u64, episode: u64, key: &str) -> Self {
        let hash = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
        Self::of(key.bytes().fold(seed ^ 0xCBF2_9CE4_8422_2325, hash), episode, 1)
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// From `least` to `most`.
    pub fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Whether something happens that happens once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn of_list<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }
}
