//! The reader of blktrace's own records, of one file and of several.

use crate::support::{file, gzip, hex, message, options, read, request, sample_with};
use flashraid_vocabulary::HostOp::{Flush, Read, Trim, Write, WriteZeroes};
use flashraid_vocabulary::HostRequest;
use flashraid_workload::{DeviceLayout, OnError, TraceOptions, TraceSummary};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;

const READ: u64 = 1 << 16;
const WRITE: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const PASSED_THROUGH: u64 = 1 << 25;
const NOTIFY: u64 = 1 << 26;
const DISCARD: u64 = 1 << 29;
const WRITE_ZEROES: u64 = 1 << 38;
const QUEUED: u64 = 1;
const ISSUED: u64 = 7;
const COMPLETED: u64 = 8;

/// What is written of a record.
#[derive(Clone, Copy)]
struct Record {
    sequence: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    cpu: u32,
    device: u32,
}

const DEVICE: u32 = (8 << 20) | 16;

fn record(sequence: u32, time_ns: u64, sector: u64, bytes: u32, action: u64) -> Record {
    Record { sequence, time_ns, sector, bytes, action, cpu: 0, device: DEVICE }
}

/// A record of version 7, in one of the byte orders, with `data` behind it.
fn seven(of: Record, is_big_endian: bool, data: &[u8]) -> Vec<u8> {
    let word = |value: u32| if is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u64| if is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let short = |value: u16| if is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let Record { sequence, time_ns, sector, bytes, action, cpu, device } = of;
    let mut record = [word(0x6561_7407), word(sequence)].concat();
    [time_ns, sector].iter().for_each(|value| record.extend(long(*value)));
    [bytes, action as u32, 1201, device, cpu].iter().for_each(|value| record.extend(word(*value)));
    [0, data.len() as u16].iter().for_each(|value| record.extend(short(*value)));
    record.extend(data);
    record
}

fn plain(records: &[Record]) -> Vec<u8> {
    records.iter().flat_map(|record| seven(*record, false, &[])).collect()
}

fn apart(action: &str) -> TraceOptions {
    let mut options = TraceOptions { layout: DeviceLayout::Apart, ..TraceOptions::default() };
    options.set("action", action).unwrap();
    options
}

/// Reads a single file, whose name is not that of a part.
fn of(name: &str, content: &[u8], action: &str) -> (Vec<HostRequest>, TraceSummary) {
    read(&file(name, content), &apart(action)).unwrap()
}

#[test]
fn sample_of_two_processors() {
    let expected = [
        // The first event is a queued read on the other processor, at 500 ns.
        request(1000, Read, 4096 * 512, 8192, DEVICE),
        request(1500, Write, 2048 * 512, 4096, DEVICE),
        request(149_500, Trim, 1 << 29, 1 << 20, DEVICE),
        request(159_500, Flush, 0, 0, DEVICE),
    ];
    let (requests, summary) = sample_with("example.blktrace.0", &apart("D"));
    assert_eq!((requests, summary.format, summary.lost_events), (expected.to_vec(), "blktrace", 2));
    assert_eq!(summary.ignored, [("C events", 2), ("Q events", 2), ("notifications of blktrace (process names, clocks, messages)", 1)]);
    assert_eq!(
        summary.assumed,
        ["example.blktrace.0 is one of several files of a recording, and example.blktrace.1 is merged with it by time"]
    );
    assert_eq!(summary.device_list[0].name, "8:16");
    // Whichever of them is given, all are read, and hashed in the same order.
    let (requests, other) = sample_with("example.blktrace.1", &apart("D"));
    assert_eq!((requests, &other.sha256), (expected.to_vec(), &summary.sha256));
    let of_file = |name: &str| hex(&Sha256::digest(fs::read(crate::support::in_repository("samples/formats").join(name)).unwrap())) + "\n";
    let of_both = of_file("example.blktrace.0") + &of_file("example.blktrace.1");
    assert_eq!(summary.sha256, hex(&Sha256::digest(of_both)));
    let times = |action| sample_with("example.blktrace.0", &apart(action)).0.iter().map(|request| request.arrival_ns).collect::<Vec<_>>();
    assert_eq!((times("Q"), times("C")), (vec![0, 500], vec![71_000, 91_500]));
}

