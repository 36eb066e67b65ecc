//! The data buffer: pages that the host wrote and that leave for flash later. A layer between the host and any scheme, which holds no reads
//! (SPEC 2.7 ruling 4). There are two kinds. One is the controller's DRAM (SPEC 2.2, 2.4): volatile (SPEC 2.7 ruling 5). The other is NVRAM (SPEC 4.2,
//! 4.4): what it has taken counts as durable. Pages leave one by one, as the papers' DRAM has it, or all of a stripe together, as their NVRAM
//! (`DestageRule`); when the buffer is full, or before that and by itself (`destaging`).
//!
//! Five things are kept. What is *decided* moves in the order of requests, so that hits, victims and evictions do not depend on the timing of flash:
//! the buffered pages (`page_lru` and `stripe_lru`, the policies), and which sectors of each page flash holds, which tells
//! whether an eviction needs the old page beneath it. When it *destages* by itself follows from that and from when requests came. Pages that *leave* stay
//! readable until their operation ends. *Slots*: pages are admitted as slots are released (`slots`), and a request waits for nothing but that; only of DRAM
//! that destages when full, the request that makes a page leave waits until flash has it, and then passes the slot on. *Completions* are due a fixed
//! time after a page got its slot, so they form one queue.
//!
//! Reading order: `options` (what a buffer is made of), `page_lru` and `stripe_lru` over `table`, `slots`, `destaging`, `departures` (what is said of pages
//! that leave), `state` (the buffer), `leaving` (what it does with them).

mod departures;
mod destaging;
mod leaving;
mod options;
mod page_lru;
mod slots;
mod state;
mod stripe_lru;
mod table;
mod victim;

pub use departures::{Departure, HeldSectors, Taken};
pub use destaging::DestageOptions;
pub use options::{BufferKind, BufferOptions, DestageRule, MOST_PAGE_BYTES, SECTOR_BYTES, VictimRule};
pub use slots::Waiter;
pub use state::{Buffer, Counts};
pub use victim::Victim;
