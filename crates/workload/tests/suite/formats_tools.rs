//! Readers of what tools print that people trace disks with: biosnoop, iosnoop, perf script, trace-cmd report, NVMe tracepoints, fio's logs.

use crate::support::{file, message, message_with, options, read, request, sample_with};
use flashraid_vocabulary::HostOp::{Flush, Read, Trim, Write, WriteZeroes};
use flashraid_vocabulary::HostRequest;
use flashraid_workload::{DeviceLayout, OnError, TraceOptions, TraceSummary};

fn apart() -> TraceOptions {
    TraceOptions { layout: DeviceLayout::Apart, ..TraceOptions::default() }
}

fn with(pairs: &[(&str, &str)]) -> TraceOptions {
    let mut options = apart();
    pairs.iter().for_each(|(key, value)| options.set(key, value).unwrap());
    options
}

fn names(summary: &TraceSummary) -> Vec<&str> {
    summary.device_list.iter().map(|device| device.name.as_str()).collect()
}

/// A text recognized by its content alone.
fn text(name: &str, content: &str, options: &TraceOptions) -> (Vec<HostRequest>, TraceSummary) {
    read(&file(name, content.as_bytes()), options).unwrap()
}

#[test]
fn biosnoop_sample() {
    let (requests, summary) = sample_with("example.biosnoop.txt", &apart());
    // Each completion minus its latency; the first request, issued 740 us before the first completion, is at 0.
    assert_eq!(
        requests,
        [
            request(0, Write, 13_092_560 * 512, 4096, 0),
            request(805_440_000, Read, 8192 * 512, 1_048_576, 1),
            request(2_004_421_000, Write, 62_901_513 * 512, 512, 1),
            request(2_004_604_000, Read, 41_950_344 * 512, 65536, 1),
            request(2_004_844_000, Read, 41_950_472 * 512, 4096, 1),
        ]
    );
    assert_eq!((summary.format, names(&summary)), ("biosnoop", vec!["xvda1", "xvdb"]));
    assert_eq!(summary.unsupported, [("rows of R or W without bytes (flushes and other commands to the device)", 1)]);
}

#[test]
fn biosnoop_actions_take_the_times_in_queue_and_on_the_device() {
    let times = |letter| -> Vec<u64> {
        let (requests, _) = sample_with("example.biosnoop.txt", &with(&[("action", letter)]));
        requests.iter().map(|request| request.arrival_ns / 1000).collect()
    };
    assert_eq!(times("Q"), [0, 803_950, 2_004_411, 2_004_614, 2_004_854]);
    assert_eq!(times("C"), [0, 2_003_931, 2_004_204, 2_004_204, 2_004_950]);
    let error = message_with(&with(&[("action", "Q")]), b"TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 a 1 sda R 8 512 0.1\n");
    assert!(error.starts_with("FILE:1:1: no column of the time in the queue, which --action Q needs"), "{error}");
}