/// FIELD: 150 records, Q D C of 50 writes of 4 KiB.
#[test]
fn fifty_writes_in_either_byte_order() {
    let records: Vec<Record> = (0..50)
        .flat_map(|number| {
            let of = |place: u32, action| {
                record(
                    3 * number + place,
                    u64::from(number) * 1_000_000 + u64::from(place) * 1000,
                    u64::from(number) * 8,
                    4096,
                    action | WRITE,
                )
            };
            [of(0, QUEUED), of(1, ISSUED), of(2, COMPLETED)]
        })
        .collect();
    for is_big_endian in [false, true] {
        let content: Vec<u8> =
            records.iter().flat_map(|record| seven(*record, is_big_endian, &[7; 11][..record.sequence as usize % 12])).collect();
        let (requests, summary) = of(&format!("endian-{is_big_endian}.bin"), &content, "D");
        assert_eq!((requests.len(), summary.format, summary.lost_events), (50, "blktrace", 0));
        assert_eq!(
            (requests[0], requests[49]),
            (request(1000, Write, 0, 4096, DEVICE), request(49_001_000, Write, 49 * 4096, 4096, DEVICE))
        );
    }
}

#[test]
fn records_of_64_bytes_have_the_operations_of_new_kernels() {
    let content: Vec<u8> = [
        (READ, 4096_u32),
        (WRITE | DISCARD, 1024),
        (WRITE | WRITE_ZEROES, 512),
        (FLUSH, 0),
        (1 << 32 | WRITE, 4096),
        (PASSED_THROUGH | READ, 36),
    ]
    .iter()
    .enumerate()
    .flat_map(|(number, (category, bytes))| {
        let mut record = [0x6561_7408_u32, number as u32].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        [number as u64 * 10, 16].iter().for_each(|value| record.extend(value.to_le_bytes()));
        [*bytes, 77].iter().for_each(|value| record.extend(value.to_le_bytes()));
        record.extend((ISSUED | category).to_le_bytes());
        [DEVICE, 0, 0].iter().for_each(|value| record.extend(value.to_le_bytes()));
        record.extend([0; 12]);
        record
    })
    .collect();
    let (requests, summary) = of("second.bin", &content, "D");
    assert_eq!(
        requests,
        [
            request(0, Read, 8192, 4096, DEVICE),
            request(10, Trim, 8192, 1024, DEVICE),
            request(20, WriteZeroes, 8192, 512, DEVICE),
            request(30, Flush, 0, 0, DEVICE)
        ]
    );
    assert_eq!(summary.unsupported, [("commands passed through to the device", 1), ("zone commands and appends", 1)]);
}

#[test]
fn lost_events_are_gaps_in_the_numbers_of_a_processor() {
    let at = |sequence, cpu, time_ns| Record { cpu, ..record(sequence, time_ns, 8, 512, ISSUED | READ) };
    let note = Record { action: NOTIFY, ..at(0, 1, 5) };
    let content = plain(&[at(7, 0, 0), at(1, 1, 1), at(8, 0, 2), note, at(2, 1, 6), at(12, 0, 7), at(4, 1, 8)]);
    assert_eq!(of("gaps.bin", &content, "D").1.lost_events, 4);
    // Each device has numbers of its own.
    let other = |sequence, time_ns| Record { device: DEVICE + 16, ..at(sequence, 0, time_ns) };
    let content = plain(&[at(7, 0, 0), other(100, 1), at(8, 0, 2), other(103, 3), at(9, 0, 4)]);
    assert_eq!(of("gaps-of-two.bin", &content, "D").1.lost_events, 2);
}

