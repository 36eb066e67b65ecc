//! What is likely to surprise in a result, told beside it.

use crate::result::RunResult;
use crate::simulation::{Simulation, with_engine};

/// What is likely to surprise in the result.
pub(super) fn warnings_after(simulation: &Simulation, result: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    // A closed loop is there to saturate the device.
    let is_open_loop = simulation.config().run.queue_depth == 0;
    let [mean, busiest] = [result.workload.offered_load, result.workload.busiest_load].map(|load| load.unwrap_or(0.0));
    if is_open_loop && busiest > 0.9 {
        let what = if mean > 0.9 {
            format!("offered load is {mean:.2}: the device cannot keep up")
        } else {
            format!("offered load is {mean:.2}, but {busiest:.2} on the busiest bus or die: that one cannot keep up")
        };
        warnings.push(format!("{what}, and latencies measure how long the trace is rather than the device"));
    }
    // In a closed loop there are always some, and a few change nothing.
    let backlog = simulation.measured.backlog;
    if is_open_loop && backlog >= 10 && backlog * 10 > simulation.measured.requests() {
        warnings.push(format!(
            "measuring began while {backlog} requests of the warm-up were under way: collections, evictions and commits to which they lead \
             later count as those of the measured requests"
        ));
    }
    warnings.extend(warnings_of_failures(simulation, result));
    warnings.extend(warnings_of_space(result));
    if let Some(reached) = result.precondition.filter(|reached| !reached.steady) {
        let times = reached.overwritten_bytes as f64 / simulation.space_bytes() as f64;
        warnings.push(format!(
            "collection was not steady after {times:.1} times the logical space was overwritten: write amplification and latencies still move"
        ));
    }
    let left_out = result.workload.left_out;
    if left_out > 0 {
        warnings.push(format!("{left_out} requests do not fit into the logical space and were left out (--on-error skip)"));
    }
    let unmapped = result.requests.unmapped_reads;
    let pages = unmapped + result.flash_ops.reads.host;
    if unmapped * 100 > pages {
        warnings.push(format!(
            "{unmapped} page reads found nothing written and cost no flash access ({:.1} % of the pages read): \
             --fill, or --set unwritten=prefill, gives them something to read",
            100.0 * unmapped as f64 / pages as f64
        ));
    }
    warnings
}

/// What failures have cost for good.
fn warnings_of_failures(simulation: &Simulation, result: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    let lost = |pages: u64| if pages == 1 { "1 host page is lost".into() } else { format!("{pages} host pages are lost") };
    let gone = with_engine!(&simulation.engine, engine => engine.count_gone()) as u64;
    if let of_flash @ 1.. = result.losses.host_pages.saturating_sub(gone) {
        let why = match result.window.is_none() {
            true => "more has failed than the scheme survives",
            false => {
                "they were written shortly before a part failed, and had no redundancy yet, or more has failed than the scheme survives"
            }
        };
        warnings.push(format!("{}: {why}", lost(of_flash)));
    }
    if let failed @ 1.. = result.requests.failed.lost {
        let requests = if failed == 1 { "request" } else { "requests" };
        warnings.push(format!("{failed} {requests} failed because data are lost"));
    }
    let failed = result.buffer.map_or(0, |buffer| buffer.failed_evictions.no_space + buffer.failed_evictions.lost);
    let what = if failed == 1 { "1 write of buffered pages".into() } else { format!("{failed} writes of buffered pages") };
    match (failed, gone) {
        (0, 0) => {}
        (0, pages) if result.buffer.is_none() => warnings.push(format!(
            "{}: the host had its answer (write_completes, parity_in_response) before a part failed, and the operation that wrote them did not find all its pages",
            lost(pages)
        )),
        (0, pages) => warnings.push(format!("{}: the data buffer had taken what it could not write to flash", lost(pages))),
        (_, 0) => warnings.push(format!("{what} failed after the host had its answer; the pages were written anew or discarded since")),
        (_, pages) => warnings.push(format!("{what} failed after the host had its answer: {}", lost(pages))),
    }
    if let lost @ 1.. = result.losses.pages_not_rebuilt {
        let pages = if lost == 1 { "page was" } else { "pages were" };
        warnings.push(format!("{lost} {pages} not brought back by the end of the run, those of redundancy included"));
    }
    warnings
}

/// Requests that came to nothing for lack of space, or that did not end.
fn warnings_of_space(result: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    let (requests, of) = (&result.requests, result.workload.requests);
    if let failed @ 1.. = requests.failed.no_space {
        let why = match !result.faults.is_empty() {
            true => "no page is left where what they write belongs, as parts of the device have failed",
            false => "the collector found nothing to free for what they write",
        };
        warnings.push(format!("{failed} of {of} requests failed for lack of space: {why}"));
    }
    if let unfinished @ 1.. = requests.unfinished {
        warnings.push(format!("{unfinished} of {of} requests were left unfinished"));
    }
    warnings
}

/// What verification found wrong: what, when, and in how many of its checks.
pub(super) fn warnings_of_verification(simulation: &Simulation, result: &RunResult) -> Vec<String> {
    let Some(verify) = &result.verify else { return Vec::new() };
    let seconds = |time_ns: Option<u64>| time_ns.unwrap_or(0) as f64 / 1e9;
    let mut warnings = Vec::new();
    let when = format!(
        "{} of {} checks found something wrong, the first at {} s, the last at {} s",
        verify.checks_failed,
        verify.checks,
        seconds(verify.first_failed_ns),
        seconds(verify.last_failed_ns)
    );
    if let wrong @ 1.. = verify.found.mismatches {
        warnings.push(format!("verification: {wrong} reads or stored pages hold what no request explains ({when})"));
    }
    if let lost @ 1.. = verify.found.pages_lost {
        let unit = result.protects;
        let why = match with_engine!(&simulation.engine, engine => engine.scheme().has_window()) {
            true => format!("; that is the window of data loss of {}", simulation.config.scheme.name),
            false => String::new(),
        };
        let pages = if lost == 1 { "page" } else { "pages" };
        warnings.push(format!("verification: {lost} {pages} would have been lost with a {unit}{why} ({when})"));
    }
    warnings
}
