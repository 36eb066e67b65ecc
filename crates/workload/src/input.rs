//! The bytes of a trace: hashed as they lie on disk, decompressed, and handed out as whole lines.

use crate::error::{RecordError, TraceError};
use crate::line::PADDING;
use crate::options::OnError;
use crate::profile::Shipped;
use flate2::bufread::GzDecoder;
use liblzma::read::XzDecoder;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of text held at a time: far above a line, small enough for the second-level cache.
const BUFFER_BYTES: usize = 256 << 10;

/// Text read before the format is looked for, however little a pipe hands over at a time; less only if there is no more.
const HEAD_BYTES: usize = 64 << 10;

/// The name of standard input, and the file that it is.
const STANDARD_INPUT: (&str, &str) = ("-", "/dev/stdin");

/// What a trace's name begins with that is no file but a profile that comes with flashraid.
pub(crate) const PROFILE_PREFIX: &str = "profile:";

/// Longest of the magic numbers below.
const MAGIC_BYTES: usize = 6;

/// U+FEFF in UTF-8, which some editors begin a text with.
const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";
/// What every block of a bzip2 file begins with: the digits of pi.
const BZIP2_BLOCK: [u8; 6] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];

/// A text without the mark that some editors put before it.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(UTF8_MARK).unwrap_or(text)
}

/// A file, or text that stands for one, that is hashed while it is read.
struct HashedFile {
    file: Box<dyn Read + Send>,
    /// Size of the file, and how much of it has been read.
    size_bytes: u64,
    read_bytes: u64,
    hash: Sha256,
    /// The first bytes, read ahead to look at them; `head_used` of `head_length` have been handed out.
    head: [u8; MAGIC_BYTES],
    head_length: usize,
    head_used: usize,
}

impl HashedFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(real_path(path))?;
        let size_bytes = file.metadata()?.len();
        Self::new(Box::new(file), size_bytes)
    }

    fn new(mut file: Box<dyn Read + Send>, size_bytes: u64) -> io::Result<Self> {
        let (mut head, mut head_length) = ([0; MAGIC_BYTES], 0);
        while head_length < MAGIC_BYTES {
            match file.read(&mut head[head_length..]) {
                Ok(0) => break,
                Ok(length) => head_length += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted && head_length > 0 => {}
                Err(error) => return Err(error),
            }
        }
        let hash = Sha256::new_with_prefix(&head[..head_length]);
        Ok(Self { file, size_bytes, read_bytes: head_length as u64, hash, head, head_length, head_used: 0 })
    }
}

impl Read for HashedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.head_used < self.head_length {
            let length = (&self.head[self.head_used..self.head_length]).read(buffer)?;
            self.head_used += length;
            return Ok(length);
        }
        let length = self.file.read(buffer)?;
        self.hash.update(&buffer[..length]);
        self.read_bytes += length as u64;
        Ok(length)
    }
}

/// A gzip file: members one after the other, and zeroes behind them, with which tapes and block devices fill up.
struct Gzip(Option<GzDecoder<BufReader<HashedFile>>>);

impl Gzip {
    fn decoder(&mut self) -> &mut GzDecoder<BufReader<HashedFile>> {
        self.0.as_mut().expect("taken only to be replaced")
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.decoder().read(buffer)?;
            if length > 0 || !has_more_than_zeroes(self.decoder().get_mut())? {
                return Ok(length);
            }
            self.0 = self.0.take().map(|ended| GzDecoder::new(ended.into_inner()));
        }
    }
}

/// Passes over zeroes; whether something follows them.
fn has_more_than_zeroes(source: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = source.fill_buf()?;
        let zeroes = bytes.iter().take_while(|byte| **byte == 0).count();
        if zeroes < bytes.len() || bytes.is_empty() {
            let has_more = !bytes.is_empty();
            source.consume(zeroes);
            return Ok(has_more);
        }
        source.consume(zeroes);
    }
}