/// A stream of several processors, one after the other, and requests that the device gave back.
#[test]
fn a_stream_is_sorted_and_requeued_requests_count_once() {
    let at = |sequence, time_ns, sector, action| record(sequence, time_ns, sector, 512, action | READ);
    let first = [at(1, 1000, 8, ISSUED), at(2, 2000, 8, 6), at(3, 3000, 8, ISSUED), at(4, 4000, 16, ISSUED)];
    let second = [Record { cpu: 1, ..at(1, 500, 24, QUEUED) }, Record { cpu: 1, ..at(2, 1500, 24, ISSUED) }];
    let (requests, summary) = of("stream.bin", &[plain(&first), plain(&second)].concat(), "D");
    let read = |time_ns, sector: u64| request(time_ns, Read, sector * 512, 512, DEVICE);
    assert_eq!(requests, [read(500, 8), read(1000, 24), read(3500, 16)]);
    assert_eq!((summary.reissued, summary.out_of_order), (1, 1));
    // Whoever asks for the same again queues another request, and each is completed.
    for (letter, action) in [("Q", QUEUED), ("C", COMPLETED)] {
        let content = plain(&[at(1, 1000, 8, action), at(2, 2000, 8, 6), at(3, 3000, 8, action)]);
        let (requests, summary) = of("again.bin", &content, letter);
        assert_eq!((requests.len(), summary.reissued), (2, 0), "{letter}");
    }
    let content = plain(&[1, 2, 3, 4, 5, 6].map(|number| at(number, number.into(), 8, if matches!(number, 3 | 4) { 6 } else { ISSUED })));
    let (requests, summary) = of("two-again.bin", &content, "D");
    assert_eq!((requests.len(), summary.reissued), (2, 2), "two that overlap were both given back");
}

#[test]
fn many_files_are_merged_by_time() {
    let folder = file("folder", b"").with_file_name("blktrace-files");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    for cpu in 0..12_u32 {
        let records: Vec<Record> = (0..500)
            .map(|number| Record {
                cpu,
                ..record(number, u64::from(number * 12 + (cpu * 7) % 12) * 100, u64::from(cpu), 512, ISSUED | WRITE)
            })
            .collect();
        fs::write(folder.join(format!("sda.blktrace.{cpu}")), plain(&records)).unwrap();
    }
    fs::write(folder.join("sdb.blktrace.0"), b"another disk").unwrap();
    fs::write(folder.join("sda.blktrace.12"), b"").unwrap();
    let path: PathBuf = folder.join("sda.blktrace.10");
    let (requests, summary) = read(&path, &apart("D")).unwrap();
    assert_eq!((requests.len(), summary.out_of_order, summary.lost_events), (6000, 0, 0));
    assert!(requests.iter().enumerate().all(|(place, request)| request.arrival_ns == place as u64 * 100));
    assert_eq!(
        summary.assumed,
        [
            "sda.blktrace.10 is one of several files of a recording, and sda.blktrace.0 to sda.blktrace.12 (12 files) are merged with it by time"
        ]
    );
    let limited = TraceOptions { limit: 100, ..apart("D") };
    assert_eq!(read(&path, &limited).unwrap().0, requests[..100]);
    // Bursts: the file that is given begins between two of the other's.
    for (cpu, begin) in [(20, 1000), (21, 500)] {
        let records: Vec<Record> = (0..50_u32)
            .map(|number| Record { cpu, ..record(number, u64::from(number / 5 * 1000 + number % 5 * 100 + begin), 8, 512, ISSUED | WRITE) })
            .collect();
        fs::write(folder.join(format!("sdc.blktrace.{cpu}")), plain(&records)).unwrap();
    }
    let (requests, summary) = read(&folder.join("sdc.blktrace.20"), &apart("D")).unwrap();
    assert_eq!((requests.len(), summary.out_of_order), (100, 0));
}

