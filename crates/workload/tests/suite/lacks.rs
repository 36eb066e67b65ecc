//! What a recording lacks, and what of it is not replayed: counted and said.

use crate::support::{file, gzip, message, options, read, request, sample};
use flashraid_vocabulary::HostOp::{Flush, Read, Write, WriteZeroes};
use flashraid_workload::{OnError, TraceOptions};

const NVME: &str = " a-1 [0] . 5.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, cmd=(nvme_cmd_write slba=0, len=7)\n";

/// The last line of a recording that was stopped, or whose disk was full, is left out.
#[test]
fn last_lines_that_are_cut_off() {
    for (format, whole, cut) in [
        ("blkparse", "8,0 3 1 0.5 9 D W 8 + 8 [a]\n", "8,0    3        2     0.0010000"),
        ("blkparse", "8,0 3 1 0.5 9 D W 8 + 8 [a]\n", "8,0 3 2 0.6 9 D W 8"),
        ("blkparse", "8,0 3 1 0.5 9 D W 8 + 8 [a]\n", "8,0 3 2 0.6 9 D W 8 + 8"),
        ("tracefs", " a-1 [0] . 5.0: block_rq_issue: 1,0 W 512 () 8 + 1 [a]\n", " a-1 [0] . 5.0: block_rq_issue: 1,0 W 51"),
        ("nvme", NVME, " a-1 [0] . 6.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, cmd=(nvme_cmd_read slba=8, len=12"),
        ("nvme", NVME, " a-1 [0] . 6.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, cmd=(nvme_cmd_rea"),
        ("nvme", NVME, " a-1 [0] . 6.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, cmd=(nvme_cmd_flush"),
        (
            "nvme",
            NVME,
            " a-1 [0] . 6.0: nvme_setup_cmd: [FAILED TO PARSE] disk=a qid=1 opcode=2 nsid=1 cdw10=ARRAY[08, 00, 00, 00, 00, 00, 00, 00, 07, 0",
        ),
        ("msr", "10,a,0,Write,0,512,1\n", "20,a,0,Wri"),
        ("alibaba", "7,W,0,4096,5\n", "7,W,0,40"),
        ("tencent", "5,0,8,1,7\n", "6,0"),
        ("spc", "0,8,4096,W,0.5\n", "0,8,4096,W"),
        ("ssdsim", "0 0 8 8 0\n", "5 0 8"),
        ("flashraid", "ts_us,op,offset,size\n0,W,0,4096\n", "9,W,0"),
        ("fio", "fio version 3 iolog\n0 a write 0 512\n", "9 a wri"),
        ("cloudphysics", "version,time,op,size,lbn\n1,5,2a,512,8\n", "1,6,2a,5"),
        ("fiu", "9 7 nfsd 8 8 W 6 0 d6\n", "10 7 nfsd 8"),
        ("diskmon", "1\t0.5\t0.1\t0\tWrite\t8\t8\n", "2\t0.6\t0.1"),
    ] {
        let path = file(&format!("cut.{format}"), format!("{whole}{cut}").as_bytes());
        let (requests, summary) = read(&path, &options(format)).unwrap();
        assert_eq!((requests.len(), summary.truncated, summary.skipped), (1, 1, 0), "{format}: {cut}");
        let warnings = summary.warnings(true);
        assert!(warnings.iter().any(|text| text.starts_with("the last line or record is cut off")), "{format}: {warnings:?}");
        // With a newline it is a line that is wrong.
        if !cut.ends_with(&['8', '+'][..]) {
            let text = format!("{whole}{cut}\n");
            assert!(message(format, text.as_bytes()).starts_with(&format!("FILE:{}:", text.lines().count())), "{format}");
        }
    }
    // Of numbers too, where other events come between, of which the lines end otherwise.
    let nvme = " a-1 [0] . 6.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, cmd=(nvme_cmd_read slba=8, len=12";
    let other = " a-1 [0] . 5.5: sched_switch: next_prio=120\n";
    let block = " a-1 [0] . 5.0: block_rq_issue: 1,0 W 512 () 8 + 8 none,0,0 [a]\n";
    for (format, whole, cut) in [
        ("nvme", NVME, nvme),
        ("tracefs", block, " a-1 [0] . 6.0: block_rq_issue: 1,0 W 512 () 8 + 8"),
        ("tracefs", block, " a-1 [0] . 6.0: block_r"),
    ] {
        let (requests, summary) = read(&file("cut-mixed", format!("{whole}{other}{cut}").as_bytes()), &options(format)).unwrap();
        assert_eq!((requests.len(), summary.truncated), (1, 1), "{format}: {cut}");
    }
    let whole = format!("{NVME}{nvme})");
    let (requests, summary) = read(&file("whole.nvme.txt", whole.as_bytes()), &options("nvme")).unwrap();
    assert_eq!((requests[1].size_bytes, summary.truncated), (13 * 512, 0));
    assert!(!summary.warnings(true).iter().any(|text| text.contains("no newline")), "{:?}", summary.warnings(true));
    // And of files of which no other line is in memory when the last one is read.
    for lines in [1, 1500, 5000] {
        let text = "8,0 3 1 0.5 9 D W 8 + 8 [a]\n8,0 3 1 0.5 9 C W 8 + 8 [a] and some more of the same line [0]\n".repeat(lines)
            + "8,0 3 2 0.6 9 D W 8 + 8";
        let (requests, summary) = read(&file("cut-long.blkparse.txt", text.as_bytes()), &options("blkparse")).unwrap();
        assert_eq!((requests.len(), summary.truncated), (lines, 1));
    }
    // A last line that only lacks its newline is whole, and a file of nothing else is no recording.
    let (requests, summary) = read(&file("whole.ssdsim", b"0 0 8 8 0\n5 0 8 8 0"), &options("ssdsim")).unwrap();
    assert_eq!((requests.len(), summary.truncated), (2, 0));
    assert_eq!(message("ssdsim", b"0 0 8"), "FILE:1:6: the line ends before sectors; expected time_ns dev lba_sectors sectors type");
}

