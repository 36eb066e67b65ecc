//! Hybrid log-block mapping (SPEC 6.3): data blocks whose pages lie at their own offsets, and a few log blocks for what is overwritten.
//!
//! Each space domain, one plane, is an instance of its own. The page maps stay the truth; this says where a page may go. A *logical block* is as
//! many neighboring local pages as a block holds; planes take them in turn. Its page goes to its offset in the data block if that is erased,
//! else to a log block: of its own (BAST), or the next page of the shared ones (FAST), where a run of pages from offset 0 on goes to a block
//! apart. When there is no page a *merge* frees space (`gc::merge`).
//!
//! A reservation is for one page of one logical block, whose operation then holds it until it ends. A logical block is *active* while one of its pages
//! is reserved or pending, and only inactive ones are merged; so a merge waits for operations that have all they need in this instance, and, as all
//! ask in the order of members, never for one that waits for it.
//!
//! Blocks needed: the logical ones, the log blocks, and one erased block as the target of full merges. With so many there always is one for
//! a logical block that has none yet.
//!
//! Reading order: `state`, `reservations`, `pages`, `failures`; `check` says what must hold.

mod check;
mod failures;
mod pages;
mod reservations;
mod state;

pub(crate) use reservations::Reserved;
pub(crate) use state::{Hybrid, Spot};