/// The compressions, told by their first bytes.
enum Decoder {
    Plain(HashedFile),
    Gzip(Gzip),
    Zstd(zstd::Decoder<'static, BufReader<HashedFile>>),
    Xz(XzDecoder<BufReader<HashedFile>>),
}

impl Decoder {
    fn new(file: HashedFile) -> io::Result<Self> {
        let head = &file.head[..file.head_length];
        Ok(if head.starts_with(&[0x1F, 0x8B]) {
            Self::Gzip(Gzip(Some(GzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file)))))
        } else if head.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
            Self::Zstd(zstd::Decoder::with_buffer(BufReader::with_capacity(BUFFER_BYTES, file))?)
        } else if head.starts_with(&[0xFD, b'7', b'z', b'X', b'Z', 0]) {
            Self::Xz(XzDecoder::new_multi_decoder(BufReader::with_capacity(BUFFER_BYTES, file)))
        } else {
            Self::Plain(file)
        })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
            Self::Xz(decoder) => decoder.read(buffer),
        }
    }

    fn compression(&self) -> Option<&'static str> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip(_) => Some("gzip"),
            Self::Zstd(_) => Some("zstd"),
            Self::Xz(_) => Some("xz"),
        }
    }

    fn file(&mut self) -> &mut HashedFile {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(gzip) => gzip.decoder().get_mut().get_mut(),
            Self::Zstd(decoder) => decoder.get_mut().get_mut(),
            Self::Xz(decoder) => decoder.get_mut().get_mut(),
        }
    }
}

/// The content of a trace, in chunks: whole lines, or bytes.
pub struct Input {
    path: PathBuf,
    decoder: Decoder,
    /// `filled` bytes of content from `position` on are still to be parsed; the lines up to `complete` are whole.
    buffer: Vec<u8>,
    position: usize,
    complete: usize,
    filled: usize,
    is_at_end: bool,
    /// Whether the last line has no newline of its own, and is the only one left.
    is_cut: bool,
    /// Whether an archive that is cut short ends where it does, and what was wrong with it.
    takes_cut_archives: bool,
    cut_archive: Option<String>,
    /// Number of the line at `position`, from 1.
    line_number: u64,
}

/// The shipped profile that a path of the form `profile:NAME` means. None for any other path.
fn shipped(path: &Path) -> Result<Option<&'static Shipped>, TraceError> {
    match path.to_str().and_then(|text| text.strip_prefix(PROFILE_PREFIX)) {
        Some(name) => Shipped::find(name).map(Some).map_err(|error| TraceError::Profile(error.to_string())),
        None => Ok(None),
    }
}

/// The file that a trace's name stands for: `-` is standard input.
pub(crate) fn real_path(path: &Path) -> &Path {
    if path == Path::new(STANDARD_INPUT.0) { Path::new(STANDARD_INPUT.1) } else { path }
}

/// Whether a trace can be read a second time: a pipe cannot. What there is no file of is for whoever opens it to say.
pub fn can_be_read_again(path: &Path) -> bool {
    fs::metadata(real_path(path)).map_or(true, |found| found.is_file())
}

/// Refuses a trace that can be read only once, for work that needs another pass; `why` says what for.
pub(crate) fn must_be_read_again(path: &Path, why: &str) -> Result<(), TraceError> {
    if can_be_read_again(path) {
        return Ok(());
    }
    let what = format!("a pipe can be read only once, and {why}; expected a file");
    Err(TraceError::Unusable { path: path.to_owned(), what })
}

/// A line that is longer than what is held at a time.
pub(crate) struct Overlong(pub Box<RecordError>);

