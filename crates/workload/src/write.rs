//! Writing requests as a trace.

use crate::error::TraceError;
use crate::formats::{self, Format, Writer};
use crate::input::real_path;
use crate::watch::{GoOn, Watch};
use flashraid_vocabulary::HostRequest;
use flate2::GzBuilder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of standard output.
pub(crate) const STANDARD_OUTPUT: &str = "-";

/// Text gathered before it is handed on.
const CHUNK_BYTES: usize = 64 << 10;

/// Most bytes of a file's name that its temporary name repeats: with what is added it stays below 255.
const MOST_NAME_BYTES: usize = 200;

/// The tools' own defaults.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;
const XZ_LEVEL: u32 = 6;

/// Where bytes go.
type Sink = Box<dyn Write + Send>;

/// The compressions. None of them writes a time or a name, so equal requests make equal files.
enum Encoder {
    Plain(Sink),
    Gzip(GzEncoder<Sink>),
    Zstd(zstd::Encoder<'static, Sink>),
    Xz(XzEncoder<Sink>),
}

impl Encoder {
    /// As the file's name ends.
    fn new(path: &Path, sink: Sink) -> io::Result<Self> {
        Ok(match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Self::Gzip(GzBuilder::new().write(sink, flate2::Compression::new(GZIP_LEVEL))),
            Some("zst") => {
                let mut encoder = zstd::Encoder::new(sink, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            Some("xz") => Self::Xz(XzEncoder::new(sink, XZ_LEVEL)),
            _ => Self::Plain(sink),
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.write_all(bytes),
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
            Self::Xz(encoder) => encoder.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let mut sink = match self {
            Self::Plain(sink) => sink,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
            Self::Xz(encoder) => encoder.finish()?,
        };
        sink.flush()
    }
}

/// A file under another name in the same folder until it is complete; gone if it never is.
struct PartialFile {
    part: PathBuf,
    complete: PathBuf,
    /// Locked as long as this is, by which a part that is being written differs from one that a killed process left (`files.py`).
    _held: File,
}

impl PartialFile {
    fn rename(self) -> io::Result<()> {
        fs::rename(&self.part, &self.complete)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After `rename` there is nothing to remove. Else an error is on its way already; if this fails too, a file that is
        // clearly no trace is left.
        let _ = fs::remove_file(&self.part);
    }
}

/// A trace being written: compressed if the name ends in `.gz`, `.zst` or `.xz`, plain to standard output if it is `-`. A file appears
/// complete, by `finish`, or not at all.
pub struct TraceWriter {
    path: PathBuf,
    format: &'static Format,
    writer: Box<dyn Writer>,
    encoder: Encoder,
    part: Option<PartialFile>,
    text: Vec<u8>,
    /// Requests handed over.
    number: u64,
}

impl TraceWriter {
    /// Begins a trace in this format. `names_streams`: whether requests may name write streams.
    pub fn create(path: &Path, format: &'static Format, names_streams: bool) -> Result<Self, TraceError> {
        let mut writer = format.writer.map(|writer| writer()).ok_or_else(|| formats::read_only(format.name))?;
        let io_error = |source| TraceError::Io { path: path.to_owned(), source };
        let (sink, part): (Sink, Option<PartialFile>) = if path == Path::new(STANDARD_OUTPUT) {
            (Box::new(io::stdout()), None)
        } else {
            let complete = destination(path)?;
            let (file, part) = temporary_beside(&complete).map_err(io_error)?;
            let held = file.try_clone().map_err(io_error)?;
            let part = PartialFile { part, complete, _held: held };
            if let Ok(former) = fs::metadata(&part.complete) {
                file.set_permissions(former.permissions()).map_err(io_error)?;
            }
            (Box::new(file), Some(part))
        };
        let encoder = Encoder::new(path, sink).map_err(io_error)?;
        let mut text = Vec::with_capacity(2 * CHUNK_BYTES);
        writer.begin(&mut text, names_streams);
        Ok(Self { path: path.to_owned(), format, writer, encoder, part, text, number: 0 })
    }

    /// Appends a request. After `TraceError::Unwritable` it is left out, and others can follow.
    #[inline]
    pub fn write(&mut self, request: &HostRequest) -> Result<(), TraceError> {
        self.number += 1;
        if let Err(reason) = self.writer.request(request, &mut self.text) {
            let (number, format) = (self.number, self.format.name);
            return Err(TraceError::Unwritable { number, format, what: reason.what, expected: reason.expected });
        }
        if self.text.len() >= CHUNK_BYTES { self.hand_on() } else { Ok(()) }
    }

    /// Completes the trace.
    pub fn finish(mut self) -> Result<(), TraceError> {
        self.writer.end(&mut self.text);
        self.hand_on()?;
        let Self { path, encoder, part, .. } = self;
        encoder.finish().and_then(|()| part.map_or(Ok(()), PartialFile::rename)).map_err(|source| TraceError::Io { path, source })
    }

    fn hand_on(&mut self) -> Result<(), TraceError> {
        let written = self.encoder.write_all(&self.text);
        self.text.clear();
        written.map_err(|source| TraceError::Io { path: self.path.clone(), source })
    }
}

/// Writes requests as a trace (`TraceWriter` says how), and returns how many.
pub fn write_trace(
    path: &Path,
    format: &'static Format,
    names_streams: bool,
    requests: impl IntoIterator<Item = HostRequest>,
    go_on: &mut GoOn<'_>,
) -> Result<u64, TraceError> {
    let requests = requests.into_iter();
    let total = requests.size_hint().1;
    let mut watch = Watch::new(go_on);
    let mut writer = TraceWriter::create(path, format, names_streams)?;
    let mut count = 0;
    for request in requests {
        writer.write(&request)?;
        count += 1;
        if count % 1024 == 0 {
            watch.look(count, || total.map(|total| count as f64 / total as f64))?;
        }
    }
    watch.look_last(count)?;
    writer.finish()?;
    Ok(count)
}

/// Refuses to write over the trace that is read, under whatever name.
pub(crate) fn refuse_same(input: &Path, output: &Path) -> Result<(), TraceError> {
    let identity = |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| (file.dev(), file.ino()));
    if output != Path::new(STANDARD_OUTPUT) && identity(real_path(input)).is_some_and(|input| identity(output) == Some(input)) {
        let what = format!("the same file as the trace, {}; expected another one", input.display());
        return Err(TraceError::Unusable { path: output.to_owned(), what });
    }
    Ok(())
}

/// The file that is replaced: what a link points at, not the link.
fn destination(path: &Path) -> Result<PathBuf, TraceError> {
    let io_error = |source| TraceError::Io { path: path.to_owned(), source };
    if fs::symlink_metadata(path).is_err() {
        return Ok(path.to_owned());
    }
    let complete = fs::canonicalize(path).map_err(io_error)?;
    if !fs::metadata(&complete).map_err(io_error)?.is_file() {
        let what = "not a regular file; expected the name of one, or - for standard output".to_owned();
        return Err(TraceError::Unusable { path: path.to_owned(), what });
    }
    OpenOptions::new().write(true).open(&complete).map_err(io_error)?;
    Ok(complete)
}

/// Locks a new file. False if another process has just taken it for a dead one; where there are no locks, none is taken for dead.
fn is_held(file: &File) -> io::Result<bool> {
    Ok(!matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && file.metadata()?.nlink() > 0)
}

/// A new file in the same folder, under a name that none has, be it left by a run that was killed.
fn temporary_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"))?.to_string_lossy();
    let bytes = (0..=name.len().min(MOST_NAME_BYTES)).rfind(|end| name.is_char_boundary(*end)).unwrap_or(0);
    let start = &name[..bytes];
    let mut number = 0u32;
    loop {
        let part = path.with_file_name(format!(".{start}.{}-{number}.part", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&part) {
            Ok(file) if is_held(&file)? => return Ok((file, part)),
            Ok(_) => number += 1,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write_trace;
    use crate::formats;
    use flashraid_vocabulary::{HostOp, HostRequest};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn temporary_names_are_new_and_short_and_a_replaced_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{}.csv", "ä".repeat(120)));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // What a killed run with this process number left.
        let (_, stale) = super::temporary_beside(&path).unwrap();
        let request = HostRequest { arrival_ns: 0, offset_bytes: 0, size_bytes: 4096, op: HostOp::Write, stream: 0, source: 0 };
        write_trace(&path, formats::find("flashraid").unwrap(), false, [request], &mut |_, _| true).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&path).unwrap().contains("4096"));
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left.contains(&stale));
    }
}
