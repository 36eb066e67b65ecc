//! Times of a simulation: how late they may be, how options say them, and how the speed and the jitter of a replay change them.
//!
//! They are whole nanoseconds from the start, and end where those of traces do, at 2^63: with 64 bits, what an operation adds to the
//! latest of them never overflows.

use flashraid_vocabulary::SplitMix64;

/// The latest time that a simulation may reach: 292 years.
pub const LATEST_NS: u64 = i64::MAX as u64;

/// How messages say `LATEST_NS`.
macro_rules! to_latest {
    () => {
        "up to 9223372036s (292 years)"
    };
}
pub(crate) use to_latest;

/// The units in which options say a time, in nanoseconds.
const UNITS: [(&str, u128); 6] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000), ("h", 3_600_000_000_000)];

/// A decimal number with a unit, exact to the nanosecond: `None` for what is no such time, finer than that, or beyond `LATEST_NS`.
pub fn parse(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    let (_, unit_ns) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits = fraction.trim_end_matches('0');
    let scale = 10u128.checked_pow(digits.len().try_into().ok()?)?;
    let scaled_ns = format!("{whole}{digits}").parse::<u128>().ok()?.checked_mul(unit_ns)?;
    u64::try_from(scaled_ns / scale).ok().filter(|time_ns| scaled_ns.is_multiple_of(scale) && *time_ns <= LATEST_NS)
}

/// The speed of a replay as the decimal fraction that was given: binary fractions of seconds are off by nanoseconds after some months.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    numerator: u128,
    denominator: u128,
}

impl Speed {
    /// A speed above 0.
    pub fn new(speed: f64) -> Self {
        // The shortest decimal number that is this one: at most 17 digits, so a product that overflows is beyond every time.
        let text = format!("{speed:e}");
        let (digits, exponent) = text.split_once('e').expect("a mantissa and an exponent");
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let digits: u128 = digits.replace('.', "").parse().expect("decimal digits");
        let exponent = exponent.parse::<i32>().expect("a whole number") - decimals;
        let power = 10u128.checked_pow(exponent.unsigned_abs()).unwrap_or(u128::MAX);
        if exponent < 0 {
            Self { numerator: digits, denominator: power }
        } else {
            Self { numerator: digits.saturating_mul(power), denominator: 1 }
        }
    }

    /// The time to which a recorded one comes, rounded down; `None` if that is beyond `LATEST_NS`.
    pub fn scaled(self, recorded_ns: u64) -> Option<u64> {
        let time_ns = u128::from(recorded_ns).checked_mul(self.denominator)? / self.numerator;
        u64::try_from(time_ns).ok().filter(|time_ns| *time_ns <= LATEST_NS)
    }
}

/// Arrivals that are put off at random. Time stamps of a trace are as coarse as its clock, and a queue may turn on less than that.
pub struct Jitter {
    most_ns: u64,
    random: SplitMix64,
    last_ns: u64,
}

impl Jitter {
    /// Delays from 0 to this, drawn with a seed.
    pub fn new(most_ns: u64, seed: u64) -> Self {
        Self { most_ns, random: SplitMix64::named(seed, "jitter"), last_ns: 0 }
    }

    /// When the next request arrives, which is no earlier than the one before; `None` if that is beyond `LATEST_NS`.
    pub fn delayed(&mut self, arrival_ns: u64) -> Option<u64> {
        let own_ns = arrival_ns + self.random.next_below(self.most_ns + 1);
        self.last_ns = self.last_ns.max(own_ns);
        (self.last_ns <= LATEST_NS).then_some(self.last_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::{Jitter, LATEST_NS, Speed, parse};

    #[test]
    fn delays_are_uniform_and_keep_the_order() {
        let (mut jitter, mut same, mut other) = (Jitter::new(999, 7), Jitter::new(999, 7), Jitter::new(999, 8));
        let (mut total_ns, mut equal) = (0, 0);
        for number in 0..10_000 {
            let arrival_ns = number * 1000;
            let delayed_ns = jitter.delayed(arrival_ns).unwrap();
            assert!((arrival_ns..arrival_ns + 1000).contains(&delayed_ns));
            assert_eq!(same.delayed(arrival_ns), Some(delayed_ns));
            equal += u32::from(other.delayed(arrival_ns) == Some(delayed_ns));
            total_ns += delayed_ns - arrival_ns;
        }
        // Of the sum, 28,900 ns is the standard error.
        assert!((4_900_000..5_090_000).contains(&total_ns) && equal < 40, "{total_ns} {equal}");
        // Closer than the delays: what comes first stays first.
        let mut jitter = Jitter::new(1_000_000, 7);
        let delayed_ns: Vec<u64> = (0..1000).map(|number| jitter.delayed(number).unwrap()).collect();
        assert!(delayed_ns.is_sorted() && delayed_ns[999] > 990_000);
        assert_eq!(Jitter::new(0, 7).delayed(LATEST_NS), Some(LATEST_NS));
        assert_eq!(Jitter::new(LATEST_NS, 7).delayed(LATEST_NS), None);
    }

    #[test]
    fn times_are_exact_or_refused() {
        let good = [
            ("0s", 0),
            ("1ns", 1),
            ("1.5us", 1500),
            ("100ms", 100_000_000),
            ("1.000000001s", 1_000_000_001),
            ("2.50ms", 2_500_000),
            ("9007199254740993ns", (1 << 53) + 1),
            ("9007199.254740993s", (1 << 53) + 1),
            ("9223372036.854775807s", LATEST_NS),
            ("1.5min", 90_000_000_000),
            ("0.25h", 900_000_000_000),
            ("2562047h", 2_562_047 * 3_600_000_000_000),
        ];
        for (text, expected) in good {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "1",
            "s",
            ".5s",
            "1.s",
            "1.5ns",
            "0.0000000001s",
            "1m",
            "-1s",
            "1e3s",
            "1..2s",
            "99999999999s",
            "1 s",
            "1.2.3s",
            "2562048h",
            "300y",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("9223372036.854775808s"), None);
        assert_eq!(to_latest!(), format!("up to {}s (292 years)", LATEST_NS / 1_000_000_000));
    }

    #[test]
    fn speeds_are_the_decimal_numbers_that_were_given() {
        for (speed, recorded_ns, expected) in [
            (1.0, LATEST_NS, Some(LATEST_NS)),
            (2.0, LATEST_NS, Some(LATEST_NS / 2)),
            (0.5, 7, Some(14)),
            (0.5, LATEST_NS, None),
            // The quotient of the binary fractions is 69.99999999999999.
            (0.7, 49, Some(70)),
            (0.1, (1 << 53) + 1, Some(((1 << 53) + 1) * 10)),
            (3.0, (1 << 62) + 1, Some(((1 << 62) + 1) / 3)),
            (1.25, 1_000_000_000_000_000_001, Some(800_000_000_000_000_000)),
            (1e-300, 0, Some(0)),
            (1e-300, 1, None),
            (5e-324, LATEST_NS, None),
            (1e-9, 9_223_372_036, Some(9_223_372_036_000_000_000)),
            (1e-9, 9_223_372_037, None),
            (1.7976931348623157e308, LATEST_NS, Some(0)),
            (1e19, LATEST_NS, Some(0)),
        ] {
            assert_eq!(Speed::new(speed).scaled(recorded_ns), expected, "{recorded_ns} ns at {speed}");
        }
    }
}
