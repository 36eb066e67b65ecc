//! Proactive hot swapping.
//!
//! Idea: with uneven parity, SSDs wear out one after the other. Before the eldest does, a spare SSD takes its place while the array serves requests: the
//! eldest is read and no more programmed, updates program its strips on the spare SSD, and what no update moves is copied in idle time. Parity that leaves
//! it goes at once to the SSDs that are to have it, by the next shares, so that no parity is moved a second time. GC and copies share the idle
//! time of an SSD by an order that keeps both going (coordinated migration). The retired SSD may stay for reads (semi-hybrid RAID).
//! Source: A. A. McEwan, M. Z. Komsul, "Reliability and performance enhancements for SSD RAID", Microprocessors and Microsystems 48, 2017. Rules: SPEC
//! 5.2 to 5.7 and 5.10; `parts::replacing` has them.
//! Departures: new operations do not wait until those in flight have ended when a replacement begins (5.5): the eldest becomes read only when the last one
//! that programs it has ended, and no operation that begins later programs it, which is all that the wait is for. A stripe with a lost strip is updated before its
//! repair (5.6), as a degraded stripe is; parity that leaves the eldest with such an update goes to the spare SSD, so that no lost strip has to be moved.
//! A copy of case B3 moves its two pages at the same time, as they lie on different SSDs, not one after the other (5.6): as long as one page takes.
//! SSDs that endure different numbers of erases are ranked by the share of them that they have spent, not by the erases themselves (5.12, ruling 16).
//! When the spare SSD dies and there is no other one (5.6), its strips go to the eldest one by one as they are rebuilt or written, not all at one instant.
//! When another spare SSD takes the place of an SSD that has died, the shadow of that stays (5.10): what it holds is what is rebuilt there.

use crate::parts::replacing::{Mechanism, Policy, Redistribution, ReplacedSsds};
use crate::parts::update::UpdateRule;
use crate::parts::{replacing, uneven};
use crate::stripe_map::table::MOST_MEMBERS;
use crate::{Build, Choice, Draws, Entry, Members, Parameter, ParameterError, Protects, Redundancy, Scheme, Values};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "hotswap",
    title: "Hot swapping (SSDs replaced before they wear out)",
    about: "Diff-RAID that replaces its eldest SSD by a spare one while it serves requests, and restores the uneven parity on the way. Overhead: that of \
            Diff-RAID, spare SSDs, and copies in idle time.",
    protects: Protects::Device,
    redundancy: Redundancy::Parity,
    members: Members { most: MOST_MEMBERS, ..Members::from(3) },
    replaces_devices: true,
    keeps_shadows: Some(Choice { parameter: &SEMI_HYBRID, word: "true" }),
    coordinates_gc: Some(Choice { parameter: &COORDINATED, word: "true" }),
    has_chunks: false,
    drive_format: uneven::DRIVE_FORMAT,
    parameters: &[
        &[
            uneven::PARITY_SHARES,
            uneven::PARTIAL_STRIPES,
            replacing::ERASURE_THRESHOLD,
            COORDINATED,
            REDISTRIBUTE,
            BALANCED,
            SEMI_HYBRID,
            MIGRATION_WINDOW,
            MOST_REPLACEMENT_MS,
        ],
        UpdateRule::PARAMETERS,
    ],
    construct: build,
    ..Entry::PLAIN
};

const COORDINATED: Parameter = Parameter {
    name: "coordinated",
    values: Values::Words(&["true", "false"]),
    about: "Whether GC in the SSDs and copies to the new one share idle time by priority (SPEC 5.7); if not, GC blocks its SSD as gc_blocking_scope says.",
    ..Parameter::PLAIN
};

const REDISTRIBUTE: Parameter = Parameter {
    name: "redistribute",
    values: Values::Words(&["true", "false"]),
    about: "Whether parity that leaves the old SSD goes where the parity limits ask for it (SPEC 5.6); if not, the new SSD gets all of it.",
    ..Parameter::PLAIN
};

const BALANCED: Parameter = Parameter {
    name: "balanced",
    values: Values::Words(&["by_need", "data_device", "parity_to_new"]),
    needs: Some(("redistribute = true", |build| build.choice(&REDISTRIBUTE) == Ok("true"))),
    about: "Where the parity of an updated stripe goes once the second eldest SSD has its share: to the SSD of the data while that is below its limit, else \
            to the new one (by_need); always to that of the data (data_device); always to the new one (parity_to_new).",
    ..Parameter::PLAIN
};

const SEMI_HYBRID: Parameter = Parameter {
    name: "semi_hybrid",
    values: Values::Words(&["false", "true"]),
    about: "Whether a replaced SSD stays for reads of what it still holds (SPEC 5.10).",
    ..Parameter::PLAIN
};

const MIGRATION_WINDOW: Parameter = Parameter {
    name: "migration_window",
    unit: "stripes",
    values: Values::Whole { least: 1, most: 1024, default: 1 },
    draws: Draws::OneOf(&["1", "1", "4"]),
    about: "Number of stripes of which strips are copied to the new SSD at the same time; the paper's SSDs have one chip, and copy one page at a time.",
    ..Parameter::PLAIN
};

const MOST_REPLACEMENT_MS: Parameter = Parameter {
    name: "max_replacement_ms",
    unit: "ms",
    values: Values::Whole { least: 0, most: u32::MAX, default: 0 },
    draws: Draws::OneOf(&["0", "0", "20"]),
    about: "Time after which a replacement no longer waits for idle time; 0 for never (SPEC 5.12, ruling 10).",
    ..Parameter::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let redistribution = match (build.choice(&REDISTRIBUTE)?, build.choice(&BALANCED)?) {
        ("false", _) => Redistribution::None,
        (_, "data_device") => Redistribution::DataDevice,
        (_, "parity_to_new") => Redistribution::ParityToNew,
        _ => Redistribution::ByNeed,
    };
    let semi_hybrid = build.choice(&SEMI_HYBRID)? == "true";
    build.choice(&COORDINATED)?;
    let most_ns = u64::from(build.whole(&MOST_REPLACEMENT_MS)?) * 1_000_000;
    let window = build.whole(&MIGRATION_WINDOW)?;
    let policy = Policy { most_ns, window, ..Policy::from_build(build, Mechanism::HotSwap { redistribution, semi_hybrid })? };
    Ok(Box::new(ReplacedSsds::from_build(build, policy)?))
}
