//! Loads of blkreplay (Schöbel-Theuer): a heading of free text, then `start ; sector ; length ; op` and two fields for results of a
//! replay, which are not read. `start` is in seconds, sector and length count 512 bytes, op is `R` or `W`. Loads made from
//! blkparse's output can hold a few records with more letters (`RA`, read-ahead). blkreplay's converter meant to leave these out: they are
//! counted and left out.
//!
//! The heading ends with the first line that begins with a number, be it a wrong one as `-0.5` (in some files more text follows the line of the columns' names).

use super::format::{Format, no_header, no_other_word};
use super::rwbs;
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{Line, SECTOR_BYTES};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "blkreplay",
    about: "blkreplay load: free text, then start ; sector ; length ; op: seconds, 512-byte sectors, R or W",
    unit: TimeUnit::S,
    words: &["blkreplay"],
    is_word: no_other_word,
    endings: &["load"],
    is_header: no_header,
    traits: Traits::PLAIN,
    parser: |setup| Box::new(LineParser::new(Blkreplay { unit: setup.unit, is_in_heading: true })),
    writer: None,
};

struct Blkreplay {
    unit: TimeUnit,
    is_in_heading: bool,
}

impl LineFormat<b';'> for Blkreplay {
    const COLUMNS: &'static str = "start ; sector ; length ; op";
    const HAS_EMPTY_LINES: bool = true;

    fn begin_again(&mut self) {
        self.is_in_heading = true;
    }

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b';'>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        if line.is_at_end() {
            return Ok(TraceRecord::Nothing);
        }
        if self.is_in_heading && !matches!(line.rest(), [b'0'..=b'9', ..] | [b'-' | b'+' | b'.', b'0'..=b'9', ..]) {
            return Ok(TraceRecord::Nothing);
        }
        self.is_in_heading = false;
        let arrival_ns = line.time("start", self.unit)?;
        let offset_bytes = line.offset("sector", SECTOR_BYTES)?;
        let size_bytes = line.size("length", SECTOR_BYTES)?;
        let op = match line.word("op")? {
            b"R" | b"r" => HostOp::Read,
            b"W" | b"w" => HostOp::Write,
            letters if rwbs::operation(letters).is_some() => {
                return Ok(TraceRecord::Unsupported("blkreplay records other than plain R and W"));
            }
            _ => return Err(line.unexpected("R or W")),
        };
        line.skip_more_fields();
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }))
    }
}
