//! The one schema of every setting: presets, configuration files, `--set`, command options and Python arguments all end here.
//!
//! Four tables: `device` (what the flash is), `scheme` (which redundancy, with its own parameters), `host` (how requests are
//! served), `run` (what is done with the workload). A key has one meaning whatever its table, so `--set gc_threshold=0.1` needs no table name.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Every setting, complete: defaults are filled in. A result carries it, and can be run again from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What the flash is.
    pub device: Device,
    /// Which redundancy scheme, and its parameters.
    pub scheme: SchemeChoice,
    /// How requests are served.
    #[serde(default)]
    pub host: Host,
    /// What is done with the workload.
    #[serde(default)]
    pub run: Run,
}

macro_rules! word {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$doc])* $variant),+ }
    };
}

word!(
    /// The unit of placement, failure and health.
    Member { /// A channel with its chips.
             Channel,
             /// A chip.
             Chip }
);
word!(
    /// Which planes one FTL instance allocates from.
    Ftl { /// Those of one member.
          Member,
          /// Those of one half of the members (a mirror group).
          Group,
          /// All.
          Device }
);
word!(
    /// How a program finds its plane.
    Allocation { /// By arithmetic on the local page.
                 Static,
                 /// Channel by the layout, the rest whatever is idle.
                 SemiDynamic,
                 /// Whatever is idle in the FTL instance.
                 Dynamic }
);
word!(
    /// What executes one array operation at a time.
    ArrayUnit { /// A die.
                Die,
                /// A whole chip (chip-serial, as simulators without die interleaving).
                Chip }
);
word!(
    /// Order inside a service class on one unit.
    Scheduling { /// Reads before programs, oldest first.
                 ReadFirst,
                 /// Oldest first.
                 Fifo }
);
word!(
    /// When a program counts as ended for the host.
    WriteCompletes { /// When the array operation ends.
                     ProgramEnd,
                     /// When the data are in the die's register.
                     DataIn }
);
word!(
    /// How much of a page crosses the bus.
    Transfer { /// The sectors touched.
               Touched,
               /// The whole page.
               Page }
);
word!(
    /// What stands still for the host while a collection moves pages.
    GcBlocks { /// Nothing: collection competes by priority.
               None,
               /// The array unit (die or chip) of the victim.
               Unit,
               /// The chip.
               Chip,
               /// The channel.
               Channel }
);
word!(
    /// Wear levelling.
    WearLeveling { /// Free blocks in the order in which they were freed.
                   None,
                   /// The free block with the fewest erases.
                   Dynamic,
                   /// Also move cold blocks when the spread exceeds `wear_spread`.
                   Static }
);

/// What the flash is. Numbers without default must come from the preset or the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // described below in KEYS, from where the command's help takes it
pub struct Device {
    pub name: String,
    pub channels: u32,
    pub chips_per_channel: u32,
    pub dies_per_chip: u32,
    pub planes_per_die: u32,
    pub blocks_per_plane: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
    pub read_ns: u64,
    pub program_ns: u64,
    pub erase_ns: u64,
    pub bus_ps_per_byte: u64,
    pub read_command_ns: u64,
    pub program_command_ns: u64,
    pub erase_command_ns: u64,
    #[serde(default = "Device::default_member")]
    pub member: Member,
    #[serde(default = "Device::default_ftl")]
    pub ftl: Ftl,
    #[serde(default = "Device::default_allocation")]
    pub allocation: Allocation,
    #[serde(default = "Device::default_static_order")]
    pub static_order: String,
    #[serde(default = "Device::default_array_unit")]
    pub array_unit: ArrayUnit,
    #[serde(default = "Device::default_scheduling")]
    pub scheduling: Scheduling,
    #[serde(default = "Device::default_write_completes")]
    pub write_completes: WriteCompletes,
    #[serde(default = "Device::default_transfer")]
    pub transfer: Transfer,
    #[serde(default)]
    pub multi_plane: bool,
    #[serde(default)]
    pub copyback: bool,
    #[serde(default = "Device::default_over_provisioning")]
    pub over_provisioning: f64,
    #[serde(default = "Device::default_gc_threshold")]
    pub gc_threshold: f64,
    #[serde(default = "Device::default_gc_hard")]
    pub gc_hard: u32,
    #[serde(default = "Device::default_gc_blocks")]
    pub gc_blocks: GcBlocks,
    #[serde(default = "Device::default_wear_leveling")]
    pub wear_leveling: WearLeveling,
    #[serde(default = "Device::default_wear_spread")]
    pub wear_spread: u32,
    #[serde(default)]
    pub endurance_cycles: u32,
}

