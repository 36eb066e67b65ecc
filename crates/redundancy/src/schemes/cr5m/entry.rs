//! The registry entry of CR5M, its parameters, and its construction.

use super::credit::{Credit, Limits};
use super::recency::MirroredStripes;
use super::{Cr5m, ParityRule};
use crate::parts::raid::Raid;
use crate::parts::update::UpdateRule;
use crate::stripe_map::StripeMap;
use crate::stripe_map::formula::{Formula, Layout};
use crate::{Bases, Build, Draws, Entry, Members, Parameter, ParameterError, Protects, Redundancy, Scheme, Values};
use flashraid_vocabulary::SemivalidAction;

/// CR5M.
pub const ENTRY: Entry = Entry {
    name: "cr5m",
    title: "CR5M (channel RAID-5 with mirroring)",
    about: "RAID-5 across channels that mirrors small writes: it programs the data twice, once on a mirror chip, and defers the parity. Overhead: \
            one member's capacity, one chip per channel, and flash for the old versions that the parity still covers.",
    protects: Protects::Chip,
    redundancy: Redundancy::Parity,
    // A mirrored write programs each strip twice.
    members: Members { most: Members::MOST_WITH_PAIRS, ..Members::from(3) },
    mirror_chips: 1,
    bases: Some(Bases::Always(SemivalidAction::Move)),
    parameters: &[&[Layout::PARAMETER, MW_LIMIT, CONSOLIDATE, MIRROR_READ], UpdateRule::PARAMETERS],
    construct: build,
    ..Entry::PLAIN
};

const MW_LIMIT: Parameter = Parameter {
    name: "mw_limit",
    values: Values::Decimal { least: 0, most: 1_000_000, default: 1_100 },
    draws: Draws::OneOf(&["1000", "1000", "1.1", "3", "0"]),
    about: "Limit of mirrored writes on a channel, as a multiple of the mean number of host-caused programs on its data chips; 0 allows none \
            (CR5).",
    ..Parameter::PLAIN
};

const CONSOLIDATE: Parameter = Parameter {
    name: "consolidate",
    values: Values::Words(&["last_strip", "never"]),
    needs: Some(("mw_limit above 0", |build| build.thousandths(&MW_LIMIT) != Ok(0))),
    runtime: true,
    about: "When a write consolidates a mirrored stripe, that is recomputes its parity: if it changes the last strips that are not \
            mirrored, or never.",
    ..Parameter::PLAIN
};

const MIRROR_READ: Parameter = Parameter {
    name: "mirror_read",
    values: Values::Words(&["either", "data"]),
    needs: Some(("mw_limit above 0", |build| build.thousandths(&MW_LIMIT) != Ok(0))),
    runtime: true,
    about: "Which copy of a mirrored strip a read uses: either, the one whose chip is free earlier, or always the one on the data chip, while it is \
            there.",
    ..Parameter::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    over(Formula::on_device(build)?, build)
}

/// CR5M over the stripes of `map`.
pub fn over(map: impl StripeMap, build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    debug_assert!(build.members <= Members::MOST_WITH_PAIRS);
    if build.copies_held == 0 {
        return Err(ParameterError(format!("{} needs mirror chips with space for at least one copy; the device has none", ENTRY.name)));
    }
    let rule = ParityRule { update: UpdateRule::from_build(build)?, consolidates_last_strip: build.choice(&CONSOLIDATE)? == "last_strip" };
    let reads_copies = build.choice(&MIRROR_READ)? == "either";
    let limits = Limits {
        limit_thousandths: u64::from(build.thousandths(&MW_LIMIT)?),
        data_chips: u64::from(build.data_chips),
        // Members that cannot hold their own pages are refused elsewhere.
        most_bases: build.pages_held.saturating_sub(build.pages_per_member),
        most_copies: build.copies_held,
    };
    Ok(Box::new(Cr5m {
        stripes: MirroredStripes::new(map.stripes(), build.members),
        raid: Raid::new(map, build.page_bytes),
        rule,
        reads_copies,
        data_chips: u64::from(build.data_chips),
        mirror_chips: u64::from(build.mirror_chips),
        pages_per_chip: u64::from(build.pages_per_chip),
        credit: Credit::new(limits, build.members),
    }))
}