/// Files of the same recording are read however each is packed, and those that are not there are said to be missing.
#[test]
fn files_that_are_packed_otherwise_or_missing() {
    let folder = file("folder", b"").with_file_name("blktrace-packed");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let of_cpu = |cpu: u32| {
        plain(&[0, 1].map(|number| Record { cpu, ..record(number, u64::from(number * 10 + cpu) * 100, 8, 512, ISSUED | WRITE) }))
    };
    let put =
        |name: &str, cpu: u32| fs::write(folder.join(name), if name.ends_with("gz") { gzip(&of_cpu(cpu)) } else { of_cpu(cpu) }).unwrap();
    let times = |name: &str| {
        let (requests, summary) = read(&folder.join(name), &apart("D")).unwrap();
        (requests.iter().map(|request| request.arrival_ns).collect::<Vec<_>>(), summary)
    };
    put("sda.blktrace.0.gz", 0);
    put("sda.blktrace.1", 1);
    let (requests, summary) = times("sda.blktrace.1");
    assert_eq!(requests, [0, 100, 1000, 1100]);
    assert_eq!(summary.assumed, ["sda.blktrace.1 is one of several files of a recording, and sda.blktrace.0.gz is merged with it by time"]);
    let (packed, other) = times("sda.blktrace.0.gz");
    assert_eq!((packed, &other.sha256), (requests, &summary.sha256));
    // Two of a CPU are one and the same.
    put("sda.blktrace.0", 0);
    let (requests, summary) = times("sda.blktrace.1");
    assert_eq!(requests, [0, 100, 1000, 1100]);
    assert_eq!(
        summary.assumed,
        [
            "sda.blktrace.1 is one of several files of a recording, and sda.blktrace.0 is merged with it by time",
            "sda.blktrace.0.gz is not read, as sda.blktrace.0 is of the same CPU"
        ]
    );
    let (requests, summary) = times("sda.blktrace.0.gz");
    assert_eq!((requests.len(), summary.assumed[1].as_str()), (4, "sda.blktrace.0 is not read, as sda.blktrace.0.gz is of the same CPU"));
    // Numbers that are left out are of files that were.
    put("sdb.blktrace.1", 1);
    let (requests, summary) = times("sdb.blktrace.1");
    let remedy = "is not replayed: put the files of all CPUs into one folder, and give any of them";
    assert_eq!(requests, [0, 1000]);
    assert_eq!(
        summary.assumed,
        [format!("1 file of the recording is not beside sdb.blktrace.1 (sdb.blktrace.0), and what it has {remedy}")]
    );
    assert_eq!(summary.warnings(false), summary.assumed);
    put("sdb.blktrace.6", 6);
    let (_, summary) = times("sdb.blktrace.6");
    let missing = "5 files of the recording are not beside sdb.blktrace.6 (sdb.blktrace.0, sdb.blktrace.2, sdb.blktrace.3 and 2 more)";
    assert_eq!(summary.assumed[1..], [format!("{missing}, and what they have {remedy}")]);
    // All that there may be, and a number that is no CPU's.
    put("sdc.blktrace.0", 0);
    put("sdd.blktrace.20260117", 0);
    for name in ["sdc.blktrace.0", "sdd.blktrace.20260117"] {
        assert!(times(name).1.assumed.is_empty(), "{name}");
    }
}

#[test]
fn malformed_records() {
    let good = plain(&[record(1, 0, 8, 512, ISSUED | READ), record(2, 1000, 16, 512, ISSUED | READ)]);
    for (content, expected) in [
        (
            [&good[..], &[0; 20], &good[..]].concat(),
            "FILE: record 3: it begins with 00 00 00 00; expected 07 74 61 65, a record of blktrace".to_owned(),
        ),
        (
            plain(&[record(1, 0, 1 << 55, 512, ISSUED | READ)]),
            format!("FILE: record 1: sector {}; expected an address below 2^64 bytes", 1_u64 << 55),
        ),
        (plain(&[record(1, 0, 8, 512, QUEUED | READ)]), "FILE: no D events, but 1 Q: --action Q; expected at least one request".to_owned()),
        (b"text".to_vec(), "FILE: record 1: it begins with 74 65 78 74; expected 07 74 61 65, a record of blktrace".to_owned()),
    ] {
        assert_eq!(message("blktrace", &content), expected);
    }
    let skip = TraceOptions { on_error: OnError::Skip, ..options("blktrace") };
    let damaged = [&good[..], &[0; 20], &good[..]].concat();
    let (requests, summary) = read(&file("skip.bin", &damaged), &skip).unwrap();
    assert_eq!((requests.len(), summary.skipped), (4, 1));
    // A recording that was cut off lacks its last record.
    for cut in [1, 47] {
        let (requests, summary) = read(&file("cut.bin", &good[..96 - cut]), &options("blktrace")).unwrap();
        assert_eq!((requests.len(), summary.truncated), (1, 1));
    }
}