/// Columns of bcc with -P, of libbpf-tools with their letters and with -t, of old versions, and names and disks that are missing.
#[test]
fn biosnoop_variants() {
    for (name, content, expected) in [
        (
            "pattern",
            "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  P QUE(ms) LAT(ms)\n0.000100    dd             7       sda       W 8          512    S    0.00    0.10\n",
            vec![request(0, Write, 4096, 512, 0)],
        ),
        (
            "libbpf",
            "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
             0.000000    a b  c         7       sda     WSM  8          512       0.100\n\
             0.000300                   7       sda     FF   0          0         0.250\n\
             0.000400    dd             7       sda     D    2048       4096      0.001\n",
            vec![request(0, Write, 4096, 512, 0), request(150_000, Flush, 0, 0, 0), request(499_000, Trim, 1 << 20, 4096, 0)],
        ),
        (
            "clock",
            "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
             23:59:59.900 dd             7       sda     R    8          512       1.000\n\
             00:00:00.100 dd             7       sda     R    16         512       1.500\n",
            vec![request(0, Read, 4096, 512, 0), request(199_500_000, Read, 8192, 512, 0)],
        ),
        // A second recording of the day before: its clock begins anew, and so do the days.
        (
            "clock-joined",
            "TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n\
             23:59:59.900 dd 7 sda R 8 512 0.00\n\
             00:00:00.100 dd 7 sda R 16 512 0.00\n\
             TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n\
             00:00:00.100 dd 7 sda R 24 512 0.00\n",
            vec![
                request(0, Read, 12288, 512, 0),
                request(86_399_800_000_000, Read, 4096, 512, 0),
                request(86_400_000_000_000, Read, 8192, 512, 0),
            ],
        ),
        (
            "negative",
            "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.000000 a 1 sda R 8 512 0.10\n-0.000050 b 1 sda R 16 512 0.10\n18446744073.709491 c 1 sda R 24 512 0.00\n",
            vec![request(0, Read, 8192, 512, 0), request(50_000, Read, 4096, 512, 0), request(89_384, Read, 12288, 512, 0)],
        ),
        (
            "glued",
            "TIME(s)     COMM           PID    DISK    T  SECTOR    BYTES   LAT(ms)\n5.000000    dd             7      sda     W 8          10485761234.50\n",
            vec![request(0, Write, 4096, 1_048_576, 0)],
        ),
        (
            "no-disk",
            "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 Web Content 12 R 8 512 0.10\n0.2 ? 0 R 0 0 0.10\n",
            vec![request(0, Read, 4096, 512, 0)],
        ),
    ] {
        let (requests, summary) = text(&format!("variant-{name}.txt"), content, &apart());
        assert_eq!((requests, summary.format), (expected, "biosnoop"), "{name}");
    }
}

#[test]
fn recordings_joined_and_words_around_them_are_read() {
    let header = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
    let content = format!("{header}0.5 a 1 sda R 8 512 0.00\nPossibly lost 29 samples\n\n{header}0.6 a 1 sda R 16 512 0.00\nfree text\n");
    let (requests, summary) = text("joined-snoop.txt", &content, &apart());
    assert_eq!(requests, [request(0, Read, 4096, 512, 0), request(100_000_000, Read, 8192, 512, 0)]);
    assert_eq!(
        (summary.lost_events, &summary.ignored[..]),
        (29, &[("headers that come again", 1), ("lines that are no rows of the table", 1)][..])
    );
}

#[test]
fn iosnoop_sample() {
    let expected = [
        request(0, Write, 17_039_600 * 512, 4096, 0),
        request(362_000, Write, 17_039_608 * 512, 4096, 0),
        request(2_901_000, Read, 17_039_616 * 512, 131_072, 1),
        request(3_189_000, Flush, 0, 0, 0),
        request(3_839_000, Trim, 1 << 20, 1 << 20, 0),
    ];
    let (requests, summary) = sample_with("example.iosnoop.txt", &apart());
    assert_eq!((requests, summary.format, names(&summary)), (expected.to_vec(), "iosnoop", vec!["202,1", "202,16"]));
    assert_eq!(summary.ignored, []);
}

#[test]
fn iosnoop_with_one_time_or_none() {
    let row = "supervise 1809 W 202,1 8 4096 0.62\n";
    let (starts, _) = text("starts.txt", &format!("STARTs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 {row}5.75 {row}"), &apart());
    assert_eq!(starts, [request(0, Write, 4096, 4096, 0), request(250_000_000, Write, 4096, 4096, 0)]);
    let ends = format!("ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 {row}5.5 a b 1 R 202,1 8 4096 1.00\n");
    let (ends, _) = text("ends.txt", &ends, &apart());
    assert_eq!(ends, [request(0, Read, 4096, 4096, 0), request(380_000, Write, 4096, 4096, 0)]);
    // The other time follows from the latency.
    for (column, times) in [("STARTs", [0, 380_000]), ("ENDs", [0, 0])] {
        let rows = format!("{column} COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 {row}5.5 a b 1 R 202,1 8 4096 1.00\n");
        let (completed, _) = text("completed.txt", &rows, &with(&[("action", "C")]));
        assert_eq!(completed.iter().map(|request| request.arrival_ns).collect::<Vec<_>>(), times, "{column}");
    }
    let error = message("auto", format!("COMM PID TYPE DEV BLOCK BYTES LATms\n{row}").as_bytes());
    assert_eq!(error, "FILE:1:1: iosnoop without -s or -t records no times; expected a recording of iosnoop -s, with a column STARTs");
}