impl Input {
    /// Opens the file, or the shipped profile that `profile:NAME` stands for, and reads its beginning.
    /// With `OnError::Skip`, an archive that is cut short or damaged ends there.
    pub fn open(path: &Path, on_error: OnError) -> Result<Self, TraceError> {
        let file = match shipped(path)? {
            Some(profile) => HashedFile::new(Box::new(profile.text.as_bytes()), profile.text.len() as u64),
            None => HashedFile::open(path),
        };
        let decoder = file.and_then(Decoder::new);
        let decoder = decoder.map_err(|source| match source.kind() {
            // A signal came while a pipe was silent, and nothing has been read that could be lost.
            io::ErrorKind::Interrupted => TraceError::Interrupted,
            _ => TraceError::Io { path: path.to_owned(), source },
        })?;
        let buffer = vec![0; BUFFER_BYTES + PADDING];
        let path = path.to_owned();
        let mut input = Self {
            path,
            decoder,
            buffer,
            position: 0,
            complete: 0,
            filled: 0,
            is_at_end: false,
            is_cut: false,
            takes_cut_archives: on_error == OnError::Skip,
            cut_archive: None,
            line_number: 1,
        };
        while (input.complete == 0 || input.filled < HEAD_BYTES) && input.filled < BUFFER_BYTES && input.fill()? > 0 {
            input.find_lines(0);
        }
        Ok(input)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Share of the file's bytes that have been read; at most 1.
    pub fn share_read(&mut self) -> f64 {
        let file = self.decoder.file();
        file.read_bytes.min(file.size_bytes) as f64 / file.size_bytes.max(1) as f64
    }

    /// What has been read and not parsed: at the start, the beginning of the file.
    pub fn head(&self) -> &[u8] {
        &self.buffer[self.position..self.filled]
    }

    /// The same without the mark that some editors put before a text.
    pub fn text_head(&self) -> &[u8] {
        without_mark(self.head())
    }

    /// Passes over this mark.
    pub fn skip_mark(&mut self) {
        self.position += self.head().len() - self.text_head().len();
    }

    /// Refuses what is certainly no trace: nothing at all, archives that are not read, text of two bytes a letter.
    pub fn check_content(&self) -> Result<(), TraceError> {
        let head = self.head();
        if head.is_empty() {
            return Err(TraceError::Empty { path: self.path.clone(), what: "an empty file".to_owned() });
        }
        let what = if head.starts_with(b"BZh") && head.get(4..10) == Some(&BZIP2_BLOCK) {
            "a bzip2 archive; expected plain, gzip, zstd or xz"
        } else if head.starts_with(b"PK\x03\x04") {
            "a zip archive; expected plain, gzip, zstd or xz"
        } else if head.starts_with(b"PERFILE2") {
            "binary data of perf record; expected the text of perf script"
        } else if head.starts_with(b"\x17\x08\x44tracing") {
            "binary data of trace-cmd record; expected the text of trace-cmd report"
        } else if head.get(257..262) == Some(b"ustar") {
            "a tar archive; expected a trace extracted from it"
        } else if head.starts_with(&[0xFF, 0xFE]) && head.get(3) == Some(&0) || head.starts_with(&[0xFE, 0xFF, 0]) {
            "text in UTF-16; expected UTF-8"
        } else {
            return Ok(());
        };
        Err(TraceError::Unusable { path: self.path.clone(), what: what.to_owned() })
    }

    /// The line at the cursor without blanks around it; empty at the end of the file.
    pub fn line(&self) -> &[u8] {
        let text = &self.buffer[self.position..self.filled];
        text[..memchr::memchr(b'\n', text).unwrap_or(text.len())].trim_ascii()
    }

    /// Number of the line at the cursor, from 1.
    pub fn line_number(&self) -> u64 {
        self.line_number
    }

    /// Whether there is a line at the cursor; reads on when the lines in memory are used up.
    #[inline(always)]
    pub fn has_line(&mut self) -> Result<Result<bool, Overlong>, TraceError> {
        if self.position < self.complete { Ok(Ok(true)) } else { self.next_lines() }
    }

    /// The text, and where in it the line at the cursor begins.
    #[inline(always)]
    pub fn text(&self) -> (&[u8], usize) {
        (&self.buffer, self.position)
    }

    /// Whether the line at the cursor is the last of the file and has no newline.
    #[inline(always)]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What is wrong with an archive of which only the beginning could be read, once that has been read.
    pub fn take_cut_archive(&mut self) -> Option<String> {
        self.cut_archive.take()
    }

    /// Moves on to the next line, which begins at `position` of the text.
    #[inline(always)]
    pub fn advance(&mut self, position: usize) {
        self.position = position;
        self.line_number += 1;
    }

    /// Passes over the line at the cursor.
    pub fn skip_line(&mut self) {
        let text = &self.buffer[self.position..self.complete];
        let length = memchr::memchr(b'\n', text).map_or(text.len(), |newline| newline + 1);
        self.advance(self.position + length);
    }

    /// Passes over the line at the cursor, which is longer than what is held at a time.
    pub fn skip_overlong_line(&mut self) -> Result<(), TraceError> {
        loop {
            self.position = self.filled;
            if self.fill()? == 0 {
                self.complete = self.filled;
                return Ok(());
            }
            if let Some(newline) = memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                self.find_lines(0);
                self.advance(newline + 1);
                return Ok(());
            }
        }
    }

