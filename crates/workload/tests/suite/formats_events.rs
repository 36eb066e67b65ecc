//! Readers of the text of tracers and replayers: blkparse, tracefs, fio, blkreplay.

use crate::support::{file, message, options, read, request, sample};
use flashraid_vocabulary::HostOp::{Flush, Read, Trim, Write, WriteZeroes};
use flashraid_workload::{BlockAction, DeviceLayout, OnError, Trace, TraceOptions};

#[test]
fn blkparse_sample() {
    let (requests, summary) = sample("example.blktrace.txt");
    let device = (8 << 20) | 16;
    assert_eq!(
        requests,
        [
            request(4001, Read, 2048 * 512, 4096, device),
            request(300_125, Read, 2056 * 512, 28672, device),
            request(310_500, Write, 4096 * 512, 12288, device),
            request(700_000, Flush, 0, 0, device),
            request(1_200_000, Write, 9001 * 512, 512, device),
            request(1_900_000, Trim, 1_048_576 * 512, 1_048_576, device),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order, summary.skipped), ("blkparse", 1, 0));
    let ignored = [
        ("C events", 2),
        ("G events", 1),
        ("P events", 1),
        ("Q events", 1),
        ("U events", 1),
        ("lines of blkparse's summary", 10),
        ("messages (m events)", 1),
    ];
    assert_eq!(summary.ignored, ignored);
    let flags = [
        ("commands passed through to the device", 1),
        ("flushes attached to writes (FW); the writes are kept", 1),
        ("forced unit access (WF); the writes are kept", 1),
    ];
    assert_eq!(summary.unsupported, flags);
    assert_eq!(summary.device_list[0].name, "8:16");
}

#[test]
fn blkparse_actions() {
    let text =
        "8,0 0 1 0.5 9 Q R 8 + 8 [a]\n8,0 0 2 0.6 9 D R 8 + 8 [a]\n8,0 0 3 0.7 0 C R 8 + 8 [0]\n8,0 0 4 0.8 0 C R 8 + 8 ( 5.001) [0]\n";
    let path = file("actions.blktrace.txt", text.as_bytes());
    for (letter, action, times) in [
        ("Q", BlockAction::Queued, vec![500_000_000]),
        ("D", BlockAction::Issued, vec![600_000_000]),
        ("C", BlockAction::Completed, vec![700_000_000, 800_000_000]),
    ] {
        let mut options = options("blkparse");
        options.set("action", letter).unwrap();
        assert_eq!(options.action, action);
        let (requests, _) = read(&path, &options).unwrap();
        assert_eq!(requests.iter().map(|request| request.arrival_ns).collect::<Vec<_>>(), times);
    }
    let error = TraceOptions::default().set("action", "X").unwrap_err().to_string();
    assert_eq!(error, "action = X: allowed is Q (queued), D (issued), C (completed)");
    let error = message("blkparse", b"8,0 0 1 0.5 9 Q R 8 + 8 [a]\n");
    assert_eq!(error, "FILE: no D events, but 1 Q: --action Q; expected at least one request");
}

