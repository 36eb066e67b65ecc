//! Warnings about results that are likely to mislead.

use crate::config::Warmup;
use crate::engine::Service;
use crate::result::RunResult;
use crate::result::types::Workload;
use crate::simulation::Simulation;
use flashraid_vocabulary::GcPace;

/// In use for more of the time, the busiest bus or die is the bottleneck of a device that falls behind.
const BOTTLENECK: f64 = 0.9;
/// Pages erased differ from those programmed by at most this share of these in a steady state.
const MOST_IMBALANCE: f64 = 0.1;

/// Warnings about what is likely to mislead in the result.
pub(super) fn warnings_after(simulation: &Simulation, result: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(result.workload.overloaded.then(|| warning_of_overload(&result.workload)));
    // A closed loop always has some, and a few do not matter.
    let (backlog, is_open_loop) = (simulation.measured.backlog, simulation.config().run.queue_depth == 0);
    if is_open_loop && backlog >= 10 && backlog * 10 > simulation.measured.requests() {
        warnings.push(format!(
            "measuring began with {backlog} warm-up requests outstanding: GC, evictions and commits that they cause later count as those of \
             the measured requests"
        ));
    }
    warnings.extend(warning_of_memory(simulation, result));
    warnings.extend(warnings_of_failures(simulation, result));
    warnings.extend(
        simulation.awaiting_replacement().iter().map(|(device, why)| format!("SSD {device} is to be replaced, and was not: {why}")),
    );
    warnings.extend(warnings_of_space(result));
    if let Some(reached) = result.precondition.filter(|reached| !reached.steady) {
        let times = reached.overwritten_bytes as f64 / simulation.space_bytes() as f64;
        warnings.push(format!(
            "GC did not reach steady state although {times:.1} times the logical space was overwritten: write amplification and latencies still drift"
        ));
    }
    warnings.extend(warning_of_streams(simulation));
    warnings.extend(warning_of_free_space(simulation, result));
    let left_out = result.workload.left_out;
    if left_out > 0 {
        warnings.push(format!("{left_out} requests did not fit in the logical space and were left out (--on-error skip)"));
    }
    let wrapped = result.workload.wrapped;
    if wrapped > 0 {
        warnings.push(format!(
            "{wrapped} requests beyond the logical space were wrapped, so that different addresses coincide (--fit compact avoids this)"
        ));
    }
    let unmapped = result.requests.unmapped_reads;
    let pages = unmapped + result.flash_ops.reads.host;
    if unmapped * 100 > pages {
        warnings.push(format!(
            "{unmapped} page reads ({:.1} % of the pages read) were of pages never written and needed no flash access: \
             use --fill or --set unwritten=prefill to read them from flash",
            100.0 * unmapped as f64 / pages as f64
        ));
    }
    warnings
}

/// The rate of a closed loop is in part that of the memory in which units wait for their programs, if that was empty when the loop began and takes in much of what is
/// written.
fn warning_of_memory(simulation: &Simulation, result: &RunResult) -> Option<String> {
    let run = &simulation.config().run;
    let begins_empty = matches!(run.warmup.parse(), Ok(Warmup::Requests(0) | Warmup::Ns(0)));
    let units = result.flash_units.as_ref().filter(|_| run.queue_depth > 0 && begins_empty)?.programs.total;
    let memory: u64 = simulation.survey().media.ssds().iter().map(|ssd| u64::from(ssd.settings.memory.pages)).sum();
    (units > 0 && memory * 10 > units).then(|| {
        format!(
            "the memory of the drive takes in {} of the {units} mapping units written before any is programmed: rates of writes are in part those of the memory; \
             more requests, or a warm-up, show those of the flash",
            memory.min(units)
        )
    })
}

