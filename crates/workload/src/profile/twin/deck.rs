//! A table dealt like a deck of cards.

use super::super::Table;
use crate::random::{Permutation, SplitMix64};

/// A table's values at evenly spaced shares, in random order, over and over.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    table: Table,
    cards: u64,
    dealt: u64,
    order: Permutation,
}

impl Deck {
    /// A deck of so many cards.
    pub fn new(table: Table, cards: u64, random: &mut SplitMix64) -> Self {
        Self { table, cards: cards.max(1), dealt: 0, order: Permutation::new(cards.max(1), random) }
    }

    pub fn next(&mut self) -> f64 {
        let card = self.order.at(self.dealt % self.cards);
        self.dealt += 1;
        self.table.at((card as f64 + 0.5) / self.cards as f64)
    }
}