/// Each of the letters that the kernel and blkparse print.
#[test]
fn letters() {
    for (letters, expected) in [
        ("R", Some(Read)),
        ("RA", Some(Read)),
        ("RSM", Some(Read)),
        ("W", Some(Write)),
        ("WS", Some(Write)),
        ("WFSM", Some(Write)),
        ("WSU", Some(Write)),
        ("FWS", Some(Write)),
        ("FWFS", Some(Write)),
        ("D", Some(Trim)),
        ("DE", Some(Trim)),
        ("DS", Some(Trim)),
        ("N", Some(WriteZeroes)),
        ("NS", Some(WriteZeroes)),
        ("WZ", Some(WriteZeroes)),
        ("WZS", Some(WriteZeroes)),
        ("F", Some(Flush)),
        ("FF", Some(Flush)),
        ("FFS", Some(Flush)),
        ("FN", Some(Flush)),
        ("ZR", None),
        ("ZAS", None),
    ] {
        let is_flush = expected == Some(Flush);
        let wanted = expected.map(|op| request(0, op, if is_flush { 0 } else { 4096 }, if is_flush { 0 } else { 512 }, 1 << 20));
        // A request that is read anyhow, so that the trace is not empty.
        let blkparse = format!("1,0 0 1 0.0 1 D {letters} 8 + 1 [a]\n1,0 0 1 9.0 1 D R 8 + 1 [a]\n");
        let tracefs = format!(
            " a-1 [0] ... 5.0: block_rq_issue: 1,0 {letters} 512 () 8 + 1 none,0,0 [a]\n a-1 [0] . 5.1: block_rq_issue: 1,0 R 1 () 8 + 1 [a]\n"
        );
        for (format, text) in [("blkparse", blkparse), ("tracefs", tracefs)] {
            let (requests, _) = read(&file(&format!("letters-{letters}.{format}"), text.as_bytes()), &options(format)).unwrap();
            assert_eq!(requests.len(), 1 + usize::from(wanted.is_some()), "{letters} in {format}");
            assert_eq!(requests[0].op, expected.unwrap_or(Read), "{letters} in {format}");
            if let Some(wanted) = wanted {
                assert_eq!(requests[0], wanted, "{letters} in {format}");
            }
        }
    }
}

/// Where a flush is queued, it is a write without sectors.
#[test]
fn empty_writes_with_preflush_are_flushes() {
    let text = b"1,0 0 1 0.0 1 D FWS [jbd2/sda-8]\n1,0 0 1 0.1 1 D FWS 0 + 0 [a]\n1,0 0 1 0.2 1 D WS 0 + 0 [a]\n1,0 0 1 0.3 1 D R [a]\n";
    let (requests, summary) = read(&file("old-flush.blktrace.txt", text), &options("blkparse")).unwrap();
    assert_eq!(requests, [request(0, Flush, 0, 0, 1 << 20), request(100_000_000, Flush, 0, 0, 1 << 20)]);
    assert_eq!(summary.ignored, [("blkparse events without sectors", 2)]);
}

#[test]
fn tracefs_sample() {
    let (requests, summary) = sample("example.tracefs.txt");
    let device = 7 << 20;
    assert_eq!(
        requests,
        [
            request(0, Trim, 0, 1_048_576, device),
            request(300_000, WriteZeroes, 16 * 512, 65536, device),
            request(1_400_000, Flush, 0, 0, device),
            request(1_900_000, Write, 8 * 512, 4096, device),
            request(2_400_000, Write, 2048 * 512, 4096, device),
            request(2_900_000, Read, 40960 * 512, 131_072, device),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order), ("tracefs", 1));
    assert_eq!(summary.ignored, [("block_rq_complete events (--action C)", 2)]);
    assert_eq!(summary.unsupported[0], ("commands passed through to the device", 1));
    assert_eq!(summary.lost_events, 12);
}

#[test]
fn fio_samples() {
    let (requests, summary) = sample("example.v3.iolog");
    assert_eq!(
        requests,
        [
            request(3000, Read, 1_048_576, 8192, 0),
            // /srv/table ends at 4,259,840, so /srv/log begins at the next whole MiB.
            request(120_000, Write, 5 << 20, 4096, 1),
            request(125_000, Flush, 0, 0, 1),
            request(900_000, Trim, 4_194_304, 65536, 0),
            request(901_000, Write, 512, 512, 0),
            request(1_500_000, Flush, 0, 0, 1),
        ]
    );
    assert_eq!(summary.device_list.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["/srv/table", "/srv/log"]);
    assert_eq!((summary.format, summary.ignored.len()), ("fio", 0));
    let (requests, _) = sample("example.v2.iolog");
    assert_eq!(
        requests,
        [
            request(0, Read, 1_048_576, 8192, 0),
            request(250_000, Write, 0, 4096, 0),
            request(250_000, Write, 4096, 4096, 0),
            request(1_250_000, Flush, 0, 0, 0),
        ]
    );
}

