//! When a partial-stripe write chooses how it gets the parity, and when it programs its data (SPEC 3.4; 3.8 items 5 and 9).
//!
//! The switch of the map, in which the new versions take the place of the old ones, always comes at the end, with the parity programmed: what the data
//! programs made before is pending, and the superseded pages stay mapped. So until then parity and data on flash belong together.

use crate::parts::update::UpdateRule;
use crate::{Build, Draws, Parameter, ParameterError, Values};

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionPoint {
    sequence: Sequence,
    /// How long the choice takes.
    decision_ns: u64,
}

/// The order of choice, pre-reads and data programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sequence {
    /// Chosen, pre-reads; then data and parity together.
    #[default]
    BeforeAll,
    /// Chosen; then pre-reads and data together; then the parity.
    AtArrival,
    /// Data; then choice and pre-reads; then the parity.
    AfterData,
}

const DECIDE: Parameter = Parameter {
    name: "decide",
    values: Values::Words(&["auto", "before_all", "at_arrival", "after_data"]),
    runtime: true,
    about: "When a partial-stripe write chooses its method, and when it programs its data: before_all chooses, pre-reads, and then programs data and parity \
            together; at_arrival chooses, and programs the data while it pre-reads; after_data programs the data first, and then chooses. auto is after_data \
            for adaptive and bpu, as in the paper, and before_all for all else.",
    ..Parameter::PLAIN
};

const DECISION_NS: Parameter = Parameter {
    name: "decision_ns",
    unit: "ns",
    values: Values::Whole { least: 0, most: 1_000_000_000, default: 0 },
    needs: Some(("update = adaptive or bpu", |build| UpdateRule::from_build(build).is_ok_and(UpdateRule::looks_at_load))),
    runtime: true,
    draws: Draws::OneOf(&["0", "5700"]),
    about: "How long adaptive and bpu take to choose a method. A partial-stripe write waits for it.",
    ..Parameter::PLAIN
};

impl DecisionPoint {
    /// The parameters that set it.
    pub const PARAMETERS: &[Parameter] = &[DECIDE, DECISION_NS];
    /// The same for a scheme that always looks at the load.
    pub const OF_LOAD: &[Parameter] = &[DECIDE, Parameter { needs: None, ..DECISION_NS }];

    /// The point that the user asked for, of a rule.
    pub fn from_build(build: &Build, rule: UpdateRule) -> Result<Self, ParameterError> {
        let sequence = match build.choice(&DECIDE)? {
            "at_arrival" => Sequence::AtArrival,
            "after_data" => Sequence::AfterData,
            "auto" if rule.looks_at_load() => Sequence::AfterData,
            _ => Sequence::BeforeAll,
        };
        Ok(Self { sequence, decision_ns: if rule.looks_at_load() { build.whole(&DECISION_NS)?.into() } else { 0 } })
    }

    /// Whether data and parity are programmed apart.
    #[inline]
    pub fn is_apart(self) -> bool {
        self.sequence != Sequence::BeforeAll
    }

    /// Whether data are programmed while old content is read.
    #[inline]
    pub fn is_at_arrival(self) -> bool {
        self.sequence == Sequence::AtArrival
    }

    /// How long the choice takes.
    #[inline]
    pub fn decision_ns(self) -> u64 {
        self.decision_ns
    }
}
