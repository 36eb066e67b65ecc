//! Every key there is, in four tables: each with its type, default, unit, allowed values, effect and the sentence that users read.

use super::effect::*;
use super::faults;
use super::json_schema;
use super::key::{Key, Kind, MOST, Table, whole};
use super::preparation::{Precondition, Warmup};
use super::words::{
    Allocation, Fit, Ftl, GcBlockingScope, GcPolicy, Lun, Mapping, Member, NvramVictim, Scheduling, SerialSubrequests, Transfer,
};
use super::words::{Unwritten, WearLeveling, WriteCompletes};
use flashraid_redundancy::Choice;
use flashraid_workload::{Layout, TraceError, TraceOptions};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Every setting, complete: defaults are filled in. A result carries it, and can be run again from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What the flash is.
    pub device: Device,
    /// Which redundancy scheme, and its parameters.
    pub scheme: SchemeChoice,
    /// How requests are served.
    pub host: Host,
    /// What is done with the workload.
    pub run: Run,
}

/// A table of settings: `key: type = default, unit, kind, effect;`. The doc comment of a key is what users read about it.
/// Default `None` means that the preset or the file must give it.
macro_rules! table {
    ($(#[doc = $about:literal])+ $name:ident, $table:literal {
        $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $unit:literal, $kind:expr, $effect:expr;)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[doc = $doc])+ pub $key: $type,)+ }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema::of_table(&Self::TABLE)
            }
        }

        impl $name {
            pub(super) const TABLE: Table = Table {
                name: $table,
                about: concat!($($about),+).trim_ascii(),
                keys: &[$(Key {
                    table: $table,
                    name: stringify!($key),
                    unit: $unit,
                    default: $default,
                    kind: $kind,
                    effect: $effect,
                    about: concat!($($doc),+).trim_ascii(),
                },)+],
            };
        }
    };
}

/// Longest time of one array operation: keeps sums of times far from the end of 64 bits.
const LONGEST_NS: u64 = 1_000_000_000_000;
const SHARE_BELOW_ONE: Kind = Kind::Real { allowed: "0 or more and below 1", valid: |share| (0.0..1.0).contains(&share) };

