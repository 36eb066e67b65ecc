//! Every key, in five tables: its type, default, unit, allowed values, effect, and the sentence that users read.

use super::cells::law;
use super::effect::*;
use super::faults;
use super::json_schema;
use super::key::{Draw, Key, Kind, MOST, Table, whole};
use super::models;
use super::preparation::{Precondition, Until, Warmup};
use super::words::{AfterLoss, Allocation, Destage, DestageUnit, Fit, Ftl, GcPhases, Mapping, NvramVictim, PartialWrites, Unwritten};
use crate::engine::{MOST_CHUNK, MOST_QUEUES};
use flashraid_ftl::{Given, MOST_LEVEL};
use flashraid_redundancy::Choice;
use flashraid_vocabulary::{
    GcBlockingScope, GcPace, GcStreams, Lun, Member, RebuildTarget, Scheduling, SerialSubrequests, SlcFull, Suspend, Transfer,
    WearLeveling, WriteCompletes,
};
use flashraid_workload::{DeviceLayout, TraceError, TraceOptions};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Every setting, with defaults filled in. A result contains it, so that the run can be repeated from the result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Config {
    /// Geometry, timing, FTL and buffers of the device, as given: with `slice`, of all of it.
    #[serde(rename = "device")]
    pub(super) whole: Device,
    /// What is simulated of it: all, or its slice.
    #[serde(skip)]
    pub device: Device,
    /// The SSDs of an array; absent for a single SSD.
    #[serde(skip_serializing_if = "Array::is_single")]
    pub array: Array,
    /// The redundancy scheme and its parameters.
    pub scheme: SchemeChoice,
    /// How the controller serves host requests.
    pub host: Host,
    /// The workload, and what a run does with it.
    pub run: Run,
}

/// A table of settings: `key: type = default, unit, kind, effect, draw; before "VERSION": "VALUE";`. The doc comment of a key is what users read about it.
/// A key with default `None` must be given by the preset or the file. Without `draw`, torture draws any of the words.
/// `before` is for a key that is newer than results and drives which do without it, if its default is not what these did: VALUE is, of those that versions
/// before VERSION have written (`older`). A key may have several, the oldest first.
macro_rules! table {
    ($(#[doc = $about:literal])+ $name:ident, $table:literal {
        $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $unit:literal, $kind:expr, $effect:expr $(, $draw:expr)? $(; before $version:literal: $before:literal)*;)+
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
                    draw: [$($draw,)? Draw::Any][0],
                    about: concat!($($doc),+).trim_ascii(),
                    before: &[$(flashraid_redundancy::Before { version: $version, value: $before }),*],
                },)+],
            };
        }
    };
}

/// Longest time of one array operation: keeps sums of times far from the end of 64 bits.
const LONGEST_NS: u64 = 1_000_000_000_000;
/// Why torture does not draw what is about traces.
const OWN_REQUESTS: &str = "torture generates its own requests";
/// Why it does not draw what makes something fail.
const OWN_FAILURES: &str = "torture injects its own failures";
/// What is allowed of times of page types.
const TIMES: &str = "a comma-separated list of at most 4 times from 1 to 1000000000000, in whole nanoseconds";
const SHARE_BELOW_ONE: Kind = Kind::Real { allowed: "0 or more and below 1", valid: |share| (0.0..1.0).contains(&share) };

fn is_time(time_ns: f64) -> bool {
    time_ns.fract() == 0.0 && (1.0..=LONGEST_NS as f64).contains(&time_ns)
}