impl Device {
    fn default_member() -> Member {
        Member::Channel
    }
    fn default_ftl() -> Ftl {
        Ftl::Member
    }
    fn default_allocation() -> Allocation {
        Allocation::SemiDynamic
    }
    fn default_static_order() -> String {
        "WDP".into()
    }
    fn default_array_unit() -> ArrayUnit {
        ArrayUnit::Die
    }
    fn default_scheduling() -> Scheduling {
        Scheduling::ReadFirst
    }
    fn default_write_completes() -> WriteCompletes {
        WriteCompletes::ProgramEnd
    }
    fn default_transfer() -> Transfer {
        Transfer::Touched
    }
    fn default_over_provisioning() -> f64 {
        0.1
    }
    fn default_gc_threshold() -> f64 {
        0.1
    }
    fn default_gc_hard() -> u32 {
        2
    }
    fn default_gc_blocks() -> GcBlocks {
        GcBlocks::Chip
    }
    fn default_wear_leveling() -> WearLeveling {
        WearLeveling::Dynamic
    }
    fn default_wear_spread() -> u32 {
        100
    }
}

/// Which redundancy scheme. Its parameters stand beside the name in the same table; the registry says which there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeChoice {
    /// Name in the registry.
    pub name: String,
    /// Parameters by name.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, String>,
}

word!(
    /// How the sub-requests of one request follow each other (SPEC 0.3 step 2).
    SerialSubrequests { /// The next starts when the former's page operations are queued.
                        Queued,
                        /// The next starts when the former has ended.
                        Strict,
                        /// All start at once.
                        Off }
);
word!(
    /// What a read of a page never written finds.
    Unwritten { /// Zeroes, without flash access; counted.
                Zero,
                /// A page placed by the first touch as the fill would have placed it.
                Prefill }
);
word!(
    /// What becomes of addresses beyond the logical space.
    Fit { /// Taken modulo the space; counted.
          Wrap,
          /// An error.
          Error }
);

/// How requests are served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)]
pub struct Host {
    pub serial_subrequests: SerialSubrequests,
    pub parity_in_response: bool,
    pub unwritten: Unwritten,
}

impl Default for Host {
    fn default() -> Self {
        Self { serial_subrequests: SerialSubrequests::Queued, parity_in_response: true, unwritten: Unwritten::Zero }
    }
}

/// What is done with the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)]
pub struct Run {
    pub format: String,
    pub limit: u64,
    pub speed: f64,
    pub queue_depth: u32,
    pub fit: Fit,
    pub space_bytes: u64,
    pub fill: f64,
    pub fill_bytes: u64,
    pub precondition: String,
    pub warmup: String,
    pub verify: bool,
    pub verify_every: u64,
    pub seed: u64,
    pub drain: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            format: "auto".into(),
            limit: 0,
            speed: 1.0,
            queue_depth: 0,
            fit: Fit::Error,
            space_bytes: 0,
            fill: 0.0,
            fill_bytes: 0,
            precondition: "none".into(),
            warmup: "0".into(),
            verify: false,
            verify_every: 0,
            seed: 1,
            drain: false,
        }
    }
}

/// A setting that cannot be used. The text names the file or key, what is wrong, and what is allowed; one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Gathers settings, later ones over earlier: the device (preset name or TOML file), the configuration file (TOML, or a
    /// result's JSON), the scheme's name, then `overrides` (`key` or `table.key`, and its value as text).
    pub fn assemble(
        _device: Option<&str>,
        _scheme: Option<&str>,
        _file: Option<&Path>,
        _overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        Err(ConfigError("not yet".into()))
    }
}