/// Write streams that nobody names, or names that there are no streams of.
fn warning_of_streams(simulation: &Simulation) -> Option<String> {
    let streams = simulation.config().device.write_streams;
    match simulation.survey().writes_of_streams {
        _ if streams == 1 => None,
        [0, 0] => Some(format!("write_streams = {streams}, but no write names a stream")),
        [_, 0] => None,
        [_, beyond] => Some(format!(
            "{beyond} writes name streams that there are none of: with write_streams = {streams} they are 1 to {}, and all other writes are of stream 0",
            streams - 1
        )),
    }
}

/// A run on a drive in steady state is not itself steady as long as it programs more than GC frees, or less: its write amplification is too low, or too high. GC that
/// keeps pace has always begun victims that it has not erased: there nothing is amiss either if write amplification is that of the precondition.
fn warning_of_free_space(simulation: &Simulation, result: &RunResult) -> Option<String> {
    let reached = result.precondition.filter(|reached| reached.steady)?;
    let programmed = result.flash_ops.programs.total;
    let freed = result.flash_ops.erases.total * u64::from(simulation.config().device.pages_per_block);
    let is_near = |value: f64, other: f64| (value - other).abs() <= MOST_IMBALANCE * other;
    let keeps_pace = simulation.config().device.gc_pace == GcPace::Debt;
    let is_balanced = is_near(freed as f64, programmed as f64)
        || keeps_pace && result.write_amplification.is_some_and(|value| is_near(value, reached.write_amplification));
    (!is_balanced && result.faults.is_empty()).then(|| {
        let (than, too) = if freed < programmed { ("only ", "low") } else { ("as many as ", "high") };
        format!(
            "GC erased {than}{freed} pages while {programmed} were programmed: write amplification, {:.2} against {:.2} of the precondition, is too {too}; \
             more requests, or a warm-up, come closer to a steady state",
            result.write_amplification.unwrap_or(0.0),
            reached.write_amplification
        )
    })
}

/// What a device lacks that cannot keep up with the arrivals.
fn warning_of_overload(workload: &Workload) -> String {
    let [mean, busiest] = [workload.offered_load, workload.busiest_load].map(|load| load.unwrap_or(0.0));
    let growth = workload.backlog_growth.filter(|growth| *growth > 0.0);
    let depends = "latencies depend on the length of the trace more than on the device";
    match growth {
        Some(growth) if busiest <= BOTTLENECK => {
            // Of a small one two digits that say something.
            let growth = if growth < 0.1 { format!("{:.2} ms", 1000.0 * growth) } else { format!("{growth:.2} s") };
            format!(
                "the device falls behind the trace: the longest wait grows by {growth} for each second of arrivals, while the busiest bus or die is in \
                 use for {:.0} % of the time: the bottleneck is elsewhere (locks, flushes, the data buffer, or transfers that a die waits for); {depends}",
                100.0 * busiest
            )
        }
        // Without a backlog the load alone is the overload, which then is above 1.
        _ if mean > if growth.is_some() { BOTTLENECK } else { 1.0 } => {
            format!("offered load is {mean:.2}: the device cannot keep up; {depends}")
        }
        _ => format!("offered load is {mean:.2} on average, but {busiest:.2} on the busiest bus or die, which cannot keep up; {depends}"),
    }
}