// Between them stand those that the flash layer takes as they are given.
flashraid_ftl::given_settings! {
    table {
        /// Geometry, timing, FTL and buffers of the device.
        Device, "device"
    } {
        /// Name of the device in results.
        name: String = None, "",
            Kind::Text { allowed: "a name without control characters", valid: |text| !text.is_empty() && !text.contains(char::is_control) },
            EVER, Draw::Never("a label");
        /// Channels, each with its own bus.
        channels: u32 = None, "", whole(1, 64), EVER;
        /// Chips on each channel.
        chips_per_channel: u32 = None, "", whole(1, 64), EVER;
        /// Dies in each chip.
        dies_per_chip: u32 = None, "", whole(1, 64), EVER;
        /// Planes in each die.
        planes_per_die: u32 = None, "", whole(1, 64), EVER;
        /// Erase blocks in each plane.
        blocks_per_plane: u32 = None, "", whole(8, 65_534), EVER;
        /// Pages in each erase block.
        pages_per_block: u32 = None, "", whole(1, 32_767), EVER;
        /// Size of a flash page, which is read and programmed as a whole.
        page_bytes: u32 = None, "bytes", Kind::PowerOfTwo { min: 512, max: 65_536 }, EVER;
        /// Size of a mapping unit, in which the host's data, parities and map entries are counted: a power of two from 512 to `page_bytes`, or 0 for a flash
        /// page. Several units are programmed as one flash page.
        mapping_unit_bytes: u32 = Some("0"), "bytes", whole(0, 65_536), EVER;
        /// Memory of the controller for units that are accepted and not programmed; 0 for the least that is allowed: a flash page for each plane and as many for
        /// what GC moves, and two for each die. A read of a unit in it takes `buffer_ns`.
        staging_bytes: u64 = Some("0"), "bytes", whole(0, 1 << 40), WITH_UNITS;
        /// Whether that memory survives a loss of power. Else a flush, and GC before an erase, pad the flash pages that are not full, and wait for their
        /// programs.
        power_loss_protection: bool = Some("false"), "", Kind::Flag, WITH_UNITS;
        /// How long after its first unit a flash page is padded that is not full; 0 for never.
        pad_after_ns: u64 = Some("5000000"), "ns", whole(0, LONGEST_NS), WITH_PADDING;
        /// Blocks of each plane that may be in SLC mode, whatever is free: programs fill these first, with one bit a cell, and GC moves what is left of them later.
        slc_static: u32 = Some("0"), "blocks", whole(0, 65_534), EVER;
        /// Whether more blocks are opened in SLC mode while enough are free (`slc_leave`).
        slc_dynamic: bool = Some("false"), "", Kind::Flag, EVER;
        /// With `slc_dynamic`: blocks of each plane that stay free when one is opened in SLC mode.
        slc_leave: u32 = Some("6"), "blocks", whole(1, 65_534), WITH_DYNAMIC_SLC;
        /// What programs do when no block can be opened in SLC mode.
        slc_full: SlcFull = Some("direct"), "", Kind::Word(SlcFull::WORDS), WITH_SLC;
        /// Array time of a read in SLC mode, at most `read_ns`; 0 for that.
        slc_read_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), WITH_SLC;
        /// Array time of a program in SLC mode, at most `program_ns`; 0 for that over the square of the bits of a cell, which are `program_pages` over `read_pages`.
        slc_program_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), WITH_SLC;
        /// Array time of a page read.
        read_ns: u64 = None, "ns", whole(1, LONGEST_NS), EVER, Draw::OneOf(&["20000", "25000", "200000", "1"]);
        /// Array time of a page program.
        program_ns: u64 = None, "ns", whole(1, LONGEST_NS), EVER, Draw::OneOf(&["200000", "200000", "20000", "1500000"]);
        /// Array time of a block erase.
        erase_ns: u64 = None, "ns", whole(1, LONGEST_NS), ERASED, Draw::OneOf(&["1500000", "1500000", "20000"]);
        /// Array times of a read of the other page types of a cell, from the second on: middle and upper of TLC. The pages of a block are of each
        /// type in turn, lower pages first, which `read_ns` is about. Empty if they take as long.
        upper_read_ns: Vec<f64> = Some(""), "ns", Kind::Numbers { allowed: TIMES, valid: is_time }, EVER, Draw::OneOf(&["", "", "40000,90000"]);
        /// The same of programs.
        upper_program_ns: Vec<f64> = Some(""), "ns", Kind::Numbers { allowed: TIMES, valid: is_time }, EVER;
        /// Reads that LDPC corrects in several attempts: the levels of new blocks. A page of level L takes attempts 0 to L, each with its own sensing,
        /// transfer and decoding. `none`: each read takes one attempt; `geometric`: level L is drawn with a probability in proportion to 2^-(L+1);
        /// `uniform`: all levels are as likely; `fixed:L`.
        ldpc: String = Some("none"), "",
            Kind::Text { allowed: "none, geometric, uniform, or fixed:L with a level L", valid: |text| law(text).is_some() },
            EVER;
        /// The highest level: a page above it cannot be corrected, and is lost.
        ldpc_levels: u32 = Some("6"), "", whole(0, MOST_LEVEL as u64), WITH_LDPC;
        /// By how much each attempt is longer in the array than the one before, as it senses with more reference voltages.
        ldpc_step_ns: u64 = Some("24000"), "ns", whole(0, LONGEST_NS), WITH_LDPC, Draw::OneOf(&["24000", "0", "1"]);
        /// Time of decoding, after the transfer of each attempt. The last attempt is decoded while the LUN does something else.
        ldpc_decode_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), WITH_LDPC, Draw::OneOf(&["0", "0", "10000"]);
        /// P/E cycles of a block that raise the level of its pages by one; 0 for none.
        ldpc_erases: u32 = Some("0"), "erases", whole(0, u32::MAX as u64), WITH_LDPC, Draw::Never(OWN_FAILURES);
        /// Time since the first program into a block that raises the level of its pages by one; 0 for none.
        ldpc_retention_ns: u64 = Some("0"), "ns", whole(0, MOST), WITH_LDPC, Draw::Never(OWN_FAILURES);
        /// Attempts to read pages of a block since its erase that raise their level by one; 0 for none.
        ldpc_reads: u32 = Some("0"), "reads", whole(0, u32::MAX as u64), WITH_LDPC, Draw::Never(OWN_FAILURES);
        /// P/E cycles of each block before the fill. (The SSDs of an array with `pe_limit` have `ages` instead.)
        erases_before: u32 = Some("0"), "erases", whole(0, 1_000_000_000), WITHOUT_LIMIT, Draw::Never(OWN_FAILURES);
        /// How long before the first request everything was programmed that the device holds then.
        stored_ns: u64 = Some("0"), "ns", whole(0, MOST), WITH_RETENTION, Draw::Never(OWN_FAILURES);
    } {
        /// GC of a plane starts when its free pages drop below this share of its pages.
        gc_threshold: f64 = Some("0.1"), "share", SHARE_BELOW_ONE, FREELY_MAPPED;
        /// In idle time (`idle_ns`) a plane is also collected, one victim after the other, while its free pages are below this share of its pages;
        /// 0 for no GC in idle time, else above `gc_threshold`. Such GC runs yield to the host with `gc_blocking_scope = none`; those below
        /// `gc_threshold` then go before it.
        gc_idle_threshold: f64 = Some("0"), "share", SHARE_BELOW_ONE, FREELY_MAPPED;
        /// Least share of a block's pages that a GC run in idle time frees, or it is not begun: such GC moves at most (1 - `gc_idle_gain`) / `gc_idle_gain`
        /// pages for each page that anything else programs. With 0 any block with a page to free is collected, and there is no such bound.
        gc_idle_gain: f64 = Some("0.25"), "share", SHARE_BELOW_ONE, COLLECTED_WHEN_IDLE, Draw::OneOf(&["0.25", "0", "0.6"]); before "0.2.0": "0";
        /// How GC chooses its victim block among those of a plane that are full and have garbage; with hybrid mapping, how a merge chooses its log block.
        gc_policy: String = Some("auto"), "", Kind::GcPolicy, OF_VICTIMS;
        /// Share of each member's physical pages that is unavailable as logical pages, rounded to parts per million. Data sheets state shares of the user's capacity
        /// instead: their 7 % are 0.065 here, and 28 % are 0.219.
        over_provisioning: f64 = Some("0.1"), "share", SHARE_BELOW_ONE, EVER;
        /// P/E cycles that each block of an SSD endures; 0 for no limit. When all its blocks together have been erased as often as they endure, an SSD of an
        /// array fails, and a single one is read-only from then on (docs/ageing.md).
        pe_limit: u32 = Some("0"), "erases", whole(0, u32::MAX as u64), EVER, Draw::Never(OWN_FAILURES);
        /// The planes that one FTL instance owns. It may span several members only if the scheme survives the loss of all of them.
        ftl: Ftl = Some("auto"), "", Kind::Word(Ftl::WORDS), WITH_CHOICE_OF_MEMBER;
        /// How the FTL chooses the plane of a program.
        allocation: Allocation = Some("dynamic_member"), "", Kind::Word(Allocation::WORDS), FREELY_MAPPED;
        /// With static allocation: the order in which the indices inside a member vary, the fastest first (W way, that is chip; D die; P plane).
        static_order: String = Some("WDP"), "",
            Kind::Text { allowed: "the letters W, D and P in any order, each once", valid: is_order }, IN_STATIC_ORDER;
        /// How logical pages are mapped to physical pages, and where the map is stored.
        mapping: Mapping = Some("page"), "", Kind::Word(Mapping::WORDS), EVER;
        /// With `mapping = dftl`: the number of map entries that RAM holds. One entry maps one logical page.
        cmt_entries: u32 = Some("65536"), "entries", whole(1, 1 << 30), WITH_DFTL;
        /// With `mapping = bast` or `fast`: log blocks of each chip, divided evenly over its planes.
        log_blocks: u32 = Some("160"), "blocks", whole(1, 65_534), WITH_LOG_BLOCKS;
        /// Size of the data buffer in the controller's DRAM, per GiB of flash; 0 for none. It is volatile: buffered writes are not durable
        /// until they are on flash.
        buffer_bytes_per_gib: u64 = Some("0"), "bytes/GiB", whole(0, 1 << 30), UNLESS_FIXED;
        /// Size of the data buffer in DRAM, regardless of the flash capacity; with 0, `buffer_bytes_per_gib` applies.
        buffer_bytes: u64 = Some("0"), "bytes", whole(0, 1 << 40), EVER;
        /// Size of a write buffer in NVRAM instead of DRAM; 0 for none. It survives power loss. A write is acknowledged when the buffer has
        /// space for it, and all buffered pages of a stripe leave together.
        nvram_buffer_bytes: u64 = Some("0"), "bytes", whole(0, 1 << 40), EVER;
        /// How the write buffer in NVRAM chooses the stripe that leaves next.
        nvram_victim: NvramVictim = Some("oldest_write"), "", Kind::Word(NvramVictim::WORDS), WITH_NVRAM;
        /// Access time of the data buffer, and of the memory for units that are not programmed (`staging_bytes`).
        buffer_ns: u64 = Some("1000"), "ns", whole(0, LONGEST_NS), WITH_MEMORY, Draw::OneOf(&["1000", "0", "300000"]);
        /// When pages leave the data buffer.
        destage: Destage = Some("low_water"), "", Kind::Word(Destage::WORDS), BUFFERED; before "0.2.0": "when_full";
        /// What leaves a data buffer in DRAM together, whatever for.
        destage_unit: DestageUnit = Some("stripe"), "", Kind::Word(DestageUnit::WORDS), WITH_DRAM; before "0.2.0": "page";
        /// With `destage = low_water`: the share of the buffer's pages with which it begins to destage by itself, rounded up.
        destage_high_water: f64 = Some("0.5"), "share", Kind::Real { allowed: "above 0 and at most 1", valid: |share| share > 0.0 && share <= 1.0 },
            DESTAGING;
        /// With `destage = low_water`: the share of the buffer's pages with which that ends, rounded down.
        destage_low_water: f64 = Some("0.25"), "share", SHARE_BELOW_ONE, DESTAGING;
        /// With `destage = low_water`: the rate at which pages leave then, whatever else happens; 0 for a quarter of the speed at which LUNs and buses program that do nothing else.
        /// What does not leave fast enough leaves when the buffer is full.
        destage_bytes_per_second: u64 = Some("0"), "bytes/s", whole(0, 1 << 40), DESTAGING;
        /// Time in which the controller computes a page that is the XOR of others, as a parity is, before it programs it. Parities that NVRAM holds take none.
        xor_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), COMPUTED, Draw::OneOf(&["0", "0", "19000"]);
        /// Time of one byte of data from the host to the drive, in picoseconds (154 is 6.5 GB/s). The host link is full-duplex; with 0 writes cross it in no
        /// time. This and the next five keys are about what the host sees: of an array, about its controller.
        host_write_ps_per_byte: u64 = Some("0"), "ps/byte", whole(0, 1_000_000_000), EVER;
        /// The same from the drive to the host: with 0 reads cross it in no time.
        host_read_ps_per_byte: u64 = Some("0"), "ps/byte", whole(0, 1_000_000_000), EVER;
        /// Time of the controller for each command. It serves one after the other, so that it takes 1 / `command_ns` commands in a second.
        command_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), EVER;
        /// Time of the controller for each mapping unit that a read or write touches and, in a single SSD, for each that GC moves.
        unit_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), EVER;
        /// Time that is added to each read, whatever else the drive does: it bounds no rate.
        read_latency_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), EVER;
        /// Time that is added to each write, before the drive has accepted it: it bounds no rate.
        write_latency_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), EVER;
    }
}

