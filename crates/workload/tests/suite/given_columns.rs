//! Texts whose columns the user names.

use crate::support::{file, message_with, read, request, sample_with};
use flashraid_vocabulary::HostOp::{Flush, Read, Trim, Write, WriteZeroes};
use flashraid_vocabulary::HostRequest;
use flashraid_workload::{DeviceLayout, OnError, TraceOptions, TraceSummary};

fn with(pairs: &[(&str, &str)]) -> TraceOptions {
    let mut options = TraceOptions { layout: DeviceLayout::Apart, ..TraceOptions::default() };
    pairs.iter().for_each(|(key, value)| options.set(key, value).unwrap());
    options
}

fn text(name: &str, content: &str, pairs: &[(&str, &str)]) -> (Vec<HostRequest>, TraceSummary) {
    read(&file(name, content.as_bytes()), &with(pairs)).unwrap()
}

const SECTORS: &str = "assumed that a sector has 512 bytes (--sector-bytes sets another size)";
const HEADER: &str = "assumed that the first line names the columns, as it has no number as time";

#[test]
fn columns_sample() {
    let columns = ("columns", "time:s,pid,comm,op,sector,sectors");
    let (requests, summary) = sample_with("example.columns.txt", &with(&[columns]));
    assert_eq!(requests, [request(0, Write, 1 << 20, 4096, 0), request(125_000, Read, 1 << 21, 8192, 0), request(500_000, Flush, 0, 0, 0)]);
    assert_eq!((summary.format, &summary.ignored[..]), ("columns", &[("comments", 1)][..]));
    assert_eq!(summary.assumed, ["assumed that commas separate the columns (--separator sets another separator)", HEADER, SECTORS]);
    let given = with(&[columns, ("separator", "comma"), ("sector_bytes", "4096")]);
    let (requests, summary) = sample_with("example.columns.txt", &given);
    assert_eq!((requests[1], &summary.assumed[..]), (request(125_000, Read, 1 << 24, 65536, 0), &[HEADER.to_owned()][..]));
}

/// Every separator, unit and way to say an address or a length gives the same two requests.
#[test]
fn names_and_units() {
    let expected = [request(0, Read, 8192, 4096, 0), request(1_500_000, Write, 4096, 8192, 0)];
    for (columns, first, second) in [
        ("time:s,op,offset,size", "5.000000000,r,8192,4096", "5.0015,w,4096,8192"),
        ("time:ms,op,offset:B,bytes", "5000 READ 8192 4096", "5001.5 WRITE 4096 8192"),
        ("time:us,op,lba,sectors", "0;Read;16;8", "1500;Write;8;16"),
        ("time:ns,op,sector,end", "0|rd|16|12288", "1500000|wr|8|12288"),
        ("time:100ns,op,offset:KiB,size:KiB", "0\tRS\t8\t4", "15000\tWSM\t4\t8"),
        ("time:ticks,op,offset:4096,size:4096", "0 , R , 2 , 1", "15000 , W , 1 , 2"),
        ("time:s,op:1/0,sector,sectors,-", "1572074461.5,1,16,8,x", "1572074461.5015,0,8,16,"),
        ("-,size,offset,op:get/put,time:us", "a,4096,8192,GET,0", "b,8192,4096,put,1500"),
        ("completion:us,latency:us,op,offset,end:sectors", "100 100 R 8192 24", "1700 200 W 4096 24"),
    ] {
        let (requests, summary) = text("units.txt", &format!("{first}\r\n{second}\r\n"), &[("columns", columns)]);
        assert_eq!((&requests[..], summary.format), (&expected[..], "columns"), "{columns}");
        let times = ["s", "ms", "us", "ns"].into_iter().find(|unit| columns.contains(&format!("time:{unit}"))).unwrap_or("100ns");
        assert_eq!(summary.time_unit, if columns.contains("completion:us") { "us" } else { times }, "{columns}");
    }
    let of_unit = text("units.txt", "0 R 8192 4096\n1500 W 4096 8192\n", &[("columns", "time,op,offset,size"), ("time_unit", "us")]);
    assert_eq!((&of_unit.0[..], of_unit.1.time_unit), (&expected[..], "us"));
}