table! {
    /// What the flash is.
    Device, "device" {
        /// Name in results.
        name: String = None, "", Kind::Text { allowed: "a name without control characters", valid: |text| !text.is_empty() && !text.contains(char::is_control) }, EVER;
        /// Channels, each with its own bus.
        channels: u32 = None, "", whole(1, 64), EVER;
        /// Chips on each channel.
        chips_per_channel: u32 = None, "", whole(1, 64), EVER;
        /// Of these, chips that hold mirror copies and nothing else; schemes that make such copies have their own default.
        mirror_chips: u32 = Some("0"), "", whole(0, 63), EVER;
        /// Chips on each channel beside these, which stay idle until a chip fails; no other capacity counts them.
        spare_chips: u32 = Some("0"), "", whole(0, 63), EVER;
        /// Dies in each chip.
        dies_per_chip: u32 = None, "", whole(1, 64), EVER;
        /// Planes in each die.
        planes_per_die: u32 = None, "", whole(1, 64), EVER;
        /// Erase blocks in each plane.
        blocks_per_plane: u32 = None, "", whole(8, 65_534), EVER;
        /// Pages in each erase block.
        pages_per_block: u32 = None, "", whole(1, 32_767), EVER;
        /// Bytes of a page: the unit of reading, programming, mapping and striping.
        page_bytes: u32 = None, "bytes", Kind::PowerOfTwo { min: 512, max: 65_536 }, EVER;
        /// Array time of a page read.
        read_ns: u64 = None, "ns", whole(1, LONGEST_NS), EVER;
        /// Array time of a page program.
        program_ns: u64 = None, "ns", whole(1, LONGEST_NS), EVER;
        /// Array time of a block erase.
        erase_ns: u64 = None, "ns", whole(1, LONGEST_NS), ERASED;
        /// Bus time of one byte in either direction, in picoseconds (25,000 is 40 MB/s); 0 makes transfers free.
        bus_ps_per_byte: u64 = None, "ps/byte", whole(0, 1_000_000_000), EVER;
        /// Bus time of the command and address of a read.
        read_command_ns: u64 = None, "ns", whole(0, LONGEST_NS), EVER;
        /// Bus time of the command and address of a program, before its data.
        program_command_ns: u64 = None, "ns", whole(0, LONGEST_NS), EVER;
        /// Bus time of the command and address of an erase.
        erase_command_ns: u64 = None, "ns", whole(0, LONGEST_NS), ERASED;
        /// The unit of placement, failure and health: what plays the disk of the redundancy group.
        member: Member = Some("channel"), "", Kind::Word(Member::WORDS), WITH_CHIPS;
        /// Which planes one FTL instance owns. More than a member only where the scheme stays safe with strips on any member of it.
        ftl: Ftl = Some("auto"), "", Kind::Word(Ftl::WORDS), WITH_CHOICE_OF_MEMBER;
        /// How logical pages are mapped to physical ones, and where the map is kept.
        mapping: Mapping = Some("page"), "", Kind::Word(Mapping::WORDS), EVER;
        /// With `mapping = dftl`: how many entries of the map RAM holds, each of which says where one logical page is.
        cmt_entries: u32 = Some("65536"), "entries", whole(1, 1 << 30), WITH_DFTL;
        /// With `mapping = bast` or `fast`: log blocks of each chip, divided over its planes.
        log_blocks: u32 = Some("160"), "blocks", whole(1, 65_534), WITH_LOG_BLOCKS;
        /// How a program finds its plane.
        allocation: Allocation = Some("dynamic_member"), "", Kind::Word(Allocation::WORDS), FREELY_MAPPED;
        /// Static allocation: which index inside a member varies fastest, from the left (W way, that is chip; D die; P plane).
        static_order: String = Some("WDP"), "",
            Kind::Text { allowed: "the letters W, D and P in any order, each once", valid: is_order }, IN_STATIC_ORDER;
        /// What executes one array operation at a time.
        lun: Lun = Some("die"), "", Kind::Word(Lun::WORDS), WITH_DIES;
        /// Order inside a service class on one LUN.
        scheduling: Scheduling = Some("read_first"), "", Kind::Word(Scheduling::WORDS), EVER;
        /// When a program counts as ended for the host.
        write_completes: WriteCompletes = Some("program_end"), "", Kind::Word(WriteCompletes::WORDS), EVER;
        /// How much of a page crosses the bus.
        transfer: Transfer = Some("touched"), "", Kind::Word(Transfer::WORDS), PARTS_TOUCHED;
        /// Whether one array operation may program or read a page in several planes of a die.
        multi_plane: bool = Some("false"), "", Kind::Flag, WITH_PLANES;
        /// Whether GC copies pages inside a plane without moving data over the bus.
        copyback: bool = Some("false"), "", Kind::Flag, COLLECTED;
        /// Share of each member's physical pages that is not offered as logical pages; rounded to parts per million.
        over_provisioning: f64 = Some("0.1"), "share", SHARE_BELOW_ONE, EVER;
        /// GC of a plane starts when its free pages fall below this share of its pages.
        gc_threshold: f64 = Some("0.1"), "share", SHARE_BELOW_ONE, FREELY_MAPPED;
        /// Free blocks of a plane below which host programs wait and GC loops.
        gc_reserve_blocks: u32 = Some("2"), "blocks", whole(2, 65_534), EVER;
        /// What stands still for the host while a GC run moves pages.
        gc_blocking_scope: GcBlockingScope = Some("chip"), "", Kind::Word(GcBlockingScope::WORDS), COLLECTED;
        /// Which block is collected; of hybrid mapping, which log block is merged.
        gc_policy: GcPolicy = Some("auto"), "", Kind::Word(GcPolicy::WORDS), WITH_BASES_IN_PLACE;
        /// Wear levelling.
        wear_leveling: WearLeveling = Some("dynamic"), "", Kind::Word(WearLeveling::WORDS), COLLECTED;
        /// Static wear levelling: difference of erase counts in a plane above which cold blocks are moved.
        wear_leveling_threshold: u32 = Some("100"), "erases", whole(1, u32::MAX as u64), LEVELLED;
        /// Data buffer in the controller's DRAM, for each GiB of flash; 0 for none. Volatile: pages in it are not on flash.
        buffer_bytes_per_gib: u64 = Some("0"), "bytes/GiB", whole(0, 1 << 30), UNLESS_FIXED;
        /// Size of the data buffer, whatever the flash has; 0 for `buffer_bytes_per_gib`.
        buffer_bytes: u64 = Some("0"), "bytes", whole(0, 1 << 40), EVER;
        /// Write buffer in NVRAM, instead of one in DRAM; 0 for none. Survives power loss: writes are answered when it has room for them, and the
        /// pages of a stripe leave it together.
        nvram_buffer_bytes: u64 = Some("0"), "bytes", whole(0, 1 << 40), EVER;
        /// Which pages leave the buffer in NVRAM first.
        nvram_victim: NvramVictim = Some("oldest_write"), "", Kind::Word(NvramVictim::WORDS), WITH_NVRAM;
        /// Time in which the data buffer answers.
        buffer_ns: u64 = Some("1000"), "ns", whole(0, LONGEST_NS), BUFFERED;
    }
}

