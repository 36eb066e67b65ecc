//! What the engine may ask of media: one SSD (`single`), or several side by side (`array`).
//!
//! Media store versions of members' pages, and know the time as far as they are told. The engine submits page operations and takes what happened: ended
//! page operations, domains that gained space, questions of GC, changes of the map. What schemes may look at is `View`. Pages are named by (member,
//! local page, version) or, in tables that the engine keeps, by their *entry* in the map; programs take their pages from *space domains*. Physical
//! pages only label contents. Reading order: `shape` (what never changes), `interface` (what may be asked), `single`, `array`; then
//! `inspect`, for reports and logs, and `examine`, for checks.

mod array;
mod examine;
mod inspect;
mod interface;
mod shape;
mod single;

pub use array::{LinkTimes, SsdArray};
pub use examine::Examine;
#[cfg(feature = "mutants")]
pub use flashraid_ftl::accounting;
pub use flashraid_ftl::{
    About, Activity, Completion, Counts, Done, Flash, FlashFault, GcQuery, MapEvent, Overwrites, Progress, Slice, Track,
};
pub use inspect::{Inspect, LunRecord, Place, SsdRecord};
pub use interface::{
    Ahead, Answer, Clocked, Counted, Counting, Failing, Lun, Media, News, Preparing, Program, Recording, Repeated, Reserving, Serving,
    Untimed,
};
pub use shape::Shape;
