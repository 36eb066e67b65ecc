//! Stripes with uneven parity, as users ask for them (SPEC 5.4).

use crate::stripe_map::table::{Table, Widths};
use crate::{Build, Draws, Parameter, ParameterError, Percentages, Values};
use std::sync::{Mutex, PoisonError};

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

/// What a table of stripes is made of, and the table.
type Made = ((u16, Vec<u16>, u32, Percentages, Widths), Table);

/// The table made last: those of a large drive take a tenth of a second, and a search makes the same one for each look at a configuration.
static LATEST: Mutex<Option<Made>> = Mutex::new(None);

/// The table of stripes that the user asked for.
pub fn table(build: &Build) -> Result<Table, ParameterError> {
    let shares = build.percentages(&PARITY_SHARES)?;
    let full = u32::from(build.members) - 1;
    let widths = Widths { full, partial: full - 1, partial_share: build.thousandths(&PARTIAL_STRIPES)? };
    let of = (build.members + build.spares, build.by_age(), build.pages_per_member, shares, widths);
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((made_of, table)) = &*latest
        && *made_of == of
    {
        return Ok(table.clone());
    }
    let (members, eldest_first, stripes, shares, widths) = &of;
    let table = Table::new(*members, eldest_first, *stripes, shares, *widths);
    *latest = Some((of, table.clone()));
    Ok(table)
}