/// Data and requests lost to failures.
fn warnings_of_failures(simulation: &Simulation, result: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    let lost = |pages: u64| if pages == 1 { "1 host page is lost".into() } else { format!("{pages} host pages are lost") };
    let gone = simulation.device.engine.count_gone();
    if let of_flash @ 1.. = result.losses.host_pages.saturating_sub(gone) {
        let why = match result.window.is_none() {
            _ if result.ldpc.as_ref().is_some_and(|ldpc| ldpc.pages_uncorrectable > 0) => {
                "LDPC could not correct more pages of a stripe, or more parts failed, than the scheme survives"
            }
            true => "more parts failed than the scheme survives",
            false => "they had no redundancy yet when a part failed, or more parts failed than the scheme survives",
        };
        warnings.push(format!("{}: {why}", lost(of_flash)));
    }
    if let failed @ 1.. = result.requests.failed.lost {
        let requests = if failed == 1 { "request" } else { "requests" };
        warnings.push(format!("{failed} {requests} failed because data were lost"));
    }
    if let refused @ 1.. = result.requests.failed.refused {
        let survey = simulation.survey();
        let requests = if refused == 1 { "request was" } else { "requests were" };
        let why = match (survey.service, survey.wear_outs.first().map(|record| record.at_ns)) {
            (Service::Reads, Some(at_ns)) if simulation.config().array.is_single() => {
                format!("the SSD is worn out since {} s, and read-only", at_ns as f64 / 1e9)
            }
            (Service::Nothing, _) => "the device has stopped, as data are lost (after_loss = stop)".into(),
            _ => "the device is read-only, as data are lost (after_loss = read_only)".into(),
        };
        warnings.push(format!("{refused} {requests} refused: {why}"));
    }
    let failed = result.buffer.map_or(0, |buffer| buffer.failed_evictions.no_space + buffer.failed_evictions.lost);
    let what = if failed == 1 { "1 eviction".into() } else { format!("{failed} evictions") };
    match (failed, gone) {
        (0, 0) => {}
        (0, pages) if result.buffer.is_none() => warnings.push(format!(
            "{}: their writes were acknowledged (write_completes, parity_in_response) before a part failed, and could then not allocate all flash pages that they need",
            lost(pages)
        )),
        (0, pages) => warnings.push(format!("{}: the data buffer could not write them to flash", lost(pages))),
        (_, 0) => warnings.push(format!("{what} failed after the host's write was acknowledged; the host has since overwritten or discarded the pages")),
        (_, pages) => warnings.push(format!("{what} failed after the host's write was acknowledged: {}", lost(pages))),
    }
    if let lost @ 1.. = result.losses.pages_not_rebuilt {
        let pages = if lost == 1 { "page was" } else { "pages were" };
        warnings.push(format!("{lost} {pages} not rebuilt by the end of the run, counting pages of redundancy"));
    }
    warnings
}

/// Requests that failed for lack of space or did not end.
fn warnings_of_space(result: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    let (requests, of) = (&result.requests, result.workload.requests);
    if let failed @ 1.. = requests.failed.no_space {
        let why = match !result.faults.is_empty() || result.wear_outs.as_ref().is_some_and(|wear_outs| !wear_outs.is_empty()) {
            true => "parts of the device have failed, and no free page is left where the writes must go",
            false => "GC could not free a page for them",
        };
        warnings.push(format!("{failed} of {of} requests failed for lack of space: {why}"));
    }
    if let unfinished @ 1.. = requests.unfinished {
        warnings.push(format!("{unfinished} of {of} requests were left unfinished"));
    }
    warnings
}

/// Violations that verification found, when, and in how many of its checks.
pub(super) fn warnings_of_verification(simulation: &Simulation, result: &RunResult) -> Vec<String> {
    let Some(verify) = &result.verify else { return Vec::new() };
    let seconds = |time_ns: Option<u64>| time_ns.unwrap_or(0) as f64 / 1e9;
    let mut warnings = Vec::new();
    let when = format!(
        "{} of {} checks failed, the first at {} s, the last at {} s",
        verify.checks_failed,
        verify.checks,
        seconds(verify.first_failed_ns),
        seconds(verify.last_failed_ns)
    );
    if let wrong @ 1.. = verify.found.mismatches {
        warnings.push(format!("verification: {wrong} reads or stored pages have contents that no request explains ({when})"));
    }
    if let lost @ 1.. = verify.found.pages_lost {
        let unit = result.protects;
        let why = match simulation.survey().scheme.has_window() {
            true => format!("; that is the exposure window of {}", simulation.device.config.scheme.name),
            false => String::new(),
        };
        let pages = if lost == 1 { "page" } else { "pages" };
        warnings.push(format!("verification: {lost} {pages} would have been lost if a {unit} had failed{why} ({when})"));
    }
    warnings
}
