//! The published trace collections and the simulators' forms: each on its sample, and on every way in which a line can be wrong.

use crate::support::{file, message, options, read, request, sample};
use HostOp::{Flush, Read, Write};
use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{DeviceLayout, OnError, TimeUnit, Trace, TraceOptions};
use std::fs;

const MIB: u64 = 1 << 20;

#[test]
fn systor_sample() {
    let (requests, summary) = sample("example.systor.csv");
    // LUN 2 ends below 5 MiB, where LUN 3 begins.
    assert_eq!(
        requests,
        [
            request(0, Read, 4_194_304, 131_072, 2),
            request(249_998_500, Read, 5 * MIB + 1_048_576, 7680, 3),
            request(249_999_000, Write, 4_202_496, 4096, 2),
            request(3_499_999_000, Write, 5 * MIB + 1_056_256, 512, 3),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order, summary.devices), ("systor", 1, 2));
    assert_eq!(summary.unsupported, [("rows without an IOType (no response was seen)", 1)]);
}

#[test]
fn alibaba_sample() {
    let (requests, summary) = sample("example.alibaba.csv");
    assert_eq!(
        requests,
        [
            request(0, Write, 1_048_576, 16384, 17),
            request(1000, Read, 2 * MIB + 524_288, 4096, 640),
            request(899_749_000, Write, 2 * MIB + 528_384, 8192, 640),
            request(899_750_000, Read, 1_048_576, 4096, 17),
            request(12_000_000_000, Write, 1_064_960, 512, 17),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order, summary.devices, summary.spread_tick_ns), ("alibaba", 1, 2, None));
}

/// A clock of one second: what falls into a second is spread evenly over it, in the order recorded.
#[test]
fn tencent_sample() {
    let (requests, summary) = sample("example.tencent.csv");
    assert_eq!(
        requests,
        [
            request(0, Read, 2048 * 512, 4096, 1201),
            request(250_000_000, Write, 2056 * 512, 4096, 1201),
            request(500_000_000, Read, 2064 * 512, 8192, 1201),
            request(750_000_000, Write, 2 * MIB + 4096 * 512, 4096, 1388),
            request(1_000_000_000, Read, 2 * MIB + 65536 * 512, 65536, 1388),
            request(3_000_000_000, Write, 2048 * 512, 4096, 1201),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order, summary.steps_back, summary.devices), ("tencent", 2, 1, 2));
    assert_eq!(summary.spread_tick_ns, Some(1_000_000_000));
}

/// Rows are written at completion; the issue is `ElapsedTime` before.
#[test]
fn etw_sample() {
    let (requests, summary) = sample("example.etw.csv");
    assert_eq!(
        requests,
        [
            request(400_000, Read, 0x10_0E00, 8192, 0),
            request(800_000, Write, 2 * MIB + 0x20_0000, 4096, 1),
            request(1_700_000, Flush, 0, 0, 1),
            request(2_400_000, Read, 0x10_1000, 512, 0),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order, summary.devices), ("etw", 1, 2));
    assert_eq!(summary.ignored, [("events other than DiskRead, DiskWrite and DiskFlush", 1)]);
}

/// The kernel's number of a device.
fn linux_device(major: u32, minor: u32) -> u32 {
    major << 20 | minor
}

/// Names of processes with blanks, digests of any length.
#[test]
fn fiu_sample() {
    let (requests, summary) = sample("example.fiu.blkparse");
    let (sdb, sda) = (linux_device(8, 16), linux_device(8, 0));
    assert_eq!(
        requests,
        [
            request(0, Write, 40960 * 512, 4096, sdb),
            request(250_000, Write, 40968 * 512, 4096, sdb),
            request(250_000, Read, 81920 * 512, 8192, sdb),
            request(1_000_000, Read, 41 * MIB + 2048 * 512, 4096, sda),
            request(900_000_000, Write, 40960 * 512, 4096, sdb),
        ]
    );
    let names: Vec<&str> = summary.device_list.iter().map(|device| device.name.as_str()).collect();
    assert_eq!((summary.format, names), ("fiu", vec!["8:16", "8:0"]));
}

