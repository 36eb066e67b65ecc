//! Text on its way to a file.

use crate::error::RunError;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Text gathered before it is handed on.
const CHUNK_BYTES: usize = 64 << 10;

/// A file that is being written; errors name the option that asked for it.
pub(super) struct Sink {
    option: &'static str,
    file: File,
    /// What is to be written next.
    pub(super) text: Vec<u8>,
}

impl Sink {
    pub(super) fn create(option: &'static str, path: &Path) -> Result<Self, RunError> {
        let file = File::create(path).map_err(|source| RunError::Output { option, source })?;
        Ok(Self { option, file, text: Vec::with_capacity(2 * CHUNK_BYTES) })
    }

    /// Hands the text on if there is much of it.
    pub(super) fn spill(&mut self) -> Result<(), RunError> {
        if self.text.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Hands the text on.
    pub(super) fn flush(&mut self) -> Result<(), RunError> {
        let written = self.file.write_all(&self.text);
        self.text.clear();
        written.map_err(|source| self.error(source))
    }

    pub(super) fn error(&self, source: io::Error) -> RunError {
        RunError::Output { option: self.option, source }
    }
}

/// Appends a number.
pub(super) fn push_number(text: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[first..]);
}

/// Appends nanoseconds as microseconds with three decimals.
pub(super) fn push_us(text: &mut Vec<u8>, time_ns: u64) {
    push_number(text, time_ns / 1000);
    let rest = time_ns % 1000;
    text.extend_from_slice(&[b'.', b'0' + (rest / 100) as u8, b'0' + (rest / 10 % 10) as u8, b'0' + (rest % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::{push_number, push_us};

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        push(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_and_times_as_formatted() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, 999_999, 1_000_256, u64::MAX] {
            assert_eq!(text(|text| push_number(text, number)), number.to_string());
            assert_eq!(text(|text| push_us(text, number)), format!("{}.{:03}", number / 1000, number % 1000));
        }
    }
}
