//! What a recording holds beside requests, and what it lacks.

use crate::error::TraceError;
use crate::options::OnError;
use std::collections::BTreeMap;

/// What of a write is not replayed, though the write is. A number whose bits say which of these it has (`parts`) tells all of one write.
const PARTS: [&str; 2] = ["flushes attached to writes (FW); the writes are kept", "forced unit access (WF); the writes are kept"];

/// The number of a write with a flush before it, or that is not to stay in a volatile cache, or both.
#[inline(always)]
pub(crate) fn parts(has_flush: bool, has_forced_access: bool) -> u16 {
    u16::from(has_flush) | u16::from(has_forced_access) << 1
}

/// What a number stands for.
fn parts_of(number: u16) -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().enumerate().filter(move |(bit, _)| number >> bit & 1 == 1).map(|(_, what)| what)
}

/// What a header is called that comes again.
pub(crate) const HEADERS_AGAIN: &str = "headers that come again";

/// Messages of skipped records that are kept.
const FAULTS_KEPT: usize = 3;

/// Recordings that are joined to the first one, as headers that come again show.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Joined {
    /// The line of the first such header.
    pub line: Option<u64>,
    /// How many there are.
    pub recordings: u64,
}

/// What is counted, for the summary.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Records that are no requests, by what they are.
    pub ignored: BTreeMap<&'static str, u64>,
    /// The last header that came again: its line, and how many requests came before it.
    header: Option<(u64, u64)>,
    /// The recordings that headers before it began.
    joined: Joined,
    /// Requests that no simulated device serves, by what they are.
    pub unsupported: BTreeMap<&'static str, u64>,
    /// Events that the recorder says it lost.
    pub lost_events: u64,
    /// Requests that were issued again after the device had given them back, and that count once.
    pub reissued: u64,
    /// Records that could not be read, and the first messages.
    pub skipped: u64,
    pub faults: Vec<String>,
    /// What is wrong with the last line or record, if it has no end.
    pub cut: Option<TraceError>,
    /// What the reader takes for granted, a sentence each.
    pub assumed: Vec<String>,
}

impl Found {
    /// Counts records that are no requests.
    pub fn ignore(&mut self, what: &'static str, count: u64) {
        let known = self.ignored.entry(what).or_default();
        *known = known.saturating_add(count);
    }

    /// Counts requests that no simulated device serves.
    pub fn leave_out(&mut self, what: &'static str, count: u64) {
        let known = self.unsupported.entry(what).or_default();
        *known = known.saturating_add(count);
    }

    /// Counts a header that comes again, at this line and behind so many requests.
    #[cold]
    pub fn begin_again(&mut self, line: u64, requests: u64) {
        self.ignore(HEADERS_AGAIN, 1);
        self.joined = self.joined(requests);
        self.header = Some((line, requests));
    }

    /// The recordings that are joined to the first one, after so many requests. A header between requests begins one.
    pub fn joined(&self, requests: u64) -> Joined {
        match self.header {
            Some((line, before)) if (1..requests).contains(&before) => {
                Joined { line: self.joined.line.or(Some(line)), recordings: self.joined.recordings + 1 }
            }
            _ => self.joined,
        }
    }

    /// Counts what of a write is not replayed.
    #[cold]
    pub fn drop_parts(&mut self, parts: u16) {
        parts_of(parts).for_each(|what| self.leave_out(what, 1));
    }

    /// The same of a write that turns out to have been counted before.
    pub fn take_parts_back(&mut self, parts: u16) {
        for what in parts_of(parts) {
            if let Some(count) = self.unsupported.get_mut(what) {
                *count -= 1;
            }
        }
        self.unsupported.retain(|_, count| *count > 0);
    }

    /// Counts events that the recorder says it lost.
    pub fn lose(&mut self, count: u64) {
        self.lost_events = self.lost_events.saturating_add(count);
    }

    /// Notes what the reader takes for granted.
    pub fn assume(&mut self, what: &str) {
        if !self.assumed.iter().any(|known| known == what) {
            self.assumed.push(what.to_owned());
        }
    }

    /// A record that cannot be read: counted if the user wants that, else the end. Errors of files always are.
    #[cold]
    pub fn refuse(&mut self, error: TraceError, on_error: OnError) -> Result<(), TraceError> {
        if on_error == OnError::Stop || !is_of_record(&error) {
            return Err(error);
        }
        self.skip(error.to_string());
        Ok(())
    }

    /// Counts what could not be read and was skipped.
    #[cold]
    pub fn skip(&mut self, message: String) {
        self.skipped += 1;
        if self.faults.len() < FAULTS_KEPT {
            self.faults.push(message);
        }
    }

    /// The last line or record, which has no end and is not whole: left out whatever the user wants.
    #[cold]
    pub fn cut_off(&mut self, error: TraceError) -> Result<(), TraceError> {
        if !is_of_record(&error) {
            return Err(error);
        }
        self.cut = Some(error);
        Ok(())
    }
}

fn is_of_record(error: &TraceError) -> bool {
    matches!(error, TraceError::Malformed { .. } | TraceError::MalformedRecord { .. })
}