#[test]
fn heimdall_sample() {
    let (requests, summary) = sample("example.heimdall-ms.trace");
    assert_eq!(
        requests,
        [
            request(0, Write, 1_048_576, 4096, 0),
            request(250_000, Write, 1_052_672, 4096, 0),
            request(250_000, Read, 41_943_040, 16384, 0),
            request(1_100_500, Write, 1_048_576, 4096, 0),
            request(9_000_000, Read, 3584, 1536, 0),
            request(12_000_001, Write, 20_971_520, 131_072, 0),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order, summary.devices), ("heimdall", 0, 1));
}

/// Flags are hexadecimal, and bit 0 is all that is read of them.
#[test]
fn disksim_sample() {
    let (requests, summary) = sample("example.disksim.ascii");
    assert_eq!(
        requests,
        [
            request(1_000_125_000, Write, 2048 * 512, 4096, 0),
            request(1_000_375_000, Write, 2056 * 512, 4096, 0),
            request(1_000_375_000, Read, 2 * MIB + 81920 * 512, 16384, 1),
            request(1_001_500_000, Read, 2048 * 512, 4096, 0),
            request(1_009_000_001, Read, 7 * 512, 1536, 0),
        ]
    );
    assert_eq!((summary.format, summary.devices), ("disksim", 2));
}

#[test]
fn diskmon_sample() {
    let (requests, summary) = sample("example.diskmon.txt");
    assert_eq!(
        requests,
        [
            request(250_000_000, Read, 2048 * 512, 4096, 0),
            request(500_000_000, Read, 2056 * 512, 4096, 0),
            request(750_000_000, Write, 4096 * 512, 8192, 0),
            request(750_000_000, Write, 3 * MIB + 7 * 512, 1536, 1),
            request(12_000_001_000, Write, 2048 * 512, 4096, 0),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order, summary.devices), ("diskmon", 1, 2));
}

#[test]
fn cloudphysics_sample() {
    let (requests, summary) = sample("example.cloudphysics.csv");
    assert_eq!(
        requests,
        [
            request(0, Write, 2048 * 512, 4096, 0),
            request(125_000, Read, 7 * 512, 512, 0),
            request(250_000, Flush, 0, 0, 0),
            request(750_000, Write, 4_294_967_296 * 512, 65536, 0),
            request(12_000_000_000, Read, 2048 * 512, 8192, 0),
        ]
    );
    assert_eq!((summary.format, summary.out_of_order), ("cloudphysics", 0));
    assert_eq!(summary.ignored, [("SCSI commands other than reads, writes and flushes", 1)]);
}

#[test]
fn malformed_systor() {
    let columns = "Timestamp,Response,IOType,LUN,Offset,Size";
    let expected_columns = |what: &str| format!("FILE:2:{what}; expected {columns}");
    for (row, expected) in [
        ("1.5,0.1,R,0,512", expected_columns("16: the line ends before Size")),
        ("1.5,0.1,R,0,512,512,7", expected_columns("20: something follows Size")),
        ("1.5,0.1,r,0,512,512", "FILE:2:9: IOType is 'r'; expected R, W or nothing".to_owned()),
        ("1.5,0.1,R,-1,512,512", "FILE:2:11: LUN is '-1'; expected a decimal number".to_owned()),
        ("1.5,0.1,R,0,5e2,512", "FILE:2:13: Offset is '5e2'; expected a decimal number".to_owned()),
        ("1.5,0.1,R,0,512,0", "FILE:2:17: a size of 0 bytes; expected at least 1".to_owned()),
        (columns, "FILE: no request in the file; expected at least one request".to_owned()),
        (
            "18446744074,0.1,R,0,512,512",
            "FILE:2:1: Timestamp is '18446744074'; expected a number that fits 64 bits in nanoseconds or bytes".to_owned(),
        ),
    ] {
        assert_eq!(message("systor", format!("{columns}\n{row}\n").as_bytes()), expected, "{row:?}");
    }
    assert_eq!(message("systor", b"1.5,0.1,R,0,512,512\n"), format!("FILE:1:1: no header line; expected {columns}"));
    let nothing = "FILE: no request in the file, but 1 rows without an IOType (no response was seen); expected at least one request";
    assert_eq!(message("systor", format!("{columns}\n1.5,,,0,512,512\n").as_bytes()), nothing);
}

