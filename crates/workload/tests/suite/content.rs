//! What a file's first bytes say of it, before any line is read.

use crate::support::{file, gzip, message, options, read};
use flashraid_workload::{TraceError, TraceOptions};

const COLUMNS: &str = "ts_us,op,offset,size,flags,latency_us";

fn refused(name: &str, content: &[u8]) -> String {
    let path = file(name, content);
    let error: TraceError = read(&path, &TraceOptions::default()).unwrap_err();
    error.to_string().replace(&path.display().to_string(), "FILE")
}

#[test]
fn marks_of_editors() {
    let rows = format!("{COLUMNS}\n0,R,0,4096,,\n");
    for (name, text) in [
        ("mark.csv", format!("\u{FEFF}{rows}")),
        ("capitals.csv", rows.replace(COLUMNS, &COLUMNS.to_uppercase())),
        ("mark-systor.csv", "\u{FEFF}Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,R,0,512,512\n".to_owned()),
        ("mark.ssdsim", "\u{FEFF}0 0 0 8 1\n".to_owned()),
    ] {
        assert_eq!(read(&file(name, text.as_bytes()), &TraceOptions::default()).unwrap().0.len(), 1, "{name}");
    }
    let wide: Vec<u8> = format!("\u{FEFF}{rows}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(refused("wide.csv", &wide), "FILE: text in UTF-16; expected UTF-8");
}

#[test]
fn what_is_no_trace_is_named() {
    assert_eq!(refused("nothing.csv", b""), "FILE: an empty file; expected at least one request");
    assert_eq!(refused("nothing.csv.gz", &gzip(b"")), "FILE: an empty file; expected at least one request");
    let bzip2 = b"BZh91AY&SY\x00\x01\x02\x03";
    assert_eq!(refused("trace.ssdsim.bz2", bzip2), "FILE: a bzip2 archive; expected plain, gzip, zstd or xz");
    assert_eq!(refused("trace.zip", b"PK\x03\x04\x14\x00"), "FILE: a zip archive; expected plain, gzip, zstd or xz");
    let mut tar = vec![0; 1024];
    tar[..10].copy_from_slice(b"trace.csv\0");
    tar[257..262].copy_from_slice(b"ustar");
    assert_eq!(refused("trace.tar", &tar), "FILE: a tar archive; expected a trace extracted from it");
    assert_eq!(refused("trace.tar.gz", &gzip(&tar)), "FILE: a tar archive; expected a trace extracted from it");
}

#[test]
fn headers_that_are_not_all_there() {
    for text in [COLUMNS.to_owned(), format!("{COLUMNS}\n")] {
        assert_eq!(refused("only-header.csv", text.as_bytes()), "FILE: no request in the file; expected at least one request");
    }
}

#[test]
fn own_columns_in_any_order() {
    let (wanted, _) =
        read(&file("all.csv", format!("{COLUMNS}\n1.5,W,512,4096,WS,88\n2,F,0,0,,\n").as_bytes()), &TraceOptions::default()).unwrap();
    for (name, text) in [
        ("four.csv", "ts_us,op,offset,size\n1.5,W,512,4096\n2,F,0,0\n"),
        ("five.csv", "TS_US, op ,offset,size,latency_us\r\n1.5,W,512,4096,88\r\n2,F,0,0,\r\n"),
        ("turned.csv", "latency_us,size,flags,offset,op,ts_us\n88,4096,WS,512,W,1.5\n,0,,0,F,2"),
        ("middle.csv", "op,size,ts_us,offset\nW,4096,1.5,512\nF,0,2,0\n"),
    ] {
        assert_eq!(read(&file(name, text.as_bytes()), &TraceOptions::default()).unwrap().0, wanted, "{name}");
    }
    let faults = [
        ("1,R,0", "FILE:2:6: the line ends before size; expected ts_us,op,offset,size"),
        ("1,R,0,512,", "FILE:2:10: something follows size; expected ts_us,op,offset,size"),
        ("1,R,0,512,9", "FILE:2:10: something follows size; expected ts_us,op,offset,size"),
        ("1,R,0,-1", "FILE:2:7: size is '-1'; expected a decimal number"),
        ("1,R,0,0", "FILE:2:7: a size of 0 bytes; expected at least 1"),
    ];
    for (row, fault) in faults {
        assert_eq!(refused("four-columns.csv", format!("ts_us,op,offset,size\n{row}\n").as_bytes()), fault, "{row}");
    }
}

#[test]
fn headers_that_are_close() {
    let needs = "ts_us (microseconds), op (R, W, F, D or Z), offset and size (bytes), in any order, and flags, latency_us and stream or not, with \
                 commas between";
    for (header, why) in [
        ("ts_us,op,offset", "missing: size"),
        ("ts_us,op,offset,sice,flag", "'sice' is none of them (nearest: size); 'flag' is none of them (nearest: flags); missing: size"),
        ("ts_us,op,offset,size,op", "op stands there twice"),
        ("ts_us,op,offset,size,comment", "'comment' is none of them"),
        ("ts_us,op,offset,size,f\u{e9}", r"'f\xc3\xa9' is none of them"),
        (
            "ts_us,op,offset,size,a,b,c,d,e,f",
            "'a' is none of them; 'b' is none of them; 'c' is none of them; 'd' is none of them; 2 more are wrong",
        ),
        ("ts_us,op,offset,size,", "'' is none of them"),
    ] {
        let found = refused("own.csv", format!("{header}\n0,R,0,4096,5\n").as_bytes());
        let header = header.as_bytes().escape_ascii();
        assert_eq!(found, format!("FILE:1:1: the header is '{header}': {why}; expected {needs}"));
    }
    for (name, header, why) in [
        ("a.csv", "time,op,offset,size", "'time' is none of them; missing: ts_us"),
        (
            "b.csv",
            "timestamp,type,lba,bytes",
            "'timestamp' is none of them; 'type' is none of them; 'lba' is none of them; 'bytes' is none of them; missing: ts_us, op, offset, size",
        ),
        (
            "c.log",
            "t_us,op,offset,sizes",
            "'t_us' is none of them (nearest: ts_us); 'sizes' is none of them (nearest: size); missing: ts_us, size",
        ),
    ] {
        let expected = format!(
            "FILE:1:1: the header '{header}' matches no trace format; flashraid's own has {needs}: {why} (--columns reads other columns)"
        );
        assert_eq!(refused(name, format!("{header}\n0,R,0,4096\n").as_bytes()), expected);
    }
    // A name that tells the format decides, and rows without a header are what they were.
    assert!(refused("x.spc", b"time,op,offset\n0,R,0\n").starts_with("FILE:1:1: ASU is 'time'"));
    assert!(refused("rows.csv", b"0,R,0,4096\n").contains("the file name matches several trace formats"));
}

#[test]
fn zeroes_behind_gzip() {
    let rows = |first: &str, more: &str| [gzip(first.as_bytes()), gzip(more.as_bytes())].concat();
    let mut packed = rows("0 0 0 8 1\n", "5 0 8 8 1\n");
    packed.resize(packed.len() + (1 << 20), 0);
    assert_eq!(read(&file("padded.ssdsim.gz", &packed), &TraceOptions::default()).unwrap().0.len(), 2);
    packed.push(7);
    let path = file("garbage.ssdsim.gz", &packed);
    assert!(read(&path, &options("ssdsim")).unwrap_err().to_string().contains("truncated or damaged gzip data"));
}

#[test]
fn numbers_that_are_no_heading() {
    let text = b"This is a load\n-0.5 ; 1 ; 1 ; R ; 0 ; 0\n1 ; 1 ; 1 ; R ; 0 ; 0\n";
    assert_eq!(message("blkreplay", text), "FILE:2:1: start is '-0.5'; expected a decimal number");
    let text = b"1538323200.5,0,8,0,7\n";
    let should = "FILE:1:1: Timestamp is '1538323200.5'; expected a whole number, as requests are spread over each tick of the clock";
    assert_eq!(message("tencent", text), should);
}

#[test]
fn events_that_the_header_does_not_name() {
    let text = b"BeginHeader\n\
        DiskRead, TimeStamp, ByteOffset, IOSize, ElapsedTime, DiskNum\n\
        DiskWrite, TimeStamp, ByteOffset, IOSize, ElapsedTime, DiskNum\n\
        EndHeader\n\
        DiskRead, 9, 0x0, 0x1000, 1, 0\n\
        DiskFlush, 10, 1, 0\n";
    let (requests, summary) = read(&file("no-flush.csv", text), &TraceOptions::default()).unwrap();
    assert_eq!(requests.len(), 1);
    assert_eq!(summary.unsupported, [("DiskFlush events, of which the header names no columns", 1)]);
}