macro_rules! given_by {
    ({ $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $unit:literal, $kind:expr, $effect:expr $(, $draw:expr)? $(; before $version:literal: $before:literal)*;)+ }) => {
        impl Device {
            /// What the flash layer takes as it is given.
            pub(crate) fn given(&self) -> Given {
                Given { $($key: self.$key,)+ }
            }
        }
    };
}

flashraid_ftl::given_settings! { given_by {} {} {} }

/// The redundancy scheme. Its parameters are keys of the same table; the registry lists them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeChoice {
    /// Name in the registry.
    pub name: String,
    /// Parameters by name, words and numbers; complete after assembly.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, Value>,
}

impl SchemeChoice {
    /// Whether this choice is made.
    pub fn makes(&self, choice: Choice) -> bool {
        self.parameters.get(choice.parameter.name).is_some_and(|value| value == choice.word)
    }

    pub(super) const TABLE: Table = Table {
        name: "scheme",
        about: "The redundancy scheme. Its parameters are keys of the same table.",
        keys: &[Key {
            table: "scheme",
            name: "name",
            unit: "",
            default: None,
            kind: Kind::Text { allowed: "the name of a scheme", valid: |text| !text.is_empty() },
            effect: EVER,
            draw: Draw::Any,
            about: "Name of the scheme.",
            before: &[],
        }],
    };
}

