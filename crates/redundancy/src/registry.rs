//! The one list of schemes. The command's help, configuration checks, Python, the docs table and the test matrix read it.

use crate::Scheme;
use std::fmt;

/// What a scheme survives one failure of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protects {
    /// Nothing.
    None,
    /// One chip.
    Chip,
    /// One channel.
    Channel,
    /// One member, whatever the device configures as member.
    Member,
}

impl Protects {
    /// The word used in results and tables.
    pub fn name(self) -> &'static str {
        match self {
            Protects::None => "none",
            Protects::Chip => "chip",
            Protects::Channel => "channel",
            Protects::Member => "member",
        }
    }
}

/// What a scheme keeps beside the data, and so what a lost page is rebuilt from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// Nothing.
    None,
    /// Other copies of each page.
    Copies,
    /// The parity of each stripe; of some strips a copy too, if it has mirror chips.
    Parity,
}

/// Which values a parameter takes, and the one taken if none is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these words; the first is the default.
    Words(&'static [&'static str]),
    /// A whole number, bounds included.
    Whole {
        /// Smallest.
        least: u32,
        /// Largest.
        most: u32,
        /// Taken if none is given.
        default: u32,
    },
    /// A decimal number with at most three places, bounds included. All three are thousandths, so that rules compare it exactly.
    Decimal {
        /// Smallest.
        least: u32,
        /// Largest.
        most: u32,
        /// Taken if none is given.
        default: u32,
    },
}

impl Values {
    /// The default, as text.
    pub fn default_text(&self) -> String {
        match *self {
            Values::Words(words) => words[0].into(),
            Values::Whole { default, .. } => default.to_string(),
            Values::Decimal { default, .. } => decimal_text(default),
        }
    }

    /// What is allowed, in words.
    pub fn allowed(&self) -> String {
        match *self {
            Values::Words(words) => words.join(", "),
            Values::Whole { least, most, .. } => format!("a whole number from {least} to {most}"),
            Values::Decimal { least, most, .. } => {
                format!("a number from {} to {} with at most 3 decimal places", decimal_text(least), decimal_text(most))
            }
        }
    }

    /// Whether `text` is one of them.
    pub fn allows(&self, text: &str) -> bool {
        match *self {
            Values::Words(words) => words.contains(&text),
            Values::Whole { least, most, .. } => whole(text).is_some_and(|number| (least..=most).contains(&number)),
            Values::Decimal { least, most, .. } => thousandths(text).is_some_and(|number| (least..=most).contains(&number)),
        }
    }
}

/// A whole number without sign.
fn whole(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A plain decimal number, in thousandths. Further places must be zeroes, as it is kept exactly.
fn thousandths(text: &str) -> Option<u32> {
    let (ones, places) = text.split_once('.').unwrap_or((text, "0"));
    if ones.is_empty() || places.is_empty() || !places.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let places = format!("{:0<3}", places.trim_end_matches('0'));
    if places.len() > 3 {
        return None;
    }
    whole(ones)?.checked_mul(1000)?.checked_add(whole(&places)?)
}

fn decimal_text(thousandths: u32) -> String {
    match thousandths % 1000 {
        0 => (thousandths / 1000).to_string(),
        places => format!("{}.{places:03}", thousandths / 1000).trim_end_matches('0').into(),
    }
}

/// A parameter of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in the configuration.
    pub name: &'static str,
    /// Unit of a number, or empty.
    pub unit: &'static str,
    /// Which values it takes.
    pub values: Values,
    /// What it needs to have effect in any run: in words, and whether it is so. `None`: it has, whatever else is chosen.
    pub needs: Option<(&'static str, Condition)>,
    /// Whether it says what becomes of pages that GC meets: without any it has no effect.
    pub only_in_gc: bool,
    /// One sentence.
    pub about: &'static str,
}

/// A condition on what a scheme is built on.
pub type Condition = fn(&Build) -> bool;

/// What a scheme is built on.
#[derive(Clone, Debug)]
pub struct Build {
    /// Number of members of the device, at most 64.
    pub members: u16,
    /// Logical pages that each member offers (over-provisioning taken off already).
    pub pages_per_member: u32,
    /// Data chips of each member: all of its chips but mirror chips.
    pub data_chips: u32,
    /// Mirror chips of each member.
    pub mirror_chips: u32,
    /// Physical pages of a chip.
    pub pages_per_chip: u32,
    /// Page versions that the data chips of a member can hold at once and still be collected; at least `pages_per_member`.
    pub pages_held: u32,
    /// The same of the mirror chips of a member; 0 if it has none.
    pub copies_held: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Parameters given by the user; those not given take their defaults.
    pub parameters: Vec<(String, String)>,
}

impl Build {
    /// The word given for a parameter of words, or its default. Fails on a word that is not among them.
    pub fn choice(&self, parameter: &Parameter) -> Result<&'static str, ParameterError> {
        let Values::Words(words) = parameter.values else { unreachable!("{} takes no words", parameter.name) };
        let text = self.text(parameter)?;
        Ok(words.iter().find(|word| **word == text).expect("an allowed word"))
    }

    /// The number given for a parameter of whole numbers, or its default. Fails outside its bounds.
    pub fn whole(&self, parameter: &Parameter) -> Result<u32, ParameterError> {
        debug_assert!(matches!(parameter.values, Values::Whole { .. }), "{} takes no whole numbers", parameter.name);
        Ok(whole(&self.text(parameter)?).expect("an allowed number"))
    }

    /// The number given for a parameter of decimal numbers, or its default, in thousandths. Fails outside its bounds.
    pub fn thousandths(&self, parameter: &Parameter) -> Result<u32, ParameterError> {
        debug_assert!(matches!(parameter.values, Values::Decimal { .. }), "{} takes no decimal numbers", parameter.name);
        Ok(thousandths(&self.text(parameter)?).expect("an allowed number"))
    }

    /// What was given for the parameter, or its default; allowed.
    fn text(&self, parameter: &Parameter) -> Result<String, ParameterError> {
        let Parameter { name, values, .. } = parameter;
        match self.parameters.iter().find(|(given, _)| given == name) {
            None => Ok(values.default_text()),
            Some((_, given)) if values.allows(given) => Ok(given.clone()),
            Some((_, given)) => Err(ParameterError(format!("{name} = {given}: allowed is {}", values.allowed()))),
        }
    }
}

