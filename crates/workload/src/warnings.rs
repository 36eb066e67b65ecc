//! What of a recording is likely to mislead whoever replays it.

use crate::summary::TraceSummary;

/// Late requests from which on something can be said of how they lie.
const FEWEST_LATE: u64 = 16;

/// Late requests for each step back of the clock from which on logs were joined. Of the traces in docs/traces.md, none that is one recording has more
/// than 2.
const LATE_A_STEP: u64 = 4;

impl TraceSummary {
    /// A sentence for each thing that was dropped, guessed or is missing, with its number and what can be done about it. Times concern
    /// only those who replay them (`uses_times`).
    pub fn warnings(&self, uses_times: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.absent.is_empty() {
            let absent = self.absent.join(", ");
            warnings.push(format!("--device-filter: the part of the trace that was read has no requests of {absent}"));
        }
        if self.skipped > 0 {
            let first = self.faults.first().map(String::as_str).unwrap_or_default();
            warnings.push(format!("{} lines or records were skipped; the first error: {first}", self.skipped));
        }
        if self.lost_events > 0 {
            warnings.push(format!(
                "the recording lacks {} events, which its tracer had no room for: load, footprint and latencies are not those of the \
                 workload (record again with larger buffers)",
                self.lost_events
            ));
        }
        for (what, count) in &self.unsupported {
            warnings.push(format!("not replayed: {count} {what}"));
        }
        if self.reissued > 0 {
            warnings.push(format!(
                "{} requests were issued again after the device had given them back (requeue): each counts once, at its first issue",
                self.reissued
            ));
        }
        if self.truncated > 0 {
            warnings.push("the last line or record is cut off, and was left out: the recording may lack its end".to_owned());
        }
        warnings.extend(self.disorder());
        let placed = self.device_list.iter().filter(|device| device.is_kept).count();
        if self.device_list.iter().any(|device| device.base_bytes > 0) {
            warnings.push(format!(
                "the address spaces of {placed} devices were placed one after the other, and are replayed on one device (--device-filter chooses some)"
            ));
        }
        if let Some(tick_ns) = self.spread_tick_ns.filter(|_| uses_times) {
            let tick_s = tick_ns as f64 / 1e9;
            warnings.push(format!(
                "the trace's clock has ticks of {tick_s} s: requests were spread evenly over each tick, so shorter bursts are lost"
            ));
        }
        warnings.extend(self.assumed.iter().cloned());
        warnings
    }

    /// What was put into another order than that of the file, and what that means. Order counts in a closed loop too.
    fn disorder(&self) -> Option<String> {
        let late = self.out_of_order;
        let as_one = "sorted by time, as if they had been recorded at the same time by one clock (else run each by itself)";
        if let Some(line) = self.header_again {
            let times = match late {
                0 => "The times of each follow those of the one before, and nothing was moved".to_owned(),
                1 => format!("1 request is earlier than one recorded before it: they were {as_one}"),
                _ => format!("{late} requests are earlier than one recorded before them: they were {as_one}"),
            };
            return Some(format!("the header stands again at line {line}: {} recordings were joined. {times}", self.joined + 1));
        }
        if self.looks_joined() {
            return Some(format!(
                "{late} of the requests read are earlier than one recorded before them, in {} back: the file looks like several logs joined. It was \
                 {as_one}",
                if self.steps_back == 1 { "1 step".to_owned() } else { format!("{} steps", self.steps_back) }
            ));
        }
        // What is late by a tick of a clock that is no better may be in order.
        if self.late_ns <= self.spread_tick_ns.unwrap_or_default() {
            return None;
        }
        let by = format!("by up to {} s", self.late_ns as f64 / 1e9);
        Some(match late {
            1 => format!("1 request is recorded behind one that came later, {by}, and was put in order of time"),
            _ => format!("{late} requests are recorded behind others that came later, {by}, and were put in order of time"),
        })
    }

    /// Whether the clock goes back so rarely, and to such long stretches of late requests, as where a further log begins. What completes out of order
    /// goes back nearly as often as it has late requests.
    fn looks_joined(&self) -> bool {
        self.out_of_order >= FEWEST_LATE && self.out_of_order >= LATE_A_STEP * self.steps_back
    }
}