/// An archive that is whole may hold a line that is cut off; one that is cut short is read as far as it goes with `--on-error skip`.
#[test]
fn archives_that_are_cut_short() {
    let (requests, summary) = read(&file("cut.ssdsim.gz", &gzip(b"0 0 8 8 0\n5 0 8")), &options("ssdsim")).unwrap();
    assert_eq!((requests.len(), summary.truncated), (1, 1));
    let text: String = (0..20_000_u64).map(|number| format!("{number} 0 {} 8 0\n", number.wrapping_mul(0x9E37_79B9) % 1_000_000)).collect();
    let whole = gzip(text.as_bytes());
    let path = file("short.ssdsim.gz", &whole[..whole.len() / 2]);
    let error = read(&path, &options("ssdsim")).unwrap_err().to_string();
    assert!(
        error.contains("truncated or damaged gzip data") && error.ends_with("or --on-error skip to read what there is of it"),
        "{error}"
    );
    let skip = TraceOptions { on_error: OnError::Skip, ..options("ssdsim") };
    let (requests, summary) = read(&path, &skip).unwrap();
    assert!((5000..15_000).contains(&requests.len()), "{}", requests.len());
    assert_eq!(summary.skipped, 1);
    assert!(summary.faults[0].contains("truncated or damaged gzip data"), "{:?}", summary.faults);
}

/// FIELD_CASES 3b: the number of lost events is in the summary, and said.
#[test]
fn lost_events() {
    let text = b"# tracer: nop\n#\n# entries-in-buffer/entries-written: 2/7   #P:4\n\
                 fio-1     [001] .....   100.000000: block_rq_issue: 259,0 WS 4096 () 8 + 8 none,0,0 [fio]\n\
                 CPU:1 [LOST 86000 EVENTS]\n\
                 CPU:0 [LOST EVENTS]\n\
                 fio-1     [001] .....   101.000000: block_rq_issue: 259,0 WS 4096 () 16 + 8 none,0,0 [fio]\n";
    let (requests, summary) = read(&file("lost.tracefs.txt", text), &TraceOptions::default()).unwrap();
    assert_eq!((requests.len(), summary.lost_events, summary.ignored.len()), (2, 86_006, 0));
    assert!(summary.warnings(false)[0].starts_with("the recording lacks 86006 events, which its tracer had no room for"));
    let text = b"8,0 3 1 0.5 9 D W 8 + 8 [a]\n\nTotal (8,0):\nEvents (8,0): 1 entries\nSkips: 2 forward (1,234 -  99.9%)\n";
    let (_, summary) = read(&file("skips.blkparse.txt", text), &TraceOptions::default()).unwrap();
    assert_eq!((summary.lost_events, summary.ignored.as_slice()), (1234, &[("lines of blkparse's summary", 2)][..]));
    let text = b"BeginHeader\nDiskRead, TimeStamp, ByteOffset, IOSize, ElapsedTime, DiskNum\nEndHeader\nOS Version: 6.0.6001, Events Lost: 3, Buffers lost: 0\nDiskRead, 9, 0x0, 0x200, 1, 0\n";
    assert_eq!(read(&file("lost.etw.csv", text), &TraceOptions::default()).unwrap().1.lost_events, 3);
}