#[test]
fn operations_devices_and_columns_without_them() {
    let content = "1,\"trim\",0,512,\"vol a\"\n2,FLUSH,0,0,b\n3,z,512,512,\"vol a\"\n4,D,0,512,b\n5,FF,9,9,b\n";
    let (requests, summary) = text("ops.csv", content, &[("columns", "time:ns,op,offset,size,device")]);
    assert_eq!(
        requests,
        [
            request(0, Trim, 0, 512, 0),
            request(1, Flush, 0, 0, 1),
            request(2, WriteZeroes, 512, 512, 0),
            request(3, Trim, 0, 512, 1),
            request(4, Flush, 0, 0, 1)
        ]
    );
    assert_eq!(summary.device_list.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["vol a", "b"]);
    let (requests, _) = text("no-op.csv", "1,0,512\n", &[("columns", "time:ns,offset,size"), ("op", "write")]);
    assert_eq!(requests, [request(0, Write, 0, 512, 0)]);
    // Fields may be empty, and hold blanks, where the separator is no blank.
    let (requests, _) = text("tabs.txt", "1\t\ta b\tR\t0\t512\n", &[("columns", "time:ns,-,comm,op,offset,size")]);
    assert_eq!(requests, [request(0, Read, 0, 512, 0)]);
}

/// The kernel's letters mean what they do in its own texts, and words of other programs are no letters.
#[test]
fn letters_of_the_kernel() {
    let four = [("columns", "time:s,op,offset,size")];
    let kernel = "1,FWS,0,512\n2,FWS,9,0\n3,WFSM,0,512\n4,RAB,0,512\n5,DES,0,512\n6,NS,0,512\n7,NS,0,0\n8,X,0,512\n9,ZRA,0,0\n10,FZA,0,512\n11,FFS,7,7\n12,WP,0,512\n";
    let (requests, summary) = text("kernel.csv", kernel, &four);
    let ops: Vec<_> = requests.iter().map(|request| (request.op, request.offset_bytes, request.size_bytes)).collect();
    let whole = [Write, Flush, Write, Read, Trim, WriteZeroes, Flush, Write].map(|op| if op == Flush { (op, 0, 0) } else { (op, 0, 512) });
    assert_eq!(ops, whole);
    let dropped = [
        ("flushes attached to writes (FW); the writes are kept", 1),
        ("forced unit access (WF); the writes are kept", 1),
        ("requests with unknown letters (rwbs)", 1),
        ("rows without bytes", 1),
        ("zone appends (ZA)", 1),
        ("zone commands (ZR, ZRA, ZO, ZC, ZF)", 1),
    ];
    assert_eq!((&summary.unsupported[..], summary.ignored.len()), (&dropped[..], 0));
    for word in ["GET", "NOP", "RESET", "ws", "Ws", "W1", "", "SEND"] {
        let error = message_with(&with(&four), format!("1,R,0,512\n2,{word},0,512\n3,R,0,512\n").as_bytes());
        assert!(error.starts_with(&format!("FILE:2:3: op is '{word}'; expected a word as R, W, read or write")), "{error}");
    }
    assert_eq!(
        message_with(&with(&four), b"1,G,0,512\n2,P,0,512\n"),
        "FILE: no request in the file, but 2 requests with unknown letters (rwbs) (--columns op:1/0 says that 1 is a read and 0 a write); expected at \
         least one request"
    );
}