table! {
    /// SSDs side by side: an array. Each SSD is one member of the scheme.
    Array, "array" {
        /// Number of SSDs that are members of the scheme. With 1 there is no array: the members are parts of the SSD (`member`).
        devices: u32 = Some("1"), "", whole(1, 63), EVER;
        /// Additional SSDs that stay idle until one fails, and then replace it.
        spare_devices: u32 = Some("0"), "", whole(0, 62), OF_ARRAYS;
        /// The age of each SSD before the fill, spare SSDs last: the share of `pe_limit` that each of its blocks has been erased. SSDs beyond the end of
        /// the list are new.
        ages: Vec<f64> = Some(""), "share",
            Kind::Numbers { allowed: "a comma-separated list of numbers from 0 to below 1", valid: |age| (0.0..1.0).contains(&age) },
            OF_ARRAYS, Draw::Never(OWN_FAILURES);
        /// SSDs that differ from the device, each as SSD:MODEL, with a preset or a file for MODEL, or keys of the device, or keys behind a name
        /// (docs/arrays.md). A result has the keys.
        models: Vec<String> = Some(""), "", Kind::List { allowed: models::ALLOWED }, OF_ARRAYS;
        /// Time of one byte of data on the host link of each SSD, in picoseconds (1,667 is 600 MB/s). A link is full-duplex; with 0 here and in
        /// `link_command_ns` there are no links, and nothing but flash takes time.
        link_ps_per_byte: u64 = Some("0"), "ps/byte", whole(0, 1_000_000_000), OF_ARRAYS;
        /// Time of the command of each page operation on the host link of its SSD, before the data of a program.
        link_command_ns: u64 = Some("0"), "ns", whole(0, LONGEST_NS), OF_ARRAYS;
    }
}

