//! The first line of a drive file: what the drive is, and what it has been through.

use crate::config::ConfigError;
use crate::engine::Reached;
use flashraid_redundancy::find;
use flashraid_workload::system_text;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

/// The format of drive files. It is raised when what every drive keeps changes, or how that is written.
const FORMAT: u64 = 1;

/// The format of drives of a scheme: numbers are common to all, and a scheme says which of them it has changed with (`Entry::drive_format`).
pub fn format_of(scheme: &str) -> u64 {
    find(scheme).map_or(FORMAT, |entry| FORMAT.max(entry.drive_format))
}

/// Bytes of a SHA-256, and how many digits that is.
pub(super) const DIGEST: usize = 32;
const DIGITS: usize = 2 * DIGEST;

/// A header is shorter: it has a few thousand bytes.
const MOST_BYTES: u64 = 1 << 20;

/// How every file begins.
const MAGIC: &str = "{\"flashraid_drive\":";

/// The header of a drive file, as JSON on one line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    /// The format, in the place of a magic number.
    pub(super) flashraid_drive: u64,
    /// The flashraid that wrote the file.
    pub(crate) version: String,
    /// Pages that were filled when the drive was prepared.
    pub(crate) filled_pages: u64,
    /// What the precondition reached then.
    pub(crate) preconditioned: Option<Reached>,
    /// Runs that it has served since.
    pub(crate) runs: u64,
    /// Their requests.
    pub(crate) requests: u64,
    /// Data of the host that they have programmed.
    pub(crate) programmed_bytes: u64,
    /// Their simulated time.
    pub(crate) simulated_ns: u64,
    /// What made the drive: `Config::identity`.
    pub(crate) config: Json,
}

/// What every format has; and the configuration, if it has one like that of today.
#[derive(Deserialize)]
struct Maker {
    flashraid_drive: u64,
    version: String,
    #[serde(default)]
    config: Json,
}

impl Header {
    /// Reads it out of a file, with the digest at the end, which is not checked.
    pub(crate) fn read(path: &str) -> Result<(Self, String), ConfigError> {
        let refuse = |error: std::io::Error| ConfigError(format!("{path}: cannot be read: {}", system_text(&error)));
        let mut file = File::open(path).map_err(refuse)?;
        let mut line = Vec::new();
        BufReader::new(&file).take(MOST_BYTES).read_until(b'\n', &mut line).map_err(refuse)?;
        let header = Self::parse(path, &line)?;
        let length = file.seek(SeekFrom::End(0)).map_err(refuse)?;
        if length < (line.len() + DIGEST) as u64 {
            return Err(damaged(path));
        }
        let mut digest = [0; DIGEST];
        file.seek(SeekFrom::End(-(DIGEST as i64))).and_then(|_| file.read_exact(&mut digest)).map_err(refuse)?;
        Ok((header, hex(&digest)))
    }

    /// The header that is the first line of a file, with its end.
    pub(super) fn parse(path: &str, line: &[u8]) -> Result<Self, ConfigError> {
        if !line.starts_with(MAGIC.as_bytes()) {
            return Err(ConfigError(format!("{path}: it is no drive: allowed is a file that --save-drive has written")));
        }
        let Some(line) = line.strip_suffix(b"\n") else { return Err(damaged(path)) };
        let Maker { flashraid_drive, version, config } = serde_json::from_slice(line).map_err(|_| damaged(path))?;
        let scheme = config["scheme"]["name"].as_str().unwrap_or_default();
        let format = format_of(scheme);
        if flashraid_drive != format {
            let age = if flashraid_drive > format { "a newer" } else { "an older" };
            return Err(ConfigError(format!(
                "{path}: {age} flashraid, {version}, has written it in format {flashraid_drive}: this one, {}, reads format {format} of drives with {scheme}",
                env!("CARGO_PKG_VERSION")
            )));
        }
        serde_json::from_slice(line).map_err(|_| damaged(path))
    }
}

/// The error of a file that is not as it was written.
pub(super) fn damaged(path: &str) -> ConfigError {
    ConfigError(format!("{path}: it is damaged: it is cut off, or was changed since it was written"))
}

/// Bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Splits the name of a drive, `PATH` or `PATH@SHA256`.
pub(crate) fn split_name(name: &str) -> (&str, Option<&str>) {
    let is_digest = |text: &str| text.len() == DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    match name.rsplit_once('@') {
        Some((path, digest)) if is_digest(digest) && !path.is_empty() => (path, Some(digest)),
        _ => (name, None),
    }
}

/// A drive that is named with its digest must be the one.
pub(crate) fn refuse_another(path: &str, expected: Option<&str>, found: &str) -> Result<(), ConfigError> {
    match expected {
        Some(expected) if !expected.eq_ignore_ascii_case(found) => {
            Err(ConfigError(format!("{path}: its SHA-256 is {found}: allowed is the drive with {expected}")))
        }
        _ => Ok(()),
    }
}
