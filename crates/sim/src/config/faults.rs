//! Faults that a run injects (`fail`), and SSDs that it has replaced (`replace`): WHAT, and WHEN. docs/faults.md is the page of it.

use super::ConfigError;
use super::units::decimal;
use crate::time::{self, to_latest};
use flashraid_vocabulary::names::nearest;
use flashraid_vocabulary::{DeviceFault, Fault, Part};
use std::str::FromStr;

/// What is allowed, as help and messages say it.
pub(super) const ALLOWED: &str = "a comma-separated list of WHAT@WHEN, as in chip:0.1@50%";
/// The same of replacements.
pub(super) const REPLACEMENTS_ALLOWED: &str = "a comma-separated list of device:N@WHEN, as in device:3@50%";
/// The kinds of parts, and how many numbers each has.
const PARTS: [(&str, usize); 9] = [
    ("member", 1),
    ("channel", 1),
    ("chip", 2),
    ("die", 3),
    ("plane", 4),
    ("block", 5),
    ("wordline", 6),
    ("wordline_pair", 6),
    ("page", 6),
];
/// What fails once, in a part that its numbers name.
const ONCE: [&str; 2] = ["program", "erase"];
/// An SSD of an array, alone or before what goes wrong in it.
const DEVICE: &str = "device";
/// The NVRAM that holds deferred parities.
const PARITY_CACHE: &str = "parity-cache";
const WHAT: &str = "member:M, channel:C, chip:C.W, die:C.W.D, plane:C.W.D.P, block:C.W.D.P.B, wordline:C.W.D.P.B.L, wordline_pair:C.W.D.P.B.L, page:C.W.D.P.B.N, page:lpn=L, parity-cache, and program: or \
                    erase: followed by the numbers of a part; in an array device:N, and device:N/ followed by any of them";
const WHEN: &str = concat!(
    "a time as in 2.5s, 100ms, 7us or 9ns ",
    to_latest!(),
    ", request:N, a share of the trace as in 50%, collection, commit, rebuild:P%, replacement:P%"
);

/// What is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This SSD of an array is replaced by a spare one.
    Replace(u32),
    /// This fault, in this SSD of an array.
    Fault(DeviceFault),
    /// The page that holds the current version of a host page when it comes to that can be read no more.
    PageOf(u64),
}

/// When it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    /// At a time, in nanoseconds.
    Time(u64),
    /// When the request with this number, counted from 1, arrives.
    Request(u64),
    /// When this share of the trace's requests has arrived; above 0, at most 1.
    Share(f64),
    /// When GC first does something.
    Gc,
    /// When a commit of a deferred parity first runs.
    Commit,
    /// When a rebuild has passed this share of its stripes.
    Rebuild(f64),
    /// When a replacement has moved this share of the strips of the SSD that it replaces.
    Replacement(f64),
}

/// A fault, or a replacement, to come.
#[derive(Clone, Debug, PartialEq)]
pub struct Injection {
    /// The setting that asks for it.
    pub setting: &'static str,
    /// WHAT, as it was given.
    pub what: String,
    /// What that is.
    pub target: Target,
    /// WHEN, as it was given.
    pub when: String,
    /// What that is.
    pub trigger: Trigger,
}

impl Injection {
    /// What `fail` asks for.
    pub fn fault(text: &str) -> Result<Self, ConfigError> {
        Self::read("fail", "WHAT", text, str::parse)
    }

    /// What `replace` asks for.
    pub fn replacement(text: &str) -> Result<Self, ConfigError> {
        let device = |what: &str| what.strip_prefix("device:").and_then(|number| number.parse().ok());
        Self::read("replace", "device:N", text, |what| {
            device(what).map(Target::Replace).ok_or_else(|| ConfigError(format!("{what}: allowed is device:N, with a whole number")))
        })
    }

    fn read(
        setting: &'static str,
        form: &str,
        text: &str,
        target: impl FnOnce(&str) -> Result<Target, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let refuse = |why: String| ConfigError(format!("{setting} = {text}: {why}"));
        let Some((what, when)) = text.split_once('@') else {
            return Err(refuse(format!("has no time: allowed is {form}@WHEN, where WHEN is {WHEN}")));
        };
        let target = target(what).map_err(|ConfigError(why)| refuse(why))?;
        let trigger = when.parse().map_err(|ConfigError(why)| refuse(why))?;
        Ok(Self { setting, what: what.into(), target, when: when.into(), trigger })
    }
}