impl Array {
    /// Whether there is one SSD, and so no array.
    pub fn is_single(&self) -> bool {
        self.devices == 1
    }

    /// SSDs, spare ones included.
    pub fn ssds(&self) -> u32 {
        self.devices + self.spare_devices
    }

    /// Erases of each block of an SSD before the fill; each block endures `pe_limit`.
    pub fn preset_erases(&self, ssd: u32, pe_limit: u32) -> u32 {
        (self.ages.get(ssd as usize).copied().unwrap_or(0.0) * f64::from(pe_limit)).round() as u32
    }
}

impl Default for Array {
    fn default() -> Self {
        Self { devices: 1, spare_devices: 0, ages: Vec::new(), models: Vec::new(), link_ps_per_byte: 0, link_command_ns: 0 }
    }
}

table! {
    /// How the controller serves host requests.
    Host, "host" {
        /// Mapping units (SPEC 8.1) that follow each other on one member before the next member's turn: the chunk of an array, as in md. A strip of a stripe stays
        /// one unit: a chunk only decides which stripes and members a request is on, and how many. Schemes with shares of the parity have chunks of one unit.
        chunk_units: u32 = Some("1"), "", whole(1, MOST_CHUNK), IN_ROWS;
        /// When the sub-requests of one request start. A sub-request is the part of a request on one stripe.
        serial_subrequests: SerialSubrequests = Some("queued"), "", Kind::Word(SerialSubrequests::WORDS), EVER;
        /// Whether a write's response time includes its parity programs.
        parity_in_response: bool = Some("true"), "", Kind::Flag, WITH_PARITY, Draw::OneOf(&["true", "true", "false"]);
        /// Most requests that the drive takes at a time, as the depth of a command queue (SATA's NCQ has 32). Those that come while there are so many wait
        /// in the host, in order (or see `queues`), and their response times count from their arrival. 0 for no limit.
        device_queue_depth: u32 = Some("0"), "requests", whole(0, u32::MAX as u64), QUEUED_IN_HOST, Draw::OneOf(&["0", "0", "0", "1", "3"]);
        /// Submission queues of the host, in which requests wait until the drive takes them. A request goes to the queue that its stream names, counted from 1;
        /// one without a stream to that of its number. Numbers beyond the last queue begin again with the first one.
        queues: u32 = Some("1"), "", whole(1, MOST_QUEUES), OF_SEVERAL_QUEUES;
        /// Requests that the drive takes from a queue at most before it goes on to the next one that is not empty.
        fetch: u32 = Some("1"), "requests", whole(1, u32::MAX as u64), BETWEEN_QUEUES;
        /// What a read of a page that was never written returns.
        unwritten: Unwritten = Some("zero"), "", Kind::Word(Unwritten::WORDS), READ_UNWRITTEN;
        /// Whether a page is read before a part of it is written.
        partial_writes: PartialWrites = Some("read"), "", Kind::Word(PartialWrites::WORDS), PARTS_TOUCHED,
            Draw::OneOf(&["read", "read", "read_if_needed", "read_if_used"]);
        /// What becomes of a device of which a failed part, or a lost parity cache, has taken host pages that the scheme cannot recover. Lost pages and blocks alone
        /// change nothing.
        after_loss: AfterLoss = Some("serve"), "", Kind::Word(AfterLoss::WORDS), FAILED,
            Draw::OneOf(&["serve", "serve", "serve", "read_only", "stop"]);
        /// The order of the rebuild after a failure. `auto` chooses one that suits the scheme; `none` disables rebuilds.
        rebuild: String = Some("auto"), "",
            Kind::Text { allowed: "auto, none, or the name of a rebuild order", valid: |text| !text.is_empty() }, FAILED;
        /// Number of stripes that a rebuild repairs at the same time; 0 for the default of the rebuild order.
        rebuild_window: u32 = Some("0"), "stripes", whole(0, 64), REBUILT, Draw::OneOf(&["0", "0", "1", "2", "16"]);
        /// Whether the rebuild gives priority to stripes in which a host read has just reconstructed a page.
        piggyback: bool = Some("false"), "", Kind::Flag, RECONSTRUCTED;
    }
}