#[test]
fn perf_script_sample() {
    let (requests, summary) = sample_with("example.perf.txt", &apart());
    let device = 259 << 20;
    assert_eq!(
        requests,
        [
            request(0, Read, 2_564_656 * 512, 4096, device),
            request(235_000, Read, 3_191_272 * 512, 131_072, device),
            request(246_000, Flush, 0, 0, device),
        ]
    );
    assert_eq!((summary.format, summary.lost_events), ("tracefs", 3));
    let ignored = [
        ("block_rq_complete events (--action C)", 1),
        ("block_rq_insert events", 1),
        ("lines without an event (stacks)", 2),
        ("other events", 1),
    ];
    assert_eq!(summary.ignored, ignored);
}

/// FIELD: the two events of a public recording, with the system's name before the event.
#[test]
fn perf_script_of_two_reads() {
    let content = "kworker/4:1H    533 [004] 543348.164815:   block:block_rq_issue: 259,0 RM 4096 () 2564656 + 8 [kworker/4:1H]\n          dd  25337 [001] 543348.165050:   block:block_rq_issue: 259,0 R 131072 () 3191272 + 256 [dd]\n";
    let (requests, summary) = text("perf-plain.txt", content, &TraceOptions::default());
    assert_eq!((requests.len(), requests.iter().map(|request| request.size_bytes).sum::<u64>(), summary.format), (2, 135_168, "tracefs"));
}

#[test]
fn trace_cmd_report_sample() {
    let (requests, summary) = sample_with("example.trace-cmd.txt", &apart());
    let device = (8 << 20) | 16;
    assert_eq!(requests, [request(0, Write, 1 << 20, 4096, device), request(290_000, Write, 1 << 21, 512, device)]);
    assert_eq!((summary.format, summary.lost_events), ("tracefs", 7));
    let of_action = |letter| sample_with("example.trace-cmd.txt", &with(&[("action", letter)])).0;
    assert_eq!(of_action("Q"), [request(0, Write, 1 << 20, 4096, device)]);
    assert_eq!(of_action("C"), [request(0, Write, 1 << 20, 4096, device)]);
    let error = message("tracefs", b"a-1 [0] 5.0: block_bio_queue: 8,0 R 8 + 8 [a]\na-1 [0] 5.0: block_bio_queue: 8,0 R 8 + 8 [a]\n");
    assert_eq!(error, "FILE: no request in the file, but 2 block_bio_queue events (--action Q); expected at least one request");
}

#[test]
fn nvme_sample() {
    let (requests, summary) = sample_with("example.nvme.txt", &apart());
    let expected = |sector: u64| {
        vec![
            request(0, Read, 2048 * sector, 8 * sector, 0),
            request(1_000_000, Write, 0, sector, 0),
            request(2_000_000, Flush, 0, 0, 0),
            request(5_000_000, WriteZeroes, 16 * sector, 128 * sector, 1),
        ]
    };
    assert_eq!((requests, summary.format, names(&summary)), (expected(512), "nvme", vec!["nvme0n1", "nvme1n1"]));
    assert_eq!(summary.assumed, ["assumed that a block of the drive has 512 bytes (--sector-bytes sets another size)"]);
    assert_eq!(summary.unsupported, [("discards (nvme_cmd_dsm), of which the event has no ranges", 1)]);
    assert_eq!(summary.ignored, [("NVMe commands of the admin queue (qid=0)", 1), ("other events", 1)]);
    let (requests, summary) = sample_with("example.nvme.txt", &with(&[("sector_bytes", "4096")]));
    assert_eq!((requests, summary.assumed.len()), (expected(4096), 0));
}

