//! A cursor over the fields of one line of text, without allocation and without looking at a byte twice.

use crate::digits::{POWERS_OF_TEN, leading_digits};
use crate::error::{RecordError, excerpt};
use crate::position::Position;
use crate::traits::MINOR_BITS;
use crate::unit::TimeUnit;

/// Bytes that must follow the last newline of the text a `Line` is laid over, whatever they hold.
pub const PADDING: usize = 8;

/// A sector, in every trace format that counts in sectors or blocks.
pub const SECTOR_BYTES: u64 = 512;

/// Characters of a field that a message shows.
pub(crate) const LONGEST_FIELD: usize = 40;

/// What is expected instead of a decimal comma.
pub const NO_COMMA: &str = "a decimal number, with a point before its fraction and not a comma";

/// A separator that means "one or more blanks".
pub const BLANKS: u8 = b' ';

/// The cursor. `SEPARATOR` stands between fields; blanks around it are allowed. Field methods are called in the order of the
/// columns; each expects the separator before its field, but for the first. Decimal numbers may also be hexadecimal, behind 0x, only if
/// `WITH_HEXADECIMAL` says so: all but one format know which of the two they have, and need not look.
///
/// The methods for faults take a copy, so that nothing keeps a reference and the cursor can live in registers.
#[derive(Clone, Copy)]
pub struct Line<'a, const SEPARATOR: u8, const WITH_HEXADECIMAL: bool = false> {
    text: &'a [u8],
    columns: &'static str,
    start: usize,
    position: usize,
    /// The current field: its name and where it begins.
    name: &'static str,
    field: usize,
    is_first: bool,
    device_at: usize,
    size_at: usize,
}

impl<'a, const SEPARATOR: u8> Line<'a, SEPARATOR> {
    /// The line that begins at `start`. `text` holds its newline and `PADDING` bytes behind it; `columns` is what a
    /// message says was expected.
    #[inline(always)]
    pub fn new(text: &'a [u8], start: usize, columns: &'static str) -> Self {
        Self::at(text, start, columns)
    }

    /// Moves to the end of a line that has been read in another text (`with_blanks`, changed byte by byte): fields are where they are there.
    pub fn end_as(&mut self, other: &Line<'_, SEPARATOR, true>) {
        let here = |place: usize| self.start + (place - other.start);
        (self.device_at, self.size_at) = (here(other.device_at), here(other.size_at));
        self.position = self.start + self.with_blanks().len();
    }
}

impl<'a, const SEPARATOR: u8> Line<'a, SEPARATOR, true> {
    /// The same of a text in which numbers may be hexadecimal.
    pub fn with_hexadecimal(text: &'a [u8], start: usize, columns: &'static str) -> Self {
        Self::at(text, start, columns)
    }
}

impl<'a, const SEPARATOR: u8, const WITH_HEXADECIMAL: bool> Line<'a, SEPARATOR, WITH_HEXADECIMAL> {
    #[inline(always)]
    fn at(text: &'a [u8], start: usize, columns: &'static str) -> Self {
        let mut line =
            Self { text, columns, start, position: start, name: "", field: start, is_first: true, device_at: start, size_at: start };
        line.skip_blanks();
        line
    }

    /// Whether nothing but blanks is left.
    #[inline(always)]
    pub fn is_at_end(&self) -> bool {
        matches!(self.text[self.position], b'\n' | b'\r')
    }

    /// Ends the line: returns where the next one begins. A field too many is a fault.
    #[inline(always)]
    pub fn finish(&mut self) -> Result<usize, Box<RecordError>> {
        self.skip_blanks();
        if self.text[self.position] == b'\r' {
            self.position += 1;
        }
        if self.text[self.position] != b'\n' {
            return Err(self.trailing());
        }
        Ok(self.position + 1)
    }