#[test]
fn fio_of_one_file_and_in_another_unit() {
    let text = b"fio version 3 iolog\n5 a read 0 512\n1007 b write 512 512\n9999 a sync_file_range 0 512\n";
    let path = file("unit.iolog", text);
    let only_b = TraceOptions { device_filter: vec!["b".to_owned()], time_unit: Some(flashraid_workload::TimeUnit::Ns), ..options("fio") };
    let (requests, summary) = read(&path, &only_b).unwrap();
    assert_eq!(requests, [request(1007, Write, 512, 512, 1)]);
    assert_eq!((summary.filtered, &summary.unsupported[..]), (1, &[("sync_file_range actions", 1)][..]));
    let apart = TraceOptions { layout: DeviceLayout::Apart, ..options("fio") };
    assert_eq!(read(&path, &apart).unwrap().0[1], request(1_007_000, Write, 512, 512, 1));
}

#[test]
fn blkreplay_sample() {
    let (requests, summary) = sample("example.load");
    assert_eq!(
        requests,
        [
            request(0, Write, 2048 * 512, 4096, 0),
            request(125_001, Read, 2056 * 512, 8192, 0),
            request(12_500_000_000, Write, 481_999_263 * 512, 1536, 0),
        ]
    );
    assert_eq!((summary.format, summary.ignored.len()), ("blkreplay", 0));
    let bare = b"0.5;8;8;r\n0.6;8;8;RA\n0.75 ; 16;8 ;W;0.0;0.0\n";
    let (requests, _) = read(&file("bare.load", bare), &options("auto")).unwrap();
    assert_eq!(requests, [request(500_000_000, Read, 4096, 4096, 0), request(750_000_000, Write, 8192, 4096, 0)]);
}