/// Which redundancy scheme. Its parameters stand beside the name in the same table; the registry says which there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeChoice {
    /// Name in the registry.
    pub name: String,
    /// Parameters by name, words and numbers; complete once assembled.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, Value>,
}

impl SchemeChoice {
    /// Whether this choice is made.
    pub(crate) fn makes(&self, choice: Choice) -> bool {
        self.parameters.get(choice.parameter.name).is_some_and(|value| value == choice.word)
    }

    pub(super) const TABLE: Table = Table {
        name: "scheme",
        about: "Which redundancy scheme. Its parameters stand beside the name.",
        keys: &[Key {
            table: "scheme",
            name: "name",
            unit: "",
            default: None,
            kind: Kind::Text { allowed: "the name of a scheme", valid: |text| !text.is_empty() },
            effect: EVER,
            about: "The scheme.",
        }],
    };
}

table! {
    /// How requests are served.
    Host, "host" {
        /// How the sub-requests (one for each stripe) of one request follow each other.
        serial_subrequests: SerialSubrequests = Some("queued"), "", Kind::Word(SerialSubrequests::WORDS), EVER;
        /// Whether a write's response time includes its parity programs.
        parity_in_response: bool = Some("true"), "", Kind::Flag, WITH_PARITY;
        /// What a read of a page never written finds.
        unwritten: Unwritten = Some("zero"), "", Kind::Word(Unwritten::WORDS), READ_UNWRITTEN;
        /// In which order a rebuild brings back what failures took: `auto` is what suits the scheme, `none` leaves it.
        rebuild: String = Some("auto"), "", Kind::Text { allowed: "auto, none, or the name of an order of rebuild", valid: |text| !text.is_empty() }, FAILED;
        /// Stripes that a rebuild has under way at once; 0 for what its order has.
        rebuild_window: u32 = Some("0"), "stripes", whole(0, 64), REBUILT;
        /// Whether a read that had to reconstruct lets the rebuild store what it computed.
        piggyback: bool = Some("false"), "", Kind::Flag, RECONSTRUCTED;
    }
}

