//! A profile of a synthetic workload (`docs/profiles.md`) as a trace: it is not read but generated, request by request.
//!
//! A file is one if its name ends in `.toml`; `profile:NAME` stands for one of those that come with flashraid.

use super::format::{Format, no_header, no_other_word};
use crate::error::TraceError;
use crate::gate::Gate;
use crate::input::Input;
use crate::parser::Parser;
use crate::position::RecordPlace;
use crate::profile::{Profile, ProfileError, Requests};
use crate::traits::Traits;
use crate::unit::TimeUnit;

/// A profile is written by people, or by a fit, and no longer than this.
const MOST_BYTES: usize = 16 << 20;

/// Bytes taken at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "profile",
    about: "TOML profile of a synthetic workload, generated instead of read; profile:NAME is one that comes with flashraid",
    unit: TimeUnit::Ns,
    words: &[],
    is_word: no_other_word,
    endings: &["toml"],
    is_header: no_header,
    traits: Traits::PLAIN,
    parser: |_| Box::new(ProfileParser { requests: None }),
    writer: None,
};

/// A profile at work; None before its text has been read.
struct ProfileParser {
    requests: Option<Box<Requests>>,
}

impl Parser for ProfileParser {
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, wanted: usize) -> Result<bool, TraceError> {
        if self.requests.is_none() {
            self.requests = Some(Box::new(requests(input)?));
        }
        let Some(requests) = &mut self.requests else { return Ok(false) };
        let end = gate.admitted() + wanted as u64;
        while gate.admitted() < end {
            let Some(request) = requests.next() else { return Ok(false) };
            let number = gate.admitted() + gate.filtered() + 1;
            gate.admit(&request, RecordPlace).map_err(|fault| fault.at_record(input.path(), number))?;
        }
        Ok(true)
    }
}

/// Reads the whole text and starts what it describes.
fn requests(input: &mut Input) -> Result<Requests, TraceError> {
    let mut text = Vec::new();
    loop {
        let part = input.bytes(CHUNK_BYTES)?;
        if part.is_empty() {
            break;
        }
        let length = part.len();
        text.extend_from_slice(part);
        input.advance_bytes(length);
        if text.len() > MOST_BYTES {
            return Err(TraceError::Profile(format!("{}: a profile of more than {MOST_BYTES} bytes", input.path().display())));
        }
    }
    let name = input.path().display().to_string();
    let text = String::from_utf8(text).map_err(|_| TraceError::Profile(format!("{name}: not UTF-8 text, as TOML is")))?;
    let started = Profile::parse(&text, &name).and_then(|profile| profile.requests());
    started.map_err(|error| {
        TraceError::Profile(match error {
            ProfileError::Schema { .. } => error.to_string(),
            _ => format!("{name}: {error}"),
        })
    })
}
