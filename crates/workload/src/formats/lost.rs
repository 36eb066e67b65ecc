//! What tracers write into a recording when events were lost, because a buffer was full or had been written over. Each sentence is
//! known from the program that prints it; a line is looked at only if it is no event.

use crate::gate::Gate;

/// Counts the events that a line says were lost; whether it says so. One that tells no number counts as one event.
#[cold]
pub(crate) fn count(line: &[u8], gate: &mut Gate) -> bool {
    let lost = lost_events(line);
    gate.lose(lost.unwrap_or(0));
    lost.is_some()
}

/// The events that a line says were lost.
fn lost_events(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?.trim();
    // The kernel's text of a buffer: what was written over is gone.
    if let Some(counts) = line.strip_prefix("# entries-in-buffer/entries-written:") {
        let (kept, written) = counts.split_whitespace().next()?.split_once('/')?;
        return Some(number(written)?.saturating_sub(number(kept)?)).filter(|lost| *lost > 0);
    }
    // blkparse's summary: gaps in the sequence, and how many events they are.
    if let Some(skips) = line.strip_prefix("Skips:") {
        return number(skips.split_once('(')?.1).filter(|lost| *lost > 0);
    }
    // The kernel and trace-cmd, before the first event behind the gap.
    if line.starts_with("CPU:") {
        let inside = line.split_once('[')?.1.strip_suffix(']')?;
        let is_lost = inside.starts_with("LOST ") || inside.ends_with(" DROPPED");
        return is_lost.then(|| first_number(inside).unwrap_or(1));
    }
    // perf script, whatever stands before it: a record of its own.
    if let Some(at) = line.find("PERF_RECORD_LOST") {
        return Some(first_number(&line[at..]).unwrap_or(1)).filter(|lost| *lost > 0);
    }
    SENTENCES.iter().find_map(|(before, behind)| {
        let rest = &line[line.find(before)? + before.len()..];
        let is_said = without_share(rest[digits(rest)..].trim_start()).starts_with(behind);
        number(rest).filter(|lost| is_said && *lost > 0)
    })
}

/// A text without the share of all events that blktrace gives in brackets: `(  7.0%) dropped events`.
fn without_share(text: &str) -> &str {
    let share = text.strip_prefix('(').and_then(|inside| inside.split_once("%)"));
    share.map_or(text, |(_, behind)| behind.trim_start())
}

/// What stands before and behind the number in messages: of bcc's tools; of perf record on standard error, old and new; of blktrace, of each device and
/// of all; of Windows' xperf and tracerpt.
const SENTENCES: [(&str, &str); 12] = [
    ("Possibly lost ", "samples"),
    ("Possibly lost ", "events"),
    ("and lost ", "chunks"),
    ("LOST ", "event"),
    ("Lost ", "event"),
    ("lost ", "event"),
    ("events (dropped ", ")"),
    ("You have ", "dropped events"),
    ("Events Lost: ", ""),
    ("EventsLost: ", ""),
    ("Buffers lost: ", ""),
    ("BuffersLost: ", ""),
];

/// Bytes of the number that a text begins with, which may have commas in it.
fn digits(text: &str) -> usize {
    text.find(|letter: char| !letter.is_ascii_digit() && letter != ',').unwrap_or(text.len())
}

/// This number.
fn number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    text[..digits(text)].replace(',', "").parse().ok()
}

/// The first number in a text.
fn first_number(text: &str) -> Option<u64> {
    number(&text[text.find(|letter: char| letter.is_ascii_digit())?..])
}

#[cfg(test)]
mod tests {
    use super::lost_events;

    #[test]
    fn what_tracers_say_of_lost_events_is_understood() {
        for (line, expected) in [
            ("CPU:1 [LOST 86000 EVENTS]", Some(86_000)),
            ("CPU:12 [LOST EVENTS]", Some(1)),
            ("CPU:7 [204600 EVENTS DROPPED]", Some(204_600)),
            ("CPU:7 [EVENTS DROPPED]", Some(1)),
            ("# entries-in-buffer/entries-written: 64000/150000   #P:4", Some(86_000)),
            ("# entries-in-buffer/entries-written: 64000/64000   #P:4", None),
            ("Skips: 3 forward (1,234 -   0.2%)", Some(1234)),
            ("Skips: 3 forward (1234 -   0.2%)", Some(1234)),
            ("Skips: 0 forward (0 -   0.0%)", None),
            ("Possibly lost 29 samples", Some(29)),
            ("Possibly lost 29 events (30 in total), consider using a bigger buffer", Some(29)),
            ("Processed 271211 events and lost 5 chunks!", Some(5)),
            ("swapper     0 [003]  1.000000001: PERF_RECORD_LOST lost 9", Some(9)),
            ("PERF_RECORD_LOST_SAMPLES lost 0", None),
            ("CPU 3: LOST 17 events!", Some(17)),
            ("You have 12 dropped events", Some(12)),
            ("You have 7 (  7.0%) dropped events", Some(7)),
            ("You have 7 (  7.0%) events", None),
            ("  Total:                 22671 events (dropped 9000),     1063 KiB data", Some(9000)),
            ("  Total:                 22671 events (dropped 0),     1063 KiB data", None),
            ("Events Lost: 5", Some(5)),
            ("OS Version: 10.0, Events Lost: 0, Buffers lost: 3", Some(3)),
            ("CPU 3 is empty", None),
            ("CPU3 (sda):", None),
            (" Reads Queued:          20,       80KiB  Writes Queued:          0,        0KiB", None),
            ("the lost event of a process", None),
            ("", None),
        ] {
            assert_eq!(lost_events(line.as_bytes()), expected, "{line}");
        }
    }
}
