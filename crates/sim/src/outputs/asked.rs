//! Which outputs a run is asked for beside its result, and what the options say.

use crate::config::ConfigError;
use crate::time::{self, to_latest};
use std::ops::Range;
use std::path::PathBuf;

const DEFAULT_INTERVAL_NS: u64 = 100_000_000;
const DEFAULT_WINDOW_NS: u64 = 100_000_000;
/// Below this, intervals would cost more than the simulation.
const LEAST_INTERVAL_NS: u64 = 1000;

/// What a run writes beside its result. Nothing by default, which costs nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// CSV of all measured requests.
    pub latency_log: Option<PathBuf>,
    /// CSV of all page operations and erases.
    pub operation_log: Option<PathBuf>,
    /// CSV of intervals of simulated time.
    pub series: Option<PathBuf>,
    /// Length of intervals, for the series and for the log of histograms.
    pub series_interval_ns: u64,
    /// HdrHistogram interval log, version 2.
    pub hdr_log: Option<PathBuf>,
    /// Timeline as Chrome trace events.
    pub timeline: Option<PathBuf>,
    /// Simulated time that the timeline shows; `None` for 100 ms from the first measured arrival.
    pub timeline_window: Option<Range<u64>>,
    /// The result in the form of fio's JSON too.
    pub fio: bool,
    /// The drive as the run leaves it.
    pub save_drive: Option<PathBuf>,
}

impl Default for Outputs {
    fn default() -> Self {
        Self {
            latency_log: None,
            operation_log: None,
            series: None,
            series_interval_ns: DEFAULT_INTERVAL_NS,
            hdr_log: None,
            timeline: None,
            timeline_window: None,
            fio: false,
            save_drive: None,
        }
    }
}

impl Outputs {
    /// What pairs of key and text ask for: files by `latency_log`, `operation_log`, `series`, `hdr_log` and `timeline`; `series_interval`,
    /// `timeline_window`, `fio`, `save_drive`.
    pub fn from_pairs(pairs: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut asked = Self::default();
        let mut interval = None;
        for (key, value) in pairs {
            match key.as_str() {
                "latency_log" => asked.latency_log = Some(value.into()),
                "operation_log" => asked.operation_log = Some(value.into()),
                "series" => asked.series = Some(value.into()),
                "hdr_log" => asked.hdr_log = Some(value.into()),
                "timeline" => asked.timeline = Some(value.into()),
                "series_interval" => interval = Some(parse_interval(value)?),
                "timeline_window" => asked.timeline_window = Some(parse_window(value)?),
                "fio" => asked.fio = value == "true",
                "save_drive" => asked.save_drive = Some(value.into()),
                _ => {
                    let keys = "latency_log, operation_log, series, series_interval, hdr_log, timeline, timeline_window, fio, save_drive";
                    return Err(ConfigError(format!("unknown output {key}: allowed is {keys}")));
                }
            }
        }
        if interval.is_some() && asked.series.is_none() && asked.hdr_log.is_none() {
            return Err(ConfigError("series_interval without an output that has intervals: allowed only with series or hdr_log".into()));
        }
        if asked.timeline_window.is_some() && asked.timeline.is_none() {
            return Err(ConfigError("timeline_window without a timeline: allowed only with timeline".into()));
        }
        asked.series_interval_ns = interval.unwrap_or(DEFAULT_INTERVAL_NS);
        Ok(asked)
    }

    /// Whether nothing is to be recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self { series_interval_ns: self.series_interval_ns, save_drive: self.save_drive.clone(), ..Self::default() }
    }

    /// The time that a timeline shows if the first measured request arrives at `start_ns`.
    pub(super) fn window(&self, start_ns: u64) -> Range<u64> {
        self.timeline_window.clone().unwrap_or(start_ns..start_ns + DEFAULT_WINDOW_NS)
    }
}

fn parse_interval(text: &str) -> Result<u64, ConfigError> {
    time::parse(text).filter(|time| *time >= LEAST_INTERVAL_NS).ok_or_else(|| {
        let allowed = concat!("a time from 1us ", to_latest!(), " in whole nanoseconds, as in 250us, 100ms or 1.5s");
        ConfigError(format!("series_interval = {text}: allowed is {allowed}"))
    })
}

/// `START..END`; without START from 0 on, without END up to the end of the run.
fn parse_window(text: &str) -> Result<Range<u64>, ConfigError> {
    let parsed = text.split_once("..").and_then(|(start, end)| {
        let start = if start.is_empty() { Some(0) } else { time::parse(start) };
        let end = if end.is_empty() { Some(u64::MAX) } else { time::parse(end) };
        Some(start?..end?)
    });
    parsed.filter(|window| window.start < window.end).ok_or_else(|| {
        let example = "as in 1.5s..1.6s, ..250us or 10ms.. (units ns, us, ms, s, min, h)";
        let allowed = format!("START..END with START before END, {example}, in whole nanoseconds and {}", to_latest!());
        ConfigError(format!("timeline_window = {text}: allowed is {allowed}"))
    })
}

#[cfg(test)]
mod tests {
    use super::{parse_window, to_latest};

    #[test]
    fn messages_say_how_long_and_how_fine_times_may_be() {
        for text in ["9300000000s", "0.0001us"] {
            let error = super::parse_interval(text).unwrap_err().to_string();
            assert!(error.contains(to_latest!()) && error.contains("whole nanoseconds"), "{error}");
            let error = parse_window(&format!("0s..{text}")).unwrap_err().to_string();
            assert!(error.contains(to_latest!()) && error.contains("whole nanoseconds"), "{error}");
        }
    }

    #[test]
    fn windows_may_be_open() {
        assert_eq!(parse_window("1.5s..1.6s").unwrap(), 1_500_000_000..1_600_000_000);
        assert_eq!(parse_window("..2us").unwrap(), 0..2000);
        assert_eq!(parse_window("7ns..").unwrap(), 7..u64::MAX);
        assert_eq!(parse_window("..").unwrap(), 0..u64::MAX);
        for text in ["", "1s", "2s..1s", "1s..1s", "a..b", "1..2", "1s..2s..3s"] {
            assert!(parse_window(text).is_err(), "{text}");
        }
    }
}