/// A configuration that makes no sense for a scheme; the text says what and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError(pub String);

impl fmt::Display for ParameterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ParameterError {}

/// One scheme.
pub struct Entry {
    /// The key used everywhere.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// One or two sentences: the idea, and the overhead.
    pub about: &'static str,
    /// What it survives one failure of.
    pub protects: Protects,
    /// Whether there are times when it does not, as it creates redundancy later: then verification finds pages that a failure would take, and
    /// torture reports it.
    pub has_window: bool,
    /// By what.
    pub redundancy: Redundancy,
    /// What it asks of the number of members, in words ("at least 3").
    pub members: &'static str,
    /// Chips of each channel that it uses as mirror chips.
    pub mirror_chips: u32,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Builds it, or says why this configuration makes no sense.
    pub build: fn(&Build) -> Result<Box<dyn Scheme>, ParameterError>,
}

/// Every scheme, one a line.
#[rustfmt::skip]
pub const SCHEMES: &[Entry] = &[
    crate::schemes::raid0::ENTRY,
    crate::schemes::raid1::ENTRY,
    crate::schemes::raid4::ENTRY,
    crate::schemes::raid5::ENTRY,
    crate::schemes::sirf1::ENTRY,
    crate::schemes::cr5m::ENTRY,
    crate::schemes::no_pc::ENTRY,
    crate::schemes::fpc::ENTRY,
    crate::schemes::ppc::PPC,
    crate::schemes::ppc::CA_PPC,
    crate::schemes::fra::ENTRY,
];

/// The scheme called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_numbers_are_exact_thousandths() {
        let read = ["0", "1.1", "1.100", "12.345000", "0.001", "4294967.295"].map(thousandths);
        assert_eq!(read, [Some(0), Some(1100), Some(1100), Some(12_345), Some(1), Some(u32::MAX)]);
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1.1.1", "1.0005", "4294967.296", "nan", " 1", "1,1"] {
            assert_eq!(thousandths(text), None, "{text}");
        }
        for number in [0, 1, 10, 100, 1000, 1100, 12_345, u32::MAX] {
            assert_eq!(thousandths(&decimal_text(number)), Some(number));
        }
        assert_eq!([0, 1100, 2005, 3000].map(decimal_text), ["0", "1.1", "2.005", "3"]);
    }

    #[test]
    fn values_are_read_within_their_bounds() {
        let parameter = |name, values| Parameter { name, unit: "", values, needs: None, only_in_gc: false, about: "" };
        let words = parameter("w", Values::Words(&["a", "b"]));
        let number = parameter("n", Values::Whole { least: 1, most: 64, default: 2 });
        let limit = parameter("l", Values::Decimal { least: 0, most: 1_000_000, default: 1100 });
        let build = |given: &[(&str, &str)]| Build {
            members: 1,
            pages_per_member: 1,
            data_chips: 1,
            mirror_chips: 0,
            pages_per_chip: 1,
            pages_held: 1,
            copies_held: 0,
            page_bytes: 512,
            parameters: given.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect(),
        };
        let defaults = build(&[]);
        assert_eq!((defaults.choice(&words), defaults.whole(&number), defaults.thousandths(&limit)), (Ok("a"), Ok(2), Ok(1100)));
        let given = build(&[("l", "1000"), ("n", "64"), ("w", "b")]);
        assert_eq!((given.choice(&words), given.whole(&number), given.thousandths(&limit)), (Ok("b"), Ok(64), Ok(1_000_000)));
        let refused = build(&[("l", "1000.001"), ("n", "0"), ("w", "c")]);
        let text = |error: ParameterError| error.0;
        assert_eq!(refused.choice(&words).map_err(text), Err("w = c: allowed is a, b".into()));
        assert_eq!(refused.whole(&number).map_err(text), Err("n = 0: allowed is a whole number from 1 to 64".into()));
        let bounds = "l = 1000.001: allowed is a number from 0 to 1000 with at most 3 decimal places";
        assert_eq!(refused.thousandths(&limit).map_err(text), Err(bounds.into()));
    }

    #[test]
    fn every_default_is_allowed() {
        for parameter in SCHEMES.iter().flat_map(|entry| entry.parameters) {
            assert!(parameter.values.allows(&parameter.values.default_text()), "{}", parameter.name);
        }
    }
}
