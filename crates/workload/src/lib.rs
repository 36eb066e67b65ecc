//! Where timed host requests come from: readers of block traces, one file a format, and a seeded generator. Also what a
//! trace is made of (`TraceInfo`), and writing traces.
//!
//! A trace is streamed, or sorted in runs: memory does not grow with it. Every row is either a request or an error that names file, line and
//! column; nothing is skipped silently.

mod anonymise;
mod bytes;
mod columns;
mod compact;
mod convert;
mod digits;
pub mod document;
mod error;
pub mod fit;
pub mod formats;
mod gate;
mod info;
mod input;
mod line;
mod options;
mod pages;
mod parser;
mod position;
pub mod profile;
mod random;
mod range;
mod recency;
mod rows;
mod slice;
mod sort;
mod summary;
mod synth;
mod table;
mod trace;
mod traits;
mod unit;
mod warnings;
mod watch;
mod write;

pub use anonymise::{Anonymised, UNIT_BYTES, anonymise};
pub use columns::{Column, Columns, Separator, Unit};
pub use compact::{Compacted, Compactor, EXTENT_BYTES};
pub use convert::{Converted, convert};
pub use error::{TraceError, system_text};
pub use formats::heeds as format_heeds;
pub use info::{
    BurstFigures, Burstiness, DeviceFigures, DeviceInfo, Figures, Quantiles, Sequentiality, SizeFigures, SizeShare, Skew, TraceInfo,
    TraceStatistics, WorkingSet, page_size, trace_info, trace_info_within,
};
pub use input::can_be_read_again;
pub use options::{BlockAction, DeviceLayout, MissingOp, OnError, TraceOptions};
pub use profile::{Profile, ProfileError};
pub use rows::TraceRows;
pub use slice::{LeftOut, Pieces, TraceSlice};
pub use summary::{DeviceSummary, TraceSummary};
pub use synth::{Arrivals, Synth};
pub use trace::{Trace, in_order};
pub use unit::TimeUnit;
pub use watch::GoOn;
pub use write::{TraceWriter, write_trace};