/// The three texts, the event of Linux 4.17, and fields that perf and trace-cmd cannot print otherwise.
#[test]
fn nvme_variants() {
    let lines = [
        " a-1 [0] ..... 5.000001: nvme_setup_nvm_cmd: qid=1, nsid=1, cmdid=3, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=8, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\n",
        "  dd 11 [001] 5.000001:  nvme:nvme_setup_cmd: nvme0: disk=nvme0n1, qid=6, cmdid=49, nsid=0x1, flags=0x40, meta=0x0 cmd=(nvme_cmd_read slba=8, len=7, ctrl=0x0)\n",
        "  dd 11 [001] 5.000001: nvme_setup_cmd:       [FAILED TO PARSE] disk=nvme0n1 ctrl_id=0 qid=1 opcode=2 flags=0 fctype=0 cid=216 nsid=1 metadata=0 cdw10=ARRAY[08, 00, 00, 00, 00, 00, 00, 00, 07, 00, 00, 00, 00, 00]\n",
    ];
    for (number, line) in lines.iter().enumerate() {
        let content =
            format!("{line}  dd 11 [001] 5.000002: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=0, nsid=1, cmd=(nvme_admin_identify cns=1)\n");
        let (requests, summary) = text(&format!("nvme-{number}.txt"), &content, &with(&[("sector_bytes", "4096")]));
        assert_eq!((requests, summary.format), (vec![request(0, Read, 32768, 32768, 0)], "nvme"), "{line}");
    }
    let block = "dd-11 [001] 5.000002: block_rq_issue: 259,0 R 4096 () 8 + 8 [dd]\n";
    let (requests, summary) = text("both.txt", &format!("{}{block}", lines[0]), &apart());
    assert_eq!((requests.len(), summary.format), (1, "tracefs"));
    assert_eq!(summary.ignored, [("nvme_setup_nvm_cmd events (--format nvme)", 1)]);
    // What only ends as the name of an event is another one.
    let (requests, _) = text("probe.txt", &format!("{block}{}", block.replace("block_rq", "my_block_rq")), &apart());
    assert_eq!(requests, [request(0, Read, 4096, 4096, 259 << 20)]);
}

/// A namespace is one device, whichever of its queues a command is in, and each controller and number is another. A command may have 65,536 blocks.
/// A write names a stream, or a placement handle, where its directive says so: in the upper half of dword 13.
#[test]
fn nvme_writes_name_streams() {
    let shown = |op, ctrl, dsmgmt: u32| {
        format!(
            "a-1 [0] 5.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, cmd=(nvme_cmd_{op} slba=8, len=7, ctrl={ctrl}, dsmgmt={dsmgmt}, reftag=0)\n"
        )
    };
    let raw = |opcode, control, dspec| {
        let bytes = format!("08, 00, 00, 00, 00, 00, 00, 00, 07, 00, {control}, 00, 00, {dspec}");
        format!(
            "a-1 [0] 5.0: nvme_setup_cmd: [FAILED TO PARSE] disk=nvme0n1 ctrl_id=0 qid=1 opcode={opcode} nsid=1 cdw10=ARRAY[{bytes}, 00]\n"
        )
    };
    let cases = [
        (shown("write", "0x0", 3 << 16), 0),
        (shown("write", "0x10", 3 << 16 | 7), 3),
        (shown("write", "0x8020", 300 << 16), 300),
        (shown("write", "0x30", 3 << 16), 0),
        (shown("read", "0x20", 3 << 16), 0),
        ("a-1 [0] 5.0: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, cmd=(nvme_cmd_write slba=8, len=7)\n".into(), 0),
        (raw(1, "20", "00, 05"), 5),
        (raw(1, "00", "00, 05"), 0),
        (raw(2, "20", "00, 05"), 0),
        (raw(1, "20", "00"), 0),
    ];
    for (number, (line, stream)) in cases.iter().enumerate() {
        let (requests, _) = text(&format!("nvme-stream-{number}.txt"), line, &with(&[("sector_bytes", "4096")]));
        assert_eq!(requests.iter().map(|request| request.stream).collect::<Vec<_>>(), [*stream], "{line}");
    }
}

