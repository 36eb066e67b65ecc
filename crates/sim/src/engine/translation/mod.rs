//! DFTL (SPEC 6.2): what it costs to find and to store the map. The maps of the flash stay the truth; here is which of their entries RAM holds,
//! which translation pages are on flash, and the operations that read and program these.
//!
//! Before a wave is submitted the entries of all its pages must be cached; if some are not, the wave is held in its operation's slot while
//! translation pages are read. An entry stays pinned until its operation has ended, when it is dirty if the operation changed it. A translation
//! page is stored on two members; one operation programs both, and with its end both count.
//!
//! Where a device has mirror chips, an entry also says which entry of its member's mirror table holds the addresses of the base and the copy
//! (SPEC 1.2: MA, EPPN, MPPN), and a second set of translation pages holds these tables. Their entries are numbered behind the others.
//!
//! No cycle: an operation waits for its translation with its lock and its reserved pages in hand. A translation operation waits for the
//! lock of its translation page, for space in translation planes and for flash, and none of these ever waits for a scheme's operation.
//!
//! Reading order: `cache` (which entries RAM holds), `mirrors`, `lists`, `layout` (where translation pages lie); `state`, `work` (translation operations);
//! `demand` (what operations of the scheme need, what GC changes, repairs), `instant` (in no simulated time).

mod cache;
mod demand;
mod instant;
mod layout;
mod lists;
mod mirrors;
mod state;
mod work;

pub(super) use demand::Admission;
pub(crate) use state::stamp;
pub use state::{Translation, TranslationCounts};
pub(super) use state::{is_lock, lock_of};