/// A request that the device gave back and that is issued again is one request; two that overlap are two.
#[test]
fn requests_issued_twice() {
    let text = "8,0 0 1 0.1 9 Q W 8 + 8 [a]\n8,0 0 2 0.2 9 D W 8 + 8 [a]\n8,0 0 3 0.3 9 D W 8 + 8 [a]\n8,0 0 4 0.4 9 R W 8 + 8 [0]\n\
                8,0 0 5 0.5 9 D W 8 + 8 [k]\n8,0 0 6 0.6 9 D W 8 + 8 [a]\n8,0 0 7 0.7 9 R FN [0]\n8,0 0 8 0.8 9 D FN [a]\n8,0 0 9 0.9 0 C W 8 + 8 [0]\n";
    for (action, times, reissued) in [("D", vec![200, 300, 600], 2), ("Q", vec![100], 0), ("C", vec![900], 0)] {
        let mut options = options("blkparse");
        options.set("action", action).unwrap();
        let (requests, summary) = read(&file("requeued.blkparse.txt", text.as_bytes()), &options).unwrap();
        assert_eq!(requests.iter().map(|request| request.arrival_ns / 1_000_000).collect::<Vec<_>>(), times, "{action}");
        assert_eq!((summary.reissued, summary.warnings(true).len()), (reissued, usize::from(reissued > 0)), "{action}");
    }
}

/// bcc's biosnoop shows flushes and commands to the device as reads of no bytes, and some versions all requests so; libbpf-tools' has letters.
#[test]
fn rows_without_bytes() {
    let rows = |rows: &[&str]| {
        let rows: String = rows.iter().enumerate().map(|(at, row)| format!("0.{} a 7 sda {row} 0.1\n", at + 1)).collect();
        format!("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n{rows}")
    };
    let untold = "rows of R or W without bytes (flushes and other commands to the device)";
    let text = rows(&["W 8 512", "R 18446744073709551615 0", "R 0 0", "FF 0 0", "FWS 8 0", "N 0 0"]);
    let (requests, summary) = read(&file("none.biosnoop", text.as_bytes()), &options("biosnoop")).unwrap();
    assert_eq!(requests.iter().map(|request| request.op).collect::<Vec<_>>(), [Write, Flush, Flush]);
    assert_eq!((&summary.unsupported[..], &summary.ignored[..]), (&[(untold, 2)][..], &[("rows without bytes", 1)][..]));
    assert_eq!(summary.warnings(true), [format!("not replayed: 2 {untold}")]);
    assert_eq!(
        message("biosnoop", rows(&["R 8 0", "W 16 0"]).as_bytes()),
        format!(
            "FILE: no request in the file, but 2 {untold} (bcc before 0.19 may show 0 bytes for every request: record with a newer one, or with \
                 flashraid trace capture); expected at least one request"
        )
    );
}