table! {
    /// What is done with the workload.
    Run, "run" {
        /// Format of the trace; `auto` looks at its first bytes and its name.
        format: String = Some("auto"), "", Kind::Text { allowed: "auto or the name of a trace format", valid: |text| !text.is_empty() }, EVER;
        /// What the times of the trace count: `ns`, `100ns`, `us`, `ms` or `s`; `auto` is what its format says.
        time_unit: String = Some("auto"), "", Kind::Text { allowed: "auto, ns, 100ns, us, ms, s", valid: |text| is_option("time_unit", text) }, EVER;
        /// Keep the requests of these devices of the trace (disk, volume, ASU, LUN, file): names with commas between, or `all`. The address
        /// spaces of several are laid side by side.
        device_filter: String = Some("all"), "",
            Kind::Text { allowed: "all, or names of devices with commas between", valid: |text| is_option("device_filter", text) }, FILTERED;
        /// What becomes of a line or record that cannot be read, or of a request that does not fit: `stop`, or `skip`, which counts it.
        on_error: String = Some("stop"), "", Kind::Text { allowed: "stop, skip", valid: |text| is_option("on_error", text) }, SKIPPED;
        /// What the requests of a trace are that records no operations: `read`, `write`, or `mix:X` with the share of reads X; `none` refuses it.
        op: String = Some("none"), "",
            Kind::Text { allowed: "none, read, write, or mix:X with X from 0 to 1", valid: |text| is_option("op", text) }, WITHOUT_OPERATIONS;
        /// The station at which a request of blkparse text counts: `Q` (queued), `D` (issued to the device) or `C` (completed).
        action: String = Some("D"), "", Kind::Text { allowed: "Q, D, C", valid: |text| is_option("action", text) }, WITH_STATIONS;
        /// What the number of an object counts in the traces of caches (oracleGeneral, lcs); `auto`: 4096, and only for objects of that size.
        object_bytes: String = Some("auto"), "bytes",
            Kind::Text { allowed: "auto, or 1 to 1048576", valid: |text| is_option("object_bytes", text) }, OF_A_CACHE;
        /// Requests to take from the start of the trace; 0 for all.
        limit: u64 = Some("0"), "requests", whole(0, MOST), LIMITED;
        /// Arrival times are divided by this.
        speed: f64 = Some("1"), "", Kind::Real { allowed: "a number above 0", valid: |speed| speed > 0.0 && speed.is_finite() }, OPEN_LOOP;
        /// Closed loop with this many requests outstanding; 0 for the arrival times of the trace.
        queue_depth: u32 = Some("0"), "requests", whole(0, u32::MAX as u64), EVER;
        /// What becomes of addresses beyond the logical space.
        fit: Fit = Some("error"), "", Kind::Word(Fit::WORDS), BEYOND;
        /// The logical space; 0 for the user capacity.
        space_bytes: u64 = Some("0"), "bytes", whole(0, MOST), EVER;
        /// Share of the logical space written before the first request, in whole stripes.
        fill: f64 = Some("0"), "share", Kind::Real { allowed: "0 to 1", valid: |share| (0.0..=1.0).contains(&share) }, FILLED;
        /// Bytes of the logical space written before the first request (instead of `fill`); 0 for none.
        fill_bytes: u64 = Some("0"), "bytes", whole(0, MOST), FILLED;
        /// After the fill: `none`, or `random:X`, which overwrites at random until GC is steady, at most X times the space; `steady` is
        /// `random:20`.
        precondition: String = Some("none"), "",
            Kind::Text { allowed: "none, steady, or random:X with a number X above 0", valid: |text| text.parse::<Precondition>().is_ok() }, EVER;
        /// Start of the run left out of the statistics: a number of requests, or a time as in `2.5s` or `100ms`.
        warmup: String = Some("0"), "",
            Kind::Text { allowed: "a number of requests, or a time as in 2.5s or 100ms", valid: |text| text.parse::<Warmup>().is_ok() }, EVER;
        /// Whether every host read is compared with an oracle, and each failure the scheme declares to survive is tried at the end.
        verify: bool = Some("false"), "", Kind::Flag, EVER;
        /// With `verify`, try the failures also after every so many requests; 0 for the end only.
        verify_every: u64 = Some("0"), "requests", whole(0, MOST), LONG_ENOUGH;
        /// Whether the buffer, and every parity that is put off, are written to flash after the last request. What that costs is counted apart.
        drain: bool = Some("false"), "", Kind::Flag, DRAINED;
        /// Faults to inject (docs/faults.md), each WHAT@WHEN.
        fail: Vec<String> = Some(""), "", Kind::List { allowed: faults::ALLOWED }, EVER;
        /// Seed of everything random.
        seed: u64 = Some("1"), "", whole(0, MOST), RANDOM;
    }
}

/// Every key there is, by table, in the order in which a result carries them.
pub const TABLES: [Table; 4] = [Device::TABLE, SchemeChoice::TABLE, Host::TABLE, Run::TABLE];

/// Whether a reader of traces takes this value.
fn is_option(key: &str, value: &str) -> bool {
    TraceOptions::default().set(key, value).is_ok()
}

impl Run {
    /// How the trace is read.
    pub fn trace_options(&self) -> Result<TraceOptions, TraceError> {
        let mut options = TraceOptions { limit: self.limit, ..TraceOptions::default() };
        let texts = [
            ("format", &self.format),
            ("time_unit", &self.time_unit),
            ("device_filter", &self.device_filter),
            ("on_error", &self.on_error),
            ("op", &self.op),
            ("action", &self.action),
            ("object_bytes", &self.object_bytes),
        ];
        if self.fit == Fit::Compact {
            options.layout = Layout::Apart; // extents belong to devices
        }
        texts.into_iter().try_for_each(|(key, value)| options.set(key, value))?;
        Ok(options)
    }
}

fn is_order(text: &str) -> bool {
    text.len() == 3 && "WDP".chars().all(|letter| text.contains(letter))
}
