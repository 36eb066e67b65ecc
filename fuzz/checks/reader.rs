//! What holds for a reader of traces, whatever the file holds. Used by the fuzz targets, and by the test that replays their corpus.

use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{DeviceLayout, MissingOp, OnError, TraceError, TraceOptions, TraceSummary, formats, in_order, write_trace};
use std::fs;
use std::path::Path;

/// More would only make a pass slower.
const LIMIT: u64 = 10_000;

/// Reads `data` as a trace of this format, in every mode.
///
/// # Panics
///
/// If a reader delivers what cannot be, or two modes contradict each other.
pub fn check(format: &str, data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("input");
    fs::write(&path, data).expect("the temporary folder takes a file");
    check_file(format, &path);
}

fn check_file(format: &str, path: &Path) {
    let mut options =
        TraceOptions { format: format.to_owned(), missing_op: Some(MissingOp::Mix(0.5)), limit: LIMIT, ..TraceOptions::default() };
    if format == "columns" {
        options.set("columns", "time:us,op,offset:sectors,size,device").expect("these are columns");
    }
    let stopping = read(path, &options);
    let skipping = read(path, &TraceOptions { on_error: OnError::Skip, ..options.clone() });
    let apart = read(path, &TraceOptions { layout: DeviceLayout::Apart, ..options });
    match stopping {
        Ok((requests, summary)) => {
            let (skipped, of_skipping) = skipping.expect("what can be read without skipping can be read with it");
            assert_eq!(skipped, requests);
            assert_eq!((summary.skipped, of_skipping.skipped), (0, 0));
            let (apart, _) = apart.expect("what fits side by side fits apart");
            assert!(apart.iter().map(of_no_place).eq(requests.iter().map(of_no_place)));
            check_requests(&requests, &summary);
            check_writing(path, &requests);
        }
        Err(error) => {
            check_message(&error);
            match skipping {
                Ok((requests, summary)) => check_requests(&requests, &summary),
                Err(error) => check_message(&error),
            }
        }
    }
}

fn read(path: &Path, options: &TraceOptions) -> Result<(Vec<HostRequest>, TraceSummary), TraceError> {
    in_order(path, options, TraceError::is_late, |mut trace| {
        let mut requests = Vec::new();
        while trace.read_batch(&mut requests)? > 0 {}
        Ok((requests, trace.finish()?))
    })
}

fn of_no_place(request: &HostRequest) -> HostRequest {
    HostRequest { offset_bytes: 0, ..*request }
}

fn check_requests(requests: &[HostRequest], summary: &TraceSummary) {
    assert_eq!(summary.requests, requests.len() as u64);
    assert!((1..=LIMIT).contains(&summary.requests));
    assert!(requests.is_sorted_by_key(|request| request.arrival_ns));
    for request in requests {
        assert_eq!(request.op == HostOp::Flush, request.size_bytes == 0, "{request:?}");
        assert!(request.op != HostOp::Flush || request.offset_bytes == 0, "{request:?}");
        assert!(request.offset_bytes.checked_add(request.size_bytes).is_some_and(|end| end <= 1 << 63), "{request:?}");
        assert!(request.arrival_ns <= 1 << 63, "{request:?}");
    }
    let of_devices: u64 = summary.device_list.iter().map(|device| device.requests).sum();
    assert_eq!(of_devices, summary.requests + summary.filtered);
}

/// Written in our own format, which can express every request of one address space, they are the same when read again.
fn check_writing(path: &Path, requests: &[HostRequest]) {
    let plain: Vec<_> = requests.iter().map(|request| HostRequest { source: 0, ..*request }).collect();
    let copy = path.with_extension("csv");
    let format = formats::find("flashraid").expect("our own format");
    write_trace(&copy, format, true, plain.iter().copied(), &mut |_, _| true).expect("our own format takes every request");
    let (again, _) = read(&copy, &TraceOptions::default()).expect("what was written can be read");
    assert_eq!(again, plain);
    fs::remove_file(&copy).expect("the copy is still there");
}

/// One line of a sensible length.
fn check_message(error: &TraceError) {
    let message = error.to_string();
    assert!(!message.contains('\n') && message.len() < 1000, "{message}");
}
