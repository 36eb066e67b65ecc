//! Shares of a whole, exactly.

/// Shares of a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Percentages(Vec<u32>);

impl Percentages {
    /// All of it, in the unit of the shares: thousandths of a percent.
    pub const WHOLE: u32 = 100_000;

    /// Shares that add up to the whole.
    pub fn new(shares: Vec<u32>) -> Self {
        debug_assert_eq!(shares.iter().sum::<u32>(), Self::WHOLE);
        Self(shares)
    }

    /// The share of a number.
    #[inline]
    pub fn of(&self, number: usize) -> u32 {
        self.0[number]
    }
}