/// Requests that nothing serves are left out, and flags dropped, with their numbers.
#[test]
fn what_is_not_replayed() {
    let lines = ["R", "FWS", "WFS", "ZA", "ZR", "ZRA", "FZA", "VS", "WSU", "RSM", "WX", "RW", "DES", "DSE"];
    let text: String = lines.iter().map(|letters| format!("8,0 0 1 0.5 9 D {letters} 8 + 8 [a]\n")).collect();
    let (requests, summary) = read(&file("kinds.blkparse.txt", text.as_bytes()), &TraceOptions::default()).unwrap();
    let expected = [
        ("flushes attached to writes (FW); the writes are kept", 1),
        ("forced unit access (WF); the writes are kept", 1),
        ("requests with unknown letters (rwbs)", 4),
        ("zone appends (ZA)", 2),
        ("zone commands (ZR, ZRA, ZO, ZC, ZF)", 2),
    ];
    assert_eq!((requests.len(), summary.unsupported.as_slice()), (6, &expected[..]));
    assert_eq!(summary.warnings(true)[3], "not replayed: 2 zone appends (ZA)");
    assert_eq!(requests.iter().filter(|request| request.op == Write).count(), 3);
    assert_eq!(
        message("blkparse", b"8,0 0 1 0.5 9 D ZA 8 + 8 [a]\n"),
        "FILE: no request in the file, but 1 zone appends (ZA); expected at least one request"
    );
}

/// A number at the end of a last line without a newline may lack digits, which nothing tells: it is read, and said.
#[test]
fn a_last_number_without_a_newline_is_said_to_be_taken_for_whole() {
    let said = ["the last line has no newline, and the number at its end is taken for whole"];
    let mut columns = TraceOptions::default();
    columns.set("columns", "time:s,offset,size,op").unwrap();
    let (_, summary) = read(&file("last.columns.txt", b"1,0,512,R\n2,0,512,F"), &columns).unwrap();
    assert_eq!(summary.assumed.last().unwrap(), "the last line has no newline, and the word at its end is taken for whole");
    for (name, lines, is_said) in [
        ("fio", "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n1 /dev/sda write 8192 65", true),
        ("fio", "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n1 /dev/sda write 8192 65\n", false),
        ("msr", "128166372003061629,h,0,Write,8192,4096,50", true),
        ("msr", "128166372003061629,h,0,Write,8192,4096,50\n", false),
    ] {
        let (requests, summary) = read(&file(&format!("last.{name}.txt"), lines.as_bytes()), &options(name)).unwrap();
        assert_eq!((requests.len(), summary.assumed.as_slice() == said), (1, is_said), "{name}: {:?}", summary.assumed);
    }
}

/// The same letters mean the same to every reader of them: a write with both flags has two that are not replayed, and a letter of a kernel to come is
/// counted.
#[test]
fn letters_mean_the_same_to_every_reader() {
    let (mut blkparse, mut tracefs) = (String::new(), String::from("# tracer: nop\n"));
    let mut biosnoop = String::from("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n");
    let mut iosnoop = String::from("STARTs COMM PID TYPE DEV BLOCK BYTES LATms\n");
    let mut own = String::new();
    for (at, letters) in ["WS", "FWFS", "WFS", "FWS", "ZAS", "QS", "FWZS", "WZFS"].into_iter().enumerate() {
        let sector = 8 * (at + 1);
        biosnoop += &format!("0.{}00000 a 7 sda {letters} {sector} 4096 0.1\n", at + 1);
        own += &format!("0.{} {letters} {sector} 8\n", at + 1);
        iosnoop += &format!("0.{}00000 a 7 {letters} 8,0 {sector} 4096 0.1\n", at + 1);
        blkparse += &format!("8,0 0 1 0.{} 9 D {letters} {sector} + 8 [a]\n", at + 1);
        tracefs += &format!("  a-7 [000] ..... 1.{}00000: block_rq_issue: 8,0 {letters} 4096 () {sector} + 8 be,0,4 [a]\n", at + 1);
    }
    let expected = [
        ("flushes attached to writes (FW); the writes are kept", 3),
        ("forced unit access (WF); the writes are kept", 3),
        ("requests with unknown letters (rwbs)", 1),
        ("zone appends (ZA)", 1),
    ];
    for (name, text) in [("biosnoop", biosnoop), ("iosnoop", iosnoop), ("blkparse", blkparse), ("tracefs", tracefs)] {
        let (requests, summary) = read(&file(&format!("letters.{name}.txt"), text.as_bytes()), &options(name)).unwrap();
        assert_eq!((requests.len(), summary.unsupported.as_slice()), (6, &expected[..]), "{name}");
    }
    let mut columns = TraceOptions::default();
    columns.set("columns", "time:s,op,sector,sectors").unwrap();
    let (requests, summary) = read(&file("letters.own.txt", own.as_bytes()), &columns).unwrap();
    assert_eq!(summary.unsupported, expected);
    assert_eq!(requests.iter().map(|request| request.op).collect::<Vec<_>>(), [Write, Write, Write, Write, WriteZeroes, WriteZeroes]);
    assert!(summary.warnings(true).contains(&"not replayed: 1 requests with unknown letters (rwbs)".to_owned()));
}

