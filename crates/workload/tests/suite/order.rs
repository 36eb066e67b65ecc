//! Order of time: logs that were joined, records that come late, and traces that can be read only once.

use crate::support::{file, options, read, request};
use flashraid_vocabulary::HostOp::{Read, Write};
use flashraid_vocabulary::HostRequest;
use flashraid_workload::{
    DeviceLayout, OnError, Trace, TraceError, TraceOptions, TraceSlice, TraceSummary, convert, formats, page_size, trace_info,
};
use std::path::Path;

const CPUS: u64 = 2;
const WRITES: u64 = 6000;

/// The writes of two processors, each every millisecond, the second half a millisecond later: processor, number, time in us, sector.
fn writes() -> impl Iterator<Item = (u64, u64, u64, u64)> {
    (0..CPUS).flat_map(|cpu| (0..WRITES).map(move |number| (cpu, number, number * 1000 + cpu * 500, number * 8 * 7919 % 2_000_000)))
}

/// The same as lines of a format, in order of time or one log after the other.
fn lines(is_sorted: bool, line: impl Fn(u64, u64, u64, u64) -> String) -> String {
    let mut writes: Vec<_> = writes().collect();
    if is_sorted {
        writes.sort_by_key(|(_, _, time_us, _)| *time_us);
    }
    writes.into_iter().map(|(cpu, number, time_us, sector)| line(cpu, number, time_us, sector)).collect()
}

fn blkparse(cpu: u64, number: u64, time_us: u64, sector: u64) -> String {
    let (seconds, micros) = (time_us / 1_000_000, time_us % 1_000_000);
    format!("  8,0  {cpu} {} {seconds}.{micros:06}000 1 D W {sector} + 8 [x]\n", number + 1)
}

/// Read as recorded, and sorted from the start, as a pipe is.
fn both(path: &Path, options: &TraceOptions) -> (Vec<HostRequest>, TraceSummary) {
    let found = read(path, options).unwrap();
    let mut trace = Trace::open_sorted(path, options).unwrap();
    let mut requests = Vec::new();
    while trace.read_batch(&mut requests).unwrap() > 0 {}
    assert!(requests == found.0, "{} and {} requests", requests.len(), found.0.len());
    assert_eq!(trace.finish().unwrap(), found.1);
    found
}

/// FIELD_CASES 1: right is what the sorted file gives.
#[test]
fn joined_logs_are_sorted_and_said() {
    let iolog = |is_sorted| {
        let text = lines(is_sorted, |_, _, time_us, sector| format!("{time_us} /dev/sda write {} 4096\n", sector * 512));
        format!("fio version 3 iolog\n{text}")
    };
    let texts = [("blkparse", lines(false, blkparse), lines(true, blkparse)), ("fio", iolog(false), iolog(true))];
    for (format, joined, sorted) in texts {
        let path = file(&format!("joined.{format}"), joined.as_bytes());
        assert!(Trace::open(&path, &options(format)).unwrap().read_batch(&mut Vec::new()).is_ok(), "the first batch needs no sorting");
        let (requests, summary) = both(&path, &options(format));
        let (expected, of_sorted) = both(&file(&format!("sorted.{format}"), sorted.as_bytes()), &options(format));
        assert!(requests == expected, "{format}");
        let times: Vec<u64> = requests.iter().map(|request| request.arrival_ns).collect();
        assert!(times.into_iter().eq((0..CPUS * WRITES).map(|number| number * 500_000)), "{format}");
        assert_eq!((summary.out_of_order, summary.steps_back), (5999, 1), "{format}");
        assert_eq!((of_sorted.out_of_order, of_sorted.warnings(true)), (0, vec![]), "{format}");
        let warnings = summary.warnings(true);
        assert!(warnings.len() == 1 && warnings[0].starts_with("5999 of the requests read are earlier than one recorded before them, in 1 steps back: the file looks like several logs joined"), "{warnings:?}");
        assert!(summary.warnings(false).is_empty(), "a closed loop has no times");
    }
    let info =
        trace_info(&file("info.blkparse.txt", lines(false, blkparse).as_bytes()), &TraceOptions::default(), page_size(4096).unwrap());
    let info = info.unwrap();
    assert_eq!((info.out_of_order, info.interarrival_ns.as_ref().and_then(|gaps| gaps.get(1))), (5999, Some(500_000)));
    assert_eq!(info.burstiness.bursts.max_requests, Some(CPUS * WRITES));
}