#[test]
fn nvme_namespaces_and_long_commands() {
    let old = |qid, nsid| {
        format!("a-1 [0] ..... 5.0: nvme_setup_nvm_cmd: qid={qid}, nsid={nsid}, cmdid=3, cmd=(nvme_cmd_read slba=8, len=65535)\n")
    };
    let new = |controller, qid, nsid| {
        format!(
            "a-1 [0] ..... 5.0: nvme_setup_cmd: nvme{controller}: qid={qid}, nsid={nsid}, cmdid=3, cmd=(nvme_cmd_read slba=8, len=65535)\n"
        )
    };
    let raw = |controller, qid, nsid| {
        format!(
            "a-1 [0] 5.0: nvme_setup_cmd: [FAILED TO PARSE] disk= ctrl_id={controller} qid={qid} opcode=2 nsid={nsid} \
             cdw10=ARRAY[08, 00, 00, 00, 00, 00, 00, 00, ff, ff, 00, 00]\n"
        )
    };
    let of_two = vec!["nvme0n1", "nvme0n2", "nvme1n1"];
    for (name, lines, expected) in [
        ("old", [old(1, 1), old(2, 1), old(2, 2), old(1, 2)], vec!["nvme?n1", "nvme?n2"]),
        ("new", [new(0, 1, 1), new(0, 2, 1), new(0, 2, 2), new(1, 1, 1)], of_two.clone()),
        ("raw", [raw(0, 1, 1), raw(0, 2, 1), raw(0, 2, 2), raw(1, 1, 1)], of_two),
    ] {
        let (requests, summary) = text(&format!("spaces-{name}.txt"), &lines.concat(), &apart());
        assert_eq!(names(&summary), expected, "{name}");
        assert!(requests.iter().all(|request| (request.offset_bytes, request.size_bytes) == (4096, 65536 * 512)), "{name}: {requests:?}");
        assert_eq!(requests[0].source, requests[1].source, "{name}");
    }
}

#[test]
fn fio_log_sample() {
    let (requests, summary) = sample_with("example_lat.1.log", &apart());
    // The millisecond of issue; the two of each are spread over it.
    assert_eq!(
        requests,
        [
            request(0, Read, 8192, 4096, 0),
            request(500_000, Write, 1 << 20, 4096, 0),
            request(1_000_000, Read, 12288, 8192, 0),
            request(1_500_000, Trim, 4 << 20, 65536, 0),
        ]
    );
    assert_eq!((summary.format, summary.spread_tick_ns, summary.assumed.len()), ("fio-log", Some(1_000_000), 0));
}

#[test]
fn fio_logs_of_all_kinds() {
    for (name, content, expected) in [
        // Five columns, of which the last is the offset.
        (
            "job_clat.2.log",
            "5, 1500000, 0, 4096, 0\n9, 1000, 1, 4096, 4096\n",
            vec![request(0, Read, 0, 4096, 0), request(5_000_000, Write, 4096, 4096, 0)],
        ),
        // The last of several words counts.
        (
            "job_bw-job_clat.1.log",
            "5, 1500000, 0, 4096, 0\n9, 1000, 1, 4096, 4096\n",
            vec![request(0, Read, 0, 4096, 0), request(5_000_000, Write, 4096, 4096, 0)],
        ),
        // The values are no latencies.
        (
            "job_iops.log",
            "5, 1, 0, 4096, 0, 0x0004\n9, 1, 1, 4096, 4096, 0x0000\n",
            vec![request(0, Read, 0, 4096, 0), request(4_000_000, Write, 4096, 4096, 0)],
        ),
        (
            "job_bw.1.log",
            "5, 4000000, 0, 4096, 4096\n9, 9, 1, 4096, 0\n",
            vec![request(0, Read, 4096, 4096, 0), request(4_000_000, Write, 0, 4096, 0)],
        ),
        (
            "renamed.txt",
            "5, 1, 0, 4096, 4096\n9, 1, 1, 4096, 0\n",
            vec![request(0, Read, 4096, 4096, 0), request(4_000_000, Write, 0, 4096, 0)],
        ),
        // The first one took longer than the log counts until it was completed.
        (
            "long_lat.log",
            "100, 1500000000, 0, 4096, 4096\n1101, 300000, 1, 4096, 40960\n2101, 300000, 1, 4096, 8192\n",
            vec![
                request(0, Read, 4096, 4096, 0),
                request(2_501_000_000, Write, 40960, 4096, 0),
                request(3_501_000_000, Write, 8192, 4096, 0),
            ],
        ),
        // The issue time, in nanoseconds.
        (
            "issue_lat.log",
            "5, 100, 0, 4096, 8192, 0, 4999123\n5, 100, 1, 4096, 0, 0, 5000456\n",
            vec![request(0, Read, 8192, 4096, 0), request(1333, Write, 0, 4096, 0)],
        ),
    ] {
        let (requests, summary) = text(name, content, &TraceOptions::default());
        assert_eq!((requests, summary.format), (expected, "fio-log"), "{name}");
        assert_eq!(summary.assumed.len(), usize::from(name == "renamed.txt"), "{name}");
        assert_eq!(summary.spread_tick_ns.is_none(), name == "issue_lat.log", "{name}");
    }
}