/// FIELD_CASES 6: a device without D events has others.
#[test]
fn events_that_another_action_reads() {
    let queued = "230,112 2 9 0.000755797 11721 Q R 385152 + 128 [blkback.27.hdd]\n";
    let text = queued.repeat(3);
    assert_eq!(message("blkparse", text.as_bytes()), "FILE: no D events, but 3 Q: --action Q; expected at least one request");
    let both = format!("{text}230,112 2 9 0.1 0 C R 385152 + 128 [0]\n230,112 2 9 0.1 0 P N [0]\n");
    assert_eq!(
        message("blkparse", both.as_bytes()),
        "FILE: no D events, but 1 C and 3 Q: --action C or --action Q; expected at least one request"
    );
}

/// A recording of an upper and a lower device has each request twice.
#[test]
fn stacked_devices_are_said() {
    let text = "9,0 0 1 0.1 9 Q W 8 + 8 [a]\n8,0 0 2 0.2 9 A W 16 + 8 <- (9,0) 8\n8,0 0 3 0.3 9 Q W 16 + 8 [a]\n\
                8,0 0 2 0.2 9 A W 16 + 8 <- (8,1) 8\n";
    let mut options = options("blkparse");
    options.set("action", "Q").unwrap();
    let path = file("stacked.blkparse.txt", text.as_bytes());
    let (_, summary) = read(&path, &options).unwrap();
    let expected = "requests of device 9:0 are recorded again on device 8:0, to which they are mapped, and all are replayed: choose one of them \
                    with --device-filter";
    assert_eq!(summary.assumed, [expected]);
    options.set("device_filter", "8:0").unwrap();
    assert!(read(&path, &options).unwrap().1.assumed.is_empty());
}

/// The names of a format's columns in the first line are a header, and tell the format.
#[test]
fn headers_of_formats_that_need_none() {
    for (format, header, row) in [
        ("msr", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime", "10,a,0,Write,0,4096,1"),
        ("alibaba", "device_id,opcode,offset,length,timestamp", "7,W,0,4096,5"),
        ("tencent", "Timestamp,Offset,Size,IOType,VolumeID", "5,0,8,1,7"),
        ("spc", "ASU,LBA,Size,Opcode,Timestamp", "0,0,4096,W,0"),
    ] {
        for header in [header.to_owned(), header.to_lowercase(), header.replace(',', ", "), format!("\u{feff}{header}\r")] {
            let path = file(&format!("io_traces-{format}.csv"), format!("{header}\n{row}\n").as_bytes());
            let (requests, summary) = read(&path, &TraceOptions::default()).unwrap();
            assert_eq!((requests.len(), summary.format), (1, format), "{header}");
        }
    }
    let names = b"time_ns dev lba_sectors sectors type\n0 0 8 8 1\n";
    assert_eq!(read(&file("header.ssdsim", names), &options("ssdsim")).unwrap().0, [request(0, Read, 4096, 4096, 0)]);
    // Columns that are not those of the format are a row that is wrong.
    assert_eq!(message("spc", b"ASU,LBA,Size,Opcode\n0,0,4096,W,0\n"), "FILE:1:1: ASU is 'ASU'; expected a decimal number");
}

/// Waits are read as fio's documentation says, which is not what fio does.
#[test]
fn waits_are_said() {
    let (_, summary) = sample("example.v2.iolog");
    assert_eq!(summary.assumed.len(), 1);
    assert!(summary.warnings(true)[0].starts_with("the wait lines of the iolog are taken as microseconds"), "{:?}", summary.warnings(true));
}
