//! What a key is, and which values it takes.

use super::effect::Effect;
use super::units;
use flashraid_ftl::{ChosenPolicy, GcPolicy, policies};
use flashraid_redundancy::rebuild::ORDERS;
use flashraid_redundancy::{Before, SCHEMES};
use flashraid_workload::formats::FORMATS;
use serde_json::Value;

/// TOML and JSON readers agree on whole numbers up to here.
pub(super) const MOST: u64 = i64::MAX as u64;

/// One table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name in files and in `table.key`.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Its keys, in the order of the schema.
    pub keys: &'static [Key],
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table it belongs to.
    pub table: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Unit of the value, or empty.
    pub unit: &'static str,
    /// Default as text; `None` if it must be given.
    pub default: Option<&'static str>,
    /// Which values it takes.
    pub kind: Kind,
    /// When it has effect.
    pub effect: Effect,
    /// Which of its values torture draws, unless it has a rule for the key.
    pub draw: Draw,
    /// One sentence.
    pub about: &'static str,
    /// What a result or a drive of an older version means that lacks the key, where that is not the default; the oldest first.
    pub before: &'static [Before],
}

impl Key {
    /// Every value, if it takes the words of a closed list and no others.
    pub fn words(&self) -> Option<Vec<&'static str>> {
        match (self.table, self.name) {
            ("scheme", "name") => Some(SCHEMES.iter().map(|entry| entry.name).collect()),
            ("host", "rebuild") => Some(["auto", "none"].into_iter().chain(ORDERS.iter().map(|order| order.name)).collect()),
            ("run", "format") => Some(std::iter::once("auto").chain(FORMATS.iter().map(|format| format.name)).collect()),
            _ => self.kind.words(),
        }
    }

    /// The words that are explained, each with what it means.
    pub fn explained(&self) -> Vec<(&'static str, &'static str)> {
        match (self.table, self.name, &self.kind) {
            ("host", "rebuild", _) => ORDERS.iter().map(|order| (order.name, order.about)).collect(),
            (_, _, Kind::Word(words)) => words.to_vec(),
            (_, _, Kind::GcPolicy) => policies().map(|policy| (policy.form, policy.about)).collect(),
            _ => Vec::new(),
        }
    }

    /// The value, or `None` if it is not allowed. A number may have a unit that suits the key's.
    pub(super) fn read(&self, given: &Given) -> Option<Value> {
        let plain = |text: &str| units::plain(text, self.unit);
        match self.kind {
            Kind::Numbers { .. } => {
                let text = given.text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&given.text);
                let entries = text.split(',').map(|entry| plain(entry.trim()).unwrap_or_else(|| entry.into()));
                self.kind.read(&Given::bare(entries.collect::<Vec<_>>().join(",")))
            }
            _ => match plain(&given.text).filter(|_| !given.list) {
                Some(number) => self.kind.read(&Given::bare(number)),
                None => self.kind.read(given),
            },
        }
    }

    /// What is allowed, in words.
    pub fn allowed(&self) -> String {
        self.kind.allowed() + units::also(self.unit)
    }

    /// The same for a value that is not; of a number that is too large, with the upper bound, however far away that is.
    pub(super) fn allowed_instead(&self, given: &Given) -> String {
        match self.kind {
            Kind::Whole { min, max: max @ MOST } if given.text.starts_with(|first: char| first.is_ascii_digit()) => {
                let meaning = if self.unit == "ns" { "292 years" } else { "2^63 - 1" };
                format!("a whole number from {min} to {max} ({meaning}){}", units::also(self.unit))
            }
            _ => self.allowed(),
        }
    }
}

/// Which values of a key torture draws, each as likely.
#[derive(Clone, Copy, Debug)]
pub enum Draw {
    /// Any of its words, or `true` and `false`.
    Any,
    /// One of these; one that stands there twice is twice as likely.
    OneOf(&'static [&'static str]),
    /// None, for this reason: it would have no effect.
    Never(&'static str),
}