    /// Passes over further fields, whatever they hold.
    #[inline(always)]
    pub fn skip_more_fields(&mut self) {
        let end = self.position;
        self.skip_blanks();
        let is_apart = if SEPARATOR == BLANKS { self.position > end } else { self.text[self.position] == SEPARATOR };
        if is_apart {
            self.position += self.rest().len();
        }
    }

    /// What is left of the line, blanks at the end included.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        let rest = &self.text[self.position..];
        &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
    }

    /// Passes over `bytes` of what is left and blanks behind them; the next field begins there.
    #[inline(always)]
    pub fn advance(&mut self, bytes: usize) {
        self.position += bytes;
        self.is_first = true;
        self.skip_blanks();
    }

    /// A whole number.
    #[inline(always)]
    pub fn whole(&mut self, name: &'static str) -> Result<u64, Box<RecordError>> {
        self.next_field(name)?;
        if WITH_HEXADECIMAL && self.eight()[..2].eq_ignore_ascii_case(b"0x") { self.hexadecimal_digits("0x") } else { self.digits() }
    }

    /// A time, in nanoseconds. It may have a decimal point, but not if it counts nanoseconds or ticks; digits below a nanosecond are cut off.
    #[inline(always)]
    pub fn time(&mut self, name: &'static str, unit: TimeUnit) -> Result<u64, Box<RecordError>> {
        let decimals = unit.decimals();
        let whole = self.scaled(name, POWERS_OF_TEN[decimals as usize])?;
        if self.text[self.position] != b'.' {
            return Ok(whole);
        }
        match unit {
            TimeUnit::Ns => return Err(self.unexpected("whole nanoseconds (--time-unit sets another unit)")),
            TimeUnit::Ticks => return Err(self.unexpected("whole ticks of 100 ns (--time-unit sets another unit)")),
            TimeUnit::Us | TimeUnit::Ms | TimeUnit::S => {}
        }
        self.position += 1;
        let fraction = self.fraction(decimals)?;
        whole.checked_add(fraction).ok_or_else(|| self.too_large())
    }

    /// A device, volume, ASU or LUN number.
    #[inline(always)]
    pub fn device(&mut self, name: &'static str) -> Result<u32, Box<RecordError>> {
        self.next_field(name)?;
        self.device_at = self.field;
        // Nearly always one digit: two predictable branches instead of a count that the rest of the line waits for.
        let (first, second) = (self.text[self.position], self.text[self.position + 1]);
        if first.is_ascii_digit() && !second.is_ascii_digit() {
            self.position += 1;
            return Ok(u32::from(first - b'0'));
        }
        let number = self.digits()?;
        u32::try_from(number).map_err(|_| self.unexpected("a device number of at most 4294967295"))
    }

    /// An address in units of `unit_bytes`, in bytes.
    #[inline(always)]
    pub fn offset(&mut self, name: &'static str, unit_bytes: u64) -> Result<u64, Box<RecordError>> {
        self.scaled(name, unit_bytes)
    }

    /// A length in units of `unit_bytes`, in bytes.
    #[inline(always)]
    pub fn size(&mut self, name: &'static str, unit_bytes: u64) -> Result<u64, Box<RecordError>> {
        let size = self.scaled(name, unit_bytes)?;
        self.size_at = self.field;
        Ok(size)
    }

    /// A length given by the last of its units, counted from 0, in bytes.
    #[inline(always)]
    pub fn size_below_last(&mut self, name: &'static str, unit_bytes: u64) -> Result<u64, Box<RecordError>> {
        let last = self.whole(name)?;
        self.size_at = self.field;
        last.checked_add(1).and_then(|units| units.checked_mul(unit_bytes)).ok_or_else(|| self.too_large())
    }

    /// A word, which may be empty where the separator is not a blank.
    #[inline(always)]
    pub fn word(&mut self, name: &'static str) -> Result<&'a [u8], Box<RecordError>> {
        self.next_field(name)?;
        Ok(self.rest_of_field())
    }

    /// A field whatever it holds, without the blanks around it. It may be empty, and hold blanks, where the separator is not a blank.
    #[inline(always)]
    pub fn field(&mut self, name: &'static str) -> Result<&'a [u8], Box<RecordError>> {
        self.next_field(name)?;
        let rest = &self.text[self.position..];
        let end = match SEPARATOR {
            BLANKS => memchr::memchr3(b' ', b'\t', b'\n', rest),
            _ => memchr::memchr2(SEPARATOR, b'\n', rest),
        };
        let length = end.unwrap_or(rest.len());
        self.position += length;
        Ok(rest[..length].trim_ascii_end())
    }

    /// A field that may hold the separator: it ends where `count` more fields follow. The separator must be blanks.
    #[inline(always)]
    pub fn field_before_last(&mut self, name: &'static str, count: usize) -> Result<&'a [u8], Box<RecordError>> {
        self.next_field(name)?;
        let mut field = self.rest().trim_ascii_end();
        for _ in 0..count {
            let end = memchr::memrchr2(b' ', b'\t', field).unwrap_or(0);
            field = field[..end].trim_ascii_end();
        }
        if field.is_empty() {
            return Err(self.fault(self.field, format!("fewer than {count} fields follow {name}"), self.columns));
        }
        self.position += field.len();
        Ok(field)
    }

    /// A whole number in hexadecimal, behind `prefix`; if that is empty, behind `0x` or nothing.
    #[inline(always)]
    pub fn hexadecimal(&mut self, name: &'static str, prefix: &'static str) -> Result<u64, Box<RecordError>> {
        self.next_field(name)?;
        self.hexadecimal_digits(prefix)
    }

    /// The same as a length in bytes.
    #[inline(always)]
    pub fn hexadecimal_size(&mut self, name: &'static str, prefix: &'static str) -> Result<u64, Box<RecordError>> {
        let size = self.hexadecimal(name, prefix)?;
        self.size_at = self.field;
        Ok(size)
    }

    /// The numbers of a Linux device in two fields, as one (`DeviceNames::MajorMinor`).
    #[inline(always)]
    pub fn major_minor(&mut self, major_name: &'static str, minor_name: &'static str) -> Result<u32, Box<RecordError>> {
        let major = self.device(major_name)?;
        if major >> (u32::BITS - MINOR_BITS) > 0 {
            return Err(self.unexpected("a major device number of at most 4095"));
        }
        let device_at = self.device_at;
        let minor = self.device(minor_name)?;
        if minor >> MINOR_BITS > 0 {
            return Err(self.unexpected("a minor device number of at most 1048575"));
        }
        self.device_at = device_at;
        Ok(major << MINOR_BITS | minor)
    }

    /// The numbers of a Linux device in one field (`8,16`), as one.
    #[inline(always)]
    pub fn major_comma_minor(&mut self, name: &'static str) -> Result<u32, Box<RecordError>> {
        self.next_field(name)?;
        self.device_at = self.field;
        let major = self.digits()?;
        if self.text[self.position] != b',' {
            return Err(self.unexpected("MAJOR,MINOR"));
        }
        self.position += 1;
        let minor = self.digits()?;
        if major >> (u32::BITS - MINOR_BITS) > 0 || minor >> MINOR_BITS > 0 {
            return Err(self.unexpected("a major device number of at most 4095 and a minor one of at most 1048575"));
        }
        Ok((major as u32) << MINOR_BITS | minor as u32)
    }

    /// Passes over the rest of the line, whatever it holds; returns where the next one begins.
    #[inline(always)]
    pub fn skip(&self) -> usize {
        let rest = &self.text[self.position..];
        self.position + memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1)
    }

    /// The whole line, without blanks around it.
    pub fn whole_line(&self) -> &'a [u8] {
        let rest = &self.text[self.start..];
        rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())].trim_ascii()
    }

    /// The whole line, blanks included.
    pub fn with_blanks(&self) -> &'a [u8] {
        let rest = &self.text[self.start..];
        &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
    }

    /// The line before it, without blanks around it, as far as it is still in memory.
    pub fn line_before(&self) -> &'a [u8] {
        let before = self.text[..self.start].trim_ascii_end();
        before[memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1)..].trim_ascii()
    }

    /// The fault that the current field is not what it should be.
    #[cold]
    pub fn unexpected(self, expected: &str) -> Box<RecordError> {
        let token = self.token();
        self.fault(self.field, format!("{} is '{token}'", self.name), expected)
    }

    #[inline(always)]
    fn skip_blanks(&mut self) {
        while self.text[self.position] == b' ' || SEPARATOR != b'\t' && self.text[self.position] == b'\t' {
            self.position += 1;
        }
    }

    /// Moves to the beginning of the next field.
    #[inline(always)]
    fn next_field(&mut self, name: &'static str) -> Result<(), Box<RecordError>> {
        if !self.is_first {
            let end = self.position;
            if SEPARATOR == BLANKS && self.text[end] == b' ' && self.text[end + 1] > b' ' {
                // One blank, and then the field: nearly always.
                self.position += 1;
            } else if SEPARATOR == BLANKS {
                self.skip_blanks();
                if self.position == end && !self.is_at_end() {
                    return Err(self.trailing());
                }
                if self.is_at_end() {
                    return Err(self.missing(name));
                }
            } else {
                self.skip_blanks();
                if self.text[self.position] != SEPARATOR {
                    return Err(if self.is_at_end() { self.missing(name) } else { self.trailing() });
                }
                self.position += 1;
                self.skip_blanks();
            }
        }
        self.is_first = false;
        self.name = name;
        self.field = self.position;
        Ok(())
    }

    /// The field from its beginning to its end.
    #[inline(always)]
    fn rest_of_field(&mut self) -> &'a [u8] {
        while !self.is_field_end(self.position) {
            self.position += 1;
        }
        &self.text[self.field..self.position]
    }

    /// The number at the cursor, in hexadecimal behind `prefix`.
    #[inline(always)]
    fn hexadecimal_digits(&mut self, prefix: &'static str) -> Result<u64, Box<RecordError>> {
        let word = self.rest_of_field();
        let is_prefix = |(start, _): &(&[u8], &[u8])| start.eq_ignore_ascii_case(prefix.as_bytes());
        let mut digits = word.split_at_checked(prefix.len()).filter(is_prefix).map_or(&[][..], |(_, digits)| digits);
        if let (true, [b'0', b'x' | b'X', behind @ ..]) = (prefix.is_empty(), digits) {
            digits = behind;
        }
        let mut value = 0_u64;
        for digit in digits {
            let Some(digit) = char::from(*digit).to_digit(16) else {
                return Err(self.not_hexadecimal(prefix));
            };
            if value >> 60 != 0 {
                return Err(self.too_large());
            }
            value = value << 4 | u64::from(digit);
        }
        if digits.is_empty() { Err(self.not_hexadecimal(prefix)) } else { Ok(value) }
    }

    /// The number at the cursor.
    #[inline(always)]
    fn digits(&mut self) -> Result<u64, Box<RecordError>> {
        let (count, value) = leading_digits(self.eight());
        if count == 8 {
            return self.more_digits(value);
        }
        if count == 0 {
            return Err(self.unexpected("a decimal number"));
        }
        self.position += count;
        Ok(value)
    }

    /// The rest of a number of which the eight digits at the cursor are `value`.
    #[inline(always)]
    fn more_digits(&mut self, mut value: u64) -> Result<u64, Box<RecordError>> {
        loop {
            // Eight, not a count: the branch that led here lets the processor go on before the digits are counted.
            self.position += 8;
            let (count, more) = leading_digits(self.eight());
            let Some(sum) = value.checked_mul(POWERS_OF_TEN[count]).and_then(|shifted| shifted.checked_add(more)) else {
                return Err(self.too_large());
            };
            value = sum;
            if count < 8 {
                self.position += count;
                return Ok(value);
            }
        }
    }

    #[inline(always)]
    fn scaled(&mut self, name: &'static str, unit: u64) -> Result<u64, Box<RecordError>> {
        let number = self.whole(name)?;
        number.checked_mul(unit).ok_or_else(|| self.too_large())
    }

    /// The digits behind a decimal point, in units of 10^-`decimals`.
    #[inline(always)]
    fn fraction(&mut self, decimals: u32) -> Result<u64, Box<RecordError>> {
        let (count, value) = leading_digits(self.eight());
        if count == 0 {
            return Err(self.unexpected("a decimal number"));
        }
        if count < 8 && count as u32 <= decimals {
            self.position += count;
            return Ok(value * POWERS_OF_TEN[decimals as usize - count]);
        }
        self.long_fraction(decimals)
    }

    /// Many decimals.
    fn long_fraction(&mut self, decimals: u32) -> Result<u64, Box<RecordError>> {
        let (mut count, mut value) = (0, 0);
        while self.text[self.position].is_ascii_digit() {
            if count < decimals {
                value = value * 10 + u64::from(self.text[self.position] - b'0');
                count += 1;
            }
            self.position += 1;
        }
        Ok(value * 10_u64.pow(decimals - count))
    }

    #[inline(always)]
    fn eight(&self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.text[self.position..self.position + PADDING]);
        bytes
    }

    #[inline(always)]
    fn is_field_end(&self, position: usize) -> bool {
        let byte = self.text[position];
        byte == SEPARATOR || matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
    }

    /// The current field as text for a message.
    fn token(self) -> String {
        let length = (self.field..self.text.len()).take_while(|&position| !self.is_field_end(position)).count();
        excerpt(&self.text[self.field..self.field + length], LONGEST_FIELD)
    }

    /// The fault that the current field is a number beyond all that is counted.
    #[cold]
    fn too_large(self) -> Box<RecordError> {
        self.unexpected("a number that fits 64 bits in nanoseconds or bytes")
    }

    #[cold]
    fn not_hexadecimal(self, prefix: &str) -> Box<RecordError> {
        self.unexpected(&if prefix.is_empty() {
            "a hexadecimal number".to_owned()
        } else {
            format!("a hexadecimal number behind {prefix}")
        })
    }

    #[cold]
    fn missing(self, name: &str) -> Box<RecordError> {
        self.fault(self.position, format!("the line ends before {name}"), self.columns)
    }

    /// What follows the current field is neither a separator nor the end of the line.
    #[cold]
    fn trailing(self) -> Box<RecordError> {
        if self.is_field_end(self.position) || self.is_field_end(self.position - 1) {
            let name = if self.name.is_empty() { "a carriage return" } else { self.name };
            return self.fault(self.position, format!("something follows {name}"), self.columns);
        }
        self.unexpected(match self.text[self.position..self.position + 2] {
            [b',', b'0'..=b'9'] => NO_COMMA,
            _ => "a decimal number",
        })
    }

    fn fault(self, at: usize, what: String, expected: &str) -> Box<RecordError> {
        RecordError::malformed((at - self.start + 1) as u64, what, expected)
    }
}

impl<const SEPARATOR: u8, const WITH_HEXADECIMAL: bool> Position for Line<'_, SEPARATOR, WITH_HEXADECIMAL> {
    #[cold]
    fn device_fault(self, what: String, expected: &str) -> Box<RecordError> {
        self.fault(self.device_at, what, expected)
    }

    #[cold]
    fn size_fault(self, what: String, expected: &str) -> Box<RecordError> {
        self.fault(self.size_at, what, expected)
    }

    #[cold]
    fn line_fault(self, what: String, expected: &str) -> Box<RecordError> {
        self.fault(self.start, what, expected)
    }
}
