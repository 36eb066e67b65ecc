//! Stripes with uneven parity, as users ask for them (SPEC 5.4).

use crate::stripe_map::table::{Table, Widths};
use crate::{Build, Draws, Parameter, ParameterError, Values};

/// Shares of the parity by age.
pub const PARITY_SHARES: Parameter = Parameter {
    name: "parity_shares",
    values: Values::Percentages { default: "80" },
    draws: Draws::OneOf(&["80", "100", "50,30", "0"]),
    about: "Percentage of the parity that each member holds, the eldest member first, as in 80,5,5,5,5. Members that are not listed divide what is left \
            evenly.",
    ..Parameter::PLAIN
};

/// How many stripes are partial.
pub const PARTIAL_STRIPES: Parameter = Parameter {
    name: "partial_stripes",
    unit: "share",
    values: Values::Decimal { least: 0, most: 1000, default: 0 },
    draws: Draws::OneOf(&["0", "0", "0.3", "1"]),
    about: "Share of the stripes that are partial: they lie on one member fewer than there are.",
    ..Parameter::PLAIN
};

/// What a drive keeps of a table (`Entry::drive_format`): the second format has stripes that are not created.
pub const DRIVE_FORMAT: u64 = 2;

/// The table of stripes that the user asked for.
pub fn table(build: &Build) -> Result<Table, ParameterError> {
    let shares = build.percentages(&PARITY_SHARES)?;
    let full = u32::from(build.members) - 1;
    let widths = Widths { full, partial: full - 1, partial_share: build.thousandths(&PARTIAL_STRIPES)? };
    Ok(Table::new(build.members + build.spares, &build.by_age(), build.pages_per_member, &shares, widths))
}