/// Which values a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number in a range, ends included.
    Whole {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A power of two in a range, ends included.
    PowerOfTwo {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A number.
    Real {
        /// What is allowed, in words.
        allowed: &'static str,
        /// Whether this number is.
        valid: fn(f64) -> bool,
    },
    /// `true` or `false`.
    Flag,
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// A text.
    Text {
        /// What is allowed, in words.
        allowed: &'static str,
        /// Whether this text is.
        valid: fn(&str) -> bool,
    },
    /// The name of a GC policy, with a number behind it if it takes one.
    GcPolicy,
    /// A list of numbers; as text, with commas between, and in brackets or not.
    Numbers {
        /// What is allowed, in words.
        allowed: &'static str,
        /// Whether this number is.
        valid: fn(f64) -> bool,
    },
    /// A list of texts without commas; as text, with commas between.
    List {
        /// What is allowed, in words. What of it is, the check of all settings says.
        allowed: &'static str,
    },
}

/// A whole number from `min` to `max`.
pub(super) const fn whole(min: u64, max: u64) -> Kind {
    Kind::Whole { min, max }
}

/// A value as a source gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// The value as text.
    pub text: String,
    /// Whether the source said that it is a text (a quoted string in TOML or JSON), which is not taken for a number.
    pub quoted: bool,
    /// Whether the source said that it is a list; `text` has commas between its entries.
    pub list: bool,
}

impl Given {
    /// A value that may be anything, as `--set` gives it.
    pub fn bare(text: impl Into<String>) -> Self {
        Self { text: text.into(), quoted: false, list: false }
    }

    /// A text that the source said to be one.
    pub fn quoted(text: impl Into<String>) -> Self {
        Self { text: text.into(), quoted: true, list: false }
    }

    /// A list of texts.
    pub fn list(entries: &[String]) -> Self {
        Self { text: entries.join(","), quoted: true, list: true }
    }

    /// The value as messages show it.
    pub fn shown(&self) -> String {
        if self.list {
            format!("[{}]", self.text)
        } else if self.quoted {
            format!("{:?}", self.text)
        } else {
            self.text.clone()
        }
    }
}

impl Kind {
    /// The value, or `None` if it is not allowed.
    pub(super) fn read(&self, given: &Given) -> Option<Value> {
        let text = given.text.as_str();
        let number = if given.quoted { None } else { Some(text) };
        if given.list && !matches!(self, Kind::List { .. }) {
            return None;
        }
        match *self {
            Kind::Whole { min, max } => number?.parse().ok().filter(|n| (min..=max).contains(n)).map(Value::from),
            Kind::PowerOfTwo { min, max } => {
                number?.parse().ok().filter(|n: &u64| (min..=max).contains(n) && n.is_power_of_two()).map(Value::from)
            }
            Kind::Real { valid, .. } => number?.parse().ok().filter(|n| valid(*n)).map(Value::from),
            Kind::Flag => number?.parse().ok().map(Value::Bool),
            Kind::Word(words) => words.iter().any(|(word, _)| *word == text).then(|| Value::from(text)),
            Kind::Text { valid, .. } => valid(text).then(|| Value::from(text)),
            Kind::GcPolicy => ChosenPolicy::of(text).map(|_| Value::from(text)),
            Kind::Numbers { valid, .. } => {
                let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
                entries.map(|entry| entry.parse().ok().filter(|number| valid(*number)).map(Value::from)).collect()
            }
            Kind::List { .. } => Some(text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(Value::from).collect()),
        }
    }

    /// Every value, if it takes the words of a closed list and no others: of a text, if what is allowed is such a list.
    fn words(&self) -> Option<Vec<&'static str>> {
        match *self {
            Kind::Word(words) => Some(words.iter().map(|(word, _)| *word).collect()),
            Kind::Text { allowed, valid } => {
                let words: Vec<_> = allowed.split(", ").collect();
                (words.len() > 1 && words.iter().all(|word| !word.contains(' ') && valid(word))).then_some(words)
            }
            _ => None,
        }
    }

    /// What is allowed, in words.
    pub fn allowed(&self) -> String {
        match *self {
            Kind::Whole { min, max: MOST } => format!("a whole number from {min}"),
            Kind::Whole { min, max } => format!("a whole number from {min} to {max}"),
            Kind::PowerOfTwo { min, max } => format!("a power of two from {min} to {max}"),
            Kind::Real { allowed, .. } | Kind::Numbers { allowed, .. } | Kind::Text { allowed, .. } | Kind::List { allowed } => {
                allowed.into()
            }
            Kind::Flag => "true or false".into(),
            Kind::GcPolicy => {
                let most = |policy: &GcPolicy| policy.most.map(|most| format!("{} with K from 1 to {most}", policy.form));
                policies().map(|policy| most(policy).unwrap_or_else(|| policy.form.into())).collect::<Vec<_>>().join(", ")
            }
            Kind::Word(words) => words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
        }
    }
}