#[test]
fn what_cannot_be_columns_is_refused() {
    let times = "no column of times (time, or completion with latency)";
    for (columns, expected) in [
        ("op,offset,size", times.to_owned()),
        ("", "'' is no column; allowed are time, completion, latency, op, offset, sector, lba, size, sectors, bytes, end, device, pid, comm, cpu, - (- is passed over)".to_owned()),
        ("time:s,op,ofset,size", "'ofset' is no column (nearest: offset); allowed are time, completion, latency, op, offset, sector, lba, size, sectors, bytes, end, device, pid, comm, cpu, - (- is passed over)".to_owned()),
        ("time:s,time:s,op,offset,size", "2 columns of times (time, or completion with latency); one is allowed".to_owned()),
        ("time:s,op,size", "no column of addresses (offset, sector or lba)".to_owned()),
        ("time:s,op,offset", "no column of lengths (size, sectors, bytes or end)".to_owned()),
        ("time:s,latency:ms,op,offset,size", "completion and latency belong together (the request arrived so long before it was completed); - passes over a column".to_owned()),
        ("time:h,op,offset,size", "time:h: a time has the unit s, ms, us, 100ns (ticks) or ns".to_owned()),
        ("time:s,op:R,offset,size", "op:R: the words for read and write are given as op:READ/WRITE, as in op:0/1, and operation codes of SCSI as op:scsi".to_owned()),
        ("time:s,op,offset:pages,size", "offset:pages: a unit is B, KiB, MiB, sectors, or a number of bytes".to_owned()),
        ("time:s,op,op,offset,size", "2 columns op; one is allowed".to_owned()),
        ("time:s,op,offset,size,device:x", "device:x: device has no unit".to_owned()),
    ] {
        let error = TraceOptions::default().set("columns", columns).unwrap_err().to_string();
        assert_eq!(error, format!("columns = {columns}: allowed is none, or names as in time:s,op,sector,sectors,-: {expected}"));
    }
    let error = TraceOptions::default().set("separator", "dot").unwrap_err().to_string();
    assert_eq!(error, "separator = dot: allowed is auto, comma, semicolon, tab, pipe, blank");
}

#[test]
fn malformed_lines() {
    let four = ("columns", "time:s,op,offset,size");
    let words = "a word as R, W, read or write (--columns op:1/0 says that 1 is a read and 0 a write)";
    for (pairs, content, expected) in [
        (
            vec![four],
            "1,R,0,512,9\n",
            "FILE: the first line has fields: 5 by comma; expected 4, as --columns time:s,op,offset,size says (- passes over one)"
                .to_owned(),
        ),
        (
            vec![four],
            "1:R:0:512\n",
            "FILE: the first line has one field; expected 4, as --columns time:s,op,offset,size says (- passes over one)".to_owned(),
        ),
        (
            vec![four],
            "1,R,0,512\n2,R,0\n3,R,0,512\n",
            "FILE:2:6: the line ends before the size; expected the columns that --columns names".to_owned(),
        ),
        (
            vec![four],
            "1,R,0,512\n2,R,0,512,7\n3,R,0,512\n",
            "FILE:2:10: something follows the size; expected the columns that --columns names".to_owned(),
        ),
        (vec![four], "1,1,0,512\n", format!("FILE:1:3: op is '1'; expected {words}")),
        (vec![four], "t,op,o,s\n1,R,0,512\nt,R,0,512\n4,R,0,512\n", "FILE:3:1: the time is 't'; expected a decimal number".to_owned()),
        (vec![four], "-1,R,0,512\n2,R,0,512\n", "FILE:1:1: the time is '-1'; expected a decimal number".to_owned()),
        (vec![four], "1,R,0,-5\n", "FILE:1:7: the size is '-5'; expected a decimal number".to_owned()),
        (vec![four], "1,R,0,0\n", "FILE:1:7: a size of 0 bytes; expected at least 1".to_owned()),
        (
            vec![("columns", "time:s,op:get/put,offset,size")],
            "1,R,0,512\n",
            "FILE:1:3: op is 'R'; expected get (read) or put (write), as --columns says".to_owned(),
        ),
        (
            vec![("columns", "time:s,op,offset,end")],
            "1,R,512,0\n",
            "FILE:1:9: an end at 0 bytes; expected one behind the address, of the first byte that is not part of the request".to_owned(),
        ),
        (
            vec![("columns", "time,op,offset,size")],
            "1,R,0,512\n",
            "FILE: --columns has a time without a unit; expected time:s, :ms, :us, :100ns or :ns, or --time-unit".to_owned(),
        ),
        (
            vec![("columns", "time:s,offset,size")],
            "1,0,512\n",
            "FILE: --columns has no op; expected one, or --op read, --op write or --op mix:X".to_owned(),
        ),
        (vec![("format", "columns")], "1,R,0,512\n", "FILE: the format columns needs --columns NAME,... to say what they are".to_owned()),
        (
            vec![four, ("format", "msr")],
            "1,R,0,512\n",
            "FILE: --columns is for texts of no format, and this is read as msr; expected --format auto or columns".to_owned(),
        ),
        (vec![four, ("separator", "tab")], "1,R,0,512\n", "FILE:1:1: the time is '1,R,0,512'; expected a decimal number".to_owned()),
    ] {
        assert_eq!(message_with(&with(&pairs), content.as_bytes()), expected, "{pairs:?} {content}");
    }
    let skip = TraceOptions { on_error: OnError::Skip, ..with(&[four]) };
    let (requests, summary) = read(&file("skipped.csv", b"1,R,0,512\n2,q,0,512\n3,R,0,512\n"), &skip).unwrap();
    assert_eq!((requests.len(), summary.skipped), (2, 1));
}

