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
        assert!(warnings.len() == 1 && warnings[0].starts_with("5999 of the requests read are earlier than one recorded before them, in 1 step back: the file looks like several logs joined"), "{warnings:?}");
        assert_eq!(summary.warnings(false), warnings, "a closed loop has no times, but this order");
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
        assert_eq!((summary.skipped, summary.steps_back, &summary.ignored[..]), (0, 1, &[(AGAIN, 1)][..]), "{format}");
        let (line, late) = (log.lines().count() + 1, "1 request is earlier than one recorded before it: they were sorted by time");
        let said = format!("the header stands again at line {line}: 2 recordings were joined. {late}");
        let warnings = summary.warnings(false);
        assert!(warnings.iter().filter(|text| text.starts_with(&said)).count() == 1, "{format}: {warnings:?}");
    }
}

const AGAIN: &str = "headers that come again";

/// Each kind of header that can come again, how often, and whether times go on.
#[test]
fn headers_that_come_again_are_counted_and_said() {
    let snoop = |first: &str| format!("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n{first} a 1 sda W 8 512 0.1\n");
    let ftrace = |time: u64| format!("# tracer: nop\n#\n a-1 [0] . {time}.0: block_rq_issue: 1,0 W 512 () 8 + 1 [a]\n");
    let report = |time: u64| ftrace(time).replace("# tracer: nop\n#", "cpus=4");
    let etw = |time: u64| {
        format!(
            "BeginHeader\nDiskWrite, TimeStamp, ByteOffset, IOSize, ElapsedTime, DiskNum\nEndHeader\nDiskWrite, {time}, 0x0, 0x200, 1, 0\n"
        )
    };
    let iosnoop = |time: u64| format!("STARTs COMM PID TYPE DEV BLOCK BYTES LATms\n{time}.5 a 7 W 8,0 8 512 0.1\n");
    let own = |time: u64| format!("ts_us,op,offset,size\n{time},W,0,512\n");
    let quoted = |time: u64| format!("\"t\",\"o\",\"f\",\"s\"\n\"{time}\",\"W\",\"0\",\"512\"\n");
    let load = |time: u64| format!("blkreplay\nstart ; sector ; length ; op\n{time} ; 8 ; 8 ; W\n");
    let alibaba = |time: u64| format!("device_id,opcode,offset,length,timestamp\n7,W,0,512,{time}\n");
    let mark = "\u{feff}".to_owned();
    for (format, parts, line) in [
        ("biosnoop", [snoop("0.1"), snoop("0.5"), snoop("0.7")], 3),
        ("iosnoop", [iosnoop(1), iosnoop(2), iosnoop(3)], 3),
        ("tracefs", [ftrace(1), ftrace(2), ftrace(3)], 4),
        ("tracefs", [report(1), report(2), report(3)], 3),
        ("etw", [etw(10), etw(20), etw(30)], 5),
        ("flashraid", [own(1), own(2), own(3)], 3),
        ("flashraid", [mark.clone() + &own(1), mark + &own(2), own(3)], 3),
        ("columns", [quoted(1), quoted(2), quoted(3)], 3),
        ("blkreplay", [load(1), load(2), load(3)], 4),
        ("alibaba", [alibaba(1), alibaba(2), alibaba(3)], 3),
    ] {
        let mut options = options(format);
        if format == "columns" {
            options.set("columns", "time:us,op,offset,size").unwrap();
        }
        let (requests, summary) = read(&file(&format!("again.{format}"), parts.concat().as_bytes()), &options).unwrap();
        assert_eq!((requests.len(), summary.out_of_order), (3, 0), "{format}");
        assert_eq!(summary.ignored.iter().find(|(what, _)| *what == AGAIN), Some(&(AGAIN, 2)), "{format}");
        let said = format!(
            "the header stands again at line {line}: 3 recordings were joined. The times of each follow those of the one before, and nothing was moved"
        );
        let warnings =
            |summary: TraceSummary| summary.warnings(true).into_iter().filter(|text| !text.starts_with("assumed")).collect::<Vec<_>>();
        assert_eq!(warnings(summary), [said], "{format}");
        // One by itself has nothing to say.
        let (_, summary) = read(&file(&format!("once.{format}"), parts[0].as_bytes()), &options).unwrap();
        assert_eq!(warnings(summary), Vec::<String>::new(), "{format}");
    }
    // One before the first request, one behind another, or one behind the last request begins no recording.
    for (parts, recordings) in [("h1h", None), ("hh1", None), ("hh1hh2h", Some((5, 2))), ("h1h2hh3hh", Some((3, 3)))] {
        let text: String =
            parts.chars().map(|part| if part == 'h' { "ts_us,op,offset,size\n".into() } else { format!("{part},W,0,512\n") }).collect();
        let (_, summary) = read(&file("empty.csv", text.as_bytes()), &TraceOptions::default()).unwrap();
        assert_eq!(summary.ignored, [(AGAIN, parts.matches('h').count() as u64 - 1)], "{parts}");
        let said = recordings.map(|(line, count)| format!("the header stands again at line {line}: {count} recordings were joined."));
        let warnings = summary.warnings(true);
        assert_eq!(warnings.len(), usize::from(said.is_some()), "{parts}: {warnings:?}");
        assert!(said.is_none_or(|said| warnings[0].starts_with(&said)), "{parts}: {warnings:?}");
    }
    // As long logs whose times begin again.
    let log: String = "ts_us,op,offset,size\n".to_owned() + &(0..100).map(|time| format!("{time},W,0,512\n")).collect::<String>();
    let (_, summary) = read(&file("long.csv", log.repeat(2).as_bytes()), &TraceOptions::default()).unwrap();
    let said = "the header stands again at line 102: 2 recordings were joined. 99 requests are earlier than one recorded before them: they were sorted \
                by time, as if they had been recorded at the same time by one clock (else run each by itself)";
    assert_eq!(summary.warnings(true), [said]);
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

/// Records that complete out of order are no further logs, and no news where a format records at completion. In others it is said how many they are.
#[test]
fn late_completions_are_no_joined_logs() {
    let lines = |line: fn(u64, u64) -> String| -> String {
        (0..5000_u64).map(|number| line(number * 100 + (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 1000, number % 2)).collect()
    };
    let ssdsim = lines(|time_ns, op| format!("{time_ns} 0 8 8 {op}\n"));
    let systor = lines(|time_ns, op| format!("1.{time_ns:09},0.1,{},0,8,8\n", ["W", "R"][op as usize]));
    for (format, text) in [("ssdsim", ssdsim), ("systor", format!("Timestamp,Response,IOType,LUN,Offset,Size\n{systor}"))] {
        let (requests, summary) = both(&file(&format!("completions.{format}"), text.as_bytes()), &options(format));
        assert!(requests.is_sorted_by_key(|request| request.arrival_ns) && summary.out_of_order > 2000);
        assert_eq!(requests.iter().filter(|request| request.op == Read).count(), 2500);
        let late = format!("{} requests are recorded behind others that came later, by up to ", summary.out_of_order);
        match (format, &summary.warnings(true)[..]) {
            ("ssdsim", [said]) => assert!(said.starts_with(&late) && said.ends_with("s, and were put in order of time"), "{said}"),
            ("systor", []) => {}
            (_, said) => panic!("{format}: {said:?}"),
        }
    }
}

/// However few they are, requests that are put elsewhere are said, unless recorders of the format write them in any order.
#[test]
fn few_late_requests_are_said() {
    let three = "3 requests are recorded behind others that came later, by up to 0.0005 s, and were put in order of time";
    let one = "1 request is recorded behind one that came later, by up to 0.000004 s, and was put in order of time";
    let own = |times: &[u64]| -> String {
        "ts_us,op,offset,size\n".to_owned() + &times.iter().map(|time| format!("{time},W,0,512\n")).collect::<String>()
    };
    let snoop = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 a 1 sda W 8 512 0.1\n0.2 a 1 sda W 8 512 150\n";
    for (format, text, expected) in [
        ("flashraid", own(&[1000, 500, 600, 1100, 1050, 1200]), vec![three]),
        ("flashraid", own(&[10, 6, 20]), vec![one]),
        // Late by what has come, and not by what comes right before.
        (
            "flashraid",
            own(&[1000, 900, 100, 1200]),
            vec!["2 requests are recorded behind others that came later, by up to 0.0009 s, and were put in order of time"],
        ),
        ("flashraid", own(&[5, 5, 6]), vec![]),
        ("msr", "50,a,0,Write,0,512,1\n10,a,0,Write,0,512,1\n".to_owned(), vec![one]),
        ("biosnoop", snoop.to_owned(), vec![]),
        ("blkparse", "8,0 0 1 0.5 9 D W 8 + 8 [a]\n8,0 1 1 0.4 9 D W 8 + 8 [a]\n".to_owned(), vec![]),
        // A clock of seconds: what is a second late may have been in order.
        ("tencent", "5,0,8,1,7\n4,0,8,1,7\n".to_owned(), vec![]),
        (
            "tencent",
            "5,0,8,1,7\n3,0,8,1,7\n".to_owned(),
            vec!["1 request is recorded behind one that came later, by up to 2 s, and was put in order of time"],
        ),
    ] {
        let (_, summary) = both(&file(&format!("few.{format}"), text.as_bytes()), &options(format));
        let said: Vec<_> = summary.warnings(true).into_iter().filter(|text| !text.starts_with("the trace's clock has ticks")).collect();
        assert_eq!(said, expected, "{text}");
    }
    // Columns that the user names are in order unless their times are those of completion.
    for (columns, expected) in [("time:us,-,op,offset,size", vec![one.to_owned()]), ("completion:us,latency:us,op,offset,size", vec![])] {
        let mut options = TraceOptions::default();
        options.set("columns", columns).unwrap();
        options.set("separator", "comma").unwrap();
        let (_, summary) = both(&file("few.txt", b"10,1,W,0,512\n6,1,W,0,512\n"), &options);
        assert_eq!(summary.warnings(true), expected, "{columns}");
    }
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