#[test]
fn malformed_lines() {
    let blkparse = "maj,min cpu sequence seconds pid action rwbs sector + sectors [process]";
    let huge = "a number that fits 64 bits in nanoseconds or bytes";
    let fio = "[time] file action [offset length]";
    let actions = "read, write, trim, sync, datasync, sync_file_range, add, open or close";
    let v3 = "fio version 3 iolog\n";
    let v2 = "fio version 2 iolog\n";
    let event = "a-1 [0] .... 5.0: block_rq_issue: ";
    for (format, text, expected) in [
        ("blkparse", "8.0 0 1 0.5 9 D R 8 + 8 [a]\n".to_owned(), "FILE:1:1: maj,min is '8.0'; expected MAJOR,MINOR".to_owned()),
        ("blkparse", "8,x 0 1 0.5 9 D R 8 + 8\n".to_owned(), "FILE:1:1: maj,min is '8,x'; expected a decimal number".to_owned()),
        (
            "blkparse",
            "4096,0 0 1 0.5 9 D R 8 + 8\n".to_owned(),
            "FILE:1:1: maj,min is '4096,0'; expected a major device number of at most 4095 and a minor one of at most 1048575".to_owned(),
        ),
        ("blkparse", "8,0 0 1 zero 9 D R 8 + 8\n".to_owned(), "FILE:1:9: seconds is 'zero'; expected a decimal number".to_owned()),
        ("blkparse", "8,0 0 1 0.5 9\n".to_owned(), format!("FILE:1:14: the line ends before action; expected {blkparse}")),
        ("blkparse", "8,0 0 1 0.5 9 D R 8 + \n".to_owned(), format!("FILE:1:23: the line ends before sectors; expected {blkparse}")),
        ("blkparse", "8,0 0 1 0.5 9 D R 8x + 8\n".to_owned(), "FILE:1:19: sector is '8x'; expected a decimal number".to_owned()),
        ("blkparse", "8,0 0 1 0.5 9 D R 8 + 8x [a]\n".to_owned(), "FILE:1:23: sectors is '8x'; expected a decimal number".to_owned()),
        (
            "blkparse",
            "8,0 0 1 0.5 9 D R 99999999999999999999 + 8\n".to_owned(),
            format!("FILE:1:19: sector is '99999999999999999999'; expected {huge}"),
        ),
        (
            "blkparse",
            "8,0 0 1 0.5 9 D R 8 + 8388608 [a]\n".to_owned(),
            "FILE:1:23: a transfer of 4294967296 bytes; expected at most 4294967295".to_owned(),
        ),
        (
            "tracefs",
            "a-1 [0] .... 500: block_rq_issue: 8,0 R 4096 () 8 + 8 [a]\n".to_owned(),
            "FILE:1:14: the time is '500:'; expected seconds with a fraction, as of trace_clock local, global, mono, mono_raw or boot"
                .to_owned(),
        ),
        (
            "tracefs",
            format!("{event}8,0 R 4096 (2a 8 + 8\n"),
            "FILE:1:1: an event without (command); expected seconds: block_rq_issue: maj,min rwbs bytes (command) sector + sectors"
                .to_owned(),
        ),
        ("tracefs", format!("{event}8,0 R 4096 () 8 - 8 [a]\n"), "FILE:1:51: + is '-'; expected +".to_owned()),
        ("tracefs", format!("{event}8 R 4096 () 8 + 8 [a]\n"), "FILE:1:35: maj,min is '8'; expected MAJOR,MINOR".to_owned()),
        (
            "fio",
            "0 a read 0 512\n".to_owned(),
            "FILE:1:1: no header line; expected 'fio version 2 iolog' or 'fio version 3 iolog'".to_owned(),
        ),
        (
            "fio",
            "fio version 4 iolog\n".to_owned(),
            "FILE:1:1: no header line; expected 'fio version 2 iolog' or 'fio version 3 iolog'".to_owned(),
        ),
        ("fio", format!("{v3}0 a raed 0 512\n"), format!("FILE:2:5: action is 'raed'; expected {actions}")),
        (
            "fio",
            format!("{v3}0 a wait 5 0\n"),
            "FILE:2:5: action is 'wait'; expected no wait in version 3, where times are absolute".to_owned(),
        ),
        ("fio", format!("{v3}a read 0 512\n"), "FILE:2:1: time is 'a'; expected a decimal number".to_owned()),
        ("fio", format!("{v3}0 a read 0\n"), format!("FILE:2:11: the line ends before length; expected {fio}")),
        ("fio", format!("{v3}0 a read 0 0\n"), "FILE:2:12: a size of 0 bytes; expected at least 1".to_owned()),
        (
            "fio",
            format!("{v3}0 a read 0 512 7\n"),
            "FILE:2:16: something follows length; expected [time] file action [offset length]".to_owned(),
        ),
        (
            "fio",
            format!("{v2}a wait 18446744073709551\na wait 9\na read 0 512\n"),
            "FILE:4:1: a time of 18446744073709551615 ns; expected at most 292 years".to_owned(),
        ),
        (
            "blkreplay",
            "start ; sector; length ; op\n0.0 ; 8 ; 8 ; X ; 0.0\n".to_owned(),
            "FILE:2:15: op is 'X'; expected R or W".to_owned(),
        ),
        ("blkreplay", "0.0 ; 8 ; 8 ; R\nend\n".to_owned(), "FILE:2:1: start is 'end'; expected a decimal number".to_owned()),
        (
            "blkreplay",
            "start ; sector; length ; op\nx ; 8 ; 8 ; R\n".to_owned(),
            "FILE: no request in the file; expected at least one request".to_owned(),
        ),
        ("blkreplay", "free text only\n".to_owned(), "FILE: no request in the file; expected at least one request".to_owned()),
    ] {
        assert_eq!(message(format, text.as_bytes()), expected, "{format}: {text}");
    }
}