/// Fields in quotes are what is between them, numbers too; a first row of them is a row. Numbers behind 0x are hexadecimal.
#[test]
fn quotes_and_hexadecimal_numbers() {
    let expected = [request(0, Read, 8192, 4096, 0), request(1_500_000, Write, 4096, 8192, 1)];
    for (columns, content) in [
        ("time:us,op,offset,size,device", "\"10\",\"R\",\"8192\",\"4096\",\"a\"\n\"1510\",\"W\",\"4096\",\"8192\",\"b\"\n"),
        ("time:us,op,offset,size,device", "t,\"o\",f,s,d\n10,\"R\",8192,4096,a\r\n1510,\"W\",4096,8192,b\r\n"),
        ("time:us,op,offset,size,device", "10,R,0x2000,0x1000,a\n1510,W,0X1000,8192,b\n"),
        ("time:us;op;offset;size;device", "0xa;R;0x2000;0x1000;a\n0x5E6;W;\"0x1000\";\"0x2000\";b\n"),
        ("time:us;device;op;sector;end", "10 a R 0x10 0x3000\n1510 b W 0x8 0x3000\n"),
        ("device,size,time:us,op,lba", "a\t\"0x1000\"\t10\tR\t16\nb\t8192\t1510\tW\t8\n"),
        // Only later lines have some.
        ("comm,time:us,op,offset,size,device", "x,10,R,8192,4096,a\n\"x, y\",1510,W,4096,\"8192\",\"b\"\n"),
        ("time:us,op,offset,size,device", "10,R,8192,4096,a\n1510,W,0x1000,0x2000,b\n"),
        ("time:us,op,size,device,offset", "10,R,4096,a,8192\n1510,W,8192,\"b\",0x1000\n"),
        // A quote that is a letter, and a separator, a blank or a quote in a field.
        ("comm,time:us,op,offset,size,device", "\"x,10,R,8192,4096,a\n5\" disk,1510,W,4096,8192,b\n"),
        ("comm,time:us,op,offset,size,device", "\"x,\"\"y\",10,R,8192,4096,\" a\"\n\"x, y\" , 1510 , W , 4096 , 8192 , b \n"),
        ("comm;time:us;op;offset;size;device", "\"x y\" 10 R 8192 4096 \"a\"\nx 1510 \"W\" 4096 8192 b\n"),
    ] {
        let (requests, summary) = text("quoted.txt", content, &[("columns", &columns.replace(';', ","))]);
        assert_eq!(requests, expected, "{content}");
        assert_eq!(summary.assumed.iter().any(|text| text == HEADER), content.starts_with("t,"), "{content}");
        assert_eq!(summary.device_list.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(), ["a", "b"], "{content}");
    }
    let (_, summary) =
        text("names.csv", "1,R,0,512,\"vol,a\"\n2,R,0,512,vol,a\n", &[("columns", "time:s,op,offset,size,device"), ("on_error", "skip")]);
    assert_eq!((summary.device_list[0].name.as_str(), summary.skipped), ("vol,a", 1));
}