impl FromStr for Target {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        if text == PARITY_CACHE {
            return Ok(Self::Fault(Fault::ParityCache.into()));
        }
        if word == DEVICE {
            let (number, inside) = rest.split_once('/').map_or((rest, None), |(number, inside)| (number, Some(inside)));
            let device = number.parse().map_err(|_| ConfigError(format!("{text}: allowed is device:N, with a whole number")))?;
            return match inside.map_or(Ok(Self::Fault(Fault::Loss(Part::Device).into())), str::parse)? {
                Self::Fault(DeviceFault { device: None, fault: fault @ (Fault::Loss(_) | Fault::Program(_) | Fault::Erase(_)) }) => {
                    Ok(Self::Fault(DeviceFault { device: Some(device), fault }))
                }
                _ => {
                    Err(ConfigError(format!("{text}: allowed after device:{device}/ is a part of the SSD, as in device:{device}/chip:0.1")))
                }
            };
        }
        let words = || PARTS.iter().map(|(name, _)| *name).chain(ONCE).chain([PARITY_CACHE, DEVICE]);
        if !words().any(|known| known == word) {
            return Err(ConfigError(format!("unknown {word}{}; there are {WHAT}", nearest(word, words()))));
        }
        if let Some(lpn) = rest.strip_prefix("lpn=").filter(|_| word == "page") {
            let lpn = lpn.parse().map_err(|_| ConfigError(format!("{text}: allowed is page:lpn= and a whole number")))?;
            return Ok(Self::PageOf(lpn));
        }
        let numbers: Option<Vec<u32>> = rest.split('.').map(|number| number.parse().ok()).collect();
        let numbers = numbers.unwrap_or_default();
        if ONCE.contains(&word) {
            // A page is programmed once, and erased with its block.
            let part = PARTS[1..6].iter().find(|(_, count)| *count == numbers.len()).and_then(|(name, _)| part(name, &numbers));
            let part = part.ok_or_else(|| ConfigError(format!("{text}: allowed is {word}: and 1 to 5 of the numbers C.W.D.P.B")))?;
            let fault = if word == "program" { Fault::Program(part) } else { Fault::Erase(part) };
            return Ok(Self::Fault(fault.into()));
        }
        let part = part(word, &numbers).ok_or_else(|| {
            let form = WHAT.split(", ").find(|form| form.starts_with(word)).unwrap_or_default();
            ConfigError(format!("{text}: allowed is {form}, with whole numbers"))
        })?;
        Ok(Self::Fault(Fault::Loss(part).into()))
    }
}

/// The part of this kind that the numbers name.
fn part(kind: &str, numbers: &[u32]) -> Option<Part> {
    match (kind, numbers) {
        ("member", &[member]) => Some(Part::Member(member)),
        ("channel", &[channel]) => Some(Part::Channel(channel)),
        ("chip", &[channel, chip]) => Some(Part::Chip { channel, chip }),
        ("die", &[channel, chip, die]) => Some(Part::Die { channel, chip, die }),
        ("plane", &[channel, chip, die, plane]) => Some(Part::Plane { channel, chip, die, plane }),
        ("block", &[channel, chip, die, plane, block]) => Some(Part::Block { channel, chip, die, plane, block }),
        ("wordline" | "wordline_pair", &[channel, chip, die, plane, block, line]) => {
            Some(Part::WordLine { channel, chip, die, plane, block, line, and_next: kind == "wordline_pair" })
        }
        ("page", &[channel, chip, die, plane, block, page]) => Some(Part::Page { channel, chip, die, plane, block, page }),
        _ => None,
    }
}

impl FromStr for Trigger {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let refuse = |why: &str| Err(ConfigError(format!("{text}: {why}")));
        let share = |text: &str| text.strip_suffix('%').and_then(decimal).map(|percent| percent / 100.0).filter(|share| *share <= 1.0);
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            if text.ends_with('%') {
                let share = share(text).filter(|share| *share > 0.0);
                return share.map_or_else(|| refuse("allowed is a share above 0 % and at most 100 %"), |share| Ok(Self::Share(share)));
            }
            return time::parse(text).map_or_else(|| refuse(&format!("allowed is {WHEN}")), |time_ns| Ok(Self::Time(time_ns)));
        }
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        match (word, rest) {
            ("request", number) => match number.parse() {
                Ok(number) if number > 0 => Ok(Self::Request(number)),
                _ => refuse("allowed is request:N, counted from 1"),
            },
            ("rebuild", percent) => match share(percent) {
                Some(share) => Ok(Self::Rebuild(share)),
                None => refuse("allowed is rebuild:P%, from 0 % to 100 %"),
            },
            ("replacement", percent) => match share(percent) {
                Some(share) => Ok(Self::Replacement(share)),
                None => refuse("allowed is replacement:P%, from 0 % to 100 %"),
            },
            ("collection", "") => Ok(Self::Gc),
            ("commit", "") => Ok(Self::Commit),
            _ => {
                let near = nearest(word, ["request", "rebuild", "replacement", "collection", "commit"]);
                refuse(&format!("allowed is {WHEN}{near}"))
            }
        }
    }
}
