//! What each scheme states of itself ([`Entry`]): its name, its parameters, and what it is capable of. Configuration checks, help, documents, torture and the
//! test matrices derive everything from it; `schemes::SCHEMES` is the list.

use crate::before::Before;
use crate::error::ParameterError;
use crate::protects::Protects;
use crate::{Percentages, Scheme};
use flashraid_vocabulary::SemivalidAction;

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
    /// Percentages of a whole, one for each member, separated by commas; members that are not listed divide what is left evenly.
    Percentages {
        /// Taken if none is given.
        default: &'static str,
    },
}

impl Values {
    /// The default, as text.
    pub fn default_text(&self) -> String {
        match *self {
            Values::Words(words) => words[0].into(),
            Values::Whole { default, .. } => default.to_string(),
            Values::Decimal { default, .. } => decimal_text(default),
            Values::Percentages { default } => default.into(),
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
            Values::Percentages { .. } => {
                "percentages with at most 3 decimal places, separated by commas, that add up to at most 100".into()
            }
        }
    }

    /// Whether `text` is one of them.
    pub fn allows(&self, text: &str) -> bool {
        match *self {
            Values::Words(words) => words.contains(&text),
            Values::Whole { least, most, .. } => whole(text).is_some_and(|number| (least..=most).contains(&number)),
            Values::Decimal { least, most, .. } => thousandths(text).is_some_and(|number| (least..=most).contains(&number)),
            Values::Percentages { .. } => listed(text).is_some(),
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

/// Percentages that a text lists, in thousandths of a percent, if they are some of a whole.
fn listed(text: &str) -> Option<Vec<u32>> {
    let shares: Vec<u32> = text.split(',').map(|share| thousandths(share.trim())).collect::<Option<_>>()?;
    let sum: u64 = shares.iter().map(|share| u64::from(*share)).sum();
    (sum <= Percentages::WHOLE.into()).then_some(shares)
}

fn decimal_text(thousandths: u32) -> String {
    match thousandths % 1000 {
        0 => (thousandths / 1000).to_string(),
        places => format!("{}.{places:03}", thousandths / 1000).trim_end_matches('0').into(),
    }
}

/// Which values torture draws for a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Draws {
    /// Each of its words is as likely.
    Words,
    /// Each of these is as likely; one that stands there twice is twice as likely.
    OneOf(&'static [&'static str]),
    /// Bytes that hold one of these numbers of pages, each as likely.
    Pages(&'static [u64]),
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
    /// It decides only how requests are served: a device that is filled is the same, whatever its value.
    pub runtime: bool,
    /// Which values torture draws: those that lead to different states of a small device.
    pub draws: Draws,
    /// What a result or a drive of an older version means that lacks the parameter, where that is not the default; the oldest first.
    pub before: &'static [Before],
    /// One sentence.
    pub about: &'static str,
}

impl Parameter {
    /// What parameters have in common unless they state otherwise. Each states its name, its values and its sentence.
    pub const PLAIN: Self =
        Self { name: "", unit: "", values: Values::Words(&[]), needs: None, runtime: false, draws: Draws::Words, before: &[], about: "" };

    /// The values that torture draws on pages of `page_bytes` bytes, each as likely.
    pub fn drawn(&self, page_bytes: u32) -> Vec<String> {
        match (self.draws, self.values) {
            (Draws::Words, Values::Words(words)) | (Draws::OneOf(words), _) => words.iter().map(|word| word.to_string()).collect(),
            (Draws::Words, _) => unreachable!("{} has no words", self.name),
            (Draws::Pages(counts), _) => counts.iter().map(|pages| (pages * u64::from(page_bytes)).to_string()).collect(),
        }
    }
}

/// One word of a parameter, where more than the scheme itself depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The parameter.
    pub parameter: &'static Parameter,
    /// The word.
    pub word: &'static str,
}

/// What GC does about superseded versions that the parity on flash still covers (bases).
#[derive(Clone, Copy, Debug)]
pub enum Bases {
    /// Always this.
    Always(SemivalidAction),
    /// With this choice it moves them, with any other it has their stripes committed first.
    MovedWith(Choice),
}

/// A condition on what a scheme is built on.
pub type Condition = fn(&Build) -> bool;

/// What a scheme is built on.
#[derive(Clone, Debug)]
pub struct Build {
    /// Number of members of the device, at most [`Members::MOST`].
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
    /// Pages of a chunk: where the parity moves, it does after as many stripes.
    pub chunk_pages: u32,
    /// Spare SSDs of an array: members of a scheme that replaces SSDs itself ([`Entry::replaces_devices`]), behind the others.
    pub spares: u16,
    /// SSDs of an array, the eldest first; empty if they are equally old.
    pub eldest_first: Vec<u16>,
    /// Time without a page operation of the host after which an SSD counts as idle.
    pub idle_ns: u64,
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