/// What is written of it has the times that were recorded, also where what has been written cannot be taken back.
#[test]
fn a_converted_joined_log_keeps_its_times() {
    let path = file("to-convert.blkparse.txt", lines(false, blkparse).as_bytes());
    let output = file("converted.csv", b"");
    let format = formats::find("flashraid").unwrap();
    let found = convert(&path, &TraceOptions::default(), &TraceSlice::default(), &output, format, &mut |_, _| true).unwrap();
    assert_eq!((found.written, found.warnings.len()), (CPUS * WRITES, 1));
    let times: Vec<u64> = read(&output, &TraceOptions::default()).unwrap().0.iter().map(|request| request.arrival_ns).collect();
    assert!(times.into_iter().eq((0..CPUS * WRITES).map(|number| number * 500_000)));
}

/// A second log begins with the header of its format: it is one of the same kind, with a clock of its own if the format counts from the start.
#[test]
fn headers_come_again_where_logs_were_joined() {
    let wait = "fio version 2 iolog\na add\na open\na write 0 512\na wait 100\na write 512 512\n";
    for (format, log, times) in [
        ("flashraid", "ts_us,op,offset,size\n1,W,0,512\n3,W,512,512\n", [1000, 1000, 3000, 3000]),
        ("fio", "fio version 3 iolog\n1 a write 0 512\n3 a write 512 512\n", [1000, 1000, 3000, 3000]),
        ("fio", wait, [0, 0, 100_000, 100_000]),
        ("systor", "Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,W,0,0,512\n1.6,0.1,W,0,512,512\n", [0, 0, 100_000_000, 100_000_000]),
        (
            "msr",
            "timestamp, Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n10,a,0,Write,0,512,1\n20,a,0,Write,512,512,1\n",
            [0, 0, 1000, 1000],
        ),
    ] {
        let (requests, summary) = read(&file(&format!("twice.{format}"), log.repeat(2).as_bytes()), &options(format)).unwrap();
        assert_eq!(requests.iter().map(|request| request.arrival_ns).collect::<Vec<_>>(), times, "{format}");
        assert_eq!((summary.skipped, summary.steps_back), (0, 1), "{format}");
    }
}

/// However late and from however many devices, the requests are those of the sorted file, in addresses too.
#[test]
fn any_disorder_is_as_the_sorted_file() {
    // Requests of three devices in an order that looks random, over some 30 windows, with ties.
    let mut recorded: Vec<(u64, u64)> = (0..30_000_u64).map(|number| (number.wrapping_mul(7919 * 104_729) % 10_007, number)).collect();
    let line = |(time_ns, number): &(u64, u64)| format!("{time_ns} {} {} 8 {}\n", number % 3, number * 16 % 65_536, number % 2);
    let disordered: String = recorded.iter().map(line).collect();
    recorded.sort_by_key(|(time_ns, _)| *time_ns);
    let sorted: String = recorded.iter().map(line).collect();
    let paths = [file("disordered.ssdsim", disordered.as_bytes()), file("in-order.ssdsim", sorted.as_bytes())];
    for (layout, limit) in [(DeviceLayout::SideBySide, 0), (DeviceLayout::Apart, 0), (DeviceLayout::Apart, 29_000)] {
        let options = TraceOptions { layout, limit, ..options("ssdsim") };
        let [ours, theirs] = paths.clone().map(|path| both(&path, &options));
        assert!(ours.0 == theirs.0, "{layout:?}, limit {limit}");
        assert_eq!(ours.1.device_list, theirs.1.device_list);
        assert!(ours.1.out_of_order > 25_000 && theirs.1.out_of_order == 0);
    }
}

/// Two logs of different devices: the address space of the one that is asked first comes first, wherever it stands in the file.
#[test]
fn devices_lie_in_the_order_of_their_first_requests() {
    let log = |device: u64, first_ns: u64, count: u64| -> String {
        (0..count).map(|number| format!("{} {device} {} 8 0\n", first_ns + 10 * number, number * 8)).collect()
    };
    for count in [3, 6000] {
        let joined = log(7, 5, count) + &log(4, 0, count);
        let (requests, summary) = both(&file(&format!("devices-{count}.ssdsim"), joined.as_bytes()), &options("ssdsim"));
        let base_bytes = (count * 4096).next_multiple_of(1 << 20);
        assert_eq!(requests[..2], [request(0, Write, 0, 4096, 4), request(5, Write, base_bytes, 4096, 7)]);
        let placed: Vec<_> = summary.device_list.iter().map(|device| (device.number, device.base_bytes)).collect();
        assert_eq!(placed, [(4, 0), (7, base_bytes)]);
    }
}

