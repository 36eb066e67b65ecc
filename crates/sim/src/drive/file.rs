//! A drive file is written, and read.

use super::header::{DIGEST, damaged, hex};
use super::{Header, refuse_another, split_name};
use crate::config::{Config, ConfigError};
use crate::device::Device;
use crate::result::types::Drive;
use flashraid_workload::system_text;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Error, Read, Write};
use std::path::Path;

/// Maps compress to about the same size at every level, and fastest at this one.
const LEVEL: i32 = 1;

/// Bytes that are handed on at once.
const BUFFER: usize = 1 << 20;

/// A file, and the digest of what was written to it.
struct Hashed {
    file: File,
    digest: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes the drive that an engine is. Nothing may be in flight in it.
pub(crate) fn write(path: &Path, header: &Header, engine: &dyn Device) -> io::Result<()> {
    let mut line = serde_json::to_vec(header)?;
    line.push(b'\n');
    let mut file = Hashed { file: File::create(path)?, digest: Sha256::new() };
    file.write_all(&line)?;
    let mut state = BufWriter::with_capacity(BUFFER, zstd::Encoder::new(file, LEVEL)?);
    engine.save(&mut state)?;
    let Hashed { mut file, digest } = state.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    file.write_all(&digest.finalize())
}

/// Reads the drive that a configuration names into an engine that was built of it.
pub(crate) fn load(config: &Config, engine: &mut dyn Device) -> Result<(Header, Drive), ConfigError> {
    let (path, expected) = split_name(&config.run.drive);
    let refuse = |error: Error| ConfigError(format!("{path}: cannot be read: {}", system_text(&error)));
    let bytes = std::fs::read(path).map_err(refuse)?;
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |newline| newline + 1);
    let header = Header::parse(path, &bytes[..end])?;
    let Some((content, digest)) = bytes.split_last_chunk::<DIGEST>().filter(|(content, _)| content.len() >= end) else {
        return Err(damaged(path));
    };
    if Sha256::digest(content)[..] != digest[..] {
        return Err(damaged(path));
    }
    let sha256 = hex(digest);
    refuse_another(path, expected, &sha256)?;
    if Config::of_drive(path, &header)?.identity() != config.identity() {
        return Err(ConfigError(format!("{path}: the configuration is that of another drive")));
    }
    let restored = zstd::Decoder::with_buffer(&content[end..]).and_then(|decoder| {
        let mut state = BufReader::with_capacity(BUFFER, decoder);
        engine.restore(&mut state)?;
        let rest = state.read(&mut [0])?;
        if rest == 0 { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    });
    if restored.is_err() {
        let (version, this) = (&header.version, env!("CARGO_PKG_VERSION"));
        return Err(ConfigError(format!(
            "{path}: its state is not that of its configuration: flashraid {version} has written it, and this is {this}"
        )));
    }
    let Header { ref version, runs, requests, programmed_bytes, simulated_ns, .. } = header;
    let drive = Drive { sha256, version: version.clone(), runs, requests, programmed_bytes, simulated_ns };
    Ok((header, drive))
}
