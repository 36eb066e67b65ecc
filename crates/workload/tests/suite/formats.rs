//! Each format on its sample, and on every way in which a line or a file can be wrong.

use crate::support::{file, hex, in_repository, message, options, options_of_sample, own_folder, read, request, sample};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{DeviceLayout, OnError, Synth, Trace, TraceOptions, TraceSlice, convert, formats, trace_info, write_trace};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// The names of all formats, as messages list them.
fn names() -> String {
    formats::FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

#[test]
fn own_csv_sample() {
    let (requests, summary) = sample("example.csv");
    assert_eq!(
        requests,
        [
            request(0, HostOp::WriteZeroes, 0, 65536, 0),
            request(12_000, HostOp::Write, 65536, 4096, 0),
            request(12_500, HostOp::Write, 69632, 8192, 0),
            request(40_000, HostOp::Flush, 0, 0, 0),
            request(171_000, HostOp::Read, 65536, 12288, 0),
            request(1_893_000, HostOp::Write, 65536, 4096, 0),
            request(2_500_000, HostOp::Trim, 0, 1_048_576, 0),
            request(99_000_000, HostOp::Read, 4_194_304, 512, 0),
        ]
    );
    assert_eq!((summary.name.as_str(), summary.requests, summary.out_of_order, summary.devices), ("example.csv", 8, 0, 1));
}

#[test]
fn ssdsim_sample() {
    let (requests, _) = sample("example.ssdsim.ascii");
    assert_eq!(requests.len(), 6);
    assert_eq!(requests[0], request(0, HostOp::Write, 2048 * 512, 4096, 0));
    assert_eq!(requests[4], request(9_000_000, HostOp::Read, 7 * 512, 1536, 0));
    assert_eq!(requests[5], request(12_000_001, HostOp::Write, 40960 * 512, 131_072, 0));
}

#[test]
fn spc_sample() {
    let (requests, _) = sample("example.spc");
    assert_eq!(
        requests,
        [
            request(0, HostOp::Write, 1024 * 512, 4096, 3),
            request(125_000, HostOp::Write, 1032 * 512, 4096, 3),
            request(200_000_000, HostOp::Read, 500 * 512, 1536, 3),
            request(1_000_000_001, HostOp::Read, 1024 * 512, 8192, 3),
            request(17_500_000_000, HostOp::Write, 1040 * 512, 512, 3),
        ]
    );
}

#[test]
fn msr_sample_is_rebased_and_put_in_order() {
    let (requests, summary) = sample("example.msr.csv");
    assert_eq!(
        requests,
        [
            request(0, HostOp::Write, 40960, 4096, 2),
            request(900, HostOp::Read, 40960, 512, 2),
            request(399_900, HostOp::Write, 45056, 8192, 2),
            request(400_000, HostOp::Read, 1_048_576, 65536, 2),
            request(12_000_000_000, HostOp::Write, 40960, 4096, 2),
        ]
    );
    assert_eq!(summary.out_of_order, 1);
}

#[test]
fn demo_trace() {
    let (requests, summary) = read(&in_repository("samples/pgbench-transactions.csv.gz"), &TraceOptions::default()).unwrap();
    let count = |op| requests.iter().filter(|request| request.op == op).count();
    assert_eq!((count(HostOp::Read), count(HostOp::Write), count(HostOp::Flush), count(HostOp::Trim)), (35_162, 48_490, 16_340, 8));
    assert_eq!((requests[0].arrival_ns, requests[99_999].arrival_ns), (0, 16_149_698_000));
    assert_eq!((summary.requests, summary.out_of_order), (100_000, 0));
    let readme = fs::read_to_string(in_repository("samples/README.md")).unwrap();
    assert!(readme.contains(&summary.sha256), "samples/README.md gives another checksum");
}

/// Decimal seconds become the nanoseconds that they say, not the nearest float's.
#[test]
fn times_are_exact() {
    let text = "0,0,512,r,0.1\n0,0,512,r,259.601203\n0,0,512,r,9007199.254740993\n0,0,512,r,9007199.2547409940\n0,0,512,r,9007200.\
                000000001900000000\n0,0,512,r,9007200.5\n";
    let (requests, _) = read(&file("exact.spc", text.as_bytes()), &options("spc")).unwrap();
    let arrivals: Vec<u64> = requests.iter().map(|request| request.arrival_ns).collect();
    let expected =
        [100_000_000, 259_601_203_000, 9_007_199_254_740_993, 9_007_199_254_740_994, 9_007_200_000_000_001, 9_007_200_500_000_000];
    assert_eq!(arrivals, expected);
}

#[test]
fn layout_of_lines_is_free() {
    let plain = read(&file("plain.ascii", b"0 0 8 8 0\n5 0 16 8 1\n"), &options("ssdsim")).unwrap().0;
    assert_eq!(plain.len(), 2);
    for (name, text) in [
        ("no newline", "0 0 8 8 0\n5 0 16 8 1"),
        ("CRLF", "0 0 8 8 0\r\n5 0 16 8 1\r\n"),
        ("CRLF, no newline", "0 0 8 8 0\r\n5 0 16 8 1\r"),
        ("empty lines at the end", "0 0 8 8 0\n5 0 16 8 1\n\n \r\n\t\n"),
        ("blanks", "  0\t0  8 8   0 \n\t5 0 16 8 1\t \n"),
    ] {
        assert_eq!(read(&file("layout.ascii", text.as_bytes()), &options("ssdsim")).unwrap().0, plain, "{name}");
    }
    let spc = " 1 , 8 ,4096, r ,\t0.5 \r\n1,8,4096,R,0.5,,x y\n";
    let requests = read(&file("layout.spc", spc.as_bytes()), &options("spc")).unwrap().0;
    assert_eq!(requests, [request(500_000_000, HostOp::Read, 4096, 4096, 1); 2]);
}

/// Chunks end anywhere in a line; whatever is in memory behind a line must not matter.
#[test]
fn lines_across_buffers() {
    let mut text = String::new();
    let expected: Vec<u64> = (0..60_000).map(|i: u64| i * i).collect();
    for arrival in &expected {
        text += &format!("{arrival} 0 8 8 0\n");
    }
    let requests = read(&file("long.ascii", text.as_bytes()), &options("ssdsim")).unwrap().0;
    assert!(requests.iter().map(|request| request.arrival_ns).eq(expected));
}

#[test]
fn malformed_ssdsim() {
    let columns = "time_ns dev lba_sectors sectors type";
    for (text, expected) in [
        ("0 0 8 8\n0 0 8 8 1\n", format!("FILE:1:8: the line ends before type; expected {columns}")),
        ("0 0 8 8\n", format!("FILE:1:8: the line ends before type; expected {columns}")),
        ("0 0 8 8 0 7\n", format!("FILE:1:11: something follows type; expected {columns}")),
        ("0 0 8 8 0\n0 0 x8 8 0\n", "FILE:2:5: lba_sectors is 'x8'; expected a decimal number".to_owned()),
        ("0 0 8 8.5 0\n", "FILE:1:7: sectors is '8.5'; expected a decimal number".to_owned()),
        ("0 0 -8 8 0\n", "FILE:1:5: lba_sectors is '-8'; expected a decimal number".to_owned()),
        ("1.5 0 8 8 0\n", "FILE:1:1: time_ns is '1.5'; expected whole nanoseconds (--time-unit sets another unit)".to_owned()),
        ("12345678a 0 8 8 0\n", "FILE:1:1: time_ns is '12345678a'; expected a decimal number".to_owned()),
        ("0 0 8 8 2\n", "FILE:1:9: type is '2'; expected 0 (write) or 1 (read)".to_owned()),
        ("0 0 8 8 01\n", "FILE:1:9: type is '01'; expected 0 (write) or 1 (read)".to_owned()),
        ("0 0 8 0 1\n", "FILE:1:7: a size of 0 bytes; expected at least 1".to_owned()),
        ("0 0 8 8388608 1\n", "FILE:1:7: a transfer of 4294967296 bytes; expected at most 4294967295".to_owned()),
        (
            "18446744073709551616 0 8 8 0\n",
            "FILE:1:1: time_ns is '18446744073709551616'; expected a number that fits 64 bits in nanoseconds or bytes".to_owned(),
        ),
        (
            "0 0 36028797018963968 8 0\n",
            "FILE:1:5: lba_sectors is '36028797018963968'; expected a number that fits 64 bits in nanoseconds or bytes".to_owned(),
        ),
        (
            "0 0 18014398509481983 8 0\n",
            "FILE:1:23: an address beyond 2^63 bytes (9223372036854775296 + 4096); expected an address that a device can have".to_owned(),
        ),
        ("9223372036854775808 0 8 8 0\n", "FILE:1:1: a time of 9223372036854775808 ns; expected at most 292 years".to_owned()),
        ("0 4294967296 8 8 0\n", "FILE:1:3: dev is '4294967296'; expected a device number of at most 4294967295".to_owned()),
        ("0 0 8 8 0\n\n \n0 0 8 8 0\n", format!("FILE:2:1: an empty line inside the trace; expected {columns}")),
        ("0 0 8 8 0\n\0\0\n", "FILE:2:1: time_ns is '\\x00\\x00'; expected a decimal number".to_owned()),
        ("", "FILE: an empty file; expected at least one request".to_owned()),
        ("\n\n", "FILE: no request in the file; expected at least one request".to_owned()),
    ] {
        assert_eq!(message("ssdsim", text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn malformed_spc() {
    for (text, expected) in [
        ("0,8,512,r\n", "FILE:1:10: the line ends before Timestamp; expected ASU,LBA,Size,Opcode,Timestamp"),
        (
            "0 8 512 r 0\n",
            "FILE:1:3: something follows ASU; expected commas between ASU,LBA,Size,Opcode,Timestamp, and not blanks, or --columns \
             device,lba,bytes,op,time:s --separator blank",
        ),
        ("0,8,512,x,0\n", "FILE:1:9: Opcode is 'x'; expected one of R r W w"),
        ("0,8,512,,0\n", "FILE:1:9: Opcode is ''; expected one of R r W w"),
        ("0,8,0,r,0\n", "FILE:1:5: a size of 0 bytes; expected at least 1"),
        ("0,8,512,r,\n", "FILE:1:11: Timestamp is ''; expected a decimal number"),
        ("0,8,512,r,1.\n", "FILE:1:11: Timestamp is '1.'; expected a decimal number"),
        ("0,8,512,r,.5\n", "FILE:1:11: Timestamp is '.5'; expected a decimal number"),
        ("0,8,512,r,1e3\n", "FILE:1:11: Timestamp is '1e3'; expected a decimal number"),
        ("0,8,512,r,-1.5\n", "FILE:1:11: Timestamp is '-1.5'; expected a decimal number"),
        ("0,8,512,r,nan\n", "FILE:1:11: Timestamp is 'nan'; expected a decimal number"),
        ("0,8,512,r,0.5.5\n", "FILE:1:11: Timestamp is '0.5.5'; expected a decimal number"),
        (
            "0,8,512,r,18446744073.9\n",
            "FILE:1:11: Timestamp is '18446744073.9'; expected a number that fits 64 bits in nanoseconds or bytes",
        ),
    ] {
        assert_eq!(message("spc", text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn malformed_msr() {
    let columns = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
    let first = "130000000000000000,hm,0,Read,0,512,9\n";
    for (text, expected) in [
        ("130000000000000000,hm,0,read,0,512,9\n".to_owned(), "FILE:1:25: Type is 'read'; expected Read or Write".to_owned()),
        (
            "1281663720.5,hm,0,Read,0,512,9\n".to_owned(),
            "FILE:1:1: Timestamp is '1281663720.5'; expected whole ticks of 100 ns (--time-unit sets another unit)".to_owned(),
        ),
        ("130000000000000000,,0,Read,0,512,9\n".to_owned(), "FILE:1:20: Hostname is ''; expected the one host of the file".to_owned()),
        (
            format!("{first}130000000000000001,ts,0,Read,0,512,9\n"),
            "FILE:2:20: Hostname is 'ts'; expected the one host of the file".to_owned(),
        ),
        ("130000000000000000,hm,0,Read,0,512\n".to_owned(), format!("FILE:1:35: the line ends before ResponseTime; expected {columns}")),
        (format!("{columns}\n"), "FILE: no request in the file; expected at least one request".to_owned()),
        (
            "200000000000000000,hm,0,Read,0,512,9\n".to_owned(),
            "FILE:1:1: Timestamp is '200000000000000000'; expected a number that fits 64 bits in nanoseconds or bytes".to_owned(),
        ),
    ] {
        assert_eq!(message("msr", text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn malformed_own_csv() {
    let columns = "ts_us,op,offset,size,flags,latency_us";
    for (row, expected) in [
        ("0,X,0,4096,,", "FILE:2:3: op is 'X'; expected one of R W F D Z".to_owned()),
        ("0,W,0,4096,", format!("FILE:2:12: the line ends before latency_us; expected {columns}")),
        ("0,W,0,4096,,5,6", format!("FILE:2:14: something follows latency_us; expected {columns}")),
        ("0,W,0,4096,,fast", "FILE:2:13: latency_us is 'fast'; expected a decimal number or nothing".to_owned()),
        ("0,F,0,4096,,", "FILE:2:7: a flush with offset or size; expected 0 for both".to_owned()),
        ("0,D,0,0,,", "FILE:2:7: a size of 0 bytes; expected at least 1".to_owned()),
        (columns, "FILE: no request in the file; expected at least one request".to_owned()),
    ] {
        assert_eq!(message("flashraid", format!("{columns}\n{row}\n").as_bytes()), expected, "{row:?}");
    }
    assert_eq!(message("flashraid", b"0,W,0,4096,,\n"), format!("FILE:1:1: no header line; expected {columns}"));
    assert_eq!(message("flashraid", b""), "FILE: an empty file; expected at least one request");
    assert_eq!(message("flashraid", format!("{columns}\n").as_bytes()), "FILE: no request in the file; expected at least one request");
}

#[test]
fn a_binary_file_is_no_trace() {
    let text = vec![b'7'; 300_000];
    assert_eq!(message("ssdsim", &text), "FILE:1:1: a line of more than 262144 bytes; expected a text trace");
}

/// The samples of all formats.
fn samples() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(in_repository("samples/formats")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_format_has_a_sample() {
    let of = |path: &PathBuf| Trace::open(path, &options_of_sample(path)).unwrap().format().name;
    let sampled: Vec<&str> = samples().iter().map(of).collect();
    for format in formats::FORMATS {
        assert!(sampled.contains(&format.name), "no sample of {}", format.name);
    }
}

/// Damage of any kind gives requests or one line of error, never a panic.
#[test]
fn damaged_text_never_panics() {
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut good, mut bad) = (0, 0);
    for path in samples() {
        let reading = options_of_sample(&path);
        let reading = TraceOptions { format: Trace::open(&path, &reading).unwrap().format().name.to_owned(), ..reading };
        let original = fs::read(path).unwrap();
        for _ in 0..500 {
            let mut text = original.clone();
            for _ in 0..=random(3) {
                let position = random(text.len());
                match random(4) {
                    0 => text[position] = random(256) as u8,
                    1 => text[position] = b"0123456789,. \t\r\n-"[random(17)],
                    2 => text.truncate(position + 1),
                    _ => text.insert(position, b"0129,. \r\n"[random(9)]),
                }
            }
            match read(&file("damaged-text", &text), &reading) {
                Ok(_) => good += 1,
                Err(error) => {
                    bad += 1;
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }
        }
    }
    assert!(good > 200 && bad > 200, "{good} read, {bad} refused: the damage is too much of one kind");
}

/// Each compression of a trace, packed by the libraries that also unpack it.
fn packed(text: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(text).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(text).unwrap();
    [("gzip", gzip.finish().unwrap()), ("zstd", zstd::encode_all(text, 3).unwrap()), ("xz", xz.finish().unwrap())]
}

fn some_thousand_lines() -> String {
    (0..5000).map(|i: u64| format!("{} 0 {} 8 {}\n", i * 977, i * 7919 % 100_000, i % 2)).collect()
}

#[test]
fn compressions_are_told_by_content() {
    let text = some_thousand_lines();
    let plain = read(&file("packed.ascii", text.as_bytes()), &options("ssdsim")).unwrap();
    assert_eq!(plain.1.sha256, hex(&Sha256::digest(&text)));
    for (name, bytes) in packed(text.as_bytes()) {
        let (requests, summary) = read(&file(&format!("packed-{name}"), &bytes), &options("ssdsim")).unwrap();
        assert_eq!(requests, plain.0, "{name}");
        assert_eq!(summary.sha256, hex(&Sha256::digest(&bytes)), "{name}: the hash is that of the file on disk");
        let twice = [bytes.clone(), bytes].concat();
        let requests = read(&file(&format!("twice-{name}"), &twice), &options("ssdsim")).unwrap().0;
        assert_eq!(requests.len(), 10_000, "{name}: archives can be joined");
    }
}

#[test]
fn truncated_archives_are_errors() {
    for (name, bytes) in packed(some_thousand_lines().as_bytes()) {
        for kept in [bytes.len() - 1, bytes.len() - 4, bytes.len() / 2, 20] {
            let path = file(&format!("cut-{name}-{kept}"), &bytes[..kept]);
            let error = read(&path, &options("ssdsim")).unwrap_err().to_string();
            assert!(error.contains(&format!("truncated or damaged {name} data")), "{kept} bytes: {error}");
        }
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x55;
        let error = read(&file(&format!("damaged-{name}"), &damaged), &options("ssdsim"));
        assert!(error.is_err(), "{name}: a damaged archive was read");
    }
}

#[test]
fn missing_files_and_unknown_formats() {
    let error = read(&in_repository("samples/nothing.spc"), &TraceOptions::default()).unwrap_err().to_string();
    assert!(error.ends_with("nothing.spc: No such file or directory"), "{error}");
    let error = read(&in_repository("samples"), &options("spc")).unwrap_err().to_string();
    assert!(error.ends_with("samples: Is a directory"), "{error}");
    let sample = in_repository("samples/formats/example.spc");
    let error = read(&sample, &options("sdsim")).unwrap_err().to_string();
    assert_eq!(error, format!("unknown trace format 'sdsim' (nearest: 'ssdsim'); expected auto, {}", names()));
    let error = read(&sample, &options("parquet")).unwrap_err().to_string();
    assert_eq!(error, format!("unknown trace format 'parquet'; expected auto, {}", names()));
}

#[test]
fn recognition_is_by_header_or_name() {
    let row_of = |format: &str| match format {
        "flashraid" => "ts_us,op,offset,size,flags,latency_us\n0,W,0,4096,,\n",
        "ssdsim" => "0 0 8 8 0\n",
        "spc" => "0,8,512,r,0\n",
        _ => "130000000000000000,hm,0,Read,0,512,9\n",
    };
    for (name, format) in [
        ("anything", Some("flashraid")),
        ("misnamed.spc", Some("flashraid")),
        ("FINANCIAL.SPC", Some("spc")),
        ("a.spc.gz", Some("spc")),
        ("fin1.ssdsim-ns.ascii.xz", Some("ssdsim")),
        ("ssdsim.trace", Some("ssdsim")),
        ("tpcc.mqsim.trace", Some("ssdsim")),
        ("hm_0.csv", Some("msr")),
        ("src1_2.csv.zst", Some("msr")),
        ("msr-volume.csv", Some("msr")),
        ("a.ssdsim-us.trace", Some("ssdsim")),
        ("hm_0.ssdsim-ms.trace", Some("ssdsim")),
    ] {
        let path = file(name, row_of(format.unwrap_or("ssdsim")).as_bytes());
        match (Trace::open(&path, &TraceOptions::default()), format) {
            (Ok(mut trace), Some(format)) => {
                assert_eq!(trace.read_batch(&mut Vec::new()).unwrap(), 1, "{name} is not read as {format}");
            }
            (Err(error), None) => {
                let expected = format!(
                    "neither the first line nor the file name identifies the trace format; expected --format {} (of text, --columns says what its columns are)",
                    names()
                );
                assert!(error.to_string().ends_with(&expected), "{error}");
            }
            (opened, _) => panic!("{name}: {:?}", opened.err().map(|error| error.to_string())),
        }
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_filter_takes_one_device() {
    let text = "5 4 8 8 0\n3 9 16 8 1\n7 4 24 8 0\n6 9 32 8 0\n";
    let path = file("devices.ascii", text.as_bytes());
    let of_device = |device: u32| read(&path, &TraceOptions { device_filter: vec![device.to_string()], ..options("ssdsim") });
    let (requests, summary) = of_device(9).unwrap();
    assert_eq!(requests, [request(3, HostOp::Read, 16 * 512, 4096, 9), request(6, HostOp::Write, 32 * 512, 4096, 9)]);
    assert_eq!((summary.requests, summary.filtered, summary.devices, summary.out_of_order), (2, 2, 2, 2));
    let error = of_device(5).unwrap_err().to_string();
    assert!(error.ends_with("no request matches --device-filter; devices found: 9, 4; expected at least one request"), "{error}");
}

/// Times count from the earliest request that the filter keeps.
#[test]
fn rebased_times_with_a_filter() {
    let text = "130000000000000100,hm,0,Read,0,512,9\n130000000000000090,hm,1,Read,0,512,9\n130000000000000110,hm,1,Read,0,512,9\n";
    let filter = TraceOptions { device_filter: vec!["1".to_owned()], ..options("msr") };
    let (requests, summary) = read(&file("rebased", text.as_bytes()), &filter).unwrap();
    assert_eq!(requests.iter().map(|request| request.arrival_ns).collect::<Vec<_>>(), [0, 2000]);
    assert_eq!(summary.out_of_order, 1);
}

#[test]
fn a_limit_is_a_prefix_and_the_hash_is_of_the_whole() {
    let path = file("prefix.ascii", some_thousand_lines().as_bytes());
    let (all, whole) = read(&path, &options("ssdsim")).unwrap();
    for limit in [1, 2, 1023, 1024, 1025, 4999, 5000, 6000] {
        let (requests, summary) = read(&path, &TraceOptions { limit, ..options("ssdsim") }).unwrap();
        assert_eq!(requests, all[..all.len().min(limit as usize)], "limit {limit}");
        assert_eq!((summary.requests, summary.sha256), (requests.len() as u64, whole.sha256.clone()), "limit {limit}");
    }
    // A fault beyond the limit is none of what was asked for.
    let path = file("limited.ascii", b"0 0 8 8 0\nrubbish\n");
    assert_eq!(read(&path, &TraceOptions { limit: 1, ..options("ssdsim") }).unwrap().0.len(), 1);
}

/// Times are those of the whole trace, whatever part of it is asked for: of a coarse clock, spread over all requests of a tick, and
/// of records out of order, in the order of their times.
#[test]
fn a_limit_changes_neither_times_nor_order() {
    let mut random = SplitMix64::new(7);
    let coarse: String =
        (0..9000).map(|n| format!("{},{},8,{},{}\n", 100 + n / 3000 + u64::from(n % 7 == 0), n * 8, n % 2, n % 3)).collect();
    let late: String =
        (0..9000).map(|n: u64| format!("{} {} {} 8 1\n", (n + 4000).saturating_sub(random.next_u64() % 4000) * 10, n % 3, n * 8)).collect();
    let few = "100,0,8,0,1\n100,8,8,0,1\n100,16,8,0,2\n100,24,8,0,1\n101,32,8,0,1\n";
    for (number, (format, text)) in [("tencent", few), ("tencent", coarse.as_str()), ("ssdsim", late.as_str())].into_iter().enumerate() {
        let path = file(&format!("unlimited-{number}"), text.as_bytes());
        let apart = |limit| TraceOptions { limit, layout: DeviceLayout::Apart, ..options(format) };
        let (all, _) = read(&path, &apart(0)).unwrap();
        let (side_by_side, _) = read(&path, &options(format)).unwrap();
        for limit in [1, 2, 3, 4, 5, 1000, 1024, 2571, 3500, 4096, 8999] {
            let expected = &all[..all.len().min(limit as usize)];
            let (requests, summary) = read(&path, &apart(limit)).unwrap();
            assert!(requests == expected, "{format} {number}, limit {limit}");
            // Nothing of what was read beyond it is told of the devices.
            let mut of_devices: Vec<_> = summary.device_list.iter().map(|found| (found.number, found.requests, found.end_bytes)).collect();
            of_devices.sort_unstable();
            let mut expected_devices = BTreeMap::new();
            for request in expected {
                let (requests, end) = expected_devices.entry(request.source).or_insert((0, 0));
                (*requests, *end) = (*requests + 1, (request.offset_bytes + request.size_bytes).max(*end));
            }
            let expected_devices: Vec<_> = expected_devices.into_iter().map(|(number, (requests, end))| (number, requests, end)).collect();
            assert_eq!(of_devices, expected_devices, "{format} {number}, limit {limit}");
            // Nor is it where the devices lie one behind the other.
            let (_, laid_out) = read(&path, &TraceOptions { limit, ..options(format) }).unwrap();
            let mut of_devices: Vec<_> = laid_out.device_list.iter().map(|found| (found.number, found.requests, found.end_bytes)).collect();
            of_devices.sort_unstable();
            assert_eq!(of_devices, expected_devices, "{format} {number}, limit {limit}");

            let info = trace_info(&path, &apart(limit), NonZeroU64::new(4096).unwrap()).unwrap();
            assert_eq!(info.duration_ns, expected.last().unwrap().arrival_ns - expected[0].arrival_ns, "{format} {number}, limit {limit}");
            let output = path.with_extension("csv");
            let slice = TraceSlice { limit, ..TraceSlice::default() };
            let own = formats::find("flashraid").unwrap();
            convert(&path, &options(format), &slice, &output, own, &mut |_, _| true).unwrap();
            let (converted, _) = read(&output, &TraceOptions { layout: DeviceLayout::Apart, ..options("flashraid") }).unwrap();
            let times =
                |requests: &[HostRequest]| requests.iter().map(|request| (request.arrival_ns, request.offset_bytes)).collect::<Vec<_>>();
            assert!(times(&converted) == times(&side_by_side[..expected.len()]), "{format} {number}, limit {limit}");
            fs::remove_file(&output).unwrap();
        }
    }
}

#[test]
fn what_is_written_is_read_again() {
    let synth: Synth = serde_json::from_str(
        r#"{"requests": 3000, "seed": 9, "space_bytes": 1073741824, "read_share": 0.25,
            "max_pages": 9, "interval_ns": 12345, "arrivals": "poisson"}"#,
    )
    .unwrap();
    let requests: Vec<HostRequest> = synth.requests().unwrap().collect();
    for name in ["flashraid", "ssdsim"] {
        let path = file(&format!("written-{name}"), b"replaced");
        assert_eq!(write_trace(&path, formats::find(name).unwrap(), false, requests.iter().copied(), &mut |_, _| true).unwrap(), 3000);
        assert_eq!(read(&path, &options(name)).unwrap().0, requests, "{name}");
    }
    let (kinds, _) = sample("example.csv");
    let path = file("written-kinds", b"");
    write_trace(&path, formats::find("flashraid").unwrap(), false, kinds.iter().copied(), &mut |_, _| true).unwrap();
    assert_eq!(read(&path, &TraceOptions::default()).unwrap().0, kinds);
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = own_folder();
    let path = folder.join("trace");
    fs::write(&path, "old").unwrap();
    let (kinds, _) = sample("example.csv");
    let error = write_trace(&path, formats::find("ssdsim").unwrap(), false, kinds, &mut |_, _| true).unwrap_err().to_string();
    assert_eq!(error, "request 1 cannot be written as 'ssdsim': it is a WriteZeroes; expected reads and writes");
    let error = write_trace(&path, formats::find("spc").unwrap(), false, [], &mut |_, _| true).unwrap_err().to_string();
    assert_eq!(error, "traces cannot be written as 'spc'; expected flashraid or ssdsim or blkparse or fio");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn traces_can_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Trace>();
}

/// A line that begins like an empty one and is none was once read for ever.
#[test]
fn a_line_is_either_empty_or_a_fault() {
    let skip = TraceOptions { on_error: OnError::Skip, ..options("ssdsim") };
    let path = file("carriage-return.ascii", b"0 0 8 8 0\n\r7\n5 0 16 8 1\n\n\r9 \n6 0 8 8 1\n\n7 0 8 8 1\n");
    let (requests, summary) = read(&path, &skip).unwrap();
    assert_eq!(requests.iter().map(|request| request.arrival_ns).collect::<Vec<_>>(), [0, 5, 6, 7]);
    assert_eq!(summary.skipped, 4, "two lines and two empty ones: {:?}", summary.faults);
    assert!(
        summary.faults[0].ends_with(":2:2: something follows a carriage return; expected time_ns dev lba_sectors sectors type"),
        "{}",
        summary.faults[0]
    );
}