/// The requests of a second are spread over it, whatever log of several they come from.
#[test]
fn ticks_of_joined_logs_are_whole() {
    let log =
        |volume: u64| -> String { (0..10_000_u64).map(|number| format!("{},{},8,1,{volume}\n", number / 1000, number * 8)).collect() };
    let options = TraceOptions { layout: DeviceLayout::Apart, ..options("tencent") };
    let path = file("joined.tencent.csv", (log(1) + &log(2)).as_bytes());
    let (requests, summary) = both(&path, &options);
    let times: Vec<u64> = requests.iter().map(|request| request.arrival_ns).collect();
    assert!(times.into_iter().eq((0..20_000).map(|number| number * 500_000)));
    assert_eq!((summary.out_of_order, requests[1000].source), (9000, 2));
    // A limit cuts a second, of which all are known.
    let (first, _) = both(&path, &TraceOptions { limit: 1500, ..options.clone() });
    assert_eq!(first.len(), 1500);
    assert_eq!(first[1].arrival_ns, 1_000_000, "what is beyond the limit and 4,096 more is not read");
    // Two volumes take turns of two seconds: what comes within 4,096 requests is in its second.
    let turn = |second: u64, volume: u64| -> String {
        (0..2000_u64).map(|number| format!("{},{},8,1,{volume}\n", second + number / 1000, number * 8)).collect()
    };
    let turns: String = [0, 2, 4].iter().flat_map(|second| [turn(*second, 1), turn(*second, 2)]).collect();
    let (first, _) = both(&file("turns.tencent.csv", turns.as_bytes()), &TraceOptions { limit: 1000, ..options.clone() });
    assert!(first.iter().map(|request| request.arrival_ns).eq((0..1000).map(|number| number * 500_000)));
    // One, which is the first line once more, comes when its second has been delivered, and the next one has not.
    let of = |second: u64, count: u64| -> String { (0..count).map(|number| format!("{second},{},8,1,1\n", number * 8)).collect() };
    let late = of(5, 1000) + &of(6, 9000) + &of(5, 1) + &of(7, 10_000);
    let (requests, summary) = both(&file("late.tencent.csv", late.as_bytes()), &options);
    assert_eq!((requests.len(), summary.out_of_order), (20_001, 1));
    assert!(requests.iter().take(1001).enumerate().all(|(place, request)| request.arrival_ns == place as u64 * 1_000_000_000 / 1001));
}

/// A limit takes the first in time of so many requests and the 4,096 after them.
#[test]
fn a_limit_reads_no_further_than_a_window() {
    let path = file("limited.blkparse.txt", (lines(false, blkparse) + "not a line\n").as_bytes());
    for (limit, expected_ns) in [(5000, 500_000), (1000, 1_000_000)] {
        let (requests, summary) = both(&path, &TraceOptions { limit, ..TraceOptions::default() });
        assert_eq!((requests.len() as u64, requests[1].arrival_ns), (limit, expected_ns), "limit {limit}");
        assert_eq!(summary.requests, limit);
    }
}

/// Records that complete out of order are no further logs.
#[test]
fn late_completions_are_no_joined_logs() {
    let text: String = (0..5000_u64)
        .map(|number| format!("{} 0 8 8 {}\n", number * 100 + (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 1000, number % 2))
        .collect();
    let (requests, summary) = both(&file("completions.ssdsim", text.as_bytes()), &options("ssdsim"));
    assert!(requests.is_sorted_by_key(|request| request.arrival_ns) && summary.out_of_order > 2000);
    assert_eq!(summary.warnings(true), Vec::<String>::new());
    assert_eq!(requests.iter().filter(|request| request.op == Read).count(), 2500);
}

/// An error in what is read stays one, and whoever reads a trace without `in_order` is told.
#[test]
fn late_records_are_told_apart_from_errors() {
    let path = file("late.blkparse.txt", lines(false, blkparse).as_bytes());
    let mut trace = Trace::open(&path, &TraceOptions { on_error: OnError::Skip, ..TraceOptions::default() }).unwrap();
    let error = loop {
        if let Err(error) = trace.read_batch(&mut Vec::new()) {
            break error;
        }
    };
    assert!(matches!(error, TraceError::Late { .. }), "{error}");
    let path = file("late-wrong.blkparse.txt", (lines(false, blkparse) + "8,0 0 1 x\n").as_bytes());
    let error = read(&path, &TraceOptions::default()).unwrap_err().to_string();
    assert!(error.contains(":12001:9: seconds is 'x'"), "{error}");
}
