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

/// A parameter of a scheme: one word out of a list.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in the configuration.
    pub name: &'static str,
    /// Allowed words; the first is the default.
    pub choices: &'static [&'static str],
    /// One sentence.
    pub about: &'static str,
}

/// What a scheme is built on.
#[derive(Clone, Debug)]
pub struct Build {
    /// Number of members of the device, at most 64.
    pub members: u16,
    /// Logical pages that each member offers (over-provisioning taken off already).
    pub pages_per_member: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Parameters given by the user; those not given take their defaults.
    pub parameters: Vec<(String, String)>,
}

impl Build {
    /// The word given for `name`, or its default. Fails on a word that is not among the choices.
    pub fn choice(&self, parameter: &Parameter) -> Result<&'static str, ParameterError> {
        let Some((_, given)) = self.parameters.iter().find(|(name, _)| name == parameter.name) else {
            return Ok(parameter.choices[0]);
        };
        parameter
            .choices
            .iter()
            .find(|choice| *choice == given)
            .copied()
            .ok_or_else(|| ParameterError(format!("{} = {given:?}: allowed are {}", parameter.name, parameter.choices.join(", "))))
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
    /// One or two sentences: the idea, and the price.
    pub about: &'static str,
    /// What it survives one failure of.
    pub protects: Protects,
    /// What it asks of the number of members, in words ("at least 3").
    pub members: &'static str,
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
];

/// The scheme called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}