#[test]
fn malformed_lines_can_be_counted() {
    for (format, text) in [
        ("blkparse", "8,0 0 1 0.5 9 D R 8 + 8 [a]\n8,0 0 1 zero 9 D R 8 + 8\n8,0 0 1 0.6 9 D R 8 + 8 [a]"),
        (
            "tracefs",
            " a-1 [0] . 5.0: block_rq_issue: 1,0 R 1 () 8 + 1 [a]\n a-1 [0] . 5: block_rq_issue: 1,0 R 1 () 8 + 1 [a]\r\n a-1 [0] . 5.1: block_rq_issue: 1,0 R 1 () 8 + 1 [a]\r\n",
        ),
        ("fio", "fio version 3 iolog\r\n0 a read 0 512\r\n0 a raed 0 512\r\n9 a read 0 512"),
        ("blkreplay", "0.0;8;8;R\r\n0.1;8;8;Q\r\n0.2;8;8;W"),
    ] {
        let skip = TraceOptions { on_error: OnError::Skip, ..options(format) };
        let (requests, summary) = read(&file(&format!("skip.{format}"), text.as_bytes()), &skip).unwrap();
        assert_eq!((requests.len(), summary.skipped, summary.faults.len()), (2, 1, 1), "{format}: {:?}", summary.faults);
    }
}

#[test]
fn recognition_is_by_header_or_name() {
    let rows = "0 0 8 8 1\n";
    for (name, text, expected) in [
        ("ycsb-rocksdb-10000.blkparse.xz", rows, Ok("blkparse")),
        ("ssdtrace-00.blkparse", rows, Ok("blkparse")),
        ("sda.blktrace.txt", rows, Ok("blkparse")),
        ("sda.blkparse", rows, Err("fiu or blkparse")),
        ("app.tracefs.txt.zst", rows, Ok("tracefs")),
        ("events.txt", "# tracer: nop\n#\n", Ok("tracefs")),
        ("log", "fio version 2 iolog\r\n", Ok("fio")),
        ("log.csv", "fio version 3 iolog\n", Ok("fio")),
        ("job.iolog", rows, Ok("fio")),
        ("linux-webserver-2.load.gz", rows, Ok("blkreplay")),
        ("w01.oracleGeneral.bin.zst", rows, Ok("oracle-general")),
        ("msr_hm_0.oracleGeneral", rows, Ok("oracle-general")),
        ("any.bin", "\u{f0}", Err("")),
        ("w01.lcs", rows, Ok("lcs")),
        ("trace.vscsi", rows, Ok("vscsi")),
        ("w01.vscsi2.zst", rows, Ok("vscsi")),
        ("cloudphysics.vscsitrace", rows, Ok("vscsi")),
    ] {
        let opened = Trace::open(&file(name, text.as_bytes()), &TraceOptions::default());
        match (opened.map(|trace| trace.format().name).map_err(|error| error.to_string()), expected) {
            (Ok(format), Ok(expected)) => assert_eq!(format, expected, "{name}"),
            (Err(error), Err("")) => assert!(error.contains("neither the first line nor the file name identifies"), "{name}: {error}"),
            (Err(error), Err(candidates)) => {
                assert!(
                    error.ends_with(&format!("the file name matches several trace formats and there is no header (flashraid's is ts_us,op,offset,size); expected --format {candidates}")),
                    "{name}: {error}"
                );
            }
            (opened, _) => panic!("{name}: {opened:?}"),
        }
    }
}

/// Bytes that are no text end in one line of error, or are counted.
#[test]
fn garbage_is_no_trace() {
    let garbage: Vec<u8> = (0..200_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for format in ["blkparse", "tracefs", "fio", "blkreplay"] {
        let error = message(format, &garbage);
        assert!(error.starts_with("FILE"), "{format}: {error}");
        let skip = TraceOptions { on_error: OnError::Skip, ..options(format) };
        assert!(read(&file(&format!("garbage.{format}"), &garbage), &skip).is_err());
    }
}
