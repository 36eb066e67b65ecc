//! A table dealt like a deck of cards.

use super::super::table::ValueTable;
use crate::random::Permutation;
use flashraid_vocabulary::SplitMix64;

/// A table's values at evenly spaced shares, in random order, over and over.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    table: ValueTable,
    cards: u64,
    dealt: u64,
    order: Permutation,
}

impl Deck {
    /// A deck of so many cards.
    pub fn new(table: ValueTable, cards: u64, random: &mut SplitMix64) -> Self {
        let cards = cards.max(1);
        Self { table, cards, dealt: 0, order: Permutation::new(cards, random) }
    }

    /// The row and the value of the next card.
    pub fn next(&mut self) -> (usize, f64) {
        let share = self.share();
        self.table.find(share)
    }

    /// The next card as a size.
    pub fn next_size(&mut self) -> u64 {
        let share = self.share();
        self.table.size(share)
    }

    /// The mean of the table over the share of the next card, so that all cards together have the mean of the table.
    pub fn next_mean(&mut self) -> f64 {
        let card = self.card();
        self.table.mean_of(card, self.cards)
    }

    fn share(&mut self) -> f64 {
        (self.card() as f64 + 0.5) / self.cards as f64
    }

    fn card(&mut self) -> u64 {
        self.dealt += 1;
        self.order.at((self.dealt - 1) % self.cards)
    }
}
