//! Verification by tags: every physical page holds a 64-bit content, every program's content is the XOR of what its sources really
//! delivered, and an oracle that sees host requests and completions alone says what reads may return.
//!
//! The content of a page is a sum over its lanes (`layers`). A program of a part of a page holds the update read, as it was really
//! delivered, with the old lanes replaced by the new ones; without an update read it holds the new lanes alone, so that a lost update read
//! shows. An erased page is poisoned. Nothing here is computed from stripe state.
//!
//! Reading order: `layers` (what a content is made of), `state` (what is known), `stored` (what flash holds), `expected` (what reads may return).

mod expected;
mod layers;
mod state;
mod stored;

pub use layers::ZERO;
pub use state::Tags;