    /// The members that are SSDs of the array from the beginning, the eldest first.
    pub fn by_age(&self) -> Vec<u16> {
        if self.eldest_first.is_empty() { (0..self.members).collect() } else { self.eldest_first.clone() }
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

    /// What a parameter that takes percentages is for each member.
    pub fn percentages(&self, parameter: &Parameter) -> Result<Percentages, ParameterError> {
        let (name, text, members) = (parameter.name, self.text(parameter)?, usize::from(self.members));
        let mut shares = listed(&text).expect("allowed percentages");
        let (count, left) = (shares.len(), Percentages::WHOLE - shares.iter().sum::<u32>());
        if count > members || count == members && left > 0 {
            let why = format!("allowed are at most {members}, one for each member, which add up to 100 if there are as many");
            return Err(ParameterError(format!("{name} = {text}: {why}")));
        }
        let others = (members - count) as u32;
        // What cannot be divided evenly goes to the first.
        shares.extend((0..others).map(|other| left / others + u32::from(other < left % others)));
        Ok(Percentages::new(shares))
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

/// How many members a scheme works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// Fewest.
    pub least: u16,
    /// Most.
    pub most: u16,
    /// The number must be a multiple of this one; 1 if any number will do.
    pub multiple_of: u16,
}

impl Members {
    /// Most members that a device may have: strips and members are sets of 64 bits.
    pub const MOST: u16 = 64;
    /// Most members of a scheme that has two page operations for each strip in one wave, which holds 64 of them.
    pub const MOST_WITH_PAIRS: u16 = Self::MOST / 2;

    /// Any number from `least` on.
    pub const fn from(least: u16) -> Self {
        Self { least, most: Self::MOST, multiple_of: 1 }
    }

    /// The numbers of members on which the scheme works with this many mirror groups (1 if it has none), the fewest first.
    pub fn legal(self, groups: u16) -> impl Iterator<Item = u16> {
        let Self { least, most, multiple_of } = self;
        (least..=most).filter(move |members| members.is_multiple_of(multiple_of) && members.is_multiple_of(groups))
    }
}

/// What a scheme has a write buffer in NVRAM for (`nvram_buffer_bytes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBuffer {
    /// Nothing: its paper knows none.
    Unused,
    /// Its paper measures it behind one; it works without.
    Usual,
    /// Without one it is no scheme of its own. The text goes on after "NAME without a write buffer in NVRAM".
    Needed(&'static str),
}

/// One scheme.
#[derive(Debug)]
pub struct Entry {
    /// The key used everywhere.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// One or two sentences: the idea, and the overhead.
    pub about: &'static str,
    /// What it survives failures of.
    pub protects: Protects,
    /// How many such failures at once, if any ([`Self::survives_failures`]).
    pub failures: u32,
    /// Whether there are times when it does not, as it creates redundancy later: then verification finds pages that a failure would take, and
    /// torture reports it.
    pub has_window: bool,
    /// By what.
    pub redundancy: Redundancy,
    /// How many members it works on.
    pub members: Members,
    /// Chips of each channel that it uses as mirror chips.
    pub mirror_chips: u32,
    /// The parameter that says into how many groups of equally many neighboring members it divides the device, if its layout names the group of each
    /// copy and leaves it to the FTL where in the group the copy goes. The number of members must be a multiple of it.
    pub mirror_groups: Option<&'static Parameter>,
    /// Whether it replaces SSDs of an array itself: then it needs an array, and spare SSDs are members of its own.
    pub replaces_devices: bool,
    /// Whether it can have chunks of several pages: where shares say on which member the parity of each stripe is, rows of them would not be alike.
    pub has_chunks: bool,
    /// Whether it takes an SSD out at once that it replaces: until the end of the replacement the array survives no failure (SPEC 5.8).
    pub takes_devices_out: bool,
    /// Whether host requests wait while it replaces an SSD (SPEC 5.9).
    pub holds_host: bool,
    /// With which choice a replaced SSD stays for reads, as a shadow that protects nothing, if that can be chosen (SPEC 5.10).
    pub keeps_shadows: Option<Choice>,
    /// With which choice it coordinates GC in the SSDs of an array with migration, if that can be chosen.
    pub coordinates_gc: Option<Choice>,
    /// What it has a write buffer in NVRAM for.
    pub write_buffer: WriteBuffer,
    /// The parameter that says how many bytes of NVRAM it has for deferred parities, if it defers parities in NVRAM.
    pub parity_cache: Option<&'static Parameter>,
    /// What GC does about superseded versions that the parity on flash still covers (bases), if flash keeps any.
    pub bases: Option<Bases>,
    /// With which choice it acknowledges a write before each of its copies is programmed, if that can be chosen.
    pub completes_early: Option<Choice>,
    /// With which choice its updates claim places in NVRAM when they start (`Deferring::claims`), if that can be chosen.
    pub claims: Option<Choice>,
    /// The number of the format of drive files since which it keeps of a drive what it keeps now.
    pub drive_format: u64,
    /// Its parameters, in groups that schemes share or have of their own.
    pub parameters: &'static [&'static [Parameter]],
    /// Builds it on a number of members that it works on, or says why the rest of the configuration makes no sense. [`Entry::build`] calls it.
    pub construct: fn(&Build) -> Result<Box<dyn Scheme>, ParameterError>,
}

impl Entry {
    /// What a scheme has unless its entry states otherwise: none of the capabilities that only some schemes have.
    pub const PLAIN: Self = Self {
        name: "",
        title: "",
        about: "",
        protects: Protects::None,
        failures: 1,
        has_window: false,
        redundancy: Redundancy::None,
        members: Members::from(1),
        mirror_chips: 0,
        mirror_groups: None,
        replaces_devices: false,
        has_chunks: true,
        takes_devices_out: false,
        holds_host: false,
        keeps_shadows: None,
        coordinates_gc: None,
        write_buffer: WriteBuffer::Unused,
        parity_cache: None,
        bases: None,
        completes_early: None,
        claims: None,
        drive_format: 1,
        parameters: &[],
        construct: |_| unreachable!("the entry does not say how the scheme is built"),
    };

