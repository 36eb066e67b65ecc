//! GC and wear leveling: choice of victims, and the moves.
//!
//! One victim at a time in each plane is moved page by page inside the plane, then erased. It takes no lock. A move copies a page and switches the map only
//! if the map still names the old page; a block with a dispatched read is erased when the read has ended. A semivalid page is a question to the layer
//! above, which answers with `Flash::rule`. Static wear leveling is a GC run whose victim is a cold block instead of the emptiest.
//!
//! Of a scheme that commits semivalid pages, a GC run has two phases (SPEC 4.4). First all semivalid pages of the victim are
//! asked about and those to be committed waited for, with nothing blocked, as the commits may need any LUN. Then moves and erase follow
//! in one go, and a page that is still semivalid, or again, is moved.
//!
//! `Collection` knows the runs of all planes. Each step of a run changes tables alone, and says what NAND has to do next (`Next`); `course` does that, as
//! only who holds all of the SSD can.
//!
//! Reading order: `state`, `run` (the plain course), `queries`, `idle`, `coordination`; `pace`; `packing` where a flash page has several pages of the map; `course`;
//! `merge` for hybrid mapping.

mod coordination;
mod course;
mod idle;
pub(crate) mod merge;
pub(crate) mod pace;
mod packing;
mod queries;
mod run;
pub(crate) mod state;
