//! Numbers with units, as people write them: sizes, times and percentages. The unit of a key says which of them it takes.

use crate::time;

/// What a key that takes texts with units measures.
enum Quantity {
    Size,
    Time,
    Share,
}

fn quantity(unit_of_key: &str) -> Option<Quantity> {
    match unit_of_key {
        "bytes" | "bytes/GiB" | "bytes/s" => Some(Quantity::Size),
        "ns" => Some(Quantity::Time),
        "share" => Some(Quantity::Share),
        _ => None,
    }
}

/// Whether a key of this unit takes texts with units, as in 16KiB, beside plain numbers.
pub fn takes_units(unit_of_key: &str) -> bool {
    quantity(unit_of_key).is_some()
}

/// Sizes in bytes.
const SIZES: [(&str, u128); 13] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("EiB", 1 << 60),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("EB", 1_000_000_000_000_000_000),
];

/// The plain number that a text with a unit stands for in a key of this unit; `None` if it is no such text. Exact: 1.5KiB is 1536, 12.5% is 0.125,
/// and 0.1KiB is no whole number of bytes.
pub(super) fn plain(text: &str, unit_of_key: &str) -> Option<String> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = (&text[..end], text[end..].strip_prefix(' ').unwrap_or(&text[end..]));
    let (ones, places) = number.split_once('.').unwrap_or((number, ""));
    if ones.is_empty() || number.ends_with('.') || places.contains('.') {
        return None;
    }
    match quantity(unit_of_key)? {
        Quantity::Share => return (unit == "%").then(|| percent(ones, places)),
        Quantity::Time => return time::parse(&format!("{number}{unit}")).map(|time_ns| time_ns.to_string()),
        Quantity::Size => {}
    }
    let factor = SIZES.iter().find(|(name, _)| *name == unit)?.1;
    let scale = 10u128.checked_pow(places.len().try_into().ok()?)?;
    let units = format!("{ones}{places}").parse::<u128>().ok()?.checked_mul(factor)?;
    units.is_multiple_of(scale).then(|| (units / scale).to_string())
}

/// A percentage as a decimal number: two places to the left.
fn percent(ones: &str, places: &str) -> String {
    let ones = format!("{ones:0>3}");
    let (left, right) = ones.split_at(ones.len() - 2);
    format!("{left}.{right}{places}")
}

/// What a key of this unit takes beside plain numbers, to be said behind what is allowed.
pub(crate) fn also(unit_of_key: &str) -> &'static str {
    match quantity(unit_of_key) {
        Some(Quantity::Size) => ", also with a unit as in 16KiB or 16GiB",
        Some(Quantity::Time) => ", also with a unit as in 20us",
        Some(Quantity::Share) => ", also as in 50%",
        None => "",
    }
}

/// A plain decimal number without sign or exponent (which excludes infinities and the like).
pub(super) fn decimal(text: &str) -> Option<f64> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    if plain { text.parse().ok() } else { None }
}

/// A share of `whole`, rounded down and rounded up. Shares are taken to a millionth of a percent: as products of binary fractions 7 % of 100 would be
/// a little more than 7, and 57 % a little less than 57.
pub(crate) fn share_of(share: f64, whole: u64) -> (u64, u64) {
    const ALL: u128 = 100_000_000;
    let product = u128::from(whole) * (share * ALL as f64).round() as u128;
    ((product / ALL) as u64, product.div_ceil(ALL) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_exact() {
        let cases = [
            ("16KiB", "bytes", Some("16384")),
            ("1.5 KiB", "bytes", Some("1536")),
            ("0.5kB", "bytes/GiB", Some("500")),
            ("200MB", "bytes/s", Some("200000000")),
            ("2TiB", "bytes", Some("2199023255552")),
            ("0.1KiB", "bytes", None),
            ("16K", "bytes", None),
            ("16kib", "bytes", None),
            ("-1KiB", "bytes", None),
            ("1.KiB", "bytes", None),
            (".5KiB", "bytes", None),
            ("1.2.3KiB", "bytes", None),
            ("16  KiB", "bytes", None),
            ("340282366920938463463374607431768211455TiB", "bytes", None),
            ("16384", "bytes", None),
            ("20us", "ns", Some("20000")),
            ("1.5ms", "ns", Some("1500000")),
            ("1.5ns", "ns", None),
            ("50%", "share", Some("0.50")),
            ("12.345 %", "share", Some("0.12345")),
            ("100%", "share", Some("1.00")),
            ("0.5%", "share", Some("0.005")),
            ("50%", "bytes", None),
            ("20us", "", None),
        ];
        for (text, unit, expected) in cases {
            assert_eq!(plain(text, unit).as_deref(), expected, "{text} {unit}");
        }
    }
}