/// Faults of such lines are where they are in the file, and a line is counted once however it is read.
#[test]
fn faults_of_lines_with_quotes() {
    let four = with(&[("columns", "time:s,op,offset,size")]);
    for (content, expected) in [
        (
            "\"1\",\"q\",\"0\",\"512\"\n",
            "FILE:1:6: op is 'q'; expected a word as R, W, read or write (--columns op:1/0 says that 1 is a read and 0 a write)",
        ),
        ("\"1\",\"R\",\"0\",\"0\"\n", "FILE:1:14: a size of 0 bytes; expected at least 1"),
        ("1,R,0,512\n2,\"R\",0x1g,512\n", "FILE:2:7: the address is '0x1g'; expected a hexadecimal number behind 0x"),
        ("1,R,0,512\n2,R,0x,512\n", "FILE:2:5: the address is '0x'; expected a hexadecimal number behind 0x"),
        ("1,R,0,512\n2,R,0,\"512\n", "FILE:2:7: the size is '\\\"512'; expected a decimal number"),
        (
            "1,R,0,512\n2,R,0xfffffffffffffffff,512\n",
            "FILE:2:5: the address is '0xfffffffffffffffff'; expected a number that fits 64 bits in nanoseconds or bytes",
        ),
        ("1,R,0,512\n2,R,1f,512\n", "FILE:2:5: the address is '1f'; expected a decimal number"),
    ] {
        assert_eq!(message_with(&four, content.as_bytes()), expected, "{content}");
    }
    let comma = with(&[("columns", "time:s,op,offset,size"), ("separator", "semicolon")]);
    assert_eq!(
        message_with(&comma, b"1;R;0;512\n1,5;R;0;512\n"),
        "FILE:2:1: the time is '1,5'; expected a decimal number, with a point before its fraction and not a comma (tr , . makes points of all commas)"
    );
    let four = [("columns", "time:s,op,offset,size"), ("separator", "comma")];
    assert_eq!(message_with(&with(&four), b"1,R,\"4,096\",512\n"), "FILE:1:6: the address is '4,096'; expected a decimal number");
    let codes = [("columns", "time:s,op:scsi,offset,size")];
    assert_eq!(message_with(&with(&codes), b"1,x,0,512\n"), "FILE:1:3: op is 'x'; expected a hexadecimal number");
    let (requests, summary) = text("codes.csv", "1,2a,0,512\n2,0x28,0,512\n3,0X35,0,0\n4,0x42,0,0\n", &codes);
    assert_eq!(requests.iter().map(|request| request.op).collect::<Vec<_>>(), [Write, Read, Flush]);
    assert_eq!(summary.unsupported, [("discards of SCSI (UNMAP)", 1)]);
    let (requests, summary) = text("parts.csv", "1,WFS,0,512\n2,WFS,0,0x200\n3,WFS,0,\"512\"\n", &[("columns", "time:s,op,offset,size")]);
    assert_eq!((requests.len(), &summary.unsupported[..]), (3, &[("forced unit access (WF); the writes are kept", 3)][..]));
}