    /// Builds the scheme, or says why this configuration makes no sense.
    pub fn build(&self, build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
        self.check_members(build)?;
        if build.chunk_pages > 1 && !self.has_chunks {
            let text = format!("chunk_units = {}: each stripe has its parity where the shares put it: allowed is 1", build.chunk_pages);
            return Err(ParameterError(text));
        }
        (self.construct)(build)
    }

    /// What it asks of the number of members, in words that follow "members:".
    pub fn members_text(&self) -> String {
        let Members { least, most, multiple_of } = self.members;
        match (self.mirror_groups, multiple_of) {
            (Some(groups), _) => format!("a multiple of {}", groups.name),
            (None, 2) => format!("an even number, at least {least}"),
            (None, 3..) => format!("a multiple of {multiple_of}, at least {least}"),
            _ if most < Members::MOST => format!("from {least} to {most}"),
            _ => format!("at least {least}"),
        }
    }

    /// Its parameters, one after the other.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> + Clone + use<> {
        self.parameters.iter().flat_map(|group| group.iter())
    }

    /// The parameter called `name`.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters().find(|parameter| parameter.name == name)
    }

    /// Into how many mirror groups the members are divided, if the FTL places each page freely in its group.
    pub fn groups(&self, build: &Build) -> Result<Option<u32>, ParameterError> {
        self.mirror_groups.map(|parameter| build.whole(parameter)).transpose()
    }

    /// How many failures it survives at once of what it protects.
    pub fn survives_failures(&self) -> u32 {
        if self.protects == Protects::None { 0 } else { self.failures }
    }

    /// What GC does about bases, if there are any. `makes` says whether the user makes a choice.
    pub fn action_on_bases(&self, makes: impl FnOnce(Choice) -> bool) -> Option<SemivalidAction> {
        Some(match self.bases? {
            Bases::Always(action) => action,
            Bases::MovedWith(choice) if makes(choice) => SemivalidAction::Move,
            Bases::MovedWith(_) => SemivalidAction::CommitFirst,
        })
    }

    /// Whether the parameter says what GC does about bases.
    pub fn is_of_bases(&self, parameter: &Parameter) -> bool {
        matches!(self.bases, Some(Bases::MovedWith(choice)) if choice.parameter.name == parameter.name)
    }