#[test]
fn malformed_alibaba() {
    let columns = "device_id,opcode,offset,length,timestamp";
    for (text, expected) in [
        ("7,W,0,4096\n".to_owned(), format!("FILE:1:11: the line ends before timestamp; expected {columns}")),
        ("7,W,0,4096,5,\n".to_owned(), format!("FILE:1:13: something follows timestamp; expected {columns}")),
        ("7,D,0,4096,5\n".to_owned(), "FILE:1:3: opcode is 'D'; expected R or W".to_owned()),
        ("7,W,0,0,5\n".to_owned(), "FILE:1:7: a size of 0 bytes; expected at least 1".to_owned()),
        ("7,W,0,4294967296,5\n".to_owned(), "FILE:1:7: a transfer of 4294967296 bytes; expected at most 4294967295".to_owned()),
        (format!("{columns}\n"), "FILE: no request in the file; expected at least one request".to_owned()),
        (
            "7,W,0,4096,18446744073709552\n".to_owned(),
            "FILE:1:12: timestamp is '18446744073709552'; expected a number that fits 64 bits in nanoseconds or bytes".to_owned(),
        ),
    ] {
        assert_eq!(message("alibaba", text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn malformed_tencent() {
    let columns = "Timestamp,Offset,Size,IOType,VolumeID";
    for (text, expected) in [
        ("9,8,8,0\n", format!("FILE:1:8: the line ends before VolumeID; expected {columns}")),
        ("9,8,8,0,1 2\n", format!("FILE:1:11: something follows VolumeID; expected {columns}")),
        ("9,8,8,2,1\n", "FILE:1:7: IOType is '2'; expected 0 (read) or 1 (write)".to_owned()),
        ("9,8,8,,1\n", "FILE:1:7: IOType is ''; expected 0 (read) or 1 (write)".to_owned()),
        ("9,8,0,1,1\n", "FILE:1:5: a size of 0 bytes; expected at least 1".to_owned()),
        ("9,8,8,0,4294967296\n", "FILE:1:9: VolumeID is '4294967296'; expected a device number of at most 4294967295".to_owned()),
        (
            "9,36028797018963968,8,0,1\n",
            "FILE:1:3: Offset is '36028797018963968'; expected a number that fits 64 bits in nanoseconds or bytes".to_owned(),
        ),
    ] {
        assert_eq!(message("tencent", text.as_bytes()), expected, "{text:?}");
    }
}

const ETW_HEADER: &str = "BeginHeader\n\
    DiskRead, TimeStamp, Process Name ( PID), ByteOffset, IOSize, ElapsedTime, DiskNum, FileName\n\
    DiskFlush, TimeStamp, ElapsedTime, DiskNum\n\
    EndHeader\n";

#[test]
fn malformed_etw() {
    let columns = "the columns of the header";
    for (row, expected) in [
        ("DiskRead, 9, a (1), 0x0, 0x200, 1", format!("FILE:5:34: the line ends before DiskNum; expected {columns}")),
        ("DiskFlush, 9, 1", format!("FILE:5:16: the line ends before DiskNum; expected {columns}")),
        ("DiskRead, x, a (1), 0x0, 0x200, 1, 0", "FILE:5:11: TimeStamp is 'x'; expected a decimal number".to_owned()),
        ("DiskRead, 9, a (1), 4096, 0x200, 1, 0", "FILE:5:21: ByteOffset is '4096'; expected a hexadecimal number behind 0x".to_owned()),
        ("DiskRead, 9, a (1), 0x0, 0x, 1, 0", "FILE:5:26: IOSize is '0x'; expected a hexadecimal number behind 0x".to_owned()),
        ("DiskRead, 9, a (1), 0x0g, 0x200, 1, 0", "FILE:5:21: ByteOffset is '0x0g'; expected a hexadecimal number behind 0x".to_owned()),
        ("DiskRead, 9, a (1), 0x0, 0x000, 1, 0", "FILE:5:26: a size of 0 bytes; expected at least 1".to_owned()),
        (
            "DiskRead, 9, a (1), 0x10000000000000000, 0x200, 1, 0",
            "FILE:5:21: ByteOffset is '0x10000000000000000'; expected a number that fits 64 bits in nanoseconds or bytes".to_owned(),
        ),
        ("DiskWrite, 9, a (1), 0x0, 0x200, 1, 0", "FILE:5:1: event is 'DiskWrite'; expected an event of the header".to_owned()),
        ("BeginHeader", "FILE: no request in the file; expected at least one request".to_owned()),
        (
            "CSwitch",
            "FILE: no request in the file, but 1 events other than DiskRead, DiskWrite and DiskFlush; expected at least one request"
                .to_owned(),
        ),
    ] {
        assert_eq!(message("etw", format!("{ETW_HEADER}{row}\n").as_bytes()), expected, "{row:?}");
    }
    for (text, expected) in [
        ("", "FILE: an empty file; expected at least one request"),
        ("DiskRead, 9, 0x0\n", "FILE:1:1: event is 'DiskRead'; expected BeginHeader"),
        ("BeginHeader\nDiskRead, TimeStamp\n", {
            "FILE:2:1: event is 'DiskRead'; expected the columns TimeStamp, ByteOffset, IOSize, ElapsedTime and DiskNum"
        }),
        ("BeginHeader\nDiskFlush, TimeStamp, ElapsedTime, DiskNum, DiskNum\n", {
            "FILE:2:1: event is 'DiskFlush'; expected the columns TimeStamp, ElapsedTime and DiskNum"
        }),
    ] {
        assert_eq!(message("etw", text.as_bytes()), expected, "{text:?}");
    }
}

/// Columns come in the order that the header says, and a request issued before the recording began arrives at its start.
#[test]
fn etw_columns_differ() {
    let rows = "DiskRead,  700,  a, b,  0x1000, 0x200, 900, 3, \"x, y\"\n";
    // The process has a comma: its row has a column too many before the address, which cannot pass as something else.
    assert!(message("etw", format!("{ETW_HEADER}{rows}").as_bytes()).contains("ByteOffset is 'b'"));
    let text = "BeginHeader\r\nDiskWrite, DiskNum, IOSize, Irp Flags, ByteOffset, ElapsedTime, TimeStamp\r\nEndHeader\r\n\r\n\
        DiskWrite, 3, 0x200, some thing, 0x1000, 900, 700\r\nDiskWrite,3,0x400,,0x2000,1.5,1000";
    let (requests, _) = read(&file("columns.etw", text.as_bytes()), &TraceOptions::default()).unwrap();
    // The first one had been issued 200 us before the recording began.
    assert_eq!(requests, [request(0, Write, 4096, 512, 3), request(1_198_500, Write, 8192, 1024, 3)]);
    // Without such a one times count from the begin of the recording; with several they are as far apart as they were issued.
    let rows = |stamps: [u32; 3]| {
        let row = |(number, stamp)| format!("DiskRead, {stamp}, System (4), 0x{number}000, 0x200, 30000, 0, f\n");
        format!("{ETW_HEADER}{}", (1..).zip(stamps).map(row).collect::<String>())
    };
    for (stamps, expected) in [
        ([30_000, 31_000, 42_000], [0, 1000, 12_000]),
        ([33_000, 34_000, 35_000], [3000, 4000, 5000]),
        ([1000, 2000, 2500], [0, 1000, 1500]),
    ] {
        let (requests, _) = read(&file("in-flight.etw", rows(stamps).as_bytes()), &TraceOptions::default()).unwrap();
        assert_eq!(requests.iter().map(|request| request.arrival_ns / 1000).collect::<Vec<_>>(), expected, "{stamps:?}");
    }
}

#[test]
fn malformed_fiu() {
    let columns = "ts pid process lba size op major minor md5";
    for (text, expected) in [
        ("9 7 nfsd 8 8 W 6 0\n", format!("FILE:1:5: fewer than 6 fields follow process; expected {columns}")),
        ("9 7 8 8 W 6 0 d6\n", format!("FILE:1:5: fewer than 6 fields follow process; expected {columns}")),
        ("9 7\n", format!("FILE:1:4: the line ends before process; expected {columns}")),
        ("9 7 nfsd 8 8 W 6 0 d6 e7\n", "FILE:1:14: size is 'W'; expected a decimal number".to_owned()),
        ("x 7 nfsd 8 8 W 6 0 d6\n", "FILE:1:1: ts is 'x'; expected a decimal number".to_owned()),
        ("9 7 nfsd 8 8 D 6 0 d6\n", "FILE:1:14: op is 'D'; expected R or W".to_owned()),
        ("9 7 nfsd 8 0 W 6 0 d6\n", "FILE:1:12: a size of 0 bytes; expected at least 1".to_owned()),
        ("9 7 nfsd 8 8 W 4096 0 d6\n", "FILE:1:16: major is '4096'; expected a major device number of at most 4095".to_owned()),
        ("9 7 nfsd 8 8 W 6 1048576 d6\n", "FILE:1:18: minor is '1048576'; expected a minor device number of at most 1048575".to_owned()),
        ("9 7 nfsd 8 8 W 6 0 d6\n\0\0\0\n", "FILE:2:1: ts is '\\x00\\x00\\x00'; expected a decimal number".to_owned()),
    ] {
        assert_eq!(message("fiu", text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn malformed_heimdall_and_disksim() {
    let (heimdall, disksim) = ("time_ms dev offset size op", "time_ms dev lba_sectors sectors flags");
    for (format, text, expected) in [
        ("heimdall", "0.5 0 8 8\n", format!("FILE:1:10: the line ends before op; expected {heimdall}")),
        ("heimdall", "0.5 0 8 8 1 1\n", format!("FILE:1:13: something follows op; expected {heimdall}")),
        ("heimdall", "0.5 0 8 8 2\n", "FILE:1:11: op is '2'; expected 0 (write) or 1 (read)".to_owned()),
        ("heimdall", "0.5 0 8 0 1\n", "FILE:1:9: a size of 0 bytes; expected at least 1".to_owned()),
        ("heimdall", "1e3 0 8 8 1\n", "FILE:1:1: time_ms is '1e3'; expected a decimal number".to_owned()),
        ("disksim", "0.5 0 8 8\n", format!("FILE:1:10: the line ends before flags; expected {disksim}")),
        ("disksim", "0.5 0 8 8 1 1\n", format!("FILE:1:13: something follows flags; expected {disksim}")),
        ("disksim", "0.5 0 8 8 0xg\n", "FILE:1:11: flags is '0xg'; expected a hexadecimal number".to_owned()),
        ("disksim", "0.5 0 8 8 g\n", "FILE:1:11: flags is 'g'; expected a hexadecimal number".to_owned()),
        ("disksim", "-0.5 0 8 8 1\n", "FILE:1:1: time_ms is '-0.5'; expected a decimal number".to_owned()),
        ("disksim", "0.5 0 8 0 1\n", "FILE:1:9: a size of 0 bytes; expected at least 1".to_owned()),
        (
            "disksim",
            "18446744073710 0 8 8 1\n",
            "FILE:1:1: time_ms is '18446744073710'; expected a number that fits 64 bits in nanoseconds or bytes".to_owned(),
        ),
    ] {
        assert_eq!(message(format, text.as_bytes()), expected, "{format}: {text:?}");
    }
}

#[test]
fn malformed_diskmon() {
    let columns = "index time duration disk request sector length";
    for (text, expected) in [
        ("0\t0.5\t0.1\t0\tRead\t8\t\n", format!("FILE:1:20: the line ends before length; expected {columns}")),
        ("0\t0.5\t0.1\t0\tRead\t8\t8\t9\n", format!("FILE:1:22: something follows length; expected {columns}")),
        ("0\t0.5\t0.1\t0\tread\t8\t8\n", "FILE:1:13: request is 'read'; expected Read or Write".to_owned()),
        ("0\t0.5\t0.1\t0\tRead\t8\t0\t\n", "FILE:1:20: a size of 0 bytes; expected at least 1".to_owned()),
        ("#\tTime\n", "FILE:1:1: index is '#'; expected a decimal number".to_owned()),
    ] {
        assert_eq!(message("diskmon", text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn malformed_cloudphysics() {
    let columns = "version,time,op,size,lbn";
    for (row, expected) in [
        ("1,5,2a,512", format!("FILE:2:11: the line ends before lbn; expected {columns}")),
        ("1,5,2a,512,8,", format!("FILE:2:13: something follows lbn; expected {columns}")),
        ("1,5,2g,512,8", "FILE:2:5: op is '2g'; expected a hexadecimal number".to_owned()),
        ("1,5,,512,8", "FILE:2:5: op is ''; expected a hexadecimal number".to_owned()),
        ("1,5,28,0,8", "FILE: no request in the file, but 1 SCSI reads and writes of no length; expected at least one request".to_owned()),
        ("x,5,28,512,8", "FILE:2:1: version is 'x'; expected a decimal number".to_owned()),
    ] {
        assert_eq!(message("cloudphysics", format!("{columns}\n{row}\n").as_bytes()), expected, "{row:?}");
    }
    assert_eq!(message("cloudphysics", b"1,5,2a,512,8\n"), format!("FILE:1:1: no header line; expected {columns}"));
}

/// A file of each format that holds, beside two good rows, an unreadable one, one of zero size and one of more than a buffer.
fn damaged() -> Vec<(&'static str, String)> {
    let long = "7".repeat(1 << 20);
    [
        ("systor", "Timestamp,Response,IOType,LUN,Offset,Size\n", "1.5,0.1,R,0,512,SIZE", "512"),
        ("alibaba", "", "7,W,0,SIZE,5", "512"),
        ("tencent", "", "9,8,SIZE,0,1", "1"),
        ("etw", ETW_HEADER, "DiskRead, 9, a (1), 0x0, SIZE, 1, 0", "0x200"),
        ("fiu", "", "9 7 nfsd 8 SIZE W 6 0 d6", "1"),
        ("heimdall", "", "0.5 0 8 SIZE 1", "512"),
        ("disksim", "", "0.5 0 8 SIZE 1", "1"),
        ("diskmon", "", "0\t0.5\t0.1\t0\tRead\t8\tSIZE\t", "1"),
        ("cloudphysics", "version,time,op,size,lbn\n", "1,5,2a,SIZE,8", "512"),
    ]
    .map(|(format, header, row, size)| {
        let row_of = |size: &str| row.replace("SIZE", size);
        let zero = if format == "etw" { "0x0" } else { "0" };
        let rows = [row_of(size), row_of("?"), row_of(zero), row_of(&long), row_of(size)];
        (format, format!("{header}{}", rows.join("\r\n")))
    })
    .into()
}

#[test]
fn damaged_rows_are_counted_if_asked_for() {
    for (format, text) in damaged() {
        let path = file(&format!("damaged.{format}"), text.as_bytes());
        let (requests, summary) = read(&path, &TraceOptions { on_error: OnError::Skip, ..options(format) }).unwrap();
        // A SCSI command of no length is a good one, and no request.
        let no_length = if format == "cloudphysics" { vec![("SCSI reads and writes of no length", 1)] } else { vec![] };
        assert_eq!(summary.ignored, no_length, "{format}");
        let skipped = 3 - no_length.len();
        assert_eq!((requests.len(), summary.skipped, summary.faults.len()), (2, skipped as u64, skipped), "{format}");
        let extent = |request: &HostRequest| (request.op, request.offset_bytes, request.size_bytes);
        assert_eq!((requests[0].size_bytes, extent(&requests[0])), (512, extent(&requests[1])), "{format}");
        let last = &summary.faults[skipped - 1];
        assert!(last.contains("a line of more than 262144 bytes"), "{format}: {last}");
        let first = summary.faults[0].clone();
        assert_eq!(read(&path, &options(format)).unwrap_err().to_string(), first, "{format}");
    }
}

#[test]
fn layout_of_lines_is_free() {
    for (format, text) in damaged() {
        let lines: Vec<&str> = text.split("\r\n").collect();
        let good = format!("{}\n{}", lines[0], lines[4]);
        let plain = read(&file("plain", good.as_bytes()), &options(format)).unwrap().0;
        for (name, text) in [
            ("newline", format!("{good}\n")),
            ("CRLF", format!("{good}\n").replace('\n', "\r\n")),
            ("CRLF, no newline", format!("{good}\r").replace('\n', "\r\n")),
            ("empty lines at the end", format!("{good}\n\n \r\n\t\n")),
        ] {
            let path = file(&format!("layout.{format}"), text.as_bytes());
            assert_eq!(read(&path, &options(format)).unwrap().0, plain, "{format}: {name}");
        }
    }
}

#[test]
fn devices_are_filtered_by_name_or_kept_apart() {
    let path = crate::support::in_repository("samples/formats/example.fiu.blkparse");
    let filter = TraceOptions { device_filter: vec!["8:0".to_owned()], ..TraceOptions::default() };
    let (requests, summary) = read(&path, &filter).unwrap();
    assert_eq!(requests, [request(0, Read, 2048 * 512, 4096, linux_device(8, 0))]);
    assert_eq!((summary.filtered, summary.devices), (4, 2));

    let path = crate::support::in_repository("samples/formats/example.alibaba.csv");
    let apart = read(&path, &TraceOptions { layout: DeviceLayout::Apart, ..TraceOptions::default() }).unwrap().0;
    assert_eq!(apart[1], request(1000, Read, 524_288, 4096, 640));
    let filter = TraceOptions { device_filter: vec!["640".to_owned()], ..TraceOptions::default() };
    let alone: Vec<HostRequest> = read(&path, &filter).unwrap().0;
    assert_eq!(alone, [request(0, Read, 524_288, 4096, 640), request(899_748_000, Write, 528_384, 8192, 640)]);
}

#[test]
fn other_time_units() {
    let path = file("unit.trace", b"5 0 8 8 1\n");
    for (unit, arrival_ns) in [(TimeUnit::Ns, 5), (TimeUnit::Ticks, 500), (TimeUnit::Us, 5000), (TimeUnit::S, 5_000_000_000)] {
        let requests = read(&path, &TraceOptions { time_unit: Some(unit), ..options("disksim") }).unwrap().0;
        assert_eq!(requests[0].arrival_ns, arrival_ns, "{}", unit.name());
    }
    // A finer clock has finer ticks to spread requests over.
    let path = file("unit.csv", b"1000,8,8,1,1\n1000,8,8,1,1\n1001,8,8,1,1\n");
    let (requests, summary) = read(&path, &TraceOptions { time_unit: Some(TimeUnit::Ms), ..options("tencent") }).unwrap();
    assert_eq!(requests.iter().map(|request| request.arrival_ns).collect::<Vec<_>>(), [0, 500_000, 1_000_000]);
    assert_eq!(summary.spread_tick_ns, Some(1_000_000));
}

/// A name that several formats share is refused with the candidates; words in it decide.
#[test]
fn recognition_is_by_header_or_name() {
    let rows = "0 0 8 8 1\n";
    for (name, text, expected) in [
        ("any", "Timestamp,Response,IOType,LUN,Offset,Size\n", Ok("systor")),
        ("any.spc", "version,time,op,size,lbn\r\n", Ok("cloudphysics")),
        ("Exchange.12-12-2007.01-32-PM.trace.csv", "BeginHeader\r\n", Ok("etw")),
        ("alibaba.csv", rows, Ok("alibaba")),
        ("alibaba_block_traces_2020.csv", rows, Ok("alibaba")),
        ("tencent-cbs-50000.csv.xz", rows, Ok("tencent")),
        ("cheetah.cs.fiu.edu-110108-113008.1.blkparse", rows, Ok("fiu")),
        ("homes-110108-112108.1.blkparse.gz", rows, Ok("fiu")),
        ("fiu-homes.blkparse", rows, Ok("fiu")),
        ("msr-hm_0-slice105-10000.heimdall-ms.trace", rows, Ok("heimdall")),
        ("iozone.disksim-ms.trace", rows, Ok("disksim")),
        ("disksim.ascii", rows, Ok("disksim")),
        ("sys1.diskmon.txt", rows, Ok("diskmon")),
        ("volume.csv", rows, Err("msr or alibaba or tencent")),
        ("any.trace", rows, Err("ssdsim or heimdall or disksim")),
        ("any.ascii", rows, Err("ssdsim or disksim")),
    ] {
        let path = file(name, text.as_bytes());
        let opened = Trace::open(&path, &TraceOptions::default());
        match (opened.map(|trace| trace.format().name).map_err(|error| error.to_string()), expected) {
            (Ok(format), Ok(expected)) => assert_eq!(format, expected, "{name}"),
            (Err(error), Err(candidates)) => {
                let end = format!(
                    "{name}: the file name matches several trace formats and there is no header (flashraid's is ts_us,op,offset,size); expected --format {candidates}"
                );
                assert!(error.ends_with(&end), "{error}");
            }
            (opened, _) => panic!("{name}: {opened:?}"),
        }
        fs::remove_file(path).unwrap();
    }
}
