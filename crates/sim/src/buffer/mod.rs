//! The data buffer: pages that the host wrote and that leave for flash later. A layer between the host and any scheme, which holds no reads
//! (SPEC 2.7 ruling 4). There are two kinds. One is the controller's DRAM (SPEC 2.2, 2.4): volatile (SPEC 2.7 ruling 5), pages leave one by
//! one, and the request that makes a page leave waits until flash has it. The other is NVRAM (SPEC 4.2, 4.4): what it has taken counts as
//! durable, the pages of a stripe leave together, and a request waits for nothing but space for its pages.
//!
//! Four things are kept. What is *decided* moves in the order of requests, so that hits, victims and evictions do not depend on timing
//! (DESIGN idea 9): the buffered pages (`page_lru` and `stripe_lru`, the policies), and which sectors of each page flash holds, which tells
//! whether an eviction needs the old page beneath it. Pages that *leave* stay readable until their operation ends. *Slots*: pages that leave the
//! DRAM pass their slot to the page that caused the eviction only then, so the DRAM is never too small; NVRAM admits pages as slots are
//! released (`slots`). *Completions* are due a fixed time after a page got its slot, so they form one queue.
//!
//! Reading order: `options` (what a buffer is made of), `page_lru` and `stripe_lru` over `table`, `slots`, `departures` (what is said of pages
//! that leave), `state` (the buffer), `leaving` (what it does with them).

mod departures;
mod leaving;
mod options;
mod page_lru;
mod slots;
mod state;
mod stripe_lru;
mod table;
mod victim;

pub use departures::{Departure, HeldSectors, Taken};
pub use options::{BufferKind, BufferOptions, MOST_PAGE_BYTES, SECTOR_BYTES, VictimRule};
pub use slots::Waiter;
pub use state::{Buffer, Counts};
pub use victim::Victim;