/// Each job of a run has its log, of which one is read.
#[test]
fn logs_of_other_jobs_are_said_not_to_be_read() {
    let entry = "5, 1500000, 0, 4096, 0\n9, 1000, 1, 4096, 4096\n";
    let remedy = "not read: join the logs of all jobs (cat) into one file, and give that";
    for name in ["jobs_clat.1.log", "jobs_clat.2.log", "jobs_slat.3.log", "other_clat.4.log"] {
        file(name, entry.as_bytes());
    }
    for (name, expected) in [
        ("jobs_clat.1.log", vec![format!("jobs_clat.1.log is the log of one of several jobs, and jobs_clat.2.log is {remedy}")]),
        ("jobs_clat.2.log", vec![format!("jobs_clat.2.log is the log of one of several jobs, and jobs_clat.1.log is {remedy}")]),
        ("jobs_slat.3.log", vec![]),
    ] {
        let (requests, summary) = text(name, entry, &TraceOptions::default());
        assert_eq!((requests.len(), summary.assumed), (2, expected), "{name}");
    }
}

#[test]
fn malformed_lines() {
    let snoop = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
    let event = "a-1 [0] .... 5.0: ";
    let log = "5, 1, 0, 4096, 8192\n";
    let columns = "time, value, direction, block size, offset";
    for (format, text, expected) in [
        ("biosnoop", "0.1 a 1 sda R 8 512 0.1\n".to_owned(), "FILE:1:1: no header line of biosnoop; expected a line of column names before the first row".to_owned()),
        (
            "auto",
            "TIME(ms)     DISK    COMM             PID    LAT(ms)\n611          nvme0n1 bash             4179        10\n".to_owned(),
            "FILE:1:1: biosnoop.bt of bpftrace records neither addresses nor sizes; expected a recording of bcc's biosnoop".to_owned(),
        ),
        (
            "biosnoop",
            "TIME(s) COMM PID DISK T BYTES LAT(ms)\n".to_owned(),
            "FILE:1:1: a header without some of the columns of biosnoop; expected TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms), and more".to_owned(),
        ),
        ("biosnoop", format!("{snoop}0.1 a 1 sda R 8x 512 0.1\n"), "FILE:2:15: the sector is '8x'; expected a decimal number".to_owned()),
        ("biosnoop", format!("{snoop}0.1 a 1 sda R 8 512B 0.1\n"), "FILE:2:17: BYTES is '512B'; expected a decimal number".to_owned()),
        ("biosnoop", format!("{snoop}0.1 a 1 sda R 8 512 slow\n"), "FILE:2:21: the latency is 'slow'; expected a decimal number".to_owned()),
        ("biosnoop", format!("{snoop}0.1 8 512 0.1\n"), "FILE:2:5: fewer than 4 fields follow COMM; expected the columns of the header".to_owned()),
        (
            "biosnoop",
            format!("{snoop}0.1 a 1 sda x 8 512 0.1\n"),
            "FILE:2:1: the type is 'x'; expected letters as R, W, WS, D or FF".to_owned(),
        ),
        (
            "biosnoop",
            "TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n25:00:00.0 a 1 sda R 8 512 0.1\n".to_owned(),
            "FILE:2:1: TIMESTAMP is '25:00:00.0'; expected a time of day as in 23:59:58.125".to_owned(),
        ),
        (
            "tracefs",
            "dd 1 [001] block:block_rq_issue: 8,0 R 512 () 8 + 1 [dd]\n".to_owned(),
            "FILE:1:1: an event without a time before its name; expected seconds: EVENT: fields".to_owned(),
        ),
        ("nvme", format!("{event}nvme_setup_cmd: nvme0: qid=1, cmd=(nvme_cmd_read len=7)\n"), "FILE:1:1: a command without slba=; expected seconds: nvme_setup_cmd: nvme0: disk=, qid=, nsid=, cmd=(nvme_cmd_read slba=, len=)".to_owned()),
        ("nvme", format!("{event}nvme_setup_cmd: nvme0: qid=1, cmd=(nvme_cmd_read slba=x, len=7)\n"), "FILE:1:73: slba is 'x,'; expected a decimal number".to_owned()),
        (
            "nvme",
            format!("{event}nvme_setup_cmd: nvme0: qid=1\n"),
            "FILE:1:1: an NVMe command without cmd=(...) and without opcode= and cdw10=ARRAY[...]; expected seconds: nvme_setup_cmd: nvme0: disk=, qid=, nsid=, cmd=(nvme_cmd_read slba=, len=)".to_owned(),
        ),
        ("auto", "5, 1, 0, 4096\n".to_owned(), "FILE:1:1: a log without offsets; expected a log that was written with log_offset=1".to_owned()),
        ("auto", "5, 1, 0, 4096, 0\n6, 1, 0, 4096, 1\n".to_owned(), "FILE:1:1: a log without offsets; expected a log that was written with log_offset=1".to_owned()),
        ("auto", "5, 1, 0, 4096, 0x0004\n".to_owned(), "FILE:1:1: a log without offsets; expected a log that was written with log_offset=1".to_owned()),
        ("auto", "5, 1, 0, 4096, 0, 123456\n".to_owned(), "FILE:1:1: a log without offsets; expected a log that was written with log_offset=1".to_owned()),
        ("auto", "500, 1123, 0, 0, 0\n1000, 1123, 1, 0, 0\n".to_owned(), "FILE:1:1: averages of several I/Os (log_avg_msec); expected a log of each I/O: log_avg_msec=0 and log_offset=1".to_owned()),
        ("auto", "500, 1123, 2123, 0, 0, 0, 0\n".to_owned(), "FILE:1:1: averages of several I/Os (log_avg_msec); expected a log of each I/O: log_avg_msec=0 and log_offset=1".to_owned()),
        ("fio-log", "5 1 0 4096 8192\n".to_owned(), format!("FILE:1:1: no entry of a fio log; expected {columns}")),
    ] {
        assert_eq!(message(format, text.as_bytes()), expected, "{format}: {text}");
    }
    // A long log, of which a later line is wrong.
    let rows = log.repeat(4000);
    for (line, expected) in [
        ("5, 1, 3, 4096, 8192\n", "FILE:4001:7: direction is '3'; expected 0 (read), 1 (write) or 2 (trim)".to_owned()),
        ("5, 1, 0, 4096\n", format!("FILE:4001:14: the line ends before offset; expected {columns}")),
        ("5, 1, 0, 0, 0\n", "FILE:4001:10: a size of 0 bytes; expected at least 1".to_owned()),
    ] {
        assert_eq!(message("fio-log", format!("{rows}{line}{log}").as_bytes()), expected);
        let skip = TraceOptions { on_error: OnError::Skip, ..options("fio-log") };
        let (requests, summary) = read(&file("skipped_iops.log", format!("{rows}{line}{log}").as_bytes()), &skip).unwrap();
        assert_eq!((requests.len(), summary.skipped), (4001, 1));
    }
}