table! {
    /// The workload, and what a run does with it.
    Run, "run" {
        /// Format of the trace; `auto` detects it from the first bytes and the file name.
        format: String = Some("auto"), "",
            Kind::Text { allowed: "auto or the name of a trace format", valid: |text| !text.is_empty() }, EVER.of_replays(),
            Draw::Never(OWN_REQUESTS);
        /// Unit of the times in the trace: `ns`, `100ns`, `us`, `ms` or `s`; `auto` is the unit that the format defines.
        time_unit: String = Some("auto"), "",
            Kind::Text { allowed: "auto, ns, 100ns, us, ms, s", valid: |text| is_option("time_unit", text) }, EVER.of_replays(),
            Draw::Never(OWN_REQUESTS);
        /// Replay only the requests of these devices of the trace (disks, volumes, ASUs, logical units, files): a comma-separated list of names, or
        /// `all`. The address spaces of several devices are placed one after the other.
        device_filter: String = Some("all"), "",
            Kind::Text { allowed: "all, or a comma-separated list of device names", valid: |text| is_option("device_filter", text) },
            FILTERED.of_replays(), Draw::Never(OWN_REQUESTS);
        /// How a line or record that cannot be read, or a request that does not fit, is handled: `stop` ends the run with an error, `skip` leaves it out and counts it.
        on_error: String = Some("stop"), "",
            Kind::Text { allowed: "stop, skip", valid: |text| is_option("on_error", text) }, SKIPPED.of_replays(),
            Draw::Never(OWN_REQUESTS);
        /// The operation of each request, for a trace that records none: `read`, `write`, or `mix:X` with X the share of reads. `none` refuses such a trace.
        op: String = Some("none"), "",
            Kind::Text { allowed: "none, read, write, or mix:X with X from 0 to 1", valid: |text| is_option("op", text) },
            WITHOUT_OPERATIONS.of_replays(), Draw::Never(OWN_REQUESTS);
        /// The event that counts as the arrival of a request in recordings of Linux (blkparse, blktrace, tracefs, biosnoop, iosnoop): `Q` (queued), `D` (issued to the device) or `C` (completed).
        action: String = Some("D"), "",
            Kind::Text { allowed: "Q, D, C", valid: |text| is_option("action", text) }, WITH_EVENTS.of_replays(), Draw::Never(OWN_REQUESTS);
        /// Address distance between consecutive object ids in a cache trace (oracleGeneral, lcs). `auto` is 4096, and accepts only objects
        /// of that size.
        object_bytes: String = Some("auto"), "bytes",
            Kind::Text { allowed: "auto, or 1 to 1048576", valid: |text| is_option("object_bytes", text) }, OF_A_CACHE.of_replays(),
            Draw::Never(OWN_REQUESTS);
        /// Bytes of a sector of the recorded device, in formats that count addresses in its sectors (ssdsim, disksim, diskmon, nvme, columns). `auto` is 512;
        /// 4096 for a drive formatted with sectors of 4 KiB.
        sector_bytes: String = Some("auto"), "bytes",
            Kind::Text { allowed: "auto, or 1 to 1048576", valid: |text| is_option("sector_bytes", text) }, OF_SECTORS.of_replays(),
            Draw::Never(OWN_REQUESTS);
        /// The columns of a text that is of no format, from the left: time, completion with latency, op, offset, sector, lba, size, sectors, bytes, end,
        /// device, or - for one that is passed over, with a unit as in time:us (docs/traces.md). `none` for a trace of a format.
        columns: String = Some("none"), "",
            Kind::Text { allowed: "none, or names of columns with commas between, as in time:s,op,sector,sectors,-", valid: |text| !text.is_empty() },
            EVER.of_replays(), Draw::Never(OWN_REQUESTS);
        /// What stands between these columns: `comma`, `semicolon`, `tab`, `pipe` or `blank`; `auto` is what the first line shows.
        separator: String = Some("auto"), "",
            Kind::Text { allowed: "auto, comma, semicolon, tab, pipe, blank", valid: |text| is_option("separator", text) },
            WITH_COLUMNS.of_replays(), Draw::Never(OWN_REQUESTS);
        /// Number of requests to take from the start of the trace; 0 for all.
        limit: u64 = Some("0"), "requests", whole(0, MOST), LIMITED.of_replays(), Draw::Never(OWN_REQUESTS);
        /// Factor by which the trace is sped up: arrival times are divided by it.
        speed: f64 = Some("1"), "",
            Kind::Real { allowed: "a number above 0", valid: |speed| speed > 0.0 && speed.is_finite() }, OPEN_LOOP.of_replays(),
            Draw::Never(OWN_REQUESTS);
        /// Most by which a request arrives late: each arrival is put off by a random time from 0 to this, drawn with `seed`, and the order of requests stays.
        /// In a closed loop it is the submission that is put off. Runs of a trace with several seeds then differ, and show how much of a figure is chance. 0 for
        /// the arrival times of the trace.
        jitter_ns: u64 = Some("0"), "ns", whole(0, MOST), EVER.of_replays(), Draw::Never(OWN_REQUESTS);
        /// Number of outstanding requests of a closed loop; 0 for an open loop with the arrival times of the trace.
        queue_depth: u32 = Some("0"), "requests", whole(0, u32::MAX as u64), EVER.of_replays(), Draw::Never(OWN_REQUESTS);
        /// How addresses beyond the logical space are handled.
        fit: Fit = Some("error"), "", Kind::Word(Fit::WORDS), BEYOND.of_replays(), Draw::Never(OWN_REQUESTS);
        /// The drive to begin with, which a run has left (`--save-drive`): PATH, or PATH@SHA256, which no other file is taken for. Then device, scheme, host
        /// and what prepares the device are the drive's. Empty for a device that is built and prepared.
        drive: String = Some(""), "", Kind::Text { allowed: "the name of a file, or PATH@SHA256", valid: |_| true }, EVER,
            Draw::Never("torture builds its devices");
        /// Size of the logical space; 0 for the user capacity.
        space_bytes: u64 = Some("0"), "bytes", whole(0, MOST), EVER;
        /// Share of the logical space that is written before the first request, in whole pages and in no simulated time.
        fill: f64 = Some("0"), "share", Kind::Real { allowed: "0 to 1", valid: |share| (0.0..=1.0).contains(&share) }, FILLED;
        /// Bytes of the logical space that are written before the first request, instead of `fill`; 0 for none.
        fill_bytes: u64 = Some("0"), "bytes", whole(0, MOST), FILLED;
        /// Preconditioning after the fill: `none`, or `random:X`, which overwrites random pages until GC reaches steady state, at most X times the
        /// logical space. `steady` is `random:20`, and then what `gc_phases` says. `direct` fills the device as uniform random overwrites would have left it in steady
        /// state, without doing them (docs/spec/modern.md, 8.10).
        precondition: String = Some("none"), "",
            Kind::Text { allowed: "none, steady, direct, or random:X with a number X above 0", valid: |text| text.parse::<Precondition>().is_ok() },
            EVER, Draw::OneOf(&["none", "none", "none", "random:0.5", "random:2"]);
        /// With `precondition = steady`: how far each plane is on its way from one GC run to the next when the run begins.
        gc_phases: GcPhases = Some("random"), "", Kind::Word(GcPhases::WORDS), STEADY, Draw::Never("torture does not wait for steady GC"); before "0.2.0": "aligned";
        /// Warm-up that is left out of the statistics: the first N requests, or all requests that arrive before a simulated time, as in `2.5s` or `100ms`.
        warmup: String = Some("0"), "",
            Kind::Text { allowed: Warmup::ALLOWED, valid: |text| text.parse::<Warmup>().is_ok() },
            EVER.of_replays(), Draw::Never("torture has no statistics");
        /// When the run ends: `end`, with the trace; or `worn:N`, when N SSDs of an array are worn out (`pe_limit`) or were replaced before by the scheme.
        /// Until then the trace is repeated, and arrival times continue.
        until: String = Some("end"), "",
            Kind::Text { allowed: "end, or worn:N with a whole number N from 1", valid: |text| text.parse::<Until>().is_ok() },
            OF_ARRAYS.of_replays(), Draw::Never(OWN_REQUESTS);
        /// Whether to compare every host read with an oracle and, at the end, to check recovery from each failure that the scheme is declared to survive.
        verify: bool = Some("false"), "", Kind::Flag, EVER, Draw::Never("torture always verifies");
        /// With `verify`, check recovery also after every N requests; 0 for the end only.
        verify_every: u64 = Some("0"), "requests",
            whole(0, MOST), LONG_ENOUGH.of_replays(), Draw::Never("torture verifies at each crash point");
        /// Whether to write the data buffer and all deferred parities to flash after the last request. The cost is counted separately.
        drain: bool = Some("false"), "", Kind::Flag, DRAINED.of_replays();
        /// Faults to inject, each as WHAT@WHEN (docs/faults.md).
        fail: Vec<String> = Some(""), "", Kind::List { allowed: faults::ALLOWED }, EVER, Draw::Never(OWN_FAILURES);
        /// SSDs of an array to replace by spare ones, each as device:N@WHEN (docs/faults.md). A scheme that does not replace SSDs itself loses the SSD and
        /// rebuilds it on the spare one.
        replace: Vec<String> = Some(""), "", Kind::List { allowed: faults::REPLACEMENTS_ALLOWED }, OF_ARRAYS, Draw::Never("torture replaces SSDs itself");
        /// Seed of the random number generators.
        seed: u64 = Some("1"), "", whole(0, MOST), RANDOM;
    }
}

/// All keys by table, in the order in which a result lists them.
pub const TABLES: [Table; 5] = [Device::TABLE, Array::TABLE, SchemeChoice::TABLE, Host::TABLE, Run::TABLE];

/// Whether the trace reader accepts this value.
fn is_option(key: &str, value: &str) -> bool {
    TraceOptions::default().set(key, value).is_ok()
}

impl Run {
    /// Whether another `seed` makes another run.
    pub fn is_random(&self) -> bool {
        self.precondition != "none" || self.jitter_ns > 0
    }

    /// The options with which the trace is read.
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
            ("sector_bytes", &self.sector_bytes),
            ("columns", &self.columns),
            ("separator", &self.separator),
        ];
        if self.fit == Fit::Compact {
            options.layout = DeviceLayout::Apart; // extents belong to devices
        }
        texts.into_iter().try_for_each(|(key, value)| options.set(key, value))?;
        Ok(options)
    }
}

fn is_order(text: &str) -> bool {
    text.len() == 3 && "WDP".chars().all(|letter| text.contains(letter))
}
