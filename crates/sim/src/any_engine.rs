//! The engine of any configuration: what it simulates and whether contents are tracked are types, chosen here.

use crate::assemble;
use crate::config::{Config, ConfigError};
use crate::engine::Engine;
use crate::engine::content::Untracked;
use crate::engine::tags::Tags;
use crate::media::Array;

/// The engine; contents are a type parameter, so that not tracking them costs nothing.
#[derive(Clone)]
pub(crate) enum AnyEngine {
    Plain(Box<Engine<Untracked>>),
    Tagged(Box<Engine<Tags>>),
    PlainArray(Box<Engine<Untracked, Array>>),
    TaggedArray(Box<Engine<Tags, Array>>),
}

impl AnyEngine {
    pub(crate) fn assemble(config: &Config) -> Result<Self, ConfigError> {
        Ok(match (config.array.is_single(), config.run.verify) {
            (true, false) => Self::Plain(Box::new(assemble::engine(config, |_, _| Untracked)?)),
            (true, true) => Self::Tagged(Box::new(assemble::engine(config, Tags::new)?)),
            (false, false) => Self::PlainArray(Box::new(assemble::engine(config, |_, _| Untracked)?)),
            (false, true) => Self::TaggedArray(Box::new(assemble::engine(config, Tags::new)?)),
        })
    }
}

/// Runs `$body` with `$engine` bound to the engine of either type.
macro_rules! with_engine {
    ($any:expr, $engine:ident => $body:expr) => {
        match $any {
            $crate::any_engine::AnyEngine::Plain($engine) => $body,
            $crate::any_engine::AnyEngine::Tagged($engine) => $body,
            $crate::any_engine::AnyEngine::PlainArray($engine) => $body,
            $crate::any_engine::AnyEngine::TaggedArray($engine) => $body,
        }
    };
}
pub(crate) use with_engine;