    /// The next `size` bytes; fewer at the end of the file. At most what is held at a time.
    #[inline]
    pub fn bytes(&mut self, size: usize) -> Result<&[u8], TraceError> {
        while self.filled - self.position < size && self.fill()? > 0 {}
        Ok(&self.buffer[self.position..self.filled.min(self.position + size)])
    }

    /// Passes over bytes that `bytes` has shown.
    #[inline]
    pub fn advance_bytes(&mut self, size: usize) {
        self.position += size;
    }

    /// Reads the file to its end and returns the SHA-256 of its bytes in hexadecimal.
    pub fn sha256(mut self) -> Result<String, TraceError> {
        let file = self.decoder.file();
        loop {
            match file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(TraceError::Io { path: self.path, source }),
            }
        }
        Ok(std::mem::take(&mut file.hash).finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads on until there is a whole line.
    #[cold]
    fn next_lines(&mut self) -> Result<Result<bool, Overlong>, TraceError> {
        loop {
            if self.complete > self.position {
                return Ok(Ok(true));
            }
            let looked_at = self.filled - self.position;
            if looked_at == BUFFER_BYTES {
                let what = format!("a line of more than {BUFFER_BYTES} bytes");
                return Ok(Err(Overlong(RecordError::malformed(1, what, "a text trace"))));
            }
            if self.fill()? == 0 {
                if looked_at == 0 {
                    return Ok(Ok(false));
                }
                let rest = &self.buffer[self.position..self.filled];
                if let Some(newline) = memchr::memrchr(b'\n', rest) {
                    self.complete = self.position + newline + 1;
                } else {
                    // The last line has no newline of its own; the padding leaves space for one.
                    self.buffer[self.filled] = b'\n';
                    self.filled += 1;
                    self.complete = self.filled;
                    self.is_cut = true;
                }
            } else {
                self.find_lines(looked_at);
            }
        }
    }

    /// Finds where the last whole line ends; the first `looked_at` bytes hold no newline.
    fn find_lines(&mut self, looked_at: usize) {
        self.complete = memchr::memrchr(b'\n', &self.buffer[looked_at..self.filled]).map_or(0, |last| looked_at + last + 1);
    }

    /// Moves what is not parsed to the front and reads more behind it, for which there must be space; returns how much.
    fn fill(&mut self) -> Result<usize, TraceError> {
        if self.is_at_end {
            return Ok(0);
        }
        self.buffer.copy_within(self.position..self.filled, 0);
        self.filled -= self.position;
        (self.position, self.complete) = (0, 0);
        let length = loop {
            match self.decoder.read(&mut self.buffer[self.filled..BUFFER_BYTES]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => match self.read_error(source) {
                    error @ TraceError::Archive { .. } if self.takes_cut_archives => {
                        self.cut_archive = Some(error.to_string());
                        break 0;
                    }
                    error => return Err(error),
                },
                Ok(length) => break length,
            }
        };
        self.is_at_end = length == 0;
        self.filled += length;
        Ok(length)
    }

    /// A decoder's own errors carry no system error code.
    fn read_error(&self, source: io::Error) -> TraceError {
        let path = self.path.clone();
        match self.decoder.compression() {
            Some(compression) if source.raw_os_error().is_none() => TraceError::Archive { path, compression, source },
            _ => TraceError::Io { path, source },
        }
    }
}
