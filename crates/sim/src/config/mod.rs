//! The one schema of every setting: presets, configuration files, `--set`, command options and Python arguments all end here.
//!
//! Five tables: `device` (what the flash is), `array` (its SSDs, if there are several), `scheme` (which redundancy, with its own parameters), `host` (how
//! requests are served), `run` (what is done with the workload). A key has one meaning whatever its table, so `--set gc_threshold=0.1` needs
//! no table name (only `name` does: a device and a scheme both have one). Each key is declared once, in `schema`, with its type, unit,
//! default, allowed values and sentence; checks, help and docs/configuration.md follow from that ([`TABLES`]).
//!
//! To be read in this order:
//! - what a setting is: `key` and `units`, `words`, `effect`, then `schema`; `preparation`, `faults` and `models` are keys with a grammar of their own;
//! - where values come from: `setting`, `files` (with `sheet`, of which nothing follows), `from_drive`, `lookup`, `values`, `defaults` and `merge`, which `gather` joins; `older` is what results and drives of older versions mean; `asked` knows which of them were asked for;
//! - what may be: `check`, `check_device`, `check_faults`; what is legal and misleads: `surprises`;
//! - what follows: `slices` (what of the device is simulated), `built`, `capacity`, `buffer`, `survival`, `identity` (what decides what a drive is); `reference` is docs/configuration.md, and `json_schema` what a result says of it.

mod asked;
mod buffer;
mod built;
mod capacity;
mod cells;
mod check;
mod check_device;
mod check_faults;
mod defaults;
mod effect;
mod error;
mod faults;
mod files;
mod from_drive;
mod gather;
mod identity;
mod json_schema;
mod key;
mod lookup;
mod merge;
mod models;
mod older;
mod preparation;
mod reference;
mod renamed;
mod schema;
mod schemes;
mod setting;
mod sheet;
mod slices;
mod surprises;
mod survival;
mod units;
mod values;
mod words;

pub use asked::{Asked, Idle};
pub use capacity::{Derived, Overhead, SpaceDomain, TranslationTables, most_logical_pages};
pub use effect::{Effect, Happened, Meeting, Need};
pub use error::ConfigError;
pub use faults::{Injection, Target, Trigger};
pub use flashraid_vocabulary::{
    GcBlockingScope, GcPace, GcStreams, Lun, Member, RebuildTarget, Scheduling, SerialSubrequests, SlcFull, Suspend, Transfer,
    WearLeveling, WriteCompletes,
};
pub use key::{Draw, Key, Kind, Table};
pub use lookup::{find_key, keys};
pub use preparation::{Precondition, Until, Warmup};
pub use reference::reference_markdown;
pub use schema::{Array, Config, Device, Host, Run, SchemeChoice, TABLES};
pub use schemes::find_scheme;
pub use sheet::Sheet;
pub use surprises::Spare;
pub use survival::Survival;
pub(crate) use units::also;
pub(crate) use units::share_of;
pub use units::takes_units;
pub use values::same_value;
pub use words::{AfterLoss, Allocation, Destage, DestageUnit, Fit, Ftl, GcPhases, Mapping, NvramVictim, PartialWrites, Unwritten};