    fn check_members(&self, build: &Build) -> Result<(), ParameterError> {
        let (name, members, Members { least, most, multiple_of }) = (self.name, build.members, self.members);
        let refuse = |text: String| Err(ParameterError(text));
        if members < least {
            let unit = if least == 1 { "member" } else { "members" };
            return refuse(format!("{name} needs at least {least} {unit}; the device has {members}"));
        }
        if members > most {
            return refuse(format!("{name} supports at most {most} members; the device has {members}"));
        }
        if !members.is_multiple_of(multiple_of) {
            let number = if multiple_of == 2 { "an even number".into() } else { format!("a multiple of {multiple_of}") };
            return refuse(format!("{name} needs {number} of members; the device has {members}"));
        }
        let Some(parameter) = self.mirror_groups else { return Ok(()) };
        let groups = build.whole(parameter)?;
        if !u32::from(members).is_multiple_of(groups) {
            let parameter = parameter.name;
            return refuse(format!(
                "{parameter} = {groups}: the device has {members} members, which cannot be divided evenly into {groups} groups"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::raid0;

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
        let parameter = |name, values| Parameter { name, values, ..Parameter::PLAIN };
        let words = parameter("w", Values::Words(&["a", "b"]));
        let number = parameter("n", Values::Whole { least: 1, most: 64, default: 2 });
        let limit = parameter("l", Values::Decimal { least: 0, most: 1_000_000, default: 1100 });
        let build = |given: &[(&str, &str)]| build_on(1, given);
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

    fn build_on(members: u16, given: &[(&str, &str)]) -> Build {
        let parameters = given.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        Build {
            members,
            pages_per_member: 4,
            data_chips: 1,
            mirror_chips: 0,
            pages_per_chip: 4,
            pages_held: 4,
            copies_held: 0,
            page_bytes: 512,
            chunk_pages: 1,
            spares: 0,
            eldest_first: Vec::new(),
            idle_ns: 0,
            parameters,
        }
    }

    /// Whatever its bounds are: an entry is built on the numbers of members that it states, and refuses all others.
    #[test]
    fn legal_numbers_of_members_are_those_that_are_not_refused() {
        let of = |least, most, multiple_of| Members { least, most, multiple_of };
        assert_eq!(of(4, 9, 3).legal(1).collect::<Vec<_>>(), [6, 9]);
        assert_eq!(of(5, 20, 2).legal(3).collect::<Vec<_>>(), [6, 12, 18]);
        let groups = Parameter { name: "groups", values: Values::Whole { least: 1, most: 64, default: 1 }, ..Parameter::PLAIN };
        let groups: &'static Parameter = Box::leak(Box::new(groups));
        for members in [Members::from(1), of(3, 7, 1), of(4, 9, 3), of(5, 64, 2), of(2, 2, 2)] {
            for number in [1u16, 2, 3, 4] {
                let entry =
                    Entry { name: "limited", members, mirror_groups: Some(groups), construct: raid0::ENTRY.construct, ..Entry::PLAIN };
                let is_built = |count: &u16| entry.build(&build_on(*count, &[("groups", &number.to_string())])).is_ok();
                let built: Vec<u16> = (0..=Members::MOST + 1).filter(is_built).collect();
                assert_eq!(members.legal(number).collect::<Vec<_>>(), built, "{members:?} in {number} groups");
            }
        }
    }

    #[test]
    fn bases_are_moved_committed_or_freed() {
        let parameter: &'static Parameter =
            Box::leak(Box::new(Parameter { name: "gc", values: Values::Words(&["commit", "move"]), ..Parameter::PLAIN }));
        let with = |bases| Entry { bases, ..Entry::PLAIN };
        let actions = |entry: &Entry| [false, true].map(|made| entry.action_on_bases(|choice| made && choice.word == "move"));
        let chosen = with(Some(Bases::MovedWith(Choice { parameter, word: "move" })));
        assert_eq!(actions(&chosen), [Some(SemivalidAction::CommitFirst), Some(SemivalidAction::Move)]);
        assert!(chosen.is_of_bases(parameter) && !chosen.is_of_bases(&Parameter { name: "other", ..*parameter }));
        for action in [SemivalidAction::Move, SemivalidAction::CommitFirst, SemivalidAction::Free] {
            let always = with(Some(Bases::Always(action)));
            assert_eq!(actions(&always), [Some(action); 2], "nothing can be chosen");
            assert!(!always.is_of_bases(parameter));
        }
        assert_eq!(actions(&with(None)), [None; 2]);
    }
}
